//! Every strategy, with memory and blocks so small that every boundary is
//! crossed, against a sorted map.

use bitsort::Format;
use bitsort::sort::{Sort, Strategy as Plan, Tuning};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::Cursor;

/// What is asked of a run.
#[derive(Debug, Clone)]
struct Case {
    lines: Vec<Option<u64>>,
    complete: bool,
    crlf: bool,
    plan: Plan,
    tuning: Tuning,
    threads: usize,
    selection: (bool, bool, bool),
    reverse: bool,
    from: Format,
    to: Format,
    files: usize,
}

fn value() -> impl Strategy<Value = u64> {
    let edges = vec![
        0,
        1,
        9,
        10,
        63,
        64,
        65_535,
        65_536,
        (1 << 24) - 1,
        1 << 24,
        (1 << 32) - 1,
        1 << 32,
        (1 << 32) + 1,
        u64::MAX - 1,
        u64::MAX,
    ];
    prop_oneof![
        4 => 0_u64..200,
        2 => any::<u32>().prop_map(u64::from),
        2 => any::<u64>(),
        2 => (0_u64..50).prop_map(|low| (7 << 40) + low),
        1 => prop::sample::select(edges),
    ]
}

/// Values of one kind, as files have them, or of all kinds.
fn values() -> impl Strategy<Value = Vec<u64>> {
    prop_oneof![
        prop::collection::vec(value(), 0..400),
        prop::collection::vec(0_u64..3000, 0..3000),
        prop::collection::vec(any::<u32>().prop_map(u64::from), 0..2000),
        prop::collection::vec(any::<u64>(), 0..2000),
        (value(), 1_usize..3000).prop_map(|(value, count)| vec![value; count]),
        prop::collection::vec(any::<u32>().prop_map(u64::from), 0..2000).prop_map(|mut values| {
            values.sort_unstable();
            values
        }),
    ]
}

fn tuning() -> impl Strategy<Value = Tuning> {
    (
        prop::sample::select(vec![64, 100, 333, 4096]),
        prop::sample::select(vec![2048, 8192, 1 << 20]),
        prop::sample::select(vec![2, 16, 64]),
        prop::sample::select(vec![2048, 9000, 1 << 20]),
        prop::sample::select(vec![1, 1000, 1 << 16]),
    )
        .prop_map(|(block, pool, partitions, scratch, output)| Tuning {
            block_bytes: Some(block),
            pool_bytes: Some(pool),
            partitions: Some(partitions),
            scratch_bytes: Some(scratch),
            output_bytes: Some(output),
        })
}

fn case() -> impl Strategy<Value = Case> {
    let shape = (any::<bool>(), any::<bool>(), prop::sample::select(Plan::ALL.to_vec()), tuning());
    let style = (
        1_usize..4,
        any::<(bool, bool, bool)>(),
        any::<bool>(),
        prop::sample::select(Format::ALL.to_vec()),
        prop::sample::select(Format::ALL.to_vec()),
        1_usize..4,
    );
    let blanks = prop::collection::vec(any::<prop::sample::Index>(), 0..4);
    (values(), blanks, shape, style).prop_map(|(values, blanks, shape, style)| {
        let (complete, crlf, plan, tuning) = shape;
        let (threads, selection, reverse, from, to, files) = style;
        let mut lines: Vec<Option<u64>> = values.into_iter().map(Some).collect();
        if from == Format::Text && !lines.is_empty() {
            for blank in blanks {
                lines.insert(blank.index(lines.len()), None);
            }
        }
        if from.value_bytes() == Some(4) || to.value_bytes() == Some(4) {
            lines.iter_mut().flatten().for_each(|value| *value &= u64::from(u32::MAX));
        }
        // A bitmap of all 2^64 values fits nowhere.
        if plan == Plan::Dense {
            lines.iter_mut().flatten().for_each(|value| *value %= 1 << 20);
        }
        let selection =
            if to == Format::Text { selection } else { (selection.0, false, selection.2) };
        Case { lines, complete, crlf, plan, tuning, threads, selection, reverse, from, to, files }
    })
}

fn encode(case: &Case, lines: &[Option<u64>]) -> Vec<u8> {
    let mut out = Vec::new();
    let end = if case.crlf { "\r\n" } else { "\n" };
    for line in lines {
        match (case.from, line) {
            (Format::Text, None) => out.extend_from_slice(end.as_bytes()),
            (Format::Text, Some(value)) => {
                out.extend_from_slice(format!("{value}{end}").as_bytes());
            }
            (_, None) => {}
            (format, Some(value)) => out.extend_from_slice(&bytes(format, *value)),
        }
    }
    if case.from == Format::Text && !case.complete && matches!(lines.last(), Some(Some(_))) {
        out.truncate(out.len() - end.len());
    }
    out
}

