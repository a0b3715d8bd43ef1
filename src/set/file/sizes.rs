//! Counts how many bytes a set would take in each representation.

use super::extent::Extent;
use super::header::Representation;
use super::portable::PortableSize;
use crate::io::page::{HEADER_BYTES, blocks};
use crate::set::container::Container;
use crate::set::format::SetFormat;
use crate::set::sparse::SparseSize;

/// Counts the bytes of a set from ascending containers or values.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sizes {
    roaring: PortableSize,
    sparse: SparseSize,
    /// The container of the last values: its key, the number of its values and of its runs, and its
    /// last value.
    open: Option<(u64, u32, usize, u64)>,
}

/// Bytes of a file with sections of so many bytes.
fn file_bytes(sections: u64) -> u64 {
    let end = HEADER_BYTES as u64 + sections;
    end + 8 * blocks(end) + 8
}

/// Bytes of a plain bitmap of a set with these ends, with its ranks and checksums.
pub(crate) fn dense_bytes(ends: Option<(u64, u64)>) -> u64 {
    let pieces = ends.map_or(0, |(first, last)| dense_pieces(first, last));
    // 2^13 bytes for each piece, and its rank.
    file_bytes(pieces * 8200)
}

/// Pieces of a plain bitmap of `first ..= last`.
fn dense_pieces(first: u64, last: u64) -> u64 {
    (last >> 16) - (first >> 16) + 1
}

/// Whether `bytes` are less than four fifths of the others.
fn is_much_less(bytes: u64, others: u64) -> bool {
    bytes.saturating_mul(5) < others.saturating_mul(4)
}

/// Whether a set of so many values is quicker as a sparse one than as a roaring bitmap of `bytes`.
pub(super) fn is_for_sparse(bytes: u64, cardinality: u64) -> bool {
    bytes / 6 > cardinality
}

impl Sizes {
    /// Counts a container of `len` values, at least one; `last` is the largest of them. `runs` is the
    /// number of its runs, or more than would make it smaller.
    pub(crate) fn add(
        &mut self,
        key: u64,
        container: Container<'_>,
        len: u32,
        runs: usize,
        last: u64,
    ) {
        self.add_sparse(key, container, len, last);
        self.roaring = self.closed();
        self.open = None;
        self.roaring.add(key, len, runs);
    }

    /// The same, but only for the size as a sparse set.
    pub(super) fn add_sparse(&mut self, key: u64, container: Container<'_>, len: u32, last: u64) {
        self.sparse.add(key, container, len, last);
    }

    /// Counts ascending values.
    pub(crate) fn add_values(&mut self, values: &[u64]) {
        self.sparse.add_values(values);
        for &value in values {
            let key = value >> 16;
            match &mut self.open {
                Some((open, len, runs, last)) if *open == key => {
                    *runs += usize::from(*last + 1 != value);
                    (*len, *last) = (*len + 1, value);
                }
                open => {
                    if let Some((key, len, runs, _)) = open.replace((key, 1, 1, value)) {
                        self.roaring.add(key, len, runs);
                    }
                }
            }
        }
    }

    /// Counts a run above all values so far.
    pub(crate) fn add_run(&mut self, [first, last]: [u64; 2]) {
        self.sparse.add_run(first, last);
        for key in [first >> 16, last >> 16] {
            let (from, to) = (first.max(key << 16), last.min(key << 16 | 0xFFFF));
            #[expect(clippy::cast_possible_truncation, reason = "at most 2^16")]
            let more = (to - from + 1) as u32;
            match &mut self.open {
                Some((open, len, runs, last)) if *open == key => {
                    if from > *last {
                        (*len, *runs, *last) = (*len + more, *runs + 1, to);
                    }
                }
                open => {
                    if let Some((key, len, runs, _)) = open.replace((key, more, 1, to)) {
                        self.roaring.add(key, len, runs);
                    }
                    if key > (first >> 16) + 1 {
                        self.roaring.add_full((first >> 16) + 1, key - 1);
                    }
                }
            }
        }
    }

    /// Bytes of a portable roaring file.
    #[cfg(feature = "cli")]
    pub(crate) fn portable_bytes(self) -> u64 {
        self.closed().bytes()
    }

    fn closed(mut self) -> PortableSize {
        if let Some((key, len, runs, _)) = self.open.take() {
            self.roaring.add(key, len, runs);
        }
        self.roaring
    }

    /// Bytes of a roaring `.bits` file.
    pub(crate) fn roaring_bytes(self) -> u64 {
        let roaring = self.closed();
        file_bytes(roaring.bytes().next_multiple_of(8) + roaring.table_bytes())
    }

    /// Bytes of a sparse `.bits` file.
    pub(crate) fn sparse_bytes(self) -> u64 {
        file_bytes(self.sparse.bytes())
    }

    /// The best representation for a set that is one of many in a file, by the same rule.
    pub(crate) fn best_body(self, extent: Extent) -> Representation {
        let roaring = self.closed();
        let (is_wide, mut bytes) = (roaring.is_wide(), roaring.bytes());
        if is_wide {
            bytes += roaring.table_bytes();
        }
        let dense = dense_pieces(extent.min, extent.max).saturating_mul(8200).saturating_add(8);
        if extent.cardinality == 0 {
            Representation::Roaring
        } else if is_much_less(self.sparse.bytes(), dense.min(bytes)) {
            Representation::Sparse
        } else if dense < bytes {
            Representation::Dense
        } else if is_wide {
            Representation::Treemap
        } else {
            Representation::Roaring
        }
    }

    /// The best representation for a set that takes `roaring` bytes as a roaring file: the smallest
    /// one. It takes a sparse set only if that is much smaller, because joins take longer.
    pub(super) fn best(self, extent: Extent, roaring: u64) -> SetFormat {
        self.best_and_bytes(extent, roaring).0
    }

    /// The representation that is made and asked fastest, for a set of so many values: a roaring one,
    /// unless the values are so far apart that it takes more than 6 bytes for each.
    pub(super) fn quickest(self, cardinality: u64) -> SetFormat {
        let roaring = self.closed();
        let bytes = roaring.bytes() + roaring.table_bytes();
        if is_for_sparse(bytes, cardinality) {
            SetFormat::SparseBits
        } else {
            SetFormat::RoaringBits
        }
    }

    /// The same, for a set that takes `listed` bytes as a list of runs.
    pub(super) fn best_beside_runs(self, extent: Extent, listed: u64) -> SetFormat {
        let (best, bytes) = self.best_and_bytes(extent, self.roaring_bytes());
        if is_much_less(listed, bytes) { SetFormat::RunBits } else { best }
    }

    fn best_and_bytes(self, extent: Extent, roaring: u64) -> (SetFormat, u64) {
        if extent.cardinality == 0 {
            return (SetFormat::RoaringBits, roaring);
        }
        let (dense, sparse) = (dense_bytes(Some((extent.min, extent.max))), self.sparse_bytes());
        if is_much_less(sparse, dense.min(roaring)) {
            (SetFormat::SparseBits, sparse)
        } else if dense < roaring {
            (SetFormat::DenseBits, dense)
        } else {
            (SetFormat::RoaringBits, roaring)
        }
    }
}
