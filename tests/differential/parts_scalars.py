"""Scalars of all types: arithmetic, comparisons, conversions, functions of the prelude, bits."""
from __future__ import annotations

from tree import *


class Scalars:
    def scalar_makers(self, ty):
        if not is_scalar(ty):
            return self.narrow_makers(ty)
        return self.narrow_makers(ty) + self.makers_of_scalars(ty)

    def makers_of_scalars(self, ty):
        found = [("literal", 1, lambda ty, depth: self.fallback(ty))]
        if ty == "bool":
            return found + [("arithmetic", 1, self.compare), ("arithmetic", 0.7, self.logic), ("arithmetic", 0.3, self.negate_bool), ("convert", 0.2, self.convert)]
        found += [("arithmetic", 1, self.arithmetic), ("arithmetic", 0.2, self.negate)]
        if ty == "T":
            return found + [("builtin", 0.3, self.smaller_or_larger)]
        found += [("convert", 1, self.convert), ("builtin", 0.5, self.smaller_or_larger), ("builtin", 0.4, self.builtin)]
        if ty in INTEGERS:
            found += [("arithmetic", 0.4, self.divide), ("bits", 0.5, self.bits), ("arithmetic", 0.1, self.whole_power)]
        else:
            found += [("arithmetic", 0.3, self.divide_floats), ("builtin", 0.4, self.float_function)]
        return found

    def pair(self, ty, depth):
        return self.expr(ty, depth), self.expr(ty, depth)

    def arithmetic(self, ty, depth):
        return Binary(ty, self.pick("+-*+-"), *self.pair(ty, depth))

    def negate(self, ty, depth):
        return Unary(ty, "-", self.expr(ty, depth)) if ty not in UNSIGNED else None

    def negate_bool(self, ty, depth):
        return Unary("bool", "not", self.expr("bool", depth))

    def divisor(self, ty, depth):
        """Mostly not zero."""
        way = self.rng.random()
        if way < 0.6 or depth <= 0:
            value = 0
            while value == 0:
                value = self.number(ty)
            return Lit(ty, value)
        if not self.careless(0.1):
            return Binary(ty, "+", Binary(ty, "%", self.expr(ty, depth - 1), Lit(ty, self.rng.randint(2, 5))), Lit(ty, 1))
        return self.expr(ty, depth)

    def divide(self, ty, depth):
        return Binary(ty, self.pick(["//", "%"]), self.expr(ty, depth), self.divisor(ty, depth))

    def divide_floats(self, ty, depth):
        return Binary(ty, self.pick(["/", "/", "/", "//", "%"]), *self.pair(ty, depth))

    def whole_power(self, ty, depth):
        return Binary(ty, "**", self.expr(ty, depth), Lit(ty, self.rng.randint(0, 4)))

    def compare(self, ty, depth):
        of = self.number_type() if self.chance(0.93) else "bool"
        op = self.pick(["==", "!=", "<", "<=", ">", ">="]) if of != "bool" else self.pick(["==", "!="])
        return Binary("bool", op, *self.pair(of, depth))

    def logic(self, ty, depth):
        return Binary("bool", self.pick(["and", "or"]), *self.pair("bool", depth))

    def convert(self, ty, depth):
        source = self.scalar_type()
        if source == ty and self.chance(0.9):
            return None
        return Convert(ty, self.expr(source, depth))

    def smaller_or_larger(self, ty, depth):
        return Prelude(ty, self.pick(["min", "max"]), list(self.pair(ty, depth)), same=True)

    def builtin(self, ty, depth):
        name = self.pick(["abs", "where", "clamp", "sign", "neg"] if ty not in UNSIGNED else ["where", "clamp", "abs"])
        if name == "where":
            return Prelude(ty, "where", [self.expr("bool", depth), *self.pair(ty, depth)], same=True)
        if name == "clamp":
            low = self.number(ty, 0)
            high = low + (abs(self.number(ty, 0)) if ty in INTEGERS else abs(self.number(ty, 0)))
            return Prelude(ty, "clamp", [self.expr(ty, depth), Lit(ty, low), Lit(ty, high)], same=True)
        return Prelude(ty, name, [self.expr(ty, depth)], same=True, method=self.chance(0.3))

    def float_function(self, ty, depth):
        name = self.choose([(3, "floor"), (3, "ceil"), (3, "round"), (2, "sqrt"), (1, "exp"), (1, "sin"), (1, "tanh"), (0.5, "log"), (0.5, "cos"), (0.5, "sigmoid")])
        if ty == "f16" and name not in ("floor", "ceil", "round", "sqrt"):
            return None
        return Prelude(ty, name, [self.expr(ty, depth)], same=True, method=self.chance(0.3))

    def bits(self, ty, depth):
        name = self.pick(["bit_and", "bit_or", "bit_xor", "bit_not", "shift_left", "shift_right"])
        if name == "bit_not":
            return Prelude(ty, name, [self.expr(ty, depth)])
        if name.startswith("shift"):
            return Prelude(ty, name, [self.expr(ty, depth), Lit(ty, self.rng.randint(0, 7))])
        return Prelude(ty, name, list(self.pair(ty, depth)))

    # ---- bf16, which NumPy does not have: inside expressions only ----

    def narrow_makers(self, ty):
        return [("bf16", 0.3, self.through_bf16)] if elem_of(ty) in ("f32", "f64", "i64", "bool") and not (isinstance(ty, Tensor) and "?" in ty.dims) else []

    def through_bf16(self, ty, depth):
        narrow = Tensor("bf16", ty.dims) if isinstance(ty, Tensor) else "bf16"
        if elem_of(ty) == "bool":
            return Binary(ty, self.pick(["<", "<=", "==", ">"]), self.bf16(narrow, 2), self.bf16(narrow, 1))
        return Convert(ty, self.bf16(narrow, 3))

    def bf16(self, ty, depth):
        """Each operation rounds to bf16."""
        if depth <= 0 or self.chance(0.25):
            source = self.pick(["f32", "f64", "i64", "f16", "bool", "i32"])
            return Convert(ty, self.expr(Tensor(source, ty.dims) if isinstance(ty, Tensor) else source, 0))
        a = self.bf16(ty, depth - 1)
        b = self.bf16(ty if self.chance(0.7) else "bf16", depth - 1) if self.chance(0.7) else Lit("bf16", self.pick([0.5, 2.0, 0.1, -3.0, 100.0, 1.0 / 3.0]))
        way = self.pick(["+", "-", "*", "/", "+", "*", "min", "max", "where", "abs", "neg", "sqrt", "floor", "round"])
        if way in ("min", "max"):
            return Prelude(ty, way, [a, b], same=True)
        if way == "where":
            return Prelude(ty, way, [Binary(Tensor("bool", ty.dims) if isinstance(ty, Tensor) else "bool", "<", a, b), a, b], same=True)
        if way in ("abs", "neg", "sqrt", "floor", "round"):
            return Prelude(ty, way, [a], same=True)
        return Binary(ty, way, a, b)

    # ---- whole numbers that bound loops and sizes ----

    def small(self, depth=1, top=4):
        """An i64 between 0 and `top`."""
        way = self.rng.random()
        if way < 0.35 or depth <= 0 or self.fuel <= 0:
            return Lit("i64", self.rng.randint(1, top) if self.chance(0.8) and top > 0 else 0)
        if way < 0.7:
            return Binary("i64", "%", self.expr("i64", depth), Lit("i64", top + 1))
        if way < 0.8:
            return Prelude("i64", "clamp", [self.expr("i64", depth), Lit("i64", 0), Lit("i64", top)], same=True)
        if way < 0.9:
            return Prelude("i64", "min", [Prelude("i64", "max", [self.expr("i64", depth), Lit("i64", 0)], same=True), Lit("i64", top)], same=True)
        return If("i64", self.expr("bool", depth), Block([], self.small(depth - 1, top)), Block([], self.small(depth - 1, top)))
