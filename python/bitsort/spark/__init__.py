"""Sets of ids on Apache Spark, with the kernels and the files of bitsort.

Ids become pieces of sets where they are read. The pieces go through the shuffle, ids never do.
Each window of values becomes a part of a folder, which `bitset`, the library and `bitsort.open`
take as one set.

    import bitsort.spark as bss

    bss.build(df, "user_id", "/data/users")          # a folder of .bits files
    bss.build("/data/ids/*.txt", None, "/data/all")  # text files, in splits
    df.where(bss.isin_set("user_id", "/data/users"))

Every executor has the package installed, and reads and writes folders at the same paths: on one
machine, or on a file system that all of them mount. `pip install bitsort[spark]` brings PySpark.

NULL is counted and dropped, and so is a blank line of text. A negative id is an error. Ids from 2^63 on are kept in sets; where
they must become BIGINT, they are an error that tells the id.
"""

import operator
import os
from decimal import Decimal
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf

import bitsort as bs

from . import _job as job
from . import _kernel as kernel
from ._job import Grouped, Paths, Result
from ._source import BitsDataSource

__all__ = [
    "BitsDataSource",
    "Grouped",
    "Result",
    "bloom",
    "build",
    "count_distinct",
    "difference",
    "distinct",
    "from_bitmap_rows",
    "from_spark_bloom",
    "group",
    "intersection",
    "isin_set",
    "register",
    "sort",
    "to_bitmap_rows",
    "to_spark_bloom",
    "union",
]

#: Formats of `sort`, and how their files end.
_FORMATS = {"text": "txt", "parquet": "parquet", "u32le": "u32", "u64le": "u64"}


def register(spark: SparkSession | None = None) -> None:
    """Makes `spark.read.format("bits")` and `df.write.format("bits")` known to a session."""
    job.session(spark).dataSource.register(BitsDataSource)


def build(
    source: DataFrame | Paths,
    column: str | int | None,
    out: str,
    *,
    parts: int | None = None,
    spark: SparkSession | None = None,
    **options: Any,
) -> Result:
    """Builds a set of ids: a folder of up to `parts` files, which appears whole or not at all.

    `source` is a DataFrame, or paths of files that `bitsort.open` reads, with its options. Tasks
    read plain text in splits, and Parquet files by row groups. The same holds for a DataFrame that
    only scans Parquet files. Every other file is read by one task. A folder at `out` is replaced if it is a set.
    """
    return job.build(job.source_of(source, column, spark, options), out, parts)


def sort(
    source: DataFrame | Paths,
    column: str | int | None,
    out: str,
    *,
    format: str = "text",
    parts: int | None = None,
    spark: SparkSession | None = None,
    **options: Any,
) -> Result:
    """Writes the distinct ids in ascending order: a folder of files, the lowest ids first.

    Each id comes once; duplicates are not kept. `format` is "text", "parquet", "u32le", "u64le", or
    "bits", which is `build`. A folder at `out` is replaced only by "bits"; others must be empty
    or not there.
    """
    ids = job.source_of(source, column, spark, options)
    if format == "bits":
        return job.build(ids, out, parts)
    if format not in _FORMATS:
        raise ValueError(f"{format} is no format of sort; there are bits, {', '.join(_FORMATS)}")
    return job.write_values(ids, out, format, _FORMATS[format], parts)


def distinct(
    source: DataFrame | Paths,
    column: str | int | None,
    *,
    parts: int | None = None,
    spark: SparkSession | None = None,
    **options: Any,
) -> DataFrame:
    """The distinct ids as a DataFrame of one BIGINT column, named as `column`, or `id` if that is
    a number or None.

    NULL is dropped, which Spark's `distinct` keeps. The rows come in any order.
    """
    ids = job.source_of(source, column, spark, options)
    name = column if isinstance(column, str) else "id"
    if isinstance(source, DataFrame):
        name = source.select(F.col(name)).columns[0]
    return job.reduced_anyhow(ids, parts, kernel.reduce_ids(name), f"`{name.replace('`', '``')}` bigint")