fn bytes(format: Format, value: u64) -> Vec<u8> {
    let narrow = u32::try_from(value);
    match format {
        Format::Text => format!("{value}\n").into_bytes(),
        Format::U32Le => narrow.unwrap().to_le_bytes().to_vec(),
        Format::U32Be => narrow.unwrap().to_be_bytes().to_vec(),
        Format::U64Le => value.to_le_bytes().to_vec(),
        Format::U64Be => value.to_be_bytes().to_vec(),
    }
}

fn expected(case: &Case) -> Vec<u8> {
    let (distinct, counted, repeated) = case.selection;
    let mut counts = BTreeMap::new();
    for value in case.lines.iter().flatten() {
        *counts.entry(*value).or_insert(0_usize) += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    if case.reverse {
        counts.reverse();
    }
    let mut out = Vec::new();
    for (value, count) in counts {
        if repeated && count < 2 {
            continue;
        }
        let mut line = bytes(case.to, value);
        if counted {
            let mut text = String::new();
            writeln!(text, "{count:>7} {value}").unwrap();
            line = text.into_bytes();
        }
        let copies = if distinct || counted || repeated { 1 } else { count };
        for _ in 0..copies {
            out.extend_from_slice(&line);
        }
    }
    out
}

fn options(case: &Case) -> Sort {
    let (distinct, counted, repeated) = case.selection;
    Sort::new()
        .threads(case.threads)
        .memory(bitsort::ByteSize::from_mib(128))
        .strategy(case.plan)
        .tuning(case.tuning)
        .distinct(distinct)
        .counted(counted)
        .repeated(repeated)
        .reverse(case.reverse)
        .from_format(case.from)
        .to_format(case.to)
        .no_spill(case.plan == Plan::MultiPass)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn every_strategy_writes_what_the_model_says(case in case()) {
        let folder = tempfile::tempdir().unwrap();
        let mut sort = options(&case).temporary_folder(folder.path());
        let size = case.lines.len().div_ceil(case.files).max(1);
        let parts: Vec<_> = case.lines.chunks(size).collect();
        for (number, lines) in parts.iter().enumerate() {
            let path = folder.path().join(format!("in{number}"));
            std::fs::write(&path, encode(&case, lines)).unwrap();
            sort = sort.file(path);
        }
        let out = folder.path().join("out");
        // An empty file is a stream that ends at once: it cannot be read twice.
        if case.plan == Plan::MultiPass && case.lines.iter().flatten().count() == 0 {
            return Ok(());
        }
        let report = sort.to_file(&out).unwrap();
        let found = std::fs::read(&out).unwrap();
        prop_assert_eq!(found.escape_ascii().to_string(), expected(&case).escape_ascii().to_string());
        prop_assert_eq!(report.values, case.lines.iter().flatten().count() as u64);
        prop_assert_eq!(report.lines, report.values + report.blank);
        prop_assert_eq!(report.values, report.written + report.dropped);
        prop_assert_eq!(report.written_bytes, found.len() as u64);
    }

    #[test]
    fn a_stream_is_sorted_like_a_file(mut case in case()) {
        if case.plan == Plan::MultiPass {
            case.plan = Plan::Spill;
        }
        let mut out = Vec::new();
        let input = Cursor::new(encode(&case, &case.lines));
        let report = options(&case).no_spill(false).reader("stream", input).to_writer(&mut out).unwrap();
        prop_assert_eq!(out.escape_ascii().to_string(), expected(&case).escape_ascii().to_string());
        prop_assert_eq!(report.written_bytes, out.len() as u64);
    }

    #[test]
    fn merging_sorted_inputs_gives_what_sorting_gives(
        mut case in case(),
        block in prop::sample::select(vec![64, 100, 4096]),
    ) {
        case.tuning = Tuning { block_bytes: Some(block), ..Tuning::default() };
        let size = case.lines.len().div_ceil(case.files).max(1);
        let mut sort = options(&case).merge(true);
        for lines in case.lines.chunks(size) {
            let mut lines = lines.to_vec();
            lines.retain(Option::is_some);
            lines.sort_unstable();
            if case.reverse {
                lines.reverse();
            }
            sort = sort.reader("part", Cursor::new(encode(&case, &lines)));
        }
        let mut out = Vec::new();
        sort.to_writer(&mut out).unwrap();
        prop_assert_eq!(out.escape_ascii().to_string(), expected(&case).escape_ascii().to_string());
    }
}
