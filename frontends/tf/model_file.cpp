#include "tf/model_file.h"

#include <algorithm>
#include <unordered_set>

#include "berth/error.h"
#include "support/text.h"
#include "tf/text_form.h"

namespace berth::tf_frontend {

using frontend::readable;
using frontend::WireType;

namespace {

// Field numbers; the messages are in proto/meta_graph.proto.
namespace meta_field {
constexpr std::uint32_t kInfo = 1, kGraph = 2, kSaver = 3, kCollection = 4, kSignature = 5;
}
namespace saved_model_field {
constexpr std::uint32_t kVersion = 1, kMetaGraph = 2;
}

/// Protobuf's own limit.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 31;

/// The fields of a message as far as they can be read: a file cut short still shows its kind.
template <typename See>
bool skim(std::string_view bytes, const See& see) {
  const WireSource nowhere{"", bytes.data()};
  WireReader reader(bytes, nowhere);
  try {
    while (reader.next()) {
      if (!see(reader)) return false;
    }
  } catch (const Error&) {
    return true;
  }
  return true;
}

bool printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) >= ' '; });
}

/// Whether `bytes` may be a NodeDef: a printable name and op, and only fields that nodes have.
bool may_be_node(std::string_view bytes) {
  constexpr std::uint32_t kLastField = 7;
  bool name = false, op = false;
  const bool fits = skim(bytes, [&](const WireReader& reader) {
    if (reader.type() != WireType::bytes || reader.field() > kLastField) return false;
    if (reader.field() == 1) name = printable(reader.payload());
    if (reader.field() == 2) op = printable(reader.payload()) && !reader.payload().empty();
    return true;
  });
  return fits && name && op;
}

/// Whether `bytes` may be a GraphDef, judged by its fields and its first nodes. Fields that only a
/// newer TensorFlow knows may stand beside nodes, not alone.
bool may_be_graph(std::string_view bytes) {
  constexpr int kJudged = 8;
  int nodes = 0;
  bool any = false, strange = false;
  const bool fits = skim(bytes, [&](const WireReader& reader) {
    any = true;
    switch (reader.field()) {
      case 1:
        return reader.type() == WireType::bytes &&
               (nodes++ >= kJudged || may_be_node(reader.payload()));
      case 3:
        return reader.type() == WireType::varint;
      case 2:
      case 4:
      case 5:
        return reader.type() == WireType::bytes;
      default:
        strange = true;
        return true;
    }
  });
  return fits && any && (!strange || nodes > 0);
}

bool may_be_meta_graph(std::string_view bytes) {
  constexpr std::uint32_t kLastField = 7;
  bool graph = false;
  const bool fits = skim(bytes, [&](const WireReader& reader) {
    if (reader.field() > kLastField) return true;
    if (reader.type() != WireType::bytes) return false;
    if (reader.field() == meta_field::kGraph && !graph) {
      // An empty message is an empty graph.
      graph = reader.payload().empty() || may_be_graph(reader.payload());
      return graph;
    }
    return true;
  });
  return fits && graph;
}

bool may_be_saved_model(std::string_view bytes) {
  bool meta = false;
  const bool fits = skim(bytes, [&](const WireReader& reader) {
    if (reader.field() == saved_model_field::kVersion) return reader.type() == WireType::varint;
    if (reader.field() > saved_model_field::kMetaGraph) return true;
    if (reader.type() != WireType::bytes) return false;
    meta = meta || may_be_meta_graph(reader.payload());
    return meta;
  });
  return fits && meta;
}

/// False where `bytes` is none.
bool kind_of_binary(std::string_view bytes, MessageKind& kind) {
  if (may_be_graph(bytes)) {
    kind = MessageKind::graph;
  } else if (may_be_meta_graph(bytes)) {
    kind = MessageKind::meta_graph;
  } else if (may_be_saved_model(bytes)) {
    kind = MessageKind::saved_model;
  } else {
    return false;
  }
  return true;
}

/// Where the first field that reaches beyond the end would end, of a message that begins as a
/// MetaGraphDef or a SavedModel does; 0 if there is none.
std::size_t promised_size(std::string_view bytes) {
  constexpr std::uint32_t kLastField = 7;
  const std::size_t size = bytes.size();
  while (!bytes.empty()) {
    std::uint64_t tag = 0, value = 0;
    if (!frontend::take_varint(bytes, tag) || !frontend::take_varint(bytes, value)) return 0;
    if (tag >> 3 == 0 || tag >> 3 > kLastField) return 0;
    if (static_cast<WireType>(tag & 7) == WireType::varint) continue;
    if (static_cast<WireType>(tag & 7) != WireType::bytes || value > kMostBytes) return 0;
    if (value > bytes.size()) return size - bytes.size() + value;
    bytes.remove_prefix(value);
  }
  return 0;
}

