//! The report of a run.

#[cfg(feature = "_testing")]
use super::finish::ways::Ways;
use super::plan::strategy::Strategy;
use std::time::Duration;

/// The counts, sizes and times of a run.
///
/// Every run checks that `lines = values + rejected + blank + headers`, and
/// that every value was written or dropped.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Report {
    /// Lines of all inputs; in binary formats, values.
    pub lines: u64,
    /// Values among them.
    pub values: u64,
    /// Lines of the output; in binary formats, values.
    pub written: u64,
    /// Values that were not written because an equal one was, or because they
    /// occur once and only repeated ones were asked for.
    pub dropped: u64,
    /// Malformed lines.
    pub rejected: u64,
    /// Blank lines.
    pub blank: u64,
    /// Header lines that were skipped.
    pub headers: u64,
    /// Whether lines stood for ranges. Then each run counts once in `written`, and a line that
    /// became part of another line's run counts as dropped.
    pub ranges: bool,
    /// The strategy; `None` without a sort (ranges, and a merge that reads its inputs side by side).
    pub strategy: Option<Strategy>,
    /// Times that the input was read.
    pub passes: u64,
    /// Bytes of input that were read, counted in each pass.
    pub read_bytes: u64,
    /// Bytes of output.
    pub written_bytes: u64,
    /// Bytes of temporary files.
    pub spilled_bytes: u64,
    /// How values were finished.
    #[cfg(feature = "_testing")]
    #[doc(hidden)]
    pub ways: Ways,
    /// Largest resident memory of the process so far, in bytes, if known.
    pub peak_resident_bytes: Option<u64>,
    /// Memory limit in bytes.
    pub memory_limit_bytes: u64,
    /// Threads used.
    pub threads: usize,
    /// Time for sampling the inputs and planning.
    pub survey_time: Duration,
    /// Time for reading, parsing and partitioning, in all passes.
    pub load_time: Duration,
    /// Time for finishing, formatting and writing.
    pub emit_time: Duration,
}
