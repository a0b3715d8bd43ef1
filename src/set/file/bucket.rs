//! Writes containers as a 32-bit roaring bitmap in the portable format.
//!
//! The head lists all containers, so they wait in memory, or in a temporary file if there are many.

use crate::error::Error;
use crate::io::roaring::{NO_RUNS_COOKIE, RUNS_COOKIE};
use crate::io::write::Spooled;
use crate::set::container::{Container, KEY_DISORDER, MAX_ARRAY, Scratch, plain_bytes};
use crate::set::view::NO_OFFSET_THRESHOLD;
use std::io::{self, BufWriter, Read, Seek, Write};
use std::path::Path;

/// The containers of one bitmap.
#[derive(Debug)]
pub(crate) struct BucketEncoder<B> {
    heads: Vec<Head>,
    body: B,
    body_bytes: u64,
    /// Scratch memory for containers that change their form.
    form: Scratch,
    /// The bytes of a small body that is being copied.
    block: Vec<u8>,
}

/// A body of up to this size is copied through memory that is kept: `io::copy` clears the whole
/// buffer of a writer each time, which takes 16 µs for each bucket with a buffer of 1 MiB.
const SMALL_BODY: u64 = 1 << 16;

/// Most bytes of containers that go to a temporary file together: most containers are much smaller.
const WRITTEN_TOGETHER: usize = 1 << 16;

/// Most bytes before the containers: cookie, flags, and two words for each container.
pub(crate) const MAX_HEAD_BYTES: u64 = 4 + (1 << 13) + 8 * (1 << 16);

#[derive(Debug, Clone, Copy)]
struct Head {
    key: u16,
    /// Number of values, less 1.
    last_rank: u16,
    is_run: bool,
    bytes: u32,
}

/// What a writer cannot take, because it is not behind what came before.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct OutOfOrder(&'static str);

/// The error for a container, or a key, that a writer cannot take.
pub(super) fn out_of_order(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, OutOfOrder(what))
}

/// Whether a writer refused what came out of order.
pub(crate) fn is_out_of_order(error: &Error) -> bool {
    let Error::Io { source, .. } = error else { return false };
    source.get_ref().and_then(|inner| inner.downcast_ref::<OutOfOrder>()).is_some()
}

/// Refuses a container of a damaged file, whose values do not ascend.
pub(crate) fn in_order(container: Container<'_>) -> io::Result<()> {
    container.disorder().map_or(Ok(()), |what| Err(out_of_order(what)))
}

/// Bytes of a container of `len` values in its smallest form, and whether that form is runs: 4
/// bytes for each run, and 2 for their number.
pub(super) fn container_bytes(len: u32, runs: usize) -> (usize, bool) {
    let (plain, run_bytes) = (plain_bytes(len), 2 + 4 * runs);
    (plain.min(run_bytes), run_bytes < plain)
}

/// Bytes before `count` containers. [`BucketEncoder::head`] writes them.
pub(super) fn head_bytes(count: u64, has_runs: bool) -> u64 {
    let cookie = if has_runs { 4 + count.div_ceil(8) } else { 8 };
    let has_offsets = !has_runs || count >= NO_OFFSET_THRESHOLD as u64;
    cookie + 4 * count + if has_offsets { 4 * count } else { 0 }
}

impl BucketEncoder<BufWriter<Spooled>> {
    /// Keeps up to `memory_bytes` of containers in memory, and more in `folder`.
    pub(crate) fn new(folder: &Path, memory_bytes: usize) -> Self {
        let together = memory_bytes.min(WRITTEN_TOGETHER);
        Self::of(BufWriter::with_capacity(together, Spooled::new(memory_bytes, folder)))
    }

    /// Moves the body to another writer and goes on there.
    pub(crate) fn move_to<B: Write>(mut self, mut body: B) -> io::Result<BucketEncoder<B>> {
        self.body.rewind()?; // the buffer is written first
        io::copy(self.body.get_mut(), &mut body)?;
        let Self { heads, body_bytes, form, block, .. } = self;
        Ok(BucketEncoder { heads, body, body_bytes, form, block })
    }

    /// Writes the bitmap and forgets its containers; gives how many bytes it wrote.
    pub(crate) fn write_to(&mut self, out: &mut impl Write) -> io::Result<u64> {
        let head = self.head();
        out.write_all(&head)?;
        self.body.rewind()?; // the buffer is written first
        let body = self.body.get_mut();
        if self.body_bytes <= SMALL_BODY {
            self.block.clear();
            body.read_to_end(&mut self.block)?;
            out.write_all(&self.block)?;
        } else {
            io::copy(body, out)?;
        }
        self.heads.clear();
        body.clear()?;
        Ok(head.len() as u64 + std::mem::take(&mut self.body_bytes))
    }
}

impl BucketEncoder<Vec<u8>> {
    /// Keeps all containers in memory.
    pub(crate) fn in_memory() -> Self {
        Self::of(Vec::new())
    }

