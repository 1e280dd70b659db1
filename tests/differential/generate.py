"""The generator's core: random choices, scopes, types, constants, and how a case is put together from the parts of each topic."""
from __future__ import annotations

import random

from parts_aggregates import Aggregates
from parts_comprehensions import Comprehensions
from parts_control import Control
from parts_functions import Functions
from parts_guards import Guards
from parts_library import Library
from parts_lists import Lists
from parts_places import Places
from parts_scalars import Scalars
from parts_tensors import Tensors, is_any
from parts_transforms import Transforms
from tree import *


# What the functions of a topic are made of: weights of the features that `makers` and `statements` of the parts ask for.
COMMON = {"var": 5, "literal": 2, "arithmetic": 4, "if": 2, "jump": 0.35, "loud": 0.5, "call": 1, "convert": 0.6, "builtin": 1, "block": 1, "guard": 0.5}
TOPICS = {
    "control": {**COMMON, "jump": 1.4, "loud": 1.5, "loop": 3, "types": ("i64", "i64", "bool")},
    "scalars": {**COMMON, "jump": 0.15, "bf16": 1, "convert": 3, "builtin": 3, "bits": 1.5, "types": SCALARS},
    "aggregates": {**COMMON, "jump": 0.3, "tuple": 3, "struct": 3, "types": ("i64", "f64", "bool", "f32", "tuple", "tuple", "struct", "struct", "i32")},
    "functions": {**COMMON, "lambda": 2, "call": 3, "helpers": 3, "types": ("i64", "f64", "bool", "tuple")},
}
TENSOR = {**COMMON, "jump": 0.15, "loud": 0.2, "loop": 0.7, "tensor": 1, "comprehension": 0.3, "library": 0.4}
TOPICS["tensors"] = {**TENSOR, "types": ("i64", "i64", "f64", "bool", "f32", "i32", "tensor", "tensor", "tensor", "tensor")}
TOPICS["library"] = {**TENSOR, "library": 3, "loop": 0.4, "builtin": 1.5, "types": ("i64", "f64", "bool", "f32", "i32", "u8", "i16", "tensor", "tensor", "tensor", "tensor", "tensor")}
TOPICS["numbers"] = {**TENSOR, "convert": 2, "bf16": 1, "builtin": 2, "bits": 0.3, "types": SCALARS + ("tensor",) * 12}
TOPICS["sizes"] = {**TENSOR, "jump": 0.7, "loop": 2, "types": ("i64", "i64", "f64", "bool", "tensor", "tensor", "elastic", "elastic")}
TOPICS["comprehensions"] = {**TENSOR, "comprehension": 2.5, "types": ("i64", "i64", "f64", "bool", "tensor", "tensor")}
TOPICS["lists"] = {**COMMON, "jump": 0.5, "loop": 1.5, "list": 2, "tuple": 0.5, "struct": 0.5, "tensor": 0.3,
                   "types": ("i64", "i64", "f64", "bool", "list", "list", "list", "tuple", "struct", "i32")}
TOPICS["text"] = {**COMMON, "jump": 0.3, "text": 2, "list": 0.5, "types": ("i64", "f64", "f32", "bool", "str", "str", "str", "u8", "f16", "i16", "list", "tuple")}
TOPICS["failures"] = {**COMMON, "jump": 0.7, "loop": 1.5, "tensor": 1, "list": 0.7, "comprehension": 0.5, "struct": 0.5, "careless": 8,
                      "types": ("i64", "i64", "i64", "bool", "f64", "tensor", "tensor", "list", "elastic", "struct")}
MIXED = {**COMMON, "jump": 0.5, "loop": 1.5, "bits": 0.5, "tuple": 1, "struct": 1, "lambda": 0.7, "helpers": 1, "tensor": 0.5, "comprehension": 0.5,
         "list": 0.5, "text": 0.3, "library": 0.3, "transform": 0.1,
         "types": ("i64", "i64", "i64", "f64", "f64", "bool", "f32", "tuple", "struct", "i32", "u8", "tensor", "tensor", "elastic", "list", "str")}
