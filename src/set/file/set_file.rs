//! A set in a mapped file.

use super::header::{CARDINALITY_AT, Header, MAGIC, Representation};
use crate::error::{Error, FolderFault, Result};
use crate::io::page::{self, Section, damaged, verify_blocks, verify_checksums};
use crate::io::read::{check_whole, map};
use crate::io::roaring;
use crate::kernel::sys::{LOST, Map, map_file, maps_are_guarded};
use crate::kernel::{on_each, processors};
use crate::progress::{Phase, Progress};
use crate::set::folder::{Folder, MANIFEST, open_parts};
use crate::set::keyed::{self, Body};
use crate::set::sparse::GroupEncoder;
use crate::set::view::{
    Bucket, Damage, DenseView, RoaringView, RunList, SetView, Shape, SparseView, Table,
    TreemapView, check_buckets,
};
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A set in a `.bits` file or a bare roaring file in the portable format, of 32
/// or 64 bits; a folder of parts, which are `.bits` files; or one of the sets of a `.sets` file, which is named `FILE:KEY` (see
/// [`KeyedSets`](crate::set::keyed::KeyedSets)).
///
/// Opening maps the file and looks at its structure; nothing is decoded. The
/// cost is the same for any size of a `.bits` file: its header, the last piece or
/// bucket, whose values make up the number that the header says, for a 32-bit
/// roaring bitmap the heads of its containers, at most 2^16, and for a sparse set
/// 32 bytes for 2^16 values. A bare
/// 64-bit file has no table of its buckets and is walked once.
///
/// The file must not be shortened in place while it is open: the kernel ends
/// processes that read bytes which the file no longer has, unless they called
/// [`guard_mapped_files`](crate::guard_mapped_files). Programs that replace it by renaming,
/// as `bitset` does, do no harm.
///
/// # Examples
///
/// ```
/// use bitsort::set::{IntegerSet, SetFile};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("ids.bits");
/// let ids: IntegerSet = [35, 40, 1 << 40].into_iter().collect();
/// ids.write(&path)?;
/// let file = SetFile::open(&path)?;
/// assert_eq!(file.len(), 3);
/// assert!(file.contains(40)? && !file.contains(36)?);
/// assert_eq!(file.range(36..).next().transpose()?, Some(40));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SetFile {
    path: PathBuf,
    map: Arc<Map>,
    content: Content,
    is_named: bool,
}

#[derive(Debug)]
enum Content {
    Bits(Header),
    Roaring {
        cardinality: u64,
    },
    Treemap {
        buckets: Vec<Bucket>,
        cardinality: u64,
    },
    Keyed(Member),
    /// A folder, whose manifest is mapped.
    Folder(Folder),
}

/// The place of a set in a `.sets` file, and its entry in the directory; and the place of the
/// checksums of that file.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) place: Range<usize>,
    pub(crate) representation: Representation,
    pub(crate) cardinality: u64,
    pub(crate) checksums: Section,
}

/// The sections of a `.bits` file that make up its set, and the base of a plain bitmap.
pub(crate) struct Sections {
    pub(crate) base: Option<u64>,
    pub(crate) sections: [Section; 2],
}

/// The kind of a set file, as its first bytes say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetKind {
    /// A `.bits` file.
    Bits,
    /// A bare roaring bitmap of 32 bits.
    Roaring,
    /// A bare roaring bitmap of 64 bits.
    Treemap,
    /// A `.sets` file, or one of its sets.
    Keyed,
    /// A folder of parts, which are `.bits` files.
    Folder,
}

