"""What a cluster does to tasks: they are killed, run twice, or get too little memory."""

import os
import random
import signal
import sys
import time
from pathlib import Path

import pytest
from pyspark import cloudpickle

import bitsort as bs
import bitsort.spark as bss
from bitsort.spark import _kernel as kernel

pytestmark = pytest.mark.skipif(
    not os.environ.get("BITSORT_SPARK_MASTER", "").startswith("spark://"), reason="takes a cluster"
)
# Workers do not have this module.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

numbers = random.Random(5)
IDS = [numbers.randrange(1 << 33) for _ in range(40_000)]


@pytest.fixture
def cluster(spark):
    return spark


@pytest.fixture
def table(cluster, tmp_path):
    (tmp_path / "ids.txt").write_text("".join(f"{value}\n" for value in IDS))
    lines = cluster.read.text(str(tmp_path / "ids.txt")).selectExpr(
        "cast(value as bigint) as id", "concat('key ', cast(value as bigint) % 7) as tag"
    )
    return lines.repartition(4)


def once(marker):
    """Whether it is the first time that anybody asks."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def kill_executor():
    """Kills the executor of this task: the parent of the daemon that started this worker."""
    process = os.getpid()
    while True:
        status = Path(f"/proc/{process}/status").read_text()
        process = int(status.split("PPid:")[1].split()[0])
        if process <= 1:
            raise RuntimeError("there is no executor above this worker")
        if b"CoarseGrainedExecutorBackend" in Path(f"/proc/{process}/cmdline").read_bytes():
            os.kill(process, signal.SIGKILL)
            time.sleep(60)


def build(table, tmp_path):
    """A set of the ids, which must be that of one machine."""
    result = bss.build(table, "id", str(tmp_path / "out"), parts=4)
    assert result.cardinality == len(set(IDS))
    with bs.open(tmp_path / "out") as found:
        found.verify()
        assert bs.pieces(found) == bs.pieces(bs.BitSet(IDS))
    assert len(list((tmp_path / "out").iterdir())) == result.parts + 1
    assert not list(tmp_path.glob(".bitsort-*"))


def group(table, tmp_path):
    """Sets by key, which must be the file of one machine."""
    result = bss.group(table, "tag", "id", str(tmp_path / "out"), parts=4)
    assert (result.sets, result.values) == (7, len(set(IDS)))
    bs.group([([f"key {value % 7}" for value in IDS], IDS)], tmp_path / "one")
    assert (tmp_path / "out").read_bytes() == (tmp_path / "one").read_bytes()
    assert not list(tmp_path.glob(".bitsort-*"))


#: What is made, and the function that makes its reducer.
JOBS = pytest.mark.parametrize(
    "make, reducer", [(build, "reduce_parts"), (group, "reduce_sets")], ids=["build", "group"]
)


@JOBS
def test_an_executor_that_is_killed_in_the_map(table, tmp_path, make, reducer):
    marker = str(tmp_path / "killed")

    def deadly(batches):
        for batch in batches:
            yield batch
            if once(marker):
                kill_executor()

    make(table.mapInArrow(deadly, "id bigint, tag string"), tmp_path)
    assert os.path.exists(marker)


@JOBS
@pytest.mark.parametrize("when", ["before", "after"])
def test_an_executor_that_is_killed_in_the_reduce(
    table, tmp_path, monkeypatch, make, reducer, when
):
    marker = str(tmp_path / "killed")
    real = getattr(kernel, reducer)

    def deadly(folder):
        inner = real(folder)

        def task(
            key: tuple[kernel.pa.Scalar, ...], batches: kernel.Iterator[kernel.pa.RecordBatch]
        ) -> kernel.Iterator[kernel.pa.RecordBatch]:
            if when == "before" and once(marker):
                kill_executor()
            found = list(inner(key, batches))
            if when == "after" and once(marker):
                kill_executor()
            yield from found

        return task

    monkeypatch.setattr(kernel, reducer, deadly)
    make(table, tmp_path)
    assert os.path.exists(marker)


@JOBS
def test_a_task_that_runs_twice(table, tmp_path, monkeypatch, make, reducer):
    marker, started = str(tmp_path / "slow"), tmp_path / "started"
    real = getattr(kernel, reducer)

    def slow(folder):
        inner = real(folder)

        def task(
            key: tuple[kernel.pa.Scalar, ...], batches: kernel.Iterator[kernel.pa.RecordBatch]
        ) -> kernel.Iterator[kernel.pa.RecordBatch]:
            with open(started, "a") as log:
                log.write(f"{key[0].as_py()}\n")
            # Another run of the task begins meanwhile, as this one seems to hang.
            if once(marker):
                time.sleep(30)
            yield from inner(key, batches)

        return task

    monkeypatch.setattr(kernel, reducer, slow)
    table.sparkSession.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        make(table, tmp_path)
    finally:
        table.sparkSession.conf.unset("spark.sql.adaptive.enabled")
    buckets = started.read_text().split()
    assert len(buckets) > len(set(buckets))


@JOBS
def test_a_job_whose_tasks_keep_dying_leaves_nothing(
    table, tmp_path, monkeypatch, make, reducer
):
    def failing(folder):
        def task(
            key: tuple[kernel.pa.Scalar, ...], batches: kernel.Iterator[kernel.pa.RecordBatch]
        ) -> kernel.Iterator[kernel.pa.RecordBatch]:
            yield from real(folder)(key, batches)
            raise RuntimeError("it is over")

        return task

    real = getattr(kernel, reducer)
    monkeypatch.setattr(kernel, reducer, failing)
    with pytest.raises(Exception, match="it is over"):
        make(table, tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["ids.txt"]
