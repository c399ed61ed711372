// berth.groups, berth.make_groups, berth.colocation, berth.coarsen: ops that are placed together.
#include "berth/groups.h"
#include "berth/support/text.h"
#include "call.h"
#include "objects.h"
#include "state.h"
#include "values.h"

namespace berth::lua {
namespace {

constexpr std::int64_t kMaxLabel = std::numeric_limits<std::int32_t>::max();

int make(Call& call) {
  const auto graph = call.argument(1, "graph").object<const Graph>();
  std::vector<GroupId> labels;
  for (const std::int64_t label : call.argument(2, "group_of").integers(0, kMaxLabel)) {
    labels.push_back(static_cast<GroupId>(label));
  }
  return call.made(std::make_shared<const Groups>(*graph, std::move(labels)));
}

int make_colocation(Call& call) {
  return call.made(colocation_groups(*call.argument(1, "graph").object<const Graph>()));
}

int make_coarse(Call& call) {
  const auto graph = call.argument(1, "graph").object<const Graph>();
  const auto costs = call.argument(2, "costs").object<const Costs>();
  const auto count = static_cast<GroupId>(call.argument(3, "count").integer(1, kMaxLabel));
  return call.made(coarsen(*graph, *costs, count));
}

int make_by_name(Call& call) {
  const auto graph = call.argument(1, "graph").object<const Graph>();
  const auto costs = call.argument(2, "costs").object<const Costs>();
  const Grouping grouping = grouping_from_name(call.argument(3, "grouping").text());
  std::optional<GroupId> count;
  if (const Value value = call.argument(4, "count"); value.present()) {
    count = static_cast<GroupId>(value.integer(1, kMaxLabel));
  }
  return call.made(make_groups(*graph, *costs, grouping, count));
}

int of(Call& call) {
  const auto groups = call.self<const Groups>();
  return call.id(
      groups->of(call.argument(1, "op").id(static_cast<std::int32_t>(groups->map().size()))));
}

GroupId group_of(const Call& call, const Groups& groups) {
  return call.argument(1, "group").id(groups.count());
}

int members(Call& call) {
  const auto groups = call.self<const Groups>();
  return call.value(groups->members(group_of(call, *groups)));
}

int push_edges(const Call& call, std::span<const Groups::Edge> edges) {
  reserve_stack(call.L, 4);
  push_records(call.L, edges, [&](const Groups::Edge& edge) {
    set_id(call.L, "src", edge.src);
    set_id(call.L, "dst", edge.dst);
    set_bytes(call.L, "bytes", edge.bytes);
    set_number(call.L, "tensors", edge.tensors);
  });
  return 1;
}

int in_edges(Call& call) {
  const auto groups = call.self<const Groups>();
  return push_edges(call, groups->in_edges(group_of(call, *groups)));
}

int out_edges(Call& call) {
  const auto groups = call.self<const Groups>();
  return push_edges(call, groups->out_edges(group_of(call, *groups)));
}

int expand(Call& call) {
  const auto groups = call.self<const Groups>();
  std::vector<DeviceId> device_of_group;
  call.argument(1, "device_of_group")
      .ids(groups->count(), std::numeric_limits<DeviceId>::max(), device_of_group);
  push_ids(call.L, groups->expand(GroupPlacement(std::move(device_of_group))));
  return 1;
}

constexpr Binding kFunctions[] = {{"berth.groups", &make},
                                  {"berth.make_groups", &make_by_name},
                                  {"berth.colocation", &make_colocation},
                                  {"berth.coarsen", &make_coarse}};
constexpr Binding kMethods[] = {
    {"groups:count", &getter<&Groups::count>},
    {"groups:acyclic", &getter<&Groups::acyclic>},
    {"groups:of", &of},
    {"groups:members", &members},
    {"groups:in_edges", &in_edges},
    {"groups:out_edges", &out_edges},
    {"groups:expand", &expand},
};

std::string describe(const void* object) {
  const Groups& groups = *static_cast<const Groups*>(object);
  return cat("(", groups.count(), " groups of ", groups.map().size(), " ops)");
}

}  // namespace

template <>
const Type& type_of<Groups>() {
  static constexpr Type type{"groups", kFunctions, kMethods, &describe};
  return type;
}

}  // namespace berth::lua
