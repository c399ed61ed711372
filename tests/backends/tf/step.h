// One step of a program, op after op on one device, with every value kept.
#pragma once

#include <c10/core/InferenceMode.h>
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "backends/test_device.h"
#include "berth/error.h"
#include "berth/files.h"
#include "runtime/tensors.h"
#include "runtime/tf/kernels.h"
#include "support/temporary_folder.h"
#include "tf/frontend.h"

namespace berth::runtime {

inline std::shared_ptr<const Program> load_tf(const std::filesystem::path& path,
                                              const std::vector<std::string>& fetches = {}) {
  tf_frontend::TensorFlowFrontend frontend{Options{}};
  LoadOptions options;
  options.fetches = fetches;
  return frontend.load_program(path, options).program;
}

class Stepper {
 public:
  explicit Stepper(std::shared_ptr<const Program> program) : program_(std::move(program)) {
    for (const Instruction& instruction : program_->instructions) {
      const KernelMaker maker = tf_kernels().find(instruction.type);
      CAPTURE(instruction.name);
      const bool fed = instruction.type == "Placeholder";
      REQUIRE_MESSAGE((fed || maker != nullptr), "no kernel for ", instruction.type);
      kernels_.push_back(fed ? Kernel()
                             : tf_kernels().make({*program_, instruction, tf_kernels()}));
    }
  }

  /// `feeds` by the names of placeholders. `keep`: every value stays for `value`; otherwise those
  /// that are not outputs go after their last reader.
  void run(const std::map<std::string, at::Tensor>& feeds = {}, bool keep = true) {
    const c10::InferenceMode no_gradients;  // as the executor runs kernels
    const Graph& graph = *program_->graph;
    values_.assign(static_cast<std::size_t>(graph.tensor_count()), {});
    std::vector<int> readers(values_.size(), 0);
    for (const Instruction& each : program_->instructions) {
      for (const ValueId id : each.inputs) ++readers[static_cast<std::size_t>(id)];
    }
    for (const TensorId id : program_->outputs) ++readers[static_cast<std::size_t>(id)];
    KernelContext context;
    context.device = test::test_device();
    context.state = &state;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (!program_->parameters[i]) continue;
      const at::Tensor content = make_tensor(*program_->parameters[i]);
      // As a session has them.
      const bool stays = integers_stay && at::isIntegralType(content.scalar_type(), false);
      values_[i].tensor = stays ? content : content.to(context.device);
    }
    for (const OpId op : graph.topological_order()) {
      const Instruction& each = program_->instructions[static_cast<std::size_t>(op)];
      std::vector<Value> inputs, outputs(each.outputs.size());
      for (const ValueId id : each.inputs) inputs.push_back(values_[static_cast<std::size_t>(id)]);
      context.seed = static_cast<std::uint64_t>(op) + 1;
      if (const auto feed = feeds.find(each.name); each.type == "Placeholder") {
        REQUIRE_MESSAGE(feed != feeds.end(), "nothing is fed to ", each.name);
        outputs[0].tensor = feed->second.to(context.device);
      } else {
        try {
          kernels_[static_cast<std::size_t>(op)](context, inputs, outputs);
        } catch (const std::exception& error) {
          FAIL(each.name, " (", each.type, "): ", std::string(error.what()));
        }
      }
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        values_[static_cast<std::size_t>(each.outputs[i])] = std::move(outputs[i]);
      }
      if (keep) continue;
      inputs.clear();
      for (const ValueId id : each.inputs) {
        if (--readers[static_cast<std::size_t>(id)] == 0)
          values_[static_cast<std::size_t>(id)] = {};
      }
    }
  }

  /// What the variable holds before the next step: a copy.
  void set_variable(const std::string& name, const at::Tensor& content) {
    state.variables[name].tensor = content.to(test::test_device(), false, /*copy=*/true);
  }
  [[nodiscard]] const Program& program() const { return *program_; }
  /// Output `port` of the op of that name; undefined where there is none.
  [[nodiscard]] at::Tensor value(const std::string& op, std::size_t port = 0) const {
    const auto id = program_->graph->find_op(op);
    if (!id) return {};
    const Instruction& instruction = program_->instructions[static_cast<std::size_t>(*id)];
    if (port >= instruction.outputs.size()) return {};
    return values_[static_cast<std::size_t>(instruction.outputs[port])].tensor;
  }

  DeviceState state;
  /// Constants of integers are on the host, whatever the device.
  bool integers_stay = true;

 private:
  std::shared_ptr<const Program> program_;
  std::vector<Kernel> kernels_;
  std::vector<Value> values_;
};

/// A program written as text.
inline Stepper stepper_of(const std::string& text, const std::vector<std::string>& fetches) {
  const test::TemporaryFolder folder;
  write_file(folder / "graph.pbtxt", text);
  return Stepper(load_tf(folder / "graph.pbtxt", fetches));
}

/// The largest difference of two tensors, relative to the size of the element in `b` where that is
/// above 1; infinite where types, shapes or what is not finite differ.
double difference(const at::Tensor& a, const at::Tensor& b);

}  // namespace berth::runtime
