#include "onnx/annotation.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <random>
#include <system_error>

#include "berth/error.h"
#include "berth/sdk/gzip.h"
#include "berth/support/text.h"
#include "onnx/graph_names.h"
#include "onnx/program.h"
#include "onnx/skeleton.h"
#include "support/mapped_file.h"
#include "support/wire.h"

namespace berth::onnx_frontend {
namespace {

namespace fs = std::filesystem;
using frontend::append_bytes_field;
using frontend::append_tag;
using frontend::append_varint;
using frontend::append_varint_field;
using frontend::WireReader;
using frontend::WireType;

constexpr std::string_view kConfigurationName = "berth";
constexpr std::string_view kLayerKey = "layer_ann";
/// Device configurations are fields of this version of the format; a file of an older one has none.
constexpr std::int64_t kConfigurationIr = 11;

// The devices that the ops of one node agree on, or that they do not.
struct Vote {
  DeviceId device = kNoDevice;
  bool split = false;

  void add(DeviceId other) {
    split = split || (device != kNoDevice && device != other);
    device = other;
  }
};

// A device per node of the main graph in file order; kNoDevice = none to name.
std::vector<DeviceId> devices_of_nodes(Model& model, const Graph& graph,
                                       const Placement& placement) {
  const Program program = make_program(model);
  const GraphNames names = name_ops(program);
  std::vector<Vote> votes(static_cast<std::size_t>(program.top_level_nodes));
  OpId found_ops = 0;
  const auto device_of = [&](const std::string& name) -> std::optional<DeviceId> {
    const auto op = graph.find_op(name);
    if (!op) return std::nullopt;
    ++found_ops;
    return placement[static_cast<std::size_t>(*op)];
  };
  const auto vote_for_constant = [&](ValueId id, DeviceId device) {
    if (id == kNoValue) return;
    const Value& value = program.value(id);
    if (value.origin == Value::Origin::constant && value.constant_node >= 0) {
      votes[static_cast<std::size_t>(value.constant_node)].add(device);
    }
  };
  for (const std::string& name : names.inputs) (void)device_of(name);
  for (std::size_t i = 0; i < names.constants.size(); ++i) {
    const auto device = device_of(names.constants[i]);
    if (device) vote_for_constant(program.returned_constants[i], *device);
  }
  for (std::size_t i = 0; i < names.nodes.size(); ++i) {
    const Node& node = program.main.nodes[i];
    const auto device = device_of(names.nodes[i]);
    if (!device) continue;  // pruned since
    votes[static_cast<std::size_t>(node.top_level)].add(*device);
    for (const ValueId id : node.inputs) vote_for_constant(id, *device);
    for (const ValueId id : node.captured) vote_for_constant(id, *device);
  }
  if (found_ops != graph.op_count()) {
    throw Error(
        ErrorCode::invalid_argument,
        cat(model.file, ": the placement is of another graph: ", graph.op_count() - found_ops,
            " of its ops are not in this model; place this "
            "model and annotate it with the result"));
  }
  std::vector<DeviceId> devices;
  for (const Vote& vote : votes) devices.push_back(vote.split ? kNoDevice : vote.device);
  return devices;
}

// Writes beside the target, then renames.
class Replacement {
 public:
  explicit Replacement(const fs::path& target)
      : target_(target), compresses_(target.extension() == ".gz") {
    temporary_ = target;
    temporary_ += cat(".", ::getpid(), ".", std::random_device{}(), ".tmp");
    file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file_ < 0) refuse();
  }
  ~Replacement() {
    if (file_ >= 0) ::close(file_);
    if (!done_) ::unlink(temporary_.c_str());
  }
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;

  void write(std::string_view bytes) {
    if (compresses_) {
      content_ += bytes;
    } else {
      write_now(bytes);
    }
  }
  void commit() {
    if (compresses_) write_now(gzip(content_));
    if (::fsync(file_) != 0) refuse();
    const int closed = ::close(file_);
    file_ = -1;
    if (closed != 0 || ::rename(temporary_.c_str(), target_.c_str()) != 0) refuse();
    done_ = true;
  }

