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

IDS = [random.Random(5).randrange(1 << 33) for _ in range(40_000)]


@pytest.fixture
def cluster(spark):
    return spark


@pytest.fixture
def table(cluster, tmp_path):
    (tmp_path / "ids.txt").write_text("".join(f"{value}\n" for value in IDS))
    lines = cluster.read.text(str(tmp_path / "ids.txt")).selectExpr("cast(value as bigint) as id")
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


def check(tmp_path, result):
    assert result.cardinality == len(set(IDS))
    with bs.open(tmp_path / "out") as found:
        found.verify()
        assert bs.pieces(found) == bs.pieces(bs.BitSet(IDS))
    assert len(list((tmp_path / "out").iterdir())) == result.parts + 1
    assert not list(tmp_path.glob(".bitsort-*"))


def test_an_executor_that_is_killed_in_the_map(table, tmp_path):
    marker = str(tmp_path / "killed")

    def deadly(batches):
        for batch in batches:
            yield batch
            if once(marker):
                kill_executor()

    deadly = table.mapInArrow(deadly, "id bigint")
    check(tmp_path, bss.build(deadly, "id", str(tmp_path / "out"), parts=4))
    assert os.path.exists(marker)


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_executor_that_is_killed_in_the_reduce(table, tmp_path, monkeypatch, when):
    marker = str(tmp_path / "killed")
    real = kernel.reduce_parts

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

    monkeypatch.setattr(kernel, "reduce_parts", deadly)
    check(tmp_path, bss.build(table, "id", str(tmp_path / "out"), parts=4))
    assert os.path.exists(marker)


def test_a_task_that_runs_twice(table, tmp_path, monkeypatch):
    marker, finished = str(tmp_path / "slow"), str(tmp_path / "finished")
    real = kernel.reduce_parts

    def slow(folder):
        inner = real(folder)

        def task(
            key: tuple[kernel.pa.Scalar, ...], batches: kernel.Iterator[kernel.pa.RecordBatch]
        ) -> kernel.Iterator[kernel.pa.RecordBatch]:
            # Another run of the task begins meanwhile, as this one seems to hang.
            if once(marker):
                time.sleep(30)
            found = list(inner(key, batches))
            with open(finished, "a") as log:
                log.write(f"{key[0].as_py()}\n")
            yield from found

        return task

    monkeypatch.setattr(kernel, "reduce_parts", slow)
    table.sparkSession.conf.set("spark.sql.adaptive.enabled", "false")
    started = time.monotonic()
    try:
        check(tmp_path, bss.build(table, "id", str(tmp_path / "out"), parts=4))
    finally:
        table.sparkSession.conf.unset("spark.sql.adaptive.enabled")
    assert time.monotonic() - started < 600 and os.path.exists(marker)
