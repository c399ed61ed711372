#include "berth/plan_writers.h"

#include <vector>

#include "berth/error.h"
#include "berth/support/text.h"
#include "writers/writers.h"

namespace berth {
namespace {

constexpr PlanWriter kWriters[] = {
    {"csv",
     "a table of ops and devices (RFC 4180); a name that begins with one of = + - @ ' has an "
     "apostrophe before it",
     &writers::csv, nullptr},
    {"graphviz", "a drawing, for `dot`", &writers::graphviz, nullptr},
    {"device_map", "Hugging Face accelerate and transformers: a device by module, as JSON",
     &writers::device_map, &writers::needs_blocks_and_one_host},
    {"llama.cpp", "llama.cpp's options -ngl, --tensor-split, --n-cpu-moe, -ot and -c",
     &writers::llama_cpp, &writers::needs_decoder_and_host},
    {"deepspeed", "the stages of DeepSpeed's PipelineModule, as JSON", &writers::deepspeed,
     &writers::needs_pipeline_layers},
    {"torch-pipelining", "the split points of torch.distributed.pipelining, as JSON",
     &writers::torch_pipelining, &writers::needs_blocks},
    {"openvino", "OpenVINO's affinities and its HETERO device, as JSON", &writers::openvino,
     &writers::needs_one_host},
    {"onnx-mlir",
     "onnx-mlir's file of device placements, as JSON (devices of the kinds cpu and nnpa)",
     &writers::onnx_mlir, &writers::needs_onnx_mlir},
    {"onnxruntime",
     "ONNX Runtime's session option, as JSON, for the model of `--write model` (one GPU and the "
     "host)",
     &writers::onnxruntime, &writers::needs_one_gpu},
    {"vllm", "vLLM's VLLM_PP_LAYER_PARTITION and options", &writers::vllm, &writers::needs_decoder},
};

}  // namespace

std::span<const PlanWriter> plan_writers() {
  return kWriters;
}

const PlanWriter& plan_writer(std::string_view name) {
  std::vector<std::string> names;
  for (const PlanWriter& writer : kWriters) {
    if (writer.name == name) return writer;
    names.emplace_back(writer.name);
  }
  throw Error(ErrorCode::not_found,
              cat("no form of a plan is called '", name, "'", known_names(name, std::move(names))));
}

}  // namespace berth
