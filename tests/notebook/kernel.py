#!/usr/bin/env python3
"""What the kernel of tl shows and answers, asked by jupyter_client. JUPYTER_PATH says where it is installed."""
import base64
import contextlib
import os
import queue
import struct
import sys
import tempfile
import time
import zlib

from jupyter_client.manager import start_new_kernel

failures = []
tests = []


def test(function):
    tests.append(function)
    return function


class Asked:
    """A kernel, and what its cells have shown."""

    def __init__(self, **options):
        self.manager, self.client = start_new_kernel(kernel_name="tl", startup_timeout=60, **options)

    def run(self, code, interrupt_after=None, **options):
        """The reply, and pairs (seconds, message) of what was shown in order; an output is (kind, content)."""
        message, begin, shown = self.client.execute(code, **options), time.monotonic(), []
        if interrupt_after is not None:
            time.sleep(interrupt_after)
            self.manager.interrupt_kernel()
        while True:
            got = self.client.get_iopub_msg(timeout=60)
            kind, content = got["msg_type"], got["content"]
            if got["parent_header"].get("msg_id") != message:
                assert kind == "status", got
                continue
            if kind == "status" and content["execution_state"] == "idle":
                break
            if kind not in ("status", "execute_input"):
                shown.append((time.monotonic() - begin, kind, content))
        return self.reply(message), shown

    def reply(self, message):
        while True:
            got = self.client.get_shell_msg(timeout=30)
            if got["parent_header"]["msg_id"] == message:
                return got["content"]

    def outputs(self, code):
        """[(kind, text)]: of streams their text, of results and displays their data."""
        reply, shown = self.run(code)
        assert reply["status"] == "ok", (code, reply)
        return [(kind, content["text"] if kind == "stream" else content["data"]) for _, kind, content in shown]

    def plain(self, code):
        return [(kind, data if kind == "stream" else data["text/plain"]) for kind, data in self.outputs(code)]

    def error(self, code):
        reply, shown = self.run(code)
        assert reply["status"] == "error" and shown[-1][1] == "error", (code, reply, shown)
        return reply

    def answer(self, ask, *arguments, **named):
        return getattr(self.client, ask)(*arguments, reply=True, timeout=30, **named)["content"]

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel()


def equal(found, expected):
    assert found == expected, "\n%r\nand not\n%r" % (found, expected)


@test
def shows_values_and_prints_in_order(kernel):
    equal(kernel.plain("1 + 2"), [("execute_result", "3 : i64")])
    equal(kernel.plain('let a = [1.0, 2.5]\na\nprint("between")\na * 2'),
          [("display_data", "[1.  2.5] : f32[2]"), ("stream", "between\n"), ("execute_result", "[2. 5.] : f32[2]")])
    equal(kernel.plain('a\nprint("after")'), [("display_data", "[1.  2.5] : f32[2]"), ("stream", "after\n")])
    equal(kernel.plain("_[0] + 1.0"), [("execute_result", "2.0 : f32")])
    equal(kernel.plain("a;"), [])
    equal(kernel.plain("  \n"), [])
    equal(kernel.plain("struct P { w: f32[2], n: i64 }\nP(w = a, n = 2)"), [("execute_result", "P(w = [1.  2.5], n = 2) : P")])
    equal(kernel.plain("fn twice(x: f32[n]) -> f32[n] = x + x\ntwice"), [("execute_result", "twice(x: f32[n]) -> f32[n]")])


@test
def output_comes_while_it_runs(kernel):
    reply, shown = kernel.run("for i in 0..3 { let t = time()\n while time() - t < 0.5 { }\n print(\"step {i}\") }")
    equal("".join(content["text"] for _, _, content in shown), "step 0\nstep 1\nstep 2\n")
    assert len(shown) > 1 and shown[0][0] < 1.2, [at for at, _, _ in shown]


