//! Writes ascending containers to files, streams and counters.

use super::folder::folder_of_part;
use super::foreign::{self, Buckets, ForeignFormat, ForeignSink};
use super::format::SetFormat;
use super::integer_set::IntegerSet;
use super::windows::{self, encoded, write_windows};
use crate::error::{Error, FolderFault, Result};
use crate::io::table::{TableFormat, TableWriter};
use crate::io::write::{Buffer, FileLabel, Whole, Writer};
use crate::kernel::decimal::Low;
use crate::number::{Format, RunText};
use crate::progress::Progress;
use crate::set::container::{Container, Owned, SPAN, Scratch, intervals};
use crate::set::file::{
    BitsWriter, Extent, Finished, Portable, PortableWriter, Representation, SetFile, Spool,
    ValueSink, in_order,
};
use crate::set::keyed::no_set_inside;
use crate::set::ranges::{RunSource, push_runs};
use crate::set::view::RUN_BYTES;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The size of a set that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Written {
    /// Number of values; 2^64 − 1 if there are more.
    pub cardinality: u64,
    /// Bytes of the output.
    pub bytes: u64,
}

/// Writes the set that `produce` computes to the file at `path`, which appears whole or not at all;
/// with `durable`, only when it would survive a power cut.
pub(crate) fn write_file(
    path: &Path,
    format: SetFormat,
    spool: &Spool,
    durable: bool,
    produce: impl FnOnce(&mut dyn ValueSink) -> Result<()>,
) -> Result<Written> {
    whole_file(path, format, spool, durable, produce)?.show()
}

/// The same without the last step, by which the file appears.
pub(crate) fn whole_file(
    path: &Path,
    format: SetFormat,
    spool: &Spool,
    durable: bool,
    produce: impl FnOnce(&mut dyn ValueSink) -> Result<()>,
) -> Result<WholeSet> {
    no_set_inside(path)?;
    if let Some(folder) = folder_of_part(path)? {
        return Err(FolderFault::Fixed.of(folder));
    }
    let writer = Writer::open(path, format.encoding(), spool)?;
    write(if durable { writer.durable() } else { writer }, format, spool, produce)
}

/// A set that is written to its end.
#[must_use = "a file has no name yet"]
pub(crate) struct WholeSet {
    cardinality: u64,
    whole: Whole,
}

impl WholeSet {
    /// Gives a file its name.
    pub(crate) fn show(self) -> Result<Written> {
        Ok(Written { cardinality: self.cardinality, bytes: self.whole.show()? })
    }
}

/// Writes the set that `produce` computes to a stream.
pub(crate) fn write_stream(
    out: impl Write + Send,
    format: SetFormat,
    spool: &Spool,
    produce: impl FnOnce(&mut dyn ValueSink) -> Result<()>,
) -> Result<Written> {
    write(Writer::stream(out, format.encoding(), spool)?, format, spool, produce)?.show()
}

/// Writes the set that `produce` computes to an output.
fn write(
    mut writer: Writer<'_>,
    format: SetFormat,
    spool: &Spool,
    produce: impl FnOnce(&mut dyn ValueSink) -> Result<()>,
) -> Result<WholeSet> {
    let (path, label) = (writer.path().to_path_buf(), writer.label());
    let cardinality = match (format, writer.file()) {
        (SetFormat::Values(values), _) => {
            let mut sink = EncodingSink::new(&mut writer, &path, values);
            produce(&mut sink)?;
            sink.finish()?
        }
        (SetFormat::Table(table), _) => {
            let mut sink = TableSink::new(
                table,
                &mut writer,
                &spool.column,
                false,
                spool.pack_bytes,
                None,
                &path,
            )?;
            produce(&mut sink)?;
            sink.finish()?
        }
        (SetFormat::SparkBitmap, _) => {
            let mut sink = foreign::spark::RowSink::new(&mut writer, spool.pack_bytes, &path)?;
            produce(&mut sink)?;
            sink.finish()?
        }
        (SetFormat::Foreign(foreign), _) => {
            write_foreign(&mut writer, &path, foreign, spool, produce)?
        }
        (SetFormat::Roaring, Some(file)) => write_roaring(file, &label, spool, produce)?,
        (_, Some(file)) => write_bits(file, &label, format, spool, produce)?,
        (_, None) => {
            let what = format!("{} cannot be gone back in, as a set file is", path.display());
            return Err(Error::Accounting { what });
        }
    };
    Ok(WholeSet { cardinality, whole: writer.finish()? })
}

