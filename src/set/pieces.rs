//! Containers on their way through a plan.

use crate::container::{self, Container, Scratch};
use crate::error::{Error, Result};
use crate::view::{Cursor, Damage, SetView};

/// Says which file a damage is in.
pub(crate) type Blame<'a> = &'a (dyn Fn(Damage) -> Error + 'a);

/// A container that is borrowed or was computed.
pub(super) enum Piece<'a> {
    Borrowed(Container<'a>),
    Run([[u8; 4]; 1]),
    Computed(Scratch),
}

impl Piece<'_> {
    /// The values from `first` to `last`.
    pub(super) fn of_range(first: u32, last: u32) -> Self {
        Self::Run([container::run(first, last)])
    }

    pub(super) fn container(&self) -> Container<'_> {
        match self {
            Self::Borrowed(container) => *container,
            Self::Run(run) => Container::Runs(run),
            Self::Computed(scratch) => scratch.container(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Computed(scratch) if scratch.is_empty())
    }
}

/// Memory of containers that are used no more, for the next ones.
#[derive(Default)]
pub(super) struct Pool(Vec<Scratch>);

impl Pool {
    pub(super) fn take(&mut self) -> Scratch {
        self.0.pop().unwrap_or_default()
    }

    pub(super) fn empty<'p>(&mut self) -> Piece<'p> {
        let mut scratch = self.take();
        scratch.clear();
        Piece::Computed(scratch)
    }

    pub(super) fn give(&mut self, piece: Piece<'_>) {
        if let Piece::Computed(scratch) = piece {
            self.0.push(scratch);
        }
    }
}

/// A set with the container that comes next.
pub(crate) struct Leaf<'a> {
    cursor: Cursor<'a>,
    ahead: Option<(u64, Container<'a>)>,
    blame: Blame<'a>,
}

impl<'a> Leaf<'a> {
    pub(super) fn new(view: SetView<'a>, blame: Blame<'a>) -> Self {
        Self { cursor: view.cursor(), ahead: None, blame }
    }

    /// The smallest key from `from` on; `from` must not descend from call to call.
    pub(super) fn key(&mut self, from: u64) -> Result<Option<u64>> {
        if self.ahead.is_none_or(|(key, _)| key < from) {
            self.cursor.seek(from);
            self.ahead = self.cursor.next().map_err(self.blame)?;
            if self.ahead.is_some_and(|(key, _)| key < from) {
                let what = "the keys of the containers do not ascend";
                return Err((self.blame)(Damage::of(what)));
            }
        }
        Ok(self.ahead.map(|(key, _)| key))
    }

    /// The values at `key`, if there are any.
    pub(super) fn piece(&mut self, key: u64, pool: &mut Pool) -> Result<Piece<'a>> {
        self.key(key)?;
        Ok(match self.ahead {
            Some((found, container)) if found == key => Piece::Borrowed(container),
            _ => pool.empty(),
        })
    }

    /// What is wrong with the order of the container that came last.
    pub(super) fn disorder(&self) -> Option<Error> {
        let what = self.ahead.and_then(|(_, container)| container.disorder())?;
        Some((self.blame)(Damage::of(what)))
    }

    /// Upper bound of the keys, if there are any.
    pub(super) fn last_key(&self) -> Option<u64> {
        self.cursor.last_key()
    }
}
