// Blocks, in three steps: modules by the names of parameters and scopes; the blocks that they are in;
// then the ops that neither says anything of, by where the fewest bytes cross.
#include "berth/blocks.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "berth/error.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "layers/module_names.h"

namespace berth {

struct Blocks::Data {
  std::vector<Block> blocks;
  std::vector<BlockId> block_of;
  std::vector<std::string> module_of;
  std::string layer_list;
  std::vector<Tie> ties;

  [[nodiscard]] BlockId count() const { return static_cast<BlockId>(blocks.size()); }
  [[nodiscard]] BlockId of(OpId op) const { return block_of[at(op)]; }
};

/// Reads the graph once; see Blocks.
class BlockFinder {
 public:
  BlockFinder(const Graph& graph, Blocks::Data& data)
      : graph_(graph), data_(data), scopes_(graph) {}

  void run() {
    find_modules();
    if (bytes_.empty() && graph_.dialect() == "berth") find_stated_modules();
    find_lists();
    if (bytes_.empty()) {
      throw Error(
          ErrorCode::unsupported,
          cat("no parameter of graph '", graph_.name(),
              "' has the name of a module ('layers.0.mlp.weight'), so that it has no blocks; "
              "export the model with the names of its parameters"));
    }
    make_blocks();
    spread();
    absorb_small();
    number();
    find_ties();
    choose_layers();
  }

 private:
  static constexpr BlockId kNone = -1;
  static constexpr const char* kTiedHead = "lm_head";
  /// Tables and scales are no modules of their own below both of these: bytes, and a share of all.
  static constexpr std::int64_t kSmallBytes = 64 << 10;
  static constexpr std::int64_t kSmallShare = 1000;
  /// What a transfer costs beside its bytes, in bytes: between cuts that carry equal ones, the one of
  /// fewer tensors.
  static constexpr std::int64_t kTransferBytes = 4096;

  /// The weight that a parameter was computed from when the model was loaded: it has the module's name.
  [[nodiscard]] TensorId weight_behind(TensorId parameter) const {
    for (OpId maker = graph_.maker(parameter); maker != kNoOp; maker = graph_.maker(parameter)) {
      const auto inputs = graph_.inputs(maker);
      if (inputs.empty() || inputs.front() == kNoTensor) break;
      if (graph_.producer(inputs.front()) != kNoOp) break;  // sizes of what the step makes
      parameter = inputs.front();
    }
    return parameter;
  }
  /// A scale, an axis, an epsilon.
  [[nodiscard]] bool is_scalar(TensorId tensor) const { return graph_.bytes(tensor) <= 8; }

  void find_modules() {
    readers_.assign(at(graph_.tensor_count()), 0);
    for (OpId op = 0; op < graph_.op_count(); ++op) {
      for (const TensorId tensor : graph_.parameters(op)) ++readers_[at(weight_behind(tensor))];
    }
    data_.module_of.resize(at(graph_.op_count()));
    std::vector<bool> counted(at(graph_.tensor_count()), false);
    for (const OpId op : graph_.topological_order()) {
      TensorId largest = kNoTensor;
      for (const TensorId tensor : graph_.parameters(op)) {
        if (is_scalar(tensor)) continue;
        if (largest == kNoTensor || graph_.bytes(tensor) > graph_.bytes(largest)) largest = tensor;
      }
      if (largest == kNoTensor) continue;
      const TensorId weight = weight_behind(largest);
      std::string name = module_of_parameter(graph_.tensor_name(weight));
      const std::string scope = scopes_.of(op);
      // A tied parameter has the name of its first module, and the scope says which module reads it.
      // A scope that ends in that name is the same module in another step.
      const bool same = scope.size() > name.size() && scope.ends_with("." + name);
      bool elsewhere = readers_[at(weight)] > 1 && !same;
      // A frontend names the module that reads it, or one around that.
      if (graph_.attribute(op, kModuleAttribute) != nullptr) {
        elsewhere = scope != name && !name.starts_with(scope + ".");
      }
      if (name.empty() || (elsewhere && !scope.empty())) name = scope;
      if (name.empty()) continue;
      data_.module_of[at(op)] = name;
      std::int64_t& bytes = bytes_[name];
      for (const TensorId tensor : graph_.parameters(op)) {
        if (counted[at(tensor)]) continue;
        counted[at(tensor)] = true;
        bytes += graph_.bytes(tensor);
      }
    }
  }

