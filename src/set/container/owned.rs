//! A container that owns its memory.

use super::{
    BitmapWords, Container, MAX_ARRAY, Op, SPAN, Scratch, ends, place_in_array, plain_bytes,
};
use crate::kernel::{Level, popcount};
use std::cmp::Ordering;

/// Most values of an array without memory of its own: as many as fit in the space of a vector.
const FEW: usize = 15;
/// Most runs without memory of their own.
pub(super) const FEW_RUNS: usize = 6;

/// The values of one container; never empty in a set.
///
/// An array has at most [`MAX_ARRAY`] values. Arrays and bitmaps change in place. Runs become one of
/// them if a single value changes; [`optimize`](Self::optimize) makes runs again. Ranges change runs
/// in place.
#[derive(Debug, Clone)]
pub(crate) enum Owned {
    Few(u8, [[u8; 2]; FEW]),
    Array(Vec<[u8; 2]>),
    /// A bitmap and its number of values.
    Bitmap(Box<BitmapWords>, u32),
    /// How many runs there are, the runs, and their number of values.
    FewRuns(u8, [[u8; 4]; FEW_RUNS], u32),
    /// Runs and their number of values.
    Runs(Vec<[u8; 4]>, u32),
}

const _: () = assert!(size_of::<Owned>() <= 32, "the few fit in the room of a vector and a count");

#[expect(clippy::cast_possible_truncation, reason = "at most 2^16")]
pub(super) fn ones(words: &BitmapWords) -> u32 {
    popcount::ones(Level::best(), words) as u32
}

impl Owned {
    /// A copy of `container`. Runs stay runs if that is the smallest form; else the number of
    /// values decides between array and bitmap.
    pub(crate) fn copy(container: Container<'_>, scratch: &mut Scratch) -> Self {
        match container {
            Container::Array(values) if values.len() <= MAX_ARRAY => Self::array(values),
            Container::Runs(runs) if 2 + 4 * runs.len() <= plain_bytes(container.len()) => {
                Self::runs(runs, container.len())
            }
            other => Self::plain(other, other.len(), scratch),
        }
    }

    /// A copy of `container` in its smallest form.
    pub(crate) fn smallest(container: Container<'_>, scratch: &mut Scratch) -> Self {
        let len = container.len();
        let plain = plain_bytes(len);
        if 2 + 4 * container.runs_up_to(plain / 4) < plain
            && let Container::Runs(runs) = scratch.runs_of(container)
        {
            return Self::runs(runs, len);
        }
        Self::plain(container, len, scratch)
    }

    pub(super) fn array(values: &[[u8; 2]]) -> Self {
        if values.len() > FEW {
            return Self::Array(values.to_vec());
        }
        let mut few = [[0; 2]; FEW];
        few[..values.len()].copy_from_slice(values);
        #[expect(clippy::cast_possible_truncation, reason = "at most FEW")]
        Self::Few(values.len() as u8, few)
    }

    pub(super) fn runs(runs: &[[u8; 4]], len: u32) -> Self {
        let mut few = [[0; 4]; FEW_RUNS];
        let Some(places) = few.get_mut(..runs.len()) else { return Self::Runs(runs.to_vec(), len) };
        places.copy_from_slice(runs);
        #[expect(clippy::cast_possible_truncation, reason = "at most FEW_RUNS")]
        Self::FewRuns(runs.len() as u8, few, len)
    }

    /// The `len` values of `container` as an array or a bitmap.
    pub(super) fn plain(container: Container<'_>, len: u32, scratch: &mut Scratch) -> Self {
        if len as usize <= MAX_ARRAY
            && let Container::Array(values) = scratch.array_of(container)
        {
            return Self::array(values);
        }
        match container {
            Container::Bitmap(words) => Self::Bitmap(Box::new(*words), len),
            other => Self::Bitmap(Scratch::words_of(other), len),
        }
    }

