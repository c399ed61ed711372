// The table of ONNX op types: the default domain, the com.microsoft ops that exported and optimised
// transformers hold, and the few ops of other domains that occur in real files. Training ops
// (gradients, optimizers) are included.
//
// FLOPs per element are what the arithmetic needs, with kTranscendentalFlops for an exp or the
// like. They matter little, because such ops wait for memory.
#include <initializer_list>
#include <string>
#include <string_view>

#include "costs/formulas.h"
#include "costs/onnx_rules.h"

namespace berth::costs {
namespace {

constexpr double kExp = kTranscendentalFlops;

using Types = std::initializer_list<std::string_view>;

void add(RuleTable& table, const WorkRule& rule, Types types, std::string_view domain = {}) {
  for (const std::string_view type : types) {
    table.emplace(std::string(domain) + std::string(domain.empty() ? "" : ".") + std::string(type),
                  rule);
  }
}

void add_microsoft(RuleTable& table, const WorkRule& rule, Types types) {
  add(table, rule, types, "com.microsoft");
}

void add_free_ops(RuleTable& table) {
  const WorkRule none{no_work, OpClass::none};
  // "Input" is the frontend's placeholder of a model input. Views share their input's memory.
  add(table, none,
      {"Input",
       "Constant",
       "Identity",
       "Shape",
       "Size",
       "Reshape",
       "Flatten",
       "Squeeze",
       "Unsqueeze",
       "BitCast",
       "Optional",
       "OptionalGetElement",
       "OptionalHasElement",
       "SequenceAt",
       "SequenceConstruct",
       "SequenceEmpty",
       "SequenceErase",
       "SequenceInsert",
       "SequenceLength",
       "SplitToSequence"});
  add_microsoft(table, none,
                {"ExpandDims", "PassThrough", "YieldOp", "BroadcastGradientArgs",
                 "OptionalHasElement", "OptionalGetElement"});
  add(table, {onnx::dropout, OpClass::elementwise, 3}, {"Dropout"});
}

void add_elementwise(RuleTable& table) {
  const auto rule = [](double flops) { return WorkRule{per_output, OpClass::elementwise, flops}; };
  add(table, rule(1),
      {"Abs",
       "Add",
       "And",
       "BitShift",
       "BitwiseAnd",
       "BitwiseNot",
       "Cast",
       "BitwiseOr",
       "BitwiseXor",
       "CastLike",
       "Ceil",
       "Clip",
       "Div",
       "Equal",
       "Floor",
       "Greater",
       "GreaterOrEqual",
       "IsInf",
       "IsNaN",
       "Less",
       "LeakyRelu",
       "LessOrEqual",
       "Mul",
       "Neg",
       "Not",
       "Or",
       "PRelu",
       "Reciprocal",
       "Relu",
       "Round",
       "Shrink",
       "Sign",
       "Sub",
       "ThresholdedRelu",
       "Where",
       "Xor"});
  add(table, rule(3),
      {"Affine", "HardSigmoid", "HardSwish", "ImageScaler", "Mod", "Softsign", "Sqrt"});
  add(table, rule(kExp),
      {"Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cos", "Cosh", "Erf", "Exp", "Log", "Sin",
       "Sinh", "Tan", "Tanh"});
  add(table, rule(kExp + 2), {"Celu", "Elu", "Selu", "Sigmoid", "Softplus", "Swish"});
  add(table, rule(kExp + 5), {"Gelu", "Mish"});
  add(table, rule(2 * kExp), {"Pow"});
  add(table, {per_operand, OpClass::elementwise, 1}, {"Max", "Mean", "Min", "Sum"});
  // Quantisation: scale, round, shift, clamp.
  add(table, rule(4), {"QuantizeLinear"});
  add(table, rule(2), {"DequantizeLinear"});
  // Rotation by a cached cosine and sine: two products and a sum.
  add(table, rule(3), {"RotaryEmbedding"});
  // A counter-based generator spends about two transcendental functions a number.
  const WorkRule random{write_only, OpClass::elementwise, 2 * kExp};
  add(table, random,
      {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
       "RandomUniformLike"});
  add(table, {write_only, OpClass::elementwise, kExp},
      {"BlackmanWindow", "HammingWindow", "HannWindow", "MelWeightMatrix"});

  add_microsoft(table, rule(2),
                {"BiasAdd", "BiasDropout", "BitmaskBiasDropout", "BitmaskDropout",
                 "BitmaskDropoutGrad", "DequantizeLinear", "DropoutGrad", "MulInteger",
                 "QLinearLeakyRelu", "QLinearWhere", "ReluGrad"});
  add_microsoft(table, rule(4), {"QuantizeLinear", "RotaryEmbedding", "GemmaRotaryEmbedding"});
  add_microsoft(table, rule(6), {"QLinearAdd", "QLinearMul"});
  add_microsoft(table, rule(kExp + 2),
                {"QLinearSigmoid", "QuickGelu", "SigmoidGrad", "TanhGrad", "SwiGLU"});
  add_microsoft(table, rule(kExp + 6),
                {"BiasGelu", "BiasSplitGelu", "FastGelu", "Gelu", "BiasGeluGrad_dX",
                 "BiasFastGeluGrad_dX", "FastGeluGrad", "GeluGrad", "QuickGeluGrad"});
  add_microsoft(table, rule(2), {"InPlaceAccumulator", "InPlaceAccumulatorV2", "ZeroGradient"});
  // Per weight: both moments, the correction, the root and the update.
  const WorkRule optimizer{per_input, OpClass::elementwise, 15};
  add_microsoft(
      table, optimizer,
      {"AdamOptimizer", "AdamWOptimizer", "LambOptimizer", "SGDOptimizer", "SGDOptimizerV2"});
  for (const std::string_view domain :
       {"ai.onnx.preview.training", "ai.onnx.training", "ai.onnx.preview"}) {
    add(table, {per_output, OpClass::elementwise, 15}, {"Adagrad", "Adam", "Momentum"}, domain);
  }
  add(table, rule(2), {"Binarizer", "Imputer", "LabelEncoder", "Scaler"}, "ai.onnx.ml");
}

void add_convolutions(RuleTable& table) {
  const OpClass kind = OpClass::convolution;
  add(table, {onnx::convolution, kind}, {"Conv", "ConvInteger"});
  add(table, {onnx::quantized_convolution, kind}, {"QLinearConv"});
  add(table, {onnx::transposed_convolution, kind}, {"ConvTranspose"});
  add(table, {onnx::deformable_convolution, kind}, {"DeformConv"});
  add_microsoft(table, {onnx::convolution, kind}, {"FusedConv", "NhwcConv", "NhwcFusedConv"});
  add_microsoft(table, {onnx::quantized_convolution, kind}, {"QLinearConv"});
  add_microsoft(table, {onnx::transposed_convolution, kind}, {"ConvTransposeWithDynamicPads"});
  for (const std::string_view domain : {"com.microsoft.nchwc", "com.ms.internal.nhwc"}) {
    add(table, {onnx::convolution, kind}, {"Conv", "FusedConv"}, domain);
    add(table, {onnx::transposed_convolution, kind}, {"ConvTranspose"}, domain);
    add(table, {onnx::quantized_convolution, kind}, {"QLinearConv"}, domain);
  }
}

void add_matrix_products(RuleTable& table) {
  const OpClass kind = OpClass::matmul;
  // "Matmul" is how some exporters misspell it.
  add(table, {onnx::matmul, kind}, {"MatMul", "Matmul", "MatMulInteger"});
  add(table, {onnx::gemm, kind}, {"Gemm"});
  add(table, {onnx::quantized_matmul, kind}, {"QLinearMatMul"});
  add(table, {einsum, kind}, {"Einsum"});
  add(table, {determinant, kind}, {"Det", "Inverse"});
  add_microsoft(table, {onnx::matmul, kind},
                {"DynamicQuantizeMatMul", "FusedMatMul", "FusedMatMulActivation", "GemmFloat8",
                 "MatMulInteger16", "MatMulIntegerToFloat", "TransposeMatMul"});
  add_microsoft(table, {onnx::gemm, kind}, {"FusedGemm", "GemmFastGelu"});
  add_microsoft(table, {onnx::quantized_matmul, kind}, {"QGemm", "QLinearMatMul"});
  add_microsoft(table, {onnx::packed_matmul, kind}, {"MatMulBnb4", "MatMulFpQ4", "MatMulNBits"});
  add_microsoft(table, {determinant, kind}, {"Inverse"});
  add_microsoft(table, {onnx::mixture_of_experts, kind}, {"MoE"});
}

void add_attention(RuleTable& table) {
  const OpClass kind = OpClass::attention;
  add(table, {onnx::standard_attention, kind}, {"Attention"});
  add_microsoft(table, {onnx::projected_attention, kind},
                {"Attention", "DecoderMaskedSelfAttention"});
  add_microsoft(table, {onnx::quantized_projected_attention, kind}, {"QAttention"});
  add_microsoft(table, {onnx::multi_head_attention, kind},
                {"DecoderMaskedMultiHeadAttention", "MultiHeadAttention"});
  add_microsoft(table, {onnx::grouped_attention, kind}, {"GroupQueryAttention"});
}

void add_recurrent(RuleTable& table) {
  const OpClass kind = OpClass::recurrent;
  add(table, {onnx::recurrent, kind, 4}, {"LSTM"});
  add(table, {onnx::recurrent, kind, 3}, {"GRU"});
  add(table, {onnx::recurrent, kind, 1}, {"RNN"});
  add_microsoft(table, {onnx::recurrent, kind, 4}, {"DynamicQuantizeLSTM"});
}

void add_normalizations(RuleTable& table) {
  const auto rule = [](double flops) {
    return WorkRule{per_output, OpClass::normalization, flops};
  };
  // Inference folds statistics into a factor and an offset per channel.
  add(table, rule(2), {"BatchNormalization"});
  // Mean, variance, scale and shift of every element.
  add(table, rule(8),
      {"GroupNormalization", "InstanceNormalization", "LayerNormalization",
       "MeanVarianceNormalization"});
  add(table, rule(5), {"LpNormalization", "RMSNormalization", "SimplifiedLayerNormalization"});
  add(table, {onnx::local_response, OpClass::normalization}, {"LRN"});
  add(table, rule(5), {"Normalizer"}, "ai.onnx.ml");
  add_microsoft(table, rule(6), {"SkipSimplifiedLayerNormalization"});
  add_microsoft(table, rule(8), {"GroupNorm", "BatchNormInternal"});
  add_microsoft(table, rule(10), {"SkipGroupNorm", "SkipLayerNormalization"});
  add_microsoft(
      table, rule(16),
      {"BatchNormalizationGrad", "LayerNormalizationGrad", "SimplifiedLayerNormalizationGrad"});
  add_microsoft(table, {onnx::embedding_norm, OpClass::normalization, 10},
                {"EmbedLayerNormalization", "QEmbedLayerNormalization"});
}

void add_pooling(RuleTable& table) {
  const OpClass kind = OpClass::pooling;
  add(table, {onnx::pooling, kind, 1}, {"AveragePool", "MaxPool"});
  add(table, {onnx::pooling, kind, 2}, {"LpPool"});
  add(table, {per_input, kind, 1}, {"GlobalAveragePool", "GlobalMaxPool", "MaxUnpool"});
  add(table, {per_input, kind, 2}, {"GlobalLpPool"});
  // Four neighbours weighted per sample.
  add(table, {onnx::region_pooling, kind, 8}, {"MaxRoiPool", "RoiAlign"});
  add_microsoft(table, {onnx::pooling, kind, 1},
                {"MaxpoolWithMask", "NhwcMaxPool", "QLinearAveragePool"});
  add_microsoft(table, {per_input, kind, 1}, {"QLinearGlobalAveragePool"});
  add_microsoft(table, {onnx::region_pooling, kind, 8}, {"CropAndResize"});
  for (const std::string_view domain : {"com.microsoft.nchwc", "com.ms.internal.nhwc"}) {
    add(table, {onnx::pooling, kind, 1}, {"AveragePool", "MaxPool"}, domain);
    add(table, {per_input, kind, 1}, {"GlobalAveragePool", "GlobalMaxPool"}, domain);
  }
}

void add_reductions(RuleTable& table) {
  const auto rule = [](double flops) { return WorkRule{per_input, OpClass::reduction, flops}; };
  add(table, rule(1),
      {"ArgMax", "ArgMin", "CumProd", "CumSum", "ReduceMax", "ReduceMean", "ReduceMin",
       "ReduceProd", "ReduceSum"});
  add(table, rule(2), {"Hardmax", "ReduceL1", "ReduceL2", "ReduceSumSquare"});
  add(table, rule(kExp), {"ReduceLogSum"});
  add(table, rule(kExp + 2), {"ReduceLogSumExp"});
  // Maximum, subtract, exp, sum, divide.
  add(table, rule(kExp + 4), {"LogSoftmax", "Softmax", "SoftmaxCrossEntropyLoss"});
  add(table, rule(1), {"NegativeLogLikelihoodLoss", "MeanSquaredDistance"});
  // Minimum and maximum, then scale, round, shift and clamp.
  add(table, rule(6), {"DynamicQuantizeLinear"});
  add(table, {onnx::selection, OpClass::reduction, 1}, {"TopK", "Unique"});
  // Overlap of two boxes.
  add(table, {onnx::non_max_suppression, OpClass::reduction, 16}, {"NonMaxSuppression"});
  add(table, {onnx::fourier, OpClass::reduction}, {"DFT", "STFT"});
  add_microsoft(table, {onnx::fourier, OpClass::reduction}, {"Irfft", "Rfft"});
  add_microsoft(table, {onnx::selection, OpClass::reduction, 1}, {"Unique"});
  add_microsoft(table, rule(1), {"QLinearReduceMean", "ReduceSumInteger", "ReduceSumTraining"});
  add_microsoft(table, rule(kExp + 4),
                {"QLinearSoftmax", "BiasSoftmax", "SoftmaxCrossEntropyLossInternal"});
  add_microsoft(table, rule(4),
                {"SoftmaxGrad", "SoftmaxGrad_13", "LogSoftmaxGrad", "LogSoftmaxGrad_13",
                 "SoftmaxCrossEntropyLossGrad", "SoftmaxCrossEntropyLossInternalGrad"});
}

void add_data_movement(RuleTable& table) {
  const OpClass kind = OpClass::data_movement;
  const WorkRule copy{per_output, kind, 0};
  const WorkRule write{write_only, kind, 0};
  const WorkRule gather{gathered, kind, 0};
  add(table, copy,
      {"CenterCropPad", "Col2Im", "Compress", "Concat", "ConcatFromSequence", "DepthToSpace",
       "Expand", "NonZero", "Pad", "ReverseSequence", "ScatterElements", "Scatter", "ScatterND",
       "SpaceToDepth", "Split", "TensorScatter", "Tile", "Transpose", "Trilu"});
  add(table, write,
      {"AffineGrid", "ConstantFill", "ConstantOfShape", "EyeLike", "OneHot", "Range"});
  add(table, gather, {"Crop", "DynamicSlice", "Gather", "GatherElements", "GatherND", "Slice"});
  add(table, {onnx::resize, kind}, {"Resize", "Upsample"});
  // Four neighbours weighted per sample.
  add(table, {gathered, kind, 8}, {"GridSample"});
  add(table, gather, {"ArrayFeatureExtractor"}, "ai.onnx.ml");
  add(table, copy, {"FeatureVectorizer"}, "ai.onnx.ml");
  add_microsoft(
      table, copy,
      {"ConcatTraining", "GatherGrad", "GatherElementsGrad", "GatherNDGrad", "Pad", "QLinearConcat",
       "RemovePadding", "RestorePadding", "SliceGrad", "SplitTraining", "Trilu", "UnfoldTensor"});
  add_microsoft(table, gather, {"GatherND", "GatherBlockQuantized"});
  add_microsoft(table, {gathered, kind, 8}, {"GridSample"});
  add(table, copy, {"ReorderInput", "ReorderOutput", "Upsample"}, "com.microsoft.nchwc");
}

RuleTable make_table() {
  RuleTable table;
  add_free_ops(table);
  add_elementwise(table);
  add_convolutions(table);
  add_matrix_products(table);
  add_attention(table);
  add_recurrent(table);
  add_normalizations(table);
  add_pooling(table);
  add_reductions(table);
  add_data_movement(table);
  return table;
}

}  // namespace

const RuleTable& onnx_rules() {
  static const RuleTable table = make_table();
  return table;
}

}  // namespace berth::costs
