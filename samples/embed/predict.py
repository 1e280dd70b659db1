"""The same from Python: python3 predict.py [MODEL.safetensors], with the package `mlp` beside it or in PYTHONPATH."""
import array
import sys

import mlp

values = [5.1, 3.5, 1.4, 0.2, 7.0, 3.2, 4.7, 1.4, 6.3, 3.3, 6.0, 2.5]
try:
    import numpy
    flowers = numpy.array(values, "float32").reshape(3, 4)
except ImportError:  # whatever has a buffer will do
    flowers = memoryview(array.array("f", values)).cast("B").cast("f", (3, 4))

model = mlp.open(sys.argv[1]) if len(sys.argv) > 1 else mlp.create(1)
for i, row in enumerate(mlp.predict(model, flowers).tolist()):
    print("flower %d  %.4f %.4f %.4f" % (i, *row))
text, squares, counts = mlp.summary(model, flowers, "three")
print("%s, weights %.4f, kinds %s" % (text, squares, counts.tolist()))
