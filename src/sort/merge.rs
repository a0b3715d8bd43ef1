//! Merges sorted inputs. Each input takes constant memory.

use super::check::{again, check_each, first_disorder};
use super::finish::emit::{Emitter, Output as Parts, Style, Target};
use super::options::Sort;
use super::partitioning::Window;
use super::plan::budget::{Budget, MergeShare};
use super::rejects::Rejects;
use super::report::Report;
use super::run;
use crate::error::{Error, Result};
use crate::io::read::{Decoder, Input, OpenOptions, Opened, Ordered, Tally, open_all};
use crate::kernel::sys::peak_resident_bytes;
use crate::number::Notation;
use crate::progress::Phase;
use crate::size::ByteSize;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

/// Values gathered before they are formatted.
const BATCH: usize = 4096;

/// An input and its current position.
struct Run<'a> {
    ordered: Ordered<'a>,
    values: Vec<u64>,
    at: usize,
    reverse: bool,
    notation: Notation,
    last: Option<u64>,
}

impl Run<'_> {
    /// The next value, as a key that ascends in the order of the output.
    fn key(&self) -> u64 {
        if self.reverse { !self.values[self.at] } else { self.values[self.at] }
    }

    /// Makes the next value available; false at the end.
    fn fill(&mut self) -> Result<bool> {
        if self.at < self.values.len() {
            return Ok(true);
        }
        self.last = self.values.last().copied().or(self.last);
        self.at = 0;
        if !self.ordered.next(&mut self.values)? {
            return Ok(false);
        }
        match first_disorder(self.last, &self.values, self.reverse, false) {
            None => Ok(true),
            Some((index, previous)) => Err(Error::Unsorted {
                input: self.ordered.name().to_owned(),
                line: self.ordered.line_of(index),
                previous,
                value: self.values[index],
                notation: self.notation,
            }),
        }
    }
}

/// The memory of each decoder, and whether all fit in it; a merge needs all at once. The pages of
/// a table may have any size, so several inputs with a table fit only if one cannot be read twice.
fn decoders(sort: &Sort) -> Result<(u64, bool)> {
    /// What a reader of a table takes at least.
    const TABLE_BYTES: u64 = 8 << 20;
    let options = sort.open_options();
    let decoders = sort.inputs.iter().map(|input| input.decoder(options));
    let decoders = decoders.collect::<Result<Vec<_>>>()?;
    let count = decoders.iter().filter(|decoder| **decoder != Decoder::None).count();
    let bytes = options.unpack_bytes / count.max(1) as u64;
    let twice = sort.inputs.len() > 1 && sort.inputs.iter().all(|input| again(input).is_ok());
    let fit = decoders.iter().all(|decoder| match decoder {
        Decoder::None | Decoder::Unknown => true,
        Decoder::Packed(needed) => *needed <= bytes,
        Decoder::Table => !twice && TABLE_BYTES <= bytes,
    });
    Ok((bytes, fit))
}

/// Merges into `sink`. If the buffers or decoders of all inputs do not fit in memory, it checks
/// that each input is sorted and then sorts them all: the output is the same. It also does so if a
/// table is among several inputs, and with sets in reverse order.
pub(super) fn run(mut sort: Sort, target: Target<'_>) -> Result<(Report, Rejects)> {
    let inputs = sort.inputs.len().max(1);
    let share = sort.rest().merge(inputs, sort.column.is_some());
    let (unpack_bytes, unpack_fits) = decoders(&sort)?;
    // A set can only be read from its smallest value on.
    let descends = sort.selection.reverse && sort.inputs.iter().any(Input::is_set);
    let Some(MergeShare { block_bytes, output_bytes }) = share.filter(|_| unpack_fits && !descends)
    else {
        return sort_instead(sort, target, unpack_fits);
    };
    let started = Instant::now();
    let inputs = std::mem::take(&mut sort.inputs);
    let open_options = sort.open_options();
    let threads = if inputs.len() > 1 { 1 } else { open_options.threads };
    let opened = open_all(inputs, OpenOptions { unpack_bytes, threads, ..open_options })?;
    opened.iter().try_for_each(Opened::pass)?;
    let block_bytes = sort.tuning.block_bytes.unwrap_or(block_bytes);
    let block_format = sort.block_format(block_bytes.next_multiple_of(8));
    let options = sort.scan_options(&block_format);
    let style = Style {
        format: sort.to,
        typed: target.typed(),
        terminator: sort.terminator(),
        selection: sort.selection,
    };
    let parts = Parts::new(target, 0);
    let rejects = Rejects::open(&sort)?;
    sort.progress.enter(Phase::Load, opened.iter().filter_map(Opened::len).sum());
    let new = |input| {
        let ordered = Ordered::new(input, &options, rejects.invalid());
        let reverse = sort.selection.reverse;
        let notation = sort.from.notation().unwrap_or_default();
        Run { ordered, values: Vec::new(), at: 0, reverse, notation, last: None }
    };
    let mut runs: Vec<_> = opened.iter().map(new).collect();
    let mut output = Output {
        emitter: Emitter::new(&parts, &sort.progress, style, output_bytes),
        style,
        batch: Vec::with_capacity(BATCH),
        current: None,
    };
    output.emitter.begin(parts.extend(1), Window::ALL);
    merge(&mut runs, &mut output)?;
    output.finish()?;
    let written = output.emitter.written;
    let mut tally = Tally::default();
    for run in &runs {
        tally += run.ordered.tally();
    }
    let report = Report {
        passes: 1,
        read_bytes: sort.progress.read_bytes(),
        written_bytes: parts.finish()?,
        peak_resident_bytes: peak_resident_bytes(),
        memory_limit_bytes: sort.limit_bytes(),
        threads: 1,
        emit_time: started.elapsed(),
        ..run::account(tally, &written, style.selection.keeps_all())?
    };
    drop(runs);
    Ok((report, rejects))
}

