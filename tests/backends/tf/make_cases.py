#!/usr/bin/env python3
"""Makes op_cases.pb.gz and training_steps.pb.gz: what TensorFlow computes, for op_test.cpp and training_test.cpp.

    python make_cases.py        with the packages of examples/models/tf/requirements.txt

op_cases.pb.gz is one graph of many small cases. The nodes of case N are named

    N/in_I, N/given_I   its inputs: constants, some of them behind an Identity so that a kernel cannot know them
                        before it runs
    N/variable_I        variables that the op takes, which N/begin_I gives a value
    N/op                the op
    N/after_I           what the variables are afterwards
    N/expected_I, N/expected_after_I   constants: the outputs of N/op and N/after_I as TensorFlow has them

and everything lies behind the node `all`.

training_steps.pb.gz holds constants for ../../../examples/models/tf/nmt_tiny.pb: initial/V and first/V, the variables
before and after the first step; feed/P, what every step is fed; losses.
"""

import gzip
import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow.compat.v1 as tf

import more_cases
from case_inputs import (RANDOM, Resource, Variable, bools, doubles, float_, floats, int_, ints, longs, positive, run,
                         tf_shape, whole)

HERE = pathlib.Path(__file__).resolve().parent
TINY = HERE.parents[2] / "examples" / "models" / "tf" / "nmt_tiny.pb"
STEPS = 3


# --------------------------------------------------------------------------------------------------
# Building


class Cases:
    def __init__(self):
        self.ops = []  # (case, node of the op)
        self.reads = []  # (case, index, node that reads a variable afterwards)

    def _input(self, index, value, behind):
        tensor = tf.constant(value, name=f"in_{index}")
        return tf.raw_ops.Identity(input=tensor, name=f"given_{index}") if behind else tensor

    def _variable(self, index, variable):
        """Returns what the op takes, what it waits for, and how the variable is read afterwards."""
        value = tf.constant(variable.value, name=f"in_{index}")
        dtype, shape = value.dtype, variable.value.shape
        if isinstance(variable, Resource):
            handle = tf.raw_ops.VarHandleOp(dtype=dtype, shape=shape, shared_name=f"v{len(self.ops)}_{index}",
                                            name=f"variable_{index}")
            begin = tf.raw_ops.AssignVariableOp(resource=handle, value=value, name=f"begin_{index}")
            return handle, begin, lambda: tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype,
                                                                    name=f"after_{index}")
        reference = tf.raw_ops.VariableV2(shape=shape, dtype=dtype, shared_name=f"v{len(self.ops)}_{index}",
                                          name=f"variable_{index}")
        begin = tf.raw_ops.Assign(ref=reference, value=value, name=f"begin_{index}")
        return reference, begin.op, lambda: tf.raw_ops.Identity(input=reference, name=f"after_{index}")

    def add(self, op, **arguments):
        """One case: arrays and lists of arrays are inputs, everything else attributes."""
        case = len(self.ops)
        behind = case % 2 == 1
        starts, readers = [], []
        with tf.name_scope(f"{case}"):
            count = 0
            for key, value in arguments.items():
                if isinstance(value, Variable):
                    arguments[key], start, reader = self._variable(count, value)
                    starts.append(start)
                    readers.append((count, reader))
                    count += 1
                elif isinstance(value, np.ndarray):
                    arguments[key] = self._input(count, value, behind)
                    count += 1
                elif isinstance(value, list) and value and isinstance(value[0], np.ndarray):
                    arguments[key] = [self._input(count + i, item, behind) for i, item in enumerate(value)]
                    count += len(value)
            with tf.control_dependencies(starts):
                getattr(tf.raw_ops, op)(name="op", **arguments)
            node = tf.get_default_graph().get_operation_by_name(f"{case}/op")
            assert node.type == op, (node.type, op)
            self.ops.append((case, node))
            with tf.control_dependencies([node]):
                for index, reader in readers:
                    self.reads.append((case, index, reader().op))

    def finish(self):
        """Runs everything and returns the graph with the results."""
        wanted = [(f"{case}/expected_{port}", output) for case, op in self.ops for port, output in enumerate(op.outputs)
                  if output.dtype.base_dtype != tf.resource]
        wanted += [(f"{case}/expected_after_{index}", op.outputs[0]) for case, index, op in self.reads]
        with tf.Session(config=as_written()) as session:
            # References are read before anything else can change them: every case has its own variables.
            results = session.run([tensor for _, tensor in wanted] + [op for _, op in self.ops])
        graph = tf.get_default_graph().as_graph_def(add_shapes=False)
        names = [op.name for _, op in self.ops] + [op.name for _, _, op in self.reads]
        for (name, _), result in zip(wanted, results):
            add_constant(graph, name, result)
            names.append(name)
        graph.node.add(name="all", op="NoOp", input=["^" + name for name in names])
        return graph


def add_constant(graph, name, value):
    value = np.asarray(value)
    node = graph.node.add(name=name, op="Const")
    node.attr["dtype"].type = tf.as_dtype(value.dtype).as_datatype_enum
    node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value))


def as_written():
    """A configuration under which TensorFlow runs a graph without rewriting it."""
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    return config


def save(graph, path):
    for node in graph.node:
        for key in [key for key in node.attr if key.startswith("_")]:
            del node.attr[key]
    graph.versions.producer = 2000
    path.write_bytes(gzip.compress(graph.SerializeToString(deterministic=True), mtime=0))
    print(f"{path.name}: {len(graph.node)} nodes, {path.stat().st_size} bytes")


# --------------------------------------------------------------------------------------------------
# Cases


