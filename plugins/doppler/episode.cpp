#include "episode.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "berth/sdk/environment.h"
#include "berth/support/index.h"
#include "learning/sampling.h"

namespace berth::doppler {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();
/// Steps between two calls of `check`.
constexpr std::size_t kStride = 64;

/// Times are in shares of what a device would compute at an even load, times 4.
enum DeviceFeature : std::size_t {
  kCost,           ///< log2 of the group's cost there, of its least
  kReadyLater,     ///< when its inputs are there, after the first device
  kFreeLater,      ///< when the device is free, after the first
  kEndsLater,      ///< when the group would end there, after the first
  kSlightlyLater,  ///< the same, with small differences spread out
  kWaits,          ///< how long the device would wait for the inputs
  kLoad,           ///< what it computes already
  kNear,           ///< of the bytes that the group receives, those that are there
  kMemory,         ///< parameters there with the group's, of its memory; 0 without a limit
  kHost            ///< 1: it is a host
};
static_assert(kHost + 1 == kDeviceFeatures);

float bounded(double value) {
  return static_cast<float>(std::clamp(value, -4.0, 4.0));
}

/// Makes logits log-probabilities. kNever stays what it is: weights that overflowed make the rest NaN.
void normalise(float* logits, std::size_t count) {
  const float most = *std::max_element(logits, logits + count);
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += std::exp(static_cast<double>(logits[i] - most));
  const auto log_sum = static_cast<float>(std::log(sum)) + most;
  for (std::size_t i = 0; i < count; ++i) {
    if (logits[i] != kNever) logits[i] -= log_sum;
  }
}

}  // namespace

struct Player::State {
  State(const ProblemView& view, std::size_t head)
      : schedule(view.problem),
        placement(view.groups, kNoDevice),
        parameter_bytes(view.devices),
        held(view.devices * head),
        held_count(view.devices),
        hidden(head) {}

  PartialSchedule schedule;
  std::vector<DeviceId> placement;
  std::vector<double> parameter_bytes;  ///< by device
  std::vector<float> held;              ///< [devices, head] sums
  std::vector<std::int32_t> held_count;
  mutable std::vector<float> hidden;
};

Player::Player(const ProblemView& view, const Encoded& encoded, const Network::Head& head,
               Played& played)
    : view_(view),
      head_(head),
      played_(played),
      select_(floats(encoded.select)),
      own_(floats(encoded.own)),
      held_(floats(encoded.held)) {}

void Player::observe(State& state, GroupId group, float* features) const {
  const Problem& problem = view_.problem;
  double first_ready = kCannotRun, first_free = kCannotRun, first_end = kCannotRun;
  for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
    first_ready = std::min(first_ready, state.schedule.ready_us(group, device));
    first_free = std::min(first_free, state.schedule.free_us(device));
    first_end = std::min(first_end, state.schedule.end_us(group, device));
  }
  double bytes = 0;
  for (const Groups::Edge& edge : problem.groups().in_edges(group)) {
    bytes += static_cast<double>(edge.bytes);
  }
  const double unit = 4 / view_.scale_us;
  const double least = std::max(view_.facts.cost_us[at(group)], 1e-9);
  for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
    float* const row = features + at(device) * kDeviceFeatures;
    std::fill_n(row, kDeviceFeatures, 0.0F);
    if (!problem.can_run(group, device)) continue;
    const double ready = state.schedule.ready_us(group, device);
    const double free = state.schedule.free_us(device);
    const double later = unit * (state.schedule.end_us(group, device) - first_end);
    double near = 0;
    for (const Groups::Edge& edge : problem.groups().in_edges(group)) {
      if (state.placement[at(edge.src)] == device) near += static_cast<double>(edge.bytes);
    }
    const std::int64_t memory = problem.memory_bytes(device);
    row[kCost] = bounded(std::log2(std::max(problem.group_cost_us(group, device), 1e-9) / least));
    row[kReadyLater] = bounded(unit * (ready - first_ready));
    row[kFreeLater] = bounded(unit * (free - first_free));
    row[kEndsLater] = bounded(later);
    row[kSlightlyLater] = bounded(std::log2(1 + 64 * later) / 2);
    row[kWaits] = bounded(unit * (ready - free));
    row[kLoad] = bounded(state.schedule.load_us(device) / view_.scale_us);
    row[kNear] = bytes > 0 ? static_cast<float>(near / bytes) : 0.0F;
    if (memory > 0 && memory != kNoLimit) {
      const double held =
          state.parameter_bytes[at(device)] + static_cast<double>(problem.group_param_bytes(group));
      row[kMemory] = bounded(held / static_cast<double>(memory));
    }
    row[kHost] = problem.cluster().device(device).host ? 1.0F : 0.0F;
  }
}

