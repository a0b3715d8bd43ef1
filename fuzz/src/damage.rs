//! Damage to files, with the checksums made right again so that what lies
//! behind them is reached.

use arbitrary::Arbitrary;
use xxhash_rust::xxh3::xxh3_64;

const PAGE: usize = 4096;
const BLOCK_LOG: u32 = 16;

/// One change of a file.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub enum Edit {
    Byte {
        at: u16,
        byte: u8,
    },
    Flip {
        at: u16,
        bit: u8,
    },
    /// An aligned word, where numbers of headers and tables lie.
    Word {
        at: u16,
        number: Number,
    },
    Insert {
        at: u16,
        bytes: u8,
        byte: u8,
    },
    Remove {
        at: u16,
        bytes: u8,
    },
    Copy {
        from: u16,
        to: u16,
        bytes: u8,
    },
    Cut {
        at: u16,
    },
}

/// Numbers that programs get wrong.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub enum Number {
    Small(u8),
    Any(u64),
    PowerOfTwo { log: u8, less: bool },
    FromLength(i8),
    Added(i8),
}

impl Number {
    fn value(self, old: u64, len: usize) -> u64 {
        match self {
            Self::Small(small) => small.into(),
            Self::Any(any) => any,
            Self::PowerOfTwo { log, less } => (1_u64 << (log & 63)).wrapping_sub(less.into()),
            Self::FromLength(more) => (len as u64).wrapping_add_signed(more.into()),
            Self::Added(more) => old.wrapping_add_signed(more.into()),
        }
    }
}

/// A place in a file; most of a header page is nothing but zeros.
fn place(at: u16, len: usize) -> usize {
    let at = usize::from(at);
    match len {
        0 => 0,
        _ if len > PAGE && at < 256 => at,
        _ if len > PAGE => PAGE + at % (len - PAGE),
        _ => at % len,
    }
}

/// Applies the edits, one after the other.
pub fn damage(file: &mut Vec<u8>, edits: &[Edit]) {
    for &edit in edits {
        let len = file.len();
        match edit {
            Edit::Byte { at, byte } => {
                file[place(at, len)..].iter_mut().take(1).for_each(|b| *b = byte)
            }
            Edit::Flip { at, bit } => {
                file[place(at, len)..].iter_mut().take(1).for_each(|b| *b ^= 1 << (bit & 7));
            }
            Edit::Word { at, number } => {
                if let Some(word) = file[place(at, len) & !7..].first_chunk_mut::<8>() {
                    *word = number.value(u64::from_le_bytes(*word), len).to_le_bytes();
                }
            }
            Edit::Insert { at, bytes, byte } => {
                let at = place(at, len);
                file.splice(at..at, std::iter::repeat_n(byte, bytes.into()));
            }
            Edit::Remove { at, bytes } => {
                let at = place(at, len);
                file.drain(at..(at + usize::from(bytes)).min(len));
            }
            Edit::Copy { from, to, bytes } => {
                let (from, to) = (place(from, len), place(to, len));
                let bytes = usize::from(bytes).min(len - from.max(to));
                file.copy_within(from..from + bytes, to);
            }
            Edit::Cut { at } => file.truncate(place(at, len)),
        }
    }
}

/// Makes the checksums of a file with a header page right: its own, and, where
/// the header says at `section` that they lie, those of the blocks behind it.
pub fn seal(file: &mut [u8], section: usize) {
    let word = |file: &[u8], at: usize| {
        let bytes = file.get(at..).and_then(|rest| rest.first_chunk().copied());
        usize::try_from(u64::from_le_bytes(bytes.unwrap_or_default())).unwrap_or(usize::MAX)
    };
    let (offset, len) = (word(file, section), word(file, section + 8));
    if let Some(end) = offset.checked_add(len).filter(|end| *end <= file.len())
        && offset >= PAGE
        && len >= 8
    {
        let (covered, sums) = file[PAGE..end].split_at_mut(offset - PAGE);
        let (sums, own) = sums.split_at_mut(len - 8);
        for (block, sum) in covered.chunks(1 << BLOCK_LOG).zip(sums.chunks_exact_mut(8)) {
            sum.copy_from_slice(&xxh3_64(block).to_le_bytes());
        }
        own.copy_from_slice(&xxh3_64(sums).to_le_bytes());
    }
    if let Some(page) = file.first_chunk_mut::<PAGE>() {
        let sum = xxh3_64(&page[..PAGE - 8]);
        page[PAGE - 8..].copy_from_slice(&sum.to_le_bytes());
    }
}
