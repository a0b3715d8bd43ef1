//! `bitset bloom` as its users meet it.

use crate::workspace::Workspace;
use bitsort::bloom::{AnyFilter, dcso, guava};
use std::fs;
use std::path::Path;

/// A workspace with the keys of `k` in `k.bloom`.
fn workspace() -> Workspace {
    let work = Workspace::new();
    work.write("k", "fox\ndog\n\ncat");
    assert_eq!(work.set("bloom build k -p 1e-6 -o k.bloom", "").quiet(), "");
    work
}

#[test]
fn keys_are_answered_by_words_and_by_the_exit_status() {
    let work = workspace();
    for (line, input, expected, code) in [
        ("contains k.bloom fox", "", "true\n", 0),
        ("contains k.bloom cow", "", "false\n", 1),
        ("contains k.bloom fox cow", "", "fox\ttrue\ncow\tfalse\n", 1),
        ("contains k.bloom", "dog\n\ncat", "dog\ttrue\n\ttrue\ncat\ttrue\n", 0),
        ("contains k.bloom --skip-empty", "\n\ncow\n", "cow\tfalse\n", 1),
        ("contains k.bloom --crlf", "dog\r\n", "dog\ttrue\n", 0),
        ("contains k.bloom -z", "dog\0cow", "dog\ttrue\0cow\tfalse\0", 1),
        (
            "contains k.bloom -f k -f -",
            "fox",
            "fox\ttrue\ndog\ttrue\n\ttrue\ncat\ttrue\nfox\ttrue\n",
            0,
        ),
        ("filter k.bloom", "cow\nfox\n\ncat\r\n", "fox\n\n", 0),
        ("filter k.bloom --crlf --skip-empty", "cow\nfox\n\ncat\r\n", "fox\ncat\r\n", 0),
        ("filter -v k.bloom", "cow\nfox\n\ncat\r\nbee", "cow\ncat\r\nbee\n", 0),
        ("filter -v k.bloom --threads 1", "", "", 0),
        ("filter -z k.bloom", "dog\0fox\n\0", "dog\0", 0),
        ("filter k.bloom - k", "fox\n", "fox\nfox\ndog\n\ncat\n", 0),
        ("dedup", "b\na\nb\n\n\na", "b\na\n\n", 0),
        ("dedup --skip-empty --design standard -n 9 -p 0.001 --seed 3", "b\n\nb\n\n", "b\n", 0),
        ("dedup --exact", "b\na\nb\n\n\na", "b\na\n\n", 0),
        ("dedup --exact --crlf", "b\r\nb\na\n", "b\r\na\n", 0),
        ("dedup -z", "b\0a\n\0b", "b\0a\n\0", 0),
        ("common - k", "x\ncat\ndog\ncat\n", "cat\ndog\n", 0),
        ("common k -", "x\ncat\ndog\ncat\n", "dog\ncat\n", 0),
        ("common k - --count", "x\ncat\r\ndog\ncat\n", "2\n", 0),
        ("common - k --crlf", "x\ncat\r\n\n", "cat\n\n", 0),
        ("common - k --skip-empty -p 0.5", "x\ncat\r\n\n", "", 0),
    ] {
        let ran = work.set(&format!("bloom {line}"), input);
        assert_eq!((&*ran.out, ran.code), (expected, Some(code)), "{line}: {}", ran.err);
    }
}

#[test]
fn commands_that_copy_write_files_too() {
    let work = workspace();
    work.write("l", "fox\ncow\nfox\n");
    for (line, expected) in [
        ("filter k.bloom l -o l", "fox\nfox\n"),
        ("dedup l -o l", "fox\n"),
        ("common l k -o l", "fox\n"),
    ] {
        assert_eq!(work.set(&format!("bloom {line}"), "").quiet(), "");
        assert_eq!(work.read("l"), expected);
    }
    assert_eq!(work.names(), ["k", "k.bloom", "l"]);
}

