//! Faults at random moments of a run.

use super::Effort;
use super::jobs::{Larder, jobs};
use super::scene::{Ends, Random, Scene, signal};
use super::tally::Tally;
use rustix::process::Signal;
use std::fs;
use std::io::Write;

/// Ends runs that write files at so many moments each.
pub(super) fn kill(larder: &Larder, effort: &Effort, random: &mut Random, tally: &mut Tally) {
    for job in jobs(effort).filter(|job| job.killed) {
        let scene = Scene::new(larder, job);
        for (category, kind) in [("SIGKILL", Signal::KILL), ("SIGINT", Signal::INT)] {
            for _ in 0..if job.heavy { effort.kills / 4 } else { effort.kills } {
                let child = scene.start(&[]);
                std::thread::sleep(random.moment(scene.whole));
                signal(&child, kind);
                let output = child.wait_with_output().unwrap();
                let ends = Ends { signal: Some(kind), ..Ends::default() };
                tally.count(category, scene.judge(&output, &ends));
            }
        }
    }
}

/// What somebody else does to a file that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meddling {
    Shorten,
    Lengthen,
    Replace,
    Rename,
    Delete,
}

impl Meddling {
    const ALL: [(Self, &str); 5] = [
        (Self::Shorten, "an input gets shorter"),
        (Self::Lengthen, "an input gets longer"),
        (Self::Replace, "an input is replaced"),
        (Self::Rename, "an input is renamed"),
        (Self::Delete, "an input is deleted"),
    ];

    fn apply(self, scene: &Scene<'_>, name: &str) {
        let path = scene.work.file(name);
        let half = || {
            let bytes = fs::read(&path).unwrap();
            let half = bytes.len() / 2;
            bytes[..half].iter().rposition(|byte| *byte == b'\n').map_or(half, |end| end + 1)
        };
        match self {
            Self::Shorten => {
                fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(half() as u64)
            }
            Self::Lengthen => {
                let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
                let lines = fs::read(&path).unwrap();
                file.write_all(&lines[..half()])
            }
            Self::Replace => {
                let new = scene.work.file("new");
                let bytes = fs::read(&path).unwrap();
                fs::write(&new, &bytes[half()..]).and_then(|()| fs::rename(new, path))
            }
            Self::Rename => fs::rename(&path, scene.work.file("elsewhere")),
            Self::Delete => fs::remove_file(&path),
        }
        .unwrap();
    }
}

/// What a run says of an input that changed.
const CHANGED: &[&str] = &[
    "changed while it was read",
    "was shortened while it was read",
    "cannot open",
    ": byte ",
    "has changed",
    "bytes longer",
    "bytes shorter",
];

/// Changes what runs read.
pub(super) fn meddle(larder: &Larder, effort: &Effort, random: &mut Random, tally: &mut Tally) {
    for job in jobs(effort) {
        let scene = Scene::new(larder, job);
        for (meddling, category) in Meddling::ALL {
            if random.below(100) >= effort.meddling_percent {
                continue;
            }
            for name in job.reads.iter().chain(&job.input).copied() {
                let is_input = job.input == Some(name);
                if is_input && !matches!(meddling, Meddling::Shorten | Meddling::Lengthen) {
                    continue; // standard input is open before the run begins
                }
                meddling.apply(&scene, name);
                let others: Vec<_> = scene.writes().into_iter().collect();
                for _ in 0..effort.changes {
                    scene.supply(name);
                    let child = scene.start(&[]);
                    std::thread::sleep(random.moment(scene.whole));
                    meddling.apply(&scene, name);
                    let output = child.wait_with_output().unwrap();
                    let ends = Ends { messages: CHANGED, others: &others, ..Ends::default() };
                    let outcome = scene.judge(&output, &ends);
                    tally.count(category, outcome.map_err(|what| format!("{name}: {what}")));
                }
                scene.supply(name);
            }
        }
    }
}

/// Takes the temporary folder away.
pub(super) fn lose_folder(
    larder: &Larder,
    effort: &Effort,
    random: &mut Random,
    tally: &mut Tally,
) {
    for job in jobs(effort).filter(|job| job.spills) {
        let scene = Scene::new(larder, job);
        let folder = scene.work.file("tmp");
        for moment in 0..=effort.changes {
            let child = if moment == 0 {
                fs::remove_dir(&folder).unwrap();
                scene.start(&[])
            } else {
                let child = scene.start(&[]);
                std::thread::sleep(random.moment(scene.whole));
                fs::remove_dir(&folder).unwrap();
                child
            };
            let output = child.wait_with_output().unwrap();
            let messages = &["a temporary file in", "have no room", "cannot use the TMPDIR"];
            let ends = Ends { messages, must_fail: moment == 0, ..Ends::default() };
            tally.count("the temporary folder disappears", scene.judge(&output, &ends));
            fs::create_dir(&folder).unwrap();
        }
    }
}
