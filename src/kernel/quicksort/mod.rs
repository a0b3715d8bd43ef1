//! Sorts values in place.
//!
//! Contract of every implementation: the same result as [`slice::sort_unstable`].

#[cfg(target_arch = "x86_64")]
mod avx512;
mod scalar;
#[cfg(test)]
mod tests;

use super::Level;
use super::decimal::Low;
#[cfg(target_arch = "x86_64")]
use super::level::Isa;

/// A type of values that can be sorted.
pub(crate) trait Sortable: Low + Ord + Default + bytemuck::Pod + Send {}

impl Sortable for u32 {}
impl Sortable for u64 {}

/// Whether this level sorts faster than a radix sort that needs memory.
pub(crate) fn is_fast(level: Level) -> bool {
    match level.isa() {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => true,
        _ => false,
    }
}

/// Sorts `values`; with `shared`, in all threads of the pool in which it runs. `done` gets how many
/// more values are in their places. It can end the sort by `false`; the order then has no meaning.
pub(crate) fn sort<T: Sortable>(
    level: Level,
    shared: bool,
    values: &mut [T],
    done: &(impl Fn(usize) -> bool + Sync),
) {
    match level.isa() {
        // SAFETY: `Level::available` is the only maker of this level, after the
        // CPU reported these features.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { avx512::sort(shared, values, done) },
        _ => scalar::sort(shared, values, done),
    }
}
