// The rungs above the network's: the whole policy learns graphs whose optimum `exact` proves.
#include <doctest/doctest.h>

#include <limits>
#include <memory>
#include <string>

#include "berth/engine.h"
#include "berth/evaluator.h"
#include "berth/policy.h"
#include "plugins/placeto_fixture.h"
#include "support/data.h"

using namespace berth;

namespace {

PlaceResult placed(const std::shared_ptr<const Problem>& problem, const std::string& name,
                   const OptionTexts& options) {
  Engine engine({test::plugin_folder()});
  const auto policy = engine.make_policy(name, options);
  const auto evaluator = make_simulation_evaluator(problem);
  PlaceContext context;
  context.seed = 1;
  return place(*policy, *evaluator, context, std::numeric_limits<double>::infinity());
}

}  // namespace

TEST_CASE("chains and crowns: the optimum that exact proves") {
  if (!test::have_shared_data("placeto_sim")) return;
  const struct {
    const char* graph;
    std::int64_t updates;
  } cases[] = {{"chain_8x2", 20}, {"chain_16x3", 0}, {"crown_6x3", 0}, {"crown_12x4", 0}};
  for (const auto& each : cases) {
    CAPTURE(each.graph);
    const auto problem = test::placeto_fixture(each.graph);
    const PlaceResult optimum = placed(problem, "exact", {{"nodes", std::int64_t{100'000'000}}});
    REQUIRE(optimum.gap() < 1e-6);
    const PlaceResult learned =
        placed(problem, "placeto", {{"weights", std::string("none")}, {"episodes", each.updates}});
    CHECK(learned.evaluation.objective_us ==
          doctest::Approx(optimum.evaluation.objective_us).epsilon(1e-9));
  }
}

TEST_CASE("the published form learns a crown from uniform chance") {
  if (!test::have_shared_data("placeto_sim")) return;
  // One-hot devices know nothing of list scheduling: what is better than chance was learned.
  const auto problem = test::placeto_fixture("crown_6x3");
  const OptionTexts fresh = {{"weights", std::string("none")}, {"devices", std::string("one_hot")}};
  OptionTexts training = fresh;
  training["episodes"] = std::int64_t{60};
  const double before = placed(problem, "placeto", fresh).evaluation.objective_us;
  const double after = placed(problem, "placeto", training).evaluation.objective_us;
  const double optimum =
      placed(problem, "exact", {{"nodes", std::int64_t{100'000'000}}}).evaluation.objective_us;
  CHECK(after < before);
  CHECK(after == doctest::Approx(optimum).epsilon(1e-9));
}
