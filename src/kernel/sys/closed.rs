//! Streams that whoever started this process had closed.
//!
//! Before `main` the standard library opens `/dev/null` in their place, so that no
//! file takes their number. Results written there would be lost without a word,
//! and no input would be taken for an empty one.

use std::io;
use std::sync::atomic::{AtomicU8, Ordering};

/// A stream by its descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standard {
    Input = 0,
    Output = 1,
}

impl Standard {
    /// The error that using it would have been.
    ///
    /// # Errors
    ///
    /// If it was closed when the process began.
    pub(crate) fn check(self) -> io::Result<()> {
        if CLOSED.load(Ordering::Relaxed) & 1 << self as u8 == 0 {
            return Ok(());
        }
        Err(rustix::io::Errno::BADF.into())
    }
}

/// A bit for each stream.
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// Looks before the standard library does.
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
        for stream in [Standard::Input, Standard::Output] {
            // SAFETY: F_GETFD takes no argument and changes nothing.
            #[expect(unsafe_code, reason = "the descriptor may not be open")]
            let flags = unsafe { libc::fcntl(stream as i32, libc::F_GETFD) };
            if flags < 0 {
                CLOSED.fetch_or(1 << stream as u8, Ordering::Relaxed);
            }
        }
    }
}
