/// @file
/// Settings: every choice of a run, once. JSON (berth.settings/1), Lua, the environment, the command
/// line and C fill the same struct; berth/run.h does what it says.
///
/// The order of strength is: defaults, the program's file, the file or text that BERTH_CONFIG names,
/// and what the caller sets itself. The page share/berth/formats/settings.md has all keys;
/// the sources' README of the host says how one is added.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/bound_effort.h"
#include "berth/constraints.h"
#include "berth/costs.h"
#include "berth/export.h"
#include "berth/frontend.h"
#include "berth/groups.h"
#include "berth/options.h"
#include "berth/problem.h"

namespace berth {

/// How placements are evaluated.
enum class EvaluatorKind {
  simulate,
  measure,  ///< executed by Settings::backend
};

/// A part of a whole: 0.03, or "3%" as text.
struct Share {
  double of_one = 0;
};

/// The choices of one source, or of several merged. A field without a value is left open. Names of
/// policies, clusters, .. have not been looked up.
struct BERTH_EXPORT Settings {
  // --- The engine
  std::optional<std::vector<std::string>> plugin_folders;
  std::optional<std::vector<std::string>> plugins;  ///< those that may be opened

  // --- The model, as it is loaded
  LoadOptions load;

  // --- The problem
  std::optional<std::string> cluster;  ///< a preset, a file, or the text of a file
  std::optional<std::string> costs;
  /// The f32 arithmetic that roofline costs have in TF32; default: that of arithmetic_of (run.h).
  std::optional<Tf32> tf32;
  std::optional<Objective> objective;
  std::optional<Semantics> semantics;
  std::optional<Grouping> grouping;
  std::optional<GroupId> groups;
  /// The place of the model's inputs (Graph::is_input): "host", the default, "any", or the name
  /// of a device or kind. "host" means any device where the machine has none, in `placeto` semantics,
  /// and for an input that must share its device with other ops, that a constraint sends elsewhere or
  /// that has costs for other kinds only.
  std::optional<std::string> inputs;
  std::optional<std::int64_t> in_flight;  ///< ProblemOptions::in_flight
  std::vector<ConstraintRule> constraints;
  /// Constraints that cannot be kept are left out, later ones first, with a note.
  std::optional<bool> soft;
  /// A name of tools() (tools.h): placements keep its rules.
  std::optional<std::string> tool;
  /// Replicas of a training step (replicas.h): "auto" searches for a plan, "4" is four equal ones,
  /// "gpu:0=27,gpu:1+gpu:2=37" says devices and shares. A number and a plan pose the problem; "auto"
  /// is for a search.
  std::optional<std::string> replicate;

  // --- The search
  std::optional<std::string> policy;
  OptionTexts options;  ///< of `policy`
  std::optional<std::vector<std::string>> fallbacks;
  std::optional<std::uint64_t> seed;
  std::optional<int> threads;      ///< 0 = one per core
  std::optional<double> budget_s;  ///< >= 0; infinity = none
  std::optional<std::int64_t> moves;
  /// The simplest placement that is found at most so much slower than the best; default: 3 % with a
  /// tool, else nothing.
  std::optional<Share> within;
  std::optional<std::string> start;  ///< a berth.placement/1 file that searches start from
  std::optional<BoundEffort> bound;
  std::optional<bool> prove;
  std::optional<EvaluatorKind> evaluator;
  std::optional<std::string> backend;

  // --- A comparison
  std::optional<std::vector<std::string>> policies;
  std::optional<std::vector<std::string>> clusters;
  std::optional<std::vector<std::uint64_t>> seeds;

  // --- Files to write
  std::optional<std::string> output, annotate, trace, svg, certificate, report, log, csv;
  std::optional<std::vector<std::string>> write;

  /// The origin of a value, by key: "study.json: line 3". "options.moves" for an option. A value
  /// that the caller set has no entry.
  std::map<std::string, std::string, std::less<>> origins;

  /// Values of `stronger` replace those here. Options belong to their policy: where `stronger` names
  /// another, those here are left out. One cluster or seed replaces several, and several one.
  /// Constraints of both hold. Sizes of `stronger` count where both say the same dimension of the model,
  /// whichever of batch, dims and shapes says it.
  void add(const Settings& stronger);
  /// Whether the key has a value. Throws Error(invalid_argument) for an unknown key.
  [[nodiscard]] bool has(std::string_view key) const;
  /// "study.json: line 3: at cluster: ", or empty where the caller set the value.
  [[nodiscard]] std::string place(std::string_view key) const;
};

/// The subject of a key. A way in adds options, or refuses keys, by group.
enum class SettingGroup { engine, model, machine, problem, search, measuring, comparison, files };

struct SettingKey {
  const char* name;
  SettingGroup group;
  const char* form;     ///< of a value on a command line: "N", "NAME", "A,B,C"; empty = it has none
  const char* meaning;  ///< one line for a help text
};
/// All keys, in the order of the page.
[[nodiscard]] BERTH_EXPORT std::span<const SettingKey> setting_keys() noexcept;

/// Sets a key from text as it is written on a command line: "30s", "a,b,c", "0..4". Throws
/// Error(invalid_argument) for a key without such a form and for a text that is no value of it.
BERTH_EXPORT void set_setting(Settings& settings, std::string_view key, const std::string& text);

/// Takes the key's value out. Throws Error(invalid_argument) for an unknown key.
BERTH_EXPORT void unset_setting(Settings& settings, std::string_view key);

/// Whose settings they are.
enum class SettingsTrust {
  own,
  /// Somebody else's: they may choose presets, numbers and installed plugins, but name no file,
  /// folder, address or Lua, and nothing to write.
  untrusted,
};

/// Reads berth.settings/1. Throws Error(invalid_file) naming origin, line and key.
[[nodiscard]] BERTH_EXPORT Settings parse_settings(std::string_view json, const std::string& origin,
                                                   SettingsTrust trust = SettingsTrust::own);
/// The text itself where it begins with '{', else the file of this name. Relative paths of what a
/// file has read are relative to the file's own folder.
[[nodiscard]] BERTH_EXPORT Settings load_settings(const std::string& file_or_text,
                                                  SettingsTrust trust = SettingsTrust::own);
/// The part of load_settings that makes the relative paths of `file` relative to where the program
/// is.
BERTH_EXPORT void find_beside(const std::filesystem::path& file, Settings& settings);
/// Settings of BERTH_CONFIG; none where it is not set.
[[nodiscard]] BERTH_EXPORT Settings environment_settings();

/// A list of rules, as "constraints" of berth.settings/1. Throws Error(invalid_file).
[[nodiscard]] BERTH_EXPORT std::vector<ConstraintRule> parse_constraints(std::string_view json,
                                                                         const std::string& origin);

/// A file that settings name, by the key: "costs", "options.weights".
struct NamedFile {
  std::string key;
  std::string path;
};
/// Files that a run of these settings reads, and options of the policy that may name one. A text that
/// names a preset is none.
[[nodiscard]] BERTH_EXPORT std::vector<NamedFile> files_read(const Settings& settings);

/// All that is set, as berth.settings/1.
[[nodiscard]] BERTH_EXPORT std::string settings_json(const Settings& settings);
/// Those of these groups.
[[nodiscard]] BERTH_EXPORT Settings settings_of(const Settings& settings,
                                                std::span<const SettingGroup> groups);

/// Throws Error(unsupported) naming the first key of `unserved` that has a value, and where it comes
/// from. `who` as in "the C API".
BERTH_EXPORT void refuse_unserved(const Settings& settings, std::string_view who,
                                  std::span<const std::string_view> unserved);

}  // namespace berth
