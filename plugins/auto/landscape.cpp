#include "auto/landscape.h"

#include <algorithm>
#include <cmath>

namespace berth::policies::auto_policy {
namespace {

/// Throughput: the largest load does not depend on the others, so most moves would look alike. The
/// p-norm of the loads, p = 2^squarings, depends on all of them and is close to the largest for
/// large p. `largest` counts by itself where it is a channel's and not one of `loads`.
double norm(std::span<const double> loads, double largest, int squarings) {
  if (largest <= 0) return 0;
  double sum = *std::max_element(loads.begin(), loads.end()) < largest ? 1 : 0;
  for (const double load : loads) {
    double term = load / largest;
    for (int i = 0; i < squarings; ++i) term *= term;
    sum += term;
  }
  return largest * std::exp2(std::log2(sum) / (1 << squarings));
}

}  // namespace

Landscape::Landscape(const std::shared_ptr<const Simulator>& simulator)
    : moves_(simulator),
      throughput_(simulator->problem().options().objective == Objective::throughput) {}

void Landscape::reset(std::span<const DeviceId> placement) {
  moves_.reset(placement);
  std::int64_t smallest = kNoLimit;
  const Problem& problem = moves_.problem();
  for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
    smallest = std::min(smallest, problem.memory_bytes(device));
  }
  us_per_excess_byte_ =
      moves_.objective_us() / static_cast<double>(std::max<std::int64_t>(smallest, 1));
  candidate_us_ = smooth(moves_.objective_us(), moves_.excess_bytes());
  accept();
}

double Landscape::smooth(double objective_us, std::int64_t excess_bytes) {
  if (throughput_) objective_us = norm(moves_.loads_us(), objective_us, squarings_);
  if (excess_bytes == 0) return objective_us;
  // Every step makes an overflow four times as expensive, so the search may pass through overflows
  // at first. At the first step, an overflow of a device's whole memory costs a quarter of the
  // objective.
  const double price = std::ldexp(us_per_excess_byte_, 2 * (squarings_ - kBlunt) - 2);
  return 1.01 * objective_us + price * static_cast<double>(excess_bytes);
}

bool Landscape::below(std::span<const Move> moves, double cutoff_us) {
  const MoveEvaluator::Candidate candidate = moves_.propose(moves, cutoff_us);
  if (candidate.rejected) return false;
  candidate_us_ = smooth(candidate.objective_us, candidate.excess_bytes);
  return candidate_us_ < cutoff_us;
}

void Landscape::sharpen(int squarings) {
  if (squarings == squarings_) return;
  squarings_ = squarings;
  static_cast<void>(moves_.propose({}));
  energy_us_ = smooth(moves_.objective_us(), moves_.excess_bytes());
}

void Landscape::accept() {
  moves_.accept();
  energy_us_ = candidate_us_;
  if (!throughput_) return;
  const std::span<const double> loads = moves_.loads_us();
  busiest_ = static_cast<DeviceId>(std::max_element(loads.begin(), loads.end()) - loads.begin());
}

}  // namespace berth::policies::auto_policy
