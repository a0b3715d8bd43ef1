"""Files: sets that are mapped, sorts, filters, and what goes wrong with them."""

import copy
import gzip
import itertools
import os
import pathlib
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyroaring
import pytest

import bitsort as bs


def write(path, text):
    path.write_text(text)
    return path


@pytest.mark.parametrize("representation", ["dense", "sparse", "runs"])
def test_a_file_names_its_representation(tmp_path, representation):
    path = tmp_path / "ids.bits"
    bs.BitSet([3, 40, 2**20]).write(path, format=representation)
    with bs.open(path) as ids:
        assert ids == {3, 40, 2**20} and ids.representation == representation


def test_a_file_is_mapped(tmp_path):
    path = tmp_path / "ids.bits"
    assert bs.BitSet(range(100)).write(path) == path.stat().st_size
    with bs.open(path) as ids:
        assert ids == set(range(100)) and ids.path == path
        assert (ids.kind, ids.representation) in [("bits", "roaring"), ("bits", "dense")]
        assert ids.file_bytes == path.stat().st_size
        ids.verify()
        assert hash(ids) == hash(frozenset(range(100)))
        iterator = iter(ids)
    for question in (lambda: 5 in ids, lambda: len(ids), lambda: ids | {1}, ids.verify, ids.values, lambda: hash(ids)):
        with pytest.raises(ValueError, match="closed"):
            question()
    assert list(iterator) == list(range(100)), "an iterator has the file for itself"
    bs.verify(path)


@pytest.mark.parametrize("name", ["x.bits", "x.roaring", "x.txt", "x.parquet", "x.arrow"])
def test_formats_by_name(tmp_path, name):
    path, again = tmp_path / name, tmp_path / "again.bits"
    bs.BitSet([3, 40]).write(path)
    assert bs.open(path) == {3, 40}
    bs.convert(path, again)
    assert bs.open(again) == {3, 40}
    if name == "x.roaring":
        assert set(pyroaring.BitMap.deserialize(path.read_bytes())) == {3, 40}
    if name == "x.parquet":
        assert pq.read_table(path).to_pydict() == {"value": [3, 40]}
    with pytest.raises(ValueError, match="no format"):
        bs.BitSet().write(path, format="xml")


def test_numbers_are_opened_as_sets(tmp_path):
    text = write(tmp_path / "ids.txt", "40\n3\n40\n")
    assert bs.open(text) == {3, 40}
    packed = tmp_path / "ids.gz"
    packed.write_bytes(gzip.compress(b"7\n3\n"))
    assert bs.open(packed) == {3, 7}
    table = tmp_path / "ids.parquet"
    pq.write_table(pa.table({"id": [9, 5], "other": [1, 2]}), table)
    assert bs.open(table, column="id", mem="64M") == {5, 9}
    csv = write(tmp_path / "ids.csv", "name;id\na;5\nb;x\n")
    skipped = bs.open(csv, column="id", delimiter=";", invalid="skip")
    assert skipped == {5} and skipped.rejected == pickle.loads(pickle.dumps(skipped)).rejected == 1
    tsv = write(tmp_path / "rows.tsv", '1\t"open\n2\tx\n3\ty"\n')
    assert bs.open(tsv, column=1, delimiter="\t") == {1}
    assert bs.open(tsv, column=1, delimiter="\t", quoting=False) == {1, 2, 3}
    rows = bs.group_files([tsv], tmp_path / "x.sets", key=2, column=1, separator="\t", quoting=False)
    assert rows == (3, 3, 0)
    with pytest.raises(ValueError, match="^mem: expected a size"):
        bs.open(tsv, mem="lots")
    closed = bs.open(tsv, column=1, delimiter="\t")
    again = closed.copy()
    closed.close()
    assert closed._repr_html_() == "&lt;SetFile, closed>" and again == {1}
    with pytest.raises(ValueError):
        bs.open(text, count=True)


