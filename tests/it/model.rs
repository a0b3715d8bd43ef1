//! Every strategy, with memory and blocks so small that every boundary is
//! crossed, and with samples that mislead the planner, against a sorted map.
//!
//! `PROPTEST_CASES=100000 cargo test --release --test it -- model --nocapture` runs more of
//! them, and prints how often each strategy, output and way was taken.

use bitsort::Format;
use bitsort::set::{IntegerSet, SetFile, SetFormat};
use bitsort::sort::{Report, Sort, Strategy as Plan, Tuning, Way};
use proptest::prelude::*;
use proptest::test_runner::{TestError, TestRunner};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::Cursor;
use std::sync::Arc;

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
    lie: Option<Lie>,
    output: Output,
}

/// What a misleading sample shows.
#[derive(Debug, Clone)]
enum Lie {
    Nothing,
    Largest,
    Smallest,
    One,
    Others(Vec<u64>),
}

/// How the result is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Output {
    File,
    Writer,
    Values,
    Set,
    /// In the representation that suits it.
    BestSet,
    SparseSet,
    RunSet,
}

impl Output {
    fn is_set(self) -> bool {
        matches!(self, Self::Set | Self::BestSet | Self::SparseSet | Self::RunSet)
    }
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
        prop::collection::vec(0_u64..70, 1000..3000),
        prop::collection::vec(any::<u32>().prop_map(u64::from), 0..2000),
        prop::collection::vec(any::<u64>(), 0..2000),
        (1_u64..2000, 0_u64..1 << 40).prop_map(|(count, end)| {
            // Evenly spaced over all 64 bits, downwards.
            (0..count).map(|index| u64::MAX - end - index * ((u64::MAX - end) / count)).collect()
        }),
        (0_usize..2000, 0_usize..50, 1_u32..60).prop_map(|(many, few, bits)| {
            // At the upper end of all values, then some far below.
            let step = (u64::MAX >> 2) / (many as u64 + 1);
            let upper = (0..many as u64).map(|index| u64::MAX - index * step);
            upper.chain((0..few as u64).map(|index| (1 << bits) - 1 - (index & 1))).collect()
        }),
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
        prop::sample::select(vec![10, 1 << 20]),
    )
        .prop_map(|(block, pool, partitions, scratch, output, cut)| Tuning {
            sample: None,
            cut_values: Some(cut),
            block_bytes: Some(block),
            pool_bytes: Some(pool),
            partitions: Some(partitions),
            scratch_bytes: Some(scratch),
            output_bytes: Some(output),
        })
}

fn lie() -> impl Strategy<Value = Option<Lie>> {
    prop_oneof![
        5 => Just(None),
        1 => Just(Some(Lie::Nothing)),
        1 => Just(Some(Lie::Largest)),
        1 => Just(Some(Lie::Smallest)),
        1 => Just(Some(Lie::One)),
        1 => prop::collection::vec(value(), 1..20).prop_map(|values| Some(Lie::Others(values))),
    ]
}

