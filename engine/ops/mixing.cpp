#include "ops/mixing.h"

#include <algorithm>
#include <iterator>
#include <span>

namespace berth::ops {
namespace {

using Axis = Mixing::Axis;

constexpr Mixing along(std::string_view type, Axis axis) {
  return {type, axis};
}
constexpr Mixing by_content(std::string_view type, std::size_t of = 0) {
  return {type, Axis::first, /*by_content=*/true, of};
}
constexpr Mixing of_input(std::string_view type, std::size_t at, bool by_content = false) {
  return {type, Axis::of_input, by_content, /*of=*/0, at};
}
constexpr Mixing of_attribute(std::string_view type, std::string_view attribute,
                              std::int64_t fallback, bool by_content = false) {
  return {type, Axis::of_attribute, by_content, /*of=*/0, /*at=*/0, attribute, fallback};
}
/// Nothing tells the axes: they are in bodies, or in a tensor of several.
constexpr Mixing not_told(std::string_view type) {
  return {type, Axis::every, /*by_content=*/true};
}

constexpr Mixing kMixingOfTf[] = {
    along("FFT", Axis::last),
    along("IFFT", Axis::last),
    along("IRFFT", Axis::last),
    along("LogSoftmax", Axis::last),
    along("NthElement", Axis::last),
    along("RFFT", Axis::last),
    along("RandomShuffle", Axis::first),
    along("Softmax", Axis::last),
    along("StatelessShuffle", Axis::first),
    along("TopK", Axis::last),
    along("TopKV2", Axis::last),
    by_content("CropAndResize"),
    by_content("DynamicPartition"),
    by_content("DynamicStitch"),
    by_content("Gather"),
    by_content("GatherNd"),
    by_content("ParallelDynamicStitch"),
    by_content("ScatterNd"),
    by_content("ScatterNdNonAliasingAdd"),
    by_content("SegmentMax"),
    by_content("SegmentMaxV2"),
    by_content("SegmentMean"),
    by_content("SegmentMin"),
    by_content("SegmentMinV2"),
    by_content("SegmentProd"),
    by_content("SegmentProdV2"),
    by_content("SegmentSum"),
    by_content("SegmentSumV2"),
    by_content("SparseSegmentMean"),
    by_content("SparseSegmentMeanWithNumSegments"),
    by_content("SparseSegmentSqrtN"),
    by_content("SparseSegmentSqrtNWithNumSegments"),
    by_content("SparseSegmentSum"),
    by_content("SparseSegmentSumWithNumSegments"),
    by_content("SparseTensorDenseMatMul", /*of=*/3),
    by_content("TensorScatterAdd"),
    by_content("TensorScatterMax"),
    by_content("TensorScatterMin"),
    by_content("TensorScatterSub"),
    by_content("TensorScatterUpdate"),
    by_content("UnsortedSegmentMax"),
    by_content("UnsortedSegmentMin"),
    by_content("UnsortedSegmentProd"),
    by_content("UnsortedSegmentSum"),
    of_attribute("ApproxTopK", "reduction_dimension", -1),
    of_attribute("ReverseSequence", "seq_dim", 0),
    of_input("Cumprod", 1),
    of_input("Cumsum", 1),
    of_input("CumulativeLogsumexp", 1),
    of_input("GatherV2", 2, /*by_content=*/true),
    of_input("ReverseV2", 1),
    of_input("Roll", 2),
    not_told("Case"),
    not_told("If"),
    not_told("PartitionedCall"),
    not_told("Reverse"),
    not_told("StatefulPartitionedCall"),
    not_told("StatelessCase"),
    not_told("StatelessIf"),
    not_told("StatelessWhile"),
    not_told("While"),
};

constexpr Mixing kMixingOfOnnx[] = {
    by_content("GatherND"),
    by_content("ScatterND"),
    of_attribute("Gather", "axis", 0, /*by_content=*/true),
    of_attribute("GatherElements", "axis", 0, /*by_content=*/true),
    of_attribute("Hardmax", "axis", -1),
    of_attribute("LogSoftmax", "axis", -1),
    of_attribute("LpNormalization", "axis", -1),
    of_attribute("MeanVarianceNormalization", "axes", 0),
    of_attribute("ReverseSequence", "time_axis", 0),
    of_attribute("Scatter", "axis", 0, /*by_content=*/true),
    of_attribute("ScatterElements", "axis", 0, /*by_content=*/true),
    of_attribute("Softmax", "axis", -1),
    of_attribute("TopK", "axis", -1),
    of_input("CumProd", 1),
    of_input("CumSum", 1),
    not_told("If"),
    not_told("Loop"),
    not_told("Scan"),
    not_told("SequenceMap"),
};

}  // namespace

const Mixing* find_mixing(std::string_view dialect, std::string_view type) {
  const bool tf = dialect == "tf";
  if (!tf && type.starts_with("com.microsoft.")) type.remove_prefix(type.rfind('.') + 1);
  const std::span<const Mixing> rows =
      tf ? std::span<const Mixing>(kMixingOfTf) : std::span<const Mixing>(kMixingOfOnnx);
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const Mixing& row) { return row.type == type; });
  return found == rows.end() ? nullptr : &*found;
}

bool takes_places(std::string_view type) {
  constexpr std::string_view kTypes[] = {"Slice", "Split", "SplitV", "StridedSlice"};
  return std::find(std::begin(kTypes), std::end(kTypes), type) != std::end(kTypes);
}

}  // namespace berth::ops
