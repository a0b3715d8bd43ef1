//! Ranges, hexadecimal numbers and addresses on the command line.

use crate::workspace::Workspace;
use bitsort::number::Notation;
use bitsort::set::{SetFile, SetFormat};
use bitsort::sort::{InvalidLines, Sort};
use serde_json::Value;
use std::collections::BTreeSet;

const DROP: &str =
    "# a list\n10.0.0.0/9 ; the first half\n10.128.0.0 - 10.255.255.255\n\n192.0.2.7\r\n";

/// Threads share a list only if all of its ranges are below 2^32.
#[test]
fn lists_are_joined_where_only_one_of_them_is_below_2_to_the_32() {
    let work = Workspace::new();
    let text = |lines: Vec<String>| lines.join("\n") + "\n";
    let list = |first: u64| text((0..20_000).map(|n| (first + 3 * n).to_string()).collect());
    let (low, high) = (list(0), list(1 << 39));
    work.write("low", &low);
    work.write("high", &high);
    work.write("both", format!("{low}{high}"));
    let ranges = |list: &str| text(list.lines().map(|line| format!("{line}-{line}")).collect());
    for (line, expected) in [
        ("and low high", ""),
        ("and low both", &*low),
        ("andnot low high", &*low),
        ("andnot both low", &*high),
        ("andnot low both high", ""),
    ] {
        for threads in [1, 2, 3] {
            let ran = work.set(&format!("{line} --ranges --threads {threads}"), "");
            let out = ran.quiet();
            assert!(out == expected || out == ranges(expected), "{line} {threads}");
        }
    }
}

#[test]
fn block_lists_are_joined_cut_subtracted_and_compared() {
    let work = Workspace::new();
    work.write("a", DROP);
    work.write("b", "10.1.0.0/16\n192.0.2.6/31\n203.0.113.0/24\n");
    for (line, expected) in [
        ("or a b --as cidr", "10.0.0.0/8\n192.0.2.6/31\n203.0.113.0/24\n"),
        (
            "or a b --as ipv4 --ranges",
            "10.0.0.0-10.255.255.255\n192.0.2.6-192.0.2.7\n203.0.113.0-203.0.113.255\n",
        ),
        ("and a b --as cidr", "10.1.0.0/16\n192.0.2.7\n"),
        ("and a b --count --as cidr", "65537\n"),
        ("andnot b a --as cidr", "192.0.2.6\n203.0.113.0/24\n"),
        ("andnot a b --as ipv4 --ranges", "10.0.0.0-10.0.255.255\n10.2.0.0-10.255.255.255\n"),
        ("eval '(a | b) - a' a=a b=b --as cidr", "192.0.2.6\n203.0.113.0/24\n"),
        ("eval 'a & 10.1.0.0/16 - 10.1.0.0..10.1.255.253' a=a --as cidr", "10.1.255.254/31\n"),
        ("eval 'a & 192.0.2.0/24' a=a --as ipv4", "192.0.2.7\n"),
        ("eval 'a - 10.0.0.0/8' a=a --as ipv4 --ranges", "192.0.2.7\n"),
        ("or b --count --as cidr", "65794\n"),
        ("or a a b --as cidr", "10.0.0.0/8\n192.0.2.6/31\n203.0.113.0/24\n"),
        ("andnot b a a --count --as cidr", "257\n"),
        ("xor a b a --as cidr", "10.1.0.0/16\n192.0.2.6/31\n203.0.113.0/24\n"),
        ("at-least 2 a b --as cidr", "10.1.0.0/16\n192.0.2.7\n"),
        ("min a --as ipv4", "10.0.0.0\n"),
        ("select a 16777216 --as ipv4", "192.0.2.7\n"),
        ("count a 10.0.0.0 10.0.0.255 --as ipv4", "256\n"),
        ("rank a 10.0.0.255 --as ipv4", "256\n"),
        ("range a 10.0.0.1 10.0.0.2 --as ipv4", "10.0.0.1\n10.0.0.2\n"),
        ("range a 10.0.0.1 10.0.0.7 --as cidr", "10.0.0.1\n10.0.0.2/31\n10.0.0.4/30\n"),
        ("gaps a --as ipv4", "11.0.0.0\t192.0.2.6\n"),
        ("contains a 10.9.8.7 --as ipv4", "true\n"),
        ("contains a 10.9.8.7 192.0.2.7 --as cidr", "10.9.8.7\ttrue\n192.0.2.7\ttrue\n"),
    ] {
        assert_eq!(work.set(line, "").quiet(), expected, "{line}");
    }
    let found = work.set("contains a --as ipv4", "10.0.0.1\n9.9.9.9\n");
    assert_eq!((found.code, found.out.as_str()), (Some(1), "10.0.0.1\ttrue\n9.9.9.9\tfalse\n"));
    let found = work.set("compare a b --as ipv4", "");
    assert!(found.out.contains("intersection  65537"), "{found:?}");
    let info = work.set("info a --as ipv4", "").quiet();
    assert!(info.contains("smallest     10.0.0.0\nlargest      192.0.2.7\n"), "{info}");
}

