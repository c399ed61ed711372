// Lower bounds from the work there is, for latency and for throughput.
//
// Let T be the objective of a feasible placement, n(k) the devices of kind k, and c(o, k) the time
// a co-location class o keeps a device of kind k busy. No device is busy for longer than T: in
// `latency` a device runs one op at a time and the step ends no earlier (placeto: pauses are part
// of the step), in `throughput` T is the largest load and compute is a part of each load.
//
// Total work. For any weights y(k) >= 0 with sum n(k) y(k) = 1, summing y over the devices:
//   T = sum over devices y T
//     >= sum over devices y busy = sum over o of y(kind of o) c(o, kind of o)
//     >= sum over o of min over kinds k that can run o of y(k) c(o, k).
// This is the dual of spreading the work fractionally (R||Cmax); any y gives a valid bound, so the
// search for a good one below need not be exact.
//
// Memory-forced spread. Let m(o) be bytes of parameters that o alone makes resident and M(k) the
// memory of all devices of kind k together. A feasible placement keeps, for every k,
// sum of m over the classes on kind k <= M(k). Adding these with multipliers z(k) >= 0:
//   T >= sum over o of min over k of (y(k) c(o, k) + z(k) m(o)) - sum over k of z(k) M(k).
// A parameter shared by several ops is resident on at least one device that runs one of them: it
// enters as a class of its own without work, on the kinds of its readers. y and z are searched by
// golden-section steps along single coordinates of this concave function.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "berth/support/index.h"
#include "proofs/bound_facts.h"

namespace berth::bounds {
namespace {

/// Sums of many terms are rounded; a bound gives that away so as never to pass the optimum.
constexpr double kRounding = 1 - 1e-12;

/// The work to spread: one row per class (or shared parameter) and one column per kind.
struct Work {
  KindId kinds = 0;
  std::vector<double> us;     // row-major; kCannotRun where the kind cannot run it
  std::vector<double> bytes;  // by row
  std::vector<double> devices;
  std::vector<double> memory;  // by kind; kCannotRun = no limit
  double total_bytes = 0;
};

Work collect(const Facts& facts) {
  const Graph& graph = facts.graph();
  const Cluster& cluster = facts.problem().cluster();
  Work work;
  work.kinds = facts.kind_count();
  for (KindId kind = 0; kind < work.kinds; ++kind) work.devices.push_back(facts.devices_of(kind));
  work.memory.assign(at(work.kinds), 0);
  for (DeviceId d = 0; d < cluster.device_count(); ++d) {
    const std::int64_t bytes = facts.problem().memory_bytes(d);
    work.memory[at(cluster.kind_of(d))] +=
        bytes == kNoLimit ? kCannotRun : static_cast<double>(bytes);
  }
  for (GroupId group = 0; group < facts.classes().count(); ++group) {
    for (KindId kind = 0; kind < work.kinds; ++kind) {
      work.us.push_back(facts.class_us(group, kind));
    }
    double bytes = 0;
    for (const OpId op : facts.classes().members(group)) {
      bytes += static_cast<double>(graph.own_param_bytes(op));
    }
    work.bytes.push_back(bytes);
  }
  for (const Graph::SharedParameter& shared : graph.shared_parameters()) {
    for (KindId kind = 0; kind < work.kinds; ++kind) {
      const bool readable = std::any_of(
          shared.consumers.begin(), shared.consumers.end(),
          [&](OpId op) { return facts.class_us(facts.classes().of(op), kind) < kCannotRun; });
      work.us.push_back(readable ? 0 : kCannotRun);
    }
    work.bytes.push_back(static_cast<double>(shared.bytes));
  }
  work.total_bytes = std::accumulate(work.bytes.begin(), work.bytes.end(), 0.0);
  return work;
}

/// A point of the dual: y and z by kind.
struct Multipliers {
  std::vector<double> y;
  std::vector<double> z;
};

double value(const Work& work, const Multipliers& point) {
  const std::size_t kinds = point.y.size();
  double spread = 0;
  for (std::size_t row = 0; row < work.bytes.size(); ++row) {
    double least = kCannotRun;
    for (std::size_t k = 0; k < kinds; ++k) {
      const double us = work.us[row * kinds + k];
      if (us == kCannotRun) continue;
      least = std::min(least, point.y[k] * us + point.z[k] * work.bytes[row]);
    }
    spread += least;
  }
  double price = 0;
  for (std::size_t k = 0; k < kinds; ++k) {
    if (point.z[k] > 0) price += point.z[k] * work.memory[k];
  }
  return spread - price - (1 - kRounding) * (spread + price);
}

/// Golden-section search of the largest value of a concave function on [low, high].
template <typename Function>
double argmax(double low, double high, Function function) {
  constexpr double kRatio = 0.6180339887498949;
  double a = high - kRatio * (high - low);
  double b = low + kRatio * (high - low);
  double at_a = function(a);
  double at_b = function(b);
  for (int step = 0; step < 40; ++step) {
    if (at_a < at_b) {
      low = a;
      a = b;
      at_a = at_b;
      b = low + kRatio * (high - low);
      at_b = function(b);
    } else {
      high = b;
      b = a;
      at_b = at_a;
      a = high - kRatio * (high - low);
      at_a = function(a);
    }
  }
  return at_a > at_b ? a : b;
}

/// Climbs from a start along single coordinates; the best value seen.
class Climb {
 public:
  Climb(const Work& work, bool with_memory)
      : work_(work),
        with_memory_(with_memory),
        evaluations_left_(kTerms / static_cast<double>(work.us.size())) {
    double heaviest = 0;
    for (const double bytes : work.bytes) heaviest = std::max(heaviest, bytes);
    double largest_us = 0;
    for (const double us : work.us) {
      if (us < kCannotRun) largest_us = std::max(largest_us, us);
    }
    // Beyond this price of memory every class has left every kind it can leave.
    double lightest = heaviest;
    for (const double bytes : work.bytes) {
      if (bytes > 0) lightest = std::min(lightest, bytes);
    }
    highest_price_ = lightest > 0 ? largest_us / lightest : 0;
  }

