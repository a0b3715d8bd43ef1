//! Opens inputs, and finds out whether one can be read at any place or only once. Maps files.

use super::regular::{RegularFile, read_at};
use super::rule::Purpose;
use super::stream::{Look, Stream};
use super::unchanged::{Mark, mark_of};
use super::values::{PieceSource, ValueSource, Values};
use crate::error::{Error, Result};
use crate::io::compression::{Compression, HEAD_BYTES};
use crate::io::roaring;
use crate::io::table::{Table, TableFormat, TableOptions, VALUE_BYTES, too_large};
use crate::kernel::sys::{LOST, Map, Standard, map_file};
use crate::number::{Column, Format, Notation};
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::ops::Range;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// An input as the caller names it.
pub(crate) enum Input {
    /// A file.
    Path(PathBuf),
    /// The lines of a text file that begin in a range of its bytes.
    Split(PathBuf, Range<u64>),
    /// Standard input.
    Stdin,
    /// Anything that reads; the name is for messages.
    Reader(String, Box<dyn Read + Send>),
    /// A reader of bytes that may be compressed.
    Stream(String, Box<dyn Read + Send>),
    /// Values of an iterator.
    Values(Box<dyn ValueSource>),
    /// The values of a set or an array.
    Pieces(Arc<dyn PieceSource>),
}

/// The decoder of an input that is not open yet.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decoder {
    None,
    /// It takes so much memory, as the head of the file says.
    Packed(u64),
    /// Of a table, which does not say its memory.
    Table,
    /// Of a stream, which may need one.
    Unknown,
}

/// An input that is open.
pub(crate) struct Opened {
    /// As the user gave it; `-` is standard input.
    pub(crate) name: String,
    pub(crate) content: Content,
}

pub(crate) enum Content {
    /// Can be read at any place, any number of times.
    Regular(Arc<RegularFile>),
    /// A column of a table: can be read in pieces, any number of times.
    Table(Arc<Table>),
    /// Can be read once, in order.
    Stream(Mutex<Stream>),
    /// Values without bytes, which can be read once, in order.
    Values(Mutex<Values>),
    /// A set or an array: it has no bytes, but can be read in pieces, any number of times.
    Pieces { source: Arc<dyn PieceSource>, len: u64 },
}

/// Files of /proc claim a length of 0, and files of /sys a page, whatever they hold: the reader
/// treats them as streams.
const MADE_UP_BYTES: usize = 4096;

/// How inputs are opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenOptions<'a> {
    pub(crate) purpose: Purpose,
    pub(crate) format: Format,
    /// Memory for unpacking an input.
    pub(crate) unpack_bytes: u64,
    /// Memory that all tables may take together as long as they are open.
    pub(crate) table_bytes: u64,
    /// The wanted column of a table.
    pub(crate) column: Option<&'a Column>,
    /// The column of keys in a table, if keys are wanted.
    pub(crate) keys: Option<&'a Column>,
    /// Threads that share this memory.
    pub(crate) threads: usize,
    /// Whether malformed lines are left out.
    pub(crate) leaves_out: bool,
}

impl OpenOptions<'_> {
    fn look(self, name: &str) -> Look {
        let Self { purpose, unpack_bytes: memory_bytes, leaves_out, .. } = self;
        let (name, is_binary) = (name.to_owned(), self.is_binary());
        Look { name, memory_bytes, purpose, is_binary, leaves_out }
    }

    /// Whether the bytes are any bytes: then they may begin like a compressed file by chance.
    fn is_binary(self) -> bool {
        !self.format.is_text()
    }

    /// The compression of a file that begins with `head`.
    pub(crate) fn compression(self, name: &str, head: &[u8]) -> Option<Compression> {
        Compression::of_named(name, head, self.is_binary())
    }
}

/// Opens inputs. Their content tells whether they are compressed, or tables. Standard input that
/// is named a second time is empty.
#[derive(Default)]
pub(super) struct Opener {
    stdin_is_open: bool,
}

impl Opener {
    pub(super) fn open(&mut self, input: Input, options: OpenOptions<'_>) -> Result<Opened> {
        if matches!(input, Input::Stdin) && std::mem::replace(&mut self.stdin_is_open, true) {
            return Ok(Opened::reader("-".to_owned(), Box::new(io::empty())));
        }
        input.open(options)
    }
}

