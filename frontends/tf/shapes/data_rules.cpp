// Random numbers, sparse tensors, images, text, files, summaries: what feeds and watches a network.
#include <algorithm>

#include "tf/shapes/op_info.h"

namespace berth::tf_frontend {
namespace {

using Number = std::int64_t;

Number size_or_unknown(const Value& scalar) {
  const Number n = scalar.element(0).value_or(kUnknownDim);
  return n < 0 || n > kMaxDim ? kUnknownDim : n;
}

/// logits [batch, classes], samples.
void multinomial(ShapeContext& op) {
  op.set(0, {op.in(0).dim(0), size_or_unknown(op.in(1))});
}

/// shape, then parameters of a distribution: a sample of that shape for each of them.
void random_gamma(ShapeContext& op) {
  const Value shape = shape_of_content(op.in(0));
  if (!shape.ranked || !op.in(1).ranked) return;
  Dims dims = shape.dims;
  dims.insert(dims.end(), op.in(1).dims.begin(), op.in(1).dims.end());
  op.set(0, std::move(dims));
}

/// The shape is the content of the second input.
void shape_from_second(ShapeContext& op) {
  op.copy_shape(0, shape_of_content(op.in(1)));
}

// --- Sparse tensors: indices [n, rank], values [n], shape [rank] --------------------------------

void give_sparse(ShapeContext& op, std::size_t first, Number count, Number rank) {
  op.set(first, {count, rank});
  op.set(first + 1, {count});
  op.set(first + 2, {rank});
}
/// indices, shape, new shape.
void sparse_reshape(ShapeContext& op) {
  op.set(0, {op.in(0).dim(0), op.in(2).dim(0)});
  op.copy_shape(1, op.in(2));
}
/// indices, values, shape, default: at least one row each.
void sparse_fill_empty_rows(ShapeContext& op) {
  op.set(0, {kUnknownDim, op.in(0).dim(1)});
  op.set(1, {kUnknownDim});
  op.set(2, {shape_of_content(op.in(2)).dim(0)});
  op.copy_shape(3, op.in(1));
}
void sparse_fill_empty_rows_gradient(ShapeContext& op) {
  op.copy_shape(0, op.in(0));
  op.set(1, {});
}
/// Two sparse tensors of one rank.
void sparse_pair(ShapeContext& op) {
  give_sparse(op, 0, kUnknownDim, op.in(0).dim(1));
}
void sparse_reorder(ShapeContext& op) {
  op.copy_shape(0, op.in(0));
  op.copy_shape(1, op.in(1));
}
void sparse_concat(ShapeContext& op) {
  give_sparse(op, 0, kUnknownDim, op.in(0).dim(1));
}
/// axis, indices, values, shape.
void sparse_split(ShapeContext& op) {
  const std::size_t parts = op.output_count() / 3;
  for (std::size_t i = 0; i < parts; ++i) {
    op.set(i, {kUnknownDim, op.in(1).dim(1)});
    op.set(parts + i, {kUnknownDim});
    op.copy_shape(2 * parts + i, op.in(3));
  }
}

// --- Images and sound ---------------------------------------------------------------------------

void decode_image(ShapeContext& op) {
  const Number channels = op.attributes.integer("channels", 0);
  op.set(0, {kUnknownDim, kUnknownDim, channels > 0 && channels <= 4 ? channels : kUnknownDim});
}
void decode_wav(ShapeContext& op) {
  const auto size = [&](std::string_view name) {
    const Number n = op.attributes.integer(name, -1);
    return n < 0 || n > kMaxDim ? kUnknownDim : n;
  };
  op.set(0, {size("desired_samples"), size("desired_channels")});
  op.set(1, {});
}
/// audio [samples, channels].
void spectrogram(ShapeContext& op) {
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
void mfcc(ShapeContext& op) {
  const Number count = op.attributes.integer("dct_coefficient_count", 13);
  op.set(0, {op.in(0).dim(0), op.in(0).dim(1), count < 0 || count > kMaxDim ? kUnknownDim : count});
}

// --- Examples and text --------------------------------------------------------------------------

/// serialized [batch], names, then keys; sparse features first, then dense ones of listed shapes.
void parse_example(ShapeContext& op) {
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
void string_split(ShapeContext& op) {
  give_sparse(op, 0, kUnknownDim, 2);
}

void decode_raw(ShapeContext& op) {
  if (!op.in(0).ranked) return;
  Dims dims = op.in(0).dims;
  dims.push_back(kUnknownDim);
  op.set(0, std::move(dims));
}
/// strings; the separator joins them element by element.
void string_join(ShapeContext& op) {
  Dims dims;
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    if (!op.in(i).ranked) return;
    if (!op.in(i).dims.empty()) dims = op.in(i).dims;
  }
  op.set(0, std::move(dims));
}
/// prefix, names, slices: what a checkpoint holds is not in the graph's file.
void restored(ShapeContext& op) {
  const std::vector<Value> shapes = op.attributes.shapes("shapes");
  for (std::size_t i = 0; i < shapes.size(); ++i) op.copy_shape(i, shapes[i]);
}

constexpr OpRow kOps[] = {
    {"AdjustContrast", "output:=float", rule::like_first},
    {"AdjustContrastv2", "output:T", rule::like_first},
    {"AdjustHue", "output:T", rule::like_first},
    {"AdjustSaturation", "output:T", rule::like_first},
    {"AsString", "output:=string", rule::like_first},
    {"AudioSpectrogram", "spectrogram:=float", spectrogram},
    {"AudioSummary", "summary:=string", rule::scalars},
    {"AudioSummaryV2", "summary:=string", rule::scalars},
    {"BoostedTreesBucketize", "buckets:=int32*num_features", rule::like_first},
    {"CloseSummaryWriter", "", rule::none},
    {"CreateSummaryFileWriter", "", rule::none},
    {"DecodeAndCropJpeg", "image:=uint8", decode_image},
    {"DecodeBase64", "output:=string", rule::like_first},
    {"DecodeBmp", "image:=uint8", decode_image},
    {"DecodeCSV", "output:@OUT_TYPE", nullptr},
    {"DecodeJpeg", "image:=uint8", decode_image},
    {"DecodePng", "image:dtype", decode_image},
    {"DecodeProtoV2", "sizes:=int32 values:@output_types", nullptr},
    {"DecodeRaw", "output:out_type", decode_raw},
    {"DecodeWav", "audio:=float sample_rate:=int32", decode_wav},
    {"DenseToDenseSetOperation", "result_indices:=int64 result_values:T result_shape:=int64",
     nullptr},
    {"DenseToSparseSetOperation", "result_indices:=int64 result_values:T result_shape:=int64",
     nullptr},
    {"DrawBoundingBoxes", "output:T", rule::like_first},
    {"EagerPyFunc", "output:@Tout", nullptr},
    {"EncodeBase64", "output:=string", rule::like_first},
    {"EncodeJpeg", "contents:=string", rule::scalars},
    {"EncodePng", "contents:=string", rule::scalars},
    {"EncodeWav", "contents:=string", rule::scalars},
    {"FlushSummaryWriter", "", rule::none},
    {"HSVToRGB", "output:T", rule::like_first},
    {"HistogramSummary", "summary:=string", rule::scalars},
    {"ImageSummary", "summary:=string", rule::scalars},
    {"MatchingFiles", "filenames:=string", rule::vectors},
    {"MergeSummary", "summary:=string", rule::scalars},
    {"MergeV2Checkpoints", "", rule::none},
    {"Mfcc", "output:=float", mfcc},
    {"Multinomial", "output:output_dtype", multinomial},
    {"ParameterizedTruncatedNormal", "output:dtype", rule::shape_from_first},
    {"ParseExample",
     "sparse_indices:=int64*Nsparse sparse_values:@sparse_types sparse_shapes:=int64*Nsparse "
     "dense_values:@Tdense",
     parse_example},
    {"ParseExampleV2",
     "sparse_indices:=int64*num_sparse sparse_values:@sparse_types sparse_shapes:=int64*num_sparse "
     "dense_values:@Tdense ragged_values:@ragged_value_types ragged_row_splits:@ragged_split_types",
     parse_example},
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
     parse_example},
    {"Print", "output:T", rule::identity},
    {"PrintV2", "", rule::none},
    {"PyFunc", "output:@Tout", nullptr},
    {"PyFuncStateless", "output:@Tout", nullptr},
    {"RGBToHSV", "output:T", rule::like_first},
    {"RaggedGather", "output_nested_splits:Tsplits*OUTPUT_RAGGED_RANK output_dense_values:Tvalues",
     nullptr},
    {"RaggedRange", "rt_nested_splits:Tsplits rt_dense_values:T", nullptr},
    {"RaggedTensorToSparse", "sparse_indices:=int64 sparse_values:T sparse_dense_shape:=int64",
     nullptr},
    {"RaggedTensorToTensor", "result:T", nullptr},
    {"RandomGamma", "output:T", random_gamma},
    {"RandomPoisson", "output:dtype", random_gamma},
    {"RandomPoissonV2", "output:dtype", random_gamma},
    {"RandomStandardNormal", "output:dtype", rule::shape_from_first},
    {"RandomUniform", "output:dtype", rule::shape_from_first},
    {"RandomUniformInt", "output:Tout", rule::shape_from_first},
    {"ReadFile", "contents:=string", rule::like_first},
    {"ReaderNumRecordsProduced", "records_produced:=int64", rule::scalars},
    {"ReaderRead", "key:=string value:=string", nullptr},
    {"ReaderReadUpTo", "keys:=string values:=string", nullptr},
    {"ReaderReadUpToV2", "keys:=string values:=string", nullptr},
    {"ReaderReadV2", "key:=string value:=string", nullptr},
    {"ReduceJoin", "output:=string", nullptr},
    {"RegexFullMatch", "output:=bool", rule::like_first},
    {"RegexReplace", "output:=string", rule::like_first},
    {"Restore", "tensor:dt", nullptr},
    {"RestoreSlice", "tensor:dt", nullptr},
    {"RestoreV2", "tensors:@dtypes", restored},
    {"SampleDistortedBoundingBox", "begin:T size:T bboxes:=float", nullptr},
    {"SampleDistortedBoundingBoxV2", "begin:T size:T bboxes:=float", nullptr},
    {"Save", "", rule::none},
    {"SaveSlices", "", rule::none},
    {"SaveV2", "", rule::none},
    {"ScalarSummary", "summary:=string", rule::scalars},
    {"ShardedFilename", "filename:=string", rule::scalars},
    {"ShardedFilespec", "filename:=string", rule::scalars},
    {"SparseAdd", "sum_indices:=int64 sum_values:T sum_shape:=int64", sparse_pair},
    {"SparseConcat", "output_indices:=int64 output_values:T output_shape:=int64", sparse_concat},
    {"SparseCross", "output_indices:=int64 output_values:out_type output_shape:=int64", nullptr},
    {"SparseFillEmptyRows",
     "output_indices:=int64 output_values:T empty_row_indicator:=bool reverse_index_map:=int64",
     sparse_fill_empty_rows},
    {"SparseFillEmptyRowsGrad", "d_values:T d_default_value:T", sparse_fill_empty_rows_gradient},
    {"SparseReorder", "output_indices:=int64 output_values:T", sparse_reorder},
    {"SparseReshape", "output_indices:=int64 output_shape:=int64", sparse_reshape},
    {"SparseSlice", "output_indices:=int64 output_values:T output_shape:=int64", nullptr},
    {"SparseSoftmax", "output:T", rule::like_first},
    {"SparseSplit",
     "output_indices:=int64*num_split output_values:T*num_split output_shape:=int64*num_split",
     sparse_split},
    {"SparseTensorToCSRSparseMatrix", "sparse_matrix:=variant", nullptr},
    {"SparseToDense", "dense:T", shape_from_second},
    {"StatefulStandardNormal", "output:dtype", shape_from_second},
    {"StatefulUniform", "output:dtype", shape_from_second},
    {"StatelessMultinomial", "output:output_dtype", multinomial},
    {"StatelessRandomGetAlg", "alg:=int32", nullptr},
    {"StatelessRandomGetKeyCounter", "key:=uint64 counter:=uint64", nullptr},
    {"StatelessRandomNormal", "output:dtype", rule::shape_from_first},
    {"StatelessRandomNormalV2", "output:dtype", rule::shape_from_first},
    {"StatelessRandomUniform", "output:dtype", rule::shape_from_first},
    {"StatelessRandomUniformFullInt", "output:dtype", rule::shape_from_first},
    {"StatelessRandomUniformInt", "output:dtype", rule::shape_from_first},
    {"StatelessRandomUniformIntV2", "output:dtype", rule::shape_from_first},
    {"StatelessRandomUniformV2", "output:dtype", rule::shape_from_first},
    {"StatelessTruncatedNormal", "output:dtype", rule::shape_from_first},
    {"StatelessTruncatedNormalV2", "output:dtype", rule::shape_from_first},
    {"StaticRegexFullMatch", "output:=bool", rule::like_first},
    {"StaticRegexReplace", "output:=string", rule::like_first},
    {"StringJoin", "output:=string", string_join},
    {"StringLength", "output:=int32", rule::like_first},
    {"StringLower", "output:=string", rule::like_first},
    {"StringSplit", "indices:=int64 values:=string shape:=int64", string_split},
    {"StringSplitV2", "indices:=int64 values:=string shape:=int64", string_split},
    {"StringStrip", "output:=string", rule::like_first},
    {"StringToHashBucket", "output:=int64", rule::like_first},
    {"StringToHashBucketFast", "output:=int64", rule::like_first},
    {"StringToHashBucketStrong", "output:=int64", rule::like_first},
    {"StringToNumber", "output:out_type", rule::like_first},
    {"StringUpper", "output:=string", rule::like_first},
    {"Substr", "output:=string", rule::like_first},
    {"TensorSummary", "summary:=string", rule::scalars},
    {"TensorSummaryV2", "summary:=string", rule::scalars},
    {"Timestamp", "ts:=double", rule::scalars},
    {"TruncatedNormal", "output:dtype", rule::shape_from_first},
    {"UnicodeDecode", "row_splits:Tsplits char_values:=int32", nullptr},
    {"UnicodeDecodeWithOffsets", "row_splits:Tsplits char_values:=int32 char_to_byte_starts:=int64",
     nullptr},
    {"WriteFile", "", rule::none},
    {"WriteHistogramSummary", "", rule::none},
    {"WriteImageSummary", "", rule::none},
    {"WriteScalarSummary", "", rule::none},
    {"WriteSummary", "", rule::none},
};

}  // namespace

std::span<const OpRow> data_ops() {
  return kOps;
}

}  // namespace berth::tf_frontend
