#!/usr/bin/env python3
"""Plants slips in a copy of the repository, one at a time; tests/gate.py must name each by its own message: tests/gate_test.py [FILTER].
Ends with `N passed, N failed`."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]


def append(text):
    return lambda old: old + text


def replace(old, new):
    def change(text):
        assert old in text, old
        return text.replace(old, new, 1)

    return change


def edit(pattern, new):
    def change(text):
        changed, count = re.subn(pattern, new, text, count=1)
        assert count == 1, pattern
        return changed

    return change


MEMBERS = """
namespace tl {
class Counted : public std::vector<std::pair<int, int>> {
public:
  explicit Counted(int first) : first_(first), both_{first_, first_} {}
  int first() const { return first_; }
private:
  int first_ = 0;
  std::pair<int, int> both_;
};
} // namespace tl
"""

# A name, the file, what is changed in it, and what the gate must say (a regular expression); None: nothing.
SLIPS = [
    ("conflict marker", "tests/README.md", append("<<<<<<< HEAD\n"), r"README.md:\d+: a conflict marker"),
    ("the middle of a conflict", "tests/README.md", append("=======\n"), r"README.md:\d+: a conflict marker"),
    ("trailing blank", "vm/text_ops.cpp", append("int x; \n"), r"text_ops.cpp:\d+: blanks at the end"),
    ("tab", "vm/text_ops.cpp", append("\tint x;\n"), r"text_ops.cpp:\d+: a tab"),
    ("no newline at the end", "vm/text_ops.cpp", append("int x;"), r"text_ops.cpp:\d+: no newline"),
    ("long line", "vm/text_ops.cpp", append("// " + "word " * 30 + "x\n"), r"text_ops.cpp:\d+: 154 characters, where the limit of .cpp is 120"),
    ("long line of prose", "docs/async.md", append("word " * 40 + "x\n"), r"async.md:\d+: 201 characters, where the limit of .md is 145"),
    ("stray file at the top", "1.14132", append("1.2\n"), r"1.14132:1: .*no business at the top"),
    ("dead path in a comment", "vm/text_ops.cpp", append("// Internal to passes/peak_memory.\n"), r"text_ops.cpp:\d+: there is no `passes/peak_memory`"),
    ("dead path in Python", "tests/oracles/run.py", append("# as tests/orders/run.py does\n"), r"run.py:\d+: there is no `tests/orders/run.py`"),
    ("dead path in a script", "tests/docs.sh", append("# as tests/orders.sh does\n"), r"docs.sh:\d+: there is no `tests/orders.sh`"),
    ("dead path in Markdown", "docs/async.md", append("See `vm/engines.cpp`.\n"), r"async.md:\d+: there is no `vm/engines.cpp`"),
    ("dead file in a comment", "vm/text_ops.cpp", append("// See text_opts.cpp.\n"), r"text_ops.cpp:\d+: there is no file `text_opts.cpp`"),
    ("line by number", "vm/text_ops.cpp", append("// The columns: ops.def:6.\n"), r"text_ops.cpp:\d+: `ops.def:6` refers to a line by its number"),
    ("dead link", "docs/async.md", append("[there](nowhere.md)\n"), r"async.md:\d+: the link leads to `docs/nowhere.md`"),
    ("dead anchor", "docs/async.md", append("[there](language.md#no-such)\n"), r"async.md:\d+: `docs/language.md` has no heading `#no-such`"),
    ("command that dev does not have", "docs/async.md", append("`./dev frobnicate`\n"), r"async.md:\d+: `./dev frobnicate`: dev has no such command"),
    ("misnamed local", "vm/text_ops.cpp", append("void f() {\n  int* operation_ = nullptr;\n}\n"), r"text_ops.cpp:\d+: `operation_` is a parameter or a local"),
    ("misnamed local of a loop", "vm/text_ops.cpp", append("void f() {\n  for (const auto& x_ : all) g(x_);\n}\n"), r"`x_` is a parameter or a local"),
    ("misnamed binding", "vm/text_ops.cpp", append("void f() {\n  auto [a, b_] = g();\n}\n"), r"`b_` is a parameter or a local"),
    ("misnamed parameter", "vm/text_ops.cpp", append("void f(int count_) {}\n"), r"`count_` is a parameter or a local"),
    ("names of members", "vm/text_ops.cpp", append(MEMBERS), None),
    ("rule in two", "vm/text_ops.cpp", append("// ---- values\n// -----------------\n"), r"text_ops.cpp:\d+: the end of a section rule"),
    ("rule in two words", "vm/text_ops.cpp", append("// ---- values of\n// lists -----------------\n"), r"text_ops.cpp:\d+: the end of a section rule"),
    ("figures without a source", "docs/BENCHMARKS.md", append("\n| case | ms |\n| --- | --- |\n| sort | 3.5 |\n"), r"BENCHMARKS.md:\d+: a table with figures and no source"),
    ("figure that was not measured", "docs/BENCHMARKS.md", edit(r"(figures: rows -->\n\|[^\n]*\n\|[^\n]*\n\|[^|]*\|) [\d.]+", r"\g<1> 98.76"),
     r"BENCHMARKS.md:\d+: the figures `rows` are not those of bench/results"),
    ("figure in prose that was not measured", "docs/BENCHMARKS.md", edit(r"(heat\.measured -->)[\d.]+", r"\g<1>9.87"), r"BENCHMARKS.md:\d+: 9.87 is \d"),
    ("figure of nothing", "docs/BENCHMARKS.md", append("<!-- figure: rows.nothing.tl -->3\n"), r"there is no measurement `rows.nothing.tl`"),
    ("package of another version", "README.md", replace("tl_0.", "tl_7."), r"README.md:\d+: the package is of version 7"),
    ("changelog without the version", "CHANGELOG.md", replace("## [0.", "## [7."), r"CHANGELOG.md:1: the newest section is not of version"),
    ("fault in another file", "docs/TESTING.md", replace("| 59 | `parser/check/builtins/builders.cpp` |", "| 59 | `parser/check/builtins/choose.cpp` |"),
     r"TESTING.md:\d+: fault 59 is in `parser/check/builtins/builders.cpp`"),
    ("whole rule", "vm/text_ops.cpp", append("// ---- values ---------\n"), None),
]


def copy(to):
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@localhost", "-c", "init.defaultBranch=main"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "--no-verify", "-m", "copy"]):
        subprocess.run([*git, *command], cwd=to, check=True)


def main():
    text = sys.argv[1] if len(sys.argv) > 1 else ""
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="tl-gate-") as folder:
        to = pathlib.Path(folder)
        copy(to)
        # The gate's own checks, not those of tools that may not be installed.
        tools = to / "tools"
        tools.mkdir()
        (to / ".gitignore").write_text((to / ".gitignore").read_text() + "/tools/\n")
        for tool in ("git", "python3"):
            (tools / tool).symlink_to(shutil.which(tool))
        if text in "the whole repository":
            done = subprocess.run([sys.executable, "tests/gate.py"], cwd=to, capture_output=True, text=True, env={**os.environ, "PATH": str(tools)})
            passed, failed = passed + (done.returncode == 0), failed + (done.returncode != 0)
            if done.returncode != 0:
                print(f"FAIL the whole repository: expected no finding\n{done.stdout}{done.stderr}")
        for name, file, change, expected in SLIPS:
            if text not in name and text not in "gate":
                continue
            path = to / file
            old = path.read_text() if path.exists() else None
            path.write_text(change(old or ""))
            done = subprocess.run([sys.executable, "tests/gate.py", file], cwd=to, capture_output=True, text=True, env={**os.environ, "PATH": str(tools)})
            said = done.stdout + done.stderr
            good = done.returncode == 0 and " 0 findings" in said if expected is None else done.returncode == 1 and re.search(expected, said) and " 1 findings" in said
            passed, failed = passed + bool(good), failed + (not good)
            if not good:
                print(f"FAIL {name}: expected {expected or 'no finding'}\n{said}")
            path.unlink() if old is None else path.write_text(old)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
