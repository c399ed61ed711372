#include "tf/fetches.h"

#include <algorithm>
#include <array>

#include "berth/error.h"
#include "support/text.h"
#include "tf/attributes.h"
#include "tf/updates.h"

namespace berth::tf_frontend {

using frontend::list_names;
using frontend::readable;

namespace {

using Ids = std::vector<NodeId>;

bool is_assignment(std::string_view op) {
  static constexpr std::array<std::string_view, 3> kOps = {"Assign", "AssignVariableOp",
                                                           "InitializeTable"};
  return std::find(kOps.begin(), kOps.end(), op) != kOps.end() ||
         op.starts_with("InitializeTable") || op.starts_with("LookupTableImport");
}

/// Ops that have no part in a step: they save, restore, check, describe or start something.
bool is_aside(std::string_view op) {
  static constexpr std::array<std::string_view, 16> kOps = {"SaveV2",
                                                            "Save",
                                                            "SaveSlices",
                                                            "MergeV2Checkpoints",
                                                            "RestoreV2",
                                                            "Restore",
                                                            "RestoreSlice",
                                                            "IsVariableInitialized",
                                                            "VarIsInitializedOp",
                                                            "MakeIterator",
                                                            "ShardedFilename",
                                                            "IteratorToStringHandle",
                                                            "WriteSummary",
                                                            "LookupTableSizeV2",
                                                            "Assert",
                                                            "ResourceInitializedOp"};
  if (std::find(kOps.begin(), kOps.end(), op) != kOps.end()) return true;
  return op.size() > 7 && op.substr(op.size() - 7) == "Summary";
}

/// Edges of the graph as written, calls as single nodes.
class Edges {
 public:
  explicit Edges(const Library& library) : library_(library) {
    const std::vector<NodeDef>& nodes = library.graph.nodes();
    ids_.reserve(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!ids_.emplace(nodes[i].name, static_cast<NodeId>(i)).second) {
        throw Error(ErrorCode::invalid_graph,
                    cat(library.source.file, ": two nodes are named '", readable(nodes[i].name),
                        "'; names must be unique: export the graph again"));
      }
    }
    begin_.push_back(0);
    for (const NodeDef& node : nodes) {
      for (const std::string_view text : node.inputs) producers_.push_back(find(text, node));
      begin_.push_back(producers_.size());
    }
  }

  [[nodiscard]] NodeId find(std::string_view name) const {
    const auto found = ids_.find(name);
    return found == ids_.end() ? kNoNode : found->second;
  }
  /// Producers of data and control inputs alike.
  [[nodiscard]] std::span<const NodeId> producers(NodeId id) const {
    const auto i = static_cast<std::size_t>(id);
    return std::span(producers_).subspan(begin_[i], begin_[i + 1] - begin_[i]);
  }
  [[nodiscard]] std::size_t size() const { return begin_.size() - 1; }

 private:
  NodeId find(std::string_view text, const NodeDef& node) const {
    const InputName name = parse_input(text, library_, node.name);
    const NodeId id = find(name.node);
    if (id == kNoNode) {
      throw Error(
          ErrorCode::invalid_graph,
          cat(library_.source.file, ": node '", readable(node.name), "' reads '", readable(text),
              "', and no node of that name is in the graph; export the "
              "graph with all its nodes"));
    }
    return id;
  }

  const Library& library_;
  std::unordered_map<std::string_view, NodeId> ids_;
  std::vector<NodeId> producers_;
  std::vector<std::size_t> begin_;
};

class Selector {
 public:
  explicit Selector(const Library& library) : library_(library), edges_(library) {}

  Selection run(const MetaInfo& meta, const std::vector<std::string>& fetches) {
    Ids roots = named(fetches);
    if (roots.empty()) roots = behind_train_ops(meta.train_ops);
    if (roots.empty() && !is_function()) roots = behind_updates();
    if (roots.empty()) roots = of_signatures(meta.signatures);
    const bool all = roots.empty();
    if (all) roots = sinks();
    if (selection_.fetches.empty()) {
      for (const NodeId id : roots) selection_.fetches.push_back({node_name(id)});
    }
    selection_.needed = reachable(roots);
    const auto dropped = std::count(selection_.needed.begin(), selection_.needed.end(), false);
    if (dropped > 0) {
      selection_.notes.push_back(
          cat("left out ", dropped, " of ", edges_.size(), " nodes that the step does not need",
              all ? " (they save, restore, initialise, check or summarise)" : "",
              "; name fetches to load others"));
    }
    return std::move(selection_);
  }

