// What verify must notice, and what it must not mind.
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "scripted.h"
#include "support/expect_error.h"

namespace berth::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <typename Element>
TensorContent content(DType dtype, std::vector<std::int64_t> shape,
                      const std::vector<Element>& elements) {
  auto owner = std::make_shared<std::vector<Element>>(elements);
  TensorContent made;
  made.dtype = dtype;
  made.shape = std::move(shape);
  made.bytes = std::as_bytes(std::span<const Element>(*owner));
  made.owner = std::move(owner);
  return made;
}

TensorContent floats(const std::vector<double>& elements) {
  return content(DType::f32, {static_cast<std::int64_t>(elements.size())},
                 std::vector<float>(elements.begin(), elements.end()));
}

const Placement kScattered = {0, 1, 0};

/// Verifies kScattered where one device gives `expected` and the placement gives `got`.
Verification verified(const TensorContent& expected, const TensorContent& got,
                      const VerifyOptions& options = {}) {
  ScriptedBackend backend(scripted_cluster({2}));
  ScriptedSession session(chain_program(), [&](const Placement& placement, const StepOptions&) {
    StepResult result;
    result.executed = placement;
    result.outputs = {placement == kScattered ? got : expected};
    return result;
  });
  return verify(backend, session, kScattered, options);
}

/// The one difference that there must be.
Difference only_difference(const Verification& found) {
  REQUIRE(found.differences.size() == 1);
  return found.differences.front();
}

TEST_CASE("verify: outputs that are the same are accepted") {
  const Verification found =
      verified(floats({1, -2, kNan, kInfinity}), floats({1, -2, kNan, kInfinity}));
  CHECK(found.differences.empty());
  CHECK(found.reference == 0);
  REQUIRE(found.outputs.size() == 1);
  CHECK(found.outputs[0].name == "y");
  CHECK(found.outputs[0].elements == 4);
  CHECK(found.outputs[0].compared);
  CHECK(found.outputs[0].largest_difference == 0);
}

TEST_CASE("verify: one element beyond the tolerance is a difference that is told") {
  const Verification found = verified(floats({1, 2, 3, 4}), floats({1, 2, 3.5, 4.001}));
  const Difference difference = only_difference(found);
  CHECK(difference.what == "output 'y'");
  CHECK(difference.explanation == "2 of 4 elements differ; the most at 2: 3.5, 3 on one device");
  CHECK(found.outputs[0].largest_difference == 0.5);
}

TEST_CASE("verify: the tolerance is that of the element and a constant") {
  const struct {
    double expected, got;
    bool same;
  } cases[] = {{1000, 1000.05, true}, {1000, 1000.2, false},
               {0, 9e-6, true},       {0, 2e-5, false},
               {-1, 1, false},        {1, kNan, false},
               {kNan, 1, false},      {kInfinity, 1, false},
               {1, kInfinity, false}, {kInfinity, -kInfinity, false}};
  for (const auto& each : cases) {
    CAPTURE(each.expected);
    CAPTURE(each.got);
    CHECK(verified(floats({each.expected}), floats({each.got})).differences.empty() == each.same);
  }
  const VerifyOptions exact{.relative_tolerance = 0, .absolute_tolerance = 0};
  CHECK_FALSE(verified(floats({1}), floats({1.0000001}), exact).differences.empty());
  const VerifyOptions wide{.relative_tolerance = 1, .absolute_tolerance = 0};
  CHECK(verified(floats({1}), floats({1.9}), wide).differences.empty());
}

