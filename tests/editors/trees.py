#!/usr/bin/env python3
"""The parser of editors/tree-sitter against the compiler's: trees.py TL [FILTER], with the package tree-sitter. On every .tl file of the
repository: the tree has errors where the compiler finds wrong syntax, says what `tl dump --stage ast` says, and is coloured by
queries/highlights.scm as the lexer has it. On edited files, with a fixed seed: the same, and a tree that was changed is as one read anew."""
import collections
import ctypes
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import tree_sitter
from colours import ROOT, class_of_token, tokens_of
from tree_text import written

PACK = ROOT / "editors/tree-sitter/pack.py"

# What the compiler refuses behind the grammar, in programs whose trees have no error.
CHECKED_KINDS = {"ChainedComparison", "ArgumentOrder", "InvalidTarget", "TooDeep", "BadName", "InvalidUtf8"}
CHECKED = re.compile(
    "function `.*` has no body|only built-in functions take|only allowed at the top level|needs something to run over|takes no `{…}`|"
    "is no mark of a field|takes no `if` filter|larger than any integer|stands only between digits|names no character|a format holds no values|"
    "a carriage return stands here")


def language(folder):
    """Packs the parser, builds it as editors do, and loads it."""
    subprocess.run([sys.executable, str(PACK), folder], check=True, capture_output=True)
    sources = [folder + "/src/parser.c", folder + "/src/scanner.c"]
    flags = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I", folder + "/src"]
    subprocess.run([os.environ.get("CC", "cc"), *flags, *sources, "-o", folder + "/tl.so"], check=True)
    library = ctypes.CDLL(folder + "/tl.so")
    library.tree_sitter_tl.restype = ctypes.c_void_p
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return tree_sitter.Language(capsule(library.tree_sitter_tl(), b"tree_sitter.Language", None))


def nodes(tree):
    todo = [tree.root_node]
    while todo:
        node = todo.pop()
        yield node
        todo += node.children


def shape(node):
    return (node.type, node.start_byte, node.end_byte, node.is_missing, [shape(child) for child in node.children])


# ---- the compiler's answer


def compiled(tl, text, tree):
    """The syntax tree as text, and the errors of lexer, layout and grammar. Documentation is not of the grammar: `##` is passed as `# `."""
    plain = bytearray(text)
    for node in nodes(tree):
        if node.type == "doc_comment":
            plain[node.start_byte + 1] = ord(" ")
    command = [tl, "dump", "--stage", "ast", "-", "--message-format", "json"]
    done = subprocess.run(command, input=plain, capture_output=True)
    if done.returncode not in (0, 1):
        return None, ["exit code %d" % done.returncode]
    messages = [json.loads(line) for line in done.stderr.decode().splitlines() if line.startswith("{")]
    wrong = [m["message"] for m in messages if m["kind"] not in CHECKED_KINDS and not CHECKED.search(m["message"])]
    return (done.stdout.decode() if not messages else None), wrong


def disagreement(tl, text, tree):
    """What the two say differently of a program, or None."""
    expected, wrong = compiled(tl, text, tree)
    if bool(wrong) != tree.root_node.has_error:
        error = next((node for node in nodes(tree) if node.is_error or node.is_missing), None)
        return "the compiler says %s, the tree %s" % (wrong[:1] or "nothing", "has an error at %s" % (error.start_point,) if error else "has none")
    if expected is None:
        return None
    for one, other in zip(expected.split("\n"), written(tree).split("\n")):
        if one != other:
            return "the compiler has %s, the tree %s" % (one.strip()[:100], other.strip()[:100])
    return None if expected.count("\n") == written(tree).count("\n") else "one is longer"


# ---- colours


def class_of_capture(name):
    if name.startswith("comment"):
        return "comment"
    if name == "string.special":
        return "format"
    if name.startswith("string"):
        return "string"
    if name.startswith("number"):
        return "number"
    return "keyword" if name.startswith(("keyword", "boolean", "constant.builtin")) else "other"


