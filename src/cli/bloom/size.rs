//! Makes filters of the wanted size.

use super::args::{DesignChoice, SizeArgs};
use crate::bloom::{AnyFilter, Blocked, Builder, Counting, Design, Filter, Memory, Spec, Standard};
use crate::bloom::{BuildError, check_rate, dcso, guava, spark};
use crate::bloom::{FilterFile, FilterKind};
use crate::error::{Error, Result};

/// The default rate.
const DEFAULT_RATE: f64 = 0.01;

/// How the size of a filter is given.
#[derive(Debug, Clone, Copy)]
pub(super) enum Size {
    Rate(f64),
    BitsPerKey(f64),
}

/// A builder for a filter of so many keys.
pub(super) fn builder<D: Design>(keys: u64, size: Size) -> Builder<D> {
    let builder = Filter::builder().keys(keys);
    match size {
        Size::Rate(rate) => builder.rate(rate),
        Size::BitsPerKey(bits) => builder.bits_per_key(bits),
    }
}

/// The shape of a filter.
pub(super) fn spec(
    design: DesignChoice,
    keys: u64,
    size: Size,
    counter_bits: Option<u32>,
) -> Result<Spec, BuildError> {
    match (design, counter_bits) {
        (DesignChoice::Standard, _) => builder::<Standard>(keys, size).spec(),
        (DesignChoice::Blocked, _) => builder::<Blocked>(keys, size).spec(),
        (DesignChoice::Counting, None) => builder::<Counting>(keys, size).spec(),
        (DesignChoice::Counting, Some(bits)) => {
            builder::<Counting>(keys, size).counter_bits(bits).spec()
        }
    }
}

/// Refuses counters for designs that have none.
pub(super) fn check_counter_bits(design: DesignChoice, bits: Option<u32>) -> Result<()> {
    if bits.is_some() && design != DesignChoice::Counting {
        return Err(Error::usage("--counter-bits is for --design counting"));
    }
    Ok(())
}

impl SizeArgs {
    /// Refuses contradictions before anything is read.
    pub(super) fn check(&self, to: FilterKind) -> Result<()> {
        check_counter_bits(self.design, self.counter_bits)?;
        let seeds = self.seed != 0 && to != FilterKind::Spark;
        let own = self.bits_per_key.is_some() || self.hashes.is_some() || seeds;
        if to != FilterKind::Bloom && (own || self.design != DesignChoice::Standard) {
            return Err(Error::usage(
                "filters of other programs take --keys and --rate only, and Spark's --seed: they \
                 size themselves",
            ));
        }
        match to {
            // A filter for one key shows whether the numbers are in their ranges.
            FilterKind::Bloom => self.own(self.keys.map_or(1, |keys| keys.0.min(1))).map(drop),
            FilterKind::Spark => self.spark_seed().and(Ok(check_rate(self.rate_of(to))?)),
            FilterKind::Guava | FilterKind::Dcso => Ok(check_rate(self.rate_of(to))?),
        }
    }

    fn spark_seed(&self) -> Result<i32> {
        let too_large = |_| Error::usage("a seed of Spark is a number below 2147483648");
        i32::try_from(self.seed).map_err(too_large)
    }

    /// The rate that a filter of this kind is made for, if its bits for a key are not given.
    fn rate_of(&self, to: FilterKind) -> f64 {
        self.rate.unwrap_or(match to {
            FilterKind::Bloom | FilterKind::Dcso => DEFAULT_RATE,
            FilterKind::Guava => guava::DEFAULT_RATE,
            FilterKind::Spark => spark::DEFAULT_RATE,
        })
    }

    /// The same; none if the bits for a key are given.
    pub(super) fn goal(&self, to: FilterKind) -> Option<f64> {
        self.bits_per_key.is_none().then(|| self.rate_of(to))
    }

    fn complete<D: Design>(&self, keys: u64) -> Builder<D> {
        let size = match self.bits_per_key {
            Some(bits) => Size::BitsPerKey(bits),
            None => Size::Rate(self.rate_of(FilterKind::Bloom)),
        };
        let builder = builder(keys, size).seed(self.seed);
        match self.hashes {
            Some(hashes) => builder.hashes(hashes),
            None => builder,
        }
    }

    fn own(&self, keys: u64) -> Result<AnyFilter> {
        Ok(match (self.design, self.counter_bits) {
            (DesignChoice::Standard, _) => AnyFilter::Standard(self.complete(keys).build()?),
            (DesignChoice::Blocked, _) => AnyFilter::Blocked(self.complete(keys).build()?),
            (DesignChoice::Counting, None) => AnyFilter::Counting(self.complete(keys).build()?),
            (DesignChoice::Counting, Some(bits)) => {
                AnyFilter::Counting(self.complete(keys).counter_bits(bits).build()?)
            }
        })
    }

    /// An empty filter for so many keys.
    pub(super) fn filter(&self, keys: u64, to: FilterKind) -> Result<FilterFile<Memory>> {
        let filter = match to {
            FilterKind::Bloom => self.own(keys)?,
            FilterKind::Guava => {
                let options = guava::Options::default();
                AnyFilter::Standard(guava::filter(keys, self.rate_of(to), options)?)
            }
            FilterKind::Spark => {
                let rate = self.rate_of(to);
                AnyFilter::Standard(spark::filter(keys.max(1), rate, self.spark_seed()?)?)
            }
            FilterKind::Dcso => AnyFilter::Standard(dcso::filter(keys, self.rate_of(to))?),
        };
        Ok(FilterFile::new(filter, to))
    }
}
