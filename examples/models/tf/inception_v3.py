"""Inception-V3 with its auxiliary head, as trained on ImageNet.

Szegedy et al., "Rethinking the Inception Architecture for Computer Vision", 2015; the sizes that
the text leaves open are those of the authors' published network.

Scopes: stem/conv_1a_3x3 ... stem/pool_5a, then mixed_5b ... mixed_7c with branch_0 ... branch_3 in
each, then aux and logits.
"""

import tensorflow.compat.v1 as tf

from layers import batch_norm, conv, dense, dropout, image_inputs, image_loss, pool
from training import add_training

CLASSES = 1001  # ImageNet's, and background
SIZE = 299

# A layer is (name, filters, size) with stride 1 and padding, or has (stride, padding) after that.
# A pool is (kind of pool, size, stride, padding). A set of layers is applied to one input and
# concatenated.
HALVE = (2, "VALID")
AVERAGE = ("avg", 3, 1, "SAME")
SHRINK = ("max", 3, 2, "VALID")


def block_35(pooled):
    """5b to 5d: 35 x 35. `pooled`: the filters behind the pool."""
    return [
        [("conv_1x1", 64, 1)],
        [("conv_a_1x1", 48, 1), ("conv_b_5x5", 64, 5)],
        [("conv_a_1x1", 64, 1), ("conv_b_3x3", 96, 3), ("conv_c_3x3", 96, 3)],
        [AVERAGE, ("conv_b_1x1", pooled, 1)],
    ]


def block_17(inner):
    """6b to 6e: 17 x 17. `inner`: the filters of the factorized 7 x 7 convolutions."""
    return [
        [("conv_1x1", 192, 1)],
        [("conv_a_1x1", inner, 1), ("conv_b_1x7", inner, (1, 7)), ("conv_c_7x1", 192, (7, 1))],
        [
            ("conv_a_1x1", inner, 1),
            ("conv_b_7x1", inner, (7, 1)),
            ("conv_c_1x7", inner, (1, 7)),
            ("conv_d_7x1", inner, (7, 1)),
            ("conv_e_1x7", 192, (1, 7)),
        ],
        [AVERAGE, ("conv_b_1x1", 192, 1)],
    ]


BLOCK_8 = [
    [("conv_1x1", 320, 1)],
    [("conv_a_1x1", 384, 1), {("conv_b_1x3", 384, (1, 3)), ("conv_c_3x1", 384, (3, 1))}],
    [
        ("conv_a_1x1", 448, 1),
        ("conv_b_3x3", 384, 3),
        {("conv_c_1x3", 384, (1, 3)), ("conv_d_3x1", 384, (3, 1))},
    ],
    [AVERAGE, ("conv_b_1x1", 192, 1)],
]

STEM = [
    ("conv_1a_3x3", 32, 3, HALVE),
    ("conv_2a_3x3", 32, 3, (1, "VALID")),
    ("conv_2b_3x3", 64, 3),
    SHRINK,
    ("conv_3b_1x1", 80, 1),
    ("conv_4a_3x3", 192, 3, (1, "VALID")),
    SHRINK,
]

BLOCKS = {
    "mixed_5b": block_35(32),
    "mixed_5c": block_35(64),
    "mixed_5d": block_35(64),
    "mixed_6a": [
        [("conv_3x3", 384, 3, HALVE)],
        [("conv_a_1x1", 64, 1), ("conv_b_3x3", 96, 3), ("conv_c_3x3", 96, 3, HALVE)],
        [SHRINK],
    ],
    "mixed_6b": block_17(128),
    "mixed_6c": block_17(160),
    "mixed_6d": block_17(160),
    "mixed_6e": block_17(192),
    "mixed_7a": [
        [("conv_a_1x1", 192, 1), ("conv_b_3x3", 320, 3, HALVE)],
        [
            ("conv_a_1x1", 192, 1),
            ("conv_b_1x7", 192, (1, 7)),
            ("conv_c_7x1", 192, (7, 1)),
            ("conv_d_3x3", 192, 3, HALVE),
        ],
        [SHRINK],
    ],
    "mixed_7b": BLOCK_8,
    "mixed_7c": BLOCK_8,
}


def conv_layer(net, name, filters, size, how=(1, "SAME")):
    """Convolution, batch normalization without scale, ReLU."""
    with tf.variable_scope(name):
        net = conv(net, filters, size, *how)
        return tf.nn.relu(batch_norm(net, fused=False, scale=False))


def apply_layer(net, layer):
    if isinstance(layer, set):
        return tf.concat([apply_layer(net, part) for part in sorted(layer)], axis=3)
    if layer in (AVERAGE, SHRINK):
        return pool(net, *layer)
    return conv_layer(net, *layer)


def block(net, branches):
    ends = []
    for number, layers in enumerate(branches):
        with tf.variable_scope(f"branch_{number}"):
            end = net
            for layer in layers:
                end = apply_layer(end, layer)
            ends.append(end)
    return tf.concat(ends, axis=3)


def network(images):
    """The logits of the classifier and of the auxiliary one."""
    net = images
    with tf.variable_scope("stem"):
        for layer in STEM:
            net = apply_layer(net, layer)
    for name, branches in BLOCKS.items():
        with tf.variable_scope(name):
            net = block(net, branches)
        if name == "mixed_6e":
            with tf.variable_scope("aux"):
                side = pool(net, "avg", 5, 3, "VALID")
                side = conv_layer(side, "conv_a_1x1", 128, 1)
                side = conv_layer(side, "conv_b_5x5", 768, 5, (1, "VALID"))
                aux = dense(tf.squeeze(side, [1, 2]), CLASSES, "dense")
    with tf.variable_scope("logits"):
        net = pool(net, "avg", 8, 1, "VALID")
        net = dropout(net, keep=0.8)
        logits = dense(tf.squeeze(net, [1, 2]), CLASSES, "dense")
    return logits, aux


def build(batch):
    images, labels = image_inputs(batch, SIZE)
    logits, aux = network(images)
    loss = image_loss(labels, [("logits", logits, 1.0), ("aux", aux, 0.4)], CLASSES)
    add_training(loss, tf.train.AdamOptimizer(1e-3), average_decay=0.9999)
