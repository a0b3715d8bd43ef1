//! Encodes ascending values as the bytes of one set of a `.sets` file.
//!
//! Most sets are small: they gather in memory and are encoded there. A large set is written as a
//! `.bits` file to a temporary file, whose sections are then copied.

use super::body::PIECE_BYTES;
use super::format::Head;
use crate::error::{Error, Result};
use crate::io::write::Spool;
use crate::set::container::{BITMAP_BYTES, Container};
use crate::set::file::{
    Extent, Portable, PortableWriter, Representation, Sections, SetFile, Sizes, ValueSink,
    in_containers, in_order,
};
use crate::set::format::SetFormat;
use crate::set::sink::BestSink;
use crate::set::sparse::{Entry, GROUP_VALUES, GroupEncoder};
use byteorder::{LittleEndian, WriteBytesExt};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

/// Encodes one set after the other.
pub(crate) struct SetEncoder<'f> {
    /// For large sets; empty between them.
    scratch: &'f File,
    spool: Spool,
    values: Vec<u64>,
    large: Option<BestSink<'f>>,
    lows: Vec<u32>,
    groups: GroupEncoder,
    buffer: Vec<u8>,
}

impl<'f> SetEncoder<'f> {
    /// `scratch` is an empty file in the folder of `spool` that nobody else uses.
    pub(crate) fn new(scratch: &'f File, spool: Spool) -> Self {
        Self {
            scratch,
            spool,
            values: Vec::new(),
            large: None,
            lows: Vec::new(),
            groups: GroupEncoder::default(),
            buffer: Vec::new(),
        }
    }

    /// The set becomes large: hands its values so far to a writer of files.
    fn grow(&mut self) -> Result<&mut BestSink<'f>> {
        if self.large.is_none() {
            let (label, spool) = (self.spool.label(), self.spool.clone());
            let writer = BestSink::new(self.scratch, label, SetFormat::Bits, spool);
            let writer = self.large.insert(writer);
            writer.values(&self.values)?;
            self.values.clear();
        }
        self.large.as_mut().ok_or_else(|| Error::Accounting { what: "a set is lost".into() })
    }

    /// Writes the set and begins the next one. An error that comes from `out` is named as one of the
    /// temporary file: a caller with another `out` listens there, as [`Telling`] does.
    ///
    /// [`Telling`]: crate::io::write::Telling
    pub(crate) fn finish(&mut self, out: &mut (impl Write + ?Sized)) -> Result<Head> {
        if let Some(writer) = self.large.take() {
            return self.finish_large(writer, out);
        }
        let written = self.encode(out).map_err(self.spool.label().failed());
        self.values.clear();
        written
    }

    fn encode(&mut self, out: &mut (impl Write + ?Sized)) -> io::Result<Head> {
        let values = &self.values;
        let cardinality = values.len() as u64;
        let ends = values.first().zip(values.last());
        let (min, max) = ends.map_or((0, 0), |(&min, &max)| (min, max));
        let mut sizes = Sizes::default();
        sizes.add_values(values);
        let (representation, bytes) = match sizes.best_body(Extent { cardinality, min, max }) {
            Representation::Sparse => {
                let (layout, group) = self.groups.encode(values);
                let low_bits = u64::from(layout.low_bits);
                let entry = Entry { base: min, last: max, offset: 0, low_bits }.to_bytes();
                out.write_all(group)?;
                out.write_all(&entry)?;
                (Representation::Sparse, group.len() + entry.len())
            }
            Representation::Dense => {
                let bytes = dense(values, min, max);
                out.write_all(&bytes)?;
                (Representation::Dense, bytes.len())
            }
            // `best_body` gives neither runs nor parts.
            Representation::Roaring
            | Representation::Treemap
            | Representation::Runs
            | Representation::Parts => {
                self.buffer.clear();
                let mut portable = PortableWriter::new(&mut self.buffer, self.spool.clone());
                in_containers(values, |key, container| {
                    portable.push(key, container, container.len())
                })?;
                let Portable { buckets, .. } = portable.finish()?;
                let representation = match buckets {
                    None => Representation::Roaring,
                    Some(buckets) => {
                        if let Some(count) = self.buffer.first_chunk_mut() {
                            *count = buckets.count().to_le_bytes();
                        }
                        buckets.write_to(&mut self.buffer)?;
                        Representation::Treemap
                    }
                };
                out.write_all(&self.buffer)?;
                (representation, self.buffer.len())
            }
        };
        Ok(Head { bytes: bytes as u64, representation, cardinality })
    }

    fn finish_large(&self, writer: BestSink<'f>, out: &mut (impl Write + ?Sized)) -> Result<Head> {
        writer.finish()?;
        let set = SetFile::from_file(self.scratch, &self.spool.folder)?;
        let Some(Sections { base, sections }) = set.sections() else {
            return Err(Error::Accounting { what: "a set was written as no .bits file".into() });
        };
        let mut copy = || -> io::Result<u64> {
            let mut bytes = 0;
            if let Some(base) = base {
                out.write_u64::<LittleEndian>(base)?;
                bytes += 8;
            }
            let mut block = vec![0; 1 << 18];
            for section in sections {
                bytes += section.len;
                copy_at(self.scratch, section.offset, section.len, &mut block, out)?;
            }
            self.scratch.set_len(0)?;
            Ok(bytes)
        };
        let bytes = copy().map_err(self.spool.label().failed())?;
        let (representation, cardinality) = (set.representation(), set.len());
        Ok(Head { bytes, representation, cardinality })
    }
}

