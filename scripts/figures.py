#!/usr/bin/env python3
"""Draws the pictures of docs/algorithm.md: scripts/figures.py writes docs/figures/*.svg."""

from pathlib import Path

STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.m { fill: #59636e } .s { font-size: 11px } .b { font-weight: 600 } .c { font-family: ui-monospace, monospace }
rect { fill: #eff2f5; stroke: #8c959f } .on { fill: #0969da; stroke: #0969da } .no { fill: none }
.two { fill: #f6c98c; stroke: #9a6700 } .w { fill: #ffffff }
path, line { stroke: #59636e; fill: none; stroke-width: 1.3 } marker path { fill: #59636e; stroke: none }
.dash { stroke-dasharray: 4 3 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .m { fill: #9ea7b1 }
  rect { fill: #21262d; stroke: #6e7681 } .on { fill: #4493f8; stroke: #4493f8 } .no { fill: none }
  .two { fill: #6b4a12; stroke: #d29922 } .w { fill: #0d1117 }
  path, line { stroke: #9ea7b1 } marker path { fill: #9ea7b1 }
}
"""
ARROW = '<marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z"/></marker>'


class Figure:
    def __init__(self, name, title, width, height):
        self.name, self.size = name, (width, height)
        self.parts = [f"<title>{title}</title>"]

    def rect(self, x, y, width, height, kind="", round=0):
        attributes = f' class="{kind}"' * bool(kind) + f' rx="{round}"' * bool(round)
        self.parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}"{attributes}/>')

    def text(self, x, y, text, kind="", anchor="start"):
        attributes = f' class="{kind}"' * bool(kind) + f' text-anchor="{anchor}"' * (anchor != "start")
        self.parts.append(f'<text x="{x}" y="{y}"{attributes}>{text}</text>')

    def box(self, x, y, width, height, *lines, kind=""):
        self.rect(x, y, width, height, kind, 4)
        top = y + height / 2 + 4.5 - 8 * (len(lines) - 1)
        for number, line in enumerate(lines):
            self.text(x + width / 2, top + 16 * number, line, "b" if number == 0 else "s m", "middle")

    def arrow(self, *points, dash=False):
        path = "M" + "L".join(f"{x} {y}" for x, y in points)
        kind = ' class="dash"' * dash
        self.parts.append(f'<path d="{path}" marker-end="url(#a)"{kind}/>')

    def write(self):
        width, height = self.size
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        content = "\n".join([head, f"<style>{STYLE}</style>", f"<defs>{ARROW}</defs>", *self.parts, "</svg>", ""])
        folder = Path(__file__).parent.parent / "docs/figures"
        folder.mkdir(exist_ok=True)
        (folder / f"{self.name}.svg").write_text(content)


def bitmap():
    figure = Figure("bitmap", "35 and 40 in a bitmap of words of 32 bits", 720, 150)
    left, cell = 70, 20
    for word, top in ((0, 30), (1, 90)):
        figure.text(left - 12, top + 15, f"word {word}", "b", "end")
        for bit in range(32):
            value = 32 * word + bit
            on = value in (35, 40)
            figure.rect(left + bit * cell, top, cell, cell, "on" if on else "")
            if bit in (0, 31) or on:
                figure.text(left + bit * cell + cell / 2, top + 36, value, "s b" if on else "s m", "middle")
            if word == 0 and bit in (0, 3, 8, 31):
                figure.text(left + bit * cell + cell / 2, top - 8, f"bit {bit}", "s m", "middle")
    figure.write()


def value():
    figure = Figure("value", "A value is the number of its partition and an entry", 720, 140)
    left, cell, high = 40, 20, 9
    for bit in range(32):
        figure.rect(left + bit * cell, 40, cell, 24, "two" if bit < high else "on")
    middle = left + high * cell / 2
    figure.text(middle, 30, "high 9 bits", "s m", "middle")
    figure.text(middle, 88, "which of 512 partitions", "b", "middle")
    figure.text(middle, 106, "not stored", "s m", "middle")
    middle = left + (high + 32) * cell / 2
    figure.text(middle, 30, "low 23 bits", "s m", "middle")
    figure.text(middle, 88, "entry: where in the partition", "b", "middle")
    figure.text(middle, 106, "4 bytes in memory, 3 in a temporary file; 1 MiB of bitmap holds all of a partition", "s m", "middle")
    figure.write()


def sort():
    figure = Figure("sort", "How a sort goes through the memory", 760, 330)
    figure.text(20, 24, "load: threads claim blocks, in any order", "b")
    figure.text(523, 24, "finish: in order of the values", "b")
    for number in range(5):
        figure.rect(20, 50 + 26 * number, 60, 20, "two" if number == 1 else "")
    figure.text(50, 200, "blocks of", "s m", "middle")
    figure.text(50, 214, "the input", "s m", "middle")
    figure.arrow((84, 86), (106, 98))
    figure.box(108, 78, 108, 46, "parse", "64 bytes at once")
    figure.arrow((216, 101), (236, 101))
    for number in range(6):
        top = 50 + 28 * number
        figure.rect(240, top, 44, 20, "on" if number in (0, 2, 5) else "")
        figure.arrow((284, top + 10), (306, top + 10))
        for chunk in range((3, 1, 2, 3, 1, 2)[number]):
            figure.rect(310 + 44 * chunk, top, 40, 20)
    figure.text(262, 232, "a stage", "s m", "middle")
    figure.text(262, 246, "a partition", "s m", "middle")
    figure.text(374, 232, "chunks of a pool", "s m", "middle")
    figure.text(374, 246, "of fixed size", "s m", "middle")
    figure.arrow((446, 101), (520, 101))
    figure.text(482, 93, "a partition", "s m", "middle")
    figure.box(523, 64, 114, 74, "in the cache", "bitmap, counters", "or radix sort")
    figure.arrow((637, 101), (657, 101))
    for number in range(5):
        figure.rect(660, 50 + 26 * number, 60, 20, "two" if number == 1 else "")
    figure.text(690, 200, "parts of the", "s m", "middle")
    figure.text(690, 214, "output, each", "s m", "middle")
    figure.text(690, 228, "at its place", "s m", "middle")
    figure.text(20, 284, "relief, when the pool", "b")
    figure.text(20, 301, "is full", "b")
    figure.box(240, 268, 120, 46, "bitmap", "of the whole range")
    figure.text(375, 295, "or", "m", "middle")
    figure.box(390, 268, 128, 46, "temporary files", "packed entries")
    figure.arrow((340, 251), (326, 265), dash=True)
    figure.arrow((408, 251), (422, 265), dash=True)
    figure.arrow((518, 291), (580, 291), (580, 142), dash=True)
    figure.write()


def roaring():
    figure = Figure("roaring", "The three kinds of roaring containers", 720, 190)
    for number in range(12):
        kind = {1: "on", 4: "two", 9: "on"}.get(number, "no")
        figure.rect(20 + 56 * number, 40, 56, 22, kind)
    figure.text(20, 28, "2^32 values in 65,536 ranges of 65,536; a range without values has no container", "s m")
    for piece, left, name, words, size in (
        (1, 20, "array", "3, 40, 77, 901, …", "2 bytes a value, up to 4096 values"),
        (4, 256, "bitmap", "0110 1001 1100 …", "8192 bytes"),
        (9, 492, "runs", "3–40, 77–901, …", "4 bytes a run"),
    ):
        figure.arrow((20 + 56 * piece + 28, 62), (left + 104, 92))
        figure.rect(left, 96, 208, 72, "", 4)
        figure.text(left + 104, 116, name, "b", "middle")
        figure.text(left + 104, 137, words, "c", "middle")
        figure.text(left + 104, 157, size, "s m", "middle")
    figure.write()


def bloom():
    figure = Figure("bloom", "Where the bits of a key lie in a standard and in a blocked filter", 720, 270)
    left, cell = 48, 12
    for top, name, marked, note in (
        (10, "standard", (4, 19, 33, 47), "k bits anywhere: k cache misses a question; the smallest filter of its rate"),
        (145, "blocked", (25, 26, 29, 31), "k bits in one cache line of 512 bits: one cache miss; a few more bits for the same rate"),
    ):
        figure.text(left, top + 16, name, "b")
        figure.text(360, top + 16, "“fox”", "c", "middle")
        for number in range(52):
            figure.rect(left + cell * number, top + 60, cell, 20, "on" if number in marked else "")
        for number in marked:
            figure.arrow((360, top + 22), (left + cell * number + cell / 2, top + 57))
        figure.text(left, top + 100, note, "s m")
    for number in (24, 32):
        x = left + cell * number
        figure.parts.append(f'<line x1="{x}" y1="197" x2="{x}" y2="233"/>')
    figure.write()


if __name__ == "__main__":
    for draw in (bitmap, value, sort, roaring, bloom):
        draw()
