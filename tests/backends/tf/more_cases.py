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


PARTS = (resampled_images, projected_images, colors, best_boxes, more_windows)
