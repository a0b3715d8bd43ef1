//! The memory limit is kept, whatever the data.

use crate::workspace::Workspace;
use std::fmt::Write;

/// Peak resident bytes that a run states.
pub(crate) fn peak(err: &str) -> u64 {
    let (_, rest) = err.split_once("\"peak_resident_bytes\":").unwrap();
    rest.split([',', '}']).next().unwrap().parse().unwrap()
}

fn text(values: impl Iterator<Item = u64>) -> String {
    let mut text = String::new();
    for value in values {
        writeln!(text, "{value}").unwrap();
    }
    text
}

fn lines(numbers: std::ops::Range<u64>, line: impl Fn(u64) -> String) -> String {
    numbers.map(line).collect::<Vec<_>>().join("\n") + "\n"
}

fn mix(i: u64) -> u64 {
    let x = (i ^ (i >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (x ^ (x >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

#[test]
fn the_peak_stays_below_64_mib_for_any_data_and_strategy() {
    const COUNT: u64 = 3_000_000;
    let work = Workspace::new();
    let data: [(&str, Box<dyn Iterator<Item = u64>>); 6] = [
        ("wide", Box::new((0..COUNT).map(mix))),
        ("narrow", Box::new((0..COUNT).map(|i| mix(i) >> 32))),
        ("equal", Box::new((0..COUNT).map(|_| 1 << 40))),
        ("two", Box::new((0..COUNT).map(|i| if mix(i) & 1 == 0 { 7 } else { u64::MAX }))),
        ("sorted", Box::new((0..COUNT).map(|i| i * 1_000_003))),
        ("skewed", Box::new((0..COUNT).map(|i| mix(i) >> (mix(!i) % 64)))),
    ];
    for (name, values) in data {
        let ids = text(values);
        work.write("ids", &ids);
        let mut expected: Vec<u64> = ids.lines().map(|line| line.parse().unwrap()).collect();
        expected.sort_unstable();
        let expected = text(expected.into_iter());
        for flags in ["", "--strategy spill", "--strategy multi-pass", "-u", "--count"] {
            let ran = work.run(&format!("ids -o out --mem 64M --stats=json {flags}"));
            assert_eq!(ran.code, Some(0), "{name} {flags}: {ran:?}");
            let peak = peak(&ran.err);
            assert!(peak <= 64 << 20, "{name} {flags}: {peak} bytes");
            if !flags.starts_with("-u") && !flags.starts_with("--count") {
                assert!(work.read("out") == expected, "{name} {flags}");
            }
        }
        let ran = work.run_with("-o out --mem 64M --stats=json", ids.as_bytes());
        assert!(peak(&ran.err) <= 64 << 20, "{name} from a pipe: {}", ran.err);
        assert!(work.read("out") == expected, "{name} from a pipe");
    }
}

#[test]
fn slices_that_fit_in_memory_together_are_read_together() {
    const HALF: u64 = 1 << 20;
    let work = Workspace::new();
    let skewed: Vec<u64> = (0..HALF).chain((0..HALF).map(mix)).collect();
    let repeated: Vec<u64> = (0..HALF).map(|i| i % 1000).chain((0..HALF).map(mix)).collect();
    // 8,388,608 numbers do not fit. All of their range but the first part is nearly empty.
    for (name, values) in [("skewed", skewed), ("repeated", repeated)] {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        work.write("ids", bytes);
        let mut expected: Vec<u64> = values.iter().flat_map(|&value| [value; 4]).collect();
        expected.sort_unstable();
        for options in ["", "-r", "-u"] {
            let limits = "--from u64le --strategy multi-pass --mem 64M --stats=json";
            let ran = work.run(&format!("ids ids ids ids -o out {limits} {options}"));
            let (_, passes) = ran.err.split_once("\"passes\":").unwrap();
            let passes: u64 = passes.split([',', '}']).next().unwrap().parse().unwrap();
            assert!((3..=14).contains(&passes), "{name} {options}: {passes} passes");
            if options.contains("-u") {
                expected.dedup();
            }
            assert!(work.read("out") == text(expected.iter().copied()), "{name} {options}");
            expected = expected.into_iter().rev().collect();
        }
    }
}

#[test]
fn the_peak_stays_below_64_mib_however_long_lines_are_compared() {
    let work = Workspace::new();
    let long = "x".repeat(1_000_000);
    let lines: Vec<String> = (0..150).map(|number| format!("{number}{long}\n")).collect();
    work.write("lines", lines.concat());
    work.set("bloom build lines -o filter", "").quiet();
    for command in [
        "bloom dedup --exact lines",
        "bloom common lines lines",
        "bloom common lines lines --threads 64",
        "bloom filter filter lines --threads 64",
    ] {
        let ran = work.set(&format!("{command} -S 64M --stats=json"), "");
        assert_eq!(ran.code, Some(0), "{command}: {}", ran.err);
        assert!(ran.out == lines.concat(), "{command}");
        assert!(peak(&ran.err) <= 64 << 20, "{command}: {}", ran.err);
    }
}

/// The first values choose a roaring bitmap, which takes several times as much as the sparse set
/// that all values choose.
#[test]
fn the_peak_stays_below_64_mib_when_a_set_takes_another_form_at_its_end() {
    let work = Workspace::new();
    let mut values: Vec<u64> = (0..70_000).chain((0..3_000_000).map(|i| mix(i) >> 1)).collect();
    work.write("ids", values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>());
    let ran = work.run("ids --from u64le -o out --to bits --mem 64M --stats=json");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(peak(&ran.err) <= 64 << 20, "{}", ran.err);
    assert!(work.set("info out", "").quiet().contains("sparse"));
    values.sort_unstable();
    values.dedup();
    assert!(work.set("cat out", "").quiet() == text(values.into_iter()));
}

#[test]
fn the_peak_stays_below_64_mib_whatever_becomes_of_lines() {
    let work = Workspace::new();
    let junk = "x\n".repeat(6_000_000);
    let mixed = "x\n12345\n".repeat(1_500_000);
    let blank = "\n".repeat(12_000_000);
    let digits = "1\n".repeat(6_000_000);
    let columns = "\"a,b\",7,c\n".repeat(1_000_000);
    for (name, text, flags) in [
        ("junk", &junk, "--rejects bad"),
        ("mixed", &mixed, "--rejects bad --strategy spill"),
        ("blank", &blank, ""),
        ("junk in columns", &junk, "--column 1 --rejects bad --threads 2"),
        ("mixed in columns", &mixed, "--column 1 --rejects bad --strategy spill --threads 2"),
        ("digits", &digits, "--count"),
        ("columns", &columns, "--column 2"),
        ("digits, merged", &digits, "-m"),
    ] {
        work.write("ids", text);
        for input in ["ids", "- "] {
            let line = format!("{input} -o out --mem 64M --stats=json {flags}");
            let piped = if input == "ids" { "" } else { text.as_str() };
            let ran = work.run_with(&line, piped.as_bytes());
            assert_eq!(ran.code, Some(0), "{name} {input}: {ran:?}");
            let peak = peak(&ran.err);
            assert!(peak <= 64 << 20, "{name} {input}: {peak} bytes");
        }
    }
    assert!(work.read("bad").ends_with("\tx\n"));
}

#[test]
fn the_peak_stays_below_64_mib_with_ranges_in_columns() {
    let work = Workspace::new();
    let digits: String =
        (0..3_000_000).map(|i| if mix(i) & 1 == 0 { "1\n" } else { "7\n" }).collect();
    let wide = text((0..800_000).map(|i| mix(i) >> 24));
    let junk = format!("{wide}{}", "x\n".repeat(3_000_000));
    for (name, text) in [("digits", digits), ("wide", wide), ("junk", junk)] {
        work.write("ids", &text);
        for flags in ["--rejects bad", "--rejects bad --threads 6"] {
            let line = format!("ids --column 1 -u --ranges --mem 64M --stats=json -o out {flags}");
            let ran = work.run(&line);
            assert_eq!(ran.code, Some(0), "{name} {flags}: {ran:?}");
            let peak = peak(&ran.err);
            assert!(peak <= 64 << 20, "{name} {flags}: {peak} bytes");
        }
    }
}

#[test]
fn the_peak_stays_below_64_mib_when_sets_by_key_are_compared() {
    let work = Workspace::new();
    let peak_of = |rows: &dyn Fn(u64) -> String, sets: u64, question: &str, expected: &str| {
        work.write("rows", (0..sets).map(rows).collect::<String>());
        work.set("group --ranges --key 1 --column 2 rows -o o.sets", "").quiet();
        let ran = work.set(&format!("{question} o.sets --mem 64M --stats=json"), "");
        assert_eq!((ran.code, &*ran.out), (Some(0), expected), "{question}: {}", ran.err);
        assert!(peak(&ran.err) <= 64 << 20, "{question}: {}", ran.err);
    };
    // A merge would have all positions of 600 containers. The far value makes it look cheap.
    let near = |set: u64| {
        let far = if set == 0 { format!("k000,{0}-{0}\n", 1_u64 << 43) } else { String::new() };
        format!("k{set:03},{set}-{}\n{far}", set + 60_000)
    };
    let found = "k000\tk001\t60000\t0.999950\n";
    peak_of(&near, 600, "overlap --top 1", found);
    // Each is larger than an index may be.
    let wide = |set: u64| format!("k{set:04},0-20000000\n");
    peak_of(&wide, 2050, "overlap --top 1 --by jaccard", "k0000\tk0001\t20000001\t1.000000\n");
    let many = |set: u64| {
        (0..600).fold(String::new(), |rows, row| {
            let value = mix(set * 600 + row) >> 1;
            format!("{rows}k{set:04},{value}-{value}\n")
        })
    };
    peak_of(&many, 3000, "or --count", "1800000\n");
    assert_eq!(work.set("or --count --mem 16M o.sets", "").quiet(), "1800000\n");
    assert_eq!(work.set("at-least 2 --count --mem 16M o.sets", "").quiet(), "0\n");
    work.set("at-least 9 --count --mem 16M o.sets", "").refused("memory limit");
    work.write("rows", lines(0..1500, |set| format!("{set},7")));
    work.set("group --key 1 --column 2 rows -o o.sets", "").quiet();
    work.set("overlap --top 2000000 --mem 64M o.sets", "")
        .refused("do not fit in the memory limit");
    assert_eq!(work.set("overlap --top 9 --mem 64M o.sets", "").quiet().lines().count(), 9);
}

#[test]
fn the_peak_stays_below_64_mib_when_many_sets_are_joined() {
    let work = Workspace::new();
    let runs = lines(0..20_000, |run| format!("{}-{}", 3 * run, 3 * run + 1));
    work.set("build --ranges --to runs -o runs.bits", &runs).quiet();
    let values = text((0..60_000).map(|value| 17 * value + 5));
    work.set("build --to sparse -o sparse.bits", &values).quiet();
    for (name, few, many) in [("runs.bits", 150, 400), ("sparse.bits", 150, 2000)] {
        for join in ["|", "&", "^"] {
            // One file, as the pages of each mapped file count as resident, too.
            let eval = |sets: usize| {
                let expression = vec!["a"; sets].join(join);
                let file = format!("a={name}");
                let limit = ["--count", "--mem", "64M", "--stats=json"];
                work.set_args(&[&["eval", &*expression, &*file], &limit[..]].concat())
            };
            let ran = eval(few);
            assert_eq!(ran.code, Some(0), "{join} {name}: {}", ran.err);
            assert!(peak(&ran.err) <= 64 << 20, "{join} {name}: {}", ran.err);
            eval(many).refused("a memory limit of 67108864 bytes is too small");
        }
        let sets = format!("{name} ").repeat(many);
        work.set(&format!("at-least 9 {sets} --count --mem 64M"), "").refused("is too small");
        let model = work.set(&format!("count {name}"), "").quiet();
        assert_eq!(work.set(&format!("at-least 8 {sets} --count --mem 64M"), "").quiet(), model);
    }
}

#[test]
fn changes_of_a_set_take_less_memory_if_there_is_less() {
    let work = Workspace::new();
    work.set("build -o s.bits", &text((0..300_000).map(|value| value * 3))).quiet();
    let changes = lines(0..900_000, |value| format!("+{}", mix(value) % 900_000));
    let least = |limit: &str| {
        work.set("apply s.bits --stats=json", &changes);
        let ran = work.set(&format!("apply s.bits --mem {limit} --stats=json"), &changes);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        peak(&ran.err)
    };
    let (little, much) = (least("8M"), least("1G"));
    assert!(little + (8 << 20) < much, "{little} and {much} bytes");
}
