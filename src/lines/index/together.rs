//! Finds the lines of many keys together: a block that may have several of them is read once.

use super::lookup::{BlockIndex, LookupReport, Wanted};
use super::rows::rows;
use crate::error::Result;
use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Keys that are looked up together, at most.
const KEYS: usize = 1 << 16;
/// At most so many pairs of a key and a block that may have it, and so many lines, are held at the
/// same time. Each takes 16 to 24 bytes.
const HELD: usize = if cfg!(test) { 1 << 6 } else { 1 << 18 };
/// If so many keys may be in a block, each of its rows is looked up among them. Otherwise the block
/// is searched for each key.
const MANY: usize = 8;
/// If so few keys have too many lines, each is looked up on its own: halves would read most lines of
/// a frequent key again and again.
const ALONE: usize = if cfg!(test) { 4 } else { 1 << 10 };

/// The lines of some keys.
struct Together<'i> {
    /// For each key its number; equal keys have the same one.
    numbers: Vec<usize>,
    /// The work for each number.
    reports: Vec<LookupReport>,
    /// The lines with the numbers of their keys, sorted by these, then as in the file.
    lines: Vec<(usize, &'i [u8])>,
}

impl BlockIndex {
    /// Calls `visit` with each line of some keys and with the place of its key in `keys`: the lines of
    /// the first key come first, each key's in the order of the file. If many keys lie in few blocks,
    /// it is much faster than a lookup for each key, because it reads a block once for all of them.
    ///
    /// # Errors
    ///
    /// The errors of [`get`](Self::get), and the error that `visit` gives.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::lines::index::{BlockIndex, Builder, KeyRule};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let (data, index) = (folder.path().join("log"), folder.path().join("log.bix"));
    /// std::fs::write(&data, "b 1\na 2\nb 3\n")?;
    /// Builder::new().key(KeyRule::Until(b' ')).build(&data, &index)?;
    ///
    /// let mut lines = Vec::new();
    /// BlockIndex::open(&data, &index)?.for_each_line_of(&["a", "x", "b"], |key, line| {
    ///     lines.push((key, line.to_vec()));
    ///     Ok(())
    /// })?;
    /// assert_eq!(lines, [(0, b"a 2\n".to_vec()), (2, b"b 1\n".to_vec()), (2, b"b 3\n".to_vec())]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn for_each_line_of<'i>(
        &'i self,
        keys: &[impl AsRef<[u8]>],
        mut visit: impl FnMut(usize, &'i [u8]) -> Result<()>,
    ) -> Result<LookupReport> {
        let mut total = LookupReport::default();
        let part_from = |start: usize| start..keys.len().min(start + KEYS);
        let mut parts: Vec<_> = (0..keys.len()).step_by(KEYS).map(part_from).rev().collect();
        while let Some(part) = parts.pop() {
            if let [key] = &keys[part.clone()] {
                total += self.for_each_line(key.as_ref(), |line| visit(part.start, line))?;
            } else if let Some(found) = self.lines_of(&keys[part.clone()])? {
                for (place, number) in part.zip(found.numbers) {
                    total += found.reports[number];
                    let start = found.lines.partition_point(|(other, _)| *other < number);
                    let same = found.lines[start..].iter().take_while(|(of, _)| *of == number);
                    same.into_iter().try_for_each(|(_, line)| visit(place, line))?;
                }
            } else if part.len() <= ALONE {
                parts.extend(part.map(|place| place..place + 1).rev());
            } else {
                let middle = usize::midpoint(part.start, part.end);
                parts.extend([middle..part.end, part.start..middle]);
            }
        }
        Ok(total)
    }

    /// The lines of some keys; `None` if they would take too much memory, or if a key is
    /// malformed: the lookup of that key alone says how.
    fn lines_of<'i>(&'i self, keys: &[impl AsRef<[u8]>]) -> Result<Option<Together<'i>>> {
        self.data().check_length()?;
        let rule = &self.index().stat.rule;
        let parsed: Result<Vec<Cow<'_, [u8]>>> =
            keys.iter().map(|key| rule.parse(key.as_ref())).collect();
        let Ok(parsed) = parsed else { return Ok(None) };
        let (mut known, mut names) = (HashMap::new(), Vec::new());
        let mut found = Together { numbers: Vec::new(), reports: Vec::new(), lines: Vec::new() };
        let mut asked = Vec::new();
        for key in &parsed {
            let number = match known.entry(&**key) {
                Entry::Occupied(entry) => *entry.get(),
                Entry::Vacant(entry) => {
                    let (number, among) = (names.len(), self.around(key)?);
                    found.reports.push(self.report_of(&among));
                    names.push(&**key);
                    self.for_each_candidate(key, among, |block| {
                        asked.push((block, number));
                        Ok(())
                    })?;
                    *entry.insert(number)
                }
            };
            found.numbers.push(number);
            if asked.len() > HELD {
                return Ok(None);
            }
        }
        asked.sort_unstable();
        for same in asked.chunk_by(|(one, _), (other, _)| one == other) {
            if !self.add_lines(same, &names, &known, &mut found)? {
                return Ok(None);
            }
        }
        self.index().intact()?;
        found.lines.sort_by_key(|(number, _)| *number);
        Ok(Some(found))
    }

    /// Adds the lines of keys in a block that may have them. False if there are too many.
    fn add_lines<'i>(
        &'i self,
        asked: &[(u64, usize)],
        names: &[&[u8]],
        known: &HashMap<&[u8], usize>,
        found: &mut Together<'i>,
    ) -> Result<bool> {
        let Some((index, _)) = asked.first() else { return Ok(true) };
        let (facts, block) = (&self.index().stat, self.block(*index)?);
        let before = found.lines.len();
        if facts.is_sorted || asked.len() < MANY {
            for (_, number) in asked {
                let wanted = Wanted::new(&facts.rule, names[*number]);
                self.for_each_in_block(block, &wanted, |line| {
                    if found.lines.len() <= HELD {
                        found.lines.push((*number, line));
                    }
                    Ok(())
                })?;
            }
        } else {
            let number_of = |row| known.get(&*facts.rule.key_of(row)).copied();
            let numbered = rows(block).filter_map(|(row, line)| Some((number_of(row)?, line)));
            found.lines.extend(numbered.take(HELD + 1));
        }
        if found.lines.len() > HELD {
            return Ok(false);
        }
        let mut hits: Vec<_> = found.lines[before..].iter().map(|(number, _)| *number).collect();
        hits.sort_unstable();
        for (_, number) in asked {
            let start = hits.partition_point(|hit| hit < number);
            let lines = hits[start..].iter().take_while(|hit| *hit == number).count();
            let report = &mut found.reports[*number];
            report.lines += lines as u64;
            report.add_block(block, lines > 0);
        }
        Ok(true)
    }
}
