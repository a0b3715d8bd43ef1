//! Compressed inputs and outputs, beside the programs that made the formats.

use crate::workspace::Workspace;
use std::io::Write;
use std::process::{Command, Stdio};

const FORMATS: [(&str, &str); 4] =
    [("gz", "gzip"), ("zst", "zstd"), ("bz2", "bzip2"), ("xz", "xz")];

/// Passes `input` through a program; nothing where it is not installed.
fn through(program: &str, flags: &[&str], input: &[u8]) -> Option<Vec<u8>> {
    let mut command = Command::new(program);
    command.args(flags).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().ok()?;
    let mut stdin = child.stdin.take()?;
    let input = input.to_vec();
    let feeder = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().ok()?;
    feeder.join().ok()?.ok()?;
    output.status.success().then_some(output.stdout)
}

fn lines(count: u64) -> (String, String) {
    let mut values: Vec<u64> =
        (0..count).map(|index| index.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 24).collect();
    let text = |values: &[u64]| values.iter().fold(String::new(), |s, v| s + &v.to_string() + "\n");
    let unsorted = text(&values);
    values.sort_unstable();
    (unsorted, text(&values))
}

#[test]
fn what_other_programs_compressed_is_sorted() {
    let work = Workspace::new();
    let (text, sorted) = lines(30_000);
    for (suffix, program) in FORMATS {
        let Some(packed) = through(program, &["-c"], text.as_bytes()) else {
            println!("skipped: there is no {program}");
            continue;
        };
        // By content, not by name; from a file, from a pipe, twice in a row.
        work.write("ids", &packed);
        assert_eq!(work.run("ids --mem 64M").quiet(), sorted, "{suffix}");
        assert_eq!(work.run_with("", &packed).quiet(), sorted, "{suffix}, from a pipe");
        assert_eq!(work.run("-m ids --invalid skip").code, Some(2), "{suffix} is not sorted");
        let twice = [&packed[..], &packed].concat();
        assert_eq!(work.run_with("-u", &twice).quiet(), sorted, "{suffix}, twice");
        assert_eq!(work.set("build ids -o s.bits", "").quiet(), "");
        assert_eq!(work.set("filter s.bits ids", "").quiet(), text, "{suffix}");
        assert_eq!(work.set("count ids", "").quiet(), format!("{}\n", sorted.lines().count()));
        // What is cut off is an error, and no output appears.
        work.write("cut", &packed[..packed.len() / 2]);
        work.run("cut -o out").refused("cannot read cut");
        assert!(!work.names().contains(&"out".to_owned()));
    }
}

#[test]
fn a_file_is_compressed_as_its_name_ends() {
    let work = Workspace::new();
    let (text, sorted) = lines(30_000);
    work.write("ids", &text);
    for (suffix, program) in FORMATS {
        assert_eq!(work.run(&format!("ids --mem 64M -o out.{suffix}")).quiet(), "");
        let packed = std::fs::read(work.file(&format!("out.{suffix}"))).unwrap();
        assert!(packed.len() < sorted.len() / 2, "{suffix}: {} bytes", packed.len());
        if let Some(unpacked) = through(program, &["-dc"], &packed) {
            assert!(unpacked == sorted.as_bytes(), "{suffix}");
        }
        assert_eq!(work.run(&format!("-c out.{suffix}")).quiet(), "");
        let line = format!("or ids out.{suffix} -o both.txt.{suffix}");
        assert_eq!(work.set(&line, "").quiet(), "");
        assert_eq!(work.run(&format!("both.txt.{suffix}")).quiet(), sorted);
    }
    work.set("build ids --to bits -o ids.bits.gz", "").refused("cannot be compressed");
    // The name behind a link counts.
    for name in ["t.bits", "t.bloom", "t.bix", "bad", "lines"] {
        std::os::unix::fs::symlink("behind.gz", work.file(name)).unwrap();
    }
    work.set("build ids -o t.bits", "").refused("cannot be compressed");
    work.set("bloom build ids -o t.bloom", "").refused("cannot be compressed");
    work.set("bloom index build ids -o t.bix", "").refused("cannot be compressed");
    work.run("ids --rejects bad -o out").refused("cannot be compressed");
    assert!(!work.file("behind.gz").exists());
    work.run("ids -o lines").quiet();
    assert!(std::fs::read(work.file("behind.gz")).unwrap().starts_with(&[0x1F, 0x8B]));
}

