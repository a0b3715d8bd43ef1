//! A command that changes one file, run with a fault, and what is true after it.

use super::jobs::{Job, Larder};
use super::tally::Survived;
use crate::workspace::Workspace;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A folder with what a job reads, its destination `out/file` and its
/// temporary folder `tmp`.
pub(super) struct Scene<'l> {
    pub(super) work: Workspace,
    pub(super) job: &'static Job,
    larder: &'l Larder,
    old: Vec<u8>,
    /// What the job writes.
    pub(super) new: Vec<u8>,
    /// How long it takes.
    pub(super) whole: Duration,
}

/// How a run may end; it may always leave the old file and say why.
#[derive(Default)]
pub(super) struct Ends<'a> {
    /// Status of a run that was hit; 2 if it is not given.
    pub(super) signal: Option<Signal>,
    /// Parts of messages, one of which must be there.
    pub(super) messages: &'a [&'a str],
    /// What else may be written, beside what the job writes.
    pub(super) others: &'a [Vec<u8>],
    /// The fault is too early, or too heavy, to be finished with.
    pub(super) must_fail: bool,
}

pub(super) const INTERRUPTED: &str = ": interrupted; output files are as they were\n";

impl<'l> Scene<'l> {
    pub(super) fn new(larder: &'l Larder, job: &'static Job) -> Self {
        let work = Workspace::new();
        fs::create_dir(work.file("out")).unwrap();
        fs::create_dir(work.file("tmp")).unwrap();
        let old = larder.read(job.old);
        let mut scene = Self { work, job, larder, old, new: Vec::new(), whole: Duration::ZERO };
        for name in job.reads.iter().chain(&job.input) {
            scene.supply(name);
        }
        scene.reset();
        scene.run_unharmed();
        scene.new = scene.found();
        assert!(scene.new != scene.old, "{}: nothing would be seen", job.name);
        // The shortest of three: others may use the machine.
        let timed = || {
            scene.reset();
            let started = Instant::now();
            scene.run_unharmed();
            let whole = started.elapsed();
            assert!(scene.new == scene.found(), "{}: runs differ", job.name);
            whole
        };
        scene.whole = (0..3).map(|_| timed()).min().unwrap();
        scene.reset();
        scene
    }

    /// Copies what the job reads anew.
    pub(super) fn supply(&self, name: &str) {
        let _ = fs::remove_file(self.work.file(name));
        self.work.write(name, self.larder.read(name));
    }

    pub(super) fn destination(&self) -> PathBuf {
        self.work.file("out/file")
    }

    /// Bytes of what is there before.
    pub(super) fn old_bytes(&self) -> usize {
        self.old.len()
    }

    fn found(&self) -> Vec<u8> {
        fs::read(self.destination()).unwrap()
    }

    /// Puts the old file where the new one goes.
    pub(super) fn reset(&self) {
        fs::write(self.destination(), &self.old).unwrap();
    }

    /// What the job writes, as things are; `None` if it refuses.
    pub(super) fn writes(&self) -> Option<Vec<u8>> {
        let output = self.start(&[]).wait_with_output().unwrap();
        let written = output.status.success().then(|| self.found());
        self.reset();
        written
    }

    fn run_unharmed(&self) {
        let output = self.start(&[]).wait_with_output().unwrap();
        assert!(output.status.success(), "{}: {output:?}", self.job.name);
    }

    /// Starts the job, behind these words if there are any.
    pub(super) fn start(&self, before: &[&str]) -> Child {
        let (program, words) = self.line();
        let line: Vec<&str> = before.iter().copied().chain([program]).collect();
        self.spawn(Command::new(line[0]).args(&line[1..]).args(words))
    }

    /// Starts the job as somebody who has no rights but those of all.
    pub(super) fn start_as_stranger(&self) -> Child {
        let (program, words) = self.line();
        let name = Path::new(program).file_name().unwrap();
        let mut command = Command::new(self.larder.path().join(name));
        if rustix::process::geteuid().is_root() {
            command.uid(65_534).gid(65_534);
        }
        self.spawn(command.args(words))
    }

    fn line(&self) -> (&'static str, std::str::Split<'static, char>) {
        let mut words = self.job.line.split(' ');
        let program = match words.next() {
            Some("bitsort") => env!("CARGO_BIN_EXE_bitsort"),
            _ => env!("CARGO_BIN_EXE_bitset"),
        };
        (program, words)
    }

