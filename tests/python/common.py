"""What the tests of the Python package share."""

import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

import tl

try:
    import numpy as np
except ImportError:  # plain.py runs without
    np = None
try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

FLOATS = ["f16", "bf16", "f32", "f64"]
INTEGERS = ["u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64"]
DTYPES = ["bool"] + INTEGERS + FLOATS


def numpy_dtype(name):
    """NumPy's type for one of tl's."""
    if name == "bf16":
        return np.dtype(ml_dtypes.bfloat16)
    if name == "bool":
        return np.dtype(bool)
    return np.dtype({"u": "uint", "i": "int", "f": "float"}[name[0]] + name[1:])


def python(code, *, timeout=120, **more):
    """Runs a script in another process: its exit code, and what it wrote to both streams."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "script.py")
        with open(path, "w") as file:
            file.write(textwrap.dedent(code))
        done = subprocess.run([sys.executable, path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=timeout, **more)
    return done.returncode, done.stdout


class Case(unittest.TestCase):
    """SOURCE is compiled once for all tests of a class, as self.p."""

    SOURCE = ""

    @classmethod
    def setUpClass(cls):
        cls.p = tl.compile(textwrap.dedent(cls.SOURCE), name=cls.__name__ + ".tl", threads=2)

    @classmethod
    def tearDownClass(cls):
        cls.p.close()

    def same(self, got, expected, dtype=None):
        """Equal values, shape and type: bit for bit."""
        expected = np.asarray(expected, dtype)
        self.assertEqual(np.shape(got), expected.shape)
        self.assertEqual(np.asarray(got).dtype, expected.dtype)
        self.assertEqual(np.asarray(got).tobytes(), expected.tobytes())
