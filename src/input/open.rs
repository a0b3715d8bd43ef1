//! Opening inputs: what can be read at any place, and what only once.

use crate::error::{Error, Result};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Mutex;

/// An input as the caller names it.
pub(crate) enum Input {
    /// A file.
    Path(PathBuf),
    /// Standard input.
    Stdin,
    /// Anything that reads; the name is for messages.
    Reader(String, Box<dyn Read + Send>),
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
}

/// Opens inputs; standard input that is named again has nothing left.
pub(crate) fn open_all(inputs: Vec<Input>) -> Result<Vec<Opened>> {
    let mut stdin_is_open = false;
    let open = |input: Input| {
        if matches!(input, Input::Stdin) && std::mem::replace(&mut stdin_is_open, true) {
            return Ok(Opened::stream("-".to_owned(), Box::new(io::empty())));
        }
        input.open()
    };
    inputs.into_iter().map(open).collect()
}

impl Input {
    /// Opens the input.
    pub(crate) fn open(self) -> Result<Opened> {
        let (name, file) = match self {
            Self::Path(path) => {
                let file = File::open(&path).map_err(Error::io("open", &path))?;
                (path.display().to_string(), file)
            }
            Self::Stdin => {
                let descriptor = io::stdin().as_fd().try_clone_to_owned();
                ("-".to_owned(), File::from(descriptor.map_err(Error::io("open", "-"))?))
            }
            Self::Reader(name, reader) => return Ok(Opened::stream(name, reader)),
        };
        Opened::file(name, file)
    }
}

impl Opened {
    fn file(name: String, mut file: File) -> Result<Self> {
        let metadata = file.metadata().map_err(Error::io("read", &name))?;
        if metadata.is_dir() {
            let source = io::Error::from(io::ErrorKind::IsADirectory);
            return Err(Error::Io { action: "read", path: name.into(), source });
        }
        if !metadata.is_file() {
            return Ok(Self::stream(name, Box::new(file)));
        }
        if metadata.len() == 0 {
            // Files of /proc say that they have 0 bytes.
            let mut ahead = vec![0; 4096];
            let read = file.read(&mut ahead).map_err(Error::io("read", &name))?;
            if read > 0 {
                ahead.truncate(read);
                let stream = Stream { ahead, ..Stream::new(Box::new(file)) };
                return Ok(Self { name, content: Content::Stream(Mutex::new(stream)) });
            }
        }
        let start = file.stream_position().map_err(Error::io("read", &name))?;
        let len = metadata.len().saturating_sub(start);
        Ok(Self { name, content: Content::Regular { file, start, len } })
    }

    fn stream(name: String, reader: Box<dyn Read + Send>) -> Self {
        Self { name, content: Content::Stream(Mutex::new(Stream::new(reader))) }
    }

    /// Bytes of the whole input, if that is known before it is read.
    pub(crate) fn len(&self) -> Option<u64> {
        match &self.content {
            Content::Regular { len, .. } => Some(*len),
            Content::Stream(_) => None,
        }
    }

    /// Whether it can be read more than once.
    pub(crate) fn can_reread(&self) -> bool {
        matches!(self.content, Content::Regular { .. })
    }
}

impl Stream {
    fn new(reader: Box<dyn Read + Send>) -> Self {
        Self { ahead: Vec::new(), reader, ended: false }
    }

    /// Reads until `buffer` is full or the stream ends.
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let from_ahead = self.ahead.len().min(buffer.len());
        buffer[..from_ahead].copy_from_slice(&self.ahead[..from_ahead]);
        self.ahead.drain(..from_ahead);
        if self.ahead.is_empty() {
            self.ahead = Vec::new();
        }
        let mut filled = from_ahead;
        while filled < buffer.len() && !self.ended {
            match self.reader.read(&mut buffer[filled..]) {
                Ok(0) => self.ended = true,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}
