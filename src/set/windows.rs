//! Writes runs as lines in order, in several threads.

use super::ranges::{RunSource, Windows};
use crate::error::{Error, Result};
use crate::io::in_order::OnPanic;
use crate::io::write::{Buffer, Relay};
use crate::kernel::in_threads;
use crate::number::{Format, RunText};
use std::sync::{Mutex, PoisonError};

/// Bytes of a thread's buffer. A thread may leave a full one for another thread.
const BUFFER_BYTES: usize = 128 << 10;

/// Buffers beside the threads' own. A window of ranges fills up to ten as blocks of addresses: with
/// fewer, a thread waits with half of its window while another one writes.
const SPARE: usize = 16;

/// Hands the lines of all runs of `source` to `take`; gives the number of values.
pub(super) fn write_windows(
    format: Format,
    source: &dyn RunSource,
    windows: Windows,
    take: impl FnMut(&Buffer) -> Result<()> + Send,
) -> Result<u64> {
    let Windows { threads, windows } = windows;
    let parts = windows.into_iter().map(|window| source.window(window)).collect::<Option<Vec<_>>>();
    let parts = parts.ok_or_else(|| Error::Accounting { what: "a window has no runs".into() })?;
    let (parts, relay) =
        (Mutex::new(parts.into_iter().enumerate()), Relay::new(SPARE.max(threads), take));
    let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).next();
    let written = in_threads(threads, || {
        let _guard = OnPanic(|| relay.abort());
        let (mut buffer, mut runs, mut values) = (Buffer::new(BUFFER_BYTES), Vec::new(), 0_u64);
        while let Some((number, mut part)) = next() {
            let written = write(format, &mut *part, &mut runs, |text, runs| {
                if buffer.room().len() < RunText::ROOM {
                    relay.pass(number, &mut buffer)?;
                }
                let (taken, bytes) = encoded(format, text.write_all(runs, buffer.room()))?;
                buffer.filled += bytes;
                Ok(taken)
            });
            let done = written.and_then(|written| {
                values = values.saturating_add(written);
                relay.pass(number, &mut buffer)?;
                relay.finish(number)
            });
            if let Err(error) = done {
                relay.abort();
                return Err(error);
            }
        }
        Ok(values)
    });
    Ok(Error::worst_of(written)?.into_iter().fold(0, u64::saturating_add))
}

/// Hands the runs of `source` to `put`, which tells how many it took; gives the number of values.
pub(super) fn write(
    format: Format,
    source: &mut dyn RunSource,
    runs: &mut Vec<[u64; 2]>,
    mut put: impl FnMut(&mut RunText, &[[u64; 2]]) -> Result<usize>,
) -> Result<u64> {
    let text = format.notation().and_then(RunText::new);
    let mut text = text.ok_or_else(|| Error::usage("lines that are no ranges"))?;
    let mut values = 0_u64;
    while source.next(runs)? {
        for &[first, last] in &*runs {
            values = values.saturating_add((last - first).saturating_add(1));
        }
        let mut rest = &runs[..];
        while !rest.is_empty() {
            rest = &rest[put(&mut text, rest)?..];
        }
    }
    Ok(values)
}

/// The result of [`RunText`], as an error of this crate.
pub(super) fn encoded<T>(format: Format, encoded: Result<T, u64>) -> Result<T> {
    encoded.map_err(|value| Error::ValueTooLarge { value, format: format.name() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::Notation;
    use crate::set::run_algebra::RunAlgebra;
    use crate::set::run_algebra::tests::given;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn in_one_thread(format: Format, source: &mut dyn RunSource) -> Result<(Vec<u8>, u64)> {
        let (mut lines, mut room) = (Vec::new(), vec![0; RunText::ROOM]);
        let values = write(format, source, &mut Vec::new(), |text, runs| {
            let (taken, bytes) = encoded(format, text.write_all(runs, &mut room))?;
            lines.extend_from_slice(&room[..bytes]);
            Ok(taken)
        })?;
        Ok((lines, values))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 100 }))]

        #[test]
        fn several_threads_write_what_one_does(
            left in prop::collection::btree_set(0..900_u64, 40..400),
            right in prop::collection::btree_set(0..900_u64, 0..400),
            in_both: bool,
        ) {
            let format = Format::text_in(Notation::CIDR);
            let cut = || RunAlgebra::new(in_both, Box::new(given(&left)), Box::new(given(&right)));
            let expected = in_one_thread(format, &mut cut()).unwrap();
            let source = cut();
            if let Some(windows) = source.windows() {
                prop_assert!(windows.windows.len() > 1);
                let mut lines = Vec::new();
                let take = |buffer: &Buffer| {
                    lines.extend_from_slice(buffer.filled());
                    Ok(())
                };
                let values = write_windows(format, &source, windows, take).unwrap();
                prop_assert_eq!((lines, values), expected);
            }
        }
    }

    #[test]
    fn what_one_thread_cannot_write_ends_all() {
        let format = Format::text_in(Notation::CIDR);
        let values: BTreeSet<u64> = (0..100).map(|value| (1 << 32) - 100 + 2 * value).collect();
        let source = given(&values);
        let windows = source.windows().unwrap();
        let failed = write_windows(format, &source, windows, |_| Ok(())).unwrap_err();
        assert!(matches!(failed, Error::ValueTooLarge { .. }), "{failed}");
        let small: BTreeSet<u64> = (0..100).map(|value| 2 * value).collect();
        let source = given(&small);
        let failed = write_windows(format, &source, source.windows().unwrap(), |_| {
            Err(Error::usage("full"))
        });
        assert!(failed.unwrap_err().to_string().contains("full"));
    }
}
