//! Eight bits of a line in 512-bit registers.

use super::{LINE_WORDS, MULTIPLIER, Place, place_of, scalar};
use std::arch::x86_64::{
    __m512i, _mm512_andnot_si512, _mm512_cmplt_epu64_mask, _mm512_gf2p8affine_epi64_epi8,
    _mm512_loadu_epi64, _mm512_maskz_rolv_epi64, _mm512_maskz_sllv_epi64, _mm512_mullo_epi64,
    _mm512_or_si512, _mm512_permutexvar_epi8, _mm512_permutexvar_epi64, _mm512_rorv_epi64,
    _mm512_set1_epi64, _mm512_setr_epi64, _mm512_setzero_si512, _mm512_srli_epi64,
    _mm512_storeu_epi64, _mm512_test_epi64_mask, _mm512_testn_epi64_mask,
};

#[target_feature(enable = "avx512f,avx512dq")]
pub(super) fn have_bits(
    lines: &[[u64; LINE_WORDS]],
    places: &[Place],
    count: u32,
    found: &mut [bool],
) {
    let powers = first_powers(count);
    for (found, &(line, hash)) in found.iter_mut().zip(places) {
        let line = lines.get(line);
        *found = line.is_some_and(|line| has_bits(line, powers, hash, count));
    }
}

/// Up to eight bits. A loop over keys calls it for each key, so it does only what it needs, and
/// finds the line itself, where registers are free: this takes 44 instead of 57 instructions for
/// each key, and 2 more keys wait for their lines at a time.
#[target_feature(enable = "avx512f,avx512dq")]
pub(super) fn has_few(lines: &[[u64; LINE_WORDS]], hash: u64, powers: &[u64; LINE_WORDS]) -> bool {
    let (line, _) = place_of(lines.len(), hash);
    let Some(line) = lines.get(line) else { return false };
    missing(load(line), products(hash, powers)) == 0
}

/// Any number of bits.
#[target_feature(enable = "avx512f,avx512dq")]
pub(super) fn has_more(lines: &[[u64; LINE_WORDS]], hash: u64, count: u32) -> bool {
    let (line, _) = place_of(lines.len(), hash);
    lines.get(line).is_some_and(|line| has_bits(line, first_powers(count), hash, count))
}

/// The first step has no mask: if there are fewer than eight bits, it tests the first bit again.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn has_bits(line: &[u64; LINE_WORDS], powers: &[u64; LINE_WORDS], hash: u64, count: u32) -> bool {
    let line = load(line);
    let mut bits = products(hash, powers);
    let mut wanted_here = u8::MAX;
    let mut left = count;
    loop {
        let missing = missing(line, bits) & wanted_here;
        // Up to eight bits need no branch that depends on the answer.
        if left <= 8 || missing != 0 {
            return missing == 0;
        }
        left -= 8;
        wanted_here = wanted(left);
        bits = next(bits);
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn products(hash: u64, powers: &[u64; LINE_WORDS]) -> __m512i {
    _mm512_mullo_epi64(_mm512_set1_epi64(hash.cast_signed()), load(powers))
}

/// The next eight bits.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn next(bits: __m512i) -> __m512i {
    _mm512_mullo_epi64(bits, _mm512_set1_epi64(POWERS[LINE_WORDS - 1].cast_signed()))
}

/// The lanes whose bit is not set in the line.
#[inline]
#[target_feature(enable = "avx512f")]
fn missing(line: __m512i, bits: __m512i) -> u8 {
    let words = _mm512_permutexvar_epi64(_mm512_srli_epi64::<61>(bits), line);
    // Rotate each bit, by its place modulo 64, to the lowest place.
    let rotated = _mm512_rorv_epi64(words, _mm512_srli_epi64::<55>(bits));
    _mm512_testn_epi64_mask(rotated, _mm512_set1_epi64(1))
}

/// The multipliers of a hash for the first of `count` bits. Lanes without a bit get the multiplier
/// of the very first bit.
#[inline]
pub(super) fn first_powers(count: u32) -> &'static [u64; LINE_WORDS] {
    const FIRST: [[u64; LINE_WORDS]; LINE_WORDS] = {
        let mut rows = [POWERS; LINE_WORDS];
        let mut row = 0;
        while row < LINE_WORDS {
            let mut lane = row + 1;
            while lane < LINE_WORDS {
                rows[row][lane] = MULTIPLIER;
                lane += 1;
            }
            row += 1;
        }
        rows
    };
    &FIRST[(count as usize).clamp(1, LINE_WORDS) - 1]
}

