//! Indexes against a model: the rows themselves.

use super::rows::rows;
use super::*;
use crate::error::{DataChange, Error};
use crate::io::page::fix_checksums;
use crate::size::ByteSize;
use proptest::prelude::*;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::time::Duration;
use tempfile::TempDir;

/// A file of keys and where its index is.
struct Case {
    folder: TempDir,
}

impl Case {
    fn new(data: &[u8]) -> Self {
        let case = Self { folder: tempfile::tempdir().unwrap() };
        fs::write(case.data(), data).unwrap();
        case
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("keys")
    }

    fn index(&self) -> PathBuf {
        path_of(self.data())
    }

    fn build(&self, builder: &Builder) -> Stat {
        builder.build(self.data(), self.index()).unwrap()
    }

    fn open(&self) -> crate::Result<BlockIndex> {
        BlockIndex::open(self.data(), self.index())
    }

    fn append(&self, bytes: &[u8]) {
        let mut file = OpenOptions::new().append(true).open(self.data()).unwrap();
        file.write_all(bytes).unwrap();
    }
}

fn builder(rule: &KeyRule, block: u64) -> Builder {
    Builder::new().key(rule.clone()).block_size(ByteSize::from_bytes(block)).threads(2)
}

/// All lines, cut by hand, with their line ends.
fn lines(data: &[u8]) -> Vec<&[u8]> {
    data.split_inclusive(|&byte| byte == b'\n').collect()
}

fn key_of<'l>(rule: &KeyRule, line: &'l [u8]) -> std::borrow::Cow<'l, [u8]> {
    let row = line.strip_suffix(b"\n").unwrap_or(line);
    rule.key_of(row.strip_suffix(b"\r").unwrap_or(row))
}

/// Asserts that each key finds its lines and no others.
fn check(case: &Case, rule: &KeyRule, absent: &[Vec<u8>]) {
    let data = fs::read(case.data()).unwrap();
    let index = case.open().unwrap();
    let all = lines(&data);
    let mut asked: Vec<_> = all.iter().map(|line| key_of(rule, line).into_owned()).collect();
    let sorted = asked.is_sorted();
    assert_eq!((index.stat().is_sorted, index.stat().rows), (sorted, all.len() as u64));
    asked.sort();
    asked.dedup();
    asked.extend_from_slice(absent);
    for key in &asked {
        let Ok(meant) = rule.parse(key) else {
            assert!(index.get(key).is_err());
            continue;
        };
        let expected: Vec<&[u8]> =
            all.iter().copied().filter(|line| key_of(rule, line) == meant).collect();
        let found = index.get(key).unwrap();
        assert_eq!(found.lines, expected, "{}", key.escape_ascii());
        let report = found.report;
        assert_eq!(report.lines, expected.len() as u64);
        assert_eq!(report.skipped + report.read_blocks, report.blocks);
        assert!(
            report.false_positives <= report.read_blocks && report.out_of_order <= report.skipped
        );
    }
    index.verify().unwrap();
    let asked = asked.iter().filter(|key| rule.parse(key).is_ok());
    check_together(&index, &asked.clone().chain(absent).chain(asked).collect::<Vec<_>>());
}

/// Asserts that keys find together what each of them finds alone.
fn check_together(index: &BlockIndex, keys: &[&Vec<u8>]) {
    let (mut expected, mut sum) = (Vec::new(), LookupReport::default());
    let mut wrong = false;
    for (place, key) in keys.iter().enumerate() {
        let Ok(found) = index.get(key) else {
            wrong = true;
            break;
        };
        expected.extend(found.lines.iter().map(|line| (place, *line)));
        sum += found.report;
    }
    let mut together = Vec::new();
    let report = index.for_each_line_of(keys, |key, line| {
        together.push((key, line));
        Ok(())
    });
    assert_eq!(report.is_err(), wrong);
    if let Ok(report) = report {
        assert_eq!((together, report), (expected, sum));
    } else {
        assert!(together.len() <= expected.len() && expected.starts_with(&together));
    }
}

