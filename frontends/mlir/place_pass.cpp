// berth-place: gives every op of a module its device.
#include <berth/c.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "assumed.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Format.h"
#include "loops.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "module_graph.h"
#include "op_facts.h"
#include "shards.h"
#include "transfers.h"

namespace berth_mlir {
namespace {

struct Release {
  template <typename Handle>
  void operator()(Handle* handle) const {
    berth_release(handle);
  }
};
template <typename Handle>
using Owned = std::unique_ptr<Handle, Release>;

class PlacePass : public mlir::PassWrapper<PlacePass, mlir::OperationPass<mlir::ModuleOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlacePass)

  PlacePass() = default;
  PlacePass(const PlacePass& other) : PassWrapper(other) {}

  [[nodiscard]] llvm::StringRef getArgument() const final { return "berth-place"; }
  [[nodiscard]] llvm::StringRef getDescription() const final {
    return "Give every op the device that it should run on";
  }

  void runOnOperation() final {
    given_.clear();
    if (failed(start())) return signalPassFailure();
    bool any = false;
    for (mlir::Operation& function : llvm::make_early_inc_range(getOperation().getOps())) {
      mlir::Region* const body = body_of(&function);
      if (body == nullptr || !is_entry(&function)) continue;
      any = true;
      if (failed(place(&function, *body))) return signalPassFailure();
    }
    if (any) return;
    if (!entry.getValue().empty()) {
      static_cast<void>(no_entry());
      return signalPassFailure();
    }
    warn_nothing_placed();
  }

  Option<std::string> cluster{*this, "cluster",
                              llvm::cl::desc("a preset, or a berth.cluster/1 file")};
  Option<std::string> policy{*this, "policy",
                             llvm::cl::desc("policy; default: the settings', or auto")};
  ListOption<std::string> set{*this, "set", llvm::cl::desc("options of the policy, as key=value")};
  Option<std::string> settings{*this, "settings", llvm::cl::desc("a berth.settings/1 file")};
  Option<std::string> objective{*this, "objective", llvm::cl::desc("latency or throughput")};
  Option<std::int64_t> seed{*this, "seed", llvm::cl::desc("the only source of randomness"),
                            llvm::cl::init(-1)};
  Option<std::int64_t> moves{
      *this, "moves", llvm::cl::desc("a limit for policies that count moves"), llvm::cl::init(0)};
  Option<int> threads{*this, "threads",
                      llvm::cl::desc("threads of the search; passes run in parallel"),
                      llvm::cl::init(1)};
  Option<std::string> bound{
      *this, "bound",
      llvm::cl::desc("how much work a lower bound is worth: none, quick or strong; default: the "
                     "settings', or quick, where remarks tell it")};
  Option<std::string> entry{*this, "entry",
                            llvm::cl::desc("the function to place; default: every public one")};
  Option<std::string> arguments{
      *this, "arguments", llvm::cl::desc("what an entry's arguments are: inputs or parameters"),
      llvm::cl::init("inputs")};
  ListOption<std::string> dims{
      *this, "dims",
      llvm::cl::desc("sizes that types leave open: of an argument's dimension (arg0:1=64, or "
                     "main:arg0:1=64), and of all others that follow from none (64)")};
  Option<std::int64_t> trips{*this, "trips",
                             llvm::cl::desc("how often each loop runs that does not say it"),
                             llvm::cl::init(0)};
  Option<std::string> attribute{*this, "attribute",
                                llvm::cl::desc("the attribute that names the device"),
                                llvm::cl::init("berth.device")};
  Option<std::string> form{
      *this, "form",
      llvm::cl::desc(
          "what the attribute is: name, kind, index, or iree (affinities and transfers)"),
      llvm::cl::init("name")};
  Option<std::string> remarks{*this, "remarks",
                              llvm::cl::desc("summary, ops (why each op is where it is) or none"),
                              llvm::cl::init("summary")};

 private:
  /// The option `entry` names no function that has a body.
  mlir::LogicalResult no_entry() {
    llvm::SmallVector<llvm::StringRef> known;
    for (mlir::Operation& function : getOperation().getOps()) {
      if (body_of(&function) == nullptr) continue;
      known.push_back(mlir::SymbolTable::getSymbolName(&function).getValue());
    }
    return getOperation().emitError("berth-place: entry=")
           << entry.getValue()
           << " is no function with a body; there are: " << llvm::join(known, ", ");
  }

