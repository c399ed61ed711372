"""Graphs that PyTorch's two ONNX exporters write of torchvision's networks."""

import functools

BATCH = 8

TORCHSCRIPT = """alexnet convnext_tiny convnext_base densenet121 densenet201 efficientnet_b0
  efficientnet_b4 efficientnet_v2_s googlenet inception_v3 maxvit_t mnasnet1_0 mobilenet_v2
  mobilenet_v3_large mobilenet_v3_small mvit_v2_s regnet_x_400mf regnet_y_8gf resnet18 resnet50
  resnet152 resnext50_32x4d resnext101_64x4d shufflenet_v2_x1_0 squeezenet1_1 swin_t swin_b swin_v2_t
  vgg11 vgg16_bn vgg19 vit_b_16 vit_l_32 wide_resnet50_2 r3d_18 mc3_18 r2plus1d_18 s3d swin3d_t
  mvit_v1_b deeplabv3_resnet50 deeplabv3_mobilenet_v3_large fcn_resnet50 lraspp_mobilenet_v3_large
  raft_small""".split()

DYNAMO = """convnext_small densenet161 densenet169 efficientnet_b1 efficientnet_b7 efficientnet_v2_m
  mnasnet0_5 mobilenet_v2 mobilenet_v3_large regnet_x_8gf regnet_y_400mf resnet34 resnet101
  resnext101_32x8d shufflenet_v2_x2_0 squeezenet1_0 swin_s swin_v2_s vgg13 vgg19_bn vit_b_32 vit_l_16
  wide_resnet101_2 googlenet inception_v3 maxvit_t fcn_resnet101""".split()

DETECTION = """fasterrcnn_mobilenet_v3_large_320_fpn fasterrcnn_resnet50_fpn fcos_resnet50_fpn
  maskrcnn_resnet50_fpn keypointrcnn_resnet50_fpn retinanet_resnet50_fpn ssd300_vgg16
  ssdlite320_mobilenet_v3_large""".split()

VIDEO = {"r3d_18", "mc3_18", "r2plus1d_18", "s3d", "swin3d_t", "mvit_v1_b", "mvit_v2_s"}


def _build(name):
    import torch
    import torchvision

    torch.manual_seed(0)
    options = {"weights": None}
    if name in DETECTION or "deeplab" in name or "fcn_" in name or "lraspp" in name:
        options["weights_backbone"] = None
    if name in ("googlenet", "inception_v3"):
        options["init_weights"] = False
    return torchvision.models.get_model(name, **options).eval()


class _Tensor:
    """A network's answer as a tensor where torchvision gives a dictionary or a list."""

    def __new__(cls, model):
        import torch

        class Only(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.model = model

            def forward(self, *inputs):
                answer = self.model(*inputs)
                if isinstance(answer, dict):
                    return answer["out"]
                return answer[-1] if isinstance(answer, list) else answer

        return Only().eval()


def _inputs(name, batch):
    import torch

    if name in VIDEO:
        return (torch.randn(batch, 3, 16, 112 if "18" in name else 224, 112 if "18" in name else 224),)
    if name.startswith("raft"):
        return (torch.randn(batch, 3, 128, 128), torch.randn(batch, 3, 128, 128))
    return (torch.randn(batch, 3, 299 if name == "inception_v3" else 224,
                        299 if name == "inception_v3" else 224),)  # fmt: skip


def _row(path, name, mode, exporter, parameters, dims):
    return {
        "file": path.name, "family": name, "mode": mode, "exporter": exporter, "dims": dims,
        "parameters": parameters,
    }  # fmt: skip


def forward(name, exporter, dynamic, folder):
    from onnx_files import export, parameter_bytes

    model = _build(name)
    held = parameter_bytes(model)
    plain = not ("deeplab" in name or "fcn_" in name or "lraspp" in name or "raft" in name)
    inputs = _inputs(name, 2)
    names = ["image", "image_after"][: len(inputs)]
    path = folder / f"torch_{name}_{exporter}{'_dynamic' if dynamic else ''}.onnx"
    export(
        model if plain else _Tensor(model), inputs, path, exporter=exporter, names=names,
        dynamic=[{0: "batch"} for _ in inputs] if dynamic else None,
    )  # fmt: skip
    return _row(path, name, "forward", exporter, held, f"batch={BATCH}" if dynamic else "")


def detection(name, folder):
    import torch
    from onnx_files import export, parameter_bytes

    model = _build(name)
    path = folder / f"torch_{name}_torchscript.onnx"
    export(model, ([torch.rand(3, 320, 320)],), path, exporter="torchscript", names=["image"])
    return _row(path, name, "forward", "torchscript", parameter_bytes(model), "")


def recipes():
    for number, name in enumerate(TORCHSCRIPT):
        make = functools.partial(forward, name, "torchscript", number % 2 == 0)
        yield f"torch/{name}/torchscript", make
    for number, name in enumerate(DYNAMO):
        make = functools.partial(forward, name, "dynamo", number % 2 == 0)
        yield f"torch/{name}/dynamo", make
    for name in DETECTION:
        yield f"torch/{name}/torchscript", functools.partial(detection, name)
