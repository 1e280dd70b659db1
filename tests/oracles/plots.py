"""Plots as others read them: SVG files by Python's XML reader, PNG files by zlib. Ticks are round, in their places and about as many as
Matplotlib's where that is installed; marks are where the ticks say that their numbers are; a legend covers no data; bars are as high as
their numbers; scales of colours become lighter all the way.
"""
import importlib.util
import math
import pathlib
import random
import re
import struct
import xml.etree.ElementTree
import zlib

SEED, COUNT = 1, 60
SPACE = "{http://www.w3.org/2000/svg}"
TICK_FONT = "12"


class Svg:
    def __init__(self, path):
        self.root = xml.etree.ElementTree.parse(path).getroot()

    def all(self, tag, **attributes):
        return [e for e in self.root.iter(SPACE + tag) if all(e.get(k.replace("_", "-")) == v for k, v in attributes.items())]

    def frame(self):
        """left, top, right, bottom of the border."""
        for line in self.all("polyline", stroke="#282828"):
            spots = places(line.get("points"))
            if len(spots) == 5:
                return spots[0] + spots[2]
        raise ValueError("no border")

    def ticks(self, axis):
        """(place, number) of each label of an axis."""
        left, _, _, bottom = self.frame()
        ticks = []
        for text in self.all("text", font_size=TICK_FONT):
            x, y = float(text.get("x")), float(text.get("y"))
            if axis == "x" and abs(y - bottom - 18) < 0.1:
                ticks.append((x, number(text.text)))
            if axis == "y" and abs(x - left + 8) < 0.1 and text.get("text-anchor") == "end":
                ticks.append((y - 4, number(text.text)))
        return sorted(ticks, key=lambda t: t[1])


def places(text):
    return [tuple(map(float, pair.split(","))) for pair in text.split()]


def number(text):
    superscripts = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
    power = re.fullmatch(r"(?:(\d)×)?10([⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)", text)
    return float(f"{power[1] or 1}e{power[2].translate(superscripts)}") if power else float(text)