#[test]
fn binary_values_that_begin_as_a_compressed_file_are_values() {
    let work = Workspace::new();
    // The first value looks like the beginning of a zstd file.
    let values: Vec<u8> =
        [0xFD2F_B528_u32, 7].iter().flat_map(|value| value.to_le_bytes()).collect();
    work.write("values", &values);
    assert_eq!(work.run("--from u32le values").quiet(), "7\n4247762216\n");
    assert_eq!(work.run("--from u32le --to u32le -o out.gz values").quiet(), "");
    assert_eq!(work.run("--from u32le out.gz").quiet(), "7\n4247762216\n");
    // With the name of a compressed file its first bytes are enough, at every look at them.
    let mut packed = std::fs::read(work.file("out.gz")).unwrap();
    packed[8] = 1; // a level that nobody defined
    work.write("odd.gz", &packed);
    assert_eq!(work.run("--from u32le odd.gz").quiet(), "7\n4247762216\n");
    assert_eq!(work.set("cat --from u32le odd.gz", "").quiet(), "7\n4247762216\n");
}

#[test]
fn what_was_compressed_twice_is_no_malformed_line() {
    let work = Workspace::new();
    for (suffix, _) in FORMATS {
        work.run_with(&format!("-o once.{suffix}"), b"1\n2\n").quiet();
        std::fs::rename(work.file(&format!("once.{suffix}")), work.file("once")).unwrap();
        let once = std::fs::read(work.file("once")).unwrap();
        let Some(twice) = through("gzip", &["-c"], &once) else { return };
        work.write("twice", &twice);
        for line in ["twice", "--invalid skip twice", "-c twice"] {
            work.run(line).refused("it is compressed twice");
        }
        work.run_with("--invalid skip", &twice).refused("it is compressed twice");
        work.set("bloom dedup --exact twice", "").refused("it is compressed twice");
    }
}

#[test]
fn a_merge_counts_the_memory_of_decoders_as_they_take_it() {
    let work = Workspace::new();
    let sorted = (1..=1000).fold(String::new(), |text, value| text + &format!("{value}\n"));
    let filters = ["-c", "--x86", "--lzma2=dict=64KiB"];
    if let Some(packed) = through("xz", &filters, sorted.as_bytes()) {
        work.write("f.xz", packed);
        assert_eq!(work.run_with("-m -u --mem 64M - f.xz f.xz", b"5\n").quiet(), sorted);
    }
    if let Some(packed) = through("zstd", &["-c"], sorted.as_bytes()) {
        let skipped = [0x50, 0x2A, 0x4D, 0x18, 4, 0, 0, 0, 1, 2, 3, 4];
        work.write("p.zst", [&skipped[..], &packed].concat());
        assert_eq!(work.run_with("-m -u --mem 64M - p.zst p.zst", b"5\n").quiet(), sorted);
    }
}

#[test]
fn binary_numbers_are_unpacked_whatever_the_name_of_their_file() {
    let work = Workspace::new();
    let values: Vec<u8> = (1000_u32..1064).rev().flat_map(u32::to_le_bytes).collect();
    let sorted = (1000..1064).fold(String::new(), |text, value| text + &format!("{value}\n"));
    for (suffix, program) in FORMATS {
        let Some(packed) = through(program, &["-c"], &values) else {
            println!("skipped: there is no {program}");
            continue;
        };
        work.write("values", &packed);
        assert_eq!(work.run("--from u32le values").quiet(), sorted, "{suffix}");
        assert_eq!(work.run_with("--from u32le", &packed).quiet(), sorted, "{suffix}, from a pipe");
        assert_eq!(work.set("count --from u32le values", "").quiet(), "64\n", "{suffix}");
        // Numbers that begin with the same bytes are numbers.
        let alike = [&packed[..4], &[0xFF; 12], &values].concat();
        work.write("alike", &alike);
        for found in [work.run_with("--from u32le", &alike), work.run("--from u32le alike")] {
            assert_eq!(found.quiet().lines().count(), 4 + 64, "{suffix}");
        }
    }
}

#[test]
fn a_window_that_fits_in_the_memory_is_unpacked() {
    let work = Workspace::new();
    let Some(packed) = through("zstd", &["--long=28", "-c"], b"3\n1\n") else {
        println!("skipped: there is no zstd");
        return;
    };
    assert_eq!(work.run_with("--mem 4G", &packed).quiet(), "1\n3\n");
    work.run_with("--mem 512M", &packed).refused("raise --mem");
}

