#include "onnx/part_weights.h"

#include <algorithm>
#include <fstream>

#include "berth/error.h"
#include "berth/files.h"
#include "berth/support/text.h"
#include "onnx/contents.h"
#include "onnx/skeleton.h"
#include "support/wire.h"

namespace berth::onnx_frontend {

using frontend::append_bytes_field;
using frontend::WireReader;
using frontend::WireType;

std::string name_in(std::string_view message, std::uint32_t field, const std::string& file) {
  for (WireReader reader(message, 0, file); reader.next();) {
    if (reader.is_bytes(field)) return std::string(reader.payload());
  }
  return {};
}

namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kExternalData = 13;
/// Bytes of external data that are copied at once.
constexpr std::size_t kChunk = 1 << 20;
/// Bytes that tell a pointer of Git LFS.
constexpr std::streamsize kFront = 64;

/// Messages that hold tensors, at any depth.
enum class Holder { node, attribute, graph, tensor };

/// Tells which holder a field of another is; none where it holds no tensors.
std::optional<Holder> held(Holder holder, std::uint32_t field) {
  constexpr std::uint32_t kAttribute = 5, kTensor = 5, kGraph = 6, kTensors = 10, kGraphs = 11;
  switch (holder) {
    case Holder::node:
      return field == kAttribute ? std::optional(Holder::attribute) : std::nullopt;
    case Holder::attribute:
      if (field == kTensor || field == kTensors) return Holder::tensor;
      return field == kGraph || field == kGraphs ? std::optional(Holder::graph) : std::nullopt;
    case Holder::graph:
      if (field == kGraphNode) return Holder::node;
      return field == kInitializer ? std::optional(Holder::tensor) : std::nullopt;
    case Holder::tensor:
      break;
  }
  return std::nullopt;
}

bool holds_external_data(std::string_view message, Holder holder, const std::string& file) {
  for (WireReader reader(message, 0, file); reader.next();) {
    if (holder == Holder::tensor && reader.is_bytes(kExternalData)) return true;
    const auto inner = held(holder, reader.field());
    if (inner && reader.type() == WireType::bytes &&
        holds_external_data(reader.payload(), *inner, file)) {
      return true;
    }
  }
  return false;
}

/// The message, whose tensors have their external data in the new file.
std::string with_moved_data(std::string_view message, Holder holder, const std::string& file,
                            PartWeights& weights) {
  if (holder == Holder::tensor) return weights.moved_tensor(message, file);
  std::string out;
  for (WireReader reader(message, 0, file); reader.next();) {
    const auto inner = held(holder, reader.field());
    if (!inner || reader.type() != WireType::bytes) {
      out += reader.whole();
      continue;
    }
    append_bytes_field(out, reader.field(),
                       with_moved_data(reader.payload(), *inner, file, weights));
  }
  return out;
}

}  // namespace

bool has_external_data(std::string_view node, const std::string& file) {
  return holds_external_data(node, Holder::node, file);
}

std::string PartWeights::moved_node(std::string_view node, const std::string& file) {
  return with_moved_data(node, Holder::node, file, *this);
}

std::string PartWeights::moved_tensor(std::string_view tensor, const std::string& file) {
  std::string kept;
  bool external = false;
  for (WireReader reader(tensor, 0, file); reader.next();) {
    if (reader.is_bytes(kExternalData)) {
      external = true;
    } else {
      kept += reader.whole();
    }
  }
  if (!external) return std::string(tensor);
  onnx::TensorProto parsed;
  if (!parsed.ParseFromArray(tensor.data(), static_cast<int>(tensor.size()))) {
    throw Error(
        ErrorCode::invalid_file,
        cat(file, ": a tensor with external data cannot be parsed; export the model again"));
  }
  const std::uint64_t begin = written_;
  copy(parsed, file);
  const auto add = [&](std::string_view key, const std::string& value) {
    std::string entry;
    append_bytes_field(entry, kEntryKey, key);
    append_bytes_field(entry, kEntryValue, value);
    append_bytes_field(kept, kExternalData, entry);
  };
  add("location", target_.filename().string());
  add("offset", std::to_string(begin));
  add("length", std::to_string(written_ - begin));
  return kept;
}

void PartWeights::copy(const onnx::TensorProto& tensor, const std::string& file) {
  const fs::path source = model_.parent_path() / location_of(tensor);
  std::ifstream in(source, std::ios::binary);
  std::error_code failed;
  const std::uintmax_t size = fs::file_size(source, failed);
  if (!in || failed) {
    throw Error(ErrorCode::io, cat(source.string(),
                                   ": is not there; a model per device holds its weights: put the "
                                   "file beside the model"));
  }
  std::string chunk(kChunk, '\0');
  in.read(chunk.data(), kFront);
  refuse_lfs_pointer(std::string_view(chunk).substr(0, static_cast<std::size_t>(in.gcount())),
                     source.string());
  in.clear();
  const ExternalPlace place = external_place(tensor, tensor.name(), size, file);
  if (!out_) out_.emplace(target_);
  in.seekg(static_cast<std::streamoff>(place.offset));
  for (std::uint64_t left = place.bytes; left > 0;) {
    in.read(chunk.data(), static_cast<std::streamsize>(std::min<std::uint64_t>(left, kChunk)));
    const auto got = static_cast<std::size_t>(in.gcount());
    if (got == 0) {
      throw Error(ErrorCode::io, cat(source.string(),
                                     ": ended while it was read; split the model "
                                     "when nothing writes its files"));
    }
    out_->write(std::string_view(chunk).substr(0, got));
    written_ += got;
    left -= got;
  }
}

}  // namespace berth::onnx_frontend
