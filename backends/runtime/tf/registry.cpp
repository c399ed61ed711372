#include "runtime/tf/kernels.h"
#include "runtime/tf/support.h"

namespace berth::runtime {

const KernelRegistry& tf_kernels() {
  static const KernelRegistry registry = [] {
    KernelRegistry made;
    for (const auto table :
         {tf::control_flow_kernels(), tf::convolution_kernels(), tf::elementwise_kernels(),
          tf::gradient_kernels(), tf::indexing_kernels(), tf::layout_kernels(), tf::list_kernels(),
          tf::normalization_kernels(), tf::optimizer_kernels(), tf::pooling_kernels(),
          tf::product_kernels(), tf::random_kernels(), tf::reduction_kernels(), tf::shape_kernels(),
          tf::variable_kernels()}) {
      for (const KernelRow& row : table) made.add(row.type, row.make);
    }
    return made;
  }();
  return registry;
}

}  // namespace berth::runtime
