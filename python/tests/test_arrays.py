"""Arrays of numpy and Arrow, and what else has the buffer protocol, in and out."""

import array
import gc
import operator

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bitsort as bs

DTYPES = ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"]
RANDOM = np.random.default_rng(7)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_width_of_numpy_and_arrow(dtype):
    values = RANDOM.integers(0, 100, 5000).astype(dtype)
    expected = set(values.tolist())
    strided = values[::-3]
    assert bs.BitSet(values) == expected and bs.BitSet(strided) == set(strided.tolist())
    column = pa.array(values)
    pieces = pa.chunked_array([column[:10], column[10:10], column[10:]])
    for data in (column, column[7:300], pieces, pl.Series(values), pd.Series(values)):
        assert bs.BitSet.from_arrow(data) == bs.BitSet(data) == set(data.to_numpy().tolist())
    assert bs.BitSet(array.array("H", range(9))) == set(range(9))
    ids = bs.BitSet([5, 50])
    found = ids.contains_many(values)
    assert isinstance(found, np.ndarray) and found.dtype == bool
    assert np.array_equal(found, np.isin(values, [5, 50]))
    assert np.array_equal(ids.contains_many(strided), np.isin(strided, [5, 50]))
    ordered = bs.sort(values)
    assert ordered.dtype == values.dtype and np.array_equal(ordered, np.sort(values))
    assert bs.sort(column).equals(pa.array(np.sort(values)))
    assert bs.sort(pieces).type == column.type
    assert np.array_equal(bs.sort(values, unique=True, reverse=True), np.unique(values)[::-1])


@pytest.mark.parametrize("dtype", ["uint32", "uint64", "int32", "int64"])
def test_many_values(dtype):
    """So many that the engine sorts them in threads."""
    top = 2**31 if dtype.endswith("32") else 2**63
    for values in (
        RANDOM.integers(0, top, 500_000).astype(dtype),
        RANDOM.integers(0, 1 << 20, 500_000).astype(dtype),
        np.arange(500_000).astype(dtype),
        np.full(500_000, top - 1).astype(dtype),
    ):
        ids = bs.BitSet(values)
        unique = np.unique(values)
        assert np.array_equal(np.asarray(ids.values()), unique.astype("uint64"))
        assert np.array_equal(bs.sort(values), np.sort(values))
        probes = np.concatenate([values[:100_000], RANDOM.integers(0, top, 100_000).astype(dtype)])
        assert np.array_equal(ids.contains_many(probes), np.isin(probes, unique))
        if dtype.startswith("int"):
            values[400_000] = -5
            for refused in (bs.BitSet, bs.sort, ids.contains_many):
                with pytest.raises(ValueError, match="index 400000: -5 is negative"):
                    refused(values)


def test_what_is_no_number_is_refused_with_its_place():
    for data, error, place in [
        (np.array([1.0]), TypeError, "index 0: floats"),
        (pa.array([1.0]), TypeError, "index 0: floats"),
        (pa.array([1, None]), ValueError, "index 1: the value is null"),
        (pa.chunked_array([[1, 2], [3, None]]), ValueError, "index 3: the value is null"),
        (pa.chunked_array([[1, 2], [3, -1]]), ValueError, "index 3: -1 is negative"),
        (pl.Series([1, -2]), ValueError, "index 1: -2 is negative"),
        (pa.array(["7"]), TypeError, "index 0: a text"),
        (np.zeros((2, 2), int), ValueError, "2 dimensions"),
        (np.array([1], ">u4"), TypeError, "byte order"),
        (np.array([True]), TypeError, "no integers"),
        (np.array([1, None]), ValueError, "index 1: the value is null"),
        (pa.array([1]).dictionary_encode(), TypeError, "dictionary"),
        (pa.table({"a": [1], "b": [2]}), ValueError, "2 columns: a, b"),
        (pd.array([1, None], dtype="UInt64"), ValueError, "index 1: the value is null"),
    ]:
        for make in (bs.BitSet, bs.sort):
            with pytest.raises(error, match=place):
                make(data)
    with pytest.raises(TypeError, match="__arrow_c_stream__"):
        bs.BitSet.from_arrow([1])
    assert bs.BitSet(pa.array([])) == bs.BitSet(pa.array([], pa.uint8())) == set()
    empty = np.array([])  # its type is float
    assert bs.BitSet(empty) == set() == bs.BitSet([1]) & bs.BitSet(empty)
    assert len(bs.sort(empty)) == len(bs.BitSet([1]).contains_many(empty)) == 0


