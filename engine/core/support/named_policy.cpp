#include "berth/sdk/named_policy.h"

#include <variant>

#include "berth/error.h"
#include "berth/support/text.h"

namespace berth {

NamedPolicy parse_named_policy(std::string_view text) {
  std::size_t end = text.find(':');
  NamedPolicy policy{std::string(text.substr(0, end)), {}};
  std::string* value = nullptr;  // of the option before
  while (end != std::string_view::npos) {
    const std::size_t begin = end + 1;
    end = text.find(':', begin);
    const std::string_view part =
        text.substr(begin, end == std::string_view::npos ? end : end - begin);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos && value != nullptr) {
      *value += cat(':', part);
      continue;
    }
    if (equals == std::string_view::npos || equals == 0) {
      throw Error(ErrorCode::invalid_argument,
                  cat("policy '", text, "': '", part,
                      "' is not of the form key=value; write NAME:KEY=VALUE"));
    }
    const std::string key(part.substr(0, equals));
    const auto [option, is_new] = policy.options.emplace(key, std::string(part.substr(equals + 1)));
    if (!is_new) {
      throw Error(ErrorCode::invalid_argument,
                  cat("policy '", text, "': '", key, "' is given twice; give it one value"));
    }
    value = &std::get<std::string>(option->second);
  }
  return policy;
}

}  // namespace berth
