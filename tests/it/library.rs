//! The library as programs use it.

use bitsort::bloom::FilterKind;
use bitsort::lines::{Group, Keep, LineTools};
use bitsort::number::Column;
use bitsort::set::{Expression, IntegerSet, SetFile};
use bitsort::sort::{InvalidLines, Sort, Strategy, Tuning};
use bitsort::{ByteSize, Error, Format, Progress};
use std::io::{Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[test]
fn an_iterator_goes_in_and_an_iterator_comes_out() {
    let values: Vec<u64> = (0..100_000).map(|i| i * 7_919 % 100_003).collect();
    let sorted: Result<Vec<u64>, Error> =
        Sort::new().values(values.clone()).into_values().unwrap().collect();
    let mut expected = values;
    expected.sort_unstable();
    assert_eq!(sorted.unwrap(), expected);
}

#[test]
fn an_array_is_sorted_by_every_strategy() {
    for bits in [0, 20, 33, 63] {
        let mix = |i: u64| (i ^ i >> 9).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> bits;
        let values: Arc<[u64]> = (0..300_000).map(mix).chain([u64::MAX, 0, 7, 7]).collect();
        let mut expected = values.to_vec();
        expected.sort_unstable();
        let array = || Sort::new().array("ids", Arc::new(Arc::clone(&values)));
        for strategy in Strategy::ALL {
            let sort = array().strategy(strategy).memory(ByteSize::from_bytes(1 << 30));
            match sort.into_values().and_then(Iterator::collect::<Result<Vec<u64>, Error>>) {
                Ok(sorted) => assert!(sorted == expected, "{strategy}, {bits}"),
                Err(error) => assert!(strategy == Strategy::Dense, "{strategy}, {bits}: {error}"),
            }
        }
        let merged = array().merge(true).into_values();
        let refused = merged.and_then(Iterator::collect::<Result<Vec<u64>, Error>>).unwrap_err();
        assert!(
            matches!(refused, Error::Unsorted { ref input, .. } if input == "ids"),
            "{refused}"
        );
    }
    let none: Arc<[u64]> = [].into();
    assert_eq!(Sort::new().array("none", Arc::new(none)).into_values().unwrap().count(), 0);
}

#[test]
fn the_repeats_of_an_array_are_seen_and_the_times_of_all_passes_count() {
    let mix = |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 37;
    for values in [
        (0..1_000_000).map(|i| mix(i / 50)).collect::<Vec<u64>>(), // copies side by side
        (0..1_000_000).map(|i| mix(i * 7_919 % 20_000)).collect(),
    ] {
        let array = || Sort::new().array("ids", Arc::new(values.clone()));
        let told = array().explain().unwrap().to_string();
        let repeats = told.lines().find(|line| line.starts_with("repeats")).unwrap();
        let percent: f64 = repeats.split_whitespace().find_map(|word| word.parse().ok()).unwrap();
        assert!(percent > 50.0, "{told}");
        let sort = array().strategy(Strategy::MultiPass).memory(ByteSize::from_mib(64));
        let report = sort.to_writer(std::io::sink()).unwrap();
        assert!(report.passes > 1 && !report.load_time.is_zero());
    }
}

#[test]
fn a_set_of_one_file_has_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ids");
    std::fs::write(&path, "7\n").unwrap();
    let named = |sort: Sort| sort.into_set_file().unwrap().0.path().to_path_buf();
    assert_eq!(named(Sort::new().file(&path)), path);
    assert_eq!(named(Sort::new().file(&path).file(&path)), std::path::Path::new("-"));
    assert_eq!(named(Sort::new().values([7])), std::path::Path::new("-"));
}

