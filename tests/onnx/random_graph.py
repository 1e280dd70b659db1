"""Random ONNX graphs: what tests/onnx/graphs.py runs.

A node is proposed at random, and kept if ONNX Runtime computes it at both sizes, to finite numbers that are not large. What jumps (rounding,
comparisons, positions of the largest) is asked only of numbers that both sides compute alike (`exact`)."""
import random

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

LARGEST = 1e3
SYMBOLS = {"n": (5, 11), "m": (7, 3), "k": (9, 13)}  # two sizes of each
KINDS = {np.dtype("f4"): TensorProto.FLOAT, np.dtype("f8"): TensorProto.DOUBLE, np.dtype("i8"): TensorProto.INT64, np.dtype("i4"): TensorProto.INT32,
         np.dtype("?"): TensorProto.BOOL, np.dtype("u1"): TensorProto.UINT8, np.dtype("i1"): TensorProto.INT8}
onnxruntime.set_default_logger_severity(4)


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


class Value:
    """A tensor of the graph: what it is at both sizes. `exact`: both sides compute the same bits. `sizes`: it is made of sizes."""

    def __init__(self, name, arrays, exact, constant=False, sizes=False):
        self.name, self.arrays, self.exact, self.constant, self.sizes = name, arrays, exact, constant, sizes
        self.dtype, self.rank = arrays[0].dtype, arrays[0].ndim

    def axis(self, k):
        return tuple(x.shape[k] for x in self.arrays)

    def is_fixed(self, k):
        return self.axis(k)[0] == self.axis(k)[1]

    @property
    def shape(self):
        return self.arrays[0].shape


class Graph:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.n = np.random.default_rng(self.r.randrange(1 << 32))
        self.opset = self.r.randrange(13, 22)
        self.nodes, self.initializers, self.inputs, self.values = [], [], [], []
        self.count = 0
        symbols = self.r.sample(sorted(SYMBOLS), 2)
        for _ in range(self.r.randrange(1, 4)):
            self.add_input(symbols)

    # ---- making values

    def name(self, wish):
        self.count += 1
        return f"{wish.lower()}_{self.count}"

    def add_input(self, symbols):
        dims = [self.r.choice(symbols + [1, 2, 3, 4, 6, 8]) for _ in range(self.r.choice([1, 2, 2, 3, 3, 4, 4]))]
        if not any(isinstance(d, str) for d in dims):
            dims[self.r.randrange(len(dims))] = self.r.choice(symbols)
        if len(dims) == 4:  # like pictures
            dims[1] = self.r.choice([2, 4, 6])
        kind = self.r.choice(["f4"] * 5 + ["i8"])
        shapes = [[SYMBOLS[d][size] if isinstance(d, str) else d for d in dims] for size in range(2)]
        arrays = [self.n.standard_normal(s).astype("f4") if kind == "f4" else self.n.integers(-4, 5, s) for s in shapes]
        value = Value(self.name("in"), arrays, True)
        self.inputs.append((value, dims))
        self.values.append(value)

    def const(self, array, exact=True):
        """A constant: an initializer or a node."""
        array = np.asarray(array)
        value = Value(self.name("c"), [array, array], exact, constant=True)
        tensor = numpy_helper.from_array(array, value.name)
        if self.r.random() < 0.5:
            self.initializers.append(tensor)
        else:
            self.nodes.append(helper.make_node("Constant", [], [value.name], value=tensor))
        return value

    def ints(self, *values):
        return self.const(np.array(values, "i8"))

    def weights(self, *sizes):
        return self.const((self.n.standard_normal(sizes) / np.sqrt(max(np.prod(sizes[1:], dtype=int), 1))).astype("f4"))

    def add(self, op, inputs, outputs=1, exact=False, wish=None, sizes=False, graphs=(), **attributes):
        """The outputs of a node, if ONNX Runtime takes it; else nothing."""
        attributes = {name: value for name, value in attributes.items() if value is not None}
        names = [self.name(wish or op) for _ in range(outputs)]
        node = helper.make_node(op, [v.name if v else "" for v in inputs], names, name=self.name(f"/{op}"), **attributes)
        given = {v.name: v for v in (*inputs, *graphs) if v}
        results = []
        for size in range(2):
            declared = [helper.make_tensor_value_info(v.name, KINDS[v.dtype], v.arrays[size].shape) for v in given.values()]
            model = self.model_of([node], declared, [helper.make_empty_tensor_value_info(name) for name in names], [])
            try:
                results.append(session_of(model).run(None, {name: v.arrays[size] for name, v in given.items()}))
            except Exception:  # it has many kinds
                return None
        values = []
        for name, *arrays in zip(names, *results):
            for array in arrays:
                if array.dtype not in KINDS or array.size > 20000 or array.size == 0:
                    return None
                if not np.isfinite(array).all() or (array.dtype != bool and np.abs(array).max() > LARGEST):
                    return None
            values.append(Value(name, arrays, exact, sizes=sizes))
        self.nodes.append(node)
        self.values += values
        return values[0] if outputs == 1 else values

    def model_of(self, nodes, inputs, outputs, initializers):
        graph = helper.make_graph(nodes, "random", inputs, outputs, initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)

    # ---- choosing values

    def pick(self, kind="f4", rank=None, least=0, exact=None, where=None, constant=None):
        good = [v for v in self.values if v.dtype == np.dtype(kind) and (rank is None or v.rank == rank) and v.rank >= least
                and (exact is None or v.exact == exact) and not v.sizes and (where is None or where(v))]
        if not good:
            return None
        return good[-1 - min(int(self.r.expovariate(0.35)), len(good) - 1)]  # new ones rather than old ones

    def some_axis(self, x):
        return self.r.randrange(x.rank)

    def sign(self, x, axis):
        return axis - x.rank if self.r.random() < 0.3 else axis

    # ---- sizes

    def a_size(self, x, axis):
        """The size of an axis as an i64[1] of the graph."""
        whole = self.add("Shape", [x], exact=True, sizes=True)
        return self.add("Gather", [whole, self.ints(axis)], exact=True, sizes=True, axis=0) if self.r.random() < 0.5 else self.add(
            "Slice", [whole, self.ints(axis), self.ints(axis + 1), self.ints(0)], exact=True, sizes=True)

    def a_scalar_size(self, x, axis):
        whole = self.add("Shape", [x], exact=True, sizes=True)
        return self.add("Gather", [whole, self.const(np.array(axis, "i8"))], exact=True, sizes=True, axis=0)

    def computed_size(self, x, axis):
        """i64[1]: an expression of a size, and what it is."""
        size = self.a_size(x, axis)
        for _ in range(self.r.randrange(3)):
            op, by = self.r.choice([("Add", 1), ("Add", 3), ("Sub", 1), ("Mul", 2), ("Div", 2), ("Mul", 3)])
            made = self.add(op, [size, self.ints(by)], exact=True, sizes=True)
            size = made or size
        return size


