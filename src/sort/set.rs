//! Sorts numbers into a set, within a memory limit.

use super::finish::batch::Typed;
use super::plan::budget::SET_WRITER_BYTES;
use super::rejects::Rejected;
use super::{Explanation, Report, Sort};
use crate::error::{Error, Result};
use crate::io::read::Input;
use crate::io::write::Writer;
use crate::set::file::ValueSink;
use crate::set::{
    IntegerSet, SetFile, SetFormat, Written, temporary_set, whole_file, write_folder_in,
    write_stream,
};
use std::io::Write;
use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;

impl Sort {
    /// Sorts into a set file, which appears whole or not at all.
    ///
    /// # Errors
    ///
    /// Anything that [`Error`](crate::Error) lists; what was at `path` is untouched then.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::set::{SetFile, SetFormat};
    /// use bitsort::sort::Sort;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("ids.bits");
    /// let (written, report) = Sort::new().values([7, 3, 7]).to_set(&path, SetFormat::Bits)?;
    /// assert_eq!((written.cardinality, report.dropped), (2, 1));
    /// assert!(SetFile::open(&path)?.view().contains(7)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_set(self, path: impl AsRef<Path>, format: SetFormat) -> Result<(Written, Report)> {
        let (spool, path) = (self.spool(), path.as_ref());
        let sort = self.for_set(format, Writer::will_pack(path));
        let mut done = Done::default();
        let set =
            whole_file(path, format, &spool, false, |sink| sort.collect(path, sink, &mut done))?;
        let Done { report, rejected } = done;
        rejected.show()?;
        let written = set.show()?;
        Ok((written, Report { written_bytes: written.bytes, ..report }))
    }

    /// Sorts into a folder of up to `parts` parts, with about the same number of values each; see
    /// [`write_folder`](crate::set::write_folder). It first writes the set to a nameless temporary
    /// file.
    ///
    /// # Errors
    ///
    /// Anything that [`Error`](crate::Error) lists; what was at `path` is untouched then.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::{set::SetFile, sort::Sort};
    /// use std::num::NonZero;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("ids");
    /// let parts = NonZero::new(2).unwrap();
    /// let (written, _) = Sort::new().values([1 << 40, 3, 7]).to_folder(&path, parts)?;
    /// assert_eq!(written.cardinality, 3);
    /// assert!(SetFile::open(&path)?.contains(7)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_folder(
        self,
        path: impl AsRef<Path>,
        parts: NonZero<usize>,
    ) -> Result<(Written, Report)> {
        let (spool, path) = (self.spool(), path.as_ref());
        let progress = Arc::clone(&self.progress);
        let sort = self.for_set(SetFormat::Bits, false);
        let mut done = Done::default();
        let set = temporary_set(path, &spool, |sink| sort.collect(path, sink, &mut done))?;
        let written = write_folder_in(&set, path, parts, &spool, &progress)?;
        let report = done.show()?;
        Ok((written, Report { written_bytes: written.bytes, ..report }))
    }

    /// Sorts into a set in memory, which the memory limit does not count.
    ///
    /// # Errors
    ///
    /// Anything that [`Error`](crate::Error) lists.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::{set::IntegerSet, sort::Sort};
    ///
    /// let (set, report) = Sort::new().values([7, 3, 7]).into_set()?;
    /// assert_eq!((set, report.dropped), (IntegerSet::from([3, 7]), 1));
    /// # Ok::<(), bitsort::Error>(())
    /// ```
    pub fn into_set(self) -> Result<(IntegerSet, Report)> {
        let mut set = IntegerSet::new();
        let mut done = Done::default();
        self.distinct(true).collect(Path::new("-"), &mut set, &mut done)?;
        Ok((set, done.show()?))
    }

    /// Sorts into a set as [`to_set`](Self::to_set) does, but into a stream.
    pub(crate) fn into_set_stream(
        self,
        out: impl Write + Send,
        format: SetFormat,
    ) -> Result<(Written, Report)> {
        let spool = self.spool();
        let sort = self.for_set(format, false);
        let mut done = Done::default();
        let collect = |sink: &mut dyn ValueSink| sort.collect(Path::new("-"), sink, &mut done);
        let written = write_stream(out, format, &spool, collect)?;
        let report = done.show()?;
        Ok((written, Report { written_bytes: written.bytes, ..report }))
    }

    /// Sorts into a set in a nameless file in the temporary folder. Messages call it by the name of
    /// its only input file, or else `-`.
    ///
    /// # Errors
    ///
    /// Anything that [`Error`](crate::Error) lists.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitsort::sort::Sort;
    /// let (set, report) = Sort::new().values([7, 3, 7]).into_set_file()?;
    /// assert!(set.contains(7)? && report.dropped == 1);
    /// # Ok::<(), bitsort::Error>(())
    /// ```
    pub fn into_set_file(self) -> Result<(SetFile, Report)> {
        let name = match &self.inputs[..] {
            [Input::Path(path) | Input::Split(path, _)] => path.clone(),
            _ => "-".into(),
        };
        self.into_temporary_set(&name)
    }

    /// Sorts into a set in a nameless file, which messages call `name`.
    pub(super) fn into_temporary_set(self, name: &Path) -> Result<(SetFile, Report)> {
        let spool = self.spool();
        let sort = self.for_set(SetFormat::Bits, false);
        let mut done = Done::default();
        let collect = |sink: &mut dyn ValueSink| sort.collect(Path::new("-"), sink, &mut done);
        let set = temporary_set(name, &spool, collect)?;
        Ok((set, done.show()?))
    }

    /// Sorts distinct values into a sink. Reserves memory for the writer of a set, and `keys_bytes`
    /// for keys; `path` is the output of the sink.
    pub(crate) fn into_sink(
        mut self,
        path: &Path,
        keys_bytes: u64,
        sink: &mut dyn ValueSink,
    ) -> Result<Report> {
        self.beside.set_writer = SET_WRITER_BYTES;
        self.beside.keys = keys_bytes;
        let mut done = Done::default();
        self.distinct(true).collect(path, sink, &mut done)?;
        done.show()
    }

    /// The plan of [`to_set`](Self::to_set) with these arguments.
    ///
    /// # Errors
    ///
    /// As [`explain`](Self::explain).
    pub fn explain_to_set(self, path: impl AsRef<Path>, format: SetFormat) -> Result<Explanation> {
        self.for_set(format, Writer::will_pack(path.as_ref())).explain()
    }

    /// Drops duplicates, and reserves memory for the writer of the set.
    fn for_set(mut self, format: SetFormat, has_packed_name: bool) -> Self {
        self.beside.set_writer = SET_WRITER_BYTES;
        let packs = matches!(format, SetFormat::Values(_)) && has_packed_name;
        let pack_bytes = self.budget().packing();
        self.set_packing_aside(packs, matches!(format, SetFormat::Table(_)), pack_bytes);
        self.distinct(true)
    }

    /// Sorts into the containers of a set, and fills in `done`.
    fn collect(self, name: &Path, sink: &mut dyn ValueSink, done: &mut Done) -> Result<()> {
        if self.selection.counted {
            return Err(Error::usage("a set has no counts"));
        }
        if self.table_filter.is_some() {
            return Err(Error::usage("only Parquet files have Bloom filters"));
        }
        let sort = self.reverse(false); // a set has no order
        let (report, rejects) = sort.hand_to(Typed::Containers, name, sink)?;
        *done = Done { report, rejected: rejects.finish()? };
        Ok(())
    }
}

