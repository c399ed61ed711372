// Every node of the file once per replica, behind "replica_0/" and so on. Nodes that are no part of the
// step (initial values, checkpoints) belong to replica 0; of the others' variables only the assignments are
// kept, and they take replica 0's values. Where updates are shared, a node that one replica computes for all is
// that replica's alone, and the others assign what its update gave.
#include "tf/replicas.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "berth/error.h"
#include "berth/support/text.h"
#include "support/text.h"
#include "support/wire.h"
#include "tf/annotate.h"

namespace berth::tf_frontend {
namespace {

using frontend::append_bytes_field;
using frontend::append_varint_field;
using frontend::readable;

std::string prefix_of(std::size_t replica) {
  return cat("replica_", replica, "/");
}

/// An AttrValue of one field.
std::string number_value(std::uint32_t field, std::int64_t number) {
  std::string value;
  append_varint_field(value, field, static_cast<std::uint64_t>(number));
  return value;
}
std::string bytes_value(std::uint32_t field, std::string_view bytes) {
  std::string value;
  append_bytes_field(value, field, bytes);
  return value;
}
constexpr std::uint32_t kListField = 1, kTextField = 2, kIntegerField = 3, kTypeField = 6,
                        kShapeField = 7, kTensorField = 8;
constexpr std::uint32_t kFloatsField = 5, kDoublesField = 6;  // of a TensorProto

/// A NodeDef that is written.
struct Written {
  std::string name, op, device;
  std::vector<std::string> inputs;
  std::vector<std::pair<std::string, std::string>> attrs;

  void append_to(std::string& graph) const {
    std::string node;
    append_bytes_field(node, 1, name);
    append_bytes_field(node, 2, op);
    for (const std::string& input : inputs) append_bytes_field(node, 3, input);
    if (!device.empty()) append_bytes_field(node, 4, device);
    for (const auto& [key, value] : attrs) {
      std::string entry;
      append_bytes_field(entry, 1, key);
      append_bytes_field(entry, 2, value);
      append_bytes_field(node, 5, entry);
    }
    append_bytes_field(graph, 1, node);
  }
};

class Writer {
 public:
  explicit Writer(const ReplicaSource& source) : source_(source) {
    const auto& nodes = source.library.graph.nodes();
    for (std::size_t i = 0; i < nodes.size(); ++i) index_.emplace(nodes[i].name, i);
    node_of_.assign(nodes.size(), kNoNode);
    for (std::size_t i = 0; i < source.program.nodes.size(); ++i) {
      const Node& node = source.program.nodes[i];
      if (node.call != 0 || node.def == nullptr) {
        refuse(cat("node '", readable(node.name),
                   "' is in a function; write the function's own graph, in which calls of it are "
                   "inlined, and give that file: "
                   "f.get_concrete_function(..).graph.as_graph_def(add_shapes=True)"));
      }
      node_of_[index_.at(node.name)] = static_cast<NodeId>(i);
    }
    find_gradients();
  }

  std::string run(const PlacedReplicas& placed) {
    placed_ = &placed;
    devices_ = tensorflow_devices(placed.cluster, placed.placement);
    for (std::size_t r = 0; r < placed.shares.size(); ++r) {
      const auto& nodes = source_.library.graph.nodes();
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (!is_written(r, i)) continue;
        const auto owner = owner_of(i);
        owner&&* owner != r ? write_assignment(r, i, *owner) : write_node(r, i);
      }
    }
    for (std::size_t g = 0; g < source_.training.gradients.size(); ++g) write_reduction(g);
    write_groups();
    // Functions and versions.
    for (WireReader reader(source_.file.graph, source_.file.source); reader.next();) {
      if (reader.field() != 1) graph_ += reader.whole();
    }
    return std::move(graph_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorCode::unsupported,
                cat(source_.file.source.file, ": its replicas cannot be written: ", why));
  }

  /// Outside the step: gives a variable its first value, or groups what does.
  static bool begins(const NodeDef& node) {
    return node.op == "Assign" || node.op == "AssignVariableOp" || node.op == "NoOp";
  }

  std::optional<OpId> op_of(std::size_t node) const {
    return source_.graph.find_op(readable(source_.library.graph.nodes()[node].name));
  }

