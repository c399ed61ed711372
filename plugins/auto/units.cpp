#include "auto/units.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

#include "auto/contracted.h"
#include "berth/support/index.h"
#include "common/spread.h"

namespace berth::policies::auto_policy {

Units::Units(const Problem& problem, std::shared_ptr<const Groups> grain,
             std::span<const std::shared_ptr<const Groups>> coarser, const Structure& structure)
    : grain_(std::move(grain)) {
  find_able(problem);
  find_separated(problem);
  find_alike(problem, structure.colours);
  connect();
  for (const auto& groups : coarser) add_level(*groups);
  if (structure.layers) add_level(*structure.layers);
}

void Units::add_level(const Groups& groups) {
  std::vector<GroupId> of;
  for (UnitId unit = 0; unit < count(); ++unit) of.push_back(groups.of(ops(unit).front()));
  levels_.emplace_back(std::move(of));
}

std::vector<std::shared_ptr<const Groups>> grains(const Problem& problem,
                                                  const std::function<bool()>& enough) {
  constexpr GroupId kFactor = 4;
  std::vector<std::shared_ptr<const Groups>> all{problem.finest_groups()};
  const GroupId coarsest = 2 * problem.cluster().device_count();
  const bool contracts = problem.separations().empty();
  // Each grain is made of the one before, on a problem contracted to it.
  std::shared_ptr<const Problem> contracted;
  std::vector<OpId> op_of(at(problem.graph().op_count()));  // of the contracted problem
  std::iota(op_of.begin(), op_of.end(), 0);
  for (GroupId wanted = all.front()->count() / kFactor;
       wanted >= coarsest && wanted > 1 && !enough(); wanted /= kFactor) {
    const Problem& from = contracted ? *contracted : problem;
    const auto coarser = coarsen(from.graph(), from.costs(), wanted, from.constraints().get());
    if (coarser->count() >= all.back()->count()) break;
    std::vector<GroupId> group_of;
    for (const OpId op : op_of) group_of.push_back(coarser->of(op));
    all.push_back(std::make_shared<const Groups>(problem.graph(), std::move(group_of)));
    if (!contracts) continue;
    const Contracted next(from, *coarser);
    contracted = next.problem();
    for (OpId& op : op_of) op = next.part_of(op);
  }
  if (problem.groups().count() < all.front()->count()) all.push_back(problem.shared_groups());
  return all;
}

void Units::find_able(const Problem& problem) {
  std::map<std::vector<DeviceId>, std::int32_t> known;
  for (UnitId unit = 0; unit < count(); ++unit) {
    std::vector<DeviceId> able;
    for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
      const bool runs = std::all_of(ops(unit).begin(), ops(unit).end(), [&](OpId op) {
        return problem.cost_us(op, device) < kCannotRun;
      });
      if (runs) able.push_back(device);
    }
    if (able.size() > 1) movable_.push_back(unit);
    const auto [entry, added] = known.try_emplace(able, static_cast<std::int32_t>(able_.size()));
    if (added) able_.push_back(std::move(able));
    able_of_.push_back(entry->second);
  }
}

void Units::find_separated(const Problem& problem) {
  if (problem.separations().empty()) return;
  separated_.assign(at(problem.graph().op_count()), false);
  for (const Problem::Separation& separation : problem.separations()) {
    for (const std::vector<GroupId>& part : separation.parts) {
      for (const GroupId group : part) {
        for (const OpId op : problem.groups().members(group)) separated_[at(op)] = true;
      }
    }
  }
}

bool Units::can_run(UnitId unit, DeviceId device) const noexcept {
  const auto able = devices(unit);
  return std::binary_search(able.begin(), able.end(), device);
}

void Units::connect() {
  std::vector<UnitId> around;
  begin_.push_back(0);
  for (UnitId unit = 0; unit < count(); ++unit) {
    around.clear();
    for (const Groups::Edge& edge : grain_->in_edges(unit)) around.push_back(edge.src);
    for (const Groups::Edge& edge : grain_->out_edges(unit)) around.push_back(edge.dst);
    std::sort(around.begin(), around.end());
    around.erase(std::unique(around.begin(), around.end()), around.end());
    neighbours_.insert(neighbours_.end(), around.begin(), around.end());
    begin_.push_back(static_cast<std::uint32_t>(neighbours_.size()));
  }
}

void Units::find_alike(const Problem& problem, std::span<const Colours> colours) {
  if (colours.empty()) return;
  std::vector<OpId> longest;  // by unit
  for (UnitId unit = 0; unit < count(); ++unit) {
    longest.push_back(ops(unit).front());
    for (const OpId op : ops(unit)) {
      if (fastest_us(problem, op) > fastest_us(problem, longest.back())) longest.back() = op;
    }
  }
  for (const Colours& colour : colours) {
    std::unordered_map<std::uint64_t, GroupId> known;
    std::vector<GroupId> of;
    for (const OpId op : longest) {
      const auto next = static_cast<GroupId>(known.size());
      of.push_back(known.try_emplace(colour[at(op)], next).first->second);
    }
    // Units that are not alike are not so from further away either.
    if (static_cast<UnitId>(known.size()) == count()) break;
    alike_.emplace_back(std::move(of));
  }
}

Units::Level::Level(std::vector<GroupId> of) : of_(std::move(of)) {
  GroupId count = 0;
  for (const GroupId group : of_) count = std::max(count, group + 1);
  begin_.assign(at(count) + 1, 0);
  for (const GroupId group : of_) ++begin_[at(group) + 1];
  for (std::size_t g = 0; g + 1 < begin_.size(); ++g) begin_[g + 1] += begin_[g];
  members_.resize(of_.size());
  std::vector<std::uint32_t> next(begin_.begin(), begin_.end() - 1);
  for (std::size_t unit = 0; unit < of_.size(); ++unit) {
    members_[next[at(of_[unit])]++] = static_cast<UnitId>(unit);
  }
}

}  // namespace berth::policies::auto_policy
