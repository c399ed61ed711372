// A model file, parsed and checked as far as is possible without looking at shapes.
#pragma once

#include <google/protobuf/arena.h>
#include <onnx/onnx_pb.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "berth/frontend.h"

namespace berth::onnx_frontend {

/// Opset version by domain ("" = the standard one, also written "ai.onnx").
using Opsets = std::unordered_map<std::string, std::int64_t>;

/// The standard domain has two names; this gives it one.
[[nodiscard]] inline std::string_view domain_of(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view{} : domain;
}

/// The sizes of named dimensions.
struct DimValues {
  std::map<std::string, std::int64_t> bound;

  /// By the name as a whole, else by what it is computed from; empty where that is not known or no
  /// size.
  [[nodiscard]] std::optional<std::int64_t> value_of(const std::string& name) const;
  /// Replaces the names that have a size.
  void substitute(onnx::TensorShapeProto& shape) const;
  void substitute(onnx::TypeProto& type) const;
};

struct Model {
  std::filesystem::path path;
  std::string file;  ///< the path as text, for messages
  google::protobuf::Arena arena;
  onnx::ModelProto* proto = nullptr;  ///< the skeleton, in the arena
  Opsets opsets;
  /// Local functions by function_key.
  std::unordered_map<std::string, const onnx::FunctionProto*> functions;
  std::vector<std::string> notes;
  DimValues dims;
  bool fixes_sizes = false;  ///< the file states every size of its inputs, and the user gives none
  /// Inputs whose shape the file leaves open in part.
  std::unordered_set<std::string> open_inputs;
  /// Shapes that the user gave for what nodes of the main graph give, by name.
  std::map<std::string, std::vector<std::int64_t>> given_shapes;
  /// The user's sizes as they count; none where no source is weaker than another.
  std::optional<SettledSizes> sizes;

  // Findings of the tensor checks, for notes.
  std::int64_t tensors_without_data = 0;
  std::vector<std::string> dims_taken_as_one;  ///< of inputs, that have a name and that nobody gave
  /// Small tensors of integers whose external data is not there, which shapes may be computed from.
  std::vector<std::string> lost_shapes;
  /// Their files, by what is wrong with them: " missing".
  std::map<std::string, std::set<std::string>> lost_files;
  std::unordered_set<std::string> checked_locations;  ///< of external data
};

/// Reads the structure of the model in `bytes`, the content of the file at `path`. Tensor data is
/// neither read nor kept. Throws Error naming the file, the tensor or the byte, and the fix.
[[nodiscard]] std::unique_ptr<Model> read_model(std::string_view bytes,
                                                const std::filesystem::path& path);

/// Checks a tensor of the model: its rank, dimensions and size; that its data fits its shape; and
/// that external data stays within the model's folder. Throws Error(invalid_file).
void check_tensor(Model& model, const onnx::TensorProto& tensor, std::string_view name);

[[nodiscard]] std::string function_key(std::string_view domain, std::string_view name,
                                       std::string_view overload);

// Fields that an older libonnx does not know.
[[nodiscard]] std::string_view overload_of(const onnx::NodeProto& node);
/// The device the node's metadata names; empty = none.
[[nodiscard]] std::string_view requested_device_of(const onnx::NodeProto& node);
/// The module that computes the node, as PyTorch's exporter says it: "model.layers.3.mlp"; empty = none.
[[nodiscard]] std::string_view module_of(const onnx::NodeProto& node);
/// The function's attributes that have a default.
[[nodiscard]] std::vector<onnx::AttributeProto> default_attributes(
    const onnx::FunctionProto& function);
[[nodiscard]] std::vector<onnx::ValueInfoProto> value_infos(const onnx::FunctionProto& function);
/// Bytes of an attribute that the skeleton left out.
[[nodiscard]] std::int64_t dropped_bytes(const onnx::AttributeProto& attribute);

/// The place in the file of the whole message behind a skeleton's; size 0 = there is none.
struct Place {
  std::size_t offset = 0;
  std::size_t bytes = 0;
};
[[nodiscard]] Place place_of(const onnx::TensorProto& tensor);
[[nodiscard]] Place place_of(const onnx::AttributeProto& attribute);
/// A tensor without any data in the file or beside it.
[[nodiscard]] bool has_no_data(const onnx::TensorProto& tensor);

}  // namespace berth::onnx_frontend
