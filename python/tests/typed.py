"""Code that a type checker must understand; mypy reads it, nobody runs it."""

from pathlib import Path
from typing import assert_type

import numpy as np

import bitsort as bs

ids = bs.BitSet([3, 40])
assert_type(ids | {1}, bs.BitSet)
assert_type(ids[0], int)
assert_type(ids[0:2], bs.BitSet)
assert_type(bs.FrozenBitSet([1]) | {2}, bs.FrozenBitSet)
assert_type(bs.FrozenBitSet([1])[0:1], bs.FrozenBitSet)
assert_type([value for value in ids], list[int])
ids |= bs.FrozenBitSet(range(5))
ids.update(np.array([1]), [2], range(3))
with bs.open(Path("ids.bits"), column="id", mem="1G") as file:
    assert_type(file.rank(5), int)
    assert_type(file & ids, bs.BitSet)
assert_type(bs.sort("a.txt", "b.txt", unique=True), bs.Report)
assert_type(bs.eval("a | b", a=ids, b=[1]), bs.BitSet)
assert_type(bs.Bloom(100, 0.01).add("fox"), bool)
np.asarray(ids.values())
memoryview(ids.values())
