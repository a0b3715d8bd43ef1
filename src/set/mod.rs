//! Sets of natural numbers, in memory and in files.
//!
//! [`IntegerSet`] is a set in memory, which never fails; [`SetFile`] is a file that is queried
//! where it lies; [`SetView`] is what both are queried through. [`and`], [`or`] and the other
//! operations take all of them together, and [`Expression`] is algebra as text.
//!
//! Flow: operands → `plan`, which works container by container → `sink`, or memory. Read
//! `view/query.rs` and `plan.rs` first.

// Circle: `file::writer`, `ranges`: ranges are written as containers, and a file takes ranges.
// Circle: `merge`, `pipeline`, `plan`: a plan runs through a pipeline, or as a merge if its sets are sparse, and both are made of a plan.
// Circle: `integer_set`, `join`, `sink`: a join gives a set in memory, which joins and is written.
// Circle: `keyed::file`, `operand`: a set of a `.sets` file takes part in algebra, which asks the file whether it is whole.

pub(crate) mod batches;
pub mod bitmap;
mod block;
pub(crate) mod changes;
pub(crate) mod container;
mod containers;
mod count;
mod exchange;
mod expression;
pub(crate) mod file;
mod folder;
pub mod foreign;
mod format;
mod integer_set;
mod join;
pub mod keyed;
mod merge;
mod operand;
mod operators;
mod pieces;
mod pipeline;
pub(crate) mod plan;
pub(crate) mod ranges;
#[cfg(feature = "cli")]
pub(crate) mod run_algebra;
mod sample;
#[cfg(feature = "serde")]
mod serialize;
mod sink;
pub(crate) mod sparse;
#[cfg(test)]
mod tests;
mod update;
pub(crate) mod view;
mod windows;

pub use bitmap::Bitmap;
pub use changes::{Changed, Changes};
#[cfg(feature = "cli")]
pub(crate) use count::proportion;
pub use expression::{Expression, ParseExpressionError};
pub use file::{FileValues, Representation, SetFile, SetKind};
pub(crate) use folder::write_folder_in;
pub use folder::{FolderWriter, Part, hashed_pieces, pieces, write_folder, write_folder_with};
pub use format::{ParseSetFormatError, SetFormat};
pub use integer_set::IntegerSet;
pub use join::{Joined, and, andnot, at_least, or, xor};
pub use operand::{AsSet, Operand};
pub use operators::{IntoIter, Iter};
pub use sink::Written;
#[cfg(feature = "cli")]
pub(crate) use sink::temporary_bits;
#[cfg(any(feature = "cli", test))]
pub(crate) use sink::write_file;
pub(crate) use sink::{TableSink, temporary_set, whole_file, write_stream};
pub use update::Update;
pub use view::{Damage, Prober, Runs, SetView, Values};