def colour_difference(tl, path, tree, query):
    lines, tokens = tokens_of(tl, path)
    if not tokens:  # the lexer finds an error
        return None, 0
    classes = {}
    for name, found in tree_sitter.QueryCursor(query).captures(tree.root_node).items():
        for node in found:
            if node.start_byte in classes and classes[node.start_byte] != (name, node.end_byte):
                return "%s and %s are for one node" % (name, classes[node.start_byte][0]), 0
            classes[node.start_byte] = (name, node.end_byte)
    starts = [0]
    bom = 3 if path.read_bytes().startswith(b"\xef\xbb\xbf") else 0
    for line in path.read_bytes().split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    begins = {}
    for row, column, kind in tokens:
        begins[starts[row] + len(lines[row][:column].encode()) + (bom if row == 0 else 0)] = kind
    for place, kind in begins.items():
        expected = {"name": "other"}.get(class_of_token(kind), class_of_token(kind))
        found = class_of_capture(classes.get(place, ("other",))[0])
        if found != expected:
            return "byte %d: `%s` is coloured as %s" % (place, kind, found), 0
    for place, (name, end) in classes.items():
        kind = class_of_capture(name)
        if kind in ("keyword", "number") and place not in begins:
            return "byte %d: there is no token, and it is coloured as %s" % (place, kind), 0
        if kind == "comment" and any(place <= begin < end for begin in begins):
            return "byte %d: there is a token in a comment" % place, 0
    return None, len(tokens)


# ---- edits

PIECES = [
    piece.encode() for piece in ("\n", " ", "(", ")", "[", "]", "{", "}", '"', '"""', "{{", ",", ";", ":", ".", "..", "...", "->", "|", "||", "=", "+=",
                                 "==", "<", ">", ">=", "-", "*", "**", "//", "@", "#", "##", "\\", "\\n", "'", "!", "1", "1.5", "2i", "0x1f", "1e5", "x",
                                 "π", "let ", "fn ", "if ", " else ", "for ", " in ", "on ", "test ", "export ", " as ", "import ", "return ", "true",
                                 "not ", "\n\n", "\r\n", "}\n", "{\n", "new", "else", ".else", "\n.x", "\n- 1", "struct ")
]


def edit_of(text, choose):
    """Where to put what for which: (begin, end, piece)."""
    tokens = list(re.finditer(rb"[\w\x80-\xff]+|\s+|[^\w\s]", text))
    if not tokens:
        return 0, 0, b"x"
    at = choose.randrange(len(tokens))
    begin, end = tokens[at].span()
    kind = choose.randrange(5)
    if kind == 0:
        return begin, end, b""
    if kind == 1:
        return begin, begin, choose.choice(PIECES)
    if kind == 2:
        return begin, end, choose.choice(PIECES)
    if kind == 3:
        return begin, end, choose.choice(tokens).group()
    return begin, tokens[min(len(tokens) - 1, at + choose.randrange(1, 8))].end(), b""


def point(text, at):
    return text.count(b"\n", 0, at), at - text.rfind(b"\n", 0, at) - 1


def edited(parser, text, tree, choose):
    """The text after an edit, and its tree, made of the one before."""
    begin, end, piece = edit_of(text, choose)
    after = text[:begin] + piece + text[end:]
    tree.edit(begin, end, begin + len(piece), point(text, begin), point(text, end), point(after, begin + len(piece)))
    return after, parser.parse(after, tree)


BROKEN = ("let = 3", "x +", "f(1, 2", "a b c", "if {", "}", ")", 'let s = "abc', "for in 0..3 { }", "let x = [1, 2", "x = = 2", "fn (", "fn f(x", "'a'",
          "let y: = 3", "while", "x.", "else { }", "let x = (1 +\nlet y = 2")


def functions(tree):
    return collections.Counter(node.child_by_field_name("name").text for node in nodes(tree) if node.type == "function_definition" and node.child_by_field_name("name"))


def statement_lines(text, tree):
    """Where in blocks a line begins with a statement."""
    blocks = [node for node in nodes(tree) if node.type == "block"]
    begins = [child.start_byte for block in blocks for child in block.named_children if not child.is_extra]
    return [begin for begin in begins if not text[text.rfind(b"\n", 0, begin) + 1:begin].strip()]


# ---- the checks


