// What tools ask of a placement, and that what they then do is what was written.
#include "berth/tools.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "berth/blocks.h"
#include "berth/error.h"
#include "berth/machines.h"
#include "berth/plan_writers.h"
#include "berth/problem.h"
#include "berth/sdk/random.h"
#include "support/expect_error.h"

namespace berth::test {
namespace {

struct Shape {
  int layers = 4;
  int experts = 0;  // parameters of a layer's mixture
  bool tied = false;
};

/// embed_tokens, layers of attention and feed-forward (with a mixture of experts), norm, lm_head.
std::shared_ptr<const Graph> decoder(const Shape& shape) {
  GraphBuilder builder("decoder");
  TensorInfo info;
  info.bytes = 1000;
  TensorId last = kNoTensor;
  const auto add = [&](const std::string& name, TensorId parameter) {
    const OpId op = builder.add_op(name, "MatMul");
    Work work;
    work.flops = work.bytes = 1e6;
    builder.set_work(op, work);
    if (last != kNoTensor) builder.add_input(op, last);
    builder.add_input(op, parameter);
    last = builder.add_output(op, info);
  };
  const auto weight = [&](const std::string& module) {
    return builder.add_parameter(info, module + ".weight");
  };
  const TensorId embeddings = weight("model.embed_tokens");
  add("/model/embed_tokens/Gather", embeddings);
  for (int layer = 0; layer < shape.layers; ++layer) {
    const std::string name = "model.layers." + std::to_string(layer);
    const std::string scope = "/model/layers." + std::to_string(layer);
    add(scope + "/self_attn/MatMul", weight(name + ".self_attn.q_proj"));
    for (int i = 0; i < shape.experts; ++i) {
      const std::string expert = ".mlp.experts." + std::to_string(i);
      add(scope + "/mlp/experts." + std::to_string(i) + "/MatMul", weight(name + expert));
    }
    add(scope + "/mlp/down_proj/MatMul", weight(name + ".mlp.down_proj"));
  }
  add("/model/norm/Mul", weight("model.norm"));
  add("/lm_head/MatMul", shape.tied ? embeddings : weight("lm_head"));
  return builder.build();
}

std::shared_ptr<const Constraints> compiled(const Graph& graph, const Cluster& cluster,
                                            const ToolRules& rules) {
  const auto costs = Costs::roofline(graph, cluster);
  return std::make_shared<const Constraints>(graph, cluster, rules.costs ? *rules.costs : *costs,
                                             rules.constraints);
}

ToolRules rules_of(const char* name, const Graph& graph, const Cluster& cluster,
                   bool spill = false) {
  const auto costs = Costs::roofline(graph, cluster);
  return tool(name).rules({graph, cluster, *costs, spill});
}

TEST_CASE("PyTorch's tools alone give every output memory of its own") {
  const auto graph = decoder({.layers = 4});
  const auto cluster = machine_of_words("2xl4+host");
  for (const char* const name : {"accelerate", "deepspeed", "torch-pipelining", "vllm"}) {
    CAPTURE(name);
    CHECK_FALSE(rules_of(name, *graph, *cluster).overwrites);
  }
  for (const char* const name : {"llama.cpp", "onnxruntime"}) {
    CAPTURE(name);
    CHECK(rules_of(name, *graph, *cluster).overwrites);
  }
}

// --- llama.cpp's own arithmetic, as its sources have it (src/llama-model.cpp, load_tensors) ---------

/// The GPU of each layer and, last, of the output; -1 = the host. Its shares are divided by their sum in
/// float, and a layer is on the first device whose cumulated share is above its own.
std::vector<int> llama_devices(int layers, int ngl, std::vector<float> splits) {
  float sum = 0;
  for (float& split : splits) split = sum += split;
  for (float& split : splits) split /= sum;
  const int start = std::max(layers + 1 - ngl, 0);
  const int active = std::min(ngl, layers + 1);
  std::vector<int> devices;
  for (int il = 0; il <= layers; ++il) {
    if (il < start || il - start >= active) {
      devices.push_back(-1);
      continue;
    }
    const float place = static_cast<float>(il - start) / static_cast<float>(active);
    devices.push_back(
        static_cast<int>(std::upper_bound(splits.begin(), splits.end(), place) - splits.begin()));
  }
  return devices;
}

TEST_CASE("llama.cpp puts every layer where the plan has it") {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    const int layers = 1 + static_cast<int>(random.below(90));
    const int gpus = 1 + static_cast<int>(random.below(4));
    const auto graph = decoder({.layers = layers});
    const auto cluster = machine_of_words(std::to_string(gpus) + "xl4");
    // Layers and output: the host first, then one GPU after the other; device 0 is the host.
    std::vector<DeviceId> wanted;
    for (int i = 0; i <= layers; ++i) {
      wanted.push_back(static_cast<DeviceId>(random.below(static_cast<std::uint64_t>(gpus + 1))));
    }
    std::sort(wanted.begin(), wanted.end());
    const Blocks blocks(*graph);
    Placement placement(static_cast<std::size_t>(graph->op_count()), 0);
    for (OpId op = 0; op < graph->op_count(); ++op) {
      const Block& block = blocks[blocks.of(op)];
      const bool before = block.name == "model.embed_tokens";
      const int unit = block.number == kNoBlockNumber ? layers : block.number;
      placement[static_cast<std::size_t>(op)] = before ? 0 : wanted[static_cast<std::size_t>(unit)];
    }
    const std::string text = plan_writer("llama.cpp").text(*graph, *cluster, placement);
    CAPTURE(text);
    const int ngl = std::stoi(text.substr(5));
    std::vector<float> splits(static_cast<std::size_t>(gpus), 1);
    const std::size_t at_split = text.find("--tensor-split ");
    if (at_split != std::string::npos) {
      std::string list = text.substr(at_split + 15);
      for (float& split : splits) {
        split = std::stof(list);
        list = list.substr(list.find_first_of(",\n") + 1);
      }
    }
    const std::vector<int> devices = llama_devices(layers, ngl, splits);
    for (int i = 0; i <= layers; ++i) {
      CHECK(devices[static_cast<std::size_t>(i)] == wanted[static_cast<std::size_t>(i)] - 1);
    }
    CHECK(text.find("-ot") == std::string::npos);  // which would switch its pipeline off
  }
}

// --- vLLM's, as its sources have it (vllm/distributed/utils.py, get_pp_indices) ----------------------

/// The first layer of a stage and that behind its last; vLLM refuses a list of another length or sum.
std::pair<int, int> pp_indices(int layers, int rank, int size, const std::vector<int>& partition) {
  REQUIRE(static_cast<int>(partition.size()) == size);
  REQUIRE(std::accumulate(partition.begin(), partition.end(), 0) == layers);
  const int begin = std::accumulate(partition.begin(), partition.begin() + rank, 0);
  return {begin, begin + partition[static_cast<std::size_t>(rank)]};
}

std::vector<int> numbers_after(const std::string& text, const std::string& key) {
  std::vector<int> found;
  const std::size_t begin = text.find(key);
  if (begin == std::string::npos) return found;
  std::istringstream list(
      text.substr(begin + key.size(), text.find('\n', begin) - begin - key.size()));
  for (std::string each; std::getline(list, each, ',');) found.push_back(std::stoi(each));
  return found;
}

TEST_CASE("vLLM has every layer on the GPU of the plan") {
  Random random(11);
  for (int round = 0; round < 200; ++round) {
    const int layers = 1 + static_cast<int>(random.below(90));
    const int gpus = 1 + static_cast<int>(random.below(5));
    const auto graph = decoder({.layers = layers});
    const auto cluster = machine_of_words(std::to_string(gpus) + "xl4");
    std::vector<int> wanted;
    for (int i = 0; i < layers; ++i) {
      wanted.push_back(static_cast<int>(random.below(static_cast<std::uint64_t>(gpus))));
    }
    std::sort(wanted.begin(), wanted.end());
    const Blocks blocks(*graph);
    Placement placement;
    for (OpId op = 0; op < graph->op_count(); ++op) {
      const Block& block = blocks[blocks.of(op)];
      const bool before = block.name == "model.embed_tokens";
      const int layer = block.number != kNoBlockNumber ? block.number : before ? 0 : layers - 1;
      placement.push_back(1 + wanted[static_cast<std::size_t>(layer)]);  // device 0 is the host
    }
    const std::string text = plan_writer("vllm").text(*graph, *cluster, placement);
    CAPTURE(text);
    const int size = numbers_after(text, "--pipeline-parallel-size ").at(0);
    const std::vector<int> partition = numbers_after(text, "VLLM_PP_LAYER_PARTITION=");
    std::vector<int> visible = numbers_after(text, "CUDA_VISIBLE_DEVICES=");
    if (visible.empty()) {
      visible.resize(static_cast<std::size_t>(size));
      std::iota(visible.begin(), visible.end(), 0);
    }
    for (int rank = 0; rank < size; ++rank) {
      const auto [begin, end] = pp_indices(layers, rank, size, partition);
      CHECK(begin < end);
      for (int layer = begin; layer < end; ++layer) {
        CHECK(wanted[static_cast<std::size_t>(layer)] == visible[static_cast<std::size_t>(rank)]);
      }
    }
  }
}

TEST_CASE("a plan for unlike GPUs says how they are numbered, and which the process sees") {
  const auto graph = decoder({.layers = 2});
  const auto plan = [&](const char* form, const char* words, DeviceId device) {
    Placement placement(static_cast<std::size_t>(graph->op_count()), device);
    if (std::string(form) == "llama.cpp") placement.front() = 0;
    return plan_writer(form).text(*graph, *machine_of_words(words), placement);
  };
  CHECK(plan("vllm", "2xl4+host", 2) ==
        "CUDA_VISIBLE_DEVICES=1\nVLLM_PP_LAYER_PARTITION=2\n--pipeline-parallel-size 1\n");
  CHECK(plan("vllm", "rtx4060+rtx4090+host", 2)
            .starts_with("CUDA_DEVICE_ORDER=PCI_BUS_ID\nCUDA_VISIBLE_DEVICES=1\nVLLM_PP"));
  CHECK(plan("vllm", "arcb580+arca770+host", 2)
            .starts_with("ZE_ENABLE_PCI_ID_DEVICE_ORDER=1\nZE_AFFINITY_MASK=1\nVLLM_PP"));
  // A mask that was there when the machine was looked at: its entries are the numbers that the user knows.
  const auto cluster = machine_of_words("2xl4+host");
  const Cluster masked("detected with CUDA_VISIBLE_DEVICES=5,GPU-3f",
                       {cluster->device(0), cluster->device(1), cluster->device(2)},
                       cluster->links());
  const Placement second(static_cast<std::size_t>(graph->op_count()), 2);
  CHECK(plan_writer("vllm")
            .text(*graph, masked, second)
            .starts_with("CUDA_VISIBLE_DEVICES=GPU-3f\n"));
  const Placement first(static_cast<std::size_t>(graph->op_count()), 1);
  CHECK(plan_writer("vllm").text(*graph, masked, first).starts_with("CUDA_VISIBLE_DEVICES=5\n"));
  CHECK(plan("llama.cpp", "rtx4060+rtx4090+host", 2) ==
        "CUDA_DEVICE_ORDER=PCI_BUS_ID\n-ngl 3\n--tensor-split 0,3\n");
  for (const char* const name : {"accelerate", "deepspeed", "torch-pipelining", "onnxruntime"}) {
    CAPTURE(name);
    const auto notes = [&](const char* words) {
      std::string text;
      for (const auto& note : rules_of(name, *graph, *machine_of_words(words)).notes) text += note;
      return text;
    };
    CHECK(notes("2xl4+host").find("CUDA_DEVICE_ORDER") == std::string::npos);
    CHECK(notes("l4+t4+host").find("set CUDA_DEVICE_ORDER=PCI_BUS_ID") != std::string::npos);
  }
}

TEST_CASE("llama.cpp has shares of 15 GPUs") {
  const auto graph = decoder({.layers = 2});
  const auto cluster = machine_of_words("17xl4+host");
  const ToolRules rules = rules_of("llama.cpp", *graph, *cluster);
  const auto constraints = compiled(*graph, *cluster, rules);
  CHECK(constraints->allowed(1, 15));
  CHECK_FALSE(constraints->allowed(1, 16));
  REQUIRE(rules.notes.size() == 1);
  CHECK(rules.notes.front().find("not of gpu:15, gpu:16") != std::string::npos);
  Placement placement(static_cast<std::size_t>(graph->op_count()), 2);
  placement.front() = 0;
  CHECK(plan_writer("llama.cpp").text(*graph, *cluster, placement) ==
        "-ngl 3\n--tensor-split 0,3,0,0,0,0,0,0,0,0,0,0,0,0,0\n");
  placement.back() = placement[placement.size() - 2] = 16;
  expect_error(ErrorCode::unsupported, {"shares of 15 GPUs", "gpu:15", "--for llama.cpp"}, [&] {
    static_cast<void>(plan_writer("llama.cpp").text(*graph, *cluster, placement));
  });
}

TEST_CASE("llama.cpp: experts on the host with everything else on GPUs") {
  const auto graph = decoder({.layers = 3, .experts = 2});
  const auto cluster = machine_of_words("2xl4");
  const Blocks blocks(*graph);
  Placement placement;
  for (OpId op = 0; op < graph->op_count(); ++op) {
    const std::string& name = graph->op_name(op);
    const bool host =
        name.find("experts") != std::string::npos || name.find("embed") != std::string::npos;
    const bool second = blocks[blocks.of(op)].number != 0;
    placement.push_back(host ? 0 : second ? 2 : 1);
  }
  CHECK(plan_writer("llama.cpp").text(*graph, *cluster, placement) ==
        "-ngl 4\n--tensor-split 1,3\n-ot \"_exps=CPU\"\n");
  Placement last_back = placement;
  for (OpId op = 0; op < graph->op_count(); ++op) {
    if (graph->op_name(op).find("layers.2/mlp/experts") == std::string::npos) continue;
    last_back[static_cast<std::size_t>(op)] = 2;
  }
  CHECK(plan_writer("llama.cpp").text(*graph, *cluster, last_back) ==
        "-ngl 4\n--tensor-split 1,3\n--n-cpu-moe 2\n");
  for (OpId op = 0; op < graph->op_count(); ++op) {
    if (graph->op_name(op).find("layers.1/mlp/experts") != std::string::npos) {
      placement[static_cast<std::size_t>(op)] = 2;
    }
  }
  CHECK(plan_writer("llama.cpp").text(*graph, *cluster, placement) ==
        "-ngl 4\n--tensor-split 1,3\n-ot \"blk\\.(0|2)\\..*_exps=CPU\"\n");
}

TEST_CASE("llama.cpp's rules: whole layers, experts by themselves, words on the host") {
  const auto graph = decoder({.layers = 3, .experts = 2});
  const auto cluster = machine_of_words("2xl4");
  const ToolRules rules = rules_of("llama.cpp", *graph, *cluster);
  CHECK(tool("llama.cpp").order == std::string_view("machine"));
  const auto constraints = compiled(*graph, *cluster, rules);
  const Groups& classes = *constraints->classes();
  const auto of = [&](const char* name) { return *graph->find_op(name); };
  CHECK(classes.of(of("/model/layers.1/self_attn/MatMul")) ==
        classes.of(of("/model/layers.1/mlp/down_proj/MatMul")));
  CHECK(classes.of(of("/model/layers.1/mlp/experts.0/MatMul")) ==
        classes.of(of("/model/layers.1/mlp/experts.1/MatMul")));
  CHECK(classes.of(of("/model/layers.1/mlp/experts.0/MatMul")) !=
        classes.of(of("/model/layers.1/self_attn/MatMul")));
  CHECK(classes.of(of("/model/norm/Mul")) == classes.of(of("/lm_head/MatMul")));
  CHECK(constraints->allowed(of("/model/embed_tokens/Gather"), 0));
  CHECK_FALSE(constraints->allowed(of("/model/embed_tokens/Gather"), 1));
}

TEST_CASE("llama.cpp and vLLM compute a layer's experts at once, whatever the file has") {
  const auto graph = decoder({.layers = 2, .experts = 8});
  const auto cluster = machine_of_words("2xl4+host");
  for (const char* const name : {"llama.cpp", "vllm"}) {
    CAPTURE(name);
    const ToolRules rules = rules_of(name, *graph, *cluster);
    for (KindId kind = 0; kind < cluster->kind_count(); ++kind) {
      double us = 0;
      int launches = 0;
      for (OpId op = 0; op < graph->op_count(); ++op) {
        if (graph->op_name(op).find("layers.1/mlp/experts") == std::string::npos) continue;
        us += rules.costs->op_us(op, kind);
        launches += rules.costs->op_us(op, kind) > 0 ? 1 : 0;
      }
      Work all = op_work(*graph, *graph->find_op("/model/layers.1/mlp/experts.0/MatMul"));
      all.flops *= 8;
      all.bytes *= 8;
      CHECK(launches == 1);
      CHECK(us == doctest::Approx(roofline_us(all, cluster->kind_device(kind))));
    }
  }
  // Measured costs are as they are.
  const Costs measured({std::vector<double>(static_cast<std::size_t>(graph->op_count()), 7),
                        std::vector<double>(static_cast<std::size_t>(graph->op_count()), 7)},
                       {}, "a profile");
  const ToolRules rules = tool("llama.cpp").rules({*graph, *cluster, measured, false});
  CHECK(rules.costs->op_us(*graph->find_op("/model/layers.1/mlp/experts.0/MatMul"), 0) == 7);
}

TEST_CASE("llama.cpp and vLLM say what caches take that the file does not have") {
  const auto notes = [](const char* name, const std::vector<std::pair<const char*, int>>& modules,
                        bool cache) {
    GraphBuilder builder("decoder");
    const auto tensor = [](std::vector<std::int64_t> shape) {
      return TensorInfo{DType::f16, true, std::move(shape), kUnknownBytes};
    };
    TensorId last = kNoTensor;
    for (int layer = 0; layer < 2; ++layer) {
      const std::string prefix = "layers." + std::to_string(layer) + ".";
      std::vector<TensorId> made;
      for (const auto& [module, width] : modules) {
        const OpId op = builder.add_op(prefix + module, "MatMul");
        if (last != kNoTensor) builder.add_input(op, last);
        builder.add_input(op,
                          builder.add_parameter(tensor({256, width}), prefix + module + ".weight"));
        made.push_back(builder.add_output(op, tensor({1, 1024, width})));
      }
      const OpId out = builder.add_op(prefix + "o_proj", "MatMul");
      if (cache) {
        const OpId past = builder.add_op(prefix + "past", "Input");
        builder.add_input(out, builder.add_output(past, tensor({1, 1, 1023, 64})));
      }
      for (const TensorId each : made) builder.add_input(out, each);
      builder.add_input(out, builder.add_parameter(tensor({256, 256}), prefix + "o_proj.weight"));
      last = builder.add_output(out, tensor({1, 1024, 256}));
    }
    const OpId head = builder.add_op("head", "MatMul");
    builder.add_input(head, last);
    builder.add_input(head, builder.add_parameter(tensor({256, 99}), "head.weight"));
    std::string text;
    for (const auto& note :
         rules_of(name, *builder.build(), *machine_of_words("2xl4+host")).notes) {
      text += note;
    }
    return text;
  };
  for (const char* const name : {"llama.cpp", "vllm"}) {
    CAPTURE(name);
    // Two layers of 64 + 64 numbers, two bytes each: 512 bytes for a position.
    const std::vector<std::pair<const char*, int>> apart = {
        {"q_proj", 256}, {"k_proj", 64}, {"v_proj", 64}};
    CHECK(notes(name, apart, false).find("512 KiB more for 1,024 positions") != std::string::npos);
    CHECK(notes(name, {{"c_attn", 384}}, false).find("512 KiB more") != std::string::npos);
    CHECK(notes(name, {{"in_proj", 384}}, false).find("caches") == std::string::npos);
  }
  CHECK(notes("vllm", {{"k_proj", 64}}, true).find("caches") == std::string::npos);
}

TEST_CASE("accelerate's rules: whole blocks, tied weights once, no host that computes") {
  const auto graph = decoder({.layers = 3, .tied = true});
  const auto cluster = machine_of_words("2xl4+host");
  const auto of = [&](const char* name) { return *graph->find_op(name); };
  const ToolRules rules = rules_of("accelerate", *graph, *cluster);
  const auto constraints = compiled(*graph, *cluster, rules);
  CHECK(constraints->classes()->of(of("/model/embed_tokens/Gather")) ==
        constraints->classes()->of(of("/lm_head/MatMul")));
  CHECK_FALSE(constraints->allowed(0, 0));
  // Where GPUs do not hold it: a host does, and pays for sending weights; a GPU keeps room for them.
  const ToolRules spilled = rules_of("accelerate", *graph, *cluster, /*spill=*/true);
  const auto with_host = compiled(*graph, *cluster, spilled);
  CHECK(with_host->allowed(of("/model/layers.1/self_attn/MatMul"), 0));
  CHECK(with_host->memory_bytes(1) == cluster->device(1).memory_bytes - 2000);
  const OpId op = of("/model/layers.1/self_attn/MatMul");
  CHECK(spilled.costs->op_us(op, cluster->kind_of(0)) ==
        doctest::Approx(spilled.costs->op_us(op, cluster->kind_of(1)) +
                        1000 / cluster->route(0, 1).bandwidth_bytes_per_s * 1e6));
  // Its memory holds what it computes for the host.
  CHECK(spilled.cluster->works_in(0) == 1);
  CHECK_FALSE(rules.cluster->has_keepers());
  REQUIRE(spilled.notes.size() == 1);
  CHECK(spilled.notes.front().find("gpu:0") != std::string::npos);
}

TEST_CASE(
    "accelerate's map may lack what an exporter computed from parameters, which a note says") {
  const auto notes = [](const char* module) {
    GraphBuilder builder("positions");
    TensorId last = kNoTensor;
    TensorInfo info;
    info.bytes = 4096;
    const auto add = [&](const std::string& scope, const std::string& parameter) {
      const OpId op = builder.add_op(scope, "Add");
      builder.set_attribute(op, std::string(kModuleAttribute), scope);
      if (last != kNoTensor) builder.add_input(op, last);
      builder.add_input(op, builder.add_parameter(info, parameter));
      last = builder.add_output(op, info);
    };
    add("model.embed", "model.embed.weight");
    add(module, "embedding_1");
    add("model.layers.0", "model.layers.0.weight");
    return rules_of("accelerate", *builder.build(), *machine_of_words("2xl4")).notes;
  };
  REQUIRE(notes("model").size() == 1);
  CHECK(notes("model").front().find("computed in model, maybe") != std::string::npos);
  CHECK(notes("model.layers").size() == 1);
  CHECK(notes("model.layers.0.mlp").empty());  // which has an entry
}

TEST_CASE("accelerate has no pipeline, which a plan for throughput says") {
  const auto graph = decoder({});
  const auto cluster = machine_of_words("2xl4+host");
  const auto costs = Costs::roofline(*graph, *cluster);
  const auto notes = [&](const char* name) {
    return tool(name).rules({*graph, *cluster, *costs, false, /*pipeline=*/true}).notes;
  };
  REQUIRE(notes("accelerate").size() == 1);
  CHECK(notes("accelerate").front().find("one device after the other") != std::string::npos);
  for (const std::string& note : notes("deepspeed")) {
    CHECK(note.find("one device after the other") == std::string::npos);
  }
}

TEST_CASE(
    "accelerate computes what a host holds on a GPU that has a block and room for the largest") {
  const auto graph = decoder({.layers = 3});  // layers of 2,000 bytes, the others of 1,000 or 2,000
  const auto machine = [](std::int64_t first, std::int64_t second) {
    std::vector<Device> devices(3);
    for (std::size_t d = 0; d < devices.size(); ++d) {
      devices[d].host = d == 0;
      devices[d].name = d == 0 ? "cpu:0" : "gpu:" + std::to_string(d - 1);
      devices[d].kind = d == 0 ? "cpu" : "gpu" + std::to_string(d);
      devices[d].flops = d == 1 ? 2e12 : 1e12;
      devices[d].memory_bandwidth = 1e11;
    }
    devices[1].memory_bytes = first;
    devices[2].memory_bytes = second;
    LinkSpec link;
    link.src = link.dst = "*";
    link.bandwidth_bytes_per_s = 1e9;
    return std::make_shared<const Cluster>("two", devices, std::vector{link});
  };
  const auto first_of_map = [&](const Cluster& cluster, DeviceId chosen) {
    Placement placement(static_cast<std::size_t>(graph->op_count()), 0);
    placement[0] = chosen;
    placement.back() = placement[placement.size() - 2] = chosen == 1 ? 2 : 1;
    const std::string map = plan_writer("device_map").text(*graph, cluster, placement);
    return map.substr(0, map.find(','));
  };
  const auto pinned = [&](const Cluster& cluster) {
    const auto constraints =
        compiled(*graph, cluster, rules_of("accelerate", *graph, cluster, /*spill=*/true));
    for (DeviceId device = 1; device < 3; ++device) {
      if (!constraints->allowed(*graph->find_op("/model/embed_tokens/Gather"), 3 - device) &&
          constraints->allowed(*graph->find_op("/model/embed_tokens/Gather"), device)) {
        return device;
      }
    }
    return kNoDevice;
  };
  SUBCASE("the faster one") {
    const auto cluster = machine(4000, 4000);
    CHECK(pinned(*cluster) == 1);
    CHECK(first_of_map(*cluster, 1).find("\"model.embed_tokens\": 0") != std::string::npos);
  }
  SUBCASE("unless it has no room for a block of its own beside the largest") {
    const auto cluster = machine(2900, 4000);
    CHECK(pinned(*cluster) == 2);
    CHECK(first_of_map(*cluster, 2).find("\"model.embed_tokens\": 1") != std::string::npos);
  }
  SUBCASE("but on none for a host that is not there") {
    const Cluster bare("bare", {machine(1900, 2100)->device(1), machine(1900, 2100)->device(2)},
                       {{"*", "*", 1e9, 1}});
    CHECK(rules_of("accelerate", *graph, bare, /*spill=*/true).constraints.size() ==
          rules_of("accelerate", *graph, bare).constraints.size());
  }
  SUBCASE("and none where none has") {
    const auto cluster = machine(1900, 2100);  // named is the larger one
    expect_error(
        ErrorCode::infeasible, {"gpu:1", "no room for a block of its own", "beside the largest"},
        [&] { static_cast<void>(rules_of("accelerate", *graph, *cluster, /*spill=*/true)); });
  }
}

TEST_CASE("vLLM's rules: no host, embeddings and head with the outermost layers, a margin") {
  const auto graph = decoder({.layers = 3});
  const auto cluster = machine_of_words("2xl4+host");
  const auto constraints = compiled(*graph, *cluster, rules_of("vllm", *graph, *cluster));
  const auto of = [&](const char* name) {
    return constraints->classes()->of(*graph->find_op(name));
  };
  CHECK(of("/model/embed_tokens/Gather") == of("/model/layers.0/self_attn/MatMul"));
  CHECK(of("/lm_head/MatMul") == of("/model/layers.2/self_attn/MatMul"));
  CHECK(of("/model/layers.1/self_attn/MatMul") != of("/model/layers.0/self_attn/MatMul"));
  CHECK_FALSE(constraints->allowed(0, 0));
  CHECK(constraints->memory_bytes(1) ==
        doctest::Approx(0.9 * static_cast<double>(cluster->device(1).memory_bytes)));
}

TEST_CASE("torch.distributed.pipelining copies tied weights to each stage that reads them") {
  const auto graph = decoder({.layers = 3, .tied = true});
  const auto cluster = machine_of_words("2xl4");
  const ToolRules rules = rules_of("torch-pipelining", *graph, *cluster);
  const auto constraints = compiled(*graph, *cluster, rules);
  const OpId first = *graph->find_op("/model/embed_tokens/Gather");
  const OpId last = *graph->find_op("/lm_head/MatMul");
  CHECK(constraints->classes()->of(first) != constraints->classes()->of(last));
  // And to the first of them for the others, though they have their own.
  CHECK(rules.costs->workspace_bytes(first) == 1000);
  CHECK(rules.costs->workspace_bytes(last) == 0);
  REQUIRE(rules.notes.size() == 2);
  CHECK(rules.notes.back().find("model.embed_tokens and lm_head twice") != std::string::npos);
  // A single GPU has no stages.
  CHECK(rules_of("torch-pipelining", *graph, *machine_of_words("l4")).costs == nullptr);
}

TEST_CASE("a neural processor is no GPU: for ONNX Runtime and OpenVINO it is a device of its own") {
  const auto graph = decoder({});
  std::vector<Device> devices;
  for (DeviceId d = 0; d < 3; ++d) {
    devices.push_back(machine_of_words("sd8gen3:12GiB")->device(d));
    devices.back().kind = std::vector{"cpu", "gpu", "neural"}[static_cast<std::size_t>(d)];
  }
  const auto cluster = std::make_shared<const Cluster>(
      "chip", devices, std::vector<LinkSpec>{{"*", "*", 1e10, 1, {}}});
  for (const char* const tool : {"accelerate", "llama.cpp", "vllm", "deepspeed"}) {
    CAPTURE(tool);
    const auto constraints = compiled(*graph, *cluster, rules_of(tool, *graph, *cluster));
    for (OpId op = 0; op < graph->op_count(); ++op) CHECK_FALSE(constraints->allowed(op, 2));
  }
  const auto constraints = compiled(*graph, *cluster, rules_of("onnxruntime", *graph, *cluster));
  for (DeviceId device = 0; device < 3; ++device) CHECK(constraints->allowed(0, device));
  Placement placement(static_cast<std::size_t>(graph->op_count()), 1);
  placement[0] = 2;
  placement[1] = 0;
  CHECK(plan_writer("onnxruntime")
            .text(*graph, *cluster, placement)
            .find("cpu(=cpu:0); gpu:0(=gpu:0); npu(=npu:0)") != std::string::npos);
  const std::string affinity = plan_writer("openvino").text(*graph, *cluster, placement);
  for (const char* const name : {"\"NPU\"", "\"GPU\"", "\"CPU\""}) {
    CHECK(affinity.find(name) != std::string::npos);
  }
}

TEST_CASE("OpenVINO has Intel's GPUs, which it numbers by themselves") {
  const auto graph = decoder({});
  const auto cluster = machine_of_words("rtx4090+arca770+arcb580+host");
  const ToolRules rules = rules_of("openvino", *graph, *cluster);
  const auto constraints = compiled(*graph, *cluster, rules);
  CHECK_FALSE(constraints->allowed(0, 1));
  for (const DeviceId device : {0, 2, 3}) CHECK(constraints->allowed(0, device));
  REQUIRE(rules.notes.size() == 1);
  CHECK(rules.notes.front().find("not on gpu:0") != std::string::npos);
  Placement placement(static_cast<std::size_t>(graph->op_count()), 2);
  placement.back() = 3;
  CHECK(plan_writer("openvino").text(*graph, *cluster, placement).find("\"HETERO:GPU.0,GPU.1\"") !=
        std::string::npos);
  placement.front() = 1;
  expect_error(ErrorCode::unsupported, {"OpenVINO", "of Intel", "gpu:0", "rtx4090"}, [&] {
    static_cast<void>(plan_writer("openvino").text(*graph, *cluster, placement));
  });
}

TEST_CASE("ONNX Runtime's rules leave one GPU: the fastest that holds it, else the largest") {
  // It waits for memory, which is quickest on the RTX 3090, not on the GPU of the highest peak.
  const auto graph = decoder({});
  const auto cluster = machine_of_words("l4:9000B+l40s+rtx3090+host");
  const auto constraints = compiled(*graph, *cluster, rules_of("onnxruntime", *graph, *cluster));
  CHECK(constraints->allowed(0, 3));
  CHECK_FALSE(constraints->allowed(0, 1));
  CHECK_FALSE(constraints->allowed(0, 2));
  const auto small = machine_of_words("l40s:500B+l4:9000B+host");
  const auto of_small = compiled(*graph, *small, rules_of("onnxruntime", *graph, *small));
  CHECK(of_small->allowed(0, 2));
  CHECK_FALSE(of_small->allowed(0, 1));
}

TEST_CASE("a network or a machine that a tool cannot have is refused by its rules") {
  const auto refused = [](const char* name, const Graph& graph, const char* words,
                          std::initializer_list<std::string_view> parts) {
    const auto cluster = machine_of_words(words);
    expect_error(ErrorCode::unsupported, parts,
                 [&] { static_cast<void>(rules_of(name, graph, *cluster)); });
  };
  refused("vllm", *decoder({}), "host", {"vLLM needs a GPU", "cpu:0"});
  refused("deepspeed", *decoder({}), "host", {"DeepSpeed needs a GPU"});
  refused("vllm", *decoder({}), "sd8gen3:12GiB", {"vLLM runs on GPUs of NVIDIA", "a phone's"});
  refused("deepspeed", *decoder({}), "m2max:64GiB", {"gpu:0", "is Apple's", "llama.cpp"});
  refused("accelerate", *decoder({}), "a17pro", {"Apple and Intel", "a phone's"});
  static_cast<void>(rules_of("accelerate", *decoder({}), *machine_of_words("m2max:64GiB")));
  for (const char* const name : {"accelerate", "vllm", "deepspeed", "torch-pipelining"}) {
    refused(name, *decoder({}), "rtx4090+arca770+host",
            {"GPUs of one maker", "gpu:0 of NVIDIA", "gpu:1 of Intel", "one of them"});
  }
}

TEST_CASE("TensorFlow has no neural processor, but whatever has a name of its own") {
  const auto graph = decoder({});
  const auto phone = machine_of_words("sd8gen3:12GiB");
  const auto constraints = compiled(*graph, *phone, rules_of("tensorflow", *graph, *phone));
  for (DeviceId d = 0; d < phone->device_count(); ++d) {
    CHECK(constraints->allowed(0, d) == (phone->device(d).name != "npu:0"));
  }
  std::vector<Device> devices = {phone->device(0), phone->device(2)};
  devices.back().name = "tpu:0";
  const Cluster server("server", devices, std::vector<LinkSpec>{{"*", "*", 1e9, 0, {}}});
  CHECK(rules_of("tensorflow", *graph, server).constraints.empty());
}

TEST_CASE("onnx-mlir computes on the devices that it knows") {
  const auto graph = decoder({});
  const auto cluster = machine_of_words("2xl4");
  const auto constraints = compiled(*graph, *cluster, rules_of("onnx-mlir", *graph, *cluster));
  CHECK(constraints->allowed(0, 0));
  CHECK_FALSE(constraints->allowed(0, 1));
}

TEST_CASE("an encoder and a decoder are two stacks") {
  GraphBuilder builder("pair");
  TensorInfo info;
  info.bytes = 1000;
  TensorId last = kNoTensor;
  for (const char* module :
       {"encoder.block.0", "encoder.block.1", "decoder.block.0", "decoder.block.1"}) {
    const OpId op = builder.add_op(module, "MatMul");
    if (last != kNoTensor) builder.add_input(op, last);
    builder.add_input(op, builder.add_parameter(info, std::string(module) + ".q.weight"));
    last = builder.add_output(op, info);
  }
  const auto graph = builder.build();
  const auto cluster = machine_of_words("2xl4");
  for (const char* name : {"vllm", "llama.cpp"}) {
    expect_error(ErrorCode::unsupported, {"one stack of layers", "encoder.block", "decoder.block"},
                 [&] { static_cast<void>(rules_of(name, *graph, *cluster)); });
  }
  static_cast<void>(rules_of("accelerate", *graph, *cluster));
}

TEST_CASE("every tool has a form that is there, and an unknown one is refused") {
  for (const Tool& each : tools()) {
    CAPTURE(each.name);
    if (each.form != "model") CHECK(plan_writer(each.form).name == each.form);
  }
  expect_error(ErrorCode::not_found, {"'vlm'", "did you mean 'vllm'?", "openvino"},
               [] { static_cast<void>(tool("vlm")); });
}

}  // namespace
}  // namespace berth::test
