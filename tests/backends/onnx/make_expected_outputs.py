"""Writes expected_outputs.json: what the shared models compute, by ONNX Runtime.

    python make_expected_outputs.py ../../../../shared/data/models/onnx [MODEL...]

Without names, all models; else the file's other entries stay. Needs onnx, onnxruntime and numpy.
Inputs are made by the formulas that model_kernels.cpp knows too; of each output the shape and at most
32 elements, evenly spread, are kept.

ONNX's light models have one constant for all weights, so that all channels are the same and every class
is as likely as any other. They are run with weights that differ (`scatter`), and without the softmax at
their end, which hides differences of small logits and blows up those of large ones.
"""
import json
import math
import pathlib
import sys

import numpy
import onnx
import onnxruntime

KEPT = 32


def wave(shape, scale=1.0):
    """scale * sin(1), scale * sin(2), ..."""
    return {"fill": "wave", "scale": scale, "shape": shape}


def count(shape, modulus):
    """0, 1, ..., modulus - 1, 0, ..."""
    return {"fill": "count", "modulus": modulus, "shape": shape}


def same(shape, value):
    return {"fill": "same", "value": value, "shape": shape}


def scatter(shape, offset, scale):
    """offset + scale * numbers in [-1/2, 1/2) without order: every sum of products tells them apart."""
    return {"fill": "scatter", "offset": offset, "scale": scale, "shape": shape}


BERT = {"input_ids": count([2, 7], 19), "token_type_ids": count([2, 7], 2)}
GPT2_PAST = {f"past_{i}": wave([2, 2, 2, 3, 2]) for i in range(12)}
IMAGE = [1, 3, 224, 224]

MODELS = {
    "attention_past_state": {
        "input": wave([2, 3, 768]), "weight": wave([768, 2304], 0.02), "bias": wave([2304]),
        "past": wave([2, 2, 12, 4, 64])},
    "bert_pt_qa_5": {
        "input_ids": count([2, 7], 19), "input_mask": same([2, 7], 1),
        "segment_ids": count([2, 7], 2)},
    "bert_tf_qa": {**BERT, "attention_mask": same([2, 7], 1)},
    "bert_tf_seqcls": {**BERT, "attention_mask": same([2, 7], 1)},
    "bert_toy_optimized": {**BERT, "input_mask": same([2, 7], 1)},
    "fns_candy": {"inputImage": wave([1, 3, 720, 720], 100)},
    "function_with_variadics": {"x1": wave([6, 10]), "x2": wave([6, 10], 2)},
    "gemma3_vision_attention_fp32": {"x": wave([1, 2, 20])},
    "gpt2_12layer_unsorted": {"input_ids": count([2, 5], 19)},
    "gpt2_past_12layer_dupconst": {"input_ids": count([2, 1], 19), **GPT2_PAST},
    "gpt2_past_mask_one_layer": {
        "input_ids": count([2, 2], 19), "past_0": wave([2, 2, 2, 3, 2]),
        "attention_mask": same([2, 5], 1), "position_ids": count([2, 2], 2)},
    "if_mul_op24": {"A": same([1], 1), "B": wave([3, 2])},
    "light_bvlc_alexnet": {"data_0": scatter(IMAGE, 0, 2)},
    "light_inception_v1": {"data_0": scatter(IMAGE, 0, 2)},
    "light_resnet50": {"gpu_0/data_0": scatter(IMAGE, 0, 2)},
    "light_squeezenet": {"data_0": scatter(IMAGE, 0, 2)},
    "light_vgg19": {"data_0": scatter(IMAGE, 0, 2)},
    "lora_two_params": {"input_x": wave([4, 4])},
    "mnist_cntk": {"Input3": wave([1, 1, 28, 28], 100)},
    "nuphar_tiny_loop": {
        "input": wave([3, 1, 10]), "hi0": wave([4, 1, 20]), "ci0": wave([4, 1, 20])},
    "optional_sequence_tensor": {"cond": same([], 1)},
    "phi35_vision_attention": {"onnx::Add_0": wave([1, 2, 20])},
    "phi4_vision_attention": {"input": wave([2, 3, 20]), "attention_mask": wave([2, 1, 3, 3])},
    "qdq_multi_consumer_dq": {
        "MobilenetEdgeTPU/expanded_conv_1/project/BatchNorm/FusedBatchNormV3":
            wave([1, 32, 56, 56])},
    "qdq_multi_consumer_fixed_qdq16": {
        "MobilenetEdgeTPU/expanded_conv_1/project/BatchNorm/FusedBatchNormV3":
            wave([1, 32, 56, 56])},
    "qnn_ctx_2_inputs_order": {
        "attention_mask": wave([1, 2, 3]), "Add_input_0": wave([1, 2, 3], 2)},
    "silero_vad": {
        "input": wave([2, 512]), "state": wave([2, 2, 128]), "sr": same([], 16000)},
    "silero_vad_16k_op15": {
        "input": wave([2, 512]), "state": wave([2, 2, 128]), "sr": same([], 16000)},
    "three_layer_nested_subgraph_v2": {
        "x1.opt": wave([1, 2]), "x2": wave([1, 2], 2), "x3": wave([1], 3)},
    "training_mnist_model": {"X": wave([1, 784])},
    "voice_commands": {"input_1": wave([1, 6])},
}

