// The best way to give each device one run of whole layers: what a person would set up by hand, by trying
// where the cuts go.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "berth/error.h"
#include "berth/plugin.h"
#include "berth/sdk/repair.h"
#include "berth/simplicity.h"
#include "berth/support/index.h"
#include "common/spread.h"
#include "stages/chain.h"
#include "stages/exchanges.h"

namespace berth::policies::stages {
namespace {

/// Orders of the devices that are all tried; of more, those by speed and the machine's.
constexpr std::size_t kMostOrders = 24;
/// Ways to cut that are all tried, and evaluations between two looks at the clock.
constexpr std::size_t kMostCuts = 400;
constexpr std::size_t kBatch = 16;
/// How far a cut is moved at once, at first.
constexpr int kFirstStep = 8;

/// Plans with one order of devices, and what each is worth.
class Search {
 public:
  /// `hosts_end`: units that hosts have at least, where they come first. `alone`: plans with ops outside of
  /// their runs are worse than all others.
  Search(const Chain& chain, Evaluator& evaluator, const PlaceContext& context, int hosts_end,
         bool alone)
      : chain_(chain),
        evaluator_(evaluator),
        context_(context),
        hosts_end_(hosts_end),
        alone_(alone) {}

  struct Entry {
    Plan plan;
    Evaluation evaluation;
  };
  [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }

  void try_order(const std::vector<DeviceId>& devices) {
    known_.clear();
    std::vector<Plan> all = every_cut(devices);
    if (!all.empty() && !chain_.has_experts()) {
      for (Plan& plan : all) keep_on_hosts(plan);
      static_cast<void>(evaluate(all));
      return;
    }
    for (Plan& start : starts(devices)) {
      keep_on_hosts(start);
      static_cast<void>(evaluate({start}));
      descend(index_of(start));
      if (context_.stopped()) return;
    }
  }

  /// The entry with cuts moved to where the fullest devices have more room, as long as it is as fast and as
  /// simple. The search itself looks no further along plans that are equally fast.
  [[nodiscard]] Entry evened_out(Entry entry) {
    const Problem& problem = evaluator_.problem();
    const std::vector<Plan> all = every_cut(entry.plan.devices);
    if (!entry.evaluation.feasible || (!all.empty() && !chain_.has_experts())) return entry;
    known_.clear();
    const Simplicity simplicity = simplicity_of(problem.graph(), chain_.placement(entry.plan));
    const Evaluation first = entry.evaluation;
    Fullness least = fullness_of(problem, first);
    for (int step = std::max(kFirstStep, chain_.count() / 8); step >= 1;) {
      const std::vector<Plan> near = neighbours(entry.plan, step);
      if (!evaluate(near)) return entry;
      bool found = false;
      for (const Plan& plan : near) {
        const Entry& other = entries_[index_of(plan)];
        if (!other.evaluation.feasible || !alike_in_time(other.evaluation, first)) continue;
        if (simplicity_of(problem.graph(), chain_.placement(plan)) != simplicity) continue;
        Fullness its = fullness_of(problem, other.evaluation);
        if (!(its < least)) continue;
        least = std::move(its);
        entry = other;
        found = true;
      }
      if (!found) step /= 2;
    }
    return entry;
  }

 private:
  using Key = std::pair<std::vector<int>, std::vector<int>>;
  static Key key_of(const Plan& plan) { return {plan.ends, plan.hosted}; }

  /// The last of the hosts in front gets the units that they lack.
  void keep_on_hosts(Plan& plan) const {
    const Cluster& cluster = evaluator_.problem().cluster();
    std::size_t hosts = 0;
    while (hosts < plan.devices.size() && cluster.device(plan.devices[hosts]).host) ++hosts;
    for (std::size_t i = hosts == 0 ? plan.ends.size() : hosts - 1; i < plan.ends.size(); ++i) {
      plan.ends[i] = std::max(plan.ends[i], hosts_end_);
    }
  }

  [[nodiscard]] std::size_t index_of(const Plan& plan) const { return known_.at(key_of(plan)); }

  /// All plans, where there are few.
  [[nodiscard]] std::vector<Plan> every_cut(const std::vector<DeviceId>& devices) const {
    std::vector<Plan> plans;
    if (devices.size() > 3) return plans;
    const int count = chain_.count();
    const std::vector<int> none(devices.size(), 0);
    if (devices.size() == 1) return {{devices, {count}, none}};
    if (devices.size() == 2 && at(count) < kMostCuts) {
      // The first of plans that are alike is taken: that with the first devices.
      for (int cut = count; cut >= 0; --cut) plans.push_back({devices, {cut, count}, none});
    }
    if (devices.size() == 3 && at(count) * at(count) / 2 < kMostCuts) {
      for (int first = count; first >= 0; --first) {
        for (int second = count; second >= first; --second) {
          plans.push_back({devices, {first, second, count}, none});
        }
      }
    }
    return plans;
  }

