// Graphs in which some ops are constants of the step.
#include <algorithm>
#include <map>
#include <numeric>
#include <ranges>
#include <unordered_map>

#include "berth/error.h"
#include "berth/module_attribute.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "graph/graph_data.h"

namespace berth {
namespace {

constexpr OpId kUnset = kNoOp;

/// The op of the step that makes the tensor of which a constant takes the sizes. kNoOp = it takes none, or those
/// of an input, which is there for every op.
template <typename Data>
OpId measured_op(const Data& data, OpId constant) {
  for (const TensorId tensor : data.inputs[constant]) {
    const OpId maker = tensor == kNoTensor ? kNoOp : data.makers[at(tensor)];
    if (maker != kNoOp && !data.is_constant(maker) && !data.is_input[at(maker)]) return maker;
  }
  return kNoOp;
}

/// By op: the first op of the step that reads what a constant gives; where that takes sizes, the op whose tensor
/// has them: tools run it beside that, and send a few numbers in the tensor's place.
template <typename Data>
std::vector<OpId> first_readers(const Data& data) {
  std::vector<OpId> first(data.op_names.size(), kUnset);
  // Backwards, so that readers that are constants are known.
  for (auto op = data.order.rbegin(); op != data.order.rend(); ++op) {
    if (data.is_constant(*op)) {
      const OpId measured = measured_op(data, *op);
      if (measured != kNoOp) first[at(*op)] = measured;
    }
    const OpId reader = data.is_constant(*op) ? first[at(*op)] : *op;
    if (reader == kUnset) continue;
    for (const TensorId tensor : data.inputs[*op]) {
      const OpId maker = tensor == kNoTensor ? kNoOp : data.makers[at(tensor)];
      if (maker == kNoOp || !data.is_constant(maker)) continue;
      OpId& known = first[at(maker)];
      if (known == kUnset || reader < known) known = reader;
    }
  }
  return first;
}

/// Constants of a class that holds nothing else follow its first reader together; beside an op of
/// the step they keep the class.
template <typename Data>
void loosen_classes(Data& data) {
  struct Class {
    bool constants_alone = true;
    OpId reader = kUnset;
  };
  std::unordered_map<std::uint32_t, Class> classes;
  for (std::size_t op = 0; op < data.colocations.size(); ++op) {
    if (data.colocations[op] == 0) continue;
    Class& the = classes[data.colocations[op]];
    if (!data.is_constant(static_cast<OpId>(op))) {
      the.constants_alone = false;
    } else if (the.reader == kUnset) {
      the.reader = data.first_readers[op];
    }
  }
  for (std::size_t op = 0; op < data.colocations.size(); ++op) {
    if (data.colocations[op] == 0 || !data.is_constant(static_cast<OpId>(op))) continue;
    const Class& the = classes[data.colocations[op]];
    if (!the.constants_alone) continue;
    data.colocations[op] = 0;
    if (data.first_readers[op] != kUnset) data.first_readers[op] = the.reader;
  }
}

/// Finds constants that are made alike. ONNX Runtime and TensorFlow keep one of them.
template <typename Data>
class Alike {
 public:
  explicit Alike(const Data& data)
      : data_(data),
        finds_(data.dialect == "onnx" || data.dialect == "tf"),
        first_(data.makers.size()) {
    std::iota(first_.begin(), first_.end(), TensorId{0});
  }

  /// The constant that is made as this one is, or itself. Each after those that it reads.
  OpId first_of(OpId op) {
    // Bytes beside the inputs are contents that the graph does not hold, such as a list in the file.
    if (!finds_ || data_.inputs[op].empty() || data_.extra_param_bytes[at(op)] > 0) return op;
    std::vector<std::int64_t> key = {data_.op_types[at(op)]};
    for (const TensorId tensor : data_.inputs[op]) {
      key.push_back(tensor == kNoTensor ? tensor : first_[at(tensor)]);
    }
    std::vector<OpId>& known = known_[key];
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](OpId other) { return has_equal_form(op, other); });
    if (found == known.end()) {
      known.push_back(op);
      return op;
    }
    const auto outputs = data_.outputs[op], firsts = data_.outputs[*found];
    for (std::size_t i = 0; i < outputs.size(); ++i) first_[at(outputs[i])] = firsts[i];
    return *found;
  }

