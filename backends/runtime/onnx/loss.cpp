// Losses of classifiers, and com.microsoft's names for them in training graphs.
#include <ATen/Functions.h>

#include "berth/error.h"
#include "runtime/onnx/support.h"
#include "runtime/onnx/tables.h"

namespace berth::runtime::onnx {
namespace {

constexpr std::int64_t kNothingIgnored = -100;

struct LossOptions {
  std::int64_t reduction = at::Reduction::Mean;
  std::int64_t ignored = kNothingIgnored;

  explicit LossOptions(const Instruction& op)
      : ignored(int_attribute(op, "ignore_index", kNothingIgnored)) {
    const std::string name = text_attribute(op, "reduction", "mean");
    if (name == "none") {
      reduction = at::Reduction::None;
    } else if (name == "sum") {
      reduction = at::Reduction::Sum;
    } else if (name != "mean") {
      refuse_attribute("reduction", name);
    }
  }
};

// Classes in dimension 1; any dimensions after it.
Tensor nll(const Tensor& log_chances, const Tensor& target, const Tensor& weight,
           const LossOptions& options) {
  return at::nll_loss_nd(log_chances, target.to(at::kLong), weight, options.reduction,
                         options.ignored);
}

Kernel make_nll_loss(const KernelRequest& request) {
  const LossOptions options(request.instruction);
  return widened([options](KernelContext&, Inputs in, Outputs out) {
    out[0].tensor = nll(tensor_at(in, 0), tensor_at(in, 1), optional_at(in, 2), options);
  });
}

Kernel make_cross_entropy(const KernelRequest& request) {
  const LossOptions options(request.instruction);
  return widened([options](KernelContext&, Inputs in, Outputs out) {
    const Tensor log_chances = at::log_softmax(tensor_at(in, 0), 1);
    out[0].tensor = nll(log_chances, tensor_at(in, 1), optional_at(in, 2), options);
    if (out.size() > 1) out[1].tensor = log_chances;
  });
}

// The class to ignore is input 3.
LossOptions with_ignored(LossOptions options, Inputs in) {
  if (has(in, 3)) options.ignored = ints_of(tensor_at(in, 3)).at(0);
  return options;
}

Kernel make_internal_cross_entropy(const KernelRequest& request) {
  const LossOptions options(request.instruction);
  return widened([options](KernelContext&, Inputs in, Outputs out) {
    const Tensor log_chances = at::log_softmax(tensor_at(in, 0), 1);
    out[0].tensor =
        nll(log_chances, tensor_at(in, 1), optional_at(in, 2), with_ignored(options, in));
    if (out.size() > 1) out[1].tensor = log_chances;
  });
}

// Inputs: dY, logarithms of the chances, labels, weight?, and of the internal one ignored class?, bias?.
Kernel make_cross_entropy_grad(const KernelRequest& request) {
  const LossOptions stated(request.instruction);
  return widened([stated](KernelContext&, Inputs in, Outputs out) {
    const Tensor& dy = tensor_at(in, 0);
    const Tensor& log_chances = tensor_at(in, 1);
    const Tensor labels = tensor_at(in, 2).to(at::kLong);
    const LossOptions options = with_ignored(stated, in.subspan(1));
    const Tensor counted = at::ne(labels, options.ignored);
    const Tensor safe = at::where(counted, labels, at::zeros_like(labels));
    Tensor weight = counted.to(log_chances.scalar_type());
    if (has(in, 3)) {
      weight = at::mul(
          weight, at::index_select(tensor_at(in, 3), 0, safe.reshape({-1})).reshape(safe.sizes()));
    }
    if (options.reduction == at::Reduction::Mean) weight = at::div(weight, at::sum(weight));
    const Tensor hot = at::scatter(at::zeros_like(log_chances), 1, safe.unsqueeze(1), 1);
    const Tensor scale =
        options.reduction == at::Reduction::None ? at::mul(dy, weight) : at::mul(weight, dy);
    Tensor grad = at::mul(at::sub(at::exp(log_chances), hot), scale.unsqueeze(1));
    if (has(in, 5)) grad = at::add(grad, tensor_at(in, 5).reshape(grad.sizes()));
    out[0].tensor = grad;
  });
}

constexpr KernelRow kRows[] = {
    {"NegativeLogLikelihoodLoss", make_nll_loss},
    {"SoftmaxCrossEntropyLoss", make_cross_entropy},
    {"com.microsoft.SoftmaxCrossEntropyLossGrad", make_cross_entropy_grad},
    {"com.microsoft.SoftmaxCrossEntropyLossInternal", make_internal_cross_entropy},
    {"com.microsoft.SoftmaxCrossEntropyLossInternalGrad", make_cross_entropy_grad},
};

}  // namespace

std::span<const KernelRow> loss_kernels() {
  return kRows;
}

}  // namespace berth::runtime::onnx
