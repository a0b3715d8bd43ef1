//! One pass: loads a window of values, then writes it in order.

use super::context::Context;
use super::finish::emit::Written;
use super::finish::loaded::Loaded;
use super::load::entries::{Pool, Shared, reserve};
use super::load::scatter::{Outside, Relief, Scatter, Segments};
use super::load::spill::SpillFiles;
use super::partitioning::Entry;
use super::plan::layout::Layout;
use crate::error::Result;
use crate::io::read::{Invalid, Ledger, Tally, scan};
use crate::kernel::in_usize;
use crate::progress::Phase;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Counts and times of one pass.
#[derive(Debug, Default)]
pub(super) struct Pass {
    pub(super) tally: Tally,
    pub(super) written: Written,
    pub(super) spilled_bytes: u64,
    pub(super) load: Duration,
    pub(super) emit: Duration,
}

/// Reads all inputs, and writes the values of the layout's window. None, and nothing is written, if
/// the window has more values than fit in memory, and no temporary files are allowed.
pub(super) fn pass(
    context: &Context<'_, '_>,
    layout: &Layout,
    outside: Outside,
    may_spill: bool,
    invalid: Invalid<'_>,
) -> Result<Option<Pass>> {
    if layout.entry_bits == 32 {
        run::<u32>(context, layout, outside, may_spill, invalid)
    } else {
        run::<u64>(context, layout, outside, may_spill, invalid)
    }
}

fn run<E: Entry>(
    context: &Context<'_, '_>,
    layout: &Layout,
    outside: Outside,
    may_spill: bool,
    invalid: Invalid<'_>,
) -> Result<Option<Pass>> {
    let partitioning = layout.partitioning;
    let mut pool_pages = reserve(layout.pool_bytes)?;
    let segment_words = in_usize(partitioning.segment_words());
    let mut bitmap_pages = reserve(layout.bitmap_bytes)?;
    let segments: Option<Segments<'_>> = (layout.bitmap_bytes > 0).then(|| {
        let words = bitmap_pages.words_mut();
        words.chunks_exact_mut(segment_words).map(Mutex::new).collect()
    });
    let spill = may_spill.then(|| SpillFiles::new(context.folders));
    let distinct = context.style.selection.ignores_duplicates();
    let relief = Relief::new(segments, spill, distinct);

    let started = Instant::now();
    context.scan.progress.enter(Phase::Load, context.input_bytes);
    let pool_words = pool_pages.words_mut();
    // A thread may get more time than others, and so more values. If all values should fit, or nothing
    // takes those that do not, half of the pool belongs to all threads.
    let is_shared = !layout.overflows || !may_spill && layout.bitmap_bytes == 0;
    let shared = if is_shared { pool_words.len() / 2 } else { 0 };
    let (shared, pool_words) = pool_words.split_at_mut(shared);
    let shared: Shared<'_> = Arc::new(Mutex::new(shared.chunks_exact_mut(layout.chunk_words)));
    let share = (pool_words.len() / layout.threads).max(1);
    let io_bytes = (layout.block_bytes / 2).clamp(1 << 12, 1 << 20);
    let scatters: Vec<Scatter<'_, '_, '_, E>> = pool_words
        .chunks_mut(share)
        .take(layout.threads)
        .enumerate()
        .map(|(thread, memory)| {
            let percent = if is_shared { 100 } else { 100 * (thread + 1) / layout.threads };
            let pool = Pool::new(memory, Arc::clone(&shared), layout.chunk_words, percent);
            Scatter::new(partitioning, outside, &relief, pool, layout.stage_bytes, io_bytes)
        })
        .collect();
    let ledger = Ledger::of(context.inputs, invalid);
    let scanned = scan(context.inputs, &context.scan, &ledger, scatters);
    // Report the first malformed line, even if something else failed too.
    let tally = ledger.finish()?;
    if relief.is_full() {
        return Ok(None);
    }
    let scatters = scanned?;
    let load = started.elapsed();

    let started = Instant::now();
    let loaded = Loaded { context, layout, relief: &relief, scatters };
    let written = loaded.emit(outside)?;
    Ok(Some(Pass {
        tally,
        written,
        spilled_bytes: relief.spill.as_ref().map_or(0, SpillFiles::bytes),
        load,
        emit: started.elapsed(),
    }))
}
