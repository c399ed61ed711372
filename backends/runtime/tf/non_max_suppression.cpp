// The best of boxes that overlap, on the host: each choice depends on those before it.
#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

#include "runtime/tf/support.h"

namespace berth::runtime::tf {
namespace {

struct Box {
  float top, left, bottom, right;

  explicit Box(const float* corners)
      : top(std::min(corners[0], corners[2])),
        left(std::min(corners[1], corners[3])),
        bottom(std::max(corners[0], corners[2])),
        right(std::max(corners[1], corners[3])) {}

  [[nodiscard]] float area() const { return (bottom - top) * (right - left); }
};

/// The share that two boxes have in common of what either covers.
float overlap(const Box& a, const Box& b) {
  if (a.area() <= 0 || b.area() <= 0) return 0;
  const float height = std::max(std::min(a.bottom, b.bottom) - std::max(a.top, b.top), 0.0F);
  const float width = std::max(std::min(a.right, b.right) - std::max(a.left, b.left), 0.0F);
  const float common = height * width;
  return common / (a.area() + b.area() - common);
}

struct Limits {
  std::int64_t most = 0;
  float overlap = 0.5F;
  float score = -std::numeric_limits<float>::infinity();
  float sigma =
      0;  ///< above 0 a box that overlaps keeps a part of its score (Bodla et al., ICCV 2017)
};

struct Chosen {
  std::vector<std::int32_t> boxes;
  std::vector<float> scores;
};

Chosen choose(const Tensor& corners, const Tensor& given_scores, const Limits& limits) {
  const Tensor boxes = corners.to(at::kCPU, at::kFloat).contiguous();
  const Tensor scores = given_scores.to(at::kCPU, at::kFloat).contiguous();
  const auto box = [&](std::int32_t i) { return Box(boxes.data_ptr<float>() + 4 * i); };
  struct Candidate {
    std::int32_t box;
    float score;
    std::size_t compared;  ///< with so many of the chosen
  };
  const auto is_worse = [](const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score < b.score : a.box > b.box;
  };
  std::priority_queue<Candidate, std::vector<Candidate>, decltype(is_worse)> left(is_worse);
  for (std::int32_t i = 0; i < scores.numel(); ++i) {
    const float score = scores.data_ptr<float>()[i];
    if (score > limits.score) left.push({i, score, 0});
  }
  const float falls = limits.sigma > 0 ? -0.5F / limits.sigma : 0;
  Chosen chosen;
  while (static_cast<std::int64_t>(chosen.boxes.size()) < limits.most && !left.empty()) {
    Candidate next = left.top();
    left.pop();
    const float before = next.score;
    bool is_out = false;
    // The nearest in score first. Those that it was compared with earlier do not count twice.
    for (std::size_t i = chosen.boxes.size(); i-- > next.compared && !is_out;) {
      const float common = overlap(box(next.box), box(chosen.boxes[i]));
      if (limits.sigma > 0) next.score *= std::exp(falls * common * common);
      is_out = limits.sigma > 0 ? next.score <= limits.score : common > limits.overlap;
    }
    next.compared = chosen.boxes.size();
    if (is_out) continue;
    if (next.score == before) {
      chosen.boxes.push_back(next.box);
      chosen.scores.push_back(next.score);
    } else if (next.score > limits.score) {
      left.push(next);
    }
  }
  return chosen;
}

Tensor as_tensor(std::vector<std::int32_t> values, const at::Device& device) {
  return at::tensor(values, at::kInt).to(device);
}

/// (boxes, scores, most, overlap, least score?, sigma?). From version 4 on the boxes may be filled up to the most.
template <int version>
Kernel make_suppression(const KernelRequest& request) {
  const bool fills = int_attribute(request.instruction, "pad_to_max_output_size", 0) != 0;
  return [fills](KernelContext& context, Inputs in, Outputs out) {
    const auto number = [&](std::size_t i) { return tensor_at(in, i).item().to<float>(); };
    Limits limits;
    limits.most = tensor_at(in, 2).item().to<std::int64_t>();
    limits.overlap = number(3);
    if (version >= 3) limits.score = number(4);
    if (version >= 5) limits.sigma = number(5);
    Chosen chosen = choose(tensor_at(in, 0), tensor_at(in, 1), limits);
    const auto count = static_cast<std::int32_t>(chosen.boxes.size());
    if (fills) {
      chosen.boxes.resize(static_cast<std::size_t>(limits.most), 0);
      chosen.scores.resize(static_cast<std::size_t>(limits.most), 0);
    }
    out[0].tensor = as_tensor(std::move(chosen.boxes), context.device);
    const std::size_t last = version >= 5 ? 2 : 1;
    if (version >= 5 && out.size() > 1) {
      out[1].tensor = at::tensor(chosen.scores).to(context.device);
    }
    if (version >= 4 && out.size() > last) {
      out[last].tensor = at::full({}, count, at::TensorOptions(at::kInt)).to(context.device);
    }
  };
}

constexpr KernelRow kRows[] = {
    {"NonMaxSuppressionV2", make_suppression<2>},
    {"NonMaxSuppressionV3", make_suppression<3>},
    {"NonMaxSuppressionV4", make_suppression<4>},
    {"NonMaxSuppressionV5", make_suppression<5>},
};

}  // namespace

std::span<const KernelRow> suppression_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
