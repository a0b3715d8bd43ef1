//! Filter files of every kind, told apart by content.

use super::any::AnyFilter;
use super::file::{self, is_bloom_file, write_whole};
use super::memory::{Memory, Opened, Storage};
use super::{dcso, guava, spark};
use crate::error::{Error, Result};
use crate::io::page::{Damage, damaged};
use crate::io::read::map;
use crate::io::write::{Encoding, Spool, Writer};
use crate::kernel::sys::{Map, map_copy};
use crate::number::named;
use std::io;
use std::path::Path;

/// The kind of file that holds a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FilterKind {
    /// A `.bloom` file.
    Bloom,
    /// A file of Guava; see [`guava`].
    Guava,
    /// A file of DCSO's `bloom`; see [`dcso`].
    Dcso,
    /// A file of Spark, of either version; see [`spark`].
    Spark,
}

named!(FilterKind, ParseFilterKindError);

impl FilterKind {
    /// All of them, in the order in which programs list them.
    pub const ALL: [Self; 4] = [Self::Bloom, Self::Guava, Self::Dcso, Self::Spark];

    /// The name that programs use: `bloom`, `guava`, `dcso` or `spark`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bloom => "bloom",
            Self::Guava => "guava",
            Self::Dcso => "dcso",
            Self::Spark => "spark",
        }
    }

    /// A few words about this kind of file.
    #[must_use]
    pub const fn about(self) -> &'static str {
        match self {
            Self::Bloom => "Bloom filter of this program, a .bloom file",
            Self::Guava => "Bloom filter of Guava",
            Self::Dcso => "Bloom filter of DCSO's bloom",
            Self::Spark => "Bloom filter of Spark",
        }
    }

    /// The kind of the file at `path`, from its first bytes and its length.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or is of no kind that is known.
    pub fn of(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::of_bytes(&map(path)?).map_err(damaged(path))
    }

    fn of_bytes(bytes: &[u8]) -> Result<Self, Damage> {
        Ok(if is_bloom_file(bytes) {
            Self::Bloom
        } else if guava::is_guava_file(bytes, bytes.len() as u64) {
            // Asked before DCSO's, whose mark it has: that says nothing of the length of its file.
            Self::Guava
        } else if dcso::is_dcso_file(bytes) {
            Self::Dcso
        } else if spark::is_spark_file(bytes) {
            Self::Spark
        } else if bytes.starts_with(&dcso::GZIP_MAGIC) {
            return Err(Damage::of(dcso::PACKED));
        } else {
            return Err(Damage::of("this is no filter, neither of this program nor of others"));
        })
    }
}

/// A filter, and the other content of its file.
///
/// # Examples
///
/// ```
/// use bitsort::bloom::{FilterFile, FilterKind, guava};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("seen");
/// let mut seen = guava::filter(1000, 0.03, guava::Options::default())?;
/// seen.insert("fox");
/// guava::save(&seen, &path)?;
///
/// let mut file = FilterFile::load(&path)?;
/// assert_eq!(file.kind(), FilterKind::Guava);
/// file.filter.insert("dog");
/// file.save(&path, FilterKind::Bloom)?;
/// assert!(FilterFile::open(&path)?.filter.contains("dog"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FilterFile<S = Memory> {
    /// The filter.
    pub filter: AnyFilter<S>,
    kind: FilterKind,
    /// The bytes behind the filter in a file of DCSO's `bloom`.
    data: Vec<u8>,
}

impl FilterFile<Opened> {
    /// Opens a filter file of any kind for questions. It maps a `.bloom` file and reads only its
    /// header; it reads files of other programs into memory.
    ///
    /// # Errors
    ///
    /// As those of [`AnyFilter::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_as(&path, FilterKind::of(&path)?)
    }

    /// Opens a file of this kind as [`open`](Self::open) does; it tries no other kind.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is no such file, or if there is too little memory.
    pub fn open_as(path: impl AsRef<Path>, kind: FilterKind) -> Result<Self> {
        let path = path.as_ref();
        if kind == FilterKind::Bloom {
            return Ok(Self { filter: file::open(map(path)?, path)?, kind, data: Vec::new() });
        }
        let FilterFile { filter, data, .. } = FilterFile::load_as(path, kind)?;
        Ok(Self { filter: filter.into_opened(), kind, data })
    }
}

impl FilterFile {
    /// A new filter, for a file of this kind.
    #[must_use]
    pub fn new(filter: AnyFilter, kind: FilterKind) -> Self {
        Self { filter, kind, data: Vec::new() }
    }

    /// Reads a filter file of any kind into memory, where the filter can be changed. It verifies
    /// the checksums first. O(bytes).
    ///
    /// # Errors
    ///
    /// If it cannot be read, is no such file or is damaged, or if there is too little memory.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Self::load_as(&path, FilterKind::of(&path)?)
    }

    /// Reads a file of this kind as [`load`](Self::load) does; it tries no other kind.
    ///
    /// # Errors
    ///
    /// As those of `load`.
    pub fn load_as(path: impl AsRef<Path>, kind: FilterKind) -> Result<Self> {
        let path = path.as_ref();
        Self::load_map(map(path)?, path, kind)
    }

    /// Reads a filter from the bytes of a file of any kind, as [`load`](Self::load) does. O(bytes).
    ///
    /// # Errors
    ///
    /// As those of `load`.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let path = Path::new("a filter in bytes");
        let kind = FilterKind::of_bytes(bytes).map_err(damaged(path))?;
        let copy = map_copy(bytes).map_err(Error::no_memory(bytes.len()))?;
        Self::load_map(copy, path, kind)
    }

    fn load_map(map: Map, path: &Path, kind: FilterKind) -> Result<Self> {
        let (filter, data) = match kind {
            FilterKind::Bloom => {
                let mapped = file::open(map, path)?;
                mapped.verify(path)?;
                let copy = mapped.to_memory()?;
                mapped.intact(path)?;
                (copy, Vec::new())
            }
            FilterKind::Guava => (AnyFilter::Standard(guava::load_map(&map, path)?), Vec::new()),
            FilterKind::Spark => (AnyFilter::Standard(spark::load_map(&map, path)?), Vec::new()),
            FilterKind::Dcso => {
                let (filter, data) = dcso::load_map(&map, path)?;
                (AnyFilter::Standard(filter), data)
            }
        };
        Ok(Self { filter, kind, data })
    }
}

