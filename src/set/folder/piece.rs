//! Sets as bytes: a task on a cluster sends these to the next task.

use crate::error::{Error, Result};
use crate::kernel::sys::map_copy;
use crate::progress::Progress;
use crate::set::container::Container;
use crate::set::file::{SetFile, Spool, ValueSink};
use crate::set::operand::AsSet;
use crate::set::sink::temporary_bits;
use crate::set::view::{Damage, SetView};
use crate::set::{Expression, IntegerSet, Joined, or};
use std::path::Path;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

impl Joined<'_> {
    /// The set as the bytes of a `.bits` file, in the representation that
    /// [`SetFormat::Bits`](crate::set::SetFormat::Bits) chooses. They go through a nameless
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

    /// The set in a nameless temporary file. Its values are never all in memory.
    ///
    /// # Errors
    ///
    /// As [`to_bytes`](Self::to_bytes).
    pub fn to_temporary_file(self) -> Result<SetFile> {
        temporary_bits(Path::new(IN_MEMORY), &Spool::default(), |sink| self.run(sink))
    }
}

const IN_MEMORY: &str = "a set in memory";

/// Cuts the set into pieces, each the bytes of a `.bits` file. A window begins at one of `starts`
/// and ends before the next one; window 0 is before all starts. Each piece comes with the number of
/// its window, and a window without values gives no piece. A window that takes more than
/// `most_bytes` is halved until it fits, or has 2^16 neighbouring numbers. An estimate for evenly
/// spread values decides first.
///
/// # Errors
///
/// If the set is damaged, the starts do not ascend or begin with 0, or the system refuses a temporary file;
/// [`Error::Interrupted`] when `progress` is cancelled.
///
/// # Examples
///
/// ```
/// use bitsort::set::{self, IntegerSet, SetFile};
/// use std::sync::Arc;
///
/// let ids = IntegerSet::from([3, 40, 1 << 20, 1 << 40]);
/// let pieces = set::pieces(&ids, &[1 << 16, 1 << 30, 1 << 32], 8 << 20, &Arc::default())?;
/// let windows: Vec<usize> = pieces.iter().map(|(window, _)| *window).collect();
/// assert_eq!(windows, [0, 1, 3]);
/// assert_eq!(SetFile::from_bytes(&pieces[0].1)?.to_set()?, [3, 40].into());
/// # Ok::<(), bitsort::Error>(())
/// ```
pub fn pieces(
    set: &dyn AsSet,
    starts: &[u64],
    most_bytes: usize,
    progress: &Arc<Progress>,
) -> Result<Vec<(usize, Vec<u8>)>> {
    if !starts.is_sorted_by(|a, b| a < b) || starts.first() == Some(&0) {
        return Err(Error::usage("the starts of windows ascend, and are above 0"));
    }
    set.as_set().verify_bytes(progress)?;
    let (mut pieces, mut count) = (Vec::new(), 0);
    let whole = ask(set, |view| Ok(view.bytes()))?;
    for (window, first) in std::iter::once(0).chain(starts.iter().copied()).enumerate() {
        let last = starts.get(window).map_or(u64::MAX, |start| start - 1);
        let mut waiting = vec![(first, last)];
        while let Some((first, last)) = waiting.pop() {
            Error::if_cancelled(progress)?;
            let Some((first, last)) = ends_within(set, first, last)? else { continue };
            if first >> 16 < last >> 16 {
                let here = ask(set, |view| view.range_len(first..=last))?;
                let stored = ask(set, |view| Ok(view.bytes_within(first, last)))?;
                let bytes = about_bytes(here, first, last).min(whole.min(stored) as u64);
                if bytes > most_bytes as u64 {
                    waiting.extend(halves(first, last));
                    continue;
                }
            }
            let values = window_of(set, first, last)?.progress(Arc::clone(progress));
            let piece = values.to_temporary_file()?;
            if piece.bytes().len() > most_bytes && first >> 16 < last >> 16 {
                waiting.extend(halves(first, last));
            } else {
                count += piece.len();
                pieces.push((window, piece.bytes().to_vec()));
            }
        }
    }
    check_count(set, count)?;
    Ok(pieces)
}

/// Fails if the parts of a set have more or fewer values than the set says: it is damaged.
pub(super) fn check_count(set: &dyn AsSet, count: u64) -> Result<()> {
    ask(set, |view| match view.len()? {
        len if len == count => Ok(()),
        _ => Err(Damage::of("the set has another number of values than it says")),
    })
}

