"""Transcripts of `tl repl` at a terminal: what stands on the screen after these keys. prompt.py TL [FILTER]"""
import os
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback

from at_terminal import Terminal, has_terminals

TESTS = []
UP, DOWN, RIGHT, LEFT, HOME, END, DELETE = ("\x1b[" + c for c in ("A", "B", "C", "D", "H", "F", "3~"))
ALT_ENTER = "\x1b\r"


def paste(text):
    return f"\x1b[200~{text}\x1b[201~"


def ctrl(letter):
    return chr(ord(letter.upper()) - 64)


def test(name, **options):
    def add(function):
        TESTS.append((name, function, options))
        return function

    return add


# ---- letters


@test("letters beyond ASCII are typed, moved over and erased")
def _(t):
    t.send('"grün 漢字 е\u0301"').shows('tl> "grün 漢字 е\u0301"▮')
    t.send(LEFT * 2).shows('tl> "grün 漢字 ▮е\u0301"')
    t.send(LEFT * 3 + "\x7f").shows('tl> "grün▮漢字 е\u0301"')
    t.send(DELETE + DELETE + END + "\r").shows('tl> "grün е\u0301"\ngrün е\u0301 : str\ntl> ▮')


@test("a terminal of 40 columns: wide characters at its edge", columns=40)
def _(t):
    text = "a" * 34 + "漢字b"
    t.send('"' + text).shows('tl> "' + "a" * 34 + "\n漢字b▮")
    t.send(LEFT * 3).shows('tl> "' + "a" * 34 + "\n▮漢字b")
    t.send("x").shows('tl> "' + "a" * 34 + "x\n▮漢字b")
    t.send("\x7f" + END + '"\r').shows('tl> "' + "a" * 34 + '\n漢字b"\n' + text + "\n: str\ntl> ▮")


@test("a locale that is not UTF-8", LC_ALL="C")
def _(t):
    t.send('"ä€"\r').shows('tl> "ä€"\nä€ : str\ntl>')


@test("bytes that are no UTF-8 are dropped")
def _(t):
    t.send(b'"a\xe4b\xff\x80c"\r').shows('tl> "abc"\nabc : str\ntl>')


# ---- pasted text


@test("a pasted else and a pasted method belong to what is above them")
def _(t):
    t.send(paste('if 2 < 1 { print("yes") }\nelse { print("no") }') + "\r")
    t.shows('tl> if 2 < 1 { print("yes") }\n  > else { print("no") }\nno\ntl>').clear()
    t.send(paste("[1, 2, 3]\n  .sum()\n") + "\r").shows("tl> [1, 2, 3]\n  >   .sum()\n  >\n6 : i64\ntl>")


@test("pasted text is one input, which Enter ends, with its own indentation")
def _(t):
    t.send(paste("fn f(x) {\n      x +\n    1\n}\rf(1)\n:type f(2)\nf(3)"))
    t.shows("tl> fn f(x) {\n  >       x +\n  >     1\n  > }\n  > f(1)\n  > :type f(2)\n  > f(3)▮")
    t.send("\r")
    t.shows("tl> fn f(x) {\n  >       x +\n  >     1\n  > }\n  > f(1)\n  > :type f(2)\n  > f(3)\n2 : i64\ni64\n4 : i64\ntl>")


@test("pasted control characters do nothing")
def _(t):
    t.send(paste('"a\x03b\x04\x1b[31mc\x07"') + "\r").shows('tl> "ab[31mc"\nab[31mc : str\ntl>')


@test("lines that come at once without marks belong together, too")
def _(t):
    t.send('if 2 < 1 { print("yes") }\relse { print("no") }\r')
    t.shows('tl> if 2 < 1 { print("yes") }\n  > else { print("no") }\nno\ntl>')


# ---- blocks


@test("a block is edited as one, with up and down inside")
def _(t):
    t.send("fn f(x) {\rx + 1\r}").shows("tl> fn f(x) {\n  >   x + 1\n  > }▮")
    t.send(UP + END + "0").shows("tl> fn f(x) {\n  >   x + 10▮\n  > }")
    t.send(UP + END + LEFT * 3 + ", y").shows("tl> fn f(x, y▮) {\n  >   x + 10\n  > }")
    t.send(DOWN + " + y" + DOWN + "\r" + "f(1, 2)\r")
    t.shows("tl> fn f(x, y) {\n  >   x + 10 + y\n  > }\ntl> f(1, 2)\n13 : i64\ntl>")


