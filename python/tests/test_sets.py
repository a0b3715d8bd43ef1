"""Sets of every kind against `set` and pyroaring."""

import copy
import gc
import pickle
import threading
import weakref
from collections.abc import Hashable, MutableSet, Set

import numpy as np
import pyroaring
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bitsort as bs

# Values near each other, far from each other, and at both ends.
VALUES = st.one_of(
    st.integers(0, 300), st.integers(65_000, 66_000), st.integers(0, 2**64 - 1), st.just(2**64 - 1)
)
SETS = st.sets(VALUES, max_size=60)
SPARSE = [0, 3, 40, 65_535, 65_536, 1 << 20]
LEFT_OUT = {"copy_on_write", "raw_pointer", "get_statistics", "shrink_to_fit"}


def test_every_name_of_set_and_of_pyroaring_is_there():
    public = lambda kind: {name for name in dir(kind) if not name.startswith("_")}
    assert public(set) <= public(bs.BitSet)
    assert public(frozenset) <= public(bs.FrozenBitSet)
    assert public(pyroaring.BitMap64) - LEFT_OUT <= public(bs.BitSet)
    assert public(pyroaring.FrozenBitMap64) - LEFT_OUT <= public(bs.FrozenBitSet) | {"run_optimize"}


def test_sets_are_sets():
    assert isinstance(bs.BitSet(), MutableSet) and not isinstance(bs.FrozenBitSet(), MutableSet)
    assert isinstance(bs.FrozenBitSet(), Set) and isinstance(bs.FrozenBitSet(), Hashable)
    with pytest.raises(TypeError):
        hash(bs.BitSet())
    with pytest.raises(TypeError):
        bs.AbstractBitSet()


def test_questions(make):
    model, found = sorted(SPARSE), make(SPARSE)
    theirs = pyroaring.BitMap64(SPARSE)
    assert list(found) == model and list(reversed(found)) == model[::-1]
    assert len(found) == found.count() == len(model) and bool(found) and not make([])
    assert (found.min(), found.max()) == (theirs.min(), theirs.max())
    for value in [0, 1, 3, 4, 65_535, 65_537, 1 << 20, 1 << 40, 2**64 - 1]:
        assert (value in found) == (value in theirs)
        assert found.rank(value) == theirs.rank(value)
        assert found.next(value) == next((v for v in model if v >= value), None)
        assert found.previous(value) == next((v for v in model[::-1] if v <= value), None)
        assert list(found.iter_equal_or_larger(value)) == [v for v in model if v >= value]
    assert found.next_set_bit(41) == theirs.next_set_bit(41)
    with pytest.raises(ValueError):
        found.next_set_bit(2**63)
    assert -1 not in found and 2**64 not in found
    with pytest.raises(TypeError):
        "3" in found
    for empty in (make([]).min, make([]).max):
        with pytest.raises(ValueError):
            empty()


def test_indices_and_slices(make):
    model, found = sorted(SPARSE), make(SPARSE)
    for index in range(-len(model), len(model)):
        assert found[index] == model[index]
    assert [found.select(index) for index in range(len(model))] == model
    for index in (len(model), -len(model) - 1, 2**64):
        with pytest.raises(IndexError):
            found[index]
    ends = [None, -7, -6, -2, 0, 1, 4, 6, 9]
    for start in ends:
        for stop in ends:
            for step in (None, 1, 2, 3, -1, -2):
                expected = set(model[start:stop:step])
                assert found[start:stop:step] == expected, (start, stop, step)


