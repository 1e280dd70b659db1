"""grad, value_and_grad and vmap against finite differences and NumPy."""

from common import Case, np


class Derivatives(Case):
    SOURCE = '''
        struct Model[i, o] { w: f64[i, o], b: f64[o] }
        fn loss(m: Model[i, o], x: f64[k, i], y: f64[k, o]) -> f64 = sum((tanh(x @ m.w + m.b) - y) ** 2)
        fn f(x: f64[n], a: f64 = 2.0) -> f64 = sum(exp(a * x) * sin(x))
        fn pair(x: f64[n]) -> (f64, f64[n]) = (sum(x * x), 2.0 * x)
        fn dots(x: f64[n], y: f64[n]) -> f64 = sum(x * y)
    '''

    def slopes(self, f, x, step=1e-6):
        out = np.zeros_like(x)
        for i in np.ndindex(*x.shape):
            up, down = x.copy(), x.copy()
            up[i] += step
            down[i] -= step
            out[i] = (f(up) - f(down)) / (2 * step)
        return out

    def test_grad(self):
        x = np.random.default_rng(1).normal(size=5)
        g = self.p.grad("f")
        np.testing.assert_allclose(g(x), self.slopes(lambda x: np.sum(np.exp(2 * x) * np.sin(x)), x), rtol=1e-6)
        np.testing.assert_allclose(g(x, a=1.0), self.slopes(lambda x: np.sum(np.exp(x) * np.sin(x)), x), rtol=1e-6)
        self.assertEqual(self.p.grad(self.p.f)(x).tolist(), g(x).tolist())
        by_a = self.p.grad("f", argnums=1)(x, 1.5)
        self.assertAlmostEqual(by_a, np.sum(x * np.exp(1.5 * x) * np.sin(x)), 9)
        both = self.p.grad("f", argnums=(0, 1))(x, 1.5)
        self.assertIsInstance(both, tuple)
        self.assertEqual(both[1], by_a)
        second = self.p.grad("|x| sum(grad(f)(x))")(x)
        np.testing.assert_allclose(second, self.slopes(lambda x: np.sum(g(x)), x), rtol=1e-5)

    def test_structs(self):
        random = np.random.default_rng(2)
        m = self.p.Model(w=random.normal(size=(3, 2)), b=random.normal(size=2))
        x, y = random.normal(size=(4, 3)), random.normal(size=(4, 2))

        def loss(w, b):
            return np.sum((np.tanh(x @ w + b) - y) ** 2)

        value, g = self.p.value_and_grad("loss")(m, x, y)
        self.assertIsInstance(g, self.p.Model)
        self.assertAlmostEqual(value, loss(m.w, m.b), 9)
        np.testing.assert_allclose(g.w, self.slopes(lambda w: loss(w, m.b), m.w.copy()), rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(g.b, self.slopes(lambda b: loss(m.w, b), m.b.copy()), rtol=1e-5, atol=1e-7)
        self.assertEqual(self.p.grad(self.p.loss)(m, y=y, x=x).b.tolist(), g.b.tolist())

    def test_vmap(self):
        random = np.random.default_rng(3)
        x, y = random.normal(size=(4, 3)), random.normal(size=(4, 3))
        np.testing.assert_allclose(self.p.vmap("dots")(x, y), np.sum(x * y, 1))
        np.testing.assert_allclose(self.p.vmap("dots", axes=(0, None))(x, y[0]), x @ y[0])
        np.testing.assert_allclose(self.p.vmap(self.p.dots, axes=1)(x, y), np.sum(x * y, 0))
        np.testing.assert_allclose(self.p.vmap(self.p.grad("f"), axes=(0, None))(x, 2.0), [self.p.grad("f")(row) for row in x])

    def test_wrong(self):
        from common import tl
        with self.assertRaises(tl.CompileError):
            self.p.grad("pair")(np.ones(2))
        other = tl.compile("fn f(x: f64) -> f64 = x * x")
        with self.assertRaises(ValueError):
            self.p.grad(other.f)
        self.assertEqual(other.grad("f")(3.0), 6.0)
