//! Indexes of files of keys, damaged with all checksums made right again: a
//! lookup gives an error, or lines of the file that have the key; with the index
//! as it was made, all of them.
#![no_main]

use arbitrary::Arbitrary;
use bitsort::ByteSize;
use bitsort::lines::index::{BlockIndex, Builder, IndexFile, KeyRule};
use bitsort_fuzz::{Edit, MemoryFile, damage, folder, peak_of, seal};
use libfuzzer_sys::fuzz_target;
use std::collections::BTreeSet;

#[derive(Debug, Arbitrary)]
struct Case<'a> {
    rows: Vec<Row>,
    sorted: bool,
    rest: &'a [u8],
    rule: Rule,
    block_bytes: u8,
    rate: u8,
    edits: Vec<Edit>,
    sealed: bool,
    key: &'a [u8],
    any: Option<&'a [u8]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Arbitrary)]
enum Row {
    Numbers(u8, u8),
    Quoted(u8),
    Long(u8),
    Empty,
}

#[derive(Debug, Arbitrary)]
enum Rule {
    Row,
    Columns(u8, Option<u8>),
    Prefix(u8),
    Until(u8),
}

/// Where the header says that the checksums lie.
const CHECKSUMS: usize = 176;

fn text(case: &Case) -> Vec<u8> {
    let mut rows: Vec<Vec<u8>> = case
        .rows
        .iter()
        .take(300)
        .map(|row| match row {
            Row::Numbers(a, b) => format!("{},k{b},x", a % 16).into_bytes(),
            Row::Quoted(a) => format!("\"{a}, \"\"q\"\"\",k{a}\r").into_bytes(),
            Row::Long(a) => vec![b'z'; usize::from(*a) * 2],
            Row::Empty => Vec::new(),
        })
        .collect();
    if case.sorted {
        rows.sort();
    }
    let mut text: Vec<u8> = rows.iter().flat_map(|row| [&row[..], b"\n"].concat()).collect();
    if !case.sorted {
        text.extend_from_slice(case.rest);
    }
    text
}

fn rule(rule: &Rule) -> KeyRule {
    match *rule {
        Rule::Row => KeyRule::Row,
        Rule::Columns(first, second) => {
            let numbers = [Some(first), second].into_iter().flatten();
            KeyRule::columns(numbers.map(|number| u32::from(number % 4) + 1).collect(), b',')
                .unwrap()
        }
        Rule::Prefix(bytes) => KeyRule::Prefix((bytes % 8).into()),
        Rule::Until(byte) => KeyRule::Until(byte),
    }
}

fn row(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

fuzz_target!(|case: Case| {
    let (data, rule) = (text(&case), rule(&case.rule));
    let (data_path, index_path) = (folder().join("keys"), folder().join("keys.bix"));
    std::fs::write(&data_path, &data).unwrap();
    let builder = Builder::new()
        .key(rule.clone())
        .block_size(ByteSize::from_bytes(u64::from(case.block_bytes) + 1))
        .rate(f64::from(case.rate % 50 + 1) / 100.0)
        .threads(2);
    let stat = builder.build(&data_path, &index_path).unwrap();
    let lines: Vec<&[u8]> = data.split_inclusive(|&byte| byte == b'\n').collect();
    assert_eq!((stat.rows, stat.data_bytes), (lines.len() as u64, data.len() as u64));

    let mut bytes = match case.any {
        Some(any) => any.to_vec(),
        None => std::fs::read(&index_path).unwrap(),
    };
    damage(&mut bytes, &case.edits);
    if case.sealed {
        seal(&mut bytes, CHECKSUMS);
    }
    let index = MemoryFile::new(&bytes);
    let path = index.path();
    if let Ok(file) = IndexFile::open(&path) {
        assert!(!format!("{:?} {:?}", file.stat(), file.verify().is_ok()).is_empty());
    }
    let is_sound = case.any.is_none() && case.edits.is_empty();
    let (opened, taken) = peak_of(|| BlockIndex::open(&data_path, &path));
    assert!(taken <= bytes.len() + (1 << 16), "{taken} bytes for {}", bytes.len());
    let opened = match opened {
        Ok(opened) => opened,
        Err(error) => return assert!(!is_sound, "{error}"),
    };
    let mut keys: BTreeSet<Vec<u8>> =
        lines.iter().take(20).map(|line| rule.key_of(row(line)).into_owned()).collect();
    keys.insert(case.key.to_vec());
    for key in &keys {
        let found = opened.get(key);
        let Ok(wanted) = rule.parse(key) else {
            assert!(!is_sound || found.is_err());
            continue;
        };
        let expected = || lines.iter().copied().filter(|line| rule.key_of(row(line)) == wanted);
        match found {
            Ok(found) if is_sound => assert!(expected().eq(found.lines.iter().copied())),
            // The rule may be another one than before.
            Ok(found) if opened.stat().rule == rule && opened.verify().is_ok() => {
                let lines: Vec<&[u8]> = expected().collect();
                assert!(found.lines.iter().all(|line| lines.contains(line)));
            }
            Ok(found) => assert!(found.lines.len() as u64 <= found.report.lines),
            Err(error) => assert!(!is_sound, "{error}"),
        }
    }
    assert!(opened.verify().is_ok() || !is_sound);
});