fn rules() -> impl Strategy<Value = KeyRule> {
    prop_oneof![
        Just(KeyRule::Row),
        prop::collection::vec(1_u32..4, 1..4)
            .prop_map(|numbers| KeyRule::columns(numbers, b',').unwrap()),
        (0_u64..4).prop_map(KeyRule::Prefix),
        Just(KeyRule::Until(b',')),
    ]
}

/// Few different bytes, so that keys repeat, line ends and quotes among them;
/// sometimes a line that fits in no block.
fn files() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop::sample::select(b"aab,,\n\n\n\r\"\x00\xFF".to_vec());
    let any_bytes = prop::collection::vec(byte, 0..400);
    let long = (any::<bool>(), 0_usize..200);
    let sorted = prop::collection::vec("[a-c,]{0,6}", 0..60).prop_map(|mut rows| {
        rows.sort();
        rows.into_iter().flat_map(|row| (row + "\n").into_bytes()).collect()
    });
    let mixed = (any_bytes.clone(), long, any_bytes).prop_map(|(mut data, (has, len), rest)| {
        data.extend(vec![b'x'; if has { len } else { 0 }]);
        data.extend(rest);
        data
    });
    prop_oneof![2 => mixed, 1 => sorted]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_key_finds_its_lines_and_no_others(
        data in files(),
        rule in rules(),
        block in 1_u64..100,
        rate in 0.001..0.9,
        absent in prop::collection::vec(prop::collection::vec(b'a'..=b'd', 0..6), 0..10),
    ) {
        let case = Case::new(&data);
        case.build(&builder(&rule, block).rate(rate));
        check(&case, &rule, &absent);
    }

    #[test]
    fn what_is_appended_makes_the_index_of_the_whole(
        parts in prop::collection::vec(files(), 1..4),
        rule in rules(),
        block in 1_u64..60,
    ) {
        let case = Case::new(&parts[0]);
        let builder = builder(&rule, block);
        case.build(&builder);
        for part in &parts[1..] {
            case.append(part);
            if !part.is_empty() {
                let grown = case.open().unwrap_err();
                let expected = DataChange::Longer(part.len() as u64);
                let is_expected = matches!(grown, Error::Outdated { change, .. } if change == expected);
                prop_assert!(is_expected, "{}", grown);
            }
            // Of the index its own settings count.
            Builder::new().extend(case.data(), case.index()).unwrap();
        }
        let extended = fs::read(case.index()).unwrap();
        case.build(&builder);
        prop_assert!(extended == fs::read(case.index()).unwrap());
        check(&case, &rule, &[]);
    }
}

/// Numbered rows of 10 bytes.
fn numbered(rows: std::ops::Range<u64>) -> Vec<u8> {
    rows.flat_map(|row| format!("key{row:06}\n").into_bytes()).collect()
}

#[test]
fn many_groups_are_extended_bit_for_bit_and_skipped_by_order() {
    // 10 rows a block, 512 blocks a group: 3.9 groups, then 7.8.
    let case = Case::new(&numbered(0..20_000));
    let builder = builder(&KeyRule::Row, 100);
    case.build(&builder);
    case.append(&numbered(20_000..40_000));
    let grown = Builder::new().extend(case.data(), case.index()).unwrap();
    assert_eq!((grown.blocks, grown.rows, grown.keys), (4000, 40_000, 40_000));
    let extended = fs::read(case.index()).unwrap();
    assert_eq!(case.build(&builder.clone().threads(1)), grown);
    assert!(extended == fs::read(case.index()).unwrap());

    let index = case.open().unwrap();
    for row in (0..40_000).step_by(7) {
        let found = index.get(format!("key{row:06}").as_bytes()).unwrap();
        assert_eq!(found.lines, [format!("key{row:06}\n").as_bytes()]);
        let report = found.report;
        assert_eq!((report.read_blocks, report.out_of_order, report.read_bytes), (1, 3999, 100));
    }
    // Between two keys of a block only its filter helps, between blocks the order.
    let absent = index.get(b"key000019x").unwrap().report;
    assert_eq!((absent.out_of_order, absent.read_blocks), (4000, 0));
    let vain: u64 = (0..4000_u64)
        .map(|row| index.get(format!("key{row:06}x").as_bytes()).unwrap().report.false_positives)
        .sum();
    assert!((10..80).contains(&vain), "{vain} of 3600");
}

