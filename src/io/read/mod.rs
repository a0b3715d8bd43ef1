//! Where values come from: files and streams, text and binary, in blocks.
//!
//! Flow: FILE → [`blocks`] (claims of threads) → [`crate::number`] or [`binary`]
//! → values → a [`Consumer`] per thread; what was no value → [`ledger`].

mod binary;
mod block;
mod blocks;
mod chunks;
mod ledger;
mod line_chunk;
mod lines;
mod long_line;
mod mapped;
mod open;
mod ordered;
mod parts;
mod sample;
mod scan;
mod unchanged;

pub(crate) use block::Cut;
pub(crate) use chunks::ChunkJob;
pub(crate) use ledger::{Invalid, Ledger, Tally};
pub(crate) use line_chunk::LineChunk;
pub(crate) use lines::LineReader;
pub(crate) use mapped::map;
#[cfg(feature = "cli")]
pub(crate) use open::standard_input;
pub(crate) use open::{Input, OpenOptions, Opened, open_all, open_file};
pub(crate) use ordered::Ordered;
pub(crate) use sample::{Sample, sample};
pub(crate) use scan::{Consumer, ScanOptions, scan};
pub(crate) use unchanged::{Unchanged, check_end};
