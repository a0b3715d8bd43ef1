//! Built files against a plain model, by every way that rows can take.

use super::Group;
use super::builder::Tuning;
use crate::io::page::fix_checksums;
use crate::number::{Column, Notation};
use crate::progress::Progress;
use crate::set::keyed::{self, KeyedSets};
use crate::size::ByteSize;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

type Model = BTreeMap<Vec<u8>, BTreeSet<u64>>;

fn model(rows: &[(Vec<u8>, u64)]) -> Model {
    let mut model = Model::new();
    for (key, id) in rows {
        model.entry(key.clone()).or_default().insert(*id);
    }
    model
}

/// What the file has.
fn read(path: &Path) -> Model {
    let sets = KeyedSets::open(path).unwrap();
    sets.verify().unwrap();
    let keys: Vec<_> = sets.iter().map(|keyed| keyed.unwrap().key.to_vec()).collect();
    let values = |key: &Vec<u8>| {
        let set = sets.get(key).unwrap().unwrap();
        set.iter().map(Result::unwrap).collect()
    };
    keys.iter().map(|key| (key.clone(), values(key))).collect()
}

fn rows() -> impl Strategy<Value = Vec<(Vec<u8>, u64)>> {
    let key = prop_oneof![
        prop::sample::select(vec![b"".to_vec(), b"a".to_vec(), b"b,\"c\"\n".to_vec()]),
        prop::collection::vec(any::<u8>(), 0..4),
    ];
    let id = prop_oneof![
        0..100_u64,
        0..1_u64 << 20,
        any::<u64>(),
        Just(u64::MAX),
        (1_u64 << 40)..(1 << 40) + 9,
    ];
    prop::collection::vec((key, id), 0..300)
}

fn tuning() -> impl Strategy<Value = Tuning> {
    let id_bits = prop::option::of(prop::sample::select(vec![16, 17, 40, 60]));
    let keys_bytes = prop::option::of(1..2000_u64);
    let room_bytes = prop::option::of(64..4000_u64);
    (id_bits, keys_bytes, room_bytes).prop_map(|(id_bits, keys_bytes, room_bytes)| Tuning {
        id_bits,
        keys_bytes,
        room_bytes,
    })
}

fn field(key: &[u8]) -> Vec<u8> {
    if key.iter().any(|byte| b",\"\n\r".contains(byte)) || key.is_empty() {
        let doubled = key.iter().flat_map(|&byte| vec![byte; 1 + usize::from(byte == b'"')]);
        return [b'"'].into_iter().chain(doubled).chain([b'"']).collect();
    }
    key.to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn a_file_has_the_sets_of_a_plain_model(
        rows in rows(), tuning in tuning(), key_first: bool, crlf: bool,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let [typed, text] = ["typed", "text"].map(|name| folder.path().join(name));
        let group = || {
            let mut group = Group::new().memory(ByteSize::from_mib(64)).threads(2);
            group.tuning = tuning;
            group.temporary_folder(folder.path())
        };
        let report = group().pairs(rows.clone()).to_file(&typed).unwrap();
        let model = model(&rows);
        let values: usize = model.values().map(BTreeSet::len).sum();
        prop_assert_eq!(report.rows, rows.len() as u64);
        prop_assert_eq!((report.sets, report.values), (model.len() as u64, values as u64));
        prop_assert!(read(&typed) == model);
        // Fewer ids than a set has, and more, some of them twice.
        let all: Vec<u64> = rows.iter().rev().map(|row| row.1).chain([1 << 63]).collect();
        let sets = KeyedSets::open(&typed).unwrap();
        for ids in [&all[..all.len().min(2)], &all] {
            let keys_of = |id: &u64| {
                let having = model.iter().filter(|(_, set)| set.contains(id));
                having.map(|(key, _)| &key[..]).collect::<Vec<_>>()
            };
            let expected: Vec<_> = ids.iter().map(keys_of).collect();
            prop_assert_eq!(sets.keys_of(ids).unwrap(), expected);
        }

        let end = if crlf { &b"\r\n"[..] } else { b"\n" };
        let mut csv = Vec::new();
        for (key, id) in &rows {
            let (key, id) = (field(key), id.to_string().into_bytes());
            let fields = if key_first { [key, id] } else { [id, key] };
            csv.extend(fields.join(&b','));
            csv.extend_from_slice(end);
        }
        let (key, ids) = if key_first { (1, 2) } else { (2, 1) };
        let group = group().columns(Column::Number(key), Column::Number(ids), b',');
        let report = group.reader("rows", std::io::Cursor::new(csv)).to_file(&text).unwrap();
        prop_assert_eq!(report.rows, rows.len() as u64);
        // The same rows make the same file, whatever way they took.
        prop_assert!(std::fs::read(&typed).unwrap() == std::fs::read(&text).unwrap());
    }
}

