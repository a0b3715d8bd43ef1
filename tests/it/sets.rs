//! `bitset` as its users meet it.

use crate::workspace::Workspace;
use bitsort::set::SetFile;
use roaring::RoaringBitmap;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

/// A workspace with `a` (text), `b.bits` and `c.roaring`.
fn workspace() -> Workspace {
    let work = Workspace::new();
    work.write("a", "40\n3\n35\n7\n35\n");
    assert_eq!(work.set("build -o b.bits", "35\n40\n41\n4294967296\n").quiet(), "");
    assert_eq!(work.set("build -o c.roaring", "3\n40\n99\n").quiet(), "");
    work
}

#[test]
fn what_needs_a_file_says_so() {
    let work = Workspace::new();
    for line in ["convert -", "identify -"] {
        work.set(line, "1\n").refused("reads files, not standard input");
    }
}

#[test]
fn membership_is_told_by_words_and_by_the_exit_status() {
    let work = workspace();
    for (line, input, expected, code) in [
        ("contains b.bits 40", "", "true\n", 0),
        ("contains b.bits 39", "", "false\n", 1),
        ("contains a 40 7", "", "40\ttrue\n7\ttrue\n", 0),
        ("contains c.roaring 40 7", "", "40\ttrue\n7\tfalse\n", 1),
        ("contains b.bits", "4294967296\n\n 041\n", "4294967296\ttrue\n41\ttrue\n", 0),
        ("contains b.bits", "1", "1\tfalse\n", 1),
        ("filter b.bits", "40\n041\n5\n", "40\n041\n", 0),
        ("filter -v b.bits", "40\n041\n5", "5\n", 0),
        ("filter --skip-invalid b.bits", "x\n40\n", "40\n", 0),
    ] {
        let ran = work.set(line, input);
        assert_eq!((&*ran.out, ran.code), (expected, Some(code)), "{line}: {}", ran.err);
    }
    let ran = work.set("filter b.bits", "40\nx1\n");
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("-:2: byte 3: expected a digit: \"x1\""), "{}", ran.err);
}

#[test]
fn questions_are_answered_for_every_kind_of_file() {
    let work = workspace();
    for (line, expected, code) in [
        ("count a", "4\n", 0),
        ("count b.bits 36 100", "2\n", 0),
        ("min c.roaring", "3\n", 0),
        ("max b.bits", "4294967296\n", 0),
        ("rank b.bits 40", "2\n", 0),
        ("select b.bits 3", "4294967296\n", 0),
        ("select b.bits 4", "", 1),
        ("select b.bits --quantile 0.5", "40\n", 0),
        ("rank b.bits 40 1 99", "40\t2\n1\t0\n99\t3\n", 0),
        ("select b.bits 3 0", "3\t4294967296\n0\t35\n", 0),
        ("select b.bits 0 4", "0\t35\n4\tnone\n", 1),
        ("select b.bits --quantile 0.50,1", "0.50\t40\n1\t4294967296\n", 0),
        ("range a 7 39", "7\n35\n", 0),
        ("gaps a", "4\t6\n8\t34\n36\t39\n", 0),
        ("gaps a --min-length 5", "8\t34\n", 0),
        ("sample a 10", "3\n7\n35\n40\n", 0),
        ("cat c.roaring", "3\n40\n99\n", 0),
        ("min empty", "", 1),
    ] {
        work.write("empty", "");
        let ran = work.set(line, "");
        assert_eq!((&*ran.out, ran.code), (expected, Some(code)), "{line}: {}", ran.err);
    }
    let sample = work.set("sample b.bits 2 --seed 7", "").quiet().clone();
    assert_eq!(work.set("sample b.bits 2 --seed 7", "").quiet(), sample);
    assert_eq!(sample.lines().count(), 2);
}

#[test]
fn sets_of_any_kind_are_joined_into_any_format() {
    let work = workspace();
    for (line, expected) in [
        ("and a b.bits", "35\n40\n"),
        ("and a b.bits c.roaring", "40\n"),
        ("or a c.roaring", "3\n7\n35\n40\n99\n"),
        ("xor a c.roaring", "7\n35\n99\n"),
        ("andnot a b.bits c.roaring", "7\n"),
        ("at-least 2 a b.bits c.roaring", "3\n35\n40\n"),
        ("at-least 3 a b.bits c.roaring --count", "1\n"),
        ("or a b.bits --count", "6\n"),
        ("eval 'x & (y | z) - 1..3' x=a y=b.bits z=c.roaring", "35\n40\n"),
        ("eval 'x ^ z' x=a z=c.roaring --count", "3\n"),
    ] {
        assert_eq!(work.set(line, "").quiet(), expected, "{line}");
    }
    for format in ["bits", "dense", "sparse", "runs", "roaring", "u64le"] {
        assert_eq!(work.set(&format!("or a c.roaring --to {format} -o out"), "").quiet(), "");
        if format == "u64le" {
            let values: Vec<u8> =
                [3_u64, 7, 35, 40, 99].into_iter().flat_map(u64::to_le_bytes).collect();
            assert_eq!(fs::read(work.file("out")).unwrap(), values);
        } else {
            assert_eq!(work.set("cat out", "").quiet(), "3\n7\n35\n40\n99\n", "{format}");
        }
    }
    // The output may be an input.
    assert_eq!(work.set("or b.bits a -o b.bits", "").quiet(), "");
    assert_eq!(work.set("count b.bits", "").quiet(), "6\n");
    for (line, message) in [
        ("eval 'x & y' x=a", "no set is given for y"),
        ("eval 'x &' x=a", "byte 3: expected a name"),
        ("eval x x=a x=b.bits", "x is given twice"),
        ("eval '\"x\ny\"' x=a", "no set is given for \"x\\ny\": add NAME=FILE"),
        ("at-least 0 a", "K is 1 or more"),
        ("and a missing", "cannot open missing"),
        ("and a .", ".: no _manifest.json"),
        ("and - -", "standard input can be one set only"),
        ("count - -", "standard input can be one set only"),
        ("info - -", "standard input can be one set only"),
        ("verify - /dev/stdin", "standard input can be one set only"),
        ("add b.bits - -", "standard input can be one set only"),
        ("remove b.bits 7 - -", "standard input can be one set only"),
        ("contains -", "standard input has the values, so it cannot be the set"),
        ("contains /dev/stdin", "standard input has the values, so it cannot be the set"),
        ("filter /dev/stdin", "standard input has the lines, so it cannot be the set"),
        ("or b.bits --to u32le", "4294967296 does not fit in u32le"),
    ] {
        let ran = work.set(line, "");
        assert_eq!(ran.code, Some(2), "{line}");
        assert!(ran.err.contains(message), "{line}: {}", ran.err);
    }
}

