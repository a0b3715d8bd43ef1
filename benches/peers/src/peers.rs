//! Representations of other crates.
//!
//! They are told to use runs where those are smaller, as bitsort's files do; the
//! plain ones are not.

use crate::data::Data;
use crate::subject::{Operation, Representation};
use croaring::Portable;
use roaring::{RoaringBitmap, RoaringTreemap};
use std::path::Path;

fn values(data: &Data, second: bool) -> &[u32] {
    if second { &data.b } else { &data.a }
}

macro_rules! roaring_crate {
    ($name:ident, $text:literal, $set:ty, $value:ty, $runs:literal, $doc:literal) => {
        #[doc = $doc]
        #[derive(Debug)]
        pub struct $name($set);

        impl Representation for $name {
            const NAME: &str = $text;
            type Result = $set;

            fn build(data: &Data, second: bool, _: &Path) -> Self {
                let values = values(data, second).iter().map(|&value| <$value>::from(value));
                let mut set = <$set>::from_sorted_iter(values).expect("the values ascend");
                if $runs {
                    set.optimize();
                }
                Self(set)
            }

            fn len(&self) -> u64 {
                self.0.len()
            }

            fn file_bytes(&self) -> u64 {
                self.0.serialized_size() as u64
            }

            fn hits(&self, probes: &[u32]) -> u64 {
                probes.iter().map(|&value| u64::from(self.0.contains(value.into()))).sum()
            }

            fn sum(&self) -> u64 {
                let mut sum = 0;
                for value in &self.0 {
                    sum += u64::from(value);
                }
                sum
            }

            fn join(&self, operation: Operation, other: &Self) -> $set {
                match operation {
                    Operation::And => &self.0 & &other.0,
                    Operation::Or => &self.0 | &other.0,
                    Operation::Xor => &self.0 ^ &other.0,
                    Operation::AndNot => &self.0 - &other.0,
                    other => unreachable!("{other:?} makes no set"),
                }
            }

            fn result_len(result: &$set) -> u64 {
                result.len()
            }

            fn intersection_len(&self, other: &Self) -> u64 {
                self.0.intersection_len(&other.0)
            }

            fn union_len(&self, other: &Self) -> u64 {
                self.0.union_len(&other.0)
            }
        }
    };
}

roaring_crate!(Roaring, "roaring", RoaringBitmap, u32, true, "Of the `roaring` crate, 32 bits.");

roaring_crate!(
    PlainRoaring,
    "roaring-no-runs",
    RoaringBitmap,
    u32,
    false,
    "Of the `roaring` crate, 32 bits, without runs."
);

roaring_crate!(
    PlainTreemap,
    "treemap-no-runs",
    RoaringTreemap,
    u64,
    false,
    "Of the `roaring` crate, 64 bits, without runs."
);

/// Of `CRoaring`, 32 bits.
#[derive(Debug)]
pub struct CRoaring(croaring::Bitmap);

impl Representation for CRoaring {
    const NAME: &str = "croaring";
    type Result = croaring::Bitmap;

    fn build(data: &Data, second: bool, _: &Path) -> Self {
        let mut set = croaring::Bitmap::of(values(data, second));
        set.run_optimize();
        Self(set)
    }

    fn len(&self) -> u64 {
        self.0.cardinality()
    }

    fn file_bytes(&self) -> u64 {
        self.0.get_serialized_size_in_bytes::<Portable>() as u64
    }

    fn hits(&self, probes: &[u32]) -> u64 {
        probes.iter().map(|&value| u64::from(self.0.contains(value))).sum()
    }

    fn sum(&self) -> u64 {
        let mut sum = 0;
        for value in self.0.iter() {
            sum += u64::from(value);
        }
        sum
    }

    fn join(&self, operation: Operation, other: &Self) -> croaring::Bitmap {
        match operation {
            Operation::And => self.0.and(&other.0),
            Operation::Or => self.0.or(&other.0),
            Operation::Xor => self.0.xor(&other.0),
            Operation::AndNot => self.0.andnot(&other.0),
            other => unreachable!("{other:?} makes no set"),
        }
    }

    fn result_len(result: &croaring::Bitmap) -> u64 {
        result.cardinality()
    }

    fn intersection_len(&self, other: &Self) -> u64 {
        self.0.and_cardinality(&other.0)
    }

    fn union_len(&self, other: &Self) -> u64 {
        self.0.or_cardinality(&other.0)
    }
}
