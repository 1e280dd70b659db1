from values import REFERENCE, RUNTIME, Group
import numpy as np


def group():
    g = Group("reductions", "Reductions, pooling and normalization", ("onnx", "nn"))
    for op in ("Sum", "Prod", "Max", "Min", "Mean", "L1", "L2", "SumSquare", "LogSum", "LogSumExp"):
        name = "reduce_" + "".join("_" + c.lower() if c.isupper() and i else c.lower() for i, c in enumerate(op))
        x = np.abs(g.normal(2, 3, 4)) if op == "LogSum" else g.normal(2, 3, 4)
        g.case(name, "Reduce" + op, dict(x=x, _axes=np.array([-1, 0])), f"onnx.{name}(x, (-1, 0))", slope="x" if op in ("L2", "LogSumExp") else None)
        g.case(name + "_flat", "Reduce" + op, dict(x=x, _axes=np.array([1])), f"onnx.{name}(x, (1,), keepdims = 0)", dict(keepdims=0))
        g.case(name + "_all", "Reduce" + op, dict(x=x), f"onnx.{name}(x, keepdims = 0)", dict(keepdims=0))
        g.case(name + "_none", "Reduce" + op, dict(x=x, _axes=np.array([], np.int64)), f"onnx.{name}(x, (), noop_with_empty_axes = 1)",
               dict(noop_with_empty_axes=1), oracle=REFERENCE if op in ("LogSum", "L1", "L2", "SumSquare", "LogSumExp") else RUNTIME)
        if op not in ("Mean", "LogSum"):
            g.case(name + "_empty", "Reduce" + op, dict(x=np.zeros((2, 0, 4), np.float32), _axes=np.array([1])), f"onnx.{name}(x, (1,))",
                   oracle=REFERENCE)
    x = g.integers(-99, 99, 2, 3, 4, dtype=np.int32)
    for op in ("Sum", "Prod", "Max", "Min", "Mean", "L1", "SumSquare"):
        name = "reduce_" + ("sum_square" if op == "SumSquare" else op.lower())
        g.case(name + "_i32", "Reduce" + op, dict(x=x % 5 - 2 if op == "Prod" else x, _axes=np.array([1])), f"onnx.{name}(x, (1,))")
    none = np.zeros((2, 0), np.uint8)
    g.case("reduce_max_u8", "ReduceMax", dict(x=none, _axes=np.array([1])), "onnx.reduce_max(x, (1,))", oracle=REFERENCE)
    g.case("reduce_min_u8", "ReduceMin", dict(x=none, _axes=np.array([1])), "onnx.reduce_min(x, (1,))", oracle=REFERENCE)

    g.case("global_average_pool", "GlobalAveragePool", dict(x=g.normal(2, 3, 4, 5)), "onnx.global_average_pool(x)")
    g.case("global_max_pool", "GlobalMaxPool", dict(x=g.normal(2, 3, 4, 5, 2)), "onnx.global_max_pool(x)")
    g.case("global_lp_pool", "GlobalLpPool", dict(x=g.normal(2, 3, 7)), "onnx.global_lp_pool(x, 3)", dict(p=3), slope="x", opset=21)
    g.case("lp_pool_line", "LpPool", dict(x=g.normal(2, 3, 8)), "onnx.lp_pool(x, 3, 2, 1)", dict(kernel_shape=[3], strides=[2], pads=[1, 1]), opset=21)
    g.case("lp_pool", "LpPool", dict(x=g.normal(2, 3, 6, 7)), "onnx.lp_pool(x, (2, 3), (1, 2), ((1, 0), (0, 1)), p = 3)",
           dict(kernel_shape=[2, 3], strides=[1, 2], pads=[1, 0, 0, 1], p=3), slope="x", opset=21)
    g.case("lp_pool_ceil", "LpPool", dict(x=g.normal(1, 2, 6, 6)), "onnx.lp_pool(x, 3, 2, ceil = true, p = 1)",
           dict(kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1, p=1), opset=21)
    g.case("lp_pool_volume", "LpPool", dict(x=g.normal(1, 2, 4, 4, 5)), "onnx.lp_pool(x, 2, dilation = (1, 2, 1))",
           dict(kernel_shape=[2, 2, 2], dilations=[1, 2, 1]), opset=21)
    y = g.normal(2, 3, 3, 2)
    at = np.stack([i * 6 * 4 + g.rng.permutation(24)[:6].reshape(3, 2) for i in range(6)]).reshape(2, 3, 3, 2)
    unpool = dict(kernel_shape=[2, 2], strides=[2, 2])
    g.case("max_unpool", "MaxUnpool", dict(x=y, at=at), "onnx.max_unpool(x, at, 2, 2)", unpool, slope="x", opset=21)
    g.case("max_unpool_corner", "MaxUnpool", dict(x=y, at=at, _shape=np.array([2, 3, 7, 5])), "onnx.max_unpool(x, at, 2, 2, output_shape = (2, 3, 7, 5))",
           unpool, oracle=REFERENCE)
    g.case("max_unpool_line", "MaxUnpool", dict(x=g.normal(1, 2, 3), at=np.array([[[1, 2, 5], [6, 9, 10]]])), "onnx.max_unpool(x, at, 2, 2)",
           dict(kernel_shape=[2], strides=[2]), opset=21)
    volume = g.normal(1, 2, 2, 1, 2)
    at = np.sort(g.rng.permutation(64)[:8]).reshape(1, 2, 2, 1, 2)
    g.case("max_unpool_volume", "MaxUnpool", dict(x=volume, at=at), "onnx.max_unpool(x, at, 2, 2)", dict(kernel_shape=[2] * 3, strides=[2] * 3), opset=21)
    for order in (0, 1):
        g.case(f"positions_{order}", "MaxPool", dict(x=g.normal(2, 3, 6, 5)),
               f"(nn.max_pool2d(x, 2, 1), onnx.positions(nn.max_pool2d_with_indices(x, 2, 1)[1], x, {order}))",
               dict(kernel_shape=[2, 2], storage_order=order), ("y", "at"))

    for axis, p in ((-1, 2), (1, 1)):
        g.case(f"lp_normalization_{p}", "LpNormalization", dict(x=g.normal(2, 3, 4)), f"onnx.lp_normalization(x, {axis}, {p})", dict(axis=axis, p=p),
               slope="x", opset=21)
    g.case("lp_normalization_zero", "LpNormalization", dict(x=np.zeros((2, 3), np.float32)), "onnx.lp_normalization(x)", oracle=REFERENCE)
    g.case("mean_variance", "MeanVarianceNormalization", dict(x=g.normal(2, 3, 4, 5)), "onnx.mean_variance_normalization(x)", slope="x")
    g.case("mean_variance_axes", "MeanVarianceNormalization", dict(x=g.normal(2, 3, 4)), "onnx.mean_variance_normalization(x, (1,))", dict(axes=[1]),
           oracle=REFERENCE)
    three = ("y", "mean", "inverse")
    g.case("layer_norm", "LayerNormalization", dict(x=g.normal(2, 3, 8), w=g.normal(8), b=g.normal(8)), "onnx.layer_normalization(x, w, b)", {}, three,
           slope=("x", "w"))
    g.case("layer_norm_axis", "LayerNormalization", dict(x=g.normal(2, 3, 4, 5), w=g.normal(4, 5)), "onnx.layer_normalization(x, w, axis = 2, epsilon = 0.1)",
           dict(axis=2, epsilon=0.1), three)
    g.case("layer_norm_half", "LayerNormalization", dict(x=g.normal(3, 8, dtype=np.float16), w=g.normal(8, dtype=np.float16)),
           "onnx.layer_normalization(x, w)[0]")
    g.case("rms_norm", "RMSNormalization", dict(x=g.normal(2, 3, 8), w=g.normal(8)), "onnx.rms_normalization(x, w, epsilon = 0.01)", dict(epsilon=0.01),
           slope=("x", "w"), oracle=REFERENCE)
    g.case("rms_norm_axis", "RMSNormalization", dict(x=g.normal(2, 3, 4), w=g.normal(3, 4)), "onnx.rms_normalization(x, w, axis = -2)", dict(axis=-2),
           oracle=REFERENCE)
    g.case("group_norm", "GroupNormalization", dict(x=g.normal(2, 6, 3, 2), w=g.normal(6), b=g.normal(6)),
           "onnx.group_normalization(x, w, b, 3)", dict(num_groups=3))
    g.case("instance_norm", "InstanceNormalization", dict(x=g.normal(2, 3, 5), w=g.normal(3), b=g.normal(3)),
           "onnx.instance_normalization(x, w, b, 0.01)", dict(epsilon=0.01))
    g.case("lrn", "LRN", dict(x=g.normal(2, 6, 3, 2)), "nn.lrn(x, 3, 0.3, 0.6, 1.5)", dict(size=3, alpha=0.3, beta=0.6, bias=1.5))
    return g
