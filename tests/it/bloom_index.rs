//! `bitset bloom index` as its users meet it.

use crate::workspace::Workspace;
use std::fs;

const CELLS: &str = "\
user1,info,name,Ann
user1,info,town,Oslo
user2,info,name,\"Bob, the first\"
user2,\"info,old\",name,Rob
user1,info,name,Anna
";

#[test]
fn lines_are_found_by_any_kind_of_key() {
    let work = Workspace::new();
    work.write("cells", CELLS);
    let ann = "user1,info,name,Ann\nuser1,info,name,Anna\n";
    let bobs = "user2,info,name,\"Bob, the first\"\nuser2,\"info,old\",name,Rob\n";
    let user1 = "user1,info,name,Ann\nuser1,info,town,Oslo\nuser1,info,name,Anna\n";
    for (build, key, expected) in [
        ("cells", "'user1,info,town,Oslo'", "user1,info,town,Oslo\n"),
        ("--key row cells", "'user1,info,town,Oslo'", "user1,info,town,Oslo\n"),
        ("cells --key columns 1,2,3", "user1,info,name", ann),
        (
            "--key 'columns 1,2,3' cells",
            "'user2,\"info,old\",name'",
            "user2,\"info,old\",name,Rob\n",
        ),
        ("--key columns 1,2,3 cells", "'user2,\"info,old\",name'", "user2,\"info,old\",name,Rob\n"),
        ("cells --key columns 4", "'\"Bob, the first\"'", "user2,info,name,\"Bob, the first\"\n"),
        ("cells --key prefix 5", "user2", bobs),
        ("cells --key until ,", "user1", user1),
        ("cells --key until \\x2C --block 30 --rate 0.1", "user2 user1", &[bobs, user1].concat()),
        ("cells --key columns 2 --delimiter u", "ser1,info,name,Ann", "user1,info,name,Ann\n"),
    ] {
        assert_eq!(work.set(&format!("bloom index build {build}"), "").quiet(), "", "{build}");
        assert_eq!(
            work.set(&format!("bloom index get cells {key}"), "").quiet(),
            expected,
            "{build}"
        );
        let ran = work.set(&format!("bloom index get cells {key} nobody"), "");
        assert_eq!((&*ran.out, ran.code, &*ran.err), (expected, Some(1), ""), "{build}");
        assert_eq!(work.set("bloom index verify cells", "").quiet(), "ok\n");
    }
    assert_eq!(work.names(), ["cells", "cells.bix"]);
}

#[test]
fn keys_come_from_standard_input_and_their_cost_is_told() {
    let work = Workspace::new();
    let rows: Vec<_> = (10_000..30_000).map(|row| format!("row{row}")).collect();
    work.write("rows", rows.join("\n"));
    work.set("bloom index build rows -o other --block 1K --threads 2", "").quiet();
    let ran =
        work.set("bloom index get rows --index other --stats", "row10007\r\nrow29999\nrow5\n");
    assert_eq!((&*ran.out, ran.code), ("row10007\nrow29999\n", Some(1)));
    let mut said = ran.err.lines();
    assert_eq!(said.next(), Some("2 of 3 keys found, 2 lines"));
    assert!(said.next().unwrap().contains("of 531 blocks skipped"), "{}", ran.err);
    assert!(said.next().unwrap().starts_with("2 blocks read, "), "{}", ran.err);

    let shown = work.set("bloom index stat other", "").quiet();
    assert!(shown.contains("sorted    yes") && shown.contains("rows      20000"), "{shown}");
    let json = work.set("bloom index stat other --json", "").quiet();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&json["rows"], &json["data_bytes"], &json["key"]),
        (&20_000.into(), &179_999.into(), &"row".into())
    );
    assert_eq!(json["sorted"], true);
}

#[test]
fn what_was_appended_is_asked_for_and_taken_in() {
    let work = Workspace::new();
    work.write("log", "a 1\nb 2");
    work.set("bloom index build log --key prefix 1", "").quiet();
    work.write("log", "a 1\nb 2b\nc 3\n");
    let ran = work.set("bloom index get log c", "");
    ran.refused("log is not what log.bix was made of: it is 6 bytes longer");
    assert!(ran.err.contains("hint: index what was appended"), "{}", ran.err);
    work.set("bloom index build log --append", "").quiet();
    assert_eq!(work.set("bloom index get log b c", "").quiet(), "b 2b\nc 3\n");
    let extended = fs::read(work.file("log.bix")).unwrap();
    work.set("bloom index build log --key prefix 1", "").quiet();
    assert!(extended == fs::read(work.file("log.bix")).unwrap());

    work.write("log", "a 1\nb 2b\nc 4\n");
    let ran = work.set("bloom index get log a", "");
    ran.refused("log is not what log.bix was made of: the block at byte 0 has changed");
    assert!(ran.err.contains("hint: index the file again"), "{}", ran.err);
    work.set("bloom index build log --append", "").refused("has changed");
    work.write("log", "a 1\n");
    work.set("bloom index verify log", "").refused("it is 9 bytes shorter");
    assert!(extended == fs::read(work.file("log.bix")).unwrap());
}

