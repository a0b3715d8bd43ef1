use super::block::Block;
use super::blocks::Claims;
use super::lines::LineInputs;
use super::regular::RegularFile;
use super::rule::Taken;
use super::sample::spaced;
use crate::error::Error;
use crate::kernel::parse::PADDING;
use crate::number::{Column, MAX_RECORD_BYTES, Notation, Selector};
use crate::progress::Progress;
use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Claims of about so many bytes of text, with the shortest limit of lines.
fn claims(inputs: &LineInputs, bytes: usize) -> Claims<'_> {
    static PROGRESS: LazyLock<Progress> = LazyLock::new(Progress::default);
    Claims::of_lines(inputs, inputs.rule(bytes, 0), 2, &PROGRESS)
}

fn of_text(path: &Path) -> LineInputs {
    LineInputs::of_text(vec![path.into()], None, 64 << 20)
}

/// The lines of a file in claims and blocks of about so many bytes.
fn read(path: &Path, claim_bytes: usize, block_bytes: usize) -> Result<String, Error> {
    let inputs = of_text(path);
    let claims = claims(&inputs, claim_bytes);
    let (mut block, mut text, mut claimed) = (claims.block(), String::new(), 0);
    while claims.claim(&mut block)? {
        claimed += block.claimed_bytes;
        while block.next_lines(block_bytes)? {
            assert!(block.lines().ends_with(b"\n"));
            assert!(text.is_empty() || block.offset + 1 >= text.len() as u64);
            text += std::str::from_utf8(block.lines()).unwrap();
        }
    }
    assert_eq!(claimed, fs::metadata(path).unwrap().len());
    Ok(text)
}

#[test]
fn lines_come_whole_from_blocks_of_any_size() {
    let folder = tempfile::tempdir().unwrap();
    let texts = ["\u{feff}1\n22\n\n333333\n4", "", "5\r\n6\n"];
    let paths: Vec<PathBuf> = (0..texts.len())
        .map(|number| {
            let path = folder.path().join(number.to_string());
            fs::write(&path, texts[number]).unwrap();
            path
        })
        .collect();
    for bytes in 1..24 {
        let inputs = LineInputs::of_text(paths.clone(), None, 64 << 20);
        let claims = claims(&inputs, bytes);
        let (mut block, mut blocks) = (claims.block(), 0);
        let mut found = vec![String::new(); texts.len()];
        while claims.claim(&mut block).unwrap() {
            assert_eq!(block.sequence, blocks);
            blocks += 1;
            while block.next_lines(usize::MAX).unwrap() {
                let (bytes, span) = block.padded();
                assert!(span.start >= PADDING && bytes.len() - span.end >= PADDING);
                let text = std::str::from_utf8(&bytes[span]).unwrap();
                let file = texts[block.input].as_bytes();
                let from = usize::try_from(block.offset).unwrap();
                assert!(file[from..].starts_with(text.trim_end_matches('\n').as_bytes()));
                found[block.input] += text;
            }
        }
        assert_eq!(found, ["1\n22\n\n333333\n4\n", "", "5\r\n6\n"]);
    }
}

#[test]
fn broken_records_are_cut_alike_in_blocks_of_any_size() {
    let column = Column::Number(1);
    let selector = Selector {
        column,
        delimiter: b',',
        terminator: b'\n',
        notation: Notation::DECIMAL,
        header: false,
        quoting: true,
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text");
    for text in
        ["1,\"5 in\n2,x\n3,6\" pipe\n4,y\n", "1,\"a\nb\"\n2,\"c\n3,\"d\n4\"e\n5,\"\n6\"\"\n"]
    {
        fs::write(&path, text).unwrap();
        let whole: Vec<_> = selector.records(text.as_bytes(), 0, MAX_RECORD_BYTES).collect();
        for bytes in 1..40 {
            let inputs = LineInputs::of_text(vec![path.clone()], Some(selector.clone()), 64 << 20);
            let claims = claims(&inputs, bytes);
            let (mut block, mut found) = (claims.block(), Vec::new());
            while claims.claim(&mut block).unwrap() {
                while block.next_lines(usize::MAX).unwrap() {
                    let start = usize::try_from(block.offset).unwrap();
                    let records = selector.records(block.lines(), block.column, MAX_RECORD_BYTES);
                    found.extend(
                        records.map(|(span, line)| (start + span.start..start + span.end, line)),
                    );
                }
            }
            assert_eq!(found, whole, "{bytes}");
        }
    }
}

#[test]
fn claims_and_blocks_of_any_size_are_whole_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines");
    let lines: Vec<String> = (0..30_000_u32).map(|line| (line * line).to_string()).collect();
    let text = lines.join("\n") + "\n";
    for (mark, tail) in [("", ""), ("\u{feff}", "77"), ("", "\n\n")] {
        let text = text.clone() + tail;
        fs::write(&path, format!("{mark}{text}")).unwrap();
        let whole = text.trim_end_matches('7').to_owned() + if tail == "77" { "77\n" } else { "" };
        for (claim, block) in
            [(1, 1), (4096, 1), (100, 7), (5000, 4999), (1 << 16, 1 << 12), (1 << 20, usize::MAX)]
        {
            assert!(read(&path, claim, block).unwrap() == whole, "{claim} {block}");
        }
    }
}

