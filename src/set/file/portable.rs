//! Writes ascending containers in the portable roaring format.

use super::bucket::{BucketEncoder, container_bytes, head_bytes, out_of_order};
use crate::io::write::{Deferred, Spool, Spooled};
use crate::set::container::{Container, KEY_DISORDER, SPAN};
use crate::set::view::{Bucket, ENTRY_BYTES};
use std::io::{self, BufWriter, Write};

/// Writes ascending containers in the portable roaring format, of 64 bits if a key needs them. The
/// first 8 bytes of a 64-bit bitmap, the number of its buckets, are 0: a caller that can go back
/// writes the number.
#[derive(Debug)]
pub(crate) struct PortableWriter<W> {
    pub(super) out: W,
    pub(super) bucket: BucketEncoder<BufWriter<Spooled>>,
    high: u32,
    written: u64,
    /// Number of values in the buckets that are written.
    rank: u64,
    values: u64,
    buckets: Option<BucketTable>,
    spool: Spool,
}

/// Place of the bitmap of the first bucket: behind the number of buckets and the key.
pub(super) const FIRST_BUCKET: u64 = 12;

/// Counts the bytes that [`PortableWriter`] would write.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PortableSize {
    /// Bytes of the complete buckets with their keys.
    finished_bytes: u64,
    finished_buckets: u64,
    has_buckets: bool,
    high: u64,
    /// Number of containers of the last bucket.
    containers: u64,
    has_runs: bool,
    body_bytes: u64,
}

impl PortableSize {
    /// Counts a container of `len` values, at least one, in `runs` runs.
    pub(crate) fn add(&mut self, key: u64, len: u32, runs: usize) {
        self.add_alike(key, 1, len, runs);
    }

    /// Counts containers with all their values.
    pub(crate) fn add_full(&mut self, first_key: u64, last_key: u64) {
        let mut key = first_key;
        while key <= last_key {
            let end = last_key.min(key | 0xFFFF);
            self.add_alike(key, end - key + 1, SPAN, 1);
            key = end + 1;
            // Buckets of full containers have the same size.
            let whole = (last_key + 1).saturating_sub(key) >> 16;
            if whole > 1 {
                let mut bucket = Self { high: key >> 16, ..Self::default() };
                bucket.add_alike(key, 1 << 16, SPAN, 1);
                bucket.end_bucket();
                self.finished_bytes += whole * bucket.finished_bytes;
                self.finished_buckets += whole;
                self.has_buckets = true;
                key += whole << 16;
            }
        }
    }

    /// Counts `count` containers of one bucket, each of `len` values in `runs` runs.
    fn add_alike(&mut self, key: u64, count: u64, len: u32, runs: usize) {
        if key >> 16 != self.high {
            self.end_bucket();
            (self.high, self.has_buckets) = (key >> 16, true);
        }
        let (bytes, is_run) = container_bytes(len, runs);
        self.containers += count;
        self.has_runs |= is_run;
        self.body_bytes += count * bytes as u64;
    }

    fn end_bucket(&mut self) {
        if self.containers > 0 {
            let head = head_bytes(self.containers, self.has_runs);
            self.finished_bytes += 4 + head + self.body_bytes;
            self.finished_buckets += 1;
        }
        (self.containers, self.has_runs, self.body_bytes) = (0, false, 0);
    }

    /// Bytes of the file.
    pub(crate) fn bytes(mut self) -> u64 {
        if self.has_buckets {
            self.end_bucket();
            return 8 + self.finished_bytes;
        }
        head_bytes(self.containers, self.has_runs) + self.body_bytes
    }

    /// Whether a value needs 64 bits.
    pub(super) fn is_wide(self) -> bool {
        self.has_buckets
    }

    /// Bytes of the table of buckets, or of the ranks, in a `.bits` file with this bitmap.
    pub(super) fn table_bytes(mut self) -> u64 {
        if self.has_buckets {
            self.end_bucket();
            return self.finished_buckets * ENTRY_BYTES as u64;
        }
        8 * self.containers
    }
}

