//! The errors of this crate, with their places.

use crate::number::{Malformed, Notation};
use crate::progress::Progress;
use crate::size::ByteSize;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The beginning of a line or key in a form that a message can show.
pub(crate) fn excerpt(text: &[u8]) -> String {
    /// Most bytes that are shown.
    const MOST: usize = 40;
    let more = if text.len() > MOST { "…" } else { "" };
    format!("{}{more}", text[..text.len().min(MOST)].escape_ascii())
}

/// Everything that can go wrong in this crate.
///
/// `Display` states one fact. It leaves `source()` to the code that prints the error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An input line is not a natural number below 2^64.
    #[error("{input}:{line}: byte {offset}: {reason}: \"{excerpt}\"")]
    MalformedLine {
        /// Name as the user gave it; `-` is standard input.
        input: String,
        /// 1-based.
        line: u64,
        /// First bad byte, from the start of the input, 0-based.
        offset: u64,
        /// What was wrong.
        reason: Malformed,
        /// At most 40 bytes of the line, escaped.
        excerpt: String,
    },
    /// A line is no key of the kind that was asked for.
    #[error("{input}: byte {offset}: expected {expected}: \"{excerpt}\"")]
    NoKey {
        /// Name as the user gave it; `-` is standard input.
        input: String,
        /// Where its line or record begins, from the start of the input, 0-based.
        offset: u64,
        /// What a key is.
        expected: &'static str,
        /// At most 40 bytes of the key, escaped.
        excerpt: String,
    },
    /// A row of delimited text does not have the column of keys.
    #[error("{input}: byte {offset}: {}: \"{excerpt}\"", Malformed::MissingField)]
    NoField {
        /// Name as the user gave it; `-` is standard input.
        input: String,
        /// Where the row begins, from the start of the input, 0-based.
        offset: u64,
        /// At most 40 bytes of the row, escaped.
        excerpt: String,
    },
    /// A row of a table holds no natural number.
    #[error("{input}: row {row}: {reason}: {excerpt}")]
    MalformedRow {
        /// Name as the user gave it.
        input: String,
        /// 1-based.
        row: u64,
        /// What was wrong.
        reason: Malformed,
        /// The value.
        excerpt: String,
    },
    /// A row of a table of bitmaps has a value that no set can hold.
    #[error("{input}: row {row}: {what}")]
    BitmapRow {
        /// Name as the user gave it.
        input: String,
        /// 1-based.
        row: u64,
        /// The fault, and the number that has it.
        what: String,
    },
    /// A table has no such column of numbers.
    #[error("{input}: {what}")]
    TableColumn {
        /// Name as the user gave it.
        input: String,
        /// What it has instead.
        what: String,
        /// The kind of the fault.
        fault: ColumnFault,
    },
    /// A table in a format that is not read, and has no lines.
    #[error("{input} is a table in a format that is not read: {format}")]
    UnreadTable {
        /// Name as the user gave it.
        input: String,
        /// The format.
        format: UnreadTable,
    },
    /// A file of a format that this program was built without.
    #[error("{input} is in {format} format, and this build has no feature columnar to read it")]
    LeftOut {
        /// Name as the user gave it.
        input: String,
        /// The format.
        format: &'static str,
    },
    /// A binary input ends inside a value.
    #[error("{input}: byte {offset}: the last {extra} bytes are less than one {format} value")]
    TruncatedValue {
        /// Name as the user gave it.
        input: String,
        /// Where the incomplete value begins, 0-based.
        offset: u64,
        /// Bytes of it that are there.
        extra: u64,
        /// Name of the format.
        format: &'static str,
    },
    /// An input to be merged is not sorted.
    #[error(
        "{input}:{line}: {} follows {}: an input to merge must be sorted",
        written(*notation, *value), written(*notation, *previous),
    )]
    Unsorted {
        /// Name as the user gave it.
        input: String,
        /// Number of the line (of the value, in binary formats), 1-based.
        line: u64,
        /// The value before.
        previous: u64,
        /// The value out of order.
        value: u64,
        /// How the input writes numbers.
        notation: Notation,
    },
    /// The header of a delimited file has no such column, or several.
    #[error("{input}:1: {} named \"{column}\"", if *found == 0 { "no column is".to_owned() } else { format!("{found} columns are") })]
    NoSuchColumn {
        /// Name as the user gave it.
        input: String,
        /// Columns of that name.
        found: usize,
        /// The name looked for.
        column: String,
    },
    /// A value does not fit in the output format.
    #[error("{value} does not fit in {format}")]
    ValueTooLarge {
        /// The value.
        value: u64,
        /// Name of the format.
        format: &'static str,
    },
    /// A line is longer than those that are taken.
    #[error(
        "{input}: byte {offset}: a line longer than {limit}{}",
        if *by_memory { ", which is all that the memory allows" } else { "" }
    )]
    LineTooLong {
        /// Name as the user gave it.
        input: String,
        /// Where it begins, 0-based.
        offset: u64,
        /// The longest line that is taken.
        limit: ByteSize,
        /// Whether more memory would take longer ones.
        by_memory: bool,
    },
    /// A line is too long to be compared with all others.
    #[error("a line has {bytes} bytes: lines of more than {limit} are not compared")]
    LineNotCompared {
        /// Its length.
        bytes: u64,
        /// The longest line that is compared.
        limit: ByteSize,
    },
    /// The operating system refused.
    #[error("cannot {action} {path}", path = shown(action, path))]
    Io {
        /// Verb of "cannot … FILE".
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A regular file became shorter, or its content changed, while it was read.
    #[error("{input} changed while it was read: expected {expected} {unit}, found {found}")]
    InputChanged {
        /// Name as the user gave it.
        input: String,
        /// What was there at the start of the run.
        expected: u64,
        /// What was found.
        found: u64,
        /// Bytes or values.
        unit: &'static str,
    },
    /// A file that is read more than once was not the same each time.
    #[error("{input} changed while it was read: it was written to, or another took its place")]
    InputRewritten {
        /// Name as the user gave it.
        input: String,
    },
    /// The bytes of a set contradict its format.
    #[error("{input}: byte {offset}: {what}")]
    Damaged {
        /// Name as the user gave it.
        input: String,
        /// Where, 0-based.
        offset: u64,
        /// What is wrong there.
        what: &'static str,
    },
    /// A folder is no whole set in parts.
    #[error("{folder}: {fault}", folder = folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The fault.
        fault: FolderFault,
    },
    /// The bytes of an index contradict its format.
    #[error("{input}: byte {offset}: {what}")]
    DamagedIndex {
        /// Name as the user gave it.
        input: String,
        /// Where, 0-based.
        offset: u64,
        /// What is wrong there.
        what: &'static str,
    },
    /// Ranges have more values than containers or single values can be made of, or than can be
    /// counted.
    #[error("the set up to {last} is too wide: ranges have at most about {limit} values here")]
    TooWide {
        /// First value of the range that is too much.
        first: u64,
        /// The last value up to which there are too many.
        last: u64,
        /// The most values that ranges may have.
        limit: u64,
    },
    /// A set of IPv4 addresses has a value above all of them.
    #[error("{input} has {value}, which is no IPv4 address")]
    NoIpv4 {
        /// Name as the user gave it.
        input: String,
        /// The value.
        value: u64,
    },
    /// What a file holds is not known.
    #[error("{input}: cannot convert: not recognized; a raw bitmap has no mark")]
    Unrecognized {
        /// Name as the user gave it.
        input: String,
    },
    /// What a file holds is no set that can be converted.
    #[error("{input}: cannot convert: {found}")]
    NotConvertible {
        /// Name as the user gave it.
        input: String,
        /// What it holds.
        found: String,
    },
    /// A file is not what its index was made of.
    #[error("{data} is not what {index} was made of: {change}")]
    Outdated {
        /// The file.
        data: String,
        /// Its index.
        index: String,
        /// What is different.
        change: DataChange,
    },
    /// A function of the caller failed, to which the crate had given lines or values; see
    /// [`Error::caller`].
    #[error("a function of the caller failed")]
    Caller {
        /// Its error.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The memory limit is below what any plan needs.
    #[error(
        "a memory limit of {limit_bytes} bytes is too small: at least {needed_bytes} are needed"
    )]
    MemoryLimitTooSmall {
        /// What was asked for.
        limit_bytes: u64,
        /// What is needed.
        needed_bytes: u64,
    },
    /// No strategy fits the limits.
    #[error("no way to sort this within the limits ({reasons})")]
    NoPlan {
        /// What keeps each strategy from working.
        reasons: String,
    },
    /// A filter that grows with its keys has no memory left to grow in.
    #[error("no memory is left for more than {keys} different lines at this rate")]
    FilterFull {
        /// Different keys that it took.
        keys: u64,
    },
    /// The operating system did not give memory.
    #[error("cannot reserve {bytes} bytes of memory")]
    OutOfMemory {
        /// How much was asked for.
        bytes: u64,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The data does not fit in memory, temporary files are forbidden, and an
    /// input cannot be read twice.
    #[error("{input} does not fit in the memory limit and cannot be read twice")]
    CannotReread {
        /// Name as the user gave it.
        input: String,
    },
    /// Options that contradict each other, or a value out of its range.
    #[error("{what}")]
    Usage {
        /// One clause.
        what: String,
    },
    /// The run was cancelled. If one thread fails, the others end with this error too; the run gives
    /// that of the thread that failed.
    #[error("interrupted")]
    Interrupted,
    /// Counts do not add up, or values would be out of order: a defect of this program.
    #[error("internal check failed: {what}; what was written so far is not to be used")]
    Accounting {
        /// What was compared.
        what: String,
    },
}

