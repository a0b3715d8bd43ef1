//! The whole sort, with memory and blocks so small that every boundary is
//! crossed, against a sorted map.
#![no_main]

use arbitrary::Arbitrary;
use bitsort::sort::{InvalidLines, Sort, Strategy, Tuning};
use bitsort::{ByteSize, Error, Format};
use bitsort_fuzz::{Meaning, MemoryFile, folder, meaning};
use libfuzzer_sys::fuzz_target;
use std::collections::BTreeMap;
use std::io::{Cursor, Write};

#[derive(Debug, Arbitrary)]
struct Case {
    inputs: [Vec<Line>; 3],
    /// How many of these there are, and which of them are streams.
    shape: (u8, u8),
    from: u8,
    to: u8,
    plan: u8,
    tuning: [u8; 5],
    threads: u8,
    /// What the planner takes for a sample: it may be misled.
    sample: Option<Vec<u64>>,
    flags: Flags,
    way: Way,
}

#[derive(Debug, Clone, Copy, Arbitrary)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own")]
struct Flags {
    distinct: bool,
    counted: bool,
    repeated: bool,
    reverse: bool,
    zero_terminated: bool,
    header: bool,
    skip_invalid: bool,
    crlf: bool,
    complete: bool,
    byte_order_mark: bool,
}

/// How the result is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Arbitrary)]
enum Way {
    File,
    Writer,
    Values,
    Merge,
    Check,
}

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Line {
    Small(u8),
    Medium(u16),
    Wide(u32),
    Any(u64),
    Edge(u8),
    Cluster(u8),
    Copies { value: u16, count: u8 },
    Run { from: u32, count: u8 },
    Noise { seed: u16, count: u8, bits: u8 },
    Padded { value: u32, zeros: u8 },
    Blank(u8),
    Malformed(u8),
    Bytes { bytes: [u8; 7], len: u8 },
    Long(u8),
}

const EDGES: [u64; 10] =
    [0, 9, 10, 65_535, 65_536, (1 << 24) - 1, 1 << 32, (1 << 32) - 1, u64::MAX - 1, u64::MAX];
const MALFORMED: [&str; 8] =
    ["+5", "-3", "1e3", "0x1F", "12abc", "18446744073709551616", "1 2", "5\r\r"];

/// The lines of one input; values are narrowed to what formats and plan take.
fn lines(case: &Case, input: &[Line], most: u64) -> Vec<Vec<u8>> {
    let mut out: Vec<Vec<u8>> = Vec::new();
    let digits = |value: u64| (value & most).to_string().into_bytes();
    let terminator = if case.flags.zero_terminated { 0 } else { b'\n' };
    for &line in input.iter().take(200) {
        match line {
            Line::Small(value) => out.push(digits(value.into())),
            Line::Medium(value) => out.push(digits(value.into())),
            Line::Wide(value) => out.push(digits(value.into())),
            Line::Any(value) => out.push(digits(value)),
            Line::Edge(index) => out.push(digits(EDGES[usize::from(index) % EDGES.len()])),
            Line::Cluster(low) => out.push(digits((7 << 40) + u64::from(low))),
            Line::Copies { value, count } => {
                out.extend((0..count).map(|_| digits(value.into())));
            }
            Line::Run { from, count } => {
                out.extend((0..u64::from(count)).map(|n| digits(u64::from(from) + n)));
            }
            Line::Noise { seed, count, bits } => {
                let mut state = u64::from(seed);
                out.extend((0..count).map(|_| {
                    state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E);
                    digits(state.rotate_left(13) >> (bits % 64))
                }));
            }
            _ => {
                let mut bytes = match line {
                    Line::Padded { value, zeros } => {
                        let value = u64::from(value) & most;
                        format!("\t {}{value} ", "0".repeat(usize::from(zeros))).into_bytes()
                    }
                    Line::Blank(kind) => {
                        [&b""[..], b" ", b"\t\t ", b"\r"][usize::from(kind % 4)].to_vec()
                    }
                    Line::Malformed(index) => MALFORMED[usize::from(index % 8)].into(),
                    Line::Bytes { bytes, len } => bytes[..usize::from(len % 8)].to_vec(),
                    Line::Long(count) => vec![b' '; usize::from(count) * 9],
                    _ => Vec::new(),
                };
                bytes.retain(|byte| *byte != terminator);
                if most < u64::MAX && matches!(line, Line::Bytes { .. }) {
                    bytes.clear();
                }
                out.push(bytes);
            }
        }
    }
    out
}