/// Threads must not wait for the blocks of one that has ended.
#[test]
fn a_panic_of_an_array_ends_all_threads() {
    struct Panics;
    impl bitsort::sort::ReadNumbers<u64> for Panics {
        fn count(&self) -> usize {
            100_000
        }

        fn read(&self, _: usize, out: &mut [u64]) -> Result<(), Error> {
            if out.len() > 1 {
                // Meanwhile the other thread collects more notes than may wait.
                std::thread::sleep(std::time::Duration::from_millis(300));
                panic!("the array's own fault");
            }
            Ok(())
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let junk = folder.path().join("junk");
    std::fs::write(&junk, "x\n".repeat(3_000_000)).unwrap();
    let rejects = InvalidLines::Reject(folder.path().join("rejects"));
    let sort = Sort::new().array("ids", Arc::new(Panics)).file(&junk).threads(2);
    let mut sorted = sort.invalid(rejects).into_values().unwrap();
    assert!(matches!(sorted.next(), Some(Err(Error::Accounting { .. }))));
}

#[test]
fn an_iterator_that_is_dropped_early_ends_the_run() {
    let mut sorted = Sort::new().values((0..1_000_000).rev()).into_values().unwrap();
    assert_eq!(sorted.next().unwrap().unwrap(), 0);
}

#[test]
fn an_error_is_the_last_item() {
    let mut sorted = Sort::new().reader("bad", Cursor::new("1\nx\n")).into_values().unwrap();
    assert!(matches!(sorted.next(), Some(Err(Error::MalformedLine { line: 2, offset: 2, .. }))));
    assert!(sorted.next().is_none());
}

#[test]
fn a_value_across_two_blocks_is_checked_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ids");
    let values: Vec<u8> = (0..1000_u64).flat_map(u64::to_be_bytes).collect();
    std::fs::write(&path, values).unwrap();
    for block_bytes in [333, 4094] {
        let sort = Sort::new().file(&path).from_format(Format::U64Be);
        let tuning = Tuning { block_bytes: Some(block_bytes), ..Tuning::default() };
        assert_eq!(sort.tuning(tuning.clone()).check().unwrap(), None);
    }
}

#[test]
fn a_last_line_without_a_newline_may_end_anywhere_behind_its_block() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ids");
    let tuning = Tuning { block_bytes: Some(64), ..Tuning::default() };
    for len in 250..330 {
        let text = format!("{}7{}", "1\n".repeat(33), " ".repeat(len));
        std::fs::write(&path, text).unwrap();
        let mut out = Vec::new();
        Sort::new().file(&path).tuning(tuning.clone()).distinct(true).to_writer(&mut out).unwrap();
        assert_eq!(out, b"1\n7\n");
    }
}

