//! Describes and verifies sets.

use super::PROGRAM;
use super::keyed;
use super::source::{Source, check_stdin};
use crate::cli::exit::tell_error;
use crate::cli::stdout::{print, print_line};
use crate::error::{Error, Result};
use crate::set::container::{Container, Op};
use crate::set::file::{Sizes, dense_bytes};
use crate::set::keyed::is_sets_file;
use crate::set::plan::Plan;
use crate::set::view::Damage;
use crate::set::{Representation, SetFile, SetKind, proportion};
use crate::size::ByteSize;
use crate::sort::Found;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Ranges of the histogram.
const BARS: usize = 16;
/// Width of the longest bar.
const BAR_WIDTH: usize = 40;

/// The facts about a set that a walk over all containers finds.
#[derive(Debug, Default)]
struct Survey {
    /// Whether the set was made of numbers, which have no representation.
    is_sorted: bool,
    /// The smallest and the largest value.
    ends: Option<(u64, u64)>,
    arrays: u64,
    bitmaps: u64,
    run_containers: u64,
    runs: u64,
    containers: u64,
    /// The sizes of files of the set.
    sizes: Sizes,
    /// Values in equal ranges between the smallest and the largest.
    histogram: [u64; BARS],
}

impl Survey {
    /// Adds the values from `first` to `last` to the histogram; `count` tells how many of them are
    /// in a range. A bar may be narrower than a container, or end inside of one.
    fn add_bars(&mut self, [first, last]: [u64; 2], count: impl Fn(u64, u64) -> u64) {
        let Some((min, max)) = self.ends else { return };
        let step = bar_step(min, max);
        let mut from = first;
        loop {
            let bar = usize::try_from((from - min) / step).unwrap_or(BARS - 1).min(BARS - 1);
            // The last bar may end above 2^64.
            let end = || min.saturating_add((bar as u64 + 1) * step - 1);
            let to = if bar == BARS - 1 { last } else { last.min(end()) };
            self.histogram[bar] += count(from, to);
            if to == last {
                break;
            }
            from = to + 1;
        }
    }
}

fn survey(source: &Source, set: &SetFile) -> Result<Survey> {
    let view = set.view();
    let ends = view.min().map_err(set.damaged())?.zip(view.max().map_err(set.damaged())?);
    let mut found = Survey { ends, ..Survey::default() };
    match view.full_containers() {
        _ if ends.is_none() => {}
        0 => survey_containers(source, set, &mut found)?,
        _ => survey_runs(source, set, &mut found)?,
    }
    Ok(found)
}

fn survey_runs(source: &Source, set: &SetFile, found: &mut Survey) -> Result<()> {
    for run in set.view().runs() {
        source.check()?;
        let (first, last) = run.map_err(set.damaged())?;
        found.runs += 1;
        found.sizes.add_run([first, last]);
        found.add_bars([first, last], |from, to| to - from + 1);
    }
    Ok(())
}

fn survey_containers(source: &Source, set: &SetFile, found: &mut Survey) -> Result<()> {
    let mut before: Option<u64> = None;
    Plan::of(set).for_each_container(source.progress(), |key, container| {
        let (Some(low), Some(high)) = (container.next(0), container.previous(u16::MAX)) else {
            return Ok(());
        };
        let (first, last) = (key << 16 | u64::from(low), key << 16 | u64::from(high));
        let (len, runs) = (container.len(), container.run_count());
        found.containers += 1;
        // A run may continue one of the container before.
        let goes_on = before.is_some_and(|before| before.checked_add(1) == Some(first));
        found.runs += runs as u64 - u64::from(goes_on);
        before = Some(last);
        match container {
            Container::Array(_) => found.arrays += 1,
            Container::Bitmap(_) => found.bitmaps += 1,
            Container::Runs(_) => found.run_containers += 1,
        }
        found.sizes.add(key, container, len, runs, last);
        found.add_bars([first, last], |from, to| {
            if [from, to] == [first, last] {
                return len.into();
            }
            #[expect(clippy::cast_possible_truncation, reason = "low parts are meant")]
            let [from, to] = [from as u16, to as u16];
            let before = from.checked_sub(1).map_or(0, |before| container.rank(before));
            (container.rank(to) - before).into()
        });
        Ok(())
    })
}

