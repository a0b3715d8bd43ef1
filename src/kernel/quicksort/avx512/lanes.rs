//! Operations on the lanes of a register, for values of 32 and 64 bits.

use crate::kernel::quicksort::Sortable;
use std::arch::x86_64::{
    __m512i, _mm512_cmple_epu32_mask, _mm512_cmple_epu64_mask, _mm512_cmplt_epu32_mask,
    _mm512_cmplt_epu64_mask, _mm512_loadu_si512, _mm512_mask_loadu_epi32, _mm512_mask_loadu_epi64,
    _mm512_mask_max_epu32, _mm512_mask_max_epu64, _mm512_mask_storeu_epi32,
    _mm512_mask_storeu_epi64, _mm512_maskz_compress_epi32, _mm512_maskz_compress_epi64,
    _mm512_max_epu32, _mm512_max_epu64, _mm512_min_epu32, _mm512_min_epu64,
    _mm512_permutexvar_epi32, _mm512_permutexvar_epi64, _mm512_set1_epi32, _mm512_set1_epi64,
    _mm512_storeu_si512, _mm512_sub_epi32, _mm512_sub_epi64,
};

/// Bytes of a register.
const BYTES: usize = 64;

/// Values of a register.
pub(super) const fn count<T>() -> usize {
    BYTES / size_of::<T>()
}

/// A mask of the lowest `lanes` lanes; at most 16.
#[expect(clippy::cast_possible_truncation, reason = "16 at most")]
pub(super) fn lowest(lanes: usize) -> u16 {
    u16::MAX.checked_shr(16 - lanes as u32).unwrap_or(0)
}

const fn is_wide<T>() -> bool {
    size_of::<T>() == size_of::<u64>()
}

/// The numbers of the lanes, each combined with `xor` by XOR, for values of 64 bits.
const fn wide_numbers(xor: u64) -> [u64; BYTES / 8] {
    let mut lanes = [xor; BYTES / 8];
    let mut lane = 0;
    while lane < lanes.len() {
        lanes[lane] ^= lane as u64;
        lane += 1;
    }
    lanes
}

/// The same for values of 32 bits.
#[expect(clippy::cast_possible_truncation, reason = "16 lanes")]
const fn narrow_numbers(xor: u32) -> [u32; BYTES / 4] {
    let mut lanes = [xor; BYTES / 4];
    let mut lane = 0;
    while lane < lanes.len() {
        lanes[lane] ^= lane as u32;
        lane += 1;
    }
    lanes
}

/// `value` in each lane.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn splat<T: Sortable>(value: T) -> __m512i {
    if is_wide::<T>() {
        _mm512_set1_epi64(value.widen().cast_signed())
    } else {
        _mm512_set1_epi32(low_half(value.widen()))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "values of narrow lanes have 32 bits")]
fn low_half(value: u64) -> i32 {
    value as i32
}

/// The lower value of each lane.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn lower<T>(a: __m512i, b: __m512i) -> __m512i {
    if is_wide::<T>() { _mm512_min_epu64(a, b) } else { _mm512_min_epu32(a, b) }
}

/// The higher value of each lane.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn higher<T>(a: __m512i, b: __m512i) -> __m512i {
    if is_wide::<T>() { _mm512_max_epu64(a, b) } else { _mm512_max_epu32(a, b) }
}

/// The higher value of each lane of `mask`, the lower value of each other lane.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn ordered<T>(a: __m512i, b: __m512i, mask: u16) -> __m512i {
    let low = lower::<T>(a, b);
    if is_wide::<T>() {
        _mm512_mask_max_epu64(low, byte(mask), a, b)
    } else {
        _mm512_mask_max_epu32(low, mask, a, b)
    }
}

/// The mask for 8 lanes.
fn byte(mask: u16) -> u8 {
    mask.to_le_bytes()[0]
}

