"""Derivatives and batches: functions under `grad value_and_grad jvp vjp jacobian hessian vmap` and nests of these.

Derivatives are of f64, where the twin takes differences; functions in a batch have no effects and no sizes that data decides.
"""
from __future__ import annotations

from tree import *

SMOOTH = ("sin", "cos", "tanh", "atan", "exp", "sinh", "cosh", "expm1", "exp2", "sigmoid", "erf", "gelu", "silu", "softplus", "tan", "abs", "relu", "neg", "sign")
POSITIVE = ("log", "log2", "log1p", "sqrt", "rsqrt")


def with_axis(ty, axis, d):
    """The type of many values: tensors with one axis more."""
    if isinstance(ty, Tup):
        return Tup(tuple(with_axis(t, axis, d) for t in ty.items))
    dims = ty.dims if isinstance(ty, Tensor) else ()
    return Tensor(elem_of(ty), dims[:axis] + (d,) + dims[axis:])


def names_for(params):
    return [Name(t, n) for n, t in params]


class Transforms:
    # ---- elementwise functions and their derivatives in each operand ----

    def smooth_makers(self, ty):
        if elem_of(ty) != "f64" or (isinstance(ty, Tensor) and "?" in ty.dims) or not self.weight("smooth"):
            return []
        return [("smooth", 1, self.smooth_function), ("smooth", 0.7, self.smooth_operator)]

    def smooth_function(self, ty, depth):
        x = self.expr(ty, depth)
        name = self.pick(SMOOTH + POSITIVE + ("asin", "acos"))
        if name in POSITIVE:
            x = Binary(ty, "+", Binary(ty, "*", x, self.read(ty, 0) or x), Lit("f64", 0.5)) if self.chance(0.3) else Binary(ty, "+", Prelude(ty, "abs", [x], same=True), Lit("f64", 0.25))
        if name in ("asin", "acos"):
            x = Binary(ty, "*", Lit("f64", 0.9), Prelude(ty, "sin", [x], same=True))
        return Prelude(ty, name, [x], same=True, method=self.chance(0.2))

    def smooth_operator(self, ty, depth):
        a = self.expr(ty, depth)
        b = self.expr(ty if self.chance(0.7) else "f64", depth)
        positive = lambda x: Binary(x.ty, "+", Prelude(x.ty, "abs", [x], same=True), Lit("f64", 0.5))
        way = self.pick(["atan2", "atan2", "/", "pow", "**", "%", "clamp", "where", "min", "max"])
        if way in ("atan2", "min", "max"):
            return Prelude(ty, way, [a, b] if self.chance(0.5) or b.ty != ty else [b, a], same=True)
        if way == "where":
            cond = Binary("bool" if is_scalar(ty) else Tensor("bool", ty.dims), "<", a, b)
            return Prelude(ty, way, [cond, self.expr(ty, depth), self.expr(ty, depth)], same=True)
        if way == "clamp":
            low = Binary("f64", "-", self.expr("f64", 0), Lit("f64", 0.717))
            return Prelude(ty, way, [a, low, Binary("f64", "+", low, positive(b if b.ty == "f64" else self.expr("f64", 0)))], same=True)
        if way in ("pow", "**"):
            b = Lit("f64", self.pick([2.0, 3.0, 0.5, -1.0, 1.5])) if self.chance(0.4) else Prelude(b.ty, "tanh", [b], same=True)
            return Prelude(ty, "pow", [positive(a), b], same=True) if way == "pow" else Binary(ty, way, positive(a), b)
        return Binary(ty, way, a, positive(b))

    # ---- transforms as values inside any function ----

    def transform_makers(self, ty):
        if not self.weight("transform") or self.turns > 30:
            return []
        found = []
        if ty == "f64" or (isinstance(ty, Tensor) and ty.elem == "f64" and all(isinstance(d, int) or not d.startswith("?") for d in ty.dims)):
            found.append(("transform", 1, self.gradient_here))
        if isinstance(ty, Tensor) and not any(isinstance(d, str) and d.startswith("?") for d in ty.dims) and ty.elem != "T":
            found.append(("transform", 1.5, self.batch_here))
        return found

    def gradient_here(self, ty, depth):
        """`grad(|x: f64[n]| …)(e)`, which has the type of e."""
        f = self.make_lambda([ty], "f64", min(depth, 2))
        return CallValue(ty, Transform(f.ty, "grad", f, (0,)), [self.expr(ty, depth)])

    def batch_here(self, ty, depth):
        """`vmap(|x, y| …, axes = …)(a, b)`: an axis in front."""
        size, inner = ty.dims[0], Tensor(ty.elem, ty.dims[1:]) if len(ty.dims) > 1 else ty.elem
        params = [self.pick(["i64", "f64", "bool", Tensor("i64", (self.rng.randint(1, 3),)), Tensor("f64", (self.rng.randint(1, 3),))]) for _ in range(self.rng.randint(1, 2))]
        axes = tuple(None if k and self.chance(0.3) else 0 for k in range(len(params)))
        f = self.batchwise(lambda: self.make_lambda(params, inner, min(depth, 2)))
        args = [self.expr(t if axis is None else with_axis(t, 0, size), depth) for t, axis in zip(params, axes)]
        return CallValue(ty, Transform(FnType((), ty), "vmap", f, axes), args)

    def batchwise(self, make):
        """What `make` gives where nothing has effects and no size depends on data."""
        saved = self.quiet, self.fixed
        self.quiet = self.fixed = True
        result = make()
        self.quiet, self.fixed = saved
        return result

    # ---- cases ----

    def smooth_parameters(self, n):
        """Parameters of a function to be differentiated, and which of them are floats."""
        names = self.rng.sample(["a", "b", "c", "d", "x", "y"], n)
        kinds = [self.pick(["f64", "f64", Tensor("f64", ("n",)), Tensor("f64", ("n",)), Tensor("f64", (3,)), Tensor("f64", ("m", "n")), "i64", "bool", Tup(("f64", "f64")),
                            Tup((Tensor("f64", ("n",)), "i64")), self.float_struct()]) for _ in names]
        kinds[self.rng.randrange(n)] = self.pick(["f64", Tensor("f64", ("n",))])
        return list(zip(names, kinds))

    def float_struct(self):
        for s in self.structs:
            if any(elem_of(t) == "f64" for _, t in s.fields):
                return s
        kinds = ["f64", "f64", Tensor("f64", (self.rng.randint(1, 3),)), "i64", "bool"]
        s = Struct(f"{self.name.upper()}_M", tuple(zip(self.rng.sample(["w", "b", "k"], self.rng.randint(1, 3)), ["f64"] + self.rng.sample(kinds, 2))))
        self.structs.append(s)
        return s

    def any_float(self, ty):
        return elem_of(ty) == "f64" or (isinstance(ty, Tup) and any(map(self.any_float, ty.items))) or (isinstance(ty, Struct) and any(self.any_float(t) for _, t in ty.fields))

    def smooth_case(self, params, result, fuel):
        """The function that is transformed."""
        saved = self.enter(result, params, fuel)
        body = self.body(result)
        effects = self.leave(saved)
        return Function(f"{self.name}_f", [(p, t, None) for p, t in params], result, body, effects=effects)

    def case_of(self, params, body, result, f) -> Case:
        main = Function(self.name, [(p, t, None) for p, t in params], result, body, effects=f.effects)
        return Case(self.seed, self.topic, list(self.structs), self.helpers + [f, main], self.arguments(main))

    def derivative_case(self) -> Case:
        """A transform of a function with branches, loops, early returns, subscripts, updates, masks and comprehensions."""
        for k in range(self.pick([0, 0, 1])):
            self.helpers.append(self.smooth_helper(f"{self.name}_h{k}"))
        way = self.choose([(5, "grad"), (2, "value_and_grad"), (1.5, "jvp"), (1.5, "vjp"), (1, "twice"), (0.5, "jvp of grad"), (0.5, "jacobian"), (0.5, "hessian"), (0.5, "checkpoint")])
        if way in ("jacobian", "hessian"):
            params = [("x", Tensor("f64", (self.rng.randint(1, 3),)))]
        else:
            params = self.smooth_parameters(self.rng.randint(1, 3))
        smooth = [k for k, (_, t) in enumerate(params) if self.any_float(t)]
        at = tuple(sorted(self.rng.sample(smooth, self.rng.randint(1, len(smooth)))))
        if way in ("jvp", "vjp", "jvp of grad"):
            params = [(p, t) for p, t in params if elem_of(t) == "f64"] or [("x", "f64")]
        out = "f64"
        if way in ("jvp", "vjp", "jacobian"):
            out = self.pick(["f64", Tensor("f64", (2,)), params[0][1]] + ([Tup(("f64", params[0][1]))] if way != "jacobian" else []))
        self.quiet = way in ("jacobian", "hessian", "vjp")  # the first two refuse effects
        f = self.smooth_case(params, out, self.pick([25, 50, 80]) if way in ("grad", "value_and_grad", "checkpoint") else self.pick([15, 30, 45]))
        self.quiet = False
        ty = FnType(tuple(t for _, t in params), out)
        name, args = FnName(ty, f.name), names_for(params)
        types = tuple(t for _, t in params)
        gradient = lambda at: types[at[0]] if len(at) == 1 else Tup(tuple(types[k] for k in at))
        apply = lambda op, f, at, result: CallValue(result, Transform(FnType(types, result), op, f, at), args)
        if way in ("jvp", "jvp of grad"):
            dxs = [self.constant(t, 0) if is_scalar(t) else self.step_for(t, n) for n, t in params]
            of = name
            if way == "jvp of grad":
                out = types[0]
                of = Transform(FnType(types, out), "grad", name, (0,))
            result = Tup((out, out))
            return self.case_of(params, Block([], Along(result, of, args, dxs)), result, f)
        if way == "vjp":
            back = types[0] if len(types) == 1 else Tup(types)
            result = Tup((out, back))
            dy = self.cotangent(out, Name(out, "r"))
            body = [Let(("r", "back"), Tup((out, FnType((out,), back))), Along(Tup((out, FnType((out,), back))), name, args)),
                    Let("s", back, Call(back, "back", [dy], typed=False))]
            return self.case_of(params, Block(body, Tuple(result, [Name(out, "r"), Name(back, "s")])), result, f)
        if way == "twice":
            # The derivative of something made of the gradient.
            k = at[0]
            inner = Lambda(FnType(types, "f64"), ["p", "q", "s"][:len(params)], [True] * len(params), None)
            g = CallValue(types[k], Transform(FnType(types, types[k]), "grad", name, (k,)), [Name(t, n) for n, t in zip(inner.params, types)])
            inner.body = self.weighed(g)
            return self.case_of(params, Block([], apply("grad", inner, at, gradient(at))), gradient(at), f)
        if way == "jacobian":
            result = Tensor("f64", (out.dims if isinstance(out, Tensor) else ()) + types[0].dims)
            return self.case_of(params, Block([], apply("jacobian", name, (), result)), result, f)
        if way == "hessian":
            result = Tensor("f64", types[0].dims * 2)
            return self.case_of(params, Block([], apply("hessian", name, (), result)), result, f)
        if way == "checkpoint":
            return self.case_of(params, Block([], apply("grad", Transform(ty, "checkpoint", name), at, gradient(at))), gradient(at), f)
        result = Tup(("f64", gradient(at))) if way == "value_and_grad" else gradient(at)
        return self.case_of(params, Block([], apply(way, name, at, result)), result, f)

    def weighed(self, g):
        """One number made of a gradient."""
        ty = g.ty
        if ty == "f64":
            return Binary("f64", "*", g, g) if self.chance(0.3) else Prelude("f64", "sin", [g], same=True) if self.chance(0.3) else g
        if isinstance(ty, Tensor):
            return Prelude("f64", "sum", [g if self.chance(0.3) else Binary(ty, "*", g, Lit("f64", self.number("f64")))])
        if isinstance(ty, Tup):
            return self.weighed(Item(ty.items[0], g, 0))
        return self.weighed(next(Field(t, g, n) for n, t in ty.fields if elem_of(t) == "f64"))

    def step_for(self, ty, name):
        """A direction of the shape of a parameter."""
        x = Name(ty, name)
        return self.pick([x, Binary(ty, "*", x, Lit("f64", self.number("f64"))), Binary(ty, "+", x, Lit("f64", 1.0)), Prelude(ty, "ones_like", [x])])

    def cotangent(self, ty, y):
        if ty == "f64":
            return Lit(ty, self.number("f64"))
        if isinstance(ty, Tup):
            return Tuple(ty, [self.cotangent(t, Item(t, y, k)) for k, t in enumerate(ty.items)])
        return self.pick([Prelude(ty, "ones_like", [y]), Binary(ty, "*", y, Lit("f64", self.number("f64"))), y])

    def smooth_helper(self, name):
        while True:
            f = self.helper(name)
            if not f.recursive:  # recursion is refused under `grad`
                return f

    def batch_case(self) -> Case:
        """A function over a batch: each position goes its own way through branches and loops."""
        self.quiet = self.fixed = True
        if self.chance(0.3):
            self.helpers.append(self.smooth_helper(f"{self.name}_h0"))
        way = self.choose([(7, "vmap"), (1.2, "nested"), (1.5, "vmap of grad"), (1.5, "grad of vmap"), (0.5, "jvp of vmap"), (1, "again")])
        derive = way in ("vmap of grad", "grad of vmap", "jvp of vmap")
        choice = ["f64", Tensor("f64", (3,)), Tensor("f64", ("n",)), "i64"] if derive else ["i64", "i64", "f64", "bool", Tensor("i64", ("n",)), Tensor("i64", (3,)), Tensor("f64", ("n",)),
                                                                                          Tensor("i64", (2, "n")), Tensor("i32", (4,)), Tensor("bool", ("n",))]
        names = self.rng.sample(["a", "b", "c", "d", "x", "y"], self.rng.randint(1, 3))
        types = [self.pick(choice) for _ in names]
        if derive:
            types[0] = self.pick(choice[:3])
        out = "f64" if derive else self.batch_result()
        saved_weights = self.weights
        if derive:
            self.weights = {**self.weights, "types": ("f64", "f64", "f64", "i64", "bool", "tensor"), "smooth": 1, "careless": 1}
        f = self.smooth_case(list(zip(names, types)), out, self.pick([15, 30, 50, 80]))
        self.weights = saved_weights
        self.quiet = self.fixed = False
        axes = [None if k and self.chance(0.3) else 1 if isinstance(t, Tensor) and self.chance(0.15) else 0 for k, t in enumerate(types)]
        if way == "again" or derive:
            axes = [None if axis is None else 0 for axis in axes]
        given = [t if axis is None else with_axis(t, axis, "k") for t, axis in zip(types, axes)]
        fn = FnName(FnType(tuple(types), out), f.name)
        params = list(zip(names, given))
        args = names_for(params)
        result = with_axis(out, 0, "k")
        vmap = lambda f, axes, result: Transform(FnType(tuple(given), result), "vmap", f, tuple(axes))
        body = []
        if way == "nested":
            twice = [t if axis is None else with_axis(t, 0, "l") for t, axis in zip(given, axes)]
            params = list(zip(names, twice))
            result = with_axis(result, 0, "l")
            inner = vmap(fn, axes, with_axis(out, 0, "k"))
            value = CallValue(result, vmap(inner, [None if axis is None else 0 for axis in axes], result), names_for(params))
        elif way == "vmap of grad":
            k = 0
            g = Transform(FnType(tuple(types), types[k]), "grad", fn, (k,))
            result = with_axis(types[k], 0, "k")
            value = CallValue(result, vmap(g, axes, result), args)
        elif way in ("grad of vmap", "jvp of vmap"):
            inner = Lambda(FnType(tuple(given), "f64"), ["p", "q", "s"][:len(params)], [True] * len(params), None)
            each = CallValue(result, vmap(fn, axes, result), [Name(t, n) for n, t in zip(inner.params, given)])
            inner.body = Prelude("f64", "sum", [Binary(result, "*", each, Name(given[0], inner.params[0])) if given[0] == result and self.chance(0.5) else each])
            result = given[0]
            if way == "jvp of vmap" and all(elem_of(t) == "f64" for t in given):
                result = Tup(("f64", "f64"))
                value = Along(result, inner, args, [self.step_for(t, n) for n, t in params])
            else:
                value = CallValue(result, Transform(FnType(tuple(given), result), "grad", inner, (0,)), args)
        elif way == "again" and not isinstance(out, Tup) and elem_of(out) in ("i64", "f64"):
            # Twice over the same batch, the second time with the first result beside it.
            body = [Let("r", result, CallValue(result, vmap(fn, axes, result), args), True),
                    For([("i", Range("range", Lit("i64", 0), Lit("i64", 2)))], Block([Assign(["r"], "+=", CallValue(result, vmap(fn, axes, result), args), result)]))]
            value = Name(result, "r")
        else:
            value = CallValue(result, vmap(fn, axes, result), args)
        return self.case_of(params, Block(body, value), result, f)

    def batch_result(self):
        kinds = ["i64", "i64", "f64", "bool", Tensor("i64", (3,)), Tensor("f64", (2,)), Tensor("i64", (2, 2))]
        return self.pick(kinds) if self.chance(0.4) else Tup(tuple(self.pick(kinds) for _ in range(self.rng.randint(2, 3))))
