"""Complex numbers and Fourier transforms against NumPy's: random expressions of arithmetic with broadcasting, functions, reductions, products, views,
selections and updates over c64 and c128; `fft` and its relatives of lengths from 1 to some thousands (primes, powers, products) along any axis, in
each normalisation; files in both directions, eigenvalues, and derivatives by central differences. Cases run as those of `functions` do.
"""
import numpy as np

import functions
from functions import Case, Maker, call, run_cases

SEED = 0
COUNT = 4  # cases of each subject
PROGRAM = 30

FUNCTIONS = {"exp": np.exp, "log": np.log, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
             "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "exp2": np.exp2,
             "expm1": np.expm1, "log1p": np.log1p, "log2": np.log2, "log10": np.log10, "abs": np.abs, "angle": np.angle, "conj": np.conj, "real": np.real,
             "imag": np.imag, "sign": lambda z: z / np.where(np.abs(z) == 0, 1, np.abs(z)), "rsqrt": lambda z: 1 / np.sqrt(z),
             "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}
LENGTHS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 16, 25, 27, 31, 32, 48, 61, 63, 64, 65, 66, 67, 74, 81, 97, 100, 101, 121, 127, 128, 134, 144, 169, 210, 243,
           256, 289, 360, 509, 512, 541, 625, 720, 961, 1000, 1009, 1024, 1155, 2048, 2187, 3125, 3600, 4093, 4096]


def element(m):
    return m.pick(["c64", "c128"])


def part(type):
    return {"c64": "f32", "c128": "f64"}[type]


def numbers(m, type, shape):
    if type not in functions.COMPLEX:
        return m.array(type, shape)
    z = m.rng.standard_normal(shape) + 1j * m.rng.standard_normal(shape)
    return np.asarray(z * m.pick([1.0, 1.0, 3.0, 0.1])).astype(functions.COMPLEX[type])


def unlike_zero(z):
    """For what is divided by: nothing near 0."""
    return np.asarray(z + np.where(np.abs(z) < 0.3, 1, 0)).astype(z.dtype)


def elementwise(m, name):
    type = element(m)
    z = unlike_zero(numbers(m, type, m.shape(0, 3)))
    if m.rng.random() < 0.2 and z.size:  # on the axes, where branches are cut
        z = z.real.astype(z.dtype) if m.rng.random() < 0.5 else np.asarray(1j * z.imag).astype(z.dtype)
    function = FUNCTIONS[name]
    wide = 60 if name in ("asin", "acos", "atan", "asinh", "acosh", "atanh", "tan", "log", "log2", "log10", "log1p") else 12
    return Case(f"{name}(z)", {"z": z}, lambda: of_type(function, z), wide)


def of_type(function, z):
    """The result for z in the type that arrays of one axis give: for single numbers NumPy goes over to doubles."""
    return np.asarray(function(z)).astype(np.asarray(function(np.ones(1, z.dtype))).dtype)


def broadcast_shapes(m):
    shape = m.shape(0, 3)
    other = list(shape[m.rng.integers(0, len(shape) + 1):])
    return (shape, tuple(other)) if m.rng.random() < 0.5 else (tuple(other), shape)


def arithmetic(m):
    type = element(m)
    types = m.pick([(type, type), (type, part(type)), (part(type), type)])
    shapes = broadcast_shapes(m)
    a, b = (numbers(m, t, s) for t, s in zip(types, shapes, strict=True))
    op = m.pick(["+", "-", "*", "/"])
    if op == "/":
        b = unlike_zero(b)
    run = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}[op]
    return Case(f"a {op} b", {"a": a, "b": b}, lambda: run(a, b), 4)


def literals(m):
    type = element(m)
    z = numbers(m, type, m.shape(0, 2))
    text, function = m.pick([("2 * z + 1.5 - 0.5i", lambda z: 2 * z + (1.5 - 0.5j)), ("(1i) * z", lambda z: 1j * z), ("z / 2i", lambda z: z / 2j),
                             ("-z", lambda z: -z), ("1.0 / (z * conj(z) + 1.0)", lambda z: 1 / (z * np.conj(z) + 1)), ("z ** 3", lambda z: z ** 3),
                             ("z ** 2.5", lambda z: z ** 2.5), ("z ** (1.0 + 2i)", lambda z: z ** (1 + 2j)),
                             ("where(real(z) > 0.0, z, -z)", lambda z: np.where(z.real > 0, z, -z)), ("z == conj(z)", lambda z: z == np.conj(z)),
                             ("z != conj(z)", lambda z: z != np.conj(z)), ("complex(imag(z), 1.0)", lambda z: z.imag + 1j), ("z.imag", np.imag),
                             ("polar(abs(z), angle(z))", lambda z: z), ("cis(z.real)", lambda z: np.exp(1j * z.real)), ("2 - z", lambda z: 2 - z)])
    return Case(text, {"z": z}, lambda: of_type(function, z), 40)


