// Element types that processors have a kernel for, and GPUs have not.
//
// TensorFlow 2.21: the kernels that its build with CUDA registers, of processors less those of GPUs, for
// types of ops that have both. Optimizers of variables by handle are left out, which
// bf16 alone sets apart. ONNX Runtime 1.32: the kernels that it registers for processors, less its table of those for
// CUDA as of opset 25.
#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include "berth/dtype.h"
#include "berth/support/index.h"
#include "ops/gpu_kernels.h"
#include "ops/tables.h"

namespace berth::ops {
namespace {

constexpr int kOutput = -1;

struct Lacking {
  int of;                  ///< the input whose element type decides, or kOutput
  std::string_view types;  ///< separated by blanks, as are the ops
  std::string_view ops;
};

constexpr Lacking kTf[] = {
    {0, "i8 i16 i32 i64 u8 u16 u32 u64",
     "ApproxTopK ArgMax ArgMin BatchMatrixBandPart BatchToSpace BatchToSpaceND BiasAddGrad "
     "Dilation2D Dilation2DBackpropFilter Dilation2DBackpropInput EuclideanNorm "
     "ExtractImagePatches ExtractVolumePatches HistogramFixedWidth LeakyRelu LeakyReluGrad "
     "MatrixBandPart MatrixDiag MatrixDiagPart MatrixDiagPartV2 MatrixDiagPartV3 MatrixDiagV2 "
     "MatrixDiagV3 MatrixSetDiag MatrixSetDiagV2 MatrixSetDiagV3 MaxPool MaxPoolGrad "
     "MaxPoolGradGrad MaxPoolGradGradV2 MaxPoolGradV2 MaxPoolGradWithArgmax MaxPoolV2 "
     "MaxPoolWithArgmax Mean MirrorPadGrad Relu6 Relu6Grad ReluGrad ResizeBilinear "
     "ResizeNearestNeighbor ResizeNearestNeighborGrad ReverseSequence ScatterAdd ScatterDiv "
     "ScatterMax ScatterMin ScatterMul ScatterSub SegmentMax SegmentMean SegmentMin "
     "SegmentProd SegmentSum SpaceToBatch SpaceToBatchND SparseSegmentSum "
     "SparseSegmentSumWithNumSegments"},
    {0, "bf16",
     "ApplyAdadelta ApplyAdagrad ApplyAdagradV2 ApplyAdam ApplyAddSign ApplyCenteredRMSProp "
     "ApplyFtrl ApplyFtrlV2 ApplyGradientDescent ApplyMomentum ApplyPowerSign ApplyRMSProp "
     "CheckNumerics CheckNumericsV2 ImageProjectiveTransformV2 ImageProjectiveTransformV3 "
     "MulNoNan Multinomial Softplus Softsign SparseApplyAdadelta SparseApplyAdagrad "
     "SparseApplyAdagradV2 SparseApplyFtrl SparseApplyFtrlV2 StatelessMultinomial"},
    {kOutput, "bool i8 i16 i64 u8 u16 u32 u64",
     "TensorArrayConcat TensorArrayConcatV2 TensorArrayConcatV3 TensorArrayGather "
     "TensorArrayGatherV2 TensorArrayGatherV3"},
    {2, "i32",
     "ResourceScatterAdd ResourceScatterDiv ResourceScatterMax ResourceScatterMin "
     "ResourceScatterMul ResourceScatterSub"},
    {0, "f64",
     "BatchNormWithGlobalNormalization BatchNormWithGlobalNormalizationGrad "
     "SparseSoftmaxCrossEntropyWithLogits"},
    {0, "i8 i16 i64 u8 u16 u32 u64",
     "BiasAdd BiasAddV1 UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd "
     "UnsortedSegmentSum"},
    {0, "bool i8 i16 i32 i64 u8 u16 u32 u64",
     "BatchMatrixDiag BatchMatrixDiagPart BatchMatrixSetDiag MirrorPad ParallelConcat "
     "ScatterUpdate"},
    {0, "f16",
     "LRN LRNGrad MatrixInverse NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionV4"},
    {2, "bool i8 i16 i32 u8 u16 u32 u64",
     "TensorArrayScatter TensorArrayScatterV2 TensorArrayScatterV3"},
    {1, "bool i8 i16 i32 i64 u8 u16 u32 u64",
     "TensorArraySplit TensorArraySplitV2 TensorArraySplitV3"},
    {2, "bool i8 i16 i32 i64 u8 u16 u32 u64",
     "TensorArrayWrite TensorArrayWriteV2 TensorArrayWriteV3"},
    {kOutput, "bool i8 i16 i32 u8 u16 u32 u64",
     "TensorArrayRead TensorArrayReadV2 TensorArrayReadV3"},
    {0, "i8 i16 u8 u16 u32 u64", "BroadcastTo Cumprod Cumsum Gather GatherV2 Prod"},
    {0, "bf16 i8 i16 i32 i64 u8 u16 u32 u64", "CropAndResize CropAndResizeGradBoxes"},
    {0, "i32", "Assign AssignAdd AssignSub Pow Relu"},
    {0, "i16 i32 i64", "BatchMatMul BatchMatMulV2 MatMul"},
    {0, "i16 i64 u16 u32 u64", "Pad PadV2 Reverse ReverseV2"},
    {0, "bool i8 i16 u8 u16 u32 u64", "DynamicPartition GatherNd"},
    {kOutput, "bf16 i32", "SparseTensorDenseMatMul"},
    {kOutput, "f64 f16 bf16 i8 i16 i64 u8 u16 u32 u64", "Bincount DenseBincount"},
    {0, "bf16 bool i8 i64 u8 u16 u32 u64", "DebugNumericSummaryV2"},
    {kOutput, "bool i8 i16 i32 i64 u8 u16 u32 u64", "Split TensorArrayPack"},
    {0, "i64", "HistogramFixedWidth"},
    {0, "f16 bf16", "HSVToRGB RGBToHSV"},
    {1, "bool i8 i16 i32 u8 u16 u32 u64", "TensorArrayUnpack"},
    {kOutput, "bool i32", "ResourceGatherNd"},
    {0, "u32 u64", "PopulationCount"},
    {0, "i8 i16 i32 i64 u8", "BatchMatMulV3"},
    {kOutput, "bool i8 i16 u8 u16 u32 u64", "DynamicStitch"},
    {0, "f64 bool i8 i16 i32 i64 u16 u32 u64", "SpaceToDepth"},
    {0, "f64 bool i8 i16 i32 i64 u8 u16 u32 u64", "DepthToSpace"},
    {0, "bf16 i32", "TruncateDiv"},
    {0, "bool i8 i16 i64 u8 u16 u32 u64", "SplitV"},
    {0, "i32 i64", "Einsum"},
    {kOutput, "i16 u8 u16 u32 u64", "OneHot"},
    {kOutput, "i8 i16 u8 u16 u32 u64", "Select"},
    {kOutput, "bool i16 u16 u32", "Empty"},
    {0, "bool i8 i16 u8 u16 u64", "Roll"},
    {0, "i8 i16 i32 i64", "Acos"},
    {0, "i8 u8 u16", "Pack"},
};

constexpr Lacking kOnnx[] = {
    {0, "f32",
     "com.microsoft.GroupQueryAttention com.microsoft.QMoE com.microsoft.SparseAttention"},
    {0, "i32 i64", "Einsum ReduceLogSum ReduceLogSumExp ReduceSumSquare"},
    {0, "i8 i16 u8 u16", "Equal Greater GreaterOrEqual Less LessOrEqual Mod"},
    {0, "i64", "ReduceL1 ReduceL2 ReduceMean ReduceProd"},
    {0, "u8", "MatMulInteger com.microsoft.QAttention"},
    {0, "i8 u8", "DepthToSpace Max Min SpaceToDepth"},
    {0, "i32", "DequantizeLinear"},
    {0, "i8", "Resize Upsample"},
    {0, "i8 i32 i64 u8", "ArgMax ArgMin"},
    {0, "f64 f16", "GridSample"},
    {0, "bool", "ReduceMin"},
    {0, "bool i8 u8", "ReduceMax"},
    {0, "i8 i16 i32 u8 u16 u32 u64", "GatherND"},
    {0, "i32 i64 u32 u64", "MatMul"},
    {kOutput, "i32", "OneHot"},
    {kOutput, "i8 u32", "Where"},
    {0, "bool i8 i16 u8 u16 u32 u64", "Tile"},
    {0, "i32 u32", "Clip"},
    {0, "i8 i16 u8", "TopK"},
    {0, "i8 i32", "Relu"},
    {0, "i8 i32 i64 u8 u32 u64", "Pad"},
};

struct Row {
  int of = 0;
  std::uint32_t types = 0;  ///< a bit per DType
};
using Rows = std::unordered_map<std::string_view, Row>;

constexpr std::uint32_t bit(DType dtype) {
  return std::uint32_t{1} << static_cast<std::uint32_t>(dtype);
}

template <std::size_t Count>
Rows rows_of(const Lacking (&table)[Count]) {
  Rows rows;
  for (const Lacking& lacking : table) {
    Row row{lacking.of};
    for_each_word(lacking.types, [&](std::string_view type) {
      row.types |= bit(dtype_from_name(type).value_or(DType::unknown));
    });
    for_each_word(lacking.ops, [&](std::string_view op) { rows.emplace(op, row); });
  }
  return rows;
}

bool lacks_type(const Rows& rows, const Graph& graph, OpId op) {
  const auto found = rows.find(graph.op_type(op));
  if (found == rows.end()) return false;
  const auto [of, types] = found->second;
  const auto tensors = of == kOutput ? graph.outputs(op) : graph.inputs(op);
  const std::size_t i = of == kOutput ? 0 : at(of);
  if (i >= tensors.size() || tensors[i] == kNoTensor) return false;
  return (types & ~bit(DType::unknown) & bit(graph.dtype(tensors[i]))) != 0;
}

}  // namespace

bool lacks_gpu_kernel(const Graph& graph, OpId op) {
  if (graph.is_constant(op)) return false;
  if (lacks_gpu_kernel(graph.dialect(), graph.op_type(op))) return true;
  if (graph.dialect() == "tf") {
    static const Rows rows = rows_of(kTf);
    return lacks_type(rows, graph, op);
  }
  static const Rows rows = rows_of(kOnnx);
  return graph.dialect() == "onnx" && lacks_type(rows, graph, op);
}

}  // namespace berth::ops