/// A set in a nameless file, in the smallest representation; `path` is for messages.
pub(crate) fn temporary_bits(
    path: &Path,
    spool: &Spool,
    produce: impl FnOnce(&mut dyn ValueSink) -> Result<()>,
) -> Result<SetFile> {
    let file = spool.file()?;
    write_bits(&file, &spool.label(), SetFormat::Bits, spool, produce)?;
    SetFile::from_file(&file, path)
}

/// The same in the representation that suits the first values. It is written once only, unless it
/// takes much more than it should.
pub(crate) fn temporary_set(
    path: &Path,
    spool: &Spool,
    produce: impl FnOnce(&mut dyn ValueSink) -> Result<()>,
) -> Result<SetFile> {
    let file = spool.file()?;
    let mut sink = BestSink::temporary(&file, spool.clone());
    produce(&mut sink)?;
    sink.finish()?;
    SetFile::from_file(&file, path)
}

/// Writes a bare roaring bitmap into an empty file; gives the number of its values.
fn write_roaring(
    file: &File,
    label: &FileLabel,
    spool: &Spool,
    produce: impl FnOnce(&mut dyn ValueSink) -> Result<()>,
) -> Result<u64> {
    let portable = PortableWriter::new(io::BufWriter::new(file), spool.clone());
    let mut sink = PortableSink { portable, label: label.clone() };
    produce(&mut sink)?;
    let finish = || -> io::Result<u64> {
        let Portable { mut out, cardinality, buckets, .. } = sink.portable.finish()?;
        out.flush()?;
        if let Some(buckets) = buckets {
            file.write_all_at(&buckets.count().to_le_bytes(), 0)?;
        }
        Ok(cardinality)
    };
    finish().map_err(label.failed())
}

/// Writes a set in a format of another system. The head of the format must know what follows, so
/// the set waits in a nameless file. Gives the number of values.
fn write_foreign(
    out: &mut impl Write,
    path: &Path,
    format: ForeignFormat,
    spool: &Spool,
    produce: impl FnOnce(&mut dyn ValueSink) -> Result<()>,
) -> Result<u64> {
    let file = spool.file()?;
    let portable = PortableWriter::new(io::BufWriter::new(&file), spool.clone());
    let mut sink = ForeignSink::new(PortableSink { portable, label: spool.label() }, format);
    produce(&mut sink)?;
    let (max, portable) = sink.into_parts();
    let finish = || -> io::Result<Portable<_>> {
        let mut portable = portable.portable.finish()?;
        portable.out.flush()?;
        (&file).rewind()?;
        Ok(portable)
    };
    let portable = finish().map_err(spool.label().failed())?;
    let buckets = Buckets::of_file(&file, &portable, max);
    foreign::frame(format, buckets, out).map_err(Error::io("write", path))?;
    Ok(portable.cardinality)
}

/// Writes a `.bits` file into an empty file; gives the number of its values.
pub(super) fn write_bits(
    file: &File,
    label: &FileLabel,
    format: SetFormat,
    spool: &Spool,
    produce: impl FnOnce(&mut dyn ValueSink) -> Result<()>,
) -> Result<u64> {
    let mut sink = BestSink::new(file, label.clone(), format, spool.clone());
    produce(&mut sink)?;
    Ok(sink.finish()?.cardinality)
}

/// Writes a `.bits` file, and begins again as soon as another representation is better: a set whose
/// first values are not like the others would take many times its bytes until the end.
#[derive(Debug)]
pub(super) struct BestSink<'f> {
    writer: BitsWriter<'f>,
    file: &'f File,
    label: FileLabel,
    spool: Spool,
}

