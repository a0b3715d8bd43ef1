//! Words of a bitmap, the place of a bit in them, and the kinds of memory in which they lie.

use std::marker::PhantomData;

mod sealed {
    #[expect(private_bounds, reason = "for this crate alone")]
    pub trait Sealed: crate::kernel::words::Lane {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
}

/// A word of a [`Bitmap`](super::Bitmap): `u32` or `u64`.
///
/// In little-endian order bitmaps over either have the same bytes.
pub trait Word:
    sealed::Sealed
    + Eq
    + Default
    + std::fmt::Debug
    + std::ops::BitAnd<Output = Self>
    + std::ops::BitOr<Output = Self>
    + std::ops::BitXor<Output = Self>
    + std::ops::Not<Output = Self>
    + bytemuck::Pod
    + Send
    + Sync
{
    /// Bits of a word.
    const BITS: u32;
    /// Bytes of a word.
    const BYTES: usize;

    /// The index of the word that has `bit`, and a mask of the bit in that word.
    #[must_use]
    fn place(bit: u64) -> (usize, Self);
    /// Number of set bits.
    #[must_use]
    fn count(self) -> u32;
    /// The lowest set bit; [`Word::BITS`] if there is none.
    #[must_use]
    fn lowest(self) -> u32;
    /// The highest set bit, if there is one.
    #[must_use]
    fn highest(self) -> Option<u32>;
    /// The word without its lowest set bit.
    #[must_use]
    fn without_lowest(self) -> Self;
    /// A word with the lowest `bits` bits set. [`Word::BITS`] or more set all.
    #[must_use]
    fn low_mask(bits: u32) -> Self;
    /// The word shifted up by `bits` places. [`Word::BITS`] or more give 0.
    #[must_use]
    fn up(self, bits: u32) -> Self;
    /// The word shifted down by `bits` places. [`Word::BITS`] or more give 0.
    #[must_use]
    fn down(self, bits: u32) -> Self;
    /// The word of exactly [`Word::BYTES`] little-endian bytes; 0 for any other number of bytes.
    #[must_use]
    fn from_le(bytes: &[u8]) -> Self;
}

macro_rules! word {
    ($word:ty) => {
        impl Word for $word {
            const BITS: u32 = <$word>::BITS;
            const BYTES: usize = size_of::<$word>();

            #[inline]
            #[expect(clippy::cast_possible_truncation, reason = "bitmaps fit in memory")]
            fn place(bit: u64) -> (usize, Self) {
                let word = bit / u64::from(<$word>::BITS);
                (word as usize, 1 << (bit % u64::from(<$word>::BITS)))
            }

            #[inline]
            fn count(self) -> u32 {
                self.count_ones()
            }

            #[inline]
            fn lowest(self) -> u32 {
                self.trailing_zeros()
            }

            #[inline]
            fn highest(self) -> Option<u32> {
                self.checked_ilog2()
            }

            #[inline]
            fn without_lowest(self) -> Self {
                self & self.wrapping_sub(1)
            }

            #[inline]
            fn low_mask(bits: u32) -> Self {
                !<$word>::MAX.up(bits)
            }

            #[inline]
            fn up(self, bits: u32) -> Self {
                self.checked_shl(bits).unwrap_or(0)
            }

            #[inline]
            fn down(self, bits: u32) -> Self {
                self.checked_shr(bits).unwrap_or(0)
            }

            #[inline]
            fn from_le(bytes: &[u8]) -> Self {
                bytes.try_into().map_or(0, <$word>::from_le_bytes)
            }
        }
    };
}

word!(u32);
word!(u64);

/// Words that can be read.
pub trait Words {
    /// The type of a word.
    type Word: Word;

    /// Number of words.
    fn word_count(&self) -> usize;

    /// Word `index`, if there is one.
    fn get(&self, index: usize) -> Option<Self::Word>;

    /// The words as a slice, if they lie so in memory.
    fn as_slice(&self) -> Option<&[Self::Word]> {
        None
    }

    /// The words as little-endian bytes, if they lie so in memory.
    fn as_le_bytes(&self) -> Option<&[u8]> {
        self.as_slice().map(bytemuck::cast_slice)
    }
}

/// Words that can be written.
pub trait WordsMut: Words {
    /// The words.
    fn as_mut_slice(&mut self) -> &mut [Self::Word];
}

macro_rules! slice_words {
    ($words:ty) => {
        impl<W: Word> Words for $words {
            type Word = W;

            fn word_count(&self) -> usize {
                self.len()
            }

            #[inline]
            fn get(&self, index: usize) -> Option<W> {
                <[W]>::get(self, index).copied()
            }

            fn as_slice(&self) -> Option<&[W]> {
                Some(self)
            }
        }

        impl<W: Word> WordsMut for $words {
            #[inline]
            fn as_mut_slice(&mut self) -> &mut [W] {
                self
            }
        }
    };
}

slice_words!(Vec<W>);
slice_words!(&mut [W]);

/// Words in borrowed little-endian bytes of any alignment. Bytes at the end that do not make a word
/// are ignored.
#[derive(Debug, Clone, Copy)]
pub struct LeBytes<'a, W> {
    bytes: &'a [u8],
    word: PhantomData<W>,
}

impl<'a, W: Word> LeBytes<'a, W> {
    /// Words of these bytes.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, word: PhantomData }
    }
}

impl<W: Word> Words for LeBytes<'_, W> {
    type Word = W;

    fn word_count(&self) -> usize {
        self.bytes.len() / W::BYTES
    }

    #[inline]
    fn get(&self, index: usize) -> Option<W> {
        let start = index.checked_mul(W::BYTES)?;
        self.bytes.get(start..start.checked_add(W::BYTES)?).map(W::from_le)
    }

    /// A slice, if the bytes are aligned, as those of a map are.
    fn as_slice(&self) -> Option<&[W]> {
        bytemuck::try_cast_slice(&self.bytes[..self.word_count() * W::BYTES]).ok()
    }

    fn as_le_bytes(&self) -> Option<&[u8]> {
        Some(&self.bytes[..self.word_count() * W::BYTES])
    }
}
