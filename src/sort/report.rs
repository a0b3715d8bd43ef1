//! The report of a run.

#[cfg(any(fuzzing, feature = "_testing"))]
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
    /// Lines without anything on them.
    pub blank: u64,
    /// Header lines that were skipped.
    pub headers: u64,
    /// Whether lines stood for ranges: then a run of neighbours counts once among what was
    /// written, and a line that went into the run of another one was dropped.
    pub ranges: bool,
    /// The strategy; `None` if nothing was sorted (merge, ranges).
    pub strategy: Option<Strategy>,
    /// Times that the input was read.
    pub passes: u64,
    /// Bytes of input, each pass counted.
    pub read_bytes: u64,
    /// Bytes of output.
    pub written_bytes: u64,
    /// Bytes of temporary files.
    pub spilled_bytes: u64,
    /// How values were finished.
    #[cfg(any(fuzzing, feature = "_testing"))]
    #[doc(hidden)]
    pub ways: Ways,
    /// Largest resident memory of the process so far, in bytes, if known.
    pub peak_resident_bytes: Option<u64>,
    /// Memory limit in bytes.
    pub memory_limit_bytes: u64,
    /// Threads used.
    pub threads: usize,
    /// Looking at the inputs and planning.
    pub survey_time: Duration,
    /// Reading, parsing and partitioning.
    pub load_time: Duration,
    /// Finishing, formatting and writing.
    pub emit_time: Duration,
}
