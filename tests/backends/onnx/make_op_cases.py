"""Writes op_cases.onnx and op_values.onnx: what ONNX Runtime computes for ops that ONNX has no tests of.

    python make_op_cases.py

Needs onnx, onnxruntime and numpy. Each case is one node "N/TYPE", whose inputs are the graph's or its
initializers; op_values.onnx has the graph's inputs and the outputs that ONNX Runtime gives for them.
"""
import pathlib

import numpy
import onnx
import onnxruntime
from onnx import helper, numpy_helper

RANDOM = numpy.random.default_rng(7)
DOMAINS = {"": 24, "com.microsoft": 1}
FIXED, NODES, INPUTS, OUTPUTS, VALUES = [], [], [], [], []


def real(*shape, scale=1.0):
    return (RANDOM.standard_normal(shape) * scale).astype(numpy.float32)


def whole(*shape, low=0, high=256, dtype=numpy.uint8):
    return RANDOM.integers(low, high, shape).astype(dtype)


def signed(*shape):
    return whole(*shape, low=-128, high=128, dtype=numpy.int8)


def scalar(value, dtype=numpy.float32):
    return numpy.array(value, dtype)


class Weight:
    """An input that the model holds."""

    def __init__(self, value):
        self.value = value


def case(op, inputs, outputs=1, domain="com.microsoft", **attributes):
    """`outputs`: how many, or for each whether it is asked for."""
    number = len(NODES)
    wanted = [True] * outputs if isinstance(outputs, int) else outputs
    node = helper.make_node(op, [], [f"{number}/{i}" if want else "" for i, want in enumerate(wanted)],
                            name=f"{number}/{op}", domain=domain, **attributes)
    feed, fed, fixed = {}, [], []
    for i, value in enumerate(inputs):
        if value is None:
            node.input.append("")
            continue
        name = f"{number}/in_{i}"
        node.input.append(name)
        if isinstance(value, Weight):
            fixed.append(numpy_helper.from_array(value.value, name))
            continue
        feed[name] = value
        fed.append(helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
    results = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
    opsets = [helper.make_opsetid(name, version) for name, version in DOMAINS.items()]
    model = helper.make_model(helper.make_graph([node], "case", fed, results, fixed),
                              opset_imports=opsets, ir_version=10)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    got = session.run(None, feed)
    for name, value in zip((name for name in node.output if name), got):
        VALUES.append(numpy_helper.from_array(value, name))
        OUTPUTS.append(helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
    VALUES.extend(numpy_helper.from_array(value, name) for name, value in feed.items())
    NODES.append(node)
    INPUTS.extend(fed)
    FIXED.extend(fixed)
    return got


def quantized_ops():
    # Scales without ties, which float arithmetic breaks either way.
    a, a_scale, a_zero = whole(2, 3, 4), scalar(0.0531), scalar(120, numpy.uint8)
    b, b_scale, b_zero = whole(2, 3, 4), scalar(0.0213), scalar(7, numpy.uint8)
    y_scale, y_zero = scalar(0.0617), scalar(101, numpy.uint8)
    for op in ("QLinearAdd", "QLinearMul"):
        case(op, [a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero])
        case(op, [a, a_scale, a_zero, Weight(whole(3, 1)), b_scale, b_zero, y_scale, y_zero])
        case(op, [signed(4), a_scale, scalar(-8, numpy.int8), signed(4), b_scale, scalar(5, numpy.int8),
                  y_scale, scalar(1, numpy.int8)])
    for op in ("QLinearSigmoid", "QLinearLeakyRelu"):
        more = {"alpha": 0.2} if op == "QLinearLeakyRelu" else {}
        scale = scalar(1 / 256) if op == "QLinearSigmoid" else y_scale
        zero = scalar(0, numpy.uint8) if op == "QLinearSigmoid" else y_zero
        case(op, [a, a_scale, a_zero, scale, zero], **more)
        case(op, [signed(5), a_scale, scalar(3, numpy.int8), scale, scalar(-9, numpy.int8)], **more)
    case("QLinearSoftmax", [a, a_scale, a_zero, scalar(1 / 256), scalar(0, numpy.uint8)], opset=13,
         axis=-1)
    case("QLinearSoftmax", [a, a_scale, a_zero, scalar(1 / 256), scalar(0, numpy.uint8)], opset=13,
         axis=1)
    case("QLinearSoftmax", [whole(2, 3, 4), a_scale, a_zero, scalar(1 / 256), scalar(0, numpy.uint8)],
         opset=11, axis=1)
    case("QLinearConcat", [y_scale, y_zero, a, a_scale, a_zero, whole(2, 1, 4), b_scale, b_zero],
         axis=1)
    case("QLinearWhere", [RANDOM.integers(0, 2, (3, 1)).astype(bool), a, a_scale, a_zero, whole(4),
                          b_scale, b_zero, y_scale, y_zero])
    image = whole(1, 2, 5, 6)
    for inputs, last in ((image, 0), (image.transpose(0, 2, 3, 1).copy(), 1)):
        case("QLinearGlobalAveragePool", [inputs, a_scale, a_zero, scalar(0.0491), b_zero],
             channels_last=last)
        case("QLinearAveragePool", [inputs, a_scale, a_zero, scalar(0.0491), b_zero], channels_last=last,
             kernel_shape=[2, 3], strides=[2, 1], pads=[1, 0, 0, 1])
    case("QLinearAveragePool", [image, a_scale, a_zero, b_scale, b_zero], kernel_shape=[3, 3],
         auto_pad="SAME_UPPER", count_include_pad=1)
    case("NhwcMaxPool", [image.transpose(0, 2, 3, 1).copy()], kernel_shape=[2, 2], strides=[2, 2])
    weight, w_scale = signed(3, 2, 3, 3), real(3, scale=0.01) ** 2 + numpy.float32(0.001)
    case("QLinearConv", [image.transpose(0, 2, 3, 1).copy(), a_scale, a_zero, Weight(weight),
                         Weight(w_scale), Weight(numpy.zeros(3, numpy.int8)), y_scale, y_zero,
                         Weight(whole(3, low=-900, high=900, dtype=numpy.int32))],
         channels_last=1, kernel_shape=[3, 3], pads=[1, 1, 1, 1])


def quantized_products():
    x, weight, zero = real(2, 3, 8), signed(8, 5), scalar(4, numpy.int8)
    columns = real(5, scale=0.01) ** 2 + numpy.float32(0.01)
    case("DynamicQuantizeMatMul", [x, Weight(weight), Weight(scalar(0.02)), Weight(zero)])
    case("DynamicQuantizeMatMul", [x, Weight(whole(8, 5)), Weight(columns),
                                   Weight(whole(5, low=100, high=140)), Weight(real(5))])
    case("DynamicQuantizeMatMul", [x, Weight(weight), Weight(scalar(0.02))])
    a = whole(3, 8)
    case("MatMulIntegerToFloat", [a, Weight(weight), scalar(0.1), Weight(scalar(0.02)),
                                  scalar(99, numpy.uint8), Weight(zero), Weight(real(5))])
    case("MatMulIntegerToFloat", [a, Weight(weight), scalar(0.1), Weight(columns)])
    for trans in (0, 1):
        case("QGemm", [a.T.copy() if trans else a, scalar(0.1), scalar(99, numpy.uint8),
                       Weight(weight.T.copy() if trans else weight), Weight(scalar(0.02)),
                       Weight(zero), Weight(whole(5, low=-500, high=500, dtype=numpy.int32)),
                       scalar(0.3), scalar(60, numpy.uint8)], transA=trans, transB=trans)
    case("QGemm", [a, scalar(0.1), scalar(99, numpy.uint8), Weight(weight), Weight(columns),
                   Weight(numpy.zeros(5, numpy.int8))], alpha=0.5)


def quantized_layers():
    hidden, heads = 8, 2
    weight, bias = signed(hidden, 3 * hidden), real(3 * hidden)
    x, scale, zero = whole(2, 3, hidden), scalar(0.01), scalar(128, numpy.uint8)
    mask = numpy.array([3, 2], numpy.int32)
    case("QAttention", [x, Weight(weight), Weight(bias), scale, Weight(scalar(0.02)), mask, zero,
                        Weight(scalar(0, numpy.int8))], num_heads=heads)
    case("QAttention", [x, Weight(weight), Weight(bias), scale, Weight(scalar(0.02)), None, zero,
                        Weight(scalar(2, numpy.int8)), real(2, 2, heads, 4, hidden // heads)],
         outputs=2, num_heads=heads, unidirectional=1)
    words = whole(2, 3, high=10, dtype=numpy.int32)
    segments = whole(2, 3, high=2, dtype=numpy.int32)
    scales = [Weight(scalar(value)) for value in (0.1, 0.05, 0.02, 0.03, 0.04)]
    zeros = [Weight(scalar(value, numpy.uint8)) for value in (128, 100, 90, 80, 70)]
    tables = [Weight(whole(rows, hidden)) for rows in (10, 6, 2)]
    layer = [Weight(whole(hidden)), Weight(whole(hidden))]
    case("QEmbedLayerNormalization",
         [words, segments, *tables, *layer, numpy.array([[1, 1, 1], [1, 1, 0]], numpy.int32),
          *scales, *zeros], outputs=2, epsilon=1e-5)
    size = 5
    for directions in (1, 2):
        inputs = [real(4, 2, 3), Weight(signed(directions, 3, 4 * size)),
                  Weight(signed(directions, size, 4 * size)), Weight(real(directions, 8 * size)),
                  None, None, None, None, Weight(numpy.full(directions, 0.01, numpy.float32)),
                  Weight(numpy.zeros(directions, numpy.int8)),
                  Weight(numpy.full(directions, 0.02, numpy.float32)),
                  Weight(numpy.zeros(directions, numpy.int8))]
        case("DynamicQuantizeLSTM", inputs, outputs=3, hidden_size=size,
             direction="forward" if directions == 1 else "bidirectional")
    # Of one length: ONNX Runtime quantizes with what it computes behind the end of shorter sequences.
    channel = [Weight(real(1, 4 * size, scale=0.1) ** 2 + numpy.float32(0.01)) for _ in range(2)]
    case("DynamicQuantizeLSTM",
         [real(4, 2, 3), Weight(whole(1, 3, 4 * size)), Weight(whole(1, size, 4 * size)),
          Weight(real(1, 8 * size)), numpy.array([4, 4], numpy.int32), real(1, 2, size),
          real(1, 2, size), Weight(real(1, 3 * size)), channel[0],
          Weight(numpy.full((1, 4 * size), 131, numpy.uint8)), channel[1],
          Weight(numpy.full((1, 4 * size), 127, numpy.uint8))], outputs=3, hidden_size=size, clip=2.0)


def fused_ops():
    x, weight, bias = real(1, 2, 6, 6), Weight(real(3, 2, 3, 3)), Weight(real(3))
    activations = {"Relu": None, "Sigmoid": None, "Tanh": None, "LeakyRelu": [0.1],
                   "Clip": [-0.5, 1.5], "HardSigmoid": [0.3, 0.4]}
    for name, numbers in activations.items():
        more = {} if numbers is None else {"activation_params": numbers}
        case("FusedConv", [x, weight, bias], activation=name, pads=[1, 1, 1, 1], **more)
    case("FusedConv", [x, weight, bias, real(1, 3, 4, 4)], activation="Relu")
    gemm = [real(3, 4), Weight(real(4, 5)), Weight(real(5))]
    case("FusedGemm", gemm, activation="LeakyRelu", activation_alpha=0.3)
    case("FusedGemm", gemm, activation="Sigmoid", alpha=0.5)
    case("FusedMatMul", [real(3, 2, 4), real(4, 5)], alpha=2.0)
    case("FusedMatMul", [real(4, 2, 3), real(2, 3, 5)], transBatchA=1)
    case("FusedMatMul", [real(3, 2, 4), real(3, 2, 4)], transBatchA=1, transBatchB=1, transB=1)
    case("FusedMatMul", [real(4, 2, 3), real(2, 4, 5)], transBatchA=1, transA=1)
    case("TransposeMatMul", [real(4, 3), real(4, 5)], transA=1)


def blockwise(rows, columns, block, bits, zeros):
    blocks = -(-columns // block)
    inputs = [Weight(whole(rows, blocks, block * bits // 8)), Weight(real(rows, blocks, scale=0.1))]
    if zeros == "packed":
        inputs.append(Weight(whole(rows, -(-blocks * bits // 8))))
    elif zeros == "real":
        inputs.append(Weight(real(rows, blocks) + numpy.float32(7)))
    return inputs


def blockwise_ops():
    for columns, bits, zeros in ((64, 4, "none"), (80, 4, "packed"), (64, 4, "real"), (64, 8, "none"),
                                 (64, 8, "packed")):
        case("MatMulNBits", [real(2, 3, columns), *blockwise(6, columns, 32, bits, zeros)], K=columns,
             N=6, bits=bits, block_size=32)
    case("MatMulNBits", [real(3, 64), *blockwise(6, 64, 16, 4, "packed"), None, Weight(real(6))], K=64,
         N=6, bits=4, block_size=16)
    rows = whole(3, 2, high=10, dtype=numpy.int64)
    case("GatherBlockQuantized", [Weight(whole(10, 16)), rows, Weight(real(10, 2))], bits=4,
         block_size=16, gather_axis=0, quantize_axis=1)
    case("GatherBlockQuantized", [Weight(whole(10, 16)), rows, Weight(real(10, 2)),
                                  Weight(whole(10, 1))], bits=4, block_size=16, gather_axis=0,
         quantize_axis=1)


def angles(positions, size):
    grid = numpy.arange(positions)[:, None] / 10 ** (numpy.arange(size) / size)[None]
    return numpy.cos(grid).astype(numpy.float32), numpy.sin(grid).astype(numpy.float32)


def rotary_ops():
    batch, length, heads, size = 2, 3, 4, 8
    cos, sin = (Weight(table) for table in angles(16, size // 2))
    half_cos, half_sin = (Weight(table) for table in angles(16, size // 4))
    flat, deep = real(batch, length, heads * size), real(batch, heads, length, size)
    positions = numpy.array([[0, 1, 2], [5, 6, 7]], numpy.int64)
    offset = numpy.array([3], numpy.int64)
    for interleaved in (0, 1):
        more = {"interleaved": interleaved}
        case("RotaryEmbedding", [flat, positions, cos, sin], **more)
        case("RotaryEmbedding", [deep, offset, cos, sin], **more)
        case("RotaryEmbedding", [flat, positions, half_cos, half_sin], num_heads=heads,
             rotary_embedding_dim=size // 2, **more)
        case("RotaryEmbedding", [deep, cos, sin, positions], domain="", **more)
        case("RotaryEmbedding", [flat, cos, sin, positions], domain="", num_heads=heads, **more)
        case("RotaryEmbedding", [deep, half_cos, half_sin, positions], domain="",
             rotary_embedding_dim=size // 2, **more)
    case("RotaryEmbedding", [deep, real(batch, length, size // 2), real(batch, length, size // 2)],
         domain="")


def grouped_attention():
    batch, heads, groups, size = 2, 4, 2, 16
    cos, sin = (Weight(table) for table in angles(32, size // 2))

    def one(length, past, packed=False, rotary=False, more=(), outputs=3, **attributes):
        q = real(batch, length, heads * size)
        k, v = (real(batch, length, groups * size) for _ in range(2))
        query = [numpy.concatenate([q, k, v], 2), None, None] if packed else [q, k, v]
        before = [real(batch, groups, past, size) for _ in range(2)]
        lengths = numpy.full(batch, length + past - 1, numpy.int32)
        tables = [cos, sin] if rotary else [None, None]
        case("GroupQueryAttention",
             [*query, *before, lengths, scalar(length + past, numpy.int32), *tables, *more],
             outputs=outputs, num_heads=heads, kv_num_heads=groups, do_rotary=int(rotary),
             **attributes)

    one(5, 0)
    one(1, 4)
    one(1, 4, packed=True, rotary=True)
    one(5, 0, rotary=True, rotary_interleaved=1)
    one(3, 0, scale=0.2, softcap=0.5)
    one(6, 0, local_window_size=3)
    one(1, 7, local_window_size=3)
    one(5, 0, smooth_softmax=1)
    one(1, 4, more=[None, real(1, 1, 1, 5)])
    one(3, 0, more=[None, None, real(heads)])


def attention():
    batch, heads, size, length, keys = 2, 4, 8, 3, 5
    q, k, v = real(batch, heads, length, size), *(real(batch, heads, keys, size) for _ in range(2))
    past = [real(batch, heads, 4, size) for _ in range(2)]

    def one(inputs, outputs=1, **attributes):
        case("Attention", inputs, outputs=outputs, domain="", **attributes)

    one([q, k, v])
    one([q, k, v], is_causal=1, scale=0.3)
    one([q, k, v, real(length, keys)])
    one([q, k, v, RANDOM.integers(0, 2, (batch, 1, length, keys)).astype(bool) | numpy.eye(
        length, keys, dtype=bool)], softcap=0.7)
    one([q, real(batch, heads, length, size), real(batch, heads, length, size), None, *past],
        outputs=3, is_causal=1)
    flat = [real(batch, length, heads * size), *(real(batch, keys, 2 * size) for _ in range(2))]
    one(flat, q_num_heads=heads, kv_num_heads=2)
    for mode in range(4):
        one([q, k, v, real(length, keys)], outputs=[True, False, False, True], softcap=0.9,
            qk_matmul_output_mode=mode)
    one([q, k, v, real(length, keys)], outputs=[True, False, False, True], is_causal=1,
        qk_matmul_output_mode=3)


    blind = numpy.ones((length, keys), bool)
    blind[1] = False
    one([q, k, v, blind], outputs=[True, False, False, True], qk_matmul_output_mode=3)
    counts = numpy.array([5, 4], numpy.int64)
    one([q, k, v, None, None, None, counts])
    one([q, k, v, None, None, None, counts], is_causal=1)
    one([q, k, v, real(length, keys), None, None, counts])


def plain_ops():
    case("Swish", [real(2, 3)], domain="")
    case("Swish", [real(2, 3)], domain="", alpha=0.4)
    past, update = real(2, 3, 6, 4), real(2, 3, 2, 4)
    case("TensorScatter", [past, update, numpy.array([1, 3], numpy.int64)], domain="")
    case("TensorScatter", [past, update, numpy.array([5, 3], numpy.int64)], domain="", mode="circular")
    case("TensorScatter", [past, update], domain="")
    case("DFT", [real(1, 4, 8, 1)], domain="", onesided=1)
    case("DFT", [real(2, 8, 1)], domain="", inverse=1)
    case("Inverse", [real(2, 3, 3)])
    case("ExpandDims", [real(2, 3), Weight(scalar(-1, numpy.int32))])
    case("CDist", [real(4, 3), real(5, 3)], metric="euclidean")
    case("CDist", [real(4, 3), real(5, 3)], metric="sqeuclidean")


def reductions_of_nothing():
    x = numpy.array([-3, 2], numpy.float32)
    for op in ("ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp", "ReduceSum",
               "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"):
        given = numpy.abs(x) if "Log" in op else x
        case(op, [given], domain="", noop_with_empty_axes=1)
        case(op, [given, Weight(numpy.zeros(0, numpy.int64))], domain="", noop_with_empty_axes=1)
        case(op, [scalar(given[0])], domain="")


def half(*shape, scale=1.0):
    return real(*shape, scale=scale).astype(numpy.float16)


def types():
    """Floats of 16 bits beside those of 32."""
    case("Pow", [numpy.array([2.3854, 1000.5], numpy.float32), numpy.array([1, 2], numpy.float16)], domain="")
    case("Dropout", [numpy.array([70000, 1.00001], numpy.float32), scalar(0.5, numpy.float16), scalar(False, bool)],
         domain="")
    case("GridSample", [real(1, 1, 2, 2), half(1, 1, 3, 2, scale=0.3)], domain="")
    case("BatchNormalization", [real(1, 2, 3), half(2), half(2), real(2), real(2) ** 2], domain="")
    case("BatchNormalization", [half(2, 2, 3), half(2), half(2), real(2), real(2) ** 2], outputs=3, domain="",
         training_mode=1)
    case("LayerNormalization", [half(2, 4, scale=100), half(4), half(4)], outputs=3, domain="")
    # Its squares are no numbers of 16 bits.
    for x, scale in ((half(2, 4, scale=300), half(4)), (half(2, 4), real(4)), (real(2, 4), half(4))):
        case("SimplifiedLayerNormalization", [x, scale], outputs=2, domain="")
    case("SkipLayerNormalization", [half(1, 2, 4), half(1, 2, 4), half(4), half(4)])
    # The product has more digits than 16 bits hold.
    x = numpy.array([7, 9, 101], numpy.int8)
    case("DequantizeLinear", [x, scalar(1.2002, numpy.float16)], domain="", output_dtype=1)
    case("DequantizeLinear", [x, scalar(2.04)], domain="", output_dtype=10)


def lengths():
    """Axes whose length or places rounding decides."""
    for length, scale, mode in ((3, 7 / 3, "nearest"), (10, 0.7, "nearest"), (12, 1.08, "linear"),
                                (9, 10 / 3, "linear")):
        case("Resize", [real(1, 1, length), None, Weight(numpy.array([1, 1, scale], numpy.float32))], domain="",
             mode=mode)


def empty_ops():
    image, weight = real(0, 4, 6, 8), real(4, 4, 3, 3)
    case("Conv", [image, Weight(weight), Weight(real(4))], domain="")
    case("Conv", [image, weight], domain="", strides=[3, 2], dilations=[2, 2], pads=[1, 2, 0, 0])
    case("ConvTranspose", [image, weight], domain="", strides=[2, 2])
    case("DeformConv", [image, weight, real(0, 18, 4, 6)], domain="")
    case("LRN", [image], domain="", size=3)
    case("Flatten", [image], domain="")
    case("InstanceNormalization", [image, real(4), real(4)], domain="")
    case("Pad", [real(0, 3), Weight(numpy.array([0, 1, 0, 1], numpy.int64))], domain="")
    case("Pad", [real(2, 3), Weight(numpy.array([0, -3, 0, 0], numpy.int64))], domain="")
    case("ReverseSequence", [real(0, 3), numpy.zeros(0, numpy.int64)], domain="", batch_axis=0, time_axis=1)
    case("DynamicQuantizeLinear", [real(0)], outputs=3, domain="")


def edges():
    case("Sign", [numpy.array([numpy.nan, -2, 0], numpy.float32)], domain="")
    case("Sign", [numpy.array([-2, 0, 5], numpy.int32)], domain="")
    case("BatchNormalization", [real(5), real(1), real(1), real(1), real(1) ** 2], domain="")
    case("GatherBlockQuantized", [Weight(whole(4, 16)), numpy.array([1, -1], numpy.int64), Weight(real(4, 2))], bits=4,
         block_size=16, gather_axis=0, quantize_axis=1)
    words = numpy.array([[1, 2]], numpy.int32)
    case("EmbedLayerNormalization", [words, None, real(6, 4), real(6, 4), real(2, 4), real(4), real(4)], outputs=2)
    for queries, keys in ((2, 3), (3, 5), (1, 4), (4, 2)):
        case("MultiHeadAttention", [real(1, queries, 4), real(1, keys, 4), real(1, keys, 4)], num_heads=2,
             unidirectional=1)
    case("MultiHeadAttention", [real(1, 3, 4), real(1, 5, 4), real(1, 5, 4), None, None, None, real(1, 2, 4, 2),
                                real(1, 2, 4, 2)], outputs=3, num_heads=2, unidirectional=1)


def steps():
    """Outputs whose scale is no power of two, and numbers that are equally near two steps."""
    x, scale, zero = whole(3, 6), scalar(0.0531), scalar(120, numpy.uint8)
    for steps_in_1 in (255, 256, 333, 63):
        y_scale = scalar(1 / steps_in_1)
        for rows in (x, numpy.full((2, 4), 9, numpy.uint8), numpy.full((2, 1), 9, numpy.uint8)):
            case("QLinearSoftmax", [rows, scale, zero, y_scale, scalar(0, numpy.uint8)], opset=13)
        case("QLinearSoftmax", [signed(2, 5), scale, scalar(7, numpy.int8), y_scale, scalar(-128, numpy.int8)], opset=13)
        case("QLinearSigmoid", [x, scale, zero, y_scale, scalar(0, numpy.uint8)])
    case("QLinearSoftmax", [whole(2, 3, 4), scale, zero, scalar(1 / 255), scalar(0, numpy.uint8)], opset=11)
    case("QLinearSoftmax", [whole(2, 0, 4), scale, zero, scalar(1 / 255), scalar(0, numpy.uint8)], opset=13)


def filters():
    """Fewer elements as means of all that lie between them."""
    image = real(1, 2, 9, 13)
    for mode in ("linear", "cubic"):
        for heights, widths in ((0.5, 0.3), (0.23, 1.7)):
            scales = Weight(numpy.array([1, 1, heights, widths], numpy.float32))
            for more in ({}, {"exclude_outside": 1}, {"coordinate_transformation_mode": "align_corners"}):
                if mode == "cubic" or "exclude_outside" not in more:
                    case("Resize", [image, None, scales], domain="", mode=mode, antialias=1, **more)
    for mode in ("linear", "cubic"):
        case("Resize", [whole(1, 3, 12, 20), None, None, Weight(numpy.array([1, 3, 5, 6], numpy.int64))], domain="",
             mode=mode, antialias=1)


if __name__ == "__main__":
    for make in (quantized_ops, quantized_products, quantized_layers, fused_ops, blockwise_ops,
                 rotary_ops, grouped_attention, attention, plain_ops, reductions_of_nothing, types, lengths, empty_ops,
                 edges, steps, filters):
        make()
    here = pathlib.Path(__file__).parent
    opsets = [helper.make_opsetid(name, version) for name, version in DOMAINS.items()]
    cases = helper.make_graph(NODES, "cases", INPUTS, OUTPUTS, FIXED)
    values = helper.make_graph([], "values", [], [], VALUES)
    for name, graph in (("op_cases", cases), ("op_values", values)):
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), here / f"{name}.onnx")
    print(len(NODES), "cases")
