//! Columns of delimited text: as the `csv` crate finds them where the text is
//! well formed, and as a reader byte by byte does where it is not.
#![no_main]

use arbitrary::Arbitrary;
use bitsort::number::Column;
use bitsort::sort::{InvalidLines, Sort, Tuning};
use bitsort::{ByteSize, Error};
use bitsort_fuzz::{Meaning, MemoryFile, folder, meaning};
use libfuzzer_sys::fuzz_target;
use std::io::Cursor;

#[derive(Debug, Arbitrary)]
struct Case<'a> {
    text: Text<'a>,
    column: u8,
    delimiter: u8,
    by_name: bool,
    stream: bool,
    threads: u8,
    block_bytes: u8,
}

#[derive(Debug, Arbitrary)]
enum Text<'a> {
    WellFormed { quotes: u8, records: Vec<[Field; 3]> },
    Tokens(&'a [u8]),
    Bytes(&'a [u8]),
}

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Field {
    Number(u64),
    Small(u8),
    Empty,
    Word(u8),
    Delimiters(u8),
    Quotes(u8),
    Lines(u8),
}

const TOKENS: [&str; 16] =
    ["\"", "\"", ",", ",", "\n", "\n", "\r\n", "1", "23", "4", " ", "\"\"", "x", "\r", ";", "id"];

/// Records, counted, and what the wanted field of each is.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    values: Vec<u64>,
    lines: u64,
    blank: u64,
    rejected: u64,
    headers: u64,
}

impl Found {
    fn add(&mut self, meaning: Meaning) {
        self.lines += 1;
        match meaning {
            Meaning::Value(value) => self.values.push(value),
            Meaning::Blank => self.blank += 1,
            Meaning::Malformed => self.rejected += 1,
        }
    }
}

/// Byte by byte, as the documentation has it.
fn read(text: &[u8], delimiter: u8, column: &Column) -> Option<Found> {
    let mut found = Found::default();
    let mut at = 0;
    let mut wanted = match column {
        Column::Number(number) => Some(number - 1),
        Column::Name(_) => None,
    };
    while at < text.len() {
        let (fields, end, is_broken) = record(text, at, delimiter);
        if let (Column::Name(name), None) = (column, wanted) {
            let is_name = |field: &Vec<u8>| field.trim_ascii() == name.as_bytes();
            wanted = Some(fields.iter().position(is_name)?);
            found.lines += 1;
            found.headers += 1;
        } else {
            let line = &text[at..end.min(text.len())];
            let is_blank = line.iter().all(|byte| b" \t\r".contains(byte));
            found.add(match fields.get(wanted?) {
                _ if is_blank => Meaning::Blank,
                _ if is_broken => Meaning::Malformed,
                Some(field) => meaning(field),
                _ => Meaning::Malformed,
            });
        }
        at = end + 1;
    }
    Some(found)
}

/// The fields of the record at `start`, where it ends, and whether it is broken: then
/// it ends with its first line, and has the fields before the broken one.
fn record(text: &[u8], start: usize, delimiter: u8) -> (Vec<Vec<u8>>, usize, bool) {
    let line = text[start..].iter().position(|&byte| byte == b'\n');
    let line_end = line.map_or(text.len(), |len| start + len);
    let mut fields = Vec::new();
    let mut at = start;
    loop {
        let field_start = at;
        let mut quoted = None;
        if text.get(at) == Some(&b'"') {
            at += 1;
            loop {
                match text.get(at) {
                    None => return (fields, line_end, true),
                    Some(b'"') if text.get(at + 1) == Some(&b'"') => at += 2,
                    Some(b'"') => break,
                    Some(_) => at += 1,
                }
            }
            quoted = Some(field_start + 1..at);
            at += 1;
        }
        let rest = at;
        while text.get(at).is_some_and(|&byte| byte != delimiter && byte != b'\n') {
            at += 1;
        }
        fields.push(match quoted {
            None => text[field_start..at].to_vec(),
            Some(inner) if text[rest..at].iter().all(|&byte| byte == b'\r') => text[inner].to_vec(),
            Some(_) => return (fields, line_end, true),
        });
        if text.get(at) != Some(&delimiter) {
            return (fields, at, false);
        }
        at += 1;
    }
}

