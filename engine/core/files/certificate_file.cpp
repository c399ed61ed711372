// Writes a bound's proof. Ops are numbered in topological order, so that a reader sees at once that
// there is no cycle.
#include <algorithm>
#include <cmath>
#include <span>

#include "berth/files.h"
#include "berth/version.h"
#include "files/json_reader.h"
#include "proofs/bound_facts.h"
#include "proofs/proof.h"

namespace berth {
namespace {

using bounds::Facts;
using bounds::Proof;
using bounds::ProofRound;

constexpr std::string_view kCertificateFormat = "berth.certificate/1";

/// JSON has no infinity.
Json finite(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

class Writer {
 public:
  explicit Writer(const Problem& problem)
      : problem_(problem),
        graph_(problem.graph()),
        facts_(problem),
        number_(static_cast<std::size_t>(graph_.op_count())) {
    for (const OpId op : graph_.topological_order()) number_[at(op)] = next_++;
  }

  [[nodiscard]] Json problem() const {
    Json json = {{"objective", objective_name(problem_.options().objective)},
                 {"semantics", semantics_name(problem_.options().semantics)},
                 {"kinds", kinds()},
                 {"transfers", transfers()},
                 {"ops", ops()},
                 {"edges", edges()},
                 {"constrained", problem_.constraints() != nullptr}};
    if (problem_.options().semantics == Semantics::placeto) {
      json["device_gap_us"] = problem_.options().device_gap_us;
    }
    Json shared = Json::array();
    for (const Graph::SharedParameter& each : graph_.shared_parameters()) {
      Json readers = Json::array();
      for (const OpId op : each.consumers) readers.push_back(number_[at(op)]);
      shared.push_back({each.bytes, std::move(readers)});
    }
    json["shared_parameters"] = std::move(shared);
    return json;
  }

  /// The weights of backlogs.
  [[nodiscard]] Json weights() const { return facts_.weights_by_speed(); }

  [[nodiscard]] Json round(const ProofRound& round) const {
    const auto heads = [this](const std::vector<bounds::RaisedHead>& raised) {
      Json json = Json::array();
      for (const bounds::RaisedHead& head : raised) {
        json.push_back({number_[at(head.op)], head.kind, finite(head.us)});
      }
      return json;
    };
    const auto backlogs = [this](const std::vector<bounds::Backlog>& all) {
      Json json = Json::array();
      for (const bounds::Backlog& each : all) {
        const Json of = each.of == kNoOp ? Json(nullptr) : Json(number_[at(each.of)]);
        json.push_back({number_[at(each.op)], each.us, each.from_us, of});
      }
      return json;
    };
    const auto kinds = [this](const std::vector<std::pair<OpId, KindId>>& pairs) {
      Json json = Json::array();
      for (const auto& [op, kind] : pairs) json.push_back({number_[at(op)], kind});
      return json;
    };
    Json together = Json::array();
    for (const auto& [src, dst] : round.together) {
      together.push_back({number_[at(src)], number_[at(dst)]});
    }
    Json hubs = Json::array();
    for (const bounds::CrowdedHub& hub : round.crowded_hubs) {
      hubs.push_back({number_[at(hub.op)], hub.kind, hub.from_us, hub.to_us, hub.opens_us,
                      hub.closes_us, hub.price});
    }
    return {{"heads", heads(round.heads)},
            {"tails", heads(round.tails)},
            {"backlog_heads", backlogs(round.backlog_heads)},
            {"backlog_tails", backlogs(round.backlog_tails)},
            {"op_not_on", kinds(round.op_not_on)},
            {"together", std::move(together)},
            {"cluster_not_on", kinds(round.cluster_not_on)},
            {"hub_not_on", std::move(hubs)}};
  }

  // How a proof ends.
  Json operator()(std::monostate) const { return {{"by", "nothing"}}; }
  Json operator()(const bounds::Overfull& end) const {
    return {{"by", "window"},
            {"from_us", end.from_us},
            {"to_us", end.to_us},
            {"weights", end.weights},
            {"parts", end.parts}};
  }
  Json operator()(const bounds::WorkShares& end) const {
    return {{"by", "work"}, {"weights", end.weights}, {"prices", end.prices}};
  }
  Json operator()(const bounds::Crowd& end) const { return {{"by", "crowd"}, {"each", end.each}}; }

 private:
  [[nodiscard]] Json kinds() const {
    const Cluster& cluster = problem_.cluster();
    std::vector<Json> memory(at(cluster.kind_count()), 0);
    for (DeviceId d = 0; d < cluster.device_count(); ++d) {
      Json& sum = memory[at(cluster.kind_of(d))];
      if (sum.is_null()) continue;
      const std::int64_t bytes = problem_.memory_bytes(d);
      sum =
          bytes == kNoLimit ? Json(nullptr) : Json(sum.get<double>() + static_cast<double>(bytes));
    }
    Json json = Json::array();
    for (KindId kind = 0; kind < cluster.kind_count(); ++kind) {
      json.push_back({{"name", cluster.kind_name(kind)},
                      {"devices", static_cast<std::int64_t>(facts_.devices_of(kind))},
                      {"memory_bytes", memory[at(kind)]}});
    }
    return json;
  }

  [[nodiscard]] Json transfers() const {
    Json json = Json::array();
    for (KindId src = 0; src < facts_.kind_count(); ++src) {
      for (KindId dst = 0; dst < facts_.kind_count(); ++dst) {
        const Facts::Link link = facts_.link(src, dst);
        if (link.bandwidth_bytes_per_s == 0) continue;
        json.push_back({src, dst, link.latency_us, link.bandwidth_bytes_per_s, link.queues});
      }
    }
    return json;
  }

  [[nodiscard]] Json ops() const {
    Json json = Json::array();
    for (const OpId op : graph_.topological_order()) {
      Json us = Json::array();
      for (KindId kind = 0; kind < facts_.kind_count(); ++kind) {
        us.push_back(finite(facts_.op_us(op, kind)));
      }
      json.push_back({{"name", graph_.op_name(op)},
                      {"class", facts_.classes().of(op)},
                      {"us", std::move(us)},
                      {"param_bytes", graph_.own_param_bytes(op)}});
    }
    return json;
  }

  [[nodiscard]] Json edges() const {
    Json json = Json::array();
    for (const OpId op : graph_.topological_order()) {
      for (const Edge& edge : graph_.in_edges(op)) {
        Json entry = {number_[at(edge.src)], number_[at(edge.dst)]};
        if (edge.tensor != kNoTensor) {
          entry.push_back(graph_.bytes(edge.tensor));
          const std::span<const TensorId> outputs = graph_.outputs(edge.src);
          entry.push_back(std::find(outputs.begin(), outputs.end(), edge.tensor) - outputs.begin());
        }
        json.push_back(std::move(entry));
      }
    }
    return json;
  }

  const Problem& problem_;
  const Graph& graph_;
  const Facts facts_;
  std::vector<std::int32_t> number_;  // by op
  std::int32_t next_ = 0;
};

}  // namespace

std::string certificate_json(const Problem& problem, const Certificate& certificate) {
  const Writer writer(problem);
  Json rounds = Json::array();
  for (const ProofRound& round : certificate.proof->rounds) rounds.push_back(writer.round(round));
  const Json document = {
      {"format", kCertificateFormat},        {"graph", problem.graph().name()},
      {"cluster", problem.cluster().name()}, {"costs", problem.costs().source()},
      {"version", BERTH_VERSION_STRING},     {"bound_us", certificate.bound.us},
      {"source", certificate.bound.source},  {"rests_on", certificate.rests_on},
      {"problem", writer.problem()},         {"weights", writer.weights()},
      {"rounds", std::move(rounds)},         {"end", std::visit(writer, certificate.proof->end)}};
  return document.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace berth
