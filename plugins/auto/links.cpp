#include "auto/links.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "berth/sdk/random.h"
#include "berth/support/index.h"

namespace berth::policies::auto_policy {
namespace {

/// Whether one can do all that the other does.
bool can_exchange(const Problem& problem, DeviceId a, DeviceId b) {
  return problem.device_class(a) == problem.device_class(b) &&
         problem.memory_bytes(a) == problem.memory_bytes(b);
}

std::int64_t mean_bytes(const Graph& graph) {
  double sum = 0;
  for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
    sum += static_cast<double>(graph.bytes(tensor));
  }
  return static_cast<std::int64_t>(sum / std::max(1, graph.tensor_count()));
}

template <typename Function>
void for_each_pair(const Problem& problem, const Function& function) {
  const DeviceId count = problem.cluster().device_count();
  for (DeviceId a = 0; a < count; ++a) {
    for (DeviceId b = 0; b < count; ++b) {
      if (a != b && can_exchange(problem, a, b)) function(a, b);
    }
  }
}

/// The quadratic assignment of parts (what a placement has on one device) to devices.
class Mapping {
 public:
  Mapping(const Problem& problem, std::span<const DeviceId> placement)
      : problem_(problem),
        count_(at(problem.cluster().device_count())),
        sent_(count_ * count_),
        bytes_(count_ * count_),
        latency_us_(count_ * count_),
        us_per_byte_(count_ * count_),
        to_(count_) {
    find_traffic(placement);
    for (DeviceId a = 0; at(a) < count_; ++a) {
      for (DeviceId b = 0; at(b) < count_; ++b) {
        if (a == b) continue;
        const Route& route = problem.cluster().route(a, b);
        latency_us_[pair(at(a), at(b))] = route.transfer_us(0);
        us_per_byte_[pair(at(a), at(b))] = 1e6 / route.bandwidth_bytes_per_s;
      }
    }
    std::iota(to_.begin(), to_.end(), 0);
  }

  /// The device of each part.
  const std::vector<DeviceId>& run(Random& random) {
    double us = descend(cost_us());
    std::vector<DeviceId> best = to_;
    double best_us = us;
    for (int kick = 0; kick < kKicks; ++kick) {
      to_ = best;
      for (int i = 0; i < kExchanges; ++i) {
        const std::size_t a = random.below(count_);
        const std::size_t b = random.below(count_);
        if (a != b && can_exchange(problem_, to_[a], to_[b])) std::swap(to_[a], to_[b]);
      }
      us = descend(cost_us());
      if (us >= best_us) continue;
      best = to_;
      best_us = us;
    }
    to_ = best;
    return to_;
  }

 private:
  static constexpr int kKicks = 20;
  static constexpr int kExchanges = 4;

  [[nodiscard]] std::size_t pair(std::size_t a, std::size_t b) const { return a * count_ + b; }

  /// Each tensor once per device that reads it.
  void find_traffic(std::span<const DeviceId> placement) {
    const Graph& graph = problem_.graph();
    std::vector<std::pair<TensorId, DeviceId>> sent;
    for (OpId op = 0; op < graph.op_count(); ++op) {
      const DeviceId from = placement[at(op)];
      sent.clear();
      for (const Edge& edge : graph.out_edges(op)) {
        const DeviceId to = placement[at(edge.dst)];
        if (to != from) sent.emplace_back(edge.tensor, to);
      }
      std::sort(sent.begin(), sent.end());
      sent.erase(std::unique(sent.begin(), sent.end()), sent.end());
      for (const auto& [tensor, to] : sent) {
        sent_[pair(at(from), at(to))] += 1;
        if (tensor == kNoTensor) continue;
        bytes_[pair(at(from), at(to))] += static_cast<double>(graph.bytes(tensor));
      }
    }
  }

  [[nodiscard]] double between_us(std::size_t a, std::size_t b, std::size_t on_a,
                                  std::size_t on_b) const {
    return sent_[pair(a, b)] * latency_us_[pair(on_a, on_b)] +
           bytes_[pair(a, b)] * us_per_byte_[pair(on_a, on_b)];
  }
  [[nodiscard]] double cost_us() const {
    double sum = 0;
    for (std::size_t a = 0; a < count_; ++a) {
      for (std::size_t b = 0; b < count_; ++b) sum += between_us(a, b, at(to_[a]), at(to_[b]));
    }
    return sum;
  }

