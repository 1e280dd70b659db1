#!/usr/bin/env python3
"""tl.jax_fn against JAX's own functions: values, derivatives, jit, vmap. Needs the package tl."""
import sys

try:
    import jax
    import jax.numpy as jnp
    import numpy as np
except ImportError:
    print("SKIPPED: jax_fn.py (it needs JAX)")
    sys.exit(77)

import tl

p = tl.compile("""
fn wide(x: f32[n, d], y: f32[d, m]) -> f32[n, 2 * m + 1] = concat((tanh(x @ y), x @ y, ones([n, 1])), axis = 1)
fn three(x: f32[..s], by: f32 = 2.0, k: i64 = 3) -> (f32[..s], f32, i64[..s]) = (x ** 3 * by, sum(x * x), i64(x) + k)
fn positive(x: f32[n]) -> f32[_] = x[x > 0.0]
fn open_sums(x, y) = (sum(x * x), y * y)
fn pick(x: f32[n], i: i64[m]) -> f32[m] = x[i]
fn by_word(x: f64[n], how: str, by: f64 = 1.0) -> f64[n] = if how == "{{sq}}" { x * x * by } else { sin(x) * by }
fn halves(x: bf16[n]) -> bf16[n] = x * 0.5
fn same(x: f32[n]) -> f32[n] = x
fn waves(z: c128[n], y: f64[n]) = (z * z * y + exp(z), abs(z) * y, real(z * conj(z)))
fn filtered(z: c128[n]) -> c128[n] = ifft(fft(z) * z) / (1.0 + z)
fn lifted(y: f64[n]) -> c128[n] = complex(y, y * y)
fn fails(x: f32[n]) -> f32[n] { assert x[0] > 0.0, "the first is {x[0]}"; x }
fn words(x: f32[n]) -> str = "{n}"
""", "jax_fn.tl")
random = np.random.default_rng(0)
failures = []


def test(function):
    try:
        function()
    except Exception:
        import traceback
        traceback.print_exc()
        failures.append(function.__name__)
    return function


def array(*shape, dtype=jnp.float32):
    return jnp.asarray(random.standard_normal(shape), dtype)


def close(ours, theirs, rtol=1e-3, atol=1e-4):
    ours, theirs = jax.tree.leaves(ours), jax.tree.leaves(theirs)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        assert a.dtype == b.dtype and a.shape == b.shape, (a, b)
        wide = np.complex128 if jnp.iscomplexobj(a) else np.float64
        np.testing.assert_allclose(np.asarray(a, wide), np.asarray(b, wide), rtol=rtol, atol=atol)


def raises(error, words, call):
    try:
        call()
    except error as raised:
        assert words in str(raised), raised
    else:
        raise AssertionError(f"no {error.__name__}")


def wide_of_jax(x, y):
    return jnp.concatenate((jnp.tanh(x @ y), x @ y, jnp.ones((len(x), 1))), 1)


@test
def values_and_transforms():
    f = tl.jax_fn(p.wide)
    x, y = array(3, 4), array(4, 2)
    for way in (
            lambda f: f(x, y), lambda f: jax.jit(f)(x, y), lambda f: jax.jit(f)(array(6, 4) * 0 + 1, y),
            lambda f: jax.grad(lambda x, y: (f(x, y) ** 2).sum(), (0, 1))(x, y),
            lambda f: jax.jit(jax.value_and_grad(lambda x: (f(x, y) ** 2).sum()))(x),
            lambda f: jax.jit(jax.vmap(lambda row: f(row[None], y)[0]))(x),
            lambda f: jax.vmap(jax.grad(lambda row: f(row[None], y).sum()))(x),
            lambda f: jax.grad(lambda x: (jax.grad(lambda x: (f(x, y) ** 3).sum())(x) ** 2).sum())(x),
            lambda f: jax.jit(jax.jacrev(lambda x: f(x, y)))(x)):
        close(way(f), way(wide_of_jax))
    assert isinstance(f(x, y), jax.Array)


