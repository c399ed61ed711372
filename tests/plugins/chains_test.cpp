#include "auto/chains.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "plugins/small_problem.h"

using namespace berth;
using policies::auto_policy::chains_of;
using namespace berth::test;

namespace {

/// Rows of as many ops; each reads some of the row before.
template <typename Bytes>
std::shared_ptr<const Problem> rows(OpId count, OpId width, int devices, const Bytes& bytes) {
  std::vector<SmallDevice> all;
  for (int d = 0; d < devices; ++d) all.push_back({std::to_string(d), "x"});
  std::vector<SmallEdge> edges;
  for (OpId row = 1; row < count; ++row) {
    for (OpId to = 0; to < width; ++to) {
      for (OpId from = 0; from < width; ++from) {
        const std::int64_t sent = bytes(from, to);
        if (sent > 0) edges.push_back({(row - 1) * width + from, row * width + to, sent});
      }
    }
  }
  return small_problem(all, std::vector<SmallOp>(static_cast<std::size_t>(count * width), {{1}}),
                       edges);
}

/// Whether every op is in one chain with that of its column in every row.
bool are_columns(const Groups& chains, OpId count, OpId width) {
  if (chains.count() != width) return false;
  for (OpId op = width; op < count * width; ++op) {
    if (chains.of(op) != chains.of(op % width)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("auto: chains follow the heaviest input") {
  const auto problem = rows(6, 4, 2, [](OpId from, OpId to) {
    return from == to ? 100 : from < to ? 10 : 20;
  });
  const auto chains = chains_of(*problem);
  REQUIRE(chains);
  CHECK(are_columns(*chains, 6, 4));
}

TEST_CASE("auto: among inputs as heavy chains follow the one whose readers read the same") {
  // A stencil in two dimensions, whose borders have fewer inputs.
  constexpr OpId kSide = 5;
  const auto problem = rows(6, kSide * kSide, 4, [](OpId from, OpId to) {
    const OpId apart = std::abs(from / kSide - to / kSide) + std::abs(from % kSide - to % kSide);
    return apart <= 1 ? 100 : 0;
  });
  const auto chains = chains_of(*problem);
  REQUIRE(chains);
  CHECK(are_columns(*chains, 6, kSide * kSide));
}

TEST_CASE("auto: no chains where there are fewer than devices, or short ones") {
  const auto straight = [](OpId from, OpId to) { return from == to ? 100 : 0; };
  CHECK(chains_of(*rows(4, 3, 3, straight)) != nullptr);
  CHECK(chains_of(*rows(4, 3, 4, straight)) == nullptr);
  CHECK(chains_of(*rows(3, 3, 3, straight)) == nullptr);
}
