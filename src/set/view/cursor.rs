//! The containers of a set, in order.

use super::roaring::RoaringView;
use super::run_list::RunWalk;
use super::search::{difference, sum};
use super::walk::Walk;
use super::{Damage, FolderView, Shape};
use crate::kernel::steps;
use crate::set::container::{Container, KEY_DISORDER, Scratch};
use crate::set::containers::Slot;

/// Walks over the containers of a set.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    shape: Shape<'a>,
    /// The next piece, container or bucket.
    next: usize,
    /// The key of the last container that was read.
    met: Option<u64>,
    /// The piece or container behind the last one to read, and a key that is larger than all of
    /// these.
    end: usize,
    behind: Option<u64>,
    /// The next container in memory.
    slot: Slot,
    /// The bucket before `next`, and the number of its next container.
    bucket: Option<(u32, RoaringView<'a>, usize)>,
    /// The place of the last container that was read.
    here: Here<'a>,
}

/// The place of a container.
#[derive(Debug, Clone)]
enum Here<'a> {
    Lent(Container<'a>),
    /// A container that is made for a set which has none itself.
    Made(Box<(Maker<'a>, Scratch)>),
    /// In a part of a folder: the part before `next`.
    Part(Box<Cursor<'a>>),
}

/// Makes containers of a set that has none.
#[derive(Debug, Clone)]
enum Maker<'a> {
    /// Of the values of a sparse set.
    Values(Walk<'a>),
    Runs(RunWalk<'a>),
}

impl Maker<'_> {
    /// Moves to the container of `value`, or to the next one.
    fn seek(&mut self, value: u64) -> Result<(), Damage> {
        match self {
            Self::Values(walk) => walk.seek(value),
            Self::Runs(walk) => {
                walk.seek(value);
                Ok(())
            }
        }
    }

    fn end(&mut self) {
        match self {
            Self::Values(walk) => walk.end(),
            Self::Runs(walk) => walk.end(),
        }
    }

    /// Makes the next container in `scratch`; gives its key.
    fn container(&mut self, scratch: &mut Scratch) -> Result<Option<u64>, Damage> {
        match self {
            Self::Values(walk) => walk.container(scratch),
            Self::Runs(walk) => walk.container(scratch),
        }
    }
}

/// A container with its key, which is the upper bits of its values.
pub(crate) type Keyed<'a> = (u64, Container<'a>);

#[expect(clippy::cast_possible_truncation, reason = "the low half is meant")]
fn low_key(key: u64) -> u16 {
    key as u16
}

impl<'a> Cursor<'a> {
    pub(super) fn new(shape: Shape<'a>) -> Self {
        let maker = match shape {
            Shape::Sparse(sparse) => Some(Maker::Values(Walk::new(sparse))),
            Shape::Runs(runs) => Some(Maker::Runs(RunWalk::new(runs))),
            _ => None,
        };
        let made = maker.map(|maker| Here::Made(Box::new((maker, Scratch::default()))));
        let here = made.unwrap_or(Here::Lent(Container::Array(&[])));
        let (end, behind, slot) = (usize::MAX, None, Slot::default());
        Self { shape, next: 0, met: None, end, behind, slot, bucket: None, here }
    }

    /// A new cursor over the containers from the key `first` on, up to those below `behind` if there
    /// is an end. Cursors over neighbouring ranges read each container once, or report damage. None
    /// if it is not known where the ranges begin and end.
    pub(crate) fn within(&self, first: u64, behind: Option<u64>) -> Result<Option<Self>, Damage> {
        let mut here = None;
        let (next, end) = match self.shape {
            Shape::Sparse(sparse) => {
                let behind = behind.and_then(|behind| behind.checked_mul(1 << 16));
                let walk = Walk::new(sparse).within(first << 16, behind)?;
                here = Some(Here::Made(Box::new((Maker::Values(walk), Scratch::default()))));
                (0, usize::MAX)
            }
            Shape::Dense(dense) => {
                (dense.place(first), behind.map_or(usize::MAX, |behind| dense.place(behind)))
            }
            Shape::Roaring(roaring) => {
                let place = |key: u64| match u16::try_from(key) {
                    Ok(key) => roaring.find(key).unwrap_or_else(|place| place),
                    Err(_) => roaring.len(),
                };
                (place(first), behind.map_or(usize::MAX, place))
            }
            _ => return Ok(None),
        };
        let new = Self::new(self.shape);
        let (met, here) = (first.checked_sub(1), here.unwrap_or(new.here));
        Ok(Some(Self { next, met, end, behind, here, ..new }))
    }

    /// The key at which the first `part` of `parts` equal parts ends, of pieces, of containers or of the
    /// values of a sparse set; none if that is not known at once.
    pub(crate) fn key_behind_part(&self, part: u64, parts: u64) -> Option<u64> {
        let share = |len: u64| u128::from(len) * u128::from(part) / u128::from(parts.max(1));
        let index = |len: usize| usize::try_from(share(len as u64)).ok().filter(|&at| at < len);
        match self.shape {
            Shape::Sparse(sparse) => {
                let rank = u64::try_from(share(sparse.len())).ok()?;
                sparse.select(rank).ok()?.map(|value| value >> 16)
            }
            Shape::Dense(dense) => Some(dense.get(index(dense.len())?)?.0),
            Shape::Roaring(roaring) => Some(roaring.key(index(roaring.len())?).into()),
            _ => None,
        }
    }

    /// The key of the last container; of a treemap an upper bound of it.
    pub(crate) fn last_key(&self) -> Option<u64> {
        match self.shape {
            Shape::Memory(containers) => containers.last_key(),
            Shape::Dense(dense) => Some(dense.get(dense.len().checked_sub(1)?)?.0),
            Shape::Roaring(roaring) => Some(roaring.key(roaring.len().checked_sub(1)?).into()),
            Shape::Treemap(treemap) => {
                let bucket = treemap.bucket(treemap.len().checked_sub(1)?);
                Some(u64::from(bucket.key) << 16 | 0xFFFF)
            }
            Shape::Sparse(sparse) => Some(sparse.ends()?.1 >> 16),
            Shape::Runs(runs) => Some(runs.ends()?.1 >> 16),
            Shape::Folder(folder) => Some(folder.parts().last()?.last >> 16),
            // Let the caller ask for any container, so that it gets the damage.
            Shape::Damaged(_) => Some(u64::MAX >> 16),
        }
    }

    /// Moves to the first container whose key is `key` or larger; never back.
    ///
    /// # Errors
    ///
    /// If a sparse set is damaged at the key. For other sets, `next` reports damage.
    pub(crate) fn seek(&mut self, key: u64) -> Result<(), Damage> {
        steps::count(1);
        if let Shape::Folder(folder) = self.shape {
            let Some(value) = key.checked_mul(1 << 16) else {
                self.open_part(folder, folder.parts().len());
                return Ok(());
            };
            return self.seek_part(folder, value);
        }
        if let Here::Made(made) = &mut self.here {
            if let Some(value) = key.checked_mul(1 << 16) {
                return made.0.seek(value);
            }
            made.0.end();
            return Ok(());
        }
        self.seek_container(key);
        Ok(())
    }

    /// Moves to the first part that ends at `value` or behind it, and there to that value.
    fn seek_part(&mut self, folder: FolderView<'a>, value: u64) -> Result<(), Damage> {
        let place = folder.place(value);
        if place >= self.next {
            self.open_part(folder, place);
        }
        match &mut self.here {
            Here::Part(part) if place + 1 == self.next => {
                part.seek(value >> 16).map_err(|damage| placed(folder, self.next, damage))
            }
            _ => Ok(()),
        }
    }

    /// Makes the part at `place` the next one, if there is one.
    fn open_part(&mut self, folder: FolderView<'a>, place: usize) {
        self.here = match folder.parts().get(place) {
            Some(part) => Here::Part(Box::new(part.view().cursor())),
            None => Here::Lent(Container::Array(&[])),
        };
        self.next = place.saturating_add(1).min(folder.parts().len());
    }

    /// The key of the next container of the parts.
    fn advance_in_parts(&mut self, folder: FolderView<'a>) -> Result<Option<u64>, Damage> {
        loop {
            if let Here::Part(part) = &mut self.here {
                let found = part.advance().map_err(|damage| placed(folder, self.next, damage))?;
                if found.is_some() {
                    return Ok(found);
                }
            }
            if self.next >= folder.parts().len() {
                return Ok(None);
            }
            self.open_part(folder, self.next);
        }
    }

    fn seek_container(&mut self, key: u64) {
        match self.shape {
            Shape::Memory(containers) => self.slot = containers.advance(self.slot, key),
            Shape::Dense(dense) => self.next = self.next.max(dense.place(key)),
            Shape::Roaring(roaring) => {
                self.next = match u16::try_from(key) {
                    Ok(key) => roaring.find_from(self.next, key),
                    Err(_) => roaring.len(),
                };
            }
            Shape::Treemap(treemap) => {
                let Ok(high) = u32::try_from(key >> 16) else {
                    (self.next, self.bucket) = (treemap.len(), None);
                    return;
                };
                if let Some((bucket, roaring, next)) = &mut self.bucket {
                    if *bucket == high {
                        *next = roaring.find_from(*next, low_key(key));
                    }
                    if *bucket >= high {
                        return;
                    }
                    self.bucket = None;
                }
                if self.next < treemap.len() && treemap.bucket(self.next).key > high {
                    return;
                }
                let found = treemap.find(high);
                self.next = self.next.max(found.unwrap_or_else(|place| place));
                // The search gives a damaged bucket too: `next` reports it.
                if found == Ok(self.next)
                    && low_key(key) > 0
                    && let Ok((bucket, roaring)) = treemap.get(self.next)
                {
                    let (Ok(place) | Err(place)) = roaring.find(low_key(key));
                    self.bucket = Some((bucket, roaring, place));
                    self.next += 1;
                }
            }
            Shape::Damaged(_) | Shape::Sparse(_) | Shape::Runs(_) | Shape::Folder(_) => {} // `next` reports damage, `seek` moves
        }
    }

    /// The next container. Containers of a plain bitmap may be empty.
    ///
    /// # Errors
    ///
    /// If it is damaged, or if its key is not larger than all before: the caller would take values
    /// twice or in a wrong order.
    pub(crate) fn next(&mut self) -> Result<Option<Keyed<'_>>, Damage> {
        Ok(self.advance()?.map(|key| (key, self.here())))
    }

    /// The same, but gives only the key.
    pub(crate) fn advance(&mut self) -> Result<Option<u64>, Damage> {
        let found = match (self.shape, &mut self.here) {
            (Shape::Folder(folder), _) => self.advance_in_parts(folder)?,
            (_, Here::Made(made)) => made.0.container(&mut made.1)?,
            _ => self.following()?.map(|(key, container)| {
                self.here = Here::Lent(container);
                key
            }),
        };
        if let Some(key) = found
            && (self.met.replace(key) >= Some(key)
                || self.behind.is_some_and(|behind| behind <= key))
        {
            return Err(Damage::of(KEY_DISORDER));
        }
        Ok(found)
    }

    /// The last container that was read.
    pub(crate) fn here(&self) -> Container<'_> {
        match &self.here {
            Here::Lent(container) => *container,
            Here::Made(made) => made.1.container(),
            Here::Part(part) => part.here(),
        }
    }

    /// The same: the container in its place, or the scratch memory in which it was made.
    pub(crate) fn lent(&self) -> Result<Container<'a>, &Scratch> {
        match &self.here {
            Here::Lent(container) => Ok(*container),
            Here::Made(made) => Err(&made.1),
            Here::Part(part) => part.lent(),
        }
    }

    /// The last key up to which all containers from the last one that was read have all their
    /// values; none if it has not all of them, or if nobody can tell.
    pub(crate) fn full_to(&self) -> Option<u64> {
        match &self.here {
            Here::Made(made) => match &made.0 {
                Maker::Runs(walk) => walk.full_to(),
                Maker::Values(_) => None,
            },
            Here::Part(part) => part.full_to(),
            Here::Lent(_) => None,
        }
    }

    /// The next container, if its values ascend. For callers that go from value to value.
    pub(crate) fn next_sound(&mut self) -> Result<Option<Keyed<'_>>, Damage> {
        let Some(key) = self.advance()? else { return Ok(None) };
        match self.disorder() {
            Some(damage) => Err(damage),
            None => Ok(Some((key, self.here()))),
        }
    }

    /// Appends the values of the next containers, if these are in memory and have few values: see
    /// [`Containers::append_few`](crate::set::containers::Containers::append_few).
    pub(super) fn append_few(
        &mut self,
        keys: (u64, u64),
        positions: &mut Vec<u32>,
        count: &mut usize,
    ) -> Option<u64> {
        match self.shape {
            Shape::Memory(containers) => {
                containers.append_few(&mut self.slot, keys, positions, count)
            }
            _ => None,
        }
    }

    /// The fault in the order of the last container, if there is one.
    pub(crate) fn disorder(&self) -> Option<Damage> {
        match (self.shape, &self.here) {
            // Containers of these sets are always in order.
            (Shape::Memory(_) | Shape::Sparse(_) | Shape::Runs(_), _) => None,
            (Shape::Folder(folder), Here::Part(part)) => {
                part.disorder().map(|damage| placed(folder, self.next, damage))
            }
            _ => self.here().disorder().map(|what| self.fault(what)),
        }
    }

    /// Damage in the last container.
    fn fault(&self, what: &'static str) -> Damage {
        let (roaring, next) = match (self.shape, &self.bucket) {
            (Shape::Roaring(roaring), _) => (roaring, self.next),
            (_, Some((_, roaring, next))) => (*roaring, *next),
            _ => return Damage::of(what),
        };
        next.checked_sub(1).map_or(Damage::of(what), |index| roaring.fault(index, what))
    }

    fn following(&mut self) -> Result<Option<Keyed<'a>>, Damage> {
        steps::count(1);
        match self.shape {
            Shape::Memory(containers) => {
                let found = containers.get(self.slot);
                self.slot = containers.after(self.slot);
                Ok(found)
            }
            Shape::Dense(dense) => {
                let found = if self.next < self.end { dense.get(self.next) } else { None };
                self.next += usize::from(found.is_some());
                Ok(found)
            }
            Shape::Roaring(roaring) => {
                if self.next >= roaring.len().min(self.end) {
                    return Ok(None);
                }
                self.next += 1;
                Ok(Some((roaring.key(self.next - 1).into(), roaring.checked(self.next - 1)?)))
            }
            Shape::Treemap(treemap) => loop {
                if let Some((high, roaring, next)) = &mut self.bucket
                    && *next < roaring.len()
                {
                    *next += 1;
                    let key = u64::from(*high) << 16 | u64::from(roaring.key(*next - 1));
                    return Ok(Some((key, roaring.checked(*next - 1)?)));
                }
                if self.next >= treemap.len() {
                    return Ok(None);
                }
                let (high, roaring) = treemap.get(self.next)?;
                self.bucket = Some((high, roaring, 0));
                self.next += 1;
            },
            Shape::Sparse(_) | Shape::Runs(_) | Shape::Folder(_) => Ok(None), // `advance` gives their containers
            Shape::Damaged(damage) => Err(damage),
        }
    }

    /// Passes containers that have at most `count` values together; gives how many these have. For
    /// a roaring bitmap it reads only the heads, O(containers); for a plain bitmap the table of
    /// ranks, O(log pieces), or the words. It stays in its part of a folder.
    pub(crate) fn pass(&mut self, count: u64) -> Result<u64, Damage> {
        let mut passed = 0;
        match self.shape {
            Shape::Damaged(damage) => return Err(damage),
            Shape::Sparse(_) | Shape::Runs(_) => {} // they find a value by its rank without this
            Shape::Folder(folder) => {
                if let Here::Part(part) = &mut self.here {
                    let pass = part.pass(count);
                    passed = pass.map_err(|damage| placed(folder, self.next, damage))?;
                }
            }
            Shape::Memory(containers) => {
                while let Some(len) = containers.len_at(self.slot)
                    && passed + u64::from(len) <= count
                {
                    passed += u64::from(len);
                    self.slot = containers.after(self.slot);
                }
            }
            Shape::Dense(dense) => {
                let before = dense.rank(self.next)?;
                let all = dense.rank(dense.len())?;
                let place = if difference(all, before)? <= count {
                    Some((dense.len(), all))
                } else {
                    dense.piece_of(sum(before, count)?)?
                };
                if let Some((place, rank)) = place.filter(|&(place, _)| place > self.next) {
                    self.next = place;
                    passed = difference(rank, before)?;
                }
            }
            Shape::Roaring(roaring) => passed = roaring.pass(&mut self.next, count),
            Shape::Treemap(treemap) => loop {
                if let Some((_, roaring, next)) = &mut self.bucket {
                    passed += roaring.pass(next, count - passed);
                    if *next < roaring.len() {
                        break;
                    }
                }
                if self.next >= treemap.len() {
                    break;
                }
                let (high, roaring) = treemap.get(self.next)?;
                self.bucket = Some((high, roaring, 0));
                self.next += 1;
            },
        }
        Ok(passed)
    }
}

/// Damage of the part before `next`, with its offset among those of all parts.
fn placed(folder: FolderView<'_>, next: usize, damage: Damage) -> Damage {
    let part = next.checked_sub(1).and_then(|place| folder.parts().get(place));
    part.map_or(damage, |part| part.place(damage))
}