fn bar_step(min: u64, max: u64) -> u64 {
    ((max - min) / BARS as u64).saturating_add(1)
}

fn kind(set: &SetFile, found: &Survey) -> &'static str {
    match set.kind() {
        _ if found.is_sorted => "numbers, here as .bits",
        SetKind::Bits => ".bits",
        SetKind::Roaring => "portable roaring, 32 bits",
        SetKind::Treemap => "portable roaring, 64 bits",
        SetKind::Keyed => "a set of a .sets file",
        SetKind::Folder => "folder of .bits files",
    }
}

/// Prints the sizes of sets, the distribution of their values, and a histogram.
pub(super) fn info(source: &Source, paths: &[PathBuf], as_json: bool) -> Result<()> {
    check_stdin(paths)?;
    for (number, path) in paths.iter().enumerate() {
        let before = if number > 0 { "\n" } else { "" };
        if is_sets_file(path) {
            if paths.len() > 1 && !as_json {
                print_line(format_args!("{before}{}:", path.display()))?;
            }
            keyed::info(source, path, as_json)?;
            continue;
        }
        let opened = source.find(path)?;
        let is_sorted = matches!(opened, Found::Numbers(_));
        let set = opened.set(path)?;
        let found = Survey { is_sorted, ..survey(source, &set)? };
        if as_json {
            print_line(json_of(&set, &found))?;
            continue;
        }
        if paths.len() > 1 {
            print_line(format_args!("{before}{}:", path.display()))?;
        }
        print(text_of(source, &set, &found)?)?;
    }
    Ok(())
}

/// The share of the numbers between the smallest and the largest value that are in the set.
#[expect(clippy::cast_precision_loss, reason = "a proportion")]
fn density(set: &SetFile, found: &Survey) -> f64 {
    let Some((min, max)) = found.ends else { return 0.0 };
    set.len() as f64 / ((max - min) as f64 + 1.0)
}

fn json_of(set: &SetFile, found: &Survey) -> Value {
    let (first, last) = set.universe();
    json!({
        "file": set.path().to_string_lossy(),
        "kind": kind(set, found),
        "representation": set.representation().name(),
        "file_bytes": set.file_bytes(),
        "cardinality": set.len(),
        "min": found.ends.map(|(min, _)| min),
        "max": found.ends.map(|(_, max)| max),
        "universe": [first, last],
        "density": density(set, found),
        "runs": found.runs,
        "containers": {
            "array": found.arrays, "bitmap": found.bitmaps, "run": found.run_containers,
        },
        "dense_bytes": dense_bytes(found.ends),
        "roaring_bytes": found.sizes.portable_bytes(),
        "sparse_bytes": found.sizes.sparse_bytes(),
        "histogram": found.histogram,
    })
}

fn text_of(source: &Source, set: &SetFile, found: &Survey) -> Result<String> {
    let size = |bytes: u64| ByteSize::from_bytes(bytes);
    let shown = |value| source.notation().text(value);
    let (min, max) = match found.ends {
        Some((min, max)) => (shown(min)?, shown(max)?),
        None => ("none".into(), "none".into()),
    };
    let (first, last) = set.universe();
    let (first, last) = (shown(first)?, shown(last)?);
    let parts = match set.representation() {
        Representation::Runs => None,
        Representation::Dense => Some("pieces    "),
        _ => Some("containers"),
    };
    let parts = parts.map_or_else(String::new, |name| {
        format!(
            "{name}   {}: {} arrays, {} bitmaps, {} of runs\n",
            found.containers, found.arrays, found.bitmaps, found.run_containers,
        )
    });
    let mut text = format!(
        "kind         {} ({})\nsize         {}\nvalues       {}\nsmallest     {min}\n\
         largest      {max}\nuniverse     {first} to {last}\ndensity      {:.6} between \
         smallest and largest\nruns         {}\n{parts}\
         would take   {} as a dense .bits file, {} as a sparse one, {} as a portable roaring file\n",
        kind(set, found),
        set.representation().name(),
        size(set.file_bytes()),
        set.len(),
        density(set, found),
        found.runs,
        size(dense_bytes(found.ends)),
        size(found.sizes.sparse_bytes()),
        size(found.sizes.portable_bytes()),
    );
    if let Some((min, max)) = found.ends {
        histogram(&mut text, min, max, &found.histogram, shown)?;
    }
    Ok(text)
}

