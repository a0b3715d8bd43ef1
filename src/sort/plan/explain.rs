//! A plan in words and numbers, for `bitsort --explain`.

use super::facts::Facts;
use super::layout::{Choice, Cost, Wishes};
use super::strategy::Strategy;
use crate::io::read::Sample;
use crate::size::ByteSize;
use std::fmt;
use std::path::PathBuf;

/// The plan of a run, and its reasons: see [`Sort::explain`](crate::sort::Sort::explain).
///
/// `Display` is the text of `bitsort --explain`.
#[derive(Debug, Clone)]
pub struct Explanation {
    facts: Facts,
    wishes: Wishes,
    sampled_values: usize,
    input_bytes: u64,
    choice: Choice,
    folders: Vec<PathBuf>,
}

impl Explanation {
    pub(in crate::sort) fn new(
        facts: Facts,
        wishes: Wishes,
        sample: &Sample,
        choice: Choice,
        folders: &[PathBuf],
    ) -> Self {
        Self {
            facts,
            wishes,
            sampled_values: sample.values.len(),
            input_bytes: sample.input_bytes,
            choice,
            folders: folders.to_vec(),
        }
    }

    /// The strategy of the run.
    #[must_use]
    pub fn strategy(&self) -> Strategy {
        self.choice.strategy
    }

    /// Bytes of temporary files that the run would write.
    #[must_use]
    pub fn temporary_bytes(&self) -> u64 {
        self.choice.cost.disk_bytes
    }

    /// Times that the input would be read.
    #[must_use]
    pub fn passes(&self) -> u64 {
        self.choice.cost.passes
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = ByteSize::from_bytes;
        let Self { facts, wishes, choice, .. } = self;
        let Cost { layout, passes, disk_bytes } = &choice.cost;
        writeln!(f, "strategy   {}", choice.strategy)?;
        let number = facts.values.map_or("an unknown number of".into(), |n| format!("about {n}"));
        let read = if facts.values.is_some() { "" } else { " or more" };
        writeln!(f, "input      {}{read}, {number} values", size(self.input_bytes))?;
        let (base, last) = (facts.window.base, facts.window.last);
        let sampled = self.sampled_values;
        writeln!(f, "range      {base} to {last} expected, from a sample of {sampled} values")?;
        writeln!(f, "repeats    about {:.1} % of the values", 100.0 * facts.duplicate_share)?;
        writeln!(f, "reads      {passes}")?;
        let folders: Vec<_> =
            self.folders.iter().map(|folder| folder.display().to_string()).collect();
        let disk = |strategy, bytes: u64| match (strategy, facts.values) {
            (Strategy::Spill, None) => "an unknown size".to_owned(),
            _ => size(bytes).to_string(),
        };
        let needed = disk(choice.strategy, *disk_bytes);
        match &folders[..] {
            [] => writeln!(f, "temporary  not allowed")?,
            some => writeln!(f, "temporary  {needed} in {}", some.join(", "))?,
        }
        let threads = layout.threads as u64;
        writeln!(f, "memory     {} limit, {threads} threads", size(wishes.memory_bytes))?;
        for (bytes, what) in layout.shares() {
            writeln!(f, "  {:>10}  {what}", size(bytes).to_string())?;
        }
        let parts = &layout.partitioning;
        writeln!(f, "partitions {} of 2^{} values", parts.count, parts.shift)?;
        writeln!(f, "considered, in order of preference")?;
        for estimate in &choice.estimates {
            match &estimate.verdict {
                Ok(cost) => writeln!(
                    f,
                    "  {:<10}  possible: {} reading(s), {} of temporary files",
                    estimate.strategy.name(),
                    cost.passes,
                    disk(estimate.strategy, cost.disk_bytes)
                )?,
                Err(reason) => writeln!(f, "  {:<10}  no: {reason}", estimate.strategy.name())?,
            }
        }
        Ok(())
    }
}
