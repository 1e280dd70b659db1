"""Index arithmetic at the ends of i64: random functions of a few i64 whose values become subscripts, bounds of slices and
ranges, and sizes, with asserts and tests from which the checker proves what it can.

Python's integers are the oracle: i64 arithmetic wraps where the language says so, a subscript is in range or an error, a
slice is cut as NumPy does, a size is a number that an axis may have or an error. So a wrong proof shows as a wrong number, a
crash or, in a build with TL_KEEP_CHECKS, as a check that fails though it was proven. Each call is a run of its own; what a
program prints and how it ends must be what the oracle says.
"""

import random
import subprocess

MIN, MAX = -(2**63), 2**63 - 1
LONGEST = 2**47  # of an axis
SMALL = 4096  # sizes that the oracle makes


class Fails(Exception):
    """The program ends with this kind of error."""


class Unknown(Exception):
    """What happens here is not said exactly enough to compare."""


def wrap(x):
    return (x + 2**63) % 2**64 - 2**63


def number(rng):
    """Near the ends, near 0, near powers of two, or any."""
    kind = rng.random()
    if kind < 0.35:
        return rng.randint(-4, 12)
    if kind < 0.55:
        return rng.choice([MIN, MAX]) + rng.randint(0, 5) * rng.choice([1, -1])
    if kind < 0.8:
        return rng.choice([1, -1]) * 2 ** rng.randint(8, 63) + rng.randint(-3, 3)
    return rng.randint(MIN, MAX)


def clamp64(x):
    return max(MIN, min(MAX, x))


def literal(x):
    x = clamp64(x)
    return str(x) if x > MIN else "(-9223372036854775807 - 1)"


class Expr:
    """An i64 expression, as text and as a function of the arguments."""

    def __init__(self, text, value):
        self.text, self.value = text, value


