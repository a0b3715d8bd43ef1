//! The share of the machine that a program may use.

use crate::error::{Error, Result};
use crate::kernel::sys::Machine;
use crate::size::{ByteSize, ParseByteSizeError};
use std::path::Path;
use std::str::FromStr;
use std::{fs, io};

/// A size, or a share of the memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum MemoryLimit {
    Size(ByteSize),
    /// 1 to 100.
    Percent(u64),
}

impl MemoryLimit {
    /// The size in bytes on `machine`.
    pub(super) fn on(self, machine: &Machine) -> ByteSize {
        match self {
            Self::Size(size) => size,
            Self::Percent(percent) => {
                let share = u128::from(machine.memory_bytes) * u128::from(percent) / 100;
                ByteSize::from_bytes(u64::try_from(share).unwrap_or(machine.memory_bytes))
            }
        }
    }
}

/// Why a text is no [`MemoryLimit`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{ParseByteSizeError}, or a share of the memory from 1% to 100%")]
pub(super) struct ParseMemoryLimitError;

impl FromStr for MemoryLimit {
    type Err = ParseMemoryLimitError;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        match text.strip_suffix('%') {
            None => text.parse().map(Self::Size).map_err(|_| ParseMemoryLimitError),
            Some(number) => match number.parse() {
                Ok(percent @ 1..=100) => Ok(Self::Percent(percent)),
                _ => Err(ParseMemoryLimitError),
            },
        }
    }
}

/// Refuses a path that is no folder; `action` is the verb of the error.
pub(super) fn check_folder(action: &'static str, folder: &Path) -> Result<()> {
    let found = fs::metadata(folder).map_err(Error::io(action, folder))?;
    if found.is_dir() {
        return Ok(());
    }
    Err(Error::io(action, folder)(io::ErrorKind::NotADirectory.into()))
}

/// Refuses a `TMPDIR` that is no folder, as `-T` does.
pub(super) fn check_tmpdir() -> Result<()> {
    match std::env::var_os("TMPDIR").filter(|folder| !folder.is_empty()) {
        Some(folder) => check_folder("use the TMPDIR", Path::new(&folder)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_limit_is_a_size_or_a_share() {
        assert_eq!("50%".parse(), Ok(MemoryLimit::Percent(50)));
        assert_eq!("2G".parse(), Ok(MemoryLimit::Size(ByteSize::from_mib(2048))));
        let machine = Machine { memory_bytes: (64 << 20) + 1, ..Machine::detect() };
        assert_eq!(MemoryLimit::Percent(100).on(&machine).bytes(), machine.memory_bytes);
        for text in ["0%", "101%", "%", "x%"] {
            assert!(text.parse::<MemoryLimit>().is_err(), "{text}");
        }
    }
}
