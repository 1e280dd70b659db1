"""The package tl, and packages that tl made, in one process: beside.py FILE.tl."""
import array
import sys

import layer
import mlp
import tl

program = tl.load(sys.argv[1])
x = array.array("f", [1, 2, 3])
print([float(p.pick(x, 1)) for p in (program, layer, program)] == [2, 2, 2] and mlp.create(1) is not None,
      program.add(layer.add(x, x), x).tolist() == [3, 6, 9] and tl.RunError is not layer.RunError)
