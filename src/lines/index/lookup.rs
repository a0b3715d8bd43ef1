//! Finds the lines of a key.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::data::Data;
use super::digest::BOUND_BYTES;
use super::file::{Group, IndexFile};
use super::header::Stat;
use super::key::{KeyRule, Matcher};
use super::rows::{self, rows, rows_with};
use crate::bloom::Scheme;
use crate::bloom::sliced::members;
use crate::error::{DataChange, Error, Result};
use crate::kernel::in_usize;
use crate::progress::{Phase, Progress};
use memchr::memmem::Finder;
use std::borrow::Cow;
use std::ops::{AddAssign, Range};
use std::path::Path;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Smaller indexes are verified as a whole when they are opened, which takes a tenth of a
/// millisecond.
const CHECKED_BYTES: u64 = 1 << 20;
/// Blocks that are compared with their checksums when an index is opened.
const SAMPLES: u64 = 8;

/// A file of keys and its index.
#[derive(Debug)]
pub struct BlockIndex {
    index: IndexFile,
    data: Data,
}

/// The lines of a key, and the work that it took to find them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found<'i> {
    /// The lines as they are in the file, in its order, with their line ends.
    pub lines: Vec<&'i [u8]>,
    /// The work that it took.
    pub report: LookupReport,
}

/// The work of a lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct LookupReport {
    /// Blocks of the file.
    pub blocks: u64,
    /// Blocks that were not read.
    pub skipped: u64,
    /// Number of these blocks that were not even asked for, because the file is sorted.
    pub out_of_order: u64,
    /// Blocks that were read. A block that was read once for several keys counts for each of them.
    pub read_blocks: u64,
    /// Bytes of these blocks.
    pub read_bytes: u64,
    /// Number of blocks that were read and do not have the key.
    pub false_positives: u64,
    /// Lines that have the key.
    pub lines: u64,
}

impl AddAssign for LookupReport {
    fn add_assign(&mut self, other: Self) {
        let add = |sum: &mut u64, part: u64| *sum = sum.saturating_add(part);
        add(&mut self.blocks, other.blocks);
        add(&mut self.skipped, other.skipped);
        add(&mut self.out_of_order, other.out_of_order);
        add(&mut self.read_blocks, other.read_blocks);
        add(&mut self.read_bytes, other.read_bytes);
        add(&mut self.false_positives, other.false_positives);
        add(&mut self.lines, other.lines);
    }
}

impl LookupReport {
    /// Counts a block that was read for the key, and whether it has it.
    pub(super) fn add_block(&mut self, block: &[u8], has_key: bool) {
        self.skipped = self.skipped.saturating_sub(1);
        self.read_blocks = self.read_blocks.saturating_add(1);
        self.read_bytes = self.read_bytes.saturating_add(block.len() as u64);
        self.false_positives = self.false_positives.saturating_add((!has_key).into());
    }
}

/// A key that is looked for in blocks.
pub(super) struct Wanted<'k> {
    key: &'k [u8],
    matcher: Matcher<'k>,
    /// Finds the rows of a block that hold the longest plain part of the key.
    held: Finder<'k>,
}

impl<'k> Wanted<'k> {
    pub(super) fn new(rule: &'k KeyRule, key: &'k [u8]) -> Self {
        let matcher = Matcher::new(rule, key);
        let held = Finder::new(matcher.held_bytes()).into_owned();
        Self { key, matcher, held }
    }
}

impl BlockIndex {
    /// Opens a file and its index. The [module](super) says how it notices that they do not belong
    /// together. The cost does not depend on the size, with one exception: a file that is not older
    /// than its index is read as a whole.
    ///
    /// The files must not be shortened in place while they are open: the kernel ends processes that
    /// read bytes which the file no longer has, unless they called
    /// [`guard_mapped_files`](crate::guard_mapped_files). A lookup checks the length before it reads.
    ///
    /// # Errors
    ///
    /// If one of them cannot be read, if the index contradicts itself, or if the index was made of
    /// other data.
    pub fn open(data: impl AsRef<Path>, index: impl AsRef<Path>) -> Result<Self> {
        let opened = Self::open_grown(data.as_ref(), index.as_ref())?;
        match opened.appended_bytes() {
            0 => Ok(opened),
            bytes => Err(opened.outdated(DataChange::Longer(bytes))),
        }
    }

    /// The same for a file to which rows were appended.
    pub(super) fn open_grown(data: &Path, index: &Path) -> Result<Self> {
        let opened = Self { index: IndexFile::open(index)?, data: Data::open(data)? };
        let (len, indexed) = (opened.data.bytes().len() as u64, opened.index.stat.data_bytes);
        if let Some(missing) = indexed.checked_sub(len).filter(|missing| *missing > 0) {
            return Err(opened.outdated(DataChange::Shorter(missing)));
        }
        if opened.index.stat().index_bytes <= CHECKED_BYTES {
            opened.index.verify()?;
        }
        opened.check_samples()?;
        // Some file systems know whole seconds only.
        if opened.data.modified()? >= opened.index.modified()? {
            opened.check_blocks(&Progress::default())?;
        }
        Ok(opened)
    }

