"""Tuples and structs: making, reading, `with`, paths."""
from __future__ import annotations

from tree import *


class Aggregates:
    def new_struct(self):
        name = f"{self.name.upper()}_S{len(self.structs)}"
        n = self.rng.randint(1, 3)
        fields = []
        for field_name in self.rng.sample(["a", "b", "w", "x", "lo", "count"], n):
            kind = self.scalar_type()
            if self.structs and self.chance(0.2):
                kind = self.structs[-1]
            elif self.chance(0.25) and self.weight("tensor"):
                kind = Tensor(kind, (self.rng.randint(1, 3),))
            elif self.chance(0.15):
                kind = Tup((self.scalar_type(), self.scalar_type()))
            fields.append((field_name, kind))
        self.structs.append(Struct(name, tuple(fields)))

    def aggregate_makers(self, ty):
        if isinstance(ty, Tup) and ty != UNIT:
            return [("literal", 2, self.make_tuple)]
        if isinstance(ty, Struct):
            found = [("literal", 1, self.make_struct), ("struct", 0.4, self.change_struct)]
            if self.numeric_leaves(ty):
                found += [("struct", 0.4, self.struct_arithmetic), ("struct", 0.3, self.map_struct)]
            return found
        if ty in ("i64", "f64") and self.weight("struct") and self.structs:
            return [("struct", 0.4, self.fold_struct)]
        return []

    def leaf_types(self, ty):
        """The types of a struct's leaves; "" for what has no arithmetic."""
        return [e for _, t in ty.fields for e in (self.leaf_types(t) if isinstance(t, Struct) else ["" if isinstance(t, (Tup, ListOf)) or t == "str" else elem_of(t)])]

    def numeric_leaves(self, ty):
        return not {"", "T"} & set(self.leaf_types(ty))

    def struct_arithmetic(self, ty, depth):
        """`s + t`, `2.0 * s`: leaf by leaf."""
        floats = {e for e in self.leaf_types(ty) if e in FLOATS}
        if len(floats) == 1 and self.chance(0.5):
            (e,) = floats
            pair = [self.expr(ty, depth), self.expr(e, depth)]
            op = self.pick("+-*/" if self.chance(0.5) else "*")
            return Binary(ty, op, *(pair if op == "/" or self.chance(0.6) else pair[::-1]))
        return Binary(ty, self.pick("+-*"), self.expr(ty, depth), self.expr(ty, depth))

    def map_struct(self, ty, depth):
        """`map(|x| x * 2, s)`, `map(|x, y| x - y, s, t)`."""
        if "bool" in self.leaf_types(ty):
            return None
        names = ["p", "q"][:self.rng.randint(1, 2)]
        a, b = Name("T", names[0]), Name("T", names[-1])
        body = self.pick([Binary("T", self.pick("+-*"), a, b), Binary("T", self.pick("+-*"), a, Lit("T", self.rng.randint(0, 5))),
                          Prelude("T", self.pick(["max", "min"]), [a, Lit("T", 2)], same=True), b])
        f = Lambda(FnType(("T",) * len(names), "T"), names, [False] * len(names), body)
        return Prelude(ty, "map", [f] + [self.expr(ty, depth) for _ in names])

    def fold_struct(self, ty, depth):
        """`fold(|a, x| a * 3 + i64(sum(x)), 1, s)`."""
        options = [s for s in self.structs if self.numeric_leaves(s)]
        if not options:
            return None
        a, x = Name(ty, "p"), Name("T", "q")
        f = Lambda(FnType((ty, "T"), ty), ["p", "q"], [True, False], Binary(ty, "-", Binary(ty, "*", a, Lit(ty, 3)), Convert(ty, Prelude("T", "sum", [x]))))
        return Prelude(ty, "fold", [f, self.expr(ty, depth), self.expr(self.pick(options), depth)], same=True)

    def make_tuple(self, ty, depth):
        return Tuple(ty, [self.expr(t, depth) for t in ty.items])

    def make_struct(self, ty, depth):
        return Make(ty, [self.expr(t, depth) for _, t in ty.fields])

    def change_struct(self, ty, depth):
        names = self.rng.sample([n for n, _ in ty.fields], self.rng.randint(1, len(ty.fields)))
        base = self.expr(ty, depth)
        return With(ty, base, names, [self.expr(dict(ty.fields)[n], depth) for n in names])

    def item_of_tuple(self, ty, depth):
        """`(a, b)[0]`: an element of a tuple that is made here."""
        k = self.rng.randint(0, 1)
        other = self.no_any(self.some_type(1))
        items = (ty, other) if k == 0 else (other, ty)
        of = Tup(items)
        return Item(ty, Tuple(of, [self.expr(t, depth) for t in items]), k)

    def aggregate_statements(self, depth):
        if self.pure or not self.weight("struct") or not self.struct_variables():
            return []
        return [(0.7 * self.weight("struct"), self.update_struct)]

    def struct_variables(self):
        return self.variables(lambda t: isinstance(t, Struct) and self.numeric_leaves(t), mutable=True)

    def update_struct(self, depth):
        """`s -= t`, `s *= 0.5`."""
        v = self.pick(self.struct_variables())
        floats = {e for e in self.leaf_types(v.ty) if e in FLOATS}
        of = floats.pop() if len(floats) == 1 and self.chance(0.4) else v.ty
        return Assign([v.name], self.pick(["+=", "-=", "*="]), self.freezing([v.name], lambda: self.expr(of, depth)), v.ty)
