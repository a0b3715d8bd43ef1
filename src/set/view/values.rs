//! The values of a set, in order, from either end.

use super::by_part::ByPart;
use super::by_rank::ByRank;
use super::search::ends_of;
use super::{Cursor, Damage, SetView, Shape};
use crate::set::container::{Container, join, split};
use crate::set::containers::{Containers, Slot};
use std::fmt;
use std::iter::FusedIterator;
use std::ops::RangeBounds;

/// Iterates over the values of a set in ascending order, or from the end in descending order. O(1)
/// amortized for each value, because a container is decoded at once.
///
/// The iterator ends with the first error.
#[derive(Clone)]
pub struct Values<'a>(Kind<'a>);

impl fmt::Debug for Values<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Values").finish_non_exhaustive()
    }
}

#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "most values are asked for by container")]
enum Kind<'a> {
    Containers(ByContainer<'a>),
    /// The values of a set that finds them by their ranks.
    Ranks(Box<ByRank<'a>>),
    /// The values of the parts of a folder.
    Parts(ByPart<'a>),
}

/// Values of one container after the other.
#[derive(Debug, Clone)]
struct ByContainer<'a> {
    view: SetView<'a>,
    cursor: Cursor<'a>,
    /// The smallest and the largest wanted value.
    first: u64,
    last: u64,
    front: Decoded,
    back: Decoded,
    /// The place of the back's container in a set in memory.
    place: Option<Slot>,
    ended: bool,
    /// The first wanted value of the front's container, if only that was looked up and given.
    given: Option<u64>,
    /// Whether the front has given a value.
    has_given: bool,
    /// Whether the back was asked for a value.
    has_last: bool,
}

/// Decoded values of a container, or of neighbouring ones. Those from `next` up to `end` are still to
/// come.
#[derive(Debug, Clone, Default)]
struct Decoded {
    base: u64,
    /// The key of the last container.
    last_key: u64,
    lows: Vec<u32>,
    next: usize,
    end: usize,
    /// Whether a container was decoded.
    is_some: bool,
}

impl Decoded {
    /// Decodes the values from `first` to `last` of a container.
    fn fill(&mut self, key: u64, container: Container<'_>, first: u64, last: u64) {
        (self.base, self.last_key, self.is_some, self.next) = (key << 16, key, true, 0);
        self.end = container.positions(0, &mut self.lows);
        self.begin_at(first);
        self.end_at(last);
    }

    /// Drops the values below `first`.
    fn begin_at(&mut self, first: u64) {
        if self.base < first {
            let lows = &self.lows[..self.end];
            self.next = lows.partition_point(|&low| self.base + u64::from(low) < first);
        }
    }

    /// Drops the values above `last`.
    fn end_at(&mut self, last: u64) {
        if last >> 16 <= self.last_key {
            let lows = &self.lows[..self.end];
            self.end = lows.partition_point(|&low| self.base + u64::from(low) <= last);
        }
    }

    /// Decodes the values up to `last` of the next containers too, with keys up to `most`, if they
    /// have few values: one by one, containers would cost more than their values.
    fn fill_up(&mut self, cursor: &mut Cursor<'_>, most: u64, last: u64) {
        let keys = (self.base >> 16, most);
        if let Some(key) = cursor.append_few(keys, &mut self.lows, &mut self.end) {
            self.last_key = key;
            self.end_at(last);
        }
    }

    /// Decodes the values of the container at `place` and of those before it, if they have few values
    /// and keys in `keys`. Keeps the values in `range`; gives the place of the first one.
    fn fill_down(
        &mut self,
        containers: &Containers,
        place: Slot,
        keys: (u64, u64),
        range: (u64, u64),
    ) -> Option<Slot> {
        let (least, key) = keys;
        let start = containers.few_before(place, least)?;
        let (base, _) = containers.get(start)?;
        let (mut slot, mut end) = (start, 0);
        containers.append_few(&mut slot, (base, key), &mut self.lows, &mut end)?;
        (self.base, self.last_key, self.is_some, self.next) = (base << 16, key, true, 0);
        self.end = end;
        self.begin_at(range.0);
        self.end_at(range.1);
        Some(start)
    }

    fn has(&self, key: u64) -> bool {
        self.is_some && (self.base >> 16..=self.last_key).contains(&key)
    }

    #[inline]
    fn pop(&mut self) -> Option<u64> {
        (self.next < self.end).then(|| {
            self.end -= 1;
            self.base + u64::from(self.lows[self.end])
        })
    }
}

impl<'a> SetView<'a> {
    /// The values, ascending.
    #[must_use]
    pub fn iter(self) -> Values<'a> {
        self.range(..)
    }

    /// The values in a range, ascending. O(log containers) for the first.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::set::IntegerSet;
    ///
    /// let set = IntegerSet::from([3, 40, 1 << 40]);
    /// let found: Result<Vec<u64>, _> = set.view().range(4..).rev().collect();
    /// assert_eq!(found?, [1 << 40, 40]);
    /// # Ok::<(), bitsort::set::Damage>(())
    /// ```
    #[must_use]
    pub fn range(self, range: impl RangeBounds<u64>) -> Values<'a> {
        let ends = ends_of(&range);
        let (first, last) = ends.unwrap_or_default();
        if let Some(ranked) = self.ranked() {
            return Values(Kind::Ranks(Box::new(ByRank::new(ranked, ends))));
        }
        if let Shape::Folder(folder) = self.0 {
            return Values(Kind::Parts(ByPart::new(folder, ends)));
        }
        let mut cursor = self.cursor();
        // Only a set without containers can fail here.
        let ended = ends.is_none() || cursor.seek(first >> 16).is_err();
        let (front, back) = (Decoded::default(), Decoded::default());
        Values(Kind::Containers(ByContainer {
            view: self,
            cursor,
            first,
            last,
            front,
            back,
            place: None,
            ended,
            given: None,
            has_given: false,
            has_last: false,
        }))
    }
}

