#!/usr/bin/env python3
"""Makes the graphs beside it: what a training step written as tf.function looks like in a file.

    python make_graphs.py        with tensorflow 2.21 and keras 3.15

Variables come into such a graph from outside. In a function's graph each is a placeholder of type resource that says
neither type nor shape; in a SavedModel a VarHandleOp in the graph, and an argument of the functions that use it. The
script prints what captured_test.cpp expects: the bytes of a model's variables and of its optimizer's.
"""

import gzip
import os
import pathlib
import shutil
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import keras
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

HERE = pathlib.Path(__file__).resolve().parent
BATCH = 8
LAYERS = keras.layers


def write(name, message):
    for node in message.node:  # names in the user's program
        node.attr.pop("_user_specified_name", None)
    path = HERE / (name + ".pb.gz")
    path.write_bytes(gzip.compress(message.SerializeToString(deterministic=True), 9, mtime=0))
    print(f"{name}: {len(message.node)} nodes, {path.stat().st_size} bytes")


def bytes_of(variables):
    return sum(v.shape.num_elements() * tf.as_dtype(v.dtype).size for v in variables)


def function_graph(function, *specs, add_shapes=True):
    return function.get_concrete_function(*specs).graph.as_graph_def(add_shapes=add_shapes)


def training_step(model, optimizer):
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer.build(model.trainable_variables)

    @tf.function
    def step(inputs, labels):
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(inputs, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    print(f"  model {bytes_of(model.variables)} bytes, optimizer {bytes_of(optimizer.variables)}")
    return step


def keras_steps():
    labels = tf.TensorSpec([BATCH], tf.int32)
    dense = keras.Sequential([LAYERS.Input((20,)), LAYERS.Dense(30, "relu"), LAYERS.Dense(10)])
    step = training_step(dense, keras.optimizers.Adam())
    vectors = tf.TensorSpec([BATCH, 20], tf.float32)
    write("dense_adam", function_graph(step, vectors, labels))
    write("dense_adam_without_shapes", function_graph(step, vectors, labels, add_shapes=False))

    conv = keras.Sequential(
        [
            LAYERS.Input((16, 16, 3)),
            LAYERS.Conv2D(8, 3),
            LAYERS.BatchNormalization(),
            LAYERS.ReLU(),
            LAYERS.GlobalAveragePooling2D(),
            LAYERS.Dense(10),
        ]
    )
    step = training_step(conv, keras.optimizers.SGD(0.1, momentum=0.9))
    write("conv_momentum", function_graph(step, tf.TensorSpec([BATCH, 16, 16, 3], tf.float32), labels))

    lstm = keras.Sequential([LAYERS.Input((12,)), LAYERS.Embedding(50, 16), LAYERS.LSTM(24), LAYERS.Dense(10)])
    step = training_step(lstm, keras.optimizers.Adam())
    write("lstm_adam", function_graph(step, tf.TensorSpec([BATCH, 12], tf.int32), labels))


def optimizer_ops():
    """The optimizers' own ops, dense and sparse, on a table that is gathered from."""
    table, matrix = tf.Variable(tf.zeros([50, 16])), tf.Variable(tf.zeros([16, 10]))
    slots = [[tf.Variable(tf.zeros(v.shape)) for _ in range(2)] for v in (table, matrix)]
    count, state = tf.Variable(0, dtype=tf.int64), tf.Variable(tf.zeros([3], tf.int64))
    raw = tf.raw_ops

    @tf.function
    def step(tokens, labels):
        noise = raw.StatefulUniform(resource=state.handle, algorithm=1, shape=[BATCH, 16], dtype=tf.float32)
        with tf.GradientTape() as tape:
            rows = tf.gather(table, tokens) + noise
            logits = tf.matmul(rows, matrix)
            loss = tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
        of_table, of_matrix = tape.gradient(loss, [table, matrix])
        one = tf.constant(1.0)
        raw.ResourceApplyAdam(
            var=matrix.handle, m=slots[1][0].handle, v=slots[1][1].handle, beta1_power=one, beta2_power=one, lr=one,
            beta1=one, beta2=one, epsilon=one, grad=of_matrix)
        raw.ResourceSparseApplyAdagradV2(
            var=table.handle, accum=slots[0][0].handle, lr=one, epsilon=one, grad=of_table.values,
            indices=of_table.indices)
        raw.ResourceScatterAdd(resource=slots[0][1].handle, indices=of_table.indices, updates=of_table.values)
        for slot in slots[0]:
            slot.assign(slot * 0.9)
        count.assign_add(1)

    variables = [table, matrix, *slots[0], *slots[1], count, state]
    print(f"  all variables {bytes_of(variables)} bytes")
    write("optimizer_ops", function_graph(
        step, tf.TensorSpec([BATCH], tf.int32), tf.TensorSpec([BATCH], tf.int32)))


class Layered(tf.Module):
    """Functions in functions, one of them called twice; a loop and a branch that read variables."""

    def __init__(self):
        super().__init__()
        self.first = tf.Variable(tf.ones([32, 32]), name="first")
        self.second = tf.Variable(tf.ones([32, 32]), name="second")
        self.rounds = tf.Variable(0, dtype=tf.int64, name="rounds")

    @tf.function
    def layer(self, x):
        return tf.nn.relu(tf.matmul(x, self.first))

    @tf.function(input_signature=[tf.TensorSpec([None, 32], tf.float32)])
    def serve(self, x):
        x = self.layer(self.layer(x))
        x = tf.while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, tf.matmul(x, self.second)), [0, x])[1]
        if tf.reduce_sum(x) > 0:
            x = x + self.second[0]
        else:
            x = tf.concat([x, x], 0)
        self.rounds.assign_add(1)
        return tf.map_fn(lambda row: row * 2.0, x)


