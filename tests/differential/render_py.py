"""Writes a tree as its twin: Python text over `runtime`.

Python has no blocks in expressions, so operands that hold statements are written before the expression, and what stands left of them is
saved first: evaluation stays left to right. Scopes are resolved here: each binding gets a Python name of its own, so shadowing needs no thought.
"""
from __future__ import annotations

import re

from tree import *

NAMES = {"abs": "abs_", "round": "round_", "sum": "sum_", "min": "min_", "max": "max_", "all": "all_", "any": "any_", "sort": "sort_",
         "len": "size", "zip": "zip_", "enumerate": "enumerate_", "repeat": "repeat_", "range": "rng", "str": "str_", "list": "list_", "bytes": "bytes_", "rank": "rank", "map": "map_"}
STABLE = re.compile(r"(t\d+|[iuf]\d+\(-?[\w.]+\)|True|False|\"[^\"]*\")$")


class PyRenderer:
    def __init__(self):
        self.lines = []
        self.depth = 0
        self.scopes = [{}]
        self.count = 0

    # ---- helpers ----

    def line(self, text):
        self.lines.append("    " * self.depth + text)

    def temp(self) -> str:
        self.count += 1
        return f"t{self.count}"

    def bind(self, name) -> str:
        if name == "_":
            return "_"
        self.count += 1
        python = f"{name}_{self.count}"
        self.scopes[-1][name] = python
        return python

    def bind_pattern(self, p) -> str:
        if isinstance(p, str):
            return self.bind(p)
        return "(" + ", ".join(map(self.bind_pattern, p)) + ("," if len(p) == 1 else "") + ")"

    def find(self, name) -> str:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return name

    def variable(self, name) -> str:
        """The Python name of what is assigned."""
        if not any(name in scope for scope in self.scopes):
            raise NameError(f"{name} is assigned and not declared")
        return self.find(name)

    def operands(self, es) -> list:
        """Texts of expressions that are evaluated in this order."""
        texts = []
        for e in es:
            mark = len(self.lines)
            text = e if isinstance(e, str) else self.expr(e)
            if len(self.lines) > mark:
                later = self.lines[mark:]
                del self.lines[mark:]
                for k, before in enumerate(texts):
                    if not STABLE.match(before):
                        texts[k] = self.temp()
                        self.line(f"{texts[k]} = {before}")
                self.lines += later
            texts.append(text)
        return texts

    def expr(self, e) -> str:
        text = getattr(self, "on_" + type(e).__name__)(e)
        return f"bf16({text})" if isinstance(e, (Binary, Unary, Prelude)) and elem_of(e.ty) == "bf16" else text

    def in_block(self, write):
        """Writes one block below the line before it; what `write` gives is the value's text."""
        self.depth += 1
        mark = len(self.lines)
        write()
        if len(self.lines) == mark:
            self.line("pass")
        self.depth -= 1

    def block(self, b, target=None):
        """The statements of a block; its value goes to `target`, unless that is None."""
        self.scopes.append({})
        for s in b.body:
            self.stmt(s)
        if b.value is not None:
            text = self.expr(b.value)
            if target == "return":
                self.line(f"return {text}")
            elif target is not None:
                self.line(f"{target} = {text}")
            elif not STABLE.match(text) and text != "()":
                self.line(text)
        elif target is not None and not (b.body and isinstance(b.body[-1], (Return, Break, Continue))):
            self.line(f"return ()" if target == "return" else f"{target} = ()")
        self.scopes.pop()

    # ---- expressions ----

    def on_Lit(self, e):
        if e.ty == "bool":
            return "True" if e.value else "False"
        if e.ty == "str":
            return '"' + e.value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t") + '"'
        text = repr(float(e.value)) if e.ty in FLOATS or isinstance(e.value, float) else str(int(e.value))
        if text in ("nan", "inf", "-inf"):
            text = f"float('{text}')"
        return f"{e.ty}({text})"

    def on_Name(self, e):
        return self.find(e.name)

    on_FnName = on_Name

    def on_Unary(self, e):
        a = self.expr(e.a)
        if e.op == "not":
            return f"(not {a})" if is_scalar(e.ty) else f"(~{a})"
        return f"(-{a})"

    def on_Binary(self, e):
        if e.op in ("and", "or") and is_scalar(e.ty):
            a = self.expr(e.a)
            mark = len(self.lines)
            self.depth += 1
            b = self.expr(e.b)
            self.depth -= 1
            if len(self.lines) == mark:
                return f"({a} {e.op} {b})"
            later = self.lines[mark:]
            del self.lines[mark:]
            t = self.temp()
            self.line(f"{t} = {a}")
            self.line(f"if {t}:" if e.op == "and" else f"if not {t}:")
            self.lines += later
            self.line(f"    {t} = {b}")
            return t
        a, b = self.operands([e.a, e.b])
        if e.op in ("//", "%", "**"):
            return f"{ {'//': 'floordiv', '%': 'mod', '**': 'power'}[e.op] }({a}, {b})"
        if e.op == "@":
            return f"matmul({a}, {b})"
        op = {"and": "&", "or": "|"}.get(e.op, e.op)
        if op == "+" and isinstance(e.ty, (ListOf, str)) and not is_scalar(e.ty):
            return f"({a} + {b})"
        if op in "*/" and elem_of(e.ty) in FLOATS:
            return f"grown({a} {op} {b})"
        return f"({a} {op} {b})"

    def on_Convert(self, e):
        name = elem_of(e.ty)
        return f"convert({name if name == 'T' else repr(name)}, {self.expr(e.a)})"

    def on_Prelude(self, e):
        texts = self.operands(list(e.args) + [v for _, v in e.named if isinstance(v, Expr)])
        args = texts[:len(e.args)]
        rest = texts[len(e.args):]
        for n, v in e.named:
            args.append(f"{n}={rest.pop(0) if isinstance(v, Expr) else self.constant(v)}")
        name = NAMES.get(e.name, e.name)
        if e.name in ("min", "max") and len(e.args) == 2:
            name = e.name + "2"
        return f"{name}({', '.join(args)})"

    def constant(self, v):
        """A constant that is written alike in both: an axis, `true`, a tuple of axes, the name of an element type."""
        return {"true": "True", "false": "False"}.get(v, str(v))

    def on_Call(self, e):
        texts = self.operands(list(e.args) + [v for _, v in e.named])
        named = [f"{n}={t}" for (n, _), t in zip(e.named, texts[len(e.args):])]
        return f"{self.find(e.name)}({', '.join(texts[:len(e.args)] + named)})"

    def on_CallValue(self, e):
        texts = self.operands([e.f] + e.args)
        return f"{texts[0]}({', '.join(texts[1:])})"

    def on_If(self, e):
        c = self.expr(e.cond)
        if e.ty == UNIT and e.orelse is None:
            self.line(f"if {c}:")
            self.in_block(lambda: self.block(e.then))
            return "()"
        if e.ty == UNIT:
            self.line(f"if {c}:")
            self.in_block(lambda: self.block(e.then))
            self.line("else:")
            self.in_block(lambda: self.block(e.orelse))
            return "()"
        if not e.then.body and not e.orelse.body and e.then.value is not None and e.orelse.value is not None:
            mark, count = len(self.lines), self.count
            a, b = self.expr(e.then.value), self.expr(e.orelse.value)
            if len(self.lines) == mark:
                return f"({a} if {c} else {b})"
            del self.lines[mark:]
            self.count = count
        t = self.temp()
        self.line(f"if {c}:")
        self.in_block(lambda: self.block(e.then, t))
        self.line("else:")
        self.in_block(lambda: self.block(e.orelse, t))
        return t

    def on_Tuple(self, e):
        texts = self.operands(e.items)
        return "(" + ", ".join(texts) + ("," if len(texts) == 1 else "") + ")"

    def on_Item(self, e):
        return f"{self.expr(e.a)}[{e.k}]"

    def on_TensorLit(self, e):
        return f"tensor([{', '.join(self.operands(e.items))}])"

    def on_ListLit(self, e):
        return f"[{', '.join(self.operands(e.items))}]"

    def on_Mark(self, e):
        return f"'{e.text}'" if e.ty == "type" else e.text

    def subscripts(self, subs):
        """Flat operands of the subscripts, and a function that puts their texts back together."""
        flat = []
        for s in subs:
            flat += [p for p in (s.lo, s.hi, s.step) if p is not None] if isinstance(s, Span) else [] if isinstance(s, Mark) else [s]

        def join(texts):
            texts = list(texts)
            parts = []
            for s in subs:
                if isinstance(s, Span):
                    parts.append("slice(" + ", ".join("None" if p is None else texts.pop(0) for p in (s.lo, s.hi, s.step)) + ")")
                elif isinstance(s, Mark):
                    parts.append("Ellipsis" if s.text == "..." else "None")
                else:
                    parts.append(texts.pop(0))
            return "(" + ", ".join(parts) + ",)"
        return flat, join

    def on_Index(self, e):
        flat, join = self.subscripts(e.subs)
        texts = self.operands([e.a] + flat)
        return f"index({texts[0]}, {join(texts[1:])})"

    def on_Field(self, e):
        if e.name == "shape":
            return f"shape({self.expr(e.a)})"
        return f"{self.expr(e.a)}.{e.name}"

    def on_Make(self, e):
        return f"{e.ty.name}({', '.join(self.operands(e.values))})"

    def on_With(self, e):
        texts = self.operands([e.a] + e.values)
        return f"with_({texts[0]}, {', '.join(f'{n}={t}' for n, t in zip(e.names, texts[1:]))})"

    def on_Lambda(self, e):
        return self.function("lambda", [(n, t, None) for n, t in zip(e.params, e.ty.params)], e.body if isinstance(e.body, Block) else Block([], e.body), "T" in e.ty.params)

    def on_Transform(self, e):
        return f"transform('{e.op}', {self.expr(e.f)}, {e.at}, {nothing(e.ty.result)})"

    def on_Along(self, e):
        texts = self.operands([e.f] + e.args + e.steps)
        xs, dxs = texts[1:1 + len(e.args)], texts[1 + len(e.args):]
        together = lambda ts: f"({', '.join(ts)},)"
        return f"jvp({texts[0]}, {together(xs)}, {together(dxs)})" if e.steps else f"vjp({texts[0]}, {together(xs)})"

    def on_Range(self, e):
        texts = self.operands([e.lo, e.hi] + ([e.step] if e.step is not None else []))
        return f"rng({', '.join(texts)})"

    def on_Comprehension(self, e):
        acc = self.temp()
        tensor_kind = e.kind == "tensor"
        sizes = []
        if tensor_kind:
            for (p, r), size in zip(e.clauses, e.sizes):
                t = self.temp()
                self.line(f"{t} = list({self.expr(r)})" if r is not None else f"{t} = list(rng(0, {self.expr(size)}))")
                sizes.append(t)
        self.line(f"{acc} = []")
        among_all = self.temp() if e.filter is not None and e.kind in ("argmin", "argmax") else None  # counts what the filter leaves out, too
        if among_all:
            self.line(f"{among_all} = Positions()")
        start, begin = self.depth, len(self.lines)
        self.scopes.append({})
        indices, unseen = [], []
        for k, (p, r) in enumerate(e.clauses):
            mark = len(self.lines)
            over = sizes[k] if tensor_kind else f"rows({self.expr(r)})" if r is not None else f"rng(0, {self.expr(e.sizes[k])})"
            if k > 0 and not tensor_kind:
                unseen.append(self.where_nothing_ran((start, begin), mark, over, indices))
            index = self.bind_pattern(p)
            indices += re.findall(r"\w+", index)
            self.line(f"for {index} in {over}:")
            self.depth += 1
        if among_all:
            self.line(f"{among_all}.next()")
        if e.filter is not None:
            self.line(f"if {self.expr(e.filter)}:")
            self.depth += 1
        self.line(f"{acc}.append({self.expr(e.elem)})")
        if among_all:
            self.line(f"{among_all}.keep()")
        self.depth = start
        scope = self.scopes.pop()
        if not tensor_kind:
            self.for_no_element(acc, e, scope)
        for flag, lines in filter(None, unseen):
            self.line(f"if not {flag}:")
            self.lines += lines
        elem = elem_of(e.elem.ty)
        elem = elem if elem == "T" else repr(elem) if is_scalar(elem) else "None"
        if tensor_kind:
            inner = tuple(d if isinstance(d, int) else None for d in e.elem.ty.dims) if isinstance(e.elem.ty, Tensor) else ()
            return f"collect({acc}, ({''.join(f'len({s}), ' for s in sizes)}), {inner}, {elem})"
        if e.kind == "list":
            return acc
        found = f"reduce_list('{e.kind}', {acc}, {elem})"
        return f"{among_all}.of({found})" if among_all else found

    def for_no_element(self, acc, e, indices):
        """What needs no index may be evaluated once, also where there are no elements: whether it fails there is open."""
        parts = [e.elem] if e.filter is None else [e.elem, e.filter]
        while parts:
            part = parts.pop()
            if any(isinstance(x, Name) and x.name in indices for x in walk(part)):
                if isinstance(part, If):
                    parts.append(part.cond)
                elif not isinstance(part, (Comprehension, Lambda)):  # which bind names of their own
                    parts += [get(place) for place in children(part) if hasattr(self, "on_" + type(get(place)).__name__)]
            elif any(not isinstance(x, (Name, Lit, TensorLit, Tuple)) for x in walk(part)):
                self.line(f"if not {acc}:")
                self.depth += 1
                self.line("with left_open():")
                self.depth += 1
                self.line(self.expr(part))
                self.depth -= 2

    def where_nothing_ran(self, loops, mark, over, indices):
        """Whether a later range, which needs no index before it, fails is open where an earlier one is empty: a flag that says whether it was come to, and the lines that find out."""
        lines = self.lines[mark:]
        if any(re.search(rf"\b{name}\b", text) for name in indices for text in lines + [over]):
            return None
        (start, begin), flag = loops, self.temp()
        self.lines.insert(begin, "    " * start + f"{flag} = False")
        self.line(f"{flag} = True")
        within = [text[4 * self.depth:] for text in lines] + [f"list({over})"]
        return flag, ["    " * (start + 1) + "with left_open():", *["    " * (start + 2) + text for text in within]]

    def on_Interpolation(self, e):
        shown = [p for p in e.parts if not isinstance(p, str)]
        texts = self.operands([p[0] for p in shown])
        parts = []
        for p in e.parts:
            if isinstance(p, str):
                parts.append(self.on_Lit(Lit("str", p)))
            else:
                t = texts.pop(0)
                parts.append(f'fmt({t}, "{p[1]}")' if p[1] else f"show({t})")
        return f"text({', '.join(parts)})"

    # ---- statements ----

    def stmt(self, s):
        getattr(self, "do_" + type(s).__name__)(s)

    def do_Let(self, s):
        value = self.expr(s.value)
        self.line(f"{self.bind_pattern(s.pattern)} = {value}")

    def target(self, path):
        """The subscripts of a target, flat, and a function from their texts and the value's to the line that writes it."""
        name = self.variable(path[0])
        flat, joins = [], []
        for step in path[1:]:
            if isinstance(step, str):
                joins.append((0, lambda _, step=step: repr(step)))
            else:
                more, join = self.subscripts(step)
                joins.append((len(more), join))
                flat += more

        def write(texts, op, value):
            steps = []
            for n, join in joins:
                steps.append(join(texts[:n]))
                texts = texts[n:]
            return f"{name} = store({name}, [{', '.join(steps)}], '{op}', {value})" if path[1:] else f"{name} = {value}"
        return flat, write

    def do_Assign(self, s):
        """From left to right: the subscripts of the target, then the right side; `x += e` reads x first."""
        if len(s.path) == 1:
            name = self.variable(s.path[0])
            if s.op == "=":
                self.line(f"{name} = {self.expr(s.value)}")
            else:
                a, b = self.operands([Name(s.ty, s.path[0]), s.value])
                self.line(f"{name} = combine('{s.op}', {a}, {b})")
            return
        flat, write = self.target(s.path)
        texts = self.operands(flat + [s.value])
        self.line(write(texts[:-1], s.op, texts[-1]))

    def do_AssignTuple(self, s):
        targets = [self.target(path) for path in s.targets]
        texts = self.operands([e for flat, _ in targets for e in flat] + [s.value])
        t = self.temp()
        self.line(f"{t} = {texts[-1]}")
        for k, (flat, write) in enumerate(targets):
            self.line(write(texts[:len(flat)], "=", f"{t}[{k}]"))
            texts = texts[len(flat):]

    def do_Do(self, s):
        text = self.expr(s.e)
        if text != "()" and not STABLE.match(text):
            self.line(text)

    def do_For(self, s):
        start = self.depth
        self.scopes.append({})
        for p, r in s.clauses:
            over = self.expr(r)
            over = over if isinstance(r, Range) else f"rows({over})"
            self.line(f"for {self.bind_pattern(p)} in {over}:")
            self.depth += 1
        mark = len(self.lines)
        self.block(s.body)
        if len(self.lines) == mark:
            self.line("pass")
        self.depth = start
        self.scopes.pop()

    def do_While(self, s):
        self.line("while True:")
        self.depth += 1
        c = self.expr(s.cond)
        self.line(f"if not {c}: break")
        self.block(s.body)
        self.depth -= 1

    def do_Break(self, s):
        self.line("break")

    def do_Continue(self, s):
        self.line("continue")

    def do_Return(self, s):
        self.line(f"return {self.expr(s.value)}")

    def do_Print(self, s):
        texts = self.operands(s.args)
        self.line(f"out({', '.join(texts + ([f'end={self.on_Lit(Lit(chr(115) + chr(116) + chr(114), s.end))}'] if s.end is not None else []))})")

    def do_Assert(self, s):
        c = self.expr(s.cond)
        self.line(f"if not {c}:")

        def failed():
            self.line(f"check(False, {self.expr(s.message)})" if s.message is not None else "check(False)")
        self.in_block(failed)

    def do_Function(self, s):
        self.function(s.name, s.params, s.body, s.generic or not s.shown)

    def function(self, name, params, body, generic=False) -> str:
        """A `def` here; a nested one captures the values that names have now."""
        top = self.depth == 0 and len(self.scopes) == 1
        python = name if top else self.bind(name) if name != "lambda" else self.temp() + "_lambda"
        header = len(self.lines)
        self.lines.append("")
        known = {p for scope in self.scopes for p in scope.values()}
        self.depth += 1
        self.scopes.append({})
        heads = []
        for n, ty, default in params:
            p = self.bind(n)
            heads.append(f"{n}=MISSING" if default is not None else n)
            if default is not None:
                self.line(f"if {n} is MISSING:")
                self.depth += 1
                self.line(f"{n} = {self.expr(default)}")
                self.depth -= 1
            self.line(f"{p} = {n}")
        if generic:
            first = next((self.find(n) for n, ty, _ in params if elem_of(ty) == "T"), None)
            if first:
                self.line(f"T = np.asarray({first}).dtype.type")
        for d, where in sizes_bound(params):
            self.line(f"{self.bind(d)} = {where(self)}")
        self.block(body, "return")
        self.scopes.pop()
        self.depth -= 1
        text = "\n".join(self.lines[header + 1:])
        captured = sorted(c for c in known if c != python and re.search(rf"\b{c}\b", text))
        self.lines[header] = "    " * self.depth + f"def {python}({', '.join(heads + [f'{c}={c}' for c in captured])}):"
        return python

    def struct(self, ty):
        self.line(f"class {ty.name}(Struct):")
        self.line(f"    fields = {tuple(n for n, _ in ty.fields)!r}")

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


def nothing(ty) -> str:
    """The text of a result of `vmap` over nothing, or None where sizes that only the run tells are in it."""
    if isinstance(ty, Tensor):
        return f"np.zeros((0, {''.join(f'{d}, ' for d in ty.dims[1:])}), TYPES['{ty.elem}'])" if all(isinstance(d, int) for d in ty.dims[1:]) else "None"
    if isinstance(ty, Tup) and all(nothing(t) != "None" for t in ty.items):
        return f"({''.join(nothing(t) + ', ' for t in ty.items)})"
    return "None"


def sizes_bound(params):
    """The sizes that parameters bind, each with a function that gives its value's text."""
    found = {}
    for n, ty, _ in params:
        if isinstance(ty, Tensor):
            for axis, d in enumerate(ty.dims):
                if isinstance(d, str) and not d.startswith("?") and d not in found:
                    found[d] = lambda r, n=n, axis=axis: f"size({r.find(n)}, {axis})"
    return list(found.items())
