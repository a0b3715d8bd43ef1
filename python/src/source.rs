//! Sets in memory or in files, for all questions of the package.

use crate::columns::BLOCK;
use crate::error::raise;
use crate::numbers::Numbers;
use crate::sets::AbstractBitSet;
use crate::work::{interrupted, interruptible};
use bitsort::Progress;
use bitsort::set::{self, AsSet, Damage, IntegerSet, Joined, Operand, SetFile, SetView};
use pyo3::prelude::*;
use pyo3::types::{PyFrozenSet, PySet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The present state of a set: if a set in memory changes later, this stays as it is.
#[derive(Clone)]
pub(crate) enum Source {
    Memory(Arc<IntegerSet>),
    File(Arc<Mapped>),
}

/// The working folder if `path` begins there, else nothing: joined with the path, it leads to the
/// same file later, too.
pub(crate) fn folder_of(path: &Path) -> PyResult<PathBuf> {
    if path.is_relative() { Ok(std::env::current_dir()?) } else { Ok(PathBuf::new()) }
}

/// A mapped file.
pub(crate) struct Mapped {
    pub(crate) set: SetFile,
    folder: PathBuf,
}

impl Mapped {
    /// A set of a file that was opened in this [folder](folder_of).
    pub(crate) fn new(set: SetFile, folder: PathBuf) -> Self {
        Self { set, folder }
    }

    /// The name by which the file is opened again, wherever the process works then.
    pub(crate) fn whole_path(&self) -> PathBuf {
        self.folder.join(self.path())
    }

    pub(crate) fn path(&self) -> &Path {
        self.set.path()
    }
}

impl AsSet for Source {
    fn as_set(&self) -> Operand<'_> {
        match self {
            Self::Memory(set) => set.as_set(),
            Self::File(mapped) => mapped.set.as_set(),
        }
    }
}

impl From<IntegerSet> for Source {
    fn from(set: IntegerSet) -> Self {
        Self::Memory(Arc::new(set))
    }
}

/// The set that an object is, if it is one of ours.
pub(crate) fn source_of(object: &Bound<'_, PyAny>) -> PyResult<Option<Source>> {
    match object.cast::<AbstractBitSet>() {
        Ok(set) => set.get().source(object.py()).map(Some),
        Err(_) => Ok(None),
    }
}

/// The set of the numbers of any object.
pub(crate) fn operand(object: &Bound<'_, PyAny>) -> PyResult<Source> {
    if let Some(source) = source_of(object)? {
        return Ok(source);
    }
    let numbers = Numbers::of(object)?;
    set_of(object.py(), numbers).map(Source::from)
}

/// The numbers as a set in memory. Ctrl-C cancels it.
pub(crate) fn set_of(py: Python<'_>, numbers: Numbers) -> PyResult<IntegerSet> {
    crate::work::in_pieces(py, numbers.len(), |progress| numbers.into_set(progress, None))
}

/// Whether operators take an object: a set of any kind, and no list.
pub(crate) fn is_set_like(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<AbstractBitSet>()
        || object.is_instance_of::<PySet>()
        || object.is_instance_of::<PyFrozenSet>()
        || object.hasattr("isdisjoint").unwrap_or(false) // of dict, of pyroaring, …
}

impl Source {
    /// Fails if the file was cut.
    pub(crate) fn check(&self) -> PyResult<()> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::File(mapped) => mapped.set.intact().map_err(raise),
        }
    }

    /// Asks the set a question.
    pub(crate) fn ask<'s, T>(
        &'s self,
        question: impl FnOnce(SetView<'s>) -> Result<T, Damage>,
    ) -> PyResult<T> {
        let set = self.as_set();
        self.after(question(set.view()).map_err(|damage| raise(set.damaged(damage))))
    }

    /// The answer, unless the file was cut meanwhile.
    pub(crate) fn after<T>(&self, answer: PyResult<T>) -> PyResult<T> {
        let Self::File(mapped) = self else { return answer };
        mapped.set.intact().map_err(raise).and(answer)
    }

    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Memory(set) => set.len(),
            Self::File(mapped) => mapped.set.len(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Memory(set) => set.is_empty(),
            Self::File(mapped) => mapped.set.is_empty(),
        }
    }

    /// Up to `most` values from `from` on.
    pub(crate) fn batch(&self, from: u64, most: usize) -> PyResult<Vec<u64>> {
        self.ask(|view| view.range(from..).take(most).collect())
    }

    /// Up to `most` values up to `to`, the largest first.
    pub(crate) fn batch_back(&self, to: u64, most: usize) -> PyResult<Vec<u64>> {
        self.ask(|view| view.range(..=to).rev().take(most).collect())
    }

    /// Calls `visit` with all values, a block at a time.
    pub(crate) fn each(&self, mut visit: impl FnMut(&[u64]) -> PyResult<()>) -> PyResult<()> {
        let mut from = Some(0);
        while let Some(start) = from {
            let values = self.batch(start, BLOCK)?;
            if values.is_empty() {
                break;
            }
            from = values.last().and_then(|last| last.checked_add(1));
            visit(&values)?;
        }
        Ok(())
    }

    pub(crate) fn to_set(&self, progress: &Arc<Progress>) -> PyResult<IntegerSet> {
        self.check()?;
        interrupted(progress)?;
        match self {
            Self::Memory(set) => Ok(IntegerSet::clone(set)),
            Self::File(_) => {
                set::or(&[self]).progress(Arc::clone(progress)).to_set().map_err(raise)
            }
        }
    }
}

/// An operation between a set and others.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Operation {
    And,
    Or,
    Xor,
    AndNot,
}

impl Operation {
    fn joined<'a>(self, sets: &[&'a dyn AsSet]) -> Joined<'a> {
        match self {
            Self::And => set::and(sets),
            Self::Or => set::or(sets),
            Self::Xor => set::xor(sets),
            Self::AndNot => set::andnot(sets),
        }
    }

    /// The result in memory. Two sets in memory use their own operators, which are faster.
    pub(crate) fn compute(self, py: Python<'_>, sets: &[Source]) -> PyResult<IntegerSet> {
        sets.iter().try_for_each(Source::check)?;
        if let [Source::Memory(a), Source::Memory(b)] = sets {
            let (a, b) = (&**a, &**b);
            return Ok(py.detach(|| match self {
                Self::And => a & b,
                Self::Or => a | b,
                Self::Xor => a ^ b,
                Self::AndNot => a - b,
            }));
        }
        interruptible(py, |progress| self.joined(&all(sets)).progress(progress).to_set())
    }

    /// Number of values of the result.
    pub(crate) fn count(self, py: Python<'_>, a: &Source, b: &Source) -> PyResult<u64> {
        a.check()?;
        b.check()?;
        if let (Source::Memory(a), Source::Memory(b)) = (a, b) {
            return Ok(py.detach(|| match self {
                Self::And => a.intersection_len(b),
                Self::Or => a.union_len(b),
                Self::Xor => a.symmetric_difference_len(b),
                Self::AndNot => a.difference_len(b),
            }));
        }
        interruptible(py, |progress| self.joined(&[a, b]).progress(progress).count())
    }

    /// Replaces the set by the result of the operation with another one.
    pub(crate) fn assign(self, set: &mut IntegerSet, other: &IntegerSet) {
        match self {
            Self::And => *set &= other,
            Self::Or => *set |= other,
            Self::Xor => *set ^= other,
            Self::AndNot => *set -= other,
        }
    }
}

/// The sets as operands.
pub(crate) fn all(sets: &[Source]) -> Vec<&dyn AsSet> {
    sets.iter().map(|set| set as &dyn AsSet).collect()
}
