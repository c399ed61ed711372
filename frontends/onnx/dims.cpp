#include "onnx/dims.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <functional>
#include <optional>
#include <set>

#include "berth/error.h"
#include "onnx/dim_expression.h"
#include "onnx/state_dims.h"
#include "onnx/types.h"
#include "support/sizes.h"
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

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

/// Nodes whose trips may be given: Loops, and contributed ops with bodies, which search. By name, or by their first
/// result where they have none.
void collect_loops(const Nodes& nodes, std::set<std::string>& names) {
  for (const auto& node : nodes) {
    bool searches = false;
    for (const auto& attribute : node.attribute()) {
      if (!attribute.has_g()) continue;
      collect_loops(attribute.g().node(), names);
      searches = !node.domain().empty() && node.domain() != "ai.onnx";
    }
    if (!searches && node.op_type() != "Loop") continue;
    if (node.name().empty() && node.output_size() == 0) continue;
    names.insert(readable(node.name().empty() ? node.output(0) : node.name()));
  }
}

class DimBinder {
 public:
  DimBinder(Model& model, const LoadOptions& options) : model_(model), options_(options) {}

  void run() {
    collect();
    model_.fixes_sizes = options_.dims.empty() && options_.shapes.empty() && states_all_sizes();
    std::set<int> strengths = {0};
    for (const auto& [name, weakness] : options_.weakness) strengths.insert(weakness);
    for (const int weakness : strengths) {
      weakness_ = weakness;
      bind_given_dims();
      bind_given_shapes();
      const auto batch = options_.dims.find(kEveryFirst);
      if (is_bound_now("dims.", kEveryFirst) && batch != options_.dims.end()) {
        bind_batch(batch->second);
      }
    }
    solve_given_expressions();
    bind_states();
    bind_the_rest();
    model_.dims.bound = std::move(bound_);
    for_all_shapes(*model_.proto->mutable_graph(),
                   [&](TensorShapeProto& shape) { model_.dims.substitute(shape); });
    settle_inputs();
    if (!options_.weakness.empty()) model_.sizes = settled_sizes();
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorCode::invalid_argument, cat(model_.file, ": ", what));
  }
  static std::vector<std::string> listed(const std::set<std::string>& names) {
    return {names.begin(), names.end()};
  }
  bool is_initializer(const std::string& name) const { return initializers_.contains(name); }
  bool is_bound_now(const char* key, const std::string& name) const {
    return frontend::weakness_of(options_, key + name) == weakness_;
  }

  bool states_all_sizes() const;
  void collect();
  void collect_expressions();
  bool names_loop(const std::string& name) const;
  void bind_given_dims();
  void bind_given_shapes();
  void bind_shape(const std::string& input, TensorShapeProto& shape,
                  const std::vector<std::int64_t>& given);
  std::int64_t bind(const std::string& name, std::int64_t value);
  SettledSizes settled_sizes() const;
  void bind_batch(std::int64_t value);
  std::string other_ways(std::int64_t value) const;
  void solve_given_expressions();
  void solve(const std::string& name, const DimExpression& expression, std::int64_t whole);
  bool yields(const std::string& name, const DimExpression& expression) const;
  std::vector<std::string> open_symbols(const DimExpression& expression) const;
  void settle_inputs();
  void bind_states();
  void bind_the_rest();
  void bind_unnamed(const std::string& input, TensorShapeProto& shape);
  void note_defaults();
  std::vector<std::string> symbols_in(const std::string& name) const;
  std::vector<std::string> what_inputs_name() const;
  bool is_expression(const std::string& name) const { return expressions_.contains(name); }
  void give_shape(const std::string& tensor, const std::vector<std::int64_t>& given);

  Model& model_;
  const LoadOptions& options_;
  std::set<std::string> initializers_;
  std::set<std::string> inputs_;
  std::set<std::string> input_dims_;  // names in shapes of inputs
  std::string open_first_;            // an input that leaves its first dimension open
  std::set<std::string> all_dims_;
  std::set<std::string> loops_;  // names of nodes with trips, wherever they are
  std::map<std::string, DimExpression> expressions_;  // of all_dims_, those that are computed
  std::map<std::string, std::string> computed_in_;    // symbols, and an expression of theirs
  std::map<std::string, std::int64_t> bound_;
  int weakness_ = 0;                        // of the sources whose sizes are bound now
  std::map<std::string, int> weakness_of_;  // of those that bound the names in bound_
  std::map<std::pair<std::string, int>, int>
      closed_;  // dimensions of inputs that were given, by weakness
  bool batch_gave_way_ = false;
  std::set<std::string> defaulted_;
  std::vector<std::string> unnamed_;
};