@test
def tensors_are_tables(kernel):
    [(_, data)] = kernel.outputs("[[1, 2, 3], [40, 50, 60]]")
    page = data["text/html"]
    assert "<code>i64[2, 3]</code>" in page and page.count("<tr>") == 3 and page.count("<td") == 6 and ">40</td>" in page, page
    page = kernel.outputs("arange(20)")[0][1]["text/html"]
    assert "⋯" in page and ">4</td>" in page and ">15</td>" in page and ">10</td>" not in page, page
    page = kernel.outputs("[[i * 1000 + j for j in 0..1000] for i in 0..100]")[0][1]["text/html"]
    assert "<code>i64[100, 1000]</code>" in page and "⋮" in page and ">99999</td>" in page and ">97</th>" in page and len(page) < 10000, page
    page = kernel.outputs("zeros([2, 2, 2])")[0][1]["text/html"]
    assert page.count("<table>") == 2 and "[1]" in page, page
    page = kernel.outputs("[true, false]")[0][1]["text/html"]
    assert ">false</td>" in page, page
    for plain in ("1.5", "zeros([0, 3])", "zeros([1, 1, 1, 1])", '"text"', "list(1, 2)"):
        assert "text/html" not in kernel.outputs(plain)[0][1], plain


@test
def pixels_are_pictures(kernel):
    pixels = "[u8(if c == 3 { 255 } else { 10 * i + j + c }) for i in 0..5, j in 0..7, c in 0..%d]"
    for channels, kind in ((3, 2), (4, 6)):
        data = kernel.outputs(pixels % channels)[0][1]
        assert "text/html" not in data and data["text/plain"].endswith(": u8[5, 7, %d]" % channels), data
        png = base64.b64decode(data["image/png"])
        assert png[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">IIBB", png[16:26]) == (7, 5, 8, kind), png[:30]
        size = struct.unpack(">I", png[33:37])[0]
        row = 1 + 7 * channels
        lines = zlib.decompress(png[41:41 + size])
        equal(len(lines), 5 * row)
        wanted = [255 if c == 3 else 10 * i + j + c for i in range(5) for j in range(7) for c in range(channels)]
        equal([byte for i in range(5) for byte in lines[i * row + 1:(i + 1) * row]], wanted)
    for other in ("zeros([5, 7, 3])", "zeros([5, 7, 2], u8)", "zeros([5, 7], u8)", "zeros([1, 7, 3], u8)"):
        assert "image/png" not in kernel.outputs(other)[0][1], other


@test
def plots_are_pictures(kernel):
    shown = kernel.outputs('import plot\nprint("before")\nplot.line([1.0, 4.0, 9.0], title = "squares")\nplot.image([[0.0, 1.0], [2.0, 3.0]])\nprint("end")')
    equal([kind for kind, _ in shown], ["stream", "display_data", "display_data", "stream"])
    line, image = shown[1][1]["image/svg+xml"], shown[2][1]["image/svg+xml"]
    assert line.startswith("<svg") and "squares" in line and line.rstrip().endswith("</svg>"), line
    assert "data:image/png;base64," in image, image
    with tempfile.TemporaryDirectory() as folder:
        equal(kernel.plain('plot.line([1.0, 2.0], file = "%s/p.svg")' % folder), [])
        assert os.path.getsize(folder + "/p.svg") > 100


@test
def errors_say_where(kernel):
    kernel.plain("let a = [1.0, 2.0]")
    error = kernel.error("let b = 1\nb + c")
    equal((error["ename"], error["evalue"]), ("UnknownName", "there is no name `c` here"))
    text = "\n".join(error["traceback"])
    assert ":2:5:" in text and "b + c" in text and "^" in text, text
    error = kernel.error("a[7]")
    equal(error["ename"], "IndexOutOfRange")
    text = "\n".join(kernel.error("a + 1.0 * f64(a)")["traceback"])
    assert "hint: " in text and "f64(a)" in text, text
    equal(kernel.error("assert a[0] > 5.0, \"small {a[0]}\"")["evalue"], "small 1.0")
    equal(kernel.error("exit(3)")["evalue"], "the program called exit(3)")
    reply, shown = kernel.run("print(\"first\")\na\nassert sum(a) > 10.0")
    equal([kind for _, kind, _ in shown], ["stream", "display_data", "error"])
    kernel.error("b")  # a cell that is wrong declares nothing
    equal(kernel.plain("a[0]"), [("execute_result", "1.0 : f32")])


@test
def an_error_ends_what_waits(kernel):
    asked = [kernel.client.execute(code) for code in ("nothing_there", "1 + 1")]
    equal([kernel.reply(message)["status"] for message in asked], ["error", "aborted"])
    with contextlib.suppress(queue.Empty):
        while True:
            kernel.client.get_iopub_msg(timeout=0.5)
    equal(kernel.plain("1 + 1"), [("execute_result", "2 : i64")])