TEST_CASE("verify: elements of every type are compared") {
  const auto differs = [](DType dtype, auto first, auto second) {
    CAPTURE(dtype_name(dtype));
    using Element = decltype(first);
    const auto one = content<Element>(dtype, {2}, {first, first});
    CHECK(verified(one, one).differences.empty());
    CHECK_FALSE(verified(one, content<Element>(dtype, {2}, {first, second})).differences.empty());
  };
  differs(DType::f64, 1.0, 2.0);
  differs(DType::f32, 1.0F, 2.0F);
  differs(DType::f16, std::uint16_t{0x3C00}, std::uint16_t{0x3C10});  // 1 and 1.0156
  differs(DType::f16, std::uint16_t{0x3C00}, std::uint16_t{0xBC00});  // -1
  differs(DType::f16, std::uint16_t{0x0000}, std::uint16_t{0x0200});  // a subnormal number
  differs(DType::f16, std::uint16_t{0x3C00}, std::uint16_t{0x7C00});  // infinity
  differs(DType::bf16, std::uint16_t{0x3F80}, std::uint16_t{0x3F81});
  differs(DType::i64, std::int64_t{-5}, std::int64_t{5});
  differs(DType::i32, std::int32_t{-5}, std::int32_t{5});
  differs(DType::i16, std::int16_t{-5}, std::int16_t{5});
  differs(DType::i8, std::int8_t{-5}, std::int8_t{5});
  differs(DType::u64, std::uint64_t{5}, std::uint64_t{6});
  differs(DType::u32, std::uint32_t{5}, std::uint32_t{6});
  differs(DType::u16, std::uint16_t{5}, std::uint16_t{6});
  differs(DType::u8, std::uint8_t{5}, std::uint8_t{6});
  differs(DType::boolean, std::uint8_t{0}, std::uint8_t{1});
  // The imaginary part of the last element.
  const auto complex = [](DType dtype, auto last) {
    using Element = decltype(last);
    return content<Element>(dtype, {2}, {Element{1}, Element{2}, Element{3}, last});
  };
  CHECK_FALSE(verified(complex(DType::c64, 4.0F), complex(DType::c64, 5.0F)).differences.empty());
  CHECK_FALSE(verified(complex(DType::c128, 4.0), complex(DType::c128, 5.0)).differences.empty());
}

TEST_CASE("verify: another shape or type is a difference") {
  const std::vector<float> numbers = {1, 2, 3, 4, 5, 6};
  const auto wide = content(DType::f32, {2, 3}, numbers);
  CHECK(only_difference(verified(wide, content(DType::f32, {3, 2}, numbers))).explanation ==
        "is f32[3x2], f32[2x3] on one device");
  const auto integers = content<std::int32_t>(DType::i32, {2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(only_difference(verified(wide, integers)).explanation ==
        "is i32[2x3], f32[2x3] on one device");
}

TEST_CASE("verify: what is not returned is said not to be compared") {
  TensorContent text;
  text.dtype = DType::opaque;
  const Verification found = verified(text, text);
  CHECK(found.differences.empty());
  CHECK_FALSE(found.outputs.at(0).compared);
  CHECK_FALSE(verified(floats({1}), text).differences.empty());
}

TEST_CASE("verify: an op that ran elsewhere, or not at all, is a difference") {
  ScriptedBackend backend(scripted_cluster({2}));
  ScriptedSession session(chain_program(), [](const Placement& placement, const StepOptions&) {
    StepResult result;
    result.outputs = {floats({1})};
    result.executed = placement == kScattered ? Placement{0, 0, kNoDevice} : placement;
    return result;
  });
  const Verification found = verify(backend, session, kScattered);
  REQUIRE(found.differences.size() == 2);
  CHECK(found.differences[0].what == "op 'op1'");
  CHECK(found.differences[0].explanation == "ran on a:0, placed on a:1");
  CHECK(found.differences[1].what == "op 'op2'");
  CHECK(found.differences[1].explanation == "ran on no device, placed on a:0");
}

TEST_CASE("verify: both steps begin as the first did, with the same seed") {
  ScriptedBackend backend(scripted_cluster({2}));
  // What one step leaves behind would change the next.
  std::unique_ptr<ScriptedSession> session;
  session = std::make_unique<ScriptedSession>(
      chain_program(), [&](const Placement& placement, const StepOptions& step) {
        CHECK(step.seed == 3);
        CHECK(step.outputs);
        StepResult result;
        result.executed = placement;
        result.outputs = {floats({static_cast<double>(session->steps_since_reset)})};
        return result;
      });
  static_cast<void>(session->run(kScattered, {.seed = 3, .outputs = true}));
  CHECK(verify(backend, *session, kScattered, {.seed = 3}).differences.empty());
  CHECK(session->steps_since_reset == 0);
}

TEST_CASE("verify: the reference is the first device that holds everything") {
  ScriptedBackend backend(scripted_cluster({3}));
  DeviceId fits = 1;
  ErrorCode code = ErrorCode::out_of_memory;
  ScriptedSession session(chain_program(), [&](const Placement& placement, const StepOptions&) {
    if (placement != kScattered && placement[0] < fits) throw Error(code, "no room");
    StepResult result;
    result.executed = placement;
    result.outputs = {floats({1})};
    return result;
  });
  CHECK(verify(backend, session, kScattered).reference == 1);
  fits = 3;
  expect_error(ErrorCode::out_of_memory, {"no room"},
               [&] { static_cast<void>(verify(backend, session, kScattered)); });
  code = ErrorCode::execution;
  fits = 1;
  expect_error(ErrorCode::execution, {"no room"},
               [&] { static_cast<void>(verify(backend, session, kScattered)); });
}

}  // namespace
}  // namespace berth::test
