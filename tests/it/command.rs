//! `bitsort` as its users meet it.

use crate::workspace::Workspace;
use std::io::Read;
use std::process::{Command, Stdio};

#[test]
fn standard_input_is_sorted_to_standard_output() {
    let work = Workspace::new();
    assert_eq!(work.run_with("", b"40\n35\n7\n35").quiet(), "7\n35\n35\n40\n");
    assert_eq!(work.run_with("-", b"2\n1\n").quiet(), "1\n2\n");
    assert_eq!(work.run_with("", b"").quiet(), "");
    assert_eq!(work.run_with("", b"\n\n \n").quiet(), "");
}

#[test]
fn the_grammar_of_lines_is_kept() {
    let work = Workspace::new();
    let text = b"\xEF\xBB\xBF 007\t\r\n\n18446744073709551615\r\n  \n0000000000000000000000003";
    assert_eq!(work.run_with("", text).quiet(), "3\n7\n18446744073709551615\n");
    assert_eq!(work.run_with("-z", b"3\x001\x002").quiet(), "1\x002\x003\x00");
}

#[test]
fn malformed_lines_are_named_with_their_place() {
    let work = Workspace::new();
    work.write("ids", "1\n2\n12abc\n");
    let ran = work.run("ids -o out");
    ran.refused(
        "ids:3: byte 6: expected the end of the line after the number: \"12abc\"\nhint: --invalid",
    );
    assert_eq!(work.names(), ["ids"]);
    for (line, message) in [
        ("+5", "-:1: byte 0: expected a digit: \"+5\""),
        ("-3", "expected a digit"),
        ("1e3", "-:1: byte 1: expected the end"),
        ("1,000", "byte 1:"),
        ("0x1F", "byte 1:"),
        ("18446744073709551616", "byte 19: expected a number below 2^64"),
        ("\u{0}", "expected a digit: \"\\x00\""),
        ("12 \u{e9}t\u{e9}", "byte 3: expected the end of the line after the number: \"12 \\xc3"),
    ] {
        work.run_with("", line.as_bytes()).refused(message);
    }
}

#[test]
fn malformed_lines_are_counted_or_collected_on_request() {
    let work = Workspace::new();
    let text = b"5\nx\n\n3\n1 2\n4\n";
    let ran = work.run_with("--invalid skip --stats=json", text);
    assert_eq!((ran.code, &*ran.out), (Some(0), "3\n4\n5\n"));
    for part in ["\"lines\":6", "\"written\":3", "\"rejected\":2", "\"blank\":1"] {
        assert!(ran.err.contains(part), "{part} in {}", ran.err);
    }
    work.write("ids", text);
    assert_eq!(work.run("--rejects bad ids").quiet(), "3\n4\n5\n");
    let expected = "ids\t2\t2\texpected a digit\tx\n\
                    ids\t5\t9\texpected the end of the line after the number\t1 2\n";
    assert_eq!(work.read("bad"), expected);
}

#[test]
fn selections_do_what_they_say() {
    let work = Workspace::new();
    work.write("ids", "3\n1\n3\n2\n1\n3\n");
    for (flags, expected) in [
        ("", "1\n1\n2\n3\n3\n3\n"),
        ("-r", "3\n3\n3\n2\n1\n1\n"),
        ("-u", "1\n2\n3\n"),
        ("--unique --reverse", "3\n2\n1\n"),
        ("--count", "      2 1\n      1 2\n      3 3\n"),
        ("--repeated", "1\n3\n"),
        ("--repeated --count -r", "      3 3\n      2 1\n"),
    ] {
        assert_eq!(work.run(&format!("{flags} ids")).quiet(), expected, "{flags}");
        assert_eq!(work.run(&format!("-m {flags} ids")).code, Some(2), "unsorted: {flags}");
    }
}

#[test]
fn the_output_may_be_an_input() {
    let work = Workspace::new();
    work.write("ids", "3\n1\n2\n");
    assert_eq!(work.run("ids -o ids").quiet(), "");
    assert_eq!(work.read("ids"), "1\n2\n3\n");
    assert_eq!(work.names(), ["ids"]);
}

