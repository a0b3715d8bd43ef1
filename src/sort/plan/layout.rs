//! Chooses the strategy and divides the memory: a pure function of facts and wishes.
//!
//! All strategies share one engine: values are scattered into partitions, and
//! the partitions are finished in order. They differ in what happens to
//! partitions that outgrow the memory, and in how often the input is read.

use super::budget::{BASE_BYTES, Beside, REJECTS_PER_BLOCK};
use super::facts::Facts;
use super::strategy::Strategy;
use super::tuning::Tuning;
use crate::error::{Error, Result};
use crate::sort::load::spill::packed_bytes;
use crate::sort::partitioning::Partitioning;

/// Wishes of the caller.
#[derive(Debug, Clone)]
pub(in crate::sort) struct Wishes {
    /// The limit of the whole process.
    pub(in crate::sort) memory_bytes: u64,
    /// Shares of the limit that are not for the sort itself.
    pub(in crate::sort) beside: Beside,
    pub(in crate::sort) threads: usize,
    pub(in crate::sort) strategy: Option<Strategy>,
    /// Whether duplicates need not be kept.
    pub(in crate::sort) ignores_duplicates: bool,
    /// Whether malformed lines are written.
    pub(in crate::sort) keeps_rejects: bool,
    pub(in crate::sort) tuning: Tuning,
}

/// How the memory is divided, in bytes.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sort) struct Layout {
    pub(in crate::sort) threads: usize,
    pub(in crate::sort) partitioning: Partitioning,
    /// Bits of a value that are kept in memory: 32 or 64.
    pub(in crate::sort) entry_bits: u32,
    pub(in crate::sort) block_bytes: usize,
    pub(in crate::sort) output_bytes: usize,
    /// Blocks, output buffers and notes of malformed lines, over all threads.
    pub(in crate::sort) buffer_bytes: u64,
    pub(in crate::sort) scratch_bytes: usize,
    pub(in crate::sort) chunk_words: usize,
    /// Size of a stage; a power of two.
    pub(in crate::sort) stage_bytes: usize,
    /// Partitioned values of all threads.
    pub(in crate::sort) pool_bytes: u64,
    /// Size of the bitmap; 0 without one.
    pub(in crate::sort) bitmap_bytes: u64,
    /// Shares that are reserved for others.
    pub(in crate::sort) beside: Beside,
    /// The rest: code, stacks, tables.
    pub(in crate::sort) overhead_bytes: u64,
    /// Values of a partition that is worth cutting for several threads.
    pub(in crate::sort) cut_values: u64,
    /// Whether more values are expected than the pool holds.
    pub(in crate::sort) overflows: bool,
}

/// The judgement of one strategy.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sort) struct Estimate {
    pub(in crate::sort) strategy: Strategy,
    /// Its cost, or the reason why it cannot be used.
    pub(in crate::sort) verdict: Result<Cost, String>,
}

/// Memory, passes and disk that a strategy takes.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sort) struct Cost {
    pub(in crate::sort) layout: Layout,
    /// Times that the input is read.
    pub(in crate::sort) passes: u64,
    /// Bytes of temporary files.
    pub(in crate::sort) disk_bytes: u64,
}

/// The chosen strategy, and the judgement of all.
#[derive(Debug, Clone)]
pub(in crate::sort) struct Choice {
    pub(in crate::sort) strategy: Strategy,
    pub(in crate::sort) cost: Cost,
    pub(in crate::sort) estimates: Vec<Estimate>,
}

/// Memory of a thread: its stack, its write buffer for temporary files, and small vectors.
const THREAD_BYTES: u64 = 1 << 20;
/// Partitions with fewer values are not worth cutting.
const MIN_CUT: u64 = 1 << 20;
/// A partition should about fit in a second-level cache.
const PARTITION_BYTES: u64 = 768 << 10;
/// Staged lines of more partitions than this do not fit in a second-level cache.
const MAX_PARTITIONS: usize = 4096;
/// If bitmaps finish partitions, the size of the bitmap matters, not that of the values: 100 M
/// values of 32 bits load in 0.20 s with 512 partitions, in 0.23 s with 1024, in 0.33 s with 4096.
const MAX_DENSE_PARTITIONS: u64 = 512;
/// Bitmaps finish partitions if the range has at most this many possible values for each value.
const DENSE_RANGE: u64 = 512;
const MIN_CHUNK_BYTES: u64 = 1 << 10;
const MAX_CHUNK_BYTES: u64 = 16 << 10;
/// What a partition has of the pool, at least, if it may go to a temporary file: smaller pieces there
/// would make reading them back slow.
const SPILLED_BYTES: u64 = 16 << 10;
/// All stages of a thread; they stay in the second-level cache. With stages of 16 entries, 100 M
/// values of 32 bits take 0.35 s of processor time; with 64 entries, 0.25 s.
const STAGES_BYTES: usize = 128 << 10;
const MIN_STAGE_BYTES: usize = 64;
const MAX_STAGE_BYTES: usize = 256;
/// Bytes of a partition in each thread beside its chunks and its stage: the place of its next
/// entry, its list and its chain.
const PARTITION_OVERHEAD: u64 = 4 + 64 + 16;