fn no_such_filters<S: Storage>(kind: FilterKind, filter: &AnyFilter<S>) -> Error {
    let (kind, design) = (kind.name(), filter.design());
    Error::usage(format!("{kind} has no {design} filters, only standard ones"))
}

impl<S: Storage> FilterFile<S> {
    /// The kind of file that the filter came from or is for.
    pub fn kind(&self) -> FilterKind {
        self.kind
    }

    /// The bytes behind the filter in a file of DCSO's `bloom`; other kinds have none.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// Writes the filter as a file of this kind, whole or not at all.
    ///
    /// # Errors
    ///
    /// If files of this kind have no such filters, or it cannot be written.
    pub fn save(&self, path: impl AsRef<Path>, kind: FilterKind) -> Result<()> {
        match (kind, &self.filter) {
            (FilterKind::Bloom, filter) => filter.save(path),
            (FilterKind::Guava, AnyFilter::Standard(filter)) => guava::save(filter, path),
            (FilterKind::Spark, AnyFilter::Standard(filter)) => spark::save(filter, path),
            (FilterKind::Dcso, AnyFilter::Standard(filter)) => dcso::save(filter, &self.data, path),
            (kind, filter) => Err(no_such_filters(kind, filter)),
        }
    }

    /// Replaces the file at `path` by one of the same kind. Returns when the new file would survive
    /// a power cut.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn replace(&self, path: impl AsRef<Path>) -> Result<()> {
        self.check_design(self.kind)?;
        let writer = Writer::open(path.as_ref(), Encoding::Filter, &Spool::default())?;
        write_whole(writer.durable(), |out| self.write_to(out, self.kind))
    }

    /// The bytes of a file of this kind. O(bytes).
    ///
    /// # Errors
    ///
    /// If files of this kind have no such filters.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::bloom::{AnyFilter, BloomFilter, FilterFile, FilterKind};
    ///
    /// let mut seen = BloomFilter::builder().keys(1000).rate(0.01).build()?;
    /// seen.insert("fox");
    /// let bytes = FilterFile::new(AnyFilter::Standard(seen), FilterKind::Bloom).to_bytes(FilterKind::Bloom)?;
    /// assert!(FilterFile::from_bytes(&bytes)?.filter.contains("fox"));
    /// # Ok::<(), bitsort::Error>(())
    /// ```
    pub fn to_bytes(&self, kind: FilterKind) -> Result<Vec<u8>> {
        self.check_design(kind)?;
        let mut bytes = Vec::new();
        // Memory takes all bytes: only a filter of another kind can be refused.
        let written = self.write_to(&mut bytes, kind);
        written.map_err(|refused| Error::usage(refused.to_string()))?;
        Ok(bytes)
    }

    /// Refuses a kind of files that have only standard filters for another one.
    fn check_design(&self, kind: FilterKind) -> Result<()> {
        if kind == FilterKind::Bloom || matches!(self.filter, AnyFilter::Standard(_)) {
            return Ok(());
        }
        Err(no_such_filters(kind, &self.filter))
    }

    fn write_to(&self, out: impl io::Write, kind: FilterKind) -> io::Result<()> {
        match (kind, &self.filter) {
            (FilterKind::Guava, AnyFilter::Standard(filter)) => guava::write_to(filter, out),
            (FilterKind::Spark, AnyFilter::Standard(filter)) => spark::write_to(filter, out),
            (FilterKind::Dcso, AnyFilter::Standard(filter)) => {
                dcso::write_to(filter, &self.data, out)
            }
            (_, filter) => filter.write_to(out),
        }
    }
}

impl AnyFilter<Opened> {
    /// Opens a filter file of any kind and design, told apart by its content. It maps a `.bloom`
    /// file: the cost is the same for any size, and a page is read when a question needs it. It
    /// reads files of Guava, of DCSO's `bloom` and of Spark into memory. [`FilterFile::open_as`]
    /// opens a file of one kind only.
    ///
    /// A mapped file must not be shortened in place while it is open: the kernel ends processes
    /// that read bytes which the file no longer has, unless they called
    /// [`guard_mapped_files`](crate::guard_mapped_files). Programs that replace it by renaming, as
    /// [`save`](super::Filter::save) does, do no harm.
    ///
    /// # Errors
    ///
    /// If it cannot be read, is no such file, or its header contradicts itself or the file's
    /// length; or if there is too little memory.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        FilterFile::open(path).map(|file| file.filter)
    }
}

impl AnyFilter {
    /// Reads a filter file of any kind into memory, where the filter can be changed. It verifies
    /// the checksums first. O(bytes).
    ///
    /// # Errors
    ///
    /// As those of [`FilterFile::load`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        FilterFile::load(path).map(|file| file.filter)
    }
}
