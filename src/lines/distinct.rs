//! Gives each line the first time that it comes, exactly and in order.
//!
//! A set of lines in memory decides whether a line is new. A full set takes no more lines: the
//! lines that it does not know go to temporary files, cut by hash, with their numbers. All of them
//! belong behind the lines that were handed over already. At the end each part is read in the same
//! way, and the new lines of all parts are merged by number.

use super::exact::{Inserted, LineSet};
use super::keys::{Batch, LineJob};
use super::records::{PartOptions, Parts, Records, check, merge, merge_lines};
use crate::error::Result;
use crate::sort::plan::budget::Budget;
use std::path::{Path, PathBuf};

/// Finds the distinct lines.
pub(crate) struct Distinct<'a> {
    pub(crate) job: LineJob<'a>,
    pub(crate) memory: Budget,
    pub(crate) folder: &'a Path,
}

impl Distinct<'_> {
    /// Hands the lines of `files` that differ from all earlier ones, with their terminators, to
    /// `consume`.
    pub(crate) fn run(
        &self,
        files: Vec<PathBuf>,
        mut consume: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let options = PartOptions::within(self.memory.spilled_lines(), self.folder);
        let mut set = LineSet::new(self.memory.distinct_lines())?;
        let mut spilled: Option<Parts> = None;
        let (mut number, mut hashes, mut out) = (0, Vec::new(), Vec::new());
        let rules = self.job.rules;
        self.job.each(files, |bytes| {
            out.clear();
            let mut new = Vec::new();
            rules.batches(bytes, |batch: &Batch<'_>| {
                set.hash_ahead(&batch.keys, &mut hashes);
                new.clear();
                for ((key, &hash), span) in batch.keys.iter().zip(&hashes).zip(&batch.spans) {
                    let inserted = decide(&mut set, spilled.is_some(), key, hash)?;
                    new.push(inserted == Inserted::New);
                    if inserted == Inserted::Full {
                        if spilled.is_none() {
                            spilled = Some(options.parts(0));
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
        let left = self.each_part(&mut set, &options, parts, 1)?;
        drop(set);
        merge_lines(left, rules.terminator, self.job.chunks.progress, consume)
    }

    /// Finds the distinct lines of each part.
    fn each_part(
        &self,
        set: &mut LineSet,
        options: &PartOptions,
        parts: Parts,
        depth: u64,
    ) -> Result<Vec<Records>> {
        parts
            .into_parts()
            .filter(|part| !part.is_empty())
            .map(|part| self.part(set, options, part, depth))
            .collect()
    }

    /// The records of a part that differ from all earlier ones.
    fn part(
        &self,
        set: &mut LineSet,
        options: &PartOptions,
        records: Records,
        depth: u64,
    ) -> Result<Records> {
        set.clear()?;
        let mut left = options.records();
        let mut spilled: Option<Parts> = None;
        let mut records = records.read()?;
        let mut count = 0;
        while let Some((number, line)) = records.next()? {
            count += 1;
            check(self.job.chunks.progress, count)?;
            let key = self.job.rules.key(line);
            let hash = set.hash(key);
            let inserted = decide(set, spilled.is_some(), key, hash)?;
            match (inserted, &mut spilled) {
                (Inserted::Known, _) => {}
                (Inserted::New, _) => left.push(number, line)?,
                (Inserted::Full, Some(parts)) => parts.push(number, line, key)?,
                (Inserted::Full, none) => {
                    none.insert(options.parts(depth)).push(number, line, key)?;
                }
            }
        }
        drop(records);
        if let Some(parts) = spilled {
            let parts = self.each_part(set, options, parts, depth + 1)?;
            set.clear()?;
            merge(parts, |number, line| left.push(number, line))?;
        }
        Ok(left)
    }
}

/// Adds a line to a set. If the set is full, says whether it knows the line.
#[inline]
fn decide(set: &mut LineSet, is_full: bool, key: &[u8], hash: u64) -> Result<Inserted> {
    match is_full {
        false => set.insert(key, hash),
        true if set.contains(key, hash) => Ok(Inserted::Known),
        true => Ok(Inserted::Full),
    }
}
