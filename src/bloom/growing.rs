//! A filter that grows with its keys. It is a row of filters, its layers; each is larger than the
//! one before.
//!
//! Layer `i` has half of the rate of the layer before it. So all layers together keep the promised
//! rate, however many there are.
//!
//! # Source
//!
//! Almeida, Baquero, Preguiça and Hutchison, *Scalable Bloom Filters* (2007).

use super::build_error::BuildError;
use super::builder::Builder;
use super::design::{Plain, Spec};
use super::filter::Filter;
use crate::error::{Error, Result};
use crate::kernel::in_usize;

/// Each layer has room for this many times the keys of the one before it.
const GROWTH: u64 = 4;

/// A filter for any number of keys.
pub(crate) struct Growing<D> {
    layers: Vec<Filter<D>>,
    /// New keys that the last layer can still take.
    room: u64,
    next_keys: u64,
    next_rate: f64,
    /// The parameters of the first layer.
    first: Builder<D>,
    /// Bytes that new layers may take.
    budget_bytes: u64,
    found: Vec<bool>,
}

impl<D: Plain> Growing<D> {
    /// A filter whose first layer has the keys of `first`; all layers together keep its rate.
    pub(crate) fn new(first: Builder<D>, budget_bytes: u64) -> Result<Self> {
        first.spec()?; // the error if it is no sound filter
        let mut growing = Self {
            layers: Vec::new(),
            room: 0,
            next_keys: first.expected_keys().ok_or(BuildError::Incomplete)?,
            next_rate: Self::first_rate(&first)?,
            first,
            budget_bytes,
            found: Vec::new(),
        };
        growing.grow()?;
        Ok(growing)
    }

    /// The rate of the first layer: all others together have as much.
    fn first_rate(first: &Builder<D>) -> Result<f64, BuildError> {
        first.wanted_rate().map(|rate| rate / 2.0).ok_or(BuildError::Incomplete)
    }

    /// The parameters of a first layer that has room for all keys of `first`.
    pub(crate) fn first_spec(first: &Builder<D>) -> Result<Spec, BuildError> {
        first.rate(Self::first_rate(first)?).spec()
    }

    /// Adds a layer for at least one key, as large as fits in the budget.
    fn grow(&mut self) -> Result<()> {
        let mut keys = self.next_keys.max(1);
        let first = self.first;
        let spec = loop {
            match first.keys(keys).rate(self.next_rate).spec() {
                Ok(spec) if spec.size_bytes() <= self.budget_bytes => break spec,
                _ if keys == 1 => return Err(Error::FilterFull { keys: self.key_count() }),
                _ => keys /= 2,
            }
        };
        // All layers together keep the rate that hashes of 64 bits allow.
        let layer = first.keys(keys).rate(self.next_rate).layer(spec)?;
        self.budget_bytes = self.budget_bytes.saturating_sub(layer.size_bytes());
        self.layers.push(layer);
        self.room = keys;
        self.next_keys = keys.saturating_mul(GROWTH);
        self.next_rate /= 2.0;
        Ok(())
    }

    /// Number of different keys, except those that looked known by a false positive.
    pub(crate) fn key_count(&self) -> u64 {
        self.layers.iter().map(Filter::key_count).sum()
    }

    /// Adds all `keys`; `new` gets for each whether it is new.
    pub(crate) fn insert_each(&mut self, keys: &[&[u8]], new: &mut Vec<bool>) -> Result<()> {
        new.clear();
        let mut rest = keys;
        while !rest.is_empty() {
            // The last layer is asked when it takes keys; and before that only if it may be full, as
            // known keys need no room.
            let is_tight = self.room < rest.len() as u64;
            let mut unknown = self.unknown(rest, self.layers.len() - usize::from(!is_tight));
            let mut fitting = rest.len();
            if unknown.len() as u64 > self.room {
                if self.room == 0 {
                    self.grow()?;
                    continue;
                }
                fitting = in_usize(self.room);
                unknown.retain(|place| *place < fitting);
            }
            let (now, others) = rest.split_at(fitting);
            self.insert_unknown(now, &unknown, new);
            rest = others;
        }
        Ok(())
    }

