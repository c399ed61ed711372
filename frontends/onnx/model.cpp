#include "onnx/model.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/unknown_field_set.h>

#include <algorithm>

#include "berth/error.h"
#include "onnx/constants.h"
#include "onnx/skeleton.h"
#include "onnx/types.h"
#include "support/text.h"

namespace berth::onnx_frontend {
namespace {

namespace fs = std::filesystem;
using frontend::readable;

constexpr std::int64_t kNewestKnownIr = 14;

template <class Visit>
void for_unknown_fields(const google::protobuf::Message& message, std::uint32_t number,
                        google::protobuf::UnknownField::Type type, const Visit& visit) {
  const auto& fields = message.GetReflection()->GetUnknownFields(message);
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto& field = fields.field(i);
    if (field.number() == static_cast<int>(number) && field.type() == type) visit(field);
  }
}

/// The field of that number where the installed libonnx knows it: it is then no unknown field.
const google::protobuf::FieldDescriptor* known_field(const google::protobuf::Message& message,
                                                     std::uint32_t number) {
  return message.GetDescriptor()->FindFieldByNumber(static_cast<int>(number));
}

std::string_view newer_string(const google::protobuf::Message& message, std::uint32_t number) {
  if (const auto* const field = known_field(message, number)) {
    static thread_local std::string unused;
    return message.GetReflection()->GetStringReference(message, field, &unused);
  }
  std::string_view found;
  for_unknown_fields(message, number, google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED,
                     [&](const auto& field) { found = field.length_delimited(); });
  return found;
}

std::int64_t unknown_number(const google::protobuf::Message& message, std::uint32_t number) {
  std::uint64_t found = 0;
  for_unknown_fields(message, number, google::protobuf::UnknownField::TYPE_VARINT,
                     [&](const auto& field) { found = field.varint(); });
  return static_cast<std::int64_t>(found);
}

Place place_in_file(const google::protobuf::Message& message) {
  return {static_cast<std::size_t>(unknown_number(message, kMessageOffset)),
          static_cast<std::size_t>(unknown_number(message, kMessageBytes))};
}

template <class Proto>
std::vector<Proto> newer_messages(const google::protobuf::Message& message, std::uint32_t number) {
  std::vector<Proto> out;
  if (const auto* const field = known_field(message, number)) {
    const auto& reflection = *message.GetReflection();
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      out.push_back(static_cast<const Proto&>(reflection.GetRepeatedMessage(message, field, i)));
    }
    return out;
  }
  for_unknown_fields(message, number, google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED,
                     [&](const auto& field) {
                       Proto proto;
                       if (proto.ParseFromString(field.length_delimited())) {
                         out.push_back(std::move(proto));
                       }
                     });
  return out;
}

[[noreturn]] void refuse(const Model& model, const std::string& what) {
  throw Error(ErrorCode::invalid_file, cat(model.file, ": ", what));
}

// Depth by which graphs may nest (skeleton.cpp) times the messages per level, and types beside.
constexpr int kMaxMessageDepth = 256;

void parse(Model& model, const Skeleton& skeleton) {
  google::protobuf::io::CodedInputStream in(
      reinterpret_cast<const std::uint8_t*>(skeleton.bytes.data()),
      static_cast<int>(skeleton.bytes.size()));
  in.SetRecursionLimit(kMaxMessageDepth);
  model.proto = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(&model.arena);
  if (!model.proto->ParseFromCodedStream(&in) || !in.ConsumedEntireMessage()) {
    refuse(model,
           "Protobuf cannot parse it: a name, type or attribute is damaged or types are nested too "
           "deep; export or download the model again");
  }
}

void read_opsets(Model& model) {
  for (const auto& opset : model.proto->opset_import()) {
    const std::string domain(domain_of(opset.domain()));
    if (opset.version() < 0) {
      refuse(model, cat("imports version ", opset.version(), " of operator set '",
                        readable(opset.domain()), "'; versions start at 1"));
    }
    auto& version = model.opsets[domain];
    // Not stated (0) is read as the first one.
    version = std::max<std::int64_t>({version, opset.version(), 1});
  }
}

