use super::*;
use proptest::prelude::*;

fn selector(column: Column) -> Selector {
    Selector {
        column,
        delimiter: b',',
        terminator: b'\n',
        notation: Notation::DECIMAL,
        header: false,
        quoting: true,
    }
}

fn lines(text: &str, index: usize) -> Vec<Line> {
    let selector = selector(Column::Number(index + 1));
    selector.records(text.as_bytes(), index, MAX_RECORD_BYTES).map(|(_, line)| line).collect()
}

#[test]
fn fields_are_found_with_and_without_quotes() {
    let text = "a,1\n\"b,\"\"x\",\"2\"\n\"c\nd\",3,e\r\n\n";
    let expected = [Line::Value(1), Line::Value(2), Line::Value(3), Line::Blank];
    assert_eq!(lines(text, 1), expected);
    assert_eq!(
        selector(Column::Number(2)).complete(text.as_bytes(), MAX_RECORD_BYTES, false),
        Some(text.len())
    );
}

#[test]
fn what_is_wrong_is_said_with_its_place_in_the_record() {
    let malformed = |reason, offset| Line::Malformed { reason, offset };
    assert_eq!(lines("a\n", 1), [malformed(Malformed::MissingField, 0)]);
    assert_eq!(lines("ab,x1\n", 1), [malformed(Malformed::ExpectedDigit, 3)]);
    assert_eq!(lines("ab,\"1\"2\n", 1), [malformed(Malformed::BadQuote, 0)]);
    assert_eq!(lines("ab,\"12\n", 1), [malformed(Malformed::BadQuote, 0)]);
    assert_eq!(lines("ab,\n", 1), [Line::Blank]);
    assert_eq!(lines("\r\n \t\r\n\r\r\n", 1), [Line::Blank, Line::Blank, Line::Blank]);
    assert_eq!(lines("5\" pipe,7\n", 1), [Line::Value(7)]);
    let bad_quote = malformed(Malformed::BadQuote, 0);
    assert_eq!(lines("1\n\"b\n2\n", 0), [Line::Value(1), bad_quote, Line::Value(2)]);
    assert_eq!(lines("1,\"b\n2\n", 0), [bad_quote, Line::Value(2)]);
}

#[test]
fn a_broken_record_costs_its_first_line_wherever_it_is_broken() {
    let bad_quote = Line::Malformed { reason: Malformed::BadQuote, offset: 0 };
    let text = "1,\"5 in\n2,x\n3,6\" pipe\n4,y\n";
    let values = [2, 3, 4].map(Line::Value);
    let expected = [&[bad_quote], &values[..]].concat();
    assert_eq!(lines(text, 0), expected);
    assert_eq!(lines("1,x,\"a\nb\" c\n2\n", 0)[0], bad_quote);
    assert_eq!(lines("1\n2,\"\"3\n4,\"\r\r\"\r\n", 0)[1], bad_quote);
    let selector = selector(Column::Number(1));
    assert_eq!(selector.complete(b"1,\"a\n2,\"b", MAX_RECORD_BYTES, false), Some(5));
    assert_eq!(selector.complete(b"1,\"a\n2,\"", MAX_RECORD_BYTES, false), None);
    assert_eq!(selector.complete(b"1,\"a\" b", MAX_RECORD_BYTES, false), None);
}

#[test]
fn lines_that_are_broken_at_the_same_place_are_read_in_no_time() {
    let count = 100_000;
    for tail in ["\"x\"y\n", "\"x"] {
        let text = "7\",\"\n".repeat(count).replacen("7\"", "\"7\"", 1) + tail;
        let found = lines(&text, 0);
        assert_eq!(found.len(), count + 1);
        let is_bad = |line: &Line| matches!(line, Line::Malformed { .. });
        assert!(found.iter().all(is_bad));
        let selector = selector(Column::Number(1));
        let last = text.rfind('\n').map(|at| at + 1);
        assert!(
            tail.ends_with('x')
                || selector.complete(text.as_bytes(), MAX_RECORD_BYTES, false) == last
        );
    }
}

#[test]
fn an_incomplete_record_is_left_for_later() {
    let selector = selector(Column::Number(1));
    assert_eq!(selector.complete(b"1,2\n3,\"4\n5\n", MAX_RECORD_BYTES, false), Some(4));
    assert_eq!(selector.complete(b"1,2", MAX_RECORD_BYTES, false), None);
}

