//! Rows of a column: the natural numbers, and the gaps where a row has something else.

use crate::number::Malformed;
#[cfg(feature = "columnar")]
use crate::number::{Line, Notation};
use std::ops::Range;
#[cfg(feature = "columnar")]
use xxhash_rust::xxh3::xxh3_64;

/// A row that is not one natural number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Gap {
    /// Counted from 0 within the rows.
    pub(crate) row: usize,
    pub(crate) content: GapContent,
}

/// What stands in the row.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(not(feature = "columnar"), expect(dead_code, reason = "nothing is read"))]
pub(crate) enum GapContent {
    /// Null, or a blank text.
    Nothing,
    /// All numbers from a first to a last one, in a column of text whose notation takes ranges.
    Range([u64; 2]),
    /// A negative integer, or a text that is no number: the reason, and the first bytes of it.
    Malformed(Malformed, Vec<u8>),
}

/// Consecutive rows of a column.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// The natural numbers, in order.
    pub(crate) values: Vec<u64>,
    /// The rows without one, in order.
    pub(crate) gaps: Vec<Gap>,
    /// The keys of all rows, if these are wanted.
    pub(crate) keys: Option<Keys>,
}

/// Bytes of a long key. Shorter ones are copied faster than they are looked for.
#[cfg(feature = "columnar")]
pub(super) const LONG_KEY: usize = 256;

/// A key of each row.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    bytes: Vec<u8>,
    /// Where the key of each row lies in the bytes; none for null.
    places: Vec<Option<Range<usize>>>,
    /// The places of long keys, which are kept once: in a file, a dictionary has them once.
    #[cfg(feature = "columnar")]
    long: hashbrown::HashTable<Range<usize>>,
}

impl Keys {
    /// The key of a row; none for null.
    pub(crate) fn get(&self, row: usize) -> Option<&[u8]> {
        self.bytes.get(self.places.get(row)?.clone()?)
    }

    /// Number of rows.
    #[cfg(feature = "columnar")]
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Bytes of the keys, each long one counted once.
    #[cfg(feature = "columnar")]
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    #[cfg(feature = "columnar")]
    pub(super) fn push(&mut self, key: Option<&[u8]>) {
        let Some(key) = key else { return self.places.push(None) };
        let Self { bytes, places, long } = self;
        let hash = if key.len() < LONG_KEY { None } else { Some(xxh3_64(key)) };
        let known = hash.and_then(|hash| long.find(hash, |place| bytes[place.clone()] == *key));
        if let Some(place) = known {
            return places.push(Some(place.clone()));
        }
        let place = bytes.len()..bytes.len() + key.len();
        bytes.extend_from_slice(key);
        if let Some(hash) = hash {
            long.insert_unique(hash, place.clone(), |place| xxh3_64(&bytes[place.clone()]));
        }
        places.push(Some(place));
    }
}

impl From<Vec<u64>> for Rows {
    /// Rows that are all natural numbers.
    fn from(values: Vec<u64>) -> Self {
        Self { values, gaps: Vec::new(), keys: None }
    }
}

impl Rows {
    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.values.len() + self.gaps.len()
    }

    /// Row (from 0) of value `index`.
    pub(crate) fn row_of(&self, index: usize) -> usize {
        // Each gap up to the row moves the row on by one.
        self.gaps.iter().fold(index, |row, gap| row + usize::from(gap.row <= row))
    }
}

#[cfg(feature = "columnar")]
impl Rows {
    /// Appends rows without nulls. `natural` gives a negative number as an error.
    pub(super) fn extend<T: Copy>(&mut self, raw: &[T], natural: impl Fn(T) -> Result<u64, i64>) {
        if raw.iter().all(|&value| natural(value).is_ok()) {
            self.values.extend(raw.iter().map(|&value| natural(value).unwrap_or_default()));
        } else {
            self.extend_some(raw.iter().map(|&value| Some(value)), natural);
        }
    }

