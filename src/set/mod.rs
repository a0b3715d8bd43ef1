//! Sets of natural numbers, in memory and in files.
//!
//! [`IntegerSet`] is one interface over plain bitmaps, roaring bitmaps and
//! mapped files; [`SetFile`] is a file that is queried where it lies, and
//! [`SetView`] what is queried; [`Expression`] is set algebra as text.
//!
//! Flow: views → `plan`, which works container by container → `sink`.

mod algebra;
pub mod bitmap;
pub(crate) mod changes;
pub(crate) mod container;
mod count;
mod derive;
mod edit;
mod expression;
pub(crate) mod file;
pub mod foreign;
mod integer_set;
mod memory;
mod pieces;
pub(crate) mod plan;
mod readable;
mod roaring64;
mod sample;
#[cfg(feature = "serde")]
mod serialize;
mod sink;
#[cfg(test)]
mod tests;
mod update;
mod values;
pub(crate) mod view;

pub use bitmap::Bitmap;
pub use changes::{Changed, Changes};
pub use expression::{Expression, ParseExpressionError};
pub use file::{Representation, SetFile, SetKind};
pub use integer_set::IntegerSet;
#[cfg(feature = "cli")]
pub(crate) use sink::write_stream;
pub use sink::{SetFormat, Written};
pub(crate) use sink::{TableSink, temporary_set, write_file};
#[cfg(feature = "cli")]
pub(crate) use sink::{blamed, dense_bytes};
pub use update::update;
#[cfg(feature = "cli")]
pub(crate) use update::update_watched;
pub use values::SetValues;
pub use view::{Damage, Runs, SetView, Values};
