//! A screen before the set that is asked.

use crate::set::view::{Damage, Screen, SetView};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A screen is made if there is a line for so many bytes of the set. That is an eighth as many lines
/// as an array of these bytes has values.
const SET_BYTES_A_LINE: usize = 16;
/// If at least one of so many values is found, the screen also marks values that are surely in the
/// set, which need not be asked for them.
const MANY: u64 = 16;
/// Bytes of a line, to guess how many there are.
const LINE_BYTES: u64 = 16;

/// The screen before a set, and whether it is worth making.
pub(super) struct Screening<'a> {
    view: SetView<'a>,
    /// Whether the set takes long for each answer.
    is_sparse: bool,
    max_bytes: usize,
    threads: usize,
    /// Expected number of lines, if anything tells it.
    expected: Option<u64>,
    asked: AtomicU64,
    found: AtomicU64,
    screen: OnceLock<Result<Option<Screen>, Damage>>,
}

impl<'a> Screening<'a> {
    /// For inputs of `known_bytes`, if they are known. A screen may have
    /// `max_bytes`, and is made by `threads`.
    pub(super) fn new(
        view: SetView<'a>,
        known_bytes: Option<u64>,
        max_bytes: usize,
        threads: usize,
    ) -> Self {
        Self {
            view,
            is_sparse: view.walk().is_some(),
            max_bytes,
            threads,
            expected: known_bytes.map(|bytes| bytes / LINE_BYTES),
            asked: 0.into(),
            found: 0.into(),
            screen: OnceLock::new(),
        }
    }

    /// Whether there are many lines, and nothing is known of them.
    pub(super) fn wants_sample(&self) -> bool {
        self.expected.is_some_and(|lines| lines > 0) && self.asked.load(Ordering::Relaxed) == 0
    }

    /// Takes note of values that were answered.
    pub(super) fn saw(&self, asked: u64, found: u64) {
        self.asked.fetch_add(asked, Ordering::Relaxed);
        self.found.fetch_add(found, Ordering::Relaxed);
    }

    /// Made by the first thread that finds it worth it: there are many lines, and
    /// the set has few of them or is sparse. Without memory for it there is none.
    ///
    /// # Errors
    ///
    /// If any byte of the set is damaged: making a screen reads the whole set.
    pub(super) fn screen(&self) -> Result<Option<&Screen>, Damage> {
        let asked = self.asked.load(Ordering::Relaxed);
        let enough = (self.view.bytes() / SET_BYTES_A_LINE) as u64;
        let found = self.found.load(Ordering::Relaxed);
        let answers_fast = 2 * found >= asked && !self.is_sparse;
        if answers_fast || Some(asked).max(self.expected) < Some(enough) {
            return Ok(None);
        }
        let many = found * MANY >= asked;
        let make = || Screen::of(self.view, self.max_bytes, self.threads, many);
        self.screen.get_or_init(make).as_ref().map(Option::as_ref).map_err(|damage| *damage)
    }

    /// Memory of the screen; 0 if none was made.
    pub(super) fn bytes(&self) -> u64 {
        let made = self.screen.get().and_then(|made| made.as_ref().ok());
        made.and_then(Option::as_ref).map_or(0, |screen| screen.bytes() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set::{AsSet, IntegerSet, SetFile, SetFormat};
    use roaring::RoaringBitmap;

    #[test]
    fn a_sparse_set_has_a_screen_even_if_all_lines_are_found() {
        let set: IntegerSet = (0..1_000_000_u64).map(|value| value * 4000).collect();
        let folder = tempfile::tempdir().unwrap();
        for (format, is_screened) in
            [(SetFormat::SparseBits, true), (SetFormat::RoaringBits, false)]
        {
            let path = folder.path().join("set.bits");
            set.write_as(&path, format).unwrap();
            let file = SetFile::open(&path).unwrap();
            let screening = Screening::new(file.as_set().view(), Some(1 << 40), 1 << 30, 1);
            screening.saw(1000, 1000);
            assert_eq!(screening.screen().unwrap().is_some(), is_screened, "{format:?}");
        }
    }

    #[test]
    fn damage_that_a_screen_meets_is_told() {
        // Arrays of 1000 values, and behind them containers of a run.
        let arrays = (0..2_000_000_u32).map(|value| value << 6 | value & 1);
        let mut set: RoaringBitmap = arrays.collect();
        set.insert_range(0x8000_0000..0x8000_1000);
        set.insert_range(0x8001_0000..0x8001_1000);
        set.optimize();
        let mut bytes = Vec::new();
        set.serialize_into(&mut bytes).unwrap();
        let screening = |bytes: &[u8]| {
            let view = SetView::roaring(bytes).unwrap();
            let screening = Screening::new(view, Some(1 << 40), 1 << 30, 1);
            screening.saw(1000, 0);
            screening.screen().map(|screen| screen.is_some())
        };
        assert_eq!(screening(&bytes), Ok(true));
        let runs = bytes.len() - 12; // the number of runs, the run, and so again
        assert_eq!(bytes[runs..runs + 2], [1, 0]);
        bytes[runs] = 2;
        assert!(screening(&bytes).is_err());
    }
}
