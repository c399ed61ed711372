// Ops that no GPU runs: their runtime has kernels of them for its processor alone.
//
// Facts of the runtimes' own registrations, by name:
//  - TensorFlow 2.21, from the kernels that its build with CUDA registers: types with a kernel for
//    DEVICE_CPU and none for DEVICE_GPU or DEVICE_DEFAULT. PyFunc registers its own with Python.
//    What makes datasets gives handles, which reside on the host anyway.
//  - ONNX Runtime, its table of kernels as of opset 25: types with a kernel in the provider for
//    processors and none in the one for CUDA. No type of ai.onnx.ml or of the blocked layouts has
//    one for CUDA. Types with a kernel in neither are functions of others, or unknown.
#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "ops/tables.h"

namespace berth::ops {
namespace {

constexpr std::string_view kTfOnHosts =
    "Abort AccumulatorApplyGradient AccumulatorNumAccumulated AccumulatorSetGlobalStep "
    "AccumulatorTakeGradient AddManySparseToTensorsMap AddSparseToTensorsMap "
    "AllCandidateSampler AnonymousHashTable AnonymousMemoryCache AnonymousMultiDeviceIterator "
    "AnonymousMultiDeviceIteratorV3 AnonymousMutableDenseHashTable AnonymousMutableHashTable "
    "AnonymousMutableHashTableOfTensors AnonymousRandomSeedGenerator AnonymousSeedGenerator "
    "ApplyAdagradDA ApplyProximalGradientDescent AsString AudioSpectrogram AudioSummary "
    "AudioSummaryV2 BandedTriangularSolve Barrier BarrierClose BarrierIncompleteSize "
    "BarrierInsertMany BarrierReadySize BarrierTakeMany Batch BatchCholesky BatchCholeskyGrad "
    "BatchMatrixDeterminant BatchMatrixInverse BatchMatrixSolve BatchMatrixSolveLs "
    "BatchSelfAdjointEig BatchSelfAdjointEigV2 CTCBeamSearchDecoder CTCGreedyDecoder CTCLoss "
    "CalibrationStatisticsSaver CholeskyGrad CloseSummaryWriter CombinedNonMaxSuppression "
    "CompositeTensorVariantFromComponents CompositeTensorVariantToComponents CompressElement "
    "ComputeAccidentalHits ComputeBatchSize ConditionalAccumulator CountUpTo "
    "CreateSummaryDbWriter CreateSummaryFileWriter CustomAggregator DebugGradientRefIdentity "
    "DecodeAndCropJpeg DecodeBase64 DecodeBmp DecodeCSV DecodeCompressed DecodeGif DecodeImage "
    "DecodeJSONExample DecodeJpeg DecodeJxl DecodePaddedRaw DecodePng DecodeProtoV2 DecodeRaw "
    "DecodeWav DecodeWebP DeleteMemoryCache DeleteMultiDeviceIterator DeleteRandomSeedGenerator "
    "DeleteRpcFutureResource DeleteSeedGenerator DenseCountSparseOutput "
    "DenseToDenseSetOperation DenseToSparseSetOperation Dequantize DeserializeIterator "
    "DeserializeManySparse DistributedSave DrawBoundingBoxes DrawBoundingBoxesV2 "
    "DummyMemoryCache DummySeedGenerator DumpTensor EditDistance Eig EmptyTensorMap "
    "EncodeBase64 EncodeJpeg EncodeJpegVariableQuality EncodePng EncodeProto EncodeWav "
    "ExtractGlimpse ExtractGlimpseV2 ExtractJpegShape FIFOQueue FakeQueue "
    "FileSystemSetConfiguration Fingerprint FixedLengthRecordReader FixedLengthRecordReaderV2 "
    "FixedUnigramCandidateSampler FlushSummaryWriter FractionalAvgPool FractionalAvgPoolGrad "
    "FractionalMaxPool FractionalMaxPoolGrad FusedPadConv2D FusedResizeAndPadConv2D "
    "GenerateVocabRemapping GetElementAtIndex GuaranteeConst HashTable HashTableV2 "
    "HistogramSummary IdentityReader IdentityReaderV2 ImageSummary ImmutableConst ImportEvent "
    "InTopK InitializeTable InitializeTableFromTextFile InitializeTableFromTextFileV2 "
    "InitializeTableV2 IsotonicRegression Iterator IteratorFromStringHandle IteratorGetDevice "
    "IteratorGetModelProto KMC2ChainInitialization KmeansPlusPlusInitialization LMDBReader "
    "LearnedUnigramCandidateSampler ListDiff LoadAndRemapMatrix LogUniformCandidateSampler "
    "LookupTableExport LookupTableExportV2 LookupTableFind LookupTableFindV2 LookupTableImport "
    "LookupTableImportV2 LookupTableInsert LookupTableInsertV2 LookupTableRemoveV2 "
    "LookupTableSize LookupTableSizeV2 MapDefun MatchingFiles MatrixExponential MatrixLogarithm "
    "MatrixSolveLs MatrixSquareRoot MergeSummary MergeV2Checkpoints Mfcc MultiDeviceIterator "
    "MultiDeviceIteratorFromStringHandle MultiDeviceIteratorGetNextFromShard "
    "MultiDeviceIteratorInit MultiDeviceIteratorToStringHandle MutableDenseHashTable "
    "MutableDenseHashTableV2 MutableHashTable MutableHashTableOfTensors "
    "MutableHashTableOfTensorsV2 MutableHashTableV2 NearestNeighbors NegTrain "
    "NonDeterministicInts NonMaxSuppression NonMaxSuppressionV5 NonMaxSuppressionWithOverlaps "
    "NthElement OneShotIterator PaddingFIFOQueue PaddingFIFOQueueV2 ParseExample ParseExampleV2 "
    "ParseSequenceExample ParseSequenceExampleV2 ParseSingleExample ParseSingleSequenceExample "
    "ParseTensor Print PrintV2 PriorityQueue PriorityQueueV2 PyFunc PyFuncStateless "
    "QuantizeDownAndShrinkRange QuantizeV2 QuantizedAdd QuantizedAvgPool "
    "QuantizedBatchNormWithGlobalNormalization QuantizedBiasAdd QuantizedConcat "
    "QuantizedConcatV2 QuantizedConv2D QuantizedConv2DAndRelu "
    "QuantizedConv2DAndReluAndRequantize QuantizedConv2DAndRequantize QuantizedConv2DPerChannel "
    "QuantizedConv2DWithBias QuantizedConv2DWithBiasAndRelu "
    "QuantizedConv2DWithBiasAndReluAndRequantize QuantizedConv2DWithBiasAndRequantize "
    "QuantizedConv2DWithBiasSignedSumAndReluAndRequantize QuantizedConv2DWithBiasSumAndRelu "
    "QuantizedConv2DWithBiasSumAndReluAndRequantize QuantizedDepthwiseConv2D "
    "QuantizedDepthwiseConv2DWithBias QuantizedDepthwiseConv2DWithBiasAndRelu "
    "QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize QuantizedInstanceNorm QuantizedMatMul "
    "QuantizedMatMulWithBias QuantizedMatMulWithBiasAndDequantize "
    "QuantizedMatMulWithBiasAndRelu QuantizedMatMulWithBiasAndReluAndRequantize "
    "QuantizedMatMulWithBiasAndRequantize QuantizedMaxPool QuantizedMul QuantizedRelu "
    "QuantizedRelu6 QuantizedReshape QuantizedResizeBilinear QueueClose QueueDequeue "
    "QueueDequeueMany QueueDequeueManyV2 QueueDequeueUpTo QueueDequeueUpToV2 QueueEnqueue "
    "QueueEnqueueMany QueueEnqueueManyV2 QueueIsClosed QueueSize RaggedBincount "
    "RaggedCountSparseOutput RaggedCross RaggedGather RaggedRange RaggedTensorToSparse "
    "RaggedTensorToTensor RaggedTensorToVariant RaggedTensorToVariantGradient RandomCrop "
    "RandomGamma RandomIndexShuffle RandomPoisson RandomPoissonV2 RandomShuffle "
    "RandomShuffleQueue RandomShuffleQueueV2 ReadFile ReaderNumRecordsProduced "
    "ReaderNumRecordsProducedV2 ReaderNumWorkUnitsCompleted ReaderNumWorkUnitsCompletedV2 "
    "ReaderRead ReaderReadUpTo ReaderReadUpToV2 ReaderReadV2 ReaderReset ReaderResetV2 "
    "ReaderRestoreState ReaderRestoreStateV2 ReaderSerializeState ReaderSerializeStateV2 "
    "RecordInput ReduceJoin RefSelect RegexFullMatch RegexReplace RequantizationRange "
    "RequantizationRangePerChannel Requantize RequantizePerChannel ResizeArea ResizeBicubic "
    "ResizeBicubicGrad ResourceAccumulatorApplyGradient ResourceAccumulatorNumAccumulated "
    "ResourceAccumulatorSetGlobalStep ResourceAccumulatorTakeGradient ResourceApplyAdagradDA "
    "ResourceApplyProximalGradientDescent ResourceConditionalAccumulator ResourceCountUpTo "
    "ResourceSparseApplyAdagradDA ResourceSparseApplyCenteredRMSProp "
    "ResourceSparseApplyMomentum ResourceSparseApplyProximalGradientDescent "
    "ResourceSparseApplyRMSProp Restore RestoreSlice RestoreV2 RpcCall RpcCheckStatus RpcClient "
    "RpcGetValue RpcServer RpcServerRegister RpcServerStart SampleDistortedBoundingBox "
    "SampleDistortedBoundingBoxV2 Save SaveSlices SaveV2 ScalarSummary ScaleAndTranslate "
    "ScaleAndTranslateGrad SdcaFprint SdcaOptimizer SdcaOptimizerV2 SdcaShrinkL1 SelfAdjointEig "
    "SerializeIterator SerializeManySparse SerializeSparse SerializeTensor SetSize "
    "ShardedFilename ShardedFilespec Skipgram SobolSample SparseAccumulatorApplyGradient "
    "SparseAccumulatorTakeGradient SparseAdd SparseAddGrad SparseApplyAdagradDA "
    "SparseApplyCenteredRMSProp SparseApplyMomentum SparseApplyProximalGradientDescent "
    "SparseApplyRMSProp SparseBincount SparseConditionalAccumulator SparseCountSparseOutput "
    "SparseCross SparseCrossHashed SparseCrossV2 SparseDenseCwiseAdd SparseDenseCwiseDiv "
    "SparseDenseCwiseMul SparseMatMul SparseMatrixOrderingAMD SparseMatrixSparseCholesky "
    "SparseReduceMax SparseReduceMaxSparse SparseReduceSum SparseReduceSumSparse SparseSoftmax "
    "SparseSparseMaximum SparseSparseMinimum SparseTensorDenseAdd SparseToSparseSetOperation "
    "StatefulRandomBinomial StatefulStandardNormal StatelessParameterizedTruncatedNormal "
    "StatelessRandomBinomial StatelessRandomPoisson StatelessSampleDistortedBoundingBox "
    "StatelessShuffle StaticRegexFullMatch StaticRegexReplace StatsAggregatorHandle "
    "StatsAggregatorHandleV2 StatsAggregatorSetSummaryWriter StatsAggregatorSummary "
    "StringFormat StringJoin StringLength StringLower StringNGrams StringSplit StringSplitV2 "
    "StringStrip StringToHashBucket StringToHashBucketFast StringToHashBucketStrong "
    "StringToNumber StringUpper Substr SummaryWriter TFRecordReader TFRecordReaderV2 "
    "TakeManySparseFromTensorsMap TensorMapErase TensorMapHasKey TensorMapInsert "
    "TensorMapLookup TensorMapSize TensorMapStackKeys TensorSummary TensorSummaryV2 "
    "TextLineReader TextLineReaderV2 ThreadPoolHandle ThreadUnsafeUnigramCandidateSampler "
    "Timestamp ToBool Unbatch UnbatchGrad UncompressElement UnicodeDecode "
    "UnicodeDecodeWithOffsets UnicodeEncode UnicodeScript UnicodeTranscode "
    "UniformCandidateSampler UniformDequantize UniformQuantize UniformQuantizedAdd "
    "UniformQuantizedClipByValue UniformQuantizedConvolution UniformQuantizedConvolutionHybrid "
    "UniformQuantizedDot UniformQuantizedDotHybrid UniformRequantize UniqueV2 "
    "UniqueWithCountsV2 UnravelIndex UnsortedSegmentJoin WholeFileReader WholeFileReaderV2 "
    "WindowOp WriteAudioSummary WriteFile WriteGraphSummary WriteHistogramSummary "
    "WriteImageSummary WriteRawProtoSummary WriteScalarSummary WriteSummary XlaLaunchV2";

constexpr std::string_view kOnnxOnHosts =
    "Acos Acosh AffineGrid Asin Asinh Atan Atanh BitShift BitwiseAnd BitwiseNot BitwiseOr "
    "BitwiseXor BlackmanWindow Celu Col2Im ConvInteger Cosh DFT Det DynamicQuantizeLinear "
    "GlobalLpPool HammingWindow HannWindow Hardmax LpNormalization LpPool MaxRoiPool MaxUnpool "
    "Mean MeanVarianceNormalization MelWeightMatrix Mish Multinomial QLinearConv QLinearMatMul "
    "RegexFullMatch STFT Sinh SplitToSequence StringConcat StringNormalizer StringSplit Tan "
    "TfIdfVectorizer Unique "
    "com.microsoft.AttnLSTM com.microsoft.BifurcationDetector com.microsoft.CDist "
    "com.microsoft.CropAndResize com.microsoft.DynamicQuantizeLSTM "
    "com.microsoft.DynamicQuantizeMatMul com.microsoft.ExpandDims com.microsoft.FusedGemm "
    "com.microsoft.MatMulFpQ4 com.microsoft.MatMulInteger16 com.microsoft.MatMulIntegerToFloat "
    "com.microsoft.MaxpoolWithMask com.microsoft.MurmurHash3 com.microsoft.NhwcFusedConv "
    "com.microsoft.NhwcMaxPool com.microsoft.Pad com.microsoft.QEmbedLayerNormalization "
    "com.microsoft.QGemm com.microsoft.QLinearAdd com.microsoft.QLinearAveragePool "
    "com.microsoft.QLinearConcat com.microsoft.QLinearConv "
    "com.microsoft.QLinearGlobalAveragePool com.microsoft.QLinearLeakyRelu "
    "com.microsoft.QLinearMul com.microsoft.QLinearReduceMean com.microsoft.QLinearSigmoid "
    "com.microsoft.QLinearSoftmax com.microsoft.QLinearWhere com.microsoft.SparseToDenseMatMul "
    "com.microsoft.Tokenizer com.microsoft.Unique com.microsoft.WordConvEmbedding";

using Names = std::unordered_set<std::string_view>;

Names split(std::string_view text) {
  Names names;
  for_each_word(text, [&names](std::string_view name) { names.insert(name); });
  return names;
}

bool tf_on_hosts(std::string_view type) {
  static const Names names = split(kTfOnHosts);
  // Fused and quantised for one maker's processors.
  if (type.starts_with("_Mkl")) return true;
  constexpr std::string_view kExperimental = "Experimental";
  if (type.starts_with(kExperimental)) type.remove_prefix(kExperimental.size());
  return names.contains(type);
}

bool onnx_on_hosts(std::string_view type) {
  static const Names names = split(kOnnxOnHosts);
  return type.starts_with("ai.onnx.ml.") || type.starts_with("com.microsoft.nchwc.") ||
         names.contains(type);
}

}  // namespace

bool lacks_gpu_kernel(std::string_view dialect, std::string_view type) {
  if (dialect == "tf") return tf_on_hosts(type);
  return dialect == "onnx" && onnx_on_hosts(type);
}

}  // namespace berth::ops
