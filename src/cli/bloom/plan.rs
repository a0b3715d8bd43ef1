//! Computes sizes of filters.

use super::args::{DesignChoice, PlanArgs};
use super::describe::percent;
use super::size::{Size, check_counter_bits, spec};
use crate::bloom::{Blocked, BuildError, Counting, Design, Spec, Standard, params};
use crate::cli::bitset::Source;
use crate::cli::stdout::{print, print_line};
use crate::error::{Error, Result};
use crate::kernel::sys::Machine;
use crate::lines::RECORD_HEAD_BYTES;
use crate::lines::common_lines::{Facts, Plan, bits_for};
use crate::size::ByteSize;
use crate::sort::plan::budget::Budget;
use clap::ValueEnum;
use serde_json::{Value, json};

/// One line of the table.
struct Row {
    design: DesignChoice,
    keys: u64,
    size: Size,
    spec: Result<Spec, BuildError>,
}

impl DesignChoice {
    fn name(self) -> &'static str {
        match self {
            Self::Standard => Standard::NAME,
            Self::Blocked => Blocked::NAME,
            Self::Counting => Counting::NAME,
        }
    }

    /// The rate of a filter with so many keys.
    fn rate(self, spec: &Spec, keys: u64) -> f64 {
        fn of<D: Design>(spec: &Spec, keys: u64) -> f64 {
            D::rate_with(spec, keys)
        }
        match self {
            Self::Standard => of::<Standard>(spec, keys),
            Self::Blocked => of::<Blocked>(spec, keys),
            Self::Counting => of::<Counting>(spec, keys),
        }
    }
}

/// Prints the sizes of filters, or the cost of `common`.
pub(super) fn plan(source: &Source, args: &PlanArgs) -> Result<()> {
    if args.common {
        for keys in &args.keys {
            let bytes = keys.0.saturating_mul(args.line_bytes.0);
            let facts = Facts { bytes, lines: keys.0 };
            for &rate in &args.rate {
                let memory = source.memory();
                print(explain_common([facts; 2], rate, memory, memory)?)?;
            }
        }
        return Ok(());
    }
    if let Some(design) = args.design {
        check_counter_bits(design, args.counter_bits)?;
    }
    let designs = args.design.map_or(DesignChoice::value_variants().to_vec(), |one| vec![one]);
    let sizes: Vec<Size> = if args.bits_per_key.is_empty() {
        args.rate.iter().map(|rate| Size::Rate(*rate)).collect()
    } else {
        args.bits_per_key.iter().map(|bits| Size::BitsPerKey(*bits)).collect()
    };
    let mut rows = Vec::new();
    for keys in &args.keys {
        for &size in &sizes {
            for &design in &designs {
                let spec = spec(design, keys.0, size, args.counter_bits);
                rows.push(Row { design, keys: keys.0, size, spec });
            }
        }
    }
    // A filter of no keys is no mistake of the caller: its row says why there is none.
    if rows.iter().all(|row| row.spec.is_err())
        && let Some(Row { spec: Err(reason), .. }) = rows.iter().find(|row| row.keys > 0)
    {
        return Err(Error::usage(format!("there can be no such filter: {reason}")));
    }
    if args.json {
        return print_line(rows.iter().map(Row::json).collect::<Value>());
    }
    let memory = Machine::detect().memory_bytes;
    let mut text = format!(
        "{:<9} {:>13} {:>12} {:>6} {:>8} {:>15} {:>10}\n",
        "design", "keys", "rate", "hashes", "bits/key", "bits", "size"
    );
    text.extend(rows.iter().map(|row| row.text(memory)));
    print(text)
}

#[expect(clippy::cast_precision_loss, reason = "a share")]
fn per_key(bits: u64, keys: u64) -> f64 {
    bits as f64 / keys as f64
}

