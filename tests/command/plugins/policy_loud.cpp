// Prints to standard output in every way that a library might, and places everything on the first
// device.
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <string_view>

#include "berth/plugin.h"

namespace {

class Loud : public berth::Policy {
 public:
  Loud() { std::puts("loud: made"); }

  berth::PolicyAnswer place(berth::Evaluator& evaluator, const berth::PlaceContext&) override {
    const berth::Problem& problem = evaluator.problem();
    std::printf("***Cannot bisect a graph with 0 vertices!\n");
    std::cout << "loud: places" << std::endl;
    constexpr std::string_view kText = "loud: writes\n";
    [[maybe_unused]] const auto written = write(STDOUT_FILENO, kText.data(), kText.size());
    return berth::Placement(static_cast<std::size_t>(problem.graph().op_count()), 0);
  }
};

}  // namespace

BERTH_PLUGIN(Loud, "loud", "1.0", "prints to standard output");
