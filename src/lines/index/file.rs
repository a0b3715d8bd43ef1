//! An index file, mapped. Nothing in it is trusted: if facts do not fit together, that is an error.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::header::{BLOCK_BYTES, GROUP_BYTES, PLACE_BYTES, Sections, Stat};
use crate::bloom::sliced::Shape;
use crate::error::{Error, Result};
use crate::io::page::{Damage, Section, verify_checksums};
use crate::io::read::{check_whole, map};
use crate::kernel::sys::Map;
use crate::progress::Progress;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// An index without its data.
///
/// # Examples
///
/// ```
/// use bitsort::lines::index::{Builder, IndexFile, path_of};
///
/// # let folder = tempfile::tempdir()?;
/// # let data = folder.path().join("ids.txt");
/// std::fs::write(&data, "3\n7\n")?;
/// Builder::new().build(&data, path_of(&data))?;
/// let stat = IndexFile::open(path_of(&data))?.stat();
/// assert_eq!((stat.rows, stat.is_sorted, stat.data_bytes), (2, true, 4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct IndexFile {
    path: PathBuf,
    bytes: Map,
    pub(super) stat: Stat,
    sections: Sections,
}

/// A group of filters.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group<'i> {
    pub(super) shape: Shape,
    pub(super) filters: &'i [u64],
    pub(super) rows: u64,
    pub(super) keys: u64,
}