@test("indentation")
def _(t):
    t.send("for i in 0..2 {\rif i > 0 {\rprint(\ri)\r}\r}\r")
    t.shows("tl> for i in 0..2 {\n  >   if i > 0 {\n  >     print(\n  >       i)\n  >   }\n  > }\n1\ntl>")


@test("Alt-Enter goes on where the text could end")
def _(t):
    t.send("1" + ALT_ENTER + "2\r").shows("tl> 1\n  > 2\n1 : i64\n2 : i64\ntl>")


@test("a block that is taller than the terminal", rows=6, columns=40)
def _(t):
    t.send(paste("\n".join(f"{i}" for i in range(10))))
    t.wait(lambda: t.screen.lines()[-6:] == [f"  > {i}" for i in range(4, 10)], "the last lines")
    t.send(UP * 8)
    t.wait(lambda: t.screen.lines()[-6:] == [f"  > {i}" for i in range(1, 7)], "the lines around the cursor")
    assert t.screen.column == 5, t.screen.column
    t.send("0\r").wait(lambda: "10 : i64" in t.screen.lines() and t.last_line() == "tl>", "the values")


# ---- keys


@test("keys of all terminals, and sequences that nobody knows")
def _(t):
    t.send("ac\x1bOD" + "b\x1b[1~" + "0\x1b[4~" + "d\x1b[7~" + "\x1b[C" * 2 + "x").shows("tl> 0ax▮bcd")
    t.send("\x1b[15~\x1b[1;2P\x1bOP\x1b[[A\x1b[Z\x1b[I\x1b[<0;10;20M\x1b[M !!\x1b]11;rgb:1/1/1\x07\x1b[12;40R\x1b[?1;2c")
    t.send("\x1bP1+r544e=78\x1b\\\x1bx\x1b(B").shows("tl> 0ax▮bcd")
    t.send("\x1b[1;5D").shows("tl> ▮0axbcd").send(ctrl("K") + "5\r").shows("tl> 5\n5 : i64\ntl>")


@test("cutting and inserting")
def _(t):
    t.send("let abc = 1" + ctrl("W") + ctrl("A") + ctrl("Y")).shows("tl> 1▮let abc =")
    t.send(ctrl("U") + ctrl("K") + ctrl("T") + "12" + ctrl("T") + "\r").shows("tl> 21\n21 : i64\ntl>")


@test("undo and redo")
def _(t):
    t.send("let a = 1" + ctrl("U")).shows("tl> ▮").send("\x1f").shows("tl> let a = 1▮")
    t.send("\x1f").shows("tl> ▮").send("\x1f").send("\x1b/").shows("tl> let a = 1▮")
    assert t.screen.bells == 1, t.screen.bells


@test("Ctrl-L clears the screen and keeps the text")
def _(t):
    t.send("1 + " + ctrl("L"))
    t.wait(lambda: t.screen.row == t.screen.first and t.last_line() == "tl> 1 +", "a clear screen")
    t.send("1\r").wait(lambda: "2 : i64" in t.screen.lines(), "the value")


# ---- history


@test("the history by what is typed, and search in it")
def _(t):
    t.send("let a = 1\ra + 1\rlet b = 2\r").wait(lambda: t.screen.lines().count("2 : i64") == 1, "a value")
    t.clear().send("let" + UP).shows("tl> let b = 2▮").send(UP).shows("tl> let a = 1▮").send(DOWN * 2).shows("tl> let▮")
    t.send(ctrl("U") + ctrl("R") + "a").shows('search "a": ▮a + 1')
    t.send(" =").shows('search "a =": let ▮a = 1').send("q").shows('not found "a =q": let ▮a = 1')
    t.send("\x7f" + END + "0\r").shows("tl> let a = 10\ntl>").send("a\r").shows("tl> let a = 10\ntl> a\n10 : i64\ntl>")


