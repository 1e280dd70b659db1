"""Functions: helpers with defaults and named arguments, recursion, generic ones, lambdas with captures, nested functions."""
from __future__ import annotations

from parts_tensors import is_any
from tree import *


class Functions:
    def enter(self, result, params, fuel):
        """The state for the body of a function; returns what `leave` takes."""
        saved = (self.scopes, self.loops, self.result, self.effects, self.fuel, self.pure, self.frozen, self.turns)
        self.scopes, self.loops, self.result, self.effects, self.fuel, self.frozen = [{}], 0, result, False, fuel, []
        for n, t in params:
            self.declare(n, t)
            if isinstance(t, Tensor):
                for d in t.dims:
                    if isinstance(d, str) and not d.startswith("?"):
                        self.declare(d, "i64")
        return saved

    def leave(self, saved):
        effects = self.effects
        self.scopes, self.loops, self.result, self.effects, self.fuel, self.pure, self.frozen, self.turns = saved
        return effects

    def parameters(self, n, top=True):
        """Names and types. At top level the sizes of tensors are numbers, names that they bind, or `_`."""
        names = self.rng.sample(["a", "b", "c", "d", "x", "y", "u", "v"], n)
        types = [self.some_type(1) if top else self.plain_type() for _ in names]
        if top:
            named = lambda d: d if isinstance(d, int) and self.chance(0.35) else self.mark() if self.chance(0.12) else self.pick("nnm")
            types = [Tensor(t.elem, tuple(map(named, t.dims))) if isinstance(t, Tensor) else t for t in types]
        return list(zip(names, types))

    def plain_type(self):
        """A type that says nothing of "any size"."""
        ty = self.some_type(1)
        return self.tensor_type() if is_any(ty) else ty  # lists may hold tensors of any size

    def result_type(self):
        """A result: its sizes are numbers, the parameters' names, or `_`."""
        ty = self.some_type(1)
        if isinstance(ty, Tensor) and (self.chance(0.3) or any(isinstance(d, str) and d.startswith("?") for d in ty.dims)):
            return Tensor(ty.elem, ("?",) * len(ty.dims))
        return ty

    def body(self, result, depth=3):
        """Statements and the value at the end; sometimes every way leaves by `return`."""
        statements = []
        for _ in range(self.rng.randint(0, 2)):
            first = self.variable(depth - 1)
            statements += first if isinstance(first, list) else [first]
        statements += self.statements(self.rng.randint(2, 7), depth)
        if not (statements and isinstance(statements[-1], (Return, Break, Continue))):
            statements += self.observe(0.65)
        if statements and isinstance(statements[-1], Return):
            return Block(statements)
        if self.quiet or self.weight("smooth"):
            return Block(statements, self.with_variables(result, self.expr(result, 2)))
        if self.chance(0.1):
            return Block(statements + [Return(self.expr(result, 2))])
        if self.chance(0.12):
            block = lambda: self.inner(lambda: Block(self.statements(self.rng.randint(0, 2), 1) + [Return(self.expr(result, 1))]))
            return Block(statements + [Do(If(UNIT, self.expr("bool", 2), block(), block()))])
        return Block(statements, self.expr(result, 2))

    def with_variables(self, ty, e):
        """`e` and, added to it, some of the variables: where nothing is printed, or derivatives are taken, the result has to show what was computed."""
        if isinstance(ty, Tup) and isinstance(e, Tuple):
            return Tuple(ty, [self.with_variables(t, x) for t, x in zip(ty.items, e.items)])
        if elem_of(ty) not in ("i64", "f64"):
            return e
        want = ("f64",) if self.weight("smooth") else INTEGERS + FLOATS
        found = [v for v in self.visible().values() if elem_of(v.ty) in want and v.name not in self.global_names]
        self.rng.shuffle(found)
        for v in sorted(found, key=lambda v: v.read)[:self.rng.randint(1, 3)]:
            v.read = True
            term = Name(v.ty, v.name)
            if elem_of(v.ty) != elem_of(ty):
                term = Convert(Tensor(elem_of(ty), v.ty.dims) if isinstance(v.ty, Tensor) else ty, term)
            if isinstance(v.ty, Tensor):
                term = Prelude(elem_of(ty), "sum", [term])
            e = Binary(ty, self.pick("++-"), e, term if self.chance(0.7) else Binary(elem_of(ty), "*", term, Lit(elem_of(ty), self.number(elem_of(ty), 0))))
        return e

    def function(self, name, fuel):
        params = self.parameters(self.rng.randint(1, 3))
        saved = self.enter(None, params, fuel)
        result = self.result = self.result_type()
        body = self.body(result)
        effects = self.leave(saved)
        return Function(name, [(n, t, None) for n, t in params], result, body, effects=effects)

    def helper(self, name):
        way = self.rng.random()
        if way < 0.2:
            return self.recursive(name)
        if way < 0.4:
            return self.generic(name)
        params = self.parameters(self.rng.randint(1, 3))
        saved = self.enter(None, params, self.pick([8, 15, 30]))
        result = self.result = self.result_type()
        body = self.body(result, 2)
        effects = self.effects
        defaults = [None] * len(params)
        if len(params) > 1 and self.chance(0.5):
            # The last parameters have defaults, which may use the ones before.
            params = [p for p in params if isinstance(p[1], Tensor)] + [p for p in params if not isinstance(p[1], Tensor)]
            first = sum(isinstance(t, Tensor) for _, t in params)
            for k in range(max(first, self.rng.randint(1, len(params) - 1)), len(params)):
                self.scopes, self.frozen = [{}], []
                for n, t in params[:k]:
                    self.declare(n, t)
                self.fuel, self.result, self.loops = 6, None, 0
                defaults[k] = self.expr(params[k][1], 2)
        effects = self.effects or effects
        self.leave(saved)
        short = not body.body
        return Function(name, [(n, t, d) for (n, t), d in zip(params, defaults)], result, body, effects=effects, short=short and self.chance(0.7))

    def recursive(self, name):
        """Recursion that counts down its first parameter."""
        (n1, t1), (_, ty) = self.parameters(2)
        params = [("k", "i64"), (n1, t1), ("acc", ty)]
        saved = self.enter(None, params, 25)
        if isinstance(ty, Tensor) and any(isinstance(d, str) and d.startswith("?") for d in ty.dims):
            ty = Tensor(ty.elem, ("?",) * len(ty.dims))
        self.result = ty
        body = [Do(If(UNIT, Binary("bool", "<=", Name("i64", "k"), Lit("i64", 0)), Block([Return(self.expr(ty, 2))]), None))]
        body += self.statements(self.rng.randint(0, 2), 2)
        less = Binary("i64", "-", Name("i64", "k"), Lit("i64", self.rng.randint(1, 2)))
        again = Call(ty, name, [less] + [self.expr(loose(t), 1) for _, t in params[1:]])
        if is_number(ty) and self.chance(0.5):
            value = Binary(ty, self.pick("+-*"), *((again, self.expr(ty, 1)) if self.chance(0.5) else (self.expr(ty, 1), again)))
        else:
            value = again
        effects = self.leave(saved)
        return Function(name, [(n, t, None) for n, t in params], ty, Block(body, value), effects=effects, recursive=True)

    def generic(self, name):
        """`fn f<T: num>(x: T, y: T) -> T`, or the same without types. Calls choose T."""
        n = self.rng.randint(1, 3)
        params = [(p, "T") for p in ("x", "y", "z")[:n]]
        result = self.pick(["T", "T", "bool", Tup(("T", "T"))])
        saved = self.enter(result, params, 15)
        weights, self.weights = self.weights, {**self.weights, "types": ("T", "T", "T", "bool"), "convert": 0, "lambda": 0, "struct": 0, "tensor": 0,
                                               "comprehension": 0, "list": 0, "jump": self.weight("jump") * 0.5}
        helpers, self.helpers = self.helpers, []
        body = self.body(result, 2)
        self.weights, self.helpers = weights, helpers
        effects = self.leave(saved)
        return Function(name, [(p, t, None) for p, t in params], result, body, generic="num", shown=self.chance(0.6), effects=effects)

    # ---- calls ----

    def call_helper(self, ty, depth):
        options = [f for f in self.helpers if self.gives(f, ty) is not False and not ((self.pure or self.quiet) and f.effects)]
        options += [v for v in self.variables(lambda t: isinstance(t, FnType) and t.result == ty) if not ((self.pure or self.quiet) and v.effects)]
        if not options:
            return None
        f = self.pick(options)
        self.effects = self.effects or f.effects
        if isinstance(f, Var):
            return Call(ty, f.name, [self.expr(t, depth) for t in f.ty.params])
        if f.generic:
            of = self.gives(f, ty)
            of = self.number_type() if of is None else of
            if of in UNSIGNED or of == "bool" or of == "T":
                return None
            return Call(ty, f.name, [self.expr(of, depth) for _ in f.params], typed=False)
        sub = {}
        unify(f.result, ty, sub)
        values = []
        for k, (n, t, default) in enumerate(f.params):
            t = self.instance(t, sub)
            if f.recursive and k == 0:
                values.append((n, self.small(depth, 3)))
            elif default is None or self.chance(0.5):
                values.append((n, self.expr(t, depth)))
            else:
                break
        cut = len(values)
        if self.chance(0.25):
            cut = self.rng.randint(0, len(values))
        named = values[cut:]
        if len(named) > 1 and self.chance(0.5):
            self.rng.shuffle(named)
        return Call(ty, f.name, [v for _, v in values[:cut]], named, method=cut > 0 and self.chance(0.15) and not isinstance(values[0][1], (Lit, Unary)))

    def gives(self, f, ty):
        """Whether the function gives the type: False, or for generic ones the type that T has to be (None: any)."""
        if not f.generic:
            return None if unify(f.result, ty, {}) else False
        if f.result == "bool":
            return None if ty == "bool" else False
        if f.result == "T":
            return ty if is_number(ty) else False
        return ty.items[0] if isinstance(ty, Tup) and len(ty.items) == 2 and ty.items[0] == ty.items[1] and is_number(ty.items[0]) else False

    def instance(self, ty, sub):
        """The parameter's type at this call: names of sizes are what the result needs, or any size; `_` takes all."""
        if isinstance(ty, Tensor):
            return Tensor(ty.elem, tuple(d if isinstance(d, int) else "?" if d.startswith("?") else sub.setdefault(d, self.some_size()) for d in ty.dims))
        return ty

    # ---- lambdas and nested functions ----

    def make_lambda(self, params, result, depth):
        names = self.rng.sample(["x", "y", "u", "v", "o"], len(params))  # no name of an index
        if not self.pure and self.chance(0.3):
            return self.lambda_with_statements(names, params, result)
        saved = (self.pure, self.result, self.loops)
        self.result, self.loops = None, 0
        self.pure += 1
        self.scopes.append(dict(zip(names, [Var(n, t) for n, t in zip(names, params)])))
        body = self.expr(result, depth)
        if self.chance(0.2):
            body = Block(self.statements(self.rng.randint(1, 2), 1), self.expr(result, depth))
        self.scopes.pop()
        self.pure, self.result, self.loops = saved
        return Lambda(FnType(tuple(params), result), names, [True] * len(names), body)

    def captured(self):
        """The scopes as a function inside them sees them: nothing there can be assigned."""
        return [dict((k, Var(v.name, v.ty, effects=v.effects)) for k, v in scope.items()) for scope in self.scopes]

    def lambda_with_statements(self, names, params, result):
        """A lambda whose body is a block, with variables, loops and jumps of its own."""
        outer, fuel = self.captured(), min(self.fuel, 12)
        saved = self.enter(result, list(zip(names, params)), fuel)
        self.scopes = outer + self.scopes
        body = self.body(result, 1)
        effects = self.leave(saved)
        self.fuel -= fuel
        self.effects = self.effects or effects
        return Lambda(FnType(tuple(params), result), names, [True] * len(names), body, effects)

    def call_lambda(self, ty, depth):
        """`(|x: i64| x + 1)(3)`."""
        params = [self.plain_type() for _ in range(self.rng.randint(0, 2))]
        f = self.make_lambda(params, ty, depth)
        return CallValue(ty, f, [self.expr(t, depth) for t in params])

    def let_lambda(self, depth):
        params = [self.plain_type() for _ in range(self.rng.randint(0, 2))]
        result = self.plain_type()
        f = self.make_lambda(params, result, depth)
        name = self.fresh_name()
        self.declare(name, f.ty)
        self.visible()[name].effects = f.effects
        return Let(name, f.ty, f)

    def nested_function(self, depth):
        """A function inside this one, which captures what is in scope."""
        name = f"g{self.serial}"
        self.serial += 1
        params = self.parameters(self.rng.randint(0, 2), top=False)
        result = self.plain_type()
        outer, fuel = self.captured(), min(self.fuel, 12)
        saved = self.enter(result, params, fuel)
        self.scopes = outer + self.scopes
        body = self.body(result, 1)
        effects = self.leave(saved)
        self.fuel -= fuel
        f = Function(name, [(n, t, None) for n, t in params], result, body, effects=effects)
        self.scopes[-1][name] = Var(name, FnType(tuple(t for _, t in params), result), effects=effects)
        self.effects = self.effects or effects
        return f


def loose(ty):
    """The type as a wish, where a mark of the parameter takes any size."""
    return Tensor(ty.elem, tuple("?" if isinstance(d, str) and d.startswith("?") else d for d in ty.dims)) if isinstance(ty, Tensor) else ty


def unify(given, want, sub) -> bool:
    """Whether a result `given` can be what is wanted; `sub` gets the sizes that the function's names must be."""
    if isinstance(given, Tensor) and isinstance(want, Tensor):
        if given.elem != want.elem or len(given.dims) != len(want.dims):
            return False
        for g, w in zip(given.dims, want.dims):
            if w == "?":
                continue
            if isinstance(g, str) and g != "?":
                if sub.setdefault(g, w) != w:
                    return False
            elif g != w:
                return False
        return True
    if isinstance(given, Tup) and isinstance(want, Tup):
        return len(given.items) == len(want.items) and all(unify(g, w, sub) for g, w in zip(given.items, want.items))
    return given == want
