#include "tf/profile.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <memory>
#include <optional>

#include "berth/error.h"
#include "berth/sdk/measured_costs.h"
#include "berth/support/text.h"
#include "frontends/tf/proto/step_stats.pb.h"
#include "tf/file_bytes.h"
#include "tf/text_form.h"

namespace berth::tf_frontend {

using frontend::WireType;

namespace {

// Field numbers; the messages are in proto/step_stats.proto.
namespace run_field {
constexpr std::uint32_t kStepStats = 1, kCostGraph = 2;
}
namespace node_field {
constexpr std::uint32_t kName = 1, kStartMicros = 3, kEndMicros = 4, kStartNanos = 14,
                        kEndNanos = 15;
}
namespace cost_field {
constexpr std::uint32_t kName = 1, kDevice = 2, kId = 3, kComputeCost = 9;
}

enum class Kind { run_metadata, step_stats, cost_graph };

// --- Which message a file is --------------------------------------------------------------------

/// The payload of the field at the front of `bytes` where it is length-delimited and of this
/// number, as far as it is there.
std::optional<std::string_view> front_field(std::string_view bytes, std::uint32_t field) {
  constexpr unsigned kTypeBits = 3;
  std::uint64_t tag = 0, size = 0;
  if (!frontend::take_varint(bytes, tag) ||
      tag != (std::uint64_t{field} << kTypeBits | static_cast<std::uint64_t>(WireType::bytes)) ||
      !frontend::take_varint(bytes, size)) {
    return std::nullopt;
  }
  return bytes.substr(0, size);
}

/// Names of devices begin with '/', names of nodes never do.
bool may_be_step_stats(std::string_view bytes) {
  const auto device = front_field(bytes, 1);
  const auto name = device ? front_field(*device, 1) : std::nullopt;
  return name && !name->empty() && name->front() == '/';
}

/// A node of costs has a number where one of a GraphDef has inputs. TensorFlow's first has only a
/// name: its number, 0, is not written.
bool may_be_cost_graph(std::string_view bytes) {
  while (const auto node = front_field(bytes, 1)) {
    bool fits = true, numbers = false;
    const WireSource nowhere{"", node->data()};
    try {
      for (WireReader reader(*node, nowhere); reader.next();) {
        if (reader.is_bytes(cost_field::kDevice)) {
          fits = fits && (reader.payload().empty() || reader.payload().front() == '/');
        }
        fits = fits && !reader.is_bytes(cost_field::kId);
        numbers = numbers || reader.type() == WireType::varint;
      }
    } catch (const Error&) {  // cut at the end of the front
    }
    if (!fits || numbers) return fits;
    bytes = std::string_view(node->end(), bytes.end());
  }
  return false;
}

std::optional<Kind> kind_of_binary(std::string_view bytes) {
  if (may_be_step_stats(bytes)) return Kind::step_stats;
  if (may_be_cost_graph(bytes)) return Kind::cost_graph;
  if (const auto stats = front_field(bytes, run_field::kStepStats)) {
    if (may_be_step_stats(*stats)) return Kind::run_metadata;
  }
  if (const auto costs = front_field(bytes, run_field::kCostGraph)) {
    if (may_be_cost_graph(*costs)) return Kind::run_metadata;
  }
  return std::nullopt;
}

/// A CostGraphDef's text begins as a GraphDef's does; its nodes tell.
std::optional<Kind> kind_of_text_front(std::string_view text) {
  const std::string_view first = first_word(text).word;
  if (first == "step_stats" || first == "cost_graph") return Kind::run_metadata;
  if (first == "dev_stats") return Kind::step_stats;
  if (first == "node" && text.find("compute_cost") != std::string_view::npos) {
    return Kind::cost_graph;
  }
  return std::nullopt;
}

std::optional<Kind> kind_of_front(std::string_view front) {
  return is_text(front) ? kind_of_text_front(front) : kind_of_binary(front);
}

std::unique_ptr<google::protobuf::Message> empty_message(Kind kind) {
  switch (kind) {
    case Kind::run_metadata:
      return std::make_unique<tf_files::RunMetadata>();
    case Kind::step_stats:
      return std::make_unique<tf_files::StepStats>();
    case Kind::cost_graph:
      break;
  }
  return std::make_unique<tf_files::CostGraphDef>();
}

// --- Content -------------------------------------------------------------------------------

double signed_number(const WireReader& reader) {
  return static_cast<double>(static_cast<std::int64_t>(reader.value()));
}

struct Run {
  std::string_view node;
  double us = 0;  ///< kNotMeasured where it ends before it begins
};

/// Nanoseconds where the file has them: they are rounded less.
Run read_run(std::string_view bytes, const WireSource& source) {
  Run run;
  double start_us = 0, end_us = 0, start_ns = 0, end_ns = 0;
  for (WireReader reader(bytes, source); reader.next();) {
    if (reader.is_bytes(node_field::kName)) run.node = reader.payload();
    if (reader.type() != WireType::varint) continue;
    if (reader.field() == node_field::kStartMicros) start_us = signed_number(reader);
    if (reader.field() == node_field::kEndMicros) end_us = signed_number(reader);
    if (reader.field() == node_field::kStartNanos) start_ns = signed_number(reader);
    if (reader.field() == node_field::kEndNanos) end_ns = signed_number(reader);
  }
  run.us = end_ns != 0 ? (end_ns - start_ns) / 1000 : end_us - start_us;
  if (!(run.us >= 0)) run.us = kNotMeasured;
  return run;
}

/// Sums over the runs of a node: kNotMeasured where one of them is.
using Times = std::unordered_map<std::string, double>;

/// Which list of a device a DeviceStepStats is, by the end of its name.
enum class List { executor, all_streams, stream, other };

List list_of(std::string_view device) {
  const std::string_view last = device.substr(device.rfind('/') + 1);
  if (last == "stream:all") return List::all_streams;
  if (last.starts_with("stream:")) return List::stream;
  const DeviceName name = parse_device(device);
  if (name.type.empty()) return List::other;
  // The device itself ends the name of the list of what its executor ran.
  return parse_device(cat("/", last)).type.empty() ? List::other : List::executor;
}

class Reader {
 public:
  explicit Reader(const WireSource& source) : source_(source) {}

