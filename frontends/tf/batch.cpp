#include "tf/batch.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

#include "berth/error.h"
#include "berth/support/text.h"
#include "support/text.h"
#include "support/weight_names.h"
#include "support/wire.h"
#include "tf/tensor_content.h"

namespace berth::tf_frontend {
namespace {

using frontend::readable;

/// A batch that divides nothing by chance, to tell what grows with it.
constexpr std::int64_t kProbe = 7919;
constexpr int kMostRounds = 64;
constexpr int kMostBans = 3;

bool is_fed(std::string_view op) {
  return op == "Placeholder" || op == "PlaceholderV2" || op == "IteratorGetNext" ||
         op == "IteratorGetNextSync";
}

bool is_variable(std::string_view op) {
  return op == "VariableV2" || op == "Variable" || op == "VarHandleOp" || op == "_VarHandlesOp" ||
         op == "ReadVariableOp";
}

/// Ops whose operands may be shaped alike by chance.
bool is_product(std::string_view op) {
  return op.find("MatMul") != op.npos || op == "Einsum" || op.starts_with("Concat") ||
         op == "Tile" || op == "Reshape";
}

class Search {
 public:
  Search(const Program& stated, std::span<const NodeId> order, std::int64_t size,
         const std::string& file)
      : stated_(stated), order_(order), size_(size), file_(file) {
    fixed_.size = size;
    readers_.resize(stated.nodes.size());
    for (std::size_t i = 0; i < stated.nodes.size(); ++i) {
      const Node& node = stated.nodes[i];
      for (std::size_t port = 0; port < node.inputs.size(); ++port) {
        readers_[index(node.inputs[port].node)].emplace_back(node.op, port);
      }
    }
    for (auto& readers : readers_) std::sort(readers.begin(), readers.end());
  }

  FixedBatch run(const std::function<Program(const FixedBatch&, std::int64_t)>& at) {
    for (int round = 0; round < kMostRounds; ++round) {
      const Program probed = at(fixed_, kProbe);
      probed_ = &probed;
      const std::size_t before = fixed_.sites.size();
      std::vector<NodeId> unsolved;
      for (const NodeId id : order_) {
        if (in_conflict(id) && !blame(id)) unsolved.push_back(id);
      }
      if (fixed_.sites.size() != before) continue;
      // A contradiction that nothing new explains comes from a number that is not the batch's.
      bool any = false;
      for (const NodeId id : unsolved) any = ban_read(node(id)) || any;
      if (any) continue;
      if (!unsolved.empty()) {
        throw Error(ErrorCode::unsupported,
                    cat(file_, ": the shape of node '", readable(node(unsolved.front()).name),
                        "' does not follow from the batch; export the model with a dynamic batch "
                        "(None) for another one than ",
                        size_));
      }
      if (ban_repeats()) continue;
      find_divisors();
      return std::move(fixed_);
    }
    throw Error(ErrorCode::unsupported,
                cat(file_, ": its shapes do not settle at another batch than ", size_,
                    "; export the model with a dynamic batch (None)"));
  }

 private:
  static std::size_t index(NodeId id) { return static_cast<std::size_t>(id); }
  const Node& node(NodeId id) const { return stated_.nodes[index(id)]; }

  const Value* old_of(const Source& source) const { return output_of(stated_, source); }
  const Value* new_of(const Source& source) const { return output_of(*probed_, source); }
  static const Value* output_of(const Program& program, const Source& source) {
    const auto& outputs = program.nodes[index(source.node)].outputs;
    const auto port = static_cast<std::size_t>(source.port);
    return source.port >= 0 && port < outputs.size() ? &outputs[port] : nullptr;
  }

  bool divides(std::int64_t number) const { return number >= size_ && number % size_ == 0; }
  bool grew(std::int64_t before, std::int64_t after) const {
    return before != after && divides(before) && before / size_ * kProbe == after;
  }

