"""Bloom filters."""

import copy
import pickle

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bitsort as bs

KEYS = st.one_of(st.text(max_size=30), st.binary(max_size=30), st.integers(-(2**63), 2**64 - 1))


@given(st.lists(KEYS, max_size=50), st.sampled_from(["standard", "blocked", "counting"]))
def test_no_key_is_lost(keys, design):
    one, many = (bs.Bloom(1000, 0.01, design=design) for _ in range(2))
    for key in keys:
        one.add(key)
        assert key in one
    many.add_many(keys)
    assert many.contains_many(keys) == one.contains_many(keys) == [True] * len(keys)
    assert one.info() == many.info()


def test_keys_of_arrays_are_those_of_python():
    texts = ["", "fox", "Zürich", "a text of more than twelve bytes", "x" * 5000]
    numbers = [0, 5, 2**32, 2**63]
    model = bs.Bloom(1000, 0.0001)
    model.add_many(texts + numbers)
    for data in (
        pa.array(texts), pa.array(texts, pa.large_string()), pa.array(texts, pa.string_view()),
        pa.array([text.encode() for text in texts]), pl.Series(texts), texts,
        pa.chunked_array([texts[:2], texts[2:]]), pa.array(["?", *texts])[1:],
        np.array(numbers, "uint64"), pa.array(numbers, pa.uint64()), numbers, bs.BitSet(numbers),
    ):
        seen = bs.Bloom(1000, 0.0001)
        assert seen.add_many(data) == len(data)
        assert all(model.contains_many(data)), data
        assert all(bs.Bloom(1000, 0.0001).contains_many(data)) is False
    fixed = pa.array([b"abc", b"xyz"], pa.binary(3))
    seen = bs.Bloom(10, 0.001)
    seen.update(fixed)
    assert b"abc" in seen and "xyz" in seen
    for bad in (pa.array(["a", None]), [None], [1.5], "fox", 5, [2**64]):
        with pytest.raises((TypeError, ValueError)):
            seen.add_many(bad)
    with pytest.raises(TypeError):
        1.5 in seen


def test_an_int_of_any_kind_is_the_same_key():
    seen = bs.Bloom(100, 1e-9)
    assert seen.add(np.int64(-5)) and -5 in seen and seen.contains_many([np.int64(-5), -6])[0]
    assert seen.add(np.int64(7)) and 7 in seen and seen.add(True) and 1 in seen
    for number, what in [(-(2**63) - 1, "is below -2"), (-(2**200), "is below -2"), (2**64, "not below 2")]:
        with pytest.raises(ValueError, match=what):
            seen.add(number)


def test_files_of_every_kind(tmp_path):
    for made, kind in [
        (bs.Bloom(1000, 0.01), "bloom"), (bs.Bloom(1000, 0.01, design="blocked"), "bloom"),
        (bs.Bloom(bits=1 << 12, hashes=3, seed=5), "bloom"),
        (bs.Bloom.guava(1000, 0.01), "guava"), (bs.Bloom.guava(1000, mitz_32=True), "guava"),
        (bs.Bloom.dcso(1000, 0.01), "dcso"),
    ]:
        path = tmp_path / "filter"
        made.add("fox")
        made.save(path)
        bs.verify(path)
        opened = bs.Bloom.open(path)
        assert "fox" in opened and opened.info()["kind"] == kind
        with pytest.raises(ValueError, match="opened"):
            opened.add("dog")
        loaded = bs.Bloom.load(path)
        loaded.add("dog")
        assert "dog" in loaded and "dog" in opened.copy() or "dog" not in opened
    with pytest.raises(ValueError, match="standard"):
        bs.Bloom(10, 0.1, design="blocked").save(tmp_path / "x", kind="guava")
    with pytest.raises(bs.Error):
        bs.Bloom.open(__file__)
    with pytest.raises(FileNotFoundError):
        bs.Bloom.open(tmp_path / "none")


def test_damage_gets_no_checksums_that_are_right(tmp_path):
    path = tmp_path / "seen.bloom"
    seen = bs.Bloom(10_000, 0.01)
    seen.add_many(range(10_000))
    seen.save(path)
    data = bytearray(path.read_bytes())
    data[5000] ^= 1
    path.write_bytes(data)
    opened = bs.Bloom.open(path)
    for copied in (
        lambda: opened.save(tmp_path / "copy"),
        opened.serialize,
        opened.copy,
        lambda: seen.merge(opened),
        lambda: seen.intersect(opened),
    ):
        with pytest.raises(bs.Error, match="checksum"):
            copied()
    assert not (tmp_path / "copy").exists()


def test_filters_are_pickled_and_copied(tmp_path):
    made = [
        bs.Bloom(1000, 0.01), bs.Bloom(1000, 0.01, design="counting"), bs.Bloom.guava(1000),
        bs.Bloom.dcso(1000, 0.01), bs.Bloom.spark(1000, seed=7),
    ]
    for seen in made:
        seen.add("fox")
        read = bs.Bloom.deserialize(bytearray(seen.serialize()))
        assert "fox" in read and read.info()["kind"] == seen.info()["kind"]
        for twin in [pickle.loads(pickle.dumps(seen)), copy.copy(seen), copy.deepcopy(seen)]:
            assert twin.info() == seen.info() and "fox" in twin
            twin.add("dog")
            assert "dog" in twin and "dog" not in seen
    made[0].save(tmp_path / "filter")
    opened = pickle.loads(pickle.dumps(bs.Bloom.open(tmp_path / "filter")))
    assert "fox" in opened
    with pytest.raises(ValueError, match="opened"):
        opened.add("dog")
    assert made[2].serialize() == made[2].serialize("guava") != made[2].serialize("bloom")
    for kind in ["guava", "dcso", "spark"]:
        with pytest.raises(ValueError):
            made[1].serialize(kind)
    with pytest.raises(ValueError):
        made[2].serialize("dcso")
    with pytest.raises(ValueError, match="no kind"):
        made[0].serialize("x")
    for wrong in [b"", b"fox", made[0].serialize()[:-1]]:
        with pytest.raises(bs.Error):
            bs.Bloom.deserialize(wrong)
    with pytest.raises(TypeError):
        bs.Bloom.deserialize("fox")


def test_filters_are_joined():
    a, b = bs.Bloom(100, 0.001), bs.Bloom(100, 0.001)
    a.update(["x", "y"])
    b.update(["y", "z"])
    both = a.copy()
    both.intersect(b)
    a.merge(b)
    assert a.contains_many(["x", "y", "z"]) == [True] * 3 and "y" in both and "x" not in both
    a.merge(a)
    with pytest.raises(ValueError):
        a.merge(bs.Bloom(5, 0.5))
    counting = bs.Bloom(100, 0.01, design="counting")
    counting.add("x")
    assert counting.remove("x") and "x" not in counting and not counting.remove("x")
    with pytest.raises(ValueError, match="never removed"):
        a.remove("x")


def test_impossible_filters_are_refused():
    for wish in ({}, {"keys": 0, "rate": 0.1}, {"keys": 5, "rate": 2}, {"keys": 5, "design": "x"}):
        with pytest.raises(ValueError):
            bs.Bloom(**wish)
    with pytest.raises((MemoryError, ValueError)):
        bs.Bloom(10**18, 1e-9)
