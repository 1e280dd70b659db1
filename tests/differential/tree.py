"""The tree from which a program and its twin are rendered: types, expressions, statements, and the walk that the shrinker uses.

Expressions know their type (`ty`), so that any of them may be replaced by another of the same type. Names are those of tl; the
renderer of the twin resolves scopes and renames. A scalar type is its name ("i64"); "T" is the type parameter of a generic function.
"""
from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

SIGNED = ("i8", "i16", "i32", "i64")
UNSIGNED = ("u8", "u16", "u32", "u64")
INTEGERS = SIGNED + UNSIGNED
FLOATS = ("f16", "f32", "f64")
SCALARS = ("bool",) + INTEGERS + FLOATS


@dataclass(frozen=True)
class Tensor:
    """A tensor: element type and sizes. A size is a number, a name bound by a parameter, or "?k", known only when it runs."""
    elem: str
    dims: tuple


@dataclass(frozen=True)
class Tup:
    items: tuple


@dataclass(frozen=True)
class ListOf:
    elem: object


@dataclass(frozen=True)
class Struct:
    name: str
    fields: tuple  # of (name, type)


@dataclass(frozen=True)
class FnType:
    params: tuple
    result: object


UNIT = Tup(())


def is_scalar(ty) -> bool:
    return isinstance(ty, str) and ty != "str"


def is_number(ty) -> bool:
    return is_scalar(ty) and ty != "bool"


def elem_of(ty):
    return ty.elem if isinstance(ty, Tensor) else ty


class Var:
    """A name in scope: what the generator knows of it. `effects`: a function that prints."""

    def __init__(self, name, ty, mutable=False, effects=False):
        self.name, self.ty, self.mutable, self.effects = name, ty, mutable, effects
        self.elastic = False  # a tensor whose size changes
        self.read = False     # something uses it


@dataclass(eq=False)
class Node:
    pass


# ---- expressions --------------------------------------------------------------------------------------------------------------------

@dataclass(eq=False)
class Expr(Node):
    ty: object


@dataclass(eq=False)
class Lit(Expr):
    """A number, bool or text."""
    value: object


@dataclass(eq=False)
class Name(Expr):
    name: str


@dataclass(eq=False)
class Unary(Expr):
    """`-a` or `not a`."""
    op: str
    a: Expr


@dataclass(eq=False)
class Binary(Expr):
    """Arithmetic, comparisons, `and`, `or`."""
    op: str
    a: Expr
    b: Expr


@dataclass(eq=False)
class Convert(Expr):
    """`f32(a)`; `ty` is the result."""
    a: Expr


@dataclass(eq=False)
class Prelude(Expr):
    """A call of a function of the prelude; `named` holds (name, python constant or Expr); `method` writes the first argument before a point."""
    name: str
    args: list
    named: list = field(default_factory=list)
    method: bool = False
    same: bool = False  # arguments and result share one element type, so that one of them fixes literals in the others


@dataclass(eq=False)
class Call(Expr):
    """A call of a generated function, or of a local name with a function's value. `named` are (parameter, argument)."""
    name: str
    args: list
    named: list = field(default_factory=list)
    typed: bool = True  # parameters have types, which fix literals
    method: bool = False


@dataclass(eq=False)
class CallValue(Expr):
    """A call of an expression that gives a function."""
    f: Expr
    args: list


@dataclass(eq=False)
class If(Expr):
    """`if` as value (ty) or as statement (UNIT). `orelse` is a Block, or None."""
    cond: Expr
    then: Block
    orelse: object


@dataclass(eq=False)
class Tuple(Expr):
    items: list


@dataclass(eq=False)
class Item(Expr):
    """`a[k]` of a tuple, k constant."""
    a: Expr
    k: int


@dataclass(eq=False)
class TensorLit(Expr):
    items: list


@dataclass(eq=False)
class ListLit(Expr):
    items: list


@dataclass(eq=False)
class Span(Expr):
    """A slice in a subscript: lo:hi:step, each an Expr or None."""
    lo: object
    hi: object
    step: object


@dataclass(eq=False)
class Mark(Expr):
    """Text that is alike in both: `...` or `new` in a subscript; with ty "type", the name of an element type; padding widths."""
    text: str


@dataclass(eq=False)
class Index(Expr):
    a: Expr
    subs: list


@dataclass(eq=False)
class Field(Expr):
    a: Expr
    name: str


@dataclass(eq=False)
class Make(Expr):
    """A struct's constructor: values in the order of the fields."""
    values: list


@dataclass(eq=False)
class With(Expr):
    a: Expr
    names: list
    values: list


@dataclass(eq=False)
class Lambda(Expr):
    """`|x: i64, y| e`; `typed` says which parameters show their types. The body is an Expr or a Block."""
    params: list
    typed: list
    body: object
    effects: bool = False


@dataclass(eq=False)
class Transform(Expr):
    """`grad(f, argnums = …)`, `vmap(f, axes = …)`, …: a function made of a function. `at` are its numbers, None for `none`."""
    op: str
    f: Expr
    at: tuple = ()


