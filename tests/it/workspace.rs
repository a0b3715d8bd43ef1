//! A folder and the program, for tests of the command line.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// An empty folder, and the program run in it.
pub(crate) struct Workspace(TempDir);

impl Workspace {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        fs::write(self.file(name), content).unwrap();
        self.file(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        String::from_utf8(fs::read(self.file(name)).unwrap()).unwrap()
    }

    /// Names in the folder, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bitsort"));
        command.args(args).current_dir(self.path()).env("TMPDIR", self.path());
        command
    }

    /// Runs `bitset` with the words of `line` and this on standard input;
    /// single quotes hold words together.
    pub(crate) fn set(&self, line: &str, input: &str) -> Ran {
        self.set_with(line, input.as_bytes())
    }

    /// The same, with any bytes on standard input.
    pub(crate) fn set_with(&self, line: &str, input: &[u8]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bitset"));
        command.args(words(line)).current_dir(self.path()).env("TMPDIR", self.path());
        feed(command, input)
    }

    /// Runs `bitset` with these arguments.
    pub(crate) fn set_args(&self, args: &[&str]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bitset"));
        command.args(args).current_dir(self.path()).env("TMPDIR", self.path());
        feed(command, b"")
    }

    /// Runs `bitsort` with the words of `line`.
    pub(crate) fn run(&self, line: &str) -> Ran {
        self.run_with(line, b"")
    }

    /// The same, with this on standard input.
    pub(crate) fn run_with(&self, line: &str, input: &[u8]) -> Ran {
        feed(self.command(line.split_whitespace()), input)
    }
}

/// The words of a line; single quotes hold words together.
pub(crate) fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split('\'').enumerate().flat_map(|(number, part)| {
        if number % 2 == 1 { vec![part] } else { part.split_whitespace().collect() }
    })
}

/// Runs a program with this on standard input.
fn feed(mut command: Command, input: &[u8]) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let feed = std::thread::spawn(move || {
        let _ = stdin.write_all(&input); // the program may not want it all
    });
    let output = child.wait_with_output().unwrap();
    feed.join().unwrap();
    Ran::from(output)
}

/// What a run printed and how it ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Ran {
    /// Asserts success and silence on standard error; gives the output.
    #[track_caller]
    pub(crate) fn quiet(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""));
        self.out
    }

    /// Asserts exit 2, nothing on standard output, and a message with `part`.
    #[track_caller]
    pub(crate) fn refused(&self, part: &str) {
        assert_eq!(self.code, Some(2), "{self:?}");
        assert_eq!(self.out, "", "{self:?}");
        assert!(self.err.contains(part), "expected {part:?} in {:?}", self.err);
        let program = ["bitsort: ", "bitset: ", "error: "];
        assert!(program.iter().any(|name| self.err.starts_with(name)), "{self:?}");
    }
}