# ---- proposals: each adds nodes to the graph, or none

def elementwise(g):
    x = g.pick()
    op, attributes = g.r.choice([
        ("Abs", {}), ("Neg", {}), ("Relu", {}), ("Sigmoid", {}), ("Tanh", {}), ("Softplus", {}), ("Erf", {}), ("LeakyRelu", {"alpha": 0.2}), ("Elu", {"alpha": 0.7}),
        ("Selu", {}), ("HardSigmoid", {"alpha": 0.3}), ("HardSwish", {}), ("Softsign", {}), ("Celu", {"alpha": 1.5}), ("Gelu", {}), ("Gelu", {"approximate": "tanh"}),
        ("Mish", {}), ("Sin", {}), ("Cos", {}), ("Atan", {}), ("Identity", {}), ("Sinh", {}), ("Asinh", {}), ("Exp", {}), ("Dropout", {})])
    if x:
        g.add(op, [x], exact=x.exact and op in ("Abs", "Neg", "Relu", "Identity", "Dropout"), **attributes)


def guarded(g):
    """Functions of a part of the numbers."""
    x = g.pick()
    if not x:
        return
    positive = g.add("Add", [g.add("Abs", [x], exact=x.exact) or x, g.const(np.float32(0.5))], exact=x.exact)
    if positive:
        op = g.r.choice(["Sqrt", "Log", "Reciprocal"])
        g.add(op, [positive], exact=False)
        if g.r.random() < 0.3:
            g.add("Pow", [positive, g.const(np.float32(g.r.choice([2, 0.5, 3, -1])))])
        if g.r.random() < 0.3:
            y = g.pick(where=lambda v: v.shape == x.shape)
            g.add("Div", [y or x, positive])


def clip(g):
    x = g.pick()
    low, high = g.const(np.float32(-0.5)), g.const(np.float32(g.r.choice([0.7, 2.0])))
    if x:
        g.add("Clip", [x, *g.r.choice([(low, high), (None, high), (low,), ()])], exact=x.exact)


def partner(g, x, kind="f4"):
    """A value that x broadcasts with, or a constant."""
    if g.r.random() < 0.5:
        def fits(v):
            return v is not x and all(p == q or p == (1, 1) or q == (1, 1) for p, q in
                                      zip(reversed([v.axis(k) for k in range(v.rank)]), reversed([x.axis(k) for k in range(x.rank)])))
        y = g.pick(kind, where=fits)
        if y:
            return y
    sizes = [x.shape[k] if x.is_fixed(k) and g.r.random() < 0.6 else 1 for k in range(g.r.randrange(x.rank + 1), x.rank)]
    return g.const(g.n.standard_normal(sizes).astype("f4") if kind == "f4" else g.n.integers(-3, 4, sizes))


def binary(g):
    x = g.pick()
    if x:
        y = partner(g, x)
        a, b = (x, y) if g.r.random() < 0.7 else (y, x)
        op = g.r.choice(["Add", "Sub", "Mul", "Min", "Max", "Sum", "Mean", "Add", "Mul"])
        g.add(op, [a, b] + ([x] if op in ("Sum", "Mean", "Max") and g.r.random() < 0.3 else []), exact=a.exact and b.exact and op != "Mean")


def prelu(g):
    x = g.pick(least=1)
    if x:
        g.add("PRelu", [x, g.const(g.n.random(x.shape[-1] if x.is_fixed(x.rank - 1) else 1).astype("f4"))])


def steps(g):
    x = g.pick(exact=True)
    if x:
        op = g.r.choice(["Floor", "Ceil", "Round", "Sign", "ThresholdedRelu", "Shrink"])
        g.add(op, [x], exact=True, **({"alpha": 0.3} if op == "ThresholdedRelu" else {"lambd": 0.4, "bias": 0.1} if op == "Shrink" else {}))


