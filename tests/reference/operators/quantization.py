from values import REFERENCE, Group
import numpy as np


def group():
    g = Group("quantization", "Quantized tensors, products and convolutions")
    x = g.normal(3, 8) * 40
    for t in (np.uint8, np.int8, np.uint16, np.int16):
        g.case(f"quantize_{t.__name__}", "QuantizeLinear", dict(x=x, s=np.float32(0.3), z=t(7)), "onnx.quantize_linear(x, s, z)")
    x[0] = [0.5, 1.5, 2.5, -0.5, -1.5, 1e9, -1e9, 0]
    g.case("quantize_halves", "QuantizeLinear", dict(x=x, s=np.float32(1), z=np.uint8(1)), "onnx.quantize_linear(x, s, z)")
    g.case("quantize_untyped", "QuantizeLinear", dict(x=x, s=np.float32(2)), "onnx.quantize_linear(x, s)")
    by_axis = dict(x=g.normal(2, 3, 5) * 40, s=np.float32([0.3, 0.5, 0.7]), z=np.int8([3, -5, 0]))
    g.case("quantize_axis", "QuantizeLinear", by_axis, "onnx.quantize_linear(x, s, z, axis = -2)", dict(axis=-2))
    blocks = dict(x=g.normal(4, 5) * 40, s=np.abs(g.normal(2, 5)) + 0.1, z=g.integers(0, 9, 2, 5, dtype=np.uint8))
    g.case("quantize_blocks", "QuantizeLinear", blocks, "onnx.quantize_linear(x, s, z, axis = 0, block_size = 2)",
           dict(axis=0, block_size=2))
    g.case("quantize_half", "QuantizeLinear", dict(x=g.normal(9, dtype=np.float16), s=np.float16(0.03), z=np.int8(1)),
           "onnx.quantize_linear(x, s, z)", oracle=REFERENCE)
    for t in (np.uint8, np.int8, np.uint16, np.int16):
        v = g.integers(0, 100, 3, 8, dtype=t)
        g.case(f"dequantize_{t.__name__}", "DequantizeLinear", dict(x=v, s=np.float32(0.3), z=t(7)), "onnx.dequantize_linear(x, s, z)")
    v = g.integers(-2**31, 2**31, 9, dtype=np.int32)
    g.case("dequantize_i32", "DequantizeLinear", dict(x=v, s=np.float32(0.3)), "onnx.dequantize_linear(x, s)")
    by_axis = dict(x=g.integers(-99, 99, 2, 3, 5, dtype=np.int8), s=np.float32([0.3, 0.5, 0.7]), z=np.int8([3, -5, 0]))
    g.case("dequantize_axis", "DequantizeLinear", by_axis, "onnx.dequantize_linear(x, s, z)")
    blocks["x"] = g.integers(0, 200, 4, 5, dtype=np.uint8)
    g.case("dequantize_blocks", "DequantizeLinear", blocks, "onnx.dequantize_linear(x, s, z, axis = 0, block_size = 2)",
           dict(axis=0, block_size=2))
    for name, x in dict(mixed=g.normal(3, 4) * 9, above=np.abs(g.normal(6)) + 1, below=-np.abs(g.normal(6)), zeros=np.zeros(3, np.float32)).items():
        g.case(f"dynamic_{name}", "DynamicQuantizeLinear", dict(x=x), "onnx.dynamic_quantize_linear(x)", outputs=("y", "s", "z"))

    u8 = lambda *shape: g.integers(0, 256, *shape, dtype=np.uint8)
    i8 = lambda *shape: g.integers(-128, 128, *shape, dtype=np.int8)
    g.case("matmul_integer", "MatMulInteger", dict(a=u8(2, 3, 300), b=i8(300, 5), za=np.uint8(9), zb=np.int8(-4)),
           "onnx.matmul_integer(a, b, za, zb)")
    g.case("matmul_integer_plain", "MatMulInteger", dict(a=u8(3, 7), b=u8(7, 5)), "onnx.matmul_integer(a, b)")
    g.case("matmul_integer_columns", "MatMulInteger", dict(a=u8(3, 7), b=i8(7, 5), za=np.uint8(9), zb=i8(5)),
           "onnx.matmul_integer(a, b, za, zb)")
    g.case("matmul_integer_rows", "MatMulInteger", dict(a=u8(3, 7), b=u8(7, 5), za=u8(3, 1)), "onnx.matmul_integer(a, b, za)", oracle=REFERENCE)
    scale = lambda *shape: (np.abs(g.normal(*shape)) * 0.1 + 0.01).astype(np.float32)
    g.case("qlinear_matmul", "QLinearMatMul", dict(a=u8(2, 3, 20), sa=scale(), za=np.uint8(99), b=i8(20, 5), sb=scale(5), zb=np.zeros(5, np.int8),
                                                   sy=np.float32(0.9), zy=np.uint8(120)),
           "onnx.qlinear_matmul(a, sa, za, b, sb, zb, sy, zy)")
    g.case("conv_integer", "ConvInteger", dict(x=u8(2, 4, 7, 6), w=u8(6, 2, 3, 2), zx=np.uint8(100), zw=np.uint8(90)),
           "onnx.conv_integer(x, w, zx, zw, stride = (2, 1), padding = ((1, 0), (2, 1)), dilation = (1, 2), groups = 2)",
           dict(strides=[2, 1], pads=[1, 2, 0, 1], dilations=[1, 2], group=2))
    g.case("conv_integer_line", "ConvInteger", dict(x=u8(2, 3, 9), w=u8(4, 3, 2)), "onnx.conv_integer(x, w, stride = 2)", dict(strides=[2]),
           oracle=REFERENCE)
    conv = dict(x=u8(2, 3, 7, 6), sx=np.float32(0.07), zx=np.uint8(100), w=i8(4, 3, 3, 3), sw=scale(4), zw=np.zeros(4, np.int8),
                sy=np.float32(0.8), zy=np.uint8(110), b=g.integers(-5000, 5000, 4, dtype=np.int32))
    g.case("qlinear_conv", "QLinearConv", conv, "onnx.qlinear_conv(x, sx, zx, w, sw, zw, sy, zy, b, padding = 1)", dict(pads=[1, 1, 1, 1]))
    return g