@dataclass(eq=False)
class Along(Expr):
    """`jvp(f, (x…), (dx…))`, or `vjp(f, x…)` without `steps`."""
    f: Expr
    args: list
    steps: list = field(default_factory=list)


@dataclass(eq=False)
class FnName(Expr):
    """A generated function used as a value."""
    name: str


@dataclass(eq=False)
class Range(Expr):
    """`lo..hi`; with `step`, `range(lo, hi, step)`."""
    lo: Expr
    hi: Expr
    step: object = None


@dataclass(eq=False)
class Comprehension(Expr):
    """`kind` is "tensor", "list", "sum", …; `clauses` are (pattern, range or None for an inferred one). `sizes` gives each inferred range as an expression."""
    kind: str
    elem: Expr
    clauses: list
    sizes: list
    filter: object = None


@dataclass(eq=False)
class Interpolation(Expr):
    """Text with values: parts are str or (Expr, format or "")."""
    parts: list


# ---- statements ---------------------------------------------------------------------------------------------------------------------

@dataclass(eq=False)
class Block(Node):
    """Statements, and an expression that is the value (or None)."""
    body: list
    value: object = None


@dataclass(eq=False)
class Stmt(Node):
    pass


@dataclass(eq=False)
class Let(Stmt):
    """`let` or `var`; the pattern is a name, "_" or a tuple of patterns; `shown` writes the type."""
    pattern: object
    ty: object
    value: Expr
    mutable: bool = False
    shown: bool = False


@dataclass(eq=False)
class Assign(Stmt):
    """`path op e`, where path is [name, step, …]; a step is a field's name or a list of subscripts. `ty` is the type of the place."""
    path: list
    op: str
    value: Expr
    ty: object


@dataclass(eq=False)
class AssignTuple(Stmt):
    """`(a, b) = e`; targets are paths."""
    targets: list
    value: Expr


@dataclass(eq=False)
class Do(Stmt):
    """An expression as statement: an `if`, or a call that prints."""
    e: Expr


@dataclass(eq=False)
class For(Stmt):
    clauses: list  # of (pattern, Expr)
    body: Block


@dataclass(eq=False)
class While(Stmt):
    cond: Expr
    body: Block


@dataclass(eq=False)
class Break(Stmt):
    pass


@dataclass(eq=False)
class Continue(Stmt):
    pass


@dataclass(eq=False)
class Return(Stmt):
    value: Expr


@dataclass(eq=False)
class Print(Stmt):
    args: list
    end: object = None


@dataclass(eq=False)
class Assert(Stmt):
    cond: Expr
    message: object = None


@dataclass(eq=False)
class Function(Stmt):
    """A function, at top level or nested. Parameters are (name, type, default or None). `generic` is "" or the bound of T; `shown` writes types; `sizes` are its size names."""
    name: str
    params: list
    result: object
    body: Block
    generic: str = ""
    shown: bool = True
    effects: bool = False
    short: bool = False  # `= e` instead of a block
    recursive: bool = False


@dataclass
class Case:
    """What is tested and shrunk as one: structs, helpers, a function and the arguments that it is called with."""
    seed: int
    topic: str
    structs: list
    functions: list          # helpers first, the tested one last
    calls: list              # lists of constant expressions
    kind: str = "call"       # "call" or "script" (statements at top level: the body of the last function)
    consts: list = field(default_factory=list)


def children(node):
    """The (owner, key) places of all nodes directly below: owner[key] or getattr(owner, key)."""
    if isinstance(node, Node):
        for f in dataclasses.fields(node):
            if f.name != "ty":
                yield from _places(node, f.name, getattr(node, f.name))


def _places(owner, key, value):
    if isinstance(value, Node):
        yield owner, key
    elif isinstance(value, list):
        for k, v in enumerate(value):
            yield from _places(value, k, v)
    elif isinstance(value, tuple):
        # Tuples cannot be changed in place, so pairs that hold nodes are walked through but their members are replaced by rebuilding.
        for k, v in enumerate(value):
            if isinstance(v, Node):
                yield (owner, key, k), None
            else:
                yield from _places(value, k, v)


def get(place):
    owner, key = place
    if isinstance(owner, tuple) and key is None:
        inner, k, j = owner
        return (inner[k] if isinstance(inner, (list, tuple)) else getattr(inner, k))[j]
    return owner[key] if isinstance(owner, (list, tuple)) else getattr(owner, key)


def put(place, value) -> bool:
    owner, key = place
    if isinstance(owner, tuple) and key is None:
        inner, k, j = owner
        if isinstance(inner, tuple):
            return False
        old = inner[k] if isinstance(inner, list) else getattr(inner, k)
        new = old[:j] + (value,) + old[j + 1:]
        if isinstance(inner, list):
            inner[k] = new
        else:
            setattr(inner, k, new)
        return True
    if isinstance(owner, list):
        owner[key] = value
    elif isinstance(owner, tuple):
        return False
    else:
        setattr(owner, key, value)
    return True


def walk(node):
    """All nodes from `node` down, parents first."""
    yield node
    for place in children(node):
        yield from walk(get(place))


def places(node):
    """All places below `node`, parents first."""
    for place in children(node):
        yield place
        yield from places(get(place))
