#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "runtime/tf/kernels.h"
#include "runtime/tf/support.h"

namespace berth::runtime {
namespace {

/// Tables of ops that do arithmetic, and of those that do not.
const auto kArithmetic = {tf::color_kernels,         tf::convolution_kernels,
                          tf::decomposition_kernels, tf::elementwise_kernels,
                          tf::gradient_kernels,      tf::image_kernels,
                          tf::matrix_kernels,        tf::normalization_kernels,
                          tf::pooling_kernels,       tf::product_kernels,
                          tf::quantized_kernels,     tf::recurrent_kernels,
                          tf::reduction_kernels,     tf::resampling_kernels,
                          tf::segment_kernels,       tf::special_function_kernels,
                          tf::volume_kernels};
const auto kOthers = {tf::control_flow_kernels, tf::format_kernels,
                      tf::indexing_kernels,     tf::layout_kernels,
                      tf::list_kernels,         tf::optimizer_kernels,
                      tf::ragged_kernels,       tf::random_kernels,
                      tf::scatter_kernels,      tf::search_kernels,
                      tf::shape_kernels,        tf::signal_kernels,
                      tf::source_kernels,       tf::stateless_random_kernels,
                      tf::suppression_kernels,  tf::variable_kernels};

bool does_arithmetic(const std::string& type) {
  static const std::set<std::string, std::less<>> types = [] {
    std::set<std::string, std::less<>> made;
    for (const auto table : kArithmetic) {
      for (const KernelRow& row : table()) made.insert(row.type);
    }
    made.insert({"Add", "AddN", "AddV2", "ScatterNd"});
    return made;
  }();
  return types.contains(type);
}

/// Arithmetic on floats of 16 bits is done in f32, and on unsigned integers it wraps around. The graph says
/// which outputs have 16 bits; in a body all do, but for statistics beside images, whose type is the attribute U.
Kernel finished(const KernelRequest& request, Kernel kernel) {
  const Instruction& op = request.instruction;
  if (!does_arithmetic(op.type)) return kernel;
  kernel = wrapped(request, std::move(kernel));
  // An extreme of nothing is the last number of the type itself.
  const auto kOwnType = {"Cast", "UnsortedSegmentMax", "UnsortedSegmentMin"};
  if (std::find(kOwnType.begin(), kOwnType.end(), op.type) != kOwnType.end()) return kernel;
  const Graph& graph = *request.program.graph;
  const auto type_of = [&](ValueId id) {
    return id >= 0 && id < graph.tensor_count() ? graph.dtype(id) : DType::unknown;
  };
  const auto is_wide = [&](ValueId id) {
    const DType dtype = type_of(id);
    return dtype != DType::unknown && dtype != DType::f16 && dtype != DType::bf16;
  };
  if (std::all_of(op.inputs.begin(), op.inputs.end(), is_wide)) return kernel;
  const bool has_statistics = std::any_of(op.attributes.begin(), op.attributes.end(),
                                          [](const auto& one) { return one.first == "U"; });
  std::vector<bool> narrow;
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    const bool is_known = type_of(op.outputs[i]) != DType::unknown;
    narrow.push_back(is_known ? !is_wide(op.outputs[i]) : i == 0 || !has_statistics);
  }
  return widened(std::move(kernel), [narrow = std::move(narrow)](Inputs in, std::size_t i) {
    if (i >= narrow.size() || !narrow[i]) return at::kFloat;
    return std::find_if(in.begin(), in.end(),
                        [](const Value& value) { return is_half(value.tensor); })
        ->tensor.scalar_type();
  });
}

}  // namespace

const KernelRegistry& tf_kernels() {
  static const KernelRegistry registry = [] {
    KernelRegistry made(finished);
    for (const auto& tables : {kArithmetic, kOthers}) {
      for (const auto table : tables) {
        for (const KernelRow& row : table()) made.add(row.type, row.make);
      }
    }
    return made;
  }();
  return registry;
}

}  // namespace berth::runtime
