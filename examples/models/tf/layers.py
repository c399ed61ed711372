"""Layers of the benchmark graphs, spelled out in ops as TensorFlow 1 programs had them.

Every function adds ops to the default graph. Variables are reference variables (VariableV2), which
is what the programs of 2017 and 2018 had. Images are NHWC, tensors are float32.
"""

import tensorflow.compat.v1 as tf

WEIGHT_DECAY = 4e-5


def variable(name, shape, initializer, trainable=True):
    return tf.get_variable(
        name, shape, tf.float32, initializer, trainable=trainable, use_resource=False
    )


def decayed(weights):
    """Adds the L2 penalty of `weights` to the regularization losses, and returns them."""
    with tf.name_scope("regularizer"):
        tf.add_to_collection(
            tf.GraphKeys.REGULARIZATION_LOSSES,
            tf.multiply(WEIGHT_DECAY, tf.nn.l2_loss(weights), name="penalty"),
        )
    return weights


# --------------------------------------------------------------------------------------------------
# Image networks


def channels(net):
    return net.shape[3].value


def pair(size):
    """A size given once for both directions, or as (height, width)."""
    return size if isinstance(size, tuple) else (size, size)


def conv(net, filters, size, stride=1, padding="SAME"):
    """A convolution without bias."""
    weights = decayed(
        variable(
            "weights",
            [*pair(size), channels(net), filters],
            tf.variance_scaling_initializer(scale=2.0, mode="fan_out"),
        )
    )
    return tf.nn.conv2d(net, weights, [1, stride, stride, 1], padding, name="Conv2D")


def depthwise_conv(net, size, stride=1):
    """One filter of size x size for each channel."""
    weights = decayed(
        variable(
            "depthwise_weights",
            [size, size, channels(net), 1],
            tf.variance_scaling_initializer(scale=2.0, mode="fan_out"),
        )
    )
    return tf.nn.depthwise_conv2d_native(
        net, weights, [1, stride, stride, 1], "SAME", name="depthwise"
    )


def pool(net, kind, size, stride=1, padding="SAME"):
    function = {"avg": tf.nn.avg_pool, "max": tf.nn.max_pool}[kind]
    height, width = pair(size)
    return function(
        net, [1, height, width, 1], [1, stride, stride, 1], padding, name=f"{kind}_pool"
    )


def batch_norm(net, *, fused, scale, decay=0.9997, epsilon=1e-3):
    """Batch normalization in training, with the ops that move its averages.

    fused: one FusedBatchNormV3 op; otherwise moments and normalization in elementary ops, which is
    what a TensorFlow program got unless it asked for the fused op, up to release 1.3.
    """
    depth = [channels(net)]
    with tf.variable_scope("batch_norm"):
        beta = variable("beta", depth, tf.zeros_initializer())
        gamma = variable("gamma", depth, tf.ones_initializer()) if scale or fused else None
        averages = [
            variable("moving_mean", depth, tf.zeros_initializer(), trainable=False),
            variable("moving_variance", depth, tf.ones_initializer(), trainable=False),
        ]
        if fused:
            net, mean, variance = tf.nn.fused_batch_norm(net, gamma, beta, epsilon=epsilon)
        else:
            mean, variance = tf.nn.moments(net, [0, 1, 2], name="moments")
            net = tf.nn.batch_normalization(
                net, mean, variance, beta, gamma, epsilon, name="normalize"
            )
        for average, value in zip(averages, [mean, variance]):
            with tf.name_scope(f"update_{average.op.name.rsplit('/', 1)[-1]}"):
                tf.add_to_collection(
                    tf.GraphKeys.UPDATE_OPS,
                    tf.assign_sub(average, (average - value) * (1 - decay)),
                )
    return net


def dropout(net, keep):
    return tf.nn.dropout(net, rate=1 - keep, name="dropout")


def dense(net, units, name):
    """A matrix product with bias, of [batch, inputs] to [batch, units]."""
    with tf.variable_scope(name):
        weights = decayed(
            variable(
                "weights", [net.shape[1].value, units], tf.truncated_normal_initializer(0, 0.01)
            )
        )
        biases = variable("biases", [units], tf.zeros_initializer())
        return tf.nn.bias_add(tf.matmul(net, weights), biases)


def image_inputs(batch, size):
    """Images and their labels, fed to the step."""
    with tf.name_scope("input"):
        images = tf.placeholder(tf.float32, [batch, size, size, 3], name="images")
        labels = tf.placeholder(tf.int32, [batch], name="labels")
    return images, labels


def image_loss(labels, heads, classes, smoothing=0.1):
    """The sum of the heads' softmax cross entropies with smoothed labels, and of the penalties.

    heads: (scope name, logits, weight in the loss) of each classifier.
    """
    losses = []
    for name, logits, weight in heads:
        with tf.name_scope(f"{name}/"):
            targets = tf.one_hot(labels, classes) * (1 - smoothing) + smoothing / classes
            entropy = tf.nn.softmax_cross_entropy_with_logits_v2(labels=targets, logits=logits)
            losses.append(tf.multiply(weight, tf.reduce_mean(entropy), name="loss"))
    with tf.name_scope("loss"):
        penalty = tf.add_n(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES), name="penalty")
        return tf.add_n([*losses, penalty], name="total")


# --------------------------------------------------------------------------------------------------
# Recurrent networks


def at(name):
    """The scope of exactly this name, wherever it is opened and however often."""
    return tf.name_scope(f"{name}/")


UNIFORM = tf.random_uniform_initializer(-0.1, 0.1)


class LstmLayer:
    """An LSTM layer without peepholes: the cell of Zaremba et al., 2014, one step at a time.

    One kernel for all gates and for input and state together, [inputs + units, 4 * units].
    The state is zero at first, or that which the layer `after` has then.
    """

    def __init__(self, scope, batch, inputs, units, after=None):
        self.scope = scope
        with tf.variable_scope(f"{scope}/lstm"):
            self.kernel = variable("kernel", [inputs + units, 4 * units], UNIFORM)
            self.bias = variable("bias", [4 * units], tf.zeros_initializer())
        if after is not None:
            self.cell, self.hidden = after.cell, after.hidden
            return
        with at(f"{scope}/initial_state"):
            self.cell = tf.zeros([batch, units], name="cell")
            self.hidden = tf.zeros([batch, units], name="hidden")

    def step(self, number, net):
        """Advances the state by `net` ([batch, inputs]); the output is the new hidden state."""
        with at(f"{self.scope}/step_{number}/lstm"):
            joined = tf.concat([net, self.hidden], axis=1)
            gates = tf.nn.bias_add(tf.matmul(joined, self.kernel), self.bias)
            update, candidate, forget, output = tf.split(gates, 4, axis=1)
            kept = self.cell * tf.sigmoid(forget + 1.0)
            self.cell = kept + tf.sigmoid(update) * tf.tanh(candidate)
            self.hidden = tf.tanh(self.cell) * tf.sigmoid(output)
        return self.hidden
