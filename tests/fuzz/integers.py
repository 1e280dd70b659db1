#!/usr/bin/env python3
"""Random kernels of integers beside Python's integers: every width and sign, sizes known and unknown, AVX2 and AVX-512.

  integers.py --tl build/tl [--seconds S | --count N] [--seed N] [--jobs N] [--size N]

A program holds so many kernels (--size); each prints a few numbers, which Python computes from the same tree with
explicit wrapping. A program that prints others, fails, does not end in time, or in which LLVM takes too long for a
kernel is taken apart: the kernels that do so alone are made small and written down. Ends with `N passed, N failed`.
"""
import argparse
import os
import random
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

WIDTHS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "u8": 8, "u16": 16, "u32": 32, "u64": 64, "bool": 1}
INTEGERS = [t for t in WIDTHS if t != "bool"]
SIZES = [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 77, 100, 127, 128, 129, 200]
# Environment, command and flags, by share. AVX-512 is what a machine that has it takes without being told. `build` makes an
# executable, in another process than the one that runs it.
WAYS = [(10, {}, ("run",)), (6, {"TL_CPU": "x86-64-v3"}, ("run",)), (1, {}, ("run", "--sync")), (1, {}, ("run", "--schedule-seed", "7")),
        (1, {}, ("run", "--interp")), (1, {}, ("run", "--device", "gpu-emu")), (3, {}, ("build",)),
        (1, {}, ("build", "--target", "x86-64-v3"))]
MEMORY = 8_000_000 * 1024


def wrap(kind, value):
    if kind == "bool":
        return int(value != 0)
    value &= (1 << WIDTHS[kind]) - 1
    return value - (1 << WIDTHS[kind]) if kind[0] == "i" and value >> (WIDTHS[kind] - 1) else value


def shift(kind, x, count, left):
    count = max(count, 0)
    if left:
        return x << count if count < WIDTHS[kind] else 0
    return x >> min(count, 200)


