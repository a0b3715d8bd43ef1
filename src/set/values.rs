//! The values of an [`IntegerSet`], in order.

use super::integer_set::{Inner, IntegerSet};
use super::roaring64::Roaring64;
use crate::bits::SetFile;
use crate::error::{Error, Result};
use crate::view::{Cursor, Damage, SetView};
use roaring::{RoaringBitmap, bitmap, treemap};
use std::iter::FusedIterator;
use std::ops::RangeInclusive;

/// Values of an [`IntegerSet`], ascending; an error, of a damaged file, is the
/// last item. O(1) amortized a value: many are decoded at a time.
#[derive(Debug)]
pub struct SetValues<'a> {
    source: Source<'a>,
    /// Values decoded together, less `base`; those from `next` to before `end`
    /// are left.
    block: Vec<u32>,
    next: usize,
    end: usize,
    base: u64,
}

enum Source<'a> {
    /// Values below the last field are not wanted.
    View(Cursor<'a>, Option<&'a SetFile>, u64),
    /// From the start; what follows the bucket that is being read.
    Buckets(treemap::BitmapIter<'a>, Bucket<'a>),
    /// From a value on; with the value that belongs to the next block.
    Rest(Box<dyn Iterator<Item = u64> + Send + Sync + 'a>, Option<u64>),
    Done,
}

/// A 32-bit bitmap that is being read.
enum Bucket<'a> {
    /// Without runs.
    Plain(bitmap::Iter<'a>),
    /// With runs, and what is left of one. `Iter::next_many` of roaring 0.12
    /// leaves out a run of 2^16 values.
    Runs(bitmap::Iter<'a>, RangeInclusive<u32>),
}

impl<'a> Bucket<'a> {
    fn new(bitmap: &'a RoaringBitmap) -> Self {
        if bitmap.statistics().n_run_containers == 0 {
            Self::Plain(bitmap.iter())
        } else {
            Self::Runs(bitmap.iter(), RangeInclusive::new(1, 0))
        }
    }

    /// Writes the next values to `block`; gives how many.
    fn next_many(&mut self, block: &mut [u32]) -> usize {
        match self {
            Self::Plain(values) => values.next_many(block).len(),
            Self::Runs(values, run) => {
                let mut count = 0;
                while count < block.len() {
                    if run.is_empty() {
                        let Some(next) = values.next_range() else { break };
                        *run = next;
                    }
                    let (first, last) = (*run.start(), *run.end());
                    let slots = &mut block[count..];
                    let room = u32::try_from(slots.len() - 1).unwrap_or(u32::MAX);
                    let end = first + room.min(last - first);
                    for (slot, value) in slots.iter_mut().zip(first..=end) {
                        *slot = value;
                    }
                    count += (end - first) as usize + 1;
                    *run = if end < last { end + 1..=last } else { RangeInclusive::new(1, 0) };
                }
                count
            }
        }
    }
}

impl std::fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::View(..) => "View",
            Self::Buckets(..) => "Buckets",
            Self::Rest(..) => "Rest",
            Self::Done => "Done",
        })
    }
}

/// Values that are taken from a roaring bitmap at once: 4 KiB of them.
const BLOCK_VALUES: usize = 1 << 10;

impl<'a> SetValues<'a> {
    fn new(source: Source<'a>) -> Self {
        Self { source, block: Vec::new(), next: 0, end: 0, base: 0 }
    }

    pub(super) fn of_view(view: SetView<'a>, file: Option<&'a SetFile>, from: u64) -> Self {
        let mut cursor = view.cursor();
        cursor.seek(from >> 16);
        Self::new(Source::View(cursor, file, from))
    }

    pub(super) fn of_roaring(set: &'a Roaring64, from: u64) -> Self {
        if from == 0 {
            return Self::new(Source::Buckets(set.high.bitmaps(), Bucket::new(&set.low)));
        }
        let mut values = set.values_from(from);
        let ahead = values.next();
        Self::new(Source::Rest(Box::new(values), ahead))
    }

