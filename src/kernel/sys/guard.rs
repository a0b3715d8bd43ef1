//! Guards mapped files that another process cuts: a question to such a file fails, and the process
//! goes on.
//!
//! The kernel sends SIGBUS when a process reads bytes that the file no longer has. After
//! [`guard_mapped_files`] was called, a handler puts zeros in their place and marks the map. An
//! answer that was computed from zeros is wrong, so a question checks the mark before it gives its
//! answer.

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, compiler_fence};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The earlier handlers, one for each time that this one was installed. It is installed again when
/// a file is opened, because a library that watches for crashes may have replaced it meanwhile.
static BEFORE: [OnceLock<libc::sigaction>; 8] = [const { OnceLock::new() }; 8];

/// Number of times that this handler was installed.
static FRONTS: AtomicUsize = AtomicUsize::new(0);

/// Locked by the thread that installs the handler.
static FRONT: Mutex<()> = Mutex::new(());

/// The thread whose signal was handed on to an earlier handler that has not returned; 0 if there is
/// none.
static HANDED: AtomicUsize = AtomicUsize::new(0);

/// Whether any map lost bytes.
static ANY_LOST: AtomicBool = AtomicBool::new(false);

/// A map, as the handler knows it.
#[derive(Debug)]
struct Entry {
    /// First address; 0 while there is no map.
    start: AtomicUsize,
    /// Address behind the map.
    end: AtomicUsize,
    lost: AtomicBool,
}

/// Entries are never freed, so that the handler can go through them at any time. When a map is
/// gone, another one takes its entry.
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

/// Entries without a map, and the last chunk. The handler never takes this lock.
struct Free {
    entries: Vec<&'static Entry>,
    last: Option<&'static Chunk>,
}

static FREE: Mutex<Free> = Mutex::new(Free { entries: Vec::new(), last: None });

impl Entry {
    #[expect(clippy::declare_interior_mutable_const, reason = "each use is another one")]
    const FREE: Self =
        Self { start: AtomicUsize::new(0), end: AtomicUsize::new(0), lost: AtomicBool::new(false) };

