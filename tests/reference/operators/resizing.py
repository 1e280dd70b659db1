from values import REFERENCE, RUNTIME, Group
import numpy as np


def group():
    g = Group("resizing", "Resizing")

    def case(name, x, tl, attributes, scales=None, sizes=None, roi=None, oracle=RUNTIME, slope=None):
        given = lambda v, t: None if v is None else np.array(v, t)
        g.case(name, "Resize", dict(x=x, _roi=given(roi, np.float32), _scales=given(scales, np.float32), _sizes=given(sizes, np.int64)),
               f"onnx.resize(x, {tl})", attributes, oracle=oracle, slope=slope)

    image = g.normal(1, 2, 4, 5)
    two = dict(axes=[2, 3])
    for mode in ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"):
        for kind in ("nearest", "linear", "cubic"):
            names = dict(coordinate_transformation_mode=mode, mode=kind)
            tl = f'coordinate_transformation_mode = "{mode}", mode = "{kind}"'
            # These scales are not quotients of sizes: sizes are rounded down, places follow the scales.
            case(f"{kind}_{mode}", image, f"scales = (0.7, 1.55), axes = (2, 3), {tl}", dict(names, axes=[2, 3]), (0.7, 1.55),
                 oracle=REFERENCE, slope="x" if mode == "half_pixel" and kind == "cubic" else None)
    case("sizes", image, 'sizes = (1, 2, 7, 3), mode = "linear"', dict(mode="linear"), sizes=[1, 2, 7, 3])
    case("tensor", image, 'scales = f32([1.0, 1.0, 2.0, 0.6]), mode = "linear"', dict(mode="linear"), (1, 1, 2, 0.6), oracle=REFERENCE)
    for rounding in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
        case(rounding, g.normal(1, 1, 6), f'scales = (0.5,), axes = (2,), nearest_mode = "{rounding}"', dict(nearest_mode=rounding, axes=[2]), (0.5,),
             oracle=REFERENCE)
    crop = dict(coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=7.5)
    tl = 'coordinate_transformation_mode = "tf_crop_and_resize", extrapolation_value = 7.5, sizes = (3, 6), axes = (2, 3), roi = (0.25, -0.375, 0.875, 1.25)'
    for kind in ("nearest", "linear"):
        case(f"crop_{kind}", image, f'{tl}, mode = "{kind}"', dict(crop, mode=kind, **two), sizes=[3, 6], roi=[0.25, -0.375, 0.875, 1.25], oracle=REFERENCE)
    case("coefficient", image, 'sizes = (7, 3), axes = (2, 3), mode = "cubic", cubic_coeff_a = -0.5, exclude_outside = 1',
         dict(mode="cubic", cubic_coeff_a=-0.5, exclude_outside=1, **two), sizes=[7, 3], oracle=REFERENCE)
    for kind in ("linear", "cubic"):
        for outside in (0, 1):
            case(f"antialias_{kind}_{outside}", g.normal(1, 2, 11, 4),
                 f'sizes = (4, 6), axes = (2, 3), mode = "{kind}", antialias = 1, exclude_outside = {outside}',
                 dict(mode=kind, antialias=1, exclude_outside=outside, **two), sizes=[4, 6], oracle=REFERENCE, slope="x" if outside else None)
    for policy in ("not_larger", "not_smaller"):
        case(policy, image, f'sizes = (7, 9), axes = (2, 3), keep_aspect_ratio_policy = "{policy}", mode = "linear"',
             dict(mode="linear", keep_aspect_ratio_policy=policy, **two), sizes=[7, 9], oracle=REFERENCE)
    case("volume", g.normal(1, 1, 3, 4, 2), 'sizes = (4, 3, 5), axes = (2, 3, 4), mode = "linear"', dict(mode="linear", axes=[2, 3, 4]),
         sizes=[4, 3, 5])
    case("integers", g.integers(0, 99, 2, 3, dtype=np.int32), "scales = (2.0, 3.0)", {}, (2, 3))
    return g
