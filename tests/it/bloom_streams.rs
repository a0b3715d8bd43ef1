//! Streams of lines through `bitset bloom`: exactness, limits, faults.

use crate::bloom_commands::numbered;
use crate::faults::SmallDisk;
use crate::workspace::Workspace;
use proptest::prelude::*;
use std::collections::HashSet;
use std::fs;
use std::process::{Command, Stdio};

/// Lines as they may come: empty, binary, very long, few different ones.
fn lines() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let line = prop_oneof![
        2 => prop::collection::vec(prop::sample::select(b"ab\r\0\xFF".to_vec()), 0..3),
        4 => (0..4000_u32).prop_map(|id| format!("https://example.org/{id}").into_bytes()),
        1 => (0..3_u8, 1000..70_000_usize).prop_map(|(byte, len)| [byte, b'x'].repeat(len)),
    ];
    prop::collection::vec(line, 0..1500)
}

fn text(lines: &[Vec<u8>], ends: bool) -> Vec<u8> {
    let mut text = lines.join(&b'\n');
    if ends && !lines.is_empty() {
        text.push(b'\n');
    }
    text
}

/// Keys of a text, and those of them that `wanted` keeps, each once.
fn expected(bytes: &[u8], wanted: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut seen = HashSet::new();
    let mut out = Vec::new();
    for line in keys(bytes) {
        if wanted(line) && seen.insert(line) {
            out.extend_from_slice(line);
            out.push(b'\n');
        }
    }
    out
}

fn keys(bytes: &[u8]) -> Vec<&[u8]> {
    let mut keys: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
    keys.pop_if(|last| last.is_empty());
    keys
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn dedup_and_common_are_exact_within_any_memory(
        a in lines(), b in lines(), ends: [bool; 2], rate in prop::sample::select(vec!["0.01", "0.9"]),
        threads: [bool; 5],
    ) {
        let work = Workspace::new();
        let (a, b) = (text(&a, ends[0]), text(&b, ends[1]));
        work.write("a", &a);
        work.write("b", &b);
        let in_b: HashSet<&[u8]> = keys(&b).into_iter().collect();
        let distinct = expected(&a, |_| true);
        let shared = expected(&a, |line| in_b.contains(line));
        for (mem, one) in ["1K", "32K", "300K", "1M", "64M"].into_iter().zip(threads) {
            let limits = format!("--mem {mem} --threads {}", if one { 1 } else { 3 });
            work.set(&format!("bloom dedup --exact a -o out {limits}"), "").quiet();
            prop_assert!(fs::read(work.file("out")).unwrap() == distinct, "dedup {}", limits);
            work.set(&format!("bloom common a b -p {rate} -o out {limits}"), "").quiet();
            prop_assert!(fs::read(work.file("out")).unwrap() == shared, "common {}", limits);
        }
        prop_assert_eq!(work.names(), ["a", "b", "out"]);
    }
}

fn many(count: u64) -> String {
    let line = |id: u64| format!("https://example.org/{:016x}\n", id.wrapping_mul(0x9E37_79B9));
    let lines: Vec<String> = (0..count).map(line).collect();
    lines.concat()
}

#[test]
fn a_filter_that_grows_keeps_its_rate() {
    let work = Workspace::new();
    let lines = many(200_000);
    let twice = format!("{lines}{lines}");
    for design in ["standard", "blocked"] {
        let kept = work.set(&format!("bloom dedup -n 1000 --design {design} -p 0.001"), &twice);
        let lost = 200_000 - kept.quiet().lines().count();
        assert!(lost <= 200, "{lost}");
    }
    work.set("bloom dedup -n 1000 --mem 100K", &lines);
    let ran = work.set("bloom dedup -n 1000 --mem 100K", &lines);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("no memory is left for more than"), "{}", ran.err);
    assert!(lines.starts_with(&ran.out), "what was printed is right");
}

