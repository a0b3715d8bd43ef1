//! Many values asked for at once.
//!
//! If they are more than the values of the set, a [table](super::lookup) of the set answers them.
//!
//! A set larger than the caches answers at the speed of memory: each single question waits for a
//! page table walk and for a cache line. Many questions are first put in the order of the pieces
//! of the set. A piece fits the second-level cache, so its memory is read once for all its
//! questions. If these are very many, each piece becomes a bitmap first.

#[cfg(feature = "cli")]
use super::BLOCK;
use super::lookup::Lookup;
use super::search::difference;
use super::{Cursor, Damage, FolderView, RUN_BYTES, SetView, Shape, SparseView, Walk};
use crate::kernel::stages::{Miscounted, Stages};
use crate::kernel::sys::Pages;
use crate::kernel::{in_usize, packed};
use crate::set::container::{self, Container, KEY_DISORDER, Op, split};
use std::fmt;
use std::mem;
use std::sync::Arc;

/// Values whose memory is waited for at once.
const BATCH: usize = 64;
/// Fewer values are not worth putting in order.
const MIN_ORDERED: usize = 1 << 12;
/// Most values that are put in order together. More values are not answered faster.
const MANY: usize = 1 << 24;
/// Bytes of a piece, which shares the second-level cache with the values asked for.
const PIECE_BYTES: usize = 1 << 18;
/// Most pieces. The first-level cache holds their ends while values are put in order.
const MAX_PIECES: usize = 1 << 12;
/// Most containers of a piece that are found beforehand.
const MAX_CONTAINERS: usize = 1 << 12;
/// Values of a sparse set that are walked over for each one that is asked for, at most.
const NEAR_VALUES: u64 = 64;
/// Values of a piece whose cache lines are on their way while one is looked up.
const AHEAD: usize = 16;
/// Most containers of a piece that becomes a bitmap: 256 KiB, which fit the second-level cache.
const BITMAP_CONTAINERS: usize = 32;

impl SetView<'_> {
    /// Whether each of `values` is in the set, into the front of `found`. From
    /// some ten thousand values on they are answered several times faster than
    /// one by one where a set is larger than the caches; the more the better.
    /// At most 272 MiB of memory.
    ///
    /// # Errors
    ///
    /// If the bytes are damaged where an answer is looked for; anywhere, if there are more questions
    /// than values.
    ///
    /// # Panics
    ///
    /// If `found` is shorter than `values`.
    pub fn contains_many(self, values: &[u64], found: &mut [bool]) -> Result<(), Damage> {
        let found = &mut found[..values.len()];
        if values.len() < MIN_ORDERED {
            return self.batches(values, found);
        }
        Prober::for_many(self, values.len(), 1)?.contains_many(values, found)
    }

    /// About the most bytes that the values from `first` to `last` take in this representation, if
    /// that is known without a walk over all containers. Long runs take far fewer bytes than their
    /// values tell.
    pub(crate) fn bytes_within(self, first: u64, last: u64) -> usize {
        match self.0 {
            Shape::Runs(runs) => runs.count_within(first, last) * RUN_BYTES,
            Shape::Folder(folder) => {
                let parts = folder.parts().iter().map(|part| part.view().bytes_within(first, last));
                parts.fold(0, usize::saturating_add)
            }
            Shape::Memory(_) => usize::MAX,
            _ => self.bytes(),
        }
    }

    /// About the most bytes that a walk over the containers takes. A set that has none makes one at a
    /// time, of values or of runs, and a join may have a copy of it.
    #[cfg(feature = "cli")]
    pub(crate) fn walk_bytes(self) -> u64 {
        let copies = |bytes: u64| bytes.min(2 * container::BITMAP_BYTES as u64);
        match self.0 {
            Shape::Sparse(sparse) => {
                let values = sparse.len().min(1 << 16);
                8 * values.min(BLOCK as u64) + 4 * values + copies(2 * values)
            }
            Shape::Runs(runs) => {
                let runs = (runs.count() as u64).min(1 << 15);
                12 * runs + copies(64 * runs)
            }
            Shape::Folder(folder) => {
                let parts = folder.parts().iter().map(|part| part.view().walk_bytes());
                parts.max().unwrap_or(0)
            }
            Shape::Dense(_)
            | Shape::Roaring(_)
            | Shape::Treemap(_)
            | Shape::Memory(_)
            | Shape::Damaged(_) => 0,
        }
    }

    /// Bytes of the containers, about.
    pub(crate) fn bytes(self) -> usize {
        match self.0 {
            Shape::Dense(dense) => dense.len() * container::BITMAP_BYTES,
            Shape::Roaring(roaring) => roaring.bytes(),
            Shape::Treemap(treemap) => treemap.bytes(),
            Shape::Sparse(sparse) => sparse.bytes(),
            Shape::Runs(runs) => runs.count() * RUN_BYTES,
            Shape::Folder(folder) => folder.parts().iter().map(|part| part.view().bytes()).sum(),
            Shape::Memory(containers) => containers.bytes(),
            Shape::Damaged(_) => 0,
        }
    }
}

