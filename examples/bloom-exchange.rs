//! Writes and asks filters of Guava and of DCSO's `bloom`, for the scripts that
//! hold ours against theirs. Keys are lines of standard input.
//!
//! ```text
//! bloom-exchange guava write FILE FUNNEL STRATEGY KEYS RATE
//! bloom-exchange guava ask FILE FUNNEL
//! bloom-exchange dcso write FILE KEYS RATE
//! bloom-exchange dcso ask FILE
//! ```

use bitsort::Error;
use bitsort::bloom::{BloomFilter, dcso, guava};
use std::error::Error as AnyError;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "bloom-exchange: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> Result<(), Box<dyn AnyError>> {
    match *words {
        ["guava", "write", file, funnel, strategy, keys, rate] => {
            let options = guava::Options {
                mitz_32: strategy == "0",
                hash_rule: guava::HashRule::FromBits, // what Debian's version does
            };
            let mut filter = guava::filter(keys.parse()?, rate.parse()?, options)?;
            for key in io::stdin().lock().lines() {
                filter.insert(&funnelled(funnel, &key?)?);
            }
            Ok(guava::save(&filter, file)?)
        }
        ["guava", "ask", file, funnel] => ask(&guava::load(file)?, |key| funnelled(funnel, key)),
        ["dcso", "write", file, keys, rate] => {
            let mut filter = dcso::filter(keys.parse()?, rate.parse()?)?;
            for key in io::stdin().lock().lines() {
                filter.insert(&key?);
            }
            Ok(dcso::save(&filter, b"", file)?)
        }
        ["dcso", "ask", file] => ask(&dcso::load(file)?.0, |key| Ok(key.as_bytes().to_vec())),
        _ => Err(Error::Usage { what: "see the head of the source".to_owned() }.into()),
    }
}

fn ask(
    filter: &BloomFilter,
    key: impl Fn(&str) -> Result<Vec<u8>, Box<dyn AnyError>>,
) -> Result<(), Box<dyn AnyError>> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        writeln!(out, "{}", u8::from(filter.contains(&key(&line?)?)))?;
    }
    Ok(())
}

fn funnelled(funnel: &str, key: &str) -> Result<Vec<u8>, Box<dyn AnyError>> {
    Ok(match funnel {
        "long" => guava::long(key.parse()?).to_vec(),
        "int" => guava::int(key.parse()?).to_vec(),
        "chars" => guava::unencoded_chars(key),
        _ => key.as_bytes().to_vec(),
    })
}
