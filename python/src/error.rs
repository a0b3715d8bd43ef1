//! Turns errors of the library into exceptions with the same facts.

use bitsort::{Error as Fault, Machine};
use pyo3::create_exception;
use pyo3::exceptions::{
    PyException, PyKeyboardInterrupt, PyMemoryError, PyOSError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::error::Error as _;
use std::fmt::Display;
use std::io;
use std::os::unix::ffi::OsStrExt as _;

create_exception!(
    bitsort,
    Error,
    PyException,
    "What is wrong with a file, or with a run. `kind` names it; further attributes are its facts,\n\
     such as `input`, `line`, `offset`, `reason`, `excerpt`, `value`."
);

/// The exception for an error: `OSError` if the system refused, `ValueError` for contradictory
/// arguments, `MemoryError`, and [`Error`] for all others.
pub(crate) fn raise(fault: Fault) -> PyErr {
    match fault {
        Fault::Io { action, path, source } => {
            if path.as_os_str().as_bytes().contains(&0) {
                return invalid("embedded null byte in the name of a file");
            }
            let Some(code) = source.raw_os_error() else {
                // The kind of the error chooses the subclass of OSError.
                let text = format!("cannot {action} {}: {source}", path.display());
                return io::Error::new(source.kind(), text).into();
            };
            let text = source.to_string();
            let text = text.split(" (os error").next().unwrap_or_default().to_owned();
            PyOSError::new_err((code, text, path.into_os_string()))
        }
        Fault::OutOfMemory { .. } => PyMemoryError::new_err(fault.to_string()),
        Fault::Usage { what } => PyValueError::new_err(what),
        Fault::Interrupted => PyKeyboardInterrupt::new_err(()),
        fault => Python::attach(|py| with_facts(py, &fault).unwrap_or_else(|error| error)),
    }
}

/// A `ValueError` with the text of an error of the library.
pub(crate) fn invalid(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// What a `TypeError` says of an array of truth values.
pub(crate) const TRUTHS: &str =
    "truth values are no integers: numpy.flatnonzero gives the places of the true ones";
/// The same of an array of floats.
pub(crate) const FLOATS: &str = "index 0: floats are no natural numbers, and may have lost digits of ids: read the column as integers, in pandas with dtype=\"Int64\"";

/// A `TypeError`.
pub(crate) fn wrong_type(what: impl Into<String>) -> PyErr {
    PyTypeError::new_err(what.into())
}

/// The same exception, with the index of the item that it is about.
pub(crate) fn at_index(py: Python<'_>, index: usize, error: PyErr) -> PyErr {
    let what = || format!("index {index}: {}", error.value(py));
    if error.is_instance_of::<PyTypeError>(py) {
        wrong_type(what())
    } else if error.is_instance_of::<PyValueError>(py) {
        invalid(what())
    } else {
        error // what an object itself raises is not ours to change
    }
}

fn with_facts(py: Python<'_>, fault: &Fault) -> PyResult<PyErr> {
    let facts = PyDict::new(py);
    let kind = kind_and_facts(fault, &facts)?;
    let mut text = fault.to_string();
    if let Some(cause) = fault.source() {
        text = format!("{text}: {cause}");
    }
    let error = Error::new_err(text);
    let value = error.value(py);
    value.setattr("kind", kind)?;
    for (name, fact) in facts {
        value.setattr(name.cast::<pyo3::types::PyString>()?, fact)?;
    }
    Ok(error)
}

/// Puts facts into a dictionary, by the names of their variables.
macro_rules! note {
    ($facts:ident, $($fact:ident),*) => { $( $facts.set_item(stringify!($fact), $fact)?; )* };
}

/// Puts the facts into `facts`; gives the name of the error.
fn kind_and_facts(fault: &Fault, facts: &Bound<'_, PyDict>) -> PyResult<&'static str> {
    Ok(match fault {
        Fault::MalformedLine { input, line, offset, reason, excerpt } => {
            let reason = reason.to_string();
            note!(facts, input, line, offset, reason, excerpt);
            "MalformedLine"
        }
        Fault::MalformedRow { input, row, reason, excerpt } => {
            let reason = reason.to_string();
            note!(facts, input, row, reason, excerpt);
            "MalformedRow"
        }
        Fault::Unsorted { input, line, previous, value, .. } => {
            note!(facts, input, line, previous, value);
            "Unsorted"
        }
        Fault::Damaged { input, offset, what: reason }
        | Fault::DamagedIndex { input, offset, what: reason } => {
            note!(facts, input, offset, reason);
            "Damaged"
        }
        Fault::ValueTooLarge { value, format } => {
            note!(facts, value, format);
            "ValueTooLarge"
        }
        Fault::TruncatedValue { input, offset, extra, format } => {
            note!(facts, input, offset, extra, format);
            "TruncatedValue"
        }
        Fault::NoSuchColumn { input, found, column } => {
            note!(facts, input, found, column);
            "NoSuchColumn"
        }
        Fault::TableColumn { input, what: reason, .. } => {
            note!(facts, input, reason);
            "TableColumn"
        }
        Fault::LineTooLong { input, offset, limit, .. } => {
            let limit = limit.bytes();
            note!(facts, input, offset, limit);
            "LineTooLong"
        }
        Fault::InputChanged { input, expected, found, .. } => {
            note!(facts, input, expected, found);
            "InputChanged"
        }
        Fault::MemoryLimitTooSmall { limit_bytes: limit, needed_bytes: needed } => {
            note!(facts, limit, needed);
            "MemoryLimitTooSmall"
        }
        Fault::Folder { folder, fault } => {
            let (input, reason) = (folder.display().to_string(), fault.to_string());
            note!(facts, input, reason);
            "Folder"
        }
        other => input_of(other, facts)?,
    })
}

/// The same for errors whose one fact is the input, or that have none.
fn input_of(fault: &Fault, facts: &Bound<'_, PyDict>) -> PyResult<&'static str> {
    let (kind, input) = match fault {
        Fault::InputRewritten { input } => ("InputChanged", Some(input)),
        Fault::CannotReread { input } => ("CannotReread", Some(input)),
        Fault::Unrecognized { input } => ("Unrecognized", Some(input)),
        Fault::UnreadTable { input, .. } => ("UnreadTable", Some(input)),
        Fault::NotConvertible { input, .. } => ("NotConvertible", Some(input)),
        Fault::NoIpv4 { input, .. } => ("NoIpv4", Some(input)),
        Fault::NoKey { input, .. } => ("NoKey", Some(input)),
        Fault::NoPlan { .. } => ("NoPlan", None),
        Fault::FilterFull { .. } => ("FilterFull", None),
        Fault::Accounting { .. } => ("Accounting", None),
        _ => ("Error", None),
    };
    if let Some(input) = input {
        facts.set_item("input", input)?;
    }
    Ok(kind)
}

/// `bytes` as an object. `MemoryError` if Python has no room for it.
pub(crate) fn bytes_object<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, bytes.len(), |to| {
        to.copy_from_slice(bytes);
        Ok(())
    })
}

/// Fails if the system has no room for so many bytes. Where memory is taken without asking, the
/// process would end.
pub(crate) fn check_memory(bytes: u64) -> PyResult<()> {
    /// Linux grants fewer bytes than these although it may not have them.
    const MANY: u64 = 1 << 30;
    let refused = || PyMemoryError::new_err(format!("no memory for {bytes} bytes"));
    if bytes >= MANY && bytes > Machine::detect().available_bytes {
        return Err(refused());
    }
    let room = usize::try_from(bytes).unwrap_or(usize::MAX);
    Vec::<u8>::new().try_reserve_exact(room).map_err(|_| refused())
}

/// Appends an item of an iterable of any length.
///
/// # Errors
///
/// If there is no memory for twice as many.
pub(crate) fn push<T>(items: &mut Vec<T>, item: T) -> PyResult<()> {
    const FEW: usize = 1 << 10;
    if items.len() == items.capacity() {
        let more = items.len().max(FEW);
        check_memory((size_of::<T>() as u64).saturating_mul((items.len() + more) as u64))?;
        items.try_reserve(more).map_err(|error| PyMemoryError::new_err(error.to_string()))?;
    }
    items.push(item);
    Ok(())
}

/// What `of` makes of the items of an iterable of any length. Ctrl-C ends it.
pub(crate) fn collected<'py, T>(
    items: &Bound<'py, PyAny>,
    of: impl Fn(Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    const BLOCK: usize = 1 << 10;
    let mut all = Vec::new();
    for (index, item) in items.try_iter()?.enumerate() {
        if index % BLOCK == 0 {
            items.py().check_signals()?; // an iterator of C does not do it
        }
        push(&mut all, of(item?)?)?;
    }
    Ok(all)
}