/// Chunks of a thread, at least.
const FEWEST_CHUNKS: u64 = 4;

/// Divides the memory; `None` if a thread has no room for a few chunks of values.
pub(in crate::sort) fn divide(
    facts: &Facts,
    wishes: &Wishes,
    bitmap: bool,
    spill: bool,
) -> Option<Layout> {
    let memory = wishes.memory_bytes.checked_sub(wishes.beside.total())?;
    let threads = wishes.threads as u64;
    let tuning = &wishes.tuning;
    let buffers = Buffers::of(wishes, memory);
    let scratch = (memory / 8 / threads).min(256 << 20);
    let scratch_bytes = tuning.scratch_bytes.unwrap_or(scratch as usize);
    let range = facts.window.last - facts.window.base;
    let bitmap_bytes = if bitmap { range / 8 + (MAX_PARTITIONS as u64) * 8 } else { 0 };
    let overhead_bytes = BASE_BYTES + threads * THREAD_BYTES;
    let used = overhead_bytes + buffers.total_bytes + threads * scratch_bytes as u64;
    let free = memory.checked_sub(used)?.checked_sub(bitmap_bytes)?;
    let pool = tuning.pool_bytes.map_or(free, |bytes| bytes as u64);

    let pool_share = pool / threads;
    let most = tuning.partitions.unwrap_or_else(|| partitions(facts, pool_share, spill));
    let partitioning = Partitioning::new(facts.window, most);
    let entry_bits = if partitioning.shift <= 32 { 32 } else { 64 };
    if bitmap && entry_bits > 32 {
        return None; // a place in a segment has 32 bits
    }
    let (chunk_words, stage_bytes) = chunk_and_stage(pool_share, partitioning.count);
    let tables = (stage_bytes as u64 + PARTITION_OVERHEAD) * threads * partitioning.count as u64;
    let exact_bitmap_bytes = if bitmap { partitioning.bitmap_bytes() } else { 0 };
    let pool = match tuning.pool_bytes {
        Some(_) => pool,
        None => (pool + bitmap_bytes).checked_sub(exact_bitmap_bytes)?.checked_sub(tables)?,
    };
    if pool < threads * FEWEST_CHUNKS * 8 * chunk_words as u64 {
        return None;
    }
    let mut layout = Layout {
        threads: wishes.threads,
        partitioning,
        entry_bits,
        block_bytes: buffers.block_bytes,
        output_bytes: buffers.output_bytes,
        buffer_bytes: buffers.total_bytes,
        scratch_bytes,
        chunk_words,
        stage_bytes,
        pool_bytes: pool,
        bitmap_bytes: exact_bitmap_bytes,
        beside: wishes.beside,
        overhead_bytes: overhead_bytes + tables,
        cut_values: tuning.cut_values.unwrap_or(MIN_CUT),
        overflows: false,
    };
    layout.overflows = facts.values.is_none_or(|values| layout.value_bytes(values) > pool);
    Some(layout)
}

/// The buffers for reading and writing.
#[expect(clippy::struct_field_names, reason = "their unit")]
struct Buffers {
    block_bytes: usize,
    output_bytes: usize,
    /// Bytes of all threads, with notes of malformed lines.
    total_bytes: u64,
}

impl Buffers {
    /// Divides `memory` bytes.
    fn of(wishes: &Wishes, memory: u64) -> Self {
        let large = memory >= 256 << 20;
        let (block, output) = if large { (512 << 10, 512 << 10) } else { (128 << 10, 256 << 10) };
        let block_bytes = wishes.tuning.block_bytes.unwrap_or(block).max(64);
        let output_bytes = wishes.tuning.output_bytes.unwrap_or(output);
        let outputs = 3 * output_bytes; // one of the thread, and two spare ones
        let rejects = if wishes.keeps_rejects { REJECTS_PER_BLOCK * block_bytes } else { 0 };
        // A thread needs its block, and later its output buffer, but never both.
        let each = (block_bytes + rejects).max(outputs);
        let total_bytes = wishes.threads as u64 * each as u64;
        Self { block_bytes, output_bytes, total_bytes }
    }
}

