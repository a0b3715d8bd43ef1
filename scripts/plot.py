"""Draws a record of benchmarks as SVG: a bar a tool, in groups a case, on a logarithmic scale."""

import math
from xml.sax.saxutils import escape

WIDTH = 880
LABELS_RIGHT = 190  # where labels end and bars start
BARS_RIGHT = 640  # what is longer than this would run into its own figures
MEMORY_RIGHT = WIDTH - 28
BAR, GAP = 18, 8
HEAD = 34  # of a group

STYLE = """
  text { font: 13px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; }
  .card { fill: #ffffff; stroke: #d0d7de; } .ink { fill: #1f2328; } .faint { fill: #59636e; }
  .title { font-size: 17px; font-weight: 600; } .small { font-size: 11.5px; }
  .group { font-weight: 600; } .grid { stroke: #d8dee4; } .minor { stroke: #eef1f4; }
  .ours { fill: #d9580d; } .peer { fill: #8aa4bd; } .floor { fill: #b9c0c7; }
  .range { stroke: #1f2328; stroke-width: 1.5; stroke-opacity: .65; }
  .figure { font-variant-numeric: tabular-nums; }
  @media (prefers-color-scheme: dark) {
    .card { fill: #0d1117; stroke: #30363d; } .ink { fill: #e6edf3; } .faint { fill: #9198a1; }
    .grid { stroke: #2a313a; } .minor { stroke: #191f27; }
    .ours { fill: #f78140; } .peer { fill: #54708c; } .floor { fill: #474f58; }
    .range { stroke: #e6edf3; }
  }
"""


def seconds(value):
    if value < 0.1:
        return f"{1000 * value:.1f} ms"
    return f"{value:.0f} s" if value >= 100 else f"{value:.1f} s" if value >= 10 else f"{value:.2f} s"


LEAST_KIB = 30 * 1024  # wait4 counts what the process held before exec: the starting script's


def memory(kib):
    if kib < LEAST_KIB:
        return f"< {LEAST_KIB // 1024} MiB"
    return f"{kib / 1024 / 1024:.2f} GiB" if kib >= 1024 * 1024 else f"{kib / 1024:.0f} MiB"


def ratio(value):
    return f"{value:.0f}×" if value >= 20 else f"{value:.1f}×" if value >= 3 else f"{value:.2f}×"


class Scale:
    """A logarithmic axis whose ends are powers of ten times 1, 2 or 5."""

    def __init__(self, values):
        # Bars on a logarithmic axis have no natural start: leave the shortest a visible length.
        self.ticks = self.between(min(values) / 2, max(values) * 1.05)
        self.low, self.high = self.ticks[0], self.ticks[-1]

    @staticmethod
    def between(low, high):
        steps = [m * 10.0**e for e in range(-6, 8) for m in (1, 2, 5)]
        first = max(i for i, step in enumerate(steps) if step <= low)
        last = min(i for i, step in enumerate(steps) if step >= high)
        return steps[first : last + 1]

    def x(self, value):
        part = math.log(value / self.low) / math.log(self.high / self.low)
        return LABELS_RIGHT + part * (BARS_RIGHT - LABELS_RIGHT)


def card(title, height, style=STYLE):
    """The first lines of a drawing: its size, its looks, a frame and a title."""
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}"'
        f' height="{height}" role="img" aria-label="{escape(title)}">',
        f"<style>{style}</style>",
        f'<rect class="card" x=".5" y=".5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>',
        f'<text x="28.0" y="34.0" class="title ink" text-anchor="start">{escape(title)}</text>',
    ]


def superscript(number):
    return str(number).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def svg(title, subtitle, groups):
    """`groups` is a list of (heading, bars); a bar is a dict with `label`, `kind` (ours, peer or
    floor), `wall` (median, fastest, slowest), `ratio` or None, and `memory` in KiB."""
    bars = [bar for _, group in groups for bar in group]
    scale = Scale([bar["wall"][0] for bar in bars])
    top = 92
    height = top + sum(HEAD + len(group) * (BAR + GAP) for _, group in groups) + 34
    out = card(title, height)

    def text(x, y, words, classes, anchor="start"):
        out.append(f'<text x="{x:.1f}" y="{y:.1f}" class="{classes}" text-anchor="{anchor}">'
                   f"{escape(words)}</text>")

    text(28, 55, subtitle, "small faint")
    for tick in scale.ticks:
        major = math.isclose(math.log10(tick) % 1, 0, abs_tol=1e-9)
        x = scale.x(tick)
        out.append(f'<path class="{"grid" if major else "minor"}" d="M{x:.1f} {top - 6}V{height - 34}"/>')
        text(x, height - 16, f"{tick:g} s", "small faint", "middle")
    text(MEMORY_RIGHT, top + 6, "peak memory", "small faint", "end")

    y = top
    for heading, group in groups:
        text(28, y + 21, heading, "group ink")
        y += HEAD
        for bar in group:
            median, fastest, slowest = bar["wall"]
            x, middle = scale.x(median), y + BAR / 2
            out.append(f'<rect class="{bar["kind"]}" x="{LABELS_RIGHT}" y="{y}" rx="2"'
                       f' width="{x - LABELS_RIGHT:.1f}" height="{BAR}"/>')
            ours = "group ink" if bar["kind"] == "ours" else "ink"
            text(LABELS_RIGHT - 10, y + 13.5, bar["label"], ours, "end")
            if slowest > fastest:
                low, high = scale.x(max(fastest, scale.low)), scale.x(min(slowest, scale.high))
                out.append(f'<path class="range" d="M{low:.1f} {middle}H{high:.1f}"/>')
                x = max(x, high)
            text(x + 9, y + 13.5, seconds(median), f"{ours} figure")
            if bar["ratio"] is not None:
                text(x + 72, y + 13.5, ratio(bar["ratio"]), "faint figure")
            text(MEMORY_RIGHT, y + 13.5, memory(bar["memory"]), "faint figure", "end")
            y += BAR + GAP
    out.append("</svg>\n")
    return "\n".join(out)
