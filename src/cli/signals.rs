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
/// The signals that end a run.
const ENDING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];
/// What comes sooner is the same signal: `timeout` sends it to the process and then to its group.
const TWICE: Duration = Duration::from_millis(10);

/// Remembers which signal came.
#[derive(Clone)]
pub(super) struct Signals {
    program: &'static str,
    came: Arc<AtomicUsize>,
}

impl Signals {
    /// Sets `cancel` when one of the signals comes.
    pub(super) fn watch(program: &'static str, cancel: &Arc<AtomicBool>) -> Result<Self> {
        let signals = Self { program, came: Arc::default() };
        let again = Arc::new(AtomicBool::new(false));
        let wake = signals.register(cancel, &again);
        let wake = wake.map_err(Error::io("watch signals of", program))?;
        if signals.came.load(Ordering::Relaxed) != 0 {
            signals.end(); // for a signal that came before this was ready
        }
        let watched = signals.clone();
        let waiter = thread::Builder::new().name("signals".into());
        let waits = Arc::clone(&again);
        // Without this thread a first signal does not end a run that waits for a pipe.
        if waiter.spawn(move || watched.wait(wake, &waits)).is_err() {
            let arm = |signal| flag::register(signal, Arc::clone(&again)).map(drop);
            let armed = ENDING
                .into_iter()
                .try_for_each(|signal| if is_ignored(signal)? { Ok(()) } else { arm(signal) });
            armed.map_err(Error::io("watch signals of", program))?;
        }
        Ok(signals)
    }

    /// Registers the signals; gives a pipe that wakes when one comes. Once `again` is set, a signal
    /// ends the process at once.
    fn register(
        &self,
        cancel: &Arc<AtomicBool>,
        again: &Arc<AtomicBool>,
    ) -> io::Result<PipeReader> {
        let (wake, woken) = io::pipe()?;
        for signal in ENDING {
            if is_ignored(signal)? {
                continue;
            }
            let number = usize::try_from(signal).unwrap_or_default();
            // First: from now on the signal no longer ends the process by itself.
            flag::register_usize(signal, Arc::clone(&self.came), number)?;
            flag::register(signal, Arc::clone(cancel))?;
            remove_names_on(signal, Arc::clone(again))?;
            flag::register_conditional_default(signal, Arc::clone(again))?;
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
    fn wait(&self, mut wake: PipeReader, again: &AtomicBool) {
        if wake.read_exact(&mut [0]).is_ok() {
            thread::sleep(TWICE);
            again.store(true, Ordering::SeqCst);
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
