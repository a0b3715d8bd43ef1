"""Looks whether memory is left behind: ROUNDS rounds of everything that hands memory over.

    python leaks.py [ROUNDS]

Ends with 1 if the resident memory grows by more than 2 MiB after the first tenth of the rounds. `test_leaks.py`
calls it with few rounds.
"""

import gc
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

import bitsort as bs

MOST = 2 << 20
ARRAY = np.arange(0, 40_000, 7, dtype=np.uint64)
TABLE = pa.table({"id": ARRAY})


def resident():
    """Bytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def arrays():
    assert len(np.asarray(bs.BitSet(ARRAY).values())) == len(ARRAY)
    assert len(bs.sort(ARRAY[::-1])) == len(ARRAY)


def serialized():
    assert len(bs.BitSet.deserialize(bs.BitSet(ARRAY).serialize())) == len(ARRAY)


def streams():
    ids = bs.BitSet.from_arrow(TABLE, "id")
    assert pa.table(ids.to_arrow("id")).num_rows == len(ARRAY)
    assert ids.contains_many(TABLE["id"]).null_count == 0


def files(path):
    with bs.open(path) as ids:
        assert 7 in ids and next(iter(ids)) == 0


def errors(path):
    for wrong in (lambda: bs.BitSet([-1]), lambda: bs.open(path), lambda: bs.BitSet.deserialize(b"no set")):
        try:
            wrong()
        except (bs.Error, OverflowError, ValueError, OSError):
            continue
        raise AssertionError("no error")


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as folder:
        path, broken = Path(folder, "ids.bits"), Path(folder, "broken.bits")
        bs.BitSet(ARRAY).write(path)
        broken.write_bytes(path.read_bytes()[:-9])
        before = 0
        for number in range(rounds):
            arrays()
            serialized()
            streams()
            files(path)
            errors(broken)
            if number == rounds // 10:
                gc.collect()
                before = resident()
        gc.collect()
        grown = resident() - before
    print(f"{rounds} rounds: {grown / 1024:.0f} KiB more than after a tenth of them")
    if grown > MOST:
        sys.exit(1)


if __name__ == "__main__":
    main()