  /// Filled, and shared out by memory or by speed.
  [[nodiscard]] std::vector<Plan> starts(const std::vector<DeviceId>& devices) {
    const Problem& problem = evaluator_.problem();
    std::vector<std::int64_t> room;
    for (const DeviceId device : devices) room.push_back(problem.memory_bytes(device));
    std::vector<Plan> plans{filled_to_fit(chain_, devices, room, evaluator_, context_)};
    std::vector<double> by_memory, by_speed;
    std::int64_t most = 1;
    for (const std::int64_t bytes : room) most = std::max(most, bytes);
    for (std::size_t i = 0; i < devices.size(); ++i) {
      by_memory.push_back(static_cast<double>(room[i] == kNoLimit ? most : room[i]));
      double us = 0;
      for (OpId op = 0; op < problem.graph().op_count(); ++op) {
        const double each = problem.cost_us(op, devices[i]);
        us += each < kCannotRun ? each : 0;
      }
      by_speed.push_back(us > 0 ? 1 / us : 0);
    }
    plans.push_back(shared_out(devices, by_memory));
    plans.push_back(shared_out(devices, by_speed));
    if (!chain_.has_experts()) return plans;
    // The same with all experts on the host, from where some come back.
    plans.push_back(filled_to_fit(chain_, devices, room, evaluator_, context_, /*hosted=*/true));
    for (std::size_t i = 1; i < 3; ++i) {
      Plan hosted = plans[i];
      for (std::size_t j = 0; j < devices.size(); ++j) {
        hosted.hosted[j] = hosted.ends[j] - (j == 0 ? 0 : hosted.ends[j - 1]);
      }
      plans.push_back(std::move(hosted));
    }
    return plans;
  }

  [[nodiscard]] Plan shared_out(const std::vector<DeviceId>& devices,
                                const std::vector<double>& share) const {
    double all = 0;
    for (const double each : share) all += each;
    Plan plan{devices, {}, std::vector<int>(devices.size(), 0)};
    double up_to = 0;
    for (const double each : share) {
      // A device of a tiny cost may have a share beyond all numbers.
      up_to +=
          all > 0 ? (std::isfinite(all) ? each / all : 1.0 / static_cast<double>(share.size())) : 1;
      plan.ends.push_back(std::min(chain_.count(), static_cast<int>(up_to * chain_.count() + 0.5)));
    }
    plan.ends.back() = chain_.count();
    return plan;
  }

  /// Evaluates those that are new; false where the time is up.
  bool evaluate(const std::vector<Plan>& plans) {
    std::vector<Plan> fresh;
    std::map<Key, bool> seen;
    for (const Plan& plan : plans) {
      const Key key = key_of(plan);
      if (!known_.contains(key) && seen.emplace(key, true).second) fresh.push_back(plan);
    }
    for (std::size_t begin = 0; begin < fresh.size(); begin += kBatch) {
      if (begin > 0 && context_.stopped()) return false;
      const std::size_t count = std::min(kBatch, fresh.size() - begin);
      std::vector<Placement> placements;
      for (std::size_t i = 0; i < count; ++i) {
        placements.push_back(chain_.placement(fresh[begin + i]));
      }
      std::vector<Evaluation> evaluations(count);
      evaluator_.evaluate(placements, evaluations);
      for (std::size_t i = 0; i < count; ++i) {
        if (alone_) put_last(fresh[begin + i], evaluations[i]);
        known_.emplace(key_of(fresh[begin + i]), entries_.size());
        entries_.push_back({std::move(fresh[begin + i]), std::move(evaluations[i])});
      }
    }
    return !context_.stopped();
  }

  /// A plan with ops outside of their runs is as one that exceeds all memory, the more the more of them.
  void put_last(const Plan& plan, Evaluation& evaluation) const {
    const std::size_t outside = chain_.displaced(plan).size();
    if (outside == 0) return;
    evaluation.feasible = false;
    evaluation.excess_bytes =
        kNoLimit - evaluator_.problem().graph().op_count() + static_cast<std::int64_t>(outside);
  }

  /// Moves cuts, and experts to and from the host, while that gains something.
  void descend(std::size_t from) {
    for (int step = std::max(kFirstStep, chain_.count() / 8); step >= 1;) {
      const std::vector<Plan> near = neighbours(entries_[from].plan, step);
      if (!evaluate(near)) return;
      std::size_t best = from;
      for (const Plan& plan : near) {
        const std::size_t index = index_of(plan);
        if (better(entries_[index].evaluation, entries_[best].evaluation)) best = index;
      }
      if (best == from) {
        step /= 2;
      } else {
        from = best;
      }
    }
  }