def test_columns_of_one_name_are_not_chosen_from():
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(ValueError, match="several columns named a"):
        bs.BitSet.from_arrow(twice, "a")


def test_columns_of_tables(tmp_path):
    table = pa.table({"id": [40, 3], "name": ["a", "b"]})
    for data in (table, pl.from_arrow(table), table.to_pandas(), table.to_batches()[0]):
        assert bs.BitSet.from_arrow(data, "id") == {3, 40}
        with pytest.raises(ValueError, match="no column other"):
            bs.BitSet.from_arrow(data, "other")
        found = bs.sort(data, column="id")
        assert list(map(int, found)) == [3, 40] and type(found).__module__.startswith(type(data).__module__[:6])
        assert bs.sort(data, tmp_path / "ids.txt", column="id").written == 2
        assert "strategy" in bs.explain(data, column="id")
        for sort in (bs.sort, bs.explain):
            with pytest.raises(ValueError, match="no column other"):
                sort(data, column="other")
            with pytest.raises(TypeError, match="a text is no natural number"):
                sort(data, column="name")
            with pytest.raises(ValueError, match="column and header are for files"):
                sort(data.column("id") if data is table else [3, 1], column=2)
    assert bs.sort(pa.chunked_array([], pa.uint8())).type == pa.uint8()
    assert bs.BitSet.from_arrow(table.select(["id"]).slice(1)) == {3}
    assert bs.BitSet.from_arrow(duckdb.sql("select range as id from range(10)")) == set(range(10))


def test_the_index_of_a_filtered_frame_is_no_second_column():
    frame = pd.DataFrame({"id": [5, 3, 7]})
    assert bs.BitSet.from_arrow(frame[frame.id > 3]) == {5, 7}
    frame["other"] = 1
    with pytest.raises(ValueError, match="columns: id, other"):
        bs.BitSet.from_arrow(frame[frame.id > 3])


def test_sets_go_out_as_arrow(make):
    values = [*range(0, 300_000, 3), 1 << 24]
    ids = make(values)
    for data in (ids.to_arrow(), ids):
        assert pa.chunked_array(data).to_pylist() == values
        assert pl.Series(data).to_list() == values
    assert pa.table(ids.to_arrow("id")).to_pydict() == {"id": values}
    assert pl.DataFrame(ids.to_arrow("id"))["id"].to_list() == values
    rows = ids.to_arrow("id")
    assert duckdb.sql("select count(*), max(id) from rows").fetchall() == [
        (len(values), 1 << 24)
    ]
    assert pa.chunked_array(make([]).to_arrow()).to_pylist() == []
    assert pa.array(ids.values()).to_pylist() == values


class Wrapped:
    """Arrow data of a library that is not known."""

    def __init__(self, data):
        self.__arrow_c_array__ = data.__arrow_c_array__


