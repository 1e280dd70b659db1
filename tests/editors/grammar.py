#!/usr/bin/env python3
"""Colours of editors against the compiler's lexer: grammar.py TL [--vim] [FILTER]. In every .tl file of the repository that has no error of
the lexer (`tl dump --stage tokens`), each token has the class that the lexer gives it in the TextMate grammar of editors/vscode, and nothing
else is coloured as one. --vim: in the syntax of editors/vim, as Vim says; of samples, golden tests of the parser, and the library."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unicodedata
from concurrent.futures import ThreadPoolExecutor

from colours import ROOT, class_of_token, tokens_of

GRAMMAR = json.loads((ROOT / "editors/vscode/syntaxes/tl.tmLanguage.json").read_text(encoding="utf-8"))

# ---- TextMate's rules, as far as the grammar uses them: `match`, `begin` and `end`, `include`, captures; line by line


# Editors' `\w` holds the marks of letters, too, and Python's does not.
MARKS = "".join(c for c in map(chr, range(0x300, 0x3000)) if unicodedata.category(c).startswith("M"))


def compiled(pattern):
    return re.compile(pattern.replace(r"\w*", r"[\w%s]*" % MARKS))


class Rule:
    def __init__(self, description):
        self.name = description.get("name", "")
        self.includes = description.get("include")
        self.match = compiled(description["match"]) if "match" in description else None
        self.begin = compiled(description["begin"]) if "begin" in description else None
        self.end = compiled(description["end"]) if "end" in description else None
        self.captures = {int(n): c["name"] for n, c in description.get("captures", description.get("endCaptures", {})).items()}
        self.children = description.get("patterns", [])
        self.patterns = None


def prepared(description):
    rule = Rule(description)
    rule.children = [prepared(child) for child in rule.children]
    return rule


REPOSITORY = {name: prepared(description) for name, description in GRAMMAR["repository"].items()}
TOP = prepared({"patterns": GRAMMAR["patterns"]})


def patterns_of(rule):
    """Those that begin something, with what they include in their places."""
    if rule.patterns is None:
        rule.patterns = []
        for child in rule.children:
            if child.includes:
                included = REPOSITORY[child.includes[1:]]
                rule.patterns += [included] if included.match or included.begin else patterns_of(included)
            else:
                rule.patterns += [child] if child.match or child.begin else patterns_of(child)
    return rule.patterns


def coloured(line, stack):
    """The scopes of each character, the innermost last; `stack` is left as the line's end leaves it."""
    scopes = [()] * (len(line) + 1)
    at, empty = 0, set()

    def paint(begin, end, *names):
        around = tuple(rule.name for rule in stack if rule.name)
        for i in range(begin, end):
            scopes[i] = around + tuple(name for name in names if name)

    while at <= len(line):
        rule = stack[-1]
        found = rule.end.search(line, at) if rule.end else None
        chosen = None
        for candidate in patterns_of(rule):
            match = (candidate.match or candidate.begin).search(line, at)
            if match and (found is None or match.start() < found.start()) and (match.end() > match.start() or candidate.begin):
                found, chosen = match, candidate
        if found is None:
            paint(at, len(line))
            break
        paint(at, found.start())
        if chosen is None:
            paint(found.start(), found.end())
            for group, name in rule.captures.items():
                if found[group]:
                    paint(found.start(group), found.end(group), name)
            stack.pop()
        elif chosen.match:
            paint(found.start(), found.end(), chosen.name)
            for group, name in chosen.captures.items():
                if found[group]:
                    paint(found.start(group), found.end(group), name)
        else:
            stack.append(chosen)
            paint(found.start(), found.end())
        state = (found.end(), len(stack))
        if found.end() == found.start():
            if state in empty:
                break
            empty.add(state)
        at = found.end()
    return scopes[:len(line)]


# ---- the classes that both tell


def class_of_scopes(scopes):
    last = scopes[-1] if scopes else ""
    if last.startswith("comment"):
        return "comment"
    if last.startswith("constant.numeric"):
        return "number"
    if last.startswith("constant.other.placeholder"):
        return "format"
    if last.startswith(("string", "constant.character", "invalid")):
        return "string"
    if last.startswith(("keyword.declaration", "keyword.control", "keyword.operator.word", "constant.language")):
        return "keyword"
    if last.startswith(("entity", "support", "variable")):
        return "name"
    return "other"


