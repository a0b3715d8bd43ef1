//! `.sets` files as bytes: a task on a cluster sends these to the next task.

use super::encoder::SetEncoder;
use super::file::KeyedSets;
use super::writer::KeyedWriter;
use crate::error::{Error, Result};
use crate::io::write::Spool;
use crate::kernel::sys::{map_copy, map_file};
use crate::progress::Progress;
use crate::set::file::SetFile;
use crate::set::plan::Plan;
use std::path::Path;
use std::sync::Arc;
use std::vec;
use xxhash_rust::xxh3::xxh3_64;

const IN_MEMORY: &str = "sets in memory";

impl KeyedSets {
    /// The sets in the bytes of a `.sets` file. It copies the bytes. O(bytes).
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open), or if there is no memory for the copy.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let copy = map_copy(bytes).map_err(Error::no_memory(bytes.len()))?;
        Self::from_map(copy, Path::new(IN_MEMORY))
    }
}

/// Cuts a `.sets` file into pieces, each the bytes of a `.sets` file with sets of one bucket of
/// keys. The bucket of a key is below `buckets` and depends only on its bytes. Pieces have about
/// `most_bytes` or fewer. A larger set is halved again and again, down to 2^16 neighbouring
/// numbers.
///
/// The [`union`](super::union) of the pieces of all buckets is the file again.
///
/// # Errors
///
/// If there are no buckets, or the file is damaged: the first piece compares all its checksums.
///
/// # Examples
///
/// ```
/// use bitsort::lines::Group;
/// use bitsort::set::keyed::{self, KeyedSets};
///
/// # let folder = tempfile::tempdir()?;
/// # let [path, again] = ["tags.sets", "again.sets"].map(|name| folder.path().join(name));
/// Group::new().pairs([("sport", 7), ("tokyo", 7), ("chess", 35)]).to_file(&path)?;
/// let mut found = Vec::new();
/// for piece in keyed::pieces(&KeyedSets::open(&path)?, 2, 8 << 20)? {
///     let (bucket, bytes) = piece?;
///     assert!(bucket < 2);
///     found.push(KeyedSets::from_bytes(&bytes)?);
/// }
/// keyed::union(&found, &again)?;
/// assert!(std::fs::read(&path)? == std::fs::read(&again)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn pieces(sets: &KeyedSets, buckets: usize, most_bytes: usize) -> Result<Pieces> {
    if buckets == 0 {
        return Err(Error::usage("there are no buckets of keys"));
    }
    let bucket = |index: usize| -> Result<(usize, usize)> {
        #[expect(clippy::cast_possible_truncation, reason = "below the number of buckets")]
        Ok(((xxh3_64(sets.key(index)?) % buckets as u64) as usize, index))
    };
    let mut waiting = (0..sets.len()).map(bucket).collect::<Result<Vec<_>>>()?;
    waiting.sort_unstable();
    let large = (0, 0, Vec::new().into_iter());
    Ok(Pieces {
        sets: sets.clone(),
        is_verified: false,
        waiting: waiting.into_iter(),
        large,
        most_bytes,
        progress: Arc::default(),
    })
}

/// Gives the bucket and the bytes of each piece, by ascending buckets; see [`pieces`]. After an
/// error no piece follows.
#[derive(Debug)]
pub struct Pieces {
    sets: KeyedSets,
    is_verified: bool,
    /// Sets that wait, by ascending buckets and keys.
    waiting: vec::IntoIter<(usize, usize)>,
    /// The bucket and the number of a set that is larger than a piece, and the pieces of this set.
    large: (usize, usize, vec::IntoIter<(usize, Vec<u8>)>),
    most_bytes: usize,
    progress: Arc<Progress>,
}

impl Iterator for Pieces {
    type Item = Result<(usize, Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        let piece = self.piece();
        let piece = self.sets.after(piece);
        if piece.is_err() {
            self.waiting = Vec::new().into_iter();
            self.large.2 = Vec::new().into_iter();
        }
        piece.transpose()
    }
}

impl Pieces {
    /// When that is cancelled, the next piece is [`Error::Interrupted`].
    #[must_use]
    pub fn progress(mut self, progress: Arc<Progress>) -> Self {
        self.progress = progress;
        self
    }

    fn piece(&mut self) -> Result<Option<(usize, Vec<u8>)>> {
        if self.waiting.len() == 0 && self.large.2.len() == 0 {
            return Ok(None);
        }
        // Else a caller could go on behind a piece that it did not get.
        Error::if_cancelled(&self.progress)?;
        // Sets are copied as they lie.
        if !self.is_verified {
            self.sets.verify_checksums(&self.progress)?;
            self.is_verified = true;
        }
        if let Some((_, bits)) = self.large.2.next() {
            let (bucket, index, _) = self.large;
            return self.of_part(index, &bits).map(|bytes| Some((bucket, bytes)));
        }
        let (mut together, mut bytes) = (Vec::new(), 0);
        let mut bucket = 0;
        while let Some(&(of, index)) = self.waiting.as_slice().first() {
            let keyed = self.sets.about(index)?;
            bytes += keyed.bytes + keyed.key.len() as u64;
            let is_full = bytes > self.most_bytes as u64;
            if !together.is_empty() && (is_full || of != bucket) {
                break;
            }
            self.waiting.next();
            if is_full {
                let parts = crate::set::pieces(
                    &self.sets.set(index)?,
                    &[],
                    self.most_bytes,
                    &self.progress,
                )?;
                if !parts.is_empty() {
                    self.large = (of, index, parts.into_iter());
                    return self.piece();
                }
                // An empty set whose key alone is larger than a piece.
            }
            bucket = of;
            together.push(index);
        }
        self.of_whole(&together).map(|bytes| Some((bucket, bytes)))
    }

    /// A piece of whole sets.
    fn of_whole(&self, indices: &[usize]) -> Result<Vec<u8>> {
        written(|writer, _| {
            indices.iter().try_for_each(|&index| {
                let found = self.sets.found(index)?;
                writer.push(found.key, |out| self.sets.copy(&found, out))
            })
        })
    }

    /// A piece with some of the values of one set; `bits` are the bytes of a `.bits` file of these.
    fn of_part(&self, index: usize, bits: &[u8]) -> Result<Vec<u8>> {
        let part = SetFile::from_bytes(bits)?;
        written(|writer, encoder| {
            writer.push(self.sets.key(index)?, |out| {
                Plan::of(&part).run(encoder, &self.progress)?;
                encoder.finish(out)
            })
        })
    }
}

/// The bytes of a `.sets` file of the sets that `produce` pushes. They go through a nameless
/// temporary file.
fn written(
    produce: impl FnOnce(&mut KeyedWriter<'_>, &mut SetEncoder<'_>) -> Result<()>,
) -> Result<Vec<u8>> {
    let (name, spool) = (Path::new(IN_MEMORY), Spool::default());
    let [file, scratch] = [spool.file()?, spool.file()?];
    let mut writer = KeyedWriter::new(&file, name, &spool);
    produce(&mut writer, &mut SetEncoder::new(&scratch, spool.clone()))?;
    writer.finish()?;
    Ok(map_file(&file).map_err(Error::io("map a file in", &spool.folder))?.to_vec())
}
