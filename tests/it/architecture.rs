//! The rules of docs/architecture.md: imports point down, and functions stay short.

use std::fs;
use std::path::{Path, PathBuf};

/// Rooms from the ground up. A room may import rooms of lower floors only, so
/// that rooms of one floor never know each other.
const FLOORS: &[&[&str]] = &[
    &["kernel", "size"],
    &["number", "progress"],
    &["error"],
    &["io"],
    &["set"],
    &["bloom", "plot"],
    &["sort"],
    &["lines"],
    &["benching", "cli", "fuzzing"],
];
/// Lines of the longest function, tests apart.
const MAX_LINES: usize = 80;

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

/// The functions of a formatted file: their first lines, from 1, and their lengths.
fn functions(text: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let words = code.split(['(', '<']).next().unwrap_or("").split(' ');
        if code.starts_with("//") || !words.into_iter().any(|word| word == "fn") {
            continue;
        }
        let indent = &line[..line.len() - code.len()];
        let end = lines[start..].iter().position(|line| {
            line.strip_prefix(indent).is_some_and(|rest| {
                rest == "}"
                    || (rest.ends_with(';') || rest.ends_with('}')) && !rest.starts_with(' ')
            })
        });
        found.push((start + 1, end.map_or(0, |end| end + 1)));
    }
    found
}

#[test]
fn functions_fit_in_the_head() {
    for path in rust_files(&source()).iter().filter(|path| !path.ends_with("tests.rs")) {
        let text = fs::read_to_string(path).unwrap();
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap();
        for (line, length) in functions(code) {
            let place = format!("{}:{line}", path.display());
            assert!(length <= MAX_LINES, "{place}: {length} lines, limit {MAX_LINES}");
        }
    }
}

#[test]
fn lengths_of_functions_are_counted() {
    let text =
        "fn a() {\n    b();\n}\n\nimpl T {\n    fn c(&self);\n    fn d(\n    ) {\n    }\n}\n";
    assert_eq!(functions(text), [(1, 3), (6, 1), (7, 3)]);
}
