use super::*;
use crate::kernel::Level;
use crate::kernel::parse::PADDING;
use crate::number::{Line, LineSink, Malformed};
use proptest::prelude::*;
use std::net::Ipv4Addr;
use std::ops::{ControlFlow, Range};

const DECIMAL_RANGES: Notation = Notation::DECIMAL.with_ranges();
const HEX_RANGES: Notation = Notation::HEX.with_ranges();
const IPV4_RANGES: Notation = Notation::IPV4.with_ranges();

const ALL: [Notation; 7] = [
    Notation::DECIMAL,
    DECIMAL_RANGES,
    Notation::HEX,
    HEX_RANGES,
    Notation::IPV4,
    IPV4_RANGES,
    Notation::CIDR,
];

fn address(text: &str) -> u64 {
    u32::from(text.parse::<Ipv4Addr>().unwrap()).into()
}

#[test]
fn the_grammar_takes_what_it_says() {
    for (notation, line, first, last) in [
        (DECIMAL_RANGES, "7", 7, 7),
        (DECIMAL_RANGES, " 007\t-\t0040 \r", 7, 40),
        (DECIMAL_RANGES, "5-5", 5, 5),
        (DECIMAL_RANGES, "0-18446744073709551615", 0, u64::MAX),
        (Notation::HEX, "fF", 255, 255),
        (Notation::HEX, "0xFF", 255, 255),
        (Notation::HEX, "0X00000000000000000000ff", 255, 255),
        (Notation::HEX, "ffffffffffffffff", u64::MAX, u64::MAX),
        (HEX_RANGES, "0xa-F", 10, 15),
        (Notation::IPV4, "0.0.0.0", 0, 0),
        (Notation::IPV4, "255.255.255.255 ", u32::MAX.into(), u32::MAX.into()),
        (Notation::IPV4, "10.1.2.3 # a comment", 0x0A01_0203, 0x0A01_0203),
        (Notation::IPV4, "10.1.2.3;SBL1\r", 0x0A01_0203, 0x0A01_0203),
        (Notation::CIDR, "10.0.0.0/8", 0x0A00_0000, 0x0AFF_FFFF),
        (Notation::CIDR, "10.1.2.3/32\r", 0x0A01_0203, 0x0A01_0203),
        (Notation::CIDR, "0.0.0.0/0", 0, u32::MAX.into()),
        (IPV4_RANGES, "10.0.0.1 - 10.0.0.9", 0x0A00_0001, 0x0A00_0009),
    ] {
        let expected = if first == last { Line::Value(first) } else { Line::Range { first, last } };
        assert_eq!(notation.parse_line(line.as_bytes()), expected, "{notation}: {line:?}");
    }
    for line in ["", " \t", "\r", " \r"] {
        for notation in ALL {
            assert_eq!(notation.parse_line(line.as_bytes()), Line::Blank, "{notation}: {line:?}");
        }
    }
    assert_eq!(Notation::CIDR.parse_line(b" # a list"), Line::Blank);
    let long = [b"7-".repeat(2048), vec![b'9']].concat();
    let too_long = Line::Malformed { reason: Malformed::LineTooLong, offset: 0 };
    assert_eq!(DECIMAL_RANGES.parse_line(&long), too_long);
    assert_ne!(DECIMAL_RANGES.parse_line(&long[..MAX_NOTED_BYTES - 1]), too_long);
}

