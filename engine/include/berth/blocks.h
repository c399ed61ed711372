/// @file
/// The blocks of a network: what tools that split a model never cut.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/export.h"
#include "berth/graph.h"
#include "berth/module_attribute.h"
#include "berth/types.h"

namespace berth {

using BlockId = std::int32_t;
inline constexpr int kNoBlockNumber = -1;

/// A module of the network with every op that computes it: an element of a list of layers
/// ("model.layers.3"), or a module in which there are no lists ("model.embed_tokens").
struct Block {
  std::string name;
  std::string list;              ///< "model.layers"; empty where it is no element of a list
  int number = kNoBlockNumber;   ///< in its list
  std::int64_t param_bytes = 0;  ///< of the parameters it reads, each counted at its first reader
  /// The modules with parameters that it stands for: its own name, and small ones that its ops read
  /// first, such as tables of rotary embeddings.
  std::vector<std::string> modules;
  std::vector<OpId> ops;  ///< ascending; may be empty
};

/// The blocks of a graph that was exported with the names of its parameters or the scopes of its
/// ops, in the order in which a step comes to them. Every op is in one of them: ops without
/// parameters belong where their scope says or, without scopes, where the fewest bytes cross from
/// block to block. Caches that enter and leave a layer belong to it. [thread-safe: immutable]
class BERTH_EXPORT Blocks {
 public:
  /// Throws Error(unsupported) where nothing in the graph has the name of a module.
  explicit Blocks(const Graph& graph);

  [[nodiscard]] BlockId count() const noexcept;
  [[nodiscard]] const Block& operator[](BlockId block) const noexcept;
  [[nodiscard]] const std::vector<Block>& all() const noexcept;
  [[nodiscard]] BlockId of(OpId op) const noexcept;
  /// The module of an op's largest parameter; empty where it reads none.
  [[nodiscard]] const std::string& module_of(OpId op) const noexcept;

  /// The list with the most parameters: the layers of a decoder. Empty where there is none.
  [[nodiscard]] const std::string& layer_list() const noexcept;
  /// Its blocks by number. Throws Error(unsupported) where one is not in the graph, or there is no
  /// list.
  [[nodiscard]] std::vector<BlockId> layers() const;
  /// Weights that several blocks read: tied embeddings. Vectors and buffers are none: an exporter merges
  /// those of equal values, and each module has its own.
  struct Tie {
    TensorId parameter;
    std::vector<BlockId> blocks;  ///< ascending, at least two
    std::vector<OpId> readers;    ///< an op of each
  };
  [[nodiscard]] const std::vector<Tie>& ties() const noexcept;

 private:
  friend class BlockFinder;
  struct Data;
  std::shared_ptr<const Data> data_;
};

/// The ops of a block that hold experts of a mixture: they read a parameter of a module in
/// "experts", or lie between two that do. Where experts are spelled out one by one, those too that choose
/// tokens for each of them and add up what they make. Ascending; empty where there are none.
[[nodiscard]] BERTH_EXPORT std::vector<OpId> expert_ops(const Graph& graph, const Blocks& blocks,
                                                        BlockId block);

}  // namespace berth
