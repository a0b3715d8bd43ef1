"""DataFrames of Parquet files: which are taken as files, and that both ways give the same."""

import gzip
import random
import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

import bitsort as bs
import bitsort.spark as bss
from bitsort.spark import _job as job
from bitsort.spark import _kernel as kernel
from bitsort.spark._scan import scan_of, scan_of_files

numbers = random.Random(9)
ROWS = 9000
IDS = [numbers.choice([None, *(numbers.randrange(1 << bits) for bits in (20, 33, 62))]) for _ in range(ROWS)]
SMALL = [numbers.choice([None, numbers.randrange(1 << 30)]) for _ in range(ROWS)]
TAGS = [numbers.choice([None, "sport", "tōkyō", ""]) for _ in range(ROWS)]
RAW = [None if tag is None else tag.encode() + b"\xff" for tag in TAGS]


def table(start, end):
    rows = slice(start, end)
    return pa.table({
        "id": pa.array(IDS[rows], pa.int64()),
        "small": pa.array(SMALL[rows], pa.int32()),
        "tag": pa.array(TAGS[rows], pa.string()),
        "raw": pa.array(RAW[rows], pa.binary()),
        "key": pa.array([number % 5 - 1 for number in range(start, end)], pa.int32()),
    })  # fmt: skip


@pytest.fixture
def files(tmp_path):
    """Three files of several row groups, of other compressions."""
    folder = tmp_path / "rows"
    folder.mkdir()
    for number, codec in enumerate(["none", "snappy", "zstd"]):
        third = ROWS // 3
        some = table(number * third, number * third + third)
        pq.write_table(some, folder / f"{number}.parquet", compression=codec, row_group_size=700)
    return folder


def jobs(frame, folder):
    """What jobs make of the columns of a DataFrame, as bytes."""
    folder.mkdir()
    found = []
    for column in ("id", "small"):
        found.append(bss.build(frame, column, str(folder / "set")))
        with bs.open(folder / "set") as ids:
            ids.verify()
            found.append(bs.pieces(ids))
        found.append(bss.sort(frame, column, str(folder / f"{column}-sorted"), parts=3))
        parts = sorted((folder / f"{column}-sorted").glob("part-*"))
        found.append(b"".join(part.read_bytes() for part in parts))
        found.append(bss.count_distinct(frame, column))
        found.append(sorted(row[0] for row in bss.distinct(frame, column).collect()))
    for key in ("tag", "raw", "key"):
        found.append(bss.group(frame, key, "id", str(folder / f"{key}.sets")))
        found.append((folder / f"{key}.sets").read_bytes())
    return found


def counts_of_parts(results):
    """The same without the numbers of parts, which may differ by one."""
    return [(one.cardinality, one.nulls) if isinstance(one, bss.Result) else one for one in results]


def test_files_give_what_their_rows_give(spark, files, tmp_path, monkeypatch):
    monkeypatch.setattr("bitsort.spark._job._LEAST_ROWS", 1000)
    frame = spark.read.parquet(str(files))
    columns = ("id", "small", "tag", "raw", "key")
    assert all(scan_of(frame, column) is not None for column in columns)
    of_files = jobs(frame, tmp_path / "files")
    monkeypatch.setattr("bitsort.spark._job.scan_of", lambda frame, *columns: None)
    of_rows = jobs(frame, tmp_path / "as-rows")
    assert counts_of_parts(of_files) == counts_of_parts(of_rows)
    wanted = {value for value in IDS if value is not None}
    assert (of_rows[0].cardinality, of_rows[0].nulls) == (len(wanted), IDS.count(None))


def test_counts_by_the_driver_are_those_by_a_shuffle(spark, files, tmp_path, monkeypatch):
    lines = tmp_path / "ids.txt"
    lines.write_text("".join("\n" if value is None else f"{value}\n" for value in IDS))
    wanted = len(set(IDS) - {None})
    sources = [(spark.read.parquet(str(files)), "id"), (files, "id"), (lines, None)]
    joined = []
    real = kernel.union_len
    monkeypatch.setattr("bitsort.spark._kernel.union_len", lambda pieces: joined.append(1) or real(pieces))
    for source, column in sources:
        assert bss.count_distinct(source, column) == wanted
        assert bss.count_distinct(source, column, parts=3) == wanted
    assert len(joined) == len(sources)
    # What may be too large for the driver does not go there, nor does what has no size.
    monkeypatch.setattr("bitsort.spark._job._MOST_ON_DRIVER", 10_000)
    packed = tmp_path / "ids.txt.gz"
    packed.write_bytes(gzip.compress(lines.read_bytes()))
    query = spark.read.parquet(str(files)).selectExpr("abs(id) as id")
    for source, column in [*sources, (packed, None), (query, "id")]:
        assert bss.count_distinct(source, column) == wanted
    assert len(joined) == len(sources)


