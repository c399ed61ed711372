// The graph as it runs: calls of functions inlined, names resolved to nodes and ports, only what
// the fetches need.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tf/attributes.h"
#include "tf/graph_def.h"
#include "tf/value.h"

namespace berth::tf_frontend {

using NodeId = std::int32_t;
inline constexpr NodeId kNoNode = -1;

/// In the place of a port: all of a node's outputs.
inline constexpr std::int32_t kEveryPort = -1;

/// Output `port` of `node`.
struct Source {
  NodeId node = kNoNode;
  std::int32_t port = 0;
};

struct Node {
  std::string_view name;  ///< as in the file, behind the names of the calls it is inlined from
  std::string_view op;
  std::string_view device;
  Attributes attributes;
  std::vector<Source> inputs;
  std::vector<NodeId> controls;
  const NodeDef* def = nullptr;  ///< null for a node made here to carry control edges of a call
  std::int32_t call = 0;         ///< index into Program::calls
  std::vector<Value> outputs;    ///< empty until the shapes are inferred
  /// Of an input: whether the file states the whole shape; empty before the user's is taken.
  std::optional<bool> fixed;
  bool parameter = false;  ///< of an input: it is a weight
};

/// One inlined call; 0 stands for the graph itself, or for the function whose body is the program.
struct Call {
  std::string_view prefix;  ///< of the names in it: "" or "call/"
  const FunctionDef* function = nullptr;
  std::unique_ptr<Attributes> attributes;  ///< of the call, for those of the body
};

/// A node of the graph, or one of its outputs, to be computed.
struct Fetch {
  std::string_view node;
  std::int32_t port = kEveryPort;
};

struct Program {
  std::vector<Node> nodes;  ///< in the file's order, bodies of calls behind what calls them
  std::vector<Call> calls;
  /// The arguments of a function's body, as nodes without inputs.
  std::vector<NodeId> arguments;
  /// The results of a function's body, or the fetches of a graph; there a source may stand for
  /// all outputs of its node (kEveryPort).
  std::vector<Source> results;
  std::vector<std::string> result_names;  ///< of a graph: by position in `results`
  std::deque<std::string> names;          ///< storage of names made here
  std::deque<std::vector<AttrEntry>> attrs;
  std::deque<WireSource> sources;  ///< of attributes made here
};

/// Shared by the programs of one file.
struct Library {
  const GraphDef& graph;
  const WireSource& source;
  std::unordered_map<std::string_view, const OpDef*> ops;  ///< declared in the file
  int nodes_left = 1'000'000;  ///< over all programs, so that nested calls cannot explode
};

/// The op that stands for an argument of a function's body.
inline constexpr std::string_view kArgumentOp = "_Arg";

/// A reference to a tensor as it stands in a node's inputs: "name", "name:port", "name:output:port"
/// or "^name".
struct InputName {
  std::string_view node;
  std::string_view output;  ///< in bodies of functions
  std::int32_t port = 0;
  bool control = false;
};
/// Throws Error(invalid_graph) naming `owner` for a port that is no number.
[[nodiscard]] InputName parse_input(std::string_view text, const Library& library,
                                    std::string_view owner);

/// Finds what gives a node of the file's graph its inputs.
class Producers {
 public:
  /// `library` must outlive it.
  explicit Producers(const Library& library);
  /// Null for a control edge, and where there is no such input or node.
  [[nodiscard]] const NodeDef* input(const NodeDef& node, std::size_t i) const;

 private:
  const Library& library_;
  std::unordered_map<std::string_view, const NodeDef*> nodes_;
};

/// The nodes of the graph with `needed[i]` set, with what they call; `fetches` are among them.
/// Throws Error(invalid_graph) naming the node for inputs that are not there, names given twice,
/// functions that call themselves, and for programs of more than a million nodes.
[[nodiscard]] Program make_program(Library& library, const std::vector<bool>& needed,
                                   std::span<const Fetch> fetches = {});

/// The body of a function called with `attributes`.
[[nodiscard]] Program make_body(Library& library, const FunctionDef& function,
                                std::vector<AttrEntry> attributes, const Attributes* outer);

/// Whether a node calls a function that is to be inlined, and which.
[[nodiscard]] const FunctionDef* called_function(const Library& library, const NodeDef& node,
                                                 const Attributes& attributes,
                                                 std::vector<AttrEntry>& call_attributes);

/// Outputs of a node as its type declares them: by the tables, the file's own declarations, or what
/// its attributes and uses suggest.
[[nodiscard]] std::vector<int> output_types_of(const Library& library, const Node& node,
                                               std::int32_t used_ports);

}  // namespace berth::tf_frontend
