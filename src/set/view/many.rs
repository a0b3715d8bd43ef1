//! Many values asked for at once.
//!
//! A set larger than the caches answers at the speed of memory: a value that
//! comes alone waits for a page table walk and for a cache line. Values that
//! come together are put in the order of pieces of the set first; a piece fits
//! the second-level cache, and is read into it once for all its values.

use super::search::{difference, split};
use super::{Cursor, Damage, FolderView, SetView, Shape, SparseView, Walk};
use crate::kernel::sys::Pages;
use crate::set::container::{self, Container, Op};
use std::io;

/// Values whose memory is waited for at once.
const BATCH: usize = 64;
/// Fewer values are not worth putting in order.
const MIN_ORDERED: usize = 1 << 12;
/// Most values that are put in order together: more are answered no faster.
const MANY: usize = 1 << 24;
/// Bytes of a piece: it shares the second-level cache with its values.
const PIECE_BYTES: usize = 1 << 18;
/// Most pieces: their ends are in the first-level cache while values are put in
/// order.
const MAX_PIECES: usize = 1 << 12;
/// Most containers of a piece that are found beforehand.
const MAX_CONTAINERS: usize = 1 << 12;
/// A piece is read from front to back if one in that many of its cache lines
/// are asked for.
const SPARSE: usize = 4;
/// Values of a sparse set that are walked over for each one that is asked for, at most.
const NEAR_VALUES: u64 = 64;
/// Values of a piece that is not read whose cache lines are waited for.
const AHEAD: usize = 16;
/// Most containers of a piece that is turned into a bitmap: it fits the second-level cache.
const BITMAP_CONTAINERS: usize = 32;

impl SetView<'_> {
    /// Whether each of `values` is in the set, into the front of `found`. From
    /// some ten thousand values on they are answered several times faster than
    /// one by one where a set is larger than the caches; the more the better.
    /// At most 256 MiB of memory.
    ///
    /// # Errors
    ///
    /// If the bytes are damaged where an answer is looked for.
    ///
    /// # Panics
    ///
    /// If `found` is shorter than `values`.
    pub fn contains_many(self, values: &[u64], found: &mut [bool]) -> Result<(), Damage> {
        let found = &mut found[..values.len()];
        if values.len() < MIN_ORDERED {
            return self.batches(values, found);
        }
        let mut prober = Prober::new(self)?;
        for (values, found) in values.chunks(MANY).zip(found.chunks_mut(MANY)) {
            prober.clear();
            if prober.reserve(values.len()).is_err() {
                self.batches(values, found)?; // slower, in no memory
                continue;
            }
            prober.push(values);
            prober.answer(found)?;
        }
        Ok(())
    }

    /// Bytes of the containers, about.
    pub(crate) fn bytes(self) -> usize {
        match self.0 {
            Shape::Dense(dense) => dense.len() * crate::set::container::BITMAP_BYTES,
            Shape::Roaring(roaring) => roaring.bytes(),
            Shape::Treemap(treemap) => treemap.bytes(),
            Shape::Sparse(sparse) => sparse.bytes(),
            Shape::Folder(folder) => folder.parts().iter().map(|part| part.view().bytes()).sum(),
            Shape::Memory(containers) => containers.bytes(),
            Shape::Damaged(_) => 0,
        }
    }
}

/// Asks a set for many values, again and again: keeps its memory.
#[derive(Debug)]
pub(crate) struct Prober<'a> {
    view: SetView<'a>,
    pieces: Pieces,
    /// Values of each piece, then where it ends among the entries; what lies
    /// outside of the set comes behind all pieces.
    ends: Vec<usize>,
    /// Those asked for.
    values: Pages,
    len: usize,
    entries: Pages,
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
}

