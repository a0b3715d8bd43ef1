//! Corners of the command line: files under two names, streams that wait,
//! records across blocks, limits of the system.

use crate::workspace::{Ran, Workspace};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

#[test]
fn a_record_is_read_from_its_column_or_not_at_all() {
    let work = Workspace::new();
    // Longer than what is looked at together: malformed, not its first digits.
    let long = format!("1,2\n{}\n5,6\n", "0".repeat(1_100_000) + "5");
    work.run_with("--column 2", long.as_bytes())
        .refused("-:2: byte 4: expected a record of at most 1 MiB");
    assert_eq!(work.run_with("--column 2 --invalid skip", long.as_bytes()).quiet(), "2\n6\n");
    // A quote that is never closed costs its own line, in small files as in large ones.
    for behind in ["", &"7\n".repeat(800_000)] {
        let text = format!("1\n\"b\n2\n3\n{behind}");
        let found = work.run_with("-u --column 1 --invalid skip", text.as_bytes()).quiet();
        assert_eq!(found, if behind.is_empty() { "1\n2\n3\n" } else { "1\n2\n3\n7\n" });
    }
    // Lines are counted as an editor does, inside of quotes too.
    let text = b"\"a\nb\",1\n\"c\nd\",2\ne,x\n";
    work.run_with("--column 2", text).refused("-:5: byte 18: expected a digit");
    let text = b"\"i\nd\",v\n\"a\nb\",3\nc,1\n";
    let ran = work.run_with("-c --column v", text);
    assert_eq!((ran.code, ran.err.contains("-:5: disorder: 1 follows 3")), (Some(1), true));
    // Long records are taken by every mode.
    let text = format!("\"{}\",1\nx,2\n", "q".repeat(300_000));
    work.write("long.csv", &text);
    assert_eq!(work.run("--column 2 long.csv").quiet(), "1\n2\n");
    assert_eq!(work.run("-c --column 2 long.csv").quiet(), "");
    assert_eq!(work.run("-m --column 2 long.csv long.csv").quiet(), "1\n1\n2\n2\n");
    assert_eq!(work.run_with("--column id", b"").quiet(), "");
}

#[test]
fn a_record_that_is_too_long_has_no_value_wherever_lines_are_counted() {
    let work = Workspace::new();
    let long = "a".repeat(1_100_000);
    work.write("a.csv", format!("1,9\n{long},5\n1,3\n"));
    work.write("b.csv", "1,4\n");
    let merge = "--merge --column 2 --invalid skip a.csv b.csv";
    work.run(merge).refused("a.csv:3: 3 follows 9");
    let ran = work.run("--check --column 2 --invalid skip a.csv");
    assert_eq!((ran.code, ran.err.contains("a.csv:3: disorder: 3 follows 9")), (Some(1), true));
}

#[test]
fn headers_and_marks_are_skipped_however_long_they_are() {
    let work = Workspace::new();
    let long_header = "x".repeat(600_000) + "\n5\n3\n";
    work.write("long", &long_header);
    assert_eq!(work.run("--mem 64M --header long").quiet(), "3\n5\n");
    assert_eq!(work.run_with("--mem 64M --header", long_header.as_bytes()).quiet(), "3\n5\n");
    let ran = work.run_with("-c --header", b"99\n1\n2\n1\n");
    assert_eq!((ran.code, ran.err.contains("-:4: disorder: 1 follows 2")), (Some(1), true));
    let long_line = format!("\u{feff}{}5\n", "0".repeat(2_000_000));
    let wrong_line = format!("\u{feff}{}x\n", "0".repeat(2_000_000));
    for text in [&long_line, &wrong_line] {
        work.write("marked", text);
        for ran in [work.run("marked"), work.run_with("", text.as_bytes())] {
            if text.ends_with("5\n") {
                assert_eq!(ran.quiet(), "5\n");
            } else {
                ran.refused("byte 2000003: expected the end of the line");
            }
        }
    }
    work.write("mark", "\u{feff}");
    for ran in [work.run("--stats=json mark"), work.run_with("--stats=json", "\u{feff}".as_bytes())]
    {
        assert!(ran.err.contains("\"blank\":0") && ran.err.contains("\"lines\":0"), "{}", ran.err);
    }
}