#[test]
fn a_line_longer_than_the_memory_allows_is_refused() {
    let work = Workspace::new();
    let text = format!("first\n{}\nlast\n", "x".repeat(5_000_000));
    work.write("a", &text);
    work.set("bloom build a -o f", "").quiet();
    for line in ["filter f a", "dedup a", "dedup --exact a", "common a a"] {
        let ran = work.set(&format!("bloom {line} -o out --threads 2 --mem 64M"), "");
        assert_eq!(ran.code, Some(2), "{line}");
        let what = "bitset: a: byte 6: a line longer than 1.8 MiB";
        assert!(ran.err.starts_with(what) && ran.err.contains("more with --mem"), "{}", ran.err);
        assert_eq!(work.names(), ["a", "f"]);
        work.set(&format!("bloom {line} -o out --threads 2 --mem 1G"), "").quiet();
        assert!(work.read("out") == text, "{line}");
        fs::remove_file(work.file("out")).unwrap();
    }
}

#[test]
fn a_disk_that_fills_ends_the_run() {
    let work = Workspace::new();
    let Some(disk) = SmallDisk::mount(work.file("small"), "size=512k") else { return };
    let lines = many(100_000);
    work.write("a", &lines);
    let full = "cannot write a temporary file in small: No space left on device";
    for line in [
        "dedup --exact --mem 256K -T small",
        "common a - --mem 256K -T small",
        "build -T small -o b",
    ] {
        let ran = work.set(&format!("bloom {line}"), &lines);
        assert_eq!(ran.code, Some(2), "{line}");
        assert!(ran.err.contains(full), "{line}: {}", ran.err);
    }
    work.write("small/out", "old");
    for line in ["build a -o small/out -p 1e-9", "dedup a -o small/out", "common a a -o small/out"]
    {
        let ran = work.set(&format!("bloom {line}"), "");
        assert!(ran.code == Some(2) && ran.err.contains("No space left"), "{line}: {}", ran.err);
        assert_eq!(work.read("small/out"), "old");
    }
    assert_eq!(fs::read_dir(work.file("small")).unwrap().count(), 1);
    drop(disk);
}

#[test]
fn a_reader_that_goes_away_ends_the_run_quietly() {
    let work = Workspace::new();
    work.write("a", many(300_000));
    work.set("bloom build a -o f", "").quiet();
    for line in ["filter f a", "dedup a", "dedup --exact a", "common a a", "contains f -f a"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bitset"));
        command.arg("bloom").args(line.split(' ')).current_dir(work.path());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{line}: {output:?}");
        assert!(output.stderr.is_empty(), "{line}: {output:?}");
    }
}

#[test]
fn lines_go_on_while_a_stream_pauses() {
    use std::io::{BufRead, BufReader, Write};
    let work = Workspace::new();
    work.set("bloom build -n 10 -o f", "b\n").quiet();
    for line in ["filter f", "filter -v f", "dedup", "dedup --exact", "contains f"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bitset"));
        command.arg("bloom").args(line.split(' ')).current_dir(work.path());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        for word in ["a", "b"] {
            let asked =
                !(line == "filter f" && word == "a" || line == "filter -v f" && word == "b");
            writeln!(stdin, "{word}").unwrap();
            let mut answer = String::new();
            if asked {
                out.read_line(&mut answer).unwrap();
                assert!(answer.starts_with(word), "{line}");
            }
        }
        drop(stdin);
        child.wait().unwrap();
    }
}

