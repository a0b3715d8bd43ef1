//! Memory for containers that are computed. It is used again and again.

use super::owned::{Owned, ones as ones_of};
use super::{
    BitmapWords, Container, MAX_ARRAY, Op, SPAN, WORDS, for_overlaps, in_runs, intervals, run,
    sound,
};
use crate::kernel::low_halves::low_halves;
use crate::kernel::steps;
use crate::kernel::words;
use crate::kernel::{Level, arrays, ones};

/// A container in memory that is used again.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scratch {
    kind: Kind,
    /// The values of an array; the vector may be longer.
    values: Vec<[u8; 2]>,
    /// A bitmap, allocated at its first use.
    pub(super) words: Option<Box<BitmapWords>>,
    runs: Vec<[u8; 4]>,
    /// The edges of two containers, and of their join.
    edges: [Vec<u32>; 3],
    pub(super) positions: Vec<u32>,
}

/// The memory that has the container.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// An array of so many values.
    Array(usize),
    Bitmap,
    Runs,
}

impl Default for Kind {
    fn default() -> Self {
        Self::Array(0)
    }
}

impl From<Container<'_>> for Scratch {
    fn from(container: Container<'_>) -> Self {
        let mut scratch = Self::default();
        match container {
            Container::Array(values) if values.len() <= MAX_ARRAY => {
                scratch.values.extend_from_slice(values);
                scratch.kind = Kind::Array(values.len());
            }
            other => scratch.set_bitmap(Self::words_of(other)),
        }
        scratch
    }
}

pub(super) fn clear(words: &mut Option<Box<BitmapWords>>) -> &mut BitmapWords {
    let words = words.get_or_insert_with(|| Box::new([[0; 8]; WORDS]));
    words.fill([0; 8]);
    words
}

fn room(values: &mut Vec<[u8; 2]>, count: usize) -> &mut [[u8; 2]] {
    let count = count + arrays::SLACK;
    if values.len() < count {
        values.resize(count, [0; 2]);
    }
    values
}

impl Scratch {
    /// The same values as a bitmap.
    pub(crate) fn words_of(container: Container<'_>) -> Box<BitmapWords> {
        let mut words = Box::new([[0; 8]; WORDS]);
        container.join_in(Op::Or, &mut words);
        words
    }

