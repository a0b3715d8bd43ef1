//! Files and folders that may not be read or written.

use super::jobs::{Larder, jobs};
use super::scene::{Ends, Scene};
use super::tally::Tally;
use super::{Effort, SmallDisk};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

const DENIED: &[&str] = &["Permission denied"];

fn allow(scene: &Scene<'_>, name: &str, mode: u32) {
    fs::set_permissions(scene.work.file(name), Permissions::from_mode(mode)).unwrap();
}

/// Takes rights away, one at a time.
pub(super) fn deny(larder: &Larder, effort: &Effort, tally: &mut Tally) {
    for job in jobs(effort) {
        let scene = Scene::new(larder, job);
        for (name, mode) in [("", 0o755), ("tmp", 0o777), ("out", 0o777), ("out/file", 0o666)] {
            allow(&scene, name, mode);
        }
        for name in job.reads {
            allow(&scene, name, 0o000);
            judge(&scene, "an input may not be read", tally);
            allow(&scene, name, 0o644);
        }
        for (name, without, with, category) in [
            ("out", 0o555, 0o777, "the folder of the output is read-only"),
            ("out/file", 0o444, 0o666, "the output is read-only"),
        ] {
            allow(&scene, name, without);
            judge(&scene, category, tally);
            allow(&scene, name, with);
        }
        if job.spills {
            allow(&scene, "tmp", 0o555);
            judge(&scene, "the temporary folder is read-only", tally);
            allow(&scene, "tmp", 0o777);
        }
    }
}

fn judge(scene: &Scene<'_>, category: &'static str, tally: &mut Tally) {
    let output = scene.start_as_stranger().wait_with_output().unwrap();
    let messages = &[DENIED[0], "have no room"];
    let ends = Ends { messages, must_fail: true, ..Ends::default() };
    tally.count(category, scene.judge(&output, &ends));
}

/// Makes the file system of the output read-only.
pub(super) fn freeze(larder: &Larder, effort: &Effort, tally: &mut Tally) {
    for job in jobs(effort) {
        let scene = Scene::new(larder, job);
        let out = scene.work.file("out");
        fs::remove_dir_all(&out).unwrap();
        let Some(disk) = SmallDisk::mount(out, "size=64m") else { return };
        scene.reset();
        disk.remount("ro");
        let output = scene.start(&[]).wait_with_output().unwrap();
        let messages = &["Read-only file system"];
        let ends = Ends { messages, must_fail: true, ..Ends::default() };
        tally.count("the file system is read-only", scene.judge(&output, &ends));
    }
}
