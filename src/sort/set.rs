//! Unsorted numbers → a set, within a memory limit.

use super::finish::batch::Typed;
use super::plan::budget::SET_WRITER_BYTES;
use super::{Report, Sort};
use crate::error::{Error, Result};
use crate::set::file::ValueSink;
use crate::set::{SetFile, SetFormat, Written, temporary_set, write_file, write_stream};
use std::io::Write;
use std::path::Path;

impl Sort {
    /// Sorts into a set file, which appears whole or not at all.
    ///
    /// # Errors
    ///
    /// Anything that [`Error`] lists; what was at `path` is untouched then.
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
        let spool = self.spool();
        self.produce(|produce| write_file(path.as_ref(), format, &spool, false, produce))
    }

    /// As [`to_set`](Self::to_set), into a stream.
    pub(crate) fn into_set_stream(
        self,
        out: impl Write + Send,
        format: SetFormat,
    ) -> Result<(Written, Report)> {
        let spool = self.spool();
        self.produce(|produce| write_stream(out, format, &spool, produce))
    }

    /// Sorts into a set in a nameless file, which messages call `name`.
    pub(super) fn into_temporary_set(self, name: &Path) -> Result<SetFile> {
        let spool = self.spool();
        temporary_set(name, &spool, |sink| self.collect(sink).map(drop))
    }

    /// What a writer gives, and what the sort that it writes reports.
    fn produce(
        self,
        write: impl FnOnce(&mut dyn FnMut(&mut dyn ValueSink) -> Result<()>) -> Result<Written>,
    ) -> Result<(Written, Report)> {
        let (mut sort, mut report) = (Some(self), None);
        let written = write(&mut |sink| {
            report = sort.take().map(|sort| sort.collect(sink)).transpose()?;
            Ok(())
        })?;
        let told = |report| Report { written_bytes: written.bytes, ..report };
        let nothing = || Error::Accounting { what: "nothing was sorted".into() };
        report.map(|report| (written, told(report))).ok_or_else(nothing)
    }

    /// Sorts into the containers of a set.
    fn collect(self, sink: &mut dyn ValueSink) -> Result<Report> {
        let sort = self.reserve(SET_WRITER_BYTES).distinct(true);
        let (report, rejects) = sort.hand_to(Typed::Containers, sink)?;
        rejects.commit()?;
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set::IntegerSet;
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
            IntegerSet::from_iter(values).write_as(&written, SetFormat::RoaringBits).unwrap();
            assert!(std::fs::read(&built).unwrap() == std::fs::read(&written).unwrap(), "{start}");
        }
    }
}