#[test]
fn unsorted_files_read_the_promised_share_in_vain() {
    let mut data = numbered(0..20_000);
    data.splice(0..0, *b"zzz\n");
    let case = Case::new(&data);
    assert!(!case.build(&builder(&KeyRule::Row, 100)).is_sorted);
    let index = case.open().unwrap();
    let mut total = LookupReport::default();
    for row in 0..500 {
        total += index.get(format!("absent{row}").as_bytes()).unwrap().report;
    }
    assert_eq!((total.out_of_order, total.lines), (0, 0));
    let (vain, promised) = (total.false_positives, total.blocks / 100);
    assert!(vain.abs_diff(promised) < promised / 5, "{vain} instead of {promised}");
}

#[test]
fn long_keys_are_found_although_their_bounds_are_cut() {
    let key = |end: &str| "x".repeat(300) + end + "\n";
    let rows = ["a\n".into(), key("1"), key("2"), key("2"), key("3"), "y\n".into()];
    let case = Case::new(rows.concat().as_bytes());
    assert!(case.build(&builder(&KeyRule::Row, 50)).is_sorted);
    check(&case, &KeyRule::Row, &[key("0").into(), key("4").into(), b"x".repeat(254), b"z".into()]);
}

#[test]
fn changed_data_are_noticed_and_named() {
    let case = Case::new(&numbered(0..1000));
    case.build(&builder(&KeyRule::Row, 100));
    let refused = |what: &str| {
        let error = case.open().and_then(|index| index.verify()).unwrap_err();
        let message = error.to_string();
        assert!(message.contains(what) && message.contains("keys is not what"), "{message}");
        assert!(matches!(error, Error::DamagedIndex { .. } | Error::Outdated { .. }), "{error}");
    };
    fs::write(case.data(), numbered(0..999)).unwrap();
    refused("10 bytes shorter");
    fs::write(case.data(), numbered(0..1001)).unwrap();
    refused("10 bytes longer");
    let mut changed = numbered(0..1000);
    changed[5550] ^= 1;
    fs::write(case.data(), &changed).unwrap();
    refused("the block at byte 5500 has changed");
    // Where its time does not tell, a lookup that reads the block notices as well,
    // others do not.
    assert!(case.open().is_err());
    let built = fs::metadata(case.index()).unwrap().modified().unwrap();
    let set = |time| File::options().write(true).open(case.data()).unwrap().set_modified(time);
    set(built).unwrap(); // as if both were written in the same second
    assert!(case.open().is_err());
    set(built - Duration::from_secs(1)).unwrap();
    let index = case.open().unwrap();
    assert!(index.get(b"key000556").is_err() && index.get(b"key000700").is_ok());
    // The first and the last block are looked at when it is opened.
    for place in [0, 9995] {
        let mut changed = numbered(0..1000);
        changed[place] ^= 1;
        fs::write(case.data(), &changed).unwrap();
        assert!(matches!(case.open(), Err(Error::Outdated { change: DataChange::Other(_), .. })));
    }
    // Nor is an index extended over data that changed.
    let mut changed = numbered(0..1100);
    changed[9995] ^= 1;
    fs::write(case.data(), &changed).unwrap();
    assert!(Builder::new().extend(case.data(), case.index()).is_err());
}

