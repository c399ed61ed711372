#include "constraints/selection.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <set>
#include <unordered_map>

#include "berth/error.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "constraints/device_spec.h"
#include "support/pattern.h"

namespace berth {
namespace {

bool any(const std::vector<bool>& devices) {
  return std::find(devices.begin(), devices.end(), true) != devices.end();
}

/// Some names of ops that a user who wrote `text` may have meant: those with the longest common
/// beginning, letter case aside.
std::string near_ops(const Graph& graph, std::string_view text) {
  constexpr std::size_t kShown = 3;
  const std::string wanted = lower(text);
  std::size_t longest = 0;
  std::vector<OpId> nearest;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const std::string& name = graph.op_name(op);
    std::size_t common = 0;
    while (common < std::min(name.size(), wanted.size()) &&
           std::tolower(static_cast<unsigned char>(name[common])) == wanted[common]) {
      ++common;
    }
    if (common > longest) {
      longest = common;
      nearest.clear();
    }
    if (common == longest && nearest.size() < kShown) nearest.push_back(op);
  }
  std::vector<std::string> names;
  for (const OpId op : nearest) names.push_back("'" + graph.op_name(op) + "'");
  return names.empty() ? "" : cat(longest > 0 ? "; near it: " : "; ops are called ", join(names));
}

/// The letters an expression begins with.
std::string literal_beginning(std::string_view expression) {
  if (expression.starts_with('^')) expression.remove_prefix(1);
  return std::string(expression.substr(0, expression.find_first_of("\\.[(|*+?{^$")));
}

/// Distinct values of `text_of` over the ops.
template <typename TextOf>
std::vector<std::string> distinct(const Graph& graph, TextOf text_of) {
  std::set<std::string> values;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    if (!text_of(op).empty()) values.insert(text_of(op));
  }
  return {values.begin(), values.end()};
}

/// What an expression that begins with `beginning` and matches no op probably lacks.
std::string expression_hint(const Graph& graph, const std::string& beginning) {
  bool begins = false, behind_slash = false;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const std::string& name = graph.op_name(op);
    begins = begins || name.starts_with(beginning);
    behind_slash = behind_slash || (!beginning.empty() && name.starts_with("/" + beginning));
  }
  if (!begins && behind_slash) {
    return cat(" (names here begin with a slash: write /", beginning, "...)");
  }
  return " (an expression matches whole names: end it with .* to match what begins like this)";
}

[[noreturn]] void fail_without_ops(const Graph& graph, const OpSelector& selector,
                                   const std::string& rule) {
  std::string hint;
  if (!selector.name.empty()) {
    hint = near_ops(graph, selector.name);
  } else if (!selector.regex.empty()) {
    const std::string beginning = literal_beginning(selector.regex);
    hint = near_ops(graph, beginning) + expression_hint(graph, beginning);
  }
  if (!selector.type.empty()) {
    hint +=
        "; types" + known_names(selector.type, distinct(graph, [&](OpId op) -> const std::string& {
                                  return graph.op_type(op);
                                }));
  }
  if (!selector.requested_device.empty()) {
    hint += "; requested devices" + known_names(selector.requested_device,
                                                distinct(graph, [&](OpId op) -> const std::string& {
                                                  return graph.requested_device(op);
                                                }));
  }
  throw Error(ErrorCode::invalid_argument,
              cat("the constraint ", rule, " selects none of the ", graph.op_count(),
                  " ops of graph '", graph.name(), "'", hint));
}

/// Answers whether a requested device is the one a selector asks for; few texts recur often.
class RequestedDevice {
 public:
  RequestedDevice(const Cluster& cluster, const std::string& wanted)
      : cluster_(cluster), wanted_(wanted), devices_(requested_devices(cluster, wanted)) {}

  bool is(const std::string& requested) {
    if (requested.empty()) return false;
    if (wanted_ == "*" || requested == wanted_) return true;
    const auto [entry, is_new] = known_.try_emplace(requested, false);
    if (is_new) {
      const std::vector<bool> named = requested_devices(cluster_, requested);
      bool inside = any(named);
      for (std::size_t d = 0; d < named.size(); ++d) inside = inside && (!named[d] || devices_[d]);
      entry->second = inside;
    }
    return entry->second;
  }

 private:
  const Cluster& cluster_;
  const std::string& wanted_;
  std::vector<bool> devices_;
  std::unordered_map<std::string, bool> known_;
};

/// "gpu:1" of "/job:worker/task:0/device:GPU:1" and of "/gpu:1".
std::string device_part(std::string_view text) {
  std::string part = lower(text);
  if (const std::size_t slash = part.rfind('/'); slash != std::string::npos) {
    part = part.substr(slash + 1);
  }
  return part.starts_with("device:") ? part.substr(7) : part;
}

