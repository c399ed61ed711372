#!/usr/bin/env python3
"""Makes control_flow.pb.gz: branches, loops and lists as TensorFlow computes them, for control_flow_test.cpp; and
old_branches.pb.gz for old_branches_test.cpp.

    python make_control_flow.py     with the packages of examples/models/tf/requirements.txt

One graph of small cases. Inputs are constants behind an Identity, so that nothing is known before it runs. Case N gives
N/out_I, and N/expected_I are constants: what TensorFlow computes. Everything lies behind the node `all`. Cases whose names
begin with "old" are written with Enter, Merge, Switch, NextIteration and Exit; the others run functions.

Branches in old_branches.pb.gz are written with Switch and Merge. Placeholders say which are taken: N/expected_C_I is for
the first C where `first` is C % 2 and `second` is C // 2.
"""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow.compat.v1 as tf

from make_cases import HERE, floats, save

raw = tf.raw_ops


def given(value):
    return tf.identity(tf.constant(value))


class Cases:
    def __init__(self):
        self.outputs = {}

    def add(self, name, make):
        with tf.name_scope(name):
            outputs = make()
        if not isinstance(outputs, (list, tuple)):
            outputs = [outputs]
        for i, output in enumerate(outputs):
            self.outputs[f"{name}/out_{i}"] = tf.identity(output, name=f"{name}/out_{i}")

    def finish(self):
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            values = session.run(self.outputs)
        for name, value in values.items():
            tf.constant(value, name=name.replace("/out_", "/expected_"))
        everything = [tf.get_default_graph().get_operation_by_name(name) for name in values]
        everything += [tf.get_default_graph().get_operation_by_name(name.replace("/out_", "/expected_"))
                       for name in values]
        with tf.control_dependencies(everything):
            tf.no_op(name="all")
        return tf.get_default_graph().as_graph_def()


def branches(add):
    x = floats(3, 4)
    for name, condition in (("taken", True), ("not_taken", False)):
        add(name, lambda condition=condition: tf.cond(
            given(condition), lambda: tf.nn.relu(given(x)) * 2.0, lambda: tf.tanh(given(x)) - 1.0))
    for index in (0, 1, 5, -1):
        add(f"case_{index + 1}", lambda index=index: tf.switch_case(
            given(np.int32(index)), [lambda: given(x) + 1.0, lambda: given(x) * given(x), lambda: -given(x)]))
    add("nested", lambda: tf.cond(
        given(True), lambda: tf.cond(given(False), lambda: given(x), lambda: tf.exp(given(x))), lambda: given(x) * 7.0))


def loops(add):
    a = floats(4, 4, low=-0.5, high=0.5)
    add("power", lambda: tf.while_loop(
        lambda i, m: i < given(np.int32(6)), lambda i, m: (i + 1, tf.matmul(m, given(a))),
        [given(np.int32(0)), given(np.eye(4, dtype=np.float32))]))
    add("never", lambda: tf.while_loop(lambda i, m: i > 3, lambda i, m: (i + 1, m * 2.0), [given(np.int32(0)), given(a)]))
    add("grid", lambda: tf.while_loop(
        lambda i, m: i < 3,
        lambda i, m: (i + 1, tf.while_loop(lambda j, n: j < i + 1, lambda j, n: (j + 1, n + given(a)),
                                           [tf.constant(0), m * 2.0])[1]),
        [given(np.int32(0)), given(a)]))


def gradients(add):
    """Loops hand what they computed to their gradients, on stacks (old) or in lists."""
    x, a = floats(3, 4), floats(4, 4, low=-0.5, high=0.5)

    def loss_and_gradients():
        begin, factor = given(x), given(a)
        _, end = tf.while_loop(lambda i, m: i < given(np.int32(5)), lambda i, m: (i + 1, tf.tanh(tf.matmul(m, factor)) + m),
                               [given(np.int32(0)), begin])
        loss = tf.reduce_sum(end * end)
        return [loss, *tf.gradients(loss, [begin, factor])]

    add("gradients", loss_and_gradients)


