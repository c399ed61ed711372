#include <algorithm>
#include <filesystem>
#include <system_error>

#include "berth/error.h"
#include "berth/files.h"
#include "berth/machines.h"
#include "berth/support/text.h"
#include "files/json_reader.h"
#include "support/sizes.h"

namespace berth {
namespace {

constexpr std::string_view kClusterFormat = "berth.cluster/1";

/// The optional figures of a device, by their key in the file.
struct Figure {
  const char* key;
  double Device::*field;
};
constexpr Figure kFigures[] = {
    {"flops", &Device::flops},
    {"flops_16", &Device::flops_16},
    {"flops_8", &Device::flops_8},
    {"flops_64", &Device::flops_64},
    {"flops_tf32", &Device::flops_tf32},
    {"memory_bandwidth_bytes_per_s", &Device::memory_bandwidth},
    {"op_overhead_us", &Device::op_overhead_us},
    {"multiprocessors", &Device::multiprocessors},
};

/// Where figures come from is for people alone, but it is a text.
void check_source(const JsonReader& json) {
  if (json.has("source")) static_cast<void>(json.at("source").text());
}

/// A number of bytes, or a text such as "24GiB".
std::int64_t read_memory(const JsonReader& json) {
  if (!json.json().is_string()) return json.bytes();
  if (const auto bytes = memory_of_text(json.text())) return *bytes;
  json.fail(cat("'", json.text(),
                "' is no amount of memory; write bytes, such as 25769803776, or a text such as "
                "\"24GiB\""));
}

DeviceOps read_runs(const JsonReader& json) {
  json.expect_object({"types", "dtypes"});
  DeviceOps runs;
  if (json.has("types")) {
    const JsonReader types = json.at("types");
    for (std::size_t i = 0; i < types.size(); ++i) runs.types.push_back(types.at(i).text());
  }
  if (json.has("dtypes")) {
    const JsonReader dtypes = json.at("dtypes");
    for (std::size_t i = 0; i < dtypes.size(); ++i) runs.dtypes.push_back(dtypes.at(i).dtype());
  }
  if (runs.every()) json.fail("says nothing; list \"types\" or \"dtypes\", or leave it out");
  return runs;
}

Json runs_json(const DeviceOps& runs) {
  Json entry = Json::object();
  if (!runs.types.empty()) entry["types"] = runs.types;
  for (const DType dtype : runs.dtypes) entry["dtypes"].push_back(dtype_name(dtype));
  return entry;
}

Device read_device(const JsonReader& json) {
  json.expect_object({"name", "kind", "memory_bytes", "flops", "flops_16", "flops_8", "flops_64",
                      "flops_tf32", "memory_bandwidth_bytes_per_s", "op_overhead_us",
                      "multiprocessors", "host", "engine_per_link", "runs", "source"});
  Device device;
  device.name = json.at("name").text();
  device.kind = json.at("kind").text();
  if (json.has("memory_bytes")) device.memory_bytes = read_memory(json.at("memory_bytes"));
  for (const Figure& figure : kFigures) {
    if (json.has(figure.key)) device.*figure.field = json.at(figure.key).amount();
  }
  if (json.has("host")) device.host = json.at("host").boolean();
  if (json.has("engine_per_link")) {
    device.engine_per_link = json.at("engine_per_link").boolean();
  }
  if (json.has("runs")) device.runs = read_runs(json.at("runs"));
  check_source(json);
  return device;
}

LinkSpec read_link(const JsonReader& json) {
  json.expect_object({"src", "dst", "bandwidth_bytes_per_s", "latency_us", "shares", "parallel",
                      "receiver_us", "source"});
  LinkSpec link;
  link.src = json.at("src").text();
  link.dst = json.at("dst").text();
  link.bandwidth_bytes_per_s = json.at("bandwidth_bytes_per_s").amount();
  link.latency_us = json.at("latency_us").amount();
  if (json.has("shares")) {
    const JsonReader shares = json.at("shares");
    for (std::size_t i = 0; i < shares.size(); ++i) link.shares.push_back(shares.at(i).text());
  }
  if (json.has("parallel")) link.parallel = json.at("parallel").boolean();
  if (json.has("receiver_us")) link.receiver_us = json.at("receiver_us").amount();
  check_source(json);
  return link;
}

}  // namespace

std::shared_ptr<const Cluster> parse_cluster(std::string_view json, const std::string& origin) {
  const Json document = parse_json(json, origin);
  const JsonReader root(document, origin);
  root.expect_object({"format", "name", "devices", "links"}, kClusterFormat);
  const JsonReader device_list = root.at("devices");
  std::vector<Device> devices;
  for (std::size_t i = 0; i < device_list.size(); ++i) {
    devices.push_back(read_device(device_list.at(i)));
  }
  const JsonReader link_list = root.at("links");
  std::vector<LinkSpec> links;
  for (std::size_t i = 0; i < link_list.size(); ++i) links.push_back(read_link(link_list.at(i)));
  try {
    return std::make_shared<const Cluster>(root.at("name").text(), std::move(devices), links);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::invalid_file) throw;
    throw Error(ErrorCode::invalid_file, cat(origin, ": ", error.what()));
  }
}