impl<'f> BestSink<'f> {
    /// See [`BitsWriter::new`].
    pub(super) fn new(file: &'f File, label: FileLabel, format: SetFormat, spool: Spool) -> Self {
        let writer = BitsWriter::new(file, &label, format, spool.clone());
        Self { writer, file, label, spool }
    }

    /// See [`BitsWriter::temporary`].
    fn temporary(file: &'f File, spool: Spool) -> Self {
        let (writer, label) = (BitsWriter::temporary(file, spool.clone()), spool.label());
        Self { writer, file, label, spool }
    }

    fn reconsider(&mut self) -> Result<()> {
        let Some(better) = self.writer.better_by_now() else { return Ok(()) };
        let anew = self.writer.anew(better);
        std::mem::replace(&mut self.writer, anew).finish()?;
        let before = self.spool.file()?;
        copy(self.file, &before).map_err(self.spool.label().failed())?;
        self.file.set_len(0).map_err(self.label.failed())?;
        copy_set(&SetFile::from_file(&before, self.label.path())?, &mut self.writer)
    }

    /// Completes the file, and writes it again if another representation turns out to be better.
    pub(super) fn finish(self) -> Result<Extent> {
        let Finished { extent, better } = self.writer.finish()?;
        if let Some(better) = better {
            rewrite(self.file, &self.label, &self.spool, better)?;
        }
        Ok(extent)
    }
}

impl ValueSink for BestSink<'_> {
    fn container(&mut self, key: u64, container: Container<'_>) -> Result<()> {
        self.writer.container(key, container)?;
        self.reconsider()
    }

    fn values(&mut self, values: &[u64]) -> Result<()> {
        self.writer.values(values)?;
        self.reconsider()
    }

    fn runs(&mut self, source: &mut dyn RunSource) -> Result<()> {
        if self.writer.lists(source) {
            return self.writer.runs(source);
        }
        push_runs(self, source)
    }

    fn begin_stretches(&mut self) -> bool {
        self.writer.begin_stretches()
    }

    fn stretch(&mut self, run: [u64; 2]) -> Result<()> {
        self.writer.stretch(run)
    }
}

/// Copies all bytes of a file to the beginning of another one, which has no others then.
fn copy(mut from: &File, mut to: &File) -> io::Result<()> {
    from.rewind()?;
    to.rewind()?;
    to.set_len(0)?;
    io::copy(&mut from, &mut to).map(drop)
}

/// Changes the representation of a `.bits` file.
fn rewrite(file: &File, label: &FileLabel, spool: &Spool, format: SetFormat) -> Result<()> {
    let set = SetFile::from_file(file, label.path())?;
    let better = spool.file()?;
    let mut writer = BitsWriter::new(&better, &spool.label(), format, spool.clone());
    copy_set(&set, &mut writer)?;
    writer.finish()?;
    copy(&better, file).map_err(label.failed())
}

/// Hands over a set from a file.
fn copy_set(set: &SetFile, writer: &mut BitsWriter<'_>) -> Result<()> {
    let mut sink = LettingGo { writer, set, read_bytes: 0 };
    super::plan::Plan::of(set).run(&mut sink, &Progress::default())
}

/// Writes a set that is read from a mapped file, whose pages it lets go from time to time: the file
/// may be many times as large as the memory.
struct LettingGo<'s, 'f> {
    writer: &'s mut BitsWriter<'f>,
    set: &'s SetFile,
    /// About the bytes that were read since then.
    read_bytes: usize,
}

impl LettingGo<'_, '_> {
    fn read(&mut self, bytes: usize) {
        /// Most bytes that are in memory.
        const MOST: usize = 4 << 20;
        self.read_bytes += bytes;
        if self.read_bytes >= MOST {
            self.read_bytes = 0;
            self.set.let_pages_go();
        }
    }
}