def recurrent(add, old):
    x, w, u = floats(5, 2, 3), floats(3, 4), floats(4, 4, low=-0.5, high=0.5)

    def layer():
        inputs = tf.TensorArray(tf.float32, size=5).unstack(given(x))
        results = tf.TensorArray(tf.float32, size=5, clear_after_read=False)

        def step(t, state, kept):
            state = tf.tanh(tf.matmul(inputs.read(t), given(w)) + tf.matmul(state, given(u)))
            return t + 1, state, kept.write(t, state)

        _, last, kept = tf.while_loop(lambda t, *_: t < given(np.int32(5)), step,
                                      [given(np.int32(0)), given(np.zeros((2, 4), np.float32)), results])
        gathered = kept.gather(given(np.array([3, 0], np.int32)))
        return [last, kept.stack(), gathered, tf.cast(kept.size(), tf.float32)]

    add("old_recurrent" if old else "recurrent", layer)
    if old:
        def joined():
            array = tf.TensorArray(tf.float32, size=2, infer_shape=False, element_shape=[None, 3])
            rows = array.write(0, given(x)[0]).write(1, given(x)[1][:1]).concat()
            with tf.control_dependencies([rows]), tf.control_dependencies([array.close()]):
                return tf.identity(rows)

        add("old_joined", joined)
        add("old_size", lambda: tf.cast(tf.TensorArray(tf.float32, size=given(np.int32(1)), dynamic_size=True).scatter(
            given(np.array([0, 3], np.int32)), given(x)[:2]).size(), tf.float32))
        add("old_scattered", lambda: tf.TensorArray(tf.float32, size=6).scatter(
            given(np.array([5, 1], np.int32)), given(x)[:2]).gather([1, 5]))


def array_gradients(add):
    """A gradient of an array is an array, to which every reader adds."""
    x, w, u = floats(5, 2, 3), floats(3, 4), floats(4, 4, low=-0.5, high=0.5)

    def trained():
        """Sequences of 5 and 3 steps, whose states stay once they have ended, as dynamic_rnn has them."""
        every, weights, recurrent_weights = given(x), given(w), given(u)
        lengths = given(np.array([5, 3], np.int32))
        inputs = tf.TensorArray(tf.float32, size=5).unstack(every)
        results = tf.TensorArray(tf.float32, size=5)

        def step(t, state, kept):
            read = inputs.read(t)

            def new():
                return tf.tanh(tf.matmul(read, weights) + tf.matmul(state, recurrent_weights))

            def some():
                return tf.where(t < lengths, new(), state)

            state = tf.cond(t >= tf.reduce_min(lengths), some, new)
            return t + 1, state, kept.write(t, state)

        _, last, kept = tf.while_loop(lambda t, *_: t < given(np.int32(5)), step,
                                      [given(np.int32(0)), given(np.zeros((2, 4), np.float32)), results])
        loss = tf.reduce_sum(tf.square(kept.stack())) + tf.reduce_sum(last)
        return [loss, *tf.gradients(loss, [every, weights, recurrent_weights])]

    def read_twice():
        rows = given(x)
        array = tf.TensorArray(tf.float32, size=5, clear_after_read=False).unstack(rows)
        loss = tf.reduce_sum(tf.square(array.gather([0, 3]))) + tf.reduce_sum(array.read(3) * array.read(1)) + tf.reduce_sum(
            array.read(3))
        return tf.gradients(loss, [rows])

    def joined():
        rows = given(x[0])
        array = tf.TensorArray(tf.float32, size=2, infer_shape=False, element_shape=[None, 3]).split(rows, [1, 1])
        loss = tf.reduce_sum(tf.square(array.concat()))
        return tf.gradients(loss, [rows])

    def replaced():
        """Where a branch does not use what a loop's round has, its gradient there is 0; constants are branches too."""
        rows = given(x)

        def step(t, m):
            m = tf.cond(tf.equal(t % 2, 0), lambda: m * rows[t], lambda: tf.zeros([2, 3]) + rows[t])
            return t + 1, tf.cond(t > 2, lambda: tf.constant(2.0, shape=[2, 3]), lambda: m) + m

        _, end = tf.while_loop(lambda t, m: t < 5, step, [given(np.int32(0)), rows[4]])
        return [end, *tf.gradients(tf.reduce_sum(end * end), [rows])]

    def rounds_in_branches():
        rows = given(x)

        def grown(m):
            return tf.while_loop(lambda i, n: i < 3, lambda i, n: (i + 1, tf.sin(n) * m), [tf.constant(0), m])[1]

        _, end = tf.while_loop(
            lambda t, m: t < 3,
            lambda t, m: (t + 1, tf.cond(t > 0, lambda: grown(tf.tanh(m)), lambda: tf.cond(t > 1, lambda: m, lambda: -m))),
            [given(np.int32(0)), rows[1]])
        return [end, *tf.gradients(tf.reduce_sum(end), [rows])]

    for name, make in (("trained", trained), ("read_twice", read_twice), ("joined_gradient", joined),
                       ("replaced", replaced), ("rounds_in_branches", rounds_in_branches)):
        add(name, make)