  [[nodiscard]] std::vector<Plan> neighbours(const Plan& plan, int step) const {
    std::vector<Plan> plans;
    const std::size_t count = plan.devices.size();
    for (const int by : {-step, step}) {
      for (std::size_t i = 0; i + 1 < count; ++i) {
        // One cut; and all from it on, which keeps the runs behind it as long as they are.
        for (const bool all : {false, true}) {
          Plan moved = plan;
          for (std::size_t j = i; j + 1 < count; ++j) {
            if (j == i || all) moved.ends[j] = std::clamp(moved.ends[j] + by, 0, chain_.count());
          }
          for (std::size_t j = 0; j < i; ++j)
            moved.ends[j] = std::min(moved.ends[j], moved.ends[i]);
          for (std::size_t j = i + 1; j < count; ++j) {
            moved.ends[j] = std::max(moved.ends[j], moved.ends[j - 1]);
          }
          add(std::move(moved), plans);
          if (i + 2 == count) break;  // the last cut has none behind it
        }
      }
      if (!chain_.has_experts()) continue;
      for (std::size_t i = 0; i < count; ++i) {
        Plan moved = plan;
        moved.hosted[i] += by;
        add(std::move(moved), plans);
      }
    }
    return plans;
  }

  void add(Plan plan, std::vector<Plan>& plans) const {
    keep_on_hosts(plan);
    for (std::size_t i = 0; i < plan.ends.size(); ++i) {
      const int begin = i == 0 ? 0 : plan.ends[i - 1];
      plan.hosted[i] = std::clamp(plan.hosted[i], 0, plan.ends[i] - begin);
    }
    plans.push_back(std::move(plan));
  }

  const Chain& chain_;
  Evaluator& evaluator_;
  const PlaceContext& context_;
  const int hosts_end_;
  const bool alone_;
  std::vector<Entry> entries_;
  std::map<Key, std::size_t> known_;  // of the present order of devices: indices into entries_
};

class StagesPolicy final : public Policy {
 public:
  explicit StagesPolicy(const Options& options)
      : order_(options.text("order")),
        hosts_(options.text("hosts")),
        within_(options.real("within")),
        answering_(options) {}

  [[nodiscard]] bool takes_starts() const override { return false; }
  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override {
    const Problem& problem = evaluator.problem();
    const Chain chain(problem);
    std::vector<std::vector<DeviceId>> all = orders(problem, chain);
    const int hosts_end = hosts_ == "first" ? chain.hosts_end() : 0;
    const auto with_hosts = [&](const std::vector<DeviceId>& devices) {
      return !devices.empty() && problem.cluster().device(devices.front()).host;
    };
    if (hosts_end > 0 && std::any_of(all.begin(), all.end(), with_hosts)) {
      std::erase_if(all, [&](const auto& devices) { return !with_hosts(devices); });
    }
    Search search(chain, evaluator, context, hosts_end, answering_.alone);
    for (const std::vector<DeviceId>& devices : all) {
      search.try_order(devices);
      if (context.stopped()) break;
    }
    Search::Entry entry = chosen(problem, chain, search.entries());
    if (within_ > 0) entry = search.evened_out(std::move(entry));
    return answer_of(chain, entry.plan, evaluator, answering_, context);
  }

 private:
  /// The orders of devices to try, without and with the hosts where those may take a part.
  [[nodiscard]] std::vector<std::vector<DeviceId>> orders(const Problem& problem,
                                                          const Chain& chain) const {
    std::vector<DeviceId> devices = spread_devices(problem, /*hosts=*/false);
    std::vector<std::vector<DeviceId>> all;
    if (order_ == "machine") {
      all.push_back(devices);
    } else {
      all = permutations(problem, devices);
      if (all.empty()) {
        std::vector<DeviceId> by_speed;
        for (const DeviceId device : chain.by_speed()) {
          if (std::find(devices.begin(), devices.end(), device) != devices.end()) {
            by_speed.push_back(device);
          }
        }
        all = {devices};  // alone, where none of them runs anything
        if (!by_speed.empty()) {
          all = {by_speed, devices, {by_speed.rbegin(), by_speed.rend()}};
        }
      }
    }
    const std::vector<DeviceId> hosts = hosts_beside(problem, devices);
    if (hosts_ == "none" || hosts.empty()) return all;
    const std::size_t without = all.size();
    for (std::size_t i = 0; i < without; ++i) {
      if (hosts_ == "first" || hosts_ == "any") {
        std::vector<DeviceId> with = hosts;
        with.insert(with.end(), all[i].begin(), all[i].end());
        all.push_back(std::move(with));
      }
      if (hosts_ == "last" || hosts_ == "any") {
        std::vector<DeviceId> with = all[i];
        with.insert(with.end(), hosts.begin(), hosts.end());
        all.push_back(std::move(with));
      }
    }
    return all;
  }

