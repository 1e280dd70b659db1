#!/usr/bin/env python3
"""Writes small models and what ONNX Runtime makes of them: tests/onnx/models.py. Needs the packages onnx and onnxruntime; what it writes is
kept in the repository, so that the tests need neither."""
import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
RANDOM = np.random.default_rng(7)


def weights(name, *dims):
    return numpy_helper.from_array((RANDOM.standard_normal(dims) * 0.3).astype("f4"), name)


def whole(name, values):
    return numpy_helper.from_array(np.array(values, "i8"), name)


def value(name, dims, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, dims)


node = helper.make_node


def convolution():
    """Batch normalization goes into the filters; shape arithmetic flattens; any height and width."""
    nodes = [
        node("Conv", ["image", "w1", "b1"], ["c1"], "/net/conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]),
        node("BatchNormalization", ["c1", "scale", "shift", "mean", "spread"], ["n1"], "/net/norm"),
        node("HardSwish", ["n1"], ["a1"]),
        node("Conv", ["a1", "w2"], ["c2"], "/net/depthwise", group=4, pads=[1, 1, 1, 1], kernel_shape=[3, 3]),
        node("Add", ["a1", "c2"], ["sum"]),
        node("MaxPool", ["sum"], ["pooled"], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),
        node("GlobalAveragePool", ["pooled"], ["mean_of"]),
        node("Shape", ["mean_of"], ["shape"]),
        node("Gather", ["shape", "zero"], ["rows"], axis=0),
        node("Unsqueeze", ["rows", "zeros"], ["rows1"]),
        node("Concat", ["rows1", "minus"], ["target"], axis=0),
        node("Reshape", ["mean_of", "target"], ["flat"]),
        node("Gemm", ["flat", "w3", "b3"], ["logits"], transB=1),
        node("Softmax", ["logits"], ["classes"], axis=-1),
    ]
    spread = numpy_helper.from_array(RANDOM.uniform(0.5, 2, 4).astype("f4"), "spread")
    initial = [weights("w1", 4, 3, 3, 3), weights("b1", 4), weights("scale", 4), weights("shift", 4), weights("mean", 4), spread]
    initial += [weights("w2", 4, 1, 3, 3), weights("w3", 5, 4), weights("b3", 5), whole("zero", 0), whole("zeros", [0]), whole("minus", [-1])]
    graph = helper.make_graph(nodes, "small network", [value("image", ["batch", 3, "height", "width"])], [value("classes", ["batch", 5])], initial)
    return graph, [{"image": (n, 3, h, w)} for n, h, w in ((1, 8, 8), (3, 9, 14))]


def attention():
    """Heads are split by shapes that are computed; a mask of the length; everything but the width is open."""
    nodes = [
        node("MatMul", ["x", "wq"], ["q"]), node("MatMul", ["x", "wk"], ["k"]), node("MatMul", ["x", "wv"], ["v"]),
        node("Shape", ["x"], ["shape"]),
        node("Slice", ["shape", "from0", "to2", "from0"], ["outer"]),
        node("Concat", ["outer", "heads"], ["split"], axis=0),
        node("Reshape", ["q", "split"], ["q4"]), node("Reshape", ["k", "split"], ["k4"]), node("Reshape", ["v", "split"], ["v4"]),
        node("Transpose", ["q4"], ["qt"], perm=[0, 2, 1, 3]), node("Transpose", ["k4"], ["kt"], perm=[0, 2, 3, 1]),
        node("Transpose", ["v4"], ["vt"], perm=[0, 2, 1, 3]),
        node("MatMul", ["qt", "kt"], ["scores"]), node("Div", ["scores", "root"], ["scaled"]),
        node("Gather", ["shape", "one"], ["length"], axis=0), node("Range", ["zero", "length", "one"], ["places"]),
        node("Unsqueeze", ["places", "from0"], ["row"]), node("Unsqueeze", ["places", "axis1"], ["column"]),
        node("Greater", ["row", "column"], ["later"]), node("Where", ["later", "low", "scaled"], ["masked"]),
        node("Softmax", ["masked"], ["p"]), node("MatMul", ["p", "vt"], ["mixed"]),
        node("Transpose", ["mixed"], ["back"], perm=[0, 2, 1, 3]),
        node("Concat", ["outer", "open"], ["joined"], axis=0), node("Reshape", ["back", "joined"], ["wide"]),
        node("Add", ["wide", "x"], ["residual"]),
        node("LayerNormalization", ["residual", "gain", "bias"], ["y"], "/norm"),
    ]
    initial = [weights(n, 8, 8) for n in ("wq", "wk", "wv")] + [weights("gain", 8), weights("bias", 8)]
    initial += [whole("from0", [0]), whole("to2", [2]), whole("heads", [2, 4]), whole("one", 1), whole("zero", 0), whole("axis1", [1]), whole("open", [-1])]
    initial += [numpy_helper.from_array(np.array(2.0, "f4"), "root"), numpy_helper.from_array(np.array(-1e9, "f4"), "low")]
    graph = helper.make_graph(nodes, "attention", [value("x", ["batch", "time", 8])], [value("y", ["batch", "time", 8])], initial)
    return graph, [{"x": (2, 5, 8)}, {"x": (1, 9, 8)}]


def recurrent():
    """Both directions, a branch that the program takes, two results."""
    then = helper.make_graph([node("Neg", ["s"], ["a"])], "then", [], [value("a", None)])
    other = helper.make_graph([node("Mul", ["s", "s"], ["b"])], "else", [], [value("b", None)])
    nodes = [
        node("LSTM", ["x", "w", "r", "bias"], ["h", "last", ""], hidden_size=3, direction="bidirectional"),
        node("Transpose", ["h"], ["t"], perm=[2, 0, 1, 3]),
        node("ReduceMean", ["t"], ["s"], axes=[1], keepdims=0),
        node("ReduceSum", ["s"], ["total"], keepdims=0),
        node("Greater", ["total", "nothing"], ["above"]),
        node("If", ["above"], ["y"], then_branch=then, else_branch=other),
    ]
    initial = [weights("w", 2, 12, 4), weights("r", 2, 12, 3), weights("bias", 2, 24), numpy_helper.from_array(np.array(0, "f4"), "nothing")]
    graph = helper.make_graph(nodes, "recurrent", [value("x", ["time", "batch", 4])], [value("y", None), value("last", [2, "batch", 3])], initial)
    return graph, [{"x": (4, 2, 4)}, {"x": (7, 1, 4)}]


def quantized():
    """Integers as they are specified."""
    nodes = [
        node("DynamicQuantizeLinear", ["x"], ["q", "scale", "zero"]),
        node("MatMulInteger", ["q", "w", "zero"], ["sums"]),
        node("Cast", ["sums"], ["wide"], to=TensorProto.FLOAT),
        node("Mul", ["scale", "by"], ["both"]),
        node("Mul", ["wide", "both"], ["y"]),
    ]
    initial = [numpy_helper.from_array(RANDOM.integers(-127, 127, (6, 4)).astype("i1"), "w"), numpy_helper.from_array(np.array(0.02, "f4"), "by")]
    graph = helper.make_graph(nodes, "quantized", [value("x", ["rows", 6])], [value("y", ["rows", 4])], initial)
    return graph, [{"x": (1, 6)}, {"x": (5, 6)}]


def loops():
    """What is carried grows; a condition ends a loop; slices from the last place on; a sequence, joined; loops in loops, one written out."""
    flag = TensorProto.BOOL
    count = value("i", [], TensorProto.INT64)
    grow = helper.make_graph(
        [
            node("Identity", ["go"], ["go_on"]), node("Concat", ["rows", "x"], ["more"], axis=0), node("ReduceSum", ["more"], ["sum_of"], keepdims=0),
            node("Cast", ["i"], ["k"], to=TensorProto.FLOAT), node("Add", ["sum_of", "k"], ["shown"]),
        ],
        "grow", [count, value("go", [], flag), value("rows", None)], [value("go_on", [], flag), value("more", None), value("shown", [])],
    )
    halve = helper.make_graph(
        [
            node("Mul", ["rest", "half"], ["less"]), node("ReduceMax", ["less"], ["top"], keepdims=0), node("Greater", ["top", "little"], ["goes_on"]),
            node("SequenceInsert", ["seen", "less"], ["seen_too"]),
        ],
        "halve", [count, value("go", [], flag), value("rest", None), helper.make_tensor_sequence_value_info("seen", TensorProto.FLOAT, None)],
        [value("goes_on", [], flag), value("less", None), helper.make_tensor_sequence_value_info("seen_too", TensorProto.FLOAT, None)],
    )
    inner = helper.make_graph(
        [node("Identity", ["inner_go"], ["inner_on"]), node("Mul", ["at_hand", "by"], ["made"])],
        "inner", [value("j", [], TensorProto.INT64), value("inner_go", [], flag), value("at_hand", None)], [value("inner_on", [], flag), value("made", None)],
    )
    running = helper.make_graph(
        [
            node("Add", ["state", "column"], ["added"]), node("Loop", ["three", "", "added"], ["scaled"], body=inner),
            node("Tanh", ["scaled"], ["next"]), node("Mul", ["next", "column"], ["product"]),
        ],
        "running", [value("state", ["n"]), value("column", ["n"])], [value("next", ["n"]), value("product", ["n"])],
    )
    nodes = [
        node("Shape", ["x"], ["shape"]), node("Gather", ["shape", "zero"], ["n"], axis=0), node("Abs", ["x"], ["positive"]),
        node("Loop", ["n", "", "x"], ["grown", "sums"], body=grow),
        node("SequenceEmpty", [], ["none"], dtype=TensorProto.FLOAT),
        node("Loop", ["", "yes", "positive", "none"], ["halved", "list"], body=halve),
        node("ConcatFromSequence", ["list"], ["joined"], axis=1), node("SequenceLength", ["list"], ["times"]),
        node("ReduceMean", ["x"], ["start"], axes=[1], keepdims=0),
        node("Scan", ["start", "x"], ["end", "products"], body=running, num_scan_inputs=1, scan_input_axes=[1], scan_input_directions=[1], scan_output_axes=[1]),
    ]
    number = lambda name, x, kind: numpy_helper.from_array(np.array(x, kind), name)
    initial = [number("zero", 0, "i8"), number("three", 3, "i8"), number("half", 0.5, "f4"), number("little", 0.3, "f4"), number("by", 0.9, "f4"), number("yes", True, "?")]
    outputs = [value(name, None) for name in ("grown", "sums", "halved", "joined", "end", "products")] + [value("times", None, TensorProto.INT64)]
    graph = helper.make_graph(nodes, "loops", [value("x", ["n", "width"])], outputs, initial)
    return graph, [{"x": (2, 3)}, {"x": (4, 5)}]


def squeezed():
    """An axis is dropped where there is one window alone, as PyTorch writes it, and only then does the rest fit."""
    then = helper.make_graph([node("Squeeze", ["windows", "last"], ["dropped"])], "then", [], [value("dropped", None)])
    other = helper.make_graph([node("Identity", ["windows"], ["kept"])], "else", [], [value("kept", None)])
    nodes = [
        node("Conv", ["x", "w"], ["windows"], kernel_shape=[4], strides=[4]),
        node("Shape", ["windows"], ["shape"]), node("Gather", ["shape", "last"], ["count"], axis=0), node("Equal", ["count", "one"], ["single"]),
        node("If", ["single"], ["rows"], then_branch=then, else_branch=other),
        node("Gemm", ["rows", "m"], ["y"]),
    ]
    initial = [weights("w", 6, 2, 4), weights("m", 6, 3), whole("last", [-1]), whole("one", [1])]
    graph = helper.make_graph(nodes, "squeezed", [value("x", ["batch", 2, "time"])], [value("y", ["batch", 3])], initial)
    return graph, [{"x": (1, 2, 4)}, {"x": (3, 2, 7)}]


def fixed():
    """A batch of one, which stands in a shape too."""
    nodes = [
        node("Conv", ["image", "w"], ["c"], kernel_shape=[3, 3], strides=[2, 2]),
        node("Reshape", ["c", "groups"], ["grouped"]), node("Transpose", ["grouped"], ["mixed"], perm=[0, 2, 1, 3]),
        node("Reshape", ["mixed", "flat"], ["row"]), node("Gemm", ["row", "m"], ["y"]),
    ]
    initial = [weights("w", 4, 2, 3, 3), weights("m", 36, 3), whole("groups", [1, 2, 2, 9]), whole("flat", [1, -1])]
    graph = helper.make_graph(nodes, "fixed", [value("image", [1, 2, 7, 7])], [value("y", [1, 3])], initial)
    return graph, [{"image": (1, 2, 7, 7)}, {"image": (1, 2, 7, 7)}]


def selected():
    """The largest along an axis that is not the last, which then stretches; a slice that goes backwards from in front of the axis; one element
    that is left of three; a window that is larger than its axis."""
    nodes = [
        node("TopK", ["x", "one"], ["top", "at"], axis=1),
        node("Mul", ["x", "top"], ["product"]),
        node("Slice", ["top", "minus2", "minus9", "axis1", "minus1"], ["back"]),
        node("Sub", ["product", "back"], ["y"]),
        node("Resize", ["x", "", "scales"], ["z"], coordinate_transformation_mode="pytorch_half_pixel", nearest_mode="ceil"),
        node("ReduceMax", ["x"], ["column"], axes=[2], keepdims=1),
        node("MaxPool", ["column"], ["p"], kernel_shape=[2], strides=[2]),
    ]
    initial = [whole(name, [of]) for name, of in (("one", 1), ("minus2", -2), ("minus9", -9), ("axis1", 1), ("minus1", -1))]
    initial.append(numpy_helper.from_array(np.array([1, 1, 0.5], "f4"), "scales"))
    outputs = [value("y", ["batch", 4, "width"]), value("at", ["batch", 1, "width"], TensorProto.INT64), value("z", None), value("p", None)]
    return helper.make_graph(nodes, "selected", [value("x", ["batch", 4, "width"])], outputs, initial), [{"x": (2, 4, 6)}, {"x": (1, 4, 3)}]


def repeated():
    """Four layers that are alike but for their weights, and one that is not."""
    nodes, initial, last = [], [], "x"
    for layer in range(5):
        at = lambda name: f"layer_{layer}_{name}"
        nodes += [
            node("MatMul", [last, at("w1")], [at("a")]), node("Add", [at("a"), at("b1")], [at("b")]),
            node("Relu" if layer < 4 else "Tanh", [at("b")], [at("c")]),
            node("MatMul", [at("c"), at("w2")], [at("d")]), node("Add", [at("d"), at("b2")], [at("e")]),
            node("Add", [last, at("e")], [at("f")]), node("Sigmoid", [at("f")], [at("g")]), node("Mul", [at("f"), at("g")], [at("y")]),
        ]
        initial += [weights(at("w1"), 20, 24), weights(at("b1"), 24), weights(at("w2"), 24, 20), weights(at("b2"), 20)]
        last = at("y")
    graph = helper.make_graph(nodes, "repeated", [value("x", ["batch", 20])], [value(last, ["batch", 20])], initial)
    return graph, [{"x": (2, 20)}, {"x": (5, 20)}]


def wrong():
    """Models that are refused, found by the fuzz target `onnx`, by what is wrong with them."""
    nodes = [node("Constant", [], ["c"], value_ints=[1, 2]), node("Less", ["c"], ["y"])]
    yield "an input is missing", helper.make_graph(nodes, "wrong", [], [value("y", [2], TensorProto.BOOL)])
    yield "an equation that is no text", helper.make_graph([node("Einsum", ["x"], ["y"], equation=b"...i\x99->...i")], "wrong", [value("x", [2, 2])], [value("y", None)])
    many = [value("x", [8]), value("sizes", [2**31], TensorProto.INT64)]
    yield "too many sizes", helper.make_graph([node("Split", ["x", "sizes"], ["y", "z"])], "wrong", many, [value("y", None), value("z", None)])


def main():
    (HERE / "wrong").mkdir(exist_ok=True)
    for name, graph in wrong():
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), HERE / "wrong" / f"{name.replace(' ', '_')}.onnx")
    for make in (convolution, attention, recurrent, quantized, loops, squeezed, fixed, selected, repeated):
        graph, sizes = make()
        opset = 17
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
        onnx.save(model, HERE / f"{make.__name__}.onnx")
        session = onnxruntime.InferenceSession(HERE / f"{make.__name__}.onnx")
        stored = {}
        for i, inputs in enumerate(sizes):
            feeds = {name: RANDOM.standard_normal(dims).astype("f4") for name, dims in inputs.items()}
            for k, feed in enumerate(feeds.values()):
                stored[f"{i}.in.{k}"] = feed
            for k, result in enumerate(session.run(None, feeds)):
                stored[f"{i}.out.{k}"] = result
        np.savez(HERE / f"{make.__name__}.npz", **stored)


if __name__ == "__main__":
    main()