#[test]
fn what_needs_more_memory_to_unpack_is_refused() {
    let work = Workspace::new();
    let (text, sorted) = lines(30_000);
    // A window of 128 MiB.
    let Some(packed) = through(
        "zstd",
        &["-c", "--ultra", "-22", "--long=27", "--no-content-size"],
        text.as_bytes(),
    ) else {
        return;
    };
    work.write("ids", &packed);
    let ran = work.run("ids --mem 64M");
    if ran.code == Some(0) {
        // The program chose a window as small as the text.
        assert_eq!(ran.out, sorted);
    } else {
        ran.refused("raise --mem");
    }
    assert_eq!(work.run("ids --mem 2G").quiet(), sorted);
}

/// Plain files take nothing of the memory for decoders, which a later stream of a file may need.
#[test]
fn a_merge_unpacks_what_a_sort_unpacks() {
    let work = Workspace::new();
    let (_, sorted) = lines(2_000);
    let packed = |level: &str| through("xz", &[level, "-c"], sorted.as_bytes());
    let (Some(fast), Some(usual)) = (packed("-0"), packed("-6")) else {
        println!("skipped: there is no xz");
        return;
    };
    // Streams with dictionaries of 256 KiB and of 8 MiB.
    work.write("ids", [&through("xz", &["-0", "-c"], b"0\n").unwrap()[..], &usual].concat());
    work.write("plain", &sorted);
    assert_eq!(work.run("ids plain plain plain -u --mem 64M").quiet(), sorted);
    assert_eq!(work.run("ids plain plain plain -u -m --mem 64M").quiet(), sorted);
    // Two such files have half of it each, which the first stream of one does not tell.
    work.write("more", [&fast[..], &usual].concat());
    work.run("more ids -u -m --mem 64M").refused("leave out --merge");
}

#[test]
fn what_stands_around_compressed_data_is_passed_over_or_named() {
    let work = Workspace::new();
    let (text, sorted) = lines(3_000);
    if let Some(packed) = through("gzip", &["-c"], text.as_bytes()) {
        // Tapes fill their last block.
        for zeros in [1, 512, 100_000] {
            let padded = [&packed[..], &vec![0; zeros]].concat();
            assert_eq!(work.run_with("", &padded).quiet(), sorted);
            let twice = [&padded[..], &packed].concat();
            assert_eq!(work.run_with("-u", &twice).quiet(), sorted);
        }
        let behind = [&packed[..], b"junk"].concat();
        work.run_with("-o out", &behind).refused("is not compressed with gzip");
        assert_eq!(work.names(), Vec::<String>::new());
    }
    if let Some(packed) = through("zstd", &["-c"], text.as_bytes()) {
        // A frame for others, with which pzstd begins: RFC 8878, 3.1.2.
        let skipped = [0x50, 0x2A, 0x4D, 0x18, 4, 0, 0, 0, 1, 2, 3, 4];
        let whole = [&skipped[..], &packed, &skipped].concat();
        assert_eq!(work.run_with("", &whole).quiet(), sorted);
        work.write("ids", &whole);
        assert_eq!(work.run("ids").quiet(), sorted);
        let behind = [&packed[..], b"junk"].concat();
        work.run_with("-o out", &behind).refused("the file is damaged");
        assert_eq!(work.names(), ["ids"]);
    }
}

#[test]
fn damage_of_a_compressed_output_is_found() {
    let work = Workspace::new();
    let (text, sorted) = lines(3_000);
    for name in ["out.gz", "out.zst", "out.bz2", "out.xz"] {
        assert_eq!(work.run_with(&format!("-o {name}"), text.as_bytes()).quiet(), "");
        let whole = std::fs::read(work.file(name)).unwrap();
        assert_eq!(work.run(name).quiet(), sorted, "{name}");
        for at in (20..whole.len() - 8).step_by(whole.len() / 40) {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << (at % 8);
            work.write(name, damaged);
            let ran = work.run(name);
            assert!(ran.code == Some(2) || ran.out == sorted, "{name}: byte {at}");
        }
    }
}

#[test]
fn a_limit_beyond_the_machine_s_memory_is_that_of_the_machine() {
    let work = Workspace::new();
    let (text, sorted) = lines(3_000);
    for name in ["out.gz", "out.zst", "out.bz2", "out.xz"] {
        let ran = work.run_with(&format!("--mem 1000T -o {name}"), text.as_bytes());
        assert_eq!(ran.quiet(), "", "{name}");
        assert_eq!(work.run(name).quiet(), sorted, "{name}");
    }
}

