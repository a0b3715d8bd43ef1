//! Control groups that allow no more memory than `--mem` says.

use super::tally::{Survived, Tally};
use crate::workspace::Workspace;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

const MEBIBYTES: u64 = 64;

/// A control group of its own, removed when dropped.
struct Group {
    folder: PathBuf,
    /// Name of the file that counts how often the limit was met.
    met: &'static str,
}

impl Group {
    fn new() -> Option<Self> {
        let name = format!("bitsort-test-{}", std::process::id());
        for (root, limit, met) in [
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.failcnt"),
            ("/sys/fs/cgroup", "memory.max", "memory.events"),
        ] {
            let folder = Path::new(root).join(&name);
            if fs::create_dir(&folder).is_err() {
                continue;
            }
            let group = Self { folder, met };
            if fs::write(group.folder.join(limit), (MEBIBYTES << 20).to_string()).is_ok() {
                return Some(group);
            }
        }
        println!("SKIPPED: no control group can be made here");
        None
    }

    /// How often the limit was met.
    fn met(&self) -> u64 {
        let text = fs::read_to_string(self.folder.join(self.met)).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("max ").or(Some(line)));
        line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Runs commands in a group of 64 MiB, with inputs of several times as much.
pub(super) fn confine(tally: &mut Tally) {
    let Some(group) = Group::new() else { return };
    let work = Workspace::new();
    let mix = |index: u64| (index + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let write = |name: &str, range: std::ops::Range<u64>, line: &dyn Fn(u64) -> String| {
        let mut file = BufWriter::new(File::create(work.file(name)).unwrap());
        range.for_each(|index| file.write_all(line(index).as_bytes()).unwrap());
        file.flush().unwrap();
    };
    write("ids", 0..10_000_000, &|index| format!("{}\n", mix(index)));
    let url = |index| format!("https://example.org/{:x}\n", mix(index));
    write("keys", 0..4_000_000, &url);
    write("keys2", 2_000_000..6_000_000, &url);
    for line in [
        "bitsort ids -o out --mem 64M",
        "bitsort ids -o out --mem 64M --strategy spill",
        "bitsort ids -o out --mem 64M --strategy multi-pass",
        "bitset build ids -o out --mem 64M",
        "bitset bloom build keys -o out --mem 64M --threads 1",
        "bitset bloom dedup --exact keys -o out --mem 64M",
        "bitset bloom common keys keys2 -o out --mem 64M",
        "bitset bloom index build keys -o out --mem 64M",
    ] {
        tally.count("a control group of --mem", run(&work, &group, line));
    }
}

fn run(work: &Workspace, group: &Group, line: &str) -> Result<Survived, String> {
    let (program, words) = line.split_once(' ').unwrap();
    let program = match program {
        "bitsort" => env!("CARGO_BIN_EXE_bitsort"),
        _ => env!("CARGO_BIN_EXE_bitset"),
    };
    let started = |script: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh", program]).args(words.split(' '));
        command.current_dir(work.path()).env("TMPDIR", work.path()).output().unwrap()
    };
    let free = started("exec \"$@\"");
    let expected = fs::read(work.file("out")).unwrap();
    fs::remove_file(work.file("out")).unwrap();
    let before = group.met();
    let confined =
        started(&format!("echo $$ > {}/cgroup.procs; exec \"$@\"", group.folder.display()));
    let message = String::from_utf8_lossy(&confined.stderr);
    if !free.status.success() || !confined.status.success() {
        return Err(format!("{line}: {} {message}", confined.status));
    }
    if fs::read(work.file("out")).unwrap() != expected {
        return Err(format!("{line}: another result"));
    }
    Ok(if group.met() > before { Survived::Felt } else { Survived::Unmoved })
}
