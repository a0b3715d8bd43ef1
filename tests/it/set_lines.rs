//! `bitset` on delimited text, and what it tells of its work.

use crate::workspace::Workspace;
use serde_json::Value;
use std::collections::HashSet;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

const USERS: &str = "name,id\n\"Smith, J\",30\n\"two\nlines\",7\nx,\n\"q\"\"q\",\"35\"\r\n";

#[test]
fn sets_are_built_of_a_column() {
    let work = Workspace::new();
    work.write("users.csv", USERS);
    work.write("tabs", "7\ta\n8\tb\n");
    assert_eq!(work.set("build users.csv --column id", "").quiet(), "7\n30\n35\n");
    assert_eq!(work.set("build --column 1 --delimiter \\t tabs", "").quiet(), "7\n8\n");
    // So are the sets that are joined, if they are no set files.
    assert_eq!(work.set("build -o s.bits", "30\n8\n").quiet(), "");
    assert_eq!(work.set("and s.bits users.csv --column id", "").quiet(), "30\n");
    assert_eq!(
        work.set("eval 'a - b' a=users.csv b=s.bits --column id --count", "").quiet(),
        "2\n"
    );
    assert_eq!(work.set("diff s.bits users.csv --column id", "").out, "+7\n-8\n+35\n");
    work.set("build users.csv --column nosuch", "").refused("users.csv:1: no column is named");
    work.set("build users.csv --delimiter ;", "").refused("--column");
}

#[test]
fn rows_are_copied_by_one_of_their_columns() {
    let work = Workspace::new();
    work.write("users.csv", USERS);
    assert_eq!(work.set("build -o s.bits", "30\n35\n").quiet(), "");
    let kept = "name,id\n\"Smith, J\",30\n\"q\"\"q\",\"35\"\r\n";
    assert_eq!(work.set("filter s.bits users.csv --column id", "").quiet(), kept);
    assert_eq!(work.set("filter s.bits --column id", USERS).quiet(), kept);
    let others = "name,id\n\"two\nlines\",7\n";
    assert_eq!(work.set("filter -v s.bits users.csv --column id", "").quiet(), others);
    assert_eq!(work.set("filter s.bits --column 2", "a,30\nb,3\nc,35").quiet(), "a,30\nc,35\n");
    // The line is that of an editor, whatever quotes hold.
    let wrong = work.set("filter s.bits --column id", "n,id\n\"a\nb\",30\nc,x\n");
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.contains("-:4: byte 16: expected a digit: \"c,x\""), "{}", wrong.err);
    let ran = work.set("filter s.bits --column id --skip-invalid", "n,id\nc,x\nd,30\n");
    assert_eq!(ran.quiet(), "n,id\nd,30\n");
    work.set("filter s.bits --column no", "n,id\n").refused("no column is named \"no\"");
    // Two columns of one name: the header of a column with a number is told by --header.
    let twice = "id,id\n30,7\n8,35\n";
    work.set("filter s.bits --column 1", twice).refused("expected a digit: \"id,id\"");
    for (line, kept) in [
        ("filter s.bits --column 1 --header", "id,id\n30,7\n"),
        ("filter s.bits --column 2 --header -v", "id,id\n30,7\n"),
        ("filter s.bits --column id --header", "n,id\n"),
        ("build --column 2 --header --to text", "7\n35\n"),
    ] {
        let ran = work.set(line, if kept.starts_with('n') { "n,id\n1,2\n" } else { twice });
        assert_eq!(ran.quiet(), kept, "{line}");
    }
    work.set("filter s.bits --header", "id\n30\n").refused("--column");
    work.write("twice", twice);
    assert_eq!(work.set("filter s.bits twice --column 1 --header -o twice", "").quiet(), "");
    assert_eq!(work.read("twice"), "id,id\n30,7\n");
    // Lines do not get the name of something else.
    for (name, what) in [
        ("o.bits", "bitset build"),
        ("o.ROARING", "bitset build"),
        ("o.bits.gz", "bitset build"),
        ("o.sets", "bitset group"),
        ("o.bloom", "bitset bloom build"),
        ("o.parquet", "bitsort"),
    ] {
        work.set(&format!("filter s.bits -o {name}"), "30\n").refused(what);
        work.set(&format!("bloom dedup -o {name}"), "30\n").refused(what);
        assert!(!work.path().join(name).exists(), "{name}");
    }
    work.set("build -o set", "30\n35\n").quiet();
    work.set("filter set -o set", "30\n").refused("set is an input");
    work.set("or s.bits s.bits -o x.bloom", "").refused("a .bloom file has a filter");
    work.set("or s.bits s.bits -o x.bix", "").refused("a .bix file has an index");
    work.run("s.bits --rejects x.bits").refused("x.bits: this command writes lines of text");
    work.set("build --parts 2 -o x.sets", "30\n").refused("a .sets file has sets by key");
    for name in ["f.bits", "f.sets", "f.parquet"] {
        work.set(&format!("bloom build -n 5 -o {name}"), "30\n").refused("writes a Bloom filter");
    }
    // All of a set would be malformed.
    for line in [
        "build --skip-invalid s.bits -o q",
        "filter --skip-invalid s.bits s.bits",
        "group --skip-invalid --key 1 --column 2 s.bits -o q.sets",
    ] {
        work.set(line, "").refused("s.bits is a set, not text");
    }
    work.run("--invalid skip s.bits").refused("s.bits is a set, not text");
    // Every line is counted.
    let told = work.set("filter s.bits --skip-invalid --stats=json", "30\nx\n7\ny\n").err;
    assert!(told.contains("\"rejected\":2"), "{told}");
}

