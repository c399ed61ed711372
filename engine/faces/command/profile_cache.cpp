#include "profile_cache.h"

#include <spdlog/fmt/fmt.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "berth/error.h"
#include "berth/files.h"

namespace berth::command {
namespace {

/// FNV-1a: names a file; equal keys are as unlikely as 64 bits make them.
class Hash {
 public:
  void add(std::string_view text) {
    for (const char c : text) mix(static_cast<unsigned char>(c));
    mix(0xFF);  // no text holds it: "ab", "c" and "a", "bc" differ
  }
  void add(std::int64_t number) { add(std::to_string(number)); }
  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }

 private:
  void mix(std::uint64_t byte) noexcept { value_ = (value_ ^ byte) * 0x100000001B3ULL; }
  std::uint64_t value_ = 0xCBF29CE484222325ULL;
};

void add_graph(Hash& hash, const Graph& graph) {
  hash.add(graph.dialect());
  for (OpId op = 0; op < graph.op_count(); ++op) {
    hash.add(graph.op_name(op));
    hash.add(graph.op_type(op));
    for (const TensorId tensor : graph.inputs(op)) hash.add(tensor);
    for (const TensorId tensor : graph.outputs(op)) hash.add(tensor);
  }
  for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
    hash.add(dtype_name(graph.dtype(tensor)));
    for (const std::int64_t dim : graph.shape(tensor)) hash.add(dim);
  }
}

std::filesystem::path cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') {
    return std::filesystem::path(cache) / "berth/profiles";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    return std::filesystem::path(home) / ".cache/berth/profiles";
  }
  return {};
}

}  // namespace

ProfileCache::ProfileCache(const Graph& graph, const std::string& fingerprint,
                           const std::string& settings)
    : folder_(cache_folder()) {
  Hash hash;
  add_graph(hash, graph);
  hash.add(fingerprint);
  hash.add(settings);
  key_ = fmt::format("{:016x}", hash.value());
}

std::filesystem::path ProfileCache::file(const char* what) const {
  return folder_ / fmt::format("{}.{}.json", key_, what);
}

std::optional<ProfileFiles> ProfileCache::find() const {
  if (folder_.empty()) return std::nullopt;
  try {
    return ProfileFiles{read_file(file("costs")), read_file(file("cluster"))};
  } catch (const Error&) {
    return std::nullopt;
  }
}

void ProfileCache::keep(const ProfileFiles& files) const noexcept {
  if (folder_.empty()) return;
  try {
    std::filesystem::create_directories(folder_);
    write_file(file("costs"), files.costs);
    write_file(file("cluster"), files.cluster);
  } catch (const std::exception&) {
  }
}

}  // namespace berth::command