/// Every command that reads or writes numbers does so in the notation.
#[test]
fn every_command_keeps_to_the_notation() {
    let work = Workspace::new();
    work.write("a", "1f\n0x20\n100\n");
    work.write("b", "100\nff\n");
    work.write("rows", "x,a\ny,10\nx,1F\n");
    work.write("changes", "+ab\n-1f\n");
    work.set("build a --as hex -o a.bits", "").quiet();
    work.set("group rows --key 1 --column 2 --as hex -o g.sets", "").quiet();
    let commands = [
        ("build a", "1f\n20\n100\n", "1f-20\n100\n"),
        ("cat a.bits", "1f\n20\n100\n", "1f-20\n100\n"),
        ("convert a.bits --to text", "1f\n20\n100\n", "1f-20\n100\n"),
        ("and a b", "100\n", "100\n"),
        ("or a b", "1f\n20\nff\n100\n", "1f-20\nff-100\n"),
        ("xor a b", "1f\n20\nff\n", "1f-20\nff\n"),
        ("andnot a b", "1f\n20\n", "1f-20\n"),
        ("at-least 1 a b", "1f\n20\nff\n100\n", "1f-20\nff-100\n"),
        ("eval 'a & f..ff' a=a", "1f\n20\n", "1f-20\n"),
        ("eval '0x1e..20 & a' a=a", "1f\n20\n", "1f-20\n"),
        ("eval 'x | y' g.sets", "a\n10\n1f\n", "a\n10\n1f\n"),
        ("count a 20 100", "2\n", "2\n"),
        ("min a", "1f\n", "1f\n"),
        ("max a", "100\n", "100\n"),
        ("rank a ff", "2\n", "2\n"),
        ("select a 1", "20\n", "20\n"),
        ("range a 1f ff", "1f\n20\n", "1f-20\n"),
        ("gaps a", "21\tff\n", "21-ff\n"),
        ("sample a 3", "1f\n20\n100\n", "1f-20\n100\n"),
        ("contains a FF 0x100", "ff\tfalse\n100\ttrue\n", "ff\tfalse\n100\ttrue\n"),
        ("filter b a", "100\n", "100\n"),
        ("diff a b", "-1f\n-20\n+ff\n", "-1f-20\n+ff\n"),
        ("keys-of g.sets 1f a", "1f\tx\na\tx\n", "1f\tx\na\tx\n"),
        ("overlap a b", "a\tb\t1\t0.250000\n", "a\tb\t1\t0.250000\n"),
    ];
    for (line, values, ranges) in commands {
        for (flags, expected) in [("--as hex", values), ("--as hex --ranges", ranges)] {
            let ran = work.set(&format!("{line} {flags}"), "");
            assert_eq!((ran.out.as_str(), ran.err.as_str()), (expected, ""), "{line} {flags}");
        }
        // A number that is none of addresses is told as such.
        if !line.contains(".bits") && !line.contains(".sets") {
            let refused = work.set(&format!("{line} --as ipv4"), "");
            assert_eq!(refused.code, Some(2), "{line}: {refused:?}");
        }
    }
    work.set("apply a.bits changes --as hex", "").quiet();
    work.set("add a.bits b0 --as hex", "").quiet();
    work.set("remove a.bits 20 --as hex", "").quiet();
    assert_eq!(work.set("cat a.bits --as hex", "").quiet(), "ab\nb0\n100\n");
    assert!(work.set("info a --as hex", "").quiet().contains("largest      100\n"));
    assert!(work.set("compare a b --as hex", "").quiet().contains("intersection  1\n"));
    work.write("raw", "\u{1}");
    let raw = "convert raw --from bitmap-lsb --as hex --base";
    assert_eq!(work.set(&format!("{raw} 10000"), "").quiet(), "10000\n");
    work.set(&format!("{raw} 65537"), "").refused("raw bitmap is a multiple of 65536");
    work.set("group rows --key 1 --column 2 -o h.sets", "").refused("rows:1: byte 2");
    work.write("blocks", "x,10.0.0.0/8\n");
    work.set("group blocks --key 1 --column 2 --as cidr -o h.sets", "").quiet();
    assert_eq!(work.set("cat h.sets:x --as cidr", "").quiet(), "10.0.0.0/8\n");
    assert_eq!(work.set("keys-of h.sets 10.1.2.3 --as ipv4", "").quiet(), "x\n");
    work.set("eval 'a - 7' a=a --as hex", "").refused("expected a range, FIRST..LAST");
    work.set("eval 'a - 1.2.3.4/30' a=a --as hex", "").refused("expected a range");
    work.set("eval 'a - 1.2.3.7/30' a=a --as cidr", "").refused("bits behind its prefix");
}

