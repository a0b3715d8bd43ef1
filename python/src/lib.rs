//! The Python package: `bitsort._bitsort`, whose names `bitsort/__init__.py` hands on.
//!
//! Flow: object of Python → `numbers`, which reads memory in place (by `arrow` and `buffer`) →
//! `source`, a set in memory or in a file → the library, without the interpreter's lock (`work`) →
//! `buffer::Array` and others, which Python reads in place. Read `sets` first.

mod algebra;
#[expect(unsafe_code, reason = "the Arrow C data interface; why it is sound stands there")]
mod arrow;
mod bloom;
#[expect(unsafe_code, reason = "the buffer protocol; why it is sound stands there")]
mod buffer;
mod columns;
mod error;
mod file;
mod frozen;
mod in_memory;
mod interchange;
mod iterate;
mod keyed;
mod keyed_file;
mod mutable;
mod numbers;
mod parts;
mod plot;
mod probe;
#[cfg(feature = "programs")]
#[expect(unsafe_code, reason = "functions that other programs find by name")]
mod programs;
mod sets;
mod sort;
mod source;
mod work;

use pyo3::prelude::*;

/// The names of the package, beside its modules in Python.
#[pymodule(name = "_bitsort")]
mod package {
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    use crate::algebra::{at_least, eval, verify};
    #[pymodule_export]
    use crate::bloom::Bloom;
    #[pymodule_export]
    use crate::buffer::{Array, MappedWords};
    #[pymodule_export]
    use crate::error::Error;
    #[pymodule_export]
    use crate::file::{SetFile, open};
    #[pymodule_export]
    use crate::frozen::FrozenBitSet;
    #[pymodule_export]
    use crate::interchange::{convert, from_spark_rows, spark_rows};
    #[pymodule_export]
    use crate::iterate::SetIterator;
    #[pymodule_export]
    use crate::keyed::{KeyedPieces, group, group_files, keyed_pieces, keyed_union};
    #[pymodule_export]
    use crate::keyed_file::{KeyedSets, open_sets};
    #[pymodule_export]
    use crate::mutable::BitSet;
    #[pymodule_export]
    use crate::parts::{
        FolderWriter, gather, hashed_pieces, open_bytes, pieces, splits, union, union_len,
        write_part,
    };
    #[pymodule_export]
    use crate::plot::Plot;
    #[pymodule_export]
    use crate::probe::ArrowAnswers;
    #[pymodule_export]
    use crate::sets::{AbstractBitSet, ArrowValues};
    #[pymodule_export]
    use crate::sort::{Report, explain, sort};
    use pyo3::prelude::*;

    /// Registers the classes with `collections.abc`, and makes questions to files that were cut fail.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        bitsort::guard_mapped_files()?;
        bitsort::hush_caught_panics();
        // Python loads this module at its start; `collections.abc` costs ten milliseconds.
        let sets = module.py().import("_collections_abc")?;
        let classes =
            [("Set", "AbstractBitSet"), ("MutableSet", "BitSet"), ("Mapping", "KeyedSets")];
        for (interface, class) in classes {
            sets.getattr(interface)?.call_method1("register", (module.getattr(class)?,))?;
        }
        Ok(())
    }
}
