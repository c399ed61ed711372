"""Graphs of Hugging Face Transformers, one small configuration of each architecture.

Depth and structure are each family's own; widths are smaller than the published ones, so that a
graph is made in seconds. The default of a configuration that is not named here stays.
"""

import functools
import inspect

BATCH = 4
LENGTH = 64

SMALL = {
    "hidden_size": 256, "d_model": 256, "n_embd": 256, "dim": 256, "embedding_size": 256,
    "num_hidden_layers": 4, "num_layers": 4, "n_layer": 4, "n_layers": 4, "encoder_layers": 4,
    "decoder_layers": 4, "num_decoder_layers": 4, "num_attention_heads": 8, "num_heads": 8,
    "n_head": 8, "n_heads": 8, "encoder_attention_heads": 8, "decoder_attention_heads": 8,
    "num_key_value_heads": 4, "intermediate_size": 1024, "d_ff": 1024, "d_kv": 32, "head_dim": 32,
    "encoder_ffn_dim": 1024, "decoder_ffn_dim": 1024, "ffn_dim": 1024, "hidden_dim": 1024,
    "vocab_size": 8000, "num_local_experts": 8, "num_experts": 8, "n_routed_experts": 8,
    "moe_intermediate_size": 256, "word_embed_proj_dim": 256, "pad_token_id": 0, "bos_token_id": 1,
    "eos_token_id": 2, "decoder_start_token_id": 1,
}  # fmt: skip

# type -> what its inputs are: words, words for encoder and decoder, images, sound
ARCHITECTURES = {
    "albert": "words", "bart": "pairs", "bert": "words", "bigbird_pegasus": "pairs",
    "bloom": "causal", "camembert": "words", "convbert": "words", "deberta": "words",
    "deberta-v2": "words", "distilbert": "words", "electra": "words", "falcon": "causal",
    "fnet": "words", "funnel": "words", "gemma": "causal", "gemma2": "causal", "gpt2": "causal",
    "gpt_bigcode": "causal", "gpt_neo": "causal", "gpt_neox": "causal", "gptj": "causal",
    "granite": "causal", "llama": "causal", "marian": "pairs", "mbart": "pairs",
    "mistral": "causal", "mixtral": "causal", "mobilebert": "words", "mpnet": "words", "mpt": "causal",
    "mt5": "pairs", "olmo": "causal", "olmoe": "causal", "opt": "causal", "pegasus": "pairs",
    "phi": "causal", "phi3": "causal", "qwen2": "causal", "qwen2_moe": "causal", "qwen3": "causal",
    "roberta": "words", "roformer": "words", "squeezebert": "words", "stablelm": "causal",
    "starcoder2": "causal", "switch_transformers": "pairs", "t5": "pairs", "xglm": "causal",
    "xlm-roberta": "words", "xlnet": "words", "yoso": "words",
    "beit": "images", "convnextv2": "images", "deit": "images", "dinov2": "images", "dpt": "images",
    "levit": "images", "mobilevit": "images", "poolformer": "images", "pvt": "images",
    "regnet": "images", "resnet": "images", "segformer": "images", "swin": "images",
    "swinv2": "images", "vit": "images", "vit_mae": "images",
    "hubert": "sound", "wav2vec2": "sound", "whisper": "spectrogram",
    "audio-spectrogram-transformer": "spectrogram_image", "speech_to_text": "spectrogram",
}  # fmt: skip

TRAINED = (
    "bert", "gpt2", "llama", "opt", "bloom", "gpt_neox", "qwen2", "mistral", "phi", "distilbert",
    "electra", "roberta", "gemma", "gptj", "mpnet",
)  # fmt: skip

WORDS = {0: "batch", 1: "sequence"}


def _config(name):
    from transformers import AutoConfig

    default = AutoConfig.for_model(name)
    images = ARCHITECTURES[name] == "images"
    options = {
        key: value for key, value in SMALL.items()
        if isinstance(getattr(default, key, None), int) and not isinstance(getattr(default, key), bool)
        and not (images and key in ("hidden_size", "num_hidden_layers", "num_attention_heads"))
    }  # fmt: skip
    if name in ("swin", "swinv2", "levit", "pvt", "segformer", "mobilevit", "convnextv2", "resnet", "regnet", "poolformer"):
        options = {}
    if name in ("funnel", "mobilebert", "xlnet", "yoso", "squeezebert", "convbert"):
        options = {key: value for key, value in options.items() if key == "vocab_size"}
    if name == "gpt_neo":
        options.pop("num_layers", None)  # attention_types says how many
    if name == "gptj":
        options["rotary_dim"] = 16  # of heads 32 wide
    if name == "falcon":
        options.pop("head_dim", None)  # computed there
    return AutoConfig.for_model(name, **options)


