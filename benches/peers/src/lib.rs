//! Sets of bitsort and of other crates behind one interface, to be measured side
//! by side.
//!
//! Flow: [`data`](mod@data) makes values → [`Subject`] holds two sets of them in one
//! representation → [`harness`] runs
//! [`Operation`]s on them.

pub mod data;
pub mod harness;
mod ours;
mod peers;
mod subject;

pub use data::Data;
pub use ours::{Dense, Integers, MappedDense, MappedRoaring};
pub use peers::{CRoaring, PlainRoaring, PlainTreemap, Roaring};
pub use subject::{Operation, Pair, Representation, Subject};
