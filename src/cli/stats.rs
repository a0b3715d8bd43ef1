//! Prints a report as text or JSON.

use crate::kernel::steps;
use crate::kernel::sys::peak_resident_bytes;
use crate::size::ByteSize;
use crate::sort::{Report, Strategy};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::time::Duration;

/// How statistics are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum StatsFormat {
    /// For people
    Text,
    /// For programs: one object on one line
    Json,
}

/// The report in this format.
pub(super) fn render(report: &Report, format: StatsFormat) -> String {
    match format {
        StatsFormat::Text => text(report),
        StatsFormat::Json => json(report),
    }
}

fn strategy(report: &Report) -> &'static str {
    let other = if report.ranges { "ranges" } else { "merge" };
    report.strategy.map_or(other, Strategy::name)
}

fn text(report: &Report) -> String {
    let size = |bytes| ByteSize::from_bytes(bytes).to_string();
    let seconds = |time: Duration| format!("{:.2} s", time.as_secs_f64());
    let Report { lines, written, dropped, rejected, blank, headers, passes, .. } = report;
    let peak = report.peak_resident_bytes.map_or("unknown".into(), size);
    format!(
        "lines     {lines} = {written} written + {dropped} dropped + {rejected} rejected \
         + {blank} blank + {headers} headers\n\
         strategy  {}, input read {passes} time(s), {} threads\n\
         bytes     {} read, {} written, {} in temporary files\n\
         memory    {peak} at most, limit {}\n\
         time      {} sampling, {} reading, {} writing",
        strategy(report),
        report.threads,
        size(report.read_bytes),
        size(report.written_bytes),
        size(report.spilled_bytes),
        size(report.memory_limit_bytes),
        seconds(report.survey_time),
        seconds(report.load_time),
        seconds(report.emit_time),
    )
}

fn json(report: &Report) -> String {
    json!({
        "lines": report.lines,
        "values": report.values,
        "written": report.written,
        "dropped": report.dropped,
        "rejected": report.rejected,
        "blank": report.blank,
        "headers": report.headers,
        "strategy": strategy(report),
        "passes": report.passes,
        "threads": report.threads,
        "read_bytes": report.read_bytes,
        "written_bytes": report.written_bytes,
        "spilled_bytes": report.spilled_bytes,
        "peak_resident_bytes": report.peak_resident_bytes,
        "memory_limit_bytes": report.memory_limit_bytes,
        "survey_seconds": report.survey_time.as_secs_f64(),
        "load_seconds": report.load_time.as_secs_f64(),
        "emit_seconds": report.emit_time.as_secs_f64(),
    })
    .to_string()
}

/// The work of a command other than a sort.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// Counts with their names, in the order in which they are shown. Names of counts of bytes end
    /// in `_bytes`.
    pub(super) counts: Vec<(&'static str, u64)>,
    /// Bytes of input, over all passes.
    pub(super) read_bytes: u64,
    pub(super) memory_limit_bytes: u64,
    pub(super) threads: usize,
    pub(super) time: Duration,
}

impl Work {
    /// The text of the work in this format.
    pub(super) fn render(mut self, format: StatsFormat) -> String {
        self.counts.push(("read_bytes", self.read_bytes));
        let peak = peak_resident_bytes();
        match format {
            StatsFormat::Text => {
                let mut text = String::new();
                for (name, count) in &self.counts {
                    let _ = match name.strip_suffix("_bytes") {
                        Some(name) => writeln!(text, "{name:<9} {}", ByteSize::from_bytes(*count)),
                        None => writeln!(text, "{name:<9} {count}"),
                    };
                }
                let size = |bytes| ByteSize::from_bytes(bytes).to_string();
                let peak = peak.map_or("unknown".into(), size);
                let (limit, threads) = (size(self.memory_limit_bytes), self.threads);
                let seconds = self.time.as_secs_f64();
                let _ = write!(
                    text,
                    "memory    {peak} at most, limit {limit}\ntime      {seconds:.2} s, {threads} threads"
                );
                text
            }
            StatsFormat::Json => {
                let counts =
                    self.counts.into_iter().map(|(name, count)| (name.into(), count.into()));
                let mut object: Map<String, Value> = counts.collect();
                object.insert("peak_resident_bytes".into(), peak.into());
                object.insert("memory_limit_bytes".into(), self.memory_limit_bytes.into());
                if let Some(steps) = steps::taken() {
                    object.insert("steps".into(), steps.into());
                }
                object.insert("threads".into(), self.threads.into());
                object.insert("seconds".into(), self.time.as_secs_f64().into());
                Value::Object(object).to_string()
            }
        }
    }
}
