//! The portable 32-bit roaring format, read in place.
//!
//! Source: <https://github.com/RoaringBitmap/RoaringFormatSpec>. Layout: a cookie that says whether
//! there are runs; the number of containers; with runs, a flag for each container; key and
//! cardinality of each container; the offset of each container, unless there are runs and fewer
//! than four containers; the containers.

use super::Damage;
use super::search::find_key;
use crate::io::roaring::{NO_RUNS_COOKIE, RUNS_COOKIE};
use crate::kernel::steps;
use crate::set::container::{Container, KEY_DISORDER, MAX_ARRAY, plain_bytes};
use std::ops::Range;

/// A bitmap with runs and fewer containers than this has no offsets.
pub(crate) const NO_OFFSET_THRESHOLD: usize = 4;

/// A 32-bit roaring bitmap in borrowed bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoaringView<'a> {
    bytes: &'a [u8],
    /// Place of the bitmap in the bytes of the set, for messages.
    place: u64,
    /// Key and cardinality − 1.
    descriptors: &'a [[u8; 4]],
    /// One bit for each container.
    run_flags: &'a [u8],
    /// Empty if the file has none.
    offsets: &'a [[u8; 4]],
    /// Place of the first container.
    body: usize,
    /// Number of values before each container, if known.
    ranks: Option<&'a [[u8; 8]]>,
}

const SHORT: &str = "the bytes end inside of a roaring bitmap";

impl<'a> RoaringView<'a> {
    /// Reads the head of a bitmap at the start of `bytes`. O(1); [`check`](Self::check) checks the
    /// places of the containers.
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self, Damage> {
        Self::at(0, bytes)
    }

    /// The same for a bitmap at `place` in the bytes of a set, which damage names.
    pub(super) fn at(place: u64, bytes: &'a [u8]) -> Result<Self, Damage> {
        let damage = |offset: usize, what| Damage { offset: offset as u64, what }.behind(place);
        let short = || damage(bytes.len(), SHORT);
        let (&cookie, rest) = bytes.split_first_chunk::<4>().ok_or_else(short)?;
        let cookie = u32::from_le_bytes(cookie);
        #[expect(clippy::cast_possible_truncation, reason = "the low half is meant")]
        let (count, run_flags, rest) = if cookie == NO_RUNS_COOKIE {
            let (&count, rest) = rest.split_first_chunk::<4>().ok_or_else(short)?;
            let count = u32::from_le_bytes(count) as usize;
            (count, &[][..], rest)
        } else if cookie as u16 == RUNS_COOKIE {
            let count = (cookie >> 16) as usize + 1;
            let (flags, rest) = rest.split_at_checked(count.div_ceil(8)).ok_or_else(short)?;
            (count, flags, rest)
        } else {
            return Err(damage(0, "there is no cookie of a roaring bitmap"));
        };
        if count > 1 << 16 {
            return Err(damage(4, "there are more than 65536 containers"));
        }
        let (descriptors, rest) = rest.split_at_checked(4 * count).ok_or_else(short)?;
        let has_offsets = run_flags.is_empty() || count >= NO_OFFSET_THRESHOLD;
        let offset_bytes = if has_offsets { 4 * count } else { 0 };
        let (offsets, rest) = rest.split_at_checked(offset_bytes).ok_or_else(short)?;
        Ok(Self {
            bytes,
            place,
            descriptors: descriptors.as_chunks().0,
            run_flags,
            offsets: offsets.as_chunks().0,
            body: bytes.len() - rest.len(),
            ranks: None,
        })
    }

    /// Damage at an offset in this bitmap.
    fn damage(self, offset: usize, what: &'static str) -> Damage {
        Damage { offset: offset as u64, what }.behind(self.place)
    }

    /// The damage of a container that begins at `offset`, behind one that ends at `end`.
    fn misplaced(self, offset: usize, end: usize) -> Damage {
        let overlaps = offset < end;
        let overlap = "a container begins inside of another";
        let gap = "there are unused bytes before a container";
        self.damage(offset, if overlaps { overlap } else { gap })
    }