  /// Bytes of parameters that a graph states without tensors.
  [[nodiscard]] std::int64_t stated_bytes(OpId op) const {
    return graph_.parameters(op).empty() ? graph_.param_bytes(op) : 0;
  }

  /// Of a berth.graph/1 file, which has no tensors of parameters: the scopes of the ops that hold some.
  void find_stated_modules() {
    for (OpId op = 0; op < graph_.op_count(); ++op) {
      const std::int64_t bytes = stated_bytes(op);
      if (bytes == 0) continue;
      const std::string name = scopes_.of(op);
      if (name.empty()) continue;
      data_.module_of[at(op)] = name;
      bytes_[name] += bytes;
    }
  }

  [[nodiscard]] bool shares_parameter(OpId op) const {
    const auto parameters = graph_.parameters(op);
    return std::any_of(parameters.begin(), parameters.end(),
                       [&](TensorId tensor) { return readers_[at(weight_behind(tensor))] > 1; });
  }

  void find_lists() {
    for (const auto& [module, bytes] : bytes_) {
      total_ += bytes;
      const std::vector<std::string> parts = module_parts(module);
      bool within = false;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        if (number_of_part(parts[i]) < 0) continue;
        // Experts of a layer are no layers, however few of those there are.
        if (within && parts[i - 1] == "experts") break;
        within = true;
        const std::string element = joined_parts(parts, i + 1);
        element_bytes_[element] += bytes;
        // What contains a list is no block.
        for (std::size_t k = 0; k <= i; ++k) above_list_.insert(joined_parts(parts, k));
      }
    }
  }

