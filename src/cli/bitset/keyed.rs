//! Commands for `.sets` files.

use super::Answer;
use super::args::{GroupArgs, OverlapArgs};
use super::source::{Source, or_stdin};
use super::target::Target;
use crate::cli::names;
use crate::cli::stdout::{buffered, print_line};
use crate::error::{Error, Result};
use crate::io::read::is_stdin;
use crate::set::keyed::{
    KeyName, KeyedSets, Overlap, Pair, is_sets_file, no_set_inside, open_named, union_watched,
};
use crate::set::{AsSet, SetFormat};
use serde_json::json;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Builds a `.sets` file from rows.
pub(super) fn group(source: &Source, args: GroupArgs) -> Result<()> {
    let GroupArgs { files, output, skip_invalid, columns, .. } = args;
    no_set_inside(&output)?;
    let is_of_other = names::is_of_filter(&output) || names::is_of_index(&output);
    if is_of_other || SetFormat::of_name(&output).is_some() {
        let name = output.display();
        let wrong =
            format!("{name}: group writes a file of sets by key: choose a name that ends in .sets");
        return Err(Error::usage(wrong));
    }
    let files = or_stdin(files);
    names::no_input(&files, &output)?;
    if skip_invalid {
        names::no_sets_as_lines(&files)?;
    }
    let mut group = columns.of(source.group(skip_invalid));
    for file in files {
        group = if is_stdin(&file) { group.stdin() } else { group.file(file) };
    }
    let _bar = source.bar(true);
    let report = group.to_file(output)?;
    for (what, count) in [
        ("rows", report.rows),
        ("blank", report.blank),
        ("rejected", report.rejected),
        ("headers", report.headers),
        ("sets", report.sets),
        ("values", report.values),
        ("aside", report.aside),
        ("written_bytes", report.written_bytes),
    ] {
        source.note(what, count);
    }
    Ok(())
}

/// Prints a line for each set of a file: key, cardinality, bytes and representation.
pub(super) fn info(source: &Source, path: &Path, as_json: bool) -> Result<()> {
    let sets = KeyedSets::open(path)?;
    let mut out = buffered()?;
    for keyed in sets.iter() {
        source.check()?;
        let keyed = keyed?;
        let (name, representation) = (KeyName(keyed.key), keyed.representation.name());
        let written = if as_json {
            let line = json!({
                "file": path.to_string_lossy(),
                "key": str::from_utf8(keyed.key).ok(),
                "name": name.to_string(),
                "cardinality": keyed.cardinality,
                "bytes": keyed.bytes,
                "representation": representation,
            });
            writeln!(out, "{line}")
        } else {
            writeln!(out, "{name}\t{}\t{}\t{representation}", keyed.cardinality, keyed.bytes)
        };
        written.map_err(Error::io("write", "-"))?;
    }
    out.flush().map_err(Error::io("write", "-"))
}

/// Verifies a whole file; gives the numbers of its sets and values.
pub(super) fn verify(source: &Source, path: &Path) -> Result<(usize, u64)> {
    let sets = KeyedSets::open(path)?;
    sets.verify_with(source.progress())?;
    let mut values = 0_u64;
    for keyed in sets.iter() {
        values = values.saturating_add(keyed?.cardinality);
    }
    Ok((sets.len(), values))
}

/// Joins `.sets` files, if all inputs and the target are `.sets` files; gives whether it did.
pub(super) fn union(source: &Source, paths: &[PathBuf], target: &Target) -> Result<bool> {
    let is_one = paths.len() == 1 && target.sets().is_none();
    if paths.is_empty() || is_one || !paths.iter().all(|path| is_sets_file(path)) {
        return Ok(false);
    }
    let Some(output) = target.sets() else {
        let what = "these files have sets by key: join them with -o FILE.sets and without --to and --parts, or name one set of each, FILE:KEY; at-least 1 makes one set of all of them";
        return Err(Error::usage(what));
    };
    let sets = paths.iter().map(KeyedSets::open).collect::<Result<Vec<_>>>()?;
    let _bar = source.bar(true);
    let written = union_watched(&sets, output, &source.spool(), source.progress())?;
    source.note("sets", written.sets);
    source.note("written", written.values);
    source.note("written_bytes", written.bytes);
    Ok(true)
}

/// Prints the pairs of sets that have most in common.
pub(super) fn overlap(source: &Source, args: &OverlapArgs) -> Result<()> {
    let search = Overlap::new(args.top).by(args.by).at_least(args.min);
    match &args.sets[..] {
        [path] if is_sets_file(path) => {
            let sets = KeyedSets::open(path)?;
            // Their sizes, and their order.
            let sizes_bytes = 16 * sets.len() as u64;
            source.whole_memory().check_sets(0, sizes_bytes)?;
            let search = search.memory(source.memory().bytes().saturating_sub(sizes_bytes));
            let bar = source.bar(false);
            let pairs = search.of_file_watched(&sets, source.progress())?;
            drop(bar);
            print_pairs(args, &pairs, |index| {
                let key = sets.key(index)?;
                let text = str::from_utf8(key).ok().map(str::to_owned);
                let name = KeyName(key).to_string();
                Ok(Named { shown: name.clone(), name, key: text })
            })
        }
        paths => {
            let sets = source.open_all(paths)?;
            let operands: Vec<&dyn AsSet> = sets.iter().map(|set| set as &dyn AsSet).collect();
            let search = search.memory(source.memory().bytes());
            let pairs = search.of_watched(&operands, source.progress())?;
            print_pairs(args, &pairs, |index| {
                let path = sets[index].path();
                let shown = KeyName(path.as_os_str().as_bytes()).to_string();
                Ok(Named { shown, name: path.display().to_string(), key: None })
            })
        }
    }
}