def count_distinct(
    source: DataFrame | Paths,
    column: str | int | None,
    *,
    parts: int | None = None,
    spark: SparkSession | None = None,
    **options: Any,
) -> int:
    """The number of distinct ids, exactly. NULL does not count.

    Without `parts`, the driver joins the sets of all tasks if these certainly take some 64 MiB at
    most, as the size of text and the statistics of Parquet files tell.
    """
    return job.count(job.source_of(source, column, spark, options), parts)


def group(
    source: DataFrame | Paths,
    key: str,
    column: str,
    out: str,
    *,
    parts: int | None = None,
    spark: SparkSession | None = None,
    **options: Any,
) -> Grouped:
    """Builds sets by key: one `.sets` file, with the ids of each key, byte for byte the file of
    `bitset group`. It appears whole or not at all.

    Keys are text or bytes, or integers, which become decimal text. A row without a key or without
    an id is counted and dropped. Keys are cut by their hashes into `parts` buckets; a task joins
    the sets of a bucket, and the driver writes one file of all.

    Of Parquet and Arrow files and of delimited text, which tasks read themselves, each file is read
    by one task; `options` are those of `bitsort.group_files`. A DataFrame that is no more than a
    scan of Parquet files is read by row groups. Both are faster than rows of a query, which pass
    from Java to Python.
    """
    if isinstance(source, DataFrame):
        if options:
            raise TypeError(f"a DataFrame takes no option {next(iter(options))}")
        return job.group(job.Rows(source, key, column), out, parts)
    options = {**options, "key": key, "column": column}
    return job.group(job.RowFiles(job.session(spark), source, options), out, parts)


def from_bitmap_rows(
    frame: DataFrame,
    out: str,
    *,
    bucket: str = "bucket",
    bitmap: str = "bitmap",
    parts: int | None = None,
) -> Result:
    """Builds a set, as `build`, of rows of Spark's bitmaps: `bitmap_bucket_number(id)`, and
    `bitmap_construct_agg(bitmap_bit_position(id))` or `bitmap_or_agg`.

    Several rows of a bucket are joined. Rows that lack a bucket or a bitmap are counted and
    dropped. A bit of a negative number is an error.
    """
    return job.build(job.Bitmaps(frame, bucket, bitmap), out, parts)


def to_bitmap_rows(
    path: str, *, partitions: int | None = None, spark: SparkSession | None = None
) -> DataFrame:
    """A set as rows of Spark's bitmaps: a column `bucket`, of BIGINT, and `bitmap`, for
    `bitmap_count` and `bitmap_or_agg`. An id from 2^63 on is an error.
    """
    return job.bitmap_rows(job.session(spark), path, partitions)


def union(*sets: str, out: str, parts: int | None = None, spark: SparkSession | None = None) -> Result:
    """Values in any of the sets, which are folders or files, as a folder; part by part."""
    return job.join("or", sets, out, spark, parts)


def intersection(
    *sets: str, out: str, parts: int | None = None, spark: SparkSession | None = None
) -> Result:
    """Values in all sets, as `union`."""
    return job.join("and", sets, out, spark, parts)


def difference(
    *sets: str, out: str, parts: int | None = None, spark: SparkSession | None = None
) -> Result:
    """Values of the first set that are in no other, as `union`."""
    return job.join("andnot", sets, out, spark, parts)


@lru_cache(maxsize=8)
def _opened(path: str, inode: int, changed: int) -> bs.SetFile:
    return bs.open(path)


def _set_at(path: str) -> bs.SetFile:
    """The set at a path, which a worker maps once; it is mapped again once it was replaced."""
    status = os.stat(kernel.file_of(path))
    return _opened(path, status.st_ino, status.st_mtime_ns)