def test_ranges(make):
    found, theirs = make(SPARSE), pyroaring.BitMap64(SPARSE)
    for start, stop in [(0, 4), (3, 3), (4, 2), (3, 1 << 21), (65_535, 65_537), (0, 2**64 - 1)]:
        expected = {value for value in SPARSE if start <= value < stop}
        assert found.range(start, stop) == expected
        assert found.range_len(start, stop) == found.range_cardinality(start, stop) == len(expected)
    assert found.contains_range(65_535, 65_537) and not found.contains_range(3, 5)
    assert found.flip(0, 50) == set(theirs.flip(0, 50))
    assert found.range(2**64, 2**70) == set()
    last = make([2**64 - 2, 2**64 - 1])
    assert last.contains_range(2**64 - 2, 2**64) and last.contains_range(2**64, 2**64)
    assert not last.contains_range(2**64 - 2, 2**64 + 1) and not last.contains_range(2**64, 2**65)
    assert last.range(2**64 - 1, 2**70) == {2**64 - 1}
    changed = bs.BitSet([1])
    for beyond in ((2**64 - 2, 2**64 + 1), (2**64, 2**65), (0, 2**200)):
        for change in (changed.add_range, changed.flip_inplace, changed.flip, found.flip):
            with pytest.raises(ValueError, match="above 2"):
                change(*beyond)
        with pytest.raises(ValueError, match="index 1: .* above 2"):
            bs.BitSet.from_ranges([(1, 2), beyond])
    changed.remove_range(0, 2**200)
    assert changed == set()
    assert make(range(10)).shift(-3) == set(range(7))
    with pytest.raises(ValueError):
        found.range(-1, 5)


def test_values_come_as_arrays(make):
    found = make(SPARSE)
    assert found.values().tolist() == sorted(SPARSE) == list(found.values())
    assert memoryview(found.values()).format == "Q"
    assert found.to_array() == pyroaring.BitMap64(SPARSE).to_array()


@given(SETS, SETS, st.sampled_from(["set", "frozenset", "BitSet", "FrozenBitSet", "list"]))
def test_operators_and_methods_are_those_of_set(a, b, other):
    ours = bs.BitSet(a)
    theirs = {"BitSet": bs.BitSet, "FrozenBitSet": bs.FrozenBitSet}.get(other) or eval(other)
    theirs = theirs(b)
    assert ours.union(theirs) == a | b and ours.intersection(theirs) == a & b
    assert ours.difference(theirs) == a - b and ours.symmetric_difference(theirs) == a ^ b
    assert ours.isdisjoint(theirs) == a.isdisjoint(b) != ours.intersect(theirs)
    assert ours.issubset(theirs) == a.issubset(b) and ours.issuperset(theirs) == a.issuperset(b)
    assert ours.and_len(theirs) == ours.intersection_cardinality(theirs) == len(a & b)
    assert ours.or_len(theirs) == ours.union_cardinality(theirs) == len(a | b)
    assert ours.xor_len(theirs) == ours.symmetric_difference_cardinality(theirs) == len(a ^ b)
    assert ours.andnot_len(theirs) == ours.difference_cardinality(theirs) == len(a - b)
    expected = len(a & b) / len(a | b) if a | b else 1
    assert ours.jaccard(theirs) == ours.jaccard_index(theirs) == expected
    if other == "list":
        for operate in ("__or__", "__and__", "__sub__", "__xor__", "__le__", "__eq__"):
            assert getattr(ours, operate)(theirs) is NotImplemented
        return
    assert ours | theirs == a | b and theirs | ours == a | b
    assert ours & theirs == a & b and theirs & ours == a & b
    assert ours - theirs == a - b and theirs - ours == b - a
    assert ours ^ theirs == a ^ b and theirs ^ ours == a ^ b
    assert (ours == theirs) == (a == b) and (ours != theirs) == (a != b)
    assert (ours <= theirs) == (a <= b) and (ours < theirs) == (a < b)
    assert (ours >= theirs) == (a >= b) and (ours > theirs) == (a > b)
    assert (theirs <= ours) == (b <= a) and (theirs > ours) == (b > a)


@given(SETS, SETS)
def test_assigning_operators(a, b):
    for sign, method in [
        ("|=", "update"), ("&=", "intersection_update"), ("-=", "difference_update"),
        ("^=", "symmetric_difference_update"),
    ]:
        model, ours, named = set(a), bs.BitSet(a), bs.BitSet(a)
        same = ours
        names = {"model": model, "ours": ours, "b": b}
        exec(f"model {sign} b; ours {sign} b", names)
        getattr(named, method)(b)
        assert names["ours"] is same and ours == names["model"] == named


def test_operands_of_files(make):
    a, b = make([1, 2, 3]), make([3, 4])
    assert a | b == {1, 2, 3, 4} and a & b == {3} and a - b == {1, 2} and a ^ b == {1, 2, 4}
    assert {1, 9} - a == {9} and a == {1, 2, 3} and a > {1} and not a < b and a != b
    changed = bs.BitSet([3])
    changed |= a
    changed -= b
    assert changed == {1, 2}
    assert a.union() == a and a.union(b, [7]) == {1, 2, 3, 4, 7}
    assert a != {"x"} and not a == {"x"} and a != 5


