// The rules behind the ONNX table: how to read an op's inputs and attributes into a count.
#pragma once

#include "costs/common_rules.h"

namespace berth::costs::onnx {

// --- by elements ---------------------------------------------------------------------------------
EstimateFunction dropout;         ///< none in inference, per_output where a training mode is given
EstimateFunction embedding_norm;  ///< reads as many bytes of its tables as it writes; per_output

// --- convolutions -------------------------------------------------------------------------------
EstimateFunction convolution;             ///< X, W, bias
EstimateFunction quantized_convolution;   ///< x, scale, zero point, w, ...
EstimateFunction transposed_convolution;  ///< X, W [in, out / group, kernel...], bias
EstimateFunction deformable_convolution;  ///< X, W, offsets, bias, mask

// --- matrix products
// ------------------------------------------------------------------------------
EstimateFunction matmul;            ///< A, B; transA, transB
EstimateFunction gemm;              ///< A, B, C; transA, transB
EstimateFunction quantized_matmul;  ///< a, scale, zero point, b, ...; transA, transB
EstimateFunction packed_matmul;     ///< A [.., K] and a packed B
EstimateFunction mixture_of_experts;

// --- attention
// ------------------------------------------------------------------------------------
EstimateFunction projected_attention;  ///< com.microsoft.Attention: with the products before it
EstimateFunction quantized_projected_attention;  ///< com.microsoft.QAttention
EstimateFunction multi_head_attention;  ///< com.microsoft: query, key, value as they may be packed
EstimateFunction grouped_attention;     ///< com.microsoft.GroupQueryAttention
EstimateFunction standard_attention;    ///< the default domain's Attention

// --- others
// -----------------------------------------------------------------------------------------
EstimateFunction recurrent;       ///< rule.flops = gates
EstimateFunction pooling;         ///< rule.flops for each element of each window
EstimateFunction region_pooling;  ///< rule.flops for each sample of each output
EstimateFunction local_response;  ///< LRN
EstimateFunction selection;       ///< TopK, Unique
EstimateFunction non_max_suppression;
EstimateFunction resize;
EstimateFunction fourier;

}  // namespace berth::costs::onnx