/// Asks a set for many values, and keeps its memory for the next ones. Use it instead of repeated
/// calls of [`SetView::contains_many`].
///
/// # Examples
///
/// ```
/// use bitsort::set::{AsSet, IntegerSet, Prober};
///
/// let set = IntegerSet::from([3, 40]);
/// let mut prober = Prober::new(set.as_set().view())?;
/// let mut found = [false; 2];
/// for (values, expected) in [([3, 4], [true, false]), ([40, 41], [true, false])] {
///     prober.contains_many(&values, &mut found)?;
///     assert_eq!(found, expected);
/// }
/// # Ok::<(), bitsort::set::Damage>(())
/// ```
pub struct Prober<'a> {
    view: SetView<'a>,
    /// Answers most values, if there is one.
    table: Option<Arc<Lookup>>,
    /// Places of values that the table does not answer.
    unsure: Vec<usize>,
    /// Values at such places, and the answers of the set.
    asked: (Vec<u64>, Vec<bool>),
    pieces: Pieces,
    /// For each piece how many values ask for it, and later where its offsets begin or end. The
    /// last entry is for values that lie in no piece.
    ends: Vec<usize>,
    /// Of the values, in the order of their pieces.
    offsets: Pages,
    /// A bit for each offset, in their order. So few bytes stay in the caches while they are read
    /// in the order of the values.
    answers: Vec<u64>,
    /// Answers of one piece.
    here: Vec<bool>,
}

impl fmt::Debug for Prober<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prober").field("view", &self.view).finish_non_exhaustive()
    }
}

/// A clone is for another thread: it shares the set, and has memory of its own.
impl Clone for Prober<'_> {
    fn clone(&self) -> Self {
        Self { table: self.table.clone(), ..Self::of_pieces(self.view, self.pieces) }
    }
}

/// How the range of a set is cut.
#[derive(Debug, Clone, Copy)]
struct Pieces {
    /// Smallest value, rounded down to a container.
    base: u64,
    /// Distance of the largest value from it.
    range: u64,
    /// A piece has 2^shift possible values; at least a container's.
    shift: u32,
    count: usize,
    /// Bytes of the containers of a piece, on the average.
    bytes: usize,
}

impl Pieces {
    fn of(view: SetView<'_>) -> Result<Self, Damage> {
        let Some((min, max)) = view.min()?.zip(view.max()?) else {
            return Ok(Self { base: 0, range: 0, shift: 16, count: 0, bytes: 0 });
        };
        let base = min & !0xFFFF;
        let range = difference(max, base)?;
        let bits = u64::BITS - range.leading_zeros();
        // How many pieces have so many containers each, if that can be.
        let of_containers = |containers: usize| {
            let pieces = usize::try_from((range >> 16) / containers as u64 + 1).ok();
            pieces.filter(|&pieces| pieces <= MAX_PIECES).unwrap_or(1)
        };
        let for_lookups = of_containers(BITMAP_CONTAINERS).max(of_containers(MAX_CONTAINERS));
        let bytes = view.bytes();
        let for_bytes = bytes.div_ceil(PIECE_BYTES);
        let wanted = for_bytes.max(for_lookups).next_power_of_two().min(MAX_PIECES);
        let shift = bits.saturating_sub(wanted.ilog2()).clamp(16, 63);
        // Never more than that, as the shift was chosen so.
        let count = usize::try_from((range >> shift) + 1).unwrap_or(MAX_PIECES);
        Ok(Self { base, range, shift, count, bytes: bytes / count })
    }

