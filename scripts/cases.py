"""What `bench-commands` measures: data, commands, and which of them are put side by side."""

from dataclasses import dataclass, field

URL = "https://www.example.org/catalogue/pages/of/numbers?id="
# Arguments of the generator, and bytes a line at the most.
DATA = {
    "uniform-u32": ("--distribution uniform --max 4294967295", 11),
    "others-u32": ("--distribution uniform --max 4294967295 --seed 2", 11),
    "uniform-u64": ("--distribution u64", 21),
    "zipf": ("--distribution zipf --max 4294967295 --exponent 1.1", 11),
    "equal": ("--distribution equal --max 4294967295", 11),
    "sorted": ("--distribution sorted --max 4294967295", 11),
    "reversed": ("--distribution reversed --max 4294967295", 11),
    # 64 bytes each; half of the second are among the first.
    "urls": (f"--distribution permutation --min 1000000000 --prefix {URL}", 65),
    "other-urls": (f"--distribution permutation --min 1025000000 --seed 2 --prefix {URL}", 65),
}


@dataclass
class Entry:
    """One command of a case; the words IN, OUT, OTHER (a file of other numbers), SET (these as a
    set), FILTER and DCSO (as Bloom filters), MEMBER (one of them) and URLS (other URLs) are filled
    in. Without OUT, standard output is the output."""

    tool: str
    command: str
    data: str = "uniform-u32"
    expect: str = "sorted"  # or unique, set, answer, copy, or a name that all of one output share
    lines: int = 0  # 0: as many as --count says
    slow: bool = False
    needs: str = ""  # a program that may be absent
    brief: bool = False  # needs no memory to speak of: what makes some ready would be in its way
    environment: dict = field(default_factory=dict)


@dataclass
class Case:
    """Entries measured in turn; the others' ratios are to the first."""

    title: str
    entries: list
    curve: str = ""  # what varies, if a line is to be drawn


def bitsort(data="uniform-u32", tool="bitsort", options="", memory="2G", threads=2, **more):
    options = f"{options} " if options else ""
    command = f"bitsort {options}IN -o OUT --mem {memory} --threads {threads}"
    return Entry(tool, command, data, **more)


def cases(threads):
    def peers(data, unique):
        dash_u, word, expect = ("u", " --unique", "unique") if unique else ("", "", "sorted")
        gnu = f"sort -n{dash_u} -S 2G --parallel={threads} IN -o OUT"
        duckdb = f"python scripts/peers/duckdb_sort.py IN OUT --memory 2GB --threads {threads}{word}"
        polars = f"python scripts/peers/polars_sort.py IN OUT{word}"
        limit = {"POLARS_MAX_THREADS": str(threads)}
        return [
            Entry("Polars", polars, data, expect, environment=limit),
            Entry("DuckDB", duckdb, data, expect),
            Entry("GNU sort", gnu, data, expect, slow=True, environment={"LC_ALL": "C"}),
        ]

    def shape(data):
        beside = bitsort(tool="bitsort, uniform-u32", threads=threads)
        return Case(f"{data} beside uniform-u32", [beside, bitsort(data, f"bitsort, {data}", threads=threads)])

    def whole(data):
        return [bitsort(data, threads=threads), Entry("cp", "cp IN OUT", data, "copy"), *peers(data, False)]

    def polars(**more):
        command = "python scripts/peers/polars_sort.py IN OUT"
        return Entry(command=command, environment={"POLARS_MAX_THREADS": str(threads)}, **more)

    small = bitsort(tool="bitsort --mem 64M", memory="64M", threads=threads)
    amounts = [10**6, 10**7, 10**8, 3 * 10**8]
    sizes = ["64M", "128M", "256M", "512M", "1G", "2G", "4G"]
    semi = "python scripts/peers/polars_semi_join.py IN OTHER OUT"
    return {
        "uniform-u32": Case("uniform 32-bit numbers, duplicates kept", whole("uniform-u32")),
        "unique-u32": Case(
            "uniform 32-bit numbers, each once (-u)",
            [
                bitsort(tool="bitsort -u", options="-u", expect="unique", threads=threads),
                bitsort(tool="bitsort, all kept", threads=threads),
                *peers("uniform-u32", True),
            ],
        ),
        "uniform-u64": Case("uniform 64-bit numbers, duplicates kept", whole("uniform-u64")),
        "zipf": shape("zipf"),
        "equal": shape("equal"),
        "sorted": shape("sorted"),
        "reversed": shape("reversed"),
        "mem-64m": Case(
            "uniform-u32 in 64 MiB beside 2 GiB",
            [bitsort(tool="bitsort --mem 2G", threads=threads), small],
        ),
        "set-build": Case(
            "a set of uniform 32-bit numbers",
            [
                Entry("bitset build", f"bitset build IN -o OUT --to bits --mem 2G --threads {threads}", expect="set"),
                bitsort(tool="bitsort -u", options="-u", expect="unique", threads=threads),
            ],
        ),
        "set-filter": Case(
            "lines that are in a set of as many others",
            [
                Entry("bitset filter", f"bitset filter SET IN --threads {threads}", expect="common"),
                Entry("Polars", semi, expect="common", environment={"POLARS_MAX_THREADS": str(threads)}),
            ],
        ),
        "set-contains": Case(
            "one question to a set file, the whole process",
            [Entry("bitset contains", "bitset contains SET MEMBER", expect="answer", brief=True)],
        ),
        "bloom-filter": Case(
            "lines that a Bloom filter of as many others may have, one thread",
            [
                Entry("bitset bloom filter", "bitset bloom filter FILTER IN --threads 1", expect="maybe"),
                Entry("bitset, DCSO's file", "bitset bloom filter DCSO IN --threads 1", expect="maybe-dcso"),
                Entry("DCSO bloom", "sh -c 'exec bloom check $0 < $1' DCSO IN", expect="maybe-dcso", slow=True,
                      needs="bloom", environment={"GOMAXPROCS": "1"}),
            ],
        ),
        "bloom-dedup": Case(
            "lines, each the first time, one thread",
            [
                Entry("bitset bloom dedup", "bitset bloom dedup IN --threads 1", expect="probably-new"),
                Entry("bitset, --exact", "bitset bloom dedup --exact IN --threads 1", expect="new"),
                Entry("runiq", "runiq IN", expect="new", slow=True, needs="runiq"),
            ],
        ),
        "bloom-common": Case(
            "lines that two files of URLs share",
            [Entry("bitset bloom common", f"bitset bloom common URLS IN --mem 1G --threads {threads}", "urls",
                   "shared", lines=50_000_000)],
        ),
        "scale-lines": Case(
            "uniform 32-bit numbers by lines",
            [bitsort(tool=f"bitsort, {n:g} lines", threads=threads, lines=n) for n in amounts]
            + [polars(tool=f"Polars, {n:g} lines", lines=n) for n in amounts[:3]],
            "lines",
        ),
        "scale-memory": Case(
            "uniform 32-bit numbers by --mem",
            [bitsort(tool=f"bitsort --mem {size}", memory=size, threads=threads) for size in sizes],
            "memory",
        ),
        "scale-threads": Case(
            "uniform 32-bit numbers by threads",
            [bitsort(tool=f"bitsort --threads {n}", threads=n) for n in range(1, threads + 1)],
            "threads",
        ),
    }
