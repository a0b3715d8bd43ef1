//! The parts of a group, by the number of its values and their ends.

/// Values of a group: 2 to this power.
pub(crate) const GROUP_LOG: u32 = 16;
/// Values of a group; the last one may have fewer.
pub(crate) const GROUP_VALUES: usize = 1 << GROUP_LOG;
/// High parts from one sample to the next, 2 to this power: the bits of as many zeros and
/// of the values between them mostly lie in one cache line or two.
pub(super) const SAMPLE_LOG: u32 = 7;
/// Bytes of an entry of the table of groups.
pub(crate) const ENTRY_BYTES: usize = 32;

/// Where a group lies and which values it may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The smallest value.
    pub(crate) base: u64,
    /// The largest value.
    pub(crate) last: u64,
    /// Where its bytes begin, from the start of the payload.
    pub(crate) offset: u64,
    pub(crate) low_bits: u64,
}

impl Entry {
    /// As the table of a file has it.
    pub(crate) fn to_bytes(self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        let fields = [self.base, self.last, self.offset, self.low_bits];
        for (slot, field) in bytes.as_chunks_mut().0.iter_mut().zip(fields) {
            *slot = field.to_le_bytes();
        }
        bytes
    }

    #[inline]
    pub(crate) fn from_bytes(bytes: &[u8; ENTRY_BYTES]) -> Self {
        let mut fields = bytes.as_chunks().0.iter().map(|&field| u64::from_le_bytes(field));
        let mut next = || fields.next().unwrap_or(0); // there are four
        Self { base: next(), last: next(), offset: next(), low_bits: next() }
    }
}

/// How the values of a group are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) count: usize,
    pub(crate) low_bits: u32,
    /// The high part of the largest value; less than twice the count.
    pub(crate) last_high: usize,
}

impl Layout {
    /// For `count` values, at least one, whose ends are `span` apart. So many low bits make
    /// the group smallest, but for less than a bit in 2^7.
    #[inline]
    pub(crate) fn of(count: usize, span: u64) -> Self {
        // Most groups are full, and a division takes as long as a load.
        let each =
            if count == GROUP_VALUES { span >> GROUP_LOG } else { span / count.max(1) as u64 };
        let low_bits = each.checked_ilog2().unwrap_or(0);
        #[expect(clippy::cast_possible_truncation, reason = "less than twice the count")]
        let last_high = (span >> low_bits) as usize;
        Self { count, low_bits, last_high }
    }

    /// Bytes of the lows, whole words.
    #[inline]
    pub(crate) fn low_bytes(self) -> usize {
        (self.count * self.low_bits as usize).div_ceil(64) * 8
    }

    /// Bytes of the uppers, whole words.
    #[inline]
    pub(crate) fn upper_bytes(self) -> usize {
        (self.count + self.last_high).div_ceil(64) * 8
    }

    /// Number of samples.
    #[inline]
    pub(crate) fn samples(self) -> usize {
        self.last_high >> SAMPLE_LOG
    }

    /// Bytes of the group, whole words.
    #[inline]
    pub(crate) fn bytes(self) -> usize {
        self.low_bytes() + self.upper_bytes() + self.samples().div_ceil(4) * 8
    }
}
