#include "nsight/frontend.h"

#include <array>
#include <fstream>
#include <string_view>

#include "berth/error.h"
#include "berth/support/text.h"
#include "nsight/profile.h"

namespace berth::nsight_frontend {

bool NsightFrontend::claims(const std::filesystem::path&) const {
  return false;
}

LoadedModel NsightFrontend::load(const std::filesystem::path& model, const LoadOptions&) {
  throw Error(ErrorCode::unsupported,
              cat(model.string(),
                  ": profiles of Nsight Systems hold times and no model; give the model that was "
                  "profiled, and this file as its costs (`berth place MODEL --costs FILE`)"));
}

bool NsightFrontend::claims_costs(const std::filesystem::path& costs) const {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  std::error_code error;
  if (!std::filesystem::is_regular_file(costs, error)) return false;
  std::array<char, kMagic.size()> first{};
  std::ifstream file(costs, std::ios::binary);
  file.read(first.data(), first.size());
  return file && std::string_view(first.data(), first.size()) == kMagic;
}

LoadedCosts NsightFrontend::load_costs(const std::filesystem::path& costs, const Graph& graph,
                                       const Cluster& cluster) {
  const Profile profile = read_profile(costs, graph);
  MeasuredCosts made = profile.events.costs(
      cluster, costs.string(),
      "mark ops by their names (torch.cuda.nvtx.range, nvtxRangePush) and record CUDA and NVTX "
      "(nsys profile --trace=cuda,nvtx)");
  if (profile.broken_kernels > 0) {
    made.note +=
        cat("; ", profile.broken_kernels,
            " kernels end before they begin or lack a time, and what launched them does not "
            "count");
  }
  return {std::move(made.costs), {std::move(made.note)}};
}

}  // namespace berth::nsight_frontend
