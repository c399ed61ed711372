/// @file
/// Settings: every choice of a run in one file or text, berth.settings/1. A program that embeds the
/// engine takes its policy and all else from it, so that a user swaps a policy in one line.
///
/// The order is: defaults, the program's file, the file or text that BERTH_CONFIG names, and what
/// the caller sets itself. The page share/berth/formats/settings.md has all keys.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/cluster.h"
#include "berth/constraints.h"
#include "berth/engine.h"
#include "berth/evaluator.h"
#include "berth/export.h"
#include "berth/frontend.h"
#include "berth/options.h"
#include "berth/policy.h"
#include "berth/problem_choices.h"

namespace berth {

/// What a setting's value is.
enum class SettingKind {
  text,
  count,     ///< a whole number >= 0
  names,     ///< a list of texts; kept as "a,b,c"
  numbers,   ///< a list of whole numbers >= 0; kept as "0,1,2"
  duration,  ///< seconds >= 0, or a text such as "30s"
};
struct SettingKey {
  const char* name;
  SettingKind kind;
};
/// All keys with one value. Beside them there are options, constraints, dims, batch, shapes and
/// fetches.
[[nodiscard]] BERTH_EXPORT std::span<const SettingKey> setting_keys() noexcept;

/// What one place, or several over one another, say. Names of policies, clusters, .. are not yet
/// looked up.
struct BERTH_EXPORT Settings {
  std::map<std::string, OptionValue, std::less<>> values;  ///< by the names of setting_keys
  OptionTexts options;                                     ///< of the policy
  std::vector<ConstraintRule> constraints;
  LoadOptions load;
  /// Where the value of a key comes from, by key; "options.moves" for an option.
  std::map<std::string, std::string, std::less<>> origins;

  /// Nothing where the key is not given.
  [[nodiscard]] std::optional<std::string> text(std::string_view key) const;
  [[nodiscard]] std::optional<std::int64_t> count(std::string_view key) const;
  [[nodiscard]] std::vector<std::string> names(std::string_view key) const;
  /// In seconds; infinity where no budget is given.
  [[nodiscard]] double budget_s() const;

  /// Values of `stronger` replace those here. Options belong to their policy: where `stronger` names
  /// another, those here are left out. Constraints of both hold.
  void add(const Settings& stronger);
};

/// Reads berth.settings/1. Throws Error(invalid_file).
[[nodiscard]] BERTH_EXPORT Settings parse_settings(std::string_view json,
                                                   const std::string& origin);
/// The text itself where it begins with '{', else the file of this name. Relative paths of clusters,
/// costs and plugin folders in a file are relative to the file's own folder.
[[nodiscard]] BERTH_EXPORT Settings load_settings(const std::string& file_or_text);
/// What load_settings does with the relative paths of what `file` gave.
BERTH_EXPORT void find_beside(const std::filesystem::path& file, Settings& settings);
/// What BERTH_CONFIG says; nothing where it is not set.
[[nodiscard]] BERTH_EXPORT Settings environment_settings();

// --- What they mean ------------------------------------------------------------------------------
// `plugin_folders` and `plugins` (those that may be opened) are the engine's; `policy`, `options`,
// `fallbacks`, `budget`, `moves`, `threads` and `seed` the search's; all else is the problem's.

[[nodiscard]] BERTH_EXPORT std::unique_ptr<Engine> make_engine(const Settings& settings);
/// Throws Error(invalid_argument) where no cluster is named.
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Cluster> make_cluster(const Settings& settings);
[[nodiscard]] BERTH_EXPORT ProblemChoices problem_choices(const Settings& settings);

struct SettledResult {
  PlaceResult result;
  std::string policy;  ///< that found it
  std::map<std::string, OptionValue, std::less<>> options;
};
/// Runs the policy ("auto" where none is named) with its options. `moves` is the option of that name,
/// of policies that have one. If a policy is not there, fails, or gives up without a placement that
/// fits, the `fallbacks` are asked in order, each with its own defaults; a note says so. `context`
/// gives what the settings leave open: seed, threads.
[[nodiscard]] BERTH_EXPORT SettledResult place_as_set(Engine& engine, Evaluator& evaluator,
                                                      const Settings& settings,
                                                      PlaceContext context);

}  // namespace berth
