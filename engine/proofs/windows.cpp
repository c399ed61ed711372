#include "proofs/windows.h"

#include <algorithm>
#include <cmath>

namespace berth::bounds {
namespace {

/// Ops looked at in all windows of one T.
constexpr double kMostLooks = 1e6;
/// Windows begin (and end) at so many times at least, and no more than kMostPoints.
constexpr double kLeastPoints = 24;
constexpr double kMostPoints = 400;
/// Whole clusters are counted where there are no more of them, in up to so many parts of a window.
constexpr std::size_t kMostRows = 2000;
constexpr int kMostParts = 8;
/// Weights of the slower kinds that are tried, in units of their speed.
constexpr double kShares[] = {0, 0.5, 1, 1.5, 2};

/// All `values` where they are few, or so many even times up to `t_us`.
std::vector<double> points(std::vector<double> values, double most, double t_us) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (static_cast<double>(values.size()) <= most) return values;
  values.clear();
  for (double i = 0; i <= most; ++i) values.push_back(t_us * i / most);
  return values;
}

}  // namespace

Windows::Windows(const Facts& facts) : facts_(facts) {
  choose_weights();
}

std::optional<Overfull> Windows::overfull(const Known& known,
                                          const std::vector<std::vector<OpId>>& clusters,
                                          const Heads& heads, const Heads& tails, double t_us,
                                          double margin_us) {
  margin_us_ = margin_us;
  gather(known, clusters, heads, tails, t_us);
  choose_points(t_us);
  for (std::size_t from = 0; from < starts_.size() && !facts_.stopped(); ++from) {
    // A window within another needs no more than it, so that no window of this length or longer is
    // overfull.
    double enough_us = kCannotRun;
    for (std::size_t to = ends_.size(); to-- > 0 && ends_[to] > starts_[from];) {
      if (ends_[to] - starts_[from] >= enough_us) continue;
      if (std::optional<Overfull> window = test(from, to)) return window;
      enough_us = (most_parts() > 0 ? 2 : 1) * most_needed_us_;
    }
  }
  return std::nullopt;
}

int Windows::most_parts() const {
  return rows_.size() <= kMostRows ? kMostParts : 0;
}

void Windows::gather(const Known& known, const std::vector<std::vector<OpId>>& clusters,
                     const Heads& heads, const Heads& tails, double t_us) {
  rows_.clear();
  span_count_ = 0;
  for (const std::vector<OpId>& members : clusters) {
    const std::size_t rows_before = rows_.size();
    for (KindId kind = 0; kind < facts_.kind_count() && !members.empty(); ++kind) {
      if (!Demand::possible(facts_, known, members, kind)) continue;
      rows_.push_back(
          {Demand(facts_, known, heads, tails, members, kind, t_us), kind, false, {}, {}});
      span_count_ += rows_.back().demand.spans().size();
    }
    if (rows_.size() > rows_before) rows_.back().last = true;
  }
}

void Windows::choose_points(double t_us) {
  const double most = std::floor(std::clamp(
      std::sqrt(2 * kMostLooks / static_cast<double>(span_count_ + 1)), kLeastPoints, kMostPoints));
  std::vector<double> from{0}, to{t_us};
  for (const Row& row : rows_) {
    for (const Demand::Span& span : row.demand.spans()) {
      from.push_back(std::max(0.0, span.earliest_us));
      to.push_back(std::min(t_us, span.latest_us));
    }
  }
  starts_ = points(std::move(from), most, t_us);
  ends_ = points(std::move(to), most, t_us);
  for (Row& row : rows_) {
    if (row.demand.spans().size() < 2) continue;
    for (const double us : starts_) row.before_us.push_back(row.demand.before_us(us));
    for (const double us : ends_) row.after_us.push_back(row.demand.after_us(us));
  }
}

