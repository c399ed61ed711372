// Finds the contents of tensors, which the skeleton of a model leaves out, in its file.
#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "berth/sdk/program.h"
#include "onnx/model.h"
#include "onnx/types.h"

namespace berth::frontend {
class MappedFile;
}

namespace berth::onnx_frontend {

/// Reads what shapes may be made of: the content of a small tensor with external data, which is
/// checked, into `type`, which is that of `tensor`. Nothing is known where its file is missing or
/// too short.
void read_external_content(Model& model, const onnx::TensorProto& tensor, std::string_view name,
                           Type& type);

/// The place of a tensor's external data in its file.
struct ExternalPlace {
  std::size_t offset = 0;
  std::size_t bytes = 0;
};
/// As the tensor says it; as many bytes as its type and shape ask for. Throws Error(invalid_file) naming the model's `file`
/// where those are not all in a file of `file_bytes` bytes, or where it says something else.
[[nodiscard]] ExternalPlace external_place(const onnx::TensorProto& tensor, std::string_view name,
                                           std::size_t file_bytes, const std::string& file);
/// The name of the file that has the tensor's external data, relative to the model's folder.
[[nodiscard]] std::string location_of(const onnx::TensorProto& tensor);

/// Reads contents from the model's file and from the files of external data beside it. Content that
/// can be used as it lies there is not copied. Throws Error(invalid_file) naming the file, the
/// tensor and the fix, for data that does not fit the shape and for external data outside its file.
class Contents {
 public:
  /// `file` is what `model` was read from. `owner` keeps it alive, and the contents keep `owner`.
  Contents(Model& model, std::string_view file, std::shared_ptr<const void> owner);
  ~Contents();

  /// Empty if the file has no data for it, or the file with its external data is missing.
  [[nodiscard]] std::optional<TensorContent> tensor(const onnx::TensorProto& tensor,
                                                    std::string_view name);
  /// As the dense tensor it stands for.
  [[nodiscard]] std::optional<TensorContent> sparse(const onnx::SparseTensorProto& tensor,
                                                    std::string_view name);
  /// The content of a Constant node.
  [[nodiscard]] std::optional<TensorContent> constant(const onnx::NodeProto& node,
                                                      std::string_view name);
  /// With the long texts and lists that the skeleton left out, but without its tensors' data.
  [[nodiscard]] onnx::AttributeProto attribute(const onnx::AttributeProto& skeleton);

 private:
  TensorContent inside(const onnx::TensorProto& tensor, std::string_view name);
  std::optional<TensorContent> outside(const onnx::TensorProto& tensor, std::string_view name);
  [[noreturn]] void refuse(std::string_view name, const std::string& what) const;

  Model& model_;
  std::string_view file_;
  std::shared_ptr<const void> owner_;
  std::map<std::string, std::shared_ptr<const frontend::MappedFile>> external_;
};

}  // namespace berth::onnx_frontend
