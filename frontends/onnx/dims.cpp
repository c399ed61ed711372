#include "onnx/dims.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <set>

#include "berth/error.h"
#include "onnx/types.h"
#include "support/text.h"

namespace berth::onnx_frontend {
namespace {

using frontend::list_names;
using frontend::readable;
using onnx::TensorShapeProto;

constexpr std::int64_t kDefaultDim = 1;
const std::string kEveryFirst = "*";  // as LoadOptions has it

TensorShapeProto* shape_of(onnx::TypeProto& type) {
  switch (type.value_case()) {
    case onnx::TypeProto::kTensorType:
      return type.tensor_type().has_shape() ? type.mutable_tensor_type()->mutable_shape() : nullptr;
    case onnx::TypeProto::kSparseTensorType:
      return type.sparse_tensor_type().has_shape()
                 ? type.mutable_sparse_tensor_type()->mutable_shape()
                 : nullptr;
    case onnx::TypeProto::kSequenceType:
      return shape_of(*type.mutable_sequence_type()->mutable_elem_type());
    case onnx::TypeProto::kOptionalType:
      return shape_of(*type.mutable_optional_type()->mutable_elem_type());
    default:
      return nullptr;
  }
}

bool is_named(const TensorShapeProto::Dimension& dim) {
  return dim.has_dim_param() && !dim.dim_param().empty();
}

bool leaves_first_open(const TensorShapeProto& shape) {
  if (shape.dim_size() == 0) return false;
  return is_named(shape.dim(0)) || !shape.dim(0).has_dim_value() || shape.dim(0).dim_value() < 0;
}

using Visit = std::function<void(TensorShapeProto&)>;

void for_all_shapes(onnx::GraphProto& graph, const Visit& visit) {
  for (auto* const infos :
       {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()}) {
    for (auto& info : *infos) {
      if (!info.has_type()) continue;
      if (TensorShapeProto* const shape = shape_of(*info.mutable_type())) visit(*shape);
    }
  }
  for (auto& node : *graph.mutable_node()) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) for_all_shapes(*attribute.mutable_g(), visit);
    }
  }
}

class DimBinder {
 public:
  DimBinder(Model& model, const LoadOptions& options) : model_(model), options_(options) {}

  void run() {
    collect();
    bind_given_dims();
    bind_given_shapes();
    if (const auto batch = options_.dims.find(kEveryFirst); batch != options_.dims.end()) {
      bind_batch(batch->second);
    }
    bind_the_rest();
    for_all_shapes(*model_.proto->mutable_graph(), [&](TensorShapeProto& s) { substitute(s); });
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorCode::invalid_argument, cat(model_.file, ": ", what));
  }
  static std::vector<std::string> listed(const std::set<std::string>& names) {
    return {names.begin(), names.end()};
  }
  bool is_initializer(const std::string& name) const { return initializers_.contains(name); }

  void collect();
  void bind_given_dims();
  void bind_given_shapes();
  void bind_shape(const std::string& input, TensorShapeProto& shape,
                  const std::vector<std::int64_t>& given);
  void bind(const std::string& name, std::int64_t value);
  void bind_batch(std::int64_t value);
  std::string other_ways(std::int64_t value) const;
  void bind_the_rest();
  void bind_unnamed(const std::string& input, TensorShapeProto& shape);
  void substitute(TensorShapeProto& shape) const;
  std::optional<std::int64_t> value_of(const std::string& name) const;
  bool is_expression(const std::string& name) const;

  Model& model_;
  const LoadOptions& options_;
  std::set<std::string> initializers_;
  std::set<std::string> inputs_;
  std::set<std::string> input_dims_;  // names in shapes of inputs
  std::string open_first_;            // an input that leaves its first dimension open
  std::set<std::string> all_dims_;
  std::map<std::string, std::int64_t> bound_;
  std::set<std::string> defaulted_;
  std::vector<std::string> unnamed_;
};

