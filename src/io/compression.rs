//! Compressed files. Their content tells the format of an input, and their name that of an output.

use std::io::{self, Read, Write};
use std::path::Path;

/// A format of compressed files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    Gzip,
    Zstd,
    Bzip2,
    Xz,
}

/// Bytes of a file that tell its format, and how much memory its decoder takes.
pub(crate) const HEAD_BYTES: usize = 40;

/// Memory of a decoder beside its window or dictionary: buffers and tables.
const DECODER_BYTES: u64 = 1 << 20;

impl Compression {
    const ALL: [Self; 4] = [Self::Gzip, Self::Zstd, Self::Bzip2, Self::Xz];

    /// The format of a file that begins with these bytes.
    ///
    /// Sources: RFC 1952, RFC 8878, the `bzip2` program, and
    /// <https://tukaani.org/xz/xz-file-format.txt>.
    pub(crate) fn of_content(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x1F, 0x8B, 8, ..] => Some(Self::Gzip),
            // A frame, or one to be skipped, with which pzstd begins.
            [0x28, 0xB5, 0x2F, 0xFD, ..] | [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => Some(Self::Zstd),
            // A level, then the digits of pi: a block, or of its square root: the end.
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..]
            | [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, 0x38, 0x50, 0x90, ..] => {
                Some(Self::Bzip2)
            }
            [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => Some(Self::Xz),
            _ => None,
        }
    }

    /// The format of an input called `name`, which begins with these bytes. Binary numbers may begin
    /// like a compressed file by chance; then its name must end so, or more of its header be right.
    pub(crate) fn of_named(name: &str, bytes: &[u8], is_binary: bool) -> Option<Self> {
        let found = Self::of_content(bytes)?;
        let is_named = Self::of_name(Path::new(name)) == Some(found);
        if is_binary && !is_named { Self::of_numbers(bytes) } else { Some(found) }
    }

    /// The format of a file of binary numbers that begins with these bytes, if more of its header is
    /// right than its first bytes.
    ///
    /// Sources: as [`of_content`](Self::of_content); RFC 1952, 2.3; RFC 8878, 3.1.1.1.1.
    fn of_numbers(bytes: &[u8]) -> Option<Self> {
        /// The length of the frame to be skipped with which pzstd begins.
        const SKIPPED: [u8; 4] = [4, 0, 0, 0];
        let format = Self::of_content(bytes)?;
        let is_sure = match (format, bytes) {
            // Flags that exist, a level, and a system that was given a number.
            (Self::Gzip, [_, _, _, flags, _, _, _, _, level, system, ..]) => {
                flags & 0xE0 == 0 && matches!(level, 0 | 2 | 4) && matches!(system, 0..=13 | 255)
            }
            // No dictionary, and no bit without a meaning.
            (Self::Zstd, [0x28, _, _, _, descriptor, ..]) => descriptor & 0x1B == 0,
            (Self::Zstd, [_, _, _, _, rest @ ..]) => {
                let next = rest.strip_prefix(&SKIPPED).and_then(|rest| rest.get(4..));
                next.is_some_and(|next| next.starts_with(&[0x28, 0xB5, 0x2F, 0xFD]))
            }
            (Self::Xz, _) => {
                let flags = bytes.get(6..8).zip(bytes.get(8..12));
                flags.is_some_and(|(flags, sum)| crc32fast::hash(flags).to_le_bytes() == sum)
            }
            (Self::Bzip2, _) => true, // ten bytes of it
            _ => false,
        };
        is_sure.then_some(format)
    }

    /// The format that a file of this name should have.
    pub(crate) fn of_name(path: &Path) -> Option<Self> {
        let suffix = path.extension()?.to_str()?;
        Self::ALL.into_iter().find(|format| suffix.eq_ignore_ascii_case(format.suffix()))
    }

    /// Refuses a name that promises compression for a file that is never compressed as a whole.
    pub(crate) fn refuse_name(path: &Path, why: &str) -> Result<(), String> {
        match Self::of_name(path) {
            Some(_) => Err(format!("{}: {why}, so it cannot be compressed", path.display())),
            None => Ok(()),
        }
    }

    /// Refuses the name of an output that promises a compression which this program does not write.
    pub(crate) fn refuse_unknown(path: &Path) -> Result<(), String> {
        const UNKNOWN: [&str; 19] = [
            "7z", "br", "bz", "gzip", "lz", "lz4", "lzma", "lzo", "lzop", "rar", "sz", "tbz2",
            "tgz", "txz", "tzst", "xzip", "z", "zip", "zstd",
        ];
        let suffix = path.extension().and_then(|suffix| suffix.to_str()).unwrap_or("");
        if UNKNOWN.iter().any(|unknown| suffix.eq_ignore_ascii_case(unknown)) {
            let path = path.display();
            return Err(format!(
                "{path}: .{suffix} is not written, only .gz, .zst, .bz2 and .xz are"
            ));
        }
        Ok(())
    }

    /// Memory that it takes to unpack a file that begins with `head`, rounded up. If the head does
    /// not say it, the most that the format allows. The head of bzip2 says it of the first member only.
    ///
    /// Sources: RFC 8878, 3.1.1.1; section 3.1 of
    /// <https://tukaani.org/xz/xz-file-format.txt> and 5.3 for the filter LZMA2;
    /// the manual of `bzip2` (4 bytes for each byte of a block).
    pub(crate) fn decoder_bytes(self, head: &[u8]) -> u64 {
        match self {
            Self::Gzip => DECODER_BYTES / 4,
            Self::Bzip2 => 9 * 400_000 + DECODER_BYTES / 4,
            Self::Zstd => {
                let window = zstd_window(head).unwrap_or(1 << USUAL_ZSTD_LOG);
                // A decoder is told the logarithm of the largest one.
                let window = window.checked_next_power_of_two().unwrap_or(u64::MAX);
                window.saturating_add(DECODER_BYTES)
            }
            Self::Xz => xz_dictionary(head).unwrap_or(u64::from(u32::MAX)) + DECODER_BYTES,
        }
    }

    /// The usual ending of the name of a file.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Self::Gzip => "gz",
            Self::Zstd => "zst",
            Self::Bzip2 => "bz2",
            Self::Xz => "xz",
        }
    }
}

