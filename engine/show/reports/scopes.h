// The scopes of a graph's op names, as a tree that a person can unfold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "berth/graph.h"

namespace berth::reports {

/// Scope 0 is the root. A scope comes after the one that it is in.
///
/// Names are split at '/' and '.'. A scope that holds nothing but another scope is one with it. A
/// scope of more than kMostChildren scopes and ops holds runs of them instead, in topological
/// order: exporters that name ops by number leave no other structure. Up to twenty scopes among
/// many ops stay as they are.
struct ScopeTree {
  static constexpr std::size_t kMostChildren = 40;

  std::vector<std::int32_t> parent;   ///< by scope; -1 for the root
  std::vector<std::string> name;      ///< by scope: its part of the op names
  std::vector<std::int32_t> of_op;    ///< the scope that holds the op
  std::vector<std::string> op_label;  ///< by op: what its name adds to its scopes'
};

[[nodiscard]] ScopeTree make_scopes(const Graph& graph);

}  // namespace berth::reports
