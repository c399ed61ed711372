#include "profile_cache.h"

#include <spdlog/fmt/fmt.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <system_error>
#include <variant>
#include <vector>

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

/// Adds a program: all that a step's time depends on. Large tensors count by type and shape.
class ProgramHash {
 public:
  explicit ProgramHash(Hash& hash) : hash_(hash) {}

  void add(const Program& program) {
    const Graph& graph = *program.graph;
    hash_.add(graph.dialect());
    for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
      hash_.add(dtype_name(graph.dtype(tensor)));
      for (const std::int64_t dim : graph.shape(tensor)) hash_.add(dim);
    }
    for (const Instruction& instruction : program.instructions) add(instruction);
    for (const auto& content : program.parameters) {
      if (content) add(*content);
    }
    for (const TensorId output : program.outputs) hash_.add(std::int64_t{output});
    // Numbers that are fed decide how often loops run.
    for (const OpId input : program.inputs) {
      for (const auto& [name, content] : graph.attributes(input)) {
        hash_.add(name);
        std::visit([this](const auto& value) { add(value); }, *content);
      }
    }
  }

 private:
  void add(const Instruction& instruction) {
    hash_.add(instruction.name);
    hash_.add(instruction.type);
    hash_.add(instruction.version);
    for (const auto& [name, content] : instruction.attributes) {
      hash_.add(name);
      std::visit([this](const auto& value) { add(value); }, content);
    }
    for (const auto* const values :
         {&instruction.inputs, &instruction.outputs, &instruction.captured}) {
      hash_.add(std::int64_t(values->size()));
      for (const ValueId id : *values) hash_.add(std::int64_t{id});
    }
  }
  void add(std::int64_t number) { hash_.add(number); }
  void add(double number) { hash_.add(fmt::format("{}", number)); }
  void add(const std::string& text) { hash_.add(text); }
  void add(DType dtype) { hash_.add(dtype_name(dtype)); }
  template <class T>
  void add(const std::vector<T>& values) {
    hash_.add(std::int64_t(values.size()));
    for (const T& value : values) add(value);
  }
  void add(const TensorContent& content) {
    constexpr std::size_t kSmall = 1 << 16;  // bytes
    add(content.dtype);
    add(content.shape);
    add(content.texts);
    if (content.bytes.size() > kSmall) return;
    hash_.add({reinterpret_cast<const char*>(content.bytes.data()), content.bytes.size()});
  }
  void add(const std::shared_ptr<const Body>& body) {
    add(body->inputs);
    add(body->outputs);
    for (const auto& [id, content] : body->constants) {
      add(std::int64_t{id});
      add(content);
    }
    for (const Instruction& instruction : body->instructions) add(instruction);
  }
  void add(ValueId id) { hash_.add(std::int64_t{id}); }

  Hash& hash_;
};

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

ProfileCache::ProfileCache(const Program& program, const std::string& fingerprint,
                           const std::string& settings)
    : folder_(cache_folder()) {
  Hash hash;
  ProgramHash(hash).add(program);
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
    return ProfileFiles{read_file(file("costs")), read_file(file("cluster")),
                        read_file(file("notes"))};
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
    write_file(file("notes"), files.notes);
  } catch (const std::exception&) {
  }
}

}  // namespace berth::command
