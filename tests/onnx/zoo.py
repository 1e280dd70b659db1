"""The models that published packages carry (packages.txt), with inputs at several sizes: what real.py tests and bench/models.py measures.

  for model in zoo.models("silero"): path = model.write(folder); model.inputs(size, seed)
"""
import dataclasses
import pathlib
from typing import Callable

import numpy as np
import onnx
from onnx import numpy_helper

SITE = pathlib.Path(onnx.__file__).resolve().parents[1]
LIGHT = "onnx/backend/test/data/light/light_"
RATE = {"sr": np.array(16000, np.int64)}


@dataclasses.dataclass
class Model:
    name: str
    path: str  # in the packages
    sizes: list  # what `make` takes
    make: Callable  # (source of random numbers, size) -> inputs by name
    flags: tuple = ()  # of `tl import`
    fixed: dict = dataclasses.field(default_factory=dict)  # inputs that the flags give
    change: Callable = None  # of the model
    scale: float = 0.0  # the least that counts as its outputs' scale: 1 of probabilities, as ONNX Runtime's sigmoid is off by 1e-7
    more: float = 3.0  # MB that its executable may have beside the weights

    def write(self, folder):
        """The model's file: the package's, or a changed one in this folder."""
        path = SITE / self.path
        if self.change is None:
            return path
        model = onnx.load(path)
        self.change(model)
        changed = pathlib.Path(folder) / f"{self.name}.onnx"
        onnx.save(model, changed)
        return changed

    def inputs(self, size, seed=0):
        return self.make(np.random.default_rng(seed), size)


def normal(source, *sizes, scale=1.0):
    return (source.standard_normal(sizes) * scale).astype("f4")


def without_last(model):
    """The last node's input is the result: behind a sigmoid or softmax little is left of a difference."""
    graph = model.graph
    last = graph.node[-1]
    assert last.op_type in ("Sigmoid", "Softmax") and last.output[0] == graph.output[0].name
    graph.output[0].name = last.input[0]
    del graph.output[0].type.tensor_type.shape.dim[:]
    graph.output[0].type.tensor_type.ClearField("shape")
    del graph.node[-1]


def any_batch(model):
    """The batch of one becomes any, in the input and in reshapes."""
    graph = model.graph
    for value in (*graph.input, *graph.output):
        if value.name not in {x.name for x in graph.initializer} and value.type.tensor_type.shape.dim:
            value.type.tensor_type.shape.dim[0].dim_param = "batch"
    shapes = {node.input[1] for node in graph.node if node.op_type == "Reshape"}
    for tensor in graph.initializer:
        if tensor.name in shapes:
            sizes = numpy_helper.to_array(tensor).copy()
            if sizes[0] == 1:
                sizes[0] = 0  # as the input's
                tensor.CopyFrom(numpy_helper.from_array(sizes, tensor.name))


def with_weights(model):
    """Random weights in place of constant ones, and the last softmax left out: the package says only how large they are."""
    any_batch(model)
    graph = model.graph
    source = np.random.default_rng(1)
    sizes = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    kept = []
    for node in graph.node:
        if node.op_type != "ConstantOfShape":
            kept.append(node)
            continue
        shape = tuple(int(n) for n in sizes[node.input[0]])
        inside = np.prod(shape[1:])
        values = normal(source, *shape, scale=np.sqrt(2 / inside)) if len(shape) > 1 else source.uniform(0.5, 1.0, shape).astype("f4")
        graph.initializer.append(numpy_helper.from_array(values, node.output[0]))
    del graph.node[:]
    graph.node.extend(kept)
    if graph.node[-1].op_type == "Softmax":
        without_last(model)


def light(name, change=any_batch, more=3.0):
    """A model of the package onnx: pictures of 224 x 224, weights all alike unless they are changed."""

    def make(source, batch):
        declared = onnx.load(SITE / f"{LIGHT}{name}.onnx").graph
        known = {tensor.name for tensor in declared.initializer}
        (picture,) = (value.name for value in declared.input if value.name not in known)
        return {picture: normal(source, batch, 3, 224, 224)}

    return Model(name, f"{LIGHT}{name}.onnx", [1, 2], make, change=change, more=more)


DETECTED = [(64, 64), (96, 160)]
OCR = "rapidocr_onnxruntime/models/ch_"
MODELS = [
    Model("silero_sequence", "silero_vad/data/silero_vad_16k_sequence.onnx", [1, 5, 50],
          lambda r, n: {"input": normal(r, n, 576, scale=0.1), "h": normal(r, 1, 1, 128), "c": normal(r, 1, 1, 128)}, scale=1.0),
    Model("silero_op15", "silero_vad/data/silero_vad_16k_op15.onnx", [1, 4, 16],
          lambda r, n: {"input": normal(r, n, 576, scale=0.1), "state": normal(r, 2, n, 128)}, ("--input", "sr=16000", "--dim", "sequence=576"), RATE, scale=1.0),
    Model("magika", "magika/models/standard_v3_3/model.onnx", [1, 3, 8], lambda r, n: {"bytes": r.integers(0, 257, (n, 2048)).astype("i4")}),
    Model("cls", OCR + "ppocr_mobile_v2.0_cls_infer.onnx", [1, 2, 5], lambda r, n: {"x": normal(r, n, 3, 48, 192)}),
    Model("det", OCR + "PP-OCRv4_det_infer.onnx", DETECTED, lambda r, s: {"x": normal(r, 1, 3, *s)}, scale=1.0),
    Model("det_logits", OCR + "PP-OCRv4_det_infer.onnx", DETECTED, lambda r, s: {"x": normal(r, 1, 3, *s)}, change=without_last),
    Model("rec", OCR + "PP-OCRv4_rec_infer.onnx", [(1, 160), (2, 320)], lambda r, s: {"x": normal(r, s[0], 3, 48, s[1])}),
    light("squeezenet", with_weights),
    light("shufflenet", with_weights),
    light("inception_v1", with_weights, 3.4),
    light("inception_v2", with_weights, 6.8),
    light("densenet121", with_weights, 5.2),
    light("resnet50", with_weights),
    light("bvlc_alexnet"),
    light("zfnet512"),
    light("vgg19"),
]


def models(text=""):
    return [model for model in MODELS if text in model.name]