  /// `point` is where it ends.
  double from(Multipliers& point) {
    double best = evaluate(point);
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      const double before = best;
      if (with_memory_) {
        for (KindId k = 0; k < work_.kinds; ++k)
          best = std::max(best, improve_price(point, k, best));
      }
      for (KindId a = 0; a < work_.kinds; ++a) {
        for (KindId b = 0; b < a; ++b) best = std::max(best, improve_weights(point, a, b, best));
      }
      if (best <= before * (1 + 1e-6) || evaluations_left_ <= 0) break;
    }
    return best;
  }

 private:
  static constexpr int kSweeps = 6;
  /// Bounds the climbs of one problem to about a tenth of a second, however many kinds there are.
  static constexpr double kTerms = 1e8;

  double evaluate(const Multipliers& point) {
    --evaluations_left_;
    return value(work_, point);
  }

  /// The price of memory of one kind, searched on a logarithmic scale: it spans decades.
  double improve_price(Multipliers& point, KindId kind, double best) {
    if (work_.memory[at(kind)] == kCannotRun || highest_price_ <= 0 || evaluations_left_ <= 0) {
      return best;
    }
    Multipliers trial = point;
    const auto price = [&](double x) { return highest_price_ * std::pow(10.0, -12 * (1 - x)); };
    const double x = argmax(0, 1, [&](double t) {
      trial.z[at(kind)] = price(t);
      return evaluate(trial);
    });
    trial.z[at(kind)] = price(x);
    return keep_if_better(point, trial, best);
  }

  /// How the weight of two kinds is divided between them.
  double improve_weights(Multipliers& point, KindId a, KindId b, double best) {
    if (evaluations_left_ <= 0) return best;
    const double together =
        point.y[at(a)] * work_.devices[at(a)] + point.y[at(b)] * work_.devices[at(b)];
    Multipliers trial = point;
    const auto divide = [&](double share) {
      trial.y[at(a)] = share * together / work_.devices[at(a)];
      trial.y[at(b)] = (1 - share) * together / work_.devices[at(b)];
    };
    const double share = argmax(0, 1, [&](double t) {
      divide(t);
      return evaluate(trial);
    });
    divide(share);
    return keep_if_better(point, trial, best);
  }

