#include "host/problem_arrays.h"

#include "berth/cluster.h"
#include "berth/groups.h"

namespace berth {

ProblemArrays::ProblemArrays(const Problem& problem) {
  const Groups& groups = problem.groups();
  const DeviceId devices = problem.cluster().device_count();
  for (GroupId group = 0; group < groups.count(); ++group) {
    for (DeviceId device = 0; device < devices; ++device) {
      cost_us.push_back(problem.group_cost_us(group, device));
    }
    param_bytes.push_back(problem.group_param_bytes(group));
    for (const Groups::Edge& edge : groups.out_edges(group)) {
      edge_src.push_back(edge.src);
      edge_dst.push_back(edge.dst);
      edge_bytes.push_back(edge.bytes);
    }
  }
  for (DeviceId device = 0; device < devices; ++device) {
    memory_bytes.push_back(problem.memory_bytes(device));
  }
}

}  // namespace berth
