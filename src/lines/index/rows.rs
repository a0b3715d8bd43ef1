//! The lines of a block.

use memchr::memmem::Finder;
use memchr::memrchr;
use std::cmp::Ordering;

/// The rows of a block, each with its line as it is in the file.
pub(crate) fn rows(block: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut rest = block;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (line, after) = rest.split_at(line_len(rest));
        rest = after;
        let row = line.strip_suffix(b"\n").unwrap_or(line);
        Some((row.strip_suffix(b"\r").unwrap_or(row), line))
    })
}

/// The rows that hold the bytes that `bytes` looks for.
pub(super) fn rows_with<'b>(
    block: &'b [u8],
    bytes: &Finder<'_>,
) -> impl Iterator<Item = (&'b [u8], &'b [u8])> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = block.get(start..)?;
        let place = bytes.find(rest)?;
        let begin = memrchr(b'\n', rest.get(..place)?).map_or(0, |end| end + 1);
        let (row, line) = rows(rest.get(begin..)?).next()?;
        start += begin + line.len();
        Some((row, line))
    })
}

/// Bytes of the first line with its line end.
pub(super) fn line_len(mut bytes: &[u8]) -> usize {
    use std::io::BufRead;
    // This is how the standard library offers its vectorized search; it cannot fail here.
    bytes.skip_until(b'\n').unwrap_or(bytes.len())
}

/// Offset of the first row that does not sort before the wanted key. Rows must be sorted.
pub(super) fn partition(block: &[u8], mut order: impl FnMut(&[u8]) -> Ordering) -> usize {
    let (mut low, mut high) = (0, block.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        let begin = memrchr(b'\n', &block[low..middle]).map_or(low, |end| low + end + 1);
        let Some((row, line)) = rows(&block[begin..]).next() else { break };
        if order(row) == Ordering::Less {
            low = begin + line.len();
        } else {
            high = begin;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rows_end_with_either_line_end_or_with_the_file() {
        let found: Vec<_> = rows(b"a\r\n\nb\r\r\nc\r").collect();
        let expected: [(&[u8], &[u8]); 4] =
            [(b"a", b"a\r\n"), (b"", b"\n"), (b"b\r", b"b\r\r\n"), (b"c", b"c\r")];
        assert_eq!(found, expected);
    }

    proptest! {
        #[test]
        fn rows_that_hold_bytes_are_found(
            block in "[ab\r\n]{0,40}",
            wanted in "[ab\r]{0,3}",
        ) {
            let finder = Finder::new(wanted.as_bytes());
            let holds = |line: &[u8]| finder.find(line).is_some();
            let expected = rows(block.as_bytes()).filter(|(_, line)| holds(line));
            prop_assert!(rows_with(block.as_bytes(), &finder).eq(expected));
        }

        #[test]
        fn rows_are_found_by_bisection(
            mut all in prop::collection::vec("[a-c]{0,3}", 0..30),
            wanted in "[a-c]{0,3}",
            ends in any::<bool>(),
        ) {
            all.sort();
            let mut block = all.join("\n").into_bytes();
            if ends && !all.is_empty() {
                block.push(b'\n');
            }
            let expected: Vec<_> = rows(&block)
                .skip_while(|(row, _)| *row < wanted.as_bytes())
                .collect();
            let start = partition(&block, |row| row.cmp(wanted.as_bytes()));
            prop_assert!(rows(&block[start..]).eq(expected));
        }
    }
}