  double keep_if_better(Multipliers& point, const Multipliers& trial, double best) {
    const double us = evaluate(trial);
    if (us <= best) return best;
    point = trial;
    return us;
  }

  const Work& work_;
  bool with_memory_;
  double evaluations_left_;
  double highest_price_ = 0;
};

/// Climbs from even weights and from all weight on each kind: where the answer is that one kind is
/// the bottleneck, climbing from elsewhere may stop at a ridge.
Proof best_shares(const Work& work, bool with_memory) {
  constexpr KindId kMaxStarts = 4;
  const double devices = std::accumulate(work.devices.begin(), work.devices.end(), 0.0);
  Climb climb(work, with_memory);
  Proof best{0, with_memory ? "memory-forced spread" : "total work", {}, {}};
  const auto try_from = [&](Multipliers point) {
    const double us = climb.from(point);
    if (us < best.us || (us == best.us && best.us > 0)) return;
    best.us = us;
    best.end = WorkShares{std::move(point.y), std::move(point.z)};
  };
  Multipliers start{std::vector<double>(at(work.kinds), 1 / devices),
                    std::vector<double>(at(work.kinds), 0)};
  try_from(start);
  if (work.kinds == 1) return best;
  for (KindId kind = 0; kind < std::min(work.kinds, kMaxStarts); ++kind) {
    std::fill(start.y.begin(), start.y.end(), 0);
    start.y[at(kind)] = 1 / work.devices[at(kind)];
    try_from(start);
  }
  return best;
}

/// The least time of every class over all kinds.
std::vector<double> least_class_us(const Facts& facts) {
  std::vector<double> us;
  for (GroupId group = 0; group < facts.classes().count(); ++group) {
    double least = kCannotRun;
    for (KindId kind = 0; kind < facts.kind_count(); ++kind) {
      least = std::min(least, facts.class_us(group, kind));
    }
    us.push_back(least);
  }
  return us;
}

/// Co-located ops: a class runs one op after the other on its one device.
Proof largest_class(const Facts& facts) {
  const std::vector<double> us = least_class_us(facts);
  const double largest_us = us.empty() ? 0 : *std::max_element(us.begin(), us.end());
  return {kRounding * largest_us, "largest op or co-location class", {}, Crowd{0}};
}

/// One of n devices runs k + 1 of the k n + 1 largest classes, and no k + 1 of them take
/// less than the k + 1 smallest (k = 1: the two that follow the n - 1 largest).
Proof crowded_classes(const Facts& facts) {
  std::vector<double> us = least_class_us(facts);
  std::sort(us.begin(), us.end(), std::greater<>());
  std::vector<double> sum(us.size() + 1, 0);
  std::partial_sum(us.begin(), us.end(), sum.begin() + 1);
  const auto devices = at(facts.problem().cluster().device_count());
  double best_us = 0;
  Crowd best{1};
  for (std::size_t k = 1; k * devices < us.size(); ++k) {
    const double crowd_us = sum[k * devices + 1] - sum[k * devices - k];
    if (crowd_us > best_us) best = {static_cast<std::int64_t>(k)};
    best_us = std::max(best_us, crowd_us);
  }
  return {best_us - (1 - kRounding) * sum.back(),
          "largest classes, two or more on one device",
          {},
          best};
}

}  // namespace

std::vector<Proof> work_proofs(const Facts& facts) {
  std::vector<Proof> proofs{largest_class(facts)};
  if (Proof crowd = crowded_classes(facts); crowd.us > 0) proofs.push_back(std::move(crowd));
  const Work work = collect(facts);
  proofs.push_back(best_shares(work, /*with_memory=*/false));
  const bool short_of_memory =
      facts.counts_parameters() && work.kinds > 1 &&
      std::any_of(work.memory.begin(), work.memory.end(),
                  [&](double memory) { return memory < work.total_bytes; });
  if (short_of_memory) proofs.push_back(best_shares(work, /*with_memory=*/true));
  return proofs;
}

void add_work_bounds(const Facts& facts, std::vector<LowerBound>& bounds) {
  for (const Proof& proof : work_proofs(facts)) bounds.push_back({proof.us, proof.source});
}

}  // namespace berth::bounds
