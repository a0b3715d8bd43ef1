//! Mapped files that another process cuts: a question to one fails, and the process goes on.
//!
//! The kernel sends SIGBUS where bytes are read that a file has no longer. Once
//! [`guard_mapped_files`] was called, the handler puts zeros in their place and marks the map.
//! What is computed from zeros is no answer: a question looks at the mark before it gives one.

use memmap2::Mmap;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
use std::io;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// What was to be done with the signal before.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// How many times a map lost bytes.
static LOSSES: AtomicUsize = AtomicUsize::new(0);

/// A map, as the handler sees it.
#[derive(Debug)]
struct Entry {
    /// First address; 0 while there is no map.
    start: AtomicUsize,
    /// The address behind the last one.
    end: AtomicUsize,
    lost: AtomicBool,
}

/// Entries are never freed, so that the handler can go through them at any time; another map
/// takes one when its map is gone.
struct Chunk {
    entries: [Entry; 64],
    next: OnceLock<&'static Chunk>,
}

impl Chunk {
    const fn new() -> Self {
        Self { entries: [const { Entry::FREE }; 64], next: OnceLock::new() }
    }
}

static FIRST: Chunk = Chunk::new();

/// Entries without a map, and the last chunk. No handler takes the lock.
struct Free {
    entries: Vec<&'static Entry>,
    last: Option<&'static Chunk>,
}

static FREE: Mutex<Free> = Mutex::new(Free { entries: Vec::new(), last: None });

impl Entry {
    #[expect(clippy::declare_interior_mutable_const, reason = "each use is another one")]
    const FREE: Self =
        Self { start: AtomicUsize::new(0), end: AtomicUsize::new(0), lost: AtomicBool::new(false) };

    /// One for a map at these addresses.
    fn take(start: usize, end: usize) -> &'static Self {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        if free.entries.is_empty() {
            let chunk = match free.last {
                None => &FIRST,
                Some(last) => last.next.get_or_init(|| Box::leak(Box::new(Chunk::new()))),
            };
            free.last = Some(chunk);
            free.entries.extend(&chunk.entries);
        }
        let entry = free.entries.pop().unwrap_or(&FIRST.entries[0]); // there is one
        entry.lost.store(false, Ordering::Relaxed);
        entry.end.store(end, Ordering::Release);
        entry.start.store(start, Ordering::Release);
        entry
    }

    fn give(&'static self) {
        self.start.store(0, Ordering::Release);
        FREE.lock().unwrap_or_else(PoisonError::into_inner).entries.push(self);
    }
}

/// A mapped file, which knows whether bytes of it were lost.
#[derive(Debug)]
pub(crate) struct Map {
    bytes: Mmap,
    entry: Option<&'static Entry>,
}

impl Map {
    /// A map that the handler is to look after, if there is one.
    pub(crate) fn guarded(bytes: Mmap) -> Self {
        let range = bytes.as_ptr_range();
        let entry = BEFORE.get().map(|_| Entry::take(range.start.addr(), range.end.addr()));
        Self { bytes, entry }
    }

    /// Whether bytes were read that the file had no longer. They read as zeros since.
    pub(crate) fn is_lost(&self) -> bool {
        self.entry.is_some_and(|entry| entry.lost.load(Ordering::Acquire))
    }
}

impl Deref for Map {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // Before the bytes are unmapped: nobody reads them any more.
        if let Some(entry) = self.entry.take() {
            entry.give();
        }
    }
}

/// How many losses there were when an output was begun, which may be made of mapped files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Losses(usize);

impl Losses {
    pub(crate) fn now() -> Self {
        Self(LOSSES.load(Ordering::Acquire))
    }

    /// Fails if a mapped file lost bytes since.
    pub(crate) fn check(self) -> io::Result<()> {
        if self == Self::now() { Ok(()) } else { Err(io::Error::other(LOST)) }
    }
}

/// Whether any map ever lost bytes: else there is no need to look at each of many.
pub(crate) fn any_was_lost() -> bool {
    LOSSES.load(Ordering::Acquire) != 0
}

/// What is wrong with a map that lost bytes.
pub(crate) const LOST: &str = "it was shortened while it was mapped, or its disk failed";

