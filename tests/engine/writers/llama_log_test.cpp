// llama.cpp's own log of plans that were written for it: layers, caches and buffers. It was recorded by
// tests/consumers/executed.py llama.cpp with BERTH_LLAMA_LOG=llama_cpp.log.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "berth/blocks.h"
#include "berth/costs.h"
#include "berth/machines.h"
#include "berth/plan_writers.h"
#include "berth/tools.h"

namespace berth::test {
namespace {

constexpr double kMiB = 0x1p20;

/// A plan with what llama.cpp said when it loaded the model with it. Devices: -1 = the host, else a GPU.
struct Recorded {
  std::map<std::string, int> sizes;
  std::string options;
  std::vector<int> layers;  // the output last
  std::vector<int> caches;
  std::set<int> hosted;  // layers whose experts are on the host
  bool pipeline = false;
  std::map<int, double> buffers;  // in MiB
};

int device_of(const std::string& name) {
  return name.rfind("RPC", 0) == 0 ? std::stoi(name.substr(3)) : -1;
}

std::vector<Recorded> recorded() {
  std::ifstream file(BERTH_LLAMA_LOG);
  std::vector<Recorded> all;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model ", 0) == 0) {
      all.emplace_back();
      std::istringstream words(line.substr(6));
      for (std::string word; words >> word;) {
        const std::size_t equals = word.find('=');
        all.back().sizes[word.substr(0, equals)] = std::stoi(word.substr(equals + 1));
      }
      continue;
    }
    if (all.empty()) continue;
    Recorded& its = all.back();
    int number = 0;
    char name[32] = "";
    double size = 0;
    if (line.front() == '-') {
      its.options += line + "\n";
    } else if (std::sscanf(line.c_str(), "load_tensors: layer %d assigned to device %31[^,]",
                           &number, name) == 2) {
      its.layers.push_back(device_of(name));
    } else if (std::sscanf(line.c_str(), "llama_kv_cache: layer %d: dev = %31s", &number, name) ==
               2) {
      its.caches.push_back(device_of(name));
    } else if (std::sscanf(line.c_str(), "sched_reserve: %31s compute buffer size = %lf", name,
                           &size) == 2) {
      its.buffers[device_of(name)] = size;
    } else if (line.find("overridden to CPU") != std::string::npos) {
      its.hosted.insert(std::stoi(line.substr(line.find("blk.") + 4)));
    } else if (line.find("pipeline parallelism enabled") != std::string::npos) {
      its.pipeline = true;
    }
  }
  return all;
}

