//! Ascending containers → files, streams and counts.

use crate::bits::{
    BitsWriter, ContainerSink, Portable, PortableWriter, Representation, SetFile, Spool, in_order,
};
use crate::compression::{Compression, PACK_BYTES, Packer};
use crate::container::Container;
use crate::error::{Error, Result};
use crate::format::Format;
use crate::output::{Destination, open_destination};
use crate::progress::Progress;
use crate::simd::Level;
use crate::simd::decimal::{self, MAX_LINE, SLACK};
use crate::table::{TableFormat, TableWriter};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// What a set is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetFormat {
    /// A `.bits` file, dense or roaring, whichever is smaller.
    Bits,
    /// A `.bits` file with a plain bitmap.
    DenseBits,
    /// A `.bits` file with a roaring bitmap.
    RoaringBits,
    /// A bare roaring bitmap in the portable format, of 64 bits if a value
    /// needs them.
    Roaring,
    /// The values, as `bitsort` writes them.
    Values(Format),
    /// A table with a column `value` of unsigned 64-bit integers.
    Table(TableFormat),
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Written {
    /// Number of values.
    pub cardinality: u64,
    /// Bytes of the output.
    pub bytes: u64,
}

/// Names the one of `sets` that is damaged, where a writer met a container that is out
/// of order: it knows no names.
pub(crate) fn blamed<'s>(error: Error, sets: impl IntoIterator<Item = &'s SetFile>) -> Error {
    let is_met =
        matches!(&error, Error::Io { source, .. } if source.kind() == io::ErrorKind::InvalidData);
    let mut damage = sets.into_iter().filter(|_| is_met).filter_map(|set| set.verify().err());
    damage.next().unwrap_or(error)
}

/// Computes `produce` into the file at `path`, which appears whole or not at
/// all; with `durable` not before it is safe from a power cut.
pub(crate) fn write_file(
    path: &Path,
    format: SetFormat,
    spool: &Spool,
    durable: bool,
    produce: impl FnOnce(&mut dyn ContainerSink) -> Result<()>,
) -> Result<Written> {
    Compression::refuse_unknown(path).map_err(Error::usage)?;
    match open_destination(path)? {
        Destination::Atomic(new) => {
            let packing = Compression::of_name(path);
            let written = if let (Some(packing), SetFormat::Values(values)) = (packing, format) {
                pack(packing, new.file(), path, values, produce)?
            } else {
                let why = "a set file is asked where it lies";
                Compression::refuse_name(path, why).map_err(Error::usage)?;
                write_to(new.file(), path, format, spool, produce)?
            };
            if durable { new.commit_durably() } else { new.commit() }?;
            Ok(written)
        }
        Destination::Stream(file) => write_stream(file, path, format, spool, produce),
    }
}

fn tabulate(
    format: TableFormat,
    out: impl Write + Send,
    path: &Path,
    produce: impl FnOnce(&mut dyn ContainerSink) -> Result<()>,
) -> Result<Written> {
    let writer = TableWriter::new(format, out, "value", false, PACK_BYTES);
    let mut sink = ValueSink::new(writer.map_err(Error::io("write", path))?, path, Format::U64Le);
    produce(&mut sink)?;
    let (writer, written) = sink.end()?;
    let bytes = writer.finish().map_err(Error::io("write", path))?;
    Ok(Written { bytes, ..written })
}

fn pack(
    packing: Compression,
    file: &File,
    path: &Path,
    values: Format,
    produce: impl FnOnce(&mut dyn ContainerSink) -> Result<()>,
) -> Result<Written> {
    let packer = Packer::new(packing, file, PACK_BYTES).map_err(Error::io("write", path))?;
    let mut sink = ValueSink::new(packer, path, values);
    produce(&mut sink)?;
    let (packer, written) = sink.end()?;
    packer.finish().map_err(Error::io("write", path))?;
    let bytes = file.metadata().map_err(Error::io("write", path))?.len();
    Ok(Written { bytes, ..written })
}

/// Writes into an open, empty regular file.
pub(crate) fn write_to(
    file: &File,
    path: &Path,
    format: SetFormat,
    spool: &Spool,
    produce: impl FnOnce(&mut dyn ContainerSink) -> Result<()>,
) -> Result<Written> {
    match format {
        SetFormat::Values(values) => {
            let mut sink = ValueSink::new(file, path, values);
            produce(&mut sink)?;
            sink.finish()
        }
        SetFormat::Table(table) => tabulate(table, file, path, produce),
        SetFormat::Roaring => {
            let portable = PortableWriter::new(io::BufWriter::new(file), spool.clone());
            let mut sink = PortableSink { portable, path: path.into() };
            produce(&mut sink)?;
            let finish = || -> io::Result<Written> {
                let Portable { mut out, bytes, cardinality, buckets } = sink.portable.finish()?;
                out.flush()?;
                if let Some(buckets) = buckets {
                    file.write_all_at(&buckets.count().to_le_bytes(), 0)?;
                }
                Ok(Written { cardinality, bytes })
            };
            finish().map_err(Error::io("write", path))
        }
        SetFormat::DenseBits | SetFormat::RoaringBits | SetFormat::Bits => {
            let mut writer = if format == SetFormat::DenseBits {
                BitsWriter::dense(file, path)
            } else {
                BitsWriter::roaring(file, path, spool.clone())
            };
            produce(&mut writer)?;
            let (bytes, extent) = writer.finish()?;
            let written = Written { cardinality: extent.cardinality, bytes };
            if format == SetFormat::Bits {
                return shrink(file, path, spool, written);
            }
            Ok(written)
        }
    }
}

