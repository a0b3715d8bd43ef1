//! SIGINT, SIGTERM and SIGHUP end a run as an error would; a second one ends
//! the process at once.

use crate::error::{Error, Result};
use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Remembers which signal came.
pub(super) struct Signals(Arc<AtomicUsize>);

impl Signals {
    /// Sets `cancel` when one of the signals comes.
    pub(super) fn watch(cancel: &Arc<AtomicBool>) -> Result<Self> {
        let came = Arc::new(AtomicUsize::new(0));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let number = usize::try_from(signal).unwrap_or_default();
            // In this order: the first signal finds the flag unset.
            flag::register_conditional_default(signal, Arc::clone(cancel))
                .and_then(|_| flag::register_usize(signal, Arc::clone(&came), number))
                .and_then(|_| flag::register(signal, Arc::clone(cancel)))
                .map_err(Error::io("watch signals of", "the process"))?;
        }
        Ok(Self(came))
    }

    /// Ends the process as the signal would have, if one came: so that whoever
    /// started it sees why it ended.
    pub(super) fn reraise(&self) {
        if let Ok(signal @ 1..) = i32::try_from(self.0.load(Ordering::Relaxed)) {
            let _ = low_level::emulate_default_handler(signal); // else the status says it
        }
    }
}