impl<'a> IntoIterator for SetView<'a> {
    type Item = Result<u64, Damage>;
    type IntoIter = Values<'a>;

    fn into_iter(self) -> Values<'a> {
        self.iter()
    }
}

impl ByContainer<'_> {
    /// Decodes the next container at the front; gives whether there was one.
    fn refill(&mut self) -> Result<bool, Damage> {
        if self.ended {
            return Ok(false);
        }
        if self.given.is_some() {
            self.complete();
            return Ok(true);
        }
        // The back has the rest of the containers.
        let Some(most) = self.last_key() else { return Ok(false) };
        let found = self.cursor.next_sound()?.filter(|&(key, _)| key <= most);
        let Some((key, container)) = found else { return Ok(false) };
        // Many callers want only the first value of a range, which may be in the second container.
        // So its container is decoded when more of its values are wanted.
        if !self.has_given {
            let low = split(self.first.max(key << 16)).1;
            let value = container.next(low).map(|low| join(key, low));
            self.given = value.filter(|&value| value <= self.last);
            self.has_given = self.given.is_some();
            (self.front.base, self.front.last_key, self.front.is_some) = (key << 16, key, true);
            return Ok(true);
        }
        let goes_on = self.front.is_some && self.front.last_key << 16 >= self.first;
        self.front.fill(key, container, self.first, self.last);
        if goes_on {
            self.front.fill_up(&mut self.cursor, most, self.last);
        }
        Ok(true)
    }

    /// The largest key of the containers that the back has not decoded; none if it has decoded all.
    fn last_key(&self) -> Option<u64> {
        let last = self.last >> 16;
        if !self.back.is_some {
            return Some(last);
        }
        (self.back.base >> 16).checked_sub(1).map(|key| key.min(last))
    }

    /// Decodes the other values of the front's container.
    fn complete(&mut self) {
        if let Some(first) = self.given.take().and_then(|given| given.checked_add(1)) {
            self.front.fill(self.front.last_key, self.cursor.here(), first, self.last);
        }
    }

    /// Makes sure that the front has a value, if one is left; the last ones come from the back. Or
    /// gives the next value itself.
    #[cold]
    #[inline(never)]
    fn more(&mut self) -> Option<Result<Option<u64>, Damage>> {
        while self.front.next == self.front.end {
            match self.refill() {
                Ok(true) if self.given.is_some() => return Some(Ok(self.given)),
                Ok(true) => {}
                Ok(false) => {
                    self.ended = true;
                    self.front = std::mem::take(&mut self.back);
                    return (self.front.next < self.front.end).then_some(Ok(None));
                }
                Err(damage) => {
                    (self.ended, self.back) = (true, Decoded::default());
                    return Some(Err(damage));
                }
            }
        }
        Some(Ok(None))
    }

    /// Decodes the next container at the back; gives whether there was one.
    fn refill_back(&mut self) -> Result<bool, Damage> {
        let key = if self.ended { None } else { self.last_key() };
        let mut place = None;
        let found = match (self.view.0, key) {
            (_, None) => None,
            // The place before the last one needs no search.
            (Shape::Memory(containers), Some(key)) => {
                place = match self.place {
                    Some(place) => containers.before(place),
                    None => containers.place_up_to(key),
                };
                place.and_then(|place| containers.get(place))
            }
            (_, Some(key)) => self.view.last_up_to(key)?,
        };
        if let Some((key, container)) = found
            && !self.view.is_sound()
            && let Some(what) = container.disorder()
        {
            // A cursor also knows the place of the container.
            let mut cursor = self.view.cursor();
            cursor.seek(key)?;
            return Err(cursor.next_sound().err().unwrap_or(Damage::of(what)));
        }
        match found {
            Some((key, container)) if key >= self.first >> 16 && !self.front.has(key) => {
                self.place = place;
                // The front has all values up to those of its last container.
                let front = if self.front.is_some { self.front.last_key + 1 } else { 0 };
                let keys = (front.max(self.first >> 16), key);
                let many = match (self.view.0, place.filter(|_| self.back.is_some)) {
                    (Shape::Memory(containers), Some(place)) => {
                        self.back.fill_down(containers, place, keys, (self.first, self.last))
                    }
                    _ => None,
                };
                match many {
                    Some(place) => self.place = Some(place),
                    None => self.back.fill(key, container, self.first, self.last),
                }
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}

impl ByContainer<'_> {
    /// A range whose values are exactly those that are left; none if none are left.
    fn bounds(&self) -> Option<(u64, u64)> {
        let (front, back) = (&self.front, &self.back);
        let value = |of: &Decoded, index: usize| of.base + u64::from(of.lows[index]);
        let first = match () {
            () if front.next < front.end => value(front, front.next),
            () if self.ended => return None,
            () if self.given.is_some() => self.given?.checked_add(1)?,
            () if front.is_some => (front.last_key << 16 | 0xFFFF).checked_add(1)?,
            () => self.first,
        };
        let last = match () {
            () if self.ended => value(front, front.end - 1),
            () if back.next < back.end => value(back, back.end - 1),
            () if back.is_some => self.last.min(back.base.checked_sub(1)?),
            () => self.last,
        };
        (first <= last).then_some((first, last))
    }

    #[inline]
    fn next(&mut self) -> Option<Result<u64, Damage>> {
        if self.front.next == self.front.end
            && let Some(found) = self.more()?.transpose()
        {
            return Some(found);
        }
        let low = self.front.lows[self.front.next];
        self.front.next += 1;
        Some(Ok(self.front.base + u64::from(low)))
    }

    /// Faster than `next`: the state of a container stays in registers.
    fn fold<B>(mut self, init: B, mut visit: impl FnMut(B, Result<u64, Damage>) -> B) -> B {
        let mut state = init;
        loop {
            for &low in &self.front.lows[self.front.next..self.front.end] {
                state = visit(state, Ok(self.front.base + u64::from(low)));
            }
            self.front.next = self.front.end;
            match self.more() {
                Some(Ok(None)) => {}
                Some(Ok(Some(value))) => state = visit(state, Ok(value)),
                Some(Err(damage)) => return visit(state, Err(damage)),
                None => return state,
            }
        }
    }

    /// The last wanted value. Many callers want only that: nothing is decoded for it. None if the
    /// front has begun, or the containers must be checked first.
    fn last_value(&mut self) -> Option<u64> {
        let is_untouched = !self.front.is_some && !self.back.is_some && !self.ended;
        if !is_untouched || !self.view.is_sound() {
            return None;
        }
        let found = self.view.previous(self.last).ok()?.filter(|&value| value >= self.first);
        match found.and_then(|value| value.checked_sub(1)) {
            Some(below) if below >= self.first => self.last = below,
            _ => self.ended = true,
        }
        found
    }

    #[inline]
    fn next_back(&mut self) -> Option<Result<u64, Damage>> {
        match self.back.pop() {
            Some(value) => Some(Ok(value)),
            None => self.more_back(),
        }
    }

    /// The next value at the back, which has none that is decoded.
    #[cold]
    #[inline(never)]
    fn more_back(&mut self) -> Option<Result<u64, Damage>> {
        if !self.has_last {
            self.has_last = true;
            if let Some(value) = self.last_value() {
                return Some(Ok(value));
            }
        }
        loop {
            match self.refill_back() {
                Ok(true) => {
                    if let Some(value) = self.back.pop() {
                        return Some(Ok(value));
                    }
                }
                Ok(false) => {
                    self.complete();
                    let value = self.front.pop()?;
                    // For `bounds`. This stays in the front's container, as the front took its first value.
                    self.last = value.saturating_sub(1);
                    return Some(Ok(value));
                }
                Err(damage) => {
                    (self.ended, self.front, self.given) = (true, Decoded::default(), None);
                    return Some(Err(damage));
                }
            }
        }
    }
}

impl Values<'_> {
    /// Of a set in memory, a range whose values are exactly those that are left; none if none are
    /// left. Never of another set.
    pub(in crate::set) fn bounds(&self) -> Option<(u64, u64)> {
        match &self.0 {
            Kind::Containers(values) => values.bounds(),
            Kind::Ranks(_) | Kind::Parts(_) => None,
        }
    }
}

impl Iterator for Values<'_> {
    type Item = Result<u64, Damage>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Kind::Containers(values) => values.next(),
            Kind::Ranks(values) => values.next(),
            Kind::Parts(values) => values.next(),
        }
    }

    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, init: B, visit: F) -> B {
        match self.0 {
            Kind::Containers(values) => values.fold(init, visit),
            Kind::Ranks(values) => values.fold(init, visit),
            Kind::Parts(values) => values.fold(init, visit),
        }
    }
}

impl DoubleEndedIterator for Values<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Kind::Containers(values) => values.next_back(),
            Kind::Ranks(values) => values.next_back(),
            Kind::Parts(values) => values.next_back(),
        }
    }
}

impl FusedIterator for Values<'_> {}