    /// Adds those of `keys` that lie at the places of `unknown` to the last layer.
    fn insert_unknown(&mut self, keys: &[&[u8]], unknown: &[usize], new: &mut Vec<bool>) {
        let from = new.len();
        new.resize(from + keys.len(), false);
        let Some(last) = self.layers.last_mut() else { return };
        let keys: Vec<&[u8]> = unknown.iter().map(|&place| keys[place]).collect();
        self.room -= last.insert_each(&keys, &mut self.found);
        for (&place, &is_new) in unknown.iter().zip(&self.found) {
            new[from + place] = is_new;
        }
    }

    /// The places of those keys that are in none of the first `layers`.
    fn unknown(&mut self, keys: &[&[u8]], layers: usize) -> Vec<usize> {
        let mut unknown: Vec<usize> = (0..keys.len()).collect();
        for layer in self.layers[..layers].iter().rev() {
            let asked: Vec<&[u8]> = unknown.iter().map(|&place| keys[place]).collect();
            layer.contains_many(&asked, &mut self.found);
            let mut found = self.found.iter();
            unknown.retain(|_| !found.next().is_some_and(|found| *found));
        }
        unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bloom::{Blocked, BloomFilter, Standard};

    fn false_positives<D: Plain>(keys: u64) -> u64 {
        let mut growing =
            Growing::<D>::new(Filter::builder().keys(1000).rate(0.01).seed(7), 16 << 20).unwrap();
        let (mut new, mut lost) = (Vec::new(), 0);
        let keys: Vec<[u8; 8]> = (0..keys).map(u64::to_le_bytes).collect();
        let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        for batch in keys.chunks(600) {
            growing.insert_each(batch, &mut new).unwrap();
            lost += new.iter().map(|new| u64::from(!new)).sum::<u64>();
            let twice: Vec<&[u8]> = batch.iter().rev().copied().collect();
            growing.insert_each(&twice, &mut new).unwrap();
            assert!(new.iter().all(|new| !new), "no key is new twice");
        }
        for batch in keys.chunks(999) {
            growing.insert_each(batch, &mut new).unwrap();
            assert!(new.iter().all(|new| !new), "no key is forgotten");
        }
        assert!(growing.layers.len() > 3);
        lost
    }

    #[test]
    fn the_rate_holds_over_all_layers() {
        let (standard, blocked) =
            (false_positives::<Standard>(200_000), false_positives::<Blocked>(200_000));
        assert!(standard < 2000 && blocked < 2000, "{standard} {blocked}");
    }

    #[test]
    fn known_keys_need_no_room() {
        let first = BloomFilter::builder().rate(0.01).keys(1000);
        let bytes = Growing::first_spec(&first).unwrap().size_bytes();
        let mut growing = Growing::new(first, bytes).unwrap();
        let keys: Vec<[u8; 8]> = (0..2000).map(u64::to_le_bytes).collect();
        let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        let (mut new, mut count) = (Vec::new(), 0);
        let twice: Vec<&[u8]> = keys[..980].iter().flat_map(|key| [*key; 2]).collect();
        for batch in twice.chunks(300).chain([&keys[..980], &keys[..970]]) {
            growing.insert_each(batch, &mut new).unwrap();
            assert_eq!(new.len(), batch.len());
            count += new.iter().filter(|new| **new).count();
        }
        assert_eq!(growing.key_count(), count as u64);
        assert!(count > 960 && growing.layers.len() == 1, "{count}");
        assert!(growing.insert_each(&keys, &mut new).is_err());
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let first = BloomFilter::builder().rate(0.01);
        let mut growing = Growing::new(first.keys(1000), 20_000).unwrap();
        let keys: Vec<[u8; 8]> = (0..100_000).map(u64::to_le_bytes).collect();
        let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        let mut new = Vec::new();
        let refused = keys.chunks(100).find_map(|keys| growing.insert_each(keys, &mut new).err());
        let refused = refused.unwrap().to_string();
        assert!(refused.starts_with("no memory is left for more than "), "{refused}");
        assert!(Growing::new(first.keys(0), 1000).is_err());
        assert!(Growing::new(first.keys(9).bits(99), 1000).is_err());
        assert!(Growing::new(BloomFilter::builder().keys(9).bits(99), 1000).is_err());
    }
}