fn well_formed(quotes: u8, records: &[[Field; 3]], delimiter: u8) -> Vec<u8> {
    let style = [csv::QuoteStyle::Necessary, csv::QuoteStyle::Always][usize::from(quotes % 2)];
    let mut out =
        csv::WriterBuilder::new().delimiter(delimiter).quote_style(style).from_writer(Vec::new());
    out.write_record(["a", "id", "c"]).unwrap();
    for record in records {
        let fields = record.map(|field| match field {
            Field::Number(number) => number.to_string(),
            Field::Small(number) => format!(" {number} "),
            Field::Empty => String::new(),
            Field::Word(count) => "w".repeat(usize::from(count % 40)),
            Field::Delimiters(count) => {
                char::from(delimiter).to_string().repeat(usize::from(count % 4))
            }
            Field::Quotes(count) => "\"x".repeat(usize::from(count % 4)),
            Field::Lines(count) => "\n1".repeat(usize::from(count % 4)),
        });
        out.write_record(fields).unwrap();
    }
    out.into_inner().unwrap()
}

/// What the `csv` crate finds; blank are records without anything on their lines.
fn read_by_csv(text: &[u8], delimiter: u8, index: usize) -> Vec<u64> {
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).from_reader(text);
    let fields = reader.byte_records().map(|record| record.unwrap()[index].to_vec());
    let values = fields.filter_map(|field| match meaning(&field) {
        Meaning::Value(value) => Some(value),
        _ => None,
    });
    values.collect()
}

fuzz_target!(|case: Case| {
    let delimiter = [b',', b';', b'\t', b'|'][usize::from(case.delimiter % 4)];
    let index = usize::from(case.column % 3);
    let name = ["a", "id", "c"][index];
    let by_name = case.by_name || matches!(case.text, Text::WellFormed { .. });
    let column = if by_name { Column::Name(name.to_owned()) } else { Column::Number(index + 1) };
    let text = match case.text {
        Text::WellFormed { quotes, ref records } => {
            well_formed(quotes, &records[..records.len().min(100)], delimiter)
        }
        Text::Tokens(tokens) => {
            let tokens = tokens.iter().map(|token| TOKENS[usize::from(token % 16)]);
            let head = if by_name { "x,id\n" } else { "" };
            (head.to_owned() + &tokens.collect::<String>()).into_bytes()
        }
        Text::Bytes(bytes) => bytes.to_vec(),
    };
    // A mark, and files of tables, are told by their first bytes: they are no text.
    let others: [&[u8]; 4] = [b"\xEF\xBB\xBF", b"ARROW1", b"PAR1", b"\xFF\xFF\xFF\xFF"];
    if others.iter().any(|head| text.starts_with(head)) {
        return;
    }
    let model = read(&text, delimiter, &column);

    // A record as long as a block counts as one whose quote is never closed.
    let is_well_formed = matches!(case.text, Text::WellFormed { .. });
    let block_bytes =
        if is_well_formed { 512 + 16 * usize::from(case.block_bytes) } else { 1 << 16 };
    if text.len() >= 1 << 16 {
        return;
    }
    let sort = Sort::new()
        .memory(ByteSize::from_mib(128))
        .threads(1 + usize::from(case.threads % 2))
        .temporary_folder(folder())
        .tuning(Tuning {
            block_bytes: Some(block_bytes),
            pool_bytes: Some(1 << 16),
            partitions: Some(16),
            scratch_bytes: Some(1 << 16),
            output_bytes: Some(1 << 12),
            ..Tuning::default()
        })
        .column(column, delimiter)
        .invalid(InvalidLines::Skip);
    let file = MemoryFile::new(&text);
    let sort = if case.stream {
        sort.reader("stream", Cursor::new(text.clone()))
    } else {
        sort.file(file.path())
    };
    let mut out = Vec::new();
    let report = match (sort.to_writer(&mut out), &model) {
        (Ok(report), Some(_)) => report,
        (Err(Error::NoSuchColumn { .. }), None) => return,
        (result, _) => panic!("{result:?}, the model has {model:?}"),
    };
    let mut model = model.unwrap();
    if is_well_formed {
        assert_eq!(model.values, read_by_csv(&text, delimiter, index));
    }
    model.values.sort_unstable();
    let lines = std::str::from_utf8(&out).unwrap().lines();
    let found = Found {
        values: lines.map(|line| line.parse().unwrap()).collect(),
        lines: report.lines,
        blank: report.blank,
        rejected: report.rejected,
        headers: report.headers,
    };
    assert_eq!(found, model);
});
