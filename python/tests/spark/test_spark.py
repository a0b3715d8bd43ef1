"""Every function against the same on one machine."""

import gzip
import os
import random
import subprocess
import sys
from collections import Counter
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

import bitsort as bs
import bitsort.spark as bss

numbers = random.Random(1)
IDS = [numbers.randrange(1 << bits) for bits in (20, 33, 62) for _ in range(4000)]
IDS += range(1 << 25, (1 << 25) + 150_000)


@pytest.fixture(scope="module")
def frame(spark):
    rows = [(value,) for value in IDS + IDS[:500]] + [(None,)] * 7
    random.Random(2).shuffle(rows)
    return spark.createDataFrame(rows, "id bigint").repartition(3)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    for number in range(3):
        lines = [f"{value}\n" for value in IDS[number::2]]
        (folder / f"ids-{number}.txt").write_text("".join(lines))
    return folder


def made(folder):
    """A set as the bytes that one machine writes of it."""
    with bs.open(folder) as found:
        found.verify()
        return bs.pieces(found)


def expected(values):
    return bs.pieces(bs.BitSet(values))


def left(folder):
    return [name for name in os.listdir(folder) if name.startswith(".")]


@pytest.mark.parametrize("parts", [None, 1, 5])
def test_build_of_a_frame(frame, tmp_path, parts):
    result = bss.build(frame, "id", str(tmp_path / "out"), parts=parts)
    assert (result.cardinality, result.nulls) == (len(set(IDS)), 7)
    assert parts is None or result.parts <= parts
    assert made(tmp_path / "out") == expected(IDS)
    assert not left(tmp_path)


def test_build_of_text_in_splits(spark, text, tmp_path, monkeypatch):
    monkeypatch.setattr("bitsort.spark._job._LEAST_SPLIT", 10_000)
    monkeypatch.setattr("bitsort.spark._job._MOST_SPLIT", 300_000)
    result = bss.build(text, None, str(tmp_path / "out"), spark=spark)
    assert result.cardinality == len(set(IDS)) and result.parts > 1
    assert made(tmp_path / "out") == expected(IDS)
    # Byte for byte the parts that one machine writes of these windows.
    with bs.open(tmp_path / "out") as whole:
        for part in sorted((tmp_path / "out").glob("part-*.bits")):
            with bs.open(part) as ids:
                window = whole.range(ids.min(), ids.max() + 1)
            window.write(tmp_path / "window.bits")
            assert (tmp_path / "window.bits").read_bytes() == part.read_bytes()


def test_files_that_are_read_whole(spark, tmp_path):
    (tmp_path / "a.csv").write_text("name,id\nx,5\ny,70000\n")
    bss.build(tmp_path / "a.csv", "id", str(tmp_path / "out"))
    assert list(bs.open(tmp_path / "out")) == [5, 70000]