    /// The piece of `value`, or their number if it is in none: below the base the distance
    /// wraps, to more than the range.
    #[inline]
    fn of_value(&self, value: u64) -> usize {
        let piece = value.wrapping_sub(self.base) >> self.shift;
        usize::try_from(piece).map_or(self.count, |piece| piece.min(self.count))
    }

    /// Containers of a piece.
    fn containers(&self) -> usize {
        1 << (self.shift - 16).min(usize::BITS - 1)
    }

    /// The key of the first container of a piece.
    fn first_key(&self, piece: usize) -> u64 {
        (self.base >> 16) + (piece * self.containers()) as u64
    }

    /// Whether values are worth putting in order.
    fn are_many(&self) -> bool {
        self.count > 1
    }

    fn is_narrow(&self) -> bool {
        u32::try_from(self.range).is_ok()
    }
}

/// A value less the base.
trait Offset: bytemuck::Pod + Into<u64> + Ord {
    /// The offset. Its upper bits may get lost if the value lies in no piece.
    fn of(offset: u64) -> Self;
}

impl Offset for u32 {
    #[expect(clippy::cast_possible_truncation, reason = "what lies outside is not looked up")]
    fn of(offset: u64) -> Self {
        offset as Self
    }
}

impl Offset for u64 {
    fn of(offset: u64) -> Self {
        offset
    }
}

impl<'a> Prober<'a> {
    /// Looks for the ends of the set.
    ///
    /// # Errors
    ///
    /// If the bytes are damaged there.
    pub fn new(view: SetView<'a>) -> Result<Self, Damage> {
        Ok(Self::of_pieces(view, Pieces::of(view)?))
    }

    fn of_pieces(view: SetView<'a>, pieces: Pieces) -> Self {
        let ends = vec![0; pieces.count + 1];
        let (unsure, asked) = (Vec::new(), (Vec::new(), Vec::new()));
        let (table, offsets, answers, here) = (None, Pages::default(), Vec::new(), Vec::new());
        Self { view, table, unsure, asked, pieces, ends, offsets, answers, here }
    }

    /// A prober for about `count` values in all. If the set has no more values than that, `threads`
    /// first make a table of it that answers each question with about one access to memory;
    /// O(values of the set) then. None is made if it would take more than 256 MiB: sets of up to
    /// 2^24 values have one in any case. Clones share it.
    ///
    /// # Errors
    ///
    /// If the bytes are damaged.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::set::{AsSet, IntegerSet, Prober};
    ///
    /// let set: IntegerSet = (0..1_000_000).map(|value| value * 40).collect();
    /// let mut prober = Prober::for_many(set.as_set().view(), 2_000_000, 2)?;
    /// let mut found = [false; 2];
    /// prober.clone().contains_many(&[4000, 4001], &mut found)?;
    /// assert_eq!(found, [true, false]);
    /// # Ok::<(), bitsort::set::Damage>(())
    /// ```
    pub fn for_many(view: SetView<'a>, count: usize, threads: usize) -> Result<Self, Damage> {
        let table = Lookup::new(view, count, threads.max(1))?;
        Ok(Self { table: table.map(Arc::new), ..Self::new(view)? })
    }

    /// How many values are best asked for in one call: more are not answered faster.
    #[must_use]
    pub fn best_batch(&self) -> usize {
        /// A batch of so few values takes little memory.
        const ANSWERED: usize = 1 << 18;
        if self.table.is_some() { ANSWERED } else { MANY }
    }

    /// Whether each of `values` is in the set, into the front of `found`.
    ///
    /// # Errors
    ///
    /// If the bytes are damaged where an answer is looked for.
    ///
    /// # Panics
    ///
    /// If `found` is shorter than `values`.
    pub fn contains_many(&mut self, values: &[u64], found: &mut [bool]) -> Result<(), Damage> {
        let found = &mut found[..values.len()];
        let (mut values, mut found) = (values, found);
        while !values.is_empty() {
            let count = values.len().min(self.best_batch());
            let (now, later) = values.split_at(count);
            let (answers, behind) = found.split_at_mut(count);
            match self.table.clone() {
                Some(table) => self.answer_by_table(&table, now, answers)?,
                None => self.answer(now, answers)?,
            }
            (values, found) = (later, behind);
        }
        Ok(())
    }

