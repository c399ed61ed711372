#include <nlohmann/json.hpp>

#include "berth/error.h"
#include "berth/report.h"

namespace berth {
std::string replicas_json(const Outcome& outcome) {
  if (outcome.replicas == nullptr) {
    throw Error(ErrorCode::unsupported,
                "the step is not replicated, so that there is no plan to write; ask for replicas "
                "('replicate')");
  }
  const ReplicaFigures& figures = *outcome.replicas;
  nlohmann::ordered_json json = {{"format", "berth.replicas/1"},
                                 {"plan", figures.plan},
                                 {"batch", figures.batch},
                                 {"updates", figures.shares_updates ? "shared" : "all"},
                                 {"replicas", nlohmann::ordered_json::array()}};
  for (const auto& replica : figures.replicas) {
    json["replicas"].push_back(
        {{"devices", device_names(outcome.problem->cluster(), replica.devices)},
         {"samples", replica.share},
         {"weight", figures.adds_gradients ? 1
                                           : static_cast<double>(replica.share) /
                                                 static_cast<double>(figures.batch)}});
  }
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace berth
