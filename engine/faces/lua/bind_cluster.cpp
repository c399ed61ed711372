// berth.cluster: presets, files, and clusters made in Lua.
#include "berth/cluster.h"
#include "berth/files.h"
#include "berth/support/text.h"
#include "call.h"
#include "cluster_values.h"
#include "detect/here.h"
#include "objects.h"
#include "state.h"
#include "values.h"

namespace berth::lua {
namespace {

/// Reads one table per entry of the list; `read(fields)` takes its fields.
template <typename Read>
void each_table(lua_State* L, const Value& list, const char* name, Read&& read) {
  if (!list.present()) return;
  list.require_table();
  const int count = static_cast<int>(lua_objlen(L, list.index()));
  for (int i = 1; i <= count; ++i) {
    const StackGuard guard(L);
    reserve_stack(L, 16);
    lua_rawgeti(L, list.index(), i);
    const std::string entry = cat(name, "[", i, "]");
    const Value table(L, lua_gettop(L), entry.c_str(), /*argument=*/0);
    table.require_table();
    Fields fields(L, table);
    try {
      read(fields);
      fields.finish();
    } catch (const Error& error) {
      throw Error(error.code(), cat(entry, ": ", error.what()));
    }
  }
}

DeviceOps read_runs(lua_State* L, const Value& table) {
  table.require_table();
  Fields fields(L, table);
  const Value types = fields.get("types");
  const Value dtypes = fields.get("dtypes");
  fields.finish();
  DeviceOps runs;
  if (types.present()) runs.types = types.texts();
  if (dtypes.present()) {
    for (const std::string& name : dtypes.texts()) {
      const auto dtype = dtype_from_name(name);
      if (!dtype) dtypes.refuse(cat("there is no element type '", name, "'"));
      runs.dtypes.push_back(*dtype);
    }
  }
  return runs;
}

void push_runs(lua_State* L, const DeviceOps& runs) {
  lua_newtable(L);
  if (!runs.types.empty()) {
    set_texts(L, "types", runs.types);
  }
  if (runs.dtypes.empty()) return;
  std::vector<std::string> names;
  for (const DType dtype : runs.dtypes) names.emplace_back(dtype_name(dtype));
  set_texts(L, "dtypes", names);
}

Device read_device(lua_State* L, Fields& fields) {
  Device device;
  device.name = fields.get("name").text();
  device.kind = fields.get("kind").text();
  if (const Value memory = fields.get("memory_bytes"); memory.present()) {
    const bool unlimited = memory.number() == std::numeric_limits<double>::infinity();
    device.memory_bytes = unlimited ? kNoLimit : memory.integer(0);
  }
  fields.read("flops", device.flops);
  fields.read("flops_16", device.flops_16);
  fields.read("flops_8", device.flops_8);
  fields.read("flops_64", device.flops_64);
  fields.read("flops_tf32", device.flops_tf32);
  fields.read("memory_bandwidth", device.memory_bandwidth);
  fields.read("op_overhead_us", device.op_overhead_us);
  fields.read("multiprocessors", device.multiprocessors);
  fields.read("host", device.host);
  fields.read("engine_per_link", device.engine_per_link);
  if (const Value runs = fields.get("runs"); runs.present()) device.runs = read_runs(L, runs);
  return device;
}

LinkSpec read_link(Fields& fields) {
  LinkSpec link;
  link.src = fields.get("src").text();
  link.dst = fields.get("dst").text();
  link.bandwidth_bytes_per_s = fields.get("bandwidth_bytes_per_s").number();
  fields.read("latency_us", link.latency_us);
  fields.read("shares", link.shares);
  fields.read("parallel", link.parallel);
  fields.read("receiver_us", link.receiver_us);
  return link;
}

}  // namespace

std::shared_ptr<const Cluster> read_cluster(lua_State* L, const Value& table) {
  Fields fields(L, table);
  const std::string name = fields.get("name").text();
  const Value devices = fields.get("devices");
  const Value links = fields.get("links");
  fields.finish();
  std::vector<Device> device_list;
  std::vector<LinkSpec> link_list;
  each_table(L, devices, "devices",
             [&](Fields& entry) { device_list.push_back(read_device(L, entry)); });
  each_table(L, links, "links", [&](Fields& entry) { link_list.push_back(read_link(entry)); });
  return std::make_shared<const Cluster>(name, std::move(device_list), std::move(link_list));
}

namespace {

int make(Call& call) {
  const Value what = call.argument(1, "cluster");
  if (what.is_text()) return call.made(detect::load_machine(what.text()));
  if (!what.is_table()) what.fail("a preset's name, a file's path or a table");
  return call.made(read_cluster(call.L, what));
}

int presets(Call& call) {
  push_records(call.L, Cluster::presets(), [&](const Cluster::PresetInfo& preset) {
    set_text(call.L, "name", preset.name);
    set_text(call.L, "description", preset.description);
    set_text(call.L, "source", preset.source);
  });
  return 1;
}

DeviceId device_of(const Call& call, const Cluster& cluster, int argument, const char* name) {
  return call.argument(argument, name).id(cluster.device_count());
}

int device(Call& call) {
  const auto cluster = call.self<const Cluster>();
  const Device& device = cluster->device(device_of(call, *cluster, 1, "device"));
  lua_newtable(call.L);
  set_text(call.L, "name", device.name);
  set_text(call.L, "kind", device.kind);
  set_bytes(call.L, "memory_bytes", device.memory_bytes);
  set_number(call.L, "flops", device.flops);
  set_number(call.L, "flops_16", device.flops_16);
  set_number(call.L, "flops_8", device.flops_8);
  set_number(call.L, "flops_64", device.flops_64);
  set_number(call.L, "flops_tf32", device.flops_tf32);
  set_number(call.L, "memory_bandwidth", device.memory_bandwidth);
  set_number(call.L, "op_overhead_us", device.op_overhead_us);
  set_number(call.L, "multiprocessors", device.multiprocessors);
  set_boolean(call.L, "host", device.host);
  set_boolean(call.L, "engine_per_link", device.engine_per_link);
  if (!device.runs.every()) {
    push_runs(call.L, device.runs);
    lua_setfield(call.L, -2, "runs");
  }
  return 1;
}

int find(Call& call) {
  const auto cluster = call.self<const Cluster>();
  const auto device = cluster->find_device(call.argument(1, "name").text());
  return device ? call.id(*device) : call.nil();
}

int kinds(Call& call) {
  const auto cluster = call.self<const Cluster>();
  std::vector<std::string> names;
  for (KindId kind = 0; kind < cluster->kind_count(); ++kind) {
    names.push_back(cluster->kind_name(kind));
  }
  push_texts(call.L, names);
  return 1;
}

const Route& route_of(const Call& call, const Cluster& cluster) {
  const DeviceId src = device_of(call, cluster, 1, "src");
  const DeviceId dst = device_of(call, cluster, 2, "dst");
  if (src == dst) call.argument(2, "dst").refuse("a device has no route to itself");
  return cluster.route(src, dst);
}

int route(Call& call) {
  const auto cluster = call.self<const Cluster>();
  const Route& route = route_of(call, *cluster);
  std::vector<std::string> channels;
  for (const ChannelId channel : route.channels) channels.push_back(cluster->channel_name(channel));
  lua_newtable(call.L);
  set_text(call.L, "src", cluster->device(device_of(call, *cluster, 1, "src")).name);
  set_text(call.L, "dst", cluster->device(device_of(call, *cluster, 2, "dst")).name);
  set_number(call.L, "bandwidth_bytes_per_s", route.bandwidth_bytes_per_s);
  set_number(call.L, "latency_us", route.latency_us);
  set_texts(call.L, "shares", channels);
  // As a link says it, so that a machine can be made of routes.
  set_boolean(call.L, "parallel", route.parallel && !route.receiver_us);
  if (route.receiver_us) set_number(call.L, "receiver_us", *route.receiver_us);
  return 1;
}

int transfer_us(Call& call) {
  const auto cluster = call.self<const Cluster>();
  const Route& route = route_of(call, *cluster);
  return call.number(route.transfer_us(call.argument(3, "bytes").integer(0)));
}

int save(Call& call) {
  const auto cluster = call.self<const Cluster>();
  write_file(call.argument(1, "path").text(), cluster_json(*cluster));
  return 0;
}

constexpr Binding kFunctions[] = {{"berth.cluster", &make}, {"berth.cluster_presets", &presets}};
constexpr Binding kMethods[] = {
    {"cluster:name", &getter<&Cluster::name>},
    {"cluster:device_count", &getter<&Cluster::device_count>},
    {"cluster:device", &device},
    {"cluster:find", &find},
    {"cluster:kinds", &kinds},
    {"cluster:route", &route},
    {"cluster:transfer_us", &transfer_us},
    {"cluster:save", &save},
};

std::string describe(const void* object) {
  const Cluster& cluster = *static_cast<const Cluster*>(object);
  return cat("'", cluster.name(), "' (", cluster.device_names(), ")");
}

}  // namespace

template <>
const Type& type_of<Cluster>() {
  static constexpr Type type{"cluster", kFunctions, kMethods, &describe};
  return type;
}

}  // namespace berth::lua
