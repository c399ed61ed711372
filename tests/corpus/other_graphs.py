"""What no collection of networks has: loops, replicas, images and signals as TensorFlow functions, and
ONNX as quantisers, converters of classical models and hand-written builders make it."""

import concurrent.futures
import functools
import gzip
import multiprocessing
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")


def _row(path, name, mode, exporter, parameters, dims=""):
    return {
        "file": path.name, "family": name, "mode": mode, "exporter": exporter, "dims": dims,
        "parameters": parameters,
    }  # fmt: skip


# --- TensorFlow -----------------------------------------------------------------------------------


def _bytes(variables):
    import math

    import tensorflow as tf

    return sum(math.prod(v.shape) * tf.as_dtype(v.dtype).size for v in variables)


def detection():
    """Boxes chosen in nested loops over tiles whose size the loops capture."""
    import tensorflow as tf

    filters = tf.Variable(tf.random.normal((3, 3, 3, 24)))

    @tf.function(input_signature=[tf.TensorSpec((2, 128, 128, 3))])
    def step(images):
        grid = tf.nn.conv2d(images, filters, 4, "SAME")
        boxes = tf.reshape(grid[..., :16], (2, -1, 4))
        scores = tf.sigmoid(tf.reshape(grid[..., 16:], (2, -1, 2)))
        best = tf.image.combined_non_max_suppression(boxes[:, :, None, :], scores, 50, 100)
        crops = tf.image.crop_and_resize(
            images, best.nmsed_boxes[0], tf.zeros((100,), tf.int32), (14, 14)
        )
        padded = tf.image.non_max_suppression_padded(
            boxes[0], scores[0, :, 0], 30, pad_to_max_output_size=True
        )
        return best, crops, padded

    return step, _bytes([filters])


def replicas():
    """A step of MirroredStrategy on two devices: gradients summed by a collective."""
    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    two = [tf.config.LogicalDeviceConfiguration()] * 2
    tf.config.set_logical_device_configuration(cpu, two)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        weights = [tf.Variable(tf.random.normal(s)) for s in ((784, 256), (256, 10))]

    def replica(x, y):
        with tf.GradientTape() as tape:
            logits = tf.matmul(tf.nn.relu(tf.matmul(x, weights[0])), weights[1])
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        gradients = tf.distribute.get_replica_context().all_reduce(
            "SUM", tape.gradient(loss, weights)
        )
        for weight, gradient in zip(weights, gradients):
            weight.assign_sub(0.1 * gradient)
        return loss

    @tf.function(input_signature=[tf.TensorSpec((64, 784)), tf.TensorSpec((64,), tf.int32)])
    def step(x, y):
        def share(value):
            parts = tf.split(value, 2)
            return strategy.experimental_distribute_values_from_function(
                lambda context: parts[context.replica_id_in_sync_group]
            )

        return strategy.reduce("MEAN", strategy.run(replica, args=(share(x), share(y))), axis=None)

    return step, 2 * _bytes(weights)


def augmentation():
    """Keras's layers that change images, and categories beside them."""
    import keras
    import tensorflow as tf
    from keras import layers

    images = keras.Input((224, 224, 3))
    x = layers.RandomRotation(0.1)(layers.RandomFlip()(images))
    x = layers.RandomContrast(0.2)(layers.RandomZoom(0.1)(x))
    x = layers.Resizing(96, 96, interpolation="bicubic")(layers.CenterCrop(192, 192)(x))
    x = layers.GlobalAveragePooling2D()(layers.Conv2D(16, 3)(x))
    categories = keras.Input((3,), dtype="int32")
    hot = layers.CategoryEncoding(20, output_mode="multi_hot")(categories)
    model = keras.Model([images, categories], layers.Dense(4)(layers.Concatenate()([x, hot])))

    @tf.function(input_signature=[tf.TensorSpec((8, 224, 224, 3)), tf.TensorSpec((8, 3), tf.int32)])
    def step(x, c):
        return model([x, c], training=True)

    return step, _bytes(model.weights)


def signals():
    """Spectra, cepstra and back, and decompositions of matrices."""
    import tensorflow as tf

    mel = tf.Variable(tf.random.normal((257, 80)))

    @tf.function(input_signature=[tf.TensorSpec((4, 16000)), tf.TensorSpec((4, 64, 64))])
    def step(sound, matrices):
        spectrum = tf.signal.stft(sound, 512, 160)
        energies = tf.math.log(tf.matmul(tf.abs(spectrum) ** 2, mel) + 1e-6)
        cepstrum = tf.signal.mfccs_from_log_mel_spectrograms(energies)
        back = tf.signal.inverse_stft(spectrum, 512, 160)
        return cepstrum, back, tf.linalg.svd(matrices), tf.linalg.lu(matrices)

    return step, _bytes([mel])


def tensorflow_function(name, make, mode, folder):
    step, parameters = make()
    path = folder / f"tensorflow_{name}.pb.gz"
    with gzip.GzipFile(path, "wb", mtime=0) as file:
        graph = step.get_concrete_function().graph.as_graph_def(add_shapes=True)
        file.write(graph.SerializeToString())
    return _row(path, name, mode, "tf.function", parameters)