/// Copies bytes of a file, a block at a time.
pub(crate) fn copy_at(
    from: &File,
    mut offset: u64,
    len: u64,
    block: &mut [u8],
    out: &mut (impl Write + ?Sized),
) -> io::Result<()> {
    let end = offset + len;
    while offset < end {
        let now = usize::try_from(end - offset).map_or(block.len(), |left| left.min(block.len()));
        from.read_exact_at(&mut block[..now], offset)?;
        out.write_all(&block[..now])?;
        offset += now as u64;
    }
    Ok(())
}

/// The base, words and ranks of a plain bitmap of few values.
fn dense(values: &[u64], min: u64, max: u64) -> Vec<u8> {
    let pieces = usize::try_from((max >> 16) - (min >> 16) + 1).unwrap_or(0); // few: a plain bitmap is the smallest form
    let base = min >> 16 << 16;
    let mut bytes = vec![0; 8 + pieces * PIECE_BYTES];
    bytes[..8].copy_from_slice(&base.to_le_bytes());
    let (words, ranks) = bytes[8..].split_at_mut(pieces * BITMAP_BYTES);
    let mut at = 0;
    for (piece, rank) in ranks.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        *rank = (at as u64).to_le_bytes();
        let key = (min >> 16) + piece as u64;
        while let Some(&value) = values.get(at).filter(|&&value| value >> 16 == key) {
            #[expect(clippy::cast_possible_truncation, reason = "inside of the bitmap")]
            let bit = (value - base) as usize;
            words[bit / 8] |= 1 << (bit % 8);
            at += 1;
        }
    }
    bytes
}

impl ValueSink for SetEncoder<'_> {
    fn container(&mut self, key: u64, container: Container<'_>) -> Result<()> {
        if self.large.is_none() && self.values.len() + container.len() as usize <= GROUP_VALUES {
            in_order(container).map_err(self.spool.label().failed())?;
            container.append_to(key, &mut self.lows, &mut self.values);
            return Ok(());
        }
        self.grow()?.container(key, container)
    }

    fn values(&mut self, values: &[u64]) -> Result<()> {
        if self.large.is_none() && self.values.len() + values.len() <= GROUP_VALUES {
            self.values.extend_from_slice(values);
            return Ok(());
        }
        self.grow()?.values(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set::file::is_out_of_order;

    #[test]
    fn a_container_that_does_not_ascend_is_refused() {
        let scratch = tempfile::tempfile().unwrap();
        let mut encoder = SetEncoder::new(&scratch, Spool::default());
        let refused = encoder.container(0, Container::Array(&[[9, 0], [3, 0]])).unwrap_err();
        assert!(is_out_of_order(&refused), "{refused}");
    }
}
