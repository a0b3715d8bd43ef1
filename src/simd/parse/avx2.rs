//! Four lines at a time in 256-bit registers; the method of the 512-bit kernel.

use super::Lines;
use super::windows::{self, Ends, WINDOW_BYTES};
use crate::simd::places;
use std::arch::x86_64::{
    __m128i, __m256i, _mm_cmpeq_epi32, _mm_loadu_si128, _mm_max_epu32, _mm_movemask_epi8,
    _mm_set1_epi32, _mm_sub_epi32, _mm_testz_si128, _mm256_add_epi64, _mm256_and_si256,
    _mm256_cmpeq_epi8, _mm256_madd_epi16, _mm256_maddubs_epi16, _mm256_movemask_epi8,
    _mm256_mul_epu32, _mm256_or_si256, _mm256_packus_epi32, _mm256_set_m128i, _mm256_set1_epi8,
    _mm256_set1_epi16, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_srli_epi64,
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
        |ends, index, carriage_return, slot| group(bytes, ends, index, carriage_return, slot),
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
/// to 20 digits (and `\r` if so announced).
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
#[inline]
fn group(
    bytes: &[u8],
    ends: &Ends,
    index: usize,
    carriage_return: bool,
    slot: &mut [u64; GROUP],
) -> bool {
    let Some(marks) = ends.positions[index..].first_chunk::<{ GROUP + 1 }>() else { return false };
    let tail = u32::from(carriage_return);
    if carriage_return && !marks[1..].iter().all(|&end| bytes[end as usize - 1] == b'\r') {
        return false;
    }
    // SAFETY: the first four marks are 16 readable bytes.
    let before = unsafe { _mm_loadu_si128(marks.as_ptr().cast()) };
    // SAFETY: the last four marks are, too.
    let after = unsafe { _mm_loadu_si128(marks.as_ptr().wrapping_add(1).cast()) };
    // Length 0 (or -1) wraps round to a huge one.
    let behind = _mm_set1_epi32(2 + tail.cast_signed());
    let less_one = _mm_sub_epi32(_mm_sub_epi32(after, before), behind);
    let wide = _mm_testz_si128(less_one, _mm_set1_epi32(!15)) == 0;
    if wide {
        let nineteen = _mm_set1_epi32(19);
        let fit = _mm_cmpeq_epi32(_mm_max_epu32(less_one, nineteen), nineteen);
        if _mm_movemask_epi8(fit) != 0xFFFF {
            return false;
        }
    }
    let two = |line: usize, back: usize| -> Option<(__m256i, __m256i)> {
        let lane = |line: usize| -> Option<(__m128i, __m128i)> {
            let end = (marks[line + 1] - tail) as usize - back;
            debug_assert!(end >= 16 && end <= bytes.len());
            // SAFETY: `windows::parse` gives lines that `find_ends` found in these
            // bytes, in the span that `check_span` put at least 64 bytes behind
            // their start and before their end; a `\r` takes one and `back` at most
            // 16 of the 64, so `end - 16` is inside.
            let chunk = unsafe { _mm_loadu_si128(bytes.as_ptr().wrapping_add(end - 16).cast()) };
            let length = (marks[line + 1] - tail - marks[line] - 1) as usize;
            let inside: &[u8; 16] =
                INSIDE[length.saturating_sub(back).min(INSIDE.len())..].first_chunk()?;
            // SAFETY: `inside` is 16 readable bytes.
            Some((chunk, unsafe { _mm_loadu_si128(inside.as_ptr().cast()) }))
        };
        let ((lower, lower_inside), (upper, upper_inside)) = (lane(line)?, lane(line + 2)?);
        Some(pairs(_mm256_set_m128i(upper, lower), _mm256_set_m128i(upper_inside, lower_inside)))
    };
    let four = |back: usize| join(two(0, back)?, two(1, back)?);
    let Some(low) = four(0) else { return false };
    // SAFETY: `slot` is 32 writable bytes.
    unsafe { _mm256_storeu_si256(slot.as_mut_ptr().cast(), low) };
    if wide {
        let Some(high) = four(16) else { return false };
        let mut high_words = [0_u64; GROUP];
        // SAFETY: `high_words` is 32 writable bytes.
        unsafe { _mm256_storeu_si256(high_words.as_mut_ptr().cast(), high) };
        for (word, high) in slot.iter_mut().zip(high_words) {
            let Some(value) = high
                .checked_mul(10_000_000_000_000_000)
                .and_then(|scaled| scaled.checked_add(*word))
            else {
                return false;
            };
            *word = value;
        }
    }
    true
}

/// From `length` on, up to 32: 16 bytes of which the last `length` are all ones.
static INSIDE: [u8; 48] = {
    let mut inside = [0xFF; 48];
    let (nothing, _) = inside.split_at_mut(16);
    nothing.copy_from_slice(&[0; 16]);
    inside
};

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
