"""The work of one task: ids become pieces of sets, and pieces become parts.

A piece is the bytes of a `.bits` file with the values of one window. Only pieces cross the
shuffle, never ids, so that duplicates of a value collapse where they are read.
"""

import json
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePath
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import bitsort as bs

from ._scan import ARROW_TYPES, Column, Groups, check_columns

#: The rows of pieces: the number of a window, and the bytes.
PIECES = "bucket int, payload binary"
#: The rows that reducers give: the number of a window, and what is told of it, as JSON.
TOLD = "bucket int, told string"
#: The window number of a count of NULLs, which belong to no window.
NULLS = -1

#: Ids that are sorted together.
_BATCH_IDS = 1 << 22
#: Ids that a task gathers before it hands their pieces on. In memory, one of 64 random bits takes
#: some 16 bytes, and one of 2^36 numbers or fewer mostly 2 to 4.
_MOST_WIDE, _MOST_NARROW = 1 << 24, 1 << 26
#: The memory of a kernel that reads text.
_TEXT_MEM = "512M"
#: BIGINT ends there.
_LAST_BIGINT = (1 << 63) - 1


def file_of(path: str) -> str:
    """The file that has the set at a path: FILE:KEY names one of the sets of a file, unless a file
    has this whole name."""
    if os.path.lexists(path):
        return path
    heads = (path[:at] for at, sign in enumerate(path) if sign == ":")
    return next((file for file in heads if os.path.isfile(file)), path)


def rooted(path: str | os.PathLike[str]) -> str:
    """The path from the root. `..` stays as it is: behind a link it is another folder."""
    path = os.fspath(path)
    if not path:
        raise ValueError("the path is empty")
    scheme = re.match("[A-Za-z][A-Za-z0-9+-]*:(?=/)", path)
    if scheme is not None and not os.path.exists(scheme[0]):
        raise ValueError(f"{path} is a URI: give a path that every executor has")
    return str(PurePath(os.getcwd(), path))


def whole_path(path: str | os.PathLike[str]) -> str:
    """The path from the root. In FILE:KEY, the key stays as it is, whatever slashes it has."""
    path = os.fspath(path)
    file = file_of(path)
    return rooted(file) + path[len(file) :]


def folder_beside(out: str) -> str:
    """A new folder for files on their way to `out`, as wide open as the folders that this process
    makes."""
    above = os.path.dirname(rooted(out))
    try:
        folder = tempfile.mkdtemp(prefix=".bitsort-", dir=above)
    except OSError as error:
        error.filename = above
        raise
    try:
        # To ask for the mask of this process would change it for other threads.
        probe = os.path.join(folder, "probe")
        os.mkdir(probe)
        os.chmod(folder, stat.S_IMODE(os.stat(probe).st_mode))
        os.rmdir(probe)
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder


def union_len(pieces: Iterable[pa.RecordBatch]) -> int:
    """The number of values of pieces of any windows."""
    payloads = (
        payload.as_py()
        for batch in pieces
        for bucket, payload in zip(batch.column("bucket").to_pylist(), batch.column("payload"))
        if bucket != NULLS
    )
    return bs.union_len([bs.open_bytes(payload) for payload in payloads])


