"""What is raised, and that nothing is lost by it."""

import contextlib
import io
import os
import pickle
import sys
import tempfile

from common import Case, np, tl


class Errors(Case):
    SOURCE = '''
        fn f(x: f32[n, 3], y: f32[n]) -> f32[n] = x[:, 0] + y
        fn summed(x: f32[n, 3], y: f32[n]) -> f32 = sum(f(x, y))
        fn at(x: f32[n], i: i64) -> f32 = x[i]
        fn quits(code: i64) { exit(code) }
        fn forever(n: i64) -> i64 = if n < 0 { n } else { 1 + forever(n + 1) }
        fn checks(x: f32) -> f32 { assert x > 0.0, "not {x}"
          x }
        fn say(text: str) { print(text) }
        fn f64_of(x: f64[n]) -> f64[n] = x
        fn loops(n: i64) -> i64 { var i = 0
          while i < n { i += 1
            print("{i}") }
          i }
    '''
    x, y = np.ones((2, 3), np.float32), np.ones(2, np.float32) if np else None

    def test_types(self):
        with self.assertRaises(TypeError) as raised:
            self.p.f(self.x.astype(np.float64), self.y)
        self.assertIn("x", str(raised.exception))
        self.assertIn('.astype("float32")', str(raised.exception))
        for wrong in ((self.x.astype(np.int32), self.y), (self.x[0], self.y), (self.x, self.x), (self.x, "text"), (self.x, None),
                      (self.x, object()), (self.x, [self.p])):
            with self.subTest(wrong[1].__class__), self.assertRaises(TypeError):
                self.p.f(*wrong)

    def test_hints(self):
        """How to convert is said where an array of another element type was given, and nowhere else."""
        for wrong in (True, "text", self.x, (1, 2)):
            with self.subTest(str(wrong)), self.assertRaises(TypeError) as raised:
                self.p.checks(wrong)
            self.assertNotIn("astype", str(raised.exception))
        with self.assertRaisesRegex(TypeError, "astype"):
            self.p.checks(np.ones((), np.float64))

    def test_broken_arrays(self):
        class Struct:
            __array_struct__ = 5

        class Tensor:
            def __dlpack__(self, **_):
                return 5

            def __dlpack_device__(self):
                return 1, 0

        class Raises:
            def __dlpack__(self, **_):
                raise KeyError("mine")

        class Array:
            def __array__(self, *_, **__):
                raise KeyError("mine")

        for wrong in (Struct(), Tensor()):
            with self.assertRaisesRegex(TypeError, "capsule"):
                self.p.checks(wrong)
        for wrong in (Raises(), Array()):
            with self.assertRaisesRegex(KeyError, "mine"):
                self.p.checks(wrong)

    def test_shapes(self):
        for wrong in ((np.ones((2, 4), np.float32), self.y), (self.x, np.ones(3, np.float32))):
            with self.assertRaises(ValueError):
                self.p.f(*wrong)

    def test_counts(self):
        for positional, named in (((), {}), ((self.x,), {}), ((self.x, self.y, self.y), {}), ((self.x, self.y), {"z": 1}),
                                  ((self.x, self.y), {"x": self.x}), ((), {"y": self.y})):
            for call in (self.p.f, self.p.f.start, self.p.f.result_type, self.p.grad("summed"), self.p.value_and_grad("summed")):
                with self.subTest(str(named)), self.assertRaises(TypeError) as raised:
                    call(*positional, **named)
                self.assertNotIsInstance(raised.exception, tl.CompileError)
        with self.assertRaisesRegex(TypeError, "needs an argument for 'y'"):
            self.p.f(self.x)
        for call in (self.p.function("|a, b| a + b"), self.p.vmap("f")):
            for positional in ((), (self.y,), (self.y, self.y, self.y)):
                with self.subTest(len(positional)), self.assertRaises(TypeError):
                    call(*positional)
        for name in (3, "x\0", "\ud800"):
            with self.subTest(repr(name)), self.assertRaises((TypeError, UnicodeEncodeError)):
                self.p.f(self.y, **{name: self.x})
        self.assertEqual(self.p.f(self.x, self.y).tolist(), [2, 2])

    def test_failures(self):
        with self.assertRaises(tl.RunError) as raised:
            self.p.at(self.y, 5)
        error = raised.exception
        self.assertIsInstance(error, RuntimeError)
        self.assertEqual((error.kind, error.file, error.line), ("IndexOutOfRange", "Errors.tl", 4))
        self.assertIn("Errors.tl:4:", str(error))
        self.assertEqual(self.p.at(self.y, 1), 1)
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((type(again), str(again), again.kind, again.line), (type(error), str(error), error.kind, error.line))
        with self.assertRaisesRegex(tl.RunError, "not -1"):
            self.p.checks(-1.0)
        with self.assertRaises(tl.RunError):
            self.p.quits(3)
        with self.assertRaises(tl.RunError):
            self.p.forever(0)
        self.assertEqual(self.p.checks(1.0), 1)

    def test_asynchronous_failures(self):
        t = tl.tensor(self.y)
        bad = self.p.at(t, 7)
        for ask in (bad.numpy, lambda: self.p.function("|x: f32| x + 1.0")(bad).numpy(), bad.tolist, bad.numpy):
            with self.assertRaises(tl.RunError):
                ask()
        pending = self.p.at.start(self.y, 9)
        for ask in (pending.wait, pending.result, pending.result):
            with self.assertRaises(tl.RunError):
                ask()
        self.assertTrue(pending.ready())

    def test_rejected(self):
        with self.assertRaises(tl.CompileError) as raised:
            tl.compile("fn good(x: f32) -> f32 = x\nfn f(x: f32[n]) -> f32[n] = x + nobody", name="wrong.tl")
        error = raised.exception
        self.assertIsInstance(error, ValueError)
        self.assertEqual((error.kind, error.file, error.line, error.column), ("UnknownName", "wrong.tl", 2, 33))
        self.assertIn("nobody", error.message)
        self.assertIn("wrong.tl:2:33", str(error))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "bad.tl")
            with open(path, "w") as file:
                file.write("fn f( = 3\n")
            with self.assertRaises(tl.CompileError) as raised:
                tl.load(path)
            self.assertEqual(raised.exception.line, 1)
            with self.assertRaises((tl.CompileError, ValueError, OSError)):
                tl.load(os.path.join(folder, "nowhere.tl"))
        with self.assertRaises((ValueError, TypeError)):
            tl.compile("fn f(x: f32) -> f32 = x", threads="many")
        with self.assertRaises((ValueError, TypeError)):
            tl.compile("fn f(x: f32) -> f32 = x", nonsense=1)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("main.tl", 'import "./other.tl" as other\nfn f(x: i64) -> i64 = other.g(x)\n'),
                               ("other.tl", "fn g(x: i64) -> i64 = x + 40\n")):
                with open(os.path.join(folder, name), "w") as file:
                    file.write(text)
            self.assertEqual(tl.load(os.path.join(folder, "main.tl")).f(2), 42)

    def test_output(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            self.p.say("héllo")
            self.p.loops(3)
        self.assertEqual(out.getvalue(), "héllo\n1\n2\n3\n")

    def test_output_that_fails(self):
        class Broken(io.StringIO):
            def write(self, text):
                raise OSError("full")

        with contextlib.redirect_stdout(Broken()), self.assertRaisesRegex(OSError, "full"):
            self.p.say("x")
        with contextlib.redirect_stdout(Broken()), self.assertRaisesRegex(OSError, "full"):
            self.p.loops(3)
        self.assertEqual(self.p.loops(0), 0)
        before = sys.stdout
        sys.stdout = None
        try:
            self.p.say("nowhere")
        finally:
            sys.stdout = before

    def test_output_that_calls(self):
        """What a program prints to may call programs itself."""
        seen = []

        class Nosy(io.StringIO):
            def write(inner, text):
                seen.append((text, self.p.checks(float(len(seen) + 1))))

        with contextlib.redirect_stdout(Nosy()):
            self.p.say("x")
        self.assertTrue(seen)
