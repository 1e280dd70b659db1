"""Arrays of every type and layout, against NumPy."""

import array
import gc
import sys
import tempfile
import unittest

from common import DTYPES, INTEGERS, Case, ml_dtypes, np, numpy_dtype, tl


class Arrays(Case):
    SOURCE = '''
        fn same(x) = x
        fn twice(x) = x + x
        fn f32_of(x: f32[..s]) -> f32[..s] = x + 0.0
        fn transposed(x: f32[n, m]) -> f32[m, n] = x.T
        fn matrix(x: f32[n, m]) -> f32[n] = sum(x, axis = 1)
        fn mixed(x: f32[n], y: f32[n]) -> f32[n] = x * 2.0 + y
        fn u64_of(x: u64) -> u64 = x
        fn i8_of(x: i8[n]) -> i8[n] = x
        fn f64_of(x: f64) -> f64 = x
    '''

    def values(self, name, shape=(3, 4)):
        random = np.random.default_rng(3)
        dtype = numpy_dtype(name)
        if name == "bool":
            return random.integers(0, 2, shape).astype(bool)
        if name in INTEGERS:
            info = np.iinfo(dtype)
            return random.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
        return random.normal(size=shape).astype(dtype)

    def test_masked_arrays_are_refused(self):
        p = tl.compile("fn f(x: f64[n]) -> f64 = sum(x)")
        masked = np.ma.masked_array([1.0, 2.0], mask=[False, True])
        with self.assertRaisesRegex(TypeError, "masked array"):
            p.f(masked)
        self.assertEqual(p.f(masked.filled(5.0)), 6)

    def test_dtypes(self):
        for name in DTYPES:
            if name == "bf16" and not ml_dtypes:
                continue
            with self.subTest(name):
                x = self.values(name)
                self.same(self.p.same(x), x)
                if name != "bool":
                    with np.errstate(over="ignore"):
                        self.same(self.p.twice(x), x + x)
                scalar = self.p.same(x[0, 0])
                self.same(scalar, x[0, 0])
                self.assertIs(type(scalar), type(x[0, 0]))
                t = tl.tensor(x)
                self.assertEqual(t.dtype, name)
                self.assertEqual(t.tolist(), x.astype(object).tolist() if name == "bool" else x.tolist())
                self.same(t.numpy(), x)

    def test_other_dtypes(self):
        for wrong in (np.zeros(3, np.clongdouble), np.array(["a"]), np.array([None]), np.zeros(2, "datetime64[s]"),
                      np.zeros(2, [("a", "f4")]), np.zeros(2, "V2")):
            with self.subTest(wrong.dtype), self.assertRaisesRegex(TypeError, "element type"):
                self.p.same(wrong)

    def test_operators(self):
        x = np.array([[1.0, 2.0], [3.0, 4.0]])
        t = tl.tensor(x)
        for f in (lambda x: x[0], lambda x: x[:, 1], lambda x: x[0, 1], lambda x: x + 1, lambda x: 1 - x, lambda x: x * x,
                  lambda x: np.ones(2) * x, lambda x: x @ x, lambda x: x / 4, lambda x: x // 2, lambda x: x % 2, lambda x: 2**x,
                  lambda x: x**2, lambda x: -x, lambda x: abs(-x), lambda x: x == x, lambda x: x > 2, lambda x: list(x)[1],
                  lambda x: ~(x > 2), lambda x: (x > 1) & (x < 4), lambda x: np.sum(x)):
            self.same(f(t), f(x))
        self.assertEqual({t: 1}[t], 1)
        with self.assertRaises(IndexError):
            t[5]

    def test_layouts(self):
        x = np.arange(24, dtype=np.float32).reshape(4, 6)
        layouts = {
            "dense": x, "column": np.asfortranarray(x), "transposed": x.T, "steps": x[::2, 1::2], "negative": x[::-1, ::-1],
            "row": x[1], "column only": x[:, 2], "broadcast": np.broadcast_to(x[0], (3, 6)), "empty": x[:0],
            "empty inside": x[:, :0], "one": x[:1, :1], "many axes": x.reshape(2, 2, 1, 3, 2, 1)[::-1],
            "zero rank": np.array(3.5, np.float32), "nine axes": x.reshape(1, 1, 1, 1, 1, 1, 1, 4, 6)[..., ::-1],
            "other bytes": x.astype(">f4"), "unaligned": np.frombuffer(b"x" + x.tobytes(), np.float32, offset=1).reshape(4, 6),
            "odd strides": np.ndarray((3,), np.float32, x.tobytes(), strides=(6,)),
        }
        for name, layout in layouts.items():
            with self.subTest(name):
                expected = layout.astype(np.float32) + np.float32(0)
                self.same(self.p.f32_of(layout), expected.astype(np.float32))
                self.same(self.p.f32_of(by_reading_only(layout)), expected.astype(np.float32))

    def test_results(self):
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        y = self.p.transposed(x)
        self.same(y, x.T.copy())
        self.assertTrue(y.flags.writeable)
        y[0, 0] = 99  # it is the caller's
        self.assertEqual(x[0, 0], 0)
        same = self.p.same(x)
        same[:] = 0
        self.assertEqual(x[1, 2], 5)
        base = self.p.same(x)[0]
        gc.collect()
        self.same(base, x[0])

    def test_values_outlive_sessions(self):
        p = tl.compile("fn f(x: f32[n]) -> f32[n] = x + 1.0")
        y, t = p.f(np.ones(1000, np.float32)), p.f(tl.tensor(np.ones(1000, np.float32)))
        p.close()
        del p
        gc.collect()
        self.assertEqual(y.sum(), 2000)
        self.assertEqual(t.numpy().sum(), 2000)

    def test_none(self):
        p = tl.compile("fn g(x: f32[n], y = none, z = 1.0) -> f32[n] = if y == none { x * z } else { x + y }")
        x = np.ones(2, np.float32)
        for got, want in ((p.g(x, None), x), (p.g(x, y=None), x), (p.g(x, None, 2.0), 2 * x), (p.g(x, x), 2 * x)):
            self.same(got, want, np.float32)

    def test_too_large(self):
        p = tl.compile("fn h(x: f32) -> f32 = x\nfn xs(x: f32[n]) -> f32[n] = x\nfn half(x: f16) -> f16 = x\nfn i(n: i8) -> i8 = n")
        for f, wrong in ((p.h, 1e300), (p.h, np.float64(1e300)), (p.h, 10**50), (p.xs, [1.0, -1e300]), (p.half, 70000), (p.i, 300), (p.i, -129)):
            with self.subTest(str(wrong)), self.assertRaises(OverflowError):
                f(wrong)
        self.assertEqual((p.h(float("inf")), p.half(65504), p.i(-128)), (float("inf"), 65504, -128))
        self.assertEqual((p.h(3.4e38), p.h(10**30)), (float(np.float32(3.4e38)), float(np.float32(1e30))))
        p = tl.compile("fn any(x: i32[..s]) -> i32[..s] = x\nfn pair(p: (f64, i64)) -> i64 = p[1]\nfn _own(x: f64) -> f64 = x")
        for f, wrong in ((p.any, 2**31), (p.any, [2**31]), (p.any, -2**40), (p.pair, (1.5, 2**70))):
            with self.subTest(str(wrong)), self.assertRaises(OverflowError):
                f(wrong)
        with self.assertRaisesRegex(TypeError, "i64 is wanted, and 2.5 is none"):
            p.pair((1.5, 2.5))
        self.assertEqual((int(p.any(2**31 - 1)), p._own(2.0)), (2**31 - 1, 2.0))
        with self.assertRaises(AttributeError):
            p._other

    def test_texts_of_lines(self):
        p = tl.compile("struct L { names: List<str> }\nfn mk(names: List<str>) -> L = L(names = names)")
        with tempfile.TemporaryDirectory() as folder:
            for names in (["a\nb", "c"], ["x\r"], [], ["", ""]):
                p.mk(names).save(folder + "/l.npz")
                self.assertEqual(p.L.load(folder + "/l.npz").names, names)

    def test_numbers(self):
        self.assertEqual(self.p.u64_of(2**64 - 1), 2**64 - 1)
        for wrong in (2**64, -1, 2**70):
            with self.assertRaises((OverflowError, ValueError, TypeError)):
                self.p.u64_of(wrong)
        self.same(self.p.i8_of([-128, 127]), [-128, 127], np.int8)
        with self.assertRaisesRegex(OverflowError, "x: 128"):
            self.p.i8_of([128])
        with self.assertRaisesRegex(TypeError, "x: "):
            self.p.i8_of([1.5])
        for value in (0.1, 1e308, float("inf"), -0.0, 5e-324):
            self.assertEqual(repr(self.p.f64_of(value)), repr(value))
        self.assertTrue(np.isnan(self.p.f64_of(float("nan"))))

    @unittest.skipUnless(ml_dtypes, "no ml_dtypes")
    def test_rounding(self):
        """Numbers become f16 and bf16 as NumPy and ml_dtypes round them."""
        random = np.random.default_rng(5)
        values = np.concatenate([random.normal(size=2000) * 10.0 ** random.integers(-10, 10, 2000),
                                 [0.0, -0.0, 65519.9, 65520, 1e30, 6e-8, 2.9e-8, 3e-8, 2**-14, 2**-14 * (1 - 2**-12),
                                  1 + 2**-8, 1 + 2**-8 + 2**-40, 1 + 3 * 2**-8, np.inf, -np.inf, 3.4e38, 1e-40, 1e300]])
        for name in ("f16", "bf16", "f32"):
            with np.errstate(over="ignore", under="ignore"):
                expected = values.astype(numpy_dtype(name)) if name != "bf16" else None
            got = tl.tensor(values.tolist(), name)
            if expected is None:  # ml_dtypes rounds a double through a float: exactly what is asked for is rounding once
                for number, value in zip(values.tolist(), got.tolist()):
                    if np.isfinite(value):
                        with np.errstate(over="ignore"):
                            near = np.float32(value).view(np.uint32)
                        step = abs(float(np.uint32(near + 0x10000).view(np.float32)) - value)
                        if np.isfinite(step):
                            self.assertLessEqual(abs(number - value), step / 2 * (1 + 1e-12))
            else:
                self.same(got.numpy(), expected)
            self.same(tl.tensor(got.tolist(), name).numpy(), got.numpy())

    def test_other_objects(self):
        x = np.arange(3, dtype=np.float32)
        self.same(self.p.f32_of(array.array("f", [0, 1, 2])), x)
        self.same(self.p.f32_of(memoryview(x)), x)
        self.same(self.p.same(b"ab"), np.uint8([97, 98]))
        self.same(self.p.same(range(3)), np.arange(3))

        class Array:
            def __init__(self, **attributes):
                self.__dict__.update(attributes)

        class WithArray(Array):
            def __array__(self, dtype=None, copy=None):
                return x

        class WithInterface(Array):
            __array_interface__ = x.__array_interface__

        class WithDlpack(Array):
            def __dlpack__(self, max_version=None):
                return x.copy().__dlpack__()

            def __dlpack_device__(self):
                return (1, 0)

        class WithOldDlpack(Array):
            def __dlpack__(self):
                return x.copy().__dlpack__()

        class WithFailingDlpack(Array):
            def __dlpack__(self, **_):
                raise RuntimeError("no")

        class WithWrongDlpack(Array):
            def __dlpack__(self, **_):
                return 3

        for kind in (WithArray, WithInterface, WithDlpack, WithOldDlpack):
            with self.subTest(kind.__name__):
                self.same(self.p.f32_of(kind()), x)
        with self.assertRaisesRegex(RuntimeError, "no"):
            self.p.same(WithFailingDlpack())
        with self.assertRaises((TypeError, ValueError)):
            self.p.same(WithWrongDlpack())
        for wrong in (None, object(), {}, {1}, iter([1]), lambda: 0):
            with self.assertRaises(TypeError):
                self.p.same(wrong)

    def test_references(self):
        x = np.arange(3, dtype=np.float32)
        before = sys.getrefcount(x)
        for _ in range(10):
            self.p.mixed(x, y=x)
            self.p.f32_of.start(x).result()
            with self.assertRaises(ValueError):
                self.p.mixed(x, x[:2])
            with self.assertRaises(TypeError):
                self.p.mixed(x, None)
        gc.collect()
        self.assertEqual(sys.getrefcount(x), before)


