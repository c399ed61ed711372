#include "support/sizes.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include "support/text.h"

namespace berth::frontend {

namespace {

bool is_in(const std::vector<bool>& tensors, TensorId tensor) {
  const auto at = static_cast<std::size_t>(tensor);
  return at < tensors.size() && tensors[at];
}

/// Whether a tensor needs a size that it has not.
bool lacks_size(const Graph& graph, const NotAsked& not_asked, TensorId tensor) {
  return !graph.bytes_known(tensor) && !is_in(not_asked.shapeless, tensor);
}

/// The advice for tensors whose dimensions have names.
std::string advice_on_names(const Graph& graph, const OpenDims& open) {
  std::map<std::string, std::vector<TensorId>> tensors;
  for (const auto& [tensor, names] : open) {
    for (const std::string& name : names) tensors[name].push_back(tensor);
  }
  std::vector<std::string> names;
  for (const auto& [name, of] : tensors) names.push_back(name);
  std::stable_sort(names.begin(), names.end(), [&](const auto& a, const auto& b) {
    return tensors.at(a).size() > tensors.at(b).size();
  });
  std::vector<std::string> listed;
  for (const std::string& name : names) {
    const std::vector<TensorId>& of = tensors.at(name);
    listed.push_back(of.size() == 1
                         ? cat("'", readable(name), "' of '", tensor_label(graph, of[0]), "'")
                         : cat("'", readable(name), "' of ", of.size(), " tensors"));
  }
  return cat("; dimensions that nothing gives a size: ", join(listed, 6),
             ": give them with --dim, such as --dim ", readable(names.front()), "=64");
}

}  // namespace

std::vector<TensorId> lost_sizes(const Graph& graph, const NotAsked& not_asked) {
  std::vector<TensorId> lost;
  OpId last = kNoOp;  // an op's tensors are neighbours, and it may have many
  bool known = true;  // all that it reads
  for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
    if (!lacks_size(graph, not_asked, tensor) || is_in(not_asked.refused, tensor)) continue;
    const OpId maker = graph.maker(tensor);
    if (maker != kNoOp && maker != last) {
      const auto reads = graph.inputs(maker);
      last = maker;
      known = std::all_of(reads.begin(), reads.end(), [&](TensorId read) {
        return read == kNoTensor || !lacks_size(graph, not_asked, read);
      });
    }
    if (maker == kNoOp || known) lost.push_back(tensor);
  }
  return lost;
}

std::string tensor_label(const Graph& graph, TensorId tensor) {
  const std::string& name = graph.tensor_name(tensor);
  const OpId maker = graph.maker(tensor);
  if (!name.empty() || maker == kNoOp) return readable(name);
  const auto outputs = graph.outputs(maker);
  // Numbered as the ports are; a damaged file may have an op with a million.
  const auto port = std::lower_bound(outputs.begin(), outputs.end(), tensor) - outputs.begin();
  return port == 0 ? readable(graph.op_name(maker))
                   : cat(readable(graph.op_name(maker)), ":", port);
}

std::string sizes_note(const Graph& graph, const NotAsked& not_asked, const OpenDims& open) {
  std::int64_t unsized = 0;
  for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
    unsized += lacks_size(graph, not_asked, tensor) ? 1 : 0;
  }
  if (unsized == 0) return {};
  std::vector<std::string> shapes, types;
  for (const TensorId tensor : lost_sizes(graph, not_asked)) {
    if (open.contains(tensor)) continue;
    const bool has_type = graph.dtype(tensor) != DType::unknown;
    (has_type ? shapes : types).push_back(tensor_label(graph, tensor));
  }
  std::string note = cat(unsized, " of ", graph.tensor_count(),
                         " tensors have no known size and count as 0 bytes");
  if (!open.empty()) note += advice_on_names(graph, open);
  if (!types.empty()) note += cat("; no rule says the type of ", list_names(types, 5));
  if (!shapes.empty()) {
    note += cat("; it begins with ", list_names(shapes, 5),
                ": give shapes with --shape TENSOR=1x3x224x224");
  }
  return note;
}

std::string bodies_note(std::int64_t tensors, const std::vector<std::string>& ops) {
  return cat(tensors, tensors == 1 ? " tensor" : " tensors", " in the bodies of ",
             list_names(ops, 5),
             " have no known size, and what is computed of them counts as 0: measured costs (berth "
             "profile) count it");
}

}  // namespace berth::frontend
