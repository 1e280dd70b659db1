"""Complex numbers, against NumPy."""

import pickle
import unittest

from common import Case, np, tl


class Complex(Case):
    SOURCE = '''
        struct Signal[n] { z: c128[n], gain: f64 }
        struct Of<T: any>[n] { x: T[n] }
        fn square(z: c128[..s]) -> c128[..s] = z * z
        fn narrow(z: c64[n]) -> c64[n] = conj(z)
        fn any(z) = z * 2.0
        fn number(z: c128) -> c128 = z * z + 1.0
        fn parts(z: c128[..s]) = (real(z), (imag(z), conj(z)))
        fn put(z: c128[n], gain: f64 = 2.0) -> Signal = Signal(z, gain)
        fn apply(s: Signal) = s.z * s.gain
        fn hold(x: c128[n]) -> Of<c128> = Of(x)
        fn let_go(o: Of<c128>) = o.x
        fn spectrum(x: f64[..s]) = fft(x)
        fn energy(z: c128[n]) -> f64 = sum(abs(z) ** 2.0)
        fn real_only(x: f64[n, 2]) -> f64[n, 2] = x
        fn real_number(x: f64) -> f64 = x
        fn listed(zs: List<c128[_]>) -> i64 = len(zs)
    '''

    def setUp(self):
        self.random = np.random.default_rng(5)

    def values(self, *shape):
        return self.random.normal(size=shape) + 1j * self.random.normal(size=shape)

    def test_arrays(self):
        for rank in range(4):
            for _ in range(5):
                z = self.values(*self.random.integers(0, 5, rank))
                with self.subTest(z.shape):
                    self.same(self.p.parts(z)[1][1], np.conj(z))
                    np.testing.assert_allclose(self.p.square(z), z * z, rtol=1e-14)
                    self.same(self.p.square(tl.tensor(z)).numpy() if rank else self.p.square(z), self.p.square(z))
        x = self.values(4, 6)
        for layout in (x.T, x[::-1, 1::2], np.asfortranarray(x), x.astype(">c16"), np.broadcast_to(x[0], (3, 6)),
                       np.frombuffer(b"x" + x.tobytes(), complex, offset=1), x.real.astype(complex)):
            self.same(self.p.parts(layout)[1][1], np.conj(layout).astype(complex))
        self.same(self.p.parts(x)[0], x.real)
        self.same(self.p.parts(x)[1][0], x.imag)
        self.same(self.p.real_only(np.ones((3, 2))), np.ones((3, 2)))
        np.testing.assert_allclose(self.p.spectrum(x.real), np.fft.fft(x.real), atol=1e-13)

    def test_types(self):
        z = self.values(3).astype(np.complex64)
        self.same(self.p.narrow(z), np.conj(z))
        self.same(self.p.any(z), z * np.float32(2))
        for wrong, name in ((np.ones(3), "complex128"), (z, "complex128")):
            with self.assertRaisesRegex(TypeError, name):
                self.p.square(wrong)
        for wrong in (self.values(3), self.values(3, 2)):
            with self.assertRaisesRegex(TypeError, "c128"):
                self.p.real_only(wrong)
        with self.assertRaisesRegex(TypeError, "complex256"):
            self.p.square(np.ones(2, np.clongdouble))
        with self.assertRaisesRegex(tl.CompileError, "a list of complex numbers"):
            self.p.listed([self.values(2)])

    def test_numbers(self):
        for z in (1 + 2j, np.complex128(1 + 2j), np.complex64(1 + 2j), 3, 2.5, np.float32(2.5), np.int8(3), np.array(2j)):
            with self.subTest(repr(z)):
                self.assertEqual(self.p.number(z), complex(z) ** 2 + 1)
        self.assertIs(type(self.p.number(1j)), complex)
        self.assertIs(type(self.p.number(np.complex128(1j))), np.complex128)
        self.same(self.p.square([1 + 2j, 3]), np.array([-3 + 4j, 9]))
        with self.assertRaisesRegex(TypeError, "x: "):
            self.p.real_number(1j)

    def test_structs(self):
        z = self.values(4)
        s = self.p.put(z)
        self.same(s.z, z)
        self.same(self.p.apply(s), z * 2)
        self.same(self.p.apply(s.with_(z=z[:2])), z[:2] * 2)
        self.same(self.p.Signal(z=z, gain=3.0).z, z)
        self.same(self.p.let_go(self.p.hold(z)), z)
        self.same(pickle.loads(pickle.dumps(tl.tensor(z))).numpy(), z)
        with self.assertRaises(TypeError):
            self.p.apply(self.p.hold(z))

    def test_derivatives(self):
        z = self.values(4)
        np.testing.assert_allclose(self.p.grad("energy")(z), 2 * z, rtol=1e-13)
        np.testing.assert_allclose(self.p.vmap("number")(z), z * z + 1, rtol=1e-13)
        value, slope = self.p.value_and_grad("energy")(z)
        np.testing.assert_allclose([value, *slope], [np.sum(np.abs(z) ** 2), *(2 * z)], rtol=1e-13)

    def test_tensors(self):
        t = tl.tensor([1, 2j], dtype="c128")
        self.assertEqual((t.dtype, t.shape, t.tolist()), ("c128", (2,), [1, 2j]))
        self.assertEqual(tl.tensor(1j).dtype, "c64")
        self.assertEqual(tl.tensor(3 + 1j).item(), 3 + 1j)


if __name__ == "__main__":
    unittest.main()
