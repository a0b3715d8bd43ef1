"""Writes docs/benchmarks.md, and the tables of the README, from the newest record of each kind."""

import re

from machine import REPOSITORY

RECORDS = REPOSITORY / "benches" / "record"
TITLES = {
    "commands": "Commands beside their peers",
    "memory": "10.7 GB in 2 GiB",
    "representations": "Dense and roaring",
    "bloom": "Bloom filters",
}
PLOTS = {
    "commands": ["scaling.svg"],
    "representations": ["representations-uniform.svg", "representations-clustered.svg"],
    "bloom": ["bloom-rates.svg", "bloom-speed.svg"],
}
# What a record has if its kind was measured whole.
WHOLE = {
    "commands": "## scale-lines:",
    "representations": "From which density on",
    "bloom": "## 10,000 keys",
}
# What a record of filters has if the README can take its table from it.
MIXED = "| contains, mixed |"
HEAD = """# Benchmarks

Written by `scripts/bench`, which measures all of it again on the machine on which it is run;
`scripts/bench --report` writes this page from the newest record of each kind in
[benches/record](../benches/record). Every section says the machine, the versions, the data and
the commands. Virtual machines are noisy: medians are given with the fastest and slowest run.
"""


def kind(path):
    found = re.search(r"-(memory|representations|bloom)(-\d+)?$", path.stem)
    return found[1] if found else "commands"


def newest(whole=WHOLE):
    """The tables of the newest record of each kind, of those that are whole."""
    found = {}
    for path in RECORDS.glob("*.md"):
        text = path.read_text()
        if whole.get(kind(path), "") not in text:
            continue
        date = re.search(r"^- date: (\S+)", text, re.MULTILINE)
        entry = (date[1] if date else "", path)
        found[kind(path)] = max(entry, found.get(kind(path), entry))
    return {name: found[name][1] for name in TITLES if name in found}


def section(name, path):
    body = re.sub(r"\A# .*\n", "", path.read_text())
    body = re.sub(r"^#+ ", lambda found: "#" + found[0], body, flags=re.MULTILINE)
    plots = [path.with_suffix(".svg")] if path.with_suffix(".svg").exists() else []
    plots += [REPOSITORY / "docs" / plot for plot in PLOTS.get(name, [])]
    yield f"## {TITLES[name]}\n"
    yield f"Record: [{path.stem}](../benches/record/{path.name}).\n"
    for plot in plots:
        if plot.exists():
            folder = "" if plot.parent.name == "docs" else "../benches/record/"
            yield f"![{plot.stem}]({folder}{plot.name})\n"
    yield body.strip() + "\n"


def rows(text, heading):
    """The rows of the table under a heading, as lists of cells."""
    part = text.split(f"\n## {heading}", 1)[-1].split("\n## ", 1)[0] if f"\n## {heading}" in text else ""
    lines = [line for line in part.splitlines() if line.startswith("| ")][1:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def sorts(path):
    """The table of the README: a row a case, a column a tool."""
    text = path.read_text()
    about = dict(re.findall(r"^- (date|CPU|cores|memory): (.*)$", text, re.MULTILINE))
    runs = re.search(r"\| (\d+) \| in order \|", text)
    yield f"{about['cores']} cores of {about['CPU'].split(' (')[0]}, {about['memory']}, {about['date'][:10]}; medians of"
    yield f"{runs[1] if runs else 'some'} runs in turn, GNU sort once: [tables](benches/record/{path.name}),"
    yield f"[plot](benches/record/{path.stem}.svg)."
    yield ""
    cases = {
        "uniform-u32": "32-bit numbers, 1.07 GB",
        "unique-u32": "the same, each once (`-u`)",
        "uniform-u64": "64-bit numbers, 2.04 GB",
        "mem-64m": "32-bit numbers, `--mem 64M`",
    }
    tools = ["cp", "Polars", "DuckDB", "GNU sort"]
    yield "| | bitsort | " + " | ".join(tools) + " |"
    yield "|---|" + "--:|" * (len(tools) + 1)
    for case, title in cases.items():
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


def crossings(text):
    """From which density on a plain bitmap is as good."""
    part = text.split("From which density on", 1)[-1]
    lines = part.splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("|"))
    for line in lines[start:]:
        if not line.startswith("|"):
            return
        yield line


def memory_runs():
    """Of the newest record of prove-memory: lines, and seconds by tool."""
    path = newest().get("memory")
    text = path.read_text() if path else ""
    lines = re.search(r"^- input: (\d+) lines", text, re.MULTILINE)
    walls = re.findall(r"^\| (bitsort|cp) \| ([\d.]+) s ", text, re.MULTILINE)
    return (int(lines[1]), {tool: float(wall) for tool, wall in walls}) if lines else (0, {})


def filters(path):
    """The table of the README: nanoseconds a key of a large filter."""
    text = path.read_text()
    about = dict(re.findall(r"^- (date|CPU|cores): (.*)$", text, re.MULTILINE))
    yield f"{about['cores']} cores of {about['CPU'].split(' (')[0]}, {about['date'][:10]}, one thread, 10⁸ keys:"
    yield f"[tables](benches/record/{path.name}), [plot](docs/bloom-speed.svg)."
    yield ""
    yield "| ns a key | insert | present | absent | either, mixed |"
    yield "|---|--:|--:|--:|--:|"
    for subject, *times in rows(text, "100,000,000 keys"):
        if not subject.startswith("-"):
            yield f"| {subject} | " + " | ".join(times[:4]) + " |"


def into_readme(name, lines):
    """Puts lines between `<!-- name -->` and `<!-- end -->`."""
    path = REPOSITORY / "README.md"
    text = path.read_text()
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
    body = "\n".join(lines) + "\n"
    path.write_text(pattern.sub(lambda found: found[1] + body + found[2], text))


def write():
    """Gives the files that were written."""
    found = newest()
    page = [HEAD, *(part for name, path in found.items() for part in section(name, path))]
    target = REPOSITORY / "docs" / "benchmarks.md"
    target.write_text("\n".join(page))
    if "commands" in found:
        into_readme("sorts", sorts(found["commands"]))
    if "representations" in found:
        into_readme("densities", crossings(found["representations"].read_text()))
    if path := newest({"bloom": MIXED}).get("bloom"):
        into_readme("filters", filters(path))
    return [target, REPOSITORY / "README.md"]
