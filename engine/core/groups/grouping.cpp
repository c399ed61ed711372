// The ways of grouping by their names.
#include <string_view>

#include "berth/error.h"
#include "berth/groups.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "groups/costs_check.h"
#include "support/enum_name.h"

namespace berth {
namespace {

constexpr std::string_view kNames[] = {"colocation", "icml2017", "placeto", "balanced"};
static_assert(ends_with(kNames, Grouping::balanced));

bool takes_count(Grouping grouping) {
  return grouping == Grouping::placeto || grouping == Grouping::balanced;
}

}  // namespace

Grouping grouping_from_name(std::string_view name) {
  return value_by_name<Grouping>("no grouping is called", name, kNames);
}

std::string_view grouping_name(Grouping grouping) noexcept {
  return name_of(kNames, grouping);
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
