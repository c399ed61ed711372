#include "onnx/annotation.h"

#include "berth/error.h"
#include "berth/support/text.h"
#include "onnx/node_devices.h"
#include "onnx/replacement.h"
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

/// Puts what the model's external data is read from beside `output`, where that is in another folder: the format has
/// such files beside the model, and ONNX Runtime looks for them nowhere else.
void copy_external_data(const Model& model, const fs::path& output) {
  const auto folder_of = [](const fs::path& file) {
    return file.has_parent_path() ? file.parent_path() : fs::path(".");
  };
  std::error_code error;
  if (fs::equivalent(folder_of(model.path), folder_of(output), error)) return;
  for (const std::string& location : model.checked_locations) {
    const fs::path source = folder_of(model.path) / location, target = folder_of(output) / location;
    if (!fs::is_regular_file(source, error)) continue;  // as incomplete as the model it is of
    if (fs::exists(target, error)) {
      if (fs::file_size(target, error) == fs::file_size(source, error)) continue;
      throw Error(ErrorCode::io,
                  cat(target.string(), ": is another file than ", source.string(),
                      ", which belongs beside the model; write the model into an empty folder"));
    }
    fs::create_directories(target.parent_path(), error);
    if (!fs::copy_file(source, target, error)) {
      throw Error(ErrorCode::io, cat(target.string(), ": cannot be written: ", error.message()));
    }
  }
}

}  // namespace

void write_annotated(const fs::path& path, const Graph& graph, const Cluster& cluster,
                     const Placement& placement, const fs::path& output) {
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
  // Nobody looks for data beside a pipe or a device.
  if (!out.in_place()) copy_external_data(*model, output);
  out.commit();
}

}  // namespace berth::onnx_frontend
