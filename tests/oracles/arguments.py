"""Which arguments fit which parameters: random types of parameters (tensors with sizes that have names, tuples, structs with and without sizes,
lists) and random values, some of which fit. Python decides which do, and what the named sizes are; the others have to be refused with a place,
wherever the call stands. The interpreter's answers are the same.
"""
import random

SEED, COUNT = 0, 400
STRUCTS = {"S": (["n"], [("f", ("tensor", ["n"]))]), "G": (["n", "m"], [("a", ("tensor", ["n"])), ("b", ("tensor", ["m", "n"]))]),
           "R": ([], [("x", ("tensor", [])), ("v", ("tensor", ["2"]))]),
           "N": (["k"], [("s", ("struct", "S", ["k"])), ("t", ("tuple", [("tensor", ["k"]), ("tensor", [])]))])}
PLACES = ["print({})", "let y = {}\nprint(y)", "var y = 0\ny = {}\nprint(y)", "var c = 0\nfor _ in 0..{} {{ c += 1 }}\nprint(c)",
          "if {} >= 0 {{ print({}) }}", "fn outer() -> i64 {{ {} }}\nprint(outer())", "print([{}, 1][0])", "let t = ({}, 2)\nprint(t[0])",
          "assert {} >= 0\nprint({})"]


def text_of_type(t):
    kind = t[0]
    if kind == "tensor":
        return "f64" + (f"[{', '.join(t[1])}]" if t[1] else "")
    if kind == "tuple":
        return f"({', '.join(map(text_of_type, t[1]))}{',' if len(t[1]) == 1 else ''})"
    if kind == "list":
        return f"List<{text_of_type(t[1])}>"
    return t[1] + (f"[{', '.join(t[2])}]" if t[2] else "")


def random_type(rng, depth=2):
    kind = rng.choice(["tensor"] * 3 + (["tuple", "tuple", "struct", "struct", "list"] if depth else []))
    size = lambda: rng.choice(["n", "n", "m", "k", "2", "n + 1", "2 * n"])
    if kind == "tensor":
        return ("tensor", [size() for _ in range(rng.choice([0, 1, 1, 2]))])
    if kind == "tuple":
        return ("tuple", [random_type(rng, depth - 1) for _ in range(rng.randint(1, 3))])
    if kind == "list":
        return ("list", ("tensor", rng.choice([[], ["_"], ["3"]])))
    name = rng.choice(list(STRUCTS))
    sizes = STRUCTS[name][0]
    return ("struct", name, [] if not sizes or rng.random() < 0.4 else [rng.choice(["n", "m", "k", "2"]) for _ in sizes])


def value_of(rng, t, sizes):
    """One that fits, where all sizes with names are these."""
    kind = t[0]
    if kind == "tensor":
        return ("tensor", [eval(s, {}, dict(sizes, _=rng.randint(1, 3))) for s in t[1]])
    if kind == "tuple":
        return ("tuple", [value_of(rng, e, sizes) for e in t[1]])
    if kind == "list":
        return ("list", [value_of(rng, t[1], sizes) for _ in range(rng.randint(1, 3))])
    names, fields = STRUCTS[t[1]]
    own = {name: eval(t[2][i], {}, sizes) if t[2] else rng.randint(1, 3) for i, name in enumerate(names)}
    return ("struct", t[1], own, [value_of(rng, field, own) for _, field in fields])


def changed(rng, v):
    """Another value: one part of it is something else."""
    kind = v[0]
    if kind in ("tuple", "list") and rng.random() < 0.7:
        i = rng.randrange(len(v[1]))
        return (kind, [changed(rng, e) if i == k else e for k, e in enumerate(v[1])])
    if kind == "tensor" and v[1] and rng.random() < 0.5:
        i = rng.randrange(len(v[1]))
        return (kind, [n + 1 if i == k else n for k, n in enumerate(v[1])])
    return value_of(rng, random_type(rng), {"n": 1, "m": 2, "k": 3})


