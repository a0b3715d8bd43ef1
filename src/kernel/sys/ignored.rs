//! Finds out which signals this process was started to ignore, as by `nohup`.

use std::io;

/// Whether the process ignores a signal.
///
/// # Errors
///
/// If there is no such signal.
pub(crate) fn is_ignored(signal: i32) -> io::Result<bool> {
    // SAFETY: of a `sigaction` all bits may be 0: no flags, the empty mask.
    #[expect(unsafe_code, reason = "a structure of C")]
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: no new action is given; the old one has room.
    #[expect(unsafe_code, reason = "no safe way to ask for it")]
    let refused = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) };
    if refused != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(action.sa_sigaction == libc::SIG_IGN)
}
