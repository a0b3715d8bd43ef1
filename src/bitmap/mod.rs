//! The one bitmap: value `v` is bit `(v - base) % W` of word `(v - base) / W`.
mod slice;
mod word;
pub(crate) use slice::BitSliceMut;
pub use word::Word;

/// Calls `visit` with the place, from `first` on, of every set bit among the
/// `len` bits of `words` from bit `first`.
pub(crate) fn for_each_one(words: &[u64], first: u64, len: usize, mut visit: impl FnMut(usize)) {
    for place in 0..len {
        let (index, mask) = u64::place(first + place as u64);
        if words.get(index).is_some_and(|word| word & mask != 0) {
            visit(place);
        }
    }
}
