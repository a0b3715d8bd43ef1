"""Files of many sets."""

import copy
import pickle
import subprocess
import sysconfig
from collections.abc import Mapping
from pathlib import Path

import pytest

import bitsort as bs


@pytest.fixture
def sets(tmp_path):
    rows, path = tmp_path / "rows.csv", tmp_path / "tags.sets"
    rows.write_text("tag,id\nsport,7\ntokyo,7\nsport,35\ntokyo,40\n木,1\n")
    bitset = Path(sysconfig.get_path("scripts"), "bitset")
    subprocess.run([bitset, "group", rows, "--key", "tag", "--column", "id", "-o", path], check=True)
    return bs.open_sets(path)


def test_a_file_of_sets_is_a_mapping(sets):
    assert len(sets) == 3
    assert list(sets) == sets.keys() == [b"sport", b"tokyo", "木".encode()]
    assert sets["sport"] == {7, 35} and sets[b"tokyo"] & sets["sport"] == {7}
    assert sets["木"] == {1}
    assert "sport" in sets and b"tokyo" in sets and "chess" not in sets
    assert sets.get("tokyo") == {7, 40}
    assert sets.get("chess") is None and sets.get("chess", set()) == set()
    assert sets.cardinality("sport") == 2
    assert dict(sets).keys() == set(sets.keys())
    assert Path(sets.path).name == "tags.sets"
    assert sets.file_bytes == Path(sets.path).stat().st_size
    assert "3 sets" in repr(sets)
    assert isinstance(sets, Mapping) and [len(ids) for ids in sets.values()] == [2, 2, 1]
    assert {key: set(ids) for key, ids in sets.items()}[b"sport"] == {7, 35}
    assert sets == bs.open_sets(sets.path) == dict(sets) and sets != {} and sets != 7
    assert sets == {b"sport": {7, 35}, b"tokyo": {7, 40}, "木".encode(): {1}}
    assert sets != {b"sport": {7, 35}, b"tokyo": {7, 40}, "木".encode(): {2}}
    sets.verify()
    assert pickle.loads(pickle.dumps(sets))["sport"] == {7, 35}


def test_copies_have_the_sets_of_their_file_after_it_is_replaced(sets, tmp_path):
    path = tmp_path / "mine.sets"
    path.write_bytes(Path(sets.path).read_bytes())
    mine = bs.open_sets(path)
    path.unlink()
    bs.group([(["other"], [1])], path)
    for same in [copy.copy(mine), copy.deepcopy(mine)]:
        assert same.keys() == sets.keys() and same["sport"] == {7, 35}


def test_a_missing_key_is_an_error(sets):
    for ask in (sets.__getitem__, sets.cardinality):
        with pytest.raises(KeyError, match="chess"):
            ask("chess")
    with pytest.raises(TypeError):
        sets[7]


def test_a_damaged_file_is_refused(sets, tmp_path):
    damaged = tmp_path / "damaged.sets"
    damaged.write_bytes(Path(sets.path).read_bytes()[:-5])
    with pytest.raises(bs.Error):
        bs.open_sets(damaged)
    damaged.write_bytes(b"")
    with pytest.raises(bs.Error):
        bs.open_sets(damaged)
    with pytest.raises(FileNotFoundError):
        bs.open_sets(tmp_path / "missing.sets")