#[test]
fn a_stream_whose_first_bytes_come_alone_is_known_by_all_of_them() {
    use std::io::Write;
    let work = Workspace::new();
    work.write("lines", many(2000));
    work.set("bloom filter f lines -o lines.gz", "").refused("cannot open f");
    work.set("bloom build lines -o f", "").quiet();
    work.set("bloom filter f lines -o lines.gz", "").quiet();
    work.set("build -o s.bits", "7\n").quiet();
    let packed = std::fs::read(work.file("lines.gz")).unwrap();
    let own = std::fs::read(work.file("s.bits")).unwrap();
    for (bytes, first) in [(&packed, 1), (&packed, 2), (&packed, 9), (&own, 1), (&own, 7)] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bitset"));
        command.args(["bloom", "dedup", "--exact"]).current_dir(work.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(&bytes[..first]).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(60));
        // The program may be gone, as it refuses sets.
        let rest = stdin.write_all(&bytes[first..]);
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        if bytes == &packed {
            assert!(rest.is_ok() && output.stdout == many(2000).as_bytes(), "{first}");
        } else {
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.code() == Some(2) && told.contains("has no lines"), "{told}");
        }
    }
}

#[test]
fn messages_name_standard_input_and_not_its_copy() {
    let work = Workspace::new();
    work.write("lines", "a\n");
    work.set("build -o s.bits", "7\n").quiet();
    let own = std::fs::read(work.file("s.bits")).unwrap();
    work.set("bloom index build s.bits", "").refused("s.bits is a set, a filter or an index");
    for line in ["bloom build -o f", "bloom common lines -"] {
        work.set_with(line, &own).refused("bitset: - is a set, a filter or an index");
        let long = "x".repeat(3_000_000);
        work.set(&format!("--mem 16M {line}"), &long).refused("bitset: -: byte 0: a line longer");
    }
    // Little memory takes no longer than some more.
    let lines = many(3000);
    work.write("lines", &lines);
    assert!(work.set("bloom common --mem 16K lines lines", "").quiet() == lines);
}

#[test]
fn updates_of_one_filter_wait_for_each_other() {
    let work = Workspace::new();
    work.set("bloom build -n 1000 -o f", "x\n").quiet();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let work = &work;
            scope.spawn(move || {
                for id in 0..5 {
                    work.set(&format!("bloom add f {thread}-{id}"), "").quiet();
                }
            });
        }
    });
    let all: Vec<String> = (0..40).map(|key| format!("{}-{}\n", key / 5, key % 5)).collect();
    assert_eq!(work.set("bloom contains f", &all.concat()).code, Some(0));
    assert_eq!(work.names(), ["f"]);
}

#[test]
fn lines_are_compressed_as_the_name_says_and_files_of_bits_are_not() {
    let work = Workspace::new();
    let lines = numbered("https://example.org/", 5000);
    work.write("a", &lines);
    work.set("bloom build a -o f.bloom", "").quiet();
    for (number, line) in ["dedup a", "filter f.bloom a", "common a a"].into_iter().enumerate() {
        for suffix in ["gz", "zst", "bz2", "xz"] {
            let out = format!("{number}.{suffix}");
            work.set(&format!("bloom {line} -o {out}"), "").quiet();
            assert!(fs::read(work.file(&out)).unwrap().len() < lines.len() / 2, "{line} {suffix}");
            assert_eq!(work.set(&format!("bloom dedup --exact {out}"), "").quiet(), lines);
        }
    }
    let before = work.names();
    for line in ["build a -o q.bloom.gz", "merge f.bloom f.bloom -o m.xz", "index build a -o a.bz2"]
    {
        work.set(&format!("bloom {line}"), "").refused("so it cannot be compressed");
    }
    work.run_with("--rejects r.gz", b"x\n").refused("so it cannot be compressed");
    assert_eq!(work.names(), before);
}

#[test]
fn a_filter_of_few_keys_keeps_its_promise() {
    let work = Workspace::new();
    for count in 1..12 {
        let lines = numbered("", count);
        for design in ["standard", "blocked", "counting"] {
            work.set(&format!("bloom build -o f --design {design}"), &lines).quiet();
            let ran = work.set("bloom verify f", "");
            assert_eq!(ran.code, Some(0), "{count} {design}: {}", ran.out);
        }
    }
}
