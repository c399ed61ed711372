// A model in parts, in three steps: which tensors every node reads; in which part it is; what each part
// holds, copied from the file field by field.
#include "onnx/splitting.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "berth/error.h"
#include "berth/support/text.h"
#include "onnx/inference.h"
#include "onnx/model.h"
#include "onnx/node_devices.h"
#include "onnx/part_weights.h"
#include "onnx/program.h"
#include "onnx/replacement.h"
#include "onnx/skeleton.h"
#include "onnx/types.h"
#include "support/mapped_file.h"
#include "support/text.h"
#include "support/wire.h"

namespace berth::onnx_frontend {
namespace {

namespace fs = std::filesystem;
using frontend::append_bytes_field;
using frontend::append_tag;
using frontend::append_varint;
using frontend::readable;
using frontend::WireReader;
using frontend::WireType;

// Fields of GraphProto and TensorProto.
constexpr std::uint32_t kInput = 11, kOutput = 12, kValueInfo = 13, kQuantization = 14,
                        kSparseInitializer = 15;
constexpr std::uint32_t kTensorName = 8, kFirst = 1;

constexpr int kNoPart = -1;

/// What a node of the main graph reads and gives, by name.
struct NodeTensors {
  std::vector<std::string> reads, gives;
  bool constant = false;  ///< it reads weights and constants alone
  bool needed = false;    ///< an output of the model depends on it
  int part = kNoPart;     ///< of those that are needed and no constants

  [[nodiscard]] bool in_no_part() const { return constant || !needed; }
};

/// Names that a graph within a node takes from outside, among others that are its own.
void add_reads(const onnx::GraphProto& graph, std::vector<std::string>& reads) {
  for (const onnx::NodeProto& node : graph.node()) {
    reads.insert(reads.end(), node.input().begin(), node.input().end());
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) add_reads(attribute.g(), reads);
      for (const onnx::GraphProto& inner : attribute.graphs()) add_reads(inner, reads);
    }
  }
  for (const onnx::ValueInfoProto& output : graph.output()) reads.push_back(output.name());
}

std::vector<NodeTensors> tensors_of(const onnx::GraphProto& graph) {
  std::vector<NodeTensors> nodes;
  for (const onnx::NodeProto& node : graph.node()) {
    NodeTensors& its = nodes.emplace_back();
    its.reads.assign(node.input().begin(), node.input().end());
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) add_reads(attribute.g(), its.reads);
      for (const onnx::GraphProto& inner : attribute.graphs()) add_reads(inner, its.reads);
    }
    for (const std::string& name : node.output()) {
      if (!name.empty()) its.gives.push_back(name);
    }
  }
  return nodes;
}

/// The nodes of a main graph with the parts that they are in.
class Parts {
 public:
  struct Part {
    DeviceId device;
    int level;
    auto operator<=>(const Part&) const = default;
  };

  Parts(const Model& model, const std::vector<DeviceId>& devices)
      : model_(model), nodes_(tensors_of(model.proto->graph())) {
    const onnx::GraphProto& graph = model.proto->graph();
    for (const auto& weight : graph.initializer()) weights_.insert(weight.name());
    for (const auto& weight : graph.sparse_initializer()) weights_.insert(weight.values().name());
    for (const auto& input : graph.input()) {
      if (!weights_.contains(input.name())) inputs_.insert(input.name());
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      for (const std::string& name : nodes_[i].gives) maker_.emplace(name, i);
    }
    find_constants();
    find_needed();
    find_levels(devices);
    raise_levels(devices);
    number(devices);
  }

  [[nodiscard]] const std::vector<Part>& parts() const noexcept { return parts_; }
  [[nodiscard]] const std::vector<NodeTensors>& nodes() const noexcept { return nodes_; }
  [[nodiscard]] bool is_input(const std::string& name) const { return inputs_.contains(name); }
  [[nodiscard]] bool is_weight(const std::string& name) const { return weights_.contains(name); }
  /// Null where no node gives it.
  [[nodiscard]] const NodeTensors* maker(const std::string& name) const {
    const auto found = maker_.find(name);
    return found == maker_.end() ? nullptr : &nodes_[found->second];
  }