  /// The first element of a list that it is in, but for one that is most of the network and has
  /// lists itself; without lists, the outermost module that contains none.
  [[nodiscard]] std::pair<std::string, std::size_t> block_of_module(
      const std::string& module) const {
    const std::vector<std::string> parts = module_parts(module);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (number_of_part(parts[i]) < 0) continue;
      const std::string element = joined_parts(parts, i + 1);
      const auto bytes = element_bytes_.find(element);
      const bool most = bytes != element_bytes_.end() && 2 * bytes->second > total_ &&
                        above_list_.contains(element);
      if (!most) return {element, i + 1};
    }
    for (std::size_t k = 1; k < parts.size(); ++k) {
      std::string prefix = joined_parts(parts, k);
      if (!above_list_.contains(prefix)) return {std::move(prefix), 0};
    }
    return {module, 0};
  }

  BlockId block_named(const std::string& module) {
    const auto [name, end] = block_of_module(module);
    const auto [entry, is_new] = index_.try_emplace(name, data_.count());
    if (is_new) {
      Block block;
      block.name = name;
      if (end > 0) {
        const std::vector<std::string> parts = module_parts(name);
        block.list = joined_parts(parts, end - 1);
        block.number = number_of_part(parts.back());
      }
      data_.blocks.push_back(std::move(block));
    }
    return entry->second;
  }

  /// In the order in which a step first reads their parameters: block ids are ranks.
  void make_blocks() {
    data_.block_of.assign(at(graph_.op_count()), kNone);
    std::vector<BlockId> reached(at(graph_.op_count()), kNone);
    for (const OpId op : graph_.topological_order()) {
      BlockId& latest = reached[at(op)];
      for (const Edge& edge : graph_.in_edges(op)) {
        latest = std::max(latest, reached[at(edge.src)]);
      }
      const std::string& module = data_.module_of[at(op)];
      if (module.empty()) continue;
      BlockId block = block_named(module);
      // A parameter that a step comes back to after other blocks: embeddings that a head without a
      // scope shares.
      if (block < latest && shares_parameter(op)) block = block_named(kTiedHead);
      data_.block_of[at(op)] = block;
      latest = std::max(latest, block);
    }
    for (const auto& [module, bytes] : bytes_) {
      data_.blocks[at(index_.at(block_of_module(module).first))].param_bytes += bytes;
    }
    for (OpId op = 0; op < graph_.op_count(); ++op) {
      if (data_.block_of[at(op)] != kNone) continue;
      const std::string scope = scopes_.of(op);
      if (scope.empty()) continue;
      const auto known = index_.find(block_of_module(scope).first);
      if (known != index_.end()) data_.block_of[at(op)] = known->second;
    }
  }

  /// The blocks before and behind each op that has none; then the op's own.
  void spread() {
    const auto order = graph_.topological_order();
    std::vector<BlockId> before(at(graph_.op_count()), kNone), behind = before;
    const auto block_or = [&](const std::vector<BlockId>& other, OpId op) {
      const BlockId own = data_.block_of[at(op)];
      return own != kNone ? own : other[at(op)];
    };
    for (const OpId op : order) {
      for (const Edge& edge : graph_.in_edges(op)) {
        before[at(op)] = std::max(before[at(op)], block_or(before, edge.src));
      }
    }
    for (auto op = order.rbegin(); op != order.rend(); ++op) {
      for (const Edge& edge : graph_.out_edges(*op)) {
        const BlockId next = block_or(behind, edge.dst);
        BlockId& own = behind[at(*op)];
        if (next != kNone) own = own == kNone ? next : std::min(own, next);
      }
    }
    std::map<std::pair<BlockId, BlockId>, std::vector<OpId>> between;
    for (const OpId op : order) {
      BlockId& own = data_.block_of[at(op)];
      if (own != kNone) continue;
      const BlockId low = before[at(op)], high = behind[at(op)];
      if (low == kNone || high == kNone || low >= high) {
        own = low != kNone ? low : std::max(high, 0);
      } else {
        between[{low, high}].push_back(op);
      }
    }
    for (const auto& [blocks, ops] : between) divide(blocks.first, blocks.second, ops);
    for (OpId op = 0; op < graph_.op_count(); ++op) {
      const OpId reader = graph_.first_reader(op);
      if (reader != kNoOp) data_.block_of[at(op)] = data_.block_of[at(reader)];
    }
  }

  /// Ops between two blocks, in topological order: some of the first go with the block before.
  void divide(BlockId low, BlockId high, const std::vector<OpId>& ops) {
    std::unordered_map<TensorId, int> late_readers;  // of tensors that low's side produces
    const std::set<OpId> here(ops.begin(), ops.end());
    const auto bytes_of = [&](TensorId tensor) { return graph_.bytes(tensor) + kTransferBytes; };
    std::int64_t crossing = 0;
    for (const OpId op : ops) {
      for (const Edge& edge : graph_.in_edges(op)) {
        if (edge.tensor == kNoTensor || here.contains(edge.src)) continue;
        if (late_readers[edge.tensor]++ == 0) {
          crossing += bytes_of(edge.tensor);
          // Read behind all of them too: it crosses wherever these are.
          for (const Edge& other : graph_.out_edges(edge.src)) {
            if (other.tensor == edge.tensor && !here.contains(other.dst) &&
                data_.block_of[at(other.dst)] >= high) {
              ++late_readers[edge.tensor];
            }
          }
        }
      }
    }
    std::int64_t fewest = crossing;
    std::size_t best = 0;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      for (const Edge& edge : graph_.in_edges(ops[i])) {
        if (edge.tensor != kNoTensor && --late_readers[edge.tensor] == 0) {
          crossing -= bytes_of(edge.tensor);
        }
      }
      for (const Edge& edge : graph_.out_edges(ops[i])) {
        if (edge.tensor != kNoTensor && late_readers[edge.tensor]++ == 0) {
          crossing += bytes_of(edge.tensor);
        }
      }
      if (crossing < fewest) {
        fewest = crossing;
        best = i + 1;
      }
    }
    for (std::size_t i = 0; i < ops.size(); ++i) {
      data_.block_of[at(ops[i])] = i < best ? low : high;
    }
  }

  /// Small modules outside of lists go where they are read first.
  void absorb_small() {
    const std::int64_t small = std::min(kSmallBytes, total_ / kSmallShare);
    into_.resize(at(data_.count()));
    // What its ops read, not what it counts for: a tied head is as large as its embeddings.
    std::vector<std::int64_t> reads(at(data_.count()), 0);
    for (OpId op = 0; op < graph_.op_count(); ++op) {
      reads[at(data_.of(op))] += graph_.param_bytes(op);
    }
    for (BlockId block = 0; block < data_.count(); ++block) into_[at(block)] = block;
    for (BlockId block = data_.count() - 1; block >= 0; --block) {
      const Block& each = data_.blocks[at(block)];
      if (each.number != kNoBlockNumber || reads[at(block)] > small) continue;
      BlockId next = kNone, last = kNone;
      for (OpId op = 0; op < graph_.op_count(); ++op) {
        if (data_.of(op) != block) continue;
        for (const Edge& edge : graph_.out_edges(op)) {
          const BlockId other = data_.of(edge.dst);
          if (other != block) next = next == kNone ? other : std::min(next, other);
        }
        for (const Edge& edge : graph_.in_edges(op)) {
          const BlockId other = data_.of(edge.src);
          if (other != block) last = std::max(last, other);
        }
      }
      if (next == kNone) next = last;
      // Two small ones that read each other's results would go to each other, and neither stayed.
      if (next != kNone && absorbed(next) != block) into_[at(block)] = next;
    }
  }

  [[nodiscard]] BlockId absorbed(BlockId block) const {
    while (into_[at(block)] != block) block = into_[at(block)];
    return block;
  }

  /// Blocks without those that went elsewhere, with their ops and modules.
  void number() {
    std::vector<BlockId> id(at(data_.count()), kNone);
    std::vector<Block> kept;
    for (BlockId block = 0; block < data_.count(); ++block) {
      if (absorbed(block) != block) continue;
      id[at(block)] = static_cast<BlockId>(kept.size());
      kept.push_back(data_.blocks[at(block)]);
      kept.back().modules.push_back(kept.back().name);
    }
    for (BlockId block = 0; block < data_.count(); ++block) {
      if (absorbed(block) == block) continue;
      Block& target = kept[at(id[at(absorbed(block))])];
      target.modules.push_back(data_.blocks[at(block)].name);
    }
    for (OpId op = 0; op < graph_.op_count(); ++op) {
      BlockId& own = data_.block_of[at(op)];
      own = id[at(absorbed(own))];
      kept[at(own)].ops.push_back(op);
    }
    // Those without a name too.
    std::vector<bool> counted(at(graph_.tensor_count()), false);
    for (Block& block : kept) block.param_bytes = 0;
    for (const OpId op : graph_.topological_order()) {
      for (const TensorId tensor : graph_.parameters(op)) {
        if (counted[at(tensor)]) continue;
        counted[at(tensor)] = true;
        kept[at(data_.of(op))].param_bytes += graph_.bytes(tensor);
      }
      kept[at(data_.of(op))].param_bytes += stated_bytes(op);
    }
    name_shared(kept);
    data_.blocks = std::move(kept);
  }

  /// A tied weight may have the name of a module that no op is in: T5's "shared". It is with the first
  /// that reads it.
  void name_shared(std::vector<Block>& kept) const {
    std::set<std::string> named;
    for (const Block& block : kept) named.insert(block.modules.begin(), block.modules.end());
    for (const OpId op : graph_.topological_order()) {
      for (const TensorId tensor : graph_.parameters(op)) {
        const TensorId weight = weight_behind(tensor);
        if (readers_[at(weight)] < 2 || is_scalar(weight)) continue;
        const std::string module = module_of_parameter(graph_.tensor_name(weight));
        if (module.empty() || index_.contains(block_of_module(module).first)) continue;
        if (named.insert(module).second) kept[at(data_.of(op))].modules.push_back(module);
      }
    }
  }

  /// Whether the network has it once. Exporters merge parameters of equal values too, of which each module
  /// has its own: vectors of a fresh model's norms, and buffers (rotary embeddings, masks), which are no
  /// weights.
  [[nodiscard]] bool may_be_tied(TensorId weight) const {
    const std::string& name = graph_.tensor_name(weight);
    if (module_of_parameter(name).empty() || graph_.shape(weight).size() == 1) return false;
    return name.substr(name.rfind('.') + 1).starts_with("weight");
  }

  void find_ties() {
    // A head reads embeddings as they are, or turned around when the model was loaded.
    std::map<TensorId, std::map<BlockId, OpId>> readers;
    for (OpId op = 0; op < graph_.op_count(); ++op) {
      for (const TensorId tensor : graph_.parameters(op)) {
        const TensorId weight = weight_behind(tensor);
        if (readers_[at(weight)] > 1) readers[weight].emplace(data_.of(op), op);
      }
    }
    for (const auto& [weight, of_block] : readers) {
      const bool small = graph_.bytes(weight) <= std::min(kSmallBytes, total_ / kSmallShare);
      if (small || of_block.size() < 2 || !may_be_tied(weight)) continue;
      Blocks::Tie& tie = data_.ties.emplace_back();
      tie.parameter = weight;
      for (const auto& [block, op] : of_block) {
        tie.blocks.push_back(block);
        tie.readers.push_back(op);
      }
    }
  }

  void choose_layers() {
    std::map<std::string, std::int64_t> bytes;
    for (const Block& block : data_.blocks) {
      if (block.number != kNoBlockNumber) bytes[block.list] += block.param_bytes;
    }
    const auto largest =
        std::max_element(bytes.begin(), bytes.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (largest != bytes.end()) data_.layer_list = largest->first;
  }

  const Graph& graph_;
  Blocks::Data& data_;
  const Scopes scopes_;
  std::vector<int> readers_;  // by weight, ops of the step that read it or what is made of it
  std::int64_t total_ = 0;
  std::map<std::string, std::int64_t> bytes_;          // by module, each parameter once
  std::map<std::string, std::int64_t> element_bytes_;  // by element of a list
  std::set<std::string> above_list_;
  std::map<std::string, BlockId> index_;
  std::vector<BlockId> into_;
};

