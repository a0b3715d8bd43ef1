//! What people type who come from GNU sort, and what they are told.

use crate::workspace::Workspace;
use std::fs;
use std::process::Command;

#[test]
fn options_of_gnu_sort_are_taken_or_answered() {
    let work = Workspace::new();
    for line in [
        "-nu -S 2G",
        "-s -u",
        "--sort=numeric --unique",
        "--numeric-sort --stable -u",
        "-nn -u -n -u -s -s",
    ] {
        assert_eq!(work.run_with(line, b"10\n9\n9\n").quiet(), "9\n10\n", "{line}");
    }
    for (line, advice) in [
        ("-k2", "hint: --column N"),
        ("-nk 2,2", "hint: --column N"),
        ("--key=2", "hint: --column N"),
        ("-t,", "hint: --delimiter BYTE"),
        ("-g", "hint: numbers are naturals"),
        ("-R", "hint: bitsort cannot shuffle"),
        ("-M", "hint: lines are natural numbers"),
        ("-f", "hint: lines are natural numbers"),
        ("-b", "hint: leave it out"),
        ("--batch-size=4", "hint: leave it out"),
    ] {
        work.run_with(line, b"").refused(advice);
    }
    let unknown = work.run_with("--nonsense", b"");
    assert!(unknown.code == Some(2) && !unknown.err.contains("hint:"), "{unknown:?}");
}

#[test]
fn a_hint_says_what_helps_with_this_input() {
    let work = Workspace::new();
    for (input, hint) in [
        (&b"1,000\r\n2\r\n"[..], "hint: --invalid skip counts"),
        (b"1\r2\r", "hint: its lines end in carriage returns alone"),
        (b"10.0.0.1\r\n", "hint: --as ipv4 reads addresses"),
        (b"id\r\n1\r\n", "--header skips a first line of names"),
        (b"2001:db8::1\n", "hint: this may be an IPv6 address"),
        (b"0xFF\n", "hint: --as hex"),
        (b"3\x0040\0", "hint: if its lines end in NUL"),
        (b"PARENT_ID\n5\n", "--header skips a first line of names"),
        (b"\x01\x02\x03", "--from u32le or u64le"),
        (b"FEA1\0\0\0\0", "hint: it is a Feather file"),
        (b"PARE\x2c\0\0\0", "hint: write it without encryption"),
    ] {
        work.run_with("", input).refused(hint);
    }
    work.run_with("--column 2", b"5,10.0.0.1\n").refused("hint: --as ipv4 reads addresses");
    work.run_with("--column 1", b"1,\"a\" b\n").refused("hint: if a quote is like");
    let note = work.run_with("--column 1 --delimiter \\x20", b" 1 5\n 2 6\n");
    assert_eq!((note.code, &*note.out), (Some(0), ""));
    assert!(note.err.contains("no row has a value in this column; check"), "{}", note.err);
    assert_eq!(work.run_with("--column 2 --header", b"PAR1,id\n5,7\n").quiet(), "7\n");
    for name in ["PAR1_x", "PAR1\u{e4}", "ARROW1", "ARROW1_x"] {
        work.write("par.csv", format!("{name},id\n5,7\n"));
        assert_eq!(work.run("par.csv --column 2 --header").quiet(), "7\n", "{name}");
    }
    for name in ["FEA1", "PARE", "PAR1"] {
        let text = format!("{name} 7\n{name} 5\n");
        assert_eq!(
            work.run_with("--column 2 --delimiter \\x20", text.as_bytes()).quiet(),
            "5\n7\n"
        );
    }
    work.write("par.csv", "PAR1,id\n5,7\n");
    assert_eq!(work.run("--column id par.csv").quiet(), "7\n");
    work.set("build -o a.bits", "1\n").quiet();
    for (line, hint) in [
        ("contains a.bits 10.0.0.1", "--as ipv4 reads addresses"),
        ("rank a.bits 0x5", "--as hex"),
        ("add a.bits 10.9.0.0", "no such file; --as ipv4"),
        ("count a.bits 10.0.0.0 10.0.255.255", "no file \"10.0.0.0\"; --as ipv4"),
        ("eval a.txt&b", "files get names"),
        ("eval ../a.txt&b", "files get names"),
    ] {
        work.set(line, "").refused(hint);
    }
    for (typed, hint) in [("--distinct", "--unique"), ("--signed", "negative numbers")] {
        work.run_with(typed, b"").refused(hint);
    }
}