/// The two halves of a window, the upper one first.
fn halves(first: u64, last: u64) -> [(u64, u64); 2] {
    let middle = ((first >> 16).midpoint(last >> 16) + 1) << 16;
    [(middle, last), (first, middle - 1)]
}

/// About the bytes that so many values take if they lie evenly from `first` to `last`, sparse or
/// dense.
fn about_bytes(count: u64, first: u64, last: u64) -> u64 {
    let span = last - first;
    let bits_each = (span / count.max(1)).checked_ilog2().unwrap_or_default() + 2;
    (count.saturating_mul(bits_each.into())).min(span) / 8
}

/// Cuts the set into pieces as [`pieces`] does, but by buckets instead of windows. Numbers that
/// share all but their lower 16 bits are in one bucket; a hash of the shared bits gives its number,
/// which is below `buckets`. The buckets of different sets match, and the caller need not know the
/// values. It copies the set in memory.
///
/// # Errors
///
/// If there are no buckets, the set is damaged, or the system refuses a temporary file;
/// [`Error::Interrupted`] when `progress` is cancelled.
///
/// # Examples
///
/// ```
/// use bitsort::set::{self, IntegerSet, SetFile};
/// use std::sync::Arc;
///
/// let ids = IntegerSet::from_iter((0..100).map(|index| index << 16));
/// let mut count = 0;
/// for (bucket, bytes) in set::hashed_pieces(&ids, 3, 8 << 20, &Arc::default())? {
///     assert!(bucket < 3);
///     count += SetFile::from_bytes(&bytes)?.len();
/// }
/// assert_eq!(count, 100);
/// # Ok::<(), bitsort::Error>(())
/// ```
pub fn hashed_pieces(
    set: &dyn AsSet,
    buckets: usize,
    most_bytes: usize,
    progress: &Arc<Progress>,
) -> Result<Vec<(usize, Vec<u8>)>> {
    if buckets == 0 {
        return Err(Error::usage("there are no buckets"));
    }
    let mut dealt = Buckets(vec![IntegerSet::new(); buckets]);
    or(&[set]).progress(Arc::clone(progress)).run(&mut dealt)?;
    let mut found = Vec::new();
    for (bucket, set) in dealt.0.into_iter().enumerate() {
        let of_bucket = pieces(&set, &[], most_bytes, progress)?;
        found.extend(of_bucket.into_iter().map(|(_, bytes)| (bucket, bytes)));
    }
    Ok(found)
}

/// Puts containers into sets by hashes of their keys.
struct Buckets(Vec<IntegerSet>);

impl ValueSink for Buckets {
    fn container(&mut self, key: u64, container: Container<'_>) -> Result<()> {
        #[expect(clippy::cast_possible_truncation, reason = "below the number of buckets")]
        let bucket = (xxh3_64(&key.to_le_bytes()) % self.0.len() as u64) as usize;
        match container.len() {
            0 => Ok(()),
            _ => self.0[bucket].container(key, container),
        }
    }
}

/// The values of a set from `first` to `last`.
pub(super) fn window_of(set: &dyn AsSet, first: u64, last: u64) -> Result<Joined<'_>> {
    let parts = vec![Expression::Name("set".to_owned()), Expression::Range(first, last)];
    Expression::And(parts).eval(|_| Some(set))
}

/// The smallest and the largest value from `first` to `last`.
pub(super) fn ends_within(set: &dyn AsSet, first: u64, last: u64) -> Result<Option<(u64, u64)>> {
    let ends = ask(set, |view| {
        let ends = view.next(first)?.zip(view.previous(last)?);
        if ends.is_some_and(|(next, previous)| next < first || previous > last) {
            return Err(Damage::of("the values do not ascend"));
        }
        Ok(ends)
    })?;
    Ok(ends.filter(|(first, last)| first <= last))
}

/// Asks a set a question; an error names the set.
pub(super) fn ask<'s, T>(
    set: &'s dyn AsSet,
    question: impl FnOnce(SetView<'s>) -> Result<T, Damage>,
) -> Result<T> {
    set.as_set().ask(question)
}

impl SetFile {
    /// The set in the bytes of a `.bits` file or a portable roaring bitmap. It copies the bytes.
    /// O(bytes).
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open), or if there is no memory for the copy.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let copy = map_copy(bytes).map_err(Error::no_memory(bytes.len()))?;
        Self::from_map(copy, Path::new(IN_MEMORY))
    }
}
