#include "checkpoint.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <boost/dll/runtime_symbol_info.hpp>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

#include "berth/error.h"
#include "berth/files.h"

namespace berth::learning {
namespace {

static_assert(std::endian::native == std::endian::little, "values are written as they lie");

using Json = nlohmann::json;

constexpr std::string_view kMagic = "BERTHCKP";
constexpr const char* kFormat = "berth.checkpoint/1";
constexpr std::size_t kPrefix = 8 + 8 + 4;

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& what) {
  throw Error(ErrorCode::invalid_file,
              file.string() + ": " + what +
                  "; use a whole copy of it, or save it again from the policy that was trained");
}

std::uint32_t crc_of(std::string_view bytes) {
  return static_cast<std::uint32_t>(
      ::crc32_z(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

template <typename Integer>
void append(std::string& out, Integer value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}

template <typename Integer>
Integer read(std::string_view bytes, std::size_t offset) {
  Integer value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// Values of a tensor of `shape`; refuses negative and absurd ones.
std::size_t value_count(const std::filesystem::path& file, const std::vector<std::int64_t>& shape) {
  std::size_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(count, static_cast<std::size_t>(extent), &count)) {
      refuse(file, "a tensor has an impossible shape");
    }
  }
  return count;
}

Checkpoint parse_header(const std::filesystem::path& file, std::string_view text) {
  Checkpoint result;
  try {
    const Json header = Json::parse(text);
    if (header.at("format") != kFormat) {
      refuse(file, "its format is '" + header.at("format").get<std::string>() + "', expected '" +
                       kFormat + "'");
    }
    header.at("policy").get_to(result.policy);
    header.at("version").get_to(result.version);
    header.at("options").get_to(result.options);
    header.at("note").get_to(result.note);
    for (const Json& tensor : header.at("tensors")) {
      result.tensors.push_back(
          {tensor.at("name"), tensor.at("shape").get<std::vector<std::int64_t>>(), {}});
    }
  } catch (const Json::exception& error) {
    refuse(file, std::string("its header cannot be read (") + error.what() + ")");
  }
  return result;
}

}  // namespace

void save_checkpoint(const std::filesystem::path& file, const Checkpoint& checkpoint) {
  try {
    require_finite(checkpoint.tensors);
  } catch (const std::invalid_argument& error) {
    throw Error(ErrorCode::invalid_argument,
                file.string() + ": " + error.what() + "; nothing was written");
  }
  Json tensors = Json::array();
  for (const NamedTensor& tensor : checkpoint.tensors) {
    tensors.push_back({{"name", tensor.name}, {"shape", tensor.shape}});
  }
  std::string body = Json({{"format", kFormat},
                           {"policy", checkpoint.policy},
                           {"version", checkpoint.version},
                           {"options", checkpoint.options},
                           {"note", checkpoint.note},
                           {"tensors", tensors}})
                         .dump();
  const std::uint64_t header_length = body.size();
  for (const NamedTensor& tensor : checkpoint.tensors) {
    body.append(reinterpret_cast<const char*>(tensor.values.data()),
                tensor.values.size() * sizeof(float));
  }
  std::string content(kMagic);
  append(content, header_length);
  append(content, crc_of(body));
  content += body;
  write_file(file, content);
}

Checkpoint load_checkpoint(const std::filesystem::path& file) {
  const std::string content = read_file(file);
  if (content.size() < kPrefix || std::string_view(content).substr(0, 8) != kMagic) {
    refuse(file, "it is not a checkpoint of a policy");
  }
  const auto header_length = read<std::uint64_t>(content, 8);
  const std::string_view body = std::string_view(content).substr(kPrefix);
  if (header_length > body.size() || crc_of(body) != read<std::uint32_t>(content, 16)) {
    refuse(file, "it is truncated or damaged");
  }
  Checkpoint result = parse_header(file, body.substr(0, header_length));
  std::string_view values = body.substr(header_length);
  for (NamedTensor& tensor : result.tensors) {
    const std::size_t count = value_count(file, tensor.shape);
    if (count > values.size() / sizeof(float)) refuse(file, "values are missing");
    tensor.values.resize(count);
    if (count > 0) std::memcpy(tensor.values.data(), values.data(), count * sizeof(float));
    values.remove_prefix(count * sizeof(float));
  }
  if (!values.empty()) refuse(file, "there are more values than its tensors have");
  try {
    require_finite(result.tensors);
  } catch (const std::invalid_argument& error) {
    refuse(file, error.what());
  }
  return result;
}

void require_match(const std::filesystem::path& file, const Checkpoint& checkpoint,
                   const std::string& policy, const std::string& version,
                   const std::map<std::string, std::string>& options) {
  const auto differ = [&](const std::string& what, const std::string& there,
                          const std::string& here) {
    throw Error(ErrorCode::incompatible, file.string() + ": " + what + " is '" + there +
                                             "' there and '" + here + "' here; use a matching one");
  };
  if (checkpoint.policy != policy) differ("the policy", checkpoint.policy, policy);
  if (checkpoint.version != version) differ("the policy's version", checkpoint.version, version);
  for (const auto& [name, value] : options) {
    const auto found = checkpoint.options.find(name);
    const std::string there = found == checkpoint.options.end() ? "" : found->second;
    if (there != value) differ("option '" + name + "'", there, value);
  }
}

std::filesystem::path shipped_weights(const std::string& policy) {
  const std::filesystem::path library = boost::dll::this_line_location();
  const std::filesystem::path file = library.parent_path() / (policy + ".weights");
  std::error_code ignored;
  return std::filesystem::exists(file, ignored) ? file : std::filesystem::path();
}

void require_finite(std::span<const NamedTensor> tensors) {
  for (const NamedTensor& tensor : tensors) {
    const auto finite = [](float value) { return std::isfinite(value); };
    if (!std::all_of(tensor.values.begin(), tensor.values.end(), finite)) {
      throw std::invalid_argument("tensor '" + tensor.name +
                                  "' holds a value that is not a finite number");
    }
  }
}

std::vector<NamedTensor> without_optimiser(std::vector<NamedTensor> tensors) {
  std::erase_if(tensors,
                [](const NamedTensor& tensor) { return tensor.name.rfind("adam.", 0) == 0; });
  tensors.push_back({"adam.steps", {2}, {0, 0}});
  return tensors;
}

}  // namespace berth::learning
