// The graph of a function, with the functions that it calls in their places.
#pragma once

#include <berth/c.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "liveness.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Support/LogicalResult.h"

namespace berth_mlir {

/// The names of devices that ops have been given, which they keep.
using GivenDevices = llvm::DenseMap<mlir::Operation*, std::string>;

struct ImportOptions {
  bool arguments_are_parameters = false;
  std::string attribute;               ///< the device that an op, or all ops of a call, ask for
  std::vector<std::string> by_number;  ///< the devices, where the attribute has their numbers
};

/// Ops of a function that is called several times are in the graph as often, and share a device:
/// the IR has one attribute for all of them.
class ModuleGraph {
 public:
  /// `given` must outlive it.
  ModuleGraph(mlir::ModuleOp module, const ImportOptions& options, const GivenDevices& given)
      : module_(module), options_(options), given_(given) {}
  ~ModuleGraph() { berth_release(builder_); }
  ModuleGraph(const ModuleGraph&) = delete;
  ModuleGraph& operator=(const ModuleGraph&) = delete;

  /// The caller releases the graph. What fails has been reported at its op.
  mlir::FailureOr<berth_graph*> build(mlir::Operation* entry);

  /// Any of the graph's ops that stands for it; -1 if none does.
  [[nodiscard]] std::int32_t id_of(mlir::Operation* op) const { return id_of_.lookup_or(op); }
  /// In the order of the graph, each once.
  [[nodiscard]] const std::vector<mlir::Operation*>& ops() const { return ops_; }
  /// The ops that stand for the entry's arguments; none if they are parameters.
  [[nodiscard]] const std::vector<std::int32_t>& arguments() const { return arguments_; }
  /// Ops from which nothing follows wherever their function is called, each once: the graph has none of them.
  [[nodiscard]] std::vector<mlir::Operation*> dead() const;
  /// Whether the type of one of its tensors leaves a size open.
  [[nodiscard]] bool leaves_sizes_open() const { return leaves_sizes_open_; }
  [[nodiscard]] bool asks_for_devices() const { return asks_for_devices_; }
  /// Ops and calls whose attribute asks for a device, each once.
  [[nodiscard]] llvm::ArrayRef<mlir::Operation*> asking() const { return asking_.getArrayRef(); }

 private:
  using Ids = llvm::SmallVector<std::int32_t, 1>;
  /// By value: its tensor in the graph, or those of its elements.
  using Tensors = llvm::DenseMap<mlir::Value, Ids>;
  struct OpIds : llvm::DenseMap<mlir::Operation*, std::int32_t> {
    [[nodiscard]] std::int32_t lookup_or(mlir::Operation* op) const {
      const auto found = find(op);
      return found == end() ? -1 : found->second;
    }
  };