def test_answers_are_of_the_kind_of_the_questions(make):
    ids = make([3, 40])
    assert ids.contains_many([3, 4]) == ids.contains_many((3, 4)) == [True, False]
    assert ids.contains_many(range(3, 5)) == ids.contains_many({3}) + [False] == [True, False]
    assert ids.contains_many(bs.BitSet([3, 4])) == [True, False]
    answer = pa.array(ids.contains_many(Wrapped(pa.array([3, None, 4]))))
    assert answer.equals(pa.array([True, None, False]))
    answer = ids.contains_many(pa.array([3, None, 4]))
    assert answer.equals(pa.array([True, None, False]))
    assert ids.contains_many(pa.chunked_array([[3], [None, 4]])).to_pylist() == [True, None, False]
    assert ids.contains_many(pl.Series([3, None])).to_list() == [True, None]
    assert ids.contains_many(pd.Series([3, 4])).tolist() == [True, False]
    frame = pd.DataFrame({"v": ["four", "three"]}, index=[4, 3])
    assert frame[ids.contains_many(frame.index)]["v"].tolist() == ["three"]
    assert ids.contains_many(array.array("Q", [3, 4])).tolist() == [True, False]
    with pytest.raises(ValueError, match="index 1: -3"):
        ids.contains_many([3, -3])


def test_numpy_takes_the_values_of_a_set(tmp_path):
    ids = bs.BitSet([3, 2**63])
    assert np.asarray(ids).dtype == np.uint64 and np.asarray(ids).tolist() == [3, 2**63]
    assert np.isin(np.array([3, 4], np.uint64), ids).tolist() == [True, False]
    ids.write(tmp_path / "ids.bits")
    for other in (bs.FrozenBitSet(ids), bs.open(tmp_path / "ids.bits"), bs.BitSet()):
        assert np.array(other).tolist() == list(other)
    assert np.asarray(bs.BitSet([3, 255]), dtype=np.uint8).tolist() == [3, 255]
    assert np.asarray(ids, dtype=float).tolist() == [3.0, 2.0**63]
    assert np.asarray(bs.BitSet(), dtype=np.int8).dtype == np.int8
    for narrow in (np.int64, np.uint32, np.int8):
        with pytest.raises(OverflowError, match="9223372036854775808 is too large"):
            np.asarray(ids, dtype=narrow)
    with pytest.raises(OverflowError, match="256 is too large"):
        np.asarray(bs.BitSet([1, 256]), dtype=np.uint8)
    with pytest.raises(ValueError, match="copy=False"):
        np.asarray(ids, copy=False)


def test_arrays_share_their_memory():
    ids = bs.BitSet(range(1000))
    values = ids.values()
    view = np.asarray(values)
    assert view.dtype == np.uint64 and np.shares_memory(view, np.asarray(values))
    view[0] = 7
    assert values[0] == 7 and 0 in ids, "the set itself does not change"
    assert pa.array(values)[0].as_py() == 7
    del values
    gc.collect()
    assert view[-1] == 999, "the memory lives as long as somebody reads it"
    with pytest.raises(IndexError):
        ids.values()[1000]
    assert ids.values()[-1] == 999


@pytest.mark.parametrize("kind", [bs.BitSet, bs.FrozenBitSet])
@pytest.mark.parametrize("make", [
    lambda values: np.array(values, dtype="u8"), lambda values: np.array(values, dtype="i8"),
    lambda values: np.uint64(values[0]), pd.Series, pd.Index, pa.array, list,
])
def test_operators_are_for_sets_and_never_go_value_by_value(kind, make):
    ids, other = kind([1, 3, 200]), make([1, 2, 3])
    signs = [operator.and_, operator.or_, operator.xor, operator.sub]
    for sign in [*signs, operator.le, operator.lt, operator.ge, operator.gt]:
        for pair in [(ids, other), (other, ids)]:
            with pytest.raises(TypeError):
                sign(*pair)
    for sign in [operator.iand, operator.ior, operator.ixor, operator.isub]:
        with pytest.raises(TypeError):
            sign(kind([1]), other)
    assert (ids == other) is False and (ids != other) is True
    assert (other == ids) is False and (other != ids) is True
    assert np.isin([3, 4], ids).tolist() == [True, False]


def test_operators_with_a_series_of_polars_are_refused_by_polars():
    ids, other = bs.BitSet([1, 3, 200]), pl.Series([1, 2, 3])
    for sign in [operator.and_, operator.or_, operator.sub, operator.le, operator.eq]:
        for pair in [(ids, other), (other, ids)]:
            with pytest.raises((TypeError, pl.exceptions.PolarsError)):
                sign(*pair)


