//! The strategies. They differ in where full partitions go: their relief.

use crate::number::named;

/// How a sort keeps to its memory limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// Full partitions are absorbed into a bitmap of the value range.
    Dense,
    /// The values fit in memory, partitioned.
    InMemory,
    /// Full partitions go to temporary files.
    Spill,
    /// The input is read once for each slice of the value range.
    MultiPass,
}

impl Strategy {
    /// Every strategy, in the order in which the planner prefers them.
    pub const ALL: [Self; 4] = [Self::InMemory, Self::Dense, Self::Spill, Self::MultiPass];

    /// The name used on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dense => "dense",
            Self::InMemory => "in-memory",
            Self::Spill => "spill",
            Self::MultiPass => "multi-pass",
        }
    }
}

named!(Strategy, ParseStrategyError);