/// Has questions to mapped sets fail where another process cuts their file, or its disk fails;
/// without it, the kernel ends the process by SIGBUS. It is for files that are opened later.
///
/// It handles the signal for the whole process; what is not about these files is handled as
/// before. The Python package calls it when it is imported. O(1); a second call does nothing.
///
/// Questions to a [`SetFile`](crate::set::SetFile) and to
/// [`KeyedSets`](crate::set::keyed::KeyedSets) fail by themselves, as algebra does. Who asks a
/// [`SetView`](crate::set::SetView) or looks at [words](crate::set::SetFile::words) calls
/// [`SetFile::intact`](crate::set::SetFile::intact) before the answer is used. An output that is
/// written while a file is cut is given up. Bloom filters and indexes are not guarded.
///
/// # Errors
///
/// If the system refuses.
///
/// # Examples
///
/// ```
/// use bitsort::set::{IntegerSet, SetFile};
///
/// bitsort::guard_mapped_files()?;
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("ids.bits");
/// IntegerSet::from_iter((0..1 << 20).step_by(3)).write(&path)?;
/// let ids = SetFile::open(&path)?;
/// std::fs::OpenOptions::new().write(true).open(&path)?.set_len(4096)?;
/// assert!(ids.contains(999_999).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn guard_mapped_files() -> io::Result<()> {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    if BEFORE.get().is_some() {
        return Ok(());
    }
    // SAFETY: of a `sigaction` all bits may be 0: no flags, the empty mask.
    #[expect(unsafe_code, reason = "a structure of C")]
    let mut before: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: no new action is given; the old one has its room.
    #[expect(unsafe_code, reason = "no safe way to see what handles a signal")]
    let asked = unsafe { libc::sigaction(libc::SIGBUS, std::ptr::null(), &raw mut before) };
    if asked != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut action = before;
    action.sa_sigaction = lost as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    BEFORE.get_or_init(|| before); // the handler needs it
    // SAFETY: `lost` has the signature that SA_SIGINFO asks for.
    #[expect(unsafe_code, reason = "no safe way to see a signal's address")]
    let refused = unsafe { libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut()) };
    if refused == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Handles the signal, on the thread that read.
///
/// It loads, stores and makes system calls: it allocates nothing and takes no lock.
extern "C" fn lost(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: with SA_SIGINFO the kernel passes a valid structure.
    #[expect(unsafe_code, reason = "what the kernel passes")]
    let code = unsafe { (*info).si_code };
    if is_of_the_kernel(code) {
        // SAFETY: of a SIGBUS from the kernel the address is there.
        #[expect(unsafe_code, reason = "a union of C")]
        let address = unsafe { (*info).si_addr() }.addr();
        if let Some(end) = mark(address)
            && fill(address, end).is_ok()
        {
            return; // the thread reads again, now zeros
        }
    }
    hand_on(signal, info, context);
}

/// Whether a signal comes from the kernel, which met the hole, and not from a process.
pub(super) fn is_of_the_kernel(code: i32) -> bool {
    /// `SI_USER` of macOS, where codes of processes begin.
    const FROM_A_PROCESS: i32 = 0x1_0001;
    if cfg!(target_vendor = "apple") { code < FROM_A_PROCESS } else { code > 0 }
}

/// Marks the map at an address; gives where it ends.
fn mark(address: usize) -> Option<usize> {
    let mut chunk = Some(&FIRST);
    while let Some(&Chunk { ref entries, ref next }) = chunk {
        for entry in entries {
            let start = entry.start.load(Ordering::Acquire);
            let end = entry.end.load(Ordering::Acquire);
            // The map is there for as long as somebody reads it, so that its entry stays as it
            // is. Another one that changes meanwhile is told apart by its two looks.
            if start != 0
                && (start..end).contains(&address)
                && entry.start.load(Ordering::Acquire) == start
            {
                entry.lost.store(true, Ordering::Release);
                LOSSES.fetch_add(1, Ordering::AcqRel);
                return Some(end);
            }
        }
        chunk = next.get().copied();
    }
    None
}

/// Puts zeros in the place of the page with this address and of all behind it in the map: what
/// is behind a hole is refused in any case, and one signal is enough.
fn fill(address: usize, end: usize) -> rustix::io::Result<()> {
    let page = rustix::param::page_size();
    let start = address / page * page;
    let place = std::ptr::without_provenance_mut(start);
    // SAFETY: from `start` to `end` lies a map of ours, which is only read, and which is not
    // unmapped before whoever reads it here is done.
    #[expect(unsafe_code, reason = "no safe way to change what is mapped")]
    unsafe {
        mmap_anonymous(
            place,
            end - start,
            ProtFlags::READ,
            MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE,
        )
    }
    .map(drop)
}

/// Does what was to be done before there was this handler.
fn hand_on(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let Some(before) = BEFORE.get() else { return };
    match before.sa_sigaction {
        libc::SIG_IGN => {}
        libc::SIG_DFL => {
            // SAFETY: the action is the default one, as the system gave it.
            #[expect(unsafe_code, reason = "no safe way to handle a signal")]
            unsafe {
                libc::sigaction(signal, before, std::ptr::null_mut());
            }
            // It comes once this handler is done.
            // SAFETY: it sends a signal to this thread.
            #[expect(unsafe_code, reason = "no safe way to send a signal")]
            unsafe {
                libc::raise(signal);
            }
        }
        handler if before.sa_flags & libc::SA_SIGINFO != 0 => {
            type Handler = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);
            // SAFETY: with SA_SIGINFO a handler has this signature.
            #[expect(unsafe_code, reason = "a function of somebody else")]
            let handler = unsafe { std::mem::transmute::<usize, Handler>(handler) };
            handler(signal, info, context);
        }
        handler => {
            // SAFETY: without SA_SIGINFO a handler has this signature.
            #[expect(unsafe_code, reason = "a function of somebody else")]
            let handler = unsafe { std::mem::transmute::<usize, extern "C" fn(i32)>(handler) };
            handler(signal);
        }
    }
}
