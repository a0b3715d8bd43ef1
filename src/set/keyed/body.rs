//! One set of a `.sets` file: the parts of its bytes, and its view.
#![deny(clippy::indexing_slicing)]

use crate::set::container::BITMAP_BYTES;
use crate::set::file::Representation;
use crate::set::sparse::{self, GROUP_VALUES};
use crate::set::view::{
    Damage, DenseView, ENTRY_BYTES, RUN_BYTES, RoaringView, RunList, SetView, Shape, SparseView,
    Table, TreemapView,
};

/// Bytes of a piece of a plain bitmap: 2^16 bits and their rank.
pub(super) const PIECE_BYTES: usize = BITMAP_BYTES + 8;

/// The bytes of a set in a `.sets` file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Body<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) representation: Representation,
    pub(crate) cardinality: u64,
}

impl<'a> Body<'a> {
    /// The set, for queries. O(1).
    ///
    /// # Errors
    ///
    /// If the bytes cannot be divided as the representation says.
    pub(crate) fn view(self) -> Result<SetView<'a>, Damage> {
        Ok(SetView(match self.representation {
            Representation::Dense => Shape::Dense(self.dense()?.0),
            Representation::Roaring => Shape::Roaring(RoaringView::new(self.bytes)?),
            Representation::Treemap => {
                let (payload, table) = self.treemap()?;
                Shape::Treemap(TreemapView::new(payload, Table::Mapped(table)))
            }
            Representation::Sparse => Shape::Sparse(self.sparse()?),
            Representation::Runs => Shape::Runs(RunList::new(self.bytes.as_chunks().0)),
            Representation::Parts => return Err(Damage::of("a set of a file is no folder")),
        }))
    }

    /// A plain bitmap, and the first and the last value that it has a bit for.
    pub(crate) fn dense(self) -> Result<(DenseView<'a>, (u64, u64)), Damage> {
        let wrong = Damage::of("base, bits and size of a plain bitmap do not fit together");
        let (&base, rest) = self.bytes.split_first_chunk().ok_or(wrong)?;
        let base = u64::from_le_bytes(base);
        let pieces = rest.len() / PIECE_BYTES;
        let (words, ranks) = rest.split_at_checked(pieces * BITMAP_BYTES).ok_or(wrong)?;
        let last = (pieces as u64).checked_mul(1 << 16).map_or(0, |bits| bits.saturating_sub(1));
        let last = base.checked_add(last).ok_or(wrong)?;
        if rest.len() % PIECE_BYTES != 0 || !base.is_multiple_of(1 << 16) {
            return Err(wrong);
        }
        let view = DenseView::new(words.as_chunks().0, base >> 16, Some(ranks.as_chunks().0));
        Ok((view, (base, last)))
    }

    fn treemap(self) -> Result<(&'a [u8], &'a [[u8; ENTRY_BYTES]]), Damage> {
        let count = self.bytes.first_chunk().map(|&count| u64::from_le_bytes(count));
        let table = count.and_then(|count| usize::try_from(count).ok()?.checked_mul(ENTRY_BYTES));
        let (payload, table) = self.split_end(table)?;
        Ok((payload, table.as_chunks().0))
    }

    fn sparse(self) -> Result<SparseView<'a>, Damage> {
        let groups = usize::try_from(self.cardinality.div_ceil(GROUP_VALUES as u64)).ok();
        let table = groups.and_then(|groups| groups.checked_mul(sparse::ENTRY_BYTES));
        let (payload, table) = self.split_end(table)?;
        Ok(SparseView::new(payload, table.as_chunks().0, self.cardinality))
    }

    /// The bytes before the table, which has `table_bytes`, and the table.
    fn split_end(self, table_bytes: Option<usize>) -> Result<(&'a [u8], &'a [u8]), Damage> {
        let start = table_bytes.and_then(|bytes| self.bytes.len().checked_sub(bytes));
        let split = start.and_then(|start| self.bytes.split_at_checked(start));
        split.ok_or(Damage::of("the table of buckets or groups is longer than the set"))
    }

    /// Checks the structure as opening a `.bits` file does: heads and tables, not values.
    pub(crate) fn check(self) -> Result<(), Damage> {
        let view = self.view()?;
        match view.0 {
            Shape::Roaring(roaring) if roaring.check()? != self.bytes.len() => {
                return Err(Damage::of("the roaring bitmap does not end where its set does"));
            }
            Shape::Sparse(sparse) => sparse.check()?,
            Shape::Runs(_) if !self.bytes.len().is_multiple_of(RUN_BYTES) => {
                return Err(Damage::of("the list of runs does not end where its set does"));
            }
            _ => {}
        }
        if view.len()? != self.cardinality {
            return Err(Damage::of("the number of values is not that of the set"));
        }
        Ok(())
    }
}