#[test]
fn the_first_malformed_line_is_named_whatever_thread_meets_one_first() {
    let mut text = "123456789\n".repeat(50_000);
    text.replace_range(300_000..300_001, "a");
    text.replace_range(200_000..200_001, "b");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in");
    std::fs::write(&path, text).unwrap();
    for _ in 0..20 {
        let tuning = Tuning { block_bytes: Some(10_000), ..Tuning::default() };
        let run = Sort::new().file(&path).threads(4).tuning(tuning.clone()).to_writer(Vec::new());
        match run {
            Err(Error::MalformedLine { line, offset, excerpt, .. }) => {
                assert_eq!((line, offset, &*excerpt), (20_001, 200_000, "b23456789"));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_value_may_have_more_copies_than_a_small_counter_counts() {
    let copies = [(0_u64, 65_535), (3, 65_536), (4, 65_537), (9, 1), (1_000, 131_072), (5_000, 2)];
    let values: Vec<u64> =
        copies.iter().flat_map(|&(value, count)| std::iter::repeat_n(value, count)).collect();
    let shuffled: Vec<u64> =
        (0..values.len()).map(|i| values[i * 100_003 % values.len()]).collect();
    for reverse in [false, true] {
        let sort = Sort::new().values(shuffled.clone()).threads(1).reverse(reverse);
        let sorted: Vec<u64> = sort.into_values().unwrap().map(Result::unwrap).collect();
        let mut expected = values.clone();
        if reverse {
            expected.reverse();
        }
        assert!(sorted == expected, "reverse: {reverse}");
    }
}

#[test]
fn a_stream_that_betrays_its_beginning_is_sorted_all_the_same() {
    // 2 MiB are looked at before the plan is made: small values; then come
    // others, from far above that range and of it.
    let head = (0..400_000_u64).map(|i| i % 1000);
    let tail = (0..400_000_u64).map(|i| u64::MAX - i * 1_000_003 % (1 << 50));
    let values: Vec<u64> = head.chain(tail).collect();
    for (pool, no_spill) in [(1 << 16, false), (1 << 26, true)] {
        let tuning = Tuning { pool_bytes: Some(pool), ..Tuning::default() };
        let sort =
            Sort::new().memory(ByteSize::from_mib(256)).tuning(tuning.clone()).no_spill(no_spill);
        let sorted: Result<Vec<u64>, _> =
            sort.values(values.clone()).into_values().unwrap().collect();
        let mut expected = values.clone();
        expected.sort_unstable();
        assert_eq!(sorted.unwrap(), expected);
    }
}

#[test]
fn what_has_a_name_is_parsed_from_it() {
    for strategy in Strategy::ALL {
        assert_eq!(strategy.to_string().parse(), Ok(strategy));
    }
    for kind in FilterKind::ALL {
        assert_eq!(kind.to_string().parse(), Ok(kind));
    }
    let wrong = "fast".parse::<Strategy>().unwrap_err().to_string();
    assert_eq!(wrong, "expected one of in-memory, dense, spill, multi-pass");
    let told = format!("{:?}", Sort::new().values([3]));
    assert!(told.starts_with("Sort { inputs: 1,"), "{told}");
}

/// Threads get as many blocks as they have time for.
#[test]
fn values_that_fit_need_no_temporary_files_whichever_thread_gets_them() {
    let values: Vec<u64> =
        (0..1_500_000_u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
    let mut expected = values.clone();
    expected.sort_unstable();
    let memory = ByteSize::from_mib(64);
    for threads in [1, 4, 8] {
        let sort = Sort::new().memory(memory).threads(threads).no_spill(true);
        let sorted: Result<Vec<u64>, _> =
            sort.values(values.clone()).into_values().unwrap().collect();
        assert!(sorted.unwrap() == expected, "{threads}");
    }
}

#[test]
fn a_stream_that_does_not_fit_without_temporary_files_is_refused() {
    let tuning = Tuning { pool_bytes: Some(1 << 16), ..Tuning::default() };
    let sort = Sort::new().no_spill(true).strategy(Strategy::InMemory).tuning(tuning.clone());
    let run = sort.values((0..1_000_000).map(|i| i * i)).to_writer(Vec::new());
    assert!(matches!(run, Err(Error::CannotReread { .. })), "{run:?}");
}

#[test]
fn a_file_that_outgrows_memory_without_temporary_files_is_read_in_slices() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in");
    let lines: Vec<String> = (0..60_000_u64).map(|i| (i * i).to_string()).rev().collect();
    std::fs::write(&path, lines.join("\n")).unwrap();
    let tuning = Tuning { pool_bytes: Some(1 << 16), ..Tuning::default() };
    let sort =
        Sort::new().no_spill(true).strategy(Strategy::InMemory).tuning(tuning.clone()).file(&path);
    let mut out = Vec::new();
    let report = sort.to_writer(&mut out).unwrap();
    assert_eq!(report.strategy, Some(Strategy::MultiPass));
    assert!(report.passes > 3, "{report:?}");
    let expected: String = (0..60_000_u64).map(|i| (i * i).to_string() + "\n").collect();
    assert!(out == expected.as_bytes());
}

/// Writes other values of the same length over a file before it takes the first byte.
struct Rewriting(std::path::PathBuf, Option<String>);

impl std::io::Write for Rewriting {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if let Some(text) = self.1.take() {
            let mut file = std::fs::OpenOptions::new().write(true).open(&self.0)?;
            file.write_all(text.as_bytes())?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_file_that_is_rewritten_between_two_passes_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in");
    let text = |add: u64| -> String {
        (0..60_000_u64).map(|i| format!("{:012}\n", i * i * 2 + add)).rev().collect()
    };
    let tuning = Tuning { pool_bytes: Some(1 << 16), ..Tuning::default() };
    for other in [None, Some(text(1))] {
        std::fs::write(&path, text(0)).unwrap();
        let sort = Sort::new().strategy(Strategy::MultiPass).tuning(tuning.clone()).file(&path);
        let is_rewritten = other.is_some();
        let run = sort.to_writer(Rewriting(path.clone(), other));
        let is_right = match &run {
            Ok(report) => !is_rewritten && report.passes > 3,
            Err(error) => is_rewritten && matches!(error, Error::InputRewritten { .. }),
        };
        assert!(is_right, "{run:?}");
    }
}

#[test]
fn a_cancelled_run_ends_and_leaves_the_destination_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    std::fs::write(&path, "old").unwrap();
    let progress = Arc::new(Progress::default());
    progress.cancel_flag().store(true, Ordering::Relaxed);
    let run = Sort::new().values(0..10).progress(progress).to_file(&path);
    assert!(matches!(run, Err(Error::Interrupted)));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
}

/// Gives a pair, an end, and pairs again.
fn unfused() -> impl Iterator<Item = (String, u64)> + Send {
    let mut asked = 0_u64;
    std::iter::from_fn(move || {
        asked += 1;
        (asked != 2).then(|| ("key".to_owned(), asked))
    })
}

#[test]
fn pairs_end_where_they_first_do_and_when_they_are_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.sets");
    let report = Group::new().pairs(unfused()).to_file(&path).unwrap();
    assert_eq!((report.sets, report.values), (1, 1));
    // Ids above 10,000 are far from the first ones, and all their rows are set aside.
    let progress = Arc::new(Progress::default());
    let watched = Arc::clone(&progress);
    let pairs = (0_u64..).map(move |id| {
        if id == 50_000 {
            watched.cancel_flag().store(true, Ordering::Relaxed);
        }
        assert!(id < 5_000_000, "it goes on");
        (format!("k{}", id % 10), if id > 10_000 { u64::MAX - id } else { id % 4096 })
    });
    let run = Group::new().pairs(pairs).progress(progress).to_file(&path);
    assert!(matches!(run, Err(Error::Interrupted)), "{run:?}");
}

#[test]
fn contradictions_are_refused() {
    let refused = |sort: Sort| match sort.values(0..3).to_writer(Vec::new()) {
        Err(Error::Usage { .. } | Error::MemoryLimitTooSmall { .. }) => {}
        other => panic!("{other:?}"),
    };
    refused(Sort::new().threads(0));
    refused(Sort::new().memory(ByteSize::from_mib(63)));
    refused(Sort::new().header(true));
    refused(Sort::new().no_spill(true).strategy(Strategy::Spill));
    let folders = |count| (0..count).fold(Sort::new(), |sort, _| sort.temporary_folder("."));
    refused(folders(256));
    assert!(folders(255).values(0..3).to_writer(Vec::new()).is_ok());
    refused(Sort::new().counted(true).to_format(bitsort::Format::U64Le));
    assert!(Sort::new().values(0..3).counted(true).into_values().is_err());
    let none: [std::path::PathBuf; 0] = [];
    let run = LineTools::new().header(true).distinct(none, |_| Ok(()));
    assert!(matches!(run, Err(Error::Usage { .. })), "{run:?}");
}

#[test]
fn a_header_is_copied_with_lines_and_is_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows");
    std::fs::write(&path, "name,id\na,7\nb,8\n").unwrap();
    let tools = LineTools::new().column(Column::Number(2), b',').header(true);
    let set = IntegerSet::from([7]);
    let (mut copied, mut told) = (Vec::new(), Vec::new());
    let copy = |lines: &[u8]| {
        copied.extend_from_slice(lines);
        Ok(())
    };
    tools.filter_by_set([&path], &set, Keep::Known, copy).unwrap();
    let tell = |lines: &[u8]| {
        told.extend_from_slice(lines);
        Ok(())
    };
    tools.tell_by_set([&path], &set, tell).unwrap();
    assert_eq!((&copied[..], &told[..]), (&b"name,id\na,7\n"[..], &b"7\ttrue\n8\tfalse\n"[..]));
}

/// Gives two pieces, each with an end behind it, as a terminal does.
struct Terminal(Vec<&'static [u8]>);

impl Read for Terminal {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let Some(piece) = self.0.pop() else { return Ok(0) };
        buffer[..piece.len()].copy_from_slice(piece);
        Ok(piece.len())
    }
}

#[test]
fn an_input_ends_where_it_first_does() {
    let mut out = Vec::new();
    let terminal = Terminal(vec![b"3\n", b"", b"1\n2\n"]);
    Sort::new().reader("tty", terminal).to_writer(&mut out).unwrap();
    assert_eq!(out, b"1\n2\n");
}

#[test]
fn a_panic_of_an_iterator_is_no_end_of_its_values() {
    let values = (0..100).map(|value| if value == 50 { panic!("planned") } else { value });
    let found: Vec<_> = Sort::new().values(values).into_values().unwrap().collect();
    assert!(matches!(found[..], [Err(_)]), "{found:?}");
    assert!(format!("{found:?}").contains("planned"), "{found:?}");
}

#[test]
fn values_dropped_early_end_the_run() {
    let taken = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&taken);
    let endless = std::iter::from_fn(move || Some(count.fetch_add(1, Ordering::Relaxed)));
    drop(Sort::new().values(endless).into_values().unwrap());
    let mut before = 0;
    // It ends between blocks; how soon is the machine's affair.
    for _ in 0..600 {
        std::thread::sleep(std::time::Duration::from_millis(50));
        let now = taken.load(Ordering::Relaxed);
        if now == before && Arc::strong_count(&taken) == 1 {
            return;
        }
        before = now;
    }
    panic!("{before} values were taken, and no end");
}

#[test]
fn copies_are_written_whole_through_the_smallest_buffer() {
    for bytes in [1, 300, 433, 500, 653, 700] {
        let values: Vec<u64> =
            (0..3000).map(|index| if index % 2 == 0 { 7 } else { u64::MAX - index % 3 }).collect();
        let mut expected = values.clone();
        expected.sort_unstable();
        let tuning = Tuning { output_bytes: Some(bytes), ..Tuning::default() };
        let found: Vec<u64> = Sort::new()
            .values(values.clone())
            .tuning(tuning.clone())
            .into_values()
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(found, expected, "{bytes} bytes");
        let mut text = Vec::new();
        Sort::new()
            .values(values)
            .to_format(Format::Text)
            .tuning(tuning.clone())
            .to_writer(&mut text)
            .unwrap();
        let lines: Vec<u64> =
            std::str::from_utf8(&text).unwrap().lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(lines, expected, "{bytes} bytes");
    }
}

#[test]
fn a_wide_list_of_ranges_is_too_wide_to_be_taken_apart_and_not_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wide.bits");
    let wide = Expression::Range(1, u64::MAX).eval(|_| None::<&IntegerSet>).unwrap();
    wide.write(&path).unwrap();
    let wide = SetFile::open(&path).unwrap();
    let refused = |error: Error| {
        assert!(matches!(error, Error::TooWide { first: 1, last: u64::MAX, .. }), "{error}");
    };
    refused(wide.to_set().unwrap_err());
    refused(Sort::new().set(SetFile::open(&path).unwrap()).into_set().unwrap_err());
    assert_eq!(wide.len(), u64::MAX);
}

