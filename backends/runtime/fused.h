// Ops that do the work of what follows them, too. Ops, placements and names stay: an op whose work is done already hands
// on what it is given.
#pragma once

#include <compare>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "berth/problem.h"
#include "berth/sdk/program.h"
#include "runtime/device_runtime.h"
#include "runtime/kernel.h"
#include "runtime/readers.h"
#include "runtime/tails.h"

namespace berth::runtime {

/// The convolutions of a program whose constants are packed (onnx/packed.h) where they are on a CPU. One does the
/// work of a normalization behind it, of a factor and a summand for each channel, and of a tail (tails.h), where
/// those are on its device and nobody else reads, or is returned, the values between. So does any other layer, of any
/// dialect, the work of a tail, on any device.
/// [thread-compatible]
class FusedOps {
 public:
  using HostParameter = std::function<const Value&(TensorId)>;

  /// The program must outlive it.
  explicit FusedOps(const Program& program);

  /// Frees what the placement does not use, packs what it uses and sets the kernels of these ops: `kernels`, by OpId,
  /// are those of ops that do their own work. `parameter` gives values on the host. What is packed counts as held by the devices. Throws Error(out_of_memory).
  void place(const Placement& placement, DeviceRuntime& runtime, const HostParameter& parameter,
             std::span<Kernel> kernels);

  /// The ops whose work another op may do, with it.
  [[nodiscard]] std::vector<Costs::Joined> joined() const;

  /// Whether a packed convolution, its only reader, holds the parameter.
  [[nodiscard]] bool holds(TensorId parameter) const { return held_.contains(parameter); }

 private:
  struct Chain {
    OpId convolution = kNoOp;
    std::vector<OpId> behind;     ///< in their order; their work is in its constants
    std::optional<Tail> tail;     ///< behind these
    TensorId weight = kNoTensor;  ///< the parameter that resides for it

    [[nodiscard]] OpId last() const { return behind.empty() ? convolution : behind.back(); }
  };
  struct Layer {
    OpId op;
    Tail tail;
  };
  /// The ops whose work is done together, and where.
  struct Key {
    OpId convolution;
    std::vector<OpId> behind;
    bool with_tail;
    DeviceId device;
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  void find_chains(const Readers& readers);
  void find_constants_of_planes(const Readers& readers, Chain& chain) const;
  void find_constants_of_images(const Readers& readers, Chain& chain) const;
  [[nodiscard]] Key key_of(const Chain& chain, const Placement& placement) const;
  [[nodiscard]] Kernel pack(const Chain& chain, const Key& key, MemoryMeter& meter,
                            const HostParameter& parameter) const;
  [[nodiscard]] Kernel with_tail(Kernel own, const Layer& layer) const;
  [[nodiscard]] static bool is_whole(const Tail& tail, const Placement& placement, DeviceId device);
  [[nodiscard]] static Kernel handing_on(std::size_t input);
  static void hand_on(const Tail& tail, std::span<Kernel> kernels);

  const Program& program_;
  std::vector<Chain> chains_;
  std::vector<Layer> layers_;
  std::map<Key, Kernel> packed_;  ///< an empty one: cannot be packed
  std::set<TensorId> held_;
};

}  // namespace berth::runtime
