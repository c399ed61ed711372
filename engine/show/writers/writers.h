// One function per form of a plan; each as PlanWriter::text says.
#pragma once

#include <string>

#include "berth/plan_writers.h"

namespace berth::writers {

std::string csv(const Graph& graph, const Cluster& cluster, const Placement& placement);
std::string graphviz(const Graph& graph, const Cluster& cluster, const Placement& placement);
std::string device_map(const Graph& graph, const Cluster& cluster, const Placement& placement);
std::string llama_cpp(const Graph& graph, const Cluster& cluster, const Placement& placement);
std::string onnx_mlir(const Graph& graph, const Cluster& cluster, const Placement& placement);
std::string onnxruntime(const Graph& graph, const Cluster& cluster, const Placement& placement);
std::string deepspeed(const Graph& graph, const Cluster& cluster, const Placement& placement);
std::string openvino(const Graph& graph, const Cluster& cluster, const Placement& placement);
std::string torch_pipelining(const Graph& graph, const Cluster& cluster,
                             const Placement& placement);
std::string vllm(const Graph& graph, const Cluster& cluster, const Placement& placement);

// What of a model or a machine a form cannot have, whatever the plan; each as PlanWriter::check says.
void needs_blocks(const Graph& graph, const Cluster& cluster);
void needs_blocks_and_one_host(const Graph& graph, const Cluster& cluster);
void needs_one_host(const Graph& graph, const Cluster& cluster);
void needs_pipeline_layers(const Graph& graph, const Cluster& cluster);
void needs_decoder(const Graph& graph, const Cluster& cluster);
void needs_decoder_and_host(const Graph& graph, const Cluster& cluster);
void needs_onnx_mlir(const Graph& graph, const Cluster& cluster);
void needs_one_gpu(const Graph& graph, const Cluster& cluster);

}  // namespace berth::writers
