//! What a word of a [`Screen`](super::Screen) says of the values that it stands for.

/// How the values of a set are written into words.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pattern {
    /// Four bits a value. A value that is there passes, and so does one in a hundred others.
    Bits,
    /// A mark a value, in two to four times the memory. Only values that are there pass.
    Marks(Marks),
}

impl Pattern {
    /// A word that all values pass.
    pub(super) fn full(self) -> u64 {
        match self {
            Self::Bits => u64::MAX,
            Self::Marks(marks) => marks.full,
        }
    }

    /// A word with one more value.
    #[inline]
    pub(super) fn with(self, word: u64, value: u64) -> u64 {
        match self {
            Self::Bits => word | bits(value),
            Self::Marks(marks) => marks.with(word, value),
        }
    }

    /// A word that the values of two words pass.
    pub(super) fn joined(self, word: u64, more: u64) -> u64 {
        match self {
            // Only the slots of a damaged set are joined.
            Self::Marks(marks) if word != 0 && more != 0 => marks.full,
            _ => word | more,
        }
    }

    /// 1 if a value with this word may be in the set; else 0.
    #[inline]
    pub(super) fn passes(self, value: u64, word: u64) -> u64 {
        match self {
            Self::Bits => bits_pass(value, word),
            Self::Marks(marks) => marks.passes(value, word),
        }
    }

    /// Whether values that pass this word are in the set without doubt, if the set has their key.
    #[inline]
    pub(super) fn is_sure(self, word: u64) -> bool {
        matches!(self, Self::Marks(marks) if word != marks.full)
    }
}

/// How the marks of values lie in a word, from its lowest bit on. A mark is the lower bits of a
/// value, which no other value of the word has, and a bit that is set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Marks {
    /// Bits of a value in its mark. One bit more tells a mark from no mark.
    bits: u32,
    /// The lowest bit of each mark.
    ones: u64,
    /// A word that all values pass: it has too many, or those of a run. It has the highest mark and
    /// no other, which no other word has, because marks come in from below.
    pub(super) full: u64,
}

impl Marks {
    /// For slots of 2^`slot_word_bits` words, each for one key.
    pub(super) fn of(slot_word_bits: u32) -> Self {
        let bits = 16 - slot_word_bits;
        let ones = (0..64 / (bits + 1)).fold(0, |ones, mark| ones | 1 << (mark * (bits + 1)));
        let full = 1 << ((64 / (bits + 1)) * (bits + 1) - 1);
        Self { bits, ones, full }
    }

    /// Marks that a word has room for.
    pub(super) fn count(self) -> u64 {
        self.ones.count_ones().into()
    }

    #[inline]
    fn mark(self, value: u64) -> u64 {
        let flag = 1 << self.bits;
        value & (flag - 1) | flag
    }

    /// A word with the mark of one more value.
    #[inline]
    pub(super) fn with(self, word: u64, value: u64) -> u64 {
        if word & self.full == 0 { word << (self.bits + 1) | self.mark(value) } else { self.full }
    }

    /// 1 if a value with this word may be in the set; else 0.
    #[inline]
    pub(super) fn passes(self, value: u64, word: u64) -> u64 {
        u64::from(self.has(value, word) || word == self.full)
    }

    /// Whether a word has the mark of a value.
    #[inline]
    pub(super) fn has(self, value: u64, word: u64) -> bool {
        let other = word ^ self.mark(value).wrapping_mul(self.ones);
        // Source: Hacker's Delight, 2nd edition, section 6-1, for marks in place of bytes: one of
        // them is 0.
        let found = other.wrapping_sub(self.ones) & !other & self.ones << self.bits;
        found != 0
    }
}

/// Four bits of a word for each of 256 neighbouring values. Two values share at most one bit, so of
/// neighbours, which share a word, half as many pass for each other as with four random bits.
///
/// The bits are the points of a space of three dimensions over the field of four elements, and the
/// four bits of a value are a line in it: two lines share at most one point.
static LINES: [u64; 256] = {
    let mut lines = [0; 256];
    let (mut found, mut point, mut direction) = (0, 0, 1);
    while found < lines.len() {
        // Three numbers of two bits each, the upper ones first: times each element.
        let (upper, lower) = (direction >> 3, direction & 7);
        let twice = (upper ^ lower) << 3 | upper;
        let thrice = direction ^ twice;
        let others = [point ^ direction, point ^ twice, point ^ thrice];
        let is_new = direction < twice && direction < thrice;
        if is_new && point < others[0] && point < others[1] && point < others[2] {
            lines[found] = 1 << point | 1 << others[0] | 1 << others[1] | 1 << others[2];
            found += 1;
        }
        point = (point + 1) % 64;
        direction += (point == 0) as u32;
    }
    lines
};

/// The bits of a value.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the lower bits are meant")]
pub(super) fn bits(value: u64) -> u64 {
    // A word that stands for more values than there are lines has each line in several rotations.
    LINES[value as usize % LINES.len()].rotate_left((value as u32 & 0xFFFF) >> 8)
}

/// 1 if a word has the bits of a value; else 0.
#[inline]
pub(super) fn bits_pass(value: u64, word: u64) -> u64 {
    u64::from(!word & bits(value) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_lets_its_values_pass_and_others_only_if_it_is_full() {
        for slot_word_bits in 0..=16 {
            let marks = Marks::of(slot_word_bits);
            let (values, room) = (1_u64 << (16 - slot_word_bits), marks.count());
            assert_eq!(room, 64 / (17 - u64::from(slot_word_bits)));
            let first = 0x7_0000 + 11 * values % 0x1_0000;
            let step = (values / 70).max(1) | 1;
            let has =
                |count: u64, value: u64| (1..=count).any(|n| first + n * step % values == value);
            let mut word = 0;
            for count in 1..=room + 2 {
                word = marks.with(word, first + count * step % values);
                assert_eq!(word == marks.full, count > room);
                for value in (first..first + values).take(300) {
                    let expected = count > room || has(count, value);
                    assert_eq!(marks.passes(value, word) == 1, expected, "{value} of {count}");
                }
            }
        }
    }

    #[test]
    fn words_of_two_slots_let_the_values_of_both_pass() {
        for pattern in [Pattern::Bits, Pattern::Marks(Marks::of(9)), Pattern::Marks(Marks::of(6))] {
            let word = |values: std::ops::Range<u64>| {
                values.fold(0, |word, value| pattern.with(word, 3 * value))
            };
            for (a, b) in [(0, 0), (0, 1), (1, 0), (1, 2), (3, 0), (0, 3), (2, 9), (90, 0), (9, 9)]
            {
                let joined = pattern.joined(word(0..a), word(a..a + b));
                for value in 0..a + b {
                    assert_eq!(pattern.passes(3 * value, joined), 1);
                }
                assert!((a + b == 0) == (joined == 0) && !(pattern.is_sure(joined) && a * b > 0));
            }
            assert!((0..500).all(|value| pattern.passes(value, pattern.full()) == 1));
            assert!(!pattern.is_sure(pattern.full()));
        }
    }

    #[test]
    fn neighbours_have_four_bits_and_share_at_most_one() {
        for value in (0..256).map(|low| 0xAB00 + low) {
            assert_eq!(bits(value).count_ones(), 4);
            for other in 0xAB00..value {
                assert!((bits(value) & bits(other)).count_ones() <= 1, "{value} and {other}");
            }
        }
    }
}