    pub(super) fn appended_bytes(&self) -> u64 {
        (self.data.bytes().len() as u64).saturating_sub(self.index.stat.data_bytes)
    }

    pub(super) fn index(&self) -> &IndexFile {
        &self.index
    }

    pub(super) fn data(&self) -> &Data {
        &self.data
    }

    fn outdated(&self, change: DataChange) -> Error {
        let name = |path: &Path| path.display().to_string();
        Error::Outdated { data: name(self.data.path()), index: name(self.index.path()), change }
    }

    /// Compares some blocks with their checksums, among them the first and the last one. It leaves
    /// out lines longer than a block, because they may be very long.
    fn check_samples(&self) -> Result<()> {
        let facts = &self.index.stat;
        let Some(last) = facts.blocks.checked_sub(1) else { return Ok(()) };
        let steps = SAMPLES.saturating_sub(1).min(last).max(1);
        let mut before = None;
        for step in 0..=steps {
            let wide = u128::from(last).saturating_mul(step.into());
            let index = u64::try_from(wide.checked_div(steps.into()).unwrap_or(0)).unwrap_or(last);
            let (range, _) = self.index.block(index)?;
            let short = range.end.saturating_sub(range.start) <= facts.block_bytes;
            if short && before.replace(index) != Some(index) {
                self.block(index)?;
            }
        }
        Ok(())
    }

    /// The bytes of a block. Fails if they have changed.
    pub(super) fn block(&self, index: u64) -> Result<&[u8]> {
        let (range, sum) = self.index.block(index)?;
        let changed = || self.outdated(DataChange::Other(range.start));
        let place = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
        let bytes = place.and_then(|(start, end)| self.data.bytes().get(start..end));
        bytes.filter(|bytes| xxh3_64(bytes) == sum).ok_or_else(changed)
    }

    /// Facts about the index and its data.
    #[must_use]
    pub fn stat(&self) -> Stat {
        self.index.stat()
    }

    /// Reads the whole index and the whole file, compares both with their checksums, and asks for the
    /// key of each row: a lookup would read its block. O(bytes).
    ///
    /// # Errors
    ///
    /// The first damage or change found.
    pub fn verify(&self) -> Result<()> {
        self.verify_with(&Progress::default())
    }

    /// The same with progress, which can also cancel it.
    ///
    /// # Errors
    ///
    /// As [`verify`](Self::verify); [`Error::Interrupted`] when `progress` is cancelled.
    pub fn verify_with(&self, progress: &Progress) -> Result<()> {
        self.index.verify_with(progress)?;
        self.data.check_length()?;
        self.check_keys(progress)
    }

    /// Compares all blocks with their checksums, and their keys with the filters and bounds.
    fn check_keys(&self, progress: &Progress) -> Result<()> {
        let facts = &self.index.stat;
        progress.enter(Phase::Walk, facts.blocks);
        let (mut before, mut found, mut sums) = (Cow::default(), 0, Xxh3::new());
        for number in 0..facts.groups() {
            let group = self.index.group(number)?;
            let first = number.saturating_mul(facts.group_blocks);
            let rows_before = found;
            for (inside, block) in (0..group.shape.blocks).zip(first..) {
                Error::if_cancelled(progress)?;
                progress.advance(1);
                sums.update(&self.index.block(block)?.1.to_le_bytes());
                before = self.check_rows(&group, inside, block, before, &mut found)?;
            }
            if rows_before.checked_add(group.rows) != Some(found) {
                return Err(self
                    .index
                    .damage(0, "the rows of a group are not those of its blocks"));
            }
        }
        if (found, sums.digest()) != (facts.rows, facts.data_checksum) {
            let what =
                "the rows or the checksum of the data in the header are not those of the blocks";
            return Err(self.index.damage(0, what));
        }
        self.data.check_length()?; // bytes behind a new end, in its page, read as 0 without a fault
        self.index.intact()
    }