  enum class Change { none, grown, lost };
  /// The change of a value from the stated batch to the probe's.
  Change change(const Value& before, const Value& after) const {
    if (before.ranked && before.fully_known()) {
      if (!after.ranked || after.dims.size() != before.dims.size()) return Change::lost;
      bool any = false;
      for (std::size_t i = 0; i < before.dims.size(); ++i) {
        if (before.dims[i] == after.dims[i]) continue;
        if (!grew(before.dims[i], after.dims[i])) return Change::lost;
        any = true;
      }
      if (any) return Change::grown;
    }
    if (before.data == nullptr) return Change::none;
    if (after.data == nullptr || after.data->size() != before.data->size()) return Change::lost;
    bool any = false;
    for (std::size_t i = 0; i < before.data->size(); ++i) {
      const std::int64_t a = (*before.data)[i], b = (*after.data)[i];
      if (a == b) continue;
      if (!grew(a, b)) return Change::lost;
      any = true;
    }
    return any ? Change::grown : Change::none;
  }
  Change change(const Source& source) const {
    const Value* const before = old_of(source);
    const Value* const after = new_of(source);
    return before == nullptr || after == nullptr ? Change::none : change(*before, *after);
  }

  bool in_conflict(NodeId id) const {
    const Node& at = node(id);
    for (const Source& input : at.inputs) {
      if (change(input) == Change::lost) return false;  // its producer's
    }
    const auto& after = probed_->nodes[index(id)].outputs;
    for (std::size_t i = 0; i < at.outputs.size() && i < after.size(); ++i) {
      if (change(at.outputs[i], after[i]) == Change::lost) return true;
    }
    return is_uneven(at, id);
  }

  /// Operands and result were shaped alike, and no longer are.
  bool is_uneven(const Node& at, NodeId id) const {
    if (at.op == "Reshape" && !at.inputs.empty()) {
      const Value* const read = new_of(at.inputs[0]);
      const Value* const made = output_of(*probed_, {id, 0});
      return read != nullptr && made != nullptr && read->fully_known() && made->fully_known() &&
             product(read->dims) != product(made->dims);
    }
    if (at.op == "Slice") return cuts_batch(at, id);
    if (at.op.starts_with("Concat")) return joins_unevenly(at);
    if (at.outputs.empty() || is_product(at.op)) return false;
    const Value& result = at.outputs[0];
    if (!result.ranked || result.dims.empty()) return false;
    bool grown = false, same = false;
    for (const Source& input : at.inputs) {
      const Value* const before = old_of(input);
      if (before == nullptr || !before->ranked || before->dims != result.dims) continue;
      (change(input) == Change::grown ? grown : same) = true;
    }
    return grown && same;
  }

  /// Joined parts agree in all dimensions but one: a part has not grown where its neighbour has.
  bool joins_unevenly(const Node& at) const {
    if (at.outputs.empty()) return false;
    const Dims& joined = at.outputs[0].dims;
    std::vector<int> grown(joined.size(), 0), same(joined.size(), 0);
    for (const Source& input : at.inputs) {
      const Value* const before = old_of(input);
      const Value* const after = new_of(input);
      if (before == nullptr || after == nullptr || before->dims.size() != joined.size() ||
          after->dims.size() != joined.size()) {
        continue;
      }
      for (std::size_t i = 0; i < joined.size(); ++i) {
        if (before->dims[i] != joined[i]) continue;  // the dimension along which they are joined
        (grew(before->dims[i], after->dims[i]) ? grown : same)[i] = 1;
      }
    }
    for (std::size_t i = 0; i < joined.size(); ++i) {
      if (grown[i] == 1 && same[i] == 1) return true;
    }
    return false;
  }

  /// A slice of all rows no longer has all of them.
  bool cuts_batch(const Node& at, NodeId id) const {
    const Value* const read = at.inputs.empty() ? nullptr : old_of(at.inputs[0]);
    const Value* const made = output_of(stated_, {id, 0});
    if (read == nullptr || made == nullptr || read->dims.size() != made->dims.size()) return false;
    const Value& now = *new_of(at.inputs[0]);
    const Value& rest = *output_of(*probed_, {id, 0});
    for (std::size_t i = 0; i < read->dims.size() && i < now.dims.size() && i < rest.dims.size();
         ++i) {
      if (read->dims[i] == made->dims[i] && grew(read->dims[i], now.dims[i]) &&
          now.dims[i] != rest.dims[i]) {
        return true;
      }
    }
    return false;
  }

