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
std::string vllm(const Graph& graph, const Cluster& cluster, const Placement& placement);

}  // namespace berth::writers
