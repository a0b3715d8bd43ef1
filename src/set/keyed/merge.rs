//! Merges runs of sets with ascending keys into one file. Sets of one key are joined.

use super::encoder::{SetEncoder, copy_at};
use super::file::{Found, KeyedSets};
use super::format::Head;
use super::writer::{KeyedWriter, WrittenSets};
use crate::error::{Error, Result};
use crate::io::write::{Encoding, Spool, Writer};
use crate::progress::Progress;
use crate::set::container::Op;
use crate::set::operand::Operand;
use crate::set::plan::Plan;
use std::io::Write;
use std::path::Path;

/// Sets by ascending keys. After each [`advance`](Self::advance) it is at one of them.
pub(crate) trait KeyRun {
    /// Goes to the next set; false at the end.
    fn advance(&mut self) -> Result<bool>;

    /// The key of the set.
    fn key(&self) -> Result<&[u8]>;

    /// Copies the bytes of the set.
    fn copy(&self, out: &mut dyn Write) -> Result<Head>;

    /// The set for set algebra.
    fn operand(&self) -> Result<Operand<'_>>;
}

/// Writes a `.sets` file of the sets that `produce` pushes. The file appears whole or not at all.
pub(crate) fn write_sets(
    path: &Path,
    spool: &Spool,
    produce: impl FnOnce(&mut KeyedWriter<'_>, &mut SetEncoder<'_>) -> Result<()>,
) -> Result<WrittenSets> {
    let writer = Writer::open(path, Encoding::Set, spool)?;
    let name = writer.path().to_path_buf();
    let scratch = spool.file()?;
    let Some(file) = writer.file() else {
        return Err(Error::usage(format!("{} cannot be gone back in", name.display())));
    };
    let mut sets = KeyedWriter::new(file, &name, spool);
    produce(&mut sets, &mut SetEncoder::new(&scratch, spool.clone()))?;
    let written = sets.finish()?;
    writer.commit()?;
    Ok(written)
}

/// Sources in the descending order of their next keys. The keys stay where they are, because they
/// may be long.
#[derive(Debug, Default)]
pub(crate) struct Heads(Vec<usize>);

impl Heads {
    /// Adds a source; `key` gives the next key of each. O(log sources) keys are compared.
    pub(crate) fn add<'k>(
        &mut self,
        source: usize,
        key: impl Fn(usize) -> Result<&'k [u8]>,
    ) -> Result<()> {
        let new = key(source)?;
        let (mut from, mut to) = (0, self.0.len());
        while from < to {
            let middle = usize::midpoint(from, to);
            if key(self.0[middle])? > new { from = middle + 1 } else { to = middle }
        }
        self.0.insert(from, source);
        Ok(())
    }

    /// Takes the sources that have the smallest key out, into `alike`; none if there are no more
    /// sources.
    pub(crate) fn take<'k>(
        &mut self,
        key: impl Fn(usize) -> Result<&'k [u8]>,
        alike: &mut Vec<usize>,
    ) -> Result<()> {
        alike.clear();
        while let Some(&last) = self.0.last() {
            if let Some(&first) = alike.first()
                && key(first)? != key(last)?
            {
                break;
            }
            alike.push(last);
            self.0.pop();
        }
        Ok(())
    }
}

/// Merges runs into a file. O(bytes), and O(log runs) for each key; sets of one key are decoded.
pub(crate) fn merge(
    runs: &mut [Box<dyn KeyRun + '_>],
    writer: &mut KeyedWriter<'_>,
    encoder: &mut SetEncoder<'_>,
    progress: &Progress,
) -> Result<()> {
    let mut heads = Heads::default();
    for index in 0..runs.len() {
        if runs[index].advance()? {
            heads.add(index, |index| runs[index].key())?;
        }
    }
    let mut alike = Vec::new();
    loop {
        Error::if_cancelled(progress)?;
        heads.take(|index| runs[index].key(), &mut alike)?;
        let Some(&first) = alike.first() else { return Ok(()) };
        writer.push(runs[first].key()?, |out| {
            if let [only] = alike[..] {
                return runs[only].copy(out);
            }
            let sets = alike.iter().map(|&index| runs[index].operand().map(Plan::set));
            let plans = sets.collect::<Result<Vec<_>>>()?;
            Plan::join(Op::Or, plans).run(encoder, progress)?;
            encoder.finish(out)
        })?;
        for &index in &alike {
            if runs[index].advance()? {
                heads.add(index, |index| runs[index].key())?;
            }
        }
    }
}

/// The sets of a file, in order.
struct FileRun<'s> {
    sets: &'s KeyedSets,
    /// Number of the set behind the current one.
    next: usize,
    /// The current set. It is found once, because that asks the system whether the file is whole.
    found: Option<Found<'s>>,
}

