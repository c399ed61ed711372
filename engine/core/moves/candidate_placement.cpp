#include "moves/candidate_placement.h"

#include <algorithm>
#include <utility>

#include "berth/support/index.h"

namespace berth::moves {

using simulator::Index;

CandidatePlacement::CandidatePlacement(const simulator::Plan& plan,
                                       std::shared_ptr<const StepFacts> facts)
    : plan_(plan),
      facts_(std::move(facts)),
      initial_(plan.op_count),
      rewired_in_(plan.op_count, 0) {}

void CandidatePlacement::reset(std::span<const DeviceId> placement) {
  kept_.assign(placement.begin(), placement.end());
  candidate_ = kept_;
  changed_.clear();
  rewired_.clear();
  room_.assign(plan_.device_count, 0);
  at_most_bytes_.assign(plan_.device_count, facts_->footprints.common_bytes);
  for (Index op = 0; op < plan_.op_count; ++op) {
    const auto d = static_cast<std::uint32_t>(placement[at(plan_.ids[op])]);
    initial_[op] = plan_.waiting[op] | d;
    room_[d] += plan_.sends[op];
    at_most_bytes_[d] += facts_->footprints.op_bytes[op];
    if (plan_.placeto) continue;  // counts outputs alone
    for (const Edge& edge : plan_.graph().in_edges(plan_.ids[op])) {
      if (placement[at(edge.src)] != placement[at(edge.dst)]) at_most_bytes_[d] += bytes_of(edge);
    }
  }
  placed_.compile(plan_, initial_);
}

std::int64_t CandidatePlacement::bytes_of(const Edge& edge) const {
  return edge.tensor == kNoTensor ? 0 : plan_.graph().bytes(edge.tensor);
}

/// Counts what the op receives, and what others receive of it.
void CandidatePlacement::readdress(const Changed& change) {
  const OpId id = plan_.ids[change.op];
  for (const Edge& edge : plan_.graph().in_edges(id)) {
    const std::uint32_t sender = device(plan_.index_of(edge.src));
    if (sender != change.from) at_most_bytes_[change.from] -= bytes_of(edge);
    if (sender != change.to) at_most_bytes_[change.to] += bytes_of(edge);
  }
  for (const Edge& edge : plan_.graph().out_edges(id)) {
    const std::uint32_t receiver = device(plan_.index_of(edge.dst));
    if (receiver != change.from) at_most_bytes_[receiver] -= bytes_of(edge);
    if (receiver != change.to) at_most_bytes_[receiver] += bytes_of(edge);
  }
}

void CandidatePlacement::relocate(const Changed& change) {
  initial_[change.op] += change.to - change.from;
  room_[change.from] -= plan_.sends[change.op];
  room_[change.to] += plan_.sends[change.op];
  at_most_bytes_[change.from] -= facts_->footprints.op_bytes[change.op];
  at_most_bytes_[change.to] += facts_->footprints.op_bytes[change.op];
  if (!plan_.placeto && !facts_->always_fits) readdress(change);
  candidate_[at(plan_.ids[change.op])] = static_cast<DeviceId>(change.to);
}

void CandidatePlacement::make(std::span<const Move> moves) {
  for (const Move& move : moves) {
    const Index op = plan_.index_of(move.op);
    const std::uint32_t from = device(op);
    const auto to = static_cast<std::uint32_t>(move.to);
    if (from == to) continue;
    changed_.push_back({op, from, to});
    last_changed_ = changed_.size() > 1 ? std::max(last_changed_, op) : op;
    relocate(changed_.back());
  }
}

void CandidatePlacement::rewire(bool compares) {
  if (!rewired_.empty()) return;
  ++round_;
  const auto once = [&](Index op) {
    if (rewired_in_[op] == round_) return;
    rewired_in_[op] = round_;
    if (compares) {
      rewired_.push_back({op, placed_.rewire(plan_, initial_, op)});
    } else {
      placed_.wire(plan_, initial_, op);
      rewired_.push_back({op, true});
    }
  };
  for (const Changed& change : changed_) {
    once(change.op);
    for (const Edge& edge : plan_.graph().in_edges(plan_.ids[change.op])) {
      once(plan_.index_of(edge.src));
    }
  }
}

void CandidatePlacement::take_back() {
  for (std::size_t i = changed_.size(); i > 0; --i) {
    const Changed& change = changed_[i - 1];
    relocate({change.op, change.to, change.from});
  }
  changed_.clear();
  for (const Rewired& rewired : rewired_) placed_.wire(plan_, initial_, rewired.op);
  rewired_.clear();
}

void CandidatePlacement::keep() {
  for (const Changed& change : changed_) {
    const auto op = at(plan_.ids[change.op]);
    kept_[op] = candidate_[op];
  }
  changed_.clear();
  rewired_.clear();
}

bool CandidatePlacement::surely_fits() const {
  if (facts_->always_fits) return true;
  if (plan_.cluster().has_keepers()) return false;  // what ops make there is elsewhere
  for (std::uint32_t d = 0; d < plan_.device_count; ++d) {
    if (at_most_bytes_[d] > plan_.problem->memory_bytes(static_cast<DeviceId>(d))) return false;
  }
  return true;
}

void CandidatePlacement::place_rows(simulator::Workspace& workspace) const {
  workspace.begin.resize(plan_.device_count);
  workspace.row_total = 0;
  for (std::uint32_t d = 0; d < plan_.device_count; ++d) {
    workspace.begin[d] = workspace.row_total;
    workspace.row_total += room_[d] + 1;
  }
}

}  // namespace berth::moves