void check_header(Model& model, const Skeleton& skeleton) {
  const onnx::ModelProto& proto = *model.proto;
  if (!proto.has_graph()) {
    refuse(model, "holds no graph, so it is no ONNX model (a tensor, or another format?)");
  }
  if (!proto.has_ir_version() || proto.ir_version() < 1) {
    refuse(model,
           "states no IR version (ir_version), which every ONNX model must; set it, e.g. by "
           "saving the model again with the onnx package");
  }
  if (proto.ir_version() > kNewestKnownIr) {
    model.notes.push_back(cat("the file has IR version ", proto.ir_version(),
                              ", newer than the newest known (", kNewestKnownIr,
                              "): parts it added are ignored"));
  }
  if (model.opsets.empty()) {
    if (proto.ir_version() >= 3) {
      refuse(model,
             "imports no operator set (opset_import), which every model since IR version 3 "
             "must; add one, e.g. by saving the model again with the onnx package");
    }
    model.opsets[""] = 1;
  }
  if (skeleton.has_training_info) {
    model.notes.push_back(
        "the training graphs (training_info) are ignored: only the model's main "
        "graph is placed");
  }
}

void index_functions(Model& model) {
  for (const auto& function : model.proto->functions()) {
    const std::string key =
        function_key(function.domain(), function.name(), newer_string(function, kFunctionOverload));
    if (!model.functions.emplace(key, &function).second) {
      refuse(model, cat("defines the function '", readable(function.name()), "' of domain '",
                        readable(function.domain()), "' twice; remove one"));
    }
  }
}

[[noreturn]] void refuse_tensor(const Model& model, std::string_view name,
                                const std::string& what) {
  refuse(model, cat("tensor '", readable(name), "' ", what));
}

bool leaves_folder(const fs::path& location) {
  return location.is_absolute() ||
         std::any_of(location.begin(), location.end(), [](const auto& p) { return p == ".."; });
}

// If the data file of an external tensor is there, symbolic links are followed: they must not
// lead out of the model's folder either.
void check_external(Model& model, const onnx::TensorProto& tensor, std::string_view name) {
  std::string location;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") location = entry.value();
  }
  if (location.empty()) {
    refuse_tensor(model, name, "has external data without a location; export the model again");
  }
  // ONNX Runtime's marker for data handed over in memory.
  if (location.front() == '*') return;
  const auto outside = [&] {
    refuse_tensor(model, name,
                  cat("has external data at '", readable(location),
                      "', which leaves the model's folder; put the file beside the model and name "
                      "it relative to it"));
  };
  if (location.find('\0') != std::string::npos || leaves_folder(location)) outside();
  if (!model.checked_locations.insert(location).second) return;
  std::error_code failed;
  const fs::path folder = model.path.has_parent_path() ? model.path.parent_path() : ".";
  const fs::path target = fs::weakly_canonical(folder / location, failed);
  if (failed) outside();
  // A model that is itself a link may also have its data beside the file it points to, as download
  // caches lay it out.
  const auto within = [&](const fs::path& allowed) {
    const fs::path inside = target.lexically_relative(allowed);
    return !inside.empty() && !leaves_folder(inside);
  };
  if (!within(fs::canonical(folder, failed)) &&
      !within(fs::canonical(model.path, failed).parent_path())) {
    outside();
  }
}

}  // namespace

std::unique_ptr<Model> read_model(std::string_view bytes, const fs::path& path) {
  auto model = std::make_unique<Model>();
  model->path = path;
  model->file = path.string();
  const Skeleton skeleton = make_skeleton(bytes, model->file);
  parse(*model, skeleton);
  read_opsets(*model);
  check_header(*model, skeleton);
  index_functions(*model);
  return model;
}

