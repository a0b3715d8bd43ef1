//! Makes one number for the sort of each row of a key and an id.
//!
//! The number of a row has the number of its key in its upper bits and the id in its lower bits.
//! The sample decides how many bits ids have. Rows of single ids that do not fit are kept aside.
//!
//! Rows of ranges cannot be kept aside. So keys of ranges have numbers and memory of their own:
//! whether these suffice must not depend on the order in which threads meet the keys. A key may be
//! of both kinds; its two sets are joined at the end.

use super::dictionary::Dictionary;
use crate::error::{Error, Result};
use crate::io::read::RowNumbers;
use crate::kernel::in_usize;
use crate::lines::records::{PartOptions, Parts};
use crate::number::Malformed;
use crate::size::ByteSize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

/// Fewest bits of an id, so that a container of 2^16 values belongs to one key.
const MIN_ID_BITS: u32 = 16;
/// Most bits of an id; the others are for keys.
const MAX_ID_BITS: u32 = 60;
/// Bits by which ids may grow after the sample, if keys leave them.
const SLACK_BITS: u32 = 4;

/// Number of lower bits of a number that are the id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Split(pub(super) u32);

impl Split {
    /// The split for a sample with ids up to `max` and so many keys.
    fn of(max: u64, keys: usize) -> Self {
        let id_bits = u64::BITS - max.leading_zeros();
        let key_bits = usize::BITS - keys.leading_zeros() + 2;
        let spare = u64::BITS.saturating_sub(id_bits + key_bits);
        Self((id_bits + SLACK_BITS.min(spare / 2)).clamp(MIN_ID_BITS, MAX_ID_BITS))
    }

    fn join(self, upper: u64, id: u64) -> Option<u64> {
        let fits = id >> self.0 == 0 && upper >> (u64::BITS - self.0) == 0;
        fits.then_some(upper << self.0 | id)
    }
}

/// What the rows of a key are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyKind {
    Singles,
    Ranges,
}

/// The number of a key among those of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyNumber {
    pub(super) kind: KeyKind,
    pub(super) number: usize,
}

/// The state that all threads share which read rows.
#[derive(Debug)]
pub(super) struct Numbering {
    /// The keys of each kind.
    dictionaries: [RwLock<Dictionary>; 2],
    /// Memory for the keys of ranges; none if rows have none.
    ranges_bytes: Option<u64>,
    split: OnceLock<Split>,
    /// The rows of the sample: the number of the key, and the id.
    sample: Mutex<Vec<(u32, u64)>>,
    aside_parts: PartOptions,
    aside: Mutex<Aside>,
    kept: AtomicU64,
}

/// Rows that have no number.
#[derive(Debug, Default)]
struct Aside {
    parts: Option<Parts>,
    /// The error that prevents a result: rows could not be read or kept.
    failed: Option<Error>,
}

/// The number that stands for keys without one.
const UNKNOWN: u32 = u32::MAX;

impl Numbering {
    /// Takes `keys_bytes` for keys; half of them for keys of ranges, if rows may have some. Without
    /// `id_bits`, the sample decides how many bits ids have.
    pub(super) fn new(
        keys_bytes: u64,
        aside_parts: PartOptions,
        id_bits: Option<u32>,
        has_ranges: bool,
    ) -> Self {
        let ranges_bytes = has_ranges.then_some(keys_bytes / 2);
        let singles_bytes = keys_bytes - ranges_bytes.unwrap_or(0);
        let limits = [singles_bytes, ranges_bytes.unwrap_or(0)];
        Self {
            dictionaries: limits.map(|bytes| RwLock::new(Dictionary::new(bytes))),
            ranges_bytes,
            split: id_bits.map_or_else(OnceLock::new, |bits| Split(bits).into()),
            sample: Mutex::default(),
            aside_parts,
            aside: Mutex::default(),
            kept: AtomicU64::new(0),
        }
    }

    /// The keys of each kind, the rows that were kept aside, and the number of these rows.
    ///
    /// # Errors
    ///
    /// If rows could not be read or kept.
    pub(super) fn into_parts(self) -> Result<([Dictionary; 2], Option<Parts>, u64)> {
        let Aside { parts, failed } =
            self.aside.into_inner().unwrap_or_else(PoisonError::into_inner);
        let dictionaries =
            self.dictionaries.map(|keys| keys.into_inner().unwrap_or_else(PoisonError::into_inner));
        match failed {
            Some(error) => Err(error),
            None => Ok((dictionaries, parts, self.kept.into_inner())),
        }
    }

    /// The upper bits with which the keys of single ids begin. Those below are of keys of ranges.
    fn first_single(&self) -> u64 {
        let most = 1_u64 << (u64::BITS - self.split().0);
        if self.ranges_bytes.is_some() { most / 4 * 3 } else { 0 }
    }

    /// The key that has these upper bits.
    pub(super) fn key_of(&self, upper: u64) -> KeyNumber {
        let (kind, number) = match upper.checked_sub(self.first_single()) {
            Some(number) => (KeyKind::Singles, number),
            None => (KeyKind::Ranges, upper),
        };
        KeyNumber { kind, number: in_usize(number) } // it has 32 bits
    }

