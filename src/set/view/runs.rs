//! The runs of a set: its values as ranges that do not touch.

use super::{Cursor, Damage, SetView};
use crate::set::container::{Container, Scratch, intervals};
use std::fmt;

/// Iterates over the first and the last value of each run, ascending.
#[derive(Clone)]
pub struct Runs<'a> {
    cursor: Option<Cursor<'a>>,
    scratch: Scratch,
    /// The runs of one container, the last one first.
    found: Vec<(u64, u64)>,
    /// The last run so far. The next container may continue it.
    open: Option<(u64, u64)>,
}

impl fmt::Debug for Runs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runs").finish_non_exhaustive()
    }
}

impl<'a> SetView<'a> {
    /// The first and the last value of each run, ascending. O(containers + runs); a bitmap also
    /// costs its words. The iterator ends with the first error.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::set::SetView;
    ///
    /// let mut words = [[0; 8]; 1024];
    /// words[0] = 0b0110_1110_u64.to_le_bytes();
    /// let runs: Result<Vec<_>, _> = SetView::dense(&words, 0).runs().collect();
    /// assert_eq!(runs, Ok(vec![(1, 3), (5, 6)]));
    /// ```
    #[must_use]
    pub fn runs(self) -> Runs<'a> {
        let cursor = Some(self.cursor());
        Runs { cursor, scratch: Scratch::default(), found: Vec::new(), open: None }
    }
}

impl Runs<'_> {
    /// Ends with an error: the open run may go on behind it.
    fn end(&mut self, damage: Damage) -> Result<(u64, u64), Damage> {
        (self.cursor, self.open) = (None, None);
        self.found.clear();
        Err(damage)
    }

    /// Passes the containers behind `key` that the set says to have all their values.
    fn pass_full(&mut self, key: u64) -> Result<(), Damage> {
        let Some(cursor) = &mut self.cursor else { return Ok(()) };
        match (cursor.full_to(), self.found.first_mut()) {
            (Some(last), Some(run)) if last > key => {
                run.1 = last << 16 | 0xFFFF;
                cursor.seek(last + 1)
            }
            _ => Ok(()),
        }
    }
}

impl Iterator for Runs<'_> {
    type Item = Result<(u64, u64), Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            while let Some((first, last)) = self.found.pop() {
                match &mut self.open {
                    Some(open) if open.1.checked_add(1) == Some(first) => open.1 = last,
                    open => {
                        if let Some(run) = open.replace((first, last)) {
                            return Some(Ok(run));
                        }
                    }
                }
            }
            match self.cursor.as_mut().map(Cursor::next_sound) {
                Some(Ok(Some((key, container)))) => {
                    let wide = |low: u32| key << 16 | u64::from(low);
                    if let Container::Runs(runs) = self.scratch.runs_of(container) {
                        self.found.extend(intervals(runs).map(|(a, b)| (wide(a), wide(b))));
                        self.found.reverse();
                    }
                    if let Err(damage) = self.pass_full(key) {
                        return Some(self.end(damage));
                    }
                }
                Some(Err(damage)) => return Some(self.end(damage)),
                Some(Ok(None)) | None => {
                    self.cursor = None;
                    return self.open.take().map(Ok);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_go_on_across_containers_of_any_kind() {
        let mut words = vec![[0xFF_u8; 8]; 3 * 1024];
        words[0] = [0xFE, 0, 0, 0, 0, 0, 0, 0];
        words[3 * 1024 - 1] = [0x7F; 8];
        let base = 5 << 16;
        let view = SetView::dense(&words, base);
        let runs: Result<Vec<_>, _> = view.runs().collect();
        let last = base + (3 << 16) - 1;
        let mut expected = vec![(base + 1, base + 7), (base + 64, last - 57)];
        // A byte of 0x7F is a run of 7 bits.
        expected.extend((1..8).map(|byte| (last - 63 + 8 * byte, last - 57 + 8 * byte)));
        assert_eq!(runs.unwrap(), expected);
        assert!(SetView::dense(&[], 0).runs().next().is_none());
    }

    #[test]
    fn a_run_to_the_largest_value_ends() {
        let words = vec![[0xFF_u8; 8]; 1024];
        let base = u64::MAX << 16;
        let view = SetView::dense(&words, base);
        assert_eq!(view.runs().collect::<Result<Vec<_>, _>>().unwrap(), [(base, u64::MAX)]);
    }
}