@given(st.lists(st.tuples(st.sampled_from("adrpc"), VALUES), max_size=80))
def test_changes_are_those_of_set(steps):
    ours, model = bs.BitSet(), set()
    for step, value in steps:
        match step:
            case "a":
                ours.add(value)
                model.add(value)
            case "d":
                ours.discard(value)
                model.discard(value)
            case "r" if value in model:
                ours.remove(value)
                model.remove(value)
            case "r":
                with pytest.raises(KeyError):
                    ours.remove(value)
            case "p" if model:
                smallest = ours.pop()
                assert smallest == min(model)
                model.remove(smallest)
            case "c" if value % 7 == 0:
                ours.clear()
                model.clear()
        assert len(ours) == len(model)
    assert ours == model and list(ours) == sorted(model)


def test_other_changes():
    ids = bs.BitSet([3])
    ids.add_checked(4)
    with pytest.raises(KeyError):
        ids.add_checked(4)
    ids.add_range(10, 13)
    ids.remove_range(11, 12)
    ids.flip_inplace(0, 5)
    assert ids == {0, 1, 2, 10, 12}
    ids.overwrite({1 << 40})
    assert ids == {1 << 40}
    with pytest.raises(KeyError):
        bs.BitSet().pop()
    ids.discard(-1)
    for bad in (-1, 2**64):
        with pytest.raises(ValueError):
            ids.add(bad)
        with pytest.raises(KeyError):
            ids.remove(bad)
    with pytest.raises(TypeError):
        ids.add(2.0)
    with pytest.raises(TypeError):
        ids |= [1]
    ids = bs.BitSet(reversed(range(5000)))
    assert ids.optimize() in (True, False) and not ids.run_optimize()
    with pytest.raises(ValueError):
        ids.add_range(0, 2**60)


def test_an_update_that_fails_changes_nothing():
    ids = bs.BitSet([1])
    with pytest.raises(ValueError):
        ids.update([2], [3, -1])
    assert ids == {1}


def test_an_iterator_goes_over_the_set_as_it_was():
    ids = bs.BitSet(range(3000))
    seen = []
    for value in ids:
        seen.append(value)
        ids.discard(value + 1)
        ids.add(value + 10_000)
    assert seen == list(range(3000))


def test_frozen_sets_have_the_hash_of_frozenset(make):
    for values in ([], [0], [2**61 - 1, 2**61, 2**64 - 1], range(1000), SPARSE):
        assert hash(bs.FrozenBitSet(values)) == hash(frozenset(values))
    found = make(SPARSE)
    if not isinstance(found, bs.BitSet):
        assert hash(found) == hash(frozenset(SPARSE)) and {found: 1}[frozenset(SPARSE)] == 1


def test_copies_and_pickles(make):
    found = make(SPARSE)
    again = pickle.loads(pickle.dumps(found))
    assert again == found and type(again) is type(found)
    if not isinstance(found, bs.SetFile):
        for copied in (copy.copy(found), copy.deepcopy(found), found.copy()):
            assert copied == found and type(copied) is type(found)
            if isinstance(found, bs.BitSet):
                copied.add(5)
                assert 5 not in found
    changed = found.to_bitset()
    changed.add(5)
    assert 5 not in found and found.frozen() == found


def test_bytes_are_those_of_pyroaring(make):
    found = make(SPARSE)
    assert set(pyroaring.BitMap64.deserialize(found.serialize())) == set(SPARSE)
    assert set(pyroaring.BitMap.deserialize(found.serialize("roaring32"))) == set(SPARSE)
    assert set(pyroaring.BitMap.deserialize(make([]).serialize("roaring32"))) == set()
    for theirs in (pyroaring.BitMap64(SPARSE), pyroaring.BitMap(SPARSE)):
        assert bs.BitSet.deserialize(theirs.serialize()) == set(SPARSE)
    with pytest.raises(bs.Error) as told:
        bs.BitSet([1 << 32]).serialize("roaring32")
    assert (told.value.kind, told.value.value) == ("ValueTooLarge", 1 << 32)
    with pytest.raises(ValueError):
        bs.BitSet.deserialize(b"nonsense")
    with pytest.raises(ValueError):
        found.serialize("parquet")


