// The values of variables as TensorFlow saves them beside a graph.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/sdk/program.h"
#include "support/mapped_file.h"
#include "tf/value.h"
#include "tf/wire.h"

namespace berth::tf_frontend {

/// A checkpoint of TensorFlow's second format: PREFIX.index says of each tensor in which of the files
/// PREFIX.data-* it lies, and where. The index is a sorted table as LevelDB writes it, of which TensorFlow's is a copy
/// (its doc/table_format.md); the messages in it are in tensorflow/core/protobuf/tensor_bundle.proto.
/// [thread-safe: immutable]
class Checkpoint {
 public:
  /// Null where there is no index. Throws Error naming the file for an index or a data file that is
  /// damaged or missing.
  [[nodiscard]] static std::shared_ptr<const Checkpoint> open(const std::filesystem::path& prefix);

  /// What was saved under `name`, in the mapped file. Nothing for names that are not there, tensors that were saved in
  /// slices, and element types that are not computed with or have no fixed size. Throws
  /// Error(invalid_file) where the tensor reaches beyond its file.
  [[nodiscard]] std::optional<TensorContent> find(std::string_view name) const;

 private:
  explicit Checkpoint(const std::filesystem::path& prefix);
  struct Handle {
    std::uint64_t offset = 0, size = 0;
  };
  struct Entry {
    int type = 0;
    Value shape;
    std::uint64_t shard = 0, offset = 0, size = 0;
    bool sliced = false;
  };
  [[noreturn]] void refuse(const std::string& what) const;
  [[nodiscard]] Handle take_handle(std::string_view& bytes) const;
  [[nodiscard]] std::string_view block(Handle handle) const;
  template <typename See>
  void each_entry(std::string_view block, const See& see) const;
  [[nodiscard]] Entry read_entry(std::string_view bytes, std::string_view name) const;
  void open_data(const std::filesystem::path& prefix, std::string_view header);

  frontend::MappedFile index_;
  WireSource source_;
  std::map<std::string, Entry, std::less<>> entries_;              ///< by the tensor's name
  std::vector<std::shared_ptr<const frontend::MappedFile>> data_;  ///< null where nothing is in it
};

}  // namespace berth::tf_frontend
