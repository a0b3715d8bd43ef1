//! Why a filter cannot be made.

use super::params::{MAX_HASHES, is_rate};
use super::scheme::Scheme;
use crate::error::Error;
use std::io;

/// Why there is no such filter.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The expected number of keys is 0.
    #[error("a filter is made for at least one key")]
    NoKeys,
    /// The rate of false positives is not between 0 and 1, or not a number.
    #[error("a false-positive rate lies between 0 and 1, {0} does not")]
    Rate(f64),
    /// The number of bits for each key is not above 0, or not a number.
    #[error("bits a key are a number above 0, not {0}")]
    BitsPerKey(f64),
    /// The number of bits, or counters, is 0.
    #[error("a filter has at least one bit")]
    NoBits,
    /// The number of hash functions is 0 or more than 255.
    #[error("a filter has 1 to {MAX_HASHES} hash functions, not {0}")]
    Hashes(u32),
    /// There are no counters of this size, or this design has no counters.
    #[error("counters have 2, 4 or 8 bits, and only counting filters have them: not {0}")]
    CounterBits(u32),
    /// The scheme has only filters of the design [`Standard`](super::Standard).
    #[error("the hash function {0} is for standard filters only")]
    Scheme(Scheme),
    /// The builder got too little to compute the size of the filter.
    #[error(
        "the size follows from keys and rate, keys and bits a key, keys and bits, or bits and hash functions"
    )]
    Incomplete,
    /// The builder got two values that each fix the size.
    #[error("give one of rate, bits and bits a key")]
    Contradiction,
    /// The filter has more bits than can be counted, or than its kind of file can have, or no
    /// number of bits reaches the rate.
    #[error("no filter of this kind can be so large, or reach such a rate")]
    TooLarge,
    /// So many keys have the same hash as others that no filter of them has this rate.
    #[error("no filter of {keys} keys has a rate of {rate:e}: hashes have 64 bits")]
    Collisions {
        /// The number of keys.
        keys: u64,
        /// The rate that was wanted.
        rate: f64,
    },
    /// The filter is larger than the memory of the machine, or the operating system refused the
    /// memory.
    #[error("cannot reserve {bytes} bytes of memory")]
    OutOfMemory {
        /// Bytes that the filter takes.
        bytes: u64,
    },
}

impl From<BuildError> for Error {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::OutOfMemory { bytes } => {
                Self::OutOfMemory { bytes, source: io::ErrorKind::OutOfMemory.into() }
            }
            other => Self::usage(other.to_string()),
        }
    }
}

/// Refuses numbers that are no rate of false positives.
pub(crate) fn check_rate(rate: f64) -> Result<(), BuildError> {
    if is_rate(rate) { Ok(()) } else { Err(BuildError::Rate(rate)) }
}
