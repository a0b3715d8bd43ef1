//! The values of an [`IntegerSet`], in order.

use super::integer_set::{Inner, IntegerSet};
use crate::bits::SetFile;
use crate::error::{Error, Result};
use crate::view::{Cursor, Damage, SetView};
use roaring::{RoaringTreemap, bitmap, treemap};
use std::iter::FusedIterator;

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
    /// From the start.
    Buckets(treemap::BitmapIter<'a>, Option<bitmap::Iter<'a>>),
    /// From a value on; with the value that belongs to the next block.
    Rest(treemap::Iter<'a>, Option<u64>),
    Done,
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

    pub(super) fn of_roaring(set: &'a RoaringTreemap, from: u64) -> Self {
        if from == 0 {
            return Self::new(Source::Buckets(set.bitmaps(), None));
        }
        let mut values = set.iter();
        values.advance_to(from);
        let ahead = values.next();
        Self::new(Source::Rest(values, ahead))
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
                let Some((key, container)) = cursor.next().map_err(damaged)? else {
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
                if let Some(values) = current {
                    self.end = values.next_many(&mut self.block).len();
                    if self.end > 0 {
                        return Ok(true);
                    }
                }
                let Some((high, bitmap)) = bitmaps.next() else { return Ok(false) };
                self.base = u64::from(high) << 32;
                *current = Some(bitmap.iter());
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