#[test]
fn set_files_of_blocks_are_built_changed_and_asked() {
    let work = Workspace::new();
    work.write("a", DROP);
    work.set("build a --as ipv4 -o a.bits", "").quiet();
    assert_eq!(work.set("cat a.bits --as cidr", "").quiet(), "10.0.0.0/8\n192.0.2.7\n");
    work.set("remove a.bits --as ipv4 10.0.0.0/9", "").quiet();
    work.set("add a.bits --as ipv4 8.8.8.8 8.8.4.0-8.8.4.3", "").quiet();
    let expected = "8.8.4.0/30\n8.8.8.8\n10.128.0.0/9\n192.0.2.7\n";
    assert_eq!(work.set("cat a.bits --as cidr", "").quiet(), expected);
    // What is printed as changed is read as such.
    work.set("build a --as ipv4 -o b.bits", "").quiet();
    let changes = work.set("diff a.bits b.bits --as cidr", "");
    assert_eq!(changes.code, Some(1));
    assert_eq!(changes.out, "-8.8.4.0/30\n-8.8.8.8\n+10.0.0.0/9\n");
    work.set("apply a.bits --as cidr", &changes.out).quiet();
    assert_eq!(work.set("diff a.bits b.bits --as cidr", "").quiet(), "");
    work.set("apply a.bits --as ipv4", "-192.0.2.7\n").quiet();
    assert_eq!(work.set("diff a.bits b.bits --as ipv4", "").out, "+192.0.2.7\n");
    let log = "time,ip\n1,10.1.1.1\n2,9.9.9.9\n3,\"10.0.0.0\"\n";
    let kept = work.set("filter b.bits --as ipv4 --column ip", log).quiet();
    assert_eq!(kept, "time,ip\n1,10.1.1.1\n3,\"10.0.0.0\"\n");
    assert_eq!(work.set("filter -v b.bits --as ipv4", "10.1.1.1\n9.9.9.9\n").quiet(), "9.9.9.9\n");
    let many = work.set("filter b.bits --as cidr", "9.9.9.9\n10.0.0.0/8\n");
    assert_eq!(many.code, Some(2), "{many:?}");
    assert!(
        many.err.contains("-:2: byte 16: expected one number, not a range or a block"),
        "{many:?}"
    );
    work.set("plot b.bits --as ipv4 -o map.svg", "").quiet();
    assert!(work.read("map.svg").contains(">16.0.0.0/4<"));
}