 private:
  [[nodiscard]] std::string_view op(NodeId id) const {
    return library_.graph.nodes()[static_cast<std::size_t>(id)].op;
  }
  [[nodiscard]] std::string_view node_name(NodeId id) const {
    return library_.graph.nodes()[static_cast<std::size_t>(id)].name;
  }
  [[nodiscard]] std::string name(NodeId id) const { return readable(node_name(id)); }

  /// Whether the graph is that of a function, which captures its variables: all that it changes is
  /// part of its step.
  [[nodiscard]] bool is_function() const {
    const std::vector<NodeDef>& nodes = library_.graph.nodes();
    return std::any_of(nodes.begin(), nodes.end(), [&](const NodeDef& node) {
      return node.op == "Placeholder" &&
             Attributes(node.attrs, nullptr, library_.source).type("dtype") == kResource;
    });
  }

  /// "name" stands for all outputs of the node, "name:port" for one. `id` is the node.
  void add_fetch(NodeId id, std::string_view text) {
    const bool one = text.find(':') != std::string_view::npos;
    selection_.fetches.push_back(
        {node_name(id), one ? parse_input(text, library_, "fetch").port : kEveryPort});
  }

  Ids named(const std::vector<std::string>& fetches) {
    Ids roots;
    for (const std::string& fetch : fetches) {
      const NodeId id = edges_.find(parse_input(fetch, library_, "fetch").node);
      if (id == kNoNode) {
        throw Error(ErrorCode::not_found,
                    cat(library_.source.file, ": fetch '", readable(fetch),
                        "' is not a node of the graph; its last nodes are ", last_names()));
      }
      roots.push_back(id);
      add_fetch(id, fetch);
    }
    return roots;
  }

  [[nodiscard]] std::string last_names() const {
    constexpr std::size_t kShown = 8;
    const std::vector<NodeDef>& nodes = library_.graph.nodes();
    std::vector<std::string> names;
    for (std::size_t i = nodes.size(); i > 0 && names.size() < kShown; --i) {
      names.push_back(readable(nodes[i - 1].name));
    }
    return list_names(names, kShown);
  }

  /// Names that the file gives; those that are not there are no reason to refuse it.
  Ids known(const std::vector<std::string_view>& names) {
    Ids roots;
    for (const std::string_view text : names) {
      const NodeId id = edges_.find(text.substr(0, text.find(':')));
      if (id == kNoNode) continue;
      roots.push_back(id);
      add_fetch(id, text);
    }
    return roots;
  }

  /// An optimizer enters its own op alone; steps run what waits for it, such as averages of its variables.
  Ids behind_train_ops(const std::vector<std::string_view>& names) {
    Ids roots = known(names);
    const std::vector<bool> own = reachable(roots);
    const auto changes = [&](const std::vector<bool>& needed) {
      std::ptrdiff_t count = 0;
      for (std::size_t i = 0; i < needed.size(); ++i) {
        if (needed[i] && !own[i] && changes_variable(op(static_cast<NodeId>(i)))) ++count;
      }
      return count;
    };
    Ids behind;
    if (!roots.empty()) {
      for (const NodeId end : ends_behind(roots)) {
        if (changes(reachable({end})) > 0) behind.push_back(end);
      }
    }
    if (behind.empty()) {
      note_roots(roots, "the train op");
      return roots;
    }
    const std::ptrdiff_t count = changes(reachable(behind));
    selection_.notes.push_back(cat("the step is ", node_list(behind), ", which runs the train op ",
                                   node_list(roots), " and changes ", count,
                                   count == 1 ? " more variable" : " more variables",
                                   "; name the train op as a fetch to leave them out"));
    for (const NodeId id : behind) selection_.fetches.push_back({node_name(id)});
    roots.insert(roots.end(), behind.begin(), behind.end());
    return roots;
  }