/// The most memory that a command had resident, in KiB, as the kernel counts it, and
/// whether it ended well.
#[cfg(target_os = "linux")]
fn peak_kib(work: &Workspace, arguments: &[String]) -> (u64, bool) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bitsort"));
    let mut child = command.args(arguments).current_dir(work.file("")).spawn().unwrap();
    let status_file = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        let status = std::fs::read_to_string(&status_file).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        peak = peak.max(kib.unwrap_or(0)); // the figure only grows
        if let Some(status) = child.try_wait().unwrap() {
            return (peak, status.success());
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn decoders_of_many_inputs_stay_within_the_limit() {
    let work = Workspace::new();
    let (_, sorted) = lines(5000);
    for (suffix, program) in FORMATS {
        // `xz -9` is refused: its dictionary alone takes 64 MiB.
        let level = if suffix == "zst" { "-19" } else { "-6" };
        let Some(packed) = through(program, &[level, "-c"], sorted.as_bytes()) else {
            println!("skipped: there is no {program}");
            continue;
        };
        let names: Vec<String> = (0..120).map(|index| format!("{index}.{suffix}")).collect();
        for name in &names {
            work.write(name, &packed);
        }
        for (merge, threads) in [(false, "2"), (false, "16"), (true, "2")] {
            let mut arguments: Vec<String> =
                ["--mem", "64M", "--threads", threads, "--quiet", "-o", "out"]
                    .map(String::from)
                    .into();
            arguments.extend(merge.then(|| "--merge".to_owned()));
            arguments.extend(names.clone());
            let (peak, ended_well) = peak_kib(&work, &arguments);
            assert!(ended_well, "{suffix}, merge: {merge}");
            assert!(0 < peak && peak <= 64 << 10, "{suffix}, merge: {merge}: {peak} KiB");
            assert_eq!(work.read("out").lines().count(), 120 * sorted.lines().count());
        }
    }
}

#[test]
fn stats_state_the_limit_that_was_asked_for() {
    let work = Workspace::new();
    let Some(packed) = through("gzip", &["-c"], b"1\n3\n") else { return };
    work.write("a.gz", &packed);
    for flags in ["", " --merge", " -o out.gz", " a.gz --merge"] {
        let ran = work.run(&format!("a.gz --mem 64M --stats=json{flags}"));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.err.contains("\"memory_limit_bytes\":67108864"), "{flags}: {}", ran.err);
    }
}

#[test]
fn commands_for_lines_unpack_within_their_limit() {
    let work = Workspace::new();
    // A window of 128 MiB, the largest that zstd unpacks without being asked to.
    let Some(packed) = through("zstd", &["--long=27", "-c"], b"b\na\nb\n") else {
        println!("skipped: there is no zstd");
        return;
    };
    work.write("keys", &packed);
    for (line, answer) in [
        ("bloom dedup --exact keys", "b\na\n"),
        ("bloom common keys keys", "b\na\n"),
        ("bloom dedup keys", "b\na\n"),
    ] {
        assert_eq!(work.set(&format!("{line} --mem 1G"), "").quiet(), answer, "{line}");
        work.set(&format!("{line} --mem 64M"), "").refused("cannot read keys: ");
    }
}

#[test]
fn changes_and_keys_may_be_compressed() {
    let work = Workspace::new();
    work.set("build - -o s.bits", "1\n2\n3\n").quiet();
    let changes = "\u{feff}-2\n\n+70000\n+5";
    let packed = through("gzip", &["-c"], changes.as_bytes());
    let keys = through("gzip", &["-c"], b"b\r\nc\n");
    let Some((packed, keys)) = packed.zip(keys) else {
        println!("skipped: there is no gzip");
        return;
    };
    work.write("changes", packed);
    work.set("apply s.bits changes", "").quiet();
    let values = "1\n3\n5\n70000\n";
    assert_eq!(work.set("cat s.bits", "").quiet(), values);
    work.write("changes", "-5\n+7\n 8\n");
    let wrong = "changes:3: byte 7: expected +VALUE or -VALUE: \" 8\"";
    work.set("apply s.bits changes", "").refused(wrong);
    assert_eq!(work.set("cat s.bits", "").quiet(), values, "nothing has changed");

    work.write("log", "a 1\nb 2\nc 3\n");
    work.set("bloom index build log --key prefix 1", "").quiet();
    assert_eq!(work.set_with("bloom index get log", &keys).quiet(), "b 2\nc 3\n");
}
