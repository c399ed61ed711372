// Forms: the constants of a published method by one name.
#include "learning/form.h"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "berth/engine.h"
#include "berth/files.h"
#include "berth/sdk/learning.h"
#include "support/paths.h"
#include "support/random_problem.h"
#include "support/temporary_folder.h"

using namespace berth;

namespace {

constexpr OptionSpec kSpecs[] = {{"rate", OptionType::real, "0.5", "a rate"},
                                 {"look", OptionType::boolean, "true", "whether it looks"},
                                 {"size", OptionType::integer, "4", "a size"},
                                 learning::kFormOption};
constexpr learning::FormValue kPaper[] = {{"rate", "1e-3"}, {"look", "false"}};

/// What the papers say, spelled out. Small where a form leaves it open.
const std::map<std::string, OptionTexts> kSpelledOut = {{"placeto",
                                                         {{"grouping", std::string("placeto")},
                                                          {"devices", std::string("one_hot")},
                                                          {"aggregate", std::string("mean_pools")},
                                                          {"rounds", std::int64_t{8}},
                                                          {"layers", std::int64_t{2}},
                                                          {"lookahead", false},
                                                          {"samples", std::int64_t{8}},
                                                          {"learning_rate", 1e-3},
                                                          {"entropy", 1.0},
                                                          {"reward", std::string("seconds")},
                                                          {"baseline", std::string("steps")},
                                                          {"discount", 1.0},
                                                          {"advantages", std::string("plain")},
                                                          {"starts", std::string("random")},
                                                          {"max_norm", 1.25}}},
                                                        {"seq2seq",
                                                         {{"hidden", std::int64_t{512}},
                                                          {"aligned", false},
                                                          {"temperature", 10.0},
                                                          {"tanh_constant", 5.0},
                                                          {"persistence", 0.0},
                                                          {"samples", std::int64_t{8}},
                                                          {"learning_rate", 1e-3},
                                                          {"entropy", 0.0},
                                                          {"reward", std::string("root")},
                                                          {"baseline", std::string("average")},
                                                          {"advantages", std::string("plain")},
                                                          {"max_norm", 1.0}}},
                                                        {"hdp",
                                                         {{"groups", std::int64_t{256}},
                                                          {"aligned", false},
                                                          {"grouping_prior", 0.0},
                                                          {"groupings", std::int64_t{1}},
                                                          {"samples", std::int64_t{4}},
                                                          {"learning_rate", 0.1},
                                                          {"entropy", 0.0},
                                                          {"reward", std::string("root")},
                                                          {"baseline", std::string("average")},
                                                          {"advantages", std::string("plain")},
                                                          {"max_norm", 1.0}}}};

struct Trained {
  Placement placement;
  std::string weights;  ///< the checkpoint
};

Trained trained(const std::string& name, OptionTexts options) {
  static Engine engine({test::plugin_folder()});
  Random random(5);
  const auto graph = test::random_graph(random, {.ops = 12, .edge_chance = 0.3});
  const auto cluster = test::random_cluster(random, {.devices = 3, .host = true});
  const auto costs = test::random_costs(random, *graph, *cluster, 100);
  const auto evaluator =
      make_simulation_evaluator(std::make_shared<const Problem>(graph, cluster, costs), 1);
  options["episodes"] = std::int64_t{3};
  const auto policy = engine.make_policy(name, options);
  PlaceContext context;
  context.seed = 7;
  Trained result;
  result.placement = policy->place(*evaluator, context).placement;
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "weights";
  dynamic_cast<LearnedPolicy&>(*policy).save(file, "");
  result.weights = read_file(file);
  return result;
}

TEST_CASE("a form sets what is not given, and nothing where it is 'own'") {
  Options options(kSpecs);
  CHECK(learning::with_form(options, "p", kPaper).real("rate") == 0.5);
  options.set("p", "form", std::string("published"));
  Options formed = learning::with_form(options, "p", kPaper);
  CHECK(formed.real("rate") == 1e-3);
  CHECK_FALSE(formed.boolean("look"));
  CHECK(formed.integer("size") == 4);
  options.set("p", "rate", 0.25);
  formed = learning::with_form(options, "p", kPaper);
  CHECK(formed.real("rate") == 0.25);
  CHECK_FALSE(formed.boolean("look"));
  options.set("p", "look", std::string("true"));  // its default, and the caller's wish
  CHECK(learning::with_form(options, "p", kPaper).boolean("look"));
}

TEST_CASE("the published forms are what they spell out") {
  for (const auto& [name, options] : kSpelledOut) {
    CAPTURE(name);
    const Trained by_form = trained(name, {{"form", std::string("published")}});
    const Trained spelled = trained(name, options);
    CHECK(by_form.placement == spelled.placement);
    CHECK(by_form.weights == spelled.weights);
    // And no option of it is idle: each of them makes other weights.
    CHECK(by_form.weights != trained(name, {}).weights);
  }
}

TEST_CASE("an option beside a form is the caller's") {
  OptionTexts options = kSpelledOut.at("placeto");
  options["learning_rate"] = 5e-4;
  const Trained beside =
      trained("placeto", {{"form", std::string("published")}, {"learning_rate", 5e-4}});
  CHECK(beside.weights == trained("placeto", options).weights);
}

TEST_CASE("training options do what they say: each changes what is learned") {
  const std::string own = trained("placeto", {{"weights", std::string("none")}}).weights;
  const OptionTexts others[] = {{{"reward", std::string("seconds")}},
                                {{"baseline", std::string("average")}},
                                {{"baseline", std::string("best")}},
                                {{"discount", 0.5}},
                                {{"advantages", std::string("plain")}},
                                {{"starts", std::string("random")}},
                                {{"max_norm", 0.01}}};
  for (OptionTexts options : others) {
    CAPTURE(options.begin()->first);
    options["weights"] = std::string("none");
    CHECK(trained("placeto", options).weights != own);
  }
}

}  // namespace