#[test]
fn a_sort_may_end_in_a_set() {
    let work = workspace();
    assert_eq!(work.run("a --to bits -o s.bits").quiet(), "");
    assert_eq!(work.run("a --to roaring -o s.roaring").quiet(), "");
    assert_eq!(work.run("a --to sparse -o s.sparse").quiet(), "");
    for name in ["s.bits", "s.roaring", "s.sparse"] {
        assert_eq!(work.set(&format!("cat {name}"), "").quiet(), "3\n7\n35\n40\n");
    }
    let ran = work.run("a --to bits --count -o x");
    assert!(ran.err.contains("a set has no counts"), "{}", ran.err);
    let ran = work.run("a --to bit");
    assert!(ran.err.contains("text, bits, dense"), "{}", ran.err);
}

/// The example of docs/format.md.
#[test]
fn a_sparse_file_has_the_bytes_that_its_specification_says() {
    let work = workspace();
    work.set("build --to sparse -o five.bits", "3\n5\n20\n35\n40\n").quiet();
    let file = fs::read(work.file("five.bits")).unwrap();
    let words = [0x118_u64, 0x2843, 3, 40, 0, 2];
    let words: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
    assert_eq!((file[12], file[4096..4144] == words[..], file.len()), (4, true, 4160));
    assert_eq!(work.set("cat five.bits", "").quiet(), "3\n5\n20\n35\n40\n");
}

#[test]
fn values_far_apart_become_a_sparse_set_and_behave_as_any_other() {
    let work = workspace();
    let value = |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let text = |values: std::collections::BTreeSet<u64>| {
        values.iter().fold(String::new(), |text, value| text + &value.to_string() + "\n")
    };
    let (left, right) =
        (text((0..3000).map(value).collect()), text((2000..5000).map(value).collect()));
    for (name, lines) in [("x", &left), ("y", &right)] {
        work.write(name, lines);
        work.set(&format!("build {name} -o {name}.bits"), "").quiet();
        work.set(&format!("build {name} --to roaring -o {name}.roaring"), "").quiet();
        assert_eq!(&work.set(&format!("cat {name}.bits"), "").quiet(), lines);
        work.set(&format!("verify {name}.bits"), "").quiet();
    }
    work.run("x --to bits -o sorted.bits").quiet();
    assert_eq!(fs::read(work.file("sorted.bits")).unwrap(), fs::read(work.file("x.bits")).unwrap());
    assert_eq!(work.set("identify x.bits", "").quiet(), "x.bits: .bits file, sparse\n");
    let info = work.set("info x.bits", "").quiet().clone();
    assert!(
        info.contains("kind         .bits (sparse)") && info.contains(" as a sparse one"),
        "{info}"
    );
    let json = work.set("info --json x.bits", "").quiet().clone();
    let bytes = fs::metadata(work.file("x.bits")).unwrap().len();
    assert!(json.contains(&format!("\"sparse_bytes\":{bytes},")), "{json}");
    // A portable file is the model of each question.
    for line in [
        "contains SET 0 11400714819323198485 7",
        "count SET",
        "min SET",
        "max SET",
        "count SET 5 1000000000000000000",
        "rank SET 9223372036854775807",
        "select SET 1234",
        "range SET 5 100000000000000000",
        "gaps SET",
        "sample SET 17",
        "and SET OTHER",
        "or SET OTHER",
        "xor SET y.roaring",
        "andnot SET OTHER",
        "at-least 2 SET OTHER x.roaring",
        "compare SET OTHER",
        "compare SET y.roaring",
        "diff SET OTHER",
        "diff OTHER SET",
        "eval '(a & b) | (b - 5..9999999999999)' a=SET b=OTHER",
        "eval 'a ^ b' a=SET b=OTHER --count",
        "and SET OTHER --count",
        "andnot SET OTHER SET OTHER",
        "or SET b.bits",
        "andnot b.bits SET",
        "and SET b.bits OTHER",
        "filter SET y",
    ] {
        let ask = |kind: &str| {
            let line =
                line.replace("SET", &format!("x.{kind}")).replace("OTHER", &format!("y.{kind}"));
            let ran = work.set(&line, "");
            (ran.out, ran.code, ran.err)
        };
        assert_eq!(ask("bits"), ask("roaring"), "{line}");
    }
    work.set("eval 0..2000000 -o near", "").quiet();
    for (line, kind) in [
        ("add x.bits y.bits 7", "sparse"),
        ("add x.bits near", "roaring64"),
        ("remove x.bits near", "sparse"),
    ] {
        work.set(line, "").quiet();
        let info = work.set("info x.bits", "").quiet().clone();
        assert!(info.contains(&format!("({kind})")), "{line}: {info}");
        work.set("verify x.bits", "").quiet();
    }
}

#[test]
fn files_are_changed_as_a_whole() {
    let work = workspace();
    assert_eq!(work.set("add b.bits 1 2", "").quiet(), "");
    assert_eq!(work.set("remove b.bits", "2\n35\n4294967296\n").quiet(), "");
    assert_eq!(work.set("cat b.bits", "").quiet(), "1\n40\n41\n");
    assert_eq!(work.set("add c.roaring 4", "").quiet(), "");
    assert_eq!(
        work.set("identify c.roaring", "").quiet(),
        "c.roaring: portable roaring bitmap, 32 bits\n"
    );
    let diff = work.set("diff b.bits c.roaring", "");
    assert_eq!((&*diff.out, diff.code), ("-1\n+3\n+4\n-41\n+99\n", Some(1)));
    work.write("changes", &diff.out);
    assert_eq!(work.set("apply b.bits changes", "").quiet(), "");
    assert_eq!(work.set("diff b.bits c.roaring", "").quiet(), "");
    let ran = work.set("apply b.bits", "+1\n*2\n");
    assert!(ran.err.contains("-:2: byte 3: expected +VALUE or -VALUE: \"*2\""), "{}", ran.err);
    work.write("packed", [0x1F, 0x8B, 0xFF]);
    let ran = work.set("apply b.bits packed", "");
    assert!(ran.err.contains("packed:1: byte 0: expected +VALUE or -VALUE"), "{}", ran.err);
    let ran = work.set("add a 5", "");
    assert!(ran.err.contains("a is no set file"), "{}", ran.err);
    assert_eq!(work.names(), ["a", "b.bits", "c.roaring", "changes", "packed"]);
}

