//! Elias–Fano: ascending numbers as packed low bits and unary high parts.
//!
//! Number `i` of a sequence has its lowest `low_bits` bits at bit `i * low_bits` of the lows. The
//! rest, its high part `h`, sets bit `h + i` of the uppers: each one bit stands for a number, and
//! each zero bit before it raises the high part by one.
//!
//! Source: Elias, "Efficient storage and retrieval by content and address of static
//! files", J. ACM 21 (1974); Fano, MIT Project MAC Memorandum 61 (1971).

use super::Level;
#[cfg(target_arch = "x86_64")]
use super::level::Isa;
use super::ones::{SLACK, ones};
use super::task::{Task, run};

/// The place of the set bit that has `index` set bits below it; 64 if there is none.
#[inline]
pub(crate) fn select(word: u64, index: u32) -> u32 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = ONES << 7;
    // The number of set bits in each byte and all lower bytes.
    let mut sums = word - (word >> 1 & 0x5555_5555_5555_5555);
    sums = (sums & 0x3333_3333_3333_3333) + (sums >> 2 & 0x3333_3333_3333_3333);
    sums = ((sums + (sums >> 4)) & 0x0F0F_0F0F_0F0F_0F0F).wrapping_mul(ONES);
    let index = index.min(127);
    // The high bit of each byte whose sum is not above the index.
    let passed = (((u64::from(index) * ONES) | HIGH) - sums) & HIGH;
    let place = passed.count_ones() * 8;
    if place == 64 {
        return 64;
    }
    #[expect(clippy::cast_possible_truncation, reason = "a byte")]
    let before = ((sums << 8) >> place) as u8;
    let mut rest = word >> place;
    for _ in u32::from(before)..index {
        rest &= rest - 1;
    }
    place + rest.trailing_zeros()
}

/// If more numbers share a high part, their low bits are searched, not compared one by one.
const FEW: usize = 16;

/// A number that a search looks for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    /// A bit of the uppers at or before its high part.
    pub(crate) place: usize,
    /// Number of zeros from there to its high part.
    pub(crate) zeros: u32,
    pub(crate) high: usize,
    pub(crate) low: u64,
    /// Number of numbers in the sequence.
    pub(crate) count: usize,
}

/// [`Sequence::find_with`] for processors that select a bit in one instruction. Processors before
/// AVX-512 may take a hundred cycles for it.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi1,bmi2,popcnt,lzcnt")]
fn find_with_bmi2(sequence: Sequence<'_>, wanted: Wanted) -> Option<Result<usize, usize>> {
    sequence.find_with(wanted, |word, index| {
        std::arch::x86_64::_pdep_u64(1 << index, word).trailing_zeros()
    })
}

/// A sequence in borrowed bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sequence<'a> {
    /// The lows, with at least eight bytes behind them.
    pub(crate) lows: &'a [u8],
    pub(crate) uppers: &'a [[u8; 8]],
    /// At most 63.
    pub(crate) low_bits: u32,
}

