#!/usr/bin/env python3
"""The table of docs/python.md that says each NumPy expression in tl: numpy_table.py TL [FILTER].

Every row is run: the left side by NumPy, the right side by a program that the binary TL runs, both after the arrays that the document
defines, in a folder of their own. Values, shapes and element types must agree; where the third column names a type, tl's is that one and
NumPy's is another. Random numbers agree in distribution (Kolmogorov and Smirnov's test of two samples). Rows that write files must write
the same ones.
"""
import ast
import os
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("SKIPPED: numpy_table.py (it needs NumPy)")
    sys.exit(77)

ROWS, NAMES = 400, 320  # at least so many, and so many names of NumPy in them
TYPES = {"f32": "float32", "f64": "float64", "i64": "int64", "bool": "bool", "u8": "uint8", "c64": "complex64", "c128": "complex128"}
SIGNS = ("np.linalg.qr", "np.linalg.svd", "np.linalg.eigh")  # whose vectors are determined up to their sign


def read(document):
    """The arrays in Python and in tl, and rows: the section, NumPy's expression, tl's, the type."""
    text = document.split("\n## NumPy in tl\n", 1)[1].split("\n## ", 1)[0]
    python = re.search(r"^```python\n(.*?)^```", text, re.S | re.M)[1]
    program = re.search(r"^```tl\n(.*?)^```", text, re.S | re.M)[1]
    rows, section = [], ""
    for line in text.splitlines():
        if line.startswith("### "):
            section = line[4:]
        row = re.fullmatch(r"\| `(.+)` \| `(.+)` \|(?: `(\w+)`)? \|", line)
        if row:
            rows.append((section, row[1].replace("\\|", "|"), row[2].replace("\\|", "|"), row[3]))
        elif line.startswith("| `"):
            sys.exit(f"docs/python.md: not a row: {line}")
    return python, program, rows


def names(expression):
    """What of NumPy it uses: np.linalg.solve, .reshape, rng.normal."""
    found = set()
    for node in ast.walk(ast.parse(expression, mode="eval")):
        if isinstance(node, ast.Attribute):
            whole = ast.unparse(node)
            found.add(whole if whole.startswith(("np.", "rng.")) else "." + node.attr)
    return found


def leaves(value, name=""):
    """Arrays by the names that tl saves the elements of tuples and lists under."""
    if isinstance(value, (tuple, list)):
        for index, element in enumerate(value):
            yield from leaves(element, f"{name}.{index}" if name else str(index))
    else:
        yield name, np.asarray(value)


def is_text(value):
    return isinstance(value, str) or isinstance(value, list) and all(isinstance(element, str) for element in value)


def differs(section, left, want, got, given):
    """What is wrong with an array of tl, or None."""
    if given and want.dtype == TYPES[given]:
        return f"NumPy's type is {given} too"
    if got.dtype != (TYPES[given] if given else want.dtype):
        return f"the type is {got.dtype}, NumPy's {want.dtype}"
    if got.shape != want.shape:
        return f"the shape is {got.shape}, NumPy's {want.shape}"
    if section == "Random numbers":
        ours, theirs = np.sort(got.ravel()), np.sort(want.ravel())
        every = np.concatenate((ours, theirs))
        share = [np.searchsorted(sample, every, "right") / sample.size for sample in (ours, theirs)]
        if np.abs(share[0] - share[1]).max() > 1.95 * (2 / ours.size) ** 0.5:  # one in a thousand
            return "the distributions differ"
        return None
    if left.startswith(SIGNS):
        want, got = np.abs(want), np.abs(got)
    if np.issubdtype(got.dtype, np.inexact):
        narrow = any(dtype in (np.float32, np.complex64) for dtype in (got.dtype, want.dtype))
        scale = max(1.0, np.abs(want[np.isfinite(want)]).max(initial=0))
        same = np.allclose(got, want, rtol=2e-6 if narrow else 1e-13, atol=(1e-6 if narrow else 1e-14) * scale, equal_nan=True)
    else:
        same = np.array_equal(got, want)
    return None if same else f"gives\n{got}\nand NumPy\n{want}"


