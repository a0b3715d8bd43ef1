//! What becomes of a process that reads a mapped file behind its new end.
//!
//! The kernel sends SIGBUS where a file was shortened after it was mapped, or its
//! disk cannot be read. There is no way on: the process says which file it was,
//! and exits as after any other error.

use std::fmt::Write;
use std::fs;
use std::io;
use std::sync::OnceLock;

/// Status of a program that met trouble.
const TROUBLE: i32 = 2;

/// Name of the program, for the message.
static PROGRAM: OnceLock<&'static str> = OnceLock::new();

/// Makes `program` say so when a file that it has mapped loses bytes that it
/// reads.
///
/// The handler of the standard library is replaced: it would put the default
/// back first, and another thread that meets the same hole would end the process
/// before a word is written.
pub(crate) fn watch_maps(program: &'static str) -> io::Result<()> {
    PROGRAM.get_or_init(|| program);
    // SAFETY: of a `sigaction` all bits may be 0: no flags, the empty mask.
    #[expect(unsafe_code, reason = "a structure of C")]
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = lost as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: `lost` has the signature that SA_SIGINFO asks for; the old action
    // is not asked for.
    #[expect(unsafe_code, reason = "no safe way to see a signal's address")]
    let refused = unsafe { libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut()) };
    if refused == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Handles the signal, on the thread that read.
///
/// It may allocate and open files: the kernel sends the signal to a load from a
/// map, and no lock is held at any of these. One that somebody else sent takes
/// its usual course.
extern "C" fn lost(signal: i32, info: *const libc::siginfo_t, _context: *const libc::c_void) {
    // SAFETY: with SA_SIGINFO the kernel passes a valid structure.
    #[expect(unsafe_code, reason = "what the kernel passes")]
    let info = unsafe { &*info };
    if info.si_code <= 0 {
        let _ = signal_hook::low_level::emulate_default_handler(signal);
        return;
    }
    // SAFETY: of a SIGBUS from the kernel the address is there.
    #[expect(unsafe_code, reason = "a union of C")]
    let address = unsafe { info.si_addr() }.addr();
    let maps = fs::read("/proc/self/maps").unwrap_or_default();
    let file = mapped_at(&String::from_utf8_lossy(&maps), address).unwrap_or("a file").to_owned();
    let mut message = String::new();
    let program = PROGRAM.get().unwrap_or(&"");
    let _ = writeln!(
        message,
        "{program}: cannot read {file}: it was shortened while it was read, or its disk failed"
    );
    let _ = rustix::io::write(io::stderr(), message.as_bytes());
    signal_hook::low_level::exit(TROUBLE);
}

/// The file that is mapped at an address, by the kernel's list of maps.
fn mapped_at(maps: &str, address: usize) -> Option<&str> {
    maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let bound = |digits| usize::from_str_radix(digits, 16).ok();
        let inside = (bound(start)?..bound(end)?).contains(&address);
        // Permissions, offset, device, inode; what is left is the name.
        let name = rest.splitn(5, ' ').nth(4)?.trim_start();
        (inside && !name.is_empty()).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_by_an_address_in_its_map() {
        let maps = "\
7f10-7f20 r--s 00000000 fe:00 123                        /tmp/a set.bits
7f20-7f30 rw-p 00000000 00:00 0 
7f30-7f40 r--s 00000000 fe:00 124                        /tmp/b (deleted)
";
        assert_eq!(mapped_at(maps, 0x7f10), Some("/tmp/a set.bits"));
        assert_eq!(mapped_at(maps, 0x7f1f), Some("/tmp/a set.bits"));
        assert_eq!(mapped_at(maps, 0x7f20), None);
        assert_eq!(mapped_at(maps, 0x7f3f), Some("/tmp/b (deleted)"));
        assert_eq!(mapped_at(maps, 0x7f40), None);
    }
}