def changing(add):
    """What a branch or a loop does to a variable is seen after it."""
    def counted():
        variable = tf.Variable(np.float32(1.0), use_resource=True, trainable=False)

        def double():
            with tf.control_dependencies([variable.assign(variable * 2.0)]):
                return tf.constant(3.0)

        first = tf.cond(given(True), double, lambda: tf.constant(0.0))
        with tf.control_dependencies([first]):
            second = tf.switch_case(given(np.int32(0)), [double, lambda: tf.constant(0.0)])
        with tf.control_dependencies([second]):
            third = tf.while_loop(lambda i: i < 3, lambda i: i + 1 + 0 * tf.cast(double(), tf.int32), [given(np.int32(0))])
        with tf.control_dependencies([third]):
            return [first, second, tf.cast(third, tf.float32), variable.read_value()]

    def shape_of_variable():
        variable = tf.Variable(floats(3, 2), use_resource=True, trainable=False)
        return tf.cast(raw.VariableShape(input=variable.handle, out_type=tf.int64), tf.float32)

    add("changed", counted)
    add("shape_of_variable", shape_of_variable)


def lists(add):
    x = floats(4, 3)
    shape = np.array([3], np.int32)
    kind = tf.float32

    def rows():
        return raw.TensorListFromTensor(tensor=given(x), element_shape=shape)

    def stacked(handle):
        return raw.TensorListStack(input_handle=handle, element_shape=shape, element_dtype=kind)

    add("rows", lambda: [stacked(rows()), raw.TensorListLength(input_handle=rows())])
    add("element_shape", lambda: [
        tf.cast(raw.TensorListElementShape(input_handle=rows(), shape_type=tf.int32), tf.float32),
        tf.cast(raw.TensorListElementShape(input_handle=raw.TensorListReserve(
            element_shape=given(np.int32(-1)), num_elements=2, element_dtype=kind), shape_type=tf.int64), tf.float32)])
    add("zeros", lambda: stacked(raw.ZerosLike(x=rows())))
    add("sum", lambda: stacked(raw.AddN(inputs=[rows(), rows(), raw.ZerosLike(x=rows())])))
    add("reserved", lambda: stacked(raw.TensorListSetItem(
        input_handle=raw.TensorListReserve(element_shape=shape, num_elements=given(np.int32(3)), element_dtype=kind),
        index=given(np.int32(1)), item=given(x)[2])))
    add("item", lambda: raw.TensorListGetItem(
        input_handle=rows(), index=given(np.int32(2)), element_shape=shape, element_dtype=kind))
    add("unwritten", lambda: raw.TensorListGetItem(
        input_handle=raw.TensorListReserve(element_shape=shape, num_elements=2, element_dtype=kind),
        index=given(np.int32(1)), element_shape=shape, element_dtype=kind))

    def pushed():
        handle = raw.EmptyTensorList(element_shape=shape, max_num_elements=-1, element_dtype=kind)
        for i in range(3):
            handle = raw.TensorListPushBack(input_handle=handle, tensor=given(x)[i])
        handle, last = raw.TensorListPopBack(input_handle=handle, element_shape=shape, element_dtype=kind)
        return [stacked(handle), last]

    add("pushed", pushed)
    add("resized", lambda: stacked(raw.TensorListResize(input_handle=rows(), size=given(np.int32(2)))))
    add("gathered", lambda: raw.TensorListGather(
        input_handle=rows(), indices=given(np.array([3, 1, 1], np.int32)), element_shape=shape, element_dtype=kind))
    where = np.array([2, 0], np.int32)
    add("scattered", lambda: stacked(raw.TensorListScatterV2(
        tensor=given(x)[:2], indices=given(where), element_shape=shape, num_elements=-1)))
    add("scattered_1", lambda: stacked(raw.TensorListScatter(tensor=given(x)[:2], indices=given(where), element_shape=shape)))
    add("scattered_into", lambda: stacked(raw.TensorListScatterIntoExistingList(
        input_handle=rows(), tensor=given(x)[2:], indices=given(where))))


