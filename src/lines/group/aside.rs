//! Makes sets of the rows that were kept aside, because their keys have no number. The rows are in
//! parts: a part has all rows of its keys.

use super::bodies::{Bodies, List, Lists};
use super::dictionary::Dictionary;
use crate::error::{Error, Result};
use crate::kernel::{in_usize, sort};
use crate::lines::records::{PartOptions, Parts, RecordReader, Records};
use crate::progress::Progress;
use crate::set::file::Spool;
use crate::size::ByteSize;
use crate::sort::Sort;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// What the work on parts needs.
pub(super) struct Workshop<'w, 'f> {
    pub(super) bodies: &'w mut Bodies<'f>,
    /// The lists of the parts that have sets.
    pub(super) lists: Lists,
    pub(super) spool: &'w Spool,
    pub(super) path: &'w Path,
    /// The limit of the process, and the share of it for rows and keys.
    pub(super) memory: ByteSize,
    pub(super) room_bytes: u64,
    pub(super) buffer_bytes: u64,
    pub(super) threads: usize,
    pub(super) progress: &'w Arc<Progress>,
}

/// Rows that are read to find out whether they have one key.
const FIRST_ROWS: usize = 1 << 12;
/// Memory of a row: the number of its key, and its id.
const ROW_BYTES: u64 = 16;

impl Workshop<'_, '_> {
    /// Makes the sets of all parts.
    pub(super) fn parts(&mut self, parts: Parts, depth: u64) -> Result<()> {
        parts.into_parts().try_for_each(|part| self.part(part, depth))
    }

    fn check(&self) -> Result<()> {
        Error::if_cancelled(self.progress)
    }

    fn part(&mut self, part: Records, depth: u64) -> Result<()> {
        self.check()?;
        let count = part.count();
        if count == 0 {
            return Ok(());
        }
        let mut reader = part.read()?;
        let most = self.room_bytes / 2 / ROW_BYTES;
        let first = in_usize(count);
        let first = if count <= most { first } else { FIRST_ROWS.min(first) };
        let mut dictionary = Dictionary::new(self.room_bytes / 4);
        let mut rows = Vec::with_capacity(first);
        while rows.len() < first
            && let Some((id, key)) = reader.next()?
        {
            let hash = dictionary.hash(key);
            let Some(number) = dictionary.insert(hash, key) else {
                let row = (id, key.to_vec());
                return self.cut_again(&dictionary, rows, Some(row), reader, depth);
            };
            rows.push((number, id));
        }
        if count <= most {
            return self.encode(&dictionary, rows);
        }
        if dictionary.len() == 1 {
            return self.one_key(dictionary.key(0), rows, reader, depth);
        }
        self.cut_again(&dictionary, rows, None, reader, depth)
    }

    /// Makes the sets of rows that are all in memory.
    fn encode(&mut self, dictionary: &Dictionary, mut rows: Vec<(u32, u64)>) -> Result<()> {
        let order = dictionary.sorted();
        let mut ranks = vec![0; order.len()];
        for (rank, &number) in (0..).zip(&order) {
            ranks[number as usize] = rank;
        }
        for (number, _) in &mut rows {
            *number = ranks[*number as usize];
        }
        sort(self.threads, &mut rows);
        rows.dedup();
        let mut list = List::new(self.spool);
        let mut ids = Vec::new();
        for of_key in rows.chunk_by(|a, b| a.0 == b.0) {
            let mut rest = of_key;
            while !rest.is_empty() {
                // Take whole containers, but not all of a large set at once.
                const SOME: usize = 1 << 12;
                let end = rest.get(SOME).map_or(rest.len(), |(_, next)| {
                    let end = next >> 16;
                    SOME + rest[SOME..].partition_point(|(_, id)| id >> 16 <= end)
                });
                let (now, later) = rest.split_at(end);
                ids.clear();
                ids.extend(now.iter().map(|(_, id)| *id));
                crate::set::file::ValueSink::values(self.bodies, &ids)?;
                rest = later;
            }
            let number = order[of_key[0].0 as usize];
            list.push(dictionary.key(number), self.bodies.end()?)?;
            self.check()?;
        }
        self.lists.push(list, self.spool)
    }

    /// Cuts the rows of a part by another hash.
    fn cut_again(
        &mut self,
        dictionary: &Dictionary,
        rows: Vec<(u32, u64)>,
        row: Option<(u64, Vec<u8>)>,
        mut reader: RecordReader,
        depth: u64,
    ) -> Result<()> {
        let mut parts = PartOptions::within(self.buffer_bytes, &self.spool.folder).parts(depth + 1);
        for &(number, id) in &rows {
            let key = dictionary.key(number);
            parts.push(id, key, key)?;
        }
        drop(rows);
        if let Some((id, key)) = row {
            parts.push(id, &key, &key)?;
        }
        while let Some((id, key)) = reader.next()? {
            parts.push(id, key, key)?;
        }
        drop(reader);
        self.parts(parts, depth + 1)
    }

    /// Sorts the rows of a key that has most of a part. Other rows are cut again.
    fn one_key(
        &mut self,
        key: &[u8],
        rows: Vec<(u32, u64)>,
        reader: RecordReader,
        depth: u64,
    ) -> Result<()> {
        let others = PartOptions::within(self.buffer_bytes, &self.spool.folder).parts(depth + 1);
        let left = Arc::new(Mutex::new(Left { others: Some(others), failed: None }));
        let first = rows.into_iter().map(|(_, id)| id);
        let rest = IdsOf { reader, key: key.to_vec(), left: Arc::clone(&left) };
        let sort = Sort::new().memory(self.memory).threads(self.threads);
        let sort = sort.temporary_folder(&self.spool.folder).progress(Arc::clone(self.progress));
        let sorted =
            sort.values(first.chain(rest)).into_sink(self.path, 2 * self.buffer_bytes, self.bodies);
        let left = std::mem::take(&mut *left.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(error) = left.failed {
            return Err(error);
        }
        sorted?;
        let mut list = List::new(self.spool);
        list.push(key, self.bodies.end()?)?;
        self.lists.push(list, self.spool)?;
        left.others.map_or(Ok(()), |others| self.parts(others, depth + 1))
    }
}

/// The rest of a part without the ids of one key.
#[derive(Default)]
struct Left {
    /// Rows of other keys.
    others: Option<Parts>,
    failed: Option<Error>,
}

/// The ids of one key.
struct IdsOf {
    reader: RecordReader,
    key: Vec<u8>,
    left: Arc<Mutex<Left>>,
}

impl IdsOf {
    fn next_id(&mut self) -> Result<Option<u64>> {
        while let Some((id, key)) = self.reader.next()? {
            if key == self.key {
                return Ok(Some(id));
            }
            let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(others) = &mut left.others {
                others.push(id, key, key)?;
            }
        }
        Ok(None)
    }
}

impl Iterator for IdsOf {
    type Item = u64;

    /// Ends at the first error, which the caller reports afterwards.
    fn next(&mut self) -> Option<u64> {
        self.next_id().unwrap_or_else(|error| {
            let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
            left.failed.get_or_insert(error);
            None
        })
    }
}
