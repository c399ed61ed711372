#include "exact/local_search.h"

#include <algorithm>
#include <tuple>

#include "berth/sdk/random.h"
#include "berth/support/index.h"

namespace berth::policies::exact {
namespace {

class LocalSearch {
 public:
  LocalSearch(const ExactModel& model, Evaluator& evaluator, const LocalLimits& limits,
              const PlaceContext& context)
      : model_(model),
        evaluator_(evaluator),
        left_(limits.evaluations),
        enough_us_(limits.enough_us),
        random_(context.seed),
        context_(context) {}

  Incumbent run() {
    for (const Placement& initial : context_.initial) {
      if (!over()) climb(by_group(initial));
    }
    for (DeviceId parts = 1; parts <= model_.devices() && !over(); ++parts) climb(cut(parts));
    while (!over() && model_.groups() > 1 && model_.devices() > 1) climb(shaken());
    return best_;
  }

 private:
  /// Feasible placements first, by objective; others by how far they are from it.
  struct Value {
    bool infeasible = false;
    std::int64_t excess_bytes = 0;
    double us = 0;
    bool operator<(const Value& other) const {
      return std::tie(infeasible, excess_bytes, us) <
             std::tie(other.infeasible, other.excess_bytes, other.us);
    }
  };

  [[nodiscard]] bool over() const {
    return left_ <= 0 || best_.us <= enough_us_ || context_.stopped();
  }

  [[nodiscard]] GroupPlacement by_group(const Placement& initial) const {
    GroupPlacement placement;
    for (GroupId group = 0; group < model_.groups(); ++group) {
      const OpId op = model_.problem().groups().members(group).front();
      const DeviceId device = initial[at(op)];
      const DeviceSet able = model_.all()[at(group)];
      placement.push_back(has(able, device) ? device : first_device(able));
    }
    return placement;
  }

  Value value(const GroupPlacement& placement) {
    --left_;
    const Evaluation evaluation = evaluator_.evaluate(model_.problem().groups().expand(placement));
    if (evaluation.feasible && evaluation.objective_us < best_.us) {
      best_ = {placement, evaluation.objective_us};
    }
    return {!evaluation.feasible, evaluation.excess_bytes, evaluation.objective_us};
  }

  /// Parts of about equal work on the fastest devices; what cannot run there goes elsewhere.
  GroupPlacement cut(DeviceId parts) const {
    std::vector<DeviceId> fastest;
    for (DeviceId device = 0; device < model_.devices(); ++device) fastest.push_back(device);
    std::stable_sort(fastest.begin(), fastest.end(),
                     [&](DeviceId a, DeviceId b) { return model_.speed(a) > model_.speed(b); });
    double total = 0;
    for (const GroupId group : model_.path_order()) total += work(group);
    GroupPlacement placement(model_.all().size(), 0);
    double before = 0;
    for (const GroupId group : model_.path_order()) {
      const double share = total > 0 ? before / total : 0;
      const auto part = std::min(parts - 1, static_cast<DeviceId>(share * parts));
      const DeviceId device = fastest[at(part)];
      const DeviceSet able = model_.all()[at(group)];
      placement[group] = has(able, device) ? device : first_device(able);
      before += work(group);
    }
    return placement;
  }

  [[nodiscard]] double work(GroupId group) const {
    double least = kCannotRun;
    for_each_device(model_.all()[at(group)], [&](DeviceId device) {
      least = std::min(least, model_.group_us(group, device));
    });
    return least;
  }

  /// The best so far with up to four groups moved at random.
  GroupPlacement shaken() {
    GroupPlacement placement = best_.placement.empty() ? cut(model_.devices()) : best_.placement;
    for (std::uint64_t i = 2 + random_.below(3); i > 0; --i) {
      const auto group = static_cast<GroupId>(random_.below(model_.all().size()));
      placement[group] = any_of(model_.all()[at(group)]);
    }
    return placement;
  }

  DeviceId any_of(DeviceSet set) {
    for (std::uint64_t skip = random_.below(static_cast<std::uint64_t>(std::popcount(set)));
         skip > 0; --skip) {
      set &= set - 1;
    }
    return first_device(set);
  }

  /// Moves each group in turn to the device where that helps most, until no move helps.
  void climb(GroupPlacement placement) {
    Value here = value(placement);
    bool better = true;
    while (better) {
      better = false;
      for (GroupId group = 0; group < model_.groups(); ++group) {
        const DeviceId from = placement[group];
        DeviceId best_device = from;
        for_each_device(model_.all()[at(group)], [&](DeviceId device) {
          if (device == from || over()) return;
          placement[group] = device;
          const Value there = value(placement);
          if (!(there < here)) return;
          here = there;
          best_device = device;
          better = true;
        });
        placement[group] = best_device;
        if (over()) return;
      }
    }
  }

  const ExactModel& model_;
  Evaluator& evaluator_;
  std::int64_t left_;
  double enough_us_;
  Random random_;
  const PlaceContext& context_;
  Incumbent best_;
};

}  // namespace

Incumbent local_search(const ExactModel& model, Evaluator& evaluator, const LocalLimits& limits,
                       const PlaceContext& context) {
  return LocalSearch(model, evaluator, limits, context).run();
}

}  // namespace berth::policies::exact
