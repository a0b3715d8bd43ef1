//! Sort huge collections of natural numbers within a memory limit.

#[expect(unsafe_code, reason = "vector kernels; rules in simd/mod.rs")]
mod simd;

pub mod bitmap;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
mod error;
mod format;
mod input;
mod output;
mod progress;
mod size;
pub mod sort;
mod sys;
pub mod text;

pub use bitmap::Bitmap;
pub use error::{Error, Result};
pub use format::{Format, ParseFormatError};
pub use progress::{Phase, Progress};
pub use size::{ByteSize, ParseByteSizeError};
pub use sys::Machine;
