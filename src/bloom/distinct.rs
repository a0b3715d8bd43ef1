//! Lines, each the first time that it comes, exactly and in order.
//!
//! A set of the lines decides while it fits in memory. Once it is full it stays
//! as it is: lines that are in it are known, others go to temporary files, cut
//! by hash, with their numbers. All of them come behind what was handed over
//! already. In the end each part is read in the same way, and what is left of
//! the parts is merged by number.

use super::exact::{Inserted, LineSet};
use super::lines::{Batch, LineJob};
use super::records::{Cut, Parts, Records, merge};
use crate::error::{Error, Result};
use crate::progress::Progress;
use std::path::{Path, PathBuf};

/// Finds the lines that differ.
pub(crate) struct Distinct<'a> {
    pub(crate) job: LineJob<'a>,
    pub(crate) memory_bytes: u64,
    pub(crate) folder: &'a Path,
}

/// Records between two looks for signals.
const CHECK_RECORDS: u64 = 1 << 16;

/// Bytes of output that are gathered.
const OUT_BYTES: usize = 1 << 16;

/// Ends a run when a signal came.
pub(super) fn check(progress: &Progress, records: u64) -> Result<()> {
    if records.is_multiple_of(CHECK_RECORDS) && progress.is_cancelled() {
        return Err(Error::Interrupted);
    }
    Ok(())
}

impl Distinct<'_> {
    /// Hands the lines of `files` that differ from all before them, with their
    /// terminators, to `consume`.
    pub(crate) fn run(
        &self,
        files: Vec<PathBuf>,
        mut consume: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let cut = Cut::within(self.memory_bytes, self.folder);
        let mut set = LineSet::new(self.memory_bytes / 8 * 6)?;
        let mut spilled: Option<Parts> = None;
        let (mut number, mut hashes, mut out) = (0, Vec::new(), Vec::new());
        let rules = self.job.rules;
        self.job.each(files, |bytes| {
            out.clear();
            let mut new = Vec::new();
            rules.batches(bytes, |batch: &Batch<'_>| {
                hash_ahead(&set, batch, &mut hashes);
                new.clear();
                for ((key, &hash), span) in batch.keys.iter().zip(&hashes).zip(&batch.spans) {
                    let inserted = decide(&mut set, spilled.is_some(), key, hash)?;
                    new.push(inserted == Inserted::New);
                    if inserted == Inserted::Full {
                        if spilled.is_none() {
                            spilled = Some(cut.parts(0)?);
                        }
                        if let Some(parts) = &mut spilled {
                            parts.push(number, &bytes[span.start..span.end - 1], key)?;
                        }
                        number += 1;
                    }
                }
                batch.copy(bytes, &new, true, &mut out);
                Ok(())
            })?;
            consume(&out)
        })?;
        let Some(parts) = spilled else { return Ok(()) };
        let left = self.each_part(&mut set, &cut, parts, 1)?;
        drop(set);
        merge_lines(left, rules.terminator, self.job.chunks.progress, consume)
    }

    /// What differs in each part.
    fn each_part(
        &self,
        set: &mut LineSet,
        cut: &Cut<'_>,
        parts: Parts,
        depth: u64,
    ) -> Result<Vec<Records>> {
        parts
            .into_parts()
            .filter(|part| !part.is_empty())
            .map(|part| self.part(set, cut, part, depth))
            .collect()
    }

    /// The records of a part that differ from all before them.
    fn part(
        &self,
        set: &mut LineSet,
        cut: &Cut<'_>,
        records: Records,
        depth: u64,
    ) -> Result<Records> {
        set.clear()?;
        let mut left = cut.records()?;
        let mut spilled: Option<Parts> = None;
        let mut records = records.read()?;
        let mut count = 0;
        while let Some((number, line)) = records.next()? {
            count += 1;
            check(self.job.chunks.progress, count)?;
            let key = self.job.rules.key(line);
            let hash = LineSet::hash(key);
            let inserted = decide(set, spilled.is_some(), key, hash)?;
            match (inserted, &mut spilled) {
                (Inserted::Known, _) => {}
                (Inserted::New, _) => left.push(number, line)?,
                (Inserted::Full, Some(parts)) => parts.push(number, line, key)?,
                (Inserted::Full, none) => {
                    none.insert(cut.parts(depth)?).push(number, line, key)?;
                }
            }
        }
        drop(records);
        if let Some(parts) = spilled {
            let parts = self.each_part(set, cut, parts, depth + 1)?;
            set.clear()?;
            merge(parts, |number, line| left.push(number, line))?;
        }
        Ok(left)
    }
}

/// Hashes a batch and asks for the memory of its lines.
pub(super) fn hash_ahead(set: &LineSet, batch: &Batch<'_>, hashes: &mut Vec<u64>) {
    hashes.clear();
    hashes.extend(batch.keys.iter().map(|key| {
        let hash = LineSet::hash(key);
        set.ask_ahead(hash);
        hash
    }));
}

/// Appends a line to `out`; hands that over once it is much.
pub(super) fn put(
    line: &[u8],
    terminator: u8,
    out: &mut Vec<u8>,
    consume: &mut impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    out.extend_from_slice(line);
    out.push(terminator);
    if out.len() >= OUT_BYTES {
        consume(out)?;
        out.clear();
    }
    Ok(())
}

/// Adds a line to a set, or says that it is not known to one that got full.
#[inline]
fn decide(set: &mut LineSet, is_full: bool, key: &[u8], hash: u64) -> Result<Inserted> {
    match is_full {
        false => set.insert(key, hash),
        true if set.contains(key, hash) => Ok(Inserted::Known),
        true => Ok(Inserted::Full),
    }
}

/// Merges files of lines into `consume`.
pub(super) fn merge_lines(
    files: Vec<Records>,
    terminator: u8,
    progress: &Progress,
    mut consume: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let (mut out, mut count) = (Vec::new(), 0);
    merge(files, |_, line| {
        count += 1;
        check(progress, count)?;
        put(line, terminator, &mut out, &mut consume)
    })?;
    if out.is_empty() { Ok(()) } else { consume(&out) }
}
