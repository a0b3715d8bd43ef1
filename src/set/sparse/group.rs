//! The values of a group, where they lie.
#![deny(clippy::indexing_slicing)]

use super::encoder::GroupEncoder;
use super::layout::{Entry, Layout, SAMPLE_LOG};
use crate::kernel::elias_fano::{Sequence, Wanted};
use crate::kernel::{self, Level, steps};
use crate::set::view::Damage;

/// The values of a group in borrowed bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Group<'a> {
    base: u64,
    last: u64,
    /// From the start of the payload.
    offset: u64,
    layout: Layout,
    sequence: Sequence<'a>,
    samples: &'a [[u8; 2]],
}

impl<'a> Group<'a> {
    /// The group of `count` values that `entry` says lies in `payload`.
    #[inline]
    pub(crate) fn new(payload: &'a [u8], entry: Entry, count: usize) -> Result<Self, Damage> {
        let Entry { base, last, offset, low_bits } = entry;
        let damage = Damage { offset, what: "the table of groups points to no group" };
        let layout = Layout::of(count, last.checked_sub(base).ok_or(damage)?);
        if u64::from(layout.low_bits) != low_bits || count == 0 {
            return Err(damage);
        }
        let start = usize::try_from(offset).ok();
        let lows = start.and_then(|start| payload.get(start..)?.get(..layout.bytes()));
        let lows = lows.ok_or(damage)?;
        let (uppers, samples) = lows
            .get(layout.low_bytes()..)
            .and_then(|rest| rest.split_at_checked(layout.upper_bytes()))
            .ok_or(damage)?;
        let samples = samples.as_chunks().0.get(..layout.samples()).ok_or(damage)?;
        let sequence = Sequence { lows, uppers: uppers.as_chunks().0, low_bits: layout.low_bits };
        Ok(Self { base, last, offset, layout, sequence, samples })
    }

    fn damage(self, what: &'static str) -> Damage {
        Damage { offset: self.offset, what }
    }

    fn misplaced(self) -> Damage {
        self.damage("the high parts of a group are not those that its table says")
    }

    /// Number of values.
    #[inline]
    pub(crate) fn len(self) -> usize {
        self.layout.count
    }

    /// The high part of `value`, which is from the smallest to the largest.
    #[inline]
    fn high(self, value: u64) -> usize {
        #[expect(clippy::cast_possible_truncation, reason = "at most the last high part")]
        let high = ((value - self.base) >> self.layout.low_bits) as usize;
        high
    }

    /// Number of values whose high parts are below `sample << SAMPLE_LOG`.
    #[inline]
    fn sample(self, sample: usize) -> usize {
        let before = sample.checked_sub(1).and_then(|index| self.samples.get(index));
        before.map_or(0, |&before| usize::from(u16::from_le_bytes(before)))
    }

    /// Asks for the sample by which `value`, from the smallest to the largest, is found.
    #[inline]
    pub(crate) fn prefetch_sample(self, value: u64) {
        kernel::prefetch(self.samples, (self.high(value) >> SAMPLE_LOG).saturating_sub(1));
    }

    /// Asks for the bits by which `value` is found; about: they may go on in the next line.
    #[inline]
    pub(crate) fn prefetch_upper(self, value: u64) {
        let high = self.high(value);
        kernel::prefetch(self.sequence.uppers, (self.sample(high >> SAMPLE_LOG) + high) >> 6);
        self.prefetch_low(high);
    }

    /// Prefetches the bits where `value` would be if the values were evenly spaced. This runs while
    /// the sample is loading, so that a lookup waits twice for memory, and not three times.
    #[inline]
    pub(crate) fn prefetch_about(self, value: u64) {
        let high = self.high(value);
        let about = high * self.layout.count / (self.layout.last_high + 1);
        kernel::prefetch(self.sequence.uppers, (high + about) >> 6);
        self.prefetch_low(high);
    }

    /// Asks for the lows of a high part, as if the values were evenly spaced from sample to
    /// sample.
    #[inline]
    fn prefetch_low(self, high: usize) {
        let (sample, rest) = (high >> SAMPLE_LOG, high & ((1 << SAMPLE_LOG) - 1));
        let (before, behind) = (self.sample(sample), self.sample(sample + 1));
        let index = before + ((behind.saturating_sub(before) * rest) >> SAMPLE_LOG);
        kernel::prefetch(self.sequence.lows, (index * self.layout.low_bits as usize) >> 3);
    }

