// Shapes of convolutions and poolings: a window moves over the spatial dimensions.
#include "onnx/compute_rules.h"

namespace berth::onnx_frontend {

using onnx::TensorProto;

namespace {

// One spatial dimension of a window that moves over `in`.
struct Window {
  std::int64_t kernel = kUnknownDim;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pads = 0;  // on both sides together
};

std::int64_t window_count(std::int64_t in, const Window& window, std::string_view auto_pad,
                          bool round_up) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (in == kUnknownDim || window.stride < 1 || window.dilation < 1 || window.dilation > kMost ||
      window.pads < -kMost || window.pads > kMost) {
    return kUnknownDim;
  }
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    return (in + window.stride - 1) / window.stride;
  }
  if (window.kernel < 1 || window.kernel > kMost) return kUnknownDim;
  std::int64_t reach = 0;
  if (__builtin_mul_overflow(window.kernel - 1, window.dilation, &reach)) return kUnknownDim;
  const std::int64_t pads = auto_pad == "VALID" ? 0 : window.pads;
  const std::int64_t room = in + pads - 1 - reach;
  if (room < 0) return kUnknownDim;
  return (room + (round_up ? window.stride - 1 : 0)) / window.stride + 1;
}

// The spatial dimensions `dims[first, first + windows)` after the window moved over them.
bool windowed(const OpContext& op, Dims& dims, std::size_t first,
              const std::vector<std::int64_t>& kernel) {
  const auto strides = op.ints_attribute("strides");
  const auto dilations = op.ints_attribute("dilations");
  const auto pads = op.ints_attribute("pads");
  const std::string_view auto_pad = op.text_attribute("auto_pad");
  const bool round_up = op.int_attribute("ceil_mode", 0) != 0;
  const std::size_t count = kernel.size();
  if ((strides && strides->size() != count) || (dilations && dilations->size() != count) ||
      (pads && pads->size() != 2 * count) || first + count > dims.size()) {
    return false;
  }
  for (std::size_t i = 0; i < count; ++i) {
    Window window;
    window.kernel = kernel[i];
    if (strides) window.stride = (*strides)[i];
    if (dilations) window.dilation = (*dilations)[i];
    if (pads && __builtin_add_overflow((*pads)[i], (*pads)[i + count], &window.pads)) return false;
    dims[first + i] = window_count(dims[first + i], window, auto_pad, round_up);
  }
  return true;
}

}  // namespace

void convolution_shape(OpContext& op, std::size_t x, std::size_t w, int elem, bool channels_last) {
  op.set(0, tensor_type(elem));
  const Dims* const in = op.shape(x);
  if (in == nullptr || in->size() < 3) return;
  const Dims* const weights = op.shape(w);
  Dims dims = *in;
  const std::size_t channel = channels_last ? dims.size() - 1 : 1;
  dims[channel] = kUnknownDim;
  // Weights are M, C / group, k... for either order of the data.
  std::vector<std::int64_t> kernel(dims.size() - 2, kUnknownDim);
  if (const auto stated = op.ints_attribute("kernel_shape")) {
    kernel = *stated;
  } else if (weights != nullptr && weights->size() == dims.size()) {
    kernel.assign(weights->begin() + 2, weights->end());
  }
  if (weights != nullptr && !weights->empty()) dims[channel] = weights->front();
  if (kernel.size() != dims.size() - 2) return;
  if (windowed(op, dims, channels_last ? 1 : 2, kernel)) op.set(0, elem, std::move(dims));
}

void pooling_shape(OpContext& op, bool channels_last) {
  op.set(0, tensor_type(op.elem(0)));
  const Dims* const in = op.shape(0);
  const auto kernel = op.ints_attribute("kernel_shape");
  if (in == nullptr || !kernel || in->size() != kernel->size() + 2) return;
  Dims dims = *in;
  if (!windowed(op, dims, channels_last ? 1 : 2, *kernel)) return;
  op.set(1, TensorProto::INT64, dims);
  op.set(0, op.elem(0), std::move(dims));
}

void global_pooling_shape(OpContext& op, bool channels_last) {
  op.set_like(0, 0);
  const Dims* const in = op.shape(0);
  if (in == nullptr || op.out.empty()) return;
  const std::size_t first = channels_last ? 1 : 2;
  const std::size_t last = channels_last ? in->size() - 1 : in->size();
  for (std::size_t i = first; i < last && i < in->size(); ++i) op.out[0].dims[i] = 1;
}

