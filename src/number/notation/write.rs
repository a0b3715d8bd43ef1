//! Writes numbers and runs in a notation.

use super::{Digits, LineKind, Notation};
use crate::kernel::decimal::{self, Low, MAX_LINE, SLACK};

/// Most bytes that one run takes: a run of addresses may need so many blocks.
const MAX_RUN_BYTES: usize = 62 * 19;

impl Notation {
    /// The text of a number; `None` if it is above [`max_value`](Self::max_value).
    #[must_use]
    pub fn text(self, value: u64) -> Option<String> {
        let mut line = [0; MAX_LINE + SLACK];
        let length = self.encode(value, &[0_u32], b'\n', &mut line).ok()?;
        Some(line[..length - 1].iter().copied().map(char::from).collect())
    }

    /// Writes a number a line, as [`Format::encode`](crate::Format::encode) does.
    pub(crate) fn encode<L: Low>(
        self,
        base: u64,
        lows: &[L],
        terminator: u8,
        out: &mut [u8],
    ) -> Result<usize, u64> {
        if self.digits == Digits::Decimal {
            return Ok(decimal::lines(base, lows, terminator, out));
        }
        let mut end = 0;
        for low in lows {
            end += self.put(base + low.widen(), &mut out[end..])?;
            out[end] = terminator;
            end += 1;
        }
        Ok(end)
    }

    /// Writes a number to the front of `out`; gives how many bytes it has, or fails with the number
    /// if that is too large. May overwrite up to [`SLACK`] bytes behind it.
    fn put(self, value: u64, out: &mut [u8]) -> Result<usize, u64> {
        Ok(match self.digits {
            Digits::Decimal => {
                decimal::lines(value, &[0_u32], b'\n', &mut out[..MAX_LINE + SLACK]) - 1
            }
            Digits::Hex => put_hex(value, out),
            Digits::Ipv4 => {
                let address = u32::try_from(value).map_err(|_| value)?;
                put_address(address, &mut out.as_chunks_mut().0[0])
            }
        })
    }
}

fn put_hex(value: u64, out: &mut [u8]) -> usize {
    let length = (67 - (value | 1).leading_zeros() as usize) / 4;
    let mut rest = value;
    for byte in out[..length].iter_mut().rev() {
        *byte = b"0123456789abcdef"[(rest & 15) as usize];
        rest >>= 4;
    }
    length
}

/// A number of an address and a dot in the lower half, and their length in bits in the upper half.
static OCTETS: [u64; 256] = {
    let mut octets = [0; 256];
    let mut octet = 0;
    while octet < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "digits")]
        let [a, b, c] =
            [b'0' + (octet / 100) as u8, b'0' + (octet / 10 % 10) as u8, b'0' + (octet % 10) as u8];
        octets[octet] = match octet {
            0..10 => u64::from_le_bytes([c, b'.', 0, 0, 16, 0, 0, 0]),
            10..100 => u64::from_le_bytes([b, c, b'.', 0, 24, 0, 0, 0]),
            _ => u64::from_le_bytes([a, b, c, b'.', 32, 0, 0, 0]),
        };
        octet += 1;
    }
    octets
};

/// Two numbers of an address, each with a dot behind it, and their length in bits.
#[inline]
fn octets([first, second]: [u8; 2]) -> (u64, u64) {
    const TEXT: u64 = u32::MAX as u64;
    let [first, second] = [first, second].map(|octet| OCTETS[usize::from(octet)]);
    (first & TEXT | (second & TEXT) << (first >> 32), (first >> 32) + (second >> 32))
}

/// Room for an address: it has 15 bytes at most, and a `/` and a length may follow.
const ADDRESS_ROOM: usize = 24;

/// Writes an address; gives the number of its bytes. It also overwrites the rest of `out`.
#[inline]
fn put_address(address: u32, out: &mut [u8; ADDRESS_ROOM]) -> usize {
    let [a, b, c, d] = address.to_be_bytes();
    let (upper, upper_bits) = octets([a, b]);
    let (lower, lower_bits) = octets([c, d]);
    out[..8].copy_from_slice(&upper.to_le_bytes());
    let middle = (upper_bits / 8) as usize % 16; // the remainder spares a check of the bounds
    out[middle..middle + 8].copy_from_slice(&lower.to_le_bytes());
    middle + (lower_bits / 8) as usize - 1
}

