from values import REFERENCE, RUNTIME, Group
import numpy as np


def group():
    g = Group("regions", "Regions, boxes, windows put back, moved convolutions", ("onnx", "nn"))
    rois = np.array([[0, 0, 0, 5, 5], [1, 2.4, 1.6, 9, 7.5], [0, 3, 3, 3, 3], [1, -2, 4, 1, 30]], np.float32)
    for i, shape in enumerate(((2, 3), (4, 4))):
        scale = (1.0, 0.6)[i]
        g.case(f"max_roi_pool_{i}", "MaxRoiPool", dict(x=g.normal(2, 3, 7, 8), rois=rois), f"onnx.max_roi_pool(x, rois, {shape}, {scale})",
               dict(pooled_shape=shape, spatial_scale=scale), opset=21, slope="x" if i else None)
    corner = g.rng.uniform(0, 10, (2, 12, 2))
    boxes = np.concatenate([corner, corner + g.rng.uniform(1, 6, (2, 12, 2))], 2).astype(np.float32)
    boxes[:, 3] = boxes[:, 3][:, [2, 1, 0, 3]]  # corners in another order
    scores = g.rng.uniform(0, 1, (2, 3, 12)).astype(np.float32)
    scores[0, 0, 5] = scores[0, 0, 7]
    most, overlap, least = np.array([4]), np.array([0.3], np.float32), np.array([0.25], np.float32)
    g.case("suppression", "NonMaxSuppression", dict(boxes=boxes, scores=scores, most=most, overlap=overlap, least=least),
           "onnx.non_max_suppression(boxes, scores, most, overlap, least)")
    g.case("suppression_centers", "NonMaxSuppression", dict(boxes=np.abs(boxes), scores=scores, most=most, overlap=overlap),
           "onnx.non_max_suppression(boxes, scores, most, overlap, center_point_box = 1)", dict(center_point_box=1))
    g.case("suppression_none", "NonMaxSuppression", dict(boxes=boxes, scores=scores), "onnx.non_max_suppression(boxes, scores)")
    image = dict(x=g.normal(2, 12, 12), _shape=np.array([5, 6]), _block=np.array([2, 3]))
    g.case("col2im", "Col2Im", image, "onnx.col2im(x, (5, 6), (2, 3), strides = (2, 1), pads = (1, 0, 1, 0), dilations = (2, 1))",
           dict(strides=[2, 1], pads=[1, 0, 1, 0], dilations=[2, 1]), slope="x")
    g.case("col2im_line", "Col2Im", dict(x=g.normal(1, 6, 4), _shape=np.array([5]), _block=np.array([2])), "onnx.col2im(x, (5,), (2,))")
    g.case("col2im_volume", "Col2Im", dict(x=g.normal(1, 16, 12), _shape=np.array([3, 4, 3]), _block=np.array([2, 2, 2])),
           "onnx.col2im(x, (3, 4, 3), (2, 2, 2))")
    x = g.normal(4, 7, 5)
    g.case("center", "CenterCropPad", dict(x=x, shape=np.array([7, 4, 5])), "onnx.center_crop_pad(x, shape)", opset=18)
    g.case("center_axes", "CenterCropPad", dict(x=x, _shape=np.array([8, 2])), "onnx.center_crop_pad(x, (8, 2), (-1, 0))", dict(axes=[-1, 0]), opset=18)
    deform = dict(x=g.normal(2, 4, 6, 5), w=g.normal(6, 2, 3, 2), offset=g.normal(2, 24, 4, 5), b=g.normal(6), mask=g.normal(2, 12, 4, 5))
    g.case("deform_conv", "DeformConv", deform, "onnx.deform_conv(x, w, offset, b, mask, padding = ((0, 0), (1, 0)), groups = 2, offset_group = 2)",
           dict(group=2, offset_group=2, pads=[0, 1, 0, 0]), oracle=REFERENCE, slope=("x", "mask"))
    plain = dict(x=g.normal(1, 2, 7, 7), w=g.normal(2, 2, 3, 3), offset=g.normal(1, 18, 3, 2))
    g.case("deform_conv_plain", "DeformConv", plain, "onnx.deform_conv(x, w, offset, stride = 2, dilation = (1, 2))",
           dict(strides=[2, 2], dilations=[1, 2]), oracle=REFERENCE, slope="offset")
    for mode in ("SAME_UPPER", "SAME_LOWER"):
        g.case(mode.lower(), "MaxPool", dict(x=g.normal(1, 2, 6, 7)),
               f'nn.max_pool2d(x, (3, 2), (2, 3), (onnx.same_ends(6, 3, 2, auto_pad = "{mode}"), onnx.same_ends(7, 2, 3, auto_pad = "{mode}")))',
               dict(kernel_shape=[3, 2], strides=[2, 3], auto_pad=mode))
    return g
