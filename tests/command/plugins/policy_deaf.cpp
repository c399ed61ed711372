// Never ends. Says that it has started, and that it was told to stop, by making the files that
// BERTH_TEST_STARTED and BERTH_TEST_TOLD name.
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "berth/plugin.h"

namespace {

void make_file(const char* variable) {
  if (const char* file = std::getenv(variable)) std::ofstream(file) << "made";
}

class Deaf : public berth::Policy {
 public:
  berth::PolicyAnswer place(berth::Evaluator&, const berth::PlaceContext& context) override {
    make_file("BERTH_TEST_STARTED");
    for (bool told = false;; told = told || context.should_stop()) {
      if (told) make_file("BERTH_TEST_TOLD");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
};

}  // namespace

BERTH_PLUGIN(Deaf, "deaf", "1.0", "never ends");
