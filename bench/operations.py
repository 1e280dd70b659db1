"""The second set of cases of bench/layouts.py: what users do all day beside reductions, products and permutations. Each function draws a name, the
expression of tl, of NumPy (None: PyTorch is the oracle) and of PyTorch, and the inputs; a fifth part of an input names its sizes."""
from drawing import any_type, axes_text, elements_of, floating, shape_of, uneven, values_of

BY_NUMPY = "torch.from_numpy((lambda np, x, y=None: {})(__import__('numpy'), *(v.numpy() for v in [{}])))"


def by_numpy(expression, *names):
    """PyTorch has no such operation: its users go through NumPy."""
    return BY_NUMPY.format(expression, ", ".join(names))


def draw_chain(rng):
    shape, dtype = shape_of(rng, rng.randint(1, 4), elements_of(rng)), floating(rng)
    other = tuple(1 if rng.random() < 0.35 else n for n in shape)
    tl, numpy, torch = rng.choice([
        ("tanh(x * 0.5) + y", "np.tanh(x * x.dtype.type(0.5)) + y", "torch.tanh(x * 0.5) + y"),
        ("where(x > y, x, y * 0.5)", "np.where(x > y, x, y * y.dtype.type(0.5))", "torch.where(x > y, x, y * 0.5)"),
        ("exp(-abs(x)) * y", "np.exp(-np.abs(x)) * y", "torch.exp(-torch.abs(x)) * y"),
        ("sqrt(x * x + y * y)", "np.sqrt(x * x + y * y)", "torch.sqrt(x * x + y * y)"),
        ("clamp(x, -1.0, 1.0) - y", "np.clip(x, -1, 1) - y", "torch.clip(x, -1, 1) - y"),
        ("max(x, 0.0) * y", "np.maximum(x, 0) * y", "torch.relu(x) * y"),
        ("sin(x) * cos(y)", "np.sin(x) * np.cos(y)", "torch.sin(x) * torch.cos(y)"),
        ("x ** 2.0 + y / 3.0", "x**2 + y / y.dtype.type(3)", "x**2 + y / 3"),
        ("floor(x * 4.0) + y", "np.floor(x * x.dtype.type(4)) + y", "torch.floor(x * 4) + y"),
        ("log(abs(x) + 1.0) - y", "np.log(np.abs(x) + 1) - y", "torch.log(torch.abs(x) + 1) - y"),
    ])
    return tl, tl, numpy, torch, [("x", dtype, shape, "normal"), ("y", dtype, other, "normal")]


def draw_slice(rng):
    shape, dtype = shape_of(rng, rng.randint(1, 4), elements_of(rng), 6), any_type(rng)
    parts = [rng.choice([":", f"{rng.randint(0, 2)}:-{rng.randint(1, 3)}", "::2", "::3", "::-1"]) for _ in shape]
    text = ", ".join(parts)
    flipped = [i for i, part in enumerate(parts) if part == "::-1"]
    torch = f"torch.flip(x[{', '.join(':' if part == '::-1' else part for part in parts)}], {flipped})"
    inputs = [("x", dtype, shape, values_of(dtype))]
    if rng.random() < 0.3:
        return f"sum x[{text}]", f"sum(x[{text}])", f"np.sum(x[{text}]) + 0", f"torch.sum({torch})", inputs
    return f"x[{text}]", f"x[{text}] + {'1.0' if dtype[0] == 'f' else '1'}", f"x[{text}] + x.dtype.type(1)", f"{torch} + 1", inputs


def draw_join(rng):
    rank, dtype = rng.randint(1, 3), any_type(rng)
    shape, axis = shape_of(rng, rank, elements_of(rng) / 2), rng.randrange(rank)
    if rng.random() < 0.4:
        return (f"stack {axis}", f"stack([x, y], axis = {axis})", f"np.stack([x, y], {axis})", f"torch.stack([x, y], {axis})",
                [(name, dtype, shape, values_of(dtype)) for name in "xy"])
    other = list(shape)
    other[axis] = max(1, round(other[axis] * rng.uniform(0.1, 1)))
    names = [f"m{i}" if i == axis else f"n{i}" for i in range(rank)]
    return (f"concat {axis}", f"concat([x, y], axis = {axis})", f"np.concatenate([x, y], {axis})", f"torch.cat([x, y], {axis})",
            [("x", dtype, shape, values_of(dtype)), ("y", dtype, tuple(other), values_of(dtype), names)])