/// The lanes of the bits that are left, at most 8.
#[inline]
#[target_feature(enable = "avx512f")]
fn wanted(left: u32) -> u8 {
    let lanes = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    _mm512_cmplt_epu64_mask(lanes, _mm512_set1_epi64(left.into()))
}

/// Loads the line once and stores it once: a scalar store delays later loads that may need it.
///
/// The bits of eight lanes come from one product of bit matrices. `rows` says in which of the 8
/// words the bit of each lane is, and `columns` at which of the 64 places. The bits of the line are
/// `transposed(rows) × columns`; one instruction multiplies 8 × 8 bits in each lane. So few
/// instructions leave room for more keys that wait for their lines side by side.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vbmi,gfni")]
pub(super) fn set_bits(line: &mut [u64; LINE_WORDS], hash: u64, count: u32) -> bool {
    let one = _mm512_set1_epi64(1);
    let mut bits = products(hash, &POWERS);
    let mut left = count;
    let mut added = _mm512_setzero_si512();
    loop {
        let wanted = wanted(left);
        let words = _mm512_srli_epi64::<61>(bits);
        let rows = _mm512_maskz_sllv_epi64(wanted, one, words);
        let columns = _mm512_maskz_rolv_epi64(wanted, one, _mm512_srli_epi64::<55>(bits));
        let rows = _mm512_gf2p8affine_epi64_epi8::<0>(
            _mm512_set1_epi64(DIAGONAL.cast_signed()),
            _mm512_permutexvar_epi8(load(&FIRSTS_REVERSED), rows),
        );
        let matrices = _mm512_gf2p8affine_epi64_epi8::<0>(
            _mm512_set1_epi64(DIAGONAL.swap_bytes().cast_signed()),
            _mm512_permutexvar_epi8(load(&TRANSPOSED_REVERSED), columns),
        );
        let product = _mm512_gf2p8affine_epi64_epi8::<0>(rows, matrices);
        let ones = _mm512_permutexvar_epi8(load(&TRANSPOSED), product);
        // XOR cancels a bit that one key chooses twice; such keys take the scalar path.
        let there = _mm512_test_epi64_mask(_mm512_permutexvar_epi64(words, ones), columns);
        if there != wanted {
            return scalar::set_bits(line, hash, count);
        }
        added = _mm512_or_si512(added, ones);
        if left <= 8 {
            break;
        }
        left -= 8;
        bits = next(bits);
    }
    let before = load(line);
    let new = _mm512_andnot_si512(before, added);
    let after = _mm512_or_si512(before, added);
    // SAFETY: `line` is 64 writable bytes; `storeu` needs no alignment.
    unsafe { _mm512_storeu_epi64(line.as_mut_ptr().cast(), after) };
    _mm512_test_epi64_mask(new, new) != 0
}

/// Byte `i` has bit `i` set.
const DIAGONAL: u64 = 0x8040_2010_0804_0201;

/// The source of each byte, if byte `j` of word `i` goes to byte `i` of word `j`.
const TRANSPOSED: [u64; LINE_WORDS] = bytes_from(false, true);
/// The same, if it goes to byte `7 - i`.
const TRANSPOSED_REVERSED: [u64; LINE_WORDS] = bytes_from(true, true);
/// The source of each byte, if byte 0 of word `i` goes to byte `7 - i` of every word.
const FIRSTS_REVERSED: [u64; LINE_WORDS] = bytes_from(true, false);

const fn bytes_from(reversed: bool, of_own: bool) -> [u64; LINE_WORDS] {
    let mut from = [0; LINE_WORDS];
    let mut to = 0;
    while to < 64 {
        let (word, byte) = (to / 8, to as u64 % 8);
        let of_word = if reversed { 7 - byte } else { byte };
        from[word] |= (8 * of_word + if of_own { word as u64 } else { 0 }) << (8 * byte);
        to += 1;
    }
    from
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(words: &[u64; LINE_WORDS]) -> __m512i {
    // SAFETY: `words` is 64 readable bytes; `loadu` needs no alignment.
    unsafe { _mm512_loadu_epi64(words.as_ptr().cast()) }
}

const POWERS: [u64; LINE_WORDS] = powers();

/// M, M², … modulo 2^64.
const fn powers() -> [u64; LINE_WORDS] {
    let mut powers = [MULTIPLIER; LINE_WORDS];
    let mut index = 1;
    while index < LINE_WORDS {
        powers[index] = powers[index - 1].wrapping_mul(MULTIPLIER);
        index += 1;
    }
    powers
}