  [[nodiscard]] bool trains(const Signature& signature, TrainingCalls& calls) const {
    Ids roots;
    for (const std::string_view text : signature.outputs) {
      const NodeId id = edges_.find(text.substr(0, text.find(':')));
      if (id != kNoNode) roots.push_back(id);
    }
    const std::vector<bool> needed = reachable(roots);
    const std::vector<NodeDef>& nodes = library_.graph.nodes();
    for (std::size_t i = 0; i < needed.size(); ++i) {
      if (needed[i] && calls.trains(nodes[i])) return true;
    }
    return false;
  }

  /// Signatures are ways to call one model, and exporters write the same one under several names. The one that trains
  /// is the step; else, or where several do, the default one; without it all of them.
  Ids of_signatures(const std::vector<Signature>& signatures) {
    constexpr std::string_view kDefault = "serving_default";
    const auto is_default = [&](const Signature& each) { return each.name == kDefault; };
    const bool has_default = std::any_of(signatures.begin(), signatures.end(), is_default);
    std::vector<bool> train;
    TrainingCalls calls(library_);
    for (const Signature& each : signatures) train.push_back(trains(each, calls));
    const bool one_trains = std::count(train.begin(), train.end(), true) == 1;
    Ids roots;
    std::vector<std::string> taken, others;
    for (std::size_t i = 0; i < signatures.size(); ++i) {
      const Signature& each = signatures[i];
      const std::string shown =
          cat("'", readable(each.name), "'", train[i] ? " (updates variables)" : "");
      if (one_trains ? !train[i] : has_default && !is_default(each)) {
        others.push_back(shown);
        continue;
      }
      const Ids own = known(each.outputs);
      if (!own.empty()) taken.push_back(shown);
      roots.insert(roots.end(), own.begin(), own.end());
    }
    if (roots.empty()) return roots;
    constexpr std::size_t kShown = 8;
    selection_.notes.push_back(cat(
        "the step is the ", taken.size() == 1 ? "signature " : "signatures ", join(taken, kShown),
        others.empty() ? "" : cat("; others are ", join(others, kShown), ": name one as a fetch")));
    return roots;
  }

  void note_roots(const Ids& roots, std::string_view what) {
    if (roots.empty()) return;
    selection_.notes.push_back(cat("the step is ", what, ": ", node_list(roots)));
  }
  [[nodiscard]] std::string node_list(const Ids& ids) const {
    std::vector<std::string> names;
    for (const NodeId id : ids) names.push_back(name(id));
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return list_names(names);
  }

  [[nodiscard]] std::vector<bool> has_consumer() const {
    std::vector<bool> consumed(edges_.size(), false);
    for (NodeId id = 0; id < static_cast<NodeId>(edges_.size()); ++id) {
      for (const NodeId producer : edges_.producers(id)) {
        consumed[static_cast<std::size_t>(producer)] = true;
      }
    }
    return consumed;
  }

  /// The ops without consumers for which updates of an optimizer are needed. Where such an op also
  /// runs a saver it is one that does more than a step.
  Ids behind_updates() {
    Ids updates;
    for (NodeId id = 0; id < static_cast<NodeId>(edges_.size()); ++id) {
      if (is_update(op(id))) updates.push_back(id);
    }
    if (updates.empty()) updates = assignments_of_themselves("Assign");
    const Ids roots = ends_behind(std::move(updates));
    note_roots(roots, "what waits for the optimizer's updates");
    return roots;
  }

  /// The ops without consumers that wait for one of `ops`.
  [[nodiscard]] Ids ends_behind(Ids ops) const {
    std::vector<Ids> consumers(edges_.size());
    for (NodeId id = 0; id < static_cast<NodeId>(edges_.size()); ++id) {
      for (const NodeId producer : edges_.producers(id)) {
        consumers[static_cast<std::size_t>(producer)].push_back(id);
      }
    }
    Ids ends;
    std::vector<bool> seen(edges_.size(), false);
    for (Ids stack = std::move(ops); !stack.empty();) {
      const NodeId id = stack.back();
      stack.pop_back();
      if (seen[static_cast<std::size_t>(id)]) continue;
      seen[static_cast<std::size_t>(id)] = true;
      const Ids& next = consumers[static_cast<std::size_t>(id)];
      if (next.empty()) ends.push_back(id);
      stack.insert(stack.end(), next.begin(), next.end());
    }
    std::sort(ends.begin(), ends.end());
    return ends;
  }

