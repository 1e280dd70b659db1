#!/usr/bin/env python3
"""Finds slips in the text of the repository before anything is built: tests/gate.py [--tidy] [FILE…].

Without files it looks at all that git tracks or would add. Every finding is a line `FILE:LINE: what`; exit code 1 if there are any.

  - conflict markers, trailing blanks, tabs, no newline at the end, lines over the limit of their kind of file
  - files at the top of the repository that nobody meant to put there
  - paths, files and links in comments and Markdown that do not exist, and references to lines by number, which go stale
  - section rules (`// ---- values`) that are broken in two
  - parameters and locals of C++ that end in an underscore, as only members do
  - tables of figures that no file of bench/results is the source of (bench/tables.py)
  - the files of injected faults in docs/TESTING.md, which are those of tests/mutants
  - the version: one in CMakeLists.txt, README.md and CHANGELOG.md
  - formatting: clang-format, shellcheck and `tl fmt`, each where it is installed or built

With --tidy, clang-tidy looks at the lines of C++ sources that differ from main's (or at all of those that are given), with the commands of
build/compile_commands.json.
What looks like a slip and is none stands in tests/gate_exceptions.txt, with its reason.
"""
import argparse
import concurrent.futures
import fnmatch
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))

import tables  # noqa: E402

TOP = """.ci .clang-format .clang-tidy .editorconfig .gitignore .pre-commit-config.yaml CHANGELOG.md CMakeLists.txt CMakePresets.json
CONTRIBUTING.md LICENSE README.md SECURITY.md abi api backend bench cli cmake compiler dev docs driver importers ir lang lsp parser passes pyproject.toml
python samples stdlib tests vm""".split()
FOLDERS = [name for name in TOP if "." not in name and name not in ("LICENSE", "dev")]

# Characters of a line, by the end of a file's name. Programs in tl have expected output beside their lines, and `tl fmt`.
WIDTH = {".cpp": 120, ".h": 120, ".c": 120, ".inc": None, ".md": 145, ".py": 200, ".sh": 200, ".def": 200, ".re": 160, ".yy": 160, ".txt": 170, ".cmake": 200, ".yaml": 160}
CPP = (".cpp", ".h", ".c", ".def", ".inc", ".re", ".yy")
SOURCES = r"(?:cpp|h|c|def|inc|re|yy|py|sh|cmake|md)"


def git(*arguments):
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout


@functools.cache
def tracked():
    names = git("ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    return [name for name in names if name and os.path.isfile(name)]


@functools.cache
def places():
    """All files and folders, and all endings of their paths: `graph/verify.cpp` is one of `ir/graph/verify.cpp`."""
    whole = set()
    for name in tracked():
        parts = name.split("/")
        whole.update("/".join(parts[:count]) for count in range(1, len(parts) + 1))
    ends = set()
    for name in whole:
        parts = name.split("/")
        ends.update("/".join(parts[first:]) for first in range(len(parts)))
    return whole, ends


@functools.cache
def exceptions():
    """Pairs of a file and a pattern of paths that it may name."""
    lines = pathlib.Path("tests/gate_exceptions.txt").read_text().splitlines()
    return [tuple(line.split(" # ")[0].split()) for line in lines if line.strip() and not line.startswith("#")]


def excepted(file, path):
    return any(file == named and fnmatch.fnmatchcase(path, pattern) for named, pattern in exceptions())


# ---- lines of any text

def check_top(file):
    if "/" not in file and file not in TOP:
        yield 1, f"`{file}` has no business at the top of the repository: TOP of tests/gate.py lists what has"


def check_lines(file, text, lines):
    suffix = pathlib.Path(file).suffix
    table = False  # of C++, which stands between `clang-format off` and `on`
    program, printed = suffix == ".tl", file.startswith("tests/samples/") or suffix in (".out", ".err", ".csv", ".svg")
    width = WIDTH.get(suffix, 200 if not suffix and not printed else None)
    if file == "dev" or file.startswith(".ci/"):
        width = WIDTH[".sh"]
    if text and not text.endswith("\n") and not printed:
        yield len(lines), "no newline at the end of the file"
    fenced = False
    for number, line in enumerate(lines, 1):
        if re.match(r"(<{7}|>{7}|\|{7})( |$)|={7}$", line):
            yield number, "a conflict marker of a merge"
        if suffix == ".md" and line.lstrip().startswith("```"):
            fenced = not fenced
        if line != line.rstrip() and not program and not printed and not fenced:
            yield number, "blanks at the end of the line"
        if "\t" in line and not program and not printed:
            yield number, "a tab"
        if "clang-format o" in line:
            table = "clang-format off" in line
        free = table or suffix == ".md" and (fenced or line.startswith("|") or "](" in line or "<!--" in line)
        if width and len(line) > width and not free and not re.fullmatch(r"\W*https?://\S+", line):
            yield number, f"{len(line)} characters, where the limit of {suffix or 'scripts'} is {width}"


# ---- comments

TOKENS = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)


