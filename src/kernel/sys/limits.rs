//! The limits of this machine, and of the control group of this process.

use std::fs;
use std::num::NonZero;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Limits of the machine for this process.
///
/// # Examples
///
/// ```
/// let machine = bitsort::Machine::detect();
/// assert!(machine.threads >= 1 && machine.memory_bytes > 0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    /// Processors that this process may run on.
    pub threads: usize,
    /// Memory of the machine, or the control group's limit if that is smaller.
    pub memory_bytes: u64,
    /// Free bytes of this memory. macOS does not tell: there it is half of the memory.
    pub available_bytes: u64,
}

/// Assumed if the system does not tell.
const UNKNOWN_MEMORY: u64 = 2 << 30;

/// Several parts of a command ask one after the other, and each question reads some twenty files.
const FRESH: Duration = Duration::from_millis(50);

/// What the allocator of GNU reserves for each thread that allocates.
const ARENA_BYTES: u64 = 64 << 20;

impl Machine {
    /// Asks the operating system, or repeats its answer if that is less than 50 ms old.
    #[must_use]
    pub fn detect() -> Self {
        static LATEST: Mutex<Option<(Instant, Machine)>> = Mutex::new(None);
        let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
        match *latest {
            Some((at, machine)) if at.elapsed() < FRESH => machine,
            _ => latest.insert((Instant::now(), Self::ask())).1,
        }
    }

    fn ask() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
        // Only Linux has this file.
        let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let total = kib_field(&meminfo, "MemTotal:").or_else(physical_bytes);
        let total = total.unwrap_or(UNKNOWN_MEMORY);
        let available = kib_field(&meminfo, "MemAvailable:").unwrap_or(total / 2);
        let group = control_group();
        // `ulimit -v` counts reserved memory, not used memory.
        let reservable = rustix::process::getrlimit(rustix::process::Resource::As).current;
        let reservable = reservable.unwrap_or(u64::MAX);
        let memory_bytes = group.map_or(total, |(limit, _)| limit.min(total)).min(reservable);
        let free = group.map_or(available, |(_, free)| free);
        let reservable = reservable.saturating_sub(reserved_bytes());
        // With many processors and a small limit, not each gets a thread.
        let for_threads = (threads as u64).saturating_mul(ARENA_BYTES).min(reservable / 2);
        let reservable = reservable - for_threads;
        Self { threads, memory_bytes, available_bytes: available.min(free).min(reservable) }
    }

    /// The default memory limit: half of the available memory, so that the page cache has room; at
    /// least 64 MiB.
    #[must_use]
    pub fn default_memory_limit(&self) -> u64 {
        (self.available_bytes / 2).max(64 << 20)
    }
}

/// Memory that this process has reserved; 0 if the system does not tell, as only Linux does.
fn reserved_bytes() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').next().and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0).saturating_mul(rustix::param::page_size() as u64)
}

/// The value of the line `Name:   1234 kB`, in bytes.
fn kib_field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Memory of the machine, if the system tells.
fn physical_bytes() -> Option<u64> {
    // SAFETY: it takes a number, and answers -1 to one that it does not know.
    #[expect(unsafe_code, reason = "a function of C")]
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    let pages = u64::try_from(pages).ok().filter(|&pages| pages > 0)?;
    pages.checked_mul(rustix::param::page_size() as u64)
}

/// The smallest memory limit between this process's control group and the root, and the smallest
/// memory that is free within any of these limits. They may be of different groups.
fn control_group() -> Option<(u64, u64)> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    groups.lines().filter_map(|line| group_limit(line, Path::new("/sys/fs/cgroup"))).reduce(smaller)
}

/// The smaller limit, and the smaller free memory.
fn smaller(one: (u64, u64), other: (u64, u64)) -> (u64, u64) {
    (one.0.min(other.0), one.1.min(other.1))
}