impl Sequence<'_> {
    /// The lowest bits of number `index`.
    ///
    /// # Panics
    ///
    /// If the lows have no such number.
    #[inline]
    pub(crate) fn low(self, index: usize) -> u64 {
        let bit = index * self.low_bits as usize;
        #[expect(clippy::cast_possible_truncation, reason = "below 8")]
        let (bytes, shift) = (&self.lows[bit >> 3..], (bit & 7) as u32);
        let mut low = u64::from_le_bytes(bytes[..8].as_chunks().0[0]) >> shift;
        if shift + self.low_bits > 64 {
            low |= u64::from(bytes[8]) << (64 - shift);
        }
        low & !(u64::MAX << self.low_bits)
    }

    /// Number `index`, plus `base`, wrapping. Its bit of the uppers is at `place`.
    ///
    /// # Panics
    ///
    /// If the lows have no such number.
    #[inline]
    pub(crate) fn number(self, base: u64, index: usize, place: usize) -> u64 {
        // With damaged bits there may be fewer zeros than the index says.
        let high = (place as u64).wrapping_sub(index as u64);
        base.wrapping_add(high << self.low_bits | self.low(index))
    }

    /// The place behind the next `count` bits that are `wanted`, from `place` on. `select` selects
    /// a bit in a word.
    #[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
    #[inline(always)]
    fn behind(
        self,
        place: usize,
        mut count: u32,
        wanted: bool,
        select: impl Fn(u64, u32) -> u32,
    ) -> Option<usize> {
        let flip = if wanted { 0 } else { u64::MAX };
        if count == 0 {
            return Some(place);
        }
        let mut word =
            (u64::from_le_bytes(*self.uppers.get(place >> 6)?) ^ flip) & u64::MAX << (place & 63);
        let mut index = place >> 6;
        loop {
            let here = word.count_ones();
            if count <= here {
                return Some((index << 6) + select(word, count - 1) as usize + 1);
            }
            count -= here;
            index += 1;
            word = u64::from_le_bytes(*self.uppers.get(index)?) ^ flip;
        }
    }

    /// The place behind `count` zeros from `place` on; none if there are fewer.
    #[inline]
    pub(crate) fn behind_zeros(self, place: usize, count: u32) -> Option<usize> {
        self.behind(place, count, false, select)
    }

    /// The place of the one bit that has `count` one bits before it, from `place` on; none if there
    /// are fewer.
    #[inline]
    pub(crate) fn one(self, place: usize, count: u32) -> Option<usize> {
        Some(self.behind(place, count + 1, true, select)? - 1)
    }

    /// Number of one bits from `place` to the next zero, or to the end.
    #[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
    #[inline(always)]
    fn ones_at(self, mut place: usize) -> usize {
        let start = place;
        while let Some(word) = self.uppers.get(place >> 6) {
            let shift = place & 63;
            let ones = (u64::from_le_bytes(*word) >> shift).trailing_ones() as usize;
            place += ones;
            if ones < 64 - shift {
                break;
            }
        }
        place - start
    }

    /// The index of a number, or the index where it would be. `None` if the uppers do not have
    /// `wanted.count` numbers.
    #[inline]
    pub(crate) fn find(self, level: Level, wanted: Wanted) -> Option<Result<usize, usize>> {
        match level.isa() {
            // SAFETY: `Level::available` is the only maker of this level, after the CPU
            // reported these features.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => unsafe { find_with_bmi2(self, wanted) },
            _ => self.find_with(wanted, select),
        }
    }

    #[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
    #[inline(always)]
    fn find_with(
        self,
        wanted: Wanted,
        select: impl Fn(u64, u32) -> u32,
    ) -> Option<Result<usize, usize>> {
        let place = self.behind(wanted.place, wanted.zeros, false, select)?;
        // The zeros before the place are as many as the high part says.
        let first = place.checked_sub(wanted.high)?;
        let mut end = first + self.ones_at(place);
        if end > wanted.count {
            return None;
        }
        let mut from = first;
        while end - from > FEW {
            let middle = from.midpoint(end);
            if self.low(middle) < wanted.low {
                from = middle + 1;
            } else {
                end = middle + 1;
            }
        }
        for index in from..end {
            let low = self.low(index);
            if low >= wanted.low {
                return Some(if low == wanted.low { Ok(index) } else { Err(index) });
            }
        }
        Some(Err(end))
    }

    /// Fills `out` with the numbers from `index` on, each plus `base`, wrapping. It looks for the
    /// first one from bit `place` on.
    ///
    /// # Panics
    ///
    /// If `out` is longer than the lows are from `index` on.
    pub(crate) fn decode(
        self,
        level: Level,
        base: u64,
        index: usize,
        place: usize,
        out: &mut [u64],
    ) -> Decoded {
        let (mut words, mut places) = ([0; WORDS], [0; 64 * WORDS + SLACK]);
        let (mut first, mut found, mut ascend, mut end) = (place >> 6, 0, true, place);
        let mut behind = u64::MAX << (place & 63);
        while found < out.len() {
            let uppers = self.uppers.get(first..).unwrap_or_default();
            let left = out.len() - found;
            // Most words have at least 16 one bits.
            let count = uppers.len().min(left / 16 + 1).min(WORDS);
            if count == 0 {
                break;
            }
            for (word, upper) in words.iter_mut().zip(&uppers[..count]) {
                *word = u64::from_le_bytes(*upper) & std::mem::replace(&mut behind, u64::MAX);
            }
            let ones = ones(level, &words[..count], 0, &mut places).min(left);
            let places = &places[..ones];
            let (before, out) = out.split_at_mut(found);
            let (index, before) = (index + found, before.last().copied());
            let join = Join { sequence: self, base, index, first, places, out, before };
            ascend &= run(level, join);
            end = places.last().map_or(end, |&last| 64 * first + last as usize + 1);
            (first, found) = (first + count, found + ones);
        }
        Decoded { found, ascend, behind: end }
    }

    /// Writes how many numbers have a high part below `2^log`, below twice as much, and so on, by
    /// counting the uppers. Writes nothing if they have fewer zeros.
    pub(crate) fn sample(self, level: Level, log: u32, samples: &mut [u16]) {
        run(level, Sample { sequence: self, log, samples });
    }
}