def reduction(m, name, function):
    z = numbers(m, element(m), m.shape(empty=name == "sum"))
    axis, keep = m.axis(z.ndim), m.pick([True, False])
    return Case(call(name, "z", axis=axis, keep=keep), {"z": z}, lambda: function(z, axis=axis, keepdims=keep), 8)


def running(m, name, function):
    z = numbers(m, element(m), m.shape(1, 3))
    axis = m.one_axis(z.ndim)
    return Case(call(name, "z", axis=axis), {"z": z}, lambda: function(z, axis=axis), 30)


def view(m):
    z = numbers(m, element(m), m.shape(2, 2, empty=False))
    text, function = m.pick([
        ("z.T", lambda z: z.T), ("z[0]", lambda z: z[0]), ("z[-1, ::-1]", lambda z: z[-1, ::-1]), ("flatten(z)", np.ravel), ("z[:, new, :]", lambda z: z[:, None, :]),
        ("concat((z, z), axis = 1)", lambda z: np.concatenate((z, z), axis=1)), ("stack((z, 2.0 * z))", lambda z: np.stack((z, 2 * z))),
        ("roll(z, 1)", lambda z: np.roll(z, 1)), ("flip(z)", np.flip), ("z[real(z) > 0.0]", lambda z: z[z.real > 0]), ("take(z, [0, 0])", lambda z: z[[0, 0]]),
        ("[z[i, 0] for i]", lambda z: z[:, 0].copy()), ("[[z[i, j] * z[i, j] for i] for j]", lambda z: (z * z).T), ("zeros([2], TYPE) + z[0, 0]", lambda z: z[0, 0] + np.zeros(2, z.dtype)),
        ("broadcast_to(z[0], [3, z.shape[1]])", lambda z: np.broadcast_to(z[0], (3, z.shape[1]))), ("[z[0, 0], 2i, 1.0]", lambda z: np.array([z[0, 0], 2j, 1], z.dtype)),
        ("tile(z, [2, 1])", lambda z: np.tile(z, (2, 1))), ("repeat(z, 2, axis = 0)", lambda z: np.repeat(z, 2, axis=0)), ("trace(z)", np.trace), ("diff(z)", np.diff),
        ("pad(z, [(1, 0), (0, 2)])", lambda z: np.pad(z, [(1, 0), (0, 2)]))])
    names = {np.dtype(of): name for name, of in functions.COMPLEX.items()}
    return Case(text.replace("TYPE", names[z.dtype]), {"z": z}, lambda: function(z), 4)


def updated(z, change):
    w = z.copy()
    change(w)
    return w


def update(m):
    z = numbers(m, element(m), m.shape(2, 2, empty=False))

    def assigned(target, op, value):
        return lambda w: exec(f"w{target} {op} {value}", {"w": w, "z": z, "np": np})
    target, op, value = m.pick(["[0]", "[0, 0]", "[:, -1]", "[::2]", "[z.real > 0]"]), m.pick(["=", "+=", "-=", "*=", "/="]), m.pick(["2j", "1.5", "(1+2j)"])
    text = f"{{ var w = z; w{target.replace('z.real > 0', 'real(z) > 0.0')} {op} {value.replace('j', 'i').replace('(1+', '(1.0 + ')}; w }}"
    return Case(text, {"z": z}, lambda: updated(z, assigned(target, op, value)), 8)


def accumulated(m):
    z = numbers(m, element(m), (m.pick([1, 4, 9]),))
    at = m.rng.integers(0, 3, z.shape).astype(np.int64)

    def change(w):
        np.add.at(w, at, z)
    return Case("{ var w = zeros([3], " + functions.NAMES[z.dtype] + "); w[at] += z; w }", {"z": z, "at": at}, lambda: updated(np.zeros(3, z.dtype), change), 8)


def product(m):
    type = element(m)
    n, k, p = (m.pick([1, 2, 5, 17]) for _ in range(3))
    types = m.pick([(type, type), (type, part(type)), (part(type), type)])
    lead = m.pick([(), (3,)])
    a, b = numbers(m, types[0], lead + (n, k)), numbers(m, types[1], lead + (k, p))
    text, function = m.pick([("a @ b", np.matmul), ('einsum("...ij,...jk->...ki", a, b)', lambda a, b: np.swapaxes(a @ b, -1, -2)),
                             ("sum(a * a, axis = -1)", lambda a, b: (a * a).sum(-1))])
    return Case(text, {"a": a, "b": b}, lambda: function(a, b), 30)


