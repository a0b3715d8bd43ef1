//! Inputs that are read as whole lines, either of text or of any bytes. In text, a byte-order mark
//! is no part of the first line.

use super::long_line::MAX_LINE_BYTES;
use super::open::{Input, OpenOptions, Opened, Opener, head_of, is_stdin, open_file};
use super::rule::{Purpose, Rule, Taken};
use crate::error::{Error, Result};
use crate::io::compression::Compression;
use crate::number::{Format, Selector};
use std::path::{Path, PathBuf};

/// A line of this length is accepted however little memory there is.
const MIN_LINE_BYTES: usize = 1 << 20;

/// Whether one of these files is compressed, or is a stream, which may be compressed.
pub(crate) fn may_unpack(paths: &[PathBuf]) -> bool {
    // A pipe would wait for its writer. Reading says why a file cannot be opened.
    paths.iter().any(|path| !is_regular(path) || is_compressed(path))
}

fn is_regular(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.is_file())
}

/// Whether this is a compressed file.
pub(crate) fn is_compressed(path: &Path) -> bool {
    is_regular(path)
        && open_file(path)
            .and_then(|file| head_of(&file, 0).map_err(Error::io("read", path)))
            .is_ok_and(|head| Compression::of_content(&head).is_some())
}

/// Files of lines, which the reader opens one after the other; `-` is standard input.
pub(crate) struct LineInputs {
    paths: Vec<PathBuf>,
    purpose: Purpose,
    terminator: u8,
    /// For delimited text, whose records may hold terminators in quotes.
    pub(super) selector: Option<Selector>,
    /// Memory to unpack a compressed file in.
    unpack_bytes: u64,
    leaves_out: bool,
}

impl LineInputs {
    /// Files of text: their lines, or whole records of delimited text.
    pub(crate) fn of_text(
        paths: Vec<PathBuf>,
        selector: Option<Selector>,
        unpack_bytes: u64,
    ) -> Self {
        let (purpose, terminator) = (Purpose::Text, b'\n');
        Self { paths, purpose, terminator, selector, unpack_bytes, leaves_out: false }
    }

    /// Files of any bytes.
    pub(crate) fn of_bytes(paths: Vec<PathBuf>, terminator: u8, unpack_bytes: u64) -> Self {
        let (purpose, selector) = (Purpose::Bytes, None);
        Self { paths, purpose, terminator, selector, unpack_bytes, leaves_out: false }
    }

    /// How the files are cut: into blocks of about `block_bytes`. Lines of more than `line_bytes`
    /// are refused.
    pub(super) fn rule(&self, block_bytes: usize, line_bytes: usize) -> Rule {
        Rule {
            taken: Taken::Lines { max_bytes: line_bytes.clamp(MIN_LINE_BYTES, MAX_LINE_BYTES) },
            format: Format::Text,
            terminator: self.terminator,
            has_mark: self.purpose == Purpose::Text,
            block_bytes: block_bytes.max(1),
        }
    }

    fn options(&self) -> OpenOptions<'static> {
        let (purpose, unpack_bytes) = (self.purpose, self.unpack_bytes);
        OpenOptions {
            purpose,
            format: Format::Text,
            unpack_bytes,
            table_bytes: 0, // it refuses tables
            column: None,
            keys: None,
            threads: 1,
            leaves_out: self.leaves_out,
        }
    }

    /// Whether malformed lines are left out.
    pub(crate) fn leaving_out(mut self, leaves_out: bool) -> Self {
        self.leaves_out = leaves_out;
        self
    }

    /// Opens the file of this number, if there is one.
    pub(super) fn open(&self, number: usize, opener: &mut Opener) -> Result<Option<Opened>> {
        let Some(path) = self.paths.get(number) else { return Ok(None) };
        let input = if is_stdin(path) { Input::Stdin } else { Input::Path(path.clone()) };
        let found = opener.open(input, self.options())?;
        found.pass()?;
        Ok(Some(found))
    }

    /// Bytes of all files together; none if one is a stream or compressed. Opens the files for a
    /// look.
    pub(crate) fn known_bytes(&self) -> Option<u64> {
        let len = |path: &PathBuf| {
            // Opening a pipe would wait for its writer, and would then take its bytes from the
            // reader.
            if !is_stdin(path) && !std::fs::metadata(path).ok()?.is_file() {
                return None;
            }
            let file = open_file(path).ok()?;
            let has_len = file.metadata().ok().is_some_and(|of| of.is_file() && of.len() > 0);
            let opened =
                has_len.then(|| Opened::file(String::new(), file, self.options()).ok())??;
            opened.len()
        };
        self.paths.iter().map(len).sum()
    }
}