@test("blocks in the history come back as blocks, also in the next session")
def _(t):
    t.send("fn f(x) {\rx + 1\r}\r").shows("tl> fn f(x) {\n  >   x + 1\n  > }\ntl>")
    assert t.end() == 0
    again = Terminal(t.tl, t.folder)
    try:
        again.send(UP).shows("tl> fn f(x) {\n  >   x + 1\n  > }▮").send(UP * 2 + END).shows("tl> fn f(x) {▮\n  >   x + 1\n  > }")
    finally:
        again.close()
    text = open(os.path.join(t.folder, "history")).read()
    assert text == "_HiStOrY_V2_\nfn\\040f(x)\\040{\\012\\040\\040x\\040+\\0401\\012}\n", text


@test("a history that libedit wrote", history="_HiStOrY_V2_\n\"\\M-C\\M-$\\040b\"\n")
def _(t):
    t.send(UP).shows('tl> "ä b"▮')


@test("a history file that cannot be written", TL_HISTORY="/proc/nothing/history")
def _(t):
    t.send("1\r").wait(lambda: "1 : i64" in t.screen.lines(), "the value")
    assert any("the history cannot be written to '/proc/nothing/history'" in line for line in t.screen.lines())
    t.clear().send("2\r").shows("tl> 2\n2 : i64\ntl>").send(UP * 2).shows("tl> 2\n2 : i64\ntl> 1▮")


# ---- completion


@test("completion of names, fields, methods and arguments")
def _(t):
    t.send("struct Layer { weight: f32[2], bias: f32 }\rstruct Model { first: Layer }\r")
    t.send("let model = Model(first = Layer(weight = [1.0, 2.0], bias = 0.5))\r").clear()
    t.send("mod\tfi").shows("tl> modelfi▮").send("\x7f\x7f.fi\t.w\t.cumpr\t()")
    t.shows("tl> model.first.weight.cumprod()▮").send(ctrl("U") + "model.first.\t")
    t.shows("tl> model.first.▮\nmodel.first.bias    model.first.weight").send("b\t\r")
    t.shows("tl> model.first.bias\n0.5 : f32\ntl>").clear()
    t.send("Layer(\t").shows("tl> Layer(▮\nbias =     weight =").send("we\t[1.0, 1.0], bia\t2.0)\r")
    t.shows("tl> Layer(weight = [1.0, 1.0], bias = 2.0)\nLayer(weight = [1. 1.], bias = 2.0) : Layer\ntl>").clear()
    t.send("fn scaled(value, factor = 2.0) = value * factor\rscaled(3.0, fac\t4.0)\r")
    t.shows("tl> fn scaled(value, factor = 2.0) = value * factor\ntl> scaled(3.0, factor = 4.0)\n12.0 : f32\ntl>").clear()
    t.send("softmax([1.0, 1.0], ax\t0)\r").shows("tl> softmax([1.0, 1.0], axis = 0)\n[0.5 0.5] : f32[2]\ntl>")


@test("completion of modules and files")
def _(t):
    os.mkdir(os.path.join(t.folder, "data"))
    open(os.path.join(t.folder, "data", "helper.tl"), "w").write("fn triple(x) = 3 * x\n")
    open(os.path.join(t.folder, "data", "hello.txt"), "w").write("hello")
    t.send("import lin\t\rlinalg.chol\t([[4.0]])\r").shows("tl> import linalg\ntl> linalg.cholesky([[4.0]])\n[[2.]]\n: f32[1, 1]\ntl>")
    t.clear().send("import linalg as la\rla.chol\t([[4.0]])\r")
    t.shows("tl> import linalg as la\ntl> la.cholesky([[4.0]])\n[[2.]]\n: f32[1, 1]\ntl>")
    t.clear().send('import "da\thelp\t"\rhelper.tri\t(2)\r').shows('tl> import "data/helper.tl"\ntl> helper.triple(2)\n6 : i64\ntl>')
    t.clear().send('read_text("data/he\tlo\t")\r').shows('tl> read_text("data/hello.txt")\nhello : str\ntl>')
    t.clear().send(":lo\tda\thelp\t").shows("tl> :load data/helper.tl▮").send(ctrl("U") + ":time\t").shows("tl> :time▮\n:time     :timeit")


