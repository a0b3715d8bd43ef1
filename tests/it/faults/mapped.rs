//! Mapped files that somebody shortens while they are asked.

use super::jobs::Larder;
use super::scene::wait_until;
use super::tally::{Survived, Tally};
use crate::workspace::Workspace;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

/// Lets a program answer once, takes a file's bytes away, and asks again.
pub(super) fn cut(larder: &Larder, tally: &mut Tally) {
    for (line, victim, files, question) in [
        ("contains set", "set", &["set"][..], "7"),
        ("contains wide", "wide", &["wide"], "7"),
        ("contains r.roaring", "r.roaring", &["set"], "7"),
        ("bloom contains filter", "filter", &["filter"], "7"),
        ("bloom filter -v filter", "filter", &["filter"], "7"),
        ("bloom index get half", "half", &["half", "half.bix"], "https://example.org/0"),
        ("bloom index get half", "half.bix", &["half", "half.bix"], "https://example.org/0"),
    ] {
        let work = Workspace::new();
        for name in files {
            work.write(name, larder.read(name));
        }
        work.write("set.txt", "7\n70000\n");
        work.set("build set.txt -o r.roaring", "").quiet();
        let mut command = Command::new(env!("CARGO_BIN_EXE_bitset"));
        command.args(line.split(' ')).current_dir(work.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        writeln!(stdin, "{question}").unwrap();
        if line.contains("index get") {
            // It answers when it has read all.
            wait_until(&child, "maps", |maps| maps.contains("half.bix\n"));
            std::thread::sleep(std::time::Duration::from_millis(50));
        } else {
            stdout.read_line(&mut String::new()).unwrap();
        }
        OpenOptions::new().write(true).open(work.file(victim)).unwrap().set_len(0).unwrap();
        let _ = writeln!(stdin, "{question}");
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        let told = message.starts_with("bitset: ")
            && message.contains(victim)
            && (message.contains("was shortened while it was read")
                || message.contains("changed while it was read"));
        tally.count(
            "a mapped file is cut",
            match (output.status.code(), told) {
                (Some(2), true) => Ok(Survived::Felt),
                (code, _) => Err(format!("{line}, {victim}: {code:?} {message}")),
            },
        );
    }
}
