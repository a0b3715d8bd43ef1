"""Paths of inputs and outputs: links, URIs, folders without files, and writers at the same time."""

import gzip
import os
import shutil
import stat
import threading

import pyarrow as pa
import pytest

import bitsort as bs
import bitsort.spark as bss
from bitsort.spark._source import BitsWriter


def test_dots_behind_a_link_are_the_folder_above_its_end(spark, tmp_path, monkeypatch):
    (tmp_path / "other" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to("other/deep")
    bs.BitSet([1]).write(tmp_path / "set.bits")
    bs.BitSet([2]).write(tmp_path / "other" / "set.bits")
    monkeypatch.chdir(tmp_path)
    for above in ("link/..", str(tmp_path / "link" / "..")):
        path = f"{above}/set.bits"
        rows = spark.createDataFrame([(1,), (2,)], "id bigint")
        assert [row.id for row in rows.where(bss.isin_set("id", path)).collect()] == [2]
        # Readers have the folder in which Spark was begun.
        found = spark.read.format("bits").load(os.path.join(tmp_path, path))
        assert found.collect() == [(2,)]
        assert bss.union(path, out=f"{above}/united").cardinality == 1
        assert bss.build(rows, "id", f"{above}/built").cardinality == 2
        assert bss.sort(rows, "id", f"{above}/sorted").cardinality == 2
        assert bss.group(rows, "id", "id", f"{above}/grouped").sets == 2
        made = sorted(name for name in os.listdir(tmp_path / "other") if name != "deep")
        assert made == ["built", "grouped", "set.bits", "sorted", "united"]
        assert list(bs.open(tmp_path / "other" / "united")) == [2]
        shutil.rmtree(tmp_path / "other" / "sorted")
    assert sorted(os.listdir(tmp_path)) == ["link", "other", "set.bits"]


def test_sort_fills_an_empty_folder_behind_a_link(spark, tmp_path):
    (tmp_path / "empty").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to("empty")
    bss.sort(spark.range(3), "id", str(tmp_path / "link"), parts=1)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "empty" / "part-00000.txt").read_text() == "0\n1\n2\n"
    assert stat.S_IMODE((tmp_path / "empty").stat().st_mode) == 0o700
    assert sorted(os.listdir(tmp_path)) == ["empty", "link"]


def test_what_has_no_files_replaces_no_set(spark, tmp_path):
    out = tmp_path / "set"
    bs.BitSet([1, 2]).write(out, parts=1)
    (tmp_path / "none").mkdir()
    with pytest.raises(FileNotFoundError, match="none has no files"):
        bss.build(str(tmp_path / "none"), None, str(out))
    with pytest.raises(ValueError, match="there are no paths"):
        bss.build([], None, str(out))
    assert list(bs.open(out)) == [1, 2]
    # A result of Spark without rows.
    (tmp_path / "none" / "_SUCCESS").touch()
    assert bss.build(str(tmp_path / "none"), None, str(out)).cardinality == 0


def test_a_pattern_finds_files_and_folders_of_files(spark, tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "ids.txt").write_text(f"{ord(folder)}\n")
        (tmp_path / folder / "_SUCCESS").touch()
    for pattern in ("*", "*/*", "?/ids.txt"):
        assert bss.count_distinct(str(tmp_path / pattern), None, spark=spark) == 2
    with pytest.raises(FileNotFoundError, match="there is no file"):
        bss.count_distinct(str(tmp_path / "a" / "_S*"), None, spark=spark)
    (tmp_path / "link").symlink_to("nowhere")
    for path in ("link", "l*", "*"):
        with pytest.raises(FileNotFoundError, match="link"):
            bss.count_distinct(str(tmp_path / path), None, spark=spark)


def test_wide_ranges_stay_ranges_beside_a_packed_file(spark, tmp_path):
    (tmp_path / "wide.txt").write_text("5-10\n1000-9223372036854775807\n")
    (tmp_path / "wide.txt.gz").write_bytes(gzip.compress(b"9223372036854775808-18446744073709550000\n"))
    out = tmp_path / "set"
    built = bss.build(str(tmp_path / "wide*"), None, str(out), from_format="text-ranges", parts=4)
    assert built.cardinality == 18446744073709550000 - 1000 + 1 + 6
    assert sum(file.stat().st_size for file in out.iterdir()) < 100_000


@pytest.mark.parametrize("out", ["s3://bucket/out", "file:/out", "S3A:/out"])
def test_a_uri_is_no_place_for_a_result(spark, tmp_path, monkeypatch, out):
    monkeypatch.chdir(tmp_path)
    rows = spark.range(3)
    bs.BitSet([1]).write("set.bits")
    for write in (
        lambda: bss.build(rows, "id", out),
        lambda: bss.sort(rows, "id", out),
        lambda: bss.group(rows, "id", "id", out),
        lambda: bss.union("set.bits", out=out),
        lambda: bss.isin_set("id", out),
        lambda: bss.to_bitmap_rows(out),
    ):
        with pytest.raises(ValueError, match="is a URI: give a path"):
            write()
    with pytest.raises(ValueError, match="the path is empty"):
        bss.build(rows, "id", "")
    with pytest.raises(ValueError, match="^partitions is 0"):
        bss.to_bitmap_rows("set.bits", partitions=0)
    with pytest.raises(Exception, match="is a URI: give a path"):
        rows.write.format("bits").mode("overwrite").save(out)
    assert os.listdir() == ["set.bits"]


def test_appends_at_the_same_time_lose_nothing(tmp_path):
    path = str(tmp_path / "set")
    bs.BitSet(range(0, 3_000_000, 3)).write(path, parts=1)
    writers = [BitsWriter(path, False, 1) for _ in range(8)]
    messages = [
        writer.write(iter([pa.RecordBatch.from_arrays([pa.array([3 * number + 1])], ["id"])]))
        for number, writer in enumerate(writers)
    ]
    threads = [
        threading.Thread(target=writer.commit, args=([message],))
        for writer, message in zip(writers, messages)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with bs.open(path) as ids:
        assert ids.count() == 1_000_000 + len(writers)
    assert os.listdir(tmp_path) == ["set"]


def test_what_cannot_be_added_to_is_refused_early(tmp_path):
    path = tmp_path / "set"
    bs.BitSet([1]).write(path, parts=1)
    (path / "note").write_text("mine")
    for overwrite in (False, True):
        with pytest.raises(Exception, match="no part of a set"):
            BitsWriter(str(path), overwrite, 1)
    assert os.listdir(tmp_path) == ["set"]
