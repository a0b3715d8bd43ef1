//! Inputs that are read once, in order: pipes, compressed files, readers.

use super::rule::Purpose;
use super::unchanged::check_end;
use crate::error::Error;
use crate::io::compression::{self, Compression, HEAD_BYTES};
use crate::io::page;
use crate::io::roaring;
use crate::io::table::TableFormat;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::{File, Metadata};
use std::io::{self, Read};

/// After a pause of this length, the reader hands over the lines that it has.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
/// After this time, a reader that waits for a stream checks whether lines are still wanted.
const WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// A stream, as far as it has not been read.
pub(crate) struct Stream {
    /// Bytes that the sample read, and that the run reads again.
    pub(super) ahead: Vec<u8>,
    source: Source,
    /// Set at the end: a terminal could give more bytes behind its end.
    ended: bool,
    /// How to find out whether the stream is compressed; none after that. The first read makes the
    /// decoder, and the end drops it.
    look: Option<Look>,
    unpacks: bool,
}

enum Source {
    /// A pipe, a terminal or a socket, which can be waited for.
    File(File),
    Reader(Box<dyn Read + Send>),
}

/// What the first look at a stream has to know.
pub(super) struct Look {
    pub(super) name: String,
    pub(super) memory_bytes: u64,
    pub(super) purpose: Purpose,
    /// Whether its bytes are binary numbers.
    pub(super) is_binary: bool,
    pub(super) leaves_out: bool,
}

impl Look {
    /// Whether the first bytes of a stream have a line, and are not the beginning of something else.
    fn may_be_lines(&self, head: &[u8]) -> bool {
        let has_line = head.iter().any(|byte| matches!(byte, b'\n' | 0));
        let is_other = page::begins_like(head)
            || Compression::of_named(&self.name, head, self.is_binary).is_some()
            || TableFormat::may_begin(head);
        has_line && !is_other
    }

    /// Refuses a stream that begins with `head` and is not what the reader wants. `why` says why
    /// a table is not read.
    fn check(&self, head: &[u8], why: &str) -> io::Result<()> {
        let checked = self.purpose.check_head(&self.name, head, self.is_binary, self.leaves_out);
        checked.map_err(io::Error::other)?;
        match TableFormat::of_binary(head) {
            Some(format) if self.purpose == Purpose::Values && !self.is_binary => {
                let has_reader = cfg!(feature = "columnar");
                let why = if has_reader {
                    why
                } else {
                    "and this build has no feature columnar to read it"
                };
                let what = format!("it is in {format} format, {why}");
                Err(io::Error::new(io::ErrorKind::Unsupported, what))
            }
            _ => Ok(()),
        }
    }
}

impl Stream {
    /// A stream of any bytes, which are never unpacked.
    pub(super) fn of_reader(reader: Box<dyn Read + Send>) -> Self {
        Self::new(Source::Reader(reader))
    }

    /// A stream from a file that is not regular.
    pub(super) fn of_file(file: File) -> Self {
        Self::new(Source::File(file))
    }

    /// A stream of the unpacked bytes of a regular file.
    pub(super) fn of_packed(file: File, metadata: Metadata, look: Look) -> Self {
        let watched = Watched { file, metadata, name: look.name.clone() };
        Self { unpacks: true, ..Self::of_reader(Box::new(watched)) }.looked_at(Some(look))
    }

    fn new(source: Source) -> Self {
        Self { ahead: Vec::new(), source, ended: false, look: None, unpacks: false }
    }

    /// The same stream; it may be compressed.
    pub(super) fn looked_at(self, look: Option<Look>) -> Self {
        Self { look, ..self }
    }

    /// Whether it may take memory to unpack the stream.
    pub(super) fn may_unpack(&self) -> bool {
        self.unpacks || self.look.is_some()
    }

    /// Finds out whether the stream is compressed. Nothing of it has been read before.
    fn look(&mut self, look: &Look) -> io::Result<()> {
        // Somebody may send one line and wait for its answer.
        let is_lines = look.purpose.is_lines();
        let head =
            self.head(|stream, head| is_lines && look.may_be_lines(head) && stream.pauses())?;
        let head = self.more(look, head)?;
        look.check(&head, "which is read only from a file, because a pipe cannot be read twice")?;
        let Some(format) = Compression::of_named(&look.name, &head, look.is_binary) else {
            self.ahead = head;
            return Ok(());
        };
        let rest: Box<dyn Read + Send> = match self.take_source() {
            Source::File(file) => Box::new(file),
            Source::Reader(reader) => reader,
        };
        let whole = Box::new(io::Cursor::new(head).chain(rest));
        let unpacked = compression::unpacked(format, whole, look.memory_bytes)?;
        (self.source, self.unpacks, self.ended) = (Source::Reader(unpacked), true, false);
        let head = self.head(|_, head| look.may_be_lines(head))?;
        self.ahead = self.more(look, head)?;
        if !look.is_binary && Compression::of_content(&self.ahead).is_some() {
            let what = "it is compressed twice: unpack it once first";
            return Err(io::Error::new(io::ErrorKind::Unsupported, what));
        }
        look.check(&self.ahead, "which is not read if it is compressed: unpack it first")
    }