@pytest.mark.parametrize(
    ("notation", "text", "expected"),
    [
        ("hex", "0xff\n3\n", [3, 255]),
        ("ipv4", "0.0.1.0\n0.0.0.7\n", [7, 256]),
        ("cidr", "0.0.1.0/30\n0.0.0.7 # one\n0.0.0.9-0.0.0.10\n", [7, 9, 10, *range(256, 260)]),
        ("text-ranges", "7-9\n40\n", [7, 8, 9, 40]),
        ("hex-ranges", "a-c\n", [10, 11, 12]),
        ("ipv4-ranges", "0.0.0.1-0.0.0.3\n", [1, 2, 3]),
    ],
)
def test_text_in_other_notations(tmp_path, notation, text, expected):
    path, out = tmp_path / "in", tmp_path / "out"
    path.write_text(text)
    opened = bs.open(path, from_format=notation)
    assert list(opened) == expected
    # It is written as it was read, sorted or by a set, and reads back as the same set.
    bs.sort(path, out, from_format=notation, unique=True)
    by_set = tmp_path / "by_set"
    opened.write(by_set, format=notation)
    assert out.read_text() == by_set.read_text()
    assert list(bs.open(out, from_format=notation)) == expected
    # Also as plain numbers, and through convert.
    bs.sort(path, out, from_format=notation, format="text", unique=True)
    assert [int(line) for line in out.read_text().split()] == expected
    bs.convert(path, tmp_path / "ids.bits", from_format=notation)
    assert list(bs.open(tmp_path / "ids.bits")) == expected


def test_ranges_are_never_taken_apart(tmp_path):
    path, out = tmp_path / "in", tmp_path / "out"
    path.write_text(f"5-{2**64 - 1}\n")
    ranges = bs.open(path, from_format="text-ranges")
    assert ranges.count() == 2**64 - 5
    ranges.write(out, format="text-ranges")
    assert out.read_text() == path.read_text()
    with pytest.raises(ValueError, match="open gives a set"):
        bs.sort(path, from_format="text-ranges", unique=True)
    with pytest.raises(ValueError, match="each value is written once"):
        bs.sort(path, out, from_format="text-ranges")


def test_options_for_files_are_refused_for_numbers(tmp_path):
    with pytest.raises(ValueError, match="from_format is for files"):
        bs.sort([3, 1], from_format="u64le")
    with pytest.raises(ValueError, match="from_format is for files"):
        bs.sort([3, 1], tmp_path / "out", from_format="hex")
    with pytest.raises(ValueError, match="zero_terminated is for lines"):
        bs.sort([3, 1], zero_terminated=True)
    with pytest.raises(ValueError, match="expected one of"):
        bs.open(tmp_path / "none", from_format="octal")
    bs.sort([3, 1], tmp_path / "out", zero_terminated=True)
    assert (tmp_path / "out").read_bytes() == b"1\0003\0"
    bs.sort([255, 3], tmp_path / "out", format="ipv4")
    assert (tmp_path / "out").read_text() == "0.0.0.3\n0.0.0.255\n"


def test_what_has_no_number_is_counted(tmp_path):
    (tmp_path / "ids.txt").write_text("7\n\n40\n\n")
    pq.write_table(pa.table({"id": pa.array([7, None, 40, 7], pa.int64())}), tmp_path / "ids.parquet")
    with bs.open(tmp_path / "ids.txt") as ids:
        assert (list(ids), ids.blank) == ([7, 40], 2)
    assert [bs.open(tmp_path / "ids.txt", split=split).blank for split in [(0, 2), (3, 4)]] == [0, 1]
    assert bs.open(tmp_path / "ids.txt", split=(3, 4)).path == tmp_path / "ids.txt"
    assert bs.open(tmp_path / "ids.parquet", column="id").blank == 1
    bs.BitSet([7]).write(tmp_path / "ids.bits")
    assert bs.open(tmp_path / "ids.bits").blank == 0


def test_a_file_that_was_cut_is_refused(tmp_path):
    path = tmp_path / "ids.bits"
    bs.BitSet(range(0, 10**6, 3)).write(path)
    ids = bs.open(path)
    iterator = iter(ids)
    next(iterator)
    os.truncate(path, 4096)
    for question in (
        lambda: 3 in ids, lambda: ids.contains_many([3]), lambda: ids | {1}, lambda: ids[5],
        lambda: ids.and_len([3]), ids.values, lambda: list(iterator), ids.verify, ids.plot,
        lambda: ids.write(tmp_path / "copy.bits"), lambda: bs.eval("a", a=ids), ids.serialize,
        lambda: bs.at_least(1, [ids]), lambda: ids.range(5, 10), lambda: ids > {3},
    ):
        with pytest.raises(bs.Error) as told:
            question()
        assert (told.value.kind, told.value.found) == ("InputChanged", 4096)
    with pytest.raises(Exception, match="changed"):
        pa.chunked_array(ids.to_arrow())
    assert not (tmp_path / "copy.bits").exists()


