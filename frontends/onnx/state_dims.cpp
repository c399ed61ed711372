#include "onnx/state_dims.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "onnx/dims.h"

namespace berth::onnx_frontend {
namespace {

using onnx::NodeProto;
using onnx::TensorShapeProto;

/// Which inputs of an op are its caches, and where heads, positions and numbers of a head are in them. -1 =
/// there is none.
struct Form {
  std::string_view type;
  int first;  ///< the input of keys, or of both; values are the next
  int count;  ///< of caches
  int heads;  ///< dimensions
  int positions;
  int numbers;
};

constexpr Form kForms[] = {
    {"com.microsoft.GroupQueryAttention", 3, 2, 1, 2, 3},
    {"com.microsoft.SparseAttention", 3, 2, 1, 2, 3},
    {"com.microsoft.PagedAttention", 3, 2, 2, -1, 3},
    {"com.microsoft.MultiHeadAttention", 6, 2, 1, 2, 3},
    {"com.microsoft.DecoderMaskedMultiHeadAttention", 5, 2, 1, 2, 3},
    {"com.microsoft.Attention", 4, 1, 2, 3, 4},
    {"com.microsoft.DecoderMaskedSelfAttention", 4, 1, 2, 3, 4},
    {"com.microsoft.QAttention", 8, 1, 2, 3, 4},
    {"Attention", 4, 2, 1, 2, 3},
};

std::int64_t integer(const NodeProto& node, std::string_view name) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == name) return attribute.i();
  }
  return 0;
}

class Solver {
 public:
  using Sizes = std::function<std::optional<std::int64_t>(const std::string&)>;

  Solver(const onnx::GraphProto& graph, const Sizes& size_of) : size_of_(size_of) {
    for (const auto& input : graph.input()) {
      if (!input.type().tensor_type().has_shape()) continue;
      inputs_.emplace(input.name(), &input.type().tensor_type().shape());
    }
    for (const auto* const infos : {&graph.input(), &graph.value_info()}) {
      for (const auto& info : *infos) {
        if (!info.type().tensor_type().has_shape()) continue;
        const TensorShapeProto& shape = info.type().tensor_type().shape();
        if (shape.dim_size() == 0) continue;
        keep(info.name(), value_of(shape.dim(shape.dim_size() - 1)));
      }
    }
    for (const auto& weight : graph.initializer()) {
      if (weight.dims_size() > 0) keep(weight.name(), weight.dims(weight.dims_size() - 1));
    }
    for (const NodeProto& node : graph.node()) {
      for (const std::string& output : node.output()) makers_.emplace(output, &node);
    }
  }

  std::map<std::string, std::int64_t> run(const onnx::GraphProto& graph) {
    for (const NodeProto& node : graph.node()) {
      const std::string type =
          is_onnx(node) ? node.op_type() : node.domain() + "." + node.op_type();
      const Form* const form = std::find_if(std::begin(kForms), std::end(kForms),
                                            [&](const Form& one) { return one.type == type; });
      if (form != std::end(kForms)) look_at(node, *form);
    }
    for (const auto& [name, window] : windows_) {
      if (longest_ > 0 && !whole_.contains(name)) solved_.emplace(name, std::min(window, longest_));
    }
    return std::move(solved_);
  }

 private:
  static bool is_onnx(const NodeProto& node) {
    return node.domain().empty() || node.domain() == "ai.onnx";
  }
  [[nodiscard]] std::int64_t value_of(const TensorShapeProto::Dimension& dim) const {
    if (dim.has_dim_value()) return std::max<std::int64_t>(0, dim.dim_value());
    return is_named(dim) ? size_of_(dim.dim_param()).value_or(0) : 0;
  }
  void keep(const std::string& tensor, std::int64_t width) {
    if (width > 0) widths_.emplace(tensor, width);
  }

  /// The last dimension of a tensor, as the file says it or the weights of what makes it; 0 = not known.
  [[nodiscard]] std::int64_t width_of(std::string tensor) const {
    constexpr int kLongest = 16;
    for (int i = 0; i < kLongest; ++i) {
      const auto said = widths_.find(tensor);
      if (said != widths_.end()) return said->second;
      const auto maker = makers_.find(tensor);
      if (maker == makers_.end() || maker->second->input_size() == 0) return 0;
      const NodeProto& node = *maker->second;
      const std::string& type = node.op_type();
      if (type == "MatMulNBits") return integer(node, "N");
      constexpr std::string_view kKeeping[] = {"Add", "Cast", "Identity", "RotaryEmbedding", "Mul"};
      const bool keeps =
          std::find(std::begin(kKeeping), std::end(kKeeping), type) != std::end(kKeeping);
      if (type != "MatMul" && !keeps) return 0;
      tensor = node.input(type == "MatMul" ? node.input_size() - 1 : 0);
    }
    return 0;
  }