def compared(g):
    kind = g.r.choice(["f4", "i8"])
    x = g.pick(kind, exact=True)
    if not x:
        return
    y = partner(g, x, kind)
    if not y.exact:
        return
    mask = g.add(g.r.choice(["Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual"]), [x, y], exact=True)
    if mask and g.r.random() < 0.4:
        mask = g.add("Not", [mask], exact=True)
    other = g.pick("?", where=lambda v: v is not mask and mask and v.rank == mask.rank and v.shape == mask.shape and v.arrays[1].shape == mask.arrays[1].shape)
    if mask and other:
        mask = g.add(g.r.choice(["And", "Or", "Xor"]), [mask, other], exact=True)
    if mask and g.r.random() < 0.7:
        a = g.pick(kind, where=lambda v: v.rank == mask.rank and all(v.axis(k) == mask.axis(k) for k in range(v.rank)))
        b = partner(g, a or x, kind)
        if a:
            g.add("Where", [mask, a, b], exact=a.exact and b.exact)


def integers(g):
    x = g.pick("i8", exact=True)
    if not x:
        x = g.pick(exact=True)
        if x:
            g.add("Cast", [x], exact=True, to=g.r.choice([TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL]))
        return
    op = g.r.choice(["Add", "Sub", "Mul", "Mod", "Div", "Cast", "Abs", "Neg", "Max", "Min", "Sign"])
    if op == "Cast":
        g.add(op, [x], exact=True, to=g.r.choice([TensorProto.FLOAT, TensorProto.INT32, TensorProto.BOOL]))
    elif op in ("Mod", "Div"):
        g.add(op, [x, g.const(np.array(g.r.choice([2, 3, 5]), "i8"))], exact=True)
    elif op in ("Abs", "Neg", "Sign"):
        g.add(op, [x], exact=True)
    else:
        g.add(op, [x, partner(g, x, "i8")], exact=True)


def casts(g):
    x = g.pick("f4")
    wide = x and g.add("Cast", [x], exact=x.exact, to=TensorProto.DOUBLE)
    if wide:
        y = g.add(g.r.choice(["Abs", "Neg"]), [wide], exact=wide.exact)
        g.add("Cast", [y or wide], exact=wide.exact, to=TensorProto.FLOAT)
    narrow = g.pick("i4") or g.pick("?")
    if narrow:
        g.add("Cast", [narrow], exact=narrow.exact, to=TensorProto.FLOAT)


def reduce(g):
    x = g.pick(least=1)
    if not x:
        return
    op = g.r.choice(["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceSumSquare", "ReduceProd", "ReduceSum"])
    axes = sorted(g.r.sample(range(x.rank), g.r.randrange(x.rank + 1)))
    axes = [g.sign(x, a) for a in axes]
    exact = x.exact and op in ("ReduceMax", "ReduceMin")
    keep = g.r.randrange(2)
    if g.opset >= 18 or op == "ReduceSum":
        g.add(op, [x, g.ints(*axes)] if axes else [x], exact=exact, keepdims=keep, noop_with_empty_axes=g.r.choice([None, 0, 1]) if not axes else None)
    else:
        g.add(op, [x], exact=exact, keepdims=keep, axes=axes or None)


def rows(g):
    x = g.pick(least=1)
    if not x:
        return
    op = g.r.choice(["Softmax", "LogSoftmax", "Softmax", "Hardmax", "LpNormalization"])
    if op == "Hardmax" and not x.exact:
        return
    g.add(op, [x], axis=g.sign(x, g.some_axis(x)), exact=op == "Hardmax")


def normalized(g):
    x = g.pick(least=2)
    if not x:
        return
    if g.r.random() < 0.5 and x.is_fixed(x.rank - 1) and g.opset >= 17:
        size = x.shape[-1]
        g.add("LayerNormalization", [x, g.const(g.n.random(size).astype("f4")), *([g.weights(size)] if g.r.random() < 0.7 else [])],
              axis=g.r.choice([-1, x.rank - 1]), epsilon=1e-2)
    elif x.is_fixed(1):
        channels = x.shape[1]
        one = [g.const(g.n.random(channels).astype("f4")), g.weights(channels)]
        kind = g.r.randrange(3)
        if kind == 0:
            g.add("BatchNormalization", [x, *one, g.weights(channels), g.const((g.n.random(channels) + 0.5).astype("f4"))])
        elif kind == 1 and x.rank > 2:
            g.add("InstanceNormalization", [x, *one], epsilon=1e-2)
        elif x.rank > 2 and g.opset >= 21 and channels % 2 == 0:
            g.add("GroupNormalization", [x, *one], epsilon=1e-2, num_groups=2)


def product(g):
    x = g.pick(least=2)
    if not x:
        return
    last = x.axis(x.rank - 1)
    y = g.pick(least=2, where=lambda v: v.axis(v.rank - 2) == last and (v.rank == 2 or all(v.axis(k) == x.axis(k) for k in range(min(v.rank, x.rank) - 2))))
    if y and g.r.random() < 0.5:
        g.add("MatMul", [x, y])
    elif x.is_fixed(x.rank - 1):
        width = g.r.choice([2, 3, 5, 8])
        made = g.add("MatMul", [x, g.weights(*([width, last[0]][::-1]))])
        if made and g.r.random() < 0.6:
            g.add("Add", [made, g.weights(width)])
    else:
        turned = list(range(x.rank))
        turned[-2:] = turned[:-3:-1]
        other = g.add("Transpose", [x], exact=x.exact, perm=turned)
        if other:
            g.add("MatMul", [x, other] if g.r.random() < 0.5 else [other, x])


