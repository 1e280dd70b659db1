"""Tables against a twin in Python: random files written by Python's csv module (dialects, quotes, missing values, names that are no
identifiers), read back by `read_table`, and rows, groups and joins of them against dictionaries and sorted().

Each program prints one line of JSON for each result; floats as their shortest digits.
"""
import collections
import csv
import datetime
import gzip
import json
import math
import pathlib
import random

SEED, COUNT = 1, 20
WORDS = ["Oslo", "São Paulo", "Ürümqi", "a,b", 'say "hi"', "new york", "x", "", "#1", " lead", "12", "true", "NA", "日本", "semi;colon",
         "two\nlines", '"a",\n\n"b"', "windows\r\nlines", "return\r"]
NAMES = ["fare", "city name", "Größe", "2020", "a-b", "in", "when", "x", "fare"]


class Column:
    """kind: i64, f64, bool, text, time; `values`: with None for what is missing."""

    def __init__(self, rng, kind, rows, name, is_alone):
        self.kind, self.name = kind, name
        self.values = [self.value(rng) for _ in range(rows)]
        if is_alone and kind == "text":  # an empty line is no row
            self.values = [v or "" for v in self.values]
        if kind == "f64" and rows:
            self.values[0] = 0.5  # so that it is one
        if kind == "text" and rows:
            self.values[0] = "Oslo"
        if kind == "bool" and rows:
            self.values = [bool(v) for v in self.values]
        if kind == "time" and rows:
            self.values[0] = 86400.0

    def value(self, rng):
        if self.kind == "i64":
            return rng.choice([rng.randrange(5), rng.randrange(-10**6, 10**6), rng.randrange(-2**63, 2**63)])
        if self.kind == "f64":
            return rng.choice([None, rng.uniform(-1e3, 1e3), float(rng.randrange(10)), rng.uniform(-1, 1) * 10.0 ** rng.randrange(-300, 300)])
        if self.kind == "bool":
            return rng.random() < 0.5
        if self.kind == "text":
            return rng.choice(WORDS + [None])
        return rng.choice([None, float(rng.randrange(-60000, 60000) * 86400), float(rng.randrange(-10**9, 4 * 10**9))])

    def field(self, rng, value):
        if value is None:
            return None
        if self.kind == "f64":
            return rng.choice([repr(value), "%.17g" % value])
        if self.kind == "bool":
            return "true" if value else "false"
        if self.kind == "time":
            when = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=value)
            if value % 86400 == 0 and rng.random() < 0.7:
                return when.date().isoformat()
            return when.isoformat(sep=rng.choice("T ")) + rng.choice(["", "Z", "+00:00"])
        return str(value)

    def is_numeric_text(self):
        """A column of text that Python's reader of types would take for another kind."""
        return self.kind == "text" and not any(v in ("Oslo", "x") for v in self.values)


def quoted(text, separator, always):
    special = text == "" or separator in text or '"' in text or "\n" in text or "\r" in text or text.startswith("#") or text != text.strip()
    return '"' + text.replace('"', '""') + '"' if special or always else text


def write(rng, path, columns, rows):
    separator = rng.choice([",", ";", "\t"]) if len(columns) > 1 else ","
    end = rng.choice(["\n", "\r\n"])
    always = rng.random() < 0.2
    lines = [separator.join(quoted(c.name, separator, always) for c in columns)]
    for row in range(rows):
        fields = []
        for column in columns:
            field = column.field(rng, column.values[row])
            if field is None:
                fields.append(rng.choice(["", "NA", "nan"]) if column.kind == "f64" else "")
            else:
                fields.append(quoted(field, separator, always or (column.kind == "text" and rng.random() < 0.1)))
        lines.append(separator.join(fields) or '""')  # an empty line is no row
        if rng.random() < 0.05:
            lines.append(rng.choice(["", "# a comment"]))
    text = rng.choice(["", "\ufeff"]) + end.join(lines) + rng.choice(["", end])
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wb") as file:
        file.write(text.encode())


