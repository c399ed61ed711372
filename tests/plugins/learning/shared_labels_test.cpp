#include "learning/shared_labels.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/graph.h"

using namespace berth;

namespace {

/// Ops that none reads, each a group, on "cpu", "gpu" and "npu": a letter names the one kind that can run it,
/// '*' all.
Problem problem_of(std::string_view kinds) {
  GraphBuilder builder("labels");
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const OpId op = builder.add_op("n" + std::to_string(i), "Op");
    for (const char* kind : {"cpu", "gpu", "npu"}) {
      if (kinds[i] == '*' || kinds[i] == kind[0]) builder.set_cost(op, kind, 1);
    }
  }
  const auto graph = builder.build();
  std::vector<Device> devices(3);
  devices[0].name = devices[0].kind = "cpu";
  devices[1].name = devices[1].kind = "gpu";
  devices[2].name = devices[2].kind = "npu";
  LinkSpec link;
  link.src = link.dst = "*";
  link.bandwidth_bytes_per_s = 1e9;
  const auto cluster =
      std::make_shared<const Cluster>("three", devices, std::vector<LinkSpec>{link});
  return {graph, cluster, Costs::stated(*graph, *cluster)};
}

using Labels = std::vector<std::int32_t>;

}  // namespace

TEST_CASE("groups share labels with those that may be on the same devices") {
  // In order of their sets of devices: npu, gpu, cpu, all.
  CHECK(learning::shared_labels(problem_of("cgg"), 2) == Labels{1, 0, 0});
  CHECK(learning::shared_labels(problem_of("gcgcg"), 3) == Labels{0, 2, 0, 2, 1});
  CHECK(learning::shared_labels(problem_of("ncggg*"), 4) == Labels{0, 2, 1, 1, 1, 3});
}

TEST_CASE("groups of one set of devices share labels evenly, in their order") {
  CHECK(learning::shared_labels(problem_of("*****"), 5) == Labels{0, 1, 2, 3, 4});
  CHECK(learning::shared_labels(problem_of("*****"), 3) == Labels{0, 0, 1, 1, 2});
}

TEST_CASE("groups of other devices share a label where there are too few") {
  CHECK(learning::shared_labels(problem_of("ncg"), 2) == Labels{0, 1, 0});
}
