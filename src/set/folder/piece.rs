//! Sets as bytes that travel: what a task of a cluster sends to the next one.

use crate::error::{Error, Result};
use crate::set::file::{SetFile, Spool};
use crate::set::operand::AsSet;
use crate::set::sink::temporary_bits;
use crate::set::view::{Damage, SetView};
use crate::set::{Expression, Joined};
use memmap2::MmapMut;
use std::path::Path;

impl Joined<'_> {
    /// The set as the bytes of a `.bits` file, in the representation that
    /// [`SetFormat::Bits`](crate::set::SetFormat::Bits) chooses. They pass through a nameless
    /// temporary file.
    ///
    /// # Errors
    ///
    /// As [`to_set`](Self::to_set), or if the system refuses the temporary file.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::set::{self, IntegerSet, SetFile};
    ///
    /// let ids = IntegerSet::from([3, 40]);
    /// let bytes = set::or(&[&ids]).to_bytes()?;
    /// assert_eq!(SetFile::from_bytes(&bytes)?.to_set()?, ids);
    /// # Ok::<(), bitsort::Error>(())
    /// ```
    pub fn to_bytes(self) -> Result<Vec<u8>> {
        Ok(self.to_temporary_file()?.bytes().to_vec())
    }

    /// The set in a nameless temporary file, whose values are not held in memory.
    ///
    /// # Errors
    ///
    /// As [`to_bytes`](Self::to_bytes).
    pub fn to_temporary_file(self) -> Result<SetFile> {
        temporary_bits(Path::new(IN_MEMORY), &Spool::default(), |sink| self.run(sink))
    }
}

const IN_MEMORY: &str = "a set in memory";

/// The set in pieces, each the bytes of a `.bits` file: a window begins with one of `starts` and
/// ends before the next one, and window 0 comes before all starts. A piece comes with the number
/// of its window; a window without values has none. A window of more than `most_bytes` is cut at
/// its middle, again and again, down to 2^16 neighbouring numbers.
///
/// # Errors
///
/// If the set is damaged, the starts do not ascend, or the system refuses a temporary file.
///
/// # Examples
///
/// ```
/// use bitsort::set::{self, IntegerSet, SetFile};
///
/// let ids = IntegerSet::from([3, 40, 1 << 20, 1 << 40]);
/// let pieces = set::pieces(&ids, &[1 << 16, 1 << 30, 1 << 32], 8 << 20)?;
/// let windows: Vec<usize> = pieces.iter().map(|(window, _)| *window).collect();
/// assert_eq!(windows, [0, 1, 3]);
/// assert_eq!(SetFile::from_bytes(&pieces[0].1)?.to_set()?, [3, 40].into());
/// # Ok::<(), bitsort::Error>(())
/// ```
pub fn pieces(set: &dyn AsSet, starts: &[u64], most_bytes: usize) -> Result<Vec<(usize, Vec<u8>)>> {
    if !starts.is_sorted_by(|a, b| a < b) || starts.first() == Some(&0) {
        return Err(Error::usage("the starts of windows ascend, and are above 0"));
    }
    let mut pieces = Vec::new();
    for (window, first) in std::iter::once(0).chain(starts.iter().copied()).enumerate() {
        let last = starts.get(window).map_or(u64::MAX, |start| start - 1);
        let mut waiting = vec![(first, last)];
        while let Some((first, last)) = waiting.pop() {
            let Some((first, last)) = ends_within(set, first, last)? else { continue };
            let bytes = window_of(set, first, last)?.to_bytes()?;
            if bytes.len() > most_bytes && first >> 16 < last >> 16 {
                let middle = ((first >> 16).midpoint(last >> 16) + 1) << 16;
                waiting.extend([(middle, last), (first, middle - 1)]);
            } else {
                pieces.push((window, bytes));
            }
        }
    }
    Ok(pieces)
}

/// The values of a set from `first` to `last`.
pub(super) fn window_of(set: &dyn AsSet, first: u64, last: u64) -> Result<Joined<'_>> {
    let parts = vec![Expression::Name("set".to_owned()), Expression::Range(first, last)];
    Expression::And(parts).eval(|_| Some(set))
}

/// The smallest and the largest value from `first` to `last`.
pub(super) fn ends_within(set: &dyn AsSet, first: u64, last: u64) -> Result<Option<(u64, u64)>> {
    let ends = ask(set, |view| Ok(view.next(first)?.zip(view.previous(last)?)))?;
    Ok(ends.filter(|(first, last)| first <= last))
}

/// Asks a set; names it in an error.
pub(super) fn ask<'s, T>(
    set: &'s dyn AsSet,
    question: impl FnOnce(SetView<'s>) -> Result<T, Damage>,
) -> Result<T> {
    set.as_set().ask(question)
}

impl SetFile {
    /// A set in the bytes of a `.bits` file or of a portable roaring bitmap, which are copied.
    /// O(bytes).
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open), or if there is no memory for the copy.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let copy = MmapMut::map_anon(bytes.len()).and_then(|mut map| {
            map.copy_from_slice(bytes);
            map.make_read_only()
        });
        let copy = copy.map_err(Error::no_memory(bytes.len()))?;
        Self::from_map(copy, Path::new(IN_MEMORY))
    }
}