    pub(super) fn is_settled(&self) -> bool {
        self.split.get().is_some()
    }

    pub(super) fn split(&self) -> Split {
        *self.split.get_or_init(|| Split(MIN_ID_BITS))
    }

    /// Takes note that no more rows come, because of this error. [`into_parts`](Self::into_parts)
    /// gives it.
    pub(super) fn fail(&self, error: Error) {
        self.aside().failed.get_or_insert(error);
    }

    fn aside(&self) -> MutexGuard<'_, Aside> {
        self.aside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn dictionary(&self, kind: KeyKind) -> &RwLock<Dictionary> {
        &self.dictionaries[kind as usize]
    }

    /// The numbers of the keys of rows. New keys get a number as long as there is memory.
    fn keys(&self, kind: KeyKind, rows: &[(&[u8], u64)], numbers: &mut Vec<u32>) {
        let dictionary = self.dictionary(kind).read().unwrap_or_else(PoisonError::into_inner);
        let mut is_complete = true;
        numbers.extend(rows.iter().map(|(key, _)| {
            let number = dictionary.find(dictionary.hash(key), key);
            is_complete &= number.is_some();
            number.unwrap_or(UNKNOWN)
        }));
        drop(dictionary);
        if is_complete {
            return;
        }
        let mut dictionary = self.dictionary(kind).write().unwrap_or_else(PoisonError::into_inner);
        for (number, (key, _)) in numbers.iter_mut().zip(rows) {
            if *number == UNKNOWN {
                let hash = dictionary.hash(key);
                *number = dictionary.insert(hash, key).unwrap_or(UNKNOWN);
            }
        }
    }

    /// Keeps rows aside.
    fn keep(&self, rows: &[(&[u8], u64)]) {
        let mut aside = self.aside();
        if aside.failed.is_some() {
            return;
        }
        let mut keep = || -> Result<()> {
            let parts = match &mut aside.parts {
                Some(parts) => parts,
                none => none.insert(self.aside_parts.parts(0)),
            };
            rows.iter().try_for_each(|(key, id)| parts.push(*id, key, key))
        };
        let kept = keep();
        aside.failed = kept.err();
        self.kept.fetch_add(rows.len() as u64, Ordering::Relaxed);
    }
}

impl RowNumbers for Numbering {
    fn number(&self, rows: &[(&[u8], u64)], joined: &mut Vec<u64>) {
        let mut numbers = Vec::with_capacity(rows.len());
        self.keys(KeyKind::Singles, rows, &mut numbers);
        let Some(split) = self.split.get() else {
            let mut sample = self.sample.lock().unwrap_or_else(PoisonError::into_inner);
            let known = numbers.iter().zip(rows).filter(|(number, _)| **number != UNKNOWN);
            sample.extend(known.map(|(&number, &(_, id))| (number, id)));
            joined.extend(rows.iter().map(|(_, id)| id));
            return;
        };
        let (mut others, first) = (Vec::new(), self.first_single());
        for (&number, &row) in numbers.iter().zip(rows) {
            let upper = first + u64::from(number);
            let fitting = (number != UNKNOWN).then(|| split.join(upper, row.1)).flatten();
            match fitting {
                Some(value) => joined.push(value),
                None => others.push(row),
            }
        }
        if !others.is_empty() {
            self.keep(&others);
        }
    }

    fn range(&self, key: &[u8], [first, last]: [u64; 2]) -> Result<Option<[u64; 2]>, Malformed> {
        let split = self.split();
        if last >> split.0 > 0 {
            return Err(Malformed::RangeTooHigh);
        }
        let mut numbers = Vec::with_capacity(1);
        self.keys(KeyKind::Ranges, &[(key, first)], &mut numbers);
        let number = numbers.pop().filter(|&number| number != UNKNOWN).map(u64::from);
        let most = self.first_single();
        let joined = number
            .filter(|&number| number < most)
            .and_then(|number| Some([split.join(number, first)?, split.join(number, last)?]));
        if joined.is_none() {
            self.fail(Error::usage(match (number, self.ranges_bytes) {
                (None, Some(bytes)) => {
                    let bytes = ByteSize::from_bytes(bytes);
                    format!("the keys of rows with blocks or ranges take more than {bytes} of memory, a sixteenth of the limit")
                }
                _ => format!("more than {most} keys have rows with blocks or ranges"),
            }));
        }
        Ok(joined)
    }

    fn settle(&self) -> Vec<u64> {
        let sample =
            std::mem::take(&mut *self.sample.lock().unwrap_or_else(PoisonError::into_inner));
        let max = sample.iter().map(|(_, id)| *id).max().unwrap_or(0);
        let keys = self.dictionary(KeyKind::Singles).read();
        let keys = keys.unwrap_or_else(PoisonError::into_inner).len();
        let split = *self.split.get_or_init(|| Split::of(max, keys));
        sample.into_iter().filter_map(|(number, id)| split.join(number.into(), id)).collect()
    }

    fn check(&self) -> Result<()> {
        // `into_parts` gives the error itself.
        if self.aside().failed.is_some() { Err(Error::Interrupted) } else { Ok(()) }
    }
}
