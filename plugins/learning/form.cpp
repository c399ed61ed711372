#include "learning/form.h"

#include <utility>

namespace berth::learning {

Options with_form(Options options, const char* owner, std::span<const FormValue> published) {
  if (options.text("form") == "own") return options;
  for (const FormValue& each : published) {
    if (!options.given(each.option)) options.set(owner, each.option, std::string(each.value));
  }
  return options;
}

}  // namespace berth::learning