/// The largest window of zstd that a file may have whose head does not say it: the `zstd` program
/// unpacks no larger ones unless it is told to.
const USUAL_ZSTD_LOG: u32 = 27;
/// The largest window of zstd.
#[cfg(feature = "compression")]
const MAX_ZSTD_LOG: u32 = 31;

/// The window of a file's first zstd frame with content.
fn zstd_window(mut head: &[u8]) -> Option<u64> {
    while let [0x50..=0x5F, 0x2A, 0x4D, 0x18, rest @ ..] = head {
        let (length, rest) = rest.split_first_chunk()?;
        head = rest.get(usize::try_from(u32::from_le_bytes(*length)).ok()?..)?;
    }
    let (magic, rest) = head.split_first_chunk::<4>()?;
    let (&descriptor, rest) = rest.split_first()?;
    if *magic != [0x28, 0xB5, 0x2F, 0xFD] {
        return None;
    }
    if descriptor & 0x20 == 0 {
        let window = *rest.first()?;
        let base = 1_u64 << (10 + (window >> 3));
        return Some(base + base / 8 * u64::from(window & 7));
    }
    // One segment: its window is its content, whose length stands behind the
    // number of a dictionary.
    let rest = rest.get([0, 1, 2, 4][usize::from(descriptor & 3)]..)?;
    let width = [1, 2, 4, 8][usize::from(descriptor >> 6)];
    let mut bytes = [0; 8];
    bytes[..width].copy_from_slice(rest.get(..width)?);
    let length = u64::from_le_bytes(bytes);
    Some(if width == 2 { length + 256 } else { length })
}

