"""Files that another process cuts, before and while they are asked: an exception, and the process
lives. Each case runs in a process of its own, which a signal would end."""

import signal
import subprocess
import sys

import pytest

import bitsort as bs

CUT = """
import os, subprocess, sys
import bitsort as bs

def cut(path, length=0):
    code = "import os, sys; os.truncate(sys.argv[1], int(sys.argv[2]))"
    subprocess.run([sys.executable, "-c", code, path, str(length)], check=True)

def refused(question):
    try:
        question()
    except (bs.Error, OSError) as error:
        assert str(error)
    else:
        raise AssertionError("an answer of bytes that are gone")
"""

ALL = """
questions = [
    lambda: 2_999_997 in ids, lambda: ids.contains_many([3, 2_999_997]), lambda: ids[len(ids) - 1],
    lambda: ids.rank(2_999_000), lambda: list(ids), lambda: list(reversed(ids)), lambda: ids & {1},
    lambda: ids | {1}, lambda: ids - {1}, lambda: ids ^ {1},
    lambda: ids.and_len(range(3_000_000)), lambda: ids.range_len(1, 2_999_000), ids.values,
    ids.serialize, ids.verify, ids.plot, lambda: ids[5:400_000], lambda: bs.sort(ids),
    lambda: ids.write(out), lambda: ids.write(out + "d", parts=2), lambda: bs.union([ids, {1}]),
    lambda: bs.eval("a - b", a=ids, b={3}), lambda: bs.at_least(2, [ids, ids]),
    lambda: bs.pieces(ids), lambda: ids > {3}, lambda: hash(ids), lambda: ids.to_bitset(),
]
"""


def run(code, *arguments):
    told = subprocess.run(
        [sys.executable, "-c", CUT + code, *map(str, arguments)],
        capture_output=True, text=True,
    )
    assert told.returncode == 0, (told.returncode, told.stdout, told.stderr)


def written(tmp_path, how):
    """A set in a file; gives what is opened, and which file is to be cut."""
    ids = bs.BitSet(range(0, 3_000_000, 3))
    if how == "folder":
        ids.write(tmp_path / "ids", parts=2)
        parts = sorted((tmp_path / "ids").glob("*.bits"))
        return tmp_path / "ids", parts[-1]
    if how == "sets":
        path = tmp_path / "ids.sets"
        values = list(range(0, 3_000_000, 3))
        bs.group([(["a"] * len(values), values), (["b"], [1])], path)
        return f"{path}:a", path
    path = tmp_path / "ids.bits"
    if how == "sparse":
        ids = bs.BitSet(range(0, 3_000_000_000_000, 3_000_000))
    ids.write(path, format=how)
    return path, path


KINDS = ["dense", "roaring-bits", "roaring", "sparse", "runs", "folder", "sets"]


@pytest.mark.parametrize("how", KINDS)
def test_a_file_that_was_cut_is_an_exception(tmp_path, how):
    path, file = written(tmp_path, how)
    run("""
path, file, out = sys.argv[1:]
ids = bs.open(path)
assert 3 in ids or 0 in ids
iterator = iter(ids)
next(iterator)
hash(ids)  # it is kept, and no answer later
cut(file)
""" + ALL + """
for index, question in enumerate(questions):
    print(index, flush=True)
    refused(question)
refused(lambda: list(iterator))
whole = bs.BitSet([0, 2, 3])
for change in (whole.update, whole.difference_update, whole.intersection_update):
    refused(lambda: change([0, 9], ids))
assert whole == {0, 2, 3}
assert not os.path.exists(out) and not os.path.exists(out + "d"), "an output of lost bytes"
""", path, file, tmp_path / "out.bits")