#[test]
fn changes_are_read_as_lines_of_sets_are() {
    let work = workspace();
    work.set("apply b.bits", "\u{feff}+11\n\n \t-35\r\n+0012 \n-40\n-41\n-4294967296\n").quiet();
    assert_eq!(work.set("cat b.bits", "").quiet(), "11\n12\n");
    for line in ["apply b.bits --as ipv4", "apply b.bits --as cidr"] {
        work.set(line, "+10.0.0.7 # one\n# all\n+10.0.0.0/30\n-10.0.0.1-10.0.0.2\n").quiet();
        let expected = "0.0.0.11\n0.0.0.12\n10.0.0.0\n10.0.0.3\n10.0.0.7\n";
        assert_eq!(work.set("cat b.bits --as ipv4", "").quiet(), expected);
        work.set("remove b.bits --as cidr 10.0.0.0/8", "").quiet();
    }
    for (line, text, message) in [
        ("apply b.bits", "+1\n+5-7\n", "-:2: byte 5: expected the end of the line"),
        ("apply b.bits", "+1\n-\n", "-:2: byte 4: expected a digit"),
        (
            "apply b.bits --ranges",
            "+7-5\n",
            "-:1: byte 3: expected a last number that is not below",
        ),
        (
            "apply b.bits --as cidr",
            "+10.0.0.1/8\n",
            "-:1: byte 1: expected an address without bits",
        ),
    ] {
        work.set(line, text).refused(message);
        assert_eq!(work.set("cat b.bits", "").quiet(), "11\n12\n");
    }
}

#[test]
fn a_record_that_is_too_long_is_no_record_of_a_filter() {
    let work = Workspace::new();
    work.write("set", "1\n3\n");
    work.write("rows", ["1,a\n3,", &"x".repeat(1_100_000), "\n3,b\n"].concat());
    let ran = work.set("filter set rows --column 1", "");
    assert_eq!((ran.code, &*ran.out), (Some(2), "1,a\n"));
    assert!(ran.err.contains("rows:2: byte 4: expected a record of at most 1 MiB"), "{}", ran.err);
    assert_eq!(work.set("filter set rows --column 1 --skip-invalid", "").quiet(), "1,a\n3,b\n");
}

#[test]
fn quantiles_are_exact() {
    let work = Workspace::new();
    let quantile = |values: &str, share: &str| {
        work.set(&format!("select - --ranges --quantile {share}"), values)
            .quiet()
            .trim_end()
            .to_owned()
    };
    for percent in 0..=100_u32 {
        let share = f64::from(percent) / 100.0;
        assert_eq!(quantile("1-100\n", &share.to_string()), percent.max(1).to_string(), "{share}");
    }
    let all = "1-18446744073709551615\n";
    for (values, share, expected) in [
        (all, "1e-20", "1"),
        (all, "1e-99999", "1"),
        (all, "0", "1"),
        (all, "1.000", "18446744073709551615"),
        (all, "10e-1", "18446744073709551615"),
        (all, "0.99999999999999999999", "18446744073709551615"),
        (all, "0.9999999999999999999", "18446744073709551614"),
        ("1-1000000000000000000\n", "0.1", "100000000000000000"),
        ("1-1000000000000000000\n", ".10000000000000000000001", "100000000000000001"),
        ("1-9007199254740987\n", "0.9999999999999999", "9007199254740987"),
        ("7-7\n", "+5.E-1", "7"),
    ] {
        assert_eq!(quantile(values, share), expected, "{share} of {values}");
    }
    for share in ["1.0000000001", "-0.1", "nan", "inf", "", ".", "2", "1e1", "1e", "0x1", "5%"] {
        let ran = work.set(&format!("select - --quantile '{share}'"), "1\n");
        assert_eq!((ran.code, &*ran.out), (Some(2), ""), "{share}: {}", ran.err);
    }
}

#[test]
fn convert_names_the_file_that_is_damaged() {
    let work = Workspace::new();
    let odd = "1\n3\n5\n7\n9\n11\n13\n15\n17\n19\n";
    for format in ["roaring", "doris", "clickhouse-u32", "clickhouse-u64"] {
        work.write("ids", odd);
        work.set(
            &format!("build --to {} -o whole", if format == "roaring" { format } else { "bits" }),
            odd,
        )
        .quiet();
        work.set(&format!("convert whole --to {format} -o set"), "").quiet();
        let mut bytes = std::fs::read(work.file("set")).unwrap();
        let last = bytes.len() - 2;
        bytes[last..].copy_from_slice(&[0, 0]);
        work.write("set", bytes);
        let from = if format == "roaring" { String::new() } else { format!(" --from {format}") };
        for output in ["", " -o out"] {
            let ran = work.set(&format!("convert set{from}{output}"), "");
            assert_eq!((ran.code, &*ran.out), (Some(2), ""), "{format}: {}", ran.err);
            assert!(ran.err.contains("set: byte"), "{format}: {}", ran.err);
        }
    }
    assert_eq!(work.names(), ["ids", "set", "whole"]);
}

#[test]
fn sets_are_described_compared_and_verified() {
    let work = workspace();
    let info = work.set("info b.bits", "").quiet().clone();
    assert!(
        info.contains("kind         .bits (roaring64)") && info.contains("values       4"),
        "{info}"
    );
    let json = work.set("info a --json", "").quiet().clone();
    assert!(json.contains("\"cardinality\":4") && json.contains("\"runs\":4"), "{json}");
    let compared = work.set("compare a c.roaring", "").quiet().clone();
    assert!(
        compared.contains("intersection  2") && compared.contains("Jaccard       0.400000"),
        "{compared}"
    );
    assert_eq!(
        work.set("verify b.bits c.roaring", "").quiet(),
        "b.bits: 4 values, whole\nc.roaring: 3 values, whole\n"
    );
    let mut bytes = fs::read(work.file("b.bits")).unwrap();
    bytes[4100] ^= 1;
    work.write("b.bits", bytes);
    let ran = work.set("verify b.bits", "");
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("b.bits: byte"), "{}", ran.err);
    let ran = workspace().set("plot b.bits -o map.png --ipv4", "");
    ran.refused("b.bits has 4294967296, which is no IPv4 address");
}

