//! Parts of the output, and the windows of values that they keep to.
//!
//! The output is in order because windows of parts follow each other, which is checked
//! here, and because each part keeps to its window, which [`emit`](super::emit) checks.

use super::loaded::Loaded;
use super::span::Span;
use crate::error::{Error, Result};
use crate::sort::entry::{Entry, Window};
use crate::sort::load::scatter::BELOW;

/// A part of the output.
#[derive(Debug, Clone, Copy)]
pub(in crate::sort) enum Task {
    Partition(usize),
    /// A span of a large partition, and the values in it.
    Span(usize, Span, u64),
    /// A span of a table of counters, and the values in it.
    Counted(usize, Span, u64),
    /// Values below or above the window.
    Outside(usize),
}

impl<E: Entry> Loaded<'_, '_, '_, '_, '_, E> {
    /// The values that may be in a part of the output.
    pub(in crate::sort) fn window_of(&self, task: Task) -> Result<Window> {
        let partitioning = &self.layout.partitioning;
        match task {
            Task::Partition(partition) => Ok(partitioning.window_of(partition)),
            Task::Span(_, span, _) | Task::Counted(_, span, _) => {
                Ok(Window { base: span.first(), last: span.last() })
            }
            // Without such values the part is empty, whatever its window.
            Task::Outside(side) => match partitioning.outside()[side] {
                Some(window) => Ok(window),
                None if self.outside_source(side).len() == 0 => {
                    let end = if side == BELOW { 0 } else { u64::MAX };
                    Ok(Window { base: end, last: end })
                }
                None => Err(Error::Accounting { what: "values lie outside of all values".into() }),
            },
        }
    }

    /// Checks that the windows of parts which have values follow each other, so that the
    /// output is in order if each part keeps to its window.
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