impl Pieces {
    fn of(view: SetView<'_>) -> Result<Self, Damage> {
        let Some((min, max)) = view.min()?.zip(view.max()?) else {
            return Ok(Self { base: 0, range: 0, shift: 16, count: 0 });
        };
        let base = min & !0xFFFF;
        let range = difference(max, base)?;
        let bits = u64::BITS - range.leading_zeros();
        // Or so many that the containers of each can be found beforehand, if that can be.
        let for_keys = usize::try_from((range >> 16) / MAX_CONTAINERS as u64 + 1).ok();
        let for_keys = for_keys.filter(|&pieces| pieces <= MAX_PIECES).unwrap_or(1);
        let for_bitmaps = usize::try_from((range >> 16) / BITMAP_CONTAINERS as u64 + 1).ok();
        let for_bitmaps = for_bitmaps.filter(|&pieces| pieces <= MAX_PIECES).unwrap_or(1);
        let for_bytes = view.bytes().div_ceil(PIECE_BYTES);
        let wanted = for_bytes.max(for_keys).max(for_bitmaps).next_power_of_two().min(MAX_PIECES);
        let shift = bits.saturating_sub(wanted.ilog2()).clamp(16, 63);
        // Never more than that, as the shift was chosen so.
        let count = usize::try_from((range >> shift) + 1).unwrap_or(MAX_PIECES);
        Ok(Self { base, range, shift, count })
    }

    /// The piece of `value`, or their number if it is in none: below the base the distance
    /// wraps, to more than the range.
    #[inline]
    fn of_value(&self, value: u64) -> usize {
        let piece = value.wrapping_sub(self.base) >> self.shift;
        usize::try_from(piece).map_or(self.count, |piece| piece.min(self.count))
    }

    /// Whether values are worth putting in order.
    fn are_many(&self) -> bool {
        self.count > 1
    }

    fn is_narrow(&self) -> bool {
        u32::try_from(self.range).is_ok()
    }
}

/// A value, less the base, with its place.
trait Entry: bytemuck::Pod {
    fn new(offset: u64, place: u32) -> Self;
    fn offset(self) -> u64;
    fn place(self) -> usize;
}

/// For offsets below 2^32.
impl Entry for u64 {
    fn new(offset: u64, place: u32) -> Self {
        offset << 32 | Self::from(place)
    }

    fn offset(self) -> u64 {
        self >> 32
    }

    #[expect(clippy::cast_possible_truncation, reason = "the low half is meant")]
    fn place(self) -> usize {
        self as u32 as usize
    }
}

impl Entry for [u64; 2] {
    fn new(offset: u64, place: u32) -> Self {
        [offset, place.into()]
    }

    fn offset(self) -> u64 {
        self[0]
    }

    #[expect(clippy::cast_possible_truncation, reason = "made of 32 bits")]
    fn place(self) -> usize {
        self[1] as usize
    }
}

impl<'a> Prober<'a> {
    /// Looks for the ends of the set.
    pub(crate) fn new(view: SetView<'a>) -> Result<Self, Damage> {
        let pieces = Pieces::of(view)?;
        let (values, entries) = (Pages::default(), Pages::default());
        Ok(Self { view, pieces, ends: vec![0; pieces.count + 1], values, len: 0, entries })
    }