#[test]
fn sets_of_other_programs_are_recognized_and_read() {
    let work = workspace();
    let portable = fs::read(work.file("c.roaring")).unwrap();
    let wide = [&1_u64.to_le_bytes()[..], &[1, 0, 0, 0], &portable].concat();
    let magic = [0xD1, 0xD3, 0x39, 0x64];
    let length = u32::try_from(wide.len() + 4).unwrap().to_be_bytes();
    work.write("wide", &wide);
    let vector = [&magic[..], &wide].concat();
    let sum = crc32fast::hash(&vector).to_be_bytes();
    work.write("vector", [&length[..], &vector, &sum].concat());
    work.write("wrong", [&length[..], &vector, &[1, 2, 3, 4]].concat());
    let two = [&[1][..], &length, &vector, &sum, &length, &vector, &sum].concat();
    work.write("vectors", two);
    work.write("java", [&[0, 0, 0, 0, 1, 0, 0, 0, 0][..], &portable].concat());
    work.write("doris", [&[2][..], &portable].concat());
    let size = u8::try_from(portable.len()).unwrap();
    work.write("clickhouse", [&[1, size][..], &portable].concat());
    for (name, expected) in [
        ("wide", "portable roaring bitmap, 64 bits"),
        ("vector", "deletion vector (Iceberg)"),
        ("vectors", "file of deletion vectors (Delta Lake), deletion vectors: 2"),
        ("java", "Roaring64NavigableMap"),
        ("doris", "Apache Doris or StarRocks, 32 bits"),
        ("clickhouse", "ClickHouse, bitmap"),
        ("a", "text"),
        ("b.bits", ".bits file"),
    ] {
        let ran = work.set(&format!("identify {name}"), "").quiet().clone();
        assert!(ran.contains(expected), "{ran}");
    }
    let shifted = "4294967299\n4294967336\n4294967395\n";
    assert_eq!(work.set("convert vector", "").quiet(), shifted);
    assert_eq!(work.set("convert wide", "").quiet(), shifted);
    assert!(work.set("convert wrong", "").err.contains("does not have its checksum"));
    work.write("small", [0, 1, 7, 0, 0, 0]);
    assert_eq!(work.set("convert small --width 4", "").quiet(), "7\n");
    work.set("convert small --width 2", "").refused("not that of so many values");
    work.set("convert vector --width 4", "").refused("a width is for states of ClickHouse");
    let second = work.set("convert vectors --from delta --vector 2", "").quiet();
    assert_eq!(second, work.set("convert vectors --vector 2", "").quiet());
    work.set("convert vector --from iceberg --vector 1", "")
        .refused("files of several deletion vectors");
    let joined = work.set("convert vectors", "");
    assert_eq!((joined.code, &*joined.out), (Some(0), shifted));
    assert!(joined.err.contains("has 2 deletion vectors, which are joined"), "{}", joined.err);
    assert_eq!(work.set("convert vectors --vector 2", "").quiet(), shifted);
    work.set("convert vectors --vector 3", "").refused("no vector 3: vectors has 2");
    work.set("convert wide --vector 1", "").refused("vector is for files");
    assert_eq!(work.set("convert doris", "").quiet(), "3\n40\n99\n");
    // The head of a roaring bitmap that was cut is a bitmap of Doris.
    work.write("cut", [1, 0, 0, 0, 0]);
    assert_eq!(work.set("convert cut", "").quiet(), "0\n");
    assert_eq!(work.set("convert cut --from roaring", "").code, Some(2));
    assert_eq!(work.set("convert wide --from roaring", "").quiet(), shifted);
    assert_eq!(work.set("convert c.roaring --from roaring", "").quiet(), "3\n40\n99\n");
    assert_eq!(work.set("convert clickhouse", "").quiet(), "3\n40\n99\n");
    work.write("raw", [0b0000_0101_u8, 0b1000_0000]);
    assert_eq!(work.set("convert raw --from bitmap-lsb", "").quiet(), "0\n2\n15\n");
    assert_eq!(
        work.set("convert raw --from bitmap-msb --base 65536", "").quiet(),
        "65541\n65543\n65544\n"
    );
    assert!(work.set("convert java", "").err.contains("cannot convert"));
    work.set("cat a -o a.gz --to text", "").quiet();
    let plain = work.set("cat a", "").quiet().clone();
    assert_eq!(*work.set("convert a.gz", "").quiet(), plain);
    for from in ["bitmap-lsb", "roaring", "iceberg"] {
        work.set(&format!("convert a.gz --from {from}"), "").refused("unpack it first");
    }
    let many: Vec<u8> = [0, 33].into_iter().chain(0..33).collect();
    work.write("many", many);
    work.set("convert many --from clickhouse-u32", "")
        .refused("byte 1: a small set has at most 32");
    let told =
        "a.gz: file packed as .gz; other commands unpack it if it has numbers or a set of bitset\n";
    assert_eq!(work.set("identify a.gz", "").quiet(), told);
    work.set("convert raw --from bitmap-lsb --base 7", "")
        .refused("raw bitmap is a multiple of 65536");
    let help = work.set("convert --help", "").quiet();
    let words: Vec<&str> = help.split_whitespace().collect();
    assert!(words.join(" ").contains("first bit of a raw bitmap, a multiple of 65536"), "{help}");
}

/// The heads of a bare roaring bitmap and its containers say different numbers of values.
#[test]
fn containers_with_a_wrong_number_of_values_are_refused() {
    let work = Workspace::new();
    let run = [12347_u32.to_le_bytes().as_slice(), &[1, 0, 0, 99, 0, 1, 0, 5, 0, 9, 0]].concat();
    let mut bitmap = Vec::new();
    let values: RoaringBitmap = (0..65536).step_by(7).collect();
    values.serialize_into(&mut bitmap).unwrap();
    let last = bitmap.len() - 100;
    bitmap[last] ^= 0xFF;
    let told = "the number of values of a container is wrong";
    for (name, portable) in [("run", run), ("bitmap", bitmap)] {
        let wide = [&1_u64.to_le_bytes()[..], &[1, 0, 0, 0], &portable].concat();
        let size = u16::try_from(portable.len()).unwrap();
        let size = [u8::try_from(size & 127).unwrap() | 128, u8::try_from(size >> 7).unwrap()];
        work.write("doris", [&[2][..], &portable].concat());
        work.write("clickhouse", [&[1][..], &size, &portable].concat());
        work.write("wide", &wide);
        work.write("bare", &portable);
        for file in ["doris", "clickhouse", "wide", "bare"] {
            work.set(&format!("convert {file}"), "").refused(told);
            work.set(&format!("convert {file} -o out.bits"), "").refused(told);
        }
        for line in [
            "cat bare",
            "and bare bare --count",
            "or wide bare",
            "at-least 1 bare wide",
            "verify bare",
        ] {
            let ran = work.set(line, "");
            assert!(ran.code == Some(2), "{line} of {name}: {ran:?}");
        }
        assert!(!work.names().iter().any(|name| name == "out.bits"));
    }
}

