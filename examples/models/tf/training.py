"""What turns a loss into a training graph: gradients, optimizer, initialization, checkpoints."""

import tensorflow.compat.v1 as tf

TRAIN_OP = "train/train_op"


def add_training(loss, optimizer, *, clip_norm=None, average_decay=None, running_sum=False):
    """Adds one training step as the op `train/train_op`, and what a training program has besides.

    clip_norm: the gradients are scaled so that their global norm is at most this.
    average_decay: every trainable variable gets a moving average, updated in the step.
    running_sum: where several gradients meet, they are added one after another as they come, not
    in one AddN that waits for all of them; takes less memory and more ops.
    """
    variables = tf.trainable_variables()
    step = tf.get_variable(
        "global_step",
        [],
        tf.int64,
        tf.zeros_initializer(),
        trainable=False,
        use_resource=False,
        collections=[tf.GraphKeys.GLOBAL_VARIABLES, tf.GraphKeys.GLOBAL_STEP],
    )
    method = tf.AggregationMethod
    pairs = optimizer.compute_gradients(
        loss,
        variables,
        colocate_gradients_with_ops=True,
        aggregation_method=method.EXPERIMENTAL_TREE if running_sum else method.ADD_N,
    )
    gradients = [gradient for gradient, _ in pairs]
    if clip_norm is not None:
        gradients, _ = tf.clip_by_global_norm(gradients, clip_norm, name="train/clip")
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        done = optimizer.apply_gradients(zip(gradients, variables), step, name="train/optimizer")
    if average_decay is not None:
        averages = tf.train.ExponentialMovingAverage(average_decay, step, name="train/average")
        with tf.control_dependencies([done]):
            done = averages.apply(variables)
    tf.group(done, name=TRAIN_OP)

    tf.group(tf.global_variables_initializer(), name="init")
    tf.train.Saver(name="save")
