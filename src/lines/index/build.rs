//! Makes the index of a file.

use super::data::Data;
use super::digest::{Digest, Recipe};
use super::file::IndexFile;
use super::header::Stat;
use super::key::KeyRule;
use super::lookup::BlockIndex;
use super::rows::rows;
use super::writer::Writer;
use crate::bloom::check_rate;
use crate::bloom::params::hashes_for_rate;
use crate::error::{Error, Result};
use crate::io::write::{self as output, Encoding, Spool, is_same_file};
use crate::kernel::sys::Machine;
use crate::kernel::{in_usize, on_each};
use crate::progress::{Phase, Progress};
use crate::size::ByteSize;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The rate of false positives of a block, by default.
const DEFAULT_RATE: f64 = 0.01;
const DEFAULT_BLOCK: ByteSize = ByteSize::from_bytes(64 << 10);
/// Most threads. The memory of a thread depends on the keys of a group.
const MAX_THREADS: usize = 16;

/// Makes indexes.
///
/// # Examples
///
/// ```
/// use bitsort::lines::index::{Builder, path_of};
///
/// # let folder = tempfile::tempdir()?;
/// # let data = folder.path().join("ids.txt");
/// std::fs::write(&data, "7\n3\n")?;
/// let made = Builder::new().rate(0.001).build(&data, path_of(&data))?;
/// assert_eq!((made.rows, made.blocks, made.is_sorted), (2, 1, false));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "nothing is made before `build`"]
pub struct Builder {
    rule: KeyRule,
    rate: f64,
    block: ByteSize,
    threads: usize,
    progress: Arc<Progress>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            rule: KeyRule::default(),
            rate: DEFAULT_RATE,
            block: DEFAULT_BLOCK,
            threads: Machine::detect().threads,
            progress: Arc::default(),
        }
    }
}

impl Builder {
    /// The default: whole rows are keys, blocks have 64 KiB, filters a rate of 1 %; uses all
    /// processors.
    pub fn new() -> Self {
        Self::default()
    }

    /// The bytes of a row that are its key.
    pub fn key(mut self, rule: KeyRule) -> Self {
        self.rule = rule;
        self
    }

    /// The share of blocks without the key that a lookup reads, when it asks the filters of all
    /// blocks.
    pub fn rate(mut self, rate: f64) -> Self {
        self.rate = rate;
        self
    }

    /// Largest block. Lines are put together to blocks of at most this size; a longer line is a
    /// block of its own.
    pub fn block_size(mut self, size: ByteSize) -> Self {
        self.block = size;
        self
    }

    /// The number of threads. The builder uses at least one, and 16 at the most.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Counts progress there. The work ends when that is cancelled.
    pub fn progress(mut self, progress: Arc<Progress>) -> Self {
        self.progress = progress;
        self
    }

    /// Makes the index of a file, whole or not at all.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, the index cannot be written, or the rate or
    /// the size of blocks are out of their ranges.
    pub fn build(&self, data: impl AsRef<Path>, index: impl AsRef<Path>) -> Result<Stat> {
        check_rate(self.rate)?;
        if self.block.bytes() == 0 {
            return Err(Error::usage("a block has at least one byte"));
        }
        let recipe = Recipe {
            rule: self.rule.clone(),
            block_bytes: self.block.bytes(),
            hashes: hashes_for_rate(self.rate),
            rate: self.rate,
        };
        let data = Data::open(data.as_ref())?;
        let new = Destination::open(data.path(), index.as_ref())?;
        self.write(&data, 0, &recipe, Writer::new(&new.file), index.as_ref())?;
        new.commit()
    }

