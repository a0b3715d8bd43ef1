//! Encodes sets in any order, and lists them in the order of their keys.

use super::dictionary::Dictionary;
use super::numbering::{KeyNumber, Numbering};
use crate::error::{Error, Result};
use crate::io::write::{Deferred, FileLabel, Spooled};
use crate::kernel::sys::Map;
use crate::set::Operand;
use crate::set::container::Container;
use crate::set::file::{Representation, Spool, ValueSink};
use crate::set::keyed::{Body, Head, Heads, KeyRun, SetEncoder, Stored};
use byteorder::{LittleEndian, ReadBytesExt, WriteBytesExt};
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::PathBuf;

/// Bytes of sets that are written or read at once.
const BLOCK_BYTES: usize = 1 << 18;

/// Encoded sets, one behind the other, in a temporary file.
pub(super) struct Bodies<'f> {
    out: BufWriter<&'f File>,
    bytes: u64,
    encoder: SetEncoder<'f>,
    label: FileLabel,
}

impl<'f> Bodies<'f> {
    /// `file` and `scratch` are empty files in the folder of `spool`.
    pub(super) fn new(file: &'f File, scratch: &'f File, spool: &Spool) -> Self {
        let out = BufWriter::with_capacity(BLOCK_BYTES, file);
        let encoder = SetEncoder::new(scratch, spool.clone());
        Self { out, bytes: 0, encoder, label: spool.label() }
    }

    /// Ends the present set; gives its place.
    pub(super) fn end(&mut self) -> Result<Stored> {
        let head = self.encoder.finish(&mut self.out)?;
        let offset = self.bytes;
        self.bytes += head.bytes;
        Ok(Stored { offset, head })
    }

    /// Writes the bytes that wait.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.out.flush().map_err(self.label.failed())
    }
}

/// Takes the values of the present set.
impl ValueSink for Bodies<'_> {
    fn container(&mut self, key: u64, container: Container<'_>) -> Result<()> {
        self.encoder.container(key, container)
    }

    fn values(&mut self, values: &[u64]) -> Result<()> {
        self.encoder.values(values)
    }
}

/// Takes the numbers of rows, ascending. So the sets of keys come one after the other.
pub(super) struct SplitSink<'s, 'f> {
    bodies: &'s mut Bodies<'f>,
    numbering: &'s Numbering,
    /// The key whose set is being encoded.
    open: Option<KeyNumber>,
    /// The place of the set of each key, by the kind and the number of the key; none if the key has
    /// no set here.
    stored: [Vec<Option<Stored>>; 2],
    ids: Vec<u64>,
}

impl<'s, 'f> SplitSink<'s, 'f> {
    pub(super) fn new(bodies: &'s mut Bodies<'f>, numbering: &'s Numbering) -> Self {
        Self { bodies, numbering, open: None, stored: Default::default(), ids: Vec::new() }
    }

    /// Begins the set of the key that has these upper bits, unless it has begun.
    fn turn_to(&mut self, upper: u64) -> Result<()> {
        let key = self.numbering.key_of(upper);
        if self.open != Some(key) {
            self.end()?;
            self.open = Some(key);
        }
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        if let Some(KeyNumber { kind, number }) = self.open.take() {
            let ended = self.bodies.end()?;
            let stored = &mut self.stored[kind as usize];
            stored.resize(number + 1, None);
            stored[number] = Some(ended);
        }
        Ok(())
    }

    /// Ends the last set; gives the places of all, of each kind of keys.
    pub(super) fn finish(mut self) -> Result<[Vec<Option<Stored>>; 2]> {
        self.end()?;
        Ok(self.stored)
    }
}

impl ValueSink for SplitSink<'_, '_> {
    fn container(&mut self, key: u64, container: Container<'_>) -> Result<()> {
        let bits = self.numbering.split().0 - 16;
        self.turn_to(key >> bits)?;
        self.bodies.container(key & !(u64::MAX << bits), container)
    }

