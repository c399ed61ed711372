// Fixtures of the published simulator as problems.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "berth/files.h"
#include "berth/problem.h"
#include "support/data.h"

namespace berth::test {

/// `name` of placeto_sim/, which holds graph and cluster in one file; the shared data must be
/// there.
inline std::shared_ptr<const Problem> placeto_fixture(const std::string& name) {
  const auto json = nlohmann::json::parse(read_file(shared_path("placeto_sim/" + name + ".json")));
  const auto graph = parse_graph(json.at("graph").dump(), name);
  const auto cluster = parse_cluster(json.at("cluster").dump(), name);
  ProblemOptions options;
  options.semantics = Semantics::placeto;
  return std::make_shared<const Problem>(graph, cluster, Costs::stated(*graph, *cluster), nullptr,
                                         options);
}

}  // namespace berth::test
