"""Lists (of scalars, tuples, structs and tensors of different sizes) and text."""
from __future__ import annotations

from tree import *


class Lists:
    def list_type(self):
        way = self.rng.random()
        if way < 0.65:
            return ListOf(self.scalar_type())
        if way < 0.75 and self.weight("tensor"):
            return ListOf(Tensor(self.scalar_type(), ("?",)))
        if way < 0.85 and self.structs:
            return ListOf(self.pick(self.structs))
        return ListOf(Tup((self.scalar_type(), self.scalar_type())))

    def list_makers(self, ty):
        if isinstance(ty, ListOf):
            return [("list", 1.5, self.make_list), ("list", 1, self.join_lists), ("list", 0.8, self.slice_of_list), ("list", 1, self.list_comprehension)]
        if ty == "str":
            return [("literal", 1, lambda ty, depth: self.constant(ty)), ("text", 2, lambda ty, depth: self.text(depth)), ("text", 1, self.join_text), ("text", 1, self.text_function)]
        found = []
        if self.weight("list"):
            found.append(("list", 1, self.element_of_list))
            if ty == "i64":
                found += [("list", 0.6, self.length_of_list), ("list", 0.5, self.reduce_list)]
        if self.weight("text") and ty in ("i64", "f64", "f32", "u8"):
            found.append(("text", 0.5, self.number_of_text))
        if self.weight("text") and ty == "bool":
            found.append(("text", 0.7, self.compare_text))
        return found

    def make_list(self, ty, depth):
        return ListLit(ty, [self.expr(ty.elem, depth) for _ in range(self.rng.randint(1, 3))])

    def join_lists(self, ty, depth):
        return Binary(ty, "+", self.expr(ty, depth), self.expr(ty, depth))

    def slice_of_list(self, ty, depth):
        return Index(ty, self.expr(ty, depth), [self.slice(depth)])

    def list_comprehension(self, ty, depth):
        if self.turns > 60 or not is_scalar(ty.elem):
            return None
        names = self.index_names(self.pick([1, 1, 2]))
        clauses, bound = [], []
        for n in names:
            clauses.append((n, Range("range", Lit("i64", 0), self.indexed(bound, lambda: self.small(depth, 3)))))
            bound.append((n, "i64"))
        e = self.indexed(bound, lambda: self.expr(ty.elem, min(depth, 2)))
        condition = self.indexed(bound, lambda: self.expr("bool", min(depth, 1))) if self.chance(0.4) else None
        return Comprehension(ty, "list", e, clauses, [None] * len(clauses), condition)

    def list_names(self, want=lambda t: True):
        return [Name(v.ty, v.name) for v in self.variables(lambda t: isinstance(t, ListOf) and want(t.elem))]

    def element_of_list(self, ty, depth):
        options = self.list_names(lambda t: t == ty)
        if not options:
            return None
        xs = self.pick(options)
        length = Prelude("i64", "len", [xs])
        where = Lit("i64", self.pick([0, -1])) if self.chance(0.4) else Binary("i64", "%", self.expr("i64", depth), length)
        value = Index(ty, xs, [where])
        if self.careless(0.05):
            return value
        return If(ty, Binary("bool", ">", length, Lit("i64", 0)), Block([], value), Block([], self.expr(ty, depth)))

    def length_of_list(self, ty, depth):
        options = self.list_names()
        return Prelude(ty, "len", [self.pick(options) if options and self.chance(0.7) else self.expr(self.list_type(), depth)])

    def reduce_list(self, ty, depth):
        """`sum(x for x in xs if c)`."""
        options = self.list_names(lambda t: t == "i64")
        if not options:
            return None
        condition = self.indexed([("i", "i64")], lambda: self.expr("bool", 1)) if self.chance(0.5) else None
        return Comprehension(ty, self.pick(["sum", "prod"]), self.indexed([("i", "i64")], lambda: self.expr("i64", 1)), [("i", self.pick(options))], [None], condition)

    def join_text(self, ty, depth):
        return Binary(ty, "+", self.expr(ty, depth), self.expr(ty, depth))

    def text_function(self, ty, depth):
        """`replace`, `strip`, an element of `split`, `join`, `str`."""
        way, s = self.rng.random(), self.expr(ty, depth)
        piece = lambda: Lit("str", self.pick(["a", " ", "b", "x y", ",", "tl"]))
        if way < 0.2:
            return Prelude(ty, "replace", [s, piece(), self.expr(ty, 0)], method=self.chance(0.4))
        if way < 0.4:
            return Prelude(ty, "strip", [s] + ([piece()] if self.chance(0.4) else []), method=self.chance(0.4))
        if way < 0.6:
            return Index(ty, Prelude(ListOf("str"), "split", [s, piece()], method=self.chance(0.4)), [Lit("i64", self.pick([0, -1]))])
        if way < 0.8:
            parts = self.pick([Prelude(ListOf("str"), "split", [s, piece()]), ListLit(ListOf("str"), [s, self.expr(ty, depth)]),
                               Prelude(ListOf("str"), "lines", [s]), Prelude(ListOf("str"), "split", [s])])
            return Prelude(ty, "join", [parts, piece()])
        if way < 0.9:
            return Prelude(ty, "str", [Prelude(Tensor("u8", ("?",)), "bytes", [s])])
        of = self.some_type(1)
        return Prelude(ty, "str", [self.expr(of, depth)]) if is_scalar(of) and of != "T" else None

    def number_of_text(self, ty, depth):
        if ty == "i64" and self.chance(0.7):
            s = self.expr("str", depth)
            if self.chance(0.5):
                return Prelude(ty, "find", [s, Lit("str", self.pick(["a", " ", "b", "x"]))], method=self.chance(0.4))
            return Prelude(ty, "len", [self.pick([s, Prelude(ListOf("str"), "split", [s, Lit("str", "a")]), Prelude(Tensor("u8", ("?",)), "bytes", [s])])])
        shown = Interpolation("str", [(Convert(ty, self.expr("i64", depth)), "")])
        return Prelude(ty, "parse", [Mark("type", ty), shown])

    def compare_text(self, ty, depth):
        return Binary(ty, self.pick(["==", "!="]), self.expr("str", depth), self.expr("str", depth))

    # ---- statements ----

    def list_statements(self, depth):
        if not self.weight("list"):
            return []
        found = [(1.5 * self.weight("list"), self.let_list)]
        if not self.pure:
            if self.variables(lambda t: isinstance(t, ListOf), mutable=True):
                found += [(3 * self.weight("list"), self.change_list)]
            if depth > 0:
                found += [(1.2 * self.weight("list"), self.for_list)]
        return found

    def let_list(self, depth):
        ty = self.list_type()
        mutable = self.chance(0.6) and not self.pure
        if mutable and self.chance(0.4):
            value, shown = ListLit(ty, []), True
        else:
            value = self.expr(ty, depth)
            shown = self.chance(0.3) or not (self.closed(value) and self.has_element(value))
        name = self.fresh_name()
        self.declare(name, ty, mutable)
        return Let(name, ty, value, mutable, shown)

    def has_element(self, e) -> bool:
        return not any(isinstance(x, ListLit) and not x.items for x in walk(e))

    def change_list(self, depth):
        """`xs += list(e)`, `xs[i] = e`, `xs[i] += e`."""
        v = self.pick(self.variables(lambda t: isinstance(t, ListOf), mutable=True))
        ty = v.ty
        if self.chance(0.6):
            value = self.freezing([v.name], lambda: ListLit(ty, [self.expr(ty.elem, depth)]) if self.chance(0.8) else self.expr(ty, depth))
            return Assign([v.name], "+=", value, ty)
        if not is_scalar(ty.elem) and not isinstance(ty.elem, Struct):
            return Assign([v.name], "=", self.expr(ty, depth), ty)

        def make():
            length = Prelude("i64", "len", [Name(ty, v.name)])
            where = Binary("i64", "%", self.expr("i64", depth), length)
            path, at = [v.name, [where]], ty.elem
            if isinstance(at, Struct) and self.chance(0.6):
                name, at = self.pick(at.fields)
                path.append(name)
            op = self.pick(["=", "+=", "-="]) if is_number(at) else "="
            return Do(If(UNIT, Binary("bool", ">", length, Lit("i64", 0)), Block([Assign(path, op, self.expr(at, depth), at)]), None))
        return self.freezing([v.name], make)

    def for_list(self, depth):
        xs = self.expr(self.list_type(), depth)
        ty = xs.ty
        if not isinstance(ty, ListOf):
            return None
        elem = self.settle(ty.elem)
        xs = Index(ty, xs, [Span(None, None, Lit("i64", self.rng.randint(1, 4)), None)]) if self.chance(0.5) else xs
        if not self.has_element(xs):
            return None
        name, counter = self.fresh_name(), self.fresh_name()
        pattern, over, bound = name, xs, [(name, elem)]
        if isinstance(elem, Tup) and self.chance(0.6):
            pattern, bound = self.pattern(elem)
        elif self.chance(0.3) and counter != name:
            pattern, over, bound = (counter, name), Prelude("pairs", "enumerate", [xs]), [(counter, "i64"), (name, elem)]

        def make():
            for n, t in bound:
                if n != "_":
                    self.declare(n, t)
            return Block(self.statements(self.rng.randint(1, 3), depth - 1))
        return For([(pattern, over)], self.loop(6, make))