def field_names(columns):
    """The twin of what a struct calls them."""
    names = []
    for k, column in enumerate(columns):
        text = ""
        for c in column.name:
            fits = c.isascii() and (c.isalnum() or c == "_")
            if fits or (text and text[-1] != "_"):
                text += c if fits else "_"
        text = text.rstrip("_") or "column_%d" % (k + 1)
        text = "_" + text if text[0].isdigit() else text
        name, number = text, 2
        while name in names:
            name, number = "%s_%d" % (text, number), number + 1
        names.append(name)
    return names


def shown(kind, place):
    """An expression of tl that prints a column as a line of JSON: NaN and missing texts as null."""
    place = "(%s)" % place
    if kind in ("i64", "bool"):
        return 'print("[{", ".join(list(str(%s[k]) for k in 0..len(%s)))}]")' % (place, place)
    if kind == "text":
        return ('{ let c = %s\n print("[{", ".join(list(if c.code[k] < 0 { "null" } else { quote(table.text(c, k)) }'
                ' for k in 0..len(c.code)))}]") }' % place)
    place = place + ".seconds" if kind == "time" else place
    return ('{ let c = %s\n print("[{", ".join(list(if isnan(c[k]) { "null" } else { str(c[k]) } for k in 0..len(c)))}]") }' % place)


PROGRAM = '''import table
fn quote(s: str) -> str {
  let q = "\\""
  q + s.replace("\\\\", "\\\\\\\\").replace(q, "\\\\" + q).replace("\\n", "\\\\n").replace("\\r", "\\\\r") + q
}
let t = read_table("%s")
'''


def text_order(value):
    return (value is None, (value or "").encode())


def number_order(value):
    return (value is None, value or 0)


