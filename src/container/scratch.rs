//! A container that operations change in place.

use super::{BitmapWords, Container, MAX_ARRAY, Op, WORDS, ends};

/// An owned container: an array of at most [`MAX_ARRAY`] values, or a bitmap.
#[derive(Debug, Clone)]
pub(crate) enum Scratch {
    /// Ascending values.
    Array(Vec<[u8; 2]>),
    /// Words of a bitmap.
    Bitmap(Box<BitmapWords>),
}

impl Default for Scratch {
    fn default() -> Self {
        Self::Array(Vec::new())
    }
}

impl From<Container<'_>> for Scratch {
    fn from(container: Container<'_>) -> Self {
        match container {
            Container::Array(values) if values.len() <= MAX_ARRAY => Self::Array(values.to_vec()),
            Container::Bitmap(words) => Self::Bitmap(Box::new(*words)),
            other => Self::Bitmap(Self::words_of(other)),
        }
    }
}

impl Scratch {
    /// The same values as a bitmap.
    pub(crate) fn words_of(container: Container<'_>) -> Box<BitmapWords> {
        let mut words = Box::new([[0; 8]; WORDS]);
        join_into(&mut words, Op::Or, container);
        words
    }

    /// The values.
    pub(crate) fn container(&self) -> Container<'_> {
        match self {
            Self::Array(values) => Container::Array(values),
            Self::Bitmap(words) => Container::Bitmap(words),
        }
    }

    /// Whether there is no value.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Array(values) => values.is_empty(),
            Self::Bitmap(words) => words.iter().all(|&word| word == [0; 8]),
        }
    }

    /// Makes this the result of `this op other`.
    pub(crate) fn apply(&mut self, op: Op, other: Container<'_>) {
        match (&mut *self, op, other) {
            (Self::Array(values), Op::And | Op::AndNot, Container::Array(theirs)) => {
                *values = merge(values, theirs, op);
            }
            (Self::Array(values), Op::And, other) => {
                values.retain(|&low| other.contains(u16::from_le_bytes(low)));
            }
            (Self::Array(values), Op::AndNot, other) => {
                values.retain(|&low| !other.contains(u16::from_le_bytes(low)));
            }
            (Self::Array(values), op, Container::Array(theirs))
                if values.len() + theirs.len() <= MAX_ARRAY =>
            {
                *values = merge(values, theirs, op);
            }
            (Self::Array(values), op, other) => {
                let mut words = Self::words_of(Container::Array(values));
                join_into(&mut words, op, other);
                *self = Self::Bitmap(words);
            }
            (Self::Bitmap(words), Op::And, Container::Array(theirs))
                if theirs.len() <= MAX_ARRAY =>
            {
                let ours = Container::Bitmap(words);
                let both = |low: &&[u8; 2]| ours.contains(u16::from_le_bytes(**low));
                *self = Self::Array(theirs.iter().filter(both).copied().collect());
            }
            (Self::Bitmap(words), op, other) => join_into(words, op, other),
        }
    }
}

/// `words op other`, in place.
fn join_into(words: &mut BitmapWords, op: Op, other: Container<'_>) {
    let join = |word: &mut [u8; 8], bits: u64| {
        *word = op.join(u64::from_le_bytes(*word), bits).to_le_bytes();
    };
    match other {
        Container::Bitmap(theirs) => {
            for (word, &theirs) in words.iter_mut().zip(theirs) {
                join(word, u64::from_le_bytes(theirs));
            }
        }
        // What is not named in them would have to go.
        Container::Array(_) | Container::Runs(_) if op == Op::And => {
            let theirs = Scratch::words_of(other);
            join_into(words, op, Container::Bitmap(&theirs));
        }
        Container::Array(values) => {
            for &low in values {
                let low = u16::from_le_bytes(low);
                join(&mut words[usize::from(low >> 6)], 1 << (low & 63));
            }
        }
        Container::Runs(runs) => {
            for (first, last) in runs.iter().map(|&run| ends(run)) {
                for index in first >> 6..=last >> 6 {
                    let from = first.saturating_sub(64 * index);
                    let to = (last - 64 * index).min(63);
                    join(&mut words[index as usize], u64::MAX << from & u64::MAX >> (63 - to));
                }
            }
        }
    }
}

/// Two ascending arrays → what `op` leaves of them.
fn merge(a: &[[u8; 2]], b: &[[u8; 2]], op: Op) -> Vec<[u8; 2]> {
    let (one, both, other) = match op {
        Op::And => (false, true, false),
        Op::Or => (true, true, true),
        Op::Xor => (true, false, true),
        Op::AndNot => (true, false, false),
    };
    let most = match op {
        Op::And => a.len().min(b.len()),
        Op::AndNot => a.len(),
        Op::Or | Op::Xor => a.len() + b.len(),
    };
    // One more: the last place is written before it is known to be wanted.
    let mut out = vec![[0; 2]; most + 1];
    let (mut at, mut at_other, mut count) = (0, 0, 0);
    while at < a.len() && at_other < b.len() {
        let (ours, theirs) = (u16::from_le_bytes(a[at]), u16::from_le_bytes(b[at_other]));
        out[count.min(most)] = ours.min(theirs).to_le_bytes();
        // No branch to guess wrong.
        let wanted = [other, both, one][usize::from(ours <= theirs) + usize::from(ours < theirs)];
        count += usize::from(wanted);
        at += usize::from(ours <= theirs);
        at_other += usize::from(theirs <= ours);
    }
    out.truncate(count);
    if one {
        out.extend_from_slice(&a[at..]);
    }
    if other {
        out.extend_from_slice(&b[at_other..]);
    }
    out
}