# name: text, value of (kind of the operands, operands); the value is wrapped to the node's kind.
UNARY = {"-({})": lambda k, x: -x, "abs({})": lambda k, x: abs(x), "sign({})": lambda k, x: (x > 0) - (x < 0), "bit_not({})": lambda k, x: ~x}
BINARY = {
    "({} + {})": lambda k, x, y: x + y, "({} - {})": lambda k, x, y: x - y, "({} * {})": lambda k, x, y: x * y,
    "bit_and({}, {})": lambda k, x, y: x & y, "bit_or({}, {})": lambda k, x, y: x | y, "bit_xor({}, {})": lambda k, x, y: x ^ y,
    "min({}, {})": lambda k, x, y: min(x, y), "max({}, {})": lambda k, x, y: max(x, y),
    "shift_left({}, {})": lambda k, x, y: shift(k, x, y, True), "shift_right({}, {})": lambda k, x, y: shift(k, x, y, False),
    "({} // bit_or({}, 1))": lambda k, x, y: x // wrap(k, y | 1), "({} % bit_or({}, 1))": lambda k, x, y: x % wrap(k, y | 1)}
COMPARED = {"({} == {})": lambda k, x, y: x == y, "({} != {})": lambda k, x, y: x != y, "({} < {})": lambda k, x, y: x < y,
            "({} <= {})": lambda k, x, y: x <= y, "({} > {})": lambda k, x, y: x > y, "({} >= {})": lambda k, x, y: x >= y}
LOGICAL = {"({} and {})": lambda k, x, y: x and y, "({} or {})": lambda k, x, y: x or y}


class Node:
    """A text with places for the operands' texts, and how its value comes from theirs; a variable has neither."""

    def __init__(self, kind, form, function=None, operands=(), name=None):
        self.kind, self.form, self.function, self.operands, self.name = kind, form, function, list(operands), name

    def text(self):
        return self.form.format(*(o.text() for o in self.operands))

    def value(self, names):
        if self.name:
            return names[self.name]
        if self.function is None:
            return self.constant
        given = self.operands[0].kind if self.operands else self.kind
        if self.form.startswith(("where", "(if")):
            return self.operands[1 if self.operands[0].value(names) else 2].value(names)
        return wrap(self.kind, self.function(given, *(o.value(names) for o in self.operands)))


def constant(kind, value):
    value = wrap(kind, value)
    if kind == "i64":
        value = max(value, -(1 << 63) + 1)  # the text of the least is that of a number which is no i64
    node = Node(kind, ("true" if value else "false") if kind == "bool" else f"{kind}({value})")
    node.constant = value
    return node


class Maker:
    def __init__(self, rng):
        self.rng = rng

    def some_constant(self, kind):
        rng = self.rng
        return constant(kind, rng.choice([0, 1, -1, 2, 3, rng.randint(-9, 9), rng.getrandbits(64), 1 << rng.randrange(64), (1 << rng.randrange(64)) - 1]))

    def tree(self, kind, depth, names):
        """An expression of this kind; names: kinds of what it may name."""
        rng = self.rng
        fitting = [n for n, k in names.items() if k == kind]
        if depth <= 0 or rng.random() < 0.08:
            if fitting and rng.random() < 0.75:
                name = rng.choice(fitting)
                return Node(kind, name, name=name)
            others = [n for n, k in names.items() if k != kind]
            if others and rng.random() < 0.6:
                name = rng.choice(others)
                return Node(kind, f"{kind}({{}})", lambda k, x: x, [Node(names[name], name, name=name)])
            return self.some_constant(kind)
        sub = lambda k: self.tree(k, depth - 1, names)  # noqa: E731
        if rng.random() < 0.1:
            form = rng.choice(["where({}, {}, {})", "(if {} {{ {} }} else {{ {} }})"])
            return Node(kind, form, lambda *_: 0, [sub("bool"), sub(kind), sub(kind)])
        if kind == "bool":
            at = rng.random()
            of = rng.choice(INTEGERS)
            if at < 0.15:
                return Node(kind, "(not {})", lambda k, x: not x, [sub("bool")])
            if at < 0.35:
                form = rng.choice(list(LOGICAL))
                return Node(kind, form, LOGICAL[form], [sub("bool"), sub("bool")])
            if at < 0.45:
                return Node(kind, "bool({})", lambda k, x: x, [sub(of)])
            form = rng.choice(list(COMPARED))
            return Node(kind, form, COMPARED[form], [sub(of), sub(of)])
        at = rng.random()
        if at < 0.2:
            return Node(kind, f"{kind}({{}})", lambda k, x: x, [sub(rng.choice(list(WIDTHS)))])
        if at < 0.3:
            form = rng.choice([f for f in UNARY if kind[0] == "i" or "bit" in f])
            return Node(kind, form, UNARY[form], [sub(kind)])
        form = rng.choice(list(BINARY))
        right = sub(kind)
        if form.startswith("shift") and rng.random() < 0.8:
            right = constant(kind, rng.randint(0, WIDTHS[kind])) if rng.random() < 0.5 else Node(
                kind, "bit_and({}, {})", BINARY["bit_and({}, {})"], [right, constant(kind, WIDTHS[kind] - 1)])
        return Node(kind, form, BINARY[form], [sub(kind), right])


class Kernel:
    """Data by an arithmetic progression that wraps, an expression over it (maybe in a loop), and numbers of the results."""

    def __init__(self, seed):
        rng = random.Random(seed)
        make = Maker(rng)
        self.seed = seed
        self.kinds = [rng.choice(INTEGERS) for _ in range(2)]
        self.factors = [(rng.getrandbits(63) | 1, rng.getrandbits(40)) for _ in range(2)]
        self.size = rng.choice(SIZES)
        self.known = rng.random() < 0.6
        self.kind = rng.choice(INTEGERS if rng.random() < 0.9 else ["bool"])
        self.loop = rng.choice([None, None, "for", "while", "sum"])
        self.times = rng.choice([2, 3, 8, 9, 64 if self.size < 80 else 5])
        names = {"x": self.kinds[0], "y": self.kinds[1], "i": "i64"}
        self.start = make.tree(self.kind, rng.randint(1, 3), names)
        inner = {**names, "k": "i64", **({"a": self.kind} if self.loop in ("for", "while") else {})}
        self.step = make.tree(self.kind, rng.randint(1, 4), inner)
        self.condition = make.tree("bool", rng.randint(1, 2), inner)
        self.kept = rng.random() < 0.5  # as a tensor before it is reduced

    def trees(self):
        return [self.start] + ([self.step, self.condition] if self.loop else [])

    def function(self, n):
        head = f"fn f{n}(x: {self.kinds[0]}, y: {self.kinds[1]}, i: i64) -> {'i64' if self.loop == 'sum' else self.kind}"
        start, step, condition = self.start.text(), self.step.text(), self.condition.text()
        if self.loop == "for":
            return f"{head} {{\n  var a = {start}\n  for k in 0..{self.times} {{ if {condition} {{ a = {step} }} }}\n  a\n}}\n"
        if self.loop == "while":
            return f"{head} {{\n  var a = {start}\n  var k = 0\n  while k < {self.times} and {condition} {{\n    a = {step}\n    k += 1\n  }}\n  a\n}}\n"
        if self.loop == "sum":
            return f"{head} = sum(i64({step}) for k in 0..{self.times}) + i64({start})\n"
        return f"{head} = {start}\n"

    def result(self):
        return "i64" if self.loop == "sum" else self.kind

    def body(self, n):
        """Statements; the size is a number, or the parameter of main for it."""
        size = str(self.size) if self.known else f"n{self.size}"
        lines = [f"let {v}{n} = [{k}(u64(i) * {f} + {s}) for i in 0..{size}]" for v, k, (f, s) in zip("xy", self.kinds, self.factors)]
        call = f"f{n}(x{n}[i], y{n}[i], i)"
        if self.kept:
            lines.append(f"let r{n} = [{call} for i in 0..{size}]")
            call = f"r{n}[i]"
        each = f"for i in 0..{size}"
        numbers = [f"sum(u64({call}) * u64(2 * i + 1) {each})"]
        numbers += [f"sum(i64({call}) {each})", f"max([{call} {each}])", f"min([{call} {each}])"] if self.result() != "bool" else [
            f"any([{call} {each}])", f"all([{call} {each}])"]
        lines.append(f'print("{n}", {", ".join(numbers)})')
        return lines

    def element(self, x, y, i):
        names = {"x": x, "y": y, "i": i}
        a = self.start.value(names)
        if self.loop == "sum":
            return wrap("i64", sum(wrap("i64", self.step.value({**names, "k": k})) for k in range(self.times)) + wrap("i64", a))
        for k in range(self.times if self.loop else 0):
            inner = {**names, "k": k, "a": a}
            if self.condition.value(inner):
                a = self.step.value(inner)
            elif self.loop == "while":
                break
        return a

    def expected(self, n):
        data = [[wrap(k, (i * f + s) & ((1 << 64) - 1)) for i in range(self.size)] for k, (f, s) in zip(self.kinds, self.factors)]
        r = [self.element(x, y, i) for i, (x, y) in enumerate(zip(*data))]
        numbers = [sum(wrap("u64", v) * (2 * i + 1) for i, v in enumerate(r)) % (1 << 64)]
        if self.result() == "bool":
            return f"{n} {numbers[0]} {str(any(r)).lower()} {str(all(r)).lower()}"
        return " ".join(map(str, [n, numbers[0], wrap("i64", sum(wrap("i64", v) for v in r)), max(r), min(r)]))


def program(kernels):
    sizes = sorted({k.size for k in kernels if not k.known})
    text = "".join(k.function(n) for n, k in enumerate(kernels))
    text += f"fn main({', '.join(f'n{s}: i64' for s in sizes)}) {{\n"
    for n, kernel in enumerate(kernels):
        text += "".join(f"  {line}\n" for line in kernel.body(n))
    return text + "}\n", [word for s in sizes for word in (f"--n{s}", str(s))]


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def commands(tl, way, path, words):
    """What is run, one after the other; the last prints the numbers."""
    if way[0] == "build":
        executable = path.removesuffix(".tl")
        return [[tl, "build", "--no-cache", *way[1:], path, "-o", executable], [executable, *words]]
    return [[tl, "run", *(["--no-cache", "--stats"] if "--interp" not in way else []), *way[1:], path, *words]]


def examine(options, kernels, way, seconds=None):
    """What is wrong with a program of these kernels, or nothing."""
    environment, flags = way
    text, words = program(kernels)
    path = os.path.join(options.out, f"running_{os.getpid()}_{id(kernels)}.tl")
    with open(path, "w") as file:
        file.write(text)
    try:
        for command in commands(options.tl, flags, os.path.abspath(path), words):
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds or options.timeout,
                                  env={**os.environ, **environment}, preexec_fn=None if "gpu-emu" in flags else limited)
            if done.returncode != 0:
                break
    except subprocess.TimeoutExpired:
        return "does not end"
    finally:
        for made in (path, path.removesuffix(".tl")):
            if os.path.exists(made):
                os.unlink(made)
    if done.returncode != 0:
        return f"exit {done.returncode}: {done.stderr[:600]}"
    if "compiled plainly" in done.stderr:
        return "LLVM takes too long"
    wanted = [k.expected(n) for n, k in enumerate(kernels)]
    wrong = [f"{w}, not {g}" for g, w in zip(done.stdout.splitlines(), wanted) if g != w]
    return "; ".join(wrong[:3]) or ("" if len(done.stdout.splitlines()) == len(wanted) else "fewer lines")