    /// An entry for a map at these addresses.
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
        let entry = free.entries.pop().unwrap_or(&FIRST.entries[0]); // there is one now
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

/// Looks after the map at these addresses, if maps are guarded.
pub(super) fn guarded(start: usize, end: usize) -> Option<Guarded> {
    if !maps_are_guarded() {
        return None;
    }
    // If this fails, the handler stays where it was, and lost bytes end the process.
    let _ = come_to_front();
    Some(Guarded(Entry::take(start, end)))
}

/// A map that the handler looks after, until this is dropped.
#[derive(Debug)]
pub(super) struct Guarded(&'static Entry);

impl Guarded {
    /// Whether bytes were read that the file no longer has.
    pub(super) fn is_lost(&self) -> bool {
        // The compiler must not read the mark before the bytes that the caller has read.
        compiler_fence(Ordering::SeqCst);
        self.0.lost.load(Ordering::Acquire)
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.0.give();
    }
}

/// Whether maps are guarded. If not, a caller need not check many maps one by one.
pub(crate) fn maps_are_guarded() -> bool {
    FRONTS.load(Ordering::Acquire) > 0
}

/// Whether any map ever lost bytes.
pub(crate) fn any_was_lost() -> bool {
    // As in `is_lost`.
    compiler_fence(Ordering::SeqCst);
    ANY_LOST.load(Ordering::Acquire)
}

/// The error of a map that lost bytes.
pub(crate) const LOST: &str = "it was shortened while it was mapped, or its disk failed";

/// Makes questions to mapped files fail if another process cuts the file, or its disk fails.
/// Without it, the kernel ends the process by SIGBUS. It affects files that are opened later.
///
/// It handles the signal for the whole process. A signal that is not about these files goes to the
/// handler that was there before. The Python package calls this when it is imported. O(1); a second
/// call does nothing.
///
/// Questions to a [`SetFile`](crate::set::SetFile), to
/// [`KeyedSets`](crate::set::keyed::KeyedSets) and to a
/// [`BlockIndex`](crate::lines::index::BlockIndex) fail by themselves, as algebra does. A caller
/// that asks a [`SetView`](crate::set::SetView) or reads [words](crate::set::SetFile::words) must
/// call [`SetFile::intact`](crate::set::SetFile::intact) before it uses the answer. A Bloom filter
/// that was opened answers "maybe" for every key once it has met lost bytes; before a caller uses
/// its other facts, it must call [`AnyFilter::intact`](crate::bloom::AnyFilter::intact).
///
/// The system maps whole pages. If a file is cut in the middle of a page, the rest of that page
/// reads as zeros, without a signal. So guarded files stay open, and their lengths are compared after
/// each question. A Bloom filter does this in `intact` alone.
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
    come_to_front()
}

/// Makes this handler the first one again, unless it was installed too often.
fn come_to_front() -> io::Result<()> {
    let _one = FRONT.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: of a `sigaction` all bits may be 0: no flags, the empty mask.
    #[expect(unsafe_code, reason = "a structure of C")]
    let mut before: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: no new action is given; the old one has its room.
    #[expect(unsafe_code, reason = "no safe way to see what handles a signal")]
    let asked = unsafe { libc::sigaction(libc::SIGBUS, std::ptr::null(), &raw mut before) };
    if asked != 0 {
        return Err(io::Error::last_os_error());
    }
    let handler = lost as *const () as usize;
    let Some(place) = BEFORE.get(FRONTS.load(Ordering::Acquire)) else { return Ok(()) };
    if before.sa_sigaction == handler {
        return Ok(());
    }
    let mut action = before;
    action.sa_sigaction = handler;
    // With NODEFER, a signal that an earlier handler sends comes at once; `hand_on` recognizes it.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
    place.get_or_init(|| before); // the handler needs this
    FRONTS.fetch_add(1, Ordering::AcqRel);
    // SAFETY: `lost` has the signature that SA_SIGINFO asks for.
    #[expect(unsafe_code, reason = "no safe way to see a signal's address")]
    let refused = unsafe { libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut()) };
    if refused == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    FRONTS.fetch_sub(1, Ordering::AcqRel); // the handler is not in force
    Err(error)
}

/// Handles the signal, on the thread that read.
///
/// It only loads, stores and makes system calls. It allocates nothing and takes no lock.
extern "C" fn lost(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: with SA_SIGINFO the kernel passes a valid structure.
    #[expect(unsafe_code, reason = "what the kernel passes")]
    let code = unsafe { (*info).si_code };
    if is_of_the_kernel(code) {
        // SAFETY: as above; nobody writes to it meanwhile.
        #[expect(unsafe_code, reason = "what the kernel passes")]
        let info = unsafe { &*info };
        // SAFETY: of a SIGBUS from the kernel the address is there.
        #[expect(unsafe_code, reason = "a union of C")]
        let address = unsafe { info.si_addr() }.addr();
        if let Some(end) = mark(address)
            && fill(address, end).is_ok()
        {
            return; // the thread reads again and gets zeros
        }
    }
    hand_on(signal, info, context, is_of_the_kernel(code));
}

/// Whether the kernel sent a signal because of lost bytes, and not a process.
pub(super) fn is_of_the_kernel(code: i32) -> bool {
    /// `SI_USER` of macOS, where codes of processes begin.
    const FROM_A_PROCESS: i32 = 0x1_0001;
    if cfg!(target_vendor = "apple") { code < FROM_A_PROCESS } else { code > 0 }
}

/// Marks the map that has an address; gives the end of the map.
fn mark(address: usize) -> Option<usize> {
    let mut chunk = Some(&FIRST);
    while let Some(Chunk { entries, next }) = chunk {
        for entry in entries {
            let start = entry.start.load(Ordering::Acquire);
            let end = entry.end.load(Ordering::Acquire);
            // A map exists as long as somebody reads it, so its entry does not change. Another
            // entry that changes at the same time differs between the two loads.
            if start != 0
                && (start..end).contains(&address)
                && entry.start.load(Ordering::Acquire) == start
            {
                entry.lost.store(true, Ordering::Release);
                ANY_LOST.store(true, Ordering::Release);
                return Some(end);
            }
        }
        chunk = next.get().copied();
    }
    None
}