/// Checks that each input is sorted, then sorts all of them. `unpack_fits` tells whether only their
/// buffers, and not their decoders, were too large.
fn sort_instead(
    mut sort: Sort,
    target: Target<'_>,
    unpack_fits: bool,
) -> Result<(Report, Rejects)> {
    check_each(&sort)?;
    let checks = u64::from(sort.inputs.iter().any(|input| !input.is_set()));
    if !unpack_fits {
        let bytes = Budget::of(ByteSize::from_bytes(sort.limit_bytes())).decoders_left();
        sort.memory = Some(sort.rest().without(bytes)?);
        sort.beside.unpacking += bytes;
    }
    let (report, rejects) = run::run(sort, target)?;
    Ok((Report { passes: report.passes + checks, ..report }, rejects))
}

fn merge(runs: &mut [Run<'_>], output: &mut Output<'_, '_>) -> Result<()> {
    let mut heads = BinaryHeap::new();
    for (index, run) in runs.iter_mut().enumerate() {
        if run.fill()? {
            heads.push(Reverse((run.key(), index)));
        }
    }
    while let Some(Reverse((_, index))) = heads.pop() {
        let limit = heads.peek().map_or(u64::MAX, |Reverse((key, _))| *key);
        let run = &mut runs[index];
        // Values up to the head of the next input go out together.
        loop {
            let rest = &run.values[run.at..];
            let key = |value: u64| if run.reverse { !value } else { value };
            let count = if rest.last().is_some_and(|&last| key(last) <= limit) {
                rest.len()
            } else {
                rest.iter().take_while(|&&value| key(value) <= limit).count()
            };
            output.take(&rest[..count])?;
            run.at += count;
            if !run.fill()? {
                break;
            }
            if run.key() > limit {
                heads.push(Reverse((run.key(), index)));
                break;
            }
        }
    }
    Ok(())
}

/// Merged values on their way to the emitter.
struct Output<'s, 'a> {
    emitter: Emitter<'s, 'a>,
    style: Style,
    batch: Vec<u64>,
    /// The current value and its number of copies so far, if copies matter.
    current: Option<(u64, u64)>,
}

impl Output<'_, '_> {
    fn take(&mut self, values: &[u64]) -> Result<()> {
        if self.style.selection.keeps_all() {
            for part in values.chunks(BATCH) {
                if self.batch.len() + part.len() > BATCH {
                    self.flush()?;
                }
                self.batch.extend_from_slice(part);
            }
            return Ok(());
        }
        for &value in values {
            match &mut self.current {
                Some((current, count)) if *current == value => *count += 1,
                current => {
                    if let Some((done, count)) = current.replace((value, 1)) {
                        self.emitter.run(done, count)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        if self.style.selection.reverse {
            self.batch.reverse(); // the emitter takes ascending values
        }
        self.emitter.sorted(0, &mut self.batch)?;
        self.batch.clear();
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        if let Some((value, count)) = self.current.take() {
            self.emitter.run(value, count)?;
        }
        self.flush()?;
        self.emitter.end()
    }
}