impl ValueSink for LettingGo<'_, '_> {
    fn container(&mut self, key: u64, container: Container<'_>) -> Result<()> {
        /// Bytes of a bucket of one container, beside its values.
        const HEADS: usize = 64;
        let lists_runs = self.set.representation() == Representation::Runs;
        self.read(match container {
            other if !lists_runs => other.bytes().len() + HEADS,
            Container::Array(lows) => lows.len() * RUN_BYTES,
            Container::Bitmap(_) => SPAN as usize / 2 * RUN_BYTES, // at most
            Container::Runs(runs) => runs.len() * RUN_BYTES,
        });
        self.writer.container(key, container)
    }

    fn values(&mut self, values: &[u64]) -> Result<()> {
        self.read(size_of_val(values));
        self.writer.values(values)
    }

    fn begin_stretches(&mut self) -> bool {
        self.writer.begin_stretches()
    }

    fn stretch(&mut self, run: [u64; 2]) -> Result<()> {
        self.read(size_of_val(&run));
        self.writer.stretch(run)
    }
}

/// Writes the values themselves, in a format of numbers.
struct EncodingSink<'p, W> {
    out: W,
    path: &'p Path,
    format: Format,
    /// Only if lines stand for ranges or blocks.
    runs: Option<RunText>,
    lows: Vec<u32>,
    scratch: Scratch,
    buffer: Buffer,
    cardinality: u64,
}

/// Bytes of one write.
const BUFFER_BYTES: usize = 256 << 10;

impl<'p, W: Write> EncodingSink<'p, W> {
    fn new(out: W, path: &'p Path, format: Format) -> Self {
        let (buffer, lows, scratch) = (Buffer::new(BUFFER_BYTES), Vec::new(), Scratch::default());
        let runs = format.notation().and_then(RunText::new);
        Self { out, path, format, runs, lows, scratch, buffer, cardinality: 0 }
    }

    fn flush(&mut self) -> Result<()> {
        self.out.write_all(self.buffer.filled()).map_err(Error::io("write", self.path))?;
        self.buffer.filled = 0;
        Ok(())
    }

    /// Writes `base + low` for all `lows`.
    fn put<L: Low>(&mut self, base: u64, mut lows: &[L]) -> Result<()> {
        self.cardinality += lows.len() as u64;
        while !lows.is_empty() {
            let room = self.format.fitting(self.buffer.room().len());
            if room < lows.len().min(64) {
                self.flush()?;
                continue;
            }
            let (now, later) = lows.split_at(lows.len().min(room));
            lows = later;
            let written = self.format.encode(base, now, b'\n', self.buffer.room());
            self.buffer.filled += encoded(self.format, written)?;
        }
        Ok(())
    }

    /// Writes the rest; gives the number of values.
    fn finish(mut self) -> Result<u64> {
        self.flush()?;
        if let Some(mut runs) = self.runs.take() {
            let last = runs.finish(self.buffer.room());
            self.buffer.filled = encoded(self.format, last)?;
            self.flush()?;
        }
        Ok(self.cardinality)
    }

    /// Writes a run, or keeps it until its end is known.
    fn push_run(&mut self, text: &mut RunText, run: [u64; 2]) -> Result<()> {
        self.cardinality = self.cardinality.saturating_add((run[1] - run[0]).saturating_add(1));
        if self.buffer.room().len() < RunText::ROOM {
            self.flush()?;
        }
        let pushed = text.push(run, self.buffer.room());
        self.buffer.filled += encoded(self.format, pushed)?;
        Ok(())
    }

    /// Writes the runs of a container.
    fn push_container(
        &mut self,
        text: &mut RunText,
        key: u64,
        container: Container<'_>,
    ) -> Result<()> {
        let mut scratch = std::mem::take(&mut self.scratch);
        if let Container::Runs(runs) = scratch.runs_of(container) {
            for (first, last) in intervals(runs) {
                self.push_run(text, [first, last].map(|low| key << 16 | u64::from(low)))?;
            }
        }
        self.scratch = scratch;
        Ok(())
    }
}