def test_methods_take_arrays_of_any_kind():
    for make in [np.array, pd.Series, pd.Index, pl.Series, pa.array, list]:
        ids, other = bs.BitSet([1, 3, 200]), make([1, 2, 3])
        assert ids.intersection(other) == {1, 3} and ids.difference(other) == {200}
        assert ids.union(other) == {1, 2, 3, 200} and not ids.issuperset(other)


CODED = [
    lambda texts: pa.array(texts).dictionary_encode(),
    lambda texts: pa.array(texts).cast(pa.dictionary(pa.int64(), pa.large_utf8())),
    lambda texts: pa.chunked_array([pa.array(part).dictionary_encode() for part in (texts[:3], texts[3:])]),
    lambda texts: pa.array(["x", *texts, "y"]).dictionary_encode().slice(1, len(texts)),
    lambda texts: pd.Series(texts, dtype="category"),
    lambda texts: pl.Series(texts, dtype=pl.Categorical),
    lambda texts: pl.Series(texts, dtype=pl.Enum(["cow", "ant", "fox", "a text of more than twelve bytes"])),
]


@pytest.mark.parametrize("make", CODED)
def test_texts_of_a_dictionary_are_keys(make, tmp_path):
    texts = ["fox", "cow", "fox", None, "a text of more than twelve bytes", "cow"]
    plain = [text for text in texts if text is not None]
    seen, other = bs.Bloom(100, 1e-6), bs.Bloom(100, 1e-6)
    seen.add_many(make(plain))
    other.add_many(plain)
    assert seen.serialize() == other.serialize()
    told = seen.contains_many(make(texts))
    told = told.to_pylist() if hasattr(told, "to_pylist") else list(told)
    assert [None if answer is pd.NA else answer for answer in told] == [
        None if text is None else True for text in texts
    ]
    with pytest.raises(ValueError, match="index 3"):
        seen.add_many(make(texts))
    bs.group([(make(plain), range(5))], tmp_path / "coded.sets")
    sets = bs.open_sets(tmp_path / "coded.sets")
    assert {key: set(ids) for key, ids in sets.items()} == {
        b"fox": {0, 2}, b"cow": {1, 4}, b"a text of more than twelve bytes": {3},
    }


def test_keys_of_no_type_are_no_rows_or_nulls(tmp_path):
    path = tmp_path / "x.sets"
    for empty in (pd.Series([], dtype=object), pa.array([]), pl.Series([]), []):
        batches = [(["a"], [1]), (empty, []), (pa.chunked_array([["b"], [], ["a"]]), range(9, 3, -3))]
        assert bs.group([*batches, (empty, [])], path) == (2, 3)
        assert {key: list(ids) for key, ids in bs.open_sets(path).items()} == {b"a": [1, 6], b"b": [9]}
    with pytest.raises(ValueError, match="index 0: the value is null"):
        bs.group([(pa.nulls(2), [1, 2])], path)
    for keys, ids, what in [
        (pa.array(["a", None]), [1, 2], "index 1: the value is null"),
        (["a"] * 5000, [*range(4999), -3], "index 4999: -3 is negative"),
        (["a"], [1, 2], "there are 1 keys, and 2 ids"),
    ]:
        with pytest.raises(ValueError, match=what):
            bs.group([(keys, ids)], path)
    with pytest.raises(TypeError, match="cast numbers to text"):
        bs.group([(pa.array([], pa.int64()), [])], path)


def test_a_dictionary_may_have_nulls_and_unused_texts():
    coded = pa.DictionaryArray.from_arrays(pa.array([2, 1, None, 2], pa.int8()), ["unused", None, "fox"])
    seen = bs.Bloom(10, 1e-6)
    seen.add_many(["fox"])
    assert seen.contains_many(coded).to_pylist() == [True, None, None, True]