void DimBinder::collect() {
  auto& graph = *model_.proto->mutable_graph();
  for (const auto& tensor : graph.initializer()) initializers_.insert(tensor.name());
  const auto names_of = [](const TensorShapeProto& shape, std::set<std::string>& names) {
    for (const auto& dim : shape.dim()) {
      if (is_named(dim)) names.insert(dim.dim_param());
    }
  };
  for (auto& input : *graph.mutable_input()) {
    if (is_initializer(input.name())) continue;
    inputs_.insert(input.name());
    if (!input.has_type()) continue;
    const auto* const shape = shape_of(*input.mutable_type());
    if (shape == nullptr) continue;
    names_of(*shape, input_dims_);
    if (open_first_.empty() && leaves_first_open(*shape)) open_first_ = input.name();
  }
  for_all_shapes(graph, [&](TensorShapeProto& shape) { names_of(shape, all_dims_); });
}

void DimBinder::bind(const std::string& name, std::int64_t value) {
  if (value < 0 || value > kMaxDim) {
    refuse(cat("dimension '", readable(name), "' cannot be ", value, "; give a size from 0 to ",
               kMaxDim));
  }
  const auto [entry, is_new] = bound_.emplace(name, value);
  if (!is_new && entry->second != value) {
    refuse(cat("dimension '", readable(name), "' is given both as ", entry->second, " and as ",
               value, "; give it once"));
  }
}

void DimBinder::bind_given_dims() {
  for (const auto& [name, value] : options_.dims) {
    if (name == kEveryFirst) continue;
    if (!all_dims_.contains(name)) {
      refuse(cat("the model has no dimension named '", readable(name), "'; ",
                 input_dims_.empty() ? "its inputs have no named dimensions"
                                     : "it has " + list_names(listed(input_dims_), 20),
                 other_ways(value)));
    }
    bind(name, value);
  }
}

/// What to write for a dimension that no input names so.
std::string DimBinder::other_ways(std::int64_t value) const {
  std::string ways;
  if (!open_first_.empty()) {
    ways += cat("; for the first dimension of every input write --batch ", value);
  }
  if (!input_dims_.empty()) {
    ways += cat(ways.empty() ? "; write" : ", for another", " --dim ",
                readable(*input_dims_.begin()), "=", value);
  }
  return ways;
}

void DimBinder::bind_batch(std::int64_t value) {
  if (open_first_.empty()) {
    refuse(cat("no input leaves its first dimension open, so that a batch of ", value,
               " has no meaning; export the model with a dynamic batch"));
  }
  if (value < 0 || value > kMaxDim) {
    refuse(cat("the batch cannot be ", value, "; give a size from 0 to ", kMaxDim));
  }
  for (auto& input : *model_.proto->mutable_graph()->mutable_input()) {
    if (is_initializer(input.name()) || !input.has_type()) continue;
    TensorShapeProto* const shape = shape_of(*input.mutable_type());
    if (shape == nullptr || !leaves_first_open(*shape)) continue;
    auto& first = *shape->mutable_dim(0);
    if (!is_named(first)) {
      first.set_dim_value(value);
    } else if (!is_expression(first.dim_param())) {
      bind(first.dim_param(), value);
    }
  }
}

void DimBinder::bind_shape(const std::string& input, TensorShapeProto& shape,
                           const std::vector<std::int64_t>& given) {
  if (static_cast<std::size_t>(shape.dim_size()) != given.size()) {
    refuse(cat("input '", readable(input), "' has ", shape.dim_size(),
               " dimensions and the shape "
               "given for it has ",
               given.size()));
  }
  for (int i = 0; i < shape.dim_size(); ++i) {
    auto& dim = *shape.mutable_dim(i);
    const std::int64_t value = given[static_cast<std::size_t>(i)];
    if (is_named(dim)) {
      bind(dim.dim_param(), value);
    } else if (dim.has_dim_value() && dim.dim_value() >= 0 && dim.dim_value() != value) {
      refuse(cat("dimension ", i, " of input '", readable(input), "' is ", dim.dim_value(),
                 " in the model and ", value,
                 " in the shape given; export the model with a dynamic "
                 "dimension there or give ",
                 dim.dim_value()));
    }
    dim.set_dim_value(value);
  }
}

