//! The settings and inputs that all passes of a run share.

use super::finish::emit::{Output, Style};
use crate::io::read::{Opened, ScanOptions};
use std::path::PathBuf;

/// What all passes of a run share.
pub(super) struct Context<'a, 'o> {
    pub(super) inputs: &'a [Opened],
    pub(super) scan: ScanOptions<'a>,
    /// Bytes of all inputs, if they are known.
    pub(super) input_bytes: u64,
    pub(super) style: Style,
    pub(super) folders: &'a [PathBuf],
    pub(super) output: &'a Output<'o>,
}
