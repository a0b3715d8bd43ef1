//! The Hilbert curve.
//!
//! Source: the turning rule of J. Skilling and of Wikipedia, "Hilbert curve":
//! two bits of the distance choose a quadrant, and lower quadrants are turned.

/// Column and row of the cell at `distance` along the curve of a square with
/// `2^order` cells a side.
pub(super) fn cell_of(order: u32, distance: u64) -> (u32, u32) {
    let (mut x, mut y) = (0_u32, 0_u32);
    let mut left = distance;
    for level in 0..order {
        let side = 1_u32 << level;
        let right = left >> 1 & 1 == 1;
        let up = (left & 1 == 1) != right;
        if !up {
            if right {
                (x, y) = (side - 1 - x, side - 1 - y);
            }
            (x, y) = (y, x);
        }
        x += if right { side } else { 0 };
        y += if up { side } else { 0 };
        left >>= 2;
    }
    (x, y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_curve_visits_every_cell_once_a_step_at_a_time() {
        for order in 0..=6 {
            let cells: Vec<_> = (0..1_u64 << (2 * order)).map(|d| cell_of(order, d)).collect();
            assert_eq!(cells.iter().collect::<BTreeSet<_>>().len(), cells.len());
            assert!(cells.iter().all(|&(x, y)| x < 1 << order && y < 1 << order));
            for pair in cells.windows(2) {
                assert_eq!(pair[0].0.abs_diff(pair[1].0) + pair[0].1.abs_diff(pair[1].1), 1);
            }
            assert_eq!(cells[0], (0, 0));
        }
    }
}