    /// The index of `value`, or where it would be. It is from the smallest to the largest.
    #[inline]
    pub(crate) fn find(self, value: u64) -> Result<Result<usize, usize>, Damage> {
        steps::count(2);
        let high = self.high(value);
        let sample = high >> SAMPLE_LOG;
        #[expect(clippy::cast_possible_truncation, reason = "below a sample's zeros")]
        let zeros = (high & ((1 << SAMPLE_LOG) - 1)) as u32;
        let wanted = Wanted {
            place: (sample << SAMPLE_LOG) + self.sample(sample),
            zeros,
            high,
            low: (value - self.base) & !(u64::MAX << self.layout.low_bits),
            count: self.layout.count,
        };
        self.sequence.find(Level::best(), wanted).ok_or_else(|| self.misplaced())
    }

    /// The bit of value `index` in the uppers.
    fn place(self, index: usize) -> Result<usize, Damage> {
        steps::count(2);
        let mut passed = self.samples.len();
        let mut from = 0;
        while from < passed {
            let middle = from.midpoint(passed);
            if self.sample(middle + 1) <= index {
                from = middle + 1;
            } else {
                passed = middle;
            }
        }
        let before = self.sample(passed);
        let ones = index.checked_sub(before).and_then(|ones| u32::try_from(ones).ok());
        let place = ones
            .and_then(|ones| self.sequence.one((passed << SAMPLE_LOG) + before, ones))
            .filter(|place| {
                let high = place.checked_sub(index);
                high.is_some_and(|high| high <= self.layout.last_high)
            });
        place.ok_or_else(|| self.misplaced())
    }

    /// Value `index`. The group must have it.
    pub(crate) fn select(self, index: usize) -> Result<u64, Damage> {
        let value = self.sequence.number(self.base, index, self.place(index)?);
        self.check_ends(index, &[value])?;
        Ok(value)
    }

    /// Fills `out` with the values from `index` on. The group must have so many. `place` is what the
    /// call gave that decoded the values before them; without it, it is looked for.
    pub(crate) fn decode(
        self,
        index: usize,
        place: Option<usize>,
        out: &mut [u64],
    ) -> Result<usize, Damage> {
        steps::count(1 + out.len() / 8);
        let place = match place {
            _ if index == 0 => 0,
            Some(place) => place,
            None => self.place(index)?,
        };
        let decoded = self.sequence.decode(Level::best(), self.base, index, place, out);
        if decoded.found < out.len() {
            return Err(self.misplaced());
        }
        if !decoded.ascend {
            return Err(self.damage("the values of a group do not ascend"));
        }
        self.check_ends(index, out)?;
        Ok(decoded.behind)
    }

    /// Fails if the first or the last of the values from `index` on cannot be there.
    fn check_ends(self, index: usize, out: &[u64]) -> Result<(), Damage> {
        let in_range =
            |value: Option<&u64>| value.is_none_or(|value| (self.base..=self.last).contains(value));
        if !in_range(out.first()) || !in_range(out.last()) {
            return Err(self.misplaced());
        }
        let is_first = index > 0 || out.first().is_none_or(|&value| value == self.base);
        let is_end = index + out.len() == self.layout.count;
        let is_last = !is_end || out.last().is_none_or(|&value| value == self.last);
        if !(is_first && is_last) {
            return Err(self.damage("the ends of a group are not those that its table says"));
        }
        Ok(())
    }

    /// Reads all of it: it must be what a writer makes of its values.
    pub(crate) fn verify(
        self,
        values: &mut Vec<u64>,
        encoder: &mut GroupEncoder,
    ) -> Result<(), Damage> {
        values.clear();
        values.resize(self.layout.count, 0);
        self.decode(0, None, values)?;
        if encoder.encode(values).1 != self.sequence.lows {
            return Err(self.damage("a group has samples or unused bits that are wrong"));
        }
        Ok(())
    }
}