  void find_gradients() {
    const auto& gradients = source_.training.gradients;
    for (std::size_t g = 0; g < gradients.size(); ++g) {
      const TensorId tensor = gradients[g].tensor;
      const OpId producer = source_.graph.producer(tensor);
      const auto found = index_.find(source_.graph.op_name(producer));
      if (found == index_.end() || node_of_[found->second] == kNoNode) {
        refuse(cat("the gradient of '", source_.graph.op_name(producer),
                   "' is computed in a loop; export the graph with the loop unrolled"));
      }
      const auto outputs = source_.graph.outputs(producer);
      const auto port = std::find(outputs.begin(), outputs.end(), tensor) - outputs.begin();
      const Node& node = source_.program.nodes[static_cast<std::size_t>(node_of_[found->second])];
      const int type = node.outputs[static_cast<std::size_t>(port)].type;
      gradient_of_.emplace(tensor, g);
      makers_.push_back({found->second, port, type});
    }
  }

  std::string device_of(std::size_t replica, std::size_t node) const {
    const auto device = [&](std::size_t of) -> std::optional<DeviceId> {
      const auto op = op_of(of);
      if (!op) return std::nullopt;
      const auto ops = static_cast<std::size_t>(source_.graph.op_count());
      return placed_->placement[replica * ops + static_cast<std::size_t>(*op)];
    };
    auto found = device(node);
    return found ? devices_[static_cast<std::size_t>(*found)] : std::string();
  }

  /// "^name" and "name:port" in another replica.
  static std::string moved(std::string_view input, const std::string& prefix) {
    if (input.starts_with("^")) return cat("^", prefix, input.substr(1));
    return cat(prefix, input);
  }
  std::size_t source_of(std::string_view input) const {
    if (input.starts_with("^")) input.remove_prefix(1);
    const auto found = index_.find(input.substr(0, input.find(':')));
    return found == index_.end() ? index_.size() : found->second;
  }
  bool is_written(std::size_t replica, std::size_t node) const {
    return home(replica, node) == replica;
  }
  /// The replica whose node it is for this one.
  std::size_t home(std::size_t replica, std::size_t node) const {
    const NodeDef& def = source_.library.graph.nodes()[node];
    if (const auto owner = owner_of(node); owner && *owner != replica) {
      // An update of what all have; of the owner's own state there is nothing to assign.
      const std::size_t variable = updates(node) ? variable_of(def) : index_.size();
      const bool assigned = variable < index_.size() && is_written(replica, variable);
      return assigned ? replica : *owner;
    }
    if (source_.selection.needed[node]) return replica;
    const std::size_t variable = begins(def) ? variable_of(def) : index_.size();
    // First values of the owner's own state.
    if (const auto owner = variable < index_.size() ? owner_of(variable) : std::nullopt) {
      return *owner;
    }
    const bool read = variable == index_.size() || source_.selection.needed[variable];
    return begins(def) && read ? replica : 0;
  }
  std::size_t variable_of(const NodeDef& def) const {
    return def.inputs.empty() || def.inputs[0].starts_with("^") ? index_.size()
                                                                : source_of(def.inputs[0]);
  }
  /// Nothing where every replica has its own.
  std::optional<std::size_t> owner_of(std::size_t node) const {
    const auto op = source_.training.owner.empty() ? std::nullopt : op_of(node);
    if (!op || source_.training.owner[static_cast<std::size_t>(*op)] < 0) return std::nullopt;
    return static_cast<std::size_t>(source_.training.owner[static_cast<std::size_t>(*op)]);
  }
  bool updates(std::size_t node) const {
    const auto op = op_of(node);
    return op && source_.training.updates[static_cast<std::size_t>(*op)];
  }

