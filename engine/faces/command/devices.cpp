// `berth devices`: the machines that can be named, and what is in one.
#include <spdlog/fmt/fmt.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "berth/cluster.h"
#include "berth/files.h"
#include "berth/machines.h"
#include "berth/run.h"
#include "cluster/implausible.h"
#include "console.h"
#include "detect/detected_machine.h"
#include "detect/here.h"
#include "outcome.h"
#include "setting_options.h"
#include "subcommands.h"
#include "support/units.h"
#include "text_table.h"

namespace berth::command {
namespace {

using Json = nlohmann::ordered_json;
using Align = TextTable::Align;

struct DevicesOptions {
  std::optional<std::string> cluster;
  std::string backend;
  bool detect = false;
  bool json = false;
};

std::string known_devices_text() {
  TextTable table({{"device"},
                   {"memory", Align::right},
                   {"f32", Align::right},
                   {"16-bit", Align::right},
                   {"memory bandwidth", Align::right},
                   {"slot"},
                   {"what it is; source"}});
  for (const KnownDevice& known : known_devices()) {
    const Device& device = known.device;
    table.add_row({device.name,
                   device.memory_bytes > 0 ? format_bytes(device.memory_bytes) : "as said",
                   format_rate(device.flops, "FLOP/s"),
                   format_rate(device.flops_16 > 0 ? device.flops_16 : device.flops, "FLOP/s"),
                   format_rate(device.memory_bandwidth, "B/s"), known.slot,
                   known.description + "; " + known.source});
  }
  return table.text(2);
}

std::string presets_text() {
  std::string text;
  for (const Cluster::PresetInfo& preset : Cluster::presets()) {
    text += fmt::format("{}\n  {}\n  source: {}\n", preset.name, preset.description, preset.source);
  }
  return text + "\n" + known_devices_text() + "\n" + machine_words_help() +
         "\n"
         "\nThe devices and links of one: berth devices --cluster NAME\n"
         "The file that it stands for: berth devices --cluster NAME --json\n"
         "This machine, as a cluster to place on: berth devices --detect --json > machine.json\n"
         "What a backend makes of it: berth devices --backend cpu\n";
}

Json runs_json(const DeviceOps& runs) {
  Json dtypes = Json::array();
  for (const DType dtype : runs.dtypes) dtypes.push_back(dtype_name(dtype));
  return {{"types", runs.types}, {"dtypes", std::move(dtypes)}};
}

Json presets_json() {
  Json list = Json::array();
  for (const Cluster::PresetInfo& preset : Cluster::presets()) {
    list.push_back(
        {{"name", preset.name}, {"description", preset.description}, {"source", preset.source}});
  }
  Json devices = Json::array();
  for (const KnownDevice& known : known_devices()) {
    devices.push_back({{"name", known.device.name},
                       {"description", known.description},
                       {"source", known.source},
                       {"host", known.device.host},
                       {"memory_bytes", known.device.memory_bytes},
                       {"flops", known.device.flops},
                       {"flops_16", known.device.flops_16},
                       {"flops_8", known.device.flops_8},
                       {"flops_64", known.device.flops_64},
                       {"flops_tf32", known.device.flops_tf32},
                       {"memory_bandwidth_bytes_per_s", known.device.memory_bandwidth},
                       {"multiprocessors", known.device.multiprocessors},
                       {"slot", known.slot}});
    if (known.npu.name.empty()) continue;
    devices.back()["npu"] = {{"flops_16", known.npu.flops_16},
                             {"flops_8", known.npu.flops_8},
                             {"runs", runs_json(known.npu.runs)}};
  }
  return {{"clusters", std::move(list)}, {"devices", std::move(devices)}};
}

template <typename List, typename Text>
std::string spaced(const List& list, Text&& text) {
  std::string all;
  for (const auto& each : list) all += fmt::format("{}{}", all.empty() ? "" : " ", text(each));
  return all;
}

/// The ops of each kind that does not run every one.
std::string runs_text(const Cluster& cluster) {
  std::string text;
  for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
    const DeviceOps& runs = cluster.kind_device(kind).runs;
    if (runs.every()) continue;
    text += fmt::format("\n  {} runs", printable(cluster.kind_name(kind)));
    if (!runs.types.empty()) {
      text += fmt::format(" {} types of ops: {}", runs.types.size(),
                          spaced(runs.types, [](const auto& type) { return printable(type); }));
    }
    if (!runs.dtypes.empty()) {
      text += fmt::format("{} element types: {}", runs.types.empty() ? "" : ";",
                          spaced(runs.dtypes, [](DType dtype) { return dtype_name(dtype); }));
    }
    text += "\n";
  }
  return text;
}

std::string cluster_text(const Cluster& cluster) {
  TextTable devices({{"device"},
                     {"kind"},
                     {"memory", Align::right},
                     {"f32", Align::right},
                     {"16-bit", Align::right},
                     {"memory bandwidth", Align::right},
                     {"per op", Align::right},
                     {""}});
  for (DeviceId id = 0; id < cluster.device_count(); ++id) {
    const Device& device = cluster.device(id);
    const double flops_16 = device.flops_16 > 0 ? device.flops_16 : device.flops;
    devices.add_row({device.name, device.kind, format_bytes(device.memory_bytes),
                     format_rate(device.flops, "FLOP/s"), format_rate(flops_16, "FLOP/s"),
                     format_rate(device.memory_bandwidth, "B/s"), format_us(device.op_overhead_us),
                     device.host ? "host" : ""});
  }
  TextTable links({{"link"}, {"bandwidth", Align::right}, {"latency", Align::right}, {"shares"}});
  for (const LinkSpec& link : cluster.links()) {
    std::string shares;
    for (const std::string& channel : link.shares) shares += (shares.empty() ? "" : ", ") + channel;
    if (link.parallel) shares = "nothing: parallel";
    if (link.receiver_us) {
      shares = fmt::format("nothing: the receiver copies, {} each and per byte",
                           format_us(*link.receiver_us));
    }
    links.add_row({link.src + " -> " + link.dst, format_rate(link.bandwidth_bytes_per_s, "B/s"),
                   format_us(link.latency_us), shares});
  }
  std::string text = printable(cluster.name()) + "\n\n" + devices.text(2) + "\n" + links.text(2) +
                     runs_text(cluster);
  for (const Cluster::PresetInfo& preset : Cluster::presets()) {
    if (preset.name == cluster.name()) return text + "\n  source: " + preset.source + "\n";
  }
  for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
    if (const KnownDevice* const known = find_known_device(cluster.kind_name(kind))) {
      text += fmt::format("\n  {}: {}; source: {}", known->device.name, known->description,
                          known->source);
    }
  }
  if (text.back() != '\n') text += "\n";
  return text;
}