/// A decoder of these sizes: a token, and caches of a context.
std::shared_ptr<const Graph> decoder(std::map<std::string, int> sizes) {
  GraphBuilder builder("decoder");
  const int width = sizes["width"], inner = sizes["inner"];
  const auto tensor = [](std::vector<std::int64_t> shape) {
    TensorInfo info;
    info.dtype = DType::f16;
    info.has_shape = true;
    info.shape = std::move(shape);
    return info;
  };
  const auto add = [&](const std::string& module, const char* type, TensorId from, int rows,
                       int columns) {
    std::string scope = "/" + module;
    for (std::size_t dot = 0; (dot = scope.find('.', dot)) != std::string::npos; ++dot) {
      const bool number = dot + 1 < scope.size() && std::isdigit(scope[dot + 1]) != 0;
      if (!number) scope[dot] = '/';
    }
    const OpId op = builder.add_op(scope + "/" + type, type);
    if (from != kNoTensor) builder.add_input(op, from);
    builder.add_input(op, builder.add_parameter(tensor({rows, columns}), module + ".weight"));
    return builder.add_output(op, tensor({1, 1, columns}));
  };
  TensorId last = add("model.embed_tokens", "Gather", kNoTensor, sizes["words"], width);
  for (int layer = 0; layer < sizes["layers"]; ++layer) {
    const std::string at = "model.layers." + std::to_string(layer);
    if (sizes["scan"] > 0) {
      last = add(at + ".mixer.in_proj", "MatMul", last, width, 2 * sizes["scan"]);
      last = add(at + ".mixer.conv1d", "Conv", last, sizes["scan"], 4);
      const OpId gate = builder.add_op("/model/layers." + std::to_string(layer) + "/Mul", "Mul");
      builder.add_input(gate, last);
      last = builder.add_output(gate, tensor({1, 1, sizes["scan"]}));
      last = add(at + ".mixer.out_proj", "MatMul", last, sizes["scan"], width);
      continue;
    }
    const OpId cache = builder.add_op("past_key_values." + std::to_string(layer) + ".key", "Input");
    const TensorId past = builder.add_output(
        cache, tensor({1, sizes["kv"], sizes["context"] - 1, width / sizes["heads"]}));
    const OpId attention =
        builder.add_op("/model/layers." + std::to_string(layer) + "/self_attn/MatMul", "MatMul");
    builder.add_input(attention, last);
    builder.add_input(attention, past);
    builder.add_input(
        attention, builder.add_parameter(tensor({width, width}), at + ".self_attn.q_proj.weight"));
    last = builder.add_output(attention, tensor({1, 1, width}));
    if (sizes["latent"] > 0) {
      // DeepSeek's: of a head 128 numbers for keys, 64 for positions and 128 for values.
      const int heads = sizes["heads"], latent = sizes["latent"];
      const std::string self = at + ".self_attn.";
      add(self + "q_b_proj", "MatMul", last, width, heads * (128 + 64));
      TensorId vectors = add(self + "kv_a_proj_with_mqa", "MatMul", last, width, latent + 64);
      vectors = add(self + "kv_a_layernorm", "Mul", vectors, 1, latent);
      add(self + "kv_b_proj", "MatMul", vectors, latent, heads * (128 + 128));
      const OpId scores = builder.add_op(self + "scores", "Op");
      builder.add_input(scores, vectors);
      const TensorId values = builder.add_output(scores, tensor({1, 1, heads * 128}));
      last = add(self + "o_proj", "MatMul", values, heads * 128, width);
    }
    if (sizes["experts"] == 0 || layer < sizes["dense_layers"]) {
      const int inner = sizes["dense_layers"] > 0 ? sizes["dense"] : sizes["inner"];
      last = add(at + ".mlp.up_proj", "MatMul", last, width, inner);
      last = add(at + ".mlp.down_proj", "MatMul", last, inner, width);
      continue;
    }
    const OpId top = builder.add_op("/model/layers." + std::to_string(layer) + "/mlp/TopK", "TopK");
    builder.add_input(top, last);
    builder.add_output(top, tensor({1, 1, sizes["chosen"] > 0 ? sizes["chosen"] : 2}));
    for (int expert = 0; expert < sizes["experts"]; ++expert) {
      const std::string its = at + ".mlp.experts." + std::to_string(expert);
      last = add(its + ".up_proj", "MatMul", last, width, inner);
      last = add(its + ".down_proj", "MatMul", last, inner, width);
    }
  }
  last = add("model.norm", "Mul", last, 1, width);
  add("lm_head", "MatMul", last, width, sizes["words"]);
  return builder.build();
}

/// Every op where llama.cpp has it.
Placement executed(const Graph& graph, const Recorded& its) {
  const Blocks blocks(graph);
  Placement placement;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const Block& block = blocks[blocks.of(op)];
    const bool expert = graph.op_name(op).find("/experts") != std::string::npos;
    int device = its.layers.back();
    if (block.name == "model.embed_tokens") device = -1;
    if (block.number != kNoBlockNumber)
      device = its.layers.at(static_cast<std::size_t>(block.number));
    if (expert && its.hosted.contains(block.number)) device = -1;
    placement.push_back(device + 1);  // device 0 is the host
  }
  return placement;
}

TEST_CASE("llama.cpp's log: layers and caches are where a plan has them") {
  const std::vector<Recorded> all = recorded();
  REQUIRE(all.size() >= 6);
  int with_host = 0, with_experts_there = 0, devices = 0;
  for (const Recorded& its : all) {
    CAPTURE(its.options);
    const auto graph = decoder(its.sizes);
    const auto cluster = machine_of_words(std::to_string(its.sizes.at("gpus")) + "xrtx3090");
    // The same for llama.cpp, which makes it an override for each of the first layers.
    std::string options = its.options;
    const std::string first_two = R"(-ot "blk\.(0|1)\..*_exps=CPU")";
    const std::size_t found = options.find(first_two);
    if (found != std::string::npos) options.replace(found, first_two.size(), "--n-cpu-moe 2");
    CHECK(plan_writer("llama.cpp").text(*graph, *cluster, executed(*graph, its)) ==
          options + "-c " + std::to_string(its.sizes.at("context")) + "\n");
    REQUIRE(its.layers.size() == static_cast<std::size_t>(its.sizes.at("layers")) + 1);
    CHECK(its.caches == std::vector<int>(its.layers.begin(), its.layers.end() - 1));
    // It runs as a pipeline where all is on GPUs and no tensor is elsewhere by name.
    const bool whole = its.layers.front() >= 0 && its.options.find("-ot") == std::string::npos;
    CHECK(its.pipeline == (whole && its.sizes.at("gpus") > 1));
    with_host += its.layers.front() < 0 ? 1 : 0;
    with_experts_there += its.hosted.empty() ? 0 : 1;
    devices = std::max(devices, its.layers.back());
  }
  CHECK(with_host > 0);
  CHECK(with_experts_there > 0);
  CHECK(devices == 2);
}

