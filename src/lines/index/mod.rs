//! An index of a file of keys: a filter for each block of it, so that a lookup
//! reads only the blocks that may have the key.
//!
//! The file is text with a row on each line; [`KeyRule`] says which bytes of a row are its key.
//! Lines are put together to blocks of 64 KiB. For each block the index has its place, a checksum
//! and a Bloom filter of its keys. If the file is sorted by keys (bytewise), it also has the first
//! and the last key of each block. A lookup asks the filters, reads the blocks that may have the
//! key, and gives exactly the rows that have it.
//!
//! ```
//! use bitsort::lines::index::{BlockIndex, Builder, KeyRule};
//!
//! # let folder = tempfile::tempdir()?;
//! # let (data, index) = (folder.path().join("cells.csv"), folder.path().join("cells.bix"));
//! std::fs::write(&data, "ann,age,31\nbob,age,40\nann,town,Oslo\n")?;
//! Builder::new().key(KeyRule::columns(vec![1, 2], b',')?).build(&data, &index)?;
//!
//! let cells = BlockIndex::open(&data, &index)?;
//! let found = cells.get(b"ann,town")?;
//! assert_eq!(found.lines, [b"ann,town,Oslo\n"]);
//! assert_eq!(found.report.read_blocks, 1);
//! assert!(cells.get(b"bob,town")?.lines.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What a change of the data does
//!
//! The index stores the length and the checksums of its data. [`BlockIndex::open`] compares the
//! length and eight blocks, spread over the file. If the file is not older than its index, it
//! compares all blocks. A lookup compares each block that it reads. So a change stays unnoticed
//! only if three things are true: the file keeps its length, the changed bytes lie in none of these
//! blocks, and the file is older than its index, as after `cp -p` or `rsync -t`. A lookup then misses
//! new rows. [`BlockIndex::verify`], which reads everything, finds the change. If the index has more
//! than 1 MiB, only its header is checked before that.
//! [`Builder::extend`] adds rows that were appended.
//!
//! # Cost
//!
//! With sorted keys a lookup asks the one or two blocks whose keys surround it. With unsorted keys
//! it asks all filters, k cache lines for each 512 blocks. It also reads a share of the blocks
//! without the key, which is the rate: 153 blocks of a file of 1 GB at 1 %. A lower rate pays
//! there: 20 M rows of 55 bytes, keys of two columns, processor time on a shared Xeon with AVX-512:
//!
//! | | index, of the data | a key that is there | one that is not |
//! |---|--:|--:|--:|
//! | sorted, 1 % | 2.3 % | 15 µs | 1.5 µs |
//! | unsorted, 1 % | 2.2 % | 5.9 ms | 5.5 ms |
//! | unsorted, 0.01 % | 4.4 % | 0.15 ms | 0.09 ms |

mod build;
mod data;
mod digest;
mod file;
mod header;
mod key;
mod lookup;
mod rows;
#[cfg(test)]
mod tests;
mod together;
mod writer;

pub use build::Builder;
pub use file::IndexFile;
pub use header::Stat;
pub(super) use key::fields;
pub use key::{Columns, KeyRule};
pub use lookup::{BlockIndex, Found, LookupReport};
#[cfg(feature = "cli")]
pub(crate) use {data::check_is_file, rows::rows};

use std::path::{Path, PathBuf};

/// The default place of the index of a file: beside it, with `.bix` appended to its name.
///
/// # Examples
///
/// ```
/// use std::path::Path;
///
/// let beside = bitsort::lines::index::path_of("keys.txt");
/// assert_eq!(beside, Path::new("keys.txt.bix"));
/// ```
#[must_use]
pub fn path_of(data: impl AsRef<Path>) -> PathBuf {
    let mut name = data.as_ref().as_os_str().to_owned();
    name.push(".bix");
    name.into()
}