#[test]
fn rows_are_copied_by_a_key_in_one_of_their_columns() {
    let work = workspace();
    let rows = "n,animal\n1,fox\n2,\"cat\"\r\n\"two\nlines\",dog\n\n3,cow\n5,\"f\"\"x\"\n";
    work.write("rows", rows);
    let kept = "n,animal\n1,fox\n2,\"cat\"\r\n\"two\nlines\",dog\n\n";
    for (line, input, expected) in [
        ("k.bloom rows --column animal", "", kept),
        ("k.bloom --column 2", rows, &kept["n,animal\n".len()..]),
        ("k.bloom --column 2 --header", rows, kept),
        ("k.bloom rows --column animal --skip-empty", "", &kept.replace("\n\n", "\n")),
        ("-v k.bloom rows --column animal", "", "n,animal\n3,cow\n5,\"f\"\"x\"\n"),
        ("k.bloom --column 1 --delimiter ;", "fox;1\nf;2\ndog;3", "fox;1\ndog;3\n"),
        ("k.bloom --column 1", "a,1\n \t\r\nb,2\n", " \t\r\n"),
        ("k.bloom --column 2", "a,1\n \t\r\nb,2\n", " \t\r\n"),
        ("k.bloom --column 2", "1,fox\r\n2,\"fox\"\r\n3,cow\r\n", "1,fox\r\n2,\"fox\"\r\n"),
        ("-v k.bloom --column 1 --skip-empty", "\r\r\n\r\n1\n", "1\n"),
        ("k.bloom --column 2 --skip-empty", "1,\r\n3,fox\r\n", "3,fox\r\n"),
        ("k.bloom --column id", "id", "id\n"),
        ("k.bloom --column id", "", ""),
        ("k.bloom --column id", "id,\"n\nfox", "id,\"n\nfox\n"),
    ] {
        for threads in [1, 2] {
            let limits = format!("--threads {threads} --mem 64K");
            let ran = work.set(&format!("bloom filter {line} {limits}"), input);
            assert_eq!(ran.quiet(), expected, "{line}");
        }
    }
    work.set("bloom build - -o blank.bloom", " \n").quiet();
    let ran =
        work.set("bloom filter blank.bloom --column 2 --delimiter '\t'", "\t \tx\n\t \t\n\t\t\n");
    assert_eq!(ran.quiet(), "\t \tx\n\t \t\n");
    work.set("bloom filter -v blank.bloom --column 5 --delimiter '\t'", "\t\n")
        .refused("no such column");
    work.set("bloom build - -o odd.bloom", "f\"x\n").quiet();
    let ran = work.set("bloom filter odd.bloom rows --column 2", "");
    assert_eq!(ran.quiet(), "5,\"f\"\"x\"\n");
    work.set("bloom filter k.bloom rows --column no", "").refused("no column is named \"no\"");
    work.set("bloom filter k.bloom rows --column 2 -z", "").refused("end in a newline");
    work.set("bloom filter k.bloom rows --delimiter ;", "").refused("--column");
    // A wrong number or delimiter does not look as if no key were known.
    for options in ["--column 3", "-v --column 3", "--column 2 --delimiter ; --skip-empty"] {
        work.set(&format!("bloom filter k.bloom {options}"), "1,fox\n2,cow\n")
            .refused("-: byte 0: the line has no such column: \"1,fox\"");
    }
    work.set("bloom filter k.bloom --column 2", "1,fox\n\n4\n").refused("byte 7");
    // Neither does a wrong quote; a carriage return behind a right one is no part of the field.
    work.set("bloom filter k.bloom --column 2", "1,fox\n\"x\n1,fox\n").refused("byte 6");
    let row = "1,\"fox\"\r,z\n";
    assert_eq!(work.set("bloom filter k.bloom --column 2", row).quiet(), row);
}