def draw_pad(rng):
    shape, dtype = shape_of(rng, rng.randint(1, 3), elements_of(rng), 6), floating(rng)
    margins = [(rng.randint(0, 3), rng.randint(0, 3)) for _ in shape]
    mode = rng.choice(["constant", "constant", "reflect", "edge", "wrap", "symmetric"])
    numpy = f"np.pad(x, {margins}, mode='{mode}')"
    flat = [n for pair in reversed(margins) for n in pair]
    torch = f"torch.nn.functional.pad(x, {flat})" if mode == "constant" else by_numpy(numpy, "x")
    tl = f"pad(x, {margins})" if mode == "constant" else f'pad(x, {margins}, mode = "{mode}")'
    return f"pad {mode} {margins}", tl, numpy, torch, [("x", dtype, shape, "normal")]


def draw_roll(rng):
    rank, by = rng.randint(1, 3), rng.randint(-5, 5)
    shape, axis, dtype = shape_of(rng, rank, elements_of(rng)), rng.randrange(rank), any_type(rng)
    if rng.random() < 0.5:
        return f"roll {by} {axis}", f"roll(x, {by}, axis = {axis})", f"np.roll(x, {by}, {axis})", f"torch.roll(x, {by}, {axis})", [
            ("x", dtype, shape, values_of(dtype))]
    other = f"roll(x, {by}, {axis}) + x - {{0}}.roll(x, 1, {axis})"
    return (f"sum of rolls {by} {axis}", f"roll(x, {by}, axis = {axis}) + x - roll(x, 1, axis = {axis})", "np." + other.format("np"),
            "torch." + other.format("torch"), [("x", "f32", shape, "normal")])


def draw_repeat(rng):
    rank, times = rng.randint(1, 3), rng.randint(2, 4)
    shape, axis, dtype = shape_of(rng, rank, elements_of(rng) / 4), rng.randrange(rank), any_type(rng)
    inputs = [("x", dtype, shape, values_of(dtype))]
    if rng.random() < 0.6:
        return (f"repeat {times} {axis}", f"repeat(x, {times}, axis = {axis})", f"np.repeat(x, {times}, {axis})",
                f"torch.repeat_interleave(x, {times}, {axis})", inputs)
    counts = [rng.randint(1, 3) for _ in shape]
    return f"tile {counts}", f"tile(x, {counts})", f"np.tile(x, {counts})", f"x.repeat({counts})", inputs


def draw_bools(rng):
    rank = rng.randint(1, 4)
    shape, dtype = shape_of(rng, rank, elements_of(rng)), floating(rng)
    axes = sorted(rng.sample(range(rank), rng.randint(1, rank)))
    tl_axes, axes_of_peers = ("", "") if len(axes) == rank else (f", axis = {axes_text(axes)}", f", {tuple(axes)}")
    op, bound = rng.choice(["any", "all", "count_nonzero"]), rng.choice([0.0, 1.0, 2.0])
    condition = f"x > {bound}" if rng.random() < 0.5 else {"any": "x > 20.0", "all": "x > -20.0"}.get(op, "x > 3.0")
    return (f"{op} {condition} over {axes}", f"{op}({condition}{tl_axes})", f"np.{op}({condition}{axes_of_peers})",
            f"torch.{op}({condition}{axes_of_peers})", [("x", dtype, shape, "normal")])


def draw_folded_integers(rng):
    rank = rng.randint(1, 4)
    shape, dtype, op = shape_of(rng, rank, elements_of(rng)), rng.choice(["i32", "i64", "u8"]), rng.choice(["sum", "max", "min"])
    axes = sorted(rng.sample(range(rank), rng.randint(1, max(1, rank - 1))))
    where = tuple(axes)
    torch = {"sum": f"x.sum({where})", "max": f"torch.amax(x, {where})", "min": f"torch.amin(x, {where})"}[op]
    return (f"{op} over {axes}", f"i64({op}(x, axis = {axes_text(axes)}))", f"np.{op}(x, {where}).astype(np.int64)", f"{torch}.to(torch.int64)",
            [("x", dtype, shape, "below 100")])