struct Sample<'a, 'o> {
    sequence: Sequence<'a>,
    log: u32,
    samples: &'o mut [u16],
}

impl Task for Sample<'_, '_> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
    #[inline(always)]
    fn run(self) {
        let mut place = 0;
        let mut zeros = 0;
        for slot in self.samples {
            let Some(behind) = self.sequence.behind_zeros(place, 1 << self.log) else { return };
            (place, zeros) = (behind, zeros + (1 << self.log));
            #[expect(clippy::cast_possible_truncation, reason = "below the number of numbers")]
            let before = (place - zeros) as u16;
            *slot = before;
        }
    }
}

/// Words of the uppers that are decoded together.
const WORDS: usize = 8;

/// Where the lows of 8 numbers begin, for each number of low bits, modulo 64. Read from a table, they
/// are a vector; the compiler computes products one by one.
static SHIFTS: [[u64; 8]; 64] = {
    let mut table = [[0; 8]; 64];
    let mut entry = 0;
    while entry < 64 * 8 {
        let (bits, number) = (entry / 8, entry % 8);
        table[bits][number] = (bits * number % 64) as u64;
        entry += 1;
    }
    table
};

/// What [`Sequence::decode`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decoded {
    /// How many numbers there were.
    pub(crate) found: usize,
    pub(crate) ascend: bool,
    /// The bit of the uppers behind the last of them.
    pub(crate) behind: usize,
}

/// Joins the high parts of numbers with their lows.
struct Join<'a, 'o> {
    sequence: Sequence<'a>,
    base: u64,
    /// The index of the first number.
    index: usize,
    /// The word of the uppers where the places begin.
    first: usize,
    places: &'o [u32],
    /// Room for the numbers, and for more.
    out: &'o mut [u64],
    /// The number before them, if there is one.
    before: Option<u64>,
}

impl Join<'_, '_> {
    /// Joins `N` numbers at a time, whose lows are in one load; gives how many are joined.
    #[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
    #[inline(always)]
    fn all<const N: usize>(&mut self) -> usize {
        let Self { sequence, base, mut index, first, places, .. } = *self;
        let bits = u64::from(sequence.low_bits);
        let mask = !(u64::MAX << bits);
        let shifts = &SHIFTS[sequence.low_bits as usize];
        let out = &mut self.out[..places.len()];
        for (out, places) in out.as_chunks_mut::<N>().0.iter_mut().zip(places.as_chunks::<N>().0) {
            let bit = index * sequence.low_bits as usize;
            let bytes = sequence.lows[bit >> 3..][..8].as_chunks().0[0];
            let lows = u64::from_le_bytes(bytes) >> (bit & 7);
            let before = (64 * first as u64).wrapping_sub(index as u64);
            // Made whole before it is stored, so that the compiler sees that it is a vector.
            *out = std::array::from_fn(|at| {
                let high = before.wrapping_add(places[at].into()).wrapping_sub(at as u64);
                base.wrapping_add(high << bits | (lows >> shifts[at] & mask))
            });
            index += N;
        }
        places.len() / N * N
    }

    /// Joins those behind the first `done` of them, one by one.
    #[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
    #[inline(always)]
    fn rest(&mut self, done: usize) {
        let out = self.out[done..].iter_mut().zip(&self.places[done..]);
        for (index, (out, &place)) in (self.index + done..).zip(out) {
            *out = self.sequence.number(self.base, index, 64 * self.first + place as usize);
        }
    }
}

impl Task for Join<'_, '_> {
    /// Whether the numbers ascend, from the one before them on.
    type Output = bool;

    #[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
    #[inline(always)]
    fn run(mut self) -> bool {
        // As many lows as are in one load, at whatever bit it begins; of whole bytes, at the first.
        let done = match self.sequence.low_bits {
            ..=8 => self.all::<8>(),
            9..=14 | 16 => self.all::<4>(),
            15..=28 | 32 => self.all::<2>(),
            29..=56 => self.all::<1>(),
            _ => 0,
        };
        self.rest(done);
        let numbers = &self.out[..self.places.len()];
        let goes_on = self.before.zip(numbers.first()).is_none_or(|(a, &b)| a < b);
        let descents = numbers.windows(2).map(|pair| u64::from(pair[0] >= pair[1]));
        goes_on && descents.sum::<u64>() == 0
    }
}

