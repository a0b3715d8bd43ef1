//! The values of one aligned range of 2^16, by their low 16 bits.
//!
//! There are three kinds, as in the portable format of Roaring: little-endian and of any alignment.
//! So a container can be a view of a mapped file, of the words of a dense bitmap, or of memory.
//!
//! Source: the format specification of the Roaring project,
//! <https://github.com/RoaringBitmap/RoaringFormatSpec>.

// Circle: `owned`, `scratch`: an owned container is made from scratch memory, and joins through it.

mod count;
mod many;
mod owned;
mod ranges;
mod scratch;

pub(crate) use count::{intersection_len, intersects, is_subset};
pub(crate) use many::Among;
pub(crate) use owned::Owned;
pub(crate) use scratch::Scratch;

pub(crate) use crate::kernel::words::Op;

use crate::kernel::{self, Level, ones, popcount, runs, steps};

/// Words of a bitmap container.
pub(crate) const WORDS: usize = 1024;
/// Bytes of a bitmap container.
pub(crate) const BITMAP_BYTES: usize = 8 * WORDS;
/// Most values of an array container; a bitmap is smaller for more.
pub(crate) const MAX_ARRAY: usize = 4096;
/// Number of possible values of a container.
pub(crate) const SPAN: u32 = 1 << 16;

/// The words of a bitmap container.
pub(crate) type BitmapWords = [[u8; 8]; WORDS];

/// The error text for containers in a wrong order.
pub(crate) const KEY_DISORDER: &str = "the keys of the containers do not ascend";

/// The key of the container that has a value, and the value's low part.
pub(crate) fn split(value: u64) -> (u64, u16) {
    #[expect(clippy::cast_possible_truncation, reason = "the low part is meant")]
    (value >> 16, value as u16)
}

/// The value with this key and low part.
pub(crate) fn join(key: u64, low: u16) -> u64 {
    key << 16 | u64::from(low)
}

