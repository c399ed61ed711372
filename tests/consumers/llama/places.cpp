// Where llama.cpp puts what: loads a model with the options of a plan, local RPC servers standing for
// GPUs, and prints what its own log says of layers, caches, overridden tensors and buffers.
//
//   places MODEL.gguf GPUS "-ngl 5" ["--tensor-split 3,2"] ["-ot \"_exps=CPU\""] ["-c 256"] ["--sizes"]
//
// With --sizes nothing is allocated or read: a file without its weights will do.
// Built against a llama.cpp with GGML_RPC; nothing of the project links it (see ../README.md).
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml-rpc.h"
#include "llama.h"

namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
  return parts;
}

/// Servers are told apart by their ports: "RPC0[127.0.0.1:50001]" is RPC1.
void print_places(ggml_log_level, const char* text, void* first_port) {
  std::string line = text;
  if (const std::size_t server = line.find("RPC0[127.0.0.1:"); server != std::string::npos) {
    const std::size_t end = line.find(']', server);
    const int port = std::atoi(line.c_str() + line.rfind(':', end) + 1);
    line.replace(server, end + 1 - server,
                 "RPC" + std::to_string(port - *static_cast<const int*>(first_port)));
  }
  for (const char* wanted :
       {"assigned to device", ": dev = ", "buffer type overridden", "pipeline", "buffer size ="}) {
    if (line.find(wanted) != std::string::npos) std::fputs(line.c_str(), stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const int gpus = std::atoi(argv[2]);
  const int first_port = 50000 + static_cast<int>(getpid() % 10000);
  std::vector<pid_t> servers;
  for (int i = 0; i < gpus; ++i) {
    const std::string endpoint = "127.0.0.1:" + std::to_string(first_port + i);
    if (const pid_t child = fork(); child > 0) {
      servers.push_back(child);
      continue;
    }
    std::freopen("/dev/null", "w", stdout);
    std::freopen("/dev/null", "w", stderr);
    ggml_backend_dev_t cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    ggml_backend_rpc_start_server(endpoint.c_str(), nullptr, 1, 1, &cpu);
    _exit(0);
  }
  sleep(1);
  int status = 1;
  {
    int of_first = first_port;
    llama_log_set(print_places, &of_first);
    ggml_backend_load_all();
    std::vector<ggml_backend_dev_t> devices;
    for (int i = 0; i < gpus; ++i) {
      const std::string endpoint = "127.0.0.1:" + std::to_string(first_port + i);
      ggml_backend_reg_t server = ggml_backend_rpc_add_server(endpoint.c_str());
      ggml_backend_register(server);
      devices.push_back(ggml_backend_reg_dev_get(server, 0));
      std::printf("gpu %d is %s\n", i, ggml_backend_dev_name(devices.back()));
    }
    devices.push_back(nullptr);
    llama_model_params params = llama_model_default_params();
    params.devices = devices.data();
    params.load_mode = LLAMA_LOAD_MODE_NONE;
    std::vector<float> shares(llama_max_devices(), 0);
    std::vector<std::string> patterns;
    std::vector<llama_model_tensor_buft_override> overrides;
    llama_context_params of_context = llama_context_default_params();
    of_context.n_ctx = 256;
    for (int i = 3; i < argc; ++i) {
      const std::string option = argv[i];
      const std::string value = option.substr(option.find(' ') + 1);
      if (option.rfind("-ngl ", 0) == 0) params.n_gpu_layers = std::atoi(value.c_str());
      if (option.rfind("-c ", 0) == 0)
        of_context.n_ctx = static_cast<unsigned>(std::atoi(value.c_str()));
      if (option == "--sizes") params.no_alloc = true;
      if (option.rfind("--tensor-split ", 0) == 0) {
        std::size_t at = 0;
        for (const std::string& share : split(value, ',')) shares[at++] = std::stof(share);
        params.tensor_split = shares.data();
      }
      if (option.rfind("-ot ", 0) == 0) patterns = split(value.substr(1, value.size() - 2), ',');
      if (option.rfind("--n-cpu-moe ", 0) == 0) {
        // llm_ffn_exps_block_regex of common/common.h
        for (int layer = 0; layer < std::atoi(value.c_str()); ++layer) {
          patterns.push_back("blk\\." + std::to_string(layer) +
                             "\\.ffn_(up|down|gate|gate_up)_(ch|)exps=CPU");
        }
      }
    }
    for (std::string& pattern : patterns) {
      const std::size_t equals = pattern.rfind('=');
      const std::string where = pattern.substr(equals + 1);
      pattern = pattern.substr(0, equals);
      ggml_backend_dev_t device = where == "CPU"
                                      ? ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU)
                                      : devices[std::strtoul(where.c_str() + 4, nullptr, 10)];
      overrides.push_back({pattern.c_str(), ggml_backend_dev_buffer_type(device)});
    }
    overrides.push_back({nullptr, nullptr});
    if (!patterns.empty()) params.tensor_buft_overrides = overrides.data();
    if (llama_model* model = llama_model_load_from_file(argv[1], params)) {
      if (llama_context* context = llama_init_from_model(model, of_context)) {
        status = 0;
        if (!params.no_alloc) {
          llama_token token = 1;
          status = llama_decode(context, llama_batch_get_one(&token, 1));
          std::printf("decoded %d\n", status);
        }
        llama_free(context);
      }
      llama_model_free(model);
    }
  }
  for (const pid_t server : servers) {
    kill(server, SIGTERM);
    waitpid(server, nullptr, 0);
  }
  return status;
}