/// The bytes of the file of these rows, and of the union of the files of some of the rows each,
/// which are cut into pieces of so many buckets and bytes.
fn whole_and_joined(
    rows: &[(Vec<u8>, u64)],
    part_of: impl Fn(usize) -> usize,
    cut: Option<(usize, usize)>,
) -> [Vec<u8>; 2] {
    let folder = tempfile::tempdir().unwrap();
    let [whole, joined] = ["whole", "joined"].map(|name| folder.path().join(name));
    Group::new().pairs(rows.to_vec()).to_file(&whole).unwrap();
    let mut parts: BTreeMap<usize, Vec<(Vec<u8>, u64)>> = BTreeMap::new();
    for (index, row) in rows.iter().enumerate() {
        parts.entry(part_of(index)).or_default().push(row.clone());
    }
    let open = |(number, rows): (usize, Vec<_>)| {
        let path = folder.path().join(number.to_string());
        Group::new().pairs(rows).to_file(&path).unwrap();
        KeyedSets::open(path).unwrap()
    };
    let files = parts.into_iter().map(open);
    let parts = files.flat_map(|file| match cut {
        None => vec![file],
        Some((buckets, most_bytes)) => {
            let pieces = keyed::pieces(&file, buckets, most_bytes).unwrap();
            pieces.map(|piece| KeyedSets::from_bytes(&piece.unwrap().1).unwrap()).collect()
        }
    });
    keyed::union(&parts.collect::<Vec<_>>(), &joined).unwrap();
    [whole, joined].map(|path| std::fs::read(path).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn files_of_some_rows_join_to_the_file_of_all(
        rows in rows(), parts in prop::collection::vec(0..5_usize, 300),
        cut in prop::option::of((1..4_usize, 1..3000_usize)),
    ) {
        let [whole, joined] = whole_and_joined(&rows, |index| parts[index], cut);
        prop_assert!(whole == joined);
    }
}

#[test]
fn large_sets_of_parts_join_to_those_of_all_rows() {
    let far = |id: u64| id.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut rows: Vec<(Vec<u8>, u64)> = Vec::new();
    rows.extend((0..200_000).map(|id| (b"dense".to_vec(), 70_000 + id)));
    rows.extend((0..100_000).map(|id| (b"even".to_vec(), 7 * id)));
    rows.extend((0..90_000).map(|id| (b"far".to_vec(), far(id))));
    rows.extend((0..66_000).map(|id| (b"mixed".to_vec(), if id % 3 == 0 { far(id) } else { id })));
    rows.extend((0..65_537).map(|id| (b"treemap".to_vec(), (id % 2) << 40 | id)));
    for (parts, cut) in [(2, None), (3, Some((2, 40_000)))] {
        let [whole, joined] = whole_and_joined(&rows, |index| index % parts, cut);
        assert!(whole == joined, "in turn");
        let [whole, joined] = whole_and_joined(&rows, |index| index * parts / rows.len(), cut);
        assert!(whole == joined, "one behind the other");
    }
}

#[test]
fn pieces_are_small_and_their_buckets_follow_from_the_keys() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sets");
    let far = |id: u64| id.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let rows = (0..60_000_u64).map(|id| (format!("{}", id % 3 * (id % 500)), far(id)));
    Group::new().pairs(rows.collect::<Vec<_>>()).to_file(&path).unwrap();
    let mut bucket_of = BTreeMap::new();
    let mut last = 0;
    let mut count = 0;
    for piece in keyed::pieces(&KeyedSets::open(&path).unwrap(), 3, 20_000).unwrap() {
        let (bucket, bytes) = piece.unwrap();
        assert!(bucket >= last && bytes.len() < 30_000, "{} bytes", bytes.len());
        (last, count) = (bucket, count + 1);
        let sets = KeyedSets::from_bytes(&bytes).unwrap();
        sets.verify().unwrap();
        for keyed in sets.iter() {
            let key = keyed.unwrap().key.to_vec();
            assert_eq!(*bucket_of.entry(key).or_insert(bucket), bucket);
        }
    }
    assert!(count > 10 && last == 2 && bucket_of.len() > 300);
    let progress = Arc::new(Progress::default());
    let pieces = keyed::pieces(&KeyedSets::open(&path).unwrap(), 3, 20_000).unwrap();
    let mut pieces = pieces.progress(Arc::clone(&progress));
    assert!(matches!(pieces.next(), Some(Ok(_))));
    progress.cancel_flag().store(true, Relaxed);
    assert!(matches!(pieces.next(), Some(Err(crate::Error::Interrupted))));
    assert!(pieces.next().is_none(), "none is left out in silence");
    assert!(keyed::pieces(&KeyedSets::open(&path).unwrap(), 0, 20_000).is_err());
    let sets = KeyedSets::open(&path).unwrap();
    for index in [sets.len(), usize::MAX] {
        let error = sets.set(index).unwrap_err();
        assert!(matches!(error, crate::Error::Usage { .. }), "{index}: {error}");
    }
    assert!(KeyedSets::from_bytes(b"").is_err());
}

