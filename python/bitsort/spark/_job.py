"""Jobs: windows from a sample, pieces through the shuffle, parts, and the manifest at the end."""

import glob
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

import bitsort as bs

from . import _kernel as kernel
from ._scan import Scan, scan_of, scan_of_files

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

#: Ids of a sample that one piece of the input gives, at most.
_SAMPLED = 1000
#: Pieces of the input that the driver looks at for a sample; for more there is a job.
_LOOKS = 64
#: Values of sets for each window, by which windows of about as many values each are chosen.
_PLACES = 64
#: Rows of a split of Parquet files, at least.
_LEAST_ROWS = 1 << 20
#: Bytes of pieces that the driver joins itself for a count, at most.
_MOST_ON_DRIVER = 64 << 20
#: The bytes of a split, at least and at most.
_LEAST_SPLIT, _MOST_SPLIT = 16 << 20, 1 << 30
_INTEGERS = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)


@dataclass(frozen=True)
class Result:
    """The numbers of a job that wrote a set."""

    #: Number of values.
    cardinality: int
    #: Number of files.
    parts: int
    #: Rows without an id and blank lines, which were dropped.
    nulls: int
    #: Malformed lines, which `invalid="skip"` left out.
    rejected: int


#: Numbers of rows without a value: NULLs and blank lines, and malformed lines.
Others = tuple[int, int]


@dataclass(frozen=True)
class Grouped:
    """The numbers of what `group` wrote."""

    #: Number of sets, one a key.
    sets: int
    #: Number of values of all sets.
    values: int
    #: Rows without a key or without an id, which were dropped.
    nulls: int


def session(spark: SparkSession | None) -> SparkSession:
    found = spark or SparkSession.getActiveSession()
    if found is None:
        raise ValueError("there is no Spark session: give one with spark=")
    return found


def parallelism(spark: SparkSession) -> int:
    """Tasks that run at once, about."""
    try:
        return max(spark.sparkContext.defaultParallelism, 1)
    except Exception:  # Spark Connect has no context
        return int(spark.conf.get("spark.sql.leafNodeDefaultParallelism", "8") or "8")


def _kind(frame: DataFrame, column: str) -> T.DataType:
    return frame.select(F.col(column)).schema[0].dataType


def _ids(
    frame: DataFrame, column: str, advice: str = "cast the column, or give paths of text files"
) -> Column:
    """A column of ids as tasks take it."""
    kind = _kind(frame, column)
    ids = F.col(column)
    if isinstance(kind, _INTEGERS):
        ids = ids.cast("bigint")
    elif not (isinstance(kind, T.DecimalType) and kind.scale == 0 and kind.precision <= 20):
        raise TypeError(
            f"{column} is {kind.simpleString()}: ids are integers or decimals of up to 20 "
            f"digits; {advice}"
        )
    return ids.alias("id")


def _keys(frame: DataFrame, column: str) -> Column:
    """A column of keys as tasks take it: integers as decimal text."""
    kind = _kind(frame, column)
    keys = F.col(column)
    if isinstance(kind, _INTEGERS):
        keys = keys.cast("string")
    elif not isinstance(kind, T.StringType | T.BinaryType):
        what = "keys are text, bytes or integers; cast the column"
        raise TypeError(f"{column} is {kind.simpleString()}: {what}")
    return keys.alias("key")


def filter_keys(frame: DataFrame, column: str) -> Column:
    """A column of keys of a filter: ids, text or bytes."""
    if isinstance(_kind(frame, column), T.StringType | T.BinaryType):
        return F.col(column).alias("key")
    advice = "other keys are text or bytes; cast the column"
    return _ids(frame, column, advice).alias("key")


def _each(spark: SparkSession, count: int, tasks: int, mapper: kernel.Mapper) -> DataFrame:
    """The results of tasks for the numbers from 0 to before `count`."""
    return spark.range(0, count, 1, max(tasks, 1)).mapInArrow(mapper, kernel.PIECES)


def _sampled(spark: SparkSession, count: int, mapper: kernel.Mapper) -> list[int]:
    """The ids of a sample that is taken at so many places."""
    if count <= _LOOKS:
        places = pa.RecordBatch.from_arrays([pa.array(range(count), pa.int64())], ["id"])
        found = [batch.column("payload")[0].as_py() for batch in mapper([places])]
    else:
        rows = _each(spark, count, 4 * parallelism(spark), mapper).collect()
        found = [bytes(row.payload) for row in rows]
    return [value for payload in found for value in bs.BitSet.deserialize(payload)]


