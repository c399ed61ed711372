// Ops that do the work of what follows them, too. Ops, placements and names stay: an op whose work is done already hands
// on what it is given.
#pragma once

#include <compare>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "berth/problem.h"
#include "berth/sdk/program.h"
#include "runtime/device_runtime.h"
#include "runtime/kernel.h"

namespace berth::runtime {

/// The convolutions of a program whose constants are packed (onnx/packed.h) where they are on a CPU. One does the work of
/// a BatchNormalization behind it, of a factor and a summand for each channel, and of a Relu, where those are on its
/// device and nobody else reads, or is returned, the values between. So does a sum the work of a Relu, on any device.
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
    std::vector<OpId> behind;     ///< in their order
    TensorId weight = kNoTensor;  ///< the parameter that resides for it
  };
  struct Sum {
    OpId op;
    OpId activation;
  };
  /// The ops whose work is done together, and where.
  struct Key {
    OpId convolution;
    std::vector<OpId> behind;
    DeviceId device;
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  [[nodiscard]] Key key_of(const Chain& chain, const Placement& placement) const;
  [[nodiscard]] Kernel pack(const Key& key, MemoryMeter& meter,
                            const HostParameter& parameter) const;

  const Program& program_;
  std::vector<Chain> chains_;
  std::vector<Sum> sums_;
  std::map<Key, Kernel> packed_;  ///< an empty one: cannot be packed
  std::set<TensorId> held_;
};

}  // namespace berth::runtime
