"""Fixtures of all tests."""

import hypothesis
import pytest

import bitsort as bs

hypothesis.settings.register_profile("bitsort", deadline=None, derandomize=True)
hypothesis.settings.load_profile("bitsort")


@pytest.fixture(params=["memory", "frozen", "dense", "roaring-bits", "roaring"])
def kind(request):
    """The kinds of sets."""
    return request.param


@pytest.fixture
def make(kind, tmp_path):
    """Makes a set of this kind."""
    made = iter(range(10**9))

    def make(values):
        if kind == "memory":
            return bs.BitSet(values)
        if kind == "frozen":
            return bs.FrozenBitSet(values)
        path = tmp_path / str(next(made))
        bs.BitSet(values).write(path, format=kind)
        return bs.open(path)

    return make