pub(crate) fn numbered(word: &str, count: u32) -> String {
    let lines: Vec<String> = (0..count).map(|id| format!("{word}{id}\n")).collect();
    lines.concat()
}

#[test]
fn a_filter_is_made_in_every_way_alike() {
    let work = Workspace::new();
    let text = numbered("key ", 5000);
    work.write("all", &text);
    let half = text.find("key 2500").unwrap();
    work.write("a", &text[..half]);
    work.write("b", &text[half..]);
    for design in ["standard", "blocked", "counting", "counting --counter-bits 8"] {
        let size = format!("-n 6000 -p 0.02 --seed 5 --design {design}");
        for line in [
            format!("build all -o whole {size}"),
            format!("build b a -o two {size} --threads 1"),
            format!("build a -o a.bloom {size}"),
            format!("build b -o b.bloom {size}"),
            "merge a.bloom b.bloom -o merged".into(),
            "add b.bloom -f a".into(),
        ] {
            assert_eq!(work.set(&format!("bloom {line}"), "").quiet(), "", "{line}");
        }
        let whole = AnyFilter::load(work.file("whole")).unwrap();
        for name in ["two", "merged", "b.bloom"] {
            let other = AnyFilter::load(work.file(name)).unwrap();
            let same = match (&whole, &other) {
                (AnyFilter::Standard(a), AnyFilter::Standard(b)) => a == b,
                (AnyFilter::Blocked(a), AnyFilter::Blocked(b)) => a == b,
                (AnyFilter::Counting(a), AnyFilter::Counting(b)) => a == b,
                _ => false,
            };
            assert!(same, "{design}: {name}");
        }
        assert!(work.set("bloom contains whole -f all", "").code == Some(0));
        work.set("bloom intersect whole a.bloom -o a.bloom", "").quiet();
        assert!(work.set("bloom contains a.bloom -f a", "").code == Some(0));
        assert!(work.set("bloom contains a.bloom -f b", "").code == Some(1));
    }
    // Without a number of keys they are counted, in files and in pipes.
    for line in ["build all -o counted", "build -o piped", "build - -o piped2 --skip-empty"] {
        assert_eq!(work.set(&format!("bloom {line}"), &text).quiet(), "");
    }
    let goal = |name: &str| AnyFilter::open(work.file(name)).unwrap().goal().unwrap().keys;
    assert_eq!(["counted", "piped", "piped2"].map(goal), [5000; 3]);
    assert_eq!(fs::read(work.file("counted")).unwrap(), fs::read(work.file("piped")).unwrap());
    work.set("bloom build -o none", "").quiet();
    assert_eq!(work.set("bloom contains none x", "").out, "false\n");
}

#[test]
fn keys_are_removed_from_counting_filters() {
    let work = Workspace::new();
    work.set("bloom build -n 100 --design counting -o c", "fox\ndog\nfox\n\n").quiet();
    assert_eq!(work.set("bloom remove c dog", "").quiet(), "");
    assert_eq!(work.set("bloom remove c", "fox\n\n").quiet(), "");
    assert_eq!(work.set("bloom contains c fox dog", "").out, "fox\ttrue\ndog\tfalse\n");
    assert_eq!(work.set("bloom add c dog cow", "").quiet(), "");
    assert_eq!(work.set("bloom contains c dog cow", "").code, Some(0));
    let outcome = work.set("bloom remove c dog hen pig --stats=json", "");
    assert_eq!((outcome.code, outcome.out.as_str()), (Some(0), ""));
    assert!(
        outcome.err.starts_with("bitset: c did not have 2 keys that were to be removed\n"),
        "{}",
        outcome.err
    );
    assert!(outcome.err.contains("\"missing\":2"), "{}", outcome.err);
    // An empty key is a key.
    assert_eq!(work.set("bloom add c ''", "").quiet(), "");
    assert_eq!(work.set("bloom contains c ''", "").out, "true\n");
    assert_eq!(work.set("bloom remove c ''", "").quiet(), "");
    assert_eq!(work.set("bloom contains c ''", "").out, "false\n");
    let outcome = work.set("bloom remove c ''", "");
    assert_eq!(outcome.err, "bitset: c did not have 1 key that was to be removed\n");
    work.set("bloom build -n 100 -o s", "fox\n").quiet();
    work.set("bloom remove s fox", "").refused("counting filters only; s is a standard one");
}

