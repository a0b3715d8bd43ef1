//! Filter files of any kind, told apart by content.

use super::any::AnyFilter;
use super::file::{is_bloom_file, save_with};
use super::filter::BloomFilter;
use super::memory::{Mapped, Memory, Storage};
use super::{dcso, guava};
use crate::bits::map;
use crate::error::{Error, Result};
use crate::output::{Destination, open_destination};
use std::fs::File;
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
        } else if bytes.starts_with(&[0x1F, 0x8B]) {
            return Err(damaged(path, "the file is packed: unpack it with gunzip first"));
        } else {
            return Err(damaged(path, "this is no filter, neither of this program nor of others"));
        })
    }
}

fn damaged(path: &Path, what: &'static str) -> Error {
    Error::Damaged { input: path.display().to_string(), offset: 0, what }
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
        if FilterKind::of(path)? == FilterKind::Bloom {
            let filter = AnyFilter::open(path)?.map_storage(Held::Mapped);
            return Ok(Self { filter, kind: FilterKind::Bloom, data: Vec::new() });
        }
        let FilterFile { filter, kind, data } = FilterFile::load(path)?;
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
        let kind = FilterKind::of(path)?;
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
    /// Writes the filter, whole or not at all, as a file of this kind.
    pub(crate) fn save(&self, path: &Path, kind: FilterKind) -> Result<()> {
        match (kind, &self.filter) {
            (FilterKind::Bloom, filter) => save_with(path, |out| filter.write_to(out)),
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
        let write = |out: &File| match (self.kind, &self.filter) {
            (FilterKind::Guava, AnyFilter::Standard(filter)) => guava::write_to(filter, out),
            (FilterKind::Dcso, AnyFilter::Standard(filter)) => {
                dcso::write_to(filter, &self.data, out)
            }
            (_, filter) => filter.write_to(out),
        };
        match open_destination(path)? {
            Destination::Stream(out) => write(&out).map_err(Error::io("write", path)),
            Destination::Atomic(new) => {
                write(new.file()).map_err(Error::io("write", path))?;
                new.commit_durably()
            }
        }
    }
}

/// A filter as Guava makes it.
pub(crate) fn guava_filter(keys: u64, rate: f64) -> Result<BloomFilter> {
    Ok(guava::filter(keys, rate, guava::Options::default())?)
}
