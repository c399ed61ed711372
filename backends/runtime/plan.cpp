#include "runtime/plan.h"

#include <algorithm>
#include <cassert>
#include <tuple>

#include "berth/support/index.h"
#include "runtime/stored.h"

namespace berth::runtime {
namespace {

class PlanMaker {
 public:
  PlanMaker(const Program& program, const Placement& placement, DeviceId device_count,
            std::span<const double> priorities_us, std::span<const TensorId> overwritten)
      : program_(program),
        graph_(*program.graph),
        devices_(at(device_count)),
        priorities_us_(priorities_us),
        overwritten_(overwritten) {
    plan_.device_of = placement;
  }

  Plan make() {
    number_ops();
    number_home_slots();
    find_messages();
    number_messages();
    for (const OpId op : plan_.op) write(op);
    std::sort(resident_.begin(), resident_.end());
    resident_.erase(std::unique(resident_.begin(), resident_.end()), resident_.end());
    for (const auto& [on, parameter] : resident_) plan_.parameters.push_back({parameter, on});
    assert(plan_.consistent());
    return std::move(plan_);
  }

 private:
  using Message = Plan::Message;

  DeviceId device(OpId op) const { return plan_.device_of[at(op)]; }
  double priority(OpId op) const { return priorities_us_[at(op)]; }
  std::uint32_t index(OpId op) const { return plan_.index[at(op)]; }

  void number_ops() {
    const auto ops = at(graph_.op_count());
    plan_.index.resize(ops);
    plan_.first_op.assign(devices_ + 1, 0);
    for (OpId op = 0; op < graph_.op_count(); ++op) {
      if (!graph_.is_constant(op)) ++plan_.first_op[at(device(op)) + 1];
    }
    for (std::size_t d = 0; d < devices_; ++d) plan_.first_op[d + 1] += plan_.first_op[d];
    std::vector<std::uint32_t> next(plan_.first_op.begin(), plan_.first_op.end() - 1);
    plan_.op.resize(plan_.first_op.back());
    plan_.priority_us.resize(plan_.op.size());
    // Topological order within a device: ops that run after one another lie near one another.
    for (const OpId op : graph_.topological_order()) {
      if (graph_.is_constant(op)) continue;
      const std::uint32_t i = next[at(device(op))]++;
      plan_.index[at(op)] = i;
      plan_.op[i] = op;
      plan_.priority_us[i] = priority(op);
    }
    plan_.pending.assign(plan_.op.size(), 0);
    plan_.incoming.assign(devices_, 0);
  }

  std::uint32_t add_slot() {
    plan_.holders.push_back(0);
    return static_cast<std::uint32_t>(plan_.holders.size()) - 1;
  }

  void number_home_slots() {
    plan_.home_slot.assign(at(graph_.tensor_count()), kNone);
    for (const OpId op : plan_.op) {
      for (const TensorId tensor : graph_.outputs(op)) {
        plan_.home_slot[at(tensor)] = add_slot();
      }
    }
  }

  /// The op's out edges, tensor by tensor in port order, control edges last, the most urgent
  /// consumer first: the order in which the end of an op releases, queues and signals.
  std::vector<Edge> ordered_edges(OpId op) const {
    const auto outputs = graph_.outputs(op);
    const auto port = [&](const Edge& edge) {
      return std::find(outputs.begin(), outputs.end(), edge.tensor) - outputs.begin();
    };
    const auto span = graph_.out_edges(op);
    std::vector<Edge> edges(span.begin(), span.end());
    std::stable_sort(edges.begin(), edges.end(), [&](const Edge& a, const Edge& b) {
      return std::tuple(port(a), -priority(a.dst), a.dst) <
             std::tuple(port(b), -priority(b.dst), b.dst);
    });
    return edges;
  }

  void find_messages() {
    struct Found {
      Message message;
      std::vector<std::uint32_t> released;
    };
    std::vector<Found> found;
    std::vector<std::uint32_t> last_release(plan_.op_count(), kNone);  // by op index
    Rows<std::uint32_t> sent;
    for (std::uint32_t i = 0; i < plan_.op_count(); ++i) {
      const std::size_t first = found.size();
      for (const Edge& edge : ordered_edges(plan_.op[i])) {
        const std::uint32_t consumer = index(edge.dst);
        if (device(edge.dst) == device(edge.src)) {
          if (last_release[consumer] == i) continue;
          last_release[consumer] = i;
          plan_.released.push_back(consumer);
          ++plan_.pending[consumer];
          continue;
        }
        const auto same = std::find_if(
            found.begin() + static_cast<std::ptrdiff_t>(first), found.end(), [&](const Found& one) {
              return one.message.tensor == edge.tensor && one.message.dst == device(edge.dst);
            });
        if (same == found.end()) {
          found.push_back(
              {{edge.tensor, i, device(edge.src), device(edge.dst), kNone, kNone}, {consumer}});
        } else {
          same->released.push_back(consumer);
        }
        ++plan_.pending[consumer];
      }
      plan_.released.end_row();
      for (std::size_t m = first; m < found.size(); ++m) {
        sent.push_back(static_cast<std::uint32_t>(m));
      }
      sent.end_row();
    }
    plan_.sent = std::move(sent);
    for (Found& one : found) {
      plan_.messages.push_back(one.message);
      for (const std::uint32_t op : one.released) plan_.released_on_arrival.push_back(op);
      plan_.released_on_arrival.end_row();
    }
  }

