"""Writes the tables of README.md and docs/benchmarks.md between their marks, each from the newest
record that has its figures."""

import re

from machine import REPOSITORY
from records import RECORDS, kind

# What a record has if its kind was measured whole.
WHOLE = {
    "commands": ["## uniform-u32:", "## scale-threads:"],
    "representations": ["## uniform: contains", "## clustered: or"],
    "bloom": ["## 10,000 keys", "## 100,000,000 keys", "| contains, mixed |"],
}
# What a record of commands has if it can stand beside others.
COMMON = "- lines: 100000000"
# The rows of the README's table.
SORTS = {
    "uniform-u32": "32-bit numbers, 1.07 GB",
    "unique-u32": "the same, each once (`-u`)",
    "uniform-u64": "64-bit numbers, 2.04 GB",
    "mem-64m": "32-bit numbers, `--mem 64M`",
}


def newest(whole=WHOLE):
    """The tables of the newest record of each kind, of those that are whole."""
    found = {}
    for path in RECORDS.glob("*.md"):
        text = path.read_text()
        if not all(mark in text for mark in whole.get(kind(path), [])):
            continue
        date = re.search(r"^- date: (\S+)", text, re.MULTILINE)
        entry = (date[1] if date else "", path)
        found[kind(path)] = max(entry, found.get(kind(path), entry))
    return {name: path for name, (_, path) in found.items()}


def rows(text, heading):
    """The rows of the table under a heading, as lists of cells."""
    part = text.split(f"\n## {heading}", 1)[-1].split("\n## ", 1)[0] if f"\n## {heading}" in text else ""
    lines = [line for line in part.splitlines() if line.startswith("| ")][1:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in cells if len(row) < 2 or not row[1].startswith("failed")]


def about(text):
    """What a record says of its machine."""
    found = dict(re.findall(r"^- (date|CPU|cores|memory|machine): (.*)$", text, re.MULTILINE))
    if "machine" in found:  # of prove-memory, which has one line for all
        found["CPU"], cores, found["memory"], _ = found["machine"].split(", ")
        found["cores"] = cores.removesuffix(" cores")
    return found


def machine(text):
    found = about(text)
    return f"{found['cores']} cores of {found['CPU'].split(' (')[0]}, {found['date'][:10]}"


def newest_case(*cases):
    """The newest record of commands that has these cases, and its text."""
    path = newest({"commands": [*(f"## {case}:" for case in cases), COMMON]}).get("commands")
    return (path, path.read_text()) if path else (None, "")


def times(slow, fast):
    """How many times as long the first takes, of cells such as `1.04 s`."""
    seconds = [float(cell.split()[0]) * {"ms": 1e-3, "s": 1, "min": 60}[cell.split()[1]] for cell in (slow, fast)]
    return seconds[0] / seconds[1]


def sorts(path, memory):
    """The table of the README: a row a case, a column a tool."""
    text = path.read_text()
    found = about(text)
    runs = re.search(r"\| (\d+) \| in order \|", text)
    yield f"{found['cores']} cores of {found['CPU'].split(' (')[0]}, {found['memory']}, {found['date'][:10]}; medians of"
    yield f"{runs[1] if runs else 'some'} runs in turn, GNU sort once: [record](benches/record/{path.name}),"
    yield f"[plot](benches/record/{path.stem}.svg)."
    yield ""
    tools = ["cp", "Polars", "DuckDB", "GNU sort"]
    yield "| | bitsort | " + " | ".join(tools) + " |"
    yield "|---|" + "--:|" * (len(tools) + 1)
    for case, title in SORTS.items():
        found = {row[0]: row for row in rows(text, f"{case}:")}
        if not found:
            continue
        ours = found["bitsort --mem 64M"] if case == "mem-64m" else next(iter(found.values()))
        cells = [f"{ours[1]}, {ours[6]}"]
        for tool in tools:
            row = found.get(tool)
            peak = "" if tool == "cp" or row is None else f", {row[6]}"
            cells.append("" if row is None else f"{row[1]} ({row[2]}){peak}")
        yield f"| {title} | " + " | ".join(cells) + " |"
    if memory:
        yield disk_row(memory, len(tools))