@pytest.mark.parametrize("bits", [4, 20, 33, 62])
def test_the_bytes_of_pieces_are_known_before(tmp_path, bits):
    chosen = random.Random(bits)
    ids = [chosen.randrange(1 << bits) for _ in range(20_000)]
    for told in (True, False):
        file = tmp_path / f"{told}.parquet"
        table = pa.table({"id": pa.array(ids, pa.int64())})
        pq.write_table(table, file, write_statistics=told, row_group_size=3000)
        scan = scan_of_files([str(file)], "id")
        assert scan.last == (max(ids) if told else None)
        made = [data for task in range(4) for _, data in bs.pieces(bs.BitSet(ids[task::4]), [])]
        # Each has a header.
        assert sum(map(len, made)) <= scan.most_bytes(4) + 4 * 4096
        assert told or scan.most_bytes(4) == 8 * len(ids)


def test_a_renamed_column_is_that_of_the_files(spark, files):
    frame = spark.read.parquet(str(files)).select(F.col("small").alias("id"), F.col("id").alias("small"))
    assert bss.count_distinct(frame, "id") == len(set(SMALL) - {None})
    assert [column.name for column in scan_of(frame, "id", "small").columns] == ["small", "id"]
    assert scan_of(frame.selectExpr("id as ID"), "id") is not None


def test_what_is_more_than_a_scan_stays_rows(spark, files, tmp_path):
    frame = spark.read.parquet(str(files))
    view = f"v{uuid.uuid4().hex}"
    frame.createOrReplaceTempView(view)
    assert scan_of(spark.table(view), "id") is not None
    rows = {
        "a filter": frame.where("id > 5"),
        "a cast": frame.select(F.col("small").cast("bigint").alias("id")),
        "an expression": frame.selectExpr("id + 1 as id"),
        "a limit": frame.limit(5),
        "a sample": frame.sample(0.5),
        "distinct rows": frame.distinct(),
        "a union": frame.union(frame),
        "an order": frame.orderBy("id"),
        "an option": spark.read.option("mergeSchema", "true").parquet(str(files)),
        "an option of the listing": spark.read.option("pathGlobFilter", "0*").parquet(str(files)),
        "a metadata column": frame.select(F.col("_metadata.row_index").alias("id")),
        "observed rows": frame.observe("seen", F.count("*").alias("rows")),
        "text": spark.read.csv(str(files)).selectExpr("1 as id"),
        "no file": spark.range(5),
        "a given schema": spark.read.schema("id int").parquet(str(files)),
    }
    assert [name for name, rows in rows.items() if scan_of(rows, "id") is not None] == []
    spark.conf.set("spark.sql.files.ignoreMissingFiles", "true")
    try:
        assert scan_of(frame, "id") is None
    finally:
        spark.conf.unset("spark.sql.files.ignoreMissingFiles")
    cached = frame.select("id").cache()
    try:
        assert scan_of(cached, "id") is None
    finally:
        cached.unpersist()
    frame.select("id", "key").write.partitionBy("key").parquet(str(tmp_path / "parted"))
    parted = spark.read.parquet(str(tmp_path / "parted"))
    assert scan_of(parted, "id") is None and scan_of(parted, "key") is None
    assert bss.count_distinct(parted, "id") == len(set(IDS) - {None})


@pytest.mark.parametrize(
    "other",
    [
        pa.table({"other": pa.array([1], pa.int64())}),
        pa.table({"id": pa.array([1], pa.int32())}),
        pa.table({"id": pa.array([1], pa.uint64())}),
        pa.table({"id": pa.array([1], pa.timestamp("us"))}),
        pa.table({"id": pa.array([[1]], pa.list_(pa.int64()))}),
        pa.table({"id": pa.array([1], pa.int64()), "ID": pa.array([2], pa.int64())}),
    ],
    ids=lambda table: str(table.schema.types),
)
def test_a_file_of_other_columns_stays_rows(spark, files, other):
    frame = spark.read.schema("id bigint").parquet(str(files))
    assert scan_of(frame, "id") is not None
    pq.write_table(other, files / "9.parquet")
    assert scan_of(spark.read.schema("id bigint").parquet(str(files)), "id") is None