/// The lines are text, whatever the set is.
#[test]
fn lines_are_asked_against_numbers_of_any_format() {
    let work = Workspace::new();
    let lines = "id\n30\n8\n";
    for (format, bytes) in [
        ("u32le", &[7, 0, 0, 0, 30, 0, 0, 0][..]),
        ("u32be", &[0, 0, 0, 30]),
        ("u64le", &[30, 0, 0, 0, 0, 0, 0, 0]),
        ("u64be", &[0, 0, 0, 0, 0, 0, 0, 30]),
        ("text", b"30\n7\n"),
    ] {
        work.write("numbers", bytes);
        let ran = work.set(&format!("filter numbers --from {format} --column id"), lines);
        assert_eq!(ran.quiet(), "id\n30\n", "{format}");
        let ran = work.set(&format!("contains numbers --from {format}"), "30\n8\n");
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), "30\ttrue\n8\tfalse\n"), "{format}");
    }
    work.set("build -o s.bits", "30\n").quiet();
    assert_eq!(work.set("filter s.bits --from u32le", "30\n8\n").quiet(), "30\n");
    work.write("numbers", [7, 0, 0]);
    work.set("filter numbers --from u32le", "30\n").refused("numbers: byte 0: the last 3 bytes");
}

#[test]
fn records_stay_whole_however_they_are_cut() {
    let work = Workspace::new();
    let mut text = String::from("id,text\n");
    let mut kept = text.clone();
    for row in 0..40_000 {
        let record = format!("{row},\"a\n{row},\"\"b\"\"\n\"\n");
        text += &record;
        if row % 3 == 0 {
            kept += &record;
        }
    }
    let multiples: Vec<String> = (0..40_000).step_by(3).map(|row| row.to_string()).collect();
    work.write("rows", &text);
    assert_eq!(work.set("build -o s.bits", &multiples.join("\n")).quiet(), "");
    for input in ["rows", "-"] {
        let line = format!("filter s.bits {input} --column id --mem 64M --threads 64");
        assert!(work.set(&line, &text).quiet() == kept, "{input}");
    }
    // A quote that is never closed costs its own line.
    let open = format!("id,text\n3,\"x\n{}", "6,y\n".repeat(400_000));
    let ran = work.set("filter s.bits --column id --skip-invalid", &open);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.ends_with("6,y\n6,y\n") && ran.out.lines().count() >= 400_001);
}

