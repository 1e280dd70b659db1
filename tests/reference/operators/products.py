from values import REFERENCE, RUNTIME, Group
import numpy as np


def group():
    g = Group("products", "Products, layers with a state, positions and bounds")
    g.case("gemm", "Gemm", dict(a=g.normal(4, 3), b=g.normal(5, 4), c=g.normal(1, 5)), "onnx.gemm(a, b, c, 0.7, 1.3, 1, 1)",
           dict(alpha=0.7, beta=1.3, transA=1, transB=1), slope="c")
    g.case("gemm_plain", "Gemm", dict(a=g.normal(3, 4), b=g.normal(4, 5)), "onnx.gemm(a, b)")
    channels = dict(x=g.normal(3, 4, 2, 5), w=g.normal(4), b=g.normal(4), m=g.normal(4), v=np.abs(g.normal(4)))
    g.case("batch_norm", "BatchNormalization", channels, "onnx.batch_normalization(x, w, b, m, v, 0.01)", dict(epsilon=0.01), slope=("x", "v"))
    g.case("batch_norm_training", "BatchNormalization", channels, "onnx.batch_normalization(x, w, b, m, v, momentum = 0.7, training_mode = 1)",
           dict(momentum=0.7, training_mode=1), ("y", "mean", "variance"), oracle=REFERENCE)
    g.case("batch_norm_flat", "BatchNormalization", dict(x=g.normal(3, 4), w=g.normal(4), b=g.normal(4), m=g.normal(4), v=np.abs(g.normal(4))),
           "onnx.batch_normalization(x, w, b, m, v)")
    conv = dict(x=g.normal(2, 3, 5), w=g.normal(3, 1, 4))
    g.case("causal_conv", "CausalConvWithState", dict(conv, b=g.normal(3), s=g.normal(2, 3, 3)),
           'onnx.causal_conv_with_state(x, w, b, s, "silu")', dict(activation="silu"), ("y", "state"), REFERENCE, 27, slope=("x", "s"))
    g.case("causal_conv_plain", "CausalConvWithState", conv, "onnx.causal_conv_with_state(x, w)", {}, ("y", "state"), REFERENCE, 27)
    sequence = dict(q=g.normal(2, 4, 12), k=g.normal(2, 4, 6), v=g.normal(2, 4, 10))
    for rule in ("linear", "gated", "delta", "gated_delta"):
        inputs = dict(sequence, s=g.normal(2, 2, 3, 5) if "delta" in rule else None,
                      g=-np.abs(g.normal(2, 4, 6 if rule == "gated" else 2)) if "gated" in rule else None,
                      r=g.rng.uniform(0, 1, (2, 4, 2 if rule == "delta" else 1)).astype(np.float32) if "delta" in rule else None)
        given = ", ".join(k if v is not None else "none" for k, v in inputs.items())
        g.case(f"attention_{rule}", "LinearAttention", inputs,
               f'onnx.linear_attention({given}, kv_num_heads = 2, q_num_heads = 4, update_rule = "{rule}")',
               dict(kv_num_heads=2, q_num_heads=4, update_rule=rule), ("y", "state"), REFERENCE, 27, slope="k" if rule == "gated_delta" else None)
    ties = g.integers(0, 4, 3, 6)
    for last in (0, 1):
        g.case(f"arg_max_{last}", "ArgMax", dict(x=ties), f"onnx.arg_max(x, 1, select_last_index = {last})", dict(axis=1, select_last_index=last))
        g.case(f"arg_min_{last}", "ArgMin", dict(x=ties), f"onnx.arg_min(x, keepdims = 0, select_last_index = {last})",
               dict(keepdims=0, select_last_index=last))
    g.case("non_zero", "NonZero", dict(x=g.integers(0, 2, 3, 2, 4)), "onnx.non_zero(x)")
    x = g.normal(3, 4) * 2
    g.case("clip", "Clip", dict(x=x, low=np.float32(-1), high=np.float32(0.5)), "onnx.clip(x, low, high)", slope="x")
    g.case("clip_high", "Clip", dict(x=x, low=None, high=np.float32(0.5)), "onnx.clip(x, none, high)")
    g.case("clip_crossed", "Clip", dict(x=x, low=np.float32(1), high=np.float32(0.5)), "onnx.clip(x, low, high)")
    x[0] = [np.inf, -np.inf, np.nan, 0]
    for low, high in ((0, 1), (1, 0), (1, 1)):
        g.case(f"is_inf_{low}{high}", "IsInf", dict(x=x), f"onnx.is_inf(x, {low}, {high})", dict(detect_negative=low, detect_positive=high))
    for t in (np.int8, np.uint16, np.int64):
        x, by = g.integers(-2**15, 2**15, 9).astype(t), np.array([0, 1, 3, 7, 8, 15, 16, 64, 100], t)
        for way in ("LEFT", "RIGHT"):
            g.case(f"shift_{way.lower()}_{t.__name__}", "BitShift", dict(x=x, by=by), f'onnx.bit_shift(x, by, "{way}")', dict(direction=way), oracle=REFERENCE,
                   opset=28 if t != np.uint16 else 11)
    x, y = g.integers(-99, 99, 4, 5, dtype=np.int32), np.array([3, -5, 7, -2, 1], np.int32)
    g.case("div_integers", "Div", dict(x=x, by=y), "onnx.div(x, by)")
    g.case("div", "Div", dict(x=g.normal(3, 4), by=g.normal(4)), "onnx.div(x, by)", slope=("x", "by"))
    g.case("pow", "Pow", dict(x=np.abs(g.normal(3, 4)), by=g.normal(4)), "onnx.pow(x, by)", slope=("x", "by"))
    g.case("pow_integer", "Pow", dict(x=g.normal(3, 4), by=g.integers(-2, 4, 4)), "onnx.pow(x, by)", slope="x")
    g.case("pow_of_integers", "Pow", dict(x=g.integers(-5, 6, 9), by=np.float32(3)), "onnx.pow(x, by)")
    x = g.normal(5, 6, 4)
    ends = dict(x=x, start=np.array([-1, 20, 1]), end=np.array([0, -2**63 + 1, 99]), _axes=np.array([0, 1, -1]), _steps=np.array([-2, -3, 2]))
    g.case("slice_backwards", "Slice", ends, "onnx.slice(x, start, end, (0, 1, -1), (-2, -3, 2))", slope="x")
    g.case("slice_known", "Slice", dict(x=x, _start=np.array([-3, 1]), _end=np.array([-1, 99])), "onnx.slice(x, (-3, 1), (-1, 99), (0, 1))")
    bools = dict(x=g.integers(0, 2, 4, 3) > 0, at=np.array([[3], [0]]), v=g.integers(0, 2, 2, 3) > 0)
    g.case("scatter_bools", "ScatterND", bools, "onnx.scatter_nd(x, at, v)")
    g.case("scatter_elements_bools", "ScatterElements", dict(x=g.integers(0, 2, 4, 3) > 0, at=np.array([[3, 0, 1]]), v=np.array([[True, False, True]])),
           "onnx.scatter_elements(x, at, v)")
    return g