def test_files_that_changed_or_are_none_stay_rows(spark, files):
    frame = spark.read.parquet(str(files))
    assert scan_of(frame, "id") is not None
    with open(files / "1.parquet", "ab") as file:
        file.write(b"more")
    assert scan_of(frame, "id") is None
    (files / "1.parquet").unlink()
    assert scan_of(frame, "id") is None


def test_types_that_only_arrow_knows_are_the_same_values(spark, tmp_path):
    some = pa.table({
        "id": pa.array([5, 7, None], pa.duration("s")),
        "tag": pa.array(["x", "y", "x"]).dictionary_encode(),
        "large": pa.array(["x", "y", "x"], pa.large_string()),
    })  # fmt: skip
    pq.write_table(some, tmp_path / "a.parquet")
    frame = spark.read.parquet(str(tmp_path / "a.parquet"))
    if dict(frame.dtypes)["id"] == "bigint":
        assert bss.count_distinct(frame, "id") == frame.where("id is not null").distinct().count()
    for tag in ("tag", "large"):
        plain = frame.selectExpr(tag, "id is null as was", "length('abc') as id")
        assert scan_of(frame, tag) is not None and scan_of(plain, "id") is None
        assert bss.group(plain, tag, "id", str(tmp_path / "out.sets")).sets == 2


def test_row_groups_are_cut_into_splits_of_about_as_many_rows(spark, files):
    scan = scan_of(spark.read.parquet(str(files)), "id")
    for tasks, least in [(1, 1), (2, 1), (4, 1), (7, 1000), (1000, 1), (3, 10**9)]:
        splits = scan.splits(tasks, least)
        met = [(path, group) for split in splits for path, groups, _ in split for group in groups]
        assert met == [(path, group) for path, group, _ in scan.groups]
        assert len(splits) <= max(tasks, 1) + 1 and (least < 10**9 or len(splits) == 1)


def test_a_negative_id_in_a_file_is_an_error(spark, tmp_path):
    (tmp_path / "rows").mkdir()
    pq.write_table(pa.table({"id": [3, -4]}), tmp_path / "rows/a.parquet")
    frame = spark.read.parquet(str(tmp_path / "rows"))
    assert scan_of(frame, "id") is not None
    with pytest.raises(Exception, match=r"rows/a\.parquet: id: -4 is negative"):
        bss.build(frame, "id", str(tmp_path / "out"))
    assert [path.name for path in Path(tmp_path).iterdir()] == ["rows"]
    pq.write_table(pa.table({"id": [3, -4], "key": ["a", None]}), tmp_path / "rows/a.parquet")
    frame = spark.read.parquet(str(tmp_path / "rows"))
    assert scan_of(frame, "key", "id") is not None
    found = bss.group(frame, "key", "id", str(tmp_path / "rows.sets"))
    assert (found.sets, found.values, found.nulls) == (1, 1, 1)


def test_paths_of_parquet_files_are_scans_too(spark, files, tmp_path):
    assert scan_of_files(job.files_of(files), "small").columns[0].kind == "int"
    found = bss.build(str(files), "id", str(tmp_path / "out"))
    wanted = {value for value in IDS if value is not None}
    assert (found.cardinality, found.nulls) == (len(wanted), IDS.count(None))
    # Others are read by bitsort itself.
    for name, ids in {"wide": pa.array([1 << 63, 5], pa.uint64()), "short": pa.array([7], pa.int16())}.items():
        path = tmp_path / f"{name}.parquet"
        pq.write_table(pa.table({"id": ids}), path)
        assert scan_of_files([str(path)], "id") is None
        assert bss.count_distinct(str(path), "id") == len(ids)
    assert bss.count_distinct(str(files / "0.parquet"), "id", mem="64M") == len(set(IDS[: ROWS // 3]) - {None})
    (tmp_path / "a.csv").write_text("id\n7\n")
    assert scan_of_files([str(tmp_path / "a.csv")], "id") is None
    with pytest.raises(Exception, match="no column is named"):
        bss.count_distinct(str(files), "other")


def test_a_folder_for_pieces_is_as_open_as_others(tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o2775)
    (shared / "plain").mkdir()
    folder = Path(kernel.folder_beside(str(shared / "out")))
    assert folder.parent == shared
    assert folder.stat().st_mode == (shared / "plain").stat().st_mode
    with pytest.raises(FileNotFoundError, match="missing'"):
        kernel.folder_beside(str(tmp_path / "missing" / "out"))