/// The dictionary of the first block of an xz file.
fn xz_dictionary(head: &[u8]) -> Option<u64> {
    /// Bytes of a stream without blocks: its index, which begins with 0, comes at once.
    const EMPTY: usize = 32;
    if head.get(12) == Some(&0) {
        return (head.len() == EMPTY).then_some(0); // else another one follows
    }
    let flags = *head.get(13)?;
    // Behind the flags, the lengths of the block packed and unpacked may stand.
    let mut rest = head.get(14..)?;
    for has_length in [flags & 0x40 != 0, flags & 0x80 != 0] {
        if has_length {
            let last = rest.iter().position(|byte| byte & 0x80 == 0)?;
            rest = &rest[last + 1..];
        }
    }
    // Filters before LZMA2, which is the last one: delta, and those of executables.
    for _ in 0..flags & 3 {
        let [3..=11, length @ 0..=4, behind @ ..] = rest else { return None };
        rest = behind.get(usize::from(*length)..)?;
    }
    let [0x21, 1, size @ 0..=40, ..] = *rest else { return None };
    let bits = u32::from(size / 2) + 11;
    Some(if size == 40 { u64::from(u32::MAX) } else { u64::from(2 | (size & 1)) << bits })
}

/// Unpacks the bytes of `reader` within `memory_bytes`.
///
/// # Errors
///
/// If the program was built without this, or `memory_bytes` are too few.
#[cfg(feature = "compression")]
pub(crate) fn unpacked(
    format: Compression,
    reader: Box<dyn Read + Send>,
    memory_bytes: u64,
) -> io::Result<Box<dyn Read + Send>> {
    // The worst file of gzip or bzip2 needs so much; the heads of the other formats say it.
    let least = match format {
        Compression::Gzip | Compression::Bzip2 => format.decoder_bytes(&[]),
        Compression::Zstd | Compression::Xz => DECODER_BYTES + (1 << 10),
    };
    if memory_bytes < least {
        let what = format!(
            "the decoder needs {least} bytes of memory, and the limit leaves {memory_bytes}"
        );
        return Err(io::Error::new(io::ErrorKind::OutOfMemory, what));
    }
    let unpacked: Box<dyn Read + Send> = match format {
        // A file may be several that were put together.
        Compression::Gzip => Box::new(GzipMembers(Some(flate2::bufread::GzDecoder::new(
            io::BufReader::with_capacity(1 << 16, reader),
        )))),
        Compression::Bzip2 => Box::new(bzip2::read::MultiBzDecoder::new(reader)),
        Compression::Zstd => {
            let mut decoder = zstd::Decoder::new(reader)?;
            decoder.window_log_max((memory_bytes - DECODER_BYTES).ilog2().min(MAX_ZSTD_LOG))?;
            Box::new(decoder)
        }
        Compression::Xz => {
            let kib = u32::try_from(memory_bytes >> 10).unwrap_or(u32::MAX);
            // The decoder reads byte by byte.
            let reader = io::BufReader::with_capacity(1 << 16, reader);
            Box::new(lzma_rust2::XzReader::new_mem_limit(reader, true, kib))
        }
    };
    Ok(Box::new(Limited { decoder: unpacked, format, memory_bytes }))
}

/// The members of a gzip file, one after the other. Zeros behind the last one
/// fill a block of a tape: the `gzip` program passes over them as well.
#[cfg(feature = "compression")]
struct GzipMembers<R>(Option<flate2::bufread::GzDecoder<R>>);

#[cfg(feature = "compression")]
impl<R: io::BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.0 {
            let read = member.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            let rest = member.get_mut();
            let next = loop {
                let bytes = rest.fill_buf()?;
                let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
                let next = bytes.get(zeros).copied();
                rest.consume(zeros);
                if next.is_some() || zeros == 0 {
                    break next;
                }
            };
            match next {
                None => self.0 = None,
                Some(0x1F) => {
                    self.0 = self
                        .0
                        .take()
                        .map(|member| flate2::bufread::GzDecoder::new(member.into_inner()));
                }
                Some(_) => {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidData,
                        "what follows the compressed data is not compressed with gzip",
                    ));
                }
            }
        }
        Ok(0)
    }
}

