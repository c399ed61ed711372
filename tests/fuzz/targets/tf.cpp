// Any bytes as a TensorFlow graph (binary or text, which their content tells), and as a profile.
#include <cstddef>
#include <cstdint>

#include "berth/cluster.h"
#include "berth/files.h"
#include "input_file.h"
#include "refused.h"
#include "tf/frontend.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  static const test::InputFile file("input.pb");
  static const auto cluster = Cluster::preset("k80x2");
  static const auto graph = parse_graph(
      R"({"format": "berth.graph/1", "name": "pair", "edges": [], "ops": [
        {"name": "x", "type": "Placeholder", "cost_us": 1, "output_bytes": [8]},
        {"name": "a", "type": "Relu", "cost_us": 1, "output_bytes": [8]}]})",
      "graph");
  const auto& path = file.write(test::text_of(data, size));

  tf_frontend::TensorFlowFrontend frontend{Options{}};
  static_cast<void>(frontend.claims(path));
  // All that `load` does, and more.
  test::refused([&] { static_cast<void>(frontend.load_program(path, {})); });
  if (frontend.claims_costs(path)) {
    test::refused([&] { static_cast<void>(frontend.load_costs(path, *graph, *cluster)); });
  }
  return 0;
}
