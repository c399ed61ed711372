// Which profiles are kept as one.
#include "command/profile_cache.h"

#include <doctest/doctest.h>

#include <optional>

#include "berth/sdk/ops/constants.h"
#include "berth/sdk/program.h"

using namespace berth;

TEST_CASE("a profile is not that of a loop that runs another number of times") {
  const auto file = [](std::optional<double> rounds) {
    GraphBuilder builder("loop", "onnx");
    const OpId input = builder.add_op("count", "Input");
    builder.add_output(input, {DType::i64, true, {}, kUnknownBytes});
    if (rounds) builder.set_attribute(input, std::string(ops::kKnownNumber), *rounds);
    Program program;
    program.graph = builder.build();
    program.inputs = {input};
    return command::ProfileCache(program, "machine", "settings").file("costs");
  };
  CHECK(file(10) == file(10));
  CHECK(file(10) != file(50));
  CHECK(file(1) != file(std::nullopt));
}
