//! What can be a key.

mod sealed {
    pub trait Sealed {}
}

/// A key of a filter: a string of bytes, or a natural number.
///
/// A filter knows bytes only. A number is the same key as its 8 little-endian
/// bytes, whatever its type: `5_u32`, `5_u64` and `[5, 0, 0, 0, 0, 0, 0, 0]`
/// are one key. Text is the key of its UTF-8 bytes.
///
/// # Examples
///
/// ```
/// use bitsort::bloom::BloomFilter;
///
/// let mut filter = BloomFilter::new(1000, 0.01)?;
/// filter.insert(&5_u64);
/// assert!(filter.contains(&5_u32) && filter.contains(&[5, 0, 0, 0, 0, 0, 0, 0]));
/// filter.insert("Zürich");
/// assert!(filter.contains("Zürich".as_bytes()));
/// # Ok::<(), bitsort::bloom::BuildError>(())
/// ```
pub trait Key: sealed::Sealed {
    /// Calls `visit` with the bytes of the key.
    fn with_bytes<R>(&self, visit: impl FnOnce(&[u8]) -> R) -> R;
}

macro_rules! number {
    ($($number:ty),*) => { $(
        impl sealed::Sealed for $number {}
        impl Key for $number {
            #[inline]
            fn with_bytes<R>(&self, visit: impl FnOnce(&[u8]) -> R) -> R {
                visit(&u64::from(*self).to_le_bytes())
            }
        }
    )* };
}

macro_rules! bytes {
    ($($bytes:ty),*) => { $(
        impl sealed::Sealed for $bytes {}
        impl Key for $bytes {
            #[inline]
            fn with_bytes<R>(&self, visit: impl FnOnce(&[u8]) -> R) -> R {
                visit(self.as_ref())
            }
        }
    )* };
}

number!(u32, u64);
bytes!([u8], str, Vec<u8>, String);

impl<const N: usize> sealed::Sealed for [u8; N] {}
impl<const N: usize> Key for [u8; N] {
    #[inline]
    fn with_bytes<R>(&self, visit: impl FnOnce(&[u8]) -> R) -> R {
        visit(self)
    }
}

impl<K: sealed::Sealed + ?Sized> sealed::Sealed for &K {}
impl<K: Key + ?Sized> Key for &K {
    #[inline]
    fn with_bytes<R>(&self, visit: impl FnOnce(&[u8]) -> R) -> R {
        (**self).with_bytes(visit)
    }
}