#[test]
fn a_filter_is_described_and_checked() {
    let work = workspace();
    let info = work.set("bloom info k.bloom", "").quiet();
    assert!(info.contains("design    standard, 512 bits\n"), "{info}");
    assert!(info.contains("goal      4 keys, 0.000100 % false positives\n"), "{info}");
    let json = work.set("bloom info k.bloom --json", "").quiet();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((json["cells"].as_u64(), json["counted_keys"].as_u64()), (Some(512), Some(4)));
    let many = numbered("", 4000);
    work.set("bloom build -n 4000 -o good", &many).quiet();
    // A small filter has room for more keys.
    assert_eq!(work.set("bloom build -n 3 -o small", &numbered("", 20)).quiet(), "");
    let crowded = work.set("bloom build -n 2000 --seed 3 -o full", &many);
    assert_eq!(crowded.code, Some(0));
    assert!(
        crowded.err.contains("keys in a filter for 2000: the false-positive rate is 15"),
        "{}",
        crowded.err
    );
    // The same of a join, and of more keys.
    work.set("bloom build -n 4000 -o other", &numbered("x", 4000)).quiet();
    let joined = work.set("bloom merge good other -o joined", "");
    assert!(joined.code == Some(0) && joined.err.contains("keys in a filter for 4000"));
    let changed = work.set("bloom add other", &many);
    assert!(changed.code == Some(0) && changed.err.contains("keys in a filter for 4000"));
    // All bits are set: nobody knows how many keys came.
    let all = work.set("bloom build -n 10 -o all", &many);
    assert!(
        all.err.contains("at least ")
            && work.set("bloom info all", "").quiet().contains("at least ")
    );
    let good = work.set("bloom verify good -f -", &many);
    assert!(
        good.code == Some(0)
            && good.out.contains("promise   kept")
            && good.out.ends_with("missing   0 keys\n"),
        "{good:?}"
    );
    let full = work.set("bloom verify full", "");
    assert!(full.code == Some(1) && full.out.contains("promise   broken\n"), "{full:?}");
    assert_eq!(work.set("bloom verify full -p 0.5 --probes 10000 --seed 9", "").code, Some(0));
    let json = work.set("bloom verify good --json -f k --probes 1K", "");
    assert_eq!(json.code, Some(1), "keys are missing");
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((&json["kept"], json["missing_keys"].as_u64()), (&false.into(), Some(4)));
    // Content is checked, not only the head.
    let mut bytes = fs::read(work.file("good")).unwrap();
    bytes[4200] ^= 1;
    fs::write(work.file("bad"), bytes).unwrap();
    work.set("bloom verify bad", "").refused("bad: byte 4096");
    for line in ["add bad x", "convert bad -o x", "merge good bad -o x", "intersect good bad -o x"]
    {
        work.set(&format!("bloom {line}"), "").refused("bad: byte 4096");
    }
    work.set("bloom verify good --probes 0", "").refused("at least 1 key has to be asked for");
    // Few keys may have bad luck.
    let verified: Vec<String> = (0..10)
        .map(|seed| {
            let build = format!("bloom build -n 300 -p 0.01 --seed {seed} -o few");
            work.set(&build, &numbered("", 300)).quiet();
            work.set("bloom verify few", "").quiet()
        })
        .collect();
    assert!(verified.iter().any(|few| few.contains("is the luck of its keys")), "{verified:?}");
}

