#include "layers/module_names.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>
#include <variant>

#include "berth/blocks.h"

namespace berth {
namespace {

/// onnxruntime-genai's builder counts a decoder's last norm as one more element of its list of layers:
/// "model.layers.32.final_norm_layernorm" is the module "model.norm".
std::string with_last_norm(std::string module) {
  constexpr std::string_view kLastNorm = ".final_norm_layernorm";
  const std::size_t end = module.size() - std::min(module.size(), kLastNorm.size());
  if (!module.ends_with(kLastNorm)) return module;
  const std::vector<std::string> parts = module_parts(module.substr(0, end));
  if (parts.size() < 2 || number_of_part(parts.back()) < 0) return module;
  const std::string outer = joined_parts(parts, parts.size() - 2);
  return outer.empty() ? "norm" : outer + ".norm";
}

}  // namespace

std::string module_of_parameter(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  const bool computed = name.find(':') != std::string::npos || name.find('/') != std::string::npos;
  return dot == std::string::npos || computed ? std::string() : with_last_norm(name.substr(0, dot));
}

Scopes::Scopes(const Graph& graph) : graph_(graph) {
  for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
    std::string module = module_of_parameter(graph.tensor_name(tensor));
    while (!module.empty() && modules_.insert(module).second) {
      module = module.substr(0, module.find('.') == std::string::npos ? 0 : module.rfind('.'));
    }
  }
}

std::string Scopes::of(OpId op) const {
  const AttributeValue* const stated = graph_.attribute(op, kModuleAttribute);
  const auto* const said = stated == nullptr ? nullptr : std::get_if<std::string>(stated);
  if (said != nullptr) return *said;
  const std::string& name = graph_.op_name(op);
  const std::size_t end = name.rfind('/');
  if (end == std::string::npos) return {};
  std::string module, last;
  for (std::size_t begin = name.find_first_not_of('/'); begin < end;) {
    const std::size_t next = std::min(name.find('/', begin), end);
    const std::string part = name.substr(begin, next - begin);
    begin = name.find_first_not_of('/', next);
    const bool element = !last.empty() && part.starts_with(last + ".") &&
                         number_of_part(part.substr(last.size() + 1)) >= 0;
    if (element && !modules_.contains(module + "." + last)) {
      module.resize(module.size() - last.size());
      module += part;
    } else {
      module += (module.empty() ? "" : ".") + part;
    }
    last = part;
  }
  return with_last_norm(std::move(module));
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
