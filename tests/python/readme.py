#!/usr/bin/env python3
"""The Python of README.md and docs/python.md, in one process and in its order: a block ```python must print what the block after it says. Blocks ```tl
begin with the name of the file that they are. Blocks that need a module (```python torch) are skipped without it. Needs the package tl.

readme.py [--write] writes what they print into the document.
"""
import contextlib
import importlib.util
import io
import os
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = ("README.md", "docs/python.md")
BLOCK = re.compile(r"^```(\w*)(?: (\w+))?\n(.*?)^```\n(?:^```\n(.*?)^```\n)?", re.S | re.M)


def main():
    if importlib.util.find_spec("numpy") is None:
        print("SKIPPED: readme.py (it needs NumPy)")
        return 77
    counts = [run(name) for name in DOCUMENTS]
    passed, failed = (sum(column) for column in zip(*counts))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not all(sum(count) for count in counts) else 0


def run(name):
    """The blocks of a document: how many print what they should, and how many do not."""
    document = ROOT / name
    text = document.read_text()
    prose = text.split("\n## NumPy in tl\n")[0]
    scope, ran, failed, skipped = {}, 0, 0, set()
    written = prose
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for block in BLOCK.finditer(prose):
            language, needs, code, wanted = block.groups()
            if language == "tl":
                pathlib.Path(re.match(r"# (\S+)\n", code)[1]).write_text(code)
            if language != "python":
                continue
            if needs and importlib.util.find_spec(needs) is None:
                skipped.add(needs)
                continue
            shown = io.StringIO()
            line = prose[: block.start()].count("\n") + 1
            try:
                with contextlib.redirect_stdout(shown):
                    exec(compile("\n" * line + code, str(document), "exec"), scope)
            except ImportError as error:  # one that is too old
                if not needs:
                    raise
                skipped.add(f"{needs}: {error}")
                continue
            ran += 1
            if shown.getvalue() != wanted:
                failed += 1
                print(f"{name}:{line}: prints\n{shown.getvalue()}and should print\n{wanted}")
                written = written.replace(block[0], f"```{language}{' ' + needs if needs else ''}\n{code}```\n```\n{shown.getvalue()}```\n")
        os.chdir("/")
    if "--write" in sys.argv:
        document.write_text(written + text[len(prose) :])
    for module in sorted(skipped):
        print(f"SKIPPED: the blocks of {name} that need {module}")
    return ran - failed, failed


if __name__ == "__main__":
    sys.exit(main())