/// Prints pairs of sets. `name` names a set by its number.
fn print_pairs(
    args: &OverlapArgs,
    pairs: &[Pair],
    name: impl Fn(usize) -> Result<Named>,
) -> Result<()> {
    let mut out = buffered()?;
    for pair in pairs {
        let [a, b] = pair.sets;
        let (a, b) = (name(a)?, name(b)?);
        let line = if args.json { json_of(pair, &a, &b) } else { text_of(pair, &a, &b) };
        writeln!(out, "{line}").map_err(Error::io("write", "-"))?;
    }
    out.flush().map_err(Error::io("write", "-"))
}

/// A set of a pair: its name on one line of text, its name, and its key if that is text.
struct Named {
    shown: String,
    name: String,
    key: Option<String>,
}

fn json_of(pair: &Pair, a: &Named, b: &Named) -> String {
    let Pair { sizes, intersection, jaccard, lift, .. } = pair;
    json!({
        "a": a.name, "b": b.name, "a_key": a.key, "b_key": b.key, "a_cardinality": sizes[0], "b_cardinality": sizes[1],
        "intersection": intersection, "jaccard": jaccard, "lift": lift,
    })
    .to_string()
}

fn text_of(pair: &Pair, a: &Named, b: &Named) -> String {
    let (a, b) = (&a.shown, &b.shown);
    let lift = pair.lift.map_or(String::new(), |lift| format!("\t{lift:.6}"));
    format!("{a}\t{b}\t{}\t{:.6}{lift}", pair.intersection, pair.jaccard)
}

/// Prints the keys of the sets that have given values. The answer is no if one value is in no set.
pub(super) fn keys_of(source: &Source, path: &Path, values: &[String]) -> Result<Answer> {
    /// Ids whose keys are looked up together, at most.
    const SOME: usize = 1 << 16;
    if open_named(path)?.is_some() {
        let what = "is one set, and keys-of asks all sets of a file: name the file alone";
        return Err(Error::usage(format!("{} {what}", path.display())));
    }
    let sets = KeyedSets::open(path)?;
    let typed = values.iter().map(|text| source.value(text)).collect::<Result<Vec<_>>>()?;
    if let [id] = typed[..] {
        let keys = sets.keys_of(&[id])?.concat();
        keys.iter().try_for_each(|key| print_line(KeyName(key)))?;
        return Ok((!keys.is_empty()).into());
    }
    let mut all = true;
    let mut out = buffered()?;
    let most = source.memory().keys_of_sets();
    let mut answer = |ids: &[u64]| -> Result<()> {
        each_with_keys(&sets, most, ids, |id, keys| {
            source.check()?;
            all &= !keys.is_empty();
            let id = source.notation().text(id)?;
            keys.iter().try_for_each(|key| {
                writeln!(out, "{id}\t{}", KeyName(key)).map_err(Error::io("write", "-"))
            })
        })
    };
    if typed.is_empty() {
        let ids = source.open_values(Path::new("-"))?;
        let mut some = Vec::with_capacity(SOME);
        for id in &ids {
            some.push(id?);
            if some.len() == SOME {
                answer(&some)?;
                some.clear();
            }
        }
        answer(&some)?;
    } else {
        answer(&typed)?;
    }
    out.flush().map_err(Error::io("write", "-"))?;
    Ok(all.into())
}

/// Calls `visit` with each id and its keys, in the order of the ids. If these are more than `most`
/// keys, it counts them first, and then takes so many ids at a time that they have fewer, or one.
fn each_with_keys(
    sets: &KeyedSets,
    most: usize,
    ids: &[u64],
    mut visit: impl FnMut(u64, &[&[u8]]) -> Result<()>,
) -> Result<()> {
    let mut tell = |ids: &[u64], keys: Vec<Vec<&[u8]>>| {
        ids.iter().zip(keys).try_for_each(|(id, keys)| visit(*id, &keys))
    };
    if let Some(keys) = sets.keys_of_at_most(most, ids)? {
        return tell(ids, keys);
    }
    let counts = sets.key_counts(ids)?;
    let (mut start, mut held) = (0, 0_usize);
    for (end, count) in counts.iter().enumerate() {
        held += count;
        if held > most && end > start {
            tell(&ids[start..end], sets.keys_of(&ids[start..end])?)?;
            (start, held) = (end, *count);
        }
    }
    tell(&ids[start..], sets.keys_of(&ids[start..])?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::Group;

    #[test]
    fn keys_are_found_for_fewer_ids_at_a_time_if_they_are_too_many() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tags.sets");
        let pairs = (0..40_u64).flat_map(|id| (0..id % 7).map(move |key| (key.to_string(), id)));
        Group::new().pairs(pairs).to_file(&path).unwrap();
        let sets = KeyedSets::open(&path).unwrap();
        let ids: Vec<u64> = (0..40).rev().collect();
        let expected = sets.keys_of(&ids).unwrap();
        for most in [0, 1, 6, 20, 1000] {
            assert_eq!(sets.keys_of_at_most(most, &ids).unwrap().is_some(), most == 1000);
            let (mut found, mut asked) = (Vec::new(), Vec::new());
            let all = each_with_keys(&sets, most, &ids, |id, keys| {
                asked.push(id);
                found.push(keys.iter().map(|key| key.to_vec()).collect::<Vec<_>>());
                Ok(())
            });
            all.unwrap();
            assert_eq!(asked, ids);
            assert_eq!(found, expected);
        }
        let counts: Vec<_> = expected.iter().map(Vec::len).collect();
        assert_eq!(sets.key_counts(&ids).unwrap(), counts);
    }
}
