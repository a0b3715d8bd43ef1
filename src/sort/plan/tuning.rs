//! Sizes that tests make tiny, and samples that tests make wrong. A normal build always has the
//! defaults.

/// Sizes that the plan otherwise derives from the memory limit, and the sample it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tuning {
    /// The sample that the planner gets instead of the true one.
    pub sample: Option<Vec<u64>>,
    /// Bytes of input that a thread claims at a time.
    pub block_bytes: Option<usize>,
    /// Bytes of all partitioned values in memory.
    pub pool_bytes: Option<usize>,
    /// Upper bound on the number of partitions; a power of two.
    pub partitions: Option<usize>,
    /// Bytes that a thread may use to finish a partition.
    pub scratch_bytes: Option<usize>,
    /// Bytes of a thread's output buffer.
    pub output_bytes: Option<usize>,
    /// A partition with more values is cut for several threads.
    pub cut_values: Option<u64>,
}