def by_reading_only(x):
    view = x.view()
    view.flags.writeable = False
    return view


class Tensors(Case):
    SOURCE = Arrays.SOURCE

    def test_attributes(self):
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        t = tl.tensor(x)
        x[0, 0] = 9  # the tensor has its own copy
        x[0, 0] = 0
        self.assertEqual((t.shape, t.ndim, t.dtype, len(t)), ((2, 3), 2, "f32", 2))
        self.assertEqual(t.tolist(), x.tolist())
        self.same(np.asarray(t), x)
        self.same(np.array(t, dtype=np.float64), x.astype(float))
        self.same(np.from_dlpack(t), x)
        self.assertFalse(t.numpy().flags.writeable)
        self.assertIn("[0., 1., 2.]", repr(t))
        with self.assertRaises(ValueError):
            t.item()
        with self.assertRaises(TypeError):
            tl.Tensor()

    def test_scalars(self):
        t = tl.tensor(3)
        self.assertEqual((t.shape, t.dtype, t.item(), int(t), float(t), bool(t)), ((), "i64", 3, 3, 3.0, True))
        self.assertEqual([10, 20, 30, 40][t], 40)
        self.assertEqual(tl.tensor(2.5).dtype, "f32")
        self.assertEqual(tl.tensor(True).dtype, "bool")
        self.assertEqual(tl.tensor(2, "f64").dtype, "f64")
        self.assertEqual(tl.tensor([1, 2], "u8").tolist(), [1, 2])
        with self.assertRaises(TypeError):
            len(t)
        with self.assertRaises(ValueError):
            tl.tensor(1, "f33")
        with self.assertRaises(OverflowError):
            tl.tensor(256, "u8")

    def test_kind_goes_out(self):
        x = np.arange(4, dtype=np.float32)
        t = tl.tensor(x)
        u = self.p.mixed(t, x)
        self.assertIsInstance(u, tl.Tensor)
        self.same(u.numpy(), 3 * x)
        self.assertIsInstance(self.p.mixed(x, t), np.ndarray)
        self.same(self.p.mixed(x, t), 3 * x)
        self.assertIsInstance(self.p.twice(tl.tensor(2.0)), tl.Tensor)

    def test_dlpack(self):
        x = np.arange(4, dtype=np.float32)
        t = tl.tensor(x)
        self.assertEqual(t.__dlpack_device__(), (1, 0))
        for keywords in ({}, {"max_version": (1, 0)}, {"copy": True}, {"max_version": (1, 2), "copy": True}, {"stream": None},
                         {"dl_device": (1, 0)}):
            t.__dlpack__(**keywords)  # nobody takes it
        with self.assertRaises(BufferError):
            t.__dlpack__(dl_device=(2, 0))
        with self.assertRaises(TypeError):
            t.__dlpack__(nonsense=1)
        y = np.from_dlpack(t)
        del t
        gc.collect()
        self.same(y, x)

    def test_chains(self):
        x = np.arange(1000, dtype=np.float32)
        t = tl.tensor(np.zeros(1000, np.float32))
        for _ in range(200):
            t = self.p.mixed(t, x % 2)
            t = self.p.function("|x: f32[n]| 0.25 * x")(t)
        expected = np.zeros(1000, np.float32)
        for _ in range(200):
            expected = np.float32(0.25) * (expected * 2 + x % 2)
        self.same(t.numpy(), expected)
        self.assertTrue(t.ready())
        self.assertIs(t.wait(), t)

    def test_pending(self):
        x = np.ones((700, 700), np.float32)
        f = self.p.function("|x: f32[n, n]| x @ x @ x @ x")
        calls = [f.start(x) for _ in range(4)]
        calls[1] = None  # nobody waits for it
        self.same(calls[0].result(), x @ x @ x @ x)
        self.assertIs(calls[0].result(), calls[0].result())
        calls[2].wait()
        self.assertTrue(calls[2].ready())
        p = self.p.f32_of.start(x)
        self.same(p.result(), x)
        failing = self.p.mixed.start(np.ones(2, np.float32), np.ones(2, np.float32))
        self.assertEqual(failing.result().tolist(), [3, 3])