def disk_row(path, tools):
    """The last row of the README's table, from a record of prove-memory."""
    found = {row[0]: row for row in rows(path.read_text(), "10741 MB")}
    ours, copy = found["bitsort"], found["cp"]
    title = f"32-bit numbers, 10.7 GB from disk to disk, `--mem 1500M` ([record](benches/record/{path.name}))"
    cells = [f"{ours[1]}, {ours[6]}", f"{copy[1]} ({times(copy[1], ours[1]):.2f}×)", *[""] * (tools - 1)]
    return f"| {title} | " + " | ".join(cells) + " |"


def disk(path):
    """The sentences on what prove-memory measured."""
    text = path.read_text()
    runs = re.search(r"in turn, (\d+) time", text)[1]
    walls = {row[0]: (row[1], row[5]) for row in rows(text, "10741 MB")}
    ours, copy = walls["bitsort"], walls["cp"]
    machine = re.search(r"^- machine: (.*), Linux", text, re.MULTILINE)[1]
    date = re.search(r"^- date: (.{10})", text, re.MULTILINE)[1]
    yield f"`scripts/prove-memory --runs {runs}` sorts a billion 32-bit numbers (10.7 GB) from disk to disk with"
    yield "`--mem 1500M`, in a control group of 2 GiB and with a cold page cache, and compares each peak of memory"
    yield f"with the limit. On an [{machine}, {date}](../benches/record/{path.name}): bitsort {ours[0]} ({ours[1]}), `cp` {copy[0]} ({copy[1]})."


# Commands of bitset in docs/benchmarks.md, by their cases.
COMMANDS = {
    "set-build": "`bitset build`",
    "set-filter": "`bitset filter` against a set of 100 million others",
    "set-contains": "`bitset contains`, the whole process",
    "bloom-filter": "`bitset bloom filter`, one thread",
    "bloom-dedup": "`bitset bloom dedup`, one thread",
    "bloom-common": "`bitset bloom common` of two files of 50 million URLs (3.25 GB each), `--mem 1G`",
}


def beside():
    """Commands of bitset beside others, each from the newest record that has it."""
    yield "| 100 million lines | bitset | other program | machine |"
    yield "|---|--:|--:|---|"
    for case, what in COMMANDS.items():
        path, text = newest_case(case)
        found = rows(text, f"{case}:")
        if found:
            others = "; ".join(f"{row[0]}: {row[1]} ({row[2]})" for row in found[1:])
            ours = f"{found[0][1]}, {found[0][6]}"
            yield f"| {what} | {ours} | {others} | [{machine(text)}](../benches/record/{path.name}) |"


def newest_first(paths):
    return sorted(paths, key=lambda path: about(path.read_text())["date"], reverse=True)


def list_of_records():
    """A row for every record."""
    yield "| record | machine | measured |"
    yield "|---|---|---|"
    for path in newest_first(RECORDS.glob("*.md")):
        text = path.read_text()
        cases = re.findall(r"^## ([a-z0-9-]+):", text, re.MULTILINE)
        measured = ", ".join(f"`{case}`" for case in cases) if kind(path) == "commands" else kind(path)
        yield f"| [{path.stem}](../benches/record/{path.name}) | {machine(text)} | {measured} |"


def figures():
    """A row for every record of commands with two threads and 100 million lines."""
    yield "| record | 32-bit (Polars) | `-u` | 64-bit (Polars) | `bitset build` (`-u`) | `bitset filter` (Polars) |"
    yield "|---|--:|--:|--:|--:|--:|"
    for path in newest_first(path for path in RECORDS.glob("*.md") if kind(path) == "commands"):
        text = path.read_text()
        if COMMON not in text or "- threads: 2" not in text and "- threads:" in text:
            continue
        cells = []
        for case, peer in [("uniform-u32", "Polars"), ("unique-u32", ""), ("uniform-u64", "Polars"),
                           ("set-build", "bitsort -u"), ("set-filter", "Polars")]:  # fmt: skip
            found = {row[0]: row for row in rows(text, f"{case}:")}
            ours = next(iter(found.values()), None)
            beside = found.get(peer)
            ratio = f" ({times(beside[1], ours[1]):.3g}×)" if beside and " " in beside[1] else ""
            cells.append(ours[1] + ratio if ours else "")
        if any(cells):
            yield f"| [{path.stem}](../benches/record/{path.name}) | " + " | ".join(cells) + " |"


