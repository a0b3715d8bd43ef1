//! One run, from its inputs to a report.

use super::context::Context;
use super::engine::{Pass, pass};
use super::finish::emit::{Output, Style, Target, Written};
use super::load::scatter::Outside;
use super::multipass::Passes;
use super::options::Sort;
use super::plan::budget::{AHEAD_BYTES, Beside, Budget, RECORD_BLOCK_BYTES};
use super::plan::explain::Explanation;
use super::plan::facts::{self, Facts};
use super::plan::layout::{Choice, Layout, Wishes, choose, divide};
use super::plan::strategy::Strategy;
use super::plan::tuning::Tuning;
use super::rejects::Rejects;
use super::report::Report;
use crate::error::{Error, Result};
use crate::io::read::{BlockFormat, Opened, Sample, Tally, open_all, sample};
use crate::kernel::sys::peak_resident_bytes;
use crate::size::ByteSize;
use std::path::PathBuf;
use std::time::Instant;

/// Opened inputs, their sample, and the facts and wishes for a plan.
struct Prepared {
    opened: Vec<Opened>,
    block_format: BlockFormat,
    sample: Sample,
    facts: Facts,
    wishes: Wishes,
}

/// So many values are sorted before a second thread has started.
const FEW: usize = 1 << 14;

fn prepare(sort: &mut Sort) -> Result<Prepared> {
    let inputs = std::mem::take(&mut sort.inputs);
    let opened = open_all(inputs, sort.open_options())?;
    let block_bytes = if sort.column.is_some() { RECORD_BLOCK_BYTES } else { AHEAD_BYTES / 8 };
    let mut block_format = sort.block_format(block_bytes);
    let mut sample = sample(&opened, &sort.scan_options(&block_format), AHEAD_BYTES)?;
    let is_few = sample.complete && sample.values.len() < FEW && sort.keys.is_none();
    let mut threads =
        if is_few && sort.tuning == Tuning::default() { 1 } else { sort.threads_for(&opened) };
    if let Some(keys) = &block_format.keys {
        sample.values = keys.numbers.settle();
    }
    if let Some(values) = sort.tuning.sample.take() {
        (sample.values, sample.complete, sample.of_counted) = (values, false, 0);
    }
    let folders: &[PathBuf] = if sort.no_spill { &[] } else { &sort.folders };
    let facts = facts::facts(&sample, sort.from, folders);
    let has_records = block_format.column.is_some() && opened.iter().any(Opened::has_records);
    let keeps_rejects = sort.keeps_rejects();
    let (memory_bytes, beside) = (sort.limit_bytes(), beside(sort, &opened, threads));
    if has_records && sort.tuning.block_bytes.is_none() {
        sort.tuning.block_bytes = Some(RECORD_BLOCK_BYTES); // a record must fit in a block
        let left = ByteSize::from_bytes(memory_bytes.saturating_sub(beside.total()));
        threads = Budget::of(left).record_threads(threads, keeps_rejects);
    }
    let wishes = Wishes {
        memory_bytes,
        beside,
        threads,
        strategy: sort.strategy,
        ignores_duplicates: sort.selection.ignores_duplicates(),
        keeps_rejects,
        tuning: sort.tuning.clone(),
    };
    block_format.block_bytes = 0; // the plan decides it
    Ok(Prepared { opened, block_format, sample, facts, wishes })
}

/// The shares of all work beside the sort of these inputs.
fn beside(sort: &Sort, opened: &[Opened], threads: usize) -> Beside {
    let mut beside = sort.beside;
    if opened.iter().any(Opened::may_unpack) {
        beside.unpacking = beside.unpacking.saturating_add(sort.rest().unpacking());
    }
    if opened.iter().any(Opened::is_set) {
        beside.decoding = Budget::decoding_sets(threads);
    }
    beside
}

/// Plans a run without doing it.
pub(super) fn explain(mut sort: Sort) -> Result<Explanation> {
    let Prepared { facts, wishes, sample, .. } = prepare(&mut sort)?;
    let choice = choose(&facts, &wishes);
    let folders: &[PathBuf] = if sort.no_spill { &[] } else { &sort.folders };
    Ok(Explanation::new(facts, wishes, &sample, choice?, folders))
}

