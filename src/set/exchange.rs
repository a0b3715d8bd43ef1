//! Sets in memory as bytes of the portable roaring format, and as sets of the `roaring`
//! crate.

use super::file::{BucketEncoder, SetKind};
use super::integer_set::IntegerSet;
use super::view::{Damage, RoaringView, SetView, Shape, Table, TreemapView, check_buckets};
use crate::error::{Error, Result};
use crate::progress::Progress;
use std::convert::Infallible;

impl IntegerSet {
    /// The bytes of a 64-bit roaring bitmap in the portable format, as the `roaring` crate,
    /// `CRoaring` and others read it. O(bytes).
    ///
    /// # Source
    ///
    /// <https://github.com/RoaringBitmap/RoaringFormatSpec#extension-for-64-bit-implementations>
    #[must_use]
    pub fn to_roaring_bytes(&self) -> Vec<u8> {
        let bytes = self.roaring_bytes(|| Ok::<(), Infallible>(()));
        bytes.unwrap_or_else(|never| match never {})
    }

    /// The same; `progress` can cancel it.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`] after a cancellation.
    pub fn to_roaring_bytes_with(&self, progress: &Progress) -> Result<Vec<u8>> {
        self.roaring_bytes(|| Error::if_cancelled(progress))
    }

    /// Calls `goes_on` before each container.
    fn roaring_bytes<E>(&self, goes_on: impl Fn() -> Result<(), E>) -> Result<Vec<u8>, E> {
        let mut bytes = vec![0; 8];
        let (mut buckets, mut high, mut encoder) = (0_u64, 0, BucketEncoder::in_memory());
        let mut cursor = self.view().cursor();
        loop {
            goes_on()?;
            let next = super::integer_set::sound(cursor.next());
            if !encoder.is_empty() && next.is_none_or(|(key, _)| key >> 16 != high) {
                let [a, b, c, d, ..] = high.to_le_bytes();
                bytes.extend_from_slice(&[a, b, c, d]);
                bytes.extend_from_slice(&encoder.head());
                bytes.extend_from_slice(encoder.body());
                encoder.clear();
                buckets += 1;
            }
            let Some((key, container)) = next else { break };
            high = key >> 16;
            #[expect(clippy::cast_possible_truncation, reason = "the low half is meant")]
            let pushed = encoder.push(key as u16, container, container.len());
            super::integer_set::sound(pushed); // into memory
        }
        bytes[..8].copy_from_slice(&buckets.to_le_bytes());
        Ok(bytes)
    }

    /// The set in bytes of a roaring bitmap of 32 or 64 bits in the portable format.
    /// O(bytes).
    ///
    /// # Errors
    ///
    /// If the bytes are no such bitmap, contradict themselves, or go on behind its end.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitsort::set::IntegerSet;
    /// let set = IntegerSet::from([3, 40, 1 << 40]);
    /// assert_eq!(IntegerSet::from_roaring_bytes(&set.to_roaring_bytes())?, set);
    /// # Ok::<(), bitsort::set::Damage>(())
    /// ```
    pub fn from_roaring_bytes(bytes: &[u8]) -> Result<Self, Damage> {
        if SetKind::of(bytes) == Some(SetKind::Roaring) {
            return SetView(Shape::Roaring(RoaringView::whole(bytes)?)).to_set();
        }
        let (buckets, _) = check_buckets(bytes)?;
        let view = TreemapView::new(bytes, Table::Walked(&buckets));
        SetView(Shape::Treemap(view)).to_set()
    }
}

#[cfg(feature = "roaring")]
mod crates {
    use super::IntegerSet;
    use crate::set::integer_set::sound;
    use roaring::{RoaringBitmap, RoaringTreemap};

    impl From<&RoaringTreemap> for IntegerSet {
        /// O(bytes).
        fn from(set: &RoaringTreemap) -> Self {
            let mut bytes = Vec::with_capacity(set.serialized_size());
            sound(set.serialize_into(&mut bytes)); // into memory
            sound(Self::from_roaring_bytes(&bytes))
        }
    }

    impl From<&RoaringBitmap> for IntegerSet {
        /// O(bytes).
        fn from(set: &RoaringBitmap) -> Self {
            let mut bytes = Vec::with_capacity(set.serialized_size());
            sound(set.serialize_into(&mut bytes)); // into memory
            sound(Self::from_roaring_bytes(&bytes))
        }
    }

    impl From<&IntegerSet> for RoaringTreemap {
        /// O(bytes).
        fn from(set: &IntegerSet) -> Self {
            sound(Self::deserialize_unchecked_from(&set.to_roaring_bytes()[..]))
        }
    }

    impl TryFrom<&IntegerSet> for RoaringBitmap {
        type Error = std::num::TryFromIntError;

        /// O(bytes).
        ///
        /// # Errors
        ///
        /// If there is a value from 2^32 on.
        fn try_from(set: &IntegerSet) -> Result<Self, Self::Error> {
            u32::try_from(set.max().unwrap_or(0))?;
            let bitmaps = RoaringTreemap::from(set);
            Ok(bitmaps.bitmaps().next().map(|(_, bitmap)| bitmap.clone()).unwrap_or_default())
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn sets_of_the_roaring_crate_come_and_go() {
            let empty = RoaringBitmap::new();
            let buckets = [0, 1, 7].map(|high| (high, RoaringBitmap::new()));
            assert!(IntegerSet::from(&RoaringTreemap::from_bitmaps(buckets)).is_empty());
            assert!(IntegerSet::from(&empty).is_empty());
            let runs = IntegerSet::from_ranges([5..70_000, 200_000..200_009]);
            let theirs = RoaringBitmap::try_from(&runs).unwrap();
            assert!(theirs.iter().map(u64::from).eq(runs.iter()));
            assert_eq!(IntegerSet::from(&theirs), runs);
            let wide = &runs | &[u64::MAX, 1 << 40].into();
            assert!(RoaringBitmap::try_from(&wide).is_err());
            let theirs = RoaringTreemap::from(&wide);
            assert!(theirs.iter().eq(wide.iter()));
            assert_eq!(IntegerSet::from(&theirs), wide);
        }
    }
}
