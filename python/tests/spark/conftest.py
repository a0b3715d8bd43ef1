"""A Spark session of two threads, or of the cluster that BITSORT_SPARK_MASTER names."""

import os
import sys

import pytest
from pyspark.sql import SparkSession

import bitsort.spark as bss

os.environ["PYSPARK_PYTHON"] = sys.executable


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    builder = SparkSession.builder.master(os.environ.get("BITSORT_SPARK_MASTER", "local[2]"))
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.python.filterPushdown.enabled": "true",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.log.level": "ERROR",
        # For a test of tasks that run twice.
        "spark.speculation": "true",
        "spark.speculation.multiplier": "2",
        "spark.speculation.minTaskRuntime": "3s",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    bss.register(session)
    yield session
    session.stop()