DOCSTRING = re.compile(r'(?:\A(?:#![^\n]*\n)?|\n *(?:def|class) [^\n]*:\n *)"""(.*?)"""', re.S)


def split_cpp(text):
    """The comments, as pairs of line and text, and the code with comments and literals blanked."""
    comments = []

    def blank(match):
        token = match[0]
        if token.startswith("/"):
            first = text.count("\n", 0, match.start()) + 1
            comments.extend((first + i, line) for i, line in enumerate(token.split("\n")))
            return re.sub(r"[^\n]", " ", token)
        return '"' + re.sub(r"[^\n]", "_", token[1:-1]) + '"'

    return comments, TOKENS.sub(blank, text)


def comments_of(file, text, lines):
    """Pairs of line number and text of what a person wrote for readers."""
    suffix = pathlib.Path(file).suffix
    if suffix in CPP:
        return split_cpp(text)[0]
    if suffix == ".md":
        prose, fenced = [], False
        for number, line in enumerate(lines, 1):
            if line.lstrip().startswith("```"):
                fenced = not fenced
            elif not fenced:
                prose.append((number, line))
        return prose
    if suffix == ".tl":
        return [(n, match[0]) for n, line in enumerate(lines, 1) if (match := re.match(r"\s*# .*", line))]
    if suffix in (".py", ".sh", ".cmake", ".txt", "") or file == "dev":
        found = [(n, match[0]) for n, line in enumerate(lines, 1) if (match := re.search(r"(^|\s)#\s.*", line))]
        for match in DOCSTRING.finditer(text) if suffix == ".py" else []:
            first = text.count("\n", 0, match.start(1)) + 1
            found += [(first + i, line) for i, line in enumerate(match[1].split("\n"))]
        return found
    return []


# ---- paths

PATH = re.compile(r"(?<![\w./@$<>{}*~=-])((?:\.\./|\./)?[A-Za-z_][\w.*{},-]*(?:/[\w.*{},-]+)+/?)(?![\w<(/$])")
NAME = re.compile(rf"(?<![\w./*<>$~}}-])([A-Za-z_]\w*\.{SOURCES})(?![\w/(-]|\.\w)")
PLACEHOLDER = re.compile(r"\b(NAME|OUTPUT|STEM|MODULE|FILE|FOLDER|BUILD)\b|_VERSION_")
LINE = re.compile(rf"\b([\w/]+\.{SOURCES}):(\d+)")


def expand(path):
    """Braces are alternatives."""
    match = re.search(r"\{([^{}]*)\}", path)
    return [path] if not match else [each for part in match[1].split(",") for each in expand(path[: match.start()] + part + path[match.end() :])]


def exists(path, file):
    """As a path from the top, from the file's folder, or as the end of a path; without an ending, as the files of that name."""
    whole, ends = places()
    beside = os.path.normpath(os.path.join(os.path.dirname(file), path))
    if path in whole or beside in whole:
        return True
    if "*" in path:
        patterns = [re.compile(re.escape(pattern).replace(r"\*", "[^/]*")) for pattern in (path, beside)]
        return any(pattern.fullmatch(name) for name in ends for pattern in patterns)
    if path.split("/")[0] in FOLDERS:
        return "." not in path.rsplit("/")[-1] and any(f"{path}.{suffix}" in whole for suffix in ("h", "cpp", "sh", "py"))
    return path in ends


