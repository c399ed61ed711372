// An op as the executor sees it: a function from values to values.
//
// A kernel is made once per instruction when a program is loaded: attributes are read, constants
// are converted, and shapes are checked as far as they are known. It is then called once per step.
// All its ATen computation happens on the device of its inputs.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/sdk/program.h"

namespace berth::runtime {

/// Values that are not one tensor: sequences, absent optionals, text.
struct Structure;

/// The value on an edge: a tensor or a structure; neither = absent. Copies share the content. A
/// value is never written after it was made, except by its only reader (KernelContext::overwritten) and
/// through a TensorFlow reference; only the kernels of its own variable do that.
struct Value {
  at::Tensor tensor;
  std::shared_ptr<const Structure> structure;

  [[nodiscard]] bool present() const noexcept { return tensor.defined() || structure != nullptr; }
};

struct Structure {
  enum class Kind : std::uint8_t { sequence, nothing, text } kind = Kind::sequence;
  std::vector<Value> sequence;
  std::vector<std::string> texts;  ///< row-major
  std::vector<std::int64_t> dims;  ///< of `texts`
};

/// The state of ops from step to step: variables, by the name of the op that owns them. There is one
/// per device and loaded program. Only that device's ops use it, one at a time.
struct DeviceState {
  std::map<std::string, Value, std::less<>> variables;
};

inline constexpr std::size_t kNoInput = static_cast<std::size_t>(-1);

/// The environment of a kernel while it runs.
struct KernelContext {
  at::Device device = at::kCPU;
  /// A seed for this op and step only: the same on every device and number of threads.
  std::uint64_t seed = 0;
  DeviceState* state = nullptr;  ///< never null while a step runs
  /// The position of an input that nothing reads after this op, which it may write its output over. Others may have
  /// its memory all the same: who uses it makes sure. kNoInput: none.
  std::size_t overwritten = kNoInput;
  /// Asked by kernels that loop; true = give up, by throwing Error(cancelled).
  std::function<bool()> should_stop;
};

/// `inputs` are by position, as in Instruction::inputs, followed by those of Instruction::captured;
/// omitted ones are absent. `outputs` are by position, as in Instruction::outputs; an unwanted one
/// may be left absent. Throws whatever ATen throws, or Error; the executor adds op, device and
/// shapes. [thread-safe: several steps and devices may call one kernel at once if it keeps no
/// state]
using Kernel = std::function<void(KernelContext& context, std::span<const Value> inputs,
                                  std::span<Value> outputs)>;

class KernelRegistry;

/// The input of a kernel's maker.
struct KernelRequest {
  const Program& program;
  const Instruction& instruction;
  const KernelRegistry& registry;  ///< for the instructions of its bodies
};

/// Throws Error(unsupported) if the attributes ask for something that it cannot do, saying what.
using KernelMaker = Kernel (*)(const KernelRequest& request);

/// The kernels of one dialect. [thread-safe: immutable once built]
class KernelRegistry {
 public:
  /// Prepares a kernel that was made for what the dialect's executions need.
  using Finish = Kernel (*)(const KernelRequest& request, Kernel kernel);
  explicit KernelRegistry(Finish finish) : finish_(finish) {}

  /// Registering a type twice replaces it.
  void add(std::string type, KernelMaker maker) { makers_[std::move(type)] = maker; }
  [[nodiscard]] KernelMaker find(std::string_view type) const noexcept {
    const auto entry = makers_.find(type);
    return entry == makers_.end() ? nullptr : entry->second;
  }
  /// The kernel of the request's instruction. Throws Error(unsupported) if there is none, and what its maker
  /// throws.
  [[nodiscard]] Kernel make(const KernelRequest& request) const;
  [[nodiscard]] const std::map<std::string, KernelMaker, std::less<>>& makers() const noexcept {
    return makers_;
  }

 private:
  Finish finish_;
  std::map<std::string, KernelMaker, std::less<>> makers_;
};

}  // namespace berth::runtime
