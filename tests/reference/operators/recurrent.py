from values import REFERENCE, RUNTIME, Group
import numpy as np


def group():
    g = Group("recurrent", "Recurrent layers", ("onnx", "nn"))
    t, n, i, h = 5, 3, 2, 4

    def layer(name, op, gates, call, d=1, b=False, lens=False, start=False, p=False, layout=0, attributes=None, oracle=RUNTIME, slope=None):
        inputs = dict(x=g.normal(n, t, i) if layout else g.normal(t, n, i), w=g.normal(d, gates * h, i), r=g.normal(d, gates * h, h) * 0.5,
                      b=g.normal(d, 2 * gates * h) if b else None, lens=np.array([5, 2, 3], np.int32) if lens else None)
        for state in ("h0", "c0") if op == "LSTM" else ("h0",):
            inputs[state] = g.normal(*((n, d, h) if layout else (d, n, h))) if start else None
        if op == "LSTM":
            inputs["p"] = g.normal(d, 3 * h) if p else None
        given = ", ".join(k if v is not None else "none" for k, v in inputs.items())
        while given.endswith(", none"):
            given = given[:-6]
        outputs = ("y", "y_h", "y_c") if op == "LSTM" else ("y", "y_h")
        g.case(name, op, inputs, f"onnx.{op.lower()}({given}{call})",
               dict(hidden_size=h, layout=layout, **(attributes or {})), outputs, oracle, slope=slope)

    reverse, both = dict(direction="reverse"), dict(direction="bidirectional")
    layer("lstm_plain", "LSTM", 4, "")
    layer("lstm_all", "LSTM", 4, ', direction = "bidirectional"', 2, True, True, True, True, attributes=both, slope=("w", "p"))
    layer("lstm_reverse", "LSTM", 4, ', direction = "reverse"', b=True, lens=True, start=True, attributes=reverse)
    layer("lstm_layout", "LSTM", 4, ", layout = 1", b=True, start=True, layout=1, oracle=REFERENCE)
    layer("lstm_clip", "LSTM", 4, ", clip = 0.4, input_forget = 1", b=True, attributes=dict(clip=0.4, input_forget=1))
    layer("lstm_functions", "LSTM", 4, ", activations = (|x| nn.hard_sigmoid(x, 0.3, 0.4), |x| nn.leaky_relu(x, 0.1), nn.softsign)", b=True,
          attributes=dict(activations=["HardSigmoid", "LeakyRelu", "Softsign"], activation_alpha=[0.3, 0.1], activation_beta=[0.4]))
    layer("gru_plain", "GRU", 3, "")
    layer("gru_all", "GRU", 3, ', direction = "bidirectional"', 2, True, True, True, attributes=both, slope="r")
    layer("gru_before_reset", "GRU", 3, ', direction = "reverse", linear_before_reset = 1', 1, True, True, True,
          attributes=dict(linear_before_reset=1, **reverse), slope="r")
    layer("gru_clip", "GRU", 3, ", clip = 0.4", b=True, attributes=dict(clip=0.4))
    layer("gru_functions", "GRU", 3, ', direction = "bidirectional", activations = (sigmoid, |x| onnx.affine(x, 0.5, 0.1)), '
          "activations_back = (sigmoid, |x| onnx.scaled_tanh(x, 0.5, 2.0))", 2, True,
          attributes=dict(activations=["Sigmoid", "Affine", "Sigmoid", "ScaledTanh"], activation_alpha=[0.5, 0.5], activation_beta=[0.1, 2.0], **both))
    layer("rnn_plain", "RNN", 1, "")
    layer("rnn_all", "RNN", 1, ', direction = "bidirectional"', 2, True, True, True, attributes=both, slope="r")
    layer("rnn_relu", "RNN", 1, ", activations = (relu,), clip = 0.6", b=True, attributes=dict(activations=["Relu"], clip=0.6))
    return g
