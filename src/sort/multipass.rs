//! Sorts without temporary files when the values do not fit in memory: it reads the input again for
//! every slice of the value range (after Bentley, *Programming Pearls*, column 1).
//!
//! The first reading only counts how many values lie where. From the counts it makes slices that
//! fill the memory, for any distribution, and reads neighbours together that fit together. A slice that
//! does not fit, or turns out to have more duplicates than fit, is cut again.

use super::context::Context;
use super::engine::{Pass, pass};
use super::finish::emit::Emitter;
use super::finish::ways::Way;
use super::load::scatter::Outside;
use super::partitioning::{Partitioning, Window};
use super::plan::facts::Facts;
use super::plan::layout::{Layout, Wishes, divide};
use crate::error::{Error, Result};
use crate::io::read::{Consumer, Invalid, Ledger, Opened, Tally, scan};
use crate::progress::Phase;
use crate::set::bitmap::Word;
use std::time::Instant;

/// Bits of the histogram of a window.
const HISTOGRAM_BITS: u32 = 12;

/// Counts values of a window by the high bits of their offset, and values above the window by their
/// number of bits. The window begins at a multiple of its size.
#[derive(Clone)]
struct Histogram {
    base: u64,
    bits: u32,
    counts: Vec<u64>,
    above: [u64; 65],
}

impl Histogram {
    fn new(base: u64, bits: u32) -> Self {
        let counts = vec![0; 1 << HISTOGRAM_BITS.min(bits)];
        Self { base, bits, counts, above: [0; 65] }
    }

    fn shift(&self) -> u32 {
        self.bits - HISTOGRAM_BITS.min(self.bits)
    }

    /// The slice of these buckets.
    fn slice(&self, base: u64, bits: u32, counts: &[u64]) -> Slice {
        let last = u64::low_mask(self.shift());
        let duplicates = |count: &u64| count.saturating_sub(1).saturating_sub(last);
        let (count, duplicates) = (counts.iter().sum(), counts.iter().map(duplicates).sum());
        Slice { base, bits, count, duplicates }
    }

    fn add(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(a, b)| *a += b);
        self.above.iter_mut().zip(&other.above).for_each(|(a, b)| *a += b);
    }
}

impl Consumer for Histogram {
    fn values(&mut self, values: &[u64]) {
        let last = u64::low_mask(self.bits);
        let shift = self.shift();
        for &value in values {
            let offset = value.wrapping_sub(self.base);
            if offset <= last {
                #[expect(clippy::cast_possible_truncation, reason = "at most 12 bits")]
                let bucket = (offset >> shift) as usize;
                self.counts[bucket] += 1;
            } else {
                self.above[(u64::BITS - value.leading_zeros()) as usize] += 1;
            }
        }
    }

    fn checkpoint(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A slice that is not written yet. It begins at a multiple of its size.
#[derive(Debug, Clone, Copy)]
struct Slice {
    base: u64,
    bits: u32,
    count: u64,
    /// So many of its values, at least, are duplicates of others.
    duplicates: u64,
}

impl Slice {
    fn window(self) -> Window {
        Window::of_bits(self.base, self.bits)
    }
}

/// A run of several passes.
pub(super) struct Passes<'c, 'a, 'o> {
    context: &'c Context<'a, 'o>,
    facts: &'c Facts,
    wishes: &'c Wishes,
    layout: &'c Layout,
    /// How often the input was read so far.
    readings: u64,
    total: Pass,
    /// The window of the slice that was written last.
    previous: Option<Window>,
}

impl<'c, 'a, 'o> Passes<'c, 'a, 'o> {
    pub(super) fn new(
        context: &'c Context<'a, 'o>,
        facts: &'c Facts,
        wishes: &'c Wishes,
        layout: &'c Layout,
    ) -> Self {
        Self { context, facts, wishes, layout, readings: 0, total: Pass::default(), previous: None }
    }