/// How a file differs from what its index was made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DataChange {
    /// So many bytes longer.
    Longer(u64),
    /// So many bytes shorter.
    Shorter(u64),
    /// Other bytes in the block that begins here.
    Other(u64),
}

impl fmt::Display for DataChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Longer(1) => f.write_str("it is 1 byte longer"),
            Self::Longer(bytes) => write!(f, "it is {bytes} bytes longer"),
            Self::Shorter(1) => f.write_str("it is 1 byte shorter"),
            Self::Shorter(bytes) => write!(f, "it is {bytes} bytes shorter"),
            Self::Other(offset) => write!(f, "the block at byte {offset} has changed"),
        }
    }
}

/// Why a folder is no whole set in parts, or cannot become one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FolderFault {
    /// It has no manifest: the program that writes it has not finished.
    #[error("no _manifest.json: the folder is no set, or an incomplete one")]
    NoManifest,
    /// The manifest contradicts its format.
    #[error("_manifest.json is no manifest of this version, or its numbers do not add up")]
    Manifest,
    /// The row of a part contradicts itself, or the part.
    #[error("{0} is not the part that _manifest.json tells of")]
    Row(String),
    /// Two parts have values that share all but their lowest 16 bits.
    #[error("the windows of {0} and {1} overlap: windows begin at multiples of 65536")]
    Overlap(String, String),
    /// A part is not there.
    #[error("{0} is missing")]
    Missing(String),
    /// A part was cut off, or is another one.
    #[error("{name} has {found} bytes, and {expected} by _manifest.json")]
    Bytes {
        /// Its name.
        name: String,
        /// Its length by the manifest.
        expected: u64,
        /// The length of the file.
        found: u64,
    },
    /// The bytes of a part are not those that were written.
    #[error("{0} has another checksum than _manifest.json says")]
    Checksum(String),
    /// The folder has files that belong to no set.
    #[error("it has {0}, which is no part of a set: the folder is not replaced")]
    Foreign(String),
    /// A set in parts is not changed in place.
    #[error("a set in parts is not changed in place")]
    Fixed,
}