#[test]
fn an_iterator_has_the_report_at_its_end() {
    let sort = Sort::new().reader("ids", Cursor::new("7\nx\n\n7\n3\n")).distinct(true);
    let mut values = sort.invalid(InvalidLines::Skip).into_values().unwrap();
    assert!(values.report().is_none());
    assert_eq!(values.by_ref().map(Result::unwrap).collect::<Vec<_>>(), [3, 7]);
    let report = values.report().unwrap();
    assert_eq!((report.lines, report.rejected, report.blank, report.dropped), (5, 1, 1, 1));
    let mut failed = Sort::new().reader("ids", Cursor::new("x\n")).into_values().unwrap();
    assert!(failed.next().unwrap().is_err() && failed.report().is_none());
}

#[test]
fn an_error_of_the_caller_comes_back_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    std::fs::write(&path, "fox\n").unwrap();
    let mine = std::io::Error::new(std::io::ErrorKind::StorageFull, "mine");
    let mut mine = Some(mine);
    let failed = LineTools::new().distinct([path], |_| match mine.take() {
        Some(error) => Err(Error::caller(error)),
        None => Ok(()),
    });
    let error = failed.unwrap_err();
    let source = std::error::Error::source(&error).unwrap();
    let source = source.downcast_ref::<std::io::Error>().unwrap();
    assert_eq!(source.kind(), std::io::ErrorKind::StorageFull);
}