    /// Adds the rows that were appended to a file to its index. The key, the rate and the size of
    /// blocks do not change. The result equals the index that [`build`](Self::build) makes of the
    /// whole file, unless an incomplete last line made the old index an unsorted one.
    ///
    /// It reads samples and the last blocks of the old rows; all old rows, if the file was written
    /// after its index, to see that they are still the same.
    ///
    /// # Errors
    ///
    /// The errors of `build`; also if the file does not begin with the data that was indexed.
    pub fn extend(&self, data: impl AsRef<Path>, index: impl AsRef<Path>) -> Result<Stat> {
        let old = BlockIndex::open_grown(data.as_ref(), index.as_ref())?;
        if old.appended_bytes() == 0 {
            return Ok(old.stat());
        }
        // Damage would get checksums that are right.
        old.index().verify_with(&self.progress)?;
        let facts = &old.index().stat;
        let recipe = Recipe {
            rule: facts.rule.clone(),
            block_bytes: facts.block_bytes,
            hashes: facts.hashes,
            rate: facts.rate,
        };
        if facts.group_blocks != recipe.group_blocks() as u64 {
            let index = index.as_ref().display();
            let what = format!("{index} has groups of another size: build it again");
            return Err(Error::usage(what));
        }
        // The last group gets new filters, because it may have had fewer blocks.
        let kept = facts.groups().saturating_sub(1);
        let kept_blocks = kept * facts.group_blocks;
        for block in kept_blocks..facts.blocks {
            old.block(block)?;
        }
        let from = if facts.blocks == 0 { 0 } else { old.index().block(kept_blocks)?.0.start };
        let last = match kept_blocks.checked_sub(1) {
            Some(block) if facts.is_sorted => last_key(&recipe.rule, old.block(block)?),
            _ => Vec::new(),
        };
        let new = Destination::open(data.as_ref(), index.as_ref())?;
        let mut writer = Writer::new(&new.file);
        writer.copy(old.index(), kept, last, index.as_ref())?;
        old.index().intact()?;
        let from = in_usize(from);
        self.write(old.data(), from, &recipe, writer, index.as_ref())?;
        new.commit()
    }

    /// Reads the data from `start` on, and completes the index. The name of the index is for
    /// messages.
    fn write<'d>(
        &self,
        data: &'d Data,
        mut at: usize,
        recipe: &Recipe,
        mut writer: Writer<'d>,
        index: &Path,
    ) -> Result<()> {
        let bytes = data.bytes();
        let threads = self.threads.clamp(1, MAX_THREADS);
        self.progress.enter(Phase::Load, bytes.len().saturating_sub(at) as u64);
        while at < bytes.len() {
            Error::if_cancelled(&self.progress)?;
            data.check_length()?;
            let begin = at;
            let mut groups = Vec::with_capacity(threads);
            while groups.len() < threads {
                let blocks = recipe.cut(bytes, at);
                let Some(last) = blocks.last() else { break };
                at = last.end;
                groups.push(blocks);
            }
            let is_sorted = writer.is_sorted();
            let digest = |blocks: &Vec<_>| Digest::of(bytes, blocks, recipe, is_sorted);
            for digest in on_each(groups.iter().collect(), digest) {
                writer.push(&digest?).map_err(Error::io("write", index))?;
            }
            self.progress.read((at - begin) as u64);
        }
        data.check_length()?; // bytes behind a new end, in its page, read as 0 without a fault
        data.check_unchanged()?;
        writer.finish(recipe, bytes.len() as u64).map_err(Error::io("write", index))
    }
}

/// The key of the last row of a block.
fn last_key(rule: &KeyRule, block: &[u8]) -> Vec<u8> {
    rows(block).last().map_or_else(Vec::new, |(row, _)| rule.key_of(row).into_owned())
}

/// The regular file that becomes the index.
struct Destination {
    whole: output::Writer<'static>,
    file: File,
}

impl Destination {
    fn open(data: &Path, index: &Path) -> Result<Self> {
        if is_same_file(data, index) {
            let what = format!("{} cannot be its own index", data.display());
            return Err(Error::usage(what));
        }
        let whole = output::Writer::open(index, Encoding::Index, &Spool::default())?;
        let file = whole.file().map(File::try_clone);
        let file = file.unwrap_or_else(|| Err(io::ErrorKind::Unsupported.into()));
        Ok(Self { whole, file: file.map_err(Error::io("write", index))? })
    }

    fn commit(self) -> Result<Stat> {
        let path = self.whole.path().to_path_buf();
        self.whole.commit()?;
        IndexFile::open(path).map(|index| index.stat())
    }
}
