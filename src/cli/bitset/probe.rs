//! Streams of values asked against a set.

use super::Answer;
use super::join::print;
use super::source::Source;
use crate::error::{Error, Result};
use crate::set::SetFile;
use crate::sys::joined;
use crate::text::{Line, Malformed, parse_line};
use std::io::{self, Read, Write};
use std::path::Path;

/// Bytes of standard input that a thread looks at a time.
const SHARE_BYTES: usize = 768 << 10;

/// Says whether values are in the set.
pub(super) fn contains(source: &Source, path: &Path, values: &[u64]) -> Result<Answer> {
    let set = source.open(path)?;
    let (view, damaged) = (set.view(), set.damaged());
    if let [value] = values {
        let found = view.contains(*value).map_err(damaged)?;
        print(found)?;
        return Ok(found.into());
    }
    let mut all = true;
    if !values.is_empty() {
        for &value in values {
            let found = view.contains(value).map_err(&damaged)?;
            all &= found;
            print(format_args!("{value}\t{found}"))?;
        }
        return Ok(all.into());
    }
    let job = Job { kind: Kind::Tell, skip_invalid: false };
    Ok(stream(source, &set, job)?.into())
}

/// Copies the lines that are in the set, or those that are not.
pub(super) fn filter(
    source: &Source,
    path: &Path,
    invert: bool,
    skip_invalid: bool,
) -> Result<Answer> {
    if path == Path::new("-") {
        return Err(Error::usage("standard input has the lines, so it cannot be the set"));
    }
    let set = source.open(path)?;
    stream(source, &set, Job { kind: Kind::Copy { wanted: !invert }, skip_invalid })?;
    Ok(Answer::Yes)
}

#[derive(Debug, Clone, Copy)]
struct Job {
    kind: Kind,
    skip_invalid: bool,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    /// Print the value and what is found.
    Tell,
    /// Print the line if what is found is wanted.
    Copy { wanted: bool },
}

/// What a thread made of its share.
#[derive(Default)]
struct Done {
    out: Vec<u8>,
    lines: u64,
    all: bool,
    /// The first malformed line, counted from 0: its number and where in it.
    malformed: Option<(u64, Malformed, usize, Vec<u8>)>,
    error: Option<Error>,
}

/// Reads standard input to its end; gives whether all values were found.
fn stream(source: &Source, set: &SetFile, job: Job) -> Result<bool> {
    let threads = source.threads();
    let mut input = io::stdin().lock();
    let mut out = io::stdout().lock();
    let mut buffer = vec![0; threads * SHARE_BYTES];
    let (mut filled, mut offset, mut lines) = (0, 0_u64, 0_u64);
    let mut all = true;
    loop {
        if filled == buffer.len() {
            buffer.resize(2 * filled, 0); // a line that is longer than that
        }
        source.check()?;
        let read = input.read(&mut buffer[filled..]).map_err(Error::io("read", "-"))?;
        filled += read;
        let whole = if read == 0 {
            filled
        } else if filled < buffer.len() && filled < SHARE_BYTES {
            continue;
        } else {
            buffer[..filled].iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1)
        };
        let mut at = offset;
        for done in shares(&buffer[..whole], threads, set, job) {
            if let Some(error) = done.error {
                return Err(error);
            }
            out.write_all(&done.out).map_err(Error::io("write", "-"))?;
            if let Some((line, reason, place, text)) = done.malformed {
                return Err(Error::MalformedLine {
                    input: "-".into(),
                    line: lines + line + 1,
                    offset: at + place as u64,
                    reason,
                    excerpt: text[..text.len().min(40)].escape_ascii().to_string(),
                });
            }
            lines += done.lines;
            all &= done.all;
            at = offset;
        }
        offset += whole as u64;
        buffer.copy_within(whole..filled, 0);
        filled -= whole;
        if read == 0 {
            return Ok(all);
        }
    }
}

/// Works on whole lines, a share a thread; malformed places count from the
/// front of `bytes`.
fn shares(bytes: &[u8], threads: usize, set: &SetFile, job: Job) -> Vec<Done> {
    let mut cuts = vec![0];
    for share in 1..threads {
        let from = (bytes.len() / threads * share).max(cuts[share - 1]);
        let end = bytes[from..].iter().position(|&byte| byte == b'\n');
        cuts.push(end.map_or(bytes.len(), |end| from + end + 1));
    }
    cuts.push(bytes.len());
    std::thread::scope(|scope| {
        let workers: Vec<_> = cuts
            .windows(2)
            .map(|ends| {
                let share = &bytes[ends[0]..ends[1]];
                let start = ends[0];
                scope.spawn(move || work(share, start, set, job))
            })
            .collect();
        workers.into_iter().map(joined).collect()
    })
}

/// Lines that are asked for together.
const BATCH: usize = 1 << 16;

fn work(bytes: &[u8], start: usize, set: &SetFile, job: Job) -> Done {
    let mut done = Done { all: true, ..Done::default() };
    let mut batch = Batch { values: Vec::new(), lines: Vec::new() };
    let mut rest = bytes;
    while !rest.is_empty() {
        let (value, length) = if let Some(found) = canonical(rest) {
            found
        } else {
            let end = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
            match parse_line(&rest[..end]) {
                Line::Value(value) => (value, end),
                Line::Malformed { reason, offset } if !job.skip_invalid => {
                    let place = start + (bytes.len() - rest.len());
                    let place = place + usize::try_from(offset).unwrap_or(0);
                    batch.answer(set, job.kind, &mut done);
                    done.malformed = Some((done.lines, reason, place, rest[..end].to_vec()));
                    return done;
                }
                Line::Blank | Line::Malformed { .. } => {
                    done.lines += 1;
                    rest = rest.get(end + 1..).unwrap_or_default();
                    continue;
                }
            }
        };
        done.lines += 1;
        batch.values.push(value);
        batch.lines.push(&rest[..length]);
        if batch.values.len() == BATCH {
            batch.answer(set, job.kind, &mut done);
        }
        rest = rest.get(length + 1..).unwrap_or_default();
    }
    batch.answer(set, job.kind, &mut done);
    done
}

struct Batch<'b> {
    values: Vec<u64>,
    lines: Vec<&'b [u8]>,
}

impl Batch<'_> {
    /// Asks for all values, and empties the batch.
    fn answer(&mut self, set: &SetFile, kind: Kind, done: &mut Done) {
        if done.error.is_some() {
            return;
        }
        let mut found = vec![false; self.values.len()];
        if let Err(damage) = set.view().contains_many(&self.values, &mut found) {
            done.error = Some(set.damaged()(damage));
        }
        for ((&value, line), found) in self.values.iter().zip(&self.lines).zip(found) {
            done.all &= found;
            match kind {
                Kind::Tell => {
                    let _ = writeln!(done.out, "{value}\t{found}"); // a vector takes all
                }
                Kind::Copy { wanted } if wanted == found => {
                    done.out.extend_from_slice(line);
                    done.out.push(b'\n');
                }
                Kind::Copy { .. } => {}
            }
        }
        self.values.clear();
        self.lines.clear();
    }
}

/// The value of a line of up to 19 digits and nothing else, and its length.
#[inline]
fn canonical(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    for (length, &byte) in bytes.iter().take(20).enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return (byte == b'\n' && length > 0).then_some((value, length));
        }
        if length == 19 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    None
}