def test_damage_is_told_with_its_place(tmp_path):
    path = tmp_path / "ids.bits"
    bs.BitSet(range(0, 10**6, 3)).write(path)
    data = bytearray(path.read_bytes())
    data[-5000] ^= 1
    path.write_bytes(data)
    with pytest.raises(bs.Error) as told:
        bs.verify(path)
    assert told.value.kind == "Damaged" and told.value.input == str(path)
    for cut in range(97, 4200, 97):
        path.write_bytes(data[:cut])
        with pytest.raises((bs.Error, OSError)):
            list(bs.open(path))


def test_errors_have_the_facts_of_the_command_line(tmp_path):
    text = write(tmp_path / "ids.txt", "40\n3\nx7\n")
    with pytest.raises(bs.Error) as told:
        bs.sort(text, tmp_path / "out.txt")
    error = told.value
    facts = (error.kind, error.input, error.line, error.offset, error.excerpt)
    assert facts == ("MalformedLine", str(text), 3, 5, "x7")
    run = subprocess.run(["bitsort", text], capture_output=True, text=True)
    assert run.returncode == 2 and str(error) in run.stderr
    with pytest.raises(FileNotFoundError) as missing:
        bs.sort(tmp_path / "none.txt", tmp_path / "out.txt")
    assert missing.value.filename == str(tmp_path / "none.txt")
    with pytest.raises(bs.Error, match="no _manifest.json") as told:
        bs.open(tmp_path)
    assert (told.value.kind, told.value.input) == ("Folder", str(tmp_path))
    assert not (tmp_path / "out.txt").exists()


def test_files_are_sorted(tmp_path):
    first, second = write(tmp_path / "a", "40\n3\n\n"), write(tmp_path / "b", "7\n3\n")
    out = tmp_path / "out"
    report = bs.sort([first, second], out)
    assert out.read_text() == "3\n3\n7\n40\n"
    assert (report.lines, report.values, report.written, report.blank) == (5, 4, 4, 1)
    assert report.seconds.keys() == {"survey", "load", "emit"} and "4 written" in repr(report)
    assert bs.sort(str(first), out, unique=True, reverse=True).written == 2
    assert out.read_text() == "40\n3\n"
    bs.sort([first, second], out, count=True)
    assert out.read_text().split() == ["2", "3", "1", "7", "1", "40"]
    assert bs.sort([first, second]).tolist() == [3, 3, 7, 40]
    bs.sort([first, second], tmp_path / "out.bits")
    assert bs.open(tmp_path / "out.bits") == {3, 7, 40}
    bs.sort([first, second], tmp_path / "out.parquet", mem="64M", threads=1, tmp=tmp_path)
    assert pq.read_table(tmp_path / "out.parquet")["value"].to_pylist() == [3, 3, 7, 40]
    bs.sort(np.array([5, 1]), out, format="u32le")
    assert out.read_bytes() == b"\1\0\0\0\5\0\0\0"
    assert bs.sort(out, from_format="u32le").tolist() == [1, 5]
    bad = write(tmp_path / "bad", "5\nx\n")
    assert bs.sort(bad, out, rejects=tmp_path / "rejects").rejected == 1
    assert "x" in (tmp_path / "rejects").read_text()
    for options in ({"rejects": tmp_path / "r", "invalid": "skip"}, {"invalid": "skip", "rejects": tmp_path / "r"}):
        assert list(bs.open(bad, **options)) == [5]
        assert "x" in (tmp_path / "r").read_text()
        (tmp_path / "r").unlink()
        with pytest.raises(ValueError, match="choose one"):
            bs.open(bad, **options | {"invalid": "fail"})
    assert bs.sort([out, out], merge=True, spill=False, strategy="in-memory").tolist() == [5, 5]
    assert "strategy" in bs.explain([first, second], mem="64M")


def test_options_are_looked_at(tmp_path):
    text = write(tmp_path / "a", "1\n")
    for options, error in [
        ({"memory": 1}, TypeError), ({"mem": "1X"}, ValueError), ({"mem": 5}, bs.Error),
        ({"strategy": "x"}, ValueError), ({"delimiter": ";"}, ValueError),
        ({"column": 0}, ValueError), ({"invalid": "x"}, ValueError), ({"threads": -1}, Exception),
        ({"count": True}, ValueError), ({"unique": "yes"}, TypeError),
    ]:
        with pytest.raises(error):
            bs.sort(text, **options)
    with pytest.raises(bs.Error, match="4294967296 does not fit in u32le"):
        bs.sort([70_000, 2**32], tmp_path / "out", format="u32le")


