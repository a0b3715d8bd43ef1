//! Writes the sparse payload of a `.bits` file: groups of 2^16 values, then their table.

use super::bucket::{in_order, out_of_order};
use super::header::{Header, Representation};
use crate::io::page::{HEADER_BYTES, Section};
use crate::io::write::{Deferred, Spool, Summed};
use crate::kernel::Level;
use crate::kernel::low_halves::widen;
use crate::set::container::Container;
use crate::set::sparse::{Entry, GROUP_VALUES, GroupEncoder};
use std::fs::File;
use std::io::{self, Write};

/// Gathers ascending values in groups, one at a time.
#[derive(Debug)]
pub(super) struct Sparse<'f> {
    out: Summed<'f>,
    /// Room for a group. It has so many values of the one that is not full yet.
    values: Vec<u64>,
    filled: usize,
    /// The last value of all.
    last: Option<u64>,
    /// Scratch memory for the values of a container.
    positions: Vec<u32>,
    encoder: GroupEncoder,
    /// Bytes of the groups.
    bytes: u64,
    table: Deferred,
}

impl<'f> Sparse<'f> {
    pub(super) fn new(file: &'f File, spool: &Spool) -> Self {
        Self {
            out: Summed::new(file, HEADER_BYTES as u64),
            values: vec![0; GROUP_VALUES],
            filled: 0,
            last: None,
            positions: Vec::new(),
            encoder: GroupEncoder::default(),
            bytes: 0,
            table: Deferred::new(spool.memory_bytes, &spool.folder),
        }
    }

    /// Bytes of the groups that are complete.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends ascending values above all earlier ones.
    pub(super) fn push(&mut self, values: &[u64]) -> io::Result<()> {
        if !values.is_sorted_by(|a, b| a < b) {
            return Err(out_of_order("the values do not ascend"));
        }
        self.append(values, |value| value, |values, room| room.copy_from_slice(values))
    }

    /// Appends the values of a container above all earlier ones.
    pub(super) fn push_container(&mut self, key: u64, container: Container<'_>) -> io::Result<()> {
        in_order(container)?;
        let base = key << 16;
        if let Container::Array(lows) = container {
            let value = |low| base | u64::from(u16::from_le_bytes(low));
            return self.append(lows, value, |lows, room| widen(Level::best(), base, lows, room));
        }
        let mut positions = std::mem::take(&mut self.positions);
        let count = container.positions(0, &mut positions);
        let value = |low| base | u64::from(low);
        let appended = self.append(&positions[..count], value, |lows, room| {
            for (slot, &low) in room.iter_mut().zip(lows) {
                *slot = value(low);
            }
        });
        self.positions = positions;
        appended
    }

    /// Appends the values of ascending items. `write` writes those of some items into room for as
    /// many.
    fn append<T: Copy>(
        &mut self,
        mut items: &[T],
        value: impl Fn(T) -> u64,
        write: impl Fn(&[T], &mut [u64]),
    ) -> io::Result<()> {
        let Some((&first, &last)) = items.first().zip(items.last()) else { return Ok(()) };
        if self.last.is_some_and(|before| before >= value(first)) {
            return Err(out_of_order("the values do not ascend"));
        }
        while !items.is_empty() {
            let room = &mut self.values[self.filled..];
            let (now, later) = items.split_at(items.len().min(room.len()));
            write(now, &mut room[..now.len()]);
            self.filled += now.len();
            items = later;
            if self.filled == GROUP_VALUES {
                self.end_group()?;
            }
        }
        self.last = Some(value(last));
        Ok(())
    }

    fn end_group(&mut self) -> io::Result<()> {
        let values = &self.values[..self.filled];
        let Some((&base, &last)) = values.first().zip(values.last()) else { return Ok(()) };
        let (layout, bytes) = self.encoder.encode(values);
        let low_bits = u64::from(layout.low_bits);
        let entry = Entry { base, last, offset: self.bytes, low_bits }.to_bytes();
        self.out.write_all(bytes)?;
        self.bytes += bytes.len() as u64;
        self.table.write_all(&entry)?;
        self.filled = 0;
        Ok(())
    }

    /// Completes payload and table. Also gives the checksums of some of the blocks, by their
    /// ascending numbers.
    pub(super) fn finish(mut self) -> io::Result<(Header, Vec<(u64, u64)>)> {
        self.end_group()?;
        let payload = Section { offset: HEADER_BYTES as u64, len: self.bytes };
        let table_bytes = self.table.append_to(&mut self.out)?;
        self.out.flush()?;
        let table = Section { offset: payload.end(), len: table_bytes };
        let ranks = Section { offset: table.end(), len: 0 };
        let header = Header { table, ranks, ..Header::of(Representation::Sparse, payload) };
        Ok((header, self.out.take_sums()))
    }
}
