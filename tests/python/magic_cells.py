#!/usr/bin/env python3
"""%%tl in IPython's shell: what cells show, and the names that they share with Python. Needs the package tl.

magic_cells.py [TL] also compares with what `tl repl` of that binary shows.
"""
import contextlib
import io
import subprocess
import sys

try:
    import numpy as np
    from IPython.core.interactiveshell import InteractiveShell
except ImportError:
    print("SKIPPED: magic_cells.py (it needs IPython and NumPy)")
    sys.exit(77)

failures = []


def test(function):
    shell = InteractiveShell.instance()
    shell.reset()
    shell.run_cell("import numpy as np")
    assert shell.run_cell("%load_ext tl" if "tl" not in shell.extension_manager.loaded else "%reload_ext tl").success

    def run(text, shows=None, fails=None):
        """Runs a cell; what it shows, or holds if it fails."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            result = shell.run_cell(text)
        shown = out.getvalue()
        assert result.success == (fails is None), f"{text}\n{shown}"
        if fails is not None:
            assert fails in shown and "site-packages" not in shown and "magic.py" not in shown, shown
        if shows is not None:
            assert shown == shows, f"{text}\nshows\n{shown}\nand not\n{shows}"
        return shown

    try:
        function(run, shell.user_ns)
    except Exception:
        import traceback
        traceback.print_exc()
        failures.append(function.__name__)
    return function


def same(array, values, dtype):
    assert isinstance(array, np.ndarray) and array.dtype == dtype, (type(array), array)
    np.testing.assert_array_equal(array, np.asarray(values, dtype))


@test
def takes_no_python_value_for_a_size_without_a_name(run, names):
    run("np.ones(3)")
    run("%%tl\nfn f(x: f32[_]) -> f32 = sum(x)\nlet (p, _) = (2, 3)\nf([1.0, 2.0])", "3.0 : f32\n")
    assert names["p"] == 2


@test
def shares_complex_numbers(run, names):
    run("%%tl\nlet c = 1.0 + 2i\nlet v = [c, 3i]\nlet d = abs(3.0 + 4i)\nlet t = (v, 2.0)", "")
    assert names["c"] == 1 + 2j and names["v"].tolist() == [1 + 2j, 3j] and names["d"] == 5.0
    assert names["v"].dtype == np.complex64 and names["t"][0].tolist() == [1 + 2j, 3j]
    run("%tl v[0]", "1.0+2.0i : c64\n")
    run("z = np.array([1 + 2j, 3 - 1j]); k = 2j")
    run("%%tl\nlet y = conj(z) * c128(k)\ny", "[ 4.+2.i -2.+6.i] : c128[2]\n")
    assert names["y"].tolist() == [4 + 2j, -2 + 6j]


@test
def shows_what_the_repl_shows(run, names):
    run("%%tl\n1 + 2", "3 : i64\n")
    run("%%tl\nlet a = [1.0, 2.0]\na * 2\nprint(\"sum {sum(a)}\")", "[2. 4.] : f32[2]\nsum 3.0\n")
    run("%tl sum(a)", "3.0 : f32\n")
    run("%%tl\nfn twice(x) = x + x\nstruct P { w: f32[2] }", "")
    run("%%tl\ntwice(P(w = a).w)", "[2. 4.] : f32[2]\n")


@test
def shows_what_tl_repl_shows(run, names):
    if len(sys.argv) < 2:
        print("SKIPPED: shows_what_tl_repl_shows (no binary was given)")
        return
    inputs = ["1 + 2", "let a = [1.0, 2.5]", "a * 2", "a[0] > 3.0", '"text {a}"', "(a, 1, true)", "list(a, a)", "struct P { w: f32[2] }",
              "P(w = a)", "|x| x + 1", "zeros([0, 3])", "arange(2000)", "print(a)", "f64(a) / 3.0", "key(1)", "let (b, c) = (1, a)", "b", "()",
              "fn f(x) = x", "f", "f(a)[new]", "u8(a)"]
    repl = subprocess.run([sys.argv[1], "repl"], input="\n".join(inputs) + "\n", capture_output=True, text=True, timeout=60)
    assert repl.returncode == 0 and not repl.stderr, repl.stderr
    assert "".join(run("%%tl\n" + text) for text in inputs) == repl.stdout


@test
def arrays_of_python(run, names):
    run("x = np.arange(6, dtype=np.float32).reshape(2, 3); n = 3; s = 'te{x}t'; f = 0.5; yes = True; l = [1, 2]")
    run("%%tl\nprint(x.shape, x[:, ::2], n, s, f, yes, l)", "(2, 3) [[0. 2.]\n [3. 5.]] 3 te{x}t 0.5 true [1 2]\n")
    run("x[0, 0] = 100")
    run("%tl x[0, 0]", "100.0 : f32\n")
    run("x = x.T[::2].astype(np.float64)")
    run("%tl x", "[[100.   3.]\n [  2.   5.]]\n: f64[2, 2]\n")
    run("n = 7")
    run('%tl print("{n} {n + 1}")  # x and "n"', "7 8\n")
    assert names["x"].flags.writeable  # it is still Python's own


@test
def arrays_of_tl(run, names):
    run("%%tl\nlet (q, r) = (arange(4), \"word\")\nvar v = f32(q) / 2.0\nlet big = q > 1")
    same(names["q"], [0, 1, 2, 3], np.int64)
    same(names["big"], [0, 0, 1, 1], np.bool_)
    same(names["v"], [0, 0.5, 1, 1.5], np.float32)
    assert names["r"] == "word"
    kept = names["v"]
    run("%%tl\nv[0] = 9.0\nv += 1.0")
    same(names["v"], [10, 1.5, 2, 2.5], np.float32)
    same(kept, [0, 0.5, 1, 1.5], np.float32)
    run("v[0] = 1", fails="read-only")
    run("v = v * 2")
    run("%tl v", "[20.  3.  4.  5.] : f32[4]\n")


@test
def back_and_forth(run, names):
    run("x = np.ones(3, np.float32)")
    run("%%tl\nlet x = x * 2.0\nlet y = x + 1.0")
    same(names["x"], [2, 2, 2], np.float32)
    same(names["y"], [3, 3, 3], np.float32)
    run("y = y[:2].copy(); y[0] = 0")
    run("%%tl\nlet z = y * 10.0")
    same(names["z"], [0, 30], np.float32)
    same(names["y"], [0, 3], np.float32)
    assert names["y"].flags.writeable
    run("x = 5")  # another type
    run("%%tl\nx + 1", "6 : i64\n")


@test
def what_is_not_shared(run, names):
    run("import math; sum_ = 3; text = {'a': 1}\ndef total(x): return 1\nsoftmax = 5")
    run("%%tl\nlet u = softmax([0.0, 0.0]).sum()\nlet text = 1", "")
    assert names["text"] == 1 and names["u"] == 1 and names["softmax"] == 5
    run("%tl print(math)", fails="math")
    run("c = np.ones(2, np.clongdouble)")
    run("%tl c", fails="complex256")


@test
def structs_and_lists_stay(run, names):
    run("%%tl\nstruct P { w: f32[2] }\nlet s = P(w = [1.0, 2.0])\nlet l = list(s.w, [3.0])\nlet w = s.w\nlet f = |x| x * 2.0")
    same(names["w"], [1, 2], np.float32)
    assert not {"s", "l", "f"} & set(names)
    run("%tl f(s.w * l[0])", "[2. 8.] : f32[2]\n")


@test
def errors(run, names):
    run("%%tl\nlet a = [1.0, 2.0]\nvar n = 1")
    shown = run("%%tl\nlet b = 3\na + [1.0, 2.0, 3.0]", fails="error[ShapeMismatch]")
    assert "a + [1.0, 2.0, 3.0]" in shown and "^" in shown and ":2:1:" in shown, shown
    assert "b" not in names
    run("%%tl\nn = 5\nassert n < 3, \"n is {n}\"", fails="n is 5")
    run("%tl a", "[1. 2.] : f32[2]\n")
    run("from tl import CompileError\ntry:\n  get_ipython().run_cell_magic('tl', '', 'nothing')\nexcept CompileError as e: kind = e.kind")
    assert names["kind"] == "UnknownName"
    run("%%tl threads=2\n1", fails="tl_reset")


@test
def reset(run, names):
    run("%%tl\nlet a = 1")
    run("%tl_reset threads=1 sync")
    run("del a")
    run("%tl a", fails="UnknownName")
    run("%tl_reset nothing=1", fails="nothing")
    run("%tl 1", "1 : i64\n")


@test
def torch_tensors(run, names):
    try:
        import torch  # noqa: F401
    except ImportError:
        print("SKIPPED: torch_tensors (it needs PyTorch)")
        return
    run("import torch; w = torch.arange(3.0)")
    run("%%tl\nlet double = w * 2.0")
    same(names["double"], [0, 2, 4], np.float32)


print(f"magic_cells: {len(failures)} failed{': ' if failures else ''}{', '.join(failures)}")
sys.exit(1 if failures else 0)