 private:
  void find_constants() {
    for (NodeTensors& node : nodes_) {
      node.constant = std::all_of(node.reads.begin(), node.reads.end(), [&](const auto& name) {
        const NodeTensors* const from = maker(name);
        return !inputs_.contains(name) && (from == nullptr || from->constant);
      });
    }
  }

  /// A part of nodes that nobody needs would have no output, which no runtime takes.
  void find_needed() {
    std::vector<std::string> open;
    for (const auto& output : model_.proto->graph().output()) open.push_back(output.name());
    while (!open.empty()) {
      const auto from = maker_.find(open.back());
      open.pop_back();
      if (from == maker_.end() || std::exchange(nodes_[from->second].needed, true)) continue;
      const auto& reads = nodes_[from->second].reads;
      open.insert(open.end(), reads.begin(), reads.end());
    }
  }

  /// How often the device changes at least on the way to a node.
  void find_levels(const std::vector<DeviceId>& devices) {
    level_.assign(nodes_.size(), 0);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].in_no_part()) continue;
      for (const std::string& name : nodes_[i].reads) {
        const auto from = maker_.find(name);
        if (from == maker_.end() || nodes_[from->second].constant) continue;
        const int step = devices[from->second] == devices[i] ? 0 : 1;
        level_[i] = std::max(level_[i], level_[from->second] + step);
      }
    }
  }

  /// Nodes that nobody needs early go to a later part of their device, so that there are few parts.
  void raise_levels(const std::vector<DeviceId>& devices) {
    std::vector<int> latest(nodes_.size(), std::numeric_limits<int>::max());
    std::map<DeviceId, std::set<int>> levels;
    for (std::size_t i = nodes_.size(); i-- > 0;) {
      if (nodes_[i].in_no_part()) continue;
      // The latest level of the device so far that no reader forbids; its own where there is none.
      std::set<int>& known = levels[devices[i]];
      auto best =
          latest[i] == std::numeric_limits<int>::max() ? known.end() : known.upper_bound(latest[i]);
      if (best != known.begin() && *std::prev(best) >= level_[i]) level_[i] = *std::prev(best);
      known.insert(level_[i]);
      for (const std::string& name : nodes_[i].reads) {
        const auto from = maker_.find(name);
        if (from == maker_.end() || nodes_[from->second].constant) continue;
        const int step = devices[from->second] == devices[i] ? 0 : 1;
        latest[from->second] = std::min(latest[from->second], level_[i] - step);
      }
    }
  }

  void number(const std::vector<DeviceId>& devices) {
    std::map<std::pair<int, DeviceId>, int> index;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!nodes_[i].in_no_part()) index.emplace(std::pair(level_[i], devices[i]), 0);
    }
    for (auto& [key, part] : index) {
      part = static_cast<int>(parts_.size());
      parts_.push_back({key.second, key.first});
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!nodes_[i].in_no_part()) nodes_[i].part = index.at({level_[i], devices[i]});
    }
  }

  const Model& model_;
  std::vector<NodeTensors> nodes_;
  std::set<std::string> weights_, inputs_;
  std::unordered_map<std::string, std::size_t> maker_;
  std::vector<int> level_;
  std::vector<Part> parts_;
};

/// What one part holds.
struct Content {
  std::vector<bool> nodes;
  std::set<std::string> weights, inputs, outputs;
};

