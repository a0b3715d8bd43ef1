//! Representations of this project.

use crate::data::Data;
use crate::subject::{Operation, Representation};
use bitsort::Bitmap;
use bitsort::set::{self, AsSet, IntegerSet, SetFile, SetFormat, SetView};
use std::path::Path;

fn values(data: &Data, second: bool) -> &[u32] {
    if second { &data.b } else { &data.a }
}

/// A plain bitmap in memory.
#[derive(Debug)]
pub struct Dense(Bitmap);

impl Representation for Dense {
    const NAME: &str = "dense";
    type Result = Bitmap;

    fn build(data: &Data, second: bool, _: &Path) -> Self {
        let mut bitmap = Bitmap::new(data.universe);
        for &value in values(data, second) {
            bitmap.insert(value.into());
        }
        Self(bitmap)
    }

    fn len(&self) -> u64 {
        self.0.cardinality()
    }

    fn file_bytes(&self) -> u64 {
        // The header, and a rank for each 2^16 values.
        4096 + self.0.as_words().len() as u64 * 8 + self.0.as_words().len() as u64 / 1024 * 8
    }

    fn hits(&self, probes: &[u32]) -> u64 {
        probes.iter().map(|&value| u64::from(self.0.contains(value.into()))).sum()
    }

    fn sum(&self) -> u64 {
        let mut sum = 0;
        for value in &self.0 {
            sum += value;
        }
        sum
    }

    fn join(&self, operation: Operation, other: &Self) -> Bitmap {
        let universe = "they share a universe";
        match operation {
            Operation::And => self.0.intersection(&other.0),
            Operation::Or => self.0.union(&other.0).expect(universe),
            Operation::Xor => self.0.symmetric_difference(&other.0).expect(universe),
            Operation::AndNot => self.0.difference(&other.0),
            other => unreachable!("{other:?} makes no set"),
        }
    }

    fn result_len(result: &Bitmap) -> u64 {
        result.cardinality()
    }

    fn intersection_len(&self, other: &Self) -> u64 {
        self.0.intersection_len(&other.0)
    }

    fn union_len(&self, other: &Self) -> u64 {
        self.0.union_len(&other.0)
    }
}

/// [`IntegerSet`], in memory.
#[derive(Debug)]
pub struct Integers(IntegerSet);

impl Representation for Integers {
    const NAME: &str = "integer-set";
    type Result = IntegerSet;

    fn build(data: &Data, second: bool, _: &Path) -> Self {
        Self(values(data, second).iter().map(|&value| u64::from(value)).collect())
    }

    fn len(&self) -> u64 {
        self.0.len()
    }

    fn file_bytes(&self) -> u64 {
        self.0.to_roaring_bytes().len() as u64
    }

    fn hits(&self, probes: &[u32]) -> u64 {
        probes.iter().map(|&value| u64::from(self.0.contains(value.into()))).sum()
    }

    fn sum(&self) -> u64 {
        let mut sum = 0;
        for value in &self.0 {
            sum += value;
        }
        sum
    }

    fn join(&self, operation: Operation, other: &Self) -> IntegerSet {
        let (a, b) = (&self.0, &other.0);
        match operation {
            Operation::And => a & b,
            Operation::Or => a | b,
            Operation::Xor => a ^ b,
            Operation::AndNot => a - b,
            other => unreachable!("{other:?} makes no set"),
        }
    }

    fn result_len(result: &IntegerSet) -> u64 {
        result.len()
    }

    fn intersection_len(&self, other: &Self) -> u64 {
        self.0.intersection_len(&other.0)
    }

    fn union_len(&self, other: &Self) -> u64 {
        self.0.union_len(&other.0)
    }
}

/// A mapped file.
#[derive(Debug)]
struct Mapped(SetFile);

impl Mapped {
    fn new(set: &IntegerSet, format: SetFormat, second: bool, folder: &Path) -> Self {
        let path = folder.join(format!("{format:?}-{}.bits", u8::from(second)));
        set.write_as(&path, format).expect("the folder has room");
        Self(SetFile::open(&path).expect("what was written can be opened"))
    }

    fn view(&self) -> SetView<'_> {
        self.0.view()
    }
}

macro_rules! mapped {
    ($name:ident, $text:literal, $format:expr, $doc:literal) => {
        #[doc = $doc]
        #[derive(Debug)]
        pub struct $name(Mapped);

        impl Representation for $name {
            const NAME: &str = $text;
            type Result = IntegerSet;

            fn build(data: &Data, second: bool, folder: &Path) -> Self {
                let set = values(data, second).iter().map(|&value| u64::from(value)).collect();
                Self(Mapped::new(&set, $format, second, folder))
            }

            fn len(&self) -> u64 {
                self.0.0.len()
            }

            fn file_bytes(&self) -> u64 {
                self.0.0.file_bytes()
            }

            fn hits(&self, probes: &[u32]) -> u64 {
                let view = self.0.view();
                let is_in = |value: u32| view.contains(value.into()).expect("the file is sound");
                probes.iter().map(|&value| u64::from(is_in(value))).sum()
            }

            fn sum(&self) -> u64 {
                let mut sum = 0;
                for value in self.0.view() {
                    sum += value.expect("the file is sound");
                }
                sum
            }

            fn join(&self, operation: Operation, other: &Self) -> IntegerSet {
                let sets: [&dyn AsSet; 2] = [&self.0.0, &other.0.0];
                let joined = match operation {
                    Operation::And => set::and(&sets),
                    Operation::Or => set::or(&sets),
                    Operation::Xor => set::xor(&sets),
                    Operation::AndNot => set::andnot(&sets),
                    other => unreachable!("{other:?} makes no set"),
                };
                joined.to_set().expect("the files are sound")
            }

            fn result_len(result: &IntegerSet) -> u64 {
                result.len()
            }

            fn intersection_len(&self, other: &Self) -> u64 {
                self.0.0.intersection_len(&other.0.0).expect("the files are sound")
            }

            fn union_len(&self, other: &Self) -> u64 {
                self.0.0.union_len(&other.0.0).expect("the files are sound")
            }
        }
    };
}

mapped!(
    MappedDense,
    "mapped-dense",
    SetFormat::DenseBits,
    "A plain bitmap in a mapped `.bits` file."
);

mapped!(
    MappedRoaring,
    "mapped-roaring",
    SetFormat::RoaringBits,
    "A roaring bitmap in a mapped `.bits` file."
);

impl MappedRoaring {
    /// How many probes are in the set; asks for `batch` of them at once.
    ///
    /// # Panics
    ///
    /// If somebody damages the file meanwhile.
    #[must_use]
    pub fn hits_of_many(&self, probes: &[u64], batch: usize) -> u64 {
        let mut found = vec![false; batch];
        let mut hits = 0;
        for probes in probes.chunks(batch) {
            self.0.view().contains_many(probes, &mut found).expect("the file is sound");
            hits += found[..probes.len()].iter().map(|&is_in| u64::from(is_in)).sum::<u64>();
        }
        hits
    }
}