#[test]
fn a_column_is_found_by_its_name() {
    let selector = selector(Column::Name("id".into()));
    assert_eq!(selector.index(b"name, \"x\" ,id\r"), Ok(2));
    assert_eq!(selector.index(b"\"id\",name"), Ok(0));
    assert_eq!(selector.index(b"idx,name"), Err(0));
    assert_eq!(selector.index(b"id,name,\"id\""), Err(2));
}

#[test]
fn two_quotes_in_a_quoted_name_are_one() {
    let selector = selector(Column::Name("a \"b\"".into()));
    assert_eq!(selector.index(b"id,\"a \"\"b\"\"\""), Ok(1));
    assert_eq!(selector.index(b"\"a \"\"\"\"b\"\"\",id"), Err(0));
    assert_eq!(selector.index(b"id,a \"b\""), Ok(1));
}

#[test]
fn a_long_record_costs_its_first_line_and_its_other_lines_begin_records() {
    let selector = selector(Column::Number(1));
    let read = |text: &str, limit: usize| -> Vec<Line> {
        selector.records(text.as_bytes(), 0, limit).map(|(_, line)| line).collect()
    };
    let bad_quote = Line::Malformed { reason: Malformed::BadQuote, offset: 0 };
    let text = "1,\"a\nb\"\n2\n";
    assert_eq!(read(text, 7), [Line::Value(1), Line::Value(2)]);
    let malformed = Line::Malformed { reason: Malformed::ExpectedDigit, offset: 0 };
    assert_eq!(read(text, 6), [bad_quote, malformed, Line::Value(2)]);
    // A long line is one record, whatever it has, and too long.
    let too_long = Line::Malformed { reason: Malformed::RecordTooLong, offset: 0 };
    assert_eq!(read("123456,\"b\"\n2\n", 5), [too_long, Line::Value(2)]);
    assert_eq!(selector.complete(b"1,\"a\nb", 5, false), Some(5));
    assert_eq!(selector.complete(b"1,\"a\nb", 6, false), None);
    assert_eq!(selector.complete(b"1234567,\"a", 5, false), None);
    assert_eq!(selector.complete(b"1,\"a\nb", 5, true), None, "it may get longer");
    assert_eq!(selector.complete(b"1,\"a\nb\"\n", 5, true), Some(8), "its end is known: two lines");
}

/// What the module says of records, one by one.
fn by_the_rules(selector: &Selector, text: &[u8], limit: usize) -> Vec<(usize, bool)> {
    let mut found = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let line = selector.line_end(text, start).unwrap_or(text.len());
        let end = match selector.walk(text, start, 0, |_, _| false).unwrap() {
            End::At(end) => Some(end),
            End::Bytes => Some(text.len()),
            End::Open | End::Broken(_) => None,
        };
        let end = end.filter(|&end| end - start <= limit || end == line);
        let here = end.unwrap_or(line);
        found.push((here, end.is_some() && here - start <= limit));
        start = here + 1;
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 10 } else { 2000 }))]
    #[test]
    fn records_are_those_of_the_rules_in_whatever_pieces_they_come(
        text in prop::collection::vec(prop::sample::select(&b"7,,\"\"\"\n\n\rx"[..]), 0..120),
        limit in 1..40_usize,
        more in 1..40_usize,
        patience in 0..100_usize,
    ) {
        let selector = selector(Column::Number(1));
        let expected = by_the_rules(&selector, &text, limit);
        let is_kept = |line: &Line, text: &[u8]| {
            let Line::Malformed { reason, .. } = line else { return true };
            let is_blank = text.iter().all(|byte| *byte == b'\r');
            *reason != Malformed::RecordTooLong && (is_blank || *reason != Malformed::BadQuote)
        };
        let judge = |bytes: &[u8], start: usize| -> Vec<(usize, bool)> {
            let records = selector.records(bytes, 0, limit);
            records.map(|(at, line)| (start + at.end, is_kept(&line, &bytes[at]))).collect()
        };
        prop_assert_eq!(judge(&text, 0), &expected[..]);
        // As blocks are: full ones end behind a record, and a line may be longer.
        let mut found = Vec::new();
        let mut start = 0;
        let mut size = limit + more;
        while start < text.len() {
            let bytes = &text[start..text.len().min(start + size)];
            let is_last = start + bytes.len() == text.len();
            let waits = bytes.len() < patience;
            match selector.complete(bytes, limit, waits).filter(|_| !is_last) {
                Some(end) => {
                    found.extend(judge(&bytes[..end], start));
                    (start, size) = (start + end, limit + more);
                }
                None if is_last => {
                    found.extend(judge(bytes, start));
                    start = text.len();
                }
                None => size += 1, // of one line, or it waits
            }
        }
        prop_assert_eq!(found, expected);
    }
}
