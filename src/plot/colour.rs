//! Chooses the colour of a density.

/// Red, green and blue.
pub(super) type Rgb = [u8; 3];

/// The colour of a cell without values.
pub(super) const EMPTY: Rgb = [244, 244, 240];
/// The colour of text and lines.
pub(super) const INK: Rgb = [40, 40, 48];
/// The colour of the background.
pub(super) const PAPER: Rgb = [255, 255, 255];

/// Colours from the least density to the greatest, at equal distances. Denser cells are lighter, so
/// the order shows even without colour.
const SCALE: [Rgb; 6] =
    [[68, 1, 84], [65, 68, 135], [42, 120, 142], [34, 168, 132], [122, 209, 81], [253, 231, 37]];

/// The colour at `place` of the scale, 0 to 1.
pub(super) fn at(place: f64) -> Rgb {
    let place = place.clamp(0.0, 1.0) * 5.0;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 4")]
    let lower = (place as usize).min(4);
    let share = place - f64::from(u8::try_from(lower).unwrap_or(0));
    let mix = |a: u8, b: u8| {
        let mixed = f64::from(a) + (f64::from(b) - f64::from(a)) * share;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 255")]
        let rounded = mixed.round() as u8;
        rounded
    };
    let (a, b) = (SCALE[lower], SCALE[lower + 1]);
    [mix(a[0], b[0]), mix(a[1], b[1]), mix(a[2], b[2])]
}

/// The colour of a density, on a logarithmic scale from `least` to 1.
pub(super) fn of(density: f64, least: f64) -> Rgb {
    if density <= 0.0 {
        return EMPTY;
    }
    at(place_of(density, least))
}

/// The place of a density on the scale from `least` to 1.
pub(super) fn place_of(density: f64, least: f64) -> f64 {
    if least >= 1.0 { 1.0 } else { 1.0 - density.log10() / least.log10() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_goes_from_dark_to_light() {
        assert_eq!(of(0.0, 1e-6), EMPTY);
        assert_eq!(of(1e-6, 1e-6), SCALE[0]);
        assert_eq!(of(1.0, 1e-6), SCALE[5]);
        assert_eq!(of(1.0, 1.0), SCALE[5]);
        let light = |place: f64| at(place).iter().map(|&c| u32::from(c)).sum::<u32>();
        assert!((0..10).all(|i| light(f64::from(i) / 10.0) < light(f64::from(i + 1) / 10.0)));
    }
}
