"""Sorts a file of numbers with Polars, streaming: the peer of `bitsort`, and with --unique of
`bitsort -u`.

The number of threads is the environment's POLARS_MAX_THREADS.
"""

import argparse

import polars

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("input")
parser.add_argument("output")
parser.add_argument("--unique", action="store_true")
args = parser.parse_args()

values = polars.scan_csv(args.input, has_header=False, schema={"v": polars.UInt64})
if args.unique:
    values = values.unique()
values.sort("v").sink_csv(args.output, include_header=False)
