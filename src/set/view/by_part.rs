//! The values of the parts of a folder, in order, from either end.

use super::{Damage, FolderPart, FolderView, Values};

/// Values of one part after the other.
#[derive(Debug, Clone)]
pub(super) struct ByPart<'a> {
    /// Parts that neither side has begun.
    parts: &'a [FolderPart],
    first: u64,
    last: u64,
    front: Option<Side<'a>>,
    back: Option<Side<'a>>,
}

/// The part at which a side is.
#[derive(Debug, Clone)]
struct Side<'a> {
    part: &'a FolderPart,
    values: Box<Values<'a>>,
}

impl<'a> Side<'a> {
    fn of(part: &'a FolderPart, first: u64, last: u64) -> Self {
        Self { part, values: Box::new(part.view().range(first..=last)) }
    }

    fn placed(&self, value: Result<u64, Damage>) -> Result<u64, Damage> {
        value.map_err(|damage| self.part.place(damage))
    }
}

impl<'a> ByPart<'a> {
    /// The values from the first to the last of `ends`.
    pub(super) fn new(folder: FolderView<'a>, ends: Option<(u64, u64)>) -> Self {
        let (parts, (first, last)) = match ends {
            Some((first, last)) => {
                let parts = &folder.parts()[folder.place(first)..];
                let count = parts.partition_point(|part| part.first <= last);
                (&parts[..count], (first, last))
            }
            None => (&[][..], (1, 0)),
        };
        Self { parts, first, last, front: None, back: None }
    }

    /// Ends the iteration if `item` is an error.
    fn handed(&mut self, item: Result<u64, Damage>) -> Result<u64, Damage> {
        if item.is_err() {
            (self.parts, self.front, self.back) = (&[], None, None);
        }
        item
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<Result<u64, Damage>> {
        loop {
            if let Some(front) = &mut self.front
                && let Some(item) = front.values.next()
            {
                let item = front.placed(item);
                return Some(self.handed(item));
            }
            self.front = match self.parts.split_first() {
                Some((part, rest)) => {
                    self.parts = rest;
                    Some(Side::of(part, self.first, self.last))
                }
                // The back has the rest of the last part.
                None => Some(self.back.take()?),
            };
        }
    }

    pub(super) fn next_back(&mut self) -> Option<Result<u64, Damage>> {
        loop {
            if let Some(back) = &mut self.back
                && let Some(item) = back.values.next_back()
            {
                let item = back.placed(item);
                return Some(self.handed(item));
            }
            self.back = match self.parts.split_last() {
                Some((part, rest)) => {
                    self.parts = rest;
                    Some(Side::of(part, self.first, self.last))
                }
                None => Some(self.front.take()?),
            };
        }
    }

    /// Faster than `next`.
    pub(super) fn fold<B>(self, init: B, mut visit: impl FnMut(B, Result<u64, Damage>) -> B) -> B {
        let Self { parts, first, last, front, back } = self;
        let between = parts.iter().map(|part| Side::of(part, first, last));
        let (mut state, mut failed) = (init, false);
        for side in front.into_iter().chain(between).chain(back) {
            if failed {
                break;
            }
            let part = side.part;
            state = side.values.fold(state, |state, item| {
                failed |= item.is_err();
                visit(state, item.map_err(|damage| part.place(damage)))
            });
        }
        state
    }
}
