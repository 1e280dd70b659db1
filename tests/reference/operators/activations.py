from values import REFERENCE, Group
import numpy as np


def group():
    g = Group("activations", "Activations and remainders", ("nn",))
    x = lambda: g.normal(3, 7) * 2
    for name, op, attributes, call in [
        ("elu", "Elu", dict(alpha=0.7), "nn.elu(x, 0.7)"),
        ("celu", "Celu", dict(alpha=1.5), "nn.celu(x, 1.5)"),
        ("selu", "Selu", {}, "nn.selu(x)"),
        ("selu_other", "Selu", dict(alpha=1.2, gamma=0.8), "nn.selu(x, 1.2, 0.8)"),
        ("leaky_relu", "LeakyRelu", dict(alpha=0.3), "nn.leaky_relu(x, 0.3)"),
        ("hard_sigmoid", "HardSigmoid", dict(alpha=0.3, beta=0.4), "nn.hard_sigmoid(x, 0.3, 0.4)"),
        ("hard_swish", "HardSwish", {}, "nn.hard_swish(x)"),
        ("mish", "Mish", {}, "nn.mish(x)"),
        ("softsign", "Softsign", {}, "nn.softsign(x)"),
        ("thresholded_relu", "ThresholdedRelu", dict(alpha=0.6), "nn.thresholded_relu(x, 0.6)"),
        ("shrink", "Shrink", dict(bias=0.2, lambd=0.9), "nn.shrink(x, 0.2, 0.9)"),
        ("swish", "Swish", dict(alpha=0.6), "nn.swish(x, 0.6)"),
        ("gelu", "Gelu", {}, "gelu(x)"),
        ("gelu_tanh", "Gelu", dict(approximate="tanh"), "nn.gelu_tanh(x)"),
    ]:
        g.case(name, op, dict(x=x()), call, attributes, slope="x" if name in ("celu", "selu", "mish", "swish", "gelu_tanh") else None, oracle=REFERENCE if op == "Swish" else "onnxruntime")
    g.case("prelu", "PRelu", dict(x=g.normal(2, 3, 4), slope=g.normal(3, 1)), "nn.prelu(x, slope)", slope=("x", "slope"))
    g.case("half", "Elu", dict(x=g.normal(9, dtype=np.float16)), "nn.elu(x, 0.7)", dict(alpha=0.7))
    y = np.where(g.integers(0, 2, 5) > 0, 1.3, -0.7).astype(np.float32)
    g.case("fmod", "Mod", dict(x=g.normal(4, 5) * 9, divisor=y), "fmod(x, divisor)", dict(fmod=1))
    y = np.array([3, -5, 7, -2, -128], np.int8)
    g.case("fmod_integers", "Mod", dict(x=g.integers(-128, 128, 4, 5, dtype=np.int8), divisor=y), "fmod(x, divisor)", dict(fmod=1), oracle=REFERENCE)
    g.case("mod_integers", "Mod", dict(x=g.integers(-128, 128, 4, 5, dtype=np.int8), divisor=y), "x % divisor", oracle=REFERENCE)
    return g
