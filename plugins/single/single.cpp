// All that one device can run on it and the rest on a host, with the best of all devices: the
// baseline that every placement has to beat.
#include <algorithm>
#include <string>
#include <vector>

#include "berth/error.h"
#include "berth/evaluator.h"
#include "berth/plugin.h"
#include "berth/sdk/figures.h"
#include "berth/support/text.h"

namespace berth::policies::single {
namespace {

class SinglePolicy final : public Policy {
 public:
  explicit SinglePolicy(const Options& options) : device_(options.text("device")) {}

  [[nodiscard]] bool takes_starts() const override { return false; }
  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override {
    const Problem& problem = evaluator.problem();
    const Cluster& cluster = problem.cluster();
    const auto answer = [&](DeviceId device, double objective_us, Placement placement) {
      if (context.progress) context.progress(objective_us, "all on " + cluster.device(device).name);
      return placement;
    };
    if (device_.empty()) {
      SingleDevice best = best_single_device(evaluator);  // each of many equal devices but once
      if (best.device != kNoDevice) {
        return answer(best.device, best.evaluation.objective_us, std::move(best.placement));
      }
    }
    std::vector<Refusal> refusals;
    for (const DeviceId device : candidates(cluster)) {
      Placement placement = one_device_placement(problem, device);
      const Evaluation evaluation = evaluator.evaluate(placement);
      if (evaluation.feasible) {
        return answer(device, evaluation.objective_us, std::move(placement));
      }
      const std::string worst = evaluation.worst_device == device
                                    ? std::string("it")
                                    : cat("'", cluster.device(evaluation.worst_device).name, "'");
      add(refusals, cluster.device(device).name,
          evaluation.excess_bytes > 0
              ? cat(worst, " lacks ", bytes_text(evaluation.excess_bytes))
              : cat(worst, " has ops that are to be apart, or the evaluator refuses it"));
    }
    throw Error(
        ErrorCode::infeasible,
        cat("no single device holds the graph: ", text_of(refusals),
            cluster.device_count() > 1 ? "; use a policy that spreads it, such as topo"
                                       : "; give the machine more memory, or more devices"));
  }

 private:
  /// Rounded bytes are given exactly, too: whoever sizes a memory by them needs the last one.
  static std::string bytes_text(std::int64_t bytes) {
    const std::string text = format_bytes(bytes);
    return bytes < 1024 ? text : cat(text, " (", bytes, " bytes)");
  }

  /// The reason against devices that are alike in it.
  struct Refusal {
    std::string why;
    std::vector<std::string> devices;
  };
  static void add(std::vector<Refusal>& refusals, const std::string& device, std::string why) {
    const auto same = std::find_if(refusals.begin(), refusals.end(),
                                   [&](const Refusal& refusal) { return refusal.why == why; });
    Refusal& refusal =
        same != refusals.end() ? *same : refusals.emplace_back(Refusal{std::move(why), {}});
    refusal.devices.push_back(device);
  }
  static std::string text_of(const std::vector<Refusal>& refusals) {
    constexpr std::size_t kShown = 8;
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < std::min(kShown, refusals.size()); ++i) {
      lines.push_back(cat("with ", join(refusals[i].devices, kShown), ", ", refusals[i].why));
    }
    std::string text;
    for (const std::string& line : lines) text += (text.empty() ? "" : "; ") + line;
    return text;
  }

  [[nodiscard]] std::vector<DeviceId> candidates(const Cluster& cluster) const {
    std::vector<DeviceId> devices;
    if (device_.empty()) {
      for (DeviceId device = 0; device < cluster.device_count(); ++device) {
        devices.push_back(device);
      }
    } else if (const auto named = cluster.find_device(device_)) {
      devices.push_back(*named);
    } else {
      throw Error(ErrorCode::invalid_argument, "policy single: no device '" + device_ +
                                                   "' in cluster '" + cluster.name() +
                                                   "', which has " + cluster.device_names());
    }
    return devices;
  }

  std::string device_;
};

constexpr OptionSpec kOptions[] = {
    {"device", OptionType::text, "", "the device to use, by name; empty = the best of all"}};

}  // namespace

BERTH_PLUGIN(SinglePolicy, "single", "1.0",
             "one device for all that it can run, a host for the rest; the best device for it",
             kOptions);

}  // namespace berth::policies::single
