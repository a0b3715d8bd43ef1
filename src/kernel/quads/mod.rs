//! Parses lines of IPv4 addresses, CIDR blocks and ranges of addresses. Each gives a range.
//!
//! A *plain* line is four octets with dots between, and nothing else; or such an address, `/`
//! and the length of a prefix behind which it has no bits; or two addresses, the first not
//! above the other, with `-` between. Before its terminator there may be one `\r`. An octet is
//! one of `0` to `255`, a length one of `0` to `32`, without leading zeros.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod scalar;

use super::Level;
#[cfg(target_arch = "x86_64")]
use super::level::Isa;
use super::parse::check_span;
use std::ops::Range;

/// Lines in a buffer with padding around them.
#[derive(Clone, Copy)]
pub(crate) struct Quads<'b> {
    pub(crate) bytes: &'b [u8],
    pub(crate) terminator: u8,
    /// Whether lines may be blocks and ranges.
    pub(crate) takes_ranges: bool,
}

/// Calls `take` with the first and the last address and the end of each plain line of `span`, up to
/// the first line that is not plain or not complete. Gives the start of that line.
///
/// # Panics
///
/// If less than [`PADDING`](super::parse::PADDING) bytes lie around the span, or if `bytes` is
/// 4 GiB or longer.
pub(crate) fn parse(
    level: Level,
    quads: Quads<'_>,
    span: Range<usize>,
    take: impl FnMut(u64, u64, usize),
) -> usize {
    check_span(quads.bytes, &span);
    match level.isa() {
        // SAFETY: `Level::available` is the only maker of these levels, after the
        // CPU reported the features.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 | Isa::Avx512 => unsafe { avx2::parse(quads, span, take) },
        _ => scalar::parse(quads, span, take),
    }
}

/// The last address of the block of `first` whose prefix length is at `at`; and the end of that
/// length.
#[inline]
fn block(first: u64, bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let digit = |at: usize| bytes.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|d| *d < 10);
    let mut length = u32::from(digit(at)?);
    let mut end = at + 1;
    if let Some(more) = digit(end).filter(|_| length > 0) {
        (length, end) = (10 * length + u32::from(more), end + 1);
    }
    let others = if length <= 32 { u64::from(u32::MAX) >> length } else { return None };
    (first & others == 0).then_some((first | others, end))
}

#[cfg(test)]
mod tests;