def _mapped_groups(spark: SparkSession, scan: Scan, mapper: kernel.Mapper) -> DataFrame:
    """The results of tasks for the rows of a scan, which they read themselves."""
    splits = scan.splits(parallelism(spark), _LEAST_ROWS)
    task = kernel.map_groups(splits, scan.columns, mapper)
    return _each(spark, len(splits), len(splits), task)


class Scanned:
    """The ids of a column of Parquet files."""

    def __init__(self, spark: SparkSession, scan: Scan) -> None:
        self.spark, self.scan = spark, scan

    def sample(self, wanted: int) -> list[int] | None:
        """Some ids, by which so many windows can be chosen; None if that takes reading them all."""
        groups = self.scan.groups
        step = max(len(groups) // max(4 * wanted, _LOOKS), 1)
        sizes = self.scan.sizes
        looks = [(path, [number], sizes[path]) for path, number, _ in groups[::step]]
        mapper = kernel.sample_groups(looks, self.scan.columns[0], _SAMPLED)
        return _sampled(self.spark, len(looks), mapper)

    def most_bytes(self) -> int | None:
        """The bytes of all pieces, about, at most; None if that is not known before."""
        return self.scan.most_bytes(len(self.scan.splits(parallelism(self.spark), _LEAST_ROWS)))

    def pieces(self, cut: kernel.Cut) -> DataFrame:
        return _mapped_groups(self.spark, self.scan, kernel.map_ids(cut))


class RowIds:
    """Ids that tasks get from Spark as rows, of which nothing is known before."""

    def __init__(self, frame: DataFrame, mapper: Callable[[kernel.Cut], kernel.Mapper]) -> None:
        self.spark = frame.sparkSession
        self.frame = frame
        self.mapper = mapper

    def sample(self, wanted: int) -> list[int] | None:
        return None

    def most_bytes(self) -> int | None:
        return None

    def pieces(self, cut: kernel.Cut) -> DataFrame:
        return self.frame.mapInArrow(self.mapper(cut), kernel.PIECES)


class Frame(RowIds):
    """The ids of a column of a DataFrame."""

    def __init__(self, frame: DataFrame, column: str) -> None:
        super().__init__(frame.select(_ids(frame, column)), kernel.map_ids)


class Bitmaps(RowIds):
    """The ids of bitmaps of Spark."""

    def __init__(self, frame: DataFrame, bucket: str, bitmap: str) -> None:
        kinds = _kind(frame, bucket), _kind(frame, bitmap)
        if not isinstance(kinds[0], _INTEGERS):
            raise TypeError(f"{bucket} is {kinds[0].simpleString()}: numbers of buckets are integers")
        if not isinstance(kinds[1], T.BinaryType):
            raise TypeError(
                f"{bitmap} is {kinds[1].simpleString()}: bitmaps are binary; unbase64 makes them of "
                "what JSON has"
            )
        buckets = F.col(bucket).cast("bigint").alias("bucket")
        bitmaps = F.col(bitmap).alias("bitmap")
        super().__init__(frame.select(buckets, bitmaps), kernel.map_bitmaps)


class Files:
    """The numbers of files, which every executor can read at their paths."""

    def __init__(self, spark: SparkSession, paths: Paths, options: dict[str, Any]) -> None:
        _check(options)
        files = files_of(paths)
        # A set in a folder has no size of its own.
        homes = ((file, kernel.file_of(file)) for file in files)
        self.sizes = {file: os.path.getsize(home) for file, home in homes if os.path.isfile(home)}
        size = sum(self.sizes.get(file, 0) for file in files) // parallelism(spark) + 1
        size = min(max(size, _LEAST_SPLIT), _MOST_SPLIT)
        self.spark, self.options = spark, options
        self.splits: list[kernel.Split] = []
        for file in files:
            found = bs.splits(file, size, **options) if file == kernel.file_of(file) else []
            self.splits += [(file, place) for place in found] or [(file, None)]

    def sample(self, wanted: int) -> list[int] | None:
        looks: list[kernel.Split] = [split for split in self.splits if split[1] is not None]
        # Without windows, ranges would become containers: those of some files are better than none.
        if not looks or (len(looks) < len(self.splits) and not self.has_ranges()):
            return None
        mapper = kernel.sample_files(looks, self.sizes, self.options, _SAMPLED)
        return _sampled(self.spark, len(looks), mapper)

    def has_ranges(self) -> bool:
        return str(self.options.get("from_format")).endswith(("ranges", "cidr"))

    def most_bytes(self) -> int | None:
        # An id of so many digits takes fewer bytes in a set than in a line; a range may take more.
        if self.has_ranges():
            return None
        sizes = [place[1] for _, place in self.splits if place is not None]
        return sum(sizes) if len(sizes) == len(self.splits) else None

    def pieces(self, cut: kernel.Cut) -> DataFrame:
        count = len(self.splits)
        mapper = kernel.map_files(self.splits, self.sizes, self.options, cut)
        return _each(self.spark, count, count, mapper)


def _check(options: dict[str, Any]) -> None:
    if "rejects" in options:
        raise ValueError(
            "tasks cannot write one file of rejected lines: leave them out with invalid='skip', "
            "or use bitsort.sort"
        )


def files_of(paths: Paths) -> list[str]:
    named = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not named:
        raise ValueError("there are no paths of files")
    return [file for path in named for file in _files(os.fspath(path))]


def _is_plain_folder(path: str) -> bool:
    """Whether it is a folder, and no set of several parts."""
    return os.path.isdir(path) and not os.path.exists(os.path.join(path, "_manifest.json"))


def _files(path: str) -> list[str]:
    """The files that a path, a pattern or a folder names, in order."""
    if _is_plain_folder(path):
        names = sorted(name for name in os.listdir(path) if name[0] not in "._")
        files = [kernel.rooted(os.path.join(path, name)) for name in names]
        # Spark writes this file where there are no rows, too.
        if not files and not os.path.exists(os.path.join(path, "_SUCCESS")):
            raise FileNotFoundError(f"{path} has no files")
        folder = next((file for file in files if _is_plain_folder(file)), None)
        if folder is not None:
            raise ValueError(
                f"{path} has folders, as {folder}: read what partitionBy wrote as a DataFrame, or "
                "name the files"
            )
        return files
    if os.path.lexists(kernel.file_of(path)):
        return [kernel.whole_path(path)]
    found = sorted(name for name in glob.glob(path) if os.path.basename(name)[:1] != "_")
    if not found:
        kernel.rooted(path)  # a URI has an error of its own
        raise FileNotFoundError(f"there is no file {path}")
    return [file for name in found for file in _files(name)]


def source_of(
    source: DataFrame | Paths,
    column: str | int | None,
    spark: SparkSession | None,
    options: dict[str, Any],
) -> "Ids":
    if isinstance(source, DataFrame):
        if options:
            raise TypeError(f"a DataFrame takes no option {next(iter(options))}")
        if not isinstance(column, str):
            raise ValueError("a DataFrame has columns: name one")
        rows = Frame(source, column)
        scan = scan_of(source, column)
        return rows if scan is None else Scanned(rows.spark, scan)
    source = [source] if isinstance(source, str | os.PathLike) else list(source)
    if column is None:
        return Files(session(spark), source, options)
    # Options say how, so they are for our own reader.
    if isinstance(column, str) and not options:
        scan = scan_of_files(files_of(source), column)
        if scan is not None:
            return Scanned(session(spark), scan)
    return Files(session(spark), source, {**options, "column": column})


#: Where ids come from.
Ids = Frame | Scanned | Bitmaps | Files


def starts_of(source: Ids, parts: int) -> list[int] | None:
    """The first values of all windows but the lowest one: multiples of 2^16. None if a sample
    takes reading all ids."""
    sampled = [] if parts == 1 else source.sample(parts)
    return None if sampled is None else _evenly(sampled, parts)


def _evenly(ids: list[int], windows: int) -> list[int]:
    """The starts of windows that have about as many of these ids each, but for the lowest one."""
    ids.sort()
    places = (ids[len(ids) * index // windows] for index in range(1, windows) if ids)
    return sorted({place & ~0xFFFF for place in places} - {0})


def parts_of(source: Ids, parts: int | None) -> int:
    return _number_of_parts(parts, source.spark)


def _number_of_parts(parts: int | None, spark: SparkSession, name: str = "parts") -> int:
    if parts is None:
        return 2 * parallelism(spark)
    if isinstance(parts, bool) or not isinstance(parts, int) or not 1 <= parts < 1 << 31:
        raise ValueError(f"{name} is {parts!r}, and a result has 1 to 2^31 - 1")
    return parts


def reduced(source: Ids, cut: kernel.Cut, reducer: kernel.Reducer, schema: str) -> DataFrame:
    buckets = cut if isinstance(cut, int) else len(cut) + 1
    return _joined_by_bucket(source.pieces(cut), buckets, reducer, schema)


def _joined_by_bucket(
    pieces: DataFrame, buckets: int, reducer: kernel.Reducer, schema: str
) -> DataFrame:
    """The result of a task for each bucket of pieces: each bucket has a task of its own."""
    # By hashes of their numbers, some tasks would get several, and others none.
    dealt = pieces.repartitionById(buckets, "bucket")
    return dealt.groupBy("bucket").applyInArrow(reducer, schema)


def reduced_anyhow(
    source: Ids, parts: int | None, reducer: kernel.Reducer, schema: str
) -> DataFrame:
    """The same where no order is asked for: nothing is read twice."""
    wanted = parts_of(source, parts)
    starts = starts_of(source, wanted)
    return reduced(source, wanted if starts is None else starts, reducer, schema)


def count(source: Ids, parts: int | None) -> int:
    """The number of distinct ids. Few pieces go to the driver at once, without a shuffle."""
    most = source.most_bytes() if parts is None else None
    if most is not None and most <= _MOST_ON_DRIVER:
        return kernel.union_len(source.pieces([]).toArrow().to_batches())
    frame = reduced_anyhow(source, parts, kernel.reduce_counts(), kernel.TOLD)
    return sum(json.loads(text)["cardinality"] for text in told(frame)[0])


def told(frame: DataFrame) -> tuple[list[str], Others]:
    """The facts that tasks tell of windows, in their order, and the numbers of other rows."""
    rows = sorted((row.bucket, row.told) for row in frame.collect())
    counts = [json.loads(text) for bucket, text in rows if bucket == kernel.NULLS]
    others = sum(count["nulls"] for count in counts), sum(count["rejected"] for count in counts)
    return [text for bucket, text in rows if bucket != kernel.NULLS], others


def build(source: Ids, out: str, parts: int | None) -> Result:
    wanted = parts_of(source, parts)
    with bs.FolderWriter(kernel.rooted(out)) as writer:
        folder = os.fspath(writer.folder)
        starts = starts_of(source, wanted)
        if starts is None:
            with _bucketed(source, out, wanted) as (paths, others):
                rows = _parts(source.spark, "or", paths, folder, wanted)
        else:
            reducer = kernel.reduce_parts(folder)
            rows, others = told(reduced(source, starts, reducer, kernel.TOLD))
        return Result(writer.commit(rows), len(rows), *others)


@contextmanager
def _folder_beside(out: str) -> Iterator[str]:
    """A folder that is there for a while."""
    folder = kernel.folder_beside(out)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _bucketed(source: Ids, out: str, buckets: int) -> Iterator[tuple[list[str], Others]]:
    """Files of the ids of each bucket, which are there for a while, and the numbers of other rows:
    the ids are read once, and windows are chosen of the files."""
    with _folder_beside(out) as folder:
        rows, others = told(reduced(source, buckets, kernel.reduce_parts(folder), kernel.TOLD))
        yield [os.path.join(folder, json.loads(row)["name"]) for row in rows], others


def write_values(source: Ids, out: str, form: str, suffix: str, parts: int | None) -> Result:
    """Files of values, in order, in a folder that appears whole or not at all."""
    out = os.path.realpath(kernel.rooted(out))
    if os.path.exists(out) and not (os.path.isdir(out) and not os.listdir(out)):
        raise FileExistsError(f"{out} is there already")
    with _folder_beside(out) as above:
        folder = os.path.join(above, "values")
        os.mkdir(folder)
        texts, others = _written(source, folder, form, suffix, parts_of(source, parts))
        rows = [json.loads(text) for text in texts]
        for name in set(os.listdir(folder)) - {row["name"] for row in rows}:
            os.unlink(os.path.join(folder, name))  # of a task that was given up
        with open(os.path.join(folder, "_SUCCESS"), "w"):
            pass
        mode = stat.S_IMODE(os.stat(out).st_mode) if os.path.exists(out) else None
        os.rename(folder, out)
        if mode is not None:
            os.chmod(out, mode)
    return Result(sum(row["cardinality"] for row in rows), len(rows), *others)


def _written(
    source: Ids, folder: str, form: str, suffix: str, parts: int
) -> tuple[list[str], Others]:
    """The facts that are told of the files of values, and the numbers of other rows."""
    # The names of any number of files are in the order of their values.
    name = f"part-{{:0{max(len(str(parts - 1)), 5)}}}.{suffix}"
    starts = starts_of(source, parts)
    if starts is not None:
        reducer = kernel.reduce_values(folder, form, name)
        return told(reduced(source, starts, reducer, kernel.TOLD))
    with _bucketed(source, folder, parts) as (paths, others):
        windows = _windows_of(paths, parts)
        task = kernel.write_windows(folder, paths, form, name, windows)
        numbers = source.spark.range(0, len(windows), 1, len(windows))
        return told(numbers.mapInArrow(task, kernel.TOLD))[0], others


class Rows:
    """Rows of keys and ids: of a DataFrame."""

    def __init__(self, frame: DataFrame, key: str, column: str) -> None:
        self.spark = frame.sparkSession
        self.frame = frame.select(_keys(frame, key), _ids(frame, column))
        self.scan = scan_of(frame, key, column)

    def pieces(self, buckets: int) -> DataFrame:
        mapper = kernel.map_rows(buckets)
        if self.scan is not None:
            return _mapped_groups(self.spark, self.scan, mapper)
        return self.frame.mapInArrow(mapper, kernel.PIECES)


class RowFiles:
    """The same of files, each of which one task reads whole."""

    def __init__(self, spark: SparkSession, paths: Paths, options: dict[str, Any]) -> None:
        _check(options)
        self.spark, self.files, self.options = spark, files_of(paths), options
        with tempfile.TemporaryDirectory() as folder:
            # Options are refused before there is a job.
            bs.group_files([], os.path.join(folder, "none.sets"), **options)

    def pieces(self, buckets: int) -> DataFrame:
        count = len(self.files)
        tasks = min(count, 4 * parallelism(self.spark))
        mapper = kernel.map_row_files(self.files, self.options, buckets)
        return _each(self.spark, count, tasks, mapper)


def group(source: Rows | RowFiles, out: str, parts: int | None) -> Grouped:
    """A file of sets by key, which appears whole or not at all."""
    out = kernel.rooted(out)
    if os.path.isdir(out):
        raise IsADirectoryError(f"{out} is a folder")
    buckets = _number_of_parts(parts, source.spark)
    with _folder_beside(out) as folder:
        pieces = source.pieces(buckets)
        reducer = kernel.reduce_sets(folder)
        texts, (nulls, _) = told(_joined_by_bucket(pieces, buckets, reducer, kernel.TOLD))
        names = [json.loads(text)["name"] for text in texts]
        sets, values = bs.keyed_union([os.path.join(folder, name) for name in names], out)
    return Grouped(sets, values, nulls)


def bitmap_rows(spark: SparkSession, path: str, partitions: int | None) -> DataFrame:
    path = kernel.whole_path(path)
    with bs.open(path) as ids:
        count = ids.count()
        wanted = min(_number_of_parts(partitions, spark, "partitions"), max(count, 1))
        places = (count * number // wanted for number in range(1, wanted))
        starts = sorted({kernel.bitmap_start(ids[place]) for place in places} - {0})
    windows = kernel.windows(starts)
    numbers = spark.range(0, len(windows), 1, len(windows))
    return numbers.mapInArrow(kernel.bitmap_rows(path, windows), "bucket bigint, bitmap binary")


def join(
    operation: str, paths: tuple[str, ...], out: str, spark: SparkSession | None, parts: int | None
) -> Result:
    if not paths:
        raise ValueError("there are no sets to join")
    spark = session(spark)
    found = [kernel.whole_path(path) for path in paths]
    with bs.FolderWriter(kernel.rooted(out)) as writer:
        folder = os.fspath(writer.folder)
        rows = _parts(spark, operation, found, folder, _number_of_parts(parts, spark))
        return Result(writer.commit(rows), len(rows), 0, 0)


def _parts(
    spark: SparkSession, operation: str, paths: list[str], folder: str, wanted: int
) -> list[str]:
    """Has tasks write what an operation makes of sets as parts of a folder; gives their rows."""
    windows = _windows_of(paths, wanted)
    task = kernel.join_windows(folder, paths, operation, windows)
    numbers = spark.range(0, len(windows), 1, len(windows))
    return told(numbers.mapInArrow(task, kernel.TOLD))[0]


def _windows_of(paths: list[str], wanted: int) -> list[kernel.Window]:
    """So many windows, or fewer, that have about as many values of these sets each."""
    count = sum(map(_cardinality, paths))
    step = max(count // (_PLACES * wanted), 1)
    places: list[int] = []
    # The rank of the next place in this set, if the sets lay one behind the other.
    rank = step // 2
    for path in paths:
        with bs.open(path) as ids:
            ranks = range(rank, ids.count(), step)
            places += [ids[rank] for rank in ranks]
            rank += len(ranks) * step - ids.count()
    return kernel.windows(_evenly(places, wanted))


def _cardinality(path: str) -> int:
    with bs.open(path) as ids:
        return ids.count()