#[test]
fn rows_that_fail_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sets");
    for whole in [0, 10, 100_000] {
        let rows = (0..whole).map(|id| Ok(("a", id))).chain([Err(crate::Error::Interrupted)]);
        let failed = Group::new().try_pairs(rows).to_file(&path);
        assert!(matches!(failed, Err(crate::Error::Interrupted)), "{failed:?}");
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }
}

#[test]
fn every_way_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sets");
    let keys: Vec<Vec<u8>> = (0..400).map(|key| format!("key {key}").into_bytes()).collect();
    let mut rows: Vec<(Vec<u8>, u64)> = Vec::new();
    for (index, key) in keys.iter().enumerate() {
        rows.extend((0..=index as u64 % 7).map(|id| (key.clone(), id * 1000)));
    }
    // A dense set, a large one, one that is far apart, and one key that has most rows aside.
    rows.extend((0..200_000).map(|id| (b"dense".to_vec(), 70_000 + id)));
    rows.extend((0..100_000).map(|id| (b"even".to_vec(), 7 * id)));
    rows.extend(
        (0..100_000_u64).map(|id| (b"far".to_vec(), id.wrapping_mul(0x9E37_79B9_7F4A_7C15))),
    );
    let expected = model(&rows);
    for (id_bits, keys_bytes, room_bytes) in [
        (None, None, None),
        (Some(16), None, Some(100_000)),
        (Some(30), Some(3000), Some(30_000)),
        (Some(60), Some(1), Some(1 << 20)),
    ] {
        let mut group = Group::new().pairs(rows.clone()).temporary_folder(folder.path());
        group.tuning = Tuning { id_bits, keys_bytes, room_bytes };
        let report = group.to_file(&path).unwrap();
        assert!(report.aside > 0 || id_bits.is_none(), "{id_bits:?}");
        assert!(read(&path) == expected, "{id_bits:?}");
    }
}

#[test]
fn a_damaged_file_is_refused_or_found_by_a_verification() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sets");
    let far = |id: u64| id.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let rows = (0..40_u64).flat_map(|id| {
        [("a".to_string(), id), ("far".into(), far(id)), (format!("{}", id % 5), 3 * id)]
    });
    Group::new().pairs(rows.collect::<Vec<_>>()).to_file(&path).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let damaged = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let Ok(sets) = KeyedSets::open(&path) else { return true };
        // Questions give errors or answers, and never panic.
        for key in ["", "0", "1", "a", "far", "z"] {
            if let Ok(Some(set)) = sets.get(key) {
                let _ = (set.contains(7), set.rank(99), set.iter().take(99).count());
            }
        }
        let _ = sets.iter().count();
        sets.verify().is_err()
    };
    assert!(!damaged(&whole));
    for len in (0..whole.len()).filter(|len| *len < 200 || *len > 4000) {
        assert!(damaged(&whole[..len]), "{len} bytes");
    }
    assert!(damaged(&[&whole[..], b"\0"].concat()));
    for at in (0..whole.len()).filter(|at| *at < 200 || *at > 4000) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        assert!(damaged(&bytes), "byte {at}");
    }
}