    /// Forgets all values.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.ends.fill(0);
    }

    /// Gets room for that many values in all. Those that it has are lost.
    ///
    /// # Errors
    ///
    /// If there is no memory for them.
    pub(crate) fn reserve(&mut self, capacity: usize) -> io::Result<()> {
        grow(&mut self.values, capacity)
    }

    /// Asks for more values.
    ///
    /// # Panics
    ///
    /// If there are more than room was made for.
    #[inline]
    pub(crate) fn push(&mut self, values: &[u64]) {
        let places = self.len..self.len + values.len();
        self.len = places.end;
        self.values.words_mut()[places].copy_from_slice(values);
        if self.pieces.are_many() {
            for &value in values {
                self.ends[self.pieces.of_value(value)] += 1;
            }
        }
    }

    /// The values asked for.
    pub(crate) fn values(&self) -> &[u64] {
        &self.values.words()[..self.len]
    }

    /// Whether each of the values is in the set, into `found`, which is as long.
    ///
    /// # Errors
    ///
    /// If the bytes are damaged where an answer is looked for.
    pub(crate) fn answer(&mut self, found: &mut [bool]) -> Result<(), Damage> {
        let words = if self.pieces.is_narrow() { 1 } else { 2 } * self.len;
        let ordered = self.len >= MIN_ORDERED && u32::try_from(self.len).is_ok();
        if !ordered || !self.pieces.are_many() || grow(&mut self.entries, words).is_err() {
            return self.view.batches(self.values(), found);
        }
        found.fill(false);
        if self.pieces.is_narrow() {
            self.put_in_order::<u64>();
            self.look_up::<u64>(found)
        } else {
            self.put_in_order::<[u64; 2]>();
            self.look_up::<[u64; 2]>(found)
        }
    }

    /// Puts the values in the order of their pieces.
    fn put_in_order<E: Entry>(&mut self) {
        let pieces = self.pieces;
        let mut before = 0;
        for end in &mut self.ends {
            before += std::mem::replace(end, before);
        }
        let entries: &mut [E] = bytemuck::cast_slice_mut(self.entries.words_mut());
        for (place, &value) in (0_u32..).zip(&self.values.words()[..self.len]) {
            let to = &mut self.ends[pieces.of_value(value)];
            entries[*to] = E::new(value.wrapping_sub(pieces.base), place);
            *to += 1;
        }
    }

    fn look_up<E: Entry>(&mut self, found: &mut [bool]) -> Result<(), Damage> {
        let containers_of_piece = 1_usize << (self.pieces.shift - 16).min(usize::BITS - 1);
        if let Some(fewest) = self.fewest_for_bitmap(containers_of_piece) {
            return self.look_up_in_bitmaps::<E>(containers_of_piece, fewest, found);
        }
        if let Shape::Sparse(sparse) = self.view.0
            && self.len as u64 * NEAR_VALUES > sparse.len()
        {
            return self.walk_to::<E>(sparse, found);
        }
        let has_parts = matches!(self.view.0, Shape::Sparse(_) | Shape::Folder(_));
        let entries: &[E] = bytemuck::cast_slice(self.entries.words());
        let Pieces { base, count, .. } = self.pieces;
        if has_parts || containers_of_piece > MAX_CONTAINERS {
            return self.look_up_in_batches(&entries[..self.ends[count - 1]], found);
        }
        let mut cursor = Ahead::new(self.view);
        let mut containers = vec![None; containers_of_piece];
        let mut start = 0;
        for (piece, &end) in self.ends[..count].iter().enumerate() {
            let entries = &entries[start..end];
            start = end;
            if entries.is_empty() {
                continue;
            }
            let first_key = (base >> 16) + (piece * containers_of_piece) as u64;
            let bytes = cursor.fill(first_key, &mut containers)?;
            let is_sparse = entries.len() * SPARSE <= bytes / 64;
            look_up_in_containers(&containers, entries, is_sparse, found);
        }
        Ok(())
    }

    /// Looks values up in the set itself, in order.
    fn look_up_in_batches<E: Entry>(
        &self,
        entries: &[E],
        found: &mut [bool],
    ) -> Result<(), Damage> {
        let (mut values, mut is_in) = ([0; BATCH], [false; BATCH]);
        for entries in entries.chunks(BATCH) {
            for (value, entry) in values.iter_mut().zip(entries) {
                *value = self.pieces.base.wrapping_add(entry.offset()); // as it was subtracted
            }
            self.view.batch(&values[..entries.len()], &mut is_in)?;
            for (entry, is_in) in entries.iter().zip(is_in) {
                found[entry.place()] = is_in;
            }
        }
        Ok(())
    }

    /// How many values of a piece, on the average, are looked up sooner if the piece is turned
    /// into a bitmap first; none if pieces are too large, or there are fewer values.
    fn fewest_for_bitmap(&self, containers_of_piece: usize) -> Option<usize> {
        /// Words that are cleared in the time of looking up a value elsewhere.
        const WORDS: usize = 32;
        /// Bytes of containers that are read in that time.
        const BYTES: usize = 8;
        if matches!(self.view.0, Shape::Dense(_)) || containers_of_piece > BITMAP_CONTAINERS {
            return None;
        }
        let fewest = containers_of_piece * container::WORDS / WORDS
            + self.view.bytes() / self.pieces.count / BYTES;
        (self.len / self.pieces.count >= fewest).then_some(fewest)
    }

    /// Turns each piece into a bitmap, unless fewer than half of `fewest` values ask for it.
    fn look_up_in_bitmaps<E: Entry>(
        &self,
        containers_of_piece: usize,
        fewest: usize,
        found: &mut [bool],
    ) -> Result<(), Damage> {
        let entries: &[E] = bytemuck::cast_slice(self.entries.words());
        let Pieces { base, count, .. } = self.pieces;
        let mut cursor = Ahead::new(self.view);
        let mut words = vec![[0; 8]; containers_of_piece * container::WORDS];
        let mut start = 0;
        for (piece, &end) in self.ends[..count].iter().enumerate() {
            let entries = &entries[start..end];
            start = end;
            if entries.len() < fewest / 2 {
                self.look_up_in_batches(entries, found)?;
                continue;
            }
            words.fill([0; 8]);
            cursor.set_bits((base >> 16) + (piece * containers_of_piece) as u64, &mut words)?;
            for entry in entries {
                let bit = usize::try_from(entry.offset()).unwrap_or(usize::MAX);
                let word = u64::from_le_bytes(words[(bit / 64) & (words.len() - 1)]);
                found[entry.place()] = word >> (bit % 64) & 1 == 1;
            }
        }
        Ok(())
    }
}

