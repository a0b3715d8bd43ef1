//! One value at a time.

use super::WINDOW;

/// A binary search without a branch.
pub(super) fn contains_few(values: &[[u8; 2]], low: u16) -> bool {
    let mut rest = values;
    while rest.len() > 1 {
        let (front, back) = rest.split_at(rest.len() / 2);
        rest = if u16::from_le_bytes(back[0]) <= low { back } else { front };
    }
    rest.first().is_some_and(|&value| u16::from_le_bytes(value) == low)
}

pub(super) fn contains(window: &[[u8; 2]; WINDOW], low: u16) -> bool {
    window.iter().fold(false, |found, value| found | (u16::from_le_bytes(*value) == low))
}
