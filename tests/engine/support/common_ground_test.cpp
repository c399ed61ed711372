// What the public headers of berth/support promise.
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "berth/support/disjoint_sets.h"
#include "berth/support/index.h"
#include "berth/support/rows.h"
#include "berth/support/score.h"
#include "berth/support/sums.h"
#include "berth/support/text.h"

namespace berth {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::string letters(std::span<const char> row) {
  return {row.begin(), row.end()};
}

}  // namespace

TEST_CASE("at turns ids of any width into indices") {
  CHECK(at(std::int32_t{7}) == 7);
  CHECK(at(std::int64_t{1} << 40) == std::size_t{1} << 40);
  static_assert(at(3) == 3);
}

TEST_CASE("DisjointSets") {
  DisjointSets sets(6);
  SUBCASE("starts with every element alone") {
    CHECK(sets.names() == std::vector<std::int32_t>{0, 1, 2, 3, 4, 5});
  }
  SUBCASE("merge keeps the second name") {
    CHECK(sets.merge(0, 3));
    CHECK(sets.merge(5, 0));
    CHECK_FALSE(sets.merge(3, 5));
    CHECK(sets.names() == std::vector<std::int32_t>{3, 1, 2, 3, 4, 3});
  }
  SUBCASE("merge_to_smallest names a set by its smallest element, whatever the order") {
    CHECK(sets.merge_to_smallest(5, 4));
    CHECK(sets.merge_to_smallest(2, 1));
    CHECK(sets.merge_to_smallest(5, 2));
    CHECK_FALSE(sets.merge_to_smallest(4, 1));
    CHECK(sets.names() == std::vector<std::int32_t>{0, 1, 1, 3, 1, 1});
  }
  SUBCASE("grows") {
    CHECK(sets.add() == 6);
    CHECK(sets.size() == 7);
    sets.merge(6, 2);
    CHECK(sets.find(6) == 2);
  }
  SUBCASE("a long chain is one set") {
    DisjointSets chain(100000);
    for (std::int32_t i = 1; i < 100000; ++i) chain.merge(i - 1, i);
    CHECK(chain.find(0) == 99999);
  }
}

TEST_CASE("Rows") {
  SUBCASE("are filled one after the other") {
    Rows<char> rows;
    CHECK(rows.empty());
    rows.push_back('a');
    rows.push_back('b');
    rows.end_row();
    rows.end_row();
    rows.push_back('c');
    CHECK(letters(rows.open_row()) == "c");
    rows.end_row();
    CHECK(rows.size() == 3);
    CHECK(letters(rows[0]) == "ab");
    CHECK(rows[1].empty());
    CHECK(letters(rows[std::int64_t{2}]) == "c");
    CHECK(letters(rows.items()) == "abc");
    rows[2][0] = 'd';
    CHECK(letters(rows.items()) == "abd");
    rows.clear();
    CHECK(rows.empty());
  }
  SUBCASE("collect sorts by row and keeps the order within") {
    const auto rows = Rows<char>::collect(3, [](const auto& report) {
      report(2, 'x');
      report(0, 'y');
      report(2, 'a');
    });
    CHECK(rows.size() == 3);
    CHECK(letters(rows[0]) == "y");
    CHECK(rows[1].empty());
    CHECK(letters(rows[2]) == "xa");
  }
}

TEST_CASE("a smaller excess ranks first, then a smaller objective") {
  CHECK(better(Score{9, 0}, Score{1, 5}));
  CHECK(better(Score{9, 4}, Score{1, 5}));
  CHECK(better(Score{1, 5}, Score{2, 5}));
  CHECK_FALSE(better(Score{2, 5}, Score{2, 5}));
}

TEST_CASE("sums of sizes") {
  CHECK(saturating_sum(2, 3) == 5);
  CHECK(saturating_sum(kMost, 1) == kMost);
  CHECK(saturating_product(6, 7) == 42);
  CHECK(saturating_product(std::int64_t{1} << 40, std::int64_t{1} << 40) == kMost);
  std::int64_t sum = 1;
  CHECK(add_bytes(sum, 2));
  CHECK(sum == 3);
  CHECK_FALSE(add_bytes(sum, kMost));
  CHECK(sum == 3);
}

TEST_CASE("lists of names") {
  CHECK(split_names("topo,,heft,") == std::vector<std::string>{"topo", "heft"});
  CHECK(split_names("").empty());
  CHECK(join({"a", "b", "c"}) == "a, b, c");
  CHECK(join({"a", "b", "c"}, 2) == "a, b, ... (1 more)");
  CHECK(cat("op ", 3, " of '", std::string("g"), "'") == "op 3 of 'g'");
}

TEST_CASE("an unknown name is answered with the known ones") {
  CHECK(known_names("topi", {"topo", "heft"}) == "; did you mean 'topo'? Known: heft, topo.");
  CHECK(known_names("xyz", {}) == ". Known: none.");
  CHECK(closest_name("completely different", {"topo"}).empty());
  // Two letters that changed places are one slip.
  CHECK(closest_name("plcae", {"place", "name"}) == "place");
  CHECK(closest_name("ehft", {"heft"}) == "heft");
  CHECK(closest_name("ecalp", {"place"}).empty());
}

}  // namespace berth
