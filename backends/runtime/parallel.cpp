#include "runtime/parallel.h"

#include <ATen/Parallel.h>

namespace berth::runtime {

void in_parallel(std::int64_t begin, std::int64_t end, std::int64_t grain,
                 const std::function<void(std::int64_t begin, std::int64_t end)>& work) {
  at::parallel_for(begin, end, grain, work);
}

}  // namespace berth::runtime