def contents(folder):
    """The arrays of the files in a folder."""
    found = {}
    for path in sorted(pathlib.Path(folder).iterdir()):
        if path.suffix == ".npy":
            found[path.name] = np.load(path)
        elif path.suffix == ".npz":
            with np.load(path) as file:
                found.update({f"{path.name}: {name}": file[name] for name in file.files})
        elif path.suffix == ".csv":
            found[path.name] = np.loadtxt(path, delimiter=",")
    return found


def main():
    tl, only = os.path.realpath(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
    document = pathlib.Path(__file__).resolve().parents[2] / "docs/python.md"
    python, program, rows = read(document.read_text())
    wrong = []
    for column, what in ((1, "NumPy's"), (2, "tl's")):
        seen = set()
        for row in rows:
            if column == 1 and row[column] in seen:
                wrong.append(f"`{row[column]}` stands there twice")
            seen.add(row[column])
    if len(rows) < ROWS:
        wrong.append(f"{len(rows)} rows, and should be {ROWS}")
    used = set().union(*(names(left) for _, left, _, _ in rows))
    if len(used) < NAMES:
        wrong.append(f"{len(used)} names of NumPy, and should be {NAMES}")
    rows = [row for row in rows if only in row[1] or only in row[2]]

    with tempfile.TemporaryDirectory() as folder:
        for name in ("numpy", "tl", "results"):
            os.mkdir(os.path.join(folder, name))
        os.chdir(os.path.join(folder, "numpy"))
        scope = {}
        exec(python, scope)
        wanted = []
        for _, left, _, _ in rows:
            try:
                with np.errstate(all="ignore"):
                    wanted.append(eval(left, scope))
            except Exception as error:
                sys.exit(f"`{left}`: {error}")

        os.chdir(os.path.join(folder, "tl"))
        lines = program.splitlines()
        first = len(lines)
        for number, ((_, _, right, _), want) in enumerate(zip(rows, wanted)):
            if want is None:
                lines.append(right)
            elif is_text(want):
                joined = right if isinstance(want, str) else f'join({right}, "\\n")'
                lines.append(f'write_text("../results/{number}.txt", {joined})')
            else:
                lines.append(f'save("../results/{number}.npz", ({right},))')
        for text in (program, "\n".join(lines) + "\n"):  # what is loaded must be there when the program is compiled
            pathlib.Path("../table.tl").write_text(text)
            ran = subprocess.run([tl, "run", "../table.tl"], capture_output=True, text=True, timeout=300)
            if ran.returncode:
                break
        if ran.returncode:
            print(ran.stderr)
            for line in sorted({int(line) for line in re.findall(r"table\.tl:(\d+):", ran.stderr)}):
                print("in", f"`{rows[line - first - 1][1]}` | `{rows[line - first - 1][2]}`" if line > first else lines[line - 1])
            return 1

        for number, ((section, left, right, given), want) in enumerate(zip(rows, wanted)):
            path = pathlib.Path(f"../results/{number}")
            if want is None:
                continue
            if is_text(want):
                got = path.with_suffix(".txt").read_text()
                problems = [] if got == (want if isinstance(want, str) else "\n".join(want)) else [f"gives\n{got}\nand NumPy\n{want}"]
            else:
                want = dict(leaves((want,)))
                with np.load(path.with_suffix(".npz")) as file:
                    got = {name.replace("arr_", ""): file[name] for name in file.files}
                if got.keys() != want.keys():
                    problems = [f"gives {sorted(got)}, NumPy {sorted(want)}"]
                else:
                    problems = [problem for name in want if (problem := differs(section, left, want[name], got[name], given))]
            wrong += [f"`{left}` | `{right}`: {problem}" for problem in problems]
        theirs, ours = contents(os.path.join(folder, "numpy")), contents(os.path.join(folder, "tl"))
        if ours.keys() != theirs.keys():
            wrong.append(f"the files are {sorted(ours)}, NumPy's {sorted(theirs)}")
        else:
            wrong += [f"the file {name} differs" for name in ours if not np.allclose(ours[name], theirs[name])]
    for problem in wrong:
        print(problem)
    print(f"{len(rows)} rows, {len(used)} names of NumPy {np.__version__}: {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