/// A format of tables that is known, but not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnreadTable {
    /// Parquet with an encrypted footer.
    EncryptedParquet,
    /// Feather before it was Arrow IPC.
    Feather1,
}

impl fmt::Display for UnreadTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EncryptedParquet => "encrypted Parquet",
            Self::Feather1 => "Feather of version 1",
        })
    }
}

/// Why a table does not give a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnFault {
    /// The choice names no column, or several may be meant.
    NotChosen,
    /// The column has values of a type that is not read.
    OtherType,
    /// No column has values of a type that is read.
    NoneOfType,
    /// It has no Bloom filter.
    NoFilter,
    /// The table has no rows of Spark's bitmaps.
    NoBitmaps,
}

impl FolderFault {
    /// The error that names the folder.
    pub(crate) fn of(self, folder: impl Into<PathBuf>) -> Error {
        Error::Folder { folder: folder.into(), fault: self }
    }
}

/// The error of the system that `tempfile` has put into one of its own, which has no way to it but
/// its text.
fn of_system(wrapped: &io::Error) -> Option<io::Error> {
    let text = wrapped.get_ref()?.to_string();
    let (error, _temporary) = text.split_once(") at path ")?;
    let (_, code) = error.rsplit_once("(os error ")?;
    Some(io::Error::from_raw_os_error(code.parse().ok()?))
}

