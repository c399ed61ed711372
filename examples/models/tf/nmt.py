"""NMT: translation with an LSTM encoder and decoder of two layers each and attention, unrolled.

Bahdanau et al., "Neural Machine Translation by Jointly Learning to Align and Translate", 2014 (the
attention), and Luong et al., "Effective Approaches to Attention-based Neural Machine Translation",
2015 (the attentional output, and feeding it to the next step).

Scopes: encoder/embedding, encoder/layer_0/step_0/lstm ... encoder/layer_1/step_39/lstm, the same
under decoder, attention/keys, attention/step_0 ... attention/step_39, softmax/step_0 ...
"""

import tensorflow.compat.v1 as tf

from layers import UNIFORM, LstmLayer, at, variable
from training import add_training

LAYERS = 2


def embedded(side, words, vocabulary, units):
    """One lookup per step; words: [batch, steps]."""
    table = variable(f"{side}/embedding/table", [vocabulary, units], UNIFORM)
    with at(f"{side}/embedding"):
        columns = tf.unstack(words, axis=1, name="words")
    inputs = []
    for step, column in enumerate(columns):
        with at(f"{side}/embedding/step_{step}"):
            inputs.append(tf.nn.embedding_lookup(table, column, name="lookup"))
    return inputs


class Attention:
    """Additive attention over `memory` ([batch, steps, units]), and the attentional output."""

    def __init__(self, memory):
        self.memory = memory
        batch, steps, units = memory.shape.as_list()
        self.query_weights = variable("attention/query_weights", [units, units], UNIFORM)
        self.score_weights = variable("attention/score_weights", [units], UNIFORM)
        self.output_weights = variable("attention/output_weights", [2 * units, units], UNIFORM)
        key_weights = variable("attention/key_weights", [units, units], UNIFORM)
        with at("attention/keys"):
            flat = tf.matmul(tf.reshape(memory, [batch * steps, units]), key_weights)
            self.keys = tf.reshape(flat, [batch, steps, units])

    def step(self, number, state):
        """The output [batch, units] of step `number`, whose decoder state is `state`."""
        with at(f"attention/step_{number}"):
            query = tf.expand_dims(tf.matmul(state, self.query_weights), 1)
            scores = tf.reduce_sum(self.score_weights * tf.tanh(self.keys + query), [2])
            share = tf.expand_dims(tf.nn.softmax(scores), 2)
            context = tf.reduce_sum(share * self.memory, [1])
            return tf.tanh(tf.matmul(tf.concat([state, context], 1), self.output_weights))


def build(batch, steps, units, vocabulary, running_sums=False):
    """running_sums: see training.add_training. The softmax weights alone get a gradient per step."""
    with at("input"):
        source = tf.placeholder(tf.int32, [batch, steps], name="source")
        target = tf.placeholder(tf.int32, [batch, steps], name="target")
        expected = tf.placeholder(tf.int32, [batch, steps], name="expected")
        # 0 where a sentence has ended, 1 elsewhere.
        mask = tf.placeholder(tf.float32, [batch, steps], name="mask")

    encoders = [LstmLayer(f"encoder/layer_{n}", batch, units, units) for n in range(LAYERS)]
    outputs = []
    for step, net in enumerate(embedded("encoder", source, vocabulary, units)):
        for layer in encoders:
            net = layer.step(step, net)
        outputs.append(net)
    with at("attention/memory"):
        memory = tf.stack(outputs, axis=1)
    attention = Attention(memory)

    # The bottom layer is fed the attentional output of the step before, beside the word.
    decoders = [
        LstmLayer(f"decoder/layer_{n}", batch, units if n else 2 * units, units, after=encoder)
        for n, encoder in enumerate(encoders)
    ]
    with at("attention/initial_output"):
        attended = tf.zeros([batch, units])
    weights = variable("softmax/weights", [units, vocabulary], UNIFORM)
    biases = variable("softmax/biases", [vocabulary], tf.zeros_initializer())
    with at("softmax"):
        words = tf.unstack(expected, axis=1, name="words")
        counts = tf.unstack(mask, axis=1, name="mask")
    losses = []
    for step, net in enumerate(embedded("decoder", target, vocabulary, units)):
        with at(f"decoder/layer_0/step_{step}/feed"):
            net = tf.concat([net, attended], 1)
        for layer in decoders:
            net = layer.step(step, net)
        attended = attention.step(step, net)
        with at(f"softmax/step_{step}"):
            logits = tf.nn.bias_add(tf.matmul(attended, weights), biases)
            entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=words[step], logits=logits, name="cross_entropy"
            )
            losses.append(tf.reduce_sum(entropy * counts[step]))
    with at("loss"):
        loss = tf.divide(tf.add_n(losses), batch, name="total")
    add_training(
        loss, tf.train.GradientDescentOptimizer(1.0), clip_norm=5.0, running_sum=running_sums
    )