std::vector<Content> contents_of(const Model& model, const Parts& parts) {
  std::vector<Content> contents(parts.parts().size());
  const auto& nodes = parts.nodes();
  for (Content& content : contents) content.nodes.assign(nodes.size(), false);
  // Also what a graph output needs that no node of a part gives: the last part gives it, weights and inputs too.
  std::vector<std::pair<std::size_t, std::string>> open;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].in_no_part()) continue;
    const auto part = static_cast<std::size_t>(nodes[i].part);
    contents[part].nodes[i] = true;
    for (const std::string& name : nodes[i].reads) open.emplace_back(part, name);
  }
  for (const auto& output : model.proto->graph().output()) {
    const NodeTensors* const from = parts.maker(output.name());
    if (from != nullptr && !from->constant) {
      contents[static_cast<std::size_t>(from->part)].outputs.insert(output.name());
      continue;
    }
    if (contents.empty()) {
      throw Error(
          ErrorCode::unsupported,
          cat(model.file,
              ": no op is left of which a part could be made: all outputs, such "
              "as '",
              readable(output.name()), "', are constants or inputs; write the model whole"));
    }
    contents.back().outputs.insert(output.name());
    open.emplace_back(contents.size() - 1, output.name());
  }
  std::unordered_map<const NodeTensors*, std::size_t> index;
  for (std::size_t i = 0; i < nodes.size(); ++i) index.emplace(&nodes[i], i);
  while (!open.empty()) {
    const auto [part, name] = open.back();
    open.pop_back();
    Content& content = contents[part];
    const NodeTensors* const from = parts.maker(name);
    if (from == nullptr) {
      if (parts.is_weight(name)) content.weights.insert(name);
      if (parts.is_input(name)) content.inputs.insert(name);
    } else if (from->constant) {
      if (content.nodes[index.at(from)]) continue;
      content.nodes[index.at(from)] = true;
      for (const std::string& read : from->reads) open.emplace_back(part, read);
    } else if (from->part != static_cast<int>(part)) {
      content.inputs.insert(name);
      contents[static_cast<std::size_t>(from->part)].outputs.insert(name);
    }
  }
  return contents;
}

/// Types of tensors that are inputs or outputs of parts alone.
class CutTypes {
 public:
  CutTypes(Model& model, const Graph& graph) : model_(model) {
    for (const auto& info : model.proto->graph().value_info()) stated_.emplace(info.name(), &info);
    for (const auto* const infos :
         {&model.proto->graph().input(), &model.proto->graph().output()}) {
      for (const auto& info : *infos) stated_.emplace(info.name(), &info);
    }
    for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
      known_.emplace(graph.tensor_name(tensor), graph.dtype(tensor));
    }
  }

  /// A ValueInfoProto.
  [[nodiscard]] std::string info(const std::string& name) const {
    onnx::ValueInfoProto info;
    if (const auto stated = stated_.find(name); stated != stated_.end()) {
      info.set_name(name);
      *info.mutable_type() = stated->second->type();
    }
    if (!info.has_type()) {
      info.set_name(name);
      const onnx::TypeProto* const found = inferred(name);
      if (found != nullptr && !found->has_tensor_type()) {
        *info.mutable_type() = *found;
        return info.SerializeAsString();
      }
      const auto known = known_.find(readable(name));
      auto type = known == known_.end() ? std::nullopt : element_type(known->second);
      if (!type && found != nullptr) type = found->tensor_type().elem_type();
      if (!type) {
        throw Error(ErrorCode::unsupported,
                    cat(model_.file, ": the type of '", readable(name),
                        "', which crosses to another device, is not known; infer the model's types "
                        "first (onnx.shape_inference)"));
      }
      info.mutable_type()->mutable_tensor_type()->set_elem_type(*type);
    }
    return info.SerializeAsString();
  }

 private:
  /// The type of a sequence or an optional, the element type of a tensor; null where it is not known. Inferred where
  /// a type is not stated first.
  const onnx::TypeProto* inferred(const std::string& name) const {
    if (!inferred_) {
      inferred_.emplace();
      Program program = make_program(model_);
      static_cast<void>(infer(program, {}, OpRules()));
      for (const Value& value : program.values) {
        if (value.type.type == ops::kUnknownType && !value.type.other) continue;
        onnx::TypeProto& type = (*inferred_)[std::string(value.name)];
        if (value.type.other) {
          type_to_proto(value.type, type);
        } else {
          type.mutable_tensor_type()->set_elem_type(value.type.type);
        }
      }
    }
    const auto found = inferred_->find(name);
    return found == inferred_->end() ? nullptr : &found->second;
  }

  /// The one type that the graph has this name for; it has one for five types of eight bits.
  static std::optional<std::int32_t> element_type(DType dtype) {
    if (dtype == DType::unknown || dtype == DType::f8) return std::nullopt;
    for (std::int32_t type = 1; type <= onnx::TensorProto::DataType_MAX; ++type) {
      if (type != onnx::TensorProto::STRING && tensor_info(tensor_type(type)).dtype == dtype) {
        return type;
      }
    }
    return std::nullopt;
  }

  Model& model_;
  std::unordered_map<std::string, const onnx::ValueInfoProto*> stated_;
  std::unordered_map<std::string, DType> known_;
  mutable std::optional<std::map<std::string, onnx::TypeProto>> inferred_;
};

