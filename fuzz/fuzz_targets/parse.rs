//! The kernels of every instruction set find the lines that the reference
//! parser finds, whatever the bytes; in every notation a block of lines is what its lines
//! are one by one, and what is written is read again.
#![no_main]

use arbitrary::Arbitrary;
use bitsort::fuzzing::{lines_in, parse_at_every_level};
use bitsort::number::{Line, Notation, parse_line};
use bitsort_fuzz::{Meaning, meaning};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
struct Case<'a> {
    shift: u8,
    zero_terminated: bool,
    /// Windows are longer than what a fuzzer makes up.
    repeat: u8,
    number: u64,
    text: &'a [u8],
}

const NOTATIONS: [Notation; 7] = [
    Notation::DECIMAL,
    Notation::DECIMAL.with_ranges(),
    Notation::HEX,
    Notation::HEX.with_ranges(),
    Notation::IPV4,
    Notation::IPV4.with_ranges(),
    Notation::CIDR,
];

/// Checks a text of complete lines in every notation.
fn check_notations(text: &[u8], terminator: u8) {
    for notation in NOTATIONS {
        let found = lines_in(notation, text, terminator);
        let lines = text.split_inclusive(|&byte| byte == terminator);
        let mut count = 0;
        for (line, found) in lines.zip(&found) {
            count += 1;
            let line = &line[..line.len() - 1];
            assert_eq!(*found, notation.parse_line(line), "{notation}: {:?}", line.escape_ascii());
            match *found {
                Line::Value(value) => {
                    let text = notation.text(value).expect("it was read");
                    assert_eq!(notation.parse_line(text.as_bytes()), *found);
                }
                Line::Range { first, last } => assert!(notation.takes_ranges() && first < last),
                Line::Blank => {}
                Line::Malformed { offset, .. } => assert!(offset <= line.len() as u64),
            }
        }
        assert_eq!(
            (count, found.len()),
            (text.split_inclusive(|&b| b == terminator).count(), count)
        );
    }
}

fuzz_target!(|case: Case| {
    let terminator = if case.zero_terminated { 0 } else { b'\n' };
    let mut text = case.text.repeat(1 + usize::from(case.repeat));
    text.truncate(1 << 14);
    text.extend_from_slice(case.number.to_string().as_bytes());
    text.push(terminator);
    text.extend_from_slice(case.text);

    let end = text.iter().rposition(|&byte| byte == terminator).map_or(0, |last| last + 1);
    check_notations(&text[..end], terminator);
    let lines: Vec<&[u8]> = text[..end].split_inclusive(|&byte| byte == terminator).collect();
    for found in parse_at_every_level(&text, usize::from(case.shift % 64), terminator) {
        assert_eq!((found.end, found.lines.len()), (end, lines.len()), "{}", found.level);
        let mut behind = 0;
        for (line, (place, value)) in lines.iter().zip(found.lines) {
            behind += line.len();
            assert_eq!(place + 1, behind, "{}", found.level);
            let line = &line[..line.len() - 1];
            let reference = parse_line(line);
            if let Some(value) = value {
                assert_eq!(reference, Line::Value(value), "{}", found.level);
            } else {
                let plain = line.strip_suffix(b"\r").unwrap_or(line);
                let digits = plain.iter().all(u8::is_ascii_digit);
                assert!(!digits || !(1..=19).contains(&plain.len()), "{}: odd", found.level);
            }
            let expected = match reference {
                Line::Value(value) => Meaning::Value(value),
                Line::Blank => Meaning::Blank,
                Line::Range { .. } => panic!("no notation of ranges"),
                Line::Malformed { offset, .. } => {
                    assert!(offset < line.len() as u64);
                    Meaning::Malformed
                }
            };
            assert_eq!(meaning(line), expected);
        }
    }
});
