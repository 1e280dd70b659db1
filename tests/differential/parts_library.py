"""The functions of the prelude that `parts_tensors` has no place for: products by `einsum`, rearranging along any axis, choosing, counting, tests of floats."""
from __future__ import annotations

from tree import *


def i64(value):
    return Lit("i64", value)


def numbers(values):
    return TensorLit(Tensor("i64", (len(values),)), [i64(v) for v in values])


WHOLE = ("i64", "i32", "u8", "i16", "u32", "i8", "u16", "u64")


class Library:
    def library_makers(self, ty):
        if not self.weight("library"):
            return []
        if isinstance(ty, Tensor) and "?" not in ty.dims:
            return [("library", 1.2, self.library)] if ty.elem != "T" else []
        return [("library", 0.8, self.library_scalar)] if is_scalar(ty) and ty != "T" and self.weight("tensor") else []

    def small_size(self):
        return self.rng.randint(1, 3)

    def library(self, ty, depth):
        """One of the functions that give a tensor of this type."""
        e, dims = ty.elem, ty.dims
        rank, whole = len(dims), all(isinstance(d, int) for d in dims)
        t = lambda *d: Tensor(e, d)
        sub = lambda ty: self.expr(ty, depth)
        k, r = self.small_size(), self.rng
        axis = r.randrange(rank)
        signed = axis if self.chance(0.5) else axis - rank
        parts_of = lambda n: (n // 2, n - n // 2) if self.chance(0.5) else (0, n) if self.chance(0.3) else (n - n // 2, n // 2)
        cut = lambda n: dims[:axis] + (n,) + dims[axis + 1:]
        number = e in INTEGERS + FLOATS
        ways = [lambda: Prelude(ty, "gather", [sub(t(*cut(k))), self.below_all(dims, k, depth)], [("axis", signed)]),
                lambda: Prelude(ty, "take", [sub(t(*cut(k))), self.indices((dims[axis],), k, depth)], [("axis", signed)]) if rank > 1 else None,
                lambda: Prelude(ty, "roll", [sub(ty), i64(r.randint(-4, 4))]),
                lambda: Prelude(ty, "flip", [sub(ty)], [("axis", signed)])]
        if rank == 2:
            ways += [lambda: Prelude(ty, self.pick(["tril", "triu"]), [sub(ty), i64(r.randint(-2, 2))]), lambda: Prelude(ty, "transpose", [sub(t(*dims[::-1])), i64(0), i64(1)])]
            if dims[0] == dims[1]:
                ways += [lambda: Prelude(ty, "diag", [sub(t(dims[0]))])] * 2
            if dims[0] == dims[1] and number and isinstance(dims[0], int):
                ways += [lambda: Prelude(ty, "eye", [i64(dims[0]), Mark("type", e)])]
        if rank == 3:
            order = r.sample(range(3), 3)
            ways += [lambda: Prelude(ty, "permute", [sub(t(*[dims[order.index(j)] for j in range(3)])), numbers(order)])]
        if rank == 1 and whole:
            ways += [lambda: Prelude(ty, "diag", [sub(t(dims[0], dims[0] + r.randint(0, 2)) if self.chance(0.5) else t(dims[0] + r.randint(0, 2), dims[0]))])]
            ways += [lambda: Prelude(ty, "flatten", [sub(t(1, *dims))])]
            if e in ("f64", "f32") and dims[0] > 0:
                ways += [lambda: Prelude(ty, "linspace", [Lit(e, self.number(e, 0)), Lit(e, self.number(e, 0)), i64(dims[0]), Mark("type", e)])]
        if whole:
            n = dims[axis]
            if n >= 1:
                a, b = parts_of(n)
                ways += [lambda: Prelude(ty, "concat", [Tuple(Tup((t(*cut(a)), t(*cut(b)))), [sub(t(*cut(a))), sub(t(*cut(b)))])], [("axis", signed)])]
            if n == 2 and rank > 1:
                inner = t(*(dims[:axis] + dims[axis + 1:]))
                ways += [lambda: Prelude(ty, "stack", [Tuple(Tup((inner, inner)), [sub(inner), sub(inner)])], [("axis", axis)])]
            if n in (2, 4):
                ways += [lambda: Prelude(ty, "repeat", [sub(t(*cut(n // 2))), i64(2)], [("axis", signed)]),
                         lambda: Prelude(ty, "tile", [sub(t(*cut(n // 2))), numbers([2 if j == axis else 1 for j in range(rank)])])]
            if rank == 2 and min(dims) >= 1 and number:
                ways += [lambda: self.padded(ty, depth)]
            if n >= 1 and self.product_of(dims) <= 24:
                ways += [lambda: Index(ty, Prelude(ListOf(ty), "split", [sub(t(*cut(2 * n))), i64(2)], [("axis", axis)]), [i64(self.pick([0, 1, -1]))])]
        if e == "bool" and rank <= 2:
            f = self.pick(["f64", "f32"])
            ways += [lambda: Prelude(ty, self.pick(["isnan", "isinf", "isfinite"]), [Binary(Tensor(f, dims), "/", self.expr(Tensor(f, dims), depth), self.expr(Tensor(f, dims), 0))])]
        if e == "i64":
            of = self.pick(("bool", "i8", "u8", "i32", "u16", "i64"))
            ways += [lambda: Prelude(ty, "cumsum", [self.expr(Tensor(of, dims), depth)], [("axis", signed)]),
                     lambda: Prelude(ty, "argsort", [self.expr(Tensor(self.number_type(), dims), depth)], [("axis", signed)])]
            if rank == 1:
                ways += [lambda: Item(ty, Prelude(Tup((t("?"), ty, t("?"))), "unique", [self.expr(ty, depth)]), 1)]
                if whole and dims[0] > 0:
                    ways += [lambda: Item(ty, Prelude(Tup((t(*dims), ty)), "topk", [self.expr(Tensor(self.pick(["i64", "i32"]), (dims[0] + k - 1,)), depth), i64(dims[0])]), 1),
                             lambda: Item(ty, Prelude(Tup((ty, Tensor("f64", (dims[0] + 1,)))), "histogram", [self.expr(Tensor(self.pick(["i64", "f64"]), (k,)), depth), i64(dims[0])]), 0)]
        if number:
            ways += [lambda: Prelude(ty, "where", [sub(Tensor("bool", dims)), sub(ty), sub(e)], same=True),
                     lambda: Prelude(ty, "clamp", [sub(ty), sub(e), Prelude(e, "max", [sub(e), Lit(e, 3)], same=True)], same=True),
                     lambda: Prelude(ty, "max" if self.chance(0.5) else "min", [sub(t(*dims[:axis], k, *dims[axis:]))], [("axis", axis)])]
            if rank == 2:
                ways += [lambda: Prelude(ty, "max", [sub(t(*cut(k)))], [("axis", signed), ("keep", "true")]) if dims[axis] == 1 else None,
                         lambda: Prelude(ty, "scatter_add", [sub(ty), self.indices((k,), dims[0], depth, True), sub(t(k, dims[1]))])
                         if isinstance(dims[0], int) and dims[0] > 0 else None]
            if whole and rank == 2:
                ways += [lambda: Prelude(ty, "diff", [sub(t(*(dims[:axis] + (dims[axis] + 1,) + dims[axis + 1:])))], [("axis", axis)])]
        if e in INTEGERS:
            ways += [lambda: Prelude(ty, self.pick(["bit_and", "bit_or", "bit_xor"]), [sub(ty), sub(ty)]), lambda: Prelude(ty, "bit_not", [sub(ty)]),
                     lambda: Prelude(ty, self.pick(["shift_left", "shift_right"]), [sub(ty), Lit(e, r.randint(0, 7))]), lambda: Binary(ty, "**", sub(ty), Lit(e, r.randint(0, 3))),
                     lambda: self.divided(ty, depth)]
            if e in SIGNED:
                ways += [lambda: Prelude(ty, self.pick(["sign", "neg"]), [sub(ty)], same=True)]
        if e in ("f64", "f32"):
            ways += [lambda: Prelude(ty, self.pick(["ceil", "exp", "sin", "atan", "cosh", "tanh", "sigmoid", "erf", "gelu", "silu", "softplus", "exp2", "log1p"]), [sub(ty)], same=True),
                     lambda: Prelude(ty, self.pick(["atan2", "min", "max"]), [sub(ty), sub(self.pick([ty, e]))], same=True), lambda: Prelude(ty, "log_softmax", [sub(ty)], [("axis", signed)]),
                     lambda: Prelude(ty, "norm", [sub(t(*dims[:axis], k, *dims[axis:]))], [("axis", axis)]), lambda: Prelude(ty, "cumprod", [sub(ty)], [("axis", signed)]),
                     lambda: Prelude(ty, "sum", [sub(t(*dims, k, 2))], [("axis", f"({rank}, {rank + 1})")]), lambda: Prelude(ty, self.pick(["floor", "round", "sqrt", "ceil"]), [sub(ty)], same=True)]
        if e in ("f64", "f32", "i64", "i32"):
            ways += [lambda: self.einsum(ty, depth)] * (2 if rank <= 3 else 0)
            if rank == 1:
                ways += [lambda: Binary(ty, "@", sub(t(dims[0], k)), sub(t(k))), lambda: Binary(ty, "@", sub(t(k)), sub(t(k, dims[0])))]
            if rank == 3:
                ways += [lambda: Binary(ty, "@", sub(t(dims[0], dims[1], k)), sub(t(dims[0], k, dims[2]) if self.chance(0.5) else t(k, dims[2])))]
        return self.pick(ways)()

    def product_of(self, dims):
        n = 1
        for d in dims:
            n *= d
        return n

    def below_all(self, dims, n, depth):
        """Indices from 0 to n - 1, of this shape."""
        return self.indices(dims, n, depth, positive=True)

    def padded(self, ty, depth):
        """`pad` of a matrix on all sides."""
        widths, inner = [], []
        for d in ty.dims:
            a = self.rng.randint(0, d)
            b = self.rng.randint(0, d - a)
            widths.append((a, b))
            inner.append(d - a - b)
        named = [("value", self.rng.randint(0, 5))] if self.chance(0.6) else []
        return Prelude(ty, "pad", [self.expr(Tensor(ty.elem, tuple(inner)), depth), Mark(None, "[" + ", ".join(map(str, widths)) + "]")], named)

    def divided(self, ty, depth):
        """A tensor by a tensor: with a 0 somewhere now and then."""
        by = Tensor(ty.elem, ty.dims)
        d = self.expr(by, depth)
        if not self.careless(0.04):
            d = Binary(by, "+", Binary(by, "%", d, Lit(ty.elem, self.rng.randint(2, 5))), Lit(ty.elem, 1))
        return Binary(ty, self.pick(["//", "%"]), self.expr(ty, depth), d)

    def einsum(self, ty, depth):
        e, dims = ty.elem, ty.dims
        letters = "ijkl"[:len(dims)]
        k = self.small_size()
        size = {**dict(zip(letters, dims)), "s": k, "t": 2}
        forms = {1: ["is,s->i", "is->i", "i,i->i", "is,is->i", "si,s->i", "ist,s,t->i"],
                 2: ["ij->ij", "ji->ij", "i,j->ij", "is,sj->ij", "si,js->ij", "ijs,s->ij", "is,js,s->ij", "sij->ij", "ist,sj->ij"],
                 3: ["ijs,sk->ijk", "ijs,isk->ijk", "ij,jk->ijk", "kji->ijk", "i,j,k->ijk"]}[len(dims)]
        form = self.pick(forms)
        operands = [self.expr(Tensor(e, tuple(size[c] for c in part)), depth) for part in form.split("->")[0].split(",")]
        return Prelude(ty, "einsum", [Lit("str", form)] + operands)

    def library_scalar(self, ty, depth):
        k, r = self.small_size(), self.rng
        any2 = lambda e: Tensor(e, (k, r.randint(1, 3)))
        vector = lambda e: Tensor(e, (k,))
        sub = lambda ty: self.expr(ty, depth)
        ways = []
        if ty == "bool":
            f = self.pick(["f64", "f32"])
            ways = [lambda: Prelude(ty, self.pick(["any", "all"]), [sub(any2("bool"))]), lambda: Prelude(ty, self.pick(["isnan", "isinf", "isfinite"]), [Binary(f, "/", sub(f), sub(f))])]
        if ty == "i64":
            narrow = self.pick(["bool", "i8", "u8", "i32", "u16", "u32"])
            ways = [lambda: Prelude(ty, "rank", [sub(any2(self.number_type()))]), lambda: Prelude(ty, self.pick(["sum", "prod"]), [sub(any2(narrow))]),
                    lambda: Prelude(ty, self.pick(["argmin", "argmax"]), [sub(any2(self.number_type()))]),
                    lambda: Prelude(ty, "len", [Item(None, Prelude(Tup((Tensor("i64", ("?",)),)), "nonzero", [sub(vector("i64"))]), 0)]),
                    lambda: Prelude(ty, "sum", [Item(Tensor("i64", ("?",)), Prelude(Tup((Tensor("i64", ("?",)),) * 2), "nonzero", [sub(any2("i64"))]), 1)]),
                    lambda: Index(ty, Item(Tensor("i64", ("?",)), Prelude(Tup((Tensor("i64", ("?",)), vector("i64"), Tensor("i64", ("?",)))), "unique", [sub(vector("i64"))]), 2), [i64(0)]),
                    lambda: Prelude(ty, "searchsorted", [Prelude(vector("i64"), "sort", [sub(vector("i64"))]), sub("i64")])]
        if ty in ("i64", "i32", "f64", "f32"):
            ways += [lambda: Prelude(ty, "einsum", [Lit("str", "i,i->"), sub(vector(ty)), sub(vector(ty))]), lambda: Prelude(ty, "einsum", [Lit("str", "ij,ij->"), *[sub(t) for t in [any2(ty)] * 2]]),
                     lambda: Prelude(ty, "dot", [sub(vector(ty)), sub(vector(ty))], same=True)]
        if ty in ("f64", "f32"):
            ways += [lambda: Prelude(ty, self.pick(["norm", "variance", "logsumexp", "mean"]), [sub(any2(ty))]), lambda: Prelude(ty, self.pick(["atan2"]), [sub(ty), sub(ty)], same=True),
                     lambda: Prelude(ty, self.pick(["erf", "cosh", "sinh", "exp2", "asin", "log2", "rsqrt", "tan", "gelu", "atan"]), [sub(ty)], same=True)]
        if ty in INTEGERS:
            ways += [lambda: Binary(ty, "**", sub(ty), Binary(ty, "%", sub(ty), Lit(ty, 4))),
                     lambda: Prelude(ty, self.pick(["shift_left", "shift_right"]), [sub(ty), Binary(ty, "%", sub(ty), Lit(ty, 7))])]
        return self.pick(ways)() if ways else None
