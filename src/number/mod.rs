//! The text format: one natural number a line.
//!
//! In: blocks of bytes of an input, or sorted values. Out: values, or lines of text. Read
//! `notation/block.rs` first, then `line.rs`.
//!
//! # Grammar
//! A line is `blank* digit+ blank* CR?` before its terminator (a newline, or
//! NUL on request), where `blank` is a space or a tab; the value is below 2^64.
//! Leading zeros do not matter. The first line of an input may begin with a
//! UTF-8 byte-order mark; the last one may lack its terminator. A line without
//! digits and without anything else but blanks and `CR` is *blank*: it carries
//! no number. Everything else is [`Malformed`]. This is the decimal [notation](Notation);
//! `notation/mod.rs` has the grammar of the others.

mod column;
mod format;
mod line;
mod names;
mod notation;

pub use column::Column;
pub(crate) use column::{MAX_RECORD_BYTES, NO_FIELDS, Selector, content, is_blank, undouble};
pub use format::{Format, ParseFormatError};
pub use line::{Line, LineScanner, Malformed, parse_line};
pub(crate) use names::named;
pub(crate) use notation::{
    LineSink, MAX_NOTED_BYTES, RangeSink, RunText, block_ranges, block_values,
};
pub use notation::{Notation, ParseNotationError};

/// A mark that an input may begin with. It is no part of the first line.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