#[test]
fn a_folder_that_is_not_there_is_no_place_for_temporary_files() {
    let work = Workspace::new();
    work.write("ids", "2\n1\n");
    let run = |args: &[&str]| work.command(args).env("TMPDIR", "gone").output().unwrap();
    let refused = run(&["ids"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(2), "{said}");
    assert!(said.contains("cannot use the TMPDIR gone: "), "{said}");
    let spilled =
        work.command(["--strategy", "spill", "-o", "out", "ids"]).env("TMPDIR", "").output();
    assert!(spilled.unwrap().status.success(), "an empty TMPDIR is none");
    // Nobody can make a file in the folder that the command starts in.
    let ids = work.file("ids");
    let joined = Command::new(env!("CARGO_BIN_EXE_bitset"))
        .args(["and".as_ref(), ids.as_path(), &ids])
        .env("TMPDIR", "")
        .current_dir("/proc")
        .output();
    assert_eq!(joined.unwrap().stdout, b"1\n2\n", "an empty TMPDIR is none");
    for args in [["-T", ".", "ids"].as_slice(), &["--no-spill", "ids"]] {
        assert_eq!(run(args).stdout, b"1\n2\n");
    }
}

#[test]
fn the_name_of_an_output_tells_its_format() {
    let work = Workspace::new();
    work.write("ids", "2\n1\n2\n");
    for (name, kind) in [("out.bits", ".bits"), ("out.roaring", "portable roaring")] {
        work.run(&format!("ids -o {name}")).quiet();
        let ran = work.set(&format!("info {name} --json"), "");
        assert!(ran.quiet().contains(&format!("\"kind\":\"{kind}")), "{name}");
    }
    work.run("ids -o out.gz").quiet();
    work.run("--count ids -o out.bits").refused("count");
}

#[test]
fn names_of_outputs_are_kept_or_refused() {
    let work = Workspace::new();
    for name in ["x.lz4", "x.Z", "x.lzo", "x.br", "x.zip"] {
        let ran = work.run_with(&format!("-o {name}"), b"1\n");
        ran.refused("is not written, only .gz, .zst, .bz2 and .xz are");
    }
    work.set("build -o seen.lz4", "1\n").refused("is not written, only");
    work.run_with("", b"\x04\"M\x18\x64\x40\xa7").refused("lz4 packed it");
    let is_hint = |ran: &crate::workspace::Ran| ran.err.contains("--ranges reads lines of ranges");
    assert!(is_hint(&work.run_with("", b"10-20\n")));
    assert!(is_hint(&work.run_with("-uo seen", b"10-20\n")));
    for line in ["--merge", "-um", "-c", "-r", "--count", "--strategy=spill", "-u --as cidr"] {
        assert!(!is_hint(&work.run_with(line, b"10-20\n")), "{line}");
    }
    assert!(!is_hint(&work.set("contains - 10-20", "1\n")));
    work.set("build -o s.bits", "1\n").quiet();
    assert!(is_hint(&work.set("apply s.bits", "+10-20\n")));
    for line in ["apply s.bits", "filter s.bits", "filter s.bits --ranges"] {
        assert!(!is_hint(&work.set(line, "10-20\n")), "{line}");
    }
    // The set of a question may have ranges, and a line that is looked up has none.
    work.write("spans", "10-20\n");
    for line in ["contains spans 5", "filter spans", "add s.bits 10-20"] {
        assert!(is_hint(&work.set(line, "")), "{line}");
        assert_eq!(work.set(&format!("{line} --ranges"), "").err, "", "{line}");
    }
    for line in ["contains s.bits", "filter s.bits", "filter s.bits spans"] {
        work.set(line, "10-20\n").refused("hint: a line that is looked up must have one value");
    }
    work.set("build --column 2", "a,10-20\n").refused("--ranges reads ranges, FIRST-LAST, if the");
    assert!(!work.set("cat spans --as ipv4", "").err.contains("--ranges"));
    for name in ["s.bits", "spans"] {
        fs::remove_file(work.file(name)).unwrap();
    }
    assert!(work.names().is_empty());
    let folder = work.run("-o .");
    assert!(folder.err.contains("name a file inside it"), "{folder:?}");
}

#[cfg(feature = "compression")]
#[test]
fn the_name_of_a_compressed_output_may_be_in_capitals() {
    let work = Workspace::new();
    assert_eq!(work.run_with("-o X.GZ", b"2\n1\n").quiet(), "");
    assert!(std::fs::read(work.file("X.GZ")).unwrap().starts_with(&[0x1F, 0x8B]));
    assert_eq!(work.run("X.GZ").quiet(), "1\n2\n");
}

#[test]
fn a_rate_is_typed_in_percent_too() {
    let work = Workspace::new();
    work.set("bloom build -p 1% -n 100 -o percent.bloom", "1\n2\n");
    work.set("bloom build -p 0.01 -n 100 -o share.bloom", "1\n2\n");
    let read = |name| std::fs::read(work.file(name)).unwrap();
    assert_eq!(read("percent.bloom"), read("share.bloom"));
    work.set("bloom build -p x% -o x.bloom", "").refused("expected a share, such as 0.01 or 1%");
}

#[test]
fn inputs_to_merge_are_sorted_or_refused_in_any_memory() {
    let work = Workspace::new();
    let names: Vec<String> = (0..800).map(|number| format!("day{number}")).collect();
    for name in &names {
        work.write(name, "1\n2\n");
    }
    let line = format!("--mem 64M -mu {}", names.join(" "));
    assert_eq!(work.run(&line).quiet(), "1\n2\n");
    work.write("day77", "1\n2\n\n5\n4\n");
    work.run(&line).refused("day77:5: 4 follows 5: an input to merge must be sorted");
    work.run(&line.replace("day3 ", "- ")).refused("- does not fit in the memory limit");
    work.write("a", "x,1\nx,2\n");
    work.write("b", "x,3\nx,2\n");
    let line = "--mem 64M -m --column 2 a a a a a a a a b";
    work.run(line).refused("b:2: 2 follows 3: an input to merge must be sorted");
    assert_eq!(work.run(&line.replace(" b", " a")).out.lines().count(), 18);
}

#[test]
fn too_many_open_files_are_told_of_with_what_to_do() {
    let work = Workspace::new();
    let names: Vec<String> = (0..40).map(|number| format!("day{number}")).collect();
    for name in &names {
        drop(work.write(name, "1\n"));
    }
    let line = format!("ulimit -n 24; exec {} {}", env!("CARGO_BIN_EXE_bitsort"), names.join(" "));
    let ran = Command::new("sh").args(["-c", &line]).current_dir(work.path()).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.code() == Some(2) && said.contains("ulimit -n"), "{said}");
}

