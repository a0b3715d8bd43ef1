//! Files of sets by key.

use crate::workspace::Workspace;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;

type Model = BTreeMap<String, BTreeSet<u64>>;

/// Rows as text, and the sets that they make.
fn rows(count: u64, keys: u64, ids: u64) -> (String, Model) {
    let (mut text, mut model, mut state) = (String::from("tag,id\n"), Model::new(), 1_u64);
    let mut random = |below: u64| {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        (state >> 33) % below
    };
    for _ in 0..count {
        let most = random(keys) + 1;
        let (key, id) = (format!("k{}", random(most)), random(ids));
        writeln!(text, "{key},{id}").unwrap();
        model.entry(key).or_default().insert(id);
    }
    (text, model)
}

fn lines(values: impl IntoIterator<Item = u64>) -> String {
    values.into_iter().fold(String::new(), |mut text, value| {
        writeln!(text, "{value}").unwrap();
        text
    })
}

fn workspace() -> (Workspace, Model) {
    let work = Workspace::new();
    let (text, model) = rows(20_000, 50, 3000);
    work.write("rows.csv", text);
    work.set("group rows.csv --key tag --column id -o t.sets", "").quiet();
    (work, model)
}

#[test]
fn every_command_takes_one_set_of_many() {
    let (work, model) = workspace();
    for (key, ids) in &model {
        let set = format!("t.sets:{key}");
        assert_eq!(work.set(&format!("cat {set}"), "").quiet(), lines(ids.iter().copied()));
        assert_eq!(work.set(&format!("count {set}"), "").quiet(), format!("{}\n", ids.len()));
    }
    let (a, b) = (&model["k0"], &model["k3"]);
    let both: Vec<u64> = a.intersection(b).copied().collect();
    for command in ["and t.sets:k0 t.sets:k3", "eval k0&k3 t.sets", "eval a&k3 t.sets a=t.sets:k0"]
    {
        assert_eq!(work.set(command, "").quiet(), lines(both.iter().copied()), "{command}");
    }
    let filtered = work.set("filter t.sets:k3", &lines(a.iter().copied())).quiet();
    assert_eq!(filtered, lines(both));
    work.set("plot t.sets:k0 -o k0.svg", "").quiet();
    work.set("convert t.sets:k0 -o x.bits", "").quiet();
    assert_eq!(work.set("cat x.bits", "").quiet(), lines(a.iter().copied()));
    work.set("add t.sets:k0 5", "").refused("one of many sets cannot change alone");
    work.set("remove t.sets 5", "").refused("none of which changes alone: group their rows again");
    work.set("cat t.sets:nope", "").refused("t.sets has no set nope");
    work.set("eval k0-nope t.sets", "").refused("t.sets has no set nope");
    work.set("cat t.sets", "").refused("t.sets has sets by key: name one, t.sets:KEY");
    work.set("cat none.sets:k0", "").refused("cannot open none.sets:k0");
    work.set("or t.sets t.sets -o joined", "")
        .refused("join them with -o FILE.sets and without --to");
    work.set("or t.sets t.sets --parts 2 -o joined.sets", "").refused("without --to and --parts");
    work.set("or t.sets --parts 2 -o joined.sets", "").refused("joined.sets: ");
    assert!(!work.file("joined.sets").exists());
    for one in ["and t.sets:k0 t.sets:k3", "build t.sets:k0", "convert t.sets:k0"] {
        work.set(&format!("{one} -o one.sets"), "")
            .refused("one.sets: a .sets file has sets by key");
    }
    for to in ["", "--to bits", "--to text"] {
        work.set(&format!("build {to} -o t.sets:k0"), "7\n").refused("is a set of t.sets");
    }
    work.write("lines", "7\n");
    for command in [
        "filter lines lines",
        "group --key 1 --column 1 lines",
        "bloom build lines",
        "bloom dedup lines",
        "bloom index build lines",
    ] {
        work.set(&format!("{command} -o t.sets:k0"), "").refused("is a set of t.sets");
        // An index is replaced by another one only.
        if command != "bloom index build lines" {
            work.set(&format!("{command} -o lines.bix"), "").refused("lines.bix");
        }
    }
    // A file of this very name wins.
    work.write("t.sets:k0", "7\n");
    assert_eq!(work.set("cat t.sets:k0", "").quiet(), "7\n");
}

