//! Prints what a sort may not change about a file of numbers, and whether they ascend.
//!
//! It shares no code with bitsort, so that the two cannot be wrong together. Built by
//! `prove-memory` with `rustc -O`; parses about 200 M lines a second.

use std::fs::File;
use std::io::Read;
use std::process::ExitCode;

#[derive(Default)]
struct Seen {
    lines: u64,
    sum: u128,
    xor: u64,
    /// Sum of a hash of each value (`SplitMix64`): what values of equal sum and xor differ in.
    hash: u64,
    last: u64,
    descents: u64,
}

impl Seen {
    fn add(&mut self, value: u64) {
        self.lines += 1;
        self.sum += u128::from(value);
        self.xor ^= value;
        let mut word = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        self.hash = self.hash.wrapping_add(word ^ (word >> 31));
        self.descents += u64::from(value < self.last);
        self.last = value;
    }
}

fn read(path: &str) -> Result<Seen, String> {
    let mut file = File::open(path).map_err(|error| error.to_string())?;
    let mut block = vec![0; 1 << 20];
    let (mut seen, mut value, mut digits) = (Seen::default(), 0_u64, 0);
    loop {
        let filled = file.read(&mut block).map_err(|error| error.to_string())?;
        if filled == 0 {
            let ended = digits == 0;
            return ended.then_some(seen).ok_or("the last line has no end".to_owned());
        }
        for &byte in &block[..filled] {
            let digit = byte.wrapping_sub(b'0');
            let zero_ahead = digits == 1 && value == 0;
            if digit <= 9 && !zero_ahead {
                let longer = value.checked_mul(10).and_then(|ten| ten.checked_add(digit.into()));
                value = longer.ok_or_else(|| format!("line {}: 2^64 or above", seen.lines + 1))?;
                digits += 1;
            } else if byte == b'\n' && digits > 0 {
                seen.add(value);
                (value, digits) = (0, 0);
            } else {
                return Err(format!("line {}: not a canonical natural number", seen.lines + 1));
            }
        }
    }
}

fn main() -> ExitCode {
    let path = std::env::args().nth(1).unwrap_or_default();
    match read(&path) {
        Ok(Seen { lines, sum, xor, hash, descents, .. }) => {
            let order = if descents == 0 { "ascending" } else { "unordered" };
            println!("{lines} {order} sum={sum},xor={xor:x},hash={hash:x}");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("checksum: {path}: {reason}");
            ExitCode::from(2)
        }
    }
}