#[test]
fn a_damaged_index_does_not_become_a_sound_one() {
    let work = Workspace::new();
    let rows = (100_000..400_000).fold(String::new(), |rows, row| rows + &format!("{row}\n"));
    work.write("rows", &rows);
    work.set("bloom index build rows --block 4K --rate 1e-9", "").quiet();
    let mut index = fs::read(work.file("rows.bix")).unwrap();
    assert!(index.len() > 1 << 20, "a smaller one is compared whenever it is opened");
    index[300_000] ^= 1;
    work.write("rows.bix", &index);
    work.write("rows", rows + "400000\n");
    work.set("bloom index build rows --append", "").refused("checksum");
    assert!(fs::read(work.file("rows.bix")).unwrap() == index);
}

#[test]
fn a_key_to_look_up_may_begin_with_a_minus() {
    let work = Workspace::new();
    work.write("rows", "-5\n7\n");
    work.set("bloom index build rows", "").quiet();
    assert_eq!(work.set("bloom index get rows -5", "").quiet(), "-5\n");
}

#[test]
fn a_change_anywhere_is_noticed_by_the_time_of_writing() {
    let work = Workspace::new();
    let rows: String =
        (100_000..200_000).fold(String::new(), |rows, row| rows + &format!("{row}\n"));
    work.write("rows", &rows);
    work.set("bloom index build rows --block 4K", "").quiet();
    assert_eq!(work.set("bloom index get rows 133333", "").quiet(), "133333\n");
    std::thread::sleep(std::time::Duration::from_millis(20)); // clocks of files are coarse
    work.write("rows", rows.replace("133333", "X33333"));
    for line in ["get rows X33333", "get rows 150000", "build rows --append"] {
        work.set(&format!("bloom index {line}"), "").refused("has changed");
    }
    work.write("rows", &rows);
    assert_eq!(work.set("bloom index get rows 133333", "").quiet(), "133333\n");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let work = Workspace::new();
    work.write("rows", "a\nb\n");
    for (line, part) in [
        ("build rows --key columns 0", "count from 1"),
        ("build rows --key shape 3", "a key is one of row"),
        ("build rows --key columns 1 --delimiter '\"'", "cannot be delimited by a quote"),
        ("build rows --delimiter ab", "expected one byte"),
        ("build rows --key prefix 3 --delimiter ,", "--delimiter is for --key columns"),
        ("build rows --rate 2", "lies between 0 and 1"),
        ("build rows --block 0", "at least one byte"),
        ("build rows -o rows", "cannot be its own index"),
        ("build rows -o rows.bits", "choose a name that ends in .bix"),
        ("build rows -o rows.bloom", "choose a name that ends in .bix"),
        ("build rows -o /dev/null", "is no regular file"),
        ("build . -o x", "is no regular file"),
        ("build nothing", "cannot open nothing"),
        ("build rows --append", "cannot open rows.bix"),
        ("build rows --append --rate 0.1", "cannot be used with"),
        ("build --key prefix 3", "name the file"),
        ("get rows a", "cannot open rows.bix"),
        ("stat rows", "rows: byte 0: this is no index"),
    ] {
        work.set(&format!("bloom index {line}"), "").refused(part);
        assert_eq!(work.names(), ["rows"], "{line}");
    }
    work.set("bloom index build rows --key columns 1,2", "").quiet();
    work.set("bloom index get rows a,b,c", "").refused("has more than 2 columns");
    let index = fs::read(work.file("rows.bix")).unwrap();
    work.write("rows.bix", &index[..5000.min(index.len() - 1)]);
    let ran = work.set("bloom index get rows a", "");
    ran.refused("rows.bix: byte 192: the length of the file");
    assert!(ran.err.contains("hint: index the file again"), "{}", ran.err);
}