def draw_statistic(rng):
    rank = rng.randint(2, 3)
    shape, dtype, a = shape_of(rng, rank, elements_of(rng), 3), floating(rng), rng.randrange(rank)
    tl, numpy, torch = rng.choice([
        (f"variance(x, axis = {a})", f"np.var(x, {a})", f"torch.var(x, {a}, unbiased=False)"),
        (f"median(x, axis = {a})", f"np.median(x, {a})", by_numpy(f"np.median(x, {a})", "x")),
        (f"logsumexp(x, axis = {a})", f"(lambda m: np.log(np.exp(x - m).sum({a})) + m.squeeze({a}))(x.max({a}, keepdims=True))", f"torch.logsumexp(x, {a})"),
        (f"sqrt(sum(x * x, axis = {a}))", f"np.sqrt((x * x).sum({a}))", f"torch.linalg.vector_norm(x, dim={a})"),
        (f"max(x, axis = {a}) - min(x, axis = {a})", f"np.max(x, {a}) - np.min(x, {a})", f"x.amax({a}) - x.amin({a})"),
        (f"x / sum(abs(x), axis = {a}, keep = true)", f"x / np.abs(x).sum({a}, keepdims=True)", f"x / x.abs().sum({a}, keepdim=True)"),
        (f"prod(x, axis = {a})", f"np.prod(x, {a})", f"torch.prod(x, {a})"),
        (f"mean(abs(x), axis = {a})", f"np.mean(np.abs(x), {a})", f"x.abs().mean({a})"),
        (f"diff(x, axis = {a})", f"np.diff(x, axis={a})", f"torch.diff(x, dim={a})"),
        (f"cumprod(x * 0.1 + 1.0, axis = {a})", f"np.cumprod(x * x.dtype.type(0.1) + x.dtype.type(1), {a})", f"torch.cumprod(x * 0.1 + 1, {a})"),
    ])
    return tl, tl, numpy, torch, [("x", dtype, shape, "normal")]


def draw_mask(rng):
    shape, dtype, t = shape_of(rng, rng.randint(1, 2), elements_of(rng)), floating(rng), rng.choice([-1.0, 0.0, 1.0, 2.5])
    tl, numpy, torch = rng.choice([
        (f"x[x > {t}]", f"x[x > {t}]", f"x[x > {t}]"),
        (f"argwhere(x > {t})", f"np.argwhere(x > {t})", f"torch.argwhere(x > {t})"),
        (f"where(x > {t}, x, 0.0)", f"np.where(x > {t}, x, x.dtype.type(0))", f"torch.where(x > {t}, x, 0.0)"),
        (f"sum(where(x > {t}, x, 0.0))", f"np.where(x > {t}, x, x.dtype.type(0)).sum()", f"torch.where(x > {t}, x, 0.0).sum()"),
    ])
    return tl, tl, numpy, torch, [("x", dtype, shape, "normal")]


