"""Comprehensions: tensors, reductions with filters and dependent ranges, inferred ranges, nests."""
from __future__ import annotations

from tree import *


INDICES = ("i", "j", "k", "l")


class Comprehensions:
    def indexed(self, clauses, make):
        """What `make` gives where the indices of the clauses are in scope; nothing in it has effects."""
        saved = (self.result, self.loops, self.turns)
        self.result, self.loops = None, 0
        self.turns *= 4
        self.pure += 1
        self.scopes.append({n: Var(n, t) for n, t in clauses})
        result = make()
        self.scopes.pop()
        self.pure -= 1
        self.result, self.loops, self.turns = saved
        return result

    def index_names(self, n):
        return self.rng.sample(INDICES, n)

    def tensor_comprehension(self, ty, depth, free=False):
        """`[e for i in 0..n, j]`; with `free` the first size is whatever a small number gives."""
        if not isinstance(ty, Tensor) or depth < 0 or self.turns > 60 or (not free and any(isinstance(d, int) and d > 6 for d in ty.dims)):
            return None
        rank = len(ty.dims)
        if rank > len(INDICES):
            return None
        names = self.index_names(rank)
        clauses, sizes, bound = [], [], []
        inferred = {}
        for k, (n, d) in enumerate(zip(names, ty.dims)):
            size = self.indexed([], lambda: self.small(depth)) if free and k == 0 else self.size_expr(d)
            if size is None:
                return None
            sources = [v for v in self.variables(lambda t: isinstance(t, Tensor) and t.dims[0] == d)] if not (free and k == 0) else []
            if sources and self.chance(0.5):
                inferred[n] = self.pick(sources)
                clauses.append((n, None))
                size = Prelude("i64", "len", [Name(inferred[n].ty, inferred[n].name)])
            else:
                clauses.append((n, Range("range", Lit("i64", 0), size)))
            sizes.append(size)
            bound.append((n, "i64"))

        def make():
            before, self.inferring = self.inferring, self.inferring | set(inferred)
            e = self.expr(ty.elem, min(depth, 2))
            self.inferring = before
            for n, v in inferred.items():  # an inferred range needs a subscript that is the bare index
                e = self.with_subscript(e, ty.elem, n, v)
            return e
        return Comprehension(ty, "tensor", self.indexed(bound, make), clauses, sizes)

    def with_subscript(self, e, elem, n, v):
        """`e` together with a use of v[n], so that n's range can be inferred."""
        place = Index(v.ty.elem, Name(v.ty, v.name), [Name("i64", n)])
        if len(v.ty.dims) > 1:
            place = Index(Tensor(v.ty.elem, v.ty.dims[1:]), Name(v.ty, v.name), [Name("i64", n)])
            place = Prelude("i64", "len", [place])
        if place.ty != elem:
            if elem == "T" or place.ty == "T":
                return If(elem, Binary("bool", "==", place, place), Block([], e), Block([], e))
            place = Convert(elem, place)
        if elem == "bool":
            return Binary("bool", "or", e, place) if self.chance(0.5) else Binary("bool", "==", place, e)
        return Binary(elem, self.pick("+-*"), place, e) if self.chance(0.5) else Binary(elem, self.pick("+-"), e, place)

    def scalar_comprehension(self, ty, depth):
        """`sum(e for i in …, j in … if c)` and the other reductions; later ranges may use earlier indices."""
        if self.turns > 60:
            return None
        kinds = {"bool": ["any", "all"], "i64": ["sum", "prod", "argmin", "argmax", "sum", "sum", "min", "max"]}.get(ty, ["sum", "min", "max", "prod"] + (["mean"] if ty in FLOATS else []))
        kind = self.pick(kinds)
        if ty not in ("bool", "i64") and kind in ("sum", "prod") and (ty not in ("f32", "f64")):
            kind = self.pick(["min", "max"])
        if kind == "mean" and ty == "f16" or ty == "T":
            return None
        elem = self.pick(["i64", self.number_type()]) if kind in ("argmin", "argmax") else ty
        if kind in ("sum", "prod") and ty == "i64" and self.chance(0.2):
            elem = self.pick(["i32", "u8"])
        never_empty = kind in ("min", "max", "argmin", "argmax")
        names = self.index_names(self.rng.choices([1, 2, 3], [6, 3, 0.5])[0])
        clauses, sizes, bound = [], [], []
        for k, n in enumerate(names):
            sources = self.variables(lambda t: isinstance(t, Tensor))
            if never_empty:
                size = Lit("i64", self.rng.randint(1, 3))
                clauses.append((n, Range("range", Lit("i64", 0), size)))
            elif sources and self.chance(0.15):
                v = self.pick(sources)
                if len(v.ty.dims) == 1:
                    clauses.append((n, Name(v.ty, v.name)))
                    sizes.append(None)
                    bound.append((n, v.ty.elem))
                    continue
                clauses.append((n, Range("range", Lit("i64", 0), self.indexed(bound, lambda: self.small(depth, 3)))))
            else:
                clauses.append((n, Range("range", Lit("i64", 0), self.indexed(bound, lambda: self.small(depth, 3)))))
            sizes.append(None)
            bound.append((n, "i64"))
        elem_e = self.indexed(bound, lambda: self.expr(elem, min(depth, 2)))
        condition = self.indexed(bound, lambda: self.expr("bool", min(depth, 2))) if self.chance(0.35) and (not never_empty or self.chance(0.1)) else None
        return Comprehension(ty, kind, elem_e, clauses, sizes, condition)