void DimBinder::bind_given_shapes() {
  for (const auto& [name, given] : options_.shapes) {
    if (!inputs_.contains(name)) {
      refuse(cat("the model has no input named '", readable(name), "'; it has ",
                 list_names(listed(inputs_), 20)));
    }
    for (const std::int64_t dim : given) {
      if (dim < 0 || dim > kMaxDim || given.size() > static_cast<std::size_t>(kMaxRank)) {
        refuse(cat("the shape given for input '", readable(name), "' holds ", dim,
                   "; dimensions are from 0 to ", kMaxDim));
      }
    }
    for (auto& input : *model_.proto->mutable_graph()->mutable_input()) {
      if (input.name() != name) continue;
      auto* const type = input.mutable_type();
      if (TensorShapeProto* const shape = shape_of(*type)) {
        bind_shape(name, *shape, given);
      } else if (type->value_case() == onnx::TypeProto::kTensorType ||
                 type->value_case() == onnx::TypeProto::VALUE_NOT_SET) {
        for (const std::int64_t dim : given) {
          type->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(dim);
        }
      } else {
        refuse(cat("input '", readable(name), "' is not a tensor and takes no shape"));
      }
    }
  }
}

void DimBinder::bind_unnamed(const std::string& input, TensorShapeProto& shape) {
  bool any = false;
  for (auto& dim : *shape.mutable_dim()) {
    if (is_named(dim) || (dim.has_dim_value() && dim.dim_value() >= 0)) continue;
    dim.set_dim_value(kDefaultDim);
    any = true;
  }
  if (any) unnamed_.push_back(readable(input));
}

void DimBinder::bind_the_rest() {
  for (const std::string& name : input_dims_) {
    if (!bound_.contains(name) && !is_expression(name)) defaulted_.insert(readable(name));
  }
  for (const std::string& name : input_dims_) {
    if (!is_expression(name)) bound_.emplace(name, kDefaultDim);
  }
  for (auto& input : *model_.proto->mutable_graph()->mutable_input()) {
    if (is_initializer(input.name()) || !input.has_type()) continue;
    if (TensorShapeProto* const shape = shape_of(*input.mutable_type())) {
      bind_unnamed(input.name(), *shape);
    }
  }
  if (!defaulted_.empty()) {
    model_.notes.push_back(
        cat("dimensions not given are taken as 1: ", list_names(listed(defaulted_)),
            "; give them with --dim NAME=SIZE", ", or the first of every input with --batch SIZE"));
  }
  if (!unnamed_.empty()) {
    model_.notes.push_back(
        cat("dimensions without a name are taken as 1 in the inputs ", list_names(unnamed_),
            "; give a shape with --shape INPUT=1x3x224x224, or the first of every "
            "input with --batch SIZE"));
  }
}

// "a", "7", "a + b", "2*a + 1": a sum of products of names and numbers. A name as a whole comes
// first.
std::optional<std::int64_t> DimBinder::value_of(const std::string& name) const {
  const auto found = bound_.find(name);
  if (found != bound_.end()) return found->second;
  std::int64_t sum = 0, term = 1;
  std::string factor;
  const auto multiply = [&] {
    std::int64_t value = 0;
    const auto parsed = std::from_chars(factor.data(), factor.data() + factor.size(), value);
    if (parsed.ec != std::errc{} || parsed.ptr != factor.data() + factor.size()) {
      const auto known = bound_.find(factor);
      if (known == bound_.end()) return false;
      value = known->second;
    }
    factor.clear();
    return !__builtin_mul_overflow(term, value, &term);
  };
  const auto add = [&] {
    const bool fits = multiply() && !__builtin_add_overflow(sum, term, &sum);
    term = 1;
    return fits;
  };
  for (const char c : name) {
    if (c == ' ') continue;
    if (c == '+' ? !add() : c == '*' && !multiply()) return std::nullopt;
    if (c != '+' && c != '*') factor += c;
  }
  if (!add() || sum < 0 || sum > kMaxDim) return std::nullopt;
  return sum;
}

bool DimBinder::is_expression(const std::string& name) const {
  return !bound_.contains(name) && name.find_first_of("+*") != std::string::npos;
}

void DimBinder::substitute(TensorShapeProto& shape) const {
  for (auto& dim : *shape.mutable_dim()) {
    if (!is_named(dim)) continue;
    if (const auto value = value_of(dim.dim_param())) dim.set_dim_value(*value);
  }
}

}  // namespace

void bind_dims(Model& model, const LoadOptions& options) {
  DimBinder(model, options).run();
}

}  // namespace berth::onnx_frontend