// "batch-size" may be a name as well as a difference, and "2s1" a name as well as a product.
bool may_be_a_name(const std::string& text) {
  if (text.find_first_of(" +*/%(),") != std::string::npos) return false;
  const bool starts_with_digit = text.front() >= '0' && text.front() <= '9';
  if (text.find('-') == std::string::npos) return starts_with_digit;
  if (starts_with_digit || text.front() == '-') return false;
  for (std::size_t at = text.find('-'); at != std::string::npos; at = text.find('-', at + 1)) {
    if (at + 1 == text.size() || (text[at + 1] >= '0' && text[at + 1] <= '9')) return false;
  }
  return true;
}

bool DimBinder::states_all_sizes() const {
  const auto& inputs = model_.proto->graph().input();
  return std::all_of(inputs.begin(), inputs.end(), [&](const onnx::ValueInfoProto& input) {
    if (is_initializer(input.name())) return true;
    const auto& tensor = input.type().tensor_type();
    return tensor.has_shape() &&
           std::all_of(tensor.shape().dim().begin(), tensor.shape().dim().end(),
                       [](const auto& dim) { return dim.has_dim_value() && dim.dim_value() >= 0; });
  });
}

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
    const bool open = shape == nullptr ||
                      std::any_of(shape->dim().begin(), shape->dim().end(), [](const auto& dim) {
                        return is_named(dim) || !dim.has_dim_value() || dim.dim_value() < 0;
                      });
    if (open) model_.open_inputs.insert(input.name());
    if (shape == nullptr) continue;
    names_of(*shape, input_dims_);
    if (open_first_.empty() && leaves_first_open(*shape)) open_first_ = input.name();
  }
  for_all_shapes(graph, [&](TensorShapeProto& shape) { names_of(shape, all_dims_); });
  collect_loops(graph.node(), loops_);
  for (const auto& function : model_.proto->functions()) collect_loops(function.node(), loops_);
  collect_expressions();
}

// What may be a name is an expression only where one of its symbols is known from elsewhere.
void DimBinder::collect_expressions() {
  std::set<std::string> known;
  for (const auto& [name, size] : options_.dims) known.insert(name);
  std::vector<std::pair<std::string, DimExpression>> doubtful;
  const auto keep = [&](const std::string& name, DimExpression expression) {
    for (const std::string& symbol : expression.symbols()) {
      known.insert(symbol);
      computed_in_.emplace(symbol, name);
    }
    expressions_.emplace(name, std::move(expression));
  };
  for (const std::string& name : all_dims_) {
    auto expression = DimExpression::parse(name);
    if (!expression || !expression->computed()) {
      known.insert(name);
    } else if (may_be_a_name(name)) {
      doubtful.emplace_back(name, std::move(*expression));
    } else {
      keep(name, std::move(*expression));
    }
  }
  for (auto& [name, expression] : doubtful) {
    const auto& symbols = expression.symbols();
    if (options_.dims.contains(name)) continue;
    if (std::any_of(symbols.begin(), symbols.end(),
                    [&](const std::string& symbol) { return known.contains(symbol); })) {
      keep(name, std::move(expression));
    }
  }
}

// The name itself, or the symbols that it is computed from.
std::vector<std::string> DimBinder::symbols_in(const std::string& name) const {
  const auto expression = expressions_.find(name);
  return expression == expressions_.end() ? std::vector{name} : expression->second.symbols();
}

std::vector<std::string> DimBinder::what_inputs_name() const {
  std::set<std::string> symbols;
  for (const std::string& name : input_dims_) {
    for (std::string& symbol : symbols_in(name)) symbols.insert(std::move(symbol));
  }
  return listed(symbols);
}