#[test]
fn everything_else_is_malformed_at_its_first_bad_byte() {
    use Malformed as M;
    for (notation, line, reason, offset) in [
        (DECIMAL_RANGES, "-3", M::ExpectedDigit, 0),
        (DECIMAL_RANGES, "3-", M::ExpectedDigit, 2),
        (DECIMAL_RANGES, "3--4", M::ExpectedDigit, 2),
        (DECIMAL_RANGES, "3-4-5", M::ExpectedEnd, 3),
        (DECIMAL_RANGES, "4 - 3", M::Descending, 4),
        (DECIMAL_RANGES, "3-18446744073709551616", M::TooLarge, 21),
        (DECIMAL_RANGES, "3 4", M::ExpectedEnd, 2),
        (DECIMAL_RANGES, "3\r\r", M::ExpectedEnd, 2),
        (DECIMAL_RANGES, "3#", M::ExpectedEnd, 1),
        (Notation::HEX, "0x", M::ExpectedHexDigit, 2),
        (Notation::HEX, "xff", M::ExpectedHexDigit, 0),
        (Notation::HEX, "0xfg", M::ExpectedEnd, 3),
        (Notation::HEX, "10000000000000000", M::TooLarge, 16),
        (Notation::HEX, "a-b", M::ManyValues, 1),
        (Notation::IPV4, "10.1.2", M::ExpectedAddress, 6),
        (Notation::IPV4, "10..2.3", M::ExpectedAddress, 3),
        (Notation::IPV4, "167838211", M::OctetTooLarge, 0),
        (Notation::IPV4, "10.1.2.3.4", M::ExpectedEnd, 8),
        (Notation::IPV4, "010.1.2.3", M::LeadingZero, 0),
        (Notation::IPV4, "10.1.2.00", M::LeadingZero, 7),
        (Notation::IPV4, "10.256.2.3", M::OctetTooLarge, 3),
        (Notation::IPV4, "10.0.0.0/8", M::ManyValues, 8),
        (Notation::IPV4, "10.0.0.1-10.0.0.2", M::ManyValues, 8),
        (Notation::CIDR, "10.0.0.0/", M::ExpectedDigit, 9),
        (Notation::CIDR, "10.0.0.0/33", M::PrefixTooLong, 9),
        (Notation::CIDR, "10.0.0.0/08", M::LeadingZero, 9),
        (Notation::CIDR, "10.0.0.0/255.0.0.0", M::PrefixTooLong, 9),
        (Notation::CIDR, " 10.0.0.1/8", M::HostBits, 1),
        (Notation::CIDR, "10.0.0.0/8-11.0.0.0", M::ExpectedEnd, 10),
        (Notation::CIDR, "10.0.0.1/32-10.0.0.2", M::ExpectedEnd, 11),
        (Notation::CIDR, "10.0.0.9-10.0.0.1", M::Descending, 9),
    ] {
        let found = notation.parse_line(line.as_bytes());
        assert_eq!(found, Line::Malformed { reason, offset }, "{notation}: {line:?}");
    }
}

/// Lines of a block, as they were handed over.
#[derive(Debug, Default, PartialEq)]
struct Found {
    carried: Vec<[u64; 2]>,
    ends: Vec<u32>,
    blank: Vec<u32>,
    malformed: Vec<(Range<usize>, Malformed, u64)>,
}

impl LineSink for Found {
    fn values(&mut self, values: &[u64], ends: &[u32]) {
        assert_eq!(values.len(), ends.len());
        self.carried.extend(values.iter().map(|&value| [value, value]));
        self.ends.extend_from_slice(ends);
    }

    fn blank(&mut self, end: u32) {
        self.blank.push(end);
    }

    fn malformed(&mut self, line: Range<usize>, reason: Malformed, offset: u64) -> ControlFlow<()> {
        self.malformed.push((line, reason, offset));
        ControlFlow::Continue(())
    }
}

impl RangeSink for Found {
    fn ranges(&mut self, ranges: &[[u64; 2]]) {
        self.carried.extend_from_slice(ranges);
    }
}

/// What the block parser finds in a text, and what the reference does, line by line.
fn both(notation: Notation, text: &[u8], terminator: u8) -> (Found, Found) {
    let bytes = [&[b'7'; PADDING][..], text, &[b'7'; PADDING]].concat();
    let (span, mut found) = (PADDING..PADDING + text.len(), Found::default());
    if notation.takes_ranges() {
        block_ranges(Level::best(), notation, &bytes, span.clone(), terminator, &mut found);
    } else {
        block_values(Level::best(), notation, &bytes, span.clone(), terminator, &mut found);
    }
    let mut expected = Found::default();
    let mut start = PADDING;
    for line in text.split_inclusive(|&byte| byte == terminator) {
        let Some(line) = line.strip_suffix(&[terminator]) else { break };
        let end = start + line.len();
        let place = u32::try_from(end).unwrap();
        match notation.parse_line(line) {
            Line::Value(value) => expected.values(&[value], &[place]),
            Line::Range { first, last } => expected.ranges(&[[first, last]]),
            Line::Blank => expected.blank(place),
            Line::Malformed { reason, offset } => {
                assert!(offset <= line.len() as u64);
                let _ = expected.malformed(start..end, reason, offset);
            }
        }
        start = end + 1;
    }
    if notation.takes_ranges() {
        expected.ends.clear();
    }
    (found, expected)
}

