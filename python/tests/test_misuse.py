"""No misuse ends the process, and no memory is lost."""

import gc

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bitsort as bs

THINGS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=5),
    st.binary(max_size=5), st.lists(st.integers(-5, 2**65), max_size=5), st.just(slice(None)),
    st.just(range(5)), st.just({1, 2}), st.just(object()), st.just(bs.BitSet([1, 2])),
    st.just(np.arange(3)), st.just(np.zeros(2)), st.just(pa.array([1, None])), st.just(bs.Bloom(5, 0.1)),
    st.just(bs.BitSet), st.just(len),
)
# What writes files where a text says, or fills the memory where a number says so.
NOT_CALLED = {"write", "save", "open", "load", "convert", "explain", "verify", "sort", "guava", "dcso"}
METHODS = sorted(
    {name for kind in (bs.BitSet, bs.FrozenBitSet, bs.Bloom, bs.Array) for name in dir(kind)}
    - set(dir(object)) - NOT_CALLED
)


@settings(max_examples=2000)
@given(st.sampled_from(METHODS), st.lists(THINGS, max_size=3))
def test_wrong_arguments_are_exceptions(method, arguments):
    for thing in (bs.BitSet([3, 40]), bs.FrozenBitSet([3, 40]), bs.Bloom(9, 0.1), bs.BitSet([3]).values()):
        if not hasattr(thing, method):
            continue
        try:
            getattr(thing, method)(*arguments)
        except (TypeError, ValueError, KeyError, IndexError, OverflowError, AttributeError,
                NotImplementedError, BufferError, bs.Error):
            pass


@settings(max_examples=300)
@given(st.sampled_from([bs.BitSet, bs.FrozenBitSet, bs.sort, bs.eval, bs.Bloom]), st.lists(THINGS, max_size=2))
def test_wrong_arguments_of_constructors(make, arguments):
    if make is bs.sort and any(isinstance(thing, str) for thing in arguments):
        return
    try:
        make(*arguments)
    except (TypeError, ValueError, OverflowError, MemoryError, OSError, bs.Error):
        pass


def resident():
    """Bytes of memory of this process."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def test_no_memory_is_lost():
    """A leak of a small array in each round would be 80 MB."""
    array, table = np.arange(1000, dtype="uint32"), pa.array(range(1000))

    def rounds(count):
        for _ in range(count):
            ids = bs.BitSet(array)
            np.asarray(ids.values())
            bs.BitSet(table)
            ids.contains_many(array)
            ids.contains_many(table)
            pa.chunked_array(ids.to_arrow())
            bs.BitSet.deserialize(ids.serialize())
            for bad in (5, [-1]):
                try:
                    bs.BitSet(bad)
                except (TypeError, ValueError):
                    pass
        gc.collect()

    rounds(1000)
    before = resident()
    rounds(10_000)
    assert resident() - before < 20 << 20


def test_what_takes_more_memory_than_there_is_is_an_error():
    few, all_ids = bs.BitSet([1]), range(2**60)
    for call in (
        lambda: bs.BitSet(all_ids), lambda: bs.BitSet(range(0, 2**62, 30000)),
        lambda: few.contains_many(all_ids), lambda: bs.sort(all_ids),
        lambda: few.update(all_ids), lambda: few.add_range(0, 2**60), lambda: few.flip(0, 2**60),
        lambda: few.flip_inplace(0, 2**60), lambda: bs.BitSet.from_ranges([(0, 2**60)]),
    ):
        with pytest.raises((MemoryError, ValueError)):
            call()
    assert few == bs.BitSet([1])


def test_numbers_of_parts_that_no_memory_has_are_refused(tmp_path):
    with pytest.raises(MemoryError):
        bs.hashed_pieces([1], 2**50)
    with pytest.raises((ValueError, bs.Error)):
        bs.eval("0..18446744073709551615")
    with pytest.raises(TypeError):
        bs.Bloom(9, 0.1).add_many(bytearray(b"ab"))


class Number:
    """Stands for an int, and is compared with nothing."""

    def __init__(self, value, failing=0):
        self.value, self.failing = value, failing

    def __index__(self):
        self.failing -= 1
        if self.failing == 0:
            raise KeyboardInterrupt
        return self.value


def test_what_stands_for_an_int_is_one_everywhere():
    ids = bs.BitSet([5])
    assert ids.contains_range(Number(3), Number(3)) and not ids.contains_range(Number(3), Number(6))
    ids.add_range(Number(3), Number(10))
    assert ids == set(range(3, 10)) == bs.BitSet.from_ranges([(Number(3), Number(10))])
    assert ids.flip(Number(3), Number(9)) == {9}
    assert bs.BitSet(range(5, 6, 2**64)) == {5}


def test_an_exception_of_an_object_is_not_hidden():
    for ask in (lambda: bs.BitSet([Number(5, 1)]), lambda: bs.BitSet().add(Number(5, 1))):
        with pytest.raises(KeyboardInterrupt):
            ask()


def test_an_int_of_very_many_digits_is_refused_as_others_are():
    with pytest.raises(ValueError, match="very many digits is not below 2\\^64"):
        bs.BitSet([10**5000])


def test_options_of_files_are_refused_in_plans_too():
    for options in ({"format": "zzz"}, {"from_format": "hex"}):
        with pytest.raises(ValueError):
            bs.explain([1], **options)
    with pytest.raises(TypeError, match="'bytes' object"):
        bs.sort([1], tmp=b"/tmp")


def test_more_ids_than_keys_take_no_memory(tmp_path):
    with pytest.raises(ValueError, match="1 keys, and 1099511627776 ids"):
        bs.group([(["a"], range(2**40))], tmp_path / "g.sets")
    with pytest.raises(TypeError, match="a list of files"):
        bs.keyed_union("k.sets", tmp_path / "out.sets")


def test_wide_sets_are_refused_or_answered_at_once(tmp_path):
    (tmp_path / "wide.txt").write_text("3-9223372036854775807\n")
    path = tmp_path / "wide.bits"
    bs.sort(tmp_path / "wide.txt", path, from_format="text-ranges", format="runs", unique=True)
    with bs.open(path) as wide:
        pieces = bs.pieces(wide)
        assert len(pieces) == 1 and len(bs.open_bytes(pieces[0][1])) == len(wide)
        with pytest.raises(ValueError, match="is not hashed"):
            hash(wide)


def test_names_of_files_have_no_nul_byte():
    for call in (lambda: bs.open("a\0b"), lambda: bs.BitSet([1]).write("a\0b")):
        with pytest.raises(ValueError, match="null byte"):
            call()


def test_what_index_gives_is_an_int():
    class Wrong:
        def __index__(self):
            return "x"

    with pytest.raises(TypeError, match="__index__ returned non-int"):
        bs.BitSet().add(Wrong())
