// A file with a TensorFlow graph in one of its forms.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tf/file_bytes.h"
#include "tf/graph_def.h"
#include "tf/wire.h"

namespace berth::tf_frontend {

enum class MessageKind : std::uint8_t { graph, meta_graph, saved_model };

/// A way to call a model.
struct Signature {
  std::string_view name;
  std::vector<NamePair> inputs;           ///< the callers' names, and the tensors, as "name:port"
  std::vector<std::string_view> outputs;  ///< tensors, as "name:port"
};

/// The content of a MetaGraphDef besides its graph.
struct MetaInfo {
  std::vector<std::string_view> tags;
  std::vector<std::string_view> train_ops;  ///< the collection of that name
  std::vector<Signature> signatures;        ///< all but those that initialise the model
  std::string_view restore_op;              ///< gives the variables what was saved; empty: none
  std::vector<OpDef> ops;                   ///< the ops it uses, as their makers declared them
};

/// The bytes of a model file as binary Protobuf, and where the graph in them is.
struct ModelFile : FileBytes {
  MessageKind kind = MessageKind::graph;
  std::string_view graph;  ///< a GraphDef in `bytes`
  int meta_graph = 0;      ///< its index in a SavedModel
  std::string tags;  ///< of a SavedModel's graph that was asked for; empty: it is the usual one
  MetaInfo meta;
  std::vector<std::string> notes;
};

/// Reads a file or a SavedModel's folder. If a SavedModel has several graphs, the one with these `tags` ("serve+gpu")
/// is taken; otherwise the one that has the most of the `fetches` as nodes or signatures, and of several the usual one:
/// that tagged "train", or else the first. Throws Error naming the file, the byte (or line and
/// column of a text file), and the fix.
[[nodiscard]] std::unique_ptr<ModelFile> read_model_file(
    const std::filesystem::path& path, const std::vector<std::string>& fetches = {},
    std::string_view tags = {});

/// Whether `path` looks like a TensorFlow graph, by its name and its first bytes. Never throws for
/// a file that cannot be read.
[[nodiscard]] bool looks_like_tensorflow(const std::filesystem::path& path);

}  // namespace berth::tf_frontend
