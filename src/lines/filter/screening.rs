//! A screen before the set that is asked.

use crate::set::view::{Screen, SetView};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of the set for a line to be asked, from which on a screen is made: an
/// eighth as many lines as an array has values pay for it.
const SET_BYTES_A_LINE: usize = 16;
/// Bytes of a line, to guess how many there are.
const LINE_BYTES: u64 = 16;

/// The screen before a set, and whether it is worth making.
pub(super) struct Screening<'a> {
    view: SetView<'a>,
    max_bytes: usize,
    threads: usize,
    /// Lines that there are, as far as that is known.
    expected: u64,
    asked: AtomicU64,
    found: AtomicU64,
    screen: OnceLock<Option<Screen>>,
}

impl<'a> Screening<'a> {
    /// For inputs of `known_bytes`, as far as that is known. A screen may have
    /// `max_bytes`, and is made by `threads`.
    pub(super) fn new(
        view: SetView<'a>,
        known_bytes: u64,
        max_bytes: usize,
        threads: usize,
    ) -> Self {
        Self {
            view,
            max_bytes,
            threads,
            expected: known_bytes / LINE_BYTES,
            asked: 0.into(),
            found: 0.into(),
            screen: OnceLock::new(),
        }
    }

    /// Whether there are many lines, and nothing is known of them.
    pub(super) fn wants_sample(&self) -> bool {
        self.expected > 0 && self.asked.load(Ordering::Relaxed) == 0
    }

    /// Takes note of values that were answered.
    pub(super) fn saw(&self, asked: u64, found: u64) {
        self.asked.fetch_add(asked, Ordering::Relaxed);
        self.found.fetch_add(found, Ordering::Relaxed);
    }

    /// Made by the first thread that finds it worth it: there are many lines, and
    /// the set has few of them.
    pub(super) fn screen(&self) -> Option<&Screen> {
        let asked = self.asked.load(Ordering::Relaxed);
        let enough = (self.view.bytes() / SET_BYTES_A_LINE) as u64;
        if 2 * self.found.load(Ordering::Relaxed) >= asked || asked.max(self.expected) < enough {
            return None;
        }
        // Damage is told where an answer is looked for.
        let make = || Screen::of(self.view, self.max_bytes, self.threads).ok().flatten();
        self.screen.get_or_init(make).as_ref()
    }

    /// Memory of the screen; 0 if none was made.
    pub(super) fn bytes(&self) -> u64 {
        self.screen.get().and_then(Option::as_ref).map_or(0, |screen| screen.bytes() as u64)
    }
}
