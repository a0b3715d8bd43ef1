"""Sorts a file of numbers with DuckDB: the peer of `bitsort`, and with --unique of `bitsort -u`."""

import argparse
import os

import duckdb

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("input")
parser.add_argument("output")
parser.add_argument("--memory", default="2GB", help="DuckDB's memory_limit")
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--unique", action="store_true")
args = parser.parse_args()


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


connection = duckdb.connect()
connection.execute(f"SET memory_limit = {quoted(args.memory)}")
connection.execute(f"SET threads = {args.threads}")
connection.execute(f"SET temp_directory = {quoted(os.path.dirname(args.output) or '.')}")
connection.execute(
    f"COPY (SELECT {'DISTINCT' if args.unique else ''} v"
    f" FROM read_csv({quoted(args.input)}, columns = {{'v': 'UBIGINT'}}, header = false)"
    f" ORDER BY v) TO {quoted(args.output)} (FORMAT csv, HEADER false)"
)
