//! Writes the payload of a `.bits` file that lists its runs.

use super::bucket::{in_order, out_of_order};
use super::header::{Header, Representation};
use crate::io::page::{HEADER_BYTES, Section};
use crate::io::write::Summed;
use crate::set::container::{Container, Scratch, intervals};
use crate::set::view::{RUN_BYTES, RunEntry};
use std::fs::File;
use std::io::{self, Write};

/// Joins ascending runs that touch.
#[derive(Debug)]
pub(super) struct Runs<'f> {
    out: Summed<'f>,
    /// The last run so far: the next one may continue it.
    open: Option<[u64; 2]>,
    /// Number of runs that are written, and of their values.
    written: u64,
    values: u64,
    scratch: Scratch,
}

impl<'f> Runs<'f> {
    pub(super) fn new(file: &'f File) -> Self {
        let out = Summed::new(file, HEADER_BYTES as u64);
        Self { out, open: None, written: 0, values: 0, scratch: Scratch::default() }
    }

    /// Appends a run above all values so far.
    pub(super) fn push(&mut self, [first, last]: [u64; 2]) -> io::Result<()> {
        match &mut self.open {
            _ if first > last => return Err(out_of_order("a run ends before it begins")),
            Some(open) if first <= open[1] => return Err(out_of_order("the runs do not ascend")),
            Some(open) if first == open[1] + 1 => open[1] = last,
            _ => {
                self.close()?;
                self.open = Some([first, last]);
            }
        }
        Ok(())
    }

    /// Appends the values of a container above all values so far.
    pub(super) fn push_container(&mut self, key: u64, container: Container<'_>) -> io::Result<()> {
        in_order(container)?;
        let mut scratch = std::mem::take(&mut self.scratch);
        if let Container::Runs(runs) = scratch.runs_of(container) {
            for (first, last) in intervals(runs) {
                self.push([first, last].map(|low| key << 16 | u64::from(low)))?;
            }
        }
        self.scratch = scratch;
        Ok(())
    }

    /// Whether the set has all numbers. A file cannot say how many these are.
    pub(super) fn has_all_numbers(&self) -> bool {
        self.open == Some([0, u64::MAX])
    }

    /// Writes the last run.
    fn close(&mut self) -> io::Result<()> {
        let Some([first, last]) = self.open.take() else { return Ok(()) };
        let before = self.values;
        let values = (last - first).checked_add(1).and_then(|more| before.checked_add(more));
        self.values = values.ok_or(io::ErrorKind::FileTooLarge)?;
        self.written += 1;
        self.out.write_all(&RunEntry { first, last, before }.to_bytes())
    }

    /// Completes the payload. Also gives the checksums of some of the blocks, by their ascending
    /// numbers.
    pub(super) fn finish(mut self) -> io::Result<(Header, Vec<(u64, u64)>)> {
        self.close()?;
        self.out.flush()?;
        let len = self.written * RUN_BYTES as u64;
        let payload = Section { offset: HEADER_BYTES as u64, len };
        Ok((Header::of(Representation::Runs, payload), self.out.take_sums()))
    }
}
