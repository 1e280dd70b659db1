"""Losses of the first 100 steps of samples/mlp.tl, lenet.tl and gpt.tl by PyTorch, for curves.tl: writes curves.npz beside this file.

Run once: python3 curves.py (numpy, torch). Both start from the same weights and data, made by fill() here and there.
"""
import os

import numpy as np
import torch
import torch.nn.functional as F


def fill(*shape):
    """Numbers from -1 to 1 without an order that a model could see; whole numbers only, so that they are exact everywhere."""
    i = np.arange(int(np.prod(shape)), dtype=np.int64)
    return ((i * 7919 + i * i % 10007 * 31) % 10007 / 10007 * 2 - 1).astype(np.float32).reshape(shape)


def weights(*shape):
    fan = shape[0] + int(np.prod(shape[1:]))
    return torch.tensor(np.float32(np.sqrt(6.0 / fan)) * fill(*shape)).requires_grad_()


def const(value, n):
    return torch.full((n,), float(value), requires_grad=True)


def curve(params, optimizer, loss):
    optimizer = optimizer(params)
    losses = []
    for step in range(100):
        optimizer.zero_grad()
        l = loss(step)
        l.backward()
        optimizer.step()
        losses.append(l.item())
    return np.array(losses)


images = torch.tensor(fill(1600, 28, 28))
marks = torch.tensor(fill(10, 28, 28)[::-1].copy())


def batch(step):
    at = torch.arange(16) + 16 * step
    y = at * 7 % 10
    return images[at] + marks[y], y


def mlp():
    w1, b1, w2, b2 = weights(784, 256), const(0, 256), weights(256, 10), const(0, 10)

    def loss(step):
        x, y = batch(step)
        return F.cross_entropy(F.relu(x.reshape(16, 784) @ w1 + b1) @ w2 + b2, y)
    return curve([w1, b1, w2, b2], lambda p: torch.optim.SGD(p, lr=0.01), loss)


def lenet():
    c1, d1, c2, d2 = weights(20, 1, 3, 3), const(0, 20), weights(50, 20, 5, 5), const(0, 50)
    w1, b1, w2, b2 = weights(800, 128), const(0, 128), weights(128, 10), const(0, 10)

    def loss(step):
        x, y = batch(step)
        x = F.avg_pool2d(F.relu(F.conv2d(x[:, None], c1, d1)), 2)
        x = F.avg_pool2d(F.relu(F.conv2d(x, c2, d2)), 2)
        return F.cross_entropy(F.relu(x.flatten(1) @ w1 + b1) @ w2 + b2, y)
    return curve([c1, d1, c2, d2, w1, b1, w2, b2], lambda p: torch.optim.Adam(p, lr=0.001), loss)


def gpt(v=20, t=16, d=32, heads=4):
    letters, places = weights(v, d), weights(t, d)
    layers = [dict(n1=const(1, d), m1=const(0, d), q=weights(d, d), qb=const(0, d), k=weights(d, d), kb=const(0, d),
                   v=weights(d, d), vb=const(0, d), o=weights(d, d), ob=const(0, d), n2=const(1, d), m2=const(0, d),
                   up=weights(d, 4 * d), upb=const(0, 4 * d), down=weights(4 * d, d), downb=const(0, d))
              for _ in range(3)]
    n, m, out, outb = const(1, d), const(0, d), weights(d, v), const(0, v)
    text = torch.tensor((np.arange(1000) * np.arange(1000) % 97) % v)

    def loss(step):
        at = (torch.arange(8) * 37 + step * 5)[:, None] + torch.arange(t + 1)
        i, y = text[at][:, :-1], text[at][:, 1:]
        x = letters[i] + places
        for l in layers:
            z = F.layer_norm(x, (d,), l["n1"], l["m1"])
            split = lambda a: a.reshape(8, t, heads, d // heads).transpose(1, 2)
            a = F.scaled_dot_product_attention(split(z @ l["q"] + l["qb"]), split(z @ l["k"] + l["kb"]),
                                               split(z @ l["v"] + l["vb"]), is_causal=True)
            x = x + a.transpose(1, 2).reshape(8, t, d) @ l["o"] + l["ob"]
            z = F.layer_norm(x, (d,), l["n2"], l["m2"])
            x = x + F.gelu(z @ l["up"] + l["upb"]) @ l["down"] + l["downb"]
        x = F.layer_norm(x, (d,), n, m) @ out + outb
        return F.cross_entropy(x.reshape(-1, v), y.reshape(-1))
    params = [letters, places] + [p for l in layers for p in l.values()] + [n, m, out, outb]
    return curve(params, lambda p: torch.optim.AdamW(p, lr=0.003, weight_decay=0.01), loss)


out = dict(mlp=mlp(), lenet=lenet(), gpt=gpt())
for name, losses in out.items():
    print(name, losses[[0, 1, 10, 50, 99]])
np.savez_compressed(os.path.join(os.path.dirname(os.path.abspath(__file__)), "curves.npz"), **out)
