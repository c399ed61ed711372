// What a page of engine/core/files/formats says, for tests that hold it to the reader.
#pragma once

#include <doctest/doctest.h>

#include <set>
#include <sstream>
#include <string>

#include "berth/files.h"
#include "support/data.h"

namespace berth::test {

class FormatPage {
 public:
  explicit FormatPage(const std::string& name)
      : text_(read_file(source_path("engine/core/files/formats/" + name))) {}

  /// The page's first example in `language`.
  [[nodiscard]] std::string block(const std::string& language) const {
    const std::string fence = "```" + language + "\n";
    const std::size_t begin = text_.find(fence);
    REQUIRE(begin != std::string::npos);
    const std::size_t end = text_.find("\n```", begin);
    REQUIRE(end != std::string::npos);
    return text_.substr(begin + fence.size(), end - begin - fence.size());
  }

  /// The keys of the page's tables: rows that start with one word in backticks.
  [[nodiscard]] std::set<std::string> keys() const {
    std::set<std::string> keys;
    std::istringstream lines(text_);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t end = line.find("` |");
      if (!line.starts_with("| `") || end == std::string::npos) continue;
      const std::string key = line.substr(3, end - 3);
      if (key.find(' ') == std::string::npos) keys.insert(key);
    }
    return keys;
  }

 private:
  std::string text_;
};

/// The names in "a, b, c." behind `label` in a message.
inline std::set<std::string> names_after(const std::string& message, const std::string& label) {
  std::set<std::string> names;
  const std::size_t at = message.find(label);
  REQUIRE(at != std::string::npos);
  std::istringstream list(message.substr(at + label.size()));
  for (std::string name; std::getline(list, name, ',');) {
    name.erase(0, name.find_first_not_of(' '));
    if (name.ends_with('.')) name.pop_back();
    names.insert(name);
  }
  return names;
}

}  // namespace berth::test
