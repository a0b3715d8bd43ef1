//! Bytes of other systems, and what writers make against what readers find.

use super::*;
use crate::set::{SetFile, SetFormat};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn values(set: &Decoded<'_>) -> Vec<u64> {
    set.view().iter().collect::<Result<_, _>>().unwrap()
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pairs = digits.chunks(2).map(|pair| str::from_utf8(pair).unwrap());
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

fn read(hex: &str) -> Vec<u64> {
    values(&decode(&bytes_of(hex), "golden").unwrap())
}

#[test]
fn states_of_click_house_are_read_as_it_writes_them() {
    let up_to_32: Vec<u64> = (0..=32).collect();
    assert_eq!(read("0003 0100 0200 0300"), [1, 2, 3], "Int16");
    assert_eq!(read("010F 3B30 0000 0100 0020 0001 0000 0020 00"), up_to_32, "UInt32");
    let wide = "011B 0100000000000000 00000000 3B30 0000 0100 0020 0001 0000 0020 00";
    assert_eq!(read(wide), up_to_32, "UInt64");
    for (width, other, format) in
        [(4, 8, ForeignFormat::ClickHouse32), (8, 4, ForeignFormat::ClickHouse64)]
    {
        let bytes = encode(&up_to_32.iter().collect(), format).unwrap();
        assert!(decode_click_house(&bytes, width, "state").is_ok());
        assert!(decode_click_house(&bytes, other, "state").is_err());
        assert!(decode_click_house(&bytes, 3, "state").is_err());
    }
    let eight = [&[0, 1][..], &[7; 8]].concat();
    assert!(decode_as(&eight, ForeignFormat::ClickHouse32, "state").is_err());
    assert_eq!(read("0000"), Vec::<u64>::new(), "no values");
}

#[test]
fn files_of_click_house_and_spark_are_read() {
    let values = IntegerSet::from([0, 1, 40, 32_768, 32_769, 70_000]);
    let more = &values | &(100..140).collect();
    let wide = IntegerSet::from([1 << 40]);
    for (bytes, expected) in [
        (&include_bytes!("../../../tests/data/foreign/clickhouse-u32-small.state")[..], &values),
        (include_bytes!("../../../tests/data/foreign/clickhouse-u32-large.state"), &more),
        (
            include_bytes!("../../../tests/data/foreign/clickhouse-u64-small.state"),
            &(&values | &wide),
        ),
        (
            include_bytes!("../../../tests/data/foreign/clickhouse-u64-large.state"),
            &(&more | &wide),
        ),
    ] {
        assert_eq!(&decode(bytes, "state").unwrap().to_set().unwrap(), expected);
        let width = if expected.max() > Some(1 << 32) { 8 } else { 4 };
        assert!(decode_click_house(bytes, width, "state").is_ok());
        for cut in 0..bytes.len() {
            assert!(decode_click_house(&bytes[..cut], width, "state").is_err(), "cut at {cut}");
        }
    }
    if cfg!(feature = "columnar") {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let path = root.join("tests/data/foreign/spark-bitmap.parquet");
        assert!(spark::is_table(&path).unwrap());
        assert_eq!(spark::read_table(&path, 64 << 20).unwrap(), values);
    }
}

#[test]
fn bitmaps_of_doris_and_star_rocks_of_every_kind_are_read() {
    let seven = [7, 0, 0, 0, 0, 0, 0, 0];
    let portable = "3A30 0000 0100 0000 0000 0000 1000 0000 0700";
    for (hex, expected) in [
        ("00", vec![]),
        ("01 07000000", vec![7]),
        ("03 0700000001000000", vec![(1 << 32) + 7]),
        (&format!("02 {portable}"), vec![7]),
        (&format!("04 01 01000000 {portable}"), vec![(1 << 32) + 7]),
        ("05 02 0700000000000000 0300000001000000", vec![7, (1 << 32) + 3]),
        ("0A 01000000 0700000000000000", vec![7]),
        ("0C 01 02000000 07000000 03000000", vec![3, 7]),
        (&format!("0C 02 {portable}"), vec![7]),
        (
            &format!("0D 02 00000000 02 {portable} 01000000 01 01000000 07000000"),
            vec![7, (1 << 32) + 7],
        ),
    ] {
        assert_eq!(read(hex), expected, "{hex}");
        let bytes = bytes_of(hex);
        for cut in 0..bytes.len() {
            assert!(decode_as(&bytes[..cut], ForeignFormat::Doris, "cut").is_err(), "{hex} {cut}");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(decode_as(&longer, ForeignFormat::Doris, "longer").is_err(), "{hex}");
    }
    assert!(decode_as(&[&[6][..], &seven].concat(), ForeignFormat::Doris, "kind 6").is_err());
}

#[test]
fn deletion_vectors_are_read_as_they_are_written() {
    let vector = "d1d33964 0100000000000000 00000000 3a300000 01000000 00000000 10000000 0100";
    assert_eq!(read(vector), [1]);
    let framed = format!("00000022 {vector} eebd85f4");
    assert_eq!(read(&framed), [1]);
    assert_eq!(read(&format!("01 {framed}")), [1], "a file of Delta Lake's");
    let file = bytes_of(&format!("01 {framed} {framed}"));
    assert_eq!(parts(&file, "file").unwrap().len(), 2);
    assert_eq!(values(&decode(&file, "file").unwrap()), [1]);
    for at in 0..bytes_of(&framed).len() {
        let mut changed = bytes_of(&framed);
        changed[at] ^= 1;
        assert!(decode_as(&changed, ForeignFormat::Iceberg, "changed").is_err(), "byte {at}");
    }
    let text = b"^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L";
    assert_eq!(values(&decode(text, "inline").unwrap()), [3, 4, 7, 11, 18, 29]);
    assert!(decode(&text[..text.len() - 5], "inline").is_err());
    assert!(decode(&text[..text.len() - 1], "inline").is_err());
    assert!(decode(&[&text[..], b"00000"].concat(), "inline").is_err(), "4 zeros behind it");
}

#[test]
fn values_that_a_format_cannot_have_are_named() {
    for (format, value) in [
        (ForeignFormat::ClickHouse32, 1 << 32),
        (ForeignFormat::Iceberg, 1 << 63),
        (ForeignFormat::Delta, deletion::MAX_POSITION + 1),
        (ForeignFormat::DeltaInline, u64::MAX),
    ] {
        let set = IntegerSet::from([1, value]);
        let message = encode(&set, format).unwrap_err().to_string();
        assert_eq!(message, format!("{value} does not fit in {format}"));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("set");
        let refused = set.write_as(&path, SetFormat::Foreign(format)).unwrap_err();
        assert_eq!(refused.to_string(), message);
        assert!(!path.exists());
    }
    let error = spark::rows(IntegerSet::from([1 << 63]).view()).next().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "9223372036854775808 does not fit in spark-bitmap");
}

#[test]
fn rows_of_spark_that_are_no_natural_numbers_are_refused_with_the_number() {
    let mut bitmap = [0; spark::BITMAP_BYTES];
    bitmap[4095] = 0x80;
    let of = |bucket| spark::from_rows([(bucket, bitmap)]);
    assert_eq!(of(1).unwrap(), IntegerSet::from([32_768]));
    assert_eq!(of(0).unwrap_err().to_string(), "bucket 0 has the number -32767, which is below 0");
    assert!(of(-1).unwrap_err().to_string().contains("-65535"));
    assert!(of(i64::MAX).unwrap_err().to_string().contains("2^63 or more"));
    assert!(of(i64::MIN).is_err());
    let last = (i64::MAX - 1) / 32_768 + 1;
    let largest = IntegerSet::from([i64::MAX.cast_unsigned()]);
    let largest = spark::rows(largest.view()).collect::<Result<Vec<_>>>().unwrap();
    assert_eq!(largest[0].0, last);
    assert!(spark::from_rows([(1, [0; spark::BITMAP_BYTES + 1])]).is_err());
    assert_eq!(spark::from_rows([(0, [1_u8]), (2, [4])]).unwrap(), IntegerSet::from([0, 32_771]));
}

/// Sets of all kinds of containers, below `limit`.
fn sets(limit: u64) -> impl Strategy<Value = BTreeSet<u64>> {
    let value =
        prop_oneof![0..100_u64, Just(32_768), any::<u32>().prop_map(u64::from), any::<u64>()]
            .prop_map(move |value| value % limit);
    let runs = prop::collection::vec((any::<u64>(), 0..9000_u64), 0..3);
    (prop::collection::btree_set(value, 0..60), runs).prop_map(move |(mut set, runs)| {
        for (start, len) in runs {
            let start = start % limit;
            set.extend(start..start.saturating_add(len).min(limit));
        }
        set
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_written_is_read_from_memory_and_from_files_and_no_cut_is(
        format in prop::sample::select(&ForeignFormat::ALL[..]),
        narrow in any::<bool>(),
        seed in any::<usize>(),
        all in sets(u64::MAX),
    ) {
        let limit = if narrow { 1 << 33 } else { u64::MAX };
        let model: BTreeSet<u64> =
            all.into_iter().map(|value| (value % limit).min(format.max_value())).collect();
        let set: IntegerSet = model.iter().copied().collect();
        let bytes = encode(&set, format).unwrap();
        let decoded = decode_as(&bytes, format, "set").unwrap();
        prop_assert_eq!(decoded.to_set().unwrap(), set.clone());
        prop_assert!(decode(&bytes, "set").unwrap().view().iter().map(Result::unwrap).eq(model));
        // Through a file in bounded memory, the same bytes.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("set");
        let written = set.write_as(&path, SetFormat::Foreign(format)).unwrap();
        prop_assert_eq!(written.cardinality, set.len());
        prop_assert_eq!(std::fs::read(&path).unwrap(), bytes.clone());
        let cut = seed % bytes.len();
        // Text without its last characters may be a smaller set's only if these were filled up.
        let refused = decode_as(&bytes[..cut], format, "cut").map(|cut| cut.to_set());
        prop_assert!(!matches!(refused, Ok(Ok(_))), "cut at {}", cut);
        if format != ForeignFormat::DeltaInline {
            let longer = [&bytes[..], &[0]].concat();
            prop_assert!(decode_as(&longer, format, "longer").is_err());
        }
    }

    #[test]
    fn rows_of_spark_come_back_in_any_order(model in sets(1 << 63), cut in any::<bool>()) {
        let set: IntegerSet = model.iter().copied().collect();
        let mut rows: Vec<_> = spark::rows(set.view()).collect::<Result<_>>().unwrap();
        prop_assert!(rows.is_sorted_by_key(|(bucket, _)| *bucket));
        rows.reverse();
        let whole = spark::from_rows(rows.iter().map(|(bucket, bitmap)| (*bucket, &bitmap[..])));
        prop_assert_eq!(whole.unwrap(), set.clone());
        if cut {
            let half = rows.iter().map(|(bucket, bitmap)| (*bucket, &bitmap[..2048]));
            let kept: IntegerSet =
                model.into_iter().filter(|v| v.wrapping_sub(1) % 32_768 < 16_384 || *v == 0).collect();
            prop_assert_eq!(spark::from_rows(half).unwrap(), kept);
        }
    }

    #[cfg(feature = "columnar")]
    #[test]
    fn tables_of_spark_are_read_as_they_were_written(model in sets(1 << 63)) {
        let set: IntegerSet = model.into_iter().collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("set.parquet");
        set.write_as(&path, SetFormat::SparkBitmap).unwrap();
        prop_assert!(spark::is_table(&path).unwrap());
        prop_assert_eq!(spark::read_table(&path, 64 << 20).unwrap(), set);
    }

    #[test]
    fn no_bytes_make_a_reader_panic(
        format in prop::sample::select(&ForeignFormat::ALL[..]),
        model in sets(1 << 40),
        edits in prop::collection::vec((any::<usize>(), any::<u8>()), 0..6),
        noise in prop::collection::vec(any::<u8>(), 0..80),
        noisy in any::<bool>(),
    ) {
        let mut bytes = noise;
        if !noisy {
            let all = model.into_iter().map(|value| value.min(format.max_value()));
            bytes = encode(&all.collect(), format).unwrap();
            for (at, byte) in edits {
                let at = at % bytes.len();
                bytes[at] = byte;
            }
        }
        let ask = |found: Result<Decoded<'_>>| {
            if let Ok(found) = found {
                let _ = found.view().iter().take(100_000).flatten().count();
                let _ = found.to_set();
            }
        };
        for format in ForeignFormat::ALL {
            ask(decode_as(&bytes, format, "bytes"));
        }
        ask(decode(&bytes, "bytes"));
        let _ = (Foreign::of(&bytes).to_string(), parts(&bytes, "bytes"));
        let file = [&b"PFA1"[..], &bytes, b"PFA1{}\x02\0\0\0\0\0\0\0PFA1"].concat();
        ask(decode(&file, "bytes"));
    }
}

mod puffins {
    use super::*;

    fn file(blobs: &[&[u8]], edit: impl Fn(String) -> String) -> Vec<u8> {
        let (mut bytes, mut list) = (b"PFA1".to_vec(), Vec::new());
        for (number, blob) in blobs.iter().enumerate() {
            list.push(format!(
                r#"{{"type":"deletion-vector-v1","fields":[],"snapshot-id":-1,"sequence-number":-1,"offset":{},"length":{},"properties":{{"referenced-data-file":"data-{number}.parquet"}}}}"#,
                bytes.len(),
                blob.len()
            ));
            bytes.extend_from_slice(blob);
        }
        let footer = edit(format!(r#"{{"blobs":[{}],"properties":{{}}}}"#, list.join(",")));
        bytes.extend_from_slice(b"PFA1");
        bytes.extend_from_slice(footer.as_bytes());
        bytes.extend(i32::try_from(footer.len()).unwrap().to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend_from_slice(b"PFA1");
        bytes
    }

    #[test]
    fn the_vectors_of_a_file_are_listed_and_read_and_damage_is_refused() {
        let a = encode(&IntegerSet::from([1, 5]), ForeignFormat::Iceberg).unwrap();
        let b = encode(&IntegerSet::from([1 << 40]), ForeignFormat::Iceberg).unwrap();
        let whole = file(&[&a, &b], |footer| footer);
        let found = parts(&whole, "puffin").unwrap();
        assert_eq!(found[1].data_file.as_deref(), Some("data-1.parquet"));
        assert_eq!(values(&decode_part(&whole, &found[1], "puffin").unwrap()), [1 << 40]);
        assert_eq!(values(&decode(&whole, "puffin").unwrap()), [1, 5, 1 << 40]);
        let iceberg = Some(Origin::Bytes(ForeignFormat::Iceberg));
        let second = Reading { from: iceberg, vector: Some(2), ..Reading::default() };
        assert_eq!(values(&second.decode(&whole, "puffin").unwrap()), [1 << 40]);
        let one = file(&[&a], |footer| footer);
        let only = Reading { from: iceberg, ..Reading::default() };
        assert_eq!(values(&only.decode(&one, "puffin").unwrap()), [1, 5]);
        assert_eq!(values(&only.decode(&a, "blob").unwrap()), [1, 5]);
        for cut in 0..whole.len() {
            assert!(decode(&whole[..cut], "puffin").is_err(), "cut at {cut}");
        }
        assert!(decode(&[&whole[..], &[0]].concat(), "puffin").is_err());
        for (from, to, why) in [
            (r#""offset":4"#, r#""offset":5"#, "byte"),
            (r#""offset":4"#, r#""offset":99999"#, "in front of the footer"),
            (r#""length":"#, r#""length":-"#, "in front of the footer"),
            (r#""fields":[]"#, r#""compression-codec":"zstd""#, "compressed"),
            ("{", "[", "no JSON"),
            ("blobs", "blubs", "no list of blobs"),
        ] {
            let damaged = file(&[&a], |footer| footer.replacen(from, to, 1));
            let error = decode(&damaged, "puffin").unwrap_err().to_string();
            assert!(error.contains(why), "{from}: {error}");
        }
        let mut flagged = whole.clone();
        let flags = flagged.len() - 8;
        flagged[flags] = 1;
        assert!(decode(&flagged, "puffin").unwrap_err().to_string().contains("compressed"));
    }
}

#[test]
fn sets_in_files_of_ours_are_no_bytes_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.bits");
    IntegerSet::from([1, 2]).write(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(Foreign::of(&bytes), Foreign::Bits);
    assert!(matches!(decode(&bytes, "set"), Err(Error::NotConvertible { .. })));
    assert_eq!(SetFile::open(&path).unwrap().len(), 2);
}

#[test]
fn a_file_of_delta_lake_without_vectors_was_cut() {
    let bytes = encode(&IntegerSet::from([1, 5]), ForeignFormat::Delta).unwrap();
    for cut in 0..bytes.len() {
        assert!(decode_as(&bytes[..cut], ForeignFormat::Delta, "cut").is_err(), "cut at {cut}");
    }
}

/// The byte is that of the key, also in text behind white space.
#[test]
fn positions_of_64_bits_are_no_positions_in_a_data_file() {
    let key = 1_u32 << 31;
    let bitmap = [0x3A, 0x30, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0];
    let mut bytes = deletion::MAGIC.to_vec();
    bytes.extend(1_u64.to_le_bytes());
    bytes.extend(key.to_le_bytes());
    bytes.extend(bitmap);
    let wrong = |offset| Damage { offset, what: "a position in a data file has 63 bits" };
    assert_eq!(deletion::unframed(&bytes).err(), Some(wrong(12)));
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let mut text = b"\n\n\n".to_vec();
    text.extend(bytes.as_chunks().0.iter().flat_map(|group| deletion::to_z85(*group)));
    // Four bytes are five characters.
    assert_eq!(deletion::inline(&text).err(), Some(wrong(3 + 15)));
    text[3 + 7] = b'~';
    assert_eq!(deletion::inline(&text).err().map(|damage| damage.offset), Some(3 + 7));
}
