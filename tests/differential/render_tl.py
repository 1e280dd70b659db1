"""Writes a tree as a tl program.

Literals have no type of their own in tl: the place where they stand decides. `pinned` says that the place does decide (an annotation, a
typed parameter, another operand with a type); where nothing does, a literal of another type than i64 or f32 is written as a conversion.
"""
from __future__ import annotations

import contextlib
import math

from tree import *

PRECEDENCE = {"or": 1, "and": 2, "not": 3, "==": 4, "!=": 4, "<": 4, "<=": 4, ">": 4, ">=": 4, "..": 5, "+": 6, "-": 6,
              "*": 7, "/": 7, "//": 7, "%": 7, "@": 7, "neg": 8, "**": 9, "call": 10}
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
DEFAULTS = ("i64", "f32", "bool", "T", "str")


def type_text(ty, sizes=None) -> str:
    """A type; sizes that are not named by the function are `_`."""
    if isinstance(ty, str):
        return ty
    if isinstance(ty, Tensor):
        return f"{ty.elem}[{', '.join(size_text(d, sizes) for d in ty.dims)}]"
    if isinstance(ty, Tup):
        return "(" + ", ".join(type_text(t, sizes) for t in ty.items) + ("," if len(ty.items) == 1 else "") + ")"
    if isinstance(ty, ListOf):
        return f"List<{type_text(ty.elem, sizes)}>"
    if isinstance(ty, Struct):
        return ty.name
    if isinstance(ty, FnType):
        return f"fn({', '.join(type_text(t, sizes) for t in ty.params)}) -> {type_text(ty.result, sizes)}"
    raise TypeError(ty)


def size_text(d, sizes) -> str:
    if isinstance(d, int):
        return str(d)
    return "_" if d.startswith("?") or (sizes is not None and d not in sizes) else d


def number_text(value, ty) -> str:
    if ty == "bool":
        return "true" if value else "false"
    if ty in FLOATS or isinstance(value, float):
        value = float(value)
        if math.isnan(value):
            return "nan"
        if math.isinf(value):
            return "inf" if value > 0 else "-inf"
        text = repr(value)
        return text if "." in text or "e" in text else text + ".0"
    return str(int(value))


def string_text(s: str) -> str:
    for a, b in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t"), ("{", "{{"), ("}", "}}")):
        s = s.replace(a, b)
    return s


def leaves(block) -> bool:
    """Whether a block may be left before its value, so that this may have no say in the type."""
    return any(isinstance(x, (Return, Break, Continue)) for s in block.body for x in walk(s))


def anchored(e) -> bool:
    """Whether the expression has a type of its own, whatever its place."""
    if isinstance(e, Lit):
        return e.ty in ("bool", "str")
    if isinstance(e, Unary):
        return anchored(e.a)
    if isinstance(e, Binary):
        return e.op in COMPARISONS or e.op in ("and", "or") or anchored(e.a) or anchored(e.b)
    if isinstance(e, Prelude):  # literals stay open through what gives the elements that it takes
        result = e.ty.items[0] if isinstance(e.ty, Tup) else e.ty.elem if isinstance(e.ty, ListOf) else e.ty
        same = [a for a in e.args if isinstance(a, Expr) and elem_of(a.ty) == elem_of(result)]
        return not same or any(isinstance(a, Mark) for a in e.args) or any(map(anchored, same))
    if isinstance(e, If):
        return any(b.value is not None and anchored(b.value) and not leaves(b) for b in (e.then, e.orelse) if b is not None)
    if isinstance(e, (TensorLit, ListLit, Tuple)):
        return any(anchored(i) for i in e.items) if not isinstance(e, Tuple) else all(anchored(i) for i in e.items)
    if isinstance(e, (Item, Index)):
        return anchored(e.a)
    if isinstance(e, Comprehension):
        return elem_of(e.elem.ty) != elem_of(e.ty) or anchored(e.elem)
    return True