def check_paths(file, comments):
    for number, comment in comments:
        comment = re.sub(r"\]\([^)]*\)", "]", comment)  # links are checked as such
        for name, line in LINE.findall(comment):
            if not excepted(file, f"{name}:{line}"):
                yield number, f"`{name}:{line}` refers to a line by its number, which goes stale: name what stands there"
        for written in PATH.findall(comment):
            for path in expand(written.rstrip(".,:-").rstrip("/")):
                head, suffix = path.split("/")[0], pathlib.Path(path).suffix.lstrip(".")
                ours = head in FOLDERS or head in (".", "..") and suffix or re.fullmatch(SOURCES, suffix)
                if head.startswith("build") or path.startswith("./build") or PLACEHOLDER.search(path):
                    continue
                if ours and not exists(path.removeprefix("./"), file) and not excepted(file, path):
                    yield number, f"there is no `{path}`"
        for name in NAME.findall(comment):
            if name not in places()[1] and not PLACEHOLDER.search(name) and not excepted(file, name):
                yield number, f"there is no file `{name}`"


@functools.cache
def anchors(file):
    found = set()
    for line in pathlib.Path(file).read_text().splitlines():
        if match := re.match(r"#+ (.*)", line):
            found.add(re.sub(r"[^\w\- ]", "", match[1].replace("`", "").lower()).replace(" ", "-"))
    return found


def check_links(file, comments):
    for number, line in comments:
        found = [target for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)) if not re.match(r"\w+:", target)]
        found += [f"/{target}" for target in re.findall(r"(docs/[\w-]+\.md#[\w-]+)", line)]
        for target in found:
            path, _, anchor = target.partition("#")
            path = os.path.normpath(path.lstrip("/") if path.startswith("/") else os.path.join(os.path.dirname(file), path)) if path else file
            if path not in places()[0]:
                yield number, f"the link leads to `{path}`, which does not exist"
            elif anchor and path.endswith(".md") and anchor not in anchors(path):
                yield number, f"`{path}` has no heading `#{anchor}`"


def check_commands(file, comments):
    """`./dev NAME` is a command of dev."""
    known = set(re.findall(r"^  ([a-z-]+(?: \| [a-z-]+)*)\)", pathlib.Path("dev").read_text(), re.M))
    known = {name for names in known for name in names.split(" | ")} | {"help"}
    for number, line in comments:
        for name in re.findall(r"(?<!\w)\./dev ([a-z][a-z-]*)", line):
            if name not in known:
                yield number, f"`./dev {name}`: dev has no such command"


# ---- section rules

def check_rules(file, comments):
    before = (0, "")
    for number, comment in comments:
        text = re.sub(r"^\s*(//|#|/?\*)\s?", "", comment).strip()
        if re.search(r"-{3,}$", text) and not re.match(r"-{3,}", text):
            yield number, "the end of a section rule that is broken in two"
        elif re.fullmatch(r"-{3,}", text) and before[0] == number - 1 and re.match(r"-{3,} ?\S", before[1]):
            yield number, "the end of a section rule that is broken in two"
        before = (number, text)


# ---- names of C++

TYPE = r"(?:const |static |constexpr |thread_local |unsigned |struct )*(?:auto|[A-Za-z_][\w:]*(?<!_)(?:<[^;{}()=]*>)?(?:::\w+)*)(?: const)?"
LOCAL = re.compile(rf"^\s*(?:for \()?{TYPE}[ &*]+(?P<name>[a-z]\w*_)\s*(?:=(?!=)|;|:|$|,|\[)")
BINDING = re.compile(r"auto&{0,2} \[[^\]]*?\b([a-z]\w*_)\b")
PARAMETER = re.compile(rf"[(,]\s*{TYPE}[ &*]+([a-z]\w*_)\s*(?=[,)=])")
NO_TYPE = re.compile(r"\s*(return|delete|throw|case|goto|co_return|else|new|typename|using|namespace|public|private|protected)\b")


def check_locals(code):
    """A trailing underscore is for members: what a function declares has none."""
    scopes, start = ["outside"], 0
    for match in re.finditer(r"[;{}]", code):
        statement = code[start : match.start()]
        number = code.count("\n", 0, match.start()) + 1
        start = match.end()
        bare = re.sub(r"^\s*#.*$", "", statement, flags=re.M).strip()
        inside = scopes[-1] == "function"
        if not NO_TYPE.match(bare):
            found = LOCAL.match(bare + (";" if match[0] == ";" else " = " if match[0] == "{" else "")) if inside else None
            names = [found["name"]] if found else []
            names += BINDING.findall(bare) if inside else []
            if match[0] == "{" or not inside:
                names += PARAMETER.findall(bare)
            for name in names:
                yield number, f"`{name}` is a parameter or a local: only members end in an underscore"
        if match[0] == "{":
            while (plain := re.sub(r"<[^<>]*>|\b(?:alignas|__attribute__)\([^()]*\)", "", bare)) != bare:
                bare = plain
            if re.search(r"\bnamespace\b|\bextern\b", bare):
                scopes.append("outside")
            elif re.search(r"\b(class|struct|union|enum)\s[^()=]*$", bare):
                scopes.append("type")
            else:
                scopes.append("function")
        elif match[0] == "}" and len(scopes) > 1:
            scopes.pop()


