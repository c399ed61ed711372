// The placements of the human experts in Mirhoseini et al., ICML 2017, and Addanki et al., NeurIPS
// 2019 (baselines), chosen by the kind of graph. Recurrent networks: every LSTM layer on a device
// of its own, with attention and softmax beside the last. Convolutional networks with parallel
// branches: the branches on different devices. Others: contiguous parts with equally many layers.
#include <algorithm>
#include <deque>
#include <map>
#include <string>

#include "berth/error.h"
#include "berth/plugin.h"
#include "berth/sdk/layers.h"
#include "berth/sdk/repair.h"
#include "berth/support/index.h"
#include "common/spread.h"
#include "expert/recipes.h"

namespace berth::policies::expert {
namespace {

constexpr int kNoPart = -1;

/// The part of each group: what most of its forward ops want, by compute time; if it has none in
/// a layer, what its gradients want; kNoPart if nothing in it is of a layer.
std::vector<int> parts_of_groups(const Problem& problem, const Layers& layers, const Recipe& recipe,
                                 int parts) {
  std::vector<int> result(at(problem.groups().count()), kNoPart);
  std::vector<double> votes;
  for (GroupId group = 0; group < problem.groups().count(); ++group) {
    for (const bool forward : {true, false}) {
      votes.assign(static_cast<std::size_t>(parts), 0);
      for (const OpId op : problem.groups().members(group)) {
        const LayerId layer = layers.of(op);
        if (layer == kNoLayer || layers.forward(op) != forward) continue;
        // Ops that cost nothing have a voice if there are no others.
        votes[static_cast<std::size_t>(recipe.part_of_layer[at(layer)])] +=
            1e-6 + fastest_us(problem, op);
      }
      const auto most = std::max_element(votes.begin(), votes.end());
      if (*most == 0) continue;
      result[at(group)] = static_cast<int>(most - votes.begin());
      break;
    }
  }
  return result;
}

/// Groups without a part go with the neighbours that have one, by the bytes between them; outwards
/// from those that have one. A group that nothing leads to gets part 0.
void follow_neighbours(const Groups& groups, std::vector<int>& part) {
  std::vector<bool> queued(part.size(), false);
  std::deque<GroupId> queue;
  const auto for_each_neighbour = [&](GroupId group, auto&& visit) {
    for (const Groups::Edge& edge : groups.in_edges(group)) visit(edge.src, edge.bytes);
    for (const Groups::Edge& edge : groups.out_edges(group)) visit(edge.dst, edge.bytes);
  };
  const auto enqueue_around = [&](GroupId group) {
    for_each_neighbour(group, [&](GroupId other, std::int64_t) {
      if (part[at(other)] != kNoPart || queued[at(other)]) return;
      queued[at(other)] = true;
      queue.push_back(other);
    });
  };
  for (GroupId group = 0; group < groups.count(); ++group) {
    if (part[at(group)] != kNoPart) enqueue_around(group);
  }
  while (!queue.empty()) {
    const GroupId group = queue.front();
    queue.pop_front();
    std::map<int, double> bytes;
    for_each_neighbour(group, [&](GroupId other, std::int64_t of_edge) {
      if (part[at(other)] != kNoPart) bytes[part[at(other)]] += 1 + static_cast<double>(of_edge);
    });
    part[at(group)] =
        std::max_element(bytes.begin(), bytes.end(), [](const auto& a, const auto& b) {
          return a.second < b.second;
        })->first;
    enqueue_around(group);
  }
  std::replace(part.begin(), part.end(), kNoPart, 0);
}

/// The division if no layers are seen: equally many groups in a row, of those that take any time.
std::vector<int> equal_groups(const Problem& problem, int parts) {
  const GroupId count = problem.groups().count();
  std::vector<bool> works(at(count), false);
  std::int64_t working = 0;
  for (GroupId group = 0; group < count; ++group) {
    for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
      const bool any = problem.can_run(group, device) && problem.group_cost_us(group, device) > 0;
      works[at(group)] = works[at(group)] || any;
    }
    working += works[at(group)] ? 1 : 0;
  }
  std::vector<int> result;
  std::int64_t seen = 0;
  for (GroupId group = 0; group < count; ++group) {
    seen += works[at(group)] ? 1 : 0;
    result.push_back(
        working == 0 ? 0 : static_cast<int>(std::max<std::int64_t>(seen - 1, 0) * parts / working));
  }
  return result;
}

class ExpertPolicy final : public Policy {
 public:
  explicit ExpertPolicy(const Options& options)
      : recipe_(options.text("recipe")),
        hosts_(options.boolean("hosts")),
        repair_(options.boolean("repair")) {}

  [[nodiscard]] bool takes_starts() const override { return false; }
  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override {
    const Problem& problem = evaluator.problem();
    const std::vector<DeviceId> devices = spread_devices(problem, hosts_);
    const int parts = static_cast<int>(devices.size());
    const Layers layers(problem.graph());
    std::string text = "no layers recognised: contiguous parts of equally many groups";
    std::vector<int> part;
    if (const auto recipe = choose(problem.graph(), layers, parts)) {
      part = parts_of_groups(problem, layers, *recipe, parts);
      follow_neighbours(problem.groups(), part);
      text = recipe->text;
    } else {
      part = equal_groups(problem, parts);
    }
    GroupPlacement groups;
    for (const int number : part) groups.push_back(devices[static_cast<std::size_t>(number)]);
    PolicyAnswer answer = repair_placement(problem, evaluator, std::move(groups), repair_, context);
    answer.notes.push_back(std::move(text));
    return answer;
  }

 private:
  [[nodiscard]] std::optional<Recipe> choose(const Graph& graph, const Layers& layers,
                                             int parts) const {
    if (recipe_ == "layers" || recipe_ == "branches") {
      const auto asked = recipe_ == "layers" ? recurrent_layer_per_part(graph, layers, parts)
                                             : branch_per_part(graph, layers, parts);
      if (asked) return asked;
      throw Error(ErrorCode::invalid_argument,
                  "policy expert: recipe '" + recipe_ + "' sees no " +
                      (recipe_ == "layers" ? "recurrent layers" : "parallel branches") +
                      " in graph '" + graph.name() + "'; recipe=auto takes what it sees");
    }
    if (recipe_ == "auto") {
      if (auto by_layers = recurrent_layer_per_part(graph, layers, parts)) return by_layers;
      if (auto by_branches = branch_per_part(graph, layers, parts)) return by_branches;
    }
    return equal_layers_per_part(graph, layers, parts);
  }

  std::string recipe_;
  bool hosts_;
  bool repair_;
};

constexpr OptionSpec kOptions[] = {
    {"recipe",
     OptionType::text,
     "auto",
     "layers (a recurrent layer per device), branches (parallel branches apart), contiguous (parts "
     "with equally many layers) or auto: the first of them that the graph has",
     {},
     "auto,layers,branches,contiguous"},
    {"hosts", OptionType::boolean, "false",
     "give host devices a part too; false keeps them for what nothing else can run"},
    kRepairOption};

}  // namespace

BERTH_PLUGIN(ExpertPolicy, "expert", "1.0",
             "what the papers' human experts did: a layer or a branch per device", kOptions);

}  // namespace berth::policies::expert
