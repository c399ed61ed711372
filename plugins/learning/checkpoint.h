// Files of learned policies.
//
//   "BERTHCKP"  8 bytes
//   length of the header in bytes, 8 bytes, little-endian
//   CRC-32 of everything after it, 4 bytes, little-endian
//   header      JSON: format "berth.checkpoint/1", policy, version, options, note, tensors with
//               their shapes
//   values      float32, little-endian, of the tensors in order
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace berth::learning {

/// A tensor by name: row-major, as many values as the product of `shape`.
struct NamedTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

struct Checkpoint {
  std::string policy;                          ///< name of the plugin
  std::string version;                         ///< of the plugin; another one is not read
  std::map<std::string, std::string> options;  ///< those that the weights depend on
  std::string note;                            ///< the caller's own state
  std::vector<NamedTensor> tensors;
};

/// Written whole or not at all. Throws Error(io), or Error(invalid_argument) for values that are
/// not finite.
void save_checkpoint(const std::filesystem::path& file, const Checkpoint& checkpoint);

/// Throws Error(not_found, io), or Error(invalid_file) naming the file and what is wrong with it.
[[nodiscard]] Checkpoint load_checkpoint(const std::filesystem::path& file);

/// Throws Error(incompatible) naming the file and the first difference unless `checkpoint` is of
/// this policy, version and options.
void require_match(const std::filesystem::path& file, const Checkpoint& checkpoint,
                   const std::string& policy, const std::string& version,
                   const std::map<std::string, std::string>& options);

/// The weights that come with Berth for a policy: <name>.weights beside the plugin's library. Empty
/// if there are none (a build without them, a policy linked into a program).
[[nodiscard]] std::filesystem::path shipped_weights(const std::string& policy);

/// Throws std::invalid_argument naming a tensor that holds a value that is not finite.
void require_finite(std::span<const NamedTensor> tensors);

/// `tensors` without the optimiser's state: weights to start from, not a training to go on with.
[[nodiscard]] std::vector<NamedTensor> without_optimiser(std::vector<NamedTensor> tensors);

}  // namespace berth::learning
