"""Values and gradients of convolutions, pooling, norms, resizing and layers in both directions by PyTorch, for
tests/golden/run/nn_convolutions.tl, nn_pooling.tl and nn_resizing.tl: writes windows.npz beside this file.

Run once: python3 windows.py (numpy, torch). Names are CASE.VALUE; d-names are gradients of sum(y * weight), f64 throughout.
"""
import os

import numpy as np
import torch
import torch.nn.functional as F

torch.manual_seed(2)
torch.set_default_dtype(torch.float64)
out = {}


def rnd(*shape):
    return torch.randn(*shape)


def record(case, inputs, f):
    """Stores inputs, f's result `y`, a weight and the gradients of sum(y * weight) in the inputs; `at` where f gives positions, too."""
    inputs = {k: v.clone().requires_grad_(True) for k, v in inputs.items()}
    y = f(**inputs)
    if isinstance(y, tuple):
        y, at = y
        out[f"{case}.at"] = at.numpy()
    weight = rnd(*y.shape)
    (y * weight).sum().backward()
    for k, v in inputs.items():
        out[f"{case}.{k}"] = v.detach().numpy()
        out[f"{case}.d{k}"] = v.grad.numpy()
    out[f"{case}.y"] = y.detach().numpy()
    out[f"{case}.weight"] = weight.numpy()


def padded(x, *ends):
    return F.pad(x, ends)  # of the last axis first


record("conv1d_groups", dict(x=rnd(2, 4, 9), w=rnd(6, 2, 3), b=rnd(6)), lambda x, w, b: F.conv1d(x, w, b, 2, 1, 2, 2))
record("conv1d_ends", dict(x=rnd(2, 2, 6), w=rnd(3, 2, 3), b=rnd(3)), lambda x, w, b: F.conv1d(padded(x, 2, 1), w, b))
record("conv2d_groups", dict(x=rnd(2, 4, 7, 6), w=rnd(4, 2, 3, 2), b=rnd(4)),
       lambda x, w, b: F.conv2d(padded(x, 1, 0, 2, 1), w, b, (2, 1), 0, (1, 2), 2))
record("conv2d_depthwise", dict(x=rnd(2, 3, 5, 6), w=rnd(6, 1, 3, 3), b=rnd(6)), lambda x, w, b: F.conv2d(x, w, b, 1, 1, 1, 3))
record("conv2d_dilated", dict(x=rnd(1, 2, 8, 9), w=rnd(3, 2, 3, 3), b=rnd(3)), lambda x, w, b: F.conv2d(x, w, b, 2, (2, 1), 2))
record("conv3d", dict(x=rnd(2, 2, 4, 5, 6), w=rnd(3, 2, 2, 3, 2), b=rnd(3)), lambda x, w, b: F.conv3d(x, w, b, (1, 2, 1), (0, 1, 1)))
record("conv3d_groups", dict(x=rnd(1, 4, 4, 5, 5), w=rnd(4, 2, 2, 2, 2), b=rnd(4)), lambda x, w, b: F.conv3d(x, w, b, 1, 0, (2, 1, 1), 2))
record("conv_transpose1d", dict(x=rnd(2, 3, 4), w=rnd(3, 2, 3), b=rnd(2)), lambda x, w, b: F.conv_transpose1d(x, w, b, 2, 1, 1))
record("conv_transpose2d", dict(x=rnd(2, 3, 4, 3), w=rnd(3, 2, 3, 2), b=rnd(2)), lambda x, w, b: F.conv_transpose2d(x, w, b))
record("conv_transpose2d_groups", dict(x=rnd(2, 4, 3, 4), w=rnd(4, 3, 3, 3), b=rnd(6)),
       lambda x, w, b: F.conv_transpose2d(x, w, b, (2, 3), (1, 0), (1, 2), 2, (1, 2)))
record("conv_transpose3d", dict(x=rnd(1, 2, 3, 2, 3), w=rnd(2, 3, 2, 3, 2), b=rnd(3)),
       lambda x, w, b: F.conv_transpose3d(x, w, b, (2, 1, 2), (0, 1, 1), (1, 0, 0)))

