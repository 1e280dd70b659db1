"""What the twins run on: the meaning of tl's operations on NumPy values, from the language's contract alone.

Numbers are NumPy scalars of the right type, tensors are arrays that are never changed in place, tuples, lists and structs are Python's
(never changed either). An operation whose last bits the contract leaves open (the order of a sum, a transcendental function) adds noise when `NOISE.on`:
the runs with noise show how far a right answer may lie from the first one, and whether an integer or a branch depends on those bits.
"""
from twin_core import *  # noqa: F401, F403 (twins use all of it)
from twin_tensors import *  # noqa: F401, F403
from twin_transforms import *  # noqa: F401, F403
