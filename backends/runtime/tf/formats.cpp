// The same bits as another type, copies, and what depends on the order of images' dimensions.
#include <ATen/Functions.h>

#include <algorithm>

#include "berth/error.h"
#include "berth/support/text.h"
#include "runtime/tensors.h"
#include "runtime/tf/support.h"

namespace berth::runtime::tf {
namespace {

/// The type of as many bits: ATen holds unsigned integers in wider ones.
at::ScalarType bits_of(DType type) {
  return type == DType::u16 ? at::kShort : type == DType::u32 ? at::kInt : scalar_type(type);
}

DType stated_type(const Instruction& op, std::string_view name) {
  const auto* const stated = op.attribute<DType>(name);
  return stated == nullptr ? DType::f32 : *stated;
}

Kernel make_bitcast(const KernelRequest& request) {
  const DType source = stated_type(request.instruction, "T");
  const DType target = stated_type(request.instruction, "type");
  return [source, target](KernelContext&, Inputs in, Outputs out) {
    Tensor x = tensor_at(in, 0).to(bits_of(source)).contiguous();
    const auto from = static_cast<std::int64_t>(x.element_size());
    const auto to = static_cast<std::int64_t>(c10::elementSize(bits_of(target)));
    if (from < to && (x.dim() == 0 || x.size(-1) != to / from)) {
      throw Error(ErrorCode::invalid_argument,
                  cat("its last dimension is ", x.dim() == 0 ? 1 : x.size(-1), " and should be ",
                      to / from));
    }
    if (from > to) x = x.unsqueeze(-1);
    x = x.view(bits_of(target));
    if (from < to) x = x.squeeze(-1);
    if (bits_of(target) != scalar_type(target)) {
      constexpr std::int64_t kTwoBytes = 0xFFFF, kFourBytes = 0xFFFFFFFF;
      x = at::bitwise_and(x.to(scalar_type(target)), target == DType::u16 ? kTwoBytes : kFourBytes);
    }
    out[0].tensor = x;
  };
}

Tensor copied(const Tensor& x) {
  return x.clone();
}

/// (shape): zeros, whether or not the content is asked for.
Kernel make_empty(const KernelRequest& request) {
  return [element = type(request.instruction, "dtype", at::kFloat), shape = IntsInput(request, 0)](
             KernelContext& context, Inputs in, Outputs out) {
    out[0].tensor = at::zeros(shape.get(in), at::TensorOptions(element).device(context.device));
  };
}

// --- orders of dimensions ------------------------------------------------------------------------

/// Says where each dimension of one order is in another.
struct Orders {
  explicit Orders(const Instruction& op)
      : source(text_attribute(op, "src_format", "NHWC")),
        target(text_attribute(op, "dst_format", "NCHW")) {
    if (!std::is_permutation(source.begin(), source.end(), target.begin(), target.end())) {
      refuse_attribute("dst_format", target);
    }
  }
  [[nodiscard]] static Ints places(const std::string& of, const std::string& in_order) {
    Ints made;
    for (const char name : of) made.push_back(static_cast<std::int64_t>(in_order.find(name)));
    return made;
  }

  std::string source, target;
};

Tensor indexed(const Tensor& x, const Ints& table, const Tensor& index) {
  const Tensor values = at::tensor(table, at::kLong).to(x.device());
  return at::index_select(values, 0, index.reshape({-1}).to(at::kLong))
      .reshape(index.sizes())
      .to(x.scalar_type());
}

/// (dimensions)
Kernel make_mapped_dimensions(const KernelRequest& request) {
  return [orders = Orders(request.instruction)](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const auto rank = static_cast<std::int64_t>(orders.source.size());
    const Tensor dimension = at::where(at::lt(x, 0), at::add(x, rank), x);
    out[0].tensor = indexed(x, Orders::places(orders.source, orders.target), dimension);
  };
}

/// (a row for each dimension, or for those that are neither batches nor channels)
Kernel make_permuted_rows(const KernelRequest& request) {
  return [orders = Orders(request.instruction)](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    std::string source = orders.source, target = orders.target;
    if (x.dim() > 0 && x.size(0) + 2 == static_cast<std::int64_t>(source.size())) {
      const auto is_other = [](char name) { return name == 'N' || name == 'C'; };
      std::erase_if(source, is_other);
      std::erase_if(target, is_other);
    }
    if (x.dim() < 1 || x.size(0) != static_cast<std::int64_t>(source.size())) {
      throw Error(ErrorCode::invalid_argument, cat("its input has ", x.dim() < 1 ? 1 : x.size(0),
                                                   " rows for the dimensions ", source));
    }
    const Ints places = Orders::places(target, source);
    out[0].tensor = at::index_select(x, 0, at::tensor(places, at::kLong).to(x.device()));
  };
}

constexpr KernelRow kRows[] = {
    {"Bitcast", make_bitcast},
    {"DataFormatDimMap", make_mapped_dimensions},
    {"DataFormatVecPermute", make_permuted_rows},
    {"DeepCopy", make_unary<copied>},
    {"Empty", make_empty},
};

}  // namespace

std::span<const KernelRow> format_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
