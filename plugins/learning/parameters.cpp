#include "parameters.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "berth/error.h"
#include "berth/support/text.h"
#include "learning/one_thread.h"

namespace berth::learning {
namespace {

/// As the optimiser's state has it: a text in LibTorch 1.13, a pointer in 2.6.
using StateKey = std::decay_t<decltype(std::declval<torch::optim::Adam&>().state())>::key_type;

template <typename Key = StateKey>
Key key_of(const torch::Tensor& values) {
  if constexpr (std::is_pointer_v<Key>) {
    return values.unsafeGetTensorImpl();
  } else {
    std::ostringstream text;
    text << values.unsafeGetTensorImpl();
    return text.str();
  }
}

// A count of steps is exact in two floats up to 2^48.
constexpr double kHighUnit = 16777216.0;

}  // namespace

void fill_uniform(torch::Tensor& values, double limit, Random& random) {
  float* const out = values.data_ptr<float>();
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    out[i] = static_cast<float>(limit * (2 * random.uniform() - 1));
  }
}

void fill_glorot(torch::Tensor& weights, std::int64_t in, std::int64_t out, Random& random) {
  fill_uniform(weights, std::sqrt(6.0 / static_cast<double>(in + out)), random);
}

torch::Tensor Parameters::add(std::string name, torch::Tensor values) {
  names_.push_back(std::move(name));
  values.requires_grad_();
  values_.push_back(values);
  return values;
}

torch::Tensor Parameters::add_weights(std::string name, std::int64_t rows, std::int64_t columns,
                                      Random& random) {
  torch::Tensor weights = torch::zeros({rows, columns});
  fill_glorot(weights, rows, columns, random);
  return add(std::move(name), weights);
}

std::int64_t Parameters::count() const {
  std::int64_t count = 0;
  for (const torch::Tensor& values : values_) count += values.numel();
  return count;
}

torch::optim::Adam& Parameters::adam() {
  if (adam_ == nullptr) {
    adam_ = std::make_unique<torch::optim::Adam>(values_, torch::optim::AdamOptions());
  }
  return *adam_;
}

double Parameters::step(double learning_rate, double max_norm) {
  const OneThread one_thread;
  const torch::NoGradGuard no_gradient;
  double squares = 0;
  for (torch::Tensor& values : values_) {
    // Adam passes over what has no gradient, and goes on where it is 0: what has none depends on
    // whether the process has made a step before.
    if (!values.grad().defined()) values.mutable_grad() = torch::zeros_like(values);
    squares += values.grad().to(torch::kFloat64).square().sum().item<double>();
  }
  const double norm = std::sqrt(squares);
  if (!std::isfinite(norm)) {
    adam().zero_grad();
    throw Error(ErrorCode::invalid_argument,
                "the gradient is not finite; give smaller rewards or a lower learning rate "
                "(nothing was learned)");
  }
  if (max_norm > 0 && norm > max_norm) {
    for (torch::Tensor& values : values_) values.mutable_grad().mul_(max_norm / norm);
  }
  // Adam divides the rate by as little as 0.1, and the weights are of single precision.
  constexpr double kLargestRate = std::numeric_limits<float>::max() / 1e3;
  if (learning_rate > kLargestRate) {
    adam().zero_grad();
    throw Error(ErrorCode::invalid_argument,
                cat("a step with learning rate ", learning_rate,
                    " leads too far; use a lower one (nothing was learned)"));
  }
  const std::vector<NamedTensor> before = tensors();
  static_cast<torch::optim::AdamOptions&>(adam().param_groups()[0].options()).lr(learning_rate);
  adam().step();
  adam().zero_grad();
  try {
    require_finite(tensors());
  } catch (const std::invalid_argument& error) {
    set_tensors(before);
    throw Error(ErrorCode::invalid_argument,
                cat("a step with learning rate ", learning_rate, " leads too far: ", error.what(),
                    "; use a lower one (nothing was learned)"));
  }
  return norm;
}

std::vector<float> Parameters::weights() const {
  std::vector<float> all;
  all.reserve(static_cast<std::size_t>(count()));
  for (const torch::Tensor& values : values_) {
    const torch::Tensor plain = values.detach().contiguous();
    all.insert(all.end(), plain.data_ptr<float>(), plain.data_ptr<float>() + plain.numel());
  }
  return all;
}

void Parameters::set_weights(std::span<const float> weights) {
  const torch::NoGradGuard no_gradient;
  for (torch::Tensor& values : values_) {
    const auto size = static_cast<std::size_t>(values.numel());
    std::copy_n(weights.begin(), size, values.data_ptr<float>());
    weights = weights.subspan(size);
  }
}

