"""DataFrames that are columns of Parquet files and nothing else: tasks read the files themselves.

Rows pass from Java to Python, which costs several times what bitsort does with them. A DataFrame is
taken as files only where both ways certainly give the same rows: Spark's plan of the wanted columns
is a scan of local Parquet files without partitions, no option or setting changes what a scan gives,
and each file has the columns in the types that Spark says. All else stays rows.
"""

import json
import math
import os
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

_PLANS = "org.apache.spark.sql.catalyst.plans.logical"
_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"
_SOURCES = "org.apache.spark.sql.execution.datasources"

#: Settings of a session under which files are not what they seem, and their usual values.
_SETTINGS = {
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.parquet.fieldId.read.enabled": "false",
}
#: Options of a reader that change nothing.
_OPTIONS = {"path"}
#: Files whose metadata the driver reads, at most.
_MOST_FILES = 1000
#: Compressions of pages that every build of Arrow reads.
_CODECS = {"UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD"}
#: The types of Spark, with the physical and logical types of a file that are the same values.
_TYPES = {
    "bigint": {("INT64", "None"), ("INT64", "Int 64")},
    "int": {("INT32", "None"), ("INT32", "Int 32")},
    "string": {("BYTE_ARRAY", "String")},
    "binary": {("BYTE_ARRAY", "None")},
}
#: The types of Arrow of these columns.
ARROW_TYPES = {"bigint": "int64", "int": "int32", "string": "string", "binary": "binary"}


@dataclass(frozen=True)
class Column:
    """A column of files."""

    name: str
    #: Spark's name of its type.
    kind: str


#: A file, numbers of its row groups, and its size in bytes.
Groups = tuple[str, list[int], int]