 private:
  /// Attributes but the name of the module that an op is from, and the outputs' types.
  [[nodiscard]] bool has_equal_form(OpId a, OpId b) const {
    const auto counts = [&](const NamedAttribute& attribute) {
      return data_.strings[attribute.first] != kModuleAttribute;
    };
    const auto of_a = data_.attributes[a], of_b = data_.attributes[b];
    const auto outputs_of_a = data_.outputs[a], outputs_of_b = data_.outputs[b];
    return std::ranges::equal(of_a | std::views::filter(counts),
                              of_b | std::views::filter(counts)) &&
           std::ranges::equal(outputs_of_a, outputs_of_b, [&](TensorId x, TensorId y) {
             return data_.dtypes[at(x)] == data_.dtypes[at(y)] &&
                    data_.tensor_bytes[at(x)] == data_.tensor_bytes[at(y)] &&
                    std::ranges::equal(data_.shapes[x], data_.shapes[y]);
           });
  }

  const Data& data_;
  bool finds_;
  std::vector<TensorId> first_;  // by tensor: the equal one that is made first
  std::map<std::vector<std::int64_t>, std::vector<OpId>> known_;  // by type and inputs
};

/// By tensor: the parameters that reside for what a constant makes, each once whatever the ways to
/// it, which may be as many as 2 to the number of views.
template <typename Data>
Rows<TensorId> kept_tensors(const Data& data) {
  Alike alike(data);
  std::vector<std::vector<TensorId>> kept(data.makers.size());
  for (const OpId op : data.order) {
    if (!data.is_constant(op)) continue;
    const auto firsts = data.outputs[alike.first_of(op)];
    const auto outputs = data.outputs[op];
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      std::vector<TensorId>& list = kept[at(outputs[i])];
      if (data.constants[at(op)] == Graph::Constant::made) {
        list = {firsts[i]};
        continue;
      }
      for (const TensorId tensor : data.inputs[op]) {
        if (tensor == kNoTensor) continue;
        if (data.makers[at(tensor)] == kNoOp) {
          list.push_back(tensor);
        } else {
          const std::vector<TensorId>& more = kept[at(tensor)];
          list.insert(list.end(), more.begin(), more.end());
        }
      }
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
  }
  Rows<TensorId> rows;
  for (const std::vector<TensorId>& list : kept) {
    for (const TensorId tensor : list) rows.push_back(tensor);
    rows.end_row();
  }
  return rows;
}

/// By op: what a constant waits for by control edges of its own, or of constants that it comes after.
std::vector<std::vector<OpId>> waited_for(const Graph& graph,
                                          std::span<const Graph::Constant> roles) {
  std::vector<std::vector<OpId>> waits(at(graph.op_count()));
  for (const OpId op : graph.topological_order()) {
    if (roles[at(op)] == Graph::Constant::no) continue;
    std::vector<OpId>& own = waits[at(op)];
    for (const Edge& edge : graph.in_edges(op)) {
      if (roles[at(edge.src)] == Graph::Constant::no) {
        if (edge.tensor == kNoTensor) own.push_back(edge.src);  // sizes are there before the tensor
      } else {
        own.insert(own.end(), waits[at(edge.src)].begin(), waits[at(edge.src)].end());
      }
    }
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
  }
  return waits;
}

}  // namespace

std::shared_ptr<const Graph> Graph::with_constants(std::span<const Constant> roles) const {
  auto made = std::make_unique<Data>(*data_);
  Data& data = *made;
  data.constants.assign(roles.begin(), roles.end());
  data.constant_count = 0;
  const std::vector<std::vector<OpId>> waits = waited_for(*this, roles);
  Rows<OpId> control;
  for (OpId op = 0; op < op_count(); ++op) {
    if (data.is_constant(op)) ++data.constant_count;
    for (const Edge& edge : in_edges(op)) {
      if (data.is_constant(op)) break;
      if (data.is_constant(edge.src)) {
        for (const OpId waited : waits[at(edge.src)]) control.push_back(waited);
      } else if (edge.tensor == kNoTensor) {
        control.push_back(edge.src);
      }
    }
    control.end_row();
  }
  for (std::size_t t = 0; t < data.producers.size(); ++t) {
    const OpId maker = data.makers[t];
    if (maker == kNoOp || !data.is_constant(maker)) continue;
    data.producers[t] = kNoOp;
    // A handle or a reference to a variable stands for its bytes.
    if (inputs(maker).empty() && data.outputs[maker].size() == 1 && data.tensor_bytes[t] <= 0) {
      data.tensor_bytes[t] = std::max(data.tensor_bytes[t], data.extra_param_bytes[at(maker)]);
    }
  }
  data.first_readers = first_readers(data);
  loosen_classes(data);
  data.stands_for = kept_tensors(data);
  data.make_edges(control);
  if (!data.sum_parameters() || data.sum_outputs() != kNoOp) {
    throw Error(ErrorCode::invalid_graph,
                cat("graph '", name(), "': what is computed once, when the model is loaded, is ",
                    "larger than 2^63 bytes in total; correct its sizes"));
  }
  return std::shared_ptr<const Graph>(new Graph(std::move(made)));
}

}  // namespace berth