/// The same for one line of `/proc/self/cgroup`. The groups are folders of `mounted`.
fn group_limit(line: &str, mounted: &Path) -> Option<(u64, u64)> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (controllers, path) = (fields.next()?, fields.next()?);
    let (root, limit, used) = match controllers {
        "" => (mounted.to_path_buf(), "memory.max", "memory.current"),
        _ if controllers.split(',').any(|name| name == "memory") => {
            (mounted.join("memory"), "memory.limit_in_bytes", "memory.usage_in_bytes")
        }
        _ => return None,
    };
    // In a container the path may not exist: then the root is the group.
    let mut folder = root.join(path.trim_start_matches('/'));
    let number = |folder: &Path, file: &str| -> Option<u64> {
        fs::read_to_string(folder.join(file)).ok()?.trim().parse().ok()
    };
    let mut tightest: Option<(u64, u64)> = None;
    while folder.starts_with(&root) {
        if let Some(bytes) = number(&folder, limit) {
            // Version 1 has one number for the group, and one with the groups below it, as in `used`.
            let stat = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
            let cached = stat_field(&stat, "total_inactive_file")
                .or_else(|| stat_field(&stat, "inactive_file"))
                .unwrap_or(0);
            // If the system does not tell how much is used, assume all.
            let in_use = number(&folder, used).unwrap_or(bytes).saturating_sub(cached);
            let here = (bytes, bytes.saturating_sub(in_use));
            tightest = Some(tightest.map_or(here, |before| smaller(before, here)));
        }
        if !folder.pop() {
            break;
        }
    }
    tightest
}

fn stat_field(stat: &str, name: &str) -> Option<u64> {
    stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

/// Largest resident size of this process so far, in bytes, if the system tells.
pub(crate) fn peak_resident_bytes() -> Option<u64> {
    match fs::read_to_string("/proc/self/status") {
        Ok(status) => kib_field(&status, "VmHWM:"),
        Err(_) => peak_by_usage(),
    }
}

/// The same on any Unix. On Linux it would also count the program that this process ran before.
fn peak_by_usage() -> Option<u64> {
    // SAFETY: of an `rusage` all bits may be 0: it has numbers alone.
    #[expect(unsafe_code, reason = "a structure of C")]
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is one such structure that may be written.
    #[expect(unsafe_code, reason = "a function of C")]
    let refused = unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    let unit = if cfg!(target_vendor = "apple") { 1 } else { 1024 };
    let peak = u64::try_from(usage.ru_maxrss).ok().filter(|_| refused == 0)?;
    peak.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_meminfo_are_read_in_bytes() {
        let text = "MemTotal:       24684092 kB\nMemFree:  12 kB\n";
        assert_eq!(kib_field(text, "MemTotal:"), Some(24_684_092 * 1024));
        assert_eq!(kib_field(text, "MemAvailable:"), None);
    }

    #[test]
    fn this_process_has_been_resident() {
        for peak in [peak_resident_bytes(), peak_by_usage()] {
            let peak = peak.unwrap();
            assert!(peak > 100_000 && peak < 1 << 40, "{peak}");
        }
    }

    #[test]
    fn free_memory_is_that_of_the_group_with_the_least() {
        let folder = tempfile::tempdir().unwrap();
        let child = folder.path().join("parent/child");
        fs::create_dir_all(&child).unwrap();
        let write = |folder: &Path, limit: &str, used: &str, inactive: &str| {
            fs::write(folder.join("memory.max"), limit).unwrap();
            fs::write(folder.join("memory.current"), used).unwrap();
            fs::write(folder.join("memory.stat"), format!("inactive_file {inactive}\n")).unwrap();
        };
        write(&child, "8000\n", "0\n", "0");
        write(child.parent().unwrap(), "10000\n", "9900\n", "50");
        write(folder.path(), "max\n", "20000\n", "0");
        assert_eq!(group_limit("0::/parent/child", folder.path()), Some((8000, 150)));
        assert_eq!(group_limit("0::/parent/gone", folder.path()), Some((10000, 150)));
        assert_eq!(group_limit("0::/", folder.path()), None);
        assert_eq!(group_limit("3:cpu:/parent", folder.path()), None);
        // Version 1: of 8000 used bytes, 7000 are pages of files, nearly all in groups below.
        let group = folder.path().join("memory/group");
        fs::create_dir_all(&group).unwrap();
        fs::write(group.join("memory.limit_in_bytes"), "8000\n").unwrap();
        fs::write(group.join("memory.usage_in_bytes"), "8000\n").unwrap();
        fs::write(group.join("memory.stat"), "inactive_file 1\ntotal_inactive_file 7000\n")
            .unwrap();
        assert_eq!(group_limit("4:memory:/group", folder.path()), Some((8000, 7000)));
    }

    #[test]
    fn every_unix_tells_how_much_memory_it_has() {
        let bytes = physical_bytes().unwrap();
        assert!(bytes > 64 << 20, "{bytes}");
        if let Ok(meminfo) = fs::read_to_string("/proc/meminfo") {
            assert_eq!(kib_field(&meminfo, "MemTotal:"), Some(bytes));
        }
    }
}