/// Numbers of errors in zstd 1.5, `zstd_errors.h`.
#[cfg(feature = "compression")]
const WINDOW_TOO_LARGE: usize = 16;
#[cfg(feature = "compression")]
const OTHER_DICTIONARY: usize = 32;

/// Marks the errors of a decoder that needs more memory than it may take, and of damaged bytes.
#[cfg(feature = "compression")]
struct Limited {
    decoder: Box<dyn Read + Send>,
    format: Compression,
    memory_bytes: u64,
}

#[cfg(feature = "compression")]
impl Limited {
    fn is_too_large(&self, error: &io::Error) -> bool {
        error.kind() == io::ErrorKind::OutOfMemory || self.is_zstd_error(error, WINDOW_TOO_LARGE)
    }

    /// Whether zstd gave the error of this number.
    fn is_zstd_error(&self, error: &io::Error, number: usize) -> bool {
        // The decoder of zstd gives the text of the error only.
        let text = zstd::zstd_safe::get_error_name(number.wrapping_neg());
        self.format == Compression::Zstd && error.to_string() == text
    }
}

#[cfg(feature = "compression")]
impl Read for Limited {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.decoder.read(buffer).map_err(|error| {
            let ours =
                error.get_ref().and_then(|inner| inner.downcast_ref::<crate::error::Error>());
            let is_other = error.kind() == io::ErrorKind::Other && error.raw_os_error().is_none();
            if self.is_too_large(&error) {
                let (suffix, bytes) = (self.format.suffix(), self.memory_bytes);
                let what =
                    format!("a decoder of .{suffix} has {bytes} bytes of memory, and needs more");
                io::Error::new(io::ErrorKind::OutOfMemory, what)
            } else if self.is_zstd_error(&error, OTHER_DICTIONARY) {
                let what =
                    "it was compressed with a dictionary, which is not read here: unpack it first";
                io::Error::new(io::ErrorKind::Unsupported, what)
            } else if is_other && ours.is_none() {
                io::Error::new(io::ErrorKind::InvalidData, error)
            } else {
                error
            }
        })
    }
}

/// Packs bytes on their way to a file.
pub(crate) trait Pack: Write + Send {
    /// Completes the file.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

#[cfg(feature = "compression")]
macro_rules! pack {
    ($($encoder:ty),*) => {
        $(impl<W: Write + Send> Pack for $encoder {
            fn finish(self: Box<Self>) -> io::Result<()> {
                (*self).finish().map(drop)
            }
        })*
    };
}

#[cfg(feature = "compression")]
pack!(
    flate2::write::GzEncoder<W>,
    zstd::Encoder<'static, W>,
    bzip2::write::BzEncoder<W>,
    lzma_rust2::XzWriter<W>
);

/// Packs as the programs of these formats do by default, within about `memory_bytes`.
#[cfg(feature = "compression")]
pub(crate) fn packer(
    format: Compression,
    out: impl Write + Send + 'static,
    memory_bytes: u64,
) -> io::Result<Box<dyn Pack>> {
    Ok(match format {
        Compression::Gzip => {
            Box::new(flate2::write::GzEncoder::new(out, flate2::Compression::default()))
        }
        Compression::Zstd => {
            let mut encoder = zstd::Encoder::new(out, 0)?;
            encoder.include_checksum(true)?;
            Box::new(encoder)
        }
        Compression::Bzip2 => {
            Box::new(bzip2::write::BzEncoder::new(out, bzip2::Compression::best()))
        }
        Compression::Xz => {
            // Level 6 takes 94 MiB, level 1 takes 9 (the manual of `xz`).
            let level = if memory_bytes >= 100 << 20 { 6 } else { 1 };
            let options = lzma_rust2::XzOptions::with_preset(level);
            Box::new(lzma_rust2::XzWriter::new(out, options)?)
        }
    })
}

#[cfg(not(feature = "compression"))]
fn left_out(format: Compression) -> io::Error {
    let what = format!("it is {format:?}, and this program was built without compression");
    io::Error::new(io::ErrorKind::Unsupported, what)
}

#[cfg(not(feature = "compression"))]
pub(crate) fn unpacked(
    format: Compression,
    _: Box<dyn Read + Send>,
    _: u64,
) -> io::Result<Box<dyn Read + Send>> {
    Err(left_out(format))
}

#[cfg(not(feature = "compression"))]
pub(crate) fn packer(
    format: Compression,
    _: impl Write + Send + 'static,
    _: u64,
) -> io::Result<Box<dyn Pack>> {
    Err(left_out(format))
}

#[cfg(all(test, feature = "compression"))]
mod tests {
    use super::*;
    use std::io::Seek;

