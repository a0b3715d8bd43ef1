//! Sets of natural numbers, in memory and in files.
//!
//! [`IntegerSet`] is one interface over plain bitmaps, roaring bitmaps and
//! mapped files; [`SetFile`] is a file that is queried where it lies, and
//! [`SetView`] what is queried; [`Expression`] is set algebra as text.
//!
//! Flow: views → `plan`, which works container by container → `sink`.

mod algebra;
mod build;
#[cfg(feature = "cli")]
pub(crate) mod changes;
mod count;
mod derive;
mod edit;
mod expression;
#[cfg(feature = "cli")]
pub(crate) mod filter;
#[cfg(feature = "cli")]
pub(crate) mod foreign;
mod integer_set;
mod memory;
mod open;
mod pieces;
pub(crate) mod plan;
mod readable;
mod roaring64;
#[cfg(feature = "cli")]
pub(crate) mod sample;
#[cfg(feature = "serde")]
mod serialize;
mod sink;
#[cfg(test)]
mod tests;
mod update;
mod values;

pub use crate::bits::{Representation, SetFile, SetKind};
pub use crate::view::{Damage, SetView, Values};
pub use build::build;
#[cfg(feature = "cli")]
pub(crate) use build::build_stream;
pub use expression::{Expression, ParseExpressionError};
pub use integer_set::IntegerSet;
pub use open::open_any;
#[cfg(feature = "cli")]
pub(crate) use open::open_set;
pub use sink::{SetFormat, Written};
#[cfg(feature = "cli")]
pub(crate) use sink::{blamed, dense_bytes, write_file, write_stream};
pub use update::update;
#[cfg(feature = "cli")]
pub(crate) use update::update_watched;
pub use values::SetValues;
