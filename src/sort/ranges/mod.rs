//! Reads lines that stand for ranges, and gives the runs of a set.
//!
//! It keeps ranges, and never expands them to values. The other folders of `sort` work on values and
//! would have every value of a range in memory.

mod gatherer;

use super::finish::emit::Written;
use super::options::Sort;
use super::rejects::{self, Rejects};
use super::report::Report;
use super::run::account;
use crate::error::{Error, Result};
use crate::io::read::{Consumer, Invalid, Ledger, Opened, Tally, open_all, scan};
use crate::kernel::sys::peak_resident_bytes;
use crate::number::Notation;
use crate::progress::{Phase, Progress};
#[cfg(feature = "cli")]
use crate::set::container::Op;
use crate::set::file::ValueSink;
use crate::set::ranges::{BATCH, RunSource, Windows};
#[cfg(feature = "cli")]
use crate::set::run_algebra::RunAlgebra;
use gatherer::{Gatherer, Joined};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

impl Sort {
    /// Whether lines of the inputs, or of the output, stand for ranges.
    pub(super) fn has_ranges(&self) -> bool {
        self.takes_ranges() || self.to.notation().is_some_and(Notation::takes_ranges)
    }

    /// Whether lines of the inputs may stand for ranges.
    pub(crate) fn takes_ranges(&self) -> bool {
        self.from.notation().is_some_and(Notation::takes_ranges)
    }

    /// Refuses options that do not work with ranges.
    pub(super) fn check_ranges(&self) -> Result<()> {
        let refused = |what| Err(Error::usage(format!("lines stand for ranges: {what}")));
        let selection = self.selection;
        if selection.reverse {
            return refused("they are written in ascending order only");
        }
        if self.merge || self.strategy.is_some() {
            return refused("there is no merge, and no choice of a strategy");
        }
        if self.no_spill {
            return refused("temporary files may be needed");
        }
        if self.zero_terminated {
            return refused("lines end in a newline");
        }
        if !selection.distinct || selection.counted || selection.repeated {
            return refused("each value is written once, without counts");
        }
        Ok(())
    }
}

impl Consumer for Gatherer {
    fn values(&mut self, values: &[u64]) {
        self.take(values.iter().map(|&value| [value, value]));
    }

    fn ranges(&mut self, ranges: &[[u64; 2]]) {
        self.take(ranges.iter().copied());
    }

    fn checkpoint(&mut self) -> Result<()> {
        self.relieve()
    }
}

/// Runs on their way to a sink.
struct Runs<'g> {
    joined: Joined<'g>,
    count: Arc<AtomicU64>,
    threads: usize,
    progress: Arc<Progress>,
    folder: PathBuf,
}

impl RunSource for Runs<'_> {
    fn next(&mut self, runs: &mut Vec<[u64; 2]>) -> Result<bool> {
        self.check()?;
        runs.clear();
        self.joined.take(BATCH, runs).map_err(Error::io("read", &self.folder))?;
        self.count.fetch_add(runs.len() as u64, Ordering::Relaxed);
        Ok(!runs.is_empty())
    }

    fn check(&self) -> Result<()> {
        Error::if_cancelled(&self.progress)
    }

    fn is_narrow(&self) -> bool {
        self.joined.is_narrow()
    }

    fn windows(&self) -> Option<Windows> {
        self.joined.windows(self.threads)
    }

    fn window(&self, window: [u64; 2]) -> Option<Box<dyn RunSource + '_>> {
        let joined = self.joined.window(window)?;
        let (count, progress) = (Arc::clone(&self.count), Arc::clone(&self.progress));
        Some(Box::new(Runs { joined, count, progress, threads: 1, folder: self.folder.clone() }))
    }
}

/// Reads ranges and hands their runs to `sink`, which writes the file `name`, or `-`.
pub(super) fn run(
    mut sort: Sort,
    name: &Path,
    sink: &mut dyn ValueSink,
) -> Result<(Report, Rejects)> {
    let started = Instant::now();
    sort.settle(true)?;
    rejects::check_destination(&sort, name)?;
    let inputs = std::mem::take(&mut sort.inputs);
    let opened = open_all(inputs, sort.open_options())?;
    let rejects = Rejects::open(&sort)?;
    let (tally, mut gatherers) = gather(&sort, &opened, 1, rejects.invalid())?;
    let load_time = started.elapsed();

    let started = Instant::now();
    let progress = &*sort.progress;
    let mut runs = sort.runs(&mut gatherers)?;
    progress.enter(Phase::Emit, tally.values);
    sink.runs(&mut runs)?;
    let lines = runs.count.load(Ordering::Relaxed);
    let written = Written { lines, values: tally.values, ..Written::default() };
    progress.advance(tally.values);
    let report = Report {
        ranges: true,
        passes: 1,
        read_bytes: progress.read_bytes(),
        spilled_bytes: gatherers.iter().map(|gatherer| gatherer.spilled_bytes).sum(),
        peak_resident_bytes: peak_resident_bytes(),
        memory_limit_bytes: sort.limit_bytes(),
        threads: gatherers.len(),
        load_time,
        emit_time: started.elapsed(),
        ..account(tally, &written, false)?
    };
    Ok((report, rejects))
}