    /// The same for a batch; `found` has the same length. It asks the set for what the table does
    /// not know.
    fn answer_by_table(
        &mut self,
        table: &Lookup,
        values: &[u64],
        found: &mut [bool],
    ) -> Result<(), Damage> {
        let mut unsure = mem::take(&mut self.unsure);
        unsure.clear();
        table.answer(values, found, &mut unsure);
        if 2 * unsure.len() > values.len() {
            self.table = None; // it costs more than it saves
        }
        self.ask_for(&unsure, values, found)?;
        self.unsure = unsure;
        Ok(())
    }

    /// Asks the set for the values at some places, and puts the answers there.
    pub(crate) fn ask_for(
        &mut self,
        places: &[usize],
        values: &[u64],
        found: &mut [bool],
    ) -> Result<(), Damage> {
        let (mut asked, mut answers) = mem::take(&mut self.asked);
        asked.clear();
        asked.extend(places.iter().map(|&place| values[place]));
        answers.clear();
        answers.resize(asked.len(), false);
        let mut batches = asked.chunks(MANY).zip(answers.chunks_mut(MANY));
        batches.try_for_each(|(asked, answers)| self.answer(asked, answers))?;
        places.iter().zip(&answers).for_each(|(&place, &answer)| found[place] = answer);
        self.asked = (asked, answers);
        Ok(())
    }

    /// The same for [`MANY`] values at most, of which `found` has as many.
    fn answer(&mut self, values: &[u64], found: &mut [bool]) -> Result<(), Damage> {
        let is_narrow = self.pieces.is_narrow();
        let words = if is_narrow { values.len().div_ceil(2) } else { values.len() };
        self.answers.clear();
        self.here.clear();
        if values.len() < MIN_ORDERED
            || !self.pieces.are_many()
            || self.offsets.make_room(words).is_err()
            || self.answers.try_reserve(words_of(values.len())).is_err()
            || self.here.try_reserve(values.len()).is_err()
        {
            return self.view.batches(values, found); // slower, in no memory
        }
        if is_narrow {
            self.answer_in_order::<u32>(values, found)
        } else {
            self.answer_in_order::<u64>(values, found)
        }
    }

    fn answer_in_order<O: Offset>(
        &mut self,
        values: &[u64],
        found: &mut [bool],
    ) -> Result<(), Damage> {
        let pieces = self.pieces;
        self.ends.fill(0);
        for &value in values {
            self.ends[pieces.of_value(value)] += 1;
        }
        self.scatter::<O>(values)?;
        self.answers.resize(words_of(values.len()), 0);
        self.look_up::<O>(values.len())?;
        // A piece has its offsets in the order of the values. So its next answer is for the next
        // value that lies in it.
        let mut next = 0;
        for end in &mut self.ends {
            next = mem::replace(end, next);
        }
        for (found, &value) in found.iter_mut().zip(values) {
            let from = &mut self.ends[pieces.of_value(value)];
            *found = self.answers[*from / 64] >> (*from % 64) & 1 == 1;
            *from += 1;
        }
        Ok(())
    }

    /// Moves the offsets of values to their pieces, whose counts become their ends.
    fn scatter<O: Offset>(&mut self, values: &[u64]) -> Result<(), Damage> {
        /// With fewer values a piece, whole cache lines are not worth their preparation.
        const MANY_A_PIECE: usize = 64;
        let pieces = self.pieces;
        let offset = |value: u64| O::of(value.wrapping_sub(pieces.base));
        let mut rest: &mut [O] = bytemuck::cast_slice_mut(self.offsets.words_mut());
        if values.len() / self.ends.len() < MANY_A_PIECE {
            let mut before = 0;
            for end in &mut self.ends {
                before += mem::replace(end, before);
            }
            for &value in values {
                let to = &mut self.ends[pieces.of_value(value)];
                rest[*to] = offset(value);
                *to += 1;
            }
            return Ok(());
        }
        let parts = self.ends.iter().map(|&count| rest.split_off_mut(..count).unwrap_or_default());
        let mut stages = Stages::new(parts.collect());
        for &value in values {
            stages.push(pieces.of_value(value), offset(value)).map_err(miscounted)?;
        }
        stages.end().map_err(miscounted)?;
        let mut before = 0;
        for end in &mut self.ends {
            before += *end;
            *end = before;
        }
        Ok(())
    }

