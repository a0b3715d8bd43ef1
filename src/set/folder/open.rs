//! Opens a folder.

use super::manifest::Manifest;
use crate::error::{Error, FolderFault, Result};
use crate::io::page;
use crate::progress::Progress;
use crate::set::file::{SetFile, SetKind};
use crate::set::view::{Damage, FolderPart, FolderView};
use std::io;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

/// The parts of a folder, mapped.
#[derive(Debug)]
pub(in crate::set) struct Folder {
    parts: Vec<FolderPart>,
    /// XXH3 of the file of each part, as the manifest says.
    checksums: Vec<u64>,
    cardinality: u64,
}

/// Opens the parts that a manifest in `bytes` names.
///
/// # Errors
///
/// If the manifest contradicts its format, or a part is missing or does not fit its row.
pub(in crate::set) fn open_parts(folder: &Path, bytes: &[u8]) -> Result<Folder> {
    let manifest = Manifest::read(bytes).map_err(|fault| fault.of(folder))?;
    let (mut parts, mut rank, mut offset) = (Vec::new(), 0_u64, 1_u64);
    for row in &manifest.parts {
        let path = folder.join(&row.name);
        // A part that is a folder could lead back to this one.
        let file = SetFile::open_file(&path).map_err(|error| match error {
            Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                FolderFault::Missing(row.name.clone()).of(folder)
            }
            other => other,
        })?;
        if file.file_bytes() != row.bytes {
            let (expected, found) = (row.bytes, file.file_bytes());
            let name = row.name.clone();
            return Err(FolderFault::Bytes { name, expected, found }.of(folder));
        }
        let ends = (file.min()?, file.max()?);
        let is_told = ends == (Some(row.first), Some(row.last)) && file.len() == row.cardinality;
        if file.kind() != SetKind::Bits || !is_told {
            return Err(FolderFault::Row(row.name.clone()).of(folder));
        }
        parts.push(FolderPart { file, first: row.first, last: row.last, rank, offset });
        // The sums of the manifest were checked.
        rank = rank.saturating_add(row.cardinality);
        offset = offset.saturating_add(row.bytes).saturating_add(1);
    }
    let checksums = manifest.parts.iter().map(|row| row.xxh3).collect();
    Ok(Folder { parts, checksums, cardinality: manifest.cardinality })
}

impl Folder {
    pub(in crate::set) fn view(&self) -> FolderView<'_> {
        FolderView::new(&self.parts, self.cardinality)
    }

    pub(in crate::set) fn len(&self) -> u64 {
        self.cardinality
    }

    /// Fails if a part lost bytes that were read.
    pub(in crate::set) fn intact(&self) -> Result<()> {
        self.parts.iter().try_for_each(|part| part.file.intact())
    }

    /// Bytes of the parts.
    pub(in crate::set) fn file_bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.file.file_bytes()).sum()
    }

    /// The error for damage, with the name of the part that has it.
    pub(in crate::set) fn damaged(&self, folder: &Path, damage: Damage) -> Error {
        let Damage { offset, what } = damage;
        let behind = self.parts.partition_point(|part| part.offset <= offset);
        match behind.checked_sub(1).and_then(|place| self.parts.get(place)) {
            Some(part) => part.file.damaged()(Damage { offset: offset - part.offset, what }),
            None => page::damaged(folder)(damage),
        }
    }

    /// Compares the bytes of all parts with their checksums, and with the manifest.
    pub(in crate::set) fn verify_bytes(&self, folder: &Path, progress: &Progress) -> Result<()> {
        for (part, &checksum) in self.parts.iter().zip(&self.checksums) {
            part.file.verify_bytes(progress)?;
            if xxh3_64(part.file.bytes()) != checksum {
                let name = part.file.path().file_name().unwrap_or_default();
                let name = name.to_string_lossy().into_owned();
                return Err(FolderFault::Checksum(name).of(folder));
            }
        }
        Ok(())
    }

    /// Reads the values of all parts and their facts, and no checksums.
    pub(in crate::set) fn verify_values(&self, progress: &Progress) -> Result<()> {
        self.parts.iter().try_for_each(|part| part.file.after(part.file.verify_values(progress)))
    }
}