    fn values(&mut self, values: &[u64]) -> Result<()> {
        let bits = self.numbering.split().0;
        for of_key in values.chunk_by(|a, b| a >> bits == b >> bits) {
            self.turn_to(of_key[0] >> bits)?;
            let mut ids = std::mem::take(&mut self.ids);
            ids.clear();
            ids.extend(of_key.iter().map(|value| value & !(u64::MAX << bits)));
            let taken = self.bodies.values(&ids);
            self.ids = ids;
            taken?;
        }
        Ok(())
    }
}

/// Keys in their order, each with the place of its set.
pub(super) struct List {
    out: Deferred,
    folder: PathBuf,
    /// Bytes of the longest key.
    longest: u64,
}

impl List {
    pub(super) fn new(spool: &Spool) -> Self {
        /// Most bytes of a list that stay in memory; there may be dozens of lists.
        const MEMORY_BYTES: usize = 1 << 14;
        let out = Deferred::new(MEMORY_BYTES, &spool.folder);
        Self { out, folder: spool.folder.clone(), longest: 0 }
    }

    /// A list of the sets in `stored`, which are ordered by the numbers of keys.
    pub(super) fn of(
        dictionary: &Dictionary,
        stored: &[Option<Stored>],
        spool: &Spool,
    ) -> Result<Self> {
        let mut list = Self::new(spool);
        for number in dictionary.sorted() {
            if let Some(Some(stored)) = stored.get(number as usize) {
                list.push(dictionary.key(number), *stored)?;
            }
        }
        Ok(list)
    }

    /// Appends a key, which must be above all earlier ones.
    pub(super) fn push(&mut self, key: &[u8], stored: Stored) -> Result<()> {
        self.longest = self.longest.max(key.len() as u64);
        let Stored { offset, head: Head { bytes, representation, cardinality } } = stored;
        let mut write = || -> io::Result<()> {
            for number in [key.len() as u64, offset, bytes, cardinality] {
                self.out.write_u64::<LittleEndian>(number)?;
            }
            self.out.write_u8(representation.code())?;
            self.out.write_all(key)
        };
        write().map_err(Error::io("write a temporary file in", &self.folder))
    }

    /// Merges lists of different keys into one.
    fn merged(lists: Vec<Self>, spool: &Spool) -> Result<Self> {
        let lists = lists.into_iter().map(Self::entries);
        let mut lists = lists.collect::<Result<Vec<_>>>()?;
        let (mut heads, mut stored) = (Heads::default(), vec![None; lists.len()]);
        for index in 0..lists.len() {
            stored[index] = lists[index].next()?;
            if stored[index].is_some() {
                heads.add(index, |index| Ok(&lists[index].key))?;
            }
        }
        let (mut merged, mut alike) = (Self::new(spool), Vec::new());
        loop {
            heads.take(|index| Ok(&lists[index].key), &mut alike)?;
            if alike.is_empty() {
                return Ok(merged);
            }
            for &index in &alike {
                if let Some(stored) = stored[index] {
                    merged.push(&lists[index].key, stored)?;
                }
                stored[index] = lists[index].next()?;
                if stored[index].is_some() {
                    heads.add(index, |index| Ok(&lists[index].key))?;
                }
            }
        }
    }

    /// Reads the list from the beginning.
    fn entries(self) -> Result<Entries> {
        let Self { out, folder, .. } = self;
        let reader = out.reader().map_err(Error::io("write a temporary file in", &folder))?;
        Ok(Entries { reader, folder, key: Vec::new() })
    }

    /// Reads the list for a merge. The sets are in `bodies`, which is mapped if sets of one key may
    /// have to be joined.
    pub(super) fn read<'b>(self, bodies: &'b File, map: Option<&'b Map>) -> Result<Listed<'b>> {
        let block = RefCell::new(vec![0; BLOCK_BYTES]);
        Ok(Listed { entries: self.entries()?, stored: None, bodies, map, block })
    }
}

/// Lists of different keys. Lists with about as many keys are merged, so that few are open.
pub(super) struct Lists {
    /// The lists of each level are merged from lists of the level before.
    levels: Vec<Vec<List>>,
    /// Memory for a key of each list that is merged.
    keys_bytes: u64,
}

