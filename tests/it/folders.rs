//! Sets in parts, on the command line.

use crate::workspace::Workspace;
use std::fs;
use std::process::Command;

fn workspace() -> Workspace {
    let work = Workspace::new();
    let lines = |step: u64| (0..3000).map(|i| (i * step).to_string() + "\n").collect::<String>();
    work.write("a.txt", lines(70_000));
    work.write("b.txt", lines(105_000));
    assert_eq!(work.set("build a.txt --parts 4 -o a", "").quiet(), "");
    assert_eq!(work.set("build b.txt -o b.bits", "").quiet(), "");
    assert_eq!(fs::read_dir(work.file("a")).unwrap().count(), 4 + 1);
    work
}

#[test]
fn a_private_folder_stays_private_when_it_is_replaced() {
    use std::os::unix::fs::PermissionsExt;
    let work = workspace();
    let mode = |name: &str| fs::metadata(work.file(name)).unwrap().permissions().mode() & 0o777;
    let set = |name: String, mode| {
        fs::set_permissions(work.file(&name), fs::Permissions::from_mode(mode)).unwrap();
    };
    let names = || {
        let entries = fs::read_dir(work.file("a")).unwrap();
        entries
            .map(|entry| format!("a/{}", entry.unwrap().file_name().display()))
            .collect::<Vec<_>>()
    };
    for name in names() {
        set(name, 0o640);
    }
    set("a".into(), 0o710);
    assert_eq!(work.set("build b.txt --parts 9 -o a", "").quiet(), "");
    assert_eq!(work.set("or a", "").out, work.set("or b.bits", "").out);
    assert_eq!((mode("a"), names().len()), (0o710, 9 + 1));
    assert!(names().iter().all(|name| mode(name) == 0o640));
    fs::create_dir(work.file("empty")).unwrap();
    set("empty".into(), 0o700);
    assert_eq!(work.set("build b.txt --parts 2 -o empty", "").quiet(), "");
    assert_eq!(mode("empty"), 0o700);
}

#[test]
fn every_command_takes_a_folder_for_the_set_that_it_is() {
    let work = workspace();
    assert_eq!(work.set("build a.txt -o a.bits", "").quiet(), "");
    for line in [
        "contains A 70000",
        "contains A 70001",
        "min A",
        "max A",
        "count A",
        "count A 5 7000000",
        "rank A 1000000",
        "select A 17",
        "range A 100000 900000",
        "and A b.bits",
        "or b.bits A",
        "xor A b.bits --count",
        "andnot A b.bits",
        "andnot b.bits A",
        "at-least 2 A b.bits A",
        "compare A b.bits",
        "diff A b.bits",
        "cat A",
        "gaps A --min-length 70000",
        "sample A 10",
        "eval x-y x=A y=b.bits",
        "filter A b.txt",
    ] {
        let folder = work.set(&line.replace('A', "a"), "");
        let file = work.set(&line.replace('A', "a.bits"), "");
        assert_eq!((&folder.out, folder.code), (&file.out, file.code), "{line}: {}", folder.err);
        assert!(!file.out.is_empty() || line.starts_with("gaps"), "{line}");
    }
    assert_eq!(work.set("verify a", "").out, "a: 3000 values, whole\n");
    assert_eq!(work.set("identify a", "").out, "a: a set in a folder of .bits files\n");
    let told = work.set("info a", "").out;
    assert!(told.contains("folder of .bits files (parts)"), "{told}");
    // Joined again, byte for byte, by each command that can.
    for line in ["or a", "convert a", "cat a"] {
        assert_eq!(work.set(&format!("{line} -o one.bits"), "").quiet(), "");
        assert_eq!(
            fs::read(work.file("one.bits")).unwrap(),
            fs::read(work.file("a.bits")).unwrap()
        );
    }
    assert_eq!(work.set("or a b.bits --parts 2 -o a", "").quiet(), "");
    assert_eq!(work.set("or a --count", "").out, work.set("or a.bits b.txt --count", "").out);
}