def draw_scatter(rng):
    n, m, form = uneven(rng, 1e4, 1e6), uneven(rng, 10, 1e5), rng.random()
    numbers = ("x", "i64", (n,), f"below {m}")
    if form < 0.3:
        return f"bincount {n} {m}", f"bincount(x, {m})", f"np.bincount(x, minlength={m})", f"torch.bincount(x, minlength={m})", [numbers]
    width = rng.choice([1, 3, 8, 20, 64])
    rows = max(2, n // width)
    numbers = ("x", "i64", (rows,), f"below {m}", ["n"])
    if form < 0.6:
        return (f"{rows} rows of {width} added to {m}", f"(|x, y| {{ var z = zeros([{m}, {width}]); z[x] += y; z }})(x, y)",
                f"(lambda z: (np.add.at(z, x, y), z)[1])(np.zeros(({m}, {width}), np.float32))", f"torch.zeros({m}, {width}).index_add_(0, x, y)",
                [numbers, ("y", "f32", (rows, width), "normal", ["n", str(width)])])
    if form < 0.8:
        return f"{rows} rows taken of {m} of {width}", "y[x]", "y[x]", "y[x]", [numbers, ("y", "f32", (m, width), "normal", ["m", "k"])]
    k = min(m, uneven(rng, 4, 300))
    return (f"one hot {rows} {k}", f"one_hot(x, {k})", f"(x[:, None] == np.arange({k})).astype(np.float32)",
            f"torch.nn.functional.one_hot(x, {k}).float()", [("x", "i64", (rows,), f"below {k}")])


def draw_product(rng):
    work, dtype = uneven(rng, 1e5, 2e8), floating(rng)
    m, k, n = shape_of(rng, 3, work)

    def of(text, x, y, names_of_x, names_of_y, name=None):
        inputs = [("x", dtype, x, "normal", list(names_of_x))]
        if y:
            inputs.append(("y", dtype, y, "normal", list(names_of_y)))
        return name or text, text, text, text, inputs

    form = rng.choice(["x @ x.T", "x.T @ y", "x @ y.T", "vector", "batch", "layer", "x @ y"])
    if form == "x @ x.T":
        return of(form, (m, k), None, "mk", "")
    if form == "x.T @ y":
        return of(form, (k, m), (k, n), "km", "kn")
    if form == "x @ y.T":
        return of(form, (m, k), (n, k), "mk", "nk")
    if form == "vector":
        length = min(k * 20, 2000000 // m)
        return of("x @ y", (m * 2, length), (length,), "mk", "k", "matrix @ vector")
    if form == "batch":
        count = uneven(rng, 2, 2000)
        m, k, n = shape_of(rng, 3, max(8, work / count))
        return of("x @ y", (count, m, k), (count, k, n), "bmk", "bkn", "batch of products")
    name, tl, numpy, torch, inputs = of("x @ y", (m, k), (k, n), "mk", "kn")
    if form == "layer":
        return "layer", "relu(x @ y + 1.0)", "np.maximum(x @ y + x.dtype.type(1), 0)", "torch.relu(x @ y + 1)", inputs
    return name, tl, numpy, torch, inputs


def draw_cast(rng):
    shape = shape_of(rng, rng.randint(1, 3), elements_of(rng))
    tl, numpy, torch, dtype = rng.choice([
        ("f32(x)", "x.astype(np.float32)", "x.float()", rng.choice(["i32", "i64", "u8", "f64"])),
        ("i32(floor(x))", "np.floor(x).astype(np.int32)", "torch.floor(x).int()", floating(rng)),
        ("f64(x) * 0.5", "x.astype(np.float64) * 0.5", "x.double() * 0.5", rng.choice(["f32", "i32", "u8"])),
        ("i64(x > 0.0)", "(x > 0).astype(np.int64)", "(x > 0).long()", floating(rng)),
        ("round(x * 10.0)", "np.round(x * x.dtype.type(10))", "torch.round(x * 10)", floating(rng)),
    ])
    return tl, tl, numpy, torch, [("x", dtype, shape, values_of(dtype))]


def draw_pairs(rng):
    n, m, k = shape_of(rng, 3, uneven(rng, 1e5, 2e7), 3)
    difference, exact = "x[:, None] - y[None]", "compute_mode='donot_use_mm_for_euclid_dist'"
    tl, numpy, torch = rng.choice([
        ("sum(abs(x[:, new] - y[new]), axis = 2)", f"np.abs({difference}).sum(2)", "torch.cdist(x, y, p=1)"),
        ("sqrt(sum((x[:, new] - y[new]) ** 2.0, axis = 2))", f"np.sqrt((({difference})**2).sum(2))", f"torch.cdist(x, y, {exact})"),
        ("max(abs(x[:, new] - y[new]), axis = 2)", f"np.abs({difference}).max(2)", "torch.cdist(x, y, p=float('inf'))"),
        ("max(x[:, new] + y[new], axis = 2)", "(x[:, None] + y[None]).max(2)", "(x[:, None] + y[None]).amax(2)"),
        ("argmin(sum((x[:, new] - y[new]) ** 2.0, axis = 2), axis = 1)", f"(({difference})**2).sum(2).argmin(1)", f"torch.cdist(x, y, {exact}).argmin(1)"),
    ])
    return tl, tl, numpy, torch, [("x", "f32", (n, k), "normal", ["n", "k"]), ("y", "f32", (m, k), "normal", ["m", "k"])]


def draw_search(rng):
    n, m = uneven(rng, 1e4, 5e5), uneven(rng, 10, 1e5)
    interpolated, counts = "np.interp(x, np.sort(y), y).astype(x.dtype)", "np.histogram(x, 50)[0]"
    tl, numpy, torch, types = rng.choice([
        ("unique(x)[0]", "np.unique(x)", "torch.unique(x)", ["f32", "f64", "i64"]),
        ("searchsorted(sort(y), x)", "np.searchsorted(np.sort(y), x)", "torch.searchsorted(torch.sort(y)[0], x)", ["f32", "f64", "i64"]),
        ("isin(x, y)", "np.isin(x, y)", "torch.isin(x, y)", ["f32", "f64", "i64"]),
        ("histogram(x, 50)[0]", counts, by_numpy(counts, "x"), ["f32", "f64"]),
        ("topk(x, 10)[0]", "np.sort(x)[::-1][:10].copy()", "torch.topk(x, 10)[0]", ["f32", "f64", "i64"]),
        ("argsort(x)", "np.argsort(x, kind='stable')", "torch.argsort(x, stable=True)", ["f32", "f64", "i64"]),
        ("interp(x, sort(y), y)", interpolated, by_numpy(interpolated, "x", "y"), ["f64"]),
    ])
    dtype = rng.choice(types)
    values = ("normal", "normal") if dtype[0] == "f" else ("below 5000", "below 9000")
    return tl, tl, numpy, torch, [("x", dtype, (n,), values[0], ["n"]), ("y", dtype, (m,), values[1], ["m"])]


def draw_integers(rng):
    shape, dtype = shape_of(rng, rng.randint(1, 3), elements_of(rng)), rng.choice(["i32", "i64", "u8"])
    tl, numpy, torch = rng.choice([
        ("x // y", "x // y", "torch.div(x, y, rounding_mode='floor')"),
        ("x % y", "x % y", "torch.remainder(x, y)"),
        ("bit_and(x, y)", "x & y", "x & y"),
        ("x // 7", "x // x.dtype.type(7)", "torch.div(x, 7, rounding_mode='floor')"),
        ("x % 10", "x % x.dtype.type(10)", "x % 10"),
        ("x * y + x", "x * y + x", "x * y + x"),
        ("max(x, y) - min(x, y)", "np.maximum(x, y) - np.minimum(x, y)", "torch.maximum(x, y) - torch.minimum(x, y)"),
        ("x ** 2", "x**2", "x**2"),
        ("shift_right(x, 2)", "x >> 2", "x >> 2"),
    ])
    return tl, tl, numpy, torch, [("x", dtype, shape, "below 120"), ("y", dtype, shape, "from 1 below 120")]


def draw_matrix(rng):
    n, m = shape_of(rng, 2, elements_of(rng))
    tl, numpy, torch = rng.choice([
        ("triu(x)", "np.triu(x)", "torch.triu(x)"),
        ("tril(x, 1)", "np.tril(x, 1)", "torch.tril(x, 1)"),
        ("trace(x)", "np.trace(x)", "torch.diagonal(x).sum()"),
        ("diag(x[:, 0])", "np.diag(x[:, 0])", "torch.diag(x[:, 0])"),
        ("flip(x, axis = 0)", "np.flip(x, 0).copy()", "torch.flip(x, [0])"),
        ("x - x.mean(axis = 0)", "x - x.mean(0)", "x - x.mean(0)"),
        ("(x - x.mean(axis = 0)) / (std(x, axis = 0) + 1.0)", "(x - x.mean(0)) / (x.std(0) + x.dtype.type(1))",
         "(x - x.mean(0)) / (x.std(0, unbiased=False) + 1)"),
        ("argmax(x, axis = 1)", "x.argmax(1)", "x.argmax(1)"),
        ("sum(x * x)", "np.sum(x * x)", "(x * x).sum()"),
        ("x.T * 2.0 + 1.0", "np.add(x.T * x.dtype.type(2), x.dtype.type(1), order='C')", "(x.T * 2 + 1).contiguous()"),
        ("flatten(x.T)", "x.T.flatten()", "x.T.flatten()"),
        ("x[:, argsort(x[0])]", "x[:, np.argsort(x[0], kind='stable')]", "x[:, torch.argsort(x[0], stable=True)]"),
        ("x[argsort(x[:, 0])]", "x[np.argsort(x[:, 0], kind='stable')]", "x[torch.argsort(x[:, 0], stable=True)]"),
    ])
    return tl, tl, numpy, torch, [("x", floating(rng), (min(n, 2000) if tl.startswith("diag(") else n, m), "normal")]


def draw_image(rng):
    batch, channels, out = rng.choice([1, 2, 8, 16]), rng.choice([1, 3, 8, 16, 32, 64]), rng.choice([4, 8, 16, 32, 64])
    k, height, width, stride = rng.choice([1, 2, 3, 3, 5, 7]), uneven(rng, 8, 90), uneven(rng, 8, 90), rng.choice([1, 1, 2])
    while batch * channels * out * k * k * height * width > 3e8 or batch * max(channels, out) * height * width > 4e6:
        height, width, batch, out = max(8, height // 2), max(8, width // 2), max(1, batch // 2), max(4, out // 2)
    image = ("x", "f32", (batch, channels, max(height, k), max(width, k)), "normal", ["b", "c", "h", "w"])
    if rng.random() < 0.6:
        padding = rng.choice([0, k // 2])
        return (f"conv2d {stride} {padding}", f"nn.conv2d(x, nn.Conv2d(w = y, b = zeros([len(y)])), stride = {stride}, padding = {padding})", None,
                f"torch.nn.functional.conv2d(x, y, stride={stride}, padding={padding})", [
                    image, ("y", "f32", (out, channels, k, k), "normal", ["o", "c", str(k), str(k)])])
    k, pool = rng.choice([2, 3]), rng.choice(["max_pool2d", "avg_pool2d"])
    return f"{pool} {k} {stride}", f"nn.{pool}(x, {k}, stride = {stride})", None, f"torch.nn.functional.{pool}(x, {k}, stride={stride})", [image]


KINDS = {name[5:]: (draw, 1) for name, draw in list(globals().items()) if name.startswith("draw_")}
