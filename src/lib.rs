//! Sort huge collections of natural numbers within a memory limit, and keep sets of
//! them in files that are asked without being loaded.
//!
//! A bitmap is an array of words: value `v` lives at word `v / W`, bit `v % W`.
//! Writing unordered naturals into it and scanning the set bits in order sorts
//! them in linear time, and the bitmap stays behind as a set. Behind hash functions
//! it is a Bloom filter.
//!
//! | to … | there is |
//! |---|---|
//! | sort files, readers, iterators, sets | [`sort::Sort`] |
//! | hold, join, save and ask sets | [`set::IntegerSet`]; [`set::SetFile`], a file |
//! | work on bits in memory | [`Bitmap`] |
//! | remember keys of any kind in a few bits each | [`bloom`] |
//! | filter lines by a set or a filter, drop repeated ones, find common ones | [`lines::LineTools`] |
//! | find the lines of a key in a large file | [`lines::index`] |
//! | read and write sets of other systems | [`set::foreign`] |
//! | decide whether a line is a number | [`number`] |
//!
//! # Sort
//!
//! Inputs are files, readers, iterators, arrays or sets; outputs are files, writers, iterators or sets.
//! The memory limit is
//! that of the whole process. A line that is no number ends the run before any output
//! exists, unless [`Sort::invalid`](sort::Sort::invalid) says otherwise.
//!
//! ```
//! use bitsort::{ByteSize, sort::Sort};
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let (input, output) = (folder.path().join("ids.txt"), folder.path().join("sorted.txt"));
//! std::fs::write(&input, "40\n35\n7\n35\n").unwrap();
//! let report = Sort::new().file(&input).memory(ByteSize::from_mib(64)).to_file(&output)?;
//! assert_eq!(std::fs::read_to_string(&output).unwrap(), "7\n35\n35\n40\n");
//! assert_eq!((report.lines, report.written), (4, 4));
//!
//! let largest = Sort::new().values([40, 35, 7, 35]).reverse(true).distinct(true).into_values()?;
//! assert_eq!(largest.take(2).collect::<Result<Vec<_>, _>>()?, [40, 35]);
//! # Ok::<(), bitsort::Error>(())
//! ```
//!
//! # Sets
//!
//! An [`IntegerSet`](set::IntegerSet) is in memory and never fails; a
//! [`SetFile`](set::SetFile) is a file that is mapped. Algebra takes both together.
//!
//! ```
//! use bitsort::set::{self, IntegerSet, SetFile};
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("monday.bits");
//! let mut monday = IntegerSet::from([3, 40]);
//! monday.insert(41);
//! monday.write(&path)?; // plain, roaring or sparse, as it suits
//!
//! let monday = SetFile::open(&path)?; // mapped: nothing is read yet
//! let tuesday = IntegerSet::from([41, 7]);
//! assert!(monday.contains(40)? && monday.rank(40)? == 2);
//! let new = set::andnot(&[&tuesday, &monday]).to_set()?;
//! assert_eq!(new, IntegerSet::from([7]));
//! assert_eq!((&new | &tuesday).range(8..).next(), Some(41));
//! # Ok::<(), bitsort::Error>(())
//! ```
//!
//! [`Sort::to_set`](sort::Sort::to_set) sorts numbers of any amount into a set file, and
//! [`set::Expression`] is set algebra as text. [`Bitmap`] is a plain array of bits:
//!
//! ```
//! use bitsort::Bitmap;
//!
//! let mut ids: Bitmap = Bitmap::new(1 << 20);
//! ids.insert(12_345);
//! assert!(ids.contains(12_345) && !ids.contains(12_346));
//! ```
//!
//! # Bloom filters
//!
//! Keys are numbers, strings or bytes. "No" is certain, "yes" is wrong at the rate that
//! was asked for.
//!
//! ```
//! use bitsort::bloom::{AnyFilter, BloomFilter};
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("seen.bloom");
//! let mut seen = BloomFilter::new(1_000_000, 0.01)?; // 9.6 bits a key
//! seen.insert("fox");
//! assert!(seen.contains("fox") && !seen.contains(&12_345_u64));
//!
//! seen.save(&path)?;
//! assert!(AnyFilter::open(&path)?.contains("fox")); // mapped
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Formats
//!
//! Numbers are read and written as text or binary ([`Format`]), one column of delimited
//! text is read ([`number::Column`]), and lines are judged by [`number::parse_line`]:
//!
//! ```
//! use bitsort::number::{Line, parse_line};
//!
//! assert_eq!(parse_line(b" 007\r"), Line::Value(7));
//! assert!(matches!(parse_line(b"12abc"), Line::Malformed { offset: 2, .. }));
//! ```
//!
//! Set files are `.bits` files or portable roaring files ([`set::SetFormat`]); filters are
//! `.bloom` files, or those of [Guava](bloom::guava), of [DCSO's `bloom`](bloom::dcso) and of
//! [Spark](bloom::spark). [`set::foreign`] has the sets of other systems.
//! Files are written whole or not at all.
//!
//! # Features
//!
//! | feature | default | what for |
//! |---|---|---|
//! | `cli` | yes | the programs `bitsort` and `bitset`; libraries do without it |
//! | `compression` | yes | inputs and outputs compressed with gzip, zstd, bzip2 or xz |
//! | `columnar` | no | integer columns of Parquet and Arrow files, in and out ([`sort::Sort::to_table`]) |
//! | `plot` | with `cli` | maps of sets as PNG and SVG (`bitsort::plot`) |
//! | `serde` | no | [`set::IntegerSet`] is serialized: as numbers where people read it, else as a portable roaring bitmap |
//! | `roaring` | no | [`set::IntegerSet`] from and into the sets of the `roaring` crate |
//!
//! Libraries say `default-features = false`, which leaves compression out too; `features =
//! ["compression"]` brings it back.

#[cfg(target_endian = "big")]
compile_error!("bitmaps are read as little-endian bytes in memory and in files");

#[cfg(feature = "_benching")]
#[doc(hidden)]
pub mod benching;
pub mod bloom;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
mod error;
#[cfg(feature = "_testing")]
#[doc(hidden)]
pub mod fuzzing;
mod io;
#[expect(unsafe_code, reason = "vector kernels, maps and pages; rules in kernel/mod.rs")]
mod kernel;
pub mod lines;
pub mod number;
#[cfg(feature = "plot")]
pub mod plot;
mod progress;
pub mod set;
mod size;
pub mod sort;

pub use error::{ColumnFault, DataChange, Error, FolderFault, Result, UnreadTable};
pub use io::caught::hush_caught_panics;
pub use io::table::TableFormat;
pub use kernel::sys::{Machine, guard_mapped_files};
pub use number::{Format, ParseFormatError};
pub use progress::{Phase, Progress};
pub use set::Bitmap;
pub use size::{ByteSize, ParseByteSizeError};