def difference(tl, path):
    """What differs first, or None; with the number of tokens."""
    lines, tokens = tokens_of(tl, path)
    stack = [TOP]
    scopes = [coloured(line, stack) for line in lines]
    begins, count = set(), len(tokens)
    for row, column, kind in tokens:
        begins.add((row, column))
        expected, found = class_of_token(kind), class_of_scopes(scopes[row][column])
        if found != expected:
            return "%s:%d:%d: `%s` is coloured as %s" % (path, row + 1, column + 1, kind, found), count
    for row, line in enumerate(scopes):  # what is coloured begins where a token does
        for column, scope in enumerate(line):
            kind = class_of_scopes(scope)
            before = class_of_scopes(line[column - 1]) if column else "other"
            if kind in ("keyword", "number", "name") and kind != before and (row, column) not in begins:
                return "%s:%d:%d: there is no token, and it is coloured as %s" % (path, row + 1, column + 1, kind), count
    return None, count


VIM = {
    "tlKeyword": "keyword", "tlControl": "keyword", "tlOperatorWord": "keyword", "tlConstant": "keyword", "tlNumber": "number", "tlString": "string",
    "tlLong": "string", "tlEscape": "string", "tlFormat": "format", "tlComment": "comment", "tlDoc": "comment", "tlBrace": "other"
}


def differences_in_vim(tl, paths):
    """The same by Vim, asked for all files at once."""
    asked = [(path, *tokens_of(tl, path)) for path in paths]
    with tempfile.TemporaryDirectory() as folder:
        script = ["set runtimepath=%s,$VIMRUNTIME" % (ROOT / "editors/vim"), "set nomodeline encoding=utf-8", "syntax on", "filetype on", "let all = []"]
        for path, lines, tokens in asked:
            script += ["silent edit! %s" % path, "set filetype=tl"]
            script += ["call add(all, synIDattr(synID(%d, %d, 1), 'name'))" % (row + 1, len(lines[row][:column].encode()) + 1) for row, column, _ in tokens]
        script += ["call writefile(all, '%s/out')" % folder, "qall!"]
        pathlib.Path(folder, "script.vim").write_text("\n".join(script) + "\n", encoding="utf-8")
        subprocess.run(["vim", "-N", "-u", "NONE", "-i", "NONE", "-n", "-es", "-S", folder + "/script.vim"], timeout=300, stdin=subprocess.DEVNULL)
        names = iter(pathlib.Path(folder, "out").read_text(encoding="utf-8").splitlines())
    results = []
    for path, _, tokens in asked:
        wrong = None
        for row, column, kind in tokens:
            name = next(names)
            expected = {"name": "other"}.get(class_of_token(kind), class_of_token(kind))
            if VIM.get(name, "other") != expected:
                wrong = wrong or "%s:%d:%d: `%s` is %s to Vim" % (path, row + 1, column + 1, kind, name or "nothing")
        results.append((wrong, len(tokens)))
    return results


def main():
    tl, words = sys.argv[1], sys.argv[2:]
    in_vim = "--vim" in words
    wanted = "".join(word for word in words if word != "--vim")
    paths = [path for path in sorted(ROOT.rglob("*.tl")) if not str(path.relative_to(ROOT)).startswith("build") and wanted in str(path)]
    if in_vim:
        places = tuple(str(ROOT / place) for place in ("samples", "stdlib", "tests/golden/lex", "tests/golden/parse"))
        results = differences_in_vim(tl, [path for path in paths if str(path).startswith(places)])
    else:
        with ThreadPoolExecutor(2) as pool:
            results = list(pool.map(lambda path: difference(tl, path), paths))
    wrong = [what for what, _ in results if what]
    for what in wrong[:30]:
        print("FAIL", what)
    print("%d tokens of %d files" % (sum(count for _, count in results), sum(count > 0 for _, count in results)))
    print("%d passed, %d failed" % (len(results) - len(wrong), len(wrong)))
    sys.exit(bool(wrong))


main()
