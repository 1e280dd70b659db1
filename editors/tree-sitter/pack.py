#!/usr/bin/env python3
"""Packs a parser for editors with tree-sitter, without network: pack.py OUT.tar.gz, or pack.py FOLDER, which is made. Needs Bison, as the
build of tl does; what is packed needs a C compiler."""
import gzip
import io
import pathlib
import re
import sys
import tarfile

import generate

HERE = pathlib.Path(__file__).resolve().parent
FILES = ["README.md", "tree-sitter.json", "src/abi.h", "src/grammar.json", "src/language.h", "src/scanner.c"]
QUERIES = ["folds", "highlights", "indents", "locals"]
HELIX = {
    "@number.float": "@constant.numeric.float", "@number": "@constant.numeric.integer", "@boolean": "@constant.builtin.boolean",
    "@string.escape": "@constant.character.escape", "@comment.documentation": "@comment.block.documentation", "@function.call": "@function",
    "@function.method.call": "@function.method", "@variable.member": "@variable.other.member", "@module": "@namespace",
    "@keyword.conditional": "@keyword.control.conditional", "@keyword.repeat": "@keyword.control.repeat", "@keyword.type": "@keyword.storage.type",
    "@keyword.import": "@keyword.control.import", "@keyword.return": "@keyword.control.return"
}
LICENSE = HERE.parents[1] / "LICENSE"


def contents():
    """Name -> text of all files."""
    packed = {"LICENSE": LICENSE.read_text(encoding="utf-8"), **generate.generate()}
    packed.update((name, (HERE / name).read_text(encoding="utf-8")) for name in FILES)
    packed.update((name, (HERE / name).read_text(encoding="utf-8")) for name in ("queries/%s.scm" % query for query in QUERIES))
    packed["helix/highlights.scm"] = re.sub(r"@[\w.]+", lambda name: HELIX.get(name[0], name[0]), packed["queries/highlights.scm"])
    return packed


def archive(out, packed):
    """The same files give the same bytes."""
    with open(out, "wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as zipped, tarfile.open(fileobj=zipped, mode="w") as tar:
        for name, text in sorted(packed.items()):
            entry = tarfile.TarInfo("tree-sitter-tl/" + name)
            entry.size, entry.mode = len(text.encode()), 0o644
            tar.addfile(entry, io.BytesIO(text.encode()))


def main():
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "tree-sitter-tl.tar.gz")
    try:
        packed = contents()
        if out.name.endswith(".tar.gz"):
            archive(out, packed)
        else:
            for name, text in packed.items():
                (out / name).parent.mkdir(parents=True, exist_ok=True)
                (out / name).write_text(text, encoding="utf-8")
    except (generate.Wrong, OSError) as error:
        sys.exit("pack.py: %s" % error)
    print(out)


main()