#[test]
fn plans_are_made_for_anything() {
    let work = Workspace::new();
    let plan = work.set("bloom plan -n 1M,1e9 -p 0.01,0.001", "").quiet();
    assert_eq!(plan.lines().count(), 13, "{plan}");
    assert!(plan.contains("standard        1000000       1.00 %      7     9.59         9592955"));
    let odd = work.set("bloom plan -n 0,1T,1.5e19 -p 2,0.5 --design blocked", "").quiet();
    assert!(odd.contains("none: a filter is made for at least one key"), "{odd}");
    assert!(odd.contains("2 does not\n") && odd.contains("no filter of this kind"), "{odd}");
    let bits =
        work.set("bloom plan -n 1K --bits-per-key 8,12 --design counting --counter-bits 2", "");
    assert!(bits.quiet().contains("16.00"));
    let json = work.set("bloom plan -n 50G --design standard --json", "").quiet();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[0]["hashes"].as_u64(), Some(7));
    let common = work.set("bloom plan --common -n 50e9 --line-bytes 64 --mem 1G", "").quiet();
    assert!(common.contains("about 50000000000 and 50000000000 lines"), "{common}");
    // The limit that is advised is enough, and not much more than that.
    for (count, limit) in [("1M", "7100K"), ("100M", "64M"), ("3G", "1G"), ("50", "64")] {
        let plan = |limit: &str| {
            work.set(&format!("bloom plan -n {count} --common --mem {limit}"), "").quiet()
        };
        let told = plan(limit);
        let (_, behind) = told.split_once("% --mem ").unwrap_or_else(|| panic!("{told}"));
        let advised = behind.lines().next().unwrap();
        assert!(!plan(advised).contains("; for "), "{count}: {advised}");
        let mebibytes: u64 = advised.strip_suffix('M').unwrap().parse().unwrap();
        let less = format!("{}K", (mebibytes - 1) * 1024);
        assert!(mebibytes == 1 || plan(&less).contains("; for "), "{count}: {advised}");
    }
    for impossible in ["-n 1K -p nan", "-n 1K --bits-per-key 0", "-n 1 -p 2 --json"] {
        let ended = work.set(&format!("bloom plan {impossible}"), "");
        ended.refused("there can be no such filter");
    }
    work.write("a", "x\n");
    let before = work.read("a");
    let explained = work.set("bloom common a a --explain", "").quiet();
    assert!(explained.starts_with("files     2 B and 2 B, about 2 and 2 lines\n"), "{explained}");
    // What is packed is counted unpacked.
    work.write("b", numbered("", 1000));
    work.set("bloom dedup b -o b.gz", "").quiet();
    let kept = work.set("bloom common a a --explain -o a", "");
    assert!(kept.out.starts_with("files     2 B and 2 B, "), "{kept:?}");
    assert_eq!(work.read("a"), before);
    let explained = work.set("bloom common b b.gz --explain", "").quiet();
    assert!(explained.contains("about 1001 and 1000 lines\n"), "{explained}");
}

/// Numbers whose filters Guava wrote, in tests/data/guava.
const NUMBERS: &str = "0\n1\n-1\n7\n42\n65536\n2147483647\n-2147483648\n1000003\n99\n";

