#include "tf/checkpoint.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "berth/error.h"
#include "support/text.h"
#include "tf/attributes.h"

namespace berth::tf_frontend {

using frontend::readable;

namespace {

// At the end of an index: two handles, padded, and a number that all such tables end with.
constexpr std::size_t kFooterBytes = 48;
constexpr std::uint64_t kMagic = 0xdb4775248b80fb57;
// Behind each block: whether it is compressed, and a checksum.
constexpr std::size_t kTrailerBytes = 5;

/// Little-endian, as both formats are.
template <typename Number>
Number number_at(std::string_view bytes, std::size_t at) {
  static_assert(std::endian::native == std::endian::little);
  Number number;
  std::memcpy(&number, bytes.data() + at, sizeof(number));
  return number;
}

}  // namespace

std::shared_ptr<const Checkpoint> Checkpoint::open(const std::filesystem::path& prefix) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(prefix.string() + ".index", error)) return nullptr;
  return std::shared_ptr<const Checkpoint>(new Checkpoint(prefix));
}

Checkpoint::Checkpoint(const std::filesystem::path& prefix) : index_(prefix.string() + ".index") {
  source_ = {prefix.string() + ".index", index_.bytes().data()};
  const std::string_view bytes = index_.bytes();
  if (bytes.size() < kFooterBytes ||
      number_at<std::uint64_t>(bytes, bytes.size() - sizeof(kMagic)) != kMagic) {
    refuse("does not end as an index of a checkpoint does");
  }
  std::string_view header;
  std::string_view footer = bytes.substr(bytes.size() - kFooterBytes);
  static_cast<void>(take_handle(footer));  // of a block about blocks, which is empty
  each_entry(block(take_handle(footer)), [&](const std::string&, std::string_view value) {
    each_entry(block(take_handle(value)), [&](const std::string& name, std::string_view entry) {
      if (name.empty()) {
        header = entry;
      } else {
        entries_.emplace(name, read_entry(entry, name));
      }
    });
  });
  open_data(prefix, header);
}

void Checkpoint::refuse(const std::string& what) const {
  throw Error(ErrorCode::invalid_file,
              cat(source_.file, ": ", what,
                  "; copy or save the checkpoint again, or move it away to load "
                  "the graph without its values"));
}

Checkpoint::Handle Checkpoint::take_handle(std::string_view& bytes) const {
  Handle handle;
  if (!frontend::take_varint(bytes, handle.offset) || !frontend::take_varint(bytes, handle.size)) {
    refuse("a handle of a block is cut short");
  }
  return handle;
}

std::string_view Checkpoint::block(Handle handle) const {
  const std::string_view bytes = index_.bytes();
  if (handle.offset > bytes.size() || handle.size > bytes.size() - handle.offset ||
      bytes.size() - handle.offset - handle.size < kTrailerBytes) {
    refuse("a block reaches beyond the file");
  }
  if (bytes[handle.offset + handle.size] != 0)
    refuse("a block is compressed, which TensorFlow's are not");
  return bytes.substr(handle.offset, handle.size);
}

/// Entries share the fronts of their keys with the one before. Behind them are places at which they
/// share nothing, and their number.
template <typename See>
void Checkpoint::each_entry(std::string_view block, const See& see) const {
  constexpr std::size_t kWord = sizeof(std::uint32_t);
  if (block.size() < kWord) refuse("a block is cut short");
  const std::size_t restarts = number_at<std::uint32_t>(block, block.size() - kWord);
  if (restarts > block.size() / kWord - 1) refuse("a block is cut short");
  block.remove_suffix((restarts + 1) * kWord);
  for (std::string key; !block.empty();) {
    std::uint64_t shared = 0, fresh = 0, size = 0;
    if (!frontend::take_varint(block, shared) || !frontend::take_varint(block, fresh) ||
        !frontend::take_varint(block, size) || shared > key.size() || fresh > block.size() ||
        size > block.size() - fresh) {
      refuse("an entry of a block is cut short");
    }
    key.resize(shared);
    key += block.substr(0, fresh);
    see(key, block.substr(fresh, size));
    block.remove_prefix(fresh + size);
  }
}

/// `bytes` is a BundleEntryProto.
Checkpoint::Entry Checkpoint::read_entry(std::string_view bytes, std::string_view name) const {
  constexpr std::uint32_t kType = 1, kShape = 2, kShard = 3, kOffset = 4, kSize = 5, kSlices = 7;
  Entry entry;
  entry.shape.set_shape({});
  for (WireReader reader(bytes, source_); reader.next();) {
    if (reader.field() == kType) entry.type = static_cast<int>(reader.value());
    if (reader.is_bytes(kShape)) entry.shape = read_shape(reader.payload(), source_, name);
    if (reader.field() == kShard) entry.shard = reader.value();
    if (reader.field() == kOffset) entry.offset = reader.value();
    if (reader.field() == kSize) entry.size = reader.value();
    if (reader.is_bytes(kSlices)) entry.sliced = true;
  }
  return entry;
}

/// The files that hold something.
void Checkpoint::open_data(const std::filesystem::path& prefix, std::string_view header) {
  constexpr std::uint32_t kShards = 1, kEndianness = 2;
  constexpr std::uint64_t kMostShards = 100'000;  // of five digits
  std::uint64_t shards = 0;
  if (header.data() == nullptr) refuse("has no header");
  for (WireReader reader(header, source_); reader.next();) {
    if (reader.field() == kShards) shards = reader.value();
    if (reader.field() == kEndianness && reader.value() != 0)
      refuse("was written with the highest byte first");
  }
  if (shards > kMostShards) refuse("names more files than a checkpoint has");
  std::set<std::uint64_t> used;
  for (const auto& [name, entry] : entries_) {
    if (entry.size == 0) continue;  // of what was saved in slices, which have entries of their own
    if (entry.shard >= shards)
      refuse(cat("'", readable(name), "' is in a file that the header does not count"));
    used.insert(entry.shard);
  }
  data_.resize(shards);
  const auto digits = [](std::uint64_t number) {
    const std::string text = std::to_string(number);
    return std::string(5 - std::min<std::size_t>(5, text.size()), '0') + text;
  };
  for (const std::uint64_t shard : used) {
    data_[shard] = std::make_shared<const frontend::MappedFile>(
        cat(prefix.string(), ".data-", digits(shard), "-of-", digits(shards)));
  }
}

std::optional<TensorContent> Checkpoint::find(std::string_view name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return std::nullopt;
  const Entry& entry = found->second;
  TensorContent content;
  content.dtype = dtype_of(entry.type);
  const int bits = dtype_bits(content.dtype);
  if (entry.sliced || bits < 8 || !entry.shape.fully_known()) return std::nullopt;
  const auto count = static_cast<std::uint64_t>(product(entry.shape.dims));
  if (entry.size != count * static_cast<std::uint64_t>(bits / 8)) {
    refuse(cat("'", readable(name), "' has ", entry.size, " bytes, and its shape asks for others"));
  }
  content.shape = entry.shape.dims;
  if (entry.size == 0) return content;
  const std::string_view bytes = data_[entry.shard]->bytes();
  if (entry.offset > bytes.size() || entry.size > bytes.size() - entry.offset) {
    refuse(cat("'", readable(name), "' reaches beyond the end of its data file"));
  }
  content.bytes = std::as_bytes(std::span(bytes.substr(entry.offset, entry.size)));
  content.owner = data_[entry.shard];
  return content;
}

}  // namespace berth::tf_frontend
