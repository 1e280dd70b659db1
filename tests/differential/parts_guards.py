"""Subscripts and divisors that a condition guards, and loops that run over positions, upwards, downwards and in steps."""
from __future__ import annotations

from tree import *


def i64(value):
    return Lit("i64", value)


class Guards:
    def guard_makers(self, ty):
        if not is_scalar(ty) or ty == "T" or not self.weight("guard"):
            return []
        return [("guard", 1, self.guarded_element), ("guard", 1, self.two_checks)] + ([("guard", 0.5, self.guarded_division)] if ty in INTEGERS else [])

    def place(self, i):
        """A name as a subscript that does not tell its range: only a bare index does."""
        return Binary("i64", "+", i, i64(0)) if i.name in self.inferring else i

    def guarded_element(self, ty, depth):
        """`if i >= 0 and i < len(x) { x[i] } else { e }`, and the same the other way round."""
        xs = self.tensor_names(lambda t: t.elem == ty and len(t.dims) == 1)
        at = [v for v in self.variables(lambda t: t == "i64") if v.name not in self.global_names]
        if not xs or not at:
            return None
        x, i = self.pick(xs), Name("i64", self.pick(at).name)
        length = self.length_of(x, 0)
        value, other = Block([], Index(ty, x, [self.place(i)])), Block([], self.inner(lambda: self.expr(ty, depth)))
        low = Binary("bool", ">=", i, i64(0) if self.chance(0.7) else Unary("i64", "-", length))
        high = Binary("bool", "<", i, length)
        if self.chance(0.5):
            return If(ty, Binary("bool", "and", *((low, high) if self.chance(0.6) else (high, low))), value, other)
        return If(ty, Binary("bool", "or", Binary("bool", "<", i, i64(0)), Binary("bool", ">=", i, length)), other, value)

    def guarded_division(self, ty, depth):
        """`if b != 0 { a // b } else { e }`."""
        names = [v for v in self.variables(lambda t: t == ty) if v.name not in self.global_names]
        if not names:
            return None
        b = Name(ty, self.pick(names).name)
        value = Binary(ty, self.pick(["//", "%"]), self.calm_expr(ty, depth), b)
        if self.chance(0.3):
            sure = Binary("bool", "and", Binary("bool", "!=", b, Lit(ty, 0)), Binary("bool", self.pick(["<", "==", ">="]), value, Lit(ty, self.rng.randint(0, 3))))
            return If(ty, sure, Block([], self.expr(ty, depth)), Block([], self.expr(ty, depth)))
        if self.chance(0.5):
            return If(ty, Binary("bool", "!=", b, Lit(ty, 0)), Block([], value), Block([], self.expr(ty, depth)))
        return If(ty, Binary("bool", "==", b, Lit(ty, 0)), Block([], self.expr(ty, depth)), Block([], value))

    def two_checks(self, ty, depth):
        """`x[i] + y[j]`, where both may be out of range: the first failure is the one that is reported."""
        at = [v for v in self.variables(lambda t: t == "i64") if v.name not in self.global_names]
        if not at or ty == "bool" or not self.careless(0.03):
            return None
        read = lambda n: Index(ty, self.expr(Tensor(ty, (n,)), depth), [self.place(Name("i64", self.pick(at).name))])
        tensors = lambda n, k: Prelude(ty, "max", [Index(Tensor(ty, (k,)), self.expr(Tensor(ty, (n,)), depth), [self.expr(Tensor("i64", (k,)), depth)])])
        n, m, k = self.rng.randint(1, 2), self.rng.randint(3, 5), self.rng.randint(1, 4)
        return Binary(ty, self.pick("+-*"), read(n), read(m)) if self.chance(0.5) else Binary(ty, self.pick("+-"), tensors(n, k), tensors(m, k))

    def calm_expr(self, ty, depth):
        """An expression that assigns nothing, so that what a guard says of a variable still holds."""
        self.pure += 1
        e = self.expr(ty, depth)
        self.pure -= 1
        return e

    # ---- statements ----

    def guard_statements(self, depth):
        w = self.weight("guard")
        if not w or self.pure or depth <= 0 or "T" in self.weights["types"] or not self.vectors():
            return []
        return [(1.5 * w, self.walk_loop), (1.2 * w, self.scan_loop)]

    def vectors(self, mutable=False):
        return [v for v in self.variables(lambda t: isinstance(t, Tensor) and len(t.dims) == 1 and t.elem in INTEGERS + FLOATS, mutable) if not v.elastic]

    def use_of(self, x, i, offset):
        """A statement about x[i] and its neighbour x[i - offset]."""
        elem = x.ty.elem
        here, beside = Index(elem, x, [i]), Index(elem, x, [Binary("i64", "-" if offset > 0 else "+", i, i64(abs(offset))) if offset else i])
        own = self.visible()[x.name]
        if own.mutable and x.name not in self.frozen and self.chance(0.6):
            value = self.freezing([x.name], lambda: self.pick([beside, Binary(elem, self.pick("+-*"), beside, self.calm_expr(elem, 1)), self.calm_expr(elem, 1)]))
            return Assign([x.name, [i]], self.pick(["=", "+=", "-=", "+="] + (["*="] if elem in INTEGERS else [])), value, elem)
        places = [v for v in self.variables(lambda t: t == elem, mutable=True)]
        value = self.pick([here, Binary(elem, self.pick("+-*"), here, beside)])
        if not places:
            return None
        return Assign([self.pick(places).name], self.pick(["+=", "-=", "=", "+="]), value, elem)

    def walk_loop(self, depth):
        """`for i in range(len(x) - 1, -1, -1) { x[i] += x[i + 1] … }` and the like: all positions whose neighbours are inside."""
        v = self.pick(self.vectors(mutable=self.chance(0.6)) or self.vectors())
        x = Name(v.ty, v.name)
        v.read = True
        length = self.length_of(x, 0)
        offset = self.pick([0, 1, 1, -1, -1, 2])
        low, high = max(offset, 0), max(-offset, 0)  # positions from low to len - high
        if self.careless(0.03):
            low, high = 0, 0
        last = Binary("i64", "-", length, i64(1 + high)) if self.chance(0.8) else Binary("i64", "+", length, i64(-1 - high))
        end = Binary("i64", "-", length, i64(high)) if high else length
        name = self.pick("ijkl")
        over = self.choose([(3, Range("range", i64(low), end)), (3, Range("range", last, i64(low - 1), i64(-1))), (1, Range("range", i64(low), end, i64(self.rng.randint(2, 3)))),
                            (1.5, Range("range", last, i64(low - 1), i64(self.pick([-2, -3]))))])
        return self.position_loop(lambda body: For([(name, over)], body), name, x, offset, depth, [])

    def scan_loop(self, depth):
        """`while k < len(x) and c { … x[k] …; k += 1 }`: the subscript is out of range as soon as the loop has ended."""
        v = self.pick(self.vectors())
        x = Name(v.ty, v.name)
        v.read = True
        length = self.length_of(x, 0)
        self.serial += 1
        name = f"k{self.serial}"
        k = Name("i64", name)
        start = self.choose([(3, i64(0)), (2, Prelude("i64", "abs", [self.expr("i64", 1)], same=True))])
        limit = Binary("bool", "<", k, length) if self.chance(0.7) else Binary("bool", ">", length, k)
        more = (self.condition_of_while(1) if self.chance(0.3)
                else Binary("bool", self.pick(["!=", "<", ">="]), Index(v.ty.elem, x, [k]), Lit(v.ty.elem, self.number(v.ty.elem, 0)))
                if self.chance(0.5) else None)
        cond = limit if more is None else Binary("bool", "and", limit, more)
        forward = [Assign([name], "+=", i64(self.pick([1, 1, 2])), "i64")]
        loop = self.position_loop(lambda body: While(cond, body), name, x, 0, depth, forward)
        positive = Binary("bool", ">=", k, i64(0))
        return [Let(name, "i64", start, mutable=True), loop if isinstance(start, Lit) else Do(If(UNIT, positive, Block([loop]), None))]

    def position_loop(self, around, name, x, offset, depth, forward):
        i = Name("i64", name)

        def make():
            self.declare(name, "i64")
            body = []
            leave = self.may_jump() and self.weight("jump")
            use = self.use_of(x, i, offset)
            if use is not None:
                body.append(use)
            if leave and self.chance(0.4):
                body.append(Do(If(UNIT, self.rare(1), Block([Break()]) if forward or self.chance(0.5) else Block([Continue()]), None)))
            if self.chance(0.5) or not body:
                body += self.statements(1, depth - 1)
            return Block(body + forward)
        level = self.loops + 1
        counting = self.counting
        self.counting = counting | {level} if forward else counting - {level}
        result = around(self.loop(4, make))
        self.counting = counting
        return result