/// Pieces of lines, right and wrong.
fn piece() -> impl Strategy<Value = String> {
    let octet = || prop_oneof![9 => (0..300_u32).prop_map(|octet| octet.to_string()), 1 => Just("00".into())];
    let address = (octet(), octet(), octet(), octet());
    let address = address.prop_map(|(a, b, c, d)| format!("{a}.{b}.{c}.{d}"));
    let block = (any::<u32>(), 0..35_u32).prop_map(|(address, length)| {
        let others = u32::MAX.checked_shr(length).unwrap_or(0);
        format!("{}/{length}", Ipv4Addr::from(address & !others))
    });
    let other = prop::sample::select(vec![
        " ", "\t", "\r", "-", "/", ".", "#", ";", "0x", "0X", "x", "0", "/8", "a", "F", "\0",
    ]);
    prop_oneof![
        2 => address,
        1 => block,
        1 => any::<u64>().prop_map(|value| value.to_string()),
        1 => any::<u64>().prop_map(|value| format!("{value:x}")),
        1 => (0..40_u64).prop_map(|value| value.to_string()),
        4 => other.prop_map(str::to_owned),
    ]
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    let line = prop::collection::vec(piece(), 0..5).prop_map(|pieces| pieces.concat());
    prop::collection::vec(line, 0..400).prop_map(|lines| (lines.join("\n") + "\n").into_bytes())
}

/// The grammar a second time, in the plainest way: what a line carries, if it is sound.
#[expect(clippy::option_option, reason = "a blank line is sound and carries nothing")]
fn model(notation: Notation, line: &str) -> Option<Option<[u64; 2]>> {
    let is_ipv4 = notation.digits == Digits::Ipv4;
    let end = line.find(['#', ';']).filter(|_| is_ipv4);
    let line = end.map_or(line.strip_suffix('\r').unwrap_or(line), |end| &line[..end]);
    let line = line.trim_matches([' ', '\t']);
    if line.is_empty() {
        return Some(None);
    }
    let number = |text: &str| -> Option<u64> {
        match notation.digits {
            Digits::Ipv4 => text.parse().ok().map(|address: Ipv4Addr| u32::from(address).into()),
            Digits::Decimal => {
                text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
            }
            Digits::Hex => {
                let marked = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
                let text = marked.unwrap_or(text);
                let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
                is_hex.then(|| u64::from_str_radix(text, 16).ok())?
            }
        }
    };
    if !notation.takes_ranges() {
        return number(line).map(|value| Some([value, value]));
    }
    if let Some((first, last)) = line.split_once('-') {
        let blanks = [' ', '\t'];
        let range =
            [number(first.trim_end_matches(blanks))?, number(last.trim_start_matches(blanks))?];
        return (range[0] <= range[1]).then_some(Some(range));
    }
    if let Some((first, length)) = line.split_once('/').filter(|_| is_ipv4) {
        let is_small = length == "0" || !length.starts_with(['0', '+']);
        let length: u32 = length.parse().ok().filter(|length| is_small && *length <= 32)?;
        let (first, size) = (number(first)?, 1_u64 << (32 - length));
        return (first % size == 0).then(|| Some([first, first + size - 1]));
    }
    number(line).map(|value| Some([value, value]))
}

/// The blocks of `range` among those below the block of this prefix, by halves.
fn halves(range: [u64; 2], first: u64, length: u32, blocks: &mut Vec<(u64, u32)>) {
    let last = first + (1 << (32 - length)) - 1;
    if range[0] <= first && last <= range[1] {
        blocks.push((first, length));
    } else if first <= range[1] && range[0] <= last {
        halves(range, first, length + 1, blocks);
        halves(range, first + (1 << (31 - length)), length + 1, blocks);
    }
}

fn written(notation: Notation, runs: &[[u64; 2]]) -> Vec<u8> {
    let (mut text, mut out) = (RunText::new(notation).unwrap(), Vec::new());
    let mut room = vec![0; RunText::ROOM];
    for &run in runs {
        let bytes = text.push(run, &mut room).unwrap();
        out.extend_from_slice(&room[..bytes]);
    }
    let bytes = text.finish(&mut room).unwrap();
    out.extend_from_slice(&room[..bytes]);
    assert!(out.split(|&byte| byte == b'\n').count() as u64 > text.runs);
    out
}

