"""Sets by key: made, cut and joined."""

import os
import random

import numpy as np
import pyarrow as pa
import pytest

import bitsort as bs


def model(rows):
    sets = {}
    for key, value in rows:
        sets.setdefault(key, set()).add(value)
    return sets


@pytest.fixture
def rows():
    numbers = random.Random(1)
    keys = ["", "a", "b:c", "né", *(f"key {number}" for number in range(20))]
    return [(numbers.choice(keys), numbers.getrandbits(numbers.choice([8, 30, 64]))) for _ in range(9000)]


def batches(rows, kind):
    for start in range(0, len(rows), 1000):
        keys, ids = zip(*rows[start : start + 1000])
        if kind == "lists":
            yield list(keys), list(ids)
        elif kind == "bytes":
            yield [key.encode() for key in keys], np.array(ids, np.uint64)
        else:
            yield pa.array(keys, kind), pa.chunked_array([pa.array(ids, pa.uint64())])


@pytest.mark.parametrize(
    "kind", ["lists", "bytes", pa.string(), pa.large_string(), pa.string_view(), pa.binary()], ids=str
)
def test_group(rows, tmp_path, kind):
    wanted = model(rows)
    found = bs.group(batches(rows, kind), tmp_path / "tags.sets", mem="256M", threads=2)
    assert found == (len(wanted), sum(map(len, wanted.values())))
    for key, values in wanted.items():
        name = key.replace("\\", "\\\\")
        with bs.open(f"{tmp_path}/tags.sets:{name}") as one:
            assert set(one) == values
    bs.verify(f"{tmp_path}/tags.sets:a")


def test_pieces_join_to_the_file(rows, tmp_path):
    whole = tmp_path / "tags.sets"
    bs.group(batches(rows, "lists"), whole)
    for buckets, most in [(1, 8 << 20), (3, 2000)]:
        pieces = list(bs.keyed_pieces(whole, buckets, most))
        assert {bucket for bucket, _ in pieces} == set(range(buckets))
        random.Random(2).shuffle(pieces)
        bs.keyed_union((data for _, data in pieces), tmp_path / "again.sets")
        assert whole.read_bytes() == (tmp_path / "again.sets").read_bytes()
    bs.keyed_union([whole, os.fspath(whole)], whole)
    assert whole.read_bytes() == (tmp_path / "again.sets").read_bytes()
    assert bs.keyed_union([], tmp_path / "none.sets") == (0, 0)


def test_what_is_refused_leaves_nothing(tmp_path):
    out = tmp_path / "tags.sets"

    def broken():
        yield ["a"], [1]
        raise KeyError("gone")

    for given, error, what in [
        ([(["a", "b"], [1])], ValueError, "2 keys, and 1 ids"),
        ([(["a"], [-1])], ValueError, "negative"),
        ([(["a"], [1 << 64])], ValueError, "2\\*\\*64|64"),
        ([(pa.array(["a", None]), [1, 2])], ValueError, "null"),
        ([(pa.array(["a"]), pa.array([None], pa.int64()))], ValueError, "null"),
        ([(pa.array([1]), [1])], TypeError, "cast numbers to text"),
        ([([1], [1])], TypeError, "str or bytes"),
        ([("a", [1])], TypeError, "one key"),
        (broken(), KeyError, "gone"),
        ([3], TypeError, None),
    ]:
        with pytest.raises(error, match=what):
            bs.group(given, out)
        assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="no buckets"):
        bs.group([(["a"], [1])], out)
        bs.keyed_pieces(out, 0)
    with pytest.raises(bs.Error, match="sets in memory"):
        bs.keyed_union([out.read_bytes()[:-9]], tmp_path / "other.sets")
    assert [file.name for file in tmp_path.iterdir()] == ["tags.sets"]


@pytest.mark.parametrize("new", [pa.ipc.new_file, pa.ipc.new_stream])
@pytest.mark.parametrize(("deltas", "encoded"), [(True, False), (False, True)])
def test_columns_of_arrow_files_in_dictionaries(tmp_path, deltas, encoded, new):
    """The keys are in a dictionary that grows, or the numbers are in one, too; that of a third
    column is passed over."""

    def batch(places, tags, ids):
        keys = pa.DictionaryArray.from_arrays(pa.array(places, pa.int8()), pa.array(tags))
        ids = pa.array(ids, pa.int64())
        columns = [pa.array(["q", "r", "q"]).dictionary_encode(), keys]
        return pa.RecordBatch.from_arrays(
            [*columns, ids.dictionary_encode() if encoded else ids], ["other", "tag", "id"]
        )

    batches = [batch([0, 1, None], ["x", "y"], [1, 2**40, 3])]
    wanted = {b"x": {1}, b"y": {2**40}}
    if deltas:
        batches.append(batch([2, 0, 1], ["x", "y", "z"], [10, None, 30]))
        wanted |= {b"y": {2**40, 30}, b"z": {10}}
    options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=deltas)
    with new(tmp_path / "rows.arrow", batches[0].schema, options=options) as file:
        for some in batches:
            file.write_batch(some)
    bs.group_files([tmp_path / "rows.arrow"], tmp_path / "out.sets", key="tag", column="id")
    sets = bs.open_sets(tmp_path / "out.sets")
    assert {key: set(sets[key]) for key in sets} == wanted


