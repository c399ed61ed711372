// A model file without its heavy parts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace berth::onnx_frontend {

// Fields of ModelProto and the messages in it that this code reads or writes by number: those newer
// than the installed libonnx, and those of the annotation.
inline constexpr std::uint32_t kModelGraph = 7;
inline constexpr std::uint32_t kModelConfiguration = 26;  // IR 11
inline constexpr std::uint32_t kGraphNode = 1;
inline constexpr std::uint32_t kInitializer = 5;
inline constexpr std::uint32_t kNodeOverload = 8;  // IR 10
inline constexpr std::uint32_t kNodeOutput = 2;
inline constexpr std::uint32_t kNodeMetadata = 9;        // IR 10
inline constexpr std::uint32_t kNodeDevices = 10;        // IR 11
inline constexpr std::uint32_t kFunctionAttribute = 11;  // IR 9: attributes with a default
inline constexpr std::uint32_t kFunctionValueInfo = 12;  // IR 10
inline constexpr std::uint32_t kFunctionOverload = 13;   // IR 10
inline constexpr std::uint32_t kEntryKey = 1;
inline constexpr std::uint32_t kEntryValue = 2;

/// Key of the node metadata that holds the device an op is placed on.
inline constexpr std::string_view kDeviceKey = "berth.device";
/// Key of that with which PyTorch's exporter says which modules a node is in.
inline constexpr std::string_view kScopesKey = "pkg.torch.onnx.name_scopes";

// Fields that only skeletons have.
inline constexpr std::uint32_t kPayloadBytes = 1000;  // TensorProto: bytes of data in the file
inline constexpr std::uint32_t kRawBytes = 1001;      // TensorProto: those of them in raw_data
inline constexpr std::uint32_t kDroppedBytes = 1002;  // AttributeProto: bytes left out
// TensorProto, and AttributeProto with bytes left out: where the whole message lies in the file.
inline constexpr std::uint32_t kMessageOffset = 1003;
inline constexpr std::uint32_t kMessageBytes = 1004;

struct Skeleton {
  std::string bytes;  ///< a ModelProto
  bool has_training_info = false;
};

/// Copies a serialized ModelProto without what placement does not need: tensor data (except small
/// integer tensors and a few floating-point numbers, which shape inference reads), long strings and
/// lists of attributes, documentation, metadata of nodes other than device and scopes, quantization
/// annotations, training information. Pages of `model` that hold only tensor data are not touched.
///
/// Throws Error(invalid_file) naming the byte if a known field has a wrong wire type, a message is
/// cut short, or graphs nest deeper than 32.
[[nodiscard]] Skeleton make_skeleton(std::string_view model, const std::string& file);

/// The value of this StringStringEntryProto if its key is `key`, else empty.
[[nodiscard]] std::string_view value_of_entry(std::string_view entry, std::string_view key,
                                              const std::string& file);

}  // namespace berth::onnx_frontend
