#include "berth/sdk/ops/op.h"

#include <cmath>

namespace berth::ops {

Attributes::~Attributes() = default;

bool Attributes::boolean(std::string_view /*key*/, bool fallback) const {
  return fallback;
}
int Attributes::type(std::string_view /*key*/, int fallback) const {
  return fallback;
}
std::vector<int> Attributes::types(std::string_view /*key*/) const {
  return {};
}
bool Attributes::shape(std::string_view /*key*/, Value& /*value*/) const {
  return false;
}
std::vector<Value> Attributes::shapes(std::string_view /*key*/) const {
  return {};
}
std::size_t Attributes::text_count(std::string_view /*key*/) const {
  return 0;
}

const Value& OpContext::in(std::size_t i) const noexcept {
  static const Value nothing;
  return has(i) ? *inputs_[i] : nothing;
}

std::optional<std::vector<std::int64_t>> OpContext::integers(std::size_t i) const {
  const Value& value = in(i);
  if (!value.has_content()) return std::nullopt;
  std::vector<std::int64_t> numbers(value.content_size());
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    const auto element = value.element(k);
    if (!element) return std::nullopt;
    numbers[k] = *element;
  }
  return numbers;
}

std::optional<std::vector<std::int64_t>> OpContext::listed(std::string_view key) const {
  std::vector<std::int64_t> numbers = attributes.integers(key);
  if (numbers.empty()) return std::nullopt;
  return numbers;
}

Value& OpContext::out(std::size_t i) noexcept {
  return i < outputs_.size() ? outputs_[i] : spare_;
}

const Value& OpContext::out(std::size_t i) const noexcept {
  return i < outputs_.size() ? outputs_[i] : spare_;
}

void OpContext::set_like(std::size_t output, std::size_t from) {
  if (!has(from)) return;
  Value value = in(from);
  value.forget_content();
  give(output, std::move(value));
}

void OpContext::copy_shape(std::size_t output, const Value& from) {
  if (from.ranked) set(output, from.dims);
}

void OpContext::pass(std::size_t output, const Value& from) {
  Value& to = out(output);
  const int own = to.type != kUnknownType ? to.type : from.type;
  to = from;
  to.type = own;
}

void OpContext::set_data(std::size_t output, std::vector<std::int64_t> numbers) {
  if (numbers.size() <= Data::kMaxElements) {
    out(output).data = std::make_shared<const std::vector<std::int64_t>>(std::move(numbers));
  }
}

double expected_distinct(double tokens, double chosen, double experts) noexcept {
  if (chosen >= experts) return tokens > 0 ? experts : 0;
  return experts * (1 - std::pow(1 - chosen / experts, tokens));
}

}  // namespace berth::ops
