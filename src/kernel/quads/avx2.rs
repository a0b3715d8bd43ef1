//! Parses an address in one register. A table of shapes tells how to move its digits to their
//! places.

use super::Quads;
use std::arch::x86_64::{
    _mm_cmpeq_epi8, _mm_cmpgt_epi32, _mm_cvtsi128_si32, _mm_loadu_si128, _mm_madd_epi16,
    _mm_maddubs_epi16, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
    _mm_set1_epi16, _mm_set1_epi32, _mm_setr_epi8, _mm_shuffle_epi8, _mm_sub_epi8, _mm_testz_si128,
    _pdep_u32,
};
use std::ops::Range;

/// Bytes of the longest address and the byte behind it.
const WINDOW: usize = 16;

/// The shape of an address: the places of its three dots and of the byte behind it.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Shape {
    /// A bit for each place; 0 for no shape.
    ends: u32,
    /// For each octet, the places of its hundreds, tens and ones.
    digits: [u8; WINDOW],
    /// The least value of an octet with so many digits.
    least: [i32; 4],
}

/// The slot of a shape in the table. No two shapes have the same slot.
#[inline]
const fn slot(ends: u32) -> usize {
    (ends.wrapping_mul(0x1946_3011) >> 24) as usize
}

/// The shapes of all lengths of octets.
static SHAPES: [Shape; 256] = {
    let nothing = Shape { ends: 0, digits: [0x80; WINDOW], least: [0; 4] };
    let mut shapes = [nothing; 256];
    let mut number = 0;
    while number < 81 {
        let lengths = [number / 27 + 1, number / 9 % 3 + 1, number / 3 % 3 + 1, number % 3 + 1];
        let mut shape = nothing;
        let (mut octet, mut end) = (0, 0);
        while octet < 4 {
            let length = lengths[octet];
            let mut digit = 0;
            while digit < length {
                #[expect(clippy::cast_possible_truncation, reason = "below 16")]
                let place = (end + digit) as u8;
                shape.digits[4 * octet + 3 - length + digit] = place;
                digit += 1;
            }
            shape.least[octet] = [0, 0, 10, 100][length];
            end += length;
            shape.ends |= 1 << end;
            end += 1;
            octet += 1;
        }
        shapes[slot(shape.ends)] = shape;
        number += 1;
    }
    shapes
};

