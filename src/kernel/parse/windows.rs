//! The loop around the vector kernels. It finds the terminators of a window, parses the lines in
//! groups, and parses the remaining lines one by one.

use super::{ParseSink, check_span, scalar};
use crate::kernel::ones::take;
use std::ops::{ControlFlow, Range};

/// Bytes that are searched for terminators before their lines are parsed. The positions of the
/// terminators and the values stay in the first-level cache.
pub(super) const WINDOW_BYTES: usize = 2048;

/// The terminators of a window, and those left from the window before.
pub(super) struct Ends {
    /// `positions[0]` is the byte before the next line. The ends of lines follow.
    pub(super) positions: [u32; WINDOW_BYTES + 128],
    /// Number of filled positions.
    pub(super) count: usize,
}

impl Ends {
    #[expect(clippy::cast_possible_truncation, reason = "blocks are below 4 GiB, see check_span")]
    fn starting_at(start: usize) -> Self {
        let mut positions = [0; WINDOW_BYTES + 128];
        positions[0] = (start - 1) as u32;
        Self { positions, count: 1 }
    }

    /// Appends the positions of the terminators in `window`, which `mask` finds in
    /// 64 bytes.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
    pub(super) fn find(
        &mut self,
        bytes: &[u8],
        window: Range<usize>,
        mask: impl Fn(&[u8; 64]) -> u64,
    ) {
        assert!(window.end + 64 <= bytes.len() && window.len() <= WINDOW_BYTES && self.count < 64);
        let mut at = window.start;
        let mut count = self.count;
        while let Some(block) = bytes[at..].first_chunk()
            && window.end - at >= 64
        {
            count = append(mask(block), at, &mut self.positions, count);
            at += 64;
        }
        if let Some(block) = bytes[at..].first_chunk() {
            let mask = mask(block) & ((1 << (window.end - at)) - 1);
            count = append(mask, at, &mut self.positions, count);
        }
        self.count = count;
    }

    /// The bytes before and behind four lines from line `index` on, and the ends of their digits;
    /// none if `carriage_return` is set and one of the lines does not end in `\r`.
    ///
    /// They are in ordinary registers: from a vector, the compiler would extract them one by one.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
    pub(super) fn four(
        &self,
        bytes: &[u8],
        index: usize,
        carriage_return: bool,
    ) -> Option<(&[u32; 5], [usize; 4])> {
        let marks = self.positions[index..].first_chunk::<5>()?;
        if carriage_return && !marks[1..].iter().all(|&end| bytes[end as usize - 1] == b'\r') {
            return None;
        }
        let tail = usize::from(carriage_return);
        Some((marks, [marks[1], marks[2], marks[3], marks[4]].map(|end| end as usize - tail)))
    }

    /// Drops the first `lines` lines.
    fn consume(&mut self, lines: usize) {
        self.positions.copy_within(lines..self.count, 0);
        self.count -= lines;
    }

    /// The place of line `index`, without its terminator.
    pub(super) fn line(&self, index: usize) -> Range<usize> {
        self.positions[index] as usize + 1..self.positions[index + 1] as usize
    }
}

/// Writes `at` plus the places of set bits to `positions`, from `count` on; gives the new number of
/// positions.
#[inline(always)]
#[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
#[expect(clippy::cast_possible_truncation, reason = "blocks are below 4 GiB")]
fn append(mask: u64, at: usize, positions: &mut [u32], count: usize) -> usize {
    let (mut rest, mut from) = (mask, count);
    let behind = count + mask.count_ones() as usize;
    while from < behind {
        // Take four without asking how many there are: this saves mispredictions.
        rest = take(rest, at as u32, &mut positions[from..from + 4]);
        from += 4;
    }
    behind
}

/// Parses as [`parse`](super::parse) says. `find_ends` appends the terminators in a range of the
/// bytes. `group` parses `GROUP` lines from an index on; its flag says whether all of them end in
/// `\r`. It gives false if it cannot parse them.
///
/// It is inlined into the kernels, so that both closures keep the instructions of the kernel.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the closures could not be inlined here alone")]
pub(super) fn parse<const GROUP: usize, L: ParseSink>(
    bytes: &[u8],
    span: Range<usize>,
    terminator: u8,
    lines: &mut L,
    find_ends: impl Fn(Range<usize>, &mut Ends),
    group: impl Fn(&Ends, usize, bool, &mut [u64; GROUP]) -> bool,
) -> usize {
    check_span(bytes, &span);
    let mut ends = Ends::starting_at(span.start);
    #[expect(clippy::large_stack_arrays, reason = "17 KiB, reused for every window")]
    let mut values = [0_u64; WINDOW_BYTES + 128];
    let mut carriage_return = false;
    let mut scanned = span.start;
    loop {
        let window_end = (scanned + WINDOW_BYTES).min(span.end);
        find_ends(scanned..window_end, &mut ends);
        scanned = window_end;
        let last = scanned == span.end;

        let mut filled = 0; // values that are not handed over yet
        let mut index = 0; // lines of this window that are parsed
        let line_count = ends.count - 1;
        while index + GROUP <= line_count || (last && index < line_count) {
            if index + GROUP <= line_count {
                let slot = values[filled..].first_chunk_mut();
                if slot.is_some_and(|slot| group(&ends, index, carriage_return, slot)) {
                    filled += GROUP;
                    index += GROUP;
                    continue;
                }
                let first = ends.line(index);
                let ends_in_return = first.len() > 1 && bytes[first.end - 1] == b'\r';
                if ends_in_return != carriage_return {
                    carriage_return = ends_in_return;
                    continue; // try the same lines again
                }
            }
            for _ in 0..GROUP.min(line_count - index) {
                let line = ends.line(index);
                index += 1;
                if let Some((value, _)) =
                    scalar::plain_line(&bytes[..=line.end], line.start, terminator)
                {
                    values[filled] = value;
                    filled += 1;
                } else {
                    lines.values(&values[..filled], &ends.positions[index - filled..index]);
                    filled = 0;
                    if lines.odd_line(line.clone()) == ControlFlow::Break(()) {
                        return line.end + 1;
                    }
                }
            }
        }
        lines.values(&values[..filled], &ends.positions[index - filled + 1..=index]);
        ends.consume(index);
        if last {
            return ends.positions[0] as usize + 1;
        }
    }
}
