//! What is measured.

use crate::data::Data;
use std::path::Path;

/// What is measured of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Ascending values → a set; a mapped one: → a file.
    Build,
    /// Asks for one value after the other.
    Contains,
    /// Reads all values.
    Iterate,
    /// A new set of the values in both.
    And,
    /// A new set of the values in either.
    Or,
    /// A new set of the values in one of the two.
    Xor,
    /// A new set of the values of the first that are not in the second.
    AndNot,
    /// Number of values in both.
    AndLen,
    /// Number of values in either.
    OrLen,
}

impl Operation {
    /// Every one.
    pub const ALL: [Self; 9] = [
        Self::Build,
        Self::Contains,
        Self::Iterate,
        Self::And,
        Self::Or,
        Self::Xor,
        Self::AndNot,
        Self::AndLen,
        Self::OrLen,
    ];

    /// As in names of benchmarks.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::Contains => "contains",
            Self::Iterate => "iterate",
            Self::And => "and",
            Self::Or => "or",
            Self::Xor => "xor",
            Self::AndNot => "andnot",
            Self::AndLen => "intersection_len",
            Self::OrLen => "union_len",
        }
    }

    /// Values that it works on: those of one set or of both, or probes.
    #[must_use]
    pub fn values(self, data: &Data) -> u64 {
        let values = match self {
            Self::Build | Self::Iterate => data.a.len(),
            Self::Contains => data.probes.len(),
            _ => data.a.len() + data.b.len(),
        };
        values as u64
    }

    /// What [`Subject::run`] must give.
    #[must_use]
    pub fn expected(self, data: &Data) -> u64 {
        let (both, either) = data.common();
        match self {
            Self::Build => data.a.len() as u64,
            Self::Contains => data.hits,
            Self::Iterate => data.a.iter().map(|&value| u64::from(value)).sum(),
            Self::And | Self::AndLen => both,
            Self::Or | Self::OrLen => either,
            Self::Xor => either - both,
            Self::AndNot => data.a.len() as u64 - both,
        }
    }
}

/// One representation of a set.
pub trait Representation: Sized {
    /// As in names of benchmarks.
    const NAME: &str;
    /// What operations make.
    type Result;

    /// The set of `data.a`, or with `second` of `data.b`; what needs a file makes it in `folder`.
    fn build(data: &Data, second: bool, folder: &Path) -> Self;
    /// Number of values.
    fn len(&self) -> u64;
    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Bytes of its file, or of the file that it would be written to.
    fn file_bytes(&self) -> u64;
    /// How many probes are in the set; asks for one after the other.
    fn hits(&self, probes: &[u32]) -> u64;
    /// Sum of the values.
    fn sum(&self) -> u64;
    /// And, or, xor or andnot.
    fn join(&self, operation: Operation, other: &Self) -> Self::Result;
    /// Number of values of what `join` made.
    fn result_len(result: &Self::Result) -> u64;
    /// Number of values in both.
    fn intersection_len(&self, other: &Self) -> u64;
    /// Number of values in either.
    fn union_len(&self, other: &Self) -> u64;
}

/// Two sets of one representation.
pub trait Subject {
    /// The representation's name.
    fn name(&self) -> &'static str;
    /// Runs the operation; gives a number that depends on all of its result, and
    /// that is cheap to get.
    fn run(&self, operation: Operation, data: &Data) -> u64;
    /// Runs the operation and checks the result.
    ///
    /// # Panics
    ///
    /// If it is wrong.
    fn check(&self, operation: Operation, data: &Data);
}

/// Two sets.
#[derive(Debug)]
pub struct Pair<'f, R> {
    a: R,
    b: R,
    folder: &'f Path,
}

impl<'f, R: Representation> Pair<'f, R> {
    /// Those of `data`.
    #[must_use]
    pub fn new(data: &Data, folder: &'f Path) -> Self {
        Self { a: R::build(data, false, folder), b: R::build(data, true, folder), folder }
    }
}

impl<R: Representation> Subject for Pair<'_, R> {
    fn name(&self) -> &'static str {
        R::NAME
    }

    fn run(&self, operation: Operation, data: &Data) -> u64 {
        match operation {
            Operation::Build => {
                std::hint::black_box(R::build(data, false, self.folder));
                0
            }
            Operation::Contains => self.a.hits(&data.probes),
            Operation::Iterate => self.a.sum(),
            Operation::AndLen => self.a.intersection_len(&self.b),
            Operation::OrLen => self.a.union_len(&self.b),
            Operation::And | Operation::Or | Operation::Xor | Operation::AndNot => {
                std::hint::black_box(self.a.join(operation, &self.b));
                0
            }
        }
    }

    fn check(&self, operation: Operation, data: &Data) {
        let found = match operation {
            Operation::Build => R::build(data, false, self.folder).len(),
            Operation::And | Operation::Or | Operation::Xor | Operation::AndNot => {
                R::result_len(&self.a.join(operation, &self.b))
            }
            _ => self.run(operation, data),
        };
        let expected = operation.expected(data);
        assert_eq!(found, expected, "{} of {}, {}", operation.name(), R::NAME, data.name());
    }
}
