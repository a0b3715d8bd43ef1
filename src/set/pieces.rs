//! Containers on their way through a plan.

use super::operand::Operand;
use crate::error::{Error, Result};
use crate::set::container::{self, Container, KEY_DISORDER, Owned, Scratch};
use crate::set::view::{Cursor, Damage};

/// The largest key of a container.
pub(super) const LAST_KEY: u64 = u64::MAX >> 16;

/// A container that is borrowed or was computed.
pub(super) enum Piece<'a> {
    Borrowed(Container<'a>),
    Run([[u8; 4]; 1]),
    Computed(Box<Scratch>),
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

    /// Whether it has no value. A container of a set has one.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Computed(scratch) if scratch.is_empty())
    }
}

/// Memory of containers that are no longer used, for new ones.
#[derive(Default)]
#[expect(clippy::vec_box, reason = "pieces are moved often")]
pub(super) struct Pool(Vec<Box<Scratch>>);

impl Pool {
    pub(super) fn take(&mut self) -> Box<Scratch> {
        self.0.pop().unwrap_or_default()
    }

    /// The piece as an owned container.
    pub(super) fn own(&mut self, piece: Piece<'_>) -> Owned {
        let (owned, scratch) = match piece {
            Piece::Computed(mut scratch) => (scratch.take(), scratch),
            other => {
                let mut scratch = self.take();
                (Owned::copy(other.container(), &mut scratch), scratch)
            }
        };
        self.0.push(scratch);
        owned
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

/// A set, and a cursor over its containers.
#[derive(Clone)]
pub(crate) struct Leaf<'a> {
    cursor: Cursor<'a>,
    /// The key of the next container, at which the cursor is.
    ahead: Option<u64>,
    set: Operand<'a>,
}

impl<'a> Leaf<'a> {
    pub(super) fn new(set: Operand<'a>) -> Self {
        Self { cursor: set.view().cursor(), ahead: None, set }
    }

    /// The values from the key `first` on, up to those below `behind`, if these can be found: see
    /// [`Cursor::within`].
    pub(super) fn within(&self, first: u64, behind: Option<u64>) -> Result<Option<Self>> {
        let cursor = self.cursor.within(first, behind);
        let cursor = cursor.map_err(|damage| self.set.damaged(damage))?;
        Ok(cursor.map(|cursor| Self { cursor, ahead: None, set: self.set }))
    }

    /// The set.
    pub(super) fn set(&self) -> Operand<'a> {
        self.set
    }

    /// The smallest key from `from` on; `from` must not be below that of an earlier call.
    pub(super) fn key(&mut self, from: u64) -> Result<Option<u64>> {
        if self.ahead.is_none_or(|key| key < from) {
            // Without a search, the next container is met even if its key is too small.
            let follows = self.ahead.is_some_and(|key| key + 1 == from);
            let sought = if follows { Ok(()) } else { self.cursor.seek(from) };
            let sought = sought.and_then(|()| self.cursor.advance());
            self.ahead = sought.map_err(|damage| self.set.damaged(damage))?;
            if self.ahead.is_some_and(|key| key < from) {
                return Err(self.set.damaged(Damage::of(KEY_DISORDER)));
            }
        }
        Ok(self.ahead)
    }

    /// The values at `key`, if there are any.
    pub(super) fn piece(&mut self, key: u64, pool: &mut Pool) -> Result<Piece<'a>> {
        self.key(key)?;
        if self.ahead != Some(key) {
            return Ok(pool.empty());
        }
        Ok(match self.cursor.lent() {
            Ok(container) => Piece::Borrowed(container),
            Err(made) => {
                let mut copy = pool.take();
                copy.copy_from(made);
                Piece::Computed(copy)
            }
        })
    }

    /// The last key up to which all containers from `key` on have all their values, or none; `key` if
    /// nobody can tell.
    pub(super) fn alike_to(&mut self, key: u64) -> Result<u64> {
        Ok(match self.key(key)? {
            None => LAST_KEY,
            Some(ahead) if ahead > key => ahead - 1,
            Some(_) => self.cursor.full_to().unwrap_or(key),
        })
    }

    /// The fault in the order of the last container, if there is one.
    pub(super) fn disorder(&self) -> Option<Error> {
        let damage = self.ahead.and_then(|_| self.cursor.disorder())?;
        Some(self.set.damaged(damage))
    }

    /// An upper bound of the keys, if there are any.
    pub(super) fn last_key(&self) -> Option<u64> {
        self.cursor.last_key()
    }
}
