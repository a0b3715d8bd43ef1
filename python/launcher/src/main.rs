//! The programs of the Python package: `bitsort` where the file has this name, and else
//! `bitset`. Their code is in the library that Python loads, too, so that a wheel has it once.
//! This finds the library, loads it, and calls it.
//!
//! Without the start of the standard library, which is larger than all of this and takes
//! longer; what that does for a program is done here.

#![no_main]
// Where a panic does not end the process, only the standard library has what it takes.
#![cfg_attr(panic = "abort", no_std)]

mod python;

use core::ffi::CStr;
use libc::{c_char, c_int, c_void};

/// Where packages of Python may be, from the folder of the program; then those of each version.
const PLACES: [&CStr; 3] = [c"../lib", c"../lib64", c"../local/lib"];
const PACKAGES: [&CStr; 2] = [c"/site-packages", c"/dist-packages"];
/// `pip install --target`.
const BESIDE: &CStr = c"..";
const LIBRARIES: &CStr = c"/bitsort";

const TROUBLE: c_int = 2;

/// The name of a program, and the function of the library that is the program.
#[derive(Clone, Copy)]
struct Program {
    name: &'static [u8],
    function: &'static CStr,
}

impl Program {
    const SORT: Self = Self { name: b"bitsort", function: c"bitsort_main" };
    const SET: Self = Self { name: b"bitset", function: c"bitset_main" };
}

/// A path that grows, and ends with a zero. A longer one is not there.
struct Path {
    bytes: [u8; 4096],
    len: usize,
}

impl Path {
    /// The folder of this program, and which one it is.
    fn of_program() -> Option<(Self, Program)> {
        let mut path = Self { bytes: [0; 4096], len: 0 };
        path.len = path.read()?;
        let bytes = path.bytes.get(..path.len)?;
        let slash = bytes.iter().rposition(|byte| *byte == b'/')?;
        let is_sort = bytes.ends_with(b"/bitsort");
        path.len = slash + 1;
        path.end();
        Some((path, if is_sort { Program::SORT } else { Program::SET }))
    }

    #[cfg(not(target_vendor = "apple"))]
    fn read(&mut self) -> Option<usize> {
        let room = self.bytes.len() - 1;
        // SAFETY: the name is a string of C, and there is so much room.
        let len = unsafe {
            libc::readlink(c"/proc/self/exe".as_ptr(), self.bytes.as_mut_ptr().cast(), room)
        };
        usize::try_from(len).ok().filter(|len| *len < room)
    }

    #[cfg(target_vendor = "apple")]
    fn read(&mut self) -> Option<usize> {
        let mut room = u32::try_from(self.bytes.len()).ok()?;
        // SAFETY: there is so much room; the function ends what it writes with a zero.
        let failed =
            unsafe { libc::_NSGetExecutablePath(self.bytes.as_mut_ptr().cast(), &mut room) };
        (failed == 0).then(|| self.bytes.iter().position(|byte| *byte == 0)).flatten()
    }

    fn end(&mut self) {
        if let Some(end) = self.bytes.get_mut(self.len) {
            *end = 0;
        }
    }

    /// Does `job` with a longer path, if that has room.
    fn with<T>(&mut self, more: &CStr, job: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let (before, more) = (self.len, more.to_bytes_with_nul());
        let room = self.bytes.get_mut(before..before + more.len())?;
        room.iter_mut().zip(more).for_each(|(room, byte)| *room = *byte);
        self.len += more.len() - 1;
        let done = job(self);
        self.len = before;
        self.end();
        done
    }

    fn as_ptr(&self) -> *const c_char {
        self.bytes.as_ptr().cast()
    }

    /// Opens the folder, and leaves the numbers of standard streams free: the library looks
    /// which of them are open.
    fn open(&self) -> Option<*mut libc::DIR> {
        let how = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
        // SAFETY: a path ends with a zero.
        let first = unsafe { libc::open(self.as_ptr(), how) };
        if first < 0 {
            return None;
        }
        // SAFETY: it is open.
        let opened = unsafe { libc::fcntl(first, libc::F_DUPFD_CLOEXEC, 3) };
        // SAFETY: as before.
        unsafe { libc::close(first) };
        // SAFETY: it is a folder that is open, or a number that is refused.
        let folder = unsafe { libc::fdopendir(opened) };
        (!folder.is_null()).then_some(folder)
    }

