#include "layers/module_names.h"

#include <algorithm>
#include <charconv>
#include <variant>

#include "berth/blocks.h"

namespace berth {

std::string module_of_parameter(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  const bool computed = name.find(':') != std::string::npos || name.find('/') != std::string::npos;
  return dot == std::string::npos || computed ? std::string() : name.substr(0, dot);
}

std::string module_of_scope(const std::string& op_name) {
  const std::size_t slash = op_name.rfind('/');
  if (slash == std::string::npos) return {};
  std::string module = op_name.substr(0, slash);
  std::replace(module.begin(), module.end(), '/', '.');
  return module.substr(std::min(module.find_first_not_of('.'), module.size()));
}

std::string scope_of(const Graph& graph, OpId op) {
  const AttributeValue* const stated = graph.attribute(op, kModuleAttribute);
  const auto* const module = stated == nullptr ? nullptr : std::get_if<std::string>(stated);
  return module != nullptr ? *module : module_of_scope(graph.op_name(op));
}

std::vector<std::string> module_parts(const std::string& module) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= module.size();) {
    const std::size_t end = std::min(module.find('.', begin), module.size());
    parts.push_back(module.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string joined_parts(const std::vector<std::string>& parts, std::size_t end) {
  std::string text;
  for (std::size_t i = 0; i < end; ++i) text += (i > 0 ? "." : "") + parts[i];
  return text;
}

int number_of_part(const std::string& part) {
  int number = -1;
  const auto end = std::from_chars(part.data(), part.data() + part.size(), number);
  return end.ec == std::errc() && end.ptr == part.data() + part.size() && number >= 0 ? number : -1;
}

}  // namespace berth