    /// The fault in the values of container `index`, at the place where it begins.
    pub(super) fn fault(self, index: usize, what: &'static str) -> Damage {
        self.damage(self.start(index).unwrap_or(0), what)
    }

    /// Whether it has the numbers of values before containers.
    pub(super) fn has_ranks(self) -> bool {
        self.ranks.is_some()
    }

    /// The same with the number of values before each container.
    pub(crate) fn with_ranks(self, ranks: &'a [[u8; 8]]) -> Self {
        Self { ranks: (ranks.len() == self.len()).then_some(ranks), ..self }
    }

    /// The same without them.
    pub(super) fn without_ranks(self) -> Self {
        Self { ranks: None, ..self }
    }

    /// The bitmap in `bytes`, which must end with it. [`check`](Self::check) finds nothing wrong.
    pub(crate) fn whole(bytes: &'a [u8]) -> Result<Self, Damage> {
        let view = Self::new(bytes)?;
        match view.check()? {
            end if end == bytes.len() => Ok(view),
            end => {
                let what = "bytes follow the end of the roaring bitmap";
                Err(Damage { offset: end as u64, what })
            }
        }
    }

    /// Checks that keys ascend, and that each container begins at the end of the one before it, as
    /// readers that ignore the offsets expect; gives the end of the bitmap. O(containers). With
    /// offsets it reads only the last container; the end of a container of runs is checked by
    /// [`get`](Self::get).
    pub(crate) fn check(self) -> Result<usize, Damage> {
        let (mut end, mut skipped) = (self.body, false);
        for index in 0..self.len() {
            if index > 0 && self.key(index - 1) >= self.key(index) {
                let offset = self.body - self.offsets.len() * 4 - 4 * (self.len() - index);
                return Err(self.damage(offset, KEY_DISORDER));
            }
            let offset = if self.offsets.is_empty() { end } else { self.offset(index) };
            if offset != end && !(skipped && offset > end) {
                return Err(self.misplaced(offset, end));
            }
            let is_last = index + 1 == self.len();
            skipped = self.is_run(index) && !is_last && !self.offsets.is_empty();
            // A container of runs begins with their number of 2 bytes. Do not read its page only
            // for that.
            end = offset + if skipped { 2 } else { self.size(index, offset)? };
            if end > self.bytes.len() {
                return Err(self.damage(self.bytes.len(), SHORT));
            }
        }
        Ok(end)
    }

    /// The bytes from which the bitmap was read. It may end before their end.
    pub(crate) fn bytes(self) -> usize {
        self.bytes.len()
    }

    /// Number of containers.
    pub(crate) fn len(self) -> usize {
        self.descriptors.len()
    }

    /// High 16 bits of the values of container `index`.
    pub(crate) fn key(self, index: usize) -> u16 {
        let [low, high, ..] = self.descriptors[index];
        u16::from_le_bytes([low, high])
    }

    /// Number of values in container `index`.
    pub(crate) fn cardinality(self, index: usize) -> u32 {
        let [.., low, high] = self.descriptors[index];
        u32::from(u16::from_le_bytes([low, high])) + 1
    }

    pub(crate) fn is_run(self, index: usize) -> bool {
        self.run_flags.get(index / 8).is_some_and(|flags| flags >> (index % 8) & 1 == 1)
    }

    fn offset(self, index: usize) -> usize {
        u32::from_le_bytes(self.offsets[index]) as usize
    }

    /// Bytes of the container at `offset`.
    fn size(self, index: usize, offset: usize) -> Result<usize, Damage> {
        if self.is_run(index) {
            let count = self.bytes.get(offset..).and_then(<[u8]>::first_chunk);
            let &count = count.ok_or(self.damage(offset, SHORT))?;
            return Ok(2 + 4 * usize::from(u16::from_le_bytes(count)));
        }
        Ok(plain_bytes(self.cardinality(index)))
    }

