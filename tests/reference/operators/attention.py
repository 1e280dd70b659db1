from values import REFERENCE, RUNTIME, Group
import numpy as np


def group():
    g = Group("attention", "Attention and rotary embeddings")
    one, four = ("y",), ("y", "pk", "pv", "qk")

    def qkv(b=2, h=4, kv=2, t=3, u=5, d=6, e=4):
        return dict(q=g.normal(b, h, t, d), k=g.normal(b, kv, u, d), v=g.normal(b, kv, u, e))

    def case(name, inputs, tl, attributes=None, outputs=one, slope=None):
        given = ", ".join(k if v is not None else "none" for k, v in inputs.items())
        call = f"onnx.attention({given}{tl})"
        g.case(name, "Attention", inputs, call if len(outputs) > 1 else call + "[0]", attributes, outputs, REFERENCE, opset=25, slope=slope)

    case("plain", qkv(kv=4), "", slope="k")
    case("groups", qkv(), "", slope="q")
    case("causal", qkv(), ", is_causal = 1, scale = 0.7", dict(is_causal=1, scale=0.7), four, slope="v")
    mask = np.where(g.integers(0, 3, 3, 5) > 0, g.normal(3, 5), -np.inf).astype(np.float32)
    mask[0] = -np.inf  # a row that sees nothing
    case("mask", dict(qkv(), mask=mask), ", qk_matmul_output_mode = 2", dict(qk_matmul_output_mode=2), four)
    case("mask_of_bools", dict(qkv(), mask=g.integers(0, 2, 2, 1, 3, 5) > 0), ", qk_matmul_output_mode = 3", dict(qk_matmul_output_mode=3), four)
    case("cap", dict(qkv(), mask=g.normal(4, 3, 5)), ", softcap = 1.5, qk_matmul_output_mode = 1", dict(softcap=1.5, qk_matmul_output_mode=1), four,
         slope="q")
    past = dict(pk0=g.normal(2, 2, 4, 6), pv0=g.normal(2, 2, 4, 4))
    case("past", dict(qkv(), mask=None, **past), ", is_causal = 1", dict(is_causal=1), four)
    case("past_mask", dict(qkv(), mask=g.normal(3, 9), **past), "", {}, four)
    lengths = np.array([5, 2])
    case("lengths", dict(qkv(), mask=None, pk0=None, pv0=None, n=lengths), "")
    case("lengths_causal", dict(qkv(), mask=g.integers(0, 3, 2, 1, 3, 5) > 0, pk0=None, pv0=None, n=lengths), ", is_causal = 1", dict(is_causal=1))
    case("window", qkv(t=6, u=6), ", left_window_size = 2, right_window_size = 1", dict(left_window_size=2, right_window_size=1))
    case("window_past", dict(qkv(), mask=None, **past), ", is_causal = 1, left_window_size = 3", dict(is_causal=1, left_window_size=3), four)
    flat = dict(q=g.normal(2, 3, 24), k=g.normal(2, 5, 12), v=g.normal(2, 5, 8))
    case("side_by_side", flat, ", q_num_heads = 4, kv_num_heads = 2, is_causal = 1", dict(q_num_heads=4, kv_num_heads=2, is_causal=1), four, slope="k")
    case("half", {k: v.astype(np.float16) for k, v in qkv().items()}, "")

    angles = g.normal(7, 3)
    caches = dict(c=np.cos(angles), s=np.sin(angles), at=g.integers(0, 7, 2, 5))
    for name, attributes in dict(halves={}, interleaved=dict(interleaved=1), partial=dict(rotary_embedding_dim=6)).items():
        d = 8 if name == "partial" else 6
        tl = "".join(f", {k} = {v}" for k, v in attributes.items())
        g.case(f"rotary_{name}", "RotaryEmbedding", dict(x=g.normal(2, 3, 5, d), **caches), f"onnx.rotary_embedding(x, c, s, at{tl})", attributes,
               oracle=REFERENCE, slope="x" if name == "partial" else None)
        g.case(f"rotary_{name}_flat", "RotaryEmbedding", dict(x=g.normal(2, 5, 3 * d), c=np.cos(g.normal(2, 5, 3)), s=np.sin(g.normal(2, 5, 3))),
               f"onnx.rotary_embedding(x, c, s, num_heads = 3{tl})", dict(num_heads=3, **attributes), oracle=REFERENCE)
    return g
