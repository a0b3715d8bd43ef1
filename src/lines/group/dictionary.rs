//! Numbers keys in the order in which they first come.

use hashbrown::HashTable;
use std::hash::{BuildHasher, RandomState};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Keys with their numbers.
#[derive(Debug)]
pub(super) struct Dictionary {
    numbers: HashTable<u32>,
    bytes: Vec<u8>,
    /// The end of each key in the bytes.
    ends: Vec<usize>,
    /// Random, so that nobody can choose keys that all have the same hash.
    seed: u64,
    limit_bytes: u64,
    used_bytes: u64,
}

/// Memory of a key beside its bytes: its end, its place in the table, and later the facts about its
/// set.
const KEY_BYTES: u64 = 8 + 8 + 40;

impl Dictionary {
    /// Takes keys until it needs more memory than this; at least one key.
    pub(super) fn new(limit_bytes: u64) -> Self {
        Self {
            numbers: HashTable::new(),
            bytes: Vec::new(),
            ends: Vec::new(),
            seed: RandomState::new().hash_one(0),
            limit_bytes,
            used_bytes: 0,
        }
    }

    /// Number of keys.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The key that has this number.
    pub(super) fn key(&self, number: u32) -> &[u8] {
        key(&self.bytes, &self.ends, number)
    }

    /// The hash of a key.
    pub(super) fn hash(&self, key: &[u8]) -> u64 {
        xxh3_64_with_seed(key, self.seed)
    }

    /// The number of a key, if it has one.
    pub(super) fn find(&self, hash: u64, key: &[u8]) -> Option<u32> {
        self.numbers.find(hash, |&number| self.key(number) == key).copied()
    }

    /// The number of a key, which gets one if it is new; none if there is no memory for it.
    pub(super) fn insert(&mut self, hash: u64, key: &[u8]) -> Option<u32> {
        if let Some(number) = self.find(hash, key) {
            return Some(number);
        }
        // While a vector grows, it is in memory twice.
        let more = 2 * (key.len() as u64 + KEY_BYTES);
        if self.used_bytes + more > self.limit_bytes && !self.ends.is_empty() {
            return None;
        }
        let number = u32::try_from(self.ends.len()).ok().filter(|&number| number < u32::MAX)?;
        self.used_bytes += more;
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
        let Self { numbers, bytes, ends, seed, .. } = self;
        let hash_of = |&number: &u32| xxh3_64_with_seed(self::key(bytes, ends, number), *seed);
        numbers.insert_unique(hash, number, hash_of);
        Some(number)
    }

    /// All numbers, in the order of their keys.
    pub(super) fn sorted(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = (0..=u32::MAX).take(self.len()).collect();
        numbers.sort_unstable_by(|&a, &b| self.key(a).cmp(self.key(b)));
        numbers
    }
}

fn key<'d>(bytes: &'d [u8], ends: &[usize], number: u32) -> &'d [u8] {
    let number = number as usize;
    let start = number.checked_sub(1).map_or(0, |before| ends[before]);
    &bytes[start..ends[number]]
}
