"""Calls: names, keywords, defaults, documentation, kinds of results. NumPy is the oracle."""

import inspect
import os
import pickle
import tempfile

from common import Case, np, tl


class Functions(Case):
    SOURCE = '''
        ## Multiplies every element.
        fn scale(
          ## what is multiplied
          x: f32[..s],
          by: f32 = 2.0) -> f32[..s] = x * by
        fn affine(x: f32[n], a: f32, b: f32 = 0.0) -> f32[n] = a * x + b
        fn total(x: f32[n]) -> f32 = sum(x)
        fn greet(name: str = "you", times: i64 = 1) -> str { "hello {name} {times}" }
        fn split(x: f32[n], at: i64) -> (f32[_], f32[_], i64) = (x[:at], x[at:], at)
        fn nothing(x: f32[n]) { assert sum(x) > -1.0e30 }
        fn parts(x: f32[n, m]) -> List<f32[m]> = list(x[i] for i in 0..n)
        fn sum_all(xs: List<f32[_]>) -> f32 {
          var total: f32 = 0.0
          for x in xs { total += sum(x) }
          total
        }
        fn lengths(xs: List<List<f32>>) -> i64 {
          var n = 0
          for x in xs { n += len(x) }
          n
        }
        fn joined(words: List<str>) -> str {
          var text = ""
          for w in words { text = "{text}{w}," }
          text
        }
        fn add(x, y) = x + y
        fn norm<T: float>(x: T[n]) -> T = sqrt(sum(x * x))
        fn flag(b: bool, x: i64) -> i64 = if b { x } else { 0 - x }
        fn close(x: f32) -> f32 = x
        fn lambda(x: f32) -> f32 = x + 1.0
        const K = 3
        fn k_times(x: i64) -> i64 = K * x
    '''

    def test_calls(self):
        x = np.arange(5, dtype=np.float32)
        self.same(self.p.scale(x), 2 * x)
        self.same(self.p.scale(x, 3), 3 * x)
        self.same(self.p.scale(x, by=0.5), np.float32(0.5) * x)
        self.same(self.p.scale(by=0.5, x=x), np.float32(0.5) * x)
        self.same(self.p.affine(x, b=1.0, a=2.0), 2 * x + 1)
        self.assertEqual(self.p.k_times(7), 21)

    def test_scalars(self):
        x = np.arange(5, dtype=np.float32)
        total = self.p.total(x)
        self.assertIsInstance(total, np.float32)
        self.assertEqual(total, 10)
        total = self.p.total([1, 2, 3.5])
        self.assertIs(type(total), float)
        self.assertEqual(total, 6.5)
        self.assertEqual(self.p.flag(True, 3), 3)
        self.assertEqual(self.p.flag(False, 3), -3)
        self.assertIs(type(self.p.flag(True, 3)), int)
        self.assertIsInstance(self.p.scale([1, 2]), np.ndarray)  # NumPy is there
        self.assertEqual(self.p.affine(x, np.float64(2.0)).tolist(), (2 * x).tolist())  # a numpy.float64 is a float
        self.assertEqual(self.p.k_times(np.int64(5)), 15)
        for five in (np.int32(5), np.uint8(5), np.array(5, np.int16)):  # integers to Python
            self.assertEqual(self.p.k_times(five), 15)
        self.assertEqual(self.p.affine(x, np.float16(2.0), np.int32(1)).tolist(), (2 * x + 1).tolist())
        for wrong in (np.array([5]), np.float32(5), np.True_):
            with self.assertRaises(TypeError):
                self.p.k_times(wrong)
        with self.assertRaises(OverflowError):
            self.p.k_times(np.uint64(2**64 - 1))

    def test_texts_tuples_nothing(self):
        self.assertEqual(self.p.greet(), "hello you 1")
        self.assertEqual(self.p.greet("Zoë 🙂", times=3), "hello Zoë 🙂 3")
        self.assertEqual(self.p.greet(times=2), "hello you 2")
        x = np.arange(5, dtype=np.float32)
        left, right, at = self.p.split(x, 2)
        self.same(left, x[:2])
        self.same(right, x[2:])
        self.assertEqual(at, 2)
        self.assertIsNone(self.p.nothing(x))
        with self.assertRaises(ValueError):
            self.p.greet("a\0b")

    def test_lists(self):
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        parts = self.p.parts(x)
        self.assertIs(type(parts), list)
        self.same(parts[1], x[1])
        for count in (1, 2, 7, 8, 9, 40):
            arrays = [np.full(i, i, np.float32) for i in range(count)]
            self.assertEqual(self.p.sum_all(arrays), sum(i * i for i in range(count)))
            self.assertEqual(self.p.sum_all(tuple(arrays)), sum(i * i for i in range(count)))
        self.assertEqual(self.p.sum_all([]), 0)
        self.assertEqual(self.p.sum_all([[1, 2], x[0], [True]]), 7)
        self.assertEqual(self.p.lengths([[1.0, 2], [3]]), 3)
        self.assertEqual(self.p.lengths([[1.0, 2], []]), 2)
        self.assertEqual(self.p.joined(["a", "bc", ""]), "a,bc,,")

    def test_nested_lists(self):
        self.same(self.p.scale([[1, 2], [3, 4]]), [[2, 4], [6, 8]], np.float32)
        self.same(self.p.scale([]), [], np.float32)
        self.same(self.p.scale([[], []]), np.zeros((2, 0), np.float32))
        self.same(self.p.scale([np.ones(2, np.float32)] * 3), np.full((3, 2), 2, np.float32))
        for wrong in ([[1, 2], [3]], [1, [2]], [[1], 2]):
            with self.assertRaisesRegex(ValueError, "one length"):
                self.p.scale(wrong)
        for wrong in ([1, "a"], [None], ["a"], [{}]):
            with self.assertRaises(TypeError):
                self.p.scale(wrong)
        endless = []
        endless.append(endless)
        with self.assertRaises((TypeError, ValueError)):
            self.p.scale(endless)

    def test_generic(self):
        for dtype in (np.float32, np.float64, np.float16):
            x = np.array([3, 4], dtype)
            self.same(self.p.norm(x), 5, dtype)
            self.same(self.p.add(x, x), 2 * x)
        self.assertEqual(self.p.add(1, 2), 3)
        self.assertIs(type(self.p.add(1, 2)), int)
        self.assertEqual(self.p.add(1.5, 2.0), 3.5)
        self.same(self.p.add(np.int8([1]), np.int8([127])), np.int8([-128]))
        self.same(self.p.add([1, 2], [3, 4]), [4, 6], np.int64)

    def test_names(self):
        self.assertEqual(self.p["close"](4.0), 4)
        self.assertEqual(self.p["lambda"](4.0), 5)
        self.assertIn("scale", dir(self.p))
        self.assertIn("close", self.p)
        self.assertNotIn("nobody", self.p)
        with self.assertRaisesRegex(AttributeError, "nobody"):
            self.p.nobody
        with self.assertRaisesRegex(AttributeError, "no function or struct 'scael': did you mean 'scale'\\?"):
            self.p.scael
        with self.assertRaisesRegex(AttributeError, r'made by p.function\("hessian\(f\)"\)'):
            self.p.hessian
        with self.assertRaises(KeyError):
            self.p["nobody"]
        self.assertIs(self.p.scale, self.p.scale)
        self.assertIn("scale", repr(self.p))
        with self.assertRaises(AttributeError):
            self.p.scale = 3

    def test_signatures(self):
        signature = inspect.signature(self.p.scale)
        self.assertEqual(list(signature.parameters), ["x", "by"])
        self.assertEqual(signature.parameters["by"].default, 2.0)
        self.assertEqual(signature.parameters["x"].annotation, "f32[..s]")
        self.assertEqual(signature.return_annotation, "f32[..s]")
        self.assertEqual(inspect.signature(self.p.greet).parameters["name"].default, "you")
        self.assertEqual(self.p.scale.__name__, "scale")
        self.assertTrue(self.p.scale.__doc__.startswith("fn scale(x: f32[..s], by: f32 = 2.0) -> f32[..s]"))
        self.assertIn("Multiplies every element.", self.p.scale.__doc__)
        self.assertIn("fn scale(", repr(self.p.scale))
        self.assertIs(self.p.scale.program, self.p)

    def test_result_type(self):
        x = np.zeros((2, 3), np.float32)
        self.assertRegex(self.p.scale.result_type(x), r"^f32\[")
        self.assertEqual(self.p.total.result_type(x[0]), "f32")
        self.assertEqual(self.p.add.result_type(np.zeros(2), np.zeros(2)), "f64[x.shape[0]]")

    def test_expressions(self):
        x = np.arange(3, dtype=np.float32)
        f = self.p.function("|x, y| scale(x, 2.0) + y")
        self.same(f(x, x), 3 * x)
        self.assertIs(self.p.function("|x, y| scale(x, 2.0) + y"), f)
        g = self.p.function("|x, by| scale(x, by) + 1.0", like="scale")
        self.same(g(x, by=3.0), 3 * x + 1)
        with self.assertRaises(KeyError):
            self.p.function("scale", like="nobody")
        with self.assertRaises(tl.CompileError):
            self.p.function("|x| nobody(x)")(x)

    def test_types_of_lambdas(self):
        f = self.p.function
        self.assertEqual(f("|x: f64| x + 0.1")(0.2), 0.2 + 0.1)
        self.assertEqual(f("|x: f64| x")(1), 1.0)
        self.same(f("|x: f64[_]| x * 2.0")([1, 2]), np.array([2.0, 4.0]))
        self.assertEqual(f("|x: (f64, i64)| x")((0.1, 2)), (0.1, 2))
        self.assertEqual(f("|xs: List<f64[_]>| len(xs)")([np.ones(2), np.ones(3)]), 2)
        self.assertEqual(f('|x: bool, y: str| "{x} {y}"')(True, "a"), "true a")
        with self.assertRaisesRegex(OverflowError, "^x: 300 does not fit into i8"):
            f("|x: i8| x")(300)
        with self.assertRaisesRegex(TypeError, "^x: f64 is wanted, and this is a text"):
            f("|x: f64| x")("a")
        with self.assertRaisesRegex(TypeError, "needs an argument for 'y'"):
            f("|x: f64, y| x")(1.0)

    def test_pickle(self):
        x = np.arange(3, dtype=np.float32)
        self.same(pickle.loads(pickle.dumps(self.p.scale))(x), 2 * x)
        self.assertIs(pickle.loads(pickle.dumps(self.p)), self.p)

    def test_onnx(self):
        """Results that ONNX Runtime gave are stored beside the models."""
        folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "onnx")
        for name in ("convolution", "attention"):
            p = tl.load(os.path.join(folder, name + ".onnx"), threads=2)
            with np.load(os.path.join(folder, name + ".npz")) as stored:
                for case in ("0", "1"):
                    got = p.main(stored[case + ".in.0"])
                    np.testing.assert_allclose(got, stored[case + ".out.0"], rtol=1e-4, atol=1e-5)
                    again = pickle.loads(pickle.dumps(p.main))(stored[case + ".in.0"])
                    self.assertEqual(again.tolist(), got.tolist())

    def test_imports_are_those_of_the_load(self):
        with tempfile.TemporaryDirectory() as folder:
            def write(name, text):
                with open(os.path.join(folder, name), "w") as file:
                    file.write(text)
            write("part.tl", "fn k() -> f32 = 1.0\n")
            write("whole.tl", 'import "./part.tl" as part\nfn f(x: f32[..s]) -> f32[..s] = x + part.k()\n')
            p = tl.load(os.path.join(folder, "whole.tl"))
            self.assertEqual(p.f(np.float32(1)), 2)
            write("part.tl", "fn k() -> f32 = 5.0\n")
            self.assertEqual(p.f(np.ones(1, np.float32)).tolist(), [2])  # compiled only now
            self.assertEqual(tl.load(os.path.join(folder, "whole.tl")).f(np.ones(1, np.float32)).tolist(), [6])

    def test_several_programs(self):
        a = tl.compile("fn f(x: i64) -> i64 = x + 1")
        b = tl.compile("fn f(x: i64) -> i64 = x + 2")
        self.assertEqual((a.f(1), b.f(1)), (2, 3))
        f = a.f
        a.close()
        a.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            f(1)
        with self.assertRaisesRegex(ValueError, "closed"):
            f.start(1)
        with self.assertRaisesRegex(ValueError, "closed"):
            f.result_type(1)
        self.assertIn("closed", repr(a))
        with tl.compile("fn f(x: i64) -> i64 = x") as c:
            self.assertEqual(c.f(4), 4)
        with self.assertRaises(ValueError):
            c.f(4)
        del a, f
        self.assertEqual(b.f(1), 3)
