//! Questions to one set.

use super::cursor::Keyed;
use super::search::{WRONG_RANKS, difference, ends_of, last_up_to, sum};
use super::{Damage, RoaringView, SetView, Shape};
use crate::set::container::{Container, KEY_DISORDER, join, split};
use std::ops::RangeBounds;

/// Some sets answer by ranks, and a folder by its parts. Nothing asks them for a container.
const NO_CONTAINERS: Damage = Damage { offset: 0, what: "the set has no containers" };

impl<'a> SetView<'a> {
    /// The container of `key`.
    pub(crate) fn container(self, key: u64) -> Result<Option<Container<'a>>, Damage> {
        Ok(match self.0 {
            Shape::Damaged(damage) => return Err(damage),
            Shape::Sparse(_) | Shape::Runs(_) => return Err(NO_CONTAINERS),
            Shape::Folder(folder) => match folder.parts().get(folder.place(key << 16)) {
                Some(part) => part.ask(|view| view.container(key))?,
                None => None,
            },
            Shape::Memory(containers) => containers.container(key),
            Shape::Dense(dense) => match dense.get(dense.place(key)) {
                Some((found, container)) if found == key => Some(container),
                _ => None,
            },
            Shape::Roaring(roaring) => match u16::try_from(key).map(|key| roaring.find(key)) {
                Ok(Ok(index)) => Some(roaring.get(index)?),
                _ => None,
            },
            Shape::Treemap(treemap) => {
                let Ok(Ok(bucket)) = u32::try_from(key >> 16).map(|high| treemap.find(high)) else {
                    return Ok(None);
                };
                let (_, roaring) = treemap.get(bucket)?;
                match roaring.find(split(key).1) {
                    Ok(index) => Some(roaring.get(index)?),
                    Err(_) => None,
                }
            }
        })
    }

    /// Whether `value` is in the set. O(log containers); touches one container,
    /// of a plain bitmap one word, of a sparse set two or three cache lines.
    ///
    /// # Errors
    ///
    /// If the bytes are damaged where the answer is looked for.
    #[inline]
    pub fn contains(self, value: u64) -> Result<bool, Damage> {
        match self.0 {
            Shape::Dense(dense) => return Ok(dense.contains(value)),
            Shape::Sparse(sparse) => return sparse.contains(value),
            Shape::Runs(runs) => return Ok(runs.contains(value)),
            Shape::Folder(folder) => return folder.contains(value),
            Shape::Roaring(_) | Shape::Treemap(_) | Shape::Memory(_) | Shape::Damaged(_) => {}
        }
        let (key, low) = split(value);
        Ok(self.container(key)?.is_some_and(|container| container.contains(low)))
    }

    /// The last container of a key up to `key`. A container of a plain bitmap may be empty. O(log
    /// containers), and one step for each bucket without values that is passed.
    pub(crate) fn last_up_to(self, key: u64) -> Result<Option<Keyed<'a>>, Damage> {
        let found = match self.0 {
            Shape::Damaged(damage) => return Err(damage),
            Shape::Sparse(_) | Shape::Runs(_) | Shape::Folder(_) => return Err(NO_CONTAINERS),
            Shape::Memory(containers) => containers.last_up_to(key),
            Shape::Dense(dense) => {
                let behind = dense.place(key.saturating_add(1));
                behind.checked_sub(1).and_then(|piece| dense.get(piece))
            }
            Shape::Roaring(roaring) => {
                let wanted = u16::try_from(key).unwrap_or(u16::MAX);
                last_in(roaring, 0, wanted)?
            }
            Shape::Treemap(treemap) => {
                let high = u32::try_from(key >> 16);
                let (behind, mut wanted) =
                    match high.map_or(Err(treemap.len()), |h| treemap.find(h)) {
                        Ok(bucket) => (bucket + 1, split(key).1),
                        Err(behind) => (behind, u16::MAX),
                    };
                // Any number of buckets may have no containers.
                let mut found = None;
                for bucket in (0..behind).rev() {
                    let (high, roaring) = treemap.get(bucket)?;
                    found = last_in(roaring, u64::from(high) << 16, wanted)?;
                    if found.is_some() {
                        break;
                    }
                    wanted = u16::MAX;
                }
                found
            }
        };
        match found {
            Some((found, _)) if found > key => Err(Damage { offset: 0, what: KEY_DISORDER }),
            found => Ok(found),
        }
    }

    /// Whether the file has the number of values before each container. False for a plain bitmap and
    /// for buckets, which compare all their numbers themselves.
    pub(crate) fn has_ranks(self) -> bool {
        matches!(self.0, Shape::Roaring(roaring) if roaring.has_ranks())
    }

    /// The same without these numbers: a cursor then counts the values of each container.
    pub(crate) fn without_ranks(self) -> Self {
        match self.0 {
            Shape::Roaring(roaring) => Self(Shape::Roaring(roaring.without_ranks())),
            _ => self,
        }
    }

    /// Number of values in containers with keys below `key`.
    fn rank_of_key(self, key: u64) -> Result<u64, Damage> {
        Ok(match self.0 {
            Shape::Damaged(damage) => return Err(damage),
            Shape::Sparse(sparse) => sparse.position(key << 16)?.0,
            Shape::Runs(runs) => runs.position(key << 16)?.0,
            Shape::Folder(folder) => match (key << 16).checked_sub(1) {
                Some(before) => folder.rank(before)?,
                None => 0,
            },
            Shape::Memory(containers) => containers.rank_of_key(key),
            Shape::Dense(dense) => dense.rank(dense.place(key))?,
            Shape::Roaring(roaring) => match u16::try_from(key) {
                Ok(key) => roaring.rank(roaring.find(key).unwrap_or_else(|place| place)),
                Err(_) => roaring.rank(roaring.len()),
            },
            Shape::Treemap(treemap) => {
                let high = u32::try_from(key >> 16);
                let found = high.map_or(Err(treemap.len()), |high| treemap.find(high));
                match found {
                    Ok(index) => {
                        let (_, roaring) = treemap.get(index)?;
                        let place = roaring.find(split(key).1).unwrap_or_else(|place| place);
                        sum(treemap.bucket(index).rank, roaring.rank(place))?
                    }
                    Err(place) if place < treemap.len() => treemap.bucket(place).rank,
                    Err(place) => match place.checked_sub(1) {
                        Some(last) => {
                            let (_, roaring) = treemap.get(last)?;
                            sum(treemap.bucket(last).rank, roaring.rank(roaring.len()))?
                        }
                        None => 0,
                    },
                }
            }
        })
    }

    /// Number of values up to and including `value`. O(log containers) with a
    /// table of ranks, as `.bits` files have one, else O(containers).
    ///
    /// # Errors
    ///
    /// If the bytes are damaged where the answer is looked for.
    pub fn rank(self, value: u64) -> Result<u64, Damage> {
        if let Some(ranked) = self.ranked() {
            let (before, is_there) = ranked.position(value)?;
            return sum(before, is_there.into());
        }
        if let Shape::Folder(folder) = self.0 {
            return folder.rank(value);
        }
        let (key, low) = split(value);
        let here = self.container(key)?.map_or(0, |container| container.rank(low));
        sum(self.rank_of_key(key)?, here.into())
    }

    /// Number of values.
    ///
    /// # Errors
    ///
    /// If the bytes are damaged.
    pub fn len(self) -> Result<u64, Damage> {
        match self.0 {
            Shape::Memory(containers) => Ok(containers.len()),
            Shape::Sparse(sparse) => Ok(sparse.len()),
            Shape::Runs(runs) => runs.len(),
            Shape::Folder(folder) => Ok(folder.len()),
            Shape::Dense(dense) => dense.rank(dense.len()),
            _ => self.rank(u64::MAX),
        }
    }

    /// Whether there are no values.
    ///
    /// # Errors
    ///
    /// If the bytes are damaged where the first value is looked for.
    pub fn is_empty(self) -> Result<bool, Damage> {
        Ok(self.min()?.is_none())
    }

    /// The value that has `index` values before it; `None` if there are not
    /// that many.
    ///
    /// # Errors
    ///
    /// If the bytes are damaged where the answer is looked for.
    pub fn select(self, index: u64) -> Result<Option<u64>, Damage> {
        let found = match self.0 {
            Shape::Damaged(damage) => return Err(damage),
            Shape::Sparse(sparse) => return sparse.select(index),
            Shape::Runs(runs) => return runs.select(index),
            Shape::Folder(folder) => return folder.select(index),
            Shape::Memory(containers) => {
                containers.holder(index).map(|(key, c, before)| (key, c, before, true))
            }
            Shape::Dense(dense) => {
                let Some((piece, before)) = dense.piece_of(index)? else { return Ok(None) };
                let is_last = piece + 1 == dense.len();
                dense.get(piece).map(|(key, container)| (key, container, before, is_last))
            }
            Shape::Roaring(roaring) => select_in(roaring, 0, 0, index)?,
            Shape::Treemap(treemap) => {
                let rank = |bucket: usize| Ok(treemap.bucket(bucket).rank);
                let Some(bucket) = last_up_to(treemap.len(), index, rank)? else {
                    return Ok(None);
                };
                let (high, roaring) = treemap.get(bucket)?;
                let before = treemap.bucket(bucket).rank;
                let found = select_in(roaring, u64::from(high) << 16, before, index)?;
                let is_last = bucket + 1 == treemap.len();
                found
                    .map(|(key, container, before, ends)| (key, container, before, ends && is_last))
            }
        };
        let Some((key, container, before, is_last)) = found else { return Ok(None) };
        let left = difference(index, before)?;
        match u32::try_from(left).ok().and_then(|left| container.select(left)) {
            Some(low) => Ok(Some(join(key, low))),
            None if is_last => Ok(None),
            None => Err(WRONG_RANKS), // more values come behind it
        }
    }

    /// The smallest value from `value` on.
    ///
    /// # Errors
    ///
    /// If the bytes are damaged where the answer is looked for.
    pub fn next(self, value: u64) -> Result<Option<u64>, Damage> {
        if let Some(ranked) = self.ranked() {
            let (rank, is_there) = ranked.position(value)?;
            return match ranked.select(rank)? {
                Some(found) if found < value || is_there && found > value => Err(WRONG_RANKS),
                None if is_there => Err(WRONG_RANKS),
                found => Ok(found),
            };
        }
        if let Shape::Folder(folder) = self.0 {
            return folder.next(value);
        }
        let (wanted, low) = split(value);
        let mut cursor = self.cursor();
        cursor.seek(wanted)?;
        while let Some((key, container)) = cursor.next()? {
            let low = if key == wanted { low } else { 0 };
            if let Some(low) = container.next(low) {
                return Ok(Some(join(key, low)));
            }
        }
        Ok(None)
    }

    /// The largest value up to `value`.
    ///
    /// # Errors
    ///
    /// If the bytes are damaged where the answer is looked for.
    pub fn previous(self, value: u64) -> Result<Option<u64>, Damage> {
        if let Shape::Folder(folder) = self.0 {
            return folder.previous(value);
        }
        if let Shape::Dense(_) | Shape::Sparse(_) | Shape::Runs(_) = self.0 {
            // There may be many pieces without values. The ranks pass them.
            return match self.rank(value)?.checked_sub(1) {
                Some(index) => match self.select(index)? {
                    Some(found) if found <= value => Ok(Some(found)),
                    _ => Err(WRONG_RANKS), // the value of this rank was counted
                },
                None => Ok(None),
            };
        }
        let (wanted, low) = split(value);
        let mut from = Some(wanted);
        while let Some(key) = from
            && let Some((key, container)) = self.last_up_to(key)?
        {
            let low = if key == wanted { low } else { u16::MAX };
            if let Some(low) = container.previous(low) {
                return Ok(Some(join(key, low)));
            }
            from = key.checked_sub(1);
        }
        Ok(None)
    }

    /// The smallest value.
    ///
    /// # Errors
    ///
    /// If the bytes are damaged where the answer is looked for.
    pub fn min(self) -> Result<Option<u64>, Damage> {
        self.next(0)
    }

    /// The largest value.
    ///
    /// # Errors
    ///
    /// If the bytes are damaged where the answer is looked for.
    pub fn max(self) -> Result<Option<u64>, Damage> {
        self.previous(u64::MAX)
    }

    /// Number of values in a range.
    ///
    /// # Errors
    ///
    /// If the bytes are damaged where the answer is looked for.
    pub fn range_len(self, range: impl RangeBounds<u64>) -> Result<u64, Damage> {
        let Some((first, last)) = ends_of(&range) else { return Ok(0) };
        let before = match first.checked_sub(1) {
            Some(before) => self.rank(before)?,
            None => 0,
        };
        difference(self.rank(last)?, before)
    }
}

