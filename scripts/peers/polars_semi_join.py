"""Writes the numbers of a file that are in another one, with Polars, streaming: the peer of
`bitset filter`.

The number of threads is the environment's POLARS_MAX_THREADS.
"""

import argparse

import polars

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("input")
parser.add_argument("other")
parser.add_argument("output")
args = parser.parse_args()


def scan(path):
    return polars.scan_csv(path, has_header=False, schema={"v": polars.UInt64})


common = scan(args.input).join(scan(args.other), on="v", how="semi", maintain_order="left")
common.sink_csv(args.output, include_header=False)
