"""The examples of docs/scaleout.md that run in one process."""

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bitsort as bs

TEXT = (Path(__file__).parents[3] / "docs/scaleout.md").read_text()
EXAMPLES = re.findall(r"^### (\w+)\n(?:(?!#)[^\n]*\n)*?```python\n(.*?)^```", TEXT, re.S | re.M)


@pytest.mark.parametrize("name, code", EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_example(name, code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ids = [value * 7919 for value in range(700_000)]
    Path("ids.txt").write_text("".join(f"{value}\n" for value in reversed(ids)))
    pq.write_table(pa.table({"id": ids}), "ids.parquet")
    exec(compile(code, "docs/scaleout.md", "exec"), {"__name__": "example"})
    with bs.open("ids") as found:
        found.verify()
        assert bs.pieces(found) == bs.pieces(ids)


def test_examples_are_there():
    assert [name for name, _ in EXAMPLES] == ["Dask", "Polars"]
