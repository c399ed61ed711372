// What is called simple, and that making a plan simpler keeps it within its distance.
#include "berth/simplicity.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "berth/error.h"
#include "support/expect_error.h"

namespace berth::test {
namespace {

/// a chain of ops that each take 10 us on device 0 and 11 us on device 1
std::shared_ptr<const Problem> chain(int ops, double bandwidth = 1e12, double latency_us = 0) {
  GraphBuilder builder("chain");
  TensorInfo info;
  info.bytes = 100;
  TensorId last = kNoTensor;
  for (int i = 0; i < ops; ++i) {
    const OpId op = builder.add_op("op" + std::to_string(i), "T");
    if (last != kNoTensor) builder.add_input(op, last);
    last = builder.add_output(op, info);
  }
  const auto cluster =
      std::make_shared<const Cluster>("two", std::vector<Device>{{"a", "a"}, {"b", "b"}},
                                      std::vector<LinkSpec>{{"*", "*", bandwidth, latency_us}});
  const std::vector<double> first(static_cast<std::size_t>(ops), 10),
      second(static_cast<std::size_t>(ops), 11);
  return std::make_shared<const Problem>(
      builder.build(), cluster,
      std::make_shared<const Costs>(std::vector{first, second}, std::vector<std::int64_t>{},
                                    "test"));
}

TEST_CASE("cuts count pieces, transfers count receivers") {
  GraphBuilder builder("fork");
  TensorInfo info;
  info.bytes = 1;
  const OpId source = builder.add_op("source", "T");
  const TensorId tensor = builder.add_output(source, info);
  for (const char* name : {"a", "b", "c"}) builder.add_input(builder.add_op(name, "T"), tensor);
  builder.add_op("alone", "T");
  const auto graph = builder.build();
  CHECK(simplicity_of(*graph, {0, 0, 0, 0, 1}) == Simplicity{0, 0, 2});
  CHECK(simplicity_of(*graph, {0, 1, 1, 0, 0}) == Simplicity{2, 1, 2});
  CHECK(simplicity_of(*graph, {0, 1, 2, 0, 0}) == Simplicity{2, 2, 3});
  CHECK(Simplicity{1, 9, 9} < Simplicity{2, 0, 0});
}

TEST_CASE("the fullest device counts first, then the busiest, then the others") {
  GraphBuilder builder("one");
  builder.add_op("a", "T");
  std::vector<Device> devices = {{"a", "a"}, {"b", "b"}, {"c", "c"}};
  devices[0].memory_bytes = 100;
  devices[1].memory_bytes = 200;
  const auto cluster =
      std::make_shared<const Cluster>("three", devices, std::vector<LinkSpec>{{"*", "*", 1e9, 1}});
  const Problem problem(builder.build(), cluster,
                        std::make_shared<const Costs>(std::vector<std::vector<double>>(3, {1.0}),
                                                      std::vector<std::int64_t>{}, "test"));
  const auto full = [&](std::vector<std::int64_t> peaks, double us) {
    Evaluation evaluation;
    evaluation.peak_bytes = std::move(peaks);
    evaluation.busy_us = {us, 1, 1};
    return fullness_of(problem, evaluation);
  };
  CHECK(full({50, 180, 999}, 7) == Fullness{0.9, 7, {0.9, 0.5, 0}});
  CHECK(full({50, 160, 0}, 9) < full({50, 180, 0}, 7));
  CHECK(full({60, 180, 0}, 7) < full({50, 180, 0}, 9));
  CHECK(full({50, 180, 0}, 7) < full({60, 180, 0}, 7));
}

TEST_CASE("an op with many outputs costs what its edges cost") {
  // Outputs times edges, 4e10, would take minutes.
  constexpr int kOutputs = 200'000;
  GraphBuilder builder("split");
  TensorInfo info;
  info.bytes = 1;
  const OpId source = builder.add_op("source", "Split");
  const OpId first = builder.add_op("first", "T"), second = builder.add_op("second", "T");
  for (int i = 0; i < kOutputs; ++i) {
    const TensorId tensor = builder.add_output(source, info);
    builder.add_input(first, tensor);
    if (i % 2 == 0) builder.add_input(second, tensor);
    if (i % 4 == 0) builder.add_input(second, tensor);
  }
  const auto graph = builder.build();
  CHECK(simplicity_of(*graph, {0, 1, 2}).transfers == kOutputs + kOutputs / 2);
  CHECK(simplicity_of(*graph, {0, 1, 1}).transfers == kOutputs);
  CHECK(simplicity_of(*graph, {0, 0, 0}).transfers == 0);
}

TEST_CASE("pieces that gain too little are moved to their neighbours") {
  const auto problem = chain(10);
  const auto evaluator = make_simulation_evaluator(problem);
  // 100 us on a alone; every op on b is 1 us slower.
  const Placement scattered = {0, 1, 0, 0, 1, 0, 0, 0, 1, 0};
  const std::vector<Placement> one = {scattered};
  const Placement all = simplest_within(*evaluator, one, 0, {});
  CHECK(all == Placement(10, 0));
  // Within 10 % of 100 us, one device is as simple whichever it is: the best stays.
  const std::vector<Placement> candidates = {Placement(10, 0), Placement(10, 1)};
  CHECK(simplest_within(*evaluator, candidates, 0.1, {}) == Placement(10, 0));
}

/// Two devices of a kind each, with the costs of either, by op.
std::shared_ptr<const Problem> on_two_kinds(const std::shared_ptr<const Graph>& graph,
                                            const std::vector<double>& first,
                                            const std::vector<double>& second) {
  return std::make_shared<const Problem>(
      graph,
      std::make_shared<const Cluster>("two", std::vector<Device>{{"a", "a"}, {"b", "b"}},
                                      std::vector<LinkSpec>{{"*", "*", 1e12, 0}}),
      std::make_shared<const Costs>(std::vector{first, second}, std::vector<std::int64_t>{},
                                    "test"));
}

TEST_CASE("pieces of one device are joined by what lies between them") {
  // Experts that are quick on device 1 alone, and sums of theirs that gain 1 us on device 0.
  constexpr int kExperts = 5;
  GraphBuilder builder("experts");
  TensorInfo info;
  info.bytes = 8;
  std::vector<double> first, second;
  const auto add = [&](const std::string& name, double on_first, double on_second) {
    first.push_back(on_first);
    second.push_back(on_second);
    return builder.add_op(name, "T");
  };
  Placement scattered;
  const OpId source = add("source", 10, 1000);
  const TensorId read = builder.add_output(source, info);
  scattered.push_back(0);
  TensorId sum = read;
  for (int i = 0; i < kExperts; ++i) {
    const OpId expert = add("expert" + std::to_string(i), 1000, 100);
    builder.add_input(expert, read);
    const TensorId made = builder.add_output(expert, info);
    const OpId adds = add("sum" + std::to_string(i), 1, 2);
    builder.add_input(adds, made);
    builder.add_input(adds, sum);
    sum = builder.add_output(adds, info);
    scattered.insert(scattered.end(), {1, 0});
  }
  const OpId end = add("end", 10, 1000);
  builder.add_input(end, sum);
  builder.add_input(end, read);
  scattered.push_back(0);
  const auto graph = builder.build();
  const auto problem = on_two_kinds(graph, first, second);
  const auto evaluator = make_simulation_evaluator(problem);
  CHECK(simplicity_of(*graph, scattered).cuts == kExperts);
  const std::vector<Placement> one = {scattered};
  const Placement joined = simplest_within(*evaluator, one, 0.03, {});
  CHECK(simplicity_of(*graph, joined).cuts == 1);
  CHECK(evaluator->evaluate(joined).objective_us <=
        1.03 * evaluator->evaluate(scattered).objective_us);
  // A join that would take too long is left undone.
  CHECK(simplicity_of(*graph, simplest_within(*evaluator, one, 0, {})).cuts > 1);
}

TEST_CASE("what is within the distance may be slower, and nothing further is") {
  const auto problem = chain(10);
  const auto evaluator = make_simulation_evaluator(problem);
  // The last two on b: 102 us. A candidate of one cut is not simpler than none.
  const Placement cut = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1};
  const std::vector<Placement> only = {cut};
  CHECK(evaluator->evaluate(simplest_within(*evaluator, only, 0, {})).objective_us <= 102);
  const std::vector<Placement> best_and_other = {Placement(10, 1)};
  CHECK(simplest_within(*evaluator, best_and_other, 0, {}) == Placement(10, 1));
}

TEST_CASE("nothing that fits: the best of them; wrong calls are refused") {
  const auto problem = chain(3);
  const auto evaluator = make_simulation_evaluator(problem);
  expect_error(ErrorCode::invalid_argument, {"simplest"},
               [&] { static_cast<void>(simplest_within(*evaluator, {}, 0, {})); });
  const std::vector<Placement> one = {Placement(3, 0)};
  expect_error(ErrorCode::invalid_argument, {"simplest"},
               [&] { static_cast<void>(simplest_within(*evaluator, one, -1, {})); });
}

TEST_CASE("a plan within 3 % of the best is no slower than that, however simple") {
  // Half of a chain is quicker on either device: 100 us with a cut, 104.5 us without.
  GraphBuilder builder("halves");
  TensorInfo info;
  info.bytes = 100;
  std::vector<double> first, second;
  Placement cut;
  TensorId last = kNoTensor;
  for (int i = 0; i < 10; ++i) {
    const OpId op = builder.add_op("op" + std::to_string(i), "T");
    if (last != kNoTensor) builder.add_input(op, last);
    last = builder.add_output(op, info);
    first.push_back(i < 5 ? 10 : 10.9);
    second.push_back(i < 5 ? 10.9 : 10);
    cut.push_back(i < 5 ? 0 : 1);
  }
  const auto graph = builder.build();
  const auto problem = on_two_kinds(graph, first, second);
  const auto evaluator = make_simulation_evaluator(problem);
  const std::vector<Placement> candidates = {cut, Placement(10, 0), Placement(10, 1)};
  const auto cuts = [&](double within) {
    const Placement found = simplest_within(*evaluator, candidates, within, {});
    CHECK(evaluator->evaluate(found).objective_us <= 100.001 * (1 + within));
    return simplicity_of(*graph, found).cuts;
  };
  CHECK(cuts(0.03) == 1);
  CHECK(cuts(0.044) == 1);
  CHECK(cuts(0.046) == 0);
}

}  // namespace
}  // namespace berth::test
