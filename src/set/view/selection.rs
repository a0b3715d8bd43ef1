//! Many values selected, their ranks ascending, in one pass.

use super::search::difference;
use super::{Cursor, Damage, SetView, Shape};
use crate::set::container::Container;

/// Selects values by ascending ranks, so it reads each container once. O(containers), and for each
/// container with one of the values also its size.
#[derive(Debug)]
pub(crate) struct Selection<'a> {
    view: SetView<'a>,
    cursor: Cursor<'a>,
    /// Number of values before the container, and in it.
    before: u64,
    len: u64,
    /// The key of the container; none before the first.
    key: Option<u64>,
    /// The values of the container, unless it is an array; the vector may be longer.
    lows: Vec<u32>,
    decoded: usize,
    /// Words that were passed to answer from the container.
    walked: usize,
}

/// Decoding a container takes as long as passing this many words.
const DECODING_WORDS: usize = 1 << 13;

impl<'a> Selection<'a> {
    pub(crate) fn new(view: SetView<'a>) -> Self {
        let (key, lows) = (None, Vec::new());
        Self { view, cursor: view.cursor(), before: 0, len: 0, key, lows, decoded: 0, walked: 0 }
    }

    /// The value with `rank` values before it. `rank` must not be below that of an earlier call.
    ///
    /// # Errors
    ///
    /// If the bytes are damaged, or say that there are more values than there are.
    pub(crate) fn select(&mut self, rank: u64) -> Result<u64, Damage> {
        let what = "there are fewer values than the file says";
        let fewer = Damage::of(what);
        if let Shape::Sparse(_) | Shape::Runs(_) | Shape::Folder(_) = self.view.0 {
            return self.view.select(rank)?.ok_or(fewer);
        }
        while rank >= self.before + self.len {
            self.before += self.len;
            self.before += self.cursor.pass(difference(rank, self.before)?)?;
            let (key, container) = self.cursor.next()?.ok_or(fewer)?;
            self.len = u64::from(container.len());
            self.key = Some(key);
            (self.walked, self.decoded) = (0, 0);
        }
        let index = rank.checked_sub(self.before).and_then(|index| usize::try_from(index).ok());
        let (index, key) = index.zip(self.key).ok_or(fewer)?;
        let container = self.cursor.here();
        self.walked += container.bytes().len() / 8;
        let is_array = matches!(container, Container::Array(_));
        if self.walked > DECODING_WORDS && self.decoded == 0 && !is_array {
            self.decoded = container.positions(0, &mut self.lows);
        }
        let low = match self.lows[..self.decoded].get(index) {
            Some(&low) => Some(low),
            None => {
                u32::try_from(index).ok().and_then(|index| container.select(index)).map(u32::from)
            }
        };
        Ok(key << 16 | u64::from(low.ok_or(fewer)?))
    }
}