  void run_metadata(std::string_view bytes) {
    for (WireReader reader(bytes, source_); reader.next();) {
      if (reader.is_bytes(run_field::kStepStats)) step_stats(reader.payload());
      if (reader.is_bytes(run_field::kCostGraph)) cost_graph(reader.payload());
    }
  }

  void step_stats(std::string_view bytes) {
    for (WireReader reader(bytes, source_); reader.next();) {
      if (reader.is_bytes(1)) device_stats(reader.payload());
    }
  }

  void cost_graph(std::string_view bytes) {
    for (WireReader reader(bytes, source_); reader.next();) {
      if (reader.is_bytes(1)) node_cost(reader.payload());
    }
  }

  [[nodiscard]] Profile finish() {
    Profile profile;
    for (OfDevice& device : devices_) {
      const Times& kernels =
          device.all_streams.empty() ? device.single_streams : device.all_streams;
      Times us = std::move(device.executor);
      if (!kernels.empty()) {
        for (auto& [node, time] : us) time = 0;
        for (const auto& [node, time] : kernels) us[node] = time;
      }
      // Estimates add nothing to a step that was measured itself.
      us.merge(device.estimates);
      if (!us.empty()) profile.devices.push_back({std::move(device.name), std::move(us)});
    }
    return profile;
  }

 private:
  struct OfDevice {
    DeviceName name;
    Times executor, all_streams, single_streams, estimates;
  };