def _build(name):
    import torch
    import transformers

    torch.manual_seed(0)
    kind = ARCHITECTURES[name]
    make = {
        "causal": transformers.AutoModelForCausalLM, "pairs": transformers.AutoModelForSeq2SeqLM,
        "spectrogram": transformers.AutoModelForSpeechSeq2Seq,
    }.get(kind, transformers.AutoModel)  # fmt: skip
    config = _config(name)
    config._experts_implementation = "eager"  # grouped products have no ONNX form
    try:
        return make.from_config(config, attn_implementation="eager").eval()
    except (ValueError, TypeError):
        return make.from_config(config).eval()


def _inputs(name, model):
    """The inputs by name, and the named dimensions of each."""
    import torch

    kind, config = ARCHITECTURES[name], model.config
    words = torch.randint(3, 1000, (2, LENGTH))
    image = getattr(config, "image_size", 224)
    image = image[0] if isinstance(image, (list, tuple)) else image or 224
    if kind in ("words", "causal"):
        return {"input_ids": (words, WORDS), "attention_mask": (torch.ones_like(words), WORDS)}
    if kind == "pairs":
        target = {0: "batch", 1: "target"}
        return {
            "input_ids": (words, WORDS), "attention_mask": (torch.ones_like(words), WORDS),
            "decoder_input_ids": (torch.randint(3, 1000, (2, 32)), target),
        }  # fmt: skip
    if kind == "images":
        return {"pixel_values": (torch.randn(2, config.num_channels, image, image), {0: "batch"})}
    if kind == "sound":
        return {"input_values": (torch.randn(2, 16000), {0: "batch"})}
    if kind == "spectrogram_image":
        return {"input_values": (torch.randn(2, config.max_length, config.num_mel_bins), {0: "batch"})}
    length = 2 * config.max_source_positions if name == "whisper" else 400
    shape = (2, config.num_mel_bins, length) if name == "whisper" else (2, length, 80)
    decoder = torch.randint(3, 1000, (2, 32))
    return {
        "input_features": (torch.randn(shape), {0: "batch"}),
        "decoder_input_ids": (decoder, {0: "batch", 1: "target"}),
    }  # fmt: skip


def _adapter(model, names, causal):
    """The model as a function of its inputs in order, without caches and dictionaries."""
    import torch

    accepted = inspect.signature(model.forward).parameters
    options = {"use_cache": False} if "use_cache" in accepted and causal else {}

    class Adapter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, *inputs):
            answer = self.model(**dict(zip(names, inputs)), **options, return_dict=True)
            return answer[0]

    return Adapter().eval()


def _row(path, name, mode, exporter, parameters, dims):
    return {
        "file": path.name, "family": f"transformers-{name}", "mode": mode, "exporter": exporter,
        "dims": dims, "parameters": parameters,
    }  # fmt: skip


def forward(name, exporter, dynamic, folder):
    from onnx_files import export, parameter_bytes

    model = _build(name)
    inputs = _inputs(name, model)
    adapter = _adapter(model, list(inputs), ARCHITECTURES[name] not in ("images", "sound"))
    path = folder / f"transformers_{name}_{exporter}{'_dynamic' if dynamic else ''}.onnx"
    export(
        adapter, tuple(value for value, _ in inputs.values()), path, exporter=exporter,
        names=list(inputs), dynamic=[axes for _, axes in inputs.values()] if dynamic else None,
    )  # fmt: skip
    held = sorted({dim for _, axes in inputs.values() for dim in axes.values()})
    sizes = {"batch": BATCH, "sequence": LENGTH, "target": 32}
    dims = ",".join(f"{dim}={sizes[dim]}" for dim in held) if dynamic else ""
    return _row(path, name, "forward", exporter, parameter_bytes(model), dims)


def training(name, folder):
    import torch
    from onnx_files import export, parameter_bytes, training_step

    model = _build(name)
    words = torch.randint(3, 1000, (BATCH, LENGTH))

    def loss_of(call, inputs):
        if ARCHITECTURES[name] == "causal":
            mask = torch.ones_like(inputs[0])  # without one, packed sequences are looked for
            return call(
                input_ids=inputs[0], attention_mask=mask, labels=inputs[0], use_cache=False
            ).loss
        return call(input_ids=inputs[0])[0].square().mean()

    step = training_step(model, (words,), loss_of)
    path = folder / f"transformers_{name}_training.onnx"
    export(step, (words,), path, exporter="dynamo", names=["input_ids"])
    return _row(path, name, "training", "dynamo", parameter_bytes(model), "")


def recipes():
    for number, name in enumerate(ARCHITECTURES):
        exporter = ("dynamo", "torchscript")[number % 2]
        dynamic = number % 4 in (1, 2)
        yield f"transformers/{name}/{exporter}", functools.partial(forward, name, exporter, dynamic)
    for name in TRAINED:
        yield f"transformers/{name}/training", functools.partial(training, name)