/// Number of partitions, a power of two, for a thread that has `pool_share` bytes of the pool.
fn partitions(facts: &Facts, pool_share: u64, spill: bool) -> usize {
    // With so many partitions, an entry has 4 bytes, and with fewer ones 8.
    let narrow = 1_u64 << facts.window.bits().saturating_sub(32).min(63);
    let range = facts.window.last - facts.window.base;
    let wanted = facts.values.map_or(MAX_DENSE_PARTITIONS, |values| {
        let sparse = range / DENSE_RANGE > values;
        let most = if sparse { MAX_PARTITIONS as u64 } else { MAX_DENSE_PARTITIONS };
        let by_size =
            |entry_bytes| (values.saturating_mul(entry_bytes) / PARTITION_BYTES).min(most);
        if narrow <= by_size(4).max(MAX_DENSE_PARTITIONS) {
            by_size(4).max(narrow)
        } else {
            by_size(8)
        }
    });
    let wanted = wanted.max(1).next_power_of_two();
    let mut most = wanted.min(pool_share / 4 / MIN_CHUNK_BYTES);
    if spill {
        most = most.min(pool_share / SPILLED_BYTES);
    }
    #[expect(clippy::cast_possible_truncation, reason = "at most 4096")]
    let most = most.min(MAX_PARTITIONS as u64) as usize;
    1 << most.max(16).ilog2()
}

/// Words of a chunk and bytes of a stage, for a thread that has `pool_share` bytes of the pool.
fn chunk_and_stage(pool_share: u64, partitions: usize) -> (usize, usize) {
    let even = pool_share / (8 * partitions as u64 + 1);
    let chunk_bytes = even.clamp(MIN_CHUNK_BYTES, MAX_CHUNK_BYTES).next_power_of_two();
    let chunk_bytes = chunk_bytes.min(MAX_CHUNK_BYTES).min((pool_share / FEWEST_CHUNKS).max(64));
    #[expect(clippy::cast_possible_truncation, reason = "at most 16 KiB")]
    let chunk_words = (chunk_bytes / 64 * 8) as usize;
    // Stages take memory from the pool: a stage is at most a sixteenth of a chunk.
    let largest = (8 * chunk_words / 16).clamp(MIN_STAGE_BYTES, MAX_STAGE_BYTES);
    let fitting = STAGES_BYTES / partitions.next_power_of_two();
    (chunk_words, 1 << fitting.clamp(MIN_STAGE_BYTES, largest).ilog2())
}

impl Layout {
    /// All shares with their names for messages. They add up to the limit.
    pub(in crate::sort) fn shares(&self) -> impl Iterator<Item = (u64, &'static str)> {
        let own = [
            (self.pool_bytes, "partitioned values"),
            (self.bitmap_bytes, "bitmap"),
            (self.scratch_total(), "finishing partitions"),
            (self.buffer_bytes, "reading and writing"),
            (self.overhead_bytes, "program and tables"),
        ];
        own.into_iter().chain(self.beside.named().into_iter().filter(|(bytes, _)| *bytes > 0))
    }

    /// Bytes for finishing partitions, over all threads.
    pub(in crate::sort) fn scratch_total(&self) -> u64 {
        self.threads as u64 * self.scratch_bytes as u64
    }

    /// Most bytes that `values` values take.
    pub(in crate::sort) fn value_bytes(&self, values: u64) -> u64 {
        let partly_filled = self.threads as u64 * self.partitioning.count as u64;
        let chunk_bytes = self.chunk_words as u64 * 8;
        values
            .saturating_mul(u64::from(self.entry_bits / 8))
            .saturating_add(partly_filled * chunk_bytes)
    }
}

/// Chooses the strategy that the caller wishes, or else the first one that fits.
///
/// # Errors
///
/// If no strategy fits, or the wished one does not.
pub(in crate::sort) fn choose(facts: &Facts, wishes: &Wishes) -> Result<Choice> {
    let estimates: Vec<_> = Strategy::ALL
        .into_iter()
        .map(|strategy| Estimate { strategy, verdict: estimate(strategy, facts, wishes) })
        .collect();
    let mut candidates = estimates.iter().filter_map(|estimate| {
        let wanted = wishes.strategy.is_none_or(|wish| wish == estimate.strategy);
        let cost = estimate.verdict.as_ref().ok()?;
        wanted.then(|| (estimate.strategy, cost.clone()))
    });
    if let Some((strategy, cost)) = candidates.next() {
        return Ok(Choice { strategy, cost, estimates });
    }
    let reasons: Vec<_> = estimates
        .iter()
        .filter(|estimate| wishes.strategy.is_none_or(|wish| wish == estimate.strategy))
        .filter_map(|estimate| {
            Some(format!("{}: {}", estimate.strategy, estimate.verdict.as_ref().err()?))
        })
        .collect();
    Err(Error::NoPlan { reasons: reasons.join("; ") })
}

