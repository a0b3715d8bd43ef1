//! Lines as keys: threads look at chunks of them side by side, and what comes of
//! each chunk is taken in order.

use crate::error::{Error, Result};
use crate::input::{LineChunk, LineReader};
use crate::progress::{Phase, Progress};
use crate::sys::{joined, start};
use memchr::memchr_iter;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, PoisonError};

/// What of a line is its key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LineRules {
    /// The byte that ends a line; it is no part of the key.
    pub(crate) terminator: u8,
    /// Whether a carriage return at the end is no part of the key either.
    pub(crate) crlf: bool,
    /// Whether lines with an empty key are left out.
    pub(crate) skip_empty: bool,
}

/// Lines that are looked at together.
pub(crate) const BATCH: usize = 1024;

/// Some lines in a row.
#[derive(Debug, Default)]
pub(crate) struct Batch<'a> {
    pub(crate) keys: Vec<&'a [u8]>,
    /// Where each line lies, with its terminator.
    pub(crate) spans: Vec<Range<usize>>,
}

impl LineRules {
    /// The key of a line without its terminator.
    #[inline]
    pub(crate) fn key(self, line: &[u8]) -> &[u8] {
        match line {
            [key @ .., b'\r'] if self.crlf => key,
            line => line,
        }
    }

    /// Hands all lines of `bytes`, each with its terminator, to `visit`, some at
    /// a time.
    pub(crate) fn batches<'a>(
        self,
        bytes: &'a [u8],
        mut visit: impl FnMut(&Batch<'a>) -> Result<()>,
    ) -> Result<()> {
        let mut batch = Batch::default();
        let mut start = 0;
        for end in memchr_iter(self.terminator, bytes) {
            let key = self.key(&bytes[start..end]);
            if !(self.skip_empty && key.is_empty()) {
                batch.keys.push(key);
                batch.spans.push(start..end + 1);
            }
            start = end + 1;
            if batch.keys.len() == BATCH {
                visit(&batch)?;
                batch.keys.clear();
                batch.spans.clear();
            }
        }
        if batch.keys.is_empty() { Ok(()) } else { visit(&batch) }
    }

    /// Number of keys in `bytes`.
    pub(crate) fn count(self, bytes: &[u8]) -> u64 {
        let mut count = 0;
        let counted = self.batches(bytes, |batch| {
            count += batch.keys.len() as u64;
            Ok(())
        });
        debug_assert!(counted.is_ok(), "counting does not fail");
        count
    }
}

impl Batch<'_> {
    /// Copies the lines of `bytes` whose answer is `wanted`, neighbours
    /// together.
    pub(crate) fn copy(&self, bytes: &[u8], answers: &[bool], wanted: bool, out: &mut Vec<u8>) {
        let mut run = 0..0;
        for (span, &answer) in self.spans.iter().zip(answers) {
            if answer != wanted {
                continue;
            }
            if span.start != run.end {
                out.extend_from_slice(&bytes[run]);
                run = span.clone();
            }
            run.end = span.end;
        }
        out.extend_from_slice(&bytes[run]);
    }
}

/// How lines are read.
#[derive(Clone, Copy)]
pub(crate) struct LineJob<'a> {
    pub(crate) rules: LineRules,
    pub(crate) threads: usize,
    /// Bytes of lines that a thread takes at a time.
    pub(crate) chunk_bytes: usize,
    pub(crate) progress: &'a Progress,
}

/// Lines that stay in the cache of a processor.
pub(crate) const CHUNK_BYTES: usize = 1 << 20;

/// Whose turn it is.
struct Turn<F> {
    consume: F,
    sequence: u64,
    failed: bool,
}

