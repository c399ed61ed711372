"""Arrays and variables that the cases of make_cases.py take, and what TensorFlow says of an op by itself."""

import numpy as np
import tensorflow.compat.v1 as tf

RANDOM = np.random.default_rng(7)


def floats(*shape, low=-2.0, high=2.0, dtype=np.float32):
    return RANDOM.uniform(low, high, shape).astype(dtype)


def doubles(*shape, **limits):
    return floats(*shape, dtype=np.float64, **limits)


def positive(*shape):
    return floats(*shape, low=0.1, high=3.0)


def whole(*shape, low=-9, high=10, dtype=np.int32):
    return RANDOM.integers(low, high, shape).astype(dtype)


def bools(*shape):
    return RANDOM.integers(0, 2, shape).astype(bool)


def ints(*values):
    return np.array(values, np.int32)


def longs(*values):
    return np.array(values, np.int64)


def int_(value):
    return np.array(value, np.int32)


def float_(value):
    return np.array(value, np.float32)


class Variable:
    """An input that is a reference to a variable."""

    def __init__(self, value):
        self.value = np.asarray(value)


class Resource(Variable):
    """An input that is the handle of a variable."""


def tf_shape(op, **arguments):
    """The shape TensorFlow gives the result, in a graph of its own."""
    with tf.Graph().as_default():
        return getattr(tf.raw_ops, op)(**arguments).shape.as_list()


def run(function, **arguments):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(function(**arguments))
