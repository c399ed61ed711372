// The tables of op types, one per family and dialect; a type is one row.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/sdk/ops/op.h"
#include "ops/work.h"

namespace berth::ops {

/// Null if the type has no rule. `type` as in the graph.
[[nodiscard]] const WorkRule* find_work(std::string_view dialect, std::string_view type);

/// Whether the runtime of the dialect has a kernel of the type for processors and none for GPUs.
[[nodiscard]] bool lacks_gpu_kernel(std::string_view dialect, std::string_view type);

/// Calls `visit` with each word of a list that is separated by blanks.
template <typename Visit>
void for_each_word(std::string_view list, const Visit& visit) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(' '), list.size());
    if (end > 0) visit(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
}

namespace tf {

/// `outputs` lists "name:type", separated by blanks. The type is the name of an attribute, followed by
/// '=' and its default where the op's definition has one, which files leave out; '=' and the name of
/// a type; or '@' and the attribute that lists the types of as many tensors. A following "*attribute"
/// gives the number of tensors.
struct Row {
  std::string_view type;
  std::string_view outputs;
  Rule shape = nullptr;  ///< null: the shapes do not follow from what a file says
  WorkRule work = {};
  Rule fold = nullptr;
};

[[nodiscard]] std::span<const Row> collective_ops();
[[nodiscard]] std::span<const Row> control_flow_ops();
[[nodiscard]] std::span<const Row> data_ops();
[[nodiscard]] std::span<const Row> diagonal_ops();
[[nodiscard]] std::span<const Row> elementwise_ops();
[[nodiscard]] std::span<const Row> indexing_ops();
[[nodiscard]] std::span<const Row> layout_ops();
[[nodiscard]] std::span<const Row> list_ops();
[[nodiscard]] std::span<const Row> normalization_ops();
[[nodiscard]] std::span<const Row> product_ops();
[[nodiscard]] std::span<const Row> quantized_ops();
[[nodiscard]] std::span<const Row> random_ops();
[[nodiscard]] std::span<const Row> recurrent_ops();
[[nodiscard]] std::span<const Row> reduction_ops();
[[nodiscard]] std::span<const Row> shape_ops();
[[nodiscard]] std::span<const Row> sparse_ops();
[[nodiscard]] std::span<const Row> variable_ops();
[[nodiscard]] std::span<const Row> window_ops();

}  // namespace tf

namespace onnx {

/// Types of other domains than the standard one have theirs in front: "com.microsoft.Gelu".
/// Without a shape rule, libonnx's schema is asked.
struct Row {
  std::string_view type;
  Rule shape = nullptr;
  WorkRule work = {};
  Rule fold = nullptr;
};

}  // namespace onnx

namespace mlir {

/// "stablehlo.add", "linalg.matmul", ...: the type with its dialect.
struct NamedWork {
  std::string type;
  WorkRule work;
};
[[nodiscard]] std::vector<NamedWork> all_ops();

}  // namespace mlir
}  // namespace berth::ops