    /// The values.
    pub(crate) fn container(&self) -> Container<'_> {
        match (self.kind, &self.words) {
            (Kind::Bitmap, Some(words)) => Container::Bitmap(words),
            (Kind::Runs, _) => Container::Runs(&self.runs),
            (Kind::Array(count), _) => Container::Array(&self.values[..count]),
            (Kind::Bitmap, None) => Container::Array(&[]),
        }
    }

    /// Whether the container has no value.
    pub(crate) fn is_empty(&self) -> bool {
        match self.container() {
            Container::Array(values) => values.is_empty(),
            Container::Bitmap(words) => words.iter().all(|&word| word == [0; 8]),
            Container::Runs(runs) => runs.is_empty(),
        }
    }

    /// An owned container of the values. A large bitmap is moved, not copied.
    pub(crate) fn take(&mut self) -> Owned {
        if matches!(self.kind, Kind::Bitmap)
            && let Some(words) = self.words.take()
        {
            let len = ones_of(&words);
            if len as usize > MAX_ARRAY {
                self.kind = Kind::default();
                return Owned::Bitmap(words, len);
            }
            let array = Owned::plain(Container::Bitmap(&words), len, self);
            self.words = Some(words);
            return array;
        }
        Owned::copy(self.container(), &mut Self::default())
    }

    /// Becomes the bitmap of these words.
    fn set_bitmap(&mut self, words: Box<BitmapWords>) {
        self.words = Some(words);
        self.kind = Kind::Bitmap;
    }

    /// Becomes the bitmap of its own words.
    pub(super) fn set_kind_of_words(&mut self) {
        self.kind = Kind::Bitmap;
    }

    /// Becomes the array of ascending `lows`.
    pub(super) fn set_array(&mut self, lows: impl Iterator<Item = [u8; 2]>) {
        self.values.clear();
        self.values.extend(lows);
        self.kind = Kind::Array(self.values.len());
    }

    /// Becomes these runs, which ascend and do not touch.
    pub(in crate::set) fn set_runs(&mut self, runs: impl IntoIterator<Item = [u8; 4]>) {
        self.runs.clear();
        self.runs.extend(runs);
        self.kind = Kind::Runs;
    }

    /// Becomes the empty container.
    pub(crate) fn clear(&mut self) {
        self.kind = Kind::default();
    }

    /// Appends to an array the low 16 bits of values that are above all its values. Call `close`
    /// after the last of them.
    pub(crate) fn append(&mut self, values: &[u64]) {
        let Kind::Array(before) = self.kind else { return };
        let count = before + values.len();
        if self.values.len() < count {
            self.values.resize(count, [0; 2]);
        }
        low_halves(Level::best(), 0, values, &mut self.values[before..count]);
        self.kind = Kind::Array(count);
    }

    /// Ends a series of [`append`](Self::append): an array of many values becomes a bitmap.
    pub(crate) fn close(&mut self) {
        if let Kind::Array(count) = self.kind
            && count > MAX_ARRAY
        {
            let words = clear(&mut self.words);
            Container::Array(&self.values[..count]).join_in(Op::Or, words);
            self.kind = Kind::Bitmap;
        }
    }

    /// Becomes a copy of an array or a bitmap.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        match other.container() {
            Container::Bitmap(words) => {
                clear(&mut self.words).copy_from_slice(words);
                self.kind = Kind::Bitmap;
            }
            Container::Array(values) => {
                self.values.clear();
                self.values.extend_from_slice(values);
                self.kind = Kind::Array(values.len());
            }
            Container::Runs(runs) => self.set_runs(runs.iter().copied()),
        }
    }

    /// Becomes `a op b`. The old values are lost.
    pub(crate) fn join(&mut self, op: Op, a: Container<'_>, b: Container<'_>) {
        use Container::{Array, Bitmap, Runs};
        steps::count(1 + (a.bytes().len() + b.bytes().len()) / 8);
        let level = Level::best();
        match (a, op, b) {
            (Array(ours), Op::And, Array(theirs)) if ours.len() > theirs.len() => {
                self.filter(true, theirs, a);
            }
            (Array(ours), Op::And, other) => self.filter(true, ours, other),
            (other, Op::And, Array(theirs)) => self.filter(true, theirs, other),
            (Array(ours), Op::AndNot, other) => self.filter(false, ours, other),
            (Array(ours), Op::Or | Op::Xor, Array(theirs))
                if ours.len() + theirs.len() <= MAX_ARRAY =>
            {
                let out = room(&mut self.values, ours.len() + theirs.len());
                self.kind = Kind::Array(arrays::merge(level, op == Op::Or, ours, theirs, out));
            }
            (Array(_) | Bitmap(_), Op::Or | Op::Xor, Array(_))
            | (Bitmap(_), Op::AndNot, Array(_)) => {
                self.apply(op, a, b);
            }
            (Bitmap(ours), op, Bitmap(theirs)) => {
                let out = self.words.get_or_insert_with(|| Box::new([[0; 8]; WORDS]));
                words::join_into::<[u8; 8]>(level, op, ours, theirs, &mut out[..]);
                self.kind = Kind::Bitmap;
            }
            (Runs(ours), Op::And, Runs(theirs)) => {
                self.runs.resize(ours.len() + theirs.len(), [0; 4]);
                let mut count = 0;
                for_overlaps(ours, theirs, |first, last| {
                    self.runs[count] = run(first, last.max(first));
                    count += usize::from(first <= last);
                    true
                });
                self.runs.truncate(count);
                self.kind = Kind::Runs;
            }
            (Array(_) | Runs(_), op, Runs(_)) | (Runs(_), op, Array(_)) => {
                self.join_edges(op, a, b);
            }
            (Array(_) | Runs(_), Op::And | Op::Or | Op::Xor, Bitmap(_)) => self.apply(op, b, a),
            (Bitmap(_), op, Runs(_)) | (Runs(_), op @ Op::AndNot, Bitmap(_)) => {
                self.apply(op, a, b);
            }
        }
    }

    /// Keeps the values of an array that are in `other`, or are not, as `keep` says.
    fn filter(&mut self, keep: bool, values: &[[u8; 2]], other: Container<'_>) {
        let out = room(&mut self.values, values.len());
        let mut count = 0;
        let mut push = |low: [u8; 2], found: bool| {
            out[count] = low;
            count += usize::from(found == keep);
        };
        match other {
            Container::Array(theirs) if values.len() * super::GALLOP < theirs.len() => {
                for &low in values {
                    push(low, other.contains(u16::from_le_bytes(low)));
                }
            }
            Container::Array(theirs) => {
                count = arrays::filter(Level::best(), keep, values, theirs, out);
            }
            Container::Bitmap(words) => {
                for &low in values {
                    let value = u16::from_le_bytes(low);
                    let word = u64::from_le_bytes(words[usize::from(value >> 6)]);
                    push(low, word >> (value & 63) & 1 == 1);
                }
            }
            Container::Runs(runs) => {
                for (&low, found) in values.iter().zip(in_runs(values, runs)) {
                    push(low, found);
                }
            }
        }
        self.kind = Kind::Array(count);
    }

    /// Becomes the bitmap of `a op b`.
    fn apply(&mut self, op: Op, a: Container<'_>, b: Container<'_>) {
        let words = match a {
            Container::Bitmap(ours) => {
                let words = self.words.get_or_insert_with(|| Box::new(*ours));
                words.copy_from_slice(ours);
                words
            }
            other => {
                let words = clear(&mut self.words);
                other.join_in(Op::Or, words);
                words
            }
        };
        match b {
            // Remove all values outside of the runs.
            Container::Runs(runs) if op == Op::And => {
                let mut from = 0;
                for (first, last) in intervals(runs).chain([(1 << 16, 1 << 16)]) {
                    if let Some(end) = first.checked_sub(1).filter(|&end| end >= from) {
                        super::for_words(words, from, end, |word, bits| *word &= !bits);
                    }
                    from = last + 1;
                }
            }
            other => other.join_in(op, words),
        }
        self.kind = Kind::Bitmap;
    }

    /// Becomes the runs of `a op b`. Goes from edge to edge of both. Nobody can predict whose edge
    /// is next, so there is no branch for it.
    fn join_edges(&mut self, op: Op, a: Container<'_>, b: Container<'_>) {
        let [ours, theirs, found] = &mut self.edges;
        put_edges(a, ours);
        put_edges(b, theirs);
        ours.push(NO_EDGE);
        theirs.push(NO_EDGE);
        let room = ours.len() + theirs.len();
        found.resize(room.max(found.len()), 0);
        // Bit `x + 2y` tells whether a value is in the result that is in `a` (x) and in `b` (y).
        let table = op.join(0b1010, 0b1100);
        let (mut i, mut j, mut count, mut was_inside) = (0, 0, 0, 0);
        loop {
            let at = ours[i].min(theirs[j]);
            if at == NO_EDGE {
                break;
            }
            (i, j) = (i + usize::from(ours[i] == at), j + usize::from(theirs[j] == at));
            let is_inside = table >> ((i & 1) + 2 * (j & 1)) & 1;
            found[count] = at;
            count += usize::from(is_inside != was_inside);
            was_inside = is_inside;
        }
        put_runs(&found[..count], &mut self.runs);
        self.kind = Kind::Runs;
    }

    /// `container` as runs.
    pub(crate) fn runs_of<'s>(&'s mut self, container: Container<'s>) -> Container<'s> {
        steps::count(container.bytes().len() / 8);
        if let Container::Runs(_) = container {
            return container;
        }
        let edges = &mut self.edges[0];
        put_edges(container, edges);
        put_runs(edges, &mut self.runs);
        Container::Runs(&self.runs)
    }

    /// `container` as a bitmap.
    pub(crate) fn bitmap_of<'s>(&'s mut self, container: Container<'s>) -> Container<'s> {
        if let Container::Bitmap(_) = container {
            return container;
        }
        let words = clear(&mut self.words);
        container.join_in(Op::Or, words);
        Container::Bitmap(words)
    }

    /// `container` as an array.
    pub(crate) fn array_of<'s>(&'s mut self, container: Container<'s>) -> Container<'s> {
        let count = match container {
            Container::Array(_) => return container,
            Container::Bitmap(words) => {
                let room = container.len() as usize + ones::SLACK;
                if self.values.len() < room {
                    self.values.resize(room, [0; 2]);
                }
                super::with_words(words, |words| ones::lows(Level::best(), words, &mut self.values))
            }
            Container::Runs(runs) => {
                self.values.clear();
                for (first, last) in intervals(runs) {
                    #[expect(
                        clippy::cast_possible_truncation,
                        reason = "positions are below 2^16"
                    )]
                    self.values.extend((first..=last).map(|low| (low as u16).to_le_bytes()));
                }
                self.values.len()
            }
        };
        Container::Array(&self.values[..count])
    }
}