def elementwise(add):
    for op in ("Abs", "Ceil", "Cos", "Cosh", "Elu", "Erf", "Erfc", "Exp", "Expm1", "Floor", "Neg", "Relu", "Selu",
               "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Square", "Tan", "Tanh", "Atan", "Rint", "Round"):
        argument = "features" if op in ("Elu", "Relu", "Selu", "Softplus", "Softsign") else "x"
        add(op, **{argument: floats(3, 5, low=-1.4, high=1.4)})
        add(op, **{argument: doubles(7, low=-1.4, high=1.4)})
    add("Abs", x=whole(6))
    add("Neg", x=whole(6, dtype=np.int64))
    add("Square", x=whole(6))
    add("Sign", x=whole(6))
    add("Round", x=np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], np.float32))
    add("Rint", x=np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], np.float32))
    add("Relu", features=whole(6))
    for op in ("Log", "Log1p", "Sqrt", "Rsqrt", "Reciprocal", "Inv"):
        add(op, x=positive(3, 4))
        add(op, x=doubles(5, low=0.1, high=2))
    for op in ("Acos", "Asin"):
        add(op, x=floats(6, low=-1, high=1))
    add("Relu6", features=floats(4, 4, low=-3, high=9))
    add("LeakyRelu", features=floats(4, 3))
    add("LeakyRelu", features=floats(4, 3), alpha=0.01)
    odd = np.array([1, np.nan, np.inf, -np.inf, 0], np.float32)
    for op in ("IsFinite", "IsInf", "IsNan"):
        add(op, x=odd)
    shapes = (((2, 3), (2, 3)), ((2, 3), (3,)), ((4, 1, 3), (2, 1)), ((), (2, 2)), ((0, 3), (3,)))
    for op in ("Add", "AddV2", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference"):
        for a, b in shapes:
            add(op, x=floats(*a), y=floats(*b))
        add(op, x=whole(2, 3), y=whole(3))
        add(op, x=whole(2, 3, dtype=np.int64), y=whole(1, dtype=np.int64))
        add(op, x=doubles(2, 3), y=doubles(2, 3))
    for op in ("Div", "RealDiv", "FloorDiv", "FloorMod", "DivNoNan", "MulNoNan", "TruncateMod", "Mod", "Atan2"):
        first, second = ("y", "x") if op == "Atan2" else ("x", "y")
        for a, b in shapes[:3]:
            add(op, **{first: floats(*a), second: positive(*b)})
        add(op, **{first: doubles(4), second: doubles(4, low=-3, high=-1)})
    divisors = ints(3, -3, 4, -4, 5, -5)
    for op in ("Div", "FloorDiv", "FloorMod", "TruncateDiv", "TruncateMod", "Mod"):
        add(op, x=ints(7, 7, -8, -8, -9, 10), y=divisors)
        add(op, x=longs(7, -7, 0), y=longs(2))
    for op in ("DivNoNan", "MulNoNan"):
        add(op, x=np.array([1, np.inf, 3], np.float32), y=np.array([0, 0, 2], np.float32))
    add("Pow", x=positive(3, 2), y=floats(2))
    add("Pow", x=whole(4, low=0), y=ints(0, 1, 2, 3))
    for op in ("Equal", "NotEqual", "Greater", "GreaterEqual", "Less", "LessEqual"):
        add(op, x=whole(3, 3, high=-6), y=whole(3, high=-6))
        add(op, x=floats(4), y=floats(4))
    add("Equal", x=bools(6), y=bools(6))
    for op in ("LogicalAnd", "LogicalOr"):
        add(op, x=bools(3, 4), y=bools(4))
    add("LogicalNot", x=bools(5))
    for source, target in ((np.float32, tf.int32), (np.float32, tf.bool), (np.int32, tf.float32),
                           (np.int64, tf.int32), (np.float64, tf.float32), (np.int32, tf.int64)):
        add("Cast", x=floats(6, low=-3, high=3).astype(source), DstT=target)
    add("Cast", x=bools(5), DstT=tf.float32)
    for count in (1, 2, 5):
        add("AddN", inputs=[floats(2, 3) for _ in range(count)])
    add("AddN", inputs=[whole(4), whole(4), whole(4)])
    add("Select", condition=bools(2, 3), x=floats(2, 3), y=floats(2, 3))
    add("Select", condition=bools(4), x=floats(4, 3), y=floats(4, 3))
    add("Select", condition=np.array(True), x=floats(4), y=floats(4))
    add("SelectV2", condition=bools(2, 1), t=floats(2, 3), e=floats(3))
    add("SelectV2", condition=bools(3), t=whole(3), e=int_(0))
    add("ClipByValue", t=floats(3, 4), clip_value_min=float_(-0.5), clip_value_max=float_(0.7))


def gradients(add):
    for op in ("SigmoidGrad", "TanhGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad"):
        add(op, y=positive(3, 4), dy=floats(3, 4))
        add(op, y=doubles(5, low=0.1, high=0.9), dy=doubles(5))
    for op in ("ReluGrad", "Relu6Grad", "SoftplusGrad", "SoftsignGrad", "LeakyReluGrad"):
        add(op, gradients=floats(3, 4), features=floats(3, 4, low=-4, high=8))
        add(op, gradients=floats(5), features=np.array([0, -1, 1, 6, 7], np.float32))
    add("LeakyReluGrad", gradients=floats(6), features=floats(6), alpha=0.05)
    for op in ("EluGrad", "SeluGrad"):
        add(op, gradients=floats(3, 4), outputs=floats(3, 4, low=-0.9))


def convolutions(add):
    # (images, filter, stride, dilation, padding); unequal margins among them
    plain = [((2, 7, 6, 3), (3, 3, 3, 4), 1, 1, "SAME"), ((2, 7, 6, 3), (3, 3, 3, 4), 2, 1, "SAME"),
             ((1, 8, 8, 2), (3, 3, 2, 2), 2, 1, "SAME"), ((2, 7, 6, 3), (3, 2, 3, 4), 1, 1, "VALID"),
             ((1, 9, 9, 2), (3, 3, 2, 3), 1, 2, "SAME"), ((1, 9, 9, 2), (3, 3, 2, 3), 1, 2, "VALID"),
             ((1, 6, 6, 3), (1, 1, 3, 5), 1, 1, "SAME"), ((1, 6, 6, 3), (1, 1, 3, 5), 2, 1, "SAME"),
             ((2, 6, 5, 2), (1, 7, 2, 3), 1, 1, "SAME"), ((1, 6, 6, 2), (2, 2, 2, 3), 1, 1, "SAME"),
             ((1, 6, 6, 2), (4, 4, 2, 3), 3, 1, "SAME")]
    for images, window, stride, dilation, padding in plain:
        shared = dict(strides=[1, stride, stride, 1], padding=padding, dilations=[1, dilation, dilation, 1])
        convolution_cases(add, images, window, window[3], shared, dilation == 1)
    explicit = dict(strides=[1, 1, 2, 1], padding="EXPLICIT", explicit_paddings=[0, 0, 1, 2, 0, 3, 0, 0])
    convolution_cases(add, (1, 6, 7, 2), (3, 3, 2, 3), 3, explicit, True)
    for images, window, stride, padding in [((2, 7, 6, 3), (3, 3, 3, 1), 1, "SAME"), ((1, 8, 8, 2), (3, 3, 2, 2), 2, "SAME"),
                                            ((1, 8, 8, 2), (5, 5, 2, 1), 2, "SAME"), ((1, 7, 7, 4), (3, 3, 4, 2), 1, "VALID"),
                                            ((1, 11, 11, 2), (7, 7, 2, 1), 2, "SAME")]:
        shared = dict(strides=[1, stride, stride, 1], padding=padding)
        x, w = floats(*images), floats(*window)
        y = tf_shape("DepthwiseConv2dNative", input=x, filter=w, **shared)
        add("DepthwiseConv2dNative", input=x, filter=w, **shared)
        add("DepthwiseConv2dNativeBackpropInput", input_sizes=ints(*images), filter=w, out_backprop=floats(*y), **shared)
        add("DepthwiseConv2dNativeBackpropFilter", input=x, filter_sizes=ints(*window), out_backprop=floats(*y), **shared)
    add("Conv2D", input=doubles(1, 5, 5, 2), filter=doubles(3, 3, 2, 2), strides=[1, 1, 1, 1], padding="SAME")


def convolution_cases(add, images, window, channels, shared, differentiable):
    x, w = floats(*images), floats(*window)
    y = tf_shape("Conv2D", input=x, filter=w, **shared)
    add("Conv2D", input=x, filter=w, **shared)
    if differentiable:  # on CPUs TensorFlow has no gradient of dilated ones
        add("Conv2DBackpropInput", input_sizes=ints(*images), filter=w, out_backprop=floats(*y), **shared)
        add("Conv2DBackpropFilter", input=x, filter_sizes=ints(*window), out_backprop=floats(*y), **shared)


def pooling(add):
    for images, window, stride, padding in [((2, 7, 6, 3), 3, 2, "SAME"), ((2, 7, 6, 3), 3, 2, "VALID"),
                                            ((1, 8, 8, 2), 3, 2, "SAME"), ((1, 8, 8, 2), 3, 1, "SAME"),
                                            ((1, 8, 8, 2), 2, 2, "VALID"), ((1, 5, 5, 1), 2, 1, "SAME"),
                                            ((1, 8, 8, 2), 8, 1, "VALID"), ((1, 6, 6, 1), 1, 2, "SAME")]:
        shared = dict(ksize=[1, window, window, 1], strides=[1, stride, stride, 1], padding=padding)
        x = floats(*images)
        y = tf_shape("AvgPool", value=x, **shared)
        add("AvgPool", value=x, **shared)
        add("AvgPoolGrad", orig_input_shape=ints(*images), grad=floats(*y), **shared)
        add("MaxPool", input=x, **shared)
        # Equal elements, as a rectifier makes them, show who gets the gradient.
        for values in (x, np.maximum(x, 0)):
            largest = run(tf.raw_ops.MaxPool, input=values, **shared)
            add("MaxPoolGrad", orig_input=values, orig_output=largest, grad=floats(*y), **shared)


def normalization(add):
    for shape in ((4, 3, 3, 2), (8, 1, 1, 3), (1, 5, 4, 3)):
        for epsilon in (1e-3, 1e-1):
            channels = shape[-1]
            x, scale, offset = floats(*shape), positive(channels), floats(channels)
            nothing = np.zeros(0, np.float32)
            shared = dict(epsilon=epsilon)
            for op in ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"):
                add(op, x=x, scale=scale, offset=offset, mean=nothing, variance=nothing, is_training=True, **shared)
            mean, variance = floats(channels), positive(channels)
            for op in ("FusedBatchNorm", "FusedBatchNormV3"):
                add(op, x=x, scale=scale, offset=offset, mean=mean, variance=variance, is_training=False, **shared)
            batch = x.mean((0, 1, 2)), x.var((0, 1, 2))
            gradient = floats(*shape)
            for op in ("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"):
                for training, (m, v) in ((True, batch), (False, (mean, variance))):
                    more = {"reserve_space_3": nothing} if op.endswith("V3") else {}
                    add(op, y_backprop=gradient, x=x, scale=scale, reserve_space_1=m.astype(np.float32),
                        reserve_space_2=v.astype(np.float32), is_training=training, **more, **shared)
    x, scale, offset = floats(3, 4, 4, 2), positive(2), floats(2)
    add("FusedBatchNormV3", x=x, scale=scale, offset=offset, mean=floats(2), variance=positive(2), is_training=True,
        exponential_avg_factor=0.25, epsilon=1e-3)
    for op in ("Softmax", "LogSoftmax"):
        add(op, logits=floats(3, 5, high=9))
        add(op, logits=floats(2, 3, 4))
        add(op, logits=doubles(2, 6))
    add("SoftmaxCrossEntropyWithLogits", features=floats(3, 5), labels=run(tf.nn.softmax, logits=floats(3, 5)))
    add("SoftmaxCrossEntropyWithLogits", features=floats(3, 5), labels=np.full((3, 5), 0.2, np.float32))
    for dtype in (np.int32, np.int64):
        add("SparseSoftmaxCrossEntropyWithLogits", features=floats(4, 6, high=7), labels=whole(4, low=0, high=6, dtype=dtype))


def products(add):
    for a, b in ((False, False), (True, False), (False, True), (True, True)):
        add("MatMul", a=floats(*((4, 3) if a else (3, 4))), b=floats(*((5, 4) if b else (4, 5))), transpose_a=a, transpose_b=b)
        x, y = floats(2, *((4, 3) if a else (3, 4))), floats(2, *((5, 4) if b else (4, 5)))
        add("BatchMatMul", x=x, y=y, adj_x=a, adj_y=b)
        add("BatchMatMulV2", x=x, y=y[:1], adj_x=a, adj_y=b)
    add("MatMul", a=doubles(2, 3), b=doubles(3, 2))
    add("Einsum", inputs=[floats(2, 3, 4), floats(4, 5)], equation="bij,jk->bik")
    add("Einsum", inputs=[floats(2, 3), floats(2, 3)], equation="ij,ij->i")
    for shape in ((3, 4), (2, 3, 4), (2, 3, 3, 4)):
        add("BiasAdd", value=floats(*shape), bias=floats(4))
        add("BiasAddGrad", out_backprop=floats(*shape))
    add("BiasAdd", value=floats(2, 3, 4, 5), bias=floats(3), data_format="NCHW")
    add("BiasAddGrad", out_backprop=floats(2, 3, 4, 5), data_format="NCHW")


def reductions(add):
    axes = ([ints(0), True], [ints(1), False], [ints(-1, 0), False], [ints(0, 1, 2), True], [ints(), False], [int_(1), False])
    for axis, keep in axes:
        for op in ("Sum", "Mean", "Max", "Min", "Prod"):
            add(op, input=floats(2, 3, 4), axis=axis, keep_dims=keep)
        for op in ("All", "Any"):
            add(op, input=bools(2, 3, 4), axis=axis, keep_dims=keep)
    for op in ("Sum", "Max", "Min", "Prod", "Mean"):
        add(op, input=whole(3, 4), axis=ints(1))
        add(op, input=doubles(3, 4), axis=longs(0))
    for shape in ((5,), (3, 4), (2, 3, 2)):
        add("L2Loss", t=floats(*shape))
    for op in ("ArgMax", "ArgMin"):
        add(op, input=floats(3, 5), dimension=int_(1))
        add(op, input=floats(3, 5), dimension=int_(-2), output_type=tf.int32)
    for op in ("Cumsum", "Cumprod"):
        for exclusive in (False, True):
            for reverse in (False, True):
                add(op, x=floats(3, 4), axis=int_(1), exclusive=exclusive, reverse=reverse)
    add("Cumsum", x=whole(5), axis=int_(0))


def shapes(add):
    add("Const", value=tf.make_tensor_proto(floats(2, 2)), dtype=tf.float32)
    add("Const", value=tf.make_tensor_proto(3.5, shape=[2, 3]), dtype=tf.float32)
    add("Const", value=tf.make_tensor_proto(np.float16(0.5), shape=[3]), dtype=tf.float16)
    add("Const", value=tf.make_tensor_proto(bools(3)), dtype=tf.bool)
    add("Shape", input=floats(2, 3))
    add("Shape", input=floats(), out_type=tf.int64)
    add("ShapeN", input=[floats(2, 3), floats(4)])
    add("Size", input=floats(2, 3, 4))
    add("Rank", input=floats(2, 3, 4))
    add("ConcatOffset", concat_dim=int_(1), shape=[ints(2, 3, 4), ints(2, 1, 4), ints(2, 5, 4)])
    for a, b in ((ints(2, 3), ints(3)), (ints(2, 3), ints(2, 3)), (ints(1, 3), ints(4, 1)), (ints(), ints(2, 2)),
                 (ints(1, 1), ints(1, 1)), (ints(5, 1, 3), ints(1, 3)), (longs(2, 1), longs(2, 4))):
        add("BroadcastGradientArgs", s0=a, s1=b)
        add("BroadcastArgs", s0=a, s1=b)
    add("Range", start=int_(2), limit=int_(11), delta=int_(3))
    add("Range", start=int_(5), limit=int_(0), delta=int_(-2))
    add("Range", start=float_(0), limit=float_(1), delta=float_(0.25))
    add("LinSpace", start=float_(-1), stop=float_(2), num=int_(7))
    add("InvertPermutation", x=ints(2, 0, 3, 1))


def layout(add):
    x = floats(2, 3, 4)
    for shape in (ints(6, 4), ints(-1), ints(2, -1, 2), longs(24)):
        add("Reshape", tensor=x, shape=shape)
    for axis in (0, -1, 1):
        add("ExpandDims", input=x, axis=int_(axis))
    add("Squeeze", input=floats(1, 3, 1, 2))
    add("Squeeze", input=floats(1, 3, 1, 2), axis=[0])
    add("Squeeze", input=floats(1, 3, 1, 2), axis=[-2])
    add("Transpose", x=x, perm=ints(2, 0, 1))
    add("Transpose", x=whole(3, 2), perm=ints(1, 0))
    for axis in (0, 1, -1):
        parts = [x, x, floats(2, 3, 4)]
        add("ConcatV2", values=parts, axis=int_(axis))
        if axis >= 0:
            add("Concat", concat_dim=int_(axis), values=parts)
        add("Pack", values=[floats(2, 3), floats(2, 3)], axis=axis)
        add("Unpack", value=x, num=x.shape[axis], axis=axis)
    add("ConcatV2", values=[floats(2, 0), floats(2, 3)], axis=int_(1))
    add("Pack", values=[int_(1), int_(5), int_(9)])
    add("Split", axis=int_(2), value=x, num_split=2)
    add("Split", axis=int_(-2), value=x, num_split=3)
    add("SplitV", value=x, size_splits=ints(1, 3), axis=int_(2), num_split=2)
    add("SplitV", value=x, size_splits=ints(1, -1, 1), axis=int_(1), num_split=3)
    margins = np.array([[0, 0], [1, 2], [0, 1]], np.int32)
    add("Pad", input=x, paddings=margins)
    add("PadV2", input=x, paddings=margins, constant_values=float_(1.5))
    add("MirrorPad", input=x, paddings=margins, mode="REFLECT")
    add("MirrorPad", input=x, paddings=margins, mode="SYMMETRIC")
    add("Tile", input=x, multiples=ints(1, 2, 3))
    add("Tile", input=whole(2), multiples=ints(3))
    add("Fill", dims=ints(2, 3), value=float_(1.25))
    add("Fill", dims=ints(), value=int_(4))
    add("BroadcastTo", input=floats(3, 1), shape=ints(2, 3, 4))
    add("ZerosLike", x=x)
    add("OnesLike", x=whole(3))
    add("ReverseV2", tensor=x, axis=ints(0, -1))
    add("SpaceToDepth", input=floats(1, 4, 6, 2), block_size=2)
    add("DepthToSpace", input=floats(1, 2, 3, 8), block_size=2)


def indexing(add):
    x = floats(4, 5, 6)
    add("Slice", input=x, begin=ints(1, 0, 2), size=ints(2, -1, 3))
    add("Slice", input=x, begin=longs(0, 4, 0), size=longs(4, 1, 6))
    # (begin, end, strides, masks)
    picks = [((1, 0, 0), (3, 5, 6), (1, 2, 3), {}), ((-1, 4, 5), (0, 0, 0), (-1, -2, -1), dict(end_mask=0b100)),
             ((0,), (2,), (1,), dict(shrink_axis_mask=1)), ((0, -1), (0, 0), (1, 1), dict(shrink_axis_mask=2, begin_mask=1, end_mask=1)),
             ((0, 1), (0, 3), (1, 1), dict(ellipsis_mask=1)), ((1, 0, 0), (3, 0, 1), (1, 1, 1), dict(new_axis_mask=2)),
             ((0, 0, 2), (0, 0, 5), (1, 1, 2), dict(begin_mask=3, end_mask=3)), ((3,), (1,), (1,), {}),
             ((0, 0, 0), (0, 0, 0), (1, 1, 1), dict(ellipsis_mask=2, shrink_axis_mask=5)), ((-9,), (9,), (1,), {})]
    for begin, end, stride, masks in picks:
        shared = dict(begin=ints(*begin), end=ints(*end), strides=ints(*stride), **masks)
        add("StridedSlice", input=x, **shared)
        y = tf_shape("StridedSlice", input=x, **shared)
        add("StridedSliceGrad", shape=ints(*x.shape), **{k: v for k, v in shared.items() if isinstance(v, np.ndarray)},
            dy=floats(*y), **masks)
    add("StridedSlice", input=ints(7, 8, 9), begin=ints(1), end=ints(2), strides=ints(1), shrink_axis_mask=1)
    rows = whole(2, 3, low=0, high=4)
    add("Gather", params=x, indices=rows)
    add("ResourceGather", resource=Resource(x), indices=rows, dtype=tf.float32)
    for axis in (0, 1, -1):
        add("GatherV2", params=x, indices=rows, axis=int_(axis))
    add("GatherV2", params=whole(5), indices=longs(4, 0), axis=int_(0))
    add("GatherNd", params=x, indices=whole(3, 2, low=0, high=4))
    add("GatherNd", params=x, indices=whole(2, 2, 3, low=0, high=4))
    add("ScatterNd", indices=ints(1, 3, 1).reshape(3, 1), updates=floats(3, 2), shape=ints(5, 2))
    add("ScatterNd", indices=np.array([[0, 1], [2, 0]], np.int32), updates=floats(2), shape=ints(3, 2))
    add("UnsortedSegmentSum", data=floats(5, 2), segment_ids=ints(2, 0, 2, -1, 1), num_segments=int_(4))
    add("SegmentSum", data=floats(5, 2), segment_ids=ints(0, 0, 1, 3, 3))
    add("DynamicStitch", indices=[ints(0, 2), ints(1, 3, 0)], data=[floats(2, 3), floats(3, 3)])
    add("OneHot", indices=ints(0, 2, -1, 5), depth=int_(4), on_value=float_(1), off_value=float_(0))
    add("OneHot", indices=whole(2, 3, low=0, high=4), depth=int_(4), on_value=float_(0.9), off_value=float_(0.1), axis=1)
    add("TopKV2", input=RANDOM.permutation(20).reshape(2, 10).astype(np.float32), k=int_(4))
    add("Where", condition=bools(3, 4))


def variables(add):
    for kind, assign, plus, minus, scatter in ((Variable, "Assign", "AssignAdd", "AssignSub", "Scatter"),
                                               (Resource, "AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp",
                                                "ResourceScatter")):
        target = "ref" if kind is Variable else "resource"
        for shape in ((2, 3), ()):
            add(assign, **{target: kind(floats(*shape)), "value": floats(*shape)})
            add(plus, **{target: kind(floats(*shape)), "value": floats(*shape)})
            add(minus, **{target: kind(floats(*shape)), "value": floats(*shape)})
        add(plus, **{target: kind(longs(5)), "value": longs(1)})
        for change in ("Add", "Sub", "Update"):
            indices = ints(3, 0, 3) if change != "Update" else ints(3, 0, 1)
            add(scatter + change, **{target: kind(floats(4, 2)), "indices": indices, "updates": floats(3, 2)})
        add(scatter + "Add", **{target: kind(floats(4, 2)), "indices": ints(1, 2).reshape(2, 1), "updates": floats(2, 1, 2)})
    add("Identity", input=Variable(floats(3)))
    add("RefIdentity", input=Variable(floats(3)))
    add("ReadVariableOp", resource=Resource(floats(3)), dtype=tf.float32)
    add("IsVariableInitialized", ref=Variable(floats(3)))
    add("VarIsInitializedOp", resource=Resource(floats(3)))
    for op, argument in (("Identity", "input"), ("StopGradient", "input"), ("PreventGradient", "input"), ("Snapshot", "input"),
                         ("CheckNumerics", "tensor")):
        more = {"message": "odd"} if op == "CheckNumerics" else {}
        add(op, **{argument: floats(2, 3)}, **more)
    add("IdentityN", input=[floats(2), floats(3)])
    add("PlaceholderWithDefault", input=floats(2), shape=[2])
    add("EnsureShape", input=floats(2, 3), shape=[2, 3])
    add("NoOp")
    add("ControlTrigger")
    add("Assert", condition=np.array(True), data=[floats(1)])


def optimizers(add):
    rate, epsilon, gradient = float_(0.1), float_(1e-3), floats(3, 4)
    value, square = (lambda: floats(3, 4)), (lambda: positive(3, 4))
    for kind, prefix in ((Variable, ""), (Resource, "Resource")):
        add(prefix + "ApplyGradientDescent", var=kind(value()), alpha=rate, delta=gradient)
        for nesterov in (False, True):
            add(prefix + "ApplyMomentum", var=kind(value()), accum=kind(value()), lr=rate, grad=gradient, momentum=float_(0.9),
                use_nesterov=nesterov)
            add(prefix + "ApplyAdam", var=kind(value()), m=kind(value()), v=kind(square()), beta1_power=float_(0.9),
                beta2_power=float_(0.999), lr=rate, beta1=float_(0.9), beta2=float_(0.999), epsilon=epsilon, grad=gradient,
                use_nesterov=nesterov)
        add(prefix + "ApplyRMSProp", var=kind(value()), ms=kind(square()), mom=kind(value()), lr=rate, rho=float_(0.9),
            momentum=float_(0.8), epsilon=float_(1.0), grad=gradient)
        add(prefix + "ApplyCenteredRMSProp", var=kind(value()), mg=kind(floats(3, 4, low=-0.1, high=0.1)), ms=kind(square() + 1),
            mom=kind(value()), lr=rate, rho=float_(0.9), momentum=float_(0.8), epsilon=epsilon, grad=gradient)
        for update in (True, False):
            add(prefix + "ApplyAdagrad", var=kind(value()), accum=kind(square()), lr=rate, grad=gradient, update_slots=update)
            add(prefix + "ApplyAdagradV2", var=kind(value()), accum=kind(square()), lr=rate, epsilon=epsilon, grad=gradient,
                update_slots=update)
        add(prefix + "ApplyAdadelta", var=kind(value()), accum=kind(square()), accum_update=kind(square()), lr=rate,
            rho=float_(0.95), epsilon=epsilon, grad=gradient)


def fake_quantized(add):
    for bits, narrow in ((8, False), (8, True), (4, False)):
        options = {"num_bits": bits, "narrow_range": narrow}
        add("FakeQuantWithMinMaxArgs", inputs=floats(3, 7, low=-8, high=8), min=-5.3, max=6.1, **options)
        add("FakeQuantWithMinMaxVars", inputs=floats(3, 7), min=float_(-1.7), max=float_(1.9), **options)
        add("FakeQuantWithMinMaxVars", inputs=floats(3, 7), min=float_(0.3), max=float_(1.9), **options)
        add("FakeQuantWithMinMaxVarsPerChannel", inputs=floats(3, 2, 4), min=floats(4, low=-2, high=-0.5),
            max=floats(4, low=0.5, high=2), **options)


def edges(add):
    """Ties, quotients that rounding decides, what is no number."""
    for dtype in (np.float32, np.float64):
        add("FloorDiv", x=np.array([1, 6, 0.7, -1, np.inf, 1], dtype), y=np.array([0.1, 0.1, 0.1, 0.1, 2, -np.inf], dtype))
    add("TopKV2", input=np.zeros((2, 8), np.float32), k=int_(2))
    add("TopKV2", input=np.array([1, 1, 1, 0, 1, 1, 0, 2], np.float32), k=int_(4))
    add("Sign", x=np.array([np.nan, -3, 0, 2], np.float32))
    add("Range", start=float_(0), limit=float_(0.3), delta=float_(0.1))
    add("Range", start=float_(1), limit=float_(0), delta=float_(-0.1))
    add("Range", start=float_(1), limit=float_(1), delta=float_(0.1))
    for dtype in (np.uint8, np.int8, np.int16):
        add("Mean", input=np.full(5, 120, dtype), axis=ints(0))
    for op in ("Max", "Min"):
        add(op, input=np.zeros((0, 3), np.float32), axis=ints(0))
        add(op, input=np.zeros((0, 3), np.int32), axis=ints(0))
    one = dict(x=floats(1, 1, 1, 2), scale=positive(2), offset=floats(2), mean=floats(2), variance=positive(2), is_training=True)
    for factor in (1.0, 0.25):
        add("FusedBatchNormV3", exponential_avg_factor=factor, epsilon=1e-3, **one)
    add("SoftmaxCrossEntropyWithLogits", features=floats(3, 1), labels=np.full((1, 3), 1 / 3, np.float32))
    add("Cast", x=ints(-1, 70000), DstT=tf.uint16)
    add("Cast", x=ints(-1, 7), DstT=tf.uint32)
    add("AddV2", x=np.array([0xFFFFFFFF, 5], np.uint32), y=np.array([2, 3], np.uint32))


def images(add):
    x = floats(2, 5, 4, 3)
    for size in (ints(9, 7), ints(3, 2), ints(5, 4), ints(1, 1)):
        for options in ({}, {"align_corners": True}, {"half_pixel_centers": True}):
            add("ResizeBilinear", images=x, size=size, **options)
            add("ResizeNearestNeighbor", images=x, size=size, **options)
            add("ResizeBilinearGrad", grads=floats(2, size[0], size[1], 3), original_image=x, **options)
            add("ResizeNearestNeighborGrad", grads=floats(2, size[0], size[1], 3), size=ints(5, 4), **options)
    add("ResizeBilinear", images=whole(1, 3, 3, 2), size=ints(5, 5))
    boxes = np.array([[0, 0, 1, 1], [0.2, 0.6, 0.9, 0.1], [-0.5, 0, 0.5, 1.5]], np.float32)
    for method in ("bilinear", "nearest"):
        for size in (ints(4, 3), ints(1, 1)):
            add("CropAndResize", image=x, boxes=boxes, box_ind=ints(0, 1, 1), crop_size=size, method=method, extrapolation_value=-1.0)
    add("SpaceToBatchND", input=floats(2, 5, 4, 3), block_shape=ints(2, 2), paddings=np.array([[1, 0], [0, 2]], np.int32))
    add("SpaceToBatchND", input=floats(2, 6), block_shape=ints(3), paddings=np.array([[0, 0]], np.int32))
    add("BatchToSpaceND", input=floats(8, 3, 2, 3), block_shape=ints(2, 2), crops=np.array([[1, 0], [0, 2]], np.int32))
    add("BatchToSpaceND", input=floats(6, 2), block_shape=ints(3), crops=np.array([[0, 1]], np.int32))
    for padding in ("SAME", "VALID"):
        add("ExtractImagePatches", images=x, ksizes=[1, 3, 2, 1], strides=[1, 2, 1, 1], rates=[1, 1, 1, 1], padding=padding)
    add("ExtractImagePatches", images=x, ksizes=[1, 2, 2, 1], strides=[1, 1, 1, 1], rates=[1, 2, 1, 1], padding="VALID")
    for options in ({}, {"depth_radius": 2, "bias": 2.0, "alpha": 0.3, "beta": 0.75}):
        add("LRN", input=floats(2, 2, 2, 7), **options)
        y = run(tf.raw_ops.LRN, input=floats(2, 2, 2, 7), **options)
        wide = floats(2, 2, 2, 7)
        y = run(tf.raw_ops.LRN, input=wide, **options)
        add("LRNGrad", input_grads=floats(2, 2, 2, 7), input_image=wide, output_image=y, **options)
    corners = np.sort(floats(12, 2, 2, low=0), axis=1).reshape(12, 4)
    scores = floats(12, low=0, high=1)
    shared = dict(boxes=corners, scores=scores, max_output_size=int_(6))
    add("NonMaxSuppressionV2", iou_threshold=float_(0.4), **shared)
    for threshold in (-np.inf, 0.4):
        limits = dict(iou_threshold=float_(0.4), score_threshold=float_(threshold))
        add("NonMaxSuppressionV3", **limits, **shared)
        add("NonMaxSuppressionV4", pad_to_max_output_size=True, **limits, **shared)
        for sigma in (0, 0.5):
            add("NonMaxSuppressionV5", soft_nms_sigma=float_(sigma), **limits, **shared)


def volumes(add):
    for shape, window, stride, padding in (((2, 4, 5, 6, 2), (3, 3, 3, 2, 4), 1, "SAME"), ((1, 5, 4, 6, 2), (2, 3, 1, 2, 3), 2, "SAME"),
                                           ((1, 5, 4, 6, 2), (2, 3, 1, 2, 3), 1, "VALID")):
        shared = dict(strides=[1, stride, stride, stride, 1], padding=padding)
        x, w = floats(*shape), floats(*window)
        y = floats(*tf_shape("Conv3D", input=x, filter=w, **shared))
        add("Conv3D", input=x, filter=w, **shared)
        add("Conv3DBackpropInputV2", input_sizes=ints(*shape), filter=w, out_backprop=y, **shared)
        add("Conv3DBackpropFilterV2", input=x, filter_sizes=ints(*window), out_backprop=y, **shared)
        pool = dict(ksize=[1, *window[:3], 1], **shared)
        largest = run(tf.raw_ops.MaxPool3D, input=x, **pool)
        add("MaxPool3D", input=x, **pool)
        add("MaxPool3DGrad", orig_input=x, orig_output=largest, grad=floats(*largest.shape), **pool)
        add("AvgPool3D", input=x, **pool)
        add("AvgPool3DGrad", orig_input_shape=ints(*shape), grad=floats(*largest.shape), **pool)


def matrices(add):
    x = floats(2, 4, 5)
    for below, above in ((0, 0), (1, 2), (-1, 0), (0, -1)):
        add("MatrixBandPart", input=x, num_lower=int_(below), num_upper=int_(above))
    add("MatrixDiag", diagonal=floats(2, 3))
    add("MatrixDiagPart", input=x)
    add("MatrixSetDiag", input=x, diagonal=floats(2, 4))
    add("Diag", diagonal=floats(2, 3))
    add("DiagPart", input=floats(2, 3, 2, 3))
    filler = float_(9)
    for version in ("V2", "V3"):
        aligns = [{}] if version == "V2" else [{"align": align} for align in ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")]
        for align in aligns:
            add("MatrixDiagPart" + version, input=x, k=ints(-2, 3), padding_value=filler, **align)
            add("MatrixSetDiag" + version, input=x, diagonal=floats(2, 4, 4), k=ints(-2, 1), **align)
            add("MatrixDiag" + version, diagonal=floats(2, 4, 4), k=ints(-2, 1), num_rows=int_(4), num_cols=int_(5), padding_value=filler,
                **align)
        add("MatrixDiagPart" + version, input=x, k=int_(1), padding_value=filler)
        add("MatrixDiag" + version, diagonal=floats(2, 3), k=int_(-1), num_rows=int_(-1), num_cols=int_(-1), padding_value=filler)
        add("MatrixDiag" + version, diagonal=floats(3), k=ints(0), num_rows=int_(-1), num_cols=int_(4), padding_value=filler)
        add("MatrixSetDiag" + version, input=x, diagonal=floats(2, 4), k=ints(1))
    square = floats(2, 3, 3) + 4 * np.eye(3, dtype=np.float32)
    positive_definite = (square @ square.transpose(0, 2, 1)).astype(np.float32)
    add("Cholesky", input=positive_definite)
    add("MatrixDeterminant", input=square)
    for adjoint in (False, True):
        add("MatrixInverse", input=square, adjoint=adjoint)
        add("MatrixSolve", matrix=square, rhs=floats(2, 3, 2), adjoint=adjoint)
        for lower in (False, True):
            add("MatrixTriangularSolve", matrix=square, rhs=floats(2, 3, 2), lower=lower, adjoint=adjoint)
    add("Cross", a=floats(4, 3), b=floats(4, 3))
    add("BatchMatMulV3", x=floats(2, 3, 4), y=floats(2, 4, 5), Tout=tf.float32)


def segments(add):
    ids = ints(0, 0, 1, 3, 3)
    for op in ("Sum", "Mean", "Max", "Min", "Prod"):
        add("Segment" + op, data=floats(5, 2), segment_ids=ids)
        if op != "Mean":
            add("UnsortedSegment" + op, data=floats(5, 2), segment_ids=ints(2, 0, 2, -1, 1), num_segments=int_(4))
            add("UnsortedSegment" + op, data=whole(2, 3), segment_ids=ints(2, 0), num_segments=int_(4))
    for op in ("SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"):
        add(op, data=floats(4, 2), indices=ints(3, 0, 3, 1), segment_ids=ints(0, 0, 2, 2))
    nothing = np.zeros(0, np.float32)
    add("Bincount", arr=ints(1, 3, 1, 7, 0), size=int_(5), weights=nothing)
    add("Bincount", arr=ints(1, 3, 1, 7, 0), size=int_(5), weights=floats(5))
    for binary in (False, True):
        add("DenseBincount", input=ints(1, 3, 1, 7, 0), size=int_(5), weights=nothing, binary_output=binary)
        add("DenseBincount", input=whole(2, 6, low=0, high=5), size=int_(5), weights=nothing, binary_output=binary)
    add("DenseBincount", input=whole(2, 6, low=0, high=5), size=int_(5), weights=floats(2, 6))
    add("Unique", x=ints(4, 1, 4, 9, 1, 2))
    add("Unique", x=np.array([0.5, 0.25, 0.5], np.float32), out_idx=tf.int64)
    add("UniqueWithCounts", x=ints(4, 1, 4, 9, 1, 2))
    add("DynamicPartition", data=floats(5, 2), partitions=ints(1, 0, 1, 2, 0), num_partitions=3)
    add("ParallelDynamicStitch", indices=[ints(0, 2), ints(1, 3)], data=[floats(2, 3), floats(2, 3)])
    add("Roll", input=floats(3, 4), shift=ints(1, -6), axis=ints(0, 1))
    add("Roll", input=floats(3, 4), shift=int_(2), axis=int_(-1))
    add("ReverseSequence", input=floats(3, 4, 2), seq_lengths=ints(2, 4, 0), seq_dim=1, batch_dim=0)
    add("ReverseSequence", input=floats(4, 3), seq_lengths=longs(2, 4, 0), seq_dim=0, batch_dim=1)
    for op in ("TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub"):
        add(op, tensor=floats(5, 2), indices=ints(3, 0).reshape(2, 1), updates=floats(2, 2))
        add(op, tensor=floats(5, 2), indices=np.array([[3, 1], [0, 0]], np.int32), updates=floats(2))
    add("TensorScatterAdd", tensor=floats(5), indices=ints(3, 3).reshape(2, 1), updates=floats(2))
    add("InTopKV2", predictions=floats(4, 6), targets=ints(0, 5, 2, 3), k=int_(3))


def special_functions(add):
    for op in ("Asinh", "Lgamma", "Digamma"):
        add(op, x=positive(6))
    add("Acosh", x=positive(6) + 1)
    for op in ("Atanh", "Erfinv"):
        add(op, x=floats(6, low=-0.9, high=0.9))
    add("Ndtri", x=floats(6, low=0.1, high=0.9))
    for op in ("Igamma", "Igammac"):
        add(op, a=positive(4), x=positive(4))
    for op in ("Xlogy", "Xlog1py", "Xdivy"):
        add(op, x=np.array([0, 2, 0, -1], np.float32), y=np.array([0, 3, 2, 0.5], np.float32))
    for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        add(op, x=whole(6), y=whole(6))
        add(op, x=whole(6, low=0, high=255, dtype=np.uint8), y=whole(6, low=0, high=255, dtype=np.uint8))
    add("Invert", x=whole(4))
    add("Invert", x=whole(4, low=0, high=255, dtype=np.uint8))
    for op in ("LeftShift", "RightShift"):
        add(op, x=whole(6), y=whole(6, low=0, high=7))
    add("Bucketize", input=floats(3, 4), boundaries=[-1.0, 0.0, 0.5])
    add("Bucketize", input=ints(-1, 0, 1, 2), boundaries=[0.0, 1.0])
    add("CheckNumericsV2", tensor=floats(2, 3), message="odd")
    add("Print", input=floats(2), data=[floats(1)])
    for op, more in (("Uniform", {}), ("Normal", {}), ("TruncatedNormal", {})):
        plain = "Stateless" + ("" if op == "TruncatedNormal" else "Random") + op
        add(plain, shape=ints(3, 7), seed=ints(5, -9))
        add(plain + "V2", shape=ints(41), key=np.array([1234567890123], np.uint64), counter=np.array([7, 3], np.uint64), alg=int_(1))
    add("StatelessRandomGetKeyCounter", seed=longs(5, -9))
    add("StatelessRandomGetAlg")


def signals(add):
    def complexes(*shape):
        return (floats(*shape) + 1j * floats(*shape)).astype(np.complex64)

    x = complexes(2, 3, 4, 6)
    add("Complex", real=floats(2, 3), imag=floats(3))
    for op in ("ComplexAbs", "Real", "Imag", "Angle"):
        add(op, **{"x" if op == "ComplexAbs" else "input": x})
    add("Conj", input=x)
    for rank, suffix in ((1, ""), (2, "2D"), (3, "3D")):
        for op in ("FFT", "IFFT"):
            add(op + suffix, input=x)
        add("RFFT" + suffix, input=floats(2, 3, 4, 6), fft_length=ints(*(3, 4, 5)[-rank:]))
        add("IRFFT" + suffix, input=complexes(2, 3, 4, 4), fft_length=ints(*(3, 4, 6)[-rank:]))
    add("IRFFT", input=complexes(2, 4), fft_length=ints(7))
    for op in ("AddV2", "Mul"):
        add(op, x=complexes(2, 3), y=complexes(3))


def halves(add):
    """16 bits, as mixed precision has them."""

    def half(*shape, **limits):
        return floats(*shape, dtype=np.float16, **limits)

    x, w = half(2, 6, 6, 3), half(3, 3, 3, 4)
    shared = dict(strides=[1, 1, 1, 1], padding="SAME")
    add("Conv2D", input=x, filter=w, **shared)
    add("Conv2DBackpropInput", input_sizes=ints(2, 6, 6, 3), filter=w, out_backprop=half(2, 6, 6, 4), **shared)
    add("Conv2DBackpropFilter", input=x, filter_sizes=ints(3, 3, 3, 4), out_backprop=half(2, 6, 6, 4), **shared)
    add("DepthwiseConv2dNative", input=x, filter=half(3, 3, 3, 1), **shared)
    pool = dict(ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
    add("MaxPool", input=x, **pool)
    add("AvgPool", value=x, **pool)
    add("MatMul", a=half(3, 4), b=half(4, 5))
    add("BatchMatMulV2", x=half(2, 3, 4), y=half(2, 4, 5))
    add("Einsum", inputs=[half(2, 3, 4), half(4, 5)], equation="bij,jk->bik")
    add("BiasAdd", value=half(2, 3), bias=half(3))
    for op, argument in (("Relu", "features"), ("Sigmoid", "x"), ("Tanh", "x"), ("Exp", "x"), ("Erf", "x"), ("Softplus", "features")):
        add(op, **{argument: half(5)})
    add("Rsqrt", x=half(5, low=0.5))
    add("Pow", x=half(4, low=0.5), y=half(4))
    for op in ("AddV2", "Mul", "Maximum", "RealDiv"):
        add(op, x=half(2, 3), y=half(3, low=0.5))
    for op in ("Softmax", "LogSoftmax"):
        add(op, logits=half(3, 5))
    add("Mean", input=half(3, 4), axis=ints(1))
    add("Sum", input=half(3, 4), axis=ints(0, 1))
    add("Max", input=half(3, 4), axis=ints(1))
    add("ReluGrad", gradients=half(5), features=half(5))
    add("SparseSoftmaxCrossEntropyWithLogits", features=half(4, 6), labels=ints(0, 5, 2, 1))
    statistics = dict(scale=positive(3), offset=floats(3), mean=floats(3), variance=positive(3))
    add("FusedBatchNormV3", x=x, is_training=False, **statistics)
    add("UnsortedSegmentSum", data=half(5, 2), segment_ids=ints(2, 0, 2, -1, 1), num_segments=int_(4))
    for op, more in (("Transpose", dict(x=x, perm=ints(0, 3, 1, 2))), ("Reshape", dict(tensor=x, shape=ints(-1))),
                     ("ConcatV2", dict(values=[half(2), half(3)], axis=int_(0))), ("Tile", dict(input=half(2), multiples=ints(3))),
                     ("GatherV2", dict(params=half(4, 3), indices=ints(2, 0), axis=int_(0))), ("Pad", dict(input=half(2, 2), paddings=np.array([[1, 0], [0, 1]], np.int32))),
                     ("Select", dict(condition=bools(4), x=half(4), y=half(4))), ("StridedSlice", dict(input=x, begin=ints(0), end=ints(1), strides=ints(1))),
                     ("AddN", dict(inputs=[half(3), half(3)])), ("Fill", dict(dims=ints(3), value=np.array(0.5, np.float16))),
                     ("Cumsum", dict(x=half(3, 4), axis=int_(1))), ("TopKV2", dict(input=half(2, 6), k=int_(2))),
                     ("ScatterNd", dict(indices=ints(1, 3, 1).reshape(3, 1), updates=half(3, 2), shape=ints(5, 2))),
                     ("L2Loss", dict(t=half(5))), ("OneHot", dict(indices=ints(0, 2), depth=int_(3), on_value=np.array(1, np.float16), off_value=np.array(0, np.float16)))):
        add(op, **more)
    add("Cast", x=half(4), DstT=tf.float32)
    add("Cast", x=floats(4), DstT=tf.float16)


def narrow_integers(add):
    """Sums that leave the range of their type."""
    for dtype in (np.uint16, np.uint32, np.int16, np.uint8):
        most = np.iinfo(dtype).max
        x = np.array([most, most, most // 2, 3, 2], dtype)
        if dtype != np.uint32:  # which TensorFlow has few kernels for
            add("Cumsum", x=x, axis=int_(0))
            add("Cumprod", x=x, axis=int_(0))
            add("SegmentSum", data=x, segment_ids=ints(0, 0, 1, 1, 1))
            add("UnsortedSegmentSum", data=x, segment_ids=ints(0, 0, 1, 1, 1), num_segments=int_(2))
        add("Sum", input=x, axis=ints(0))
        add("Prod", input=x, axis=ints(0))
        add("AddN", inputs=[x, x, x])
        add("ScatterNd", indices=ints(1, 0, 1, 1, 0).reshape(5, 1), updates=x, shape=ints(2))
    add("ArgMax", input=np.array([1, np.nan, 3], np.float32), dimension=int_(0))
    add("ArgMin", input=np.array([1, np.nan, -3], np.float32), dimension=int_(0))
    add("ArgMax", input=np.array([np.nan, 1, 3], np.float32), dimension=int_(0))


def empty_batches(add):
    x, filters = floats(0, 4, 5, 4), floats(3, 3, 4, 2)
    # TensorFlow gives a convolution of none the shape of its input, whatever the filter.
    add("Conv2D", input=x, filter=floats(3, 3, 4, 4), strides=[1, 1, 1, 1], padding="SAME")
    add("Conv2DBackpropInput", input_sizes=ints(0, 4, 5, 4), filter=filters, out_backprop=floats(0, 4, 5, 2),
        strides=[1, 1, 1, 1], padding="SAME")
    add("Conv2DBackpropFilter", input=x, filter_sizes=ints(3, 3, 4, 2), out_backprop=floats(0, 4, 5, 2),
        strides=[1, 1, 1, 1], padding="SAME")
    add("DepthwiseConv2dNative", input=x, filter=floats(3, 3, 4, 1), strides=[1, 1, 1, 1], padding="SAME")
    add("Conv3D", input=floats(0, 4, 5, 4, 2), filter=floats(3, 3, 3, 2, 2), strides=[1] * 5, padding="SAME")
    add("ExtractImagePatches", images=floats(1, 4, 5, 2), ksizes=[1, 3, 1, 1], strides=[1, 2, 1, 1],
        rates=[1, 2, 1, 1], padding="VALID")
    add("CropAndResize", image=floats(2, 4, 4, 1), boxes=floats(0, 4), box_ind=ints(), crop_size=ints(2, 2))
    add("Pad", input=floats(0, 3), paddings=ints(0, 0, 1, 1).reshape(2, 2))
    add("DenseBincount", input=whole(0, 3), size=int_(3), weights=floats(0))
    for training in (True, False):
        add("FusedBatchNormV3", x=x, scale=floats(4), offset=floats(4), mean=floats(4), variance=positive(4),
            is_training=training)
        add("FusedBatchNormGradV3", y_backprop=x, x=x, scale=floats(4), reserve_space_1=floats(4),
            reserve_space_2=positive(4), reserve_space_3=floats(4), is_training=training)


def more_edges(add):
    boxes = np.array([[0, 0, 1, 1], [0, 0, 1, 0.6], [0, 0.5, 1, 1.5]], np.float32)
    for most in (0.3, 0.5, 1.0):
        add("NonMaxSuppressionV5", boxes=boxes, scores=np.array([0.9, 0.8, 0.7], np.float32), max_output_size=int_(3),
            iou_threshold=float_(most), score_threshold=float_(0), soft_nms_sigma=float_(0.5),
            pad_to_max_output_size=False)
    for dtype in (np.float64, np.float16, tf.bfloat16.as_numpy_dtype, np.int8, np.uint8, np.int16, np.int32, np.int64):
        for op in ("UnsortedSegmentMax", "UnsortedSegmentMin"):
            add(op, data=np.array([1, 2], dtype), segment_ids=ints(0, 2), num_segments=int_(3))
    numbers, others = np.array([1 + 2j, 0, -1 - 0.5j], np.complex64), np.array([2 - 1j, 1 + 1j, 3], np.complex64)
    for op in ("Sign", "Expm1", "Log1p"):
        add(op, x=numbers)
    add("SquaredDifference", x=numbers, y=others)
    for op in ("Xlogy", "Xlog1py"):
        add(op, x=numbers, y=others)
        add(op, x=np.array([0, 0, 2], np.float32), y=np.array([np.nan, 2, 3], np.float32))
    for op in ("ArgMax", "ArgMin"):
        add(op, input=np.array([[False, True], [True, True]]), dimension=int_(1), output_type=tf.int64)
    odd = np.array([[np.nan, 1, 2], [0, 1, 2], [3, np.nan, 2], [np.inf, 1, 2], [1, np.inf, 0]], np.float32)
    add("InTopKV2", predictions=odd, targets=ints(1, 2, 0, 0, 0), k=int_(3))
    rows, picks = floats(2, 3, 4), ints(0, 1, 2, 0).reshape(2, 2)
    for axis, batches in ((1, 1), (2, 1), (1, -1), (-1, 1)):
        add("GatherV2", params=rows, indices=picks, axis=int_(axis), batch_dims=batches)
    add("GatherV2", params=rows, indices=ints(0, 1, 2, 3, 0, 1).reshape(2, 3), axis=int_(2), batch_dims=2)
    for training in (True, False):
        add("FusedBatchNormGradV3", y_backprop=floats(2, 3, 3, 2), x=floats(2, 3, 3, 2), scale=floats(2),
            reserve_space_1=floats(2), reserve_space_2=positive(2), reserve_space_3=floats(2), is_training=training)


def make_op_cases():
    with tf.Graph().as_default():
        cases = Cases()
        for part in (elementwise, gradients, convolutions, pooling, normalization, products, reductions, shapes, layout,
                     indexing, variables, optimizers, fake_quantized, edges, images, volumes, matrices, segments, special_functions, signals, halves,
                     narrow_integers, empty_batches, more_edges, *more_cases.PARTS):
            part(cases.add)
        save(cases.finish(), HERE / "op_cases.pb.gz")
        print(f"{len(cases.ops)} cases of {len({op.type for _, op in cases.ops})} op types")


# --------------------------------------------------------------------------------------------------
# Training


def make_training_steps():
    out = tf.GraphDef()
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(tf.GraphDef.FromString(TINY.read_bytes()), name="")
        random = np.random.default_rng(1)
        feeds = {}
        for op in graph.get_operations():
            if op.type == "Placeholder":
                tensor = op.outputs[0]
                feeds[tensor] = random.integers(1, 20, tensor.shape.as_list()).astype(tensor.dtype.as_numpy_dtype)
                add_constant(out, f"feed/{op.name}", feeds[tensor])
        variables = [op for op in graph.get_operations() if op.type == "VariableV2"]
        values = [op.outputs[0] for op in variables]
        with tf.Session(config=as_written()) as session:
            session.run("init")
            for op, value in zip(variables, session.run(values)):
                add_constant(out, f"initial/{op.name}", value)
            losses = []
            for step in range(STEPS):
                losses.append(session.run(["loss/total:0", "train/train_op"], feeds)[0])
                if step == 0:
                    for op, value in zip(variables, session.run(values)):
                        add_constant(out, f"first/{op.name}", value)
        add_constant(out, "losses", np.array(losses, np.float32))
        print("losses", losses)
    out.node.add(name="all", op="NoOp", input=["^" + node.name for node in out.node])
    save(out, HERE / "training_steps.pb.gz")


if __name__ == "__main__":
    make_op_cases()
    make_training_steps()
