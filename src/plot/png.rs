//! The picture as pixels.

use super::Map;
use super::cell_of;
use super::colour::{self, INK, PAPER, Rgb};
use super::layout::{self, HEIGHT, LEFT, SIDE, TOP, WIDTH};
use embedded_graphics::mono_font::{MonoTextStyle, ascii};
use embedded_graphics::pixelcolor::Rgb888;
use embedded_graphics::prelude::*;
use embedded_graphics::text::{Baseline, Text};
use std::convert::Infallible;
use std::io;

/// Pixels, row by row.
struct Canvas {
    width: u32,
    height: u32,
    pixels: Vec<Rgb>,
}

impl Canvas {
    fn new(width: u32, height: u32) -> Self {
        Self { width, height, pixels: vec![PAPER; (width * height) as usize] }
    }

    fn set(&mut self, x: u32, y: u32, colour: Rgb) {
        if x < self.width && y < self.height {
            self.pixels[(y * self.width + x) as usize] = colour;
        }
    }

    fn fill(&mut self, left: u32, top: u32, width: u32, height: u32, colour: Rgb) {
        for y in top..top + height {
            for x in left..left + width {
                self.set(x, y, colour);
            }
        }
    }

    fn encode(&self) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        let mut encoder = png::Encoder::new(&mut out, self.width, self.height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().map_err(io::Error::other)?;
        writer.write_image_data(self.pixels.as_flattened()).map_err(io::Error::other)?;
        writer.finish().map_err(io::Error::other)?;
        Ok(out)
    }
}

impl OriginDimensions for Canvas {
    fn size(&self) -> Size {
        Size::new(self.width, self.height)
    }
}

impl DrawTarget for Canvas {
    type Color = Rgb888;
    type Error = Infallible;

    fn draw_iter<I: IntoIterator<Item = Pixel<Rgb888>>>(
        &mut self,
        pixels: I,
    ) -> Result<(), Infallible> {
        for Pixel(Point { x, y }, colour) in pixels {
            if let (Ok(x), Ok(y)) = (u32::try_from(x), u32::try_from(y)) {
                self.set(x, y, [colour.r(), colour.g(), colour.b()]);
            }
        }
        Ok(())
    }
}

fn draw_map(canvas: &mut Canvas, map: &Map, left: u32, top: u32) {
    let pixels = SIDE >> map.order;
    let least = map.least_density();
    for (cell, distance) in (0..map.counts.len()).zip(0_u64..) {
        let (x, y) = cell_of(map.order, distance);
        let colour = colour::of(map.density(cell), least);
        canvas.fill(left + x * pixels, top + y * pixels, pixels, pixels, colour);
    }
}

/// The map alone, a PNG file of `SIDE` pixels a side.
pub(super) fn encode_map(map: &Map) -> io::Result<Vec<u8>> {
    let mut canvas = Canvas::new(SIDE, SIDE);
    draw_map(&mut canvas, map, 0, 0);
    canvas.encode()
}

/// The whole picture.
pub(super) fn encode(map: &Map) -> io::Result<Vec<u8>> {
    let mut canvas = Canvas::new(WIDTH, HEIGHT);
    draw_map(&mut canvas, map, LEFT, TOP);
    for ((x, y), (to_x, to_y)) in layout::lines(map) {
        for (x, y) in (x..=to_x).flat_map(|x| (y..=to_y).map(move |y| (x, y))) {
            canvas.set(x, y, INK);
        }
    }
    for row in 0..layout::BAR_HEIGHT {
        let place = 1.0 - f64::from(row) / f64::from(layout::BAR_HEIGHT - 1);
        let top = layout::BAR_TOP + row;
        canvas.fill(layout::BAR_LEFT, top, layout::BAR_WIDTH, 1, colour::at(place));
    }
    let below = layout::BAR_TOP + layout::BAR_HEIGHT + 24;
    canvas.fill(layout::BAR_LEFT, below, layout::BAR_WIDTH, 20, colour::EMPTY);
    let ink = Rgb888::new(INK[0], INK[1], INK[2]);
    let (small, large) =
        (MonoTextStyle::new(&ascii::FONT_7X13, ink), MonoTextStyle::new(&ascii::FONT_10X20, ink));
    let labels = layout::labels(map);
    // A label over the map is read on any colour.
    let over = |x: u32, y: u32| x > LEFT && x < LEFT + SIDE && y > TOP && y < TOP + SIDE;
    for label in &labels {
        if over(label.x, label.y) {
            let width = u32::try_from(label.text.len()).unwrap_or(0) * 7;
            canvas.fill(label.x - 2, label.y - 7, width + 4, 14, PAPER);
        }
        let style = if label.large { large } else { small };
        let place = Point::new(label.x.cast_signed(), label.y.cast_signed());
        let Ok(_) =
            Text::with_baseline(&label.text, place, style, Baseline::Middle).draw(&mut canvas);
    }
    canvas.encode()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::{MAX_ORDER, sample};

    fn decode(bytes: &[u8]) -> (u32, u32, Vec<u8>) {
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        (info.width, info.height, pixels)
    }

    #[test]
    fn cells_have_the_colour_of_their_density() {
        let map = sample(4, |cell| if cell == 0 { 256 } else { 0 });
        let (width, height, pixels) = decode(&encode_map(&map).unwrap());
        assert_eq!((width, height), (SIDE, SIDE));
        assert_eq!(pixels[..3], colour::at(1.0));
        assert_eq!(pixels[pixels.len() - 3..], colour::EMPTY);
        let (width, height, _) = decode(&encode(&map).unwrap());
        assert_eq!((width, height), (WIDTH, HEIGHT));
    }

    #[test]
    fn no_line_hides_a_cell() {
        for order in [0, 1, 9, MAX_ORDER] {
            let map = sample(order, |_| 256);
            let (_, _, pixels) = decode(&encode(&map).unwrap());
            let (cell, full) = (SIDE >> order, colour::at(1.0));
            let is_seen = |x: u32, y: u32| {
                let place =
                    |by: u32| ((TOP + y * cell + by) * WIDTH + LEFT + x * cell + by) as usize;
                // The lower right pixel of a cell is the last one that a line would hide.
                pixels[3 * place(cell - 1)..][..3] == full
            };
            // Labels are a few pixels from the lines.
            let edge = 1 << order;
            assert!((0..edge).all(|at| is_seen(edge - 1, at) && is_seen(at, edge - 1)), "{order}");
            assert!((0..edge).all(|at| is_seen(0, at) && is_seen(at, 0)), "{order}");
            let half = edge / 2;
            assert!((0..edge).all(|at| is_seen(half, at) && is_seen(at, half)), "{order}");
        }
    }
}
