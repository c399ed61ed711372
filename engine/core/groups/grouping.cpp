// The ways of grouping by their names.
#include <array>
#include <utility>

#include "berth/error.h"
#include "berth/groups.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "groups/costs_check.h"

namespace berth {
namespace {

constexpr std::array<std::pair<Grouping, std::string_view>, 4> kNames = {{
    {Grouping::colocation, "colocation"},
    {Grouping::icml2017, "icml2017"},
    {Grouping::placeto, "placeto"},
    {Grouping::balanced, "balanced"},
}};

bool takes_count(Grouping grouping) {
  return grouping == Grouping::placeto || grouping == Grouping::balanced;
}

}  // namespace

Grouping grouping_from_name(std::string_view name) {
  std::vector<std::string> known;
  for (const auto& [grouping, its_name] : kNames) {
    if (its_name == name) return grouping;
    known.emplace_back(its_name);
  }
  throw Error(ErrorCode::invalid_argument,
              cat("no grouping is called '", name, "'", known_names(name, std::move(known))));
}

std::string_view grouping_name(Grouping grouping) noexcept {
  for (const auto& [known, name] : kNames) {
    if (known == grouping) return name;
  }
  return "unknown";
}

std::shared_ptr<const Groups> make_groups(const Graph& graph, const Costs& costs,
                                          std::optional<Grouping> grouping,
                                          std::optional<GroupId> count) {
  const Grouping chosen = grouping.value_or(count ? Grouping::balanced : Grouping::colocation);
  if (takes_count(chosen) && !count) {
    throw Error(ErrorCode::invalid_argument,
                cat("the grouping '", grouping_name(chosen),
                    "' merges until a number of groups is left; say how many (groups = 128)"));
  }
  if (!takes_count(chosen) && count) {
    throw Error(ErrorCode::invalid_argument,
                cat("the grouping '", grouping_name(chosen),
                    "' finds the number of groups itself; leave out groups = ", *count,
                    ", or take 'placeto' or 'balanced', which merge further"));
  }
  switch (chosen) {
    case Grouping::colocation:
      return colocation_groups(graph);
    case Grouping::icml2017:
      return icml2017_groups(graph, costs);
    case Grouping::placeto:
      return placeto_groups(graph, costs, *count);
    case Grouping::balanced:
      break;
  }
  return coarsen(graph, costs, *count);
}

namespace groups {

void require_costs_of(const Graph& graph, const Costs& costs) {
  if (costs.kind_count() > 0 && costs.of_kind(0).size() == at(graph.op_count())) {
    return;
  }
  throw Error(ErrorCode::invalid_argument,
              cat("the costs (", costs.source(), ") are not for graph '", graph.name(),
                  "'; make them from it"));
}

}  // namespace groups
}  // namespace berth
