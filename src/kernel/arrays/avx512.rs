//! Merges 32 values with 32 others by a bitonic network, after Inoue and Taura (VLDB 2015). A value
//! that comes twice is found by comparing neighbours.

use super::{Low, head, with_top, without_top};
use std::arch::x86_64::{
    __m512i, _mm512_cmpneq_epu16_mask, _mm512_loadu_si512, _mm512_mask_blend_epi16,
    _mm512_mask_compress_epi16, _mm512_mask_loadu_epi16, _mm512_max_epu16, _mm512_min_epu16,
    _mm512_permutex2var_epi16, _mm512_permutexvar_epi16, _mm512_rol_epi32, _mm512_set1_epi16,
    _mm512_shuffle_epi32, _mm512_shuffle_i64x2, _mm512_storeu_si512,
};

/// Values of a register.
const LANES: usize = 32;

const fn lanes(first: u16, step: u16) -> [u16; LANES] {
    let mut lanes = [0; LANES];
    let mut index = 0;
    let mut next = first;
    while index < LANES {
        lanes[index] = next;
        next = next.wrapping_add(step);
        index += 1;
    }
    lanes
}

#[target_feature(enable = "avx512f")]
#[inline]
fn constant(lanes: &[u16; LANES]) -> __m512i {
    // SAFETY: `lanes` is 64 readable bytes; `loadu` needs no alignment.
    unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) }
}

/// The values from `start` on, and 65535 in the other lanes.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn load(values: &[Low], start: usize) -> __m512i {
    let rest = &values[start..];
    if let Some(block) = rest.first_chunk::<LANES>() {
        // SAFETY: `block` is 64 readable bytes; `loadu` needs no alignment.
        return unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
    }
    let mask = (1_u32 << rest.len()) - 1;
    let none = _mm512_set1_epi16(-1);
    // SAFETY: only the `rest.len()` values of `rest` are read.
    unsafe { _mm512_mask_loadu_epi16(none, mask, rest.as_ptr().cast()) }
}

/// The lower half and the upper half of the values of two ascending registers, each ascending.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn merged(a: __m512i, b: __m512i) -> (__m512i, __m512i) {
    const REVERSED: [u16; LANES] = lanes(31, u16::MAX);
    let b = _mm512_permutexvar_epi16(constant(&REVERSED), b);
    (ascending(_mm512_min_epu16(a, b)), ascending(_mm512_max_epu16(a, b)))
}

/// The values of a bitonic register, sorted.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn ascending(mut v: __m512i) -> __m512i {
    v = halves(v, _mm512_shuffle_i64x2::<0x4E>(v, v), 0xFFFF_0000);
    v = halves(v, _mm512_shuffle_i64x2::<0xB1>(v, v), 0xFF00_FF00);
    v = halves(v, _mm512_shuffle_epi32::<0x4E>(v), 0xF0F0_F0F0);
    v = halves(v, _mm512_shuffle_epi32::<0xB1>(v), 0xCCCC_CCCC);
    halves(v, _mm512_rol_epi32::<16>(v), 0xAAAA_AAAA)
}

/// The smaller value of each pair; in lanes of `upper` the larger one.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn halves(v: __m512i, partners: __m512i, upper: u32) -> __m512i {
    _mm512_mask_blend_epi16(upper, _mm512_min_epu16(v, partners), _mm512_max_epu16(v, partners))
}

/// Writes merged values. Each waits for the next one, to be compared with it.
struct Output<'o> {
    both: bool,
    out: &'o mut [Low],
    count: usize,
    /// The values of the register before.
    before: __m512i,
}

impl Output<'_> {
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
    #[inline]
    fn push(&mut self, next: __m512i) {
        const ONE_BACK: [u16; LANES] = lanes(31, 1);
        const TWO_BACK: [u16; LANES] = lanes(30, 1);
        let values = _mm512_permutex2var_epi16(self.before, constant(&ONE_BACK), next);
        let previous = _mm512_permutex2var_epi16(self.before, constant(&TWO_BACK), next);
        let mut wanted = _mm512_cmpneq_epu16_mask(values, previous);
        if !self.both {
            wanted &= _mm512_cmpneq_epu16_mask(values, next);
        }
        let packed = _mm512_mask_compress_epi16(values, wanted, values);
        let place = &mut self.out[self.count..self.count + LANES];
        // SAFETY: `place` is 64 writable bytes; `storeu` needs no alignment.
        unsafe { _mm512_storeu_si512(place.as_mut_ptr().cast(), packed) };
        self.count += wanted.count_ones() as usize;
        self.before = next;
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
pub(super) fn merge(both: bool, a: &[Low], b: &[Low], out: &mut [Low]) -> usize {
    let ((a, top), (b, other_top)) = (without_top(a), without_top(b));
    let most = a.len() + b.len();
    let none = _mm512_set1_epi16(-1);
    let mut output = Output { both, out, count: 0, before: none };
    let (mut i, mut j) = (0, 0);
    // The upper half of the values that were merged last.
    let mut rest = None;
    while i < a.len() || j < b.len() {
        let values;
        if head(a, i) <= head(b, j) {
            values = load(a, i);
            i += LANES.min(a.len() - i);
        } else {
            values = load(b, j);
            j += LANES.min(b.len() - j);
        }
        rest = Some(match rest {
            Some(rest) => {
                let (lower, upper) = merged(rest, values);
                output.push(lower);
                upper
            }
            None => values,
        });
    }
    output.push(rest.unwrap_or(none));
    output.push(none);
    with_top(both, output.out, output.count, most, [top, other_top])
}
