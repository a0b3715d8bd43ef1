//! Faults are injected: after each, the destination is as it was, nothing is
//! left over, and the message says what happened.

mod access;
mod groups;
mod jobs;
mod mapped;
mod moments;
mod room;
mod scene;
mod tally;

use crate::workspace::{Ran, Workspace};
use jobs::Larder;
use rustix::process::Signal;
use scene::{ALWAYS_NAMED, INTERRUPTED, Random, signal, wait_until_it_handles_signals};
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tally::Tally;

/// A small file system of its own, unmounted when dropped.
pub(crate) struct SmallDisk(PathBuf);

impl SmallDisk {
    fn remount(&self, options: &str) {
        let options = format!("remount,{options}");
        let mut mount = Command::new("mount");
        mount.args(["-o", &options]).arg(&self.0);
        // A process that another test is about to start has a copy of each open file for a moment.
        let mut tries = 0..100;
        while !mount.status().unwrap().success() {
            assert!(tries.next().is_some(), "{mount:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// `None`, with a word about it, where this user may not mount.
    pub(crate) fn mount(folder: PathBuf, options: &str) -> Option<Self> {
        fs::create_dir(&folder).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&folder);
        if mount.stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
            return Some(Self(folder));
        }
        assert!(std::env::var_os("BITSORT_ORACLES").is_none_or(|v| v != "required"), "no mount");
        println!("SKIPPED: mounting needs root");
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// How often each kind of fault is injected.
struct Effort {
    /// Moments at which a job is killed, and interrupted; a quarter of heavy ones.
    kills: u32,
    /// Moments at which an input of a job is changed in a way.
    changes: u32,
    /// The share of these ways, chosen at random.
    meddling_percent: u64,
    /// Sizes of disks.
    steps: usize,
    /// Whether there are inputs larger than the memory.
    heavy: bool,
}

fn inject(effort: &Effort, seed: u64) {
    println!("seed {seed}");
    let (larder, mut tally, mut random) = (Larder::new(effort), Tally::default(), Random(seed));
    mapped::cut(&larder, &mut tally);
    tally.print();
    moments::kill(&larder, effort, &mut random, &mut tally);
    tally.print();
    moments::meddle(&larder, effort, &mut random, &mut tally);
    tally.print();
    moments::lose_folder(&larder, effort, &mut random, &mut tally);
    tally.print();
    room::fill_output(&larder, effort, &mut tally);
    tally.print();
    room::fill_temporary(&larder, effort, &mut tally);
    tally.print();
    room::limit_files(&larder, effort, &mut tally);
    tally.print();
    room::fill_device(&larder, &mut tally);
    tally.print();
    access::deny(&larder, effort, &mut tally);
    tally.print();
    access::freeze(&larder, effort, &mut tally);
    tally.print();
    if effort.heavy {
        groups::confine(&mut tally);
        tally.print();
    }
    tally.close(effort.heavy);
}

#[test]
fn faults_of_every_kind_are_survived() {
    let few = Effort { kills: 2, changes: 1, meddling_percent: 20, steps: 1, heavy: false };
    inject(&few, 1);
}

#[test]
#[ignore = "takes many minutes: scripts/inject-faults"]
fn faults_at_two_hundred_moments_are_survived() {
    let seed = std::env::var("BITSORT_SEED").map_or(2, |seed| seed.parse().unwrap());
    let many = Effort { kills: 200, changes: 3, meddling_percent: 100, steps: 8, heavy: true };
    inject(&many, seed);
}

/// Wide values in no order, one a line.
fn lines(count: u64) -> String {
    let value = |i: u64| (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (0..count).map(|i| value(i).to_string() + "\n").collect()
}

#[test]
fn a_disk_that_fills_while_spilling_ends_the_run() {
    let work = Workspace::new();
    let Some(disk) = SmallDisk::mount(work.file("small"), "size=512k") else { return };
    work.write("ids", lines(200_000));
    work.write("out", "old");
    // The planner sees that it is too small, and reads the input in slices.
    assert_eq!(work.run("ids -o sliced -T small --mem 64M").code, Some(0));
    work.run("ids -o out -T small --mem 64M --strategy spill")
        .refused("temporary files would need");
    // A pipe hides its size: the disk fills on the way.
    let ran =
        work.run_with("-o out -T small --mem 64M --strategy spill", lines(6_000_000).as_bytes());
    ran.refused("cannot write a temporary file in small: No space left on device");
    assert!(ran.err.contains("hint: free some space"));
    assert_eq!(work.read("out"), "old");
    assert_eq!(fs::read_dir(&disk.0).unwrap().count(), 0);
    assert_eq!(work.names(), ["ids", "out", "sliced", "small"]);
}

#[test]
fn a_disk_that_fills_while_writing_leaves_the_destination() {
    let work = Workspace::new();
    let Some(disk) = SmallDisk::mount(work.file("small"), "size=512k") else { return };
    work.write("ids", lines(100_000));
    work.write("small/out", "old");
    let ran = work.run("ids -o small/out");
    ran.refused("cannot write ");
    assert!(ran.err.contains("small/out: No space left on device"), "{}", ran.err);
    assert_eq!(work.read("small/out"), "old");
    assert_eq!(fs::read_dir(&disk.0).unwrap().count(), 1);
}

#[test]
fn a_full_folder_of_temporary_files_is_named_and_not_the_output() {
    let work = Workspace::new();
    let Some(_disk) = SmallDisk::mount(work.file("small"), "size=64k") else { return };
    // With a value in most containers, even the smallest sets of them are larger than the disk.
    let far_apart = (0..50_000_u64).map(|id| (id * 70_001 % (1 << 32)).to_string() + "\n");
    work.write("ids", far_apart.collect::<String>());
    let to_stdout = ["bits", "sparse", "roaring-bits", "roaring"].map(|format| (format, ""));
    let to_file = ["delta", "clickhouse-u64", "doris"].map(|format| (format, " -o out"));
    for (format, output) in to_stdout.into_iter().chain(to_file) {
        let ran = work.set(&format!("build ids -T small --to {format}{output}"), "");
        ran.refused("cannot write a temporary file in small: No space left on device");
    }
    assert_eq!(work.names(), ["ids", "small"]);
}

#[test]
fn a_read_only_destination_is_refused_before_any_work() {
    let work = Workspace::new();
    work.write("ids", lines(10));
    let Some(disk) = SmallDisk::mount(work.file("fixed"), "size=512k,ro") else { return };
    work.run("ids -o fixed/out").refused("cannot create fixed/out: Read-only file system");
    drop(disk);
}

#[test]
fn files_without_permission_are_named() {
    let work = Workspace::new();
    fs::set_permissions(work.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_bitsort"), work.file("program")).unwrap();
    work.write("ids", "2\n1\n");
    let secret = work.write("secret", "1\n");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    let run = |line: &str| -> Ran {
        let mut command = Command::new(work.file("program"));
        command.args(line.split(' ')).current_dir(work.path());
        if rustix::process::geteuid().is_root() {
            command.uid(65_534); // root may read everything
        } else {
            fs::set_permissions(&secret, fs::Permissions::from_mode(0o000)).unwrap();
            fs::set_permissions(work.path(), fs::Permissions::from_mode(0o555)).unwrap();
        }
        Ran::from(command.output().unwrap())
    };
    run("secret").refused("cannot open secret: Permission denied");
    run("ids -o out").refused("cannot create out: Permission denied");
    if rustix::process::geteuid().is_root() {
        run("ids -o secret").refused("secret: Permission denied");
    }
    fs::set_permissions(work.path(), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(work.names(), ["ids", "program", "secret"]);
}

/// A run that sorts what it is fed, and is not fed to the end.
fn hungry(work: &Workspace, fed: u64, line: &str) -> Child {
    let mut command = work.command(line.split(' '));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::spawn(move || {
        // It ends when the program does.
        while stdin.write_all(lines(fed).as_bytes()).is_ok() {
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    child
}

#[test]
fn a_signal_ends_the_run_and_leaves_nothing() {
    let work = Workspace::new();
    fs::create_dir(work.file("tmp")).unwrap();
    for (moment, kind) in
        (0..12).zip([Signal::INT, Signal::TERM, Signal::HUP, Signal::KILL].iter().cycle())
    {
        if is_ignored(*kind) {
            continue;
        }
        work.write("out", "old");
        let child = hungry(&work, 20_000, "--mem 64M --strategy spill -T tmp -o out --rejects bad");
        wait_until_it_handles_signals(&child);
        std::thread::sleep(Duration::from_millis(moment * 37));
        signal(&child, *kind);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.signal(), Some(kind.as_raw()), "{output:?}");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        let expected = if *kind == Signal::KILL {
            ""
        } else {
            "bitsort: interrupted; output files are as they were\n"
        };
        assert_eq!(message, expected);
        assert_eq!(work.read("out"), "old");
        if ALWAYS_NAMED && *kind == Signal::KILL {
            for name in work.names().iter().filter(|name| name.starts_with(".bitsort-")) {
                fs::remove_file(work.file(name)).unwrap();
            }
        }
        assert_eq!(work.names(), ["out", "tmp"]);
        assert_eq!(fs::read_dir(work.file("tmp")).unwrap().count(), 0);
    }
}

/// Whether these tests were started to ignore a signal, as by `nohup`: then the programs do, too.
fn is_ignored(kind: Signal) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() >> (kind.as_raw() - 1) & 1 == 1
}

/// Sends a signal so many times to a program that waits for its input; gives its last words.
fn interrupt(work: &Workspace, program: &str, line: &str, times: u32) -> String {
    let mut command = Command::new(program);
    command.args(line.split(' ')).current_dir(work.path()).env("TMPDIR", work.path());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let stdin = child.stdin.take();
    wait_until_it_handles_signals(&child);
    std::thread::sleep(Duration::from_millis(90));
    let kind = [Signal::INT, Signal::TERM].into_iter().find(|kind| !is_ignored(*kind)).unwrap();
    for _ in 0..times {
        signal(&child, kind);
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    assert_eq!(output.status.signal(), Some(kind.as_raw()), "{line}: {output:?}");
    assert_eq!(work.names(), ["ids"], "{line}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_signal_ends_a_program_that_waits() {
    let work = Workspace::new();
    work.write("ids", lines(1000));
    let bitset = env!("CARGO_BIN_EXE_bitset");
    for (program, line) in [
        (env!("CARGO_BIN_EXE_bitsort"), "-o out"),
        (bitset, "contains ids"),
        (bitset, "filter ids"),
        (bitset, "build -o out"),
        (bitset, "add out"),
        (bitset, "bloom build -o out"),
        (bitset, "bloom dedup --exact -o out"),
        (bitset, "bloom common ids -"),
    ] {
        let message = interrupt(&work, program, line, 1);
        assert!(message.ends_with(INTERRUPTED), "{message}");
    }
}

/// As after `nohup`, and in scripts that ignore Ctrl-C.
#[test]
fn a_signal_that_is_ignored_ends_nothing() {
    let work = Workspace::new();
    for (name, kind) in [("INT", Signal::INT), ("TERM", Signal::TERM), ("HUP", Signal::HUP)] {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("trap '' {name}; exec \"$P\" -o out")]);
        command.env("P", env!("CARGO_BIN_EXE_bitsort")).current_dir(work.path());
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_until_it_handles_signals(&child);
        signal(&child, kind);
        signal(&child, kind);
        std::thread::sleep(Duration::from_millis(50));
        child.stdin.take().unwrap().write_all(b"7\n5\n").unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{name}: {output:?}");
        assert_eq!(work.read("out"), "5\n7\n");
        fs::remove_file(work.file("out")).unwrap();
    }
}

/// `timeout` sends its signal to the program, and then to the group, of which the program is one. A
/// busy machine may take longer between the two, but not each time.
#[test]
fn a_signal_that_comes_twice_at_once_is_one_signal() {
    let told = (0..20).any(|_| {
        let message = twice_at_once();
        assert!(message.is_empty() || message.ends_with(INTERRUPTED), "{message}");
        !message.is_empty()
    });
    assert!(told);
}

/// The last words of a program to which a signal came twice. It leaves nothing.
fn twice_at_once() -> String {
    let work = Workspace::new();
    let mut child = hungry(&work, 20_000, "--mem 64M --strategy spill -T . -o out --rejects bad");
    wait_until_it_handles_signals(&child);
    std::thread::sleep(Duration::from_millis(50));
    signal(&child, Signal::TERM);
    signal(&child, Signal::TERM);
    let status = child.wait().unwrap();
    let mut message = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut message).unwrap();
    assert_eq!(status.signal(), Some(Signal::TERM.as_raw()));
    assert_eq!(work.names(), Vec::<String>::new());
    message
}

/// The first signal lets the program end by itself for a while, and then say so. A busy
/// machine may take that long to send the second one, but not each time.
#[test]
fn a_second_signal_ends_a_program_without_a_word_and_leaves_nothing() {
    let work = Workspace::new();
    work.write("ids", lines(1000));
    for (program, line) in [
        (env!("CARGO_BIN_EXE_bitsort"), "-o out"),
        (env!("CARGO_BIN_EXE_bitset"), "bloom common ids - -o out"),
    ] {
        let ended_at_once = (0..20).any(|_| {
            let message = interrupt(&work, program, line, 2);
            assert!(message.is_empty() || message.ends_with(INTERRUPTED), "{message}");
            message.is_empty()
        });
        assert!(ended_at_once, "{line}");
    }
}

#[test]
fn a_destination_that_is_an_input_survives_a_malformed_line() {
    let work = Workspace::new();
    work.write("ids", "3\n1\nx\n");
    work.run("ids -o ids").refused("ids:3: byte 4");
    assert_eq!(work.read("ids"), "3\n1\nx\n");
    assert_eq!(work.names(), ["ids"]);
}

#[test]
fn an_endless_line_is_one_line_in_bounded_memory() {
    let work = Workspace::new();
    let mut text = b"5\n".to_vec();
    text.extend(vec![b' '; 3 << 20]);
    text.extend(b"00000000000042");
    text.extend(vec![b' '; 3 << 20]);
    text.extend(b"\n7\n");
    text.extend(vec![b'9'; 2 << 20]);
    text.extend(b"\n");
    text.extend(vec![b'\t'; 2 << 20]);
    assert_eq!(work.run_with("--invalid skip", &text).quiet(), "5\n7\n42\n");
    work.write("ids", &text);
    assert_eq!(work.run("--invalid skip ids").quiet(), "5\n7\n42\n");
    let place = 2 + (6 << 20) + 14 + 3 + 19;
    work.run("ids").refused(&format!("ids:4: byte {place}: expected a number below 2^64: \"9999"));
    work.run_with("", &text).refused(&format!("-:4: byte {place}: expected a number below"));
    assert!(Path::new(&work.file("ids")).exists());
}
