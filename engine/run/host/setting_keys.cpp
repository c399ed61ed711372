#include "host/setting_keys.h"

#include <algorithm>
#include <array>
#include <limits>

#include "berth/error.h"
#include "berth/support/text.h"

namespace berth {
namespace {

using Group = SettingGroup;

/// The accessor of a member.
template <auto Member>
constexpr auto field() {
  using Value = std::remove_reference_t<decltype(std::declval<Settings&>().*Member)>;
  return Field<Value>([](Settings& settings) -> Value& { return settings.*Member; });
}

constexpr std::int64_t kMost32 = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMostThreads = 1024;

const KeyRow kRows[] = {
    {{"cluster", Group::machine, "MACHINE",
      "the machine: words such as rtx4090+rtx4060+host:64GiB, 2xrtx3090 or here (this machine), a "
      "preset (`berth devices` lists both), or a berth.cluster/1 file"},
     field<&Settings::cluster>(),
     Names::name_or_file},
    {{"costs", Group::machine, "SOURCE",
      "source of compute times: roofline, stated (in the graph file), or a file (berth.costs/1, or "
      "a "
      "profile of TensorFlow, PyTorch, ONNX Runtime or Nsight Systems); default: stated where the "
      "graph has one, roofline for the other ops"},
     field<&Settings::costs>(),
     Names::name_or_file},
    {{"tf32", Group::machine, "all|convolutions|none",
      "what of f32 roofline costs have in TF32, on devices with flops_tf32; default: as the plan's "
      "tool computes it, else the model's runtime: all, or convolutions with PyTorch"},
     field<&Settings::tf32>()},
    {{"objective", Group::problem, "latency|throughput",
      "what to minimise: latency (the runtime of one step) or throughput (the largest load of a "
      "device or channel when steps run as a pipeline); default: latency"},
     field<&Settings::objective>()},
    {{"semantics", Group::problem, "dataflow|placeto", "rules of the simulator; default: dataflow"},
     field<&Settings::semantics>()},
    {{"grouping", Group::problem, "NAME",
      "how ops are grouped: colocation (only ops that must stay together), icml2017 (LSTM steps, "
      "runs of convolutions, and what serves only one of them), placeto (icml2017, then merged "
      "along "
      "the heaviest edges to --groups), balanced (merged to --groups of similar size); default: "
      "balanced with --groups, else colocation"},
     field<&Settings::grouping>()},
    {{"groups", Group::problem, "N",
      "merge ops into at most this many groups; default: every op by itself"},
     field<&Settings::groups>(),
     Names::nothing,
     1,
     kMost32},
    {{"inputs", Group::problem, "host|any|DEVICE",
      "where a step finds the model's inputs: host, any, or a device or kind of the cluster; "
      "default: host, where the machine has one"},
     field<&Settings::inputs>()},
    {{"in_flight", Group::problem, "N",
      "throughput: steps in flight at once, each with its own inputs, activations and outputs in "
      "memory; 0: memory holds the parameters alone; default: 1"},
     field<&Settings::in_flight>(),
     Names::nothing,
     0,
     1'000'000},
    {{"soft", Group::problem, "",
      "leave constraints out that cannot be kept, with a note, instead of failing"},
     field<&Settings::soft>()},
    {{"tool", Group::problem,
      "accelerate|llama.cpp|vllm|deepspeed|torch-pipelining|onnxruntime|openvino|tensorflow|"
      "onnx-mlir|iree",
      "search among the plans that this tool can run as they are; `place` prints the plan, unless "
      "--write writes it"},
     field<&Settings::tool>()},
    {{"replicate", Group::problem, "auto|N|DEVICE=SAMPLES,..",
      "share the batch of a training step among replicas: auto searches for number, devices and "
      "shares; gpu:0=27,gpu:1+gpu:2=37 says them (+ joins the devices of one replica)"},
     field<&Settings::replicate>()},
    {{"clusters", Group::comparison, "A,B,C",
      "place on each of these machines instead of --cluster; separated by commas"},
     field<&Settings::clusters>(),
     Names::name_or_file},
    {{"policy", Group::search, "NAME",
      "policy name, or a policy's Lua file, which runs with your privileges (it has `os` and "
      "`io`); "
      "default: auto"},
     field<&Settings::policy>(),
     Names::name_or_file},
    {{"fallbacks", Group::search, "A,B,C",
      "policies to try in order where the one before fails or finds nothing that fits"},
     field<&Settings::fallbacks>(),
     Names::name_or_file},
    {{"policies", Group::comparison, "A,B,C",
      "the policies to run, separated by commas, each with options behind colons as in "
      "placeto:weights=none; default: all of `berth plugins`"},
     field<&Settings::policies>(),
     Names::name_or_file},
    {{"options", Group::search, "", "options of the policy"},
     Field<OptionTexts>([](Settings& settings) -> OptionTexts& { return settings.options; })},
    {{"seed", Group::search, "N",
      "the only source of randomness: same seed, same placement; default: 0"},
     field<&Settings::seed>()},
    {{"seeds", Group::comparison, "0..4",
      "use each of these seeds instead of --seed; the table shows the best and the median"},
     field<&Settings::seeds>()},
    {{"threads", Group::search, "N",
      "threads of the policy, and of what evaluates placements; 0 = all cores, the default"},
     field<&Settings::threads>(),
     Names::nothing,
     0,
     kMostThreads},
    {{"budget", Group::search, "DURATION",
      "stop a policy's search after this time: 30s, 500ms, 2m, ...; default: when it is done. "
      "Loading comes before it, and after it the lower bound (see --bound) and what a page tells "
      "of "
      "ops elsewhere, each of which then takes no longer than the search may, or a second"},
     field<&Settings::budget_s>()},
    {{"moves", Group::search, "N",
      "stop policies that count moves after so many: a limit that no machine's speed changes"},
     field<&Settings::moves>()},
    {{"within", Group::search, "SHARE",
      "take the simplest placement that is found at most so much slower than the best: the fewest "
      "cuts, then transfers, then devices; default: 3% for a tool, else none"},
     field<&Settings::within>()},
    {{"start", Group::search, "FILE", "a placement (berth.placement/1) that searches start from"},
     field<&Settings::start>(),
     Names::read_file},
    {{"plugin_folders", Group::engine, "", "where plugins are looked for, in order"},
     field<&Settings::plugin_folders>(),
     Names::folder_or_lua},
    {{"plugins", Group::engine, "", "the plugins and Lua policies that may be opened"},
     field<&Settings::plugins>(),
     Names::folder_or_lua},
    {{"evaluator", Group::measuring, "simulate|measure",
      "whether placements are simulated, or executed by --backend and measured (then --cluster is "
      "not needed); default: simulate"},
     field<&Settings::evaluator>()},
    {{"backend", Group::measuring, "NAME[:KEY=VALUE,..]",
      "the backend that executes the model, such as cpu or cpu:devices=4,threads=1; `berth plugins "
      "NAME` lists a backend's options"},
     field<&Settings::backend>()},
    {{"bound", Group::search, "none|quick|strong",
      "how much work the lower bound is worth; default: strong"},
     field<&Settings::bound>()},
    {{"prove", Group::search, "",
      "say how far from the best this is at most, and what the proof rests on"},
     field<&Settings::prove>()},
    {{"output", Group::files, "FILE", "write the placement here (berth.placement/1)"},
     field<&Settings::output>(),
     Names::written_file},
    {{"annotate", Group::files, "FILE",
      "write the model here, with the placement in the model's own format: --write model=FILE"},
     field<&Settings::annotate>(),
     Names::written_file},
    {{"trace", Group::files, "FILE",
      "write the step here as a Chrome trace, which ui.perfetto.dev opens"},
     field<&Settings::trace>(),
     Names::written_file},
    {{"svg", Group::files, "FILE", "draw the step here: devices, links, critical path (SVG)"},
     field<&Settings::svg>(),
     Names::written_file},
    {{"certificate", Group::files, "FILE",
      "write the lower bound's proof here (berth.certificate/1), which check_certificate.py among "
      "the scripts checks on its own"},
     field<&Settings::certificate>(),
     Names::written_file},
    {{"report", Group::files, "FILE", "write a page that shows the placement here (HTML)"},
     field<&Settings::report>(),
     Names::written_file},
    {{"log", Group::files, "FILE",
      "write here what the search does, as lines of JSON, while it does it; `berth watch` shows "
      "them"},
     field<&Settings::log>(),
     Names::written_file},
    {{"write", Group::files, "", "plans in other tools' forms"},
     field<&Settings::write>(),
     Names::written_file},
    {{"csv", Group::files, "FILE", "write the table to this file too"},
     field<&Settings::csv>(),
     Names::written_file},
    {{"batch", Group::model, "", "size of the first dimension of every input that leaves it open"},
     Batch{},
     Names::nothing,
     1},
    {{"dims", Group::model, "", "sizes of dynamic dimensions"},
     Field<std::map<std::string, std::int64_t>>(
         [](Settings& settings) -> auto& { return settings.load.dims; })},
    {{"arguments", Group::model, "inputs|parameters|guess",
      "what the model's inputs are: inputs, or parameters (those whose shape the file fixes: "
      "weights; where it fixes all, those used as weights); default: guess, by names and uses that "
      "weights have"},
     Field<std::optional<LoadOptions::Arguments>>(
         [](Settings& settings) -> auto& { return settings.load.arguments; })},
    {{"experts", Group::model, "K/N",
      "of a mixture of experts: a token chooses K of N, such as 2/8; default: as the model's "
      "router "
      "does"},
     Field<std::optional<LoadOptions::Experts>>(
         [](Settings& settings) -> auto& { return settings.load.experts; })},
    {{"op_rules", Group::model, "FILE",
      "a berth.ops/1 file: what ops give and do that Berth does not know"},
     Field<std::optional<std::string>>(
         [](Settings& settings) -> auto& { return settings.load.op_rules; }),
     Names::read_file},
    {{"shapes", Group::model, "",
      "shapes of model inputs, and of tensors whose size the file does not tell"},
     Field<std::map<std::string, std::vector<std::int64_t>>>(
         [](Settings& settings) -> auto& { return settings.load.shapes; })},
    {{"fetches", Group::model, "", "ops or tensors to compute"}, Field<std::vector<std::string>>([
     ](Settings& settings) -> auto& { return settings.load.fetches; })},
    {{"fold", Group::model, "", "compute once what depends on parameters alone; default: true"},
     Field<std::optional<bool>>([](Settings& settings) -> auto& { return settings.load.fold; })},
    {{"states", Group::model, "", "results that are the next step's inputs"},
     Field<std::vector<std::string>>(
         [](Settings& settings) -> auto& { return settings.load.states; })},
    {{"constraints", Group::problem, "", "rules that every placement obeys"},
     Field<std::vector<ConstraintRule>>(
         [](Settings& settings) -> auto& { return settings.constraints; })},
};

}  // namespace

std::span<const KeyRow> key_rows() noexcept {
  return kRows;
}

const KeyRow& key_row(std::string_view key) {
  for (const KeyRow& row : kRows) {
    if (key == row.key.name) return row;
  }
  std::vector<std::string> known;
  for (const KeyRow& row : kRows) known.emplace_back(row.key.name);
  throw Error(ErrorCode::invalid_argument,
              cat("no setting '", key, "'", known_names(key, known, known.size())));
}

std::span<const SettingKey> setting_keys() noexcept {
  static const auto keys = [] {
    std::array<SettingKey, std::size(kRows)> all{};
    std::transform(std::begin(kRows), std::end(kRows), all.begin(),
                   [](const KeyRow& row) { return row.key; });
    return all;
  }();
  return keys;
}

}  // namespace berth