def run_case(oracle, rng, number):
    rows = rng.choice([1, 1, 2, 3, 7, 20, 60])
    kinds = [rng.choice(["i64", "f64", "bool", "text", "time"]) for _ in range(rng.randrange(1, 6))]
    columns = [Column(rng, kind, rows, rng.choice(NAMES), len(kinds) == 1) for kind in kinds]
    names = field_names(columns)
    wanted, lines = [], []

    def expect(kind, place, values):
        lines.append("if true " + shown(kind, place) if shown(kind, place).startswith("{") else shown(kind, place))
        wanted.append((place, kind, values))

    for name, column in zip(names, columns):
        expect(column.kind, "t." + name, column.values)
    key = rng.randrange(len(columns))
    column, place = columns[key], "t." + names[key]
    order = text_order if column.kind == "text" else number_order
    other = rng.randrange(len(columns))
    sort = sorted(range(rows), key=lambda k: order(column.values[k]))
    if column.kind != "bool":
        expect(columns[other].kind, "table.sort_by(t, %s).%s" % (place, names[other]), [columns[other].values[k] for k in sort])
        groups = {}
        for row in range(rows):
            groups.setdefault(column.values[row], []).append(row)
        ordered = sorted(groups, key=order)
        lines.append("let g = table.group_by(%s)" % place)
        expect("i64", "g.count", [len(groups[k]) for k in ordered])
        expect(column.kind, "table.firsts(g, t).%s" % names[key], [column.values[groups[k][0]] for k in ordered])
        expect("i64", "table.sums(g, arange(%d))" % rows, [sum(groups[k]) for k in ordered])
        expect("i64", "table.maxs(g, arange(%d) %% 3)" % rows, [max(r % 3 for r in groups[k]) for k in ordered])
        expect("i64", "table.mins(g, arange(%d) %% 3)" % rows, [min(r % 3 for r in groups[k]) for k in ordered])
    if column.kind in ("i64", "f64", "text", "time"):  # what is missing equals nothing
        pairs = [(a, b) for a in range(rows) for b in range(0, rows, 2) if column.values[a] == column.values[b] is not None]
        lines.append("let half = t[::2]\nlet (l, r) = table.inner_join(%s, half.%s)" % (place, names[key]))
        expect("i64", "l", [a for a, _ in pairs])
        expect("i64", "r * 2", [b for _, b in pairs])
        first = {}
        for a, b in pairs:
            first.setdefault(a, b // 2)
        expect("i64", "table.match(%s, half.%s)" % (place, names[key]), [first.get(a, -1) for a in range(rows)])
    two_keys(expect, lines, rng, names, columns)
    describe(expect, names, columns)
    lines.append('print(len("{t}".split("\\n")), max(len(s) for s in "{t}".split("\\n")) <= 80)')
    wanted.append(("{t}", "shown", columns))
    mask = [rng.random() < 0.5 for _ in range(rows)]
    kept = [k for k in range(rows) if mask[k]]
    lines.append("let m: bool[_] = [%s]" % ", ".join(str(x).lower() for x in mask))
    expect(columns[other].kind, "t[m].%s" % names[other], [columns[other].values[k] for k in kept])
    if column.kind == "text":
        word = rng.choice(WORDS)
        expect("bool", 'table.is(%s, %s)' % (place, json.dumps(word, ensure_ascii=False)), [v == word for v in column.values])
        expect("bool", 'table.has(%s, "o")' % place, [v is not None and "o" in v for v in column.values])
    if column.kind == "time":
        day = [None if v is None else datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=v) for v in column.values]
        part = lambda of: [-1 if d is None else of(d) for d in day]  # noqa: E731
        lines.append("let (year, month, day) = table.date(%s)" % place)
        for name, what in [("year", part(lambda d: d.year)), ("month", part(lambda d: d.month)), ("day", part(lambda d: d.day)),
                           ("table.hour(%s)" % place, part(lambda d: d.hour)), ("table.weekday(%s)" % place, part(lambda d: d.weekday()))]:
            expect("i64", name, what)
    # What is saved reads back the same.
    lines.append('save("copy.csv", t)')
    with oracle.folder() as folder:
        path = pathlib.Path(folder, "data.csv" + rng.choice(["", "", ".gz"]))
        write(rng, path, columns, rows)
        result = oracle.run(folder, PROGRAM % path.name + "\n".join(lines) + "\n", rng.choice([[], ["--interp"], ["--threads", "1"]]))
        if result.returncode:
            return oracle.check(False, "case %d: %s" % (number, result.stderr[:600]))
        compare(oracle, number, result.stdout.splitlines(), wanted)
        saved = read_saved(pathlib.Path(folder, "copy.csv"))
        oracle.check([c for c in saved] == names, "case %d: saved names %r" % (number, list(saved)))
        again = oracle.run(folder, (PROGRAM % "copy.csv") + "\n".join(
            ("if true " if shown(c.kind, "t." + n).startswith("{") else "") + shown(c.kind, "t." + n)
            for n, c in zip(names, columns)) + "\n")
        if again.returncode:
            return oracle.check(False, "case %d, saved: %s" % (number, again.stderr[:600]))
        compare(oracle, number, again.stdout.splitlines(), [(n, c.kind, c.values) for n, c in zip(names, columns)])


def median(values):
    values, half = sorted(values), len(values) // 2
    if not values:
        return None
    return values[half] if len(values) % 2 or values[half - 1] == values[half] else values[half - 1] + (values[half] - values[half - 1]) * 0.5