/// Lane `i` gets the value of lane `i ^ XOR`.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn swapped<T, const XOR: u32>(a: __m512i) -> __m512i {
    if is_wide::<T>() {
        _mm512_permutexvar_epi64(wide(const { wide_numbers(XOR as u64) }), a)
    } else {
        _mm512_permutexvar_epi32(narrow(const { narrow_numbers(XOR) }), a)
    }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn wide(lanes: [u64; BYTES / 8]) -> __m512i {
    // SAFETY: `lanes` is 64 readable bytes; `loadu` needs no alignment.
    unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn narrow(lanes: [u32; BYTES / 4]) -> __m512i {
    // SAFETY: as in `wide`.
    unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) }
}

/// Lane `i` gets the value of lane `i - by`, modulo the number of lanes.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn rotated<T>(a: __m512i, by: usize) -> __m512i {
    let by = i32::try_from(by).unwrap_or(0);
    if is_wide::<T>() {
        let from = _mm512_sub_epi64(wide(const { wide_numbers(0) }), _mm512_set1_epi64(by.into()));
        _mm512_permutexvar_epi64(from, a)
    } else {
        let from = _mm512_sub_epi32(narrow(const { narrow_numbers(0) }), _mm512_set1_epi32(by));
        _mm512_permutexvar_epi32(from, a)
    }
}

/// The lanes in which `a` is below `b`.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn below<T>(a: __m512i, b: __m512i) -> u16 {
    if is_wide::<T>() {
        _mm512_cmplt_epu64_mask(a, b).into()
    } else {
        _mm512_cmplt_epu32_mask(a, b)
    }
}

/// The lanes in which `a` is at most `b`.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn up_to<T>(a: __m512i, b: __m512i) -> u16 {
    if is_wide::<T>() {
        _mm512_cmple_epu64_mask(a, b).into()
    } else {
        _mm512_cmple_epu32_mask(a, b)
    }
}

/// The values of the lanes of `mask`, in the lowest lanes.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn packed<T>(mask: u16, a: __m512i) -> __m512i {
    if is_wide::<T>() {
        _mm512_maskz_compress_epi64(byte(mask), a)
    } else {
        _mm512_maskz_compress_epi32(mask, a)
    }
}

/// The values from `at` on.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn load<T: Sortable>(values: &[T], at: usize) -> __m512i {
    let register = &values[at..at + count::<T>()];
    // SAFETY: `register` is 64 readable bytes; `loadu` needs no alignment.
    unsafe { _mm512_loadu_si512(register.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn store<T: Sortable>(values: &mut [T], at: usize, register: __m512i) {
    let to = &mut values[at..at + count::<T>()];
    // SAFETY: `to` is 64 writable bytes, in which any bits are values; `storeu` needs no
    // alignment.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), register) }
}

/// All of the values; the other lanes get the highest value.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn load_few<T: Sortable>(values: &[T]) -> __m512i {
    let mask = lowest(values.len().min(count::<T>()));
    let top = _mm512_set1_epi64(-1);
    if is_wide::<T>() {
        // SAFETY: only the lanes of `mask` are read: of `values`, at most all.
        unsafe { _mm512_mask_loadu_epi64(top, byte(mask), values.as_ptr().cast()) }
    } else {
        // SAFETY: as above.
        unsafe { _mm512_mask_loadu_epi32(top, mask, values.as_ptr().cast()) }
    }
}

/// Stores the lowest lanes, as many as there is room for.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn store_few<T: Sortable>(to: &mut [T], register: __m512i) {
    let mask = lowest(to.len().min(count::<T>()));
    if is_wide::<T>() {
        // SAFETY: only the lanes of `mask` are written: in `to`, at most all; any bits are values.
        unsafe { _mm512_mask_storeu_epi64(to.as_mut_ptr().cast(), byte(mask), register) }
    } else {
        // SAFETY: as above.
        unsafe { _mm512_mask_storeu_epi32(to.as_mut_ptr().cast(), mask, register) }
    }
}
