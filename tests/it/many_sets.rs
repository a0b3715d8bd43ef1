//! Sets in plenty, from anywhere.

use crate::workspace::Workspace;
use std::fmt::Write;
use std::fs;
use std::process::Command;

/// The values of a text of numbers, as text.
fn sorted(values: impl IntoIterator<Item = u64>) -> String {
    let values: std::collections::BTreeSet<u64> = values.into_iter().collect();
    values.iter().fold(String::new(), |mut text, value| {
        writeln!(text, "{value}").unwrap();
        text
    })
}

fn workspace() -> Workspace {
    let work = Workspace::new();
    for set in 0..40_u64 {
        let values = (0..50 + 200 * (set % 7)).map(|i| {
            let spread = (i * (set + 1) * 2_654_435_761) >> (set % 3 * 8);
            spread % (1 << (10 + set % 30))
        });
        let runs = (0..set % 5).flat_map(|run| run * 70_000..run * 70_000 + 10_000 * set);
        work.write(&format!("{set}.txt"), sorted(values.chain(runs)));
        work.set(&format!("build {set}.txt -o {set}.bits"), "").quiet();
    }
    work
}

#[test]
fn many_sets_are_joined_as_two_at_a_time_are() {
    let work = workspace();
    let names: Vec<String> = (0..40).map(|set| format!("{set}.bits")).collect();
    for (op, pairwise) in [("or", "or"), ("xor", "xor"), ("andnot", "andnot"), ("cat", "or")] {
        fs::copy(work.file("0.bits"), work.file("so-far")).unwrap();
        for name in &names[1..] {
            work.set(&format!("{pairwise} so-far {name} --to roaring -o so-far"), "").quiet();
        }
        let expected = work.set("cat so-far", "").quiet();
        assert_eq!(work.set(&format!("{op} {}", names.join(" ")), "").quiet(), expected, "{op}");
    }
    let all = names.iter().map(|name| work.set(&format!("cat {name}"), "").quiet());
    let mut counts = std::collections::BTreeMap::new();
    for text in all {
        text.lines().for_each(|line| *counts.entry(line.parse().unwrap()).or_insert(0) += 1);
    }
    for least in [1, 2, 3, 9, 40, 41] {
        let expected = counts.iter().filter(|entry| *entry.1 >= least).map(|entry| *entry.0);
        let found = work.set(&format!("at-least {least} {}", names.join(" ")), "");
        assert_eq!(found.quiet(), sorted(expected), "{least}");
    }
}

