// The table of settings: a row per key says what it is, where it is kept and what it may name.
// Reading, merging, writing and the command line follow from the row.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "berth/settings.h"

namespace berth {

/// The things that the texts of a key may name.
enum class Names : std::uint8_t {
  nothing,        ///< words of Berth's own: presets of text, numbers
  name_or_file,   ///< a file where it has a '/' or a '.'
  read_file,      ///< a file that a run reads
  folder_or_lua,  ///< folders, or installed plugins and Lua files
  written_file,   ///< files that a run writes
};

template <typename T>
using Field = T& (*)(Settings&);

/// The place of a key's value. `batch` is the size "*" of dims.
struct Batch {};
using AnyField = std::variant<
    Field<std::optional<std::string>>, Field<std::optional<std::vector<std::string>>>,
    Field<std::vector<std::string>>, Field<std::optional<std::vector<std::uint64_t>>>,
    Field<std::optional<std::int64_t>>, Field<std::optional<std::uint64_t>>,
    Field<std::optional<std::int32_t>>, Field<std::optional<double>>, Field<std::optional<Share>>,
    Field<std::optional<bool>>, Field<std::optional<Objective>>, Field<std::optional<Semantics>>,
    Field<std::optional<Grouping>>, Field<std::optional<BoundEffort>>,
    Field<std::optional<EvaluatorKind>>, Field<std::optional<Tf32>>,
    Field<std::optional<LoadOptions::Arguments>>, Field<std::optional<LoadOptions::Experts>>,
    Field<std::map<std::string, std::int64_t>>,
    Field<std::map<std::string, std::vector<std::int64_t>>>, Field<OptionTexts>,
    Field<std::vector<ConstraintRule>>, Batch>;

/// The largest number that every JSON reader and Lua agree on.
inline constexpr std::int64_t kMostCount = std::int64_t{1} << 53;

struct KeyRow {
  SettingKey key;
  AnyField field;
  Names names = Names::nothing;
  std::int64_t least = 0;  ///< of a whole number
  std::int64_t most = kMostCount;
};

[[nodiscard]] std::span<const KeyRow> key_rows() noexcept;
/// Throws Error(invalid_argument) for an unknown key.
[[nodiscard]] const KeyRow& key_row(std::string_view key);

}  // namespace berth
