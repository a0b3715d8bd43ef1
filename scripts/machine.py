"""What a record of benchmarks says of the machine."""

import datetime
import mmap
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent


def said(*command, cwd=REPOSITORY):
    """The first line a command prints, or nothing."""
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True)
        return (done.stdout.strip().splitlines() or [""])[0]
    except (OSError, subprocess.CalledProcessError):
        return ""


def describe(work):
    """Date, CPU, cores, memory, kernel, the disk of the folder `work`, and the load."""
    cpuinfo = Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*:\s*(.*)$", cpuinfo, re.MULTILINE)
    flags = set((re.search(r"^flags\s*:\s*(.*)$", cpuinfo, re.MULTILINE) or [0, ""])[1].split())
    simd = [name for name in ("avx2", "avx512bw", "avx512_vbmi2") if name in flags]
    kib = int(re.search(r"MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text())[1])
    return {
        "date": datetime.datetime.now().astimezone().isoformat(timespec="minutes"),
        "CPU": (model[1] if model else platform.machine()) + (f" ({', '.join(simd)})" if simd else ""),
        "cores": f"{len(os.sched_getaffinity(0))}",
        "memory": f"{kib / 1024 / 1024:.1f} GiB",
        "kernel": f"{platform.system()} {platform.release()}",
        "disk": f"{said('findmnt', '-no', 'FSTYPE', '-T', str(work))} at {work}",
        "load before": f"{os.getloadavg()[0]:.2f}",
    }


def make_memory_ready(limit):
    """Touches free memory, at most `limit` bytes and half of it, and gives it back: a host that
    lends memory takes back what is free, and some need seconds for each GiB. Small pages, as
    they come from other memory than huge ones."""
    available = re.search(r"MemAvailable:\s*(\d+)", Path("/proc/meminfo").read_text())
    block_bytes = 16 << 20
    blocks = min(limit, int(available[1]) * 512) // block_bytes
    # In a child: what this process had at most would count for the programs that it starts.
    child = os.fork()
    if child:
        if os.waitpid(child, 0)[1]:
            print("bench: memory could not be made ready", file=sys.stderr)
        return
    try:
        memory = mmap.mmap(-1, max(blocks, 1) * block_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        memory.madvise(mmap.MADV_NOHUGEPAGE)
        for _ in range(blocks):
            memory.write(b"\1" * block_bytes)
        os._exit(0)
    finally:
        os._exit(1)


def stolen():
    """Seconds of processor time that a host has taken from this machine, of all cores."""
    fields = Path("/proc/stat").read_text().splitlines()[0].split()
    return int(fields[8]) / os.sysconf("SC_CLK_TCK")


def source():
    """The commit measured, and the compiler."""
    commit = said("git", "rev-parse", "--short", "HEAD")
    dirty = said("git", "status", "--porcelain", "--", "src", "Cargo.toml", "Cargo.lock")
    return f"commit {commit}{' with local changes' if dirty else ''}, {said('rustc', '--version')}"
