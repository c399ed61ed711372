#include "host/foreign_models.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <system_error>

#include "berth/support/text.h"

namespace berth {
namespace {

struct Row {
  std::string_view suffixes;  // each with a space behind it
  std::string_view advice;
};

constexpr std::string_view kWeightsAlone =
    "weights and settings without a graph; export the model, as with `optimum-cli export onnx "
    "--model FOLDER OUT`";

constexpr std::array<Row, 13> kRows = {{
    {".pt .pth .ckpt .pt2 .ptl ",
     "PyTorch's file; load it in PyTorch and export the model with torch.onnx.export"},
    {".safetensors ", kWeightsAlone},
    {".gguf .ggml ",
     "llama.cpp's weights, without a graph; export the model that they were made of to ONNX, and "
     "place that with "
     "--for llama.cpp"},
    {".tflite ",
     "TensorFlow Lite's file; `python -m tf2onnx.convert --tflite FILE --output model.onnx` "
     "converts it"},
    {".keras .h5 .hdf5 ",
     "Keras' file; load it in Keras and write a SavedModel with model.export(\"FOLDER\")"},
    {".mlir .mlirbc ",
     "MLIR, which a pass places: mlir-opt --load-pass-plugin=berth_mlir.so "
     "--pass-pipeline='builtin.module(berth-place{cluster=k80x4})' FILE"},
    {".xml ", "OpenVINO's form, if it is a model; give the model that it was converted from"},
    {".ort ", "ONNX Runtime's own form; give the .onnx that it was made of"},
    {".engine .plan .trt ",
     "an engine that TensorRT built for one GPU; give the model that it was built from"},
    {".mlmodel .mlpackage .mlmodelc ", "Core ML's form; give the model that it was converted from"},
    {".pdmodel .pdparams ", "PaddlePaddle's file; `paddle2onnx` converts it"},
    {".caffemodel .prototxt ", "Caffe's file; convert it to ONNX first"},
    {".zst .xz .bz2 .zip .tar .tgz .7z ",
     "packed; unpack it first (of packed files only .gz are read)"},
}};

std::string lower_suffix(const std::filesystem::path& model) {
  std::string suffix = model.extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return suffix;
}

/// Whether the folder holds weights and settings as Hugging Face's models do.
bool holds_weights(const std::filesystem::path& folder) {
  std::error_code error;
  return std::filesystem::exists(folder / "config.json", error);
}

}  // namespace

std::string foreign_model_advice(const std::filesystem::path& model) {
  const std::string suffix = lower_suffix(model);
  std::error_code error;
  if (suffix == ".json") {
    return model.filename() == "config.json"
               ? std::string(kWeightsAlone)
               : "if it is an exchange graph, let its name end in .graph.json";
  }
  if (suffix == ".txt") return "if it is a GraphDef in text, let its name end in .pbtxt";
  if (suffix.empty() || std::filesystem::is_directory(model, error)) {
    if (holds_weights(model)) return std::string(kWeightsAlone);
    if (suffix.empty()) return {};
  }
  for (const Row& row : kRows) {
    if (row.suffixes.find(cat(suffix, " ")) != std::string_view::npos) {
      return std::string(row.advice);
    }
  }
  return {};
}

}  // namespace berth
