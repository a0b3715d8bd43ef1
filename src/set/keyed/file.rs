//! A `.sets` file, mapped. Its directory is searched in place.
#![deny(clippy::indexing_slicing)]

use super::body::Body;
use super::format::{ENTRY_BYTES, Entry, Header, halves, is_sets_file};
use super::name::KeyName;
use crate::error::{Error, Result};
use crate::io::page::{damaged, verify_checksums};
use crate::io::read::{Mark, check_whole, map, mark};
use crate::kernel::in_usize;
use crate::kernel::sys::Map;
use crate::progress::Progress;
use crate::set::file::{Member, Representation, SetFile};
use crate::set::operand::Operand;
use crate::set::view::{Damage, SetView};
use std::cmp::Ordering;
use std::ffi::OsString;
use std::ops::Range;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Many sets in one file, each under a key of any bytes: a `.sets` file.
///
/// Opening maps the file and looks at its header. A binary search over the ascending keys finds a
/// set, which is then asked in place. So a file of a million sets opens as fast as one of two.
/// [`Group`](crate::lines::Group) builds such files from rows.
///
/// The file must not be shortened in place while it is open; see [`SetFile`].
///
/// # Examples
///
/// ```
/// use bitsort::lines::Group;
/// use bitsort::set::{self, keyed::KeyedSets};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("tags.sets");
/// let rows = [("sport", 7), ("tokyo", 7), ("sport", 35), ("tokyo", 40)];
/// Group::new().pairs(rows).to_file(&path)?;
///
/// let tags = KeyedSets::open(&path)?;
/// let (sport, tokyo) = (tags.get("sport")?.unwrap(), tags.get("tokyo")?.unwrap());
/// assert_eq!(set::and(&[&sport, &tokyo]).count()?, 1);
/// assert!(tags.get("chess")?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct KeyedSets {
    path: PathBuf,
    map: Arc<Map>,
    header: Header,
}

/// The entry of a set in the directory of a file.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Keyed<'a> {
    /// Its key.
    pub key: &'a [u8],
    /// Bytes of the set.
    pub bytes: u64,
    /// Number of values.
    pub cardinality: u64,
    /// How it is represented.
    pub representation: Representation,
}

/// A set that was found in the directory; its place is in the whole file.
pub(super) struct Found<'a> {
    pub(super) key: &'a [u8],
    pub(super) place: Range<usize>,
    entry: Entry,
}

