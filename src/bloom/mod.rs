//! Bloom filters: sets that answer "maybe" or "certainly not", in a few bits for each key.
//!
//! A filter is a bitmap and `k` hash functions. A key sets the `k` bits that they choose; if one of
//! its bits is not set, the key is certainly not in the filter. There are three designs:
//!
//! | | bits a key for 1 % | for 0.1 % | cache misses a key |
//! |---|--:|--:|--:|
//! | [`BloomFilter`] | 9.6 | 14.4 | up to k |
//! | [`BlockedBloomFilter`] | 9.9 | 15.5 | 1 |
//! | [`CountingBloomFilter`], 4 bits a counter | 38 | 58 | up to k |
//!
//! Flow: a key → its hashes (`scheme`) → cells (`anywhere`, `blocked`) → `true` or `false`;
//! filter files → `file` → filters. Read `scheme` and `filter` first.
//!
//! The number of a cell has 64 bits, so filters of 10^11 keys keep their rate.
//!
//! ```
//! use bitsort::bloom::BloomFilter;
//!
//! let mut seen = BloomFilter::new(1_000_000, 0.01)?;
//! seen.extend(0..1000_u64);
//! assert!(seen.contains(&7_u64));
//! assert!(seen.estimated_keys().round() <= 1010.0);
//! # Ok::<(), bitsort::bloom::BuildError>(())
//! ```
//!
//! Filters with the same size, hash function and seed can be joined to the filter of all their keys
//! ([`union_assign`](BloomFilter::union_assign)). They are saved in files that are asked without
//! being loaded, and read and written in the formats of [`guava`], [`dcso`] and [`spark`];
//! [`AnyFilter::open`] opens all of them. [`params`] computes rates from sizes.
//! [`LineTools`](crate::lines::LineTools) fill them with the lines of files and ask them, and
//! [`lines::index`](crate::lines::index) searches a file of keys through the filters of its blocks.
//!
//! # Cost
//!
//! [`contains_many`](BloomFilter::contains_many) and
//! [`insert_many`](BloomFilter::insert_many) overlap the cache misses of many
//! keys. Threads fill a filter together through
//! [`share`](BloomFilter::share).

// Circle: `builder`, `filter`: a filter begins its builder, which makes the filter.

mod algebra;
mod any;
mod anywhere;
mod blocked;
mod build_error;
mod builder;
mod counting;
pub mod dcso;
mod design;
mod file;
mod filter;
mod filter_file;
pub(crate) mod growing;
pub mod guava;
pub(crate) mod header;
mod key;
mod memory;
pub mod params;
pub mod parquet;
mod rate;
pub(crate) mod scheme;
mod shared;
pub(crate) mod sliced;
pub mod spark;
#[cfg(test)]
mod tests;

pub use algebra::Mismatch;
pub use any::AnyFilter;
pub use build_error::BuildError;
pub(crate) use build_error::check_rate;
pub use builder::Builder;
pub use design::{Blocked, Counting, Design, Plain, Spec, Standard};
pub use file::is_bloom_file;
#[cfg(feature = "cli")]
pub(crate) use file::is_filter_file;
pub use filter::{BlockedBloomFilter, BloomFilter, CountingBloomFilter, Filter, Goal};
pub use filter_file::{FilterFile, FilterKind, ParseFilterKindError};
pub use key::Key;
pub use memory::{Memory, Opened, Storage};
pub use rate::{Confidence, MeasuredRate};
pub use scheme::Scheme;
pub use shared::SharedFilter;
