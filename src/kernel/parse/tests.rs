use super::{PADDING, ParseSink, parse};
use crate::kernel::Level;
use crate::number::{Line, parse_line};
use proptest::prelude::*;
use std::ops::{ControlFlow, Range};

/// Resolves odd lines with the reference parser.
struct Collect<'a> {
    bytes: &'a [u8],
    lines: Vec<Line>,
    odd: usize,
    /// Where the next line begins.
    start: usize,
}

impl ParseSink for Collect<'_> {
    fn values(&mut self, values: &[u64], ends: &[u32]) {
        assert_eq!(values.len(), ends.len());
        for (&value, &end) in values.iter().zip(ends) {
            assert_eq!(parse_line(&self.bytes[self.start..end as usize]), Line::Value(value));
            self.start = end as usize + 1;
        }
        self.lines.extend(values.iter().map(|&value| Line::Value(value)));
    }

    fn odd_line(&mut self, line: Range<usize>) -> ControlFlow<()> {
        self.odd += 1;
        self.start = line.end + 1;
        self.lines.push(parse_line(&self.bytes[line]));
        ControlFlow::Continue(())
    }
}

fn parsed(level: Level, text: &[u8], shift: usize, terminator: u8) -> (Vec<Line>, usize, usize) {
    let mut bytes = vec![b'7'; PADDING + shift];
    bytes.extend_from_slice(text);
    bytes.extend_from_slice(&[b'\n'; PADDING]);
    let span = PADDING + shift..PADDING + shift + text.len();
    let mut collect = Collect { bytes: &bytes, lines: vec![], odd: 0, start: span.start };
    let end = parse(level, &bytes, span, terminator, &mut collect);
    (collect.lines, end - PADDING - shift, collect.odd)
}

fn expected(text: &[u8], terminator: u8) -> (Vec<Line>, usize) {
    let end = text.iter().rposition(|&b| b == terminator).map_or(0, |last| last + 1);
    let lines = text[..end].split_inclusive(|&b| b == terminator);
    (lines.map(|line| parse_line(&line[..line.len() - 1])).collect(), end)
}

fn check(text: &[u8], shift: usize, terminator: u8) {
    let (lines, end) = expected(text, terminator);
    for &level in Level::available() {
        let (found, found_end, _) = parsed(level, text, shift, terminator);
        assert_eq!(found, lines, "{} on {:?}", level.name(), String::from_utf8_lossy(text));
        assert_eq!(found_end, end, "{}", level.name());
    }
}

/// Lines as files have them: mostly digits of any length, some junk.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        20 => any::<u32>().prop_map(|v| v.to_string()),
        10 => any::<u64>().prop_map(|v| v.to_string()),
        6 => "[0-9]{0,24}",
        2 => any::<u64>().prop_map(|v| format!("{v}\r")),
        2 => "[ \t]{0,3}[0-9]{1,12}[ \t]{0,3}\r?",
        1 => "[0-9a-z+,.:/\\-]{0,20}",
        1 => Just(String::new()),
        1 => Just("18446744073709551615".to_owned()),
        1 => Just("18446744073709551616".to_owned()),
        1 => Just("99999999999999999999".to_owned()),
    ]
}

proptest! {
    #[test]
    fn every_level_agrees_with_the_reference_on_lines(
        lines in prop::collection::vec(line(), 0..if cfg!(miri) { 20 } else { 400 }),
        shift in 0_usize..64,
        complete: bool,
        crlf: bool,
    ) {
        let mut text = lines.join(if crlf { "\r\n" } else { "\n" });
        if complete {
            text.push('\n');
        }
        check(text.as_bytes(), shift, b'\n');
        check(text.replace('\n', "\0").as_bytes(), shift, 0);
    }

    #[test]
    fn every_level_agrees_with_the_reference_on_any_bytes(
        text in prop::collection::vec(any::<u8>(), 0..300),
        shift in 0_usize..64,
    ) {
        check(&text, shift, b'\n');
    }
}

#[test]
fn plain_lines_are_never_odd() {
    let mut text = String::new();
    for digits in 1..=19 {
        for line in ["1234567890123456789", "9999999999999999999", "0000000000000000001"] {
            text += &line[..digits];
            text.push('\n');
        }
    }
    for text in [text.clone(), text.replace('\n', "\r\n"), text.repeat(100)] {
        for &level in Level::available() {
            let (lines, _, odd) = parsed(level, text.as_bytes(), 0, b'\n');
            assert_eq!(odd, 0, "{}", level.name());
            assert_eq!(lines, expected(text.as_bytes(), b'\n').0);
        }
    }
}

#[test]
fn a_window_of_nothing_but_terminators_is_read() {
    check(&[b'\n'; 5000], 3, b'\n');
    check(&b"1\n".repeat(5000), 1, b'\n');
}

#[test]
fn a_sink_that_breaks_ends_the_parse_behind_the_odd_line() {
    struct Stop(Vec<u64>);
    impl ParseSink for Stop {
        fn values(&mut self, values: &[u64], _: &[u32]) {
            self.0.extend_from_slice(values);
        }
        fn odd_line(&mut self, _: Range<usize>) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    let text = b"1\n2\nx\n3\n";
    let mut bytes = vec![b' '; PADDING];
    bytes.extend_from_slice(text);
    bytes.extend_from_slice(&[b' '; PADDING]);
    for &level in Level::available() {
        let mut stop = Stop(vec![]);
        let end = parse(level, &bytes, PADDING..PADDING + text.len(), b'\n', &mut stop);
        assert_eq!((stop.0, end), (vec![1, 2], PADDING + 6), "{}", level.name());
    }
}
