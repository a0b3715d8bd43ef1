//! Writes sets in the formats of other systems, which wrap a roaring bitmap.

use super::{ForeignFormat, deletion};
use crate::error::{Error, Result};
use crate::set::container::Container;
use crate::set::file::{Portable, ValueSink};
use crate::set::integer_set::IntegerSet;
use crate::set::sink::PortableSink;
use byteorder::{BigEndian, LittleEndian, WriteBytesExt};
use integer_encoding::VarInt;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};

/// Takes containers for a format of another system. Refuses values that are too large for it.
pub(crate) struct ForeignSink<W> {
    portable: PortableSink<W>,
    format: ForeignFormat,
    max: Option<u64>,
}

impl<W> ForeignSink<W> {
    pub(crate) fn new(portable: PortableSink<W>, format: ForeignFormat) -> Self {
        Self { portable, format, max: None }
    }

    /// The largest value, and the sink with the bitmap.
    pub(crate) fn into_parts(self) -> (Option<u64>, PortableSink<W>) {
        (self.max, self.portable)
    }
}

impl<W: Write + Send> ValueSink for ForeignSink<W> {
    fn container(&mut self, key: u64, container: Container<'_>) -> Result<()> {
        if let Some(low) = container.previous(u16::MAX) {
            let value = key << 16 | u64::from(low);
            if value > self.format.max_value() {
                return Err(Error::ValueTooLarge { value, format: self.format.name() });
            }
            self.max = Some(value);
        }
        self.portable.container(key, container)
    }
}

/// A 64-bit roaring bitmap without the number of its buckets: a key and a bitmap for each bucket.
pub(crate) struct Buckets<R> {
    count: u64,
    bytes: u64,
    entries: R,
    values: u64,
    max: Option<u64>,
}

impl<'b> Buckets<Box<dyn Read + 'b>> {
    /// The buckets of a bitmap that was written to the start of a file. The file is at its start
    /// again.
    pub(crate) fn of_file<W>(file: &'b File, portable: &Portable<W>, max: Option<u64>) -> Self {
        let (values, file) = (portable.cardinality, BufReader::new(file));
        let (count, bytes, entries): (u64, u64, Box<dyn Read>) = match &portable.buckets {
            // Skip the number of buckets, which is not written yet.
            Some(buckets) => (buckets.count(), portable.bytes - 8, Box::new(Behind(file, 8))),
            None if values == 0 => (0, 0, Box::new(io::empty())),
            None => (1, portable.bytes + 4, Box::new((&[0; 4][..]).chain(file))),
        };
        Self { count, bytes, entries, values, max }
    }
}

impl<'b> Buckets<&'b [u8]> {
    /// The buckets of a 64-bit bitmap in memory.
    pub(super) fn of_memory(treemap: &'b [u8], set: &IntegerSet) -> Self {
        let (count, entries) = treemap.split_first_chunk::<8>().unwrap_or((&[0; 8], &[]));
        let count = u64::from_le_bytes(*count);
        Self { count, bytes: entries.len() as u64, entries, values: set.len(), max: set.max() }
    }
}

/// The bytes of a reader behind so many bytes.
struct Behind<R>(R, u64);

impl<R: Read> Read for Behind<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.1 > 0 {
            let passed = io::copy(&mut self.0.by_ref().take(self.1), &mut io::sink())?;
            if passed < self.1 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.1 = 0;
        }
        self.0.read(buffer)
    }
}

/// A bitmap of 32 bits without values.
const EMPTY_32: [u8; 8] = [0x3A, 0x30, 0, 0, 0, 0, 0, 0];

impl<R: Read> Buckets<R> {
    /// Bytes of the only bucket, written as a bitmap of 32 bits.
    fn bytes_32(&self) -> u64 {
        if self.count == 0 { EMPTY_32.len() as u64 } else { self.bytes - 4 }
    }

    fn copy_32(self, out: &mut impl Write) -> io::Result<()> {
        if self.count == 0 {
            return out.write_all(&EMPTY_32);
        }
        self.copy(4, out)
    }

    fn bytes_64(&self) -> u64 {
        8 + self.bytes
    }