/// Opens all inputs, as an [`Opener`] does.
pub(crate) fn open_all(inputs: Vec<Input>, options: OpenOptions<'_>) -> Result<Vec<Opened>> {
    let (mut opener, mut held_bytes, mut metadata_bytes) = (Opener::default(), 0_u64, 0_u64);
    let open = |input| {
        let found = opener.open(input, options)?;
        if let Content::Table(table) = &found.content {
            held_bytes = held_bytes.saturating_add(table.held_bytes());
            metadata_bytes = metadata_bytes.max(table.metadata_bytes());
            let copies_bytes = metadata_bytes.saturating_mul(options.threads as u64);
            let taken_bytes = held_bytes.saturating_add(copies_bytes);
            let limit_bytes = options.table_bytes;
            if taken_bytes > limit_bytes {
                let what = "the outline of all tables up to this one";
                let source = too_large(what, taken_bytes, limit_bytes);
                return Err(Error::io("read", &found.name)(source));
            }
        }
        Ok(found)
    };
    inputs.into_iter().map(open).collect()
}

/// The first bytes of a file's content, fewer if it ends before.
pub(super) fn head_of(file: &File, start: u64) -> io::Result<Vec<u8>> {
    const { assert!(MADE_UP_BYTES >= HEAD_BYTES) };
    read_up_to(file, MADE_UP_BYTES, start)
}

/// Up to `most` bytes of a file's content from `start` on.
fn read_up_to(file: &File, most: usize, start: u64) -> io::Result<Vec<u8>> {
    let mut head = vec![0; most];
    let read = read_at(file, &mut head, start)?;
    head.truncate(read);
    Ok(head)
}

impl Input {
    /// Whether it is a set, whose values ascend.
    pub(crate) fn is_set(&self) -> bool {
        matches!(self, Self::Pieces(source) if source.ascends())
    }

    /// The decoder of this input.
    ///
    /// # Errors
    ///
    /// If the file cannot be read.
    pub(crate) fn decoder(&self, options: OpenOptions<'_>) -> Result<Decoder> {
        let path = match self {
            Self::Path(path) => path,
            Self::Stdin | Self::Stream(..) => return Ok(Decoder::Unknown),
            Self::Split(..) | Self::Reader(..) | Self::Values(_) | Self::Pieces(_) => {
                return Ok(Decoder::None);
            }
        };
        if !path.is_file() {
            return Ok(Decoder::Unknown); // opening it later reports that it is missing
        }
        let file = File::open(path).map_err(Error::io("open", path))?;
        let head = head_of(&file, 0).map_err(Error::io("read", path))?;
        if let Some(format) = options.compression(&path.to_string_lossy(), &head) {
            return Ok(Decoder::Packed(format.decoder_bytes(&head)));
        }
        let is_table = !options.is_binary() && TableFormat::of_content(&head).is_some();
        Ok(if is_table { Decoder::Table } else { Decoder::None })
    }

    fn open(self, options: OpenOptions<'_>) -> Result<Opened> {
        let (name, file) = match self {
            Self::Path(path) => {
                let file = File::open(&path).map_err(Error::io("open", &path))?;
                (path.display().to_string(), file)
            }
            Self::Split(path, bytes) => return Opened::split(&path, bytes, options),
            Self::Stdin => ("-".to_owned(), standard_input()?),
            Self::Reader(name, reader) => return Ok(Opened::reader(name, reader)),
            Self::Stream(name, reader) => {
                let stream = Stream::of_reader(reader).looked_at(Some(options.look(&name)));
                return Ok(Opened::stream(name, stream));
            }
            Self::Values(source) => {
                let content = Content::Values(Mutex::new(Values::new(source)));
                return Ok(Opened { name: "values".to_owned(), content });
            }
            Self::Pieces(source) => {
                let (name, len) = (source.name(), source.len()?);
                return Ok(Opened { name, content: Content::Pieces { source, len } });
            }
        };
        Opened::file(name, file, options)
    }
}

