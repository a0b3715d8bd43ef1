//! Compares 8 values with 8 others in one instruction, the string comparison of SSE 4.2, after
//! Schlegel, Willhalm and Lehner (ADMS 2011). Merges 8 values with 8 others by a bitonic network,
//! after Inoue and Taura (VLDB 2015); a value that comes twice is found by comparing neighbours.
//!
//! Steps have no branches that depend on values: a misprediction costs more than a step. Comparing
//! 32 with 32 values by rotation takes 64 instructions of AVX-512, and is slower.

use super::{Low, TOP, head, with_top, without_top};
use std::arch::x86_64::{
    __m128i, _SIDD_BIT_MASK, _SIDD_CMP_EQUAL_ANY, _SIDD_UWORD_OPS, _mm_alignr_epi8,
    _mm_blend_epi16, _mm_cmpeq_epi16, _mm_cmpistrm, _mm_cvtsi128_si32, _mm_loadu_si128,
    _mm_max_epu16, _mm_min_epu16, _mm_movemask_epi8, _mm_or_si128, _mm_packs_epi16, _mm_set_epi8,
    _mm_set1_epi16, _mm_setzero_si128, _mm_shuffle_epi8, _mm_shuffle_epi32, _mm_slli_epi32,
    _mm_srli_epi32, _mm_storeu_si128,
};
use std::hint::select_unpredictable;

/// Values that one instruction compares with as many others.
const BLOCK: usize = 8;
/// Values of a step. The next step waits for the last values of this one; with half as many values,
/// the whole takes half as long again.
const PAIR: usize = 2 * BLOCK;

/// For each mask, a shuffle that moves the bytes of the chosen values to the front.
static CHOSEN: [[u8; 16]; 256] = {
    let mut table = [[0x80; 16]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut value, mut count) = (0, 0);
        while value < BLOCK {
            if mask >> value & 1 == 1 {
                let [low, ..] = (2 * value).to_le_bytes();
                table[mask][2 * count] = low;
                table[mask][2 * count + 1] = low + 1;
                count += 1;
            }
            value += 1;
        }
        mask += 1;
    }
    table
};

#[target_feature(enable = "sse4.2")]
#[inline]
fn load(block: &[Low; BLOCK]) -> __m128i {
    // SAFETY: `block` is 16 readable bytes; `loadu` needs no alignment.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}

/// A bit for each value of `a` that is in `b`. The instruction takes a 0 as the end of the values.
#[target_feature(enable = "sse4.2")]
#[inline]
fn matches(a: __m128i, b: __m128i) -> u32 {
    const MODE: i32 = _SIDD_UWORD_OPS | _SIDD_CMP_EQUAL_ANY | _SIDD_BIT_MASK;
    _mm_cvtsi128_si32(_mm_cmpistrm::<MODE>(b, a)).cast_unsigned() & 0xFF
}

fn last(pair: &[Low; PAIR]) -> u16 {
    let [.., last] = pair;
    u16::from_le_bytes(*last)
}

/// The values without 0, and whether it was there.
fn without_zero(values: &[Low]) -> (&[Low], bool) {
    match values {
        [[0, 0], rest @ ..] => (rest, true),
        _ => (values, false),
    }
}

/// A bit for each value of two blocks that is in `others`.
#[target_feature(enable = "sse4.2")]
#[inline]
fn pair(values: [__m128i; 2], others: [__m128i; 2]) -> u32 {
    // Not by `map`: a call of a closure with vectors is not compiled into the loop.
    let ([first, second], [other, next]) = (values, others);
    let lower = matches(first, other) | matches(first, next);
    let upper = matches(second, other) | matches(second, next);
    lower | upper << BLOCK
}

#[target_feature(enable = "sse4.2")]
#[inline]
fn both(pair: &[Low; PAIR]) -> [__m128i; 2] {
    let (blocks, _) = pair.as_chunks::<BLOCK>();
    [load(&blocks[0]), load(&blocks[1])]
}

/// Values in pairs of blocks. At the end, 0 fills the last pair; no comparison finds it.
struct Pairs<'a> {
    whole: &'a [[Low; PAIR]],
    rest: [Low; PAIR],
    /// Number of values in the last pair.
    rest_len: usize,
}