#[test]
fn inputs_are_read_once_and_may_be_empty() {
    let work = Workspace::new();
    work.write("ids", "2\n1\n");
    work.write("empty", "");
    let mut command = work.command(["-", "-", "ids"]);
    command.stdin(fs::File::open(work.file("ids")).unwrap());
    let output = command.output().unwrap();
    assert_eq!(output.stdout, b"1\n1\n2\n2\n");
    let ran = work.run("--no-spill --strategy multi-pass empty ids");
    assert_eq!(ran.quiet(), "1\n2\n");
    // Files of /proc have a length of 0 and are not empty.
    assert_eq!(work.run("/proc/sys/kernel/pid_max --stats=json").out.lines().count(), 1);
}

#[test]
fn rejected_lines_never_cost_another_file() {
    let work = Workspace::new();
    work.write("ids", "3\nx\n1\n");
    std::os::unix::fs::symlink("out", work.file("link")).unwrap();
    for rejects in ["out", "./out", "link"] {
        work.run(&format!("ids -o out --rejects {rejects}")).refused("it is the output");
    }
    for rejects in ["ids", "./ids"] {
        work.run(&format!("ids -o out --rejects {rejects}")).refused("it is an input");
    }
    assert_eq!(work.names(), ["ids", "link"]);
    // They appear after the output, or not at all.
    work.write("bad", "old");
    work.write("wide", "x\n5000000000\n");
    work.run("wide --rejects bad --to u32le -o out").refused("does not fit in u32le");
    assert_eq!(work.read("bad"), "old");
    // A second reading does not write them twice.
    let text = (0..1_500_000_u64).fold("x\n".repeat(10), |text, index| {
        text + &(index.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1 << 63).to_string() + "\n"
    });
    work.write("many", text);
    let ran = work.run(
        "many -o out --rejects /dev/stderr --no-spill --strategy in-memory --mem 64M --threads 8",
    );
    assert_eq!((ran.code, ran.err.lines().count()), (Some(0), 10), "{}", ran.err);
}

#[test]
fn the_streams_of_the_shell_are_not_replaced() {
    let work = Workspace::new();
    work.write("ids", "2\nx\n1\n");
    let script = format!(
        "exec > log 2> errors; echo before; echo before >&2; \
         {0} ids -o /dev/stdout --rejects /dev/stderr; echo after; echo after >&2",
        env!("CARGO_BIN_EXE_bitsort")
    );
    let status = Command::new("sh").args(["-c", &script]).current_dir(work.path()).status();
    assert!(status.unwrap().success());
    assert_eq!(work.read("log"), "before\n1\n2\nafter\n");
    assert_eq!(work.read("errors"), "before\nids\t2\t2\texpected a digit\tx\nafter\n");
    // Under other names, too.
    std::os::unix::fs::symlink("/dev/stdout", work.file("own")).unwrap();
    work.write("ids", "2\n1\n");
    for name in ["own", "//dev/./stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        work.write("log", "before\n");
        let script = format!("{} ids -o {name} >> log", env!("CARGO_BIN_EXE_bitsort"));
        let status = Command::new("sh").args(["-c", &script]).current_dir(work.path()).status();
        assert!(status.unwrap().success(), "{name}");
        assert_eq!(work.read("log"), "before\n1\n2\n", "{name}");
    }
    // Those of any number, at whatever position they are.
    let script = "echo before >&3; $0 ids -o /dev/fd/3; echo after >&3";
    let with_log = |script: &str| {
        let line = format!("{script} 3> log");
        let words = ["-c", &format!("{{ {line}; }}"), env!("CARGO_BIN_EXE_bitsort")];
        let mut shell = Command::new("sh");
        Ran::from(shell.args(words).current_dir(work.path()).output().unwrap())
    };
    with_log(&format!("{{ {script}; }}")).quiet();
    assert_eq!(work.read("log"), "before\n1\n2\nafter\n");
    with_log("$0 ids -o /dev/fd/0 < ids").refused("Bad file descriptor");
    // The program has files of its own, under numbers that nobody gave it.
    for number in 4..20 {
        with_log(&format!("$0 ids -o /dev/fd/{number}")).refused("cannot open /dev/fd/");
    }
}

