//! Writes ascending containers as a `.bits` file.

use super::body::Roaring;
use super::bucket::{in_order, out_of_order};
use super::extent::Extent;
use super::header::{Header, Representation};
use super::runs::Runs;
use super::sizes::{Sizes, is_for_sparse};
use super::sparse::Sparse;
use crate::error::{Error, Result};
use crate::io::page::{HEADER_BYTES, Section};
use crate::io::write::{Deferred, FileLabel, Spool, append_checksums};
use crate::kernel::Level;
use crate::kernel::low_halves::low_halves;
use crate::set::container::{
    BITMAP_BYTES, Container, KEY_DISORDER, MAX_ARRAY, SPAN, Scratch, plain_bytes,
};
use crate::set::format::SetFormat;
use crate::set::ranges::{RunSource, push_runs};
use crate::set::sparse::GROUP_VALUES;
use byteorder::{LittleEndian, WriteBytesExt};
use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Takes values, one batch after the other. A source hands over either values or
/// containers; the containers of a set come with ascending keys.
pub(crate) trait ValueSink: Send {
    /// Takes all values of an aligned range of 2^16; there may be none.
    fn container(&mut self, key: u64, container: Container<'_>) -> Result<()>;

    /// Takes the next values. For a set they ascend, and all values of an aligned range of 2^16
    /// come in one call.
    fn values(&mut self, values: &[u64]) -> Result<()> {
        in_containers(values, |key, container| self.container(key, container))
    }

    /// Takes the values of runs. A source that calls this calls nothing else.
    fn runs(&mut self, source: &mut dyn RunSource) -> Result<()> {
        push_runs(self, source)
    }

    /// Begins to take stretches of full containers by [`stretch`](Self::stretch), if it can; gives
    /// whether it does. A source calls this before it hands over anything.
    fn begin_stretches(&mut self) -> bool {
        false
    }

    /// Takes all values of neighbouring containers: the values from the first to the last of a run.
    fn stretch(&mut self, _: [u64; 2]) -> Result<()> {
        Err(Error::Accounting { what: "nobody asked for stretches".into() })
    }

    /// Takes values with their numbers of copies.
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
    in_container(lows, |container| sink.container(key, container))
}

fn in_container<T>(lows: &[[u8; 2]], take: impl FnOnce(Container<'_>) -> T) -> T {
    let container = Container::Array(lows);
    match lows.len() {
        0..=MAX_ARRAY => take(container),
        _ => take(Scratch::from(container).container()),
    }
}

/// Hands over ascending values as containers.
pub(crate) fn in_containers<E>(
    values: &[u64],
    mut take: impl FnMut(u64, Container<'_>) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let mut lows = Vec::new();
    for alike in values.chunk_by(|a, b| a >> 16 == b >> 16) {
        lows.resize(alike.len(), [0; 2]);
        low_halves(Level::best(), 0, alike, &mut lows);
        in_container(&lows, |container| take(alike[0] >> 16, container))?;
    }
    Ok(())
}

/// Most values of a container that go into a sparse body one by one.
const FEW: usize = 16;

/// Writes a `.bits` file. The file is invalid before [`finish`](Self::finish).
#[derive(Debug)]
pub(crate) struct BitsWriter<'f> {
    file: &'f File,
    label: FileLabel,
    spool: Spool,
    body: Body<'f>,
    /// The extent of all values that came.
    extent: Extent,
    /// Number of values that the body has.
    put: u64,
    /// The sizes by which the representation is chosen.
    sizes: Option<Sizes>,
    /// Whether the file is for a few questions, so that time counts and not its size.
    is_temporary: bool,
    /// Bytes of the sparse body when its representation was considered last.
    considered: u64,
}

#[derive(Debug)]
enum Body<'f> {
    /// Values of the first group, from which the first representation is chosen.
    Waiting(Vec<u64>),
    Dense(Dense<'f>),
    Roaring(Roaring<'f>),
    Sparse(Sparse<'f>),
    Runs(Runs<'f>),
}

/// A roaring bitmap that should be a sparse set is written again as soon as it has more bytes, or at
/// the end if it is not for a few questions. Less costs no memory worth the time.
const WIDE_BYTES: u64 = if cfg!(test) { 1 << 16 } else { 16 << 20 };

/// A sparse set that should be a roaring bitmap is written again as soon as it has more bytes: a full
/// container may take 1,000 times as many bytes, and as much time.
const CLOSE_BYTES: u64 = if cfg!(test) { 1 << 16 } else { 1 << 20 };

/// A file that is complete.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Finished {
    pub(crate) extent: Extent,
    /// The better representation, if there is one.
    pub(crate) better: Option<SetFormat>,
}

impl<'f> BitsWriter<'f> {
    /// A set in the representation that `format` names. If it names none, the writer takes the one
    /// that looks best after 2^16 values; `finish` tells if another one is better.
    ///
    /// The universe of a plain bitmap goes from the first to the last value; a roaring bitmap is of
    /// 64-bit values if one needs them.
    pub(crate) fn new(file: &'f File, label: &FileLabel, format: SetFormat, spool: Spool) -> Self {
        let (extent, label) = (Extent::default(), label.clone());
        let body = Body::Waiting(Vec::new());
        let sizes = Some(Sizes::default());
        let mut writer = Self {
            file,
            label,
            spool,
            body,
            extent,
            put: 0,
            sizes,
            is_temporary: false,
            considered: 0,
        };
        if format.is_one_representation() {
            (writer.body, writer.sizes) = (writer.body_of(format), None);
        }
        writer
    }

    /// A set for a few questions: a sparse one if its first 2^16 values are far apart, else a roaring
    /// one.
    pub(crate) fn temporary(file: &'f File, spool: Spool) -> Self {
        let label = spool.label();
        Self { is_temporary: true, ..Self::new(file, &label, SetFormat::Bits, spool) }
    }

    /// The representation in which the set should be written from the beginning, if later values turn
    /// out to be so far apart, or so near, that it pays already.
    pub(crate) fn better_by_now(&mut self) -> Option<SetFormat> {
        let bytes = match &self.body {
            Body::Roaring(roaring) => roaring.bytes(),
            Body::Sparse(sparse) => {
                let (bytes, sizes) = (sparse.bytes(), self.sizes?);
                if bytes <= CLOSE_BYTES || bytes == self.considered {
                    return None;
                }
                self.considered = bytes;
                // Half of it, so that it does not become a sparse set again after a few values.
                return (sizes.roaring_bytes() < bytes / 2).then_some(SetFormat::RoaringBits);
            }
            _ => return None,
        };
        if bytes <= WIDE_BYTES {
            return None;
        }
        let is_sparse = match self.sizes {
            Some(sizes) => sizes.best(self.extent, bytes) == SetFormat::SparseBits,
            None => self.is_temporary && is_for_sparse(bytes, self.extent.cardinality),
        };
        is_sparse.then_some(SetFormat::SparseBits)
    }

    /// A writer of the same set that has no values yet and begins with this representation.
    pub(crate) fn anew(&self, format: SetFormat) -> Self {
        let (label, spool, body) = (self.label.clone(), self.spool.clone(), self.body_of(format));
        let has_sizes = !self.is_temporary || format == SetFormat::SparseBits;
        let sizes = self.sizes.filter(|_| has_sizes).map(|_| Sizes::default());
        Self {
            file: self.file,
            label,
            spool,
            body,
            extent: Extent::default(),
            put: 0,
            sizes,
            considered: 0,
            ..*self
        }
    }

    fn body_of(&self, format: SetFormat) -> Body<'f> {
        match format {
            SetFormat::DenseBits => Body::Dense(Dense {
                out: BufWriter::with_capacity(1 << 20, self.file),
                keys: None,
                ranks: Deferred::new(1 << 20, &self.spool.folder),
            }),
            SetFormat::SparseBits => Body::Sparse(Sparse::new(self.file, &self.spool)),
            SetFormat::RunBits => Body::Runs(Runs::new(self.file)),
            _ => Body::Roaring(Roaring::new(self.file, self.spool.clone())),
        }
    }

    /// Completes the file.
    pub(crate) fn finish(mut self) -> Result<Finished> {
        if let Body::Waiting(_) = self.body
            && let Some(sizes) = self.sizes.take()
        {
            self.choose(self.best(sizes, self.extent))?;
        }
        if let Body::Runs(runs) = &self.body
            && runs.has_all_numbers()
        {
            let what = "a set of all numbers has 2^64 values, and a set file counts up to 2^64 - 1";
            return Err(Error::usage(what));
        }
        let Self { file, label, body, extent, .. } = self;
        let is = match body {
            Body::Roaring(_) => SetFormat::RoaringBits,
            Body::Runs(_) => SetFormat::RunBits,
            _ => SetFormat::SparseBits,
        };
        let finish = || -> io::Result<u64> {
            let (mut header, sums) = match body {
                Body::Dense(dense) => (dense.finish()?, Vec::new()),
                Body::Roaring(roaring) => roaring.finish()?,
                Body::Sparse(sparse) => sparse.finish()?,
                Body::Runs(runs) => runs.finish()?,
                Body::Waiting(_) => return Err(io::ErrorKind::InvalidData.into()), // it was chosen above
            };
            header.cardinality = extent.cardinality;
            (header.min, header.max) = (extent.min, extent.max);
            header.checksums = append_checksums(file, header.ranks.end(), &sums)?;
            file.set_len(header.checksums.end())?;
            let page = header.to_bytes().ok_or(io::ErrorKind::InvalidData)?;
            file.write_all_at(&page, 0)?;
            Ok(header.checksums.end())
        };
        let bytes = finish().map_err(label.failed())?;
        let best = match (self.sizes, is) {
            _ if self.is_temporary => {
                // The first values lay together, and later ones far apart.
                let is_wide =
                    is == SetFormat::RoaringBits && is_for_sparse(bytes, extent.cardinality);
                (is_wide && bytes > WIDE_BYTES).then_some(SetFormat::SparseBits)
            }
            (None, _) => None,
            (Some(sizes), SetFormat::RoaringBits) => Some(sizes.best(extent, bytes)),
            (Some(sizes), SetFormat::RunBits) => Some(sizes.best_beside_runs(extent, bytes)),
            (Some(sizes), _) => Some(sizes.best(extent, sizes.roaring_bytes())),
        };
        Ok(Finished { extent, better: best.filter(|&best| best != is) })
    }

    fn best(&self, sizes: Sizes, extent: Extent) -> SetFormat {
        if self.is_temporary {
            return sizes.quickest(self.extent.cardinality);
        }
        sizes.best(extent, sizes.roaring_bytes())
    }

    /// Begins the body with the values that wait.
    fn choose(&mut self, format: SetFormat) -> Result<()> {
        let body = self.body_of(format);
        let Body::Waiting(values) = std::mem::replace(&mut self.body, body) else { return Ok(()) };
        self.put_values(&values)
    }

    /// Puts a container of `len` values, at least one, into the body.
    fn put(&mut self, key: u64, container: Container<'_>, len: u32) -> Result<()> {
        let pushed = match &mut self.body {
            Body::Dense(dense) => dense.push(key, container, self.put),
            Body::Roaring(roaring) => roaring.push(key, container, len),
            Body::Sparse(sparse) => sparse.push_container(key, container),
            Body::Runs(runs) => runs.push_container(key, container),
            Body::Waiting(waiting) => {
                in_order(container).map_err(self.label.failed())?;
                container.append_to(key, &mut Vec::new(), waiting);
                return self.put_values(&[]);
            }
        };
        self.put += u64::from(len);
        pushed.map_err(self.label.failed())
    }

    /// Adds values to a body that takes values.
    fn take(&mut self, values: &[u64]) -> Result<()> {
        self.extent.add_values(values);
        if let Some(sizes) = &mut self.sizes {
            sizes.add_values(values);
        }
        self.put_values(values)
    }

    /// Whether the ranges of `source` are listed as runs.
    pub(crate) fn lists(&mut self, source: &dyn RunSource) -> bool {
        // Below 2^32 there are few containers, and joins of them are faster.
        let is_listed = matches!(self.body, Body::Runs(_)) || !source.is_narrow();
        is_listed && self.lists_runs()
    }

    /// Begins a list of runs, if there is nothing else yet, or goes on with one; gives whether it can.
    fn lists_runs(&mut self) -> bool {
        if let Body::Waiting(values) = &self.body
            && values.is_empty()
        {
            self.body = self.body_of(SetFormat::RunBits);
        }
        matches!(self.body, Body::Runs(_))
    }

    fn push_run(&mut self, run: [u64; 2]) -> Result<()> {
        let Body::Runs(runs) = &mut self.body else {
            return Err(Error::Accounting { what: "a set was not begun as a list of runs".into() });
        };
        runs.push(run).map_err(self.label.failed())?;
        self.extent.add_run(run);
        if let Some(sizes) = &mut self.sizes {
            sizes.add_run(run);
        }
        Ok(())
    }

    fn put_values(&mut self, values: &[u64]) -> Result<()> {
        match &mut self.body {
            Body::Sparse(sparse) => {
                sparse.push(values).map_err(self.label.failed())?;
                self.put += values.len() as u64;
                Ok(())
            }
            Body::Waiting(waiting) => {
                waiting.extend_from_slice(values);
                if waiting.len() < GROUP_VALUES {
                    return Ok(());
                }
                // Not a plain bitmap: a later value may be far away from all others.
                let wide = Extent { min: 0, max: u64::MAX, cardinality: 1 };
                let format = self.best(self.sizes.unwrap_or_default(), wide);
                if self.is_temporary && format != SetFormat::SparseBits {
                    self.sizes = None;
                }
                self.choose(format)
            }
            Body::Dense(_) | Body::Roaring(_) | Body::Runs(_) => {
                in_containers(values, |key, container| self.put(key, container, container.len()))
            }
        }
    }
}

impl ValueSink for BitsWriter<'_> {
    fn container(&mut self, key: u64, container: Container<'_>) -> Result<()> {
        let len = container.len();
        if len == 0 {
            return Ok(());
        }
        if let (Container::Array(lows), Body::Sparse(_) | Body::Waiting(_)) =
            (container, &self.body)
            && lows.len() <= FEW
        {
            // Most containers of a sparse set have few values.
            in_order(container).map_err(self.label.failed())?;
            let mut values = [key << 16; FEW];
            for (value, &low) in values.iter_mut().zip(lows) {
                *value |= u64::from(u16::from_le_bytes(low));
            }
            return self.take(&values[..lows.len()]);
        }
        self.extent.add(key, container, len);
        match (&mut self.sizes, &self.body) {
            // A roaring body knows its own size.
            (Some(sizes), Body::Roaring(_)) => {
                sizes.add_sparse(key, container, len, self.extent.max);
            }
            (Some(sizes), _) => {
                let runs = container.runs_up_to(plain_bytes(len) / 4);
                sizes.add(key, container, len, runs, self.extent.max);
            }
            (None, _) => {}
        }
        self.put(key, container, len)
    }

    fn values(&mut self, mut values: &[u64]) -> Result<()> {
        while !values.is_empty() {
            // At most two groups of values wait.
            let behind = values.get(GROUP_VALUES).map_or(u64::MAX, |next| next | 0xFFFF);
            let count = values.len().min(GROUP_VALUES + SPAN as usize);
            let (now, later) =
                values.split_at(values[..count].partition_point(|&value| value <= behind).max(1));
            values = later;
            if let Body::Roaring(_) | Body::Dense(_) | Body::Runs(_) = self.body {
                in_containers(now, |key, container| self.container(key, container))?;
                continue;
            }
            self.take(now)?;
        }
        Ok(())
    }

    fn runs(&mut self, source: &mut dyn RunSource) -> Result<()> {
        if !self.lists(source) {
            return push_runs(self, source);
        }
        let mut runs = Vec::new();
        while source.next(&mut runs)? {
            runs.iter().try_for_each(|&run| self.push_run(run))?;
        }
        Ok(())
    }

    fn begin_stretches(&mut self) -> bool {
        self.lists_runs()
    }

    fn stretch(&mut self, run: [u64; 2]) -> Result<()> {
        self.push_run(run)
    }
}

#[derive(Debug)]
struct Dense<'f> {
    out: BufWriter<&'f File>,
    /// The keys from the first one up to the next one; none before the first.
    keys: Option<Range<u64>>,
    ranks: Deferred,
}

/// Most pieces of a plain bitmap, whose ranks take 128 MiB then.
const MAX_PIECES: u64 = 1 << 24;

impl Dense<'_> {
    fn push(&mut self, key: u64, container: Container<'_>, before: u64) -> io::Result<()> {
        in_order(container)?;
        let keys = self.keys.clone().unwrap_or(key..key);
        if key < keys.end {
            return Err(out_of_order(KEY_DISORDER));
        }
        if key - keys.start >= MAX_PIECES {
            let what = "a plain bitmap of so wide a range of values would have more than 128 GiB";
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
        }
        if keys.end != key || self.keys.is_none() {
            // Leave a hole for pieces without values.
            let pieces = key - keys.start;
            let place = HEADER_BYTES as u64 + pieces * BITMAP_BYTES as u64;
            self.out.seek(io::SeekFrom::Start(place))?;
        }
        for _ in keys.end..=key {
            self.ranks.write_u64::<LittleEndian>(before)?;
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
        self.ranks.append_to(&mut self.out)?;
        self.out.flush()?;
        Ok(Header {
            base: keys.start << 16,
            bits: pieces << 16,
            ranks: Section { offset: payload.end(), len: 8 * pieces },
            ..Header::of(Representation::Dense, payload)
        })
    }
}
