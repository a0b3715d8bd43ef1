//! Checksums of blocks, at the end of a file.

use super::{Damage, HEADER_BYTES, Section};
use crate::error::{Error, Result};
use crate::progress::Progress;
use byteorder::{ByteOrder, LittleEndian};
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

/// 2 to this power is the number of bytes that share a checksum.
pub(crate) const BLOCK_LOG: u8 = 16;

/// Number of checksummed blocks between the header and `end`.
pub(crate) fn blocks(end: u64) -> u64 {
    end.saturating_sub(HEADER_BYTES as u64).div_ceil(1 << BLOCK_LOG)
}

/// Compares the bytes between the header and the checksums with the checksums.
///
/// # Errors
///
/// The first damage, of which `damaged` makes the error; also if the progress is cancelled.
pub(crate) fn verify_checksums(
    file: &[u8],
    checksums: Section,
    damaged: impl Fn(Damage) -> Error,
    progress: &Progress,
) -> Result<()> {
    verify_blocks(file, checksums, 0..u64::MAX, damaged, progress)
}

/// The same for the blocks in which bytes of the range `of` the file lie.
pub(crate) fn verify_blocks(
    file: &[u8],
    checksums: Section,
    of: Range<u64>,
    damaged: impl Fn(Damage) -> Error,
    progress: &Progress,
) -> Result<()> {
    let blocks = checked_blocks(file, checksums).map_err(&damaged)?;
    let touched = blocks
        .skip_while(|(offset, _, block)| offset.saturating_add(block.len() as u64) <= of.start)
        .take_while(|(offset, ..)| *offset < of.end);
    for (offset, sum, block) in touched {
        Error::if_cancelled(progress)?;
        if LittleEndian::read_u64(sum) != xxh3_64(block) {
            let what = "the checksum of the block that begins here is wrong";
            return Err(damaged(Damage::at(offset, what)));
        }
    }
    Ok(())
}

/// The offset of each block, its checksum and its bytes.
fn checked_blocks(
    file: &[u8],
    checksums: Section,
) -> Result<impl Iterator<Item = (u64, &[u8; 8], &[u8])>, Damage> {
    let Some((sums, own)) = checksums.of(file).split_last_chunk::<8>() else {
        return Err(Damage::at(checksums.offset, "the checksums are missing"));
    };
    if LittleEndian::read_u64(own) != xxh3_64(sums) {
        return Err(Damage::at(checksums.offset, "the checksum of the checksums is wrong"));
    }
    let end = usize::try_from(checksums.offset).ok();
    let covered = end.and_then(|end| file.get(HEADER_BYTES..end));
    let covered = covered.ok_or(Damage::at(checksums.offset, "the checksums lie in the header"))?;
    let (blocks, sums) = (covered.chunks(1 << BLOCK_LOG), sums.as_chunks::<8>().0);
    if blocks.len() != sums.len() {
        return Err(Damage::at(checksums.offset, "the number of checksums is wrong"));
    }
    let offsets = (HEADER_BYTES as u64..).step_by(1 << BLOCK_LOG);
    Ok(offsets.zip(blocks.zip(sums)).map(|(offset, (block, sum))| (offset, sum, block)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    fn verify(file: &[u8], checksums: Section) -> Result<()> {
        verify_checksums(file, checksums, |damage| damage.of_input("file"), &Progress::default())
    }

    #[test]
    fn cancelled_progress_ends_it() {
        let block = xxh3_64(&[7]).to_le_bytes();
        let own = xxh3_64(&block).to_le_bytes();
        let file = [&[0; HEADER_BYTES][..], &[7], &block, &own].concat();
        let checksums = Section { offset: HEADER_BYTES as u64 + 1, len: 16 };
        verify(&file, checksums).unwrap();
        let progress = Progress::default();
        progress.cancel_flag().store(true, Ordering::Relaxed);
        let ended = verify_checksums(&file, checksums, |damage| damage.of_input("file"), &progress);
        assert!(matches!(ended, Err(Error::Interrupted)), "{ended:?}");
    }

    #[test]
    fn a_block_without_a_checksum_is_not_verified() {
        let block = vec![7; 1 << BLOCK_LOG];
        let mut file = vec![0; HEADER_BYTES];
        file.extend(block.repeat(2));
        let offset = file.len() as u64;
        let append = |sums: &[u64]| {
            let mut file = file.clone();
            let sums: Vec<u8> = sums.iter().flat_map(|sum| sum.to_le_bytes()).collect();
            file.extend_from_slice(&sums);
            file.extend(xxh3_64(&sums).to_le_bytes());
            verify(&file, Section { offset, len: sums.len() as u64 + 8 })
        };
        let sum = xxh3_64(&block);
        append(&[sum, sum]).unwrap();
        assert!(append(&[sum]).is_err() && append(&[]).is_err() && append(&[sum; 3]).is_err());
        assert!(append(&[sum, 0]).is_err());
        let sums = Section { offset: 0, len: 8 };
        assert!(verify(&xxh3_64(&[]).to_le_bytes(), sums).is_err());
    }
}
