#include "exact/search.h"

#include <algorithm>
#include <utility>

#include "berth/support/index.h"

namespace berth::policies::exact {
Search::Search(const ExactModel& model, Evaluator& evaluator, Bound& bound, Limits limits,
               std::function<void(const Incumbent&)> improved)
    : model_(model),
      evaluator_(evaluator),
      bound_(bound),
      limits_(std::move(limits)),
      improved_(std::move(improved)) {}

void Search::run(Incumbent& incumbent) {
  incumbent_ = &incumbent;
  Domains root = model_.all();
  const double root_us = bound_.tighten(root, limit_us());
  if (root_us < limit_us()) {
    refute(root_us);
    if (stop()) {
      open_us_ = root_us;
    } else {
      descend(root, root_us);
    }
  }
  bound_us_ = std::min(limit_us(), std::max(open_us_, refuted_us_));
}

void Search::refute(double low_us) {
  refuted_us_ = low_us;
  double high_us = limit_us();
  if (high_us == std::numeric_limits<double>::infinity()) return;
  // To within what counts as equal to the best known: relative to `high_us` it would never end
  // where no bound above 0 can be proven.
  const double close_us = kRounding * high_us;
  while (high_us - refuted_us_ > close_us && !stop()) {
    const double middle_us = refuted_us_ + (high_us - refuted_us_) / 2;
    Domains root = model_.all();
    ++nodes_;
    const bool none = bound_.tighten(root, middle_us) >= middle_us;
    (none ? refuted_us_ : high_us) = middle_us;
  }
}

void Search::descend(const Domains& domains, double bound_us) {
  const GroupId group = bound_.choose(domains);
  if (group == kNoGroup) {
    if (!evaluate_leaf(domains, bound_us)) open_us_ = std::min(open_us_, bound_us);
    return;
  }
  const std::vector<Child> rest = children(domains, group);
  for (const Child& child : rest) {
    if (child.bound_us >= limit_us()) return;  // and so are those after it
    if (stop()) {
      open_us_ = std::min(open_us_, child.bound_us);
      return;
    }
    descend(child.domains, child.bound_us);
  }
}

std::vector<Search::Child> Search::children(const Domains& domains, GroupId group) {
  std::vector<Child> all;
  for_each_device(domains[at(group)], [&](DeviceId device) {
    if (!apart(domains, group, device) || same_as_earlier(domains, device)) return;
    Child child{0, domains};
    child.domains[at(group)] = only(device);
    child.bound_us = bound_.tighten(child.domains, limit_us());
    ++nodes_;
    if (child.bound_us < limit_us()) all.push_back(std::move(child));
  });
  std::stable_sort(all.begin(), all.end(),
                   [](const Child& a, const Child& b) { return a.bound_us < b.bound_us; });
  return all;
}

bool Search::apart(const Domains& domains, GroupId group, DeviceId device) const {
  for (const Problem::Separation& separation : model_.problem().separations()) {
    const auto holds = [&](const std::vector<GroupId>& part) {
      return std::find(part.begin(), part.end(), group) != part.end();
    };
    if (std::none_of(separation.parts.begin(), separation.parts.end(), holds)) continue;
    for (const std::vector<GroupId>& part : separation.parts) {
      if (holds(part)) continue;
      const bool taken = std::any_of(part.begin(), part.end(), [&](GroupId other) {
        return domains[at(other)] == only(device);
      });
      if (taken) return false;
    }
  }
  return true;
}

bool Search::same_as_earlier(const Domains& domains, DeviceId device) const {
  for (DeviceId earlier = 0; earlier < device; ++earlier) {
    if (!model_.alike(earlier, device)) continue;
    const bool same = std::all_of(domains.begin(), domains.end(), [&](DeviceSet set) {
      return has(set, earlier) == has(set, device);
    });
    if (same) return true;
  }
  return false;
}

bool Search::evaluate_leaf(const Domains& domains, double bound_us) {
  GroupPlacement leaf;
  for (const DeviceSet set : domains) leaf.push_back(first_device(set));
  if (model_.problem().options().objective == Objective::throughput) {
    evaluate(leaf);
    return true;
  }
  std::vector<DeviceId> used(leaf.devices().begin(), leaf.devices().end());
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  std::vector<DeviceId> image;
  return evaluate_exchanges(used, image, leaf, bound_us);
}

/// `image[i]` takes the place of `used[i]`; completes it in all ways, of which none is below
/// `bound_us`. False where a limit ended that.
bool Search::evaluate_exchanges(const std::vector<DeviceId>& used, std::vector<DeviceId>& image,
                                const GroupPlacement& leaf, double bound_us) {
  if (image.size() == used.size()) {
    ++nodes_;  // there are factorially many
    GroupPlacement exchanged;
    for (const DeviceId device : leaf.devices()) {
      const auto found = std::lower_bound(used.begin(), used.end(), device);
      exchanged.push_back(image[static_cast<std::size_t>(found - used.begin())]);
    }
    evaluate(exchanged);
    return true;
  }
  for (DeviceId device = 0; device < model_.devices(); ++device) {
    if (!model_.alike(device, used[image.size()]) ||
        std::find(image.begin(), image.end(), device) != image.end()) {
      continue;
    }
    image.push_back(device);
    if (!evaluate_exchanges(used, image, leaf, bound_us)) return false;
    if (bound_us >= limit_us()) return true;  // so are the others
    if (stop()) return false;
    image.pop_back();
  }
  return true;
}

void Search::evaluate(const GroupPlacement& placement) {
  for (GroupId group = 0; group < model_.groups(); ++group) {
    if (!model_.problem().can_run(group, placement[group])) return;
  }
  const Evaluation evaluation = evaluator_.evaluate(model_.problem().groups().expand(placement));
  if (!evaluation.feasible || evaluation.objective_us >= incumbent_->us) return;
  *incumbent_ = {placement, evaluation.objective_us};
  if (improved_) improved_(*incumbent_);
}

bool Search::stop() {
  stopped_ = stopped_ || nodes_ >= limits_.nodes || (limits_.should_stop && limits_.should_stop());
  return stopped_;
}

}  // namespace berth::policies::exact
