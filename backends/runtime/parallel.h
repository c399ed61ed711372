// Loops that run on all threads of the device that computes.
#pragma once

#include <cstdint>
#include <functional>

namespace berth::runtime {

/// at::parallel_for: calls work(begin, end) for parts of [begin, end), of `grain` or more each, on several threads at once
/// where there are as many. ATen's own does so only in files that are compiled for OpenMP. Throws what `work` throws.
void in_parallel(std::int64_t begin, std::int64_t end, std::int64_t grain,
                 const std::function<void(std::int64_t begin, std::int64_t end)>& work);

}  // namespace berth::runtime