bool names_cluster_file(std::string_view text) {
  const auto digit = [&](std::size_t i) {
    return i < text.size() && text[i] >= '0' && text[i] <= '9';
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '/') return true;
    if (text[i] == '.' && !(i > 0 && digit(i - 1) && digit(i + 1))) return true;
  }
  return false;
}

namespace {

/// A name such as g5.xlarge or a100-mig-1g.5gb is meant as a machine, and counts as a file's.
void check_named_as_file(const std::string& machine) {
  const bool plain = machine.find('/') == std::string::npos && !machine.ends_with(".json");
  std::error_code ignored;
  if (!plain || std::filesystem::exists(machine, ignored)) return;
  throw Error(ErrorCode::not_found,
              cat("there is no file '", machine,
                  "', and no machine in words has a '.' but in numbers: name a cloud's instance by "
                  "its cards, such as 4xa10g+server:192GiB, and describe a slice of a GPU (MIG) in "
                  "a file. ",
                  machine_words_help()));
}

}  // namespace

// A Lua config may give a machine of its own, which settings hold as the text of its file.
std::shared_ptr<const Cluster> load_cluster(const std::string& machine) {
  if (machine.starts_with('{')) return parse_cluster(machine, "the cluster");
  if (names_cluster_file(machine)) {
    check_named_as_file(machine);
    return parse_cluster(read_text(machine), machine);
  }
  const auto presets = Cluster::presets();
  const bool preset = std::any_of(presets.begin(), presets.end(),
                                  [&](const auto& info) { return info.name == machine; });
  if (preset) return Cluster::preset(machine);
  try {
    return machine_of_words(machine);
  } catch (const Error& error) {
    // A word alone may be meant as a preset.
    if (machine.find_first_of("+:@") != std::string::npos) throw;
    const std::string what = error.what();
    std::vector<std::string> names;
    for (const Cluster::PresetInfo& info : presets) names.push_back(info.name);
    throw Error(ErrorCode::not_found,
                cat(what, what.ends_with('.') ? "" : ".", " Presets: ", join(names), "."));
  }
}

std::string cluster_json(const Cluster& cluster) {
  Json devices = Json::array();
  for (DeviceId id = 0; id < cluster.device_count(); ++id) {
    const Device& device = cluster.device(id);
    Json entry = {{"name", device.name}, {"kind", device.kind}};
    if (device.memory_bytes != kNoLimit) entry["memory_bytes"] = device.memory_bytes;
    for (const Figure& figure : kFigures) {
      if (device.*figure.field != 0) entry[figure.key] = device.*figure.field;
    }
    if (device.host) entry["host"] = true;
    if (device.engine_per_link) entry["engine_per_link"] = true;
    if (!device.runs.every()) entry["runs"] = runs_json(device.runs);
    devices.push_back(std::move(entry));
  }
  Json links = Json::array();
  for (const LinkSpec& link : cluster.links()) {
    Json entry = {{"src", link.src},
                  {"dst", link.dst},
                  {"bandwidth_bytes_per_s", link.bandwidth_bytes_per_s},
                  {"latency_us", link.latency_us}};
    if (!link.shares.empty()) entry["shares"] = link.shares;
    if (link.parallel) entry["parallel"] = true;
    if (link.receiver_us) entry["receiver_us"] = *link.receiver_us;
    links.push_back(std::move(entry));
  }
  const Json document = {{"format", kClusterFormat},
                         {"name", cluster.name()},
                         {"devices", std::move(devices)},
                         {"links", std::move(links)}};
  try {
    return document.dump(1) + "\n";
  } catch (const Json::type_error&) {
    // Replaced letters would name other devices, or two of them alike.
    throw Error(ErrorCode::invalid_argument,
                cat("cluster '", cluster.name(),
                    "' cannot be written: a name in it is not UTF-8, which JSON is; rename it"));
  }
}

}  // namespace berth
