// The model's graph with names resolved: functions are inlined, every value has one id, bodies of
// control flow are beside their node, and the nodes of each body are in an order that can be
// computed.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/frontend.h"
#include "onnx/model.h"
#include "onnx/types.h"

namespace berth::onnx_frontend {

using ValueId = std::int32_t;
inline constexpr ValueId kNoValue = -1;  ///< an omitted optional input or output

/// Something that a node can read. Ids are unique over all bodies of a program.
struct Value {
  enum class Origin : std::uint8_t {
    input,        ///< of the body it belongs to
    initializer,  ///< a weight
    constant,     ///< made by a Constant node, which is not among the nodes
    node,
  };
  std::string_view name;  ///< as in the file
  Origin origin = Origin::node;
  bool overridable = false;    ///< an initializer for which the caller may give another one
  bool trained = false;        ///< a weight of which the step makes the gradient or the next value
  std::int32_t body = 0;       ///< Body::id it belongs to
  std::int32_t producer = -1;  ///< index into that body's nodes, where origin is node
  std::int32_t constant_node = -1;  ///< top-level index of the Constant node, -1 in functions
  Type type;                        ///< what is known so far, with content if that is small
  Type declared;                    ///< what the file says
  std::optional<Dims> given;        ///< the shape that the user gave, of what a node gives
  bool refused = false;             ///< by inference: no runtime would make it
  /// The share of steps in which there is anything to compute of it: below 1 behind the choice of an
  /// expert's tokens.
  double share = 1;
  /// What the op that makes it does, where a rule of the user's says that.
  std::optional<Work> producer_work;
  // Where its content is stated, by origin.
  const onnx::TensorProto* weight = nullptr;               ///< of an initializer
  const onnx::SparseTensorProto* sparse_weight = nullptr;  ///< of a sparse one
  const onnx::NodeProto* constant = nullptr;               ///< the Constant node
};

struct Body;

/// An op. Its attributes are resolved: none refers to an attribute of a function.
struct Node {
  const onnx::NodeProto* proto = nullptr;
  std::string name;  ///< as in the file, after the names of the calls that it is inlined from
  std::string_view domain;
  std::int64_t opset = 0;  ///< version imported for its domain; 0 = none
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<std::unique_ptr<Body>> bodies;  ///< in the order of the attributes that hold them
  std::vector<std::string> body_attributes;   ///< their attributes' names
  /// Values of enclosing bodies that its own bodies read, without those in `inputs`.
  std::vector<ValueId> captured;
  std::int32_t top_level = 0;  ///< index in the main graph of the node it comes from
  std::string_view requested_device;
  std::string_view module;

  [[nodiscard]] const std::string& type() const { return proto->op_type(); }
  /// With its domain in front, unless that is the standard one; valid UTF-8.
  [[nodiscard]] std::string full_type() const;
  [[nodiscard]] const onnx::AttributeProto* attribute(std::string_view name_) const;
  [[nodiscard]] const Body* body(std::string_view attribute) const;
};

struct Body {
  std::int32_t id = 0;
  std::vector<ValueId> inputs;  ///< without those that are initializers
  std::vector<ValueId> outputs;
  std::vector<ValueId> initializers;
  std::vector<ValueId> constants;   ///< what its Constant nodes give
  std::vector<Node> nodes;          ///< in the file's order
  std::vector<std::int32_t> order;  ///< indices into nodes, producers first
  /// How often a Loop or a search runs it; kUnknownDim until inference knows.
  std::int64_t trips = kUnknownDim;
};

struct Program {
  std::vector<Value> values;
  Body main;
  /// Initializers and values of Constant nodes that the graph returns, distinct: ops of type Constant. Others are
  /// parameters of the nodes that read them.
  std::vector<ValueId> returned_constants;
  std::int64_t node_count = 0;  ///< over all bodies
  std::int32_t top_level_nodes = 0;
  LoadOptions::Experts experts;  ///< as the user says
  std::map<std::string, std::int64_t>
      given_trips;  ///< of Loops and searches by their names, and sizes of dimensions
  std::vector<std::string> notes;
  bool fixes_sizes =
      false;  ///< no size was given, or is that of a step in the mean or at its largest

  [[nodiscard]] Value& value(ValueId id) { return values[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const Value& value(ValueId id) const {
    return values[static_cast<std::size_t>(id)];
  }
};

/// "'name' (Type)", or by its first output or index where it has no name.
[[nodiscard]] std::string describe(const onnx::NodeProto& node);

/// Throws Error(invalid_graph) for names read and never produced, produced twice, cycles (of nodes
/// or of functions), and for programs beyond a million nodes.
[[nodiscard]] Program make_program(Model& model);

}  // namespace berth::onnx_frontend