    /// The values.
    #[expect(clippy::inline_always, reason = "given in memory, it costs as much as a small join")]
    #[inline(always)]
    pub(crate) fn container(&self) -> Container<'_> {
        match self {
            Self::Few(count, values) => Container::Array(&values[..usize::from(*count)]),
            Self::Array(values) => Container::Array(values),
            Self::Bitmap(words, _) => Container::Bitmap(words),
            Self::FewRuns(count, runs, _) => Container::Runs(&runs[..usize::from(*count)]),
            Self::Runs(runs, _) => Container::Runs(runs),
        }
    }

    /// Number of values. O(1).
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        match self {
            Self::Few(count, _) => u32::from(*count),
            #[expect(clippy::cast_possible_truncation, reason = "at most 2^16")]
            Self::Array(values) => values.len() as u32,
            Self::Bitmap(_, len) | Self::FewRuns(_, _, len) | Self::Runs(_, len) => *len,
        }
    }

    /// Adds `low`; gives whether it is new.
    pub(crate) fn insert(&mut self, low: u16) -> bool {
        let bytes = low.to_le_bytes();
        match self {
            Self::Few(count, values) => {
                let end = usize::from(*count);
                let Err(place) = position(&values[..end], low) else { return false };
                if end < FEW {
                    values.copy_within(place..end, place + 1);
                    values[place] = bytes;
                    *count += 1;
                } else {
                    let mut array = Vec::with_capacity(2 * FEW);
                    array.extend_from_slice(values);
                    array.insert(place, bytes);
                    *self = Self::Array(array);
                }
            }
            Self::Array(values) => {
                let Err(place) = position(values, low) else { return false };
                if values.len() < MAX_ARRAY {
                    values.insert(place, bytes);
                } else {
                    let words = Scratch::words_of(Container::Array(values));
                    *self = Self::Bitmap(words, SPAN / 16);
                    return self.insert(low);
                }
            }
            Self::Bitmap(words, len) => {
                let (word, bit) = (&mut words[usize::from(low >> 6)], 1_u64 << (low & 63));
                let before = u64::from_le_bytes(*word);
                *word = (before | bit).to_le_bytes();
                let is_new = before & bit == 0;
                *len += u32::from(is_new);
                return is_new;
            }
            Self::FewRuns(..) | Self::Runs(..) => {
                if self.container().contains(low) {
                    return false;
                }
                *self = Self::plain(self.container(), self.len(), &mut Scratch::default());
                return self.insert(low);
            }
        }
        true
    }

    /// Removes `low`; gives whether it was there. The container may be empty afterwards.
    pub(crate) fn remove(&mut self, low: u16) -> bool {
        match self {
            Self::Few(count, values) => {
                let end = usize::from(*count);
                let Ok(place) = position(&values[..end], low) else { return false };
                values.copy_within(place + 1..end, place);
                *count -= 1;
            }
            Self::Array(values) => {
                let Ok(place) = position(values, low) else { return false };
                values.remove(place);
            }
            Self::Bitmap(words, len) => {
                let (word, bit) = (&mut words[usize::from(low >> 6)], 1_u64 << (low & 63));
                let before = u64::from_le_bytes(*word);
                if before & bit == 0 {
                    return false;
                }
                *word = (before & !bit).to_le_bytes();
                *len -= 1;
                // Half of the most values of an array, so that a few changes do not turn the
                // container back at once.
                if (*len as usize) < MAX_ARRAY / 2 {
                    *self = Self::plain(self.container(), self.len(), &mut Scratch::default());
                }
            }
            Self::FewRuns(..) | Self::Runs(..) => {
                if !self.container().contains(low) {
                    return false;
                }
                *self = Self::plain(self.container(), self.len(), &mut Scratch::default());
                return self.remove(low);
            }
        }
        true
    }

    /// Becomes `self op other`. A bitmap changes in place.
    pub(crate) fn join(&mut self, op: Op, other: Container<'_>, scratch: &mut Scratch) {
        if let (Self::Bitmap(words, len), Op::Or | Op::Xor | Op::AndNot) = (&mut *self, op) {
            other.join_in(op, words);
            *len = ones(words);
            if (*len as usize) > MAX_ARRAY {
                return;
            }
            *self = Self::plain(self.container(), self.len(), scratch);
        } else {
            scratch.join(op, self.container(), other);
            *self = scratch.take();
        }
    }

    /// Takes the smallest form, in no more memory than it needs; gives whether the form changed.
    pub(crate) fn optimize(&mut self, scratch: &mut Scratch) -> bool {
        let plain = plain_bytes(self.len());
        let wants_runs = 2 + 4 * self.container().runs_up_to(plain / 4) < plain;
        let fits = match self {
            Self::Few(..) | Self::Array(_) => !wants_runs,
            Self::Bitmap(_, len) => !wants_runs && *len as usize > MAX_ARRAY,
            Self::FewRuns(..) => wants_runs,
            Self::Runs(runs, _) => wants_runs && runs.len() > FEW_RUNS,
        };
        match self {
            Self::Array(values) if fits => values.shrink_to_fit(),
            Self::Runs(runs, _) if fits => runs.shrink_to_fit(),
            _ if fits => {}
            _ => *self = Self::smallest(self.container(), scratch),
        }
        !fits
    }

    /// Bytes of the values, without those that the container has in itself.
    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Self::Few(..) | Self::FewRuns(..) => 0,
            Self::Array(values) => 2 * values.capacity(),
            Self::Bitmap(..) => super::BITMAP_BYTES,
            Self::Runs(runs, _) => 4 * runs.capacity(),
        }
    }
}

/// The place of `low`, or the place where it would be inserted. It looks at the last value first,
/// because values mostly come in order.
pub(super) fn position(values: &[[u8; 2]], low: u16) -> Result<usize, usize> {
    match values.last().map(|&last| u16::from_le_bytes(last).cmp(&low)) {
        None => Err(0),
        Some(Ordering::Less) => Err(values.len()),
        Some(Ordering::Equal) => Ok(values.len() - 1),
        Some(Ordering::Greater) => place_in_array(values, low),
    }
}

/// Whether the runs have all possible values.
pub(crate) fn is_full(container: Container<'_>) -> bool {
    matches!(container, Container::Runs([run]) if ends(*run) == (0, SPAN - 1))
}