#[test]
fn a_folder_that_is_no_whole_set_is_refused() {
    let work = workspace();
    let refused = |line: &str, told: &str| {
        let ran = work.set(line, "");
        assert_eq!((&*ran.out, ran.code), ("", Some(2)), "{line}");
        assert!(ran.err.contains(told), "{line}: {}", ran.err);
    };
    refused("add a 5", "a: a set in parts is not changed in place");
    refused("or a --to text --parts 2 -o c", "cannot be used with");
    refused("or a --parts 0 -o c", "invalid value '0'");
    for how in ["-o c.bits", "--to text", "-o c --parts 2"] {
        for command in ["cat a", "or a a", "at-least 1 a", "eval x x=a"] {
            refused(&format!("{command} --count {how}"), "cannot be used with");
        }
    }
    fs::create_dir(work.file("c")).unwrap();
    work.write("c/letter", "mine");
    refused("or a --parts 2 -o c", "c: it has letter, which is no part of a set");
    refused("count c", "c: no _manifest.json");
    refused("or a -o a", "is a directory");
    refused("filter a a", "cannot read a: is a directory\nhint: it is a set already");
    // No part is replaced alone, under whatever name.
    std::os::unix::fs::symlink("a/part-00000.bits", work.file("part")).unwrap();
    for part in ["a/part-00000.bits", "part"] {
        refused(&format!("add {part} 5"), "parts");
        refused(&format!("or a -o {part}"), "parts");
    }
    fs::remove_file(work.file("part")).unwrap();
    // Names of a set in parts are not enough.
    fs::create_dir_all(work.file("d/_manifest.json")).unwrap();
    work.write("d/_manifest.json/mine", "mine");
    refused("or a --parts 2 -o d", "d: it has _manifest.json, which is no part of a set");
    fs::create_dir(work.file("e")).unwrap();
    work.write("e/_manifest.json", r#"{"name": "my app"}"#);
    refused("or a --parts 2 -o e", "e: it has _manifest.json, which is no part of a set");
    assert_eq!(work.set("or a --parts 2 -o f", "").quiet(), "");
    fs::create_dir(work.file("f/part-00099.bits")).unwrap();
    work.write("f/part-00099.bits/mine", "mine");
    refused("or a --parts 2 -o f", "f: it has part-00099.bits, which is no part of a set");
    assert_eq!(work.read("f/part-00099.bits/mine"), "mine");
    fs::create_dir(work.file("h")).unwrap();
    assert!(Command::new("mkfifo").arg(work.file("h/_manifest.json")).status().unwrap().success());
    refused("or a --parts 2 -o h", "h: it has _manifest.json, which is no part of a set");
    // A part is no set of its own.
    refused("add a/part-00000.bits 5", "a: a set in parts is not changed in place");
    refused("or a b.bits -o a/part-00001.bits", "a: a set in parts is not changed in place");
    refused("or a b.bits -o a/_manifest.json", "a: a set in parts is not changed in place");
    fs::create_dir(work.file("g")).unwrap();
    let inside = Command::new(env!("CARGO_BIN_EXE_bitset"))
        .args(["or", "../b.bits", "--parts", "2", "-o", "."])
        .current_dir(work.file("g"))
        .output()
        .unwrap();
    let said = String::from_utf8(inside.stderr).unwrap();
    assert!(said.contains("the folder in which this program runs"), "{said}");
    fs::remove_file(work.file("a/part-00002.bits")).unwrap();
    refused("count a", "a: part-00002.bits is missing");
    refused("verify a", "a: part-00002.bits is missing");
    fs::remove_file(work.file("a/_manifest.json")).unwrap();
    refused("verify a", "a: no _manifest.json");
    refused("or b.bits --parts 2 -o a", "a: no _manifest.json");
}

#[test]
fn a_link_to_a_folder_that_is_not_there_yet_stays_a_link() {
    let work = workspace();
    std::os::unix::fs::symlink("real", work.file("link")).unwrap();
    for _ in 0..2 {
        assert_eq!(work.set("or a --parts 2 -o link/", "").quiet(), "");
        assert!(fs::symlink_metadata(work.file("link")).unwrap().is_symlink());
        assert_eq!(work.set("compare a real", "").out, work.set("compare a a", "").out);
    }
}

#[test]
fn a_set_has_no_more_parts_than_containers() {
    let work = Workspace::new();
    for (values, parts) in [("", 0), ("7\n", 1), ("1\n2\n65536\n18446744073709551615\n", 3)] {
        let most = usize::MAX;
        assert_eq!(work.set(&format!("build --parts {most} -o ids"), values).quiet(), "");
        assert_eq!(fs::read_dir(work.file("ids")).unwrap().count(), parts + 1, "{values}");
        assert_eq!(work.set("cat ids", "").quiet(), values);
    }
}

/// The example of docs/format.md.
#[test]
fn the_manifest_is_what_the_document_says() {
    let work = Workspace::new();
    let values = "3\n40\n1099511627776\n1099511627777\n";
    assert_eq!(work.set("build --parts 2 -o ids", values).quiet(), "");
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/format.md");
    let document = fs::read_to_string(document).unwrap();
    let (_, example) = document.split_once("```json\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    assert_eq!(fs::read_to_string(work.file("ids/_manifest.json")).unwrap(), example);
}
