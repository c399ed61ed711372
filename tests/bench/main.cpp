// berth-bench: prints its environment, then what Google Benchmark is asked for.
#include <benchmark/benchmark.h>

#include <fstream>
#include <string>
#include <thread>

#include "berth/version.h"

namespace {

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::AddCustomContext("berth", BERTH_VERSION_STRING);
  benchmark::AddCustomContext("cpu", cpu_model());
  benchmark::AddCustomContext("cores", std::to_string(std::thread::hardware_concurrency()));
  benchmark::AddCustomContext("compiler", __VERSION__);
#ifdef NDEBUG
  benchmark::AddCustomContext("build", "optimised");
#else
  benchmark::AddCustomContext("build", "with assertions: figures mean little");
#endif
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
