"""Draws panels of lines as SVG, with points where something was measured."""

import math
from xml.sax.saxutils import escape

import plot

WIDTH, PANEL_WIDTH, PANEL_HEIGHT, TOP = 880, 440, 300, 66
LEFT, RIGHT, HEAD, FOOT = 62, 108, 48, 44
CLASSES = {"standard": "a", "blocked": "b", "split block": "c", "fastbloom": "d", "HashSet": "e",
           "counting": "c", "Guava's": "e", "DCSO's": "f", "standard, many": "a", "blocked, many": "b",
           "bitsort": "a", "cp": "e", "Polars": "d", "DuckDB": "b"}  # fmt: skip
COLOURS = {"a": ("#d9580d", "#f78140"), "b": ("#b0127b", "#f06ac0"), "c": ("#5f7f4f", "#9cc487"),
           "d": ("#2f6db3", "#6aa6ea"), "e": ("#6b7680", "#a3adb8"), "f": ("#8a6d1f", "#d9b64f")}  # fmt: skip
STYLE = plot.STYLE + "".join(
    f"  .s-{name} {{ stroke: {light}; }} .f-{name} {{ fill: {light}; }}\n" for name, (light, _) in COLOURS.items()
) + "  .s { fill: none; stroke-width: 2; stroke-linejoin: round; } .many { stroke-dasharray: 5 3; }\n" \
    "  .name { font-size: 11.5px; } @media (prefers-color-scheme: dark) {\n" + "".join(
    f"  .s-{name} {{ stroke: {dark}; }} .f-{name} {{ fill: {dark}; }}\n" for name, (_, dark) in COLOURS.items()
) + "  }\n"  # fmt: skip


class Axis:
    """A linear or logarithmic axis between the ends of some figures."""

    def __init__(self, figures, pixels, log, ticks=None):
        self.log, self.pixels = log, pixels
        low, high = min(ticks or figures), max(ticks or figures)
        if log and not ticks:
            low, high = 10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high) - 1e-9)
            powers = range(round(math.log10(low)), round(math.log10(high)) + 1)
            ticks = [10.0**power for power in powers]
        self.ticks = ticks or [low + (high - low) * part / 4 for part in range(5)]
        self.low, self.high = low, high

    def place(self, figure):
        value, low, high = (math.log10(v) if self.log else v for v in (figure, self.low, self.high))
        return self.pixels[0] + (value - low) / (high - low or 1) * (self.pixels[1] - self.pixels[0])


class Panel:
    """Lines and points over two axes."""

    def __init__(self, index, title, across, up, x_log, y_log=True, x_ticks=None, y_ticks=None, reverse=False):
        self.left, self.top = (index % 2) * PANEL_WIDTH, TOP + (index // 2) * PANEL_HEIGHT
        self.title, self.across, self.up = title, across, up
        self.x_log, self.y_log, self.x_ticks, self.y_ticks, self.reverse = x_log, y_log, x_ticks, y_ticks, reverse
        self.lines, self.points = {}, {}

    def text(self, x, y, words, classes, anchor="start"):
        return f'<text x="{x:.1f}" y="{y:.1f}" class="{classes}" text-anchor="{anchor}">{escape(words)}</text>'

    def draw(self):
        every = [point for group in (self.lines, self.points) for points in group.values() for point in points]
        pixels = self.left + LEFT, self.left + PANEL_WIDTH - RIGHT
        x = Axis([p[0] for p in every], pixels[::-1] if self.reverse else pixels, self.x_log, self.x_ticks)
        bottom, top = self.top + PANEL_HEIGHT - FOOT, self.top + HEAD
        y = Axis([p[1] for p in every], (bottom, top), self.y_log, self.y_ticks)
        yield self.text(self.left + 28, self.top + 18, self.title, "group ink")
        yield self.text(self.left + 28, self.top + 36, self.up, "small faint")
        yield self.text((pixels[0] + pixels[1]) / 2, bottom + 34, self.across, "small faint", "middle")
        for tick in y.ticks:
            at = y.place(tick)
            yield f'<path class="grid" d="M{pixels[0]} {at:.1f}H{pixels[1]}"/>'
            yield self.text(pixels[0] - 7, at + 4, figure(tick), "small faint figure", "end")
        for tick in x.ticks:
            yield self.text(x.place(tick), bottom + 17, figure(tick), "small faint figure", "middle")
        for name, points in self.points.items():
            for point in points:
                yield (f'<circle class="f-{CLASSES[name]}" cx="{x.place(point[0]):.1f}"'
                       f' cy="{y.place(point[1]):.1f}" r="3"/>')  # fmt: skip
        ends = []
        for name, points in self.lines.items():
            path = "L".join(f"{x.place(a):.1f} {y.place(b):.1f}" for a, b in points)
            many = " many" if name.endswith("many") else ""
            yield f'<path class="s s-{CLASSES[name]}{many}" d="M{path}"/>'
            ends.append([y.place(points[-1][1]), name])
        ends += [[y.place(points[-1][1]), name] for name, points in self.points.items() if name not in self.lines]
        ends.sort()
        for before, after in zip(ends, ends[1:]):
            after[0] = max(after[0], before[0] + 13)
        shift = max(0, ends[-1][0] - bottom) if ends else 0
        for at, name in ends:
            yield self.text(pixels[1] + 10, at - shift + 4, name, f"name f-{CLASSES[name]}")


def figure(value):
    if value >= 10_000 or 0 < value < 0.001:
        power = round(math.log10(value))
        return f"10{plot.superscript(power)}"
    return f"{value:.4g}"


def svg(title, subtitle, panels):
    height = TOP + math.ceil(len(panels) / 2) * PANEL_HEIGHT + 12
    out = [
        *plot.card(title, height, STYLE),
        f'<text x="28" y="55" class="small faint">{escape(subtitle)}</text>',
    ]
    for panel in panels:
        out.extend(panel.draw())
    out.append("</svg>\n")
    return "\n".join(out)
