// A placement's file, and what simulating it gives.
#include <utility>

#include "berth/files.h"
#include "berth/run.h"
#include "files/json_reader.h"
#include "host/replica_steps.h"

namespace berth {

StoredPlacement read_placement(const std::filesystem::path& path) {
  StoredPlacement stored;
  stored.path = path.string();
  stored.text = read_text(path);
  const Json document = parse_json(stored.text, stored.path);
  const auto text = [](const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  stored.settings.inputs = "any";            // it says itself where they are
  if (!document.is_object()) return stored;  // parse_placement says what is wrong with it
  stored.machine = text(document, "cluster");
  if (const auto made = document.find("provenance"); made != document.end() && made->is_object()) {
    stored.origin.policy = text(*made, "policy");
    stored.origin.model = text(*made, "model");
    stored.origin.whose = text(*made, "whose");
    stored.origin.weights = text(*made, "weights");
    stored.origin.measured_on = text(*made, "measured_on");
    const auto seed = made->find("seed");
    if (seed != made->end() && seed->is_number_unsigned()) stored.origin.seed = *seed;
  }
  if (const auto results = document.find("results");
      results != document.end() && results->is_object()) {
    const auto runtime = results->find("runtime_us");
    if (runtime != results->end() && runtime->is_number()) stored.runtime_us = *runtime;
  }
  if (const auto settings = document.find("settings"); settings != document.end()) {
    stored.settings.add(parse_settings(settings->dump(), stored.path + ": settings"));
  }
  return stored;
}

Outcome simulate(const Task& task, const StoredPlacement& stored, BoundEffort effort) {
  const Problem& problem = *task.problem;
  Placement placement =
      parse_placement(stored.text, stored.path, problem.graph(), problem.cluster());
  Origin origin = stored.origin;
  origin.model = task.model;
  origin.settings = task.settings;
  std::string separated = separated_text(task, placement);
  Outcome outcome =
      simulated_outcome(task.problem, std::move(origin), std::move(placement), effort);
  outcome.notes = task.notes;
  outcome.tool = task.tool;
  outcome.replicas = task.replicas;
  if (task.plain != nullptr) compare_with_one_device(task.plain, outcome);
  if (std::string other = other_machine_text(task, stored); !other.empty()) {
    outcome.notes.push_back(std::move(other));
  }
  if (!separated.empty()) outcome.notes.push_back(std::move(separated));
  return outcome;
}

}  // namespace berth
