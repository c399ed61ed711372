#include "proofs/hubs.h"

#include <algorithm>

namespace berth::bounds {
namespace {

/// Transfers into a hub take at least this share of the step; others are not looked at.
constexpr double kLeastShare = 0.25;
/// Windows begin and end at multiples of T over this.
constexpr int kGrid = 48;

}  // namespace

Hubs::Hubs(const Facts& facts) : facts_(facts), queues_(at(facts.kind_count()), true) {
  for (KindId dst = 0; dst < facts.kind_count(); ++dst) {
    for (KindId src = 0; src < facts.kind_count(); ++src) {
      const Facts::Link link = facts.link(src, dst);
      if (link.bandwidth_bytes_per_s > 0 && !link.queues) queues_[at(dst)] = false;
    }
  }
}

std::vector<CrowdedHub> Hubs::crowded(const Known& known,
                                      const std::vector<std::vector<OpId>>& clusters,
                                      const Heads& heads, const Heads& tails, double t_us,
                                      double margin_us) {
  std::vector<CrowdedHub> found;
  for (const std::vector<OpId>& hub : clusters) {
    if (hub.size() > 1 && facts_.stopped()) break;
    for (KindId kind = 0; kind < facts_.kind_count() && !hub.empty(); ++kind) {
      if (!queues_[at(kind)] || !Demand::possible(facts_, known, hub, kind)) continue;
      gather_transfers(known, hub, kind, heads, tails, t_us);
      double incoming_us = 0;
      for (const Transfer& transfer : transfers_) incoming_us += transfer.us;
      if (incoming_us < kLeastShare * t_us) continue;
      gather_satellites(known, clusters, kind, heads, tails, t_us);
      const Demand demand(facts_, known, heads, tails, hub, kind, t_us);
      if (std::optional<CrowdedHub> crowded = search(demand, t_us, margin_us)) {
        crowded->op = hub.front();
        crowded->kind = kind;
        found.push_back(*crowded);
      }
    }
  }
  return found;
}

void Hubs::gather_transfers(const Known& known, const std::vector<OpId>& hub, KindId kind,
                            const Heads& heads, const Heads& tails, double t_us) {
  struct Read {
    GroupId from;
    TensorId tensor;
    OpId producer;
    double latest_us;
  };
  std::vector<Read> reads;
  for (const OpId op : hub) {
    for (const Edge& edge : facts_.graph().in_edges(op)) {
      const GroupId from = known.class_of[at(edge.src)];
      if (edge.tensor == kNoTensor || from == known.class_of[at(op)]) continue;
      reads.push_back({from, edge.tensor, edge.src, t_us - tails.with_op_us(op, kind)});
    }
  }
  work_ += static_cast<std::int64_t>(reads.size());
  std::sort(reads.begin(), reads.end(), [](const Read& a, const Read& b) {
    if (a.from != b.from) return a.from < b.from;
    return a.tensor != b.tensor ? a.tensor < b.tensor : a.latest_us < b.latest_us;
  });
  transfers_.clear();
  for (std::size_t i = 0; i < reads.size(); ++i) {
    if (i > 0 && reads[i].tensor == reads[i - 1].tensor) continue;
    Transfer transfer{reads[i].from, kCannotRun, kCannotRun, reads[i].latest_us};
    for (KindId far = 0; far < facts_.kind_count(); ++far) {
      transfer.us = std::min(transfer.us, facts_.transfer_us(reads[i].tensor, far, kind));
      transfer.earliest_us =
          std::min(transfer.earliest_us, heads.with_op_us(reads[i].producer, far));
    }
    transfers_.push_back(transfer);
  }
}

void Hubs::gather_satellites(const Known& known, const std::vector<std::vector<OpId>>& clusters,
                             KindId kind, const Heads& heads, const Heads& tails, double t_us) {
  satellites_.clear();
  for (std::size_t i = 0; i < transfers_.size(); ++i) {
    if (i > 0 && transfers_[i].from == transfers_[i - 1].from) {
      satellites_.back().last = i + 1;
      continue;
    }
    const std::vector<OpId>& members = clusters[at(transfers_[i].from)];
    satellites_.push_back({std::nullopt, i, i + 1});
    if (!Demand::possible(facts_, known, members, kind)) continue;
    satellites_.back().demand.emplace(facts_, known, heads, tails, members, kind, t_us);
  }
}

std::optional<CrowdedHub> Hubs::search(const Demand& hub, double t_us, double margin_us) {
  for (int i = 0; i < kGrid; ++i) {
    for (int j = kGrid; j > i; --j) {
      if (auto crowded = test(hub, t_us * i / kGrid, t_us * j / kGrid, margin_us)) return crowded;
    }
  }
  return std::nullopt;
}

std::optional<CrowdedHub> Hubs::test(const Demand& hub, double from_us, double to_us,
                                     double margin_us) {
  CrowdedHub crowded{kNoOp, 0, from_us, to_us, to_us, from_us, 0};
  for (const Transfer& transfer : transfers_) {
    if (transfer.needed_us(from_us, to_us) == 0) continue;
    crowded.opens_us = std::min(crowded.opens_us, std::max(from_us, transfer.earliest_us));
    crowded.closes_us = std::max(crowded.closes_us, std::min(to_us, transfer.latest_us));
  }
  if (crowded.closes_us <= crowded.opens_us) return std::nullopt;
  // No price is worth its time if the engine has time for all of them.
  double transfer_us = 0;
  for (const Transfer& transfer : transfers_) {
    transfer_us += transfer.needed_us(crowded.opens_us, crowded.closes_us);
  }
  if (transfer_us <= crowded.closes_us - crowded.opens_us &&
      hub.needed_us(from_us, to_us) <= to_us - from_us) {
    return std::nullopt;
  }
  choices_.clear();
  double fixed_us = 0;  // of the engine, by what cannot be on the device
  for (const Satellite& satellite : satellites_) {
    Choice choice{kCannotRun, 0};
    for (std::size_t i = satellite.first; i < satellite.last; ++i) {
      choice.transfer_us += transfers_[i].needed_us(crowded.opens_us, crowded.closes_us);
    }
    if (satellite.demand.has_value()) {
      choice.needed_us = satellite.demand->needed_us(from_us, to_us);
      work_ += static_cast<std::int64_t>(satellite.demand->spans().size());
    } else {
      fixed_us += choice.transfer_us;
    }
    if (choice.transfer_us > 0) choices_.push_back(choice);
  }
  const double engine_us = crowded.closes_us - crowded.opens_us;
  crowded.price = price(engine_us - fixed_us, to_us - from_us);
  double needed_us = hub.needed_us(from_us, to_us);
  for (const Choice& choice : choices_) {
    needed_us += std::min(choice.needed_us, crowded.price * choice.transfer_us);
  }
  const double most_us =
      to_us - from_us + crowded.price * engine_us + margin_us * (1 + crowded.price);
  if (needed_us <= most_us) return std::nullopt;
  return crowded;
}

/// Need per time of transfer of the satellite at which the engine's time ends, if those of the
/// largest are sent first.
double Hubs::price(double left_us, double window_us) {
  if (left_us < 0) return -2 * window_us / left_us;
  std::sort(choices_.begin(), choices_.end(), [](const Choice& a, const Choice& b) {
    return a.needed_us / a.transfer_us > b.needed_us / b.transfer_us;
  });
  for (const Choice& choice : choices_) {
    if (choice.needed_us == kCannotRun) continue;
    left_us -= choice.transfer_us;
    if (left_us < 0) return choice.needed_us / choice.transfer_us;
  }
  return 0;
}

}  // namespace berth::bounds
