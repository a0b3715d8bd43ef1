//! The options for columns of values and keys.

use super::choices;
use super::notation::NotationArgs;
use crate::lines::{Group, LineTools};
use crate::number::{Column, Format};
use crate::sort::Sort;
use std::fmt;
use std::str::FromStr;

// One column of delimited text or of a table.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct ColumnArgs {
    /// Take the values from this column of delimited text or of a Parquet or Arrow file: a number from 1, or a name; for a column that is called 2024 write '"2024"'
    #[arg(long, value_name = "COLUMN")]
    column: Option<String>,

    /// Byte between the fields of delimited text, such as , or \t
    #[arg(long, value_name = "BYTE", default_value = ",", requires = "column")]
    delimiter: Byte,

    /// Treat " as an ordinary byte. Without this option, a field that begins with " ends at the next ", even on a later line
    #[arg(long, requires = "column")]
    no_quoting: bool,

    /// Skip the first line of each file of text; not needed if --column is a name
    #[arg(long)]
    header: bool,
}

/// Help for `--header` in commands that copy lines.
pub(super) const COPIED_HEADER: &str =
    "With --column: copy the first line of each input as it is; not needed if --column is a name";

// How values are written in a file of numbers.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct FromArg {
    /// Read numbers in this format [default: text]
    #[arg(long, value_name = "FORMAT", value_parser = choices::number_format())]
    pub(super) from: Option<Format>,
    #[command(flatten)]
    pub(super) notation: NotationArgs,
}

// Where the values are in a file of numbers.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct NumberArgs {
    #[command(flatten)]
    pub(super) columns: ColumnArgs,
    #[command(flatten)]
    pub(super) format: FromArg,
}

impl From<FromArg> for NumberArgs {
    fn from(format: FromArg) -> Self {
        Self { columns: ColumnArgs::default(), format }
    }
}

impl From<NotationArgs> for NumberArgs {
    fn from(notation: NotationArgs) -> Self {
        FromArg { from: None, notation }.into()
    }
}

impl From<ColumnArgs> for NumberArgs {
    fn from(columns: ColumnArgs) -> Self {
        Self { columns, format: FromArg::default() }
    }
}

impl NumberArgs {
    /// A sort of the values of the column, or of numbers in the format.
    pub(super) fn of(&self, sort: Sort) -> Sort {
        let format = match self.format.from {
            Some(format) if !format.is_text() => format,
            _ => Format::text_in(self.format.notation.set()),
        };
        self.columns.of(sort).from_format(format)
    }
}

impl ColumnArgs {
    /// The column, if one was given.
    pub(super) fn column(&self) -> Option<Column> {
        self.column.as_deref().map(typed_column)
    }

    /// Tools for lines whose keys are in the column.
    pub(super) fn of_lines(&self, tools: LineTools) -> LineTools {
        let tools = tools.header(self.header).no_quoting(self.no_quoting);
        match self.column() {
            Some(column) => tools.column(column, self.delimiter.0),
            None => tools,
        }
    }

    /// A sort of the values of the column.
    pub(super) fn of(&self, sort: Sort) -> Sort {
        let sort = sort.header(self.header).no_quoting(self.no_quoting);
        match self.column() {
            Some(column) => sort.column(column, self.delimiter.0),
            None => sort,
        }
    }
}

// The columns of rows of a key and a number.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct KeyColumnArgs {
    /// Take the keys from this column: a number from 1, or a name
    #[arg(long, value_name = "COLUMN")]
    key: String,

    /// Take the values from this column: a number from 1, or a name
    #[arg(long, value_name = "COLUMN")]
    column: String,

    /// Byte between the fields of delimited text, such as , or \t
    #[arg(long, value_name = "BYTE", default_value = ",")]
    delimiter: Byte,

    /// Treat " as an ordinary byte. Without this option, a field that begins with " ends at the next ", even on a later line
    #[arg(long)]
    no_quoting: bool,

    /// Skip the first line of each file of delimited text
    #[arg(long)]
    header: bool,
}

impl KeyColumnArgs {
    /// Groups by the columns.
    pub(super) fn of(&self, group: Group) -> Group {
        group
            .columns(typed_column(&self.key), typed_column(&self.column), self.delimiter.0)
            .header(self.header)
            .no_quoting(self.no_quoting)
    }
}

/// Parses a column. Digits in quotes are a name, as in `"2024"`.
pub(super) fn typed_column(typed: &str) -> Column {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let quoted = typed.strip_prefix('"').and_then(|behind| behind.strip_suffix('"'));
    match (quoted.filter(|name| is_number(name)), typed.parse()) {
        (Some(name), _) => Column::Name(name.to_owned()),
        (None, Ok(number)) if is_number(typed) => Column::Number(number),
        _ => Column::Name(typed.to_owned()),
    }
}

/// A byte, typed as itself or as `\t`, `\0`, `\\` or `\xHH`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Byte(pub(super) u8);

impl FromStr for Byte {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let byte = match text.as_bytes() {
            [byte] => Some(*byte),
            b"\\t" => Some(b'\t'),
            b"\\0" => Some(0),
            b"\\\\" => Some(b'\\'),
            [b'\\', b'x', high, low] => {
                let digit = |digit: &u8| char::from(*digit).to_digit(16);
                let number = digit(high).zip(digit(low)).map(|(high, low)| high << 4 | low);
                number.and_then(|number| u8::try_from(number).ok())
            }
            _ => None,
        };
        byte.map(Self).ok_or("expected one byte, or one of \\t, \\0, \\\\ and \\xHH")
    }
}

/// The form in which a user types it.
impl fmt::Display for Byte {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            b'\t' => f.write_str("\\t"),
            b'\\' => f.write_str("\\\\"),
            graphic @ b'!'..=b'~' => write!(f, "{}", char::from(graphic)),
            other => write!(f, "\\x{other:02X}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_is_typed_as_itself_or_escaped() {
        for (text, byte) in [
            (",", b','),
            ("\\", b'\\'),
            ("\\t", b'\t'),
            ("\\0", 0),
            ("\\\\", b'\\'),
            ("\\x1F", 0x1F),
        ] {
            assert_eq!(text.parse(), Ok(Byte(byte)), "{text}");
        }
        for byte in 0..128 {
            assert_eq!(Byte(byte).to_string().parse(), Ok(Byte(byte)), "{byte}");
        }
        for text in ["", "ab", "ä", "\\n", "\\xG1", "\\x1", "\\x+1"] {
            assert!(text.parse::<Byte>().is_err(), "{text}");
        }
    }
}
