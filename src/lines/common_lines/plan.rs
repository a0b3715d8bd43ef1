//! How the search for common lines divides its memory.

use super::super::keys::LineJob;
use crate::bloom::BlockedBloomFilter;
use crate::bloom::params::BLOCK_BITS;
use crate::error::{Error, Result};
use crate::sort::plan::budget::{Budget, CommonShare};
use std::path::Path;

/// Facts about a file before it is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts {
    pub(crate) bytes: u64,
    /// About the number of its lines.
    pub(crate) lines: u64,
}

impl Facts {
    /// The facts about a regular file. To count the lines of a compressed one, it reads it.
    pub(crate) fn of(path: &Path, job: &LineJob<'_>) -> Result<Self> {
        let metadata = std::fs::metadata(path).map_err(Error::io("open", path))?;
        if metadata.is_dir() {
            return Err(Error::directory("read", path));
        }
        let bytes = metadata.len();
        if job.known_bytes(path) == Some(bytes) {
            return Ok(Self { bytes, lines: job.rules.estimated_lines(path)? });
        }
        let mut unpacked = Self { bytes: 0, lines: 0 };
        job.each(vec![path.into()], |lines| {
            unpacked.bytes += lines.len() as u64;
            unpacked.lines += job.rules.count(lines);
            Ok(())
        })?;
        Ok(unpacked)
    }
}

/// The division of memory, and the expected work.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    /// Which file is the smaller one.
    pub(crate) smaller: usize,
    /// About the number of lines of the smaller file.
    pub(crate) keys: u64,
    pub(crate) share: CommonShare,
    /// Number of lines that the second filter is made for.
    pub(crate) survivors: u64,
}

/// With fewer bits for each line, a filter drops too few lines.
const LEAST_BITS_PER_KEY: u64 = 2;

impl Plan {
    /// Plans for files with these facts.
    pub(crate) fn new(facts: [Facts; 2], rate: f64, memory: Budget) -> Self {
        let [a, b] = facts;
        let smaller = usize::from(b.bytes < a.bytes);
        let keys = facts[smaller].lines.max(1);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate")]
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let passing = (rate * facts[1 - smaller].lines as f64) as u64;
        let survivors = keys.saturating_add(passing).min(facts[1 - smaller].lines).max(1);
        Self { smaller, keys, share: memory.common_lines(), survivors }
    }

    /// Bits of the first filter; none if it would drop too few lines.
    #[cfg(feature = "cli")]
    pub(crate) fn filter_bits(&self, rate: f64) -> Result<Option<u64>> {
        screen_bits(self.keys, rate, self.share.filter_bytes)
    }
}

/// Bits of a filter for so many keys at this rate.
pub(crate) fn bits_for(keys: u64, rate: f64) -> Result<u64> {
    let builder = BlockedBloomFilter::builder().keys(keys).rate(rate);
    Ok(builder.spec()?.size_bytes().saturating_mul(8))
}

pub(super) fn screen_bits(keys: u64, rate: f64, budget_bytes: u64) -> Result<Option<u64>> {
    let bits = bits_for(keys, rate)?.min(budget_bytes.saturating_mul(8));
    // A blocked filter has whole cache lines.
    let bits = bits - bits % BLOCK_BITS;
    Ok(Some(bits).filter(|bits| *bits > 0 && bits / keys >= LEAST_BITS_PER_KEY))
}
