//! A set of any representation as a view.

use super::roaring64::Roaring64;
use crate::error::{Error, Result};
use crate::set::bitmap::Bitmap;
use crate::set::file::SetFile;
use crate::set::view::{Bucket, Damage, DenseView, SetView, Shape, Table, TreemapView, walk};

/// What a view borrows from.
pub(super) enum Readable<'a> {
    Dense(&'a Bitmap, u64),
    /// A roaring bitmap in memory has no bytes to look at: it is encoded, which
    /// costs about as much as copying it.
    Encoded(Vec<u8>, Vec<Bucket>),
    File(&'a SetFile),
}

impl Readable<'_> {
    pub(super) fn encode(set: &Roaring64) -> Result<Self> {
        let bytes = set.encode()?;
        let (buckets, _) = walk(&bytes).map_err(in_memory)?;
        Ok(Self::Encoded(bytes, buckets))
    }

    pub(super) fn view(&self) -> SetView<'_> {
        match self {
            Self::Dense(bitmap, base) => {
                let words = bytemuck::cast_slice(bitmap.as_words());
                SetView(Shape::Dense(DenseView::new(words, base >> 16, None)))
            }
            Self::Encoded(bytes, buckets) => {
                SetView(Shape::Treemap(TreemapView::new(bytes, Table::Walked(buckets))))
            }
            Self::File(file) => file.view(),
        }
    }

    pub(super) fn blame(&self) -> impl Fn(Damage) -> Error {
        move |damage| match self {
            Self::File(file) => file.damaged()(damage),
            _ => in_memory(damage),
        }
    }
}

/// What cannot happen to sets that this crate made itself.
pub(super) fn in_memory(damage: Damage) -> Error {
    Error::Damaged { input: "a set in memory".into(), offset: damage.offset, what: damage.what }
}
