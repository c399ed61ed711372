// All that one device can run on it and the rest on a host, with the best of all devices: the
// baseline that every placement has to beat.
#include <algorithm>
#include <sstream>
#include <string>

#include "berth/error.h"
#include "berth/evaluator.h"
#include "berth/plugin.h"

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
    std::string refused;
    for (const DeviceId device : candidates(cluster)) {
      Placement placement = one_device_placement(problem, device);
      const Evaluation evaluation = evaluator.evaluate(placement);
      if (evaluation.feasible) {
        return answer(device, evaluation.objective_us, std::move(placement));
      }
      std::ostringstream line;
      line << (refused.empty() ? "" : "; ") << "with '" << cluster.device(device).name << "', '"
           << cluster.device(evaluation.worst_device).name << "' ";
      if (evaluation.excess_bytes > 0) {
        line << "lacks " << evaluation.excess_bytes << " bytes";
      } else {
        line << "has ops that are to be apart, or the evaluator refuses it";
      }
      if (refused.size() < kLongEnough) refused += line.str();
    }
    throw Error(ErrorCode::infeasible, "no single device holds the graph: " + refused +
                                           "; use a policy that spreads it, such as topo");
  }

 private:
  static constexpr std::size_t kLongEnough = 500;

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