std::shared_ptr<const Cluster> chosen_cluster(const DevicesOptions& options) {
  if (options.cluster) return detect::load_machine(*options.cluster);
  const auto engine = make_engine(read_settings());
  return make_backend(*engine, options.backend)->cluster();
}

/// The source of a device's figures in a machine that has a name.
std::string source_of(const Cluster& cluster, const Device& device) {
  for (const Cluster::PresetInfo& preset : Cluster::presets()) {
    if (preset.name == cluster.name()) return preset.source;
  }
  const KnownDevice* const known = find_known_device(device.kind);
  return known == nullptr ? std::string() : known->source;
}

/// The machine with the sources that its file or the known devices have: a cluster keeps none.
detect::DetectedMachine with_sources(std::shared_ptr<const Cluster> cluster,
                                     const std::string& name) {
  detect::DetectedMachine machine{std::move(cluster), {}, {}, {}};
  Json document;
  if (name.starts_with('{') || names_cluster_file(name)) {
    document = Json::parse(name.starts_with('{') ? name : read_text(name));
    for (const Json& link : document["links"]) {
      machine.link_sources.push_back(link.value("source", std::string()));
    }
  }
  for (DeviceId id = 0; id < machine.cluster->device_count(); ++id) {
    machine.device_sources.push_back(
        document.is_null() ? source_of(*machine.cluster, machine.cluster->device(id))
                           : document["devices"][at(id)].value("source", std::string()));
  }
  return machine;
}

