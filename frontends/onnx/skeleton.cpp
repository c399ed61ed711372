#include "onnx/skeleton.h"

#include <array>

#include "berth/error.h"
#include "berth/support/text.h"
#include "support/wire.h"

namespace berth::onnx_frontend {
namespace {

using frontend::append_tag;
using frontend::append_varint;
using frontend::append_varint_field;
using frontend::varint_size;
using frontend::WireReader;
using frontend::WireType;

// Integer tensors up to 1024 int64 are kept, for shapes; of floating-point ones what can be the
// scales of a Resize or the limits of a Range.
constexpr std::size_t kKeptIntegerBytes = 8192;
constexpr std::size_t kKeptFloatBytes = 256;
constexpr std::size_t kKeptAttributeBytes = 16384;
constexpr int kMaxGraphDepth = 32;
constexpr std::size_t kMaxSkeletonBytes = std::size_t{1} << 30;

enum class Kind : std::uint8_t {
  model,
  graph,
  node,
  attribute,
  tensor,
  sparse_tensor,
  value_info,
  function
};
constexpr int kKinds = 8;
constexpr std::uint32_t kMaxField = 32;
constexpr std::array<const char*, kKinds> kKindNames = {
    "ModelProto",  "GraphProto",        "NodeProto",      "AttributeProto",
    "TensorProto", "SparseTensorProto", "ValueInfoProto", "FunctionProto"};

enum class Action : std::uint8_t { drop, copy, descend, heavy };

struct FieldRule {
  bool known = false;
  WireType type = WireType::varint;
  bool packable = false;  // a repeated number: may also come as one `bytes` field
  Action action = Action::drop;
  Kind child = Kind::model;
};

using FieldTable = std::array<std::array<FieldRule, kMaxField>, kKinds>;

// The fields of each message, after onnx.proto as of IR 12.
constexpr FieldTable make_field_table() {
  FieldTable table{};
  const auto set = [&](Kind kind, std::uint32_t field, WireType type, Action action) {
    table[static_cast<std::size_t>(kind)][field] = {true, type, false, action, Kind::model};
  };
  const auto bytes = [&](Kind kind, std::initializer_list<std::uint32_t> fields, Action action) {
    for (const std::uint32_t field : fields) set(kind, field, WireType::bytes, action);
  };
  const auto descend = [&](Kind kind, std::uint32_t field, Kind child) {
    set(kind, field, WireType::bytes, Action::descend);
    table[static_cast<std::size_t>(kind)][field].child = child;
  };
  const auto numbers = [&](Kind kind, std::uint32_t field, WireType type, Action action) {
    set(kind, field, type, action);
    table[static_cast<std::size_t>(kind)][field].packable = true;
  };

  set(Kind::model, 1, WireType::varint, Action::copy);  // ir_version
  set(Kind::model, 5, WireType::varint, Action::drop);  // model_version
  bytes(Kind::model, {8}, Action::copy);                // opset_import
  bytes(Kind::model, {2, 3, 4, 6, 14, 20, kModelConfiguration}, Action::drop);
  descend(Kind::model, kModelGraph, Kind::graph);
  descend(Kind::model, 25, Kind::function);

  descend(Kind::graph, kGraphNode, Kind::node);
  descend(Kind::graph, 5, Kind::tensor);
  descend(Kind::graph, 15, Kind::sparse_tensor);
  for (const std::uint32_t field : {11U, 12U, 13U}) descend(Kind::graph, field, Kind::value_info);
  bytes(Kind::graph, {2}, Action::copy);
  bytes(Kind::graph, {10, 14, 16}, Action::drop);

  bytes(Kind::node, {1, 2, 3, 4, 7, kNodeOverload}, Action::copy);
  bytes(Kind::node, {6, 10}, Action::drop);
  bytes(Kind::node, {kNodeMetadata}, Action::heavy);
  descend(Kind::node, 5, Kind::attribute);

  bytes(Kind::attribute, {1, 14, 15, 21}, Action::copy);
  bytes(Kind::attribute, {13}, Action::drop);
  set(Kind::attribute, 2, WireType::fixed32, Action::copy);
  set(Kind::attribute, 3, WireType::varint, Action::copy);
  set(Kind::attribute, 20, WireType::varint, Action::copy);
  bytes(Kind::attribute, {4, 9}, Action::heavy);
  numbers(Kind::attribute, 7, WireType::fixed32, Action::heavy);
  numbers(Kind::attribute, 8, WireType::varint, Action::heavy);
  for (const std::uint32_t field : {5U, 10U}) descend(Kind::attribute, field, Kind::tensor);
  for (const std::uint32_t field : {6U, 11U}) descend(Kind::attribute, field, Kind::graph);
  for (const std::uint32_t field : {22U, 23U}) {
    descend(Kind::attribute, field, Kind::sparse_tensor);
  }

  numbers(Kind::tensor, 1, WireType::varint, Action::copy);  // dims
  set(Kind::tensor, 2, WireType::varint, Action::copy);      // data_type
  set(Kind::tensor, 14, WireType::varint, Action::copy);     // data_location
  bytes(Kind::tensor, {8, 13}, Action::copy);                // name, external_data
  bytes(Kind::tensor, {3, 12, 16}, Action::drop);
  numbers(Kind::tensor, 4, WireType::fixed32, Action::heavy);   // float_data
  numbers(Kind::tensor, 5, WireType::varint, Action::heavy);    // int32_data
  bytes(Kind::tensor, {6, 9}, Action::heavy);                   // string_data, raw_data
  numbers(Kind::tensor, 7, WireType::varint, Action::heavy);    // int64_data
  numbers(Kind::tensor, 10, WireType::fixed64, Action::heavy);  // double_data
  numbers(Kind::tensor, 11, WireType::varint, Action::heavy);   // uint64_data

  for (const std::uint32_t field : {1U, 2U}) descend(Kind::sparse_tensor, field, Kind::tensor);
  numbers(Kind::sparse_tensor, 3, WireType::varint, Action::copy);

  bytes(Kind::value_info, {1, 2}, Action::copy);
  bytes(Kind::value_info, {3, 4}, Action::drop);

  bytes(Kind::function, {1, 4, 5, 6, 9, 10, kFunctionOverload}, Action::copy);
  bytes(Kind::function, {8, 14}, Action::drop);
  descend(Kind::function, kFunctionAttribute, Kind::attribute);
  descend(Kind::function, 7, Kind::node);
  descend(Kind::function, kFunctionValueInfo, Kind::value_info);
  return table;
}
constexpr FieldTable kFields = make_field_table();

class SkeletonMaker {
 public:
  explicit SkeletonMaker(const std::string& file) : file_(file) {}