Blocks::Blocks(const Graph& graph) {
  auto data = std::make_shared<Data>();
  BlockFinder(graph, *data).run();
  data_ = std::move(data);
}

BlockId Blocks::count() const noexcept {
  return data_->count();
}
const Block& Blocks::operator[](BlockId block) const noexcept {
  return data_->blocks[at(block)];
}
const std::vector<Block>& Blocks::all() const noexcept {
  return data_->blocks;
}
BlockId Blocks::of(OpId op) const noexcept {
  return data_->of(op);
}
const std::string& Blocks::module_of(OpId op) const noexcept {
  return data_->module_of[at(op)];
}
const std::string& Blocks::layer_list() const noexcept {
  return data_->layer_list;
}
const std::vector<Blocks::Tie>& Blocks::ties() const noexcept {
  return data_->ties;
}

std::vector<BlockId> Blocks::layers() const {
  std::map<int, BlockId> by_number;
  for (BlockId block = 0; block < count(); ++block) {
    const Block& each = (*this)[block];
    if (each.number != kNoBlockNumber && each.list == layer_list()) {
      by_number.emplace(each.number, block);
    }
  }
  if (by_number.empty()) {
    throw Error(ErrorCode::unsupported,
                "no module is one of a numbered list ('model.layers.0'), so the network has no "
                "layers to cut between");
  }
  std::vector<BlockId> result;
  for (const auto& [number, block] : by_number) {
    if (number != static_cast<int>(result.size())) {
      throw Error(ErrorCode::unsupported,
                  cat("no parameter of ", layer_list(), layer_list().empty() ? "" : ".",
                      result.size(), " is in the graph, but of later elements of its list there ",
                      "are: this network is no stack of equal layers, or a part of one; of a "
                      "decoder, load the whole model"));
    }
    result.push_back(block);
  }
  return result;
}

}  // namespace berth
