// A driver's library of two GPUs: what NVML would tell on a machine that this is not.
#include <cstdio>
#include <cstring>

namespace {

struct PciInfo {
  char legacy_bus[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};
struct Memory {
  unsigned long long total, free, used;
};

int number_of(void* device) {
  return *static_cast<int*>(device);
}
int g_numbers[] = {0, 1};

void fill(PciInfo* info, int number) {
  info->domain = 0;
  info->bus = number == 0 ? 0x3bU : 0xafU;
  info->device = 0;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  return 0;
}
int nvmlShutdown() {
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 3;  // the last is kept from this process
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index >= 2) return 4;  // no permission
  *device = &g_numbers[index];
  return 0;
}
int nvmlDeviceGetName(void*, char* name, unsigned length) {
  std::snprintf(name, length, "NVIDIA A100-SXM4-40GB");
  return 0;
}
int nvmlDeviceGetUUID(void* device, char* uuid, unsigned length) {
  std::snprintf(uuid, length, number_of(device) == 0 ? "GPU-3b00" : "GPU-af00");
  return 0;
}
int nvmlDeviceGetPciInfo_v3(void* device, PciInfo* info) {
  fill(info, number_of(device));
  return 0;
}
int nvmlDeviceGetMemoryInfo(void*, Memory* memory) {
  memory->total = 40ULL << 30;
  return 0;
}
int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  *major = 8;
  *minor = 0;
  return 0;
}
int nvmlDeviceGetNumGpuCores(void*, unsigned* cores) {
  *cores = 6912;
  return 0;
}
int nvmlDeviceGetMaxClockInfo(void*, int clock, unsigned* mhz) {
  *mhz = clock == 2 ? 1215 : 1410;
  return 0;
}
int nvmlDeviceGetMemoryBusWidth(void*, unsigned* bits) {
  *bits = 5120;
  return 0;
}
int nvmlDeviceGetMaxPcieLinkGeneration(void*, unsigned* generation) {
  *generation = 4;
  return 0;
}
int nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned* lanes) {
  *lanes = 16;
  return 0;
}
int nvmlDeviceGetNvLinkState(void*, unsigned link, int* active) {
  *active = link < 4 ? 1 : 0;
  return 0;
}
int nvmlDeviceGetP2PStatus(void* from, void*, int, int* status) {
  *status = number_of(from) == 0 ? 0 : 1;  // nothing from the second to the first
  return 0;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(void*, unsigned, int* type) {
  *type = 0;  // a GPU
  return 0;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned, PciInfo* info) {
  fill(info, 1 - number_of(device));
  return 0;
}

}  // extern "C"
