"""Values and gradients of layers, losses and optimizers by PyTorch, for tests/golden/run/nn_reference.tl: writes layers.npz beside this file.

Run once: python3 layers.py (numpy, torch). Names are CASE.VALUE; d-names are gradients of sum(y * weight), f64 throughout.
"""
import os

import numpy as np
import torch
import torch.nn.functional as F

torch.manual_seed(1)
torch.set_default_dtype(torch.float64)
out = {}


def rnd(*shape):
    return torch.randn(*shape)


def record(case, inputs, f):
    """Stores inputs, f's result `y`, a weight and the gradients of sum(y * weight) in the floating-point inputs."""
    inputs = {k: v.clone().requires_grad_(v.is_floating_point()) for k, v in inputs.items()}
    y = f(**inputs)
    weight = rnd(*y.shape)
    (y * weight).sum().backward()
    for k, v in inputs.items():
        out[f"{case}.{k}"] = v.detach().numpy()
        if v.is_floating_point():
            out[f"{case}.d{k}"] = v.grad.numpy()
    out[f"{case}.y"] = y.detach().numpy()
    out[f"{case}.weight"] = weight.numpy()


record("linear", dict(x=rnd(2, 3, 4), w=rnd(4, 5), b=rnd(5)), lambda x, w, b: x @ w + b)
record("conv1d", dict(x=rnd(2, 3, 9), w=rnd(4, 3, 3), b=rnd(4)), lambda x, w, b: F.conv1d(x, w, b, stride=2, padding=1))
record("conv2d", dict(x=rnd(2, 3, 6, 5), w=rnd(4, 3, 3, 2), b=rnd(4)), lambda x, w, b: F.conv2d(x, w, b))
record("conv2d_strided", dict(x=rnd(2, 2, 7, 6), w=rnd(3, 2, 3, 3), b=rnd(3)),
       lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1))
record("max_pool2d", dict(x=rnd(2, 2, 5, 6)), lambda x: F.max_pool2d(x, 2))
record("max_pool2d_strided", dict(x=rnd(2, 2, 7, 6)), lambda x: F.max_pool2d(x, 3, stride=2))
record("avg_pool2d", dict(x=rnd(2, 2, 5, 6)), lambda x: F.avg_pool2d(x, 2))
record("layer_norm", dict(x=rnd(2, 3, 5), w=rnd(5), b=rnd(5)), lambda x, w, b: F.layer_norm(x, (5,), w, b))
record("rms_norm", dict(x=rnd(2, 3, 5), w=rnd(5)), lambda x, w: F.rms_norm(x, (5,), w, eps=1e-6))
mean, variance = rnd(3), rnd(3).abs() + 0.5
out["batch_norm.mean"], out["batch_norm.variance"] = mean.numpy(), variance.numpy()
after_mean, after_variance = mean.clone(), variance.clone()
batch_norm_inputs = dict(x=rnd(4, 3, 2, 2), w=rnd(3), b=rnd(3))
record("batch_norm", batch_norm_inputs,
       lambda x, w, b: F.batch_norm(x, after_mean, after_variance, w, b, training=True))
out["batch_norm.after_mean"], out["batch_norm.after_variance"] = after_mean.numpy(), after_variance.numpy()
record("batch_norm_still", batch_norm_inputs, lambda x, w, b: F.batch_norm(x, mean, variance, w, b, training=False))
record("embedding", dict(i=torch.tensor([[1, 4, 1], [0, 2, 4]]), w=rnd(5, 3)), lambda i, w: F.embedding(i, w))
record("attention", dict(q=rnd(2, 4, 3), k=rnd(2, 5, 3), v=rnd(2, 5, 6)),
       lambda q, k, v: F.scaled_dot_product_attention(q, k, v))
record("attention_causal", dict(q=rnd(2, 4, 3), k=rnd(2, 4, 3), v=rnd(2, 4, 6)),
       lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True))


