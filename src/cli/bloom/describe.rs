//! Describes and verifies filters.

use super::args::KeyArgs;
use super::{open, open_checked, tools};
use crate::bloom::{
    AnyFilter, Confidence, FilterFile, MeasuredRate, Opened, Scheme, Storage, check_rate,
};
use crate::cli::bitset::{Answer, Source};
use crate::cli::exit::say;
use crate::cli::stdout::{print, print_line};
use crate::error::{Error, Result};
use crate::progress::Phase;
use crate::size::ByteSize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Describes a filter.
pub(super) fn info(path: &Path, json: bool) -> Result<()> {
    let opened = open(path)?;
    let spec = opened.filter.spec();
    // Files of Guava and Spark do not say how many keys they have. A filter made from such a file
    // does not say it either.
    let uncounted = matches!(
        spec.scheme(),
        Scheme::GuavaMitz32 | Scheme::GuavaMitz64 | Scheme::SparkV1 | Scheme::SparkV2 { .. }
    );
    let counted = (!uncounted).then_some(opened.filter.key_count());
    if json { print_line(facts(&opened, counted)) } else { print(text(&opened, counted)) }
}

/// The facts about a filter as a JSON object.
fn facts(opened: &FilterFile<Opened>, counted: Option<u64>) -> Value {
    let (filter, spec) = (&opened.filter, opened.filter.spec());
    let estimated = filter.estimated_keys();
    json!({
        "file": opened.kind().name(),
        "design": filter.design(),
        "hash": spec.scheme().name(),
        "seed": spec.scheme().seed(),
        "cells": spec.cells(),
        "cell_bits": spec.cell_bits(),
        "hashes": spec.hashes(),
        "bytes": filter.size_bytes(),
        "goal_keys": filter.goal().map(|goal| goal.keys),
        "goal_rate": filter.goal().map(|goal| goal.rate),
        "counted_keys": counted,
        "estimated_keys": estimated.is_finite().then_some(estimated),
        "fill": filter.fill_ratio(),
        "expected_rate": filter.expected_rate(),
    })
}

/// The facts about a filter for people.
fn text(opened: &FilterFile<Opened>, counted: Option<u64>) -> String {
    let (filter, spec) = (&opened.filter, opened.filter.spec());
    let estimated = filter.estimated_keys();
    let cells = match spec.cell_bits() {
        1 => format!("{} bits", spec.cells()),
        bits => format!("{} counters of {bits} bits", spec.cells()),
    };
    let goal = filter.goal().map_or("unknown".into(), |goal| {
        format!("{} keys, {} false positives", goal.keys, percent(goal.rate))
    });
    let (least, estimated) = if estimated.is_finite() {
        ("", format!("{estimated:.0} estimated"))
    } else {
        ("at least ", "too many to estimate".into())
    };
    let counted_text = counted.map_or_else(String::new, |keys| format!("{least}{keys} recorded, "));
    let seed = match spec.scheme().seed() {
        0 => String::new(),
        seed => format!(", seed {seed}"),
    };
    format!(
        "file      {}, {} of bits\n\
         design    {}, {cells}\n\
         hash      {}{seed}, {} of them\n\
         goal      {goal}\n\
         keys      {counted_text}{estimated}\n\
         fill      {}\n\
         expected  {} false positives now\n",
        opened.kind().name(),
        ByteSize::from_bytes(filter.size_bytes()),
        filter.design(),
        spec.scheme(),
        spec.hashes(),
        percent(filter.fill_ratio()),
        percent(filter.expected_rate()),
    )
}

/// Says that a filter for `expected` keys has so many more that its rate is at least twice the wanted
/// one.
pub(super) fn tell_if_crowded(filter: &AnyFilter, expected: u64, goal: Option<f64>, output: &Path) {
    let keys = filter.key_count();
    if keys <= expected {
        return; // the rate would read the whole filter
    }
    let (rate, planned) = (filter.expected_rate(), filter.rate_with(expected));
    let wanted = goal.map_or(planned, |goal| goal.max(planned)); // small filters are better than asked
    if rate >= 2.0 * wanted {
        let name = output.display();
        let (rate, wanted) = (percent(rate), percent(wanted));
        let least = if filter.estimated_keys().is_finite() { "" } else { "at least " };
        say(&format!(
            "bitset: {name}: {least}{keys} keys in a filter for {expected}: the false-positive rate is {rate}, not {wanted}"
        ));
    }
}

/// The same for the goal that the filter itself names, if it does.
pub(super) fn tell_if_full(filter: &AnyFilter, output: &Path) {
    if let Some(goal) = filter.goal() {
        tell_if_crowded(filter, goal.keys, Some(goal.rate), output);
    }
}

/// A share in percent, with three significant digits.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let mut least = 999.5;
    let fits = |_: &usize| {
        least /= 10.0;
        percent >= least
    };
    match (0..=9_usize).find(fits) {
        _ if percent == 0.0 => "0 %".into(),
        _ if percent >= 1e6 => format!("{percent:.2e} %"),
        Some(decimals) => format!("{percent:.decimals$} %"),
        None => format!("{percent:.2e} %"),
    }
}

/// How the rate is measured.
pub(super) struct Probing {
    pub(super) rate: Option<f64>,
    pub(super) probes: Option<u64>,
    pub(super) seed: u64,
}

const MIN_PROBES: u64 = 1_000_000;
const MAX_PROBES: u64 = 200_000_000;
/// False positives that are enough to estimate a rate.
const ENOUGH: f64 = 100.0;

impl Probing {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
    fn probes(&self, promised: f64) -> u64 {
        let needed = (ENOUGH / promised).ceil() as u64;
        self.probes.unwrap_or(needed.clamp(MIN_PROBES, MAX_PROBES))
    }
}

