// A placement that was made for another machine than the one it is now read for.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "berth/files.h"
#include "berth/run.h"
#include "berth/support/text.h"

namespace berth {
namespace {

using Json = nlohmann::json;

/// The keys in which two lists of devices or links differ, each behind the item that has it.
void add_differing(const Json& a, const Json& b, const char* list, std::vector<std::string>& keys) {
  if (a[list].size() != b[list].size()) {
    keys.emplace_back(list);
    return;
  }
  for (std::size_t i = 0; i < a[list].size(); ++i) {
    // A key that is left out stands for its default, and is nothing on one side.
    Json both = a[list][i];
    both.update(b[list][i]);
    const std::string name = both.contains("name") ? both["name"].get<std::string>()
                                                   : cat(both["src"].get<std::string>(), " -> ",
                                                         both["dst"].get<std::string>());
    for (const auto& [key, value] : both.items()) {
      if (a[list][i].value(key, Json()) != b[list][i].value(key, Json())) {
        keys.push_back(cat(name, ": ", key));
      }
    }
  }
}

std::string differing_keys(const Cluster& a, const Cluster& b) {
  constexpr std::size_t kShown = 4;
  const Json one = Json::parse(cluster_json(a)), other = Json::parse(cluster_json(b));
  std::vector<std::string> keys;
  for (const char* const list : {"devices", "links"}) add_differing(one, other, list, keys);
  return join(keys, kShown);
}

/// A machine that was looked at: measured figures are not the same twice.
bool is_detected(const Cluster& cluster) {
  return cluster.name().starts_with("detected");
}

}  // namespace

std::string other_machine_text(const Task& task, const StoredPlacement& stored) {
  const Cluster& cluster = task.problem->cluster();
  std::string name = stored.machine;
  std::string fix;
  if (stored.settings.cluster) {
    const auto made = load_cluster(*stored.settings.cluster);
    // A tool's rules may change the links of the problem's.
    const Settings own = parse_settings(task.settings, "settings");
    const auto given = own.cluster ? load_cluster(*own.cluster) : nullptr;
    const Cluster& now = given ? *given : cluster;
    if (cluster_json(*made) == cluster_json(now)) return {};
    name = made->name();
    if (name == cluster.name()) {
      name += cat(" with other figures (", differing_keys(*made, now), ")");
      if (is_detected(now)) {
        fix =
            "; each process looks at `here` anew: `berth devices --cluster here --json > "
            "machine.json` keeps a machine to name instead";
      }
    }
  }
  if (name.empty() || name == cluster.name()) return {};
  return cat("the placement was made for the machine ", name, ", not for ", cluster.name(), fix);
}

}  // namespace berth