def text_of(v):
    kind = v[0]
    if kind == "tensor":
        text = "1.5"
        for n in reversed(v[1]):
            text = f"[{', '.join([text] * n)}]"
        return text
    if kind == "tuple":
        return f"({', '.join(map(text_of, v[1]))}{',' if len(v[1]) == 1 else ''})"
    if kind == "list":
        return f"list({', '.join(map(text_of, v[1]))})"
    return f"{v[1]}({', '.join(f'{name} = {text_of(f)}' for (name, _), f in zip(STRUCTS[v[1]][1], v[3]))})"


def pairs(t, v):
    """(size as written, size there is) of all axes; raises where the forms differ."""
    kind = t[0]
    if kind != v[0]:
        raise ValueError
    if kind == "tensor":
        if len(t[1]) != len(v[1]):
            raise ValueError
        yield from zip(t[1], v[1])
    elif kind == "list":
        for e in v[1]:
            yield from ((s, n) for s, n in pairs(t[1], e) if s != "_")
    elif kind == "tuple":
        if len(t[1]) != len(v[1]):
            raise ValueError
        for a, b in zip(t[1], v[1]):
            yield from pairs(a, b)
    else:
        if t[1] != v[1]:
            raise ValueError
        yield from ((s, v[2][name]) for s, name in zip(t[2], STRUCTS[t[1]][0]))


def solved(t, v):
    """The named sizes, or nothing where the value does not fit. Sizes are solved where they stand alone or as `n + 1` or `2 * n`."""
    if t[0] == "list" and v[0] == "tensor" and v[1]:  # a list may be written as a tensor is
        v = ("list", [("tensor", v[1][1:])] * v[1][0])
    try:
        all_pairs = list(pairs(t, v))
    except ValueError:
        return None
    known = {}
    for s, n in sorted(all_pairs, key=lambda p: len(p[0])):  # names first
        if s in ("n", "m", "k"):
            known.setdefault(s, n)
        elif s == "n + 1":
            known.setdefault("n", n - 1)
        elif s == "2 * n":
            known.setdefault("n", n // 2)
    return known if all(eval(s, {}, known) == n for s, n in all_pairs) else None


def declarations():
    for name, (sizes, fields) in STRUCTS.items():
        of = f"[{', '.join(sizes)}]" if sizes else ""
        yield f"struct {name}{of} {{ {', '.join(f'{field}: {text_of_type(t)}' for field, t in fields)} }}"


def names_in(t):
    if t[0] == "tensor":
        return {s.strip("2 *+1") for s in t[1]} & {"n", "m", "k"}
    if t[0] == "tuple":
        return set().union(*map(names_in, t[1]))
    return set(t[2]) & {"n", "m", "k"} if t[0] == "struct" else set()


def run(oracle):
    with oracle.folder() as folder:
        for number in range(oracle.count):
            rng = random.Random(f"{oracle.seed}-{number}")
            t = random_type(rng)
            v = value_of(rng, t, {name: rng.randint(1, 3) for name in "nmk"})
            if rng.random() < 0.65:
                v = changed(rng, v)
            names = sorted(names_in(t))
            sizes = solved(t, v)
            body = " + ".join(f"{10 ** i} * {name}" for i, name in enumerate(names)) or "7"
            place = rng.choice(PLACES)
            call = f"f({text_of(v)})"
            text = "\n".join([*declarations(), f"fn f(p: {text_of_type(t)}) -> i64 = {body}", place.format(*[call] * 2)]) + "\n"
            want = None if sizes is None else str(sum(10**i * sizes[name] for i, name in enumerate(names)) if names else 7)
            for options in ((), ("--interp",)):
                done = oracle.run(folder, text, options)
                if want is None:
                    good = done.returncode in (1, 3) and ".tl:" in done.stderr and "error[" in done.stderr
                    good = good and not (done.returncode == 1 and done.stdout)  # what is refused does not run
                else:
                    good = done.returncode == 0 and done.stdout.strip() == want
                oracle.check(good, f"{text}{' '.join(options)}: {done.returncode} {done.stdout!r} {done.stderr!r}, and not {want}")