double Windows::needed_us(const Row& row, std::size_t from, std::size_t to) const {
  const double each_us = row.demand.needed_one_by_one_us(starts_[from], ends_[to]);
  if (row.before_us.empty()) return each_us;
  return std::max(each_us, row.demand.total_us() - row.before_us[from] - row.after_us[to]);
}

std::optional<Overfull> Windows::test(std::size_t from, std::size_t to) {
  needs_.clear();
  std::size_t begin = 0;  // of the cluster's
  bool nothing = false;
  for (const Row& row : rows_) {
    if (!nothing) needs_.push_back({needed_us(row, from, to), row.kind, row.last});
    nothing = nothing || needs_.back().us <= 0;
    if (!row.last) continue;
    if (nothing) needs_.resize(begin);
    begin = needs_.size();
    nothing = false;
  }
  work_ += static_cast<std::int64_t>(span_count_);
  if (std::optional<Overfull> window = sum_up(from, to, 0)) return window;
  most_needed_us_ = *std::max_element(sums_.begin(), sums_.end());
  // Whole parts come to less than n + 1 times the work over the window.
  const double full = most_needed_us_ / (ends_[to] - starts_[from]);
  for (int parts = 1; parts <= most_parts() && (parts + 1) * full > parts; ++parts) {
    work_ += static_cast<std::int64_t>(needs_.size());
    if (std::optional<Overfull> window = sum_up(from, to, parts)) return window;
  }
  return std::nullopt;
}

std::optional<Overfull> Windows::sum_up(std::size_t from, std::size_t to, int parts) {
  const double long_us = ends_[to] - starts_[from];
  sums_.assign(weights_.size(), 0);
  least_.assign(weights_.size(), kCannotRun);
  for (const Need& need : needs_) {
    double amount = need.us;
    if (parts > 0) {
      amount = std::max(0.0, std::ceil((parts + 1) * (amount - margin_us_) / long_us) - 1);
    }
    const double* const weights = weights_of_kinds_.data() + at(need.kind) * weights_.size();
    for (std::size_t y = 0; y < weights_.size(); ++y) {
      least_[y] = std::min(least_[y], weights[y] * amount);
    }
    if (!need.last) continue;
    for (std::size_t y = 0; y < weights_.size(); ++y) {
      sums_[y] += least_[y];
      least_[y] = kCannotRun;
    }
  }
  const double most = parts > 0 ? parts * (1 + 1e-9) : long_us + margin_us_;
  const auto too_much =
      std::find_if(sums_.begin(), sums_.end(), [&](double sum) { return sum > most; });
  if (too_much == sums_.end()) return std::nullopt;
  const auto y = static_cast<std::size_t>(too_much - sums_.begin());
  return Overfull{starts_[from], ends_[to], weights_[y], parts, false};
}

void Windows::choose_weights() {
  const KindId kinds = facts_.kind_count();
  const std::vector<double> speed = facts_.speeds();
  const double highest = *std::max_element(speed.begin(), speed.end());
  const auto add = [&](auto weight) {
    std::vector<double> y(at(kinds));
    double total = 0;
    for (KindId kind = 0; kind < kinds; ++kind) {
      y[at(kind)] = weight(kind);
      total += y[at(kind)] * facts_.devices_of(kind);
    }
    if (total <= 0) return;
    for (double& each : y) each /= total;
    if (std::find(weights_.begin(), weights_.end(), y) == weights_.end()) weights_.push_back(y);
  };
  for (const double share : kShares) {
    add([&](KindId kind) {
      return speed[at(kind)] == highest ? highest : share * speed[at(kind)];
    });
  }
  for (KindId only = 0; only < kinds; ++only) {
    add([&](KindId kind) { return kind == only ? 1.0 : 0.0; });
  }
  for (KindId kind = 0; kind < kinds; ++kind) {
    for (const std::vector<double>& y : weights_) weights_of_kinds_.push_back(y[at(kind)]);
  }
}

}  // namespace berth::bounds
