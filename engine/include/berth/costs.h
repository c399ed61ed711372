/// @file
/// Compute time per op and device kind, and the memory an op needs while it runs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/cluster.h"
#include "berth/export.h"
#include "berth/graph.h"
#include "berth/types.h"

namespace berth {

/// The work of an op: as stated by the graph's builder, otherwise by the rule of its dialect and
/// type. Without a rule, or with unknown shapes, it is OpClass::other with the op's bytes. Always
/// finite.
[[nodiscard]] BERTH_EXPORT Work op_work(const Graph& graph, OpId op);

/// The work of `ops`, which are in topological order and run one after the other, as that of one op: of
/// the class, type and products of the largest. Its workspace is the most that the tensors which they make
/// and their own workspaces hold at once, without the graph's inputs and results.
[[nodiscard]] BERTH_EXPORT Work work_in_turn(const Graph& graph, std::span<const OpId> ops);

/// True if the work is stated or op_work has a rule for the op's type.
[[nodiscard]] BERTH_EXPORT bool has_work_rule(const Graph& graph, OpId op);

/// Which f32 arithmetic takes a device's TF32 (Device::flops_tf32).
enum class Tf32 : std::uint8_t {
  none,
  convolutions,  ///< what cuDNN computes: convolutions and recurrent layers
  all,           ///< and matrix products
};
/// "none", "convolutions" or "all". Throws Error(invalid_argument) for another name.
[[nodiscard]] BERTH_EXPORT Tf32 tf32_from_name(std::string_view name);
[[nodiscard]] BERTH_EXPORT std::string_view tf32_name(Tf32 tf32) noexcept;

/// How the program that runs a step computes products.
struct Arithmetic {
  Tf32 tf32 = Tf32::convolutions;
  /// Products of Work::narrow_weights are of 8-bit integers, where a device has a peak of those that is
  /// no less than that of 16 bits, as llama.cpp's are.
  bool narrow_as_integers = false;
};
/// The default of the runtime that the graph's dialect belongs to. ONNX Runtime, TensorFlow and XLA take all in
/// TF32; PyTorch, which stands for any other, convolutions alone.
[[nodiscard]] BERTH_EXPORT Arithmetic usual_arithmetic(const Graph& graph);

/// Roofline time (Williams, Waterman and Patterson, CACM 2009) of `work` on `device`: the larger of
/// FLOPs and bytes over the shares of the peaks that the op class reaches. With multiprocessors no
/// kernel is shorter than its fill, and Work::products pay for part-filled tiles and waves, unless
/// their rows are few. Peaks of narrow types and of TF32 count for matrix products only. Without the per-op overhead.
/// More work never takes less time. Requires `device.flops` and `device.memory_bandwidth` to be stated.
[[nodiscard]] BERTH_EXPORT double roofline_us(const Work& work, const Device& device,
                                              const Arithmetic& arithmetic = {}) noexcept;

/// Why `device` runs no such op by what it says that it runs (Device::runs), as the end of a sentence:
/// "runs no op of type 'Loop'", "runs nothing in f64". Empty where it does. Tensors of unknown type are
/// no reason, and inputs of the model are held, not computed.
[[nodiscard]] BERTH_EXPORT std::string op_refusal(const Graph& graph, OpId op,
                                                  const Device& device);

/// An immutable table of costs for one graph and the kinds of one cluster. [thread-safe: immutable]
class BERTH_EXPORT Costs {
 public:
  /// An op whose work another op does where both are on one device, as a convolution does a Relu's. Its
  /// cost holds there alone, so that problems keep the two together.
  struct Joined {
    OpId op;
    OpId with;
  };

  /// `us[kind][op]` is finite and >= 0, or kCannotRun if the kind cannot run the op.
  /// `workspace_bytes[op]` may be empty: no op needs any. Throws Error(invalid_argument) for NaN,
  /// negative values, wrong sizes, and joined ops that are not there.
  Costs(std::vector<std::vector<double>> us, std::vector<std::int64_t> workspace_bytes,
        std::string source, std::vector<Joined> joined = {});

  /// The costs stated with the graph. Throws Error(invalid_argument) naming an op without one.
  [[nodiscard]] static std::shared_ptr<const Costs> stated(const Graph& graph,
                                                           const Cluster& cluster);
  /// The roofline model: roofline_us of op_work for every op on every kind.
  ///
  /// The simulator adds the per-op overhead once to every op whose cost is above 0. An op with a
  /// body launches more kernels; the overhead of those beyond the first (Work::launches - 1) is
  /// part of its cost here. An op without launches costs 0. Every kind runs every op, except that
  /// ops with text or opaque tensors run on hosts only, and so do, where there is a host, the types
  /// that their runtime (TensorFlow; ONNX Runtime with CUDA) has no kernel of for GPUs. A kind that
  /// says what it runs (Device::runs) runs that, whatever those runtimes have.
  ///
  /// Workspace is counted for attention (score matrices and projections) and for recurrent layers
  /// (the gates of all steps). Libraries compute all other ops in place or by implicit products.
  ///
  /// `arithmetic`: empty = usual_arithmetic. Throws Error(invalid_argument) naming a device whose figures
  /// are not stated.
  [[nodiscard]] static std::shared_ptr<const Costs> roofline(
      const Graph& graph, const Cluster& cluster, const std::optional<Arithmetic>& arithmetic = {});

  /// `stated` for the ops that state any cost, `roofline` for the others. Devices state their
  /// figures only where an op needs them.
  [[nodiscard]] static std::shared_ptr<const Costs> stated_or_roofline(
      const Graph& graph, const Cluster& cluster, const std::optional<Arithmetic>& arithmetic = {});

  /// `costs` of a graph's ops as a step on the cluster has them: nothing for constants
  /// (Graph::is_constant), which any kind "runs", since the step does not; kCannotRun where a kind
  /// refuses an op. Those of the functions above are so already.
  [[nodiscard]] static std::shared_ptr<const Costs> of_step(std::shared_ptr<const Costs> costs,
                                                            const Graph& graph,
                                                            const Cluster& cluster);

  [[nodiscard]] double op_us(OpId op, KindId kind) const noexcept;
  [[nodiscard]] bool can_run(OpId op, KindId kind) const noexcept;
  /// The costs of all ops on one kind.
  [[nodiscard]] std::span<const double> of_kind(KindId kind) const noexcept;
  [[nodiscard]] KindId kind_count() const noexcept;
  [[nodiscard]] std::int64_t workspace_bytes(OpId op) const noexcept;
  [[nodiscard]] std::span<const Joined> joined() const noexcept;
  /// "roofline", "stated", "stated or roofline", or the name of a file.
  [[nodiscard]] const std::string& source() const noexcept;

 private:
  struct Data;
  std::shared_ptr<const Data> data_;
};

}  // namespace berth