def test_progress_is_told_and_its_exception_ends_the_run(tmp_path):
    text = write(tmp_path / "a", "\n".join(map(str, range(200_000))))
    seen = []
    bs.sort(text, tmp_path / "out", progress=lambda *step: seen.append(step))
    assert seen and all(phase in ("survey", "load", "emit", "walk") for phase, _, _ in seen)

    class Enough(Exception):
        pass

    def stop(*_):
        raise Enough

    with pytest.raises(Enough):
        bs.sort(text, tmp_path / "never", progress=stop)
    # A run that ends before anything is told in between does not replace its output either.
    short, out = write(tmp_path / "short", "3\n1\n"), write(tmp_path / "kept", "precious\n")
    with pytest.raises(Enough):
        bs.sort(short, out, progress=stop)
    assert (tmp_path / "kept").read_text() == "precious\n"


ENDLESS = """
import sys, time, bitsort as bs
folder, how = sys.argv[1:]
def told(phase, done, total):
    print("working", flush=True)
try:
    bs.sort("/dev/stdin", folder + "/out.bits" if how == "set" else folder + "/out.txt",
            tmp=folder, mem="64M", progress=told)
except KeyboardInterrupt:
    sys.exit(7)
"""


@pytest.mark.parametrize("how", ["set", "text"])
def test_ctrl_c_ends_long_work_and_leaves_nothing(tmp_path, how):
    yes = subprocess.Popen(["seq", "1", "1000000000"], stdout=subprocess.PIPE)
    try:
        run = subprocess.Popen(
            [sys.executable, "-c", ENDLESS, tmp_path, how], stdin=yes.stdout, stdout=subprocess.PIPE
        )
        assert run.stdout.readline() == b"working\n"
        run.send_signal(signal.SIGINT)
        assert run.wait(timeout=60) == 7
    finally:
        yes.kill()
        yes.wait()
    assert os.listdir(tmp_path) == []


def endless(batches):
    """An Arrow stream that never ends."""
    batch = pa.record_batch({"a": pa.array(range(10))})
    return pa.RecordBatchReader.from_batches(batch.schema, batches(batch))


def interrupted(batch):
    """Batches of a generator, which meets the interrupt itself."""
    yield batch
    while True:
        time.sleep(0.01)


@pytest.mark.parametrize(
    "call",
    [
        lambda: bs.open("/dev/zero"),
        lambda: bs.sort("/dev/zero"),
        lambda: bs.Bloom(10, 0.1).add_many(range(10**12)),
        lambda: bs.Bloom(10, 0.1).contains_many(range(10**9)),
        lambda: bs.BitSet(itertools.repeat(1)),
        lambda: bs.Bloom(10, 0.1).add_many(itertools.repeat(1)),
        lambda: bs.BitSet.from_ranges([(first << 40, (first << 40) + 2**38) for first in range(50)]),
        lambda: bs.BitSet([1]).add_range(0, 2**42),
        lambda: bs.BitSet(range(2**42)),
        lambda: bs.FrozenBitSet([1]).flip(0, 2**42),
        lambda: bs.BitSet(range(2**34))[::3],
        lambda: bs.pieces([1], itertools.count(1)),
        lambda: bs.union(itertools.repeat(bs.BitSet())),
        lambda: bs.union_len(itertools.repeat(bs.BitSet())),
        lambda: bs.at_least(2, itertools.repeat(bs.BitSet())),
        lambda: bs.group_files(itertools.repeat("a"), "o", key=1, column=2),
        lambda: bs.BitSet(endless(itertools.repeat)),
        lambda: bs.group([(endless(itertools.repeat), [1])], "o"),
        lambda: bs.BitSet(endless(interrupted)),
    ],
)
def test_ctrl_c_ends_what_would_never_end(call):
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_cut_in_the_middle_of_a_page_is_noticed(tmp_path):
    ids, keys = range(0, 20_000, 3), [f"k{number}" for number in range(1000)]
    bs.BitSet(ids).write(tmp_path / "dense.bits", format="dense")
    bs.group([(["x"] * len(ids), list(ids))], tmp_path / "group.sets")
    filter = bs.Bloom(1000, 0.001)
    filter.add_many(keys)
    filter.save(tmp_path / "filter.bloom")
    dense, group = bs.open(tmp_path / "dense.bits"), bs.open(f"{tmp_path}/group.sets:x")
    bloom = bs.Bloom.open(tmp_path / "filter.bloom")
    assert 3 in dense and 3 in group and "k1" in bloom
    for name in ("dense.bits", "group.sets", "filter.bloom"):
        os.truncate(tmp_path / name, 4100)
    for call in (
        lambda: 3 in dense,
        lambda: dense.contains_many([3, 6]),
        lambda: 3 in group,
        lambda: group.contains_many(np.array([3, 6])),
        lambda: "k1" in bloom,
        lambda: bloom.contains_many(keys),
        lambda: bloom.copy(),
    ):
        with pytest.raises((bs.Error, OSError)):
            call()