#: Ids of all sizes, and rows without one.
SPARSE = [None if number % 7 == 3 else IDS[number] for number in range(9000)]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The same rows in files of many formats."""
    folder = tmp_path_factory.mktemp("formats")
    texts = ["" if value is None else str(value) for value in SPARSE]
    (folder / "lines.txt").write_text("".join(text + "\n" for text in texts))
    with gzip.open(folder / "lines.txt.gz", "wt") as file:
        file.write("".join(text + "\r\n" for text in texts))
    rows = "".join(f"x,{text}\n" for text in texts)
    (folder / "rows.csv").write_text("name,id\n" + rows)
    for kind in ("int64", "uint64"):
        table = pa.table({"id": pa.array(SPARSE, kind)})
        pq.write_table(table, folder / f"{kind}.parquet", row_group_size=1000)
        feather.write_feather(table, folder / f"{kind}.arrow", chunksize=1000)
    return folder


def test_files_count_the_rows_without_an_id_as_rows_do(spark, files, tmp_path, monkeypatch):
    monkeypatch.setattr("bitsort.spark._job._LEAST_SPLIT", 10_000)
    monkeypatch.setattr("bitsort.spark._job._MOST_SPLIT", 30_000)
    rows = spark.createDataFrame([(value,) for value in SPARSE], "id bigint")
    of_rows = bss.build(rows, "id", str(tmp_path / "rows"), parts=3)
    wanted = made(tmp_path / "rows")
    assert of_rows.nulls == SPARSE.count(None) > 1000
    bss.sort(rows, "id", str(tmp_path / "values"), parts=3)
    values = text_of(tmp_path / "values")
    for file in files.iterdir():
        column = None if file.name.startswith("lines") else "id"
        found = bss.build(file, column, str(tmp_path / "out"), parts=3)
        assert (found.cardinality, found.nulls) == (of_rows.cardinality, of_rows.nulls), file.name
        assert made(tmp_path / "out") == wanted, file.name
        told = bss.sort(file, column, str(tmp_path / file.name), parts=3)
        assert (told.cardinality, told.nulls) == (of_rows.cardinality, of_rows.nulls), file.name
        assert text_of(tmp_path / file.name) == values, file.name
        assert bss.count_distinct(file, column) == of_rows.cardinality, file.name
        assert bss.distinct(file, column).count() == of_rows.cardinality, file.name


def text_of(folder):
    return b"".join(file.read_bytes() for file in sorted(folder.glob("part-*")))


@pytest.mark.parametrize("value", [-4, 1 << 64])
def test_files_refuse_what_is_no_id_as_rows_do(spark, tmp_path, value):
    if value < 0:
        numbers = pa.table({"id": pa.array([3, None, value], pa.int64())})
        pq.write_table(numbers, tmp_path / "a.parquet")
        feather.write_feather(numbers, tmp_path / "a.arrow")
    (tmp_path / "a.csv").write_text(f"id\n3\n\n{value}\n")
    (tmp_path / "a.txt").write_text(f"3\n\n{value}\n")
    rows = spark.createDataFrame([(Decimal(3),), (None,), (Decimal(value),)], "id decimal(20,0)")
    for source in [rows, *sorted(tmp_path.iterdir())]:
        column = None if str(source).endswith("txt") else "id"
        for ask in (
            lambda: bss.build(source, column, str(tmp_path / "out")),
            lambda: bss.count_distinct(source, column),
        ):
            with pytest.raises(Exception, match=str(value)):
                ask()
    assert not (tmp_path / "out").exists() and not left(tmp_path)


def test_an_empty_input_is_an_empty_set(spark, tmp_path):
    empty = spark.createDataFrame([], "id bigint")
    result = bss.build(empty, "id", str(tmp_path / "out"))
    assert (result.cardinality, result.parts) == (0, 0)
    assert bs.open(tmp_path / "out").count() == 0
    assert bss.count_distinct(empty, "id") == 0 and bss.distinct(empty, "id").count() == 0


def test_count_and_distinct(frame, text):
    assert bss.count_distinct(frame, "id") == len(set(IDS))
    assert bss.count_distinct([text / "ids-0.txt", text / "ids-1.txt"], None) == len(set(IDS))
    found = bss.distinct(frame, "id")
    assert found.columns == ["id"]
    assert sorted(row.id for row in found.collect()) == sorted(set(IDS))


def test_a_distinct_column_has_the_name_that_spark_gives(spark, tmp_path):
    frame = spark.createDataFrame([(3,), (3,)], "`a.b` bigint")
    assert bss.distinct(frame, "`a.b`").columns == ["a.b"]
    (tmp_path / "rows.csv").write_text("x,7\ny,7\n")
    found = bss.distinct(str(tmp_path / "rows.csv"), 2, delimiter=",")
    assert (found.columns, found.first()[0]) == (["id"], 7)


def test_a_file_that_changes_before_it_is_read_is_an_error(spark, tmp_path):
    path = str(tmp_path / "ids.parquet")
    pq.write_table(pa.table({"id": list(range(10))}), path)
    found = bss.distinct(spark.read.parquet(path), "id")
    pq.write_table(pa.table({"id": [True] * 10}), path)
    with pytest.raises(Exception, match="has changed: id was a column of bigint"):
        found.collect()


@pytest.mark.parametrize("kind", ["text", "parquet", "u64le", "bits"])
def test_sort(frame, tmp_path, kind):
    out = tmp_path / "out"
    result = bss.sort(frame, "id", str(out), format=kind)
    assert (result.cardinality, result.nulls) == (len(set(IDS)), 7)
    files = sorted(file for file in out.iterdir() if file.name.startswith("part-"))
    if kind == "bits":
        assert made(out) == expected(IDS)
        return
    bs.BitSet(IDS).write(tmp_path / "one", format=kind)
    if kind == "parquet":
        found = [value for file in files for value in pq.read_table(file)["value"].to_pylist()]
        assert found == sorted(set(IDS))
    else:
        assert b"".join(file.read_bytes() for file in files) == (tmp_path / "one").read_bytes()
    assert len(files) > 1 and (out / "_SUCCESS").exists()
    with pytest.raises(FileExistsError):
        bss.sort(frame, "id", str(out), format=kind)


def test_operations_on_folders(frame, tmp_path):
    a, b, out = (str(tmp_path / name) for name in "abc")
    others = [value + value % 3 for value in IDS]
    bs.BitSet(IDS).write(a, parts=4)
    bs.BitSet(others).write(b, parts=3)
    for join, wanted in [
        (bss.union, set(IDS) | set(others)),
        (bss.intersection, set(IDS) & set(others)),
        (bss.difference, set(IDS) - set(others)),
    ]:
        assert join(a, b, out=out).cardinality == len(wanted)
        assert made(out) == expected(wanted)


def test_isin_set(spark, tmp_path):
    bs.BitSet([3, 40, 1 << 40]).write(tmp_path / "set", parts=2)
    rows = spark.createDataFrame([(3,), (4,), (-3,), (None,), (1 << 40,)], "id bigint").coalesce(1)
    found = rows.select(bss.isin_set("id", str(tmp_path / "set")).alias("found")).collect()
    assert [row.found for row in found] == [True, False, False, None, True]
    bs.BitSet([4]).write(tmp_path / "set", parts=1)  # replaced: it is mapped again
    assert rows.where(bss.isin_set(F.col("id"), str(tmp_path / "set"))).count() == 1
    bs.group([(["k", "k", "other"], [3, 40, 4])], tmp_path / "t.sets")
    assert rows.where(bss.isin_set("id", str(tmp_path / "t.sets:k"))).count() == 1
    assert bss.count_distinct(str(tmp_path / "t.sets:k"), None) == 2
    # A key may have slashes, and is no path.
    keys = {"a": 3, "a/": 4, "b//c": 3, "b/c": 4}
    bs.group([(list(keys), list(keys.values()))], tmp_path / "slashes.sets")
    for key, value in keys.items():
        found = rows.where(bss.isin_set("id", f"{tmp_path}/slashes.sets:{key}")).collect()
        assert [row.id for row in found] == [value]
    large = (1 << 63) + 5
    bs.BitSet([3, large]).write(tmp_path / "large.bits")
    asked = [Decimal(large), Decimal((1 << 64) + 3), Decimal(-3), None, Decimal(3)]
    wide = spark.createDataFrame([(value,) for value in asked], "id decimal(38,0)").coalesce(1)
    found = wide.select(bss.isin_set("id", str(tmp_path / "large.bits")).alias("found")).collect()
    assert [row.found for row in found] == [True, False, False, None, True]
    for kind in ("double", "decimal(5,1)", "boolean", "string"):
        other = rows.select(F.lit("1").cast(kind).alias("id"))
        with pytest.raises(Exception, match="ids are integers"):
            other.select(bss.isin_set("id", str(tmp_path / "large.bits"))).collect()


def test_bloom(spark, frame):
    keys = bss.bloom(frame, "id", 0.01)
    assert all(value in keys for value in random.Random(3).sample(IDS, 1000))
    others = random.Random(4).sample(range(1 << 50, 1 << 51), 4000)
    assert sum(value in keys for value in others) < 80
    names = spark.createDataFrame([("fox",), (None,), ("hen",)], "name string")
    one = bs.Bloom(2, 0.01)
    one.update(["fox", "hen"])
    assert bss.bloom(names, "name", 0.01, keys=2).info() == one.info()


BITSET = os.path.join(os.path.dirname(sys.executable), "bitset")


def zipf(count, keys=40):
    """Rows of a key that a few have most of, and an id; some occur twice."""
    numbers = random.Random(6)
    weights = [1 / place for place in range(1, keys + 1)]
    chosen = numbers.choices(range(keys), weights, k=count)
    wide = [1 << 16, 1 << 34, 1 << 60]
    return [(f"key {key}", numbers.randrange(wide[key % 3])) for key in chosen]


@pytest.mark.parametrize("parts", [None, 1, 7])
def test_group_makes_the_file_of_one_machine(spark, tmp_path, parts):
    rows = zipf(20_000)
    lines = "".join(f"{key},{value}\n" for key, value in rows)
    (tmp_path / "rows.csv").write_text(lines)
    command = [BITSET, "group", "--key", "1", "--column", "2", "-o", tmp_path / "one.sets"]
    subprocess.run([*command, tmp_path / "rows.csv"], check=True)
    rows += [(None, 5), ("key 1", None), (None, None)] + rows[:100]
    random.Random(7).shuffle(rows)
    frame = spark.createDataFrame(rows, "tag string, id bigint").repartition(3)
    result = bss.group(frame, "tag", "id", str(tmp_path / "out.sets"), parts=parts)
    assert (tmp_path / "out.sets").read_bytes() == (tmp_path / "one.sets").read_bytes()
    whole = {row for row in rows if None not in row}
    assert (result.sets, result.values, result.nulls) == (len(dict(whole)), len(whole), 3)
    counts = Counter(key for key, _ in whole)
    assert bs.open(f"{tmp_path}/out.sets:key 1").count() == counts["key 1"]
    assert not left(tmp_path)


def test_group_of_files_is_that_of_their_rows(spark, tmp_path):
    rows = [*zipf(20_000), (None, 5), ("key 1", None)]
    frame = spark.createDataFrame(rows, "tag string, id bigint").repartition(5)
    frame.write.parquet(str(tmp_path / "rows"))
    of_rows = bss.group(frame, "tag", "id", str(tmp_path / "rows.sets"))
    of_files = bss.group(str(tmp_path / "rows"), "tag", "id", str(tmp_path / "files.sets"), parts=3)
    assert of_rows == of_files and of_files.nulls == 2
    assert (tmp_path / "rows.sets").read_bytes() == (tmp_path / "files.sets").read_bytes()
    (tmp_path / "a.csv").write_text("id;tag\n7;x\n8;y\n")
    (tmp_path / "b.csv").write_text("id;tag\n9;x\n")
    found = bss.group(str(tmp_path / "*.csv"), "tag", "id", str(tmp_path / "text.sets"), separator=";")
    assert found == bss.Grouped(2, 3, 0)
    assert list(bs.open(f"{tmp_path}/text.sets:x")) == [7, 9]
    with pytest.raises(TypeError, match="separator"):
        bss.group(frame, "tag", "id", str(tmp_path / "out.sets"), separator=";")


def test_group_of_bytes_and_integers(spark, tmp_path):
    numbers = random.Random(8)
    keys = [bytes(numbers.choices(range(256), k=numbers.randrange(4))) for _ in range(500)]
    rows = [(bytearray(key), Decimal(numbers.getrandbits(64))) for key in keys for _ in range(3)]
    frame = spark.createDataFrame(rows, "tag binary, id decimal(20,0)").repartition(2)
    bss.group(frame, "tag", "id", str(tmp_path / "out.sets"), parts=3)
    batches = [([bytes(key) for key, _ in rows], [int(value) for _, value in rows])]
    bs.group(batches, tmp_path / "one.sets")
    assert (tmp_path / "out.sets").read_bytes() == (tmp_path / "one.sets").read_bytes()
    frame = spark.createDataFrame([(-1, 7), (20, 8), (-1, 9)], "tag int, id int")
    assert bss.group(frame, "tag", "id", str(tmp_path / "out.sets")).sets == 2
    assert list(bs.open(f"{tmp_path}/out.sets:-1")) == [7, 9]
    none = spark.createDataFrame([], "tag int, id int")
    assert bss.group(none, "tag", "id", str(tmp_path / "out.sets")) == bss.Grouped(0, 0, 0)


def test_large_sets_of_a_key_go_in_several_pieces(spark, tmp_path, monkeypatch):
    real = bs.keyed_pieces
    monkeypatch.setattr("bitsort.keyed_pieces", lambda path, buckets: real(path, buckets, 30_000))
    frame = spark.range(0, 300_000, 1, 3).selectExpr("concat('k', id % 3) as tag", "id * id as id")
    bss.group(frame, "tag", "id", str(tmp_path / "out.sets"))
    values = range(300_000)
    bs.group(
        [([f"k{value % 3}" for value in values], [value * value for value in values])],
        tmp_path / "one.sets",
    )
    assert (tmp_path / "out.sets").read_bytes() == (tmp_path / "one.sets").read_bytes()


def test_a_group_that_fails_leaves_nothing(spark, tmp_path):
    out = tmp_path / "out.sets"
    frame = spark.createDataFrame([("a", 3), ("b", -4)], "tag string, id bigint")
    with pytest.raises(Exception, match="-4"):
        bss.group(frame, "tag", "id", str(out))
    assert not list(tmp_path.iterdir())
    large = spark.createDataFrame([("a", Decimal(1 << 64))], "tag string, id decimal(20,0)")
    with pytest.raises(Exception, match=str(1 << 64)):
        bss.group(large, "tag", "id", str(out))
    with pytest.raises(TypeError, match="tag is double"):
        bss.group(frame.selectExpr("1.5d as tag", "id"), "tag", "id", str(out))
    with pytest.raises(TypeError, match="tag is string"):
        bss.group(frame, "tag", "tag", str(out))
    with pytest.raises(IsADirectoryError):
        bss.group(frame, "tag", "id", str(tmp_path))
    assert not list(tmp_path.iterdir())


def bitmaps(frame):
    """What SQL makes of ids."""
    return frame.groupBy(F.bitmap_bucket_number("id").alias("bucket")).agg(
        F.bitmap_construct_agg(F.bitmap_bit_position("id")).alias("bitmap")
    )


SOME = sorted({0, 1, 32767, 32768, 32769, 65536, 1 << 20, (1 << 62) + 5, *range(90_000, 95_000)})


def test_rows_of_other_types_are_no_bitmaps(spark, tmp_path):
    out = str(tmp_path / "out")
    for schema, row in [
        ("bucket double, bitmap binary", (1.9, b"\1")),
        ("bucket boolean, bitmap binary", (True, b"\1")),
        ("bucket bigint, bitmap string", (1, "AQ==")),
    ]:
        with pytest.raises(TypeError, match="(bucket|bitmap) is (double|boolean|string)"):
            bss.from_bitmap_rows(spark.createDataFrame([row], schema), out)
    assert not (tmp_path / "out").exists()


def test_lines_that_are_left_out_are_counted(spark, tmp_path):
    (tmp_path / "ids").write_text("1\nx\n2\n-3\n\n99999999999999999999\n")
    for parts in (None, 3):
        out = str(tmp_path / f"out-{parts}")
        result = bss.build(str(tmp_path / "ids"), None, out, invalid="skip", parts=parts)
        assert (result.cardinality, result.nulls, result.rejected) == (2, 1, 3)


def test_a_filter_takes_ids_text_and_bytes_and_refuses_others_early(spark):
    ids = spark.createDataFrame([(Decimal(2**64 - 1),), (Decimal(7),), (None,)], "k decimal(20,0)")
    found = bss.bloom(ids, "k", 0.01)
    assert 2**64 - 1 in found and 7 in found
    assert b"a" in bss.bloom(spark.createDataFrame([(b"a",)], "k binary"), "k", 0.01)
    with pytest.raises(TypeError, match="^k is double: ids are"):
        bss.bloom(spark.createDataFrame([(1.5,)], "k double"), "k", 0.01)


def test_files_that_change_before_a_lazy_result_is_read_are_refused(spark, tmp_path):
    text, table = tmp_path / "ids.txt", tmp_path / "ids.parquet"
    text.write_text("1\n2\n")
    packed, rows = tmp_path / "ids.txt.gz", tmp_path / "ids.csv"
    packed.write_bytes(gzip.compress(b"1\n"))
    rows.write_text("id\n1\n")
    pq.write_table(pa.table({"id": pa.array([1, 2], pa.int64())}), table)
    late = [bss.distinct(str(text), None), bss.distinct(str(table), "id")]
    late += [bss.distinct(str(packed), None), bss.distinct(str(rows), "id")]
    keyed, ids = tmp_path / "t.sets", tmp_path / "ids.bits"
    bs.group([(["k"], [1])], keyed)
    bs.BitSet([1]).write(ids)
    late += [bss.distinct(f"{keyed}:k", None), bss.distinct(str(ids), None)]
    bs.group([(["k"] * 5000, range(5000))], keyed)
    bs.BitSet(range(0, 50_000, 7)).write(ids)
    packed.write_bytes(gzip.compress(b"12345\n"))
    rows.write_text("id\n1234\n")
    text.write_text("9\n8\n7\n6\n")
    changed = pa.table({"id": pa.array(range(6, 1000), pa.int64())})
    pq.write_table(changed, table, row_group_size=100)
    for found in late:
        with pytest.raises(Exception, match="has changed"):
            found.collect()


def test_a_writer_tells_what_it_drops_and_refuses_early(spark, tmp_path):
    rows = spark.createDataFrame([(1,), (None,)], "id bigint")
    writer = rows.write.format("bits").mode("overwrite")
    writer.save(str(tmp_path / "set"))
    assert list(bs.open(tmp_path / "set")) == [1]
    other = tmp_path / "other"
    other.mkdir()
    (other / "note").write_text("mine")
    with pytest.raises(Exception, match="no part of a set"):
        writer.save(str(other))
    for wrong in (0, "two"):
        with pytest.raises(Exception, match="parts are 1 or more"):
            writer.option("parts", wrong).save(str(tmp_path / "set"))
    for parts in (0, -1, 2.5, "4", 1 << 40):
        with pytest.raises(ValueError, match="^parts is "):
            bss.build(rows, "id", str(tmp_path / "out"), parts=parts)


def test_bitmaps_of_spark_become_sets(spark, frame, tmp_path):
    out = str(tmp_path / "out")
    result = bss.from_bitmap_rows(bitmaps(frame.where("id is not null")), out, parts=4)
    assert (result.cardinality, result.nulls) == (len(set(IDS)), 0) and result.parts > 1
    assert made(out) == expected(IDS)
    rows = spark.createDataFrame([(value,) for value in SOME], "id bigint")
    others = spark.createDataFrame([(None, b"x"), (7, None)], "n bigint, bits binary")
    named = bitmaps(rows).withColumnsRenamed({"bucket": "n", "bitmap": "bits"})
    both = named.union(others).union(named)
    assert bss.from_bitmap_rows(both, out, bucket="n", bitmap="bits").nulls == 2
    assert list(bs.open(out)) == SOME
    dotted = both.withColumnsRenamed({"n": "a.n", "bits": "a`bits"})
    assert bss.from_bitmap_rows(dotted, out, bucket="`a.n`", bitmap="`a``bits`").nulls == 2
    with pytest.raises(Exception, match="(?i)negative|below 0"):
        bss.from_bitmap_rows(bitmaps(spark.sql("select -3 as id")), out)
    assert list(bs.open(out)) == SOME and not left(tmp_path)


@pytest.mark.parametrize("partitions", [None, 1, 3])
def test_sets_become_bitmaps_of_spark(spark, tmp_path, monkeypatch, partitions):
    bs.BitSet(SOME).write(tmp_path / "set", parts=2)
    found = bss.to_bitmap_rows(str(tmp_path / "set"), partitions=partitions)
    rows = spark.createDataFrame([(value,) for value in SOME], "id bigint")
    assert {tuple(row) for row in found.collect()} == {tuple(row) for row in bitmaps(rows).collect()}
    assert found.agg(F.sum(F.bitmap_count("bitmap"))).first()[0] == len(SOME)
    joined = found.union(bitmaps(rows)).groupBy("bucket").agg(F.bitmap_or_agg("bitmap").alias("b"))
    assert joined.agg(F.sum(F.bitmap_count("b"))).first()[0] == len(SOME)
    bs.BitSet().write(tmp_path / "none", parts=1)
    assert bss.to_bitmap_rows(str(tmp_path / "none")).count() == 0
    # Bitmap 0 has the number 0 alone: it moves the ends of the others by nothing.
    bs.BitSet([0, (1 << 27) - 5, 1 << 27]).write(tmp_path / "zero", parts=1)
    found = bss.to_bitmap_rows(str(tmp_path / "zero"), partitions=partitions)
    assert sorted(row.bucket for row in found.collect()) == [0, 4096]
    bs.BitSet([3, (1 << 63) + 5]).write(tmp_path / "large", parts=1)
    with pytest.raises(Exception, match=str((1 << 63) + 5)):
        bss.to_bitmap_rows(str(tmp_path / "large")).count()


def test_bloom_filters_of_spark_in_and_out(spark, frame):
    some = frame.where("id is not null")
    theirs = some._jdf.stat().bloomFilter("id", len(IDS), 0.01)
    ours = bss.from_spark_bloom(theirs)
    asked = random.Random(9).sample(IDS, 500) + random.Random(10).sample(range(1 << 40), 3000)
    answers = [theirs.mightContainLong(value) for value in asked]
    assert ours.contains_many(asked) == answers and all(answers[:500]) and not all(answers)
    names = spark.createDataFrame([("fox",), ("hen",)], "name string")
    ours = bss.from_spark_bloom(names._jdf.stat().bloomFilter("name", 100, 0.01))
    assert "fox" in ours and "hen" in ours and "dog" not in ours

    made = bs.Bloom.spark(1000, 0.01)
    made.update([3, 40])
    made.update(["fox"])
    theirs = bss.to_spark_bloom(made)
    assert theirs.mightContainLong(3) and theirs.mightContainLong(40)
    assert theirs.mightContainString("fox") and not theirs.mightContainString("dog")
    assert not theirs.mightContainLong(4)
    # Spark's file does not say for how many keys it is.
    wish = {"for_keys": None, "for_rate": None}
    assert bss.from_spark_bloom(theirs).info() == {**made.info(), **wish}
    with pytest.raises(Exception, match="(?i)spark"):
        bss.to_spark_bloom(bs.Bloom(1000, 0.01))


def test_reading_sets_as_tables(spark, tmp_path):
    bs.BitSet(IDS).write(tmp_path / "set", parts=3)
    plain = spark.read.format("bits")
    some = sorted(set(IDS))[1000:1010]
    for reader in (plain, spark.read.format("bits").option("filters", "true")):
        load = lambda: reader.load(str(tmp_path / "set"))
        assert load().columns == ["id"]
        assert sorted(row.id for row in load().collect()) == sorted(set(IDS))
        for condition, wanted in [
            (f"id >= {some[0]} and id < {some[-1]}", some[:-1]),
            (f"id in ({some[3]}, 999999999999999999, -4)", [some[3]]),
            (f"id = {some[4]} and id > {some[2]}", [some[4]]),
            ("id < 0", []),
            ("id is null", []),
        ]:
            assert sorted(row.id for row in load().where(condition).collect()) == wanted
        plan = load().where(f"id = {some[0]}")._jdf.queryExecution().executedPlan().toString()
        assert ("Filter (" in plan) == (reader is plain), "the set answers it if it may"
    # A filter of one query is not that of the next one.
    table = plain.load(str(tmp_path / "set"))
    counts = [table.count(), table.where(f"id = {some[0]}").count(), table.count()]
    assert counts == [len(set(IDS)), 1, len(set(IDS))]
    name = "spark.sql.python.filterPushdown.enabled"
    before = spark.conf.get(name)
    spark.conf.set(name, "false")
    try:
        assert spark.read.format("bits").load(str(tmp_path / "set")).count() == len(set(IDS))
    finally:
        spark.conf.set(name, before)
    options = {"column": "user", "partitions": "5"}
    table = spark.read.format("bits").options(**options).load(str(tmp_path / "set"))
    assert table.columns == ["user"] and table.rdd.getNumPartitions() == 5


def test_nulls_of_the_pandas_that_spark_takes():
    ids, seen = bs.BitSet([1]), bs.Bloom(10, 0.01)
    seen.add(1)
    for asked in (pd.Series([1, None], dtype="Int64", index=[5, 7]), pd.array([1, None], dtype="Int64")):
        for found in (ids.contains_many(asked), seen.contains_many(asked)):
            assert list(pd.isna(found)) == [False, True] and bool(pd.Series(found).iloc[0])


def test_a_table_of_a_replaced_set_has_the_new_rows(spark, tmp_path):
    path = str(tmp_path / "set.bits")
    bs.BitSet([10, 20, 30]).write(path)
    table = spark.read.format("bits").option("partitions", "3").load(path)
    assert sorted(row.id for row in table.collect()) == [10, 20, 30]
    for ids in ([1, 2, 10, 20, 1 << 40], [15], []):
        bs.BitSet(ids).write(path)
        assert sorted(row.id for row in table.collect()) == ids
    for wrong in ("0", "-1", "two", "1.5"):
        with pytest.raises(Exception, match="partitions are 1 or more"):
            spark.read.format("bits").option("partitions", wrong).load(path).collect()
    with pytest.raises(Exception, match="a set is written as a folder"):
        table.write.format("bits").mode("append").save(path)


def test_writing_tables_as_sets(spark, frame, tmp_path):
    out = str(tmp_path / "out")
    frame.write.format("bits").option("parts", 3).mode("overwrite").save(out)
    assert made(out) == expected(IDS)
    more = spark.createDataFrame([(7,), (1 << 50,)], "id bigint")
    more.write.format("bits").mode("append").save(out)
    assert made(out) == expected([*IDS, 7, 1 << 50])
    more.write.format("bits").mode("overwrite").save(out)
    assert made(out) == expected([7, 1 << 50])
    assert not left(tmp_path)


def test_ids_that_are_no_bigint(spark, tmp_path):
    large = (1 << 63) + 5
    (tmp_path / "a.txt").write_text(f"3\n{large}\n")
    decimals = spark.createDataFrame([(Decimal(3),), (Decimal(large),)], "id decimal(20,0)")
    assert bss.build(decimals, "id", str(tmp_path / "out")).cardinality == 2
    decimals.write.parquet(str(tmp_path / "decimals"))
    bss.build(str(tmp_path / "decimals"), "id", str(tmp_path / "found"), spark=spark)
    assert list(bs.open(tmp_path / "found")) == [3, large]
    assert list(bs.open(tmp_path / "out")) == [3, large]
    bss.sort(tmp_path / "a.txt", None, str(tmp_path / "sorted"))
    texts = [file.read_text() for file in sorted((tmp_path / "sorted").glob("part-*"))]
    assert "".join(texts) == f"3\n{large}\n"
    for asked in (
        bss.distinct(tmp_path / "a.txt", None),
        spark.read.format("bits").load(str(tmp_path / "out")),
    ):
        with pytest.raises(Exception, match=str(large)):
            asked.collect()


def test_windows_have_about_as_many_values_of_sets_of_any_size(spark, tmp_path):
    ids = random.Random(3)
    bs.BitSet(ids.randrange(1 << 40) for _ in range(100_000)).write(tmp_path / "large.bits")
    for number in range(40):
        small = bs.BitSet(ids.randrange(1 << 24) for _ in range(30))
        small.write(tmp_path / f"small-{number}.bits")
    paths = [str(path) for path in sorted(tmp_path.glob("*.bits"))]
    bss.union(*paths, out=str(tmp_path / "all"), parts=8)
    counts = [bs.open(part).count() for part in (tmp_path / "all").glob("part-*.bits")]
    assert len(counts) == 8 and max(counts) < 20_000
    # Many small sets count as one large one.
    bss.union(*paths[1:], out=str(tmp_path / "small"), parts=4)
    counts = [bs.open(part).count() for part in (tmp_path / "small").glob("part-*.bits")]
    assert len(counts) == 4 and max(counts) < 600


def test_what_is_refused(spark, tmp_path):
    with pytest.raises(ValueError, match="tasks cannot write one file of rejected lines"):
        bss.build(str(tmp_path / "a.txt"), None, str(tmp_path / "o"), rejects="r")
    with pytest.raises(ValueError, match="one key at least"):
        bss.bloom(spark.range(3), "id", 0.1, keys=0)
    for keys, error in [(True, TypeError), (1.5, TypeError), (1 << 70, ValueError)]:
        with pytest.raises(error, match="keys is|integer"):
            bss.bloom(spark.range(3), "id", 0.1, keys=keys)
    bs.group([(["1"], [1])], tmp_path / "k.sets")
    for mode in ("append", "overwrite"):
        with pytest.raises(Exception, match="is a set of"):
            spark.range(7, 8).write.format("bits").mode(mode).save(str(tmp_path / "k.sets:1"))
    assert list(bs.open(f"{tmp_path}/k.sets:1")) == [1]
    (tmp_path / "k.sets").unlink()
    with pytest.raises(ValueError):
        bss.bloom(spark.range(3), "id", 2)
    negative = spark.createDataFrame([(3,), (-4,)], "id bigint")
    with pytest.raises(Exception, match="-4"):
        bss.build(negative, "id", str(tmp_path / "out"))
    (tmp_path / "a.txt").write_text("1\n2\nthree\n")
    with pytest.raises(Exception, match=r"a\.txt:3: byte 4"):
        bss.build(tmp_path / "a.txt", None, str(tmp_path / "out"))
    with pytest.raises(TypeError, match="unexpected keyword argument 'foo'"):
        bss.group(str(tmp_path / "a.txt"), "k", "id", str(tmp_path / "out"), foo=3)
    with pytest.raises(TypeError, match="name is string"):
        bss.build(spark.createDataFrame([("x",)], "name string"), "name", str(tmp_path / "out"))
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]
    bs.BitSet(IDS).write(tmp_path / "set", parts=2)
    (tmp_path / "set" / "part-00001.bits").unlink()
    with pytest.raises(Exception, match=r"part-00001\.bits is missing"):
        bss.union(str(tmp_path / "set"), out=str(tmp_path / "out"))
    with pytest.raises(Exception, match=r"part-00001\.bits is missing"):
        spark.read.format("bits").load(str(tmp_path / "set")).count()


def test_folders_and_addresses_are_refused_with_what_to_do(spark, tmp_path):
    rows = spark.createDataFrame([(1, "a"), (2, "b")], "id bigint, tag string")
    rows.write.partitionBy("tag").parquet(str(tmp_path / "rows"))
    with pytest.raises(ValueError, match="read what partitionBy wrote as a DataFrame"):
        bss.build(str(tmp_path / "rows"), "id", str(tmp_path / "out"), spark=spark)
    for address in ("s3://bucket/rows", "hdfs:///rows", "file:/rows"):
        with pytest.raises(ValueError, match="is a URI"):
            bss.build(address, "id", str(tmp_path / "out"), spark=spark)
