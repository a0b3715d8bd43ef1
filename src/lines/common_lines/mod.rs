//! Finds the lines that two files share, exactly, in limited memory.
//!
//! 1. The lines of the smaller file go into a blocked filter.
//! 2. Lines of the larger file that the filter does not know are dropped: they
//!    are not shared. The others gather in a set of lines. If that grows too large,
//!    its lines and all later ones go to temporary files, cut by hash, and into a
//!    second filter.
//! 3. The smaller file is read again. Its lines are looked up in the set; or they are tested with
//!    the second filter and cut by the same hash, and then each part of one
//!    file is compared with the same part of the other.
//!
//! False positives of the filters cost time, but the answer stays exact. Lines come in the order of
//! the first file, each once: parts are merged by the numbers of their lines.

mod plan;

use super::exact::{Inserted, LineSet};
use super::keys::{Funnel, LineJob};
use super::records::{PartOptions, Parts, Records, check, merge, merge_lines, put};
use super::spool::{Spooled, named_as_typed, rereadable};
use crate::bloom::{BlockedBloomFilter, Filter, check_rate};
use crate::error::{Error, Result};
use crate::io::read::Unchanged;
use crate::io::read::is_stdin;
use crate::sort::plan::budget::Budget;
#[cfg(feature = "cli")]
pub(crate) use plan::bits_for;
use plan::screen_bits;
pub(crate) use plan::{Facts, Plan};
use std::path::{Path, PathBuf};

/// A filter for `keys` keys in at most so many bytes; none if it would drop too few lines.
fn screen(keys: u64, rate: f64, budget_bytes: u64) -> Result<Option<BlockedBloomFilter>> {
    let Some(bits) = screen_bits(keys, rate, budget_bytes)? else { return Ok(None) };
    Ok(Some(Filter::builder().keys(keys).bits(bits).build()?))
}

/// Finds the lines that two files share.
pub(crate) struct CommonLines<'a> {
    job: LineJob<'a>,
    memory: Budget,
    /// The rate of false positives of the filters.
    rate: f64,
    folder: &'a Path,
    paths: Vec<PathBuf>,
    /// The names that the caller gave.
    typed: [PathBuf; 2],
    /// Keeps the temporary copies that `paths` name.
    _copies: Vec<Spooled>,
    unchanged: Unchanged,
    facts: [Facts; 2],
}

/// Lines of the larger file that may be shared.
struct Survivors {
    set: LineSet,
    options: PartOptions,
    spilled: Option<Parts>,
    /// A filter of the spilled lines.
    screen: Option<BlockedBloomFilter>,
    number: u64,
    plan: Plan,
    rate: f64,
}

impl Survivors {
    /// Takes lines.
    fn take(&mut self, job: &LineJob<'_>, bytes: &[u8]) -> Result<()> {
        let mut hashes = Vec::new();
        job.rules.batches(bytes, |batch| {
            let mut keys = batch.keys.iter();
            if self.spilled.is_none() {
                self.set.hash_ahead(&batch.keys, &mut hashes);
                let full = self.insert(&batch.keys, &hashes)?;
                keys = full.map_or(&[][..], |full| &batch.keys[full..]).iter();
            }
            if let Some(screen) = &mut self.screen {
                screen.insert_many(keys.as_slice());
            }
            if let Some(parts) = &mut self.spilled {
                for key in keys {
                    parts.push(self.number, key, key)?;
                    self.number += 1;
                }
            }
            Ok(())
        })
    }