/// The bytes of a message, those of the file without a copy.
class Pieces {
 public:
  void add(std::string_view of_file) {
    views_.push_back(of_file);
    size_ += of_file.size();
  }
  void own(std::string text) {
    owned_.push_back(std::move(text));
    add(owned_.back());
  }
  void own_field(std::uint32_t field, const std::string& payload) {
    std::string text;
    append_bytes_field(text, field, payload);
    own(std::move(text));
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  void write_to(Replacement& out) const {
    for (const std::string_view view : views_) out.write(view);
  }

 private:
  std::vector<std::string_view> views_;
  std::deque<std::string> owned_;
  std::size_t size_ = 0;
};

void add_graph(const Content& content, const CutTypes& types, std::string_view graph,
               std::size_t offset, const std::string& file, PartWeights& weights, Pieces& pieces) {
  std::size_t node = 0;
  for (WireReader reader(graph, offset, file); reader.next();) {
    switch (reader.field()) {
      case kGraphNode:
        if (!content.nodes[node++]) break;
        if (has_external_data(reader.payload(), file)) {
          pieces.own_field(kGraphNode, weights.moved_node(reader.payload(), file));
        } else {
          pieces.add(reader.whole());
        }
        break;
      case kInitializer:
        if (content.weights.contains(name_in(reader.payload(), kTensorName, file))) {
          pieces.own_field(kInitializer, weights.moved_tensor(reader.payload(), file));
        }
        break;
      case kSparseInitializer: {
        std::string values;
        for (WireReader inner(reader.payload(), reader.payload_offset(), file); inner.next();) {
          if (inner.is_bytes(kFirst)) values = name_in(inner.payload(), kTensorName, file);
        }
        if (content.weights.contains(values)) pieces.add(reader.whole());
        break;
      }
      case kInput:
      case kOutput:
      case kValueInfo:
      case kQuantization:
        break;  // those of the part come below
      default:
        pieces.add(reader.whole());
    }
  }
  for (const std::string& name : content.inputs) pieces.own_field(kInput, types.info(name));
  for (const std::string& name : content.outputs) pieces.own_field(kOutput, types.info(name));
}

std::string file_name(std::size_t number, const Cluster& cluster, DeviceId device) {
  std::string name = cat(number, ".", cluster.device(device).name);
  std::replace_if(
      name.begin(), name.end(),
      [](unsigned char c) { return std::isalnum(c) == 0 && c != '.' && c != '-'; }, '_');
  return name;
}

}  // namespace

std::vector<ModelPart> split_model(const fs::path& path, const Graph& graph, const Cluster& cluster,
                                   const Placement& placement, const fs::path& folder) {
  const frontend::MappedFile file(path);
  const std::unique_ptr<Model> model = read_model(file.bytes(), path);
  const Parts parts(*model, devices_of_nodes(*model, graph, placement));
  const std::vector<Content> contents = contents_of(*model, parts);
  const CutTypes types(*model, graph);
  std::vector<ModelPart> written;
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const DeviceId device = parts.parts()[i].device;
    const std::string name = file_name(i, cluster, device);
    PartWeights weights(path, folder / (name + ".weights"));
    Pieces head, of_graph, tail;
    bool behind = false;
    for (WireReader reader(file.bytes(), 0, model->file); reader.next();) {
      if (reader.field() == kModelGraph) {
        add_graph(contents[i], types, reader.payload(), reader.payload_offset(), model->file,
                  weights, of_graph);
        behind = true;
      } else {
        (behind ? tail : head).add(reader.whole());
      }
    }
    std::string tag;
    append_tag(tag, kModelGraph, WireType::bytes);
    append_varint(tag, of_graph.size());
    Replacement out(folder / (name + ".onnx"));
    head.write_to(out);
    out.write(tag);
    of_graph.write_to(out);
    tail.write_to(out);
    weights.commit();
    out.commit();
    written.push_back({name + ".onnx",
                       device,
                       {contents[i].inputs.begin(), contents[i].inputs.end()},
                       {contents[i].outputs.begin(), contents[i].outputs.end()}});
  }
  return written;
}

}  // namespace berth::onnx_frontend
