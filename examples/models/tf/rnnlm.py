"""RNNLM: a language model of two LSTM layers, unrolled.

Zaremba et al., "Recurrent Neural Network Regularization", 2014, without the dropout; sizes as
Mirhoseini et al. took them in 2017.

Scopes: embedding, layer_0/step_0/lstm ... layer_1/step_39/lstm, softmax.
"""

import tensorflow.compat.v1 as tf

from layers import UNIFORM, LstmLayer, at, variable
from training import add_training

LAYERS = 2


def build(batch, steps, units, vocabulary):
    with at("input"):
        words = tf.placeholder(tf.int32, [batch, steps], name="words")
        targets = tf.placeholder(tf.int32, [batch, steps], name="targets")

    table = variable("embedding/table", [vocabulary, units], UNIFORM)
    with at("embedding"):
        inputs = tf.unstack(tf.nn.embedding_lookup(table, words, name="lookup"), axis=1)

    layers = [LstmLayer(f"layer_{number}", batch, units, units) for number in range(LAYERS)]
    outputs = []
    for step, net in enumerate(inputs):
        for layer in layers:
            net = layer.step(step, net)
        outputs.append(net)

    weights = variable("softmax/weights", [units, vocabulary], UNIFORM)
    biases = variable("softmax/biases", [vocabulary], tf.zeros_initializer())
    with at("softmax"):
        joined = tf.reshape(tf.stack(outputs, axis=1), [batch * steps, units])
        logits = tf.nn.bias_add(tf.matmul(joined, weights), biases)
        entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=tf.reshape(targets, [-1]), logits=logits, name="cross_entropy"
        )
    with at("loss"):
        loss = tf.divide(tf.reduce_sum(entropy), batch, name="total")

    # One AddN per kernel would hold 40 gradients of 134 MB for each layer at once, 10.7 GB in all,
    # and the network is known to train on one K80 of 12 GB.
    add_training(loss, tf.train.GradientDescentOptimizer(1.0), clip_norm=5.0, running_sum=True)