def test_files_of_other_systems_are_converted(tmp_path):
    ids, data, out = bs.BitSet([3, 40, 70_000]), tmp_path / "data", tmp_path / "ids.bits"

    def converted(bytes, **how):
        data.write_bytes(bytes)
        bs.convert(data, out, **how)
        return bs.open(out)

    for name in ("doris", "clickhouse-u32", "clickhouse-u64", "iceberg", "delta", "delta-inline", "roaring"):
        assert converted(ids.serialize(name)) == converted(ids.serialize(name), from_format=name) == ids
    assert converted(bs.BitSet([7]).serialize("clickhouse-u64"), width=8) == {7}
    assert converted(b"\x81", from_format="bitmap-lsb") == {0, 7}
    assert converted(b"\x81\x01", from_format="bitmap-msb", base=65_536) == {65_536, 65_543, 65_551}
    ids.write(data, format="spark-bitmap")
    bs.convert(data, out)
    assert bs.open(out) == ids
    assert converted(ids.serialize("iceberg"), from_format="iceberg") == ids
    for bytes, how, what in [
        (b"3\n", {"width": 4}, "states of ClickHouse"),
        (b"3\n", {"base": 0}, "raw bitmaps"),
        (ids.serialize("iceberg"), {"vector": 1}, "several deletion vectors"),
        (ids.serialize("delta"), {"vector": 2}, "no vector 2: .* has 1"),
        (b"\x81", {"from_format": "bitmap-lsb", "base": 7}, "multiple of 65536"),
        (b"3\n", {"from_format": "other"}, "no format of bytes"),
    ]:
        with pytest.raises(ValueError, match=what):
            converted(bytes, **how)
    for damaged in (ids.serialize("iceberg")[:-1], b""):
        with pytest.raises(bs.Error):
            converted(damaged)
    # The head of a roaring bitmap that was cut is a bitmap of Doris.
    assert converted(b"\1\0\0\0\0") == {0}
    for name in ("roaring", "roaring32"):
        with pytest.raises(bs.Error):
            converted(b"\1\0\0\0\0", from_format=name)
    # What is damaged gets no checksums that are right.
    bs.BitSet(range(0, 200_000, 3)).write(data, format="dense")
    bytes = bytearray(data.read_bytes())
    bytes[9000] ^= 1
    with pytest.raises(bs.Error, match="checksum"):
        converted(bytes)
    data.write_bytes(bytes)
    for how in ({}, {"format": "roaring"}, {"parts": 2}):
        with pytest.raises(bs.Error, match="checksum"):
            bs.open(data).write(tmp_path / "copy", **how)
    for copy in (
        lambda ids: ids.serialize("roaring"), bs.pieces, lambda ids: bs.hashed_pieces(ids, 2),
        lambda ids: bs.union([ids]), lambda ids: bs.write_part(tmp_path, 0, [ids]),
    ):
        with pytest.raises(bs.Error, match="checksum"):
            copy(bs.open(data))
    assert not (tmp_path / "copy").exists()
    with pytest.raises(OSError):
        bs.convert(tmp_path / "nothing", out)


def test_a_closed_file_is_shown(tmp_path):
    bs.BitSet([3]).write(tmp_path / "ids.bits")
    with bs.open(tmp_path / "ids.bits") as ids:
        assert "1 values" in repr(ids)
    assert repr(ids) == "<SetFile, closed>"