@dataclass(frozen=True)
class Scan:
    """Columns of files."""

    columns: list[Column]
    #: Row groups with the number of their rows.
    groups: list[tuple[str, int, int]]
    #: The sizes of the files in bytes.
    sizes: dict[str, int]
    #: The largest id of the first column, if the files tell it.
    last: int | None = None

    def splits(self, tasks: int, least: int) -> list[list[Groups]]:
        """Row groups for about so many tasks, of about as many rows each, and of `least` rows at
        least."""
        rows = sum(rows for _, _, rows in self.groups)
        wanted = max(-(-rows // max(tasks, 1)), least)
        found: list[list[Groups]] = []
        taken = wanted
        for path, number, count in self.groups:
            # A row group goes where more than half of it has room.
            if taken + count // 2 >= wanted:
                found.append([])
                taken = 0
            if not found[-1] or found[-1][-1][0] != path:
                found[-1].append((path, [], self.sizes[path]))
            found[-1][-1][1].append(number)
            taken += count
        return found


    def most_bytes(self, tasks: int) -> int:
        """The bytes of sets of the ids, about, if so many tasks see as many ids each that are as far
        apart as they can be."""
        rows = sum(rows for _, _, rows in self.groups)
        bits = 64.0
        if self.last is not None and rows:
            # Elias-Fano takes two bits an id, and those of the mean distance.
            bits = 3 + math.log2(max(self.last * tasks / rows, 1))
        return math.ceil(rows * min(bits, 64) / 8)


def scan_of(frame: DataFrame, *columns: str) -> Scan | None:
    """What tasks read instead of the rows of these columns; None if it may not be the same."""
    # Spark Connect has no plan to look at.
    java: Any = getattr(frame.select(*(F.col(name) for name in columns)), "_jdf", None)
    if java is None or not _is_plain(frame):
        return None
    plan = java.queryExecution().optimizedPlan()
    wanted = list(_each(plan.output()))
    if _class(plan) == f"{_PLANS}.Project":
        wanted = [_unnamed(expression) for expression in _each(plan.projectList())]
        plan = plan.child()
    if _class(plan) != f"{_SOURCES}.LogicalRelation" or plan.isStreaming():
        return None
    if plan.catalogTable().isDefined() or not _is_of_parquet(plan.relation()):
        return None
    found = [_column(plan, expression) for expression in wanted]
    named = [column for column in found if column is not None]
    files = _files(plan.relation())
    if len(named) < len(columns) or files is None:
        return None
    return _scan(files, named)


def scan_of_files(files: list[str], column: str) -> Scan | None:
    """The scan of a column of ids of these files; None if they are no such Parquet files."""
    if not files or len(files) > _MOST_FILES or "." in column:
        return None
    for path in files:
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as file:
            if file.read(4) != b"PAR1":
                return None
    scans = (_scan(files, [Column(column, kind)]) for kind in ("bigint", "int"))
    return next((scan for scan in scans if scan is not None), None)


def _scan(files: list[str], columns: list[Column]) -> Scan | None:
    groups: list[tuple[str, int, int]] = []
    sizes = {path: os.path.getsize(path) for path in files}
    last: int | None = 0
    for path in files:
        metadata = _metadata(path, columns)
        if metadata is None:
            return None
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            groups.append((path, number, group.num_rows))
            largest = _largest(group, columns[0])
            last = None if last is None or largest is None else max(last, largest)
    return Scan(columns, groups, sizes, last)


def _largest(group: Any, column: Column) -> int | None:
    """The largest id of a row group, if it tells it."""
    if column.kind not in ("bigint", "int"):
        return None
    chunks = (group.column(place) for place in range(group.num_columns))
    told = next(chunk.statistics for chunk in chunks if chunk.path_in_schema == column.name)
    return int(told.max) if told is not None and told.has_min_max else None


def _class(thing: Any) -> str:
    return str(thing.getClass().getName())


def _each(sequence: Any) -> Any:
    """The elements of a sequence of Scala."""
    return (sequence.apply(index) for index in range(sequence.length()))


def _is_plain(frame: DataFrame) -> bool:
    """Whether a scan in this session gives what is in the files."""
    spark: Any = frame.sparkSession
    hadoop = spark._jsparkSession.sessionState().newHadoopConf()
    return hadoop.get("parquet.crypto.factory.class") is None and all(
        spark.conf.get(name, usual) == usual for name, usual in _SETTINGS.items()
    )


def _is_of_parquet(relation: Any) -> bool:
    """Whether a relation is that of Parquet files, without partitions, which Spark listed itself."""
    if _class(relation) != f"{_SOURCES}.HadoopFsRelation":
        return False
    options = {str(option._1()).lower() for option in _each(relation.options().toSeq())}
    return (
        _class(relation.fileFormat()) == f"{_SOURCES}.parquet.ParquetFileFormat"
        and _class(relation.location()) == f"{_SOURCES}.InMemoryFileIndex"
        and relation.partitionSchema().length() == 0
        and relation.bucketSpec().isEmpty()
        and options <= _OPTIONS
    )


def _unnamed(expression: Any) -> Any:
    """An expression without the name that it gets."""
    while _class(expression) == f"{_EXPRESSIONS}.Alias":
        expression = expression.child()
    return expression


def _column(plan: Any, expression: Any) -> Column | None:
    """The column of files that an expression is; None if it is more, or another may be meant."""
    if _class(expression) != f"{_EXPRESSIONS}.AttributeReference":
        return None
    number = expression.exprId().id()
    names = [
        str(column.name()) for column in _each(plan.output()) if column.exprId().id() == number
    ]
    schema = plan.relation().dataSchema()
    kinds = [
        str(field.dataType().catalogString()) for field in _each(schema) if [field.name()] == names
    ]
    if len(kinds) != 1 or kinds[0] not in _TYPES or "." in names[0]:
        return None
    return Column(names[0], kinds[0])


def _files(relation: Any) -> list[str] | None:
    """The files of a relation; None if one is not a local one as it was when Spark listed it."""
    listed = relation.location().allFiles()
    if listed.length() > _MOST_FILES:
        return None
    files = []
    for status in _each(listed):
        place = status.getPath().toUri()
        path = str(place.getPath())
        is_local = place.getScheme() == "file" and place.getAuthority() is None
        # Names that begin so are not data.
        if not is_local or os.path.basename(path)[0] in "._":
            return None
        try:
            if os.path.getsize(path) != status.getLen():
                return None
        except OSError:
            return None
        if status.getLen():
            files.append(path)
    return files


def _metadata(path: str, columns: list[Column]) -> Any:
    """What a file tells of its row groups; None if it does not have these columns."""
    try:
        metadata = pq.read_metadata(path)
    except (OSError, pa.ArrowException):
        return None
    schema = metadata.schema
    paths = [schema.column(index).path for index in range(len(schema))]
    tops = [path.split(".")[0].lower() for path in paths]
    for column in columns:
        # Spark takes no notice of capitals.
        if paths.count(column.name) != 1 or tops.count(column.name.lower()) != 1:
            return None
        place = paths.index(column.name)
        if not _is_of(schema.column(place), column.kind):
            return None
        for group in range(metadata.num_row_groups):
            if metadata.row_group(group).column(place).compression not in _CODECS:
                return None
    return metadata


def check_columns(path: str, schema: Any, columns: list[Column]) -> None:
    """Refuses a file that has other columns than when the driver looked at it."""
    found = {schema.column(place).path: schema.column(place) for place in range(len(schema))}
    for column in columns:
        if column.name not in found or not _is_of(found[column.name], column.kind):
            raise ValueError(f"{path} has changed: {column.name} was a column of {column.kind}")


def _is_of(column: Any, kind: str) -> bool:
    """Whether a column of a file has this type of Spark."""
    logical = json.loads(column.logical_type.to_json())
    name = logical["Type"]
    if name == "Int":
        name = f"Int {logical['bitWidth']}" if logical["isSigned"] else "unsigned"
    is_one = column.max_repetition_level == 0 and column.max_definition_level <= 1
    return is_one and (column.physical_type, name) in _TYPES[kind]
