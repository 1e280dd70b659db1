"""Derivatives of smooth functions where what they are written with is not smooth: at 0, at 1, where two operands are equal.

First derivatives are compared with central differences of NumPy's values, second ones with central differences of tl's first. A point at
which the differences of either side do not agree (a branch cut, a pole, an end of the domain) is left out.
"""
import os

import numpy as np

STEP = 1e-5
GRID = [-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0]
COMPLEX = {"log": np.log, "log1p": np.log1p, "log2": np.log2, "log10": np.log10, "sqrt": np.sqrt, "rsqrt": lambda z: 1 / np.sqrt(z), "exp": np.exp,
           "expm1": np.expm1, "exp2": np.exp2, "sin": np.sin, "cos": np.cos, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
           "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh}
REAL = {"logaddexp(x, y)": np.logaddexp, "hypot(x, y)": np.hypot, "atan2(x, y)": np.arctan2, "x ** y": np.power, "x * y / (1.0 + x * x)": lambda x, y: x * y / (1 + x * x),
        "prod([x, y])": lambda x, y: x * y, "prod([x, y, 2.0, x])": lambda x, y: 2 * x * x * y, "cumprod([x, y, x])[2]": lambda x, y: x * x * y,
        "logsumexp([x, y])": np.logaddexp, "variance([x, y])": lambda x, y: (x - y) ** 2 / 4,
        "softmax([x, y])[0]": lambda x, y: 1 / (1 + np.exp(y - x)), "sum(softmax([x, y, 1.0]) ** 2)": lambda x, y: (np.exp(2 * x) + np.exp(2 * y) + np.exp(2)) / (np.exp(x) + np.exp(y) + np.e) ** 2,
        "fmod(x, 2.5) + y": lambda x, y: np.fmod(x, 2.5) + y, "log1p(x * x) * expm1(y)": lambda x, y: np.log1p(x * x) * np.expm1(y),
        "sigmoid(x) * asinh(y)": lambda x, y: np.arcsinh(y) / (1 + np.exp(-x)),
        "linalg.det([[x, y], [y, x]])": lambda x, y: x * x - y * y}
SEED = 0


def differences(f, x, y):
    """Of both arguments: central differences, or NaN where the two sides, or two steps, do not agree."""
    here, result = f(x, y), []
    for dx, dy in ((1, 0), (0, 1)):
        middle = lambda h: (f(x + h * dx, y + h * dy) - f(x - h * dx, y - h * dy)) / (2 * h)
        after, before = (f(x + STEP * dx, y + STEP * dy) - here) / STEP, (here - f(x - STEP * dx, y - STEP * dy)) / STEP
        slope, bound = middle(STEP), 1e-3 * (1 + np.abs(middle(STEP)))
        result.append(np.where((np.abs(after - before) < bound) & (np.abs(slope - middle(STEP / 4)) < bound), slope, np.nan))
    return result


def run(oracle):
    x, y = (part.ravel() for part in np.meshgrid(GRID, GRID))
    cases = [(text, text, f) for text, f in REAL.items()]
    for name, f in COMPLEX.items():
        cases.append((f"real of {name}", f"real({name}(complex(x, y)))", lambda x, y, f=f: f(x + 1j * y).real))
        cases.append((f"imag of {name}", f"imag({name}(complex(x, y)))", lambda x, y, f=f: f(x + 1j * y).imag))
    points = {"x": x, "y": y}
    for name, dx, dy in (("right", STEP, 0), ("left", -STEP, 0), ("up", 0, STEP), ("down", 0, -STEP)):
        points |= {f"{name}_x": x + dx, f"{name}_y": y + dy}
    text = ["import linalg"] + [f'let {name}: f64[_] = load("in.npz", "{name}")' for name in points]
    for i, (_, body, _) in enumerate(cases):
        text.append(f"fn f{i}(x: f64, y: f64) -> f64 = {body}")
        text.append(f"let g{i} = |x, y| vmap(grad(f{i}, argnums = (0, 1)))(x, y)")
        for where in ("", "right_", "left_", "up_", "down_"):
            text += [f'{{ let (a, b) = g{i}({where}x, {where}y)\n  save("{where}{i}.npy", stack([a, b])) }}'.replace("{ let", "if len(x) > 0 { let")]
        text.append(f'save("second{i}.npy", vmap(|x: f64, y: f64| hessian(|v: f64[2]| f{i}(v[0], v[1]))([x, y]))(x, y))')
    with oracle.folder() as folder, np.errstate(all="ignore"):
        np.savez(os.path.join(folder, "in.npz"), **points)
        done = oracle.run(folder, "\n".join(text) + "\n")
        oracle.check(done.returncode == 0, done.stderr)
        if done.returncode != 0:
            return
        load = lambda name: np.load(os.path.join(folder, name + ".npy"))
        for i, (name, _, f) in enumerate(cases):
            first, second = load(str(i)), load(f"second{i}")
            wanted = differences(f, x, y)
            sides = load(f"right_{i}"), load(f"left_{i}"), load(f"up_{i}"), load(f"down_{i}")
            for k in range(2):
                known = np.isfinite(wanted[k])
                wrong = known & ~(np.abs(first[k] - wanted[k]) < 1e-4 * (1 + np.abs(wanted[k])))
                for at in np.flatnonzero(wrong)[:3]:
                    oracle.check(False, f"{name}, slope {k} at {x[at]}, {y[at]}: {first[k][at]} instead of {wanted[k][at]}")
                if not wrong.any():
                    oracle.check(True, name)
                for j in range(2):
                    after, before = (sides[2 * j][k] - first[k]) / STEP, (first[k] - sides[2 * j + 1][k]) / STEP
                    middle = (sides[2 * j][k] - sides[2 * j + 1][k]) / (2 * STEP)
                    known = np.isfinite(wanted[k]) & np.isfinite(wanted[j]) & (np.abs(after - before) < 1e-3 * (1 + np.abs(middle)))
                    wrong = known & ~(np.abs(second[:, k, j] - middle) < 1e-4 * (1 + np.abs(middle)))
                    for at in np.flatnonzero(wrong)[:3]:
                        oracle.check(False, f"{name}, second slope {k}, {j} at {x[at]}, {y[at]}: {second[at, k, j]} instead of {middle[at]}")
                    if not wrong.any():
                        oracle.check(True, name)