def old_branches():
    """Cases by name: what they return, for the two conditions."""
    x = floats(3, 4)
    first, second = (tf.placeholder(tf.bool, [], name) for name in ("first", "second"))
    outside = given(x)
    cases = {}

    def add(name, make):
        with tf.name_scope(name):
            outputs = make()
        for i, output in enumerate(outputs if isinstance(outputs, list) else [outputs]):
            cases[f"{name}/out_{i}"] = tf.identity(output, name=f"{name}/out_{i}")

    add("plain", lambda: tf.cond(first, lambda: tf.nn.relu(outside) * 2.0, lambda: tf.tanh(outside) - 1.0))
    # Nothing in these branches reads what a Switch gives: they wait for one.
    add("waiting", lambda: tf.cond(first, lambda: given(x) + 1.0, lambda: given(x[::-1].copy())))
    add("two", lambda: list(tf.cond(first, lambda: (outside, tf.exp(outside)), lambda: (-outside, given(x)))))
    add("nested", lambda: tf.cond(
        first, lambda: tf.cond(second, lambda: outside * 3.0, lambda: given(x) - 4.0),
        lambda: tf.cond(second, lambda: tf.sin(outside), lambda: given(x) * given(x))))
    add("behind", lambda: tf.cond(first, lambda: outside, lambda: -outside) + tf.cond(
        second, lambda: outside * 2.0, lambda: outside * 5.0))
    add("loop", lambda: tf.cond(first, lambda: tf.while_loop(
        lambda i, m: i < 3, lambda i, m: (i + 1, m * 2.0), [tf.constant(0), outside])[1], lambda: outside))
    add("index", lambda: tf.cast(raw.Merge(inputs=list(raw.Switch(data=outside, pred=first))).value_index, tf.float32))

    def counted(resource):
        variable = tf.Variable(np.float32(1.0), use_resource=resource, trainable=False)
        change = tf.cond(first, lambda: tf.identity(variable.assign(variable + 1.0)), lambda: tf.constant(0.0))
        with tf.control_dependencies([change]):
            return [change, tf.identity(variable.read_value())]

    add("changed", lambda: counted(True))
    add("changed_reference", lambda: counted(False))
    expected = {}
    for case in range(4):
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            values = session.run(cases, {first: case % 2 == 1, second: case // 2 == 1})
        for name, value in values.items():
            expected[name.replace("/out_", f"/expected_{case}_")] = value
    everything = [tf.get_default_graph().get_operation_by_name(name) for name in cases]
    everything += [tf.constant(value, name=name).op for name, value in expected.items()]
    with tf.control_dependencies(everything):
        tf.no_op(name="all")
    save(tf.get_default_graph().as_graph_def(), HERE / "old_branches.pb.gz")


if __name__ == "__main__":
    tf.disable_eager_execution()
    with tf.Graph().as_default():
        cases = Cases()
        tf.enable_control_flow_v2()
        for part in (branches, loops, changing, lists):
            part(cases.add)
        recurrent(cases.add, old=False)
        gradients(cases.add)
        tf.disable_control_flow_v2()
        loops(lambda name, make: cases.add("old_" + name, make))
        recurrent(cases.add, old=True)
        gradients(lambda name, make: cases.add("old_" + name, make))
        array_gradients(lambda name, make: cases.add("old_" + name, make))
        save(cases.finish(), HERE / "control_flow.pb.gz")
        print(len(cases.outputs), "outputs")
    with tf.Graph().as_default():
        old_branches()