TOPICS["mixed"] = MIXED
TOPICS["derivatives"] = {"var": 6, "literal": 1.5, "arithmetic": 4, "if": 1.2, "jump": 0.5, "loud": 0.1, "call": 1, "builtin": 1, "block": 0.7, "loop": 1.5, "tensor": 1.2, "guard": 1, "smooth": 1.5,
                         "library": 0.15, "transform": 0.1, "comprehension": 0.7, "helpers": 1, "tuple": 0.3, "struct": 0.4, "lambda": 0.4,
                         "types": ("f64", "f64", "f64", "f64", "f64", "i64", "bool", "tensor", "tensor", "elastic")}
TOPICS["batches"] = {**COMMON, "jump": 1, "loud": 0, "loop": 2, "tensor": 1, "guard": 2, "comprehension": 0.4, "library": 0.3, "transform": 0.1, "careless": 2, "lambda": 0.3, "tuple": 0.3,
                     "types": ("i64", "i64", "i64", "f64", "bool", "i32", "tensor", "tensor")}
TOPICS["straight"] = {**MIXED, "jump": 0}
TOPICS["places"] = {**MIXED, "jump": 0.9, "bits": 0.2, "types": ("i64", "i64", "i64", "bool", "f64", "tensor", "tuple", "struct", "elastic", "list")}


class NoValue(Exception):
    """Nothing in scope has the size that is wanted. The statement is given up."""


