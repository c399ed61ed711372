// Key functions of the plugin interfaces: their type information exists only in the engine.
#include <algorithm>
#include <charconv>

#include "berth/backend.h"
#include "berth/error.h"
#include "berth/evaluator.h"
#include "berth/frontend.h"
#include "berth/policy.h"
#include "berth/sdk/splitting.h"
#include "berth/sdk/write_checks.h"
#include "berth/support/text.h"

namespace berth {

Policy::~Policy() = default;
Frontend::~Frontend() = default;
ProgramLoader::~ProgramLoader() = default;
ModelFiles::~ModelFiles() = default;
PlacementWriter::~PlacementWriter() = default;
CostsReader::~CostsReader() = default;
ReplicaWriter::~ReplicaWriter() = default;
ModelSplitter::~ModelSplitter() = default;
ReplicaChecker::~ReplicaChecker() = default;
Session::~Session() = default;
Backend::~Backend() = default;

std::string_view arguments_name(LoadOptions::Arguments arguments) noexcept {
  switch (arguments) {
    case LoadOptions::Arguments::inputs:
      return "inputs";
    case LoadOptions::Arguments::parameters:
      return "parameters";
    case LoadOptions::Arguments::guess:
      break;
  }
  return "guess";
}

LoadOptions::Arguments arguments_from_name(std::string_view name) {
  if (name == "inputs") return LoadOptions::Arguments::inputs;
  if (name == "parameters") return LoadOptions::Arguments::parameters;
  if (name == "guess") return LoadOptions::Arguments::guess;
  throw Error(ErrorCode::invalid_argument,
              cat("'", name,
                  "' does not say what a model's inputs are; write inputs, parameters or "
                  "guess"));
}

LoadOptions::Experts experts_from_text(std::string_view text) {
  LoadOptions::Experts experts;
  const std::size_t slash = std::min(text.find('/'), text.size());
  const auto number = [](std::string_view digits, std::int64_t& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size() && value >= 1;
  };
  constexpr std::int64_t kMostExperts = 1 << 20;
  if (slash < text.size() && number(text.substr(0, slash), experts.chosen) &&
      number(text.substr(slash + 1), experts.of) && experts.chosen <= experts.of &&
      experts.of <= kMostExperts) {
    return experts;
  }
  throw Error(ErrorCode::invalid_argument,
              cat("'", text,
                  "' does not say how many experts a token chooses; write it as 2/8 for two "
                  "of eight"));
}

}  // namespace berth