@given(SETS)
def test_round_trips(values):
    ours = bs.BitSet(values)
    assert bs.BitSet.deserialize(ours.serialize()) == values
    assert set(pyroaring.BitMap64.deserialize(ours.serialize())) == values


@given(st.binary(max_size=200))
def test_any_bytes_are_a_set_or_refused(data):
    try:
        ours = bs.BitSet.deserialize(data)
    except ValueError:
        return
    assert bs.BitSet.deserialize(ours.serialize()) == ours


def test_made_of_ranges():
    assert bs.BitSet.from_ranges([(3, 5), (5, 6), (9, 9)]) == {3, 4, 5}
    assert bs.BitSet(range(10, 0, -3)) == {10, 7, 4, 1} and bs.BitSet(range(0)) == set()
    assert bs.BitSet(range(2**64 - 3, 2**64)) == {2**64 - 3, 2**64 - 2, 2**64 - 1}
    assert bs.BitSet(range(5, 200_000, 7)) == set(range(5, 200_000, 7))
    assert len(bs.FrozenBitSet.from_ranges([(0, 10**9)])) == 10**9
    for bad in ([(3,)], [5], [(1, 2, 3)]):
        with pytest.raises(TypeError, match="index 0"):
            bs.BitSet.from_ranges(bad)
    with pytest.raises(ValueError):
        bs.BitSet.from_ranges([(-3, 5)])
    with pytest.raises(ValueError):
        bs.BitSet(range(-3, 5))


def test_refused_values_are_told_with_their_place():
    for values, error, place in [
        ([1, -1], ValueError, "index 1: -1 is negative"),
        ([1, 2, 2**64], ValueError, "index 2: 18446744073709551616 is not below 2"),
        ([1, 2.5], TypeError, "index 1: 2.5"),
        ([None], ValueError, "index 0: the value is null"),
        (["7"], TypeError, "index 0: '7'"),
        ([1, []], TypeError, "index 1: list"),
    ]:
        with pytest.raises(error, match=place):
            bs.BitSet(values)
    with pytest.raises(TypeError):
        bs.BitSet(5)


def test_expressions():
    a, b = bs.BitSet([1, 2, 3]), {3, 4}
    assert bs.eval("(a | b) - 2..3", a=a, b=b) == {1, 4}
    assert bs.at_least(2, [a, b, [1]]) == {1, 3}
    for wrong in ("a &", "a & c", "(a"):
        with pytest.raises(ValueError):
            bs.eval(wrong, a=a)


def test_shown():
    assert repr(bs.BitSet([40, 3])) == "BitSet([3, 40])"
    assert repr(bs.FrozenBitSet()) == "FrozenBitSet([])"
    assert repr(bs.BitSet(range(100))) == "<BitSet of 100 values: 0, 1, 2, …, 99>"
    assert "<td>100</td>" in bs.BitSet(range(100))._repr_html_()
    assert bs.BitSet.from_ranges([[1, 3], (7, 9)]) == {1, 2, 7, 8}
    assert bs.BitSet.from_ranges(np.array([[1, 3], [7, 9]])) == {1, 2, 7, 8}
    for wrong in ([1, 2, 3], b"12", "12", range(10**10), range(1, 3), bs.BitSet([1, 3]), None, 5):
        with pytest.raises(TypeError, match="index 0: a range is a pair"):
            bs.BitSet.from_ranges([wrong])
    plot = bs.BitSet(range(100)).plot(title="a <b>")
    assert plot._repr_png_().startswith(b"\x89PNG") and plot.svg().startswith("<svg")
    with pytest.raises(ValueError):
        bs.BitSet().plot(order=99)


class Ids(bs.BitSet):
    """A subclass of a user."""


class Owner:
    pass


class Slotted(bs.BitSet):
    __slots__ = ("name", "__dict__")