/// Writes the lows and uppers of `numbers`, which ascend; `base` is at most the first one, and is
/// subtracted from each.
///
/// # Panics
///
/// If the lows or the uppers have too little room.
pub(crate) fn encode(
    level: Level,
    numbers: &[u64],
    base: u64,
    low_bits: u32,
    (lows, uppers): (&mut [u64], &mut [u64]),
) {
    if low_bits > 0 {
        run(level, EncodeLows { numbers, base, low_bits, lows });
    }
    run(level, EncodeUppers { numbers, base, low_bits, uppers });
}

struct EncodeLows<'a> {
    numbers: &'a [u64],
    base: u64,
    /// Number of low bits, at least one.
    low_bits: u32,
    lows: &'a mut [u64],
}

impl Task for EncodeLows<'_> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
    #[inline(always)]
    fn run(self) {
        let low = |number: u64| number.wrapping_sub(self.base) & !(u64::MAX << self.low_bits);
        let mut bits = Bits { words: self.lows, word: 0, used: 0, index: 0 };
        // As many lows as fit in a word.
        match self.low_bits {
            ..=8 => bits.put_all::<8>(self.numbers, self.low_bits, low),
            9..=16 => bits.put_all::<4>(self.numbers, self.low_bits, low),
            17..=32 => bits.put_all::<2>(self.numbers, self.low_bits, low),
            _ => bits.put_all::<1>(self.numbers, self.low_bits, low),
        }
        bits.end();
    }
}

/// Words that are filled from the lowest bit on.
struct Bits<'a> {
    words: &'a mut [u64],
    word: u64,
    used: u32,
    index: usize,
}

impl Bits<'_> {
    /// Appends the `low` of each number, `N` of them at a time.
    #[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
    #[inline(always)]
    fn put_all<const N: usize>(&mut self, numbers: &[u64], bits: u32, low: impl Fn(u64) -> u64) {
        let (chunks, rest) = numbers.as_chunks::<N>();
        for chunk in chunks {
            let mut joined = 0;
            for (number, shift) in chunk.iter().zip((0..).step_by(bits as usize)) {
                joined |= low(*number) << shift;
            }
            #[expect(clippy::cast_possible_truncation, reason = "at most 8")]
            self.put(joined, bits * N as u32);
        }
        for &number in rest {
            self.put(low(number), bits);
        }
    }

    /// Appends `bits` bits, at least one and at most 64.
    #[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
    #[inline(always)]
    fn put(&mut self, value: u64, bits: u32) {
        let word = self.word | value << self.used;
        // The word is stored even if it is not full, so that there is no branch to predict.
        self.words[self.index] = word;
        let used = self.used + bits;
        self.used = used & 63;
        self.index += (used >> 6) as usize;
        let rest = (value >> 1).wrapping_shr(bits.wrapping_sub(self.used).wrapping_sub(1));
        self.word = if used >= 64 { rest } else { word };
    }

    fn end(self) {
        if self.used > 0 {
            self.words[self.index] = self.word;
        }
    }
}

struct EncodeUppers<'a> {
    numbers: &'a [u64],
    base: u64,
    low_bits: u32,
    uppers: &'a mut [u64],
}

impl Task for EncodeUppers<'_> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
    #[inline(always)]
    fn run(self) {
        let Self { numbers, base, low_bits, uppers } = self;
        uppers.fill(0);
        let (chunks, rest) = numbers.as_chunks::<TOGETHER>();
        let high = |number: u64| number.wrapping_sub(base) >> low_bits;
        let set_each = |uppers: &mut [u64], before: u64, numbers: &[u64]| {
            for (place, &number) in (before..).zip(numbers) {
                set(uppers, high(number) + place, 1);
            }
        };
        let mut before = 0;
        for chunk in chunks {
            let (first, last) = (high(chunk[0]), high(chunk[TOGETHER - 1]));
            if last.wrapping_sub(first) <= 64 - TOGETHER as u64 {
                let mut bits = 0;
                for (place, &number) in (0..).zip(chunk) {
                    bits |= 1 << ((high(number) - first + place) & 63);
                }
                set(uppers, first + before, bits);
            } else {
                set_each(uppers, before, chunk);
            }
            before += TOGETHER as u64;
        }
        set_each(uppers, before, rest);
    }
}

/// In so many numbers, bits are mostly less than a word apart.
const TOGETHER: usize = 8;