def layered():
    module = Layered()
    print(f"  all variables {bytes_of(module.variables)} bytes")
    write("layered", function_graph(module.serve, tf.TensorSpec([None, 32], tf.float32)))
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(module, folder, module.serve)
        path = HERE / "layered_saved_model.pb.gz"
        path.write_bytes(gzip.compress((pathlib.Path(folder) / "saved_model.pb").read_bytes(), 9, mtime=0))
        print(f"layered_saved_model: {path.stat().st_size} bytes")


class Saved(tf.Module):
    """Values of several types, read by a function in a function; what a variable holds tells it from others."""

    def __init__(self):
        super().__init__()
        self.matrix = tf.Variable(tf.reshape(tf.range(6, dtype=tf.float32), [2, 3]), name="same_name")
        self.row = tf.Variable([10.0, 20.0, 30.0], name="same_name")
        self.halves = tf.Variable(tf.constant([1.5, -2.0, 0.0], tf.bfloat16))
        self.steps = tf.Variable(7, dtype=tf.int64)
        self.factor = keras.Variable([2.0, 4.0, 8.0])  # a copy of it is saved

    @tf.function
    def layer(self, x):
        return tf.matmul(x, self.matrix) + self.row

    @tf.function(input_signature=[])
    def serve(self):
        self.steps.assign_add(1)
        y = (self.layer(tf.ones([1, 2])) + tf.cast(self.halves, tf.float32)) * self.factor.value
        return {"y": y, "steps": self.steps + 0}


def without_declarations(meta_graph):
    """Without what Berth does not read, which is most of the file."""
    meta_graph.meta_info_def.ClearField("stripped_op_list")
    meta_graph.ClearField("object_graph_def")


def saved_values():
    module, folder = Saved(), HERE / "saved_values"
    shutil.rmtree(folder, ignore_errors=True)
    tf.saved_model.save(module, str(folder), module.serve)
    (folder / "fingerprint.pb").unlink()
    (folder / "assets").rmdir()
    path = folder / "saved_model.pb"
    model = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    without_declarations(model.meta_graphs[0])
    path.write_bytes(model.SerializeToString(deterministic=True))
    print(f"saved_values: {path.stat().st_size} bytes, {module.serve()}")


def session_values():
    """A graph of TensorFlow 1 with both kinds of variables, one of them in two parts."""
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        matrix = v1.get_variable("matrix", initializer=[[1.0, 2.0], [3.0, 4.0]], use_resource=False)
        row = v1.get_variable("row", initializer=[5.0, 6.0], use_resource=True)
        table = v1.get_variable("table", [4, 2], initializer=v1.ones_initializer(), use_resource=False,
                                partitioner=v1.fixed_size_partitioner(2))
        tf.add(tf.matmul(tf.convert_to_tensor(table), matrix), row, name="y")
        session.run(v1.global_variables_initializer())
        v1.train.Saver().save(session, str(HERE / "session_values"))
    (HERE / "checkpoint").unlink()
    path = HERE / "session_values.meta"
    meta_graph = meta_graph_pb2.MetaGraphDef.FromString(path.read_bytes())
    without_declarations(meta_graph)
    path.write_bytes(meta_graph.SerializeToString(deterministic=True))
    print(f"session_values: {path.stat().st_size} bytes")


if __name__ == "__main__":
    keras.utils.set_random_seed(7)
    keras_steps()
    optimizer_ops()
    layered()
    saved_values()
    session_values()