#[test]
fn many_lines_are_screened_and_answered_alike() {
    let work = Workspace::new();
    let mut state = 7_u64;
    let mut next = move || {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        state >> 32
    };
    let members: HashSet<u64> = (0..600_000).map(|_| next()).collect();
    let text: Vec<String> = members.iter().map(u64::to_string).collect();
    let text = text.join("\n");
    assert_eq!(work.set("build --to roaring-bits -o roaring.bits", &text).quiet(), "");
    assert_eq!(work.set("build --to sparse -o sparse.bits", &text).quiet(), "");
    let member: Vec<u64> = members.iter().copied().take(1000).collect();
    // A screen before a sparse set pays even if all lines are found.
    for (every, set, is_screened) in [
        (100, "roaring.bits", true),
        (100, "sparse.bits", true),
        (1, "roaring.bits", false),
        (1, "sparse.bits", true),
    ] {
        // Few of the lines are in the set, or all are.
        let (mut all, mut kept, mut left) = (String::new(), String::new(), String::new());
        for line in 0..200_000 {
            let value = if line % every == 0 { member[line % 1000] } else { next() };
            let line = format!("{value:>10}\n");
            all += &line;
            *if members.contains(&value) { &mut kept } else { &mut left } += &line;
            if line.contains('7') {
                all += "\nseven\n"; // a blank line, and one that is malformed
            }
        }
        work.write("lines", &all);
        for options in ["", "--threads 1", "--mem 64M"] {
            let filter = format!("filter {set} lines --skip-invalid {options}");
            assert!(work.set(&filter, "").quiet() == kept, "{filter}");
            assert!(work.set(&format!("{filter} -v"), "").quiet() == left, "{filter} -v");
            let told = stats(&work, &filter, "");
            assert_eq!(told["screen_bytes"].as_u64().unwrap() > 0, is_screened, "{told}");
            assert_eq!(told["found"].as_u64().unwrap(), kept.lines().count() as u64);
        }
        let streamed = work.set(&format!("filter {set} --skip-invalid"), &all);
        assert!(streamed.quiet() == kept);
        let first = all.lines().position(|line| line == "seven").unwrap();
        let late = "8\n".repeat(150_000) + &all;
        work.write("late", &late);
        for (input, lines) in [("lines", first), ("late", 150_000 + first)] {
            for options in ["", "--mem 64M"] {
                let wrong = work.set(&format!("filter {set} {input} {options}"), "");
                assert_eq!(wrong.code, Some(2));
                let place = format!("{input}:{}: byte ", lines + 1);
                let told = wrong.err.contains(&place) && wrong.err.contains("a digit: \"seven\"");
                assert!(told, "{place}{}", wrong.err);
                assert!(kept.starts_with(&wrong.out));
            }
        }
    }
}

/// What `--stats=json` says of a run that succeeds.
#[track_caller]
fn stats(work: &Workspace, line: &str, input: &str) -> Value {
    let ran = work.set(&format!("{line} --stats=json"), input);
    assert!(matches!(ran.code, Some(0 | 1)), "{line}: {}", ran.err);
    assert_eq!(ran.err.lines().count(), 1, "{line}: {}", ran.err);
    let told: Value = serde_json::from_str(&ran.err).unwrap();
    for field in ["read_bytes", "peak_resident_bytes", "memory_limit_bytes", "threads"] {
        assert!(told[field].is_u64(), "{line}: {field} in {told}");
    }
    told
}

#[test]
fn every_long_command_tells_what_it_did() {
    let work = Workspace::new();
    work.write("a", "40\n3\n\n3\n");
    work.write("keys", "fox\ndog\nfox\n");
    let told = |line: &str, input: &str, expected: &[(&str, u64)]| {
        let told = stats(&work, line, input);
        for &(field, count) in expected {
            assert_eq!(told[field], count, "{line}: {field} in {told}");
        }
    };
    let build = [("lines", 4), ("values", 3), ("written", 2), ("dropped", 1), ("blank", 1)];
    told("build a -o a.bits", "", &build);
    told("and a.bits a", "", &[("written", 1 + 1), ("written_bytes", 5), ("read_bytes", 8)]);
    told("or a.bits a.bits --count", "", &[("values", 2)]);
    told("filter a.bits", "40\n41\n", &[("lines", 2), ("found", 1), ("read_bytes", 6)]);
    told("filter -v a.bits", "40\n41\n42\n", &[("lines", 3), ("found", 1)]);
    let left = [("lines", 4), ("values", 2), ("found", 1), ("rejected", 1), ("written", 1)];
    told("filter -v a.bits --skip-invalid", "40\nx\n\n42\n", &left);
    told("contains a.bits", "40\n\n41\n", &[("lines", 3), ("found", 1)]);
    told("filter a.bits --column 2", "\"a\nb\",40\nc,2\n", &[("lines", 2), ("found", 1)]);
    told("verify a.bits", "", &[("values", 2)]);
    told("bloom build keys -n 10 -o k.bloom", "", &[("keys", 2), ("read_bytes", 12)]);
    let size = std::fs::metadata(work.file("k.bloom")).unwrap().len();
    told("bloom merge k.bloom k.bloom -o m.bloom", "", &[("written_bytes", size)]);
    told("bloom filter k.bloom", "fox\ncow\n", &[("written", 1), ("written_bytes", 4)]);
    told("bloom contains k.bloom", "fox\n", &[("written_bytes", 9), ("read_bytes", 4)]);
    told("bloom dedup keys", "", &[("written", 2), ("written_bytes", 8)]);
    told("bloom dedup --exact keys", "", &[("written", 2)]);
    told("bloom common keys keys --count", "", &[("common", 2)]);
    told("bloom index build keys", "", &[("read_bytes", 12)]);
    told("bloom index get keys fox", "", &[("keys", 1), ("found", 1), ("lines", 2)]);
    // For people, on standard error too.
    let ran = work.set("and a.bits a --stats", "");
    assert_eq!((&*ran.out, ran.code), ("3\n40\n", Some(0)));
    assert!(ran.err.starts_with("written   2\nwritten   5 B\n"), "{}", ran.err);
}

