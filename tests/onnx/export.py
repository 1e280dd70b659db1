#!/usr/bin/env python3
"""Exports a small network of PyTorch's and stores what PyTorch makes of it: tests/onnx/export.py. Needs PyTorch; what it writes is kept in the
repository (docs/onnx.md shows it)."""
import pathlib

import numpy as np
import torch

HERE = pathlib.Path(__file__).resolve().parent


class Reader(torch.nn.Module):
    """Images of any height and width: a convolution, a recurrent layer over its places, attention, five classes."""

    def __init__(self):
        super().__init__()
        convolution = torch.nn.Conv2d(1, 8, 3, stride=2, padding=1)
        self.image = torch.nn.Sequential(convolution, torch.nn.BatchNorm2d(8), torch.nn.GELU(), torch.nn.MaxPool2d(2))
        self.along = torch.nn.GRU(8, 6, batch_first=True, bidirectional=True)
        self.attention = torch.nn.TransformerEncoderLayer(12, 3, 24, batch_first=True)
        self.classes = torch.nn.Linear(12, 5)

    def forward(self, image):
        y = self.image(image)
        y, _ = self.along(y.flatten(2).transpose(1, 2))
        y = torch.nn.functional.interpolate(self.attention(y).transpose(1, 2), scale_factor=2.0, mode="linear")
        return self.classes(y.mean(2)).softmax(-1)


def main():
    torch.manual_seed(0)
    net = Reader().eval()
    for parameter in net.parameters():
        torch.nn.init.normal_(parameter, 0, 0.3)
    net.image[1].running_mean.normal_(0, 0.3)
    net.image[1].running_var.uniform_(0.5, 2)
    axes = {"image": {0: "batch", 2: "height", 3: "width"}, "classes": {0: "batch"}}
    names = {"input_names": ["image"], "output_names": ["classes"], "dynamic_axes": axes, "opset_version": 16}
    torch.onnx.export(net, torch.zeros(2, 1, 16, 16), str(HERE / "exported.onnx"), **names)
    stored = {}
    for i, dims in enumerate([(2, 1, 16, 16), (3, 1, 9, 26)]):
        image = torch.randn(dims)
        stored[f"{i}.in.0"], stored[f"{i}.out.0"] = image.numpy(), net(image).detach().numpy()
    np.savez(HERE / "exported.npz", **stored)


if __name__ == "__main__":
    main()