# ---- injected faults

def check_faults():
    """The tables of docs/TESTING.md name the file that each fault of tests/mutants is put into."""
    sys.path.insert(0, "tests/mutants")
    import faults
    import gpu_faults
    known = {(str(number), fault[3]): fault[0] for module in (faults, gpu_faults) for number, fault in enumerate(module.FAULTS, 1)}
    for line, text in enumerate(pathlib.Path("docs/TESTING.md").read_text().splitlines(), 1):
        if match := re.match(r"\| (\d+) \| `([\w/.]+)` \| (.*?) \|", text):
            file = known.get((match[1], match[3]))
            if file != match[2]:
                yield "docs/TESTING.md", line, f"fault {match[1]} is in {f'`{file}`' if file else 'no list under this description'} (tests/mutants)"


# ---- the version

def check_version():
    """One version in the build, the README and the changelog."""
    version = re.search(r"project\(tl .*VERSION ([\d.]+)\)", pathlib.Path("CMakeLists.txt").read_text())[1]
    for number, line in enumerate(pathlib.Path("README.md").read_text().splitlines(), 1):
        for named in re.findall(r"tl_(\d[\d.]*)_amd64", line):
            if named != version:
                yield "README.md", number, f"the package is of version {named}, and the version is {version} (CMakeLists.txt)"
    first = re.search(r"^## \[(\d[\d.]*)\]", pathlib.Path("CHANGELOG.md").read_text(), re.M)
    if first is None or first[1] != version:
        yield "CHANGELOG.md", 1, f"the newest section is not of version {version} (CMakeLists.txt)"


# ---- other tools

def run_tool(command, pattern, what):
    """Findings in what a tool prints."""
    done = subprocess.run(command, capture_output=True, text=True)
    found = [(match["file"], int(match["line"] or 1), f"{what}{match['text']}") for match in re.finditer(pattern, done.stdout + done.stderr, re.M)]
    if done.returncode != 0 and not found:
        found = [(command[0], 1, f"exit code {done.returncode}: {(done.stdout + done.stderr)[:500]}")]
    return found


def ours(command, pattern, what):
    """Of what run_tool finds, what is in the repository; the rest is shown and does not count."""
    found = run_tool(command, pattern, what)
    for name, _, text in found:
        if name == command[0]:
            print(f"gate: {name}: {text.splitlines()[0][:200]}", file=sys.stderr)
    return [finding for finding in found if finding[0] != command[0]]


def formatting(files):
    """Commands of the tools that are there. Shellcheck does not look for `cd` without `|| exit` (2164: what follows fails by itself), words
    that are split (2046, 2206: they are meant to be), and what files that are sourced set and pass (2154, 2120)."""
    cpp = [file for file in files if file.endswith((".cpp", ".h"))]
    shell = [file for file in files if file.endswith(".sh") or file in ("dev", ".ci/run")]
    programs = [file for file in files if file.endswith(".tl") and file.startswith(("samples/", "stdlib/"))]
    if cpp and shutil.which(CLANG_FORMAT):
        for part in (cpp[::2], cpp[1::2]):
            if part:
                yield [CLANG_FORMAT, "--dry-run", "--Werror", *part], r"^(?P<file>[^\s:]+):(?P<line>\d+):\d+: error: (?P<text>.*)$", "./dev fmt: "
    if shell and shutil.which("shellcheck"):
        yield ["shellcheck", "-x", "-S", "warning", "-e", "SC2164,SC2046,SC2206,SC2154,SC2120", "-f", "gcc", *shell], r"^(?P<file>[^\s:]+):(?P<line>\d+):\d+: (?P<text>.*)$", "shellcheck: "
    if programs and os.access("build/tl", os.X_OK):
        yield ["build/tl", "fmt", "--check", *programs], r"^(?P<file>\S+\.tl)(?P<line>)(?P<text>.*)$", "is not as `tl fmt` writes it"


