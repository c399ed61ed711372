// Times that NVIDIA Nsight Systems measured. The family has no models: a profile is of whatever
// program ran.
#pragma once

#include "berth/frontend.h"

namespace berth::nsight_frontend {

class NsightFrontend final : public Frontend, public CostsReader {
 public:
  [[nodiscard]] bool claims(const std::filesystem::path& model) const override;
  [[nodiscard]] LoadedModel load(const std::filesystem::path& model,
                                 const LoadOptions& options) override;
  [[nodiscard]] bool claims_costs(const std::filesystem::path& costs) const override;
  [[nodiscard]] LoadedCosts load_costs(const std::filesystem::path& costs, const Graph& graph,
                                       const Cluster& cluster) override;
};

}  // namespace berth::nsight_frontend
