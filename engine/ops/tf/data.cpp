// Images, sound, text, files, summaries: what feeds and watches a network.
#include <algorithm>

#include "ops/formulas.h"
#include "ops/tf/rules.h"

namespace berth::ops::tf {
namespace {

void decode_image(OpContext& op) {
  const Number channels = op.attributes.integer("channels", 0);
  op.set(0, {kUnknownDim, kUnknownDim, channels > 0 && channels <= 4 ? channels : kUnknownDim});
}
void decode_wav(OpContext& op) {
  const auto size = [&](std::string_view name) {
    return valid_dim(op.attributes.integer(name, -1));
  };
  op.set(0, {size("desired_samples"), size("desired_channels")});
  op.set(1, {});
}
/// audio [samples, channels].
void spectrogram(OpContext& op) {
  const Number window = op.attributes.integer("window_size", 0);
  const Number stride = op.attributes.integer("stride", 0);
  const Number samples = op.in(0).dim(0);
  if (window < 1 || stride < 1 || window > kMaxDim) return;
  Number bins = 1;
  while (bins < window) bins *= 2;
  const Number frames = samples < 0        ? kUnknownDim
                        : samples < window ? 0
                                           : 1 + (samples - window) / stride;
  op.set(0, {op.in(0).dim(1), frames, 1 + bins / 2});
}
/// spectrogram [channels, frames, bins].
void mfcc(OpContext& op) {
  const Number count = op.attributes.integer("dct_coefficient_count", 13);
  op.set(0, {op.in(0).dim(0), op.in(0).dim(1), count < 0 || count > kMaxDim ? kUnknownDim : count});
}

// --- Examples and text --------------------------------------------------------------------------

/// serialized [batch], names, then keys; sparse features first, then dense ones of listed shapes.
void parse_example(OpContext& op) {
  const auto sparse = static_cast<std::size_t>(std::clamp<Number>(
      op.attributes.integer("Nsparse", op.attributes.integer("num_sparse", 0)), 0, 1 << 16));
  const std::vector<Value> shapes = op.attributes.shapes("dense_shapes");
  for (std::size_t i = 0; i < sparse; ++i) {
    op.set(i, {kUnknownDim, 2});
    op.set(sparse + i, {kUnknownDim});
    op.set(2 * sparse + i, {2});
  }
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (!shapes[i].ranked) continue;
    Dims dims = op.in(0).ranked ? op.in(0).dims : Dims{kUnknownDim};
    dims.insert(dims.end(), shapes[i].dims.begin(), shapes[i].dims.end());
    op.set(3 * sparse + i, std::move(dims));
  }
}
/// A sparse tensor: indices, values, shape.
void string_split(OpContext& op) {
  op.set(0, {kUnknownDim, 2});
  op.set(1, {kUnknownDim});
  op.set(2, {2});
}

/// As many rows as there are texts; how many words the longest has is not known.
void fold_string_split(OpContext& op) {
  if (op.in(0).rank() == 1 && op.in(0).dim(0) != kUnknownDim) {
    op.set_data(2, {op.in(0).dim(0), Data::kUnknown});
  }
}

void decode_raw(OpContext& op) {
  if (!op.in(0).ranked) return;
  Dims dims = op.in(0).dims;
  dims.push_back(kUnknownDim);
  op.set(0, std::move(dims));
}
/// strings; the separator joins them element by element.
void string_join(OpContext& op) {
  Dims dims;
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    if (!op.in(i).ranked) return;
    if (!op.in(i).dims.empty()) dims = op.in(i).dims;
  }
  op.set(0, std::move(dims));
}
/// prefix, names, slices: what a checkpoint holds is not in the graph's file.
void restored(OpContext& op) {
  const std::vector<Value> shapes = op.attributes.shapes("shapes");
  for (std::size_t i = 0; i < shapes.size(); ++i) op.copy_shape(i, shapes[i]);
}

/// Runs of words: as many rows as there were.
void string_n_grams(OpContext& op) {
  op.set(0, {kUnknownDim});
  op.copy_shape(1, op.in(1));
}
/// Eight bytes for each row.
void fingerprint(OpContext& op) {
  op.set(0, {op.in(0).dim(0), 8});
}

// Texts and encoded images: what is read and written is counted, parsing is not.
constexpr WorkRule kText = copies();
constexpr WorkRule kDecoding = copies();
constexpr WorkRule kFiles = copies();

/// One transform for each frame: two samples for each of its bins.
Estimate spectrogram_work(const OpView& op, const WorkRule& rule) {
  const TensorView bins = op.output(0);
  return work::make_estimate(op, rule, fourier_flops(2 * bins.elements(), 2 * bins.dim(-1)),
                             work::all_bytes(op));
}
constexpr WorkRule kSpectrogram{spectrogram_work, OpClass::reduction};
// For each coefficient a product and a sum over a bank of 40 filters.
constexpr WorkRule kCepstrum = elementwise(2 * 40);

