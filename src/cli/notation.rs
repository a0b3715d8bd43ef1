//! The options for the notation of numbers.

use crate::error::{Error, Result};
use crate::number::{Line, Notation};

/// Help for `--ranges` in commands that look lines up.
pub(super) const RANGES_OF_SET: &str =
    "A line of the set may be FIRST-LAST; one that is looked up may not";

// How numbers are written as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::Args)]
pub(super) struct NotationArgs {
    /// Read and write numbers as text in this notation
    #[arg(long = "as", value_name = "NOTATION", default_value = "decimal")]
    written: Written,

    /// A line may be FIRST-LAST; where values are written, write ranges
    #[arg(long)]
    ranges: bool,
}

/// The notations that a user can choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum Written {
    /// Decimal digits
    #[default]
    Decimal,
    /// Hexadecimal digits of either case, with or without 0x
    Hex,
    /// IPv4 addresses, four numbers with dots between
    Ipv4,
    /// IPv4 addresses, written in the fewest blocks, such as 10.0.0.0/8
    Cidr,
}

impl NotationArgs {
    /// Refuses contradictory forms of output.
    pub(super) fn check(self) -> Result<()> {
        if self.ranges && self.written == Written::Cidr {
            return Err(Error::usage(
                "--as cidr writes blocks, --ranges writes ranges: choose one",
            ));
        }
        Ok(())
    }

    /// How output is written.
    pub(super) fn output(self) -> Notation {
        let notation = match self.written {
            Written::Decimal => Notation::DECIMAL,
            Written::Hex => Notation::HEX,
            Written::Ipv4 => Notation::IPV4,
            Written::Cidr => return Notation::CIDR,
        };
        if self.ranges { notation.with_ranges() } else { notation }
    }

    /// How sets are read: block lists may always have blocks and ranges.
    pub(super) fn set(self) -> Notation {
        match self.written {
            Written::Ipv4 | Written::Cidr => Notation::CIDR,
            Written::Decimal | Written::Hex => self.output(),
        }
    }

    /// Whether numbers are addresses.
    pub(super) fn is_ipv4(self) -> bool {
        matches!(self.written, Written::Ipv4 | Written::Cidr)
    }

    /// Parses a value of the command line, which has the same form as on a line.
    pub(super) fn value(self, text: &str) -> Result<u64, String> {
        range(self.output().without_ranges(), text).map(|[value, _]| value)
    }

    /// Parses the values of an operand, which has the same form as a line of a set.
    pub(super) fn range(self, text: &str) -> Result<[u64; 2], String> {
        range(self.set(), text)
    }

    /// The text of a value.
    pub(super) fn text(self, value: u64) -> Result<String> {
        let notation = self.output().without_ranges();
        let too_large = Error::ValueTooLarge { value, format: notation.name() };
        notation.text(value).ok_or(too_large)
    }
}

/// The first and the last value of a text; they are the same unless the notation takes ranges.
fn range(notation: Notation, text: &str) -> Result<[u64; 2], String> {
    match notation.parse_line(text.as_bytes()) {
        Line::Value(value) => Ok([value, value]),
        Line::Range { first, last } => Ok([first, last]),
        Line::Blank => Err("expected a number".into()),
        Line::Malformed { reason, .. } => Err(reason.to_string()),
    }
}
