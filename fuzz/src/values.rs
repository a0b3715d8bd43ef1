//! Sets of values as data has them: lone ones, runs, steps, noise; near the
//! borders of containers, of 32 bits and of 64.

use arbitrary::Arbitrary;
use std::collections::BTreeSet;

/// Values that lie together.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub enum Piece {
    One(Place),
    Run { from: Place, len: u16 },
    Steps { from: Place, step: u8, count: u16 },
    Noise { from: Place, seed: u8, count: u16 },
    Full { container: u8, seldom: u8 },
}

/// A value, in one of a few containers.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub struct Place {
    container: u8,
    low: u16,
}

/// Numbers of containers: neighbours, and both sides of the borders.
const CONTAINERS: [u64; 12] = [
    0,
    1,
    2,
    3,
    17,
    63,
    0xFFFF,
    0x1_0000,
    0x1_0001,
    0x1234_5678_9ABC,
    0xFFFF_FFFF_0000,
    0xFFFF_FFFF_FFFF,
];

impl Place {
    fn value(self, containers: usize) -> u64 {
        CONTAINERS[usize::from(self.container) % containers] << 16 | u64::from(self.low)
    }
}

/// Few values, mostly: more only take more time. An array has at most 4096.
fn len(number: u16) -> u64 {
    u64::from(if number.is_multiple_of(16) { number / 16 + 2200 } else { number % 300 })
}

/// The values of `pieces`, with bits up to the width that is asked for.
pub fn values_of(pieces: &[Piece], width: u32) -> BTreeSet<u64> {
    let most = u64::MAX >> (64 - width);
    let containers = CONTAINERS.iter().take_while(|&&key| key <= most >> 16).count();
    let mut values = BTreeSet::new();
    for &piece in pieces.iter().take(12) {
        let (from, offsets): (Place, Box<dyn Iterator<Item = u64>>) = match piece {
            Piece::One(place) => (place, Box::new(0..1)),
            Piece::Run { from, len } => (from, Box::new(0..self::len(len))),
            Piece::Steps { from, step, count } => {
                let step = u64::from(step) + 1;
                (from, Box::new((0..len(count)).map(move |n| n * step)))
            }
            Piece::Noise { from, seed, count } => {
                let next =
                    |state: &u64| Some(state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1));
                let states = std::iter::successors(Some(u64::from(seed)), next);
                (from, Box::new(states.map(|state| state >> 47).take(len(count) as usize)))
            }
            // A whole container, which is one run of 2^16.
            Piece::Full { container, seldom: ..=7 } if values.len() < 1 << 16 => {
                (Place { container, low: 0 }, Box::new(0..1 << 16))
            }
            Piece::Full { .. } => continue,
        };
        let from = from.value(containers);
        let placed = offsets.filter_map(|offset| from.checked_add(offset));
        values.extend(placed.filter(|value| *value <= most));
    }
    values
}