impl LineJob<'_> {
    /// Hands chunks of the lines of `paths` to `work`, in any order, and what it
    /// wrote to `consume`, in theirs.
    pub(crate) fn run(
        &self,
        paths: Vec<PathBuf>,
        work: impl Fn(&[u8], &mut Vec<u8>) -> Result<()> + Sync,
        consume: impl FnMut(&[u8]) -> Result<()> + Send,
    ) -> Result<()> {
        let reader = Mutex::new(LineReader::of_bytes(paths, self.rules.terminator));
        let turn = Mutex::new(Turn { consume, sequence: 0, failed: false });
        let passed = Condvar::new();
        self.progress.enter(Phase::Load, 0);
        let job = || {
            let worked = self.work(&reader, &turn, &passed, &work);
            if worked.is_err() {
                turn.lock().unwrap_or_else(PoisonError::into_inner).failed = true;
                passed.notify_all();
            }
            worked
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..self.threads).filter_map(|_| start(scope, job).ok()).collect();
            let own = job();
            others.into_iter().map(joined).chain([own]).collect()
        })
    }

    fn work(
        &self,
        reader: &Mutex<LineReader>,
        turn: &Mutex<Turn<impl FnMut(&[u8]) -> Result<()>>>,
        passed: &Condvar,
        work: &impl Fn(&[u8], &mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let mut chunk = LineChunk::new(self.chunk_bytes)?;
        let mut out = Vec::new();
        loop {
            if self.progress.is_cancelled() {
                return Err(Error::Interrupted);
            }
            let more = reader.lock().unwrap_or_else(PoisonError::into_inner).next(&mut chunk)?;
            if !more {
                return Ok(());
            }
            self.progress.read(chunk.lines().len() as u64);
            out.clear();
            work(chunk.lines(), &mut out)?;
            let mut turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
            while turn.sequence != chunk.sequence && !turn.failed {
                turn = passed.wait(turn).unwrap_or_else(PoisonError::into_inner);
            }
            if turn.failed {
                return Ok(());
            }
            (turn.consume)(&out)?;
            turn.sequence += 1;
            passed.notify_all();
        }
    }

    /// Hands chunks of the lines of `paths` to `visit`, one after the other.
    pub(crate) fn each(
        &self,
        paths: Vec<PathBuf>,
        mut visit: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut reader = LineReader::of_bytes(paths, self.rules.terminator);
        let mut chunk = LineChunk::new(self.chunk_bytes)?;
        self.progress.enter(Phase::Load, 0);
        while reader.next(&mut chunk)? {
            if self.progress.is_cancelled() {
                return Err(Error::Interrupted);
            }
            self.progress.read(chunk.lines().len() as u64);
            visit(chunk.lines())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_are_those_of_a_plain_split(
            text in prop::collection::vec(prop::sample::select(b"ab\r\n\0\xFF".to_vec()), 0..300),
            crlf: bool, skip_empty: bool, wanted: bool,
        ) {
            let rules = LineRules { terminator: b'\n', crlf, skip_empty };
            let bytes = [&text[..], b"\n"].concat();
            let mut expected: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
            expected.pop();
            let (mut copied, mut plain) = (Vec::new(), Vec::new());
            let mut keys = Vec::new();
            rules.batches(&bytes, |batch| {
                keys.extend_from_slice(&batch.keys);
                let answers: Vec<bool> = batch.keys.iter().map(|key| key.len() % 2 == 0).collect();
                batch.copy(&bytes, &answers, wanted, &mut copied);
                Ok(())
            }).unwrap();
            let key = |line| rules.key(line);
            for &line in &expected {
                let counts = !(skip_empty && key(line).is_empty());
                if counts && key(line).len().is_multiple_of(2) == wanted {
                    plain.extend_from_slice(line);
                    plain.push(b'\n');
                }
            }
            prop_assert_eq!(copied, plain);
            let expected: Vec<&[u8]> = expected.into_iter().map(key)
                .filter(|key| !(skip_empty && key.is_empty())).collect();
            prop_assert_eq!(rules.count(&bytes), expected.len() as u64);
            prop_assert_eq!(keys, expected);
        }
    }
}