  void write_node(std::size_t replica, std::size_t index) {
    const NodeDef& def = source_.library.graph.nodes()[index];
    const std::string prefix = prefix_of(replica);
    const bool in_step = source_.selection.needed[index];
    Written node;
    node.name = cat(prefix, def.name);
    node.op = def.op;
    node.device = device_of(replica, index);
    if (node.device.empty()) node.device = def.device;
    const auto op = in_step ? op_of(index) : std::nullopt;
    std::span<const TensorId> reduced;  // what the op reads, if it reads gradients of all replicas
    if (op && source_.training.reads_reduced[static_cast<std::size_t>(*op)]) {
      reduced = source_.graph.inputs(*op);
    }
    for (std::size_t i = 0; i < def.inputs.size(); ++i) {
      const std::string_view input = def.inputs[i];
      const std::size_t from = source_of(input);
      const bool control = input.starts_with("^");
      if (!reduced.empty() && !control) {
        const auto gradient = gradient_of_.find(reduced[i]);
        if (gradient != gradient_of_.end()) {
          node.inputs.push_back(cat("reduce/", gradient->second));
          continue;
        }
      }
      if (from < index_.size() && !is_written(replica, from)) {
        const std::size_t other = home(replica, from);
        if (!control || owner_of(from)) node.inputs.push_back(moved(input, prefix_of(other)));
        continue;
      }
      node.inputs.push_back(moved(input, prefix));
    }
    write_attributes(node, def, index, replica);
    node.append_to(graph_);
  }

  /// The value that the owner's update gave to a variable.
  void write_assignment(std::size_t replica, std::size_t index, std::size_t owner) {
    const NodeDef& def = source_.library.graph.nodes()[index];
    const Attributes attributes(def.attrs, nullptr, source_.library.source);
    const std::string prefix = prefix_of(replica);
    const bool resource = def.op.starts_with("Resource") ||
                          (def.op.starts_with("Assign") && def.op.ends_with("VariableOp"));
    const int type = attributes.type(resource && def.op.starts_with("Assign") ? "dtype" : "T");
    std::string value = cat(prefix_of(owner), def.name);
    Written assign;
    assign.name = cat(prefix, def.name);
    assign.device = device_of(replica, index);
    if (resource) {
      Written read;
      read.name = cat(assign.name, "/value");
      read.op = "ReadVariableOp";
      read.device = device_of(owner, index);
      read.inputs = {moved(def.inputs[0], prefix_of(owner)), cat("^", value)};
      read.attrs = {{"dtype", number_value(kTypeField, type)}};
      read.append_to(graph_);
      value = read.name;
    }
    assign.op = resource ? "AssignVariableOp" : "Assign";
    assign.inputs = {moved(def.inputs[0], prefix), value};
    assign.attrs = {{resource ? "dtype" : "T", number_value(kTypeField, type)}};
    for (const std::string_view input : def.inputs) {
      const std::size_t from = source_of(input);
      if (input.starts_with("^") && from < index_.size() && is_written(replica, from)) {
        assign.inputs.push_back(moved(input, prefix));
      }
    }
    assign.append_to(graph_);
  }

