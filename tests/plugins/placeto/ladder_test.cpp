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

double proven_best(const std::shared_ptr<const Problem>& problem) {
  const PlaceResult optimum = placed(problem, "exact", {{"nodes", std::int64_t{100'000'000}}});
  REQUIRE(optimum.gap() < 1e-6);
  return optimum.evaluation.objective_us;
}

/// Of the episodes alone: no search follows them.
double learned(const std::shared_ptr<const Problem>& problem, OptionTexts options,
               std::int64_t updates) {
  options["neighbourhood"] = std::int64_t{0};
  options["weights"] = std::string("none");
  options["episodes"] = updates;
  return placed(problem, "placeto", options).evaluation.objective_us;
}

}  // namespace

TEST_CASE("list scheduling and looking ahead find what exact proves, before anything is learned") {
  if (!test::have_shared_data("placeto_sim")) return;
  for (const char* const graph : {"chain_8x2", "chain_16x3", "crown_6x3", "crown_12x4"}) {
    CAPTURE(graph);
    const auto problem = test::placeto_fixture(graph);
    CHECK(learned(problem, {}, 0) == doctest::Approx(proven_best(problem)).epsilon(1e-9));
  }
}

TEST_CASE("training finds what looking ahead does not") {
  if (!test::have_shared_data("placeto_sim")) return;
  // Too large for a proof; auto finds 2524.
  const auto problem = test::placeto_fixture("layered_40_d2");
  CHECK(learned(problem, {}, 0) > 2750);
  CHECK(learned(problem, {}, 20) < 2550);
}

TEST_CASE("the published form learns from uniform chance") {
  if (!test::have_shared_data("placeto_sim")) return;
  // One-hot devices know nothing of list scheduling: what is better than chance was learned.
  const OptionTexts published = {{"devices", std::string("one_hot")}};
  const auto crown = test::placeto_fixture("crown_6x3");
  const double optimum = proven_best(crown);
  CHECK(learned(crown, published, 0) > optimum * (1 + 1e-9));
  CHECK(learned(crown, published, 60) == doctest::Approx(optimum).epsilon(1e-9));
  const auto layered = test::placeto_fixture("layered_40_d2");
  CHECK(learned(layered, published, 20) < 0.8 * learned(layered, published, 0));
}
