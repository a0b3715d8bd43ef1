//! The parts of the output, and the window of each.
//!
//! The output is in order for two reasons: the windows of the parts follow each other, which this
//! file checks; and each part keeps to its window, which [`emit`](super::emit) checks.

use super::loaded::Loaded;
use super::span::Span;
use crate::error::{Error, Result};
use crate::sort::load::scatter::BELOW;
use crate::sort::partitioning::{Entry, Window};

/// A part of the output. The numbers are those of a partition, a table or a side.
#[derive(Debug, Clone, Copy)]
pub(in crate::sort) enum Task {
    Partition(usize),
    /// A span of a large partition, and its number of values.
    Span(usize, Span, u64),
    /// A span of a table of counters, and its number of values.
    Counted(usize, Span, u64),
    /// Values below or above the window.
    Outside(usize),
}

impl<E: Entry> Loaded<'_, '_, '_, '_, '_, E> {
    /// The values that a part of the output may have.
    pub(in crate::sort) fn window_of(&self, task: Task) -> Result<Window> {
        let partitioning = &self.layout.partitioning;
        match task {
            Task::Partition(partition) => Ok(partitioning.window_of(partition)),
            Task::Span(_, span, _) | Task::Counted(_, span, _) => {
                Ok(Window { base: span.first(), last: span.last() })
            }
            // Without such values the part is empty, and its window does not matter.
            Task::Outside(side) => match partitioning.outside()[side] {
                Some(window) => Ok(window),
                None if self.outside_source(side).len() == 0 => {
                    let end = if side == BELOW { 0 } else { u64::MAX };
                    Ok(Window { base: end, last: end })
                }
                None => Err(Error::Accounting {
                    what: "values were found outside of the whole range".into(),
                }),
            },
        }
    }

    /// Checks that the windows of parts with values follow each other.
    pub(in crate::sort) fn check_order(&self, tasks: &[Task]) -> Result<()> {
        let reverse = self.context.style.selection.reverse;
        let mut previous: Option<Window> = None;
        for &task in tasks {
            if matches!(task, Task::Outside(side) if self.outside_source(side).len() == 0) {
                continue;
            }
            let window = self.window_of(task)?;
            window.check_behind(previous.replace(window), reverse)?;
        }
        Ok(())
    }
}