#[test]
fn the_widest_runs_have_room() {
    let widest = [1, u64::from(u32::MAX) - 1];
    let blocks = written(Notation::CIDR, &[widest]);
    assert_eq!(blocks.split(|&byte| byte == b'\n').count(), 62 + 1);
    assert_eq!(written(Notation::CIDR, &[[0, u32::MAX.into()]]), b"0.0.0.0/0\n");
    assert_eq!(
        written(DECIMAL_RANGES, &[[u64::MAX - 1, u64::MAX]]),
        b"18446744073709551614-18446744073709551615\n"
    );
    assert_eq!(written(HEX_RANGES, &[[0, 0], [1, u64::MAX]]), b"0-ffffffffffffffff\n");
    let mut room = vec![0; RunText::ROOM];
    let mut text = RunText::new(Notation::CIDR).unwrap();
    assert_eq!(text.push([0, 1 << 32], &mut room), Ok(0));
    assert_eq!(text.finish(&mut room), Err(1 << 32));
    assert_eq!(Notation::IPV4.text(1 << 32), None);
    assert_eq!(Notation::IPV4.text(address("10.0.0.255")).as_deref(), Some("10.0.0.255"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 300 }))]

    #[test]
    fn blocks_are_parsed_as_their_lines_are(text in text(), zero in any::<bool>()) {
        let terminator = if zero { 0 } else { b'\n' };
        for notation in ALL {
            let (found, expected) = both(notation, &text, terminator);
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn lines_are_what_the_model_says(text in text()) {
        for line in String::from_utf8(text).unwrap().split('\n') {
            for notation in ALL {
                let expected = model(notation, line);
                let found = match notation.parse_line(line.as_bytes()) {
                    Line::Value(value) => Some(Some([value, value])),
                    Line::Range { first, last } => Some(Some([first, last])),
                    Line::Blank => Some(None),
                    Line::Malformed { .. } => None,
                };
                prop_assert_eq!(found, expected, "{}: {:?}", notation, line);
            }
        }
    }

    #[test]
    fn what_is_written_is_read(values in prop::collection::vec(any::<(u64, u32, u8)>(), 1..300)) {
        for notation in ALL {
            let most = notation.max_value();
            let mut ascending: Vec<u64> =
                values.iter().map(|(value, _, shift)| (value >> (shift % 64)) % most).collect();
            ascending.sort_unstable();
            let mut room = vec![0; 64 * ascending.len()];
            let bytes = notation.encode(0, &ascending, b'\n', &mut room).unwrap();
            let (found, _) = both(notation, &room[..bytes], b'\n');
            prop_assert_eq!(found.carried.iter().map(|range| range[0]).collect::<Vec<_>>(), ascending.clone());
            // As runs, of values that lie apart and of those that do not.
            ascending.dedup();
            let Some(_) = RunText::new(notation) else { continue };
            let text = written(notation, &ascending.iter().map(|&value| [value, value]).collect::<Vec<_>>());
            let (found, _) = both(notation, &text, b'\n');
            let expanded: Vec<u64> = found.carried.iter().flat_map(|&[first, last]| first..=last).collect();
            prop_assert_eq!(expanded, ascending);
        }
    }

    #[test]
    fn blocks_are_the_fewest(from in any::<u32>(), length in 0..34_u32, noise in any::<u32>()) {
        let length = (u64::from(noise) | 1 << 32) >> length.min(32);
        let range = [u64::from(from), (u64::from(from) + length - 1).min(u32::MAX.into())];
        let mut expected = Vec::new();
        halves(range, 0, 0, &mut expected);
        let text = written(Notation::CIDR, &[range]);
        let lines: Vec<String> = expected
            .iter()
            .map(|&(first, length)| {
                let address = Ipv4Addr::from(u32::try_from(first).unwrap());
                if length == 32 { format!("{address}\n") } else { format!("{address}/{length}\n") }
            })
            .collect();
        prop_assert_eq!(String::from_utf8(text).unwrap(), lines.concat());
    }
}
