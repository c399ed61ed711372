#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <optional>

#include "berth/backend.h"
#include "berth/error.h"
#include "berth/support/index.h"
#include "berth/support/text.h"

namespace berth {
namespace {

double from_half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1F;
  const int mantissa = bits & 0x3FF;
  double value = 0;
  if (exponent == 31) {
    value = mantissa == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(mantissa, -24);
  } else {
    value = std::ldexp(mantissa + 1024, exponent - 25);
  }
  return bits >> 15 != 0 ? -value : value;
}

template <typename Element>
Element element_at(const TensorContent& content, std::size_t index) {
  Element element;
  std::memcpy(&element, content.bytes.data() + index * sizeof element, sizeof element);
  return element;
}

/// Element `i`; complex numbers are two.
std::optional<double> number_at(const TensorContent& content, std::size_t i) {
  switch (content.dtype) {
    case DType::f64:
    case DType::c128:
      return element_at<double>(content, i);
    case DType::f32:
    case DType::c64:
      return element_at<float>(content, i);
    case DType::f16:
      return from_half(element_at<std::uint16_t>(content, i));
    case DType::bf16:
      return std::bit_cast<float>(std::uint32_t{element_at<std::uint16_t>(content, i)} << 16);
    case DType::i64:
      return static_cast<double>(element_at<std::int64_t>(content, i));
    case DType::i32:
      return element_at<std::int32_t>(content, i);
    case DType::i16:
      return element_at<std::int16_t>(content, i);
    case DType::i8:
      return element_at<std::int8_t>(content, i);
    case DType::u64:
      return static_cast<double>(element_at<std::uint64_t>(content, i));
    case DType::u32:
      return element_at<std::uint32_t>(content, i);
    case DType::u16:
      return element_at<std::uint16_t>(content, i);
    case DType::u8:
    case DType::boolean:
      return element_at<std::uint8_t>(content, i);
    default:
      return std::nullopt;
  }
}

std::size_t number_count(const TensorContent& content) {
  const auto elements = at(element_count(content.shape));
  return content.dtype == DType::c64 || content.dtype == DType::c128 ? 2 * elements : elements;
}

std::string shape_text(const TensorContent& content) {
  std::string text(dtype_name(content.dtype));
  text += "[";
  for (std::size_t i = 0; i < content.shape.size(); ++i) {
    text += cat(i == 0 ? "" : "x", content.shape[i]);
  }
  return text + "]";
}

/// Compares `got` with `expected` into `output`. Returns what is wrong; empty if nothing.
std::string compare(const TensorContent& expected, const TensorContent& got,
                    const VerifyOptions& options, Verification::Output& output) {
  output.elements = element_count(expected.shape);
  if (expected.dtype == DType::opaque && got.dtype == DType::opaque) {
    output.compared = false;
    return {};
  }
  if (expected.dtype != got.dtype || expected.shape != got.shape) {
    return cat("is ", shape_text(got), ", ", shape_text(expected), " on one device");
  }
  std::size_t wrong = 0;
  std::size_t worst = 0;
  double worst_excess = 0;
  for (std::size_t i = 0; i < number_count(expected); ++i) {
    const std::optional<double> want = number_at(expected, i);
    if (!want) {
      output.compared = false;
      return {};
    }
    const double have = *number_at(got, i);
    if (have == *want || (std::isnan(have) && std::isnan(*want))) continue;
    double difference = std::abs(have - *want);
    if (std::isnan(difference)) difference = std::numeric_limits<double>::infinity();
    output.largest_difference = std::max(output.largest_difference, difference);
    // A share of infinity is no tolerance: it would allow everything.
    const double scale = std::isinf(*want) ? 0 : std::abs(*want);
    const double allowed = options.absolute_tolerance + options.relative_tolerance * scale;
    if (difference <= allowed) continue;
    ++wrong;
    if (difference - allowed >= worst_excess) {
      worst_excess = difference - allowed;
      worst = i;
    }
  }
  if (wrong == 0) return {};
  return cat(wrong, " of ", number_count(expected), " elements differ; the most at ", worst, ": ",
             *number_at(got, worst), ", ", *number_at(expected, worst), " on one device");
}

/// A step on the first device that can hold everything.
StepResult reference_step(Session& session, const Cluster& cluster, const StepOptions& step,
                          DeviceId& reference) {
  const auto ops = at(session.program().graph->op_count());
  for (reference = 0;; ++reference) {
    session.reset();
    try {
      return session.run(Placement(ops, reference), step);
    } catch (const Error& error) {
      const bool last = reference + 1 == cluster.device_count();
      if (error.code() != ErrorCode::out_of_memory || last) throw;
    }
  }
}

}  // namespace

Verification verify(Backend& backend, Session& session, const Placement& placement,
                    const VerifyOptions& options) {
  const std::shared_ptr<const Cluster> cluster = backend.cluster();
  const Program& program = session.program();
  StepOptions step;
  step.seed = options.seed;
  step.outputs = true;
  step.trace = true;
  step.should_stop = options.should_stop;
  Verification found;
  const StepResult expected = reference_step(session, *cluster, step, found.reference);
  session.reset();
  const StepResult got = session.run(placement, step);
  session.reset();

  for (std::size_t i = 0; i < expected.outputs.size(); ++i) {
    Verification::Output output;
    output.name = program.output_names[i];
    const std::string wrong = compare(expected.outputs[i], got.outputs[i], options, output);
    if (!wrong.empty()) found.differences.push_back({cat("output '", output.name, "'"), wrong});
    found.outputs.push_back(std::move(output));
  }
  for (OpId op = 0; op < program.graph->op_count(); ++op) {
    const auto index = at(op);
    if (got.executed[index] == placement[index]) continue;
    const DeviceId executed = got.executed[index];
    found.differences.push_back(
        {cat("op '", program.graph->op_name(op), "'"),
         cat("ran on ", executed == kNoDevice ? "no device" : cluster->device(executed).name,
             ", placed on ", cluster->device(placement[index]).name)});
  }
  return found;
}

}  // namespace berth