def test_only_the_wanted_dictionary_must_stay(tmp_path):
    """A stream may replace a dictionary between its batches. A file may not, even if its bytes do."""

    def coded(*texts):
        return pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), list(texts))

    def batch(first, last):
        return pa.RecordBatch.from_arrays([first, last, pa.array([1, 2])], ["first", "last", "id"])

    path, out = tmp_path / "rows.arrow", tmp_path / "out.sets"
    batches = [batch(coded("x", "y"), coded("p", "q")), batch(coded("z", "w"), coded("p", "q"))]
    with pa.ipc.new_stream(path, batches[0].schema) as stream:
        for some in batches:
            stream.write_batch(some)
    bs.group_files([path], out, key="last", column="id")
    sets = bs.open_sets(out)
    assert {key: set(sets[key]) for key in sets} == {b"p": {1}, b"q": {2}}
    with pytest.raises(OSError, match="the dictionary of the column is replaced"):
        bs.group_files([path], out, key="first", column="id")

    with pa.ipc.new_file(path, batches[0].schema) as file:
        file.write_batch(batches[0])
    whole, refused = path.read_bytes(), 0
    for place, byte in enumerate(whole):
        if byte == 1:  # one of them is the number of the second dictionary: make it that of the first
            path.write_bytes(whole[:place] + b"\0" + whole[place + 1 :])
            try:
                bs.group_files([path], out, key="first", column="id")
            except (ValueError, OSError, bs.Error) as error:
                refused += "the dictionary of the column is replaced" in str(error)
            else:
                sets = bs.open_sets(out)
                assert b"p" not in sets
                assert b"q" not in sets
    assert refused == 1


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_a_dictionary_takes_half_of_the_memory_for_reading(tmp_path, compression):
    out = tmp_path / "out.sets"
    options = pa.ipc.IpcWriteOptions(compression=compression)

    def group(count):
        tags = pa.array([f"{number:0100}" for number in range(count)])
        keys = pa.DictionaryArray.from_arrays(pa.array(range(count), pa.int32()), tags)
        rows = pa.RecordBatch.from_arrays([keys, pa.array(range(count))], ["tag", "id"])
        with pa.ipc.new_file(tmp_path / "rows.arrow", rows.schema, options=options) as file:
            file.write_batch(rows)
        bs.group_files([tmp_path / "rows.arrow"], out, key="tag", column="id", mem="64M", threads=2)

    with pytest.raises(MemoryError, match="takes [0-9]+ bytes, and [0-9]+ are there for it"):
        group(120_000)
    assert not out.exists()
    group(40_000)
    sets = bs.open_sets(out)
    assert len(sets) == 40_000
    assert set(sets[f"{777:0100}"]) == {777}


def test_a_whole_file_of_sets_is_verified(tmp_path):
    out = tmp_path / "tags.sets"
    bs.group([(["a", "b"], [1, 2**40])], out)
    bs.verify(out)
    cut = bytearray(out.read_bytes())
    cut[len(cut) // 2] ^= 1
    out.write_bytes(cut)
    with pytest.raises(bs.Error, match="tags.sets"):
        bs.verify(out)


@pytest.mark.parametrize("version", [pa.ipc.MetadataVersion.V4, pa.ipc.MetadataVersion.V5])
@pytest.mark.parametrize("new", [pa.ipc.new_file, pa.ipc.new_stream])
def test_messages_may_have_an_older_version_than_the_footer(tmp_path, new, version):
    options = pa.ipc.IpcWriteOptions(metadata_version=version)
    rows = pa.RecordBatch.from_pydict({"tag": ["x", "y"], "id": [1, 2**40]})
    with new(tmp_path / "rows.arrow", rows.schema, options=options) as file:
        file.write_batch(rows)
    bs.group_files([tmp_path / "rows.arrow"], tmp_path / "out.sets", key="tag", column="id")
    sets = bs.open_sets(tmp_path / "out.sets")
    assert {key: set(sets[key]) for key in sets} == {b"x": {1}, b"y": {2**40}}


def test_rows_may_have_addresses_and_ranges(tmp_path):
    rows, out = tmp_path / "rows.csv", tmp_path / "out.sets"
    rows.write_text("tag,ip\noffice,10.0.0.0/30\nhome,10.0.0.1\n")
    assert bs.group_files([rows], out, key="tag", column="ip", from_format="cidr") == (2, 5, 0)
    assert list(bs.open(f"{out}:office")) == [10 << 24 | low for low in range(4)]
    with pytest.raises(ValueError, match="expected one of"):
        bs.group_files([rows], out, key="tag", column="ip", from_format="u32le")


def test_files_of_rows_come_from_any_iterable(tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("tag,id\na,3\nb,5\n")
    out = tmp_path / "out.sets"
    for files in (iter([rows]), {str(rows)}, (rows,)):
        assert bs.group_files(files, out, key="tag", column="id") == (2, 2, 0)
    with pytest.raises(TypeError, match="not one name"):
        bs.group_files(str(rows), out, key="tag", column="id")


def test_ids_of_a_descending_range_keep_their_order(tmp_path):
    keys = ["a", "b", "c"]
    for ids in (range(6, 0, -2), range(4, 7), range(2**64 - 1, 2**64 - 4, -1)):
        bs.group([(keys, ids)], tmp_path / "out.sets")
        sets = bs.open_sets(tmp_path / "out.sets")
        assert [list(sets[key]) for key in keys] == [[id] for id in ids]


@pytest.mark.parametrize("ids", [[1, -1, 3], ["1", "x", "3"]])
def test_a_row_without_a_key_is_dropped_whatever_its_id_is(tmp_path, ids):
    path, out = tmp_path / "rows.arrow", tmp_path / "out.sets"
    rows = pa.table({"key": ["a", None, "a"], "id": ids})
    with pa.ipc.new_file(path, rows.schema) as file:
        file.write_table(rows)
    assert bs.group_files([path], out, key="key", column="id")[:2] == (1, 2)