  /// Assignments, of type `assign`, of a value that follows from the variable's own: an optimizer
  /// or an average spelled out in plain ops. Initial and restored values do not.
  [[nodiscard]] Ids assignments_of_themselves(std::string_view assign) const {
    Ids updates;
    std::vector<NodeId> seen_for(edges_.size(), kNoNode);
    for (NodeId id = 0; id < static_cast<NodeId>(edges_.size()); ++id) {
      const auto producers = edges_.producers(id);
      if (op(id) != assign || producers.size() < 2) continue;
      for (Ids stack{producers[1]}; !stack.empty();) {
        const NodeId from = stack.back();
        stack.pop_back();
        if (from == producers[0]) {
          updates.push_back(id);
          break;
        }
        NodeId& seen = seen_for[static_cast<std::size_t>(from)];
        // An initial value may wait for other variables' initialisation, not for its own variable.
        if (seen == id || op(from) == assign) continue;
        seen = id;
        const auto next = edges_.producers(from);
        stack.insert(stack.end(), next.begin(), next.end());
      }
    }
    return updates;
  }

  /// Changes of variables that are part of a step: an optimizer's, an average's or a counter's.
  [[nodiscard]] Ids resource_updates() const {
    Ids updates = assignments_of_themselves("AssignVariableOp");
    const bool all = is_function();
    for (NodeId id = 0; id < static_cast<NodeId>(edges_.size()); ++id) {
      if (op(id) == "AssignAddVariableOp" || op(id) == "AssignSubVariableOp" ||
          (all && op(id) == "AssignVariableOp")) {
        updates.push_back(id);
      }
    }
    return updates;
  }

  /// Whether an op without consumers only gathers ops aside from the step.
  bool only_aside(NodeId id, int depth = 0) {
    constexpr int kDeepest = 16;
    if (is_aside(op(id)) || is_assignment(op(id))) return true;
    const bool gathers = op(id) == "NoOp" || op(id) == "Identity" || op(id) == "ControlTrigger" ||
                         op(id) == "Pack" || op(id) == "ConcatV2";
    const auto producers = edges_.producers(id);
    if (!gathers || depth > kDeepest) return false;
    return std::any_of(producers.begin(), producers.end(),
                       [&](NodeId producer) {
                         return op(producer) != "Const" && only_aside(producer, depth + 1);
                       }) &&
           std::all_of(producers.begin(), producers.end(), [&](NodeId producer) {
             return op(producer) == "Const" || only_aside(producer, depth + 1);
           });
  }

  Ids sinks() {
    const std::vector<bool> consumed = has_consumer();
    Ids all, wanted;
    for (NodeId id = 0; id < static_cast<NodeId>(consumed.size()); ++id) {
      if (consumed[static_cast<std::size_t>(id)]) continue;
      all.push_back(id);
      const bool idle = op(id) == "NoOp" || op(id) == "Const" || op(id) == "Placeholder";
      if (!idle && !only_aside(id)) wanted.push_back(id);
    }
    const Ids updates = ends_behind(resource_updates());
    wanted.insert(wanted.end(), updates.begin(), updates.end());
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    // A graph of nothing else is what its maker wants placed.
    return wanted.empty() ? every_node() : wanted;
  }

  [[nodiscard]] Ids every_node() const {
    Ids ids;
    for (NodeId id = 0; id < static_cast<NodeId>(edges_.size()); ++id) ids.push_back(id);
    return ids;
  }

  [[nodiscard]] std::vector<bool> reachable(const Ids& roots) const {
    std::vector<bool> needed(edges_.size(), false);
    for (Ids stack = roots; !stack.empty();) {
      const NodeId id = stack.back();
      stack.pop_back();
      if (needed[static_cast<std::size_t>(id)]) continue;
      needed[static_cast<std::size_t>(id)] = true;
      const auto producers = edges_.producers(id);
      stack.insert(stack.end(), producers.begin(), producers.end());
    }
    return needed;
  }

  const Library& library_;
  Edges edges_;
  Selection selection_;
};

}  // namespace

Selection select(const Library& library, const MetaInfo& meta,
                 const std::vector<std::string>& fetches) {
  if (library.graph.nodes().empty()) {
    throw Error(ErrorCode::invalid_graph,
                cat(library.source.file, ": the graph has no nodes; there is nothing to place"));
  }
  return Selector(library).run(meta, fetches);
}

}  // namespace berth::tf_frontend