@test("a Tab that finds nothing, and one on an empty line")
def _(t):
    t.send("nosuchname\t").shows("tl> nosuchname▮").send(ctrl("U") + "\t1\r").shows("tl>   1\n1 : i64\ntl>")


# ---- colour


@test("colour of the prompt, of values and of errors", NO_COLOR=None)
def _(t):
    t.send("1\rx\r").wait(lambda: any("UnknownName" in line for line in t.screen.lines()), "the message")
    assert {"1;32", "2", "1;31", "31", "0"} <= t.screen.colours, t.screen.colours


@test("NO_COLOR")
def _(t):
    t.send("1\rx\r").wait(lambda: any("UnknownName" in line for line in t.screen.lines()), "the message")
    assert not t.screen.colours, t.screen.colours


@test("TERM=dumb: no escape sequences", TERM="dumb", NO_COLOR=None)
def _(t):
    t.send("1 + 1\r").wait(lambda: t.screen.lines()[-2:] == ["2 : i64", "tl>"], "the value")
    t.send("[1,\r").wait(lambda: t.last_line() == "  >", "the second line")
    t.send("2]\r").wait(lambda: "  > 2]" in t.screen.lines() and t.screen.lines()[-2:] == ["[1 2] : i64[2]", "tl>"], "the value")
    t.send("f(\r\r").wait(lambda: any("UnclosedBracket" in line for line in t.screen.lines()), "the message")
    assert not t.screen.colours and not t.screen.modes
    t.send("while true { }\r")
    time.sleep(0.3)
    t.send("\x03").wait(lambda: any("interrupted" in line for line in t.screen.lines()) and t.last_line() == "tl>", "a prompt")
    assert t.end("\x04") == 0


# ---- values and commands


@test("_ is the last value, and ; silences")
def _(t):
    t.send("[1, 2, 3]\r_ * 2\r_.sum();\r_\rprint(1)\r_\rlet x = 5;\rx; # quiet\r_\r")
    t.shows("tl> [1, 2, 3]\n[1 2 3] : i64[3]\ntl> _ * 2\n[2 4 6] : i64[3]\ntl> _.sum();\ntl> _\n12 : i64\ntl> print(1)\n1\n"
            "tl> _\n12 : i64\ntl> let x = 5;\ntl> x; # quiet\ntl> _\n5 : i64\ntl>")


@test("_ before there was a value, and after an error")
def _(t):
    t.send("_\r").wait(lambda: any("`_` is not a value" in line for line in t.screen.lines()), "the message")
    t.clear().send("7\r_ + [1, 2][5]\r").wait(lambda: any("IndexOutOfRange" in line for line in t.screen.lines()), "the message")
    t.clear().send("_\r").shows("tl> _\n7 : i64\ntl>")


@test("an if shows its value")
def _(t):
    t.send('if 1 < 2 { "yes" } else { "no" }\rif 1 > 2 { 1 } else if 2 > 3 { 2 } else { 3 }\r'
           'fn f(x) {\rprint(x)\rx\r}\rif 1 < 2 { f(1) } else { print("a") }\r')
    t.shows('tl> if 1 < 2 { "yes" } else { "no" }\nyes : str\ntl> if 1 > 2 { 1 } else if 2 > 3 { 2 } else { 3 }\n3 : i64\n'
            'tl> fn f(x) {\n  >   print(x)\n  >   x\n  > }\ntl> if 1 < 2 { f(1) } else { print("a") }\n1\ntl>')


@test(":timeit")
def _(t):
    t.send(":timeit 1 + 1\r").wait(lambda: t.last_line() == "tl>" and len(t.screen.lines()) > t.begin + 2, "the time")
    assert re.fullmatch(r"[\d.]+ [mµn]?s each, [\d.]+ [mµn]?s at best \(\d+ runs?\)", t.screen.lines()[-2]), t.screen.lines()
    t.clear().send(":timeit\r").shows("tl> :timeit\ntl: :timeit needs EXPRESSION\ntl>").clear()
    t.send("var v = 1\r:timeit v += 1\r").wait(lambda: len(t.screen.lines()) > t.begin + 3 and t.last_line() == "tl>", "the time")
    t.clear().send("v\r").shows("tl> v\n1 : i64\ntl>")
    t.clear().send(":timeit nothing\r").wait(lambda: any("UnknownName" in line for line in t.screen.lines()), "the message")