impl SetFile {
    /// Opens a file.
    ///
    /// # Errors
    ///
    /// If it cannot be read, is none of these formats, or contradicts its own.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        match Self::open_if(path, |_| true)? {
            Some(set) => Ok(set),
            None => Self::open_file(path),
        }
    }

    /// Opens a file that is neither a folder nor one of several sets in a file.
    pub(in crate::set) fn open_file(path: &Path) -> Result<Self> {
        Self::from_map(map(path)?, path).map(Self::named)
    }

    fn named(self) -> Self {
        Self { is_named: true, ..self }
    }

    fn open_folder(path: &Path) -> Result<Self> {
        let manifest = path.join(MANIFEST);
        if matches!(manifest.try_exists(), Ok(false)) {
            return Err(FolderFault::NoManifest.of(path));
        }
        let map = map(&manifest)?;
        let folder = open_parts(path, &map)?;
        let content = Content::Folder(folder);
        let set = Self { path: path.into(), map: map.into(), content, is_named: true };
        set.intact().map(|()| set)
    }

    /// Opens a file if its first bytes are those of a set; none for any other content, or if it is
    /// no regular file.
    pub(crate) fn open_if_set(path: &Path) -> Result<Option<Self>> {
        Self::open_if(path, |_| true)
    }

    /// The same for a file that should have binary numbers: these may begin as a roaring bitmap
    /// does, which has no magic number of eight bytes.
    pub(crate) fn open_if_sure(path: &Path) -> Result<Option<Self>> {
        Self::open_if(path, |kind| !matches!(kind, SetKind::Roaring | SetKind::Treemap))
    }

    fn open_if(path: &Path, is_meant: impl Fn(SetKind) -> bool) -> Result<Option<Self>> {
        let metadata = match std::fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(missing) => match keyed::open_named(path)? {
                Some(set) => return Ok(Some(set)),
                None => return Err(Error::io("open", path)(missing)),
            },
        };
        if metadata.is_dir() {
            return Self::open_folder(path).map(Some);
        }
        // Files of /proc say that they have 0 bytes, and cannot be mapped.
        if !metadata.is_file() || metadata.len() == 0 {
            return Ok(None);
        }
        let map = map(path)?;
        match SetKind::of(&map) {
            Some(kind) if is_meant(kind) => Self::from_map(map, path).map(|set| Some(set.named())),
            _ => Ok(None),
        }
    }

    /// The set in an open file; `path` is for messages.
    pub(crate) fn from_file(file: &File, path: &Path) -> Result<Self> {
        Self::from_map(map_file(file).map_err(Error::io("map", path))?, path)
    }

    /// Lets the pages of its file go that were read so far; see [`Map::let_pages_go`].
    pub(crate) fn let_pages_go(&self) {
        self.map.let_pages_go();
    }

    /// One set of a `.sets` file that is mapped; `path` is its name.
    pub(crate) fn from_member(map: Arc<Map>, path: PathBuf, member: Member) -> Result<Self> {
        let set = Self { path, map, content: Content::Keyed(member), is_named: false };
        set.after(set.check_structure())?;
        Ok(set)
    }

    pub(in crate::set) fn from_map(map: Map, path: &Path) -> Result<Self> {
        let content = match SetKind::of(&map) {
            Some(SetKind::Bits) => Content::Bits(Header::read(&map).map_err(damaged(path))?),
            Some(SetKind::Roaring) => {
                let view = RoaringView::whole(&map).map_err(damaged(path))?;
                Content::Roaring { cardinality: view.rank(view.len()) }
            }
            Some(SetKind::Treemap) => {
                let (buckets, cardinality) = check_buckets(&map).map_err(damaged(path))?;
                Content::Treemap { buckets, cardinality }
            }
            Some(SetKind::Keyed) => {
                let named = path.display();
                return Err(Error::usage(if keyed::is_sets_file(path) {
                    format!("{named} has sets by key: name one, {named}:KEY")
                } else {
                    format!("{named} has sets by key: name one of a plain file, FILE.sets:KEY")
                }));
            }
            Some(SetKind::Folder) | None => {
                return Err(damaged(path)(Damage::of(NO_SET)));
            }
        };
        let set = Self { path: path.into(), map: Arc::new(map), content, is_named: false };
        set.after(set.check_structure())?;
        Ok(set)
    }

    /// Checks that the file still has all bytes that were read. Only callers that ask a view need
    /// it. Without [`guard_mapped_files`](crate::guard_mapped_files) it never fails; with it, it asks
    /// the system for the length of the file, or of each part of a folder.
    ///
    /// # Errors
    ///
    /// If the file lost some: answers from them are wrong.
    pub fn intact(&self) -> Result<()> {
        if !maps_are_guarded() {
            return Ok(());
        }
        check_whole(&self.map, &self.path)?;
        match &self.content {
            Content::Folder(folder) => folder.intact(),
            _ => Ok(()),
        }
    }

    /// The answer, unless bytes were lost from which it may come.
    pub(crate) fn after<T>(&self, answer: Result<T>) -> Result<T> {
        self.intact().and(answer)
    }

    /// Checks what the header of a `.bits` file does not say by itself.
    fn check_structure(&self) -> Result<()> {
        if let Content::Keyed(member) = &self.content {
            return self.body(member).check().map_err(self.damaged());
        }
        let Content::Bits(header) = &self.content else { return Ok(()) };
        let damaged = self.damaged();
        let payload = header.payload.of(&self.map);
        let wrong = |what| Err(Damage { offset: 0, what });
        let checked = match header.representation {
            Representation::Dense => Ok(()),
            Representation::Roaring => RoaringView::new(payload).and_then(|view| {
                if view.check()? != payload.len() {
                    return wrong("the roaring bitmap does not end where its section does");
                }
                if header.ranks.len != 8 * view.len() as u64 {
                    return wrong("the number of ranks is not that of the containers");
                }
                Ok(())
            }),
            Representation::Treemap => {
                let count = payload.first_chunk().map(|&count| u64::from_le_bytes(count));
                let entries = header.table.len / crate::set::view::ENTRY_BYTES as u64;
                if count == Some(entries) {
                    Ok(())
                } else {
                    wrong("the number of buckets is not that of their table")
                }
            }
            Representation::Sparse => {
                let sparse = self.sparse(header);
                let ends = sparse.ends().unwrap_or_default();
                match sparse.check() {
                    Ok(()) if ends != (header.min, header.max) => wrong(OTHER_ENDS),
                    checked => checked,
                }
            }
            Representation::Runs => {
                let ends = self.runs(header).ends().unwrap_or_default();
                if ends == (header.min, header.max) { Ok(()) } else { wrong(OTHER_ENDS) }
            }
            Representation::Parts => wrong(NO_HEADER),
        };
        checked.map_err(&damaged)?;
        if self.view().len().map_err(&damaged)? != header.cardinality {
            let what = "the number of values is not that of the set";
            return Err(page::damaged(&self.path)(Damage { offset: CARDINALITY_AT, what }));
        }
        Ok(())
    }

    /// The file's name.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether its path alone leads to it. Numbers that were sorted into a nameless file, bytes in
    /// memory and one of the sets of a `.sets` file have none such.
    #[must_use]
    pub fn is_named(&self) -> bool {
        self.is_named
    }

    /// Bytes of the file. For a set in a `.sets` file, its own bytes; for a folder, those of its
    /// manifest and its parts.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        match &self.content {
            Content::Keyed(member) => member.place.len() as u64,
            Content::Folder(folder) => folder.file_bytes().saturating_add(self.map.len() as u64),
            _ => self.map.len() as u64,
        }
    }

    /// The sections that a `.sets` file copies from a `.bits` file.
    pub(crate) fn sections(&self) -> Option<Sections> {
        let Content::Bits(header) = &self.content else { return None };
        let is_dense = header.representation == Representation::Dense;
        let last = if is_dense { header.ranks } else { header.table };
        Some(Sections { base: is_dense.then_some(header.base), sections: [header.payload, last] })
    }

    fn body(&self, member: &Member) -> Body<'_> {
        let &Member { representation, cardinality, .. } = member;
        // `open` has checked the place.
        let bytes = self.map.get(member.place.clone()).unwrap_or_default();
        Body { bytes, representation, cardinality }
    }

    /// The bytes of the file; of a folder, those of its manifest.
    pub(in crate::set) fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// The kind of the file.
    #[must_use]
    pub fn kind(&self) -> SetKind {
        match self.content {
            Content::Bits(_) => SetKind::Bits,
            Content::Roaring { .. } => SetKind::Roaring,
            Content::Treemap { .. } => SetKind::Treemap,
            Content::Keyed(_) => SetKind::Keyed,
            Content::Folder(_) => SetKind::Folder,
        }
    }

    /// How the set is represented.
    #[must_use]
    pub fn representation(&self) -> Representation {
        match &self.content {
            Content::Bits(header) => header.representation,
            Content::Roaring { .. } => Representation::Roaring,
            Content::Treemap { .. } => Representation::Treemap,
            Content::Keyed(member) => member.representation,
            Content::Folder(_) => Representation::Parts,
        }
    }

    /// The first and the last value that a plain bitmap has a bit for. For other representations, 0
    /// and 2^32 - 1 if a roaring bitmap has 32 bits, or the largest value of a `.bits` file needs no
    /// more; else 2^64 - 1.
    #[must_use]
    pub fn universe(&self) -> (u64, u64) {
        match (&self.content, self.representation()) {
            (Content::Bits(header), Representation::Dense) => {
                // A bitmap without bits gets a universe of one value, which it does not have.
                (header.base, header.base + header.bits.saturating_sub(1))
            }
            (Content::Keyed(member), Representation::Dense) => {
                self.body(member).dense().map_or((0, 0), |(_, ends)| ends) // `open` has checked it
            }
            (_, Representation::Roaring) => (0, u32::MAX.into()),
            (Content::Bits(header), _) if header.max <= u32::MAX.into() => (0, u32::MAX.into()),
            _ => (0, u64::MAX),
        }
    }

    /// Number of values, as the file says. O(1).
    #[must_use]
    pub fn len(&self) -> u64 {
        match &self.content {
            Content::Bits(header) => header.cardinality,
            Content::Keyed(member) => member.cardinality,
            Content::Roaring { cardinality } | Content::Treemap { cardinality, .. } => *cardinality,
            Content::Folder(folder) => folder.len(),
        }
    }

    /// The set, for queries. O(1).
    #[must_use]
    pub fn view(&self) -> SetView<'_> {
        if self.map.is_lost() {
            return SetView(Shape::Damaged(Damage::of(LOST)));
        }
        let shape = match &self.content {
            Content::Bits(header) => {
                let payload = header.payload.of(&self.map);
                let ranks = header.ranks.of(&self.map).as_chunks().0;
                match header.representation {
                    Representation::Dense => {
                        let words = payload.as_chunks().0;
                        Ok(Shape::Dense(DenseView::new(words, header.base >> 16, Some(ranks))))
                    }
                    Representation::Roaring => {
                        RoaringView::new(payload).map(|view| Shape::Roaring(view.with_ranks(ranks)))
                    }
                    Representation::Treemap => {
                        let table = header.table.of(&self.map).as_chunks().0;
                        Ok(Shape::Treemap(TreemapView::new(payload, Table::Mapped(table))))
                    }
                    Representation::Sparse => Ok(Shape::Sparse(self.sparse(header))),
                    Representation::Runs => Ok(Shape::Runs(self.runs(header))),
                    Representation::Parts => Err(Damage::of(NO_HEADER)),
                }
            }
            Content::Folder(folder) => Ok(Shape::Folder(folder.view())),
            Content::Roaring { .. } => RoaringView::new(&self.map).map(Shape::Roaring),
            Content::Treemap { buckets, .. } => {
                Ok(Shape::Treemap(TreemapView::new(&self.map, Table::Walked(buckets))))
            }
            Content::Keyed(member) => self.body(member).view().map(|view| view.0),
        };
        // The head was sound when the file was opened: somebody has changed it since.
        SetView(shape.unwrap_or_else(Shape::Damaged))
    }

    /// The sparse set that the header says the file has.
    fn sparse(&self, header: &Header) -> SparseView<'_> {
        let table = header.table.of(&self.map).as_chunks().0;
        SparseView::new(header.payload.of(&self.map), table, header.cardinality)
    }

    /// The list of runs that the header says the file has.
    fn runs(&self, header: &Header) -> RunList<'_> {
        RunList::new(header.payload.of(&self.map).as_chunks().0)
    }

    /// The words of a plain bitmap, and the value of its first bit: bit `i` of word `w` stands for
    /// this value plus `64 w + i`. None for any other representation. O(1); it only reads what the
    /// caller looks at.
    #[must_use]
    pub fn words(&self) -> Option<(u64, &[[u8; 8]])> {
        match &self.content {
            Content::Bits(header) if header.representation == Representation::Dense => {
                Some((header.base, header.payload.of(&self.map).as_chunks().0))
            }
            _ => None,
        }
    }

    /// Adds the name of this file to damage that its view found.
    pub(crate) fn damaged(&self) -> impl Fn(Damage) -> Error {
        let offset = match &self.content {
            Content::Bits(header) => header.payload.offset,
            Content::Keyed(member) => member.place.start as u64,
            _ => 0,
        };
        move |damage| match &self.content {
            Content::Folder(folder) => folder.damaged(&self.path, damage),
            _ => damaged(&self.path)(damage.behind(offset)),
        }
    }

    /// Reads the whole file: checks the checksums, the order of all values, and the numbers of
    /// values that the file says. O(bytes).
    ///
    /// # Errors
    ///
    /// The first damage found.
    pub fn verify(&self) -> Result<()> {
        self.verify_with(&Progress::default())
    }

    /// The same with progress, which can also cancel it.
    ///
    /// # Errors
    ///
    /// As [`verify`](Self::verify), or if it is cancelled.
    pub fn verify_with(&self, progress: &Progress) -> Result<()> {
        self.verify_bytes(progress)?;
        self.after(self.verify_values(progress))
    }

    /// Compares the bytes with their checksums, if the file has some. Whoever makes a new file of
    /// these bytes asks for this first: else damage would get checksums that are right. O(bytes), many
    /// gigabytes a second.
    ///
    /// # Errors
    ///
    /// The first damage found, or if it is cancelled.
    pub fn verify_bytes(&self, progress: &Progress) -> Result<()> {
        self.after(self.compare_checksums(progress))
    }

    fn compare_checksums(&self, progress: &Progress) -> Result<()> {
        match &self.content {
            Content::Folder(folder) => folder.verify_bytes(&self.path, progress),
            Content::Bits(header) => {
                verify_checksums(&self.map, header.checksums, damaged(&self.path), progress)
            }
            Content::Keyed(Member { place, checksums, .. }) => {
                let place = place.start as u64..place.end as u64;
                verify_blocks(&self.map, *checksums, place, damaged(&self.path), progress)
            }
            Content::Roaring { .. } | Content::Treemap { .. } => Ok(()),
        }
    }

    /// Reads the values and their facts, and no checksums.
    pub(in crate::set) fn verify_values(&self, progress: &Progress) -> Result<()> {
        if let Content::Folder(folder) = &self.content {
            return folder.verify_values(progress);
        }
        match self.view().0 {
            Shape::Sparse(sparse) => return self.verify_groups(sparse, progress),
            Shape::Runs(runs) => return self.verify_runs(runs, progress),
            Shape::Treemap(treemap) => treemap.verify().map_err(self.damaged())?,
            // Pieces without values have numbers, too, and the walk below does not meet them.
            Shape::Dense(dense) => dense.verify().map_err(self.damaged())?,
            _ => {}
        }
        self.verify_containers(progress)
    }

    fn verify_groups(&self, sparse: SparseView<'_>, progress: &Progress) -> Result<()> {
        let count = sparse.groups();
        progress.enter(Phase::Walk, count as u64);
        let threads = if count < SHARED_GROUPS { 1 } else { processors().min(MAX_VERIFIERS) };
        let part = count.div_ceil(threads).max(1);
        let parts = (0..count).step_by(part).map(|first| first..count.min(first + part)).collect();
        let verified = on_each(parts, |groups: Range<usize>| {
            let (mut values, mut encoder) = (Vec::new(), GroupEncoder::default());
            for index in groups {
                sparse.verify_group(index, &mut values, &mut encoder).map_err(self.damaged())?;
                progress.advance(1);
                Error::if_cancelled(progress)?;
            }
            Ok(())
        });
        verified.into_iter().collect()
    }

    fn verify_runs(&self, runs: RunList<'_>, progress: &Progress) -> Result<()> {
        progress.enter(Phase::Walk, runs.count() as u64);
        let mut values = 0;
        for index in 0..runs.count() {
            values = runs.verify_run(index, values).map_err(self.damaged())?;
            progress.advance(1);
            Error::if_cancelled(progress)?;
        }
        Ok(())
    }

    fn verify_containers(&self, progress: &Progress) -> Result<()> {
        let damaged = self.damaged();
        let mut cursor = self.view().without_ranks().cursor();
        let max = self.view().max().map_err(&damaged)?;
        progress.enter(Phase::Walk, max.map_or(0, |max| (max >> 16) + 1));
        let has_ranks = self.view().has_ranks();
        let (mut count, mut ends, mut before) = (0_u64, None, 0);
        let wrong = |what| damaged(Damage { offset: 0, what });
        while let Some((key, container)) = cursor.next_sound().map_err(&damaged)? {
            progress.advance(key - before);
            Error::if_cancelled(progress)?;
            before = key;
            let (Some(low), Some(high)) = (container.next(0), container.previous(u16::MAX)) else {
                continue;
            };
            if has_ranks
                && self.view().rank(key << 16).map_err(&damaged)?
                    != count + u64::from(container.contains(0))
            {
                return Err(wrong("the number of values before a container is wrong"));
            }
            count += u64::from(container.len());
            let min = ends.map_or(key << 16 | u64::from(low), |(min, _)| min);
            ends = Some((min, key << 16 | u64::from(high)));
        }
        let found = (count, ends.unwrap_or((0, 0)));
        let said = match &self.content {
            Content::Bits(header) => (header.cardinality, (header.min, header.max)),
            _ => (self.len(), found.1),
        };
        if found != said {
            return Err(wrong("cardinality, smallest or largest value are not those of the set"));
        }
        Ok(())
    }
}