/// Sets the bits of `bits` from `place` on.
#[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
#[inline(always)]
fn set(uppers: &mut [u64], place: u64, bits: u64) {
    let (index, shift) = ((place >> 6) as usize, place & 63);
    uppers[index] |= bits << shift;
    if let Some(next) = uppers.get_mut(index + 1) {
        *next |= (bits >> 1) >> (63 - shift);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_bit_is_selected_by_its_number(word in prop_oneof![any::<u64>(), Just(0), Just(u64::MAX)]) {
            let places: Vec<u32> = (0..64).filter(|bit| word >> bit & 1 == 1).collect();
            for index in 0..130 {
                let expected = places.get(index as usize).copied().unwrap_or(64);
                prop_assert_eq!(select(word, index), expected);
            }
        }

        #[test]
        fn numbers_come_back(
            steps in prop::collection::vec(0_u64..1 << 20, 1..300), base: u64, low_bits in 0_u32..64,
        ) {
            let step_bits = low_bits.min(35) + 3;
            let base = base >> 2;
            let mut next = base;
            let numbers: Vec<u64> = steps.iter().map(|step| {
                next += step & !(u64::MAX << step_bits.min(40));
                next
            }).collect();
            let upper_bits = usize::try_from((next - base) >> low_bits).unwrap() + numbers.len();
            prop_assume!(upper_bits < 1 << 23);
            let highs: Vec<u64> = numbers.iter().map(|n| (n - base) >> low_bits).collect();
            let words = |bits: usize| vec![u64::MAX; bits.div_ceil(64)];
            let mut lows = words(numbers.len() * low_bits as usize);
            let mut uppers = words(upper_bits);
            encode(Level::available()[0], &numbers, base, low_bits, (&mut lows, &mut uppers));
            for &level in Level::available() {
                let mut alike = (words(lows.len() * 64), words(upper_bits));
                encode(level, &numbers, base, low_bits, (&mut alike.0, &mut alike.1));
                prop_assert_eq!((&alike.0, &alike.1), (&lows, &uppers));
            }
            lows.push(u64::MAX);
            let uppers: Vec<[u8; 8]> = uppers.iter().map(|word| word.to_le_bytes()).collect();
            let sequence = Sequence { lows: bytemuck::cast_slice(&lows), uppers: &uppers, low_bits };
            let ascend = |numbers: &[u64]| numbers.is_sorted_by(|a, b| a < b);
            for &level in Level::available() {
                let mut out = vec![0; numbers.len()];
                let last = numbers.last().unwrap();
                let found = numbers.len();
                let behind = usize::try_from((last - base) >> low_bits).unwrap() + found;
                let whole = Decoded { found, ascend: ascend(&numbers), behind };
                prop_assert_eq!(sequence.decode(level, base, 0, 0, &mut out), whole);
                prop_assert_eq!(&out, &numbers);
                let half = numbers.len() / 2;
                let place = sequence.one(0, u32::try_from(half).unwrap()).unwrap();
                let rest = &mut out[half..];
                rest.fill(0);
                let found = numbers.len() - half;
                let decoded = Decoded { found, ascend: ascend(&numbers[half..]), behind };
                prop_assert_eq!(sequence.decode(level, base, half, place, rest), decoded);
                prop_assert_eq!(&out, &numbers);
            }
            prop_assert_eq!(sequence.one(0, u32::try_from(numbers.len()).unwrap()), None);
            let high = *highs.last().unwrap();
            let alike = highs.iter().filter(|other| **other == high).count();
            let ask = |level, high: u64, low, count| {
                let wanted = Wanted {
                    place: 0,
                    zeros: u32::try_from(high).unwrap(),
                    high: usize::try_from(high).unwrap(),
                    low,
                    count,
                };
                sequence.find(level, wanted)
            };
            for &level in Level::available() {
                for (&number, &high) in numbers.iter().zip(&highs).step_by(7) {
                    let mask = !(u64::MAX << low_bits);
                    for low in [(number - base) & mask, (number - base) & mask ^ 1 & mask] {
                        let key = high << low_bits | low;
                        let model = numbers.partition_point(|n| n - base < key);
                        let is_there = numbers.get(model).is_some_and(|n| n - base == key);
                        let expected = if is_there { Ok(model) } else { Err(model) };
                        let found = ask(level, high, low, numbers.len());
                        prop_assert_eq!(found, Some(expected), "{}", level.name());
                    }
                }
                let short = Wanted { place: 0, zeros: 0, high: 1, low: 0, count: numbers.len() };
                prop_assert_eq!(sequence.find(level, short), None);
                prop_assert_eq!(ask(level, high, 0, highs.len() - alike), None);
            }
        }
    }
}