/// Puts zeros in the place of the page that has this address and of all pages behind it in the map.
/// A question to any of these pages fails in any case, and so one signal is enough.
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

/// Calls the handler that was there before this one. If that handler calls this one again, as
/// Python's `faulthandler` does, the signal ends the process. So does a fault that the process
/// ignores, as it would without this handler: the thread would only meet the same fault again.
fn hand_on(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void, is_a_fault: bool) {
    // SAFETY: every thread has such a number, which is not 0.
    #[expect(unsafe_code, reason = "a function of C")]
    #[allow(clippy::cast_possible_truncation, reason = "as wide as an address, by another name")]
    let thread = unsafe { libc::pthread_self() } as usize;
    let last = FRONTS.load(Ordering::Acquire).checked_sub(1);
    let before = last.and_then(|last| BEFORE.get(last)?.get());
    let came_back = HANDED.load(Ordering::Acquire) == thread;
    match before.map_or(libc::SIG_DFL, |before| before.sa_sigaction) {
        _ if came_back => end_by(signal),
        libc::SIG_IGN if !is_a_fault => {}
        libc::SIG_DFL | libc::SIG_IGN => end_by(signal),
        handler => {
            HANDED.store(thread, Ordering::Release);
            if before.is_some_and(|before| before.sa_flags & libc::SA_SIGINFO != 0) {
                type Handler = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);
                // SAFETY: with SA_SIGINFO a handler has this signature.
                #[expect(unsafe_code, reason = "a function of somebody else")]
                let handler = unsafe { std::mem::transmute::<usize, Handler>(handler) };
                handler(signal, info, context);
            } else {
                // SAFETY: without SA_SIGINFO a handler has this signature.
                #[expect(unsafe_code, reason = "a function of somebody else")]
                let handler = unsafe { std::mem::transmute::<usize, extern "C" fn(i32)>(handler) };
                handler(signal);
            }
            HANDED.store(0, Ordering::Release);
        }
    }
}

/// Ends the process by the signal, after the handler has returned.
fn end_by(signal: i32) {
    // SAFETY: of a `sigaction` all bits may be 0: the default action is 0, too.
    #[expect(unsafe_code, reason = "a structure of C")]
    let usual: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: the old action is not asked for.
    #[expect(unsafe_code, reason = "no safe way to handle a signal")]
    unsafe {
        libc::sigaction(signal, &raw const usual, std::ptr::null_mut());
    }
    // SAFETY: it sends a signal to this thread.
    #[expect(unsafe_code, reason = "no safe way to send a signal")]
    unsafe {
        libc::raise(signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::sys::map_file;
    use std::io::Write;

    #[test]
    fn a_map_that_is_cut_reads_as_zeros_and_says_so() {
        guard_mapped_files().unwrap();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![7; 100_000]).unwrap();
        let maps: Vec<_> = (0..200).map(|_| map_file(&file).unwrap()).collect();
        file.set_len(8192).unwrap();
        assert!(maps.iter().all(|map| !map.is_lost()));
        // The last ones have entries in chunks of their own.
        let [.., before, last] = &maps[..] else { panic!("there are maps") };
        assert_eq!((last[50_000], last[8191], last[99_999]), (0, 7, 0));
        assert!(last.is_lost() && any_was_lost());
        assert!(!before.is_lost() && before[0] == 7, "each has a mark of its own");
        drop(maps);
        // The entries are taken again, without a mark.
        let again = map_file(&file).unwrap();
        assert!(!again.is_lost() && again[8191] == 7);
    }

    #[test]
    fn no_entry_is_in_two_hands() {
        let mut addresses: Vec<_> =
            (0..300).map(|_| std::ptr::from_ref(Entry::take(8, 16))).collect();
        addresses.sort_unstable();
        addresses.dedup();
        assert_eq!(addresses.len(), 300);
    }
}