  /// None of the module's functions is an entry; nothing is said where there are none at all.
  void warn_nothing_placed() {
    llvm::SmallVector<llvm::StringRef> own, within;
    getOperation()->walk([&](mlir::Operation* function) {
      if (body_of(function) == nullptr) return;
      const bool is_own = function->getParentOp() == getOperation().getOperation();
      (is_own ? own : within).push_back(mlir::SymbolTable::getSymbolName(function).getValue());
    });
    if (!own.empty()) {
      getOperation().emitWarning("berth-place: places nothing: no public function with a body; ")
          << "entry=NAME places a private one, of " << llvm::join(own, ", ");
    } else if (!within.empty()) {
      getOperation().emitWarning(
          "berth-place: places nothing: only modules within have functions (")
          << llvm::join(within, ", ")
          << "); run it on them: builtin.module(builtin.module(berth-place))";
    }
  }

  mlir::LogicalResult failed_call(mlir::Operation* at) {
    return at->emitError("berth-place: ") << message();
  }

  mlir::LogicalResult check_choice(const Option<std::string>& option, llvm::StringRef name,
                                   llvm::ArrayRef<llvm::StringRef> known) {
    if (llvm::is_contained(known, option.getValue())) return mlir::success();
    return getOperation().emitError("berth-place: ")
           << name << "=" << option.getValue() << " is not known; use one of "
           << llvm::join(known, ", ");
  }

  mlir::LogicalResult start() {
    if (failed(check_choice(arguments, "arguments", {"inputs", "parameters"})) ||
        failed(check_choice(form, "form", {"name", "kind", "index", "iree"})) ||
        failed(check_choice(remarks, "remarks", {"summary", "ops", "none"}))) {
      return mlir::failure();
    }
    if (seed < -1) {
      return getOperation().emitError("berth-place: seed=")
             << seed.getValue() << " is no seed; give a number from 0 on";
    }
    if (trips < 0) {
      return getOperation().emitError("berth-place: trips=")
             << trips.getValue() << " is too small; give a number from 1 on, or leave it out";
    }
    std::string error;
    const auto sizes = read_sizes(llvm::to_vector(dims), getOperation(), error);
    if (!sizes) return getOperation().emitError("berth-place: dims=") << error;
    sizes_ = *sizes;
    berth_engine_options options = BERTH_ENGINE_OPTIONS_INIT;
    options.settings = view(settings.getValue());
    berth_engine* engine = nullptr;
    if (berth_engine_new(&options, &engine) != BERTH_OK) return failed_call(getOperation());
    engine_.reset(engine);
    berth_cluster* machine = nullptr;
    if (berth_cluster_new(engine, view(cluster.getValue()), &machine) != BERTH_OK) {
      return failed_call(getOperation());
    }
    cluster_.reset(machine);
    return mlir::success();
  }

  bool is_entry(mlir::Operation* function) {
    if (!entry.getValue().empty()) {
      return mlir::SymbolTable::getSymbolName(function).getValue() == entry.getValue();
    }
    return mlir::SymbolTable::getSymbolVisibility(function) ==
           mlir::SymbolTable::Visibility::Public;
  }

  [[nodiscard]] std::vector<std::string> device_names() const {
    std::vector<std::string> names;
    for (std::int32_t id = 0; id < berth_cluster_device_count(cluster_.get()); ++id) {
      berth_text name{};
      if (berth_cluster_device(cluster_.get(), id, &name, nullptr) != BERTH_OK) break;
      names.emplace_back(name.data, name.size);
    }
    return names;
  }

  mlir::LogicalResult check_device(mlir::Operation* op) {
    const mlir::Attribute said = attribute_of(*op, attribute.getValue());
    if (auto number = mlir::dyn_cast<mlir::IntegerAttr>(said); number && form == "index") {
      const std::int32_t count = berth_cluster_device_count(cluster_.get());
      if (number.getValue().getLimitedValue() < static_cast<std::uint64_t>(count)) {
        return mlir::success();
      }
      return op->emitError("berth-place: asks for device ")
             << said << ", which the cluster lacks; it has 0 to " << count - 1;
    }
    auto asked = mlir::dyn_cast<mlir::StringAttr>(said);
    if (!asked) {
      return op->emitError("berth-place: ")
             << attribute.getValue() << " = " << said
             << " names no device; give its name as a text, or its number with form=index";
    }
    std::string known;
    for (std::int32_t id = 0; id < berth_cluster_device_count(cluster_.get()); ++id) {
      berth_text name{}, kind{};
      if (berth_cluster_device(cluster_.get(), id, &name, &kind) != BERTH_OK) break;
      if (asked.getValue() == llvm::StringRef(name.data, name.size) ||
          asked.getValue() == llvm::StringRef(kind.data, kind.size)) {
        return mlir::success();
      }
      known += (known.empty() ? "" : ", ") + std::string(name.data, name.size);
    }
    return op->emitError("berth-place: asks for device '")
           << asked.getValue() << "', which the cluster lacks; it has " << known;
  }

