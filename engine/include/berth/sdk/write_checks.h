/// @file
/// A frontend that says before a search what it cannot write.
#pragma once

#include <filesystem>

#include "berth/export.h"
#include "berth/frontend.h"
#include "berth/graph.h"
#include "berth/replicas.h"

namespace berth {

/// Extension of a Frontend that is a ReplicaWriter: it knows without a plan what it cannot write.
/// [thread-compatible]
class BERTH_EXPORT ReplicaChecker {
 public:
  virtual ~ReplicaChecker();

  /// Throws Error(unsupported), with the fix, where ReplicaWriter::write_replicas would for any shares and
  /// devices. `graph` is the whole batch's, which `options` loaded.
  virtual void check_replicas(const std::filesystem::path& model, const LoadOptions& options,
                              const Graph& graph, const Training& training) = 0;
};

}  // namespace berth