  mlir::LogicalResult add_arguments(mlir::Region& body, Tensors& tensors);
  /// `wanted`: by result of the function, whether anyone reads it; empty = all of them.
  mlir::LogicalResult add_body(mlir::Operation* function, mlir::Region& body,
                               llvm::ArrayRef<bool> wanted, Tensors& tensors,
                               llvm::SmallVectorImpl<Ids>& results);
  void note_dead(mlir::Operation& op);
  mlir::LogicalResult add_op(mlir::Operation& op, Tensors& tensors);
  berth_status add_no_work(std::int32_t id);
  berth_status add_work(mlir::Operation& op, std::int32_t id, const Tensors& tensors);
  /// `varies`: set where one of them depends on the entry's arguments.
  mlir::LogicalResult add_inputs(mlir::Operation& op, std::int32_t id, const Tensors& tensors,
                                 bool& varies);
  mlir::LogicalResult add_outputs(mlir::Operation& op, std::int32_t id, bool varies,
                                  Tensors& tensors);
  /// Results of the entry that take the places of arguments which its caller gives away.
  mlir::LogicalResult add_donations(mlir::Region& body, const Tensors& tensors,
                                    llvm::ArrayRef<Ids> results);
  /// Whether the op, which updates a part of its destination, first makes a copy of that.
  [[nodiscard]] bool copies_destination(mlir::Operation& op, const Tensors& tensors);
  /// Each step makes anew what the op writes over.
  mlir::LogicalResult keep_in_step(mlir::Operation& op, const Tensors& tensors);
  /// A writer of a buffer runs behind all that read or write it before, and a reader behind the last that wrote
  /// it.
  mlir::LogicalResult order_buffers(mlir::Operation& op, std::int32_t id, const Tensors& tensors);
  /// The tensor that a buffer is, of which `tensor` may show a part.
  [[nodiscard]] std::int32_t buffer_behind(std::int32_t tensor) const;
  /// The op that writes its result over what this one fills, on the same device; null for none.
  [[nodiscard]] mlir::Operation* taker_of(mlir::Operation& op);
  /// Whether the op is in no graph of its own: it puts tensors together or takes them apart.
  mlir::FailureOr<bool> pass_elements(mlir::Operation& op, Tensors& tensors);
  [[nodiscard]] static Ids tensors_of(const Tensors& tensors, mlir::Value value);
  /// A load of a global that nothing writes is a parameter, the same one for all loads.
  mlir::LogicalResult note_load(mlir::Operation& op, std::int32_t id, const Tensors& tensors);
  mlir::LogicalResult add_call(mlir::Operation& call, mlir::Operation* callee, mlir::Region& body,
                               llvm::ArrayRef<bool> wanted, Tensors& tensors);
  /// Fails where ops and calls are too many.
  mlir::LogicalResult count_one(mlir::Operation& op);
  mlir::LogicalResult add_hints(mlir::Operation& op, std::int32_t id);
  /// The device that the op asks for, or null; asking() has the op also where its attribute names none.
  mlir::StringAttr asked_device(mlir::Operation& op);
  /// The device that the op or those in its regions ask for; fails where they ask for several.
  mlir::FailureOr<mlir::StringAttr> device_for_all(mlir::Operation& op);
  [[nodiscard]] std::string name_for(llvm::StringRef type);

  mlir::ModuleOp module_;
  ImportOptions options_;
  const GivenDevices& given_;
  berth_builder* builder_ = nullptr;
  OpIds id_of_;
  std::vector<mlir::Operation*> ops_;
  std::vector<std::int32_t> arguments_;
  llvm::DenseSet<std::int32_t> varying_;  ///< tensors that depend on the entry's arguments
  llvm::DenseSet<std::int32_t> kept_;     ///< tensors that nothing may overwrite
  llvm::DenseMap<std::int32_t, std::int32_t> made_by_;  ///< the op that gives a tensor
  llvm::DenseSet<std::int32_t> in_step_;                ///< ops that are no constants of the step
  llvm::DenseMap<mlir::Operation*, std::int32_t> places_;  ///< numbers of those that share memory
  struct BufferUse {
    std::int32_t writer = -1;
    llvm::SmallVector<std::int32_t, 4> readers;  // since then
  };
  llvm::DenseMap<std::int32_t, BufferUse> uses_of_buffers_;  ///< by tensor
  llvm::DenseMap<std::int32_t, std::int32_t>
      shown_by_;  ///< by tensor: the one of which it is a part
  llvm::DenseMap<std::int32_t, std::int32_t>
      buffer_written_by_;  ///< by op: what holds it on a device
  Effects effects_;
  llvm::SetVector<mlir::Operation*> dead_;        // in one call at least
  llvm::SmallVector<mlir::Operation*, 8> calls_;  // that we are in
  std::map<std::string, mlir::Value> loads_;      // by global: the first
  std::optional<llvm::StringSet<>> written_;      ///< globals; once there is a load
  std::int32_t count_ = 0;
  std::int32_t expanded_ = 0;  ///< ops and calls
  bool asks_for_devices_ = false;
  bool leaves_sizes_open_ = false;
  llvm::SetVector<mlir::Operation*> asking_;
  llvm::SmallVector<mlir::StringAttr, 8> devices_of_calls_;  // of calls_; null = none
};

}  // namespace berth_mlir