/// The name of a file for a message, which shows an empty one, too.
fn shown(action: &str, path: &Path) -> impl fmt::Display {
    match path.to_str() {
        Some("") => "\"\"".to_owned(),
        Some("-") if action == "write" => "standard output".to_owned(),
        _ => path.display().to_string(),
    }
}

/// The value as its input has it.
fn written(notation: Notation, value: u64) -> String {
    notation.text(value).unwrap_or_else(|| value.to_string())
}

impl Error {
    /// Wraps an error of the caller, so that a function of the caller can pass it through the
    /// crate.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::Error;
    /// use bitsort::lines::LineTools;
    /// use std::io::Write;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("keys.txt");
    /// std::fs::write(&path, "fox\ncow\nfox\n")?;
    /// let mut out = std::io::stdout().lock();
    /// LineTools::new().distinct([path], |lines| out.write_all(lines).map_err(Error::caller))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn caller(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Caller { source: error.into() }
    }

    /// The error that a run gives if it met both: a thread that was interrupted knows less than one
    /// that failed.
    pub(crate) fn or_worse(self, other: Self) -> Self {
        if matches!(self, Self::Interrupted) { other } else { self }
    }

    /// The results of threads, or the error that says most.
    pub(crate) fn worst_of<T>(results: impl IntoIterator<Item = Result<T>>) -> Result<Vec<T>> {
        let (mut found, mut worst) = (Vec::new(), None::<Self>);
        for result in results {
            match (result, worst.take()) {
                (Err(error), Some(before)) => worst = Some(before.or_worse(error)),
                (Err(error), None) => worst = Some(error),
                (Ok(one), before) => {
                    found.push(one);
                    worst = before;
                }
            }
        }
        worst.map_or(Ok(found), Err)
    }

    /// [`Interrupted`](Self::Interrupted), once somebody wants the run to end.
    pub(crate) fn if_cancelled(progress: &Progress) -> Result<()> {
        if progress.is_cancelled() { Err(Self::Interrupted) } else { Ok(()) }
    }

    /// Attaches an action and a file to an I/O error; for `map_err`. An error of this type inside it
    /// knows better, and stays as it is. A library may wrap an error of the system, and name its own
    /// temporary file: then the error of the system is taken.
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| {
            source.downcast().unwrap_or_else(|source| {
                let source = of_system(&source).unwrap_or(source);
                Self::Io { action, path, source }
            })
        }
    }

    /// Attaches the number of bytes to a refusal of memory; for `map_err`.
    pub(crate) fn no_memory(bytes: usize) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::OutOfMemory { bytes: bytes as u64, source }
    }

    /// A folder where a file is needed.
    pub(crate) fn directory(action: &'static str, path: impl Into<PathBuf>) -> Self {
        let source = io::Error::from(io::ErrorKind::IsADirectory);
        Self::Io { action, path: path.into(), source }
    }

    /// A contradiction in what was asked for.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self::Usage { what: what.into() }
    }

    /// Whether the reader of the output went away.
    #[must_use]
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Whether a file is not there.
    #[cfg(feature = "cli")]
    pub(crate) fn is_no_file(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// Whether there is no room on a disk.
    pub(crate) fn is_full_disk(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_outranks_an_interruption() {
        let failed = |what: &str| Error::usage(what);
        let interrupted = || Error::Interrupted;
        assert_eq!(failed("one").or_worse(interrupted()).to_string(), "one");
        assert_eq!(interrupted().or_worse(failed("other")).to_string(), "other");
        assert_eq!(failed("one").or_worse(failed("other")).to_string(), "one");
        assert!(matches!(interrupted().or_worse(interrupted()), Error::Interrupted));
    }
}