def gemm(g):
    x = g.pick(rank=2)
    if not x:
        return
    turned = g.r.randrange(2)
    inner = 0 if turned else 1
    if not x.is_fixed(inner):
        return
    width, trans = g.r.choice([2, 3, 4]), g.r.randrange(2)
    sizes = (width, x.shape[inner]) if trans else (x.shape[inner], width)
    c = g.r.choice([None, g.weights(width), g.const(np.float32(0.3)), g.weights(1, width)])
    g.add("Gemm", [x, g.weights(*sizes)] + ([c] if c else []), transA=turned, transB=trans, alpha=g.r.choice([1.0, 0.5]), beta=g.r.choice([1.0, 2.0]))


def einsum(g):
    x = g.pick(rank=3)
    if x and x.is_fixed(2):
        g.add("Einsum", [x, g.weights(x.shape[2], 3)], equation=g.r.choice(["bij,jk->bik", "bij,jk->bk", "abc,cd->adb"]))


def conv(g):
    x = g.pick(least=3, where=lambda v: v.rank < 5 and v.is_fixed(1))
    if not x:
        return
    space, channels = x.rank - 2, x.shape[1]
    group = g.r.choice([1, 1, channels, 2 if channels % 2 == 0 else 1])
    kernel = [g.r.choice([1, 2, 3, 3]) for _ in range(space)]
    made = group * g.r.choice([1, 2, 3])
    attributes = {"group": group, "strides": [g.r.choice([1, 1, 2, 3]) for _ in range(space)], "dilations": [g.r.choice([1, 1, 2]) for _ in range(space)]}
    if g.r.random() < 0.3:
        attributes["auto_pad"] = g.r.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
        attributes["dilations"] = [1] * space
    else:
        attributes["pads"] = [g.r.choice([0, 0, 1, 2]) for _ in range(2 * space)]
    if g.r.random() < 0.8:
        w = g.weights(made, channels // group, *kernel)
        y = g.add("Conv", [x, w] + ([g.weights(made)] if g.r.random() < 0.6 else []), kernel_shape=g.r.choice([None, kernel]), **attributes)
        while y and g.r.random() < 0.5:  # what goes into the filters, and what looks like it
            kind = g.r.randrange(3)
            if kind == 0:
                y = g.add("BatchNormalization", [y, g.const(g.n.random(made).astype("f4")), g.weights(made), g.weights(made), g.const((g.n.random(made) + 0.5).astype("f4"))])
                continue
            other = g.r.choice([g.weights(made, *[1] * space), g.weights(1, made, *[1] * space), g.weights(1), g.weights(1, *[1] * space)])
            if g.r.random() < 0.3:
                other = g.add("Unsqueeze", [g.weights(made), g.ints(*range(1, space + 1))])
            y = g.add(["Mul", "Add"][kind - 1], g.r.sample([y, other], 2))
    else:
        attributes.pop("auto_pad", None)
        g.add("ConvTranspose", [x, g.weights(channels, made // group, *kernel)], **attributes)


def pool(g):
    x = g.pick(least=3, where=lambda v: v.rank < 5)
    if not x:
        return
    space = x.rank - 2
    op = g.r.choice(["MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "LpPool"])
    if op.startswith("Global"):
        g.add(op, [x], exact=x.exact and op == "GlobalMaxPool")
        return
    attributes = {"kernel_shape": [g.r.choice([2, 3]) for _ in range(space)], "strides": g.r.choice([None, [g.r.choice([1, 2]) for _ in range(space)]])}
    if g.r.random() < 0.3:
        attributes["auto_pad"] = g.r.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
    elif g.r.random() < 0.6:
        attributes["pads"] = [g.r.choice([0, 1]) for _ in range(2 * space)]
    if op == "LpPool" and any(x.axis(k)[size] < 3 for k in range(2, x.rank) for size in range(2)):
        return  # a window that is larger than its axis gives none in tl, as ONNX says, and one element in ONNX Runtime
    if op != "LpPool":
        attributes["ceil_mode"] = g.r.choice([None, 1])
    if op == "AveragePool":
        attributes["count_include_pad"] = g.r.choice([None, 1])
    g.add(op, [x], exact=x.exact and op == "MaxPool", **attributes)


def transpose(g):
    x = g.pick(g.r.choice(["f4", "f4", "i8", "?"]), least=1)
    if x:
        g.add("Transpose", [x], exact=x.exact, perm=g.r.choice([None, g.r.sample(range(x.rank), x.rank)]))


def flatten(g):
    x = g.pick(least=1)
    if x:
        g.add("Flatten", [x], exact=x.exact, axis=g.r.randrange(-x.rank, x.rank + 1))


def squeezed(g):
    x = g.pick(least=1)
    if not x:
        return
    ones = [k for k in range(x.rank) if x.axis(k) == (1, 1)]
    if ones and g.r.random() < 0.5:
        g.add("Squeeze", [x, g.ints(*g.r.sample(ones, g.r.randrange(1, len(ones) + 1)))], exact=x.exact)
    elif x.rank < 4:
        g.add("Unsqueeze", [x, g.ints(g.r.randrange(-x.rank - 1, x.rank + 1))], exact=x.exact)


def reshape(g):
    x = g.pick(least=1)
    if not x:
        return
    kind = g.r.randrange(4)
    if kind == 0:  # two neighbours become one
        if x.rank > 1:
            k = g.r.randrange(x.rank - 1)
            g.add("Reshape", [x, g.ints(*([0] * k + [-1] + [x.shape[j] if x.is_fixed(j) else 0 for j in range(k + 2, x.rank)]))], exact=x.exact)
    elif kind == 1:  # one becomes two
        split = [(k, d) for k in range(x.rank) for d in (2, 3) if x.is_fixed(k) and x.shape[k] % d == 0]
        if split and x.rank < 5:
            k, d = g.r.choice(split)
            g.add("Reshape", [x, g.ints(*([0] * k + [d, x.shape[k] // d] + ([-1] if k + 1 < x.rank else []) + [x.shape[j] if x.is_fixed(j) else 0 for j in range(k + 2, x.rank)]))],
                  exact=x.exact)
    else:  # sizes that are computed
        parts = [g.a_size(x, k) if g.r.random() < 0.7 or not x.is_fixed(k) else g.ints(x.shape[k]) for k in range(x.rank)]
        if x.rank > 1 and g.r.random() < 0.7:
            k = g.r.randrange(x.rank - 1)
            whole = g.add("Mul", [parts[k], parts[k + 1]], exact=True, sizes=True)
            parts[k : k + 2] = [whole if g.r.random() < 0.5 else g.ints(-1)]
        if all(parts):
            target = g.add("Concat", parts, exact=True, sizes=True, axis=0) if len(parts) > 1 else parts[0]
            if target:
                g.add("Reshape", [x, target], exact=x.exact)


def concat(g):
    x = g.pick(g.r.choice(["f4", "f4", "f4", "i8"]), least=1)
    if not x:
        return
    axis = g.some_axis(x)
    def fits(v):
        return v.rank == x.rank and all(v.axis(k) == x.axis(k) for k in range(x.rank) if k != axis)
    others = [g.pick(x.dtype, where=fits) for _ in range(g.r.randrange(1, 3))]
    if g.r.random() < 0.2 and all(x.is_fixed(k) for k in range(x.rank)) and x.dtype == np.dtype("f4"):
        others.append(g.const(g.n.standard_normal(x.shape).astype("f4")))
    parts = [x, *others]
    g.r.shuffle(parts)
    g.add("Concat", parts, exact=all(p.exact for p in parts), axis=g.sign(x, axis))


def split(g):
    x = g.pick(least=1)
    if not x:
        return
    axis = g.some_axis(x)
    if x.is_fixed(axis) and x.shape[axis] > 1 and g.r.random() < 0.7:
        first = g.r.randrange(1, x.shape[axis])
        g.add("Split", [x, g.ints(first, x.shape[axis] - first)], 2, exact=x.exact, axis=axis)
    else:
        g.add("Split", [x], 2, exact=x.exact, axis=axis, num_outputs=2 if g.opset >= 18 else None)


def slices(g):
    x = g.pick(g.r.choice(["f4", "f4", "f4", "i8"]), least=1)
    if not x:
        return
    axes = g.r.sample(range(x.rank), g.r.randrange(1, min(x.rank, 2) + 1))
    starts, ends, strides = [], [], []
    for _ in axes:
        start, end, step = g.r.choice([(0, 2, 1), (1, 2**31 - 1, 1), (0, -1, 1), (-3, 2**63 - 1, 1), (0, 2**63 - 1, 2), (-1, -(2**63) + 1, -1), (1, -1, 1), (-2, -9, -1), (0, 3, 2), (2, 100, 1)])
        starts, ends, strides = starts + [start], ends + [end], strides + [step]
    inputs = [x, g.ints(*starts), g.ints(*ends), g.ints(*[g.sign(x, a) for a in axes])]
    if any(s != 1 for s in strides):
        inputs.append(g.ints(*strides))
    if g.r.random() < 0.25:  # an end that is computed
        inputs = [x, g.ints(0), g.computed_size(x, axes[0]), g.ints(axes[0])]
    g.add("Slice", inputs, exact=x.exact)


def gather(g):
    x = g.pick(g.r.choice(["f4", "f4", "i8"]), least=1)
    if not x:
        return
    axis = g.some_axis(x)
    kind = g.r.randrange(4)
    if kind == 0:
        g.add("Gather", [x, g.const(np.array(g.r.choice([0, 1, -1]), "i8"))], exact=x.exact, axis=axis)
    elif kind == 1:
        g.add("Gather", [x, g.const(g.n.integers(-2, 2, g.r.choice([(3,), (2, 2), (1,)])))], exact=x.exact, axis=g.sign(x, axis))
    elif kind == 2:
        g.add("GatherND", [x, g.const(g.n.integers(-1, 2, (2, g.r.randrange(1, x.rank + 1))))], exact=x.exact)
    else:
        index = g.pick("i8", where=lambda v: v.exact)
        positive = index and g.add("Mod", [index, g.const(np.array(2, "i8"))], exact=True)
        if positive:
            g.add("Gather", [x, positive], exact=x.exact, axis=axis)


def expand(g):
    x = g.pick(least=1)
    if not x:
        return
    y = g.pick()
    kind = g.r.randrange(3)
    if kind == 0 and y:
        target = g.add("Shape", [y], exact=True, sizes=True)
        if target:
            g.add("Expand", [x, target], exact=x.exact)
    elif kind == 1:
        size = g.computed_size(x, g.some_axis(x))
        target = size and g.add("Concat", [size, g.ints(*[1] * x.rank)], exact=True, sizes=True, axis=0)
        if target and x.rank < 4:
            g.add("Expand", [x, target], exact=x.exact)
    else:
        g.add("Tile", [x, g.ints(*[g.r.choice([1, 1, 2, 3]) for _ in range(x.rank)])], exact=x.exact)


def made(g):
    x = g.pick(least=1)
    if not x:
        return
    kind = g.r.randrange(4)
    if kind == 0:
        size = g.computed_size(x, g.some_axis(x))
        if size:
            g.add("ConstantOfShape", [size], exact=True, value=numpy_helper.from_array(np.array([g.r.choice([0, 1.5])], "f4")))
    elif kind == 1:
        size = g.a_scalar_size(x, g.some_axis(x))
        zero, one = g.const(np.array(g.r.choice([0, 1]), "i8")), g.const(np.array(g.r.choice([1, 2]), "i8"))
        numbers = size and g.add("Range", [zero, size, one], exact=True)
        if numbers:
            g.add("Cast", [numbers], exact=True, to=TensorProto.FLOAT)
    elif kind == 2 and x.rank == 2:
        g.add(g.r.choice(["EyeLike", "Trilu"]), [x], exact=True if not x.exact and False else x.exact)
    elif x.rank >= 2:
        g.add("Trilu", [x, g.const(np.array(g.r.choice([-1, 0, 1]), "i8"))], exact=x.exact, upper=g.r.randrange(2))


def pad(g):
    x = g.pick(least=1)
    if not x:
        return
    mode = g.r.choice(["constant", "constant", "reflect", "edge"])
    pads = [g.r.choice([0, 0, 1, 2] + ([-1] if mode == "constant" else [])) for _ in range(2 * x.rank)]
    value = [g.const(np.float32(0.7))] if mode == "constant" and g.r.random() < 0.5 else []
    g.add("Pad", [x, g.ints(*pads), *value], exact=x.exact, mode=mode)


def pictures(g):
    x = g.pick(rank=4)
    if not x:
        return
    op = g.r.choice(["DepthToSpace", "SpaceToDepth", "Resize", "Resize", "Resize"])
    if op == "DepthToSpace":
        g.add(op, [x], exact=x.exact, blocksize=2, mode=g.r.choice(["DCR", "CRD"]))
    elif op == "SpaceToDepth":
        g.add(op, [x], exact=x.exact, blocksize=2)
    elif g.r.random() < 0.7:
        mode = g.r.choice(["nearest", "linear"])
        where = g.r.choice(["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])
        # ONNX Runtime takes the size as an integer for align_corners, and the published cases do not
        by = [2, 3] if where == "align_corners" else [2, 3, 1, 1.5, 0.5]
        g.add(op, [x, None, g.const(np.array([1, 1, g.r.choice(by), g.r.choice(by)], "f4"))], mode=mode, coordinate_transformation_mode=where,
              nearest_mode=g.r.choice(["floor", "round_prefer_floor", "ceil"]) if mode == "nearest" else None, exact=x.exact and mode == "nearest")
    else:
        parts = [g.a_size(x, 0), g.a_size(x, 1), g.computed_size(x, 2), g.computed_size(x, 3)]
        target = all(parts) and g.add("Concat", parts, exact=True, sizes=True, axis=0)
        if target:
            g.add(op, [x, None, None, target], mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor", exact=x.exact)


def sums(g):
    x = g.pick(least=1)
    if x:
        g.add("CumSum", [x, g.const(np.array(g.sign(x, g.some_axis(x)), "i8"))], exclusive=g.r.randrange(2), reverse=g.r.randrange(2))


def largest(g):
    x = g.pick(least=1, exact=True)
    if not x:
        return
    axis = g.some_axis(x)
    if g.r.random() < 0.5:
        g.add(g.r.choice(["ArgMax", "ArgMin"]), [x], exact=True, axis=axis, keepdims=g.r.randrange(2))
    else:
        g.add("TopK", [x, g.ints(g.r.choice([1, 2]))], 2, exact=True, axis=axis, largest=g.r.randrange(2))


def one_hot(g):
    x = g.pick("i8", exact=True)
    if x and x.rank < 4:
        g.add("OneHot", [x, g.const(np.array(g.r.choice([3, 5]), "i8")), g.const(np.array([0.0, 1.0], "f4"))], exact=True, axis=g.r.choice([-1, 0]))


def scatter(g):
    x = g.pick(least=1)
    if not x:
        return
    if g.r.random() < 0.5:
        count = g.r.randrange(1, 3)
        index = np.unique(g.n.integers(0, 2, (count, 1)), axis=0)
        if all(x.is_fixed(k) for k in range(1, x.rank)):
            g.add("ScatterND", [x, g.const(index), g.weights(len(index), *x.shape[1:])], exact=x.exact)
    else:
        sizes = [1] * x.rank
        g.add("ScatterElements", [x, g.const(g.n.integers(0, 2, sizes)), g.weights(*sizes)], exact=x.exact, axis=g.some_axis(x))


def recurrent(g):
    x = g.pick(rank=3, where=lambda v: v.is_fixed(2))
    if not x:
        return
    op, gates = g.r.choice([("LSTM", 4), ("GRU", 3), ("RNN", 1)])
    direction = g.r.choice(["forward", "reverse", "bidirectional"])
    both, hidden = (2 if direction == "bidirectional" else 1), g.r.choice([2, 3])
    inputs = [x, g.weights(both, gates * hidden, x.shape[2]), g.weights(both, gates * hidden, hidden)]
    if g.r.random() < 0.6:
        inputs.append(g.weights(both, 2 * gates * hidden))
    extra = {"linear_before_reset": g.r.randrange(2)} if op == "GRU" else {}
    outputs = g.add(op, inputs, 2 if op != "LSTM" else 3, hidden_size=hidden, direction=direction, **extra)
    if outputs and g.r.random() < 0.5:
        g.add("Transpose", [outputs[0]], perm=[0, 2, 1, 3])


def branch(g):
    """An If whose branches use values around it."""
    x = g.pick()
    if not x:
        return
    if g.r.random() < 0.3:
        condition = g.const(np.array(g.r.random() < 0.5))
    else:
        source = g.pick(exact=True, least=1)
        one = source and g.add("ReduceMax", [source], exact=True, keepdims=0)
        condition = one and g.add("Greater", [one, g.const(np.float32(g.r.choice([0.5, 1.5, 2.5])))], exact=True)
    if not condition:
        return
    branches = []
    for _ in range(2):
        name, inner = g.name("branch"), g.name("inner")
        nodes = [helper.make_node(g.r.choice(["Relu", "Neg", "Tanh"]), [x.name], [inner])]
        c = numpy_helper.from_array(np.array(g.n.standard_normal(), "f4"), g.name("k"))
        nodes.append(helper.make_node(g.r.choice(["Add", "Mul"]), [inner, c.name], [name]))
        branches.append(helper.make_graph(nodes, name, [], [helper.make_empty_tensor_value_info(name)], [c]))
    g.add("If", [condition], graphs=[x], then_branch=branches[0], else_branch=branches[1])


def quantized(g):
    """Steps of 8 bits: through integers and back, and products of them."""
    x = g.pick(least=2, exact=True)
    if not x:
        return
    bits = g.r.choice([np.uint8, np.int8])
    scale, zero = g.const(np.float32(0.03125)), g.const(bits(g.r.choice([0, 3])))
    steps = g.add("QuantizeLinear", [x, scale, zero], exact=True)
    if not steps:
        return
    kind = g.r.randrange(3)
    if kind == 0:
        g.add("DequantizeLinear", [steps, scale, zero], exact=True)
    elif x.is_fixed(x.rank - 1):
        weights = g.const(g.n.integers(-100, 100, (x.shape[-1], 4)).astype(np.int8))
        if kind == 1:
            sums = g.add("MatMulInteger", [steps, weights, zero], exact=True)
            if sums:
                g.add("Cast", [sums], exact=True, to=TensorProto.FLOAT)
        else:
            whole = g.add("DequantizeLinear", [weights, g.const(np.float32(0.0625))], exact=True)
            reals = whole and g.add("DequantizeLinear", [steps, scale, zero], exact=True)
            if reals:
                g.add("MatMul", [reals, whole])


def repeated(g):
    """A Loop that carries a value a fixed number of times, or one that scans the rows of x."""
    x = g.pick(least=1)
    if not x:
        return
    name, inner, c = g.name("body"), g.name("inner"), numpy_helper.from_array(np.array(g.n.standard_normal(), "f4"), g.name("k"))
    nothing = helper.make_empty_tensor_value_info
    if g.r.random() < 0.5:
        count, on = g.const(np.array(g.r.choice([1, 2, 9]), "i8")), g.const(np.array(True))
        if g.r.random() < 0.5:
            count = g.a_scalar_size(x, g.some_axis(x))
        turn, still, old = (g.name(wish) for wish in ("turn", "still", "old"))
        nodes = [helper.make_node("Tanh", [old], [inner]), helper.make_node(g.r.choice(["Add", "Mul"]), [inner, c.name], [name])]
        nodes.append(helper.make_node("Identity", [still], [still + "_"]))
        outputs = [nothing(still + "_"), nothing(name)] + ([nothing(inner)] if g.r.random() < 0.5 else [])
        sizes = [helper.make_tensor_value_info(turn, TensorProto.INT64, []), helper.make_tensor_value_info(still, TensorProto.BOOL, []), nothing(old)]
        if count:
            g.add("Loop", [count, on, x], outputs=len(outputs) - 1, body=helper.make_graph(nodes, name, sizes, outputs, [c]))
    else:
        row, old, new = (g.name(wish) for wish in ("row", "old", "new"))
        nodes = [helper.make_node("Mul", [old, c.name], [inner]), helper.make_node("Add", [inner, row], [new]), helper.make_node("Tanh", [new], [name])]
        start = g.add("ReduceMax", [x] + ([g.ints(0)] if g.opset >= 18 else []), exact=x.exact, keepdims=0, **({} if g.opset >= 18 else {"axes": [0]}))
        if start:
            body = helper.make_graph(nodes, name, [nothing(old), nothing(row)], [nothing(new), nothing(name)], [c])
            g.add("Scan", [start, x], outputs=2, body=body, num_scan_inputs=1, scan_input_directions=[g.r.randrange(2)])


def more_slices(g):
    """Any bounds and steps, also beyond the axis."""
    x = g.pick(g.r.choice(["f4", "f4", "i8", "?"]), least=1)
    if not x:
        return
    axes = g.r.sample(range(x.rank), g.r.randrange(1, x.rank + 1))
    bounds = [[g.r.randrange(-14, 15) for _ in axes] for _ in range(2)]
    steps = [g.r.choice([1, 1, 2, 3, -1, -2, -3]) for _ in axes]
    cuts = [[len(range(*slice(*of_axis).indices(n))) for n in x.axis(a)] for a, *of_axis in zip(axes, *bounds, steps)]
    if any(1 in lengths and not x.is_fixed(a) for a, lengths in zip(axes, cuts)):
        return  # that it is one element, and stretches, is not known when importing
    g.add("Slice", [x, g.ints(*bounds[0]), g.ints(*bounds[1]), g.ints(*[g.sign(x, a) for a in axes]), g.ints(*steps)], exact=x.exact)


def shifted(g):
    """A part of an axis between two computed sizes, and what is around it."""
    x = g.pick(least=1)
    if not x:
        return
    axis = g.some_axis(x)
    half = g.computed_size(x, axis)
    part = half and g.add("Slice", [x, half, g.ints(2**62), g.ints(g.sign(x, axis))], exact=x.exact)
    rest = half and g.add("Slice", [x, g.ints(0), half, g.ints(axis)], exact=x.exact)
    if part and rest:
        g.add("Concat", [part, rest], exact=x.exact, axis=axis)


def filled(g):
    """Pad by sizes that are computed, Where beside a scalar, ranges backwards."""
    x = g.pick(least=1)
    if not x:
        return
    kind = g.r.randrange(3)
    if kind == 0:
        size = g.computed_size(x, x.rank - 1)
        pads = size and g.add("Concat", [g.ints(*[0] * (2 * x.rank - 1)), size], exact=True, sizes=True, axis=0)
        if pads:
            g.add("Pad", [x, pads], exact=x.exact, mode="constant")
    elif kind == 1:
        mask = g.pick("?", where=lambda v: v.rank <= x.rank and all(v.axis(v.rank - k) in (x.axis(x.rank - k), (1, 1)) for k in range(1, v.rank + 1)))
        if mask:
            g.add("Where", g.r.choice([[mask, x, g.const(np.float32(-1))], [mask, g.const(np.float32(0.5)), x]]), exact=x.exact)
    elif x.rank > 1:
        size = g.a_scalar_size(x, g.some_axis(x))
        numbers = size and g.add("Range", [size, g.const(np.array(0, "i8")), g.const(np.array(g.r.choice([-1, -2]), "i8"))], exact=True)
        if numbers:
            g.add("Cast", [numbers], exact=True, to=TensorProto.FLOAT)


def sampled(g):
    x = g.pick(rank=4)
    if not x:
        return
    if g.r.random() < 0.5 and g.opset >= 16:
        grid = g.const((g.n.random((x.shape[0], 3, 5, 2)) * 2.6 - 1.3).astype("f4"))
        if x.is_fixed(0):
            g.add("GridSample", [x, grid], mode="bilinear" if g.opset < 20 else "linear", padding_mode=g.r.choice(["zeros", "border", "reflection"]),
                  align_corners=g.r.randrange(2))
    else:
        parts = [g.a_size(x, 0), g.a_size(x, 1), g.computed_size(x, 2), g.computed_size(x, 3)]
        target = all(parts) and g.add("Concat", parts, exact=True, sizes=True, axis=0)
        if target:
            g.add("Resize", [x, None, None, target], mode=g.r.choice(["linear", "cubic"]),
                  coordinate_transformation_mode=g.r.choice(["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"]))


def gathered(g):
    """Elements by positions of the same rank, of the data, and where they go."""
    x = g.pick(least=1, exact=True)
    if not x:
        return
    axis = g.some_axis(x)
    places = g.add("TopK", [x, g.ints(2)], 2, exact=True, axis=axis)
    y = g.pick(where=lambda v: v.rank == x.rank and all(v.axis(k) == x.axis(k) for k in range(x.rank)))
    if not places or not y:
        return
    some = g.add("GatherElements", [y, places[1]], exact=y.exact, axis=g.sign(x, axis))
    if some and g.r.random() < 0.6:
        g.add("ScatterElements", [x, places[1], some], exact=y.exact, axis=axis, reduction=g.r.choice([None, "max"]) if g.opset >= 18 else None)


PROPOSALS = [elementwise] * 6 + [binary] * 6 + [guarded, clip, prelu, steps, compared, compared, integers, integers, casts, reduce, reduce, reduce, rows, rows, normalized,
             normalized, product, product, product, gemm, gemm, einsum, conv, conv, conv, pool, pool, transpose, transpose, flatten, squeezed, squeezed, reshape, reshape,
             reshape, reshape, concat, concat, split, slices, slices, slices, gather, gather, expand, expand, made, made, pad, pad, pictures, pictures, sums, largest,
             one_hot, scatter, recurrent, recurrent, branch, branch, quantized, quantized, repeated, repeated, more_slices, more_slices, shifted, filled,
             filled, sampled, gathered]


def generated(seed):
    """The model and the values of its graph."""
    g = Graph(seed)
    wanted = g.r.randrange(10, 41)
    for _ in range(400):
        if len([n for n in g.nodes if n.op_type != "Constant"]) >= wanted:
            break
        g.r.choice(PROPOSALS)(g)
    return g


def model_with(g, names):
    """The part of the graph that computes these values."""
    needed, nodes = set(names), []
    for node in reversed(g.nodes):
        if needed & set(node.output):
            nodes.append(node)
            needed |= set(node.input)
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    needed |= {name for inner in attribute.g.node for name in inner.input}
    nodes.reverse()
    inputs = [helper.make_tensor_value_info(v.name, KINDS[v.dtype], dims) for v, dims in g.inputs if v.name in needed]
    kinds = {v.name: v for v in g.values}
    outputs = [helper.make_tensor_value_info(name, KINDS[kinds[name].dtype], [None] * kinds[name].rank) for name in names]
    return g.model_of(nodes, inputs, outputs, [t for t in g.initializers if t.name in needed])