/// Those of the devices, a line each.
std::string sources_text(const detect::DetectedMachine& machine) {
  std::string text;
  for (DeviceId id = 0; id < machine.cluster->device_count(); ++id) {
    if (machine.device_sources[at(id)].empty()) continue;
    text += fmt::format("{}  {}: {}\n", text.empty() ? "\n" : "",
                        printable(machine.cluster->device(id).name),
                        printable(machine.device_sources[at(id)]));
  }
  return text;
}

int show_detected(const DevicesOptions& options) {
  const detect::MachineFacts facts = detect::read_machine();
  const detect::DetectedMachine machine = detect::machine_of(facts);
  for (const auto* notes : {&facts.notes, &machine.notes}) {
    for (const std::string& note : *notes) log_note(note);
  }
  if (options.json) {
    print(detect::cluster_json(machine));
    return 0;
  }
  print(cluster_text(*machine.cluster) + sources_text(machine));
  return 0;
}

int run_devices(const DevicesOptions& options) {
  if (options.detect || options.cluster == "here") return show_detected(options);
  if (!options.cluster && options.backend.empty()) {
    print(options.json ? json_text(presets_json()) : presets_text());
    return 0;
  }
  const std::string name = options.cluster.value_or("");
  const detect::DetectedMachine machine = with_sources(chosen_cluster(options), name);
  if (options.json) {
    print(detect::cluster_json(machine));
    return 0;
  }
  // The text of a machine that has a name says it by kind.
  const bool of_file = name.starts_with('{') || names_cluster_file(name);
  if (of_file) {
    for (const auto& notes :
         {implausible_figures(*machine.cluster), implausible_memory(*machine.cluster)}) {
      for (const std::string& note : notes) log_note(note);
    }
  }
  print(cluster_text(*machine.cluster) + (of_file ? sources_text(machine) : std::string()));
  return 0;
}

}  // namespace

void add_devices(CLI::App& app, Action& chosen) {
  CLI::App* sub = app.add_subcommand("devices", "list the built-in machines, or show one machine");
  const auto options = std::make_shared<DevicesOptions>();
  sub->add_option("--cluster", options->cluster, "show the devices and links of this machine")
      ->type_name("MACHINE");
  sub->add_option("--backend", options->backend,
                  "show the devices of this backend on this machine, with nominal figures, such as "
                  "cpu or cpu:devices=4,threads=1")
      ->type_name("NAME[:KEY=VALUE,..]")
      ->excludes("--cluster");
  sub->add_flag("--detect", options->detect,
                "find out what this machine is: processors, memory, NVIDIA's GPUs and the links "
                "between them, each figure with its source")
      ->excludes("--cluster")
      ->excludes("--backend");
  sub->add_flag(
      "--json", options->json,
      "print one JSON object; with --cluster, --backend or --detect, a berth.cluster/1 file");
  sub->footer(
      "Examples:\n"
      "  berth devices\n"
      "  berth devices --cluster k80x4\n"
      "  berth devices --cluster rtx4090+rtx4060+host:64GiB --json > mine.cluster.json\n"
      "  berth devices --cluster sd8gen3:12GiB    # a phone, with what its neural processor runs\n"
      "  berth devices --detect --json > machine.json\n"
      "  berth devices --backend cpu:devices=4");
  sub->callback([&chosen, options] { chosen = [options] { return run_devices(*options); }; });
}

}  // namespace berth::command