    fn start(self, index: usize) -> Result<usize, Damage> {
        if !self.offsets.is_empty() {
            return Ok(self.offset(index));
        }
        // At most two containers are before it.
        let mut offset = self.body;
        for before in 0..index {
            offset += self.size(before, offset)?;
        }
        Ok(offset)
    }

    /// Container `index`.
    pub(crate) fn get(self, index: usize) -> Result<Container<'a>, Damage> {
        let start = self.start(index)?;
        let size = self.size(index, start)?;
        let bytes = start.checked_add(size).and_then(|end| self.bytes.get(start..end));
        let bytes = bytes.ok_or(self.damage(start, SHORT))?;
        if self.is_run(index) {
            let next = (index + 1 < self.offsets.len()).then(|| self.offset(index + 1));
            return match next.filter(|&next| next != start + size) {
                Some(next) => Err(self.misplaced(next, start + size)),
                None => Ok(Container::Runs(bytes[2..].as_chunks().0)),
            };
        }
        Ok(match bytes.as_chunks().0.first_chunk() {
            Some(words) if self.cardinality(index) as usize > MAX_ARRAY => Container::Bitmap(words),
            _ => Container::Array(bytes.as_chunks().0),
        })
    }

    /// The same, if it has as many values as the descriptors say. A bitmap or runs of a file with
    /// ranks are not counted, because that file has checksums.
    pub(crate) fn checked(self, index: usize) -> Result<Container<'a>, Damage> {
        let container = self.get(index)?;
        let is_right = match container {
            Container::Array(_) => true,
            Container::Bitmap(_) | Container::Runs(_) => {
                self.has_ranks() || container.len() == self.cardinality(index)
            }
        };
        if is_right {
            return Ok(container);
        }
        Err(self.damage(self.start(index)?, "the number of values of a container is wrong"))
    }

    /// The index of the container of `key`, or the index where it would be.
    pub(crate) fn find(self, key: u16) -> Result<usize, usize> {
        find_key(self.len(), key, |index| self.key(index))
    }

    /// The index of the container of `key`, or of the next one, if none before `from` has such a key.
    /// It looks near `from` first.
    pub(crate) fn find_from(self, mut from: usize, key: u16) -> usize {
        /// Containers that are looked at one by one. Mostly it is one of them.
        const NEAR: usize = 4;
        for _ in 0..NEAR {
            if from >= self.len() || self.key(from) >= key {
                return from;
            }
            from += 1;
        }
        let mut step = 1;
        while from + step < self.len() && self.key(from + step) < key {
            from += step;
            step *= 2;
        }
        let rest = (self.len() - from).min(step + 1);
        let (Ok(place) | Err(place)) = find_key(rest, key, |index| self.key(from + index));
        from + place
    }

    /// Moves `next` behind the containers from it on that have at most `count` values together; gives
    /// how many these have. O(containers).
    pub(crate) fn pass(self, next: &mut usize, count: u64) -> u64 {
        /// The sum over so many containers takes little more time than one container.
        const MANY: usize = 64;
        let sum =
            |range: Range<usize>| range.map(|at| u64::from(self.cardinality(at))).sum::<u64>();
        let mut passed = 0;
        for many in [MANY, 1] {
            while *next + many <= self.len() {
                let with = passed + sum(*next..*next + many);
                if with > count {
                    break;
                }
                passed = with;
                *next += many;
                steps::count(1);
            }
        }
        passed
    }

    /// Number of values in the containers before `index`.
    pub(crate) fn rank(self, index: usize) -> u64 {
        match self.ranks.and_then(|ranks| ranks.get(index)) {
            Some(&rank) => u64::from_le_bytes(rank),
            None => {
                (0..index.min(self.len())).map(|index| u64::from(self.cardinality(index))).sum()
            }
        }
    }
}