impl<W: Write + Send> ValueSink for EncodingSink<'_, W> {
    fn container(&mut self, key: u64, container: Container<'_>) -> Result<()> {
        in_order(container).map_err(Error::io("write", self.path))?;
        if let Some(mut text) = self.runs.take() {
            let pushed = self.push_container(&mut text, key, container);
            self.runs = Some(text);
            return pushed;
        }
        let mut lows = std::mem::take(&mut self.lows);
        let count = container.positions(0, &mut lows);
        let put = self.put(key << 16, &lows[..count]);
        self.lows = lows;
        put
    }

    fn values(&mut self, values: &[u64]) -> Result<()> {
        let Some(mut text) = self.runs.take() else { return self.put(0, values) };
        let pushed = values.iter().try_for_each(|&value| self.push_run(&mut text, [value; 2]));
        self.runs = Some(text);
        pushed
    }

    fn begin_stretches(&mut self) -> bool {
        self.runs.is_some()
    }

    fn stretch(&mut self, run: [u64; 2]) -> Result<()> {
        let Some(mut text) = self.runs.take() else {
            return Err(Error::Accounting { what: "lines of values take no stretches".into() });
        };
        let pushed = self.push_run(&mut text, run);
        self.runs = Some(text);
        pushed
    }

    /// Runs of any width that are written as such need no containers.
    fn runs(&mut self, source: &mut dyn RunSource) -> Result<()> {
        if self.runs.is_none() {
            return push_runs(self, source);
        }
        if let Some(windows) = source.windows() {
            let Self { out, path, format, .. } = self;
            let take =
                |buffer: &Buffer| out.write_all(buffer.filled()).map_err(Error::io("write", *path));
            self.cardinality = write_windows(*format, source, windows, take)?;
            return Ok(());
        }
        let format = self.format;
        self.cardinality = windows::write(format, source, &mut Vec::new(), |text, runs| {
            if self.buffer.room().len() < RunText::ROOM {
                self.flush()?;
            }
            let (taken, bytes) = encoded(format, text.write_all(runs, self.buffer.room()))?;
            self.buffer.filled += bytes;
            Ok(taken)
        })?;
        Ok(())
    }
}

/// Writes a table.
pub(crate) struct TableSink<'p, W: Write + Send> {
    table: TableWriter<W>,
    path: &'p Path,
    lows: Vec<u32>,
    values: Vec<u64>,
    rows: u64,
}

impl<'p, W: Write + Send> TableSink<'p, W> {
    /// A table with a column called `name`, and with a column of counts if values come with counts.
    /// It is encoded in about `memory_bytes`, with Bloom filters if `filter` has a rate.
    pub(crate) fn new(
        format: TableFormat,
        out: W,
        name: &str,
        counted: bool,
        memory_bytes: u64,
        filter_rate: Option<f64>,
        path: &'p Path,
    ) -> Result<Self> {
        let table = TableWriter::new(format, out, name, counted, memory_bytes, filter_rate);
        let table = table.map_err(Error::io("write", path))?;
        Ok(Self { table, path, lows: Vec::new(), values: Vec::new(), rows: 0 })
    }

    /// Completes the table; gives the number of its rows.
    pub(crate) fn finish(self) -> Result<u64> {
        self.table.finish().map_err(Error::io("write", self.path))?;
        Ok(self.rows)
    }
}

impl<W: Write + Send> ValueSink for TableSink<'_, W> {
    fn container(&mut self, key: u64, container: Container<'_>) -> Result<()> {
        in_order(container).map_err(Error::io("write", self.path))?;
        let mut values = std::mem::take(&mut self.values);
        values.clear();
        container.append_to(key, &mut self.lows, &mut values);
        let done = self.values(&values);
        self.values = values;
        done
    }

    fn values(&mut self, values: &[u64]) -> Result<()> {
        self.rows += values.len() as u64;
        self.table.values(values).map_err(Error::io("write", self.path))
    }

    fn counted(&mut self, pairs: &[[u64; 2]]) -> Result<()> {
        self.rows += pairs.len() as u64;
        self.table.counted(pairs).map_err(Error::io("write", self.path))
    }
}

/// Writes a bare roaring bitmap.
pub(super) struct PortableSink<W> {
    pub(super) portable: PortableWriter<W>,
    pub(super) label: FileLabel,
}

