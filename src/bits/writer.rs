//! Ascending containers → a `.bits` file.

use super::bucket::BucketEncoder;
use super::header::{BLOCK_LOG, HEADER_BYTES, Header, Representation, Section, blocks};
use crate::container::{BITMAP_BYTES, Container, Scratch};
use crate::error::{Error, Result};
use crate::view::Bucket;
use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use tempfile::SpooledTempFile;
use xxhash_rust::xxh3::xxh3_64;

/// Takes the containers of a set, their keys ascending.
pub(crate) trait ContainerSink: Send {
    /// Takes one; it may be empty.
    fn push(&mut self, key: u64, container: Container<'_>) -> Result<()>;
}

/// Memory and folder for what cannot be written at once.
#[derive(Debug, Clone)]
pub(crate) struct Spool {
    pub(crate) memory_bytes: usize,
    pub(crate) folder: PathBuf,
}

impl Default for Spool {
    fn default() -> Self {
        Self { memory_bytes: 4 << 20, folder: std::env::temp_dir() }
    }
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Extent {
    pub(crate) cardinality: u64,
    pub(crate) min: u64,
    pub(crate) max: u64,
}

impl Extent {
    fn add(&mut self, key: u64, container: Container<'_>, len: u32) {
        let value = |low: Option<u16>| key << 16 | u64::from(low.unwrap_or(0));
        if self.cardinality == 0 {
            self.min = value(container.next(0));
        }
        self.max = value(container.previous(u16::MAX));
        self.cardinality += u64::from(len);
    }
}

/// Writes a `.bits` file; nothing is valid before [`finish`](Self::finish).
#[derive(Debug)]
pub(crate) struct BitsWriter<'f> {
    file: &'f File,
    path: PathBuf,
    body: Body<'f>,
    extent: Extent,
}

#[derive(Debug)]
enum Body<'f> {
    Dense(Dense<'f>),
    Roaring(Roaring<'f>),
}

impl<'f> BitsWriter<'f> {
    /// A plain bitmap of the values from `first` to `last`, as far as they are
    /// given: else the universe begins and ends with what is pushed.
    pub(crate) fn dense(file: &'f File, path: &Path, universe: Option<(u64, u64)>) -> Self {
        let dense = Dense {
            out: BufWriter::with_capacity(1 << 20, file),
            first_key: universe.map(|(first, _)| first >> 16),
            next_key: universe.map_or(0, |(first, _)| first >> 16),
            last_key: universe.map(|(_, last)| last >> 16),
            ranks: tempfile::spooled_tempfile(1 << 20),
            started: false,
        };
        Self { file, path: path.into(), body: Body::Dense(dense), extent: Extent::default() }
    }

    /// A roaring bitmap, of 64-bit values if one needs them.
    pub(crate) fn roaring(file: &'f File, path: &Path, spool: Spool) -> Self {
        let roaring = Roaring {
            payload: PortableWriter::new(BufWriter::with_capacity(1 << 20, file), spool),
            started: false,
        };
        Self { file, path: path.into(), body: Body::Roaring(roaring), extent: Extent::default() }
    }

    /// Completes the file; gives its number of bytes and what it holds.
    pub(crate) fn finish(self) -> Result<(u64, Extent)> {
        let Self { file, path, body, extent } = self;
        let finish = || -> io::Result<u64> {
            let mut header = match body {
                Body::Dense(dense) => dense.finish(&extent)?,
                Body::Roaring(roaring) => roaring.finish()?,
            };
            header.cardinality = extent.cardinality;
            (header.min, header.max) = (extent.min, extent.max);
            append_checksums(file, &mut header)?;
            file.write_all_at(&header.to_bytes(), 0)?;
            Ok(header.checksums.end())
        };
        let bytes = finish().map_err(Error::io("write", path))?;
        Ok((bytes, extent))
    }
}

impl ContainerSink for BitsWriter<'_> {
    fn push(&mut self, key: u64, container: Container<'_>) -> Result<()> {
        let len = container.len();
        if len == 0 {
            return Ok(());
        }
        self.extent.add(key, container, len);
        let pushed = match &mut self.body {
            Body::Dense(dense) => {
                dense.push(key, container, self.extent.cardinality - u64::from(len))
            }
            Body::Roaring(roaring) => roaring.push(key, container, len),
        };
        pushed.map_err(Error::io("write", &self.path))
    }
}

#[derive(Debug)]
struct Dense<'f> {
    out: BufWriter<&'f File>,
    first_key: Option<u64>,
    next_key: u64,
    last_key: Option<u64>,
    ranks: SpooledTempFile,
    started: bool,
}

