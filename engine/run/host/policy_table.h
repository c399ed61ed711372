// Policies that are tables of functions: berth_policy of berth/c.h, from programs and from plugins in
// any language.
#pragma once

#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/c.h"
#include "berth/export.h"
#include "berth/plugin.h"

namespace berth {

/// One table as a plugin, with copies of its texts. Policies that are made from it keep it alive.
/// Exported for libberth_c. [thread-safe: immutable]
class BERTH_EXPORT PolicyTable final : public std::enable_shared_from_this<PolicyTable> {
 public:
  /// Told what a policy asked wrongly, on its thread. May be null.
  using Refused = berth_status (*)(berth_status status, std::string_view message) noexcept;

  /// `origin` names it in messages. Throws Error(invalid_argument) for a table without `place`, and
  /// what c::take throws.
  [[nodiscard]] static std::shared_ptr<PolicyTable> make(const berth_policy& table,
                                                         const std::string& origin,
                                                         Refused refused = nullptr);
  /// That of a plugin's file, checked.
  [[nodiscard]] static std::shared_ptr<PolicyTable> of_file(const berth_policy_plugin& plugin,
                                                            const std::filesystem::path& file);
  ~PolicyTable();
  PolicyTable(const PolicyTable&) = delete;
  PolicyTable& operator=(const PolicyTable&) = delete;

  [[nodiscard]] const PluginDescriptor& descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] const berth_policy& table() const noexcept { return table_; }
  [[nodiscard]] Refused refused() const noexcept { return refused_; }

  /// From now on the table's `destroy` is called at the end.
  void own() noexcept { owned_ = true; }

 private:
  PolicyTable(const berth_policy& given, Refused sink);

  berth_policy table_;
  Refused refused_;
  bool owned_ = false;
  std::deque<std::string> texts_;  // that table, options and descriptor refer to
  std::vector<OptionSpec> options_;
  PluginDescriptor descriptor_{};
};

}  // namespace berth
