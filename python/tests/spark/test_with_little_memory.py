"""Workers with too little memory. It comes last, as it ends the session of the other tests."""

import os

import pytest
from pyspark.sql import SparkSession

import bitsort.spark as bss

pytestmark = pytest.mark.skipif(
    not os.environ.get("BITSORT_SPARK_MASTER", "").startswith("spark://"), reason="takes a cluster"
)


def test_workers_with_too_little_memory(spark, tmp_path):
    settings = dict(spark.sparkContext.getConf().getAll())
    spark.stop()
    builder = SparkSession.builder
    for name, value in {**settings, "spark.executor.pyspark.memory": "200m"}.items():
        if not name.startswith("spark.app."):
            builder = builder.config(name, value)
    small = builder.getOrCreate()
    try:
        ids = small.range(0, 6_000_000, 1, 2).selectExpr("id * 1000003 as id")
        with pytest.raises(Exception, match="(?i)memory|worker exited unexpectedly"):
            bss.build(ids, "id", str(tmp_path / "out"))
        assert not list(tmp_path.iterdir())
    finally:
        small.stop()