/// Most lists of a level.
const MOST: usize = 32;

impl Lists {
    pub(super) fn new(keys_bytes: u64) -> Self {
        Self { levels: Vec::new(), keys_bytes }
    }

    pub(super) fn push(&mut self, list: List, spool: &Spool) -> Result<()> {
        let (mut list, mut level) = (list, 0);
        loop {
            if self.levels.len() == level {
                self.levels.push(Vec::new());
            }
            let lists = &mut self.levels[level];
            lists.push(list);
            let keys_bytes: u64 = lists.iter().map(|list| list.longest).sum();
            if lists.len() < 2 || lists.len() < MOST && keys_bytes < self.keys_bytes {
                return Ok(());
            }
            list = List::merged(std::mem::take(lists), spool)?;
            level += 1;
        }
    }

    /// Merges all lists into one, level by level; none if there are none.
    pub(super) fn into_one(self, spool: &Spool) -> Result<Option<List>> {
        let mut merged: Option<List> = None;
        for mut lists in self.levels {
            lists.extend(merged.take());
            merged = match lists.len() {
                0 | 1 => lists.pop(),
                _ => Some(List::merged(lists, spool)?),
            };
        }
        Ok(merged)
    }
}

/// The entries of a list, in order.
struct Entries {
    reader: io::Take<BufReader<Spooled>>,
    folder: PathBuf,
    /// The key of the last entry.
    key: Vec<u8>,
}

/// A list that is being read.
pub(super) struct Listed<'b> {
    entries: Entries,
    stored: Option<Stored>,
    bodies: &'b File,
    map: Option<&'b Map>,
    block: RefCell<Vec<u8>>,
}

impl Entries {
    fn next(&mut self) -> Result<Option<Stored>> {
        if self.reader.limit() == 0 {
            return Ok(None);
        }
        let next = self.read().map_err(Error::io("read a temporary file in", &self.folder))?;
        Ok(Some(next))
    }

    fn read(&mut self) -> io::Result<Stored> {
        let mut numbers = [0; 4];
        self.reader.read_u64_into::<LittleEndian>(&mut numbers)?;
        let [key_bytes, offset, bytes, cardinality] = numbers;
        let representation = Representation::of_code(self.reader.read_u8()?);
        let representation = representation.ok_or(io::ErrorKind::InvalidData)?;
        let key_bytes = usize::try_from(key_bytes).map_err(|_| io::ErrorKind::InvalidData)?;
        self.key.resize(key_bytes, 0);
        self.reader.read_exact(&mut self.key)?;
        Ok(Stored { offset, head: Head { bytes, representation, cardinality } })
    }
}

impl Listed<'_> {
    fn stored(&self) -> Result<Stored> {
        self.stored.ok_or_else(|| Error::Accounting { what: "a list of sets was not read".into() })
    }
}

impl KeyRun for Listed<'_> {
    fn advance(&mut self) -> Result<bool> {
        self.stored = self.entries.next()?;
        Ok(self.stored.is_some())
    }

    fn key(&self) -> Result<&[u8]> {
        Ok(&self.entries.key)
    }

    fn copy(&self, out: &mut dyn Write) -> Result<Head> {
        let copied = self.stored()?.copy(self.bodies, &mut self.block.borrow_mut(), out);
        copied.map_err(Error::io("copy a set from a temporary file in", &self.entries.folder))
    }

    fn operand(&self) -> Result<Operand<'_>> {
        let Stored { offset, head: Head { bytes, representation, cardinality } } = self.stored()?;
        let lost =
            || Error::Accounting { what: "a set that waits lies outside of its file".into() };
        let bytes = usize::try_from(offset)
            .ok()
            .zip(usize::try_from(bytes).ok())
            .and_then(|(offset, bytes)| self.map?.get(offset..)?.get(..bytes))
            .ok_or_else(lost)?;
        let view = Body { bytes, representation, cardinality }.view().map_err(|_| lost())?;
        Ok(Operand::named(view, "a set that waits in a temporary file"))
    }
}
