"""Statements and what leaves early: `if`, loops, `break`, `continue` and `return` as statement, as value and inside operands."""
from __future__ import annotations

from parts_tensors import is_any
from render_tl import DEFAULTS, anchored
from tree import *


class Control:
    # ---- values that hold statements ----

    def inner(self, make):
        """What `make` gives, in a scope of its own. Sizes that it changed are unknown after it."""
        before = {id(v): v.ty for v in self.visible().values() if v.elastic}
        self.scopes.append({})
        result = make()
        self.scopes.pop()
        self.refresh([v.name for v in self.visible().values() if v.elastic and before.get(id(v)) != v.ty])
        return result

    def if_value(self, ty, depth):
        if self.chance(0.2):
            orelse = If(ty, self.expr("bool", depth), Block([], self.inner(lambda: self.expr(ty, depth))), Block([], self.inner(lambda: self.expr(ty, depth))))
        else:
            orelse = self.inner(lambda: self.expr(ty, depth))
        return If(ty, self.expr("bool", depth), Block([], self.inner(lambda: self.expr(ty, depth))), Block([], orelse))

    def block_value(self, ty, depth):
        """An `if` whose branches have statements before their values."""
        return If(ty, self.expr("bool", depth), self.valued_block(ty, depth), self.valued_block(ty, depth))

    def valued_block(self, ty, depth):
        def make():
            body = self.statements(self.rng.randint(0, 2), depth)
            return Block(body, self.expr(ty, depth))
        return self.inner(make)

    def may_jump(self):
        return not self.pure and (self.result is not None or self.loops > 0)

    def jump(self, depth):
        """A statement that leaves."""
        if self.loops > 0 and (self.result is None or self.chance(0.8)):
            return Break() if self.loops in self.counting or self.chance(0.35) else Continue()
        return Return(self.expr(self.result, depth))

    def leaving_block(self, depth):
        """A block that ends by leaving."""
        def make():
            body = self.statements(self.pick([0, 0, 0, 1]), depth)
            return Block(body + [self.jump(depth)])
        return self.inner(make)

    def rare(self, depth):
        """A condition that seldom holds, so that what follows a jump is run too."""
        if self.chance(0.25):
            return self.expr("bool", depth)
        if self.chance(0.3):
            return Binary("bool", "and", self.expr("bool", depth), self.expr("bool", depth))
        e = self.expr("i64", min(depth, 1))
        return Binary("bool", "==", Binary("i64", "%", e, Lit("i64", self.rng.randint(3, 7))), Lit("i64", self.rng.randint(0, 2)))

    def jump_operand(self, ty, depth):
        if not self.may_jump():
            return None
        leave = self.leaving_block(min(depth, 1))
        stay = Block([], self.expr(ty, depth)) if self.chance(0.7) else self.valued_block(ty, depth)
        cond = self.rare(depth)
        if self.chance(0.12):
            middle = Block([], If(ty, self.expr("bool", depth), leave, stay)) if self.chance(0.5) else Block([], If(ty, self.expr("bool", depth), stay, leave))
            return If(ty, cond, self.leaving_block(0), middle)
        return If(ty, cond, leave, stay) if self.chance(0.6) else If(ty, Unary("bool", "not", cond) if self.chance(0.7) else cond, stay, leave)

    def loud(self, ty, depth):
        """A value that is printed when it is evaluated."""
        if ty == UNIT:
            return None
        self.effects = True
        self.serial += 1
        return Call(ty, "loud", [Lit("i64", self.serial), self.expr(ty, depth)], typed=False)

    # ---- statements ----

    def statements(self, n, depth):
        body = []
        for _ in range(n):
            if self.fuel <= 0:
                break
            s = self.statement(depth)
            if s is not None:
                body += s if isinstance(s, list) else [s]
                if isinstance(body[-1], (Return, Break, Continue)):
                    break
        if len(self.scopes) > 1 and not (body and isinstance(body[-1], (Return, Break, Continue))):
            body += self.observe(self.watch, local=True)
        return body

    def statement(self, depth):
        self.fuel -= 1
        deep = depth > 0
        w = self.weight
        makers = [(3, self.let), (2, self.variable)]
        if not self.pure:
            if self.variables(mutable=True):
                makers += [(4, self.assign), (3, self.assign_compound), (2 + w("tuple") * 0.5, self.assign_tuple)]
            if not self.quiet:
                makers += [(0.8, self.print_some), (0.15, self.assertion)]
            if deep:
                makers += [(2, self.if_statement), (1 + w("loop"), self.for_loop), (0.5 + 0.6 * w("loop"), self.while_loop)]
            if self.may_jump() and w("jump"):
                makers += [((1.5 if self.loops else 0.5) * w("jump"), self.guarded_jump), (0.03 * w("jump"), self.bare_jump), (0.1 * w("jump"), self.if_all_leave)]
            makers += [(0.2, self.discard)]
        if w("lambda"):
            makers += [(0.5 * w("lambda"), self.let_lambda)]
        if w("lambda") and deep and not self.pure:
            makers += [(0.3 * w("lambda"), self.nested_function)]
        return self.choose(makers + self.aggregate_statements(depth) + self.tensor_statements(depth) + self.list_statements(depth) + self.guard_statements(depth))(depth)

    def let(self, depth, mutable=False):
        ty = self.some_type()
        if is_any(ty):
            return self.let_any(depth, mutable)
        value = self.expr(ty, depth)
        if isinstance(ty, Tup) and ty.items and self.chance(0.6):
            pattern, bound = self.pattern(ty)
        else:
            pattern = self.fresh_name()
            bound = [(pattern, ty)]
        shown = self.shown(ty, value) or (isinstance(ty, ListOf) and not self.has_element(value))
        for name, t in bound:
            if name != "_":
                self.declare(name, t, mutable)
        return Let(pattern, ty, value, mutable, shown)

    def shown(self, ty, value):
        """Whether the type is written: at random, and always where literals alone would not give it. T has no name in a function without types."""
        if "T" in self.weights["types"]:
            return False
        return self.chance(0.25) or not self.closed(value)

    def closed(self, e) -> bool:
        """Whether the expression has its type by itself (i64 and f32 are what open literals become)."""
        return anchored(e) or (elem_of(e.ty) in DEFAULTS and elem_of(e.ty) != "f32")  # `f64(x)` of an open x makes it f64

    def variable(self, depth):
        return self.let(depth, mutable=True)

    def pattern(self, ty, taken=()):
        """A pattern for a tuple, and the (name, type) that it binds: each name once."""
        names, bound = [], []
        for t in ty.items:
            if isinstance(t, Tup) and t.items and self.chance(0.5):
                p, more = self.pattern(t, [*taken, *(b for b, _ in bound)])
                names.append(p)
                bound += more
            elif self.chance(0.1):
                names.append("_")
            else:
                name = self.fresh_name()
                while name in taken or name in [b for b, _ in bound]:
                    name = self.fresh_name()
                names.append(name)
                bound.append((name, t))
        return tuple(names), bound

    def freezing(self, names, make):
        self.frozen += names
        result = make()
        del self.frozen[len(self.frozen) - len(names):]
        return result

    def assign(self, depth):
        v = self.pick(self.variables(mutable=True))
        if v.elastic:
            return self.assign_elastic(depth) if "tensor" in self.weights else None
        path, ty = self.target(v, depth)
        if len(path) == 1:
            return Assign(path, "=", self.expr(ty, depth), ty)
        return Assign(path, "=", self.freezing([v.name], lambda: self.expr(ty, depth)), ty)

    def target(self, v, depth):
        """A path from the variable to something inside it, and the type there."""
        path, ty = [v.name], v.ty
        while isinstance(ty, Struct) and self.chance(0.7):
            name, ty = self.pick(ty.fields)
            path.append(name)
        return path, ty

    def assign_compound(self, depth):
        spots = []
        for v in self.variables(mutable=True):
            path, ty = self.target(v, depth)
            if is_number(ty):
                spots.append((v, path, ty))
        if not spots:
            return None
        v, path, ty = self.pick(spots)
        op = self.pick(["+=", "-=", "*=", "+="] + (["/="] if ty in FLOATS else ["//=", "%="] if ty in INTEGERS else []))
        make = (lambda: self.divisor(ty, depth)) if op in ("//=", "%=") else lambda: self.expr(ty, depth)
        return Assign(path, op, self.freezing([v.name], make), ty)

    def assign_tuple(self, depth):
        """`(a, b) = (b, a)` and the like, over different variables."""
        options = self.variables(mutable=True)
        self.rng.shuffle(options)
        if any(v.elastic for v in options[:3]):
            return self.assign_elastic_tuple(options[:self.rng.randint(2, 3)], depth)
        chosen = options[:self.rng.randint(2, 3)]
        if len(chosen) < 2:
            return None
        spots = [self.target(v, depth) for v in chosen]
        ty = Tup(tuple(t for _, t in spots))
        make = lambda: Tuple(ty, [self.expr(t, depth) for t in ty.items]) if self.chance(0.8) else self.expr(ty, depth)
        return AssignTuple([p for p, _ in spots], self.freezing([v.name for v in chosen], make) if any(len(p) > 1 for p, _ in spots) else make())

    def assign_elastic_tuple(self, chosen, depth):
        """`(a, b) = (concat((a, b)), a)`, where sizes change."""
        if len(chosen) < 2:
            return None
        wants = [Tensor(v.ty.elem, ("?",) * len(v.ty.dims)) if v.elastic else v.ty for v in chosen]
        values = [self.expr(t, depth) for t in wants]
        self.refresh([v.name for v in chosen])
        return AssignTuple([[v.name] for v in chosen], Tuple(Tup(tuple(wants)), values))

    def print_some(self, depth):
        self.effects = True
        self.serial += 1
        args = [Lit("str", f"p{self.serial}")] + [self.expr(self.some_type(), depth) for _ in range(self.rng.randint(0, 2))]
        if self.chance(0.3):
            args = [self.text(depth)]
        return Print(args, self.pick(["; ", ""]) if self.chance(0.08) else None)

    def observe(self, chance, local=False):
        """Prints variables in sight, at most four, those first that nothing has read: what a program computes has to be seen."""
        if self.pure or self.quiet or not self.chance(chance):
            return []
        names = list(self.scopes[-1]) if local else list(self.visible())
        found = [v for v in map(self.visible().get, names) if not isinstance(v.ty, FnType) and v.name not in self.global_names]
        self.rng.shuffle(found)
        found = sorted(found, key=lambda v: v.read)[:self.rng.randint(1, 4)]
        if not found:
            return []
        self.effects = True
        self.serial += 1
        for v in found:
            v.read = True
        return [Print([Lit("str", f"o{self.serial}")] + [Name(v.ty, v.name) for v in found])]

    def text(self, depth):
        """Text with values in it."""
        parts = ["t"]
        for _ in range(self.rng.randint(1, 2)):
            ty = self.some_type()
            parts += [(self.expr(ty, min(depth, 1)), self.format_for(ty)), " "]
        return Interpolation("str", parts)

    def format_for(self, ty):
        if not is_scalar(ty) or self.chance(0.5) or ty == "T":
            return ""
        if ty == "bool":
            return self.pick([">6", "<7", ""])
        if ty in INTEGERS:
            return self.pick(["d", "5d", "x", ",", "+d", "04d", "<6", "b", "_"])
        return self.pick([".2f", ".3e", "8.1f", "+.1f", ".4g", ".0f", ",.2f", ".1%"])

    def assertion(self, depth):
        self.effects = True
        cond = Binary("bool", "or", self.expr("bool", depth), Lit("bool", not self.careless(0.1)))
        return Assert(cond, self.text(depth) if self.chance(0.4) else None)

    def discard(self, depth):
        ty = self.some_type()
        return Let("_", ty, self.expr(ty, depth), shown=False)

    def branch(self, depth, n=None):
        def make():
            return Block(self.statements(self.rng.randint(1, 3) if n is None else n, depth))
        return self.inner(make)

    def if_statement(self, depth):
        cond = self.expr("bool", depth)
        then = self.branch(depth - 1)
        orelse = None
        if self.chance(0.5):
            orelse = Block([], self.if_node(depth - 1)) if self.chance(0.4) else self.branch(depth - 1)
        return Do(If(UNIT, cond, then, orelse))

    def if_node(self, depth):
        return self.if_statement(max(depth, 0)).e

    def guarded_jump(self, depth):
        """`if c { return e }`, with an `else` now and then, where either side may leave."""
        cond = self.rare(depth)
        leave = self.leaving_block(min(depth, 2))
        way = self.rng.random()
        if way < 0.5:
            return Do(If(UNIT, cond, leave, None))
        if way < 0.65:
            return Do(If(UNIT, cond, leave, self.branch(depth - 1)))
        if way < 0.8:
            return Do(If(UNIT, Unary("bool", "not", cond) if self.chance(0.7) else cond, self.branch(depth - 1), leave))
        # else-if chains of which some leave
        chain = None
        for _ in range(self.rng.randint(2, 3)):
            block = self.leaving_block(min(depth, 1)) if self.chance(0.6) else self.branch(depth - 1)
            orelse = None if chain is None else Block([], chain)
            if chain is None and self.chance(0.4):
                orelse = self.leaving_block(min(depth, 1)) if self.chance(0.5) else self.branch(depth - 1)
            chain = If(UNIT, self.rare(depth), block, orelse)
        return Do(chain)

    def bare_jump(self, depth):
        return self.jump(depth)

    def if_all_leave(self, depth):
        """Both branches leave; what follows is never reached."""
        return Do(If(UNIT, self.expr("bool", depth), self.leaving_block(1), self.leaving_block(1)))

    def loop(self, turns, make):
        saved = self.turns
        self.turns *= max(turns, 1)
        self.loops += 1
        self.refresh()
        result = self.inner(make)
        self.refresh()
        self.loops -= 1
        self.turns = saved
        return result

    def loop_top(self):
        return 4 if self.turns < 20 else 2 if self.turns < 60 else 1

    def for_loop(self, depth):
        top = self.loop_top()
        name = self.fresh_name() if self.chance(0.95) else "_"
        if self.chance(0.12):
            start = self.rng.randint(-2, 2)
            over = Range("range", Lit("i64", start), Binary("i64", "+", Lit("i64", start), self.small(depth, top)), Lit("i64", self.rng.randint(1, 3)))
        elif self.chance(0.2):
            end = self.rng.randint(-2, 1)
            over = Range("range", Binary("i64", "+", self.small(depth, top), Lit("i64", end)), Lit("i64", end), Lit("i64", self.pick([-1, -1, -2, -3])))
        elif self.chance(0.2):
            start = self.small(1, 3)
            over = Range("range", start, self.small(depth, top))
        else:
            over = Range("range", Lit("i64", 0), self.small(depth, top))
        clauses = [(name, over)]
        if self.chance(0.1):
            other = self.fresh_name()
            if other != name:
                clauses.append((other, Range("range", Lit("i64", 0), Lit("i64", self.rng.randint(1, 3)))))
                top *= 3

        def make():
            for n, _ in clauses:
                if n != "_":
                    self.declare(n, "i64")
            return Block(self.statements(self.rng.randint(1, 4), depth - 1))
        return For(clauses, self.loop(top, make))

    def while_loop(self, depth):
        """A loop that counts its turns, so that it ends."""
        top = self.rng.randint(1, self.loop_top())
        self.serial += 1
        counter = f"n{self.serial}"
        limit = Binary("bool", "<", Name("i64", counter), Lit("i64", top))
        more = self.condition_of_while(depth)
        cond = limit if more is None else Binary("bool", "and", limit, more)
        if self.chance(0.15) and more is not None:
            cond = Binary("bool", "and", more, limit)

        def make():
            return Block([Assign([counter], "+=", Lit("i64", 1), "i64")] + self.statements(self.rng.randint(1, 4), depth - 1))
        return [Let(counter, "i64", Lit("i64", 0), mutable=True), While(cond, self.loop(top, make))]

    def condition_of_while(self, depth):
        """What else the loop depends on. `break` and `continue` there would be the loop's own, so only `return` may stand in it."""
        if self.chance(0.35):
            return None
        saved, self.loops = self.loops, 0
        e = self.expr("bool", depth)
        self.loops = saved
        return e