/// A container with its key, the number of values before it, and whether it is the last one and has
/// no more values than its head says.
type Found<'a> = Option<(u64, Container<'a>, u64, bool)>;

/// The last container of a key up to `key`.
fn last_in(roaring: RoaringView<'_>, high: u64, key: u16) -> Result<Option<Keyed<'_>>, Damage> {
    let place = match roaring.find(key) {
        Ok(place) => Some(place),
        Err(behind) => behind.checked_sub(1),
    };
    place.map(|place| Ok((high | u64::from(roaring.key(place)), roaring.get(place)?))).transpose()
}

fn select_in(
    roaring: RoaringView<'_>,
    high: u64,
    before: u64,
    index: u64,
) -> Result<Found<'_>, Damage> {
    let Some(last) = roaring.len().checked_sub(1) else { return Ok(None) };
    let (place, passed) = if roaring.has_ranks() {
        let rank = |place: usize| sum(before, roaring.rank(place));
        let Some(place) = last_up_to(roaring.len(), index, rank)? else { return Ok(None) };
        (place, roaring.rank(place))
    } else {
        // Each rank would be a sum over all containers before.
        let mut place = 0;
        match roaring.pass(&mut place, difference(index, before)?) {
            passed if place <= last => (place, passed),
            all => (last, difference(all, roaring.cardinality(last).into())?),
        }
    };
    let (key, before) = (high | u64::from(roaring.key(place)), sum(before, passed)?);
    let is_behind = index - before >= roaring.cardinality(place).into();
    Ok(Some((key, roaring.get(place)?, before, is_behind && place + 1 == roaring.len())))
}
