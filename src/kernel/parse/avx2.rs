//! Parses four lines at a time in 256-bit registers, by the method of the 512-bit kernel.

use super::ParseSink;
use super::windows::{self, Ends};
use crate::kernel::places;
use std::arch::x86_64::{
    __m128i, __m256i, _mm_cmpeq_epi32, _mm_loadu_si128, _mm_max_epu32, _mm_movemask_epi8,
    _mm_set_epi8, _mm_set1_epi8, _mm_set1_epi32, _mm_sub_epi32, _mm_testz_si128, _mm256_add_epi64,
    _mm256_andnot_si256, _mm256_broadcastsi128_si256, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8,
    _mm256_madd_epi16, _mm256_maddubs_epi16, _mm256_movemask_epi8, _mm256_mul_epu32,
    _mm256_or_si256, _mm256_packus_epi32, _mm256_set_m128i, _mm256_set1_epi8, _mm256_set1_epi16,
    _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_shuffle_epi8, _mm256_srli_epi64,
    _mm256_storeu_si256, _mm256_sub_epi8, _mm256_subs_epu8,
};
use std::ops::Range;

/// Lines of a group.
const GROUP: usize = 4;

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) fn parse<L: ParseSink>(
    bytes: &[u8],
    span: Range<usize>,
    terminator: u8,
    lines: &mut L,
) -> usize {
    let find_ends = |window, ends: &mut Ends| {
        ends.find(bytes, window, |block| places::avx2::mask(block, terminator));
    };
    windows::parse::<GROUP, L>(
        bytes,
        span,
        terminator,
        lines,
        find_ends,
        |ends, index, carriage_return, slot| group::<L>(bytes, ends, index, carriage_return, slot),
    )
}

/// Parses lines `index..index + 4` into `slot`; false if one of them is not 1 to 20 digits (and
/// `\r` if `carriage_return`). It is generic in the sink, so that it has one caller and the
/// compiler inlines it there.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
#[inline]
fn group<L>(
    bytes: &[u8],
    ends: &Ends,
    index: usize,
    carriage_return: bool,
    slot: &mut [u64; GROUP],
) -> bool {
    let Some((marks, ends)) = ends.four(bytes, index, carriage_return) else { return false };
    // SAFETY: the first four marks are 16 readable bytes.
    let before = unsafe { _mm_loadu_si128(marks.as_ptr().cast()) };
    // SAFETY: the last four marks are, too.
    let after = unsafe { _mm_loadu_si128(marks.as_ptr().wrapping_add(1).cast()) };
    // A length of 0 (or -1) wraps to a huge one.
    let behind = _mm_set1_epi32(2 + i32::from(carriage_return));
    let less_one = _mm_sub_epi32(_mm_sub_epi32(after, before), behind);
    if _mm_testz_si128(less_one, _mm_set1_epi32(!15)) == 0 {
        return wide(bytes, ends, less_one, slot);
    }
    let Some(values) = last_digits(bytes, ends, less_one) else { return false };
    // SAFETY: `slot` is 32 writable bytes.
    unsafe { _mm256_storeu_si256(slot.as_mut_ptr().cast(), values) };
    true
}

/// Does the same as [`group`] for lines that may have more than 16 digits, given their ends and
/// lengths.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
#[inline(never)]
fn wide(bytes: &[u8], ends: [usize; GROUP], less_one: __m128i, slot: &mut [u64; GROUP]) -> bool {
    let nineteen = _mm_set1_epi32(19);
    let fit = _mm_cmpeq_epi32(_mm_max_epu32(less_one, nineteen), nineteen);
    if _mm_movemask_epi8(fit) != 0xFFFF {
        return false;
    }
    let Some(low) = last_digits(bytes, ends, less_one) else { return false };
    let above = _mm_sub_epi32(less_one, _mm_set1_epi32(16));
    let Some(high) = last_digits(bytes, ends.map(|end| end - 16), above) else { return false };
    // SAFETY: `slot` is 32 writable bytes.
    unsafe { _mm256_storeu_si256(slot.as_mut_ptr().cast(), low) };
    let mut high_words = [0_u64; GROUP];
    // SAFETY: `high_words` is 32 writable bytes.
    unsafe { _mm256_storeu_si256(high_words.as_mut_ptr().cast(), high) };
    for (word, high) in slot.iter_mut().zip(high_words) {
        let Some(value) =
            high.checked_mul(10_000_000_000_000_000).and_then(|scaled| scaled.checked_add(*word))
        else {
            return false;
        };
        *word = value;
    }
    true
}

/// The values of the last digits, up to 16, of the lines that end at `ends`; none if there are
/// other bytes. The low byte of each line's `less_one` is its length minus one, which may be
/// negative.
#[target_feature(enable = "avx2")]
#[inline]
fn last_digits(bytes: &[u8], ends: [usize; GROUP], less_one: __m128i) -> Option<__m256i> {
    let chunk = |end: usize| {
        debug_assert!(end >= 16 && end <= bytes.len());
        // SAFETY: `windows::parse` gives lines that `Ends::find` found in these bytes,
        // in the span that `check_span` put at least 64 bytes behind their start and
        // before their end; a `\r` takes one of the 64, and the 16 digits behind
        // these take as many, so `end - 16` is inside.
        unsafe { _mm_loadu_si128(bytes.as_ptr().wrapping_add(end - 16).cast()) }
    };
    let [first, second, third, fourth] = ends.map(chunk);
    let less_one = _mm256_set_m128i(less_one, less_one);
    let even = pairs(_mm256_set_m128i(third, first), less_one, 0, 8);
    let odd = pairs(_mm256_set_m128i(fourth, second), less_one, 4, 12);
    join(even, odd)
}

/// The two-digit values of two lines, and a nonzero value where a byte was no digit. `lower` and
/// `upper` are the places of the lines' bytes in both halves of `less_one`.
#[target_feature(enable = "avx2")]
#[inline]
fn pairs(chunk: __m256i, less_one: __m256i, lower: i8, upper: i8) -> (__m256i, __m256i) {
    let everywhere = _mm256_set_m128i(_mm_set1_epi8(upper), _mm_set1_epi8(lower));
    let before_last = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let outside = _mm256_cmpgt_epi8(
        _mm256_broadcastsi128_si256(before_last),
        _mm256_shuffle_epi8(less_one, everywhere),
    );
    let digits = _mm256_andnot_si256(outside, _mm256_sub_epi8(chunk, _mm256_set1_epi8(0x30)));
    let bad = _mm256_subs_epu8(digits, _mm256_set1_epi8(9));
    (_mm256_maddubs_epi16(digits, _mm256_set1_epi16(0x010A)), bad)
}

/// Values of four lines, in order.
#[target_feature(enable = "avx2")]
#[inline]
fn join(even: (__m256i, __m256i), odd: (__m256i, __m256i)) -> Option<__m256i> {
    let zero = _mm256_set1_epi8(0);
    let good = _mm256_cmpeq_epi8(_mm256_or_si256(even.1, odd.1), zero);
    if _mm256_movemask_epi8(good) != -1 {
        return None;
    }
    let hundreds = _mm256_set1_epi32(0x0001_0064);
    let fours = _mm256_packus_epi32(
        _mm256_madd_epi16(even.0, hundreds),
        _mm256_madd_epi16(odd.0, hundreds),
    );
    let eights = _mm256_madd_epi16(fours, _mm256_set1_epi32(0x0001_2710));
    let scaled = _mm256_mul_epu32(eights, _mm256_set1_epi64x(100_000_000));
    Some(_mm256_add_epi64(scaled, _mm256_srli_epi64::<32>(eights)))
}
