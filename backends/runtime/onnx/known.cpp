#include "runtime/onnx/known.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "berth/error.h"
#include "berth/support/text.h"
#include "runtime/support.h"

namespace berth::runtime::onnx {
namespace {

/// `types` and `attributes` are separated by blanks. "name=value" is known with this value alone.
struct Known {
  std::string_view types;
  std::size_t inputs;
  std::string_view attributes;
};
constexpr std::size_t kAnyNumber = std::numeric_limits<std::size_t>::max();

constexpr Known kKnown[] = {
    {"Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Ceil Cos Cosh Det DynamicQuantizeLinear Erf "
     "Exp Floor GlobalAveragePool GlobalMaxPool HardSwish Identity IsNaN Log Mish Neg NonZero Not "
     "OptionalGetElement OptionalHasElement Reciprocal Relu Round SequenceLength Sigmoid Sign Sin "
     "Sinh Size Softplus Softsign Sqrt Tan Tanh com.microsoft.Gelu com.microsoft.Inverse",
     1, ""},
    {"Add And Div Equal Greater Less Mul Or Pow Sub Xor", 2, "axis broadcast"},
    {"Affine HardSigmoid", 1, "alpha beta"},
    {"AffineGrid", 2, "align_corners"},
    {"ArgMax ArgMin", 1, "axis keepdims select_last_index"},
    {"Attention", 7,
     "is_causal kv_num_heads left_window_size q_num_heads qk_matmul_output_mode right_window_size "
     "scale softcap softmax_precision"},
    {"AveragePool", 1, "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides"},
    {"BatchNormalization", 5, "epsilon is_test momentum spatial training_mode"},
    {"Bernoulli", 1, "dtype seed"},
    {"BitShift", 2, "direction"},
    {"BitwiseAnd BitwiseOr BitwiseXor Expand GreaterOrEqual LessOrEqual MatMul PRelu SequenceAt "
     "SequenceErase com.microsoft.BiasGelu com.microsoft.ExpandDims com.microsoft.FastGelu",
     2, ""},
    {"BlackmanWindow HammingWindow HannWindow", 1, "output_datatype periodic"},
    {"Cast", 1, "round_mode saturate to"},
    {"CastLike", 2, "round_mode saturate"},
    {"Celu Elu LeakyRelu Swish ThresholdedRelu com.microsoft.QuickGelu", 1, "alpha"},
    {"CenterCropPad Squeeze Unsqueeze", 2, "axes"},
    {"Clip", 3, "max min"},
    {"Col2Im", 3, "dilations pads strides"},
    {"Compress Gather GatherElements", 2, "axis"},
    {"Concat com.microsoft.QLinearConcat", kAnyNumber, "axis"},
    {"ConcatFromSequence", 1, "axis new_axis"},
    {"Constant", 0,
     "sparse_value value value_float value_floats value_int value_ints value_string value_strings"},
    {"ConstantOfShape", 1, "value"},
    {"Conv", 3, "auto_pad dilations group kernel_shape pads strides"},
    {"ConvInteger", 4, "auto_pad dilations group kernel_shape pads strides"},
    {"ConvTranspose", 3,
     "auto_pad dilations group kernel_shape output_padding output_shape pads strides"},
    {"Crop", 1, "border scale"},
    {"CumProd CumSum", 2, "exclusive reverse"},
    {"DeformConv", 5, "dilations group kernel_shape offset_group pads strides"},
    {"DepthToSpace SpaceToDepth", 1, "blocksize mode"},
    {"DequantizeLinear", 3, "axis block_size output_dtype"},
    {"DFT", 3, "axis inverse onesided"},
    {"Dropout", 3, "is_test ratio seed"},
    {"Einsum", kAnyNumber, "equation"},
    {"EyeLike", 1, "dtype k"},
    {"Flatten Hardmax LogSoftmax Softmax", 1, "axis"},
    {"GatherND", 2, "batch_dims"},
    {"Gelu", 1, "approximate"},
    {"Gemm", 3, "alpha beta broadcast transA transB"},
    {"GlobalLpPool", 1, "p"},
    {"GridSample", 2, "align_corners mode padding_mode"},
    {"GroupNormalization", 3, "epsilon num_groups stash_type"},
    {"GRU", 6,
     "activation_alpha activation_beta activations clip direction hidden_size layout "
     "linear_before_reset output_sequence"},
    {"If", 1, "else_branch then_branch"},
    {"ImageScaler", 1, "bias scale"},
    {"InstanceNormalization", 3, "epsilon"},
    {"IsInf", 1, "detect_negative detect_positive"},
    {"LayerNormalization", 3, "axis epsilon stash_type"},
    {"Loop SequenceMap", kAnyNumber, "body"},
    {"LpNormalization", 1, "axis p"},
    {"LpPool", 1, "auto_pad ceil_mode dilations kernel_shape p pads strides"},
    {"LRN", 1, "alpha beta bias size"},
    {"LSTM", 8,
     "activation_alpha activation_beta activations clip direction hidden_size input_forget layout "
     "output_sequence"},
    {"MatMulInteger", 4, ""},
    {"Max Mean Min SequenceConstruct Sum", kAnyNumber, ""},
    {"MaxPool", 1, "auto_pad ceil_mode dilations kernel_shape pads storage_order strides"},
    {"MaxUnpool", 3, "kernel_shape pads strides"},
    {"MelWeightMatrix", 5, "output_datatype"},
    {"MeanVarianceNormalization", 1, "across_channels=0 axes normalize_variance=1"},
    {"Mod", 2, "fmod"},
    {"Multinomial", 1, "dtype sample_size seed"},
    {"NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss", 3, "ignore_index reduction"},
    {"NonMaxSuppression", 5, "center_point_box"},
    {"OneHot Scatter com.microsoft.DequantizeLinear com.microsoft.QuantizeLinear", 3, "axis"},
    {"Optional", 1, "type"},
    {"Pad", 4, "mode paddings pads value"},
    {"QLinearConv", 9, "auto_pad dilations group kernel_shape pads strides"},
    {"QLinearMatMul com.microsoft.QLinearAdd com.microsoft.QLinearMul", 8, ""},
    {"QuantizeLinear", 3, "axis block_size output_dtype precision saturate"},
    {"RandomNormal", 0, "dtype mean scale seed shape"},
    {"RandomNormalLike", 1, "dtype mean scale seed"},
    {"RandomUniform", 0, "dtype high low seed shape"},
    {"RandomUniformLike", 1, "dtype high low seed"},
    {"Range", 3, "stash_type"},
    {"ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd "
     "ReduceSum ReduceSumSquare",
     2, "axes keepdims noop_with_empty_axes"},
    {"Reshape", 2, "allowzero shape"},
    {"Resize", 4,
     "antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside "
     "extrapolation_value keep_aspect_ratio_policy mode nearest_mode"},
    {"ReverseSequence", 2, "batch_axis time_axis"},
    {"RMSNormalization SimplifiedLayerNormalization", 2, "axis epsilon stash_type"},
    {"RNN", 6,
     "activation_alpha activation_beta activations clip direction hidden_size layout "
     "output_sequence"},
    {"RoiAlign", 3,
     "coordinate_transformation_mode mode output_height output_width sampling_ratio spatial_scale"},
    {"RotaryEmbedding", 4, "interleaved num_heads rotary_embedding_dim"},
    {"Scan", kAnyNumber,
     "body directions num_scan_inputs scan_input_axes scan_input_directions scan_output_axes "
     "scan_output_directions"},
    {"ScatterElements", 3, "axis reduction"},
    {"ScatterND", 3, "reduction"},
    {"Selu", 1, "alpha gamma"},
    {"SequenceEmpty", 0, "dtype"},
    {"SequenceInsert Tile Where", 3, ""},
    {"Shape", 1, "end start"},
    {"Shrink", 1, "bias lambd"},
    {"Slice", 5, "axes ends starts"},
    {"Split", 2, "axis num_outputs split"},
    {"SplitToSequence", 2, "axis keepdims"},
    {"STFT", 4, "onesided"},
    {"TensorScatter", 3, "axis mode"},
    {"TopK", 2, "axis k largest sorted"},
    {"Transpose", 1, "perm"},
    {"Trilu com.microsoft.Trilu", 2, "upper"},
    {"Unique", 1, "axis sorted"},
    {"Upsample", 2, "mode scales"},
    {"com.microsoft.Attention", 7,
     "do_rotary mask_filter_value num_heads past_present_share_buffer qkv_hidden_sizes "
     "rotary_embedding_dim scale unidirectional"},
    {"com.microsoft.CDist", 2, "metric"},
    {"com.microsoft.DynamicQuantizeLSTM", 12,
     "activation_alpha activation_beta activations clip direction hidden_size input_forget"},
    {"com.microsoft.DynamicQuantizeMatMul com.microsoft.QLinearSigmoid", 5, ""},
    {"com.microsoft.EmbedLayerNormalization", 9, "epsilon mask_index_type"},
    {"com.microsoft.FusedConv", 4,
     "activation activation_params auto_pad dilations group kernel_shape pads strides"},
    {"com.microsoft.FusedGemm", 3,
     "activation activation_alpha activation_beta alpha beta transA transB"},
    {"com.microsoft.FusedMatMul", 2, "alpha transA transB transBatchA transBatchB"},
    {"com.microsoft.GatherBlockQuantized", 4, "bits block_size gather_axis quantize_axis"},
    {"com.microsoft.GroupQueryAttention", 16,
     "causal do_rotary k_norm_epsilon k_quant_type=NONE kv_cache_bit_width=0 kv_num_heads "
     "local_window_size num_heads q_norm_epsilon qk_norm_epsilon qk_output=0 rotary_interleaved "
     "scale sliding_window_cache=0 smooth_softmax softcap v_quant_type=NONE"},
    {"com.microsoft.MatMulIntegerToFloat", 7, ""},
    {"com.microsoft.MatMulNBits", 6, "K N accuracy_level bits block_size weight_prepacked=0"},
    {"com.microsoft.MultiHeadAttention", 8, "mask_filter_value num_heads scale unidirectional"},
    {"com.microsoft.NhwcMaxPool", 1, "auto_pad ceil_mode dilations kernel_shape pads strides"},
    {"com.microsoft.QAttention", 9,
     "do_rotary mask_filter_value num_heads past_present_share_buffer scale unidirectional"},
    {"com.microsoft.QEmbedLayerNormalization", 18, "epsilon"},
    {"com.microsoft.QGemm", 9, "alpha transA transB"},
    {"com.microsoft.QLinearAveragePool", 5,
     "auto_pad ceil_mode channels_last count_include_pad kernel_shape pads strides"},
    {"com.microsoft.QLinearConv", 9,
     "auto_pad channels_last dilations group kernel_shape pads strides"},
    {"com.microsoft.QLinearGlobalAveragePool", 5, "channels_last"},
    {"com.microsoft.QLinearLeakyRelu", 5, "alpha"},
    {"com.microsoft.QLinearSoftmax", 5, "axis opset"},
    {"com.microsoft.QLinearWhere", 9, ""},
    {"com.microsoft.RotaryEmbedding", 4,
     "interleaved is_packed_batching=0 num_heads rotary_embedding_dim scale"},
    {"com.microsoft.SkipLayerNormalization", 5, "epsilon"},
    {"com.microsoft.SkipSimplifiedLayerNormalization", 4, "epsilon"},
    {"com.microsoft.TransposeMatMul", 2, "alpha transA transB"},
};

/// Calls `visit` with each word until it says true; whether it did.
template <class Visit>
bool any_word(std::string_view words, const Visit& visit) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (visit(words.substr(0, end))) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

const Known* known_of(std::string_view type) {
  static const auto by_type = [] {
    std::map<std::string_view, const Known*> made;
    for (const Known& known : kKnown) {
      any_word(known.types, [&](std::string_view word) {
        made[word] = &known;
        return false;
      });
    }
    return made;
  }();
  const auto entry = by_type.find(type);
  return entry == by_type.end() ? nullptr : entry->second;
}

std::string written(const AttributeContent& content) {
  if (const auto* const number = std::get_if<std::int64_t>(&content)) {
    return std::to_string(*number);
  }
  const auto* const text = std::get_if<std::string>(&content);
  return text == nullptr ? "no number or text" : *text;
}

}  // namespace

void refuse_unknown(const Instruction& instruction) {
  const Known* const known = known_of(instruction.type);
  if (known == nullptr) return;
  for (const auto& [name, content] : instruction.attributes) {
    if (name == "consumed_inputs") continue;  // a hint of the first op sets
    const bool is_known =
        any_word(known->attributes, [&, &name = name, &content = content](auto word) {
          const std::size_t equals = word.find('=');
          if (word.substr(0, equals) != name) return false;
          if (equals != word.npos && word.substr(equals + 1) != written(content)) {
            refuse_attribute(name, written(content));
          }
          return true;
        });
    if (!is_known) {
      throw Error(ErrorCode::unsupported,
                  cat("its attribute ", name,
                      " is none that this kernel knows; place it without executing it, "
                      "or export the model for an older op set"));
    }
  }
  for (std::size_t i = known->inputs; i < instruction.inputs.size(); ++i) {
    if (instruction.inputs[i] == kNoValue) continue;
    throw Error(ErrorCode::unsupported,
                cat("its input ", i, " is none that this kernel knows, which takes ", known->inputs,
                    "; place it without executing it, or export the model for an older op set"));
  }
}

}  // namespace berth::runtime::onnx
