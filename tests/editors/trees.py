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
CHECKED_KINDS = {"ChainedComparison", "ArgumentOrder", "InvalidTarget", "TooDeep", "BadName"}
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


# Programs for rules that those of the repository seldom need.
SMALL = (
    "let a = x[i:n < m]", "let a = x[i:n < m, j > k]", "let a = x[i:n < m, j >= k]", "let y: List<f32>= z", "fn f<T: float>(x: A<B<T>>=g) -> C<T> = x", "fn f(x: m.A<T>[n < 2]) = x",
    "let f = |x: List<f32>, y| x < y", "let c = a < b\nlet d = c > 1", "on x { y }", "on = 3", "on(1)", "on (x) { y }", "on x\n{ y }", "on f(\"}{\") { y }",
    "on f(\"{\"{\"}\") { y }", "on x # {", "on if a { b } else { c } { y }", "f\n.g()", "f\n  . g()", "f\n.\ng()", "let r = 1\n..2", "f\n...",
    "a;;b;", ";a", "fn f() { a; }", "fn f() { ; }", "if a { b };\nc", "a\n;b", "a; # c", "(a; b)", "f(a;\n)", "if a { b }\n# c\nelse { d }",
    "if a { b }\n\n\nelse if c { d }", "f(a,\n\n  b # c\n)", "let a = b +\n# c\n  d", "let a =\n  b", "let a = b..\n  c", "for i in\n a { b }",
    "return\na", "a\n- b", "a\n(b)", "x.new + x.if(1).in", "x.\nif",
    "import a as b", "import a\nas", "import a as # c\n  b",
    "let as = 1", "let test = 3\ntest = 4", "test \"a\" { b }", "test\n\"a\"", "export = 1", "export fn f() = 1",
    "export\nfn f() = 1", 'let s = "a{x:>8.{2}b{{}}"', 'let s = "{ "{y}" }"', 'let s = """a"b""c"""', 'let s = """"a"""', 'let s = ""', 'let s = """"""',
    'let s = "\\u{3b1}\\n\\q"', 'let s = "\\u{3b1}\\n"', 'let s = "}"', 'let s = "abc\nlet t = 1', 'let s = "{f(1\nlet t = 1', 'let s = """a\nb{c +\n d}"""', 'let s = "{a:.3"',
    'let s = "{f(|x| {y: 1})}"', 'f("{x[1:2]}")', "let a = [0x1F, 1_000, 1e5, 2i, 1.5e-3i, 0b12, 1.max(2), 1..2]", "let a = 12abc", "let a = 1.5e", "let a = 0o17", "f(0x, 0b_1)",
    "let a = 0b_",
    "let a = -b ** -c ** d", "let a = not not b and c or d", "let a = || b", "let a = b || c", "let a = |x| |y| x + y", "let (a, (b,), _) = c", "for (i, j) in z, k in 0..3, { a }",
    "fn f(x)\n{ x }", "fn f(x,) = x", "fn f(..) = 1", "let a = (b,)", "let a = ()", "let a = [..b, c]", "let a = sum(b for i in c, j if d)", "let a = [b for i, j]",
    "let f: fn(f32, (i64, f32)) -> f32 = g", "let f: fn() = g", "struct S { a: f32, b: f32\n  state c: key }", "struct S[n] {\n  a: f32[n]\n\n  b: i64,\n}",
    "while a { break; continue }", "assert a, \"b\"", "const A: f32 = 1", "x[..., new, :, 1:, :2, ::3, 1:2:3] @= y", "a = b = c", "größe_2 = α̂", "let π2 = ½", "let a = b!", "let a = b != c",
    "let a = 'b'", "f(a = 1, b = c == d)", "f(a = b = c)", "if a { b } else { c }.d",
    "a\r\nb\r\n", "\ufefflet a = 1", "# c", "## d\n## e\nlet a = 1 ## f", ""
)

# Nodes that are left of programs with wrong syntax.
LEFT = (
    ("let x = f(1\nlet y = 2\n", "let_declaration", 2), ("let x = [1, (2\nfn f() = 1\n", "function_definition", 1), ('let s = "abc\nlet t = 1\n', "let_declaration", 2),
    ('let s = "{f(1\nlet t = 1\n', "let_declaration", 1), ("let a = 1\n}\nlet b = 2\nlet c = 3\n", "let_declaration", 3), ("let a = 1\n)\nlet b = 2\n", "let_declaration", 2),
    ('let s = "abc\nf(x)\ng(y)\n', "call", 2), ("fn f( {\n  a\n}\nfn g() = 1\n", "function_definition", 2), ('let s = "{a:.3"\nlet t = 1', "let_declaration", 2)
)

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
    def __init__(self, tl, paths, folder):
        self.tl, self.paths, self.folder = tl, paths, folder
        self.language = language(folder)
        self.parser = tree_sitter.Parser(self.language)
        self.small = [path for path in paths if path.stat().st_size < 8000]
        self.passed, self.failed = 0, 0

    def say(self, where, problem):
        self.failed += bool(problem)
        self.passed += not problem
        if problem and self.failed <= 30:
            print("FAIL %s: %s" % (where, problem))

    def query(self, name):
        return tree_sitter.Query(self.language, pathlib.Path(self.folder, name + ".scm").read_text(encoding="utf-8"))

    def files(self):
        broken = 0
        for path in self.paths:
            tree = self.parser.parse(path.read_bytes())
            broken += tree.root_node.has_error
            self.say(path, disagreement(self.tl, path.read_bytes(), tree))
        print("%d files, %d of them with wrong syntax" % (len(self.paths), broken))

    def programs(self):
        for program in SMALL:
            text = program.encode()
            self.say(repr(program), disagreement(self.tl, text, self.parser.parse(text)))
        for program, node, count in LEFT:
            found = sum(one.type == node for one in nodes(self.parser.parse(program.encode())))
            self.say(repr(program), None if found >= count else "%d of %d %s are left" % (found, count, node))

    def colours(self):
        query, count = self.query("queries/highlights"), 0
        for path in self.paths:
            problem, tokens = colour_difference(self.tl, path, self.parser.parse(path.read_bytes()), query)
            self.say(path, problem)
            count += tokens
        print("%d tokens are coloured as the lexer has them" % count)

    def queries(self):
        trees = [self.parser.parse(path.read_bytes()).root_node for path in self.small]
        for name in ("queries/folds", "queries/highlights", "queries/indents", "queries/locals", "helix/highlights"):
            query = self.query(name)
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
        checks = Checks(tl, paths, folder)
        checks.files()
        checks.programs()
        checks.colours()
        checks.queries()
        checks.edits(400, 1)
        checks.recovery(1)
    print("%d passed, %d failed" % (checks.passed, checks.failed))
    sys.exit(bool(checks.failed))


main()