fn histogram(
    text: &mut String,
    min: u64,
    max: u64,
    counts: &[u64; BARS],
    shown: impl Fn(u64) -> Result<String>,
) -> Result<()> {
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let step = bar_step(min, max);
    let width = shown(max)?.len();
    for (bar, &count) in counts.iter().enumerate() {
        let Some(from) = (bar as u64).checked_mul(step).and_then(|by| min.checked_add(by)) else {
            break;
        };
        if from > max {
            break;
        }
        let length = u128::from(count) * BAR_WIDTH as u128 / u128::from(most);
        let length = usize::try_from(length).unwrap_or(BAR_WIDTH);
        // A thin mark for values that are too few for a block.
        let bar = if length == 0 && count > 0 { "▏".into() } else { "█".repeat(length) };
        let _ = writeln!(text, "{:>width$} {bar:<BAR_WIDTH$} {count}", shown(from)?);
    }
    Ok(())
}

pub(super) fn compare(source: &Source, a: &Path, b: &Path, as_json: bool) -> Result<()> {
    let sets = source.open_all(&[a.to_path_buf(), b.to_path_buf()])?;
    let [left, right] = &sets[..] else { return Ok(()) };
    let both = Plan::join(Op::And, Plan::all([left, right])).count(source.progress())?;
    let (size_a, size_b) = (left.len(), right.len());
    let lies = |set: &SetFile| set.damaged()(Damage::of("there are more values than it says"));
    let only_a = size_a.checked_sub(both).ok_or_else(|| lies(left))?;
    let only_b = size_b.checked_sub(both).ok_or_else(|| lies(right))?;
    let either = u128::from(size_a) + u128::from(only_b);
    let jaccard = proportion(both, u64::try_from(either).unwrap_or(u64::MAX));
    let relation = match (only_a, only_b) {
        (0, 0) => "equal",
        (0, _) => "A is a subset of B",
        (_, 0) => "B is a subset of A",
        _ if both == 0 => "disjoint",
        _ => "neither is a subset",
    };
    if as_json {
        // Only 2^64 does not fit, which this number is without rounding.
        #[expect(clippy::cast_precision_loss, reason = "a power of two")]
        let either = u64::try_from(either).map_or_else(|_| json!(either as f64), |all| json!(all));
        return print_line(json!({
            "a": size_a, "b": size_b, "intersection": both, "union": either,
            "only_a": only_a, "only_b": only_b, "jaccard": jaccard,
            "a_subset_of_b": only_a == 0, "b_subset_of_a": only_b == 0,
        }));
    }
    print_line(format_args!(
        "A             {size_a}\nB             {size_b}\nintersection  {both}\nunion         {either}\n\
         only in A     {only_a}\nonly in B     {only_b}\nJaccard       {jaccard:.6}\nrelation      {relation}"
    ))
}

/// Reads whole files. If one fails, it goes on with the others.
pub(super) fn verify(source: &Source, paths: &[PathBuf]) -> Result<()> {
    check_stdin(paths)?;
    let (mut failed, mut total) = (0, 0_u64);
    for path in paths {
        match verify_one(source, path) {
            Ok((sets, values)) => {
                total = total.saturating_add(values);
                let sets = sets.map_or(String::new(), |sets| format!("{sets} sets, "));
                print_line(format_args!("{}: {sets}{values} values, whole", path.display()))?;
            }
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            Err(error) if paths.len() == 1 => return Err(error),
            Err(error) => {
                failed += 1;
                tell_error(PROGRAM, &error);
            }
        }
    }
    source.note("values", total);
    if failed == 0 {
        return Ok(());
    }
    Err(Error::usage(format!("{failed} of {} files are not whole, or no sets", paths.len())))
}

/// Gives the number of sets, if the file may have several, and the number of values.
fn verify_one(source: &Source, path: &Path) -> Result<(Option<usize>, u64)> {
    let _bar = source.bar(true);
    if is_sets_file(path) {
        return keyed::verify(source, path).map(|(sets, values)| (Some(sets), values));
    }
    let set = source.open_set(path)?;
    set.verify_with(source.progress())?;
    Ok((None, set.len()))
}
