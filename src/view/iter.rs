//! The values of a set, in order.

use super::{Cursor, Damage, SetView};

/// Iterates over the values of a set in ascending order, from any value on.
/// O(1) amortized a value.
#[derive(Debug, Clone)]
pub struct Values<'a> {
    cursor: Cursor<'a>,
    base: u64,
    lows: Vec<u32>,
    next: usize,
    count: usize,
    /// Values below it are not wanted.
    from: u64,
    failed: bool,
}

impl<'a> SetView<'a> {
    /// The values, ascending.
    #[must_use]
    pub fn iter(self) -> Values<'a> {
        self.iter_from(0)
    }

    /// The values from `from` on, ascending.
    #[must_use]
    pub fn iter_from(self, from: u64) -> Values<'a> {
        let mut cursor = self.cursor();
        cursor.seek(from >> 16);
        Values { cursor, base: 0, lows: Vec::new(), next: 0, count: 0, from, failed: false }
    }
}

impl<'a> IntoIterator for SetView<'a> {
    type Item = Result<u64, Damage>;
    type IntoIter = Values<'a>;

    fn into_iter(self) -> Values<'a> {
        self.iter()
    }
}

impl Iterator for Values<'_> {
    type Item = Result<u64, Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.next == self.count {
            if self.failed {
                return None;
            }
            match self.cursor.next_sound() {
                Ok(Some((key, container))) => {
                    self.base = key << 16;
                    (self.next, self.count) = (0, container.positions(0, &mut self.lows));
                    if self.base < self.from {
                        let low = (self.from & 0xFFFF) as u32;
                        if self.base == self.from & !0xFFFF {
                            self.next = self.lows[..self.count].partition_point(|&l| l < low);
                        } else {
                            self.next = self.count;
                        }
                    }
                }
                Ok(None) => return None,
                Err(damage) => {
                    self.failed = true;
                    return Some(Err(damage));
                }
            }
        }
        let low = self.lows[self.next];
        self.next += 1;
        Some(Ok(self.base + u64::from(low)))
    }
}