fn estimate(strategy: Strategy, facts: &Facts, wishes: &Wishes) -> Result<Cost, String> {
    let forced = wishes.strategy == Some(strategy);
    match strategy {
        Strategy::InMemory => in_memory(facts, wishes, forced),
        Strategy::Dense => dense(facts, wishes, forced),
        Strategy::Spill => spill(facts, wishes),
        Strategy::MultiPass => multi_pass(facts, wishes),
    }
}

fn too_small() -> String {
    "the memory limit leaves nothing for values".into()
}

fn in_memory(facts: &Facts, wishes: &Wishes, forced: bool) -> Result<Cost, String> {
    let may_spill = facts.spill_bytes.as_ref().is_ok_and(|bytes| *bytes > 0);
    // If there is also room for a bitmap, more values than expected cost little.
    let fits = |layout: &Layout| {
        facts.values.is_some_and(|values| layout.value_bytes(values) <= layout.pool_bytes)
    };
    let beside = divide(facts, wishes, true, false).filter(fits);
    let layout = beside.or_else(|| divide(facts, wishes, false, false).filter(fits));
    let layout = match layout {
        Some(layout) => layout,
        None if !forced && facts.values.is_some() => {
            return Err("the values do not fit in the memory limit".into());
        }
        None if !forced && (may_spill || facts.can_reread) => {
            return Err("the number of values is not known beforehand".into());
        }
        // Duplicates are dropped, so a bitmap has room for every value of the range. Only values above
        // the expected ones could fill the rest.
        None if !forced && wishes.ignores_duplicates && dense(facts, wishes, false).is_ok() => {
            return Err("the number of values is not known, and a bitmap of the range fits".into());
        }
        // The caller wishes it, or there is no other way: it may fit.
        None => divide(facts, wishes, false, false).ok_or_else(too_small)?,
    };
    let (passes, disk_bytes) = match facts.values {
        Some(values) if may_spill && !fits(&layout) => (1, spilled_bytes(values, &layout)),
        Some(_) if facts.can_reread && !fits(&layout) => (1 + multi_pass(facts, wishes)?.passes, 0),
        _ => (1, 0),
    };
    Ok(Cost { layout, passes, disk_bytes })
}

fn dense(facts: &Facts, wishes: &Wishes, forced: bool) -> Result<Cost, String> {
    let layout = divide(facts, wishes, true, false).ok_or("the bitmap does not fit")?;
    // With few values between two reliefs, every segment goes through the cache too often.
    if !forced && layout.pool_bytes < layout.bitmap_bytes / 4 {
        return Err("the bitmap leaves too little memory for values".into());
    }
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate"
    )]
    let duplicates = match facts.values {
        Some(values) if !wishes.ignores_duplicates => {
            (values as f64 * facts.duplicate_share) as u64
        }
        _ => 0,
    };
    if layout.value_bytes(duplicates) > layout.pool_bytes && !forced {
        return Err("the duplicates do not fit beside the bitmap".into());
    }
    Ok(Cost { layout, passes: 1, disk_bytes: 0 })
}

/// Bytes of temporary files with all values.
fn spilled_bytes(values: u64, layout: &Layout) -> u64 {
    values.saturating_mul(packed_bytes(layout.partitioning.shift) as u64)
}

fn spill(facts: &Facts, wishes: &Wishes) -> Result<Cost, String> {
    let spill_bytes = facts.spill_bytes.clone()?;
    if spill_bytes == 0 {
        return Err("there is no room for temporary files".into());
    }
    let layout = divide(facts, wishes, false, true).ok_or_else(too_small)?;
    // An unknown number of values may fit. A full disk ends the run.
    let disk_bytes = spilled_bytes(facts.values.unwrap_or(0), &layout);
    if disk_bytes > spill_bytes {
        return Err(format!(
            "temporary files would need {disk_bytes} bytes, and {spill_bytes} are free"
        ));
    }
    Ok(Cost { layout, passes: 1, disk_bytes })
}

fn multi_pass(facts: &Facts, wishes: &Wishes) -> Result<Cost, String> {
    if !facts.can_reread {
        return Err("an input cannot be read twice".into());
    }
    let layout = divide(facts, wishes, false, false).ok_or_else(too_small)?;
    let values = facts.values.unwrap_or(0);
    let by_values = layout.value_bytes(values).div_ceil(layout.pool_bytes.max(1));
    let range_bytes = (facts.window.last - facts.window.base) / 8;
    let by_bitmap = range_bytes.div_ceil(layout.pool_bytes.max(1));
    Ok(Cost { passes: 1 + by_values.min(by_bitmap).max(1), layout, disk_bytes: 0 })
}

#[cfg(test)]
mod tests;