/// The format of a value as it is read or written.
fn bytes(format: Format, terminator: u8, value: u64, out: &mut Vec<u8>) {
    match format {
        Format::Text => {
            out.extend_from_slice(value.to_string().as_bytes());
            out.push(terminator);
        }
        Format::Noted(notation) => {
            out.extend_from_slice(notation.text(value).unwrap().as_bytes());
            out.push(terminator);
        }
        Format::U32Le => out.extend_from_slice(&u32::try_from(value).unwrap().to_le_bytes()),
        Format::U32Be => out.extend_from_slice(&u32::try_from(value).unwrap().to_be_bytes()),
        Format::U64Le => out.extend_from_slice(&value.to_le_bytes()),
        Format::U64Be => out.extend_from_slice(&value.to_be_bytes()),
        _ => unreachable!("these are all formats"),
    }
}

/// What the inputs hold.
#[derive(Debug, Default)]
struct Account {
    lines: u64,
    values: Vec<u64>,
    blank: u64,
    headers: u64,
    rejected: u64,
    /// Input and number of the first malformed line.
    first_bad: Option<(String, u64)>,
}

impl Account {
    /// Reads a text as the documentation says that it is read.
    fn read(&mut self, case: &Case, name: &str, text: &[u8]) {
        let terminator = if case.flags.zero_terminated { 0 } else { b'\n' };
        let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
        for (index, line) in text.split_inclusive(|&byte| byte == terminator).enumerate() {
            self.lines += 1;
            if case.flags.header && index == 0 {
                self.headers += 1;
                continue;
            }
            match meaning(line.strip_suffix(&[terminator]).unwrap_or(line)) {
                Meaning::Value(value) => self.values.push(value),
                Meaning::Blank => self.blank += 1,
                Meaning::Malformed => {
                    self.rejected += 1;
                    let place = || (name.to_owned(), index as u64 + 1);
                    self.first_bad.get_or_insert_with(place);
                }
            }
        }
    }
}