def test_a_copy_of_a_file_is_the_same_set(tmp_path):
    path = tmp_path / "x.bits"
    bs.BitSet([9, 2**50]).write(path)
    file = bs.open(path)
    bs.BitSet([1]).write(path)
    copies = [copy.copy(file), copy.deepcopy(file)]
    path.unlink()
    assert all(other == {9, 2**50} and type(other) is type(file) for other in copies)
    file.close()
    assert list(copies[0]) == [9, 2**50]


def test_what_is_pickled_is_the_set_and_not_what_lies_at_its_path(tmp_path):
    # As many bytes as the temporary set has.
    text = tmp_path / "ids.txt"
    text.write_text("5\n6\n")
    size = bs.open(text).file_bytes
    text.write_text("100\n5\n" + "6".zfill(size - 7) + "\n")
    opened = bs.open(text, header=True)
    assert text.stat().st_size == opened.file_bytes and list(opened) == [5, 6]
    assert list(pickle.loads(pickle.dumps(opened))) == [5, 6]
    bs.BitSet([1, 2]).write(tmp_path / "cut.bits")
    cut = bs.open(tmp_path / "cut.bits")
    os.truncate(tmp_path / "cut.bits", 0)
    with pytest.raises((bs.Error, OSError)):
        pickle.dumps(cut)


def test_a_pickle_keeps_the_number_of_blank_lines(tmp_path):
    (tmp_path / "ids.txt").write_text("5\n\n3\n")
    ids = bs.open(tmp_path / "ids.txt")
    for again in (ids, copy.copy(ids), pickle.loads(pickle.dumps(ids))):
        assert again.blank == 1 and again == {3, 5}


def test_a_number_of_buckets_may_look_like_a_cookie():
    for count in (12345, 12346, 12347, 12347 + (1 << 16)):
        ids = bs.BitSet([i << 32 | 7 for i in range(count)])
        assert bs.BitSet.deserialize(ids.serialize()) == ids == pickle.loads(pickle.dumps(ids))


def test_a_pickle_leads_to_the_same_file_from_another_folder(tmp_path, monkeypatch):
    for folder, value in [("one", 1), ("two", 2)]:
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        bs.BitSet([value]).write("ids.bits")
        bs.group([(["key"], [value])], "ids.sets")
        bs.Bloom(10, 0.01).save("none.bloom")
        seen = bs.Bloom(10, 0.01)
        seen.add(value)
        seen.save("ids.bloom")
    monkeypatch.chdir(tmp_path / "one")
    opened = bs.open("ids.bits"), bs.open_sets("ids.sets"), bs.Bloom.open("ids.bloom")
    assert str(opened[0].path) == "ids.bits" and str(opened[1].path) == "ids.sets"
    named = bs.open("ids.sets:key")
    monkeypatch.chdir(tmp_path / "two")
    ids, sets, seen = (pickle.loads(pickle.dumps(each)) for each in opened)
    assert list(ids) == [1] and list(sets["key"]) == [1] and 1 in seen and 2 not in seen
    for each in (named, opened[1]["key"]):
        assert list(pickle.loads(pickle.dumps(each))) == [1]


def test_an_empty_set_comes_back_from_text(tmp_path):
    bs.BitSet().write(tmp_path / "none.txt")
    with pytest.raises(bs.Error, match="empty"):
        bs.convert(tmp_path / "none.txt", tmp_path / "none.bits")
    bs.convert(tmp_path / "none.txt", tmp_path / "none.bits", from_format="text")
    assert len(bs.open(tmp_path / "none.bits")) == 0


def test_the_programs_come_with_the_package(tmp_path):
    for name in ("bitsort", "bitset"):
        program = pathlib.Path(sys.executable).parent / name
        if not program.exists():
            pytest.skip("the package is not installed")
        assert program.read_bytes()[:4] in (b"\x7fELF", b"\xcf\xfa\xed\xfe"), "a native program"
        told = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
        assert told.stdout.startswith(f"{name} {bs.__version__}")
    text = write(tmp_path / "ids.txt", "40\n3\n")
    subprocess.run([program, "build", "-o", tmp_path / "ids.bits", text], check=True)
    assert bs.open(tmp_path / "ids.bits") == {3, 40}


