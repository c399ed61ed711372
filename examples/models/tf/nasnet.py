"""NASNet-A (4 @ 1056), the "mobile" network, as trained on ImageNet.

Zoph et al., "Learning Transferable Architectures for Scalable Image Recognition", 2017, figure 4
and appendix A; the sizes that the text leaves open are those of the authors' published network.

Scopes: conv_0, cell_stem_0, cell_stem_1, cell_0 ... cell_11 with reduction_cell_0 before cell_4 and
reduction_cell_1 before cell_8, aux, logits. In each cell: begin and prev (the two inputs), then
combine_0 ... combine_4 with left, right and the sum, then output.
"""

import tensorflow.compat.v1 as tf

from layers import (
    batch_norm,
    channels,
    conv,
    dense,
    depthwise_conv,
    dropout,
    image_inputs,
    image_loss,
    pool,
)
from training import add_training

CLASSES = 1001  # ImageNet's, and background
SIZE = 224
CELLS = 12
FILTERS = 44
REDUCTIONS = [4, 8]  # before these cells; every reduction doubles the filters
AUX_CELL = 7

# Five sums of two operations, each on one of the states so far: 0 is the cell's input, 1 the input
# of the cell before, 2 and up are the sums. `output`: the states that are concatenated.
NORMAL = {
    "sums": [
        (("separable", 5), 0, ("separable", 3), 1),
        (("separable", 5), 1, ("separable", 3), 1),
        (("avg", 3), 0, None, 1),
        (("avg", 3), 1, ("avg", 3), 1),
        (("separable", 3), 0, None, 0),
    ],
    "output": [1, 2, 3, 4, 5, 6],
}
REDUCTION = {
    "sums": [
        (("separable", 5), 0, ("separable", 7), 1),
        (("max", 3), 0, ("separable", 7), 1),
        (("avg", 3), 0, ("separable", 5), 1),
        (None, 3, ("avg", 3), 2),
        (("separable", 3), 2, ("max", 3), 0),
    ],
    "output": [3, 4, 5, 6],
}


def normalized(net):
    return batch_norm(net, fused=True, scale=True)


def relu_conv(net, filters, size=1):
    return normalized(conv(tf.nn.relu(net), filters, size))


def separable(net, filters, size, stride):
    """ReLU, separable convolution and normalization, twice; the first one strides."""
    for number in range(2):
        with tf.variable_scope(f"separable_{number}"):
            net = depthwise_conv(tf.nn.relu(net), size, stride)
            net = normalized(conv(net, filters, 1))
        stride = 1
    return net


def halved(net, filters):
    """Half the height and width without losing every other pixel: two shifted samplings."""
    net = tf.nn.relu(net)
    with tf.variable_scope("path_0"):
        even = conv(pool(net, "avg", 1, 2, "VALID"), filters // 2, 1)
    with tf.variable_scope("path_1"):
        shifted = tf.pad(net, [[0, 0], [0, 1], [0, 1], [0, 0]])[:, 1:, 1:, :]
        odd = conv(pool(shifted, "avg", 1, 2, "VALID"), filters // 2, 1)
    return normalized(tf.concat([even, odd], axis=3))


def operation(net, what, filters, stride):
    if what is None:
        return net
    kind, size = what
    if kind == "separable":
        return separable(net, filters, size, stride)
    return pool(net, kind, size, stride)


def cell(name, plan, net, previous, filters, stride):
    with tf.variable_scope(name):
        if previous is None:
            previous = net
        else:
            with tf.variable_scope("prev"):
                if previous.shape[2] != net.shape[2]:
                    previous = halved(previous, filters)
                elif channels(previous) != filters:
                    previous = relu_conv(previous, filters)
        with tf.variable_scope("begin"):
            states = [relu_conv(net, filters), previous]
        for number, (left, from_left, right, from_right) in enumerate(plan["sums"]):
            with tf.variable_scope(f"combine_{number}"):
                ends = []
                for side, what, source in [("left", left, from_left), ("right", right, from_right)]:
                    with tf.variable_scope(side):
                        # Sums are of the output's size already.
                        ends.append(
                            operation(states[source], what, filters, stride if source < 2 else 1)
                        )
                states.append(tf.add(*ends, name="sum"))
        return tf.concat([states[index] for index in plan["output"]], axis=3, name="output")


def auxiliary(net):
    with tf.variable_scope("aux"):
        net = pool(tf.nn.relu(net), "avg", 5, 3, "VALID")
        with tf.variable_scope("conv_0"):
            net = tf.nn.relu(normalized(conv(net, 128, 1)))
        with tf.variable_scope("conv_1"):
            size = (net.shape[1].value, net.shape[2].value)
            net = tf.nn.relu(normalized(conv(net, 768, size, padding="VALID")))
        return dense(tf.squeeze(net, [1, 2]), CLASSES, "dense")


def network(images):
    """The logits of the classifier and of the auxiliary one."""
    with tf.variable_scope("conv_0"):
        net = normalized(conv(images, 32, 3, 2, "VALID"))
    states = [None, net]  # outputs of the cells, the latest last

    def add(name, plan, filters, stride, previous):
        states.append(cell(name, plan, states[-1], previous, filters, stride))

    for number in range(2):
        add(f"cell_stem_{number}", REDUCTION, FILTERS * 2**number // 4, 2, states[-2])
    filters = FILTERS
    for number in range(CELLS):
        previous = states[-2]
        if number in REDUCTIONS:
            filters *= 2
            add(f"reduction_cell_{REDUCTIONS.index(number)}", REDUCTION, filters, 2, previous)
            previous = states[-2]
        add(f"cell_{number}", NORMAL, filters, 1, previous)
        if number == AUX_CELL:
            aux = auxiliary(states[-1])
    with tf.variable_scope("logits"):
        net = tf.reduce_mean(tf.nn.relu(states[-1]), [1, 2])
        logits = dense(dropout(net, keep=0.5), CLASSES, "dense")
    return logits, aux


def build(batch):
    images, labels = image_inputs(batch, SIZE)
    logits, aux = network(images)
    loss = image_loss(labels, [("logits", logits, 1.0), ("aux", aux, 0.4)], CLASSES)
    optimizer = tf.train.RMSPropOptimizer(0.04, decay=0.9, momentum=0.9, epsilon=1.0)
    add_training(loss, optimizer, clip_norm=10.0)