#[test]
fn ranges_of_numbers_stay_ranges() {
    let work = Workspace::new();
    work.write("all", "0-18446744073709551615\n");
    work.write("half", "0-4294967295\n");
    let all = "0-18446744073709551615\n";
    assert_eq!(work.set("build all --ranges", "").quiet(), all);
    assert_eq!(work.run("-u --ranges all all half").quiet(), all);
    assert_eq!(work.set("build half --ranges -o h.bits", "").quiet(), "");
    assert_eq!(work.set("count h.bits", "").quiet(), "4294967296\n");
    assert!(work.file("h.bits").metadata().unwrap().len() < 2 << 20);
    assert_eq!(work.set("eval 'h - 7..9' h=h.bits --ranges", "").quiet(), "0-6\n10-4294967295\n");
    assert_eq!(work.set("cat h.bits --as hex --ranges", "").quiet(), "0-ffffffff\n");
    // A file counts up to 2^64 - 1.
    work.set("build all --ranges -o all.bits", "")
        .refused("bitset: a set of all numbers has 2^64 values");
    assert!(!work.file("all.bits").exists());
    let stats = work.set("build --ranges --stats=json", "5\n7-9\n\n8 - 12\n6\n30\n");
    assert_eq!((stats.code, stats.out.as_str()), (Some(0), "5-12\n30\n"));
    let told: Value = serde_json::from_str(&stats.err).unwrap();
    let counts = ["lines", "values", "written", "dropped", "blank"].map(|name| told[name].as_u64());
    assert_eq!(counts, [6, 5, 2, 3, 1].map(Some));
    assert_eq!(told["strategy"], "ranges");
    assert_eq!(work.set("min all --as ipv4", "").code, Some(2));
    work.set("max h.bits --as cidr --ranges", "").refused("choose one");
}

#[test]
fn ranges_of_any_width_are_joined_asked_and_changed() {
    let work = Workspace::new();
    work.write("wide", "5-100\n1000-18446744073709551000\n");
    work.write("some", "50-2000\n7000000000000000000-9000000000000000000\n");
    work.set("build -o a.bits", "7\n").quiet();
    let wide = "5-100\n1000-18446744073709551000\n";
    for (line, expected) in [
        ("or wide --ranges", wide),
        (
            "xor wide some --ranges",
            "5-49\n101-999\n2001-6999999999999999999\n9000000000000000001-18446744073709551000\n",
        ),
        (
            "at-least 2 wide some --ranges",
            "50-100\n1000-2000\n7000000000000000000-9000000000000000000\n",
        ),
        (
            "eval 'a | w - s' a=a.bits w=wide s=some --ranges",
            "5-49\n2001-6999999999999999999\n9000000000000000001-18446744073709551000\n",
        ),
        ("contains wide 77 --ranges", "true\n"),
        ("rank wide 18446744073709551615 --ranges", "18446744073709550097\n"),
        ("select wide 18446744073709550096 --ranges", "18446744073709551000\n"),
        ("range wide 90 1001 --ranges", "90-100\n1000-1001\n"),
        ("count wide 90 1001 --ranges", "13\n"),
        ("gaps wide --ranges", "101-999\n"),
        ("xor wide some --count --ranges", "16446744073709549943\n"),
    ] {
        assert_eq!(work.set(line, "").quiet(), expected, "{line}");
    }
    assert_eq!(work.set("filter wide --ranges", "4\n5\n999\n1000\n").quiet(), "5\n1000\n");
    work.set("build wide --ranges -o wide.bits", "").quiet();
    assert!(work.file("wide.bits").metadata().unwrap().len() < 5000);
    work.set("verify wide.bits", "");
    assert_eq!(work.set("cat wide.bits --ranges", "").quiet(), wide);
    assert!(work.set("info wide.bits", "").quiet().contains(".bits (runs)"));
    let compared = work.set("compare wide.bits some --ranges", "").quiet();
    assert!(compared.contains("intersection  2000000000000001053\n"), "{compared}");
    let changes = work.set("diff wide.bits some --ranges", "");
    assert!(changes.out.contains("+101-999\n-2001-6999999999999999999\n"), "{changes:?}");
    work.set("apply wide.bits --ranges", &changes.out).quiet();
    assert_eq!(work.set("diff wide.bits some --ranges", "").quiet(), "");
    // A set that has no long runs any more is represented as others are.
    work.set("remove wide.bits --ranges 60-9000000000000000000", "").quiet();
    assert!(work.set("info wide.bits", "").quiet().contains(".bits (roaring)"));
    work.set("build wide --ranges --to runs -o runs.bits", "").quiet();
    work.set("convert runs.bits --to roaring -o out.roaring", "").refused("is too wide");
    work.set("build wide --ranges --to dense -o out.bits", "").refused("is too wide");
    work.set("plot runs.bits -o map.svg", "").quiet();
}