#[test]
fn a_check_says_no_with_exit_1() {
    let work = Workspace::new();
    work.write("good", "1\n2\n2\n\n3\n");
    work.write("bad", "1\n\n3\n2\n");
    assert_eq!(work.run("--check good").quiet(), "");
    let ran = work.run("-c bad");
    assert_eq!((ran.code, &*ran.out), (Some(1), ""));
    assert_eq!(ran.err, "bitsort: bad:4: disorder: 2 follows 3\n");
    let ran = work.run("-C bad");
    assert_eq!((ran.code, &*ran.err), (Some(1), ""));
    assert_eq!(work.run("-c -u good").err, "bitsort: good:3: disorder: 2 follows 2\n");
    assert_eq!(work.run("-c -r bad").code, Some(1));
    assert_eq!(work.run_with("-c -r", b"3\n2\n2\n1\n").quiet(), "");
    work.run("-c good bad").refused("exactly one input");
    work.run_with("-c", b"1\nx\n").refused("-:2: byte 2:");
    // The first fault counts, wherever the blocks begin.
    let ran = work.run_with("-c", b"5\n3\nx\n");
    assert_eq!((ran.code, &*ran.err), (Some(1), "bitsort: -:2: disorder: 3 follows 5\n"));
    work.run_with("-c", b"3\nx\n5\n4\n").refused("-:2: byte 2:");
}

#[test]
fn a_merge_names_values_as_the_input_writes_them() {
    let work = Workspace::new();
    work.write("hosts", "10.0.0.9\n10.0.0.5\n");
    work.run("-m hosts --as ipv4").refused("hosts:2: 10.0.0.5 follows 10.0.0.9");
    work.write("hex", "ff\n9a\n");
    work.run("-m hex hex --as hex").refused("hex:2: 9a follows ff");
}

#[test]
fn a_merge_takes_sorted_inputs_only() {
    let work = Workspace::new();
    work.write("a", "1\n4\n9\n");
    work.write("b", "2\n4\n");
    work.write("c", "5\n\n3\n");
    assert_eq!(work.run("-m a b").quiet(), "1\n2\n4\n4\n9\n");
    assert_eq!(work.run("-m -u a b").quiet(), "1\n2\n4\n9\n");
    assert_eq!(work.run("-m --count a b -o out").quiet(), "");
    assert_eq!(work.read("out"), "      1 1\n      1 2\n      2 4\n      1 9\n");
    work.run("-m a c -o out2").refused("c:3: 3 follows 5");
    assert_eq!(work.names(), ["a", "b", "c", "out"]);
}

#[test]
fn names_of_inputs_come_from_a_list() {
    let work = Workspace::new();
    work.write("a b", "2\n");
    work.write("c", "1\n");
    work.write("list", "a b\0c\0");
    assert_eq!(work.run("--files0-from list").quiet(), "1\n2\n");
    assert_eq!(work.run_with("--files0-from -", b"a b\0c").quiet(), "1\n2\n");
    work.run_with("--files0-from -", b"").refused("names no file");
    work.run_with("--files0-from -", b"c\0\0a b").refused("empty name");
    work.run("--files0-from list c").refused("cannot be used with");
    // Neither an endless list nor one of lines is read to its end.
    work.run("-S 64M --files0-from /dev/zero").refused("name 1 is an empty name");
    work.write("lines", "a b\nc\n");
    work.run("--files0-from lines").refused("lines: name 1 is no name of a file");
    work.write("long", "7".repeat(1 << 20));
    let ran = work.run("--files0-from long");
    ran.refused("find -print0");
    assert!(ran.err.len() < 300, "{ran:?}");
    work.write("many", "c\0".repeat(200_000));
    work.run("-S 64M --files0-from many").refused("names fit in the memory limit");
}