/// Looks values of a piece up in its containers.
fn look_up_in_containers<E: Entry>(
    containers: &[Option<Container<'_>>],
    entries: &[E],
    is_sparse: bool,
    found: &mut [bool],
) {
    #[expect(clippy::cast_possible_truncation, reason = "low parts are meant")]
    let find = |entry: E| {
        let offset = entry.offset();
        let index = (offset >> 16) as usize & (containers.len() - 1);
        (containers[index], offset as u16)
    };
    let ask = |&entry: &E| {
        if let (Some(container), low) = find(entry) {
            container.prefetch(low);
        }
    };
    if is_sparse {
        entries.iter().take(AHEAD).for_each(ask);
    }
    for (number, &entry) in entries.iter().enumerate() {
        if is_sparse && let Some(ahead) = entries.get(number + AHEAD) {
            ask(ahead);
        }
        if let (Some(container), low) = find(entry) {
            found[entry.place()] = container.contains(low);
        }
    }
}

impl Prober<'_> {
    /// Looks values up in a sparse set by walking over it: each piece in order.
    fn walk_to<E: Entry>(
        &mut self,
        sparse: SparseView<'_>,
        found: &mut [bool],
    ) -> Result<(), Damage> {
        let Pieces { base, count, .. } = self.pieces;
        let entries: &mut [E] = bytemuck::cast_slice_mut(self.entries.words_mut());
        let (mut walk, mut start) = (Walk::new(sparse), 0);
        for &end in &self.ends[..count] {
            let entries = &mut entries[start..end];
            start = end;
            entries.sort_unstable_by_key(|entry| entry.offset());
            for &entry in &*entries {
                let value = base.wrapping_add(entry.offset()); // as it was subtracted
                walk.seek(value)?;
                found[entry.place()] = walk.rest()?.first() == Some(&value);
            }
        }
        Ok(())
    }
}

/// Makes `pages` at least that large; what they hold is lost.
fn grow(pages: &mut Pages, words: usize) -> io::Result<()> {
    if pages.words().len() < words {
        *pages = Pages::default(); // given back first
        // Somewhat more than asked for lasts; what is not touched costs nothing.
        *pages = Pages::zeroed((words + words / 8).next_multiple_of(2))?;
    }
    Ok(())
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

    /// The number of the container that was met, from `first_key` on, if it is below `count`.
    fn number(&self, first_key: u64, count: usize) -> Result<Option<usize>, Damage> {
        let Some(key) = self.ahead else { return Ok(None) };
        let Some(number) = key.checked_sub(first_key) else {
            return Err(Damage::of("the keys of the containers do not ascend"));
        };
        Ok(usize::try_from(number).ok().filter(|&number| number < count))
    }

    /// Fills in the containers from `first_key` on; gives their bytes.
    fn fill(
        &mut self,
        first_key: u64,
        containers: &mut [Option<Container<'a>>],
    ) -> Result<usize, Damage> {
        containers.fill(None);
        let mut bytes = 0;
        self.go_to(first_key)?;
        while let Some(number) = self.number(first_key, containers.len())? {
            containers[number] = self.cursor.lent().ok();
            bytes += self.cursor.here().bytes().len();
            self.ahead = self.cursor.advance()?;
        }
        Ok(bytes)
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
