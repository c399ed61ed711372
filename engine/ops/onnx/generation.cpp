// Searches for sequences, and what is neither arithmetic nor moved data.
#include "ops/onnx/rules.h"

namespace berth::ops::onnx {
namespace {

/// The batch of words, or of what an encoder hears.
std::int64_t batch_of(const OpContext& op) {
  const Dims* const dims = op.shape(0);
  return dims == nullptr || dims->empty() ? kUnknownDim : dims->front();
}

/// Inputs: those that are continued, then the length of what is made.
void greedy_search(OpContext& op) {
  op.set(0, kInt32, {batch_of(op), number(op, 1)});
}
/// ... and how many are returned.
void beam_search(OpContext& op) {
  const std::int64_t batch = batch_of(op), returned = number(op, 4);
  op.set(0, kInt32, {batch, returned, number(op, 1)});
  op.set(1, kFloat, {batch, returned});
}

constexpr WorkRule kBodies{nullptr, OpClass::other, 0,
                           "the frontend states the work of its bodies"};

constexpr Row kOps[] = {
    {"ConcatFromSequence", nullptr, copies()},
    {"If", nullptr, kBodies},
    {"Loop", nullptr, kBodies},
    {"Optional", nullptr, kHandle},
    {"OptionalGetElement", nullptr, kHandle},
    {"OptionalHasElement", nullptr, kHandle},
    {"ReverseSequence", nullptr, copies()},
    {"Scan", nullptr, kBodies},
    {"SequenceAt", nullptr, kHandle},
    {"SequenceConstruct", nullptr, kHandle},
    {"SequenceEmpty", nullptr, kHandle},
    {"SequenceErase", nullptr, kHandle},
    {"SequenceInsert", nullptr, kHandle},
    {"SequenceMap", nullptr, kBodies},
    {"SequenceLength", nullptr, kHandle},
    {"SplitToSequence", nullptr, kHandle},
    {"com.microsoft.BeamSearch", beam_search, kBodies},
    {"com.microsoft.GreedySearch", greedy_search, kBodies},
    {"com.microsoft.NGramRepeatBlock", rule::like_second, copies(1)},
    {"com.microsoft.OptionalGetElement", nullptr, kHandle},
    {"com.microsoft.OptionalHasElement", nullptr, kHandle},
    {"com.microsoft.PassThrough", nullptr, kView},
    {"com.microsoft.Sampling", greedy_search, kBodies},
    {"com.microsoft.WhisperBeamSearch", beam_search, kBodies},
    {"com.microsoft.YieldOp", rule::like_each, kControl},
};

}  // namespace

std::span<const Row> generation_ops() {
  return kOps;
}

}  // namespace berth::ops::onnx
