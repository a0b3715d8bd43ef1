//! The operands of set algebra: sets in memory, in files and in bytes.

use super::file::SetFile;
use super::keyed::KeyedSets;
use super::ranges::MAX_VALUES;
use super::view::{Damage, SetView};
use crate::error::{Error, Result};
use crate::progress::Progress;
use std::sync::Arc;

/// A set that takes part in algebra: [`IntegerSet`](super::IntegerSet), [`SetFile`],
/// [`SetView`], and references, boxes and [`Arc`]s of them.
///
/// Implement it for a type of your own by returning the operand of one of these.
///
/// # Examples
///
/// ```
/// use bitsort::set::{AsSet, IntegerSet, Operand};
///
/// struct Tagged { name: &'static str, ids: IntegerSet }
/// impl AsSet for Tagged {
///     fn as_set(&self) -> Operand<'_> {
///         self.ids.as_set()
///     }
/// }
/// let (a, b) = (Tagged { name: "a", ids: [1, 2].into() }, IntegerSet::from([2, 3]));
/// assert_eq!(bitsort::set::and(&[&a, &b]).count()?, 1, "{}", a.name);
/// # Ok::<(), bitsort::Error>(())
/// ```
pub trait AsSet {
    /// The set, borrowed. O(1).
    fn as_set(&self) -> Operand<'_>;
}

impl<T: AsSet + ?Sized> AsSet for &T {
    fn as_set(&self) -> Operand<'_> {
        (**self).as_set()
    }
}

impl<T: AsSet + ?Sized> AsSet for Box<T> {
    fn as_set(&self) -> Operand<'_> {
        (**self).as_set()
    }
}

impl<T: AsSet + ?Sized> AsSet for Arc<T> {
    fn as_set(&self) -> Operand<'_> {
        (**self).as_set()
    }
}

impl AsSet for SetView<'_> {
    fn as_set(&self) -> Operand<'_> {
        Operand::named(*self, "a set in memory")
    }
}

impl AsSet for SetFile {
    fn as_set(&self) -> Operand<'_> {
        Operand { view: self.view(), origin: Origin::File(self) }
    }
}

/// A borrowed set, and its origin; see [`AsSet`].
#[derive(Debug, Clone, Copy)]
pub struct Operand<'a> {
    view: SetView<'a>,
    origin: Origin<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Origin<'a> {
    File(&'a SetFile),
    Keyed(&'a KeyedSets),
    Named(&'a str),
}

impl<'a> Operand<'a> {
    /// A set of this name, which is for messages.
    pub(crate) fn named(view: SetView<'a>, name: &'a str) -> Self {
        Self { view, origin: Origin::Named(name) }
    }

    /// A set of a `.sets` file.
    pub(super) fn keyed(view: SetView<'a>, sets: &'a KeyedSets) -> Self {
        Self { view, origin: Origin::Keyed(sets) }
    }

    /// Asks the set a question; an error names the set.
    pub(crate) fn ask<T>(
        self,
        question: impl FnOnce(SetView<'a>) -> Result<T, Damage>,
    ) -> Result<T> {
        self.after(question(self.view).map_err(|damage| self.damaged(damage)))
    }

    /// An answer of the view, unless its file lost bytes from which it may come.
    pub(crate) fn after<T>(self, answer: Result<T>) -> Result<T> {
        match self.origin {
            Origin::File(file) => file.after(answer),
            Origin::Keyed(sets) => sets.after(answer),
            Origin::Named(_) => answer,
        }
    }

    /// Refuses a set of ranges that cannot be taken apart.
    pub(crate) fn check_width(self) -> Result<()> {
        if !self.view.is_too_wide() {
            return Ok(());
        }
        let (first, last) = self.ask(|view| Ok((view.min()?, view.max()?)))?;
        let (first, last) = (first.unwrap_or(0), last.unwrap_or(u64::MAX));
        Err(Error::TooWide { first, last, limit: MAX_VALUES })
    }

    /// The set, for queries.
    #[must_use]
    pub fn view(self) -> SetView<'a> {
        self.view
    }

    /// The file of the set, if it is in a file.
    pub(super) fn file(self) -> Option<&'a SetFile> {
        match self.origin {
            Origin::File(file) => Some(file),
            Origin::Keyed(_) | Origin::Named(_) => None,
        }
    }

    /// Compares the bytes of its file with their checksums, if it is in a file of one set.
    pub(crate) fn verify_bytes(self, progress: &Progress) -> Result<()> {
        self.file().map_or(Ok(()), |file| file.verify_bytes(progress))
    }

    /// The first fault of the set, if it is damaged. Reads all of it.
    pub(super) fn fault(self) -> Option<Error> {
        match self.file() {
            Some(file) => file.verify(),
            None => self.ask(|view| {
                let mut cursor = view.cursor();
                while cursor.next_sound()?.is_some() {}
                Ok(())
            }),
        }
        .err()
    }

    /// The error for damage that a question to the view found, with the name of the set.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::set::{AsSet, Damage, SetView};
    ///
    /// let (words, damage) = ([[1; 8]; 1024], Damage { offset: 12, what: "the keys do not ascend" });
    /// let error = SetView::dense(&words, 0).as_set().damaged(damage);
    /// assert_eq!(error.to_string(), "a set in memory: byte 12: the keys do not ascend");
    /// ```
    #[must_use]
    pub fn damaged(self, damage: Damage) -> Error {
        match self.origin {
            Origin::File(file) => file.damaged()(damage),
            Origin::Keyed(sets) => sets.damaged(damage),
            Origin::Named(name) => damage.of_input(name),
        }
    }

    /// The name of the set in messages and pictures: the path of a file.
    pub(crate) fn name(self) -> &'a std::path::Path {
        match self.origin {
            Origin::File(file) => file.path(),
            Origin::Keyed(sets) => sets.path(),
            Origin::Named(name) => name.as_ref(),
        }
    }
}