/// Whether a file that begins with `front` may be a SavedModel: a version, then a graph, of which
/// the front holds only a part.
bool front_may_be_saved_model(std::string_view front) {
  if (may_be_saved_model(front)) return true;
  constexpr std::uint64_t kVersionTag = 8, kMetaGraphTag = 18;
  std::uint64_t number = 0;
  return frontend::take_varint(front, number) && number == kVersionTag &&
         frontend::take_varint(front, number) && frontend::take_varint(front, number) &&
         number == kMetaGraphTag && frontend::take_varint(front, number) && number > front.size();
}

Signature read_signature(const NamePair& entry, const WireSource& source) {
  constexpr std::uint32_t kInputs = 1, kOutputs = 2, kName = 1, kCooSparse = 4;
  Signature signature;
  signature.name = entry.key;
  for (WireReader reader(entry.value, source); reader.next();) {
    if (!reader.is_bytes(kOutputs) && !reader.is_bytes(kInputs)) continue;
    const NamePair tensor = read_pair(reader.payload(), source);
    for (WireReader info(tensor.value, source); info.next();) {
      if (reader.field() == kInputs) {
        if (info.is_bytes(kName)) signature.inputs.push_back({tensor.key, info.payload()});
        continue;
      }
      if (info.is_bytes(kName)) signature.outputs.push_back(info.payload());
      if (info.is_bytes(kCooSparse)) {
        for (WireReader part(info.payload(), source); part.next();) {
          if (part.type() == WireType::bytes) signature.outputs.push_back(part.payload());
        }
      }
    }
  }
  return signature;
}

/// The one that initialises a model is no part of its step.
void read_signatures(const std::vector<NamePair>& signatures, const WireSource& source,
                     MetaInfo& meta) {
  for (const NamePair& entry : signatures) {
    if (entry.key.substr(0, 2) != "__") meta.signatures.push_back(read_signature(entry, source));
  }
}

void read_meta_info(std::string_view bytes, const WireSource& source, MetaInfo& meta) {
  constexpr std::uint32_t kOpList = 2, kTags = 4;
  for (WireReader reader(bytes, source); reader.next();) {
    if (reader.is_bytes(kTags)) meta.tags.push_back(reader.payload());
    if (!reader.is_bytes(kOpList)) continue;
    for (WireReader ops(reader.payload(), source); ops.next();) {
      if (ops.is_bytes(1)) meta.ops.push_back(read_op_def(ops.payload(), source));
    }
  }
}

void read_saver(std::string_view bytes, const WireSource& source, MetaInfo& meta) {
  constexpr std::uint32_t kRestoreOp = 3;
  for (WireReader reader(bytes, source); reader.next();) {
    if (reader.is_bytes(kRestoreOp)) meta.restore_op = reader.payload();
  }
}

void read_collection(std::string_view bytes, const WireSource& source, MetaInfo& meta) {
  const NamePair entry = read_pair(bytes, source);
  if (entry.key != "train_op") return;
  for (WireReader reader(entry.value, source); reader.next();) {
    if (!reader.is_bytes(1)) continue;
    for (WireReader names(reader.payload(), source); names.next();) {
      if (names.is_bytes(1)) meta.train_ops.push_back(names.payload());
    }
  }
}

/// Fills `meta` and returns the GraphDef.
std::string_view read_meta_graph(std::string_view bytes, const WireSource& source, MetaInfo& meta) {
  std::string_view graph;
  std::vector<NamePair> signatures;
  for (WireReader reader(bytes, source); reader.next();) {
    if (reader.type() != WireType::bytes) continue;
    switch (reader.field()) {
      case meta_field::kInfo:
        read_meta_info(reader.payload(), source, meta);
        break;
      case meta_field::kGraph:
        graph = reader.payload();
        break;
      case meta_field::kSaver:
        read_saver(reader.payload(), source, meta);
        break;
      case meta_field::kCollection:
        read_collection(reader.payload(), source, meta);
        break;
      case meta_field::kSignature:
        signatures.push_back(read_pair(reader.payload(), source));
        break;
      default:
        break;
    }
  }
  read_signatures(signatures, source, meta);
  return graph;
}

/// How many of the fetches ("name", "name:port") the graph has as nodes or signatures.
std::size_t count_found(std::string_view meta_graph, std::string_view graph,
                        const WireSource& source, const std::vector<std::string>& fetches) {
  constexpr std::uint32_t kNode = 1, kName = 1;
  std::unordered_set<std::string_view> known;
  for (WireReader reader(meta_graph, source); reader.next();) {
    if (reader.is_bytes(meta_field::kSignature))
      known.insert(read_pair(reader.payload(), source).key);
  }
  for (WireReader nodes(graph, source); nodes.next();) {
    if (!nodes.is_bytes(kNode)) continue;
    for (WireReader node(nodes.payload(), source); node.next();) {
      if (node.is_bytes(kName)) known.insert(node.payload());
    }
  }
  return static_cast<std::size_t>(
      std::count_if(fetches.begin(), fetches.end(), [&](const std::string& fetch) {
        return known.contains(std::string_view(fetch).substr(0, fetch.find(':')));
      }));
}

