// The kernels against what the engine knows of ops.
#include <doctest/doctest.h>
#include <onnx/defs/schema.h>

#include "berth/error.h"
#include "berth/sdk/ops/op.h"
#include "runtime/onnx/kernels.h"
#include "runtime/onnx/known.h"
#include "runtime/tf/kernels.h"
#include "support/expect_error.h"

namespace berth::runtime {
namespace {

TEST_CASE("the shapes of every op that has a kernel follow from a rule") {
  for (const auto& [type, maker] : tf_kernels().makers()) {
    CAPTURE(type);
    const ops::OpInfo* const op = ops::find_op("tf", type);
    REQUIRE(op != nullptr);
    // A queue gives elements of the shapes that the graph states.
    if (type.starts_with("QueueDequeue")) continue;
    CHECK_MESSAGE((op->shape != nullptr), type);
  }
  for (const auto& [type, maker] : onnx_kernels().makers()) {
    CAPTURE(type);
    const ops::OpInfo* const op = ops::find_op("onnx", type);
    REQUIRE(op != nullptr);
    const std::size_t dot = type.rfind('.');
    const std::string domain = dot == std::string::npos ? "" : type.substr(0, dot);
    const std::string bare = dot == std::string::npos ? type : type.substr(dot + 1);
    const auto* const schema = ::onnx::OpSchemaRegistry::Schema(bare, domain);
    CHECK_MESSAGE((op->shape != nullptr ||
                   (schema != nullptr && schema->has_type_and_shape_inference_function())),
                  type);
  }
}

TEST_CASE(
    "the kernels of ONNX's own ops know what the installed schemas list, and refuse all else") {
  for (const auto& [type, maker] : onnx_kernels().makers()) {
    CAPTURE(type);
    const auto* const schema = ::onnx::OpSchemaRegistry::Schema(type);
    if (schema == nullptr) continue;
    Instruction instruction;
    instruction.type = type;
    for (const auto& [name, attribute] : schema->attributes()) {
      instruction.attributes.emplace_back(name, std::int64_t{0});
    }
    instruction.inputs.resize(schema->inputs().size(), 0);
    CHECK_NOTHROW(onnx::refuse_unknown(instruction));
    instruction.attributes.emplace_back("from_an_op_set_to_come", std::int64_t{0});
    CHECK_THROWS_AS(onnx::refuse_unknown(instruction), Error);
  }
}

TEST_CASE("every op that has a kernel has a rule for its work, or says why it has none") {
  for (const auto& [dialect, registry] :
       {std::pair{"tf", &tf_kernels()}, std::pair{"onnx", &onnx_kernels()}}) {
    for (const auto& [type, maker] : registry->makers()) {
      CAPTURE(type);
      const ops::OpInfo* const op = ops::find_op(dialect, type);
      REQUIRE(op != nullptr);
      CHECK_MESSAGE((op->has_work || !op->no_work_because.empty()), type);
    }
  }
}

TEST_CASE(
    "a layout of one kind of processor is refused with the level that models are saved without it "
    "at") {
  Program program;
  Instruction instruction;
  instruction.type = "com.microsoft.nchwc.Conv";
  test::expect_error(
      ErrorCode::unsupported,
      {"no kernel for ops of type com.microsoft.nchwc.Conv, which",
       "save the model at its level ORT_ENABLE_EXTENDED"},
      [&] {
        static_cast<void>(onnx_kernels().make({program, instruction, onnx_kernels()}));
      });
}

}  // namespace
}  // namespace berth::runtime
