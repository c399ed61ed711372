// Searches until it is told to stop; its best so far is everything on the first device. Says that
// it has started by making the file that BERTH_TEST_STARTED names.
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "berth/plugin.h"

namespace {

class Patient : public berth::Policy {
 public:
  berth::PolicyAnswer place(berth::Evaluator& evaluator,
                            const berth::PlaceContext& context) override {
    const berth::Problem& problem = evaluator.problem();
    if (const char* file = std::getenv("BERTH_TEST_STARTED")) std::ofstream(file) << "started";
    while (!context.should_stop()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return berth::Placement(static_cast<std::size_t>(problem.graph().op_count()), 0);
  }
};

}  // namespace

BERTH_PLUGIN(Patient, "patient", "1.0", "waits until it is told to stop");