def read_png(path):
    """width, height, rows of bytes, of a PNG with 8 bits and 3 channels."""
    data = pathlib.Path(path).read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        assert zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0]
        if kind == b"IHDR":
            width, height, depth, colours = struct.unpack(">IIBB", body[:10])
            assert (depth, colours) == (8, 2)
        packed += body if kind == b"IDAT" else b""
        at += 12 + size
    raw, rows, before = zlib.decompress(packed), [], bytes(width * 3)
    for y in range(height):
        kind, row = raw[y * (width * 3 + 1)], bytearray(raw[y * (width * 3 + 1) + 1:(y + 1) * (width * 3 + 1)])
        for i in range(len(row)) if kind else ():
            a, b, c = (row[i - 3] if i >= 3 else 0), before[i], (before[i - 3] if i >= 3 else 0)
            nearest = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            row[i] = (row[i] + [0, a, b, (a + b) // 2, nearest][kind]) % 256
        rows.append(bytes(row))
        before = row
    return width, height, rows


def literal(values):
    return "f64([%s])" % ", ".join("nan" if math.isnan(v) else repr(v) for v in values)


def is_round(step):
    mantissa = step / 10.0 ** math.floor(math.log10(step) + 1e-9)
    return any(math.isclose(mantissa, m, rel_tol=1e-6) for m in (1, 2, 5, 10))


def map_of(ticks):
    """From numbers to places, by the first and the last tick."""
    (p, a), (q, b) = ticks[0], ticks[-1]
    return lambda v: p + (q - p) * (v - a) / (b - a)


def matplotlib_ticks(lo, hi):
    from matplotlib.ticker import MaxNLocator
    return [t for t in MaxNLocator(nbins=9, steps=[1, 2, 2.5, 5, 10]).tick_values(lo, hi) if lo <= t <= hi]


def random_numbers(rng, count):
    scale, offset = 10.0 ** rng.randrange(-12, 13), rng.choice([0, 0, rng.uniform(-5, 5)])
    return [(rng.uniform(-1, 1) + offset) * scale for _ in range(count)]


def check_points(oracle, case, path, x, y):
    svg = Svg(path)
    marks = [(float(c.get("cx")), float(c.get("cy"))) for c in svg.all("circle")]
    points = [(a, b) for a, b in zip(x, y) if not math.isnan(b)]
    oracle.check(len(marks) == len(points), f"{case}: {len(marks)} marks of {len(points)} points")
    left, top, right, bottom = svg.frame()
    for axis, values, marked, lo, hi in [("x", [p[0] for p in points], [m[0] for m in marks], left, right),
                                         ("y", [p[1] for p in points], [m[1] for m in marks], top, bottom)]:
        ticks = svg.ticks(axis)
        oracle.check(3 <= len(ticks) <= 10, f"{case}: {len(ticks)} ticks of {axis}: {ticks}")
        if len(ticks) < 2:
            continue
        oracle.check(all(lo - 0.1 <= p <= hi + 0.1 for p, _ in ticks), f"{case}: ticks of {axis} outside: {ticks}")
        steps = [b[1] - a[1] for a, b in zip(ticks, ticks[1:])]
        even = all(math.isclose(s, steps[0], rel_tol=1e-3) for s in steps)
        oracle.check(even and is_round(sum(steps) / len(steps)), f"{case}: ticks of {axis}: {ticks}")
        place = map_of(ticks)
        oracle.check(all(abs(place(v) - m) < 0.1 for v, m in zip(values, marked)), f"{case}: marks off on {axis}")
        if importlib.util.find_spec("matplotlib"):
            ours, others = len(ticks), len(matplotlib_ticks(ticks[0][1], ticks[-1][1]))
            oracle.check(others / 3 <= ours <= others * 3, f"{case}: {ours} ticks of {axis}, and Matplotlib has {others}")


def check_powers(oracle, case, path, y):
    svg = Svg(path)
    ticks = svg.ticks("y")
    oracle.check(2 <= len(ticks) <= 12, f"{case}: {len(ticks)} ticks of powers: {ticks}")
    place = map_of([(p, math.log10(v)) for p, v in ticks])
    marks = [float(c.get("cy")) for c in svg.all("circle")]
    oracle.check(len(marks) == len(y) and all(abs(place(math.log10(v)) - m) < 0.1 for v, m in zip(y, marks)), f"{case}: off on the axis of powers")


def check_legend(oracle, case, path, lines):
    svg = Svg(path)
    legend = svg.all("rect", fill="#fafafa")
    oracle.check(len(legend) == 1, f"{case}: {len(legend)} legends")
    if not legend:
        return
    x, y, width, height = (float(legend[0].get(k)) for k in ("x", "y", "width", "height"))
    oracle.check(x + width <= 641 and y + height <= 401, f"{case}: the legend lies outside of the page")
    names = [t.text for t in svg.all("text", text_anchor="start")]
    oracle.check(names == [f"line {i}" for i in range(lines)], f"{case}: a legend of {names}")
    covered = 0
    for line in svg.all("polyline", stroke_width="2"):
        spots = places(line.get("points"))
        if len(spots) == 2 and x <= spots[0][0] <= x + width and y <= spots[0][1] <= y + height:
            continue  # its own sample
        for (ax, ay), (bx, by) in zip(spots, spots[1:]):
            for k in range(33):
                px, py = ax + (bx - ax) * k / 32, ay + (by - ay) * k / 32
                covered += x + 6 < px < x + width - 6 and y + 6 < py < y + height - 6
    oracle.check(covered == 0, f"{case}: the legend covers {covered} places")


def check_bars(oracle, case, path, groups):
    svg = Svg(path)
    place = map_of(svg.ticks("y"))
    rects = [r for r in svg.all("rect") if r.get("fill") not in ("white", "#fafafa")]
    wanted = [v for group in groups for v in group if v]
    for r, v in zip(rects, wanted):
        top, height = float(r.get("y")), float(r.get("height"))
        good = abs(top - place(max(v, 0))) < 0.1 and abs(height - abs(place(v) - place(0))) < 0.1
        oracle.check(good, f"{case}: a bar of {v} from {top}, {height} high")
    samples = len(groups) if len(groups) > 1 else 0
    oracle.check(len(rects) == len(wanted) + samples, f"{case}: {len(rects)} bars of {len(wanted)}")


def check_colours(oracle, folder, name, sign):
    width, height, rows = read_png(f"{folder}/{name}.png")
    row = rows[height // 2]
    light = [0.2126 * row[i] + 0.7152 * row[i + 1] + 0.0722 * row[i + 2] for i in range(0, width * 3, 3)]
    inside = light[int(width * 0.2):int(width * 0.7)]
    oracle.check(all((b - a) * sign >= -0.6 for a, b in zip(inside, inside[1:])), f"{name}: not lighter all the way: {inside}")
    oracle.check(abs(inside[-1] - inside[0]) > 60, f"{name}: {inside[0]} to {inside[-1]}")


def check_gaps(oracle, path):
    """Of six cells the three without a finite number have no colour: as many pixels are white in both columns."""
    width, _, rows = read_png(path)
    inside = [row[3 * (width // 5):3 * (width * 3 // 4)] for row in rows]
    yellow = sum(row[i] > 200 and row[i + 2] < 90 for row in map(bytes, inside) for i in range(0, len(row), 3))
    purple = sum(row[i] < 90 and row[i + 1] < 30 and 60 < row[i + 2] < 110 for row in map(bytes, inside) for i in range(0, len(row), 3))
    oracle.check(purple > 0 and abs(yellow - purple) < 0.2 * purple, f"heat map with gaps: {yellow} pixels of the greatest, {purple} of the least")


def run(oracle):
    rng = random.Random(oracle.seed)
    program, checks = ["import plot"], []
    for case in range(oracle.count):
        name, n = f"c{case}", rng.randrange(2, 30)
        kind = rng.choice(["points", "powers", "legend", "bars"])
        if kind == "points":
            x, y = random_numbers(rng, n), [v if i < 2 or rng.random() < 0.9 else math.nan for i, v in enumerate(random_numbers(rng, n))]
            program.append(f'plot.scatter({literal(x)}, {literal(y)}, file = "{name}.svg")')
            checks.append((check_points, name, x, y))
        elif kind == "powers":
            y = [10.0 ** rng.uniform(-1, 1) ** rng.choice([1, 3]) * 10.0 ** rng.randrange(-8, 8) for _ in range(n)]
            program.append(f'plot.scatter({literal(range(n))}, {literal(y)}, yscale = "log", file = "{name}.svg")')
            checks.append((check_powers, name, y))
        elif kind == "legend":
            lines = [random_numbers(rng, n) for _ in range(rng.randrange(1, 7))]
            layers = [f'plot.curve(arange({n}), {literal(y)}, name = "line {i}")' for i, y in enumerate(lines)]
            program.append(f'plot.draw(plot.figure([{", ".join(layers)}]), file = "{name}.svg")')
            checks.append((check_legend, name, len(lines)))
        else:
            groups = [[float(rng.randrange(-20, 50)) for _ in range(n)] for _ in range(rng.randrange(1, 4))]
            labels = ", ".join(f'"{i}"' for i in range(n))
            layers = [f'plot.bars(list({labels}), {literal(y)}, name = "{i if len(groups) > 1 else ""}")' for i, y in enumerate(groups)]
            program.append(f'plot.draw(plot.figure([{", ".join(layers)}]), file = "{name}.svg")')
            checks.append((check_bars, name, groups))
    maps = {"viridis": 1, "grey": 1, "blues": -1}
    for colours in maps:
        layer = f'plot.heat([f64(j) for i in 0..2, j in 0..256], colours = "{colours}")'
        program.append(f'plot.draw(plot.figure([{layer}], width = 600.0, height = 120.0), file = "{colours}.png")')
    program.append('plot.draw(plot.figure([plot.heat([[nan, 1.0], [2.0, inf], [-inf, 1.5]])]), file = "gaps.png")')
    with oracle.folder() as folder:
        result = oracle.run(folder, "\n".join(program) + "\n", rng.choice([[], ["--interp"], ["--threads", "1"]]))
        if result.returncode:
            return oracle.check(False, result.stderr[:2000])
        for check, name, *values in checks:
            check(oracle, name, f"{folder}/{name}.svg", *values)
        check_gaps(oracle, f"{folder}/gaps.png")
        for colours, sign in maps.items():
            check_colours(oracle, folder, colours, sign)