def in_own_process(make, folder):
    """TensorFlow's devices can be chosen only before anything has run."""
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(make, folder).result()


# --- ONNX, by hand --------------------------------------------------------------------------------


def _weight(name, dims, elem):
    """Without its numbers."""
    import onnx

    tensor = onnx.TensorProto(
        name=name, dims=dims, data_type=elem, data_location=onnx.TensorProto.EXTERNAL
    )
    tensor.external_data.add(key="location", value="weights.bin")
    return tensor


def _stored_bytes(initializers):
    import math

    from onnx import helper

    return sum(
        math.prod(t.dims) * helper.tensor_dtype_to_np_dtype(t.data_type).itemsize
        for t in initializers
    )


def decoder_with_cache(folder, layers=3, heads=8, kv_heads=2, size=64, inner=1024, words=2000):
    """A decoder with weights of four bits and a cache, as builders for ONNX Runtime write it."""
    import numpy
    import onnx
    from onnx import TensorProto as t
    from onnx import helper, numpy_helper

    width, block = heads * size, 32
    nodes, weights = [], [_weight("embedding", [words, width], t.FLOAT16)]
    value = helper.make_tensor_value_info
    inputs = [
        value("input_ids", t.INT64, ["batch", "sequence"]),
        value("attention_mask", t.INT64, ["batch", "total"]),
    ]
    outputs = [value("logits", t.FLOAT16, ["batch", "sequence", words])]

    def add(kind, reads, gives, domain="com.microsoft", **attributes):
        nodes.append(helper.make_node(kind, reads, gives, domain=domain, **attributes))

    def product(x, y, k, n):
        blocks = k // block
        weights.extend([
            _weight(f"{y}.weight", [n, blocks, block // 2], t.UINT8),
            _weight(f"{y}.scales", [n * blocks], t.FLOAT16),
            _weight(f"{y}.zeros", [n * ((blocks + 1) // 2)], t.UINT8),
        ])  # fmt: skip
        add("MatMulNBits", [x, f"{y}.weight", f"{y}.scales", f"{y}.zeros"], [y], K=k, N=n, bits=4,
            block_size=block)  # fmt: skip

    constants = {"one": numpy.array([1], "int64"), "first": numpy.array(1, "int64")}
    weights += [numpy_helper.from_array(v, k) for k, v in constants.items()]
    weights += [_weight(k, [4096, size // 2], t.FLOAT16) for k in ("cosines", "sines")]
    add("ReduceSum", ["attention_mask", "one"], ["seen"], "")
    add("Sub", ["seen", "one"], ["last"], "")
    add("Cast", ["last"], ["lengths"], "", to=t.INT32)
    add("Shape", ["attention_mask"], ["mask_shape"], "")
    add("Gather", ["mask_shape", "first"], ["all"], "", axis=0)
    add("Cast", ["all"], ["total_length"], "", to=t.INT32)
    add("Gather", ["embedding", "input_ids"], ["h"], "")
    weights.append(_weight("norm", [width], t.FLOAT16))
    add("SimplifiedLayerNormalization", ["h", "norm"], ["x0"], "", axis=-1, epsilon=1e-6)
    residual = "h"
    for i in range(layers):
        product(f"x{i}", f"qkv{i}", width, (heads + 2 * kv_heads) * size)
        past, present = f"past.{i}", f"present.{i}"
        for part in ("key", "value"):
            inputs.append(value(f"{past}.{part}", t.FLOAT16, ["batch", kv_heads, "past", size]))
            outputs.append(value(f"{present}.{part}", t.FLOAT16, ["batch", kv_heads, "total", size]))
        add("GroupQueryAttention",
            [f"qkv{i}", "", "", f"{past}.key", f"{past}.value", "lengths", "total_length",
             "cosines", "sines"],
            [f"a{i}", f"{present}.key", f"{present}.value"], num_heads=heads,
            kv_num_heads=kv_heads, do_rotary=1)  # fmt: skip
        product(f"a{i}", f"o{i}", width, width)
        weights += [_weight(f"norm{i}.{k}", [width], t.FLOAT16) for k in (0, 1)]
        add("SkipSimplifiedLayerNormalization", [residual, f"o{i}", f"norm{i}.0"],
            [f"y{i}", "", "", f"s{i}"])  # fmt: skip
        product(f"y{i}", f"gate{i}", width, inner)
        product(f"y{i}", f"up{i}", width, inner)
        add("QuickGelu", [f"gate{i}"], [f"act{i}"], alpha=1.0)
        add("Mul", [f"act{i}", f"up{i}"], [f"m{i}"], "")
        product(f"m{i}", f"down{i}", inner, width)
        gives = [f"x{i + 1}"] if i + 1 == layers else [f"x{i + 1}", "", "", f"t{i}"]
        add("SkipSimplifiedLayerNormalization", [f"s{i}", f"down{i}", f"norm{i}.1"], gives)
        residual = f"t{i}"
    product(f"x{layers}", "logits", width, words)
    graph = helper.make_graph(nodes, "decoder", inputs, outputs, weights)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    path = folder / "onnx_decoder_with_cache.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), str(path))
    return _row(path, "decoder_with_cache", "forward", "by hand", _stored_bytes(weights),
                "batch=2,sequence=16,past=48,total=64")  # fmt: skip


CONTROL_FLOW = """
<ir_version: 9, opset_import: ["": 20]>
g (float[N, 32] x, float[32, 32] w) => (y, o, cat, n, running, states)
<int64 trips = {6}, int64 limit = {5}, int64 rows = {8}, int64 four = {4}, float zero = {0.0}> {
  total = ReduceSum<keepdims = 0>(x)
  positive = Less(zero, total)
  start = If(positive) <
    then_branch = t () => (float[A, B] a) { m = MatMul(x, w) a = Relu(m) },
    else_branch = e () => (float[A, B] b) { b = Neg(x) }>
  h, grown, states = Loop(trips, , start, x) <body = b
    (int64 i, bool c, float[A, B] s, float[C, D] all) => (bool go, float[A, B] s2, float[E, F] all2,
    float[A, B] kept) {
    go = Less(i, limit) m = MatMul(s, w) s2 = Tanh(m) all2 = Concat<axis = 0>(all, s2)
    kept = Identity(s2) }>
  shape = Constant<value = int64[1] {32}>()
  none = ConstantOfShape(shape)
  last, running = Scan<num_scan_inputs = 1, body = s (float[32] c, float[32] row) =>
    (float[32] c2, float[32] out) { c2 = Add(c, row) out = Mul(c2, c2) }>(none, h)
  pieces = SplitToSequence<axis = 0>(grown, four)
  mapped = SequenceMap<body = m (float[A, B] piece) => (float[C, D] done) {
    done = MatMul(piece, w) }>(pieces)
  cat = ConcatFromSequence<axis = 0>(mapped)
  n = SequenceLength(mapped)
  one = SequenceAt(mapped, four)
  held = Optional(one)
  there = OptionalHasElement(held)
  o = If(there) <
    then_branch = t2 () => (float[A, B] a2) { g2 = OptionalGetElement(held) a2 = Relu(g2) },
    else_branch = e2 () => (float[A, B] b2) { b2 = Identity(x) }>
  empty = SequenceEmpty()
  list = Loop(rows, , empty) <body = f (int64 i, bool c, float q) => (bool go, float q2) {
    go = Identity(c) row = Gather<axis = 0>(x, i) q2 = SequenceInsert(q, row) }>
  stacked = ConcatFromSequence<axis = 0, new_axis = 1>(list)
  y = MatMul(stacked, w)
}
"""


def control_flow(folder):
    """Branches, loops whose state grows, scans, lists and optionals."""
    import onnx

    model = onnx.parser.parse_model(CONTROL_FLOW)
    filled = next(n for n in model.graph.node if n.output[0] == "list").attribute[0].g
    filled.input[2].ClearField("type")  # a list, which the text form has no word for
    filled.output[1].ClearField("type")
    path = folder / "onnx_control_flow.onnx"
    onnx.save(model, str(path))
    return _row(path, "control_flow", "forward", "by hand", 0, "N=8")


# --- Classical models -----------------------------------------------------------------------------


def classical_models(folder):
    """Trees, neighbours, support vectors, a Gaussian process and a small network, by vote."""
    import numpy
    import onnx
    from skl2onnx import to_onnx
    from sklearn import ensemble, gaussian_process, linear_model, neighbors, neural_network, svm

    random = numpy.random.default_rng(0)
    x = random.standard_normal((60, 12)).astype("float32")
    network = neural_network.MLPRegressor(hidden_layer_sizes=(64, 32), max_iter=20)
    model = ensemble.VotingRegressor([
        ("network", network), ("neighbours", neighbors.KNeighborsRegressor()),
        ("process", gaussian_process.GaussianProcessRegressor()), ("ridge", linear_model.Ridge()),
        ("trees", ensemble.GradientBoostingRegressor(n_estimators=10)), ("vectors", svm.SVR()),
    ])  # fmt: skip
    made = to_onnx(model.fit(x, x[:, 1]), x[:1])
    made.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    path = folder / "sklearn_classical_models.onnx"
    onnx.save(made, str(path))
    parameters = _stored_bytes(made.graph.initializer)
    return _row(path, "classical_models", "forward", "skl2onnx", parameters, "batch=32")


def recipes():
    for make, mode in (
        (detection, "forward"), (replicas, "training"), (augmentation, "forward"),
        (signals, "forward"),
    ):  # fmt: skip
        name = make.__name__
        recipe = functools.partial(tensorflow_function, name, make, mode)
        if make is replicas:
            recipe = functools.partial(in_own_process, recipe)
        yield f"tensorflow/{name}", recipe
    yield "onnx/decoder_with_cache", decoder_with_cache
    yield "onnx/control_flow", control_flow
    yield "sklearn/classical_models", classical_models