def two_keys(expect, lines, rng, names, columns):
    """Groups, order and joins by two columns, what is counted in groups, and rows one behind the other."""
    rows = len(columns[0].values)
    ks = [rng.randrange(len(columns)) for _ in range(2)]
    (p, q), (a, b) = ["t." + names[k] for k in ks], [columns[k] for k in ks]
    order = [text_order if c.kind == "text" else number_order for c in (a, b)]
    keys = list(zip(a.values, b.values))
    sort = sorted(range(rows), key=lambda k: (order[0](keys[k][0]), order[1](keys[k][1])))
    expect("i64", "table.sort_by(arange(%d), (%s, %s))" % (rows, p, q), sort)
    groups = {}
    for row in sort:
        groups.setdefault(keys[row], []).append(row)
    each = [sorted(of) for of in groups.values()]
    x = [rng.choice([None, float(rng.randrange(-9, 9)), rng.randrange(64) / 8]) for _ in range(rows)]
    there = [[x[k] for k in of if x[k] is not None] for of in each]
    lines.append("let both = table.group_by(%s, %s)" % (p, q))
    lines.append("let x: f64[_] = [%s]" % ", ".join("nan" if v is None else repr(v) for v in x))
    expect("i64", "both.count", [len(of) for of in each])
    expect("i64", "table.counts(both, x)", [len(v) for v in there])
    expect("f64", "table.nansums(both, x)", [sum(v) for v in there])
    expect("f64", "table.nanmins(both, x)", [min(v, default=None) for v in there])
    expect("f64", "table.nanmaxs(both, x)", [max(v, default=None) for v in there])
    expect("f64", "table.nanmeans(both, x)", [sum(v) / len(v) if v else None for v in there])
    expect("f64", "table.nanmedians(both, x)", [median(v) for v in there])
    expect("f64", "table.maxs(both, x)", [max(v) if len(v) == len(of) else None for v, of in zip(there, each)])
    expect("f64", "table.medians(both, x)", [median(v) if len(v) == len(of) else None for v, of in zip(there, each)])
    expect("i64", "table.distinct_counts(both, x)", [len(set(v)) for v in there])
    greatest = [next((k for k in of if x[k] is None), None) if len(v) < len(of) else next(k for k in of if x[k] == max(v)) for v, of in zip(there, each)]
    expect("i64", "table.max_rows(both, x)", greatest)
    expect("i64", "table.extreme_rows_by_order(both, x)", greatest)
    expect(b.kind, "table.lasts(both, %s)" % q, [b.values[of[-1]] for of in each])
    within, previous, running = [0] * rows, [-1] * rows, [0] * rows
    for of in each:
        for number, row in enumerate(of):
            within[row], previous[row] = number, of[number - 1] if number else -1
            running[row] = sum(of[:number + 1])
    expect("i64", "table.within(both)", within)
    expect("i64", "table.previous(both)", previous)
    expect("i64", "table.running(both, arange(%d))" % rows, running)
    known = [v for v in a.values if v is not None]
    counted = collections.Counter(known)
    most = sorted(counted, key=lambda v: (-counted[v], order[0](v)))
    lines.append("let (values, times) = table.value_counts(%s)" % p)
    expect(a.kind, "values", most)
    expect("i64", "times", [counted[v] for v in most])
    u, v = [sorted(set(c.values), key=o) for c, o in zip((a, b), order)]
    cells = collections.Counter(keys)
    expect("i64", "flatten(table.crosstab(table.group_by(%s), table.group_by(%s)))" % (p, q), [cells[r, c] for r in u for c in v])
    right = [k for k in range(rows) if k % 3]
    pairs, lone = [], set(range(len(right)))
    for row in range(rows):
        partners = [k for k, other in enumerate(right) if keys[other] == keys[row] and None not in keys[row]]
        pairs += [(row, k) for k in partners] or [(row, -1)]
        lone -= set(partners)
    lines.append("let rest = t[arange(%d) %% 3 != 0]" % rows)
    for name, wanted in [("left", pairs), ("outer", pairs + [(-1, k) for k in sorted(lone)])]:
        here, there = name + "_rows", name + "_partners"
        lines.append("let (%s, %s) = table.%s_join((%s, %s), (%s, %s))" % (here, there, name, p, q, p.replace("t.", "rest.", 1), q.replace("t.", "rest.", 1)))
        expect("i64", here, [row for row, _ in wanted])
        expect("i64", there, [k for _, k in wanted])
        if a.kind in ("f64", "text", "time"):
            expect(a.kind, "table.at(%s, %s)" % (p, here), [None if row < 0 else a.values[row] for row, _ in wanted])
    for name, column in zip(names, columns):
        expect(column.kind, "table.append(rest, t)." + name, [column.values[k] for k in right] + column.values)
    if a.kind == "text":
        words = rng.sample([w for w in WORDS if w], 4)
        expect("bool", "table.is_any(%s, list(%s))" % (p, ", ".join(json.dumps(w, ensure_ascii=False) for w in words)), [w in words for w in a.values])
        expect("text", "table.mapped(%s, |s| s.replace(\"o\", \"0\"))" % p, [None if w is None else w.replace("o", "0") for w in a.values])
    if a.kind == "time":
        moments = [None if s is None else datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=s) for s in a.values]
        texts = ["" if m is None else m.isoformat() for m in moments]
        expect("time", "table.times(list(%s))" % ", ".join('"%s"' % s for s in texts), a.values)
        expect("time", "table.days(%s)" % ", ".join("i64([%s])" % ", ".join(str(of(m)) for m in moments if m) for of in (
            lambda m: m.year, lambda m: m.month, lambda m: m.day)), [s // 86400 * 86400 for s in a.values if s is not None])


def describe(expect, names, columns):
    """`table.describe` against the columns themselves; kinds of columns that it describes alike."""
    there = [[v for v in c.values if v is not None] for c in columns]
    counts = [collections.Counter(there[k]) if c.kind == "text" else {} for k, c in enumerate(columns)]
    most = [max(c.values(), default=0) if c else 0 for c in counts]
    expect("text", "table.describe(t).column", names)
    expect("i64", "table.describe(t).count", [len(v) for v in there])
    expect("i64", "table.describe(t).missing", [len(c.values) - len(v) for c, v in zip(columns, there)])
    expect("i64", "table.describe(t).distinct", [len(set(v)) for v in there])
    expect("i64", "table.describe(t).times", most)
    expect("text", "table.describe(t).most_frequent",
           [min((v for v in c if c[v] == m), key=text_order) if m else None for c, m in zip(counts, most)])
    for name, of, kinds in [("first", min, ["time"]), ("last", max, ["time"])]:
        expect("time", "table.describe(t)." + name, [of(v) if v and c.kind in kinds else None for c, v in zip(columns, there)])
    for name, of in [("min", min), ("max", max)]:
        expect("f64", "table.describe(t)." + name, [float(of(v)) if v and c.kind in ("i64", "f64", "bool") else None for c, v in zip(columns, there)])


def read_saved(path):
    with open(path, newline="", encoding="utf-8") as file:
        return next(csv.reader(file))


def shown_well(line, rows):
    """How many lines a table takes, of which columns may need several blocks, and whether they fit."""
    count, fits = line.split()
    block = 2 + (rows if rows <= 20 else 11)
    return fits == "true" and any(int(count) == blocks * (block + 1) for blocks in range(1, 6))


def same(kind, got, value):
    if value is None or got is None:
        return got is value
    return math.isclose(got, value, rel_tol=0, abs_tol=0) if kind in ("f64", "time") else got == value


def compare(oracle, number, lines, wanted):
    if not oracle.check(len(lines) == len(wanted), "case %d: %d lines, not %d" % (number, len(lines), len(wanted))) and len(lines) != len(wanted):
        return
    for line, (place, kind, values) in zip(lines, wanted):
        if kind == "shown":
            rows = len(values[0].values)
            oracle.check(shown_well(line, rows), "case %d: %d rows in %s" % (number, rows, line))
            continue
        try:
            got = json.loads(line)
        except ValueError:
            oracle.check(False, "case %d: %s: %r" % (number, place, line[:200]))
            continue
        good = len(got) == len(values) and all(same(kind, a, b) for a, b in zip(got, values))
        oracle.check(good, "case %d: %s is %r, not %r" % (number, place, got, values))


def run(oracle):
    rng = random.Random(oracle.seed)
    for number in range(oracle.count):
        run_case(oracle, rng, number)