  mlir::LogicalResult place(mlir::Operation* function, mlir::Region& body) {
    ImportOptions options{arguments.getValue() == "parameters", attribute.getValue(), {}};
    if (form.getValue() == "index") options.by_number = device_names();
    ModuleGraph imported(getOperation(), options, given_);
    std::optional<Assumed> assumed(std::in_place, getOperation(), sizes_, trips);
    auto built = imported.build(function);
    if (failed(built)) return mlir::failure();
    const Owned<berth_graph> graph(*built);
    if (berth_graph_op_count(graph.get()) == 0) return mlir::success();  // it only returns
    for (mlir::Operation* op : imported.asking()) {
      if (failed(check_device(op))) return mlir::failure();
    }
    Owned<berth_result> result;
    if (failed(search(function, imported, graph.get(), result))) return mlir::failure();
    const std::int32_t* const devices = berth_result_devices(result.get(), nullptr);
    if (remarks.getValue() != "none") report(function, imported, *result);
    assumed.reset();
    if (form.getValue() == "iree") return annotate_iree(body, imported, devices);
    for (mlir::Operation* op : imported.ops()) {
      const std::int32_t device = devices[imported.id_of(op)];
      op->setAttr(attribute.getValue(), device_attribute(device));
      berth_text name{};
      if (berth_cluster_device(cluster_.get(), device, &name, nullptr) == BERTH_OK) {
        given_[op] = std::string(name.data, name.size);
      }
    }
    return mlir::success();
  }

  mlir::LogicalResult search(mlir::Operation* function, const ModuleGraph& imported,
                             const berth_graph* graph, Owned<berth_result>& result) {
    berth_problem_options choices = BERTH_PROBLEM_OPTIONS_INIT;
    choices.objective = view(objective.getValue());
    if (imported.asks_for_devices())
      choices.constraints = BERTH_TEXT("[{\"respect_devices\": true}]");
    berth_problem* problem = nullptr;
    if (berth_problem_new(engine_.get(), graph, cluster_.get(), &choices, &problem) != BERTH_OK) {
      return failed_call(function);
    }
    const Owned<berth_problem> owned(problem);
    berth_place_options options = BERTH_PLACE_OPTIONS_INIT;
    options.policy = view(policy.getValue());
    std::vector<berth_option> of_policy;
    for (const std::string& text : set) {
      const auto [key, value] = llvm::StringRef(text).split('=');
      of_policy.push_back({view(key), view(value)});
    }
    options.options = of_policy.data();
    options.option_count = of_policy.size();
    options.seed = seed;
    options.moves = moves;
    options.threads = threads;
    // Without an effort the settings' holds.
    const std::string effort = bound_effort();
    options.bound = view(effort);
    berth_result* found = nullptr;
    if (berth_place(engine_.get(), problem, &options, &found) != BERTH_OK) {
      return failed_call(function);
    }
    result.reset(found);
    berth_summary summary = BERTH_SUMMARY_INIT;
    if (berth_result_summary(found, &summary) != BERTH_OK) return failed_call(function);
    if (summary.feasible != 0) return mlir::success();
    return function->emitError("berth-place: no placement that fits: a device lacks ")
           << summary.excess_bytes << " bytes; use more devices, or another policy";
  }

  /// Empty where the settings say it.
  std::string bound_effort() {
    if (!bound.getValue().empty()) return bound.getValue();
    // A compiler does not wait for a figure that nobody reads.
    if (remarks.getValue() == "none") return "none";
    berth_text said{};
    const bool is_said =
        berth_engine_setting(engine_.get(), BERTH_TEXT("bound"), &said) == BERTH_OK &&
        said.size > 0;
    return is_said ? "" : "quick";
  }