  /// Slots for what arrives, those of one receiver in a row.
  void number_messages() {
    copies_.resize(devices_);
    for (std::size_t d = 0; d < devices_; ++d) {
      for (Message& message : plan_.messages) {
        if (at(message.dst) != d) continue;
        ++plan_.incoming[d];
        if (message.tensor == kNoTensor) continue;
        message.src_slot = plan_.home_slot[at(message.tensor)];
        message.dst_slot = add_slot();
        ++plan_.holders[message.src_slot];
        copies_[d].emplace_back(message.tensor, message.dst_slot);
      }
      std::sort(copies_[d].begin(), copies_[d].end());
      for (std::uint32_t i = plan_.first_op[d]; i < plan_.first_op[d + 1]; ++i) read(i);
    }
  }

  Plan::Source source(TensorId tensor, DeviceId on) {
    if (tensor == kNoTensor) return {};
    const OpId producer = graph_.producer(tensor);
    if (producer == kNoOp) {
      if (is_stored(graph_, tensor)) return {};
      const auto kept = graph_.kept_for(tensor);
      return {kNone, kept.empty() ? tensor : kept.front()};
    }
    if (device(producer) == on) return {plan_.home_slot[at(tensor)]};
    const auto& copies = copies_[at(on)];
    return {std::lower_bound(copies.begin(), copies.end(), std::pair(tensor, 0U))->second};
  }

  void read(std::uint32_t i) {
    const OpId op = plan_.op[i];
    const auto inputs = graph_.inputs(op);
    const TensorId overwritten = overwritten_.empty() ? kNoTensor : overwritten_[at(op)];
    const auto found = std::find(inputs.begin(), inputs.end(), overwritten) - inputs.begin();
    plan_.overwritten.push_back(overwritten == kNoTensor ? kNone
                                                         : static_cast<std::uint32_t>(found));
    for (const TensorId tensor : inputs) {
      const Plan::Source from = source(tensor, device(op));
      plan_.inputs.push_back(from);
      if (from.parameter != kNoTensor) {
        resident_.emplace_back(device(op), from.parameter);
      } else if (from.slot != kNone && !std::ranges::count(plan_.held.open_row(), from.slot)) {
        plan_.held.push_back(from.slot);
        ++plan_.holders[from.slot];
      }
    }
    for (const TensorId parameter : stored_parameters(graph_, op)) {
      plan_.inputs.push_back({kNone, parameter});
      resident_.emplace_back(device(op), parameter);
    }
    plan_.inputs.end_row();
    plan_.held.end_row();
  }

  void write(OpId op) {
    for (const ValueId output : program_.instructions[at(op)].outputs) {
      plan_.outputs.push_back(output == kNoValue ? kNone : plan_.home_slot[at(output)]);
    }
    plan_.outputs.end_row();
  }

  const Program& program_;
  const Graph& graph_;
  std::size_t devices_;
  std::span<const double> priorities_us_;
  std::span<const TensorId> overwritten_;
  Plan plan_;
  std::vector<std::vector<std::pair<TensorId, std::uint32_t>>> copies_;  // by device; tensor, slot
  std::vector<std::pair<DeviceId, TensorId>> resident_;
};

}  // namespace

bool Plan::consistent() const {
  for (const std::size_t rows :
       {inputs.size(), outputs.size(), released.size(), sent.size(), held.size()}) {
    if (rows != op.size()) return false;
  }
  if (released_on_arrival.size() != messages.size()) return false;
  std::vector<std::uint32_t> releases(op.size(), 0);
  for (const std::uint32_t each : released.items()) ++releases[each];
  for (const std::uint32_t each : released_on_arrival.items()) ++releases[each];
  std::vector<std::uint32_t> uses(holders.size(), 0);
  for (const std::uint32_t slot : held.items()) ++uses[slot];
  for (const Message& message : messages) {
    if (message.src == message.dst) return false;
    if (message.tensor != kNoTensor) ++uses[message.src_slot];
  }
  return releases == pending && uses == holders;
}

Plan make_plan(const Program& program, const Placement& placement, DeviceId device_count,
               std::span<const double> priorities_us, std::span<const TensorId> overwritten) {
  return PlanMaker(program, placement, device_count, priorities_us, overwritten).make();
}

}  // namespace berth::runtime