impl<'a> Pairs<'a> {
    fn new(values: &'a [Low]) -> Self {
        let (whole, end) = values.as_chunks::<PAIR>();
        let mut rest = [[0; 2]; PAIR];
        rest[..end.len()].copy_from_slice(end);
        Self { whole, rest, rest_len: end.len() }
    }

    fn count(&self) -> usize {
        self.whole.len() + usize::from(self.rest_len > 0)
    }

    /// Pair `index`, and its last value.
    #[inline]
    fn get(&self, index: usize) -> (&[Low; PAIR], u16) {
        match self.whole.get(index) {
            Some(pair) => (pair, last(pair)),
            None => (&self.rest, u16::MAX),
        }
    }
}

#[target_feature(enable = "sse4.2,popcnt")]
pub(super) fn common(a: &[Low], b: &[Low]) -> usize {
    let ((a, zero), (b, other_zero)) = (without_zero(a), without_zero(b));
    let (a, b) = (Pairs::new(a), Pairs::new(b));
    let (pairs, others) = (a.count(), b.count());
    let (mut i, mut j) = (0, 0);
    let mut count = usize::from(zero && other_zero);
    while i < pairs && j < others {
        let ((ours, end), (theirs, other_end)) = (a.get(i), b.get(j));
        count += pair(both(ours), both(theirs)).count_ones() as usize;
        i += usize::from(end <= other_end);
        j += usize::from(other_end <= end);
    }
    count
}

/// Writes the chosen values of a block to the place `end`; gives the place behind them.
#[target_feature(enable = "sse4.2,popcnt")]
#[inline]
fn put(values: __m128i, chosen: u32, out: &mut [Low], end: usize) -> usize {
    let place = &mut out[end..end + BLOCK];
    // SAFETY: an entry is 16 readable bytes; `loadu` needs no alignment.
    let order = unsafe { _mm_loadu_si128(CHOSEN[chosen as usize].as_ptr().cast()) };
    let packed = _mm_shuffle_epi8(values, order);
    // SAFETY: `place` is 16 writable bytes; `storeu` needs no alignment.
    unsafe { _mm_storeu_si128(place.as_mut_ptr().cast(), packed) };
    end + chosen.count_ones() as usize
}

/// The same of two blocks, one behind the other.
#[target_feature(enable = "sse4.2,popcnt")]
#[inline]
fn put_pair([first, second]: [__m128i; 2], chosen: u32, out: &mut [Low], end: usize) -> usize {
    let end = put(first, chosen & 0xFF, out, end);
    put(second, chosen >> BLOCK, out, end)
}

#[target_feature(enable = "sse4.2,popcnt")]
pub(super) fn filter(keep: bool, a: &[Low], b: &[Low], out: &mut [Low]) -> usize {
    let ((a, zero), (b, other_zero)) = (without_zero(a), without_zero(b));
    let mut count = usize::from(zero && other_zero == keep);
    out[0] = [0, 0];
    let (a, b) = (Pairs::new(a), Pairs::new(b));
    let (pairs, others) = (a.count(), b.count());
    let (mut i, mut j) = (0, 0);
    let flip = if keep { 0 } else { 0xFFFF };
    // The values of pair `i` that were found in earlier pairs of the other array.
    let mut found = 0;
    while i < pairs && j < others {
        let ((ours, end), (theirs, other_end)) = (a.get(i), b.get(j));
        let values = both(ours);
        found |= pair(values, both(theirs));
        let is_done = end <= other_end;
        let inside = if i < a.whole.len() { 0xFFFF } else { (1 << a.rest_len) - 1 };
        // Write in any case; count when the pair is done.
        let behind = put_pair(values, (found ^ flip) & inside, out, count);
        count = if is_done { behind } else { count };
        found = if is_done { 0 } else { found };
        i += usize::from(is_done);
        j += usize::from(other_end <= end);
    }
    while i < pairs && (!keep || found != 0) {
        let inside = if i < a.whole.len() { 0xFFFF } else { (1 << a.rest_len) - 1 };
        count = put_pair(both(a.get(i).0), (found ^ flip) & inside, out, count);
        found = 0;
        i += 1;
    }
    count
}