#[cfg(feature = "columnar")]
#[test]
fn rows_of_a_table_are_those_of_text() {
    use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    use std::sync::Arc;

    /// A key and an id.
    type Row = (Option<i64>, Option<i64>);

    let folder = tempfile::tempdir().unwrap();
    let [table, sets] = ["rows.parquet", "sets"].map(|name| folder.path().join(name));
    let schema =
        "message rows { optional binary tag (UTF8); optional int64 id; required int64 number; }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let file = std::fs::File::create(&table).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
    let mut expected = [Model::new(), Model::new()];
    for group in 0..3_i64 {
        let rows: Vec<Row> = (0..40_000)
            .map(|row| {
                ((row % 7 > 0).then_some(row % 11), (row % 5 > 0).then_some(row * 3 + group))
            })
            .collect();
        for (key, id) in &rows {
            if let (Some(key), Some(id)) = (key, id) {
                let key = format!("tag {key}").into_bytes();
                expected[0].entry(key).or_default().insert(id.cast_unsigned());
            }
            if let Some(id) = id {
                let key = (group - 1).to_string().into_bytes();
                expected[1].entry(key).or_default().insert(id.cast_unsigned());
            }
        }
        let levels = |is_there: fn(&Row) -> bool| -> Vec<i16> {
            rows.iter().map(|row| i16::from(is_there(row))).collect()
        };
        let mut next = writer.next_row_group().unwrap();
        let mut column = next.next_column().unwrap().unwrap();
        let tags: Vec<ByteArray> = rows
            .iter()
            .filter_map(|row| Some(ByteArray::from(format!("tag {}", row.0?).as_str())))
            .collect();
        let there = levels(|row| row.0.is_some());
        column.typed::<ByteArrayType>().write_batch(&tags, Some(&there), None).unwrap();
        column.close().unwrap();
        let mut column = next.next_column().unwrap().unwrap();
        let ids: Vec<i64> = rows.iter().filter_map(|row| row.1).collect();
        let there = levels(|row| row.1.is_some());
        column.typed::<Int64Type>().write_batch(&ids, Some(&there), None).unwrap();
        column.close().unwrap();
        let mut column = next.next_column().unwrap().unwrap();
        let numbers = vec![group - 1; rows.len()];
        column.typed::<Int64Type>().write_batch(&numbers, None, None).unwrap();
        column.close().unwrap();
        next.close().unwrap();
    }
    writer.close().unwrap();
    for (key, expected) in ["tag", "number"].into_iter().zip(expected) {
        let (key, ids) = (Column::Name(key.into()), Column::Name("id".into()));
        let group = Group::new().file(&table).columns(key, ids, b',');
        group.to_file(&sets).unwrap();
        assert!(read(&sets) == expected);
    }
    let (key, ids) = (Column::Name("no".into()), Column::Name("id".into()));
    assert!(Group::new().file(&table).columns(key, ids, b',').to_file(&sets).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn rows_may_have_blocks_and_ranges_of_addresses(
        rows in prop::collection::vec(
            (
                prop::sample::select(vec!["", "a", "b\"", "c,d"]),
                any::<u32>(),
                prop_oneof![6 => 0..300_u32, 1 => 60_000..70_000_u32],
                0..3,
            ),
            0..40,
        ),
        id_bits in prop::option::of(Just(40)),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sets");
        let (mut text, mut pairs) = (Vec::new(), Vec::new());
        for (key, first, length, form) in rows {
            let [first, last] = match form {
                0 => [first; 2],
                1 => [first, first.saturating_add(length)],
                _ => [first & !0xFFF, first | 0xFFF],
            };
            let [start, end] =
                [first, last].map(|end| Notation::IPV4.text(end.into()).unwrap());
            text.extend(field(key.as_bytes()));
            text.extend(match form {
                0 => format!(",{start}\n").into_bytes(),
                1 => format!(",{start}-{end}\n").into_bytes(),
                _ => format!(",{start}/20\n").into_bytes(),
            });
            pairs.extend((first..=last).map(|id| (key.as_bytes().to_vec(), id.into())));
        }
        let mut group = Group::new().reader("rows", Cursor::new(text)).notation(Notation::CIDR);
        group.tuning = Tuning { id_bits, ..Tuning::default() };
        let report = group.to_file(&path).unwrap();
        prop_assert_eq!(report.aside, 0);
        prop_assert!(read(&path) == model(&pairs));
    }
}

#[test]
fn rows_may_have_ranges_of_other_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sets");
    let group = |text: &'static str, notation: Notation| {
        let group = Group::new().reader("rows", text.as_bytes());
        group.notation(notation.with_ranges()).to_file(&path)
    };
    let text = "a,5-9\nb,8\na,7-12\nb,17592186044410-17592186044415\na,18446744073709551615\n";
    let report = group(text, Notation::DECIMAL).unwrap();
    assert_eq!((report.rows, report.values, report.aside), (5, 16, 1));
    let sets = read(&path);
    assert_eq!(sets[&b"a"[..]], (5..=12).chain([u64::MAX]).collect());
    assert_eq!(sets[&b"b"[..]], (17_592_186_044_410..=17_592_186_044_415).chain([8]).collect());
    group("a,ff-101\nb,0xA\n", Notation::HEX).unwrap();
    assert_eq!(read(&path)[&b"a"[..]], [255, 256, 257].into());
    let error = group("a,5\nb,5-17592186044416\n", Notation::DECIMAL).unwrap_err().to_string();
    assert!(error.starts_with("rows:2: byte 6: expected a range of numbers below 2^44"), "{error}");
    assert!(read(&path).contains_key(&b"b"[..]), "the file before it is left");
}

