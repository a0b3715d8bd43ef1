use super::finish::emit::Style;
use super::finish::output::Output;
use crate::io::read::{BlockFormat, Invalid, Ledger, Opened, ScanOptions};
use crate::kernel::Level;
use crate::progress::Progress;
use std::path::PathBuf;

/// The state that all passes of a run share.
pub(super) struct Context<'a, 'o> {
    pub(super) inputs: &'a [Opened],
    pub(super) block_format: &'a BlockFormat,
    pub(super) header: bool,
    pub(super) level: Level,
    pub(super) progress: &'a Progress,
    /// Bytes of all inputs, if they are known.
    pub(super) input_bytes: u64,
    pub(super) style: Style,
    pub(super) folders: &'a [PathBuf],
    pub(super) output: &'a Output<'o>,
}

impl Context<'_, '_> {
    pub(super) fn scan_options(&self) -> ScanOptions<'_> {
        ScanOptions {
            block_format: self.block_format,
            header: self.header,
            level: self.level,
            progress: self.progress,
        }
    }

    pub(super) fn ledger<'l>(&self, invalid: Invalid<'l>) -> Ledger<'l> {
        Ledger::of(self.inputs, invalid)
    }
}
