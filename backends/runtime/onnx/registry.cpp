#include "runtime/layouts.h"
#include "runtime/onnx/kernels.h"
#include "runtime/onnx/known.h"
#include "runtime/onnx/tables.h"

namespace berth::runtime {

const KernelRegistry& onnx_kernels() {
  static const KernelRegistry registry = [] {
    KernelRegistry made([](const KernelRequest& request, Kernel kernel) {
      onnx::refuse_unknown(request.instruction);
      return for_any_layout(request.instruction, std::move(kernel));
    });
    for (const auto table :
         {onnx::attention_kernels,   onnx::blockwise_kernels, onnx::control_flow_kernels,
          onnx::convolution_kernels, onnx::decoder_kernels,   onnx::elementwise_kernels,
          onnx::image_kernels,       onnx::indexing_kernels,  onnx::layout_kernels,
          onnx::loss_kernels,        onnx::matmul_kernels,    onnx::normalization_kernels,
          onnx::pooling_kernels,     onnx::quantized_kernels, onnx::quantized_fused_kernels,
          onnx::random_kernels,      onnx::recurrent_kernels, onnx::reduction_kernels,
          onnx::region_kernels,      onnx::resize_kernels,    onnx::sequence_kernels,
          onnx::shape_kernels,       onnx::signal_kernels,    onnx::training_kernels}) {
      for (const KernelRow& row : table()) made.add(row.type, row.make);
    }
    return made;
  }();
  return registry;
}

}  // namespace berth::runtime