#[test]
fn keys_are_hashed_as_another_program_does() {
    let work = Workspace::new();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/guava");
    for (funnel, name) in [
        ("bytes", "string"),
        ("bytes", "bytes"),
        ("long", "long"),
        ("int", "int"),
        ("chars", "chars"),
    ] {
        for strategy in ["0", "1"] {
            fs::copy(data.join(format!("{name}-{strategy}.guava")), work.file("theirs")).unwrap();
            let line = format!("bloom contains theirs --funnel {funnel}");
            let asked = work.set(&line, NUMBERS).quiet();
            assert_eq!(asked, NUMBERS.replace('\n', "\ttrue\n"), "{name}");
            let verify = format!("bloom verify theirs -p 0.1 --probes 1000 --funnel {funnel} -f -");
            let verified = work.set(&verify, NUMBERS).quiet();
            assert!(verified.ends_with("missing   0 keys\n"), "{verified}");
        }
        work.set(&format!("bloom build -n 20 --to guava -o ours --funnel {funnel}"), NUMBERS)
            .quiet();
        assert_eq!(fs::read(work.file("ours")).unwrap(), fs::read(work.file("theirs")).unwrap());
        let rows =
            work.set(&format!("bloom filter ours --column 2 --funnel {funnel}"), "a,7\nb,8\n");
        assert_eq!(rows.quiet(), "a,7\n", "{funnel}");
        let build = format!("bloom build -n 20 --design counting -o own --funnel {funnel}");
        work.set(&build, NUMBERS).quiet();
        work.set(&format!("bloom remove own 42 -1 --funnel {funnel}"), "").quiet();
        work.set(&format!("bloom add own --funnel {funnel}"), "5\n6\n").quiet();
        let asked = work.set(&format!("bloom contains own 42 5 99 --funnel {funnel}"), "");
        assert_eq!(asked.out, "42\tfalse\n5\ttrue\n99\ttrue\n", "{funnel}");
    }
    work.write("text", "5\n\nfox\n");
    work.write("rows", "a,5\nb,fox\n");
    for (line, part) in [
        ("contains own -f text --funnel long", "text: byte 2: expected an integer of 64 bits"),
        (
            "contains own -f text --funnel int --skip-empty",
            "text: byte 3: expected an integer of 32",
        ),
        (
            "contains own fox --funnel long",
            "expected an integer of 64 bits, -2^63 to 2^63 - 1: \"fox\"",
        ),
        (
            "filter own rows --column 2 --funnel long",
            "rows: byte 4: expected an integer of 64 bits",
        ),
        ("build text -o x --funnel long", "text: byte 2: expected"),
        ("add own -f text --funnel long", "hint: choose another --funnel"),
        ("remove own 2147483648 --funnel int", "expected an integer of 32 bits"),
        ("build -o x --funnel long", "bitset: -: byte 2: expected an integer of 64 bits"),
        ("build -o x --funnel long -n 9", "bitset: -: byte 2: expected an integer of 64 bits"),
        ("build text -o x --to dcso --funnel long", "DCSO's bloom hashes the bytes"),
        ("verify own --funnel long", "those in --file"),
    ] {
        let ran = work.set(&format!("bloom {line}"), "5\nfox\n");
        assert_eq!(ran.code, Some(2), "{line}: {ran:?}");
        assert!(ran.err.contains(part), "{line}: {ran:?}");
    }
    assert_eq!(work.names(), ["ours", "own", "rows", "text", "theirs"]);
}