@pytest.mark.parametrize("how", KINDS)
def test_cuts_at_any_time_end_no_process(tmp_path, how):
    """The cut comes within a question, as nothing else is done: right answers, then exceptions."""
    path, file = written(tmp_path, how)
    run("""
path, file = sys.argv[1:]
ids = bs.open(path)
first, count = ids.min(), len(ids)
expected = bs.BitSet(ids)
code = "import os, sys, time; time.sleep(0.3); os.truncate(sys.argv[1], 0)"
cutter = subprocess.Popen([sys.executable, "-c", code, file])
asked = 0
try:
    while True:
        assert (ids | {first}) == expected
        assert ids.and_len(expected) == count
        assert all(ids.contains_many(expected))
        assert list(ids)[-1] == expected[-1]
        asked += 1
        assert cutter.poll() is None or asked < 10_000_000
except (bs.Error, OSError):
    pass
cutter.wait()
for _ in range(3):
    refused(lambda: ids.and_len(expected))
""", path, file)


def test_words_of_a_file_that_was_cut_read_as_zeros(tmp_path):
    path, file = written(tmp_path, "dense")
    run("""
[path] = sys.argv[1:]
words = bs.open(path).words()
words.check()
view = memoryview(words)
assert view[4000] != 0
cut(path)
assert view[4000] == 0, "the process goes on"
refused(words.check)
""", path)


def test_a_file_of_sets_that_was_cut(tmp_path):
    path, file = written(tmp_path, "sets")
    run("""
[path] = sys.argv[1:]
sets = bs.open_sets(path)
assert list(sets) == [b"a", b"b"]
cut(path)
for question in (sets.keys, lambda: "a" in sets, lambda: sets["b"], lambda: sets.cardinality("a"),
                 sets.verify, lambda: sets.get("c")):
    refused(question)
""", file)


@pytest.mark.parametrize("design", ["standard", "blocked", "counting"])
def test_a_filter_that_was_cut(tmp_path, design):
    path = tmp_path / "seen.bloom"
    filled = bs.Bloom(100_000, 0.01, design=design)
    filled.add_many(range(100_000))
    filled.save(path)
    run("""
path, out = sys.argv[1:]
seen = bs.Bloom.open(path)
assert seen.contains_many(range(100_000)) == [True] * 100_000
cut(path)
for question in (lambda: 5 in seen, lambda: seen.contains_many(range(100_000)), seen.copy,
                 seen.info, lambda: bs.Bloom(100_000, 0.01, design=DESIGN).merge(seen),
                 lambda: seen.save(out), lambda: repr(seen)):
    refused(question)
assert not os.path.exists(out), "a filter of lost bytes"
""".replace("DESIGN", repr(design)), path, tmp_path / "out.bloom")


def test_a_handler_of_crashes_that_comes_later_keeps_its_signals(tmp_path):
    path, file = written(tmp_path, "dense")
    run("""
import faulthandler
[path] = sys.argv[1:]
faulthandler.enable()
ids = bs.open(path)
words = ids.words()
cut(path)
assert memoryview(words)[4000] == 0
refused(lambda: list(ids))
""", path)
    code = """
import faulthandler, mmap, sys
import bitsort as bs
if sys.argv[2] == "first":
    faulthandler.enable()
bs.open(sys.argv[1])
if sys.argv[2] != "first":
    faulthandler.enable()
with open(sys.argv[1], "r+b") as file:
    theirs = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    file.truncate(0)
    theirs[-1]
"""
    for order in ("first", "last"):
        again, _ = written(tmp_path, "dense")
        told = subprocess.run(
            [sys.executable, "-c", code, again, order], capture_output=True, text=True, timeout=60
        )
        assert told.returncode == -7 and "Bus error" in told.stderr, "not about a file of ours"


FOREIGN = """
import mmap, os, signal, sys
signal.signal(signal.SIGBUS, signal.SIG_IGN)
import bitsort as bs
bs.BitSet([3]).write(sys.argv[1] + ".bits")
ids = bs.open(sys.argv[1] + ".bits")  # maps of ours are guarded from now on
with open(sys.argv[1], "w+b") as file:
    file.truncate(1 << 20)
    foreign = mmap.mmap(file.fileno(), 0)
    file.truncate(0)
foreign[5]
"""


def test_a_fault_that_the_process_ignores_ends_it(tmp_path):
    told = subprocess.run([sys.executable, "-c", FOREIGN, str(tmp_path / "foreign")], timeout=60)
    assert told.returncode == -signal.SIGBUS, "as without this package, and without going on forever"
