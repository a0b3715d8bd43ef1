//! The roaring payload of a `.bits` file.
//!
//! The head of a 32-bit bitmap lists its containers, so it is known last. A small bitmap waits in
//! memory. A large one is written to the file as it comes, behind room for the largest head; the
//! head is then written right before it.

use super::bucket::{BucketEncoder, MAX_HEAD_BYTES};
use super::header::{Header, Representation};
use super::portable::{FIRST_BUCKET, Portable, PortableWriter};
use crate::io::page::{HEADER_BYTES, Section};
use crate::io::write::{Spool, Summed};
use crate::kernel::in_usize;
use crate::set::container::{BITMAP_BYTES, Container};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

const HEADER_END: u64 = HEADER_BYTES as u64;
/// Place of the containers of a large bitmap.
const BODY: u64 = HEADER_END + MAX_HEAD_BYTES.next_multiple_of(4096);

#[derive(Debug)]
pub(super) struct Roaring<'f> {
    file: &'f File,
    spool: Spool,
    values: u64,
    state: State<'f>,
}

#[derive(Debug)]
enum State<'f> {
    /// During a change of state; forever if the change failed.
    Broken,
    /// A small bitmap, or one of 64 bits.
    Waiting(Box<PortableWriter<Summed<'f>>>),
    /// A large bitmap, of 32 bits so far.
    Direct(Box<BucketEncoder<Summed<'f>>>),
}

impl<'f> Roaring<'f> {
    pub(super) fn new(file: &'f File, spool: Spool) -> Self {
        let writer = PortableWriter::new(Summed::new(file, HEADER_END), spool.clone());
        Self { file, spool, values: 0, state: State::Waiting(Box::new(writer)) }
    }

    pub(super) fn push(&mut self, key: u64, container: Container<'_>, len: u32) -> io::Result<()> {
        if let (State::Direct(_), Err(_)) = (&self.state, u16::try_from(key)) {
            let State::Direct(bucket) = std::mem::replace(&mut self.state, State::Broken) else {
                return Err(broken());
            };
            self.state = State::Waiting(Box::new(self.widen(*bucket)?));
        }
        self.values += u64::from(len);
        match &mut self.state {
            State::Broken => Err(broken()),
            #[expect(clippy::cast_possible_truncation, reason = "looked at above")]
            State::Direct(bucket) => bucket.push(key as u16, container, len),
            State::Waiting(writer) => {
                writer.push(key, container, len)?;
                // Stop before the next container could exceed the memory.
                let next = writer.bucket.body_bytes() + BITMAP_BYTES as u64;
                let large = next > self.spool.memory_bytes as u64;
                if large && !writer.is_wide() {
                    let State::Waiting(writer) = std::mem::replace(&mut self.state, State::Broken)
                    else {
                        return Err(broken());
                    };
                    let moved = writer.bucket.move_to(Summed::new(self.file, BODY))?;
                    self.state = State::Direct(Box::new(moved));
                }
                Ok(())
            }
        }
    }

    /// About the bytes of what came so far.
    pub(super) fn bytes(&self) -> u64 {
        match &self.state {
            State::Waiting(writer) => writer.bytes(),
            State::Direct(bucket) => bucket.body_bytes(),
            State::Broken => 0,
        }
    }

    /// Makes a large bitmap the first bucket of a 64-bit one, and moves it to its place there.
    fn widen(&self, bucket: BucketEncoder<Summed<'f>>) -> io::Result<PortableWriter<Summed<'f>>> {
        let head = bucket.head();
        let body_bytes = bucket.body_bytes();
        bucket.into_body().flush()?;
        let start = HEADER_END + FIRST_BUCKET;
        // The number of buckets, which is filled in later, and the key of the first bucket: 0.
        self.file.write_all_at(&[0; 12], HEADER_END)?;
        self.file.write_all_at(&head, start)?;
        let to = start + head.len() as u64;
        let mut block = vec![0; 1 << 20];
        let mut moved = 0;
        while moved < body_bytes {
            let left = in_usize(body_bytes - moved);
            let len = left.min(block.len());
            self.file.read_exact_at(&mut block[..len], BODY + moved)?;
            self.file.write_all_at(&block[..len], to + moved)?;
            moved += len as u64;
        }
        let written = to + body_bytes - HEADER_END;
        let out = Summed::new(self.file, HEADER_END + written);
        PortableWriter::after_first(out, self.spool.clone(), written, self.values)
    }

    /// Completes the payload, its table and its ranks. Also gives the checksums of some of the
    /// blocks, by their ascending numbers.
    pub(super) fn finish(self) -> io::Result<(Header, Vec<(u64, u64)>)> {
        let payload = Section { offset: HEADER_END, len: 0 };
        let mut header = Header::of(Representation::Roaring, payload);
        let file = self.file;
        let (mut out, ranks, buckets) = match self.state {
            State::Direct(bucket) => {
                let (head, ranks, len) = (bucket.head(), ranks(&bucket), bucket.body_bytes());
                let out = bucket.into_body();
                header.payload.offset = BODY - head.len() as u64;
                header.payload.len = len + head.len() as u64;
                file.write_all_at(&head, header.payload.offset)?;
                (out, ranks, None)
            }
            State::Waiting(writer) => {
                let ranks = if writer.is_wide() { Vec::new() } else { ranks(&writer.bucket) };
                let Portable { out, bytes, buckets, .. } = writer.finish()?;
                header.payload.len = bytes;
                (out, ranks, buckets)
            }
            State::Broken => return Err(broken()),
        };
        let end = header.payload.end();
        let aligned = end.next_multiple_of(8);
        out.write_all(&[0; 8][..in_usize(aligned - end)])?;
        header.table.offset = aligned;
        if let Some(buckets) = buckets {
            out.flush()?;
            file.write_all_at(&buckets.count().to_le_bytes(), header.payload.offset)?;
            header.table.len = buckets.write_to(&mut out)?;
            header.representation = Representation::Treemap;
        }
        out.write_all(&ranks)?;
        out.flush()?;
        header.ranks = Section { offset: header.table.end(), len: ranks.len() as u64 };
        Ok((header, out.take_sums()))
    }
}

/// The error for a set that could not be written before.
fn broken() -> io::Error {
    io::Error::other("a part of the set could not be written")
}

/// For each container, the number of values before it.
fn ranks<B: Write>(bucket: &BucketEncoder<B>) -> Vec<u8> {
    let mut before = 0_u64;
    let ranks = bucket.cardinalities().map(|len| {
        let rank = before;
        before += len;
        rank.to_le_bytes()
    });
    ranks.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_bitmap_does_not_pass_through_a_temporary_file() {
        let lows: Vec<[u8; 2]> = (0..3000_u16).map(|low| (2 * low).to_le_bytes()).collect();
        let container = Container::Array(&lows);
        let file = tempfile::tempfile().unwrap();
        // There is no such folder, so that no file could be made.
        let spool =
            Spool { memory_bytes: 1 << 16, folder: "/nowhere/at/all".into(), ..Spool::default() };
        let mut roaring = Roaring::new(&file, spool);
        for key in 0..100 {
            roaring.push(key, container, 3000).unwrap();
        }
        assert!(matches!(roaring.state, State::Direct(_)));
        let (header, sums) = roaring.finish().unwrap();
        assert_eq!(header.payload.len, 8 + 8 * 100 + 6000 * 100);
        assert!(!sums.is_empty());
    }
}
