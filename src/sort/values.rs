//! Sets and arrays as inputs of a sort. The threads of the sort read them, each a piece at a time.

use super::array::ReadNumbers;
use crate::error::Result;
use crate::io::read::{PieceSource, ValuePiece, spaced};
use crate::kernel::in_usize;
use crate::set::AsSet;
use crate::set::container::KEY_DISORDER;
use crate::set::view::{Damage, Selection, SetView};
use std::sync::Arc;

/// Numbers in memory that a sort reads.
pub(super) struct ArrayInput {
    pub(super) name: String,
    pub(super) numbers: Arc<dyn ReadNumbers<u64> + Send>,
}

impl PieceSource for ArrayInput {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn ascends(&self) -> bool {
        false
    }

    fn len(&self) -> Result<u64> {
        Ok(self.numbers.count() as u64)
    }

    /// Neighbours come together, as copies of a value may be side by side.
    fn sample(&self, most: usize) -> Result<Vec<u64>> {
        let len = self.numbers.count();
        let together = if len <= most { len.max(1) } else { most.clamp(1, 64) };
        let parts = most.min(len) / together;
        let mut values = vec![0; parts * together];
        let starts = spaced(len as u64, parts as u64, together as u64);
        for (start, out) in starts.zip(values.chunks_mut(together)) {
            self.numbers.read(in_usize(start), out)?;
        }
        Ok(values)
    }

    fn piece(&self, from: u64, most: usize) -> Result<Option<ValuePiece>> {
        let len = in_usize(self.len()?.saturating_sub(from)).min(most.max(1));
        let last = len.checked_sub(1).map(|last| from + last as u64);
        Ok(last.map(|last| ValuePiece { places: from..=last, len }))
    }

    fn read(&self, piece: &ValuePiece, values: &mut Vec<u64>) -> Result<()> {
        let before = values.len();
        values.resize(before + piece.len, 0);
        self.numbers.read(in_usize(*piece.places.start()), &mut values[before..])
    }
}

/// A set that a sort reads.
pub(super) struct SetInput<S>(pub(super) S);

impl<S: AsSet + Send + Sync> SetInput<S> {
    /// Asks the set a question; an error names the set.
    fn ask<'s, T>(&'s self, question: impl FnOnce(SetView<'s>) -> Result<T, Damage>) -> Result<T> {
        self.0.as_set().ask(question)
    }
}

impl<S: AsSet + Send + Sync> PieceSource for SetInput<S> {
    fn name(&self) -> String {
        self.0.as_set().name().display().to_string()
    }

    fn ascends(&self) -> bool {
        true
    }

    fn len(&self) -> Result<u64> {
        self.0.as_set().check_width()?;
        self.ask(SetView::len)
    }

    fn sample(&self, most: usize) -> Result<Vec<u64>> {
        self.ask(|set| {
            let mut selection = Selection::new(set);
            let len = set.len()?;
            spaced(len, len.min(most.max(2) as u64), 1).map(|rank| selection.select(rank)).collect()
        })
    }

    fn piece(&self, from: u64, most: usize) -> Result<Option<ValuePiece>> {
        self.ask(|set| piece_of(set, from, most.max(1)))
    }

    fn read(&self, piece: &ValuePiece, values: &mut Vec<u64>) -> Result<()> {
        self.ask(|set| read_piece(set, piece, values))
    }
}

/// Whole containers, as many as fit into `most` values. A container that is larger comes in several
/// pieces.
fn piece_of(set: SetView<'_>, from: u64, most: usize) -> Result<Option<ValuePiece>, Damage> {
    let Some(first) = set.next(from)? else { return Ok(None) };
    let key = first >> 16;
    let mut cursor = set.cursor();
    cursor.seek(key)?;
    let begins_container = from <= key << 16;
    let passed = if begins_container { cursor.pass(most as u64)? } else { 0 };
    if passed > 0 {
        let last = match cursor.next()? {
            Some((next, _)) if next <= key => return Err(Damage::of(KEY_DISORDER)),
            Some((next, _)) => (next << 16) - 1,
            None => u64::MAX,
        };
        let len = usize::try_from(passed).unwrap_or(most);
        return Ok(Some(ValuePiece { places: from..=last, len }));
    }
    let mut cursor = set.cursor();
    cursor.seek(key)?;
    let container = match cursor.next_sound()? {
        Some((found, container)) if found == key => container,
        _ => return Err(Damage::of(KEY_DISORDER)),
    };
    #[expect(clippy::cast_possible_truncation, reason = "the low half is meant")]
    let before = container.rank(first as u16).saturating_sub(1);
    let len = (container.len().saturating_sub(before) as usize).min(most);
    if len == 0 {
        return Err(Damage::of(MISCOUNTED));
    }
    // The next piece begins with this value.
    let next = u32::try_from(len).ok().and_then(|len| container.select(before + len));
    let last = next.map_or(u16::MAX, |next| next.saturating_sub(1));
    Ok(Some(ValuePiece { places: from..=key << 16 | u64::from(last), len }))
}

