"""Draws sets by density as SVG: small multiples with a line a representation, log-log."""

import math
from xml.sax.saxutils import escape

import plot

COLUMNS = 2
WIDTH = 880
TOP = 78
PANEL_WIDTH, PANEL_HEIGHT = WIDTH // COLUMNS, 270
LEFT, RIGHT = 58, 116  # of a panel: figures of the axis, names of the lines
HEAD, FOOT = 44, 34
LINE = 13  # least distance of two names

CLASSES = {
    "dense": "dense",
    "dense, mapped": "dense mapped",
    "roaring, mapped": "roaring mapped",
    "RoaringBitmap": "crate",
    "CRoaring": "croaring",
}

STYLE = plot.STYLE + """
  .line { fill: none; stroke-width: 2; stroke-linejoin: round; } .mapped { stroke-dasharray: 5 3; }
  .line.dense { stroke: #d9580d; } .line.roaring { stroke: #b0127b; }
  .line.crate { stroke: #2f6db3; } .line.croaring { stroke: #5f7f4f; }
  .name.dense { fill: #b84a0a; } .name.roaring { fill: #b0127b; }
  .name.crate { fill: #2f6db3; } .name.croaring { fill: #4c6a3e; }
  .name { font-size: 11.5px; } .leader { fill: none; stroke: #b9c0c7; }
  @media (prefers-color-scheme: dark) {
    .line.dense { stroke: #f78140; } .line.roaring { stroke: #f06ac0; }
    .line.crate { stroke: #6aa6ea; } .line.croaring { stroke: #9cc487; }
    .name.dense { fill: #f78140; } .name.roaring { fill: #f06ac0; }
    .name.crate { fill: #6aa6ea; } .name.croaring { fill: #9cc487; } .leader { stroke: #474f58; }
  }
"""


def power(exponent):
    """10 to the `exponent`, as short as it can be read."""
    if exponent > 4:
        return f"10{plot.superscript(exponent)}"
    return f"{10**exponent:g}" if exponent >= -2 else f"10{plot.superscript(exponent)}"


class Panel:
    """One operation: its place and its axes."""

    def __init__(self, index, lines):
        self.left = (index % COLUMNS) * PANEL_WIDTH
        self.top = TOP + (index // COLUMNS) * PANEL_HEIGHT
        points = [point for line in lines.values() for point in line]
        densities, figures = ([point[i] for point in points] for i in (0, 1))
        self.x_ends = math.log10(min(densities)), math.log10(max(densities))
        self.y_ends = math.floor(math.log10(min(figures))), math.ceil(math.log10(max(figures)))
        self.y_ends = self.y_ends[0], max(self.y_ends[1], self.y_ends[0] + 1)
        self.x_range = self.left + LEFT, self.left + PANEL_WIDTH - RIGHT
        self.y_range = self.top + PANEL_HEIGHT - FOOT, self.top + HEAD

    @staticmethod
    def place(value, ends, pixels):
        span = ends[1] - ends[0] or 1
        return pixels[0] + (value - ends[0]) / span * (pixels[1] - pixels[0])

    def x(self, density):
        return self.place(math.log10(density), self.x_ends, self.x_range)

    def y(self, figure):
        return self.place(math.log10(figure), self.y_ends, self.y_range)


def spread(wanted, low, high):
    """Places near the wanted ones, in order, that are at least LINE apart."""
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    places, floor = {}, low
    for index in order:
        places[index] = max(wanted[index], floor)
        floor = places[index] + LINE
    ceiling = high
    for index in reversed(order):
        places[index] = min(places[index], ceiling)
        ceiling = places[index] - LINE
    return [places[index] for index in range(len(wanted))]


def draw(index, title, unit, lines, out):
    panel = Panel(index, lines)

    def text(x, y, words, classes, anchor="start"):
        out.append(f'<text x="{x:.1f}" y="{y:.1f}" class="{classes}" text-anchor="{anchor}">'
                   f"{escape(words)}</text>")

    (left, right), (bottom, top) = panel.x_range, panel.y_range
    text(panel.left + 28, panel.top + 16, title, "group ink")
    text(panel.left + 28, panel.top + 32, unit, "small faint")
    step = max(1, (panel.y_ends[1] - panel.y_ends[0]) // 5)
    for exponent in range(panel.y_ends[0], panel.y_ends[1] + 1):
        y = panel.y(10.0**exponent)
        labelled = (exponent - panel.y_ends[0]) % step == 0
        out.append(f'<path class="{"grid" if labelled else "minor"}" d="M{left} {y:.1f}H{right}"/>')
        if labelled:
            text(left - 7, y + 4, power(exponent), "small faint figure", "end")
    for exponent in range(math.ceil(panel.x_ends[0] - 1e-9), math.floor(panel.x_ends[1] + 1e-9) + 1):
        x = panel.x(10.0**exponent)
        out.append(f'<path class="minor" d="M{x:.1f} {top}V{bottom}"/>')
        text(x, bottom + 16, power(exponent), "small faint figure", "middle")
    if 10.0 ** math.floor(panel.x_ends[1]) < 10 ** panel.x_ends[1] * 0.99:
        text(right, bottom + 16, f"{10 ** panel.x_ends[1]:g}", "small faint figure", "middle")

    ends = [panel.y(points[-1][1]) for points in lines.values()]
    names = spread(ends, top + 4, bottom - 2)
    for (name, points), end, place in zip(lines.items(), ends, names, strict=True):
        kind = CLASSES.get(name, "floor")
        path = "L".join(f"{panel.x(density):.1f} {panel.y(figure):.1f}" for density, figure in points)
        out.append(f'<path class="line {kind}" d="M{path}"/>')
        out.append(f'<path class="leader" d="M{right + 2} {end:.1f}L{right + 9} {place:.1f}"/>')
        text(right + 12, place + 4, name, f"name {kind}")


def svg(title, subtitle, panels):
    """`panels` is a list of (title, unit, lines); lines a dict from a name to (density, figure)."""
    panels = [panel for panel in panels if panel[2]]
    height = TOP + math.ceil(len(panels) / COLUMNS) * PANEL_HEIGHT + 12
    out = [
        *plot.card(title, height, STYLE),
        f'<text x="28" y="55" class="small faint">{escape(subtitle)}. Across: density; lower is better.</text>',
    ]
    for index, (name, unit, lines) in enumerate(panels):
        draw(index, name, unit, lines, out)
    if len(panels) % COLUMNS:
        notes = ["dense: Bitmap, in memory", "dense, mapped; roaring, mapped: .bits files,",
                 "    results of and, or in memory, size on disk", "RoaringBitmap: the roaring crate, in memory",
                 "CRoaring: in memory", "build of a mapped one: into a file"]  # fmt: skip
        left, top = (len(panels) % COLUMNS) * PANEL_WIDTH + 58, TOP + len(panels) // COLUMNS * PANEL_HEIGHT + 60
        for line, note in enumerate(notes):
            out.append(f'<text x="{left}" y="{top + 19 * line}" class="small faint">{escape(note)}</text>')
    out.append("</svg>\n")
    return "\n".join(out)
