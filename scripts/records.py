"""Where records of benchmarks lie, and which of them are kept.

A record is one run of a script on one machine: a .csv file and what is made of it, or an .md file
alone. It is kept while it has the newest figures of its machine for at least one thing.
"""

import csv
import re

from machine import REPOSITORY

RECORDS = REPOSITORY / "benches" / "record"
KINDS = ("memory", "representations", "bloom")  # in names of files; a name without kind: commands
# The columns that say what a row measured.
SUBJECT = ("case", "tool", "bench", "operation", "representation", "distribution", "density",
           "section", "subject", "x")  # fmt: skip


def read(path):
    """The lines that a record says of the machine, and its rows."""
    described, lines = {}, []
    for line in path.read_text().splitlines():
        if line.startswith("# "):
            key, _, value = line[2:].partition(": ")
            described[key] = value
        else:
            lines.append(line)
    return described, list(csv.DictReader(lines))


def kind(path):
    """`commands`, `memory`, `representations` or `bloom`."""
    found = re.search(rf"-({'|'.join(KINDS)})(-\d+)?$", path.stem)
    return found[1] if found else "commands"


def slug(cpu):
    """A CPU as in names of files: `amd-epyc`."""
    words = re.sub(r"\(.*?\)|@.*|processor|cpu|core", " ", cpu, flags=re.IGNORECASE)
    return "-".join(re.findall(r"[a-z0-9]+", words.lower())) or "cpu"


def free_name(folder, date, cpu, kind="commands", suffix=".csv"):
    """A path that no file has: date, CPU, kind, and a number if the day has such a record."""
    name = f"{date[:10]}-{slug(cpu)}" + ("" if kind == "commands" else f"-{kind}")
    numbers = ["", *(f"-{number}" for number in range(2, 100))]
    folder.mkdir(parents=True, exist_ok=True)
    return next(path for number in numbers if not (path := folder / f"{name}{number}{suffix}").exists())


def about(path):
    """Date and CPU of a record, and the set of what it measured."""
    if path.suffix == ".md":
        text = path.read_text()
        of_line = [r"^- date: (\S+)", r"^- machine: ([^,]*)", r"^- input: (\d+) lines"]
        date, cpu, lines = (re.search(pattern, text, re.MULTILINE)[1] for pattern in of_line)
        return date, cpu, {lines}
    described, rows = read(path)
    # The first records do not say the threads: there were two.
    of_all = described.get("lines"), described.get("threads", "2")
    sound = [row for row in rows if row.get("status", "0") == "0"]
    measured = {(*of_all, *(row[name] for name in SUBJECT if name in row)) for row in sound}
    return described["date"], described["CPU"], measured


def superseded(folder):
    """The records of which every figure has a newer one, of the same kind and machine."""
    paths = [*folder.glob("*.csv"), *(path for path in folder.glob("*.md") if not path.with_suffix(".csv").exists())]
    found = sorted(((about(path), path) for path in paths), key=lambda one: one[0][0], reverse=True)
    newer = {}
    for (_, cpu, measured), path in found:
        seen = newer.setdefault((kind(path), slug(cpu)), set())
        if measured <= seen:
            yield path
        seen |= measured


def keep_newest(record):
    """Removes the records that the new one supersedes, and takes the number from its name if that is free
    now. Returns its path."""
    suffixes = (".csv", ".md", ".svg")
    for old in list(superseded(record.parent)):
        for suffix in suffixes:
            old.with_suffix(suffix).unlink(missing_ok=True)
    if not record.exists():
        raise ValueError(f"{record} has no figures, or there are newer ones")
    date, cpu, _ = about(record)
    name = free_name(record.parent, date, cpu, kind(record), record.suffix)
    if len(name.stem) < len(record.stem):
        for suffix in suffixes:
            if record.with_suffix(suffix).exists():
                record.with_suffix(suffix).rename(name.with_suffix(suffix))
        record = name
    return record
