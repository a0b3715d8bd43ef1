//! The folders keep their promises: imports point down, files stay small.

use std::fs;
use std::path::{Path, PathBuf};

/// Rooms from the ground up. A room may import rooms of lower floors only, so
/// that rooms of one floor never know each other.
const FLOORS: &[&[&str]] = &[
    &["simd", "sys", "size", "steps", "format", "compression", "plot"],
    &["bitmap", "container", "text", "progress"],
    &["error", "view"],
    &["table"],
    &["bits", "input", "output"],
    &["sort", "bloom"],
    &["set"],
    &["benching", "cli", "fuzzing"],
];
const MAX_LINES: usize = 400;

fn floor(room: &str) -> Option<usize> {
    FLOORS.iter().position(|rooms| rooms.contains(&room))
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] }).collect()
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The room that a file belongs to; none for `lib.rs` and the programs.
fn room(file: &Path) -> Option<(String, usize)> {
    let inside = file.strip_prefix(source()).unwrap();
    let room = inside.iter().next()?.to_str()?.trim_end_matches(".rs").to_owned();
    let floor = floor(&room)?;
    Some((room, floor))
}

#[test]
fn every_room_has_a_floor() {
    for path in rust_files(&source()) {
        let inside = path.strip_prefix(source()).unwrap();
        let above = inside == Path::new("lib.rs") || inside.starts_with("bin");
        assert!(above || room(&path).is_some(), "{}: on no floor", inside.display());
    }
}

#[test]
fn imports_point_down() {
    for path in rust_files(&source()) {
        // A kernel's tests may hold it against the reference a floor above.
        if path.ends_with("tests.rs") {
            continue;
        }
        let Some((room, here)) = room(&path) else { continue };
        for (number, line) in fs::read_to_string(&path).unwrap().lines().enumerate() {
            let place = format!("{}:{}", path.display(), number + 1);
            if line.trim_start().starts_with("//") {
                continue;
            }
            for used in line.split("crate::").skip(1) {
                assert!(!used.starts_with('{'), "{place}: one `use crate::room` a line");
                let name = used.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
                let Some(there) = floor(name) else { continue };
                assert!(there < here || name == room, "{place}: {room} may not import {name}");
            }
        }
    }
}

#[test]
fn files_fit_in_the_head() {
    for path in rust_files(&source()) {
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        assert!(lines <= MAX_LINES, "{}: {lines} lines, limit {MAX_LINES}", path.display());
    }
}
