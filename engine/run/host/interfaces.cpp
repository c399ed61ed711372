// Key functions of the plugin interfaces: their type information exists only in the engine.
#include "berth/backend.h"
#include "berth/error.h"
#include "berth/evaluator.h"
#include "berth/frontend.h"
#include "berth/policy.h"
#include "berth/support/text.h"

namespace berth {

Policy::~Policy() = default;
Frontend::~Frontend() = default;
Session::~Session() = default;
Backend::~Backend() = default;

LoadedProgram Frontend::load_program(const std::filesystem::path& model, const LoadOptions&) {
  throw Error(ErrorCode::unsupported,
              cat(model.string(),
                  ": its frontend cannot give what executing it needs; measure an .onnx or a "
                  "TensorFlow model"));
}

void Frontend::annotate(const std::filesystem::path& model, const Graph&, const Cluster&,
                        const Placement&, const std::filesystem::path&) {
  throw Error(ErrorCode::unsupported,
              cat(model.string(),
                  ": its frontend cannot write placements back into such a file; "
                  "use -o for a placement file"));
}

bool Frontend::claims_costs(const std::filesystem::path&) const {
  return false;
}

LoadedCosts Frontend::load_costs(const std::filesystem::path& costs, const Graph&, const Cluster&) {
  throw Error(ErrorCode::unsupported,
              cat(costs.string(), ": this frontend reads no costs; use a berth.costs/1 file"));
}

}  // namespace berth
