//! Parquet and Arrow files of others: filters, bitmaps of Spark, columns of numbers and of keys.
//! Any bytes give an error or an answer.
#![no_main]

use arbitrary::Arbitrary;
use bitsort::ByteSize;
use bitsort::bloom::parquet::ParquetFilter;
use bitsort::lines::Group;
use bitsort::number::Column;
use bitsort::set::foreign::spark;
use bitsort::sort::Sort;
use bitsort_fuzz::{Edit, MemoryFile, damage, folder};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
struct Case<'a> {
    base: Base<'a>,
    edits: Vec<Edit>,
    key: u8,
    column: Option<u8>,
}

#[derive(Debug, Arbitrary)]
enum Base<'a> {
    Bytes(&'a [u8]),
    OfOthers(u8),
}

const OF_OTHERS: [&[u8]; 4] = [
    include_bytes!("../../tests/data/foreign/filters.parquet"),
    include_bytes!("../../tests/data/foreign/spark-bitmap.parquet"),
    include_bytes!("../../tests/data/foreign/keys.arrow"),
    include_bytes!("../../tests/data/foreign/keys.parquet"),
];

const MEMORY: u64 = 64 << 20;

fuzz_target!(|case: Case| {
    let mut bytes = match case.base {
        Base::Bytes(bytes) => bytes.to_vec(),
        Base::OfOthers(number) => OF_OTHERS[usize::from(number % 4)].to_vec(),
    };
    damage(&mut bytes, &case.edits);
    let file = MemoryFile::new(&bytes);
    let path = file.path();
    let number = |number: u8| Column::Number(usize::from(number % 12));
    let column = case.column.map(number);
    if let Ok(filter) = ParquetFilter::open(&path, column.as_ref()) {
        let _ =
            (filter.contains_text(b"7"), filter.contains_text(b"key"), filter.contains_text(b""));
    }
    if spark::is_table(&path).is_ok_and(|is_table| is_table) {
        let _ = spark::read_table(&path, MEMORY);
    }
    let memory = ByteSize::from_bytes(MEMORY);
    let mut sort = Sort::new().file(&path).memory(memory).threads(1);
    if let Some(column) = column.clone() {
        sort = sort.column(column, b',');
    }
    let _ = sort.into_set();
    let group = Group::new().file(&path).memory(memory).threads(1);
    let group = group.columns(number(case.key), column.unwrap_or(Column::Number(2)), b',');
    let _ = group.to_file(folder().join("tables.sets"));
});
