//! Parses eight lines at a time in 512-bit registers.
//!
//! The last 16 bytes of a line are loaded, so that its digits are at the end of a 128-bit lane. The
//! bytes before the line are set to zero. Three multiply-adds join the digits to pairs, fours and
//! eights.

use super::ParseSink;
use super::windows::{self, Ends, WINDOW_BYTES};
use crate::kernel::places;
use std::arch::x86_64::{
    __m128i, __m512i, _mm_loadu_si128, _mm256_cmpgt_epu32_mask, _mm256_loadu_si256,
    _mm256_set1_epi32, _mm256_sub_epi32, _mm512_add_epi32, _mm512_add_epi64,
    _mm512_castsi128_si512, _mm512_castsi256_si512, _mm512_cmpge_epu8_mask,
    _mm512_cmpgt_epu64_mask, _mm512_cmplt_epu64_mask, _mm512_cvtepu8_epi32,
    _mm512_extracti32x4_epi32, _mm512_inserti32x4, _mm512_madd_epi16, _mm512_maddubs_epi16,
    _mm512_mask_cmpgt_epu8_mask, _mm512_maskz_sub_epi8, _mm512_mul_epu32, _mm512_mullo_epi64,
    _mm512_packus_epi32, _mm512_permutexvar_epi8, _mm512_set1_epi8, _mm512_set1_epi16,
    _mm512_set1_epi32, _mm512_set1_epi64, _mm512_set4_epi32, _mm512_srli_epi64,
    _mm512_storeu_si512, _mm512_subs_epu8,
};
use std::ops::Range;

/// Lines of a group.
const GROUP: usize = 8;

#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt,lzcnt"
)]
pub(super) fn parse<L: ParseSink>(
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
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt"
)]
#[expect(clippy::cast_possible_wrap, clippy::cast_possible_truncation, reason = "lanes are bits")]
fn find_ends(bytes: &[u8], window: Range<usize>, terminator: u8, ends: &mut Ends) {
    assert!(window.end + 64 <= bytes.len() && window.len() <= WINDOW_BYTES && ends.count < 64);
    let mut at = window.start;
    while at < window.end {
        let Some(block) = bytes[at..].first_chunk() else { break };
        let mut mask = places::avx512::mask(block, terminator);
        if window.end - at < 64 {
            mask &= (1 << (window.end - at)) - 1;
        }
        let found = mask.count_ones() as usize;
        let mut offsets = places::avx512::set_bits(mask);
        let base = _mm512_set1_epi32(at as i32);
        let mut done = 0;
        loop {
            let low = _mm512_extracti32x4_epi32::<0>(offsets);
            let positions = _mm512_add_epi32(_mm512_cvtepu8_epi32(low), base);
            let slot: &mut [u32; 16] =
                ends.positions[ends.count + done..].first_chunk_mut().unwrap_or_else(|| full());
            // SAFETY: `slot` is 64 writable bytes; `storeu` needs no alignment.
            unsafe { _mm512_storeu_si512(slot.as_mut_ptr().cast(), positions) };
            done += 16;
            if done >= found {
                break;
            }
            // Bring the next 16 offsets to the front.
            let next = _mm512_add_epi32(places::avx512::iota(), _mm512_set1_epi8(16));
            offsets = _mm512_permutexvar_epi8(next, offsets);
        }
        ends.count += found;
        at += 64;
    }
}

/// A window has at most one terminator for each byte, so this never happens.
#[cold]
fn full() -> ! {
    unreachable!("a window has no more lines than bytes")
}

/// Parses lines `index..index + 8` into `slot`; false if one of them is not 1 to 20 digits (and
/// `\r` if `carriage_return`).
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt"
)]
#[inline]
fn group(
    bytes: &[u8],
    ends: &Ends,
    index: usize,
    carriage_return: bool,
    slot: &mut [u64; GROUP],
) -> bool {
    let (Some(before), Some(after)) = (
        ends.positions[index..].first_chunk::<8>(),
        ends.positions[index + 1..].first_chunk::<8>(),
    ) else {
        return false;
    };
    let tail = usize::from(carriage_return);
    if carriage_return && !after.iter().all(|&end| bytes[end as usize - 1] == b'\r') {
        return false;
    }
    // SAFETY: `before` and `after` are 32 readable bytes each.
    let before = unsafe { _mm256_loadu_si256(before.as_ptr().cast()) };
    // SAFETY: as above.
    let after_ends = unsafe { _mm256_loadu_si256(after.as_ptr().cast()) };
    #[expect(clippy::cast_possible_wrap, clippy::cast_possible_truncation, reason = "1 or 2")]
    let behind = _mm256_set1_epi32(1 + tail as i32);
    // A length of 0 (or −1) wraps to a huge one.
    let less_one = _mm256_sub_epi32(
        _mm256_sub_epi32(_mm256_sub_epi32(after_ends, before), behind),
        _mm256_set1_epi32(1),
    );
    let wide = _mm256_cmpgt_epu32_mask(less_one, _mm256_set1_epi32(15)) != 0;
    if wide && _mm256_cmpgt_epu32_mask(less_one, _mm256_set1_epi32(19)) != 0 {
        return false;
    }
    let lengths = _mm512_add_epi32(_mm512_castsi256_si512(less_one), _mm512_set1_epi32(1));
    let even = _mm512_permutexvar_epi8(broadcast_bytes(0), lengths);
    let odd = _mm512_permutexvar_epi8(broadcast_bytes(1), lengths);
    let last = Tails { bytes, ends: after, tail };
    let sixteen = _mm512_set1_epi8(16);
    let Some(low) = join(last.load(0, 0), last.load(1, 0), min16(even), min16(odd)) else {
        return false;
    };
    let mut result = low;
    if wide {
        let (even, odd) = (_mm512_subs_epu8(even, sixteen), _mm512_subs_epu8(odd, sixteen));
        let Some(high) = join(last.load(0, 16), last.load(1, 16), even, odd) else {
            return false;
        };
        // 1844 · 10^16 is the largest multiple of 10^16 below 2^64.
        let too_large = _mm512_cmpgt_epu64_mask(high, _mm512_set1_epi64(1844));
        let scaled = _mm512_mullo_epi64(high, _mm512_set1_epi64(10_000_000_000_000_000));
        result = _mm512_add_epi64(scaled, low);
        if (too_large | _mm512_cmplt_epu64_mask(result, low)) != 0 {
            return false;
        }
    }
    // SAFETY: `slot` is 64 writable bytes.
    unsafe { _mm512_storeu_si512(slot.as_mut_ptr().cast(), result) };
    true
}

