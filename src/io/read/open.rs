//! Opening inputs: what can be read at any place, and what only once.

use crate::error::{Error, Result};
use crate::io::compression::{self, Compression, HEAD_BYTES};
use crate::io::table::{Table, TableFormat, TableOptions, VALUE_BYTES};
use crate::kernel::sys::Standard;
use crate::number::Column;
use crate::number::Format;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// An input as the caller names it.
pub(crate) enum Input {
    /// A file.
    Path(PathBuf),
    /// Standard input.
    Stdin,
    /// Anything that reads; the name is for messages.
    Reader(String, Box<dyn Read + Send>),
    /// The same; it may be compressed.
    Stream(String, Box<dyn Read + Send>),
}

/// An input that is open.
pub(crate) struct Opened {
    /// As the user gave it; `-` is standard input.
    pub(crate) name: String,
    pub(crate) content: Content,
}

pub(crate) enum Content {
    /// Can be read at any place, any number of times.
    Regular {
        file: File,
        /// Where its content begins: not at 0 if standard input was read before.
        start: u64,
        /// Bytes from there to the end.
        len: u64,
    },
    /// A column of a table: can be read in pieces, any number of times.
    Table(Table),
    /// Can be read once, in order.
    Stream(Mutex<Stream>),
}

/// What is left of a stream.
pub(crate) struct Stream {
    /// Bytes that were looked at already, to be read again.
    pub(crate) ahead: Vec<u8>,
    reader: Box<dyn Read + Send>,
    /// A terminal goes on behind its end.
    ended: bool,
    /// The memory to unpack it with, before it was looked at: a decoder is made
    /// when its first byte is wanted and goes with its last.
    unpack: Option<u64>,
    unpacks: bool,
}

/// How inputs are opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenOptions<'a> {
    pub(crate) format: Format,
    /// Memory to unpack an input in.
    pub(crate) unpack_bytes: u64,
    /// The column that is wanted of tables.
    pub(crate) column: Option<&'a Column>,
    /// Threads that share that memory.
    pub(crate) threads: usize,
}

impl OpenOptions<'_> {
    /// Whether values may look like the beginning of another file.
    fn is_binary(self) -> bool {
        self.format != Format::Text
    }

    /// How a file is compressed that begins with `head`.
    fn compression(self, name: &str, head: &[u8]) -> Option<Compression> {
        let named = Compression::of_name(Path::new(name));
        let format = Compression::of_content(head)?;
        (named == Some(format) || !self.is_binary()).then_some(format)
    }
}

/// Opens inputs; standard input that is named again has nothing left. What they
/// are, compressed or a table, their content says.
pub(crate) fn open_all(inputs: Vec<Input>, options: OpenOptions<'_>) -> Result<Vec<Opened>> {
    let mut stdin_is_open = false;
    let open = |input: Input| {
        if matches!(input, Input::Stdin) && std::mem::replace(&mut stdin_is_open, true) {
            return Ok(Opened::stream("-".to_owned(), Stream::new(Box::new(io::empty()))));
        }
        input.open(options)
    };
    inputs.into_iter().map(open).collect()
}

/// The first bytes of a file's content, fewer if it ends before.
fn head_of(file: &File, start: u64) -> io::Result<Vec<u8>> {
    let mut head = vec![0; HEAD_BYTES];
    let read = file.read_at(&mut head, start)?;
    head.truncate(read);
    Ok(head)
}

impl Input {
    /// Memory that a decoder of this input takes, as its head says: 0 for what
    /// needs none, or is no file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read.
    pub(crate) fn decoder_bytes(&self, options: OpenOptions<'_>) -> Result<u64> {
        let Self::Path(path) = self else { return Ok(0) };
        if !path.is_file() {
            return Ok(0); // one that is not there is told of when it is opened
        }
        let file = File::open(path).map_err(Error::io("open", path))?;
        let head = head_of(&file, 0).map_err(Error::io("read", path))?;
        let format = options.compression(&path.to_string_lossy(), &head);
        Ok(format.map_or(0, |format| format.decoder_bytes(&head)))
    }

    fn open(self, options: OpenOptions<'_>) -> Result<Opened> {
        let (name, file) = match self {
            Self::Path(path) => {
                let file = File::open(&path).map_err(Error::io("open", &path))?;
                (path.display().to_string(), file)
            }
            Self::Stdin => ("-".to_owned(), standard_input()?),
            Self::Reader(name, reader) => return Ok(Opened::stream(name, Stream::new(reader))),
            Self::Stream(name, reader) => {
                let unpack = Some(options.unpack_bytes);
                return Ok(Opened::stream(name, Stream { unpack, ..Stream::new(reader) }));
            }
        };
        Opened::file(name, file, options)
    }
}

/// Opens a file; `-` is standard input.
pub(crate) fn open_file(path: &Path) -> Result<File> {
    if path == Path::new("-") {
        return standard_input();
    }
    File::open(path).map_err(Error::io("open", path))
}

