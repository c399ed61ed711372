#include "berth/needs.h"

#include <optional>
#include <vector>

#include "berth/blocks.h"
#include "berth/error.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "support/units.h"

namespace berth {
namespace {

constexpr std::size_t kShown = 6;

std::optional<Blocks> blocks_of(const Graph& graph) {
  try {
    return Blocks(graph);
  } catch (const Error&) {
    return std::nullopt;  // nothing in it has the name of a module
  }
}

/// "model.layers.0 to 14": runs of a list as one.
std::string names_of(const Blocks& blocks, const std::vector<BlockId>& some) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < some.size();) {
    const Block& first = blocks[some[i]];
    std::size_t end = i + 1;
    while (end < some.size() && first.number != kNoBlockNumber &&
           blocks[some[end]].list == first.list &&
           blocks[some[end]].number == blocks[some[end - 1]].number + 1) {
      ++end;
    }
    names.push_back(end - i == 1 ? first.name
                                 : cat(first.name, " to ", blocks[some[end - 1]].number));
    i = end;
  }
  return join(names, kShown);
}

}  // namespace

std::string needs_text(const Outcome& outcome) {
  const Problem& problem = *outcome.problem;
  const std::optional<Blocks> blocks = blocks_of(problem.graph());
  std::string text;
  for (DeviceId device = 0; device < problem.cluster().device_count(); ++device) {
    const std::int64_t needs = outcome.evaluation.peak_bytes[at(device)];
    const std::int64_t room = problem.memory_bytes(device);
    if (room == kNoLimit || needs == 0) continue;
    text += cat(text.empty() ? "" : "; ", problem.cluster().device(device).name, " needs ",
                format_bytes(needs), " of ", format_bytes(room));
    if (!blocks) continue;
    std::vector<BlockId> its;
    for (BlockId block = 0; block < blocks->count(); ++block) {
      for (const OpId op : (*blocks)[block].ops) {
        if (outcome.placement[at(op)] != device || blocks->module_of(op).empty()) continue;
        its.push_back(block);
        break;
      }
    }
    if (!its.empty()) text += cat(" (", names_of(*blocks, its), ")");
  }
  return text;
}

}  // namespace berth