    /// Adds keys to the set. If the set becomes full, it is spilled, and the index of the first key
    /// that did not fit is given.
    fn insert(&mut self, keys: &[&[u8]], hashes: &[u64]) -> Result<Option<usize>> {
        for (index, (key, &hash)) in keys.iter().zip(hashes).enumerate() {
            if self.set.insert(key, hash)? == Inserted::Full {
                self.spill()?;
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    /// Moves the set to temporary files.
    fn spill(&mut self) -> Result<()> {
        let mut screen = screen(self.plan.survivors, self.rate, self.plan.share.filter_bytes)?;
        let mut parts = self.options.parts(0);
        self.set.for_each(|line, _| {
            if let Some(screen) = &mut screen {
                screen.insert(line);
            }
            parts.push(self.number, line, line)?;
            self.number += 1;
            Ok(())
        })?;
        self.set.clear()?;
        (self.spilled, self.screen) = (Some(parts), screen);
        Ok(())
    }
}

impl<'a> CommonLines<'a> {
    /// Takes two files. Copies streams to temporary files.
    pub(super) fn new(
        mut job: LineJob<'a>,
        memory: Budget,
        folder: &'a Path,
        files: [PathBuf; 2],
        rate: f64,
    ) -> Result<Self> {
        if files.iter().all(|file| is_stdin(file)) {
            return Err(Error::usage("standard input can be one file only"));
        }
        check_rate(rate)?;
        // Lines are compared byte for byte, so the filters must hash these bytes.
        job.rules.funnel = Funnel::default();
        let (paths, copies) = rereadable(files.to_vec(), folder, &job)?;
        let unchanged = Unchanged::of(&paths); // both are read twice
        let facts = |index: usize| {
            let found = Facts::of(&paths[index], &job);
            found.map_err(|error| named_as_typed(error, &paths, &files))
        };
        let facts = [facts(0)?, facts(1)?];
        Ok(Self {
            job,
            memory,
            rate,
            folder,
            typed: files,
            paths,
            _copies: copies,
            unchanged,
            facts,
        })
    }

    #[cfg(feature = "cli")]
    pub(crate) fn facts(&self) -> [Facts; 2] {
        self.facts
    }

    /// Hands the lines of both files, each once, in the order of the first file, to `consume`. Each
    /// is a key and a terminator.
    pub(crate) fn run(&self, consume: impl FnMut(&[u8]) -> Result<()> + Send) -> Result<()> {
        self.find(consume).map_err(|error| named_as_typed(error, &self.paths, &self.typed))?;
        self.unchanged.check()
    }

    fn find(&self, mut consume: impl FnMut(&[u8]) -> Result<()> + Send) -> Result<()> {
        let plan = Plan::new(self.facts, self.rate, self.memory);
        let [smaller, larger] =
            [plan.smaller, 1 - plan.smaller].map(|index| vec![self.paths[index].clone()]);
        let mut survivors = self.screen_larger(&plan, smaller.clone(), larger)?;
        let larger_is_first = plan.smaller == 1;
        if let Some(spilled) = survivors.spilled.take() {
            let others = self.cut_smaller(&survivors, smaller)?;
            survivors.screen = None;
            let Survivors { mut set, options, .. } = survivors;
            let (first, second) =
                if larger_is_first { (spilled, others) } else { (others, spilled) };
            let shared = self.join_parts(&mut set, &options, first, second, 1)?;
            drop(set);
            return merge_lines(
                shared,
                self.job.rules.terminator,
                self.job.chunks.progress,
                consume,
            );
        }
        if !larger_is_first {
            return self.mark_smaller(&mut survivors.set, smaller, consume);
        }
        self.mark_smaller(&mut survivors.set, smaller, |_| Ok(()))?;
        let mut out = Vec::new();
        survivors.set.for_each(|line, marked| {
            if marked {
                put(line, self.job.rules.terminator, &mut out, &mut consume)?;
            }
            Ok(())
        })?;
        consume(&out)
    }

    /// Steps 1 and 2.
    fn screen_larger(
        &self,
        plan: &Plan,
        smaller: Vec<PathBuf>,
        larger: Vec<PathBuf>,
    ) -> Result<Survivors> {
        let mut filter = screen(plan.keys, self.rate, plan.share.filter_bytes)?;
        if let Some(filter) = &mut filter {
            self.job.insert_into(filter, smaller)?;
        }
        let mut survivors = Survivors {
            set: LineSet::new(plan.share.set_bytes)?,
            options: PartOptions::within(plan.share.spilled_bytes, self.folder),
            spilled: None,
            screen: None,
            number: 0,
            plan: *plan,
            rate: self.rate,
        };
        let work = screened(&self.job, filter.as_ref());
        self.job.run(larger, work, |lines| survivors.take(&self.job, lines))?;
        Ok(survivors)
    }

    /// Step 3 with a set of all survivors: hands over a line when it is marked for the first time.
    fn mark_smaller(
        &self,
        set: &mut LineSet,
        smaller: Vec<PathBuf>,
        mut consume: impl FnMut(&[u8]) -> Result<()> + Send,
    ) -> Result<()> {
        let rules = self.job.rules;
        let set = std::sync::RwLock::new(set);
        let work = |bytes: &[u8], out: &mut Vec<u8>| {
            let (mut hashes, mut known) = (Vec::new(), Vec::new());
            let set = set.read().unwrap_or_else(std::sync::PoisonError::into_inner);
            rules.batches(bytes, |batch| {
                set.hash_ahead(&batch.keys, &mut hashes);
                known.clear();
                let pairs = batch.keys.iter().zip(&hashes);
                known.extend(pairs.map(|(key, &hash)| set.contains(key, hash)));
                batch.copy(bytes, &known, true, out);
                Ok(())
            })
        };
        self.job.run(smaller, work, |lines| {
            let mut set = set.write().unwrap_or_else(std::sync::PoisonError::into_inner);
            let mut out = Vec::new();
            rules.batches(lines, |batch| {
                for key in &batch.keys {
                    let hash = set.hash(key);
                    if set.mark(key, hash) {
                        put(key, rules.terminator, &mut out, &mut consume)?;
                    }
                }
                Ok(())
            })?;
            consume(&out)
        })
    }

    /// Step 3 with survivors in temporary files.
    fn cut_smaller(&self, survivors: &Survivors, smaller: Vec<PathBuf>) -> Result<Parts> {
        let mut parts = survivors.options.parts(0);
        let (rules, mut number) = (self.job.rules, 0);
        let work = screened(&self.job, survivors.screen.as_ref());
        self.job.run(smaller, work, |lines| {
            rules.batches(lines, |batch| {
                for key in &batch.keys {
                    parts.push(number, key, key)?;
                    number += 1;
                }
                Ok(())
            })
        })?;
        Ok(parts)
    }

    fn join_parts(
        &self,
        set: &mut LineSet,
        options: &PartOptions,
        first: Parts,
        second: Parts,
        depth: u64,
    ) -> Result<Vec<Records>> {
        let pairs = first.into_parts().zip(second.into_parts());
        pairs.map(|(first, second)| self.join(set, options, first, second, depth)).collect()
    }

    /// The lines of `first` that are also in `second`, each once, in their order.
    fn join(
        &self,
        set: &mut LineSet,
        options: &PartOptions,
        first: Records,
        second: Records,
        depth: u64,
    ) -> Result<Records> {
        let mut shared = options.records();
        if first.is_empty() || second.is_empty() {
            return Ok(shared);
        }
        set.clear()?;
        let mut spilled: Option<Parts> = None;
        let (mut second, mut count) = (second.read()?, 0);
        while let Some((_, key)) = second.next()? {
            count += 1;
            check(self.job.chunks.progress, count)?;
            if let Some(parts) = &mut spilled {
                parts.push(0, key, key)?;
            } else if set.insert(key, set.hash(key))? == Inserted::Full {
                let mut parts = options.parts(depth);
                set.for_each(|key, _| parts.push(0, key, key))?;
                parts.push(0, key, key)?;
                spilled = Some(parts);
                set.clear()?;
            }
        }
        drop(second);
        let mut first = first.read()?;
        let mut cut_first = spilled.is_some().then(|| options.parts(depth));
        while let Some((number, key)) = first.next()? {
            count += 1;
            check(self.job.chunks.progress, count)?;
            match &mut cut_first {
                Some(parts) => parts.push(number, key, key)?,
                None if set.mark(key, set.hash(key)) => shared.push(number, key)?,
                None => {}
            }
        }
        drop(first);
        if let (Some(first), Some(second)) = (cut_first, spilled) {
            let parts = self.join_parts(set, options, first, second, depth + 1)?;
            set.clear()?;
            merge(parts, |number, key| shared.push(number, key))?;
        }
        Ok(shared)
    }
}

/// Copies the lines that a filter may have; all lines without a filter.
fn screened<'a>(
    job: &'a LineJob<'a>,
    filter: Option<&'a BlockedBloomFilter>,
) -> impl Fn(&[u8], &mut Vec<u8>) -> Result<()> + Sync + 'a {
    move |bytes, out| {
        let Some(filter) = filter else {
            out.extend_from_slice(bytes);
            return Ok(());
        };
        job.rules.copy(bytes, true, out, |keys, found| {
            filter.contains_many(keys, found);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::lines::{Funnel, LineTools};
    use crate::size::ByteSize;
    use std::fmt::Write;

    #[test]
    fn a_funnel_loses_no_line() {
        let folder = tempfile::tempdir().unwrap();
        // More than 7/16 of the memory, so lines go to temporary files, behind the second filter.
        let lines = (0..200_000).fold(String::new(), |mut lines, number| {
            writeln!(lines, "{number}").unwrap();
            lines
        });
        let files = ["a", "b"].map(|name| folder.path().join(name));
        for file in &files {
            std::fs::write(file, &lines).unwrap();
        }
        for funnel in [Funnel::Bytes, Funnel::Long] {
            let tools = LineTools::new().funnel(funnel).memory(ByteSize::from_bytes(1 << 20));
            let mut common = Vec::new();
            let take = |lines: &[u8]| {
                common.extend_from_slice(lines);
                Ok(())
            };
            tools.common(files.clone(), 0.01, take).unwrap();
            assert!(common == lines.as_bytes(), "{funnel:?}: {} bytes", common.len());
        }
    }
}
