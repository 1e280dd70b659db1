"""Arrays of PyTorch and JAX, where they are installed."""

import unittest

from common import Case, np, tl

try:
    import torch
except ImportError:
    torch = None
try:
    import jax
    import jax.numpy as jnp
except ImportError:
    jax = None

SOURCE = '''
    struct S[n] { x: f32[n] }
    fn f(x, k) = x * k
    fn total(x) = sum(x)
    fn add(x: f32[n, m], y: f32[n, m]) -> f32[n, m] = x + y
    fn pair(x: f32[n]) -> (f32[n], f32) = (x + 1.0, sum(x))
    fn same(x) = x
'''


@unittest.skipUnless(torch, "no PyTorch")
class Torch(Case):
    SOURCE = SOURCE

    def test_calls(self):
        x = torch.arange(6, dtype=torch.float32).reshape(2, 3)
        for array in (x, x.T.contiguous().T, x[:, ::2], x[:0], torch.tensor(2.0)):
            y = self.p.f(array, array)
            self.assertIsInstance(y, torch.Tensor)
            self.assertTrue(torch.equal(y, array * array))
        total = self.p.total(x)
        self.assertIsInstance(total, torch.Tensor)
        self.assertEqual((total.shape, total.item()), ((), 15))
        a, b = self.p.pair(x[0])
        self.assertTrue(torch.equal(a, x[0] + 1))
        a += 1  # it is the caller's

    def test_dtypes(self):
        of_bools = (torch.bool,) if int(torch.__version__.split(".")[0]) >= 2 else ()  # older ones have no DLPack of these
        for dtype in (*of_bools, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16,
                      torch.float32, torch.float64):
            x = torch.tensor([0, 1, 1, 0]).to(dtype)
            y = self.p.same(x)
            self.assertEqual(y.dtype, dtype)
            self.assertTrue(torch.equal(x, y))

    def test_gradients(self):
        x = torch.ones(3, requires_grad=True)
        with self.assertRaisesRegex(ValueError, "detach"):
            self.p.total(x)
        with torch.no_grad():
            self.assertEqual(self.p.total(x).item(), 3)
        self.assertEqual(self.p.total(torch.nn.Parameter(x, requires_grad=False)).item(), 3)

    def test_views(self):
        z = torch.complex(torch.ones(3), torch.tensor([1.0, -2.0, 3.0]))
        negative = z.conj().imag
        self.assertTrue(negative.is_neg())
        self.assertEqual(self.p.same(negative).tolist(), [-1, 2, -3])
        self.assertEqual(self.p.same(negative[::2]).tolist(), [-1, -3])
        self.assertTrue(torch.equal(self.p.same(z.conj()), z.conj().resolve_conj()))
        for wrong in (torch.ones(3).to_sparse(), torch.ones(3, device="meta")):
            with self.assertRaises((TypeError, ValueError, RuntimeError, BufferError)):
                self.p.same(wrong)

        with self.assertRaisesRegex(TypeError, "to_dense"):
            self.p.same(torch.ones(3).to_sparse())
        with self.assertRaisesRegex(TypeError, "on the device meta"):
            self.p.same(torch.ones(3, device="meta"))
        self.assertTrue(torch.equal(self.p.same(z[::2]), z[::2]))

    def test_structs(self):
        s = self.p.S(x=torch.ones(3))
        self.assertIsInstance(s.x, torch.Tensor)
        s.x.zero_()  # a copy
        self.assertTrue(torch.equal(s.x, torch.ones(3)))

    def test_with_others(self):
        x = torch.ones(2, 2)
        self.assertIsInstance(self.p.add(x, np.ones((2, 2), np.float32)), torch.Tensor)
        self.assertIsInstance(self.p.add(np.ones((2, 2), np.float32), x), np.ndarray)
        self.assertTrue(torch.equal(torch.from_dlpack(tl.tensor(x)), x))


@unittest.skipUnless(jax, "no JAX")
class Jax(Case):
    SOURCE = SOURCE

    def test_calls(self):
        x = jnp.arange(6, dtype=jnp.float32).reshape(2, 3)
        for array in (x, x.T, x[:0], jnp.float32(2)):
            y = self.p.f(array, array)
            self.assertIsInstance(y, jax.Array)
            np.testing.assert_array_equal(y, array * array)
        self.assertIsInstance(self.p.total(x), jax.Array)
        self.assertEqual(self.p.total(x).shape, ())
        self.assertEqual(float(self.p.pair(x[0])[1]), 3)

    def test_dtypes(self):
        for dtype in (bool, jnp.uint8, jnp.uint16, jnp.uint32, jnp.int8, jnp.int16, jnp.int32, jnp.float16, jnp.bfloat16, jnp.float32):
            x = jnp.array([0, 1, 1, 0]).astype(dtype)
            y = self.p.same(x)
            self.assertEqual(y.dtype, x.dtype)
            np.testing.assert_array_equal(np.asarray(y), np.asarray(x))

    def test_structs(self):
        s = self.p.S(x=jnp.ones(3))
        self.assertIsInstance(s.x, jax.Array)
        np.testing.assert_array_equal(s.x, np.ones(3))
