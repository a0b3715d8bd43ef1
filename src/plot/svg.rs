//! The picture as SVG: the map as one embedded image, the rest as vectors.

use super::Map;
use super::colour::{self, Rgb};
use super::layout::{self, HEIGHT, LEFT, SIDE, TOP, WIDTH};
use super::png;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fmt::Write;
use std::io;

fn hex([r, g, b]: Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn escape(text: &str) -> String {
    // XML cannot have most control characters, nor two others.
    let is_refused = |c: char| c.is_control() || matches!(c, '\u{FFFE}' | '\u{FFFF}');
    let text = text.replace(is_refused, "?");
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The whole picture.
pub(super) fn encode(map: &Map) -> io::Result<String> {
    let image = STANDARD.encode(png::encode_map(map)?);
    let ink = hex(colour::INK);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"monospace\" fill=\"{ink}\">\n\
         <title>{}</title>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"{}\"/>\n\
         <image x=\"{LEFT}\" y=\"{TOP}\" width=\"{SIDE}\" height=\"{SIDE}\" \
         style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{image}\"/>\n\
         <defs><linearGradient id=\"scale\" x1=\"0\" y1=\"1\" x2=\"0\" y2=\"0\">\n",
        escape(&map.title),
        hex(colour::PAPER),
    );
    let mut draw = || -> std::fmt::Result {
        for step in 0_u8..=10 {
            let place = f64::from(step) / 10.0;
            let colour = hex(colour::at(place));
            writeln!(out, "<stop offset=\"{place}\" stop-color=\"{colour}\"/>")?;
        }
        writeln!(out, "</linearGradient></defs>")?;
        let (left, width) = (layout::BAR_LEFT, layout::BAR_WIDTH);
        let (top, height) = (layout::BAR_TOP, layout::BAR_HEIGHT);
        writeln!(
            out,
            "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" fill=\"url(#scale)\"/>"
        )?;
        let below = top + height + 24;
        writeln!(
            out,
            "<rect x=\"{left}\" y=\"{below}\" width=\"{width}\" height=\"20\" fill=\"{}\"/>",
            hex(colour::EMPTY)
        )?;
        for ((x, y), (to_x, to_y)) in layout::lines(map) {
            writeln!(
                out,
                "<line x1=\"{x}\" y1=\"{y}\" x2=\"{to_x}\" y2=\"{to_y}\" stroke=\"{ink}\"/>"
            )?;
        }
        for label in layout::labels(map) {
            let (x, y) = (label.x, label.y + 4);
            let size = if label.large { 20 } else { 13 };
            let text = escape(&label.text);
            // A light edge keeps text readable over the map. It is an element of its own below the
            // text, because not every program knows `paint-order`.
            for edge in [" stroke=\"#ffffff\" stroke-width=\"3\" stroke-linejoin=\"round\"", ""] {
                writeln!(
                    out,
                    "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\"{edge}>{text}</text>"
                )?;
            }
        }
        writeln!(out, "</svg>")
    };
    draw().map_err(io::Error::other)?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use crate::plot::sample;

    #[test]
    fn the_text_is_escaped_and_every_tag_is_closed() {
        let svg = sample(3, |cell| cell as u64).to_svg().unwrap();
        assert!(svg.contains("<title>a &lt; b &amp; &quot;c&quot;</title>"));
        let count = |text: &str| svg.matches(text).count();
        assert_eq!(count("<text"), count("</text>"));
        assert_eq!(count("<text"), 2 * count("stroke-width"), "an edge below each text");
        assert!(!svg.contains("paint-order"));
        assert_eq!(count("<"), count(">"));
        assert_eq!(count("\"") % 2, 0);
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    }
}
