//! Parses lines of decimal digits.
//!
//! Contract of every implementation: the lines of `bytes[start..end]` that end in `terminator` are
//! handed to the [`ParseSink`] in order. A line of 1 to 19 digits, and nothing else, except one
//! `\r` before its terminator, comes as a value. Every other line is *odd* and comes as its range,
//! without the terminator; longer lines of digits may come either way. Bytes behind the last
//! terminator are not parsed: the result is their start.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;
#[cfg(test)]
mod tests;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod windows;

use super::Level;
use super::level::Isa;
use std::ops::{ControlFlow, Range};

/// Readable bytes that must lie before `start` and behind `end`.
pub(crate) const PADDING: usize = 64;

/// Takes the parsed lines in order.
pub(crate) trait ParseSink {
    /// The next lines carry these values; `ends` are the places of their
    /// terminators.
    fn values(&mut self, values: &[u64], ends: &[u32]);

    /// The next line, at this range of the bytes, is not plain digits.
    /// `Break` ends the parse behind it.
    fn odd_line(&mut self, line: Range<usize>) -> ControlFlow<()>;
}

/// Parses the complete lines of `bytes[start..end]`; gives the position behind
/// the last line that was handed over.
///
/// # Panics
///
/// If fewer than [`PADDING`] bytes lie before `start` or behind `end`, or if
/// `bytes` is 4 GiB or longer.
pub(crate) fn parse<L: ParseSink>(
    level: Level,
    bytes: &[u8],
    span: Range<usize>,
    terminator: u8,
    lines: &mut L,
) -> usize {
    match level.isa() {
        Isa::Scalar => scalar::parse(bytes, span, terminator, lines),
        // SAFETY: `Level::available` is the only maker of this level, after the
        // CPU reported these features.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => unsafe { avx2::parse(bytes, span, terminator, lines) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { avx512::parse(bytes, span, terminator, lines) },
        // SAFETY: as above.
        #[cfg(target_arch = "aarch64")]
        Isa::Neon => unsafe { neon::parse(bytes, span, terminator, lines) },
    }
}

/// The checks that the unsafe loads of the kernels rest on.
pub(super) fn check_span(bytes: &[u8], span: &Range<usize>) {
    assert!(span.start >= PADDING && span.start <= span.end, "padding before the block");
    let end = bytes.len().checked_sub(PADDING);
    assert!(end.is_some_and(|end| end >= span.end), "padding behind the block");
    assert!(u32::try_from(bytes.len()).is_ok(), "block below 4 GiB");
}
