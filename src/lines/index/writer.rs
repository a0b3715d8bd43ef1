//! Writes groups as an index file.

use super::digest::{Digest, Order, Recipe};
use super::file::IndexFile;
use super::header::{BLOCK_BYTES, GROUP_BYTES, PLACE_BYTES, Stat};
use crate::error::{Error, Result};
use crate::io::page::HEADER_BYTES;
use crate::io::write::{Deferred, Summed, append_checksums, temporary_folder};
use crate::sort::plan::budget::INDEX_TABLE_BYTES;
use byteorder::{LittleEndian, WriteBytesExt};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use xxhash_rust::xxh3::Xxh3;

fn deferred() -> Deferred {
    Deferred::new(INDEX_TABLE_BYTES, &temporary_folder())
}

/// Takes groups in their order. The file is invalid before [`finish`](Self::finish).
pub(super) struct Writer<'f> {
    file: &'f File,
    out: Summed<'f>,
    filters_len: u64,
    groups: Deferred,
    blocks: Deferred,
    block_count: u64,
    sum: Xxh3,
    rows: u64,
    keys: u64,
    /// The bounds; none after a key was smaller than the one before.
    order: Option<OrderSpool<'f>>,
}

struct OrderSpool<'f> {
    last: Cow<'f, [u8]>,
    places: Deferred,
    bounds: Deferred,
    bounds_len: u64,
}

impl<'f> Writer<'f> {
    pub(super) fn new(file: &'f File) -> Self {
        let order = OrderSpool {
            last: Cow::default(),
            places: deferred(),
            bounds: deferred(),
            bounds_len: 0,
        };
        Self {
            file,
            out: Summed::new(file, HEADER_BYTES as u64),
            filters_len: 0,
            groups: deferred(),
            blocks: deferred(),
            block_count: 0,
            sum: Xxh3::new(),
            rows: 0,
            keys: 0,
            order: Some(order),
        }
    }

    /// Whether no key was smaller than the one before.
    pub(super) fn is_sorted(&self) -> bool {
        self.order.is_some()
    }

    /// Takes the first `groups` groups of another index. `last` is the last of their keys; `name`
    /// is the name of the new index.
    pub(super) fn copy<'o>(
        &mut self,
        old: &'o IndexFile,
        groups: u64,
        last: Vec<u8>,
        name: &Path,
    ) -> Result<()> {
        let failed = || Error::io("write", name);
        let damaged = || old.damage(0, "a table is shorter than the header says");
        let facts = &old.stat;
        let whole = groups >= facts.groups();
        let blocks = if whole { facts.blocks } else { groups * facts.group_blocks };
        let front = |bytes: &'o [u8], len: u64| {
            let len = usize::try_from(len).ok();
            len.and_then(|len| bytes.get(..len)).ok_or_else(damaged)
        };
        for group in 0..groups {
            let entry = old.group(group)?;
            self.rows += entry.rows;
            self.keys += entry.keys;
            let bytes = bytemuck::cast_slice(entry.filters);
            self.out.write_all(bytes).map_err(failed())?;
            self.filters_len += bytes.len() as u64;
        }
        let table = front(old.group_table(), groups * GROUP_BYTES)?;
        self.groups.write_all(table).map_err(failed())?;
        let table = front(old.block_table(), blocks * BLOCK_BYTES)?;
        for [_, sum] in table.as_chunks::<8>().0.as_chunks::<2>().0 {
            self.sum.update(sum);
        }
        self.blocks.write_all(table).map_err(failed())?;
        self.block_count = blocks;
        match &mut self.order {
            Some(order) if facts.is_sorted => {
                let end = if whole {
                    facts.bounds_bytes
                } else {
                    old.place(blocks).ok_or_else(damaged)?
                };
                let places = front(old.place_table(), blocks * PLACE_BYTES)?;
                order.places.write_all(places).map_err(failed())?;
                order.bounds.write_all(front(old.bounds(), end)?).map_err(failed())?;
                order.bounds_len = end;
                order.last = last.into();
            }
            _ => self.order = None,
        }
        Ok(())
    }

    /// Takes the next group.
    pub(super) fn push(&mut self, digest: &Digest<'f>) -> io::Result<()> {
        let bytes: &[u8] = bytemuck::cast_slice(&digest.filters);
        let entry = [self.filters_len, digest.shape.bits, digest.rows, digest.keys];
        self.groups.write_all(&entry.map(u64::to_le_bytes).concat())?;
        self.out.write_all(bytes)?;
        self.filters_len += bytes.len() as u64;
        let mut table = Vec::with_capacity(16 * digest.blocks.len());
        for [start, sum] in &digest.blocks {
            table.write_u64::<LittleEndian>(*start)?;
            table.write_u64::<LittleEndian>(*sum)?;
            self.sum.update(&sum.to_le_bytes());
        }
        self.blocks.write_all(&table)?;
        self.block_count += digest.blocks.len() as u64;
        self.rows += digest.rows;
        self.keys += digest.keys;
        match (&mut self.order, &digest.order) {
            (Some(ours), Some(new)) if ours.last <= new.first => ours.push(new)?,
            _ => self.order = None,
        }
        Ok(())
    }

    /// Completes the file. The data has `data_len` bytes.
    pub(super) fn finish(mut self, recipe: &Recipe, data_len: u64) -> io::Result<()> {
        self.groups.append_to(&mut self.out)?;
        self.blocks.append_to(&mut self.out)?;
        let is_sorted = self.order.is_some();
        let mut bounds_len = 0;
        if let Some(order) = self.order {
            order.places.append_to(&mut self.out)?;
            bounds_len = order.bounds.append_to(&mut self.out)?;
        }
        self.out.flush()?;
        let stat = Stat {
            rule: recipe.rule.clone(),
            block_bytes: recipe.block_bytes,
            group_blocks: recipe.group_blocks() as u64,
            hashes: recipe.hashes,
            rate: recipe.rate,
            data_bytes: data_len,
            data_checksum: self.sum.digest(),
            blocks: self.block_count,
            rows: self.rows,
            keys: self.keys,
            is_sorted,
            filter_bytes: self.filters_len,
            bounds_bytes: bounds_len,
            index_bytes: 0, // not written: the places of the sections tell it
        };
        let sections = stat.sections().ok_or(io::ErrorKind::FileTooLarge)?;
        append_checksums(self.file, sections.checksums.offset, &self.out.take_sums())?;
        let page = stat.to_bytes().ok_or(io::ErrorKind::FileTooLarge)?;
        self.file.write_all_at(&page, 0)
    }
}

impl<'f> OrderSpool<'f> {
    fn push(&mut self, new: &Order<'f>) -> io::Result<()> {
        let places = new.places.iter().flat_map(|place| (self.bounds_len + place).to_le_bytes());
        self.places.write_all(&places.collect::<Vec<_>>())?;
        self.bounds.write_all(&new.bounds)?;
        self.bounds_len += new.bounds.len() as u64;
        self.last.clone_from(&new.last);
        Ok(())
    }
}