class Checks:
    def __init__(self, tl, paths, language):
        self.tl, self.paths = tl, paths
        self.language, self.parser = language, tree_sitter.Parser(language)
        self.small = [path for path in paths if path.stat().st_size < 8000]
        self.passed, self.failed = 0, 0

    def say(self, where, problem):
        self.failed += bool(problem)
        self.passed += not problem
        if problem and self.failed <= 30:
            print("FAIL %s: %s" % (where, problem))

    def files(self):
        broken = 0
        for path in self.paths:
            tree = self.parser.parse(path.read_bytes())
            broken += tree.root_node.has_error
            self.say(path, disagreement(self.tl, path.read_bytes(), tree))
        print("%d files, %d of them with wrong syntax" % (len(self.paths), broken))

    def colours(self):
        query = tree_sitter.Query(self.language, (ROOT / "editors/tree-sitter/queries/highlights.scm").read_text(encoding="utf-8"))
        count = 0
        for path in self.paths:
            problem, tokens = colour_difference(self.tl, path, self.parser.parse(path.read_bytes()), query)
            self.say(path, problem)
            count += tokens
        print("%d tokens are coloured as the lexer has them" % count)

    def queries(self):
        for name in ("folds", "indents", "locals"):
            query = tree_sitter.Query(self.language, (ROOT / ("editors/tree-sitter/queries/%s.scm" % name)).read_text(encoding="utf-8"))
            trees = (self.parser.parse(path.read_bytes()).root_node for path in self.small)
            found = set().union(*(tree_sitter.QueryCursor(query).captures(tree) for tree in trees))
            missing = {query.capture_name(i) for i in range(query.capture_count)} - found
            self.say(name, "nothing is captured as %s" % ", ".join(sorted(missing)) if missing else None)

    def edits(self, count, seed):
        """Where the syntax is wrong, the runtime may mend an edited tree in another way than one read anew: of those a few may differ."""
        choose = random.Random(seed)
        broken, different = 0, 0
        for i in range(count):
            path = choose.choice(self.small)
            text, tree = path.read_bytes(), self.parser.parse(path.read_bytes())
            for step in range(3):
                text, tree = edited(self.parser, text, tree, choose)
                fresh = self.parser.parse(text)
                same = shape(tree.root_node) == shape(fresh.root_node)
                if fresh.root_node.has_error:
                    broken += 1
                    different += not same
                else:
                    self.say("edit %d of %s, step %d" % (i, path, step), None if same else "the edited tree is not as one read anew")
                if step == 0:
                    self.say("edit %d of %s" % (i, path), disagreement(self.tl, text, fresh))
        self.say("edits", "of %d broken trees %d are not as those read anew" % (broken, different) if different > broken // 100 else None)
        print("%d edits; after %d the syntax is wrong, and %d of those trees are not as those read anew" % (3 * count, broken, different))

    def recovery(self, seed):
        """A broken line among the statements of a block leaves the functions of the file."""
        choose = random.Random(seed)
        kept = 0
        for path in self.small:
            text = path.read_bytes()
            tree = self.parser.parse(text)
            lines, names = statement_lines(text, tree), functions(tree)
            if not lines or sum(names.values()) < 3 or tree.root_node.has_error:
                continue
            for broken in choose.sample(BROKEN, 5):
                at = choose.choice(lines)
                left = functions(self.parser.parse(text[:at] + broken.encode() + b"\n" + text[at:]))
                self.say("`%s` at byte %d of %s" % (broken, at, path), "lost: %s" % (names - left) if names - left else None)
                kept += sum(names.values())
        print("%d functions are found beside %d kinds of broken lines" % (kept, len(BROKEN)))


def main():
    tl, wanted = sys.argv[1], "".join(sys.argv[2:])
    paths = [path for path in sorted(ROOT.rglob("*.tl")) if not str(path.relative_to(ROOT)).startswith("build") and wanted in str(path)]
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks(tl, paths, language(folder))
        checks.files()
        checks.colours()
        checks.queries()
        checks.edits(400, 1)
        checks.recovery(1)
    print("%d passed, %d failed" % (checks.passed, checks.failed))
    sys.exit(bool(checks.failed))


main()