TEST_CASE("llama.cpp's log: its buffers for prompts are those that a plan has room for") {
  int compared = 0;
  for (const Recorded& its : recorded()) {
    CAPTURE(its.options);
    const auto graph = decoder(its.sizes);
    const auto cluster = machine_of_words(std::to_string(its.sizes.at("gpus")) + "xrtx3090");
    const auto roofline = Costs::roofline(*graph, *cluster);
    const auto costs = tool("llama.cpp").rules({*graph, *cluster, *roofline}).costs;
    const Placement placement = executed(*graph, its);
    std::map<int, std::int64_t> largest;
    for (OpId op = 0; op < graph->op_count(); ++op) {
      std::int64_t& bytes = largest[placement[static_cast<std::size_t>(op)] - 1];
      bytes = std::max(bytes, costs->workspace_bytes(op));
    }
    for (const auto& [gpu, logged] : its.buffers) {
      if (gpu < 0) continue;
      const double kept = static_cast<double>(largest[gpu]) / kMiB;
      CAPTURE(gpu);
      if (its.pipeline) {
        CHECK(kept <= logged);  // more is taken for its pipeline, which it gives up without room
        continue;
      }
      ++compared;
      CHECK(kept >= logged - 0.06);
      CHECK(kept <= 1.15 * logged);
    }
  }
  CHECK(compared > 3);
}

TEST_CASE("llama.cpp's buffers of mixtures, latent vectors and scans") {
  struct Case {
    std::map<std::string, int> sizes;
    double mib;  ///< as build b11549 has it for a context of 4,096
  };
  const auto mixture = [](int width, int inner, int chosen, double mib) {
    return Case{{{"width", width}, {"inner", inner}, {"chosen", chosen}, {"heads", 16}}, mib};
  };
  const auto latent = [](int width, int inner, int heads, int dense, int chosen, double mib) {
    return Case{{{"width", width},
                 {"inner", inner},
                 {"chosen", chosen},
                 {"heads", heads},
                 {"dense_layers", 1},
                 {"dense", dense},
                 {"latent", 512}},
                mib};
  };
  for (Case& each : std::vector<Case>{
           mixture(2048, 768, 8, 92.02), mixture(2048, 1408, 8, 90.02),
           mixture(2048, 1024, 8, 72.02), mixture(2048, 768, 4, 58.02),
           latent(2048, 1408, 16, 10944, 6, 88.14), latent(2048, 1408, 64, 2048, 6, 192.02),
           latent(7168, 2048, 128, 18432, 8, 410.02), latent(7168, 2048, 16, 18432, 8, 282.02),
           Case{{{"width", 2560}, {"scan", 5120}}, 75.38},
           Case{{{"width", 4096}, {"scan", 8192}}, 120.6}}) {
    each.sizes.insert({{"layers", 2}, {"experts", 16}, {"kv", 1}, {"words", 8}, {"context", 4096}});
    const auto graph = decoder(each.sizes);
    const auto cluster = machine_of_words("rtx3090");
    const auto roofline = Costs::roofline(*graph, *cluster);
    const auto costs = tool("llama.cpp").rules({*graph, *cluster, *roofline}).costs;
    std::int64_t largest = 0;
    for (OpId op = 0; op < graph->op_count(); ++op) {
      largest = std::max(largest, costs->workspace_bytes(op));
    }
    CHECK(static_cast<double>(largest) / kMiB == doctest::Approx(each.mib).epsilon(0.002));
  }
}

}  // namespace
}  // namespace berth::test
