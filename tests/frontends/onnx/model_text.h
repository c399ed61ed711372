// Small ONNX models as text, by libonnx's own parser, and how they load.
#pragma once

#include <doctest/doctest.h>
#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/frontend.h"
#include "onnx/frontend.h"
#include "support/temporary_folder.h"

namespace berth::test {

/// A whole model, with header and functions.
inline onnx::ModelProto parse_model(const std::string& text) {
  onnx::ModelProto model;
  const auto status = onnx::OnnxParser::Parse(model, text.c_str());
  if (!status.IsOK()) throw std::logic_error("test model: " + status.ErrorMessage());
  return model;
}

/// "g (float[2] x) => (float[2] y) { y = Relu(x) }" with the usual imports.
inline onnx::ModelProto parse_graph(const std::string& graph, int opset = 17) {
  return parse_model("<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) +
                     ", \"com.microsoft\" : 1]>\n" + graph);
}

/// A weight with no data behind it.
inline void add_weight(onnx::ModelProto& model, const std::string& name,
                       const std::vector<std::int64_t>& dims, int elem = onnx::TensorProto::FLOAT) {
  auto* const tensor = model.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(elem);
  for (const std::int64_t dim : dims) tensor->add_dims(dim);
}

/// Models on disk, in a folder of their own.
class ModelFolder {
 public:
  std::filesystem::path save(const std::string& bytes, const std::string& name = "m.onnx") {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }
  std::filesystem::path save(const onnx::ModelProto& model, const std::string& name = "m.onnx") {
    return save(model.SerializeAsString(), name);
  }
  /// As if it were the content of m.onnx.
  LoadedModel load(const onnx::ModelProto& model, const LoadOptions& options = {}) {
    return load(model.SerializeAsString(), options);
  }
  LoadedModel load(const std::string& bytes, const LoadOptions& options = {}) {
    return onnx_frontend::load_model(bytes, folder_ / "m.onnx", options);
  }

  /// What executing it needs, which holds the graph as well.
  LoadedProgram load_program(const std::string& bytes, const LoadOptions& options = {}) {
    const auto owner = std::make_shared<const std::string>(bytes);
    return onnx_frontend::load_program(*owner, owner, folder_ / "m.onnx", options);
  }

  onnx_frontend::OnnxFrontend& frontend() { return frontend_; }
  [[nodiscard]] const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;
  onnx_frontend::OnnxFrontend frontend_{Options{}};
};

inline OpId op(const Graph& graph, std::string_view name) {
  const auto id = graph.find_op(name);
  REQUIRE_MESSAGE(id.has_value(), "no op ", std::string(name));
  return *id;
}

inline std::optional<TensorId> find_tensor(const Graph& graph, std::string_view name) {
  for (TensorId t = 0; t < graph.tensor_count(); ++t) {
    if (graph.tensor_name(t) == name) return t;
  }
  return std::nullopt;
}

/// "f32[2,3]", "f32[2,?]", "i64[]", "f32" where the rank is not known, "-" where there is none.
inline std::string type_text(const Graph& graph, std::string_view tensor) {
  const auto t = find_tensor(graph, tensor);
  if (!t) return "-";
  std::string text(dtype_name(graph.dtype(*t)));
  if (!graph.has_shape(*t)) return text;
  text += "[";
  for (const std::int64_t dim : graph.shape(*t)) {
    if (text.back() != '[') text += ",";
    text += dim == kUnknownDim ? "?" : std::to_string(dim);
  }
  return text + "]";
}

inline bool has_note(const LoadedModel& model, std::string_view part) {
  for (const std::string& note : model.notes) {
    if (note.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace berth::test