TYPES = {"float": numpy.float32, "float16": numpy.float16, "int64": numpy.int64,
         "int32": numpy.int32, "bool": numpy.bool_}


def make(formula, element_type):
    shape = formula["shape"]
    size = int(numpy.prod(shape, dtype=numpy.int64))
    if formula["fill"] == "wave":
        values = formula["scale"] * numpy.sin(numpy.arange(1, size + 1, dtype=numpy.float64))
    elif formula["fill"] == "scatter":
        values = (numpy.arange(size) % 10007) ** 3 % 10007 / 10007 - 0.5
        values = formula["offset"] + formula["scale"] * values
    elif formula["fill"] == "count":
        values = numpy.arange(size) % formula["modulus"]
    else:
        values = numpy.full(size, formula["value"])
    return values.astype(element_type).reshape(shape)


def expected(value):
    if value is None:
        return None  # an empty optional
    if isinstance(value, list):
        return [expected(element) for element in value]
    flat = value.reshape(-1)
    step = max(1, -(-flat.size // KEPT))
    elements = [float(f"{float(v):.6g}") for v in flat[::step]]
    return {"shape": list(value.shape), "step": step, "elements": elements}


def weight(shape, normalises):
    """What keeps the size of what passes through a layer: variances near 1, small biases."""
    if len(shape) < 2:
        return scatter(shape, 1, 1) if normalises else scatter(shape, 0, 0.1)
    return scatter(shape, 0, math.sqrt(24 / math.prod(shape[1:])))


def lit(model):
    """Makes the constants of a light model inputs and drops its softmax; their formulas by name."""
    graph = model.graph
    shapes = {i.name: onnx.numpy_helper.to_array(i).tolist() for i in graph.initializer}
    normalise = {name for node in graph.node if node.op_type == "BatchNormalization"
                 for name in node.input}
    formulas = {}
    for node in list(graph.node):
        if node.op_type != "ConstantOfShape":
            continue
        shape = shapes[node.input[0]]
        formulas[node.output[0]] = weight(shape, node.output[0] in normalise)
        graph.input.append(onnx.helper.make_tensor_value_info(
            node.output[0], onnx.TensorProto.FLOAT, shape))
        graph.node.remove(node)
    softmax = graph.node[-1]
    assert softmax.op_type == "Softmax"
    graph.output[0].name = softmax.input[0]
    graph.node.remove(softmax)
    return formulas


def run(path, formulas):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    # As written: fused ops of its own may differ in more than rounding.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    source, weights = str(path), {}
    if path.stem.startswith("light_"):
        model = onnx.load(path)
        weights = lit(model)
        source = model.SerializeToString()
    session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    inputs = {}
    for given in session.get_inputs():
        name = given.type.replace("optional(", "").replace("tensor(", "").rstrip(")")
        formula = weights.get(given.name) or formulas[given.name]
        inputs[given.name] = make(formula, TYPES[name])
    names = [output.name for output in session.get_outputs()]
    return {"inputs": formulas,
            "outputs": dict(zip(names, map(expected, session.run(names, inputs))))}


def main():
    folder = pathlib.Path(sys.argv[1])
    output = pathlib.Path(__file__).with_name("expected_outputs.json")
    models = json.loads(output.read_text()) if sys.argv[2:] else {}
    for name in sys.argv[2:] or MODELS:
        try:
            models[name] = run(folder / f"{name}.onnx", MODELS[name])
        except Exception as error:  # which model it was is not in the message
            sys.exit(f"{name}: {error}")
    text = ",\n".join(f"{json.dumps(name)}: {json.dumps(model)}" for name, model in models.items())
    output.write_text("{\n" + text + "\n}\n")


if __name__ == "__main__":
    main()