/// The address at `at`, and its end.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
#[expect(clippy::needless_bitwise_bool, reason = "no branch to mispredict")]
fn address(bytes: &[u8], at: usize) -> Option<(u32, usize)> {
    let window: &[u8; WINDOW] = bytes.get(at..)?.first_chunk()?;
    // SAFETY: the window has so many bytes.
    let window = unsafe { _mm_loadu_si128(window.as_ptr().cast()) };
    let digits = _mm_sub_epi8(window, _mm_set1_epi8(b'0'.cast_signed()));
    let are_digits = _mm_cmpeq_epi8(_mm_min_epu8(digits, _mm_set1_epi8(9)), digits);
    let dots = _mm_cmpeq_epi8(window, _mm_set1_epi8(b'.'.cast_signed()));
    let dots = _mm_movemask_epi8(dots).cast_unsigned();
    let others = !_mm_movemask_epi8(are_digits).cast_unsigned() & 0xFFFF;
    let ends = _pdep_u32(0xF, others);
    let end = 31_u32.wrapping_sub(ends.leading_zeros());
    let shape = &SHAPES[slot(ends)];
    // SAFETY: there are so many bytes.
    let places = unsafe { _mm_loadu_si128(shape.digits.as_ptr().cast()) };
    // SAFETY: these are four numbers.
    let least = unsafe { _mm_loadu_si128(shape.least.as_ptr().cast()) };
    let digits = _mm_shuffle_epi8(digits, places);
    let weights = _mm_set1_epi32(i32::from_le_bytes([100, 10, 1, 0]));
    let octets = _mm_madd_epi16(_mm_maddubs_epi16(digits, weights), _mm_set1_epi16(1));
    let above = _mm_cmpgt_epi32(octets, _mm_set1_epi32(255));
    let wrong = _mm_or_si128(above, _mm_cmpgt_epi32(least, octets));
    // Ends that are no shape never equal those of the slot; an empty slot has 0.
    let is_shape = (shape.ends == ends) & (dots & ends == ends & !(1 << (end & 31))) & (ends != 0);
    let lasts = _mm_setr_epi8(12, 8, 4, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    let address = _mm_cvtsi128_si32(_mm_shuffle_epi8(octets, lasts)).cast_unsigned();
    let is_address = is_shape & (_mm_testz_si128(wrong, wrong) == 1);
    is_address.then_some((address, at + end as usize))
}

/// The last address of a line that begins with `first`: `first` itself, or the last address of its
/// block if there is `/` at `at`; and its end. No branch depends on whether it is a block, because
/// that is random.
#[inline]
#[expect(clippy::needless_bitwise_bool, reason = "no branch to mispredict")]
fn last(first: u32, bytes: &[u8], at: usize) -> Option<(u32, usize)> {
    let behind: [u8; 4] = *bytes.get(at..)?.first_chunk()?;
    let [tens, ones] = [behind[1].wrapping_sub(b'0'), behind[2].wrapping_sub(b'0')];
    let is_block = behind[0] == b'/';
    let has_tens = ones < 10;
    let digits = if has_tens { 10 * u32::from(tens) + u32::from(ones) } else { tens.into() };
    let length = if is_block { digits } else { 32 };
    #[expect(clippy::cast_possible_truncation, reason = "at most 2^32 - 1")]
    let others = (u64::from(u32::MAX) >> (length & 63)) as u32;
    let end = at + if is_block { 2 + usize::from(has_tens) } else { 0 };
    let is_odd = is_block & ((tens > 9) | (has_tens & (tens == 0)));
    let is_plain = !is_odd & (length <= 32) & (first & others == 0);
    is_plain.then_some((first | others, end))
}

/// A bit for each of the 64 bytes at `at`, the first one the lowest; it is set if the byte is
/// `wanted`. It loads 128 bits at a time, so that the narrow loads of a line never wait for wide
/// ones.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
fn places(bytes: &[u8], at: usize, wanted: u8) -> Option<u64> {
    let quarters: &[[u8; WINDOW]; 4] = bytes.get(at..)?.as_chunks().0.first_chunk()?;
    let wanted = _mm_set1_epi8(wanted.cast_signed());
    let mut places = 0;
    for (number, quarter) in quarters.iter().enumerate() {
        // SAFETY: the quarter has so many bytes.
        let quarter = unsafe { _mm_loadu_si128(quarter.as_ptr().cast()) };
        let found = _mm_movemask_epi8(_mm_cmpeq_epi8(quarter, wanted)).cast_unsigned();
        places |= u64::from(found) << (WINDOW * number);
    }
    Some(places)
}

/// It finds the ends of lines first, so that parsing a line does not wait for the line before.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,lzcnt")]
pub(super) fn parse(
    quads: Quads<'_>,
    span: Range<usize>,
    mut take: impl FnMut(u64, u64, usize),
) -> usize {
    const BITS: usize = 64;
    let Quads { bytes, terminator, takes_ranges } = quads;
    let mut start = span.start;
    for at in span.clone().step_by(BITS) {
        let Some(mut ends) = places(bytes, at, terminator) else { break };
        if span.end - at < BITS {
            ends &= !(u64::MAX << (span.end - at));
        }
        while ends != 0 {
            let end = at + ends.trailing_zeros() as usize;
            ends &= ends - 1;
            let Some((first, mut behind)) = address(bytes, start) else { return start };
            let mut last_address = first;
            if takes_ranges {
                let found = if bytes.get(behind) == Some(&b'-') {
                    address(bytes, behind + 1)
                } else {
                    last(first, bytes, behind)
                };
                let Some(found) = found else { return start };
                (last_address, behind) = found;
            }
            behind += usize::from(behind != end && bytes.get(behind) == Some(&b'\r'));
            if behind != end || last_address < first {
                return start;
            }
            take(first.into(), last_address.into(), end);
            start = end + 1;
        }
    }
    start
}
