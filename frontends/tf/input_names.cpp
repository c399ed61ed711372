#include "tf/input_names.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>
#include <utility>

#include "support/text.h"

namespace berth::tf_frontend {
namespace {

/// The end of the input's name in "ids", "ids:0" and "ids/1": a slash may be part of a name.
std::size_t end_of_input(std::string_view name) {
  const std::size_t at = name.find_last_of("/:");
  const bool numbered = at != name.npos && at + 1 < name.size() &&
                        name.find_first_not_of("0123456789", at + 1) == name.npos;
  return numbered ? at : name.size();
}

/// `entries` with each key that begins with a caller's name under the keys of its nodes.
template <typename Entries>
Entries renamed(const Entries& entries, const std::multimap<std::string, std::string>& nodes,
                std::string_view front) {
  Entries all;
  for (const auto& [key, value] : entries) {
    const std::string name = key.starts_with(front) ? key.substr(front.size()) : "";
    const std::size_t end = end_of_input(name);
    const auto [first, last] = nodes.equal_range(name.substr(0, end));
    for (auto node = first; node != last; ++node) {
      all.emplace(std::string(front) + node->second + name.substr(end), value);
    }
    if (first == last) all.insert_or_assign(key, value);
  }
  return all;
}

}  // namespace

InputNames::InputNames(const MetaInfo& meta, const GraphDef& graph,
                       const std::vector<bool>& needed) {
  std::set<std::string_view> all, in_step;
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    all.insert(graph.nodes()[i].name);
    if (needed[i]) in_step.insert(graph.nodes()[i].name);
  }
  for (const Signature& signature : meta.signatures) {
    for (const NamePair& input : signature.inputs) {
      const std::string_view node = input.value.substr(0, input.value.find(':'));
      if (!in_step.contains(node) || all.contains(input.key)) continue;
      const std::string name = frontend::readable(node), caller = frontend::readable(input.key);
      if (callers_.emplace(name, caller).second) nodes_.emplace(caller, name);
    }
  }
}

LoadOptions InputNames::in_nodes(LoadOptions options) const {
  if (nodes_.empty()) return options;
  options.dims = renamed(options.dims, nodes_, "");
  options.shapes = renamed(options.shapes, nodes_, "");
  options.weakness = renamed(renamed(options.weakness, nodes_, "dims."), nodes_, "shapes.");
  return options;
}

std::string InputNames::shown(const std::string& name) const {
  const std::size_t end = end_of_input(name);
  const auto caller = callers_.find(name.substr(0, end));
  return caller == callers_.end() ? name : cat(caller->second, name.substr(end), " (", name, ")");
}

}  // namespace berth::tf_frontend
