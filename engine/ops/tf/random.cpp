// Random numbers and samples.
#include "ops/formulas.h"
#include "ops/tf/rules.h"

namespace berth::ops::tf {
namespace {

/// A counter-based generator spends about two transcendental functions a number.
constexpr double kNumber = 2 * kTranscendentalFlops;
constexpr WorkRule kRandom = generates(kNumber);
/// From parameters that have a number each.
constexpr WorkRule kFromParameters = elementwise(kNumber);
/// Samples from a table: a logarithm and a comparison for each.
constexpr WorkRule kSampling = generates(kTranscendentalFlops);

/// samples of a class of tables: true classes [batch, true], then counts.
void candidate_sampler(OpContext& op) {
  Number sampled = op.attributes.integer("num_sampled", kUnknownDim);
  if (sampled < 0 || sampled > kMaxDim) sampled = kUnknownDim;
  op.set(0, {sampled});
  op.copy_shape(1, op.in(0));
  op.set(2, {sampled});
}

/// logits [batch, classes], samples.
void multinomial(OpContext& op) {
  op.set(0, {op.in(0).dim(0), size_or_unknown(op.in(1))});
}

/// shape, then parameters of a distribution: a sample of that shape for each of them.
void random_gamma(OpContext& op) {
  const Value shape = shape_of_content(op.in(0));
  if (!shape.ranked || !op.in(1).ranked) return;
  Dims dims = shape.dims;
  dims.insert(dims.end(), op.in(1).dims.begin(), op.in(1).dims.end());
  op.set(0, std::move(dims));
}

/// A generator, an algorithm, then a shape.
void shape_from_third(OpContext& op) {
  op.copy_shape(0, shape_of_content(op.in(2)));
}
/// A counter of 128 bits and a key.
void generator_state(OpContext& op) {
  op.set(0, {3});
}
/// dimensions, results: a row for each result.
void sobol_sample(OpContext& op) {
  op.set(0, {size_or_unknown(op.in(1)), size_or_unknown(op.in(0))});
}

/// A few tries of a normal and a uniform number each, until one is taken (Marsaglia and Tsang, ACM
/// TOMS 2000).
constexpr WorkRule kGamma = elementwise(6 * kTranscendentalFlops);

/// The key and the counter of a generator, and its algorithm.
void key_and_counter(OpContext& op) {
  op.set(0, {1});
  op.set(1, {2});
  op.set(2, {});
}

constexpr Row kOps[] = {
    {"AllCandidateSampler",
     "sampled_candidates:=int64 true_expected_count:=float sampled_expected_count:=float",
     candidate_sampler, kSampling},
    {"ComputeAccidentalHits", "indices:=int32 ids:=int64 weights:=float", rule::vectors, copies()},
    {"FixedUnigramCandidateSampler",
     "sampled_candidates:=int64 true_expected_count:=float sampled_expected_count:=float",
     candidate_sampler, kSampling},
    {"LearnedUnigramCandidateSampler",
     "sampled_candidates:=int64 true_expected_count:=float sampled_expected_count:=float",
     candidate_sampler, kSampling},
    {"LogUniformCandidateSampler",
     "sampled_candidates:=int64 true_expected_count:=float sampled_expected_count:=float",
     candidate_sampler, kSampling},
    {"Multinomial", "output:output_dtype=int64", multinomial, draws(kNumber)},
    {"NonDeterministicInts", "output:dtype=int64", rule::shape_from_first, kRandom},
    {"ParameterizedTruncatedNormal", "output:dtype", rule::shape_from_first, kFromParameters},
    {"RandomGamma", "output:T", random_gamma, kGamma},
    {"RandomGammaGrad", "output:T", rule::broadcast_all, elementwise(6 * kTranscendentalFlops)},
    {"RandomIndexShuffle", "output:dtype", rule::like_first, elementwise(kTranscendentalFlops)},
    {"RandomPoisson", "output:dtype", random_gamma, kGamma},
    {"RandomPoissonV2", "output:dtype=int64", random_gamma, kGamma},
    {"RandomStandardNormal", "output:dtype", rule::shape_from_first, kRandom},
    {"RandomUniform", "output:dtype", rule::shape_from_first, kRandom},
    {"RandomUniformInt", "output:Tout", rule::shape_from_first, kRandom},
    {"RngReadAndSkip", "value:=int64", generator_state, kHandle},
    {"RngSkip", "", rule::none, kHandle},
    {"SobolSample", "samples:dtype=float", sobol_sample, kRandom},
    {"StatefulStandardNormal", "output:dtype=float", rule::shape_from_second, kRandom},
    {"StatefulStandardNormalV2", "output:dtype=float", shape_from_third, kRandom},
    {"StatefulTruncatedNormal", "output:dtype=float", shape_from_third, kRandom},
    {"StatefulUniform", "output:dtype=float", shape_from_third, kRandom},
    {"StatefulUniformFullInt", "output:dtype=uint64", shape_from_third, kRandom},
    {"StatefulUniformInt", "output:dtype=int64", shape_from_third, kRandom},
    {"StatelessMultinomial", "output:output_dtype=int64", multinomial, draws(kNumber)},
    {"StatelessParameterizedTruncatedNormal", "output:dtype", rule::shape_from_first,
     kFromParameters},
    {"StatelessRandomBinomial", "output:dtype=int64", rule::shape_from_first, kGamma},
    {"StatelessRandomGammaV2", "output:dtype", rule::shape_from_first, kGamma},
    {"StatelessRandomGammaV3", "output:dtype", rule::shape_from_first, kGamma},
    {"StatelessRandomGetAlg", "alg:=int32", rule::scalars, kHandle},
    {"StatelessRandomGetKeyCounter", "key:=uint64 counter:=uint64", key_and_counter, kHandle},
    {"StatelessRandomGetKeyCounterAlg", "key:=uint64 counter:=uint64 alg:=int32", key_and_counter,
     kHandle},
    {"StatelessRandomNormal", "output:dtype=float", rule::shape_from_first, kRandom},
    {"StatelessRandomNormalV2", "output:dtype=float", rule::shape_from_first, kRandom},
    {"StatelessRandomPoisson", "output:dtype", rule::shape_from_first, kGamma},
    {"StatelessRandomUniform", "output:dtype=float", rule::shape_from_first, kRandom},
    {"StatelessRandomUniformFullInt", "output:dtype=uint64", rule::shape_from_first, kRandom},
    {"StatelessRandomUniformFullIntV2", "output:dtype=uint64", rule::shape_from_first, kRandom},
    {"StatelessRandomUniformInt", "output:dtype", rule::shape_from_first, kRandom},
    {"StatelessRandomUniformIntV2", "output:dtype", rule::shape_from_first, kRandom},
    {"StatelessRandomUniformV2", "output:dtype=float", rule::shape_from_first, kRandom},
    {"StatelessShuffle", "output:T", rule::like_first, copies()},
    {"StatelessTruncatedNormal", "output:dtype=float", rule::shape_from_first, kRandom},
    {"StatelessTruncatedNormalV2", "output:dtype=float", rule::shape_from_first, kRandom},
    {"ThreadUnsafeUnigramCandidateSampler",
     "sampled_candidates:=int64 true_expected_count:=float sampled_expected_count:=float",
     candidate_sampler, kSampling},
    {"TruncatedNormal", "output:dtype", rule::shape_from_first, kRandom},
    {"UniformCandidateSampler",
     "sampled_candidates:=int64 true_expected_count:=float sampled_expected_count:=float",
     candidate_sampler, kSampling},
};

}  // namespace

std::span<const Row> random_ops() {
  return kOps;
}

}  // namespace berth::ops::tf
