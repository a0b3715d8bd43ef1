//! Values → the bytes of a group.

use super::layout::{Layout, SAMPLE_LOG};
use crate::kernel::Level;
use crate::kernel::elias_fano::{Sequence, encode};

/// Makes groups, one after the other, in the same memory.
#[derive(Debug, Default)]
pub(crate) struct GroupEncoder {
    words: Vec<u64>,
}

impl GroupEncoder {
    /// The bytes of a group of `values`, at least one and at most
    /// [`GROUP_VALUES`](super::GROUP_VALUES) of them, which ascend.
    pub(crate) fn encode(&mut self, values: &[u64]) -> (Layout, &[u8]) {
        let ends = values.first().zip(values.last());
        let (base, last) = ends.map_or((0, 0), |(&base, &last)| (base, last));
        let layout = Layout::of(values.len(), last - base);
        let Self { words } = self;
        words.resize(layout.bytes() / 8, 0);
        let (lows, rest) = words.split_at_mut(layout.low_bytes() / 8);
        let (uppers, sample_words) = rest.split_at_mut(layout.upper_bytes() / 8);
        encode(Level::best(), values, base, layout.low_bits, (lows, uppers));
        let uppers = bytemuck::cast_slice::<u64, u8>(uppers).as_chunks().0;
        let sequence = Sequence { lows: &[], uppers, low_bits: layout.low_bits };
        sample_words.fill(0);
        let samples = &mut bytemuck::cast_slice_mut(sample_words)[..layout.samples()];
        sequence.sample(Level::best(), SAMPLE_LOG, samples);
        (layout, bytemuck::cast_slice(words))
    }
}