def test_an_array_of_times_is_refused():
    with pytest.raises(TypeError, match="times"):
        np.array(bs.BitSet([2**64 - 1]), dtype="M8[s]")


@given(st.lists(st.integers(0, 2**64 - 1), max_size=200))
def test_sort_is_that_of_python(values):
    assert bs.sort(values) == sorted(values)
    assert bs.sort(values, reverse=True) == sorted(values, reverse=True)
    assert bs.sort(values, unique=True) == sorted(set(values))
    again = sorted({value for value in values if values.count(value) > 1})
    assert bs.sort(values, repeated=True) == again
    assert bs.sort(bs.BitSet(values)) == sorted(set(values))


class Broken:
    """Says that it has the Arrow interface."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __arrow_c_stream__(self, requested_schema=None):
        return self.capsule


@given(st.one_of(st.none(), st.integers(), st.text(), st.binary(), st.floats(), st.lists(st.none())))
def test_what_is_no_arrow_data_is_refused(thing):
    with pytest.raises((TypeError, ValueError)):
        bs.BitSet(Broken(thing))


def test_a_stream_is_taken_once():
    capsule = bs.BitSet([3]).__arrow_c_stream__()
    assert bs.BitSet(Broken(capsule)) == {3}
    with pytest.raises(ValueError, match="taken before"):
        bs.BitSet(Broken(capsule))
    with pytest.raises(ValueError):
        bs.BitSet(Broken(pa.array([1]).__arrow_c_array__()[1]))


def test_a_stream_that_breaks_off_is_told():
    def batches():
        yield pa.record_batch({"id": [1]})
        raise RuntimeError("the disk is gone")

    reader = pa.RecordBatchReader.from_batches(pa.schema({"id": pa.int64()}), batches())
    with pytest.raises(RuntimeError, match="the disk is gone"):
        bs.BitSet(reader)


def test_questions_of_a_descending_range_are_answered_in_its_order():
    some, keys = bs.BitSet([1, 4]), bs.Bloom(100, 1e-9)
    keys.add_many([1, 4])
    for asked in (range(5, -1, -1), range(9, 0, -3), range(0, 6), range(5, 5, -1), range(7, 0, -2)):
        expected = [value in (1, 4) for value in asked]
        assert some.contains_many(asked) == expected
        assert keys.contains_many(asked) == expected


def test_ranges_of_more_than_2_to_the_63_numbers_are_taken_or_refused():
    some = bs.BitSet([1, 4, 2**64 - 1])
    for call in (lambda: bs.BitSet(range(2**64)), lambda: some.contains_many(range(2**64))):
        with pytest.raises((ValueError, MemoryError)):
            call()
    assert bs.BitSet(range(2**64 - 1, 2**64 - 40, -13)) == bs.BitSet([2**64 - 1, 2**64 - 14, 2**64 - 27])


def test_answers_for_pandas_have_its_index_and_its_nulls():
    visits = pd.DataFrame({"user": [1, 3, 5, 7], "page": list("abcd")}).sort_values("user", ascending=False)
    known = bs.BitSet([1, 3]).contains_many(visits["user"])
    assert known.index.equals(visits.index)
    assert visits[known]["page"].tolist() == ["b", "a"]
    late = visits[visits.user > 2]
    assert late[bs.BitSet([3]).contains_many(late.user)].user.tolist() == [3]
    asked = pd.Series([1, None, 5], index=[7, 8, 9], dtype="UInt64")
    answers = bs.BitSet([1, 0]).contains_many(asked)
    assert answers.isna().tolist() == [False, True, False]
    assert answers[7] and not answers[9]


def test_a_null_is_answered_with_a_null():
    some, keys = bs.BitSet([0, 1]), bs.Bloom(10, 1e-9)
    keys.add_many([0, 1, "a", ""])
    for asked, expected in (
        (pa.array([1, None, 5], pa.uint64()), [True, None, False]),
        (pa.chunked_array([pa.nulls(2), pa.nulls(9)]), [None] * 11),
        (pa.chunked_array([[0, 0], [None, 9]], pa.int8()), [True, True, None, False]),
    ):
        assert some.contains_many(asked).to_pylist() == expected
        assert keys.contains_many(asked).to_pylist() == expected
    for texts in (pa.array(["a", None, "b"]), pa.array(["a", None, "b"], pa.large_string())):
        assert keys.contains_many(texts).to_pylist() == [True, None, False]
        assert keys.contains_many(pl.Series(texts)).to_list() == [True, None, False]
    named = keys.contains_many(pd.Series(["a", None], index=[7, 8], dtype="string"))
    assert named.isna().tolist() == [False, True] and named[7]
    for call in (bs.BitSet, bs.Bloom(10, 0.1).add_many, bs.sort):
        with pytest.raises(ValueError, match="index 0: the value is null"):
            call(pa.nulls(3))
    with pytest.raises(ValueError, match="index 1: the value is null"):
        keys.add_many(pa.array(["b", None]))
    assert "b" not in keys


class MaskedColumn(np.ma.MaskedArray):
    pass


@pytest.mark.parametrize("kind", [np.ma.MaskedArray, MaskedColumn])
def test_a_masked_array_is_refused(kind):
    masked = np.ma.array([1, 2, 3], mask=[0, 1, 0]).view(kind)
    seen = bs.Bloom(1000, 0.01)
    for call in (
        lambda: bs.BitSet(masked),
        lambda: bs.BitSet([2]).contains_many(masked),
        lambda: seen.add_many(masked),
        lambda: seen.contains_many(masked),
    ):
        with pytest.raises(TypeError, match="masked"):
            call()


def test_what_an_object_raises_is_raised():
    class Broken:
        def __index__(self):
            raise RuntimeError("broken")

    for call in (lambda: bs.BitSet([Broken()]), lambda: bs.BitSet([1]).contains_many([Broken()])):
        with pytest.raises(RuntimeError, match="broken"):
            call()


def test_a_null_of_pandas_is_no_answer():
    ids = bs.BitSet([3])
    for values in [pd.array([3, None, 4], dtype="Int64"), pd.Index([3, None, 4], dtype="Int64")]:
        assert list(ids.contains_many(values)) == [True, pd.NA, False]
    assert list(ids.contains_many(pd.Index([3, 4]))) == [True, False]


def test_a_refused_array_changes_no_filter():
    seen = bs.Bloom(1 << 20, 0.01, design="counting")
    ids = np.arange(200_000)
    ids[150_000] = -1
    for negative in (ids, pd.Index([1, -1]), pd.Series([1, -1]), pd.array([1, -1])):
        with pytest.raises(ValueError, match="-1 is negative"):
            seen.add_many(negative)
    assert 5 not in seen and not seen.contains_many(ids[:1000]).any()


def test_a_filter_is_asked_for_nulls_of_pandas():
    seen = bs.Bloom(100, 0.001)
    seen.update(["a", 1])
    for asked, answers in [
        (pd.Series(["a", None]), [True, None]),
        (pd.Index(["a", None]), [True, None]),
        (pd.array(["a", None]), [True, None]),
        (pd.array([1, None], dtype="Int64"), [True, None]),
        (pd.Index([1, 2]), [True, False]),
    ]:
        found = [None if pd.isna(answer) else bool(answer) for answer in seen.contains_many(asked)]
        assert found == answers, asked


class Column(pd.Series):
    """A Series with a class of its own, as other libraries have."""

    @property
    def _constructor(self):
        return Column


def test_answers_for_a_subclass_of_series_are_by_place():
    ids = bs.BitSet([1, 3])
    for index in ([7, 8, 9], [1, 0, 2], [0, 0, 0]):
        asked = Column([1, None, 5], dtype="Int64", index=index)
        found = ids.contains_many(asked)
        assert list(found.index) == index and found.tolist() == [True, pd.NA, False]
        known = bs.Bloom(10, 0.01).contains_many(asked)
        assert list(known.index) == index and known.isna().tolist() == [False, True, False]
    frame = pd.DataFrame({"id": pd.array([3, None], dtype="Int64")})
    assert list(ids.contains_many(frame)) == [True, pd.NA]


def test_objects_of_polars_are_no_addresses(tmp_path):
    texts = pl.Series(["a", "b"], dtype=pl.Object)
    names = bs.Bloom(10, 0.01)
    assert names.add_many(texts) == 2 and "a" in names and "b" in names
    assert bs.BitSet(pl.Series([3, 2**40], dtype=pl.Object)) == {3, 2**40}
    bs.group([(texts, [1, 2])], tmp_path / "x.sets")
    assert bs.open_sets(tmp_path / "x.sets").keys() == [b"a", b"b"]
    with pytest.raises(TypeError, match="cast it"):
        names.add_many(pl.DataFrame({"a": texts}))


def test_objects_of_pandas_are_taken_as_those_of_a_list():
    top = pd.Series([2**63 + 5, 1], dtype=object)
    assert bs.BitSet(top) == {2**63 + 5, 1}
    assert list(bs.BitSet([1]).contains_many(top)) == [False, True]
    assert bs.Bloom(10, 0.1).add_many(pd.Series(["a", 5], dtype=object)) == 2
    with pytest.raises(TypeError, match="index 1: "):
        bs.BitSet(pd.Series([1, "a"], dtype=object))


def test_a_stream_is_taken_inside_of_a_call():
    ids = bs.BitSet([1, 5])

    class Rows:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.table(ids.to_arrow("id")).__arrow_c_stream__(requested_schema)

    def rows():
        yield from pa.chunked_array(ids.to_arrow()).to_pylist()
        yield from pl.Series(ids.to_arrow())

    for _ in range(20):
        assert bs.BitSet(rows()) == bs.BitSet(Rows()) == ids
        kk = ids.to_arrow("id")  # noqa: F841
        assert bs.BitSet.from_arrow(duckdb.sql("select id from kk where id > 1")) == {5}
    with pytest.raises(ZeroDivisionError):
        bs.sort(range(10), progress=lambda *_: pa.chunked_array(ids.to_arrow()) and 1 // 0)


@pytest.mark.parametrize("values", [range(3_000_000), range(2_999_999, -1, -1)])
def test_progress_of_what_is_in_order_comes_to_its_end(values):
    told = []
    bs.sort(np.array(values), progress=lambda *now: told.append(now))
    assert told[-1][1] == told[-1][2]


def test_integers_that_stand_for_something_else_are_refused():
    months = pd.Series(pd.period_range("1970-01", periods=3, freq="M"))
    money = pa.ExtensionArray.from_storage(pa.opaque(pa.int64(), "money", "x"), pa.array([5]))
    table = pa.table({"id": pa.array([1, 0], pa.bool8())})
    for column in (months, pa.array([1, 0], pa.bool8()), money, pa.chunked_array([money]), table):
        for call in (bs.BitSet, bs.sort, bs.BitSet([1]).contains_many):
            with pytest.raises(TypeError, match="Arrow data of type .* are no integers"):
                call(column)
    kept = pa.field("id", pa.int64(), metadata={"ARROW:extension": "x", "unit": "", "name": "id"})
    assert bs.BitSet(pa.table([pa.array([7])], schema=pa.schema([kept]))) == {7}
    assert bs.BitSet(money.storage) == {5}


def test_columns_of_pandas_without_a_type_of_arrow():
    assert bs.BitSet(pd.Series(pd.arrays.SparseArray([1, 0, 7]))) == {0, 1, 7}
    for column in (pd.Series([1j]), pd.MultiIndex.from_tuples([(1, 2)])):
        with pytest.raises(TypeError, match="natural number|no integers"):
            bs.BitSet(column)
    with pytest.raises(TypeError, match="LazyFrame"):
        bs.BitSet(pl.LazyFrame({"a": [1]}))
