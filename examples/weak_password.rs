//! Refuses passwords that are on a list of leaked ones, without keeping the list.
//!
//! ```text
//! weak_password build LIST FILTER     once, where the list is
//! weak_password ask FILTER < password exit 1 and a word if it is weak
//! ```
//!
//! The filter has 15.5 bits for each password of the list: a thousand million of
//! them take 1.9 GB in place of 11, and one strong password in a thousand is
//! refused for nothing, which costs its owner another try. No leaked one passes.

use bitsort::bloom::{AnyFilter, BlockedBloomFilter, Storage};
use std::error::Error;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::process::ExitCode;

/// Share of strong passwords that are refused.
const RATE: f64 = 0.001;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["build", list, filter] => {
            let count = BufReader::new(File::open(list)?).split(b'\n').count();
            build(BufReader::new(File::open(list)?), count as u64)?.save(filter)?;
            Ok(ExitCode::SUCCESS)
        }
        ["ask", filter] => {
            let filter = AnyFilter::open(filter)?; // mapped: nothing is loaded
            let mut password = String::new();
            io::stdin().read_line(&mut password)?;
            if is_weak(&filter, password.trim_end_matches(['\r', '\n'])) {
                writeln!(io::stdout(), "weak: it is, or is like, a password that was leaked")?;
                return Ok(ExitCode::FAILURE);
            }
            Ok(ExitCode::SUCCESS)
        }
        _ => Err("usage: weak_password build LIST FILTER | ask FILTER".into()),
    }
}

fn build(list: impl BufRead, count: u64) -> Result<BlockedBloomFilter, Box<dyn Error>> {
    let mut filter = BlockedBloomFilter::new(count.max(1), RATE)?;
    // Of any bytes: lists have passwords that are no UTF-8.
    for password in list.split(b'\n') {
        let password = password?;
        filter.insert(password.strip_suffix(b"\r").unwrap_or(&password));
    }
    Ok(filter)
}

/// Whether the password, or one that it was made of, was leaked.
fn is_weak<S: Storage>(filter: &AnyFilter<S>, password: &str) -> bool {
    let lower = password.to_lowercase();
    let word = lower.trim_end_matches(|c: char| c.is_ascii_digit() || c.is_ascii_punctuation());
    [password, &lower, word].iter().any(|form| !form.is_empty() && filter.contains(*form))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaked_passwords_and_what_is_made_of_them_are_weak() {
        let leaked = (0..20_000).map(|number| format!("secret{number}x"));
        let list = ["123456", "password", "qwerty"].map(str::to_owned).into_iter().chain(leaked);
        let list = list.collect::<Vec<_>>().join("\n");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("leaked.bloom");
        build(list.as_bytes(), list.lines().count() as u64).unwrap().save(&path).unwrap();
        let filter = AnyFilter::open(&path).unwrap();
        for password in list.lines() {
            assert!(is_weak(&filter, password), "{password}");
        }
        for password in ["PassWord", "password2024!", "QWERTY1"] {
            assert!(is_weak(&filter, password), "{password}");
        }
        let refused =
            (0..20_000).filter(|number| is_weak(&filter, &format!("{number}-Kw§{number}")));
        // Three forms are asked for each.
        assert!(refused.count() < 200, "more than 1 % at a rate of 0.1 %");
    }
}