impl Row {
    fn text(&self, memory_bytes: u64) -> String {
        let (design, keys) = (self.design.name(), self.keys);
        let spec = match &self.spec {
            Ok(spec) => spec,
            Err(reason) => {
                let size = match self.size {
                    Size::Rate(rate) => percent(rate),
                    Size::BitsPerKey(bits) => format!("{bits} bits"),
                };
                return format!("{design:<9} {keys:>13} {size:>12} none: {reason}\n");
            }
        };
        let bits = spec.cells().saturating_mul(spec.cell_bits().into());
        let size = ByteSize::from_bytes(spec.size_bytes()).to_string();
        let too_large = spec.size_bytes() > memory_bytes;
        let note = if too_large { "  more than the memory here" } else { "" };
        format!(
            "{design:<9} {keys:>13} {:>12} {:>6} {:>8.2} {bits:>15} {size:>10}{note}\n",
            percent(self.design.rate(spec, keys)),
            spec.hashes(),
            per_key(bits, keys),
        )
    }

    fn json(&self) -> Value {
        let (design, keys) = (self.design.name(), self.keys);
        match &self.spec {
            Err(reason) => {
                let (wanted, size) = match self.size {
                    Size::Rate(rate) => ("rate", rate),
                    Size::BitsPerKey(bits) => ("bits_per_key", bits),
                };
                json!({
                    "design": design,
                    "keys": keys,
                    wanted: size,
                    "error": reason.to_string(),
                })
            }
            Ok(spec) => {
                let bits = spec.cells().saturating_mul(spec.cell_bits().into());
                json!({
                    "design": design,
                    "keys": keys,
                    "rate": self.design.rate(spec, keys),
                    "hashes": spec.hashes(),
                    "bits_per_key": per_key(bits, keys),
                    "cells": spec.cells(),
                    "cell_bits": spec.cell_bits(),
                    "bytes": spec.size_bytes(),
                })
            }
        }
    }
}

/// Describes how `common` would compare two such files in `memory`, which is `whole` without what
/// unpacks them.
pub(super) fn explain_common(
    facts: [Facts; 2],
    rate: f64,
    memory: Budget,
    whole: Budget,
) -> Result<String> {
    let size = |bytes| ByteSize::from_bytes(bytes).to_string();
    let plan = Plan::new(facts, rate, memory);
    let (smaller, larger) = (facts[plan.smaller], facts[1 - plan.smaller]);
    let line_bytes = |facts: Facts| facts.bytes / facts.lines.max(1) + RECORD_HEAD_BYTES as u64;
    let full_bytes = bits_for(plan.keys, rate)? / 8;
    let filter = match plan.filter_bits(rate)? {
        Some(bits) => {
            let hashes = params::hashes_blocked(bits, plan.keys);
            let passing = params::rate_blocked(bits, plan.keys, hashes);
            format!(
                "{}, {:.1} bits a line: {} of the lines that are not shared pass",
                size(bits / 8),
                per_key(bits, plan.keys),
                percent(passing)
            )
        }
        None => "none: it would let nearly everything pass".into(),
    };
    let wanted = if full_bytes > plan.share.filter_bytes {
        let bytes = u128::from(Budget::for_common_filter(full_bytes).bytes());
        let bytes = bytes * u128::from(whole.bytes()) / u128::from(memory.bytes().max(1));
        let mebibytes = bytes.div_ceil(1 << 20);
        format!("; for {} --mem {mebibytes}M", percent(rate))
    } else {
        String::new()
    };
    // Both files, and the lines that they share.
    let spilled = smaller.lines.saturating_mul(line_bytes(smaller)).saturating_mul(2);
    let survivors = plan.survivors.saturating_mul(line_bytes(larger));
    Ok(format!(
        "files     {} and {}, about {} and {} lines\n\
         filter    {filter}{wanted}\n\
         memory    {} at most; up to about {} shared lines need no temporary files\n\
         disk      up to {} in temporary files, if all lines are shared\n\
         reads     the smaller file twice, the larger one once\n",
        size(smaller.bytes),
        size(larger.bytes),
        smaller.lines,
        larger.lines,
        size(memory.bytes()),
        plan.share.set_bytes / (line_bytes(larger) + RECORD_HEAD_BYTES as u64),
        size(spilled.saturating_add(survivors)),
    ))
}