/// What a lookup of any index of these data may say.
fn answer_or_error(case: &Case, rule: &KeyRule) {
    let Ok(index) = case.open() else { return };
    let data = fs::read(case.data()).unwrap();
    for line in lines(&data) {
        if let Ok(found) = index.get(&key_of(rule, line)) {
            assert!(found.lines.iter().all(|line| data.windows(line.len()).any(|at| at == *line)));
        }
    }
    if index.verify().is_err() {
        return;
    }
    // Then no lookup misses a row.
    let rule = &index.index().stat.rule;
    for (row, line) in rows(&data) {
        let found = index.get(&rule.key_of(row)).unwrap();
        assert!(found.lines.contains(&line), "{rule:?}");
    }
}

#[test]
fn no_damaged_index_does_harm() {
    let mut data = numbered(0..40);
    for rule in [KeyRule::Row, KeyRule::columns(vec![2, 1], b'0').unwrap()] {
        let case = Case::new(&data);
        case.build(&builder(&rule, 50));
        let index = fs::read(case.index()).unwrap();
        for len in (0..400).chain(4080..index.len()) {
            fs::write(case.index(), &index[..len]).unwrap();
            let error = case.open().unwrap_err();
            assert!(matches!(error, Error::DamagedIndex { .. }), "{len}: {error}");
            assert!(error.to_string().contains("keys.bix"));
            assert!(matches!(error, Error::DamagedIndex { .. } | Error::Outdated { .. }));
        }
        for at in (0..400).chain(4080..index.len()) {
            let mut damaged = index.clone();
            damaged[at] ^= 1 << (at % 8);
            fs::write(case.index(), &damaged).unwrap();
            assert!(case.open().is_err(), "{at}");
            // The same by somebody who knows checksums.
            fix_checksums(&mut damaged);
            fs::write(case.index(), &damaged).unwrap();
            answer_or_error(&case, &rule);
            let _ = Builder::new().threads(1).extend(case.data(), case.index());
        }
        data.insert(0, b'~'); // not sorted from here on
    }
}

#[test]
fn an_index_whose_facts_are_not_those_of_its_data_is_damaged() {
    let case = Case::new(b"b\na\nc\n");
    case.build(&builder(&KeyRule::Row, 4));
    let index = fs::read(case.index()).unwrap();
    case.open().unwrap().verify().unwrap();
    let first_block = index.windows(16).position(|entry| {
        let sum = xxhash_rust::xxh3::xxh3_64(b"b\na\n");
        entry[..8] == [0; 8] && entry[8..] == sum.to_le_bytes()
    });
    let starts_later = first_block.unwrap();
    // The checksum of the data, the number of rows, and the place where the first block begins.
    for (at, value) in [(64, 5), (80, 99), (starts_later, 2_u64)] {
        let mut changed = index.clone();
        changed[at..at + 8].copy_from_slice(&value.to_le_bytes());
        if at == starts_later {
            let sum = xxhash_rust::xxh3::xxh3_64(b"a\n");
            changed[at + 8..at + 16].copy_from_slice(&sum.to_le_bytes());
        }
        fix_checksums(&mut changed);
        fs::write(case.index(), &changed).unwrap();
        let found = case.open().and_then(|index| index.verify());
        assert!(matches!(found, Err(Error::DamagedIndex { .. })), "{at}: {found:?}");
    }
}

#[test]
fn what_cannot_be_indexed_is_refused() {
    let case = Case::new(b"a\n");
    for (builder, what) in [
        (Builder::new().rate(0.0), "false-positive rate"),
        (Builder::new().rate(f64::NAN), "false-positive rate"),
        (builder(&KeyRule::Row, 0), "at least one byte"),
    ] {
        let refused = builder.build(case.data(), case.index()).unwrap_err().to_string();
        assert!(refused.contains(what), "{refused}");
    }
    let refused = Builder::new().build(case.data(), case.data()).unwrap_err().to_string();
    assert!(refused.contains("cannot be its own index"), "{refused}");
    let refused = Builder::new().build(case.folder.path(), case.index()).unwrap_err().to_string();
    assert!(refused.contains("no regular file"), "{refused}");
    assert!(!case.index().exists());
}