def smaller(kernel):
    """Changes that make a kernel smaller, each with what takes it back."""
    def change(owner, name, value):
        before = getattr(owner, name)
        if before != value:
            setattr(owner, name, value)
            yield lambda: setattr(owner, name, before)

    yield from change(kernel, "loop", None)
    for times in (2, 8):
        if kernel.times > times:
            yield from change(kernel, "times", times)
    for tree in kernel.trees():
        stack = [tree]
        while stack:
            node = stack.pop()
            for other in [o for o in node.operands if o.kind == node.kind] + ([constant(node.kind, 1)] if node.operands else []):
                before = dict(node.__dict__)
                node.__dict__.clear()
                node.__dict__.update(other.__dict__)
                yield lambda node=node, before=before: (node.__dict__.clear(), node.__dict__.update(before))
                if node.__dict__ != before:
                    break
            stack += node.operands


def shrink(options, kernel, way, wrong):
    """Makes it small while the same sort of fault stays, for a while."""
    end = time.time() + options.shrink
    again = True
    while again and time.time() < end:
        again = False
        for undo in smaller(kernel):
            if time.time() > end:
                undo()
                break
            now = examine(options, [kernel], way, 20)
            if now and now[:6] == wrong[:6]:
                again = True
            else:
                undo()
    return kernel