/// The devices as TensorFlow would name them: what a name does not say of type and number follows from the place
/// among those of its task. Empty where no name states a job, a replica or a task.
std::vector<std::optional<DeviceSpec>> specs_of(const Cluster& cluster) {
  std::vector<std::optional<DeviceSpec>> specs;
  bool any = false;
  for (DeviceId d = 0; d < cluster.device_count(); ++d) {
    specs.push_back(parse_device_spec(cluster.device(d).name));
    any = any || (specs.back() && specs.back()->states_task());
  }
  if (!any) return {};
  for (std::size_t d = 0; d < specs.size(); ++d) {
    if (!specs[d] || specs[d]->type) continue;
    specs[d]->type = cluster.device(static_cast<DeviceId>(d)).host ? "cpu" : "gpu";
    specs[d]->index = static_cast<int>(std::count_if(
        specs.begin(), specs.begin() + static_cast<std::ptrdiff_t>(d), [&](const auto& other) {
          return other && other->same_task(*specs[d]) && other->type == specs[d]->type;
        }));
  }
  return specs;
}

}  // namespace

bool leaves_task_open(const Cluster& cluster, std::string_view text) {
  const auto spec = parse_device_spec(text);
  return spec && spec->states_task() && !spec->type && specs_of(cluster).empty();
}

std::vector<bool> requested_devices(const Cluster& cluster, std::string_view text) {
  const auto count = at(cluster.device_count());
  std::vector<bool> devices(count, false);
  const auto mark = [&](auto meant) {
    for (DeviceId d = 0; d < cluster.device_count(); ++d) {
      devices[at(d)] = meant(cluster.device(d));
    }
    return any(devices);
  };
  if (const auto specs = specs_of(cluster); !specs.empty()) {
    const std::string whole = lower(text);
    if (mark([&](const Device& device) { return lower(device.name) == whole; })) return devices;
    if (mark([&](const Device& device) { return lower(device.kind) == whole; })) return devices;
    const auto wanted = parse_device_spec(text);
    for (std::size_t d = 0; wanted && d < count; ++d) {
      devices[d] = specs[d] && agree(*wanted, *specs[d]);
    }
    return devices;
  }
  for (const std::string& name : {lower(text), device_part(text)}) {
    if (mark([&](const Device& device) { return lower(device.name) == name; })) return devices;
    if (mark([&](const Device& device) { return lower(device.kind) == name; })) return devices;
  }
  const std::string part = device_part(text);
  // A task without a device, as TensorFlow's replica_device_setter writes, leaves all of them open.
  if (part.empty() || part.starts_with("job:") || part.starts_with("replica:") ||
      part.starts_with("task:")) {
    return std::vector<bool>(count, true);
  }
  const std::size_t colon = part.find(':');
  const std::string sort = part.substr(0, colon);
  const std::string number = colon == std::string::npos ? "*" : part.substr(colon + 1);
  if (sort != "gpu" && sort != "cpu") return devices;
  int index = -1;
  if (number != "*") {
    const auto [rest, error] = std::from_chars(number.data(), number.data() + number.size(), index);
    if (error != std::errc() || rest != number.data() + number.size()) return devices;
  }
  int next = 0;
  mark([&](const Device& device) {
    if (device.host != (sort == "cpu")) return false;
    return next++ == index || index < 0;
  });
  return devices;
}

std::vector<OpId> select_ops(const Graph& graph, const Cluster& cluster, const OpSelector& selector,
                             const std::string& rule) {
  if (selector.name.empty() && selector.regex.empty() && selector.type.empty() &&
      selector.requested_device.empty()) {
    throw Error(ErrorCode::invalid_argument,
                cat("the constraint ", rule, " does not say which ops; give a name, a regex, a ",
                    "type or a requested_device"));
  }
  std::optional<Pattern> pattern;
  try {
    if (!selector.regex.empty()) pattern.emplace(selector.regex);
  } catch (const Error& error) {
    throw Error(error.code(), cat("the constraint ", rule, ": ", error.what()));
  }
  RequestedDevice requested(cluster, selector.requested_device);
  std::vector<OpId> ops;
  const auto consider = [&](OpId op) {
    if (!selector.type.empty() && graph.op_type(op) != selector.type) return;
    if (!selector.requested_device.empty() && !requested.is(graph.requested_device(op))) return;
    if (pattern && !pattern->matches(graph.op_name(op))) return;
    ops.push_back(op);
  };
  if (!selector.name.empty()) {
    if (const auto op = graph.find_op(selector.name)) consider(*op);
  } else {
    for (OpId op = 0; op < graph.op_count(); ++op) consider(op);
  }
  if (ops.empty()) fail_without_ops(graph, selector, rule);
  return ops;
}

std::vector<bool> select_devices(const Cluster& cluster, const std::vector<std::string>& names,
                                 const std::string& rule) {
  std::vector<bool> devices(at(cluster.device_count()), false);
  for (const std::string& name : names) {
    const auto device = cluster.find_device(name);
    bool found = device.has_value();
    if (device) devices[at(*device)] = true;
    for (DeviceId d = 0; !device && d < cluster.device_count(); ++d) {
      if (cluster.device(d).kind != name) continue;
      devices[at(d)] = true;
      found = true;
    }
    if (found) continue;
    std::vector<std::string> known;
    for (DeviceId d = 0; d < cluster.device_count(); ++d) known.push_back(cluster.device(d).name);
    for (KindId k = 0; k < cluster.kind_count(); ++k) known.push_back(cluster.kind_name(k));
    throw Error(
        ErrorCode::invalid_argument,
        cat("the constraint ", rule, " names '", name, "', which is neither a device nor a ",
            "kind of cluster '", cluster.name(), "'", known_names(name, known)));
  }
  return devices;
}

}  // namespace berth
