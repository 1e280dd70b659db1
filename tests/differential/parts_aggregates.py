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
            return [("literal", 1, self.make_struct), ("struct", 0.4, self.change_struct)]
        return []

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
        return []