    fn look_up<O: Offset>(&mut self, len: usize) -> Result<(), Damage> {
        /// Bytes of a container of one value in a roaring bitmap, with its head.
        const LEAST_BYTES: usize = 10;
        /// Containers that are read in the time of going to one of them.
        const NEAR_CONTAINERS: usize = 2;
        if let Some(fewest) = self.fewest_for_bitmap(len) {
            return self.look_up_in_bitmaps::<O>(fewest);
        }
        if let Shape::Sparse(sparse) = self.view.0
            && len as u64 * NEAR_VALUES > sparse.len()
        {
            return self.walk_to::<O>(sparse);
        }
        let has_parts = matches!(self.view.0, Shape::Sparse(_) | Shape::Runs(_) | Shape::Folder(_));
        let (view, pieces) = (self.view, self.pieces);
        if has_parts || pieces.containers() > MAX_CONTAINERS {
            return self.each_piece(|_, offsets: &[O], answers| {
                look_up_in_batches(view, pieces.base, offsets, answers)
            });
        }
        let mut cursor = Ahead::new(view);
        let mut containers = vec![None; pieces.containers()];
        let mut ascending = Vec::new();
        let many = pieces.containers().min(pieces.bytes / LEAST_BYTES) / NEAR_CONTAINERS;
        self.each_piece(|piece, offsets: &[O], answers| {
            if offsets.len() < many {
                put_in_order(offsets, &mut ascending);
                for &(offset, place) in &ascending {
                    let value = pieces.base.wrapping_add(offset.into()); // as it was subtracted
                    answers[place as usize] = cursor.has(value)?;
                }
                return Ok(());
            }
            cursor.fill(pieces.first_key(piece), &mut containers)?;
            look_up_in_containers(&containers, offsets, answers);
            Ok(())
        })
    }

    /// Hands the number of each piece that is asked for to `job`, with its offsets and the room
    /// for their answers.
    fn each_piece<O: Offset>(
        &mut self,
        mut job: impl FnMut(usize, &[O], &mut [bool]) -> Result<(), Damage>,
    ) -> Result<(), Damage> {
        let offsets: &[O] = bytemuck::cast_slice(self.offsets.words());
        let mut start = 0;
        for (piece, &end) in self.ends[..self.pieces.count].iter().enumerate() {
            if start < end {
                self.here.clear();
                self.here.resize(end - start, false);
                job(piece, &offsets[start..end], &mut self.here)?;
                set_bits(&mut self.answers, start, &self.here);
            }
            start = end;
        }
        Ok(())
    }

    /// From how many values a piece on it pays to make a bitmap of each piece. None if pieces are
    /// too large for it, or if `len` values are too few on the average.
    fn fewest_for_bitmap(&self, len: usize) -> Option<usize> {
        /// Words that are cleared in the time of looking up a value elsewhere.
        const WORDS: usize = 32;
        /// Bytes of containers that are read in that time.
        const BYTES: usize = 16;
        let containers = self.pieces.containers();
        if matches!(self.view.0, Shape::Dense(_)) || containers > BITMAP_CONTAINERS {
            return None;
        }
        let fewest = containers * container::WORDS / WORDS + self.pieces.bytes / BYTES;
        (len / self.pieces.count >= fewest).then_some(fewest)
    }

    /// Makes a bitmap of each piece that at least half of `fewest` values ask for.
    fn look_up_in_bitmaps<O: Offset>(&mut self, fewest: usize) -> Result<(), Damage> {
        let (view, pieces) = (self.view, self.pieces);
        let mut cursor = Ahead::new(view);
        let mut words = vec![[0; 8]; pieces.containers() * container::WORDS];
        let mask = words.len() - 1;
        self.each_piece(|piece, offsets: &[O], answers| {
            if offsets.len() < fewest / 2 {
                return look_up_in_batches(view, pieces.base, offsets, answers);
            }
            words.fill([0; 8]);
            cursor.set_bits(pieces.first_key(piece), &mut words)?;
            for (answer, &offset) in answers.iter_mut().zip(offsets) {
                let bit: u64 = offset.into();
                let index = in_usize(bit / 64) & mask;
                *answer = u64::from_le_bytes(words[index]) >> (bit % 64) & 1 == 1;
            }
            Ok(())
        })
    }