#[test]
fn a_set_of_ranges_is_the_same_file_whatever_command_makes_it() {
    // Where the second range ends: 2^32, and before and behind the width where containers end.
    for last in [1_u64 << 32, 1 << 33, 68_719_476_736, 1 << 37, 1 << 45] {
        let work = Workspace::new();
        let text = format!("1-5\n10-{last}\n");
        work.write("text", &text);
        work.set("build --ranges text -o set", "").quiet();
        work.set("build --ranges -o part", &format!("1-5\n500-{last}\n")).quiet();
        let bytes = std::fs::read(work.file("set")).unwrap();
        assert!(bytes.len() < 5000, "{last}");
        let rest = "10-499\n";
        for (line, input) in [
            ("or set -o out", ""),
            ("or set text --ranges -o out", ""),
            ("or part - --ranges -o out", rest),
            ("cat set --to bits -o out", ""),
            ("convert set -o out", ""),
            ("eval 'a|10..499' a=part -o out", ""),
            ("at-least 1 set part -o out", ""),
        ] {
            work.set(line, input).quiet();
            assert!(std::fs::read(work.file("out")).unwrap() == bytes, "{line} up to {last}");
        }
        for (line, input) in [
            ("add out --ranges 10-499", ""),
            ("apply out --ranges", "-1-3\n+1-9000\n-6-9\n+10-499\n"),
            ("apply out --ranges", &format!("-0-{last}\n+1-5\n+10-{last}\n")),
        ] {
            std::fs::copy(work.file("part"), work.file("out")).unwrap();
            work.set(line, input).quiet();
            assert!(std::fs::read(work.file("out")).unwrap() == bytes, "{line} up to {last}");
        }
    }
}

#[test]
fn small_answers_about_wide_ranges_are_given() {
    let work = Workspace::new();
    for (name, ranges) in [
        ("a", "10-18446744073709551000\n1-5\n"),
        ("b", "1-20\n100-4611686018427387904\n4611686018427387999\n"),
        ("low", "0-131072\n"),
        ("high", "131072-18446744073709551615\n"),
        ("w", "1-8796093022208\n"),
        ("x", "5-8796093022209\n"),
    ] {
        work.set(&format!("build --ranges -o {name}"), ranges).quiet();
    }
    for (line, expected) in [
        ("select a --quantile 1", "18446744073709551000\n"),
        ("select a --quantile 0.5", "9223372036854775502\n"),
        ("range b 4611686018427387950 18446744073709551615", "4611686018427387999\n"),
        ("range b 5000000000000000000 18446744073709551615", ""),
        ("andnot w x", "1\n2\n3\n4\n"),
        ("xor w x", "1\n2\n3\n4\n8796093022209\n"),
        ("at-least 2 low high", "131072\n"),
        ("at-least 3 w x low --count", "131068\n"),
        ("andnot a a", ""),
        ("diff a a", ""),
        ("overlap low high --by lift", "low\thigh\t1\t0.000000\t0.000008\n"),
    ] {
        assert_eq!(work.set(line, "").quiet(), expected, "{line}");
    }
    let behind = work.set("select a 18446744073709551615", "");
    assert_eq!((behind.code, behind.out.as_str(), behind.err.as_str()), (Some(1), "", ""));
    let compared = work.set("compare low high", "").quiet();
    assert!(compared.contains("union         18446744073709551616\n"), "{compared}");
    let compared = work.set("compare low high --json", "").quiet();
    assert!(compared.contains("\"union\":1.8446744073709552e+19"), "{compared}");
    // Several sources of a change are joined as ranges too.
    work.set("build -o s", "1\n").quiet();
    work.set("add s a 99", "").quiet();
    work.set("remove s w 5", "").quiet();
    assert_eq!(work.set("cat s --ranges", "").quiet(), "8796093022209-18446744073709551000\n");
    // A folder of lists is one.
    work.set("build --ranges --parts 2 -o parts", "1-100000000000000\n").quiet();
    assert_eq!(work.set("cat parts --ranges", "").quiet(), "1-100000000000000\n");
    assert_eq!(work.set("gaps parts", "").quiet(), "");
    assert!(work.set("info parts", "").quiet().contains("runs         1\n"));
    assert_eq!(work.set("or parts low --ranges", "").quiet(), "0-100000000000000\n");
}