/// The size of a plain text file, which can be read in splits; none for any other input.
fn splittable_bytes(file: &File, name: &str, options: OpenOptions<'_>) -> Result<Option<u64>> {
    let metadata = file.metadata().map_err(Error::io("read", name))?;
    if !metadata.is_file() || options.is_binary() {
        return Ok(None);
    }
    let head = head_of(file, 0).map_err(Error::io("read", name))?;
    let is_packed = options.compression(name, &head).is_some();
    let is_plain = !is_packed && TableFormat::of_content(&head).is_none();
    Ok(is_plain.then_some(metadata.len()))
}

/// The splits of a file, of about `bytes` bytes each; none if it must be read as a whole.
pub(crate) fn splits(path: &Path, bytes: u64, options: OpenOptions<'_>) -> Result<Vec<Range<u64>>> {
    let file = File::open(path).map_err(Error::io("open", path))?;
    let len = splittable_bytes(&file, &path.display().to_string(), options)?.unwrap_or(0);
    let bytes = bytes.max(1);
    let starts = (0..len.div_ceil(bytes)).map(|number| number * bytes);
    Ok(starts.map(|start| start..len.min(start.saturating_add(bytes))).collect())
}

/// Whether a path stands for standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].iter().any(|name| path == Path::new(name))
}