impl KeyedSets {
    /// Opens a file. O(1).
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is no `.sets` file, or contradicts its header.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::from_map(map(path)?, path)
    }

    /// The same, over the map of the set that was opened last if that is of the same file: a
    /// thousand sets of one file take one map.
    fn open_again(path: &Path) -> Result<Self> {
        static LAST: Mutex<Option<(Mark, Weak<Map>)>> = Mutex::new(None);
        let Some(before) = mark(path) else { return Self::open(path) };
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, map)) = &*last
            && *known == before
            && let Some(map) = map.upgrade()
        {
            return Self::over(map, path);
        }
        let opened = Self::open(path)?;
        // Not if it was replaced meanwhile.
        *last = (mark(path) == Some(before)).then(|| (before, Arc::downgrade(&opened.map)));
        Ok(opened)
    }

    /// Checks that the file still has all bytes that were read; see [`SetFile::intact`]. Callers of
    /// methods that give keys need it, because the keys are in the file.
    ///
    /// # Errors
    ///
    /// If the file lost some: answers from them are wrong.
    pub fn intact(&self) -> Result<()> {
        check_whole(&self.map, &self.path)
    }

    /// The answer, unless bytes were lost from which it may come.
    pub(in crate::set) fn after<T>(&self, answer: Result<T>) -> Result<T> {
        self.intact().and(answer)
    }

    /// The sets of a mapped file; `path` is for messages.
    pub(super) fn from_map(map: Map, path: &Path) -> Result<Self> {
        Self::over(Arc::new(map), path)
    }

    fn over(map: Arc<Map>, path: &Path) -> Result<Self> {
        let header = Header::read(&map).map_err(damaged(path))?;
        let sets = Self { path: path.into(), map, header };
        let ends = match sets.len().checked_sub(1) {
            Some(last) => sets.entry(last).map(|last| (last.key_end, last.body_end)),
            None => Ok((0, 0)),
        };
        if sets.after(ends.map_err(|damage| sets.damaged(damage)))?
            != (header.keys.len, header.bodies.len)
        {
            let what = "the last set does not end where all of them do";
            return Err(sets.damaged(Damage { offset: header.directory.offset, what }));
        }
        Ok(sets)
    }

    /// The file's name.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of the file.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.map.len() as u64
    }

    /// Number of sets.
    #[must_use]
    pub fn len(&self) -> usize {
        in_usize(self.header.count) // a map is never so long
    }

    /// Whether there are no sets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.header.count == 0
    }

    /// The set of a key; none if there is no such key. O(log sets), and the cost of opening a
    /// [`SetFile`]. The set keeps the file mapped.
    ///
    /// # Errors
    ///
    /// If the directory or the set is damaged.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<SetFile>> {
        match self.find(key.as_ref())? {
            Some(index) => self.set(index).map(Some),
            None => Ok(None),
        }
    }

    /// The number (from 0) of a key in the order of the keys; none if there is no such key.
    /// O(log sets).
    ///
    /// # Errors
    ///
    /// If the directory is damaged.
    pub fn find(&self, key: &[u8]) -> Result<Option<usize>> {
        let (mut from, mut to) = (0, self.len());
        while from < to {
            let middle = from.midpoint(to);
            match self.found(middle)?.key.cmp(key) {
                Ordering::Equal => return self.after(Ok(Some(middle))),
                Ordering::Less => from = middle + 1,
                Ordering::Greater => to = middle,
            }
        }
        self.after(Ok(None))
    }

    /// Set `index` (from 0) in the order of the keys. The cost is that of opening a [`SetFile`].
    ///
    /// # Errors
    ///
    /// If there are not so many sets, or the directory or the set is damaged.
    pub fn set(&self, index: usize) -> Result<SetFile> {
        let Found { key, place, entry } = self.found(index)?;
        let Entry { representation, cardinality, .. } = entry;
        let member =
            Member { place, representation, cardinality, checksums: self.header.checksums };
        SetFile::from_member(Arc::clone(&self.map), self.name_of(key), member)
    }

    /// Keys with the sizes of their sets, ascending. O(1) each. After an error no item follows.
    pub fn iter(&self) -> impl Iterator<Item = Result<Keyed<'_>>> {
        let mut failed = false;
        (0..self.len()).map_while(move |index| {
            let about = (!failed).then(|| self.about(index))?;
            failed = about.is_err();
            Some(about)
        })
    }

    /// The key of set `index` (from 0), in the order of the keys. O(1).
    ///
    /// # Errors
    ///
    /// If there are not so many sets, or the directory is damaged.
    pub fn key(&self, index: usize) -> Result<&[u8]> {
        Ok(self.found(index)?.key)
    }

    /// The number of values of set `index` (from 0), as the directory says. O(1).
    ///
    /// # Errors
    ///
    /// If there are not so many sets, or the directory is damaged.
    pub fn cardinality(&self, index: usize) -> Result<u64> {
        Ok(self.about(index)?.cardinality)
    }

    /// The entry of set `index` in the directory. O(1).
    pub(super) fn about(&self, index: usize) -> Result<Keyed<'_>> {
        let Found { key, place, entry } = self.found(index)?;
        let Entry { representation, cardinality, .. } = entry;
        Ok(Keyed { key, bytes: place.len() as u64, cardinality, representation })
    }

    /// A view of set `index`, whose structure is not checked.
    pub(super) fn view(&self, index: usize) -> Result<SetView<'_>> {
        let found = self.found(index)?;
        self.body(&found).view().map_err(|damage| self.damaged_in(&found, damage))
    }

    /// The bytes of a set.
    pub(super) fn body(&self, found: &Found<'_>) -> Body<'_> {
        let Entry { representation, cardinality, .. } = found.entry;
        let bytes = self.map.get(found.place.clone()).unwrap_or_default(); // the directory was checked
        Body { bytes, representation, cardinality }
    }

    /// Set `index` for set algebra.
    pub(super) fn operand(&self, index: usize) -> Result<Operand<'_>> {
        Ok(Operand::keyed(self.view(index)?, self))
    }

    /// For each of `ids`, the keys of the sets that have it. O(ids · log ids), and for each set its
    /// values or the ids, whichever are fewer.
    ///
    /// # Errors
    ///
    /// If the file is damaged.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::lines::Group;
    /// use bitsort::set::keyed::KeyedSets;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("tags.sets");
    /// Group::new().pairs([("sport", 7), ("tokyo", 7), ("sport", 35)]).to_file(&path)?;
    /// let found = KeyedSets::open(&path)?;
    /// assert_eq!(found.keys_of(&[35, 7])?, [vec![&b"sport"[..]], vec![b"sport", b"tokyo"]]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keys_of(&self, ids: &[u64]) -> Result<Vec<Vec<&[u8]>>> {
        Ok(self.keys_of_at_most(usize::MAX, ids)?.unwrap_or_default())
    }

    /// The same; `None` if these are more than `most` keys in all.
    pub(crate) fn keys_of_at_most(
        &self,
        most: usize,
        ids: &[u64],
    ) -> Result<Option<Vec<Vec<&[u8]>>>> {
        let (mut keys, mut total) = (vec![Vec::new(); ids.len()], 0);
        let is_whole = self.each_key_of(ids, |place, key| {
            keys.get_mut(place).into_iter().for_each(|keys| keys.push(key));
            total += 1;
            total <= most
        })?;
        Ok(is_whole.then_some(keys))
    }

    /// For each of `ids`, the number of the sets that have it.
    #[cfg(feature = "cli")]
    pub(crate) fn key_counts(&self, ids: &[u64]) -> Result<Vec<usize>> {
        let mut counts = vec![0; ids.len()];
        self.each_key_of(ids, |place, _| {
            counts.get_mut(place).into_iter().for_each(|count| *count += 1);
            true
        })?;
        Ok(counts)
    }

    /// Calls `visit` with the place of an id among `ids` and the key of a set that has it, for all
    /// sets in their order, until it returns false; gives whether it never did.
    fn each_key_of<'s>(
        &'s self,
        ids: &[u64],
        mut visit: impl FnMut(usize, &'s [u8]) -> bool,
    ) -> Result<bool> {
        let mut has = vec![false; ids.len()];
        let mut ascending: Vec<(u64, usize)> = ids.iter().copied().zip(0..).collect();
        ascending.sort_unstable();
        for index in 0..self.len() {
            let found = self.found(index)?;
            let damaged = |damage| self.damaged_in(&found, damage);
            let set = self.body(&found).view().map_err(damaged)?;
            let mut goes_on = true;
            if set.len().map_err(damaged)? < ids.len() as u64 {
                for value in set {
                    let value = value.map_err(damaged)?;
                    let from = ascending.partition_point(|&(id, _)| id < value);
                    let same = ascending.iter().skip(from).take_while(|&&(id, _)| id == value);
                    same.for_each(|&(_, place)| goes_on &= visit(place, found.key));
                }
            } else {
                set.contains_many(ids, &mut has).map_err(damaged)?;
                let found_at = has.iter().zip(0..).filter(|(has, _)| **has);
                found_at.for_each(|(_, place)| goes_on &= visit(place, found.key));
            }
            if !goes_on {
                return Ok(false);
            }
        }
        self.after(Ok(true))
    }

    /// Reads the whole file: checksums, the order of the keys, and every set as
    /// [`SetFile::verify`] does. O(bytes).
    ///
    /// # Errors
    ///
    /// The first damage found.
    pub fn verify(&self) -> Result<()> {
        self.verify_with(&Progress::default())
    }

    /// The same with progress, which can also cancel it.
    ///
    /// # Errors
    ///
    /// As [`verify`](Self::verify), or if it is cancelled.
    pub fn verify_with(&self, progress: &Progress) -> Result<()> {
        self.verify_checksums(progress)?;
        let mut before: Option<&[u8]> = None;
        for index in 0..self.len() {
            let found = self.found(index)?;
            if before.is_some_and(|before| before >= found.key) {
                return Err(self.in_disorder());
            }
            before = Some(found.key);
            self.after(self.set(index)?.verify_values(progress))?;
        }
        Ok(())
    }

    /// The error for keys that do not ascend.
    pub(super) fn in_disorder(&self) -> Error {
        let what = "the keys do not ascend";
        self.damaged(Damage { offset: self.header.keys.offset, what })
    }

    pub(super) fn verify_checksums(&self, progress: &Progress) -> Result<()> {
        let sums = self.header.checksums;
        self.after(verify_checksums(&self.map, sums, damaged(&self.path), progress))
    }

    fn entry(&self, index: usize) -> Result<Entry, Damage> {
        let entries = self.header.directory.of(&self.map).as_chunks::<ENTRY_BYTES>().0;
        let at = self.header.directory.offset + (index * ENTRY_BYTES) as u64;
        let entry = entries.get(index);
        let entry = entry.ok_or(Damage { offset: at, what: "the directory has no such set" })?;
        let what = "a representation is not known to this program";
        Entry::from_bytes(entry).ok_or(Damage { offset: at, what })
    }

    pub(super) fn found(&self, index: usize) -> Result<Found<'_>> {
        if index >= self.len() {
            let (path, len) = (self.path().display(), self.len());
            return Err(Error::usage(format!("{path} has {len} sets, and none of number {index}")));
        }
        self.after(self.located(index).map_err(|damage| self.damaged(damage)))
    }

    fn located(&self, index: usize) -> Result<Found<'_>, Damage> {
        let entry = self.entry(index)?;
        let (key_start, body_start) = match index.checked_sub(1) {
            Some(before) => self.entry(before).map(|before| (before.key_end, before.body_end))?,
            None => (0, 0),
        };
        let offset = self.header.directory.offset + (index * ENTRY_BYTES) as u64;
        let wrong = Damage { offset, what: "a key or a set ends before it begins, or behind all" };
        let place = |start: u64, end: u64| {
            let range = usize::try_from(start).ok()?..usize::try_from(end).ok()?;
            (start <= end).then_some(range)
        };
        let key = place(key_start, entry.key_end)
            .and_then(|place| self.header.keys.of(&self.map).get(place))
            .ok_or(wrong)?;
        let body = place(body_start, entry.body_end).ok_or(wrong)?;
        if entry.body_end > self.header.bodies.len {
            return Err(wrong);
        }
        let base = usize::try_from(self.header.bodies.offset).map_err(|_| wrong)?;
        Ok(Found { key, place: base + body.start..base + body.end, entry })
    }

    /// `FILE:KEY`.
    fn name_of(&self, key: &[u8]) -> PathBuf {
        let mut name = self.path.clone().into_os_string().into_vec();
        name.push(b':');
        name.extend(KeyName(key).to_string().into_bytes());
        OsString::from_vec(name).into()
    }

    pub(in crate::set) fn damaged(&self, damage: Damage) -> Error {
        damaged(&self.path)(damage)
    }

    fn damaged_in(&self, found: &Found<'_>, damage: Damage) -> Error {
        damaged(&self.name_of(found.key))(damage.behind(found.place.start as u64))
    }
}

/// Opens the set that `FILE:KEY` names; none if a file has this whole name, or no file is before a
/// colon.
///
/// # Errors
///
/// If the file is damaged, is no `.sets` file, or has no such key.
pub(crate) fn open_named(path: &Path) -> Result<Option<SetFile>> {
    let name = path.as_os_str().as_bytes();
    if !name.contains(&b':') || path.symlink_metadata().is_ok() {
        return Ok(None);
    }
    let mut other = None;
    for (file, key) in halves(name) {
        if !is_sets_file(file) {
            other = other.or(file.is_file().then_some(file));
            continue;
        }
        let malformed = || {
            let what =
                "a key that begins with a quotation mark ends with one, and its escapes are valid";
            Error::usage(format!("{}: {what}", path.display()))
        };
        let key = KeyName::parse(key).ok_or_else(malformed)?;
        let found = KeyedSets::open_again(file)?.get(&key)?;
        let none = || Error::usage(format!("{} has no set {}", file.display(), KeyName(&key)));
        return found.ok_or_else(none).map(Some);
    }
    match other {
        Some(file) => {
            let (file, path) = (file.display(), path.display());
            Err(Error::usage(format!("there is no file {path}, and {file} is no .sets file")))
        }
        None => Ok(None),
    }
}