constexpr Row kOps[] = {
    {"AdjustContrast", "output:=float", rule::like_first, elementwise(8)},
    {"AdjustContrastv2", "output:T=float", rule::like_first, elementwise(8)},
    {"AdjustHue", "output:T=float", rule::like_first, elementwise(20)},
    {"AdjustSaturation", "output:T=float", rule::like_first, elementwise(20)},
    {"AsString", "output:=string", rule::like_first, kText},
    {"AudioSpectrogram", "spectrogram:=float", spectrogram, kSpectrogram},
    {"AudioSummary", "summary:=string", rule::scalars, kHost},
    {"AudioSummaryV2", "summary:=string", rule::scalars, kHost},
    {"BoostedTreesBucketize", "buckets:=int32*num_features", rule::like_first, elementwise(1)},
    {"CloseSummaryWriter", "", rule::none, kHost},
    {"CreateSummaryFileWriter", "", rule::none, kHost},
    {"DecodeAndCropJpeg", "image:=uint8", decode_image, kDecoding},
    {"DecodeBase64", "output:=string", rule::like_first, kText},
    {"DecodeBmp", "image:=uint8", decode_image, kDecoding},
    {"DecodeCSV", "output:@OUT_TYPE", nullptr},
    {"DecodeJpeg", "image:=uint8", decode_image, kDecoding},
    {"DecodePng", "image:dtype=uint8", decode_image, kDecoding},
    {"DecodeProtoV2", "sizes:=int32 values:@output_types", nullptr},
    {"DecodeRaw", "output:out_type", decode_raw, kDecoding},
    {"DecodeWav", "audio:=float sample_rate:=int32", decode_wav, kDecoding},
    {"DrawBoundingBoxes", "output:T=float", rule::like_first, kDecoding},
    {"EagerPyFunc", "output:@Tout", nullptr},
    {"EditDistance", "output:=float", nullptr, kText},
    {"EncodeBase64", "output:=string", rule::like_first, kText},
    {"EncodeJpeg", "contents:=string", rule::scalars, kDecoding},
    {"EncodePng", "contents:=string", rule::scalars, kDecoding},
    {"EncodeWav", "contents:=string", rule::scalars, kDecoding},
    {"Fingerprint", "fingerprint:=uint8", fingerprint, kText},
    {"FlushSummaryWriter", "", rule::none, kHost},
    {"HSVToRGB", "output:T=float", rule::like_first, elementwise(20)},
    {"HistogramSummary", "summary:=string", rule::scalars, kHost},
    {"ImageSummary", "summary:=string", rule::scalars, kHost},
    {"MatchingFiles", "filenames:=string", rule::vectors, kText},
    {"MergeSummary", "summary:=string", rule::scalars, kHost},
    {"MergeV2Checkpoints", "", rule::none, kFiles},
    {"Mfcc", "output:=float", mfcc, kCepstrum},
    {"ParseExample",
     "sparse_indices:=int64*Nsparse sparse_values:@sparse_types sparse_shapes:=int64*Nsparse "
     "dense_values:@Tdense",
     parse_example, kDecoding},
    {"ParseExampleV2",
     "sparse_indices:=int64*num_sparse sparse_values:@sparse_types sparse_shapes:=int64*num_sparse "
     "dense_values:@Tdense ragged_values:@ragged_value_types ragged_row_splits:@ragged_split_types",
     parse_example, kDecoding},
    {"ParseSequenceExample",
     "context_sparse_indices:=int64*Ncontext_sparse context_sparse_values:@context_sparse_types "
     "context_sparse_shapes:=int64*Ncontext_sparse context_dense_values:@Tcontext_dense "
     "feature_list_sparse_indices:=int64*Nfeature_list_sparse "
     "feature_list_sparse_values:@feature_list_sparse_types "
     "feature_list_sparse_shapes:=int64*Nfeature_list_sparse "
     "feature_list_dense_values:@feature_list_dense_types "
     "feature_list_dense_lengths:=int64*Nfeature_list_dense",
     nullptr},
    {"ParseSequenceExampleV2",
     "context_sparse_indices:=int64*Ncontext_sparse context_sparse_values:@context_sparse_types "
     "context_sparse_shapes:=int64*Ncontext_sparse context_dense_values:@Tcontext_dense "
     "context_ragged_values:@context_ragged_value_types "
     "context_ragged_row_splits:@context_ragged_split_types "
     "feature_list_sparse_indices:=int64*Nfeature_list_sparse "
     "feature_list_sparse_values:@feature_list_sparse_types "
     "feature_list_sparse_shapes:=int64*Nfeature_list_sparse "
     "feature_list_dense_values:@feature_list_dense_types "
     "feature_list_dense_lengths:=int64*Nfeature_list_dense "
     "feature_list_ragged_values:@feature_list_ragged_value_types "
     "feature_list_ragged_outer_splits:@feature_list_ragged_split_types "
     "feature_list_ragged_inner_splits:@feature_list_ragged_split_types",
     nullptr},
    {"ParseSingleExample",
     "sparse_indices:=int64*num_sparse sparse_values:@sparse_types sparse_shapes:=int64*num_sparse "
     "dense_values:@Tdense",
     parse_example, kDecoding},
    {"Print", "output:T", rule::identity, kView},
    {"PrintV2", "", rule::none, kHost},
    {"PyFunc", "output:@Tout", nullptr},
    {"PyFuncStateless", "output:@Tout", nullptr},
    {"RGBToHSV", "output:T=float", rule::like_first, elementwise(20)},
    {"ReadFile", "contents:=string", rule::like_first, kFiles},
    {"ReaderNumRecordsProduced", "records_produced:=int64", rule::scalars, kControl},
    {"ReaderRead", "key:=string value:=string", nullptr},
    {"ReaderReadUpTo", "keys:=string values:=string", nullptr},
    {"ReaderReadUpToV2", "keys:=string values:=string", nullptr},
    {"ReaderReadV2", "key:=string value:=string", nullptr},
    {"ReduceJoin", "output:=string", nullptr},
    {"RegexFullMatch", "output:=bool", rule::like_first, kText},
    {"RegexReplace", "output:=string", rule::like_first, kText},
    {"Restore", "tensor:dt", nullptr},
    {"RestoreSlice", "tensor:dt", nullptr},
    {"RestoreV2", "tensors:@dtypes", restored, kFiles},
    {"SampleDistortedBoundingBox", "begin:T size:T bboxes:=float", nullptr},
    {"SampleDistortedBoundingBoxV2", "begin:T size:T bboxes:=float", nullptr},
    {"Save", "", rule::none, kFiles},
    {"SaveSlices", "", rule::none, kFiles},
    {"SaveV2", "", rule::none, kFiles},
    {"ScalarSummary", "summary:=string", rule::scalars, kHost},
    {"ShardedFilename", "filename:=string", rule::scalars, kText},
    {"ShardedFilespec", "filename:=string", rule::scalars, kText},
    {"StaticRegexFullMatch", "output:=bool", rule::like_first, kText},
    {"StaticRegexReplace", "output:=string", rule::like_first, kText},
    {"StringFormat", "output:=string", rule::scalars, kText},
    {"StringJoin", "output:=string", string_join, kText},
    {"StringLength", "output:=int32", rule::like_first, elementwise(1)},
    {"StringLower", "output:=string", rule::like_first, kText},
    {"StringNGrams", "ngrams:=string ngrams_splits:Tsplits=int64", string_n_grams, kText},
    {"StringSplit", "indices:=int64 values:=string shape:=int64", string_split, kText},
    {"StringSplitV2", "indices:=int64 values:=string shape:=int64", string_split, kText,
     fold_string_split},
    {"StringStrip", "output:=string", rule::like_first, kText},
    {"StringToHashBucket", "output:=int64", rule::like_first, kText},
    {"StringToHashBucketFast", "output:=int64", rule::like_first, kText},
    {"StringToHashBucketStrong", "output:=int64", rule::like_first, kText},
    {"StringToNumber", "output:out_type=float", rule::like_first, kText},
    {"StringUpper", "output:=string", rule::like_first, kText},
    {"Substr", "output:=string", rule::like_first, kText},
    {"TensorSummary", "summary:=string", rule::scalars, kHost},
    {"TensorSummaryV2", "summary:=string", rule::scalars, kHost},
    {"Timestamp", "ts:=double", rule::scalars, kControl},
    {"UnicodeDecode", "row_splits:Tsplits=int64 char_values:=int32", nullptr},
    {"UnicodeDecodeWithOffsets",
     "row_splits:Tsplits=int64 char_values:=int32 char_to_byte_starts:=int64", nullptr},
    {"UnicodeScript", "output:=int32", rule::like_first, kText},
    {"UnicodeTranscode", "output:=string", rule::like_first, kText},
    {"WriteFile", "", rule::none, kFiles},
    {"WriteHistogramSummary", "", rule::none, kHost},
    {"WriteImageSummary", "", rule::none, kHost},
    {"WriteScalarSummary", "", rule::none, kHost},
    {"WriteSummary", "", rule::none, kHost},
};

}  // namespace

std::span<const Row> data_ops() {
  return kOps;
}

}  // namespace berth::ops::tf
