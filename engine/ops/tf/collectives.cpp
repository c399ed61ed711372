// Ops by which replicas of a training step exchange tensors.
#include "ops/tf/rules.h"

namespace berth::ops::tf {
namespace {

/// input, group size, ...: the pieces of all members, one behind the other.
void gather(OpContext& op, Number members, bool scatters) {
  if (!op.in(0).ranked || op.in(0).dims.empty()) return;
  Dims dims = op.in(0).dims;
  dims[0] = scatters ? divide_dims(dims[0], members) : multiply_dims(dims[0], members);
  op.set(0, std::move(dims));
}
void gather_by_input(OpContext& op) {
  gather(op, size_or_unknown(op.in(1)), /*scatters=*/false);
}
void reduce_and_scatter(OpContext& op) {
  gather(op, size_or_unknown(op.in(1)), /*scatters=*/true);
}
/// group size, group key, instance key, shape.
void received(OpContext& op) {
  op.copy_shape(0, shape_of_content(op.in(3)));
}

// One addition for each element; how long the exchange takes is for the links to say, and the graph
// does not show the other members.
constexpr WorkRule kReduction = copies(1);
constexpr WorkRule kExchange = copies();

constexpr Row kOps[] = {
    {"CollectiveAllToAllV2", "data:T", rule::like_first, kExchange},
    {"CollectiveAllToAllV3", "data:T", rule::like_first, kExchange},
    {"CollectiveAssignGroupV2", "group_size:=int32 group_key:=int32", rule::scalars, kControl},
    {"CollectiveBcastRecv", "data:T", rule::shape_attribute, kExchange},
    {"CollectiveBcastRecvV2", "data:T", received, kExchange},
    {"CollectiveBcastSend", "data:T", rule::like_first, kExchange},
    {"CollectiveBcastSendV2", "data:T", rule::like_first, kExchange},
    {"CollectiveGather", "data:T", rule::shape_attribute, kExchange},
    {"CollectiveGatherV2", "data:T", gather_by_input, kExchange},
    {"CollectiveInitializeCommunicator", "communicator:=resource", rule::scalars, kHandle},
    {"CollectiveReduce", "data:T", rule::like_first, kReduction},
    {"CollectiveReduceScatterV2", "data:T", reduce_and_scatter, kReduction},
    {"CollectiveReduceV2", "data:T", rule::like_first, kReduction},
    {"CollectiveReduceV3", "data:T", rule::like_first, kReduction},
    {"NcclAllReduce", "data:T", rule::like_first, kReduction},
    {"NcclBroadcast", "output:T", rule::like_first, kExchange},
    {"NcclReduce", "data:T", rule::like_first, kReduction},
};

}  // namespace

std::span<const Row> collective_ops() {
  return kOps;
}

}  // namespace berth::ops::tf
