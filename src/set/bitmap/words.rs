//! Words in any kind of memory.

use super::word::Word;
use std::marker::PhantomData;

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