/// Random keys that are asked for between two checks for a signal.
const PROBES_AT_A_TIME: u64 = 1 << 20;

fn measure<S: Storage>(
    source: &Source,
    filter: &AnyFilter<S>,
    probes: u64,
    seed: u64,
) -> Result<MeasuredRate> {
    let mut sum = MeasuredRate { probes: 0, false_positives: 0 };
    source.progress().enter(Phase::Walk, probes);
    for round in 0.. {
        let batch = PROBES_AT_A_TIME.min(probes - sum.probes);
        if batch == 0 {
            break;
        }
        source.check()?;
        // Far apart, so that the random numbers of two rounds do not overlap.
        let seed = seed.wrapping_add(round << 40);
        let measured = filter.measured_rate(batch, seed);
        source.progress().advance(batch);
        sum.probes += measured.probes;
        sum.false_positives += measured.false_positives;
    }
    Ok(sum)
}

/// Verifies a filter file and its rate, and that given keys are in it. The answer is no if the rate
/// is too high or a key is missing.
pub(super) fn verify(
    source: &Source,
    path: &Path,
    probing: &Probing,
    files: Vec<PathBuf>,
    json: bool,
    keys: KeyArgs,
) -> Result<Answer> {
    let file = open_checked(path)?;
    let filter = &file.filter;
    let Some(promised) = probing.rate.or(filter.goal().map(|goal| goal.rate)) else {
        return Err(Error::usage(format!(
            "{} does not say which rate it promises; give it with --rate",
            path.display()
        )));
    };
    check_rate(promised)?;
    if files.is_empty() && !keys.is_default() {
        return Err(Error::usage(
            "--funnel, --crlf, --skip-empty and -z tell how to read keys, those in --file: give a --file",
        ));
    }
    if probing.probes == Some(0) {
        return Err(Error::usage("at least 1 key has to be asked for: --probes"));
    }
    let bar = source.bar(true);
    keys.check_kind(file.kind())?;
    let missing = missing_keys(source, filter, files, keys)?;
    let measured = measure(source, filter, probing.probes(promised), probing.seed)?;
    drop(bar);
    source.note("probes", measured.probes);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate")]
    let keys = filter.goal().map_or_else(|| filter.estimated_keys() as u64, |goal| goal.keys);
    let allowed = promised * (1.0 + LUCK * filter.rate_deviation(keys.max(1)));
    let found = Verified { promised, allowed, measured, missing };
    print(if json { format!("{}\n", found.json()) } else { found.text() })?;
    Ok(found.is_kept().into())
}

/// Standard deviations by which the rate of a filter may be above the mean of filters with its size
/// and number of keys.
const LUCK: f64 = 3.0;

/// The result of a verification.
struct Verified {
    /// The promised rate of false positives.
    promised: f64,
    /// The highest rate that chance can explain.
    allowed: f64,
    measured: MeasuredRate,
    /// Number of keys that should be in the filter and are not; none if no keys were given.
    missing: Option<u64>,
}

impl Verified {
    fn interval(&self) -> (f64, f64) {
        self.measured.interval(Confidence::Percent99)
    }

    /// Whether the rate is at most the promised one, except for chance; and no key is missing,
    /// which every filter promises.
    fn is_kept(&self) -> bool {
        let (low, _) = self.interval();
        low <= self.allowed && self.missing.unwrap_or(0) == 0
    }

    fn json(&self) -> Value {
        let (low, high) = self.interval();
        json!({
            "promised_rate": self.promised,
            "allowed_rate": self.allowed,
            "measured_rate": self.measured.rate(),
            "probes": self.measured.probes,
            "false_positives": self.measured.false_positives,
            "interval_99": [low, high],
            "missing_keys": self.missing,
            "kept": self.is_kept(),
        })
    }

    fn text(&self) -> String {
        let (low, high) = self.interval();
        let missing = self.missing.map(|missing| format!("missing   {missing} keys\n"));
        let promise = match (self.is_kept(), low > self.promised) {
            (false, _) => "broken".into(),
            (true, false) => "kept".into(),
            (true, true) => {
                let allowed = percent(self.allowed);
                format!(
                    "kept: up to {allowed} is the luck of its keys, and the interval begins below that"
                )
            }
        };
        format!(
            "promised  {} false positives\n\
             measured  {}: {} of {} random keys\n\
             interval  {} to {}, 99 % sure\n\
             promise   {promise}\n{}",
            percent(self.promised),
            percent(self.measured.rate()),
            self.measured.false_positives,
            self.measured.probes,
            percent(low),
            percent(high),
            missing.unwrap_or_default(),
        )
    }
}

/// Number of lines that are not in the filter; `None` without files.
fn missing_keys<S: Storage + Sync>(
    source: &Source,
    filter: &AnyFilter<S>,
    files: Vec<PathBuf>,
    keys: KeyArgs,
) -> Result<Option<u64>> {
    if files.is_empty() {
        return Ok(None);
    }
    let tools = tools(source, keys);
    let job = tools.job();
    let missing = AtomicU64::new(0);
    let work = |bytes: &[u8], _: &mut Vec<u8>| {
        let mut found = Vec::new();
        job.rules.batches(bytes, |batch| {
            batch.hashed(job.rules.funnel, |keys| filter.contains_many(keys, &mut found))?;
            let absent = found.iter().map(|found| u64::from(!found)).sum();
            missing.fetch_add(absent, Ordering::Relaxed);
            Ok(())
        })
    };
    job.run(files, work, |_| Ok(()))?;
    Ok(Some(missing.into_inner()))
}