    /// Writes all values. Gives the counts, and the number of readings of the input.
    ///
    /// # Errors
    ///
    /// If somebody writes to an input meanwhile: a pass may see other values than the one before.
    pub(super) fn run(mut self, invalid: Invalid<'_>) -> Result<(Pass, u64)> {
        let marks: Vec<_> = self.context.inputs.iter().map(Opened::mark).collect();
        let bits = (u64::BITS - self.facts.window.last.leading_zeros()).max(1);
        let (histogram, tally) = self.count(0, bits, invalid)?;
        self.total.tally = tally;
        let mut slices = self.slices(&histogram);
        for above in bits..u64::BITS {
            let count = histogram.above[above as usize + 1];
            slices.push(Slice { base: 1 << above, bits: above, count, duplicates: 0 });
        }
        self.push_in_order(slices)?;
        let mut inputs = self.context.inputs.iter().zip(marks);
        if let Some((input, _)) = inputs.find(|(input, mark)| input.mark() != *mark) {
            return Err(Error::InputRewritten { input: input.name.clone() });
        }
        Ok((self.total, self.readings))
    }

    /// Writes slices in order; cuts those that do not fit.
    fn push_in_order(&mut self, slices: Vec<Slice>) -> Result<()> {
        let mut stack = Vec::new();
        self.stack(&mut stack, slices);
        while let Some(slice) = stack.pop() {
            if slice.count == 0 {
                continue;
            }
            if slice.bits == 0 {
                self.write_value(slice)?;
                continue;
            }
            if self.write_joined(slice, &mut stack)? {
                continue;
            }
            if let Some(layout) = self.layout_of(slice)
                && self.write(slice.window(), slice.count, &layout)?
            {
                continue;
            }
            let (histogram, _) = self.count(slice.base, slice.bits, Invalid::Skip)?;
            let mut parts = self.slices(&histogram);
            if let [only] = &mut parts[..] {
                // It did not fit because of its duplicates: each half has fewer values.
                let half = only.bits - 1;
                let upper = only.base + (1 << half);
                let (lower_counts, upper_counts) =
                    histogram.counts.split_at(histogram.counts.len() / 2);
                parts = vec![
                    histogram.slice(only.base, half, lower_counts),
                    histogram.slice(upper, half, upper_counts),
                ];
            }
            self.stack(&mut stack, parts);
        }
        Ok(())
    }

    /// One pass for a slice and those behind it, if they fit in memory together. They need not be a
    /// slice themselves: the rest of a range, of which one slice is too full, is often small.
    fn write_joined(&mut self, slice: Slice, stack: &mut Vec<Slice>) -> Result<bool> {
        let (mut window, mut count) = (slice.window(), slice.count);
        let mut found = None;
        for (place, next) in stack.iter().enumerate().rev().filter(|(_, next)| next.count > 0) {
            let other = next.window();
            let joined =
                Window { base: window.base.min(other.base), last: window.last.max(other.last) };
            let Some(layout) = self.plain_layout(joined, count + next.count) else { break };
            (window, count, found) = (joined, count + next.count, Some((layout, place)));
        }
        let Some((layout, place)) = found else { return Ok(false) };
        let is_written = self.write(window, count, &layout)?;
        if is_written {
            stack.truncate(place);
        }
        Ok(is_written)
    }

    fn stack(&self, stack: &mut Vec<Slice>, mut slices: Vec<Slice>) {
        if !self.context.style.selection.reverse {
            slices.reverse();
        }
        stack.append(&mut slices);
    }

    /// Reads the input and counts its values.
    fn count(&mut self, base: u64, bits: u32, invalid: Invalid<'_>) -> Result<(Histogram, Tally)> {
        let (context, started) = (self.context, Instant::now());
        context.scan.progress.enter(Phase::Load, context.input_bytes);
        let ledger = Ledger::of(context.inputs, invalid);
        let consumers = vec![Histogram::new(base, bits); self.wishes.threads];
        let scanned = scan(context.inputs, &context.scan, &ledger, consumers);
        let tally = ledger.finish()?;
        self.readings += 1;
        let mut total = Histogram::new(base, bits);
        scanned?.iter().for_each(|part| total.add(part));
        self.total.load += started.elapsed();
        Ok((total, tally))
    }

