// `berth profile`: what a simulator needs to know of a model on this machine.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "berth/backend.h"
#include "berth/error.h"
#include "berth/files.h"
#include "berth/run.h"
#include "console.h"
#include "detect/here.h"
#include "execution.h"
#include "files/profile_trace.h"
#include "outcome.h"
#include "profile_cache.h"
#include "setting_options.h"
#include "subcommands.h"
#include "support/units.h"
#include "targets.h"
#include "text_table.h"

namespace berth::command {
namespace {

using Json = nlohmann::ordered_json;
using Align = TextTable::Align;

constexpr std::size_t kOpRows = 15;

struct ProfileChoices {
  SettingOptions settings;
  RepeatChoices repeats;
  std::string trace;    // another tool's measurements, instead of a backend's
  std::string machine;  // that they count for
  std::string costs;
  std::string cluster;
  bool fresh = false;
  bool json = false;
};

struct Profiled {
  std::shared_ptr<const Graph> graph;
  std::shared_ptr<const Costs> costs;
  std::shared_ptr<const Cluster> cluster;
  ProfileFiles files;
  bool cached = false;
};

void parse(Profiled& profiled, ProfileFiles files, const std::string& costs_origin,
           const std::string& cluster_origin) {
  profiled.cluster = parse_cluster(files.cluster, cluster_origin);
  profiled.costs = parse_costs(files.costs, costs_origin, *profiled.graph, *profiled.cluster);
  profiled.files = std::move(files);
}

void log_notes(const ProfileFiles& files) {
  for (const Json& note : Json::parse(files.notes)) log_note(note.get<std::string>());
}

/// Takes a profile from the cache; a damaged one counts as none, and the next one replaces it.
bool find_kept(Profiled& profiled, const ProfileCache& cache) {
  std::optional<ProfileFiles> found = cache.find();
  if (!found) return false;
  try {
    parse(profiled, std::move(*found), cache.file("costs").string(),
          cache.file("cluster").string());
    log_notes(profiled.files);
    return true;
  } catch (const Error& error) {
    log_note(fmt::format("the profile that was kept is damaged, so this one is measured anew: {}",
                         error.what()));
  } catch (const Json::exception& error) {
    log_note(
        fmt::format("the profile that was kept is damaged, so this one is measured anew: {}: {}",
                    cache.file("notes").string(), error.what()));
  }
  return false;
}

/// Keeps it in `cache`, unless it was stopped: who asks again wants the steps that it lacks.
ProfileFiles measure_profile(const ProfileChoices& options, const Execution& execution,
                             const ProfileCache& cache) {
  const MeasureOptions& repeats = options.repeats.options;
  SessionOptions session_options;
  session_options.seed = repeats.seed;
  const auto session = execution.backend->open(execution.program, session_options);
  const InterruptGuard guard;
  Stage stage("profiling " + options.settings.model);
  ProfileOptions profile_options;
  profile_options.warm_up = repeats.warm_up;
  profile_options.repeats = repeats.repeats;
  profile_options.seed = repeats.seed;
  profile_options.should_stop = repeats.should_stop;
  profile_options.progress = [&](const std::string& text) { stage.show(text); };
  const Profile profile = berth::profile(*execution.backend, *session, profile_options);
  Json notes = execution.backend->notes();
  for (const std::string& note : profile.notes) notes.push_back(note);
  ProfileFiles files = {costs_json(*execution.program->graph, *profile.costs, *profile.cluster),
                        cluster_json(*profile.cluster), notes.dump()};
  if (!profile.stopped) cache.keep(files);
  return files;
}

Profiled make_profile(Engine& engine, const ProfileChoices& options, const Settings& settings) {
  const Execution execution = load_execution(engine, options.settings.model, settings);
  Profiled profiled;
  profiled.graph = execution.program->graph;
  const MeasureOptions& repeats = options.repeats.options;
  const ProfileCache cache(*execution.program, execution.backend->fingerprint(),
                           fmt::format("{} {} {}", repeats.warm_up, repeats.repeats, repeats.seed));
  profiled.cached = !options.fresh && find_kept(profiled, cache);
  if (!profiled.cached) {
    ProfileFiles files = measure_profile(options, execution, cache);
    log_notes(files);
    parse(profiled, std::move(files), "the profile's costs", "the profile's cluster");
  }
  return profiled;
}

/// The file of costs that were measured with tensors of other sizes than the graph's, which it does not
/// state: they are not known.
std::string without_sizes(const std::string& costs) {
  Json document = Json::parse(costs);
  document.erase("tensor_bytes");
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// From what another tool measured.
Profiled read_profile(Engine& engine, const ProfileChoices& options, const Settings& settings) {
  Profiled profiled;
  LoadedModel model = engine.load(options.settings.model, settings.load);
  for (const std::string& note : model.notes) log_note(note);
  profiled.graph = std::move(model.graph);
  profiled.cluster = detect::load_machine(options.machine);
  LoadedCosts loaded = engine.load_costs(options.trace, *profiled.graph, *profiled.cluster);
  for (const std::string& note : loaded.notes) log_note(note);
  profiled.costs = std::move(loaded.costs);
  profiled.files = {costs_json(*profiled.graph, *profiled.costs, *profiled.cluster),
                    cluster_json(*profiled.cluster), "[]"};
  const bool other_sizes = std::any_of(
      loaded.notes.begin(), loaded.notes.end(),
      [](const std::string& note) { return note.find(kOfOtherSizes) != std::string::npos; });
  if (other_sizes) profiled.files.costs = without_sizes(profiled.files.costs);
  return profiled;
}

double sum_us(const Profiled& profiled, KindId kind) {
  const auto us = profiled.costs->of_kind(kind);
  return std::accumulate(us.begin(), us.end(), 0.0);
}

std::string kinds_text(const Profiled& profiled) {
  TextTable table({{"kind"}, {"all ops", Align::right}, {"per op besides", Align::right}});
  for (KindId kind = 0; kind < profiled.cluster->kind_count(); ++kind) {
    table.add_row({profiled.cluster->kind_name(kind), format_us(sum_us(profiled, kind)),
                   format_us(profiled.cluster->kind_device(kind).op_overhead_us)});
  }
  return table.text(2);
}

std::string links_text(const Profiled& profiled) {
  if (profiled.cluster->links().empty()) return {};
  TextTable table({{"link"}, {"bandwidth", Align::right}, {"latency", Align::right}});
  for (const LinkSpec& link : profiled.cluster->links()) {
    table.add_row({link.src + " -> " + link.dst, format_rate(link.bandwidth_bytes_per_s, "B/s"),
                   format_us(link.latency_us)});
  }
  return "\n" + table.text(2);
}

std::string ops_text(const Profiled& profiled) {
  std::vector<OpId> ops(static_cast<std::size_t>(profiled.graph->op_count()));
  std::iota(ops.begin(), ops.end(), 0);
  const auto us = [&](OpId op) { return profiled.costs->op_us(op, 0); };
  std::stable_sort(ops.begin(), ops.end(), [&](OpId a, OpId b) { return us(a) > us(b); });
  if (ops.size() > kOpRows) ops.resize(kOpRows);
  TextTable table({{"the slowest ops"},
                   {"type"},
                   {profiled.cluster->kind_name(0), Align::right},
                   {"", Align::right},
                   {"workspace", Align::right}});
  for (const OpId op : ops) {
    table.add_row({printable(profiled.graph->op_name(op)), printable(profiled.graph->op_type(op)),
                   format_us(us(op)), format_percent(us(op) / std::max(1e-9, sum_us(profiled, 0))),
                   format_bytes(profiled.costs->workspace_bytes(op))});
  }
  return "\n" + table.text(2);
}

Json profiled_json(const ProfileChoices& options, const Profiled& profiled) {
  Json kinds = Json::array();
  for (KindId kind = 0; kind < profiled.cluster->kind_count(); ++kind) {
    kinds.push_back({{"kind", profiled.cluster->kind_name(kind)},
                     {"ops_us", sum_us(profiled, kind)},
                     {"op_overhead_us", profiled.cluster->kind_device(kind).op_overhead_us}});
  }
  return {{"model", options.settings.model},
          {"graph", profiled.graph->name()},
          {"ops", profiled.graph->op_count()},
          {"machine", profiled.cluster->name()},
          {"cached", profiled.cached},
          {"kinds", std::move(kinds)},
          {"links", Json::parse(profiled.files.cluster)["links"]}};
}

int run_profile(const ProfileChoices& options) {
  std::vector<Target> targets;
  if (!options.costs.empty()) targets.push_back({"-o", options.costs});
  if (!options.cluster.empty()) targets.push_back({"--cluster-output", options.cluster});
  const Settings settings = options.settings.merged();
  if (!settings.backend && options.trace.empty()) {
    throw CLI::RequiredError(
        "--backend, which measures, or --from, which reads what was measured,");
  }
  const auto engine = make_engine(settings);
  options.settings.check_files(*engine, settings, targets,
                               {{"the profile", options.trace}, {"the cluster", options.machine}});
  const Profiled profiled =
      (options.trace.empty() ? make_profile : read_profile)(*engine, options, settings);
  Written written(targets);
  if (!options.costs.empty()) {
    written.attempt("-o", [&] { write_target(options.costs, profiled.files.costs); });
  }
  if (!options.cluster.empty()) {
    written.attempt("--cluster-output",
                    [&] { write_target(options.cluster, profiled.files.cluster); });
  }
  if (options.json) {
    print(json_text(profiled_json(options, profiled)));
    return written.exit_status();
  }
  std::string text = printable(fmt::format("{}: {} ops on {}{}", profiled.graph->name(),
                                           profiled.graph->op_count(), profiled.cluster->name(),
                                           profiled.cached ? ", measured before" : "")) +
                     "\n\n";
  text += kinds_text(profiled) + links_text(profiled) + ops_text(profiled);
  print(text + written.text());
  return written.exit_status();
}

}  // namespace

void add_profile(CLI::App& app, Action& chosen) {
  CLI::App* sub = app.add_subcommand("profile", "measure a model's ops and this machine's links");
  const auto options = std::make_shared<ProfileChoices>();
  options->repeats.options.repeats = 10;
  options->settings.add_model(*sub);
  options->settings.add(*sub, {"backend"});
  options->settings.add_config(*sub);
  CLI::Option* const from =
      add_file(*sub, "--from", options->trace,
               "take what another tool measured, by op name: a profile of TensorFlow, a trace of "
               "PyTorch, ONNX Runtime or Nsight Systems");
  CLI::Option* const cluster =
      sub->add_option("--cluster", options->machine,
                      "with --from, the machine whose kinds of devices it measured")
          ->type_name("PRESET|FILE")
          ->needs(from);
  from->needs(cluster);
  add_file(*sub, "-o,--output", options->costs,
           "write the costs here (berth.costs/1), for --costs of other subcommands");
  add_file(*sub, "--cluster-output", options->cluster,
           "write the machine here as measured (berth.cluster/1), for their --cluster");
  options->repeats.add_to(*sub, /*least=*/3);
  sub->add_flag("--fresh", options->fresh,
                "measure again what was measured before on this machine");
  for (const char* const measures : {"--backend", "--warm-up", "--repeats", "--seed", "--fresh"}) {
    from->excludes(measures);
  }
  sub->add_flag("--json", options->json, "print one JSON object on standard output");
  sub->footer(
      "Examples:\n"
      "  berth profile model.onnx --backend cpu -o costs.json --cluster-output machine.json\n"
      "  berth place model.onnx --cluster machine.json --costs costs.json --policy auto -o p.json\n"
      "  berth profile model.onnx --from trace.json --cluster machine.json -o costs.json\n"
      "Profiles are kept in the user's cache, by graph and machine.");
  sub->callback([&chosen, options] { chosen = [options] { return run_profile(*options); }; });
}

}  // namespace berth::command