#[test]
fn filters_of_others_are_made_asked_and_converted() {
    let work = Workspace::new();
    for kind in ["guava", "spark", "dcso"] {
        work.set(&format!("bloom build -n 50 --to {kind} -o x"), "fox\ndog\n").quiet();
        work.set("bloom add x cow", "").quiet();
        work.set("bloom convert x -o own", "").quiet();
        work.set(&format!("bloom convert own --to {kind} -o back"), "").quiet();
        assert_eq!(fs::read(work.file("x")).unwrap(), fs::read(work.file("back")).unwrap());
        work.set("bloom merge x own -o merged", "").quiet();
        for name in ["x", "own", "merged"] {
            let ran = work.set(&format!("bloom contains {name} fox dog cow ant"), "");
            assert_eq!(ran.out, "fox\ttrue\ndog\ttrue\ncow\ttrue\nant\tfalse\n", "{kind} {name}");
        }
        let info = work.set("bloom info x", "").quiet();
        assert!(info.starts_with(&format!("file      {kind}")), "{info}");
        // Files of Guava and Spark have no count of keys.
        let keys = if kind == "dcso" { "3 recorded, 3 estimated" } else { "3 estimated" };
        assert!(info.contains(&format!("keys      {keys}\n")), "{info}");
    }
    assert!(dcso::load(work.file("x")).unwrap().0.contains("cow"));
    let (filter, _) = dcso::load(work.file("x")).unwrap();
    dcso::save(&filter, b"notes", work.file("noted")).unwrap();
    for line in ["convert noted -o own", "merge x noted -o own"] {
        let ran = work.set(&format!("bloom {line}"), "");
        let what = "bitset: the data behind the filter of noted is left out\n";
        assert_eq!((ran.code, &*ran.err), (Some(0), what), "{line}");
    }
    work.set("bloom build -n 1000 --to guava -o wide", "").quiet();
    let bits = guava::filter(1000, guava::DEFAULT_RATE, guava::Options::default()).unwrap();
    assert_eq!(guava::load(work.file("wide")).unwrap().cells(), bits.cells());
    let mut theirs = guava::filter(50, 0.01, guava::Options::default()).unwrap();
    theirs.extend(["fox"]);
    guava::save(&theirs, work.file("g")).unwrap();
    assert_eq!(work.set("bloom contains g fox", "").quiet(), "true\n");
    work.set("bloom verify g", "").refused("does not say which rate it promises");
    assert_eq!(work.set("bloom verify g --rate 0.1", "").code, Some(0));
    work.set("bloom build -n 5 -o b --design blocked", "fox\n").quiet();
    work.set("bloom convert b --to guava -o y", "").refused("guava has no blocked filters");
    work.set("bloom build -n 5 -o s", "fox\n").quiet();
    work.set("bloom convert s --to dcso -o y", "").refused("of its own hash function only");
    work.set("bloom merge s b -o y", "").refused("s and b: a standard filter and a blocked one");
    assert!(!work.file("y").exists());
}

#[test]
fn lines_in_common_are_counted_as_they_are_printed() {
    let work = Workspace::new();
    for name in ["a", "b"] {
        work.write(name, "\r\r\nfox\r\n\r\n");
    }
    let common = "bloom common a b --crlf --skip-empty";
    assert_eq!(work.set(common, "").quiet(), "\r\nfox\n");
    assert_eq!(work.set(&format!("{common} --count"), "").quiet(), "2\n");
}

#[test]
fn filters_of_any_size_are_opened_again() {
    let work = Workspace::new();
    for bits in ["0.01", "0.3", "80", "5000"] {
        for design in ["standard", "blocked", "counting"] {
            let build = format!("bloom build -n 1000 --bits-per-key {bits} --design {design} -o x");
            work.set(&build, "fox\n").quiet();
            assert_eq!(work.set("bloom contains x fox", "").quiet(), "true\n", "{build}");
        }
    }
    for (kind, rate) in [("spark", "0.7"), ("guava", "0.7"), ("guava", "0.99"), ("dcso", "0.9")] {
        for keys in ["-n 1000", ""] {
            let lines = numbered("", 1000);
            work.set(&format!("bloom build --to {kind} -p {rate} -o x {keys}"), &lines).quiet();
            assert_eq!(work.set("bloom contains x 7", "").quiet(), "true\n", "{kind} {rate}");
        }
    }
}

