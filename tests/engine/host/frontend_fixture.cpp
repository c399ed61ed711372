// A frontend of .fixture files that fails as the file's name says.
#include <stdexcept>
#include <string>

#include "berth/plugin.h"

namespace {

class Broken final : public berth::Frontend {
 public:
  [[nodiscard]] bool claims(const std::filesystem::path& model) const override {
    if (model.stem() == "claims") throw std::runtime_error("no idea");
    return model.extension() == ".fixture";
  }
  [[nodiscard]] berth::LoadedModel load(const std::filesystem::path& model,
                                        const berth::LoadOptions&) override {
    if (model.stem() == "throws") throw std::runtime_error("no licence today");
    if (model.stem() == "number") throw 42;
    return {};
  }
};

}  // namespace

BERTH_PLUGIN(Broken, "broken", "1.0", "fails at whatever it is asked");