def batch(options, first):
    """The number of kernels that are right, and findings: (seed, way, what is wrong, program)."""
    rng = random.Random(f"way {first}")
    (environment, flags), = rng.choices([w[1:] for w in WAYS], [w[0] for w in WAYS])
    kernels = [Kernel(seed) for seed in range(first, first + options.size)]
    if not examine(options, kernels, (environment, flags)):
        return len(kernels), []
    findings = []
    for kernel in kernels:
        wrong = examine(options, [kernel], (environment, flags))
        if wrong:
            kernel = shrink(options, kernel, (environment, flags), wrong)
            findings.append((kernel.seed, (environment, flags), wrong, program([kernel])))
    if not findings:  # only together
        wrong = examine(options, kernels, (environment, flags))
        if wrong:
            findings.append((first, (environment, flags), "together: " + wrong, program(kernels)))
    return len(kernels) - len(findings), findings


def report(options, finding):
    seed, (environment, flags), wrong, (text, words) = finding
    path = os.path.join(options.out, f"integers_{seed}.tl")
    parts = [" ".join(command) for command in commands("tl", flags, path, words)]
    how = " ".join([f"{k}={v}" for k, v in environment.items()] + [" && ".join(parts)])
    with open(path, "w") as file:
        file.write(text + f"# {how}\n" + "".join(f"# {line}\n" for line in wrong.splitlines()))
    print(f"seed {seed}: {wrong.splitlines()[0]}\n  {how}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tl", required=True, help="the program to test")
    parser.add_argument("--seed", type=int, help="of the first kernel (default: fresh)")
    parser.add_argument("--count", type=int, default=0, help="how many kernels")
    parser.add_argument("--seconds", type=float, default=60, help="how long, where --count does not say how many")
    parser.add_argument("--size", type=int, default=25, help="kernels of one program")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--timeout", type=float, default=120, help="seconds after which a program hangs")
    parser.add_argument("--shrink", type=float, default=40, help="seconds for making one kernel small")
    parser.add_argument("--out", default="build/fuzz", help="where kernels go that are wrong")
    options = parser.parse_args()
    options.tl = os.path.abspath(options.tl)
    os.makedirs(options.out, exist_ok=True)
    first = options.seed if options.seed is not None else random.SystemRandom().randrange(1, 10**9) * 1000
    print(f"integers: seed {first}, {options.jobs} jobs", flush=True)
    end = time.time() + options.seconds
    batches = (options.count + options.size - 1) // options.size if options.count else 10**9
    passed, failed, number = 0, 0, 0
    with ThreadPoolExecutor(options.jobs) as pool:
        while number < batches and (options.count or time.time() < end):
            part = range(number, min(number + options.jobs, batches))
            number += len(part)
            for right, findings in pool.map(lambda n: batch(options, first + n * options.size), part):
                passed += right
                failed += len(findings)
                for finding in findings:
                    report(options, finding)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
