//! Delimited text that is not well formed, against a simple model.

use crate::workspace::Workspace;
use bitsort::ByteSize;
use bitsort::number::Column;
use bitsort::sort::{InvalidLines, Sort, Tuning};
use std::io::Cursor;

const TOKENS: [&str; 16] =
    ["\"", "\"", ",", ",", "\n", "\n", "\r\n", "1", "23", "4", " ", "\"\"", "x", "\r", ";", "\n"];

fn text(mut seed: u64, tokens: usize) -> String {
    let next = |_| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        TOKENS[usize::try_from(seed >> 60).unwrap()]
    };
    (0..tokens).map(next).collect()
}

/// The fields of the first record of `text`, or nothing if it is broken, and its length.
fn record(text: &str) -> (Option<Vec<String>>, usize) {
    let first_line = text.find('\n').unwrap_or(text.len());
    let mut fields = Vec::new();
    let mut at = 0;
    loop {
        let mut field = String::new();
        let mut rest = text[at..].chars().peekable();
        if rest.next_if_eq(&'"').is_some() {
            at += 1;
            loop {
                let Some(char) = rest.next() else { return (None, first_line) };
                at += 1;
                if char == '"' {
                    if rest.next_if_eq(&'"').is_none() {
                        break;
                    }
                    at += 1;
                }
                field.push(char);
            }
            while rest.next_if_eq(&'\r').is_some() {
                at += 1;
            }
            if rest.peek().is_some_and(|char| !",\n".contains(*char)) {
                return (None, first_line);
            }
        } else {
            while let Some(char) = rest.next_if(|char| !",\n".contains(*char)) {
                field.push(char);
                at += 1;
            }
        }
        fields.push(field);
        if rest.next() != Some(',') {
            return (Some(fields), at);
        }
        at += 1;
    }
}

/// The value of a field; nothing if it is blank.
fn value(field: &str) -> Result<Option<u64>, ()> {
    let field = field.trim_start_matches([' ', '\t']);
    let field = field.strip_suffix('\r').unwrap_or(field).trim_end_matches([' ', '\t']);
    if field.is_empty() {
        return Ok(None);
    }
    field.parse().map(Some).map_err(drop)
}

/// Lines of the records that have values, with these, and how many are rejected.
fn model(mut text: &str, column: usize) -> (Vec<(u64, String)>, u64) {
    let (mut found, mut rejected) = (Vec::new(), 0);
    while !text.is_empty() {
        let (fields, len) = record(text);
        let line = &text[..len];
        let field = fields.as_ref().and_then(|fields| fields.get(column));
        if !line.chars().all(|char| " \t\r".contains(char)) {
            match field.map_or(Err(()), |field| value(field)) {
                Ok(Some(value)) => found.push((value, line.to_owned())),
                Ok(None) => {}
                Err(()) => rejected += 1,
            }
        }
        text = text.get(len + 1..).unwrap_or("");
    }
    (found, rejected)
}

#[test]
fn broken_records_are_read_alike_in_blocks_of_any_size() {
    let work = Workspace::new();
    for seed in 1..60 {
        let text = text(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed), 3000);
        let path = work.write("text.csv", &text);
        for column in 0..2 {
            let (found, rejected) = model(&text, column);
            let mut values: Vec<u64> = found.iter().map(|(value, _)| *value).collect();
            values.sort_unstable();
            for (block_bytes, stream) in [(512, false), (520, true), (1 << 16, true)] {
                let sort = Sort::new()
                    .memory(ByteSize::from_mib(128))
                    .threads(2)
                    .temporary_folder(work.path())
                    .tuning(Tuning { block_bytes: Some(block_bytes), ..Tuning::default() })
                    .column(Column::Number(column + 1), b',')
                    .invalid(InvalidLines::Skip);
                let sort = if stream {
                    sort.reader("stream", Cursor::new(text.clone().into_bytes()))
                } else {
                    sort.file(&path)
                };
                let mut out = Vec::new();
                let report = sort.to_writer(&mut out).unwrap();
                let out = String::from_utf8(out).unwrap();
                let out: Vec<u64> = out.lines().map(|line| line.parse().unwrap()).collect();
                assert_eq!((out, report.rejected), (values.clone(), rejected), "{seed} {column}");
            }
        }
    }
}

#[test]
fn without_quoting_a_quote_is_like_any_other_byte() {
    for seed in 1..40 {
        let text = text(0xD1B5_4A32_D192_ED03_u64.wrapping_mul(seed), 3000);
        for column in 0..2 {
            let (mut values, mut rejected) = (Vec::new(), 0);
            for line in text.split_terminator('\n') {
                let field = line.split(',').nth(column);
                let is_blank = line.chars().all(|char| " \t\r".contains(char));
                match field.map_or(Err(()), value) {
                    Ok(found) => values.extend(found),
                    Err(()) => rejected += u64::from(!is_blank),
                }
            }
            values.sort_unstable();
            for block_bytes in [512, 1 << 16] {
                let mut out = Vec::new();
                let report = Sort::new()
                    .memory(ByteSize::from_mib(128))
                    .threads(2)
                    .tuning(Tuning { block_bytes: Some(block_bytes), ..Tuning::default() })
                    .column(Column::Number(column + 1), b',')
                    .no_quoting(true)
                    .invalid(InvalidLines::Skip)
                    .reader("stream", Cursor::new(text.clone().into_bytes()))
                    .to_writer(&mut out)
                    .unwrap();
                let out = String::from_utf8(out).unwrap();
                let out: Vec<u64> = out.lines().map(|line| line.parse().unwrap()).collect();
                assert_eq!((out, report.rejected), (values.clone(), rejected), "{seed} {column}");
            }
        }
    }
}

