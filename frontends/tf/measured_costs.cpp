#include "tf/measured_costs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "berth/error.h"
#include "berth/sdk/measured_costs.h"
#include "berth/support/index.h"
#include "support/text.h"
#include "tf/annotate.h"
#include "tf/graph_maker.h"

namespace berth::tf_frontend {

using frontend::list_names;
using frontend::readable;

namespace {

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
  const std::vector<std::string> names = tensorflow_devices(cluster);
  for (const Profile::OfDevice& measured : profile.devices) {
    const bool on_host = measured.device.type == "CPU";
    bool named = false, of_kind = false, of_class = false;
    for (DeviceId d = 0; d < cluster.device_count(); ++d) {
      const DeviceName name = parse_device(names[at(d)]);
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
        times_(graph, cluster) {
    const Owners owner(graph);
    for (const Profile::OfDevice& device : profile.devices) {
      for (const auto& [node, us] : device.us) op_of_.try_emplace(node, kNoOp);
    }
    for (auto& [node, op] : op_of_) {
      op = owner(node);
      if (op != kNoOp) ++nodes_[at(op)];
    }
    for (const Profile::OfDevice& device : profile.devices) {
      for (const auto& [node, us] : device.us) {
        if (std::isnan(us) && op_of_.at(node) != kNoOp) ++broken_;
      }
    }
    for (KindId kind = 0; kind < cluster.kind_count(); ++kind) measure(kind);
  }

  LoadedCosts costs(const std::string& file) {
    if (measured_ops() == 0) refuse(file);
    MeasuredCosts made = costs_of_measured(std::move(times_), graph_, cluster_, file);
    LoadedCosts loaded{std::move(made.costs), {std::move(made.note)}};
    note_strangers(loaded.notes);
    if (broken_ > 0) {
      loaded.notes.push_back(
          cat(broken_, " measured nodes have a run that ends before it begins and do not count"));
    }
    return loaded;
  }

 private:
  void measure(KindId kind) {
    std::vector<double>& us = times_.us[at(kind)];
    std::vector<int> counts(us.size(), 0);
    const auto devices = devices_of_kind(profile_, cluster_, kind);
    // In the order of names, so that sums are the same on every machine.
    for (const auto& [node, op] : op_of_) {
      if (op == kNoOp) continue;
      double sum = 0;
      int found = 0;
      bool broken = false;
      for (const Profile::OfDevice* device : devices) {
        const auto time = device->us.find(node);
        if (time == device->us.end()) continue;
        if (std::isnan(time->second)) {
          broken = true;
          continue;
        }
        sum += time->second;
        ++found;
      }
      if (found == 0 && !broken) continue;
      // One such node makes all of its loop unknown.
      const double mean = found == 0 ? kNotMeasured : sum / found;
      us[at(op)] = (counts[at(op)]++ == 0 ? 0 : us[at(op)]) + mean;
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

  [[noreturn]] void refuse(const std::string& file) const {
    std::vector<std::string> devices, strangers;
    for (const Profile::OfDevice& device : profile_.devices) {
      devices.push_back(cat(device.device.type, ":", device.device.index));
    }
    for (const auto& [node, op] : op_of_) {
      if (op == kNoOp) strangers.push_back(readable(node));
    }
    if (broken_ > 0) {
      throw Error(
          ErrorCode::invalid_file,
          cat(file, ": ", broken_,
              " measured nodes have a run that ends before it begins, and without these no op "
              "of graph '",
              graph_.name(), "' is measured; record the step again"));
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

  void note_strangers(std::vector<std::string>& notes) const {
    const auto strangers = std::count_if(op_of_.begin(), op_of_.end(), [](const auto& entry) {
      // TensorFlow's own nodes (_SOURCE, _Recv, ...) belong to no graph.
      return entry.second == kNoOp && entry.first.front() != '_';
    });
    if (strangers > 0) {
      notes.push_back(cat(strangers, " measured nodes are not ops of this graph and do not count"));
    }
  }

  const Profile& profile_;
  const Graph& graph_;
  const Cluster& cluster_;
  std::map<std::string, OpId> op_of_;  ///< of every measured node
  std::vector<int> nodes_;             ///< by op: those that were measured, on whatever device
  MeasuredTimes times_;
  std::vector<int> measured_;  ///< ops, by kind
  std::int64_t broken_ = 0;    ///< nodes of ops, by device, with a run that ends before it begins
};

}  // namespace

LoadedCosts measured_costs(const Profile& profile, const std::string& file, const Graph& graph,
                           const Cluster& cluster) {
  return Attachment(profile, graph, cluster).costs(file);
}

}  // namespace berth::tf_frontend