#[test]
fn a_span_may_end_just_before_a_container_does() {
    // The copies cut their partition into spans, one of which ends at 65534 or a little before.
    let few =
        (0..300).map(|value| 3 * value).chain((0..2000).map(|value| (1 << 23) + 99_991 * value));
    let values: Vec<u64> = few.collect();
    let expected: IntegerSet = values.iter().copied().chain([65_535]).collect();
    let mixed = values.into_iter().flat_map(|value| (0..20).map(|_| 65_535).chain([value]));
    for partitions in [16, 64, 256] {
        let tuning =
            Tuning { cut_values: Some(1000), partitions: Some(partitions), ..Tuning::default() };
        let sort = Sort::new().values(mixed.clone()).threads(2).tuning(tuning);
        assert_eq!(sort.into_set().unwrap().0, expected, "{partitions} partitions");
    }
}

#[test]
fn a_panic_of_the_caller_ends_all_threads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    let lines: Vec<String> = (0..4_000_000).map(|value| format!("{value}\n")).collect();
    std::fs::write(&path, lines.concat()).unwrap();
    let tools = LineTools::new().threads(4).memory(ByteSize::from_mib(256));
    let set: IntegerSet = (0..4_000_000).collect();
    let mut before = 0;
    let run = std::panic::AssertUnwindSafe(|| {
        tools.filter_by_set([&path], &set, Keep::Known, |_| {
            before += 1;
            assert!(before < 3, "planned");
            Ok(())
        })
    });
    assert!(std::panic::catch_unwind(run).is_err());
    assert_eq!(before, 3);
}

/// Gives lines, and then panics.
struct Panicking(u64);

impl Read for Panicking {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        assert!(self.0 > 0, "planned");
        self.0 -= 1;
        let line = b"1234567\n";
        let len = room.len() / line.len() * line.len();
        room[..len].chunks_exact_mut(line.len()).for_each(|place| place.copy_from_slice(line));
        Ok(len)
    }
}

#[test]
fn a_panic_of_a_reader_ends_all_threads() {
    for reads in [0, 1, 10, 100] {
        let sort = Sort::new().threads(4).reader("mine", Panicking(reads));
        let run = std::panic::AssertUnwindSafe(|| sort.into_set());
        assert!(std::panic::catch_unwind(run).is_err(), "after {reads} reads");
    }
}