#[test]
fn an_output_that_is_no_file_or_the_wrong_kind_of_file_is_refused() {
    let work = Workspace::new();
    work.write("n", "5\n3\n");
    work.write("rows", "a,1\nb,2\n");
    for command in ["build n -o -", "cat n -o -", "bloom build n -n 5 -o -", "plot n -o -"] {
        work.set(command, "").refused("./- is a file of this name");
    }
    work.run("n -o -").refused("./- is a file of this name");
    work.run("n --rejects -").refused("./- is a file of this name");
    work.run("n -o n.sets").refused("this is one set");
    work.set("build n -o n.sets", "").refused("this is one set");
    for name in ["x.bits", "x.txt", "x.gz", "x.roaring"] {
        let group = format!("group rows --key 1 --column 2 -o {name}");
        work.set(&group, "").refused("a name that ends in .sets");
    }
    work.set("group rows --key 1 --column 2 -o x", "").quiet();
    let count = std::fs::read_dir(work.path()).unwrap().count();
    assert_eq!(count, 3, "n, rows and x");
    work.run("n -o ./-").quiet();
    assert_eq!(work.read("-"), "3\n5\n");
}

#[test]
fn numbers_are_described_as_numbers() {
    let work = Workspace::new();
    work.write("n", "5\n3\n");
    work.set("build n -o set", "").quiet();
    for (file, kind) in [("n", "numbers, here as .bits ("), ("set", ".bits (")] {
        let told = work.set(&format!("info {file}"), "").quiet();
        assert!(told.starts_with(&format!("kind         {kind}")), "{told}");
    }
}
