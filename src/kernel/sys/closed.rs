//! Finds out which standard streams were closed when this process started.
//!
//! Before `main`, the standard library opens `/dev/null` in their place, so that no other file gets
//! their number. Without this check, results written there would be lost without an error, and a
//! missing input would look empty.

use std::io;
use std::sync::atomic::{AtomicU8, Ordering};

/// A standard stream by its descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standard {
    Input = 0,
    Output = 1,
    Error = 2,
}

impl Standard {
    /// The error that the closed stream would have given.
    ///
    /// # Errors
    ///
    /// If the stream was closed when the process started.
    pub(crate) fn check(self) -> io::Result<()> {
        if CLOSED.load(Ordering::Relaxed) & 1 << self as u8 == 0 {
            return Ok(());
        }
        Err(rustix::io::Errno::BADF.into())
    }
}

/// A bit for each closed stream.
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// Runs before the standard library does.
#[cfg(all(feature = "cli", any(target_os = "linux", target_os = "macos"), not(miri)))]
mod early {
    use super::{CLOSED, Ordering, Standard};

    // SAFETY: the loader calls each of these functions once, on the only thread,
    // with arguments that C lets a function ignore.
    #[expect(unsafe_code, reason = "nothing else runs before the standard library")]
    #[used]
    #[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__mod_init_func"))]
    #[cfg_attr(not(target_os = "macos"), unsafe(link_section = ".init_array"))]
    static LOOK: extern "C" fn() = look;

    extern "C" fn look() {
        for stream in [Standard::Input, Standard::Output, Standard::Error] {
            // SAFETY: F_GETFD takes no argument and changes nothing.
            #[expect(unsafe_code, reason = "the descriptor may not be open")]
            let flags = unsafe { libc::fcntl(stream as i32, libc::F_GETFD) };
            if flags < 0 {
                CLOSED.fetch_or(1 << stream as u8, Ordering::Relaxed);
            }
        }
    }
}
