//! The facts for the plan, which a sample tells.

use crate::io::read::Sample;
use crate::io::table::VALUE_BYTES;
use crate::kernel::sys::free_bytes;
use crate::number::Format;
use crate::sort::partitioning::Window;
use std::path::PathBuf;

/// Facts that the planner knows before the run reads its input.
#[derive(Debug, Clone)]
pub(in crate::sort) struct Facts {
    /// Values of all inputs, estimated; `None` if a stream hides its length.
    pub(in crate::sort) values: Option<u64>,
    /// The expected range of values.
    pub(in crate::sort) window: Window,
    /// Share of values that repeat an earlier one, estimated.
    pub(in crate::sort) duplicate_share: f64,
    pub(in crate::sort) can_reread: bool,
    /// Free bytes for temporary files, or the reason why there can be none.
    pub(in crate::sort) spill_bytes: Result<u64, String>,
}

/// Derives the facts from a sample of inputs in `format`. Temporary files may go to `folders`; if
/// there are none, they are not allowed.
pub(in crate::sort) fn facts(sample: &Sample, format: Format, folders: &[PathBuf]) -> Facts {
    let window = window(sample);
    let known = sample.sizes_known || sample.complete;
    let spill_bytes = match folders {
        [] => Err("temporary files are not allowed".to_owned()),
        folders => free_bytes(folders),
    };
    Facts {
        values: known.then(|| values(sample, format)),
        window,
        duplicate_share: duplicate_share(sample, window, format),
        can_reread: sample.can_reread,
        spill_bytes,
    }
}

/// Number of values of all inputs, estimated from the bytes of a value in the sample.
fn values(sample: &Sample, format: Format) -> u64 {
    if sample.complete {
        return sample.values.len() as u64;
    }
    let bytes = sample.input_bytes.saturating_sub(sample.counted.saturating_mul(VALUE_BYTES));
    let found = sample.values.len().saturating_sub(sample.of_counted) as u64;
    let others = match (format.value_bytes(), found) {
        (Some(width), _) => bytes / width as u64,
        // Only malformed lines so far: assume the worst, two bytes a line.
        (None, 0) => bytes / 2,
        (None, found) => {
            let scaled = u128::from(bytes) * u128::from(found) / u128::from(sample.bytes.max(1));
            // Add 3 %, because a sample is not exact.
            u64::try_from(scaled + scaled / 32).unwrap_or(u64::MAX)
        }
    };
    sample.counted.saturating_add(others)
}

/// The expected range of values.
fn window(sample: &Sample) -> Window {
    let (Some(&min), Some(&max)) = (sample.values.iter().min(), sample.values.iter().max()) else {
        let last = if sample.complete { 0 } else { u32::MAX.into() };
        return Window { base: 0, last };
    };
    if sample.complete {
        return Window { base: rounded(min, max), last: max };
    }
    if !sample.can_reread {
        // The beginning of a stream says little about its end, since the stream may be sorted.
        // Expect all values of 32 or 64 bits.
        let last = if max <= u32::MAX.into() {
            u32::MAX.into()
        } else {
            max.saturating_mul(4) | (u64::MAX >> max.leading_zeros())
        };
        return Window { base: 0, last };
    }
    // The input has values below and above those of its sample.
    let margin = (max - min) / 64 + 1;
    let base = rounded(min.saturating_sub(margin), max);
    let mut last = max.saturating_add(margin);
    if max <= u32::MAX.into() {
        last = last.min(u32::MAX.into()).max(max);
    }
    Window { base, last }
}

/// `base`, rounded down if the range is wide, so that values which share all but 16 bits are in the
/// same partition.
fn rounded(base: u64, last: u64) -> u64 {
    if last - base < 1 << 22 { base } else { base & !0xFFFF }
}

/// Share of values that repeat another one, if the whole input is like its sample.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn duplicate_share(sample: &Sample, window: Window, format: Format) -> f64 {
    let found = sample.values.len() as f64;
    if found == 0.0 {
        return 0.0;
    }
    let mut sorted = sample.values.clone();
    sorted.sort_unstable();
    sorted.dedup();
    let seen = 1.0 - sorted.len() as f64 / found;
    if sample.complete {
        return seen;
    }
    // n values evenly spread over a window of u have u·(1 − e^(−n/u)) distinct ones.
    let universe = (window.last - window.base) as f64 + 1.0;
    let all = values(sample, format) as f64;
    let spread = 1.0 - universe / all * -(-all / universe).exp_m1();
    let duplicates = found - sorted.len() as f64;
    let expected = found - universe * -(-found / universe).exp_m1();
    // A wrong guess costs time if the input can be read again; else it may end the run.
    let is_telling = expected >= TELLING && sample.can_reread;
    let guess = if is_telling { spread.min(duplicates_of(duplicates, found, all)) } else { spread };
    seen.max(guess).clamp(0.0, 1.0)
}

/// Duplicates that are expected in a sample, at least, if those that it has say more than the spread of
/// its values: ids that occur once each may fill their range.
const TELLING: f64 = 30.0;

/// Share of `all` values that are duplicates, if each occurs as often, and `duplicates` pairs of the
/// `found` ones of a sample are alike. With a margin for chance.
fn duplicates_of(duplicates: f64, found: f64, all: f64) -> f64 {
    let most = duplicates + 2.0 * duplicates.sqrt() + 4.0;
    let others = all * most / (found * found / 2.0);
    others / (1.0 + others)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(values: Vec<u64>, universe: u64, all: u64, can_reread: bool) -> f64 {
        let sample = Sample { values, input_bytes: 4 * all, can_reread, ..Sample::default() };
        duplicate_share(&sample, Window { base: 0, last: universe - 1 }, Format::U32Le)
    }

    /// Pseudo-random numbers below `universe`.
    fn random(universe: u64, count: usize) -> impl Iterator<Item = u64> {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        std::iter::repeat_with(move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % universe
        })
        .take(count)
    }

    #[test]
    fn repeats_that_the_sample_does_not_have_are_not_expected() {
        let universe = 50_000_000;
        // Each number once, in another order: an odd factor permutes the numbers below 2^26.
        let once = (0..500_000_u64).map(|i| i * 100 * 7919 % (1 << 26)).collect::<Vec<_>>();
        assert!(share(once.clone(), universe, universe, true) < 0.01);
        // A stream shows its beginning alone.
        assert!(share(once.clone(), universe, universe, false) > 0.3);
        // A few values tell nothing.
        assert!(share(once[..2000].to_vec(), universe, universe, true) > 0.3);
        let drawn: Vec<u64> = random(universe, 500_000).collect();
        let found = share(drawn, universe, universe, true);
        assert!((0.3..0.45).contains(&found), "{found}");
    }
}
