"""The package where there is no NumPy: a script, since the other tests need it. Prints OK."""

import array

import tl

try:
    import numpy  # noqa: F401
    raise SystemExit("NumPy is here")
except ImportError:
    pass

p = tl.compile("""
struct S[n] { x: f32[n] }
fn f(x: f32[..s], k: f32 = 2.0) -> f32[..s] = x * k
fn total(x: f32[n]) -> f32 = sum(x)
fn same(x) = x
""")
t = p.f([[1, 2], [3, 4]])
assert isinstance(t, tl.Tensor) and t.tolist() == [[2, 4], [6, 8]] and t.shape == (2, 2), t
assert p.total([1, 2.5]) == 3.5
assert p.f(array.array("f", [1, 2])).tolist() == [2, 4]
assert p.same(b"ab").tolist() == [97, 98]
assert p.f(tl.tensor([1.0])).tolist() == [2]
assert p.S(x=[1, 2]).x.tolist() == [1, 2]
assert repr(t) == "tl.Tensor([[2.0, 4.0], [6.0, 8.0]], f32)", repr(t)
assert tl.tensor([1.0, 65504.0], "f16").tolist() == [1, 65504]
try:
    t.numpy()
except ImportError:
    print("OK")