  void copy(Kind kind, std::string_view message, std::size_t offset, int graph_depth);

  Skeleton skeleton;

 private:
  // The rule of the reader's field, after a check of its wire type.
  const FieldRule& rule(Kind kind, const WireReader& reader) const;
  void copy_tensor(std::string_view message, std::size_t offset);
  void copy_attribute(std::string_view message, std::size_t offset, int graph_depth);
  void descend(Kind child, const WireReader& reader, int graph_depth);
  void keep(const WireReader& reader) { skeleton.bytes += reader.whole(); }
  void say_where(std::string_view message, std::size_t offset) {
    append_varint_field(skeleton.bytes, kMessageOffset, offset);
    append_varint_field(skeleton.bytes, kMessageBytes, message.size());
  }

  const std::string& file_;
};

const FieldRule& SkeletonMaker::rule(Kind kind, const WireReader& reader) const {
  static constexpr FieldRule kUnknown;
  if (reader.field() >= kMaxField) return kUnknown;
  const FieldRule& rule = kFields[static_cast<std::size_t>(kind)][reader.field()];
  const bool fits =
      reader.type() == rule.type || (rule.packable && reader.type() == WireType::bytes);
  if (rule.known && !fits) {
    reader.refuse(cat("field ", reader.field(), " of ", kKindNames[static_cast<std::size_t>(kind)],
                      " has wire type ", static_cast<int>(reader.type()), " instead of ",
                      static_cast<int>(rule.type)));
  }
  return rule;
}

// A sub-message's length is not known before it is written: it gets five bytes, padded as Protobuf
// allows.
void SkeletonMaker::descend(Kind child, const WireReader& reader, int graph_depth) {
  std::string& out = skeleton.bytes;
  if (out.size() > kMaxSkeletonBytes) {
    throw Error(ErrorCode::unsupported,
                cat(file_, ": the model's structure without its weights is larger than ",
                    kMaxSkeletonBytes >> 20, " MiB; simplify or split the model"));
  }
  const int depth = graph_depth + (child == Kind::graph ? 1 : 0);
  if (depth > kMaxGraphDepth) {
    reader.refuse(cat("graphs are nested more than ", kMaxGraphDepth, " deep"));
  }
  append_tag(out, reader.field(), WireType::bytes);
  const std::size_t length_at = out.size();
  out.append(5, '\0');
  const std::size_t begin = out.size();
  copy(child, reader.payload(), reader.payload_offset(), depth);
  std::size_t length = out.size() - begin;
  for (std::size_t i = 0; i < 5; ++i) {
    out[length_at + i] = static_cast<char>((length & 0x7F) | (i < 4 ? 0x80 : 0));
    length >>= 7;
  }
}

void SkeletonMaker::copy(Kind kind, std::string_view message, std::size_t offset, int graph_depth) {
  if (kind == Kind::tensor) return copy_tensor(message, offset);
  if (kind == Kind::attribute) return copy_attribute(message, offset, graph_depth);
  WireReader reader(message, offset, file_);
  while (reader.next()) {
    const FieldRule& field = rule(kind, reader);
    switch (field.action) {
      case Action::drop:
        if (kind == Kind::model && reader.field() == 20) skeleton.has_training_info = true;
        break;
      case Action::copy:
        keep(reader);
        break;
      case Action::descend:
        descend(field.child, reader, graph_depth);
        break;
      case Action::heavy:  // the metadata of a node
        if (!value_of_entry(reader.payload(), kDeviceKey, file_).empty() ||
            !value_of_entry(reader.payload(), kScopesKey, file_).empty()) {
          keep(reader);
        }
        break;
    }
  }
}

bool is_integer(std::uint64_t data_type) {
  return (data_type >= 2 && data_type <= 7) || data_type == 9 || data_type == 12 || data_type == 13;
}

std::size_t data_size(const WireReader& reader) {
  switch (reader.type()) {
    case WireType::bytes:
      return reader.payload().size();
    case WireType::fixed32:
      return 4;
    case WireType::fixed64:
      return 8;
    case WireType::varint:
      return varint_size(reader.value());
  }
  return 0;
}

void SkeletonMaker::copy_tensor(std::string_view message, std::size_t offset) {
  std::uint64_t data_type = 0;
  std::size_t payload = 0;
  std::size_t raw = 0;
  for (WireReader reader(message, offset, file_); reader.next();) {
    const FieldRule& field = rule(Kind::tensor, reader);
    if (field.action == Action::heavy) payload += data_size(reader);
    if (field.action == Action::heavy && reader.field() == 9) raw += data_size(reader);
    if (reader.field() == 2) data_type = reader.value();
  }
  const bool small = payload <= (is_integer(data_type) ? kKeptIntegerBytes : kKeptFloatBytes);
  for (WireReader reader(message, offset, file_); reader.next();) {
    const Action action = rule(Kind::tensor, reader).action;
    if (action == Action::copy || (action == Action::heavy && small)) keep(reader);
  }
  append_varint_field(skeleton.bytes, kPayloadBytes, payload);
  append_varint_field(skeleton.bytes, kRawBytes, raw);
  say_where(message, offset);
}

void SkeletonMaker::copy_attribute(std::string_view message, std::size_t offset, int graph_depth) {
  std::size_t heavy = 0;
  for (WireReader reader(message, offset, file_); reader.next();) {
    if (rule(Kind::attribute, reader).action == Action::heavy) heavy += data_size(reader);
  }
  const bool small = heavy <= kKeptAttributeBytes;
  for (WireReader reader(message, offset, file_); reader.next();) {
    const FieldRule& field = rule(Kind::attribute, reader);
    if (field.action == Action::copy || (field.action == Action::heavy && small)) keep(reader);
    if (field.action == Action::descend) descend(field.child, reader, graph_depth);
  }
  if (small) return;
  append_varint_field(skeleton.bytes, kDroppedBytes, heavy);
  say_where(message, offset);
}

}  // namespace

Skeleton make_skeleton(std::string_view model, const std::string& file) {
  SkeletonMaker maker(file);
  maker.copy(Kind::model, model, 0, 0);
  return std::move(maker.skeleton);
}

std::string_view value_of_entry(std::string_view entry, std::string_view key,
                                const std::string& file) {
  std::string_view found, value;
  for (WireReader reader(entry, 0, file); reader.next();) {
    if (reader.field() == kEntryKey) found = reader.payload();
    if (reader.field() == kEntryValue) value = reader.payload();
  }
  return found == key ? value : std::string_view{};
}

}  // namespace berth::onnx_frontend
