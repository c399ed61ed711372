// The networks of learned policies see a problem's groups as a graph: no edge runs against their
// order, whatever co-location a model brings.
#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "berth/cluster.h"
#include "berth/colocation.h"
#include "berth/engine.h"
#include "berth/problem.h"
#include "berth/sdk/observation.h"
#include "corpus/unpacked.h"
#include "doppler/problem_view.h"
#include "learning/group_features.h"
#include "placeto/graph_view.h"
#include "support/data.h"
#include "support/paths.h"
#include "support/temporary_folder.h"

namespace berth {
namespace {

/// Those of a test: a matrix of doppler has a number for each pair.
constexpr OpId kMostOps = 20000;
constexpr GroupId kGroups = 48;

struct Model {
  std::string file;
  LoadOptions options;
};

/// The rows of the index of tests/corpus/graphs: a file, and the values of its dimensions.
std::vector<Model> kept_models(const std::filesystem::path& folder) {
  std::vector<Model> models;
  std::ifstream index(folder / "index.tsv");
  std::size_t file_column = 0, dims_column = 0;
  for (std::string line; std::getline(index, line);) {
    std::vector<std::string> fields;
    std::istringstream stream(line);
    for (std::string field; std::getline(stream, field, '\t');) fields.push_back(field);
    if (dims_column == 0) {
      for (std::size_t i = 0; i < fields.size(); ++i) {
        if (fields[i] == "file") file_column = i;
        if (fields[i] == "dims") dims_column = i;
      }
      continue;
    }
    Model model{(folder / fields[file_column]).string(), {}};
    std::istringstream dims(dims_column < fields.size() ? fields[dims_column] : "");
    for (std::string each; std::getline(dims, each, ' ');) {
      const auto equals = each.find('=');
      if (equals == std::string::npos) continue;
      model.options.dims[each.substr(0, equals)] = std::stoll(each.substr(equals + 1));
    }
    models.push_back(std::move(model));
  }
  return models;
}

void check_placeto(const Groups& groups) {
  const placeto::GraphView view(groups);
  const auto count = static_cast<std::int32_t>(view.count);
  for (std::int32_t v = 0; v < count; ++v) {
    const auto each = [&](const placeto::Neighbours& neighbours, auto&& visit) {
      for (auto e = neighbours.begin[at(v)]; e < neighbours.begin[at(v) + 1]; ++e) {
        visit(neighbours.to[at(e)]);
      }
    };
    each(view.parents, [&](std::int32_t u) { REQUIRE(u < v); });
    each(view.children, [&](std::int32_t u) { REQUIRE(u > v); });
    for (std::int32_t u = 0; u < count; ++u) {
      // An ancestor of one is a descendant of the other: no pair is both.
      const placeto::Relation to = view.relation(at(v), at(u)), from = view.relation(at(u), at(v));
      REQUIRE((to == placeto::Relation::self) == (u == v));
      REQUIRE((to == placeto::Relation::ancestor) == (from == placeto::Relation::descendant));
      if (to == placeto::Relation::ancestor) REQUIRE(u < v);
    }
  }
}

/// Whether all that is not 0 in a matrix [groups, groups] lies on one side of the diagonal.
void check_triangle(const torch::Tensor& matrix, bool below) {
  REQUIRE((below ? matrix.triu() : matrix.tril()).abs().sum().item<float>() == 0);
}

void check_doppler(const Problem& problem) {
  const doppler::ProblemView view(problem);
  check_triangle(view.from_parents, /*below=*/true);
  check_triangle(view.from_children, /*below=*/false);
  check_triangle(view.path_from_source.triu(1), true);
  check_triangle(view.path_to_sink.tril(-1), false);
  for (std::size_t group = 0; group < view.waiting.size(); ++group) {
    for (const GroupId later : view.waiting[group]) REQUIRE(at(later) > group);
  }
}

/// As seq2seq has them: every group is a label of its own.
void check_sequence(const Problem& problem) {
  const Problem* const problems[] = {&problem};
  const learning::Units units(problem, learning::Vocabulary(problems, 20));
  std::vector<std::int32_t> label(at(problem.groups().count()));
  for (std::size_t i = 0; i < label.size(); ++i) label[i] = static_cast<std::int32_t>(i);
  const learning::Sequence sequence =
      units.sequence(problem, label, static_cast<std::int64_t>(label.size()));
  check_triangle(sequence.inputs, /*below=*/true);
  check_triangle(sequence.outputs, /*below=*/false);
}

void check_orders(const Groups& groups) {
  Random random(1);
  for (const Traversal traversal : {Traversal::breadth_first, Traversal::depth_first}) {
    CHECK(traversal_order(groups, traversal, random).size() == at(groups.count()));
  }
}

struct Shares {
  std::size_t cyclic = 0, groupings = 0;
};

void check_model(Engine& engine, const Model& model, Shares& shares) {
  const auto graph = engine.load(model.file, model.options).graph;
  if (graph->op_count() > kMostOps) return;
  const auto cluster = Cluster::preset("k80x2");
  const auto costs = Costs::stated_or_roofline(*graph, *cluster);
  for (const Grouping grouping : {Grouping::icml2017, Grouping::placeto, Grouping::balanced}) {
    const bool counted = grouping != Grouping::icml2017;
    const auto groups = make_groups(*graph, *costs, grouping,
                                    counted ? std::optional<GroupId>(kGroups) : std::nullopt);
    ++shares.groupings;
    if (!groups->acyclic()) ++shares.cyclic;
    if (groups->count() > 2000) continue;
    CAPTURE(model.file);
    CAPTURE(grouping_name(grouping));
    check_placeto(*groups);
    check_orders(*groups);
    const Problem problem(graph, cluster, costs, groups);
    check_doppler(problem);
    if (counted) check_sequence(problem);
  }
}

TEST_CASE("no edge of what a network sees runs against the order, over the whole corpus") {
  const test::TemporaryFolder folder;
  test::unpack(test::source_path("tests/corpus/graphs"), folder.path());
  Engine engine({test::plugin_folder()});
  std::vector<Model> models = kept_models(folder.path());
  REQUIRE(models.size() > 15);
  for (const char* const name : {"inception_v3_b64", "nmt_b64", "nasnet_b64", "rnnlm_b64"}) {
    models.push_back(
        {test::source_path("examples/models/tf") / (std::string(name) + ".pb.gz"), {}});
  }
  for (const char* const name : {"bert_base", "gpt2", "resnet50", "inception_v3"}) {
    models.push_back({test::source_path("examples/models") / (std::string(name) + ".onnx"), {}});
  }
  Shares shares;
  for (const Model& model : models) check_model(engine, model, shares);
  // Some models bring co-location that no grouping is without cycles for: the test is of them.
  CHECK(shares.cyclic > 0);
  CHECK(shares.groupings > shares.cyclic);
}

}  // namespace
}  // namespace berth