#[test]
fn a_file_of_sets_stands_for_all_of_them_where_sets_are_joined() {
    let (work, model) = workspace();
    let mut counts = BTreeMap::new();
    for &id in model.values().flatten() {
        *counts.entry(id).or_insert(0) += 1;
    }
    let with = |wanted: &dyn Fn(usize) -> bool| {
        lines(counts.iter().filter(|(_, count)| wanted(**count)).map(|(id, _)| *id))
    };
    let all = model.len();
    for (line, expected) in [
        ("or t.sets", with(&|_| true)),
        ("xor t.sets", with(&|count| count % 2 == 1)),
        ("and t.sets", with(&|count| count == all)),
        ("at-least 3 t.sets", with(&|count| count >= 3)),
    ] {
        assert_eq!(work.set(line, "").quiet(), expected, "{line}");
        let count = format!("{}\n", expected.lines().count());
        assert_eq!(work.set(&format!("{line} --count"), "").quiet(), count, "{line}");
    }
    let others = lines((0..3000).filter(|id| !counts.contains_key(id)));
    let every = lines(0..3000);
    assert_eq!(work.set("andnot - t.sets", &every).quiet(), others);
    work.set("andnot t.sets -", "").refused("the others are taken from one set: name it, FILE:KEY");
    work.set("or t.sets -o u.bits", "").quiet();
    assert_eq!(work.set("cat u.bits", "").quiet(), with(&|_| true));
    // Sets of a file take memory while they are joined, so they are joined in batches.
    let many: String = (0..40_000).fold(String::new(), |mut text, key| {
        writeln!(text, "k{key},{key}").unwrap();
        text
    });
    work.set("group --key 1 --column 2 -o many.sets", &many).quiet();
    assert_eq!(work.set("or many.sets --count", "").quiet(), "40000\n");
    let thrice = "many.sets many.sets many.sets --mem 64M";
    for (line, count) in [
        ("or", 40_000),
        ("xor", 40_000),
        ("and", 0),
        ("andnot -", 10),
        ("at-least 3", 40_000),
        ("at-least 4", 0),
    ] {
        let found = work.set(&format!("{line} {thrice} --count"), &lines(39_990..40_010)).quiet();
        assert_eq!(found, format!("{count}\n"), "{line}");
    }
    // So many sets just fit, but not with the one from which they are taken.
    let just: String = (0..7168).fold(String::new(), |mut text, key| {
        writeln!(text, "k{key},{key}").unwrap();
        text
    });
    work.set("group --key 1 --column 2 -o just.sets", &just).quiet();
    work.set("build -o some.bits", &lines((7000..7200).step_by(5))).quiet();
    let left = work.set("andnot some.bits just.sets --mem 16M", "").quiet();
    assert_eq!(left, lines((7170..7200).step_by(5)));
    work.set("or many.sets --mem 32M -o all.bits", "").quiet();
    assert_eq!(work.set("cat all.bits", "").quiet(), lines(0..40_000));
    work.set(&format!("at-least 9 {thrice} --count"), "").refused("too small");
    // The memory that the error names is enough.
    let refused = work.set("at-least 9 many.sets --count --mem 16M", "").err;
    let (_, behind) = refused.split_once(": at least ").unwrap();
    let bytes = behind.split(' ').next().unwrap();
    assert_eq!(work.set(&format!("at-least 9 many.sets --count --mem {bytes}"), "").quiet(), "0\n");
}

