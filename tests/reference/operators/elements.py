from values import REFERENCE, RUNTIME, Group
import numpy as np


def group():
    g = Group("elements", "Margins, gathering and scattering, blocks, sorting and scans")
    x = g.normal(3, 4, 5)
    for mode in ("constant", "reflect", "edge", "wrap"):
        pads = [1, 0, 2, 2, 3, -1]
        g.case(f"pad_{mode}", "Pad", dict(x=x, _pads=np.array(pads)), f'onnx.pad(x, {tuple(pads)}, mode = "{mode}")', dict(mode=mode), slope="x" if mode == "reflect" else None)
        pads = [-1, 1, 1, -1]
        g.case(f"pad_{mode}_axes", "Pad", dict(x=x, pads=np.array(pads), value=np.float32(1.5), _axes=np.array([-1, 0])),
               f'onnx.pad(x, pads, value, (-1, 0), "{mode}")', dict(mode=mode))
    g.case("pad_integers", "Pad", dict(x=g.integers(0, 99, 2, 3, dtype=np.int32), _pads=np.array([0, 1, 2, 0])), "onnx.pad(x, (0, 1, 2, 0))")

    x = g.normal(3, 4, 2, 5)
    for k in (1, 2, 3, 4):
        at = np.stack([g.integers(-n, n, 3, 2) for n in x.shape[:k]], -1)
        g.case(f"gather_nd_{k}", "GatherND", dict(x=x, at=at), "onnx.gather_nd(x, at)")
    y = g.normal(2, 3, 4, 2, 3)
    at = np.stack([g.integers(-n, n, 2, 3, 6) for n in y.shape[2:4]], -1)
    g.case("gather_nd_batches", "GatherND", dict(x=y, at=at), "onnx.gather_nd(x, at, batch_dims = 2)", dict(batch_dims=2), slope="x")
    at = np.stack([g.integers(-n, n, 7) for n in y.shape], -1)
    g.case("gather_nd_5", "GatherND", dict(x=y, at=at), "onnx.gather_nd(x, at)")
    for reduction in ("none", "add", "mul", "min", "max"):
        unique = reduction == "none"
        at = np.array([[0, 3], [2, 1], [1, 1]]) if unique else np.array([[0, 3], [2, 1], [0, 3]])
        g.case(f"scatter_nd_{reduction}", "ScatterND", dict(x=x, at=at, v=g.normal(3, 2, 5)), f'onnx.scatter_nd(x, at, v, "{reduction}")',
               dict(reduction=reduction), slope=("x", "v") if reduction == "mul" else None)
        at = np.stack([g.rng.permutation(4)[:3] for _ in range(2)], 1).reshape(3, 2, 1) if unique else g.integers(-4, 4, 3, 2, 1)
        at = at.transpose(1, 0, 2)
        g.case(f"scatter_elements_{reduction}", "ScatterElements", dict(x=g.normal(3, 4, 2), at=at, v=g.normal(2, 3, 1)),
               f'onnx.scatter_elements(x, at, v, 1, "{reduction}")', dict(axis=1, reduction=reduction), slope=("x", "v") if reduction == "max" else None)
    y = g.normal(2, 3, 2, 2, 3)
    for axis in (0, -2):
        at = g.integers(-y.shape[axis], y.shape[axis], 2, 3, 1, 2, 2)
        g.case(f"gather_elements_{axis % 5}", "GatherElements", dict(x=y, at=at), f"onnx.gather_elements(x, at, {axis})", dict(axis=axis), slope="x" if axis else None)
    g.case("scatter_elements_5", "ScatterElements", dict(x=y, at=g.integers(0, 3, 2, 3, 2, 1, 2), v=g.normal(2, 3, 2, 1, 2)),
           'onnx.scatter_elements(x, at, v, -1, "add")', dict(axis=-1, reduction="add"))
    for mode, start in (("linear", [1, 2]), ("circular", [3, 4])):
        g.case(f"tensor_scatter_{mode}", "TensorScatter", dict(x=g.normal(2, 3, 5, 2), u=g.normal(2, 3, 3, 2), at=np.array(start)),
               f'onnx.tensor_scatter(x, u, at, mode = "{mode}")', dict(mode=mode), oracle=REFERENCE)

    blocks = g.normal(2, 12, 2, 3)
    for mode in ("DCR", "CRD"):
        g.case(f"depth_to_space_{mode.lower()}", "DepthToSpace", dict(x=blocks), f'onnx.depth_to_space(x, 2, "{mode}")', dict(blocksize=2, mode=mode))
    g.case("space_to_depth", "SpaceToDepth", dict(x=g.normal(2, 3, 4, 6)), "onnx.space_to_depth(x, 2)", dict(blocksize=2))
    lens = np.array([3, 1, 5])
    g.case("reverse_sequence", "ReverseSequence", dict(x=g.normal(5, 3, 2), lens=lens), "onnx.reverse_sequence(x, lens)", slope="x")
    g.case("reverse_sequence_batches", "ReverseSequence", dict(x=g.normal(3, 5), lens=lens), "onnx.reverse_sequence(x, lens, 0, 1)",
           dict(batch_axis=0, time_axis=1))
    chosen = np.array([True, False, True])
    g.case("compress", "Compress", dict(x=g.normal(2, 4, 3), c=chosen), "onnx.compress(x, c, 1)", dict(axis=1))
    g.case("compress_flat", "Compress", dict(x=g.normal(2, 4), c=chosen), "onnx.compress(x, c)")
    for axis in (-1, 0, 1):
        g.case(f"one_hot_{axis % 3}", "OneHot", dict(i=g.integers(-6, 6, 2, 3), n=np.array([5]), v=np.array([-1.0, 2.5], np.float32)),
               f"onnx.one_hot(i, n, v, axis = {axis})", dict(axis=axis))
    g.case("trilu", "Trilu", dict(x=g.integers(0, 9, 2, 4, 5), k=np.int64(-1)), "onnx.trilu(x, k, upper = 0)", dict(upper=0))
    g.case("trilu_upper", "Trilu", dict(x=g.normal(4, 3)), "onnx.trilu(x)")
    g.case("eye_like", "EyeLike", dict(x=g.integers(0, 9, 3, 5)), "onnx.eye_like(x, f32, k = 1)", dict(k=1, dtype=1))

    ties = g.integers(0, 5, 3, 9, 2)
    for largest in (1, 0):
        g.case(f"topk_{largest}", "TopK", dict(x=ties, k=np.array([4])), f"onnx.topk(x, k, axis = 1, largest = {largest})",
               dict(axis=1, largest=largest), ("y", "at"))
    g.case("topk_floats", "TopK", dict(x=g.normal(3, 20), k=np.array([5])), "onnx.topk(x, k)", {}, ("y", "at"))
    names = ("y", "first", "inverse", "counts")
    for s in (1, 0):
        g.case(f"unique_{s}", "Unique", dict(x=g.integers(0, 9, 4, 5)), f"onnx.unique(x, sorted = {s})", dict(sorted=s), names)
        for axis in (0, -1):
            g.case(f"unique_{s}_{axis % 3}", "Unique", dict(x=g.integers(0, 2, 4, 4, 2)), f"onnx.unique(x, {axis}, sorted = {s})",
                   dict(sorted=s, axis=axis), names)
    g.case("cumsum", "CumSum", dict(x=g.integers(0, 9, 3, 4, dtype=np.int32), _axis=np.int64(0)), "onnx.cumsum(x, 0, exclusive = 1, reverse = 1)",
           dict(exclusive=1, reverse=1))
    for e, r in ((0, 0), (0, 1), (1, 0), (1, 1)):
        g.case(f"cumprod_{e}{r}", "CumProd", dict(x=g.normal(3, 4), _axis=np.int64(1)), f"onnx.cumprod(x, 1, exclusive = {e}, reverse = {r})",
               dict(exclusive=e, reverse=r), oracle=REFERENCE, opset=26, slope="x" if e and r else None)
    return g
