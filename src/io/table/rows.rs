//! Rows of an integer column: the natural numbers, and the gaps where a row has none.

/// A row without a natural number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gap {
    /// Counted from 0 within the rows.
    pub(crate) row: usize,
    /// The negative number that stands there; none if the row is null.
    pub(crate) negative: Option<i64>,
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

/// A key of each row.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    bytes: Vec<u8>,
    /// The end of each key in the bytes, and whether the row has a key.
    ends: Vec<(usize, bool)>,
}

impl Keys {
    /// The key of a row; none for null.
    pub(crate) fn get(&self, row: usize) -> Option<&[u8]> {
        let &(end, is_there) = self.ends.get(row)?;
        let start = row.checked_sub(1).and_then(|before| self.ends.get(before));
        let key = self.bytes.get(start.map_or(0, |(start, _)| *start)..end)?;
        is_there.then_some(key)
    }

    /// Number of rows.
    #[cfg(feature = "columnar")]
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    #[cfg(feature = "columnar")]
    pub(super) fn push(&mut self, key: Option<&[u8]>) {
        self.bytes.extend_from_slice(key.unwrap_or_default());
        self.ends.push((self.bytes.len(), key.is_some()));
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
                Some(Err(negative)) => self.gap(Some(negative)),
                None => self.gap(None),
            }
        }
    }

    /// Drops all rows.
    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.gaps.clear();
        self.keys = None;
    }

    fn gap(&mut self, negative: Option<i64>) {
        let row = self.len();
        self.gaps.push(Gap { row, negative });
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
        let gaps: Vec<_> = rows.gaps.iter().map(|gap| (gap.row, gap.negative)).collect();
        assert_eq!(gaps, [(2, None), (4, Some(-6)), (5, None), (6, Some(-7))]);
        let found: Vec<_> = (0..rows.values.len()).map(|index| rows.row_of(index)).collect();
        assert_eq!(found, [0, 1, 3, 7]);
    }
}