@test(":reload")
def _(t):
    file = os.path.join(t.folder, "three.tl")
    module = os.path.join(t.folder, "mod.tl")
    t.send(":reload\r").shows("tl> :reload\ntl: no file has been loaded or imported yet; `:load FILE` runs one\ntl>").clear()
    open(file, "w").write("let a = 1\n")
    open(module, "w").write("fn f() = 10\n")
    t.send(':load three.tl\rimport "mod.tl"\ra + mod.f()\r').wait(lambda: "11 : i64" in t.screen.lines(), "the value")
    open(file, "w").write("let a = 2\n")
    open(module, "w").write("fn f() = 20\n")
    t.clear().send(":reload\ra + mod.f()\r").shows("tl> :reload\ntl> a + mod.f()\n22 : i64\ntl>")
    open(file, "w").write("let a = (\n")
    t.clear().send(":reload\r").wait(lambda: any("UnclosedBracket" in line for line in t.screen.lines()), "the message")
    t.clear().send("a\r").shows("tl> a\n2 : i64\ntl>")
    os.remove(file)
    os.remove(module)
    t.clear().send(":reload\r").wait(lambda: any("three.tl" in line and "tl:" in line for line in t.screen.lines()[t.begin:]), "the message")
    t.clear().send("a + mod.f()\r").shows("tl> a + mod.f()\n22 : i64\ntl>")


@test("documentation that is typed before what it is of; help as other prompts ask for it")
def _(t):
    t.send("## Twice x.\r").send("fn twice(x: f32) -> f32 = 2.0 * x\r").clear()
    for text in ("?twice", "twice?", "help(twice)"):
        t.send(text + "\r").shows(f"tl> {text}\ntwice(x: f32) -> f32\n    Twice x.\ntl>").clear()


@test("help is wrapped at words", columns=40)
def _(t):
    t.send("## All of this text is about nothing but its length.\rfn f() = 1\r").clear()
    t.send(":help f\r").shows("tl> :help f\nf()\n    All of this text is about nothing\n    but its length.\ntl>").clear()


@test("a table and a column of text are shown as print shows them")
def _(t):
    t.send('import table\rstruct T[n] { name: table.Texts[n], x: i64[n] }\r')
    t.send('let t = T(name = table.texts(["b", "a"]), x = [1, 2])\r').clear()
    t.send("t\r").shows("tl> t\n   name    x\n   text  i64\n0  b       1\n1  a       2\n2 rows, 2 columns\n: T\ntl>").clear()
    t.send("t.name\r").shows("tl> t.name\n[b, a] : Texts\ntl>").clear()


@test(":help of one's own functions and structs")
def _(t):
    t.send(paste("## Twice as much.\nfn double(x: f32) -> f32 = 2 * x") + "\r")
    t.send(paste("## A layer.\nstruct Layer { w: f32[2] }") + "\r").clear()
    t.send(":help double\r").shows("tl> :help double\ndouble(x: f32) -> f32\n    Twice as much.\ntl>").clear()
    t.send(":help Layer\r").shows("tl> :help Layer\nstruct Layer { w: f32[2] }\n    A layer.\ntl>").clear()
    t.send(":help nothing\r").shows("tl> :help nothing\ntl: there is no documentation of 'nothing'\ntl>").clear()
    t.send(":help softmax\r").wait(lambda: any("Probabilities" in line for line in t.screen.lines()), "the documentation")


@test("exit()")
def _(t):
    assert t.end("exit()\r") == 0


@test("quit()")
def _(t):
    assert t.end("quit()\r") == 0


@test("exit(3)")
def _(t):
    assert t.end("exit(3)\r") == 3