    /// The bytes of the containers.
    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    /// Forgets its containers, and keeps its memory.
    pub(crate) fn clear(&mut self) {
        self.heads.clear();
        self.body.clear();
        self.body_bytes = 0;
    }
}

impl<B: Write> BucketEncoder<B> {
    fn of(body: B) -> Self {
        let (heads, form, block) = (Vec::new(), Scratch::default(), Vec::new());
        Self { heads, body, body_bytes: 0, form, block }
    }

    /// Bytes of the containers.
    pub(crate) fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// The writer of the containers.
    pub(crate) fn into_body(self) -> B {
        self.body
    }

    /// Whether there are no containers.
    pub(crate) fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    /// Number of values in each container.
    pub(crate) fn cardinalities(&self) -> impl Iterator<Item = u64> {
        self.heads.iter().map(|head| u64::from(head.last_rank) + 1)
    }

    /// Appends a container of `len` values, at least one, in its smallest form.
    ///
    /// # Errors
    ///
    /// If the body cannot be written, if the values of the container do not ascend, as in a damaged
    /// file, or if its key does not follow the last one.
    pub(crate) fn push(&mut self, key: u16, container: Container<'_>, len: u32) -> io::Result<()> {
        in_order(container)?;
        if self.heads.last().is_some_and(|head| head.key >= key) {
            return Err(out_of_order(KEY_DISORDER));
        }
        let last_rank = len.checked_sub(1).and_then(|rank| u16::try_from(rank).ok());
        let last_rank =
            last_rank.ok_or_else(|| out_of_order("a container has no values, or too many"))?;
        let (bytes, is_run) = container_bytes(len, container.runs_up_to(plain_bytes(len) / 4));
        let form = if is_run {
            self.form.runs_of(container)
        } else if len as usize > MAX_ARRAY {
            self.form.bitmap_of(container)
        } else {
            self.form.array_of(container)
        };
        if let Container::Runs(runs) = form {
            #[expect(clippy::cast_possible_truncation, reason = "at most 2^15 runs")]
            self.body.write_all(&(runs.len() as u16).to_le_bytes())?;
        }
        self.body.write_all(form.bytes())?;
        #[expect(clippy::cast_possible_truncation, reason = "at most 8 KiB")]
        let head = Head { key, last_rank, is_run, bytes: bytes as u32 };
        self.heads.push(head);
        self.body_bytes += bytes as u64;
        Ok(())
    }

    /// The bytes before the containers.
    pub(crate) fn head(&self) -> Vec<u8> {
        let count = self.heads.len();
        let has_runs = self.heads.iter().any(|head| head.is_run);
        let bytes = head_bytes(count as u64, has_runs);
        let mut out = Vec::with_capacity(usize::try_from(bytes).unwrap_or(0));
        #[expect(clippy::cast_possible_truncation, reason = "at most 2^16 containers")]
        if has_runs {
            out.extend_from_slice(&RUNS_COOKIE.to_le_bytes());
            out.extend_from_slice(&((count - 1) as u16).to_le_bytes());
            for heads in self.heads.chunks(8) {
                let flags =
                    heads.iter().rev().fold(0, |flags, head| flags << 1 | u8::from(head.is_run));
                out.push(flags);
            }
        } else {
            out.extend_from_slice(&NO_RUNS_COOKIE.to_le_bytes());
            out.extend_from_slice(&(count as u32).to_le_bytes());
        }
        for head in &self.heads {
            out.extend_from_slice(&head.key.to_le_bytes());
            out.extend_from_slice(&head.last_rank.to_le_bytes());
        }
        if !has_runs || count >= NO_OFFSET_THRESHOLD {
            #[expect(clippy::cast_possible_truncation, reason = "a bitmap is below 2^30 bytes")]
            let mut offset = (out.len() + 4 * count) as u32;
            for head in &self.heads {
                out.extend_from_slice(&offset.to_le_bytes());
                offset += head.bytes;
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_bitmap_behind_a_large_one_waits_in_memory() {
        let folder = tempfile::tempdir().unwrap();
        let mut encoder = BucketEncoder::new(folder.path(), 1000);
        let mut sizes = Vec::new();
        for (len, is_rolled) in [(100_u16, false), (2000, true), (100, false), (3000, true)] {
            let lows: Vec<[u8; 2]> = (0..len).map(|low| (low * 2).to_le_bytes()).collect();
            encoder.push(7, Container::Array(&lows), len.into()).unwrap();
            assert_eq!(encoder.body.get_ref().is_rolled(), is_rolled, "{len} values");
            let mut out = Vec::new();
            sizes.push(encoder.write_to(&mut out).unwrap());
            assert_eq!(sizes.last(), Some(&(out.len() as u64)));
            assert!(out.ends_with(lows.as_flattened()));
        }
        assert_eq!(sizes[0], sizes[2]);
    }
}
