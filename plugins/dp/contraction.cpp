#include "dp/contraction.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "berth/support/index.h"

namespace berth::policies::dp {
namespace {

/// Strongly connected components of the groups' quotient graph (Tarjan, SIAM J. Comput. 1972),
/// walked against the edges: components are complete in the order of a depth-first search from the
/// sinks, each after all that it needs and as late as that search allows.
class Components {
 public:
  explicit Components(const Groups& groups)
      : groups_(groups),
        visit_(at(groups.count()), kUnseen),
        low_(visit_.size(), 0),
        node_(visit_.size(), -1) {
    for (GroupId group = 0; group < groups.count(); ++group) {
      if (groups.out_edges(group).empty()) walk(group);
    }
    for (GroupId group = 0; group < groups.count(); ++group) walk(group);
  }

  /// The node of each group.
  [[nodiscard]] std::vector<Node> take() { return std::move(node_); }

 private:
  static constexpr std::int32_t kUnseen = -1;
  struct Frame {
    GroupId group;
    std::size_t next_edge;
  };

  void walk(GroupId root) {
    if (visit_[at(root)] != kUnseen) return;
    enter(root);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      const auto edges = groups_.in_edges(frame.group);
      if (frame.next_edge == edges.size()) {
        leave();
        continue;
      }
      const GroupId before = edges[frame.next_edge++].src;
      if (visit_[at(before)] == kUnseen) {
        enter(before);
      } else if (node_[at(before)] < 0) {
        low_[at(frame.group)] = std::min(low_[at(frame.group)], visit_[at(before)]);
      }
    }
  }

  void enter(GroupId group) {
    visit_[at(group)] = low_[at(group)] = visits_++;
    open_.push_back(group);
    frames_.push_back({group, 0});
  }

  void leave() {
    const GroupId group = frames_.back().group;
    frames_.pop_back();
    if (!frames_.empty()) {
      std::int32_t& low = low_[at(frames_.back().group)];
      low = std::min(low, low_[at(group)]);
    }
    if (low_[at(group)] != visit_[at(group)]) return;
    GroupId member = kNoGroup;
    do {
      member = open_.back();
      open_.pop_back();
      node_[at(member)] = nodes_;
    } while (member != group);
    ++nodes_;
  }

  const Groups& groups_;
  std::vector<std::int32_t> visit_, low_;
  std::vector<Node> node_;
  std::vector<GroupId> open_;
  std::vector<Frame> frames_;
  std::int32_t visits_ = 0;
  Node nodes_ = 0;
};

bool counts_parameters(const Problem& problem) {
  // The published simulator of `placeto` knows no parameters.
  return problem.options().objective == Objective::throughput ||
         problem.options().semantics == Semantics::dataflow;
}

/// Time an op keeps `device`, as the simulator has it.
double op_us(const Problem& problem, OpId op, DeviceId device) {
  const double us = problem.cost_us(op, device);
  const bool overhead = problem.options().semantics == Semantics::dataflow && us != 0;
  return overhead ? us + problem.cluster().device(device).op_overhead_us : us;
}

/// Figures of the routes from or to a device, averaged.
struct MeanRoute {
  double latency_us = 0;
  double us_per_byte = 0;
  double routes = 0;
  bool alike = true;  ///< the mean is of equal figures

  void add(const Route& route, bool with_latency) {
    const double its_latency_us = with_latency ? route.transfer_us(0) : 0;
    const double its_us_per_byte = 1e6 / route.bandwidth_bytes_per_s;
    if (routes == 0) first_ = {its_latency_us, its_us_per_byte};
    alike = alike && first_ == std::pair(its_latency_us, its_us_per_byte);
    latency_us += its_latency_us;
    us_per_byte += its_us_per_byte;
    routes += 1;
  }
  [[nodiscard]] double us(std::int64_t bytes) const {
    if (routes == 0) return 0;
    return (latency_us + static_cast<double>(bytes) * us_per_byte) / routes;
  }

 private:
  std::pair<double, double> first_;
};

}  // namespace