def expression(rng, names, depth):
    if depth == 0 or rng.random() < 0.2:
        if rng.random() < 0.65:
            name = rng.choice(names)
            return Expr(name, lambda env: env[name])
        n = clamp64(number(rng))
        return Expr(literal(n) if n >= 0 else f"({literal(n)})", lambda env: n)
    op = rng.choice(["+", "+", "-", "-", "*", "*", "%", "//", "min", "max", "clip"])
    a = expression(rng, names, depth - 1)
    if op in ("%", "//") and rng.random() < 0.7:
        n = rng.choice([1, 2, 3, 7, 8, 16, 1000, 2**31, 2**32, 2**62, -1, -2, -3, -7, -(2**62)])
        b = Expr(f"({n})" if n < 0 else str(n), lambda env: n)
    else:
        b = expression(rng, names, depth - 1)
    if op == "clip":
        c = expression(rng, names, depth - 1)
        return Expr(f"clamp({a.text}, {b.text}, {c.text})", lambda env: min(max(a.value(env), b.value(env)), c.value(env)))
    if op in ("min", "max"):
        f = min if op == "min" else max
        return Expr(f"{op}({a.text}, {b.text})", lambda env: f(a.value(env), b.value(env)))
    if op in ("%", "//"):

        def divided(env):
            x, y = a.value(env), b.value(env)
            if y == 0:
                raise Fails("DivisionByZero")
            return wrap(x % y if op == "%" else x // y)

        return Expr(f"({a.text} {op} {b.text})", divided)
    f = {"+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y}[op]
    return Expr(f"({a.text} {op} {b.text})", lambda env: wrap(f(a.value(env), b.value(env))))


def condition(rng, names):
    """Something to assert or to test, from which the checker learns."""
    op = rng.choice(["<", "<=", ">", ">=", "=="] if rng.random() < 0.15 else ["<", "<=", ">", ">="])
    a, b = expression(rng, names, rng.randint(0, 1)), expression(rng, names, rng.randint(0, 1))
    tests = {"<": lambda x, y: x < y, "<=": lambda x, y: x <= y, ">": lambda x, y: x > y, ">=": lambda x, y: x >= y}
    test = tests.get(op, lambda x, y: x == y)
    return f"{a.text} {op} {b.text}", lambda env: test(a.value(env), b.value(env))


def subscript(i, n):
    if -n <= i < n:
        return i % n
    raise Fails("IndexOutOfRange")


def made(size):
    """A size that a tensor is made with."""
    if size < 0:
        raise Fails("NegativeSize")
    if size > LONGEST:
        raise Fails("SizeOverflow")
    if size > SMALL:
        raise Unknown
    return size


def use(rng, names):
    """A statement that prints what an index gives. x is [0, 1, … n - 1] of f64."""
    e = expression(rng, names, rng.randint(1, 3))
    f = expression(rng, names, rng.randint(1, 2))
    kind = rng.choice(["at", "at", "at", "slice", "slice", "step", "write", "loop", "size", "sum", "comprehension"])
    if kind == "at":
        return f"print(x[{e.text}])", lambda env, out: out.append(f"{subscript(e.value(env), env['n'])}.0")
    if kind == "slice":

        def sliced(env, out):
            part = list(range(env["n"]))[e.value(env) : f.value(env)]
            out.append(f"{len(part)} {sum(part)}.0")

        return f"{{ let p = x[{e.text}:{f.text}]\n    print(len(p), p.sum()) }}", sliced
    if kind == "step":
        step = rng.choice([1, 2, 3, -1, -2, MAX, -MAX, 2**62])

        def stepped(env, out):
            part = list(range(env["n"]))[e.value(env) :: step]
            out.append(f"{len(part)} {sum(part)}.0")

        return f"{{ let p = x[{e.text}::{step}]\n    print(len(p), p.sum()) }}", stepped
    if kind == "write":

        def written(env, out):
            at = subscript(e.value(env), env["n"])
            out.append(f"{sum(range(env['n'])) - at + 100}.0")

        return f"{{ var w = x\n    w[{e.text}] = 100.0\n    print(w.sum()) }}", written
    if kind == "loop":
        step = rng.choice([1, 2, 5, 2**62, MAX, -1, -3])

        def looped(env, out):
            turns = range(e.value(env), f.value(env), step)
            if len_of(turns) > 1000:
                raise Unknown
            total = 0
            for i in turns:
                total = wrap(total * 31 + i)
            out.append(str(total))

        text = f"{{ var t = 0\n    for i in range({e.text}, {f.text}, {step}) {{ t = t * 31 + i }}\n    print(t) }}"
        return text, looped
    if kind == "size":

        def sized(env, out):
            out.append(f"{made(e.value(env))}.0")

        return f"print(ones([{e.text}]).sum())", sized
    if kind == "sum":

        def summed(env, out):
            lo, hi = e.value(env), f.value(env)
            if hi - lo > 1000:
                raise Unknown
            out.append(f"{sum(subscript(k, env['n']) for k in range(lo, hi))}.0")

        return f"print(sum(x[k] for k in {e.text}..{f.text}))", summed

    def each(env, out):
        hi = e.value(env)
        if hi > 1000:
            raise Unknown
        total = 0
        for k in range(0, hi):
            total += subscript(wrap(k + f.value(env)), env["n"])
        out.append(f"{total}.0")

    return f"print([x[k + {f.text}] for k in 0..{e.text}].sum())", each


def len_of(r):
    """len() refuses what is no Py_ssize_t."""
    return max(0, (r.stop - r.start + r.step - (1 if r.step > 0 else -1)) // r.step)


def function(rng, name):
    """The text of a function of x and some i64, and what it does."""
    params = [f"k{i}" for i in range(rng.randint(1, 3))]
    names = params + ["n"]
    lines, steps = [], []
    for i in range(rng.randint(1, 4)):
        kind = rng.random()
        if kind < 0.25:
            text, test = condition(rng, names)
            lines.append(f"assert {text}")

            def check(env, out, test=test):
                if not test(env):
                    raise Fails("AssertionFailed")

            steps.append(check)
        elif kind < 0.45:
            e = expression(rng, names, 2)
            own = f"v{i}"
            lines.append(f"let {own} = {e.text}")

            def bind(env, out, own=own, e=e):
                env[own] = e.value(env)

            steps.append(bind)
            names = names + [own]
        elif kind < 0.65:
            text, test = condition(rng, names)
            inner, run = use(rng, names)
            lines.append(f"if {text} {{ {inner} }}")

            def tested(env, out, test=test, run=run):
                if test(env):
                    run(env, out)

            steps.append(tested)
        else:
            inner, run = use(rng, names)
            lines.append(f"if true {inner}" if inner.startswith("{") else inner)
            steps.append(run)
    inner, run = use(rng, names)
    lines.append(f"if true {inner}" if inner.startswith("{") else inner)
    steps.append(run)
    body = "\n  ".join(line.replace("{ {", "{").replace("} }", "}") if line.startswith("if ") else line for line in lines)
    signature = ", ".join(f"{p}: i64" for p in params)
    return f"fn {name}(x: f64[n], {signature}) {{\n  {body}\n}}\n", params, steps


def expected(params, steps, values, n):
    """The lines and the kind of the error, if any."""
    env = dict(zip(params, values), n=n)
    out = []
    try:
        for step in steps:
            step(env, out)
    except Fails as kind:
        return out, str(kind)
    return out, None


# Where the compiler already knows: the same fault as a message before the run.
EARLY = {"IndexOutOfRange", "NegativeSize", "SizeOverflow", "DivisionByZero", "AssertionFailed", "WrongArguments", "WrongIndex"}


def compare(oracle, folder, program, options, arguments, lines, kind):
    try:
        done = oracle.run(folder, program, options, arguments, timeout=20)
    except subprocess.TimeoutExpired:
        return None if kind else "it does not end"  # what goes on behind a failure may be a long loop
    got = done.stdout.splitlines()
    if done.returncode == 1 and any(f"error[{k}]" in done.stderr for k in EARLY):
        return None  # it says so before it runs
    if kind is None:
        # To compute a size may take a number that is no i64 though the size itself is one: said, and no harm.
        if done.returncode == 3 and "is no i64" in done.stderr:
            return None
        if done.returncode != 0:
            return f"exit code {done.returncode} where {lines} is expected: {done.stderr[:300]}"
        return None if got == lines else f"prints {got}, not {lines}"
    if done.returncode == 3 and "error[SizeOverflow]" in done.stderr:
        return None if got[: len(lines)] == lines[: len(got)] else f"prints {got}, not {lines}"
    if kind == "DivisionByZero" and done.returncode == 3:
        return None  # perhaps of a value that nothing needs: what fails next may end the program before
    if done.returncode != 3 or f"error[{kind}]" not in done.stderr:
        return f"exit code {done.returncode} where {kind} is expected: {got} {done.stderr[:300]}"
    return None if got == lines else f"prints {got}, not {lines}, before {kind}"


SEED, COUNT = 1, 60  # the count is of functions
CALLS = 4  # of each


def run(oracle):
    rng = random.Random(oracle.seed)
    for case in range(oracle.count):
        text, params, steps = function(rng, "f")
        calls = []
        for _ in range(CALLS):
            values, n = [clamp64(number(rng)) for _ in params], rng.choice([1, 2, 3, 5, 8])
            try:
                calls.append((values, n, expected(params, steps, values, n)))
            except Unknown:
                pass
        arguments = ", ".join(f"{p}: i64 = 0" for p in params)
        program = text + f"fn main(size: i64 = 3, {arguments}) {{ f(f64(arange(size)), {', '.join(params)}) }}\n"
        for values, n, (lines, kind) in calls:
            options = ["--interp"] if rng.random() < 0.3 else []
            own = ["--size", str(n)] + [f"--{p}={v}" for p, v in zip(params, values)]
            with oracle.folder() as folder:
                problem = compare(oracle, folder, program, options, own, lines, kind)
                command = " ".join(["run", *options, "program.tl", *own])
                oracle.check(not problem, f"case {case}: {problem}\n  {command}\n" + "".join(f"  | {line}\n" for line in program.splitlines()))
            if problem:
                break