    /// Looks values up in a sparse set by walking over it: those of a piece in order.
    fn walk_to<O: Offset>(&mut self, sparse: SparseView<'_>) -> Result<(), Damage> {
        /// Values that are put in order together: they and their places take 16 MiB at most.
        const TOGETHER: usize = 1 << 20;
        let base = self.pieces.base;
        let mut ascending = Vec::new();
        self.each_piece(|_, offsets: &[O], answers| {
            for (offsets, answers) in offsets.chunks(TOGETHER).zip(answers.chunks_mut(TOGETHER)) {
                let mut walk = Walk::new(sparse);
                put_in_order(offsets, &mut ascending);
                for &(offset, place) in &ascending {
                    let value = base.wrapping_add(offset.into()); // as it was subtracted
                    walk.seek(value)?;
                    answers[place as usize] = walk.rest()?.first() == Some(&value);
                }
            }
            Ok(())
        })
    }
}

/// Puts offsets in order, each with its place.
fn put_in_order<O: Offset>(offsets: &[O], ascending: &mut Vec<(O, u32)>) {
    ascending.clear();
    ascending.extend((0_u32..).zip(offsets).map(|(place, &offset)| (offset, place)));
    ascending.sort_unstable();
}

fn miscounted(_: Miscounted) -> Damage {
    Damage::of("values changed while they were asked for")
}

/// Words that have a bit for each of so many answers, and one more for [`set_bits`].
fn words_of(answers: usize) -> usize {
    answers / 64 + 2
}

/// Sets the bits of answers, of which the first has bit `from`. The bits are 0 before.
fn set_bits(bits: &mut [u64], from: usize, answers: &[bool]) {
    let (first, shift) = (from / 64, from % 64);
    for (word, answers) in (first..).zip(answers.chunks(64)) {
        let mut here = 0;
        for (eight, byte) in answers.chunks(8).zip((0..).step_by(8)) {
            let mut bytes = [0; 8];
            bytes[..eight.len()].copy_from_slice(bytemuck::cast_slice(eight));
            here |= u64::from(packed(u64::from_le_bytes(bytes))) << byte;
        }
        bits[word] |= here << shift;
        bits[word + 1] |= here >> 1 >> (63 - shift); // nothing, if the shift is 0
    }
}

/// Looks values up in the set itself.
fn look_up_in_batches<O: Offset>(
    view: SetView<'_>,
    base: u64,
    offsets: &[O],
    answers: &mut [bool],
) -> Result<(), Damage> {
    let mut values = [0; BATCH];
    for (offsets, answers) in offsets.chunks(BATCH).zip(answers.chunks_mut(BATCH)) {
        for (value, &offset) in values.iter_mut().zip(offsets) {
            *value = base.wrapping_add(offset.into()); // as it was subtracted
        }
        view.batch(&values[..offsets.len()], answers)?;
    }
    Ok(())
}

/// Looks values of a piece up in its containers.
fn look_up_in_containers<O: Offset>(
    containers: &[Option<Container<'_>>],
    offsets: &[O],
    answers: &mut [bool],
) {
    #[expect(clippy::cast_possible_truncation, reason = "low parts are meant")]
    let find = |offset: O| {
        let offset: u64 = offset.into();
        let index = (offset >> 16) as usize & (containers.len() - 1);
        (containers[index], offset as u16)
    };
    let ask = |&offset: &O| {
        if let (Some(container), low) = find(offset) {
            container.prefetch(low);
        }
    };
    offsets.iter().take(AHEAD).for_each(ask);
    for (number, (answer, &offset)) in answers.iter_mut().zip(offsets).enumerate() {
        if let Some(ahead) = offsets.get(number + AHEAD) {
            ask(ahead);
        }
        if let (Some(container), low) = find(offset) {
            *answer = container.contains(low);
        }
    }
}

/// A cursor, and the key of the container that it met too early.
struct Ahead<'a> {
    cursor: Cursor<'a>,
    ahead: Option<u64>,
}

impl<'a> Ahead<'a> {
    fn new(view: SetView<'a>) -> Self {
        Self { cursor: view.cursor(), ahead: None }
    }

    /// Goes to the first container from `first_key` on.
    fn go_to(&mut self, first_key: u64) -> Result<(), Damage> {
        if self.ahead.is_none_or(|key| key < first_key) {
            self.cursor.seek(first_key)?;
            self.ahead = self.cursor.advance()?;
        }
        Ok(())
    }

    /// Whether the set has `value`; values must not descend from call to call.
    fn has(&mut self, value: u64) -> Result<bool, Damage> {
        let (key, low) = split(value);
        self.go_to(key)?;
        Ok(self.ahead == Some(key) && self.cursor.here().contains(low))
    }