    fn spawn(&self, command: &mut Command) -> Child {
        command.current_dir(self.work.path()).env("TMPDIR", self.work.file("tmp"));
        let input = self.job.input.map(|name| File::open(self.work.file(name)).unwrap());
        command.stdin(input.map_or_else(Stdio::null, Stdio::from));
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Holds what a run left against how it may end, and makes it as it was.
    pub(super) fn judge(&self, output: &Output, ends: &Ends<'_>) -> Result<Survived, String> {
        let found = self.found();
        let outcome = self.outcome(output, ends, &found).and_then(|survived| {
            self.clean(output.status.signal() == Some(Signal::KILL.as_raw()))?;
            Ok(survived)
        });
        if found != self.old || outcome.is_err() {
            self.reset();
        }
        let message = String::from_utf8_lossy(&output.stderr);
        outcome
            .map_err(|what| format!("{}: {what}; {}, {:?}", self.job.name, output.status, message))
    }

    fn outcome(&self, output: &Output, ends: &Ends<'_>, found: &[u8]) -> Result<Survived, String> {
        let message = String::from_utf8_lossy(&output.stderr);
        let is_old = found == self.old;
        let is_other = ends.others.iter().any(|other| found == *other);
        let is_new = found == self.new || is_other;
        if output.status.success() {
            let is_notice = self.job.notice.is_some_and(|notice| message.starts_with(notice));
            let is_quiet = message.is_empty() || is_notice;
            return match (is_new && is_quiet, ends.must_fail) {
                (true, false) if found == self.new => Ok(Survived::Unmoved),
                (true, false) => Ok(Survived::Felt),
                (true, true) => Err("it finished all the same".into()),
                (false, _) => Err("it finished with something else".into()),
            };
        }
        let is_ours = message.starts_with("bitset: ") || message.starts_with("bitsort: ");
        match (output.status.signal(), ends.signal) {
            (Some(signal), Some(Signal::KILL)) if signal == Signal::KILL.as_raw() => {
                if is_old || is_new { Ok(Survived::Felt) } else { Err("a mixture".into()) }
            }
            (Some(signal), Some(sent)) if signal == sent.as_raw() => {
                // Before anything was set up there is nobody to say a word.
                let told = message.is_empty() || is_ours && message.ends_with(INTERRUPTED);
                match (is_old, told) {
                    (true, true) => Ok(Survived::Felt),
                    (true, false) => Err("it does not say why".into()),
                    (false, _) => Err("the destination is not as it was".into()),
                }
            }
            (None, None) if output.status.code() == Some(2) => {
                let told = is_ours && ends.messages.iter().any(|part| message.contains(part));
                match (is_old, told) {
                    (true, true) => Ok(Survived::Felt),
                    (true, false) => Err("it does not say why".into()),
                    (false, _) => Err("the destination is not as it was".into()),
                }
            }
            _ => Err("it ended otherwise than it should".into()),
        }
    }

    /// Looks for what is left over. Between the two calls that replace a file a
    /// kill leaves its second name, as the README says; nothing else. Where files have
    /// names from the start, it leaves such a name at any moment.
    fn clean(&self, killed: bool) -> Result<(), String> {
        for folder in ["out", "tmp"] {
            let Ok(entries) = fs::read_dir(self.work.file(folder)) else { continue };
            for entry in entries {
                let path = entry.unwrap().path();
                if path == self.destination() {
                    continue;
                }
                let is_ours = path.file_name().unwrap().to_string_lossy().starts_with(".bitsort-");
                let is_second = folder == "out" && fs::read(&path).unwrap() == self.new;
                let _ = fs::remove_file(&path);
                if !(killed && is_ours && (is_second || ALWAYS_NAMED)) {
                    return Err(format!("{} is left over", path.display()));
                }
            }
        }
        Ok(())
    }
}

/// Whether a file has a temporary name while it is written: see `src/sys/files.rs`.
pub(super) const ALWAYS_NAMED: bool = cfg!(any(not(target_os = "linux"), plain_unix));

/// Waits until `/proc/PID/file` says so of a program, however long it takes to start.
///
/// Without such files, or if it does not come to that, it goes on after a while.
pub(super) fn wait_until(child: &Child, file: &str, holds: impl Fn(&str) -> bool) {
    for _ in 0..1000 {
        std::thread::sleep(Duration::from_millis(10));
        match fs::read_to_string(format!("/proc/{}/{file}", child.id())) {
            Ok(told) if !holds(&told) => {}
            _ => return,
        }
    }
}

/// Waits until a program handles signals: one that comes earlier ends it without
/// a word. It sets the handler of SIGXFSZ after those of the signals that end it.
pub(super) fn wait_until_it_handles_signals(child: &Child) {
    wait_until(child, "status", |status| {
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or("0");
        let mask = u64::from_str_radix(mask.trim(), 16).unwrap();
        mask >> (Signal::XFSZ.as_raw() - 1) & 1 == 1
    });
}

pub(super) fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Numbers that look random and are the same in each run.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }

    /// A moment of a run that takes so long, or a little after it.
    pub(super) fn moment(&mut self, whole: Duration) -> Duration {
        whole * u32::try_from(self.below(1100)).unwrap() / 1000
    }
}