#[test]
fn every_format_of_others_is_written_recognized_and_read() {
    let work = workspace();
    let values = "0\n7\n65536\n4294967296\n";
    for (format, name) in [
        ("clickhouse-u64", "groupBitmap state of ClickHouse, bitmap"),
        ("doris", "bitmap of Apache Doris or StarRocks, 64 bits"),
        ("iceberg", "deletion vector (Iceberg)"),
        ("delta", "file of deletion vectors (Delta Lake), deletion vectors: 1"),
        ("delta-inline", "deletion vector (Delta Lake), inline, as text"),
    ] {
        work.set(&format!("build --to {format} -o x"), values).quiet();
        assert_eq!(work.set("identify x", "").quiet(), format!("x: {name}\n"));
        assert_eq!(work.set("convert x", "").quiet(), values, "{format}");
        assert_eq!(work.set(&format!("convert x --from {format}"), "").quiet(), values);
        let piped = work.set(&format!("cat b.bits --to {format}"), "");
        assert_eq!(piped.code, Some(0), "{format}");
        work.set("convert b.bits -o y", "").quiet();
        work.set(&format!("convert b.bits --to {format} -o y"), "").quiet();
        let of_bits = work.set("cat b.bits", "").quiet().clone();
        assert_eq!(work.set("convert y", "").quiet(), of_bits, "a .bits file in any format");
        work.run(&format!("--to {format} -o z y2")).refused("cannot open y2");
    }
    let refused = work.set("build --to clickhouse-u32 -o w", values);
    refused.refused("4294967296 does not fit in clickhouse-u32");
    work.set("build --to u32be -o x", "1\n258\n").quiet();
    assert_eq!(fs::read(work.file("x")).unwrap(), [0, 0, 0, 1, 0, 0, 1, 2]);
    work.set("bloom build --to spark -n 5 -o f", "fox\n").quiet();
    assert_eq!(work.set("identify f", "").quiet(), "f: Bloom filter of Spark\n");
    work.set("build --to nothing -o x", "").refused("delta-inline");
}

#[test]
fn a_killed_update_leaves_the_old_set_or_the_new_one_and_readers_see_one_of_them() {
    let work = Workspace::new();
    let numbers: Vec<String> = (0..300_000).map(|i| (i * 37).to_string()).collect();
    work.set("build -o s.bits", &numbers.join("\n")).quiet();
    let (old, new) = (300_000, 300_001);
    let counted = || SetFile::open(work.file("s.bits")).unwrap().len();
    let (mut killed, mut finished) = (0, 0);
    for round in 0..40 {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bitset"));
        command.args(["add", "s.bits", "1"]).current_dir(work.path()).env("TMPDIR", work.path());
        let mut child = command.spawn().unwrap();
        let patience = Duration::from_micros(700 * round);
        let started = Instant::now();
        while started.elapsed() < patience {
            assert!([old, new].contains(&counted()));
        }
        let _ = child.kill(); // it may have ended
        let status = child.wait().unwrap();
        SetFile::open(work.file("s.bits")).unwrap().verify().unwrap();
        match (status.success(), counted()) {
            (true, count) => {
                assert_eq!(count, new);
                finished += 1;
            }
            (false, count) => {
                assert!([old, new].contains(&count));
                killed += 1;
            }
        }
        work.set("remove s.bits 1", "").quiet();
        assert_eq!(counted(), old);
    }
    println!("updates: {killed} killed, {finished} finished");
    assert!(killed > 0);
}

#[test]
fn a_filter_splits_any_lines_into_those_in_the_set_and_the_others() {
    let work = Workspace::new();
    // A set larger than a piece, and lines in no order, some of them odd.
    let members: Vec<u64> = (0..400_000).map(|index| index * 97 + index % 7).collect();
    let text = members.iter().fold(String::new(), |text, value| text + &value.to_string() + "\n");
    assert_eq!(work.set("build -o s.bits", &text).quiet(), "");
    let set: std::collections::HashSet<u64> = members.into_iter().collect();
    let (mut lines, mut inside, mut outside) = (String::new(), String::new(), String::new());
    let mut state = 1_u64;
    for number in 0..60_000_u64 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(number);
        let value = (state >> 33) % 50_000_000;
        let line = match number % 50 {
            0 => String::new(),
            1 => format!(" 00{value}\t"),
            2 => format!("{value}\r"),
            _ => value.to_string(),
        };
        let line = line + "\n";
        lines += &line;
        if line != "\n" {
            let side = if set.contains(&value) { &mut inside } else { &mut outside };
            *side += &line;
        }
    }
    for flags in ["", "--threads 1 ", "--threads 3 --mem 64K "] {
        assert_eq!(work.set(&format!("{flags}filter s.bits"), &lines).quiet(), inside);
        assert_eq!(work.set(&format!("{flags}filter -v s.bits"), &lines).quiet(), outside);
    }
    let (front, back) = lines.split_at(lines.len() / 2);
    work.write("front", front);
    work.write("back", format!("{back}12x\n"));
    let cut = front.rfind('\n').map_or(0, |at| at + 1);
    work.write("front", &front[..cut]);
    work.write("back", format!("{}{back}12x\n", &front[cut..]));
    let ran = work.set("filter s.bits front back --skip-invalid", "");
    assert_eq!(ran.quiet(), inside);
    let ran = work.set("filter s.bits front back", "");
    let line = lines.lines().count() - front[..cut].lines().count() + 1;
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains(&format!("back:{line}: byte ")), "{}", ran.err);
    assert_eq!(ran.out, inside);
    work.set("filter s.bits missing", "").refused("cannot open missing");
}

#[test]
fn values_and_limits_are_typed_as_the_grammar_of_lines_says() {
    let work = workspace();
    for line in ["contains a +7", "rank a 1e3", "range a 1 +2"] {
        work.set(line, "").refused("invalid value");
    }
    work.set("add b.bits 0x1F", "").refused("expected the end of the line after the number");
    work.set("add b.bits nowhere", "").refused("cannot open nowhere");
    work.set("count +1", "").refused("cannot open +1");
    assert_eq!(work.set("contains a 007", "").quiet(), "true\n");
    work.set("contains a 18446744073709551616", "").refused("below 2^64");
    for line in ["and a b.bits", "cat b.bits", "bloom dedup a"] {
        work.set(&format!("{line} --threads 0"), "").refused("at least 1 thread");
        work.set(&format!("{line} --threads 257"), "").refused("at most 256 threads");
    }
    let ran = work.set("build", "x\n");
    assert!(ran.err.contains("hint: build, filter and group leave such lines"), "{}", ran.err);
    for line in ["build b.bits", "build a c.roaring -o out", "filter a b.bits"] {
        let ran = work.set(line, "");
        ran.refused("expected a digit");
        assert!(ran.err.contains("hint: it is a set already: bitset cat"), "{}", ran.err);
    }
    for mark in [b"\xFF\xFE1\x00", b"\xFE\xFF\x001"] {
        let ran = work.set_with("build", mark);
        assert!(ran.err.contains("iconv -f UTF-16"), "{}", ran.err);
    }
    assert_eq!(work.set("sample - 18446744073709551615", "5\n4\n5\n").quiet(), "4\n5\n");
}