    /// The number of the container that was met, from `first_key` on, if it is below `count`.
    fn number(&self, first_key: u64, count: usize) -> Result<Option<usize>, Damage> {
        let Some(key) = self.ahead else { return Ok(None) };
        let Some(number) = key.checked_sub(first_key) else {
            return Err(Damage::of(KEY_DISORDER));
        };
        Ok(usize::try_from(number).ok().filter(|&number| number < count))
    }

    /// Fills in the containers from `first_key` on.
    fn fill(
        &mut self,
        first_key: u64,
        containers: &mut [Option<Container<'a>>],
    ) -> Result<(), Damage> {
        containers.fill(None);
        self.go_to(first_key)?;
        while let Some(number) = self.number(first_key, containers.len())? {
            let lent = self.cursor.lent();
            containers[number] = Some(lent.map_err(|_| Damage::of("a container was made"))?);
            self.ahead = self.cursor.advance()?;
        }
        Ok(())
    }

    /// Sets the bits of the values of containers from `first_key` on in `words`, all 0.
    fn set_bits(&mut self, first_key: u64, words: &mut [[u8; 8]]) -> Result<(), Damage> {
        self.go_to(first_key)?;
        let (bitmaps, _) = words.as_chunks_mut();
        while let Some(number) = self.number(first_key, bitmaps.len())? {
            self.cursor.here().join_in(Op::Or, &mut bitmaps[number]);
            self.ahead = self.cursor.advance()?;
        }
        Ok(())
    }
}

impl SetView<'_> {
    fn batches(self, values: &[u64], found: &mut [bool]) -> Result<(), Damage> {
        let batches = values.chunks(BATCH).zip(found.chunks_mut(BATCH));
        batches.into_iter().try_for_each(|(values, found)| self.batch(values, found))
    }

    /// Answers up to [`BATCH`] values, waiting for their memory once.
    fn batch(self, values: &[u64], found: &mut [bool]) -> Result<(), Damage> {
        match self.0 {
            Shape::Sparse(sparse) => return sparse_batch(sparse, values, found),
            Shape::Runs(runs) => {
                for (found, &value) in found.iter_mut().zip(values) {
                    *found = runs.contains(value);
                }
                return Ok(());
            }
            Shape::Folder(folder) => return folder_batch(folder, values, found),
            _ => {}
        }
        let mut containers = [None; BATCH];
        let mut touched = 0;
        for (slot, &value) in containers.iter_mut().zip(values) {
            let (key, low) = split(value);
            *slot = self.container(key)?;
            touched ^= slot.map_or(0, |container: Container<'_>| container.touch(low));
        }
        std::hint::black_box(touched);
        for ((found, container), &value) in found.iter_mut().zip(containers).zip(values) {
            let low = split(value).1;
            *found = container.is_some_and(|container| container.contains(low));
        }
        Ok(())
    }
}

/// Answers up to [`BATCH`] values: those that follow each other and lie in one part together.
fn folder_batch(folder: FolderView<'_>, values: &[u64], found: &mut [bool]) -> Result<(), Damage> {
    let mut rest = &mut found[..values.len()];
    for alike in values.chunk_by(|&a, &b| folder.place(a) == folder.place(b)) {
        let (here, behind) = rest.split_at_mut(alike.len());
        rest = behind;
        match folder.parts().get(folder.place(alike[0])) {
            Some(part) => part.ask(|view| view.batch(alike, here))?,
            None => here.fill(false),
        }
    }
    Ok(())
}

/// Answers up to [`BATCH`] values. Each step asks for the memory of the next one.
fn sparse_batch(view: SparseView<'_>, values: &[u64], found: &mut [bool]) -> Result<(), Damage> {
    let mut groups = [None; BATCH];
    for (slot, &value) in groups.iter_mut().zip(values) {
        *slot = view.group_of(value)?;
        if let Some(group) = slot {
            group.prefetch_sample(value);
        }
    }
    for (group, &value) in groups.iter().zip(values) {
        if let Some(group) = group {
            group.prefetch_upper(value);
        }
    }
    for ((found, group), &value) in found.iter_mut().zip(groups).zip(values) {
        *found = match group {
            Some(group) => group.find(value)?.is_ok(),
            None => false,
        };
    }
    Ok(())
}
