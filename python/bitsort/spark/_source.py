"""The data source "bits": sets as tables of one BIGINT column."""

import fcntl
import os
import shutil
import uuid
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    InputPartition,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

import bitsort as bs

from . import _kernel as kernel

_LAST = (1 << 64) - 1
#: Ids of a partition, at most, unless the option `partitions` says how many there are.
_PARTITION_IDS = 1 << 24


class BitsDataSource(DataSource):
    """`spark.read.format("bits").load(path)` and `df.write.format("bits").save(path)`.

    Reading takes a `.bits` file or a folder; options are `column`, the name of the column, `id` by
    default, `partitions`, and `filters`: with "true", comparisons of the id with numbers are
    answered by the set. Spark must allow that (`spark.sql.python.filterPushdown.enabled`). Warning:
    Spark 4.3 keeps the filters of one use of a DataFrame and applies them to its other uses, in later
    queries and in the same one. These then lack rows. So load the set again for each use, and make no
    view of it.

    Writing makes a folder: tasks write a set each, and the driver joins them into `parts` parts;
    `build` of this package has no such last step. The mode "append" adds to a set that is there.
    """

    @classmethod
    def name(cls) -> str:
        return "bits"

    def schema(self) -> str:
        name = self.options.get("column", "id").replace("`", "``")
        return f"`{name}` bigint"

    def path(self) -> str:
        path = self.options.get("path")
        if not path:
            raise ValueError("the data source bits takes one path")
        return kernel.whole_path(path)

    def number(self, option: str) -> int | None:
        given = self.options.get(option)
        if not given:
            return None
        if not given.isdecimal() or int(given) < 1:
            raise ValueError(f"{option} are 1 or more, not {given}")
        return int(given)

    def reader(self, schema: StructType) -> "BitsReader":
        if len(schema) != 1 or schema[0].dataType.simpleString() != "bigint":
            raise ValueError(f"a set has one column of BIGINT, not {schema.simpleString()}")
        partitions = self.number("partitions")
        takes_filters = self.options.get("filters", "false").lower() == "true"
        kind = FilteringReader if takes_filters else BitsReader
        return kind(self.path(), schema[0].name, partitions)

    def writer(self, schema: StructType, overwrite: bool) -> "BitsWriter":
        kinds = [field.dataType.simpleString() for field in schema]
        if len(kinds) != 1 or kinds[0] not in ("tinyint", "smallint", "int", "bigint"):
            raise ValueError(f"a set has one column of integers, not {schema.simpleString()}")
        return BitsWriter(self.path(), overwrite, self.number("parts") or 1)


@dataclass
class Window(InputPartition):
    """Ids from the first to the last. Spark keeps the windows of a DataFrame for later queries, when
    another set may have taken the place of this one: ranks would then be those of other ids."""

    first: int
    last: int


class BitsReader(DataSourceReader):
    """Reads a set by windows of ids, or looks wanted ids up."""

    def __init__(self, path: str, column: str, partitions: int | None) -> None:
        self.path, self.column, self.wanted = path, column, partitions
        self.first, self.last = 0, _LAST
        self.among: set[int] | None = None

    def partitions(self) -> Sequence[InputPartition]:
        if self.among is not None:
            return [Window(self.first, self.last)]
        with bs.open(self.path) as ids:
            rank, end = _ranks(ids, self.first, self.last)
            count = self.wanted or -(-(end - rank) // _PARTITION_IDS) or 1
            places = (rank + (end - rank) * number // count for number in range(1, count))
            starts = [ids[place] if place < end else self.last + 1 for place in places]
        lasts = [*(start - 1 for start in starts), self.last]
        return [Window(first, last) for first, last in zip([self.first, *starts], lasts)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Window)
        with bs.open(self.path) as ids:
            if self.among is None:
                ranks = _ranks(ids, partition.first, partition.last)
                yield from kernel.bigints(ids, self.column, *ranks)
                return
            found = sorted(
                value for value in self.among if self.first <= value <= self.last and value in ids
            )
            yield pa.RecordBatch.from_arrays([pa.array(found, pa.int64())], [self.column])


def _ranks(ids: bs.SetFile, first: int, last: int) -> tuple[int, int]:
    """The ranks of the ids from `first` to `last`."""
    if last < first:
        return 0, 0
    return ids.rank(first - 1) if first else 0, ids.rank(last)


class FilteringReader(BitsReader):
    """The same, where the set answers comparisons of ids. Spark refuses it unless its setting
    allows readers to take filters."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        for filter in filters:
            if not self._take(filter):
                yield filter

    def _take(self, filter: Filter) -> bool:
        if getattr(filter, "attribute", None) != (self.column,):
            return False
        if isinstance(filter, IsNotNull):
            return True
        values = filter.value if isinstance(filter, In) else (getattr(filter, "value", None),)
        if any(isinstance(value, bool) or not isinstance(value, int) for value in values):
            return False
        if isinstance(filter, EqualTo | In):
            found = {value for value in values if value >= 0}
            self.among = found if self.among is None else self.among & found
        elif isinstance(filter, GreaterThan):
            self.first = max(self.first, filter.value + 1)
        elif isinstance(filter, GreaterThanOrEqual):
            self.first = max(self.first, filter.value)
        elif isinstance(filter, LessThan):
            self.last = min(self.last, filter.value - 1)
        elif isinstance(filter, LessThanOrEqual):
            self.last = min(self.last, filter.value)
        else:
            return False
        return True


@dataclass
class Written(WriterCommitMessage):
    """The set of a task; none if it had no ids."""

    path: str | None
    #: Rows without an id, which it dropped.
    nulls: int


@contextmanager
def _locked(folder: str) -> Iterator[None]:
    """Waits for other writers into a folder: two that add to one set at the same time lose nothing."""
    with ExitStack() as stack:
        with suppress(OSError):  # some folders cannot be read, and some file systems have no locks
            place = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, place)
            fcntl.flock(place, fcntl.LOCK_EX)
        yield


class BitsWriter(DataSourceArrowWriter):
    """Tasks write sets, and the driver joins them."""

    def __init__(self, path: str, overwrite: bool, parts: int) -> None:
        if os.path.isfile(path):
            raise ValueError(f"{path} is a file, and a set is written as a folder")
        # What cannot be replaced or added to is refused before rows are read.
        bs.FolderWriter(path).close()
        if not overwrite and os.path.exists(path):
            bs.open(path).close()
        self.path, self.overwrite, self.parts = path, overwrite, parts
        self.folder = kernel.folder_beside(path)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        gatherer = kernel.Gatherer([])
        pieces = [piece for batch in iterator for piece in gatherer.take(batch.column(0))]
        pieces += gatherer.finish()
        sets = [batch for batch in pieces if batch.column(0)[0].as_py() != kernel.NULLS]
        if not sets:
            return Written(None, gatherer.nulls)
        path = os.path.join(self.folder, f"{uuid.uuid4().hex}.bits")
        with bs.union(kernel.opened(sets)) as ids:
            ids.write(path)
        return Written(path, gatherer.nulls)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        try:
            written = [message for message in messages if isinstance(message, Written)]
            nulls = sum(message.nulls for message in written)
            if nulls:
                warnings.warn(f"{nulls} rows without an id were dropped", stacklevel=2)
            paths = [message.path for message in written]
            sets = [bs.open(path) for path in paths if path is not None]
            with _locked(os.path.dirname(os.path.realpath(self.path))):
                if not self.overwrite and os.path.exists(self.path):
                    sets.append(bs.open(self.path))
                with bs.union(sets) as ids:
                    ids.write(self.path, parts=self.parts)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
