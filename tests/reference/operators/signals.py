from values import REFERENCE, RUNTIME, Group
import numpy as np


def group():
    g = Group("signals", "Transforms of signals, windows, and losses of classes")
    for n in (1, 7, 12, 30):
        g.case(f"dft_{n}", "DFT", dict(x=g.normal(2, n, 2)), "onnx.dft(x)", slope="x" if n == 12 else None)
        g.case(f"dft_inverse_{n}", "DFT", dict(x=g.normal(2, n, 2)), "onnx.dft(x, inverse = 1)", dict(inverse=1))
    g.case("dft_real", "DFT", dict(x=g.normal(2, 9, 3, 1), _n=None, _axis=np.int64(1)), "onnx.dft(x, axis = 1, onesided = 1)", dict(onesided=1),
           oracle=REFERENCE)
    g.case("dft_long", "DFT", dict(x=g.normal(2, 5, 1), n=np.int64(8)), "onnx.dft(x, n)", oracle=REFERENCE)
    g.case("dft_short", "DFT", dict(x=g.normal(2, 5, 2), n=np.int64(4)), "onnx.dft(x, n)", oracle=REFERENCE)
    half = np.fft.rfft(g.normal(3, 10)).astype(np.complex64)
    half = np.stack([half.real, half.imag], -1)
    g.case("dft_back", "DFT", dict(x=half), "onnx.dft(x, inverse = 1, onesided = 1)", dict(inverse=1, onesided=1), oracle=REFERENCE, slope="x")
    g.case("dft_back_odd", "DFT", dict(x=half, n=np.int64(9)), "onnx.dft(x, n, inverse = 1, onesided = 1)", dict(inverse=1, onesided=1), oracle=REFERENCE)
    signal = dict(x=g.normal(2, 20, 1), step=np.int64(3), w=np.abs(g.normal(8)))
    g.case("stft", "STFT", signal, "onnx.stft(x, step, w)", oracle=REFERENCE, slope=("x", "w"))
    g.case("stft_whole", "STFT", dict(x=g.normal(2, 20, 1), step=np.int64(5), w=None, n=np.int64(6)), "onnx.stft(x, step, none, n, onesided = 0)",
           dict(onesided=0), oracle=REFERENCE)
    for name in ("Hann", "Hamming", "Blackman"):
        for periodic in (0, 1):
            g.case(f"{name.lower()}_{periodic}", name + "Window", dict(n=np.int64(9)), f"onnx.{name.lower()}_window(n, {periodic})", dict(periodic=periodic))
    mel = dict(bins=np.int64(8), n=np.int64(64), rate=np.int64(8000), low=np.float32(20), high=np.float32(3800))
    g.case("mel", "MelWeightMatrix", mel, "onnx.mel_weight_matrix(bins, n, rate, low, high)")
    mel["bins"] = np.int64(30)  # some triangles are narrower than a frequency
    g.case("mel_narrow", "MelWeightMatrix", mel, "onnx.mel_weight_matrix(bins, n, rate, low, high)")

    x, t = g.normal(3, 5, 4), g.integers(0, 5, 3, 4)
    w = np.abs(g.normal(5)) + 0.1
    for reduction in ("none", "sum", "mean"):
        for ignored in (None, 2):
            kept = dict(reduction=reduction, **({} if ignored is None else dict(ignore_index=ignored)))
            tl = f'reduction = "{reduction}"' + ("" if ignored is None else f", ignore_index = {ignored}")
            end = "" if ignored is None else "_ignored"
            g.case(f"likelihood_{reduction}{end}", "NegativeLogLikelihoodLoss", dict(x=x, t=t, w=w), f"onnx.negative_log_likelihood_loss(x, t, w, {tl})",
                   kept, oracle=REFERENCE)
            g.case(f"entropy_{reduction}{end}", "SoftmaxCrossEntropyLoss", dict(x=x, t=t, w=w), f"onnx.softmax_cross_entropy_loss(x, t, w, {tl})",
                   kept, ("y", "p"), oracle=REFERENCE, slope=("x", "w") if reduction == "mean" and ignored else None)
    t[0, 0] = -7  # no class at all
    g.case("likelihood_outside", "NegativeLogLikelihoodLoss", dict(x=x, t=t), "onnx.negative_log_likelihood_loss(x, t, ignore_index = -7)",
           dict(ignore_index=-7), oracle=REFERENCE)
    g.case("entropy_flat", "SoftmaxCrossEntropyLoss", dict(x=g.normal(6, 5), t=g.integers(0, 5, 6)), "onnx.softmax_cross_entropy_loss(x, t)[0]",
           oracle=REFERENCE)
    return g