#[test]
fn files_of_this_project_are_neither_lines_nor_binary_numbers() {
    let work = workspace();
    work.set("build a --to dense -o dense.bits", "").quiet();
    work.set("bloom build a -o a.bloom", "").quiet();
    for file in ["b.bits", "dense.bits", "a.bloom"] {
        let numbers = format!("{file} is a set, a filter or an index, and has no binary numbers");
        let lines = format!("{file} is a set, a filter or an index, and has no lines");
        work.set(&format!("build --from u64le {file}"), "").refused(&numbers);
        work.run(&format!("--from u64le {file}")).refused(&numbers);
        work.run_with("--from u64le", &std::fs::read(work.file(file)).unwrap())
            .refused("- is a set, a filter or an index, and has no binary numbers");
        for line in ["bloom build -o o", "bloom filter a.bloom", "bloom dedup"] {
            work.set(&format!("{line} {file}"), "").refused(&lines);
        }
    }
    for line in ["contains a.bloom 5", "verify a.bloom", "build a.bloom", "or a a.bloom"] {
        let ran = work.set(line, "");
        assert!(ran.err.contains("bitset bloom contains asks it"), "{line}: {}", ran.err);
    }
    assert_eq!(work.set("count --from u64le b.bits", "").quiet(), work.set("count b.bits", "").out);
}

#[test]
fn a_question_takes_its_numbers_from_a_column() {
    let work = Workspace::new();
    work.write("ids.csv", "name,id\nx,7\ny,30\nz,7\n");
    for (line, told) in [
        ("count ids.csv --column id", "2\n"),
        ("max ids.csv --column 2 --header", "30\n"),
        ("rank ids.csv 7 --column id", "1\n"),
        ("select ids.csv 1 --column id", "30\n"),
        ("range ids.csv 8 99 --column id", "30\n"),
        ("gaps ids.csv --column id", "8\t29\n"),
        ("sample ids.csv 9 --column id", "7\n30\n"),
    ] {
        assert_eq!(work.set(line, "").quiet(), told, "{line}");
    }
    let told = work.set("info ids.csv --column id --json", "").quiet();
    assert!(told.contains("\"cardinality\":2"), "{told}");
}

#[test]
fn names_of_other_things_are_told_as_such() {
    let work = workspace();
    for name in ["x.roaring", "x.txt", "x.gz"] {
        work.set(&format!("cat a --parts 2 -o {name}"), "").refused("choose a name for a folder");
    }
    work.set("cat a --parts 0 -o x", "").refused("expected a number of at least 1");
    work.set("cat a --parts 2 -o x.bits", "").quiet();
    assert!(work.file("x.bits").is_dir());
    work.set("bloom index get nowhere x", "").refused("cannot open nowhere:");
    work.write("none", "");
    let ran = work.set("convert none", "");
    assert!(ran.err.contains("hint: bitset build makes a set"), "{}", ran.err);
    work.set_args(&["add", "b.bits", ""]).refused("cannot open \"\"");
}

#[test]
fn a_hint_does_not_wait_for_a_pipe() {
    let work = Workspace::new();
    let pipe = work.file("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::thread::scope(|scope| {
        scope.spawn(|| std::fs::write(&pipe, "x1\n").unwrap());
        work.set("build pipe", "").refused("pipe:1: byte 0: expected a digit");
    });
}

#[test]
fn what_is_no_regular_file_is_named_as_such() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let work = workspace();
    for command in ["identify", "convert", "verify"] {
        work.set(&format!("{command} ."), "").refused(".: no _manifest.json");
        work.set(&format!("{command} /dev/null"), "").refused("/dev/null is no regular file");
    }
    // To open a named pipe would wait for a writer.
    fs::create_dir(work.file("parts")).unwrap();
    for pipe in ["pipe", "parts/_manifest.json"] {
        let made = Command::new("mkfifo").arg(work.file(pipe)).status();
        assert!(made.unwrap().success());
    }
    for line in [
        "identify pipe",
        "convert pipe",
        "bloom info pipe",
        "bloom add pipe x",
        "bloom index build pipe",
        "bloom index stat pipe",
    ] {
        work.set(line, "").refused("pipe is no regular file");
    }
    work.set("count parts", "").refused("_manifest.json");
    // Files of /proc cannot be mapped, and are text all the same.
    let limit = fs::read_to_string("/proc/sys/kernel/pid_max").unwrap();
    assert_eq!(work.set("cat /proc/sys/kernel/pid_max", "").quiet(), limit);
    // A file may have any name.
    let name = OsStr::from_bytes(b"\xFF.bits");
    fs::copy(work.file("b.bits"), work.path().join(name)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_bitset"));
    command.args(["eval", "x", "--count"]).arg(OsStr::from_bytes(b"x=\xFF.bits"));
    assert_eq!(command.current_dir(work.path()).output().unwrap().stdout, b"4\n");
}

#[test]
fn a_number_of_buckets_that_looks_like_a_cookie_is_one_of_buckets() {
    let work = Workspace::new();
    let text = |count: u64| {
        let lines: Vec<String> = (0..count).map(|i| ((i << 32) + 7).to_string() + "\n").collect();
        lines.concat()
    };
    work.set("build --to roaring -o x.roaring", &text(12_345)).quiet();
    for count in [12_346_u64, 12_347] {
        work.set(&format!("add x.roaring {}", ((count - 1) << 32) + 7), "").quiet();
        assert_eq!(work.set("count x.roaring", "").quiet(), format!("{count}\n"));
        assert!(work.set("cat x.roaring", "").quiet() == text(count));
        let told = work.set("identify x.roaring", "").quiet();
        assert!(told.contains("64 bits"), "{told}");
    }
}