impl Dense<'_> {
    fn start(&mut self, key: u64) -> io::Result<u64> {
        if !self.started {
            self.started = true;
            self.out.seek(io::SeekFrom::Start(HEADER_BYTES as u64))?;
            self.next_key = *self.first_key.get_or_insert(key);
        }
        Ok(self.first_key.unwrap_or(key))
    }

    fn push(&mut self, key: u64, container: Container<'_>, before: u64) -> io::Result<()> {
        let first_key = self.start(key)?;
        if key < first_key || self.last_key.is_some_and(|last| key > last) {
            let what = "a value is outside of the universe";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        if key > self.next_key {
            self.skip_to(key, before)?;
        }
        self.ranks.write_all(&before.to_le_bytes())?;
        self.next_key = key + 1;
        match container {
            Container::Bitmap(words) => self.out.write_all(words.as_flattened()),
            other => self.out.write_all(Scratch::words_of(other).as_flattened()),
        }
    }

    /// Leaves a hole for pieces without values.
    fn skip_to(&mut self, key: u64, before: u64) -> io::Result<()> {
        for _ in self.next_key..key {
            self.ranks.write_all(&before.to_le_bytes())?;
        }
        let pieces = key - self.first_key.unwrap_or(key);
        let place = HEADER_BYTES as u64 + pieces * BITMAP_BYTES as u64;
        self.out.seek(io::SeekFrom::Start(place))?;
        self.next_key = key;
        Ok(())
    }

    fn finish(mut self, extent: &Extent) -> io::Result<Header> {
        let first_key = self.start(0)?;
        if let Some(last) = self.last_key {
            self.skip_to(last.max(first_key) + 1, extent.cardinality)?;
        }
        let pieces = self.next_key - first_key;
        let payload = Section { offset: HEADER_BYTES as u64, len: pieces * BITMAP_BYTES as u64 };
        self.out.flush()?;
        self.out.get_ref().set_len(payload.end())?;
        self.out.seek(io::SeekFrom::Start(payload.end()))?;
        self.ranks.rewind()?;
        io::copy(&mut self.ranks, &mut self.out)?;
        self.out.flush()?;
        let empty = Section { offset: payload.end(), len: 0 };
        Ok(Header {
            representation: Representation::Dense,
            base: first_key << 16,
            bits: pieces << 16,
            cardinality: 0,
            min: 0,
            max: 0,
            payload,
            buckets: empty,
            ranks: Section { offset: payload.end(), len: 8 * pieces },
            checksums: empty,
        })
    }
}

#[derive(Debug)]
struct Roaring<'f> {
    payload: PortableWriter<BufWriter<&'f File>>,
    started: bool,
}

