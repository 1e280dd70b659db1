"""tl in Jupyter: `tl kernel --install` (or `python -m tl.kernel --install`) makes it known there. Needs ipykernel."""
import argparse
import base64
import json
import os
import re
import sys
import tempfile

from . import _tl
from ._errors import CompileError, InternalError, RunError
from ._pages import html_of, is_picture, png_of
from ._program import compile as _compile

try:
    from ipykernel.kernelapp import IPKernelApp
    from ipykernel.kernelbase import Kernel
    from jupyter_client.kernelspec import KernelSpecManager
except ImportError as missing:
    sys.stderr.write("tl: error[UsageError]: the kernel needs ipykernel (%s)\n  hint: pip install 'tl_lang[jupyter]'\n" % missing)
    sys.exit(2)

_WORD = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
# As `tl repl` colours its messages.
_COLOURS = [(re.compile(r"^(\S+?:\d+:\d+:)", re.M), "\x1b[1m"), (re.compile(r"\berror\[\w+\]", re.M), "\x1b[1;31m"),
            (re.compile(r"\bwarning\[\w+\]", re.M), "\x1b[1;33m"), (re.compile(r"^ *\| .*$", re.M), "\x1b[31m"),
            (re.compile(r"^ *hint: .*$", re.M), "\x1b[36m")]


def coloured(text):
    for pattern, colour in _COLOURS:
        text = pattern.sub(lambda match, colour=colour: colour + match[0] + "\x1b[0m", text)
    return text


def word_at(code, cursor):
    """The name that the cursor is in, up to the end of that part of it; else that of the call whose arguments it is in."""
    for match in _WORD.finditer(code):
        if match.start() <= cursor <= match.end():
            end = re.compile(r"\w*").match(code, cursor).end()
            return code[match.start():end].rstrip(".")
    depth = 0
    for at in range(cursor - 1, -1, -1):
        depth += (code[at] in ")]}") - (code[at] in "([{")
        if depth < 0:
            called = re.search(_WORD.pattern + r"$", code[:at])
            return called[0] if called and code[at] == "(" else ""
    return ""


class _Stream:
    """Standard output or error of a cell: what was shown before comes before."""

    def __init__(self, cell, inner):
        self.cell, self.inner = cell, inner

    def write(self, text):
        self.cell.release()
        if not self.cell.silent:
            self.inner.write(text)

    def flush(self):
        self.inner.flush()


class _Cell:
    """What a cell shows while it runs. The value that it shows last is its result."""

    def __init__(self, kernel, silent):
        self.kernel, self.silent = kernel, silent
        self.parent = kernel.get_parent("shell")
        self.shown, self.type = None, ""

    def send(self, kind, content):
        if self.silent:
            return
        for stream in self.streams:
            stream.flush()
        self.kernel.session.send(self.kernel.iopub_socket, kind, content, self.parent, ident=self.kernel._topic(kind))

    def release(self):
        if self.shown is not None:
            data, self.shown = self.shown, None
            self.send("display_data", {"data": data, "metadata": {}})

    def display(self, kind, content, type):
        self.release()
        if kind == "text/plain":
            page = html_of(content, type)
            self.type = type
            self.shown = {"text/plain": content, **({"text/html": page} if page else {})}
        else:
            self.send("display_data", {"data": {kind: content, "text/plain": "<%s>" % kind}, "metadata": {}})

    def __enter__(self):
        self.streams = sys.stdout, sys.stderr
        for stream in self.streams:
            stream.set_parent(self.parent)
        sys.stdout, sys.stderr = (_Stream(self, stream) for stream in self.streams)
        return self

    def __exit__(self, *_):
        sys.stdout, sys.stderr = self.streams


