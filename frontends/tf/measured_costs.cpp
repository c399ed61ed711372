#include "tf/measured_costs.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "berth/error.h"
#include "berth/support/index.h"
#include "support/text.h"
#include "tf/annotate.h"
#include "tf/graph_maker.h"

namespace berth::tf_frontend {

using frontend::list_names;
using frontend::readable;

namespace {

constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

/// Which op a measured node belongs to.
class Owners {
 public:
  explicit Owners(const Graph& graph) : graph_(graph) {
    for (OpId op = 0; op < graph.op_count(); ++op) {
      const AttributeValue* nodes = graph.attribute(op, kLoopNodes);
      const auto* names = nodes == nullptr ? nullptr : std::get_if<std::vector<std::string>>(nodes);
      if (names == nullptr) continue;
      for (const std::string& name : *names) in_loops_.emplace(name, op);
    }
  }

  [[nodiscard]] OpId operator()(const std::string& node) const {
    const std::string name = readable(node);
    if (const auto op = graph_.find_op(name)) return *op;
    if (const auto loop = in_loops_.find(name); loop != in_loops_.end()) return loop->second;
    // TensorFlow puts the nodes of a body behind the name of what runs it.
    for (std::size_t end = name.rfind('/'); end != std::string::npos && end > 0;
         end = name.rfind('/', end - 1)) {
      const auto op = graph_.find_op(std::string_view(name).substr(0, end));
      if (op && runs_bodies(graph_.op_type(*op))) return *op;
    }
    return kNoOp;
  }

 private:
  const Graph& graph_;
  std::unordered_map<std::string_view, OpId> in_loops_;
};

/// The measured devices whose times count for `kind`.
std::vector<const Profile::OfDevice*> devices_of_kind(const Profile& profile,
                                                      const Cluster& cluster, KindId kind) {
  std::vector<const Profile::OfDevice*> devices;
  for (const Profile::OfDevice& measured : profile.devices) {
    const bool on_host = measured.device.type == "CPU";
    bool named = false, of_kind = false, of_class = false;
    for (DeviceId d = 0; d < cluster.device_count(); ++d) {
      const DeviceName name = parse_device(tensorflow_device(cluster, d));
      const bool same = name.type == measured.device.type && name.index == measured.device.index;
      const bool is_kind = cluster.kind_of(d) == kind;
      named = named || same;
      of_kind = of_kind || (same && is_kind);
      of_class = of_class || (is_kind && cluster.device(d).host == on_host);
    }
    if (named ? of_kind : of_class) devices.push_back(&measured);
  }
  return devices;
}

class Attachment {
 public:
  Attachment(const Profile& profile, const Graph& graph, const Cluster& cluster)
      : profile_(profile),
        graph_(graph),
        cluster_(cluster),
        nodes_(at(graph.op_count()), 0),
        us_(at(cluster.kind_count()), std::vector<double>(at(graph.op_count()), kNotMeasured)) {
    const Owners owner(graph);
    for (const Profile::OfDevice& device : profile.devices) {
      for (const auto& [node, us] : device.us) op_of_.try_emplace(node, kNoOp);
    }
    for (auto& [node, op] : op_of_) {
      op = owner(node);
      if (op != kNoOp) ++nodes_[at(op)];
    }
    for (KindId kind = 0; kind < cluster.kind_count(); ++kind) measure(kind);
  }

  LoadedCosts costs(const std::string& file) {
    if (measured_ops() == 0) refuse(file);
    std::vector<std::int64_t> workspace;
    if (!complete()) fill_in(file, workspace);
    LoadedCosts loaded;
    loaded.costs = std::make_shared<const Costs>(us_, std::move(workspace), file);
    loaded.notes = notes();
    return loaded;
  }

