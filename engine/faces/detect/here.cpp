#include "detect/here.h"

#include <algorithm>

#include "berth/files.h"
#include "detect/detected_machine.h"

namespace berth::detect {
namespace {

constexpr std::string_view kHere = "here";

struct Here {
  std::string text;
  std::vector<std::string> notes;
};

const Here& this_machine() {
  static const Here here = [] {
    const MachineFacts facts = read_machine();
    const DetectedMachine machine = machine_of(facts);
    Here made{cluster_json(machine), facts.notes};
    made.notes.insert(made.notes.end(), machine.notes.begin(), machine.notes.end());
    return made;
  }();
  return here;
}

}  // namespace

std::shared_ptr<const Cluster> load_machine(const std::string& machine) {
  return load_cluster(machine == kHere ? this_machine().text : machine);
}

std::vector<std::string> find_here(Settings& settings) {
  bool asked = false;
  const auto find = [&asked](std::string& machine) {
    if (machine != kHere) return;
    machine = this_machine().text;
    asked = true;
  };
  if (settings.cluster) find(*settings.cluster);
  if (settings.clusters) std::for_each(settings.clusters->begin(), settings.clusters->end(), find);
  return asked ? this_machine().notes : std::vector<std::string>();
}

}  // namespace berth::detect