    /// Joins neighbouring buckets, in aligned pairs, while they fit in memory.
    fn slices(&self, histogram: &Histogram) -> Vec<Slice> {
        let mut slices: Vec<Slice> = Vec::new();
        for (index, &count) in histogram.counts.iter().enumerate() {
            let base = histogram.base + ((index as u64) << histogram.shift());
            slices.push(histogram.slice(base, histogram.shift(), &[count]));
            while let [.., left, right] = slices[..] {
                let joined = Slice {
                    base: left.base,
                    bits: left.bits + 1,
                    count: left.count + right.count,
                    duplicates: left.duplicates + right.duplicates,
                };
                let siblings = left.bits == right.bits && left.base & (1 << left.bits) == 0;
                if !siblings || !self.fits(joined) {
                    break;
                }
                slices.truncate(slices.len() - 2);
                slices.push(joined);
            }
        }
        slices
    }

    fn facts_of(&self, window: Window, count: u64) -> Facts {
        Facts { values: Some(count), window, ..self.facts.clone() }
    }

    /// A layout without a bitmap that has room for so many values of a window, and whose partitions
    /// have no others.
    fn plain_layout(&self, window: Window, count: u64) -> Option<Layout> {
        let layout = divide(&self.facts_of(window, count), self.wishes, false, false)?;
        let Partitioning { window: Window { base, .. }, count: partitions, .. } =
            layout.partitioning;
        let last = layout.partitioning.window_of(partitions - 1).last;
        let is_exact = window == Window { base, last };
        (is_exact && layout.value_bytes(count) <= layout.pool_bytes).then_some(layout)
    }

    /// A layout that may have room for a slice.
    fn layout_of(&self, slice: Slice) -> Option<Layout> {
        let (window, count) = (slice.window(), slice.count);
        // With a bitmap, duplicates may still be too many: `write` finds out.
        let may_fit = |layout: &Layout| {
            layout.bitmap_bytes <= self.layout.pool_bytes / 2
                && (self.wishes.ignores_duplicates
                    || layout.value_bytes(slice.duplicates) <= layout.pool_bytes)
        };
        self.plain_layout(window, count).or_else(|| {
            divide(&self.facts_of(window, count), self.wishes, true, false).filter(may_fit)
        })
    }

    fn fits(&self, slice: Slice) -> bool {
        slice.bits == 0 || slice.count == 0 || self.layout_of(slice).is_some()
    }

    /// Writes a slice of one value, for which nothing is read.
    fn write_value(&mut self, slice: Slice) -> Result<()> {
        let (context, window) = (self.context, slice.window());
        window.check_behind(self.previous, context.style.selection.reverse)?;
        let number = context.output.extend(1);
        let mut emitter = Emitter::new(
            context.output,
            context.scan.progress,
            context.style,
            self.layout.output_bytes,
        );
        emitter.begin(number, window);
        emitter.run(window.base, slice.count)?;
        emitter.end()?;
        self.total.written += emitter.written;
        self.previous = Some(window);
        Ok(())
    }

    /// One pass for so many values of a window; false if they do not fit.
    fn write(&mut self, window: Window, count: u64, layout: &Layout) -> Result<bool> {
        window.check_behind(self.previous, self.context.style.selection.reverse)?;
        self.readings += 1;
        let started = Instant::now();
        let done = pass(self.context, layout, Outside::Drop, false, Invalid::Skip)?;
        let Some(done) = done else {
            self.total.load += started.elapsed();
            return Ok(false);
        };
        if done.written.values != count {
            return Err(Error::InputChanged {
                input: self
                    .context
                    .inputs
                    .iter()
                    .map(|input| &*input.name)
                    .collect::<Vec<_>>()
                    .join(", "),
                expected: count,
                found: done.written.values,
                unit: "values",
            });
        }
        self.total.written += done.written;
        self.total.written.ways.take(Way::Slice);
        self.previous = Some(window);
        self.total.load += done.load;
        self.total.emit += done.emit;
        Ok(true)
    }
}