SplitGraph::SplitGraph(const Problem& problem, Restricted restricted, std::size_t max_nodes) {
  node_of_group_ = Components(problem.groups()).take();
  collect_classes(problem);
  limit_states();
  std::vector<bool> left_out(at(problem.groups().count()), false);
  if (merge_neighbours(problem, max_nodes) || restricted == Restricted::left_out) {
    left_out = restricted_groups(problem);
  }
  leaves_out_ = std::find(left_out.begin(), left_out.end(), true) != left_out.end();
  weigh(problem, left_out);
  connect(problem);
}

std::vector<bool> SplitGraph::restricted_groups(const Problem& problem) const {
  const auto main = std::max_element(
      classes_.begin(), classes_.end(), [](const SplitClass& a, const SplitClass& b) {
        return std::pair(!a.host, a.devices.size()) < std::pair(!b.host, b.devices.size());
      });
  std::vector<bool> result;
  for (GroupId group = 0; group < problem.groups().count(); ++group) {
    result.push_back(!problem.can_run(group, main->devices.front()));
  }
  return result;
}

void SplitGraph::collect_classes(const Problem& problem) {
  const Cluster& cluster = problem.cluster();
  std::map<std::tuple<std::int32_t, std::int64_t, bool>, std::size_t> index;
  for (DeviceId device = 0; device < cluster.device_count(); ++device) {
    const bool host = cluster.device(device).host;
    const std::int64_t memory =
        counts_parameters(problem) ? problem.memory_bytes(device) : kNoLimit;
    const auto [entry, is_new] =
        index.try_emplace({problem.device_class(device), memory, host}, classes_.size());
    if (is_new) {
      const double bytes = memory == kNoLimit ? kCannotRun : static_cast<double>(memory);
      classes_.push_back({{}, bytes, host});
    }
    classes_[entry->second].devices.push_back(device);
  }
  // More devices than nodes are of no use.
  const auto nodes = *std::max_element(node_of_group_.begin(), node_of_group_.end()) + 1;
  for (SplitClass& of_class : classes_) {
    of_class.devices.resize(std::min(of_class.devices.size(), at(nodes)));
  }
}

void SplitGraph::limit_states() {
  const auto states = [&] {
    std::size_t product = 1;
    for (const SplitClass& c : classes_) {
      product = std::min(kMaxStates + 1, product * (c.devices.size() + 1));
    }
    return product;
  };
  while (states() > kMaxStates) {
    // The last of the most numerous: hosts and special devices stay.
    const auto largest = std::max_element(classes_.rbegin(), classes_.rend(),
                                          [](const SplitClass& a, const SplitClass& b) {
                                            return a.devices.size() < b.devices.size();
                                          });
    largest->devices.pop_back();
    if (largest->devices.empty()) classes_.erase(std::next(largest).base());
  }
}

bool SplitGraph::merge_neighbours(const Problem& problem, std::size_t max_nodes) {
  const auto nodes = at(*std::max_element(node_of_group_.begin(), node_of_group_.end())) + 1;
  if (nodes <= max_nodes) return false;
  std::vector<double> work(nodes, 0);
  for (GroupId group = 0; group < problem.groups().count(); ++group) {
    double least = kCannotRun;
    for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
      least = std::min(least, problem.group_cost_us(group, device));
    }
    work[at(node_of_group_[at(group)])] += least;
  }
  const double total = std::accumulate(work.begin(), work.end(), 0.0);
  std::vector<Node> merged(nodes, 0);
  double before = 0;
  for (std::size_t node = 0; node < nodes; ++node) {
    // Half by work, half by number, so that nodes without work are shared out too.
    const double share = (static_cast<double>(node) / static_cast<double>(nodes) +
                          (total > 0 ? before / total : 0)) /
                         (total > 0 ? 2 : 1);
    merged[node] = std::min(static_cast<Node>(max_nodes) - 1,
                            static_cast<Node>(share * static_cast<double>(max_nodes)));
    before += work[node];
  }
  // Numbers without a node are left out.
  std::vector<Node> distinct = merged;
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  for (Node& node : node_of_group_) {
    const auto found = std::lower_bound(distinct.begin(), distinct.end(), merged[at(node)]);
    node = static_cast<Node>(found - distinct.begin());
  }
  return true;
}

