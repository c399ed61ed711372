/// @file
/// Rules that a user writes for op types that Berth does not know: berth.ops/1.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/dtype.h"
#include "berth/export.h"
#include "berth/graph.h"
#include "berth/sdk/ops/op.h"

namespace berth {

/// The outputs and the work of one op type.
struct OpRule {
  struct Output {
    std::optional<std::size_t> like;  ///< of the type and shape of this input
    std::optional<ops::Dims> shape;   ///< counts before that of `like`
    std::optional<DType> dtype;       ///< counts before that of `like`
  };
  std::vector<Output> outputs;  ///< the last one stands for all behind it; never empty
  double flops = 0;             ///< for each element of the first output
};

/// The rules of a file. [thread-safe: immutable]
class BERTH_EXPORT OpRules {
 public:
  /// Reads berth.ops/1. Throws Error(not_found), Error(io), or Error(invalid_file) naming the file,
  /// the place and the fix. An empty path gives no rules.
  [[nodiscard]] static OpRules load(const std::filesystem::path& file);
  [[nodiscard]] static OpRules parse(std::string_view json, const std::string& origin);

  /// Null for a type without a rule. `type` is written as in the graph, with its domain.
  [[nodiscard]] const OpRule* find(std::string_view type) const;
  [[nodiscard]] bool empty() const noexcept { return rules_.empty(); }

 private:
  std::map<std::string, OpRule, std::less<>> rules_;
};

/// Fills the outputs of `op` as the rule says. `dialect` names the numbering of element types.
BERTH_EXPORT void apply_rule(const OpRule& rule, ops::OpContext& op, std::string_view dialect);
/// The op's work once its outputs are known: its FLOPs, and its inputs and outputs moved. Empty
/// where a size is not known.
[[nodiscard]] BERTH_EXPORT std::optional<Work> rule_work(const OpRule& rule,
                                                         const ops::OpContext& op,
                                                         std::string_view dialect);

}  // namespace berth