  mlir::Attribute device_attribute(std::int32_t device) {
    mlir::Builder builder(&getContext());
    if (form.getValue() == "index") return builder.getI64IntegerAttr(device);
    berth_text name{}, kind{};
    if (berth_cluster_device(cluster_.get(), device, &name, &kind) != BERTH_OK) return {};
    const berth_text text = form.getValue() == "kind" ? kind : name;
    return builder.getStringAttr(llvm::StringRef(text.data, text.size));
  }

  mlir::LogicalResult annotate_iree(mlir::Region& body, const ModuleGraph& imported,
                                    const std::int32_t* devices) {
    for (mlir::Operation* op : imported.ops()) {
      if (op->getParentRegion() == &body) continue;
      return op->emitError(
          "berth-place: form=iree places one function; inline what it calls first (--inline)");
    }
    std::vector<std::int32_t> of_arguments;
    for (const std::int32_t id : imported.arguments()) of_arguments.push_back(devices[id]);
    return add_affinities(
        body,
        [&](mlir::Operation* op) {
          const std::int32_t id = imported.id_of(op);
          return id < 0 ? -1 : devices[id];
        },
        of_arguments);
  }

  void report(mlir::Operation* function, const ModuleGraph& imported, berth_result& result) {
    berth_text text{};
    if (berth_result_text(&result, BERTH_TEXT_POLICY, &text) != BERTH_OK) return;
    const std::string who(text.data, text.size);
    if (berth_result_text(&result, BERTH_TEXT_REPORT, &text) != BERTH_OK) return;
    berth_summary summary = BERTH_SUMMARY_INIT;
    if (berth_result_summary(&result, &summary) != BERTH_OK) return;
    function->emitRemark("berth-place: ") << imported.ops().size() << " ops placed by " << who
                                          << ", transfers: " << summary.transfer_count << "; "
                                          << llvm::StringRef(text.data, text.size).rtrim();
    if (berth_result_text(&result, BERTH_TEXT_NOTES, &text) != BERTH_OK) return;
    llvm::SmallVector<llvm::StringRef> notes;
    llvm::StringRef(text.data, text.size).split(notes, '\n', -1, /*KeepEmpty=*/false);
    for (const llvm::StringRef note : notes) {
      function->emitRemark("berth-place: note: ") << note;
    }
    for (mlir::Operation* loop : uncounted_loops(imported.ops())) {
      loop->emitRemark(
          "berth-place: counts as one trip: how often it runs is not a constant here; ")
          << "say it with trips=N, or with the loop's attribute " << kTripsAttribute;
    }
    report_shards(imported.ops());
    if (imported.leaves_sizes_open()) {
      function->emitRemark("berth-place: types leave sizes open; dims=arg0:0=N gives one to an ")
          << "argument, and dims=N to all that follow from none";
    }
    if (const auto dead = imported.dead(); !dead.empty()) {
      dead.front()->emitRemark("berth-place: leaves out ")
          << dead.size() << " ops, this one first: no result and no effect follows from them, so "
          << "that compilers drop them";
    }
    if (remarks.getValue() != "ops") return;
    for (mlir::Operation* op : imported.ops()) {
      if (berth_result_explain(&result, imported.id_of(op), &text) != BERTH_OK) continue;
      op->emitRemark("berth-place: ") << llvm::StringRef(text.data, text.size).rtrim();
    }
  }

  static void report_shards(llvm::ArrayRef<mlir::Operation*> ops) {
    if (const auto exchanges = collectives_of(ops); !exchanges.empty()) {
      exchanges.front()->emitRemark("berth-place: ")
          << exchanges.size() << " ops exchange tensors with other processes, this one first: each "
          << "counts the bytes that it reads and writes on its device, and no time of links, which "
          << "the cluster does not have";
    }
    const auto alone = llvm::find_if(
        ops, [](mlir::Operation* op) { return reads_a_shard(*op) && shards_of(*op) == 1; });
    if (alone != ops.end()) {
      (*alone)->emitRemark("berth-place: counts for one shard, as what follows it up to the ")
          << "conversion back: only functions that are called on shards count for all of them; "
          << "run this pass before the inliner";
    }
  }

  Owned<berth_engine> engine_;
  Owned<berth_cluster> cluster_;
  GivenSizes sizes_;
  GivenDevices given_;  ///< by the entries before, which may call the same functions
};

}  // namespace
}  // namespace berth_mlir

extern "C" LLVM_ATTRIBUTE_WEAK __attribute__((visibility("default"))) mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "berth", LLVM_VERSION_STRING,
          [] { mlir::PassRegistration<berth_mlir::PlacePass>(); }};
}
