"""Values of ONNX operators for tests/golden/run/onnx_*.tl: each other module here has the cases of a group; this writes GROUP.npz beside it,
and the golden program that calls the library's functions and compares.

Run once: python3 values.py [GROUP…] (numpy, onnx 1.23, onnxruntime 1.32). The operators are computed by onnxruntime or, with
oracle = REFERENCE, by onnx.reference: random inputs, names in the file are CASE.TENSOR. Where a case names a tensor in `slope`, the
program compares the gradient of sum(sin(y)) in it, in f64, with a central difference.
"""
import importlib
import os
import sys
import zlib

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

HERE = os.path.dirname(os.path.abspath(__file__))
TYPES = {"float16": "f16", "float32": "f32", "float64": "f64", "bool": "bool", "uint8": "u8", "int8": "i8", "uint16": "u16",
         "int16": "i16", "int32": "i32", "int64": "i64"}
RUNTIME, REFERENCE = "onnxruntime", "onnx.reference"


class Group:
    """The cases of one golden program."""

    def __init__(self, name, title, imports=("onnx",)):
        self.name, self.title, self.imports = name, title, imports
        self.values, self.functions, self.names = {}, [], []
        self.rng = np.random.default_rng(zlib.crc32(name.encode()))  # a new group does not change the others

    def normal(self, *shape, dtype=np.float32):
        return self.rng.standard_normal(shape).astype(dtype)

    def integers(self, low, high, *shape, dtype=np.int64):
        return self.rng.integers(low, high, shape).astype(dtype)

    def case(self, name, op, inputs, call, attributes=None, outputs=("y",), oracle=RUNTIME, opset=24, slope=None, rtol=1e-5):
        """`inputs`: the operator's, by the names that `call` (an expression of tl) uses; None: left out, one that starts with `_` is for
        the operator alone. `outputs`: "" for one that is left out."""
        node = helper.make_node(op, [k if v is not None else "" for k, v in inputs.items()], list(outputs), **(attributes or {}))
        given = {k: np.asarray(v) for k, v in inputs.items() if v is not None}
        graph = helper.make_graph(
            [node], "case",
            [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for k, v in given.items()],
            [helper.make_empty_tensor_value_info(o) for o in outputs if o])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
        results = run(model, given, oracle)
        lines = []
        for k, v in given.items():
            if not k.startswith("_"):
                lines += self.load(name, k, v)
        kept = [o for o in outputs if o]
        parts = [o if o else "_" for o in outputs]
        for o, v in zip(kept, results):
            lines += self.load(name, f"want_{o}", np.asarray(v))
        pattern = f"({', '.join(parts)})" if len(parts) > 1 else parts[0]
        lines.append(f"let {pattern} = {call}")
        for o, v in zip(kept, results):
            if np.issubdtype(np.asarray(v).dtype, np.floating):
                scale = float(np.nanmax(np.abs(np.where(np.isfinite(v), v, 0)), initial=0.0))
                t = TYPES[np.asarray(v).dtype.name]
                near = rtol if t in ("f32", "f64") else max(rtol, 2e-3)
                lines.append(f"agree({o}, want_{o}, {near!r}, {max(scale * near, 1e-7)!r})")
            else:
                lines.append(f"same({o}, want_{o})")
        if slope:
            taken = call if len(parts) == 1 else f"({call})[0]"
            self.slopes(lines, slope, given, taken)
        self.functions.append(f"fn {name}_case(file: str) {{\n  " + "\n  ".join(lines) + f'\n  print("{name}")\n}}\n')
        self.names.append(name)

    def slopes(self, lines, names, given, call):
        """In f64: each of the other float tensors is converted where it is captured."""
        for name in names if isinstance(names, tuple) else (names,):
            others = [k for k, v in given.items() if k != name and not k.startswith("_") and np.issubdtype(v.dtype, np.floating)]
            inner = "".join(f"let {k} = f64({k}); " for k in others)
            lines.append(f"steep(|{name}| {{ {inner}sum(sin({call})) }}, f64({name}))")

    def load(self, case, key, value):
        full = f"{case}.{key}"
        self.values[full] = np.array(value, order="C")
        # What only broadcasts, and how long rows of positions are, has to be known.
        sizes = ", ".join(str(n) if n == 1 or (value.dtype == np.int64 and i + 1 == value.ndim) or key in ("theta", "rois", "boxes") else "_" for i, n in enumerate(value.shape))
        return [f'let {key}: {TYPES[value.dtype.name]}{f"[{sizes}]" if value.ndim else ""} = load(file, name = "{full}")']

    def write(self):
        np.savez_compressed(os.path.join(HERE, f"{self.name}.npz"), **self.values)
        text = f"# {self.title}: the values are those of ONNX Runtime or onnx.reference (tests/reference/operators/{self.name}.py, which writes this file).\n"
        text += "#: --folder FOLDER\n" + "".join(f"import {i}\n" for i in self.imports) + "\n"
        text += HELPERS + "\n" + "\n".join(self.functions)
        text += f'\nfn main(folder: str) {{\n  let file = "{{folder}}/../../reference/operators/{self.name}.npz"\n'
        text += "".join(f"  {n}_case(file)\n" for n in self.names) + "}\n" + "".join(f"#> {n}\n" for n in self.names)
        with open(os.path.join(HERE, "..", "..", "golden", "run", f"onnx_{self.name}.tl"), "w") as f:
            f.write(text)


HELPERS = """# NaN agrees with NaN here, and an infinity with itself.
fn agree<T: float>(y: T[..s], want: T[..s], rtol: T, atol: T) {
  assert all(y == want or (isnan(y) and isnan(want)) or abs(y - want) <= atol + rtol * abs(want)),
    "{y} and {want}"
}

fn same(y, want) {
  assert all(y == want), "{y} and {want}"
}

# Is the gradient of f at x the difference quotient, in some direction?
fn steep(f, x) {
  let d = normal(key(7), x.shape, f64)
  let slope = (f(x + 1e-6 * d) - f(x - 1e-6 * d)) / 2e-6
  assert_close(sum(grad(f)(x) * d), slope, rtol = 1e-5, atol = 1e-6)
}
"""


def run(model, given, oracle):
    if oracle == RUNTIME:
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, given)
    return ReferenceEvaluator(model).run(None, given)


def main():
    sys.path.insert(0, HERE)
    for name in sorted(f[:-3] for f in os.listdir(HERE) if f.endswith(".py") and f != "values.py"):
        if len(sys.argv) == 1 or name in sys.argv[1:]:
            importlib.import_module(name).group().write()


if __name__ == "__main__":
    main()
