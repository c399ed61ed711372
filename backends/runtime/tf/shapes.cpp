// Constants, and numbers that are about shapes; all but floating-point constants on the host.
#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "berth/error.h"
#include "runtime/tf/support.h"
#include "runtime/values.h"

namespace berth::runtime::tf {
namespace {

Tensor vector_of(const Ints& numbers, at::ScalarType wanted) {
  Tensor tensor = at::empty({static_cast<std::int64_t>(numbers.size())}, at::kLong);
  std::copy(numbers.begin(), numbers.end(), tensor.data_ptr<std::int64_t>());
  return tensor.to(wanted);
}

Tensor scalar_of(std::int64_t number, at::ScalarType wanted) {
  return vector_of({number}, wanted).reshape({});
}

/// A constant on the devices that asked for it. [thread-safe]
class Copies {
 public:
  explicit Copies(Tensor host) : host_(std::move(host)) {}

  Tensor on(at::Device device) {
    if (device == host_.device()) return host_;
    const std::lock_guard lock(mutex_);
    for (const Tensor& copy : copies_) {
      if (copy.device() == device) return copy;
    }
    return copies_.emplace_back(host_.to(device));
  }

 private:
  const Tensor host_;
  std::mutex mutex_;
  std::vector<Tensor> copies_;
};

Kernel make_constant(const KernelRequest& request) {
  const auto* content = request.instruction.attribute<TensorContent>("value");
  if (content == nullptr) {
    throw Error(ErrorCode::unsupported,
                "its value is not in the file; export the model with its constants");
  }
  const Value value = value_of(*content);
  if (value.structure != nullptr || at::isIntegralType(value.tensor.scalar_type(), false)) {
    return [value](KernelContext&, Inputs, Outputs out) { out[0] = value; };
  }
  return [copies = std::make_shared<Copies>(value.tensor)](KernelContext& context, Inputs,
                                                           Outputs out) {
    out[0].tensor = copies->on(context.device);
  };
}

/// One shape for each input.
Kernel make_shapes(const KernelRequest& request) {
  return [wanted = type(request.instruction, "out_type", at::kInt)](KernelContext&, Inputs in,
                                                                    Outputs out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i].tensor = vector_of(tensor_at(in, i).sizes().vec(), wanted);
    }
  };
}

Kernel make_size(const KernelRequest& request) {
  return [wanted = type(request.instruction, "out_type", at::kInt)](KernelContext&, Inputs in,
                                                                    Outputs out) {
    out[0].tensor = scalar_of(tensor_at(in, 0).numel(), wanted);
  };
}

Kernel make_rank(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    out[0].tensor = scalar_of(tensor_at(in, 0).dim(), at::kInt);
  };
}

/// (axis, shapes of the parts): where each part begins.
Kernel make_concat_offsets(const KernelRequest& request) {
  return [input = IntsInput(request, 0)](KernelContext&, Inputs in, Outputs out) {
    const Tensor& first = tensor_at(in, 1);
    const std::int64_t rank = first.numel();
    const auto axis = static_cast<std::size_t>(normal_axis(input.one(in), rank));
    Ints offset(static_cast<std::size_t>(rank), 0);
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i].tensor = vector_of(offset, first.scalar_type());
      const Ints shape = ints_of(tensor_at(in, i + 1));
      if (axis < shape.size()) offset[axis] += shape[axis];
    }
  };
}