#[test]
fn tab_separated_text_without_quoting_keeps_all_its_rows_in_every_command() {
    let work = Workspace::new();
    let text = "1\t\"hello\n2\tx\n3\ty\"\n4\tz\n";
    let column = "--column 1 --delimiter \\t";
    work.write("rows.tsv", text);
    work.write("ids", "2\n3\n");
    assert_eq!(work.run(&format!("{column} rows.tsv")).quiet(), "1\n4\n");
    assert_eq!(work.run(&format!("{column} --no-quoting rows.tsv")).quiet(), "1\n2\n3\n4\n");
    let filter = format!("filter ids rows.tsv {column} --no-quoting");
    assert_eq!(work.set(&filter, "").quiet(), "2\tx\n3\ty\"\n");
    let group = "group rows.tsv --key 2 --column 1 --delimiter \\t --no-quoting -o rows.sets";
    work.set(group, "").quiet();
    assert_eq!(work.set("keys-of rows.sets 3", "").quiet(), "y\"\n");
    work.set("bloom build -o ids.bloom ids", "").quiet();
    let filter = format!("bloom filter ids.bloom rows.tsv {column} --no-quoting");
    assert_eq!(work.set(&filter, "").quiet(), "2\tx\n3\ty\"\n");
    let long = format!("\"a\tb\"\t5\t{}\n", "a".repeat(1 << 20));
    work.write("long.tsv", &long);
    work.set("bloom build -o five.bloom", "5\n").quiet();
    let filter = "bloom filter five.bloom long.tsv --column 3 --delimiter \\t --no-quoting";
    assert_eq!(work.set(filter, "").quiet(), long);
    for line in ["rows.tsv --no-quoting", "--no-quoting"] {
        assert_eq!(work.run(line).code, Some(2), "{line}");
    }
    work.run(&format!("{column} --invalid fail rows.tsv")).quiet();
    work.run_with(&format!("{column} -"), b"6\t\"Foo\" bar\n").refused("say --no-quoting");
}

#[test]
fn rows_behind_a_broken_record_are_neither_lost_nor_left_out() {
    let work = Workspace::new();
    let text = "id,size\n1,\"5 in\n2,x\n3,6\" pipe\n4,y\n";
    work.run_with("--column id", text.as_bytes()).refused("-:2: byte 8: expected a closing quote");
    let skipped = work.run_with("--column id --invalid skip", text.as_bytes()).quiet();
    assert_eq!(skipped, "2\n3\n4\n");
    work.write("text.csv", text);
    work.set("build -o all.bits", "1\n2\n3\n4\n");
    let kept = work.set("filter --column id --skip-invalid all.bits text.csv", "").quiet();
    assert_eq!(kept, "id,size\n2,x\n3,6\" pipe\n4,y\n");
    work.set("bloom build -o all.bloom", "1\n2\n3\n4\n");
    let kept = work.set("bloom filter --column id all.bloom text.csv", "").quiet();
    assert_eq!(kept, text);
}

#[test]
fn a_record_of_one_mib_is_whole_and_a_longer_one_is_not() {
    let work = Workspace::new();
    for (bytes, expected) in
        [((1 << 20) - 1, "5\n7\n"), (1 << 20, "5\n7\n"), ((1 << 20) + 1, "7\n8\n")]
    {
        let (head, tail) = ("5,\"\n8,a\n", "\"");
        let padding = "x".repeat(bytes - head.len() - tail.len());
        work.write("rows.csv", format!("{head}{padding}{tail}\n7,y\n"));
        let ran = work.run("--column 1 --invalid skip rows.csv");
        assert_eq!((&*ran.out, ran.code), (expected, Some(0)), "{bytes}");
    }
}

/// The reader of lines makes its buffer larger for a record that is too long, and learns its end.
#[test]
fn a_record_of_more_than_one_mib_is_rejected_alike_whatever_the_memory() {
    let work = Workspace::new();
    let long = "a".repeat(50) + "\n";
    let (head, tail) = ("\"".to_owned() + &long.repeat(22_000) + "\",5\n", "\",7\n");
    let more = "x,1\n".repeat(30_000);
    work.write("rows.csv", head + tail + &more);
    work.write("open.csv", "\"open,1\n".to_owned() + &"x,7\n".repeat(400_000));
    work.write("wanted", "7\n");
    for memory in ["64M", "96M", "100M", "104M", "108M", "112M", "128M", "1G"] {
        for threads in [1, 2] {
            let filter = |file: &str| {
                let options =
                    format!("--column 2 --skip-invalid --mem {memory} --threads {threads}");
                work.set(&format!("filter wanted {file} {options}"), "").quiet()
            };
            assert_eq!(filter("rows.csv"), "\",5\n\",7\n", "{memory}, {threads}");
            assert_eq!(filter("open.csv").len(), 1_600_000, "{memory}, {threads}");
        }
    }
    work.set("bloom build -o x.bloom", "x\n").quiet();
    for memory in ["10M", "12M", "16M", "64M"] {
        let filter = format!("bloom filter x.bloom open.csv --column 1 --mem {memory}");
        assert_eq!(work.set(&filter, "").quiet().len(), 1_600_000, "{memory}");
    }
}

#[test]
fn the_header_of_a_small_file_may_have_one_mib() {
    let work = Workspace::new();
    for bytes in [30_000, 300_000, 1_000_000] {
        let header = format!("\"{}\n\",id,c\n", "a".repeat(bytes));
        let text = header + "x,5,y\n";
        work.write("h.csv", &text);
        assert_eq!(work.run("h.csv --column id").quiet(), "5\n", "{bytes}");
        assert_eq!(work.run_with("--column id", text.as_bytes()).quiet(), "5\n", "{bytes}");
    }
}