@test("values fit the terminal", columns=40)
def _(t):
    t.send("arange(20)\r").shows("tl> arange(20)\n[ 0  1  2  3  4  5  6  7  8  9 10 11\n 12 13 14 15 16 17 18 19] : i64[20]\ntl>").clear()
    t.send("list(i * 1000 for i in 0..12)\r")
    t.shows("tl> list(i * 1000 for i in 0..12)\n[0, 1000, 2000, 3000, 4000, 5000, 6000,\n 7000, 8000, 9000, 10000, 11000]\n"
            ": List<i64>\ntl>")


@test("long lists and models are summarised")
def _(t):
    t.send("list(i for i in 0..1000)\r").shows("tl> list(i for i in 0..1000)\n[0, 1, 2, … 994 more …, 997, 998, 999] : List<i64>\ntl>").clear()
    t.send("struct Layer[n, m] { w: f32[n, m], b: f32[m] }\rstruct Net { first: Layer[784, 128], second: Layer[128, 10], layers: List<f32[100]> }\r")
    t.send("let a = Layer(w = zeros([784, 128]), b = zeros([128]))\rlet b = Layer(w = zeros([128, 10]), b = zeros([10]))\r")
    t.clear().send("b\r").shows("tl> b\nLayer(w = f32[128, 10], b = [0. 0. 0. 0. 0. 0. 0. 0. 0. 0.]) : Layer\ntl>")
    t.clear().send("Net(first = a, second = b, layers = list(ones([100]), ones([100])))\r")
    t.shows("tl> Net(first = a, second = b, layers = list(ones([100]), ones([100])))\nNet(\n"
            "  first = Layer(w = f32[784, 128], b = f32[128]),\n"
            "  second = Layer(w = f32[128, 10], b = [0. 0. 0. 0. 0. 0. 0. 0. 0. 0.]),\n"
            "  layers = [f32[100], f32[100]]) : Net\ntl>")


# ---- the terminal and its ends


@test("the terminal's size changes")
def _(t):
    t.send("12345678901234567890 + 1234567890123456789012345678901234567890").shows("tl> 12345678901234567890 + 1234567890123456789012345678901234567890▮")
    t.resize(40, 24)
    t.shows("tl> 12345678901234567890 + 1234567890123\n456789012345678901234567890▮")
    t.send(LEFT).shows("tl> 12345678901234567890 + 1234567890123\n45678901234567890123456789▮0")
    t.resize(100, 30)
    t.shows("tl> 12345678901234567890 + 123456789012345678901234567890123456789▮0")
    t.send("x").shows("tl> 12345678901234567890 + 123456789012345678901234567890123456789x▮0")


@test("Ctrl-C drops a block, and ends a running computation at its line")
def _(t):
    t.send("fn f() {\r1").shows("tl> fn f() {\n  >   1▮").send("\x03").shows("tl> fn f() {\n  >   1\ntl> ▮").clear()
    t.send("var s = 5\r").clear()
    t.send(paste("let a = 1\nwhile true {\n  s += a\n}") + "\r").shows("tl> let a = 1\n  > while true {\n  >   s += a\n  > }")
    time.sleep(0.5)
    t.send("\x03").wait(lambda: t.last_line() == "tl>", "a prompt")
    shown = t.shown()
    assert re.search(r"<input \d+>:[23]:\d+: error\[Interrupted\]: interrupted\n +[23] \| ", shown), shown
    t.clear().send("s\r").shows("tl> s\n5 : i64\ntl>")


@test("Ctrl-C in the reference interpreter", arguments=("--interp",))
def _(t):
    t.send("var s = 5\r").clear().send("while true { s += 1 }\r").shows("tl> while true { s += 1 }")
    time.sleep(0.5)
    t.send("\x03").wait(lambda: t.last_line() == "tl>", "a prompt")
    assert "interrupted" in t.shown(), t.shown()


@test("Ctrl-D in a block erases, and ends the session on an empty line")
def _(t):
    t.send("f(\r\x04").wait(lambda: t.screen.bells == 1, "a bell")
    t.send("1)" + HOME + "\x04").shows("tl> f(\n  > ▮ 1)")
    t.send("\x03")
    assert t.end("\x04") == 0


@test("the terminal goes away in the middle of a block")
def _(t):
    t.send("print(\r1").shows("tl> print(\n  >   1▮")
    os.close(t.fd)
    t.fd = os.open("/dev/null", os.O_RDWR)
    t.ended = True
    assert t.end("") in (0, -signal.SIGHUP)


