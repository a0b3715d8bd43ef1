//! Where values come from: files and streams, text and binary, in blocks.
//!
//! Flow: FILE → [`blocks`] (claims of threads) → [`crate::number`] or [`binary`]
//! → values → a [`Consumer`] per thread; what was no value → [`ledger`].

mod binary;
mod block;
mod blocks;
#[cfg(feature = "cli")]
mod chunks;
mod ledger;
#[cfg(feature = "cli")]
mod line_chunk;
#[cfg(feature = "cli")]
mod lines;
mod long_line;
mod mapped;
mod open;
mod ordered;
#[cfg(feature = "cli")]
mod parts;
mod sample;
mod scan;
#[cfg(feature = "cli")]
mod unchanged;

pub(crate) use block::Cut;
#[cfg(feature = "cli")]
pub(crate) use chunks::ChunkJob;
pub(crate) use ledger::{Invalid, Ledger, Tally};
#[cfg(feature = "cli")]
pub(crate) use line_chunk::LineChunk;
#[cfg(feature = "cli")]
pub(crate) use lines::LineReader;
pub(crate) use mapped::map;
#[cfg(feature = "cli")]
pub(crate) use open::standard_input;
pub(crate) use open::{Input, OpenOptions, Opened, open_all, open_file};
pub(crate) use ordered::Ordered;
pub(crate) use sample::{Sample, sample};
pub(crate) use scan::{Consumer, ScanOptions, scan};
#[cfg(feature = "cli")]
pub(crate) use unchanged::{Unchanged, check_end};
