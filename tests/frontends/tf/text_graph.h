// Graphs written as text in a test.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "berth/files.h"
#include "berth/frontend.h"
#include "support/temporary_folder.h"
#include "tf/frontend.h"

namespace berth::tf_frontend {

inline LoadedModel load_bytes(const std::string& bytes, const LoadOptions& options = {},
                              const std::string& name = "graph.pbtxt") {
  const test::TemporaryFolder folder;
  write_file(folder / name, bytes);
  TensorFlowFrontend frontend{Options{}};
  return frontend.load(folder / name, options);
}

/// A node: its name, op, inputs separated by blanks, and attributes as in the files.
inline std::string node(const std::string& name, const std::string& op,
                        const std::string& inputs = {}, const std::string& attributes = {}) {
  std::string text = "node { name: '" + name + "' op: '" + op + "'";
  for (std::size_t begin = 0; begin < inputs.size();) {
    const std::size_t end = std::min(inputs.find(' ', begin), inputs.size());
    text += " input: '" + inputs.substr(begin, end - begin) + "'";
    begin = end + 1;
  }
  return text + " " + attributes + " }\n";
}

inline std::string attr(const std::string& key, const std::string& value) {
  return "attr { key: '" + key + "' value { " + value + " } } ";
}

inline std::string shape(const std::string& key, std::initializer_list<int> dims) {
  std::string text;
  for (const int dim : dims) text += " dim { size: " + std::to_string(dim) + " }";
  return attr(key, "shape {" + text + " }");
}

inline const std::string kFloats = attr("T", "type: DT_FLOAT");

inline std::string placeholder(const std::string& name, std::initializer_list<int> dims) {
  return node(name, "Placeholder", "", attr("dtype", "type: DT_FLOAT") + shape("shape", dims));
}

/// A constant of 32-bit integers: a scalar where there is one value and `scalar`.
inline std::string integers(const std::string& name, std::initializer_list<int> values,
                            bool scalar = false) {
  std::string tensor = "dtype: DT_INT32 tensor_shape {";
  if (!scalar) tensor += " dim { size: " + std::to_string(values.size()) + " }";
  tensor += " }";
  for (const int value : values) tensor += " int_val: " + std::to_string(value);
  return node(name, "Const", "",
              attr("dtype", "type: DT_INT32") + attr("value", "tensor { " + tensor + " }"));
}

inline OpId op_named(const Graph& graph, const std::string& name) {
  const auto op = graph.find_op(name);
  REQUIRE_MESSAGE(op.has_value(), "no op is named ", name);
  return *op;
}

inline std::vector<std::int64_t> shape_of(const Graph& graph, const std::string& name,
                                          std::size_t port = 0) {
  const OpId op = op_named(graph, name);
  REQUIRE(graph.outputs(op).size() > port);
  const TensorId tensor = graph.outputs(op)[port];
  REQUIRE_MESSAGE(graph.has_shape(tensor), name, " has no shape");
  const auto shape = graph.shape(tensor);
  return {shape.begin(), shape.end()};
}

}  // namespace berth::tf_frontend
