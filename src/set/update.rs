//! Adds values to set files, and removes values.

use super::format::SetFormat;
use super::operand::{AsSet, Operand};
use super::plan::Plan;
use super::sink::{Written, write_file};
use crate::error::{Error, FolderFault, Result};
use crate::io::write::lock;
use crate::progress::Progress;
use crate::set::container::Op;
use crate::set::file::{SetFile, SetKind, Spool};
use crate::set::keyed::open_named;
use crate::set::view::SetView;
use std::path::Path;

/// A change of a set file that is not made yet; [`SetFile::update`] begins one.
#[derive(Debug)]
#[must_use = "nothing is changed before run"]
pub struct Update<'a> {
    path: &'a Path,
    removed: Vec<Operand<'a>>,
    added: Vec<Operand<'a>>,
    spool: Spool,
}

impl SetFile {
    /// Begins a change of the set at `path`, which first removes values and then adds others.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::set::{IntegerSet, SetFile};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("ids.bits");
    /// IntegerSet::from([1, 2, 3]).write(&path)?;
    /// let (gone, new) = (IntegerSet::from([2]), IntegerSet::from([9]));
    /// SetFile::update(&path).remove(&gone).add(&new).run()?;
    /// assert_eq!(SetFile::open(&path)?.to_set()?, [1, 3, 9].into());
    /// # Ok::<(), bitsort::Error>(())
    /// ```
    pub fn update(path: &(impl AsRef<Path> + ?Sized)) -> Update<'_> {
        let (removed, added) = (Vec::new(), Vec::new());
        Update { path: path.as_ref(), removed, added, spool: Spool::default() }
    }
}

impl<'a> Update<'a> {
    /// Removes the values of `set`.
    pub fn remove(mut self, set: &'a (impl AsSet + ?Sized)) -> Self {
        self.removed.push(set.as_set());
        self
    }

    /// Adds the values of `set`, including those that are also removed.
    #[expect(clippy::should_implement_trait, reason = "nothing is summed")]
    pub fn add(mut self, set: &'a (impl AsSet + ?Sized)) -> Self {
        self.added.push(set.as_set());
        self
    }

    /// Puts temporary files there, not in the folder of the system.
    pub fn temporary_folder(mut self, folder: impl AsRef<Path>) -> Self {
        self.spool.folder = folder.as_ref().into();
        self
    }

    /// Makes the change.
    ///
    /// It writes the new set beside the old one, forces it to the disk, and renames it over the old
    /// one. So readers see the old set or the new one, even after a power cut. A `.bits` file gets
    /// the representation that suits the new values; a bare roaring file stays one. Updates of one
    /// file wait for each other. O(bytes of the file and of the changes).
    ///
    /// # Errors
    ///
    /// If one of the files cannot be read, the bytes of the old one are not those of its checksums, or
    /// the new one cannot be written. The old one is untouched then.
    pub fn run(self) -> Result<Written> {
        self.run_watched(&Progress::default())
    }

    /// The same with progress, which can also cancel it.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run); [`Error::Interrupted`] when `progress` is cancelled.
    pub fn run_watched(self, progress: &Progress) -> Result<Written> {
        let name = self.path.display();
        let one_of_many = || Error::usage(format!("{name}: one of many sets cannot change alone"));
        if open_named(self.path)?.is_some() {
            return Err(one_of_many());
        }
        if self.path.is_dir() {
            return Err(FolderFault::Fixed.of(self.path));
        }
        let lock = lock(self.path)?;
        let old = SetFile::from_file(&lock, self.path)?;
        old.verify_bytes(progress)?;
        // Choose anew, as for new sets: one new value far away would make a large plain bitmap.
        let format = match old.kind() {
            SetKind::Bits | SetKind::Folder => SetFormat::Bits,
            SetKind::Roaring | SetKind::Treemap => SetFormat::Roaring,
            SetKind::Keyed => return Err(one_of_many()),
        };
        let mut kept = vec![Plan::of(&old)];
        add_plans(&mut kept, self.removed)?;
        let mut plans = vec![Plan::join(Op::AndNot, kept)];
        add_plans(&mut plans, self.added)?;
        let plan = Plan::join(Op::Or, plans);
        write_file(self.path, format, &self.spool, true, |sink| plan.run(sink, progress))
    }
}

/// Adds the sets that have values: a plan of fewer sets may be carried out faster.
fn add_plans<'a>(plans: &mut Vec<Plan<'a>>, sets: Vec<Operand<'a>>) -> Result<()> {
    for set in sets {
        if !set.ask(SetView::is_empty)? {
            plans.push(Plan::set(set));
        }
    }
    Ok(())
}