    fn copy_64(self, out: &mut impl Write) -> io::Result<()> {
        out.write_u64::<LittleEndian>(self.count)?;
        self.copy(0, out)
    }

    /// Copies the entries without their first `skipped` bytes.
    fn copy(self, skipped: u64, out: &mut impl Write) -> io::Result<()> {
        let copied = io::copy(&mut Behind(self.entries, skipped), out)?;
        if copied != self.bytes - skipped {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
}

/// Writes a set with all that its format puts around it. The values must fit in the format.
pub(crate) fn frame(
    format: ForeignFormat,
    buckets: Buckets<impl Read>,
    out: &mut impl Write,
) -> io::Result<()> {
    match format {
        ForeignFormat::ClickHouse32 => {
            out.write_all(&[1])?;
            out.write_all(&buckets.bytes_32().encode_var_vec())?;
            buckets.copy_32(out)
        }
        ForeignFormat::ClickHouse64 => {
            out.write_all(&[1])?;
            out.write_all(&buckets.bytes_64().encode_var_vec())?;
            buckets.copy_64(out)
        }
        ForeignFormat::Doris => doris(buckets, out),
        ForeignFormat::Iceberg => vector(buckets, out),
        ForeignFormat::Delta => {
            out.write_all(&[deletion::FILE_VERSION])?;
            vector(buckets, out)
        }
        ForeignFormat::DeltaInline => {
            let mut text = Text { out, group: [0; 4], filled: 0 };
            text.write_all(&deletion::MAGIC)?;
            buckets.copy_64(&mut text)?;
            text.finish()
        }
    }
}

fn doris(buckets: Buckets<impl Read>, out: &mut impl Write) -> io::Result<()> {
    let Some(max) = buckets.max else { return out.write_all(&[0]) };
    match (buckets.values, max <= u32::MAX.into()) {
        (1, true) => {
            out.write_all(&[1])?;
            out.write_all(&max.to_le_bytes()[..4])
        }
        (1, false) => {
            out.write_all(&[3])?;
            out.write_u64::<LittleEndian>(max)
        }
        (_, true) => {
            out.write_all(&[2])?;
            buckets.copy_32(out)
        }
        (_, false) => {
            out.write_all(&[4])?;
            out.write_all(&buckets.count.encode_var_vec())?;
            buckets.copy(0, out)
        }
    }
}

/// Writes a deletion vector between its length and its checksum.
fn vector(buckets: Buckets<impl Read>, out: &mut impl Write) -> io::Result<()> {
    let length = buckets.bytes_64() + deletion::MAGIC.len() as u64;
    let length = i32::try_from(length).map_err(|_| {
        let what = format!("a deletion vector of {length} bytes is longer than one can be");
        io::Error::new(io::ErrorKind::InvalidInput, what)
    })?;
    out.write_i32::<BigEndian>(length)?;
    let mut with_crc = WithCrc { out, sum: crc32fast::Hasher::new() };
    with_crc.write_all(&deletion::MAGIC)?;
    buckets.copy_64(&mut with_crc)?;
    let WithCrc { out, sum } = with_crc;
    out.write_u32::<BigEndian>(sum.finalize())
}

/// A writer that computes the checksum of its bytes.
struct WithCrc<'o, W> {
    out: &'o mut W,
    sum: crc32fast::Hasher,
}

impl<W: Write> Write for WithCrc<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A writer of bytes as text in Z85.
struct Text<'o, W> {
    out: &'o mut W,
    group: [u8; 4],
    filled: usize,
}

impl<W: Write> Text<'_, W> {
    /// Fills the last characters up with zeros.
    fn finish(mut self) -> io::Result<()> {
        while self.filled > 0 {
            self.write_all(&[0])?;
        }
        Ok(())
    }
}

impl<W: Write> Write for Text<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut text = Vec::with_capacity(bytes.len() / 4 * 5 + 5);
        for &byte in bytes {
            self.group[self.filled] = byte;
            self.filled += 1;
            if self.filled == 4 {
                self.filled = 0;
                text.extend(deletion::to_z85(self.group));
            }
        }
        self.out.write_all(&text)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
