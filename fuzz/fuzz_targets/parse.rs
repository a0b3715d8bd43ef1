//! The kernels of every instruction set find the lines that the reference
//! parser finds, whatever the bytes.
#![no_main]

use arbitrary::Arbitrary;
use bitsort::fuzzing::parse_at_every_level;
use bitsort::number::{Line, parse_line};
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

fuzz_target!(|case: Case| {
    let terminator = if case.zero_terminated { 0 } else { b'\n' };
    let mut text = case.text.repeat(1 + usize::from(case.repeat));
    text.truncate(1 << 14);
    text.extend_from_slice(case.number.to_string().as_bytes());
    text.push(terminator);
    text.extend_from_slice(case.text);

    let end = text.iter().rposition(|&byte| byte == terminator).map_or(0, |last| last + 1);
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
                Line::Malformed { offset, .. } => {
                    assert!(offset < line.len() as u64);
                    Meaning::Malformed
                }
            };
            assert_eq!(meaning(line), expected);
        }
    }
});