#[test]
fn wide_ranges_are_changed_counted_or_refused() {
    let work = Workspace::new();
    work.set("build -o a.bits", "7\n").quiet();
    let all = "0..18446744073709551615";
    // Each value would be written.
    work.set(&format!("eval 'a | {all}' a=a.bits"), "")
        .refused("is too wide: ranges have at most about 17592186044416 values here");
    for (line, expected) in [
        (format!("eval {all} --ranges"), "0-18446744073709551615\n"),
        (format!("eval '{all} - a - 9..18446744073709551615' a=a.bits --ranges"), "0-6\n8\n"),
        (format!("eval '{all} - 6..18446744073709551615' --count"), "6\n"),
    ] {
        assert_eq!(work.set(&line, "").quiet(), expected, "{line}");
    }
    assert_eq!(work.set(&format!("eval 'a & {all}' a=a.bits"), "").quiet(), "7\n");
    assert_eq!(work.set(&format!("eval 'a - {all}' a=a.bits"), "").quiet(), "");
    let count = work.set(&format!("eval '{all} - a' a=a.bits --count"), "").quiet();
    assert_eq!(count, "18446744073709551615\n");
    // Changes take as wide ranges as files do.
    work.set("add a.bits --ranges 10-4294967399 1-2", "").quiet();
    let changes = "-20-4294967300\n+4294967296\n-1\n+100-99999999999\n-200-99999999899\n";
    work.set("apply a.bits --ranges", changes).quiet();
    let left = "2\n7\n10-19\n100-199\n99999999900-99999999999\n";
    assert_eq!(work.set("cat a.bits --ranges", "").quiet(), left);
    work.set("add a.bits --ranges 5-17592186109958", "").quiet();
    assert_eq!(work.set("cat a.bits --ranges", "").quiet(), "2\n5-17592186109958\n");
}

#[test]
fn malformed_lines_are_told_skipped_or_collected() {
    let work = Workspace::new();
    work.write(
        "bad",
        "10.0.0.0/8\n10.0.0.1/8\n010.1.2.3\n10.1.2.300\n10.0.0.0/33\n10.0.0.9-10.0.0.1\n11.0.0.0\n",
    );
    let host_bits =
        "bad:2: byte 11: expected an address without bits behind its prefix: \"10.0.0.1/8\"";
    work.set("build bad --as cidr", "").refused(host_bits);
    work.run("-u --as cidr bad").refused(host_bits);
    assert_eq!(
        work.set("build bad --as cidr --skip-invalid", "").quiet(),
        "10.0.0.0/8\n11.0.0.0\n"
    );
    let ran = work.run("-u --as cidr bad --rejects rejects");
    assert_eq!(ran.quiet(), "10.0.0.0/8\n11.0.0.0\n");
    let rejects = work.read("rejects");
    let places: Vec<Vec<&str>> = rejects.lines().map(|line| line.split('\t').collect()).collect();
    let places: Vec<_> = places.iter().map(|fields| (fields[1], fields[2], fields[4])).collect();
    assert_eq!(
        places,
        [
            ("2", "11", "10.0.0.1/8"),
            ("3", "22", "010.1.2.3"),
            ("4", "39", "10.1.2.300"),
            ("5", "52", "10.0.0.0/33"),
            ("6", "64", "10.0.0.9-10.0.0.1"),
        ]
    );
    work.write("csv", "n,net\na,10.0.0.0/8\nb,10.0.0.1/8\n");
    work.set("build csv --as cidr --column net", "").refused("csv:3: byte");
    assert_eq!(
        work.set("build csv --as cidr --column net --skip-invalid", "").quiet(),
        "10.0.0.0/8\n"
    );
    // A plain sort of addresses says what would take them.
    work.write("quads", "10.0.0.1\n");
    let refused = work.run("quads");
    assert!(refused.err.contains("--as ipv4 reads addresses"), "{refused:?}");
    work.set("contains quads 1.2.3 --as ipv4", "").refused("\"1.2.3\": expected four numbers");
}

