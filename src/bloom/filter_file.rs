//! Filter files of any kind, told apart by content.

use super::any::AnyFilter;
use super::file::{damaged, is_bloom_file, write_whole};
use super::memory::{Mapped, Memory, Storage};
use super::{dcso, guava};
use crate::error::{Error, Result};
use crate::io::read::map;
use crate::io::write::{Encoding, Spool, Writer};
use std::path::Path;

/// What kind of file a filter lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FilterKind {
    /// A `.bloom` file.
    Bloom,
    /// A file of Guava.
    Guava,
    /// A file of DCSO's `bloom`.
    Dcso,
}

impl FilterKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bloom => "bloom",
            Self::Guava => "guava",
            Self::Dcso => "dcso",
        }
    }

    /// Looks at the content of a file.
    fn of(path: &Path) -> Result<Self> {
        let bytes = map(path)?;
        Ok(if is_bloom_file(&bytes) {
            Self::Bloom
        } else if dcso::is_dcso_file(&bytes) {
            Self::Dcso
        } else if guava::is_guava_file(&bytes, bytes.len() as u64) {
            Self::Guava
        } else if bytes.starts_with(&dcso::GZIP_MAGIC) {
            return Err(damaged(path)((0, dcso::PACKED)));
        } else {
            let what = "this is no filter, neither of this program nor of others";
            return Err(damaged(path)((0, what)));
        })
    }
}

/// Words in memory or in a mapped file.
#[derive(Debug)]
pub(crate) enum Held {
    Memory(Memory),
    Mapped(Mapped),
}

impl Storage for Held {
    #[inline]
    fn words(&self) -> &[u64] {
        match self {
            Self::Memory(memory) => memory.words(),
            Self::Mapped(mapped) => mapped.words(),
        }
    }
}

/// A filter and what else its file has.
#[derive(Debug)]
pub(crate) struct FilterFile<S = Held> {
    pub(crate) filter: AnyFilter<S>,
    pub(crate) kind: FilterKind,
    /// What follows a filter of DCSO's.
    data: Vec<u8>,
}

impl FilterFile {
    /// Opens a filter to be asked: own files where they lie, others in memory.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Self::open_with(path, |_| Ok(()))
    }

    /// The same, after its checksums were checked: for words that go into another
    /// file, whose checksums would hide their damage.
    pub(crate) fn open_checked(path: &Path) -> Result<Self> {
        Self::open_with(path, |filter| filter.verify(path))
    }

    fn open_with(
        path: &Path,
        check: impl FnOnce(&AnyFilter<Mapped>) -> Result<()>,
    ) -> Result<Self> {
        let kind = FilterKind::of(path)?;
        if kind == FilterKind::Bloom {
            let filter = AnyFilter::open(path)?;
            check(&filter)?;
            return Ok(Self { filter: filter.map_storage(Held::Mapped), kind, data: Vec::new() });
        }
        let FilterFile { filter, data, .. } = FilterFile::load_as(path, kind)?;
        Ok(Self { filter: filter.map_storage(Held::Memory), kind, data })
    }
}

impl FilterFile<Memory> {
    /// A new filter for a file of this kind.
    pub(crate) fn new(filter: AnyFilter, kind: FilterKind) -> Self {
        Self { filter, kind, data: Vec::new() }
    }

    /// Reads a filter, to be changed, after its checksums were checked.
    pub(crate) fn load(path: &Path) -> Result<Self> {
        Self::load_as(path, FilterKind::of(path)?)
    }

    fn load_as(path: &Path, kind: FilterKind) -> Result<Self> {
        let (filter, data) = match kind {
            FilterKind::Bloom => (AnyFilter::load(path)?, Vec::new()),
            FilterKind::Guava => (AnyFilter::Standard(guava::load(path)?), Vec::new()),
            FilterKind::Dcso => {
                let (filter, data) = dcso::load(path)?;
                (AnyFilter::Standard(filter), data)
            }
        };
        Ok(Self { filter, kind, data })
    }
}

impl<S: Storage> FilterFile<S> {
    /// Whether there is something that other kinds of files have no place for.
    pub(crate) fn has_data(&self) -> bool {
        !self.data.is_empty()
    }

    /// Writes the filter, whole or not at all, as a file of this kind.
    pub(crate) fn save(&self, path: &Path, kind: FilterKind) -> Result<()> {
        match (kind, &self.filter) {
            (FilterKind::Bloom, filter) => filter.save(path),
            (FilterKind::Guava, AnyFilter::Standard(filter)) => guava::save(filter, path),
            (FilterKind::Dcso, AnyFilter::Standard(filter)) => dcso::save(filter, &self.data, path),
            (kind, filter) => Err(Error::usage(format!(
                "{} has no {} filters, only standard ones",
                kind.name(),
                filter.design()
            ))),
        }
    }

    /// Replaces the file at `path`, and returns when it is safe from a power
    /// cut.
    pub(crate) fn replace(&self, path: &Path) -> Result<()> {
        let write = |out: &mut Writer<'_>| match (self.kind, &self.filter) {
            (FilterKind::Guava, AnyFilter::Standard(filter)) => guava::write_to(filter, out),
            (FilterKind::Dcso, AnyFilter::Standard(filter)) => {
                dcso::write_to(filter, &self.data, out)
            }
            (_, filter) => filter.write_to(out),
        };
        let writer = Writer::open(path, Encoding::Filter, &Spool::default())?;
        write_whole(writer.durable(), write)
    }
}
