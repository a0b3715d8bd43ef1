//! The one reader: files and streams, text and binary, in blocks of whole lines.
//!
//! Flow: FILE → [`open`] → [`blocks`] (threads claim them) → one of
//! - numbers: [`scan`] → [`crate::number`] or [`binary`] → a [`Consumer`] per thread;
//!   lines that are no number → [`ledger`];
//! - lines: `chunks` → a job of `lines`.
//!
//! Threads read [`regular`] files anywhere at once, and other inputs one after the other ([`serial`]).
//! Read `blocks.rs` first, then `block.rs`.

mod binary;
mod block;
mod blocks;
mod chunks;
mod keyed;
mod ledger;
mod lines;
mod long_line;
mod open;
mod ordered;
mod regular;
mod rule;
mod sample;
mod scan;
mod serial;
mod stream;
#[cfg(test)]
mod tests;
mod unchanged;
mod values;

pub(crate) use block::{Block, BlockFormat};
pub(crate) use chunks::{ChunkJob, LineShare};
pub(crate) use keyed::{KeyColumn, RowNumbers};
pub(crate) use ledger::{Invalid, Ledger, Tally, WAITING_BYTES};
#[cfg(feature = "cli")]
pub(crate) use lines::is_compressed;
pub(crate) use lines::{LineInputs, may_unpack};
#[cfg(feature = "cli")]
pub(crate) use open::standard_input;
pub(crate) use open::{
    Decoder, Input, OpenOptions, Opened, check_whole, is_stdin, map, open_all, open_file, splits,
};
pub(crate) use ordered::Ordered;
pub(crate) use rule::{Purpose, refuse_others};
pub(crate) use sample::{Sample, sample, spaced};
pub(crate) use scan::{Consumer, ScanOptions, scan};
pub(crate) use unchanged::{Mark, Unchanged, check_end, mark};
pub(crate) use values::{PieceSource, ValuePiece};