/// Sorts into `target`.
pub(super) fn run(mut sort: Sort, target: Target<'_>) -> Result<(Report, Rejects)> {
    let started = Instant::now();
    let Prepared { opened, mut block_format, sample, facts, wishes } = prepare(&mut sort)?;
    let Choice { strategy, cost, .. } = choose(&facts, &wishes)?;
    opened.iter().try_for_each(Opened::pass)?;
    block_format.block_bytes = cost.layout.block_bytes;
    if let Some(width) = block_format.format.value_bytes() {
        block_format.block_bytes = block_format.block_bytes / width * width;
    }
    let keeps_all = sort.selection.keeps_all();
    let typed = target.typed();
    let output = Output::new(target, 2 * cost.layout.threads);
    let input_bytes = if sample.sizes_known { sample.input_bytes } else { 0 };
    drop(sample); // its values take memory
    let context = Context {
        inputs: &opened,
        scan: sort.scan_options(&block_format),
        input_bytes,
        style: Style {
            format: sort.to,
            typed,
            terminator: sort.terminator(),
            selection: sort.selection,
        },
        folders: &sort.folders,
        output: &output,
    };
    let survey_time = started.elapsed();

    let mut rejects = Rejects::open(&sort)?;
    let plan = Plan { facts: &facts, wishes: &wishes, strategy, layout: &cost.layout };
    let (done, used, passes) = plan.carry_out(&context, !sort.no_spill, &mut rejects)?;
    let report = Report {
        strategy: Some(used),
        passes,
        read_bytes: sort.progress.read_bytes(),
        written_bytes: output.finish()?,
        spilled_bytes: done.spilled_bytes,
        peak_resident_bytes: peak_resident_bytes(),
        memory_limit_bytes: sort.limit_bytes(),
        threads: wishes.threads,
        survey_time,
        load_time: done.load,
        emit_time: done.emit,
        ..account(done.tally, &done.written, keeps_all)?
    };
    Ok((report, rejects))
}

/// A plan, ready to be carried out.
struct Plan<'a> {
    facts: &'a Facts,
    wishes: &'a Wishes,
    strategy: Strategy,
    layout: &'a Layout,
}

impl Plan<'_> {
    /// Reads, sorts and writes. Gives the strategy that was used in the end, and how often the
    /// input was read.
    fn carry_out(
        &self,
        context: &Context<'_, '_>,
        may_spill: bool,
        rejects: &mut Rejects,
    ) -> Result<(Pass, Strategy, u64)> {
        let Self { facts, wishes, strategy, layout } = *self;
        let passes = |layout: &Layout, rejects: &mut Rejects| {
            Passes::new(context, facts, wishes, layout).run(rejects.invalid())
        };
        if strategy == Strategy::MultiPass {
            let (done, passes) = passes(layout, rejects)?;
            return Ok((done, strategy, passes));
        }
        let started = Instant::now();
        if let Some(done) = pass(context, layout, Outside::Keep, may_spill, rejects.invalid())? {
            return Ok((done, strategy, 1));
        }
        // More values than the sample showed, and no temporary files: read slices.
        if let Some(input) = context.inputs.iter().find(|input| !input.can_reread()) {
            return Err(Error::CannotReread { input: input.name.clone() });
        }
        rejects.restart()?;
        let lost = started.elapsed();
        let plain = divide(facts, wishes, false, false);
        let (mut done, passes) = passes(plain.as_ref().unwrap_or(layout), rejects)?;
        done.load += lost;
        Ok((done, Strategy::MultiPass, passes + 1))
    }
}

/// The counts of a report. Checks that every value that was read is written or dropped.
pub(super) fn account(tally: Tally, written: &Written, keeps_all: bool) -> Result<Report> {
    let Tally { lines, values, aside, blank, rejected, headers } = tally;
    let broken = |what: String| Err(Error::Accounting { what });
    if lines != values + aside + blank + rejected + headers {
        return broken(format!(
            "{lines} lines, but {values} values, {aside} set aside, {blank} blank, {rejected} rejected, {headers} headers"
        ));
    }
    if values != written.values || (keeps_all && values != written.lines) {
        return broken(format!(
            "{values} values read, {} accounted for, {} lines written",
            written.values, written.lines
        ));
    }
    if written.lines > values {
        return broken(format!("{} lines written of {values} values", written.lines));
    }
    Ok(Report {
        lines,
        values: values + aside,
        written: written.lines,
        dropped: values + aside - written.lines,
        rejected,
        blank,
        headers,
        #[cfg(feature = "_testing")]
        ways: written.ways,
        ..Report::default()
    })
}