/// Bytes of a plain bitmap of `first ..= last`, with its ranks and checksums.
pub(crate) fn dense_bytes(first: u64, last: u64) -> u64 {
    let pieces = (last >> 16) - (first >> 16) + 1;
    // Ranks: 8 bytes a piece; checksums: 8 bytes for 64 KiB of both.
    4096 + pieces * 8200 + (pieces * 8200).div_ceil(1 << 16) * 8 + 8
}

/// Makes a roaring `.bits` file dense if that is smaller.
fn shrink(file: &File, path: &Path, spool: &Spool, written: Written) -> Result<Written> {
    let set = crate::bits::SetFile::from_file(file, path)?;
    let view = set.view();
    let blame = set.damaged();
    let ends = view.min().map_err(&blame)?.zip(view.max().map_err(&blame)?);
    let Some((min, max)) = ends else { return Ok(written) };
    if set.representation() == Representation::Dense || dense_bytes(min, max) >= written.bytes {
        return Ok(written);
    }
    let smaller = spool.file()?;
    let mut writer = BitsWriter::dense(&smaller, path);
    super::plan::Plan::set(view, &blame).run(&mut writer, &Progress::default())?;
    let (bytes, extent) = writer.finish()?;
    let copy = || -> io::Result<()> {
        let (mut from, mut to) = (&smaller, file);
        from.rewind()?;
        to.rewind()?;
        to.set_len(0)?;
        io::copy(&mut from, &mut to).map(drop)
    };
    copy().map_err(Error::io("write", path))?;
    Ok(Written { cardinality: extent.cardinality, bytes })
}

/// Writes to what cannot be gone back in: formats with a head are made in a
/// temporary file first.
pub(crate) fn write_stream(
    mut out: impl Write + Send,
    path: &Path,
    format: SetFormat,
    spool: &Spool,
    produce: impl FnOnce(&mut dyn ContainerSink) -> Result<()>,
) -> Result<Written> {
    if let SetFormat::Table(table) = format {
        return tabulate(table, out, path, produce);
    }
    if let SetFormat::Values(values) = format {
        let mut sink = ValueSink::new(out, path, values);
        produce(&mut sink)?;
        return sink.finish();
    }
    let mut file = spool.file()?;
    let written = write_to(&file, path, format, spool, produce)?;
    file.rewind()
        .and_then(|()| io::copy(&mut file, &mut out))
        .and_then(|_| out.flush())
        .map_err(Error::io("write", path))?;
    Ok(written)
}

/// Writes the values themselves.
struct ValueSink<W> {
    out: W,
    path: PathBuf,
    format: Format,
    lows: Vec<u32>,
    buffer: Vec<u8>,
    filled: usize,
    written: Written,
}

/// Bytes that are written at once.
const BUFFER_BYTES: usize = 256 << 10;

impl<W: Write> ValueSink<W> {
    fn new(out: W, path: &Path, format: Format) -> Self {
        Self {
            out,
            path: path.into(),
            format,
            lows: Vec::new(),
            buffer: vec![0; BUFFER_BYTES],
            filled: 0,
            written: Written::default(),
        }
    }

    fn flush(&mut self) -> Result<()> {
        let filled = std::mem::take(&mut self.filled);
        self.written.bytes += filled as u64;
        self.out.write_all(&self.buffer[..filled]).map_err(Error::io("write", &self.path))
    }

    fn finish(self) -> Result<Written> {
        self.end().map(|(_, written)| written)
    }

    /// Writes what waits; gives what it was written to.
    fn end(mut self) -> Result<(W, Written)> {
        self.flush()?;
        self.out.flush().map_err(Error::io("write", &self.path))?;
        Ok((self.out, self.written))
    }
}

impl<W: Write + Send> ContainerSink for ValueSink<W> {
    fn push(&mut self, key: u64, container: Container<'_>) -> Result<()> {
        in_order(container).map_err(Error::io("write", &self.path))?;
        let count = container.positions(0, &mut self.lows);
        self.written.cardinality += count as u64;
        let base = key << 16;
        let mut start = 0;
        while start < count {
            let room = (self.buffer.len() - self.filled - SLACK) / MAX_LINE;
            if room < (count - start).min(64) {
                self.flush()?;
                continue;
            }
            let lows = &self.lows[start..count.min(start + room)];
            start += lows.len();
            let out = &mut self.buffer[self.filled..];
            self.filled += match self.format {
                Format::Text => decimal::lines(Level::best(), base, lows, b'\n', out),
                other => binary(other, base, lows, out)?,
            };
        }
        Ok(())
    }
}

fn binary(format: Format, base: u64, lows: &[u32], out: &mut [u8]) -> Result<usize> {
    let largest = base + lows.last().copied().map_or(0, u64::from);
    if largest > format.max_value() {
        return Err(Error::ValueTooLarge { value: largest, format: format.name() });
    }
    let width = format.value_bytes().unwrap_or(8); // text is written by the caller
    for (slot, &low) in out.chunks_exact_mut(width).zip(lows) {
        let value = base + u64::from(low);
        match format {
            Format::U32Le | Format::U64Le => slot.copy_from_slice(&value.to_le_bytes()[..width]),
            _ => slot.copy_from_slice(&value.to_be_bytes()[8 - width..]),
        }
    }
    Ok(lows.len() * width)
}

/// Writes a bare roaring bitmap.
pub(super) struct PortableSink<W> {
    pub(super) portable: PortableWriter<W>,
    /// For messages.
    pub(super) path: PathBuf,
}

impl<W: Write + Send> ContainerSink for PortableSink<W> {
    fn push(&mut self, key: u64, container: Container<'_>) -> Result<()> {
        match container.len() {
            0 => Ok(()),
            len => self.portable.push(key, container, len).map_err(Error::io("write", &self.path)),
        }
    }
}