void check_tensor(Model& model, const onnx::TensorProto& tensor, std::string_view name) {
  if (tensor.dims_size() > kMaxRank) {
    refuse_tensor(model, name,
                  cat("has ", tensor.dims_size(), " dimensions; at most ", kMaxRank,
                      " are possible: export the model again"));
  }
  for (const std::int64_t dim : tensor.dims()) {
    if (dim < 0 || dim > kMaxDim) {
      refuse_tensor(model, name,
                    cat("has the dimension ", dim, "; a tensor with data has dimensions from 0 to ",
                        kMaxDim, ": export the model again"));
    }
  }
  if (tensor.data_type() == onnx::TensorProto::UNDEFINED) {
    refuse_tensor(model, name, "has no element type (data_type); export the model again");
  }
  const TensorInfo info = tensor_info(type_of_tensor(tensor));
  const std::int64_t count = element_count(info.shape);
  if (count > std::numeric_limits<std::int64_t>::max() / 256) {
    refuse_tensor(model, name,
                  "is larger than any memory; its dimensions are damaged: export the "
                  "model again");
  }
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
    return check_external(model, tensor, name);
  }
  const std::int64_t expected = bytes_of(info);
  const std::int64_t payload = unknown_number(tensor, kPayloadBytes);
  const std::int64_t raw = unknown_number(tensor, kRawBytes);
  if (payload == 0 && count > 0) {
    ++model.tensors_without_data;
  } else if (raw > 0 && expected > 0 && raw != expected) {
    refuse_tensor(model, name,
                  cat("holds ", raw, " bytes of data and its shape asks for ", expected,
                      "; the file is damaged: export the model again"));
  }
}

std::string function_key(std::string_view domain, std::string_view name,
                         std::string_view overload) {
  std::string key(domain_of(domain));
  key += ':';
  key += name;
  if (!overload.empty()) {
    key += ':';
    key += overload;
  }
  return key;
}

std::string_view overload_of(const onnx::NodeProto& node) {
  return newer_string(node, kNodeOverload);
}

std::string_view metadata_of(const onnx::NodeProto& node, std::string_view key) {
  static const std::string kOrigin = "node metadata";
  std::string_view value;
  if (const auto* const field = known_field(node, kNodeMetadata)) {
    const auto& reflection = *node.GetReflection();
    for (int i = 0; i < reflection.FieldSize(node, field); ++i) {
      const auto& entry = static_cast<const onnx::StringStringEntryProto&>(
          reflection.GetRepeatedMessage(node, field, i));
      if (entry.key() == key) value = entry.value();
    }
    return value;
  }
  for_unknown_fields(node, kNodeMetadata, google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED,
                     [&](const auto& field) {
                       const auto found = value_of_entry(field.length_delimited(), key, kOrigin);
                       if (!found.empty()) value = found;
                     });
  return value;
}

std::string_view requested_device_of(const onnx::NodeProto& node) {
  return metadata_of(node, kDeviceKey);
}

std::string_view module_of(const onnx::NodeProto& node) {
  // A list as Python prints it, the node's own name last: "['', 'model', 'model.norm', 'mul_3']".
  std::string_view scopes = metadata_of(node, kScopesKey);
  scopes = scopes.substr(0, scopes.rfind(", '"));
  const std::size_t end = scopes.rfind('\'');
  if (end == std::string_view::npos || end == 0) return {};
  const std::size_t begin = scopes.rfind('\'', end - 1);
  return begin == std::string_view::npos ? std::string_view()
                                         : scopes.substr(begin + 1, end - begin - 1);
}

std::vector<onnx::AttributeProto> default_attributes(const onnx::FunctionProto& function) {
  return newer_messages<onnx::AttributeProto>(function, kFunctionAttribute);
}

std::vector<onnx::ValueInfoProto> value_infos(const onnx::FunctionProto& function) {
  return newer_messages<onnx::ValueInfoProto>(function, kFunctionValueInfo);
}

std::int64_t dropped_bytes(const onnx::AttributeProto& attribute) {
  return unknown_number(attribute, kDroppedBytes);
}

Place place_of(const onnx::TensorProto& tensor) {
  return place_in_file(tensor);
}

Place place_of(const onnx::AttributeProto& attribute) {
  return place_in_file(attribute);
}

bool has_no_data(const onnx::TensorProto& tensor) {
  return tensor.data_location() != onnx::TensorProto::EXTERNAL &&
         unknown_number(tensor, kPayloadBytes) == 0;
}

}  // namespace berth::onnx_frontend
