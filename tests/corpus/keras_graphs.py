"""Graphs that TensorFlow 2 and Keras 3 write: forward passes, training steps, SavedModels."""

import functools
import gzip
import os
import shutil

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

BATCH = 32

# name of keras.applications -> images' height and width
APPLICATIONS = {
    "Xception": 299, "VGG16": 224, "VGG19": 224, "ResNet50": 224, "ResNet101": 224,
    "ResNet152": 224, "ResNet50V2": 224, "ResNet101V2": 224, "ResNet152V2": 224,
    "InceptionV3": 299, "InceptionResNetV2": 299, "MobileNet": 224, "MobileNetV2": 224,
    "MobileNetV3Small": 224, "MobileNetV3Large": 224, "DenseNet121": 224, "DenseNet169": 224,
    "DenseNet201": 224, "NASNetMobile": 224, "NASNetLarge": 331, "EfficientNetB0": 224,
    "EfficientNetB1": 240, "EfficientNetB2": 260, "EfficientNetB3": 300, "EfficientNetB4": 380,
    "EfficientNetB5": 456, "EfficientNetB6": 528, "EfficientNetB7": 600, "EfficientNetV2B0": 224,
    "EfficientNetV2B1": 240, "EfficientNetV2B2": 260, "EfficientNetV2B3": 300,
    "EfficientNetV2S": 384, "EfficientNetV2M": 480, "EfficientNetV2L": 480,
    "ConvNeXtTiny": 224, "ConvNeXtSmall": 224, "ConvNeXtBase": 224, "ConvNeXtLarge": 224,
    "ConvNeXtXLarge": 224,
}  # fmt: skip

TRAINED = {
    "Xception": "adam", "VGG16": "sgd", "ResNet50": "sgd", "ResNet152V2": "adamw",
    "InceptionV3": "rmsprop", "InceptionResNetV2": "adam", "MobileNet": "rmsprop",
    "MobileNetV2": "adam", "MobileNetV3Small": "adam", "MobileNetV3Large": "lion",
    "DenseNet121": "adam", "DenseNet201": "nadam", "NASNetMobile": "adam", "NASNetLarge": "sgd",
    "EfficientNetB0": "adam", "EfficientNetB4": "rmsprop", "EfficientNetV2S": "adamw",
    "ConvNeXtTiny": "adamw", "ConvNeXtBase": "adamw",
}  # fmt: skip


def _optimizer(name):
    import keras

    return {
        "sgd": lambda: keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True),
        "adam": lambda: keras.optimizers.Adam(1e-3),
        "adamw": lambda: keras.optimizers.AdamW(1e-3, weight_decay=0.05),
        "adagrad": lambda: keras.optimizers.Adagrad(1e-2),
        "adafactor": lambda: keras.optimizers.Adafactor(1e-2),
        "ftrl": lambda: keras.optimizers.Ftrl(1e-2),
        "lamb": lambda: keras.optimizers.Lamb(1e-3),
        "lion": lambda: keras.optimizers.Lion(1e-4),
        "nadam": lambda: keras.optimizers.Nadam(1e-3),
        "rmsprop": lambda: keras.optimizers.RMSprop(1e-3, momentum=0.9),
    }[name]()


# Small models whose graphs hold what keras.applications does not.


def _lstm():
    import keras

    return keras.Sequential([
        keras.Input((64,), dtype="int32"),
        keras.layers.Embedding(20000, 256),
        keras.layers.LSTM(512, return_sequences=True, unroll=False),
        keras.layers.LSTM(512),
        keras.layers.Dense(10),
    ])  # fmt: skip


def _bidirectional_gru():
    import keras

    return keras.Sequential([
        keras.Input((48, 80)),
        keras.layers.Conv1D(256, 5, strides=2, padding="same", activation="relu"),
        keras.layers.Bidirectional(keras.layers.GRU(256, return_sequences=True)),
        keras.layers.Bidirectional(keras.layers.GRU(256)),
        keras.layers.LayerNormalization(),
        keras.layers.Dense(29),
    ])  # fmt: skip