class Generator(Scalars, Control, Aggregates, Functions, Tensors, Comprehensions, Lists, Places, Library, Guards, Transforms):
    def __init__(self, seed: int, topic: str, name: str, again=0):
        self.rng = random.Random(f"{topic}:{seed}:{again}")
        self.seed, self.topic, self.name = seed, topic, name
        self.weights = TOPICS[topic]
        self.scopes = [{}]
        self.helpers = []       # functions that may be called
        self.inferring = frozenset()  # indices whose ranges are inferred
        self.structs = []
        self.consts = []
        self.global_names = {}  # what functions see of the top level
        self.loops = 0          # loops of this function around here
        self.counting = frozenset()  # those whose turns are counted at the end of their bodies, which `continue` would leave out
        self.result = None      # what `return` takes, or None where it may not stand
        self.pure = 0           # > 0: no effects, jumps or assignments
        self.quiet = False      # no effects
        self.fixed = False      # no sizes that data decides
        self.frozen = []        # names that may not be assigned here
        self.effects = False    # whether this function prints
        self.fuel = 0
        self.serial = 0
        self.watch = self.pick([0.0, 0.0, 0.15, 0.4])  # how often a block prints what it declared
        self.turns = 1          # an upper bound of how often this place runs

    # ---- choices ----

    def chance(self, p) -> bool:
        return self.rng.random() < p

    def pick(self, items):
        return self.rng.choice(items)

    def weight(self, feature) -> float:
        return self.weights.get(feature, 0)

    def choose(self, pairs):
        """One of (weight, thing)."""
        at = self.rng.random() * sum(w for w, _ in pairs)
        for w, thing in pairs:
            at -= w
            if at < 0:
                return thing
        return pairs[-1][1]

    def careless(self, p) -> bool:
        """Whether something that may fail when it runs is left unguarded, which has probability p, more in some topics."""
        return self.chance(p * self.weights.get("careless", 1))

    # ---- scopes ----

    def fresh_name(self) -> str:
        """Short names, so that shadowing happens."""
        if self.chance(0.8):
            return self.pick("abcdhpqrstuv" if "T" in self.weights["types"] else "abcdhpqrstuvwxyz")  # a generic function keeps its parameters in sight
        self.serial += 1
        return f"{self.pick('abcpqrstv')}{self.serial}"

    def declare(self, name, ty, mutable=False):
        self.scopes[-1][name] = Var(name, ty, mutable)

    def visible(self):
        seen = dict(self.global_names)
        for scope in self.scopes:
            seen.update(scope)
        return seen

    def variables(self, want=lambda ty: True, mutable=False):
        return [v for v in self.visible().values() if want(v.ty) and (not mutable or (v.mutable and v.name not in self.frozen))]

    # ---- types and constants ----

    def some_type(self, depth=2):
        kind = self.pick(self.weights["types"])
        if kind == "tuple":
            return Tup(tuple(self.no_any(self.some_type(depth - 1)) for _ in range(self.rng.randint(1 if self.chance(0.1) else 2, 3)))) if depth > 0 else "i64"
        if kind == "list":
            return self.list_type() if depth > 1 else "i64"
        if kind == "tensor":
            return self.tensor_type()
        if kind == "elastic":
            return self.tensor_type() if self.fixed else Tensor(self.tensor_elem(), ("?",))
        if kind == "struct":
            if depth <= 0:
                return "f64"
            if not self.structs or (len(self.structs) < 2 and self.chance(0.3)):
                self.new_struct()
            return self.pick(self.structs)
        return kind

    def no_any(self, ty):
        return self.tensor_type() if is_any(ty) else ty

    def scalar_type(self):
        kinds = [t for t in self.weights["types"] if t in SCALARS]
        return self.pick(kinds) if kinds else "i64"

    def number_type(self):
        kinds = [t for t in self.weights["types"] if t in SCALARS and t != "bool"]
        return self.pick(kinds) if kinds else "i64"

    def number(self, ty, wild=0.05):
        """A constant of the type; ends of the type and special floats with probability `wild`."""
        r = self.rng
        if self.topic in ("derivatives", "batches") and ty == "f64":
            return round(r.uniform(-2, 3), 3)
        if ty == "bool":
            return r.random() < 0.5
        if ty in FLOATS:
            if self.chance(wild):
                return self.pick([float("inf"), float("-inf"), float("nan"), 0.1, -0.3, 1e4, 1.0 / 3.0, 60000.0, -0.001])
            return r.randint(-12, 24) / 4.0
        if ty in INTEGERS:
            bits = int(ty[1:])
            if self.chance(wild):
                top = 2 ** (bits - 1) if ty[0] == "i" else 2 ** bits
                return self.pick([top - 1, top - 2, -top + 1, top // 3, 100]) if ty[0] == "i" else self.pick([top - 1, top - 2, top // 3, 100])
            return r.randint(-3, 9) if ty[0] == "i" else r.randint(0, 9)
        if ty == "T":
            return r.randint(0, 5)
        raise TypeError(ty)

    def constant(self, ty, wild=0.05):
        """A constant expression of the type, for arguments and leaves."""
        if ty == "str":
            return Lit("str", self.pick(["", "a", "bc", "x y", "Z", "tl", " a", "a,b,", "baab "]))
        if is_scalar(ty):
            return Lit(ty, self.number(ty, wild))
        if isinstance(ty, Tup):
            return Tuple(ty, [self.constant(t, wild) for t in ty.items])
        if isinstance(ty, Struct):
            return Make(ty, [self.constant(t, wild) for _, t in ty.fields])
        if isinstance(ty, ListOf):
            return ListLit(ty, [self.constant(ty.elem, wild) for _ in range(self.rng.randint(1, 3))])
        if isinstance(ty, Tensor):
            dims = tuple(d if isinstance(d, int) else self.rng.randint(0, 4) for d in ty.dims)
            full = Tensor(ty.elem, dims)
            if 0 in dims:
                return Prelude(full, "zeros", [TensorLit(Tensor("i64", (len(dims),)), [Lit("i64", d) for d in dims]), Mark("type", ty.elem)])
            inner = Tensor(ty.elem, dims[1:]) if len(dims) > 1 else ty.elem
            return TensorLit(full, [self.constant(inner, wild) for _ in range(dims[0])])
        raise TypeError(ty)

    # ---- expressions ----

    def expr(self, ty, depth=2):
        """A random expression of the type."""
        self.fuel -= 1
        if self.fixed and is_any(ty):
            ty = Tensor(ty.elem, tuple(self.some_size() if d == "?" else d for d in ty.dims))
        if depth <= 0 or self.fuel <= 0:
            return self.leaf(ty)
        makers = [(self.weight(feature) * weight, make) for feature, weight, make in self.makers(ty) if self.weight(feature) > 0]
        for _ in range(4):
            e = self.choose(makers)(ty, depth - 1)
            if e is not None:
                return e
        return self.leaf(ty)

    def makers(self, ty):
        """(feature, weight, function) of everything that can give a value of the type."""
        found = [("var", 1, self.read), ("if", 1, self.if_value), ("call", 1, self.call_helper), ("lambda", 0.5, self.call_lambda),
                 ("tuple", 0.3, self.item_of_tuple)]
        if not self.pure:
            found += [("loud", 0 if self.quiet else 1, self.loud), ("jump", 1, self.jump_operand), ("block", 0.6, self.block_value)]
        return (found + self.scalar_makers(ty) + self.aggregate_makers(ty) + self.tensor_makers(ty) + self.tensor_scalar_makers(ty) + self.list_makers(ty)
                + self.library_makers(ty) + self.guard_makers(ty) + self.smooth_makers(ty) + self.transform_makers(ty))

    def leaf(self, ty):
        e = self.read(ty, 0) if self.chance(0.75) else None
        return e if e is not None else self.fallback(ty)

    def fallback(self, ty):
        """What is always there. A literal of the type parameter needs a value of that type beside it."""
        if ty == "T":
            base = Name("T", self.pick([v.name for v in self.variables(lambda t: t == "T")]))
            return Binary("T", self.pick("+-*"), base, Lit("T", self.number("T"))) if self.chance(0.5) else base
        if isinstance(ty, Tup) and any(t == "T" for t in ty.items):
            return Tuple(ty, [self.fallback(t) for t in ty.items])
        if isinstance(ty, Tensor):
            e = self.tensor_fallback(ty)
            if e is None:
                raise NoValue(ty)
            return e
        if isinstance(ty, Tup):
            return Tuple(ty, [self.fallback(t) for t in ty.items])
        if is_scalar(ty) and self.chance(0.65):
            e = self.from_variable(ty)
            if e is not None:
                return e
        return self.constant(ty)

    def from_variable(self, ty):
        """A plain expression that depends on some variable, so that conditions and bounds are not constants."""
        options = [e for e in (Name(v.ty, v.name) for v in self.variables(is_number)) if e.ty != "T"]
        if not options:
            return None
        v = self.pick(options)
        if ty == "bool":
            return Binary("bool", self.pick(["<", "<=", ">", ">=", "==", "!="]), v, Lit(v.ty, self.number(v.ty, 0)))
        if v.ty == ty:
            return Binary(ty, self.pick("+-"), v, Lit(ty, self.number(ty, 0)))
        return Convert(ty, v)

    def places_of(self, ty):
        """Every readable place of the type: variables, fields, elements of tuples."""
        found = []

        def look(e, depth):
            if e.ty == ty or (is_any(ty) and isinstance(e.ty, Tensor) and e.ty.elem == ty.elem and len(e.ty.dims) == len(ty.dims)
                              and all(a == "?" or a == b for a, b in zip(ty.dims, e.ty.dims))):
                found.append(e)
            if depth > 0:
                if isinstance(e.ty, Tup):
                    for k, t in enumerate(e.ty.items):
                        look(Item(t, e, k), depth - 1)
                if isinstance(e.ty, Struct):
                    for n, t in e.ty.fields:
                        look(Field(t, e, n), depth - 1)
        for v in self.visible().values():
            look(Name(v.ty, v.name), 2)
        return found

    def read(self, ty, depth):
        """A place of the type; what nothing has read yet is preferred, so that it matters."""
        found = self.places_of(ty)
        if not found:
            return None
        visible = self.visible()
        unread = [e for e in found if not visible[root(e)].read]
        e = self.pick(unread if unread and self.chance(0.7) else found)
        visible[root(e)].read = True
        return e

    # ---- cases ----

    def case(self) -> Case:
        """A case: helpers, then the function that is called, and arguments."""
        if self.topic == "places":
            return self.places_case()
        if self.topic == "derivatives":
            return self.derivative_case()
        if self.topic == "batches":
            return self.batch_case()
        if self.weight("text") and self.chance(0.25):
            return self.script_case()
        if self.chance(0.3):
            self.new_consts()
        helpers = self.rng.randint(0, 2) if self.chance(0.3 * self.weight("helpers") + 0.2) else 0
        for k in range(helpers):
            self.helpers.append(self.helper(f"{self.name}_h{k}"))
        main = self.function(self.name, fuel=self.pick([30, 60, 90, 130]))
        calls = self.arguments(main)
        return Case(self.seed, self.topic, list(self.structs), self.helpers + [main], calls, consts=self.consts)

    def new_consts(self):
        """`const` names, which every function of the case sees."""
        for k in range(self.rng.randint(1, 2)):
            ty = self.pick(["i64", "i64", "f64", "bool"])
            value = self.constant(ty, 0) if self.chance(0.6) or ty == "bool" else Binary(ty, self.pick("+-*"), self.constant(ty, 0), self.constant(ty, 0))
            name = f"{self.name.upper()}_K{k}"
            # Without a type a constant is as its literal: it has to fit where it is converted.
            plain = isinstance(value, Lit) and ty != "f64" and value.value >= 0
            self.consts.append(Let(name, ty, value, shown=not plain or self.chance(0.3)))
            self.global_names[name] = Var(name, ty)

    def script_case(self) -> Case:
        """Statements at the top level of the program; the value at the end is printed."""
        if self.chance(0.4):
            self.helpers.append(self.helper(f"{self.name}_h0"))
        saved = self.enter(None, [], self.pick([20, 40, 70]))
        weights, self.weights = self.weights, {**self.weights, "lambda": 0, "transform": 0}  # variables of the top level are not captured
        body = Block(self.statements(self.rng.randint(2, 7), 3), self.expr("i64", 2))
        self.weights = weights
        effects = self.leave(saved)
        main = Function(self.name, [], "i64", body, effects=effects)
        return Case(self.seed, self.topic, list(self.structs), self.helpers + [main], [[]], kind="script")

    def arguments(self, function):
        calls = []
        for k in range(self.rng.randint(2, 5)):
            sizes = {}
            calls.append([self.constant(self.with_sizes(t, sizes), 0.08 if k else 0.0) for _, t, _ in function.params])
        return calls

    def with_sizes(self, ty, sizes):
        """The type of an argument: a number for each size, the same for the same name."""
        if isinstance(ty, Tensor):
            weights = [1, 1, 2, 3, 2, 1] if self.topic != "derivatives" else [1, 2, 4, 3, 0, 0]
            dims = [d if isinstance(d, int) else self.rng.randint(0, 5) if d.startswith("?")
                    else sizes.setdefault(d, self.rng.choices([0, 1, 2, 3, 4, 5], weights)[0])
                    for d in ty.dims]
            return Tensor(ty.elem, tuple(dims))
        if isinstance(ty, Tup):
            return Tup(tuple(self.with_sizes(t, sizes) for t in ty.items))
        return ty


# The topics in turn; the ones that find most come more often, and a short run meets each kind.
ORDER = ["control", "mixed", "derivatives", "batches", "sizes", "failures", "places", "aggregates", "library", "lists", "tensors", "functions", "numbers", "comprehensions",
         "scalars", "places", "text", "derivatives", "batches"]


def make(seed: int, topic: str) -> Case:
    for again in range(20):
        try:
            return Generator(seed, topic, f"c{seed % 100000}", again).case()
        except NoValue:
            continue
    raise NoValue


def root(e) -> str:
    """The variable that a place is in."""
    while not isinstance(e, Name):
        e = e.a
    return e.name