/// The sample that the planner is shown.
fn misleading(lie: &Lie, values: &[u64]) -> Vec<u64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let some = sorted.len().div_ceil(10);
    match lie {
        Lie::Nothing => Vec::new(),
        Lie::Largest => sorted.split_off(sorted.len() - some),
        Lie::Smallest => sorted[..some].to_vec(),
        Lie::One => sorted.into_iter().nth(some / 2).into_iter().collect(),
        Lie::Others(others) => others.clone(),
    }
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
    let outputs = vec![
        Output::File,
        Output::Writer,
        Output::Values,
        Output::Set,
        Output::BestSet,
        Output::SparseSet,
        Output::RunSet,
    ];
    let taken = (lie(), prop::sample::select(outputs));
    (values(), blanks, shape, style, taken).prop_map(|(values, blanks, shape, style, taken)| {
        let (lie, output) = taken;
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
        // A pass for every few values of them takes seconds, and shows nothing new.
        if plan == Plan::MultiPass && tuning.pool_bytes < Some(1 << 20) {
            lines.truncate(150);
        }
        // A bitmap of all 2^64 values fits nowhere.
        if plan == Plan::Dense {
            lines.iter_mut().flatten().for_each(|value| *value %= 1 << 20);
        }
        let to = if output == Output::Values { Format::U64Le } else { to };
        let mut tuning = tuning;
        if let Some(lie) = &lie {
            let values: Vec<_> = lines.iter().flatten().copied().collect();
            let mut sample = misleading(lie, &values);
            // A bitmap of many values fits nowhere.
            if plan == Plan::Dense {
                for value in &mut sample {
                    *value %= 1 << 16;
                }
            }
            // Nor does one of all values that may be there if none was met.
            if plan != Plan::Dense || !sample.is_empty() {
                tuning.sample = Some(sample);
            }
        }
        let selection = match output {
            Output::Set | Output::BestSet | Output::SparseSet | Output::RunSet => {
                (true, false, false)
            }
            _ if to == Format::Text => selection,
            _ => (selection.0, false, selection.2),
        };
        let reverse = reverse && !output.is_set();
        Case {
            lines,
            complete,
            crlf,
            plan,
            tuning,
            threads,
            selection,
            reverse,
            from,
            to,
            files,
            lie,
            output,
        }
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
        Format::Noted(notation) => format!("{}\n", notation.text(value).unwrap()).into_bytes(),
        Format::U32Le => narrow.unwrap().to_le_bytes().to_vec(),
        Format::U32Be => narrow.unwrap().to_be_bytes().to_vec(),
        Format::U64Le => value.to_le_bytes().to_vec(),
        Format::U64Be => value.to_be_bytes().to_vec(),
        _ => unreachable!("the model has all formats"),
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
        .tuning(case.tuning.clone())
        .distinct(distinct)
        .counted(counted)
        .repeated(repeated)
        .reverse(case.reverse)
        .from_format(case.from)
        .to_format(case.to)
        .no_spill(case.plan == Plan::MultiPass)
}

/// Runs a case; gives its report, the bytes that were written, and those of the model.
fn run(case: &Case, sort: Sort, folder: &std::path::Path) -> (Option<Report>, Vec<u8>, Vec<u8>) {
    let out = folder.join("out");
    match case.output {
        Output::File => {
            let report = sort.to_file(&out).unwrap();
            (Some(report), std::fs::read(&out).unwrap(), expected(case))
        }
        Output::Writer => {
            let mut written = Vec::new();
            let report = sort.to_writer(&mut written).unwrap();
            (Some(report), written, expected(case))
        }
        Output::Values => {
            let values = sort.into_values().unwrap().map(Result::unwrap);
            (None, values.flat_map(u64::to_le_bytes).collect(), expected(case))
        }
        Output::Set | Output::BestSet | Output::SparseSet | Output::RunSet => {
            let format = match case.output {
                Output::BestSet => SetFormat::Bits,
                Output::SparseSet => SetFormat::SparseBits,
                Output::RunSet => SetFormat::RunBits,
                _ => SetFormat::RoaringBits,
            };
            let (_, report) = sort.to_set(&out, format).unwrap();
            let set = SetFile::open(&out).unwrap();
            set.verify().unwrap();
            let values = set.view().iter().map(Result::unwrap).flat_map(u64::to_le_bytes).collect();
            let case = Case { to: Format::U64Le, ..case.clone() };
            (Some(report), values, expected(&case))
        }
    }
}

/// How often each strategy, output and way was met.
#[derive(Debug, Default)]
struct Tally {
    plans: BTreeMap<&'static str, u64>,
    outputs: BTreeMap<Output, u64>,
    lies: u64,
    ways: BTreeMap<usize, u64>,
    spilled: u64,
}

fn every_strategy(case: &Case, tally: &RefCell<Tally>) -> Result<(), TestCaseError> {
    let folder = tempfile::tempdir().unwrap();
    let mut sort = options(case).temporary_folder(folder.path());
    let size = case.lines.len().div_ceil(case.files).max(1);
    let parts: Vec<_> = case.lines.chunks(size).collect();
    for (number, lines) in parts.iter().enumerate() {
        let path = folder.path().join(format!("in{number}"));
        std::fs::write(&path, encode(case, lines)).unwrap();
        sort = sort.file(path);
    }
    // An empty file is a stream that ends at once: it cannot be read twice.
    if case.plan == Plan::MultiPass && case.lines.iter().flatten().count() == 0 {
        return Ok(());
    }
    let (report, found, expected) = run(case, sort, folder.path());
    prop_assert_eq!(found.escape_ascii().to_string(), expected.escape_ascii().to_string());
    let mut tally = tally.borrow_mut();
    *tally.plans.entry(case.plan.name()).or_default() += 1;
    *tally.outputs.entry(case.output).or_default() += 1;
    tally.lies += u64::from(case.lie.is_some());
    let Some(report) = report else { return Ok(()) };
    for (index, way) in Way::ALL.into_iter().enumerate() {
        *tally.ways.entry(index).or_default() += u64::from(report.ways.times(way) > 0);
    }
    tally.spilled += u64::from(report.spilled_bytes > 0);
    prop_assert_eq!(report.values, case.lines.iter().flatten().count() as u64);
    prop_assert_eq!(report.lines, report.values + report.blank);
    prop_assert_eq!(report.values, report.written + report.dropped);
    if !case.output.is_set() {
        prop_assert_eq!(report.written_bytes, found.len() as u64);
    }
    Ok(())
}

#[test]
fn every_strategy_writes_what_the_model_says_whatever_the_sample_shows() {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let config = ProptestConfig { cases: cases.unwrap_or(700), ..ProptestConfig::default() };
    let tally = RefCell::default();
    let mut runner = TestRunner::new(config);
    match runner.run(&case(), |case| every_strategy(&case, &tally)) {
        Ok(()) => {}
        Err(TestError::Fail(reason, case)) => panic!("{reason}\n{case:#?}"),
        Err(error) => panic!("{error}"),
    }
    let tally = tally.into_inner();
    println!(
        "{} lies, {} spilled; {:?}; {:?}",
        tally.lies, tally.spilled, tally.plans, tally.outputs
    );
    for (index, way) in Way::ALL.into_iter().enumerate() {
        let times = tally.ways.get(&index).copied().unwrap_or(0);
        println!("{way:?}: {times} cases");
        assert!(times > 0, "no case took the way {way:?}");
    }
    assert!(tally.spilled > 0, "no case wrote temporary files");
    assert!(tally.plans.len() == Plan::ALL.len() && tally.outputs.len() == 7);
}

/// Values that a sample of every tenth block does not show, at both ends of the range.
#[test]
fn values_below_those_of_the_sample_do_not_wrap_to_the_end() {
    let step = u64::MAX / 200_000;
    let mut values: Vec<u64> = (0..200_000).map(|index| u64::MAX - index * step).collect();
    let upper: Vec<u64> = values.iter().copied().filter(|value| value >> 61 != 0).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in");
    std::fs::write(&path, values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>())
        .unwrap();
    values.sort_unstable();
    for (plan, threads) in [(Plan::InMemory, 1), (Plan::Spill, 2), (Plan::MultiPass, 2)] {
        let tuning = Tuning { sample: Some(upper.clone()), ..Tuning::default() };
        let sort = Sort::new().file(&path).from_format(Format::U64Le).strategy(plan);
        let sort = sort.threads(threads).tuning(tuning).no_spill(plan == Plan::MultiPass);
        let found: Result<Vec<u64>, _> = sort.into_values().unwrap().collect();
        assert!(found.unwrap() == values, "{plan}");
    }
}

/// All values but those of the sample are in one partition, of which little fits in memory.
#[test]
fn a_long_chain_is_written_once_more_and_not_read_for_each_of_its_parts() {
    let count = 100_000;
    let wide: Vec<u64> = (0..100).map(|i| u64::MAX / 100 * i).collect();
    let mut skewed: Vec<u64> = (0..count).map(|i| (i * 0x9E37_79B9) % (1 << 32)).collect();
    skewed.extend(&wide);
    let ascending: Vec<u64> = (0..count).map(|i| i * (u64::MAX / count)).collect();
    let repeated: Vec<u64> = (0..count).map(|i| (1 << 60) + (i * i) % 5000).collect();
    for (values, sample) in
        [(&skewed, &wide[..]), (&ascending, &ascending[..100]), (&repeated, &[0, u64::MAX][..])]
    {
        let mut expected = values.clone();
        expected.sort_unstable();
        for threads in [1, 2] {
            let tuning = Tuning {
                sample: Some(sample.to_vec()),
                pool_bytes: Some(1 << 14),
                partitions: Some(16),
                scratch_bytes: Some(3 << 10),
                ..Tuning::default()
            };
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            let sort = Sort::new().reader("stream", Cursor::new(bytes)).from_format(Format::U64Le);
            let sort = sort.strategy(Plan::Spill).threads(threads).tuning(tuning);
            let mut out = Vec::new();
            let report = sort.to_format(Format::U64Le).to_writer(&mut out).unwrap();
            let found = out.chunks(8).map(|value| u64::from_le_bytes(value.try_into().unwrap()));
            assert!(found.eq(expected.iter().copied()));
            assert!(report.ways.times(Way::Scattered) > 0);
            // Once when it was loaded, and once a level.
            let most = 4 * 8 * values.len() as u64;
            assert!(report.spilled_bytes < most, "{} of {most}", report.spilled_bytes);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_stream_is_sorted_like_a_file(mut case in case()) {
        if case.plan == Plan::MultiPass {
            case.plan = Plan::Spill;
        }
        if case.plan == Plan::Dense {
            case.tuning.sample = None; // more of a stream is expected: no bitmap fits
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

    /// Sets in memory and in files, beside lines and values, give what files of the same
    /// numbers give.
    #[test]
    fn sets_are_sorted_like_files_of_their_values(
        mut case in case(),
        split in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        shape in prop::sample::select(vec![SetFormat::Bits, SetFormat::Roaring, SetFormat::RoaringBits]),
        merge: bool,
    ) {
        let folder = tempfile::tempdir().unwrap();
        case.from = Format::Text;
        let values: Vec<u64> = case.lines.iter().flatten().copied().collect();
        let mut ends = [split.0.index(values.len() + 1), split.1.index(values.len() + 1)];
        ends.sort_unstable();
        let [owned, filed, lines] =
            [&values[..ends[0]], &values[ends[0]..ends[1]], &values[ends[1]..]];
        let [owned, filed] = [owned, filed].map(|part| part.iter().copied().collect::<IntegerSet>());
        let path = folder.path().join("set");
        filed.write_as(&path, shape).unwrap();
        let mut lines = lines.to_vec();
        if merge {
            lines.sort_unstable();
            if case.reverse {
                lines.reverse();
            }
        }
        case.lines = owned.iter().chain(filed.iter()).chain(lines.iter().copied()).map(Some).collect();
        let mut sort = options(&case)
            .temporary_folder(folder.path())
            .merge(merge)
            .set(Arc::new(owned))
            .set(SetFile::open(&path).unwrap());
        if !lines.is_empty() {
            let text = folder.path().join("lines");
            let lines: Vec<_> = lines.into_iter().map(Some).collect();
            std::fs::write(&text, encode(&case, &lines)).unwrap();
            sort = sort.file(text);
        }
        let (report, found, expected) = run(&case, sort, folder.path());
        prop_assert_eq!(found.escape_ascii().to_string(), expected.escape_ascii().to_string());
        if let Some(report) = report {
            prop_assert_eq!(report.values, case.lines.len() as u64);
            prop_assert!(report.strategy.is_none() || report.strategy == Some(case.plan));
        }
    }
}