    /// Decodes the next values; tells whether the set may have more.
    #[cold]
    #[inline(never)]
    fn refill(&mut self) -> Result<bool> {
        (self.next, self.end) = (0, 0);
        match &mut self.source {
            Source::View(cursor, file, from) => {
                let damaged = |damage: Damage| match file {
                    Some(file) => file.damaged()(damage),
                    None => super::readable::in_memory(damage),
                };
                let Some((key, container)) = cursor.next_sound().map_err(damaged)? else {
                    return Ok(false);
                };
                self.base = key << 16;
                self.end = container.positions(0, &mut self.block);
                if let Some(unwanted) = from.checked_sub(self.base) {
                    let lows = &self.block[..self.end];
                    self.next = lows.partition_point(|&low| u64::from(low) < unwanted);
                }
                Ok(true)
            }
            Source::Buckets(bitmaps, current) => {
                self.block.resize(BLOCK_VALUES, 0);
                self.end = current.next_many(&mut self.block);
                if self.end > 0 {
                    return Ok(true);
                }
                let Some((high, bitmap)) = bitmaps.next() else { return Ok(false) };
                self.base = u64::from(high) << 32;
                *current = Bucket::new(bitmap);
                Ok(true)
            }
            Source::Rest(values, ahead) => {
                let Some(first) = ahead.take() else { return Ok(false) };
                self.base = first & !u64::from(u32::MAX);
                self.block.clear();
                let mut value = Some(first);
                while let Some(inside) = value
                    && let Ok(low) = u32::try_from(inside.wrapping_sub(self.base))
                    && self.block.len() < BLOCK_VALUES
                {
                    self.block.push(low);
                    value = values.next();
                }
                *ahead = value;
                self.end = self.block.len();
                Ok(true)
            }
            Source::Done => Ok(false),
        }
    }

    /// Decodes until there are values; gives the error, or `None` at the end.
    fn more(&mut self) -> Option<Result<(), Error>> {
        loop {
            match self.refill() {
                Ok(true) if self.next == self.end => {}
                Ok(true) => return Some(Ok(())),
                Ok(false) => return None,
                Err(error) => {
                    self.source = Source::Done;
                    return Some(Err(error));
                }
            }
        }
    }
}

impl Iterator for SetValues<'_> {
    type Item = Result<u64>;

    #[inline]
    fn next(&mut self) -> Option<Result<u64>> {
        if self.next == self.end
            && let Err(error) = self.more()?
        {
            return Some(Err(error));
        }
        let low = self.block[self.next];
        self.next += 1;
        Some(Ok(self.base + u64::from(low)))
    }

    fn fold<B, F: FnMut(B, Self::Item) -> B>(mut self, init: B, mut visit: F) -> B {
        let mut state = init;
        loop {
            for &low in &self.block[self.next..self.end] {
                state = visit(state, Ok(self.base + u64::from(low)));
            }
            self.next = self.end;
            match self.more() {
                Some(Ok(())) => {}
                Some(Err(error)) => return visit(state, Err(error)),
                None => return state,
            }
        }
    }
}

impl FusedIterator for SetValues<'_> {}

impl IntegerSet {
    /// The values, ascending.
    #[must_use]
    pub fn iter(&self) -> SetValues<'_> {
        self.iter_from(0)
    }

    /// The values from `from` on, ascending.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitsort::set::IntegerSet;
    /// let set = IntegerSet::from_iter([3, 40, 1 << 40]);
    /// assert_eq!(set.iter_from(4).collect::<Result<Vec<_>, _>>()?, [40, 1 << 40]);
    /// # Ok::<(), bitsort::Error>(())
    /// ```
    #[must_use]
    pub fn iter_from(&self, from: u64) -> SetValues<'_> {
        match &self.0 {
            Inner::Dense(bitmap, base) => {
                let words = bytemuck::cast_slice(bitmap.as_words());
                SetValues::of_view(SetView::dense(words, *base), None, from)
            }
            Inner::Roaring(set) => SetValues::of_roaring(set, from),
            Inner::File(file) => SetValues::of_view(file.view(), Some(file), from),
        }
    }
}

impl<'a> IntoIterator for &'a IntegerSet {
    type Item = Result<u64>;
    type IntoIter = SetValues<'a>;

    fn into_iter(self) -> SetValues<'a> {
        self.iter()
    }
}