impl Sort {
    /// The runs of all threads.
    fn runs<'g>(&self, gatherers: &'g mut [Gatherer]) -> Result<Runs<'g>> {
        let threads = gatherers.len();
        let joined = Gatherer::joined(gatherers, &self.progress)?;
        let (progress, folder) = (Arc::clone(&self.progress), self.spool().folder);
        Ok(Runs { joined, count: Arc::default(), threads, progress, folder })
    }
}

/// Joins the ranges of sorts of lines by [`Op::And`], [`Op::Or`] or [`Op::AndNot`], and hands the
/// runs to `take`. It makes no set on the way.
#[cfg(feature = "cli")]
pub(crate) fn joined<T>(
    op: Op,
    mut sorts: Vec<Sort>,
    take: impl FnOnce(&mut dyn RunSource) -> Result<T>,
) -> Result<T> {
    // Lists that `op` joins form one list.
    let alone = match op {
        Op::Or => 1,
        Op::AndNot => 2,
        _ => sorts.len(),
    };
    while sorts.len() > alone
        && let Some(mut last) = sorts.pop()
        && let Some(before) = sorts.last_mut()
    {
        before.inputs.append(&mut last.inputs);
        before.beside.unpacking = before.beside.unpacking.saturating_add(last.beside.unpacking);
    }
    let count = sorts.len();
    let mut lists = Vec::with_capacity(count);
    for mut sort in sorts {
        sort = sort.distinct(true);
        sort.settle(true)?;
        let opened = open_all(std::mem::take(&mut sort.inputs), sort.open_options())?;
        let (_, gatherers) = gather(&sort, &opened, count, Invalid::Fail)?;
        lists.push((sort, gatherers));
    }
    if let Some((sort, _)) = lists.first() {
        let progress = Arc::clone(&sort.progress);
        Gatherer::sort_lists(lists.iter_mut().map(|(_, list)| &mut list[..]).collect(), &progress)?;
    }
    let mut joined: Option<Box<dyn RunSource + '_>> = None;
    for (sort, gatherers) in &mut lists {
        let next = Box::new(sort.runs(gatherers)?);
        joined = Some(match joined {
            Some(joined) => Box::new(RunAlgebra::new(op == Op::And, joined, next)),
            None => next,
        });
    }
    let mut joined = joined.ok_or_else(|| Error::usage("there is no list"))?;
    take(&mut *joined)
}

/// The ranges of one of `lists` lists that are in memory at once, as each thread gathered them.
fn gather(
    sort: &Sort,
    opened: &[Opened],
    lists: usize,
    invalid: Invalid<'_>,
) -> Result<(Tally, Vec<Gatherer>)> {
    opened.iter().try_for_each(Opened::pass)?;
    let (rest, progress) = (sort.rest(), &*sort.progress);
    let unpacks = opened.iter().any(Opened::may_unpack);
    let unpacking = if unpacks { rest.unpacking() } else { 0 };
    let records = sort.column.is_some().then(|| sort.keeps_rejects());
    let share = rest.ranges(sort.threads_for(opened), unpacking, records);
    let block_format = sort.block_format(sort.tuning.block_bytes.unwrap_or(share.block_bytes));
    let options = sort.scan_options(&block_format);
    let sizes: Option<u64> = opened.iter().map(Opened::len).sum();
    progress.enter(Phase::Load, sizes.unwrap_or(0));
    let ledger = Ledger::of(opened, invalid);
    let spool = sort.spool();
    // A line has at least two bytes. Memory that is not touched costs nothing.
    let room = share.room_bytes / lists;
    let expected = sizes.unwrap_or(0).saturating_mul(4).try_into().unwrap_or(room);
    let new = || Gatherer::new(room, expected, spool.clone());
    let gatherers = std::iter::repeat_with(new).take(share.threads).collect();
    let scanned = scan(opened, &options, &ledger, gatherers);
    // Report the first malformed line, even if something else failed too.
    let tally = ledger.finish()?;
    Ok((tally, scanned?))
}
