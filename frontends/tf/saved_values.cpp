#include "tf/saved_values.h"

#include <filesystem>
#include <memory>
#include <optional>

#include "berth/error.h"
#include "support/text.h"
#include "tf/checkpoint.h"
#include "tf/fetches.h"
#include "tf/handles.h"
#include "tf/tensor_content.h"

namespace berth::tf_frontend {

using frontend::list_names;
using frontend::readable;

namespace {

/// Empty for a graph alone.
std::filesystem::path checkpoint_of(const ModelFile& file) {
  if (file.kind == MessageKind::saved_model)
    return file.path.parent_path() / "variables" / "variables";
  if (file.kind != MessageKind::meta_graph || file.path.extension() != ".meta") return {};
  return std::filesystem::path(file.path).replace_extension();
}

/// The names under which variables are saved, by those of their ops: what an assignment gets from
/// output i of a RestoreV2 is the i-th of its names.
class Restored {
 public:
  Restored(const ModelFile& file, Library& library) : source_(library.source) {
    const int left = library.nodes_left;
    const Selection selection = select(library, file.meta, {std::string(file.meta.restore_op)});
    program_ = make_program(library, selection.needed, selection.fetches);
    library.nodes_left = left;
    for (const Node& node : program_.nodes) {
      if (node.op != "Assign" && node.op != "AssignVariableOp") continue;
      if (node.inputs.size() < 2) continue;
      const Node& variable = at(behind_identities(node.inputs[0]).node);
      if (auto name = name_of(behind_identities(node.inputs[1]));
          name && is_variable(variable.op)) {
        names_.emplace(variable.name, std::move(*name));
      }
    }
    take_names_of_copies(library);
  }

  /// Null for a variable that is not restored, or from a part of a tensor alone.
  [[nodiscard]] const std::string* name_of(std::string_view variable) const {
    const auto found = names_.find(variable);
    return found == names_.end() ? nullptr : &found->second;
  }

 private:
  /// Keras saves copies of its variables, each of which begins as what it is a copy of.
  void take_names_of_copies(const Library& library) {
    const Producers producers(library);
    for (const NodeDef& node : library.graph.nodes()) {
      if (node.op != "AssignVariableOp") continue;
      const NodeDef *copy = producers.input(node, 0), *read = producers.input(node, 1);
      const NodeDef* original =
          read != nullptr && read->op == "ReadVariableOp" ? producers.input(*read, 0) : nullptr;
      if (copy == nullptr || original == nullptr || !is_variable(original->op)) continue;
      if (const std::string* name = name_of(copy->name)) names_.emplace(original->name, *name);
    }
  }

  [[nodiscard]] const Node& at(NodeId id) const {
    return program_.nodes[static_cast<std::size_t>(id)];
  }

  [[nodiscard]] Source behind_identities(Source source) const {
    for (std::size_t left = program_.nodes.size(); left > 0; --left) {
      const Node& node = at(source.node);
      if (node.op != "Identity" || node.inputs.empty()) break;
      source = node.inputs[0];
    }
    return source;
  }

  [[nodiscard]] std::optional<std::string> name_of(Source value) const {
    const Node& restore = at(value.node);
    if (restore.op != "RestoreV2" || restore.inputs.size() < 3 || value.port < 0)
      return std::nullopt;
    const std::optional<std::string> part = text_at(restore.inputs[2], value.port);
    if (!part || !part->empty()) return std::nullopt;
    return text_at(restore.inputs[1], value.port);
  }

  [[nodiscard]] std::optional<std::string> text_at(Source texts, std::int32_t i) const {
    const Node& node = at(behind_identities(texts).node);
    const Attr value = node.attributes.find("value");
    if (node.op != "Const" || value.kind != Attr::Kind::tensor) return std::nullopt;
    TensorContent content = read_content(value.bytes, source_, node.name, nullptr);
    if (static_cast<std::size_t>(i) >= content.texts.size()) return std::nullopt;
    return std::move(content.texts[static_cast<std::size_t>(i)]);
  }

  const WireSource& source_;
  Program program_;
  std::map<std::string, std::string, std::less<>> names_;
};

std::string shape_text(const Dims& dims) {
  std::vector<std::string> sizes;
  for (const std::int64_t size : dims) sizes.push_back(std::to_string(size));
  return "[" + join(sizes) + "]";
}

void refuse_other_shape(const std::filesystem::path& prefix, const Node& variable,
                        const TensorContent& content) {
  if (variable.outputs.empty()) return;
  const Value& value = variable.outputs[0];
  const bool ranked = value.handle ? value.handle->ranked : value.ranked;
  const Dims& dims = value.handle ? value.handle->dims : value.dims;
  if (!ranked || product(dims) == kUnknownDim || dims == content.shape) return;
  throw Error(ErrorCode::invalid_file,
              cat(prefix.string(), ".index: what was saved for '", readable(variable.name),
                  "' has the shape ", shape_text(content.shape), ", and the variable ",
                  shape_text(dims), "; take the checkpoint that was saved with this graph"));
}

}  // namespace

SavedValues find_saved_values(const ModelFile& file, Library& library, const Program& program) {
  SavedValues values;
  const std::filesystem::path prefix = checkpoint_of(file);
  std::vector<const Node*> variables;
  for (const Node& node : program.nodes) {
    if (is_variable(node.op)) variables.push_back(&node);
  }
  if (variables.empty() || prefix.empty() || file.meta.restore_op.empty()) return values;
  const std::shared_ptr<const Checkpoint> checkpoint = Checkpoint::open(prefix);
  if (checkpoint == nullptr) {
    values.notes.push_back(cat("variables begin as their initializers say, or drawn: there is no ",
                               prefix.string(), ".index with what was learned"));
    return values;
  }
  std::optional<Restored> restored;
  try {
    restored.emplace(file, library);
  } catch (const Error& refusal) {
    values.notes.push_back(
        cat("variables begin as their initializers say, or drawn, for what restores them is not "
            "clear: ",
            refusal.what()));
    return values;
  }
  std::vector<std::string> without;
  for (const Node* variable : variables) {
    const std::string* key = restored->name_of(variable->name);
    std::optional<TensorContent> content = key ? checkpoint->find(*key) : std::nullopt;
    if (!content) {
      without.push_back(readable(variable->name));
      continue;
    }
    refuse_other_shape(prefix, *variable, *content);
    values.of.emplace(variable->name, std::move(*content));
  }
  if (!without.empty()) {
    values.notes.push_back(
        cat("variables that begin as their initializers say, or drawn, for the checkpoint does not "
            "have them in one piece: ",
            list_names(without)));
  }
  return values;
}

}  // namespace berth::tf_frontend