class TlKernel(Kernel):
    """A program that grows by a cell at a time, as in `tl repl`."""

    implementation = "tl"
    implementation_version = _tl.__version__
    banner = "tl %s" % _tl.__version__
    # Python's mode of CodeMirror colours what both languages have: comments, texts, numbers, most keywords.
    language_info = {
        "name": "tl", "version": _tl.__version__, "mimetype": "text/x-tl", "file_extension": ".tl", "pygments_lexer": "tl",
        "codemirror_mode": "python"
    }
    flags = {}

    def __init__(self, **options):
        super().__init__(**options)
        self.program = _compile("", "<cells>", **self.flags)
        self.cell = None
        self.entered = []
        _tl._display_pieces(self.program, lambda *shown: self.cell and self.cell.display(*shown))

    # ---- cells

    def run(self, code, name, silent):
        """What the cell gives, and what it failed with; one of them, or none, is there."""
        failure = None
        with _Cell(self, silent) as self.cell:
            try:
                try:
                    _tl._run_piece(self.program, name, code)
                except (CompileError, RunError, InternalError) as error:
                    failure = error
            except KeyboardInterrupt as error:
                failure = failure or error
            if failure:
                self.cell.release()
        cell, self.cell = self.cell, None
        if cell.shown and not failure and is_picture(cell.type):
            cell.shown["image/png"] = base64.b64encode(png_of(_tl._lookup_piece(self.program, "_"))).decode()
            del cell.shown["text/html"]
        return cell.shown, failure

    def do_execute(self, code, silent, store_history=True, user_expressions=None, allow_stdin=False, **_):
        if store_history and code.strip():
            self.entered.append((self.execution_count, code))
        result, failure = self.run(code, "<cell %d>" % self.execution_count, silent) if code.strip() else (None, None)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        reply = {"execution_count": self.execution_count}
        if failure is not None:
            content = self.error(failure)
            if not silent:
                self.send_response(self.iopub_socket, "error", content)
            return {"status": "error", **reply, **content}
        if result and not silent:
            self.send_response(self.iopub_socket, "execute_result", {"data": result, "metadata": {}, **reply})
        values = {name: self.evaluate(text) for name, text in (user_expressions or {}).items()}
        return {"status": "ok", **reply, "payload": [], "user_expressions": values}

    def evaluate(self, text):
        result, failure = self.run(text, "<expression>", True)
        if failure is not None:
            return {"status": "error", **self.error(failure)}
        return {"status": "ok", "data": result or {}, "metadata": {}}

    def error(self, failure):
        if isinstance(failure, KeyboardInterrupt):
            return {"ename": "Interrupted", "evalue": "interrupted", "traceback": ["interrupted"]}
        return {
            "ename": failure.kind or type(failure).__name__, "evalue": failure.message or str(failure),
            "traceback": coloured(str(failure)).splitlines()
        }

    # ---- questions about code

    def do_complete(self, code, cursor_pos):
        cursor = len(code[:cursor_pos].encode())
        begin, matches = _tl._complete_piece(self.program, code, cursor)
        return {
            "status": "ok", "matches": matches, "metadata": {}, "cursor_start": len(code.encode()[:begin].decode()), "cursor_end": cursor_pos
        }

    def do_inspect(self, code, cursor_pos, detail_level=0, omit_sections=()):
        word = word_at(code, cursor_pos)
        for name in (word, word.rpartition(".")[2]):
            try:
                text = _tl._help_piece(self.program, name) if name else ""
            except ValueError:
                continue
            if text:
                return {"status": "ok", "found": True, "data": {"text/plain": text}, "metadata": {}}
        return {"status": "ok", "found": False, "data": {}, "metadata": {}}

    def do_is_complete(self, code):
        blanks = _tl._is_incomplete(code)
        return {"status": "complete"} if blanks is None else {"status": "incomplete", "indent": " " * blanks}

    def do_history(self, hist_access_type, output, raw, session=None, start=None, stop=None, n=None, pattern=None, unique=False):
        entered = self.entered
        if hist_access_type == "range":
            entered = [(line, code) for line, code in entered if (start or 0) <= line and (stop is None or line < stop)]
        elif hist_access_type == "search":
            glob = re.compile(re.escape(pattern or "*").replace(r"\*", ".*").replace(r"\?", "."), re.S)
            entered = [(line, code) for line, code in entered if glob.fullmatch(code)]
            if unique:
                entered = list({code: (line, code) for line, code in entered}.values())
        if hist_access_type != "range" and n is not None:
            entered = entered[-n:] if n else []
        return {"status": "ok", "history": [(0, line, (code, None) if output else code) for line, code in entered]}

    def do_shutdown(self, restart):
        self.program.close(wait=False)
        return {"status": "ok", "restart": restart}


# ---- the command


def install(options):
    """Writes the kernel's specification where Jupyter finds it; gives the folder."""
    words = [sys.executable, "-m", "tl.kernel", "-f", "{connection_file}"]
    for flag in options.flag:
        words += ["--flag", flag]
    specification = {
        "argv": words, "display_name": options.display_name or ("tl" if options.name == "tl" else "tl (%s)" % options.name), "language": "tl",
        "interrupt_mode": "signal", "metadata": {"debugger": False}
    }
    prefix = options.prefix
    if not prefix and not options.user and sys.prefix != sys.base_prefix:
        prefix = sys.prefix  # the virtual environment's
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # it is copied
        with open(os.path.join(folder, "kernel.json"), "w", encoding="utf-8") as file:
            json.dump(specification, file, indent=1)
        return KernelSpecManager().install_kernel_spec(folder, options.name, user=not prefix, prefix=prefix)


def parse(words):
    parser = argparse.ArgumentParser(
        prog="tl kernel", description="The Jupyter kernel of tl: --install makes it known to Jupyter, which then starts it.",
        allow_abbrev=False)
    parser.add_argument("-f", metavar="FILE", help="the connection file that Jupyter has written")
    parser.add_argument("--install", action="store_true", help="in this virtual environment, else for this user")
    parser.add_argument("--user", action="store_true", help="for this user")
    parser.add_argument("--prefix", metavar="FOLDER", help="under FOLDER/share/jupyter")
    parser.add_argument("--name", default="tl", help="of the kernel's folder, which tells several apart (tl)")
    parser.add_argument("--display-name", metavar="NAME", help="in Jupyter's menus")
    parser.add_argument("--flag", action="append", default=[], metavar="NAME=VALUE", help="a flag of `tl run`, as threads=2; may be repeated")
    options = parser.parse_args(words)
    if options.install == bool(options.f):
        parser.error("--install makes the kernel known to Jupyter, which starts it with -f FILE")
    if options.user and options.prefix:
        parser.error("--user and --prefix exclude each other")
    if not re.fullmatch(r"[A-Za-z0-9._-]+", options.name):
        parser.error("--name %r: letters, digits, '.', '_' and '-' make a name" % options.name)
    try:
        TlKernel.flags = dict(flag.split("=", 1) for flag in options.flag)
        _compile("", "<cells>", **TlKernel.flags).close()
    except ValueError as error:
        parser.error("--flag: " + (str(error) if all("=" in flag for flag in options.flag) else "NAME=VALUE is wanted"))
    if options.f and not os.path.exists(options.f):
        parser.error("there is no connection file '%s'" % options.f)
    return options


def main(words=None):
    options = parse(sys.argv[1:] if words is None else words)
    if options.install:
        try:
            print("installed in %s" % install(options))
        except OSError as error:
            sys.stderr.write("tl: error[IoError]: the kernel cannot be installed: %s\n" % error)
            sys.exit(3)
        return
    app = IPKernelApp.instance(kernel_class=TlKernel)
    app.initialize(["-f", options.f])
    app.start()


if __name__ == "__main__":
    main()