/// The bytes ";0" are the mark of a bitmap with runs, and of text that has a comment or a column.
#[test]
fn text_that_has_the_mark_of_a_bitmap_is_text() {
    let work = Workspace::new();
    let rows = (1..=1500).fold(String::new(), |text, i| text + &format!("49170{i:07};0\r\n"));
    let block = |from: &str| -> String {
        (0..16_000).fold(from.to_owned(), |text, i| {
            text + &format!("10.{}.{}.{}\n", i >> 16, i >> 8 & 255, i & 255)
        })
    };
    let columns = "--column 1 --delimiter ;";
    for (name, text, options, count) in [
        ("rows", rows, columns, 1500),
        ("list", block("10.10.10.10\n;0\n\n"), "--as cidr", 16_001),
        ("comment", block(";0\n\n"), "--as cidr", 16_000),
        ("accent", block(";0 é\n"), "--as cidr", 16_000),
        ("later", block("10.10.10.10\n;0 comment\n# é\n"), "--as cidr", 16_001),
    ] {
        work.write(name, &text);
        let is_ascii = text[..text.len().min(40)].is_ascii();
        let stream = is_ascii.then_some(("-", &*text));
        for (file, text) in std::iter::once((name, "")).chain(stream) {
            let counted = work.set(&format!("count {file} {options}"), text).quiet();
            assert_eq!(counted, format!("{count}\n"), "{name} {file}");
        }
        let told = work.set(&format!("identify {name}"), "");
        assert!(!told.out.contains("roaring"), "{}", told.out);
    }
    work.write("ids", "5\n");
    // Real bitmaps with runs; the first bytes of the last one look like text.
    let some =
        (0..9000_u64).map(|key| (key << 16 | 5, key << 16 | if key % 8 == 5 { 900 } else { 5 }));
    let all = (0..9000_u64).map(|key| (key << 16 | 5, (key << 16) + 900));
    // Its first 16 KiB and more have no control characters at all.
    let byte = |index: u64| 0x20 + index + u64::from(index >= 0x5F);
    let keys = (0..8232_u64).map(|index| byte(index / 223) << 8 | byte(index % 223));
    let printable = keys.map(|key| (key << 16, key << 16 | 0xFFFF));
    for ranges in [vec![(0, (1 << 30) - 1)], all.collect(), some.collect(), printable.collect()] {
        let lines = ranges.iter().fold(String::new(), |text, (a, b)| text + &format!("{a}-{b}\n"));
        work.set("build --ranges -o runs.roaring", &lines).quiet();
        let values: u64 = ranges.iter().map(|(a, b)| b - a + 1).sum();
        let bytes = std::fs::read(work.file("runs.roaring")).unwrap();
        assert_eq!(bytes[..2], *b";0");
        assert_eq!(work.set("count runs.roaring", "").quiet(), format!("{values}\n"));
        assert_eq!(work.set_with("count -", &bytes).quiet(), format!("{values}\n"));
        let skipped = work.set_with("build --skip-invalid -o none.bits", &bytes);
        skipped.refused("all of it would be left out as malformed");
        fs::copy(work.file("runs.roaring"), work.file("packed")).unwrap();
        let packed = Command::new("gzip").arg("-f").arg(work.file("packed")).status();
        assert!(packed.unwrap().success());
        assert_eq!(work.set("count packed.gz", "").quiet(), format!("{values}\n"));
        for line in ["build packed.gz -o none.bits", "filter ids packed.gz"] {
            let ran = work.set(&format!("{line} --skip-invalid"), "");
            ran.refused("packed.gz is a set, a filter or an index, and");
        }
        work.write("cut.roaring", &bytes[..bytes.len() - 3]);
        for question in ["verify cut.roaring", "count cut.roaring", "info cut.roaring"] {
            work.set(question, "").refused("the bytes end inside of a roaring bitmap");
        }
    }
}

#[test]
fn a_width_contradicts_no_format() {
    let work = Workspace::new();
    work.write("small", [0, 1, 1, 0, 0, 0, 5, 0, 0, 0]);
    work.set("convert --from clickhouse-u32 --width 8 small", "").refused("at most 4 bytes");
    work.set("convert --from clickhouse-u64 --width 4 small", "").refused("have 8 bytes");
    assert_eq!(work.set("convert --width 8 small", "").quiet(), "21474836481\n");
}

#[test]
fn a_plain_bitmap_has_a_largest_range() {
    let work = workspace();
    let wide = "0\n18446744073709551615\n";
    work.set("build --to dense -o x", wide).refused("cannot write x: a plain bitmap of so wide");
    work.set("build --to dense -o y", "0\n").quiet();
    // What is added may make another representation the smaller one.
    work.set("add y 18446744073709551615", "").quiet();
    assert_eq!(work.set("cat y", "").quiet(), wide);
    assert!(!work.file("x").exists());
}

