use rayon::slice::ParallelSliceMut;

pub(super) fn sort<T: Ord + Send>(shared: bool, values: &mut [T], done: &impl Fn(usize) -> bool) {
    if shared {
        values.par_sort_unstable();
    } else {
        values.sort_unstable();
    }
    done(values.len());
}