CLANG_FORMAT = "clang-format-19"


def tidy(files):
    """clang-tidy, of whole files or, without any, of what differs from main."""
    if not shutil.which("clang-tidy-19") or not os.path.exists("build/compile_commands.json"):
        print("gate: no clang-tidy-19 or no build/compile_commands.json: names are checked by the gate alone", file=sys.stderr)
        return []
    lines = {file: [] for file in files if file.endswith(".cpp")} if files else changed()
    with open("build/compile_commands.json") as commands:  # it needs the command; targets of libFuzzer are of another build
        built = {os.path.join(entry["directory"], entry["file"]) for entry in json.load(commands)}
    lines = {file: ranges for file, ranges in lines.items() if os.path.abspath(file) in built}
    # What it says of files that are not the repository's (headers of the system, commands that are another compiler's) is no slip of ours.
    one = lambda file: ours(["clang-tidy-19", "-p", "build", "--quiet", "--warnings-as-errors=*", file,
                                 *(["--line-filter=" + json.dumps([{"name": file, "lines": lines[file]}])] if lines[file] else [])],
                                rf"^{re.escape(os.getcwd())}/(?P<file>[^:]+):(?P<line>\d+):\d+: (?:error|warning): (?P<text>.*)$", "clang-tidy: ")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return sorted({finding for found in pool.map(one, lines) for finding in found})


def changed():
    """Ranges of lines of C++ sources that differ from main's, or from the commit before where this is main."""
    for base in ("origin/main", "main"):
        if subprocess.run(["git", "rev-parse", "-q", "--verify", base], capture_output=True).returncode == 0:
            base = git("merge-base", base, "HEAD").strip()
            break
    else:
        base = "HEAD"
    if base == git("rev-parse", "HEAD").strip() and subprocess.run(["git", "rev-parse", "-q", "--verify", "HEAD~1"], capture_output=True).returncode == 0:
        base = "HEAD~1"
    found = {name: [] for name in tracked() if name.endswith(".cpp") and not git("ls-files", name)}  # new ones as a whole
    name = None
    for line in git("diff", "-U0", base, "--", "*.cpp").splitlines():
        if line.startswith("+++ "):
            name = line.removeprefix("+++ b/")
        elif match := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            first, count = int(match[1]), int(match[2] or 1)
            if count and os.path.isfile(name):
                found.setdefault(name, []).append([first, first + count - 1])
    return found


def check(file):
    """The findings in one file."""
    yield from check_top(file)
    data = pathlib.Path(file).read_bytes()
    if b"\0" in data[:8000] or pathlib.Path(file).suffix in (".npy", ".npz", ".png", ".safetensors"):
        return
    text = data.decode(errors="replace")
    lines = text.split("\n")[: -1 if text.endswith("\n") else None]
    yield from check_lines(file, text, lines)
    comments = comments_of(file, text, lines)
    yield from check_paths(file, comments)
    yield from check_commands(file, comments)
    if file.endswith(".md"):
        yield from check_links(file, comments)
        yield from tables.problems(file, text)
    else:
        yield from check_rules(file, comments)
    if file.endswith((".cpp", ".h")):
        yield from check_locals(split_cpp(text)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--tidy", action="store_true", help="also clang-tidy, of the C++ lines that differ from main's")
    options = parser.parse_args()
    given = [os.path.relpath(file, pathlib.Path(__file__).resolve().parents[1]) for file in options.files]
    os.chdir(pathlib.Path(__file__).resolve().parents[1])
    files = [file for file in given if os.path.isfile(file)] if given else tracked()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        tools = [pool.submit(run_tool, *tool) for tool in formatting(files)]
        findings = [(file, *finding) for file in files for finding in check(file)]
        findings += [finding for tool in tools for finding in tool.result()]
    findings += [*check_version(), *check_faults()]
    findings += [] if given else [(file, 1, what) for file, what in tables.broken()]
    if options.tidy:
        findings += tidy(given)
    for file, line, what in sorted(findings):
        print(f"{file}:{line}: {what}")
    for line in [] if given else tables.old():
        print(line)
    print(f"gate: {len(findings)} findings in {len(files)} files")
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