#[test]
fn rows_with_ranges_need_memory_for_all_keys() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sets");
    let group = |text: &'static str| {
        let mut group = Group::new().reader("rows", text.as_bytes()).notation(Notation::CIDR);
        group.tuning.keys_bytes = Some(1);
        group.to_file(&path)
    };
    let error = group("a,10.0.0.0/8\nb,10.0.0.0/8\n").unwrap_err().to_string();
    assert!(error.contains("keys of rows with blocks or ranges take more than"), "{error}");
    assert!(!path.exists());
    // Single addresses go through temporary files, as other numbers do.
    assert_eq!(group("a,10.0.0.0/31\nb,10.0.0.7\nc,10.0.0.8\n").unwrap().aside, 1);
    let sets = read(&path);
    assert_eq!(sets[&b"c"[..]], [0x0A00_0008].into());
    assert_eq!(sets[&b"a"[..]], [0x0A00_0000, 0x0A00_0001].into());
    assert_eq!(sets[&b"b"[..]], [0x0A00_0007].into());
}

#[test]
fn keys_of_ranges_are_counted_apart_from_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sets");
    // Ids of 60 bits leave 16 keys: twelve of ranges, four others, and the rest is kept aside.
    let group = |rows: &[String]| {
        let text = Cursor::new(rows.concat());
        let mut group = Group::new().reader("rows", text).notation(Notation::DECIMAL.with_ranges());
        group.tuning.id_bits = Some(60);
        group.to_file(&path)
    };
    let singles = (0..200).map(|key| format!("k{key},{key}\n"));
    let ranges = |count: u64| (0..count).map(|key| format!("k{key},7-9\n"));
    for is_reversed in [false, true] {
        let rows = |count| {
            let mut rows: Vec<_> = singles.clone().chain(ranges(count)).collect();
            if is_reversed {
                rows.reverse();
            }
            rows
        };
        let report = group(&rows(12)).unwrap();
        assert_eq!((report.sets, report.aside), (200, 196));
        let sets = read(&path);
        for key in 0..200_u64 {
            let expected: BTreeSet<u64> =
                [key].into_iter().chain((7..10).filter(|_| key < 12)).collect();
            assert_eq!(sets[format!("k{key}").as_bytes()], expected);
        }
        let error = group(&rows(13)).unwrap_err().to_string();
        assert!(error.contains("more than 12 keys have rows with blocks or ranges"), "{error}");
    }
}

#[test]
fn lists_with_long_keys_are_merged_a_few_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sets");
    let long = |key: usize| format!("{}{key:03}", "y".repeat(5000 + 7 * key)).into_bytes();
    let pairs: Vec<_> = (0..300).zip((0..100).cycle()).map(|(id, key)| (long(key), id)).collect();
    for room_bytes in [1, 40_000, 1 << 24] {
        let mut group = Group::new().pairs(pairs.clone());
        group.tuning = Tuning { id_bits: None, keys_bytes: Some(1), room_bytes: Some(room_bytes) };
        group.to_file(&path).unwrap();
        assert!(read(&path) == model(&pairs), "{room_bytes}");
    }
}

#[test]
fn files_whose_keys_do_not_ascend_are_named_by_a_union() {
    let folder = tempfile::tempdir().unwrap();
    let [path, out] = ["rows.sets", "out.sets"].map(|name| folder.path().join(name));
    Group::new().pairs([("ka", 1), ("kb", 2)]).to_file(&path).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(4).position(|keys| keys == b"kakb").unwrap();
    bytes[at..at + 4].copy_from_slice(b"kbka");
    fix_checksums(&mut bytes);
    let sets = KeyedSets::from_bytes(&bytes).unwrap();
    let expected = sets.verify().unwrap_err().to_string();
    assert!(expected.ends_with(&format!("byte {at}: the keys do not ascend")), "{expected}");
    assert_eq!(keyed::union(&[sets], &out).unwrap_err().to_string(), expected);
    assert!(!out.exists());
}