#[test]
fn an_expression_may_have_thousands_of_operators() {
    let work = workspace();
    let long = vec!["a"; 5000].join(" | ") + " - " + &vec!["b"; 5000].join(" - ");
    let found = work.set_args(&["eval", &long, "a=1.txt", "b=2.txt"]);
    let expected = work.set("or 1.txt 1.txt --to bits -o a.bits", "");
    assert_eq!(expected.code, Some(0));
    // `-` binds tighter: only the last `a` loses values, which the others have.
    assert_eq!(found.quiet(), work.set("cat a.bits", "").quiet());
    let broken = long.replacen("a | a", "a ! a", 1);
    let ran = work.set_args(&["eval", &broken, "a=1.txt", "b=2.txt"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("byte 2: expected an operator") && ran.err.len() < 300, "{}", ran.err);
}

#[test]
fn questions_are_put_to_many_sets() {
    let work = Workspace::new();
    work.write("a", "1\n2\n300\n");
    work.write("b", "5\n");
    work.set("build a -o a.bits", "").quiet();
    work.set("build b -o b.bits", "").quiet();
    assert_eq!(work.set("count a.bits b.bits a", "").quiet(), "a.bits: 3\nb.bits: 1\na: 3\n");
    assert_eq!(work.set("count a.bits b.bits 2 5", "").quiet(), "a.bits: 1\nb.bits: 1\n");
    assert_eq!(work.set("count a.bits", "").quiet(), "3\n");
    work.write("7", "1\n");
    work.write("8", "1\n2\n");
    assert_eq!(work.set("count a.bits 7 8", "").quiet(), "a.bits: 3\n7: 1\n8: 2\n");
    assert_eq!(work.set("count a.bits 0 8", "").quiet(), "2\n", "no file has the name 0");
    let info = work.set("info a.bits b.bits", "").quiet();
    assert!(info.starts_with("a.bits:\nkind") && info.contains("\nb.bits:\nkind"), "{info}");
    let json = work.set("info --json a.bits b.bits", "").quiet();
    assert_eq!(json.lines().count(), 2);
    assert!(json.contains("\"file\":\"b.bits\""), "{json}");

    let mut bytes = fs::read(work.file("a.bits")).unwrap();
    bytes[4100] ^= 1;
    fs::write(work.file("bad.bits"), bytes).unwrap();
    let ran = work.set("verify a.bits bad.bits b.bits b", "");
    assert_eq!(ran.code, Some(2));
    assert_eq!(ran.out, "a.bits: 3 values, whole\nb.bits: 1 values, whole\n");
    assert!(ran.err.contains("bad.bits") && ran.err.contains("2 of 4 files"), "{}", ran.err);
}

#[test]
fn sets_come_through_pipes_and_compressed() {
    let work = Workspace::new();
    let text = sorted((0..30_000).map(|i| i * i % 1_000_003 + ((i % 3) << 40)));
    work.write("ids", &text);
    for form in ["bits", "dense", "sparse", "runs", "roaring", "text", "empty"] {
        let small = sorted((0..30_000).map(|i| i * i % 1_000_003));
        work.write("narrow", if form == "empty" { "" } else { &small });
        let source = if form == "dense" { "narrow" } else { "ids" };
        let to = if form == "empty" { "roaring" } else { form };
        let source = if form == "empty" { "narrow" } else { source };
        work.set(&format!("cat {source} --to {to} -o set"), "").quiet();
        let expected = work.set("count set", "").quiet();
        let script = "set -e
            $P count - < set; cat set | $P count -; $P count <(cat set); $P count <(gzip -c set)
            gzip -kf set; $P count set.gz; gzip -c set | $P count -; $P count - < set.gz
            $P or set.gz <(cat set) --count; $P cat set --to roaring | $P count -";
        let mut command = Command::new("bash");
        command.args(["-c", script]).current_dir(work.file(""));
        let ran = command.env("P", env!("CARGO_BIN_EXE_bitset")).output().unwrap();
        let (out, err) =
            (String::from_utf8(ran.stdout).unwrap(), String::from_utf8(ran.stderr).unwrap());
        assert_eq!((&*err, out), ("", expected.repeat(9)), "{form}");
        if form != "text" {
            let ran = work.set_with("verify -", &fs::read(work.file("set")).unwrap());
            assert!(ran.quiet().ends_with("whole\n"), "{form}");
        }
    }
    work.set_with("verify -", text.as_bytes()).refused("neither a .bits file");
    let cut = &fs::read(work.file("set.gz")).unwrap();
    let ran = work.set_with("count -", &cut[..cut.len() - 9]);
    assert_eq!((ran.code, &*ran.out), (Some(2), ""), "{}", ran.err);
}

#[test]
fn files_are_added_and_removed() {
    let work = Workspace::new();
    work.write("a", "1\n2\n3\n");
    work.write("b", "3\n4\n4294967296\n");
    work.write("raw", [9, 0, 0, 0]);
    work.set("build a -o s.bits", "").quiet();
    work.set("build b -o b.bits", "").quiet();
    work.set("add s.bits 7 b b.bits 8", "").quiet();
    assert_eq!(work.set("cat s.bits", "").quiet(), "1\n2\n3\n4\n7\n8\n4294967296\n");
    work.set("remove s.bits b.bits 1 a", "").quiet();
    assert_eq!(work.set("cat s.bits", "").quiet(), "7\n8\n");
    work.set("add --from u32le s.bits raw", "").quiet();
    assert_eq!(work.set("cat s.bits", "").quiet(), "7\n8\n9\n");
    assert_eq!(work.set("max --from u32le raw", "").quiet(), "9\n");
}

#[test]
fn what_diff_prints_apply_does() {
    let work = workspace();
    for (old, new) in [(3, 10), (13, 14), (20, 34), (34, 20), (5, 5)] {
        fs::copy(work.file(&format!("{old}.bits")), work.file("copy")).unwrap();
        let diff = work.set(&format!("diff copy {new}.bits"), "");
        assert_eq!(diff.code, Some(i32::from(old != new)));
        let (mut plus, mut minus) = (String::new(), String::new());
        for line in diff.out.lines() {
            let (sign, value) = line.split_at(1);
            writeln!(if sign == "+" { &mut plus } else { &mut minus }, "{value}").unwrap();
        }
        assert_eq!(plus, work.set(&format!("andnot {new}.bits copy"), "").quiet());
        assert_eq!(minus, work.set(&format!("andnot copy {new}.bits"), "").quiet());
        work.set("apply copy", &diff.out).quiet();
        assert_eq!(work.set(&format!("diff copy {new}.bits"), "").quiet(), "");
    }
}

#[test]
fn gaps_and_samples_are_those_of_the_values() {
    let work = workspace();
    for set in [0, 3, 14, 29, 34] {
        let name = format!("{set}.bits");
        let all = work.set(&format!("cat {name}"), "").quiet();
        let values: Vec<u64> = all.lines().map(|line| line.parse().unwrap()).collect();
        let mut expected = String::new();
        for pair in values.windows(2).filter(|pair| pair[1] - pair[0] > 1) {
            writeln!(expected, "{}\t{}", pair[0] + 1, pair[1] - 1).unwrap();
        }
        assert_eq!(work.set(&format!("gaps {name}"), "").quiet(), expected, "{name}");
        for wanted in [1, 20, values.len() / 2, values.len() - 1] {
            let sample = work.set(&format!("sample {name} {wanted}"), "").quiet();
            let drawn: Vec<u64> = sample.lines().map(|line| line.parse().unwrap()).collect();
            assert!(drawn.len() == wanted && drawn.is_sorted_by(|a, b| a < b), "{name} {wanted}");
            assert!(drawn.iter().all(|value| values.binary_search(value).is_ok()), "{name}");
        }
        let (first, last) = (values[values.len() / 3], values[values.len() / 2]);
        let inside = values.iter().copied().filter(|value| (first..=last).contains(value));
        assert_eq!(work.set(&format!("range {name} {first} {last}"), "").quiet(), sorted(inside));
    }
}