  /// Hosts that are not among the devices.
  static std::vector<DeviceId> hosts_beside(const Problem& problem,
                                            const std::vector<DeviceId>& devices) {
    std::vector<DeviceId> hosts;
    for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
      const bool among = std::find(devices.begin(), devices.end(), device) != devices.end();
      if (problem.cluster().device(device).host && !among) hosts.push_back(device);
    }
    return hosts;
  }

  /// All orders but for those of devices that are alike; none where there are too many.
  static std::vector<std::vector<DeviceId>> permutations(const Problem& problem,
                                                         const std::vector<DeviceId>& devices) {
    const Exchanges exchanges(problem);
    std::vector<std::pair<std::int32_t, DeviceId>> sorts;
    std::vector<DeviceId> first_of_sort;
    for (const DeviceId device : devices) {
      const auto same =
          std::find_if(first_of_sort.begin(), first_of_sort.end(),
                       [&](DeviceId first) { return exchanges.change_nothing(first, device); });
      sorts.emplace_back(static_cast<std::int32_t>(same - first_of_sort.begin()), device);
      if (same == first_of_sort.end()) first_of_sort.push_back(device);
    }
    std::vector<std::int32_t> order;
    for (const auto& [sort, device] : sorts) order.push_back(sort);
    std::sort(order.begin(), order.end());
    std::vector<std::vector<DeviceId>> all;
    do {
      if (all.size() == kMostOrders) return {};
      std::vector<bool> used(devices.size(), false);
      std::vector<DeviceId> permuted;
      for (const std::int32_t sort : order) {
        for (std::size_t i = 0; i < sorts.size(); ++i) {
          if (used[i] || sorts[i].first != sort) continue;
          used[i] = true;
          permuted.push_back(sorts[i].second);
          break;
        }
      }
      all.push_back(std::move(permuted));
    } while (std::next_permutation(order.begin(), order.end()));
    return all;
  }

  /// The simplest of those within reach of the best; of such alike in time, the one that leaves the fullest
  /// device most room.
  [[nodiscard]] Search::Entry chosen(const Problem& problem, const Chain& chain,
                                     const std::vector<Search::Entry>& entries) const {
    const auto best = std::min_element(entries.begin(), entries.end(), [](auto& a, auto& b) {
      return better(a.evaluation, b.evaluation);
    });
    if (!best->evaluation.feasible || within_ == 0) return *best;
    const double limit_us = best->evaluation.objective_us * (1 + within_);
    std::vector<const Search::Entry*> simplest;  // several are alike
    Simplicity least;
    for (const Search::Entry& entry : entries) {
      if (!entry.evaluation.feasible || entry.evaluation.objective_us > limit_us) continue;
      const Simplicity its = simplicity_of(problem.graph(), chain.placement(entry.plan));
      if (simplest.empty() || its < least) {
        simplest.clear();
        least = its;
      }
      if (its == least) simplest.push_back(&entry);
    }
    const Search::Entry* const fastest = *std::min_element(
        simplest.begin(), simplest.end(),
        [](const auto* a, const auto* b) { return better(a->evaluation, b->evaluation); });
    const Search::Entry* evenest = fastest;
    for (const Search::Entry* const entry : simplest) {
      if (!alike_in_time(entry->evaluation, fastest->evaluation)) continue;
      const Fullness its = fullness_of(problem, entry->evaluation);
      if (its < fullness_of(problem, evenest->evaluation)) evenest = entry;
    }
    return *evenest;
  }

  std::string order_;
  std::string hosts_;
  double within_;
  Answering answering_;
};

constexpr OptionSpec kOptions[] = {
    {"order",
     OptionType::text,
     "any",
     "in which order devices may have their runs: any, or the machine's alone, as tools with "
     "stages have it",
     {},
     "any,machine"},
    {"hosts",
     OptionType::text,
     "last",
     "whether a host may have a run too, and where: none, first, last or any",
     {},
     "none,first,last,any"},
    {"within", OptionType::real, "0",
     "take the plan with the fewest cuts, then transfers, then devices, of those at most this "
     "share "
     "slower than the best; of plans alike in that and in time, the one that leaves the fullest "
     "device "
     "the most room",
     OptionRange::at_least(0)},
    kAloneOption,
    kRepairOption};

}  // namespace

BERTH_PLUGIN(StagesPolicy, "stages", "1.0",
             "one run of whole layers per device, with the best cuts", kOptions);

}  // namespace berth::policies::stages