def _convolutional_lstm():
    import keras

    return keras.Sequential([
        keras.Input((8, 64, 64, 1)),
        keras.layers.ConvLSTM2D(32, 3, padding="same", return_sequences=True),
        keras.layers.BatchNormalization(),
        keras.layers.ConvLSTM2D(32, 3, padding="same"),
        keras.layers.Conv2D(8, 3, padding="same"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(10),
    ])  # fmt: skip


def _transformer(causal, layers=6, width=512, heads=8, vocabulary=16000, length=128):
    import keras

    tokens = keras.Input((length,), dtype="int32")
    x = keras.layers.Embedding(vocabulary, width)(tokens)
    for _ in range(layers):
        y = keras.layers.LayerNormalization()(x)
        y = keras.layers.MultiHeadAttention(heads, width // heads, dropout=0.1)(
            y, y, use_causal_mask=causal
        )
        x = keras.layers.Add()([x, y])
        y = keras.layers.LayerNormalization()(x)
        y = keras.layers.Dense(4 * width, activation="gelu")(y)
        y = keras.layers.Dense(width)(y)
        x = keras.layers.Add()([x, keras.layers.Dropout(0.1)(y)])
    return keras.Model(tokens, keras.layers.Dense(vocabulary)(x))


def _u_net():
    import keras

    image = keras.Input((128, 128, 3))
    x, skips = image, []
    for width in (64, 128, 256, 512):
        for _ in range(2):
            x = keras.layers.Conv2D(width, 3, padding="same", use_bias=False)(x)
            x = keras.layers.BatchNormalization()(x)
            x = keras.layers.ReLU()(x)
        skips.append(x)
        x = keras.layers.MaxPooling2D()(x)
    x = keras.layers.Conv2D(1024, 3, padding="same", activation="relu")(x)
    for width, skip in zip((512, 256, 128, 64), reversed(skips)):
        x = keras.layers.Conv2DTranspose(width, 2, strides=2)(x)
        x = keras.layers.Concatenate()([x, skip])
        x = keras.layers.Conv2D(width, 3, padding="same", activation="relu")(x)
    x = keras.layers.UpSampling2D(2, interpolation="bilinear")(x)
    return keras.Model(image, keras.layers.Conv2D(10, 1)(x))


def _wide_and_deep():
    import keras

    categories = [keras.Input((1,), dtype="int32", name=f"category_{i}") for i in range(26)]
    numbers = keras.Input((13,), name="numbers")
    embedded = [keras.layers.Flatten()(keras.layers.Embedding(50000, 32)(c)) for c in categories]
    bottom = keras.layers.Dense(32, activation="relu")(numbers)
    deep = keras.layers.Concatenate()([*embedded, bottom])
    for width in (1024, 512, 256):
        deep = keras.layers.Dense(width, activation="relu")(deep)
    return keras.Model([*categories, numbers], keras.layers.Dense(10)(deep))


def _mixture_of_experts(experts=8, width=256):
    import keras

    tokens = keras.Input((64,), dtype="int32")
    x = keras.layers.Embedding(8000, width)(tokens)
    for _ in range(2):
        gate = keras.layers.Softmax()(keras.layers.Dense(experts)(x))
        answers = []
        for expert in range(experts):
            y = keras.layers.Dense(4 * width, activation="relu")(x)
            y = keras.layers.Dense(width)(y)
            answers.append(keras.layers.Multiply()([y, gate[:, :, expert : expert + 1]]))
        x = keras.layers.Add()([x, *answers])
    return keras.Model(tokens, keras.layers.Dense(8000)(x))


def _video():
    import keras

    return keras.Sequential([
        keras.Input((16, 64, 64, 3)),
        keras.layers.Conv3D(32, 3, padding="same", activation="relu"),
        keras.layers.MaxPooling3D((1, 2, 2)),
        keras.layers.Conv3D(64, 3, strides=2, padding="same", activation="relu"),
        keras.layers.BatchNormalization(),
        keras.layers.AveragePooling3D(2),
        keras.layers.GlobalMaxPooling3D(),
        keras.layers.Dense(10),
    ])  # fmt: skip


def _separable_audio():
    import keras

    return keras.Sequential([
        keras.Input((4000, 1)),
        keras.layers.SeparableConv1D(64, 9, strides=4, padding="same"),
        keras.layers.GroupNormalization(8),
        keras.layers.PReLU(shared_axes=[1]),
        keras.layers.SpatialDropout1D(0.2),
        keras.layers.Conv1DTranspose(64, 4, strides=2),
        keras.layers.DepthwiseConv1D(5),
        keras.layers.SpectralNormalization(keras.layers.Conv1D(64, 3)),
        keras.layers.GlobalAveragePooling1D(),
        keras.layers.Dense(10),
    ])  # fmt: skip


MODELS = {
    "lstm": (_lstm, "adam"),
    "bidirectional_gru": (_bidirectional_gru, "rmsprop"),
    "convolutional_lstm": (_convolutional_lstm, "adagrad"),
    "transformer_encoder": (functools.partial(_transformer, False), "adamw"),
    "transformer_decoder": (functools.partial(_transformer, True), "lamb"),
    "u_net": (_u_net, "nadam"),
    "wide_and_deep": (_wide_and_deep, "ftrl"),
    "mixture_of_experts": (_mixture_of_experts, "adafactor"),
    "video": (_video, "adam"),
    "separable_audio": (_separable_audio, "lion"),
}


def _build(architecture):
    import keras

    keras.backend.clear_session()
    if architecture in MODELS:
        return MODELS[architecture][0]()
    make = getattr(keras.applications, architecture)
    size = APPLICATIONS[architecture]
    return make(weights=None, input_shape=(size, size, 3))


def _input_specs(model, batch):
    import tensorflow as tf

    return [tf.TensorSpec((batch, *i.shape[1:]), i.dtype) for i in model.inputs]


def _write(graph_def, path):
    with gzip.GzipFile(path, "wb", mtime=0) as file:
        file.write(graph_def.SerializeToString())


def _bytes(variables):
    import numpy

    return sum(int(numpy.prod(v.shape)) * numpy.dtype(v.dtype).itemsize for v in variables)


def _row(path, architecture, mode, exporter, parameters, dims=""):
    return {
        "file": path.name, "family": architecture, "mode": mode, "exporter": exporter,
        "dims": dims, "parameters": parameters,
    }  # fmt: skip


def forward(architecture, batch, folder):
    import tensorflow as tf

    model = _build(architecture)

    @tf.function(input_signature=[_input_specs(model, batch)])
    def step(inputs):
        return model(inputs if len(inputs) > 1 else inputs[0], training=False)

    graph = step.get_concrete_function().graph
    path = folder / f"keras_{architecture}_forward{'' if batch else '_dynamic'}.pb.gz"
    _write(graph.as_graph_def(add_shapes=True), path)
    dims = "" if batch else f"batch={BATCH}"
    return _row(path, architecture, "forward", "tf.function", _bytes(model.weights), dims)


def frozen(architecture, folder):
    """Variables turned into constants, as TensorFlow Lite's and TensorRT's converters ask for."""
    import tensorflow as tf
    from tensorflow.python.framework import convert_to_constants

    model = _build(architecture)

    @tf.function(input_signature=[_input_specs(model, None)])
    def step(inputs):
        return model(inputs if len(inputs) > 1 else inputs[0], training=False)

    concrete = convert_to_constants.convert_variables_to_constants_v2(step.get_concrete_function())
    path = folder / f"keras_{architecture}_frozen.pb.gz"
    _write(concrete.graph.as_graph_def(add_shapes=True), path)
    return _row(path, architecture, "forward", "frozen", _bytes(model.weights), f"batch={BATCH}")


def training(architecture, optimizer_name, jit, folder):
    import keras
    import tensorflow as tf

    model = _build(architecture)
    optimizer = _optimizer(optimizer_name)
    optimizer.build(model.trainable_variables)
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    labels = tf.TensorSpec((BATCH, *model.outputs[0].shape[1:-1]), tf.int32)

    @tf.function(input_signature=[_input_specs(model, BATCH), labels], jit_compile=jit)
    def step(inputs, truth):
        with tf.GradientTape() as tape:
            answers = model(inputs if len(inputs) > 1 else inputs[0], training=True)
            loss = loss_of(truth, answers)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    graph = step.get_concrete_function().graph
    path = folder / f"keras_{architecture}_training.pb.gz"
    _write(graph.as_graph_def(add_shapes=True), path)
    held = _bytes(model.weights) + _bytes(optimizer.variables)
    return _row(path, architecture, "training", "tf.function", held)


def saved_model(architecture, folder):
    model = _build(architecture)
    path = folder / f"keras_{architecture}_saved"
    model.export(path, verbose=False)
    # Berth reads graphs: the numbers are left out.
    shutil.rmtree(path / "variables", ignore_errors=True)
    return _row(path, architecture, "forward", "SavedModel", _bytes(model.weights), f"batch={BATCH}")


def recipes():
    for architecture in [*APPLICATIONS, *MODELS]:
        yield f"keras/{architecture}/forward", functools.partial(forward, architecture, BATCH)
    for architecture in ("ResNet50", "MobileNetV2", "lstm", "transformer_encoder"):
        yield f"keras/{architecture}/dynamic", functools.partial(forward, architecture, None)
        yield f"keras/{architecture}/frozen", functools.partial(frozen, architecture)
    for architecture, optimizer in TRAINED.items():
        make = functools.partial(training, architecture, optimizer, None)
        yield f"keras/{architecture}/training", make
    for architecture, (_, optimizer) in MODELS.items():
        make = functools.partial(training, architecture, optimizer, None)
        yield f"keras/{architecture}/training", make
    for architecture in ("MobileNetV3Small", "EfficientNetB0", "lstm", "transformer_decoder"):
        yield f"keras/{architecture}/saved", functools.partial(saved_model, architecture)
