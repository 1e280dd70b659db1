#!/usr/bin/env python3
"""Trains a PyTorch model with a layer in tl (rbf.tl), beside the same model in PyTorch alone: their losses agree at every step.

    python3 samples/python/torch_layer.py [--steps 200] [--compile]
"""
import argparse
import pathlib

import tl
import torch

program = tl.load(pathlib.Path(__file__).with_name("rbf.tl"))
rbf = tl.torch_op(program.rbf)


def rbf_of_torch(x, centers, sharpness):
    squares = ((x[:, None, :] - centers[None, :, :]) ** 2).sum(2)
    return torch.exp(-torch.exp(sharpness) * squares)


class Net(torch.nn.Module):
    def __init__(self, layer, centers):
        super().__init__()
        self.layer = layer
        self.centers = torch.nn.Parameter(centers.clone())
        self.sharpness = torch.nn.Parameter(torch.zeros(len(centers)))
        self.out = torch.nn.Linear(len(centers), 2)

    def forward(self, x):
        return self.out(self.layer(x, self.centers, self.sharpness))


def spirals(count):
    """Points on two arms, and which arm each is on."""
    arm = torch.arange(count) % 2
    angle = torch.rand(count) * 6 + 1
    turned = angle + arm * torch.pi
    return torch.stack((turned.cos(), turned.sin()), 1) * angle[:, None] / 3, arm


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--compile", action="store_true", help="run both under torch.compile")
    options = parser.parse_args()
    torch.manual_seed(0)
    x, y = spirals(400)
    ours = Net(rbf, x[:60])
    theirs = Net(rbf_of_torch, x[:60])
    theirs.load_state_dict(ours.state_dict())
    run = [torch.compile(net, fullgraph=True, dynamic=True) if options.compile else net for net in (ours, theirs)]
    optimizers = [torch.optim.SGD(net.parameters(), lr=0.5, momentum=0.9) for net in (ours, theirs)]
    for step in range(options.steps):
        batch = torch.randperm(len(x))[:64 + step % 3]  # batches of different sizes: nothing is compiled again
        losses = []
        for net, optimizer in zip(run, optimizers):
            loss = torch.nn.functional.cross_entropy(net(x[batch]), y[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert abs(losses[0] - losses[1]) <= 1e-3 * max(1.0, losses[1]), (step, losses)
        if step % 50 == 0 or step == options.steps - 1:
            print(f"step {step}: loss {losses[0]:.5f} with tl, {losses[1]:.5f} in PyTorch alone")
    accuracy = (ours(x).argmax(1) == y).float().mean().item()
    print(f"{accuracy:.1%} of the points are on the right arm")
    assert accuracy > 0.95


if __name__ == "__main__":
    main()
