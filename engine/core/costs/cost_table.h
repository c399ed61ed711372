// Costs made of others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/costs.h"
#include "berth/support/index.h"

namespace berth {

/// All that costs say, to be changed in part.
struct CostTable {
  explicit CostTable(const Costs& costs)
      : source(costs.source()), joined(costs.joined().begin(), costs.joined().end()) {
    for (KindId kind = 0; kind < costs.kind_count(); ++kind) {
      us.emplace_back(costs.of_kind(kind).begin(), costs.of_kind(kind).end());
    }
    const std::size_t ops = us.empty() ? 0 : us.front().size();
    for (std::size_t op = 0; op < ops; ++op) {
      workspace_bytes.push_back(costs.workspace_bytes(static_cast<OpId>(op)));
    }
  }

  [[nodiscard]] double& cost_us(OpId op, KindId kind) { return us[at(kind)][at(op)]; }
  [[nodiscard]] std::shared_ptr<const Costs> costs() && {
    return std::make_shared<const Costs>(std::move(us), std::move(workspace_bytes),
                                         std::move(source), std::move(joined));
  }

  std::vector<std::vector<double>> us;        ///< by kind and op
  std::vector<std::int64_t> workspace_bytes;  ///< by op
  std::string source;
  std::vector<Costs::Joined> joined;
};

}  // namespace berth