#[test]
fn names_that_no_file_can_have_are_refused_before_the_input_is_read() {
    let work = Workspace::new();
    work.write("ids", "x\n");
    std::os::unix::fs::symlink("missing/", work.file("link")).unwrap();
    let long = "n".repeat(300);
    for name in ["missing/", "ids/", "link", &*long] {
        work.run(&format!("ids -o {name}")).refused("cannot ");
        let ran = work.run(&format!("ids -o {name}"));
        assert!(!ran.err.contains("expected a digit"), "{name}: {}", ran.err);
    }
}

#[test]
fn a_link_stays_a_link_and_a_file_keeps_its_owner() {
    let work = Workspace::new();
    work.write("ids", "2\n1\n");
    std::os::unix::fs::symlink("target", work.file("link")).unwrap();
    work.run("ids -o link").quiet();
    assert!(fs::symlink_metadata(work.file("link")).unwrap().is_symlink());
    assert_eq!(work.read("target"), "1\n2\n");
    if rustix::process::geteuid().is_root() {
        use std::os::unix::fs::{MetadataExt, chown};
        chown(work.file("target"), Some(65534), Some(65534)).unwrap();
        fs::set_permissions(work.file("target"), fs::Permissions::from_mode(0o640)).unwrap();
        work.run("ids -o target").quiet();
        let found = fs::metadata(work.file("target")).unwrap();
        assert_eq!((found.uid(), found.gid(), found.mode() & 0o7777), (65534, 65534, 0o640));
    }
}

#[test]
fn limits_of_the_system_are_errors_and_not_ends() {
    let work = Workspace::new();
    work.write("ids", "2\n1\n");
    assert_eq!(work.run("--mem 100T ids").quiet(), "1\n2\n");
    work.run("--threads 1000 ids").refused("at most 256 threads");
    assert_eq!(work.run("--threads 200 -S 64M ids").quiet(), work.run("ids").quiet());
    let mut command = work.command(["ids"]);
    let output = command.env("TMPDIR", "/nonexistent").output().unwrap();
    assert_eq!(output.status.code(), Some(2), "as with -T, before anything is read");
    assert!(String::from_utf8_lossy(&output.stderr).contains("TMPDIR /nonexistent"));
    let output = command.arg("--no-spill").output().unwrap();
    assert_eq!(output.stdout, b"1\n2\n", "no temporary file is wanted");
    // The largest file that a process may write is an error, not a signal.
    let numbers: String = (0..40_000).map(|value: u32| value.to_string() + "\n").collect();
    work.write("many", numbers);
    let script = format!("ulimit -f 10; {} many -o out", env!("CARGO_BIN_EXE_bitsort"));
    let output = Command::new("sh").args(["-c", &script]).current_dir(work.path()).output();
    let output = output.unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("cannot write") && message.contains("File too large"), "{message}");
    assert_eq!(work.names(), ["ids", "many"]);
}

#[test]
fn the_next_program_reads_no_input_twice() {
    let work = Workspace::new();
    work.write("ids", "1\n2\n");
    for options in ["", "-c", "-m", "--strategy multi-pass"] {
        let script = format!("(read -r _; {} {options}; cat) < ids", env!("CARGO_BIN_EXE_bitsort"));
        let output = Command::new("sh").args(["-c", &script]).current_dir(work.path()).output();
        let output = output.unwrap();
        let expected = if options == "-c" { "" } else { "2\n" };
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{options} {output:?}");
    }
    // What only looks leaves all to the next one.
    let script = format!("({0} --explain > plan; {0}) < ids", env!("CARGO_BIN_EXE_bitsort"));
    let output = Command::new("sh").args(["-c", &script]).current_dir(work.path()).output();
    assert_eq!(String::from_utf8_lossy(&output.unwrap().stdout), "1\n2\n");
}

