//! Gives the values of a run as an iterator.

use super::finish::batch::Typed;
use super::options::Sort;
use super::plan::budget::ITERATOR_BYTES;
use super::rejects::Rejected;
use super::report::Report;
use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::set::container::Container;
use crate::set::file::ValueSink;
use std::any::Any;
use std::iter::FusedIterator;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Batches that may wait for the iterator.
const BATCHES: usize = 2;

/// The values of a run in order, while the run finishes them.
///
/// Dropping it before its end ends the run, as cancelling its [`Progress`](crate::Progress) does:
/// that progress stays cancelled.
#[derive(Debug)]
pub struct SortedValues {
    batches: Receiver<Message>,
    batch: std::vec::IntoIter<u64>,
    progress: Arc<Progress>,
    /// None after the last message.
    thread: Option<JoinHandle<()>>,
    report: Option<Box<Report>>,
}

/// A message from the run to the iterator.
#[derive(Debug)]
enum Message {
    Batch(Vec<u64>),
    Failed(Error),
    /// The run is complete. If the channel closes before this message, the run failed.
    Done(Box<Report>),
}

impl SortedValues {
    pub(super) fn start(mut sort: Sort) -> Result<Self> {
        sort.beside.iterator = ITERATOR_BYTES;
        let (sender, batches) = sync_channel(BATCHES);
        let progress = Arc::clone(&sort.progress);
        let run = move || {
            let mut sink = BatchSender(sender.clone());
            let last = match sort.hand_to(Typed::Values, Path::new("-"), &mut sink) {
                Ok((report, rejects)) => {
                    let shown = rejects.finish().and_then(Rejected::show);
                    shown.map_or_else(Message::Failed, |()| Message::Done(Box::new(report)))
                }
                Err(error) => Message::Failed(error),
            };
            let _ = sender.send(last); // the iterator may be gone
        };
        let thread = std::thread::Builder::new()
            .name("bitsort".into())
            .spawn(run)
            .map_err(Error::io("start a thread for", "-"))?;
        let (batch, thread) = (Vec::new().into_iter(), Some(thread));
        Ok(Self { batches, batch, progress, thread, report: None })
    }

    /// What happened to each line of the inputs; none before the iterator has come to its end, or
    /// after an error.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::sort::{InvalidLines, Sort};
    ///
    /// let sort = Sort::new().reader("ids", &b"40\nx\n7\n"[..]).invalid(InvalidLines::Skip);
    /// let mut values = sort.into_values()?;
    /// assert_eq!(values.by_ref().collect::<Result<Vec<_>, _>>()?, [7, 40]);
    /// assert_eq!(values.report().map(|report| report.rejected), Some(1));
    /// # Ok::<(), bitsort::Error>(())
    /// ```
    #[must_use]
    pub fn report(&self) -> Option<&Report> {
        self.report.as_deref()
    }
}

/// The message of a panic, with a colon before it, if it has one.
fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.map_or_else(String::new, |text| format!(": {text}"))
}

impl Iterator for SortedValues {
    type Item = Result<u64>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(value) = self.batch.next() {
                return Some(Ok(value));
            }
            self.thread.as_ref()?;
            let message = self.batches.recv();
            let mut ended = None;
            if !matches!(message, Ok(Message::Batch(_))) {
                // After this, all memory and files of the run are free.
                ended = self.thread.take().map(JoinHandle::join);
            }
            match message {
                Ok(Message::Batch(batch)) => self.batch = batch.into_iter(),
                Ok(Message::Failed(error)) => return Some(Err(error)),
                Ok(Message::Done(report)) => {
                    self.report = Some(report);
                    return None;
                }
                Err(_) => {
                    let panic = ended.and_then(std::result::Result::err);
                    let text = panic.map_or_else(String::new, |panic| message_of(&*panic));
                    let what = "the thread that sorts panicked, perhaps in an input of the caller";
                    return Some(Err(Error::Accounting { what: format!("{what}{text}") }));
                }
            }
        }
    }
}

impl FusedIterator for SortedValues {}

impl Drop for SortedValues {
    fn drop(&mut self) {
        // Do not wait for the thread: it may be reading a pipe.
        if self.thread.is_some() {
            self.progress.cancel_flag().store(true, Ordering::Relaxed);
        }
    }
}

/// Sends values to the iterator.
struct BatchSender(SyncSender<Message>);

impl ValueSink for BatchSender {
    fn container(&mut self, key: u64, container: Container<'_>) -> Result<()> {
        let mut values = Vec::new();
        container.append_to(key, &mut Vec::new(), &mut values);
        self.values(&values)
    }

    fn values(&mut self, values: &[u64]) -> Result<()> {
        let sent = self.0.send(Message::Batch(values.to_vec()));
        sent.map_err(|_| Error::Interrupted) // the iterator is gone
    }
}
