"""Each kind of expression in each place where one may stand: a cross product, gone through by the seed.

A kind is one of the makers of a type; a place is one of the methods below, which puts expressions of that kind (`self.shaped`) into a subscript, a bound, a condition, ….
"""
from __future__ import annotations

from tree import *

NOTHING = Lit("i64", 0)


class Places:
    def places_case(self) -> Case:
        places = [n for n in dir(self) if n.startswith("in_")]
        types = ["i64", "bool", "f64", Tensor("i64", ("n",)), Tensor("i64", ("?",))]
        at = self.seed
        place = places[at % len(places)]
        at //= len(places)
        self.shape_type = types[at % len(types)]
        self.shape_at = at // len(types)
        if self.chance(0.8):
            self.new_struct()
            self.helpers.append(self.helper_for_places())
        params = [("a", "i64"), ("b", "bool"), ("x", Tensor("i64", ("n",))), ("y", "f64")]
        result = "i64"
        saved = self.enter(result, params, 60)
        body = [Let("k", "i64", Lit("i64", self.rng.randint(1, 3)), True), Let("w", Tensor("i64", ("n",)), Name(Tensor("i64", ("n",)), "x"), True),
                Let("t", Tup(("i64", "bool")), Tuple(Tup(("i64", "bool")), [Name("i64", "a"), Name("bool", "b")]), True)]
        for name, ty in (("k", "i64"), ("w", Tensor("i64", ("n",))), ("t", Tup(("i64", "bool")))):
            self.declare(name, ty, True)

        def make():
            self.declare("i", "i64")
            inner = getattr(self, place)()
            inner = inner if isinstance(inner, list) else [inner]
            return Block(inner + self.statements(self.pick([0, 0, 1]), 1))
        body.append(For([("i", Range("range", Lit("i64", 0), Lit("i64", 2)))], self.loop(2, make)))
        body.append(Print([Lit("str", "end"), Name("i64", "k"), Name(Tensor("i64", ("n",)), "w"), Name(Tup(("i64", "bool")), "t")]))
        effects = self.leave(saved)
        main = Function(self.name, [(n, t, None) for n, t in params], result, Block(body, Name("i64", "k")), effects=effects)
        return Case(self.seed, self.topic, list(self.structs), self.helpers + [main], self.arguments(main))

    def helper_for_places(self):
        return self.helper(f"{self.name}_h0")

    def shaped(self, ty="i64"):
        """An expression of the type that holds one of the kind whose turn it is."""
        makers = [make for feature, _, make in self.makers(self.shape_type) if self.weight(feature) > 0]
        make = makers[self.shape_at % len(makers)]
        e = None
        for _ in range(6):
            e = make(self.shape_type, 2)
            if e is not None:
                break
        e = e if e is not None else self.expr(self.shape_type, 2)
        return self.turned(e, ty)

    def turned(self, e, ty):
        """From the kind's type to the type that the place wants."""
        have = e.ty if not isinstance(e.ty, Tensor) else "tensor"
        if have == "tensor":
            e = Prelude("i64", "sum", [e]) if self.chance(0.5) else Prelude("i64", "len", [e])
            have = "i64"
        if have == ty:
            return e
        if ty == "bool":
            return Binary("bool", self.pick([">", "<=", "!="]), e, self.expr(have, 0))
        if ty == "i64":
            return If("i64", e, Block([], Lit("i64", 1)), Block([], Lit("i64", 2))) if have == "bool" else Convert("i64", e)
        return Convert(ty, e)

    def keep(self, e):
        """The value is added to `k`."""
        return Assign(["k"], "+=", e, "i64")

    def bounded(self, top=4):
        return Binary("i64", "%", self.shaped(), Lit("i64", top))

    def frozen_w(self, make):
        return self.freezing(["w", "t"], make)

    # ---- places ----

    def in_let(self):
        return [Let("c", "i64", self.shaped(), self.chance(0.5), self.chance(0.3)), self.keep(Name("i64", "c"))]

    def in_pattern(self):
        of = Tup(("i64", Tup(("bool", "i64"))))
        return [Let(("c", ("_", "d")), of, Tuple(of, [self.shaped(), Tuple(of.items[1], [self.shaped("bool"), self.shaped()])])), self.keep(Binary("i64", "-", Name("i64", "c"), Name("i64", "d")))]

    def in_assignment(self):
        return Assign(["k"], "=", self.shaped(), "i64")

    def in_compound(self):
        return Assign(["k"], self.pick(["+=", "-=", "*="]), self.freezing(["k"], self.shaped), "i64")

    def in_tuple_assignment(self):
        return AssignTuple([["k"], ["w"]], Tuple(Tup(("i64", Tensor("i64", ("n",)))), [self.shaped(), Name(Tensor("i64", ("n",)), "w")]))

    def in_tuple_variable(self):
        return Assign(["t"], "=", Tuple(Tup(("i64", "bool")), [self.shaped(), self.shaped("bool")]), Tup(("i64", "bool")))

    def in_discard(self):
        return Let("_", "i64", self.shaped())

    def in_condition(self):
        return Do(If(UNIT, self.shaped("bool"), self.branch(1), self.branch(1) if self.chance(0.5) else None))

    def in_else_if(self):
        return Do(If(UNIT, self.shaped("bool"), self.branch(0), Block([], If(UNIT, self.shaped("bool"), self.branch(0), self.branch(0)))))

    def in_while(self):
        saved, self.loops = self.loops, 0
        cond = self.shaped("bool")
        self.loops = saved
        limit = Binary("bool", "<", Name("i64", "z1"), Lit("i64", 3))
        return [Let("z1", "i64", Lit("i64", 0), True),
                While(Binary("bool", "and", *((limit, cond) if self.chance(0.5) else (cond, limit))),
                      self.loop(3, lambda: Block([Assign(["z1"], "+=", Lit("i64", 1), "i64")] + self.statements(1, 0))))]

    def in_range_start(self):
        return self.for_over(Range("range", self.bounded(), Lit("i64", 3)))

    def in_range_end(self):
        return self.for_over(Range("range", Lit("i64", 0), self.bounded()))

    def in_range_call(self):
        return self.for_over(Range("range", Lit("i64", -1), self.bounded(), Lit("i64", self.rng.randint(1, 2))))

    def for_over(self, over):
        def make():
            self.declare("j", "i64")
            return Block([self.keep(Name("i64", "j"))] + self.statements(1, 0))
        return For([("j", over)], self.loop(4, make))

    def in_rows(self):
        values = TensorLit(Tensor("i64", (2,)), [self.shaped(), Lit("i64", 3)])
        return For([("j", values)], Block([self.keep(Name("i64", "j"))]))

    def in_list_of_loop(self):
        of = ListOf("i64")
        return For([("j", ListLit(of, [self.shaped(), Lit("i64", 3)]))], Block([self.keep(Name("i64", "j"))]))

    def in_print(self):
        self.effects = True
        return Print([Lit("str", "v"), self.shaped(), self.shaped("bool")])

    def in_text(self):
        self.effects = True
        return Print([Interpolation("str", ["v", (self.shaped(), ""), " ", (self.shaped(), self.pick(["4d", "+d", "x", ","])), ""])])

    def in_assertion(self):
        return Assert(Binary("bool", "or", self.shaped("bool"), Lit("bool", True)), Interpolation("str", ["m", (self.shaped(), "")]))

    def in_return(self):
        return Do(If(UNIT, Binary("bool", "and", Name("bool", "b"), Binary("bool", ">", Name("i64", "i"), Lit("i64", 0))), Block([Return(self.shaped())]), None))

    def in_subscript(self):
        return self.keep(Index("i64", TensorLit(Tensor("i64", (4,)), [Lit("i64", v) for v in (5, 7, 9, 11)]), [self.bounded()]))

    def in_subscript_of_parameter(self):
        n = Prelude("i64", "len", [Name(Tensor("i64", ("n",)), "x")])
        value = Index("i64", Name(Tensor("i64", ("n",)), "x"), [Binary("i64", "%", self.shaped(), n)])
        return Do(If(UNIT, Binary("bool", ">", n, Lit("i64", 0)), Block([self.keep(value)]), None))

    def in_slice(self):
        bounds = [None, None, None]
        for k in self.rng.sample([0, 1], self.rng.randint(1, 2)):
            bounds[k] = self.shaped()
        if self.chance(0.3):
            bounds[2] = Lit("i64", self.pick([2, -1]))
        return self.keep(Prelude("i64", "sum", [Index(Tensor("i64", (self.mark(),)), Name(Tensor("i64", ("n",)), "x"), [Span(None, *bounds)])]))

    def in_index_tensor(self):
        at = TensorLit(Tensor("i64", (2,)), [self.bounded(), Lit("i64", 1)])
        return self.keep(Prelude("i64", "sum", [Index(Tensor("i64", (2,)), TensorLit(Tensor("i64", (4,)), [Lit("i64", v) for v in (5, 7, 9, 11)]), [at])]))

    def in_mask(self):
        mask = Binary(Tensor("bool", ("n",)), ">", Name(Tensor("i64", ("n",)), "x"), self.shaped())
        return self.keep(Prelude("i64", "sum", [Index(Tensor("i64", (self.mark(),)), Name(Tensor("i64", ("n",)), "x"), [mask])]))

    def in_element_target(self):
        def make():
            n = Prelude("i64", "len", [Name(Tensor("i64", ("n",)), "w")])
            write = Assign(["w", [Binary("i64", "%", self.shaped(), n)]], self.pick(["=", "+=", "*="]), Lit("i64", 7), "i64")
            return Do(If(UNIT, Binary("bool", ">", n, Lit("i64", 0)), Block([write]), None))
        return self.frozen_w(make)

    def in_element_value(self):
        def make():
            n = Prelude("i64", "len", [Name(Tensor("i64", ("n",)), "w")])
            write = Assign(["w", [Lit("i64", self.pick([0, -1]))]], self.pick(["=", "+=", "-="]), self.shaped(), "i64")
            return Do(If(UNIT, Binary("bool", ">", n, Lit("i64", 0)), Block([write]), None))
        return self.frozen_w(make)

    def in_slice_target(self):
        def make():
            lo, hi = (self.shaped(), None) if self.chance(0.5) else (None, self.shaped())
            step = Lit("i64", 2) if self.chance(0.2) else None
            return Assign(["w", [Span(None, lo, hi, step)]], self.pick(["=", "+=", "-="]), self.shaped() if self.chance(0.3) else Lit("i64", 5), "i64")
        return self.frozen_w(make)

    def in_mask_target(self):
        def make():
            mask = Binary(Tensor("bool", ("n",)), "<", Name(Tensor("i64", ("n",)), "w"), self.shaped())
            return Assign(["w", [mask]], self.pick(["=", "+=", "*="]), self.shaped() if self.chance(0.5) else Lit("i64", 5), "i64")
        return self.frozen_w(make)

    def in_index_target(self):
        def make():
            at = TensorLit(Tensor("i64", (3,)), [self.bounded(2), Lit("i64", 0), Lit("i64", 1)])
            write = Assign(["w", [at]], self.pick(["=", "+=", "-="]), self.shaped() if self.chance(0.5) else Lit("i64", 5), "i64")
            return Do(If(UNIT, Binary("bool", ">", Prelude("i64", "len", [Name(Tensor("i64", ("n",)), "w")]), Lit("i64", 1)), Block([write]), None))
        return self.frozen_w(make)

    def in_operands(self):
        e = Binary("i64", self.pick("+-*"), self.shaped(), self.shaped())
        return self.keep(Unary("i64", "-", e) if self.chance(0.3) else e)

    def in_division(self):
        return self.keep(Binary("i64", self.pick(["//", "%"]), self.shaped(), Binary("i64", "+", self.bounded(), Lit("i64", 1))))

    def in_logic(self):
        e = Binary("bool", self.pick(["and", "or"]), self.shaped("bool"), self.shaped("bool"))
        return self.keep(If("i64", Unary("bool", "not", e) if self.chance(0.4) else e, Block([], Lit("i64", 1)), Block([], Lit("i64", 2))))

    def in_comparison(self):
        return Do(If(UNIT, Binary("bool", self.pick(["<", "==", ">="]), self.shaped(), self.shaped()), Block([self.keep(Lit("i64", 3))]), None))

    def in_after_jump(self):
        first = self.jump_operand("i64", 1) or Lit("i64", 1)
        return self.keep(Binary("i64", "-", first, self.shaped()))

    def in_branches(self):
        return self.keep(If("i64", self.expr("bool", 1), Block([], self.inner(self.shaped)), self.inner(lambda: Block(self.statements(1, 0), self.shaped()))))

    def in_conversion(self):
        return self.keep(Convert("i64", Convert(self.pick(["i32", "f64", "u8"]), self.shaped())))

    def in_prelude(self):
        return self.keep(Prelude("i64", self.pick(["max", "min"]), [self.shaped(), self.shaped()], same=True) if self.chance(0.5)
                         else Prelude("i64", "where", [self.shaped("bool"), self.shaped(), self.shaped()], same=True))

    def in_arguments(self):
        f = Lambda(FnType(("i64", "bool"), "i64"), ["u", "v"], [True, True], If("i64", Name("bool", "v"), Block([], Name("i64", "u")), Block([], Unary("i64", "-", Name("i64", "u")))))
        return self.keep(CallValue("i64", f, [self.shaped(), self.shaped("bool")]))

    def in_lambda(self):
        self.pure += 1
        saved, self.loops, result, self.result = self.loops, 0, self.result, None
        body = self.shaped()
        self.pure -= 1
        self.loops, self.result = saved, result
        return [Let("f", FnType((), "i64"), Lambda(FnType((), "i64"), [], [], body)), self.keep(Call("i64", "f", []))]

    def in_nested_function(self):
        f = self.nested_function(1)
        return [f, self.keep(Binary("i64", "%", self.shaped(), Lit("i64", 9)))]

    def in_tuple(self):
        of = Tup(("i64", "bool", "i64"))
        return self.keep(Item("i64", Tuple(of, [self.shaped(), self.shaped("bool"), self.shaped()]), self.pick([0, 2])))

    def in_list(self):
        of = ListOf("i64")
        return self.keep(Index("i64", ListLit(of, [self.shaped(), self.shaped()]), [Lit("i64", self.pick([0, 1, -1]))]))

    def in_tensor(self):
        return self.keep(Prelude("i64", self.pick(["sum", "max", "argmin"]), [TensorLit(Tensor("i64", (3,)), [self.shaped(), Lit("i64", 1), self.shaped()])]))

    def in_sizes(self):
        dims = TensorLit(Tensor("i64", (1,)), [self.bounded()])
        return self.keep(Prelude("i64", "sum", [Prelude(Tensor("i64", (self.mark(),)), "full", [dims, Lit("i64", 2)])]))

    def in_comprehension(self):
        e = self.indexed([("j", "i64")], self.shaped)
        over = Range("range", Lit("i64", 0), Lit("i64", 3))
        return self.keep(Prelude("i64", "sum", [Comprehension(Tensor("i64", (3,)), "tensor", e, [("j", over)], [Lit("i64", 3)])]))

    def in_reduction(self):
        filter_too = self.chance(0.5)
        e = self.indexed([("j", "i64")], self.shaped)
        condition = self.indexed([("j", "i64")], lambda: self.shaped("bool")) if filter_too else None
        return self.keep(Comprehension("i64", "sum", e, [("j", Range("range", Lit("i64", 0), self.indexed([], self.bounded)))], [None], condition))

    def in_dependent_range(self):
        over = self.indexed([("j", "i64")], self.bounded)
        return self.keep(Comprehension("i64", "sum", Binary("i64", "*", Name("i64", "j"), Name("i64", "l")),
                                       [("j", Range("range", Lit("i64", 0), Lit("i64", 3))), ("l", Range("range", Lit("i64", 0), over))], [None, None]))
