from values import REFERENCE, RUNTIME, Group
import numpy as np


def group():
    g = Group("sampling", "Reading images at places and in regions")
    for mode in ("linear", "nearest", "cubic"):
        for outside in ("zeros", "border", "reflection"):
            corners = int(outside != "border")
            grid = g.rng.uniform(-1.6, 1.6, (2, 3, 4, 2)).astype(np.float32)
            g.case(f"grid_{mode}_{outside}", "GridSample", dict(x=g.normal(2, 3, 4, 5), grid=grid),
                   f'onnx.grid_sample(x, grid, "{mode}", "{outside}", {corners})', dict(mode=mode, padding_mode=outside, align_corners=corners),
                   slope=("x", "grid") if mode == "linear" and corners else None, rtol=2e-5)
    volume = dict(x=g.normal(1, 2, 3, 4, 3), grid=g.rng.uniform(-1.3, 1.3, (1, 2, 3, 2, 3)).astype(np.float32))
    for mode in ("linear", "nearest"):
        g.case(f"grid_volume_{mode}", "GridSample", volume, f'onnx.grid_sample(x, grid, "{mode}")', dict(mode=mode))
    for corners in (0, 1):
        g.case(f"affine_{corners}", "AffineGrid", dict(theta=g.normal(2, 2, 3), size=np.array([2, 3, 4, 5])),
               f"onnx.affine_grid(theta, size, {corners})", dict(align_corners=corners), slope="theta")
        g.case(f"affine_volume_{corners}", "AffineGrid", dict(theta=g.normal(2, 3, 4), _size=np.array([2, 3, 2, 4, 3])),
               f"onnx.affine_grid(theta, (2, 3, 2, 4, 3), {corners})", dict(align_corners=corners))
    corners = g.rng.uniform(0, 12, (4, 2))
    rois = np.concatenate([corners, corners + g.rng.uniform(1, 10, (4, 2))], 1).astype(np.float32)
    for mode in ("avg", "max"):
        for ratio in (0, 2):
            kind = "half_pixel" if ratio else "output_half_pixel"
            g.case(f"roi_align_{mode}_{ratio}", "RoiAlign", dict(x=g.normal(2, 3, 8, 9), rois=rois, at=np.array([1, 0, 1, 1])),
                   f'onnx.roi_align(x, rois, at, "{mode}", "{kind}", 3, 2, {ratio}, 0.6)',
                   dict(mode=mode, coordinate_transformation_mode=kind, output_height=3, output_width=2, sampling_ratio=ratio, spatial_scale=0.6),
                   slope="x" if mode == "avg" and ratio else None, rtol=2e-5, opset=16)
    return g