#[test]
fn long_lines_grow_a_block_or_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines");
    for (len, is_refused) in [(1 << 19, false), (3 << 20, true)] {
        for end in ["", "\n", "\n8\n"] {
            let text = format!("7\n{}{end}", "0".repeat(len));
            fs::write(&path, &text).unwrap();
            for (claim, block) in [(1, 1), (1 << 16, 1000), (1 << 20, usize::MAX)] {
                match read(&path, claim, block) {
                    Ok(read) => assert!(!is_refused && read.trim_end() == text.trim_end()),
                    Err(error) => {
                        let error = error.to_string();
                        assert!(
                            is_refused && error.contains(": byte 2: a line longer than 1.0 MiB"),
                            "{error}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn a_file_that_gets_shorter_is_noticed_and_lines_that_come_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines");
    let text = "12345\n".repeat(20_000);
    for (len, block_bytes) in [(6000, 100), (119_000, usize::MAX), (240_000, 100)] {
        fs::write(&path, &text).unwrap();
        let inputs = of_text(&path);
        let claims = claims(&inputs, 100_000);
        let (mut block, mut lines) = (claims.block(), 0);
        let mut next = |block: &mut Block| -> Result<bool, Error> {
            let more = claims.claim(block)?;
            while block.next_lines(block_bytes)? {
                lines += block.lines().len() / 6;
            }
            Ok(more)
        };
        assert!(next(&mut block).unwrap());
        let bytes = "12345\n".repeat(len / 6);
        fs::write(&path, bytes).unwrap();
        let found = (0..3).try_fold((), |(), _| next(&mut block).map(|_| ()));
        if len < 100_000 {
            assert!(matches!(found, Err(Error::InputRewritten { .. })));
        } else {
            assert!(found.is_ok() && lines == len / 6, "{lines}");
        }
    }
}

#[test]
fn a_file_that_is_emptied_before_it_is_read_is_not_an_empty_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines");
    fs::write(&path, "12345\n").unwrap();
    let file = RegularFile::new(fs::File::open(&path).unwrap(), 0, 6);
    let left = || file.left(Taken::Lines { max_bytes: 100 }, "lines", 0);
    assert_eq!(left().unwrap(), 6);
    fs::write(&path, "").unwrap();
    assert!(matches!(left(), Err(Error::InputRewritten { .. })));
}

#[test]
fn the_rest_of_a_line_that_comes_late_is_not_lost_without_a_word() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines");
    let append = |bytes: &[u8]| {
        OpenOptions::new().append(true).open(&path).unwrap().write_all(bytes).unwrap();
    };
    fs::write(&path, "1\n23").unwrap();
    let inputs = of_text(&path);
    let claims = claims(&inputs, 100);
    let (mut first, mut second) = (claims.block(), claims.block());
    assert!(claims.claim(&mut first).unwrap() && first.next_lines(100).unwrap());
    append(b"4\n5\n");
    assert!(!claims.claim(&mut second).unwrap(), "the input ended inside of a line");

    let claims = self::claims(&inputs, 4);
    assert!(claims.claim(&mut first).unwrap() && claims.claim(&mut second).unwrap());
    OpenOptions::new().write(true).open(&path).unwrap().set_len(4).unwrap();
    let found = first.next_lines(100);
    assert!(matches!(found, Err(Error::InputRewritten { .. })), "another has claimed the rest");
}

#[test]
fn a_byte_order_mark_is_no_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines");
    for (text, lines) in [("", ""), ("\u{feff}", "\u{feff}\n"), ("\n", "\n"), ("7", "7\n")] {
        fs::write(&path, format!("\u{feff}{text}")).unwrap();
        assert_eq!(read(&path, 100, 100).unwrap(), lines);
    }
}

#[test]
fn places_of_a_sample_are_all_over_and_not_at_one_distance() {
    for (len, pieces, piece_len) in
        [(0, 0, 1), (1, 1, 1), (64, 64, 1), (100, 3, 33), (1 << 40, 64, 1 << 15), (u64::MAX, 2, 1)]
    {
        let places: Vec<u64> = spaced(len, pieces, piece_len).collect();
        assert_eq!(places.len() as u64, pieces);
        assert!(places.is_sorted_by(|a, b| a < b));
        assert!(places.iter().all(|&place| len - place >= piece_len), "{places:?}");
        if let [0, .., last] = places[..] {
            assert_eq!(last, len - piece_len);
        }
    }
    // Of 64 blocks that follow each other, the pieces meet all sixteenths.
    let met: BTreeSet<u64> = spaced(64 << 20, 64, 1 << 10).map(|place| place >> 16 & 15).collect();
    assert_eq!(met.len(), 16);
}
