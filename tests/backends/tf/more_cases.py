"""More cases of make_cases.py. A new part goes to the end, so that those before it keep their numbers."""

import numpy as np
import tensorflow.compat.v1 as tf

from case_inputs import (RANDOM, Resource, Variable, bools, doubles, float_, floats, int_, ints, longs, positive, run,
                         tf_shape, whole)


def resampled_images(add):
    x = floats(2, 5, 4, 3)
    for size in (ints(9, 7), ints(3, 2), ints(5, 4), ints(1, 1)):
        for options in ({}, {"align_corners": True}):
            add("ResizeArea", images=x, size=size, **options)
        for options in ({}, {"align_corners": True}, {"half_pixel_centers": True}):
            add("ResizeBicubic", images=x, size=size, **options)
            add("ResizeBicubicGrad", grads=floats(2, size[0], size[1], 3), original_image=x, **options)
    add("ResizeBicubic", images=whole(1, 3, 3, 2, low=0, high=256, dtype=np.uint8), size=ints(5, 5))
    add("ResizeArea", images=whole(1, 7, 5, 1, low=0, high=256, dtype=np.uint8), size=ints(3, 2))
    for kernel in ("lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic"):
        for factor, moved in (((1.7, 0.6), (0.25, -1.0)), ((0.4, 2.0), (0.0, 0.5))):
            for antialias in (True, False):
                shared = dict(scale=np.array(factor, np.float32), translation=np.array(moved, np.float32), kernel_type=kernel,
                              antialias=antialias)
                add("ScaleAndTranslate", images=x, size=ints(7, 6), **shared)
                add("ScaleAndTranslateGrad", grads=floats(2, 7, 6, 3), original_image=x, **shared)


def projected_images(add):
    x, numbers = floats(2, 5, 4, 3), whole(1, 4, 5, 2, low=0, high=256, dtype=np.uint8)
    # Turned and moved; moved far; seen at an angle, a point of which is at infinity.
    transforms = np.array([[0.8, -0.6, 1.3, 0.6, 0.8, -0.9, 0, 0], [1.1, 0.2, -9.3, 0, 0.9, 7.7, 0, 0]], np.float32)
    angled = np.array([[1.05, 0.1, 0.3, -0.1, 1.2, 0.4, 0.1, -0.25]], np.float32)
    for mode in ("CONSTANT", "REFLECT", "WRAP", "NEAREST"):
        for how in ("NEAREST", "BILINEAR"):
            shared = dict(interpolation=how, fill_mode=mode)
            for given in (transforms, angled):
                add("ImageProjectiveTransformV3", images=x, transforms=given, output_shape=ints(6, 5),
                    fill_value=float_(0.5), **shared)
            add("ImageProjectiveTransformV2", images=numbers, transforms=angled, output_shape=ints(4, 5), **shared)
    add("ImageProjectiveTransformV2", images=x[:, :1, :1], transforms=transforms, output_shape=ints(2, 3),
        interpolation="BILINEAR", fill_mode="REFLECT")
    add("ImageProjectiveTransformV3", images=floats(0, 4, 4, 1), transforms=floats(0, 8), output_shape=ints(2, 2),
        fill_value=float_(0), interpolation="BILINEAR")


def colors(add):
    x = floats(2, 3, 4, 3, low=0, high=1)
    grey = np.array([[[0, 0, 0], [0.5, 0.5, 0.5], [1, 0, 0], [0, 1, 1], [-0.5, -0.2, -0.7]]], np.float32)
    for images in (x, grey, floats(0, 2, 3)):
        add("RGBToHSV", images=images)
        add("HSVToRGB", images=images)
        for by in (-0.7, 0.0, 0.3):
            add("AdjustHue", images=images, delta=float_(by))
            add("AdjustSaturation", images=images, scale=float_(2 + by))
    add("RGBToHSV", images=doubles(3, 3, low=0, high=1))
    for by in (0.0, 1.7):
        add("AdjustContrastv2", images=x, contrast_factor=float_(by))
    add("AdjustContrastv2", images=floats(2, 3, 5), contrast_factor=float_(-0.5))


