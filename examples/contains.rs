//! Asks a set in a file for many values, and tells how long it takes.
//!
//! ```text
//! contains SET VALUES TIMES
//! ```
//!
//! VALUES has 8 bytes a value, little-endian. Each question takes a line: seconds, and how many
//! of the values are in the set. `scripts/compare-python` puts the same questions from Python.

use bitsort::set::SetFile;
use std::error::Error;
use std::io::{self, Write};
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [set, values, times] = &arguments[..] else {
        return Err("usage: contains SET VALUES TIMES".into());
    };
    let set = SetFile::open(set)?;
    let bytes = std::fs::read(values)?;
    let (values, []) = bytes.as_chunks::<8>() else {
        return Err("the last value has less than 8 bytes".into());
    };
    let values: Vec<u64> = values.iter().map(|value| u64::from_le_bytes(*value)).collect();
    let mut out = io::stdout();
    for _ in 0..times.parse()? {
        let begun = Instant::now();
        let answers = set.contains_many(&values)?;
        let seconds = begun.elapsed().as_secs_f64();
        let found = answers.into_iter().filter(|known| *known).count();
        writeln!(out, "{seconds} {found}")?;
    }
    Ok(())
}