fn expected(case: &Case, to: Format, values: &[u64]) -> Vec<u8> {
    let terminator = if case.flags.zero_terminated { 0 } else { b'\n' };
    let mut counts = BTreeMap::new();
    for value in values {
        *counts.entry(*value).or_insert(0_usize) += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    if case.flags.reverse {
        counts.reverse();
    }
    let mut out = Vec::new();
    for (value, count) in counts {
        if case.flags.repeated && count < 2 {
            continue;
        }
        if case.flags.counted {
            write!(out, "{count:>7} {value}").unwrap();
            out.push(terminator);
            continue;
        }
        let once = case.flags.distinct || case.flags.repeated;
        (0..if once { 1 } else { count }).for_each(|_| bytes(to, terminator, value, &mut out));
    }
    out
}

fn options(case: &Case, plan: Strategy, from: Format, to: Format) -> Sort {
    let pick = |index: usize, sizes: [usize; 4]| Some(sizes[usize::from(case.tuning[index] % 4)]);
    let merge = case.way == Way::Merge;
    let tuning = Tuning {
        sample: if merge { None } else { case.sample.clone() },
        cut_values: Some(if case.tuning[4] & 64 == 0 { 10 } else { 1 << 20 }),
        block_bytes: pick(0, [64, 100, 333, 4096]),
        pool_bytes: if merge { None } else { pick(1, [2048, 8192, 1 << 14, 1 << 20]) },
        partitions: if merge { None } else { pick(2, [2, 16, 64, 64]) },
        scratch_bytes: if merge { None } else { pick(3, [2048, 9000, 1 << 16, 1 << 20]) },
        output_bytes: if merge { None } else { pick(4, [1, 1000, 1 << 16, 1 << 16]) },
    };
    let flags = case.flags;
    let invalid = if flags.skip_invalid && from == Format::Text {
        InvalidLines::Skip
    } else {
        InvalidLines::Fail
    };
    Sort::new()
        .threads(1 + usize::from(case.threads % 3))
        .memory(ByteSize::from_mib(128))
        .temporary_folder(folder())
        .strategy(plan)
        .tuning(tuning)
        .distinct(flags.distinct)
        .counted(flags.counted)
        .repeated(flags.repeated)
        .reverse(flags.reverse)
        .zero_terminated(flags.zero_terminated)
        .header(flags.header)
        .invalid(invalid)
        .from_format(from)
        .to_format(to)
        .no_spill(plan == Strategy::MultiPass)
        .merge(merge)
}

fuzz_target!(|case: Case| {
    let mut case = case;
    let from = Format::ALL[usize::from(case.from % 5)];
    let mut to = Format::ALL[usize::from(case.to % 5)];
    let plan = Strategy::ALL[usize::from(case.plan) % Strategy::ALL.len()];
    if case.way == Way::Values {
        to = Format::U64Le;
    }
    if to != Format::Text {
        case.flags.counted = false;
    }
    if from != Format::Text {
        case.flags.header = false;
    }
    if case.way == Way::Check {
        (case.flags.counted, case.flags.repeated) = (false, false);
    }
    let mut most = from.max_value().min(to.max_value());
    // A bitmap of all 2^64 values fits nowhere.
    if plan == Strategy::Dense {
        most = most.min((1 << 20) - 1);
    }
    // More of a stream is expected than such a sample shows, and of nothing anything.
    let streams = case.shape.1 & 1 == 1;
    if plan == Strategy::Dense && (streams || case.sample.as_ref().is_some_and(Vec::is_empty)) {
        case.sample = None;
    }
    if let Some(sample) = case.sample.as_mut().filter(|_| plan == Strategy::Dense) {
        sample.iter_mut().for_each(|value| *value %= 1 << 16);
    }
    let terminator = if case.flags.zero_terminated { 0 } else { b'\n' };
    let end: &[u8] = if case.flags.crlf { &[b'\r', terminator] } else { &[terminator] };

    let mut account = Account::default();
    let mut sort = options(&case, plan, from, to);
    let mut files = Vec::new();
    let count = if case.way == Way::Check { 1 } else { 1 + usize::from(case.shape.0 % 3) };
    for (index, input) in case.inputs.iter().enumerate().take(count) {
        let mut lines = lines(&case, input, most);
        let mut content = Vec::new();
        let mut values: Vec<u64> = lines
            .iter()
            .filter_map(|line| match meaning(line) {
                Meaning::Value(value) => Some(value),
                _ => None,
            })
            .collect();
        if case.way == Way::Merge {
            values.sort_unstable();
            if case.flags.reverse {
                values.reverse();
            }
            lines = values.iter().map(|value| value.to_string().into_bytes()).collect();
            if case.flags.header {
                lines.insert(0, b"id".to_vec());
            }
        }
        // Of several streams one is looked at beforehand: the bitmap could not
        // be planned. With several passes none can be read.
        let may_stream = match plan {
            Strategy::MultiPass => false,
            Strategy::Dense => index == 0,
            _ => true,
        };
        let is_stream = may_stream && case.shape.1 >> index & 1 == 1;
        let file;
        let name;
        if from == Format::Text {
            if case.flags.byte_order_mark {
                content.extend_from_slice(b"\xEF\xBB\xBF");
            }
            content.extend(lines.iter().flat_map(|line| [line, end].concat()));
            if !case.flags.complete {
                content.truncate(content.len() - end.len().min(content.len()));
            }
        } else {
            values.iter().for_each(|value| bytes(from, 0, *value, &mut content));
        }
        if is_stream {
            name = format!("stream{index}");
            sort = sort.reader(&name, Cursor::new(content.clone()));
        } else {
            file = MemoryFile::new(&content);
            name = file.path().display().to_string();
            sort = sort.file(file.path());
            files.push(file);
        }
        // An empty file is a stream that ends at once: it cannot be read twice.
        if content.is_empty() && plan == Strategy::MultiPass {
            return;
        }
        if from == Format::Text {
            account.read(&case, &name, &content);
        } else {
            account.lines += values.len() as u64;
            account.values.extend_from_slice(&values);
        }
    }

    if !case.flags.skip_invalid
        && let Some(first_bad) = account.first_bad
    {
        let failed = match case.way {
            Way::Check => sort.check().map(drop),
            Way::Values => sort
                .into_values()
                .and_then(|values| values.collect::<Result<Vec<_>, _>>().map(drop)),
            _ => sort.to_writer(std::io::sink()).map(drop),
        };
        match failed {
            Err(Error::MalformedLine { input, line, .. }) => assert_eq!((input, line), first_bad),
            // It ends at the first disorder, which may come before.
            Ok(()) if case.way == Way::Check => {}
            other => panic!("{other:?} instead of a malformed line"),
        }
        return;
    }
    let expected = expected(&case, to, &account.values);
    let (report, found) = match case.way {
        Way::Check => {
            let ordered = account.values.is_sorted_by(|a, b| {
                let (a, b) = if case.flags.reverse { (b, a) } else { (a, b) };
                if case.flags.distinct { a < b } else { a <= b }
            });
            return assert_eq!(sort.check().unwrap().is_none(), ordered);
        }
        Way::Values => {
            let values = sort.into_values().unwrap().map(Result::unwrap);
            let found: Vec<u8> = values.flat_map(u64::to_le_bytes).collect();
            return assert_eq!(found, expected);
        }
        Way::File => {
            let out = folder().join("sorted");
            let report = sort.to_file(&out).unwrap();
            (report, std::fs::read(out).unwrap())
        }
        Way::Writer | Way::Merge => {
            let mut out = Vec::new();
            let report = sort.to_writer(&mut out).unwrap();
            (report, out)
        }
    };
    assert_eq!(found.escape_ascii().to_string(), expected.escape_ascii().to_string());
    assert_eq!((report.lines, report.values), (account.lines, account.values.len() as u64));
    assert_eq!((report.rejected, report.blank), (account.rejected, account.blank));
    assert_eq!(report.headers, account.headers);
    assert_eq!(report.values, report.written + report.dropped);
    assert_eq!(report.written_bytes, found.len() as u64);
});