/// A finished bitmap.
pub(crate) struct Portable<W> {
    pub(crate) out: W,
    pub(crate) bytes: u64,
    pub(crate) cardinality: u64,
    /// Only for a 64-bit bitmap.
    pub(crate) buckets: Option<BucketTable>,
}

/// The places of the buckets of a 64-bit bitmap, as a `.bits` file lists them.
#[derive(Debug)]
pub(crate) struct BucketTable {
    entries: Deferred,
    count: u64,
}

impl BucketTable {
    fn new(spool: &Spool) -> Self {
        Self { entries: Deferred::new(spool.memory_bytes, &spool.folder), count: 0 }
    }

    fn push(&mut self, bucket: Bucket) -> io::Result<()> {
        self.count += 1;
        self.entries.write_all(&bucket.to_bytes())
    }

    /// Number of buckets.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Copies the entries to `out`; gives how many bytes they have.
    pub(crate) fn write_to(self, out: &mut impl Write) -> io::Result<u64> {
        self.entries.append_to(out)
    }
}

impl<W: Write> PortableWriter<W> {
    pub(crate) fn new(out: W, spool: Spool) -> Self {
        let bucket = BucketEncoder::new(&spool.folder, spool.memory_bytes);
        Self { out, bucket, high: 0, written: 0, rank: 0, values: 0, buckets: None, spool }
    }

    /// A 64-bit bitmap whose first bucket is already in the `written` bytes of `out`. That bucket
    /// has the key 0 and `len` values.
    pub(super) fn after_first(out: W, spool: Spool, written: u64, len: u64) -> io::Result<Self> {
        let mut buckets = BucketTable::new(&spool);
        buckets.push(Bucket { key: 0, offset: FIRST_BUCKET, rank: 0 })?;
        let new = Self::new(out, spool);
        Ok(Self { written, rank: len, values: len, buckets: Some(buckets), ..new })
    }

    /// About the bytes of what came so far, with the table of the buckets.
    pub(super) fn bytes(&self) -> u64 {
        let buckets = self.buckets.as_ref().map_or(0, BucketTable::count);
        self.written + self.bucket.body_bytes() + buckets * ENTRY_BYTES as u64
    }

    pub(super) fn is_wide(&self) -> bool {
        self.buckets.is_some() || self.high > 0
    }

    /// Appends a container of `len` values, at least one.
    pub(crate) fn push(&mut self, key: u64, container: Container<'_>, len: u32) -> io::Result<()> {
        #[expect(clippy::cast_possible_truncation, reason = "keys have 48 bits")]
        let (high, low) = ((key >> 16) as u32, key as u16);
        if high != self.high {
            if high < self.high {
                return Err(out_of_order(KEY_DISORDER));
            }
            self.end_bucket()?;
            self.high = high;
        }
        self.values += u64::from(len);
        self.bucket.push(low, container, len)
    }

    fn end_bucket(&mut self) -> io::Result<()> {
        if self.bucket.is_empty() {
            return Ok(());
        }
        if self.buckets.is_none() {
            self.out.write_all(&[0; 8])?;
            self.written = 8;
        }
        let buckets = self.buckets.get_or_insert_with(|| BucketTable::new(&self.spool));
        buckets.push(Bucket { key: self.high, offset: self.written + 4, rank: self.rank })?;
        self.out.write_all(&self.high.to_le_bytes())?;
        self.written += 4 + self.bucket.write_to(&mut self.out)?;
        self.rank = self.values;
        Ok(())
    }

    /// Completes the bitmap.
    pub(crate) fn finish(mut self) -> io::Result<Portable<W>> {
        if self.is_wide() {
            self.end_bucket()?;
        } else {
            self.written = self.bucket.write_to(&mut self.out)?;
        }
        let Self { out, written: bytes, values: cardinality, buckets, .. } = self;
        Ok(Portable { out, bytes, cardinality, buckets })
    }
}