/// A place behind all edges.
const NO_EDGE: u32 = u32::MAX;

/// Fills `edges` with those of a container, ascending: the first value of each run, and the value
/// behind its last one.
fn put_edges(container: Container<'_>, edges: &mut Vec<u32>) {
    edges.clear();
    let push = |(first, last): (u32, u32)| {
        // A run that touches the one before goes on with it.
        if edges.last() == Some(&first) {
            edges.pop();
        } else {
            edges.push(first);
        }
        edges.push(last + 1);
    };
    match container {
        Container::Array(values) => {
            let values = values.iter().map(|&low| u32::from(u16::from_le_bytes(low)));
            sound(values.map(|value| (value, value))).for_each(push);
        }
        Container::Runs(runs) => intervals(runs).for_each(push),
        Container::Bitmap(words) => {
            for (start, &word) in (0..).step_by(64).zip(words) {
                let word = u64::from_le_bytes(word);
                let is_inside = edges.len() as u64 & 1;
                let mut changes = word ^ (word << 1 | is_inside);
                while changes != 0 {
                    edges.push(start + changes.trailing_zeros());
                    changes &= changes - 1;
                }
            }
            if edges.len() % 2 == 1 {
                edges.push(SPAN);
            }
        }
    }
}

/// Fills `runs` with those that have these edges.
fn put_runs(edges: &[u32], runs: &mut Vec<[u8; 4]>) {
    let (edges, _) = edges.as_chunks();
    runs.clear();
    runs.extend(edges.iter().map(|&[first, end]| run(first, end - 1)));
}