    /// Does `job` with the path of each entry of this folder that begins so, until it gives
    /// something.
    fn each<T>(&mut self, begin: &CStr, mut job: impl FnMut(&mut Self) -> Option<T>) -> Option<T> {
        let folder = self.open()?;
        let found = self.with(c"/", |path| {
            loop {
                // SAFETY: the folder is open.
                let entry = unsafe { libc::readdir(folder) };
                if entry.is_null() {
                    return None;
                }
                // SAFETY: it is an entry until the next one is asked for.
                let name = unsafe { &raw const (*entry).d_name };
                // SAFETY: its name ends with a zero.
                let name = unsafe { CStr::from_ptr(name.cast()) };
                if name.to_bytes().starts_with(begin.to_bytes()) {
                    let found = path.with(name, &mut job);
                    if found.is_some() {
                        return found;
                    }
                }
            }
        });
        // SAFETY: it is open, and nothing of it is in use.
        unsafe { libc::closedir(folder) };
        found
    }
}

/// The function in the first library that has it, of all places where packages may be.
fn find(here: &mut Path, program: Program) -> Option<*mut c_void> {
    let in_packages = |packages: &mut Path| {
        packages
            .with(LIBRARIES, |folder| folder.each(c"_bitsort.", |library| load(library, program)))
    };
    for place in PLACES {
        let found = here.with(place, |place| {
            place.each(c"python", |version| {
                PACKAGES.iter().find_map(|packages| version.with(packages, in_packages))
            })
        });
        if found.is_some() {
            return found;
        }
    }
    here.with(BESIDE, in_packages)
}

fn load(library: &Path, program: Program) -> Option<*mut c_void> {
    // SAFETY: a path ends with a zero. What runs when the library is loaded is ours.
    let loaded = unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if loaded.is_null() {
        return None;
    }
    // SAFETY: the library is loaded; the name ends with a zero.
    let function = unsafe { libc::dlsym(loaded, program.function.as_ptr()) };
    (!function.is_null()).then_some(function)
}

/// Does what the standard library does before `main`: a closed pipe is an error and no signal,
/// and no file gets the number of a standard stream.
fn begin() {
    // SAFETY: it ignores a signal.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    for stream in 0..3 {
        // SAFETY: it asks for flags, of a stream that need not be open.
        if unsafe { libc::fcntl(stream, libc::F_GETFD) } < 0 {
            // The number is the least that is free: that of the stream.
            // SAFETY: the path ends with a zero.
            unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDWR) };
        }
    }
}

fn say(words: &[u8]) {
    // SAFETY: the words are there. If nobody hears them, there is nobody to tell.
    unsafe { libc::write(2, words.as_ptr().cast(), words.len()) };
}

/// Says that there is no library, or why the last one found could not be loaded.
fn fail(program: Program) -> c_int {
    say(program.name);
    say(b": the Python package bitsort, whose program this is, cannot be loaded");
    // SAFETY: no other thread is there.
    let reason = unsafe { libc::dlerror() };
    if !reason.is_null() {
        say(b": ");
        // SAFETY: it is a string of C until the next error.
        say(unsafe { CStr::from_ptr(reason) }.to_bytes());
    }
    say(b"\n");
    TROUBLE
}

/// What the system starts.
#[unsafe(no_mangle)]
extern "C" fn main(_arguments: c_int, _values: *const *const c_char) -> c_int {
    let Some((mut here, program)) = Path::of_program() else { return fail(Program::SET) };
    let Some(function) = find(&mut here, program) else { return fail(program) };
    begin();
    // SAFETY: `programs.rs` of the library has it so. It ends the process.
    let function = unsafe { core::mem::transmute::<*mut c_void, extern "C" fn()>(function) };
    function();
    TROUBLE
}

#[cfg(panic = "abort")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: it ends the process.
    unsafe { libc::abort() }
}
