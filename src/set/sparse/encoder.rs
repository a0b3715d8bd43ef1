//! Values → the bytes of a group.

use super::layout::{Layout, SAMPLE_LOG};
use crate::kernel::elias_fano::encode;

/// Makes groups, one after the other, in the same memory.
#[derive(Debug, Default)]
pub(crate) struct GroupEncoder {
    words: Vec<u64>,
    samples: Vec<u16>,
}

impl GroupEncoder {
    /// The bytes of a group of `values`, at least one and at most
    /// [`GROUP_VALUES`](super::GROUP_VALUES) of them, which ascend.
    pub(crate) fn encode(&mut self, values: &[u64]) -> (Layout, &[u8]) {
        let ends = values.first().zip(values.last());
        let (base, last) = ends.map_or((0, 0), |(&base, &last)| (base, last));
        let layout = Layout::of(values.len(), last - base);
        let Self { words, samples } = self;
        words.clear();
        words.resize(layout.bytes() / 8, 0);
        samples.clear();
        let (lows, rest) = words.split_at_mut(layout.low_bytes() / 8);
        let (uppers, sample_words) = rest.split_at_mut(layout.upper_bytes() / 8);
        let (mut index, mut next) = (0_u16, 1 << SAMPLE_LOG);
        encode(values, base, layout.low_bits, lows, uppers, |high| {
            while high >= next {
                samples.push(index);
                next += 1 << SAMPLE_LOG;
            }
            index = index.wrapping_add(1); // behind the last value it is not used
        });
        for (word, samples) in sample_words.iter_mut().zip(samples.chunks(4)) {
            *word = samples.iter().rev().fold(0, |word, &sample| word << 16 | u64::from(sample));
        }
        (layout, bytemuck::cast_slice(words))
    }
}
