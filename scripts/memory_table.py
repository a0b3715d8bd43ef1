#!/usr/bin/env python3
"""Measures the peak memory of every kind of run from outside, and prints a table.

Each program runs with --mem; its peak is the kernel's figure of `wait4`, which counts
mapped files too. Of `bitset` the sets and filters that a command maps or fills are
allowed beside the limit, as its help says. Exit status: 0 all peaks are within their
limits, 1 one is not, or a run failed.

prove-memory --table calls this; BITSORT and BITSET in the environment name the programs.
"""

import argparse
import gzip
import bz2
import lzma
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

MIB = 1 << 20


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def packed(program, data):
    """`data` through a program that compresses; none where there is no such program."""
    if shutil.which(program[0]) is None:
        return None
    return subprocess.run(program, input=data, stdout=subprocess.PIPE, check=True).stdout


def text(values):
    return b"".join(b"%d\n" % value for value in values)


def make_inputs(count):
    """Files of all kinds in the working folder."""
    random.seed(1)
    values = [random.randrange(1 << 40) for _ in range(count)]
    narrow = [value & 0xFFFFFFFF for value in values]
    lines = text(values)
    write("text", lines)
    write("sorted", text(sorted(values)))
    write("u64", struct.pack(f"<{count}Q", *values))
    write("u32", struct.pack(f"<{count}I", *narrow))
    write("table.csv", b"name,id\n" + b"".join(b"n%d,%d\n" % (v % 7, v) for v in values))
    write("gz.gz", gzip.compress(lines, 1))
    write("bz2.bz2", bz2.compress(lines))
    write("xz.xz", lzma.compress(lines, preset=1))
    zstd = packed(["zstd", "-19", "-q", "-c"], lines)
    if zstd:
        write("zst.zst", zstd)
    part = count // 100
    for number in range(100):
        some = text(sorted(values[number * part:(number + 1) * part]))
        write(f"part{number}", some)
        write(f"part{number}.gz", gzip.compress(some, 1))
        write(f"part{number}.bz2", bz2.compress(some))
        write(f"part{number}.xz", lzma.compress(some, preset=6))
        zstd = packed(["zstd", "-19", "-q", "-c"], some)
        if zstd:
            write(f"part{number}.zst", zstd)
    write("urls", b"".join(b"https://example.org/page/%d\n" % value for value in values))
    write("changes", b"".join(b"%s%d\n" % (b"+-"[v & 1:(v & 1) + 1], v) for v in values))


def make_sets(bitset, limit):
    for number in range(100):
        run([bitset, "build", f"part{number}", "-o", f"set{number}.bits", "--mem", limit])
    run([bitset, "build", "text", "-o", "all.bits", "--mem", limit])
    run([bitset, "bloom", "build", "urls", "-n", "3000000", "-o", "urls.bloom"])


def run(command, stdin=None):
    """Runs it; gives its exit status and its peak in bytes."""
    child = os.fork()
    if child == 0:
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(os.open(stdin, os.O_RDONLY) if stdin else null, 0)
        os.dup2(null, 1)
        os.execv(command[0], command)
    _, status, usage = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024


def through_pipe(command, path):
    """The same, with the file coming through a pipe."""
    source = subprocess.Popen(["cat", path], stdout=subprocess.PIPE)
    child = os.fork()
    if child == 0:
        os.dup2(source.stdout.fileno(), 0)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.execv(command[0], command)
    source.stdout.close()
    _, status, usage = os.wait4(child, 0)
    source.wait()
    return os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024


def many(suffix):
    return " ".join(f"part{number}{suffix}" for number in range(100))