#[test]
fn every_long_command_shows_how_far_it_is() {
    let work = Workspace::new();
    work.write("a", "40\n3\n");
    assert_eq!(work.set("build a -o a.bits", "").quiet(), "");
    assert_eq!(work.set("bloom build a -o a.bloom", "").quiet(), "");
    for line in [
        "build a -o b.bits",
        "and a a -o c.bits",
        "and a.bits a.bits --count",
        "filter a.bits a",
        "contains a.bits",
        "verify a.bits",
        "bloom build a -o b.bloom",
        "bloom add b.bloom -f a",
        "bloom filter a.bloom a",
        "bloom contains a.bloom -f a",
        "bloom dedup a",
        "bloom common a a",
        "bloom verify a.bloom -p 0.5",
        "bloom merge a.bloom a.bloom -o c.bloom",
        "bloom index build a",
        "bloom index verify a",
    ] {
        let ran = work.set(&format!("{line} --progress always"), "40\n");
        assert_eq!(ran.code, Some(0), "{line}: {}", ran.err);
        let shown = ["looking", "reading", "writing", "walking"];
        assert!(shown.iter().any(|phase| ran.err.contains(phase)), "{line}: {:?}", ran.err);
    }
}

#[test]
fn what_comes_before_an_error_is_answered_whatever_thread_meets_it() {
    let work = Workspace::new();
    work.set("build -o s.bits", "1\n2\n").quiet();
    let good = (0..100_000).map(|line| line.to_string() + "\n").collect::<String>();
    work.write("good", &good);
    work.write("bad", "bad\n");
    let left = good.replacen("1\n2\n", "", 1);
    for threads in ["1", "2", "5"] {
        let options = format!("--mem 64K --threads {threads}");
        let ran = work.set(&format!("filter -v s.bits good missing good {options}"), "");
        assert_eq!(ran.code, Some(2), "{options}");
        assert!(ran.err.starts_with("bitset: cannot open missing"), "{}", ran.err);
        assert!(ran.out == left, "{options}: {} bytes", ran.out.len());
        let ran = work.set(&format!("filter s.bits bad missing {options}"), "");
        assert!(ran.err.starts_with("bitset: bad:1: byte 0"), "{}", ran.err);
    }
}

#[test]
fn a_byte_order_mark_alone_is_no_line() {
    let work = Workspace::new();
    work.set("build -o s.bits", "1\n").quiet();
    let told = stats(&work, "filter s.bits", "\u{feff}");
    assert_eq!(told["lines"].as_u64(), Some(0), "{told}");
    assert_eq!(work.set("filter s.bits --column id", "\u{feff}").quiet(), "");
}

#[test]
fn an_error_does_not_wait_for_a_stream_to_go_on() {
    let work = Workspace::new();
    work.set("build -o s.bits", "1\n").quiet();
    let mut command = Command::new(env!("CARGO_BIN_EXE_bitset"));
    command.args(["filter", "s.bits", "--threads", "2"]).current_dir(work.path());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"x\n").unwrap();
    // Standard input stays open until the program has ended, or never would.
    let ends = (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        child.try_wait().unwrap().is_some()
    });
    assert!(ends || child.kill().is_ok());
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    assert!(String::from_utf8_lossy(&output.stderr).contains("-:1: byte 0"), "{output:?}");
}