  /// Whether a new site may explain the conflict.
  bool blame(NodeId id) {
    wanted_.clear();
    const Node& at = node(id);
    if (at.op == "Reshape" && at.inputs.size() > 1) {
      const bool data = change(at.inputs[0]) == Change::grown;
      const Node& sizes = node(at.inputs[1].node);
      if (!data) return false;  // its sizes have grown, which is wrong
      const auto element = aligned(at);
      if (sizes.op == "Const") {
        return element && add({sizes.def, *element, false}, at.inputs[1].node);
      }
      if (element) wanted_ = {(*old_of(at.inputs[1])->data)[*element]};
    } else {
      wanted_ = grown_dims(at);
    }
    std::map<int, std::vector<std::pair<BatchSite, NodeId>>> found;
    std::set<NodeId> seen;
    std::vector<std::pair<NodeId, int>> queue;
    for (const Source& input : at.inputs) {
      if (change(input) == Change::none) queue.emplace_back(input.node, 0);
    }
    for (std::size_t next = 0; next < queue.size(); ++next) {
      const auto [from, depth] = queue[next];
      if (!seen.insert(from).second) continue;
      const Node& maker = node(from);
      if (maker.op == "Const") {
        if (const auto site = site_in(maker)) found[depth].emplace_back(*site, from);
        continue;
      }
      if (is_variable(maker.op) || is_fed(maker.op) || !carries(from)) continue;
      for (const Source& input : maker.inputs) queue.emplace_back(input.node, depth + 1);
    }
    for (const auto& [depth, sites] : found) {
      bool any = false;
      for (const auto& [site, from] : sites) any = add(site, from) || any;
      if (any) return true;
    }
    return false;
  }

  bool ban_read(const Node& at) {
    bool any = false;
    for (const Source& input : at.inputs) any = ban(node(input.node)) || any;
    return any;
  }

  /// Rows that are there for every sample are not repeated for every sample.
  bool ban_repeats() {
    bool any = false;
    for (const NodeId id : order_) {
      const Node& at = node(id);
      if (at.op != "Tile" || at.inputs.size() != 2 || change(at.inputs[0]) != Change::grown ||
          change(at.inputs[1]) != Change::grown) {
        continue;
      }
      any = ban(node(at.inputs[1].node)) || any;
    }
    return any;
  }

  /// Sizes that grew among those that the node reads, as the file has them.
  std::set<std::int64_t> grown_dims(const Node& at) const {
    std::set<std::int64_t> dims;
    if (is_product(at.op) && !at.op.starts_with("Concat")) return dims;
    for (const Source& input : at.inputs) {
      const Value* const before = old_of(input);
      const Value* const after = new_of(input);
      if (before == nullptr || after == nullptr || before->dims.size() != after->dims.size()) {
        continue;
      }
      for (std::size_t i = 0; i < before->dims.size(); ++i) {
        if (grew(before->dims[i], after->dims[i])) dims.insert(before->dims[i]);
      }
    }
    return dims;
  }
  /// Whether a number may be the size that is looked for.
  bool may_be(std::int64_t number) const {
    return wanted_.empty() ? divides(number) : wanted_.contains(number);
  }

  /// Whether an output has a size or number that may be the batch's, and none has grown.
  bool carries(NodeId id) const {
    bool any = false;
    const auto& after = probed_->nodes[index(id)].outputs;
    const auto& before = node(id).outputs;
    for (std::size_t i = 0; i < before.size() && i < after.size(); ++i) {
      if (change(before[i], after[i]) != Change::none) return false;
      for (const std::int64_t dim : before[i].dims) any = any || may_be(dim);
      if (before[i].data == nullptr) continue;
      for (const std::int64_t number : *before[i].data) any = any || may_be(number);
    }
    return any;
  }