#[test]
fn binary_formats_go_in_and_out() {
    let work = Workspace::new();
    work.write("ids", [3, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0]);
    assert_eq!(work.run("--from u32le ids").quiet(), "1\n3\n256\n");
    assert_eq!(work.run("--from u32be ids").quiet(), "65536\n16777216\n50331648\n");
    assert_eq!(work.run("--from u32le --to u64be ids -o out").quiet(), "");
    assert_eq!(work.run("--from u64be out").quiet(), "1\n3\n256\n");
    work.write("cut", [1, 0, 0, 0, 9, 9]);
    work.run("--from u32le cut").refused("cut: byte 4: the last 2 bytes are less than one u32le");
    work.run_with("--from u32le", &[7, 7, 7]).refused("-: byte 0: the last 3 bytes");
    work.run_with("--to u32le", b"4294967296\n").refused("4294967296 does not fit in u32le");
}

#[test]
fn one_column_of_delimited_text_is_sorted() {
    let work = Workspace::new();
    let csv = "name,id\n\"Smith, J\",30\n\"two\nlines\",\"7\"\nx,\ny,12\r\n";
    work.write("users.csv", csv);
    assert_eq!(work.run("--column id users.csv").quiet(), "7\n12\n30\n");
    assert_eq!(work.run("--column 2 --header users.csv").quiet(), "7\n12\n30\n");
    assert_eq!(work.run_with("--column id", csv.as_bytes()).quiet(), "7\n12\n30\n");
    work.run("--column 2 users.csv").refused("users.csv:1: byte 5: expected a digit: \"name,id\"");
    work.run("--column 3 --header users.csv").refused("users.csv:2: byte 8: the line has no such");
    work.run("--column key users.csv").refused("users.csv:1: no column is named \"key\"");
    work.run("--column 0 users.csv").refused("columns are numbered from 1");
    work.write("one", "1\n");
    assert_eq!(work.set("bloom build one -o one.bloom", "").code, Some(0));
    for command in ["filter one", "bloom filter one.bloom"] {
        let refused = |options: &str, part: &str| {
            work.set(&format!("{command} --column {options} users.csv"), "").refused(part);
        };
        refused("0", "columns are numbered from 1");
        refused("1 --delimiter \\x0a", "this byte cannot be a delimiter");
    }
    work.write("tabs", "1\t20\n2\t10\n");
    assert_eq!(work.run("--column 2 --delimiter \\t tabs").quiet(), "10\n20\n");
    work.run("--delimiter ; tabs").refused("--column");
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let work = Workspace::new();
    work.run("missing -o out").refused("bitsort: cannot open missing: No such file");
    work.run(". -o out").refused("bitsort: cannot read .: is a directory\nhint: name the files");
    work.write("ids", "1\n");
    work.run("ids missing -o out").refused("cannot open missing");
    work.run("ids -o missing/out").refused("cannot create missing/out: No such file");
    work.run("ids -o .").refused("cannot write .: is a directory");
    work.run("ids -T missing").refused("cannot use missing: No such file");
    work.run("ids --rejects out -o out").refused("cannot go to out: it is the output");
    work.run("ids --rejects out --to bits -o out").refused("cannot go to out: it is the output");
    work.run("ids --rejects out --ranges -u -o out").refused("it is the output");
    work.run("ids --rejects ./ids -o out").refused("cannot go to ./ids: it is an input");
    assert_eq!(work.names(), ["ids"]);
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let work = Workspace::new();
    let ids: String = (0..300_000).map(|i| i.to_string() + "\n").collect();
    work.write("ids", ids);
    let mut command = work.command(["ids"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 4];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((&first, output.status.code()), (b"0\n1\n", Some(0)));
    assert!(output.stderr.is_empty());
}

#[test]
fn rows_with_rejects_are_sorted_by_as_many_threads_as_the_memory_has_room_for() {
    let work = Workspace::new();
    let rows = (0..20_000).fold(String::from("a,x\n"), |rows, row| rows + &format!("a,{row}\n"));
    let sorted = (0..20_000).fold(String::new(), |text, row| text + &format!("{row}\n"));
    work.write("rows", rows);
    for threads in [2, 8, 256] {
        let ran = work.run(&format!("--column 2 --mem 64M --threads {threads} --rejects out rows"));
        assert!(ran.code == Some(0) && ran.out == sorted, "{threads}: {}", ran.err);
        assert_eq!(work.read("out").lines().count(), 1);
    }
}

#[test]
fn of_a_small_file_every_line_is_in_the_sample() {
    let work = Workspace::new();
    let text = (100_000..120_000).fold(String::new(), |text, value| text + &format!("{value}\n"));
    work.write("small", text + "999999999999\n");
    let told = work.run("--explain small").quiet();
    assert!(told.contains("about 20001 values") && told.contains(" to 999999999999 "), "{told}");
}

#[test]
fn a_plan_is_explained_and_not_carried_out() {
    let work = Workspace::new();
    work.write("ids", "3\n1\n2\n");
    let text = work.run("--explain ids -o out --mem 64M").quiet();
    for part in ["strategy   in-memory", "64.0 MiB limit", "multi-pass  possible", "spill "] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert_eq!(work.names(), ["ids"]);
    let text = work.run("--explain --strategy spill -T . ids").quiet();
    assert!(text.contains("strategy   spill") && text.contains(" in ."), "{text}");
    // Sorted blocks of one size: a sample at their distance would only meet their smallest numbers.
    let block = |block: u64| (0..32_768_u64).map(move |i| (i * 131_072 + block).to_le_bytes());
    work.write("blocks", (0..64).flat_map(block).flatten().collect::<Vec<u8>>());
    let plan = work.run("--explain --from u64le blocks").quiet();
    assert!(plan.contains("0 to 4294967295 "), "{plan}");
    work.run("--explain --no-spill --strategy spill ids")
        .refused("temporary files are not allowed");
}

/// Bytes of a size as the program prints it.
fn printed_bytes(size: &str, unit: &str) -> f64 {
    let power = ["B", "KiB", "MiB", "GiB"].iter().position(|known| *known == unit).unwrap();
    size.parse::<f64>().unwrap() * 1024_f64.powi(i32::try_from(power).unwrap())
}

#[test]
fn the_shares_that_a_plan_prints_add_up_to_the_limit() {
    let work = Workspace::new();
    work.write("ids", "3\n1\n2\n");
    let packed = cfg!(feature = "compression");
    if packed {
        work.run("ids -o ids.gz").quiet();
    }
    for (line, needs_packing, shown) in [
        ("ids", false, None),
        ("--to bits ids -o out", false, Some("writing the set")),
        ("--to bits ids", false, Some("writing the set")),
        ("ids.gz", true, Some("unpacking inputs")),
        ("ids -o out.zst", true, Some("packing the output")),
        ("ids.gz -o out.gz", true, Some("packing the output")),
        ("--to parquet ids", false, Some("encoding a table")),
        ("--to arrow ids -o out", false, Some("encoding a table")),
    ] {
        if needs_packing && !packed {
            continue;
        }
        for limit in [64, 300] {
            let text = work.run(&format!("--explain --mem {limit}M {line}")).quiet();
            let rows = text.lines().skip_while(|line| !line.starts_with("memory"));
            let rows: Vec<_> = rows.skip(1).take_while(|line| line.starts_with(' ')).collect();
            let sum: f64 = rows
                .iter()
                .map(|row| {
                    let mut words = row.split_whitespace();
                    printed_bytes(words.next().unwrap(), words.next().unwrap())
                })
                .sum();
            // Each of up to eight sizes is rounded to a tenth of its unit.
            let off = (sum / f64::from(1 << 20) - f64::from(limit)).abs();
            assert!(off < 0.4, "{line}: {text}");
            assert!(shown.is_none_or(|shown| text.contains(shown)), "{line}: {text}");
            assert_eq!(rows.len() > 5, shown.is_some(), "{line}: {text}");
        }
    }
    assert_eq!(work.names().len(), if packed { 2 } else { 1 });
}

#[test]
fn a_table_is_not_compressed_as_a_whole() {
    let work = Workspace::new();
    work.write("ids", "1\n");
    work.run("--to parquet ids -o x.gz")
        .refused("x.gz: a table is read from any place, so it cannot be compressed");
    work.run("--to bits ids -o x.gz")
        .refused("x.gz: a set file is read in place, so it cannot be compressed");
    assert_eq!(work.names(), ["ids"]);
}

#[test]
fn every_strategy_and_resource_option_sorts_alike() {
    let work = Workspace::new();
    let ids: Vec<u64> = (0..50_000).map(|i| i * 7919 % 65_536).collect();
    let text: String = ids.iter().map(|id| id.to_string() + "\n").collect();
    work.write("ids", text);
    let expected = work.run("ids").quiet();
    for flags in [
        "--strategy dense",
        "--strategy in-memory",
        "--strategy spill",
        "--strategy multi-pass",
        "--mem 64M",
        "-S 10%",
        "--buffer-size 100m",
        "--threads 1",
        "--parallel 3",
        "--no-spill",
        "-T . -T .",
        "-q",
        "--progress never",
    ] {
        assert_eq!(work.run(&format!("{flags} ids")).quiet(), expected, "{flags}");
    }
    let ran = work.run("--progress always ids");
    assert_eq!((ran.code, ran.out), (Some(0), expected));
    assert_eq!(work.names(), ["ids"]);
}

#[test]
fn limits_that_cannot_be_kept_are_refused() {
    let work = Workspace::new();
    for (flags, message) in [
        ("--mem 63M", "too small"),
        ("--mem 2X", "expected a size"),
        ("--mem 0%", "expected a size"),
        ("--mem 200%", "or a share of the memory from 1% to 100%"),
        ("--threads 0", "at least 1 thread"),
        ("--threads x", "invalid"),
        ("--from u16le", "possible values: text"),
        ("--from hex", "possible values: text"),
        ("--to u64le --count", "text only"),
        ("--column 1 --from u32le", "not for binary"),
        ("--strategy quick", "possible values"),
        ("--no-such-flag", "unexpected argument"),
    ] {
        work.run(flags).refused(message);
    }
}

#[test]
fn help_and_version_are_printed() {
    let work = Workspace::new();
    let help = work.run("--help").quiet();
    assert!(help.contains("Usage: bitsort [OPTIONS] [FILE]...") && help.contains("Examples:"));
    assert!(work.run("--version").quiet().starts_with("bitsort "));
}

#[test]
fn the_order_is_that_of_gnu_sort() {
    let work = Workspace::new();
    let ids: String =
        (0..20_000_u64).map(|i| (i * i * 7919 % 100_003).to_string() + "\n").collect();
    let path = work.write("ids", ids);
    for (flags, pipeline) in [
        ("", "sort -n"),
        ("-u", "sort -nu"),
        ("-r", "sort -nr"),
        ("--count", "sort -n | uniq -c"),
        ("--repeated", "sort -n | uniq -d"),
    ] {
        let line = pipeline.replacen("sort", &format!("LC_ALL=C sort {}", path.display()), 1);
        let theirs = Command::new("sh").arg("-c").arg(line).output().unwrap();
        let theirs = String::from_utf8(theirs.stdout).unwrap();
        assert!(work.run(&format!("{flags} ids")).quiet() == theirs, "{flags}");
    }
}

#[test]
fn the_program_tells_of_itself() {
    let work = Workspace::new();
    let version = work.run("--version").quiet();
    assert!(version.starts_with("bitsort 0."), "{version}");
    assert!(version.contains("\nfeatures: cli") && version.contains("\nSIMD: "), "{version}");
    for (what, part) in [
        ("man", ".TH"),
        ("bash", "complete -F"),
        ("zsh", "#compdef bitsort"),
        ("fish", "complete -c"),
    ] {
        let text = work.run(&format!("--generate {what}")).quiet();
        assert!(text.contains(part) && text.contains("unique"), "{what}");
        let text = work.set(&format!("generate {what}"), "").quiet();
        assert!(text.contains("least") && text.contains("apply"), "{what}");
    }
    assert_eq!(work.run("--generate man ids").code, Some(2));
}

/// What a build without tables says of them.
#[cfg(not(feature = "columnar"))]
#[test]
fn tables_are_refused_by_a_build_without_them() {
    let work = Workspace::new();
    work.write("users", b"PAR1\x15\x04\n");
    let hint = "users is in Parquet format, and this build has no feature columnar to read it";
    work.run("users -o out").refused(hint);
    work.set("build users -o out", "").refused(hint);
    work.write("stream", b"\xFF\xFF\xFF\xFF\x70\0\0\0\n");
    work.run("stream").refused("stream is in Arrow format");
    work.write("ids", "1\n");
    for line in ["ids -o out.parquet", "ids -o out.arrow", "ids --to parquet -o out"] {
        work.run(line).refused("no feature columnar");
    }
    work.set("or ids -o out.feather", "").refused("no feature columnar");
    assert_eq!(work.names(), ["ids", "stream", "users"]);
}

#[test]
fn files_without_lines_are_not_left_out_as_malformed() {
    let work = Workspace::new();
    work.write("ids", "3\n40\n");
    work.set("build ids -o ids.bits", "").quiet();
    work.set("bloom build ids -o ids.bloom", "").quiet();
    work.set("bloom index build ids", "").quiet();
    let whole = std::fs::read(work.file("ids.bits")).unwrap();
    work.write("cut.bits", &whole[..whole.len() - 4]);
    work.write("out", "before");
    for file in ["ids.bits", "cut.bits", "ids.bloom", "ids.bix"] {
        work.run(&format!("--invalid skip {file} -o out")).refused("left out as malformed");
        work.set(&format!("build --skip-invalid {file} -o out"), "").refused("malformed");
    }
    assert_eq!(work.read("out"), "before");
    // Through a pipe, and compressed, too.
    let piped = work.run_with("--invalid skip -o out", &whole);
    piped.refused("left out as malformed");
    work.set_with("build -o out", &whole).refused("bitset cat prints the values of a set");
    work.set_with("build --skip-invalid -o out", &whole).refused("left out as malformed");
    work.set_with("filter ids - -v --skip-invalid", &whole).refused("has no lines");
    assert_eq!(work.read("out"), "before");
    // The list of the inputs is no place for rejected lines.
    work.write("list", "ids\0");
    work.run("--files0-from list --rejects list").refused("it is the list of inputs");
    assert_eq!(work.read("list"), "ids\0");
}

#[test]
fn a_disorder_in_a_line_longer_than_a_block_has_its_number() {
    let work = Workspace::new();
    let numbers = "7\n".repeat(1000);
    work.write("ids", format!("{numbers}{}5\n2000\n", "0".repeat(400_000)));
    let ran = work.run("--check ids");
    assert!(ran.err.contains("ids:1001: "), "{ran:?}");
}

#[test]
fn surveys_of_many_files_and_of_the_largest_numbers() {
    let work = Workspace::new();
    work.write("a", "18446744073709551597\n18446744073709551615\n");
    let info = work.set("info a --json", "").quiet();
    let info: serde_json::Value = serde_json::from_str(&info).unwrap();
    let bars = info["histogram"].as_array().unwrap();
    let counts: Vec<u64> = bars.iter().map(|count| count.as_u64().unwrap()).collect();
    assert_eq!((counts[0], counts.iter().sum::<u64>()), (1, 2), "{info}");
    let whole = work.set("info - --json", "0\n18446744073709551615\n").quiet();
    assert!(whole.contains("[1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1]"), "{whole}");
    work.set("build a -o a.bits", "").quiet();
    work.set("build -o b.bits", "3\n4\n5\n").quiet();
    let ran = work.set("verify a.bits b.bits --stats=json", "");
    assert!(ran.err.contains(r#""values":5"#), "{ran:?}");
}

#[test]
fn options_and_names_that_do_not_fit_a_set_are_refused() {
    let work = Workspace::new();
    work.set("build --parts 2 -o folder", "3\n400000\n").quiet();
    work.write("rows", "k,1\nk,2\n");
    work.set("group rows --key 1 --column 2 -o g.sets", "").quiet();
    for set in ["folder", "g.sets:k"] {
        work.set(&format!("convert {set} --base 65536"), "").refused("a base is for raw bitmaps");
        work.set(&format!("convert {set} --width 4"), "").refused("states of ClickHouse");
    }
    work.set("group rows --key 1 --column 2 -o g.bloom", "").refused("ends in .sets");
    work.set("bloom index build rows", "").quiet();
    let told = work.set("identify rows.bix", "").quiet();
    assert!(told.contains("an index of bloom index"), "{told}");
}
