//! Writes values in a format of bytes.

use super::Format;
use crate::kernel::decimal::{self, Low, MAX_LINE, SLACK};

impl Format {
    /// Number of values for which [`encode`](Self::encode) needs at most `room` bytes.
    pub(crate) const fn fitting(self, room: usize) -> usize {
        room.saturating_sub(SLACK) / self.most_bytes()
    }

    const fn most_bytes(self) -> usize {
        match self.value_bytes() {
            Some(width) => width,
            None => MAX_LINE,
        }
    }

    /// Writes `base + low` of all `lows`, sorted up or down, to the front of `out`; gives the
    /// number of bytes. Lines end in `terminator`.
    ///
    /// # Errors
    ///
    /// The first value that is too large for the format.
    ///
    /// # Panics
    ///
    /// If `out` is too short for so many values: see [`fitting`](Self::fitting).
    pub(crate) fn encode<L: Low>(
        self,
        base: u64,
        lows: &[L],
        terminator: u8,
        out: &mut [u8],
    ) -> Result<usize, u64> {
        match self {
            Self::Text => Ok(decimal::lines(base, lows, terminator, out)),
            Self::Noted(notation) => notation.encode(base, lows, terminator, out),
            Self::U32Le => narrow(base, lows, out, u32::to_le_bytes),
            Self::U32Be => narrow(base, lows, out, u32::to_be_bytes),
            Self::U64Le => Ok(wide(base, lows, out, u64::to_le_bytes)),
            Self::U64Be => Ok(wide(base, lows, out, u64::to_be_bytes)),
        }
    }
}

fn wide<L: Low>(base: u64, lows: &[L], out: &mut [u8], bytes: fn(u64) -> [u8; 8]) -> usize {
    let slots = &mut out.as_chunks_mut().0[..lows.len()];
    for (slot, low) in slots.iter_mut().zip(lows) {
        *slot = bytes(base + low.widen());
    }
    8 * lows.len()
}

fn narrow<L: Low>(
    base: u64,
    lows: &[L],
    out: &mut [u8],
    bytes: fn(u32) -> [u8; 4],
) -> Result<usize, u64> {
    let slots = &mut out.as_chunks_mut().0[..lows.len()];
    for (slot, low) in slots.iter_mut().zip(lows) {
        let value = base + low.widen();
        *slot = bytes(u32::try_from(value).map_err(|_| value)?);
    }
    Ok(4 * lows.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_the_values_in_its_bytes() {
        let lows = [0_u32, 1, 300];
        for (format, expected) in [
            (Format::Text, &b"7\n8\n307\n"[..]),
            (Format::U32Le, b"\x07\0\0\0\x08\0\0\0\x33\x01\0\0"),
            (Format::U32Be, b"\0\0\0\x07\0\0\0\x08\0\0\x01\x33"),
            (Format::U64Le, b"\x07\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\x33\x01\0\0\0\0\0\0"),
            (Format::U64Be, b"\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\x01\x33"),
        ] {
            let mut out = vec![0; SLACK + lows.len() * format.most_bytes()];
            assert_eq!(format.fitting(out.len()), lows.len());
            let len = format.encode(7, &lows, b'\n', &mut out).unwrap();
            assert_eq!(&out[..len], expected, "{format}");
        }
        let base = u64::from(u32::MAX) - 1;
        let mut out = [0; 64];
        assert_eq!(Format::U32Le.encode(base, &lows, b'\n', &mut out), Err(base + 300));
    }
}