#[test]
fn what_cannot_be_done_is_refused() {
    let work = workspace();
    for kind in ["dcso", "spark"] {
        work.set(&format!("bloom build k --to {kind} -o k.{kind}"), "").quiet();
    }
    work.write("text", "no filter\n");
    work.write("empty", "");
    work.write("packed", [0x1F, 0x8B, 8, 0]);
    for (line, message) in [
        ("contains missing x", "cannot open missing"),
        ("contains text x", "text: byte 0: this is no filter"),
        ("contains empty x", "empty: byte 0: this is no filter"),
        ("contains packed x", "packed by gzip"),
        ("contains . x", "directory"),
        ("contains k.bloom x --crlf", "not for typed keys"),
        ("add k.bloom x --skip-empty", "not for typed keys"),
        ("add k.bloom x -z", "not for typed keys"),
        ("remove k.bloom x -z", "not for typed keys"),
        ("common k k --count --explain", "cannot be used with"),
        ("build k -o x --to guava -n 20G", "no filter of this kind"),
        ("contains - x", "a filter is a file"),
        ("add - x", "a filter is a file"),
        ("info -", "a filter is a file"),
        ("verify -", "a filter is a file"),
        ("convert - -o y", "a filter is a file"),
        ("merge - k.bloom -o y", "a filter is a file"),
        ("intersect k.bloom - -o y", "a filter is a file"),
        ("filter k.bloom missing", "cannot open missing"),
        ("filter k.bloom .", "directory"),
        ("dedup missing", "cannot open missing"),
        ("dedup . --exact", "directory"),
        ("dedup -n 0", "at least one key"),
        ("dedup -n 1G --mem 64M", "a filter for 1000000000 keys takes"),
        ("dedup -n 165000 --mem 1M -p 1e-6", "a filter for 165000 keys takes"),
        ("add k.dcso 77 --funnel long", "leave out --funnel"),
        ("contains k.dcso 77 --funnel long", "leave out --funnel"),
        ("filter k.dcso k --funnel long", "leave out --funnel"),
        ("verify k.dcso -f k --funnel int", "leave out --funnel"),
        ("contains k.spark 77 --funnel int", "Spark hashes bytes or longs"),
        ("index build -", "not of standard input"),
        ("index get - x", "not of standard input"),
        ("dedup -p 1", "between 0 and 1"),
        ("dedup -p 1e-50", "no filter of this kind"),
        ("dedup -n 1G --mem 1M -p 1e-9 -n 2", "cannot be used multiple times"),
        ("common - -", "one file only"),
        ("common k missing", "cannot open missing"),
        ("common . k", "directory"),
        ("common k k -p 0", "between 0 and 1"),
        ("plan -n 1 --common --json", "cannot be used with"),
        ("plan -n 1 --common --design standard", "cannot be used with"),
        ("plan -n 1 --design blocked --counter-bits 4", "--counter-bits is for"),
        ("index build packed", "is compressed"),
        ("build missing -o x", "cannot open missing"),
        ("build k -o x --counter-bits 4", "--counter-bits is for --design counting"),
        ("build k -o x --design counting --counter-bits 3", "2, 4 or 8"),
        ("build k -o x -n 0", "at least one key"),
        ("build k -o x -p 0", "between 0 and 1"),
        ("build k -o x --hashes 256", "1 to 255"),
        ("build k -o x --to guava --design blocked", "they size themselves"),
        ("build k -o x --to spark --funnel chars", "Spark hashes bytes or longs"),
        ("build k -o x -n 1e18", "cannot reserve"),
        ("build k -o x -n 1000 -p 1e-17", "no filter of 1000 keys has a rate of"),
        ("build k -o x -n many", "expected a number such as"),
        ("build k -o missing/x", "cannot create missing/x"),
        ("add missing x", "cannot open missing"),
        ("add text x", "no filter"),
        ("remove text x", "no filter"),
        ("merge k.bloom text -o x", "no filter"),
        ("intersect k.bloom missing -o x", "cannot open missing"),
        ("convert k -o x", "no filter"),
        ("info text", "no filter"),
        ("verify text", "no filter"),
        ("verify k.bloom -p 7", "between 0 and 1"),
    ] {
        work.set(&format!("bloom {line}"), "a\nb\n").refused(message);
    }
    let names = ["empty", "k", "k.bloom", "k.dcso", "k.spark", "packed", "text"];
    assert_eq!(work.names(), names);
}