#[test]
fn sets_are_listed_verified_and_recognized() {
    let (work, model) = workspace();
    let info = work.set("info t.sets", "").quiet();
    let found: Vec<(String, usize)> = info
        .lines()
        .map(|line| line.split('\t').collect::<Vec<_>>())
        .map(|fields| (fields[0].to_owned(), fields[1].parse().unwrap()))
        .collect();
    let expected: Vec<_> = model.iter().map(|(key, ids)| (key.clone(), ids.len())).collect();
    assert_eq!(found, expected);
    let json = work.set("info t.sets --json", "").quiet();
    let first: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!((&first["key"], &first["cardinality"]), (&"k0".into(), &model["k0"].len().into()));
    let values: usize = model.values().map(BTreeSet::len).sum();
    let whole = format!("t.sets: {} sets, {values} values, whole\n", model.len());
    assert_eq!(work.set("verify t.sets", "").quiet(), whole);
    let told = format!("t.sets: sets by key, .sets file, {}\n", model.len());
    assert_eq!(work.set("identify t.sets", "").quiet(), told);
    let mut bytes = fs::read(work.file("t.sets")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(work.file("t.sets"), &bytes).unwrap();
    work.set("verify t.sets", "").refused("the checksum of the block");
    work.set("or t.sets t.sets -o u.sets", "").refused("the checksum of the block");
}

#[test]
fn keys_of_any_bytes_are_printed_and_typed_without_doubt() {
    let work = Workspace::new();
    fs::write(work.file("rows.csv"), b"\"a\tb\",1\n\"c\"\"d\",2\n,3\n\xFF,4\n\"x\ny\",5\na:b,6\n")
        .unwrap();
    work.set("group rows.csv --key 1 --column 2 -o t.sets", "").quiet();
    let info = work.set("info t.sets", "").quiet();
    let names: Vec<&str> = info.lines().map(|line| line.split('\t').next().unwrap()).collect();
    assert_eq!(names, [r#""""#, r#""a\tb""#, "a:b", "c\"d", r#""x\ny""#, r#""\xFF""#]);
    for (name, value) in names.iter().zip([3, 1, 6, 2, 5, 4]) {
        let set = format!("t.sets:{name}");
        assert_eq!(work.set_args(&["cat", &set]).quiet(), lines([value]), "{name}");
        assert_eq!(work.set(&format!("keys-of t.sets {value}"), "").quiet(), format!("{name}\n"));
    }
    let expression = r#""a\tb" | "c\"d" | "" | "a:b""#;
    assert_eq!(work.set_args(&["eval", expression, "t.sets"]).quiet(), "1\n2\n3\n6\n");
    assert_eq!(work.set("keys-of t.sets", "6\n9\n").code, Some(1));
    // As in other commands that look values up, a line has one.
    work.set("keys-of t.sets --ranges", "1-9\n")
        .refused("-:1: byte 1: expected the end of the line");
}

#[test]
fn one_set_of_a_file_is_verified_with_the_checksums_of_the_file() {
    let work = Workspace::new();
    let far = |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 1;
    let rows =
        (0..60_000).map(|i| "far,".to_owned() + &far(i).to_string() + "\n").collect::<String>();
    let name = "group --key 1 --column 2 -o t.sets";
    work.set(name, &format!("a,3\na,10\n{rows}near,7\n")).quiet();
    let whole = std::fs::read(work.file("t.sets")).unwrap();
    let verified = |at: Option<usize>| {
        let mut bytes = whole.clone();
        if let Some(at) = at {
            bytes[at] ^= 1;
        }
        work.write("t.sets", bytes);
        ["a", "far", "near"].map(|key| work.set(&format!("verify t.sets:{key}"), "").code)
    };
    assert_eq!(verified(None), [Some(0); 3]);
    // The first and the last block of the sets; `far` lies in several.
    let [first, last] = [16 + 4096, whole.len() / 2];
    assert_eq!(verified(Some(first)), [Some(2), Some(2), Some(0)]);
    assert_eq!(verified(Some(last)), [Some(0), Some(2), Some(0)]);
    work.set("convert t.sets:far -o x.bits", "").refused("the checksum of the block");
    assert_eq!(verified(None), [Some(0); 3]);
}

#[test]
fn malformed_rows_are_named_or_counted() {
    let work = Workspace::new();
    work.write("rows.csv", "tag,id\na,1\nb,x\nc\n\nd,4\n");
    let group = "group rows.csv --key tag --column id -o t.sets";
    work.set(group, "").refused("rows.csv:3: byte 13: expected a digit: \"b,x\"");
    assert!(!work.file("t.sets").exists());
    let told = work.set(&format!("{group} --skip-invalid --stats=json"), "").err;
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!([&told["rows"], &told["rejected"], &told["blank"]], [2, 2, 1]);
    assert_eq!(work.set("info t.sets", "").quiet().lines().count(), 2);
    work.set("group rows.csv --key no --column id -o t.sets", "")
        .refused("no column is named \"no\"");
    work.set("group rows.csv --key 0 --column id -o t.sets", "").refused("numbered from 1");
}

#[test]
fn small_sets_share_pages() {
    let work = Workspace::new();
    let (text, model) = rows(8000, 200, 1 << 20);
    work.write("rows.csv", text);
    work.set("group rows.csv --key tag --column id -o t.sets", "").quiet();
    let bytes = fs::metadata(work.file("t.sets")).unwrap().len();
    let roaring = model.values().map(|ids| {
        let ids = ids.iter().map(|&id| u32::try_from(id).unwrap());
        ids.collect::<roaring::RoaringBitmap>().serialized_size() as u64
    });
    let roaring: u64 = roaring.sum();
    assert!(2 * bytes <= 3 * roaring, "{bytes} bytes, {roaring} as roaring bitmaps");
}

/// A map for each of 300 operands would take more than the address space that there is.
#[test]
fn sets_of_one_file_share_its_map() {
    let work = Workspace::new();
    let rows = (0..1_500_000_u64).fold(String::new(), |mut rows, row| {
        let id = row.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        writeln!(rows, "k{},{id}", row % 100).unwrap();
        rows
    });
    work.write("rows", rows);
    work.set("group rows --key 1 --column 2 -o tags.sets", "").quiet();
    let bytes = fs::metadata(work.file("tags.sets")).unwrap().len();
    assert!(bytes > 8 << 20, "{bytes}");
    let names: Vec<_> = (0..300).map(|set| format!("tags.sets:k{}", set % 100)).collect();
    let line = format!("ulimit -v 2000000; $P or --count {}", names.join(" "));
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &line]).current_dir(work.path());
    let ran = command.env("P", env!("CARGO_BIN_EXE_bitset")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "1500000\n", "{ran:?}");
}

#[test]
fn many_keys_are_grouped_in_little_memory() {
    let work = Workspace::new();
    let mut text = String::new();
    for row in 0..300_000_u64 {
        writeln!(text, "{:016x},{}", row.wrapping_mul(0x9E37_79B9_7F4A_7C15), row << 20).unwrap();
    }
    work.write("rows.csv", text);
    let group = "group rows.csv --key 1 --column 2 -o t.sets --mem 64M --stats=json";
    let told = work.set(group, "").err;
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!((&told["sets"], &told["rows"]), (&300_000.into(), &300_000.into()));
    assert!(told["aside"].as_u64().unwrap() > 0, "{told}");
    work.set("verify t.sets", "").quiet();
    let key = format!("t.sets:{:016x}", 77_777_u64.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    assert_eq!(work.set(&format!("cat {key}"), "").quiet(), lines([77_777 << 20]));
}

#[test]
fn pairs_are_those_of_separate_files() {
    let (work, model) = workspace();
    let mut names = Vec::new();
    for key in model.keys() {
        work.set(&format!("cat t.sets:{key} -o {key}.bits"), "").quiet();
        names.push(format!("{key}.bits"));
    }
    for by in ["intersection", "jaccard", "lift"] {
        let one = work.set(&format!("overlap t.sets --top 30 --by {by} --min 3"), "").quiet();
        let files = format!("overlap {} --top 30 --by {by} --min 3", names.join(" "));
        assert_eq!(work.set(&files, "").quiet().replace(".bits", ""), one, "{by}");
        assert_eq!(one.lines().count(), 30);
    }
    let best = work.set("overlap t.sets --top 1", "").quiet();
    work.write("odd.csv", "\"x\ty\",4\n\"q\"\"q\",4\n");
    work.set("group odd.csv --key 1 --column 2 -o odd.sets", "").quiet();
    let told = work.set("overlap odd.sets --json", "").quiet();
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!((&told["a_key"], &told["b_key"]), (&"q\"q".into(), &"x\ty".into()), "{told}");
    assert_eq!(told["b"], r#""x\ty""#, "{told}");
    let fields: Vec<&str> = best.trim_end().split('\t').collect();
    let both = model[fields[0]].intersection(&model[fields[1]]).count();
    assert_eq!(fields[2], both.to_string());
}

#[test]
fn files_of_sets_are_joined_key_by_key() {
    let (work, mut model) = workspace();
    work.write("more.csv", "k0,5000\nk0,1\nnew,7\n");
    work.set("group more.csv --key 1 --column 2 -o more.sets", "").quiet();
    work.set("or t.sets more.sets -o all.sets", "").quiet();
    model.entry("k0".into()).or_default().extend([5000, 1]);
    model.entry("new".into()).or_default().insert(7);
    for (key, ids) in &model {
        let found = work.set(&format!("cat all.sets:{key}"), "").quiet();
        assert_eq!(found, lines(ids.iter().copied()), "{key}");
    }
    // All rows at once make the same file.
    let (text, _) = rows(20_000, 50, 3000);
    let all = text.lines().skip(1).collect::<Vec<_>>().join("\n") + "\nk0,5000\nk0,1\nnew,7\n";
    work.set("group --key 1 --column 2 -o once.sets", &all).quiet();
    assert!(fs::read(work.file("once.sets")).unwrap() == fs::read(work.file("all.sets")).unwrap());
}

#[test]
fn a_sort_of_sets_by_key_says_how_to_print_one() {
    let (work, _) = workspace();
    let refused = work.run("t.sets");
    assert!(
        refused.err.contains("hint: it has sets by key: bitset cat FILE:KEY"),
        "{}",
        refused.err
    );
}

#[test]
fn damaged_sets_do_not_become_sound_pieces() {
    let work = Workspace::new();
    let rows: Vec<String> = (0..3000).map(|id| format!("k,{}\n", id * 7)).collect();
    work.write("rows.csv", rows.concat());
    work.set("group rows.csv --key 1 --column 2 -o one.sets", "").quiet();
    let mut bytes = fs::read(work.file("one.sets")).unwrap();
    bytes[4196] ^= 1;
    let path = work.write("damaged.sets", bytes);
    let sets = bitsort::set::keyed::KeyedSets::open(path).unwrap();
    let mut pieces = bitsort::set::keyed::pieces(&sets, 1, 1 << 20).unwrap();
    let refused = pieces.next().unwrap().unwrap_err().to_string();
    assert!(pieces.next().is_none());
    assert!(refused.contains("the checksum of the block that begins here is wrong"), "{refused}");
}

#[test]
fn after_a_damaged_entry_no_key_follows() {
    let work = Workspace::new();
    let rows: Vec<String> = (0..20).map(|key| format!("k{key:02},{key}\n")).collect();
    work.write("rows.csv", rows.concat());
    work.set("group rows.csv --key 1 --column 2 -o few.sets", "").quiet();
    let whole = std::fs::read(work.file("few.sets")).unwrap();
    let mut ended_early = 0;
    for at in (4096..whole.len()).step_by(3) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x40;
        let path = work.write("damaged.sets", damaged);
        let Ok(sets) = bitsort::set::keyed::KeyedSets::open(path) else { continue };
        let found: Vec<bool> = sets.iter().map(|keyed| keyed.is_ok()).collect();
        assert!(found.iter().rev().skip(1).all(|&is_ok| is_ok), "byte {at}: {found:?}");
        ended_early += usize::from(found.len() < 20);
    }
    assert!(ended_early > 0);
}