// Returns the size that counts: a stronger source may have given another one.
std::int64_t DimBinder::bind(const std::string& name, std::int64_t value) {
  if (value < 0 || value > kMaxDim) {
    refuse(cat("dimension '", readable(name), "' cannot be ", value, "; give a size from 0 to ",
               kMaxDim));
  }
  const auto [entry, is_new] = bound_.emplace(name, value);
  if (is_new) weakness_of_[name] = weakness_;
  if (!is_new && entry->second != value && weakness_of_[name] == weakness_) {
    refuse(cat("dimension '", readable(name), "' is given both as ", entry->second, " and as ",
               value, "; give it once"));
  }
  return entry->second;
}

// Names of nodes in bodies and functions have those around them in front.
bool DimBinder::names_loop(const std::string& name) const {
  return std::any_of(loops_.begin(), loops_.end(), [&](const std::string& loop) {
    return name == loop || name.ends_with("/" + loop);
  });
}

void DimBinder::bind_given_dims() {
  for (const auto& [name, value] : options_.dims) {
    if (name == kEveryFirst || !is_bound_now("dims.", name)) continue;
    if (!all_dims_.contains(name) && !computed_in_.contains(name)) {
      if (names_loop(name) && value >= 0 && value <= kMaxDim) continue;
      refuse(cat("the model has no dimension named '", readable(name), "'; ",
                 input_dims_.empty() ? "its inputs have no named dimensions"
                                     : "it has " + list_names(what_inputs_name(), 20),
                 other_ways(value)));
    }
    bind(name, value);
  }
}

// An expression that is given as a whole gives its one symbol that is not. What it gives may leave another one open
// symbol alone.
void DimBinder::solve_given_expressions() {
  std::size_t before = 0;
  do {
    before = bound_.size();
    for (const auto& [name, expression] : expressions_) {
      if (const auto whole = bound_.find(name); whole != bound_.end())
        solve(name, expression, whole->second);
    }
  } while (bound_.size() > before);
  for (const auto& [name, expression] : expressions_) {
    if (!bound_.contains(name) || input_dims_.contains(name)) continue;
    const std::vector<std::string> open = open_symbols(expression);
    if (open.size() < 2) continue;
    refuse(cat("dimension '", readable(name), "' is given, and how much of it ",
               list_names(open, 20), " are is open; give these themselves"));
  }
}

std::vector<std::string> DimBinder::open_symbols(const DimExpression& expression) const {
  std::vector<std::string> open;
  for (const std::string& symbol : expression.symbols()) {
    if (!bound_.contains(symbol)) open.push_back(symbol);
  }
  return open;
}

// Whether a size of the expression as a whole comes from a weaker source than one of its symbols' sizes.
bool DimBinder::yields(const std::string& name, const DimExpression& expression) const {
  const auto& symbols = expression.symbols();
  return std::any_of(symbols.begin(), symbols.end(), [&](const std::string& symbol) {
    return weakness_of_.at(symbol) < weakness_of_.at(name);
  });
}

void DimBinder::solve(const std::string& name, const DimExpression& expression,
                      std::int64_t whole) {
  const std::vector<std::string> open = open_symbols(expression);
  const auto with = [&](std::int64_t size) {
    return expression.value([&](const std::string& symbol) -> std::optional<std::int64_t> {
      const auto known = bound_.find(symbol);
      return known != bound_.end() ? known->second : size;
    });
  };
  if (open.empty()) {
    const auto follows = with(0);
    if (follows && *follows != whole && yields(name, expression)) {
      bound_.erase(name);
    } else if (follows && *follows != whole) {
      refuse(cat("dimension '", readable(name), "' is given as ", whole, " and comes to ", *follows,
                 " from the sizes given; give it once"));
    }
  } else if (open.size() == 1) {
    const auto at_zero = with(0), at_one = with(1);
    const auto moderate = [](const auto& size) { return size && std::abs(*size) <= kMaxDim; };
    if (!moderate(at_zero) || !moderate(at_one) || *at_one == *at_zero) return;
    const std::int64_t size = (whole - *at_zero) / (*at_one - *at_zero);
    if (size >= 0 && with(size) == whole) {
      bind(open.front(), size);
      return;
    }
    // Sizes that lie on a line are all known from two.
    const auto at_two = with(2);
    if (!at_two || *at_two - *at_one != *at_one - *at_zero) return;
    refuse(cat("dimension '", readable(name), "' is given as ", whole, ", and no size of '",
               readable(open.front()), "' gives that; give another"));
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
                readable(what_inputs_name().front()), "=", value);
  }
  return ways;
}