  OfDevice& device(const DeviceName& name) {
    const auto found = std::find_if(devices_.begin(), devices_.end(), [&](const OfDevice& d) {
      return d.name.type == name.type && d.name.index == name.index;
    });
    return found != devices_.end() ? *found : devices_.emplace_back(OfDevice{name, {}, {}, {}, {}});
  }

  void device_stats(std::string_view bytes) {
    constexpr std::uint32_t kDevice = 1, kNodeStats = 2;
    std::string_view name;
    for (WireReader reader(bytes, source_); reader.next();) {
      if (reader.is_bytes(kDevice)) name = reader.payload();
    }
    const List list = list_of(name);
    if (list == List::other) return;
    OfDevice& of = device(parse_device(name));
    Times& times = list == List::executor      ? of.executor
                   : list == List::all_streams ? of.all_streams
                                               : of.single_streams;
    for (WireReader reader(bytes, source_); reader.next();) {
      if (!reader.is_bytes(kNodeStats)) continue;
      const Run run = read_run(reader.payload(), source_);
      // Kernels are named "node" or "node:Op", copies "MEMCPY..." without their node.
      const std::string_view node = run.node.substr(0, run.node.find(':'));
      if (!node.empty() && !node.starts_with("MEMCPY")) times[std::string(node)] += run.us;
    }
  }

  void node_cost(std::string_view bytes) {
    std::string_view name, place;
    double us = 0;
    for (WireReader reader(bytes, source_); reader.next();) {
      if (reader.is_bytes(cost_field::kName)) name = reader.payload();
      if (reader.is_bytes(cost_field::kDevice)) place = reader.payload();
      if (reader.field() == cost_field::kComputeCost && reader.type() == WireType::varint) {
        us = signed_number(reader);
      }
    }
    // A cost graph lists every node, also those that never ran; they cost 0 there.
    const DeviceName where = parse_device(place);
    if (us > 0 && !name.empty() && !where.type.empty()) {
      device(where).estimates[std::string(name)] = us;
    }
  }

  const WireSource& source_;
  std::vector<OfDevice> devices_;
};

}  // namespace

DeviceName parse_device(std::string_view name) {
  DeviceName device;
  while (!name.empty()) {
    std::string_view part = name.substr(0, name.find('/'));
    name.remove_prefix(std::min(name.size(), part.size() + 1));
    constexpr std::string_view kDevice = "device:";
    if (part.starts_with(kDevice)) part.remove_prefix(kDevice.size());
    const std::size_t colon = part.rfind(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view type = part.substr(0, colon), number = part.substr(colon + 1);
    if (type == "replica" || type == "task" || type == "stream" || type == "job") continue;
    int index = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), index);
    if (error != std::errc() || end != number.data() + number.size() || index < 0) continue;
    device.type = type;
    for (char& c : device.type) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    device.index = index;
  }
  return device;
}

bool looks_like_profile(const std::filesystem::path& path) {
  return kind_of_front(front_of(path)).has_value();
}

Profile read_profile(const std::filesystem::path& path) {
  FileBytes file;
  read_bytes(path, file);
  const std::optional<Kind> kind = kind_of_front(file.is_text ? file.text : file.bytes);
  if (!kind) {
    throw Error(ErrorCode::invalid_file,
                cat(path.string(),
                    ": holds no RunMetadata, StepStats or CostGraphDef; name the file that "
                    "the measured step was written to"));
  }
  if (file.is_text) {
    set_binary(file, text_to_binary(file.text, *empty_message(*kind), file.source.file));
  }
  Reader reader(file.source);
  switch (*kind) {
    case Kind::run_metadata:
      reader.run_metadata(file.bytes);
      break;
    case Kind::step_stats:
      reader.step_stats(file.bytes);
      break;
    case Kind::cost_graph:
      reader.cost_graph(file.bytes);
      break;
  }
  return reader.finish();
}

}  // namespace berth::tf_frontend
