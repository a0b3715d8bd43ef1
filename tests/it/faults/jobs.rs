//! Commands that write a file, and what they read.

use super::Effort;
use crate::workspace::Workspace;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A command that writes `out/file`.
pub(super) struct Job {
    pub(super) name: &'static str,
    /// Program and words.
    pub(super) line: &'static str,
    /// What is in `out/file` before.
    pub(super) old: &'static str,
    /// What it reads by name.
    pub(super) reads: &'static [&'static str],
    /// What it reads from standard input.
    pub(super) input: Option<&'static str>,
    /// How a notice begins that it may give when it succeeds.
    pub(super) notice: Option<&'static str>,
    /// Whether it needs temporary files.
    pub(super) spills: bool,
    /// Whether it is one of those that are killed at many moments.
    pub(super) killed: bool,
    /// Whether it takes so long that only the full count has it.
    pub(super) heavy: bool,
}

/// The jobs that are done with this effort.
pub(super) fn jobs(effort: &Effort) -> impl Iterator<Item = &'static Job> {
    JOBS.iter().filter(|job| effort.heavy || !job.heavy)
}

const PLAIN: Job = Job {
    name: "",
    line: "",
    old: "ids",
    reads: &[],
    input: None,
    notice: None,
    spills: false,
    killed: false,
    heavy: false,
};

const JOBS: &[Job] = &[
    Job { name: "sort in place", line: "bitsort out/file -o out/file", killed: true, ..PLAIN },
    Job {
        name: "bitset build",
        line: "bitset build ids -o out/file",
        old: "set",
        reads: &["ids"],
        killed: true,
        ..PLAIN
    },
    Job {
        name: "bitset add",
        line: "bitset add out/file",
        old: "set",
        input: Some("more"),
        killed: true,
        ..PLAIN
    },
    Job {
        name: "bitset remove",
        line: "bitset remove out/file",
        old: "wide",
        input: Some("more"),
        killed: true,
        ..PLAIN
    },
    Job {
        name: "bitset and",
        line: "bitset and set set2 -o out/file",
        reads: &["set", "set2"],
        ..PLAIN
    },
    Job {
        name: "bitset or, 64 bits",
        line: "bitset or wide set -o out/file",
        reads: &["wide", "set"],
        ..PLAIN
    },
    Job {
        name: "bitset cat",
        line: "bitset cat set --to roaring -o out/file",
        reads: &["set"],
        ..PLAIN
    },
    Job {
        name: "bitset apply",
        line: "bitset apply out/file changes",
        old: "set",
        reads: &["changes"],
        ..PLAIN
    },
    Job {
        name: "bloom build",
        line: "bitset bloom build keys -o out/file --threads 1",
        old: "filter",
        reads: &["keys"],
        ..PLAIN
    },
    Job {
        name: "bloom build of a pipe",
        line: "bitset bloom build -o out/file --threads 1",
        old: "filter",
        input: Some("keys"),
        spills: true,
        ..PLAIN
    },
    Job {
        name: "bloom add",
        line: "bitset bloom add out/file -f keys --threads 1",
        old: "filter",
        reads: &["keys"],
        killed: true,
        ..PLAIN
    },
    Job {
        name: "bloom remove",
        line: "bitset bloom remove out/file -f keys2",
        old: "counting",
        reads: &["keys2"],
        // Keys that come twice in an input that gets longer are gone the second time.
        notice: Some("bitset: out/file did not have "),
        ..PLAIN
    },
    Job {
        name: "bloom merge",
        line: "bitset bloom merge filter filter2 -o out/file",
        reads: &["filter", "filter2"],
        ..PLAIN
    },
    Job {
        name: "bloom filter",
        line: "bitset bloom filter filter2 keys -o out/file",
        reads: &["filter2", "keys"],
        ..PLAIN
    },
    Job {
        name: "bloom dedup",
        line: "bitset bloom dedup --exact keys -o out/file --mem 1M",
        reads: &["keys"],
        spills: true,
        ..PLAIN
    },
    Job {
        name: "bloom common",
        line: "bitset bloom common keys keys2 -o out/file --mem 256K",
        reads: &["keys", "keys2"],
        spills: true,
        ..PLAIN
    },
    Job {
        name: "bloom index build",
        line: "bitset bloom index build keys -o out/file",
        reads: &["keys"],
        ..PLAIN
    },
    Job {
        name: "bloom index append",
        line: "bitset bloom index build keys -o out/file --append",
        old: "half.bix",
        reads: &["keys"],
        killed: true,
        ..PLAIN
    },
    Job {
        name: "sort, spilling",
        line: "bitsort many -o out/file --mem 64M --strategy spill",
        old: "set",
        reads: &["many"],
        spills: true,
        killed: true,
        heavy: true,
        ..PLAIN
    },
];

/// Files that jobs read and replace.
pub(super) struct Larder(Workspace);

impl Larder {
    pub(super) fn new(effort: &Effort) -> Self {
        let work = Workspace::new();
        fs::set_permissions(work.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for program in [env!("CARGO_BIN_EXE_bitsort"), env!("CARGO_BIN_EXE_bitset")] {
            let name = Path::new(program).file_name().unwrap();
            fs::copy(program, work.path().join(name)).unwrap(); // where all may enter
        }
        let mix = |index: u64| (index + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let numbers = |count: u64, value: &dyn Fn(u64) -> u64| {
            let mut text = String::new();
            (0..count).for_each(|index| writeln!(text, "{}", value(index)).unwrap());
            text
        };
        let lines = |from: u64, to: u64| {
            let mut text = String::new();
            (from..to).for_each(|id| writeln!(text, "https://example.org/{:x}", mix(id)).unwrap());
            text
        };
        if effort.heavy {
            work.write("many", numbers(6_000_000, &mix));
        }
        work.write("ids", numbers(60_000, &mix));
        let more = numbers(30_000, &|index| mix(index) >> 44);
        work.write("changes", more.lines().fold(String::new(), |text, id| text + "+" + id + "\n"));
        work.write("more", more);
        work.write("ascending", numbers(60_000, &|index| index));
        work.write("keys", lines(0, 30_000));
        work.write("keys2", lines(20_000, 40_000));
        let keys = fs::read(work.file("keys")).unwrap();
        let half = keys[..keys.len() / 2].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
        work.write("half", &keys[..half]);
        for (line, input) in [
            ("build -o set", numbers(80_000, &|index| mix(index) >> 40)),
            ("build -o set2", numbers(80_000, &|index| mix(index / 2) >> 40)),
            (
                "build -o wide",
                numbers(40_000, &|index| mix(index) >> if index % 2 == 0 { 28 } else { 44 }),
            ),
            ("bloom build -n 100K -o filter --seed 5", lines(50_000, 60_000)),
            ("bloom build -n 100K -o filter2 --seed 5", lines(10_000, 20_000)),
            ("bloom build -n 40K -o counting --design counting", lines(0, 40_000)),
            ("bloom index build half -o half.bix", String::new()),
        ] {
            work.set(line, &input).quiet();
        }
        Self(work)
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(super) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.0.file(name)).unwrap()
    }
}
