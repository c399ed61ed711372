// The external data of a part of a model, in a file of its own.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "onnx/replacement.h"

namespace berth::onnx_frontend {

/// The content of a field of text in a message; empty where it has none.
[[nodiscard]] std::string name_in(std::string_view message, std::uint32_t field,
                                  const std::string& file);

/// Whether a NodeProto holds a tensor with external data, at any depth: of a Constant, of a branch.
[[nodiscard]] bool has_external_data(std::string_view node, const std::string& file);

/// Copies slices of the model's external data into one file of a part. `file` names the model in errors.
class PartWeights {
 public:
  PartWeights(const std::filesystem::path& model, std::filesystem::path target)
      : model_(model), target_(std::move(target)) {}

  /// The TensorProto with its data in the new file; the tensor itself where it has no external data. Throws
  /// Error(io) where that is not there, and Error(invalid_file) where it is a pointer of Git LFS or not as the tensor
  /// says it.
  [[nodiscard]] std::string moved_tensor(std::string_view tensor, const std::string& file);
  /// The NodeProto, all tensors in it as above.
  [[nodiscard]] std::string moved_node(std::string_view node, const std::string& file);
  void commit() {
    if (out_) out_->commit();
  }

 private:
  void copy(const onnx::TensorProto& tensor, const std::string& file);

  const std::filesystem::path& model_;
  std::filesystem::path target_;
  std::optional<Replacement> out_;
  std::uint64_t written_ = 0;
};

}  // namespace berth::onnx_frontend
