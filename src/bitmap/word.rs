//! Words of a bitmap, and the place of a bit in them.

mod sealed {
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
}

/// A word of a [`Bitmap`](super::Bitmap): `u32` or `u64`.
///
/// In little-endian order bitmaps over either have the same bytes.
pub trait Word:
    sealed::Sealed
    + Copy
    + Eq
    + Default
    + std::fmt::Debug
    + std::ops::BitAnd<Output = Self>
    + std::ops::BitOr<Output = Self>
    + std::ops::BitXor<Output = Self>
    + std::ops::Not<Output = Self>
    + 'static
{
    /// Bits of a word.
    const BITS: u32;
    /// All bits set.
    const ONES: Self;

    /// The word that holds `bit`, and a mask of the bit in it.
    #[must_use]
    fn place(bit: u64) -> (usize, Self);
    /// Number of set bits.
    #[must_use]
    fn count(self) -> u32;
    /// The lowest set bit; [`Word::BITS`] if there is none.
    #[must_use]
    fn lowest(self) -> u32;
    /// The highest set bit, plus one; 0 if there is none.
    #[must_use]
    fn above_highest(self) -> u32;
    /// Bits from `bit` (below [`Word::BITS`]) upwards.
    #[must_use]
    fn from_bit(bit: u32) -> Self;
    /// This word `bits` places up, and what is pushed out; `bits` is below
    /// [`Word::BITS`].
    #[must_use]
    fn shifted(self, bits: u32) -> (Self, Self);
}

macro_rules! word {
    ($word:ty) => {
        impl Word for $word {
            const BITS: u32 = <$word>::BITS;
            const ONES: Self = <$word>::MAX;

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
            fn above_highest(self) -> u32 {
                <$word>::BITS - self.leading_zeros()
            }

            #[inline]
            fn from_bit(bit: u32) -> Self {
                <$word>::MAX << bit
            }

            #[inline]
            fn shifted(self, bits: u32) -> (Self, Self) {
                (self << bits, self.checked_shr(<$word>::BITS - bits).unwrap_or(0))
            }
        }
    };
}

word!(u32);
word!(u64);