fn lines_of(values: &[u64]) -> String {
    values.iter().fold(String::new(), |text, value| text + &value.to_string() + "\n")
}

#[test]
fn info_tells_the_bytes_that_a_portable_roaring_file_takes() {
    let work = Workspace::new();
    let mut state = 7_u64;
    let mut random = move || {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E);
        state >> 13
    };
    let mut lists: Vec<Vec<u64>> = vec![vec![], vec![3], vec![1 << 40]];
    for (bits, count) in [(16, 5000), (20, 300), (32, 3000), (45, 3000), (51, 500)] {
        lists.push((0..count).map(|_| random() & ((1 << bits) - 1)).collect());
        // Runs, in few containers and in many.
        let starts: Vec<u64> = (0..count / 100).map(|_| random() & ((1 << bits) - 1)).collect();
        lists.push(starts.iter().flat_map(|start| *start..start + 90).collect());
        let both = [lists[lists.len() - 1].clone(), lists[lists.len() - 2].clone()].concat();
        lists.push(both);
    }
    for list in lists {
        let text = lines_of(&list);
        assert_eq!(work.set("build -o set.bits", &text).quiet(), "");
        assert_eq!(work.set("cat set.bits --to roaring -o set.roaring", "").quiet(), "");
        let told = work.set("info --json set.bits", "").quiet();
        let told: serde_json::Value = serde_json::from_str(&told).unwrap();
        let bytes = std::fs::metadata(work.path().join("set.roaring")).unwrap().len();
        assert_eq!(told["roaring_bytes"], bytes, "{} values", list.len());
    }
}

#[test]
fn a_value_far_away_does_not_blow_a_set_up() {
    let work = Workspace::new();
    let text = lines_of(&(0..200_000).map(|value| 3 * value).collect::<Vec<_>>());
    assert_eq!(work.set("build --to dense -o set.bits", &text).quiet(), "");
    assert!(work.set("info set.bits", "").quiet().contains("(dense)"));
    let before = std::fs::metadata(work.path().join("set.bits")).unwrap().len();
    for far in [u64::from(u32::MAX), 1 << 40, 1 << 60, u64::MAX] {
        assert_eq!(work.set(&format!("add set.bits {far}"), "").quiet(), "");
        let after = std::fs::metadata(work.path().join("set.bits")).unwrap().len();
        assert!(after < 2 * before, "{far}: {after} bytes instead of {before}");
    }
    assert_eq!(work.set("count set.bits", "").quiet(), "200004\n");
    assert_eq!(work.set("verify set.bits", "").code, Some(0));
}

#[test]
fn containers_lie_where_readers_that_pass_over_offsets_find_them() {
    let work = Workspace::new();
    // Arrays and runs by turns, so that their sizes are told in different places.
    let values: Vec<u64> = (0..6_u64)
        .flat_map(|key| {
            (0..40).map(move |low| key << 16 | if key % 2 == 0 { 3 * low } else { low })
        })
        .collect();
    work.set("build -o set.roaring", &lines_of(&values)).quiet();
    let whole = std::fs::read(work.path().join("set.roaring")).unwrap();
    assert_eq!(work.set("verify set.roaring", "").code, Some(0));
    let offsets = 4 + 1 + 6 * 4..4 + 1 + 6 * 4 + 6 * 4;
    for bit in offsets.start * 8..offsets.end * 8 {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        work.write("set.roaring", &bytes);
        let ran = work.set("verify set.roaring", "");
        assert_eq!(ran.code, Some(2), "bit {bit}: {}", ran.out);
    }
}

#[test]
fn a_set_whose_head_is_overwritten_does_not_answer_as_an_empty_one() {
    use std::os::unix::fs::FileExt;
    let work = Workspace::new();
    work.set("build -o set.roaring", "3\n70000\n").quiet();
    let path = work.path().join("set.roaring");
    let set = bitsort::set::SetFile::open(&path).unwrap();
    assert_eq!(set.view().contains(3), Ok(true));
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(&[0xFF; 4], 0).unwrap();
    assert!(set.view().contains(3).is_err());
    assert!(set.view().rank(u64::MAX).is_err());
    assert!(set.view().len().is_err());
    assert!(set.view().select(0).is_err());
    assert!(set.view().min().is_err() && set.view().max().is_err());
    assert!(set.view().iter().next().is_some_and(|value| value.is_err()));
    assert!(set.verify().is_err());
}
