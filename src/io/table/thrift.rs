//! Looks through the headers and the metadata of Parquet, which are structs in Thrift's compact
//! protocol, before the crate reads them.
//!
//! The crate passes over a field that it does not know, and some values take no bytes there. So a few
//! damaged bytes could keep it busy for hours.
//!
//! Source: <https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>.

use integer_encoding::VarInt;

/// What begins with some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Struct {
    /// A struct of so many bytes.
    Whole(usize),
    /// A part of one.
    CutOff,
    /// No struct that Parquet has.
    Unknown,
}

/// Structs and lists in each other; Parquet has about ten.
const MOST_DEPTH: usize = 32;

impl Struct {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut walk = Walk { rest: bytes, depth: 0 };
        match walk.fields() {
            Ok(()) => Self::Whole(bytes.len() - walk.rest.len()),
            Err(end) => end,
        }
    }
}

struct Walk<'b> {
    rest: &'b [u8],
    depth: usize,
}

impl Walk<'_> {
    fn byte(&mut self) -> Result<u8, Struct> {
        let (&byte, rest) = self.rest.split_first().ok_or(Struct::CutOff)?;
        self.rest = rest;
        Ok(byte)
    }

    fn varint(&mut self) -> Result<u64, Struct> {
        /// Bytes of the largest number.
        const MOST: usize = 10;
        match u64::decode_var(self.rest) {
            Some((number, len)) => {
                self.pass(len as u64)?;
                Ok(number)
            }
            None if self.rest.len() < MOST => Err(Struct::CutOff),
            None => Err(Struct::Unknown),
        }
    }

    fn pass(&mut self, bytes: u64) -> Result<(), Struct> {
        let rest = usize::try_from(bytes).ok().and_then(|bytes| self.rest.get(bytes..));
        self.rest = rest.ok_or(Struct::CutOff)?;
        Ok(())
    }

    /// Passes the fields of a struct, and its end.
    fn fields(&mut self) -> Result<(), Struct> {
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Ok(());
            }
            if head >> 4 == 0 {
                self.varint()?; // the number of the field, if it is not near that of the one before
            }
            match head & 0xF {
                1 | 2 => {} // the type of a boolean says its value
                kind => self.value(kind)?,
            }
        }
    }

    fn value(&mut self, kind: u8) -> Result<(), Struct> {
        match kind {
            3 => self.pass(1),
            4..=6 => self.varint().map(|_| ()),
            7 => self.pass(8),
            8 => {
                let bytes = self.varint()?;
                self.pass(bytes)
            }
            9 | 12 => {
                self.depth += 1;
                if self.depth > MOST_DEPTH {
                    return Err(Struct::Unknown);
                }
                if kind == 9 {
                    self.items()?;
                } else {
                    self.fields()?;
                }
                self.depth -= 1;
                Ok(())
            }
            13 => self.pass(16),
            // Parquet has no sets or maps, and no booleans in lists here.
            _ => Err(Struct::Unknown),
        }
    }

    /// Passes the items of a list. Each takes a byte at least.
    fn items(&mut self) -> Result<(), Struct> {
        let head = self.byte()?;
        let count = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
        if head & 0xF <= 2 && count > 0 {
            return Err(Struct::Unknown);
        }
        (0..count).try_for_each(|_| self.value(head & 0xF))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_struct_ends_where_its_last_field_does() {
        // Number 1: 3; number 2: a struct with a true and a text; number 21: a list of two numbers.
        let bytes = [0x15, 6, 0x1C, 0x11, 0x18, 2, b'a', b'b', 0, 0x09, 42, 0x25, 1, 0x80, 1, 0, 7];
        assert_eq!(Struct::of(&bytes), Struct::Whole(bytes.len() - 1));
        for cut in 0..bytes.len() - 1 {
            assert_eq!(Struct::of(&bytes[..cut]), Struct::CutOff, "{cut}");
        }
    }

    #[test]
    fn what_parquet_does_not_have_is_unknown() {
        let many = [0xFF, 0xFF, 0xFF, 0xFF, 7];
        for head in [&[0x1B][..], &[0x1A, 0xF3], &[0x19, 0xF1], &[0x19, 0xF2], &[0x1E]] {
            assert_eq!(
                Struct::of(&[head, &many, &[0x77, 0]].concat()),
                Struct::Unknown,
                "{head:?}"
            );
        }
        assert_eq!(Struct::of(&[0x1C; 100]), Struct::Unknown, "structs in structs");
        assert_eq!(Struct::of(&[0x19; 100]), Struct::Unknown, "lists in lists");
        assert_eq!(
            Struct::of(&[0x15, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]),
            Struct::Unknown
        );
    }

    proptest! {
        #[test]
        fn any_bytes_have_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Struct::Whole(len) = Struct::of(&bytes) {
                prop_assert!(len <= bytes.len());
                prop_assert_eq!(Struct::of(&bytes[..len]), Struct::Whole(len));
            }
        }
    }
}
