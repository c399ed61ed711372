#include "learning/form.h"

#include <utility>

namespace berth::learning {

Options with_form(Options options, const char* owner, std::span<const OptionSpec> specs,
                  std::span<const FormValue> published) {
  if (options.text("form") == "own") return options;
  const Options defaults(specs);
  for (const FormValue& each : published) {
    const auto given = options.values().find(each.option);
    if (given->second == defaults.values().find(each.option)->second) {
      options.set(owner, each.option, std::string(each.value));
    }
  }
  return options;
}

}  // namespace berth::learning