def isin_set(column: str | Column, path: str) -> Column:
    """Whether the id of a row is in the set at `path`: a column of booleans, NULL for NULL.

    Ids are integers, or decimals without a fraction. Each worker maps the set once, and touches
    what it needs.
    """
    path = kernel.whole_path(path)

    def member(ids: pa.Array) -> pa.Array:
        if pa.types.is_decimal(ids.type) and ids.type.scale == 0:
            ids = ids.cast(pa.decimal128(38, 0))
        elif not pa.types.is_integer(ids.type):
            what = "ids are integers, or decimals without a fraction; cast the column"
            raise TypeError(f"the column of isin_set is {ids.type}: {what}")
        is_natural = pc.greater_equal(ids, pa.scalar(0, ids.type))
        if pa.types.is_decimal(ids.type):
            last = pa.scalar(Decimal((1 << 64) - 1), ids.type)
            is_natural = pc.and_(is_natural, pc.less_equal(ids, last))
        is_natural = pc.fill_null(is_natural, False)
        asked = kernel.naturals(pc.if_else(is_natural, ids, pa.scalar(0, ids.type)))
        found = pa.array(_set_at(path).contains_many(asked))
        return pc.if_else(pc.is_valid(ids), pc.and_(found, is_natural), None)

    member.__annotations__ = {"ids": pa.Array, "return": pa.Array}
    asked = F.col(column) if isinstance(column, str) else column
    # PySpark's stubs lack the form that its documents show.
    udf: Any = arrow_udf(member, "boolean")  # type: ignore[call-overload]
    found: Column = udf(asked)
    return found


def bloom(frame: DataFrame, column: str, fpp: float, *, keys: int | None = None) -> bs.Bloom:
    """A Bloom filter of a column of natural numbers, text or bytes with this rate of false positives.

    It has room for `keys` different keys; without it, for as many as there are rows, which are
    counted first. Every task has a filter of the full size, and one task joins them all.
    """
    if isinstance(keys, bool):
        raise TypeError("keys is an int, not bool")
    if keys is not None and operator.index(keys) < 1:
        raise ValueError(f"keys is {keys}, and a filter is for one key at least")
    if keys is not None and keys >= 1 << 64:
        raise ValueError(f"keys is {keys}, and a filter is for less than 2**64")
    bs.Bloom(1, fpp)  # a rate that no filter has is refused before rows are counted
    taken = frame.select(job.filter_keys(frame, column))
    count = taken.count() if keys is None else keys
    filters = taken.mapInArrow(kernel.map_keys(max(count, 1), fpp), kernel.PIECES)
    merged = filters.groupBy("bucket").applyInArrow(kernel.reduce_filters(), kernel.PIECES)
    rows = merged.collect()
    return bs.Bloom.deserialize(bytes(rows[0].payload)) if rows else bs.Bloom(max(count, 1), fpp)


def from_spark_bloom(filter: Any, *, spark: SparkSession | None = None) -> bs.Bloom:
    """Spark's own Bloom filter, an object of Java, as one of bitsort.

    `frame._jdf.stat().bloomFilter(column, keys, fpp)` makes such an object. Numbers of its column
    are asked as int, text as str.
    """
    jvm: Any = job.session(spark).sparkContext._jvm
    out = jvm.java.io.ByteArrayOutputStream()
    filter.writeTo(out)
    return bs.Bloom.deserialize(bytes(out.toByteArray()))


def to_spark_bloom(keys: bs.Bloom, *, spark: SparkSession | None = None) -> Any:
    """A filter that `Bloom.spark` or `from_spark_bloom` made, as Spark's own: an object of Java
    with `mightContainLong`, `mightContainString` and others.
    """
    jvm: Any = job.session(spark).sparkContext._jvm
    data = jvm.java.io.ByteArrayInputStream(keys.serialize("spark"))
    return jvm.org.apache.spark.util.sketch.BloomFilter.readFrom(data)