/// Standard input as a file of its own.
pub(crate) fn standard_input() -> Result<File> {
    let open = Standard::Input.check();
    let descriptor = open.and_then(|()| io::stdin().as_fd().try_clone_to_owned());
    descriptor.map(File::from).map_err(Error::io("open", "-"))
}

impl Opened {
    /// A reader of values or lines as they are.
    pub(crate) fn reader(name: String, reader: Box<dyn Read + Send>) -> Self {
        Self::stream(name, Stream::new(reader))
    }

    fn file(name: String, mut file: File, options: OpenOptions<'_>) -> Result<Self> {
        let metadata = file.metadata().map_err(Error::io("read", &name))?;
        if metadata.is_dir() {
            return Err(Error::directory("read", name));
        }
        if !metadata.is_file() {
            let unpack = (!options.is_binary()).then_some(options.unpack_bytes);
            let stream = Stream { unpack, ..Stream::new(Box::new(file)) };
            return Ok(Self::stream(name, stream));
        }
        if metadata.len() == 0 {
            // Files of /proc say that they have 0 bytes.
            let mut ahead = vec![0; 4096];
            let read = file.read(&mut ahead).map_err(Error::io("read", &name))?;
            if read > 0 {
                ahead.truncate(read);
                let stream = Stream { ahead, ..Stream::new(Box::new(file)) };
                return Ok(Self::stream(name, stream));
            }
        }
        let start = file.stream_position().map_err(Error::io("read", &name))?;
        let len = metadata.len().saturating_sub(start);
        let head = head_of(&file, start).map_err(Error::io("read", &name))?;
        if options.compression(&name, &head).is_some() {
            let unpack = Some(options.unpack_bytes);
            let stream = Stream { unpack, unpacks: true, ..Stream::new(Box::new(file)) };
            return Ok(Self::stream(name, stream));
        }
        if let Some(format) = TableFormat::of_content(&head)
            && start == 0
            && !options.is_binary()
        {
            let OpenOptions { column, unpack_bytes, threads, .. } = options;
            let options =
                TableOptions { column, memory_bytes: unpack_bytes, threads: threads as u64 };
            let table = Table::open(file, &name, format, options)?;
            return Ok(Self { name, content: Content::Table(table) });
        }
        Ok(Self { name, content: Content::Regular { file, start, len } })
    }

    fn stream(name: String, stream: Stream) -> Self {
        Self { name, content: Content::Stream(Mutex::new(stream)) }
    }

    /// Whether it takes memory to unpack it, as far as is known.
    pub(crate) fn may_unpack(&self) -> bool {
        match &self.content {
            Content::Regular { .. } => false,
            Content::Table(_) => true,
            Content::Stream(stream) => {
                let stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
                stream.unpacks || stream.unpack.is_some()
            }
        }
    }

    /// Bytes of the whole input, if that is known before it is read.
    pub(crate) fn len(&self) -> Option<u64> {
        match &self.content {
            Content::Regular { len, .. } => Some(*len),
            Content::Table(table) => Some(table.rows().saturating_mul(VALUE_BYTES)),
            Content::Stream(_) => None,
        }
    }

    /// Whether it can be read more than once.
    pub(crate) fn can_reread(&self) -> bool {
        matches!(self.content, Content::Regular { .. } | Content::Table(_))
    }
}

impl Stream {
    fn new(reader: Box<dyn Read + Send>) -> Self {
        Self { ahead: Vec::new(), reader, ended: false, unpack: None, unpacks: false }
    }

    /// Looks whether it is compressed; at its beginning.
    fn look(&mut self, memory_bytes: u64) -> io::Result<()> {
        let mut head = vec![0; HEAD_BYTES];
        let read = self.fill(&mut head)?;
        head.truncate(read);
        if let Some(format) = TableFormat::of_content(&head) {
            let what = if cfg!(feature = "columnar") {
                format!("it is in {format} format: name the file, a pipe cannot be gone back in")
            } else {
                format!(
                    "it is in {format} format: build with the feature columnar and name the file"
                )
            };
            return Err(io::Error::new(io::ErrorKind::Unsupported, what));
        }
        let Some(format) = Compression::of_content(&head) else {
            self.ahead = head;
            return Ok(());
        };
        let rest = std::mem::replace(&mut self.reader, Box::new(io::empty()));
        let whole = Box::new(io::Cursor::new(head).chain(rest));
        self.reader = compression::unpacked(format, whole, memory_bytes)?;
        self.unpacks = true;
        self.ended = false;
        Ok(())
    }

    /// Reads until `buffer` is full or the stream ends.
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(memory_bytes) = self.unpack.take() {
            self.look(memory_bytes)?;
        }
        let from_ahead = self.ahead.len().min(buffer.len());
        buffer[..from_ahead].copy_from_slice(&self.ahead[..from_ahead]);
        self.ahead.drain(..from_ahead);
        if self.ahead.is_empty() {
            self.ahead = Vec::new();
        }
        let mut filled = from_ahead;
        while filled < buffer.len() && !self.ended {
            match self.reader.read(&mut buffer[filled..]) {
                Ok(0) => {
                    self.ended = true;
                    self.reader = Box::new(io::empty()); // its buffers are for the next input
                }
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}
