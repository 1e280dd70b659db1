"""Structs: made, read, changed, saved, copied, pickled."""

import copy
import gc
import os
import pickle
import subprocess
import sys
import tempfile

from common import Case, np, python, tl

SOURCE = '''
import nn
## Weights.
struct Model[i, o] {
  ## as a matrix
  w: f32[i, o],
  b: f32[o]
}
struct Net[i, h, o] { first: Model[i, h], second: Model[h, o], steps: i64, name: str }
fn apply(m: Model[i, o], x: f32[k, i]) -> f32[k, o] = x @ m.w + m.b
fn run(net: Net[i, h, o], x: f32[k, i]) -> f32[k, o] = apply(net.second, relu(apply(net.first, x)))
fn same(m: Model) -> Model = m
fn count(ms: List<Model>) -> i64 = len(ms)
fn all(ms: List<Model>, x: f32[k, i]) -> f32[k, i] {
  var y = x
  for m in ms { y = apply(m, y) }
  y
}
fn made_linear(k: i64) -> nn.Linear = nn.linear_init(key(k), 3, 2)
fn use_linear(l: nn.Linear, x: f32[k, 3]) -> f32[k, 2] = x.linear(l)
'''


class Structs(Case):
    SOURCE = SOURCE

    def model(self, i=2, o=3):
        return self.p.Model(w=np.arange(i * o, dtype=np.float32).reshape(i, o), b=np.ones(o, np.float32))

    def test_fields(self):
        m = self.model()
        self.assertIsInstance(m, self.p.Model)
        self.assertIsInstance(m, tl.Struct)
        self.same(m.w, np.arange(6, dtype=np.float32).reshape(2, 3))
        self.same(m.b, np.ones(3, np.float32))
        self.assertFalse(m.w.flags.writeable)
        self.assertEqual(m.fields(), ("w", "b"))
        self.assertEqual(repr(m), "Model(w=f32[2, 3], b=f32[3])")
        with self.assertRaises(AttributeError):
            m.w = m.w
        with self.assertRaises(AttributeError):
            m.nobody
        with self.assertRaises(AttributeError):
            m.other = 1
        self.assertEqual(m, m)
        self.assertNotEqual(m, self.model())
        self.assertIn("Weights.", self.p.Model.__doc__)
        self.assertIn("Model", dir(self.p))

    def test_making(self):
        m = self.p.Model([[1, 2], [3, 4]], b=[5, 6])
        self.same(m.w, [[1, 2], [3, 4]], np.float32)
        for wrong in ({}, {"w": m.w}, {"w": m.w, "b": m.b, "c": 1}, {"w": m.w, "b": m.w}, {"w": m.w.astype(float), "b": m.b}):
            with self.assertRaises((TypeError, ValueError)):
                self.p.Model(**wrong)

    def test_calls(self):
        m, x = self.model(), np.ones((4, 2), np.float32)
        self.same(self.p.apply(m, x), x @ m.w + m.b)
        same = self.p.same(m)
        self.assertIsInstance(same, self.p.Model)
        self.same(same.w, m.w)
        with self.assertRaises(ValueError):
            self.p.apply(m, np.ones((4, 5), np.float32))

    def test_nested(self):
        net = self.p.Net(first=self.model(2, 3), second=self.model(3, 2), steps=7, name="é")
        x = np.ones((4, 2), np.float32)
        hidden = np.maximum(x @ net.first.w + net.first.b, 0)
        self.same(self.p.run(net, x), hidden @ net.second.w + net.second.b)
        self.assertEqual((net.steps, net.name), (7, "é"))
        self.assertIn("name='é'", repr(net))
        first = net.first
        del net
        gc.collect()
        self.same(first.b, np.ones(3, np.float32))

    def test_with(self):
        m = self.model()
        n = m.with_(b=np.zeros(3, np.float32))
        self.same(n.w, m.w)
        self.same(n.b, np.zeros(3, np.float32))
        self.same(m.b, np.ones(3, np.float32))
        with self.assertRaisesRegex(TypeError, "nobody"):
            m.with_(nobody=1)

    def test_lists(self):
        x = np.ones((4, 2), np.float32)
        models = [self.model(2, 2) for _ in range(11)]
        self.assertEqual(self.p.count(models), 11)
        self.assertEqual(self.p.count([]), 0)
        y = x
        for m in models[:3]:
            y = y @ m.w + m.b
        self.same(self.p.all(models[:3], x), y)
        with self.assertRaises((TypeError, ValueError)):
            self.p.count([1, 2])

    def test_of_other_modules(self):
        l = self.p.made_linear(3)
        self.assertIsInstance(l, tl.Struct)
        self.assertEqual(l.w.shape, (3, 2))
        x = np.ones((4, 3), np.float32)
        self.assertEqual(self.p.use_linear(l, x).shape, (4, 2))
        np.testing.assert_allclose(self.p.use_linear(l, x), x @ l.w + l.b, rtol=1e-6)
        with self.assertRaises(AttributeError):
            l.nobody
        self.assertEqual(l.fields(), ("w", "b"))
        self.assertEqual(repr(l), "nn.Linear(w=f32[3, 2], b=f32[2])")
        self.assertIs(type(l), self.p["nn.Linear"])
        self.assertIn("nn.Linear", self.p)
        self.assertNotIn("nn.Nobody", self.p)
        made = self.p["nn.Linear"](w=l.w, b=np.array([1, 2], np.float32))
        self.same(self.p.use_linear(made, x), x @ l.w + np.array([1, 2], np.float32))
        self.same(made.with_(b=l.b).b, l.b)
        self.same(pickle.loads(pickle.dumps(made)).w, l.w)
        self.assertIs(copy.deepcopy(made), made)
        with self.assertRaises(TypeError):
            self.p["nn.Linear"](w=l.w)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "l.npz")
            made.save(path)
            self.same(type(l).load(path).b, [1, 2], np.float32)

    def test_without_a_name(self):
        """A struct of a module that only an imported module imports."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("inner.tl", "struct S[n] { x: f32[n], k: i64 }\n"),
                               ("outer.tl", 'import "./inner.tl" as inner\n'
                                            "fn made(k: i64) -> inner.S = inner.S(x = ones([k]), k = k)\n"),
                               ("main.tl", 'import "./outer.tl" as outer\nfn made(k: i64) = outer.made(k)\n')):
                with open(os.path.join(folder, name), "w") as file:
                    file.write(text)
            p = tl.load(os.path.join(folder, "main.tl"))
            s = p.made(3)
            self.assertEqual((s.fields(), s.k, s.x.tolist()), (("x", "k"), 3, [1, 1, 1]))
            self.assertEqual(repr(s), "S(x=f32[3], k=3)")
            with self.assertRaises(AttributeError):
                s.nobody
            for use in (lambda: pickle.dumps(s), lambda: type(s)(x=s.x, k=1), lambda: type(s).load("x.npz"),
                        lambda: s.save("x.npz"), lambda: s.with_(k=5)):
                with self.assertRaisesRegex(TypeError, "no name for S"):
                    use()

    def test_files(self):
        m = self.model()
        with tempfile.TemporaryDirectory() as folder:
            for name in ("m.safetensors", "m.npz"):
                path = os.path.join(folder, name)
                m.save(path)
                n = self.p.Model.load(path)
                self.same(n.w, m.w)
                self.same(n.b, m.b)
                if name.endswith("npz"):
                    with np.load(path) as file:
                        self.same(file["w"], m.w)
            with self.assertRaises((tl.RunError, ValueError)):
                self.p.Model.load(os.path.join(folder, "nowhere.safetensors"))

    def test_copies(self):
        m = self.model()
        self.assertIs(copy.copy(m), m)
        self.assertIs(copy.deepcopy({"m": m})["m"], m)
        n = pickle.loads(pickle.dumps(m))
        self.assertIs(type(n), self.p.Model)
        self.same(n.w, m.w)
        net = self.p.Net(first=m, second=self.model(3, 2), steps=1, name="")
        self.same(pickle.loads(pickle.dumps(net)).first.w, m.w)

    def test_pickle_across_processes(self):
        m = self.model()
        with tempfile.NamedTemporaryFile() as file:
            pickle.dump((m, self.p.apply), file)
            file.flush()
            code, text = python('''
                import pickle, numpy as np
                m, apply = pickle.load(open(%r, "rb"))
                print(type(m).__name__, m.w.tolist(), apply(m, np.ones((1, 2), np.float32)).tolist())
            ''' % file.name)
        expected = np.ones((1, 2), np.float32) @ m.w + m.b
        self.assertEqual((code, text), (0, "Model %s %s\n" % (m.w.tolist(), expected.tolist())))

    def test_outlive(self):
        p = tl.compile("struct S { x: f32[2] }\nfn f(x: f32[2]) -> S = S(x = x)")
        s = p.f(np.ones(2, np.float32))
        x = s.x
        p.close()
        self.same(x, np.ones(2, np.float32))
        self.same(s.x, x)  # values outlive their program
        for use in (lambda: s.with_(x=x), lambda: s.save("nowhere.npz"), lambda: p.f(x)):
            with self.assertRaisesRegex(ValueError, "closed"):
                use()
        del p, s
        gc.collect()
        self.same(x, np.ones(2, np.float32))

    def test_of_another_program(self):
        q = tl.compile(SOURCE)
        m = self.model()
        x = np.ones((1, 2), np.float32)
        self.same(q.apply(m, x), x @ m.w + m.b)