@test("the process is ended: the terminal is as it was")
def _(t):
    t.send("1 +").shows("tl> 1 +▮")
    import termios
    assert not termios.tcgetattr(t.fd)[3] & termios.ECHO
    os.kill(t.pid, signal.SIGTERM)
    code = t.end("")
    assert code == -signal.SIGTERM, code


@test("what is typed while something runs is read then")
def _(t):
    t.send("var i = 0\rwhile i < 300000000 { i += 1 }\ri + 1\r").wait(lambda: "300000001 : i64" in t.screen.lines(), "the value")


@test("read_line gets the line that was typed ahead")
def _(t):
    t.send("let line = read_line()\rsome text\rline\r").wait(lambda: "some text : str" in t.screen.lines(), "the text")


@test("Ctrl-C ends read_line, and takes nothing of what is typed next")
def _(t):
    t.send("read_line()\r").wait(lambda: t.screen.lines()[-1] == "tl> read_line()", "the line")
    time.sleep(0.5)  # it waits
    t.send(ctrl("C")).wait(lambda: any("Interrupted" in line for line in t.screen.lines()), "the message")
    t.clear().send("1 + 41\r").shows("tl> 1 + 41\n42 : i64\ntl>")


@test("what is printed without the end of a line stands above the prompt", columns=40)
def _(t):
    t.send('print("a", end = "")\r').shows('tl> print("a", end = "")\na\ntl> ▮')
    t.clear().send('for i in 0..3 { print(i, end = "") }\r').shows('tl> for i in 0..3 { print(i, end = "") }\n012\ntl> ▮')
    t.clear().send('print("b" * 39, end = "")\r').shows('tl> print("b" * 39, end = "")\n' + "b" * 39 + "\ntl> ▮")
    t.clear().send('print("b" * 40, end = "")\r').shows('tl> print("b" * 40, end = "")\n' + "b" * 40 + "\ntl> ▮")
    t.clear().send('if true { print("name? ", end = "")\rlet n = read_line()\rprint("hi") }\r').wait(lambda: "name?" in t.screen.lines(), "the question")
    t.send("Bob\r").wait(lambda: t.screen.lines()[-1] == "tl>" and "hi" in t.screen.lines(), "the answer")
    t.clear().send('let n = if true { print("name? ", end = "")\rread_line() } else { "" }\r').wait(lambda: "name?" in t.screen.lines(), "the question")
    t.send("Bob\r").wait(lambda: t.screen.lines()[-2:] == ["name? Bob", "tl>"], "the prompt in the row behind the answer")


@test("a long line that is typed costs as much for each letter as a short one")
def _(t):
    for length in (4000, 16000):
        begin = time.time()
        t.send('len("' + "x" * length + '")\r').wait(lambda: f"{length} : i64" in t.screen.lines(), "the length")
    assert time.time() - begin < 20, time.time() - begin  # it was minutes


@test("names of modules and files that are not there")
def _(t):
    t.send(":load nothing.tl\r").wait(lambda: any("nothing.tl" in line and "tl:" in line for line in t.screen.lines()), "the message")
    t.clear().send(":bogus\r").shows("tl> :bogus\ntl: there is no command ':bogus'; :help lists them\ntl>")


def run(tl, name, function, options):
    options = dict(options)
    folder = tempfile.mkdtemp()
    history = options.pop("history", None)
    if history is not None:
        with open(os.path.join(folder, "history"), "w") as file:
            file.write(history)
    terminal = None
    try:
        terminal = Terminal(tl, folder, **options)
        terminal.tl, terminal.folder = tl, folder
        function(terminal)
        return True
    except Exception as problem:  # each test is told what is wrong with it, and the next one runs
        print(f"FAIL {name}: {problem or traceback.format_exc()}")
        return False
    finally:
        if terminal:
            terminal.close()
        shutil.rmtree(folder)


def main():
    if not has_terminals():
        return 77
    tl, filter_text = os.path.realpath(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
    results = [run(tl, *each) for each in TESTS if filter_text in each[0]]
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