  [[nodiscard]] static const std::string& input(const NodeProto& node, int i) {
    static const std::string kNone;
    return i < node.input_size() ? node.input(i) : kNone;
  }
  /// Numbers of a head in the cache of keys (0) or values (1); 0 = not known.
  [[nodiscard]] std::int64_t head_size(const NodeProto& node, const Form& form, int cache,
                                       std::int64_t heads, std::int64_t kv_heads) const {
    if (heads < 1 || kv_heads < 1) return 0;
    if (form.count == 1) {  // one weight for the three projections
      for (const auto& attribute : node.attribute()) {
        if (attribute.name() != "qkv_hidden_sizes" || attribute.ints_size() != 3) continue;
        return attribute.ints(2) / heads;
      }
      return width_of(input(node, 1)) / 3 / heads;
    }
    if (form.type.ends_with("HeadAttention")) {
      const std::int64_t values = cache == 1 ? width_of(input(node, 2)) : 0;
      return values > 0 ? values / heads : width_of(input(node, 0)) / heads;
    }
    if (form.type == "Attention") return width_of(input(node, cache + 1)) / kv_heads;
    const bool packed = input(node, 1).empty();
    const std::int64_t size = width_of(input(node, 0)) / (packed ? heads + 2 * kv_heads : heads);
    // Two numbers of 4 bits are in a byte.
    return integer(node, "kv_cache_bit_width") == 4 ? (size + 1) / 2 : size;
  }

  void look_at(const NodeProto& node, const Form& form) {
    const bool of_onnx = form.type == "Attention";
    const std::int64_t heads = integer(node, of_onnx ? "q_num_heads" : "num_heads");
    std::int64_t kv_heads = integer(node, "kv_num_heads");
    // Four dimensions have heads of their own.
    if (of_onnx && heads == 0) return;
    if (kv_heads == 0) kv_heads = heads;
    const std::int64_t window = integer(node, "local_window_size");
    for (int cache = 0; cache < form.count; ++cache) {
      const auto found = inputs_.find(input(node, form.first + cache));
      if (found == inputs_.end()) continue;
      const TensorShapeProto& shape = *found->second;
      if (shape.dim_size() <= form.numbers) continue;
      solve(shape.dim(form.heads), kv_heads);
      solve(shape.dim(form.numbers), head_size(node, form, cache, heads, kv_heads));
      if (form.positions < 0) continue;
      const TensorShapeProto::Dimension& positions = shape.dim(form.positions);
      longest_ = std::max(longest_, value_of(positions));
      if (!is_open(positions)) continue;
      if (window > 0) windows_.emplace(positions.dim_param(), window);
      if (window <= 0) whole_.insert(positions.dim_param());
    }
  }
  [[nodiscard]] bool is_open(const TensorShapeProto::Dimension& dim) const {
    return is_named(dim) && !dim.has_dim_value() && !size_of_(dim.dim_param());
  }
  void solve(const TensorShapeProto::Dimension& dim, std::int64_t size) {
    if (size > 0 && is_open(dim)) solved_.emplace(dim.dim_param(), size);
  }

  const Sizes& size_of_;
  std::unordered_map<std::string, const TensorShapeProto*> inputs_;
  std::unordered_map<std::string, std::int64_t> widths_;
  std::unordered_map<std::string, const NodeProto*> makers_;
  std::int64_t longest_ = 0;  ///< cache, in positions
  std::map<std::string, std::int64_t> windows_;
  std::set<std::string> whole_;  ///< positions of caches that have no window
  std::map<std::string, std::int64_t> solved_;
};

}  // namespace

std::map<std::string, std::int64_t> dims_of_states(
    const onnx::GraphProto& graph,
    const std::function<std::optional<std::int64_t>(const std::string&)>& size_of) {
  return Solver(graph, size_of).run(graph);
}

}  // namespace berth::onnx_frontend