/// What a run leaves beside its set.
#[derive(Default)]
struct Done {
    report: Report,
    rejected: Rejected,
}

impl Done {
    /// Gives the file of rejected lines its name.
    fn show(self) -> Result<Report> {
        self.rejected.show()?;
        Ok(self.report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set::Representation;
    use std::collections::BTreeSet;

    #[test]
    fn a_set_is_built_as_it_would_be_written_whatever_its_density() {
        let folder = tempfile::tempdir().unwrap();
        let [text, built, written] =
            ["x.txt", "x.bits", "y.bits"].map(|name| folder.path().join(name));
        let mut state = 1_u64;
        let mut random = move || {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            state >> 40
        };
        // Values of some containers in partitions of a few each: one in so many, or runs.
        let kinds = [0, 700, 43, 17, 15, 2, 1].map(|gap| (gap, 1));
        let kinds: Vec<_> = kinds.into_iter().chain([(3, 64), (40, 64), (300, 640)]).collect();
        for (start, far) in [(0, None), (1000, None), (u64::MAX << 30, Some(7))] {
            let mut values: BTreeSet<u64> = far.into_iter().collect();
            for (key, (gap, run)) in (0_u64..).step_by(60).zip(&kinds) {
                let lows = (0..65_536 / run).filter(|_| *gap > 0 && random() % gap == 0);
                let lows: Vec<u64> = lows.flat_map(|low| low * run..(low + 1) * run).collect();
                values.extend(lows.iter().map(|low| start + (key << 16) + low));
            }
            let lines: Vec<_> = values.iter().rev().chain(&values).map(u64::to_string).collect();
            std::fs::write(&text, lines.join("\n")).unwrap();
            let sort = Sort::new().file(&text).temporary_folder(folder.path());
            let (told, _) = sort.to_set(&built, SetFormat::RoaringBits).unwrap();
            assert_eq!(told.cardinality, values.len() as u64);
            let (in_memory, _) = Sort::new().file(&text).into_set().unwrap();
            assert!(in_memory.iter().eq(values.iter().copied()));
            IntegerSet::from_iter(values).write_as(&written, SetFormat::RoaringBits).unwrap();
            assert!(std::fs::read(&built).unwrap() == std::fs::read(&written).unwrap(), "{start}");
        }
    }

    #[test]
    fn splits_of_any_size_have_every_line_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.txt");
        let lines: Vec<String> =
            (0..300_usize).map(|line| "0".repeat(line % 7) + &(line * line).to_string()).collect();
        for (text, end) in [(lines.join("\n"), ""), (lines.join("\r\n\n"), "\n")] {
            std::fs::write(&path, text + end).unwrap();
            let (expected, whole) = Sort::new().file(&path).distinct(true).into_set_and_lines();
            for bytes in [0, 1, 2, 3, 7, 64, 1000, 1 << 20] {
                let (mut found, mut lines) = (IntegerSet::new(), 0);
                for split in Sort::new().splits(&path, bytes).unwrap() {
                    let (set, read) = Sort::new().split(&path, split).into_set_and_lines();
                    assert!(found.is_disjoint(&set));
                    found |= &set;
                    lines += read;
                }
                assert_eq!((found, lines), (expected.clone(), whole), "{bytes}");
            }
        }
        let empty = folder.path().join("empty");
        std::fs::write(&empty, "").unwrap();
        assert!(Sort::new().splits(&empty, 10).unwrap().is_empty());
        IntegerSet::from([3]).write(&empty).unwrap();
        assert!(Sort::new().splits(&empty, 10).unwrap().is_empty());
        std::fs::write(&empty, b"PAR1 and more").unwrap();
        assert!(Sort::new().splits(&empty, 10).unwrap().is_empty());
        assert!(Sort::new().split(&empty, 0..5).into_set().is_err());
        assert!(Sort::new().split(&path, 5..99).header(true).into_set().is_err());
        let (start, end) = (8, 2);
        assert!(Sort::new().split(&path, start..end).into_set().is_err());
        assert!(Sort::new().split(&path, 1 << 40..1 << 41).into_set().is_err());
    }

    #[test]
    fn a_set_has_no_order() {
        let folder = tempfile::tempdir().unwrap();
        let sort = || Sort::new().values([5, 1 << 40, 1]).reverse(true);
        let expected = IntegerSet::from([1, 5, 1 << 40]);
        assert_eq!(sort().into_set().unwrap().0, expected);
        assert_eq!(sort().into_set_file().unwrap().0.to_set().unwrap(), expected);
        let path = folder.path().join("x.bits");
        for format in [SetFormat::Bits, SetFormat::Roaring, SetFormat::SparseBits] {
            assert_eq!(sort().to_set(&path, format).unwrap().0.cardinality, 3);
        }
    }

    #[test]
    fn a_temporary_set_is_sparse_only_if_its_values_are_far_apart() {
        // Steps of 2^14 put four values into a container, steps of 2^10 put 64 there.
        for (step, expected) in [
            (1 << 40, Representation::Sparse),
            (1 << 14, Representation::Sparse),
            (1 << 10, Representation::Roaring),
            (3, Representation::Roaring),
        ] {
            for count in [1000, 100_000] {
                let values = || (0..count).map(move |index| index * step);
                let (set, _) = Sort::new().values(values()).into_set_file().unwrap();
                assert_eq!(set.representation(), expected, "{count} values, {step} apart");
                assert!(set.to_set().unwrap().iter().eq(values()));
            }
        }
    }

    impl Sort {
        fn into_set_and_lines(self) -> (IntegerSet, u64) {
            let (set, report) = self.into_set().unwrap();
            (set, report.lines)
        }
    }

    #[test]
    fn a_malformed_line_of_a_split_has_its_place_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.txt");
        // The second mark is no mark: it does not begin the file.
        std::fs::write(&path, "\u{feff}1\n22\n333\n\u{feff}4444\n5x\n").unwrap();
        let told = |bytes| Sort::new().split(&path, bytes).into_set().map_err(|e| e.to_string());
        assert!(told(0..12).is_ok_and(|(set, _)| set == [1, 22, 333].into()));
        let third = told(12..16).unwrap_err();
        assert!(third.contains("x.txt:4: byte 12: "), "{third}");
        let last = told(16..40).unwrap_err();
        assert!(last.contains("x.txt:5: byte 21: "), "{last}");
        let rejects = folder.path().join("rejects");
        let sort = Sort::new().split(&path, 4..40);
        let sort = sort.invalid(crate::sort::InvalidLines::Reject(rejects.clone()));
        assert_eq!(sort.into_set().unwrap().0, [22, 333].into());
        let told = std::fs::read_to_string(rejects).unwrap();
        let places: Vec<_> = told.lines().map(|line| line.split('\t').nth(1).unwrap()).collect();
        assert_eq!(places, ["4", "5"]);
    }
}