def densities(path):
    """From which density on a plain bitmap is as good as a roaring one, what a question takes, and where
    mapped roaring bitmaps lose."""
    text = path.read_text()
    rounds = re.search(r"^- rounds: (\d+)", text, re.MULTILINE)[1]
    yield f"[{machine(text)}](../benches/record/{path.name}), rounds: {rounds}. A plain bitmap is as good as any roaring one, within 5 %:"
    yield ""
    lines = text.split("From which density on", 1)[-1].splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("|"))
    end = next(index for index, line in enumerate(lines) if index > start and not line.startswith("|"))
    yield from lines[start:end]

    def figures(heading):
        cells = {subject: [cell.strip("*").replace(",", "") for cell in cells] for subject, *cells in rows(text, heading)}
        return {subject: list(map(float, cells)) for subject, cells in cells.items() if cells[0].strip("-:")}

    asked = figures("uniform: contains")
    each = [f"{min(times):.3g} to {max(times):.3g} ns ({subject})" for subject, times in asked.items()]
    yield ""
    yield f"One question to a uniform set takes {', '.join(each)}."

    def lost(operation):
        both = [figures(f"{spread}: {operation}") for spread in ("uniform", "clustered")]
        ratios = [a / b for found in both for a, b in zip(found["roaring, mapped"], found["RoaringBitmap"], strict=True)]
        return " to ".join(f"{ratio:.2g}" if ratio < 10 else f"{ratio:.0f}" for ratio in (min(ratios), max(ratios)))

    yield f"A mapped roaring bitmap takes {lost('and')} times as long for `and` as a bitmap of the `roaring` crate in"
    yield f"memory, {lost('or')} times as long for `or`, and {lost('build')} times as long to build, into a file. The ratio"
    yield "is largest where values are rare."


def memory_runs():
    """Of the newest record of prove-memory: lines, and seconds by tool."""
    path = newest().get("memory")
    text = path.read_text() if path else ""
    lines = re.search(r"^- input: (\d+) lines", text, re.MULTILINE)
    walls = re.findall(r"^\| (bitsort|cp) \| ([\d.]+) s ", text, re.MULTILINE)
    return (int(lines[1]), {tool: float(wall) for tool, wall in walls}) if lines else (0, {})


def filters(path):
    """Nanoseconds a key of a large filter."""
    text = path.read_text()
    yield f"[{machine(text)}](../benches/record/{path.name}), one thread, 10⁸ keys:"
    yield ""
    yield "| ns a key | insert | present | absent | either, mixed |"
    yield "|---|--:|--:|--:|--:|"
    for subject, *times in rows(text, "100,000,000 keys"):
        if not subject.startswith("-"):
            yield f"| {subject} | " + " | ".join(times[:4]) + " |"

    def ratios(size, above, below):
        found = {subject: list(map(float, times[:4])) for subject, *times in rows(text, size) if times[0].strip("-:")}
        each = [a / b for a, b in zip(found[above], found[below], strict=True)]
        return f"{min(each):.2f} to {max(each):.2f}"

    yield ""
    yield f"A blocked filter is {ratios('100,000,000 keys', 'standard', 'blocked')} times as fast as a standard one."
    yield "The ratio is smallest for absent keys, because a standard filter looks at only two bits then."
    yield "In the cache (10⁶ keys) `fastbloom`, with the same size and hash function, takes"
    yield f"{ratios('1,000,000 keys', 'fastbloom', 'standard')} times as long as a standard filter."
    large = rows(text, "1,000,000,000 keys")
    if large:
        yield f"A standard filter of 10⁹ keys at 1 % has {large[0][1]} GB; we measured {large[0][4]} false positives."


README, BENCHMARKS = REPOSITORY / "README.md", REPOSITORY / "docs" / "benchmarks.md"


def put(path, name, lines):
    """Puts lines between `<!-- name -->` and `<!-- end -->`."""
    text = path.read_text()
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
    body = "\n".join(lines) + "\n"
    text, places = pattern.subn(lambda found: found[1] + body + found[2], text)
    if places != 1:
        raise ValueError(f"{path} has {places} places for {name}")
    path.write_text(text)


def write():
    """Gives the files that were written."""
    found = newest()
    if path := newest_case(*SORTS)[0]:
        put(README, "sorts", sorts(path, found.get("memory")))
    put(BENCHMARKS, "commands", beside())
    for name, table in {"memory": disk, "representations": densities, "bloom": filters}.items():
        if name in found:
            put(BENCHMARKS, name, table(found[name]))
    put(BENCHMARKS, "records", list_of_records())
    put(BENCHMARKS, "figures", figures())
    return [README, BENCHMARKS]