def cases():
    """What is run: a name, the program, its arguments, what comes through a pipe, and
    files whose bytes are allowed beside the limit."""
    sorts = [
        ("text", "text"), ("text, distinct", "-u text"), ("text, counted", "--count text"),
        ("text, descending", "-r text"), ("u64le", "--from u64le u64"),
        ("u32le to u32le", "--from u32le --to u32le u32"), ("column of text", "--column id table.csv"),
        ("gzip", "gz.gz"), ("bzip2", "bz2.bz2"), ("xz", "xz.xz"), ("zstd -19", "zst.zst"),
        ("100 files", many("")), ("100 of gzip", many(".gz")), ("100 of bzip2", many(".bz2")),
        ("100 of xz", many(".xz")), ("100 of zstd -19", many(".zst")),
        ("merge of 100", "--merge " + many("")), ("merge of 100 gzip", "--merge " + many(".gz")),
        ("merge of 100 bzip2", "--merge " + many(".bz2")), ("merge of 100 xz", "--merge " + many(".xz")),
        ("merge of 100 zstd", "--merge " + many(".zst")),
        ("to a set", "--to bits text"), ("spilled", "--strategy spill text"),
        ("multi-pass", "--strategy multi-pass text"),
    ]
    found = [(f"bitsort: {name}", "bitsort", line + " -o out", None, []) for name, line in sorts]
    for suffix in ["gz", "bz2", "xz", "zst"]:
        found.append((f"bitsort: text to .{suffix}", "bitsort", f"text -o out.{suffix}", None, []))
    found.append(("bitsort: pipe", "bitsort", "-o out", "text", []))
    found.append(("bitsort: pipe of gzip", "bitsort", "-o out", "gz.gz", []))
    found.append(("bitsort: check", "bitsort", "--check sorted", None, []))
    sets = " ".join(f"set{number}.bits" for number in range(100))
    all_sets = [f"set{number}.bits" for number in range(100)]
    found += [
        ("bitset: build", "bitset", "build text -o new", None, []),
        ("bitset: build of 100 zstd", "bitset", f"build {many('.zst')} -o new", None, []),
        ("bitset: or of 100", "bitset", f"or {sets} -o new", None, all_sets),
        ("bitset: xor of 100", "bitset", f"xor {sets} -o new", None, all_sets),
        ("bitset: at-least 2 of 100", "bitset", f"at-least 2 {sets} -o new", None, all_sets),
        ("bitset: and of set and text", "bitset", "and all.bits text -o new", None, ["all.bits", "all.bits"]),
        ("bitset: filter", "bitset", "filter all.bits text", None, ["all.bits"]),
        ("bitset: contains, pipe", "bitset", "contains all.bits", "text", ["all.bits"]),
        ("bitset: add", "bitset", "add set0.bits text", None, ["all.bits", "all.bits"]),
        ("bitset: apply", "bitset", "apply set1.bits changes", None, ["all.bits", "all.bits"]),
        ("bitset: sample", "bitset", "sample all.bits 1000000", None, ["all.bits"]),
        ("bitset: diff", "bitset", "diff all.bits set2.bits", None, ["all.bits"]),
        ("bitset: bloom filter", "bitset", "bloom filter urls.bloom urls", None, ["urls.bloom"]),
        ("bitset: bloom dedup", "bitset", "bloom dedup -n 3000000 urls", None, ["urls.bloom"]),
        ("bitset: bloom dedup --exact", "bitset", "bloom dedup --exact urls", None, []),
        ("bitset: bloom common", "bitset", "bloom common urls urls", None, []),
    ]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--dir", default=tempfile.gettempdir(), help="folder for the data")
    parser.add_argument("--count", type=int, default=3_000_000, help="lines of the inputs")
    options = parser.parse_args()
    programs = {name: os.path.realpath(os.environ.get(name.upper(), shutil.which(name) or name))
                for name in ["bitsort", "bitset"]}
    folder = tempfile.mkdtemp(dir=options.dir)
    failed = 0
    try:
        os.chdir(folder)
        os.environ["TMPDIR"] = folder
        # In a process of its own: a child's peak begins with what its parent has.
        maker = os.fork()
        if maker == 0:
            make_inputs(options.count)
            os._exit(0)
        if os.waitstatus_to_exitcode(os.waitpid(maker, 0)[1]) != 0:
            raise SystemExit("the inputs could not be made")
        make_sets(programs["bitset"], "256M")
        columns = [(limit, threads) for limit in [64, 256] for threads in [1, 2, 16]]
        print("| peak in MiB, of --mem and threads |" + "".join(f" {l}M, {t} |" for l, t in columns))
        print("|---|" + "--:|" * len(columns))
        for name, program, line, pipe, beside in cases():
            row = [name]
            for limit, threads in columns:
                allowed = limit * MIB + sum(os.path.getsize(path) for path in beside)
                command = [programs[program], *line.split(), "--mem", f"{limit}M"]
                command += ["--threads", str(threads), "--quiet"]
                status, peak = through_pipe(command, pipe) if pipe else run(command)
                # So many threads may find no room in so little memory: it is said, and no
                # more memory is taken.
                if status == 2 and threads == 16 and limit == 64 and peak <= allowed:
                    row.append("refused")
                    continue
                wrong = status not in (0, 1) or peak > allowed
                failed += wrong
                row.append(f"**{peak / MIB:.0f}** ({status})" if wrong else f"{peak / MIB:.0f}")
            print("| " + " | ".join(row) + " |", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{failed} runs failed or took more than they may", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