    /// Reads the first bytes of the source, or fewer if these are enough.
    fn head(&mut self, is_enough: impl Fn(&Self, &[u8]) -> bool) -> io::Result<Vec<u8>> {
        let mut head = vec![0; HEAD_BYTES];
        let mut read = 0;
        while read < head.len() {
            let more = self.read_source(&mut head[read..])?;
            read += more;
            if more == 0 || is_enough(self, &head[..read]) {
                break;
            }
        }
        head.truncate(read);
        Ok(head)
    }

    /// Reads on if more bytes tell whether they are of a roaring bitmap, all of which would be left
    /// out as malformed. Somebody who sends lines does not wait.
    fn more(&mut self, look: &Look, mut head: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut read = head.len();
        if look.leaves_out && !look.is_binary {
            head.resize(roaring::wanted(&head), 0);
        }
        while read < head.len() && !(look.purpose.is_lines() && self.pauses()) {
            match self.read_source(&mut head[read..])? {
                0 => break,
                more => read += more,
            }
        }
        head.truncate(read);
        Ok(head)
    }

    /// Takes the source out of the stream. Its buffers are then free for the next input.
    fn take_source(&mut self) -> Source {
        std::mem::replace(&mut self.source, Source::Reader(Box::new(io::empty())))
    }

    fn read_source(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        /// Files below `/proc/sys` refuse to be read into a large buffer.
        const MOST_BYTES: usize = 1 << 20;
        let most = buffer.len().min(MOST_BYTES);
        let buffer = &mut buffer[..most];
        while !self.ended {
            let read = match &mut self.source {
                Source::File(file) => file.read(buffer),
                Source::Reader(reader) => reader.read(buffer),
            };
            match read {
                Ok(0) => {
                    self.ended = true;
                    self.take_source();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(read) if read > buffer.len() => {
                    let what = "a reader says that it read more bytes than there was room for";
                    return Err(io::Error::other(what));
                }
                read => return read,
            }
        }
        Ok(0)
    }

    /// Reads the bytes that are ready, at least one; 0 at the end. `buffer` is not empty.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(look) = self.look.take() {
            self.look(&look)?;
        }
        if self.ahead.is_empty() {
            self.ahead = Vec::new();
            return self.read_source(buffer);
        }
        let count = self.ahead.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.ahead[..count]);
        self.ahead.drain(..count);
        Ok(count)
    }

    /// Reads until `buffer` is full or the stream ends.
    pub(super) fn fill(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.read(&mut buffer[filled..])? {
                0 => break,
                read => filled += read,
            }
        }
        Ok(filled)
    }

    /// Whether the stream is silent for a moment. False at the end, and for unpacked content.
    pub(super) fn pauses(&self) -> bool {
        self.is_silent(&PAUSE)
    }

    /// Waits for the next bytes or the end, as long as `wanted` is true.
    pub(super) fn wait(&self, wanted: impl Fn() -> bool) {
        while wanted() && self.is_silent(&WAIT) {}
    }

    fn is_silent(&self, time: &Timespec) -> bool {
        match &self.source {
            Source::File(file) if self.ahead.is_empty() => {
                let mut polled = [PollFd::new(file, PollFlags::IN)];
                matches!(poll(&mut polled, Some(time)), Ok(0))
            }
            _ => false,
        }
    }
}

/// The error of reading an input of this name.
pub(super) fn failed(name: &str) -> impl Fn(io::Error) -> Error {
    move |error| Error::io("read", name)(error)
}

/// A regular file that is unpacked. It is an error if it becomes shorter meanwhile.
struct Watched {
    file: File,
    metadata: Metadata,
    name: String,
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        if read == 0 && !buffer.is_empty() {
            let end = check_end(&self.file, &self.metadata, self.name.as_ref());
            end.map_err(io::Error::other)?;
        }
        Ok(read)
    }
}
