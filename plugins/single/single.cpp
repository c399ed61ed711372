// All that one device can run on it and the rest on a host, with the best of all devices: the
// baseline that every placement has to beat.
#include <algorithm>
#include <sstream>
#include <string>

#include "berth/error.h"
#include "berth/one_device.h"
#include "berth/plugin.h"

namespace berth::policies::single {
namespace {

class SinglePolicy final : public Policy {
 public:
  explicit SinglePolicy(const Options& options) : device_(options.text("device")) {}

  PolicyAnswer place(Evaluator& evaluator, const PlaceContext& context) override {
    const Problem& problem = evaluator.problem();
    const Cluster& cluster = problem.cluster();
    if (device_.empty()) {
      SingleDevice single = best_single_device(evaluator);  // each of many equal devices but once
      if (single.device != kNoDevice) return std::move(single.placement);
    }
    Best best;
    std::string refused;
    for (const DeviceId device : candidates(cluster)) {
      if (best.found() && context.should_stop && context.should_stop()) break;
      const Placement placement = one_device_placement(problem, device);
      const Evaluation evaluation = evaluator.evaluate(placement);
      if (!evaluation.feasible) {
        std::ostringstream line;
        line << (refused.empty() ? "" : "; ") << "with '" << cluster.device(device).name << "', '"
             << cluster.device(evaluation.worst_device).name << "' lacks "
             << evaluation.excess_bytes << " bytes";
        if (refused.size() < kLongEnough) refused += line.str();
      } else if (!best.found() || evaluation.objective_us < best.objective_us) {
        best = {device, evaluation.objective_us, placement};
        if (context.progress) {
          context.progress(best.objective_us, "all on " + cluster.device(device).name);
        }
      }
    }
    if (!best.found()) {
      throw Error(ErrorCode::infeasible, "no single device holds the graph: " + refused +
                                             "; use a policy that spreads it, such as topo");
    }
    return best.placement;
  }

 private:
  static constexpr std::size_t kLongEnough = 500;

  struct Best {
    DeviceId device = kNoDevice;
    double objective_us = 0;
    Placement placement;
    [[nodiscard]] bool found() const { return device != kNoDevice; }
  };

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
