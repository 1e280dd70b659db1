"""Tensors: elementwise work, subscripts on both sides, reductions, rearranging, and sizes that data decides.

Sizes of a type are numbers, names that parameters bind, or "?k" for one that is only known when the program runs: equal marks are equal sizes.
A wanted size "?" takes any. A variable whose size changes gets a new mark with each assignment, and after each block that assigned it.
"""
from __future__ import annotations

from tree import *


def i64(value):
    return Lit("i64", value)


def is_any(ty) -> bool:
    return isinstance(ty, Tensor) and "?" in ty.dims


class Tensors:
    # ---- types and sizes ----

    def mark(self) -> str:
        self.serial += 1
        return f"?{self.serial}"

    def settle(self, ty):
        """The type with a mark for each size that was not asked for."""
        return Tensor(ty.elem, tuple(self.mark() if d == "?" else d for d in ty.dims)) if isinstance(ty, Tensor) else ty

    def tensor_elem(self):
        kinds = [t for t in self.weights["types"] if t in SCALARS]
        return self.pick(kinds) if kinds else "i64"

    def known_sizes(self):
        """Sizes of tensors in scope."""
        return sorted({d for v in self.variables(lambda t: isinstance(t, Tensor)) for d in v.ty.dims if isinstance(d, str)})

    def some_size(self):
        known = self.known_sizes()
        if known and self.chance(0.7):
            return self.pick(known)
        return self.rng.choices([0, 1, 2, 3, 4], [1, 3, 5, 6, 3])[0]

    def tensor_type(self, rank=None):
        rank = rank or self.rng.choices([1, 2, 3], [14, 5, 1])[0]
        return Tensor(self.tensor_elem(), tuple(self.some_size() for _ in range(rank)))

    def size_expr(self, d):
        """An expression for a size, or None if nothing in scope has it."""
        if isinstance(d, int):
            return i64(d)
        ways = [lambda v=v, k=k: Prelude("i64", "len", [Name(v.ty, v.name)]) if k == 0 and self.chance(0.5)
                else Item("i64", Field(Tup(("i64",) * len(v.ty.dims)), Name(v.ty, v.name), "shape"), k)
                for v in self.variables(lambda t: isinstance(t, Tensor)) for k, e in enumerate(v.ty.dims) if e == d]
        if not d.startswith("?") and d in self.visible() and self.visible()[d].ty == "i64":
            ways += [lambda: Name("i64", d)] * 2
        return self.pick(ways)() if ways else None

    def sizes_expr(self, dims):
        found = [self.size_expr(d) for d in dims]
        return None if any(f is None for f in found) else found

    def refresh(self, names=None):
        """New marks for the variables whose size may have changed."""
        for v in self.visible().values():
            if v.elastic and (names is None or v.name in names):
                v.ty = Tensor(v.ty.elem, tuple(self.mark() if isinstance(d, str) and d.startswith("?") else d for d in v.ty.dims))

    # ---- values of a wanted type ----

    def tensor_makers(self, ty):
        if not isinstance(ty, Tensor):
            return []
        if is_any(ty):
            return [("tensor", 2, self.any_size), ("tensor", 0.5, self.of_some_size)]
        found = [("literal", 1, lambda ty, depth: self.tensor_fallback(ty)), ("tensor", 3, self.elementwise), ("tensor", 1, self.rearranged),
                 ("tensor", 1, self.gathered), ("tensor", 0.7, self.from_reduction), ("tensor", 0.7, self.from_pieces),
                 ("tensor", 1, self.by_function), ("comprehension", 1.5, self.tensor_comprehension)]
        return found

    def of_some_size(self, ty, depth):
        return self.expr(Tensor(ty.elem, tuple(self.some_size() if d == "?" else d for d in ty.dims)), depth)

    def tensor_fallback(self, ty):
        """A builder, or a variable, of exactly the type."""
        if is_any(ty):
            found = self.places_of(ty)
            if found and self.chance(0.7):
                return self.pick(found)
            ty = Tensor(ty.elem, tuple(self.rng.randint(0, 3) if d == "?" else d for d in ty.dims))
        found = [e for e in self.places_of(ty)]
        if found and self.chance(0.6):
            return self.pick(found)
        if all(isinstance(d, int) and d > 0 for d in ty.dims) and self.chance(0.7) and _product(ty.dims) <= 12:
            return self.constant(ty, 0.02)
        dims = self.sizes_expr(ty.dims)
        if dims is None:
            return self.pick(found) if found else None
        way = self.rng.random()
        if ty.elem == "i64" and len(ty.dims) == 1 and way < 0.5:
            return Prelude(ty, "arange", [dims[0]])
        # `zeros` makes f32 unless told; `full` has the type of its value.
        if way < 0.6 and ty.elem != "T":
            return Prelude(ty, self.pick(["zeros", "ones"]), [TensorLit(Tensor("i64", (len(dims),)), dims), Mark("type", ty.elem)])
        return Prelude(ty, "full", [TensorLit(Tensor("i64", (len(dims),)), dims), self.constant(ty.elem, 0.02)])

    def elementwise(self, ty, depth):
        e = ty.elem
        way = self.rng.random()
        if e == "bool":
            if way < 0.55:
                of = self.number_type()
                other = Tensor(of, ty.dims)
                return Binary(ty, self.pick(["<", "<=", ">", ">=", "==", "!="]), self.expr(other, depth), self.other_operand(other, depth))
            if way < 0.9:
                return Binary(ty, self.pick(["and", "or"]), self.expr(ty, depth), self.expr(ty, depth))
            return Unary(ty, "not", self.expr(ty, depth))
        if way < 0.5:
            a, b = self.expr(ty, depth), self.other_operand(ty, depth)
            if self.chance(0.25):
                a, b = b, a
            op = self.pick(["+", "-", "*"] + (["/"] if e in FLOATS else []))
            return Binary(ty, op, a, b)
        if way < 0.6 and e in INTEGERS:
            return Binary(ty, self.pick(["//", "%"]), self.expr(ty, depth), self.divisor(e, 0))
        if way < 0.75:
            source = self.scalar_type()
            return Convert(ty, self.expr(Tensor(source, ty.dims), depth)) if source != e else None
        name = self.pick(["min", "max", "where", "abs", "clamp"] + (["floor", "round", "sqrt", "relu"] if e in FLOATS else []))
        if name in ("min", "max"):
            return Prelude(ty, name, [self.expr(ty, depth), self.other_operand(ty, depth)], same=True)
        if name == "where":
            return Prelude(ty, name, [self.expr(Tensor("bool", ty.dims), depth), self.expr(ty, depth), self.other_operand(ty, depth)], same=True)
        if name == "clamp":
            low = self.number(e, 0)
            return Prelude(ty, name, [self.expr(ty, depth), Lit(e, low), Lit(e, low + abs(self.number(e, 0)))], same=True)
        return Prelude(ty, name, [self.expr(ty, depth)], same=True, method=self.chance(0.4))

    def other_operand(self, ty, depth):
        """The second operand of an operator: of the same shape, a scalar, or one that stretches."""
        way = self.rng.random()
        if way < 0.5:
            return self.expr(ty, depth)
        if way < 0.85 or len(ty.dims) < 2:
            return self.expr(ty.elem, depth)
        if way < 0.93:
            return self.expr(Tensor(ty.elem, ty.dims[1:]), depth)
        narrow = Tensor(ty.elem, ty.dims[:1])
        return Index(Tensor(ty.elem, ty.dims[:1] + (1,)), self.expr(narrow, depth), [Span(None, None, None, None), Mark(None, "new")]) if len(ty.dims) == 2 else self.expr(ty.elem, depth)

    def rearranged(self, ty, depth):
        ways = ["flip", "roll", "slice"]
        if ty.elem != "bool":
            ways += ["sort", "cumsum"] if ty.elem in ("i64", "f64", "f32") else ["sort"]
        if len(ty.dims) == 2:
            ways += ["transpose", "tril"]
        way = self.pick(ways)
        if way == "transpose":
            return Field(ty, self.expr(Tensor(ty.elem, ty.dims[::-1]), depth), "T")
        a = self.expr(ty, depth)
        if way == "flip":
            return Prelude(ty, "flip", [a], [("axis", self.rng.randrange(len(ty.dims)))] if self.chance(0.6) else [], method=self.chance(0.4))
        if way == "roll":
            return Prelude(ty, "roll", [a, self.expr("i64", 0) if self.chance(0.2) else i64(self.rng.randint(-3, 3))], [("axis", self.rng.randrange(len(ty.dims)))])
        if way == "slice":
            return Index(ty, a, [Span(None, None, None, Lit("i64", -1)) if self.chance(0.6) else Span(None, None, None, None)] + ([Mark(None, "...")] if self.chance(0.2) else []))
        if way == "tril":
            return Prelude(ty, self.pick(["tril", "triu"]), [a])
        return Prelude(ty, way, [a], [("axis", self.rng.randrange(len(ty.dims)))] if self.chance(0.3) else [])

    def indices(self, dims, n, depth, positive=False):
        """An i64 tensor of shape `dims` with values below n (an int > 0), or from -n on."""
        e = self.expr(Tensor("i64", dims), depth)
        if self.careless(0.02):
            return e  # some out of range, some not
        if self.chance(0.3):
            return Prelude(e.ty, "clamp", [e, i64(-n if self.chance(0.3) and not positive else 0), i64(n - 1)], same=True)
        return Binary(e.ty, "%", e, i64(n))

    def gathered(self, ty, depth):
        """`x[idx]`, `x[i]` of one axis more, or an element-wise choice."""
        way = self.rng.random()
        if way < 0.4:
            rows = self.rng.randint(1, 4)
            return Index(ty, self.expr(Tensor(ty.elem, (rows,) + ty.dims), depth), [self.below(rows, depth)])
        if way < 0.8 and len(ty.dims) == 1:
            n = self.rng.randint(1, 4)
            x = self.expr(Tensor(ty.elem, (n,)), depth)
            if self.chance(0.3):
                return Prelude(ty, "take", [x, self.indices(ty.dims, n, depth)])
            return Index(ty, x, [self.indices(ty.dims, n, depth)])
        if len(ty.dims) == 1:
            k = self.rng.randint(1, 3)
            return Index(ty, self.expr(Tensor(ty.elem, ty.dims + (k,)), depth), [Span(None, None, None, None), self.below(k, depth)])
        return None

    def below(self, n, depth):
        """An index of an axis of size n > 0."""
        way = self.rng.random()
        if way < 0.5:
            return i64(self.rng.randint(-n, n - 1))
        if not self.careless(0.03):
            return Binary("i64", "%", self.expr("i64", depth), i64(n))
        # Any index: one that is known to be out of range would be refused, so it comes from a variable.
        names = [v for v in self.variables(lambda t: t == "i64") if v.name not in self.global_names]
        return Name("i64", self.pick(names).name) if names else i64(self.rng.randint(-n, n - 1))

    def from_reduction(self, ty, depth):
        if ty.elem not in ("i64", "f64", "f32", "bool"):
            return None
        axis = self.rng.randint(0, len(ty.dims))
        n = self.rng.randint(1, 3)
        dims = ty.dims[:axis] + (n,) + ty.dims[axis:]
        if ty.elem == "bool":
            return Prelude(ty, self.pick(["any", "all"]), [self.expr(Tensor("bool", dims), depth)], [("axis", axis)])
        if ty.elem == "i64" and self.chance(0.4):
            of = Tensor(self.pick(["bool", "i32", "u8", "i64"]), dims)
            return Prelude(ty, "sum", [self.expr(of, depth)], [("axis", axis)])
        if ty.elem == "i64" and self.chance(0.3):
            return Prelude(ty, self.pick(["argmin", "argmax"]), [self.expr(Tensor(self.number_type(), dims), depth)], [("axis", axis)])
        return Prelude(ty, self.pick(["sum", "max", "min", "sum"] + (["mean"] if ty.elem != "i64" else ["prod"])), [self.expr(Tensor(ty.elem, dims), depth)], [("axis", axis)], method=self.chance(0.4))

    def from_pieces(self, ty, depth):
        """`[a, b]`, `concat`, `stack`, `reshape`, `pad`, `tile`, `repeat` of known sizes."""
        if not all(isinstance(d, int) for d in ty.dims):
            return None
        n, rest = ty.dims[0], ty.dims[1:]
        ways = ["reshape"]
        if 1 <= n <= 4:
            ways += ["literal", "stack"]
        if n >= 2:
            ways += ["concat", "concat", "pad"]
            if n % 2 == 0:
                ways += ["repeat", "tile"]
        way = self.pick(ways)
        inner = Tensor(ty.elem, rest) if rest else ty.elem
        if way == "literal":
            return TensorLit(ty, [self.expr(inner, depth) for _ in range(n)])
        if way == "stack":
            items = [self.expr(inner, depth) for _ in range(n)]
            return Prelude(ty, "stack", [Tuple(Tup((inner,) * n), items)], same=False) if rest else None
        if way == "concat":
            k = self.rng.randint(0, n)
            parts = [Tensor(ty.elem, (k,) + rest), Tensor(ty.elem, (n - k,) + rest)]
            return Prelude(ty, "concat", [Tuple(Tup(tuple(parts)), [self.expr(p, depth) for p in parts])])
        if way == "pad" and not rest and ty.elem != "T":
            k = self.rng.randint(0, n)
            left = self.rng.randint(0, n - k)
            widths = Mark(None, f"[({left}, {n - k - left})]")
            return Prelude(ty, "pad", [self.expr(Tensor(ty.elem, (k,)), depth), widths], [("value", self.rng.randint(0, 3) if ty.elem in INTEGERS else 0)] if ty.elem in INTEGERS else [])
        if way == "repeat":
            return Prelude(ty, "repeat", [self.expr(Tensor(ty.elem, (n // 2,) + rest), depth), i64(2)])
        if way == "tile" and not rest:
            return Prelude(ty, "tile", [self.expr(Tensor(ty.elem, (n // 2,)), depth), TensorLit(Tensor("i64", (1,)), [i64(2)])])
        if way == "reshape":
            total = _product(ty.dims)
            shapes = [(a, total // a) for a in range(1, total + 1) if total % a == 0 and total // a <= 12] + [(total,)]
            dims = self.pick(shapes)
            if dims == ty.dims:
                return None
            return Prelude(ty, "reshape", [self.expr(Tensor(ty.elem, dims), depth), TensorLit(Tensor("i64", (len(ty.dims),)), [i64(d) for d in ty.dims])], method=self.chance(0.5))
        return None

    def by_function(self, ty, depth):
        """The functions of the prelude that give tensors of a known size."""
        e, dims = ty.elem, ty.dims
        whole = all(isinstance(d, int) for d in dims)
        ways = []
        if e == "i64":
            ways += ["argsort", "searchsorted"] + (["bincount"] if len(dims) == 1 and whole and dims[0] > 0 else []) + ["cumprod"]
        if len(dims) == 1:
            ways += ["pairs"] + (["topk", "diff", "split", "scatter_add"] if whole and e in ("i64", "f64", "i32", "f32") else [])
            ways += ["flatten"] if whole and dims[0] in (1, 2, 3, 4, 6) else []
        if len(dims) == 2:
            ways += ["permute", "outer", "column"] + (["matmul"] if e in ("i64", "f64", "f32") else [])
            ways += ["one_hot"] if e == "i64" and isinstance(dims[1], int) and dims[1] > 0 else []
        if dims[0] == 1:
            ways += ["new", "expand_dims", "keep"]
        ways += ["squeeze", "broadcast_to", "zeros_like"]
        if e not in ("bool", "f16", "bf16"):
            ways += ["cummax", "cummin"]
        if e in ("f64", "f32"):
            ways += ["softmax", "variance", "std", "logsumexp"]
        way = self.pick(ways)
        t = lambda *d: Tensor(e, d)
        sizes = lambda d: TensorLit(Tensor("i64", (len(d),)), [i64(x) for x in d])
        if way == "argsort":
            return Prelude(ty, way, [self.expr(Tensor(self.number_type(), dims), depth)])
        if way == "searchsorted":
            of = self.pick(["i64", "i32"])
            return Prelude(ty, way, [Prelude(Tensor(of, (3,)), "sort", [self.expr(Tensor(of, (3,)), depth)]), self.expr(Tensor(of, dims), depth)])
        if way == "bincount":
            return Prelude(ty, way, [self.indices((self.some_size(),), dims[0], depth, True), i64(dims[0])])
        if way in ("cumprod", "cummax", "cummin"):
            return Prelude(ty, way, [self.expr(ty, depth)])
        if way == "pairs":
            r, c = self.rng.randint(1, 3), self.rng.randint(1, 3)
            return Index(ty, self.expr(t(r, c), depth), [self.indices(dims, r, depth), self.indices(dims, c, depth)])
        if way == "topk":
            return Item(ty, Prelude(Tup((ty, Tensor("i64", dims))), "topk", [self.expr(t(dims[0] + self.rng.randint(0, 2)), depth), i64(dims[0])]), 0)
        if way == "diff":
            return Prelude(ty, way, [self.expr(t(dims[0] + 1), depth)])
        if way == "split":
            k = self.rng.randint(0, 1)
            other = self.rng.randint(0, 3)
            return Index(ty, Prelude(ListOf(ty), way, [self.expr(t(dims[0] + other), depth), sizes((dims[0], other) if k == 0 else (other, dims[0]))]), [i64(k)])
        if way == "scatter_add":
            if dims[0] == 0:
                return None
            k = self.rng.randint(1, 3)
            return Prelude(ty, way, [self.expr(ty, depth), self.indices((k,), dims[0], depth, True), self.expr(t(k), depth)])
        if way == "flatten":
            a = self.pick([a for a in range(1, dims[0] + 1) if dims[0] % a == 0])
            return Prelude(ty, way, [self.expr(t(a, dims[0] // a), depth)], method=self.chance(0.5))
        if way == "permute":
            return Prelude(ty, way, [self.expr(t(*dims[::-1]), depth), sizes((1, 0))])
        if way == "outer":
            return Prelude(ty, way, [self.expr(t(dims[0]), depth), self.expr(t(dims[1]), depth)]) if e != "bool" else None
        if way == "column":
            k = self.rng.randint(1, 3)
            return Index(ty, self.expr(t(dims[0], dims[1], k), depth), [Mark(None, "..."), self.below(k, depth)])
        if way == "matmul":
            k = self.some_size()
            return Binary(ty, "@", self.expr(t(dims[0], k), depth), self.expr(t(k, dims[1]), depth))
        if way == "one_hot":
            return Prelude(ty, way, [self.indices(dims[:1], dims[1], depth, True), i64(dims[1]), Mark("type", "i64")])
        if way == "new":
            return Index(ty, self.expr(t(*dims[1:]) if len(dims) > 1 else t(1), depth), [Mark(None, "new")]) if len(dims) > 1 else None
        if way == "expand_dims":
            return Prelude(ty, way, [self.expr(t(*dims[1:]), depth)], [("axis", 0)]) if len(dims) > 1 else None
        if way == "keep":
            return Prelude(ty, "max" if e != "bool" else "any", [self.expr(t(self.rng.randint(1, 3), *dims[1:]), depth)], [("axis", 0), ("keep", "true")])
        if way == "squeeze":
            return Prelude(ty, way, [self.expr(t(1, *dims), depth)], [("axis", 0)])
        if way == "broadcast_to":
            of = self.sizes_expr(dims)
            return Prelude(ty, way, [self.expr(t(*dims[1:]) if len(dims) > 1 else e, depth), TensorLit(Tensor("i64", (len(dims),)), of)]) if of and len(dims) > 1 else None
        if way == "zeros_like":
            return Prelude(ty, self.pick(["zeros_like", "ones_like"]), [self.expr(ty, depth)])
        if way == "softmax":
            return Prelude(ty, way, [self.expr(ty, depth)])
        return Prelude(ty, way, [self.expr(t(*dims, self.rng.randint(1, 3)), depth)], [("axis", len(dims))])

    # ---- values whose size data decides ----

    def any_size(self, ty, depth):
        """A tensor of whatever size: masks, slices, ranges, joins."""
        rank = len(ty.dims)
        new = self.settle(ty)
        if rank > 1:
            if not str(ty.dims[0]).startswith("?"):
                return None
            base = self.expr(Tensor(ty.elem, tuple(self.some_size() if k == 0 or str(d).startswith("?") else d for k, d in enumerate(ty.dims))), depth)
            new = Tensor(ty.elem, (self.mark(),) + base.ty.dims[1:]) if isinstance(base.ty, Tensor) else new
            return Index(new, base, [self.slice(depth)])
        ways = ["mask", "mask", "slice", "slice", "concat", "repeat", "comprehension", "builder", "if"]
        if ty.elem == "i64":
            ways += ["nonzero", "arange", "nonzero"]
        if ty.elem in INTEGERS or ty.elem in FLOATS:
            ways += ["unique"]
        way = self.pick(ways)
        if way == "mask":
            base = self.expr(Tensor(ty.elem, (self.some_size(),)), depth)
            return Index(new, base, [self.expr(Tensor("bool", base.ty.dims), depth)])
        if way == "slice":
            return Index(new, self.expr(ty, depth), [self.slice(depth)])
        if way == "concat":
            parts = [self.expr(ty, depth) for _ in range(self.rng.randint(2, 3))]
            return Prelude(new, "concat", [Tuple(Tup(tuple(p.ty for p in parts)), parts)])
        if way == "repeat":
            return Prelude(new, "repeat", [self.expr(ty, depth), self.small(depth, 2)])
        if way == "builder":
            dims = TensorLit(Tensor("i64", (1,)), [self.small(depth)])
            if self.chance(0.5) and ty.elem != "T":
                return Prelude(new, self.pick(["zeros", "ones"]), [dims, Mark("type", ty.elem)])
            return Prelude(new, "full", [dims, self.expr(ty.elem, depth)])
        if way == "if":
            return If(new, self.expr("bool", depth), Block([], self.inner(lambda: self.expr(ty, depth))), Block([], self.inner(lambda: self.expr(ty, depth))))
        if way == "nonzero":
            return Item(new, Prelude(Tup((new,)), "nonzero", [self.expr(Tensor(self.tensor_elem(), ("?",)), depth)]), 0)
        if way == "arange":
            return Prelude(new, "arange", [self.small(depth)])
        if way == "unique":
            return Item(new, Prelude(Tup((new, new, new)), "unique", [self.expr(ty, depth)]), 0)
        return self.tensor_comprehension(new, depth, free=True)

    def slice(self, depth):
        """A slice with any bounds: they are cut off at the ends."""
        bound = lambda: None if self.chance(0.3) else i64(self.rng.randint(-3, 5)) if self.chance(0.5) else self.expr("i64", depth)
        step = None if self.chance(0.75) else i64(self.pick([2, -1, 3, 1, -2]))
        return Span(None, bound(), bound(), step)

    # ---- scalars out of tensors ----

    def tensor_scalar_makers(self, ty):
        if not is_scalar(ty) or not self.weight("tensor"):
            return []
        found = [("tensor", 1.5, self.element), ("tensor", 1, self.reduced), ("comprehension", 1, self.scalar_comprehension)]
        if ty == "i64":
            found.append(("tensor", 0.7, self.length))
        return found

    def tensor_names(self, want):
        return [Name(v.ty, v.name) for v in self.variables(lambda t: isinstance(t, Tensor) and want(t))]

    def element(self, ty, depth):
        options = self.tensor_names(lambda t: t.elem == ty)
        x = self.pick(options) if options and self.chance(0.8) else self.expr(Tensor(ty, (self.rng.randint(1, 4),)), depth)
        if isinstance(x, Name) and any(isinstance(d, str) for d in x.ty.dims):
            subs = [self.inside(x, k, depth) for k in range(len(x.ty.dims))]
            value = Index(ty, x, subs)
            if self.careless(0.04):
                return value
            checks = [Binary("bool", ">", self.length_of(x, k), i64(0)) for k, d in enumerate(x.ty.dims) if isinstance(d, str)]
            cond = checks[0]
            for c in checks[1:]:
                cond = Binary("bool", "and", cond, c)
            return If(ty, cond, Block([], value), Block([], self.expr(ty, depth)))
        if any(d == 0 for d in x.ty.dims):
            return None
        if len(x.ty.dims) == 2 and self.chance(0.2):
            row = Index(Tensor(ty, x.ty.dims[1:]), x, [self.below(x.ty.dims[0], depth)])
            return Index(ty, row, [self.below(x.ty.dims[1], depth)])
        return Index(ty, x, [self.below(d, depth) if isinstance(d, int) else None for d in x.ty.dims])

    def length_of(self, x, k):
        return Prelude("i64", "len", [x]) if k == 0 else Item("i64", Field(Tup(("i64",) * len(x.ty.dims)), x, "shape"), k)

    def inside(self, x, k, depth):
        """An index of an axis that is not empty."""
        d = x.ty.dims[k]
        if isinstance(d, int):
            return self.below(d, depth) if d > 0 else i64(0)
        way = self.rng.random()
        if way < 0.35:
            return i64(self.pick([0, -1]))
        return Binary("i64", "%", self.expr("i64", depth), self.length_of(x, k))

    def reduced(self, ty, depth):
        any1 = lambda elem: Tensor(elem, ("?",)) if self.chance(0.8) else Tensor(elem, ("?", "?"))
        if ty == "bool":
            return Prelude(ty, self.pick(["any", "all"]), [self.expr(any1("bool"), depth)], method=self.chance(0.4))
        if ty == "i64":
            way = self.rng.random()
            if way < 0.5:
                return Prelude(ty, self.pick(["sum", "sum", "prod"]), [self.expr(any1(self.pick(["i64", "bool", "i32", "u8"])), depth)], method=self.chance(0.4))
            if way < 0.6:
                a = self.some_size()
                return Prelude(ty, "dot", [self.expr(Tensor("i64", (a,)), depth), self.expr(Tensor("i64", (a,)), depth)], same=True)
            if way < 0.75:
                return Prelude(ty, self.pick(["argmin", "argmax"]), [self.expr(Tensor(self.number_type(), (self.rng.randint(1, 4),)), depth)])
        if ty in FLOATS and self.chance(0.5) and ty != "f16":
            return Prelude(ty, self.pick(["sum", "sum", "mean"]), [self.expr(any1(ty), depth)], method=self.chance(0.4))
        if ty in INTEGERS + FLOATS:
            return Prelude(ty, self.pick(["min", "max"]), [self.expr(Tensor(ty, (self.rng.randint(1, 4),)), depth)], method=self.chance(0.4))
        return None

    def length(self, ty, depth):
        options = self.tensor_names(lambda t: True)
        if options and self.chance(0.7):
            x = self.pick(options)
            return self.length_of(x, self.rng.randrange(len(x.ty.dims)))
        return Prelude(ty, "len", [self.expr(Tensor(self.tensor_elem(), ("?",)), depth)], method=self.chance(0.3))

    # ---- statements ----

    def tensor_statements(self, depth):
        if not self.weight("tensor"):
            return []
        found = [] if self.fixed else [(2 * self.weight("tensor"), self.let_any)]
        if not self.pure:
            found += [] if self.fixed else [(2 * self.weight("tensor"), self.var_elastic)]
            if self.variables(lambda t: isinstance(t, Tensor), mutable=True):
                found += [(4 * self.weight("tensor"), self.update)]
            if any(v.elastic for v in self.variables(mutable=True)):
                found += [(3 * self.weight("tensor"), self.assign_elastic)]
            if depth > 0:
                found += [(1 * self.weight("tensor"), self.for_rows)]
        return found

    def let_any(self, depth, mutable=False):
        want = Tensor(self.tensor_elem(), ("?",) * self.rng.choices([1, 2], [6, 1])[0])
        value = self.expr(want, depth)
        ty = self.settle(value.ty)
        if mutable:
            ty = Tensor(ty.elem, tuple(self.mark() for _ in ty.dims))
        name = self.fresh_name()
        shown = not self.closed(value) or self.chance(0.2)
        if shown:  # `_` in the annotation: nothing is said of the sizes
            value_ty = Tensor(ty.elem, tuple("?" for _ in ty.dims))
        else:
            value_ty = ty
        self.declare(name, ty, mutable)
        if mutable:
            self.visible()[name].elastic = True
            self.refresh([name])
        return Let(name, value_ty, value, mutable, shown)

    def var_elastic(self, depth):
        """A variable whose size will change."""
        return self.let_any(depth, mutable=True)

    def assign_elastic(self, depth):
        v = self.pick([v for v in self.variables(mutable=True) if v.elastic])
        want = Tensor(v.ty.elem, ("?",) * len(v.ty.dims))
        value = self.expr(want, depth)
        self.refresh([v.name])
        return Assign([v.name], "=", value, want)

    def update(self, depth):
        """`x[…] op e` on an element, a slice, a mask or places in index tensors."""
        v = self.pick(self.variables(lambda t: isinstance(t, Tensor), mutable=True))
        ty = v.ty
        return self.freezing([v.name], lambda: self.update_of([v.name], Name(ty, v.name), ty, depth))

    def update_of(self, path, x, ty, depth):
        op = self.pick(["=", "=", "+=", "-=", "*="]) if ty.elem != "bool" else "="
        way = self.rng.random()
        if way < 0.4 and 0 not in ty.dims:
            subs = [self.inside(x, k, depth) for k in range(len(ty.dims))]
            write = Assign(path + [subs], op, self.expr(ty.elem, depth), ty.elem)
            checks = [Binary("bool", ">", self.length_of(x, k), i64(0)) for k, d in enumerate(ty.dims) if isinstance(d, str)]
            if not checks or self.careless(0.04):
                return write
            cond = checks[0]
            for c in checks[1:]:
                cond = Binary("bool", "and", cond, c)
            return Do(If(UNIT, cond, Block([write]), None))
        if way < 0.65:
            span = self.slice(depth)
            value = self.expr(ty.elem, depth)
            if self.chance(0.3):  # the same slice of another tensor of the same shape
                other = self.expr(ty, depth)
                if not self.calm(span) or not self.calm(other):
                    return Assign(path + [[span]], op, value, ty.elem)
                value = Index(Tensor(ty.elem, (self.mark(),) + ty.dims[1:]), other, [span])
            return Assign(path + [[span]], op, value, ty.elem)
        if way < 0.85:
            mask = self.expr(Tensor("bool", ty.dims), depth)
            return Assign(path + [[mask]], op, self.expr(ty.elem, depth), ty.elem)
        if len(ty.dims) == 1 and isinstance(ty.dims[0], int) and ty.dims[0] > 0:
            k = self.rng.randint(1, 4)
            op = self.pick(["=", "+=", "-="]) if ty.elem != "bool" else "="
            index = self.indices((k,), ty.dims[0], depth)
            return Assign(path + [[index]], op, self.expr(ty.elem if self.chance(0.4) else Tensor(ty.elem, (k,)), depth), ty.elem)
        if len(ty.dims) == 2 and isinstance(ty.dims[0], int) and ty.dims[0] > 0:
            return Assign(path + [[self.below(ty.dims[0], depth)] + ([Span(None, None, None, None)] if self.chance(0.5) else [])], op, self.expr(Tensor(ty.elem, ty.dims[1:]), depth), ty.elem)
        return None

    def calm(self, e) -> bool:
        """Whether the expression may be written twice: nothing in it prints or leaves."""
        return not any(isinstance(x, (Call, CallValue, Stmt)) for x in walk(e))

    def for_rows(self, depth):
        """`for v in x`, `for (i, v) in enumerate(x)`."""
        x = self.expr(Tensor(self.tensor_elem(), ("?",)), depth) if self.chance(0.8) else self.expr(self.tensor_type(2), depth)
        if not isinstance(x.ty, Tensor):
            return None
        row = Tensor(x.ty.elem, tuple(self.mark() if d == "?" else d for d in x.ty.dims[1:])) if len(x.ty.dims) > 1 else x.ty.elem
        name, counter = self.fresh_name(), self.fresh_name()
        both = self.chance(0.3) and name != counter
        if self.chance(0.5):  # few turns
            x = Index(Tensor(x.ty.elem, ("?",) + x.ty.dims[1:]), x, [Span(None, None, i64(self.rng.randint(1, 4)), None)])

        def make():
            self.refresh()
            self.declare(name, row)
            if both:
                self.declare(counter, "i64")
            return Block(self.statements(self.rng.randint(1, 3), depth - 1))
        body = self.loop(5, make)
        self.refresh()
        if both:
            return For([((counter, name), Prelude("pairs", "enumerate", [x]))], body)
        return For([(name, x)], body)


def _product(values) -> int:
    result = 1
    for v in values:
        result *= v
    return result
