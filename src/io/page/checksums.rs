//! Checksums of blocks, at the end of a file.

use super::{HEADER_BYTES, Section};
use xxhash_rust::xxh3::xxh3_64;

/// Bytes that share a checksum: 2 to this power.
pub(crate) const BLOCK_LOG: u8 = 16;

/// Number of checksummed blocks between the header and `end`.
pub(crate) fn blocks(end: u64) -> u64 {
    end.saturating_sub(HEADER_BYTES as u64).div_ceil(1 << BLOCK_LOG)
}

/// Holds what lies between the header and the checksums against these.
///
/// # Errors
///
/// The first damage: at which byte of the file, and what.
pub(crate) fn verify_checksums(file: &[u8], checksums: Section) -> Result<(), (u64, &'static str)> {
    let Some((sums, own)) = checksums.of(file).split_last_chunk::<8>() else {
        return Err((checksums.offset, "the checksums are missing"));
    };
    if u64::from_le_bytes(*own) != xxh3_64(sums) {
        return Err((checksums.offset, "the checksum of the checksums is wrong"));
    }
    let end = usize::try_from(checksums.offset).unwrap_or(0);
    let covered = file.get(HEADER_BYTES..end).unwrap_or_default();
    let offsets = (HEADER_BYTES..).step_by(1 << BLOCK_LOG);
    let blocks = covered.chunks(1 << BLOCK_LOG).zip(sums.as_chunks::<8>().0);
    for (offset, (block, sum)) in offsets.zip(blocks) {
        if u64::from_le_bytes(*sum) != xxh3_64(block) {
            return Err((offset as u64, "the checksum of the block that begins here is wrong"));
        }
    }
    Ok(())
}