#[test]
fn addresses_and_hexadecimal_numbers_are_sorted() {
    let work = Workspace::new();
    work.write("ips", "10.0.0.10\n9.255.0.1\n10.0.0.9\n9.255.0.1\n");
    for (line, expected) in [
        ("--as ipv4 ips", "9.255.0.1\n9.255.0.1\n10.0.0.9\n10.0.0.10\n"),
        ("--as ipv4 -u -r ips", "10.0.0.10\n10.0.0.9\n9.255.0.1\n"),
        ("--as ipv4 --count ips", "      2 9.255.0.1\n      1 10.0.0.9\n      1 10.0.0.10\n"),
        ("--as ipv4 --repeated ips", "9.255.0.1\n"),
        ("--as cidr -u ips", "9.255.0.1\n10.0.0.9\n10.0.0.10\n"),
        ("--as ipv4 --to u32be ips -o raw", ""),
        ("--from u32be raw --as ipv4", "9.255.0.1\n9.255.0.1\n10.0.0.9\n10.0.0.10\n"),
    ] {
        assert_eq!(work.run(line).quiet(), expected, "{line}");
    }
    work.write("sorted", "9.255.0.1\n10.0.0.10\n");
    assert_eq!(work.run("--as ipv4 -m sorted sorted -u").quiet(), "9.255.0.1\n10.0.0.10\n");
    assert_eq!(work.run("--as ipv4 --check sorted").quiet(), "");
    let disorder = work.run("--as ipv4 --check ips");
    assert_eq!(disorder.code, Some(1));
    assert!(disorder.err.contains("ips:2: disorder: 9.255.0.1 follows 10.0.0.10"), "{disorder:?}");
    let hex = work.run_with("--as hex --count", b"0xFF\nff\nA\n00000000000000000000000001\n");
    assert_eq!(hex.quiet(), "      1 1\n      1 a\n      2 ff\n");
    assert_eq!(work.run_with("--as hex -z", b"b\x000xA\0").quiet(), "a\0b\0");
    work.write("blocks", "10.0.0.0/8\n10.0.0.0-10.0.0.9\n10.0.0.3\n");
    let refused = work.run("--as ipv4 blocks");
    refused.refused("blocks:1: byte 8: expected one number, not a range or a block");
    assert!(refused.err.contains("with -u, --as cidr writes blocks"), "{refused:?}");
    work.run("--as cidr blocks").refused("add -u");
    work.run("--ranges blocks").refused("add -u");
    for unique in ["", "-u "] {
        work.run(&format!("{unique}-c --as cidr blocks")).refused("ranges have no order to check");
        work.run(&format!("{unique}--merge --as cidr blocks")).refused("there is no merge");
        work.run(&format!("{unique}--count --ranges blocks")).refused("without counts");
    }
    assert_eq!(work.run("--as cidr -u blocks").quiet(), "10.0.0.0/8\n");
    assert_eq!(work.run("--as ipv4 --to bits -o blocks.bits blocks").quiet(), "");
    assert_eq!(work.set("cat blocks.bits --as cidr", "").quiet(), "10.0.0.0/8\n");
    for line in [
        "-r",
        "--count",
        "--repeated",
        "-m",
        "--strategy dense",
        "--no-spill",
        "-z",
        "--explain",
        "-c",
    ] {
        work.run(&format!("-u --as cidr {line} blocks")).refused("");
    }
    work.write("wide", "4294967296\n");
    work.set("cat wide --ranges -o wide.bits", "").quiet();
    work.set("cat wide.bits --as cidr", "").refused("4294967296 does not fit in cidr");
}