  std::optional<BatchSite> site_in(const Node& constant) const {
    if (constant.def == nullptr || constant.outputs.empty()) return std::nullopt;
    const Value& value = constant.outputs[0];
    const auto found = [&](const auto& numbers) -> std::optional<std::size_t> {
      auto place = std::find(numbers.begin(), numbers.end(), size_);
      if (place == numbers.end()) {
        place = std::find_if(numbers.begin(), numbers.end(),
                             [&](std::int64_t number) { return divides(number); });
      }
      if (!wanted_.empty()) {
        place = std::find_if(numbers.begin(), numbers.end(),
                             [&](std::int64_t number) { return wanted_.contains(number); });
      }
      if (place == numbers.end()) return std::nullopt;
      return static_cast<std::size_t>(place - numbers.begin());
    };
    if (value.data != nullptr) {
      const auto element = found(*value.data);
      return element ? std::optional(BatchSite{constant.def, *element, false}) : std::nullopt;
    }
    const auto dimension = found(value.dims);
    return dimension ? std::optional(BatchSite{constant.def, *dimension, true}) : std::nullopt;
  }

  /// The element of a Reshape's sizes behind as many elements as the dimension that grew: rows stay
  /// in order.
  std::optional<std::size_t> aligned(const Node& reshape) const {
    const Value& before = *old_of(reshape.inputs[0]);
    const Value& after = *new_of(reshape.inputs[0]);
    const Value& sizes = *old_of(reshape.inputs[1]);
    if (sizes.data == nullptr || before.dims.size() != after.dims.size()) return std::nullopt;
    std::int64_t stride = 1;
    for (std::size_t i = 0; i < before.dims.size(); ++i) {
      if (before.dims[i] != after.dims[i]) break;
      stride *= before.dims[i];
    }
    std::int64_t passed = 1;
    std::optional<std::size_t> element;
    for (std::size_t i = 0; i < sizes.data->size(); ++i) {
      if (passed > stride) break;
      if (divides((*sizes.data)[i])) element = i;
      passed *= (*sizes.data)[i];
      if (passed > stride && element) break;
    }
    return element;
  }

  bool add(const BatchSite& site, NodeId from) {
    if (site.node == nullptr || !insert(site, from)) return false;
    // Exporters write the same constant for every layer or step.
    const Node& first = node(from);
    for (std::size_t i = 0; i < stated_.nodes.size(); ++i) {
      const Node& other = stated_.nodes[i];
      if (other.op != "Const" || other.def == nullptr || other.def == site.node) continue;
      if (readers_[i] != readers_[index(from)] || last_name(other) != last_name(first)) continue;
      if (same_content(first, other)) insert({other.def, site.index, site.dimension}, kNoNode);
    }
    return true;
  }
  bool insert(const BatchSite& site, NodeId /*from*/) {
    const auto banned = banned_.find(site.node);
    if (banned != banned_.end() && banned->second >= kMostBans) return false;
    if (!sited_.emplace(site.node, site.index).second) return false;
    fixed_.sites.push_back(site);
    return true;
  }
  bool ban(const Node& sizes) {
    const auto of_node = [&](const auto& site) { return site.node == sizes.def; };
    if (sizes.op != "Const" || std::erase_if(fixed_.sites, of_node) == 0) return false;
    std::erase_if(sited_, [&](const auto& site) { return site.first == sizes.def; });
    ++banned_[sizes.def];
    return true;
  }

  static std::string_view last_name(const Node& at) {
    const std::size_t slash = at.name.rfind('/');
    std::string_view name = slash == at.name.npos ? at.name : at.name.substr(slash + 1);
    // "Shape_2" is the third of its kind.
    while (!name.empty() &&
           (std::isdigit(static_cast<unsigned char>(name.back())) != 0 || name.back() == '_')) {
      name.remove_suffix(1);
    }
    return name;
  }
  static bool same_content(const Node& a, const Node& b) {
    if (a.outputs.empty() || b.outputs.empty()) return false;
    const Value &x = a.outputs[0], &y = b.outputs[0];
    if (x.type != y.type || x.dims != y.dims || (x.data == nullptr) != (y.data == nullptr)) {
      return false;
    }
    return x.data == nullptr || *x.data == *y.data;
  }

