//! The places of everything in the picture, in pixels. PNG and SVG share it.

use super::cell_of;
use super::colour;
use super::{MAX_ORDER, Map};

pub(super) const WIDTH: u32 = 1200;
pub(super) const HEIGHT: u32 = 1130;
/// Side of the map.
pub(super) const SIDE: u32 = 1024;
/// Left and top edge of the map.
pub(super) const LEFT: u32 = 20;
pub(super) const TOP: u32 = 60;
/// The bar of the legend.
pub(super) const BAR_LEFT: u32 = LEFT + SIDE + 24;
pub(super) const BAR_WIDTH: u32 = 24;
pub(super) const BAR_TOP: u32 = TOP + 30;
pub(super) const BAR_HEIGHT: u32 = 400;
/// Pixels between labels of the legend.
const MIN_DISTANCE: u32 = 14;
/// Number of squares on each side that are labelled with their first value.
const SQUARES: u32 = 4;

/// A text, and the middle of its left edge.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Label {
    pub(super) x: u32,
    pub(super) y: u32,
    pub(super) text: String,
    pub(super) large: bool,
}

/// All texts of the picture.
pub(super) fn labels(map: &Map) -> Vec<Label> {
    let label = |x, y, text: String| Label { x, y, text, large: false };
    let mut labels = vec![
        Label { x: LEFT, y: 24, text: map.title.clone(), large: true },
        label(
            LEFT,
            46,
            "values along a Hilbert curve from the upper left to the upper right corner".into(),
        ),
        label(LEFT, TOP + SIDE + 22, map.summary()),
        label(BAR_LEFT, TOP + 8, "density".into()),
        label(BAR_LEFT + BAR_WIDTH + 8, BAR_TOP + BAR_HEIGHT + 34, "none".into()),
    ];
    for (place, density) in ticks(map) {
        labels.push(label(BAR_LEFT + BAR_WIDTH + 8, tick_y(place), density));
    }
    let bits = square_bits(map);
    for (square, (x, y)) in squares(map) {
        labels.push(label(x + 6, y + 12, short(square, map.ipv4.then_some(bits))));
    }
    labels
}

/// The densities in the legend, and their places on the scale.
fn ticks(map: &Map) -> Vec<(f64, String)> {
    let least = map.least_density();
    let decades = (-least.log10()).floor();
    let step = if decades > 8.0 { 3 } else { 1 };
    let mut ticks = Vec::new();
    let mut exponent = 0_i32;
    while f64::from(-exponent) <= decades {
        let text = if exponent == 0 { "1, full".into() } else { format!("1e{exponent}") };
        ticks.push((colour::place_of(10_f64.powi(exponent), least), text));
        exponent -= step;
    }
    // The other end, unless it is too near to a decade, or the same density: a cell of one number.
    let is_apart = |&(place, _): &(f64, String)| tick_y(0.0).abs_diff(tick_y(place)) > MIN_DISTANCE;
    if least < 1.0 && ticks.last().is_none_or(is_apart) {
        ticks.push((0.0, format!("{least:.0e}")));
    }
    ticks
}

pub(super) fn tick_y(place: f64) -> u32 {
    let below_top = (1.0 - place).clamp(0.0, 1.0) * f64::from(BAR_HEIGHT);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 400")]
    let below_top = below_top.round() as u32;
    BAR_TOP + below_top
}

/// A labelled square has 2 to this power values.
fn square_bits(map: &Map) -> u32 {
    map.cell_bits + 2 * (map.order - SQUARES.ilog2().min(map.order))
}

/// First values of the labelled squares, and their upper left corners.
fn squares(map: &Map) -> Vec<(u64, (u32, u32))> {
    let order = SQUARES.ilog2().min(map.order);
    let bits = square_bits(map);
    let side = SIDE >> order;
    (0..1_u64 << (2 * order))
        .map(|square| {
            let (x, y) = cell_of(order, square);
            let first = square.checked_shl(bits).unwrap_or(0);
            (first, (LEFT + x * side, TOP + y * side))
        })
        .collect()
}

/// Lines: from, to. They are around the map, and between the labelled squares if a cell has more than
/// one pixel, which a line would hide.
pub(super) fn lines(map: &Map) -> Vec<((u32, u32), (u32, u32))> {
    let squares = 1 << SQUARES.ilog2().min(map.order);
    let between = if map.order < MAX_ORDER { 1..squares } else { 0..0 };
    let (left, top, right, bottom) = (LEFT - 1, TOP - 1, LEFT + SIDE, TOP + SIDE);
    let between = between.map(|line| line * SIDE / squares);
    let columns = [left, right].into_iter().chain(between.clone().map(|at| LEFT + at));
    let rows = [top, bottom].into_iter().chain(between.map(|at| TOP + at));
    let columns = columns.map(|x| ((x, top), (x, bottom)));
    columns.chain(rows.map(|y| ((left, y), (right, y)))).collect()
}

/// A value in few characters; with `network_bits`, the network of so many bits that begins with it.
fn short(value: u64, network_bits: Option<u32>) -> String {
    if let (Some(bits), Ok(address)) = (network_bits, u32::try_from(value)) {
        let length = u32::BITS.saturating_sub(bits);
        return format!("{}/{length}", std::net::Ipv4Addr::from(address));
    }
    for (bits, unit) in [(60, "Ei"), (50, "Pi"), (40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")] {
        if value >> bits > 0 {
            let (whole, rest) = (value >> bits, (value >> (bits - 10)) & 1023);
            // Squares begin at quarters, which two digits show exactly.
            let digits = format!("{whole}.{:02}", rest * 100 / 1024);
            return format!("{}{unit}", digits.trim_end_matches('0').trim_end_matches('.'));
        }
    }
    value.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::sample;

    #[test]
    fn values_are_short() {
        assert_eq!(short(0, None), "0");
        assert_eq!(short(3 << 28, None), "768Mi");
        assert_eq!(short(5 << 29, None), "2.5Gi");
        assert_eq!(short(5 << 28, None), "1.25Gi");
        assert_eq!(short(10 << 30, None), "10Gi");
        assert_eq!(short(0x1000_0000, Some(28)), "16.0.0.0/4");
    }

    #[test]
    fn both_ends_of_the_legend_are_labelled() {
        for order in [0, 1, 3, 5] {
            let ticks = ticks(&sample(order, |cell| cell as u64));
            let ys: Vec<u32> = ticks.iter().map(|&(place, _)| tick_y(place)).collect();
            assert_eq!(ys[0], BAR_TOP, "{ticks:?}");
            let bottom = BAR_TOP + BAR_HEIGHT;
            assert!(ys.len() == 1 || bottom - ys[ys.len() - 1] <= MIN_DISTANCE, "{ticks:?}");
        }
    }

    #[test]
    fn everything_is_inside_of_the_picture() {
        for order in [0, 1, 5] {
            let map = sample(order, |_| 0);
            assert!(labels(&map).iter().all(|label| label.x < WIDTH && label.y < HEIGHT));
            assert_eq!(
                squares(&map).len(),
                if order == 0 {
                    1
                } else if order == 1 {
                    4
                } else {
                    16
                }
            );
        }
    }
}
