//! Inputs that give values, not bytes: an iterator gives them once; a set or an array gives any
//! piece of them any number of times.

use crate::error::Result;
use std::ops::RangeInclusive;

/// Gives values once, in any order, a batch at a time.
pub(crate) trait ValueSource: Send {
    /// Appends the next values to `batch`: at most `most`, and fewer only at the end.
    fn next_values(&mut self, most: usize, batch: &mut Vec<u64>);
}

impl<I: Iterator<Item = u64> + Send> ValueSource for I {
    fn next_values(&mut self, most: usize, batch: &mut Vec<u64>) {
        batch.extend(self.by_ref().take(most));
    }
}

/// Gives values in pieces. Any number of threads may ask, as often as they like. Sets and arrays
/// are such sources. A place is a possible value of a set, or an index of an array.
pub(crate) trait PieceSource: Send + Sync {
    /// The name of the source in messages.
    fn name(&self) -> String;

    /// Whether the values ascend: those of a set do.
    fn ascends(&self) -> bool;

    /// Number of values.
    fn len(&self) -> Result<u64>;

    /// At most `most` values from all over, with the first and the last one; all of a smaller source.
    fn sample(&self, most: usize) -> Result<Vec<u64>>;

    /// The piece that begins with the first value from the place `from` on; it has at least one
    /// value and at most `most`. None if there are no more values.
    fn piece(&self, from: u64, most: usize) -> Result<Option<ValuePiece>>;

    /// Appends the values of a piece.
    ///
    /// # Errors
    ///
    /// If there are not as many values as `piece` said, or one cannot be read.
    fn read(&self, piece: &ValuePiece, values: &mut Vec<u64>) -> Result<()>;
}

/// Values that a thread reads together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ValuePiece {
    /// Places that have these values and no others.
    pub(crate) places: RangeInclusive<u64>,
    /// Number of values.
    pub(crate) len: usize,
}

/// The values of an iterator that were not taken yet.
pub(crate) struct Values {
    /// Values that the sample took, and that the run takes again.
    ahead: std::vec::IntoIter<u64>,
    source: Box<dyn ValueSource>,
    is_ended: bool,
}

impl Values {
    pub(super) fn new(source: Box<dyn ValueSource>) -> Self {
        Self { ahead: Vec::new().into_iter(), source, is_ended: false }
    }

    /// The next values, at most `most` and at least one, unless there are no more.
    pub(super) fn next(&mut self, most: usize) -> Vec<u64> {
        let mut batch: Vec<u64> = self.ahead.by_ref().take(most).collect();
        let room = most - batch.len();
        if room > 0 && !self.is_ended {
            let before = batch.len();
            self.source.next_values(room, &mut batch);
            self.is_ended = batch.len() - before < room;
        }
        batch
    }

    /// The next values, at most `most`, which are not taken yet; and whether they are the last
    /// ones.
    pub(super) fn look_ahead(&mut self, most: usize) -> (&[u64], bool) {
        self.ahead = self.next(most).into_iter();
        (self.ahead.as_slice(), self.is_ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_were_looked_at_come_once() {
        for (count, looked_at) in [(0, 5), (3, 5), (5, 5), (12, 5), (12, 0)] {
            let mut values = Values::new(Box::new(0..count));
            let (ahead, is_all) = values.look_ahead(looked_at);
            assert!(ahead.iter().copied().eq(0..count.min(looked_at as u64)));
            assert!(!is_all || count <= looked_at as u64);
            let batches = std::iter::repeat_with(|| values.next(2));
            let found = batches.take_while(|batch| !batch.is_empty()).flatten();
            assert!(found.eq(0..count), "{count} values, {looked_at} looked at");
        }
    }
}