class TlRenderer:
    def __init__(self):
        self.lines = []
        self.depth = 0
        self.forced = False
        self.one_line = False
        self.sizes = [None]
        self.returns = False  # whether the function here has a result type, which fixes literals

    # ---- expressions ----

    def expr(self, e, pinned=False, level=0) -> str:
        """Text of `e`, in parentheses where its operator binds less than `level`."""
        text, own = self.bare(e, pinned)
        return f"({text})" if own < level else text

    def default_pinned(self, ty) -> bool:
        return elem_of(ty) in DEFAULTS

    def bare(self, e, pinned):
        return getattr(self, "on_" + type(e).__name__)(e, pinned)

    def on_Lit(self, e, pinned):
        if e.ty == "str":
            return f'"{string_text(e.value)}"', 10
        text = number_text(e.value, e.ty)
        if not pinned and (e.ty not in DEFAULTS or (self.forced and e.ty in ("i64", "f32"))):
            return f"{e.ty}({text})", 10
        return text, 8 if text.startswith("-") else 10

    def on_Name(self, e, pinned):
        return e.name, 10

    on_FnName = on_Name

    def on_Unary(self, e, pinned):
        if e.op == "not":
            return "not " + self.expr(e.a, pinned, 3), 3
        return "-" + self.expr(e.a, pinned, 9), 8

    def together(self, es, pinned, level=0):
        """Texts of operands that share one element type: where nothing pins them, the first that has to is written with its type."""
        levels = level if isinstance(level, list) else [level] * len(es)
        if pinned or any(anchored(x) for x in es):
            return [self.expr(x, True, l) for x, l in zip(es, levels)]
        return [self.expr(x, k > 0, l) for k, (x, l) in enumerate(zip(es, levels))]

    def on_Binary(self, e, pinned):
        own = PRECEDENCE[e.op]
        if e.op in COMPARISONS:
            a, b = self.together([e.a, e.b], False, 5)
        elif e.op == "**":
            a, b = self.together([e.a, e.b], pinned, [10, 9])
        else:
            a, b = self.together([e.a, e.b], pinned, [own, own + 1])
        return f"{a} {e.op} {b}", own

    def on_Convert(self, e, pinned):
        a = e.a
        if not anchored(a):
            return f"{elem_of(e.ty)}({self.forced_text(a)})", 10
        return f"{elem_of(e.ty)}({self.expr(a, True)})", 10

    def forced_text(self, a) -> str:
        """The operand of a conversion, which would give literals its own type: the first one is written with the type it has."""
        saved, self.forced = self.forced, True
        text = self.expr(a)
        self.forced = saved
        return text

    @contextlib.contextmanager
    def as_they_are(self, axes):
        """Axes are literals, whatever is around."""
        saved = self.forced
        self.forced = saved and not axes
        yield
        self.forced = saved

    def arguments(self, parts):
        return ", ".join(parts)

    def on_Prelude(self, e, pinned):
        if e.same:
            same = [a for a in e.args if elem_of(a.ty) == elem_of(e.ty)]
            texts = dict(zip(map(id, same), self.together(same, pinned, 0)))
            if e.method and same and same[0] is e.args[0]:
                texts[id(same[0])] = self.together(same, pinned, 10)[0]
            parts = [texts[id(a)] if id(a) in texts else self.expr(a) for a in e.args]
        else:
            parts = [self.expr(e.args[0], False, 10 if e.method else 0)] if e.args else []
            with self.as_they_are(e.name in ("permute", "transpose")):
                parts += [self.expr(a) for a in e.args[1:]]
        with self.as_they_are(True):
            named = [f"{n} = {self.expr(v) if isinstance(v, Expr) else v}" for n, v in e.named]
        if e.method:
            return f"{parts[0]}.{e.name}({self.arguments(parts[1:] + named)})", 10
        return f"{e.name}({self.arguments(parts + named)})", 10

    def on_Call(self, e, pinned):
        parts = [self.expr(a, e.typed, 10 if e.method and k == 0 else 0) for k, a in enumerate(e.args)]
        named = [f"{n} = {self.expr(v, e.typed)}" for n, v in e.named]
        if e.method:
            return f"{parts[0]}.{e.name}({self.arguments(parts[1:] + named)})", 10
        return f"{e.name}({self.arguments(parts + named)})", 10

    def on_CallValue(self, e, pinned):
        typed = not (isinstance(e.f, Transform) and e.f.op == "vmap")
        return f"{self.expr(e.f, False, 10)}({', '.join(self.expr(a, typed) for a in e.args)})", 10

    def on_If(self, e, pinned):
        text = "if " + self.expr(e.cond) + " "
        values = [b.value for b in (e.then, e.orelse) if b is not None and b.value is not None and not leaves(b)]
        pin = pinned or any(anchored(v) for v in values)
        first = e.then.value is not None and not leaves(e.then)
        text += self.block(e.then, pin)
        if e.orelse is not None:
            inner = e.orelse
            if not inner.body and isinstance(inner.value, If) and inner.value.orelse is not None and not getattr(inner, "plain", False):
                text += " else " + self.expr(inner.value, pin or first)
            else:
                text += " else " + self.block(inner, pin or (first and isinstance(e.ty, str)))
        return text, 0

    def block(self, b, pin=False) -> str:
        """A block on several lines; inside an expression too, since braces let newlines end statements."""
        if not b.body and b.value is not None:
            text = self.expr(b.value, pin)
            if "\n" not in text:
                return "{ " + text + " }"
        if not b.body and b.value is None:
            return "{ }"
        saved, self.lines = self.lines, []
        self.depth += 1
        for s in b.body:
            self.stmt(s)
        if b.value is not None:
            self.line(self.expr(b.value, pin))
        self.depth -= 1
        inner, self.lines = self.lines, saved
        if self.one_line:
            return "{ " + "; ".join(t.strip() for t in inner) + " }"
        return "{\n" + "\n".join(inner) + "\n" + "  " * self.depth + "}"

    def on_Tuple(self, e, pinned):
        texts = [self.expr(i, pinned) for i in e.items]
        return "(" + ", ".join(texts) + ("," if len(texts) == 1 else "") + ")", 10

    def on_Item(self, e, pinned):
        return f"{self.expr(e.a, False, 10)}[{e.k}]", 10  # also of `x.shape`

    def on_TensorLit(self, e, pinned):
        return "[" + ", ".join(self.together(e.items, pinned)) + "]", 10

    def on_ListLit(self, e, pinned):
        return "list(" + ", ".join(self.together(e.items, False)) + ")", 10

    def on_Span(self, e, pinned):
        text = (self.expr(e.lo, False, 5) if e.lo is not None else "") + ":" + (self.expr(e.hi, False, 5) if e.hi is not None else "")
        return text + (":" + self.expr(e.step, False, 5) if e.step is not None else ""), 10

    def on_Mark(self, e, pinned):
        return e.text, 10

    def on_Index(self, e, pinned):
        return f"{self.expr(e.a, pinned and not isinstance(e.a.ty, ListOf), 10)}[{', '.join(self.expr(s) for s in e.subs)}]", 10

    def on_Field(self, e, pinned):
        return f"{self.expr(e.a, False, 10)}.{e.name}", 10

    def on_Make(self, e, pinned):
        return f"{e.ty.name}({', '.join(f'{n} = {self.expr(v, True)}' for (n, _), v in zip(e.ty.fields, e.values))})", 10

    def on_With(self, e, pinned):
        return f"{self.expr(e.a, False, 10)}.with({', '.join(f'{n} = {self.expr(v, True)}' for n, v in zip(e.names, e.values))})", 10

    def on_Lambda(self, e, pinned):
        head = ", ".join(n + (f": {type_text(t, self.sizes[-1])}" if shown else "") for n, t, shown in zip(e.params, e.ty.params, e.typed))
        saved, self.returns = self.returns, False
        body = self.block(e.body) if isinstance(e.body, Block) else self.expr(e.body, False)
        self.returns = saved
        return ("||" if not e.params else f"|{head}|") + " " + body, 0

    def on_Transform(self, e, pinned):
        named = {"vmap": "axes"}.get(e.op, "argnums")
        at = ["none" if k is None else str(k) for k in e.at]
        chosen = "" if set(at) <= {"0"} and (named == "axes" or len(at) < 2) else f", {named} = {at[0]}" if len(at) == 1 else f", {named} = ({', '.join(at)})"
        return f"{e.op}({self.expr(e.f)}{chosen})", 10

    def on_Along(self, e, pinned):
        xs = [self.expr(a, True) for a in e.args]
        if not e.steps:
            return f"vjp({self.expr(e.f)}, {', '.join(xs)})", 10
        dxs = [self.expr(a, True) for a in e.steps]
        together = lambda ts: ts[0] if len(ts) == 1 else f"({', '.join(ts)})"
        return f"jvp({self.expr(e.f)}, {together(xs)}, {together(dxs)})", 10

    def on_Range(self, e, pinned):
        if e.step is not None:
            return f"range({self.expr(e.lo)}, {self.expr(e.hi)}, {self.expr(e.step)})", 10
        return f"{self.expr(e.lo, False, 6)}..{self.expr(e.hi, False, 6)}", 5

    def on_Comprehension(self, e, pinned):
        clauses = ", ".join(pattern_text(p) + (f" in {self.expr(r)}" if r is not None else "") for p, r in e.clauses)
        text = f"{self.expr(e.elem, pinned and e.kind != 'list' and elem_of(e.elem.ty) == elem_of(e.ty))} for {clauses}" + (f" if {self.expr(e.filter)}" if e.filter is not None else "")
        return (f"[{text}]" if e.kind == "tensor" else f"{e.kind}({text})"), 10

    def on_Interpolation(self, e, pinned):
        saved, self.one_line = self.one_line, True  # a newline may not stand in an interpolation
        text = ""
        for part in e.parts:
            if isinstance(part, str):
                text += string_text(part)
            else:
                text += "{" + self.expr(part[0]) + (":" + part[1] if part[1] else "") + "}"
        self.one_line = saved
        return f'"{text}"', 10

    # ---- statements ----

    def line(self, text):
        self.lines.append("  " * self.depth + text)

    def stmt(self, s):
        getattr(self, "do_" + type(s).__name__)(s)

    def const(self, s):
        shown = f": {s.ty}" if s.shown else ""
        self.line(f"const {s.pattern}{shown} = {self.expr(s.value, s.shown)}")

    def do_Let(self, s):
        shown = f": {type_text(s.ty, self.sizes[-1])}" if s.shown else ""
        word = "var" if s.mutable else "let"
        self.line(f"{word} {pattern_text(s.pattern)}{shown} = {self.expr(s.value, s.shown)}")

    def path(self, path) -> str:
        text = path[0]
        for step in path[1:]:
            text += f".{step}" if isinstance(step, str) else f"[{', '.join(self.expr(i) for i in step)}]"
        return text

    def do_Assign(self, s):
        self.line(f"{self.path(s.path)} {s.op} {self.expr(s.value, True)}")

    def do_AssignTuple(self, s):
        self.line(f"({', '.join(self.path(t) for t in s.targets)}) = {self.expr(s.value, True)}")

    def do_Do(self, s):
        self.line(self.expr(s.e))

    def do_For(self, s):
        clauses = ", ".join(f"{pattern_text(p)} in {self.expr(r)}" for p, r in s.clauses)
        self.line(f"for {clauses} {self.block(s.body)}")

    def do_While(self, s):
        self.line(f"while {self.expr(s.cond)} {self.block(s.body)}")

    def do_Break(self, s):
        self.line("break")

    def do_Continue(self, s):
        self.line("continue")

    def do_Return(self, s):
        self.line(f"return {self.expr(s.value, self.returns)}")

    def do_Print(self, s):
        parts = [self.expr(a) for a in s.args] + ([f'end = "{string_text(s.end)}"'] if s.end is not None else [])
        self.line(f"print({', '.join(parts)})")

    def do_Assert(self, s):
        self.line(f"assert {self.expr(s.cond)}" + (f", {self.expr(s.message)}" if s.message is not None else ""))

    def do_Function(self, s):
        sizes = {d for _, t, _ in s.params for d in names_of_sizes(t)}
        outer = self.sizes[-1] or set()
        self.sizes.append(sizes | outer)
        params = []
        for name, ty, default in s.params:
            params.append(name + (f": {type_text(ty, self.sizes[-1])}" if s.shown else "") + (f" = {self.expr(default, True)}" if default is not None else ""))
        result = f" -> {type_text(s.result, self.sizes[-1])}" if s.shown or s.recursive else ""
        if s.result == UNIT:
            result = ""
        saved, self.returns = self.returns, True
        head = f"fn {s.name}{f'<T: {s.generic}>' if s.generic and s.shown else ''}({', '.join(params)}){result}"
        if s.short and not s.body.body and s.body.value is not None:
            self.line(f"{head} = {self.expr(s.body.value, s.shown)}")
        else:
            self.line(f"{head} {self.block(s.body, s.shown)}")
        self.returns = saved
        self.sizes.pop()

    def struct(self, ty):
        self.line(f"struct {ty.name} {{ {', '.join(f'{n}: {type_text(t)}' for n, t in ty.fields)} }}")

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


def names_of_sizes(ty):
    if isinstance(ty, Tensor):
        return [d for d in ty.dims if isinstance(d, str) and not d.startswith("?")]
    if isinstance(ty, Tup):
        return [d for t in ty.items for d in names_of_sizes(t)]
    if isinstance(ty, ListOf):
        return names_of_sizes(ty.elem)
    return []


def pattern_text(p) -> str:
    if isinstance(p, str):
        return p
    return "(" + ", ".join(map(pattern_text, p)) + ("," if len(p) == 1 else "") + ")"