def test_subclasses():
    ids = Ids([1, 2])
    ids.name = "mine"
    assert isinstance(ids, bs.BitSet) and ids | {3} == {1, 2, 3}
    others = [ids.copy(), copy.copy(ids), pickle.loads(pickle.dumps(ids)), Ids.from_ranges([(1, 3)])]
    assert all(type(other) is Ids and other == ids for other in others)
    ids.name = ["mine"]
    assert copy.copy(ids).name is ids.name and pickle.loads(pickle.dumps(ids)).name == ["mine"]
    assert copy.deepcopy(ids).name == ["mine"] and copy.deepcopy(ids).name is not ids.name
    ids.name = Owner()
    ids.name.ids = ids
    for twin in (copy.deepcopy(ids), pickle.loads(pickle.dumps(ids))):
        assert twin == ids and twin.name.ids is twin and twin is not ids
    slotted = Slotted([3])
    slotted.name, slotted.other = ["mine"], 7
    for twin in (copy.copy(slotted), copy.deepcopy(slotted), pickle.loads(pickle.dumps(slotted))):
        assert (twin, twin.name, twin.other) == (slotted, ["mine"], 7)
    frozen = Frozen([1, 2])
    frozen.name = ["mine"]
    for other in (copy.deepcopy(frozen), pickle.loads(pickle.dumps(frozen))):
        assert type(other) is Frozen and other == frozen and other.name == ["mine"]
        assert other.name is not frozen.name


def test_a_copy_of_a_frozen_set_of_a_subclass_has_attributes_of_its_own():
    frozen = Frozen([1, 2])
    frozen.name = "mine"
    other = copy.copy(frozen)
    other.name = "other"
    assert (type(other), other, frozen.name) == (Frozen, frozen, "mine")
    assert frozen.copy() == frozen and not hasattr(frozen.copy(), "name")
    plain = bs.FrozenBitSet([1])
    assert copy.copy(plain) is copy.deepcopy(plain) is plain.copy() is plain


@pytest.mark.parametrize("base", [bs.BitSet, bs.FrozenBitSet])
def test_a_subclass_with_other_arguments_is_copied(base):
    class Named(base):
        def __new__(cls, values, name):
            ids = super().__new__(cls, values)
            ids.name = name
            return ids

        def __init__(self, values, name):
            pass

    ids = Named([1, 2], "mine")
    for other in (ids.copy(), copy.copy(ids), copy.deepcopy(ids)):
        assert type(other) is Named and other == ids and other is not ids
    assert copy.copy(ids).name == copy.deepcopy(ids).name == "mine"


def test_a_set_that_has_its_own_values_as_an_attribute_is_collected():
    ids = Frozen([1, 2])
    ids.values_of_it = ids.to_arrow()
    gone = weakref.ref(ids)
    del ids
    gc.collect()
    assert gone() is None


class Frozen(bs.FrozenBitSet):
    """Another one."""


class Three:
    """What stands for an int."""

    def __index__(self):
        return 3


def test_whatever_stands_for_an_int_is_taken(make):
    ids = make([0, 1, 2, 3, 40])
    assert ids[Three()] == ids.select(Three()) == 3 and Three() in ids
    assert ids.shift(Three()) == {3, 4, 5, 6, 43}
    assert bs.BitSet([Three()]) == {3}
    assert ids.shift(2**200) == ids.shift(-(2**200)) == set()
    for far in (2**200, -(2**200)):
        with pytest.raises(IndexError):
            ids[far]
    for wrong in (lambda: ids[1.5], lambda: ids.shift(1.5), lambda: ids.shift("1")):
        with pytest.raises(TypeError):
            wrong()


def test_arguments_that_are_no_natural_numbers_are_value_errors(tmp_path):
    ids = bs.BitSet([3])
    for number, what in [(-1, "-1 is negative"), (2**70, "not below 2")]:
        for call in (
            lambda: bs.at_least(number, [ids]),
            lambda: bs.sort([1], threads=number),
            lambda: bs.sort([1], mem=number),
            lambda: bs.sort([1], column=number),
            lambda: ids.write(tmp_path / "ids", parts=number),
            lambda: ids.plot(order=number),
            lambda: bs.Bloom(number),
            lambda: bs.Bloom(1, 0.1, seed=number),
            lambda: bs.Bloom.guava(number),
            lambda: bs.gather([1], threads=number),
            lambda: bs.group([(["a"], [1])], tmp_path / "a.sets", threads=number),
            lambda: bs.convert("nothing", "nothing", base=number),
        ):
            with pytest.raises(ValueError, match=what):
                call()
    with pytest.raises(ValueError, match="too large"):
        ids.plot(order=2**40)
    for far in (-1, 2**70, -(2**70)):
        with pytest.raises(IndexError):
            ids.select(far)
    for far in (2**70, -(2**70)):
        with pytest.raises(IndexError):
            ids.values()[far]
        for call in (
            lambda: bs.pieces(ids, [far]),
            lambda: bs.open("nothing", split=(far, 2)),
            lambda: bs.Bloom.spark(10, 0.1, seed=far),
            lambda: bs.from_spark_rows([(far, b"")]),
        ):
            with pytest.raises(ValueError):
                call()
    with pytest.raises(ValueError, match="index 1: -5 is negative"):
        bs.BitSet.from_ranges([(1, 2), (-5, 3)])