#[test]
fn options_that_would_be_ignored_are_refused() {
    let work = Workspace::new();
    work.write("ids", "1\n2\n");
    for line in [
        "-c --count ids",
        "-c --to u32le ids",
        "-c --explain ids",
        "--explain --stats ids",
        "-C --strategy spill ids",
        "-m --strategy spill ids",
        "-m --no-spill ids",
        "-m --explain ids",
        "--no-spill -T . ids",
        "--invalid fail --rejects bad ids",
        "--from u32le --invalid skip ids",
        "--from u32le --rejects bad ids",
    ] {
        let ran = work.run(line);
        assert_eq!((ran.code, &*ran.out), (Some(2), ""), "{line}: {}", ran.err);
    }
    assert_eq!(work.names(), ["ids"]);
}

#[test]
fn a_check_tells_what_it_took() {
    let work = Workspace::new();
    work.write("ids", "1\n2\n");
    let ran = work.run("-c --stats=json ids");
    let told: serde_json::Value = serde_json::from_str(&ran.err).unwrap();
    assert_eq!(
        (ran.code, &told["read_bytes"], &told["disorders"]),
        (Some(0), &4.into(), &0.into())
    );
    let ran = work.run("-C -r --stats=json ids");
    let told: serde_json::Value = serde_json::from_str(&ran.err).unwrap();
    assert_eq!((ran.code, &told["disorders"]), (Some(1), &1.into()));
}