#[test]
fn a_bucket_for_each_value_costs_no_more_than_its_bytes() {
    let work = Workspace::new();
    let wide = |index: u64| (index + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut values: Vec<u64> = (0..400_000).map(wide).collect();
    let text = values.iter().fold(String::new(), |text, value| text + &value.to_string() + "\n");
    values.sort_unstable();
    let sorted = values.iter().fold(String::new(), |text, value| text + &value.to_string() + "\n");
    work.set("build -o s.bits", &text).quiet();
    work.set("cat s.bits -o s.roaring", "").quiet();
    for name in ["s.bits", "s.roaring"] {
        assert!(work.set(&format!("cat {name}"), "").quiet() == sorted, "{name}");
        assert!(work.set(&format!("verify {name}"), "").code == Some(0), "{name}");
    }
}

#[test]
fn the_whole_universe_is_counted_without_being_walked_through() {
    let work = workspace();
    for (expression, count) in [
        ("0..18446744073709551615", "18446744073709551616"),
        ("0..18446744073709551615 - a", "18446744073709551612"),
        ("a - 0..18446744073709551615", "0"),
        ("a | 5..18446744073709551615", "18446744073709551612"),
        ("5..18446744073709551615 | a", "18446744073709551612"),
        ("a ^ 5..18446744073709551615", "18446744073709551609"),
        ("b & (0..18446744073709551615 - a)", "2"),
        ("9..3 | a", "4"),
    ] {
        let line = format!("eval '{expression}' a=a b=b.bits --count");
        assert_eq!(work.set(&line, "").quiet(), format!("{count}\n"), "{expression}");
    }
}

#[test]
fn the_set_that_is_damaged_is_named_and_not_the_output() {
    let work = Workspace::new();
    work.set("build --to roaring -o bad", "1\n2\n3\n").quiet();
    work.set("build -o good.bits", "70000\n").quiet();
    let mut bytes = std::fs::read(work.file("bad")).unwrap();
    let end = bytes.len();
    bytes.swap(end - 4, end - 2); // 1, 3, 2
    work.write("bad", &bytes);
    for line in [
        "or good.bits bad -o out.bits",
        "or good.bits bad -o out.bits --to dense",
        "eval 'a | b' a=good.bits b=bad -o out",
        "add bad 9",
        "cat bad",
        "cat bad --to u64le",
        "range bad 0 9",
        "diff bad good.bits",
        "gaps bad",
        "info bad",
    ] {
        work.set(line, "").refused("bitset: bad: byte 16: the values of an array do not ascend");
    }
    assert_eq!(work.names(), ["bad", "good.bits"]);
    assert_eq!(std::fs::read(work.file("bad")).unwrap(), bytes);
}

/// Binary numbers that begin as a roaring bitmap does are what `--from` says.
#[test]
fn announced_numbers_are_no_roaring_bitmap() {
    let work = Workspace::new();
    work.write("zero", [0; 8]);
    for from in ["u64le", "u64be", "u32le"] {
        assert_eq!(work.set(&format!("count zero --from {from}"), "").quiet(), "1\n", "{from}");
        assert_eq!(work.set(&format!("contains zero 0 --from {from}"), "").quiet(), "true\n");
        assert_eq!(work.set(&format!("or zero zero --from {from}"), "").quiet(), "0\n");
    }
    assert_eq!(work.set("count zero", "").quiet(), "0\n"); // a treemap without values
    let words = [12346_u32, 1, 0x1_0000, 16, 0x9_0005];
    work.write("words", words.map(u32::to_le_bytes).concat());
    assert_eq!(work.set("cat words", "").quiet(), "5\n9\n");
    let values = "1\n16\n12346\n65536\n589829\n";
    assert_eq!(work.set("cat words --from u32le", "").quiet(), values);
    work.set("build words --from u32le -o words.bits", "").quiet();
    work.set("build -o more.bits", "7\n").quiet();
    work.set("add more.bits words --from u32le", "").quiet();
    assert_eq!(
        work.set("cat more.bits --from u32le", "").quiet(),
        format!("1\n7\n{}", &values[2..])
    );
}

#[test]
fn a_plain_bitmap_of_values_far_apart_takes_no_longer_than_its_pieces() {
    let work = workspace();
    work.write("far", "5\n68719476736\n"); // 2^36: a bitmap of 8 GiB, almost all of it a hole
    work.set("build far --to dense -o far.bits", "").quiet();
    assert_eq!(work.set("count far.bits", "").quiet(), "2\n");
    assert_eq!(work.set("contains far.bits 68719476736", "").quiet(), "true\n");
    work.write("wide", "5\n70368744177664\n");
    work.set("build wide --to dense -o wide.bits", "").refused("more than 128 GiB");
    assert!(!work.file("wide.bits").exists());
}

#[test]
fn a_container_whose_key_is_too_small_is_not_passed_over() {
    let work = workspace();
    let values: Vec<String> = (0..50).map(|n| ((1_u64 << 44) + n * 65_536).to_string()).collect();
    work.set("build --to roaring-bits -o a.bits", &values.join("\n")).quiet();
    let mut bytes = fs::read(work.file("a.bits")).unwrap();
    // Keys of two bytes and sizes of two follow the number of buckets, a key and the head of a bucket.
    let key_at = |container: usize| 4096 + 20 + 4 * container;
    bytes.copy_within(key_at(10)..key_at(10) + 2, key_at(30));
    fs::write(work.file("bad.bits"), &bytes).unwrap();
    for command in ["info bad.bits", "or bad.bits a.bits --count", "xor a.bits bad.bits --count"] {
        work.set(command, "").refused("the keys of the containers do not ascend");
    }
    for command in ["or bad.bits -o b.bits", "at-least 1 bad.bits -o b.bits"] {
        work.set(command, "").refused("the checksum of the block that begins here is wrong");
    }
}

#[test]
fn gaps_are_written_as_ranges_and_blocks() {
    let work = workspace();
    work.write("some", "1\n5\n10-20\n");
    assert_eq!(work.set("gaps some --ranges", "").quiet(), "2-4\n6-9\n");
    assert_eq!(work.set("gaps some --ranges --min-length 4", "").quiet(), "6-9\n");
    work.write("blocks", "10.0.0.0/8\n12.0.0.0/8\n");
    assert_eq!(work.set("gaps blocks --as cidr", "").quiet(), "11.0.0.0/8\n");
    assert_eq!(work.set("gaps blocks --as ipv4", "").quiet(), "11.0.0.0\t11.255.255.255\n");
}

#[test]
fn convert_and_identify_take_sets_by_key_and_numbers() {
    let work = workspace();
    work.set("group --key 1 --column 2 -o tags.sets", "sport,1\ntokyo,2\n").quiet();
    work.set("convert tags.sets:sport --to doris -o sport.doris", "").quiet();
    assert_eq!(work.set("convert sport.doris", "").quiet(), "1\n");
    let told = work.set("identify tags.sets:sport", "").quiet().clone();
    assert!(told.starts_with("tags.sets:sport: set of a .sets file"), "{told}");
    work.write("numbers", "7\n5\n");
    assert_eq!(work.set("convert numbers", "").quiet(), "5\n7\n");
    work.write("blocks", "10.0.0.0/31\n");
    assert_eq!(work.set("convert blocks --as cidr", "").quiet(), "10.0.0.0/31\n");
    fs::rename(work.file("tags.sets"), work.file("tags.other")).unwrap();
    assert_eq!(work.set("eval sport|tokyo tags.other", "").quiet(), "1\n2\n");
    // A flipped bit of a set does not become a set with checksums that are right.
    let many = (0..200_000).step_by(3).map(|value| value.to_string() + "\n");
    work.write("many", many.collect::<String>());
    for kind in ["dense", "sparse", "runs", "roaring-bits"] {
        work.set(&format!("build many --to {kind} -o whole.bits"), "").quiet();
        let mut bytes = fs::read(work.file("whole.bits")).unwrap();
        bytes[9000] ^= 1;
        fs::write(work.file("damaged.bits"), bytes).unwrap();
        work.set("convert damaged.bits -o copy.bits", "").refused("checksum");
        let damaged = fs::read(work.file("damaged.bits")).unwrap();
        for change in ["add damaged.bits 7", "remove damaged.bits 9", "apply damaged.bits"] {
            work.set(change, "+7\n").refused("checksum");
        }
        assert!(fs::read(work.file("damaged.bits")).unwrap() == damaged);
        work.set("convert whole.bits -o copy.bits", "").quiet();
        for copy in ["cat damaged.bits", "or damaged.bits", "eval x x=damaged.bits"] {
            work.set(&format!("{copy} -o copy.bits"), "").refused("checksum");
            work.set(&format!("{copy} --to bits"), "").refused("checksum");
        }
        work.set("cat whole.bits -o copy.bits", "").quiet();
    }
}

#[test]
fn a_group_whose_place_was_changed_is_noticed() {
    let work = workspace();
    let values = (0..200_000_u64).map(|n| (n << 40 | n).to_string() + "\n");
    work.write("x", values.collect::<String>());
    work.set("build x --to sparse -o x.bits", "").quiet();
    let mut bytes = fs::read(work.file("x.bits")).unwrap();
    let table = u64::from_le_bytes(bytes[72..80].try_into().unwrap());
    let table = usize::try_from(table).unwrap();
    bytes[table + 32 + 2] ^= 1; // the first value of the second group becomes smaller
    fs::write(work.file("x.bits"), bytes).unwrap();
    let told = "the ends of a group are not those that its table says";
    work.set("cat x.bits -o y.bits", "").refused("checksum");
    work.set("or x.bits x -o y.bits", "").refused(told);
    work.set("and x.bits x --count", "").refused(told);
}
