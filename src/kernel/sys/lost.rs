//! Ends a program with a message if another program cuts a file that it has mapped.
//!
//! The kernel sends SIGBUS if a file was shortened after it was mapped, or its disk cannot be read.
//! The program cannot go on: it says which file it was, and exits as after any other error.

use super::guard::is_of_the_kernel;
use super::remove_names;
use rustix::fs::{Mode, OFlags};
use std::io::{self, IoSlice};
use std::panic::PanicHookInfo;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

/// Exit status after an error.
const TROUBLE: i32 = 2;

/// Memory for the handler, which cannot allocate any itself.
struct Notice {
    /// Name of the program.
    program: &'static str,
    /// Room for the kernel's list of maps.
    maps: Mutex<Vec<u8>>,
}

/// Room for a list of some ten thousand maps. Only used pages exist.
const MAPS_BYTES: usize = 1 << 20;

static NOTICE: OnceLock<Notice> = OnceLock::new();

/// Makes `program` print such a message when a mapped file loses bytes.
///
/// This replaces the handler of the standard library. That one would first restore the default, and
/// another thread that reads lost bytes would end the process before the message is written.
pub(crate) fn watch_maps(program: &'static str) -> io::Result<()> {
    NOTICE.get_or_init(|| Notice { program, maps: vec![0; MAPS_BYTES].into() });
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
/// It allocates nothing and waits for nobody: if memory is broken, the kernel sends the same signal
/// to any thread. A signal from another process has its usual effect.
extern "C" fn lost(signal: i32, info: *const libc::siginfo_t, _context: *const libc::c_void) {
    remove_names();
    // SAFETY: with SA_SIGINFO the kernel passes a valid structure.
    #[expect(unsafe_code, reason = "what the kernel passes")]
    let info = unsafe { &*info };
    if !is_of_the_kernel(info.si_code) {
        let _ = signal_hook::low_level::emulate_default_handler(signal);
        return;
    }
    // SAFETY: of a SIGBUS from the kernel the address is there.
    #[expect(unsafe_code, reason = "a union of C")]
    let address = unsafe { info.si_addr() }.addr();
    if let Some(notice) = NOTICE.get() {
        if let Ok(mut maps) = notice.maps.try_lock() {
            let len = read_maps(&mut maps).unwrap_or(0);
            let file = mapped_at(&maps[..len], address).unwrap_or(b"a file");
            let parts: [&[u8]; 4] = [notice.program.as_bytes(), b": cannot read ", file, REASON];
            let _ = rustix::io::writev(io::stderr(), &parts.map(IoSlice::new));
        } else {
            // Another thread writes the message and ends the process.
            std::thread::sleep(Duration::from_secs(1));
        }
    }
    signal_hook::low_level::exit(TROUBLE);
}

const REASON: &[u8] = b": it was shortened while it was read, or its disk failed\n";

/// Reads the kernel's list of maps, which only Linux has; gives how many bytes it read.
fn read_maps(maps: &mut [u8]) -> rustix::io::Result<usize> {
    let file = rustix::fs::open(c"/proc/self/maps", OFlags::RDONLY, Mode::empty())?;
    let mut len = 0;
    loop {
        match rustix::io::read(&file, &mut maps[len..])? {
            0 => return Ok(len),
            read => len += read,
        }
    }
}

/// The file that is mapped at an address, by the kernel's list of maps.
fn mapped_at(maps: &[u8], address: usize) -> Option<&[u8]> {
    maps.split(|&byte| byte == b'\n').find_map(|line| {
        let mut fields = line.splitn(6, |&byte| byte == b' ');
        let range = str::from_utf8(fields.next()?).ok()?;
        let (start, end) = range.split_once('-')?;
        let bound = |digits| usize::from_str_radix(digits, 16).ok();
        let inside = (bound(start)?..bound(end)?).contains(&address);
        // The name is behind permissions, offset, device and inode.
        let name = fields.nth(4)?.trim_ascii_start();
        (inside && !name.is_empty()).then_some(name)
    })
}

/// Whether the process ends because of a panic.
static PANICKED: AtomicBool = AtomicBool::new(false);

const NO_MEMORY: &[u8] = b": the system gives no more memory: allow the process more (ulimit -v)\n";

/// Makes `program` print a message and exit as after any other error, if the system refuses memory
/// that the standard library must have. The library would abort. A panic ends the process as usual.
pub(crate) fn watch_memory(program: &'static str) -> io::Result<()> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !of_no_memory(info) {
            PANICKED.store(true, Ordering::Relaxed);
            hook(info);
        }
    }));
    let tell = move || {
        remove_names();
        if !PANICKED.load(Ordering::Relaxed) {
            let parts = [program.as_bytes(), NO_MEMORY].map(IoSlice::new);
            let _ = rustix::io::writev(io::stderr(), &parts); // nothing else can be done
            signal_hook::low_level::exit(TROUBLE);
        }
    };
    // SAFETY: the action writes and exits, by system calls alone.
    #[expect(unsafe_code, reason = "what runs in a handler is not checked")]
    unsafe { signal_hook::low_level::register(libc::SIGABRT, tell) }.map(drop)
}

/// Whether a thread panics because there is no memory for the stack on which the standard library
/// handles signals. The library panics before the thread begins its work, and aborts.
fn of_no_memory(info: &PanicHookInfo<'_>) -> bool {
    info.location().is_some_and(|location| location.file().ends_with("stack_overflow.rs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_by_an_address_in_its_map() {
        let maps = b"\
7f10-7f20 r--s 00000000 fe:00 123                        /tmp/a set.bits
7f20-7f30 rw-p 00000000 00:00 0 
7f30-7f40 r--s 00000000 fe:00 124                        /tmp/b (deleted)
";
        assert_eq!(mapped_at(maps, 0x7f10), Some(&b"/tmp/a set.bits"[..]));
        assert_eq!(mapped_at(maps, 0x7f1f), Some(&b"/tmp/a set.bits"[..]));
        assert_eq!(mapped_at(maps, 0x7f20), None);
        assert_eq!(mapped_at(maps, 0x7f3f), Some(&b"/tmp/b (deleted)"[..]));
        assert_eq!(mapped_at(maps, 0x7f40), None);
    }
}
