#include "auto/structure.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>
#include <unordered_map>

#include "berth/sdk/random.h"
#include "berth/support/index.h"

namespace berth::policies::auto_policy {
namespace {

/// In edges. Most cells of recurrent networks are a few ops deep, and some layers twenty.
constexpr std::array<int, 4> kDistances = {0, 2, 6, 16};

/// Two numbers as one; what is mixed in first matters.
std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  return Random(a ^ std::rotl(b, 23)).next();
}

Colours own_colours(const Problem& problem) {
  const Graph& graph = problem.graph();
  // Numbered as they are met, so that colours are the same on every platform.
  std::unordered_map<std::string_view, std::uint64_t> types;
  Colours colours;
  for (OpId op = 0; op < graph.op_count(); ++op) {
    const auto type = types.try_emplace(graph.op_type(op), types.size()).first->second;
    std::uint64_t colour = mix(type, static_cast<std::uint64_t>(graph.own_param_bytes(op)));
    for (KindId kind = 0; kind < problem.costs().kind_count(); ++kind) {
      colour = mix(colour, std::bit_cast<std::uint64_t>(problem.costs().op_us(op, kind)));
    }
    for (const TensorId tensor : graph.outputs(op)) {
      colour = mix(colour, static_cast<std::uint64_t>(graph.bytes(tensor)));
    }
    colours.push_back(colour);
  }
  return colours;
}

/// Each with those of its neighbours, in any order.
Colours refined(const Graph& graph, const Colours& colours) {
  constexpr std::uint64_t kFrom = 1;
  constexpr std::uint64_t kTo = 2;
  Colours refined;
  refined.reserve(colours.size());
  for (OpId op = 0; op < graph.op_count(); ++op) {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    for (const Edge& edge : graph.in_edges(op)) from += mix(colours[at(edge.src)], kFrom);
    for (const Edge& edge : graph.out_edges(op)) to += mix(colours[at(edge.dst)], kTo);
    refined.push_back(mix(mix(colours[at(op)], from), to));
  }
  return refined;
}

}  // namespace

std::vector<Colours> colours_of(const Problem& problem) {
  std::vector<Colours> all;
  Colours colours = own_colours(problem);
  int so_far = 0;
  for (const int distance : kDistances) {
    for (; so_far < distance; ++so_far) colours = refined(problem.graph(), colours);
    all.push_back(colours);
  }
  return all;
}

Structure structure_of(const Problem& problem) {
  return {colours_of(problem), layers_of(problem)};
}

}  // namespace berth::policies::auto_policy
