//! Number of values, and the first and the last of them.

use crate::set::container::Container;

/// The values that were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Extent {
    pub(crate) cardinality: u64,
    pub(crate) min: u64,
    pub(crate) max: u64,
}

impl Extent {
    pub(super) fn add_values(&mut self, values: &[u64]) {
        let Some((&first, &last)) = values.first().zip(values.last()) else { return };
        if self.cardinality == 0 {
            self.min = first;
        }
        self.max = last;
        self.grow(values.len() as u64);
    }

    /// The number of values stays at 2^64 - 1 at most.
    fn grow(&mut self, values: u64) {
        self.cardinality = self.cardinality.saturating_add(values);
    }

    pub(super) fn add_run(&mut self, [first, last]: [u64; 2]) {
        if self.cardinality == 0 {
            self.min = first;
        }
        self.max = last;
        self.grow((last - first).saturating_add(1));
    }

    pub(super) fn add(&mut self, key: u64, container: Container<'_>, len: u32) {
        let value = |low: Option<u16>| key << 16 | u64::from(low.unwrap_or(0)); // the container has values
        if self.cardinality == 0 {
            self.min = value(container.next(0));
        }
        self.max = value(container.previous(u16::MAX));
        self.grow(len.into());
    }
}