    #[test]
    fn what_is_packed_is_told_apart_and_unpacked() {
        for text in [&b""[..], b"1\n2\n", &b"12345\n".repeat(50_000)] {
            for format in Compression::ALL {
                let mut file = tempfile::tempfile().unwrap();
                // Two members, as `cat a.gz b.gz` makes them.
                let mut first = 0;
                for _ in 0..2 {
                    let mut out = packer(format, file.try_clone().unwrap(), 16 << 20).unwrap();
                    out.write_all(text).unwrap();
                    out.finish().unwrap();
                    if first == 0 {
                        first = usize::try_from(file.stream_position().unwrap()).unwrap();
                    }
                }
                let mut packed = Vec::new();
                file.rewind().unwrap();
                file.read_to_end(&mut packed).unwrap();
                let head = &packed[..packed.len().min(HEAD_BYTES)];
                assert_eq!(Compression::of_content(head), Some(format));
                let said = format.decoder_bytes(&head[..head.len().min(first)]);
                assert!(said < 64 << 20, "{format:?}: {said} of {} bytes", text.len());
                let mut found = Vec::new();
                let reader = Box::new(io::Cursor::new(packed.clone()));
                unpacked(format, reader, 16 << 20).unwrap().read_to_end(&mut found).unwrap();
                assert!(found == text.repeat(2), "{format:?}");
                packed.truncate(packed.len() - 1);
                let mut reader =
                    unpacked(format, Box::new(io::Cursor::new(packed)), 16 << 20).unwrap();
                assert!(reader.read_to_end(&mut found).is_err(), "{format:?} cut off");
            }
        }
        // What a window or a dictionary is behind: a frame to be skipped, and a filter for programs.
        let frame = [
            &[0x5E, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 9, 9, 9][..],
            &[0x28, 0xB5, 0x2F, 0xFD, 0, 0x28],
        ];
        assert_eq!(Compression::Zstd.decoder_bytes(&frame.concat()), (1 << 15) + DECODER_BYTES);
        let block =
            [&[0xFD, b'7', b'z', b'X', b'Z', 0, 0, 4, 1, 2, 3, 4, 3, 1][..], &[4, 0, 0x21, 1, 12]];
        assert_eq!(Compression::Xz.decoder_bytes(&block.concat()), (1 << 18) + DECODER_BYTES);
        // A merge asks how much memory the decoders need before it opens them.
        let small = bzip2::Compression::new(1);
        let mut packed = bzip2::write::BzEncoder::new(Vec::new(), small);
        packed.write_all(b"12345\n").unwrap();
        let packed = packed.finish().unwrap();
        let said = Compression::Bzip2.decoder_bytes(&packed);
        assert!(unpacked(Compression::Bzip2, Box::new(io::Cursor::new(packed)), said).is_ok());
        for text in [&b"12345\n"[..], b"", b"BZh", b"BZh9 is no number", b"\x1F\x8B"] {
            assert_eq!(Compression::of_content(text), None);
        }
        assert_eq!(Compression::of_name(Path::new("a.txt.zst")), Some(Compression::Zstd));
        assert_eq!(Compression::of_name(Path::new("a.GZ")), Some(Compression::Gzip));
        assert_eq!(Compression::of_name(Path::new("gz")), None);
        assert!(Compression::refuse_unknown(Path::new("a.txt.Lz4")).is_err());
        assert_eq!(Compression::refuse_unknown(Path::new("z")), Ok(()));
    }
}
