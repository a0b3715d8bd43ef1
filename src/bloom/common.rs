//! The lines that two files share, exactly, in bounded memory.
//!
//! 1. The lines of the smaller file go into a blocked filter.
//! 2. Lines of the larger file that the filter does not know are dropped: they
//!    are not shared. The others gather in a set of lines. If that grows too
//!    large, it and what follows goes to temporary files, cut by hash, and into
//!    a second filter.
//! 3. The smaller file is read again and held against the set; or screened by
//!    the second filter and cut by the same hash, and then each part of the one
//!    file is held against that of the other.
//!
//! False positives of the filters cost time, never truth. Lines come in the
//! order of the first file, each once: parts are merged by the numbers of their
//! lines.

use super::distinct::{check, hash_ahead, merge_lines, put};
use super::exact::{Inserted, LineSet};
use super::filter::{BlockedBloomFilter, Filter};
use super::lines::LineJob;
use super::params::BLOCK_BITS;
use super::records::{Cut, Parts, Records, merge};
use super::spool::estimated_lines;
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

/// What is known of a file before it is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts {
    pub(crate) bytes: u64,
    /// About how many.
    pub(crate) lines: u64,
}

impl Facts {
    pub(crate) fn of(path: &Path, job: &LineJob<'_>) -> Result<Self> {
        let metadata = std::fs::metadata(path).map_err(Error::io("open", path))?;
        if metadata.is_dir() {
            return Err(Error::directory("read", path));
        }
        Ok(Self { bytes: metadata.len(), lines: estimated_lines(path, job)? })
    }
}

/// How memory is divided, and what comes of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    /// Which file is the smaller one.
    pub(crate) smaller: usize,
    /// About how many lines it has.
    pub(crate) keys: u64,
    /// Of each of the two filters.
    pub(crate) filter_budget: u64,
    pub(crate) set_budget: u64,
    /// Lines that the second filter is made for.
    pub(crate) survivors: u64,
}

/// Fewer bits a line screen nothing.
const LEAST_BITS_PER_KEY: u64 = 2;

impl Plan {
    /// Divides the memory. Of 16 parts, each filter takes 3, the set 7 while
    /// both may be there, buffers 1, and chunks of lines the rest.
    pub(crate) fn new(facts: [Facts; 2], rate: f64, memory_bytes: u64) -> Self {
        let [a, b] = facts;
        let smaller = usize::from(b.bytes < a.bytes);
        let part = memory_bytes / 16;
        let keys = facts[smaller].lines.max(1);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate")]
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let passing = (rate * facts[1 - smaller].lines as f64) as u64;
        let survivors = keys.saturating_add(passing).min(facts[1 - smaller].lines).max(1);
        let (filter_budget, set_budget) = (3 * part, 7 * part);
        Self { smaller, keys, filter_budget, set_budget, survivors }
    }

    /// Bits of the first filter; none if it would let nearly everything pass.
    pub(crate) fn filter_bits(&self, rate: f64) -> Result<Option<u64>> {
        screen_bits(self.keys, rate, self.filter_budget)
    }
}

/// Bits of a filter for so many keys at this rate.
pub(crate) fn bits_for(keys: u64, rate: f64) -> Result<u64> {
    let builder = BlockedBloomFilter::builder().keys(keys).rate(rate);
    Ok(builder.spec()?.size_bytes().saturating_mul(8))
}

fn screen_bits(keys: u64, rate: f64, budget_bytes: u64) -> Result<Option<u64>> {
    let bits = bits_for(keys, rate)?.min(budget_bytes.saturating_mul(8));
    // Whole cache lines, which is what a blocked filter takes.
    let bits = bits - bits % BLOCK_BITS;
    Ok(Some(bits).filter(|bits| *bits > 0 && bits / keys >= LEAST_BITS_PER_KEY))
}

/// A filter for `keys` keys of at most so many bytes; none if it would screen
/// nothing.
fn screen(keys: u64, rate: f64, budget_bytes: u64) -> Result<Option<BlockedBloomFilter>> {
    let Some(bits) = screen_bits(keys, rate, budget_bytes)? else { return Ok(None) };
    Ok(Some(Filter::builder().keys(keys).bits(bits).build()?))
}

/// Finds the lines that two files share.
pub(crate) struct Common<'a> {
    pub(crate) job: LineJob<'a>,
    pub(crate) memory_bytes: u64,
    /// Of false positives of the filters.
    pub(crate) rate: f64,
    pub(crate) folder: &'a Path,
}

