//! A progress bar, on a terminal only.

use super::exit::say;
use crate::progress::{Phase, Progress};
use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// When to show a bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum When {
    /// If standard error is a terminal
    Auto,
    /// Wherever standard error goes
    Always,
    /// Not at all
    Never,
}

/// Draws a bar until it is dropped.
pub(super) struct Bar {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

const INTERVAL: Duration = Duration::from_millis(100);

impl Bar {
    /// Shows `progress` if `when` allows it.
    pub(super) fn show(progress: &Arc<Progress>, when: When) -> Option<Self> {
        let wanted = match when {
            When::Auto => io::stderr().is_terminal(),
            When::Always => true,
            When::Never => false,
        };
        if !wanted {
            return None;
        }
        let progress = Arc::clone(progress);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let draw = move || draw(&progress, &stopped, when);
        // A run goes on without a bar if it cannot be drawn.
        let thread = thread::Builder::new().name("progress".into()).spawn(draw).ok()?;
        Some(Self { stop, thread: Some(thread) })
    }
}

fn draw(progress: &Progress, stopped: &AtomicBool, when: When) {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{prefix:>8} [{wide_bar}] {msg} {eta}") {
        bar.set_style(style.progress_chars("=> "));
    }
    let (mut shown, mut since) = (Phase::Survey, Instant::now());
    // Draw once more at the end, for short runs and for the last state.
    let mut is_last = false;
    while !is_last {
        is_last = stopped.load(Ordering::Relaxed);
        let (phase, done, total) = progress.snapshot();
        if phase != shown {
            bar.reset();
            (shown, since) = (phase, Instant::now());
        }
        match total {
            0 => bar.unset_length(),
            total => bar.set_length(total),
        }
        bar.set_position(done);
        bar.set_prefix(name(phase));
        bar.set_message(message(phase, done, total, since.elapsed()));
        if when == When::Always && bar.is_hidden() {
            say(&format!("{} {}", bar.prefix(), bar.message()));
        }
        if !is_last {
            thread::park_timeout(INTERVAL);
        }
    }
    bar.finish_and_clear();
}

const fn name(phase: Phase) -> &'static str {
    match phase {
        Phase::Survey => "looking",
        Phase::Load => "reading",
        Phase::Emit => "writing",
        Phase::Walk => "walking",
    }
}

/// The state and the speed of a phase, in its own units.
fn message(phase: Phase, done: u64, total: u64, passed: Duration) -> String {
    let millis = passed.max(INTERVAL).as_millis();
    let rate = u64::try_from(u128::from(done) * 1000 / millis).unwrap_or(u64::MAX);
    match phase {
        Phase::Emit => format!("{done} values, {rate}/s"),
        Phase::Walk => format!("{} %", 100 * done / total.max(1)),
        Phase::Survey | Phase::Load => format!("{}, {}/s", HumanBytes(done), HumanBytes(rate)),
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join(); // a failed bar is no failure of the run
        }
    }
}