impl IndexFile {
    /// Opens an index: maps it and checks its header. The cost does not depend on its size.
    ///
    /// # Errors
    ///
    /// If it cannot be read, is no index, or its header contradicts itself or
    /// the file's length.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_path_buf();
        let bytes = map(&path)?;
        let (stat, sections) = Stat::read(&bytes).map_err(damaged(&path))?;
        Ok(Self { path, bytes, stat, sections })
    }

    /// Facts about the index and its data.
    #[must_use]
    pub fn stat(&self) -> Stat {
        self.stat.clone()
    }

    /// The time at which it was last written.
    pub(super) fn modified(&self) -> Result<SystemTime> {
        let metadata = std::fs::metadata(&self.path);
        metadata.and_then(|found| found.modified()).map_err(Error::io("read", &self.path))
    }

    /// Reads the whole index and compares it with its checksums.
    ///
    /// # Errors
    ///
    /// The first damage found.
    pub fn verify(&self) -> Result<()> {
        self.verify_with(&Progress::default())
    }

    /// The same with progress, which can cancel it.
    ///
    /// # Errors
    ///
    /// As [`verify`](Self::verify); [`Error::Interrupted`] when `progress` is cancelled.
    pub fn verify_with(&self, progress: &Progress) -> Result<()> {
        verify_checksums(&self.bytes, self.sections.checksums, damaged(&self.path), progress)
    }

    /// Fails if the index lost bytes that were read. Filters of such bytes name no blocks.
    pub(super) fn intact(&self) -> Result<()> {
        check_whole(&self.bytes, &self.path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn damage(&self, offset: u64, what: &'static str) -> Error {
        damaged(&self.path)(Damage { offset, what })
    }

    pub(super) fn group_table(&self) -> &[u8] {
        self.sections.groups.of(&self.bytes)
    }

    pub(super) fn block_table(&self) -> &[u8] {
        self.sections.blocks.of(&self.bytes)
    }

    pub(super) fn place_table(&self) -> &[u8] {
        self.sections.places.of(&self.bytes)
    }

    pub(super) fn bounds(&self) -> &[u8] {
        self.sections.bounds.of(&self.bytes)
    }

    /// Entry `index` of a table, in words.
    fn entry<const WORDS: usize>(&self, table: Section, index: u64) -> Option<[u64; WORDS]> {
        let words = table.of(&self.bytes).as_chunks::<8>().0;
        let at = usize::try_from(index).ok()?.checked_mul(WORDS)?;
        let entry = words.get(at..)?.first_chunk::<WORDS>()?;
        Some(entry.map(u64::from_le_bytes))
    }

    /// The group of this number.
    pub(super) fn group(&self, index: u64) -> Result<Group<'_>> {
        self.find_group(index).ok_or_else(|| {
            let at = index.saturating_mul(GROUP_BYTES).saturating_add(self.sections.groups.offset);
            self.damage(at, "a group of filters is not where it can be")
        })
    }

    fn find_group(&self, index: u64) -> Option<Group<'_>> {
        let [offset, bits, rows, keys] = self.entry(self.sections.groups, index)?;
        let before = index.checked_mul(self.stat.group_blocks)?;
        let left = self.stat.blocks.checked_sub(before).filter(|left| *left > 0)?;
        let blocks = usize::try_from(left.min(self.stat.group_blocks)).ok()?;
        let shape = Shape { blocks, bits, hashes: self.stat.hashes };
        let len = shape.words().filter(|_| bits > 0)?.checked_mul(8)?;
        let range =
            usize::try_from(offset).ok()?..usize::try_from(offset.checked_add(len)?).ok()?;
        let bytes = self.sections.filters.of(&self.bytes).get(range)?;
        // The section begins at 4096, and a map at a page.
        let filters = bytemuck::try_cast_slice(bytes).ok()?;
        Some(Group { shape, filters, rows, keys })
    }

    /// The place of a block in the data, and its checksum.
    pub(super) fn block(&self, index: u64) -> Result<(Range<u64>, u64)> {
        self.find_block(index).ok_or_else(|| {
            let at = index.saturating_mul(BLOCK_BYTES).saturating_add(self.sections.blocks.offset);
            self.damage(at, "a block is not where it can be")
        })
    }

    fn find_block(&self, index: u64) -> Option<(Range<u64>, u64)> {
        let [start, sum] = self.entry(self.sections.blocks, index)?;
        let next = index.checked_add(1)?;
        let end = if next < self.stat.blocks {
            let [end, _] = self.entry(self.sections.blocks, next)?;
            end
        } else {
            self.stat.data_bytes
        };
        let begins = index > 0 || start == 0;
        (begins && start < end && end <= self.stat.data_bytes).then_some((start..end, sum))
    }

    /// The place of the bounds of a block in the section of bounds.
    pub(super) fn place(&self, index: u64) -> Option<u64> {
        self.entry(self.sections.places, index).map(|[place]| place)
    }

    /// The first and the last key of a block, cut to
    /// [`BOUND_BYTES`](super::digest::BOUND_BYTES).
    pub(super) fn bounds_of(&self, index: u64) -> Result<[&[u8]; 2]> {
        self.find_bounds(index).ok_or_else(|| {
            let at = index.saturating_mul(PLACE_BYTES).saturating_add(self.sections.places.offset);
            self.damage(at, "the keys of a block are not where they can be")
        })
    }

    /// The damage of a block whose filter would hide a row.
    pub(super) fn filter_lacks_key(&self, block: u64) -> Error {
        let group = block.checked_div(self.stat.group_blocks).unwrap_or(0);
        let at = self.entry(self.sections.groups, group).map_or(0, |[offset, ..]: [u64; 4]| offset);
        let at = at.saturating_add(self.sections.filters.offset);
        self.damage(at, "the filters of a group lack a key of its blocks")
    }

    /// The damage of a block whose rows are not in the order that the index says.
    pub(super) fn wrong_bounds(&self, block: u64) -> Error {
        let at = self.place(block).unwrap_or(0).saturating_add(self.sections.bounds.offset);
        self.damage(at, "the first and last key of a block are not those of its rows")
    }

    fn find_bounds(&self, index: u64) -> Option<[&[u8]; 2]> {
        let rest = self.bounds().get(usize::try_from(self.place(index)?).ok()?..)?;
        let (&[first, last], rest) = rest.split_first_chunk()?;
        let (first, rest) = rest.split_at_checked(first.into())?;
        Some([first, rest.get(..last.into())?])
    }
}

fn damaged(path: &Path) -> impl Fn(Damage) -> Error {
    let input = path.display().to_string();
    move |Damage { offset, what }| Error::DamagedIndex { input: input.clone(), offset, what }
}
