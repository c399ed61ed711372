// Profiles of models on this machine, kept for the next time.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "berth/backend.h"

namespace berth::command {

/// A profile as the files that `berth profile` writes.
struct ProfileFiles {
  std::string costs;    ///< berth.costs/1
  std::string cluster;  ///< berth.cluster/1
  std::string notes;    ///< a JSON list of what measuring had to say
};

/// One profile's place in the user's cache ($XDG_CACHE_HOME/berth/profiles, else ~/.cache). The
/// program (ops, attributes, bodies, tensors, edges, the content of small constants) and the machine
/// (Backend::fingerprint) say which.
class ProfileCache {
 public:
  /// `settings`: what else decides the result.
  ProfileCache(const Program& program, const std::string& fingerprint, const std::string& settings);

  [[nodiscard]] std::optional<ProfileFiles> find() const;
  /// A cache that cannot be written is none: says nothing.
  void keep(const ProfileFiles& files) const noexcept;
  /// The path of the costs, the cluster or the notes: file("costs"), file("cluster"), file("notes").
  [[nodiscard]] std::filesystem::path file(const char* what) const;

 private:
  std::filesystem::path folder_;  ///< empty: there is no place for a cache
  std::string key_;
};

}  // namespace berth::command