/// The text behind the first address of a block, by the length of the block's prefix; and how many
/// bytes it has.
static ENDS: [([u8; 4], u8); 33] = {
    let mut ends = [([b'\n', 0, 0, 0], 1); 33];
    let mut length = 0;
    while length < 32 {
        #[expect(clippy::cast_possible_truncation, reason = "digits")]
        let [tens, ones] = [b'0' + (length / 10) as u8, b'0' + (length % 10) as u8];
        ends[length] = match length {
            0..10 => ([b'/', ones, b'\n', 0], 3),
            _ => ([b'/', tens, ones, b'\n'], 4),
        };
        length += 1;
    }
    ends
};

/// The largest block that begins with `first` and does not reach beyond `last`: the length of its
/// prefix, and its last address.
fn block_of(first: u32, last: u32) -> (u32, u32) {
    let bits = u64::from(last - first) + 1;
    let free = first.trailing_zeros().min(bits.ilog2());
    #[expect(clippy::cast_possible_truncation, reason = "at most 2^32 - 1")]
    let others = ((1_u64 << free) - 1) as u32;
    (32 - free, first | others)
}

/// Writes runs as ranges or blocks, one after the other. Runs that touch become one run.
#[derive(Debug)]
pub(crate) struct RunText {
    notation: Notation,
    /// The last run, to which the next one may be joined.
    open: Option<[u64; 2]>,
    /// Runs that were written.
    pub(crate) runs: u64,
}

impl RunText {
    /// Bytes of room that a run takes.
    pub(crate) const ROOM: usize = MAX_RUN_BYTES + MAX_LINE + SLACK;

    /// A writer of runs in a notation that [takes ranges](Notation::takes_ranges); `None` for
    /// another notation.
    pub(crate) fn new(notation: Notation) -> Option<Self> {
        notation.takes_ranges().then_some(Self { notation, open: None, runs: 0 })
    }

    /// Takes a run that is not below the one before. Writes the run before it to the front of
    /// `out`, unless the two touch; gives how many bytes it wrote.
    ///
    /// # Errors
    ///
    /// A number that is too large for the notation.
    pub(crate) fn push(&mut self, run: [u64; 2], out: &mut [u8]) -> Result<usize, u64> {
        if let Some([_, last]) = &mut self.open
            && last.checked_add(1) == Some(run[0])
        {
            *last = run[1];
            return Ok(0);
        }
        match self.open.replace(run) {
            Some(done) => self.write(done, out),
            None => Ok(0),
        }
    }

    /// Writes the last run; gives how many bytes it wrote.
    ///
    /// # Errors
    ///
    /// As those of [`push`](Self::push).
    pub(crate) fn finish(&mut self, out: &mut [u8]) -> Result<usize, u64> {
        self.open.take().map_or(Ok(0), |done| self.write(done, out))
    }

    /// Writes the first of `runs`: as many as `out` has room for, and at least one. No run may
    /// touch another, and none may have been [pushed](Self::push) before. Gives how many runs and
    /// how many bytes it wrote.
    ///
    /// # Errors
    ///
    /// As those of [`push`](Self::push).
    ///
    /// # Panics
    ///
    /// If `out` has less than [`ROOM`](Self::ROOM) bytes.
    pub(crate) fn write_all(
        &mut self,
        runs: &[[u64; 2]],
        out: &mut [u8],
    ) -> Result<(usize, usize), u64> {
        let (mut taken, mut end) = (0, 0);
        while let Some(&run) = runs.get(taken)
            && (taken == 0 || out.len() - end >= Self::ROOM)
        {
            end += self.write(run, &mut out[end..])?;
            taken += 1;
        }
        Ok((taken, end))
    }

    #[inline]
    fn write(&mut self, [first, last]: [u64; 2], out: &mut [u8]) -> Result<usize, u64> {
        self.runs += 1;
        if self.notation.lines == LineKind::Blocks {
            let first = u32::try_from(first).map_err(|_| first)?;
            return Ok(put_blocks(first, u32::try_from(last).map_err(|_| last)?, out));
        }
        let mut end = self.notation.put(first, out)?;
        if first < last {
            out[end] = b'-';
            end += 1;
            end += self.notation.put(last, &mut out[end..])?;
        }
        out[end] = b'\n';
        Ok(end + 1)
    }
}

/// Writes the fewest blocks that make up `first ..= last`, one a line.
fn put_blocks(mut first: u32, last: u32, out: &mut [u8]) -> usize {
    let mut end = 0;
    loop {
        let (length, block_last) = block_of(first, last);
        let line = &mut out[end..].as_chunks_mut().0[0];
        let address = put_address(first, line);
        let (text, bytes) = ENDS[length as usize];
        let behind = address % 16; // spares a check of the bounds
        line[behind..behind + 4].copy_from_slice(&text);
        end += address + usize::from(bytes);
        match block_last.checked_add(1) {
            Some(next) if block_last < last => first = next,
            _ => return end,
        }
    }
}