def multi_head(x, wq, bq, wk, bk, wv, bv, wo, bo):
    y, _ = F.multi_head_attention_forward(
        x.transpose(0, 1), x.transpose(0, 1), x.transpose(0, 1), 6, 2,
        torch.cat([wq.T, wk.T, wv.T]), torch.cat([bq, bk, bv]), None, None, False, 0.0, wo.T, bo, training=False,
        need_weights=False, attn_mask=torch.ones(4, 4).triu(1).bool())
    return y.transpose(0, 1)


record("multi_head", dict(x=rnd(2, 4, 6), wq=rnd(6, 6), bq=rnd(6), wk=rnd(6, 6), bk=rnd(6), wv=rnd(6, 6), bv=rnd(6),
                          wo=rnd(6, 6), bo=rnd(6)), multi_head)


def recurrent(kind, gates):
    """A layer of PyTorch's on weights as tl has them: of all gates side by side."""
    def f(x, wx, wh, b, h0, bn=None, c0=None):
        layer = kind(wx.shape[0], h0.shape[1])
        for p in layer.parameters():
            p.requires_grad_(False)
        n = h0.shape[1]
        bh = torch.zeros(gates * n)
        if bn is not None:
            bh = torch.cat([torch.zeros(2 * n), bn])
        params = dict(weight_ih_l0=wx.T, weight_hh_l0=wh.T, bias_ih_l0=b, bias_hh_l0=bh)
        state = h0[None] if c0 is None else (h0[None], c0[None])
        y, last = torch.func.functional_call(layer, params, (x, state))
        last = last if c0 is None else torch.stack(last)
        return torch.cat([y.flatten(), last.flatten()])
    return f


record("rnn", dict(x=rnd(4, 2, 3), wx=rnd(3, 5), wh=rnd(5, 5), b=rnd(5), h0=rnd(2, 5)), recurrent(torch.nn.RNN, 1))
record("lstm", dict(x=rnd(4, 2, 3), wx=rnd(3, 20), wh=rnd(5, 20), b=rnd(20), h0=rnd(2, 5), c0=rnd(2, 5)),
       recurrent(torch.nn.LSTM, 4))
record("gru", dict(x=rnd(4, 2, 3), wx=rnd(3, 15), wh=rnd(5, 15), b=rnd(15), h0=rnd(2, 5), bn=rnd(5)),
       recurrent(torch.nn.GRU, 3))

pair = dict(x=rnd(4, 3), target=rnd(4, 3))
for name, f in dict(mse=F.mse_loss, l1=F.l1_loss).items():
    record(name, pair, lambda x, target, f=f: f(x, target, reduction="none").mean(1))
record("huber", pair, lambda x, target: F.huber_loss(x, target, reduction="none", delta=0.7).mean(1))
record("cross_entropy", dict(x=rnd(4, 3) * 3, label=torch.tensor([2, 0, 1, 1])),
       lambda x, label: F.cross_entropy(x, label, reduction="none"))
record("binary_cross_entropy", dict(x=rnd(4, 3) * 3, target=torch.rand(4, 3)),
       lambda x, target: F.binary_cross_entropy_with_logits(x, target, reduction="none").mean(1))

# Five steps of each optimizer on given gradients, from one start.
start, gradients = rnd(3), rnd(5, 3)
out["optim.start"], out["optim.gradients"] = start.numpy(), gradients.numpy()
for name, make in dict(
    sgd=lambda p: torch.optim.SGD(p, lr=0.1),
    momentum=lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    adagrad=lambda p: torch.optim.Adagrad(p, lr=0.1),
    rmsprop=lambda p: torch.optim.RMSprop(p, lr=0.1),
    adam=lambda p: torch.optim.Adam(p, lr=0.1),
    adamw=lambda p: torch.optim.AdamW(p, lr=0.1, weight_decay=0.01),
).items():
    p = start.clone().requires_grad_(True)
    optimizer = make([p])
    for g in gradients:
        p.grad = g.clone()
        optimizer.step()
    out[f"optim.{name}"] = p.detach().numpy()

out = {k: np.ascontiguousarray(v) for k, v in out.items()}
np.savez_compressed(os.path.join(os.path.dirname(__file__), "layers.npz"), **out)