/// Ranges of small data are what their values are, one by one, in any memory and of any
/// number of threads; long lines, streams and columns too.
#[test]
fn ranges_are_their_values() {
    let work = Workspace::new();
    let mut random = 7_u64;
    let mut next = move |below: u64| {
        random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        (random >> 33) % below
    };
    for (notation, most) in
        [(Notation::DECIMAL, 1 << 20), (Notation::HEX, 1 << 40), (Notation::IPV4, 1 << 32)]
    {
        let (mut model, mut lines) = (BTreeSet::new(), Vec::new());
        let text = |value| notation.text(value).unwrap();
        for _ in 0..20_000 {
            let first = next(most);
            let last = (first + next(20)).min(most - 1);
            model.extend(first..=last);
            let blanks = if next(500) == 0 { " ".repeat(3000) } else { String::new() };
            lines.push(match last - first {
                0 => format!("{}{blanks}\n", text(first)),
                _ => format!("{}{blanks}-{}\n", text(first), text(last)),
            });
        }
        work.write("ranges", lines.concat());
        let rows = lines.iter().map(|line| format!("x,\"{}\"\n", line.trim_end()));
        let csv = rows.collect::<Vec<_>>().concat();
        let sort = || Sort::new().temporary_folder(work.path()).distinct(true);
        let ranges = notation.with_ranges();
        for threads in [1, 3] {
            let values =
                sort().file(work.file("ranges")).threads(threads).notation(ranges).into_values();
            let values: Vec<u64> = values.unwrap().collect::<Result<_, _>>().unwrap();
            assert!(values.iter().eq(&model), "{notation}");
        }
        let mut out = Vec::new();
        let reader = std::io::Cursor::new(lines.concat().into_bytes());
        sort().reader("x", reader).notation(ranges).to_writer(&mut out).unwrap();
        let built = sort().reader("x", std::io::Cursor::new(out)).notation(ranges);
        built.to_set(work.file("built.bits"), SetFormat::Bits).unwrap();
        let rows = sort().reader("csv", std::io::Cursor::new(csv)).notation(ranges);
        let rows =
            rows.column(bitsort::number::Column::Number(2), b',').invalid(InvalidLines::Fail);
        let (told, report) = rows.to_set(work.file("rows.bits"), SetFormat::Bits).unwrap();
        assert_eq!((told.cardinality, report.lines), (model.len() as u64, 20_000));
        for name in ["built.bits", "rows.bits"] {
            let set = SetFile::open(work.file(name)).unwrap();
            assert!(set.iter().map(Result::unwrap).eq(model.iter().copied()), "{notation} {name}");
        }
    }
}

/// A library user is told as well that a range has each value once.
#[test]
fn ranges_are_refused_where_copies_are_kept() {
    for notation in [Notation::CIDR, Notation::HEX.with_ranges()] {
        let sort = || Sort::new().reader("x", &b""[..]).notation(notation);
        assert!(sort().to_writer(Vec::new()).is_err(), "{notation}");
        assert!(sort().into_values().unwrap().next().is_some_and(|value| value.is_err()));
        assert!(sort().distinct(true).reverse(true).to_writer(Vec::new()).is_err());
        assert!(sort().distinct(true).to_writer(Vec::new()).is_ok());
    }
    // A hint must not lead to the next refusal.
    let work = Workspace::new();
    for (option, what) in [
        ("-r", "in ascending order only"),
        ("-z", "lines end in a newline"),
        ("--no-spill", "temporary files may be needed"),
        ("--strategy dense", "no choice of a strategy"),
        ("--count", "without counts"),
    ] {
        work.run_with(&format!("{option} --as cidr"), b"10.0.0.0/8\n").refused(what);
    }
    work.run_with("--as cidr", b"10.0.0.0/8\n").refused("add -u");
}

/// More ranges than fit into the least memory.
#[test]
fn ranges_spill_within_the_memory_limit() {
    const LINES: u64 = 1_300_000;
    let work = Workspace::new();
    let firsts = || (0..LINES).map(|number| number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let lines = firsts().map(|first| format!("{first:x}\n"));
    work.write("ranges", lines.collect::<Vec<_>>().concat());
    let ran = work.run("-u --as hex --ranges --mem 64M --threads 2 --stats=json -o out ranges");
    let told: Value = serde_json::from_str(&ran.err).unwrap();
    assert_eq!(told["values"], LINES);
    assert!(told["spilled_bytes"].as_u64() > Some(0), "{told}");
    assert!(told["peak_resident_bytes"].as_u64() <= Some(64 << 20), "{told}");
    let mut expected: Vec<u64> = firsts().collect();
    expected.sort_unstable();
    expected.dedup();
    let lines = expected.iter().map(|first| format!("{first:x}\n"));
    assert!(work.read("out") == lines.collect::<Vec<_>>().concat());
}