    /// Compares a block with its checksum, and its keys with its filter in the group. If the data are
    /// sorted, also with its bounds and the key `before` it. Gives the last key then. Adds its rows to
    /// `found`.
    fn check_rows<'i>(
        &'i self,
        group: &Group<'_>,
        inside: usize,
        block: u64,
        mut before: Cow<'i, [u8]>,
        found: &mut u64,
    ) -> Result<Cow<'i, [u8]>> {
        let facts = &self.index.stat;
        let bounds = facts.is_sorted.then(|| self.index.bounds_of(block)).transpose()?;
        let among = group.shape.range(inside, inside.saturating_add(1));
        for (row, _) in rows(self.block(block)?) {
            *found = found.saturating_add(1);
            let key = facts.rule.key_of(row);
            let hash = Scheme::default().hash(&*key);
            if members(group.shape.candidates(group.filters, hash, &among)).next().is_none() {
                return Err(self.index.filter_lacks_key(block));
            }
            let Some([first, last]) = bounds else { continue };
            let cut = key.get(..BOUND_BYTES).unwrap_or(&key);
            if before > key || first > &*key || cut > last {
                return Err(self.index.wrong_bounds(block));
            }
            before = key;
        }
        Ok(before)
    }

    /// Compares all blocks with their checksums.
    fn check_blocks(&self, progress: &Progress) -> Result<()> {
        let blocks = self.index.stat.blocks;
        progress.enter(Phase::Walk, blocks);
        (0..blocks).try_for_each(|index| {
            Error::if_cancelled(progress)?;
            progress.advance(1);
            self.block(index).map(drop)
        })
    }

    /// The lines of a key. If the key is made of columns, `key` is a row with only these columns.
    ///
    /// # Errors
    ///
    /// If a block has changed, the index contradicts itself, or `key` has too
    /// many columns.
    pub fn get(&self, key: &[u8]) -> Result<Found<'_>> {
        let mut lines = Vec::new();
        let report = self.for_each_line(key, |line| {
            lines.push(line);
            Ok(())
        })?;
        Ok(Found { lines, report })
    }

    /// Calls `visit` with each line of a key, as [`get`](Self::get) finds them.
    ///
    /// # Errors
    ///
    /// The errors of `get`, and the error that `visit` gives.
    pub fn for_each_line<'i>(
        &'i self,
        key: &[u8],
        mut visit: impl FnMut(&'i [u8]) -> Result<()>,
    ) -> Result<LookupReport> {
        self.data.check_length()?;
        let facts = &self.index.stat;
        let key = facts.rule.parse(key)?;
        let wanted = Wanted::new(&facts.rule, &key);
        let asked = self.around(&key)?;
        let mut report = self.report_of(&asked);
        self.for_each_candidate(&key, asked, |index| {
            let block = self.block(index)?;
            let before = report.lines;
            self.for_each_in_block(block, &wanted, |line| {
                report.lines = report.lines.saturating_add(1);
                visit(line)
            })?;
            report.add_block(block, report.lines > before);
            Ok(())
        })?;
        self.index.intact()?;
        Ok(report)
    }

    /// The report of a lookup that has asked these blocks and read none yet.
    pub(super) fn report_of(&self, asked: &Range<u64>) -> LookupReport {
        let blocks = self.index.stat.blocks;
        let out_of_order = blocks.saturating_sub(asked.end.saturating_sub(asked.start));
        LookupReport { blocks, skipped: blocks, out_of_order, ..LookupReport::default() }
    }

    /// Calls `found` with the lines of a key in a block.
    pub(super) fn for_each_in_block<'i>(
        &self,
        block: &'i [u8],
        wanted: &Wanted<'_>,
        mut found: impl FnMut(&'i [u8]) -> Result<()>,
    ) -> Result<()> {
        let facts = &self.index.stat;
        if facts.is_sorted {
            let order = |row: &[u8]| (*facts.rule.key_of(row)).cmp(wanted.key);
            let from = rows::partition(block, order);
            let ahead = rows(block.get(from..).unwrap_or_default());
            let mut same = ahead.take_while(|(row, _)| wanted.matcher.matches(row));
            same.try_for_each(|(_, line)| found(line))
        } else {
            let mut same =
                rows_with(block, &wanted.held).filter(|(row, _)| wanted.matcher.matches(row));
            same.try_for_each(|(_, line)| found(line))
        }
    }

    /// Calls `visit` with the blocks of a range that may have a key.
    pub(super) fn for_each_candidate(
        &self,
        key: &[u8],
        asked: Range<u64>,
        mut visit: impl FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        let hash = Scheme::default().hash(key);
        let size = self.index.stat.group_blocks.max(1);
        let groups = asked.start.checked_div(size).unwrap_or(0)..asked.end.div_ceil(size);
        for number in groups {
            let group = self.index.group(number)?;
            let begin = number.saturating_mul(size);
            let inside = |block: u64| in_usize(block.saturating_sub(begin));
            let among = group.shape.range(inside(asked.start), inside(asked.end));
            for block in members(group.shape.candidates(group.filters, hash, &among)) {
                visit(begin.saturating_add(block as u64))?;
            }
        }
        Ok(())
    }

    /// The blocks that may have a key, by their first and last keys; all blocks if the file is not
    /// sorted.
    pub(super) fn around(&self, key: &[u8]) -> Result<Range<u64>> {
        let facts = &self.index.stat;
        if !facts.is_sorted {
            return Ok(0..facts.blocks);
        }
        // A last key that was cut stands for all keys that begin with it.
        let cut = key.get(..BOUND_BYTES).unwrap_or(key);
        let start = partition(0..facts.blocks, |index| {
            self.index.bounds_of(index).map(|[_, last]| last < cut)
        })?;
        let end = partition(start..facts.blocks, |index| {
            self.index.bounds_of(index).map(|[first, _]| first <= key)
        })?;
        Ok(start..end)
    }
}

/// The first number of a range that is not `before`. Numbers that are `before` come first.
fn partition(mut range: Range<u64>, before: impl Fn(u64) -> Result<bool>) -> Result<u64> {
    while range.start < range.end {
        let middle = u64::midpoint(range.start, range.end);
        if before(middle)? {
            range.start = middle.saturating_add(1);
        } else {
            range.end = middle;
        }
    }
    Ok(range.start)
}
