//! Writes cache lines past the caches.
//!
//! An ordinary store first reads the line that it changes into the cache. Lines that are written
//! whole and read much later need neither the read nor the room in the cache.

/// Bytes of a cache line.
pub(crate) const LINE: usize = 64;

/// Copies a whole line. Nobody may read or write it before this thread calls [`fence`].
#[inline]
pub(crate) fn copy_line(from: &[u8; LINE], to: &mut [u8; LINE]) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if to.as_ptr().align_offset(16) == 0 {
        use std::arch::x86_64::{__m128i, _mm_stream_si128};
        for (from, to) in from.as_chunks::<16>().0.iter().zip(to.as_chunks_mut::<16>().0) {
            let value: __m128i = bytemuck::cast(*from);
            #[expect(clippy::cast_ptr_alignment, reason = "looked at above")]
            let place = to.as_mut_ptr().cast::<__m128i>();
            // SAFETY: `place` are 16 bytes that we may write, at a multiple of
            // 16 as the line begins at one. They may be written later than what
            // this thread does next, which is why callers must fence.
            unsafe { _mm_stream_si128(place, value) };
        }
        return;
    }
    *to = *from;
}

/// Makes the lines that this thread copied visible: to itself, and to other threads after they
/// synchronize with it.
#[inline]
pub(crate) fn fence() {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: every x86-64 has this instruction, and it has no operands.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_arrives_whatever_its_alignment() {
        let from: [u8; LINE] = std::array::from_fn(|i| u8::try_from(i).unwrap());
        let mut memory = [0_u8; 3 * LINE];
        for start in 0..LINE {
            memory.fill(0xFF);
            let to = memory[start..].first_chunk_mut().unwrap();
            copy_line(&from, to);
            fence();
            assert_eq!(memory[start..start + LINE], from);
            assert!(memory[..start].iter().chain(&memory[start + LINE..]).all(|&b| b == 0xFF));
        }
    }
}
