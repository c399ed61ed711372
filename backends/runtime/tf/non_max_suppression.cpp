// The best of boxes that overlap, on the host: each choice depends on those before it.
#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

#include "berth/error.h"
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

// --- all classes of many images ------------------------------------------------------------------

/// A box that is left of one class of one image, or of all.
struct Detection {
  const float* box;
  float score;
  std::int64_t label;
};

struct CombinedLimits {
  Limits of_class;
  std::int64_t most = 0;  ///< of all classes
  bool clips = true;      ///< boxes lie within the image
};

/// The best boxes of one image: boxes [boxes, classes or 1, 4], scores [boxes, classes].
std::vector<Detection> detect(const Tensor& boxes, const Tensor& scores,
                              const CombinedLimits& limits) {
  std::vector<Detection> found;
  for (std::int64_t label = 0; label < scores.size(1); ++label) {
    const Tensor own = boxes.select(1, boxes.size(1) == 1 ? 0 : label);
    const Chosen chosen = choose(own, scores.select(1, label), limits.of_class);
    for (std::size_t i = 0; i < chosen.boxes.size(); ++i) {
      const float* const box = own.data_ptr<float>() + chosen.boxes[i] * own.stride(0);
      found.push_back({box, chosen.scores[i], label});
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Detection& a, const Detection& b) { return a.score > b.score; });
  if (static_cast<std::int64_t>(found.size()) > limits.most) {
    found.resize(static_cast<std::size_t>(limits.most));
  }
  return found;
}

/// Tensors of the outputs on the host; what is not found is 0.
struct Detections {
  Detections(std::int64_t images, std::int64_t most)
      : boxes(at::zeros({images, most, 4}, at::kFloat)),
        scores(at::zeros({images, most}, at::kFloat)),
        labels(at::zeros({images, most}, at::kFloat)),
        counts(at::zeros({images}, at::kInt)) {}

  void set(std::int64_t image, const std::vector<Detection>& found, bool clips) const {
    const std::int64_t most = scores.size(1);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::int64_t at = image * most + static_cast<std::int64_t>(i);
      for (std::int64_t k = 0; k < 4; ++k) {
        const float corner = found[i].box[k];
        boxes.data_ptr<float>()[4 * at + k] = clips ? std::clamp(corner, 0.0F, 1.0F) : corner;
      }
      scores.data_ptr<float>()[at] = found[i].score;
      labels.data_ptr<float>()[at] = static_cast<float>(found[i].label);
    }
    counts.data_ptr<std::int32_t>()[image] = static_cast<std::int32_t>(found.size());
  }

  Tensor boxes, scores, labels, counts;
};

/// (boxes [images, boxes, classes or 1, 4], scores [images, boxes, classes], most of a class, most, overlap, least
/// score)
Kernel make_combined(const KernelRequest& request) {
  const bool pads_by_class = int_attribute(request.instruction, "pad_per_class", 0) != 0;
  const bool clips = int_attribute(request.instruction, "clip_boxes", 1) != 0;
  return [=](KernelContext& context, Inputs in, Outputs out) {
    const Tensor boxes = tensor_at(in, 0).to(at::kCPU, at::kFloat).contiguous();
    const Tensor scores = tensor_at(in, 1).to(at::kCPU, at::kFloat).contiguous();
    if (boxes.dim() != 4 || scores.dim() != 3 || boxes.size(3) != 4 ||
        boxes.size(0) != scores.size(0) || boxes.size(1) != scores.size(1) ||
        (boxes.size(2) != 1 && boxes.size(2) != scores.size(2))) {
      throw Error(ErrorCode::invalid_argument, "its boxes and scores are not of the same boxes");
    }
    CombinedLimits limits;
    limits.clips = clips;
    limits.of_class.most = tensor_at(in, 2).item().to<std::int64_t>();
    limits.most = tensor_at(in, 3).item().to<std::int64_t>();
    limits.of_class.overlap = tensor_at(in, 4).item().to<float>();
    limits.of_class.score = tensor_at(in, 5).item().to<float>();
    if (limits.of_class.most < 0 || limits.most < 0) {
      throw Error(ErrorCode::invalid_argument, "a number of boxes to keep is negative");
    }
    if (pads_by_class) {
      limits.most = std::min(limits.most, limits.of_class.most * scores.size(2));
    }
    const Detections made(boxes.size(0), limits.most);
    for (std::int64_t i = 0; i < boxes.size(0); ++i) {
      made.set(i, detect(boxes.select(0, i), scores.select(0, i), limits), limits.clips);
    }
    const Tensor* const all[] = {&made.boxes, &made.scores, &made.labels, &made.counts};
    for (std::size_t i = 0; i < out.size(); ++i) out[i].tensor = all[i]->to(context.device);
  };
}

constexpr KernelRow kRows[] = {
    {"CombinedNonMaxSuppression", make_combined}, {"NonMaxSuppressionV2", make_suppression<2>},
    {"NonMaxSuppressionV3", make_suppression<3>}, {"NonMaxSuppressionV4", make_suppression<4>},
    {"NonMaxSuppressionV5", make_suppression<5>},
};

}  // namespace

std::span<const KernelRow> suppression_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
