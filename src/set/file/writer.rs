//! Ascending containers → a `.bits` file.

use super::body::Roaring;
use super::bucket::{in_order, out_of_order};
use super::header::{Header, Representation};
use crate::error::{Error, Result};
use crate::io::page::{BLOCK_LOG, HEADER_BYTES, Section, blocks};
use crate::io::write::Spool;
use crate::kernel::low_halves::low_halves;
use crate::kernel::{Level, on_each};
use crate::set::container::{BITMAP_BYTES, Container, MAX_ARRAY, Scratch};
use crate::set::ranges::{RunSource, push_runs};
use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::num::NonZero;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;
use tempfile::SpooledTempFile;
use xxhash_rust::xxh3::xxh3_64;

/// Takes values, one batch after the other. A source hands over either values or
/// containers; the containers of a set come with ascending keys.
pub(crate) trait ValueSink: Send {
    /// Takes all values of an aligned range of 2^16, of which there may be none.
    fn container(&mut self, key: u64, container: Container<'_>) -> Result<()>;

    /// Takes the next values. Here they are those of a set: they ascend, and all of an
    /// aligned range of 2^16 come in one batch.
    fn values(&mut self, values: &[u64]) -> Result<()> {
        let mut lows = Vec::new();
        for alike in values.chunk_by(|a, b| a >> 16 == b >> 16) {
            lows.resize(alike.len(), [0; 2]);
            low_halves(Level::best(), 0, alike, &mut lows);
            push_array(self, alike[0] >> 16, &lows)?;
        }
        Ok(())
    }

    /// Takes the values of runs. A source that hands them over hands over nothing else.
    fn runs(&mut self, source: &mut dyn RunSource) -> Result<()> {
        push_runs(self, source)
    }

    /// Takes values that come with their numbers of copies.
    fn counted(&mut self, _: &[[u64; 2]]) -> Result<()> {
        Err(Error::usage("a set has no counts"))
    }
}

/// Hands over a container of any number of ascending values.
pub(crate) fn push_array(
    sink: &mut (impl ValueSink + ?Sized),
    key: u64,
    lows: &[[u8; 2]],
) -> Result<()> {
    let container = Container::Array(lows);
    match lows.len() {
        0..=MAX_ARRAY => sink.container(key, container),
        _ => sink.container(key, Scratch::from(container).container()),
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
        let value = |low: Option<u16>| key << 16 | u64::from(low.unwrap_or(0)); // it has values
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
    /// A plain bitmap; its universe begins and ends with what is pushed.
    pub(crate) fn dense(file: &'f File, path: &Path) -> Self {
        let dense = Dense {
            out: BufWriter::with_capacity(1 << 20, file),
            keys: None,
            ranks: tempfile::spooled_tempfile(1 << 20),
        };
        Self { file, path: path.into(), body: Body::Dense(dense), extent: Extent::default() }
    }

    /// A roaring bitmap, of 64-bit values if one needs them.
    pub(crate) fn roaring(file: &'f File, path: &Path, spool: Spool) -> Self {
        let roaring = Roaring::new(file, spool);
        Self { file, path: path.into(), body: Body::Roaring(roaring), extent: Extent::default() }
    }

    /// Completes the file; gives its number of bytes and what it holds.
    pub(crate) fn finish(self) -> Result<(u64, Extent)> {
        let Self { file, path, body, extent } = self;
        let finish = || -> io::Result<u64> {
            let (mut header, sums) = match body {
                Body::Dense(dense) => (dense.finish()?, Vec::new()),
                Body::Roaring(roaring) => roaring.finish()?,
            };
            header.cardinality = extent.cardinality;
            (header.min, header.max) = (extent.min, extent.max);
            append_checksums(file, &mut header, &sums)?;
            file.set_len(header.checksums.end())?;
            let page = header.to_bytes().ok_or(io::ErrorKind::InvalidData)?;
            file.write_all_at(&page, 0)?;
            Ok(header.checksums.end())
        };
        let bytes = finish().map_err(Error::io("write", path))?;
        Ok((bytes, extent))
    }
}

impl ValueSink for BitsWriter<'_> {
    fn container(&mut self, key: u64, container: Container<'_>) -> Result<()> {
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
    /// The keys from the first one to before the next one, once there are any.
    keys: Option<Range<u64>>,
    ranks: SpooledTempFile,
}

/// Pieces of a plain bitmap that there may be: their ranks alone take 32 GiB then.
const MAX_PIECES: u64 = 1 << 32;

impl Dense<'_> {
    fn push(&mut self, key: u64, container: Container<'_>, before: u64) -> io::Result<()> {
        in_order(container)?;
        let keys = self.keys.clone().unwrap_or(key..key);
        if key < keys.end {
            return Err(out_of_order("the keys of the containers do not ascend"));
        }
        if key - keys.start >= MAX_PIECES {
            let what = "a plain bitmap of so wide a range of values would have more than 32 TiB";
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
        }
        if keys.end != key || self.keys.is_none() {
            // A hole for pieces without values.
            let pieces = key - keys.start;
            let place = HEADER_BYTES as u64 + pieces * BITMAP_BYTES as u64;
            self.out.seek(io::SeekFrom::Start(place))?;
        }
        for _ in keys.end..=key {
            self.ranks.write_all(&before.to_le_bytes())?;
        }
        self.keys = Some(keys.start..key + 1);
        match container {
            Container::Bitmap(words) => self.out.write_all(words.as_flattened()),
            other => self.out.write_all(Scratch::words_of(other).as_flattened()),
        }
    }

    fn finish(mut self) -> io::Result<Header> {
        let keys = self.keys.unwrap_or(0..0);
        let pieces = keys.end - keys.start;
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
            base: keys.start << 16,
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

/// Reads what lies between the header and the checksums, and appends these. Blocks
/// whose sums are known, by their numbers, which ascend, are not read.
fn append_checksums(file: &File, header: &mut Header, known: &[(u64, u64)]) -> io::Result<()> {
    let end = header.ranks.end();
    let count = blocks(end);
    let threads = available_parallelism().map_or(1, NonZero::get).clamp(1, 16) as u64;
    let share = count.div_ceil(threads).max(64);
    let parts = on_each((0..count.div_ceil(share)).collect(), |part| {
        let blocks = part * share..count.min((part + 1) * share);
        checksums(file, blocks, end, known)
    });
    let mut sums = parts.into_iter().collect::<io::Result<Vec<_>>>()?.concat();
    let own = xxh3_64(&sums).to_le_bytes();
    sums.extend_from_slice(&own);
    header.checksums = Section { offset: end, len: sums.len() as u64 };
    file.write_all_at(&sums, end)
}

/// The checksums of some blocks of what lies between the header and `end`.
fn checksums(
    file: &File,
    blocks: Range<u64>,
    end: u64,
    known: &[(u64, u64)],
) -> io::Result<Vec<u8>> {
    let first = known.partition_point(|&(index, _)| index < blocks.start);
    let mut known = known[first..].iter().peekable();
    let mut sums = Vec::new();
    let mut block = vec![0; 1 << BLOCK_LOG];
    for index in blocks {
        if let Some((_, sum)) = known.next_if(|known| known.0 == index) {
            sums.extend_from_slice(&sum.to_le_bytes());
            continue;
        }
        let at = HEADER_BYTES as u64 + (index << BLOCK_LOG);
        let len = usize::try_from(end - at).map_or(block.len(), |left| left.min(block.len()));
        file.read_exact_at(&mut block[..len], at)?;
        sums.extend_from_slice(&xxh3_64(&block[..len]).to_le_bytes());
    }
    Ok(sums)
}
