//! The one bitmap of this crate.
//!
//! Value `v` is bit `(v - base) % W` of word `(v - base) / W`: OR sets it, AND-NOT clears it, AND
//! tests it. Writing values in any order and reading the set bits in order sorts them in linear
//! time; afterwards the words are a set that answers `contains` with one load.
//!
//! ```
//! use bitsort::set::bitmap::Bitmap;
//!
//! let mut ids: Bitmap<u32> = Bitmap::new(64);
//! assert!(ids.insert(40) && ids.insert(35) && !ids.insert(40));
//! assert_eq!(ids.as_words(), [0, 264]); // bits 3 and 8 of word 1
//! assert_eq!(ids.iter().collect::<Vec<_>>(), [35, 40]);
//! ```
//!
//! [`Bitmap`] owns its words, [`BitmapMut`] borrows them, and [`BitmapView`] reads them from
//! little-endian bytes, which are the same for words of 32 and 64 bits. All three are [`Bits`] over
//! some kind of words, so each algorithm is written once.

// Circle: `bits`, `iter`: a bitmap gives the iterator over its bits.

mod algebra;
mod bits;
mod iter;
mod owned;
#[cfg(test)]
mod tests;
mod words;

pub use bits::{Bitmap, BitmapMut, BitmapView, Bits, OutsideUniverse};
pub use iter::{Ones, Runs};
pub use words::Word;