/// The low 16 bits of the values of one aligned range of 2^16.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Container<'a> {
    /// Ascending values.
    Array(&'a [[u8; 2]]),
    /// Bit `v % 64` of word `v / 64`.
    Bitmap(&'a BitmapWords),
    /// For each run its first value and its length − 1. Runs ascend and do not touch.
    Runs(&'a [[u8; 4]]),
}

/// Bytes of `len` values in the smaller form of array and bitmap.
pub(crate) fn plain_bytes(len: u32) -> usize {
    if len as usize <= MAX_ARRAY { 2 * len as usize } else { BITMAP_BYTES }
}

/// The first value of a run and its last one.
pub(crate) fn ends(run: [u8; 4]) -> (u32, u32) {
    let [a, b, c, d] = run;
    let start = u32::from(u16::from_le_bytes([a, b]));
    // A damaged run may reach beyond the range.
    (start, (start + u32::from(u16::from_le_bytes([c, d]))).min(SPAN - 1))
}

/// The parts of runs that are above all runs before them. Runs of a damaged file may not ascend.
pub(crate) fn sound(runs: impl Iterator<Item = (u32, u32)>) -> impl Iterator<Item = (u32, u32)> {
    let mut next = 0;
    runs.filter_map(move |(first, last)| {
        let first = first.max(next);
        next = next.max(last + 1);
        (first <= last).then_some((first, last))
    })
}

/// The first and the last value of each run, ascending.
pub(crate) fn intervals(runs: &[[u8; 4]]) -> impl Iterator<Item = (u32, u32)> {
    sound(runs.iter().map(|&run| ends(run)))
}

/// Tells for each of these ascending values whether it is in the runs.
fn in_runs(values: &[[u8; 2]], runs: &[[u8; 4]]) -> impl Iterator<Item = bool> {
    let mut runs = intervals(runs);
    let mut run = runs.next();
    values.iter().map(move |&low| {
        let value = u32::from(u16::from_le_bytes(low));
        while run.is_some_and(|(_, last)| last < value) {
            run = runs.next();
        }
        run.is_some_and(|(first, _)| first <= value)
    })
}

/// Calls `visit` with the first and the last value that two runs share, for all pairs of runs that may
/// share some. The first value is above the last one if they share none. A test here would be
/// mispredicted: the caller finds out without a branch. Ends where `visit` gives false.
fn for_overlaps(ours: &[[u8; 4]], theirs: &[[u8; 4]], mut visit: impl FnMut(u32, u32) -> bool) {
    let (mut i, mut j) = (0_usize, 0_usize);
    // Differences are negative until a list ends. One branch asks for both, because it is random
    // which list ends first.
    while (i.wrapping_sub(ours.len()) & j.wrapping_sub(theirs.len())).cast_signed() < 0 {
        let ((first, last), (other_first, other_last)) = (ends(ours[i]), ends(theirs[j]));
        if !visit(first.max(other_first), last.min(other_last)) {
            break;
        }
        i += usize::from(last <= other_last);
        j += usize::from(other_last <= last);
    }
}

/// Calls `change` with every word of `first ..= last` and the bits of the range in it.
fn for_words(
    words: &mut BitmapWords,
    first: u32,
    last: u32,
    mut change: impl FnMut(&mut u64, u64),
) {
    let mut change = |word: &mut [u8; 8], mask: u64| {
        let mut bits = u64::from_le_bytes(*word);
        change(&mut bits, mask);
        *word = bits.to_le_bytes();
    };
    let (from, to) = (u64::MAX << (first & 63), u64::MAX >> (63 - (last & 63)));
    match &mut words[first as usize >> 6..=last as usize >> 6] {
        [] => {}
        [word] => change(word, from & to),
        [head, middle @ .., tail] => {
            change(head, from);
            for word in middle {
                change(word, u64::MAX);
            }
            change(tail, to);
        }
    }
}

/// Hands the words to `job`. Copies them before if they are not aligned.
fn with_words<T>(words: &BitmapWords, job: impl FnOnce(&[u64]) -> T) -> T {
    match bytemuck::try_cast_slice(words.as_flattened()) {
        Ok(words) => job(words),
        Err(_) => job(&words.map(u64::from_le_bytes)),
    }
}

/// Words whose runs are counted before a check whether they are enough.
const PART_WORDS: usize = 128;

/// If one array is this many times as long as the other, each value of the other is searched for in
/// it.
const GALLOP: usize = 32;

/// A run in the portable format.
pub(crate) fn run(first: u32, last: u32) -> [u8; 4] {
    let [[a, b, ..], [c, d, ..]] = [first.to_le_bytes(), (last - first).to_le_bytes()];
    [a, b, c, d]
}

impl Container<'_> {
    /// Number of values.
    pub(crate) fn len(self) -> u32 {
        match self {
            #[expect(clippy::cast_possible_truncation, reason = "at most 2^16")]
            Self::Array(values) => values.len() as u32,
            #[expect(clippy::cast_possible_truncation, reason = "at most 2^16")]
            Self::Bitmap(words) => popcount::ones(Level::best(), words) as u32,
            Self::Runs(runs) => runs
                .iter()
                .map(|&run| ends(run))
                .map(|(first, last)| last - first + 1)
                .fold(0, u32::saturating_add)
                .min(SPAN), // runs of a damaged file may overlap
        }
    }

    /// Whether `low` is a value.
    #[inline]
    pub(crate) fn contains(self, low: u16) -> bool {
        match self {
            Self::Array(values) => array_contains(values, low),
            Self::Bitmap(words) => {
                u64::from_le_bytes(words[usize::from(low >> 6)]) >> (low & 63) & 1 == 1
            }
            Self::Runs(runs) => run_of(runs, low).is_ok(),
        }
    }

    /// Reads bytes near the expected place of `low`, so that they are in the cache for a later
    /// question.
    #[inline]
    pub(crate) fn touch(self, low: u16) -> u8 {
        match self {
            Self::Array(values) => touch_array(values, low),
            Self::Bitmap(words) => words[usize::from(low >> 6)][0],
            Self::Runs(runs) => runs.get(runs.len() / 2).map_or(0, |run| run[0]),
        }
    }

    /// Prefetches the cache lines where a search for `low` begins.
    #[inline]
    pub(crate) fn prefetch(self, low: u16) {
        match self {
            Self::Array(values) => prefetch_array(values, low),
            Self::Bitmap(words) => kernel::prefetch(words, usize::from(low >> 6)),
            Self::Runs(runs) => kernel::prefetch(runs, runs.len() / 2),
        }
    }

    /// Its bytes in the portable format, without the number of runs.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Array(values) => values.as_flattened(),
            Self::Bitmap(words) => words.as_flattened(),
            Self::Runs(runs) => runs.as_flattened(),
        }
    }

    /// Number of values up to and including `low`.
    pub(crate) fn rank(self, low: u16) -> u32 {
        steps::count(1 + self.bytes().len() / 64);
        match self {
            #[expect(clippy::cast_possible_truncation, reason = "at most 2^16")]
            Self::Array(values) => match place_in_array(values, low) {
                Ok(found) => found as u32 + 1,
                Err(place) => place as u32,
            },
            Self::Bitmap(words) => {
                let (whole, rest) = words.split_at(usize::from(low >> 6));
                let mask = u64::MAX >> (63 - (low & 63));
                #[expect(clippy::cast_possible_truncation, reason = "at most 2^16")]
                let before = popcount::ones(Level::best(), whole) as u32;
                before + (u64::from_le_bytes(rest[0]) & mask).count_ones()
            }
            Self::Runs(runs) => runs
                .iter()
                .map(|&run| ends(run))
                .take_while(|&(first, _)| first <= low.into())
                .map(|(first, last)| last.min(low.into()) - first + 1)
                .fold(0, u32::saturating_add),
        }
    }

    /// The value that has `index` values before it.
    pub(crate) fn select(self, mut index: u32) -> Option<u16> {
        steps::count(1 + self.bytes().len() / 64);
        match self {
            Self::Array(values) => values.get(index as usize).map(|&low| u16::from_le_bytes(low)),
            Self::Bitmap(words) => {
                for (number, &word) in (0_u32..).zip(words) {
                    let mut word = u64::from_le_bytes(word);
                    let here = word.count_ones();
                    if index < here {
                        for _ in 0..index {
                            word &= word - 1;
                        }
                        return u16::try_from(64 * number + word.trailing_zeros()).ok();
                    }
                    index -= here;
                }
                None
            }
            Self::Runs(runs) => {
                for &run in runs {
                    let (first, last) = ends(run);
                    if index <= last - first {
                        return u16::try_from(first + index).ok();
                    }
                    index -= last - first + 1;
                }
                None
            }
        }
    }

    /// The smallest value from `low` on.
    pub(crate) fn next(self, low: u16) -> Option<u16> {
        match self {
            Self::Array(values) => {
                let (Ok(place) | Err(place)) = place_in_array(values, low);
                values.get(place).map(|&low| u16::from_le_bytes(low))
            }
            Self::Bitmap(words) => {
                let mut mask = u64::MAX << (low & 63);
                // `skip` after `zip` would read all words before.
                for (number, &word) in (u32::from(low >> 6)..).zip(&words[usize::from(low >> 6)..])
                {
                    let word = u64::from_le_bytes(word) & mask;
                    if word != 0 {
                        return u16::try_from(64 * number + word.trailing_zeros()).ok();
                    }
                    mask = u64::MAX;
                }
                None
            }
            Self::Runs(runs) => match run_of(runs, low) {
                Ok(_) => Some(low),
                Err(place) => runs.get(place).and_then(|&run| u16::try_from(ends(run).0).ok()),
            },
        }
    }

    /// The largest value up to `low`.
    pub(crate) fn previous(self, low: u16) -> Option<u16> {
        match self {
            Self::Array(values) => match place_in_array(values, low) {
                Ok(_) => Some(low),
                Err(place) => Some(u16::from_le_bytes(*values.get(place.checked_sub(1)?)?)),
            },
            Self::Bitmap(words) => {
                let mut mask = u64::MAX >> (63 - (low & 63));
                for number in (0..=low >> 6).rev() {
                    let word = u64::from_le_bytes(words[usize::from(number)]) & mask;
                    if word != 0 {
                        let highest = word.ilog2();
                        return u16::try_from(64 * u32::from(number) + highest).ok();
                    }
                    mask = u64::MAX;
                }
                None
            }
            Self::Runs(runs) => match run_of(runs, low) {
                Ok(_) => Some(low),
                Err(place) => u16::try_from(ends(*runs.get(place.checked_sub(1)?)?).1).ok(),
            },
        }
    }

    /// Number of runs of neighbouring values.
    #[cfg(any(test, feature = "cli"))]
    pub(crate) fn run_count(self) -> usize {
        self.runs_up_to(usize::MAX)
    }

    /// Number of runs of neighbouring values; if there are more than `enough`, at least `enough`.
    pub(crate) fn runs_up_to(self, enough: usize) -> usize {
        match self {
            Self::Array(values) => runs::of_array(Level::best(), values),
            Self::Bitmap(words) => {
                let mut count = 0;
                let mut before = 0;
                for part in words.as_chunks::<PART_WORDS>().0 {
                    // A run that goes on from one part into the next is counted once.
                    let across = before & u64::from_le_bytes(part[0]) & 1;
                    count += runs::of_bitmap(Level::best(), part) - usize::from(across == 1);
                    before = u64::from_le_bytes(part[PART_WORDS - 1]) >> 63;
                    if count >= enough {
                        break;
                    }
                }
                count
            }
            Self::Runs(runs) => runs.len(),
        }
    }

    /// Writes `offset + low` of every value to the front of `positions`, which grows if needed;
    /// gives how many there are.
    pub(crate) fn positions(self, offset: u32, positions: &mut Vec<u32>) -> usize {
        let room = match self {
            Self::Runs(_) => self.len() as usize,
            other => other.len() as usize + ones::SLACK,
        };
        if positions.len() < room {
            positions.resize(room, 0);
        }
        steps::count(room / 8);
        match self {
            Self::Array(values) => {
                for (slot, &low) in positions.iter_mut().zip(values) {
                    *slot = offset + u32::from(u16::from_le_bytes(low));
                }
                values.len().min(room)
            }
            Self::Bitmap(words) => {
                with_words(words, |words| ones::ones(Level::best(), words, offset, positions))
            }
            Self::Runs(runs) => {
                let mut count = 0;
                for (first, last) in runs.iter().map(|&run| ends(run)) {
                    // Runs of a damaged file may overlap.
                    for (slot, low) in positions[count.min(room)..].iter_mut().zip(first..=last) {
                        *slot = offset + low;
                    }
                    count = (count + (last - first) as usize + 1).min(room);
                }
                count
            }
        }
    }

    /// Appends the values to `values`, if this is the container of `key`. `lows` is used again and
    /// again.
    pub(crate) fn append_to(self, key: u64, lows: &mut Vec<u32>, values: &mut Vec<u64>) {
        let count = self.positions(0, lows);
        values.extend(lows[..count].iter().map(|&low| key << 16 | u64::from(low)));
    }

    /// The fault in the order of the values, if there is one.
    pub(crate) fn disorder(self) -> Option<&'static str> {
        match self {
            Self::Array(values) => {
                let ascend = runs::ascend(Level::best(), values);
                (!ascend).then_some("the values of an array do not ascend")
            }
            Self::Bitmap(_) => None,
            Self::Runs(runs) => {
                let reaches_out = |&[a, b, c, d]: &[u8; 4]| {
                    u16::from_le_bytes([a, b]).checked_add(u16::from_le_bytes([c, d])).is_none()
                };
                let touch = |pair: &[[u8; 4]]| ends(pair[0]).1 + 1 >= ends(pair[1]).0;
                if runs.iter().any(reaches_out) {
                    Some("a run ends above 65535")
                } else {
                    runs.windows(2).any(touch).then_some("runs do not ascend, or touch")
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;

/// Values that are compared together.
const WINDOW: usize = 64;

/// The index of `low` if the values were evenly spread.
fn guess(values: &[[u8; 2]], low: u16) -> usize {
    (usize::from(low) * values.len()) >> 16
}

/// Indices in a window that hit each of its cache lines, for any alignment.
const IN_LINES: [usize; 3] = [0, 32, WINDOW - 1];
/// Windows that are tried before a binary search.
const TRIES: usize = 2;

/// The start of the window that is compared first. Of two thousand evenly spread values, 90 of 100
/// are at most half a window from the expected place, and nearly all others are in the next window.
fn window_start(values: &[[u8; 2]], low: u16) -> usize {
    let last = values.len().saturating_sub(WINDOW);
    guess(values, low).saturating_sub(WINDOW / 2).min(last)
}

/// Whether `low` is in `window`. It compares all values: a mispredicted branch would cost more.
fn is_in_window(window: &[[u8; 2]; WINDOW], low: u16) -> bool {
    window.iter().fold(false, |found, value| found | (u16::from_le_bytes(*value) == low))
}

/// Whether `low` is among fewer values than a window has: a binary search without branches.
fn is_among_few(values: &[[u8; 2]], low: u16) -> bool {
    let mut rest = values;
    while rest.len() > 1 {
        let (front, back) = rest.split_at(rest.len() / 2);
        rest = if u16::from_le_bytes(back[0]) <= low { back } else { front };
    }
    rest.first().is_some_and(|&value| u16::from_le_bytes(value) == low)
}

/// Whether `low` is in the array.
fn array_contains(values: &[[u8; 2]], low: u16) -> bool {
    let mut start = window_start(values, low);
    for _ in 0..TRIES {
        let Some(window) = values[start..].first_chunk::<WINDOW>() else {
            return is_among_few(values, low);
        };
        let found = is_in_window(window, low);
        let [first, last] = [window[0], window[WINDOW - 1]].map(u16::from_le_bytes);
        let end = start + WINDOW;
        start = match () {
            () if low < first && start > 0 => start.saturating_sub(WINDOW),
            () if low > last && end < values.len() => end.min(values.len() - WINDOW),
            // Test this last: a branch before it would be mispredicted more often.
            () => return found,
        };
    }
    place_in_array(values, low).is_ok()
}

/// Reads from the cache lines of the window that is compared first.
fn touch_array(values: &[[u8; 2]], low: u16) -> u8 {
    match values[window_start(values, low)..].first_chunk::<WINDOW>() {
        Some(window) => IN_LINES.iter().fold(0, |all, &at| all ^ window[at][0]),
        None => {
            values.first().map_or(0, |first| first[0]) ^ values.last().map_or(0, |last| last[0])
        }
    }
}

/// Prefetches the cache lines of the window that is compared first.
#[inline]
fn prefetch_array(values: &[[u8; 2]], low: u16) {
    let start = window_start(values, low);
    for at in IN_LINES {
        kernel::prefetch(values, start + at);
    }
}

/// The place of `low`, or the place where it would be inserted.
///
/// The search starts at the place that `low` would have among evenly spread values. Ids mostly are
/// so: it touches one or two cache lines, not the eleven of a binary search. O(log n) for any
/// values.
pub(super) fn place_in_array(values: &[[u8; 2]], low: u16) -> Result<usize, usize> {
    let at = |index: usize| u16::from_le_bytes(values[index]);
    let count = values.len();
    if count == 0 {
        return Err(0);
    }
    let guess = guess(values, low);
    let mut step = 8;
    // The answer is from `from` to `to`, both included.
    let (mut from, mut to);
    if at(guess) < low {
        from = guess + 1;
        to = (from + step).min(count);
        while to < count && at(to - 1) < low {
            from = to;
            step *= 2;
            to = (from + step).min(count);
        }
    } else {
        to = guess;
        from = to.saturating_sub(step);
        while from > 0 && at(from) >= low {
            to = from;
            step *= 2;
            from = to.saturating_sub(step);
        }
    }
    while from < to {
        let middle = from.midpoint(to);
        if at(middle) < low {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    if from < count && at(from) == low { Ok(from) } else { Err(from) }
}

/// The run that has `low`, or the first run behind it.
fn run_of(runs: &[[u8; 4]], low: u16) -> Result<usize, usize> {
    let low = u32::from(low);
    let place = runs.partition_point(|&run| ends(run).1 < low);
    match runs.get(place) {
        Some(&run) if ends(run).0 <= low => Ok(place),
        _ => Err(place),
    }
}