def _rows(bucket: int, payload: bytes) -> pa.RecordBatch:
    columns = [pa.array([bucket], pa.int32()), pa.array([payload], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, ["bucket", "payload"])


def _counted(nulls: int, rejected: int = 0) -> Iterator[pa.RecordBatch]:
    """The row that tells the numbers of NULLs and of rejected lines, if there are some."""
    if nulls or rejected:
        yield _rows(NULLS, f"{nulls} {rejected}".encode())


def _told(bucket: int, facts: dict[str, Any] | str) -> pa.RecordBatch:
    text = facts if isinstance(facts, str) else json.dumps(facts)
    columns = [pa.array([bucket], pa.int32()), pa.array([text], pa.string())]
    return pa.RecordBatch.from_arrays(columns, ["bucket", "told"])


def naturals(ids: pa.Array) -> pa.Array:
    """The ids of a column that Spark hands over; decimals of 20 digits become 64-bit ids."""
    if not pa.types.is_decimal(ids.type):
        _check_natural(ids, "")
        return ids
    try:
        return pc.cast(ids, pa.uint64())
    except pa.ArrowInvalid:
        for value in ids.drop_null().to_pylist():
            if not 0 <= value < 1 << 64:
                raise ValueError(f"{value} is no id, which is from 0 to 2^64 - 1") from None
        raise


def _check_natural(ids: pa.Array, place: str) -> None:
    """Refuses ids below 0; the place is where they come from."""
    if not pa.types.is_signed_integer(ids.type):
        return
    least = pc.min(ids).as_py()
    if least is not None and least < 0:
        what = "is negative, and ids are not: leave such rows out with where()"
        raise ValueError(f"{place}{least} {what}")


#: How sets are cut into pieces: where windows begin, or the number of buckets. Buckets need no
#: sample, but they are not in order.
Cut = list[int] | int


def pieces(ids: bs.SetFile | bs.BitSet, cut: Cut) -> Iterator[pa.RecordBatch]:
    """The pieces of a set."""
    found = bs.hashed_pieces(ids, cut) if isinstance(cut, int) else bs.pieces(ids, cut)
    for bucket, payload in found:
        yield _rows(bucket, payload)


class Gatherer:
    """Gathers ids into a set, and hands on its pieces when it has many."""

    def __init__(self, cut: Cut) -> None:
        self.cut = cut
        self.ids = bs.BitSet()
        self.waiting: list[pa.Array] = []
        self.rows = 0
        self.nulls = 0

    def take(self, ids: pa.Array) -> Iterator[pa.RecordBatch]:
        if ids.null_count:
            self.nulls += ids.null_count
            ids = ids.drop_null()
        self.waiting.append(naturals(ids))
        self.rows += len(ids)
        if self.rows >= _BATCH_IDS:
            self.sort()
            is_wide = bool(self.ids) and self.ids.max() >> 36 > 0
            if self.ids.count() > (_MOST_WIDE if is_wide else _MOST_NARROW):
                yield from self.pieces()

    def sort(self) -> None:
        if self.rows:
            self.ids = self.ids | bs.gather(pa.chunked_array(self.waiting))
        self.waiting, self.rows = [], 0

    def pieces(self) -> Iterator[pa.RecordBatch]:
        ids, self.ids = self.ids, bs.BitSet()
        yield from pieces(ids, self.cut)

    def finish(self) -> Iterator[pa.RecordBatch]:
        self.sort()
        yield from self.pieces()
        yield from _counted(self.nulls)


Mapper = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def map_ids(cut: Cut) -> Mapper:
    """Batches of ids become pieces."""

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        gatherer = Gatherer(cut)
        for batch in batches:
            yield from gatherer.take(batch.column(0))
        yield from gatherer.finish()

    return task


#: A file, and where its lines begin; None is the whole file.
Split = tuple[str, tuple[int, int] | None]


#: The sizes of files in bytes, as the driver saw them.
Sizes = dict[str, int]


def check_size(path: str, size: int) -> None:
    """Refuses a file that got another size since its parts were chosen."""
    found = os.path.getsize(path)
    if found != size:
        raise ValueError(
            f"{path} has changed: it had {size} bytes when its parts were chosen, and has {found}"
        )


def open_split(split: Split, sizes: Sizes, options: dict[str, Any]) -> bs.SetFile:
    path, place = split
    if path in sizes:
        check_size(file_of(path), sizes[path])
    return bs.open(path, split=place, **{"threads": 1, "mem": _TEXT_MEM, **options})


def map_files(splits: list[Split], sizes: Sizes, options: dict[str, Any], cut: Cut) -> Mapper:
    """The numbers of splits become pieces."""

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for index in numbers(batches):
            with open_split(splits[index], sizes, options) as ids:
                yield from pieces(ids, cut)
                yield from _counted(ids.blank, ids.rejected)

    return task


def numbers(batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    """The numbers that a task is to see to."""
    return (number for batch in batches for number in batch.column(0).to_pylist())


#: Bytes of a piece of text that is looked at for a sample.
_SAMPLE_BYTES = 1 << 16


def sample_files(
    splits: list[Split], sizes: Sizes, options: dict[str, Any], most: int
) -> Mapper:
    """Some ids of pieces of each split of text."""

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for index in numbers(batches):
            path, place = splits[index]
            assert place is not None, "the file has splits"
            offset, length = place
            for quarter in range(4):
                look = (offset + length * quarter // 4, min(_SAMPLE_BYTES, length))
                with open_split((path, look), sizes, {**options, "mem": "64M"}) as ids:
                    step = max(ids.count() // most, 1)
                    some = [ids[rank] for rank in range(0, ids.count(), step)]
                    yield _rows(0, bs.BitSet(some).serialize())

    return task


#: Rows of a batch that a task reads from Parquet files.
_GROUP_ROWS = 1 << 16
#: Bytes that it reads at a time.
_READ_BYTES = 1 << 20


def _row_batches(
    groups: Groups, columns: list[Column], rows: int = _GROUP_ROWS
) -> Iterator[pa.RecordBatch]:
    """Rows of Parquet files, as Spark would hand them over. The last column has the ids."""
    path, numbers_of_groups, size = groups
    names = list({column.name for column in columns})
    with pq.ParquetFile(path, buffer_size=_READ_BYTES) as file:
        check_columns(path, file.schema, columns)
        check_size(path, size)
        found = file.iter_batches(rows, numbers_of_groups, columns=names, use_threads=False)
        for batch in found:
            arrays = [
                # A file may say that Arrow has another type for the same values.
                pc.cast(batch.column(column.name), ARROW_TYPES[column.kind])
                for column in columns
            ]
            # Rows without a key are dropped, whatever their ids are.
            ids = arrays[-1].filter(arrays[0].is_valid()) if len(arrays) > 1 else arrays[-1]
            _check_natural(ids, f"{path}: {columns[-1].name}: ")
            yield pa.RecordBatch.from_arrays(arrays, [str(place) for place in range(len(arrays))])


def map_groups(splits: list[list[Groups]], columns: list[Column], mapper: Mapper) -> Mapper:
    """The numbers of splits of Parquet files become what a task makes of their rows."""

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return mapper(
            batch
            for index in numbers(batches)
            for groups in splits[index]
            for batch in _row_batches(groups, columns)
        )

    return task


def sample_groups(groups: list[Groups], column: Column, most: int) -> Mapper:
    """The first ids of row groups."""

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for index in numbers(batches):
            for batch in _row_batches(groups[index], [column], most):
                ids = batch.column(0).drop_null()
                yield _rows(0, bs.gather(ids).serialize())
                break

    return task


def _payloads(batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    return (payload.as_py() for batch in batches for payload in batch.column("payload"))


def opened(batches: Iterable[pa.RecordBatch]) -> list[bs.SetFile]:
    """The pieces of a window."""
    return [bs.open_bytes(payload) for payload in _payloads(batches)]


# PySpark takes the iterator form of `applyInArrow` only where the annotations are complete.
Reducer = Callable[[tuple[pa.Scalar, ...], Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
#: What a reducer does with the batches of a bucket.
_Reduce = Callable[[int, Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def _reducer(reduce: _Reduce, tells_nulls: bool = True) -> Reducer:
    """A task that reduces a bucket of pieces. The counts of NULLs are added up, and told unless
    its rows are of another kind."""

    def task(key: tuple[pa.Scalar, ...], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        bucket = key[0].as_py()
        if bucket != NULLS:
            yield from reduce(bucket, batches)
        elif tells_nulls:
            counts = [map(int, payload.split()) for payload in _payloads(batches)]
            nulls, rejected = map(sum, zip(*counts))
            yield _told(NULLS, {"nulls": nulls, "rejected": rejected})

    return task


def reduce_parts(folder: str) -> Reducer:
    """The pieces of a window become a part of a folder."""

    def reduce(window: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        row = bs.write_part(folder, window, opened(batches))
        if row is not None:
            yield _told(window, row)

    return _reducer(reduce)


def reduce_values(folder: str, form: str, name: str) -> Reducer:
    """The pieces of a window become a file of its values, in order."""

    def reduce(window: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with bs.union(opened(batches)) as ids:
            yield _written(folder, name.format(window), ids, form, window)

    return _reducer(reduce)


def reduce_counts() -> Reducer:
    """The pieces of a window become the number of its values."""

    def reduce(window: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield _told(window, {"cardinality": bs.union_len(opened(batches))})

    return _reducer(reduce)


def bigints(ids: bs.SetFile, name: str, first: int = 0, end: int | None = None) -> Iterator[pa.RecordBatch]:
    """The values of a set, from one rank to before another, as BIGINT."""
    end = ids.count() if end is None else end
    if first >= end:
        return
    if ids[end - 1] > _LAST_BIGINT:
        raise ValueError(f"{ids[end - 1]} is no BIGINT, which ends at 2^63 - 1")
    step = 1 << 20
    for rank in range(first, end, step):
        values = pa.array(ids[rank : min(rank + step, end)].values())
        yield pa.RecordBatch.from_arrays([values.view(pa.int64())], [name])


def reduce_ids(name: str) -> Reducer:
    """The pieces of a window become rows."""

    def reduce(window: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with bs.union(opened(batches)) as ids:
            yield from bigints(ids, name)

    return _reducer(reduce, tells_nulls=False)


def map_rows(buckets: int) -> Mapper:
    """Batches of keys and ids become pieces of sets by key, cut by hashes of the keys."""

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        nulls = 0

        def rows() -> Iterator[tuple[pa.Array, pa.Array]]:
            nonlocal nulls
            for batch in batches:
                keys, ids = batch.columns
                if pa.types.is_integer(keys.type):
                    keys = pc.cast(keys, pa.string())
                if keys.null_count or ids.null_count:
                    is_whole = pc.and_(keys.is_valid(), ids.is_valid())
                    keys, ids = keys.filter(is_whole), ids.filter(is_whole)
                    nulls += len(is_whole) - len(ids)
                yield keys, naturals(ids)

        def write(path: str) -> int:
            bs.group(rows(), path, mem=_TEXT_MEM, threads=1)
            return nulls

        yield from _grouped(write, buckets)

    return task


def _grouped(write: Callable[[str], int], buckets: int) -> Iterator[pa.RecordBatch]:
    """The pieces of the file of sets that `write` writes; it gives the number of NULLs."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.sets")
        nulls = write(path)
        pieces = bs.keyed_pieces(path, buckets)
    # The file has no name now: a task that is killed leaves nothing.
    for bucket, payload in pieces:
        yield _rows(bucket, payload)
    yield from _counted(nulls)


def map_row_files(files: list[str], options: dict[str, Any], buckets: int) -> Mapper:
    """Files of keys and ids become pieces of sets by key."""

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        mine = [files[index] for index in numbers(batches)]

        def write(path: str) -> int:
            limits = {"mem": _TEXT_MEM, "threads": 1}
            return bs.group_files(mine, path, **{**limits, **options})[2]

        if mine:
            yield from _grouped(write, buckets)

    return task


def reduce_sets(folder: str) -> Reducer:
    """The pieces of a bucket of keys become a file of sets."""

    def reduce(bucket: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        name = f"bucket-{bucket:05}.sets"
        bs.keyed_union(_payloads(batches), os.path.join(folder, name))
        yield _told(bucket, {"name": name})

    return _reducer(reduce)


def _bitmaps(batch: pa.RecordBatch) -> tuple[bs.BitSet, int]:
    """The set of rows of a bucket number and a bitmap, and the number of rows that lack one."""
    buckets, bitmaps = (column.to_pylist() for column in batch.columns)
    rows = [row for row in zip(buckets, bitmaps) if None not in row]
    return bs.from_spark_rows(rows), len(buckets) - len(rows)


def map_bitmaps(cut: Cut) -> Mapper:
    """Rows of bitmaps become pieces."""

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        gatherer = Gatherer(cut)
        for batch in batches:
            ids, nulls = _bitmaps(batch)
            gatherer.nulls += nulls
            gatherer.ids |= ids
            if gatherer.ids.count() > _MOST_NARROW:
                yield from gatherer.pieces()
        yield from gatherer.finish()

    return task


#: Rows of bitmaps that are made together, at most.
_MOST_BITMAPS = 1 << 12
#: Numbers that a bitmap of Spark has bits for.
_BITMAP_IDS = 1 << 15


def bitmap_start(value: int) -> int:
    """The first number of the bitmap that has this one: bitmap 1 begins with 1."""
    return (value - 1) // _BITMAP_IDS * _BITMAP_IDS + 1 if value else 0


def _end_of_bitmaps(ids: bs.SetFile, first: int) -> int:
    """Where the bitmaps end that are made together: of so many ids, or so many neighbours."""
    rank = min(ids.rank(first) - 1 + _MOST_BITMAPS, ids.count() - 1)
    # Bitmap 0 has the number 0 alone.
    return max(bitmap_start(ids[rank]), bitmap_start(max(first, 1)) + _MOST_BITMAPS * _BITMAP_IDS)


def bitmap_rows(path: str, windows: list[tuple[int, int]]) -> Mapper:
    """Windows of a set, whose ends are those of bitmaps, become rows of bitmaps."""

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with bs.open(path) as ids:
            for number in numbers(batches):
                first, last = windows[number]
                while first <= last and (here := ids.next(first)) is not None and here <= last:
                    end = min(_end_of_bitmaps(ids, here), last + 1)
                    buckets, bitmaps = zip(*bs.spark_rows(ids.range(here, end)))
                    columns = [pa.array(buckets, pa.int64()), pa.array(bitmaps, pa.binary())]
                    yield pa.RecordBatch.from_arrays(columns, ["bucket", "bitmap"])
                    first = end

    return task


#: A range of values: the first and the last one.
Window = tuple[int, int]


def windows(starts: list[int]) -> list[Window]:
    """The windows that begin at 0 and at these values."""
    return list(zip([0, *starts], [*(start - 1 for start in starts), (1 << 64) - 1]))


def join_windows(folder: str, paths: list[str], operation: str, windows: list[Window]) -> Mapper:
    """Joins sets by an operation, window by window; each result becomes a part of a folder."""

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sets = [bs.open(path) for path in paths]
        for number in numbers(batches):
            first, last = windows[number]
            row = bs.write_part(folder, number, sets, operation=operation, first=first, last=last)
            if row is not None:
                yield _told(number, row)

    return task


def write_windows(
    folder: str, paths: list[str], form: str, name: str, windows: list[Window]
) -> Mapper:
    """The values of any of the sets in a window become a file, in order."""

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sets = [bs.open(path) for path in paths]
        for number in numbers(batches):
            first, last = windows[number]
            with tempfile.TemporaryDirectory() as own:
                row = bs.write_part(own, number, sets, first=first, last=last)
                if row is not None:
                    with bs.open(os.path.join(own, json.loads(row)["name"])) as ids:
                        yield _written(folder, name.format(number), ids, form, number)

    return task


def _written(folder: str, name: str, ids: bs.SetFile, form: str, window: int) -> pa.RecordBatch:
    """Writes the values of a window; gives what is told of the file."""
    ids.write(os.path.join(folder, name), format=form)
    return _told(window, {"name": name, "cardinality": ids.count()})


def map_keys(count: int, rate: float) -> Mapper:
    """Keys become a filter for all keys."""

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        keys = bs.Bloom(count, rate)
        for batch in batches:
            keys.add_many(naturals(batch.column(0).drop_null()))
        yield _rows(0, keys.serialize())

    return task


def reduce_filters() -> Reducer:
    """Filters become one."""

    def task(key: tuple[pa.Scalar, ...], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        merged: bs.Bloom | None = None
        for one in map(bs.Bloom.deserialize, _payloads(batches)):
            if merged is None:
                merged = one
            else:
                merged.merge(one)
        if merged is not None:
            yield _rows(0, merged.serialize())

    return task