  /// Means over the batch end in a division by a constant that counts its elements.
  void find_divisors() {
    for (const NodeId id : order_) {
      const Node& at = node(id);
      if ((at.op != "RealDiv" && at.op != "Div") || at.inputs.size() != 2) continue;
      const Node& constant = node(at.inputs[1].node);
      if (constant.op != "Const" || constant.outputs.empty()) continue;
      const auto number = constant.outputs[0].number(0);
      if (constant.outputs[0].content_size() != 1 || !number || *number < 1 ||
          std::fmod(*number, static_cast<double>(size_)) != 0) {
        continue;
      }
      const Source& dividend = at.inputs[0];
      const Value* const value = old_of(dividend);
      const bool is_number = value != nullptr && value->ranked && value->dims.empty();
      const bool counts = change(dividend) == Change::grown
                              ? repeats(stated_, dividend.node) == *number &&
                                    repeats(*probed_, dividend.node) != *number
                              : is_number && sums_samples(dividend.node);
      if (counts) insert({constant.def, 0, false}, kNoNode);
    }
  }
  /// Whether a number is made of a sum over the batch: a mean is divided already.
  bool sums_samples(NodeId id) const {
    std::vector<NodeId> queue = {id};
    std::set<NodeId> seen = {id};
    for (std::size_t next = 0; next < queue.size(); ++next) {
      const Node& at = node(queue[next]);
      for (const Source& input : at.inputs) {
        if (change(input) == Change::grown) {
          if (at.op != "Mean") return true;
        } else if (seen.insert(input.node).second) {
          queue.push_back(input.node);
        }
      }
    }
    return false;
  }
  /// How many times the op repeats what it reads; 0 for one that does not.
  static double repeats(const Program& program, NodeId id) {
    const Node& at = program.nodes[index(id)];
    if ((at.op != "Tile" && at.op != "BroadcastTo" && at.op != "Fill") || at.outputs.empty()) {
      return 0;
    }
    const std::int64_t after = product(at.outputs[0].dims);
    const Value* const from = at.op == "Fill" ? nullptr : output_of(program, at.inputs[0]);
    const std::int64_t before = from == nullptr ? 1 : product(from->dims);
    return before > 0 ? static_cast<double>(after) / static_cast<double>(before) : 0;
  }

  const Program& stated_;
  std::span<const NodeId> order_;
  std::int64_t size_;
  const std::string& file_;
  const Program* probed_ = nullptr;
  std::set<std::int64_t> wanted_;  // sizes that a conflict is about; empty = not known
  FixedBatch fixed_;
  std::set<std::pair<const NodeDef*, std::size_t>> sited_;
  std::map<const NodeDef*, int> banned_;  // how often: what it is beside may grow later

  std::vector<std::vector<std::pair<std::string_view, std::size_t>>> readers_;
};

}  // namespace

std::optional<std::int64_t> stated_batch(const Program& program) {
  std::optional<std::int64_t> batch;
  for (const Node& node : program.nodes) {
    if (!is_fed(node.op)) continue;
    for (const Value& value : node.outputs) {
      const bool weight = ops::tf::is_float_type(value.type) &&
                          frontend::input_name(node.name) == frontend::InputName::weight;
      if (weight || !value.ranked || value.dims.empty()) continue;
      if (value.dims[0] == kUnknownDim || (batch && *batch != value.dims[0])) return std::nullopt;
      batch = value.dims[0];
    }
  }
  return batch && *batch > 1 ? batch : std::nullopt;
}

FixedBatch find_batch(const Program& stated, std::span<const NodeId> order, std::int64_t size,
                      const std::string& file,
                      const std::function<Program(const FixedBatch&, std::int64_t)>& at) {
  return Search(stated, order, size, file).run(at);
}

}  // namespace berth::tf_frontend
