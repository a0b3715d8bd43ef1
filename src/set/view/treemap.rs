//! The portable 64-bit roaring format, read in place: the number of buckets,
//! then for each the high 32 bits of its values and a 32-bit bitmap.
//!
//! The format has no table of the places of the bitmaps. A `.bits` file has one; for a bare file,
//! [`check_buckets`] makes it.

use super::Damage;
use super::roaring::RoaringView;
use super::search::find_key;

/// Bytes of an entry of the table of buckets.
pub(crate) const ENTRY_BYTES: usize = 24;

/// One bucket: the values that share their high 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bucket {
    /// High 32 bits.
    pub(crate) key: u32,
    /// Place of its 32-bit bitmap, which is behind its key.
    pub(crate) offset: u64,
    /// Number of values in the buckets before it.
    pub(crate) rank: u64,
}

impl Bucket {
    /// The entry in the table of a `.bits` file: key, 4 bytes of zero, offset, rank.
    pub(crate) fn to_bytes(self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..4].copy_from_slice(&self.key.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.offset.to_le_bytes());
        bytes[16..].copy_from_slice(&self.rank.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8; ENTRY_BYTES]) -> Self {
        let ([key, _, offset_low, offset_high, rank_low, rank_high], _) = bytes.as_chunks::<4>()
        else {
            return Self { key: 0, offset: 0, rank: 0 };
        };
        let wide = |low: &[u8; 4], high: &[u8; 4]| {
            u64::from(u32::from_le_bytes(*low)) | u64::from(u32::from_le_bytes(*high)) << 32
        };
        Self {
            key: u32::from_le_bytes(*key),
            offset: wide(offset_low, offset_high),
            rank: wide(rank_low, rank_high),
        }
    }
}

/// The places of the buckets.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Table<'a> {
    /// The table of a `.bits` file.
    Mapped(&'a [[u8; ENTRY_BYTES]]),
    /// Made by [`check_buckets`].
    Walked(&'a [Bucket]),
}

/// A 64-bit roaring bitmap in borrowed bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TreemapView<'a> {
    bytes: &'a [u8],
    table: Table<'a>,
}

/// Finds and checks all buckets of a bitmap that fills `bytes`; gives them and the number of
/// values. O(containers).
pub(crate) fn check_buckets(bytes: &[u8]) -> Result<(Vec<Bucket>, u64), Damage> {
    let mut buckets = Vec::new();
    let values = each_bucket(bytes, |bucket| {
        buckets.push(bucket);
        Ok(())
    })?;
    Ok((buckets, values))
}

/// Goes from bucket to bucket of a bitmap that fills `bytes`, checks that they and their containers
/// follow each other without gaps, and hands them to `visit`; gives the number of values.
fn each_bucket(
    bytes: &[u8],
    mut visit: impl FnMut(Bucket) -> Result<(), Damage>,
) -> Result<u64, Damage> {
    let short = || Damage {
        offset: bytes.len() as u64,
        what: "the bytes end inside of a 64-bit roaring bitmap",
    };
    let count = u64::from_le_bytes(*bytes.first_chunk().ok_or_else(short)?);
    // A bucket takes at least 12 bytes: a wrong number must not make us allocate more memory than
    // the file justifies.
    if count > (bytes.len() / 12) as u64 {
        return Err(short());
    }
    let (mut offset, mut rank, mut before) = (8, 0, None);
    for _ in 0..count {
        let key = bytes.get(offset..).and_then(<[u8]>::first_chunk).ok_or_else(short)?;
        let key = u32::from_le_bytes(*key);
        if before.replace(key).is_some_and(|before| before >= key) {
            return Err(Damage { offset: offset as u64, what: "the buckets do not ascend" });
        }
        let start = offset + 4;
        let bitmap = RoaringView::at(start as u64, &bytes[start..])?;
        offset = start + bitmap.check()?;
        visit(Bucket { key, offset: start as u64, rank })?;
        rank += bitmap.rank(bitmap.len());
    }
    if offset != bytes.len() {
        let what = "bytes follow the end of the 64-bit roaring bitmap";
        return Err(Damage { offset: offset as u64, what });
    }
    Ok(rank)
}

/// The damage of a table with an entry that is not that of a bucket.
fn stray(offset: u64) -> Damage {
    Damage { offset, what: "the table of buckets points to no bucket" }
}

impl<'a> TreemapView<'a> {
    pub(crate) fn new(bytes: &'a [u8], table: Table<'a>) -> Self {
        Self { bytes, table }
    }

    /// Bytes of the whole bitmap.
    pub(crate) fn bytes(self) -> usize {
        self.bytes.len()
    }

    /// Number of buckets.
    pub(crate) fn len(self) -> usize {
        match self.table {
            Table::Mapped(entries) => entries.len(),
            Table::Walked(buckets) => buckets.len(),
        }
    }

    /// Bucket `index`, which must exist.
    pub(crate) fn bucket(self, index: usize) -> Bucket {
        match self.table {
            Table::Mapped(entries) => Bucket::from_bytes(&entries[index]),
            Table::Walked(buckets) => buckets[index],
        }
    }

    /// The bitmap of bucket `index`, and its key.
    pub(crate) fn get(self, index: usize) -> Result<(u32, RoaringView<'a>), Damage> {
        let Bucket { key, offset, .. } = self.bucket(index);
        let start = usize::try_from(offset).map_err(|_| stray(offset))?;
        let before = start.checked_sub(4).and_then(|at| self.bytes.get(at..start));
        if before != Some(&key.to_le_bytes()) {
            return Err(stray(offset));
        }
        Ok((key, RoaringView::at(offset, &self.bytes[start..])?))
    }

    /// Checks that the table names the buckets that a reader finds which goes from one to the next.
    /// A table that such a reader made needs no check. O(containers).
    pub(crate) fn verify(self) -> Result<(), Damage> {
        let Table::Mapped(entries) = self.table else { return Ok(()) };
        let mut entries = entries.iter().map(Bucket::from_bytes);
        each_bucket(self.bytes, |found| match entries.next() {
            Some(entry) if entry == found => Ok(()),
            Some(entry) if (entry.key, entry.offset) == (found.key, found.offset) => {
                let what = "the number of values before a bucket is wrong";
                Err(Damage { offset: found.offset, what })
            }
            _ => Err(stray(found.offset)),
        })?;
        entries.next().map_or(Ok(()), |entry| Err(stray(entry.offset)))
    }

    /// The index of the bucket of `key`, or the index where it would be.
    pub(crate) fn find(self, key: u32) -> Result<usize, usize> {
        find_key(self.len(), key, |index| self.bucket(index).key)
    }
}