@test
def interrupts_keep_variables(kernel):
    kernel.plain("let kept = [1.0, 2.0]\nvar s = 0.5")
    loops = ["while s < 1.0 { s = s * 0.5 }", "let m = ones([2000, 2000])\nvar q = m\nfor i in 0..100000 { q = q @ m * 0.0005 }\nprint(sum(q))",
             "print([sum(sin(f64(i * j + k)) for k in 0..100000) for i in 0..10000, j in 0..10000].sum())",
             'for i in 0..1000000000 { if i % 100000 == 0 { debug(i) } }']
    for code in loops:
        reply, shown = kernel.run(code, interrupt_after=0.7)
        assert reply["status"] == "error" and reply["ename"] == "Interrupted", (code, reply)
        assert shown[-1][0] < 5, shown[-1]
        equal(kernel.plain("kept * s"), [("execute_result", "[0.5 1. ] : f32[2]")])
    kernel.manager.interrupt_kernel()  # when nothing runs
    time.sleep(0.3)
    equal(kernel.plain("kept[1]"), [("execute_result", "2.0 : f32")])


@test
def completes(kernel):
    kernel.plain("struct Q { weight: f32[2] }\nlet q = Q(weight = [1.0, 2.0])\nlet longer_name = 1")
    for code, matches, begin in [("longer", ["longer_name"], 0), ("let é = q.w", ["q.weight"], 8), ("logsum", ["logsumexp"], 0),
                                 ("import opt", ["optim"], 7), ("softmax(zeros([2]), ax", ["axis = "], 20), ("nothing_like", [], 0)]:
        answer = kernel.answer("complete", code, len(code))
        equal((answer["matches"], answer["cursor_start"], answer["cursor_end"]), (matches, begin, len(code)))


@test
def inspects(kernel):
    kernel.plain("## Twice as much.\nfn double(x: f32[n]) -> f32[n] = x + x\nlet value = [1, 2]")
    for code, at, part in [("double", 3, "Twice as much."), ("value", 5, "i64[2]"), ("x.softmax()", 4, "Probabilities along an axis"),
                           ("softmax(value, ", 15, "axis"), ("nn.linear", 9, "x @ w + b"), ("concatenate", 2, "concat")]:
        answer = kernel.answer("inspect", code, at)
        assert answer["found"] and part in answer["data"]["text/plain"], (code, answer)
    for code in ("nothing_like", "", "1 + 2"):
        assert not kernel.answer("inspect", code, len(code))["found"], code


@test
def knows_what_is_complete(kernel):
    for code, status, indent in [("1", "complete", None), ("fn f() {", "incomplete", "  "), ("if true {\n  if true {", "incomplete", "    "),
                                 ("let x = [1,", "incomplete", "  "), ("let = 5", "complete", None), ("", "complete", None)]:
        answer = kernel.reply(kernel.client.is_complete(code))
        equal((answer["status"], answer.get("indent")), (status, indent))


@test
def remembers(kernel):
    for code in ("let h = 1", "h + 1", "h + 2"):
        kernel.plain(code)
    equal([entry[2] for entry in kernel.answer("history", hist_access_type="tail", n=2, raw=True, output=False)["history"]], ["h + 1", "h + 2"])
    found = kernel.answer("history", hist_access_type="search", pattern="h + ?", raw=True, output=False)["history"]
    equal([entry[2] for entry in found], ["h + 1", "h + 2"])


@test
def silent_cells_and_expressions(kernel):
    reply, shown = kernel.run("let hidden = 4\nhidden\nprint(hidden)", silent=True)
    equal((reply["status"], shown), ("ok", []))
    reply, _ = kernel.run("hidden;", user_expressions={"a": "hidden * 2", "b": "nothing_there"})
    equal(reply["user_expressions"]["a"]["data"]["text/plain"], "8 : i64")
    equal(reply["user_expressions"]["b"]["ename"], "UnknownName")


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    kernel = Asked()
    passed = 0
    for function in tests:
        if wanted not in function.__name__:
            continue
        try:
            function(kernel)
            passed += 1
        except Exception:
            import traceback
            traceback.print_exc()
            failures.append(function.__name__)
    kernel.close()
    print("%d passed, %d failed" % (passed, len(failures)))
    sys.exit(bool(failures))


main()