impl<W: Write + Send> ValueSink for PortableSink<W> {
    fn container(&mut self, key: u64, container: Container<'_>) -> Result<()> {
        match container.len() {
            0 => Ok(()),
            len => self.portable.push(key, container, len).map_err(self.label.failed()),
        }
    }
}

/// Appends ascending containers to the set.
impl ValueSink for IntegerSet {
    fn container(&mut self, key: u64, container: Container<'_>) -> Result<()> {
        in_order(container).map_err(Error::io("take", "a set in memory"))?;
        self.0.push(key, Owned::smallest(container, &mut Scratch::default()));
        Ok(())
    }

    fn values(&mut self, values: &[u64]) -> Result<()> {
        self.0.push_values(values);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes ascending values; gives whether they would have to be written again at the end.
    fn written(file: &File, values: &[u64], is_temporary: bool) -> bool {
        let (label, spool) = (FileLabel::output(Path::new("out")), Spool::default());
        let mut sink = if is_temporary {
            BestSink::temporary(file, spool)
        } else {
            BestSink::new(file, label, SetFormat::Bits, spool)
        };
        // Pieces end with a container, as those of a sort do.
        let mut rest = values;
        while let Some(last) = rest.get(rest.len().min(1000).saturating_sub(1)) {
            let (piece, behind) =
                rest.split_at(rest.partition_point(|value| *value <= last | 0xFFFF));
            sink.values(piece).unwrap();
            rest = behind;
        }
        let finished = sink.writer.finish().unwrap();
        assert_eq!(finished.extent.cardinality, values.len() as u64);
        finished.better.is_some()
    }

    #[test]
    fn a_sparse_set_whose_later_values_are_whole_ranges_is_begun_again() {
        let far: Vec<u64> = (0..66_000).map(|value| (3 * value) << 16 | value).collect();
        let full: &[[u8; 4]] = &[[0, 0, 0xFF, 0xFF]];
        for is_temporary in [false, true] {
            let file = tempfile::tempfile().unwrap();
            let (label, spool) = (FileLabel::output(Path::new("out")), Spool::default());
            let mut sink = if is_temporary {
                BestSink::temporary(&file, spool)
            } else {
                BestSink::new(&file, label, SetFormat::Bits, spool)
            };
            sink.values(&far).unwrap();
            let mut most = 0;
            for key in 1 << 20..(1 << 20) + 400 {
                sink.container(key, Container::Runs(full)).unwrap();
                most = most.max(file.metadata().unwrap().len());
            }
            let finished = sink.writer.finish().unwrap();
            assert!(finished.better.is_none());
            let set = SetFile::from_file(&file, Path::new("out")).unwrap();
            set.verify().unwrap();
            assert_eq!(set.representation(), Representation::Treemap);
            assert_eq!(set.len(), 66_000 + (400 << 16));
            assert!(set.iter().take(far.len()).map(Result::unwrap).eq(far.iter().copied()));
            // As a sparse set it would be larger in the end.
            assert!(most < 5 << 20, "{most}");
        }
    }

    #[test]
    fn a_set_whose_later_values_are_far_apart_is_begun_again_and_not_written_twice() {
        let far = |index: u64| (1 << 40) + (index << 41) + index % 1000;
        let near: Vec<u64> = (0..100_000).map(|value| value * 3).collect();
        let mixed: Vec<u64> = near.iter().copied().chain((0..200_000).map(far)).collect();
        let few_far: Vec<u64> = near.iter().copied().chain((0..1000).map(far)).collect();
        for is_temporary in [false, true] {
            for (values, expected) in [
                (&mixed, Representation::Sparse),
                (&near, Representation::Roaring),
                (&few_far, Representation::Treemap),
            ] {
                let file = tempfile::tempfile().unwrap();
                let is_worse = written(&file, values, is_temporary);
                assert!(!is_worse || expected != Representation::Sparse);
                let set = SetFile::from_file(&file, Path::new("out")).unwrap();
                set.verify().unwrap();
                assert_eq!(set.representation(), expected);
                assert!(set.iter().map(Result::unwrap).eq(values.iter().copied()));
            }
        }
    }
}