/// (shape, shape): over which axes the gradient of either is summed after broadcasting.
Kernel make_broadcast_axes(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    const Ints shapes[] = {ints_of(tensor_at(in, 0)), ints_of(tensor_at(in, 1))};
    const std::size_t rank = std::max(shapes[0].size(), shapes[1].size());
    Ints axes[2];
    for (std::size_t i = 0; i < rank; ++i) {
      std::int64_t sizes[2];
      for (int side = 0; side < 2; ++side) {
        const std::size_t missing = rank - shapes[side].size();
        sizes[side] = i < missing ? 1 : shapes[side][i - missing];
      }
      for (int side = 0; side < 2; ++side) {
        // Summing changes nothing where both are 1, and TensorFlow names the axis for both.
        if (sizes[side] == 1) axes[side].push_back(static_cast<std::int64_t>(i));
      }
    }
    const at::ScalarType wanted = tensor_at(in, 0).scalar_type();
    // Equal shapes need no sums at all.
    if (shapes[0] == shapes[1]) axes[0] = axes[1] = {};
    out[0].tensor = vector_of(axes[0], wanted);
    out[1].tensor = vector_of(axes[1], wanted);
  };
}

/// (shape, shape): the shape both are broadcast to.
Kernel make_broadcast_shape(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    Ints longer = ints_of(tensor_at(in, 0)), shorter = ints_of(tensor_at(in, 1));
    if (longer.size() < shorter.size()) std::swap(longer, shorter);
    const std::size_t missing = longer.size() - shorter.size();
    for (std::size_t i = 0; i < shorter.size(); ++i) {
      if (longer[missing + i] == 1) longer[missing + i] = shorter[i];
    }
    out[0].tensor = vector_of(longer, tensor_at(in, 0).scalar_type());
  };
}

/// (start, limit, step)
Kernel make_range(const KernelRequest& /*request*/) {
  return [](KernelContext& context, Inputs in, Outputs out) {
    const Tensor& start = tensor_at(in, 0);
    const at::Scalar begin = start.item(), end = tensor_at(in, 1).item(),
                     step = tensor_at(in, 2).item();
    if (at::isIntegralType(start.scalar_type(), false)) {
      out[0].tensor = at::arange(begin, end, step, start.options().device(at::kCPU));
      return;
    }
    // As many as TensorFlow counts, by a quotient in the numbers' own type.
    const bool is_single = start.scalar_type() == at::kFloat;
    const double steps =
        is_single ? static_cast<double>((end.toFloat() - begin.toFloat()) / step.toFloat())
                  : (end.toDouble() - begin.toDouble()) / step.toDouble();
    const at::TensorOptions options = start.options().device(context.device);
    const double last = begin.toDouble() + (std::ceil(steps) - 0.5) * step.toDouble();
    // ATen refuses a step that leads away from the limit.
    out[0].tensor = steps == 0 ? at::empty({0}, options) : at::arange(begin, last, step, options);
  };
}

/// (first, last, count)
Kernel make_linear(const KernelRequest& request) {
  return [count = IntsInput(request, 2)](KernelContext&, Inputs in, Outputs out) {
    const Tensor& first = tensor_at(in, 0);
    out[0].tensor =
        at::linspace(first.item(), tensor_at(in, 1).item(), count.one(in), first.options());
  };
}

/// (permutation)
Kernel make_inverse_permutation(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    const Ints permutation = ints_of(tensor_at(in, 0));
    Ints inverse(permutation.size(), -1);
    for (std::size_t i = 0; i < permutation.size(); ++i) {
      const auto at = static_cast<std::size_t>(permutation[i]);
      if (at >= inverse.size() || inverse[at] != -1) {
        throw Error(ErrorCode::invalid_argument, "its input is no permutation");
      }
      inverse[at] = static_cast<std::int64_t>(i);
    }
    out[0].tensor = vector_of(inverse, tensor_at(in, 0).scalar_type());
  };
}

constexpr KernelRow kRows[] = {
    {"BroadcastArgs", make_broadcast_shape},
    {"BroadcastGradientArgs", make_broadcast_axes},
    {"ConcatOffset", make_concat_offsets},
    {"Const", make_constant},
    {"InvertPermutation", make_inverse_permutation},
    {"LinSpace", make_linear},
    {"Range", make_range},
    {"Rank", make_rank},
    {"Shape", make_shapes},
    {"ShapeN", make_shapes},
    {"Size", make_size},
    {"VariableShape", make_shapes},
};

}  // namespace

std::span<const KernelRow> shape_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