void Player::log_policy(const State& state, GroupId group, const float* features,
                        float* log_pi) const {
  const std::size_t head = head_.last.size();
  const bool* const barred = view_.barred.data_ptr<bool>() + at(group) * view_.devices;
  for (std::size_t device = 0; device < view_.devices; ++device) {
    if (barred[device]) {
      log_pi[device] = kNever;
      continue;
    }
    const float* const row = features + device * kDeviceFeatures;
    const float share = 1.0F / static_cast<float>(std::max(state.held_count[device], 1));
    float* const hidden = state.hidden.data();
    for (std::size_t i = 0; i < head; ++i) {
      hidden[i] =
          head_.bias[i] + own_[at(group) * head + i] + share * state.held[device * head + i];
    }
    float logit = 0;
    for (std::size_t f = 0; f < static_cast<std::size_t>(kDeviceFeatures); ++f) {
      const float* const weights = head_.from_features.data() + f * head;
      for (std::size_t i = 0; i < head; ++i) hidden[i] += row[f] * weights[i];
      logit += row[f] * head_.direct[f];
    }
    for (std::size_t i = 0; i < head; ++i) {
      const float bent = hidden[i] > 0 ? hidden[i] : static_cast<float>(kSlope) * hidden[i];
      logit += bent * head_.last[i];
    }
    log_pi[device] = logit;
  }
  normalise(log_pi, view_.devices);
}

Player::Outcome Player::play(std::int64_t index, const EpisodeOptions& options, Random& random,
                             const std::function<void()>& check) {
  const std::size_t count = view_.groups, devices = view_.devices;
  const std::size_t head = head_.last.size();
  State state(view_, head);
  Outcome outcome;
  std::vector<std::int32_t> waits_for = view_.waits_for;
  std::vector<GroupId> ready;
  for (std::size_t group = 0; group < count; ++group) {
    if (waits_for[group] == 0) ready.push_back(static_cast<GroupId>(group));
  }
  std::int64_t* const order = played_.order.data_ptr<std::int64_t>() + at(index) * count;
  std::int64_t* const placed = played_.device.data_ptr<std::int64_t>() + at(index) * count;
  float* const readies = played_.ready.data_ptr<float>() + at(index) * count * count;
  float* const features = played_.features.data_ptr<float>() +
                          at(index) * count * devices * static_cast<std::size_t>(kDeviceFeatures);
  std::vector<float> log_pi(std::max(count, devices));
  const auto decide = [&](std::size_t number, std::size_t taught) {
    if (options.epsilon > 0 && random.uniform() < options.epsilon) {
      for (;;) {
        const std::size_t drawn = random.below(number);
        if (log_pi[drawn] != kNever) return drawn;
      }
    }
    if (options.teacher) return taught;
    if (options.greedy) {
      return static_cast<std::size_t>(
          std::max_element(log_pi.begin(), log_pi.begin() + static_cast<std::ptrdiff_t>(number)) -
          log_pi.begin());
    }
    return learning::draw(log_pi.data(), number, random.uniform());
  };
  for (std::size_t t = 0; t < count; ++t) {
    if (t % kStride == 0) check();
    // SEL
    std::size_t longest = 0;
    for (std::size_t i = 0; i < ready.size(); ++i) {
      log_pi[i] = select_[at(ready[i])];
      readies[t * count + at(ready[i])] = 1;
      if (view_.facts.tail[at(ready[i])] > view_.facts.tail[at(ready[longest])]) longest = i;
    }
    normalise(log_pi.data(), ready.size());
    const std::size_t chosen = decide(ready.size(), longest);
    const GroupId group = ready[chosen];
    outcome.log_probability += static_cast<double>(log_pi[chosen]);
    outcome.entropy += learning::entropy_of(log_pi.data(), ready.size());
    outcome.taught_group.push_back(ready[longest]);
    ready[chosen] = ready.back();
    ready.pop_back();
    // PLC
    float* const seen = features + t * devices * static_cast<std::size_t>(kDeviceFeatures);
    observe(state, group, seen);
    log_policy(state, group, seen, log_pi.data());
    std::size_t first = devices;
    for (std::size_t d = 0; d < devices; ++d) {
      if (log_pi[d] == kNever) continue;
      const auto later = [&](std::size_t device) {
        return state.schedule.end_us(group, static_cast<DeviceId>(device));
      };
      if (first == devices || later(d) < later(first)) first = d;
    }
    const std::size_t decided = decide(devices, first);
    // A draw among NaNs may be of a barred device; the update that follows says what is wrong.
    const std::size_t device = log_pi[decided] == kNever ? first : decided;
    outcome.log_probability += static_cast<double>(log_pi[device]);
    outcome.entropy += learning::entropy_of(log_pi.data(), devices);
    outcome.taught_device.push_back(static_cast<std::int64_t>(first));
    order[t] = group;
    placed[t] = static_cast<std::int64_t>(device);
    state.schedule.put(group, static_cast<DeviceId>(device));
    state.placement[at(group)] = static_cast<DeviceId>(device);
    state.parameter_bytes[device] += static_cast<double>(view_.problem.group_param_bytes(group));
    for (std::size_t i = 0; i < head; ++i) {
      state.held[device * head + i] += held_[at(group) * head + i];
    }
    ++state.held_count[device];
    for (const GroupId waiting : view_.waiting[at(group)]) {
      if (--waits_for[at(waiting)] == 0) ready.push_back(waiting);
    }
  }
  outcome.placement = GroupPlacement(std::move(state.placement));
  return outcome;
}

Played make_played(const ProblemView& view, std::int64_t episodes) {
  const auto count = static_cast<std::int64_t>(view.groups);
  const auto devices = static_cast<std::int64_t>(view.devices);
  Played played;
  played.order = torch::zeros({episodes, count}, torch::kInt64);
  played.device = torch::zeros({episodes, count}, torch::kInt64);
  played.ready = torch::zeros({episodes, count, count});
  played.features = torch::zeros({episodes, count, devices, kDeviceFeatures});
  return played;
}

}  // namespace berth::doppler
