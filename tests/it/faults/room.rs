//! Disks that fill, and files that may not grow.

use super::jobs::{Larder, jobs};
use super::scene::{Ends, Scene};
use super::tally::{Survived, Tally};
use super::{Effort, SmallDisk};
use std::fs::{self, OpenOptions};
use std::path::Path;
use std::process::{Command, Output, Stdio};

const PAGE: usize = 4096;
const NO_SPACE: &[&str] = &["No space left on device"];

impl SmallDisk {
    fn resize(&self, pages: usize) {
        self.remount(&format!("size={}", pages * PAGE));
    }
}

/// Leaves less room for the output than it needs, from none on in even steps.
pub(super) fn fill_output(larder: &Larder, effort: &Effort, tally: &mut Tally) {
    for job in jobs(effort) {
        let scene = Scene::new(larder, job);
        let pages = |bytes: usize| bytes.div_ceil(PAGE);
        let (old, new) = (pages(scene.old_bytes()), pages(scene.new.len()));
        let out = scene.work.file("out");
        fs::remove_dir_all(&out).unwrap();
        let Some(disk) = SmallDisk::mount(out, "size=64m") else { return };
        scene.reset();
        for step in 0..effort.steps {
            disk.resize(old + new * step / effort.steps);
            let output = scene.start(&[]).wait_with_output().unwrap();
            let ends = Ends { messages: NO_SPACE, must_fail: true, ..Ends::default() };
            tally.count("the disk of the output is full", scene.judge(&output, &ends));
        }
    }
}

/// Leaves little room for temporary files, then twice as much, until it is
/// enough.
pub(super) fn fill_temporary(larder: &Larder, effort: &Effort, tally: &mut Tally) {
    for job in jobs(effort).filter(|job| job.spills) {
        let scene = Scene::new(larder, job);
        let folder = scene.work.file("tmp");
        fs::remove_dir(&folder).unwrap();
        let Some(disk) = SmallDisk::mount(folder, "size=64m") else { return };
        for doubled in 0.. {
            disk.resize(1 << doubled);
            let output = scene.start(&[]).wait_with_output().unwrap();
            let messages = &[NO_SPACE[0], "have no room", "are free"];
            let ends = Ends { messages, must_fail: doubled == 0, ..Ends::default() };
            let outcome = scene.judge(&output, &ends);
            let ended = outcome != Ok(Survived::Felt);
            tally.count("the disk of temporary files is full", outcome);
            if ended {
                break;
            }
        }
    }
}

/// Lets no file grow as large as the output, from nothing on in even steps.
pub(super) fn limit_files(larder: &Larder, effort: &Effort, tally: &mut Tally) {
    for job in jobs(effort) {
        let scene = Scene::new(larder, job);
        for step in 0..effort.steps {
            let blocks = scene.new.len() * step / effort.steps / 512;
            let script = format!("ulimit -f {blocks}; exec \"$@\"");
            let output = scene.start(&["sh", "-c", &script, "sh"]).wait_with_output().unwrap();
            let messages = &["File too large"];
            let ends = Ends { messages, must_fail: true, ..Ends::default() };
            tally.count("files may not grow", scene.judge(&output, &ends));
        }
    }
}

/// Prints to a device that has no room.
pub(super) fn fill_device(larder: &Larder, tally: &mut Tally) {
    if !Path::new("/dev/full").exists() {
        println!("SKIPPED: no /dev/full");
        return;
    }
    for line in [
        "bitsort ids",
        "bitsort ids --count",
        "bitsort -m ascending",
        "bitsort ids --explain",
        "bitset build ids",
        "bitset cat set",
        "bitset cat set --to bits",
        "bitset and set set2",
        "bitset and set set2 --count",
        "bitset contains set 5",
        "bitset filter set more",
        "bitset count set",
        "bitset min set",
        "bitset max set",
        "bitset rank set 7",
        "bitset select set 7",
        "bitset range set 0 99999",
        "bitset gaps set",
        "bitset sample set 5",
        "bitset info set",
        "bitset compare set set2",
        "bitset diff set set2",
        "bitset verify set",
        "bitset identify set",
        "bitset generate bash",
        "bitset bloom plan -n 5",
        "bitset bloom contains filter x",
        "bitset bloom contains filter -f keys",
        "bitset bloom filter -v filter keys",
        "bitset bloom dedup keys",
        "bitset bloom dedup --exact keys",
        "bitset bloom common keys keys2",
        "bitset bloom common keys keys2 --count",
        "bitset bloom info filter",
        "bitset bloom verify filter",
        "bitset bloom index get half https://example.org/9e3779b97f4a7c15",
        "bitset bloom index stat half.bix",
        "bitset bloom index verify half",
    ] {
        let (program, words) = line.split_once(' ').unwrap();
        let program = match program {
            "bitsort" => env!("CARGO_BIN_EXE_bitsort"),
            _ => env!("CARGO_BIN_EXE_bitset"),
        };
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(program);
        command.args(words.split(' ')).current_dir(larder.path()).stdin(Stdio::null());
        let output = command.stdout(full).stderr(Stdio::piped()).output().unwrap();
        tally.count("the output is a full device", told_of_space(line, &output));
    }
}

fn told_of_space(line: &str, output: &Output) -> Result<Survived, String> {
    let message = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(2) if message.contains(NO_SPACE[0]) => Ok(Survived::Felt),
        code => Err(format!("{line}: {code:?} {message}")),
    }
}
