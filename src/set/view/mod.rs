//! Views: sets that are asked in place. A view is a plain bitmap, a roaring bitmap of 32 or 64 bits,
//! a sparse set or a list of runs in borrowed bytes, such as a mapped file; or the containers of a
//! set in memory.
//! Every question is written here, once for all of them.
//!
//! Nothing is decoded beforehand. A question reads what it needs: a word, or the head of the file
//! and one container. Every access is checked against the bytes, so a damaged or hostile file gives
//! an error or an answer, and never a panic.
//!
//! Flow: bytes → [`DenseView`], [`RoaringView`], [`TreemapView`] → [`SetView`],
//! which speaks of containers by their keys (`value >> 16`) → queries. A [`SparseView`] and a
//! [`RunList`] have no containers: they find values by their ranks. A [`FolderView`] asks the part that has
//! the answer.

// Circle: `by_part`, `values`: the values of a folder are those of its parts, one part after the
// other.

mod by_part;
mod by_rank;
mod cursor;
mod dense;
mod folder;
mod lookup;
mod many;
mod pattern;
mod query;
mod roaring;
mod run_list;
mod runs;
mod screen;
mod search;
mod selection;
mod sparse;
#[cfg(test)]
pub(super) mod tests;
mod treemap;
mod values;
mod walk;

pub use crate::io::page::Damage;
use crate::set::container::WORDS;
use by_rank::Ranked;
pub(crate) use cursor::Cursor;
pub(crate) use dense::DenseView;
pub(crate) use folder::{FolderPart, FolderView};
pub use many::Prober;
pub(crate) use roaring::{NO_OFFSET_THRESHOLD, RoaringView};
pub(crate) use run_list::{RUN_BYTES, RunEntry, RunList};
pub use runs::Runs;
pub(crate) use screen::{BATCH, Passed, Queue, Screen};
pub(crate) use search::{ends_of, find_key};
pub(crate) use selection::Selection;
pub(crate) use sparse::SparseView;
pub(crate) use treemap::{Bucket, ENTRY_BYTES, Table, TreemapView, check_buckets};
pub use values::Values;
pub(crate) use walk::{BLOCK, Walk};

use crate::set::containers::Containers;
use std::fmt;

/// A borrowed set: bytes of a file or of others, or a set in memory. A copy costs a few pointers.
#[derive(Clone, Copy)]
pub struct SetView<'a>(pub(crate) Shape<'a>);

impl fmt::Debug for SetView<'_> {
    /// Shows how many values there are, not the values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SetView").field("len", &self.len()).finish_non_exhaustive()
    }
}

/// The kind of the set.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape<'a> {
    Dense(DenseView<'a>),
    Roaring(RoaringView<'a>),
    Treemap(TreemapView<'a>),
    Sparse(SparseView<'a>),
    Runs(RunList<'a>),
    /// Parts, each of which is a view of its own.
    Folder(FolderView<'a>),
    /// Containers in memory: no question to them fails.
    Memory(&'a Containers),
    /// Bytes that were sound when they were opened, and are not any more. Every question fails with
    /// the damage, so the set never looks empty.
    Damaged(Damage),
}

impl<'a> SetView<'a> {
    /// A plain bitmap: bit `v % 64` of word `v / 64`, little-endian, stands for
    /// value `base + v`. Bits behind the last multiple of 2^16 are ignored.
    ///
    /// # Panics
    ///
    /// If `base` is no multiple of 2^16, or the bits end above 2^64.
    #[must_use]
    pub fn dense(words: &'a [[u8; 8]], base: u64) -> Self {
        assert!(base.is_multiple_of(1 << 16), "the base of a dense view is a multiple of 2^16");
        let pieces = (words.len() / WORDS) as u64;
        assert!(pieces <= (1 << 48) - (base >> 16), "the bits of a dense view end below 2^64");
        Self(Shape::Dense(DenseView::new(words, base >> 16, None)))
    }

    /// A 32-bit roaring bitmap in the portable format at the start of `bytes`.
    ///
    /// # Errors
    ///
    /// If the bytes are no such bitmap. It checks the head, which has the places of the containers,
    /// and the last container. O(containers).
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::set::SetView;
    ///
    /// // Cookie, one container, key 0 with 2 values, its offset, 35 and 40.
    /// let bytes = [58, 48, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 16, 0, 0, 0, 35, 0, 40, 0];
    /// let set = SetView::roaring(&bytes)?;
    /// assert!(set.contains(40)? && !set.contains(36)?);
    /// assert_eq!(set.iter().collect::<Result<Vec<_>, _>>()?, [35, 40]);
    /// # Ok::<(), bitsort::set::Damage>(())
    /// ```
    pub fn roaring(bytes: &'a [u8]) -> Result<Self, Damage> {
        let view = RoaringView::new(bytes)?;
        view.check()?;
        Ok(Self(Shape::Roaring(view)))
    }

    /// Whether it is a set in memory, which nothing can damage.
    pub(crate) fn is_sound(self) -> bool {
        matches!(self.0, Shape::Memory(_))
    }

    /// The values of a sparse set, or of a folder of these, a block at a time.
    pub(crate) fn walk(self) -> Option<Walk<'a>> {
        match self.0 {
            Shape::Sparse(sparse) => Some(Walk::new(sparse)),
            Shape::Folder(folder) => Walk::of_parts(folder),
            _ => None,
        }
    }

    /// About the number of containers with all their values, in lists of runs; 0 for other sets.
    pub(crate) fn full_containers(self) -> u64 {
        match self.0 {
            Shape::Runs(runs) => runs.len().unwrap_or(0) >> 16,
            Shape::Folder(folder) => {
                let parts = folder.parts().iter().map(|part| part.view().full_containers());
                parts.fold(0, u64::saturating_add)
            }
            _ => 0,
        }
    }

    /// The set, if it finds values by their ranks.
    fn ranked(self) -> Option<Ranked<'a>> {
        match self.0 {
            Shape::Sparse(sparse) => Some(Ranked::Sparse(sparse)),
            Shape::Runs(runs) => Some(Ranked::Runs(runs)),
            _ => None,
        }
    }

    /// The containers, in order.
    pub(crate) fn cursor(self) -> Cursor<'a> {
        Cursor::new(self.0)
    }
}
