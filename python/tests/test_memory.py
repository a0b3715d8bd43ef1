"""Sorts in memory, mapped words, and long work that Ctrl-C ends."""

import signal
import subprocess
import sys
import threading

import numpy as np
import pyarrow as pa
import pytest

import bitsort as bs

SHAPES = {
    "random": lambda n, top: np.random.default_rng(1).integers(0, top, n, dtype=np.uint64),
    "sorted": lambda n, top: np.linspace(0, top - 1, n).astype(np.uint64),
    "reversed": lambda n, top: np.arange(n, dtype=np.uint64)[::-1] % top,
    "equal": lambda n, top: np.full(n, top - 1, dtype=np.uint64),
    "few": lambda n, top: np.arange(n, dtype=np.uint64) % 7 * (top // 9),
    "crowded": lambda n, top: np.arange(n, dtype=np.uint64) ** 3 % (top // 3 + 1),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8"])
def test_arrays_of_every_type_and_shape_are_sorted(dtype, shape):
    top = min(int(np.iinfo(dtype).max), 2**62)  # what doubles hold
    for count in (0, 1, 1000, 200_000):
        values = SHAPES[shape](count, top).astype(dtype)
        for array in (values, values[::-3]):
            unique, counts = np.unique(array, return_counts=True)
            ordered = bs.sort(array)
            assert ordered.dtype == dtype and np.array_equal(ordered, np.sort(array))
            assert np.array_equal(bs.sort(array, reverse=True, threads=1), np.sort(array)[::-1])
            assert np.array_equal(bs.sort(array, unique=True), unique)
            found, often = bs.sort(array, count=True, reverse=True)
            assert np.array_equal(found, unique[::-1]) and np.array_equal(often, counts[::-1])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a limit of Linux")
@pytest.mark.parametrize("call", [
    "bs.BitSet(iter(range(10**9)))", "bs.sort(iter(range(10**9)))",
    "bs.BitSet.from_ranges((n, n + 1) for n in range(10**9))",
    "bs.Bloom(10, 0.1).update(iter(range(10**9)))",
])  # fmt: skip
def test_too_many_items_are_no_end_of_the_process(call):
    program = f"""
import resource, bitsort as bs
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (100 << 20),) * 2)
try:
    {call}
except MemoryError:
    print("refused")
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout == "refused\n", run.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a peak that Linux tells")
def test_rows_of_one_batch_take_no_more_memory_than_those_of_many(tmp_path):
    program = f"""
import bitsort as bs, numpy as np, pyarrow as pa
def grew():
    status = dict(line.split(":") for line in open("/proc/self/status"))
    return int(status["VmHWM"].split()[0]) - before
keys = pa.array(["k%d" % (number % 1000) for number in range(1_500_000)])
ids = np.arange(1_500_000)
status = dict(line.split(":") for line in open("/proc/self/status"))
before = int(status["VmHWM"].split()[0])
bs.group([(keys[:1000], ids[:1000])], {str(tmp_path / "x.sets")!r}, mem="256M")
bs.group([(keys, ids)], {str(tmp_path / "x.sets")!r}, mem="256M")
print(grew())
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    # 70 bytes a row were 100 MiB more.
    assert int(run.stdout) < 60_000, (run.stdout, run.stderr)


def test_counts_are_of_the_kind_of_the_values():
    assert bs.sort([40, 3, 40], count=True) == ([3, 40], [1, 2])
    values, counts = bs.sort(pa.chunked_array([[40, 3], [40]]), count=True)
    assert values.to_pylist() == [3, 40] and counts.to_pylist() == [1, 2]
    with pytest.raises(ValueError, match="count"):
        bs.sort([3], count=True, mem="64M")


def test_the_first_refused_value_is_told_whichever_thread_meets_it():
    values = np.arange(300_000)
    values[[100_001, 250_000]] = -7, -8
    with pytest.raises(ValueError, match="^index 100001: -7 is negative$"):
        bs.sort(values)


def test_words_of_a_plain_bitmap_are_read_where_they_are(tmp_path):
    path = tmp_path / "ids.bits"
    members = {5, 64, 99_999}
    bs.BitSet(members).write(path, format="dense")
    with bs.open(path) as ids:
        words = ids.words()
    bits = np.unpackbits(np.asarray(words).view(np.uint8), bitorder="little")
    assert set((np.flatnonzero(bits) + words.first).tolist()) == members
    view = memoryview(words)
    assert view.readonly and view.format == "Q" and len(view) == len(words)
    with pytest.raises(TypeError):
        view[0] = 1
    bs.BitSet(members).write(tmp_path / "other.bits", format="roaring-bits")
    assert bs.open(tmp_path / "other.bits").words() is None


LONG = """
import itertools, sys, bitsort as bs, pyarrow as pa
ids = bs.FrozenBitSet.from_ranges([(0, 2**35)])
many = bs.BitSet(range(0, 2**28, 3))
try:
    print("begun", flush=True)
    match sys.argv[1]:
        case "hash":
            hash(ids)
        case "arrow":
            for batch in pa.RecordBatchReader.from_stream(ids.to_arrow("id")):
                pass
        case "values":
            while True:
                many.values()
        case "serialize":
            while True:
                many.serialize()
        case "sum":
            while True:
                sum(many)
        case "pieces":
            bs.pieces(many, [], 1)
        case "rows":
            bs.from_spark_rows(itertools.repeat((0, bytes(4096))))
        case "keys":
            bs.group([(itertools.repeat("key"), [1])], sys.argv[2])
        case "ids":
            bs.group([(["key"], itertools.repeat(1))], sys.argv[2])
except (KeyboardInterrupt, OSError, pa.ArrowException):
    sys.exit(7)
"""


QUESTIONS = ["hash", "arrow", "values", "serialize", "sum", "pieces", "rows", "keys", "ids"]


@pytest.mark.parametrize("how", QUESTIONS)
def test_ctrl_c_ends_long_questions(how, tmp_path):
    output = tmp_path / "out"
    run = subprocess.Popen([sys.executable, "-c", LONG, how, output], stdout=subprocess.PIPE)
    assert run.stdout.readline() == b"begun\n"
    run.send_signal(signal.SIGINT)
    assert run.wait(timeout=60) == 7
    assert not list(tmp_path.iterdir())


def test_an_array_is_sorted_by_every_strategy():
    values = np.array([40, 3, 40, 2**32 - 1, 0], dtype="u4")
    for strategy in ("in-memory", "dense", "spill", "multi-pass"):
        assert bs.sort(values, strategy=strategy, mem="1G").tolist() == [0, 3, 40, 40, 2**32 - 1]
    assert "multi-pass" in bs.explain(values, strategy="multi-pass")


def test_a_value_that_changes_meanwhile_is_no_interrupt():
    values = np.arange(300_000, dtype="i8")
    stop = threading.Event()

    def toggle():
        while not stop.is_set():
            values[150_000] = -1
            values[150_000] = 1

    thread = threading.Thread(target=toggle)
    thread.start()
    try:
        for options in [{}] * 30 + [{"mem": "1G"}] * 10:
            try:
                bs.sort(values, **options)
            except ValueError as error:
                assert "150000" in str(error)
    finally:
        stop.set()
        thread.join()