/// Opens a file; `-` is standard input.
pub(crate) fn open_file(path: &Path) -> Result<File> {
    if is_stdin(path) {
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
    /// Moves the position of standard input, if a file is there, to its end, so that the next program
    /// reads nothing twice. For a run that reads all.
    pub(crate) fn pass(&self) -> Result<()> {
        let mut file = match &self.content {
            Content::Regular(regular) => regular.file(),
            Content::Table(table) => table.file(),
            Content::Values(_) | Content::Pieces { .. } | Content::Stream(_) => return Ok(()),
        };
        if self.name == "-" {
            file.seek(io::SeekFrom::End(0)).map_err(Error::io("read", "-"))?;
        }
        Ok(())
    }

    /// Wraps a reader whose bytes are never unpacked.
    pub(crate) fn reader(name: String, reader: Box<dyn Read + Send>) -> Self {
        Self::stream(name, Stream::of_reader(reader))
    }

    /// A split of a text file.
    fn split(path: &Path, bytes: Range<u64>, options: OpenOptions<'_>) -> Result<Self> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(Error::io("open", path))?;
        let Some(len) = splittable_bytes(&file, &name, options)? else {
            return Err(Error::usage(format!("{name} has no splits: it is read whole")));
        };
        let Range { start, end } = bytes;
        if start > end || start > len {
            let what = format!("{name} has {len} bytes, and no split from {start} to {end}");
            return Err(Error::usage(what));
        }
        let file = RegularFile::split(file, bytes, len).map_err(Error::io("read", path))?;
        Ok(Self { name, content: Content::Regular(Arc::new(file)) })
    }

    /// The file, if the input is a split of one.
    pub(super) fn split_of(&self) -> Option<Arc<RegularFile>> {
        match &self.content {
            Content::Regular(file) if file.begin > 0 => Some(Arc::clone(file)),
            _ => None,
        }
    }

    /// A file that is open already.
    pub(super) fn file(name: String, file: File, options: OpenOptions<'_>) -> Result<Self> {
        let failed = || Error::io("read", &name);
        let metadata = file.metadata().map_err(failed())?;
        if metadata.is_dir() {
            return Err(Error::directory("read", name));
        }
        if !metadata.is_file() {
            let look = options.look(&name);
            return Ok(Self::stream(name, Stream::of_file(file).looked_at(Some(look))));
        }
        let start = (&file).stream_position();
        let head = start.and_then(|start| Ok((start, head_of(&file, start)?)));
        let is_made_up = match &head {
            Ok((start, head)) => head.len() as u64 != metadata.len().saturating_sub(*start),
            Err(_) => true,
        };
        if metadata.len() <= MADE_UP_BYTES as u64 && is_made_up {
            return Ok(Self::stream(name, Stream::of_file(file)));
        }
        let (start, head) = head.map_err(failed())?;
        if options.compression(&name, &head).is_some() {
            let look = options.look(&name);
            return Ok(Self::stream(name, Stream::of_packed(file, metadata, look)));
        }
        let wanted = roaring::wanted(&head);
        let head = if options.leaves_out && wanted > head.len() {
            read_up_to(&file, wanted, start).map_err(failed())?
        } else {
            head
        };
        options.purpose.check_head(&name, &head, options.is_binary(), options.leaves_out)?;
        if let Some(format) = TableFormat::of_content(&head)
            && start == 0
            && !options.is_binary()
            && options.purpose == Purpose::Values
        {
            let OpenOptions { column, format: values, keys, unpack_bytes, threads, .. } = options;
            let (memory_bytes, threads) = (unpack_bytes, threads as u64);
            let notation = values.notation().unwrap_or(Notation::DECIMAL);
            let options = TableOptions { column, notation, keys, memory_bytes, threads };
            let table = Table::open(file, &name, format, options)?;
            return Ok(Self { name, content: Content::Table(Arc::new(table)) });
        }
        let len = metadata.len().saturating_sub(start);
        let content = Content::Regular(Arc::new(RegularFile::new(file, start, len)));
        Ok(Self { name, content })
    }

    fn stream(name: String, stream: Stream) -> Self {
        Self { name, content: Content::Stream(Mutex::new(stream)) }
    }

    /// Whether the input may take memory to unpack.
    pub(crate) fn may_unpack(&self) -> bool {
        match &self.content {
            Content::Regular(_) | Content::Values(_) | Content::Pieces { .. } => false,
            Content::Table(_) => true,
            Content::Stream(stream) => {
                let stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
                stream.may_unpack()
            }
        }
    }

    /// Threads that may read it at the same time, if it is a table.
    pub(crate) fn table_threads(&self) -> Option<usize> {
        match &self.content {
            Content::Table(table) => Some(table.threads()),
            _ => None,
        }
    }

    /// Whether it has lines or records, and no rows of a table.
    pub(crate) fn has_records(&self) -> bool {
        matches!(self.content, Content::Regular(_) | Content::Stream(_))
    }

    /// Whether the input is a set, which takes memory to decode.
    pub(crate) fn is_set(&self) -> bool {
        matches!(&self.content, Content::Pieces { source, .. } if source.ascends())
    }

    /// Bytes of the whole input, if they are known before it is read.
    pub(crate) fn len(&self) -> Option<u64> {
        match &self.content {
            Content::Regular(file) => Some(file.len - file.begin),
            Content::Table(table) => Some(table.rows().saturating_mul(VALUE_BYTES)),
            Content::Pieces { len, .. } => Some(len.saturating_mul(VALUE_BYTES)),
            Content::Stream(_) | Content::Values(_) => None,
        }
    }

    /// Whether the input can be read more than once.
    pub(crate) fn can_reread(&self) -> bool {
        matches!(self.content, Content::Regular(_) | Content::Table(_) | Content::Pieces { .. })
    }

    /// The state of its file. It changes when somebody writes to the file.
    pub(crate) fn mark(&self) -> Option<Mark> {
        match &self.content {
            Content::Regular(file) => file.mark(),
            Content::Table(table) => mark_of(&table.file().metadata().ok()?),
            Content::Stream(_) | Content::Values(_) | Content::Pieces { .. } => None,
        }
    }
}

/// Maps the file at `path`.
pub(crate) fn map(path: &Path) -> Result<Map> {
    if path == Path::new("-") {
        return Err(Error::usage("this command reads files, not standard input: name a file"));
    }
    // To open a named pipe would wait for a writer.
    let metadata = fs::metadata(path).map_err(Error::io("open", path))?;
    if metadata.is_dir() {
        return Err(Error::directory("read", path));
    }
    if !metadata.is_file() {
        return Err(Error::usage(format!("{} is no regular file", path.display())));
    }
    let file = File::open(path).map_err(Error::io("open", path))?;
    map_file(&file).map_err(Error::io("map", path))
}

/// Fails if the map of the file at `path` lost bytes, or the file is shorter than its map.
pub(crate) fn check_whole(map: &Map, path: &Path) -> Result<()> {
    if let Some(found) = map.cut_to().map_err(Error::io("look at", path))? {
        let (input, expected) = (path.display().to_string(), map.len() as u64);
        return Err(Error::InputChanged { input, expected, found, unit: "bytes" });
    }
    if map.is_lost() {
        return Err(Error::io("read", path)(io::Error::other(LOST)));
    }
    Ok(())
}