    /// Appends rows; some may be null.
    pub(super) fn extend_some<T: Copy>(
        &mut self,
        raw: impl Iterator<Item = Option<T>>,
        natural: impl Fn(T) -> Result<u64, i64>,
    ) {
        for value in raw {
            match value.map(&natural) {
                Some(Ok(value)) => self.values.push(value),
                Some(Err(negative)) => {
                    let text = negative.to_string().into_bytes();
                    self.gap(GapContent::Malformed(Malformed::Negative, text));
                }
                None => self.gap(GapContent::Nothing),
            }
        }
    }

    /// Drops all rows.
    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.gaps.clear();
        self.keys = None;
    }

    /// Appends a row of text in this notation; none is null.
    pub(super) fn push_text(&mut self, text: Option<&[u8]>, notation: Notation) {
        /// Bytes of a malformed text that are kept.
        const MOST: usize = 256;
        let Some(text) = text else { return self.gap(GapContent::Nothing) };
        match notation.parse_line(text) {
            Line::Value(value) => self.values.push(value),
            Line::Range { first, last } => self.gap(GapContent::Range([first, last])),
            Line::Malformed { reason, .. } => {
                let text = text[..text.len().min(MOST)].to_vec();
                self.gap(GapContent::Malformed(reason, text));
            }
            Line::Blank => self.gap(GapContent::Nothing),
        }
    }

    fn gap(&mut self, content: GapContent) {
        let row = self.len();
        self.gaps.push(Gap { row, content });
    }
}

#[cfg(all(test, feature = "columnar"))]
mod tests {
    use super::*;

    #[test]
    fn rows_without_a_natural_number_keep_their_places() {
        let mut rows = Rows::default();
        let natural = |value: i64| u64::try_from(value).map_err(|_| value);
        rows.extend(&[3, 4], natural);
        rows.extend_some([None, Some(5), Some(-6), None].into_iter(), natural);
        rows.extend(&[-7, 8], natural);
        assert_eq!((rows.len(), &rows.values[..]), (8, &[3, 4, 5, 8][..]));
        let gaps: Vec<_> = rows.gaps.iter().map(|gap| (gap.row, &gap.content)).collect();
        let negative = |text: &str| GapContent::Malformed(Malformed::Negative, text.into());
        let [six, seven] = ["-6", "-7"].map(negative);
        let nothing = GapContent::Nothing;
        assert_eq!(gaps, [(2, &nothing), (4, &six), (5, &nothing), (6, &seven)]);
        let found: Vec<_> = (0..rows.values.len()).map(|index| rows.row_of(index)).collect();
        assert_eq!(found, [0, 1, 3, 7]);
    }

    #[test]
    fn long_keys_are_kept_once() {
        let long = [vec![b'x'; 300], vec![b'y'; 300]];
        let mut keys = Keys::default();
        let given = [Some(&long[0][..]), None, Some(b"a"), Some(&long[1]), Some(b"a"), Some(b"")];
        for key in given.into_iter().cycle().take(600) {
            keys.push(key);
        }
        assert!((0..600).all(|row| keys.get(row) == given[row % 6]) && keys.get(600).is_none());
        assert_eq!((keys.len(), keys.bytes()), (600, 600 + 200));
    }

    #[test]
    fn texts_are_numbers_of_a_notation() {
        let mut rows = Rows::default();
        for text in [Some("10.0.0.1"), Some(""), Some("10.0.0.0/31"), Some("x"), None] {
            rows.push_text(text.map(str::as_bytes), Notation::CIDR);
        }
        assert_eq!((rows.len(), &rows.values[..]), (5, &[0x0A00_0001][..]));
        let gaps: Vec<_> = rows.gaps.into_iter().map(|gap| (gap.row, gap.content)).collect();
        let expected = [
            (1, GapContent::Nothing),
            (2, GapContent::Range([0x0A00_0000, 0x0A00_0001])),
            (3, GapContent::Malformed(Malformed::ExpectedAddress, b"x".into())),
            (4, GapContent::Nothing),
        ];
        assert_eq!(gaps, expected);
    }
}