record("max_pool1d", dict(x=rnd(2, 2, 7)), lambda x: F.max_pool1d(x, 3, 2, 1, 2, return_indices=True))
record("max_pool2d", dict(x=rnd(2, 2, 5, 6)), lambda x: F.max_pool2d(x, (2, 3), (1, 2), (1, 1), (2, 1), return_indices=True))
record("max_pool2d_ceil", dict(x=rnd(2, 2, 5, 6)), lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True, return_indices=True))
record("max_pool2d_low", dict(x=rnd(1, 2, 1, 4)), lambda x: F.max_pool2d(x, 2, 2, ceil_mode=True, return_indices=True))
record("max_pool2d_drop", dict(x=rnd(1, 1, 3, 3)), lambda x: F.max_pool2d(x, 2, 2, 1, ceil_mode=True, return_indices=True))
record("max_pool3d", dict(x=rnd(1, 2, 4, 5, 5)), lambda x: F.max_pool3d(x, (2, 2, 3), 2, (0, 1, 1), ceil_mode=True, return_indices=True))
record("avg_pool1d", dict(x=rnd(2, 2, 7)), lambda x: F.avg_pool1d(x, 3, 2, 1, False, False))
record("avg_pool2d", dict(x=rnd(2, 2, 5, 6)), lambda x: F.avg_pool2d(x, (3, 2), (2, 1), (1, 0)))
record("avg_pool2d_ceil", dict(x=rnd(2, 2, 5, 6)), lambda x: F.avg_pool2d(x, 3, 2, 1, True, True))
record("avg_pool2d_bare", dict(x=rnd(2, 2, 5, 6)), lambda x: F.avg_pool2d(x, 3, 2, 1, True, False))
record("avg_pool3d", dict(x=rnd(1, 2, 4, 5, 5)), lambda x: F.avg_pool3d(x, (2, 3, 2), 2, (1, 1, 0), True, False))

record("group_norm", dict(x=rnd(2, 6, 3, 2), w=rnd(6), b=rnd(6)), lambda x, w, b: F.group_norm(x, 3, w, b))
record("instance_norm", dict(x=rnd(2, 3, 5), w=rnd(3), b=rnd(3)), lambda x, w, b: F.instance_norm(x, weight=w, bias=b))
record("lrn", dict(x=rnd(2, 6, 3) * 3), lambda x: F.local_response_norm(x, 3, 0.3, 0.6, 1.5))

image = dict(x=rnd(1, 2, 4, 5))
record("resize_nearest", image, lambda x: F.interpolate(x, (7, 3), mode="nearest"))
record("resize_nearest_exact", image, lambda x: F.interpolate(x, (7, 3), mode="nearest-exact"))
record("resize_linear", image, lambda x: F.interpolate(x, (7, 3), mode="bilinear"))
record("resize_linear_corners", image, lambda x: F.interpolate(x, (7, 3), mode="bilinear", align_corners=True))
record("resize_cubic", image, lambda x: F.interpolate(x, (7, 3), mode="bicubic"))
record("resize_cubic_corners", image, lambda x: F.interpolate(x, (7, 9), mode="bicubic", align_corners=True))
record("resize_line", dict(x=rnd(2, 2, 5)), lambda x: F.interpolate(x, 8, mode="linear"))
record("resize_volume", dict(x=rnd(1, 2, 2, 3, 4)), lambda x: F.interpolate(x, (3, 5, 3), mode="trilinear", align_corners=True))

for name, x in dict(asinh=rnd(9) * 4, acosh=rnd(9).abs() * 4 + 1, atanh=torch.rand(9) * 1.9 - 0.95).items():
    record(name, dict(x=x), getattr(torch, name))

for kind in ("RNN", "GRU", "LSTM"):
    layer = getattr(torch.nn, kind)(3, 2, bidirectional=True)
    for name, p in layer.named_parameters():
        if name.startswith("bias_hh"):
            p.data.zero_()  # tl has one bias
        else:
            case = kind.lower() + (".back_" if name.endswith("reverse") else ".")
            out[case + dict(weight_ih="wx", weight_hh="wh", bias_ih="b")[name[:name.index("_l0")]]] = p.detach().numpy().T
    h0, c0 = rnd(2, 2, 2), rnd(2, 2, 2)
    out[f"{kind.lower()}.h0"], out[f"{kind.lower()}.c0"] = h0.numpy(), c0.numpy()

    def run(x):
        y, last = layer(x, (h0, c0) if kind == "LSTM" else h0)
        return torch.cat([y.flatten(), (torch.cat(last) if kind == "LSTM" else last).flatten()])

    record(kind.lower(), dict(x=rnd(4, 2, 3)), run)

out = {k: np.ascontiguousarray(v) for k, v in out.items()}
np.savez_compressed(os.path.join(os.path.dirname(__file__), "windows.npz"), **out)