/// Reads a piece. A damaged file may have more values there than `piece_of` counted: that is an
/// error, and it takes no more memory.
fn read_piece(set: SetView<'_>, piece: &ValuePiece, values: &mut Vec<u64>) -> Result<(), Damage> {
    let (first, last) = (*piece.places.start(), *piece.places.end());
    let end = values.len() + piece.len;
    let (mut cursor, mut lows) = (set.cursor(), Vec::new());
    cursor.seek(first >> 16)?;
    while values.len() < end
        && let Some((key, container)) = cursor.next_sound()?
        && key <= last >> 16
    {
        let count = container.positions(0, &mut lows);
        let value = |low: &u32| key << 16 | u64::from(*low);
        let begin = lows[..count].partition_point(|low| value(low) < first);
        let inside = lows[begin..count].partition_point(|low| value(low) <= last);
        if inside > end - values.len() {
            return Err(Damage::of(MISCOUNTED));
        }
        values.extend(lows[begin..begin + inside].iter().map(value));
    }
    if values.len() == end { Ok(()) } else { Err(Damage::of(MISCOUNTED)) }
}

const MISCOUNTED: &str = "the number of values is not that of the set";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set::IntegerSet;
    use proptest::prelude::*;

    /// Arrays, bitmaps and runs, alone and in a row, up to the last value of all.
    fn sets() -> impl Strategy<Value = IntegerSet> {
        let piece = (any::<u16>(), 0_u64..9, 1_u64..70, 0_usize..9000);
        prop::collection::vec(piece, 0..6).prop_map(|pieces| {
            let values = pieces.into_iter().flat_map(|(start, key, gap, count)| {
                let key = if key == 8 { u64::MAX >> 16 } else { key };
                let start = key << 16 | u64::from(start);
                (0..count as u64).filter_map(move |index| start.checked_add(index * gap))
            });
            values.collect()
        })
    }

    #[test]
    fn the_sample_of_an_array_has_neighbours_from_all_of_it() {
        let numbers: Vec<u64> = (0..100_000).collect();
        for most in [1, 7, 64, 100, 128, 6400, 99_999, 100_000, 100_001] {
            let array = ArrayInput { name: "ids".into(), numbers: Arc::new(numbers.clone()) };
            let sample = array.sample(most).unwrap();
            assert!(sample.len() <= most && sample.len() + 64 > most.min(100_000), "{most}");
            assert!(sample.is_sorted_by(|a, b| a < b) && sample[0] == 0, "{most}");
            assert!(most < 128 || sample.last() == Some(&99_999), "{most}");
            let neighbours = sample.windows(2).filter(|pair| pair[0] + 1 == pair[1]).count();
            assert!(2 * neighbours + 1 >= sample.len(), "{most}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

        #[test]
        fn pieces_have_all_values_once_in_order(set in sets(), most in 1_usize..20_000) {
            let expected: Vec<u64> = set.iter().collect();
            let most = most.max(expected.len() / 200); // not too many pieces
            let source = SetInput(set);
            let (mut found, mut from) = (Vec::new(), 0);
            while let Some(piece) = source.piece(from, most).unwrap() {
                prop_assert!((1..=most).contains(&piece.len), "{piece:?}");
                source.read(&piece, &mut found).unwrap();
                let Some(next) = piece.places.end().checked_add(1) else { break };
                prop_assert!(next > from);
                from = next;
            }
            prop_assert!(found == expected);
            prop_assert_eq!(source.len().unwrap(), expected.len() as u64);
            let sample = source.sample(100).unwrap();
            prop_assert_eq!(sample.len(), expected.len().min(100));
            prop_assert_eq!(sample.first(), expected.first());
            prop_assert_eq!(sample.last(), expected.last());
            prop_assert!(sample.is_sorted());
        }
    }

    #[test]
    fn a_bitmap_with_more_values_than_its_head_says_is_refused() {
        let set: IntegerSet = (0..30_000).map(|index| 2 * index).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("set");
        set.write_as(&path, crate::set::SetFormat::Roaring).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        let last = bytes.len() - 1;
        bytes[last] = 0xFF;
        let source = SetInput(SetView::roaring(bytes.leak()).unwrap());
        let piece = source.piece(0, 1 << 20);
        let read = piece.and_then(|piece| source.read(&piece.unwrap(), &mut Vec::new()));
        let told = read.unwrap_err().to_string();
        assert!(told.contains("the number of values of a container is wrong"), "{told}");
    }
}