impl Roaring<'_> {
    fn start(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.started, true) {
            self.payload.out.seek(io::SeekFrom::Start(HEADER_BYTES as u64))?;
        }
        Ok(())
    }

    fn push(&mut self, key: u64, container: Container<'_>, len: u32) -> io::Result<()> {
        self.start()?;
        self.payload.push(key, container, len)
    }

    fn finish(mut self) -> io::Result<Header> {
        self.start()?;
        let ranks: Vec<u8> = if self.payload.is_wide() {
            Vec::new()
        } else {
            let mut before = 0_u64;
            let ranks = self.payload.bucket.cardinalities().map(|len| {
                let rank = before;
                before += len;
                rank.to_le_bytes()
            });
            ranks.flatten().collect()
        };
        let Portable { mut out, bytes, table } = self.payload.finish()?;
        let payload = Section { offset: HEADER_BYTES as u64, len: bytes };
        let aligned = payload.end().next_multiple_of(8);
        out.write_all(&[0; 8][..usize::try_from(aligned - payload.end()).unwrap_or(0)])?;
        let mut buckets = Section { offset: aligned, len: 0 };
        let mut representation = Representation::Roaring;
        if let Some(mut table) = table {
            table.rewind()?;
            buckets.len = io::copy(&mut table, &mut out)?;
            representation = Representation::Treemap;
        }
        out.write_all(&ranks)?;
        out.flush()?;
        if representation == Representation::Treemap {
            let count = buckets.len / crate::view::ENTRY_BYTES as u64;
            out.get_ref().write_all_at(&count.to_le_bytes(), payload.offset)?;
        }
        Ok(Header {
            representation,
            base: 0,
            bits: 0,
            cardinality: 0,
            min: 0,
            max: 0,
            payload,
            buckets,
            ranks: Section { offset: buckets.end(), len: ranks.len() as u64 },
            checksums: Section::default(),
        })
    }
}

/// Ascending containers → the portable roaring format, of 64 bits if a key
/// needs them. The number of buckets, the first 8 bytes of a 64-bit bitmap, is
/// left 0 for whoever can go back.
#[derive(Debug)]
pub(crate) struct PortableWriter<W> {
    out: W,
    bucket: BucketEncoder,
    high: u32,
    written: u64,
    /// Values in buckets that are written.
    rank: u64,
    values: u64,
    table: Option<SpooledTempFile>,
    spool: Spool,
}

/// A finished bitmap.
pub(crate) struct Portable<W> {
    pub(crate) out: W,
    pub(crate) bytes: u64,
    /// Entries of the table of buckets, if it is a 64-bit bitmap.
    pub(crate) table: Option<SpooledTempFile>,
}

impl<W: Write> PortableWriter<W> {
    pub(crate) fn new(out: W, spool: Spool) -> Self {
        let bucket = BucketEncoder::new(&spool.folder, spool.memory_bytes);
        Self { out, bucket, high: 0, written: 0, rank: 0, values: 0, table: None, spool }
    }

    fn is_wide(&self) -> bool {
        self.table.is_some() || self.high > 0
    }

    /// Appends a container of `len` values, at least one.
    pub(crate) fn push(&mut self, key: u64, container: Container<'_>, len: u32) -> io::Result<()> {
        #[expect(clippy::cast_possible_truncation, reason = "keys have 48 bits")]
        let (high, low) = ((key >> 16) as u32, key as u16);
        if high != self.high {
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
        if self.table.is_none() {
            self.out.write_all(&[0; 8])?;
            self.written = 8;
        }
        let Spool { memory_bytes, folder } = &self.spool;
        let new_table = || tempfile::spooled_tempfile_in(*memory_bytes, folder);
        let table = self.table.get_or_insert_with(new_table);
        let entry = Bucket { key: self.high, offset: self.written + 4, rank: self.rank };
        table.write_all(&entry.to_bytes())?;
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
        Ok(Portable { out: self.out, bytes: self.written, table: self.table })
    }
}

/// Reads what lies between the header and the checksums, and appends these.
fn append_checksums(file: &File, header: &mut Header) -> io::Result<()> {
    let end = header.ranks.end();
    let mut sums = Vec::new();
    let mut block = vec![0; 1 << BLOCK_LOG];
    let mut at = HEADER_BYTES as u64;
    while at < end {
        let len = usize::try_from(end - at).map_or(block.len(), |left| left.min(block.len()));
        file.read_exact_at(&mut block[..len], at)?;
        sums.extend_from_slice(&xxh3_64(&block[..len]).to_le_bytes());
        at += len as u64;
    }
    debug_assert_eq!(sums.len() as u64, 8 * blocks(end), "one checksum a block");
    let own = xxh3_64(&sums).to_le_bytes();
    sums.extend_from_slice(&own);
    header.checksums = Section { offset: end, len: sums.len() as u64 };
    file.write_all_at(&sums, end)
}
