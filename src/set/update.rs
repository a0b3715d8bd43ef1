//! Values added to and removed from set files.

use super::integer_set::IntegerSet;
use super::plan::Plan;
use super::sink::{SetFormat, Written, blamed, write_file};
use crate::error::Result;
use crate::io::write::lock;
use crate::progress::Progress;
use crate::set::container::Op;
use crate::set::file::{SetFile, SetKind, Spool};
use std::path::Path;

/// What becomes of the set at `path`: the values of `removed` go, then those
/// of `added` come.
///
/// The new set is written beside the old one, forced to the disk, and renamed
/// over it: readers, and a power cut, see the old set or the new one. A `.bits` file is
/// written dense or roaring, whichever is smaller; a bare roaring file stays one. Updates
/// of one file wait for each other.
///
/// # Errors
///
/// If one of the files cannot be read, or the new one not be written; the old
/// one is untouched then.
pub fn update(
    path: &Path,
    removed: &IntegerSet,
    added: &IntegerSet,
    folder: &Path,
) -> Result<Written> {
    update_watched(path, removed, added, folder, &Progress::default())
}

pub(crate) fn update_watched(
    path: &Path,
    removed: &IntegerSet,
    added: &IntegerSet,
    folder: &Path,
    progress: &Progress,
) -> Result<Written> {
    let lock = lock(path)?;
    let old = SetFile::from_file(&lock, path)?;
    let (removed, added) = (removed.readable()?, added.readable()?);
    // One value far away makes a plain bitmap of all between: choose anew, as for new sets.
    let format = match old.kind() {
        SetKind::Bits => SetFormat::Bits,
        SetKind::Roaring | SetKind::Treemap => SetFormat::Roaring,
    };
    let blames = (old.damaged(), removed.blame(), added.blame());
    let kept = Plan::join(
        Op::AndNot,
        vec![Plan::set(old.view(), &blames.0), Plan::set(removed.view(), &blames.1)],
    );
    let plan = Plan::join(Op::Or, vec![kept, Plan::set(added.view(), &blames.2)]);
    let spool = Spool { folder: folder.into(), ..Spool::default() };
    let written = write_file(path, format, &spool, true, |sink| plan.run(sink, progress));
    written.map_err(|error| blamed(error, [&old]))
}