/// The values from `start` on, and [`TOP`] in the other lanes.
#[target_feature(enable = "sse4.2")]
#[inline]
fn load_from(values: &[Low], start: usize) -> __m128i {
    let rest = &values[start..];
    if let Some(block) = rest.first_chunk::<BLOCK>() {
        return load(block);
    }
    let mut block = [TOP; BLOCK];
    block[..rest.len()].copy_from_slice(rest);
    load(&block)
}

/// The lower half and the upper half of the values of two ascending registers, each ascending.
#[target_feature(enable = "sse4.2")]
#[inline]
fn merged(a: __m128i, b: __m128i) -> (__m128i, __m128i) {
    let reversed = _mm_set_epi8(1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
    let b = _mm_shuffle_epi8(b, reversed);
    (ascending(_mm_min_epu16(a, b)), ascending(_mm_max_epu16(a, b)))
}

/// The values of a bitonic register, sorted.
#[target_feature(enable = "sse4.2")]
#[inline]
fn ascending(mut v: __m128i) -> __m128i {
    v = halves::<0xF0>(v, _mm_shuffle_epi32::<0x4E>(v));
    v = halves::<0xCC>(v, _mm_shuffle_epi32::<0xB1>(v));
    halves::<0xAA>(v, _mm_or_si128(_mm_slli_epi32::<16>(v), _mm_srli_epi32::<16>(v)))
}

/// The smaller value of each pair; in lanes of `UPPER` the larger one.
#[target_feature(enable = "sse4.2")]
#[inline]
fn halves<const UPPER: i32>(v: __m128i, partners: __m128i) -> __m128i {
    _mm_blend_epi16::<UPPER>(_mm_min_epu16(v, partners), _mm_max_epu16(v, partners))
}

/// Writes merged values. Each waits for the next one, to be compared with it.
struct Output<'o> {
    both: bool,
    out: &'o mut [Low],
    count: usize,
    /// The values of the register before.
    before: __m128i,
}

impl Output<'_> {
    #[target_feature(enable = "sse4.2,popcnt")]
    #[inline]
    fn push(&mut self, next: __m128i) {
        let values = _mm_alignr_epi8::<14>(next, self.before);
        let previous = _mm_alignr_epi8::<12>(next, self.before);
        let mut unwanted = _mm_cmpeq_epi16(values, previous);
        if !self.both {
            unwanted = _mm_or_si128(unwanted, _mm_cmpeq_epi16(values, next));
        }
        let unwanted = _mm_movemask_epi8(_mm_packs_epi16(unwanted, _mm_setzero_si128()));
        self.count = put(values, !unwanted.cast_unsigned() & 0xFF, self.out, self.count);
        self.before = next;
    }
}

#[target_feature(enable = "sse4.2,popcnt")]
pub(super) fn merge(both: bool, a: &[Low], b: &[Low], out: &mut [Low]) -> usize {
    let ((a, top), (b, other_top)) = (without_top(a), without_top(b));
    let most = a.len() + b.len();
    let none = _mm_set1_epi16(-1);
    let mut output = Output { both, out, count: 0, before: none };
    let ((blocks, _), (others, _)) = (a.as_chunks::<BLOCK>(), b.as_chunks::<BLOCK>());
    // The upper half of the values that were merged last. At first, none is merged but a block of `a`.
    let mut rest = load_from(a, 0);
    let (mut i, mut j) = (1, 0);
    // Only the ends of the arrays need the steps below, which fill blocks.
    while let (Some(block), Some(other)) = (blocks.get(i), others.get(j)) {
        let is_first = u16::from_le_bytes(block[0]) <= u16::from_le_bytes(other[0]);
        let values = load(select_unpredictable(is_first, block, other));
        i += usize::from(is_first);
        j += usize::from(!is_first);
        let (lower, upper) = merged(rest, values);
        output.push(lower);
        rest = upper;
    }
    let (mut i, mut j) = (a.len().min(i * BLOCK), j * BLOCK);
    while i < a.len() || j < b.len() {
        let is_first = head(a, i) <= head(b, j);
        let (from, at) = select_unpredictable(is_first, (a, i), (b, j));
        let (lower, upper) = merged(rest, load_from(from, at));
        i += select_unpredictable(is_first, BLOCK, 0);
        j += select_unpredictable(is_first, 0, BLOCK);
        output.push(lower);
        rest = upper;
    }
    output.push(rest);
    output.push(none);
    with_top(both, output.out, output.count, most, [top, other_top])
}
