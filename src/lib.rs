//! Sort huge collections of natural numbers within a memory limit.
//!
//! A bitmap is an array of words: value `v` lives at word `v / W`, bit `v % W`.
//! Writing unordered naturals into it and scanning the set bits in order sorts
//! them in linear time. This crate sorts files of naturals that way, with
//! partitions, temporary files or several passes where the bitmap does not fit,
//! and never takes more memory than it was given.
//!
//! # Sort
//!
//! ```
//! use bitsort::ByteSize;
//! use bitsort::sort::Sort;
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let (input, output) = (folder.path().join("ids.txt"), folder.path().join("sorted.txt"));
//! # std::fs::write(&input, "40\n35\n7\n35\n").unwrap();
//! let report = Sort::new().file(&input).memory(ByteSize::from_mib(64)).to_file(&output)?;
//! assert_eq!(std::fs::read_to_string(&output).unwrap(), "7\n35\n35\n40\n");
//! assert_eq!((report.lines, report.written), (4, 4));
//! # Ok::<(), bitsort::Error>(())
//! ```
//!
//! Inputs are files, readers or iterators, outputs are files, writers or
//! iterators; see [`sort::Sort`] for what else it can do.
//!
//! # Ask
//!
//! ```
//! use bitsort::Bitmap;
//!
//! let mut ids: Bitmap = Bitmap::new(1 << 20);
//! ids.insert(12_345);
//! assert!(ids.contains(12_345) && !ids.contains(12_346));
//! ```
//!
//! # Maybe
//!
//! ```
//! use bitsort::bloom::BloomFilter;
//!
//! let mut seen = BloomFilter::new(1_000_000, 0.01)?; // 9.6 bits a key
//! seen.insert(&12_345_u64);
//! assert!(seen.contains(&12_345_u64) && !seen.contains("fox"));
//! # Ok::<(), bitsort::bloom::BuildError>(())
//! ```
//!
//! # Parse
//!
//! ```
//! use bitsort::text::{Line, parse_line};
//!
//! assert_eq!(parse_line(b" 007\r"), Line::Value(7));
//! assert!(matches!(parse_line(b"12abc"), Line::Malformed { offset: 2, .. }));
//! ```
//!
//! # Features
//!
//! `cli`, on by default, builds the programs. Libraries say
//! `default-features = false` and get by with five small dependencies.
//!
//! `serde` lets [`set::IntegerSet`] be serialized: as a sequence of numbers in
//! human-readable formats, as the bytes of a portable roaring bitmap in others.

#[cfg(target_endian = "big")]
compile_error!("bitmaps are read as little-endian bytes in memory and in files");

#[expect(unsafe_code, reason = "vector kernels; rules in simd/mod.rs")]
mod simd;

pub mod bitmap;
mod bits;
pub mod bloom;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
mod compression;
mod container;
mod error;
mod format;
mod input;
mod output;
#[cfg(feature = "cli")]
mod plot;
mod progress;
pub mod set;
mod size;
pub mod sort;
mod sys;
pub mod text;
mod view;

pub use bitmap::Bitmap;
pub use error::{DataChange, Error, Result};
pub use format::{Format, ParseFormatError};
pub use progress::{Phase, Progress};
pub use size::{ByteSize, ParseByteSizeError};
pub use sys::Machine;
