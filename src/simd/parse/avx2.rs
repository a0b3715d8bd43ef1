//! Four lines at a time in 256-bit registers; the method of the 512-bit kernel.

use super::Lines;
use super::windows::{self, Ends, WINDOW_BYTES};
use crate::simd::places;
use std::arch::x86_64::{
    __m128i, __m256i, _mm_cmpgt_epi8, _mm_loadu_si128, _mm_set_epi8, _mm_set1_epi8,
    _mm256_add_epi64, _mm256_and_si256, _mm256_cmpeq_epi8, _mm256_madd_epi16, _mm256_maddubs_epi16,
    _mm256_movemask_epi8, _mm256_mul_epu32, _mm256_or_si256, _mm256_packus_epi32, _mm256_set_m128i,
    _mm256_set1_epi8, _mm256_set1_epi16, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_srli_epi64,
    _mm256_storeu_si256, _mm256_sub_epi8, _mm256_subs_epu8,
};
use std::ops::Range;

/// Lines of a group.
const GROUP: usize = 4;

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) fn parse<L: Lines>(
    bytes: &[u8],
    span: Range<usize>,
    terminator: u8,
    lines: &mut L,
) -> usize {
    windows::parse::<GROUP, L>(
        bytes,
        span,
        terminator,
        lines,
        |window, ends| find_ends(bytes, window, terminator, ends),
        |ends, index, values, at| {
            let slot = values.get_mut(at..).and_then(<[u64]>::first_chunk_mut);
            slot.is_some_and(|slot| group(bytes, ends, index, slot))
        },
    )
}

/// Appends the positions of the terminators in `window`.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
#[expect(clippy::cast_possible_truncation, reason = "blocks are below 4 GiB")]
fn find_ends(bytes: &[u8], window: Range<usize>, terminator: u8, ends: &mut Ends) {
    assert!(window.end + 64 <= bytes.len() && window.len() <= WINDOW_BYTES && ends.count < 64);
    let mut at = window.start;
    while at < window.end {
        let Some(block) = bytes[at..].first_chunk() else { break };
        let mut mask = places::avx2::mask(block, terminator);
        if window.end - at < 64 {
            mask &= (1 << (window.end - at)) - 1;
        }
        let found = mask.count_ones() as usize;
        let mut done = 0;
        while done < found {
            // Eight without asking how many there are: fewer branches missed.
            for slot in &mut ends.positions[ends.count + done..ends.count + done + 8] {
                *slot = (at as u32).wrapping_add(mask.trailing_zeros());
                mask &= mask.wrapping_sub(1);
            }
            done += 8;
        }
        ends.count += found;
        at += 64;
    }
}

/// Parses lines `index..index + 4` into `slot`; false if one of them is not 1
/// to 20 digits, with or without a `\r`.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
#[inline]
fn group(bytes: &[u8], ends: &Ends, index: usize, slot: &mut [u64; 4]) -> bool {
    let Some(marks) = ends.positions[index..].first_chunk::<5>() else { return false };
    let mut tails = [0_usize; 4];
    let mut lengths = [0_usize; 4];
    let mut longest = 0;
    for line in 0..4 {
        let end = marks[line + 1] as usize;
        let tail = end - usize::from(bytes[end - 1] == b'\r');
        let length = tail.wrapping_sub(marks[line] as usize + 1);
        if length.wrapping_sub(1) > 19 {
            return false;
        }
        (tails[line], lengths[line]) = (tail, length);
        longest = longest.max(length);
    }
    let lane = |line: usize, back: usize| -> __m128i {
        let end = tails[line] - back;
        debug_assert!(end >= 16 && end <= bytes.len());
        // SAFETY: `windows::parse` gives lines that `find_ends` found in these
        // bytes, in the span that `check_span` put at least 64 bytes behind
        // their start and before their end; a `\r` takes one and `back` at most
        // 16 of the 64, so `end - 16` is inside.
        unsafe { _mm_loadu_si128(bytes.as_ptr().wrapping_add(end - 16).cast()) }
    };
    let two = |line: usize, back: usize| {
        let chunk = _mm256_set_m128i(lane(line + 2, back), lane(line, back));
        let mask = _mm256_set_m128i(
            inside(lengths[line + 2].saturating_sub(back)),
            inside(lengths[line].saturating_sub(back)),
        );
        pairs(chunk, mask)
    };
    let Some(low) = join(two(0, 0), two(1, 0)) else { return false };
    let mut low_words = [0_u64; 4];
    // SAFETY: `low_words` is 32 writable bytes.
    unsafe { _mm256_storeu_si256(low_words.as_mut_ptr().cast(), low) };
    if longest > 16 {
        let Some(high) = join(two(0, 16), two(1, 16)) else { return false };
        let mut high_words = [0_u64; 4];
        // SAFETY: `high_words` is 32 writable bytes.
        unsafe { _mm256_storeu_si256(high_words.as_mut_ptr().cast(), high) };
        for (word, high) in low_words.iter_mut().zip(high_words) {
            let Some(value) = high
                .checked_mul(10_000_000_000_000_000)
                .and_then(|scaled| scaled.checked_add(*word))
            else {
                return false;
            };
            *word = value;
        }
    }
    *slot = low_words;
    true
}

/// All ones in the last `length` bytes of a lane; `length` beyond 16 is 16.
#[target_feature(enable = "avx2")]
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "at most 16")]
fn inside(length: usize) -> __m128i {
    let from_end = _mm_set_epi8(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
    _mm_cmpgt_epi8(_mm_set1_epi8(length.min(16) as i8 + 1), from_end)
}

/// Two-digit values of two lines, and all ones where a byte was no digit.
#[target_feature(enable = "avx2")]
#[inline]
fn pairs(chunk: __m256i, inside: __m256i) -> (__m256i, __m256i) {
    let digits = _mm256_and_si256(_mm256_sub_epi8(chunk, _mm256_set1_epi8(0x30)), inside);
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