 private:
  void write_now(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(file_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) refuse();
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  [[noreturn]] void refuse() const {
    throw Error(
        ErrorCode::io,
        cat(target_.string(), ": cannot be written: ", std::generic_category().message(errno)));
  }

  fs::path target_;
  fs::path temporary_;
  bool compresses_ = false;
  std::string content_;  // before it is compressed
  int file_ = -1;
  bool done_ = false;
};

std::string entry(std::string_view key, std::string_view value) {
  std::string out;
  append_bytes_field(out, kEntryKey, key);
  append_bytes_field(out, kEntryValue, value);
  return out;
}

std::string configuration(const Cluster& cluster) {
  std::string out;
  append_bytes_field(out, 1, kConfigurationName);
  append_varint_field(out, 2, static_cast<std::uint64_t>(cluster.device_count()));
  for (DeviceId id = 0; id < cluster.device_count(); ++id) {
    append_bytes_field(out, 3, cluster.device(id).name);
  }
  return out;
}

/// Metadata of a node that a placement replaces.
bool is_replaced_entry(std::string_view message, const std::string& file) {
  return !value_of_entry(message, kDeviceKey, file).empty() ||
         !value_of_entry(message, kLayerKey, file).empty();
}

/// Serves the model's configurations and a node's alike: both name theirs in the first field.
bool is_own_configuration(std::string_view message, const std::string& file) {
  for (WireReader reader(message, 0, file); reader.next();) {
    if (reader.is_bytes(1)) return reader.payload() == kConfigurationName;
  }
  return false;
}

/// A NodeDeviceConfigurationProto: each of `outputs` is sharded over `device` alone.
std::string node_configuration(const std::vector<std::string_view>& outputs, DeviceId device) {
  constexpr std::uint32_t kId = 1, kShardingSpec = 2, kTensorName = 1, kDevice = 2;
  std::string out;
  append_bytes_field(out, kId, kConfigurationName);
  for (const std::string_view output : outputs) {
    std::string spec;
    append_bytes_field(spec, kTensorName, output);
    append_varint_field(spec, kDevice, static_cast<std::uint64_t>(device));
    append_bytes_field(out, kShardingSpec, spec);
  }
  return out;
}

// The main graph, with one node after the other changed. Run twice over the same bytes: once to
// count, because a message's length stands before it, once to write.
class GraphCopy {
 public:
  GraphCopy(const Model& model, const Cluster& cluster, const std::vector<DeviceId>& devices)
      : file_(model.file),
        configures_(model.proto->ir_version() >= kConfigurationIr),
        cluster_(cluster),
        devices_(devices) {}

  template <class Emit>
  void run(std::string_view graph, std::size_t offset, const Emit& emit) {
    for (WireReader reader(graph, offset, file_); reader.next();) {
      if (reader.field() != kGraphNode) {
        emit(reader.whole());
        continue;
      }
      const std::string node = changed(reader.payload(), reader.payload_offset());
      std::string head;
      append_tag(head, kGraphNode, WireType::bytes);
      append_varint(head, node.size());
      emit(std::string_view(head));
      emit(std::string_view(node));
    }
  }

 private:
  std::string changed(std::string_view node, std::size_t offset) {
    std::string out;
    std::vector<std::string_view> outputs;
    for (WireReader reader(node, offset, file_); reader.next();) {
      const bool replaced =
          (reader.is_bytes(kNodeMetadata) && is_replaced_entry(reader.payload(), file_)) ||
          (reader.is_bytes(kNodeDevices) && is_own_configuration(reader.payload(), file_));
      if (!replaced) out += reader.whole();
      if (reader.is_bytes(kNodeOutput) && !reader.payload().empty()) {
        outputs.push_back(reader.payload());
      }
    }
    const DeviceId device = next_ < devices_.size() ? devices_[next_] : kNoDevice;
    ++next_;
    if (device != kNoDevice) {
      const std::string& name = cluster_.device(device).name;
      append_bytes_field(out, kNodeMetadata, entry(kDeviceKey, name));
      append_bytes_field(out, kNodeMetadata, entry(kLayerKey, name));
      if (configures_) {
        append_bytes_field(out, kNodeDevices, node_configuration(outputs, device));
      }
    }
    return out;
  }

  const std::string& file_;
  bool configures_;
  const Cluster& cluster_;
  const std::vector<DeviceId>& devices_;
  std::size_t next_ = 0;
};

}  // namespace

void write_annotated(const fs::path& path, const Graph& graph, const Cluster& cluster,
                     const Placement& placement, const fs::path& output) {
  if (placement.size() != static_cast<std::size_t>(graph.op_count())) {
    throw Error(ErrorCode::invalid_argument,
                cat("the placement has ", placement.size(), " devices and the graph ",
                    graph.op_count(), " ops"));
  }
  const frontend::MappedFile file(path);
  const std::unique_ptr<Model> model = read_model(file.bytes(), path);
  const std::vector<DeviceId> devices = devices_of_nodes(*model, graph, placement);
  Replacement out(output);
  GraphCopy sizes(*model, cluster, devices), copy(*model, cluster, devices);
  for (WireReader reader(file.bytes(), 0, model->file); reader.next();) {
    const bool own = reader.field() == kModelConfiguration && reader.type() == WireType::bytes &&
                     is_own_configuration(reader.payload(), model->file);
    if (own) continue;
    if (reader.field() != kModelGraph) {
      out.write(reader.whole());
      continue;
    }
    std::size_t size = 0;
    sizes.run(reader.payload(), reader.payload_offset(),
              [&](std::string_view bytes) { size += bytes.size(); });
    std::string head;
    append_tag(head, kModelGraph, WireType::bytes);
    append_varint(head, size);
    out.write(head);
    copy.run(reader.payload(), reader.payload_offset(),
             [&](std::string_view bytes) { out.write(bytes); });
  }
  if (model->proto->ir_version() >= kConfigurationIr) {
    std::string tail;
    append_bytes_field(tail, kModelConfiguration, configuration(cluster));
    out.write(tail);
  }
  out.commit();
}

}  // namespace berth::onnx_frontend
