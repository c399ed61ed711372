// Every policy on random problems, against what is known otherwise:
//
//   - placements are valid, keep constraints, co-location and memory, told without the engine's
//   help;
//   - a fresh simulator repeats the objective to the bit;
//   - nothing is below a bound that the engine or any of them has proven, and what `exact` calls
//     proven is the best of all placements, where those are few enough to try them all;
//   - where a policy says that nothing fits although something does, `auto` and `exact` may not;
//   - the answer does not depend on the number of threads, and is there when stopped at once (in
//     which cases, and in which policies that learn take part, is in the README);
//   - what is written is strict JSON and reads back the same.
//
//   differential [--cases N] [--seed S] [--policies a,b] [--budget SECONDS] [--search N]
//
// Case i has seed S + i, so that `--seed X --cases 1` repeats the case that a failure names. With a
// budget, time decides how far searches go, and the longest overrun is told.
//
// --search changes small problems, N times in all, to where `auto` is worst beside the best of the
// other policies (as PISA does with two schedulers: Coleman and Krishnamachari, 2024), and tells
// the worst ratio that it has met.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

#include "adversary.h"
#include "common.h"
#include "tester.h"

using namespace berth::differential;

namespace {

Settings settings_of(int count, char** arguments) {
  Settings settings;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = arguments[i];
    const std::string value = arguments[i + 1];
    if (name == "--cases") {
      settings.cases = std::stoll(value);
    } else if (name == "--seed") {
      settings.seed = std::stoull(value);
    } else if (name == "--budget") {
      settings.budget_s = std::stod(value);
    } else if (name == "--search") {
      settings.search = std::stoll(value);
    } else if (name == "--policies") {
      for (std::size_t begin = 0; begin <= value.size();) {
        const std::size_t end = std::min(value.find(',', begin), value.size());
        settings.policies.insert(value.substr(begin, end - begin));
        begin = end + 1;
      }
    } else {
      throw std::invalid_argument(name);
    }
  }
  if (count % 2 == 0) throw std::invalid_argument(arguments[count - 1]);
  return settings;
}

}  // namespace

int main(int count, char** arguments) {
  report_crashes();
  try {
    const Settings settings = settings_of(count, arguments);
    if (settings.search > 0) {
      search_bad_instances(settings);
      return EXIT_SUCCESS;
    }
    return test_cases(settings) ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const std::exception& error) {
    std::fprintf(stderr,
                 "differential: %s\n"
                 "usage: differential [--cases N] [--seed S] [--policies a,b] [--budget SECONDS] "
                 "[--search N]\n",
                 error.what());
    return 2;
  }
}