  [[nodiscard]] double gain_us(std::size_t a, std::size_t b) const {
    const std::size_t on_a = at(to_[a]);
    const std::size_t on_b = at(to_[b]);
    double gain = between_us(a, b, on_a, on_b) + between_us(b, a, on_b, on_a) -
                  between_us(a, b, on_b, on_a) - between_us(b, a, on_a, on_b);
    for (std::size_t c = 0; c < count_; ++c) {
      if (c == a || c == b) continue;
      const std::size_t on_c = at(to_[c]);
      gain += between_us(a, c, on_a, on_c) - between_us(a, c, on_b, on_c) +
              between_us(c, a, on_c, on_a) - between_us(c, a, on_c, on_b) +
              between_us(b, c, on_b, on_c) - between_us(b, c, on_a, on_c) +
              between_us(c, b, on_c, on_b) - between_us(c, b, on_c, on_a);
    }
    return gain;
  }

  /// From `us`; to where no exchange gains.
  double descend(double us) {
    constexpr double kRounding = 1e-9;
    for (bool gained = true; gained;) {
      gained = false;
      for (std::size_t a = 0; a < count_; ++a) {
        for (std::size_t b = a + 1; b < count_; ++b) {
          if (!can_exchange(problem_, to_[a], to_[b])) continue;
          const double gain = gain_us(a, b);
          if (gain <= kRounding * us) continue;
          std::swap(to_[a], to_[b]);
          us -= gain;
          gained = true;
        }
      }
    }
    return us;
  }

  const Problem& problem_;
  std::size_t count_;
  std::vector<double> sent_, bytes_;              // by pair of parts
  std::vector<double> latency_us_, us_per_byte_;  // by pair of devices
  std::vector<DeviceId> to_;                      // by part
};

}  // namespace

bool has_unlike_links(const Problem& problem) {
  if (problem.cluster().device_count() > kMostMapped) return false;
  const Route* first = nullptr;
  bool unlike = false;
  for_each_pair(problem, [&](DeviceId a, DeviceId b) {
    const Route& route = problem.cluster().route(a, b);
    if (first == nullptr) first = &route;
    unlike |= route.latency_us != first->latency_us ||
              route.bandwidth_bytes_per_s != first->bandwidth_bytes_per_s;
  });
  return unlike;
}

std::shared_ptr<const Problem> with_links_alike(const Problem& problem) {
  const Cluster& cluster = problem.cluster();
  const std::int64_t bytes = mean_bytes(problem.graph());
  std::vector<const Route*> routes;
  for_each_pair(problem, [&](DeviceId a, DeviceId b) { routes.push_back(&cluster.route(a, b)); });
  const auto median = routes.begin() + std::ssize(routes) / 2;
  std::nth_element(routes.begin(), median, routes.end(), [&](const Route* a, const Route* b) {
    return a->transfer_us(bytes) < b->transfer_us(bytes);
  });
  std::vector<Device> devices;
  for (DeviceId d = 0; d < cluster.device_count(); ++d) devices.push_back(cluster.device(d));
  std::vector<LinkSpec> links = cluster.links();
  for_each_pair(problem, [&](DeviceId a, DeviceId b) {
    LinkSpec& link = links.emplace_back();
    link.src = cluster.device(a).name;
    link.dst = cluster.device(b).name;
    link.bandwidth_bytes_per_s = (*median)->bandwidth_bytes_per_s;
    link.latency_us = (*median)->transfer_us(0);
  });
  return std::make_shared<const Problem>(
      problem.shared_graph(),
      std::make_shared<const Cluster>(cluster.name(), std::move(devices), links),
      problem.shared_costs(), problem.shared_groups(), problem.options(), problem.constraints());
}

Placement mapped(const Problem& problem, std::span<const DeviceId> placement, std::uint64_t seed) {
  Random random(seed);
  Mapping mapping(problem, placement);
  const std::vector<DeviceId>& to = mapping.run(random);
  Placement all;
  for (const DeviceId device : placement) all.push_back(to[at(device)]);
  return all;
}

}  // namespace berth::policies::auto_policy