def best_boxes(add):
    corners = np.sort(floats(2, 12, 1, 2, 2, low=-0.2, high=1.2), axis=3).reshape(2, 12, 1, 4)
    scores = floats(2, 12, 3, low=0, high=1)
    shared = dict(iou_threshold=float_(0.4), score_threshold=float_(0.2))
    for options in ({}, {"pad_per_class": True}, {"clip_boxes": False}):
        add("CombinedNonMaxSuppression", boxes=corners, scores=scores, max_output_size_per_class=int_(4), max_total_size=int_(20),
            **shared, **options)
    add("CombinedNonMaxSuppression", boxes=np.repeat(corners, 3, axis=2) + floats(1, 1, 3, 1, low=0, high=0.3), scores=scores,
        max_output_size_per_class=int_(5), max_total_size=int_(6), **shared)


def more_windows(add):
    for images, window, stride, padding in [((2, 7, 6, 3), 3, 2, "SAME"), ((2, 7, 6, 3), 3, 2, "VALID"),
                                            ((1, 8, 8, 2), 3, 2, "SAME"), ((2, 5, 5, 1), 2, 1, "SAME")]:
        shared = dict(ksize=[1, window, window, 1], strides=[1, stride, stride, 1], padding=padding)
        x = floats(*images)
        y, places = run(tf.raw_ops.MaxPoolWithArgmax, input=x, **shared)
        for batches in (False, True):
            for values in (x, np.maximum(x, 0)):
                add("MaxPoolWithArgmax", input=values, include_batch_in_index=batches, **shared)
            y, places = run(tf.raw_ops.MaxPoolWithArgmax, input=x, include_batch_in_index=batches, **shared)
            add("MaxPoolGradWithArgmax", input=x, grad=floats(*y.shape), argmax=places, include_batch_in_index=batches, **shared)
        inputs = dict(ksize=ints(1, window, window, 1), strides=ints(1, stride, stride, 1), padding=padding)
        add("MaxPoolV2", input=x, **inputs)
        add("MaxPoolGradV2", orig_input=x, orig_output=y, grad=floats(*y.shape), **inputs)
        for rate in (1, 2):
            add("Dilation2D", input=x, filter=floats(3, 2, images[3]), strides=[1, stride, stride, 1], rates=[1, rate, rate, 1],
                padding=padding)
        volume = dict(ksizes=[1, 2, 3, 1, 1], strides=[1, 1, stride, 2, 1], padding=padding)
        add("ExtractVolumePatches", input=floats(2, 4, 5, 3, 2), **volume)
    add("MaxPoolWithArgmax", input=floats(1, 4, 4, 2), Targmax=tf.int32, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
    add("Dilation2D", input=whole(1, 4, 4, 2), filter=whole(2, 2, 2), strides=[1, 1, 1, 1], rates=[1, 1, 1, 1], padding="SAME")
    add("Dilation2D", input=floats(0, 4, 4, 2), filter=floats(2, 2, 2), strides=[1, 1, 1, 1], rates=[1, 1, 1, 1], padding="SAME")


def more_optimizers(add):
    rate, epsilon, gradient = float_(0.1), float_(1e-3), floats(3, 4)
    l1, l2, shrinkage = float_(0.2), float_(0.1), float_(0.3)
    value, square = (lambda: floats(3, 4)), (lambda: positive(3, 4))
    for kind, prefix in ((Variable, ""), (Resource, "Resource")):
        add(prefix + "ApplyAdaMax", var=kind(value()), m=kind(value()), v=kind(square()), beta1_power=float_(0.9), lr=rate,
            beta1=float_(0.9), beta2=float_(0.999), epsilon=epsilon, grad=gradient)
        add(prefix + "ApplyAddSign", var=kind(value()), m=kind(value()), lr=rate, alpha=float_(0.7), sign_decay=float_(0.8),
            beta=float_(0.9), grad=gradient)
        add(prefix + "ApplyPowerSign", var=kind(value()), m=kind(value()), lr=rate, logbase=float_(1.1), sign_decay=float_(0.8),
            beta=float_(0.9), grad=gradient)
        add(prefix + "ApplyProximalGradientDescent", var=kind(value()), alpha=rate, l1=float_(2), l2=l2, delta=gradient)
        add(prefix + "ApplyProximalAdagrad", var=kind(value()), accum=kind(square()), lr=rate, l1=float_(2), l2=l2, grad=gradient)
        for multiplies in (False, True):
            shared = dict(lr=rate, l1=l1, l2=l2, lr_power=float_(-0.5), multiply_linear_by_lr=multiplies)
            add(prefix + "ApplyFtrl", var=kind(value()), accum=kind(square()), linear=kind(value()), grad=gradient, **shared)
            add(prefix + "ApplyFtrlV2", var=kind(value()), accum=kind(square()), linear=kind(value()), grad=gradient,
                l2_shrinkage=shrinkage, **shared)
    for nesterov in (False, True):
        add("ResourceApplyKerasMomentum", var=Resource(value()), accum=Resource(value()), lr=rate, grad=gradient,
            momentum=float_(0.9), use_nesterov=nesterov)
    add("ResourceApplyAdamWithAmsgrad", var=Resource(value()), m=Resource(value()), v=Resource(square()), vhat=Resource(square()),
        beta1_power=float_(0.9), beta2_power=float_(0.999), lr=rate, beta1=float_(0.9), beta2=float_(0.999), epsilon=epsilon,
        grad=gradient)


def sparse_optimizers(add):
    rate, epsilon = float_(0.1), float_(1e-3)
    l1, l2, shrinkage = float_(0.2), float_(0.1), float_(0.3)
    value, square = (lambda: floats(5, 4)), (lambda: positive(5, 4))
    # Distinct rows, one of which comes three times, none.
    for indices in (ints(4, 0, 1), longs(2, 0, 2, 2), ints()):
        shared = dict(grad=floats(len(indices), 4), indices=indices)
        for kind, prefix in ((Variable, ""), (Resource, "Resource")):
            start = prefix + "SparseApply"
            add(start + "Adadelta", var=kind(value()), accum=kind(square()), accum_update=kind(square()), lr=rate, rho=float_(0.95),
                epsilon=epsilon, **shared)
            for update in (True, False):
                add(start + "Adagrad", var=kind(value()), accum=kind(square()), lr=rate, update_slots=update, **shared)
                add(start + "AdagradV2", var=kind(value()), accum=kind(square()), lr=rate, epsilon=epsilon, update_slots=update,
                    **shared)
            add(start + "RMSProp", var=kind(value()), ms=kind(square()), mom=kind(value()), lr=rate, rho=float_(0.9),
                momentum=float_(0.8), epsilon=float_(1.0), **shared)
            add(start + "CenteredRMSProp", var=kind(value()), mg=kind(floats(5, 4, low=-0.1, high=0.1)), ms=kind(square() + 1),
                mom=kind(value()), lr=rate, rho=float_(0.9), momentum=float_(0.8), epsilon=epsilon, **shared)
            add(start + "ProximalGradientDescent", var=kind(value()), alpha=rate, l1=l1, l2=l2, **shared)
            add(start + "ProximalAdagrad", var=kind(value()), accum=kind(square()), lr=rate, l1=l1, l2=l2, **shared)
            for nesterov in (False, True):
                add(start + "Momentum", var=kind(value()), accum=kind(value()), lr=rate, momentum=float_(0.9), use_nesterov=nesterov,
                    **shared)
            for multiplies in (False, True):
                more = dict(lr=rate, l1=l1, l2=l2, lr_power=float_(-0.5), multiply_linear_by_lr=multiplies)
                add(start + "Ftrl", var=kind(value()), accum=kind(square()), linear=kind(value()), **shared, **more)
                add(start + "FtrlV2", var=kind(value()), accum=kind(square()), linear=kind(value()), l2_shrinkage=shrinkage, **shared,
                    **more)
        for nesterov in (False, True):
            add("ResourceSparseApplyKerasMomentum", var=Resource(value()), accum=Resource(value()), lr=rate, momentum=float_(0.9),
                use_nesterov=nesterov, **shared)
    add("ResourceSparseApplyAdagrad", var=Resource(doubles(4)), accum=Resource(doubles(4, low=1)), lr=np.array(0.1), grad=doubles(2),
        indices=ints(3, 1))


def more_scatters(add):
    for kind, prefix, target in ((Variable, "", "ref"), (Resource, "Resource", "resource")):
        for op in ("Mul", "Div", "Min", "Max"):
            add(f"{prefix}Scatter{op}", **{target: kind(floats(4, 2))}, indices=ints(3, 0, 3), updates=floats(3, 2, low=0.5))
            add(f"{prefix}Scatter{op}", **{target: kind(whole(5))}, indices=ints(1, 3, 1), updates=ints(2, -3, 2))
            add(f"{prefix}Scatter{op}", **{target: kind(floats(4, 2))}, indices=longs(2, 1), updates=float_(0.7))
        target = "ref"
        for op in ("Add", "Sub", "Update", "Min", "Max"):
            rows = ints(3, 0, 3 if op != "Update" else 1).reshape(3, 1)
            add(f"{prefix}ScatterNd{op}", **{target: kind(floats(4, 2))}, indices=rows, updates=floats(3, 2))
            add(f"{prefix}ScatterNd{op}", **{target: kind(floats(3, 2, 2))}, indices=np.array([[0, 1], [2, 0]], np.int64),
                updates=floats(2, 2))
            add(f"{prefix}ScatterNd{op}", **{target: kind(floats(4))}, indices=ints().reshape(0, 1), updates=floats(0))
    for op in ("Min", "Max"):
        add("TensorScatter" + op, tensor=floats(5, 2), indices=ints(3, 0, 3).reshape(3, 1), updates=floats(3, 2))
        add("TensorScatter" + op, tensor=whole(5, 2), indices=np.array([[3, 1], [0, 0]], np.int32), updates=whole(2))
    for indices, values in ((np.array([[0, 1], [2, 0]], np.int64), floats(2)), (np.array([[1, 1]], np.int64), float_(3)),
                            (np.zeros((0, 2), np.int64), floats(0))):
        add("SparseToDense", sparse_indices=indices, output_shape=longs(3, 2), sparse_values=values, default_value=float_(-1))
    add("SparseToDense", sparse_indices=ints(0, 3), output_shape=ints(5), sparse_values=longs(7, 8), default_value=np.array(0))
    add("SparseToDense", sparse_indices=int_(2), output_shape=ints(5), sparse_values=bools(), default_value=np.array(True))


def more_segments(add):
    for op in ("Sum", "Mean", "SqrtN"):
        ids = ints(0, 0, 0, 2)
        add(f"SparseSegment{op}WithNumSegments", data=floats(4, 2), indices=ints(3, 0, 3, 1), segment_ids=ids, num_segments=int_(5))
        add(f"SparseSegment{op}Grad", grad=floats(3, 2), indices=ints(3, 0, 3, 1), segment_ids=ids, output_dim0=int_(5))
        add(f"SparseSegment{op}Grad", grad=doubles(3, 2, 2), indices=longs(3, 0, 3, 1), segment_ids=ids, output_dim0=int_(4))
        add(f"SparseSegment{op}WithNumSegments", data=floats(4, 2), indices=ints(), segment_ids=ints(), num_segments=int_(2))
    places = np.array([[0, 1], [2, 0], [2, 3], [2, 0]], np.int64)
    for adjoint_b in (False, True):
        for adjoint_a in (False, True):
            rows = 3 if adjoint_a else 4
            b = floats(2, rows) if adjoint_b else floats(rows, 2)
            for values in (floats(4), floats(4) + 1j * floats(4)):
                add("SparseTensorDenseMatMul", a_indices=places, a_values=values, a_shape=longs(3, 4),
                    b=b if values.dtype == np.float32 else (b + 1j * b[::-1]).astype(values.dtype), adjoint_a=adjoint_a,
                    adjoint_b=adjoint_b)
    add("SparseTensorDenseMatMul", a_indices=places[:0], a_values=floats(0), a_shape=longs(3, 4), b=floats(4, 2))


def decompositions(add):
    """Vectors differ from TensorFlow's by their signs; decomposition_test.cpp looks at them."""
    for shape in ((2, 5, 3), (3, 5), (4, 4), (0, 3, 2)):
        x = floats(*shape)
        for full in (False, True):
            add("Svd", input=x, full_matrices=full)
            if shape[0]:
                add("Qr", input=x, full_matrices=full)
        add("Svd", input=x, compute_uv=False)
    square = floats(2, 4, 4)
    complexes = (floats(3, 3) + 1j * floats(3, 3)).astype(np.complex64)
    add("Svd", input=complexes)
    add("Qr", input=complexes)
    for x in (square + square.transpose(0, 2, 1), doubles(3, 3), complexes):
        for with_vectors in (True, False):
            add("SelfAdjointEigV2", input=x, compute_v=with_vectors)
    for x in (square, doubles(3, 3), complexes):
        add("Lu", input=x)
        add("LogMatrixDeterminant", input=x)
    add("Lu", input=square, output_idx_type=tf.int64)
    diagonals = floats(2, 3, 5)
    diagonals[:, 1] += 4
    add("TridiagonalSolve", diagonals=diagonals, rhs=floats(2, 5, 2))
    add("TridiagonalSolve", diagonals=diagonals[0, :, :1], rhs=floats(1, 3))


def more_functions(add):
    for op in ("BesselI0", "BesselI0e", "BesselI1", "BesselI1e", "BesselJ0", "BesselJ1"):
        add(op, x=floats(8, low=-4, high=4))
        if "I" in op:
            add(op, x=doubles(5, low=-4, high=9))
    for op in ("BesselK0", "BesselK0e", "BesselK1", "BesselK1e", "BesselY0", "BesselY1"):
        add(op, x=floats(8, low=0.2, high=6))
        if "K" in op:
            add(op, x=doubles(5, low=0.2, high=9))
    add("Zeta", x=floats(6, low=1.5, high=6), q=positive(6))
    add("Polygamma", a=np.array([[0], [1], [2], [3]], np.float32), x=positive(5) + 0.4)
    add("Polygamma", a=np.array([0.5, -1], np.float32), x=positive(2))
    add("Polygamma", a=np.array([1, 2, 0], np.float64), x=doubles(3, low=0.5))
    add("Betainc", a=positive(4, 5), b=positive(4, 5), x=floats(4, 5, low=0, high=1))
    add("Betainc", a=doubles(6, low=0.2, high=20), b=doubles(6, low=0.2, high=20), x=doubles(6, low=0, high=1))
    add("Betainc", a=np.array([1, 2, -1, 2, 2], np.float32), b=np.array([2, 1, 1, 2, 2], np.float32),
        x=np.array([0, 1, 0.5, 1.5, 0.5], np.float32))
    add("NextAfter", x1=floats(5), x2=floats(5))
    add("NextAfter", x1=doubles(3), x2=doubles(3))
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64):
        add("PopulationCount", x=np.array([0, 1, 77, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype))
    x = floats(2, 3, 4)
    for exclusive in (False, True):
        for reverse in (False, True):
            add("CumulativeLogsumexp", x=x, axis=int_(1), exclusive=exclusive, reverse=reverse)
    add("CumulativeLogsumexp", x=doubles(3), axis=int_(-1), exclusive=True)
    add("HistogramFixedWidth", values=floats(20), value_range=np.array([-1.0, 1.5], np.float32), nbins=int_(5))
    add("HistogramFixedWidth", values=whole(3, 4), value_range=ints(-4, 7), nbins=int_(3), dtype=tf.int64)
    add("HistogramFixedWidth", values=floats(0), value_range=np.array([0, 1.5], np.float32), nbins=int_(2))


def searches(add):
    rows = np.sort(whole(2, 6), axis=1)
    for op in ("LowerBound", "UpperBound"):
        add(op, sorted_inputs=rows, values=whole(2, 5))
        add(op, sorted_inputs=rows.astype(np.float32), values=floats(2, 3), out_type=tf.int64)
    for reverse in (False, True):
        add("NthElement", input=floats(3, 6), n=int_(2), reverse=reverse)
        add("NthElement", input=whole(5), n=int_(0), reverse=reverse)
    add("ListDiff", x=ints(5, 1, 2, 5, 7), y=ints(1, 7, 9))
    add("ListDiff", x=floats(3), y=floats(0), out_idx=tf.int64)
    add("UnravelIndex", indices=ints(22, 0, 7), dims=ints(4, 3, 2))
    add("UnravelIndex", indices=np.array(5), dims=longs(3, 2))
    add("ApproxTopK", input=floats(2, 9), k=3)
    add("ApproxTopK", input=floats(5), k=2)
    for operation in ("a-b", "b-a", "intersection", "union"):
        add("DenseToDenseSetOperation", set1=ints(5, 1, 2, 5, 9, 9).reshape(2, 1, 3), set2=ints(1, 1, 7, 9).reshape(2, 1, 2),
            set_operation=operation)


def formats(add):
    for x, target in ((floats(3), tf.int32), (floats(2, 3), tf.uint8), (whole(2, 4, low=0, high=255, dtype=np.uint8), tf.float32),
                      (np.array([1, 0xFFFF], np.uint16), tf.int16), (np.array([1, 0xFFFFFFFF], np.uint32), tf.int32),
                      (ints(-1, 7), tf.uint32), (ints(-1, 7), tf.uint16), (np.array([[1, 0xFFFF]], np.uint16), tf.uint32),
                      (doubles(2), tf.int64), (np.array(3.5, np.float32), tf.uint16), (floats(0, 2), tf.float64)):
        add("Bitcast", input=x, type=target)
    add("DeepCopy", x=floats(2, 3))
    add("Empty", shape=ints(2, 3), dtype=tf.float32, init=True)
    add("Empty", shape=ints(0), dtype=tf.int64, init=True)
    for source, target in (("NHWC", "NCHW"), ("NCHW", "NHWC"), ("NHWC", "HWNC")):
        add("DataFormatDimMap", x=ints(0, 3, -1, -3), src_format=source, dst_format=target)
        add("DataFormatVecPermute", x=ints(7, 3, 9, 5), src_format=source, dst_format=target)
        add("DataFormatVecPermute", x=whole(4, 2), src_format=source, dst_format=target)
    add("DataFormatVecPermute", x=longs(7, 3))


def quantized_and_back(add):
    x, none = floats(3, 7, low=-3, high=5), float_(0)
    for signed in (True, False):
        for narrow in (True, False):
            for mode in ("HALF_TO_EVEN", "HALF_UP"):
                shared = dict(signed_input=signed, narrow_range=narrow, round_mode=mode)
                add("QuantizeAndDequantizeV2", input=x, input_min=none, input_max=none, **shared)
                add("QuantizeAndDequantizeV2", input=x, input_min=float_(-1.5 if signed else 0), input_max=float_(2), range_given=True,
                    num_bits=4, **shared)
                add("QuantizeAndDequantizeV4", input=x, input_min=float_(-1.5 if signed else 0), input_max=float_(2),
                    range_given=True, **shared)
        add("QuantizeAndDequantizeV3", input=x, input_min=float_(-1.5 if signed else 0), input_max=float_(2), num_bits=int_(5),
            signed_input=signed)
        add("QuantizeAndDequantizeV3", input=x, input_min=none, input_max=none, num_bits=int_(5), signed_input=signed,
            range_given=False)
        add("QuantizeAndDequantizeV3", input=x, input_min=floats(3, low=-3, high=-1) * signed, input_max=positive(3),
            num_bits=int_(8), signed_input=signed, axis=0)
    add("QuantizeAndDequantizeV2", input=floats(2, 3, 4), input_min=floats(3), input_max=floats(3), axis=1)
    add("QuantizeAndDequantizeV2", input=doubles(5), input_min=np.array(0.0), input_max=np.array(0.0))
    add("QuantizeAndDequantizeV4Grad", gradients=floats(3, 7), input=x, input_min=float_(-1), input_max=float_(2))
    add("QuantizeAndDequantizeV4Grad", gradients=floats(3, 7), input=x, input_min=floats(3) - 2, input_max=positive(3), axis=0)


def cells(add):
    inputs, units, batch, time = 3, 4, 2, 5
    w, b = floats(inputs + units, 4 * units), floats(4 * units)
    peepholes = dict(wci=floats(units), wcf=floats(units), wco=floats(units))
    state, hidden = floats(batch, units), floats(batch, units)
    for options in ({}, {"use_peephole": True}, {"cell_clip": 0.5, "forget_bias": 0.3}, {"cell_clip": -1.0}):
        add("LSTMBlockCell", x=floats(batch, inputs), cs_prev=state, h_prev=hidden, w=w, b=b, **peepholes, **options)
        for length in (time, 3):
            shared = dict(seq_len_max=np.array(length, np.int64), x=floats(time, batch, inputs), cs_prev=state, h_prev=hidden, w=w,
                          b=b, **peepholes)
            add("BlockLSTM", **shared, **options)
            add("BlockLSTMV2", **shared, **{key: value for key, value in options.items() if key != "forget_bias"})
    add("GRUBlockCell", x=floats(batch, inputs), h_prev=hidden, w_ru=floats(inputs + units, 2 * units),
        w_c=floats(inputs + units, units), b_ru=floats(2 * units), b_c=floats(units))
    logits = floats(6, 3, 5)
    places = np.array([[0, 0], [0, 1], [1, 0], [2, 0], [2, 1], [2, 2]], np.int64)
    labels = dict(labels_indices=places, labels_values=ints(1, 3, 3, 0, 0, 2))
    add("CTCLoss", inputs=logits, sequence_length=ints(6, 4, 5), **labels)
    add("CTCLoss", inputs=logits, sequence_length=ints(2, 0, 6), ignore_longer_outputs_than_inputs=True, **labels)
    add("CTCLoss", inputs=logits, sequence_length=ints(2, 1, 3), ignore_longer_outputs_than_inputs=True, **labels)
    add("CTCLoss", inputs=logits, sequence_length=ints(2, 1, 2), ignore_longer_outputs_than_inputs=True, **labels)


def ragged(add):
    add("RaggedRange", starts=ints(0, 5, 8), limits=ints(3, 5, 2), deltas=ints(1, 1, -2))
    add("RaggedRange", starts=float_(0), limits=np.array([1, 0.3], np.float32), deltas=float_(0.25), Tsplits=tf.int32)
    add("RaggedRange", starts=longs(), limits=longs(), deltas=np.array(1))
    splits, inner, values = longs(0, 2, 2, 5), longs(0, 1, 3, 3, 4, 7), floats(7)
    add("RaggedGather", params_nested_splits=[splits], params_dense_values=floats(5, 2), indices=ints(2, 0, 1, 2), OUTPUT_RAGGED_RANK=1)
    add("RaggedGather", params_nested_splits=[splits, inner], params_dense_values=values, indices=ints(2, 0), OUTPUT_RAGGED_RANK=2)
    add("RaggedGather", params_nested_splits=[splits], params_dense_values=floats(5), indices=longs(2, 0, 1, 1).reshape(2, 2),
        OUTPUT_RAGGED_RANK=2)
    add("RaggedTensorToSparse", rt_nested_splits=[splits], rt_dense_values=floats(5))
    add("RaggedTensorToSparse", rt_nested_splits=[splits, inner], rt_dense_values=values)
    add("RaggedTensorToSparse", rt_nested_splits=[splits.astype(np.int32)], rt_dense_values=whole(5, 2))
    for shape in (longs(-1, -1), longs(2, 4), np.array(-1)):
        add("RaggedTensorToTensor", shape=shape, values=floats(5), default_value=float_(9), row_partition_tensors=[splits],
            row_partition_types=["ROW_SPLITS"])
        add("RaggedTensorToTensor", shape=shape, values=floats(4), default_value=float_(9),
            row_partition_tensors=[np.array(4), longs(0, 0, 1, 3)], row_partition_types=["FIRST_DIM_SIZE", "VALUE_ROWIDS"])
    for shape in (longs(-1, -1, -1, 2), longs(4, 1, 2, 2)):
        add("RaggedTensorToTensor", shape=shape, values=floats(7, 2), default_value=floats(2), row_partition_tensors=[splits, inner],
            row_partition_types=["ROW_SPLITS", "ROW_SPLITS"])
    add("RaggedTensorToTensor", shape=longs(-1, -1), values=floats(0), default_value=float_(9), row_partition_tensors=[longs(0)],
        row_partition_types=["ROW_SPLITS"])


def seeded(add):
    key, counter, philox = np.array([1234567890123], np.uint64), np.array([7, 3], np.uint64), int_(1)
    for dtype in (tf.int32, tf.int64):
        low, high = np.array(-5, dtype.as_numpy_dtype), np.array(1000, dtype.as_numpy_dtype)
        for shape in (ints(3, 7), ints(), ints(0)):
            add("StatelessRandomUniformInt", shape=shape, seed=ints(5, -9), minval=low, maxval=high)
            add("StatelessRandomUniformIntV2", shape=shape, key=key, counter=counter, alg=philox, minval=low, maxval=high)
    for dtype in (tf.int32, tf.int64, tf.uint32):
        add("StatelessRandomUniformFullInt", shape=ints(3, 7), seed=longs(5, -9), dtype=dtype)
        add("StatelessRandomUniformFullIntV2", shape=ints(41), key=key, counter=counter, alg=philox, dtype=dtype)
    logits = floats(3, 5)
    logits[1, 2] = -np.inf
    add("StatelessMultinomial", logits=logits, num_samples=int_(7), seed=ints(5, -9))
    add("StatelessMultinomial", logits=doubles(1, 4), num_samples=int_(4), seed=longs(1, 2), output_dtype=tf.int32)


PARTS = (resampled_images, projected_images, colors, best_boxes, more_windows, more_optimizers, sparse_optimizers, more_scatters,
         more_segments, decompositions, more_functions, searches, formats, quantized_and_back, cells, ragged, seeded)