void DimBinder::bind_batch(std::int64_t value) {
  if (open_first_.empty()) {
    refuse(
        cat("no input leaves its first dimension open, so that a batch of ", value,
            " has no meaning: the file fixes the shapes of all inputs; leave --batch out to place "
            "it as it is, or export it with a dynamic batch (dynamic_axes or dynamic_shapes of "
            "torch.onnx.export, a signature of tf2onnx with None)"));
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
      closed_[{input.name(), 0}] = weakness_;
    } else if (!is_expression(first.dim_param()) && bind(first.dim_param(), value) != value) {
      batch_gave_way_ = true;
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
    const auto closed = closed_.find({input, i});
    if (closed != closed_.end() && closed->second < weakness_) continue;
    if (is_named(dim)) {
      dim.set_dim_value(bind(dim.dim_param(), value));
      closed_[{input, i}] = weakness_;
      continue;
    }
    if (dim.has_dim_value() && dim.dim_value() >= 0 && dim.dim_value() != value) {
      refuse(cat("dimension ", i, " of input '", readable(input), "' is ", dim.dim_value(),
                 " in the model and ", value,
                 " in the shape given; export the model with a dynamic "
                 "dimension there or give ",
                 dim.dim_value()));
    }
    dim.set_dim_value(value);
  }
}

// The user's sizes, those that gave way with the values that count. A batch that counts for some inputs alone becomes
// their shapes.
SettledSizes DimBinder::settled_sizes() const {
  SettledSizes sizes{options_.dims, options_.shapes};
  for (auto& [name, size] : sizes.dims) size = model_.dims.value_of(name).value_or(size);
  if (batch_gave_way_) sizes.dims.erase(kEveryFirst);
  for (const auto& input : model_.proto->graph().input()) {
    const bool batched = batch_gave_way_ && closed_.contains({input.name(), 0});
    if (!batched && !options_.shapes.contains(input.name())) continue;
    std::vector<std::int64_t>& shape = sizes.shapes[input.name()];
    shape.clear();
    for (const auto& dim : input.type().tensor_type().shape().dim())
      shape.push_back(dim.dim_value());
  }
  return sizes;
}