def test_formats_of_other_systems_come_back(make):
    found = make(SPARSE)
    for format in ("clickhouse-u32", "clickhouse-u64", "doris", "iceberg", "delta", "delta-inline"):
        data = found.serialize(format)
        assert bs.BitSet.deserialize(data, format) == set(SPARSE), format
        with pytest.raises(bs.Error):
            bs.BitSet.deserialize(data[:-5], format)
    assert bs.BitSet([7]).serialize("doris") == b"\x01\x07\0\0\0"
    with pytest.raises(bs.Error, match="4294967296 does not fit in clickhouse-u32"):
        bs.BitSet([1 << 32]).serialize("clickhouse-u32")
    with pytest.raises(ValueError, match="clickhouse-u32, clickhouse-u64"):
        found.serialize("parquet")


def test_rows_of_spark_come_back(make):
    rows = bs.spark_rows(make(SPARSE))
    assert bs.from_spark_rows(reversed(rows)) == set(SPARSE)
    assert bs.from_spark_rows([]) == set()
    with pytest.raises(ValueError, match="-1"):
        bs.from_spark_rows([(0, b"\x02")])
    with pytest.raises(TypeError):
        bs.from_spark_rows([(0, "text")])
    with pytest.raises(bs.Error):
        bs.spark_rows([1 << 63])


class Broken(set):
    """A set whose values cannot be read."""

    def __init__(self, values, error):
        super().__init__(values)
        self.error = error

    def __iter__(self):
        raise self.error


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, RuntimeError, OSError])
def test_a_comparison_does_not_hide_errors_of_the_other_set(error):
    for compare in [lambda a, b: a == b, lambda a, b: a != b, lambda a, b: b == a]:
        with pytest.raises(error):
            compare(bs.BitSet([1, 2]), Broken([1, 2], error()))
    assert bs.BitSet([1]) != {"a"} and bs.BitSet([1]) != {-1} and bs.BitSet([1]) != {2**70}


@pytest.mark.parametrize("name", ["update", "difference_update", "symmetric_difference_update"])
def test_no_value_is_lost_that_comes_while_a_file_is_joined(tmp_path, name):
    bs.BitSet(range(0, 1_000_000, 3)).write(tmp_path / "f.bits")
    file = bs.open(tmp_path / "f.bits")
    mine, added = bs.BitSet(range(0, 10**6, 2)), []
    joining = threading.Thread(target=lambda: [getattr(mine, name)(file) for _ in range(5)])
    joining.start()
    while joining.is_alive() or len(added) < 100:
        added.append(10**9 + len(added))
        mine.add(added[-1])
    joining.join()
    assert all(value in mine for value in added)
    with_file = {"update": True, "difference_update": False, "symmetric_difference_update": True}
    assert (3 in mine) is with_file[name]


def test_a_comparison_with_a_closed_file_is_an_error(tmp_path):
    bs.BitSet([1]).write(tmp_path / "one.bits")
    closed = bs.open(tmp_path / "one.bits")
    closed.close()
    for compare in [lambda: bs.BitSet([1]) == closed, lambda: bs.BitSet([1]) != closed]:
        with pytest.raises(ValueError, match="closed"):
            compare()


def test_ranges_of_huge_ends():
    far, farther = 2**200, 2**201
    for ids in (bs.BitSet(), bs.FrozenBitSet([3])):
        assert ids.contains_range(farther, far) and not ids.contains_range(far, farther)
    with pytest.raises(ValueError, match="above 2\\^64"):
        bs.BitSet().add_range(far, farther)
