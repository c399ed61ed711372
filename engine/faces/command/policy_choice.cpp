#include "policy_choice.h"

#include <spdlog/fmt/fmt.h>

#include "model_options.h"

namespace berth::command {

void PolicyChoice::add_to(CLI::App& sub, const std::string& what) {
  sub.add_option("--policy", name, what)->type_name("NAME");
  add_repeated(sub, "--set", "KEY=VALUE",
               "an option of the policy (see `berth plugins NAME`); repeatable",
               [this](const std::string& text) {
                 const std::size_t equals = text.find('=');
                 if (equals == std::string::npos || equals == 0) {
                   throw CLI::ValidationError(
                       "--set", fmt::format("'{}' is not of the form key=value", text));
                 }
                 options[text.substr(0, equals)] = text.substr(equals + 1);
               });
}

void PolicyChoice::fill_in(const Settings& config) {
  const std::optional<std::string> policy = config_text(config, "policy");
  if (!name) name = policy;
  if (name == policy) options.insert(config.options.begin(), config.options.end());
}

}  // namespace berth::command