impl<'s> FileRun<'s> {
    fn found(&self) -> Result<&Found<'s>> {
        self.found.as_ref().ok_or_else(|| Error::Accounting { what: "no set was read".into() })
    }
}

impl KeyRun for FileRun<'_> {
    fn advance(&mut self) -> Result<bool> {
        if self.next == self.sets.len() {
            self.found = None;
            return Ok(false);
        }
        let found = self.sets.found(self.next)?;
        if self.found.as_ref().is_some_and(|before| before.key >= found.key) {
            return Err(self.sets.in_disorder());
        }
        self.found = Some(found);
        self.next += 1;
        Ok(true)
    }

    fn key(&self) -> Result<&[u8]> {
        Ok(self.found()?.key)
    }

    fn copy(&self, out: &mut dyn Write) -> Result<Head> {
        self.sets.copy(self.found()?, out)
    }

    fn operand(&self) -> Result<Operand<'_>> {
        self.sets.operand(self.next.saturating_sub(1))
    }
}

impl KeyedSets {
    /// Copies the bytes of a set.
    pub(super) fn copy(&self, found: &Found<'_>, out: &mut dyn Write) -> Result<Head> {
        let body = self.body(found);
        let written = out.write_all(body.bytes);
        self.after(written.map_err(Error::io("write the sets of", self.path())))?;
        let (bytes, representation) = (body.bytes.len() as u64, body.representation);
        Ok(Head { bytes, representation, cardinality: body.cardinality })
    }
}

/// Joins `.sets` files into one. It has the keys of all files, and under each key the values that
/// any of the files has there. It first verifies the checksums of the files. A set whose key is in
/// only one file is copied without decoding. O(bytes).
///
/// The new file appears whole or not at all, and may replace one of the joined files.
///
/// # Errors
///
/// If a file is damaged, or the new one cannot be written.
///
/// # Examples
///
/// ```
/// use bitsort::lines::Group;
/// use bitsort::set::keyed::{self, KeyedSets};
///
/// # let folder = tempfile::tempdir()?;
/// # let [monday, tuesday, both] = ["a", "b", "c"].map(|name| folder.path().join(name));
/// Group::new().pairs([("sport", 7), ("chess", 1)]).to_file(&monday)?;
/// Group::new().pairs([("sport", 8)]).to_file(&tuesday)?;
/// let days = [KeyedSets::open(&monday)?, KeyedSets::open(&tuesday)?];
/// let written = keyed::union(&days, &both)?;
/// assert_eq!((written.sets, written.values), (2, 3));
/// assert_eq!(KeyedSets::open(&both)?.get("sport")?.unwrap().len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn union(sets: &[KeyedSets], path: impl AsRef<Path>) -> Result<WrittenSets> {
    union_with(sets, path, &Progress::default())
}

/// The same as [`union`]; ends with [`Error::Interrupted`] when `progress` is cancelled.
///
/// # Errors
///
/// As [`union`], and [`Error::Interrupted`].
pub fn union_with(
    sets: &[KeyedSets],
    path: impl AsRef<Path>,
    progress: &Progress,
) -> Result<WrittenSets> {
    union_watched(sets, path.as_ref(), &Spool::default(), progress)
}

/// The same with the memory and the folder of a spool.
pub(crate) fn union_watched(
    sets: &[KeyedSets],
    path: &Path,
    spool: &Spool,
    progress: &Progress,
) -> Result<WrittenSets> {
    for sets in sets {
        sets.verify_checksums(progress)?;
    }
    write_sets(path, spool, |writer, encoder| {
        let run = |sets| Box::new(FileRun { sets, next: 0, found: None }) as Box<dyn KeyRun>;
        let mut runs: Vec<_> = sets.iter().map(run).collect();
        merge(&mut runs, writer, encoder, progress)
    })
}

/// The place of a set in a temporary file of bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) offset: u64,
    pub(crate) head: Head,
}

impl Stored {
    /// Copies the set from the file that has it.
    pub(crate) fn copy(
        self,
        from: &std::fs::File,
        block: &mut [u8],
        out: &mut dyn Write,
    ) -> std::io::Result<Head> {
        copy_at(from, self.offset, self.head.bytes, block, out)?;
        Ok(self.head)
    }
}