void Parameters::take_gradient(std::vector<float>& out) {
  out.clear();
  out.reserve(static_cast<std::size_t>(count()));
  for (const torch::Tensor& values : values_) {
    if (!values.grad().defined()) {
      out.resize(out.size() + static_cast<std::size_t>(values.numel()));
      continue;
    }
    const torch::Tensor gradient = values.grad().contiguous();
    out.insert(out.end(), gradient.data_ptr<float>(),
               gradient.data_ptr<float>() + gradient.numel());
  }
  adam().zero_grad();
}

void Parameters::set_gradient(std::span<const float> gradient) {
  const torch::NoGradGuard no_gradient;
  for (torch::Tensor& values : values_) {
    const auto size = static_cast<std::size_t>(values.numel());
    torch::Tensor own = torch::empty_like(values);
    std::copy_n(gradient.begin(), size, own.data_ptr<float>());
    values.mutable_grad() = own;
    gradient = gradient.subspan(size);
  }
}

std::vector<NamedTensor> Parameters::tensors() const {
  std::vector<NamedTensor> all;
  const auto add = [&](const std::string& name, const torch::Tensor& tensor) {
    const torch::Tensor values = tensor.detach().contiguous();
    all.push_back({name,
                   values.sizes().vec(),
                   {values.data_ptr<float>(), values.data_ptr<float>() + values.numel()}});
  };
  for (std::size_t i = 0; i < names_.size(); ++i) add(names_[i], values_[i]);
  double steps = 0;
  for (std::size_t i = 0; adam_ != nullptr && i < names_.size(); ++i) {
    const auto found = adam_->state().find(key_of(values_[i]));
    if (found == adam_->state().end()) continue;  // no step was taken yet
    const auto& moments = static_cast<const torch::optim::AdamParamState&>(*found->second);
    add("adam.mean." + names_[i], moments.exp_avg());
    add("adam.square." + names_[i], moments.exp_avg_sq());
    steps = static_cast<double>(moments.step());
  }
  const auto high = static_cast<float>(std::floor(steps / kHighUnit));
  const auto low = static_cast<float>(std::fmod(steps, kHighUnit));
  all.push_back({"adam.steps", {2}, {high, low}});
  return all;
}

void Parameters::set_tensors(std::span<const NamedTensor> tensors) {
  const torch::NoGradGuard no_gradient;
  const auto find = [&](const std::string& name) {
    return std::find_if(tensors.begin(), tensors.end(),
                        [&](const NamedTensor& tensor) { return tensor.name == name; });
  };
  const auto required = [&](const std::string& name, const torch::Tensor& like) {
    const auto found = find(name);
    if (found == tensors.end()) throw std::invalid_argument("tensor '" + name + "' is missing");
    if (found->shape != like.sizes().vec()) {
      throw std::invalid_argument("tensor '" + name + "' has another shape");
    }
    return torch::tensor(found->values).reshape(like.sizes());
  };
  std::vector<torch::Tensor> values, means, squares;
  const auto steps = find("adam.steps");
  if (steps == tensors.end() || steps->values.size() != 2) {
    throw std::invalid_argument("tensor 'adam.steps' is missing or has another shape");
  }
  require_finite(tensors);
  for (const float part : steps->values) {
    if (part < 0 || part >= static_cast<float>(kHighUnit)) {
      throw std::invalid_argument("tensor 'adam.steps' counts no steps");
    }
  }
  const auto count =
      static_cast<std::int64_t>(steps->values[0]) * static_cast<std::int64_t>(kHighUnit) +
      static_cast<std::int64_t>(steps->values[1]);
  for (std::size_t i = 0; i < names_.size(); ++i) {
    values.push_back(required(names_[i], values_[i]));
    if (count == 0) continue;
    means.push_back(required("adam.mean." + names_[i], values_[i]));
    squares.push_back(required("adam.square." + names_[i], values_[i]));
  }
  adam().state().clear();
  for (std::size_t i = 0; i < names_.size(); ++i) {
    values_[i].copy_(values[i]);
    if (count == 0) continue;
    auto moments = std::make_unique<torch::optim::AdamParamState>();
    moments->step(count);
    moments->exp_avg(means[i]);
    moments->exp_avg_sq(squares[i]);
    adam().state()[key_of(values_[i])] = std::move(moments);
  }
  adam().zero_grad();
}

}  // namespace berth::learning
