#include <hwloc.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "detect/machine_facts.h"

namespace berth::detect {
namespace {

class Topology {
 public:
  Topology() {
    if (hwloc_topology_init(&topology_) != 0) {
      topology_ = nullptr;
      return;
    }
    hwloc_topology_set_io_types_filter(topology_, HWLOC_TYPE_FILTER_KEEP_ALL);
    if (hwloc_topology_load(topology_) != 0) release();
  }
  ~Topology() { release(); }
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

  [[nodiscard]] hwloc_topology_t get() const { return topology_; }

 private:
  void release() {
    if (topology_ != nullptr) hwloc_topology_destroy(topology_);
    topology_ = nullptr;
  }

  hwloc_topology_t topology_ = nullptr;
};

bool is_pci_bridge(hwloc_obj_t object) {
  return object->type == HWLOC_OBJ_BRIDGE &&
         object->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI;
}

std::string address(const hwloc_obj_attr_u::hwloc_pcidev_attr_s& pci) {
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", static_cast<unsigned>(pci.domain), pci.bus,
                pci.dev, pci.func);
  return text;
}

/// Cores with a thread that this process may use.
int usable_cores(hwloc_topology_t topology) {
  const hwloc_bitmap_t usable = hwloc_bitmap_alloc();
  const bool bound = hwloc_get_cpubind(topology, usable, HWLOC_CPUBIND_PROCESS) == 0;
  int cores = 0;
  for (hwloc_obj_t core = nullptr;
       (core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core)) != nullptr;) {
    cores += !bound || hwloc_bitmap_intersects(core->cpuset, usable) != 0 ? 1 : 0;
  }
  hwloc_bitmap_free(usable);
  return cores;
}

void place_gpu(hwloc_topology_t topology, GpuFacts& gpu) {
  const hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(topology, gpu.bus.c_str());
  if (device == nullptr) return;
  gpu.port = gpu.bus;  // without a bridge above it, a GPU is its own port
  for (hwloc_obj_t above = device->parent; above != nullptr; above = above->parent) {
    if (is_pci_bridge(above)) gpu.port = address(above->attr->bridge.upstream.pci);
  }
  const hwloc_obj_t local = hwloc_get_non_io_ancestor_obj(topology, device);
  const hwloc_obj_t package =
      local->type == HWLOC_OBJ_PACKAGE
          ? local
          : hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, local);
  if (package != nullptr) gpu.socket = static_cast<int>(package->logical_index);
  if (package == nullptr && hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE) == 1) {
    gpu.socket = 0;
  }
}

}  // namespace

void read_topology(MachineFacts& facts) {
  const Topology topology;
  if (topology.get() == nullptr) {
    facts.notes.emplace_back("hwloc cannot read this machine, so that it counts as one socket");
    return;
  }
  const int cores = usable_cores(topology.get());
  const int sockets = hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_PACKAGE);
  // Fewer than its threads, and no more than the quota.
  if (cores > 0) facts.host.cores = std::min<double>(facts.host.cores, cores);
  if (sockets > 0) facts.host.sockets = sockets;
  for (GpuFacts& gpu : facts.gpus) place_gpu(topology.get(), gpu);
}

}  // namespace berth::detect