def comprehension(m):
    type = element(m)
    n, k = m.pick([1, 3, 8]), m.pick([1, 5, 40])
    a, b = numbers(m, type, (n, k)), numbers(m, type, (k,))
    text, function = m.pick([("[sum(a[i, j] * b[j] for j) for i]", lambda a, b: a @ b), ("sum(b[j] for j if real(b[j]) > 0.0)", lambda a, b: b[b.real > 0].sum()),
                             ("mean(a[i, j] for i, j)", lambda a, b: a.mean()), ("[mean(a[i, j] * conj(b[j]) for j) for i]", lambda a, b: (a * b.conj()).mean(1)),
                             ("{ var w = b[0]; for j in 1..len(b) { w = w * b[j] + 1.0 }; w }", lambda a, b: horner(b)),
                             ("{ let (p, q) = if real(b[0]) > 0.0 { (b, 2.0 * b) } else { (-b, b) }; p + q }",
                              lambda a, b: 3 * b if b[0].real > 0 else 0 * b)])
    return Case(text, {"a": a, "b": b}, lambda: np.asarray(function(a, b)).astype(a.dtype), 200)


def horner(b):
    w = b[0]
    for x in b[1:]:
        w = w * x + 1
    return w


def transform(m, name):
    real_input = name.startswith("rfft")
    type = element(m)
    length = m.pick(LENGTHS) if m.rng.random() < 0.8 else int(m.rng.integers(1, 700))
    if name.startswith("irfft"):
        length = max(2, length // 2 + 1)
    if real_input:
        type = part(type)
    elif name in ("fft", "ifft") and m.rng.random() < 0.2:
        type = m.pick(["f32", "f64", "i64"])
    shape = list(m.pick([(), (), (2,), (3, 2), (17,), (33,)]))
    axis = int(m.rng.integers(0, len(shape) + 1))
    shape.insert(axis, length)
    axis = m.pick([axis, axis - len(shape)])
    n = m.pick([None, None, None, max(1, length - 3), length + 5])
    norm = m.pick([None, None, "backward", "ortho", "forward"])
    x = numbers(m, type, tuple(shape)) if type != "i64" else m.array("i64", tuple(shape))
    function = getattr(np.fft, name)

    def want():
        result = function(x.astype(np.complex128) if x.dtype.kind == "c" else x.astype(np.float64), n=n, axis=axis, norm=norm)
        single = x.dtype in (np.complex64, np.float32)
        return result.astype({"c": np.complex64, "f": np.float32}[result.dtype.kind]) if single else result
    return Case(call(name, "x", n=n, axis=axis, norm=norm), {"x": x}, want, 6 * np.log2(length + 2))


def transform_2d(m, name):
    type = part(element(m)) if name == "rfft2" else element(m)
    x = numbers(m, type, m.pick([(4, 6), (5, 7), (2, 8, 3), (16, 64)]))
    function = getattr(np.fft, name)

    def want():
        result = function(x.astype(np.complex128 if x.dtype.kind == "c" else np.float64))
        single = x.dtype in (np.complex64, np.float32)
        return result.astype({"c": np.complex64, "f": np.float32}[result.dtype.kind]) if single else result
    return Case(f"{name}(x)", {"x": x}, want, 60)


def transform_nd(m, name):
    x = numbers(m, m.pick(["c64", "c128", "f64"]), m.pick([(4,), (5, 7), (2, 8, 3), (16, 18, 5), (3, 130, 20)]))
    axes = m.pick([None, (0,), tuple(int(k) for k in m.rng.permutation(x.ndim))])
    function, norm = getattr(np.fft, name), m.pick([None, "ortho"])

    def want():
        result = function(x.astype(np.complex128), axes=axes, norm=norm)
        return result.astype(np.complex64) if x.dtype == np.complex64 else result
    return Case(call(name, "x", axes=axes, norm=norm), {"x": x}, want, 60)


def convolution(m):
    type, mode = m.pick(["c64", "c128", "f32", "f64"]), m.pick([None, "full", "same", "valid"])
    a, b = (numbers(m, type, (m.pick([1, 2, 9, 100, int(m.rng.integers(1, 3000))]),)) for _ in range(2))
    return Case(call("fftconvolve", "a", "b", mode=mode), {"a": a, "b": b}, lambda: np.convolve(a, b, mode or "full"), 200)


def frequencies(m):
    n = m.pick([1, 2, 5, 8, 9])
    x = np.arange(float(n))
    text, function = m.pick([(f"fftfreq({n}, 0.5)", lambda: np.fft.fftfreq(n, 0.5)), (f"rfftfreq({n}, 2.0)", lambda: np.fft.rfftfreq(n, 2.0)),
                             ("fftshift(x)", lambda: np.fft.fftshift(x)), ("ifftshift(x)", lambda: np.fft.ifftshift(x))])
    return Case(text if "x" in text else f"{text} + 0.0 * x[0]", {"x": x}, function, 4)


def eigenvalues(m):
    n = m.pick([1, 2, 3, 6, 15])
    a = m.rng.standard_normal((n, n)).astype(m.pick([np.float32, np.float64]))
    text = ("{ let (w, v) = linalg.eig(a); let z = complex(a, 0.0 * a); "
            "(max(abs(z @ v - v * w[new])) < LIMIT, sum(w), max(abs(sum(v * conj(v), axis = 0) - 1.0)) < LIMIT) }").replace("LIMIT", str(float(np.finfo(a.dtype).eps * 30 * n)))
    total = np.trace(a).astype(np.complex64 if a.dtype == np.float32 else np.complex128)
    true = np.asarray(True)
    return Case(text, {"a": a}, lambda: (true, total, true), 40 * n)


def systems(m):
    type = element(m)
    n, k = m.pick([1, 2, 7]), m.pick([1, 3])
    a = numbers(m, type, (n, n)) + 5 * np.eye(n, dtype=functions.COMPLEX[type])
    b = numbers(m, type, (n, k))
    text, function = m.pick([("linalg.solve(a, b)", lambda: np.linalg.solve(a, b)), ("linalg.solve(a, b[:, 0])", lambda: np.linalg.solve(a, b[:, 0])),
                             ("linalg.inv(a)", lambda: np.linalg.inv(a)), ("linalg.det(a)", lambda: np.linalg.det(a))])
    return Case(text, {"a": a, "b": b}, function, 100)


def distances(m):
    z = numbers(m, element(m), m.shape(1, 3, empty=False))
    axis, keep = m.axis(z.ndim), m.pick([True, False])
    name, function = m.pick([("std", np.std), ("variance", np.var), ("norm", None)])
    if name == "norm":
        return Case(call(name, "z", axis=axis, keep=keep), {"z": z}, lambda: np.sqrt((np.abs(z) ** 2).sum(axis=axis, keepdims=keep)), 8)
    return Case(call(name, "z", axis=axis, keep=keep), {"z": z}, lambda: function(z, axis=axis, keepdims=keep), 8)


def subjects():
    table = {name: lambda m, name=name: elementwise(m, name) for name in FUNCTIONS}
    table.update({name: lambda m, name=name: transform(m, name) for name in ("fft", "ifft", "rfft", "irfft")})
    table.update({name: lambda m, name=name: transform_2d(m, name) for name in ("fft2", "ifft2", "rfft2")})
    table.update({"sum": lambda m: reduction(m, "sum", np.sum), "mean": lambda m: reduction(m, "mean", np.mean), "prod": lambda m: reduction(m, "prod", np.prod),
                  "cumsum": lambda m: running(m, "cumsum", np.cumsum), "cumprod": lambda m: running(m, "cumprod", np.cumprod)})
    table.update({name: lambda m, name=name: transform_nd(m, name) for name in ("fftn", "ifftn")})
    for name, make, times in [("convolution", convolution, 2), ("arithmetic", arithmetic, 5), ("literals", literals, 5), ("view", view, 6), ("update", update, 6), ("accumulated", accumulated, 1),
                              ("product", product, 3), ("comprehension", comprehension, 4), ("frequencies", frequencies, 2), ("eigenvalues", eigenvalues, 1),
                              ("systems", systems, 2), ("distances", distances, 2)]:
        table.update({f"{name} {k}": make for k in range(times)})
    table.update({f"{name} {k}": lambda m, name=name: transform(m, name) for name in ("fft", "ifft", "rfft", "irfft") for k in range(8)})
    return table


# ---- derivatives: by the real and the imaginary part, as one complex number

SMOOTH = ["sum(abs(z) ** 2)", "abs(z[0] * z[1] / z[2])", "real(exp(z[0]) * sin(z[1]))", "sum(imag(log(z) * sqrt(z)))", "sum(angle(z * z[0]))", "sum(abs(fft(z)) ** 4)",
          "sum(imag(ifft(z) * z[0]))", "sum(real(fft(z, n = 3)) ** 2)", "sum(abs(rfft(real(z) * imag(z))) ** 3)", "sum(irfft(z) ** 3)",
          "sum(irfft(z, n = 5) ** 3)", "sum(abs(rfft(outer(real(z), imag(z)), axis = 0)) ** 2)",
          "real(z[1] ** 3) + imag(z[2] ** 2.5)",
          "abs(prod(z))", "sum(abs(cumsum(z)) ** 2)", "sum(real(tanh(z) + atan(z) + asinh(z)))", "abs(sum(z[i] * conj(z[j]) * z[0] for i, j))", "sum(abs(z[:, new] @ z[new, :]) ** 2)",
          "sum(abs(z[real(z) > 0.0]) ** 2)", "{ var w = z; w[1] *= z[0]; w[2] += z[1]; sum(abs(w) ** 2) }", "sum(vmap(|w| abs(w * w + z[0]))(z))",
          "{ var w = 0.1 * z[0]; for i in 0..3 { w = w * w + z[1] }; abs(w) }"]


def derivatives(oracle):
    head = ["fn slopes(f, z: c128[n]) -> c128[n] {", "  var d = z", "  for i in 0..n {", "    var (a, b, p, q) = (z, z, z, z)", "    a[i] += 1e-6", "    b[i] -= 1e-6",
             "    p[i] += 1e-6i", "    q[i] -= 1e-6i", "    d[i] = complex((f(a) - f(b)) / 2e-6, (f(p) - f(q)) / 2e-6)", "  }", "  d", "}",
             "let z: c128[5] = [0.7 + 0.2i, -0.3 + 1.1i, 1.1 - 0.4i, 0.4 + 0.9i, -0.6 - 0.5i]"]
    return functions.slopes_differ(oracle, head, "z", SMOOTH)


# ---- wrong programs: what the message says, and that it is at the user's line

WRONG = [
    ("z < z", "no order"), ("max(z, z)", "no order"), ("max(z)", "takes numbers"), ("sort(z)", "real numbers"), ("floor(z)", "takes real numbers"), ("f32(z)", "real(z)"),
    ("z + 1", None), ("z + i64(1)", "mixes"), ("z + f64(1.0)", "mixes"), ("complex(1, 2)", None), ("complex(i64(1), i64(2))", "takes floats"), ("complex(f16(1.0), f16(2.0))", "f32 or f64"),
    ("fft(z, axis = 3)", "axis"), ("fft(z, norm = \"half\")", "\"backward\""), ("fft(z[0])", "axis"), ("irfft(z, n = -4)", "negative"), ("z // z", "takes real numbers"),
    ("z % z", "takes real numbers"), ("linspace(z[0], z[1], 3)", ""), ("save(\"z.csv\", z)", "complex numbers go to"), ("\"{z:05}\"", "no zeros"), ("fft_rows([1.0])", "complex numbers"),
    ("imag(1.0)", "complex numbers"), ("if z[0] { 1 } else { 2 }", "bool"), ("grad(|z| z[0])(z)", ""), ("z and z", "bools"), ("bit_and(z, z)", ""),
    ("einsum(\"i,j,k->ijk\", z, z)", ""), ("argmax(abs(z))", None), ("z[0] == 1.0 + 2i", None), ("1.5i.5", ""), ("2ii", ""),
]


def failures(oracle):
    complaints = []
    with oracle.folder() as folder:
        for text, want in WRONG:
            done = oracle.run(folder, f"let z = [1.0 + 2i, 3i]\nprint({text})\n", timeout=60)
            if want is None:
                good = done.returncode == 0
            else:
                good = done.returncode in (1, 3) and want in done.stderr and "program.tl:2:" in done.stderr
            if not good:
                complaints.append(f"{text}: exit code {done.returncode}, no `{want}` in: {done.stdout[:200]}{done.stderr[:500]}")
    return len(WRONG), complaints


def run(oracle):
    maker = Maker(np.random.default_rng(oracle.seed))
    cases = [make(maker) for make in subjects().values() for _ in range(oracle.count)]
    cases = [cases[int(i)] for i in maker.rng.permutation(len(cases))]
    for first in range(0, len(cases), PROGRAM):
        part_of_all = cases[first:first + PROGRAM]
        options = [["--threads", "2"], ["--interp"], []][first // PROGRAM % 3]
        oracle.count_cases(len(part_of_all), run_cases(oracle, part_of_all, options))
    oracle.count_cases(*derivatives(oracle))
    oracle.count_cases(*failures(oracle))