/// The ends of eight lines in bytes that are padded in front.
struct Tails<'a> {
    bytes: &'a [u8],
    ends: &'a [u32; 8],
    tail: usize,
}

impl Tails<'_> {
    /// The 16 bytes that end `back` bytes before the end of lines `parity`,
    /// `parity + 2`, `parity + 4` and `parity + 6`.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    #[inline]
    fn load(&self, parity: usize, back: usize) -> __m512i {
        let lane = |line: usize| -> __m128i {
            let end = self.ends[line] as usize - self.tail - back;
            debug_assert!(end >= 16 && end <= self.bytes.len());
            // SAFETY: `windows::parse` gives lines that `find_ends` found in
            // these bytes, in the span that `check_span` put at least 64 bytes
            // behind their start and before their end; `tail` is at most 1 and
            // `back` at most 16 of the 64, so `end - 16` is inside.
            unsafe { _mm_loadu_si128(self.bytes.as_ptr().wrapping_add(end - 16).cast()) }
        };
        let lanes = _mm512_castsi128_si512(lane(parity));
        let lanes = _mm512_inserti32x4::<1>(lanes, lane(parity + 2));
        let lanes = _mm512_inserti32x4::<2>(lanes, lane(parity + 4));
        _mm512_inserti32x4::<3>(lanes, lane(parity + 6))
    }
}

/// The values of eight right-aligned strings of digits, four in `even` and four in `odd`. Every
/// byte of a lane of the lengths has the length of that line (0 to 16).
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn join(even: __m512i, odd: __m512i, even_length: __m512i, odd_length: __m512i) -> Option<__m512i> {
    let (even, even_bad) = pairs(even, even_length);
    let (odd, odd_bad) = pairs(odd, odd_length);
    if (even_bad | odd_bad) != 0 {
        return None;
    }
    let hundreds = _mm512_set1_epi32(0x0001_0064); // ·100, ·1
    let fours =
        _mm512_packus_epi32(_mm512_madd_epi16(even, hundreds), _mm512_madd_epi16(odd, hundreds));
    let eights = _mm512_madd_epi16(fours, _mm512_set1_epi32(0x0001_2710)); // ·10000, ·1
    let scaled = _mm512_mul_epu32(eights, _mm512_set1_epi64(100_000_000));
    Some(_mm512_add_epi64(scaled, _mm512_srli_epi64::<32>(eights)))
}

/// The two-digit values of four lines, and a bit for each byte that was no digit.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn pairs(chunk: __m512i, length: __m512i) -> (__m512i, u64) {
    // Byte i of a lane belongs to the line if i + length >= 16.
    let from_end = _mm512_set4_epi32(0x0102_0304, 0x0506_0708, 0x090A_0B0C, 0x0D0E_0F10);
    let inside = _mm512_cmpge_epu8_mask(length, from_end);
    let digits = _mm512_maskz_sub_epi8(inside, chunk, _mm512_set1_epi8(0x30));
    let bad = _mm512_mask_cmpgt_epu8_mask(inside, digits, _mm512_set1_epi8(9));
    (_mm512_maddubs_epi16(digits, _mm512_set1_epi16(0x010A)), bad) // ·10, ·1
}

#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn min16(lengths: __m512i) -> __m512i {
    std::arch::x86_64::_mm512_min_epu8(lengths, _mm512_set1_epi8(16))
}

/// Indices that copy the low byte of each 32-bit element `2 · lane + parity` to all bytes of its
/// 128-bit lane.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn broadcast_bytes(parity: i32) -> __m512i {
    let byte = |lane: i32| (8 * lane + 4 * parity) * 0x0101_0101;
    let (a, b, c, d) = (byte(0), byte(1), byte(2), byte(3));
    std::arch::x86_64::_mm512_set_epi32(d, d, d, d, c, c, c, c, b, b, b, b, a, a, a, a)
}
