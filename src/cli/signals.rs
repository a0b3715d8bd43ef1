//! SIGINT, SIGTERM and SIGHUP end a run like an error, unless the process was started to ignore
//! them. A second signal ends the process at once. So does a first one if the run does not end
//! soon, because it waits for a pipe or a terminal.

use super::exit::say;
use crate::error::{Error, Result};
use crate::kernel::sys::{is_ignored, remove_names, remove_names_on, watch_maps, watch_memory};
use signal_hook::consts::SIGXFSZ;
use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::low_level::{self, pipe};
use std::io::{self, PipeReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// A working run checks for signals every few milliseconds.
const GRACE: Duration = Duration::from_secs(1);
/// What comes sooner is the same signal: `timeout` sends it to the process and then to its group.
const TWICE: Duration = Duration::from_millis(10);

/// The signals that end a run.
fn ending() -> io::Result<Vec<i32>> {
    let mut ending = Vec::new();
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        if !is_ignored(signal)? {
            ending.push(signal);
        }
    }
    Ok(ending)
}

/// Remembers which signal came.
#[derive(Clone)]
pub(super) struct Signals {
    program: &'static str,
    came: Arc<AtomicUsize>,
    /// Once it is set, a signal ends the process at once.
    again: Arc<AtomicBool>,
}

impl Signals {
    /// Sets `cancel` when one of the signals comes.
    pub(super) fn watch(program: &'static str, cancel: &Arc<AtomicBool>) -> Result<Self> {
        let signals = Self { program, came: Arc::default(), again: Arc::default() };
        let failed = || Error::io("watch signals of", program);
        let ending = ending().map_err(failed())?;
        let wake = signals.register(&ending, cancel).map_err(failed())?;
        if signals.came.load(Ordering::Relaxed) != 0 {
            signals.end(); // for a signal that came before this was ready
        }
        let watched = signals.clone();
        let waiter = thread::Builder::new().name("signals".into());
        // Without this thread a first signal does not end a run that waits for a pipe.
        if waiter.spawn(move || watched.wait(wake)).is_err() {
            for signal in ending {
                flag::register(signal, Arc::clone(&signals.again)).map_err(failed())?;
            }
        }
        Ok(signals)
    }

    /// Registers the signals; gives a pipe that wakes when one comes.
    fn register(&self, ending: &[i32], cancel: &Arc<AtomicBool>) -> io::Result<PipeReader> {
        let (wake, woken) = io::pipe()?;
        for &signal in ending {
            let number = usize::try_from(signal).unwrap_or_default();
            // First: from now on the signal no longer ends the process by itself.
            flag::register_usize(signal, Arc::clone(&self.came), number)?;
            flag::register(signal, Arc::clone(cancel))?;
            remove_names_on(signal, Arc::clone(&self.again))?;
            flag::register_conditional_default(signal, Arc::clone(&self.again))?;
            pipe::register(signal, woken.try_clone()?)?;
        }
        // Makes a file that may not grow further an ordinary error.
        flag::register(SIGXFSZ, Arc::default())?;
        watch_maps(self.program)?;
        watch_memory(self.program)?;
        Ok(wake)
    }

    /// Ends the process if it does not end by itself soon after a signal, because it waits for a
    /// pipe or a terminal.
    fn wait(&self, mut wake: PipeReader) {
        if wake.read_exact(&mut [0]).is_ok() {
            thread::sleep(TWICE);
            self.again.store(true, Ordering::SeqCst);
            thread::sleep(GRACE);
            self.end();
        }
    }

    /// If a signal came, prints so and ends the process as the signal would have, so that the
    /// caller sees why it ended.
    pub(super) fn end(&self) {
        remove_names();
        say(&format!("{}: interrupted; output files are as they were", self.program));
        if let Ok(signal @ 1..) = i32::try_from(self.came.load(Ordering::Relaxed)) {
            let _ = low_level::emulate_default_handler(signal); // if it fails, the exit status tells
        }
    }
}