 private:
  void measure(KindId kind) {
    std::vector<double>& us = us_[at(kind)];
    std::vector<int> counts(us.size(), 0);
    const auto devices = devices_of_kind(profile_, cluster_, kind);
    // In the order of names, so that sums are the same on every machine.
    for (const auto& [node, op] : op_of_) {
      if (op == kNoOp) continue;
      double sum = 0;
      int found = 0;
      for (const Profile::OfDevice* device : devices) {
        const auto time = device->us.find(node);
        if (time == device->us.end()) continue;
        sum += time->second;
        ++found;
      }
      if (found == 0) continue;
      us[at(op)] = (counts[at(op)]++ == 0 ? 0 : us[at(op)]) + sum / found;
    }
    int ops = 0;
    for (std::size_t op = 0; op < us.size(); ++op) {
      if (2 * counts[op] < nodes_[op]) us[op] = kNotMeasured;
      ops += us[op] >= 0 ? 1 : 0;
    }
    measured_.push_back(ops);
  }

  [[nodiscard]] std::int64_t measured_ops() const {
    return std::accumulate(measured_.begin(), measured_.end(), std::int64_t{0});
  }
  [[nodiscard]] bool complete() const {
    return std::all_of(measured_.begin(), measured_.end(),
                       [&](int count) { return count == graph_.op_count(); });
  }

  void fill_in(const std::string& file, std::vector<std::int64_t>& workspace) {
    const std::shared_ptr<const Costs> roofline = [&] {
      try {
        return Costs::roofline(graph_, cluster_);
      } catch (const Error& error) {
        throw Error(error.code(), cat(file,
                                      ": measures not all ops on all kinds of devices; for "
                                      "the rest: ",
                                      error.what()));
      }
    }();
    for (KindId kind = 0; kind < cluster_.kind_count(); ++kind) {
      for (OpId op = 0; op < graph_.op_count(); ++op) {
        double& us = us_[at(kind)][at(op)];
        if (!(us >= 0)) us = roofline->op_us(op, kind);
      }
    }
    for (OpId op = 0; op < graph_.op_count(); ++op) {
      workspace.push_back(roofline->workspace_bytes(op));
    }
  }

  [[noreturn]] void refuse(const std::string& file) const {
    std::vector<std::string> devices, strangers;
    for (const Profile::OfDevice& device : profile_.devices) {
      devices.push_back(cat(device.device.type, ":", device.device.index));
    }
    for (const auto& [node, op] : op_of_) {
      if (op == kNoOp) strangers.push_back(readable(node));
    }
    if (devices.empty()) {
      throw Error(ErrorCode::invalid_file,
                  cat(file, ": measures no node on any device; run a step with full tracing"));
    }
    if (strangers.size() < op_of_.size()) {
      throw Error(ErrorCode::invalid_file,
                  cat(file, ": measures ops on ", list_names(devices), ", of which cluster '",
                      cluster_.name(), "' has none; choose a cluster with such devices"));
    }
    throw Error(ErrorCode::invalid_file,
                cat(file, ": measures no op of graph '", graph_.name(), "' but ",
                    list_names(strangers, 4), "; name the profile of this graph's own step"));
  }

  [[nodiscard]] std::vector<std::string> notes() const {
    std::string ops;
    for (KindId kind = 0; kind < cluster_.kind_count(); ++kind) {
      ops += cat(ops.empty() ? "" : ", ", measured_[at(kind)], " on ", cluster_.kind_name(kind));
    }
    std::vector<std::string> notes = {
        cat("measured ops of ", graph_.op_count(), ": ", ops,
            complete() ? "" : "; the rest cost what the roofline model says")};
    const auto strangers = std::count_if(op_of_.begin(), op_of_.end(), [](const auto& entry) {
      // TensorFlow's own nodes (_SOURCE, _Recv, ...) belong to no graph.
      return entry.second == kNoOp && entry.first.front() != '_';
    });
    if (strangers > 0) {
      notes.push_back(cat(strangers, " measured nodes are not ops of this graph and do not count"));
    }
    return notes;
  }

  const Profile& profile_;
  const Graph& graph_;
  const Cluster& cluster_;
  std::map<std::string, OpId> op_of_;  ///< of every measured node
  std::vector<int> nodes_;             ///< by op: those that were measured, on whatever device
  std::vector<std::vector<double>> us_;
  std::vector<int> measured_;  ///< ops, by kind
};

}  // namespace

LoadedCosts measured_costs(const Profile& profile, const std::string& file, const Graph& graph,
                           const Cluster& cluster) {
  return Attachment(profile, graph, cluster).costs(file);
}

}  // namespace berth::tf_frontend
