//! Parquet and Arrow files in and out, held against the crates that define them.

use crate::workspace::Workspace;
use arrow_array::builder::StringViewBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type as Int32Arrow, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, Decimal128Array, DictionaryArray, Int8Array, Int32Array,
    Int64Array, RecordBatch, RunArray, StringArray, StructArray, UInt32Array, UInt64Array,
};
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_ipc::{CompressionType, MetadataVersion};
use arrow_schema::Field;
use parquet::basic::{Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::data_type::{
    ByteArray, ByteArrayType, FixedLenByteArray, FixedLenByteArrayType, Int32Type, Int64Type,
};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::RowAccessor;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

/// A user's file: names, and ids of two kinds, some of which are null.
const SCHEMA: &str = "message users {
    REQUIRED BYTE_ARRAY name (UTF8);
    OPTIONAL INT32 small (INTEGER(32,false));
    REQUIRED INT64 id;
    OPTIONAL group place { OPTIONAL INT64 code (INTEGER(64,false)); }
}";

/// Row groups of so many ids each, with nulls in every third `small`.
fn parquet(path: &Path, groups: &[&[i64]], properties: WriterPropertiesBuilder) {
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties.build())).unwrap();
    for ids in groups {
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let names: Vec<ByteArray> =
            ids.iter().map(|id| ByteArray::from(format!("user {id}").into_bytes())).collect();
        column.typed::<ByteArrayType>().write_batch(&names, None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let levels: Vec<i16> = (0..ids.len()).map(|row| i16::from(row % 3 != 2)).collect();
        let there = ids.iter().zip(&levels).filter(|(_, level)| **level == 1);
        let small: Vec<i32> = there.map(|(id, _)| i32::try_from(*id).unwrap_or(-1)).collect();
        column.typed::<Int32Type>().write_batch(&small, Some(&levels), None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(ids, None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let levels: Vec<i16> = (0..ids.len()).map(|row| [0, 1, 2][row % 3]).collect();
        let codes: Vec<i64> = ids.iter().skip(2).step_by(3).map(|id| -1 - id).collect();
        column.typed::<Int64Type>().write_batch(&codes, Some(&levels), None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
    }
    writer.close().unwrap();
}

/// Writes an Arrow file of one record batch.
fn arrow(path: &Path, batch: &RecordBatch) {
    packed_arrow(path, batch, None);
}

fn packed_arrow(path: &Path, batch: &RecordBatch, compression: Option<CompressionType>) {
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let file = File::create(path).unwrap();
    let mut writer = FileWriter::try_new_with_options(file, &batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
}

fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder()
}

fn encoded(encoding: Encoding) -> WriterPropertiesBuilder {
    let properties = properties().set_dictionary_enabled(false);
    ["id", "small"].into_iter().fold(properties, |properties, column| {
        properties.set_column_encoding(ColumnPath::from(column), encoding)
    })
}

fn ids(count: i64) -> Vec<i64> {
    (0..count).map(|index| (index * 2_654_435_761) % 268_435_399).collect()
}

fn text<T: Ord + Copy + ToString>(values: &[T]) -> String {
    let mut values = values.to_vec();
    values.sort_unstable();
    values.iter().fold(String::new(), |text, value| text + &value.to_string() + "\n")
}

/// The columns of a table that has but unsigned 64-bit ones, a row each.
fn table(path: &Path) -> (Vec<String>, Vec<Vec<u64>>) {
    if path.extension().is_some_and(|suffix| suffix == "parquet") {
        let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        let schema = reader.metadata().file_metadata().schema_descr();
        let names: Vec<_> = schema.columns().iter().map(|c| c.name().to_owned()).collect();
        let rows = reader.get_row_iter(None).unwrap().map(|row| {
            let row = row.unwrap();
            (0..names.len()).map(|column| row.get_ulong(column).unwrap()).collect()
        });
        return (names.clone(), rows.collect());
    }
    let reader = FileReader::try_new(File::open(path).unwrap(), None).unwrap();
    let names: Vec<_> = reader.schema().fields().iter().map(|f| f.name().clone()).collect();
    let mut rows = Vec::new();
    for batch in reader {
        let batch = batch.unwrap();
        for row in 0..batch.num_rows() {
            let columns = batch.columns().iter();
            rows.push(columns.map(|c| c.as_primitive::<UInt64Type>().value(row)).collect());
        }
    }
    (names, rows)
}

#[test]
fn a_column_is_sorted_however_it_is_encoded() {
    let work = Workspace::new();
    let ids = ids(30_000);
    let groups: Vec<&[i64]> = ids.chunks(7_001).collect();
    let small: Vec<i64> = groups
        .iter()
        .flat_map(|group| group.iter().enumerate().filter(|(row, _)| row % 3 != 2))
        .map(|(_, id)| *id)
        .collect();
    let variants = [
        properties(),
        properties().set_compression(Compression::SNAPPY).set_dictionary_enabled(false),
        properties().set_compression(Compression::ZSTD(ZstdLevel::default())),
        properties().set_compression(Compression::LZ4_RAW).set_data_page_row_count_limit(100),
        properties().set_compression(Compression::GZIP(GzipLevel::default())),
        properties().set_writer_version(WriterVersion::PARQUET_2_0),
        encoded(Encoding::DELTA_BINARY_PACKED),
        encoded(Encoding::BYTE_STREAM_SPLIT),
    ];
    for (number, properties) in variants.into_iter().enumerate() {
        // Told by its content, not by its name.
        parquet(&work.file("users"), &groups, properties);
        for limits in ["", "--mem 64M --threads 2", "--strategy multi-pass", "--strategy spill"] {
            let ran = work.run(&format!("users --column id {limits}"));
            assert_eq!(ran.quiet(), text(&ids), "{number} {limits}");
        }
        let ran = work.run("users --column 2 --stats=json -o out");
        assert_eq!((ran.code, work.read("out")), (Some(0), text(&small)), "{number}");
        assert!(ran.err.contains(r#""blank":9997,"#), "{}", ran.err);
        let codes: Vec<u64> = groups
            .iter()
            .flat_map(|group| group.iter().skip(2).step_by(3))
            .map(|id| (-1 - id).cast_unsigned())
            .collect();
        assert_eq!(work.run("users --column place.code").quiet(), text(&codes), "{number}");
    }
}

#[test]
fn numbers_may_be_texts() {
    let work = Workspace::new();
    let texts = |texts: &[Option<&str>]| Arc::new(texts.iter().collect::<StringArray>());
    let places = [Some("10.0.0.9"), None, Some("10.0.0.0/31"), Some(""), Some("10.0.0.9")];
    let places = texts(&places);
    let encoded: DictionaryArray<Int32Arrow> = places.iter().collect();
    let phones = texts(&[Some("0049"), Some("7"), Some("18446744073709551615"), None, Some("7")]);
    let batch = RecordBatch::try_from_iter([
        ("tag", texts(&[Some("a"), Some("a"), Some("b"), Some("b"), Some("a")]) as ArrayRef),
        ("place", places as ArrayRef),
        ("encoded", Arc::new(encoded) as ArrayRef),
        ("phone", phones as ArrayRef),
    ])
    .unwrap();
    arrow(&work.file("t"), &batch);
    let sorted = "7\n7\n49\n18446744073709551615\n";
    for limits in ["", "--mem 64M --threads 1", "--strategy multi-pass"] {
        assert_eq!(work.run(&format!("t --column phone {limits}")).quiet(), sorted);
    }
    for column in ["place", "encoded"] {
        let build = |notation: &str| {
            work.set(&format!("build t --column {column} {notation} --to text"), "").quiet()
        };
        assert_eq!(build("--as cidr"), "10.0.0.0/31\n10.0.0.9\n");
        assert_eq!(build("--as ipv4 --ranges"), "10.0.0.0-10.0.0.1\n10.0.0.9\n");
        let group = format!("group t --key tag --column {column} --as ipv4 -o g.sets");
        work.set(&group, "").quiet();
        assert_eq!(work.set("cat g.sets:b --as cidr", "").quiet(), "10.0.0.0/31\n");
        assert_eq!(work.set("keys-of g.sets --as ipv4 10.0.0.9", "").quiet(), "a\n");
    }
    work.set("group t --key tag --column phone -o g.sets", "").quiet();
    assert_eq!(work.set("cat g.sets:a", "").quiet(), "7\n49\n");
    work.run("t")
        .refused("no column of integers in tag, place, encoded, phone, but several of text");
    // The only column of a table without integers needs no name.
    arrow(&work.file("one"), &batch.project(&[3]).unwrap());
    assert_eq!(work.run("one").quiet(), sorted);
    // Of 4 bytes each: their statistics are no numbers.
    let texts = ["0049", "7   ", "  12"].map(ByteArray::from);
    one_column::<ByteArrayType>(&work.file("one.parquet"), "BYTE_ARRAY phone (UTF8)", &texts);
    assert_eq!(work.run("one.parquet").quiet(), "7\n12\n49\n");
    assert_eq!(work.set("contains one.parquet 12", "").quiet(), "true\n");
    let rejects = "one.parquet --column phone --rejects r --mem 64M --threads 8";
    assert_eq!(work.run(rejects).quiet(), "7\n12\n49\n");
}

/// Writes a Parquet file of one column of this type.
fn one_column<T: parquet::data_type::DataType>(path: &Path, column: &str, values: &[T::T]) {
    column_in_groups::<T>(path, column, values, 1, properties());
}

/// A file of one column, whose row groups have the same values.
fn column_in_groups<T: parquet::data_type::DataType>(
    path: &Path,
    column: &str,
    values: &[T::T],
    groups: usize,
    properties: WriterPropertiesBuilder,
) {
    let schema = parse_message_type(&format!("message one {{ REQUIRED {column}; }}")).unwrap();
    let file = File::create(path).unwrap();
    let properties = Arc::new(properties.build());
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), properties).unwrap();
    for _ in 0..groups {
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<T>().write_batch(values, None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
    }
    writer.close().unwrap();
}

#[test]
fn decimals_without_a_fraction_are_numbers() {
    let work = Workspace::new();
    let big = i128::from(u64::MAX);
    let wide = [7, big, 0, big + 1, -1, i128::MIN / 2];
    let bytes = |value: i128| -> ByteArray {
        let bytes = value.to_be_bytes();
        let spare = bytes
            .windows(2)
            .take_while(|two| two[0] == 0 && two[1] < 0x80 || two[0] == 0xFF && two[1] >= 0x80);
        bytes[spare.count()..].to_vec().into()
    };
    let fixed = |len: usize| {
        let wide = wide.iter().map(move |&value| {
            let fill = if value < 0 { 0xFF } else { 0 };
            let mut whole = [fill; 48];
            whole[32..].copy_from_slice(&value.to_be_bytes());
            FixedLenByteArray::from(whole[48 - len..].to_vec())
        });
        wide.collect::<Vec<_>>()
    };
    let path = |name: &str| work.file(name);
    one_column::<Int32Type>(&path("4.parquet"), "INT32 id (DECIMAL(9,0))", &[7, -5, 0]);
    one_column::<Int64Type>(&path("8.parquet"), "INT64 id (DECIMAL(18,0))", &[7, -5, 0]);
    // The lowest 9 bytes of the last value are 0.
    let column = "FIXED_LEN_BYTE_ARRAY(9) id (DECIMAL(20,0))";
    one_column::<FixedLenByteArrayType>(&path("9.parquet"), column, &fixed(9)[..5]);
    let column = "FIXED_LEN_BYTE_ARRAY(32) id (DECIMAL(76,0))";
    one_column::<FixedLenByteArrayType>(&path("32.parquet"), column, &fixed(32));
    let some = wide.map(bytes);
    one_column::<ByteArrayType>(&path("any.parquet"), "BYTE_ARRAY id (DECIMAL(38,0))", &some);
    let decimals: Decimal128Array = wide.iter().copied().map(Some).chain([None]).collect();
    let decimals = Arc::new(decimals.with_precision_and_scale(38, 0).unwrap()) as ArrayRef;
    arrow(&path("d.arrow"), &RecordBatch::try_from_iter([("id", decimals)]).unwrap());
    for (file, most) in [
        ("4.parquet", "0\n7\n"),
        ("8.parquet", "0\n7\n"),
        ("9.parquet", "0\n7\n18446744073709551615\n"),
        ("32.parquet", "0\n7\n18446744073709551615\n"),
        ("any.parquet", "0\n7\n18446744073709551615\n"),
        ("d.arrow", "0\n7\n18446744073709551615\n"),
    ] {
        assert_eq!(work.run(&format!("{file} --rejects r")).out, most, "{file}");
        // Rows are decimals, in whatever notation texts are.
        let hex = most.replace("18446744073709551615", "ffffffffffffffff");
        assert_eq!(work.run(&format!("{file} --as hex --rejects r")).out, hex, "{file}");
        work.run(file).refused("row");
    }
    assert_eq!(work.read("r").lines().count(), 3, "{}", work.read("r"));
    // Columns of integers and of text come first; the keys of rows are no decimals.
    let texts = Arc::new(StringArray::from(vec!["5", "6"])) as ArrayRef;
    let fraction = Decimal128Array::from(vec![10, 20]).with_precision_and_scale(9, 1).unwrap();
    let whole = Decimal128Array::from(vec![10, 20]).with_precision_and_scale(9, 0).unwrap();
    let both = [("text", texts), ("whole", Arc::new(whole) as ArrayRef)];
    arrow(&path("both"), &RecordBatch::try_from_iter(both).unwrap());
    assert_eq!(work.run("both").quiet(), "5\n6\n");
    assert_eq!(work.run("both --column whole").quiet(), "10\n20\n");
    work.set("group both --key whole --column text -o g.sets", "").refused("holds Decimal");
    let fraction = RecordBatch::try_from_iter([("id", Arc::new(fraction) as ArrayRef)]).unwrap();
    arrow(&path("fraction"), &fraction);
    work.run("fraction").refused("holds Decimal");
    work.run("fraction --column id").refused("holds Decimal");
}

#[test]
fn a_set_is_built_although_the_first_rows_lie_about_the_range() {
    // The sample sees some 16,000 rows of a batch, so the last of the narrow partitions begins inside
    // of a container and has nearly all values.
    let work = Workspace::new();
    let texts: StringArray = (0..300_000).map(|id| Some((id * 3).to_string())).collect();
    let batch = RecordBatch::try_from_iter([("s", Arc::new(texts) as ArrayRef)]).unwrap();
    arrow(&work.file("t"), &batch);
    let expected = text(&(0..300_000_u64).map(|id| id * 3).collect::<Vec<_>>());
    for threads in [1, 2] {
        for to in ["bits", "dense", "sparse", "runs", "roaring", "text"] {
            work.set(&format!("build t --to {to} -o s --mem 128M --threads {threads}"), "").quiet();
            assert!(work.set("cat s", "").quiet() == expected, "{to}");
        }
    }
}

#[test]
fn columns_that_cannot_be_read_are_named_with_those_that_can() {
    let work = Workspace::new();
    parquet(&work.file("users"), &[&[1, 2], &[]], properties());
    for (column, message) in [
        (
            "--column nosuch",
            "users: no column is named \"nosuch\"; there are name, small, id, place.code",
        ),
        ("--column 5", "users: no column 5: it has 4"),
        ("--column name", "users: row 1: expected a digit: user 1"),
        ("", "users: several columns of integers: small, id, place.code"),
    ] {
        work.run(&format!("users {column} -o out")).refused(message);
    }
    work.set("build users -o out", "").refused("several columns of integers");
    assert_eq!(work.names(), ["users"]);
    let content = fs::read(work.file("users")).unwrap();
    work.run_with("", &content).refused("it is in Parquet format, which is read only from a file");
    // One that can be gone back in is no pipe.
    let mut command = work.command(["--column", "id"]);
    let output = command.stdin(File::open(work.file("users")).unwrap()).output().unwrap();
    assert_eq!(output.stdout, b"1\n2\n");
}

#[test]
fn columns_of_one_name_are_told_apart_by_their_number() {
    let work = Workspace::new();
    let column = |ids: Vec<i64>| Arc::new(Int64Array::from(ids)) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("id", column(vec![1])), ("id", column(vec![2]))]);
    let batch = batch.unwrap();
    arrow(&work.file("t"), &batch);
    work.run("t --column id").refused("t: several columns are named \"id\": give its number");
    assert_eq!(work.run("t --column 2").quiet(), "2\n");
}

#[test]
fn a_run_that_fails_prints_no_part_of_a_table() {
    let work = Workspace::new();
    for format in ["parquet", "arrow"] {
        work.run_with(&format!("--to {format}"), b"1\nx\n").refused("-:2: byte 2");
        work.run(&format!("--to {format} nosuch")).refused("cannot open nosuch");
        work.set(&format!("build --to {format}"), "1\nx\n").refused("-:2: byte 2");
    }
}

#[test]
fn negative_numbers_are_malformed_with_their_rows() {
    let work = Workspace::new();
    // Many rows before, in groups that other threads read.
    let before = ids(100_000);
    parquet(&work.file("users"), &[&before, &[5, 6, -7, 8], &[-9]], properties());
    for _ in 0..5 {
        work.run("users --column id -o out")
            .refused("users: row 100003: expected a number of 0 or more: -7");
    }
    assert_eq!(work.names(), ["users"]);
    let mut found = before.clone();
    found.extend([5, 6, 8]);
    assert_eq!(work.run("users --column id --invalid skip").quiet(), text(&found));
    assert_eq!(work.run("users --column id --rejects bad -o out").quiet(), "");
    let rejected = "users\t100003\t0\texpected a number of 0 or more\t-7\n\
                    users\t100005\t0\texpected a number of 0 or more\t-9\n";
    assert_eq!(work.read("bad"), rejected);
    // So are values that are out of order.
    let ran = work.run("--check users --column id --invalid skip");
    assert!(
        ran.err.contains("bitsort: users:2: disorder") || ran.err.contains("users:"),
        "{}",
        ran.err
    );
}

fn batch(ids: &[i64]) -> RecordBatch {
    let names: Vec<String> = ids.iter().map(|id| format!("user {id}")).collect();
    let small =
        ids.iter().enumerate().map(|(row, id)| (row % 3 != 2).then(|| u32::try_from(*id).unwrap()));
    RecordBatch::try_from_iter([
        ("name", Arc::new(StringArray::from(names)) as ArrayRef),
        ("small", Arc::new(small.collect::<UInt32Array>())),
        ("id", Arc::new(Int64Array::from(ids.to_vec()))),
    ])
    .unwrap()
}

#[test]
fn arrow_files_and_streams_are_read() {
    let work = Workspace::new();
    let ids = ids(30_000);
    let batches: Vec<_> = ids.chunks(7_001).map(batch).collect();
    for compression in [None, Some(CompressionType::ZSTD), Some(CompressionType::LZ4_FRAME)] {
        let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
        let file = File::create(work.file("file")).unwrap();
        let schema = batches[0].schema();
        let mut writer = FileWriter::try_new_with_options(file, &schema, options.clone()).unwrap();
        for batch in &batches {
            writer.write(batch).unwrap();
        }
        writer.finish().unwrap();
        let file = File::create(work.file("stream")).unwrap();
        let mut writer = StreamWriter::try_new_with_options(file, &schema, options).unwrap();
        for batch in &batches {
            writer.write(batch).unwrap();
        }
        writer.finish().unwrap();
        let stream = fs::read(work.file("stream")).unwrap();
        work.write("two", [&stream[..], &stream].concat());
        work.run("two --column id").refused("something follows the end of the stream");
        for command in ["bloom build -o x.bloom", "bloom dedup", "bloom dedup --exact"] {
            work.set(&format!("{command} stream"), "").refused("is an Arrow file, which has rows");
        }
        for name in ["file", "stream"] {
            for limits in ["", "--mem 64M", "--strategy multi-pass"] {
                let ran = work.run(&format!("{name} --column id {limits}"));
                assert_eq!(ran.quiet(), text(&ids), "{name} {compression:?} {limits}");
            }
            let ran = work.run(&format!("{name} --column small --stats=json -o out"));
            assert!(ran.err.contains(r#""blank":9997,"#), "{}", ran.err);
            work.run(&format!("{name} --column name")).refused("row 1: expected a digit");
        }
    }
    let tiny = Arc::new(Int8Array::from(vec![Some(3), None, Some(-1)])) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("tiny", tiny)]).unwrap();
    arrow(&work.file("t"), &batch);
    work.run("t").refused("t: row 3: expected a number of 0 or more: -1");
    assert_eq!(work.run("t --invalid skip").quiet(), "3\n");
}

#[test]
fn tables_are_written_and_read_back() {
    let work = Workspace::new();
    let mut ids: Vec<u64> =
        (0..200_000_u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 50).collect();
    ids.extend([u64::MAX, u64::MAX, 0]);
    work.write("ids", ids.iter().fold(String::from("id\n"), |s, id| s + &id.to_string() + "\n"));
    ids.sort_unstable();
    let one = |values: &[u64]| values.iter().map(|&value| vec![value]).collect::<Vec<_>>();
    let mut distinct = ids.clone();
    distinct.dedup();
    let counted: Vec<Vec<u64>> =
        ids.chunk_by(|a, b| a == b).map(|run| vec![run[0], run.len() as u64]).collect();
    for suffix in ["parquet", "arrow", "feather"] {
        let out = format!("out.{suffix}");
        assert_eq!(work.run(&format!("ids --column id --mem 64M -o {out}")).quiet(), "");
        assert_eq!(table(&work.file(&out)), (vec!["id".to_owned()], one(&ids)), "{suffix}");
        assert_eq!(work.run(&format!("-c {out}")).quiet(), "", "{suffix} is sorted");
        assert_eq!(work.run(&format!("ids --header -u -r -o {out}")).quiet(), "");
        let descending: Vec<u64> = distinct.iter().rev().copied().collect();
        assert_eq!(table(&work.file(&out)), (vec!["value".to_owned()], one(&descending)));
        assert_eq!(work.run(&format!("ids --header --count -o {out}")).quiet(), "");
        let names = vec!["value".to_owned(), "count".to_owned()];
        assert_eq!(table(&work.file(&out)), (names, counted.clone()), "{suffix}");
        for line in ["build ids", "or ids ids", "cat ids"] {
            assert_eq!(work.set(&format!("{line} --column id -o {out}"), "").quiet(), "");
            assert_eq!(table(&work.file(&out)), (vec!["id".to_owned()], one(&distinct)), "{line}");
        }
        // A set, of a table, as a table; the name alone says so.
        assert_eq!(work.set(&format!("build {out} --column id -o s.bits"), "").quiet(), "");
        assert_eq!(work.set(&format!("and s.bits s.bits -o {out}"), "").quiet(), "");
        assert_eq!(table(&work.file(&out)).1, one(&distinct), "{suffix}");
        assert_eq!(work.set(&format!("count {out}"), "").quiet(), format!("{}\n", distinct.len()));
        // An output that may be an input; nothing at all.
        assert_eq!(work.run(&format!("{out} -o {out}")).quiet(), "");
        assert_eq!(table(&work.file(&out)).1, one(&distinct), "{suffix}");
        work.write("nothing", "");
        assert_eq!(work.run(&format!("nothing -o {out}")).quiet(), "");
        assert_eq!(table(&work.file(&out)).1, Vec::<Vec<u64>>::new());
        assert_eq!(work.run(&out).quiet(), "");
    }
    assert_eq!(work.run("ids --header --to text -o t.parquet").quiet(), "");
    assert!(work.read("t.parquet").starts_with("0\n0\n"), "what is asked for counts");
    let mut command = work.command(["ids", "--header", "--to", "parquet", "--stats=json"]);
    let output = command.output().unwrap();
    fs::write(work.file("piped.parquet"), &output.stdout).unwrap();
    assert_eq!(table(&work.file("piped.parquet")).1, one(&ids));
    let stats = String::from_utf8(output.stderr).unwrap();
    assert!(stats.contains(&format!(r#""written_bytes":{}"#, output.stdout.len())), "{stats}");
}

#[test]
fn many_inputs_of_many_kinds_are_sorted_and_merged() {
    let work = Workspace::new();
    parquet(&work.file("a"), &[&[10, 30], &[50, 70]], properties());
    work.write("b", "id\n20\n40\n");
    let expected = "10\n20\n30\n40\n50\n70\n";
    assert_eq!(work.run("a b --column id").quiet(), "10\n20\n30\n40\n50\n70\n");
    assert_eq!(work.run("-m b a --column id").quiet(), expected);
    work.write("c", "id\n1\nx\n");
    work.run("a c --column id").refused("c:3: byte 5: expected a digit: \"x\"");
    parquet(&work.file("d"), &[&[10, 30], &[20, 70]], properties());
    work.run("-m d --column id").refused("d:3: 20 follows 30");
    assert_eq!(work.run_with("-m a - --column id", b"id\n20\n40\n").quiet(), expected);
    // Each of them has a batch that is larger than its share would be.
    let ids: Vec<i64> = (0..60_000).collect();
    work.write("e", text(&ids));
    work.run("e -o e.arrow").quiet();
    let many = format!("-m {}--mem 64M --stats=json -o out", "e.arrow ".repeat(20));
    let ran = work.run(&many);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(crate::limits::peak(&ran.err) < 64 << 20, "{}", ran.err);
    let copied: Vec<i64> = ids.iter().flat_map(|id| [*id; 20]).collect();
    assert!(work.read("out") == text(&copied));
}

/// Runs on every damaged file; each must be sorted or refused, and nothing else.
fn survives(work: &Workspace, content: &[u8]) {
    work.write("damaged", content);
    for line in ["damaged --column id --mem 64M", "damaged --column small --mem 64M"] {
        let ran = work.run(line);
        assert!(matches!(ran.code, Some(0 | 2)), "{line}: {ran:?}");
        assert!(!ran.err.contains("panicked"), "{line}: {ran:?}");
    }
}

#[test]
fn damaged_tables_are_refused_and_never_a_panic() {
    let work = Workspace::new();
    let ids = ids(40);
    let versions = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0];
    let mut contents: Vec<Vec<u8>> = versions
        .into_iter()
        .map(|version| {
            let properties = properties().set_writer_version(version);
            let properties = properties.set_compression(Compression::SNAPPY);
            parquet(&work.file("whole"), &[&ids, &ids[..9]], properties);
            fs::read(work.file("whole")).unwrap()
        })
        .collect();
    for stream in [false, true] {
        let options = IpcWriteOptions::default();
        let options = options.try_with_compression(Some(CompressionType::LZ4_FRAME)).unwrap();
        let (mut content, batch) = (Vec::new(), batch(&ids));
        if stream {
            let schema = batch.schema();
            let mut writer =
                StreamWriter::try_new_with_options(&mut content, &schema, options).unwrap();
            writer.write(&batch).unwrap();
            writer.finish().unwrap();
        } else {
            let schema = batch.schema();
            let mut writer =
                FileWriter::try_new_with_options(&mut content, &schema, options).unwrap();
            writer.write(&batch).unwrap();
            writer.finish().unwrap();
        }
        contents.push(content);
    }
    let mut random = 1_u64;
    for content in contents {
        let len = content.len();
        for cut in (4..len).step_by(len / 20 + 1) {
            survives(&work, &content[..cut]);
        }
        for _ in 0..60 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let mut damaged = content.clone();
            let at = 8 + usize::try_from(random >> 33).unwrap() % (len - 8);
            damaged[at] ^= random.to_le_bytes()[3] | 1;
            survives(&work, &damaged);
        }
    }
}

/// At this damage the crate that reads Parquet panics.
#[test]
fn files_that_made_a_program_crash_are_refused() {
    let work = Workspace::new();
    let crashes = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/crashes");
    for (name, column) in [
        ("delta-bytes", "--column txt"),
        ("delta-lengths", "--column txt"),
        ("dictionary", "--column id"),
        ("plain-texts", "--key k --column id"),
    ] {
        let path = crashes.join(name).with_extension("parquet");
        let arguments = format!("{} {column} -o out", path.display());
        let ran = if column.starts_with("--key") {
            work.set(&format!("group {arguments}"), "")
        } else {
            work.run(&arguments)
        };
        assert_eq!(ran.code, Some(2), "{name}: {ran:?}");
        assert!(
            ran.err.contains("cannot read") && !ran.err.contains("panicked"),
            "{name}: {ran:?}"
        );
        assert!(!work.file("out").exists());
    }
}

#[test]
fn many_tables_of_many_pieces_stay_within_the_limit() {
    let work = Workspace::new();
    let ids = ids(1500);
    parquet(&work.file("t"), &ids.chunks(1).collect::<Vec<_>>(), properties());
    let line =
        format!("{}--column id -u --mem 64M --threads 2 --stats=json -o out", "t ".repeat(60));
    let ran = work.run(&line);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let distinct: BTreeSet<i64> = ids.iter().copied().collect();
    assert_eq!(work.read("out"), text(&Vec::from_iter(distinct)));
    let peak = crate::limits::peak(&ran.err);
    assert!(peak < 64 << 20, "{peak}");
}

#[test]
fn numbers_of_any_width_are_no_keys_and_tables_have_no_lines() {
    let work = Workspace::new();
    let schema = "message m {
        REQUIRED FIXED_LEN_BYTE_ARRAY(4) price (DECIMAL(9,2));
        REQUIRED INT64 id;
    }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let file = File::create(work.file("t")).unwrap();
    let mut writer =
        SerializedFileWriter::new(file, schema, Arc::new(properties().build())).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let price = FixedLenByteArray::from(ByteArray::from(vec![0, 0, 0, 150]));
    column.typed::<FixedLenByteArrayType>().write_batch(&[price], None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int64Type>().write_batch(&[7], None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    assert_eq!(work.run("t --column id").quiet(), "7\n");
    work.set("group t --key price --column id -o out", "")
        .refused("column \"price\" holds Decimal(9, 2), not strings, bytes or integers");
    work.set("group t --key price --column id -o out", "")
        .refused("hint: choose another column, or write it as integers");
    for line in ["bloom build t -o out", "bloom dedup t", "bloom common t t"] {
        work.set(line, "").refused("t is a Parquet file, which has rows, not lines");
    }
}

#[test]
fn bitmaps_of_spark_are_written_recognized_and_read() {
    let work = Workspace::new();
    let values = "0\n1\n32768\n32769\n9223372036854775807\n";
    work.set("build --to spark-bitmap -o x.parquet", values).quiet();
    let found = work.set("identify x.parquet", "").quiet().clone();
    assert_eq!(found, "x.parquet: Parquet file, bitmaps of Spark's bitmap_construct_agg\n");
    assert_eq!(work.set("convert x.parquet", "").quiet(), values);
    assert_eq!(work.set("convert x.parquet --from spark-bitmap", "").quiet(), values);
    work.set("cat x.parquet", "").refused("its rows are bitmaps of Spark");
    assert_eq!(
        work.set("build x.parquet --column bucket", "").quiet(),
        "0\n1\n2\n281474976710656\n"
    );
    let refused = work.set("build --to spark-bitmap -o y", "9223372036854775808\n");
    refused.refused("9223372036854775808 does not fit in spark-bitmap");
    let theirs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/foreign");
    fs::copy(theirs.join("spark-bitmap.parquet"), work.file("theirs")).unwrap();
    let read = work.set("convert theirs", "").quiet().clone();
    assert_eq!(read, "0\n1\n40\n32768\n32769\n70000\n");
    // The order of the columns does not matter, nor do others.
    let numbers = Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef;
    let texts = Arc::new(StringArray::from(vec!["x", "y"])) as ArrayRef;
    let bitmaps = Arc::new(BinaryArray::from(vec![&b"\xFF"[..], b"\x01"])) as ArrayRef;
    let columns = [("day", texts.clone()), ("bitmap", bitmaps), ("bucket", numbers.clone())];
    for (columns, told) in [
        (&columns[1..], "its rows are bitmaps of Spark"),
        (&columns, "its rows may be bitmaps of Spark"),
    ] {
        arrow(&work.file("turned"), &RecordBatch::try_from_iter(columns.to_vec()).unwrap());
        for command in ["cat turned", "count turned", "build turned"] {
            work.set(command, "").refused(told);
        }
        assert_eq!(work.run("turned --column bucket").quiet(), "1\n2\n");
    }
    let columns = [("bitmap", texts), ("bucket", numbers)];
    arrow(&work.file("texts"), &RecordBatch::try_from_iter(columns).unwrap());
    assert_eq!(work.run("texts").quiet(), "1\n2\n");
    // A bit that stands for a number below 0: bucket 0, position 1.
    let schema = "message rows { REQUIRED INT64 b; OPTIONAL BYTE_ARRAY m; }";
    let file = File::create(work.file("negative")).unwrap();
    let properties = Arc::new(WriterProperties::builder().build());
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer = SerializedFileWriter::new(file, schema, properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int64Type>().write_batch(&[5, 0], None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let bitmap = [ByteArray::from(vec![2_u8])];
    column.typed::<ByteArrayType>().write_batch(&bitmap, Some(&[0, 1]), None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    work.set("convert negative", "").refused("cannot convert: Parquet file");
    work.set("convert negative --from spark-bitmap", "").refused("row 2");
    work.set("convert negative --from spark-bitmap", "").refused("-1");
}

#[test]
fn filters_of_parquet_files_are_written_and_asked() {
    let work = Workspace::new();
    let lines =
        |add: u64| (0..2000).fold(String::new(), |all, id| all + &format!("{}\n", id * 7 + add));
    let (ids, others) = (lines(0), lines(1));
    work.write("ids", &ids);
    work.run("ids --bloom=0.001 -o ids.parquet").quiet();
    assert_eq!(work.set("bloom contains ids.parquet 7", "").quiet(), "true\n");
    assert_eq!(work.set("bloom contains ids.parquet --column value 8", "").out, "false\n");
    let asked = work.set("bloom contains ids.parquet", &ids);
    assert!(asked.out.lines().all(|line| line.ends_with("\ttrue")));
    let found = work.set("bloom contains ids.parquet", &others).out.matches("true").count();
    assert!(found < 20, "{found}");
    work.run("ids -o plain.parquet").quiet();
    work.set("bloom contains plain.parquet 7", "")
        .refused("column \"value\" has no Bloom filter\nhint: bitsort --bloom");
    work.set("bloom contains ids.parquet x", "").refused("expected an integer of 64 bits");
    work.set("bloom contains ids.parquet", "7\nx\n").refused("expected an integer of 64 bits");
    work.set("bloom contains ids.parquet --funnel long 7", "").refused("no --funnel");
    let hint = work.set("bloom contains ids.parquet", "x\n").err;
    assert!(hint.contains("--skip-empty") && !hint.contains("--funnel"), "{hint}");
    for line in ["ids --bloom -o x", "ids --bloom -o x.arrow", "ids --bloom --to bits -o x"] {
        work.run(line).refused("only Parquet files have Bloom filters");
    }
    for rate in ["1", "1e-300", "9e-16"] {
        work.run(&format!("ids --bloom={rate} -o x.parquet")).refused("between 0 and 1");
    }
    work.write("none", "");
    work.run("none --bloom=1e-15 -o none.parquet").quiet();
    assert_eq!(work.set("bloom contains none.parquet 7", "").out, "false\n");
    let theirs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/foreign/filters.parquet");
    fs::copy(theirs, work.file("theirs")).unwrap();
    for (column, key, expected) in [
        ("id", "9", "true\n"),
        ("id", "-7", "true\n"),
        ("id", "8", "false\n"),
        ("name", "Zürich", "true\n"),
        ("2", "wolf", "false\n"),
    ] {
        let asked = work.set(&format!("bloom contains theirs --column {column} {key}"), "");
        assert_eq!(asked.out, expected, "{column} {key}");
    }
    // Damage anywhere is an error or an answer.
    let whole = fs::read(work.file("ids.parquet")).unwrap();
    for cut in (0..whole.len()).step_by(97) {
        work.write("cut", &whole[..cut]);
        assert_eq!(work.set("bloom contains cut --column 1 7", "").code, Some(2), "cut at {cut}");
    }
}

/// Columns of keys as others encode them: dictionaries, and views.
#[test]
fn encoded_columns_of_keys_are_read() {
    let work = Workspace::new();
    let tables = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/foreign");
    let texts = "\"\"\t1\nnew york\t1\nsport\t2\ntokyo\t1\n";
    let numbers = "3\t1\n4\t1\n5\t1\n6\t1\n";
    for (name, key, expected) in [
        ("keys.arrow", "key", texts),
        ("keys.arrow", "view", texts),
        ("keys.arrow", "bytes", texts),
        ("keys.arrow", "numbers", numbers),
        ("keys.parquet", "key", texts),
    ] {
        let table = tables.join(name);
        let line = format!("group {} --key {key} --column id -o out.sets", table.display());
        work.set(&line, "").quiet();
        let told = work.set("info out.sets", "").quiet();
        let counts =
            told.lines().map(|line| line.split('\t').take(2).collect::<Vec<_>>().join("\t") + "\n");
        assert_eq!(counts.collect::<String>(), expected, "{name} {key}");
    }
    // Without rows there may be no dictionaries.
    let table = tables.join("no-keys.arrow");
    work.set(&format!("group {} --key key --column id -o out.sets", table.display()), "").quiet();
    assert_eq!(work.set("info out.sets", "").quiet(), "");
    let table = tables.join("keys.arrow");
    let column = format!("group {} --key id --column key -o out.sets", table.display());
    work.set(&column, "").refused("row 1: expected a digit");
    // Of a column of numbers that is encoded, the numbers count, and not their places.
    let line = format!("group {} --key numbers --column numbers -o out.sets", table.display());
    work.set(&line, "").quiet();
    for number in 3..=6 {
        let found = work.set(&format!("cat out.sets:{number}"), "").quiet();
        assert_eq!(found, format!("{number}\n"));
    }
    let plain = format!("{} --column numbers --unique", table.display());
    assert_eq!(work.run(&plain).quiet(), "3\n4\n5\n6\n");
}

#[test]
fn pages_of_the_usual_size_fit_in_little_memory_for_any_number_of_threads() {
    let work = Workspace::new();
    let ids = ids(300_000);
    let whole = properties().set_dictionary_enabled(false).set_data_page_size_limit(1 << 20);
    let whole = whole.set_data_page_row_count_limit(1 << 20);
    parquet(&work.file("t.parquet"), &[&ids], whole);
    let sorted = text(&ids);
    for threads in [1, 2, 8, 256] {
        let ran = work.run(&format!("t.parquet --column id --mem 64M --threads {threads}"));
        assert!(ran.quiet() == sorted, "{threads}");
        let command = format!(
            "group t.parquet --key place.code --column id -o t.sets --mem 64M --threads {threads}"
        );
        work.set(&command, "").quiet();
    }
}

/// Threads do not get so little memory each that none of them can read.
#[test]
fn what_fits_in_little_memory_fits_in_more_for_any_number_of_threads() {
    let work = Workspace::new();
    let ids: Vec<i64> = (0..180_000).map(|number| number * 7919).collect();
    arrow(&work.file("t.arrow"), &batch(&ids));
    let large = properties().set_dictionary_page_size_limit(4 << 20);
    column_in_groups::<Int64Type>(&work.file("t.parquet"), "INT64 id", &ids, 1, large);
    let sorted = text(&ids);
    for name in ["t.arrow", "t.parquet"] {
        for (mem, threads) in [(96, 1), (96, 16), (160, 4), (192, 16), (256, 8), (512, 16)] {
            let ran = work.run(&format!("{name} --column id --mem {mem}M --threads {threads}"));
            assert!(ran.quiet() == sorted, "{name} {mem} {threads}");
        }
    }
}

/// Of what is packed, the column that is read decides, and not its packed size.
#[test]
fn packed_batches_fit_in_more_memory_for_any_number_of_threads() {
    let work = Workspace::new();
    let spread = |number: i64| number.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64.cast_signed()) >> 24;
    let random: Vec<i64> = (0..600_000).map(|number| spread(number) & 0xFF_FFFF_FFFF).collect();
    let dense: Vec<i64> = (0..600_000).map(|number| number / 7).collect();
    let message = format!("the same line of a log{}", " ".repeat(60));
    let messages: ArrayRef = Arc::new(StringArray::from(vec![&*message; 600_000]));
    for (ids, kind) in [(random, CompressionType::ZSTD), (dense, CompressionType::LZ4_FRAME)] {
        let id: ArrayRef = Arc::new(Int64Array::from(ids.clone()));
        let columns = [("message", Arc::clone(&messages)), ("id", id)];
        packed_arrow(&work.file("t"), &RecordBatch::try_from_iter(columns).unwrap(), Some(kind));
        let sorted = {
            let mut ids = ids;
            ids.sort_unstable();
            text(&ids)
        };
        for (mem, threads) in [(64, 1), (64, 8), (80, 2), (96, 2), (96, 16), (192, 16), (512, 16)] {
            let ran = work.run(&format!("t --column id --mem {mem}M --threads {threads}"));
            assert!(ran.quiet() == sorted, "{kind:?} {mem} {threads}");
        }
    }
}

/// Writers of old versions give such a column a buffer that others do not expect.
#[test]
fn columns_of_runs_in_an_old_version_of_arrow_are_refused() {
    let work = Workspace::new();
    for (version, refused) in [(MetadataVersion::V4, true), (MetadataVersion::V5, false)] {
        let runs = || {
            let ends = Int32Array::from(vec![3]);
            Arc::new(RunArray::<Int32Arrow>::try_new(&ends, &Int32Array::from(vec![8])).unwrap())
        };
        let ids: ArrayRef = Arc::new(Int64Array::from(vec![7, 9, 8]));
        let columns =
            [("first", Arc::clone(&ids)), ("a", runs() as ArrayRef), ("b", runs()), ("id", ids)];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let options = IpcWriteOptions::try_new(8, false, version).unwrap();
        let file = File::create(work.file("t")).unwrap();
        let mut writer = FileWriter::try_new_with_options(file, &batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        if refused {
            work.run("t --column id").refused("runs in an old version of the format");
        } else {
            assert_eq!(work.run("t --column id").quiet(), "7\n8\n9\n");
        }
        assert_eq!(work.run("t --column first").quiet(), "7\n8\n9\n");
    }
}

/// The largest batch need not be one of the first, nor have the most rows.
#[test]
fn every_packed_batch_counts_for_the_threads() {
    let work = Workspace::new();
    let batches: Vec<RecordBatch> = (0..20)
        .map(|number| {
            let (rows, len) = if number == 19 { (900, 3000) } else { (1000, 5) };
            let keys: Vec<String> = (0..rows).map(|row| format!("{row:0len$}")).collect();
            let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
            let keys: ArrayRef = Arc::new(StringArray::from(keys));
            RecordBatch::try_from_iter([("key", keys), ("id", ids)]).unwrap()
        })
        .collect();
    let options = IpcWriteOptions::default();
    let options = options.try_with_compression(Some(CompressionType::ZSTD)).unwrap();
    let file = File::create(work.file("t")).unwrap();
    let mut writer = FileWriter::try_new_with_options(file, &batches[0].schema(), options).unwrap();
    for batch in &batches {
        writer.write(batch).unwrap();
    }
    writer.finish().unwrap();
    for (mem, threads) in [("128M", 1), ("128M", 16), ("1G", 16)] {
        let line =
            format!("group t --key key --column id -o k.sets --mem {mem} --threads {threads}");
        work.set(&line, "").quiet();
        assert_eq!(work.set("info k.sets --json", "").code, Some(0), "{mem} {threads}");
    }
}

#[test]
fn tables_that_are_not_read_are_no_lines() {
    let work = Workspace::new();
    for (content, said) in [
        (&b"PARE\x2c\0\0\0\x01\n7\nPARE"[..], "not read: encrypted Parquet"),
        (b"FEA1\0\0\0\0\n7\nFEA1", "not read: Feather of version 1"),
    ] {
        work.write("t", content);
        for line in ["t --column id", "t --column 1 --invalid skip", "t --rejects bad"] {
            work.run(line).refused(said);
        }
        for line in ["build t --skip-invalid -o s", "bloom build t -o s", "bloom dedup t"] {
            work.set(line, "").refused(said);
        }
        work.run_with("--invalid skip", content).refused(said);
        assert_eq!(work.names(), ["t"]);
    }
}

/// In memory, a text of a dictionary takes 32 bytes more, and texts that share their first bytes in
/// the file have them again.
#[test]
fn texts_that_take_more_than_their_pages_stay_within_the_limit() {
    let work = Workspace::new();
    let path = work.file("t.parquet");
    let peak_of = |rows: usize, command: &str| {
        let ran = work.run(&format!("t.parquet -o out --stats=json {command}"));
        assert_eq!(ran.code, Some(0), "{command}: {}", ran.err);
        assert_eq!(work.read("out").lines().count(), rows, "{command}");
        let peak = crate::limits::peak(&ran.err);
        let limit = if command.contains("256M") { 256 << 20 } else { 64 << 20 };
        assert!(peak <= limit, "{command}: {peak}");
    };
    let decimals: Vec<FixedLenByteArray> =
        (0..250_000_u32).map(|number| number.to_be_bytes().to_vec().into()).collect();
    let column = "FIXED_LEN_BYTE_ARRAY (4) id (DECIMAL(9,0))";
    column_in_groups::<FixedLenByteArrayType>(&path, column, &decimals, 8, properties());
    for (mem, threads) in [("64M", 1), ("64M", 16), ("256M", 16)] {
        peak_of(2_000_000, &format!("--mem {mem} --threads {threads}"));
    }
    let zeros = "0".repeat(600_000);
    let texts: Vec<ByteArray> =
        (0..40).map(|number| format!("{zeros}{number}").into_bytes().into()).collect();
    let shared = encoded(Encoding::DELTA_BYTE_ARRAY);
    column_in_groups::<ByteArrayType>(&path, "BYTE_ARRAY id (UTF8)", &texts, 8, shared);
    for (mem, threads) in [("64M", 1), ("64M", 16), ("256M", 16)] {
        peak_of(320, &format!("--mem {mem} --threads {threads}"));
    }
}

#[test]
fn counts_of_rows_that_contradict_each_other_lose_no_row() {
    let work = Workspace::new();
    let ids = ids(1000);
    parquet(&work.file("t.parquet"), &[&ids], properties());
    let bytes = fs::read(work.file("t.parquet")).unwrap();
    let (right, wrong) = ([0xD0, 0x0F], [0xE8, 0x07]); // 1000 and 500
    let tail = bytes.len() - 8;
    let metadata_bytes = u32::from_le_bytes(bytes[tail..tail + 4].try_into().unwrap());
    let metadata = tail - usize::try_from(metadata_bytes).unwrap()..tail;
    let places = metadata.filter(|&place| bytes[place..].starts_with(&right));
    let mut refusals = 0;
    for place in places {
        let mut bytes = bytes.clone();
        bytes[place..place + 2].copy_from_slice(&wrong);
        fs::write(work.file("lies.parquet"), bytes).unwrap();
        let ran = work.run("lies.parquet --column id");
        if ran.code == Some(0) {
            assert!(ran.out == text(&ids), "{place}");
        } else {
            refusals += 1;
        }
    }
    assert!(refusals >= 3, "of the file, the row group and the column: {refusals}");
}

#[test]
fn packed_tables_and_sets_are_refused_where_lines_are_left_out() {
    let work = Workspace::new();
    parquet(&work.file("t.parquet"), &[&ids(1000)], properties());
    work.set("build -o s.bits", "3\n").quiet();
    for (name, why) in [
        ("t.parquet", "it is in Parquet format, which is not read if it is compressed"),
        ("s.bits", "is a set, a filter or an index"),
    ] {
        let bytes = fs::read(work.file(name)).unwrap();
        let packed = zstd::encode_all(&bytes[..], 1).unwrap();
        work.write("packed", &packed);
        for command in ["packed --invalid skip", "packed --rejects no"] {
            work.run(command).refused(why);
        }
        work.run_with("--invalid skip", &packed).refused(why);
        work.set("build --skip-invalid packed", "").refused(why);
    }
    for command in ["bloom build -o x.bloom packed", "bloom dedup packed"] {
        work.set(command, "").refused("has no lines");
    }
    assert!(!work.names().iter().any(|name| name == "no" || name == "x.bloom"));
}

#[test]
fn a_column_with_a_sign_in_its_name_is_no_number() {
    let work = Workspace::new();
    let column = |from: i64| Arc::new(Int64Array::from(vec![from, from + 1])) as ArrayRef;
    let columns = [("+2", column(1)), ("x", column(3))];
    arrow(&work.file("t.arrow"), &RecordBatch::try_from_iter(columns).unwrap());
    assert_eq!(work.run("t.arrow --column +2").quiet(), "1\n2\n");
    work.write("years.csv", "2023,\"2024\"\n5,7\n");
    let mut command = work.command(["years.csv", "--column", "\"2024\""]);
    assert_eq!(command.output().unwrap().stdout, b"7\n");
    work.run("years.csv --column 2024").refused("no such column");
    assert_eq!(work.run("t.arrow --column 2").quiet(), "3\n4\n");
}

/// Writes a Parquet file of one column of numbers as texts; every fourth is null.
fn texts_in_parquet(path: &Path, count: usize, properties: WriterProperties) {
    let schema = "message t { OPTIONAL BYTE_ARRAY number (UTF8); }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let levels: Vec<i16> = (0..count).map(|row| i16::from(row % 4 != 3)).collect();
    let texts: Vec<ByteArray> = (0..count)
        .filter(|row| row % 4 != 3)
        .map(|row| ByteArray::from((row * 7919).to_string().into_bytes()))
        .collect();
    column.typed::<ByteArrayType>().write_batch(&texts, Some(&levels), None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn texts_in_deltas_are_read_and_lying_counts_refused() {
    let work = Workspace::new();
    let path = work.file("t.parquet");
    let made = |encoding, version, rows| {
        WriterProperties::builder()
            .set_dictionary_enabled(false)
            .set_column_encoding(ColumnPath::from("number"), encoding)
            .set_writer_version(version)
            .set_data_page_row_count_limit(rows)
            .set_write_batch_size(rows)
            .build()
    };
    for encoding in [Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY] {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            for rows in [1, 33, 129, 1000, 20_000] {
                let count = if rows == 1 { 50 } else { 10_000 };
                texts_in_parquet(&path, count, made(encoding, version, rows));
                let numbers: Vec<usize> =
                    (0..count).filter(|row| row % 4 != 3).map(|row| row * 7919).collect();
                let ran = work.run("t.parquet --mem 64M");
                assert_eq!(ran.quiet(), text(&numbers), "{encoding:?} {version:?} {rows}");
            }
            // Blocks of 128 lengths in 4 parts, and of 4 rows 3 are there: now 100 of them.
            texts_in_parquet(&path, 4, made(encoding, version, 100));
            let mut bytes = fs::read(&path).unwrap();
            let list = [0x80, 0x01, 4, 3];
            let places = bytes.windows(4).enumerate().filter(|(_, window)| *window == list);
            let places: Vec<usize> = places.map(|(place, _)| place).collect();
            assert!(!places.is_empty());
            for place in places {
                bytes[place + 3] = 100;
                fs::write(work.file("lies.parquet"), &bytes).unwrap();
                bytes[place + 3] = 3;
                work.run("lies.parquet").refused("another number of lengths than of values");
            }
        }
    }
}

#[test]
fn a_dictionary_with_a_lying_count_is_refused() {
    let work = Workspace::new();
    parquet(&work.file("t.parquet"), &[&[5, 6, 7, 5, 6, 7]], properties());
    let bytes = fs::read(work.file("t.parquet")).unwrap();
    // The fields of the header of a dictionary page, the first of which is the number of values.
    let head = [0x4c, 0x15, 2 * 3];
    let mut lies = 0;
    for place in 0..bytes.len() - head.len() {
        if bytes[place..].starts_with(&head) {
            let mut changed = bytes.clone();
            changed[place + 2] = 2 * 60;
            fs::write(work.file("lies.parquet"), &changed).unwrap();
            let ran = work.run("lies.parquet --column id");
            lies += usize::from(ran.err.contains("a dictionary has fewer bytes than values"));
        }
    }
    assert_eq!(lies, 1, "that of the ids");
}

/// A map of 2^31 - 1 pairs, in a field that nobody knows, takes the reader no bytes.
#[test]
fn fields_that_would_keep_the_reader_busy_are_refused() {
    const MAP: [u8; 7] = [0xFB, 0xFF, 0xFF, 0xFF, 0xFF, 0x07, 0x77];
    let work = Workspace::new();
    one_column::<Int64Type>(&work.file("t.parquet"), "INT64 id", &ids(1000));
    let bytes = fs::read(work.file("t.parquet")).unwrap();
    let footer = bytes.len() - 8;
    let metadata = u32::from_le_bytes(bytes[footer..footer + 4].try_into().unwrap()) as usize;
    let refused = |place: usize, what: &str| {
        let mut changed = bytes.clone();
        changed[place..place + MAP.len()].copy_from_slice(&MAP);
        work.write("long.parquet", &changed);
        work.run("long.parquet").refused(what);
        work.set("group --key id --column id long.parquet -o o.sets", "").refused(what);
    };
    // Behind the magic number: two fields, the second of which has at least two bytes.
    let behind = 8 + bytes[7..].iter().take_while(|byte| **byte >= 0x80).count();
    refused(behind, "a page has no header of the usual form");
    refused(footer - metadata, "its metadata has no usual form");
}

/// The place of field `slot` of a table of a flat buffer.
fn slot(bytes: &[u8], table: usize, slot: usize) -> (usize, usize) {
    let back = i32::from_le_bytes(bytes[table..table + 4].try_into().unwrap());
    let vtable = table.checked_add_signed(-isize::try_from(back).unwrap()).unwrap();
    let entry = vtable + 4 + 2 * slot;
    (entry, table + usize::from(u16::from_le_bytes(bytes[entry..entry + 2].try_into().unwrap())))
}

#[test]
fn arrow_of_a_machine_with_another_byte_order_is_refused() {
    let work = Workspace::new();
    let numbers = Arc::new(Int64Array::from(vec![3, 40])) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("id", numbers)]).unwrap();
    let mut bytes = Vec::new();
    let mut writer = StreamWriter::try_new(&mut bytes, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    drop(writer);
    work.write("t.arrows", &bytes);
    assert_eq!(work.run("t.arrows").quiet(), "3\n40\n");
    // The first message is behind its length; its header is the schema, whose first field is the
    // byte order. It gets the place of some number 1.
    let follow =
        |at: usize| at + u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let message = follow(8);
    let schema = follow(slot(&bytes, message, 2).1);
    let is_one = |near: &u16| bytes[schema + usize::from(*near)..].starts_with(&[1, 0]);
    let one = (4..200).step_by(2).find(is_one).unwrap().to_le_bytes();
    let (entry, _) = slot(&bytes, schema, 0);
    bytes[entry..entry + 2].copy_from_slice(&one);
    work.write("t.arrows", &bytes);
    work.run("t.arrows").refused("the byte order of another machine");
}

#[test]
fn views_beside_wide_columns_are_read() {
    let work = Workspace::new();
    let rows = 20_000_i64;
    let zeros = Arc::new(Int64Array::from_iter_values((0..rows).map(|_| 0))) as ArrayRef;
    let views = |part: &str| {
        let mut views = StringViewBuilder::new().with_fixed_block_size(1 << 16);
        (0..rows).for_each(|row| views.append_value(format!("{part}{row}")));
        Arc::new(views.finish()) as ArrayRef
    };
    let names: DictionaryArray<Int32Arrow> = (0..rows).map(|_| "name").collect();
    let fields = vec![Arc::new(Field::new("inner", zeros.data_type().clone(), true))];
    let nested = StructArray::new(fields.into(), vec![Arc::clone(&zeros)], None);
    let mut columns: Vec<(String, ArrayRef)> = vec![
        ("texts".into(), views("a text of more than twelve bytes ")),
        ("names".into(), Arc::new(names)),
        ("nested".into(), Arc::new(nested)),
    ];
    columns.extend((0..60).map(|number| (format!("zeros {number}"), Arc::clone(&zeros))));
    // All columns take 10 MB after unpacking; this one 1 MB.
    columns.push(("number".into(), views("0000000000000000")));
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    packed_arrow(&work.file("t.arrow"), &batch, Some(CompressionType::ZSTD));
    let numbers: Vec<i64> = (0..rows).collect();
    assert_eq!(work.run("t.arrow --column number --mem 64M").quiet(), text(&numbers));
}

#[test]
fn many_buffers_of_one_column_of_views_are_refused() {
    let work = Workspace::new();
    let mut views = StringViewBuilder::new().with_fixed_block_size(1 << 20);
    for _ in 0..40 {
        views.append_value("7".repeat(1 << 20));
    }
    let column = Arc::new(views.finish()) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("number", column)]).unwrap();
    packed_arrow(&work.file("t.arrow"), &batch, Some(CompressionType::ZSTD));
    work.run("t.arrow --mem 64M").refused("a column of a record batch takes");
}

#[test]
fn a_plan_of_sorted_pieces_knows_their_large_values() {
    let work = Workspace::new();
    let batches: Vec<RecordBatch> = (0..40)
        .map(|block| {
            let ids = (0..20_000_u64).map(|index| (index << 40) + block);
            let ids: UInt64Array = ids.collect();
            RecordBatch::try_from_iter([("id", Arc::new(ids) as ArrayRef)]).unwrap()
        })
        .collect();
    let file = File::create(work.file("sorted.arrow")).unwrap();
    let mut writer = FileWriter::try_new(file, &batches[0].schema()).unwrap();
    for batch in &batches {
        writer.write(batch).unwrap();
    }
    writer.finish().unwrap();
    let plan = work.run("--explain sorted.arrow").quiet();
    let (_, range) = plan.split_once("range      0 to ").unwrap();
    let last: u64 = range.split(' ').next().unwrap().parse().unwrap();
    assert!(last >= (19_999 << 40) + 39, "{plan}");
}