void DimBinder::bind_given_shapes() {
  for (const auto& [name, given] : options_.shapes) {
    if (!is_bound_now("shapes.", name)) continue;
    for (const std::int64_t dim : given) {
      if (dim < 0 || dim > kMaxDim || given.size() > static_cast<std::size_t>(kMaxRank)) {
        refuse(cat("the shape given for '", readable(name), "' holds ", dim,
                   "; dimensions are from 0 to ", kMaxDim));
      }
    }
    if (!inputs_.contains(name)) {
      give_shape(name, given);
      continue;
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

// The shape of what a node gives, for those that do not follow from its inputs.
void DimBinder::give_shape(const std::string& tensor, const std::vector<std::int64_t>& given) {
  const auto& nodes = model_.proto->graph().node();
  const bool made = std::any_of(nodes.begin(), nodes.end(), [&](const onnx::NodeProto& node) {
    return node.op_type() != "Constant" &&
           std::find(node.output().begin(), node.output().end(), tensor) != node.output().end();
  });
  if (made) {
    model_.given_shapes.emplace(tensor, given);
    return;
  }
  if (is_initializer(tensor)) {
    refuse(cat("'", readable(tensor),
               "' is a weight, whose shape the file states; leave its shape "
               "out"));
  }
  refuse(cat("the model has no input and no tensor named '", readable(tensor), "'; its inputs are ",
             list_names(listed(inputs_), 20)));
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

// Names that nobody gave, and which attention fixes.
void DimBinder::bind_states() {
  DimValues known;
  known.bound = bound_;
  const auto fixed = dims_of_states(model_.proto->graph(),
                                    [&](const std::string& name) { return known.value_of(name); });
  for (const auto& [name, size] : fixed) {
    if (!is_expression(name) && size <= kMaxDim) bound_.emplace(name, size);
  }
}

void DimBinder::bind_the_rest() {
  for (const std::string& name : input_dims_) {
    if (bound_.contains(name)) continue;
    for (const std::string& symbol : symbols_in(name)) {
      if (bound_.emplace(symbol, kDefaultDim).second) defaulted_.insert(symbol);
    }
  }
  for (auto& input : *model_.proto->mutable_graph()->mutable_input()) {
    if (is_initializer(input.name()) || !input.has_type()) continue;
    if (TensorShapeProto* const shape = shape_of(*input.mutable_type())) {
      bind_unnamed(input.name(), *shape);
    }
  }
  note_defaults();
}

// An expression of an input that comes to no size, such as a difference below 0.
void DimBinder::settle_inputs() {
  std::set<std::string> failed;
  for (auto& input : *model_.proto->mutable_graph()->mutable_input()) {
    if (is_initializer(input.name()) || !input.has_type()) continue;
    TensorShapeProto* const shape = shape_of(*input.mutable_type());
    if (shape == nullptr) continue;
    for (auto& dim : *shape->mutable_dim()) {
      if (!is_named(dim)) continue;
      failed.insert(cat("'", readable(dim.dim_param()), "' of '", readable(input.name()), "'"));
      dim.set_dim_value(kDefaultDim);
    }
  }
  if (failed.empty()) return;
  model_.notes.push_back(cat("dimensions that come to no size from 0 on are taken as 1: ",
                             join(listed(failed), 4), "; give other sizes with --dim"));
}

void DimBinder::note_defaults() {
  if (!defaulted_.empty()) {
    std::vector<std::string> names, computed;
    for (const std::string& name : defaulted_) {
      names.push_back(readable(name));
      const auto in = computed_in_.find(name);
      if (in == computed_in_.end() || all_dims_.contains(name)) continue;
      computed.push_back(cat("'", readable(name), "' in '", readable(in->second), "'"));
    }
    model_.dims_taken_as_one = names;
    model_.notes.push_back(cat("dimensions not given are taken as 1: ", list_names(names),
                               "; give them with --dim NAME=SIZE",
                               ", or the first of every input with --batch SIZE",
                               computed.empty() ? "" : cat("; ", join(computed, 4))));
  }
  if (!unnamed_.empty()) {
    model_.notes.push_back(
        cat("dimensions without a name are taken as 1 in the inputs ", list_names(unnamed_),
            "; give a shape with --shape INPUT=1x3x224x224, or the first of every "
            "input with --batch SIZE"));
  }
}

}  // namespace

bool is_named(const TensorShapeProto::Dimension& dim) {
  const std::string& name = dim.dim_param();
  return name != "None" && std::any_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c >= 0x80;
         });
}

std::optional<std::int64_t> DimValues::value_of(const std::string& name) const {
  const auto find = [&](const std::string& symbol) -> std::optional<std::int64_t> {
    const auto found = bound.find(symbol);
    return found == bound.end() ? std::nullopt : std::optional(found->second);
  };
  if (const auto whole = find(name)) return whole;
  const auto expression = DimExpression::parse(name);
  const auto value = expression ? expression->value(find) : std::nullopt;
  return value && *value >= 0 && *value <= kMaxDim ? value : std::nullopt;
}

void DimValues::substitute(TensorShapeProto& shape) const {
  for (auto& dim : *shape.mutable_dim()) {
    if (!is_named(dim)) continue;
    if (const auto value = value_of(dim.dim_param())) dim.set_dim_value(*value);
  }
}

void DimValues::substitute(onnx::TypeProto& type) const {
  if (TensorShapeProto* const shape = shape_of(type)) substitute(*shape);
}

void bind_dims(Model& model, const LoadOptions& options) {
  DimBinder(model, options).run();
}

}  // namespace berth::onnx_frontend