/// Fewer groups are verified before threads have started.
const SHARED_GROUPS: usize = 16;
/// Most threads that verify groups. Each takes 0.7 MB.
const MAX_VERIFIERS: usize = 4;

const OTHER_ENDS: &str = "smallest or largest value are not those of the set";
/// The message for bytes that are no set.
pub(crate) const NO_SET: &str = "neither a .bits file nor a portable roaring bitmap";
/// Bytes that show whether a file is text.
const TEXT_BYTES: usize = 1 << 14;
/// Representation that no header has.
const NO_HEADER: &str = "the file has no parts";

impl SetKind {
    /// Whether a file that begins with `head` may be a set. No text file may be.
    pub(crate) fn may_begin(head: &[u8]) -> bool {
        let is_empty = head == [0; 8];
        let is_own = head.starts_with(&MAGIC) || head.starts_with(&keyed::MAGIC);
        is_own || is_empty || roaring::may_begin(head)
    }

    /// The kind of a file that begins with these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(&MAGIC) {
            return Some(Self::Bits);
        }
        if bytes.starts_with(&keyed::MAGIC) {
            return Some(Self::Keyed);
        }
        // The cookie of a bitmap with runs is text, too.
        let head = &bytes[..bytes.len().min(TEXT_BYTES)];
        if !roaring::may_begin(bytes) && roaring::has_no_controls(head) {
            return None;
        }
        // A number of buckets, the key of the first one, and the cookie of its bitmap.
        let may_be_treemap = bytes.split_first_chunk().is_some_and(|(&count, rest)| {
            let is_empty = u64::from_le_bytes(count) == 0 && rest.is_empty();
            is_empty || rest.get(4..).is_some_and(|bitmap| RoaringView::new(bitmap).is_ok())
        });
        match (RoaringView::new(bytes).is_ok(), may_be_treemap) {
            (false, false) => None,
            (false, true) => Some(Self::Treemap),
            // Some numbers of buckets are cookies of a bitmap of 32 bits, too.
            (true, true) if RoaringView::whole(bytes).is_err() && check_buckets(bytes).is_ok() => {
                Some(Self::Treemap)
            }
            (true, _) => Some(Self::Roaring),
        }
    }
}
