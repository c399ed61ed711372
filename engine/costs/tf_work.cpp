// The table of TensorFlow's op types: those of training and inference graphs, with gradients and
// optimizers.
//
// FLOPs per element are what the arithmetic needs, with kTranscendentalFlops for an exp or the
// like. They matter little, because such ops wait for memory.
#include <initializer_list>
#include <string>
#include <string_view>

#include "costs/formulas.h"
#include "costs/tf_rules.h"

namespace berth::costs {
namespace {

constexpr double kExp = kTranscendentalFlops;

using Types = std::initializer_list<std::string_view>;

void add(RuleTable& table, const WorkRule& rule, Types types) {
  for (const std::string_view type : types) table.emplace(type, rule);
}

void add_free_ops(RuleTable& table) {
  // Names, handles, views of existing tensors, and the ends of frames and branches.
  add(table, {no_work, OpClass::none},
      {"_Arg",
       "_Retval",
       "_SwitchN",
       "AnonymousIterator",
       "AnonymousIteratorV2",
       "Assert",
       "Bitcast",
       "BroadcastArgs",
       "BroadcastGradientArgs",
       "CheckNumerics",
       "ConcatOffset",
       "Const",
       "ControlTrigger",
       "EmptyTensorList",
       "EnsureShape",
       "Enter",
       "Exit",
       "ExpandDims",
       "FIFOQueueV2",
       "HashTable",
       "HashTableV2",
       "Identity",
       "IdentityN",
       "InvertPermutation",
       "IsVariableInitialized",
       "IteratorGetNext",
       "IteratorV2",
       "LoopCond",
       "Merge",
       "MutableHashTableV2",
       "NextIteration",
       "NoOp",
       "OneShotIterator",
       "Placeholder",
       "PlaceholderV2",
       "PlaceholderWithDefault",
       "PreventGradient",
       "Rank",
       "ReadVariableOp",
       "RefEnter",
       "RefExit",
       "RefIdentity",
       "RefMerge",
       "RefNextIteration",
       "RefSwitch",
       "Reshape",
       "Shape",
       "ShapeN",
       "Size",
       "Snapshot",
       "Squeeze",
       "StackPopV2",
       "StackPushV2",
       "StackV2",
       "StopGradient",
       "Switch",
       "TemporaryVariable",
       "TensorArrayGradV3",
       "TensorArrayReadV3",
       "TensorArraySizeV3",
       "TensorArrayV3",
       "TensorArrayWriteV3",
       "TensorListElementShape",
       "TensorListGetItem",
       "TensorListLength",
       "TensorListPopBack",
       "TensorListPushBack",
       "TensorListReserve",
       "TensorListSetItem",
       "VarHandleOp",
       "VarIsInitializedOp",
       "Variable",
       "VariableShape",
       "VariableV2"});
}

void add_elementwise(RuleTable& table) {
  const auto rule = [](double flops) { return WorkRule{per_output, OpClass::elementwise, flops}; };
  add(table, rule(1), {"Abs",          "Add",       "AddV2",      "ApproximateEqual",
                       "BiasAdd",      "BiasAddV1", "BitwiseAnd", "BitwiseOr",
                       "BitwiseXor",   "Bucketize", "Cast",       "Ceil",
                       "ClipByValue",  "Complex",   "Conj",       "Div",
                       "DivNoNan",     "Equal",     "Floor",      "Greater",
                       "GreaterEqual", "Imag",      "Inv",        "Invert",
                       "IsFinite",     "IsInf",     "IsNan",      "LeakyRelu",
                       "LeftShift",    "Less",      "LessEqual",  "LogicalAnd",
                       "LogicalNot",   "LogicalOr", "Maximum",    "Minimum",
                       "Mul",          "MulNoNan",  "Neg",        "NotEqual",
                       "Real",         "RealDiv",   "Reciprocal", "Relu",
                       "Relu6",        "ReluGrad",  "Relu6Grad",  "LeakyReluGrad",
                       "RightShift",   "Rint",      "Round",      "Select",
                       "SelectV2",     "Sign",      "Square",     "Sub"});
  add(table, rule(2), {"SquaredDifference", "InvGrad", "ReciprocalGrad", "TanhGrad"});
  add(table, rule(3),
      {"FloorDiv", "FloorMod", "Mod", "RsqrtGrad", "SigmoidGrad", "Softsign", "SoftsignGrad",
       "Sqrt", "SqrtGrad", "Rsqrt", "TruncateDiv", "TruncateMod", "EluGrad", "SeluGrad"});
  add(table, rule(4),
      {"Dequantize", "FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars",
       "FakeQuantWithMinMaxVarsPerChannel", "FakeQuantWithMinMaxVarsGradient",
       "QuantizeAndDequantizeV2", "QuantizeV2"});
  add(table, rule(kExp), {"Acos",  "Acosh",   "Asin", "Asinh", "Atan", "Atan2", "Atanh",  "Cos",
                          "Cosh",  "Digamma", "Erf",  "Erfc",  "Exp",  "Expm1", "Lgamma", "Log",
                          "Log1p", "Sin",     "Sinh", "Tan",   "Tanh", "Xdivy", "Xlogy"});
  add(table, rule(kExp + 2), {"Elu", "Selu", "Sigmoid", "Softplus", "SoftplusGrad"});
  add(table, rule(2 * kExp), {"Pow"});
  add(table, {per_operand, OpClass::elementwise, 1}, {"AccumulateNV2", "AddN"});
  // A counter-based generator spends about two transcendental functions a number.
  add(table, {write_only, OpClass::elementwise, 2 * kExp},
      {"Multinomial", "ParameterizedTruncatedNormal", "RandomStandardNormal", "RandomUniform",
       "RandomUniformInt", "StatelessRandomNormal", "StatelessRandomNormalV2",
       "StatelessRandomUniform", "StatelessRandomUniformV2", "StatelessTruncatedNormal",
       "StatelessTruncatedNormalV2", "TruncatedNormal"});
}

void add_products(RuleTable& table) {
  const OpClass convolution = OpClass::convolution;
  add(table, {tf::convolution, convolution}, {"Conv2D", "Conv3D", "_FusedConv2D"});
  add(table, {tf::depthwise_convolution, convolution}, {"DepthwiseConv2dNative", "Dilation2D"});
  add(table, {tf::input_gradient, convolution}, {"Conv2DBackpropInput", "Conv3DBackpropInputV2"});
  add(table, {tf::filter_gradient, convolution},
      {"Conv2DBackpropFilter", "Conv3DBackpropFilterV2"});
  add(table, {tf::depthwise_input_gradient, convolution}, {"DepthwiseConv2dNativeBackpropInput"});
  add(table, {tf::depthwise_filter_gradient, convolution}, {"DepthwiseConv2dNativeBackpropFilter"});
  const OpClass matmul = OpClass::matmul;
  add(table, {tf::matmul, matmul},
      {"BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "MatMul", "SparseMatMul"});
  add(table, {tf::sparse_matmul, matmul}, {"SparseTensorDenseMatMul"});
  add(table, {einsum, matmul}, {"Einsum"});
  add(table, {determinant, matmul},
      {"Cholesky", "LogMatrixDeterminant", "MatrixDeterminant", "MatrixInverse", "MatrixSolve"});
  const OpClass recurrent = OpClass::recurrent;
  add(table, {tf::cell, recurrent, 1}, {"LSTMBlockCell"});
  add(table, {tf::gru_cell, recurrent, 1}, {"GRUBlockCell"});
  add(table, {tf::block, recurrent, 1}, {"BlockLSTM", "BlockLSTMV2"});
  add(table, {tf::fused_sequence, recurrent, 1}, {"CudnnRNN", "CudnnRNNV2", "CudnnRNNV3"});
  // Gradients multiply once for the inputs and once for the weights. Those of an LSTM cell leave
  // both products to other ops.
  add(table, {per_input, recurrent, 30}, {"LSTMBlockCellGrad"});
  add(table, {tf::gru_cell, recurrent, 1}, {"GRUBlockCellGrad"});
  add(table, {tf::block, recurrent, 2}, {"BlockLSTMGrad", "BlockLSTMGradV2"});
  add(table, {tf::fused_sequence, recurrent, 2},
      {"CudnnRNNBackprop", "CudnnRNNBackpropV2", "CudnnRNNBackpropV3"});
}

void add_normalizations(RuleTable& table) {
  const OpClass kind = OpClass::normalization;
  add(table, {tf::batch_norm, kind, 8},
      {"_FusedBatchNormEx", "FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"});
  add(table, {per_output, kind, 16},
      {"FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"});
  add(table, {per_output, kind, 2}, {"BatchNormWithGlobalNormalization"});
  add(table, {per_output, kind, 2 * kExp + 10}, {"LRN"});
  add(table, {per_output, kind, 4 * kExp}, {"LRNGrad"});
}

void add_pooling(RuleTable& table) {
  const OpClass kind = OpClass::pooling;
  add(table, {tf::pooling, kind, 1},
      {"AvgPool", "AvgPool3D", "MaxPool", "MaxPool3D", "MaxPoolWithArgmax"});
  // Each gradient is spread over its window.
  add(table, {per_output, kind, 2},
      {"AvgPool3DGrad", "AvgPoolGrad", "MaxPool3DGrad", "MaxPoolGrad", "MaxPoolGradWithArgmax"});
}

void add_reductions(RuleTable& table) {
  const auto rule = [](double flops) { return WorkRule{per_input, OpClass::reduction, flops}; };
  add(table, rule(1),
      {"All",
       "Any",
       "ArgMax",
       "ArgMin",
       "BiasAddGrad",
       "Cumprod",
       "Cumsum",
       "InTopK",
       "InTopKV2",
       "Max",
       "Mean",
       "Min",
       "Prod",
       "SegmentMax",
       "SegmentMean",
       "SegmentSum",
       "SparseSegmentMean",
       "SparseSegmentSqrtN",
       "SparseSegmentSum",
       "SparseSegmentSumGrad",
       "Sum",
       "UnsortedSegmentMax",
       "UnsortedSegmentMin",
       "UnsortedSegmentProd",
       "UnsortedSegmentSum"});
  add(table, rule(2), {"EuclideanNorm", "L2Loss"});
  // Maximum, subtract, exp, sum, divide; losses take a logarithm and the gradient along.
  add(table, rule(kExp + 4), {"LogSoftmax", "Softmax"});
  add(table, rule(kExp + 8),
      {"SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits"});
  add(table, {tf::selection, OpClass::reduction}, {"TopK", "TopKV2"});
}

void add_data_movement(RuleTable& table) {
  const OpClass kind = OpClass::data_movement;
  add(table, {per_output, kind},
      {"BatchToSpaceND",
       "BroadcastTo",
       "Concat",
       "ConcatV2",
       "ConjugateTranspose",
       "DepthToSpace",
       "DynamicPartition",
       "DynamicStitch",
       "ExtractImagePatches",
       "ListDiff",
       "MatrixBandPart",
       "MatrixDiag",
       "MatrixDiagPart",
       "MirrorPad",
       "MirrorPadGrad",
       "OneHot",
       "Pack",
       "Pad",
       "PadV2",
       "ParallelDynamicStitch",
       "ReverseSequence",
       "ReverseV2",
       "Roll",
       "ScatterNd",
       "SpaceToBatchND",
       "SpaceToDepth",
       "SparseToDense",
       "Split",
       "SplitV",
       "StridedSliceGrad",
       "TensorArrayConcatV3",
       "TensorArrayGatherV3",
       "TensorArrayScatterV3",
       "TensorArraySplitV3",
       "TensorListConcatV2",
       "TensorListFromTensor",
       "TensorListStack",
       "TensorScatterAdd",
       "TensorScatterSub",
       "TensorScatterUpdate",
       "Tile",
       "Transpose",
       "Unique",
       "UniqueV2",
       "Unpack",
       "Where"});
  add(table, {write_only, kind}, {"Fill", "LinSpace", "OnesLike", "Range", "ZerosLike"});
  add(table, {gathered, kind},
      {"Gather", "GatherNd", "GatherV2", "ResourceGather", "ResourceGatherNd", "Slice",
       "StridedSlice"});
  // Two or four neighbours weighted per pixel.
  add(table, {per_output, kind, 8},
      {"CropAndResize", "ResizeArea", "ResizeBilinear", "ResizeBilinearGrad"});
  add(table, {per_output, kind, 32}, {"ResizeBicubic", "ResizeBicubicGrad"});
  add(table, {per_output, kind, 1}, {"ResizeNearestNeighbor", "ResizeNearestNeighborGrad"});
}

void add_both(RuleTable& table, const WorkRule& dense, const WorkRule& sparse,
              std::string_view name) {
  const std::string text(name);
  table.emplace("Apply" + text, dense);
  table.emplace("ResourceApply" + text, dense);
  table.emplace("SparseApply" + text, sparse);
  table.emplace("ResourceSparseApply" + text, sparse);
}

void add_variables(RuleTable& table) {
  const OpClass kind = OpClass::elementwise;
  // Flops per weight: every product, sum and root of the update as TensorFlow documents it.
  add_both(table, {tf::optimizer<0>, kind, 2}, {tf::sparse_optimizer<0>, kind, 2},
           "GradientDescent");
  for (const char* name : {"Momentum", "KerasMomentum"}) {
    add_both(table, {tf::optimizer<1>, kind, 4}, {tf::sparse_optimizer<1>, kind, 4}, name);
  }
  for (const char* name : {"Adagrad", "AdagradV2", "ProximalAdagrad", "AddSign", "PowerSign"}) {
    add_both(table, {tf::optimizer<1>, kind, 8}, {tf::sparse_optimizer<1>, kind, 8}, name);
  }
  for (const char* name :
       {"Adam", "AdaMax", "Adadelta", "RMSProp", "Ftrl", "FtrlV2", "AdagradDA"}) {
    add_both(table, {tf::optimizer<2>, kind, 15}, {tf::sparse_optimizer<2>, kind, 15}, name);
  }
  for (const char* name : {"CenteredRMSProp", "AdamWithAmsgrad"}) {
    add_both(table, {tf::optimizer<3>, kind, 18}, {tf::sparse_optimizer<3>, kind, 18}, name);
  }
  add(table, {tf::assignment, OpClass::data_movement}, {"Assign", "AssignVariableOp"});
  add(table, {tf::assignment, kind, 1},
      {"AssignAdd", "AssignAddVariableOp", "AssignSub", "AssignSubVariableOp"});
  add(table, {tf::scatter, OpClass::data_movement},
      {"ResourceScatterNdUpdate", "ResourceScatterUpdate", "ScatterNdUpdate", "ScatterUpdate"});
  add(table, {tf::scatter, kind, 1},
      {"ResourceScatterAdd", "ResourceScatterNdAdd", "ResourceScatterSub", "ScatterAdd",
       "ScatterNdAdd", "ScatterNdSub", "ScatterSub"});
}

RuleTable make_table() {
  RuleTable table;
  add_free_ops(table);
  add_elementwise(table);
  add_products(table);
  add_normalizations(table);
  add_pooling(table);
  add_reductions(table);
  add_data_movement(table);
  add_variables(table);
  return table;
}

}  // namespace

const RuleTable& tf_rules() {
  static const RuleTable table = make_table();
  return table;
}

}  // namespace berth::costs
