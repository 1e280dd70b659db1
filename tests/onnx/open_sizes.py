#!/usr/bin/env python3
"""Operators whose operands' sizes all have names of their own, through tl and ONNX Runtime: tests/onnx/open_sizes.py TL [FILTER].

An exporter names axes by tensor, so what has to be equal is known only when a model runs: the importer has to assert it, and to take one
element for what stretches where the model wants it. Also Resize by random scales, whose rounding is that of f32, Pad, and operators of
ONNX Runtime's own and of learned models. Runs in the environment of environment.sh. Ends with `N passed, N failed`."""
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from counted import count  # noqa: E402

NODE = helper.make_node
RNG = np.random.default_rng(1)


def real(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def cut(start, end, axis):
    return {"from": np.array([start]), "to": np.array([end]), "along": np.array([axis])}, NODE("Slice", ["x", "from", "to", "along"], ["c"])


def stretched():
    """One element of an open axis beside all of it."""
    x, end = real(2, 4, 3), 2**62
    for start, stop, axis in [(0, 1, 1), (-1, end, 1), (2, 3, 1), (0, 1, 0)]:
        constants, node = cut(start, stop, axis)
        yield f"slice {start} {axis}", [node, NODE("Mul", ["c", "x"], ["y"])], {"x": x}, constants
        yield f"less slice {start} {axis}", [node, NODE("Sub", ["x", "c"], ["y"])], {"x": x}, constants
        shape = NODE("Shape", ["x"], ["shape"])
        yield f"expand {start} {axis}", [node, shape, NODE("Expand", ["c", "shape"], ["y"])], {"x": x}, constants
    constants, node = cut(0, 1, 1)
    yield "max", [node, NODE("Max", ["c", "c", "x"], ["y"])], {"x": x}, constants
    greater = [node, NODE("Greater", ["x", "c"], ["g"]), NODE("Where", ["g", "x", "c"], ["y"])]
    yield "where", greater, {"x": x}, constants
    constants, node = cut(0, 1, 0)
    turned = [node, NODE("Transpose", ["x"], ["t"], perm=[0, 2, 1]), NODE("MatMul", ["c", "t"], ["y"])]
    yield "matmul", turned, {"x": x}, constants
    parts = [NODE("Split", ["x", "sizes"], ["c", "rest"], axis=1), NODE("Mul", ["c", "x"], ["y"])]
    yield "split", parts, {"x": x}, {"sizes": np.array([1, 3])}
    image, first = real(1, 2, 4, 6), {"from": np.array([0, 0]), "to": np.array([1, 1]), "along": np.array([2, 3])}
    yield "by --dim", [NODE("Add", ["z", "x"], ["y"])], {"x": real(2, 3), "z": real(4, 3)}, {}, real(1, 3)
    places = [NODE("MaxPool", ["x"], ["v", "p"], kernel_shape=[2, 2], strides=[2, 2]), NODE("MaxPool", ["x"], ["u", "q"], kernel_shape=[1, 1])]
    places += [NODE("Slice", ["q", "from", "to", "along"], ["c"]), NODE("Sub", ["p", "c"], ["y"])]
    yield "positions", places, {"x": image}, first
    gate = [NODE("GlobalAveragePool", ["x"], ["m"]), NODE("DynamicQuantizeLinear", ["m"], ["q", "s", "zero"])]
    gate += [NODE("ConvInteger", ["q", "w", "zero"], ["i"]), NODE("Cast", ["i"], ["g"], to=1), NODE("Mul", ["x", "g"], ["y"])]
    yield "integer gate", gate, {"x": image}, {"w": np.array([[[[3]], [[5]]], [[[7]], [[2]]]], np.uint8)}


def of_the_run():
    """Lengths that the data says."""
    x, none = real(4, 3), np.zeros(4, bool)
    chosen = [NODE("NonZero", ["m"], ["p"]), NODE("Squeeze", ["p", "first"], ["q"]), NODE("Gather", ["x", "q"], ["r"])]
    for op in ["ReduceMax", "ReduceMin", "ReduceLogSumExp", "ReduceSum", "ReduceProd"]:
        for name, mask in [("some", np.arange(4) != 2), ("none", none)]:
            yield f"{op} {name}", [*chosen, NODE(op, ["r", "first"], ["y"], keepdims=0)], {"x": x, "m": mask}, {"first": np.array([0])}
            yield f"{op} of all {name}", [*chosen, NODE(op, ["r"], ["y"])], {"x": x, "m": mask}, {"first": np.array([0])}
    bounds = [NODE("Compress", ["p", "m"], ["from"]), NODE("Compress", ["q", "m"], ["to"])]
    for name, mask, places in [("one", np.arange(3) == 1, {}), ("two", np.arange(3) > 0, {"along": np.array([1, 0])})]:
        feeds = {"x": x, "m": mask, "p": np.array([0, 1, 2]), "q": np.array([2, 3, 3])}
        yield f"Slice {name}", [*bounds, NODE("Slice", ["x", "from", "to", *places], ["y"])], feeds, places


def equal():
    """Sizes that have to be equal."""
    i64 = np.int64
    x, y = np.abs(real(1, 2, 3)), np.abs(real(1, 1, 3))
    for op in ["Add", "Pow", "Max", "PRelu", "Equal", "Mean"]:
        yield op, [NODE(op, ["x", "z"], ["y"])], {"x": x, "z": y}, {}
    yield "Mod", [NODE("Mod", ["x", "z"], ["y"], fmod=1)], {"x": x * 9, "z": y}, {}
    yield "Gemm", [NODE("Gemm", ["x", "z", "c"], ["y"], transB=1)], {"x": real(3, 4), "z": real(5, 4), "c": real(5)}, {}
    yield "Einsum", [NODE("Einsum", ["x", "z"], ["y"], equation="bij,bjk->bik")], {"x": real(2, 3, 4), "z": real(2, 4, 5)}, {}
    rows = np.array([[[1], [0]], [[2], [2]]])
    yield "GatherND", [NODE("GatherND", ["x", "z"], ["y"], batch_dims=1)], {"x": real(2, 3, 4), "z": rows}, {}
    weights = {"w": real(1, 12, 5), "r": real(1, 12, 4)}
    gru = NODE("GRU", ["x", "w", "r", "", "z", "h"], ["y"], hidden_size=4)
    yield "GRU", [gru], {"x": real(3, 2, 5), "z": np.array([2, 3], np.int32), "h": real(1, 2, 4)}, weights
    norm = NODE("BatchNormalization", ["x", "s", "b", "m", "v"], ["y"])
    yield "BatchNormalization", [norm], {"x": real(4, 3, 2), "s": real(3), "b": real(3), "m": real(3), "v": np.abs(real(3))}, {}
    groups = NODE("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=2)
    yield "GroupNormalization 18", [groups], {"x": real(2, 6, 3)}, {"s": real(2), "b": real(2)}
    steps = NODE("QuantizeLinear", ["x", "s", "z"], ["y"], axis=1)
    yield "QuantizeLinear", [steps], {"x": real(2, 3), "s": np.abs(real(3)), "z": np.zeros(3, np.int8)}, {}
    loss = NODE("NegativeLogLikelihoodLoss", ["x", "z"], ["y"])
    yield "NegativeLogLikelihoodLoss", [loss], {"x": real(4, 3), "z": np.array([0, 1, 2, 0], i64)}, {}
    entropy = NODE("SoftmaxCrossEntropyLoss", ["x", "z", "w"], ["y"])
    yield "SoftmaxCrossEntropyLoss", [entropy], {"x": real(2, 3, 2), "z": np.array([[0, 1], [2, 0]], i64), "w": np.abs(real(3))}, {}
    attention = NODE("Attention", ["q", "k", "v"], ["y"], q_num_heads=2, kv_num_heads=2)
    yield "Attention", [attention], {"q": real(2, 3, 8), "k": real(2, 5, 8), "v": real(2, 5, 8)}, {}
    yield "STFT", [NODE("STFT", ["x", "step", "w"], ["y"])], {"x": real(2, 20)}, {"step": np.array(4), "w": np.abs(real(8))}
    turned = NODE("RotaryEmbedding", ["x", "c", "s", "p"], ["y"])
    places = {"x": real(2, 2, 3, 8), "p": np.array([[0, 3, 1], [2, 2, 0]], i64)}
    yield "RotaryEmbedding", [turned], places, {"c": real(10, 4), "s": real(10, 4)}


def fused():
    """What ONNX Runtime's tools for quantizing and optimizing write."""
    def made(op, names, results="y", **attributes):
        return NODE(op, names.split(), results.split(" "), domain="com.microsoft", **attributes)
    rows, vector = real(2, 3, 4), real(4)
    yield "BiasGelu", [made("BiasGelu", "x b", "a"), made("FastGelu", "a b", "c"), made("QuickGelu", "c", "y")], {"x": rows}, {"b": vector}
    norms = [made("SkipLayerNormalization", "x z g b b", "a   s"), made("SkipSimplifiedLayerNormalization", "a s g", "c", epsilon=1e-5)]
    norms += [NODE("SimplifiedLayerNormalization", ["c", "g"], ["y"], axis=-1, epsilon=1e-5)]
    yield "SkipLayerNormalization", norms, {"x": rows, "z": real(2, 3, 4)}, {"g": real(4), "b": vector}
    products = [made("FusedMatMul", "x z", "a", transB=1, alpha=0.5), made("FusedMatMul", "a w", "y", transA=1, transB=1)]
    yield "FusedMatMul", products, {"x": rows, "z": real(2, 5, 4)}, {"w": real(7, 3)}
    images = {"w": real(3, 2, 3, 3), "b": real(3), "v": real(3, 3, 1, 1)}
    layers = [made("FusedConv", "x w b", "a", activation="Relu", pads=[1] * 4), made("FusedConv", "a v b a", "y", activation="Relu")]
    yield "FusedConv", layers, {"x": real(1, 2, 4, 6)}, images
    yield "FusedGemm", [made("FusedGemm", "x w b", activation="Tanh", transB=1)], {"x": real(3, 4)}, {"w": real(5, 4), "b": real(5)}
    steps = {name: np.float32(value) for name, value in {"s": 0.02, "t": 0.03, "r": 0.05}.items()}
    steps |= {name: np.uint8(value) for name, value in {"zs": 120, "zt": 100, "zr": 128}.items()}
    bytes_of = {name: RNG.integers(0, 256, (1, 2, 4, 6)).astype(np.uint8) for name in "xz"}
    sums = [made("QLinearAdd", "x s zs z t zt r zr", "a"), made("QLinearMul", "a r zr z t zt r zr", "b")]
    sums += [made("QLinearLeakyRelu", "b r zr r zr", "c", alpha=0.1), made("QLinearSigmoid", "c r zr s zs", "d")]
    yield "QLinearAdd", [*sums, made("QLinearConcat", "r zr a r zr c r zr d s zs", axis=1)], bytes_of, steps
    halves = {"s": np.float32(0.25), "t": np.float32(0.5), "zs": np.uint8(120), "zt": np.uint8(5)}
    for op in ["QLinearAdd", "QLinearMul"]:
        yield f"{op} ties", [made(op, "x s zs z s zs t zt")], bytes_of, halves
        yield f"{op} from zero", [made(op, "x s zs z s zs t")], bytes_of, halves
    pools = [made("QLinearAveragePool", "x s zs r zr", "a", kernel_shape=[2, 2]), made("QLinearGlobalAveragePool", "a r zr t zt", "b")]
    yield "QLinearAveragePool", [*pools, made("QLinearSoftmax", "b t zt s zs", "y", axis=1, opset=13)], {"x": bytes_of["x"]}, steps
    matrix = RNG.integers(0, 256, (5, 4)).astype(np.uint8)
    gemm = made("QGemm", "x s zs w t zt c r zr", transB=1)
    yield "QGemm", [gemm], {"x": matrix[:3]}, steps | {"w": matrix, "c": np.arange(5, dtype=np.int32) * 100}
    quick = made("DynamicQuantizeMatMul", "x w t zt b")
    yield "DynamicQuantizeMatMul", [quick], {"x": real(3, 5)}, steps | {"w": matrix, "b": vector}


    yield "CDist", [made("CDist", "x z", metric="euclidean")], {"x": real(3, 4), "z": real(5, 4)}, {}
    for bits, zeros in [(4, None), (4, RNG.integers(0, 256, 5 * 2).astype(np.uint8)), (8, None), (8, RNG.integers(0, 256, 5 * 3).astype(np.uint8)), (4, real(15))]:
        packed = {"w": RNG.integers(0, 256, (5, 3, 16 * bits // 8)).astype(np.uint8), "s": np.abs(real(15)) / 10}
        packed |= {"z": zeros} if zeros is not None else {}
        node = made("MatMulNBits", "x w s" + " z" * (len(packed) - 2), K=40, N=5, bits=bits, block_size=16)
        yield f"MatMulNBits {bits} {'' if zeros is None else zeros.dtype}", [node], {"x": real(2, 3, 40)}, packed


def attended():
    """Attention as ONNX Runtime's tools for optimizing transformers write it."""
    def made(op, names, results="y", **attributes):
        return NODE(op, [n.strip("_") for n in names.split()], results.split(), domain="com.microsoft", num_heads=4, **attributes)
    i32, x = np.int32, real(2, 5, 16)
    weights, past = {"w": real(16, 48), "b": real(48)}, real(2, 2, 4, 3, 4)
    masks = {"none": None, "ends": np.array([3, 5], i32), "kept": np.array([[1, 1, 1, 0, 0], [0, 0, 1, 1, 0]], i32), "rows": RNG.integers(0, 2, (2, 5, 5)).astype(i32)}
    for name, mask in masks.items():
        feeds = {"x": x} if mask is None else {"x": x, "m": mask}
        for causal in (0, 1):
            node = made("Attention", "x w b" + " m" * (len(feeds) - 1), unidirectional=causal, scale=0.4)
            yield f"Attention {name} {causal}", [node], feeds, weights
    node = made("Attention", "x w b m past", "y present", unidirectional=1)
    yield "Attention past", [node], {"x": x, "m": RNG.integers(0, 2, (2, 8)).astype(i32), "past": past}, weights
    yield "Attention present", [made("Attention", "x w b _ past", "p y")], {"x": x, "past": past}, weights
    yield "Attention bias", [made("Attention", "x w b _ _ z")], {"x": x, "z": real(1, 4, 5, 5)}, weights
    sizes = made("Attention", "x w b", qkv_hidden_sizes=[8, 8, 32])
    yield "Attention sizes", [sizes], {"x": x}, weights
    rows = {"x": x, "k": real(2, 7, 16), "v": real(2, 7, 32)}
    yield "MultiHeadAttention", [made("MultiHeadAttention", "x k v b m")], {**rows, "m": np.array([4, 7], i32)}, {"b": real(64)}
    split = {"x": x, "k": real(2, 4, 7, 4), "v": real(2, 4, 7, 4)}
    yield "MultiHeadAttention split", [made("MultiHeadAttention", "x k v b")], split, {"b": real(48)}
    before = {"x": x, "k": real(2, 5, 16), "v": real(2, 5, 16), "z": real(2, 4, 3, 4), "u": real(2, 4, 3, 4)}
    yield "MultiHeadAttention past", [made("MultiHeadAttention", "x k v _ _ _ z u", "a y c", unidirectional=1)], before, {}
    steps = {"s": np.float32(0.02), "t": np.float32(0.01), "zs": np.uint8(120), "zt": np.uint8(130)}
    whole = {"w": RNG.integers(0, 256, (16, 48)).astype(np.uint8), "b": real(48)}
    yield "QAttention", [made("QAttention", "x w b s t _ zs zt")], {"x": RNG.integers(0, 256, (2, 5, 16)).astype(np.uint8)}, steps | whole
    for at in (np.array([3]), np.array([[0, 3, 1, 2, 4], [1, 2, 3, 4, 5]])):
        yield f"com.microsoft RotaryEmbedding {at.ndim}", [made("RotaryEmbedding", "x p c s", interleaved=at.ndim - 1)], {"x": x, "p": at}, {"c": real(20, 2), "s": real(20, 2)}
    ids = {"x": RNG.integers(0, 9, (2, 5)).astype(i32), "k": RNG.integers(0, 2, (2, 5)).astype(i32), "m": masks["kept"]}
    tables = {"w": real(9, 16), "p": real(12, 16), "s": real(2, 16), "g": real(16), "b": real(16)}
    embedded = NODE("EmbedLayerNormalization", ["x", "k", "w", "p", "s", "g", "b", "m"], ["a", "e"], domain="com.microsoft")
    yield "EmbedLayerNormalization", [embedded, made("Attention", "a wa ba e")], ids, tables | {"wa": weights["w"], "ba": weights["b"]}
    turned = {"c": real(40, 8), "s": real(40, 8)}
    for name, count, before, window in [("first", 5, 0, -1), ("next", 1, 6, -1), ("more", 3, 6, 2), ("room", 1, 12, -1)]:
        total = 7 if name == "room" else before + count
        feeds = {"x": real(1, count, 64), "k": real(1, count, 32), "v": real(1, count, 32), "e": np.array([total - 1], i32), "t": np.array([total], i32)}
        feeds |= {n: real(1, 2, before, 16) for n in "zu" if before}
        node = made("GroupQueryAttention", f"x k v {'z u' if before else '_ _'} e t c s", "y p r", kv_num_heads=2, do_rotary=1, local_window_size=window)
        yield f"GroupQueryAttention {name}", [node], feeds, turned
    packed = made("GroupQueryAttention", "x _ _ _ _ e t", "y p r", kv_num_heads=2, softcap=2.0)
    yield "GroupQueryAttention packed", [packed], {"x": real(2, 5, 128), "e": np.array([4, 4], i32), "t": np.array([5], i32)}, {}


def learned():
    """What scikit-learn and its like have learned."""
    def made(op, results="y", **attributes):
        return NODE(op, ["x"], results.split(" "), domain="ai.onnx.ml", **attributes)
    rows = {"x": real(20, 3)}
    rows["x"][3, 0] = rows["x"][4, 1] = np.nan
    known = {"x": real(20, 3)}
    nodes = {"treeids": [0] * 5 + [1] * 3, "nodeids": [0, 1, 2, 3, 4, 0, 1, 2], "featureids": [0, 1, 0, 0, 0, 2, 0, 0], "values": [0.1, -0.2, 0, 0, 0, 0.3, 0, 0]}
    nodes |= {"truenodeids": [1, 3, 0, 0, 0, 2, 0, 0], "falsenodeids": [2, 4, 0, 0, 0, 1, 0, 0], "missing_value_tracks_true": [1] + [0] * 7}
    nodes = {f"nodes_{name}": values for name, values in nodes.items()}

    def leaves(kind, which, weights, how):
        modes = [how, how, "LEAF", "LEAF", "LEAF", how, "LEAF", "LEAF"]
        of_kind = {"treeids": [0, 0, 0, 1, 1], "nodeids": [2, 3, 4, 1, 2], "ids": which, "weights": weights}
        return nodes | {"nodes_modes": modes} | {f"{kind}_{name}": values for name, values in of_kind.items()}
    for how, aggregate in [("LEQ", "SUM"), ("LT", "AVERAGE"), ("GTE", "SUM"), ("GT", "SUM")]:
        attributes = leaves("target", [0, 1, 0, 1, 0], [1.0, 2.0, 3.0, 4.0, 5.0], f"BRANCH_{how}")
        yield f"TreeEnsembleRegressor {how}", [made("TreeEnsembleRegressor", n_targets=2, aggregate_function=aggregate, **attributes)], rows, {}
    for post in ["NONE", "LOGISTIC"]:
        for low, results in [(0.2, "y z"), (0.2, "z y"), (-0.2, "y z"), (-0.2, "z y")]:
            attributes = leaves("class", [0] * 5, [1.0, low, 0.3, 2 * low, 0.1], "BRANCH_LEQ")
            two = made("TreeEnsembleClassifier", results, classlabels_int64s=[0, 1], post_transform=post, **attributes)
            yield f"TreeEnsembleClassifier {post} {low} {results}", [two], rows, {}
    three = {"classlabels_int64s": [4, 7, 9], "post_transform": "SOFTMAX", "base_values": [0.5, 0.25, 0.125]}
    attributes = three | leaves("class", [0, 1, 2, 0, 1], [0.5, 0.2, 0.3, 0.4, 0.1], "BRANCH_LEQ")
    linear = {"coefficients": [1.0, -2.0, 3.0, 0.5, 0.25, 2.0, -1.0, 1.0, 0.5], "intercepts": [0.1, 0.2, 0.3]}
    for results in ["y z", "z y"]:
        yield f"TreeEnsembleClassifier three {results}", [made("TreeEnsembleClassifier", results, **attributes)], known, {}
        classes = made("LinearClassifier", results, classlabels_ints=[4, 7, 9], post_transform="SOFTMAX", **linear)
        yield f"LinearClassifier {results}", [classes], known, {}
    yield "LinearRegressor", [made("LinearRegressor", targets=3, **linear)], known, {}
    yield "Scaler", [made("Scaler", offset=[0.5, 1.0, 2.0], scale=[2.0, 1.0, 0.5])], known, {}
    yield "Normalizer L1", [made("Normalizer", norm="L1")], known, {}
    yield "Normalizer L2", [made("Normalizer", norm="L2")], known, {}
    yield "Imputer", [made("Imputer", imputed_value_floats=[1.0, 2.0, 3.0], replaced_value_float=float("nan"))], rows, {}
    yield "Normalizer MAX", [made("Normalizer", norm="MAX")], {"x": np.abs(real(20, 3))}, {}
    keys = {"x": np.array([[1, 2], [3, 7]])}
    yield "LabelEncoder", [made("LabelEncoder", keys_int64s=[3, 1, 7], values_int64s=[5, 6, 9], default_int64=-4)], keys, {}
    yield "LabelEncoder reals", [made("LabelEncoder", keys_int64s=[3, 1, 7], values_floats=[0.5, 6.0, 9.0])], keys, {}
    halves = {"x": np.array([[1, 2.5], [3, 0.5]], np.float32)}
    yield "LabelEncoder of reals", [made("LabelEncoder", keys_floats=[0.5, 3.0], values_int64s=[5, 6])], halves, {}
    columns = NODE("FeatureVectorizer", ["x", "z"], ["y"], domain="ai.onnx.ml", inputdimensions=[3, 1])
    yield "FeatureVectorizer", [columns], {"x": real(20, 3), "z": real(20, 1)}, {}
    vectors = {"n_supports": 4, "support_vectors": real(12).tolist(), "coefficients": [0.5, -1.0, 2.0, 0.25], "rho": [0.3]}
    for kernel in ["LINEAR", "POLY", "RBF", "SIGMOID"]:
        for one in (0, 1):
            svm = made("SVMRegressor", kernel_type=kernel, kernel_params=[0.3, 0.5, 3.0], one_class=one, **vectors)
            yield f"SVMRegressor {kernel} {one}", [svm], known, {}
    two = {"kernel_type": "RBF", "kernel_params": [0.3, 0.5, 3.0], "support_vectors": real(21).tolist()}
    for results in ["y z", "z y"]:
        pair = made("SVMClassifier", results, classlabels_ints=[4, 7], vectors_per_class=[3, 4], coefficients=real(7).tolist(), rho=[0.1], **two)
        yield f"SVMClassifier {results}", [pair], known, {}
        three = made("SVMClassifier", results, classlabels_ints=[4, 7, 9], vectors_per_class=[3, 0, 4], coefficients=real(14).tolist(), rho=[0.1, -0.2, 0.3], **two)
        yield f"SVMClassifier three {results}", [three], known, {}
    yield "OneHotEncoder", [made("OneHotEncoder", cats_int64s=[3, 1, 7])], {"x": np.array([[1, 2], [3, 7]])}, {}


def called():
    """Functions of the model's own, one inside another, with long names and short ones."""
    for outer in ["twice", "the_longer_name_of_a_function"]:
        yield f"function {outer}", [NODE(outer, ["x"], ["y"], domain="local")], {"x": real(2, 3)}, {}


def local_functions(nodes):
    sets, inner = [helper.make_opsetid("", 23), helper.make_opsetid("local", 1)], "halved_by_a_function_inside"
    bodies = {inner: [NODE("Constant", [], ["half"], value_float=0.5), NODE("Mul", ["x", "half"], ["y"])], "less": [NODE("Neg", ["x"], ["y"])]}
    parts = [NODE(inner, ["x"], ["a"], domain="local"), NODE("less", ["a"], ["b"], domain="local"), NODE("Sub", ["x", "b"], ["y"])]
    return [helper.make_function("local", name, ["x"], ["y"], body, sets) for name, body in {**bodies, nodes[0].op_type: parts}.items()]


def columns():
    """Positions of maxima in images that are stored column by column."""
    x = real(1, 2, 4, 6, 4)
    node = NODE("MaxPool", ["x"], ["v", "y"], kernel_shape=[2, 3, 2], strides=[2, 3, 2], storage_order=1)
    yield "MaxPool", [node], {"x": x}, {}


def random_ones(draw):
    for k in range(24):
        n, scale = draw.randint(2, 40), draw.choice([0.3, 0.6, 0.7, 0.9, 1.1, 1.3, 1.7, 2.0, 2.3, 2.7])
        if int(np.float32(n) * np.float32(scale)) in (0, n):  # ONNX Runtime copies what keeps its length
            continue
        how = {"mode": "nearest", "nearest_mode": draw.choice(["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"])}
        how = how if draw.random() < 0.7 else {"mode": "linear"}
        where = draw.choice(["asymmetric", "half_pixel", "pytorch_half_pixel"])
        node = NODE("Resize", ["x", "", "scales"], ["y"], coordinate_transformation_mode=where, **how)
        yield f"Resize {k} {n} {scale} {where} {how}", [node], {"x": real(1, 1, n)}, {"scales": np.array([1, 1, scale], np.float32)}
    for k in range(16):
        shape = [draw.randint(1, 6) for _ in range(draw.randint(1, 4))]
        pads = [draw.choice([0, draw.randint(0, n - 1)]) for n in shape * 2]
        mode = draw.choice(["reflect", "edge", "wrap", "constant"])
        yield f"Pad {k} {shape} {pads} {mode}", [NODE("Pad", ["x", "pads"], ["y"], mode=mode)], {"x": real(*shape)}, {"pads": np.array(pads)}


def model_of(nodes, feeds, constants):
    groups = any(node.op_type == "GroupNormalization" for node in nodes)

    def value(name, array):
        # Known are axes of 1, which stretch, and those that attributes or weights are about.
        last = any(node.op_type in ("RotaryEmbedding", "GRU") or "Attention" in node.op_type for node in nodes) and array.ndim > 2
        wide = [1] if any(node.op_type == "FeatureVectorizer" for node in nodes) else []
        heads = {4: [1], 5: [0, 2]}.get(array.ndim, []) if last and array.dtype == np.float32 else [1] * groups
        sizes = [n if n == 1 or (last and array.dtype != np.int32 and i == array.ndim - 1) or i in heads or i in wide else f"{name}{i}" for i, n in enumerate(array.shape)]
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), sizes)

    made = [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()]
    result = onnx.ValueInfoProto(name="y")
    graph = helper.make_graph(nodes, "g", [value(n, a) for n, a in feeds.items()], [result], made)
    domains = [helper.make_opsetid("local", 1), helper.make_opsetid("", 18 if groups else 23), helper.make_opsetid("com.microsoft", 1), helper.make_opsetid("ai.onnx.ml", 3)]
    own = local_functions(nodes) if nodes[0].domain == "local" else []
    model = helper.make_model(graph, opset_imports=domains, ir_version=10, functions=own)
    return onnx.shape_inference.infer_shapes(model)


def problem(tl, folder, nodes, feeds, constants, one=None):
    """one: an x with one element along its first axis, which stretches if --dim says that."""
    model = model_of(nodes, feeds, constants)
    feeds = feeds if one is None else {**feeds, "x": one}
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    wanted = onnxruntime.InferenceSession(model.SerializeToString()).run(["y"], feeds)[0]
    files = []
    for name, array in feeds.items():
        files.append(folder / f"{name}.npy")
        np.save(files[-1], array)

    def run(*options):
        return subprocess.run([tl, "run", *options, path, *files, "-o", folder / "out.npy"], capture_output=True, text=True, timeout=60)
    done = run()
    if one is not None:
        if done.returncode != 3 or "z0 = 4, x0 = 1: --dim z0=1 or --dim x0=1" not in done.stderr:
            return f"ends with {done.returncode}: {done.stderr}"
        done = run("--dim", "x0=1")
    if done.returncode:
        return f"ends with {done.returncode}: {done.stderr}"
    found = np.load(folder / "out.npy")
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return f"{found.dtype}{found.shape}, not {wanted.dtype}{wanted.shape}"
    return None if np.allclose(found, wanted, 1e-4, 1e-5, equal_nan=True) else f"{found}, not {wanted}"


def main():
    tl, only = pathlib.Path(sys.argv[1]).resolve(), "".join(sys.argv[2:3])
    onnxruntime.set_default_logger_severity(4)
    with tempfile.TemporaryDirectory() as folder:
        cases = [*stretched(), *of_the_run(), *equal(), *fused(), *attended(), *learned(), *called(), *columns(), *random_ones(random.Random(1))]
        return count(cases, lambda *case: problem(tl, pathlib.Path(folder), *case), only)


if __name__ == "__main__":
    sys.exit(main())
