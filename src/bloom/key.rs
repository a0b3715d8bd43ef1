//! The types of keys.

/// A key of a filter: a type whose values give bytes.
///
/// A filter knows only bytes. A number of any type is the same key as its 8 little-endian bytes; a
/// negative number has those of its two's complement. So `5_u32`, `5_i64` and `[5, 0, 0, 0, 0, 0,
/// 0, 0]` are one key. Text is the key of its UTF-8 bytes.
///
/// # Implementing it
///
/// [`with_bytes`](Self::with_bytes) calls `visit` with the bytes of the key, and returns its
/// result. Equal keys must give equal bytes, in every process and as long as there are files of
/// filters; if not, an inserted key is not found. Keys with equal bytes are one key. If a key has
/// several parts, the bytes must show where a part ends, or `("ab", "c")` and `("a", "bc")` are one
/// key.
///
/// # Examples
///
/// ```
/// use bitsort::bloom::{BloomFilter, Key};
///
/// let mut filter = BloomFilter::new(1000, 0.01)?;
/// filter.insert(&5_u64);
/// assert!(filter.contains(&5_u32) && filter.contains(&[5, 0, 0, 0, 0, 0, 0, 0]));
/// filter.insert("Zürich");
/// assert!(filter.contains("Zürich".as_bytes()));
///
/// struct Flight { from: [u8; 3], to: [u8; 3], day: u16 }
///
/// impl Key for Flight {
///     fn with_bytes<R>(&self, visit: impl FnOnce(&[u8]) -> R) -> R {
///         let mut bytes = [0; 8]; // each part has its own bytes
///         bytes[..3].copy_from_slice(&self.from);
///         bytes[3..6].copy_from_slice(&self.to);
///         bytes[6..].copy_from_slice(&self.day.to_le_bytes());
///         visit(&bytes)
///     }
/// }
///
/// filter.insert(&Flight { from: *b"OSL", to: *b"VIE", day: 30 });
/// assert!(filter.contains(&Flight { from: *b"OSL", to: *b"VIE", day: 30 }));
/// assert!(!filter.contains(&Flight { from: *b"VIE", to: *b"OSL", day: 30 }));
/// # Ok::<(), bitsort::bloom::BuildError>(())
/// ```
pub trait Key {
    /// Calls `visit` with the bytes of the key.
    fn with_bytes<R>(&self, visit: impl FnOnce(&[u8]) -> R) -> R;
}

// No `usize` has more than 64 bits.

macro_rules! number {
    ($($number:ty as $wide:ty),*) => { $(
        impl Key for $number {
            #[inline]
            fn with_bytes<R>(&self, visit: impl FnOnce(&[u8]) -> R) -> R {
                visit(&(*self as $wide).to_le_bytes())
            }
        }
    )* };
}

macro_rules! bytes {
    ($($bytes:ty),*) => { $(
        impl Key for $bytes {
            #[inline]
            fn with_bytes<R>(&self, visit: impl FnOnce(&[u8]) -> R) -> R {
                visit(self.as_ref())
            }
        }
    )* };
}

number!(u8 as u64, u16 as u64, u32 as u64, u64 as u64, usize as u64);
number!(i8 as i64, i16 as i64, i32 as i64, i64 as i64, isize as i64);
bytes!([u8], str, Vec<u8>, String);

impl<const N: usize> Key for [u8; N] {
    #[inline]
    fn with_bytes<R>(&self, visit: impl FnOnce(&[u8]) -> R) -> R {
        visit(self)
    }
}

impl<K: Key + ?Sized> Key for &K {
    #[inline]
    fn with_bytes<R>(&self, visit: impl FnOnce(&[u8]) -> R) -> R {
        (**self).with_bytes(visit)
    }
}