void read_saved_model(ModelFile& file, const std::vector<std::string>& fetches,
                      std::string_view asked) {
  struct One {
    std::string_view bytes, graph;
    MetaInfo meta;
  };
  std::vector<One> all;
  std::vector<std::string> tags;
  std::size_t usual = 0;
  bool has_train = false;
  for (WireReader reader(file.bytes, file.source); reader.next();) {
    if (!reader.is_bytes(saved_model_field::kMetaGraph)) continue;
    One& one = all.emplace_back();
    one.bytes = reader.payload();
    one.graph = read_meta_graph(one.bytes, file.source, one.meta);
    std::string& name = tags.emplace_back();
    for (const std::string_view tag : one.meta.tags) {
      name += (name.empty() ? "" : "+") + readable(tag);
    }
    if (!has_train && std::count(one.meta.tags.begin(), one.meta.tags.end(), "train") > 0) {
      has_train = true;
      usual = all.size() - 1;
    }
  }
  if (all.empty()) return;
  const auto found = [&](std::size_t i) {
    return count_found(all[i].bytes, all[i].graph, file.source, fetches);
  };
  std::size_t chosen = usual, most = fetches.empty() || all.size() < 2 ? 0 : found(usual);
  for (std::size_t i = 0; i < all.size() && most < fetches.size(); ++i) {
    const std::size_t count = found(i);
    if (count <= most) continue;
    most = count;
    chosen = i;
  }
  const auto named = std::find(tags.begin(), tags.end(), asked);
  if (!asked.empty() && named != tags.end()) {
    chosen = static_cast<std::size_t>(named - tags.begin());
  }
  file.graph = all[chosen].graph;
  file.meta = std::move(all[chosen].meta);
  file.meta_graph = static_cast<int>(chosen);
  if (chosen != usual) file.tags = tags[chosen];
  if (all.size() > 1) {
    file.notes.push_back(cat("the SavedModel holds ", all.size(), " graphs (tags ",
                             frontend::list_names(tags), "); the one of '", tags[chosen],
                             "' is loaded"));
  }
}

std::filesystem::path file_of(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return path;
  for (const char* name : {"saved_model.pb", "saved_model.pbtxt"}) {
    if (std::filesystem::exists(path / name, error)) return path / name;
  }
  throw Error(ErrorCode::invalid_file,
              cat(path.string(),
                  ": the folder has no saved_model.pb or saved_model.pbtxt; name a "
                  "SavedModel's folder or a model file"));
}

}  // namespace

std::unique_ptr<ModelFile> read_model_file(const std::filesystem::path& path,
                                           const std::vector<std::string>& fetches,
                                           std::string_view tags) {
  auto file = std::make_unique<ModelFile>();
  read_bytes(file_of(path), *file);
  if (file->is_text) {
    file->kind = kind_of_text(file->text, file->source.file);
    set_binary(*file, text_to_binary(file->text, file->kind, file->source.file));
  } else if (!kind_of_binary(file->bytes, file->kind)) {
    if (const std::size_t promised = promised_size(file->bytes); promised > 0) {
      throw Error(
          ErrorCode::invalid_file,
          cat(file->source.file, ": is cut short: what it holds reaches to byte ", promised,
              " and the file ends at byte ", file->bytes.size(), "; download or copy it again"));
    }
    throw Error(ErrorCode::invalid_file,
                cat(file->source.file, ": holds no GraphDef, MetaGraphDef or SavedModel, though ",
                    file->bytes.size(), " bytes; name the file of the graph itself"));
  }
  switch (file->kind) {
    case MessageKind::graph:
      file->graph = file->bytes;
      break;
    case MessageKind::meta_graph:
      file->graph = read_meta_graph(file->bytes, file->source, file->meta);
      break;
    case MessageKind::saved_model:
      read_saved_model(*file, fetches, tags);
      break;
  }
  return file;
}

bool looks_like_tensorflow(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return std::filesystem::exists(path / "saved_model.pb", error) ||
           std::filesystem::exists(path / "saved_model.pbtxt", error);
  }
  const auto ends = [name = path.filename().string()](std::string_view end) {
    return name.size() > end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
  };
  bool named = false;
  for (const char* end : {".pb", ".pbtxt", ".meta", ".graphdef"}) {
    named = named || ends(end) || ends(std::string(end) + ".gz");
  }
  if (!named || ends(".onnx.pb")) return false;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  const std::string front = front_of(path);
  // Files of these names that hold no graph are claimed all the same, so that their error says what
  // they lack; all but those that may be another family's.
  if (is_text(front)) return front.find("ir_version") == std::string::npos;
  constexpr char kFirstFieldIsNumber = 8;  // also how a model of ONNX begins
  return front.empty() || front[0] != kFirstFieldIsNumber || front_may_be_saved_model(front);
}

}  // namespace berth::tf_frontend