// What a convolution with these attributes would make input 0 out of.
void transposed_convolution_shape(OpContext& op) {
  constexpr std::int64_t kMost = 1 << 24;
  op.set(0, tensor_type(op.elem(0)));
  const Dims* const in = op.shape(0);
  const Dims* const weights = op.shape(1);
  if (in == nullptr || weights == nullptr || in->size() < 3 || weights->size() != in->size()) {
    return;
  }
  const std::size_t count = in->size() - 2;
  const auto per_dim = [&](std::string_view name, std::int64_t otherwise, std::size_t size) {
    auto values = op.ints_attribute(name);
    if (!values) values.emplace(size, otherwise);
    values->resize(size, kUnknownDim);
    for (std::int64_t& value : *values) value = value > kMost ? kUnknownDim : value;
    return *values;
  };
  const auto strides = per_dim("strides", 1, count), dilations = per_dim("dilations", 1, count);
  const auto extra = per_dim("output_padding", 0, count), pads = per_dim("pads", 0, 2 * count);
  const auto stated = op.ints_attribute("output_shape");
  const auto kernel = op.ints_attribute("kernel_shape");
  const std::string_view auto_pad = op.text_attribute("auto_pad");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  Dims dims = {(*in)[0], kUnknownDim};
  std::int64_t channels = 0;
  if ((*weights)[1] != kUnknownDim &&
      !__builtin_mul_overflow((*weights)[1], op.int_attribute("group", 1), &channels)) {
    dims[1] = valid_dim(channels);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t x = (*in)[i + 2];
    const std::int64_t k = kernel && i < kernel->size() ? (*kernel)[i] : (*weights)[i + 2];
    std::int64_t dim = kUnknownDim;
    if (stated && stated->size() >= count) {
      dim = (*stated)[stated->size() - count + i];
    } else if (x > 0 && x <= kMost && strides[i] > 0) {
      const bool known = k > 0 && k <= kMost && dilations[i] > 0 && extra[i] >= 0 && pads[i] >= 0 &&
                         pads[i + count] >= 0;
      if (same) {
        dim = x * strides[i];
      } else if (known) {
        dim = strides[i] * (x - 1) + extra[i] + (k - 1) * dilations[i] + 1;
        if (auto_pad != "VALID") dim -= pads[i] + pads[i + count];
      }
    }
    dims.push_back(valid_dim(dim));
  }
  op.set(0, op.elem(0), std::move(dims));
}

void region_pooling_shape(OpContext& op) {
  op.set(0, tensor_type(op.elem(0)));
  const Dims* const x = op.shape(0);
  const Dims* const regions = op.shape(1);
  const auto pooled = op.ints_attribute("pooled_shape");
  if (x == nullptr || regions == nullptr || !pooled || x->size() != 4 || regions->size() != 2 ||
      pooled->size() != 2) {
    return;
  }
  op.set(0, op.elem(0),
         {regions->front(), (*x)[1], valid_dim((*pooled)[0]), valid_dim((*pooled)[1])});
}

void unpooling_shape(OpContext& op) {
  op.set(0, tensor_type(op.elem(0)));
  const Dims* const in = op.shape(0);
  if (in == nullptr || in->size() < 3) return;
  if (op.input(2) != nullptr) {
    const auto stated = op.integers(2);
    const bool fits = stated && stated->size() == in->size();
    return op.set(0, op.elem(0), fits ? *stated : Dims(in->size(), kUnknownDim));
  }
  const std::size_t count = in->size() - 2;
  const auto kernel = op.ints_attribute("kernel_shape");
  const auto strides = op.ints_attribute("strides").value_or(Dims(count, 1));
  const auto pads = op.ints_attribute("pads").value_or(Dims(2 * count, 0));
  if (!kernel || kernel->size() != count || strides.size() != count || pads.size() != 2 * count) {
    return;
  }
  Dims dims = *in;
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t& dim = dims[i + 2];
    const bool fails = dim < 1 || __builtin_mul_overflow(strides[i], dim - 1, &dim) ||
                       __builtin_add_overflow(dim, (*kernel)[i], &dim) ||
                       __builtin_sub_overflow(dim, pads[i], &dim) ||
                       __builtin_sub_overflow(dim, pads[i + count], &dim);
    if (fails) dim = kUnknownDim;
  }
  op.set(0, op.elem(0), std::move(dims));
}

}  // namespace berth::onnx_frontend