def test_threads(tmp_path):
    """Threads that use one set and one filter at once."""
    ids, filter, mistakes = bs.BitSet(), bs.Bloom(100_000, 0.01), []
    bs.BitSet(range(1000)).write(tmp_path / "x.bits")
    file = bs.open(tmp_path / "x.bits")

    def work(start):
        try:
            for value in range(start, start + 2000):
                ids.add(value)
                filter.add(value)
                if value % 100 == 0:
                    assert value in ids and value in filter and len(list(ids)) > 0
                    assert (ids & file).count() <= 1000
                    ids.update(np.arange(start, start + 10))
                    assert filter.contains_many([value]) == [True]
        except BaseException as error:
            mistakes.append(error)

    threads = [threading.Thread(target=work, args=(2000 * n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not mistakes and ids == set(range(16_000))


def test_other_threads_go_on_meanwhile():
    values = np.random.default_rng(1).integers(0, 2**63, 3_000_000)
    done, ticks = threading.Event(), []

    def sort():
        bs.sort(values)
        done.set()

    thread = threading.Thread(target=sort)
    thread.start()
    while not done.is_set():
        ticks.append(time.perf_counter())
        time.sleep(0.001)
    thread.join()
    assert len(ticks) > 1


def test_arrays_that_change_meanwhile_do_no_harm():
    values = np.arange(2_000_000, dtype="uint64")
    stop = threading.Event()

    def change():
        while not stop.is_set():
            values[:] = values[::-1].copy()

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(3):
            ids = bs.BitSet(values)
            assert ids.max() < 2_000_000
            ids.contains_many(values)
            try:
                bs.sort(values)
            except bs.Error:
                pass  # it may tell that its input changed
    finally:
        stop.set()
        thread.join()


def test_importing_takes_little(tmp_path):
    """No other package is imported."""
    code = "import sys, bitsort; print(*sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "pyarrow", "typing", "collections"} & set(told.stdout.split())


@pytest.mark.parametrize(
    ("read", "item"),
    [
        (bs.BitSet, 7),
        (bs.BitSet.from_ranges, (7, 7)),
        (bs.from_spark_rows, (0, b"")),
        (bs.Bloom(10, 0.1).update, b"key"),
    ],
)
def test_other_threads_run_while_an_iterator_of_c_is_read(read, item):
    run, goes_on = 0, True

    def tick():
        nonlocal run
        while goes_on:
            run += 1
            time.sleep(0)

    thread = threading.Thread(target=tick, daemon=True)
    # What cannot be read ends it before any other work lets threads run.
    items = itertools.chain(itertools.repeat(item, 4_000_000), [1.5])
    thread.start()
    try:
        before = run
        with pytest.raises(TypeError):
            read(items)
        assert run - before > 2
    finally:
        goes_on = False
        thread.join()


def test_a_folder_takes_the_answers_of_its_parts(tmp_path):
    with bs.FolderWriter(tmp_path / "ids") as writer:
        rows = [bs.write_part(writer.folder, number, [ids]) for number, ids in enumerate([[3, 40], []])]
        assert rows[1] is None and writer.commit(rows) == 2
    assert list(bs.open(tmp_path / "ids")) == [3, 40]
    with bs.FolderWriter(tmp_path / "more") as writer:
        rows = [bs.write_part(writer.folder, number, [[number]]) for number in range(2)]
        with pytest.raises(bs.Error, match="begin at multiples of 65536"):
            writer.commit(rows)


def test_a_folder_stays_where_it_was_begun(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    bs.BitSet([5]).write("sub/ids", parts=1)
    writer = bs.FolderWriter("ids")
    row = bs.write_part(writer.folder, 0, [[1, 2]])
    monkeypatch.chdir(tmp_path / "sub")
    assert writer.commit([row]) == 2
    assert list(bs.open(tmp_path / "ids")) == [1, 2] and list(bs.open("ids")) == [5]


def test_no_file_hides_a_set_of_a_sets_file(tmp_path):
    path = f"{tmp_path}/k.sets"
    bs.group([(["a", "b"], [1, 2])], path)
    (tmp_path / "link").symlink_to("k.sets:a")
    for write in (
        lambda: bs.BitSet([7]).write(f"{path}:a"),
        lambda: bs.BitSet([7]).write(f"{path}:a", parts=1),
        lambda: bs.FolderWriter(f"{path}:a"),
        lambda: bs.BitSet([7]).write(tmp_path / "link"),
        lambda: bs.BitSet([7]).write(tmp_path / "link", parts=1),
    ):
        with pytest.raises(ValueError, match="is a set of"):
            write()
    assert list(bs.open(f"{path}:a")) == [1] and sorted(os.listdir(tmp_path)) == ["k.sets", "link"]
