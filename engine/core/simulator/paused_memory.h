// Memory of a dataflow step between two events, so that a step can continue from there.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "simulator/memory.h"
#include "simulator/plan.h"

namespace berth::simulator {

/// Nothing in it depends on where the parameters are, nor on ops of which no producer has ended.
class PausedMemory {
 public:
  /// Nothing has started: what `restore` then leaves as it is.
  void clear();
  /// After `sent` transfers and signals. `resident_bytes` has the parameters, by device.
  void save(const Plan& plan, const MemoryScratch& memory,
            std::span<const std::int64_t> resident_bytes, std::uint32_t sent);
  /// Into memory that knows the parameters alone, as DataflowMemory begins.
  void restore(const Plan& plan, MemoryScratch& memory) const;

 private:
  struct Holder {
    std::uint32_t holder;
    std::uint32_t count;
    std::uint32_t message;
  };
  struct HeldEdge {
    std::uint32_t edge;
    std::uint32_t holder;
  };

  std::vector<std::int64_t> usage_bytes_;  // by device, without the parameters
  std::vector<Peak> peaks_;                // by device, without the parameters
  std::vector<Holder> holders_;
  std::vector<HeldEdge> edges_;
  std::vector<std::pair<Index, std::uint32_t>>
      kept_by_view_;  // where some are gone and some are not
};

}  // namespace berth::simulator