@test
def several_results_and_defaults():
    f = tl.jax_fn(p.three)
    x = array(2, 3)
    cubes, squares, whole = f(x)
    close((cubes, squares, whole), (x ** 3 * 2, (x * x).sum(), x.astype(jnp.int32) + 3))
    close(f(x, k=7)[2], x.astype(jnp.int32) + 7)
    close(jax.grad(lambda x, by: f(x, by, k=1)[0].sum() + f(x)[1], (0, 1))(x, 1.5), (4.5 * x ** 2 + 2 * x, (x ** 3).sum()))


@test
def other_arguments():
    f, x, i = tl.jax_fn(p.pick), array(4), jnp.array([3, 0, 3])
    close(jax.jit(f)(x, i), x[i])
    close(jax.jit(jax.grad(lambda x: f(x, i).sum()))(x), jnp.array([1.0, 0, 0, 2]))
    f = tl.jax_fn(p.by_word)
    close(f(x, "{sq}"), x * x)
    close(jax.grad(lambda x: f(x, "{sq}", by=2.0).sum())(x), 4 * x)
    f = tl.jax_fn(p.open_sums)
    close(f(x, x[None]), ((x * x).sum(), x[None] ** 2))
    x = array(3, dtype=jnp.bfloat16)
    close(tl.jax_fn(p.halves)(x), x / 2)
    close(jax.grad(lambda x: tl.jax_fn(p.halves)(x).sum().astype(jnp.float32))(x), jnp.full(3, 0.5, jnp.bfloat16))


@test
def wide_numbers():
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        x = array(3, dtype=jnp.float64)
        f = tl.jax_fn(p.by_word)
        close(f(x, "no"), jnp.sin(x), 1e-14, 0)
        close(jax.grad(lambda x: f(x, "no").sum())(x), jnp.cos(x), 1e-14, 0)


@test
def complex_numbers():
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        x = array(4, dtype=jnp.float64)
        z = jax.lax.complex(x, array(4, dtype=jnp.float64))
        for ours, theirs, arguments in (
                (p.waves, lambda z, y: (z * z * y + jnp.exp(z), jnp.abs(z) * y, jnp.real(z * jnp.conj(z))), (z, x)),
                (p.filtered, lambda z: jnp.fft.ifft(jnp.fft.fft(z) * z) / (1 + z), (z,)),
                (p.lifted, lambda y: y + 1j * y * y, (x,))):
            f = tl.jax_fn(ours)
            values, theirs_back = jax.vjp(theirs, *arguments)
            seeds = jax.tree_util.tree_map(lambda v: v * (1 - 2j) if jnp.iscomplexobj(v) else v + 1.0, values)
            close(f(*arguments), values, 1e-12, 1e-12)
            close(jax.vjp(f, *arguments)[1](seeds), theirs_back(seeds), 1e-12, 1e-12)
            close(jax.jit(lambda *a: jax.vjp(f, *a)[1](seeds))(*arguments), theirs_back(seeds), 1e-12, 1e-12)


@test
def refused():
    x = array(3)
    raises(TypeError, "known only when it has run", lambda: tl.jax_fn(p.positive)(x))
    raises(TypeError, "str", lambda: tl.jax_fn(p.words)(x))
    raises(Exception, "the first is", lambda: tl.jax_fn(p.fails)(-jnp.abs(x)).block_until_ready())
    raises(TypeError, "`y`", lambda: tl.jax_fn(p.wide)(x))


@test
def nothing_changes_the_arguments():
    x = array(4)
    kept = np.array(x)
    y = tl.jax_fn(p.same)(x)
    np.testing.assert_array_equal(y, kept)
    np.testing.assert_array_equal(x, kept)


print(f"jax_fn: {len(failures)} failed{': ' if failures else ''}{', '.join(failures)}")
sys.exit(1 if failures else 0)