/// Lines of the larger file that may be shared.
struct Survivors<'a> {
    set: LineSet,
    cut: Cut<'a>,
    spilled: Option<Parts>,
    /// Of what was spilled.
    screen: Option<BlockedBloomFilter>,
    number: u64,
    plan: Plan,
    rate: f64,
}

impl Survivors<'_> {
    /// Takes lines.
    fn take(&mut self, job: &LineJob<'_>, bytes: &[u8]) -> Result<()> {
        let mut hashes = Vec::new();
        job.rules.batches(bytes, |batch| {
            let mut keys = batch.keys.iter();
            if self.spilled.is_none() {
                hash_ahead(&self.set, batch, &mut hashes);
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

    /// Adds keys to the set. If it gets full it is spilled, and the index of the
    /// first key that did not fit is given.
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
        let mut screen = screen(self.plan.survivors, self.rate, self.plan.filter_budget)?;
        let mut parts = self.cut.parts(0)?;
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

impl Common<'_> {
    /// Hands the lines that both files have, each once, in the order of the
    /// first one, to `consume`; each is a key and a terminator.
    pub(crate) fn run(
        &self,
        files: [&Path; 2],
        facts: [Facts; 2],
        mut consume: impl FnMut(&[u8]) -> Result<()> + Send,
    ) -> Result<()> {
        let plan = Plan::new(facts, self.rate, self.memory_bytes);
        let [smaller, larger] =
            [plan.smaller, 1 - plan.smaller].map(|index| vec![files[index].to_path_buf()]);
        let mut survivors = self.screen_larger(&plan, smaller.clone(), larger)?;
        let larger_is_first = plan.smaller == 1;
        if let Some(spilled) = survivors.spilled.take() {
            let others = self.cut_smaller(&survivors, smaller)?;
            survivors.screen = None;
            let Survivors { mut set, cut, .. } = survivors;
            let (first, second) =
                if larger_is_first { (spilled, others) } else { (others, spilled) };
            let shared = self.join_parts(&mut set, &cut, first, second, 1)?;
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
    ) -> Result<Survivors<'_>> {
        let mut filter = screen(plan.keys, self.rate, plan.filter_budget)?;
        if let Some(filter) = &mut filter {
            self.job.insert_into(filter, smaller)?;
        }
        let mut survivors = Survivors {
            set: LineSet::new(plan.set_budget)?,
            cut: Cut::within(self.memory_bytes / 2, self.folder),
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

    /// Step 3 with a set of all survivors: first marks are handed over.
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
                hash_ahead(&set, batch, &mut hashes);
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
                    if set.mark(key, LineSet::hash(key)) {
                        put(key, rules.terminator, &mut out, &mut consume)?;
                    }
                }
                Ok(())
            })?;
            consume(&out)
        })
    }

    /// Step 3 with survivors in temporary files.
    fn cut_smaller(&self, survivors: &Survivors<'_>, smaller: Vec<PathBuf>) -> Result<Parts> {
        let mut parts = survivors.cut.parts(0)?;
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
        cut: &Cut<'_>,
        first: Parts,
        second: Parts,
        depth: u64,
    ) -> Result<Vec<Records>> {
        let pairs = first.into_parts().zip(second.into_parts());
        pairs.map(|(first, second)| self.join(set, cut, first, second, depth)).collect()
    }

    /// The lines of `first` that `second` has, each once, in their order.
    fn join(
        &self,
        set: &mut LineSet,
        cut: &Cut<'_>,
        first: Records,
        second: Records,
        depth: u64,
    ) -> Result<Records> {
        let mut shared = cut.records()?;
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
            } else if set.insert(key, LineSet::hash(key))? == Inserted::Full {
                let mut parts = cut.parts(depth)?;
                set.for_each(|key, _| parts.push(0, key, key))?;
                parts.push(0, key, key)?;
                spilled = Some(parts);
                set.clear()?;
            }
        }
        drop(second);
        let mut first = first.read()?;
        let mut cut_first = spilled.is_some().then(|| cut.parts(depth)).transpose()?;
        while let Some((number, key)) = first.next()? {
            count += 1;
            check(self.job.chunks.progress, count)?;
            match &mut cut_first {
                Some(parts) => parts.push(number, key, key)?,
                None if set.mark(key, LineSet::hash(key)) => shared.push(number, key)?,
                None => {}
            }
        }
        drop(first);
        if let (Some(first), Some(second)) = (cut_first, spilled) {
            let parts = self.join_parts(set, cut, first, second, depth + 1)?;
            set.clear()?;
            merge(parts, |number, key| shared.push(number, key))?;
        }
        Ok(shared)
    }
}

/// Copies the lines that a filter may have; all if there is none.
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