/// Runs a line of the shell, in which `$P` is a program.
fn shell(work: &Workspace, program: &str, line: &str) -> (Option<i32>, String, String) {
    let mut command = Command::new("sh");
    command.args(["-c", line]).env("P", program).current_dir(work.path());
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn streams_that_are_closed_are_no_empty_files() {
    let work = Workspace::new();
    work.write("ids", "2\n1\n");
    work.write("keep", "5\n");
    let (bitsort, bitset) = (env!("CARGO_BIN_EXE_bitsort"), env!("CARGO_BIN_EXE_bitset"));
    for (program, line) in [
        (bitsort, "$P -o keep <&-"),
        (bitsort, "$P --files0-from=- -o keep <&-"),
        (bitset, "$P build -o keep <&-"),
        (bitset, "$P filter ids <&-"),
        (bitset, "$P bloom dedup -o keep <&-"),
    ] {
        let (code, _, said) = shell(&work, program, line);
        assert_eq!(code, Some(2), "{line}: {said}");
        assert!(said.contains("cannot open -: Bad file descriptor"), "{line}: {said}");
    }
    for (program, line) in [
        (bitsort, "$P ids >&-"),
        (bitsort, "$P -o /dev/stdout ids >&-"),
        (bitsort, "$P -o /dev/fd/0 ids <&-"),
        (bitset, "$P bloom build -o /dev/fd/0 ids <&-"),
        (bitsort, "$P --explain ids >&-"),
        (bitsort, "$P --version >&-"),
        (bitset, "$P count ids >&-"),
        (bitset, "$P cat ids >&-"),
        (bitset, "$P or ids keep >&-"),
        (bitset, "$P build ids --to text >&-"),
        (bitset, "$P bloom dedup ids >&-"),
        (bitset, "$P bloom plan -n 10 >&-"),
    ] {
        let (code, _, said) = shell(&work, program, line);
        assert_eq!(code, Some(2), "{line}: {said}");
        assert!(said.contains("Bad file descriptor"), "{line}: {said}");
    }
    // No message can tell, so the status must.
    for line in ["$P ids -o /dev/stderr 2>&-", "printf 'x\n1\n' | $P --rejects /dev/stderr 2>&-"] {
        assert_eq!(shell(&work, bitsort, line).0, Some(2), "{line}");
    }
    assert_eq!(
        shell(&work, bitsort, "$P ids -o out <&- >&-"),
        (Some(0), String::new(), String::new())
    );
    assert_eq!((work.read("keep"), work.read("out")), ("5\n".to_owned(), "1\n2\n".to_owned()));
}

#[test]
fn rejected_lines_do_not_replace_standard_output() {
    let work = Workspace::new();
    let bitsort = env!("CARGO_BIN_EXE_bitsort");
    let (code, _, said) = shell(&work, bitsort, "echo 1 | $P --rejects out > out");
    assert_eq!(code, Some(2));
    assert!(said.contains("rejected lines cannot go to out: it is the output"), "{said}");
    let (code, out, said) =
        shell(&work, bitsort, "printf '1\nx\n' | $P --rejects /dev/stdout | cat");
    assert_eq!((code, &*said), (Some(0), ""));
    assert!(out.starts_with("1\n-\t2\t"), "{out}");
}

#[test]
fn of_rejected_lines_and_output_both_appear_or_none() {
    let work = Workspace::new();
    let text = "3\nx\n1\n";
    for kind in ["", "--count", "--strategy spill", "--to parquet", "--to bits", "--to roaring"] {
        if kind.ends_with("parquet") && cfg!(not(feature = "columnar")) {
            continue;
        }
        work.write("ids", text);
        // The input is replaced: its line x would be nowhere.
        work.run(&format!("{kind} --rejects /dev/full ids -o ids"))
            .refused("cannot write /dev/full: No space left");
        assert_eq!(work.read("ids"), text, "{kind}");
        work.write("bad", "old");
        work.run(&format!("{kind} --rejects bad ids -o /dev/full"))
            .refused("cannot write /dev/full: No space left");
        assert_eq!(work.read("bad"), "old", "{kind}");
        assert_eq!(work.run(&format!("{kind} --rejects bad ids -o ids")).quiet(), "");
        assert!(work.read("bad").starts_with("ids\t2\t"), "{kind}");
        assert_eq!(work.names(), ["bad", "ids"]);
    }
}

#[test]
fn a_command_that_prints_while_it_reads_does_not_print_into_its_input() {
    let work = Workspace::new();
    let program = env!("CARGO_BIN_EXE_bitset");
    let text = "1\n2\n2\n";
    work.write("ids", text);
    assert_eq!(work.set("build ids -o set.bits", "").quiet(), "");
    assert_eq!(work.set("bloom build ids -o keys.bloom", "").quiet(), "");
    for line in [
        "filter set.bits ids >> ids",
        "filter set.bits < ids >> ids",
        "contains set.bits < ids >> ids",
        "bloom filter keys.bloom ids >> ids",
        "bloom contains keys.bloom < ids >> ids",
        "bloom dedup ids >> ids",
        "bloom dedup --exact - < ids >> ids",
        "bloom filter keys.bloom ids -o /dev/stdout >> ids",
        "filter set.bits - -o /dev/fd/1 < ids >> ids",
        "filter set.bits ids -o /dev/fd/7 7>> ids",
        "bloom common ids keys.bloom >> ids",
    ] {
        let (code, _, said) = shell(&work, program, &format!("$P {line}"));
        assert_eq!(code, Some(2), "{line}: {said}");
        assert!(said.contains(": the input is also the output"), "{line}: {said}");
        assert_eq!(work.read("ids"), text, "{line}");
    }
    assert_eq!(work.set("build ids -o map.png --to bits", "").quiet(), "");
    for line in [
        "bloom build ids -o ids",
        "bloom build keys.bloom ids -o ./ids",
        "group --key 1 --column 1 keys.bloom ids -o ids",
        "plot map.png -o map.png",
    ] {
        work.set(line, "").refused("is an input, and cannot be made of the output again");
    }
    let (code, _, said) = shell(&work, program, "$P bloom build -o ids < ids");
    assert!(code == Some(2) && said.contains("is an input, and cannot be made"), "{said}");
    for input in ["", "-", "/dev/stdin"] {
        let line = format!("$P {input} --rejects ids < ids");
        let (code, _, said) = shell(&work, env!("CARGO_BIN_EXE_bitsort"), &line);
        assert!(code == Some(2) && said.contains("it is an input"), "{input}: {said}");
    }
    assert_eq!(work.read("ids"), text);
    // Other files, and the file itself if it appears at the end.
    let (code, _, said) = shell(&work, program, "$P filter set.bits ids ids >> out");
    assert_eq!((code, &*said, work.read("out")), (Some(0), "", text.repeat(2)));
    assert_eq!(work.set("bloom dedup --exact ids -o ids", "").quiet(), "");
    assert_eq!(work.read("ids"), "1\n2\n");
}

#[test]
fn memory_that_may_not_be_reserved_is_not_asked_for() {
    let work = Workspace::new();
    work.write("ids", "2\n1\n");
    let line = "ulimit -v 2000000; $P ids";
    let ran = shell(&work, env!("CARGO_BIN_EXE_bitsort"), line);
    assert_eq!(ran, (Some(0), "1\n2\n".to_owned(), String::new()));
}

#[test]
fn a_column_is_named_once() {
    let work = Workspace::new();
    work.write("ids", "id,name,id\n1,x,2\n");
    work.run("--column id ids").refused("ids:1: 2 columns are named \"id\"");
    work.run("--column nosuch ids").refused("ids:1: no column is named \"nosuch\"");
    assert_eq!(work.run("--column name ids --invalid skip").quiet(), "");
    work.run("ids -o nosuch/out").refused("cannot create nosuch/out: No such file or directory");
}

#[test]
#[cfg(target_os = "linux")]
fn a_small_address_space_is_an_error_and_no_end() {
    let work = Workspace::new();
    let ids: Vec<String> = (0..200_000_u64).map(|i| (i * 7919 % 100_003).to_string()).collect();
    work.write("ids", ids.join("\n"));
    // Linux kills a program that has no room for itself.
    let program = std::fs::metadata(env!("CARGO_BIN_EXE_bitsort")).unwrap().len() / 1024;
    for kib in (20_000.max(program + 8000)..160_000).step_by(4000) {
        let line = "ulimit -v $V; exec $P ids --mem 64M --threads 2 -o out";
        let mut command = std::process::Command::new("bash");
        command.args(["-c", line]).current_dir(work.path()).env("V", kib.to_string());
        let ran = command.env("P", env!("CARGO_BIN_EXE_bitsort")).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        // The loader says 127 where there is no room for the program itself.
        let ended = ran.status.code();
        assert!(matches!(ended, Some(0 | 2 | 127)), "{kib} KiB: {:?} {said}", ran.status);
        assert!(ended == Some(0) || !said.is_empty(), "{kib} KiB");
    }
}

/// Runs a command whose output nobody reads to the end.
fn unread(work: &Workspace, arguments: &str) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bitset"));
    command.args(arguments.split(' ')).current_dir(work.path());
    command.stdin(std::fs::File::open(work.file("ask")).unwrap());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_reader_that_goes_away_makes_no_yes_of_a_no() {
    let work = Workspace::new();
    let every = |step: usize, first: usize| -> String {
        let lines: Vec<String> =
            (first..400_000).step_by(step).map(|id| format!("{id}\n")).collect();
        lines.concat()
    };
    work.write("ask", every(1, 0));
    work.set("build -o odd.bits", &every(2, 1)).quiet();
    work.set("build -o even.bits", &every(2, 0)).quiet();
    work.set("bloom build -o few.bloom", &every(100, 0)).quiet();
    for line in [
        "contains even.bits",
        "contains even.bits 1",
        "contains even.bits 1 2",
        "diff odd.bits even.bits",
        "bloom contains few.bloom",
        "bloom contains few.bloom 1",
        "bloom contains few.bloom 100 1",
    ] {
        assert_eq!(unread(&work, line), (Some(1), String::new()), "{line}");
    }
}

#[test]
fn rejected_lines_that_nobody_reads_are_an_error() {
    let work = Workspace::new();
    let lines: Vec<String> = (0..60_000).map(|id| format!("bad{id}\n{id}\n")).collect();
    work.write("ids", lines.concat());
    let made = Command::new("mkfifo").arg(work.file("pipe")).status();
    assert!(made.unwrap().success());
    let line = "head -c 1 pipe > none & $P ids --rejects pipe -o out";
    let (code, _, said) = shell(&work, env!("CARGO_BIN_EXE_bitsort"), line);
    assert!(code == Some(2) && said.contains("nobody reads it any more"), "{code:?} {said}");
    assert!(!work.file("out").exists());
}