void SplitGraph::weigh(const Problem& problem, const std::vector<bool>& left_out) {
  const Groups& groups = problem.groups();
  const auto nodes = at(*std::max_element(node_of_group_.begin(), node_of_group_.end())) + 1;
  us_.assign(classes_.size(), std::vector<double>(nodes, 0));
  bytes_.assign(nodes, 0);
  producers_.resize(nodes);
  for (GroupId group = 0; group < groups.count(); ++group) {
    if (left_out[at(group)]) continue;
    const std::size_t node = at(node_of_group_[at(group)]);
    if (counts_parameters(problem)) {
      bytes_[node] += static_cast<double>(problem.group_param_bytes(group));
    }
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      const DeviceId device = classes_[c].devices.front();
      for (const OpId op : groups.members(group)) us_[c][node] += op_us(problem, op, device);
    }
  }
  for (std::size_t node = 0; node < nodes; ++node) {
    const bool runs = std::any_of(
        us_.begin(), us_.end(), [&](const auto& of_class) { return of_class[node] < kCannotRun; });
    if (runs) continue;
    for (auto& of_class : us_) of_class[node] = 0;
  }
}

void SplitGraph::connect(const Problem& problem) {
  const Graph& graph = problem.graph();
  const auto node_of = [&](OpId op) { return node_of_group_[at(problem.groups().of(op))]; };
  std::vector<std::int64_t> tensor_bytes;
  std::vector<std::pair<TensorId, Node>> reads;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const Node producer = node_of(op);
    reads.clear();
    for (const Edge& edge : graph.out_edges(op)) {
      const Node consumer = node_of(edge.dst);
      if (consumer == producer) continue;
      producers_[at(consumer)].push_back(producer);
      // A control edge keeps the order and costs nothing.
      if (edge.tensor != kNoTensor) reads.emplace_back(edge.tensor, consumer);
    }
    std::sort(reads.begin(), reads.end());
    reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
    for (std::size_t i = 0; i < reads.size(); ++i) {
      if (i == 0 || reads[i].first != reads[i - 1].first) {
        tensors_.push_back({producer, {}});
        tensor_bytes.push_back(graph.bytes(reads[i].first));
      }
      tensors_.back().consumers.push_back(reads[i].second);
    }
  }
  for (std::vector<Node>& list : producers_) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  cost_transfers(problem, tensor_bytes);
}

void SplitGraph::cost_transfers(const Problem& problem,
                                const std::vector<std::int64_t>& tensor_bytes) {
  const Cluster& cluster = problem.cluster();
  const bool with_latency = problem.options().semantics == Semantics::dataflow;
  for (const SplitClass& of_class : classes_) {
    MeanRoute in;
    MeanRoute out;
    for (const DeviceId device : of_class.devices) {
      for (DeviceId other = 0; other < cluster.device_count(); ++other) {
        if (other == device) continue;
        if (of_class.host && !cluster.device(other).host) {
          in.routes += 1;
          out.routes += 1;
          continue;
        }
        in.add(cluster.route(other, device), with_latency);
        out.add(cluster.route(device, other), with_latency);
      }
    }
    links_alike_ = links_alike_ && in.alike && out.alike;
    std::vector<double>& receive = receive_us_.emplace_back();
    std::vector<double>& send = send_us_.emplace_back();
    for (const std::int64_t bytes : tensor_bytes) {
      receive.push_back(in.us(bytes));
      send.push_back(out.us(bytes));
    }
  }
}

GroupPlacement SplitGraph::expand(const std::vector<DeviceId>& device_of_node) const {
  GroupPlacement result;
  result.reserve(node_of_group_.size());
  for (const Node node : node_of_group_) result.push_back(device_of_node[at(node)]);
  return result;
}

}  // namespace berth::policies::dp
