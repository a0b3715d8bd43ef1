//! Iterators of sets.

use crate::source::Source;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Values that are looked up at a time.
const BATCH: usize = 1 << 10;

/// The values of a set as it was when the iterator was made.
#[pyclass(frozen, module = "bitsort")]
pub(crate) struct SetIterator {
    source: Source,
    descends: bool,
    state: Mutex<State>,
}

struct State {
    batch: std::vec::IntoIter<u64>,
    /// Where the next batch begins, if there can be one.
    next: Option<u64>,
    most: usize,
}

impl SetIterator {
    pub(crate) fn ascending(source: Source, from: u64) -> Self {
        Self::new(source, from, false)
    }

    pub(crate) fn descending(source: Source) -> Self {
        Self::new(source, u64::MAX, true)
    }

    fn new(source: Source, next: u64, descends: bool) -> Self {
        // Begin with a small batch, for callers that take only the first values.
        let state = State { batch: Vec::new().into_iter(), next: Some(next), most: 16 };
        Self { source, descends, state: Mutex::new(state) }
    }

    fn state(&self, py: Python<'_>) -> MutexGuard<'_, State> {
        self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    fn batch(&self, state: &State) -> PyResult<(Vec<u64>, Option<u64>)> {
        let Some(start) = state.next else { return Ok((Vec::new(), None)) };
        Ok(if self.descends {
            let values = self.source.batch_back(start, state.most)?;
            let next = values.last().and_then(|last| last.checked_sub(1));
            (values, next)
        } else {
            let values = self.source.batch(start, state.most)?;
            let next = values.last().and_then(|last| last.checked_add(1));
            (values, next)
        })
    }
}

#[pymethods]
impl SetIterator {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        if let Some(value) = self.state(py).batch.next() {
            return Ok(Some(value));
        }
        py.check_signals()?; // a caller in C does not do it, and a handler may use this iterator
        let mut state = self.state(py);
        if let Some(value) = state.batch.next() {
            return Ok(Some(value));
        }
        let (values, next) = self.batch(&state)?;
        *state = State { batch: values.into_iter(), next, most: (state.most * 4).min(BATCH) };
        Ok(state.batch.next())
    }
}