  void write_attributes(Written& node, const NodeDef& def, std::size_t index, std::size_t replica) {
    const Attributes attributes(def.attrs, nullptr, source_.library.source);
    const std::string prefix = prefix_of(replica);
    for (const AttrEntry& entry : def.attrs) {
      if (entry.key == "_output_shapes") continue;
      std::string value(entry.value);
      if (entry.key == "_class") {
        std::string list;
        for (const std::string_view text : attributes.texts("_class")) {
          constexpr std::string_view kAt = "loc:@";
          const std::size_t with =
              text.starts_with(kAt) ? source_of(text.substr(kAt.size())) : index_.size();
          // Written for another replica alone.
          if (with < index_.size() && !is_written(replica, with)) continue;
          append_bytes_field(list, 2,
                             text.starts_with(kAt) ? cat(kAt, prefix, text.substr(kAt.size()))
                                                   : std::string(text));
        }
        value = bytes_value(kListField, list);
      } else if (entry.key == "shared_name" && !attributes.text("shared_name").empty()) {
        value = bytes_value(kTextField, cat(prefix, attributes.text("shared_name")));
      } else if (entry.key == "seed2" &&
                 (attributes.integer("seed", 0) != 0 || attributes.integer("seed2", 0) != 0)) {
        // Samples have numbers of their own. Neighbours in the graph have neighbouring seeds.
        constexpr std::int64_t kApart = 1'000'003;
        value = number_value(kIntegerField, attributes.integer("seed2", 0) +
                                                kApart * static_cast<std::int64_t>(replica));
      } else if (source_.fixed && entry.key == "shape" && def.op == "Placeholder") {
        value = placeholder_shape(attributes, placed_->shares[replica], value);
      } else if (source_.fixed && entry.key == "value" && def.op == "Const") {
        std::string scaled = value_of_share(def, attributes, *source_.fixed,
                                            share_of(replica, is_read_whole(index)));
        if (!scaled.empty()) value = std::move(scaled);
      }
      node.attrs.emplace_back(std::string(entry.key), std::move(value));
    }
  }
  std::string placeholder_shape(const Attributes& attributes, std::int64_t share,
                                const std::string& value) const {
    Value shape;
    if (!attributes.shape("shape", shape) || shape.dims.empty() ||
        shape.dims[0] != source_.fixed->size) {
      return value;
    }
    shape.dims[0] = share;
    std::string message;
    for (const std::int64_t dim : shape.dims) {
      std::string one;
      append_varint_field(one, 1, static_cast<std::uint64_t>(dim));
      append_bytes_field(message, 2, one);
    }
    return bytes_value(kShapeField, message);
  }
  Share share_of(std::size_t replica, bool all) const {
    const std::int64_t batch = source_.training.batch;
    if (all) return {0, batch, batch};
    Share share{0, placed_->shares[replica], batch};
    for (std::size_t r = 0; r < replica; ++r) share.begin += placed_->shares[r];
    return share;
  }
  /// Whether a constant is read by ops on the whole batch alone.
  bool is_read_whole(std::size_t index) {
    if (readers_.empty()) {
      readers_.resize(index_.size());
      for (const auto& [name, reader] : index_) {
        for (const std::string_view input : source_.library.graph.nodes()[reader].inputs) {
          const std::size_t from = source_of(input);
          if (from < readers_.size()) readers_[from].push_back(reader);
        }
      }
    }
    const auto& readers = readers_[index];
    return !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](std::size_t node) {
      const auto op = op_of(node);
      return op && source_.training.whole[static_cast<std::size_t>(*op)];
    });
  }

  // --- The reduction ---------------------------------------------------------------------------

  struct Maker {
    std::size_t node;
    std::ptrdiff_t port;
    int type;
  };

  Written constant(const std::string& name, int type, std::uint32_t field,
                   const std::string& content) const {
    std::string tensor;
    append_varint_field(tensor, 1, static_cast<std::uint64_t>(type));
    append_bytes_field(tensor, 2, "");
    append_bytes_field(tensor, field, content);
    Written node;
    node.name = name;
    node.op = "Const";
    node.attrs = {{"dtype", number_value(kTypeField, type)},
                  {"value", bytes_value(kTensorField, tensor)}};
    return node;
  }

  /// The share of a replica, as a number of the gradient's type.
  std::string weight(std::size_t replica, int type) {
    const std::string name = cat(prefix_of(replica), "reduce/weight_", type);
    if (!weights_.insert(name).second) return name;
    const double share =
        static_cast<double>(placed_->shares[replica]) / static_cast<double>(source_.training.batch);
    if (dtype_of(type) == DType::f64) {
      const std::string content(reinterpret_cast<const char*>(&share), sizeof(share));
      constant(name, type, kDoublesField, content).append_to(graph_);
      return name;
    }
    const auto narrow = static_cast<float>(share);
    const std::string content(reinterpret_cast<const char*>(&narrow), sizeof(narrow));
    if (type == kFloat) {
      constant(name, kFloat, kFloatsField, content).append_to(graph_);
      return name;
    }
    // Narrower types have it by a cast.
    constant(name + "_f32", kFloat, kFloatsField, content).append_to(graph_);
    Written cast;
    cast.name = name;
    cast.op = "Cast";
    cast.inputs = {name + "_f32"};
    cast.attrs = {{"SrcT", number_value(kTypeField, kFloat)},
                  {"DstT", number_value(kTypeField, type)},
                  {"Truncate", number_value(5, 0)}};
    cast.append_to(graph_);
    return name;
  }

  void write_reduction(std::size_t g) {
    const Maker& maker = makers_[g];
    const std::string_view name = source_.library.graph.nodes()[maker.node].name;
    std::vector<std::string> parts;
    for (std::size_t r = 0; r < placed_->shares.size(); ++r) {
      std::string part = cat(prefix_of(r), name);
      if (maker.port > 0) part += cat(":", maker.port);
      if (is_float_type(maker.type) && !source_.training.gradients[g].of_sum) {
        Written scaled;
        scaled.name = cat(prefix_of(r), "reduce/", g);
        scaled.op = "Mul";
        scaled.device = device_of(r, maker.node);
        scaled.inputs = {part, weight(r, maker.type)};
        scaled.attrs = {{"T", number_value(kTypeField, maker.type)}};
        scaled.append_to(graph_);
        part = scaled.name;
      }
      parts.push_back(std::move(part));
    }
    Written sum;
    sum.name = cat("reduce/", g);
    sum.device = device_of(0, maker.node);
    sum.inputs = std::move(parts);
    const auto count = static_cast<std::int64_t>(placed_->shares.size());
    sum.attrs = {{"N", number_value(kIntegerField, count)},
                 {"T", number_value(kTypeField, maker.type)}};
    if (source_.training.gradients[g].sparse) {
      const std::string axis = "reduce/axis";
      if (weights_.insert(axis).second) {
        std::string zero;
        frontend::append_varint(zero, 0);
        constant(axis, kInt32, 7, zero).append_to(graph_);
      }
      sum.op = "ConcatV2";
      sum.inputs.push_back(axis);
      sum.attrs.emplace_back("Tidx", number_value(kTypeField, kInt32));
    } else {
      sum.op = "AddN";
    }
    sum.append_to(graph_);
  }

  /// Under the names that the file has for its step and for its first values: those of all replicas.
  void write_groups() {
    const auto& nodes = source_.library.graph.nodes();
    for (const NodeDef& node : nodes) {
      if (node.op == "NoOp") group_of(node).append_to(graph_);
    }
    // A step may be the update that comes last, such as that of a counter of steps.
    for (const Fetch& fetch : source_.selection.fetches) {
      const auto found = index_.find(fetch.node);
      if (fetch.port != kEveryPort || found == index_.end()) continue;
      const NodeDef& def = nodes[found->second];
      if (!def.op.starts_with("Assign") && !def.op.starts_with("Resource") &&
          !def.op.starts_with("Scatter") && def.op.find("Apply") == def.op.npos) {
        continue;
      }
      Written group = group_of(def);
      const NodeId id = node_of_[found->second];
      if (id != kNoNode && !source_.program.nodes[static_cast<std::size_t>(id)].outputs.empty()) {
        // Such a step gives its variable.
        const int type = source_.program.nodes[static_cast<std::size_t>(id)].outputs[0].type;
        group.op = "Identity";
        group.device = device_of(0, found->second);
        group.inputs.insert(group.inputs.begin(), cat(prefix_of(0), def.name));
        group.attrs = {{"T", number_value(kTypeField, type)}};
      }
      group.append_to(graph_);
    }
  }
  /// A node of the file's name that waits for those of all replicas.
  Written group_of(const NodeDef& def) const {
    Written group;
    group.name = def.name;
    group.op = "NoOp";
    for (std::size_t r = 0; r < placed_->shares.size(); ++r) {
      group.inputs.push_back(cat("^", prefix_of(r), def.name));
    }
    return group;
  }

  const ReplicaSource& source_;
  const PlacedReplicas* placed_ = nullptr;                   // while it writes
  std::vector<std::string> devices_;                         // TensorFlow's names
  std::unordered_map<std::string_view, std::size_t> index_;  // of the file's nodes
  std::vector<NodeId> node_of_;                              // of the program, by the file's node
  std::map<TensorId, std::size_t> gradient_of_;
  std::vector<Maker> makers_;  // by gradient
  std::vector<std::vector<std::size_t>> readers_;
  std::set<std::string> weights_;  // constants that are written
  std::string graph_;
};

}  // namespace

void check_replicas(const ReplicaSource& source) {
  static_cast<void>(Writer(source));
}

std::string replicated_graph(const ReplicaSource& source, const PlacedReplicas& placed) {
  return Writer(source).run(placed);
}

}  // namespace berth::tf_frontend
